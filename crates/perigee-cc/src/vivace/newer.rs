// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Controller of the later program (PCC-Uspace, branch master).
//!
//! ```text
//! change = γ · ⌊(rounds + 1)/2⌋^1.2, at most r (0.05 + 0.05 k), at least 0.5 Mbit/s
//!
//!  STARTING: ×2 ──utility falls: r/2──► PROBING: 3 pairs at r (1 ± 0.05)
//!     ▲                                   ▲ │ majority up, or all down: r (1 ± 0.05)
//!     │ r < 0.5 Mbit/s                    │ ▼
//!     └───────────────────────────── DECISION MADE: r ± change while utility confirms it,
//!                                     else the last change is undone
//! ```

use super::monitor::{Report, Role};
use super::utility::{newer, Sample};
use crate::rng::Rng;

const EPSILON: f64 = 0.05;
const PAIRS: usize = 3;
const BOUND: f64 = 0.05;
const MIN_CHANGE_MBPS: f64 = 0.5;
const MIN_MBPS: f64 = 0.5;
const MAX_MBPS: f64 = 1e6;
const AMPLIFIER_EXPONENT: f64 = 1.2;
/// During startup, slopes with a rise of the RTT below this over an interval have no cost.
const START_RISE_S: f64 = 1e-3;
/// Number of intervals over which the trend of the RTT is computed, and threshold in deviations of
/// its usual range.
const TREND: usize = 6;
const TREND_DEVIATIONS: f64 = 2.0;
const TREND_GAIN: f64 = 0.1;
/// A trend smaller than the previous minimum by this factor resets the usual range.
const TREND_RESET: f64 = 100.0;
/// Smallest trend, in seconds per interval.
const NO_TREND_S: f64 = 1e-12;

#[derive(Clone, Copy, Debug)]
enum State {
    Starting {
        previous: f64,
        outstanding: bool,
    },
    Probing {
        sent: usize,
    },
    /// `previous`: utility and rate of the previous interval.
    DecisionMade {
        up: bool,
        outstanding: bool,
        rounds: u32,
        previous: (f64, f64),
    },
}

/// Detector of a rise of the RTT beyond its usual fluctuation.
#[derive(Clone, Debug, Default)]
struct RttTrend {
    means: [f64; TREND],
    count: usize,
    usual: f64,
    deviation: f64,
    smallest: f64,
    last: f64,
}

impl RttTrend {
    /// Adds an interval's mean RTT; true if the RTT rises faster than usual. Outliers do not change
    /// the usual range.
    fn is_rising(&mut self, mean_rtt_s: f64) -> bool {
        self.means.rotate_left(1);
        self.means[TREND - 1] = mean_rtt_s;
        self.count = (self.count + 1).min(TREND);
        if self.count < TREND {
            return false;
        }
        let trend = self.slope();
        let size = trend.abs();
        if self.smallest < NO_TREND_S || size < self.smallest / TREND_RESET {
            (self.usual, self.smallest, self.deviation, self.last) = (0.0, size, size, trend);
            return false;
        }
        self.smallest = self.smallest.min(size);
        if (trend - self.usual).abs() > TREND_DEVIATIONS * self.deviation {
            return trend > 0.0;
        }
        self.deviation += TREND_GAIN * ((trend - self.last).abs() - self.deviation);
        self.usual += TREND_GAIN * (trend - self.usual);
        self.last = trend;
        false
    }

    /// Slope of a line fitted to evenly spaced points.
    fn slope(&self) -> f64 {
        let center = (TREND - 1) as f64 / 2.0;
        let (mut cov, mut var) = (0.0, 0.0);
        for (i, mean) in self.means.iter().enumerate() {
            let x = i as f64 - center;
            cov += x * mean;
            var += x * x;
        }
        cov / var
    }
}

#[derive(Clone, Debug)]
pub(super) struct Newer {
    latency: bool,
    rate: f64,
    state: State,
    up_first: [bool; PAIRS],
    results: [[Option<Sample>; 2]; PAIRS],
    bound: u32,
    trend: RttTrend,
}

impl Newer {
    pub fn new(latency: bool, initial_mbps: f64) -> Self {
        Newer {
            latency,
            rate: initial_mbps.max(MIN_MBPS),
            state: State::Starting { previous: 0.0, outstanding: false },
            up_first: [true; PAIRS],
            results: [[None; 2]; PAIRS],
            bound: 0,
            trend: RttTrend::default(),
        }
    }

