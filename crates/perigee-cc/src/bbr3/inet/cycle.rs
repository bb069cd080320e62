// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bandwidth probing cycle, and its adaptation of the bound of data in flight.

use super::{Acks, Bbr3, Mode, NONE};
use crate::*;

impl Bbr3 {
    pub(super) fn update_cycle(&mut self, cx: &Cx, w: &Window, ev: &AckEvent<'_>, sample: u32) {
        if !self.full_reached || self.adapt_upper_bounds(cx, w, ev) {
            return;
        }
        let flight = ev.prior_in_flight;
        match self.mode {
            Mode::Cruise => {
                self.check_wait(cx);
            }
            Mode::Refill if self.round_start => {
                self.samples_are_of_probe = true;
                self.start_up(cx, w, sample);
            }
            Mode::Up => {
                let mut done = self.full_now;
                if self.prev_too_high && flight >= self.inflight_hi {
                    (self.stopped_risky, done) = (true, true);
                } else if flight >= self.inflight(cx, self.max_bw(), self.pacing_gain) {
                    self.forget_full();
                    self.full_bw = sample;
                    done = true;
                }
                if done {
                    self.prev_too_high = false;
                    self.start_down(cx);
                }
            }
            Mode::Down => {
                let waits = !self.check_wait(cx) && flight <= self.with_headroom(cx);
                if waits && flight <= self.inflight(cx, self.max_bw(), 1.0) {
                    self.start_cruise(cx);
                }
            }
            _ => {}
        }
    }

    /// True if a new cycle starts.
    pub(super) fn adapt_upper_bounds(&mut self, cx: &Cx, w: &Window, ev: &AckEvent<'_>) -> bool {
        if self.acks == Acks::Starting && self.round_start {
            self.acks = Acks::Feedback;
        }
        if self.acks == Acks::Stopping && self.round_start {
            self.samples_are_of_probe = false;
            self.acks = Acks::Init;
            if self.mode.probes_bw() {
                if self.bw_hi[1] != 0 {
                    self.bw_hi = [self.bw_hi[1], 0];
                }
                if self.stopped_risky && !self.prev_too_high {
                    self.start_refill(cx);
                    return true;
                }
            }
        }
        if Self::is_too_high(cx, ev.newly_lost) {
            if self.samples_are_of_probe {
                self.handle_too_high(cx, w);
            }
            return false;
        }
        if self.inflight_hi != NONE {
            self.inflight_hi = self.inflight_hi.max(cx.in_flight);
            if self.mode == Mode::Up {
                self.raise_bound(cx, w, ev);
            }
        }
        false
    }

    pub(super) fn handle_too_high(&mut self, cx: &Cx, w: &Window) {
        self.prev_too_high = true;
        self.samples_are_of_probe = false;
        self.inflight_hi = self.target(cx, w);
        if self.mode == Mode::Up {
            self.start_down(cx);
        }
    }

    fn raise_bound(&mut self, cx: &Cx, w: &Window, ev: &AckEvent<'_>) {
        if w.cwnd < self.inflight_hi {
            self.up_acks = 0;
            return;
        }
        self.up_acks += ev.newly_acked;
        if self.up_acks >= self.up_count {
            let steps = self.up_acks / self.up_count;
            self.up_acks -= steps * self.up_count;
            self.inflight_hi += steps * u64::from(cx.mss);
        }
        if self.round_start {
            self.raise_slope(w);
        }
    }

    fn raise_slope(&mut self, w: &Window) {
        let growth = 1u64 << self.up_rounds;
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.up_count = (w.cwnd / growth).max(1);
    }

    /// True if the wait has expired and a cycle starts.
    fn check_wait(&mut self, cx: &Cx) -> bool {
        let over = cx.now > self.phase_at + self.wait;
        if over {
            self.start_refill(cx);
        }
        over
    }

    fn start_refill(&mut self, cx: &Cx) {
        self.forget_lower_bounds();
        (self.up_rounds, self.up_acks) = (0, 0);
        self.stopped_risky = false;
        self.acks = Acks::Refilling;
        self.enter_phase(cx, Mode::Refill);
        self.begin_round(cx);
    }

    fn start_up(&mut self, cx: &Cx, w: &Window, sample: u32) {
        self.acks = Acks::Starting;
        self.begin_round(cx);
        self.forget_full();
        self.full_bw = sample;
        self.enter_phase(cx, Mode::Up);
        self.raise_slope(w);
    }

    pub(super) fn start_down(&mut self, cx: &Cx) {
        self.forget_signals();
        self.up_count = NONE;
        // The first draw is for a number of rounds that is never used.
        self.draws.up_to(2);
        self.wait = Nanos::from_secs(2 + u64::from(self.draws.up_to(1000) / 1000));
        self.acks = Acks::Stopping;
        self.begin_round(cx);
        self.enter_phase(cx, Mode::Down);
    }

    pub(super) fn start_cruise(&mut self, cx: &Cx) {
        if self.inflight_lo != NONE {
            self.inflight_lo = self.inflight_lo.min(self.inflight_hi);
        }
        self.enter_phase(cx, Mode::Cruise);
    }

    fn enter_phase(&mut self, cx: &Cx, mode: Mode) {
        (self.mode, self.phase_at) = (mode, cx.now);
    }
}
