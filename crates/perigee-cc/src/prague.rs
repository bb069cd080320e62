// SPDX-License-Identifier: Apache-2.0 OR MIT
//! TCP Prague: a scalable congestion control for L4S (RFC 9330, RFC 9331;
//! draft-briscoe-iccrg-prague-congestion-control).
//!
//! Idea: send ECT(1), count every mark, and reduce in proportion to the share of marked packets, so
//! that the queue can signal often and early, and stay short.
//!
//! ```text
//! once per virtual RTT      alpha += gain (frac - alpha)   frac = marked / acknowledged bytes
//! marks, once per virtual   cwnd = ssthresh = (1 - alpha / 2) cwnd
//!   RTT at most
//! bytes not marked          cwnd += mss (rtt / virtual RTT)^2 per cwnd acknowledged
//!                           (also while marks arrive)
//! loss                      ssthresh = cwnd / 2, less a reduction for marks within the same RTT
//! pacing                    cwnd / SRTT, twice that in slow start, in bursts of 250 us at most
//!
//! virtual RTT = max(SRTT, 25 ms)
//! ```
//!
//! With the virtual RTT, flows with RTTs below 25 ms share a queue as if theirs were 25 ms (RFC
//! 9331 section 4.3 requires less dependence on the RTT; section 2.4.3 of the draft). It starts a
//! few round trips after slow start, without a disadvantage for short transfers. Slow start ends
//! with the first mark; alpha starts at 1, so that this one halves the window.
//!
//! Not implemented: the detection of queues with classic marking (RFC 9331 section 4.3 allows it to
//! be off where they are known not to occur), windows below two segments, and the fallback to
//! Cubic's curve after losses.

use crate::*;

/// Parameters.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "gain",
        domain: Domain::Float { default: 1.0 / 16.0, min: 0.001, max: 1.0 },
        unit: "",
        source: "draft-briscoe-iccrg-prague-congestion-control; DCTCP (RFC 8257 section 3.3)",
        help: "weight of one virtual RTT in the mean fraction of marked packets",
    },
    ParamSpec {
        name: "virtual_rtt",
        domain: Domain::Time {
            default: Nanos::from_millis(25),
            min: Nanos::from_micros(1),
            max: Nanos::from_secs(1),
        },
        unit: "",
        source: "draft-briscoe-iccrg-prague-congestion-control",
        help: "virtual RTT: flows with a shorter RTT behave as with this one",
    },
    ParamSpec {
        name: "rtt_transition",
        domain: Domain::Int { default: 4, min: 0, max: 100_000 },
        unit: "round trips",
        source: "Linux tcp_prague",
        help: "delay after slow start until the virtual RTT applies",
    },
    ParamSpec {
        name: "loss_factor",
        domain: Domain::Float { default: 0.5, min: 0.1, max: 0.9 },
        unit: "fraction",
        source: "RFC 5681; RFC 9331 section 4.3 (a classic response to loss)",
        help: "window after a loss, as a fraction of that before",
    },
];

/// RTT assumed for the pacing of the first window if none is known, as in Linux's BBR.
const FIRST_RTT: Nanos = Nanos::from_millis(1);
/// Longest burst.
const BURST: Nanos = Nanos::from_micros(250);
/// Minimum window after reductions for marks and losses, in segments; smaller after a timeout (RFC
/// 5681).
const MIN_CWND: u64 = 2;

/// State of one connection.
#[derive(Clone, Debug)]
pub struct Prague {
    gain: f64,
    virtual_rtt: Nanos,
    transition: u64,
    loss_factor: f64,
    /// Mean fraction of marks.
    alpha: f64,
    /// Bytes acknowledged and marked since the latest update of alpha; time and sequence number of
    /// the next update.
    acked: u64,
    marked: u64,
    update_at: Nanos,
    update_seq: u64,
    /// Earliest time of the next reduction for marks.
    reduce_at: Nanos,
    /// Window before the latest reduction for marks, kept until that RTT is over.
    before: Option<(u64, u64)>,
    /// Growth of less than a byte, carried over.
    carry: f64,
    /// Number of round trips since slow start, and the end of the current one.
    rounds: u64,
    round_end: u64,
}

impl Prague {
    /// A controller for a new connection.
    pub fn new(params: &Params, _init: &ConnInit) -> Self {
        Prague {
            gain: params.float("gain"),
            virtual_rtt: params.time("virtual_rtt"),
            transition: params.int("rtt_transition") as u64,
            loss_factor: params.float("loss_factor"),
            alpha: 1.0,
            acked: 0,
            marked: 0,
            update_at: Nanos::ZERO,
            update_seq: 0,
            reduce_at: Nanos::ZERO,
            before: None,
            carry: 0.0,
            rounds: 0,
            round_end: 0,
        }
    }

