// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Modes of BBRv3: start and end of STARTUP, DRAIN, the four phases of probing and PROBE_RTT.

use super::rules::{
    FULL_BW_GROWTH, FULL_BW_ROUNDS, MAX_PROBE_ROUNDS, MIN_RTT_WINDOW, PROBE_ROUNDS_SPREAD,
    PROBE_RTT_DURATION, PROBE_RTT_INTERVAL, PROBE_WAIT_SPREAD_US, PROBE_WAIT_US,
};
use super::{Bbr3, Sample};
use crate::bbr::units::Bw;
use crate::{Cx, Nanos, Window};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl Mode {
    /// Whether the mode sends more than is known to be safe, so that losses are expected.
    pub fn is_probing(self) -> bool {
        matches!(self, Mode::Startup | Mode::Refill | Mode::Up)
    }

    pub fn is_probe_bw(self) -> bool {
        matches!(self, Mode::Down | Mode::Cruise | Mode::Refill | Mode::Up)
    }

    pub fn name(self) -> &'static str {
        match self {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::Down => "down",
            Mode::Cruise => "cruise",
            Mode::Refill => "refill",
            Mode::Up => "up",
            Mode::ProbeRtt => "probe_rtt",
        }
    }
}

/// Relation of current ACKs to the latest probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// State of the probing cycle.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    pub ack_phase: AckPhase,
    /// Start of a phase that ends by the clock.
    start_us: u64,
    wait_us: u64,
    pub rounds_since_probe: u64,
    /// Rounds of growth in UP; packets acknowledged since the last step and per step.
    pub up_rounds: u32,
    pub up_acked: u64,
    pub up_count: u64,
    /// Whether data acknowledged or lost now was sent by a probe.
    pub samples_are_of_probe: bool,
    pub previous_too_high: bool,
    /// The last UP ended at inflight_hi because the previous one had exceeded the limit.
    pub stopped_as_precaution: bool,
}

impl Default for Cycle {
    fn default() -> Self {
        Cycle {
            ack_phase: AckPhase::Init,
            start_us: 0,
            wait_us: 0,
            rounds_since_probe: 0,
            up_rounds: 0,
            up_acked: 0,
            up_count: u64::MAX,
            samples_are_of_probe: false,
            previous_too_high: false,
            stopped_as_precaution: false,
        }
    }
}

/// Detector of a bandwidth plateau.
#[derive(Clone, Debug, Default)]
pub(super) struct Plateau {
    bw: Bw,
    rounds: u32,
    /// Whether a plateau was found since the last restart, and at any time.
    now: bool,
    pub reached: bool,
}

impl Plateau {
    pub fn restart(&mut self) {
        self.restart_from(0);
    }

    fn restart_from(&mut self, bw: Bw) {
        *self = Plateau { bw, reached: self.reached, ..Plateau::default() };
    }
}

/// Two nested filters: the lowest RTT since the last PROBE_RTT determines when the next one is due,
/// and feeds the lowest RTT of 10 s, which the model uses.
#[derive(Clone, Debug)]
pub(super) struct MinRtt {
    pub us: Option<u64>,
    stamp: u64,
    probe_us: Option<u64>,
    probe_stamp: u64,
    done: Option<u64>,
    round_done: bool,
}

impl MinRtt {
    pub fn new(tick: u64) -> Self {
        MinRtt { us: None, stamp: tick, probe_us: None, probe_stamp: tick, done: None, round_done: false }
    }

    pub fn start(&mut self, cx: &Cx, tick: u64) {
        let known = cx.min_rtt != Nanos::MAX && cx.min_rtt > Nanos::ZERO;
        let us = known.then(|| cx.min_rtt.as_micros());
        *self = MinRtt { us, probe_us: us, ..MinRtt::new(tick) };
    }

    pub fn forget(&mut self, tick: u64) {
        *self = MinRtt::new(tick);
    }
}