    pub fn name(&self) -> &'static str {
        match self.state {
            State::Starting { .. } => "starting",
            State::Probing { .. } => "probing",
            State::DecisionMade { .. } => "decision made",
        }
    }

    /// Role and rate of the next interval.
    pub fn next(&mut self, rng: &mut Rng) -> (Role, f64) {
        let rate = self.rate;
        match &mut self.state {
            State::Starting { outstanding, .. } if !*outstanding => {
                *outstanding = true;
                (Role::Start, rate)
            }
            State::DecisionMade { outstanding, .. } if !*outstanding => {
                *outstanding = true;
                (Role::Move, rate)
            }
            State::Probing { sent } if *sent < 2 * PAIRS => {
                let (pair, first) = (*sent / 2, *sent % 2 == 0);
                *sent += 1;
                if first {
                    self.up_first[pair] = rng.below(2) == 0;
                }
                let up = self.up_first[pair] == first;
                (Role::Probe { pair, up }, if up { rate * (1.0 + EPSILON) } else { rate * (1.0 - EPSILON) })
            }
            _ => (Role::Waiting, rate),
        }
    }

    fn enter_probing(&mut self) {
        self.state = State::Probing { sent: 0 };
        self.results = [[None; 2]; PAIRS];
    }

    /// Whether results are pending, so that the next interval would have no purpose.
    pub fn waits(&self) -> bool {
        match self.state {
            State::Starting { outstanding, .. } | State::DecisionMade { outstanding, .. } => outstanding,
            State::Probing { sent } => sent >= 2 * PAIRS,
        }
    }

    fn set_rate(&mut self, rate: f64) {
        self.rate = rate.clamp(MIN_MBPS, MAX_MBPS);
        if rate < MIN_MBPS {
            self.state = State::Starting { previous: 0.0, outstanding: false };
        }
    }

    /// The sample, with its slope set to zero if that is noise.
    fn filtered(&mut self, report: &Report) -> Sample {
        let mut s = report.sample;
        let rising = s.mean_rtt_s > 0.0 && self.trend.is_rising(s.mean_rtt_s);
        let noise = report.residual >= s.gradient.abs() && !rising;
        let slight = report.role == Role::Start && s.gradient * s.duration_s < START_RISE_S;
        if noise || slight {
            s.gradient = 0.0;
        }
        s
    }

    pub fn on_report(&mut self, report: &Report) {
        if report.role == Role::Waiting {
            return;
        }
        let s = self.filtered(report);
        match (self.state, report.role) {
            (State::Starting { previous, .. }, Role::Start) => self.on_start(previous, &s),
            (State::Probing { .. }, Role::Probe { pair, up }) => {
                self.results[pair][up as usize] = Some(s);
                if self.results.iter().flatten().all(Option::is_some) {
                    self.decide();
                }
            }
            (State::DecisionMade { .. }, Role::Move) => self.on_step(&s),
            _ => {}
        }
    }

    fn on_start(&mut self, previous: f64, s: &Sample) {
        let u = newer(s, self.latency);
        if u > previous {
            self.state = State::Starting { previous: u, outstanding: false };
            self.set_rate(self.rate * 2.0);
        } else {
            self.enter_probing();
            self.set_rate(self.rate / 2.0);
        }
    }

    fn decide(&mut self) {
        let pairs = self.results.map(|pair| pair.map(Option::unwrap_or_default));
        let latency = self.latency;
        let u = |s: &Sample| newer(s, latency);
        let is_up = |pair: &[Sample; 2]| u(&pair[1]) > u(&pair[0]);
        let ups = pairs.iter().filter(|pair| is_up(pair)).count();
        let up = match ups {
            0 => false,
            n if 2 * n > PAIRS => true,
            _ => return self.enter_probing(),
        };
        // The gain of pairs that disagree is zero; the first move is compared with the last pair
        // that agrees.
        let (mut gradient, mut previous) = (0.0, (0.0, self.rate));
        for pair in pairs.iter().filter(|pair| is_up(pair) == up) {
            gradient +=
                (u(&pair[1]) - u(&pair[0])) / (pair[1].target_mbps - pair[0].target_mbps) / PAIRS as f64;
            let better = &pair[up as usize];
            previous = (u(better), better.target_mbps);
        }
        self.set_rate(self.rate * if up { 1.0 + EPSILON } else { 1.0 - EPSILON });
        self.bound = 0;
        self.advance(gradient, previous, up, 1);
    }

    /// Continues in the selected direction; `previous`: reference of the next result.
    fn advance(&mut self, gradient: f64, previous: (f64, f64), up: bool, rounds: u32) {
        let change = self.change(gradient, up, rounds);
        self.state = State::DecisionMade { up, outstanding: false, rounds, previous };
        self.set_rate(self.rate + change);
    }

    fn on_step(&mut self, s: &Sample) {
        let State::DecisionMade { up, rounds, previous, .. } = self.state else { return };
        let u = newer(s, self.latency);
        let moved = s.target_mbps - previous.1;
        let gradient = if moved == 0.0 { 0.0 } else { (u - previous.0) / moved };
        if (gradient > 0.0) == up && gradient != 0.0 {
            self.advance(gradient, (u, s.target_mbps), up, rounds + 1);
        } else {
            // Step back in proportion to the loss of utility, not by the size of the last move.
            let back = self.change(gradient, !up, 1);
            self.enter_probing();
            self.set_rate(self.rate + back);
        }
    }

    fn change(&mut self, gradient: f64, up: bool, rounds: u32) -> f64 {
        let amplifier = libm::pow(rounds.div_ceil(2) as f64, AMPLIFIER_EXPONENT);
        let bound = self.rate * BOUND * (1.0 + self.bound as f64);
        let mut change = gradient.abs() * amplifier;
        if change > bound {
            change = bound;
            self.bound += 1;
        } else {
            self.bound = self.bound.saturating_sub(1);
        }
        let change = change.max(MIN_CHANGE_MBPS);
        if up {
            change
        } else {
            -change
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rate: f64, gradient: f64) -> Sample {
        Sample { target_mbps: rate, mbps: rate, sent: 100, gradient, mean_rtt_s: 0.05, ..Sample::default() }
    }

    /// Simulates the next intervals on a link of `link` Mbit/s; returns the rates.
    fn drive(c: &mut Newer, link: f64, intervals: usize) -> Vec<f64> {
        let mut rng = Rng::new(5);
        let mut rates = vec![];
        for _ in 0..intervals {
            let (role, rate) = c.next(&mut rng);
            rates.push(rate);
            let sample = sample(rate, (rate / link - 1.0).max(0.0));
            c.on_report(&Report { role, sample, residual: 0.0 });
        }
        rates
    }

    #[test]
    fn the_bound_widens_by_five_percent_each_time_it_is_hit() {
        let mut c = Newer::new(true, 100.0);
        let changes: Vec<f64> = (0..3).map(|_| c.change(1e9, true, 1)).collect();
        assert_eq!(changes, [5.0, 10.0, 15.0]);
        assert_eq!(c.change(-0.001, false, 1), -MIN_CHANGE_MBPS);
    }

    #[test]
    fn confirmed_rounds_amplify() {
        let mut c = Newer::new(true, 1000.0);
        for (rounds, factor) in [(1, 1.0), (2, 1.0), (3, 2.2974), (5, 3.7372)] {
            assert!((c.change(1.0, true, rounds) - factor).abs() < 1e-3);
        }
    }

    #[test]
    fn it_finds_the_link_and_stays_there() {
        let mut c = Newer::new(true, 1.0);
        let rates = drive(&mut c, 100.0, 400);
        assert_eq!(rates[..4], [1.0, 2.0, 4.0, 8.0]);
        let late = &rates[200..];
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        assert!((90.0..105.0).contains(&mean), "{mean}");
    }

    #[test]
    fn an_increase_needs_a_majority_and_a_decrease_all_pairs() {
        for (ups, name) in [(0, "decision made"), (1, "probing"), (2, "decision made"), (3, "decision made")]
        {
            let mut c = Newer::new(true, 100.0);
            c.enter_probing();
            for pair in 0..PAIRS {
                for up in [false, true] {
                    // With a slope the higher rate has a lower utility, without it a higher one.
                    let gradient = if pair < ups { 0.0 } else { 0.1 };
                    let rate = if up { 105.0 } else { 95.0 };
                    let role = Role::Probe { pair, up };
                    c.on_report(&Report { role, sample: sample(rate, gradient), residual: 0.0 });
                }
            }
            assert_eq!(c.name(), name, "{ups}");
            assert!(name == "probing" || (c.rate > 100.0) == (ups > 0));
        }
    }

    #[test]
    fn a_slope_within_the_noise_counts_as_none() {
        let mut c = Newer::new(true, 100.0);
        let report = |residual| Report { role: Role::Waiting, sample: sample(100.0, 0.02), residual };
        assert_eq!(c.filtered(&report(0.05)).gradient, 0.0);
        assert_eq!(c.filtered(&report(0.01)).gradient, 0.02);
    }
}
