// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rapid start (draft-kazuho-ccwg-rapid-start, h2o/quicly): three times the window each round while
//! there is no queue.
//!
//! ```text
//! no queue   lowest RTT of the last four quarters of a round ≤ min + max(4 ms, 3/32 min)
//! growth     cwnd += 2 acked without a queue, else acked; paced at three times, else twice
//!            cwnd/SRTT; the first flight is spread over a round
//! loss       c = cwnd, f = 0.3·11/18:  threshold (0.7 + f)·c
//!            repair: − f·acked − (0.7 + f)·lost, at least 0.7/3·c and half of the initial window
//! ```
//!
//! Below an RTT of 4 ms it is an ordinary slow start.
//!
//! With an overshoot of three, two thirds of a window are lost, and the threshold ends at a
//! reduction of what has arrived; with less loss it ends higher. The scheme takes over at the end of
//! the repair; it is shown a third of the window at the loss, as the path's capacity.

use super::started::{grow, Step};
use crate::{AckEvent, BitRate, ConnInit, Cx, Nanos, ParamSpec, Window};

/// It has no parameters.
pub const PARAMS: &[ParamSpec] = &[];

/// Part of the window that is kept after a loss in congestion avoidance.
const BETA: f64 = 0.7;
/// Reduction per byte acknowledged during the repair: 11/18 of the rest.
const ACKED_SHARE: f64 = (1.0 - BETA) * 11.0 / 18.0;
/// Reduction per byte lost, and the window kept at the first loss.
const LOST_SHARE: f64 = BETA + ACKED_SHARE;
/// Growth per round without a queue.
const MULTIPLE: u64 = 3;
const SLOTS: usize = 4;
const MARGIN: Nanos = Nanos::from_millis(4);

/// State of one connection.
#[derive(Clone, Debug)]
pub struct Rapid {
    init_cwnd: u64,
    min_rtt: Nanos,
    /// Lowest RTT of the last quarters of a round, newest first.
    slots: [Nanos; SLOTS],
    newest_until: Nanos,
    /// Threshold and its lower limit during the repair, in bytes.
    repair: (f64, f64),
    empty: bool,
}

impl Rapid {
    /// A start of a new connection.
    pub fn new(init: &ConnInit) -> Self {
        Rapid {
            init_cwnd: init.init_cwnd,
            min_rtt: Nanos::MAX,
            slots: [Nanos::MAX; SLOTS],
            newest_until: init.now,
            repair: (0.0, 0.0),
            empty: true,
        }
    }

    /// Whether the window triples.
    pub fn is_rapid(&self) -> bool {
        self.empty
    }

    /// Spreads the first flight over a round.
    pub fn on_start(&self, cx: &Cx, w: &mut Window) {
        if cx.srtt > Nanos::ZERO {
            w.pacing = Some(BitRate::of(w.cwnd, cx.srtt));
        }
    }

    /// Processes an ACK of the start.
    pub fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) -> Step {
        if let Some(rtt) = ev.rtt {
            self.note(cx.now, rtt);
        }
        let times = if self.empty { MULTIPLE } else { 2 };
        grow(cx, w, ev, ev.newly_acked * (times - 1));
        if cx.srtt > Nanos::ZERO {
            w.pacing = Some(BitRate::of(w.cwnd.saturating_mul(times), cx.srtt));
        }
        Step::Stay
    }

    fn note(&mut self, now: Nanos, rtt: Nanos) {
        self.min_rtt = self.min_rtt.min(rtt);
        let slot = (self.min_rtt / SLOTS as u64).max(Nanos(1));
        if now < self.newest_until {
            self.slots[0] = self.slots[0].min(rtt);
        } else {
            let passed = now.saturating_sub(self.newest_until).0 / slot.0 + 1;
            let shift = (passed as usize).min(SLOTS);
            self.slots.rotate_right(shift);
            self.slots[..shift].fill(Nanos::MAX);
            self.slots[0] = rtt;
            self.newest_until += slot * passed;
        }
        let margin = MARGIN.max(self.min_rtt * 3 / 32);
        let lowest = self.slots.iter().min().copied().unwrap_or(Nanos::MAX);
        self.empty = self.min_rtt >= MARGIN && lowest <= self.min_rtt.saturating_add(margin);
    }

    /// The window that the scheme is shown at the first loss.
    pub fn capacity(&self, w: &Window) -> u64 {
        (w.cwnd / MULTIPLE).max(self.init_cwnd)
    }

    /// The threshold at the first loss.
    pub fn on_loss(&mut self, w: &Window) -> u64 {
        let cwnd = w.cwnd as f64;
        let least = (cwnd / MULTIPLE as f64 * BETA).max(self.init_cwnd as f64 / 2.0);
        self.repair = ((cwnd * LOST_SHARE).max(least), least);
        self.repair.0 as u64
    }

    /// Lowers threshold and window by what an ACK of the repair reports.
    pub fn on_repair(&mut self, w: &mut Window, ev: &AckEvent<'_>) {
        let (threshold, least) = self.repair;
        let less = ACKED_SHARE * ev.newly_acked as f64 + LOST_SHARE * ev.newly_lost as f64;
        self.repair.0 = (threshold - less).max(least);
        w.ssthresh = self.repair.0 as u64;
        w.cwnd = w.cwnd.min(w.ssthresh);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn rapid() -> (Rapid, Window, Cx) {
        let init =
            ConnInit { now: Nanos::ZERO, mss: 1000, init_cwnd: 10 * MSS, srtt: None, seed: 1, hz: 1000 };
        let cx = Cx { mss: 1000, srtt: Nanos::from_millis(100), cwnd_limited: true, ..Cx::default() };
        (Rapid::new(&init), init.window(), cx)
    }

    #[test]
    fn two_thirds_lost_leave_the_reduction_of_a_third() {
        let (mut r, mut w, _) = rapid();
        w.cwnd = 300 * MSS;
        assert_eq!((r.capacity(&w), r.on_loss(&w) / MSS), (100 * MSS, 265));
        let repair = AckEvent { newly_acked: 100 * MSS, newly_lost: 200 * MSS, ..AckEvent::default() };
        r.on_repair(&mut w, &repair);
        assert_eq!((w.ssthresh + 1) / MSS, 70);
        r.on_repair(&mut w, &repair);
        assert_eq!((w.ssthresh + 1) / MSS, 70, "not less");
    }

    #[test]
    fn a_small_loss_keeps_most_of_the_window() {
        let (mut r, mut w, _) = rapid();
        w.cwnd = 300 * MSS;
        r.on_loss(&w);
        let repair = AckEvent { newly_acked: 299 * MSS, newly_lost: MSS, ..AckEvent::default() };
        r.on_repair(&mut w, &repair);
        assert!((209..=211).contains(&(w.ssthresh / MSS)), "{}", w.ssthresh);
    }

    #[test]
    fn growth_falls_to_twice_once_a_quarter_of_a_round_shows_a_queue() {
        let (mut r, mut w, mut cx) = rapid();
        let mut grown = |now_ms: u64, rtt_ms: u64| {
            cx.now = Nanos::from_millis(now_ms);
            let rtt = Some(Nanos::from_millis(rtt_ms));
            let before = w.cwnd;
            let ev = AckEvent { newly_acked: MSS, rtt, may_grow: true, ..AckEvent::default() };
            r.on_ack(&cx, &mut w, &ev);
            (w.cwnd - before) / MSS
        };
        assert_eq!((grown(100, 100), grown(150, 109)), (2, 2));
        // The samples of an empty path are forgotten after a round.
        assert_eq!((grown(210, 120), grown(260, 120)), (2, 1));
    }
}