    /// The virtual RTT.
    fn rtt(&self, cx: &Cx) -> Nanos {
        if self.rounds < self.transition {
            cx.srtt
        } else {
            cx.srtt.max(self.virtual_rtt)
        }
    }

    fn count_rounds(&mut self, cx: &Cx, w: &Window) {
        if cx.snd_una < self.round_end {
            return;
        }
        self.round_end = cx.snd_nxt;
        self.rounds = if w.cwnd < w.ssthresh { 0 } else { self.rounds + 1 };
    }

    fn update_alpha(&mut self, cx: &Cx, ev: &AckEvent<'_>) {
        self.acked = self.acked.saturating_add(ev.newly_acked);
        self.marked = self.marked.saturating_add(ev.ece);
        if cx.now < self.update_at || cx.snd_una < self.update_seq {
            return;
        }
        // Before the first mark there is nothing to average: alpha stays at 1.
        let knows = self.reduce_at > Nanos::ZERO || self.marked > 0;
        if self.acked > 0 && knows {
            let share = (self.marked as f64 / self.acked as f64).min(1.0);
            self.alpha += self.gain * (share - self.alpha);
        }
        (self.acked, self.marked) = (0, 0);
        (self.update_at, self.update_seq) = (cx.now.saturating_add(self.rtt(cx)), cx.snd_nxt);
    }

    /// Reduces the window for marks, once per virtual RTT.
    fn reduce(&mut self, cx: &Cx, w: &mut Window) {
        if cx.now < self.reduce_at {
            return;
        }
        self.before = Some((w.cwnd, cx.snd_nxt));
        let left = (w.cwnd as f64 * (1.0 - self.alpha / 2.0)) as u64;
        w.cwnd = left.max(cx.bytes(MIN_CWND));
        w.ssthresh = w.cwnd;
        self.carry = 0.0;
        self.reduce_at = cx.now.saturating_add(self.rtt(cx));
    }

    fn grow(&mut self, cx: &Cx, w: &mut Window, unmarked: u64) {
        let mut bytes = unmarked;
        if w.cwnd < w.ssthresh {
            let room = w.ssthresh - w.cwnd;
            w.cwnd += bytes.min(room);
            bytes -= bytes.min(room);
        }
        if bytes == 0 {
            return;
        }
        let ratio = cx.srtt.0 as f64 / self.rtt(cx).0.max(1) as f64;
        self.carry += f64::from(cx.mss) * ratio * ratio * bytes as f64 / w.cwnd.max(1) as f64;
        let whole = self.carry as u64;
        w.cwnd = w.cwnd.saturating_add(whole);
        self.carry -= whole as f64;
    }

    fn pace(&self, cx: &Cx, w: &mut Window) {
        let rtt = if cx.srtt == Nanos::ZERO { FIRST_RTT } else { cx.srtt };
        let factor = if w.cwnd < w.ssthresh { 2.0 } else { 1.0 };
        let bytes_per_s = factor * w.cwnd as f64 / rtt.as_secs_f64();
        w.pacing = Some(BitRate(((bytes_per_s * 8.0) as u64).max(1)));
        w.quantum = ((bytes_per_s * BURST.as_secs_f64() / f64::from(cx.mss)) as u32).max(1);
    }
}

impl CongestionControl for Prague {
    fn caps(&self) -> Caps {
        Caps { pacing: Pacing::Required, scalable: true, ..Caps::WINDOW }
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        self.pace(cx, w);
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        self.count_rounds(cx, w);
        self.update_alpha(cx, ev);
        if self.before.is_some_and(|(_, end)| cx.snd_una >= end) {
            self.before = None;
        }
        // During recovery the transport controls the window.
        if ev.ece > 0 && cx.ca < CaState::Recovery {
            self.reduce(cx, w);
        }
        if ev.may_grow && cx.cwnd_limited {
            self.grow(cx, w, ev.newly_acked.saturating_sub(ev.ece));
        }
        self.pace(cx, w);
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        // A reduction for marks in this RTT counts towards the reduction for the loss.
        let from = self.before.map_or(w.cwnd, |(before, _)| before);
        let left = (from as f64 * self.loss_factor) as u64;
        left.min(w.cwnd).max(cx.bytes(MIN_CWND))
    }

    fn on_transition(&mut self, _cx: &Cx, _w: &mut Window, t: Transition) {
        if matches!(t, Transition::EnterRecovery | Transition::EnterRto) {
            (self.before, self.carry) = (None, 0.0);
        }
    }

