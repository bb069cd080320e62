// SPDX-License-Identifier: Apache-2.0 OR MIT
//! LEDBAT++: congestion control for background traffic, which yields to everything else (LEDBAT: RFC
//! 6817; draft-irtf-iccrg-ledbat-plus-plus).
//!
//! Idea: the one-way delay in excess of its minimum is the queue. Keep that queue at a target below
//! what others cause, and shrink in proportion to the excess, long before there is loss.
//!
//! ```text
//! queue = min(last 4 one-way delays) - min(those of the last 10 minutes)
//! gain  = 1 / min(16, ⌈2 target / base RTT⌉)
//!
//! slow start          W += gain per packet acknowledged, until queue > 3/4 target (the first one)
//!                     or ssthresh
//! queue <= target     W += gain per RTT
//! queue > target      W += max(gain - W (queue / target - 1), -W / 2) per RTT, W in packets
//! loss                ssthresh = W / 2
//!
//! slowdown            ssthresh = W, W = 2 packets for 2 RTTs, then slow start up to ssthresh
//!                     first 2 RTTs after slow start, then after 9 times the duration of the last
//! ```
//!
//! Slowdowns empty the queue, so that all flows measure the same base delay: with LEDBAT a late
//! flow takes the queue of the others for its base, and starves them. They cost a tenth of the
//! time at most.
//!
//! One-way delays need the receiver's clock in ACKs (`arrival_clock` of `[tcp]`). Its offset cancels
//! out; drift does within the ten minutes of the base delay, whose history rolls over every minute
//! (RFC 6817 appendix A.1: 100 ppm are 6 ms a minute). Unlike one-way delays, RTTs contain the queue of
//! the return path. Where a peer does not report its clock, or with `delay = "rtt"`, RTTs stand for
//! one-way delays, as in the draft (section 4.5), which had no clock of known frequency in TCP.
//!
//! Not implemented: the correction of drift (RFC 6817 appendix A.2), which is optional, and the
//! random time of the first slowdown.

use crate::*;
use std::collections::VecDeque;

/// Parameters.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "delay",
        domain: Domain::Choice(&["one-way", "rtt"]),
        unit: "",
        source: "RFC 6817; draft section 4.5",
        help: "measured delay: one-way = one-way delay if the peer reports its clock, otherwise the RTT; rtt = always the RTT",
    },
    ParamSpec {
        name: "target",
        domain: Domain::Time {
            default: Nanos::from_millis(60),
            min: Nanos::from_millis(1),
            max: Nanos::from_millis(100),
        },
        unit: "",
        source: "draft section 4.1; RFC 6817 section 2.4.2: at most 100 ms",
        help: "target queueing delay",
    },
    ParamSpec {
        name: "base_history",
        domain: Domain::Int { default: 10, min: 1, max: 60 },
        unit: "minutes",
        source: "RFC 6817 section 2.4.2 (BASE_HISTORY)",
        help: "period of which the minimum delay is the base delay",
    },
    ParamSpec {
        name: "current_filter",
        domain: Domain::Int { default: 4, min: 1, max: 100 },
        unit: "samples",
        source: "RFC 6817 section 2.4.2 (CURRENT_FILTER)",
        help: "number of latest delays of which the minimum is used",
    },
    ParamSpec {
        name: "slowdowns",
        domain: Domain::Bool(true),
        unit: "",
        source: "draft section 4.4",
        help: "empty the queue periodically",
    },
];

/// Minimum window in segments (RFC 6817 MIN_CWND).
const MIN_CWND: u64 = 2;
/// Largest divisor of the gain.
const MAX_DIVISOR: u64 = 16;
/// Fraction of the target at which the first slow start ends.
const SLOW_START_EXIT: (i64, i64) = (3, 4);
/// Duration of the pauses before the first slowdown, and within each, in RTTs.
const PAUSE_RTTS: u64 = 2;
/// Interval between slowdowns, as a multiple of the duration of the last one.
const INTERVAL: u64 = 9;
const MINUTE: Nanos = Nanos::from_secs(60);

