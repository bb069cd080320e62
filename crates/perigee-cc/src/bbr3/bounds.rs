// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Loss-based bounds of BBRv3: short-term (bw_lo, inflight_lo) and long-term (inflight_hi).
//!
//! Loss rounds are separate from the rounds of the model: a loss round starts at the first loss, so
//! that it spans a full round trip of deliveries.

use super::phases::{AckPhase, Mode};
use super::rules::{HEADROOM, MAX_LOSS_EVENTS, MAX_UP_ROUNDS, MIN_CWND, STARTUP_LOSS_EVENTS};
use super::{Bbr3, Sample};
use crate::bbr::units::{Bw, UNIT};
use crate::{CaState, Cx, Window};

/// Packets in flight when a packet was sent, and packets lost since.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub lost: u64,
    pub tx_in_flight: u64,
    pub app_limited: bool,
}

/// In packets and packets/µs; `u64::MAX` = unbounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub bw_lo: Bw,
    pub inflight_lo: u64,
    pub inflight_hi: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { bw_lo: Bw::MAX, inflight_lo: u64::MAX, inflight_hi: u64::MAX }
    }
}

impl Bounds {
    /// inflight_hi less the headroom for other flows.
    pub fn with_headroom(&self) -> u64 {
        if self.inflight_hi == u64::MAX {
            return u64::MAX;
        }
        let headroom = (self.inflight_hi * HEADROOM / UNIT).max(1);
        self.inflight_hi.saturating_sub(headroom).max(MIN_CWND)
    }

    pub fn forget_short_term(&mut self) {
        (self.bw_lo, self.inflight_lo) = (Bw::MAX, u64::MAX);
    }

    /// Maximum of both, bound by bound.
    pub fn max(&self, other: &Bounds) -> Bounds {
        Bounds {
            bw_lo: self.bw_lo.max(other.bw_lo),
            inflight_lo: self.inflight_lo.max(other.inflight_lo),
            inflight_hi: self.inflight_hi.max(other.inflight_hi),
        }
    }
}

/// Deliveries of the latest round, and its losses.
#[derive(Clone, Debug, Default)]
pub(super) struct Latest {
    pub bw: Bw,
    /// Packets delivered in a round trip.
    pub inflight: u64,
    pub loss_in_round: bool,
    pub loss_round_start: bool,
    /// Total number of packets delivered at the end of the loss round.
    loss_round_end: u64,
    /// Number of ACKs that reported losses in this round of STARTUP.
    loss_events: u32,
}

impl Latest {
    pub fn restart(&mut self, loss_round_end: u64) {
        *self = Latest { loss_round_end, ..Latest::default() };
    }

    pub fn update(&mut self, cx: &Cx, s: &Sample) {
        self.loss_round_start = false;
        if !s.is_observation() {
            return;
        }
        self.bw = self.bw.max(s.bw);
        self.inflight = self.inflight.max(s.delivered);
        if s.prior_delivered >= self.loss_round_end {
            self.loss_round_end = cx.packets(cx.delivered);
            self.loss_round_start = true;
        }
    }

    /// Starts a new round of maxima, except at the ACK of a tail loss probe: if the probe repaired
    /// a loss, the deliveries before it are needed.
    pub fn advance(&mut self, s: &Sample) {
        if self.loss_round_start && !s.acks_tlp {
            self.bw = s.bw;
            self.inflight = s.delivered;
        }
    }

    pub fn note_loss(&mut self, cx: &Cx) {
        if !self.loss_in_round {
            self.loss_round_end = cx.packets(cx.delivered);
        }
        self.loss_in_round = true;
    }

    /// Discards congestion signals of a probing mode, which must not lower the bounds in the mode
    /// that follows.
    pub fn forget_congestion(&mut self) {
        self.loss_in_round = false;
        self.bw = 0;
        self.inflight = 0;
    }
}

impl Bbr3 {
    /// Adapts the short-term bounds, once per loss round.
    pub(super) fn adapt_lower_bounds(&mut self, cx: &Cx, w: &Window) {
        if self.mode.is_probing() {
            return;
        }
        let marked = self.lower_by_marks(cx, w);
        if self.latest.loss_in_round {
            self.lower_by_losses(cx, w);
        }
        self.bounds.inflight_lo = self.bounds.inflight_lo.min(marked);
    }

    fn lower_by_losses(&mut self, cx: &Cx, w: &Window) {
        let max_bw = self.max_bw();
        let beta = self.rules.beta;
        let b = &mut self.bounds;
        if b.bw_lo == Bw::MAX {
            b.bw_lo = max_bw;
        }
        if b.inflight_lo == u64::MAX {
            b.inflight_lo = cx.packets(w.cwnd);
        }
        b.bw_lo = (b.bw_lo * beta / UNIT).max(self.latest.bw).max(1);
        b.inflight_lo = (b.inflight_lo.saturating_mul(beta) / UNIT).max(self.latest.inflight);
    }