    fn mode(&self, w: &Window) -> &'static str {
        if w.cwnd < w.ssthresh {
            "slow start"
        } else {
            "avoidance"
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("alpha", self.alpha);
        out("virtual_rtt_s", self.virtual_rtt.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn ms(n: u64) -> Nanos {
        Nanos::from_millis(n)
    }

    /// A connection with ACKs fed one by one.
    struct Fed {
        p: Prague,
        cx: Cx,
        w: Window,
    }

    impl Fed {
        fn new(cwnd: u64, srtt: Nanos) -> Fed {
            let init =
                ConnInit { now: Nanos::ZERO, mss: 1000, init_cwnd: cwnd, srtt: None, seed: 1, hz: 1000 };
            let cx = Cx { now: ms(1000), mss: 1000, srtt, cwnd_limited: true, ..Cx::default() };
            let mut w = init.window();
            w.ssthresh = cwnd;
            Fed { p: Prague::new(&Params::defaults(PARAMS), &init), cx, w }
        }

        fn ack(&mut self, acked: u64, marked: u64) {
            self.cx.snd_una += acked;
            self.cx.snd_nxt = self.cx.snd_una + self.w.cwnd;
            let ev = AckEvent {
                newly_acked: acked,
                newly_cum_acked: acked,
                ece: marked,
                may_grow: true,
                ..AckEvent::default()
            };
            self.p.on_ack(&self.cx, &mut self.w, &ev);
        }

        /// A round trip in which each packet is acknowledged individually, the first `marked` of
        /// them with a mark.
        fn round(&mut self, marked: u64) {
            let packets = self.w.cwnd / MSS;
            let step = Nanos(self.cx.srtt.0 / packets);
            for i in 0..packets {
                self.cx.now += step;
                self.ack(MSS, if i < marked { MSS } else { 0 });
            }
        }
    }

    #[test]
    fn it_asks_for_ect1_and_pacing() {
        let caps = Fed::new(10 * MSS, ms(50)).p.caps();
        assert!(caps.scalable && caps.pacing == Pacing::Required && caps.recovery == Recovery::Prr);
    }

    #[test]
    fn the_first_mark_halves_the_window_and_ends_slow_start() {
        let mut f = Fed::new(100 * MSS, ms(50));
        f.w.ssthresh = INFINITE_SSTHRESH;
        f.ack(MSS, 0);
        assert_eq!((f.w.cwnd, f.p.mode(&f.w)), (101 * MSS, "slow start"));
        f.ack(MSS, MSS);
        // The mark itself is averaged first: alpha is (1 + 1/16 (1/2 - 1)) or less, so the
        // remainder is half or slightly more.
        let left = f.w.cwnd as f64 / (101 * MSS) as f64;
        assert!((0.5..0.53).contains(&left), "{left}");
        assert_eq!((f.w.ssthresh, f.p.mode(&f.w)), (f.w.cwnd, "avoidance"));
    }

    #[test]
    fn alpha_follows_the_share_of_marks_with_a_gain_of_a_sixteenth_per_virtual_rtt() {
        let mut f = Fed::new(1000 * MSS, ms(50));
        f.ack(MSS, MSS);
        f.p.alpha = 0.0;
        (f.p.acked, f.p.marked) = (0, 0);
        let mut expected = 0.0;
        for share in [0.25, 0.25, 0.0, 1.0] {
            f.cx.now += ms(50);
            f.cx.snd_una = f.p.update_seq;
            (f.p.acked, f.p.marked) = (99 * MSS, (share * 100.0) as u64 * MSS);
            // This ACK has no mark, so nothing is reduced.
            f.cx.snd_una -= MSS;
            f.ack(MSS, 0);
            expected += (share - expected) / 16.0;
            assert!((f.p.alpha - expected).abs() < 1e-12, "{} {expected}", f.p.alpha);
        }
        // No second update within a virtual RTT.
        f.ack(MSS, 0);
        assert!((f.p.alpha - expected).abs() < 1e-12);
    }

    #[test]
    fn marks_reduce_by_half_of_alpha_once_per_virtual_rtt() {
        for (rtt, virtual_rtt) in [(ms(50), ms(50)), (ms(10), ms(25))] {
            let mut f = Fed::new(1000 * MSS, rtt);
            f.p.rounds = 10;
            f.p.update_at = Nanos::MAX;
            f.p.alpha = 0.2;
            f.ack(MSS, MSS);
            assert_eq!(f.w.cwnd, 900 * MSS);
            f.cx.now += virtual_rtt - Nanos(1);
            f.ack(MSS, MSS);
            assert_eq!(f.w.cwnd, 900 * MSS, "{rtt}");
            f.cx.now += Nanos(1);
            f.ack(MSS, MSS);
            assert_eq!(f.w.cwnd, 810 * MSS, "{rtt}");
        }
    }

    #[test]
    fn what_is_not_marked_grows_the_window_by_a_segment_per_rtt_also_while_marks_come() {
        let mut f = Fed::new(100 * MSS, ms(50));
        f.round(0);
        assert!((f.w.cwnd as f64 - 101.0 * MSS as f64).abs() < 10.0, "{}", f.w.cwnd);
        // Half of the packets are marked: growth by half a segment, after the reduction.
        let mut f = Fed::new(100 * MSS, ms(50));
        (f.p.alpha, f.p.update_at) = (0.0, Nanos::MAX);
        f.round(50);
        assert!((f.w.cwnd as f64 - 100.5 * MSS as f64).abs() < 10.0, "{}", f.w.cwnd);
    }

    #[test]
    fn a_short_rtt_grows_by_its_square_once_the_transition_is_over() {
        let mut f = Fed::new(100 * MSS, ms(10));
        f.round(0);
        let first = f.w.cwnd - 100 * MSS;
        assert!((990..=1010).contains(&first), "{first}");
        f.p.rounds = 4;
        let before = f.w.cwnd;
        f.round(0);
        // (10 / 25)^2 = 0.16 segments.
        let grown = f.w.cwnd - before;
        assert!((155..=165).contains(&grown), "{grown}");
    }

    #[test]
    fn rounds_count_from_the_end_of_slow_start() {
        let mut f = Fed::new(10 * MSS, ms(10));
        f.w.ssthresh = INFINITE_SSTHRESH;
        (0..3).for_each(|_| f.round(0));
        assert_eq!(f.p.rounds, 0);
        f.w.ssthresh = f.w.cwnd;
        (0..6).for_each(|_| f.round(0));
        assert!((5..=7).contains(&f.p.rounds), "{}", f.p.rounds);
        assert_eq!(f.p.rtt(&f.cx), ms(25));
    }

    #[test]
    fn a_loss_halves_and_counts_what_marks_have_taken_in_the_same_rtt() {
        let mut f = Fed::new(100 * MSS, ms(50));
        assert_eq!(f.p.ssthresh(&f.cx, &f.w), 50 * MSS);
        (f.p.alpha, f.p.update_at) = (0.4, Nanos::MAX);
        f.ack(MSS, MSS);
        assert_eq!(f.w.cwnd, 80 * MSS);
        assert_eq!(f.p.ssthresh(&f.cx, &f.w), 50 * MSS, "not 40");
        // A round trip later it counts as an ordinary loss.
        f.cx.now += ms(50);
        f.ack(200 * MSS, 0);
        let w = Window { cwnd: 80 * MSS, ..f.w };
        assert_eq!(f.p.ssthresh(&f.cx, &w), 40 * MSS);
        let w = Window { cwnd: 3 * MSS, ..f.w };
        assert_eq!(f.p.ssthresh(&f.cx, &w), 2 * MSS);
    }

    #[test]
    fn marks_during_a_repair_are_counted_but_do_not_reduce() {
        let mut f = Fed::new(100 * MSS, ms(50));
        f.cx.ca = CaState::Recovery;
        f.p.update_at = Nanos::MAX;
        f.ack(MSS, MSS);
        assert_eq!((f.w.ssthresh, f.p.marked), (100 * MSS, MSS));
    }

    #[test]
    fn it_paces_at_the_window_per_srtt_and_twice_that_in_slow_start() {
        let mut f = Fed::new(250 * MSS, ms(20));
        f.cx.cwnd_limited = false;
        f.ack(MSS, 0);
        // 250,000 bytes per 20 ms are 100 Mbit/s; 250 us of that are three segments.
        assert_eq!((f.w.pacing, f.w.quantum), (Some(BitRate::from_mbit(100)), 3));
        f.w.ssthresh = INFINITE_SSTHRESH;
        f.ack(MSS, 0);
        assert_eq!((f.w.pacing, f.w.quantum), (Some(BitRate::from_mbit(200)), 6));
    }

    #[test]
    fn with_every_packet_marked_alpha_goes_to_one_and_without_marks_to_zero() {
        let mut f = Fed::new(64 * MSS, ms(30));
        f.p.alpha = 0.1;
        (0..150).for_each(|_| f.round(u64::MAX));
        assert!(f.p.alpha > 0.99 && f.w.cwnd == 2 * MSS, "{} {}", f.p.alpha, f.w.cwnd);
        (0..150).for_each(|_| f.round(0));
        assert!(f.p.alpha < 0.01 && f.w.cwnd > 100 * MSS, "{} {}", f.p.alpha, f.w.cwnd);
    }
}