/// Position in the cycle of slowdowns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The first slow start.
    Start,
    /// Steering by delay; a slowdown follows at this time.
    Steady(Nanos),
    /// Slowdown since the first time, with the least window until the second.
    Paused(Nanos, Nanos),
    /// Slow start back to the window before the slowdown, which began at this time.
    Return(Nanos),
}

/// State of one connection. Delays in nanoseconds, by the clocks of both ends.
#[derive(Clone, Debug)]
pub struct LedbatPp {
    one_way: bool,
    target_ns: i64,
    history: usize,
    filter: usize,
    slowdowns: bool,
    /// Whether the delays are one-way delays; both kinds cannot be compared.
    measures_one_way: bool,
    /// Minimum of each minute, newest last.
    base: VecDeque<i64>,
    minute_end: Nanos,
    /// Latest delays.
    current: VecDeque<i64>,
    queue_ns: i64,
    phase: Phase,
    /// Change of less than a byte, carried over.
    carry: f64,
}

impl LedbatPp {
    /// A controller for a new connection.
    pub fn new(params: &Params, _init: &ConnInit) -> Self {
        let (history, filter) = (params.int("base_history") as usize, params.int("current_filter") as usize);
        LedbatPp {
            one_way: params.choice("delay") == "one-way",
            target_ns: params.time("target").0 as i64,
            history,
            filter,
            slowdowns: params.bool("slowdowns"),
            measures_one_way: false,
            base: VecDeque::with_capacity(history + 1),
            minute_end: Nanos::ZERO,
            current: VecDeque::with_capacity(filter + 1),
            queue_ns: 0,
            phase: Phase::Start,
            carry: 0.0,
        }
    }

    fn measure(&mut self, now: Nanos, ev: &AckEvent<'_>) {
        let one_way = ev.arrival.filter(|_| self.one_way);
        let delay = match one_way {
            Some(arrival) => Some(arrival.one_way_ns()),
            // An ACK without a report after others with one, such as that of a delayed handshake.
            None if self.measures_one_way => None,
            None => ev.rtt.map(|rtt| rtt.0 as i64),
        };
        let Some(delay) = delay else { return };
        if one_way.is_some() && !self.measures_one_way {
            self.measures_one_way = true;
            self.base.clear();
            self.current.clear();
        }
        self.note_base(now, delay);
        if self.current.len() >= self.filter {
            self.current.pop_front();
        }
        self.current.push_back(delay);
        let lowest = |of: &VecDeque<i64>| of.iter().copied().min().unwrap_or(delay);
        self.queue_ns = lowest(&self.current).saturating_sub(lowest(&self.base)).max(0);
    }

    fn note_base(&mut self, now: Nanos, delay: i64) {
        if now >= self.minute_end || self.base.is_empty() {
            self.minute_end = now.saturating_add(MINUTE);
            if self.base.len() >= self.history {
                self.base.pop_front();
            }
            self.base.push_back(delay);
        }
        if let Some(newest) = self.base.back_mut() {
            *newest = delay.min(*newest);
        }
    }

    fn gain(&self, cx: &Cx) -> f64 {
        let base = if cx.min_rtt < Nanos::MAX { cx.min_rtt.0.max(1) } else { 1 };
        let divisor = (2 * self.target_ns as u64).div_ceil(base).clamp(1, MAX_DIVISOR);
        1.0 / divisor as f64
    }

