// SPDX-License-Identifier: Apache-2.0 OR MIT
//! ECN response of BBRv3 on short paths: the fraction of marked packets, averaged over rounds as in
//! DCTCP, reduces inflight_lo; too high a fraction ends STARTUP and probes.
//!
//! The kernel counts marks over each rate sample; here they are counted per round, so that a probe
//! is judged once per round. The kernel's shorter wait after a probe without losses (its constant
//! is published, its rule is not) is not implemented.

use super::{Bbr3, Sample};
use crate::bbr::units::UNIT;
use crate::{Cx, Window};

/// Weight of a round in the mean fraction of marks: 1/16.
const ALPHA_GAIN: u64 = UNIT / 16;
/// Part of the mean fraction by which inflight_lo is reduced: 1/3.
const FACTOR: u64 = UNIT / 3;
/// Maximum acceptable fraction.
const THRESHOLD: u64 = UNIT / 2;
/// Number of rounds with too many marks after which STARTUP ends.
const STARTUP_ROUNDS: u32 = 2;

/// Congestion marks of a connection. Fractions are in 1/256.
#[derive(Clone, Debug)]
pub(super) struct Ecn {
    /// Whether the path has been short at least once.
    eligible: bool,
    /// Mean fraction of marked packets.
    alpha: u64,
    /// Packets delivered up to the start of the round, and packets marked since.
    round_began: u64,
    marked: u64,
    /// Fraction in the round that has just ended; `None` during a round.
    ended: Option<u64>,
    pub in_round: bool,
    startup_rounds: u32,
}

impl Default for Ecn {
    fn default() -> Self {
        Ecn {
            eligible: false,
            alpha: UNIT,
            round_began: 0,
            marked: 0,
            ended: None,
            in_round: false,
            startup_rounds: 0,
        }
    }
}

impl Ecn {
    /// Processes an ACK; `delivered`: total number of packets.
    pub fn update(&mut self, s: &Sample, round_start: bool, delivered: u64) {
        self.ended = None;
        self.marked += s.marked;
        self.in_round |= self.eligible && s.marked > 0;
        if !round_start || delivered <= self.round_began {
            return;
        }
        let share = (self.marked * UNIT / (delivered - self.round_began)).min(UNIT);
        (self.round_began, self.marked) = (delivered, 0);
        if self.eligible {
            self.alpha = ((UNIT - ALPHA_GAIN) * self.alpha / UNIT + ALPHA_GAIN * share / UNIT).min(UNIT);
            self.ended = Some(share);
        }
    }

    /// Whether the round that has just ended had too many marks.
    pub fn is_too_high(&self) -> bool {
        self.ended.is_some_and(|share| share > THRESHOLD)
    }

    /// `inflight` after the reduction for marks.
    pub fn cut(&self, inflight: u64) -> u64 {
        inflight.saturating_mul(UNIT - self.alpha * FACTOR / UNIT) / UNIT
    }
}

impl Bbr3 {
    /// Checks whether the path is short enough for its marks to count; once suffices.
    pub(super) fn judge_ecn(&mut self) {
        let longest = self.rules.ecn_max_rtt.as_micros();
        self.ecn.eligible |= longest == 0 || self.min_rtt.us.is_some_and(|us| us <= longest);
    }

    /// Ends STARTUP after rounds with too many marks.
    pub(super) fn check_ecn_in_startup(&mut self, w: &Window) {
        let Some(share) = self.ecn.ended.filter(|_| !self.pipe_full()) else { return };
        self.ecn.startup_rounds = if share >= THRESHOLD { self.ecn.startup_rounds + 1 } else { 0 };
        if self.ecn.startup_rounds >= STARTUP_ROUNDS {
            self.plateau.reached = true;
            self.bounds.inflight_hi = self.inflight(w, self.max_bw()).max(self.latest.inflight);
        }
    }

    /// Lowers inflight_lo, the only bound affected by marks.
    pub(super) fn lower_by_marks(&mut self, cx: &Cx, w: &Window) -> u64 {
        if !self.ecn.in_round {
            return u64::MAX;
        }
        if self.bounds.inflight_lo == u64::MAX {
            self.bounds.inflight_lo = cx.packets(w.cwnd);
        }
        self.ecn.cut(self.bounds.inflight_lo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AckEvent, Cx};

    fn ack(ecn: &mut Ecn, marked: u64, round_start: bool, delivered: u64) {
        let cx = Cx { mss: 1448, ..Cx::default() };
        let ev = AckEvent { ece: marked * 1448, ..AckEvent::default() };
        ecn.update(&Sample::new(&cx, &ev), round_start, delivered);
    }

    #[test]
    fn the_mean_share_of_marks_follows_the_rounds() {
        let mut ecn = Ecn { eligible: true, ..Ecn::default() };
        ack(&mut ecn, 0, true, 100);
        assert_eq!((ecn.alpha, ecn.is_too_high()), (240, false));
        ack(&mut ecn, 60, false, 150);
        assert!(ecn.in_round && !ecn.is_too_high());
        ack(&mut ecn, 0, true, 200);
        assert!(ecn.is_too_high(), "60 of 100");
        assert_eq!(ecn.alpha, 240 * 240 / 256 + 16 * 153 / 256);
        ack(&mut ecn, 0, false, 210);
        assert!(!ecn.is_too_high(), "a round is judged once");
    }

    #[test]
    fn all_marks_cost_a_third_and_none_nothing() {
        let ecn = Ecn::default();
        assert_eq!(ecn.cut(256), 171);
        assert_eq!(Ecn { alpha: 0, ..ecn }.cut(256), 256);
    }

    #[test]
    fn marks_of_long_paths_do_not_count() {
        let mut ecn = Ecn::default();
        ack(&mut ecn, 90, true, 100);
        assert!(!ecn.in_round && !ecn.is_too_high() && ecn.alpha == UNIT);
    }
}
