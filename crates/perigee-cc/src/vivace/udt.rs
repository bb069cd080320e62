// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Controller of the program used in the paper's measurements and the LEO study (PCC over UDT).
//!
//! ```text
//! step(γ)  d = γ; d changes sign: amplifier a := 0, bound k := 0, swing w := min(w + 1, 2)
//!          d := d · m(a);  same sign: trend += 1, a += 1 (0.5 from 3 on) once w is used up
//!          |d| ≤ r (0.05 + 0.06 k), then k += 1 if that limited d, else −1;  |d| ≥ 0.5 Mbit/s
//!
//!  START: ×2 ──utility falls: r/2──► PROBE: pairs at r (1 ± e) ──d > 0.1 r──► MOVE: r + d
//!                                      ▲ │ d ≤ 0.1 r: r += d                     │ small, opposite
//!                                      └─┴───────────────────────────────────────┘ or suspicious
//! ```

use super::monitor::{Report, Role};
use super::utility::{udt, Sample};
use crate::rng::Rng;

const INITIAL_MBPS: f64 = 0.8;
const MAX_MBPS: f64 = 1024.0;
const MIN_MBPS: f64 = 1.3;
const MIN_START_MBPS: f64 = 0.1;
const EPSILON: f64 = 0.05;
/// Minimum difference of probing rates.
const MIN_PROBE_MBPS: f64 = 0.5;
const MIN_STEP_MBPS: f64 = 0.5;
const BOUND: f64 = 0.05;
const BOUND_INCREMENT: f64 = 0.06;
const MAX_SWING: u32 = 2;
/// Share of the rate; larger steps are tested before they are applied.
const MOVE_THRESHOLD: f64 = 0.1;
const COMMON_LOSS: f64 = 0.01;
const HEAVY_LOSS: f64 = 0.05;
const LOSS_DIFFERENCE: u32 = 2;
const CATASTROPHIC_LOSS: f64 = 0.5;
const MAX_PROBES: usize = 4;

#[derive(Clone, Copy, Debug)]
enum State {
    Start { previous: Option<f64>, outstanding: bool },
    Probe,
    Move { outstanding: bool },
}

#[derive(Clone, Debug)]
pub(super) struct Udt {
    latency: bool,
    rate: f64,
    state: State,
    /// Probes of the round: number, number sent, results; order of each pair.
    probes: usize,
    probes_sent: usize,
    up_first: [bool; MAX_PROBES / 2],
    results: [Option<Sample>; MAX_PROBES],
    /// The latest interval at the base rate.
    reference: Option<(f64, Sample)>,
    ignored_once: bool,
    amplifier: f64,
    bound: u32,
    swing: u32,
    trend: u32,
    last_step: f64,
}

impl Udt {
    pub fn new(latency: bool) -> Self {
        Udt {
            latency,
            rate: INITIAL_MBPS,
            state: State::Start { previous: None, outstanding: false },
            probes: MAX_PROBES,
            probes_sent: 0,
            up_first: [true; MAX_PROBES / 2],
            results: [None; MAX_PROBES],
            reference: None,
            ignored_once: false,
            amplifier: 0.0,
            bound: 0,
            swing: 0,
            trend: 0,
            last_step: 0.0,
        }
    }