    /// Follows the cycle of slowdowns; true while the window is fixed.
    fn slow_down(&mut self, cx: &Cx, w: &mut Window) -> bool {
        let pause = Nanos(cx.srtt.0 * PAUSE_RTTS);
        match self.phase {
            Phase::Start if w.cwnd >= w.ssthresh => self.phase = Phase::Steady(cx.now.saturating_add(pause)),
            Phase::Steady(at) if self.slowdowns && cx.now >= at && cx.ca == CaState::Open => {
                self.phase = Phase::Paused(cx.now, cx.now.saturating_add(pause));
                w.ssthresh = w.cwnd.max(cx.bytes(MIN_CWND));
                (w.cwnd, self.carry) = (cx.bytes(MIN_CWND).min(w.cwnd), 0.0);
            }
            Phase::Paused(since, until) if cx.now >= until => self.phase = Phase::Return(since),
            Phase::Return(since) if w.cwnd >= w.ssthresh => {
                let took = cx.now.saturating_sub(since);
                self.phase = Phase::Steady(cx.now.saturating_add(Nanos(took.0.saturating_mul(INTERVAL))));
            }
            _ => {}
        }
        matches!(self.phase, Phase::Paused(..))
    }

    /// Change of the window in bytes for `acked` bytes.
    fn change(&self, cx: &Cx, w: &Window, acked: u64) -> f64 {
        let (mss, acked) = (f64::from(cx.mss), acked as f64);
        let gain = self.gain(cx);
        if w.cwnd < w.ssthresh {
            return (gain * acked).min((w.ssthresh - w.cwnd) as f64);
        }
        let share = acked / w.cwnd.max(1) as f64;
        let packets = w.cwnd as f64 / mss;
        let excess = self.queue_ns as f64 / self.target_ns as f64 - 1.0;
        let step = if excess <= 0.0 { gain } else { (gain - packets * excess).max(-packets / 2.0) };
        step * mss * share
    }
}

impl CongestionControl for LedbatPp {
    fn caps(&self) -> Caps {
        Caps::WINDOW
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        self.measure(cx.now, ev);
        if self.slow_down(cx, w) {
            return;
        }
        let full = self.queue_ns * SLOW_START_EXIT.1 > self.target_ns * SLOW_START_EXIT.0;
        if self.phase == Phase::Start && w.cwnd < w.ssthresh && full {
            w.ssthresh = w.cwnd;
            return;
        }
        let change = self.change(cx, w, ev.newly_acked);
        // As RFC 6817: growth needs a full window, a decrease does not.
        if cx.ca >= CaState::Cwr || (change > 0.0 && !(ev.may_grow && cx.cwnd_limited)) {
            return;
        }
        self.carry += change;
        let whole = self.carry as i64;
        self.carry -= whole as f64;
        let slow_start = w.cwnd < w.ssthresh;
        // A timeout leaves less than the minimum.
        let least = cx.bytes(MIN_CWND).min(w.cwnd);
        w.cwnd = w.cwnd.saturating_add_signed(whole).max(least);
        if !slow_start {
            w.ssthresh = w.ssthresh.min(w.cwnd);
        }
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        self.carry = 0.0;
        (w.cwnd / 2).max(cx.bytes(MIN_CWND))
    }