    /// Ends STARTUP if a round in recovery had enough loss events and too high a loss rate.
    pub(super) fn check_loss_in_startup(&mut self, cx: &Cx, w: &Window, s: &Sample) {
        if self.pipe_full() {
            return;
        }
        if s.losses > 0 {
            self.latest.loss_events = (self.latest.loss_events + 1).min(MAX_LOSS_EVENTS);
        }
        if !self.latest.loss_round_start {
            return;
        }
        let many = self.latest.loss_events >= STARTUP_LOSS_EVENTS;
        if many && cx.ca == CaState::Recovery && self.rules.is_too_high(&s.flight) {
            self.plateau.reached = true;
            self.bounds.inflight_hi = self.inflight(w, self.max_bw()).max(self.latest.inflight);
            return;
        }
        self.latest.loss_events = 0;
    }

    /// Processes the samples of a probe and adapts inflight_hi. True: the probe is repeated at
    /// once.
    pub(super) fn adapt_upper_bounds(&mut self, cx: &Cx, w: &Window, s: &Sample) -> bool {
        if self.round_start && self.cycle.ack_phase == AckPhase::Starting {
            self.cycle.ack_phase = AckPhase::Feedback;
        }
        if self.round_start && self.cycle.ack_phase == AckPhase::Stopping && self.end_probe_samples(cx, s) {
            return true;
        }
        if self.rules.is_too_high(&s.flight) || self.ecn.is_too_high() {
            if self.cycle.samples_are_of_probe {
                self.handle_too_high(cx, w, &s.flight);
            }
        } else if self.bounds.inflight_hi != u64::MAX {
            // Robustness against random loss: deliveries without excessive loss raise the bound in
            // any phase.
            self.bounds.inflight_hi = self.bounds.inflight_hi.max(s.flight.tx_in_flight);
            if self.mode == Mode::Up {
                self.raise_inflight_hi(cx, w, s.acked);
            }
        }
        false
    }

    /// Ends the samples of the probe, as all of its data is acknowledged.
    fn end_probe_samples(&mut self, cx: &Cx, s: &Sample) -> bool {
        self.cycle.samples_are_of_probe = false;
        self.cycle.ack_phase = AckPhase::Init;
        if !self.mode.is_probe_bw() {
            return false;
        }
        // The current sample is the best of this cycle; advancing with an empty slot would discard
        // the previous one without a replacement.
        if !s.app_limited && self.max_bw[1] > 0 {
            self.max_bw = [self.max_bw[1], 0];
        }
        let repeat = self.cycle.stopped_as_precaution && !self.cycle.previous_too_high;
        if repeat {
            self.enter_refill(cx);
        }
        repeat
    }

    /// Reacts, once per probe, to an excess of data in flight.
    pub(super) fn handle_too_high(&mut self, cx: &Cx, w: &Window, f: &Flight) {
        self.cycle.previous_too_high = true;
        self.cycle.samples_are_of_probe = false;
        if !f.app_limited {
            let target = self.target_inflight(cx, w).saturating_mul(self.rules.beta) / UNIT;
            self.bounds.inflight_hi = f.tx_in_flight.max(target);
        }
        if self.mode == Mode::Up {
            self.enter_down(cx);
        }
    }

    fn raise_inflight_hi(&mut self, cx: &Cx, w: &Window, acked: u64) {
        if !cx.cwnd_limited || cx.packets(w.cwnd) < self.bounds.inflight_hi {
            return;
        }
        let c = &mut self.cycle;
        c.up_acked += acked;
        if c.up_acked >= c.up_count {
            let steps = c.up_acked / c.up_count;
            c.up_acked -= steps * c.up_count;
            self.bounds.inflight_hi += steps;
            self.settled = false;
        }
        if self.round_start {
            self.raise_slope(cx, w);
        }
    }

    /// Doubles the growth of inflight_hi each round: 1, 2, 4, 8 … packets.
    pub(super) fn raise_slope(&mut self, cx: &Cx, w: &Window) {
        let c = &mut self.cycle;
        c.up_count = (cx.packets(w.cwnd) >> c.up_rounds).max(1);
        c.up_rounds = (c.up_rounds + 1).min(MAX_UP_ROUNDS);
    }

    /// Undoes a spurious reduction.
    pub(super) fn take_back(&mut self, cx: &Cx, w: &mut Window) {
        self.plateau.restart();
        self.latest.loss_in_round = false;
        let (bounds, mode) = self.undo;
        self.bounds = self.bounds.max(&bounds);
        self.settled = false;
        w.cwnd = w.cwnd.max(cx.bytes(self.prior.cwnd));
        if self.rules.draft {
            self.return_to_probing(cx, mode);
        }
    }

    /// Draft: resumes probing that a spurious loss had ended.
    fn return_to_probing(&mut self, cx: &Cx, before: Option<Mode>) {
        match before {
            Some(Mode::Startup) if self.mode != Mode::Startup && self.mode != Mode::ProbeRtt => {
                self.plateau.reached = false;
                self.mode = Mode::Startup;
            }
            Some(Mode::Up) if self.mode.is_probe_bw() && self.mode != Mode::Up => self.enter_refill(cx),
            _ => {}
        }
    }
}