    pub fn name(&self) -> &'static str {
        match self.state {
            State::Start { .. } => "start",
            State::Probe => "probe",
            State::Move { .. } => "move",
        }
    }

    fn epsilon(&self) -> f64 {
        EPSILON.max(MIN_PROBE_MBPS / self.rate)
    }

    /// Role and rate of the next interval.
    pub fn next(&mut self, rng: &mut Rng) -> (Role, f64) {
        match &mut self.state {
            State::Start { outstanding, .. } if !*outstanding => {
                *outstanding = true;
                self.rate = (self.rate * 2.0).clamp(MIN_START_MBPS, MAX_MBPS);
                (Role::Start, self.rate)
            }
            State::Move { outstanding } if !*outstanding => {
                *outstanding = true;
                (Role::Move, self.rate)
            }
            State::Probe if self.probes_sent < self.probes => self.next_probe(rng),
            _ => (Role::Waiting, self.rate),
        }
    }

    fn next_probe(&mut self, rng: &mut Rng) -> (Role, f64) {
        let pair = self.probes_sent / 2;
        let first = self.probes_sent % 2 == 0;
        if first {
            self.up_first[pair] = rng.below(2) == 0;
        }
        let up = self.up_first[pair] == first;
        self.probes_sent += 1;
        let e = self.epsilon();
        let rate = if up { self.rate * (1.0 + e) } else { (self.rate * (1.0 - e)).max(MIN_START_MBPS) };
        (Role::Probe { pair, up }, rate)
    }

    fn enter_probe(&mut self, probes: usize) {
        self.state = State::Probe;
        self.probes = probes;
        self.probes_sent = 0;
        self.results = [None; MAX_PROBES];
    }

    fn probe_again(&mut self) {
        self.enter_probe(if self.trend >= 1 { 2 } else { MAX_PROBES });
    }

    fn change_rate(&mut self, by: f64) {
        self.rate = (self.rate + by).clamp(MIN_MBPS * (1.0 - EPSILON), MAX_MBPS);
    }

    pub fn on_report(&mut self, report: &Report) {
        let s = report.sample;
        if s.loss() > CATASTROPHIC_LOSS && !matches!(self.state, State::Start { .. }) {
            self.change_rate(-self.rate / 2.0);
            self.enter_probe(MAX_PROBES);
            return;
        }
        match (self.state, report.role) {
            (_, Role::Waiting) => self.reference = Some((udt(&s, self.latency, false, None), s)),
            (State::Start { previous, .. }, Role::Start) => self.on_start(previous, &s),
            (State::Probe, Role::Probe { pair, up }) => {
                self.results[2 * pair + up as usize] = Some(s);
                if self.results[..self.probes].iter().all(Option::is_some) {
                    self.decide();
                }
            }
            (State::Move { .. }, Role::Move) => self.on_move(&s),
            _ => {}
        }
    }

    fn on_start(&mut self, previous: Option<f64>, s: &Sample) {
        let u = udt(s, self.latency, true, None);
        if previous.is_none_or(|p| u >= p) {
            self.state = State::Start { previous: Some(u), outstanding: false };
        } else {
            self.change_rate(-self.rate / 2.0);
            self.enter_probe(MAX_PROBES);
        }
    }

    /// Decides once all probes of the round have results.
    fn decide(&mut self) {
        let results = self.results.map(Option::unwrap_or_default);
        let results = &results[..self.probes];
        let (sent, lost) = results.iter().fold((0, 0), |sum, s| (sum.0 + s.sent, sum.1 + s.lost));
        let total_loss = lost as f64 / sent.max(1) as f64;
        let common = (total_loss <= COMMON_LOSS).then_some(total_loss);
        let u = |s: &Sample| udt(s, self.latency, false, common);
        // Of each pair the lower rate comes first.
        let mut sums = [(0.0, 0.0, 0u32); 2];
        let mut vote = 0;
        for pair in results.chunks_exact(2) {
            for (sum, s) in sums.iter_mut().zip(pair) {
                *sum = (sum.0 + u(s), sum.1 + s.target_mbps, sum.2 + s.lost);
            }
            vote += if u(&pair[1]) > u(&pair[0]) { 1 } else { -1 };
        }
        let [down, up] = sums;
        let suspicious = vote > 0
            && up.2 > 0
            && down.2 > up.2 + LOSS_DIFFERENCE
            && total_loss >= HEAVY_LOSS
            && !self.ignored_once;
        self.ignored_once = suspicious;
        if vote == 0 {
            return self.enter_probe(2);
        }
        if suspicious || up.1 <= down.1 {
            return self.probe_again();
        }
        // Both sums have the same number of terms, so their quotient is that of the means.
        let step = self.step((up.0 - down.0) / (up.1 - down.1));
        self.change_rate(step);
        if step <= MOVE_THRESHOLD * self.rate {
            self.probe_again();
        } else {
            self.state = State::Move { outstanding: false };
        }
    }

    fn on_move(&mut self, s: &Sample) {
        let u = udt(s, self.latency, false, None);
        let Some((reference_u, reference)) = self.reference.replace((u, *s)) else {
            return self.probe_again();
        };
        let rate_difference = s.target_mbps - reference.target_mbps;
        let loss_difference = s.lost as i64 - reference.lost as i64;
        let opposite = rate_difference * (loss_difference as f64) < 0.0;
        let marked = loss_difference.unsigned_abs() > LOSS_DIFFERENCE as u64 || s.loss() >= HEAVY_LOSS;
        if rate_difference == 0.0 || (opposite && marked) {
            return self.probe_again();
        }
        let before = self.last_step;
        let step = self.step((u - reference_u) / rate_difference);
        self.change_rate(step);
        if step * before < 0.0 {
            self.enter_probe(MAX_PROBES);
        } else if step.abs() <= MOVE_THRESHOLD * self.rate {
            self.probe_again();
        } else {
            self.state = State::Move { outstanding: false };
        }
    }

    /// Step of the rate along the gradient of the utility.
    fn step(&mut self, gradient: f64) -> f64 {
        let turned = gradient * self.last_step < 0.0;
        if turned {
            self.amplifier = 0.0;
            self.bound = 0;
            self.swing = (self.swing + 1).min(MAX_SWING);
            self.trend = 0;
        }
        let mut d = gradient * multiplier(self.amplifier);
        if !turned {
            self.trend += 1;
            if self.swing > 0 {
                self.swing -= 1;
            } else {
                self.amplifier += if self.amplifier < 3.0 { 1.0 } else { 0.5 };
            }
        }
        let bound = (BOUND + BOUND_INCREMENT * self.bound as f64) * self.rate;
        if d.abs() > bound {
            d = bound.copysign(d);
            self.bound += 1;
        } else {
            self.bound = self.bound.saturating_sub(1);
        }
        if d.abs() < MIN_STEP_MBPS {
            d = MIN_STEP_MBPS.copysign(d);
        }
        self.last_step = d;
        d
    }
}