    fn mode(&self, w: &Window) -> &'static str {
        match self.phase {
            Phase::Paused(..) => "slowdown",
            _ if w.cwnd < w.ssthresh => "slow start",
            _ => "steady",
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("queue_s", self.queue_ns as f64 / 1e9);
        out("one_way", f64::from(u8::from(self.measures_one_way)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const MSS: u64 = 1000;

    fn ms(n: u64) -> Nanos {
        Nanos::from_millis(n)
    }

    /// A connection with ACKs fed one by one: RTT 100 ms, one-way delay of the empty path 50 ms.
    struct Fed {
        c: LedbatPp,
        cx: Cx,
        w: Window,
        /// Receiver's clock less the sender's.
        offset_ns: i64,
    }

    impl Fed {
        fn new(given: &[(&str, Value)]) -> Self {
            let given: BTreeMap<String, Value> =
                given.iter().map(|(k, v)| ((*k).to_string(), v.clone())).collect();
            let init = ConnInit {
                now: Nanos::ZERO,
                mss: MSS as u32,
                init_cwnd: 10 * MSS,
                srtt: None,
                seed: 1,
                hz: 1000,
            };
            let c = LedbatPp::new(&Params::new(PARAMS, given).unwrap(), &init);
            let cx = Cx {
                mss: MSS as u32,
                srtt: ms(100),
                min_rtt: ms(100),
                cwnd_limited: true,
                now: ms(1000),
                ..Cx::default()
            };
            Fed { c, cx, w: init.window(), offset_ns: 0 }
        }

        /// Past slow start, without slowdowns.
        fn steady(packets: u64) -> Self {
            let mut f = Fed::new(&[("slowdowns", Value::Bool(false))]);
            f.w.cwnd = packets * MSS;
            f.w.ssthresh = packets * MSS;
            for _ in 0..4 {
                f.ack(0, 0);
            }
            f
        }

        /// An ACK of packets with this queueing delay on the forward path.
        fn ack(&mut self, packets: u64, queue_ms: u64) {
            self.cx.now = self.cx.now.saturating_add(ms(1));
            let sent_ns = self.cx.now.0 as i64;
            let received_ns = sent_ns + ms(50 + queue_ms).0 as i64 + self.offset_ns;
            let ev = AckEvent {
                newly_acked: packets * MSS,
                may_grow: true,
                rtt: Some(ms(100 + queue_ms)),
                arrival: Some(Arrival { sent_ns, received_ns }),
                ..AckEvent::default()
            };
            self.c.on_ack(&self.cx, &mut self.w, &ev);
        }
    }

    #[test]
    fn the_gain_is_one_over_the_ratio_of_two_targets_to_the_base_rtt_and_at_least_a_sixteenth() {
        let mut f = Fed::new(&[]);
        for (rtt, divisor) in
            [(ms(100), 2.0), (ms(120), 1.0), (ms(600), 1.0), (ms(20), 6.0), (ms(1), 16.0), (ms(7), 16.0)]
        {
            f.cx.min_rtt = rtt;
            assert_eq!(f.c.gain(&f.cx), 1.0 / divisor, "{rtt:?}");
        }
        f.cx.min_rtt = Nanos::MAX;
        assert_eq!(f.c.gain(&f.cx), 1.0 / 16.0);
    }

    #[test]
    fn below_the_target_the_window_grows_by_the_gain_per_round_trip() {
        let mut f = Fed::steady(20);
        for _ in 0..20 {
            f.ack(1, 59);
        }
        // A half packet in a round trip of 20.
        assert!((20_480..=20_510).contains(&f.w.cwnd), "{}", f.w.cwnd);
    }

    #[test]
    fn above_the_target_the_window_shrinks_in_proportion_and_by_half_per_round_trip_at_most() {
        let mut f = Fed::steady(20);
        for _ in 0..3 {
            f.ack(0, 66);
        }
        f.ack(1, 66);
        // One packet of 20: (0.5 - 20 x 0.1) / 20 of a packet.
        assert_eq!(f.w.cwnd, 20_000 - 75);
        let mut f = Fed::steady(20);
        for _ in 0..4 {
            f.ack(0, 600);
        }
        f.ack(20, 600);
        assert_eq!(f.w.cwnd, 10_000);
        for _ in 0..100 {
            f.ack(20, 600);
        }
        assert_eq!(f.w.cwnd, MIN_CWND * MSS);
    }

    #[test]
    fn the_offset_of_the_clocks_does_not_matter_and_the_drift_of_a_minute_hardly_does() {
        for offset in [-1_000_000_000_000, 7, 1_000_000_000_000_000] {
            let mut f = Fed::steady(20);
            f.c.base.clear();
            f.c.current.clear();
            f.offset_ns = offset;
            for _ in 0..8 {
                f.ack(0, 0);
            }
            for _ in 0..4 {
                f.ack(0, 30);
            }
            assert_eq!(f.c.queue_ns, 30_000_000);
        }
    }

    #[test]
    fn the_base_delay_is_the_lowest_of_ten_minutes_and_a_longer_path_is_accepted_after_them() {
        let mut f = Fed::steady(20);
        f.c.current.clear();
        for minute in 0..11 {
            f.ack(0, 40);
            let known = minute < 10;
            assert_eq!(f.c.queue_ns > 0, known, "minute {minute}");
            f.cx.now = f.cx.now.saturating_add(MINUTE);
            f.c.current.clear();
        }
    }

    #[test]
    fn a_single_late_packet_is_no_queue() {
        let mut f = Fed::steady(20);
        f.ack(0, 500);
        assert_eq!(f.c.queue_ns, 0, "three of the last four were not late");
    }

    #[test]
    fn slow_start_grows_by_the_gain_and_ends_at_three_quarters_of_the_target() {
        let mut f = Fed::new(&[]);
        f.ack(10, 45);
        assert_eq!(f.w.cwnd, 15 * MSS, "half of what is acknowledged");
        f.c.base[0] = 50_000_000;
        for _ in 0..4 {
            f.ack(1, 46);
        }
        assert_eq!(f.w.ssthresh, f.w.cwnd);
        assert_eq!(f.c.mode(&f.w), "steady");
    }

    #[test]
    fn a_slowdown_follows_slow_start_after_two_round_trips_and_takes_a_tenth_of_the_time() {
        let mut f = Fed::new(&[]);
        f.w.cwnd = 40 * MSS;
        f.w.ssthresh = 40 * MSS;
        f.ack(0, 0);
        let begun = f.cx.now;
        while f.c.mode(&f.w) != "slowdown" {
            f.ack(0, 0);
        }
        assert_eq!(f.cx.now.saturating_sub(begun), ms(200));
        assert_eq!((f.w.cwnd, f.w.ssthresh), (2 * MSS, 40 * MSS));
        let paused = f.cx.now;
        while f.c.mode(&f.w) == "slowdown" {
            f.ack(1, 0);
            assert!(f.w.cwnd <= 3 * MSS, "the window is fixed");
        }
        assert_eq!(f.cx.now.saturating_sub(paused), ms(200));
        while f.w.cwnd < f.w.ssthresh {
            f.ack(1, 0);
        }
        f.ack(0, 0);
        let Phase::Steady(next) = f.c.phase else { panic!("{:?}", f.c.phase) };
        let took = f.cx.now.saturating_sub(paused);
        assert_eq!(next.saturating_sub(f.cx.now).0, 9 * took.0);
    }

    #[test]
    fn without_the_peers_clock_the_rtt_stands_for_the_delay() {
        let mut f = Fed::new(&[("delay", Value::Text("rtt".into())), ("slowdowns", Value::Bool(false))]);
        f.ack(0, 0);
        for _ in 0..4 {
            f.ack(0, 20);
        }
        assert_eq!((f.c.queue_ns, f.c.measures_one_way), (20_000_000, false));
        let mut f = Fed::new(&[]);
        let ev = AckEvent { rtt: Some(ms(100)), ..AckEvent::default() };
        f.c.on_ack(&f.cx, &mut f.w, &ev);
        assert!(!f.c.measures_one_way);
        f.ack(0, 0);
        assert!(f.c.measures_one_way, "a peer that reports its clock later");
        assert_eq!(f.c.queue_ns, 0, "the two kinds of delay are not compared");
    }

    #[test]
    fn growth_needs_a_full_window_and_a_decrease_does_not() {
        let mut f = Fed::steady(20);
        f.cx.cwnd_limited = false;
        f.ack(20, 0);
        assert_eq!(f.w.cwnd, 20 * MSS);
        for _ in 0..4 {
            f.ack(0, 90);
        }
        f.ack(20, 90);
        assert!(f.w.cwnd < 20 * MSS);
    }

    #[test]
    fn a_loss_halves_the_window() {
        let mut f = Fed::steady(20);
        assert_eq!(f.c.ssthresh(&f.cx, &f.w), 10 * MSS);
        f.w.cwnd = 3 * MSS;
        assert_eq!(f.c.ssthresh(&f.cx, &f.w), MIN_CWND * MSS);
    }
}
