// SPDX-License-Identifier: Apache-2.0 OR MIT
//! HyStart (Ha, Rhee 2011) as in Linux since 2025: early exit from slow start.
//!
//! Idea: slow start should end when the path is full. Each round is checked for two signs:
//!
//! ```text
//! ACK train   ACKs in close succession (≤ 2 ms) span more than the path's empty RTT
//!             (half of it without pacing), with an allowance for the sender's own bursts
//! delay       from the 9th sample of a round on: lowest RTT of the round >
//!             delay_min + clamp(delay_min/8, 4 ms, 16 ms)
//! ```
//!
//! A round ends when the data sent by its start is acknowledged. Windows below 16 packets are
//! exempt.
//!
//! Differs from RFC 9406 (HyStart++): has the train test, and leaves slow start at once instead of
//! continuing at a slower rate.

use crate::{Cx, Nanos, Window};

/// The signs to check for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detect {
    /// Long trains of ACKs.
    pub train: bool,
    /// Rising RTT.
    pub delay: bool,
}

/// Variants of the thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// As described above.
    Linux,
    /// The margin of the delay is the full lowest RTT, within 4 ms to 1 s, and trains are never
    /// compared with half of the lowest RTT: slow start ends much later.
    Ns3,
    /// Linux before 5.8: RTTs in full milliseconds, trains always compared with half of the lowest
    /// RTT, a round's lowest RTT determined by its first eight samples, and a new round only after
    /// the ACK that ended the old one was evaluated.
    Linux415,
}

const LOW_WINDOW_SEGMENTS: u64 = 16;
const MAX_ACK_SPACING: Nanos = Nanos::from_millis(2);
const SAMPLES_BEFORE_DELAY_TEST: u32 = 8;
const DELAY_MARGIN: (Nanos, Nanos) = (Nanos::from_millis(4), Nanos::from_millis(16));
const DELAY_MARGIN_NS3: (Nanos, Nanos) = (Nanos::from_millis(4), Nanos::from_millis(1000));
const MAX_BURST_ALLOWANCE: Nanos = Nanos::from_millis(1);
/// Maximum burst of the host's segmentation offload.
const GSO_MAX_BYTES: u64 = 65_536;

/// State of one connection.
#[derive(Clone, Debug)]
pub struct HyStart {
    detect: Detect,
    flavour: Flavour,
    found: bool,
    round_start: Nanos,
    last_ack: Nanos,
    round_end_seq: u64,
    round_min_rtt: Nanos,
    samples: u32,
}

impl HyStart {
    /// Creates a detector. Its first round starts now.
    pub fn new(detect: Detect, flavour: Flavour, now: Nanos) -> Self {
        HyStart {
            detect,
            flavour,
            found: false,
            round_start: now,
            last_ack: now,
            round_end_seq: 0,
            round_min_rtt: Nanos::MAX,
            samples: 0,
        }
    }

    /// Restarts at a new slow start (connection start, timeout).
    pub fn restart(&mut self, cx: &Cx) {
        self.found = false;
        self.start_round(cx);
    }

    fn start_round(&mut self, cx: &Cx) {
        self.round_start = cx.now;
        self.last_ack = cx.now;
        self.round_end_seq = cx.snd_nxt;
        self.round_min_rtt = Nanos::MAX;
        self.samples = 0;
    }

    /// Processes an RTT sample in slow start. Returns true once, when slow start should end at the
    /// current window.
    pub fn on_sample(&mut self, cx: &Cx, w: &Window, rtt: Nanos, delay_min: Nanos) -> bool {
        if self.found {
            return false;
        }
        let round_over = cx.snd_una > self.round_end_seq;
        let late = self.flavour == Flavour::Linux415;
        if round_over && !late {
            self.start_round(cx);
        }
        let found = cx.packets(w.cwnd) >= LOW_WINDOW_SEGMENTS && self.looks_full(cx, w, rtt, delay_min);
        if round_over && late {
            self.start_round(cx);
        }
        self.found = found;
        found
    }

    fn looks_full(&mut self, cx: &Cx, w: &Window, rtt: Nanos, delay_min: Nanos) -> bool {
        let train = self.detect.train && self.train_is_long(cx, w, delay_min);
        let delay = self.detect.delay && self.delay_has_risen(rtt, delay_min);
        train || delay
    }

    fn train_is_long(&mut self, cx: &Cx, w: &Window, delay_min: Nanos) -> bool {
        if self.flavour == Flavour::Linux415 {
            return self.train_is_long_415(cx, delay_min);
        }
        if cx.now.saturating_sub(self.last_ack) > MAX_ACK_SPACING {
            return false;
        }
        self.last_ack = cx.now;
        let mut threshold = delay_min;
        if self.flavour == Flavour::Linux {
            threshold = threshold.saturating_add(burst_allowance(cx, w));
        }
        if !cx.paced && self.flavour == Flavour::Linux {
            threshold = threshold / 2;
        }
        cx.now.saturating_sub(self.round_start) > threshold
    }

    fn train_is_long_415(&mut self, cx: &Cx, delay_min: Nanos) -> bool {
        let ms = |t: Nanos| t.as_micros() / 1000;
        let now = ms(cx.now);
        if now.saturating_sub(ms(self.last_ack)) > ms(MAX_ACK_SPACING) {
            return false;
        }
        self.last_ack = cx.now;
        now.saturating_sub(ms(self.round_start)) > ms(delay_min / 2)
    }