/// Confidence amplifier m(a): slow growth at first, then faster.
fn multiplier(a: f64) -> f64 {
    match a {
        a if a < 3.0 => a + 1.0,
        a if a < 6.0 => 2.0 * a - 2.0,
        a if a < 9.0 => 4.0 * a - 14.0,
        a => 8.0 * a - 50.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_multiplier_is_the_published_one() {
        for (a, m) in [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0), (3.0, 4.0), (6.0, 10.0), (9.0, 22.0)] {
            assert_eq!(multiplier(a), m);
        }
    }

    #[test]
    fn the_bound_widens_by_six_percent_each_time_it_is_hit() {
        let mut u = Udt::new(true);
        u.rate = 100.0;
        let steps: Vec<f64> = (0..4).map(|_| u.step(1e6)).collect();
        for (step, percent) in steps.iter().zip([5.0, 11.0, 17.0, 23.0]) {
            assert!((step - percent).abs() < 1e-9, "{steps:?}");
        }
        assert_eq!(u.step(-1e6), -5.0, "a turn starts over");
        assert_eq!(u.step(-1e-9), -MIN_STEP_MBPS);
    }

    #[test]
    fn slow_flows_probe_with_half_a_megabit() {
        let mut u = Udt::new(true);
        (u.rate, u.state) = (4.0, State::Probe);
        assert!((u.epsilon() - 0.125).abs() < 1e-12);
        u.rate = 100.0;
        assert_eq!(u.epsilon(), 0.05);
        let mut rng = Rng::new(1);
        let rates: Vec<f64> = (0..5).map(|_| u.next(&mut rng).1).collect();
        assert_eq!(rates[..4].iter().filter(|r| **r == 105.0).count(), 2);
        assert_eq!(rates[..4].iter().filter(|r| **r == 95.0).count(), 2);
        assert_eq!(rates[4], 100.0, "waiting");
    }

    #[test]
    fn the_start_doubles_while_utility_rises_and_then_halves() {
        let mut u = Udt::new(true);
        let mut rng = Rng::new(1);
        let mut rates = vec![];
        while u.name() == "start" {
            let (role, rate) = u.next(&mut rng);
            rates.push(rate);
            // A link of 100 Mbit/s with a deep queue: beyond it the RTT rises.
            let gradient = (rate / 100.0 - 1.0).max(0.0);
            let sample = Sample { target_mbps: rate, mbps: rate, sent: 100, gradient, ..Sample::default() };
            u.on_report(&Report { role, sample, residual: 0.0 });
        }
        assert_eq!(rates[0], 1.6);
        assert!((7..=9).contains(&rates.len()) && u.rate > 80.0, "{rates:?} {}", u.rate);
    }
}