impl Bbr3 {
    pub(super) fn check_plateau(&mut self, s: &Sample) {
        if self.plateau.now || s.app_limited {
            return;
        }
        let grows = s.bw >= (self.plateau.bw * FULL_BW_GROWTH) >> 8;
        if grows && (self.round_start || !self.rules.draft) {
            self.plateau.restart_from(s.bw);
        } else if self.round_start {
            self.plateau.rounds += 1;
            self.plateau.now = self.plateau.rounds >= FULL_BW_ROUNDS;
            self.plateau.reached |= self.plateau.now;
        }
    }

    pub(super) fn check_drain(&mut self, cx: &Cx, w: &mut Window) {
        if self.mode == Mode::Startup && self.pipe_full() {
            self.mode = Mode::Drain;
            w.ssthresh = cx.bytes(self.inflight(w, self.max_bw()));
            self.latest.forget_congestion();
            self.cycle.rounds_since_probe = 0;
        }
        if self.mode == Mode::Drain {
            let in_flight = self.inflight_at_departure(cx, w, cx.packets(cx.in_flight));
            let too_long = self.rules.drain_rounds.is_some_and(|n| self.cycle.rounds_since_probe > n as u64);
            if in_flight <= self.inflight(w, self.max_bw()) || too_long {
                self.enter_down(cx);
            }
        }
    }

    pub(super) fn update_phase(&mut self, cx: &Cx, w: &Window, s: &Sample) {
        if !self.pipe_full() || self.adapt_upper_bounds(cx, w, s) {
            return;
        }
        match self.mode {
            Mode::Down if self.is_time_to_probe(cx, w) => self.enter_refill(cx),
            Mode::Down if self.is_time_to_cruise(cx, w, s) => self.enter_cruise(),
            Mode::Cruise if self.is_time_to_probe(cx, w) => self.enter_refill(cx),
            Mode::Refill if self.round_start => {
                self.cycle.samples_are_of_probe = true;
                self.enter_up(cx, w, s);
            }
            Mode::Up => self.stay_in_up(cx, w, s),
            _ => {}
        }
    }

    fn is_time_to_probe(&self, cx: &Cx, w: &Window) -> bool {
        let by_clock = cx.now.as_micros() > self.cycle.start_us + self.cycle.wait_us;
        by_clock || self.cycle.rounds_since_probe >= self.target_inflight(cx, w).min(MAX_PROBE_ROUNDS)
    }

    fn is_time_to_cruise(&self, cx: &Cx, w: &Window, s: &Sample) -> bool {
        let in_flight = self.inflight_at_departure(cx, w, s.prior_in_flight);
        in_flight <= self.bounds.with_headroom() && in_flight <= self.inflight(w, self.max_bw())
    }

    fn stay_in_up(&mut self, cx: &Cx, w: &Window, s: &Sample) {
        let in_flight = self.inflight_at_departure(cx, w, s.prior_in_flight);
        let hi = self.bounds.inflight_hi;
        let mut done = false;
        if self.cycle.previous_too_high && in_flight >= hi {
            // The data sent last will fill the queue: stop before it overflows.
            self.cycle.stopped_as_precaution = true;
            done = true;
        } else if cx.cwnd_limited && cx.packets(w.cwnd) >= hi {
            // The growth of the bandwidth is limited by the bound, not by the path.
            self.plateau.restart_from(s.bw);
        } else {
            done = self.plateau.now;
        }
        if done {
            self.cycle.previous_too_high = false;
            self.enter_down(cx);
        }
    }

    /// Draws the time of the next probe: by the clock, or after as many rounds as Reno would need.
    pub(super) fn enter_down(&mut self, cx: &Cx) {
        self.latest.forget_congestion();
        let c = &mut self.cycle;
        c.up_count = u64::MAX;
        c.rounds_since_probe = self.rng.below(PROBE_ROUNDS_SPREAD) as u64;
        let spread_us = self.rng.below(PROBE_WAIT_SPREAD_US) as u64;
        c.wait_us = PROBE_WAIT_US + spread_us;
        c.start_us = cx.now.as_micros();
        c.ack_phase = AckPhase::Stopping;
        self.start_round(cx);
        self.enter(Mode::Down);
    }