    fn delay_has_risen(&mut self, rtt: Nanos, delay_min: Nanos) -> bool {
        let first_samples = self.samples < SAMPLES_BEFORE_DELAY_TEST;
        if first_samples || self.flavour != Flavour::Linux415 {
            self.round_min_rtt = self.round_min_rtt.min(rtt);
        }
        if first_samples {
            self.samples += 1;
            return false;
        }
        let margin = match self.flavour {
            Flavour::Linux | Flavour::Linux415 => (delay_min / 8).clamp(DELAY_MARGIN.0, DELAY_MARGIN.1),
            Flavour::Ns3 => delay_min.clamp(DELAY_MARGIN_NS3.0, DELAY_MARGIN_NS3.1),
        };
        self.round_min_rtt > delay_min.saturating_add(margin)
    }
}

/// Transmission time of four of the sender's largest bursts, at most 1 ms. The rate is the one that
/// Linux maintains for sizing bursts, even without pacing.
fn burst_allowance(cx: &Cx, w: &Window) -> Nanos {
    let percent = if w.cwnd < w.ssthresh / 2 { 200 } else { 120 };
    let bytes_per_srtt = w.cwnd.max(cx.outstanding) as u128 * percent / 100;
    let ns = (4 * GSO_MAX_BYTES) as u128 * cx.srtt.0 as u128 / bytes_per_srtt.max(1);
    Nanos(ns.min(MAX_BURST_ALLOWANCE.0 as u128) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::INFINITE_SSTHRESH;

    const BOTH: Detect = Detect { train: true, delay: true };
    const MSS: u64 = 1000;

    fn window(packets: u64) -> Window {
        Window {
            cwnd: packets * MSS,
            ssthresh: INFINITE_SSTHRESH,
            pacing: None,
            quantum: 0,
            next_timer: None,
            mark_app_limited: false,
            postpone: Nanos::ZERO,
        }
    }

    fn cx(now_ms: u64, una: u64) -> Cx {
        Cx {
            now: Nanos::from_millis(now_ms),
            mss: MSS as u32,
            srtt: Nanos::from_millis(100),
            snd_una: una,
            snd_nxt: una + 40 * MSS,
            outstanding: 40 * MSS,
            ..Cx::default()
        }
    }

    /// Feeds ACKs every `spacing_ms` with a constant RTT; returns the number of ACKs until slow
    /// start ends.
    fn acks_until_found(detect: Detect, paced: bool, spacing_ms: u64, rtt_ms: u64) -> Option<u64> {
        let mut h = HyStart::new(detect, Flavour::Linux, Nanos::ZERO);
        h.restart(&cx(0, 0));
        let ms = Nanos::from_millis;
        (1..=100).find(|&i| {
            let cx = Cx { paced, ..cx(i * spacing_ms, i) };
            h.on_sample(&cx, &window(40), ms(rtt_ms), ms(100))
        })
    }

    #[test]
    fn an_unpaced_ack_train_ends_slow_start_after_half_the_empty_rtt() {
        assert_eq!(acks_until_found(BOTH, false, 1, 100), Some(51));
        assert_eq!(acks_until_found(BOTH, true, 2, 100), Some(51));
        assert_eq!(acks_until_found(BOTH, false, 3, 100), None, "not a train");
    }

    #[test]
    fn the_ninth_sample_of_a_delayed_round_ends_slow_start() {
        assert_eq!(acks_until_found(BOTH, false, 3, 113), Some(9));
        assert_eq!(acks_until_found(BOTH, false, 3, 112), None, "12.5 ms more is within the margin");
        assert_eq!(acks_until_found(Detect { train: true, delay: false }, false, 3, 150), None);
    }

    #[test]
    fn one_low_sample_late_in_the_round_keeps_slow_start_going() {
        let mut h = HyStart::new(BOTH, Flavour::Linux, Nanos::ZERO);
        h.restart(&cx(0, 0));
        for i in 1..=8 {
            assert!(!h.on_sample(
                &cx(i * 5, i),
                &window(20),
                Nanos::from_millis(200),
                Nanos::from_millis(100)
            ));
        }
        for (i, rtt) in [(9, 29), (10, 200), (11, 200)] {
            let rtt = Nanos::from_millis(rtt);
            assert!(!h.on_sample(&cx(i * 5, i), &window(20), rtt, rtt.min(Nanos::from_millis(29))));
        }
    }

    #[test]
    fn before_5_8_eight_samples_decide_on_a_round_and_pacing_does_not_matter() {
        let ms = Nanos::from_millis;
        let mut h = HyStart::new(Detect { train: false, delay: true }, Flavour::Linux415, Nanos::ZERO);
        h.restart(&cx(0, 0));
        for i in 1..=8 {
            assert!(!h.on_sample(&cx(i * 5, i), &window(20), ms(200), ms(100)));
        }
        assert!(h.on_sample(&cx(45, 9), &window(20), ms(100), ms(100)), "a low sample comes too late");
        let mut h = HyStart::new(BOTH, Flavour::Linux415, Nanos::ZERO);
        h.restart(&cx(0, 0));
        let found = (1..=100).find(|&i| {
            let cx = Cx { paced: true, ..cx(i, i) };
            h.on_sample(&cx, &window(40), ms(100), ms(100))
        });
        assert_eq!(found, Some(51));
    }

    #[test]
    fn small_windows_are_left_alone() {
        let mut h = HyStart::new(BOTH, Flavour::Linux, Nanos::ZERO);
        for i in 0..100 {
            let ms = Nanos::from_millis;
            assert!(!h.on_sample(&cx(i, i), &window(15), ms(500), ms(10)));
        }
    }

    #[test]
    fn a_fast_sender_gets_a_smaller_allowance_than_a_millisecond() {
        assert_eq!(burst_allowance(&cx(0, 0), &window(40)), MAX_BURST_ALLOWANCE);
        let fast = Cx { srtt: Nanos::from_millis(1), ..cx(0, 0) };
        assert!(burst_allowance(&fast, &window(10_000)) < Nanos::from_micros(14));
    }
}