    fn enter_cruise(&mut self) {
        let b = &mut self.bounds;
        if b.inflight_lo != u64::MAX && !self.rules.draft {
            b.inflight_lo = b.inflight_lo.min(b.inflight_hi);
        }
        self.enter(Mode::Cruise);
    }

    pub(super) fn enter_refill(&mut self, cx: &Cx) {
        self.bounds.forget_short_term();
        let c = &mut self.cycle;
        c.up_rounds = 0;
        c.up_acked = 0;
        c.stopped_as_precaution = false;
        c.ack_phase = AckPhase::Refilling;
        self.start_round(cx);
        self.enter(Mode::Refill);
    }

    fn enter_up(&mut self, cx: &Cx, w: &Window, s: &Sample) {
        self.cycle.ack_phase = AckPhase::Starting;
        self.cycle.start_us = cx.now.as_micros();
        self.start_round(cx);
        self.plateau.restart_from(s.bw);
        self.enter(Mode::Up);
        self.raise_slope(cx, w);
    }

    fn enter(&mut self, mode: Mode) {
        self.mode = mode;
        self.settled = false;
    }

    // ---- lowest RTT -----------------------------------------------------------------------------

    pub(super) fn update_min_rtt(&mut self, cx: &Cx, w: &mut Window, s: &Sample) {
        let now = self.clock.at(cx.now);
        let probe_due = self.track_min_rtt(now, s);
        self.judge_ecn();
        if probe_due && !self.idle_restart && self.mode != Mode::ProbeRtt {
            // As in the kernel, the larger window of an earlier disturbance is kept.
            self.prior.save(cx, w, true);
            self.mode = Mode::ProbeRtt;
            self.min_rtt.done = None;
            self.cycle.ack_phase = AckPhase::Stopping;
            self.start_round(cx);
        }
        if self.mode == Mode::ProbeRtt {
            self.stay_in_probe_rtt(cx, w, now);
        }
        if s.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// Updates the filters. True if there was no lower RTT for 5 s.
    fn track_min_rtt(&mut self, now: u64, s: &Sample) -> bool {
        let strict = self.rules.draft;
        let m = &mut self.min_rtt;
        let probe_due = now > m.probe_stamp + self.clock.ceil(PROBE_RTT_INTERVAL);
        if let Some(rtt) = s.rtt_us {
            let lower = m.probe_us.is_none_or(|min| rtt < min);
            if lower || (probe_due && (!s.delayed || strict)) {
                m.probe_us = Some(rtt);
                m.probe_stamp = now;
            }
        }
        let expired = now > m.stamp + self.clock.ceil(MIN_RTT_WINDOW);
        let lower = match (m.probe_us, m.us) {
            (Some(probe), Some(min)) => probe < min || (probe == min && !strict),
            (probe, _) => probe.is_some(),
        };
        if lower || expired {
            m.us = m.probe_us;
            m.stamp = m.probe_stamp;
        }
        probe_due
    }

    fn stay_in_probe_rtt(&mut self, cx: &Cx, w: &mut Window, now: u64) {
        // Rate samples of this period do not reflect the path.
        w.mark_app_limited = true;
        if self.min_rtt.done.is_some() {
            self.min_rtt.round_done |= self.round_start;
            if self.min_rtt.round_done {
                self.check_probe_rtt_done(cx, w);
            }
        } else if cx.packets(cx.in_flight) <= self.probe_rtt_cwnd() {
            self.min_rtt.done = Some(now + self.clock.ceil(PROBE_RTT_DURATION));
            self.min_rtt.round_done = false;
            self.start_round(cx);
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, cx: &Cx, w: &mut Window) {
        let now = self.clock.at(cx.now);
        if self.min_rtt.done.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt.probe_stamp = now;
        w.cwnd = w.cwnd.max(cx.bytes(self.prior.cwnd));
        self.bounds.forget_short_term();
        if self.pipe_full() {
            // DOWN only for its draws: data in flight is already below the bandwidth-delay product.
            self.enter_down(cx);
            self.enter_cruise();
        } else {
            self.mode = Mode::Startup;
        }
    }
}
