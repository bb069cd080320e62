// SPDX-License-Identifier: Apache-2.0 OR MIT
//! TCP Vegas (Brakmo, Peterson 1995) as in Linux and ns-3.
//!
//! Idea: the part of the window in excess of the path's bandwidth-delay product waits in the queue.
//! Keep that excess between alpha and beta packets.
//!
//! ```text
//! base_rtt = lowest RTT ever
//! min_rtt  = lowest RTT of the round, if it had more than 2 samples
//! Linux:   diff = ⌊cwnd · (min_rtt − base_rtt) / base_rtt⌋
//! ns-3:    diff = cwnd − ⌊cwnd · base_rtt / min_rtt⌋
//!
//! slow start, diff > gamma    cwnd = min(cwnd, ⌊cwnd · base_rtt / min_rtt⌋ + 1), leave slow start
//! slow start                  cwnd += acked
//! diff > beta                 cwnd −= 1, ssthresh below it
//! diff < alpha                cwnd += 1
//! 2 samples or fewer          a step of Reno
//! loss                        ssthresh = max(cwnd / 2, 2), ns-3: max(min(ssthresh, cwnd − 1), 2);
//!                             Reno until the state is Open again
//!
//! slow start ── diff > gamma ──► diff decides, once per round ── loss ──► Reno ── Open again ──┐
//!     ▲                                ▲   │ timeout                                           │
//!     │                                └── │ ──────────────────────────────────────────────────┘
//!     └────────────────────────────────────┘
//! ```
//!
//! The two forms of diff agree near zero only: at three times the base RTT Linux computes three
//! times the excess.
//!
//! Differs from the paper: one decision per round, on the round's lowest RTT, and no fine-grained
//! retransmission. Linux's Vegas changes the window even if it does not limit the sender. base_rtt
//! never rises while data is in flight, so that a longer path is permanently taken for a queue;
//! Linux resets base_rtt after an idle period, ns-3 does not.

use crate::window::{slow_start, AdditiveIncrease};
use crate::*;

/// Parameters, with the kernel's defaults.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "variant",
        domain: Domain::Choice(&["linux", "ns3"]),
        unit: "",
        source: "Linux; ns-3",
        help: "formula of the excess, ssthresh after a decrease, and reset after idle periods",
    },
    segments("alpha", 2, "number of queued packets below which the window grows"),
    segments("beta", 4, "number of queued packets above which the window shrinks"),
    segments("gamma", 1, "number of queued packets above which slow start ends"),
];

const fn segments(name: &'static str, default: i64, help: &'static str) -> ParamSpec {
    ParamSpec {
        name,
        domain: Domain::Int { default, min: 0, max: 1000 },
        unit: "segments",
        source: "Linux and ns-3",
        help,
    }
}

/// With this number of samples or fewer, a round may be distorted by delayed ACKs.
const FEW_SAMPLES: u32 = 2;
const MIN_CWND: u64 = 2;

/// State of one connection. RTTs in microseconds.
#[derive(Clone, Debug)]
pub struct Vegas {
    ns3: bool,
    alpha: u64,
    beta: u64,
    gamma: u64,
    base_rtt: Option<u64>,
    round_min_rtt: u64,
    samples: u32,
    /// Sequence number beyond which an ACK ends the round.
    round_end_seq: u64,
    /// State at the end of the previous ACK.
    was_open: bool,
    increase: AdditiveIncrease,
}

impl Vegas {
    /// A controller for a new connection.
    pub fn new(params: &Params, _init: &ConnInit) -> Self {
        Vegas {
            ns3: params.choice("variant") == "ns3",
            alpha: params.int("alpha") as u64,
            beta: params.int("beta") as u64,
            gamma: params.int("gamma") as u64,
            base_rtt: None,
            round_min_rtt: u64::MAX,
            samples: 0,
            round_end_seq: 0,
            was_open: true,
            increase: AdditiveIncrease::default(),
        }
    }

    fn start_round(&mut self, cx: &Cx) {
        self.round_end_seq = cx.snd_nxt;
        self.forget_round();
    }

    fn forget_round(&mut self) {
        self.round_min_rtt = u64::MAX;
        self.samples = 0;
    }

    fn sample(&mut self, rtt: Nanos) {
        // The kernel's clock may measure zero, and the formulas divide by the RTT.
        let us = rtt.as_micros() + 1;
        self.base_rtt = Some(self.base_rtt.map_or(us, |base| base.min(us)));
        self.round_min_rtt = self.round_min_rtt.min(us);
        self.samples += 1;
    }

    /// Window that would leave no queue, and the excess over it.
    fn target_and_excess(&self, cwnd: u64) -> (u64, u64) {
        let rtt = self.round_min_rtt.max(1) as u128;
        let base = self.base_rtt.unwrap_or(self.round_min_rtt).max(1) as u128;
        let wide = cwnd as u128;
        let target = (wide * base / rtt) as u64;
        let excess = match self.ns3 {
            true => cwnd - target.min(cwnd),
            false => (wide * rtt.saturating_sub(base) / base).min(u64::MAX as u128) as u64,
        };
        (target, excess)
    }

    /// Decides at the end of a round. Windows in packets.
    fn decide(&mut self, cx: &Cx, w: &mut Window, acked: u64) {
        let cwnd = cx.packets(w.cwnd).max(1);
        let ssthresh = cx.packets(w.ssthresh);
        let (target, excess) = self.target_and_excess(cwnd);
        let mut new = (cwnd, ssthresh);
        if cwnd < ssthresh {
            if excess > self.gamma {
                let shrunk = cwnd.min(target + 1);
                new = (shrunk, self.below(shrunk, ssthresh));
            } else {
                new.0 = slow_start(cwnd, ssthresh, acked).0;
            }
        } else if excess > self.beta {
            new = (cwnd - 1, self.below(cwnd - 1, ssthresh));
        } else if excess < self.alpha {
            new.0 = cwnd + 1;
        }
        let cwnd = new.0.max(MIN_CWND);
        // Decisions are made only in Open, in which the kernel keeps the threshold at three
        // quarters of the window or more.
        w.ssthresh = cx.bytes(new.1.max((cwnd >> 1) + (cwnd >> 2))).min(INFINITE_SSTHRESH);
        w.cwnd = cx.bytes(cwnd);
    }

    fn below(&self, cwnd: u64, ssthresh: u64) -> u64 {
        match self.ns3 {
            true => ssthresh.min(cwnd.saturating_sub(1)).max(2),
            false => ssthresh.min(cwnd),
        }
    }

    fn reno(&mut self, cx: &Cx, w: &mut Window, mut acked: u64) {
        if !cx.cwnd_limited {
            return;
        }
        let mut cwnd = cx.packets(w.cwnd).max(1);
        let ssthresh = cx.packets(w.ssthresh);
        if cwnd < ssthresh {
            (cwnd, acked) = slow_start(cwnd, ssthresh, acked);
        }
        if acked > 0 {
            cwnd = self.increase.grow(cwnd, cwnd, acked);
        }
        w.cwnd = cx.bytes(cwnd);
    }
}

impl CongestionControl for Vegas {
    fn caps(&self) -> Caps {
        Caps::WINDOW
    }

    fn on_start(&mut self, cx: &Cx, _w: &mut Window) {
        self.start_round(cx);
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        if let Some(rtt) = ev.rtt {
            self.sample(rtt);
        }
        let open = cx.ca == CaState::Open;
        if open && !self.was_open {
            self.start_round(cx);
        }
        self.was_open = open;
        if !ev.may_grow {
            return;
        }
        let acked = cx.packets(ev.newly_acked);
        if !open {
            self.reno(cx, w, acked);
        } else if cx.snd_una > self.round_end_seq {
            self.round_end_seq = cx.snd_nxt;
            if self.samples > FEW_SAMPLES {
                self.decide(cx, w, acked);
            } else {
                self.reno(cx, w, acked);
            }
            self.forget_round();
        } else if w.cwnd < w.ssthresh {
            let (cwnd, ssthresh) = (cx.packets(w.cwnd).max(1), cx.packets(w.ssthresh));
            w.cwnd = cx.bytes(slow_start(cwnd, ssthresh, acked).0);
        }
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        let cwnd = cx.packets(w.cwnd);
        // ns-3 calls the same function after a loss as for a decrease of Vegas.
        cx.bytes(if self.ns3 { self.below(cwnd, cx.packets(w.ssthresh)) } else { (cwnd / 2).max(2) })
    }

    fn on_transition(&mut self, _cx: &Cx, _w: &mut Window, t: Transition) {
        if matches!(t, Transition::EnterRecovery | Transition::EnterCwr | Transition::EnterRto) {
            self.increase.reset();
        }
    }

    fn on_tx_start(&mut self, cx: &Cx, _w: &mut Window) {
        if !self.ns3 {
            self.base_rtt = None;
            self.start_round(cx);
        }
    }

    fn mode(&self, w: &Window) -> &'static str {
        if w.cwnd < w.ssthresh {
            "slow start"
        } else {
            "congestion avoidance"
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("base_rtt_s", self.base_rtt.unwrap_or(0) as f64 * 1e-6);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::closed_loop::{Loop, Path, MSS};
    use std::collections::BTreeMap;

    fn params(variant: &str, alpha: i64) -> Params {
        let given = BTreeMap::from([
            ("variant".to_string(), Value::Text(variant.into())),
            ("alpha".to_string(), Value::Int(alpha)),
        ]);
        Params::new(PARAMS, given).unwrap()
    }

    fn vegas(variant: &str, alpha: i64) -> (Vegas, Window) {
        let init = ConnInit {
            now: Nanos::ZERO,
            mss: MSS as u32,
            init_cwnd: 10 * MSS,
            srtt: None,
            seed: 1,
            hz: 1000,
        };
        (Vegas::new(&params(variant, alpha), &init), init.window())
    }

    /// One round at a constant RTT, decided by its last ACK; returns the window.
    fn round(v: &mut Vegas, w: &mut Window, rtt_ms: u64, samples: u32, number: u64) -> u64 {
        v.was_open = true;
        for i in 0..samples {
            let last = i + 1 == samples;
            let cx = Cx {
                mss: MSS as u32,
                cwnd_limited: true,
                snd_una: number * 1000 + last as u64,
                snd_nxt: number * 1000 + 1000,
                ..Cx::default()
            };
            if i == 0 {
                v.round_end_seq = number * 1000;
            }
            // Linux adds a microsecond; the published numbers are for full milliseconds.
            let rtt = Nanos(rtt_ms * 1_000_000 - 1000);
            let ev = AckEvent { newly_acked: MSS, rtt: Some(rtt), may_grow: true, ..AckEvent::default() };
            v.on_ack(&cx, w, &ev);
        }
        w.cwnd / MSS
    }

    fn at(v: &mut Vegas, w: &mut Window, cwnd: u64, base_ms: u64) {
        v.base_rtt = Some(base_ms * 1000);
        w.cwnd = cwnd * MSS;
        w.ssthresh = 2 * MSS;
    }

    #[test]
    fn the_two_formulas_disagree_on_the_published_case() {
        let excess = |variant| {
            let (mut v, _) = vegas(variant, 4);
            v.base_rtt = Some(79_000);
            v.round_min_rtt = 83_000;
            v.target_and_excess(69).1
        };
        assert_eq!((excess("ns3"), excess("linux")), (4, 3));
        let (mut v, mut w) = vegas("ns3", 4);
        at(&mut v, &mut w, 69, 79);
        assert_eq!(round(&mut v, &mut w, 83, 5, 1), 69, "frozen");
        let (mut v, mut w) = vegas("linux", 4);
        at(&mut v, &mut w, 69, 79);
        assert_eq!(round(&mut v, &mut w, 83, 5, 1), 70);
    }

    #[test]
    fn a_longer_path_is_taken_for_a_queue_and_the_window_falls_a_packet_per_round_to_its_fixed_point() {
        for (variant, fixed_point) in [("ns3", 6), ("linux", 3)] {
            let (mut v, mut w) = vegas(variant, 4);
            at(&mut v, &mut w, 69, 79);
            let mut rounds = 0;
            let mut cwnd = 69;
            loop {
                let next = round(&mut v, &mut w, 208, 5, rounds + 1);
                if next == cwnd {
                    break;
                }
                assert_eq!(next, cwnd - 1);
                cwnd = next;
                rounds += 1;
            }
            assert_eq!((cwnd, rounds), (fixed_point, 69 - fixed_point), "{variant}");
        }
    }

    #[test]
    fn a_shorter_path_lowers_the_base_at_once() {
        let (mut v, mut w) = vegas("linux", 2);
        at(&mut v, &mut w, 20, 79);
        assert_eq!(round(&mut v, &mut w, 40, 5, 1), 21);
        assert_eq!(v.base_rtt, Some(40_000));
        round(&mut v, &mut w, 100, 5, 2);
        assert_eq!(v.base_rtt, Some(40_000), "and never rises while data is in flight");
        v.on_tx_start(&Cx::default(), &mut w);
        assert_eq!(v.base_rtt, None, "Linux forgets it after idling");
        let (mut v, mut w) = vegas("ns3", 2);
        at(&mut v, &mut w, 20, 40);
        v.on_tx_start(&Cx::default(), &mut w);
        assert_eq!(v.base_rtt, Some(40_000));
    }

    #[test]
    fn two_samples_make_a_round_of_reno() {
        let (mut v, mut w) = vegas("linux", 2);
        at(&mut v, &mut w, 20, 40);
        // Despite a queue of 20 packets nothing shrinks: Reno counts 1 of 20 packets.
        for n in 1..=20 {
            round(&mut v, &mut w, 80, 2, n);
        }
        assert_eq!(w.cwnd / MSS, 21);
    }

    #[test]
    fn slow_start_ends_above_gamma_at_the_window_that_leaves_no_queue() {
        let (mut v, mut w) = vegas("linux", 2);
        v.base_rtt = Some(50_000);
        w.cwnd = 100 * MSS;
        // 100 · 50/60 + 1, and the slow-start growth of the samples before the last.
        let cwnd = round(&mut v, &mut w, 60, 3, 1);
        assert_eq!(cwnd, 102 * 50 / 60 + 1);
        assert!(w.ssthresh <= w.cwnd);
    }

    #[test]
    fn a_decrease_takes_the_threshold_with_it_but_leaves_three_quarters() {
        for (variant, ssthresh) in [("linux", 99), ("ns3", 98)] {
            let (mut v, mut w) = vegas(variant, 2);
            at(&mut v, &mut w, 100, 50);
            w.ssthresh = 100 * MSS;
            assert_eq!(round(&mut v, &mut w, 60, 4, 1), 99);
            assert_eq!(w.ssthresh / MSS, ssthresh, "{variant}");
            w.ssthresh = 2 * MSS;
            round(&mut v, &mut w, 60, 4, 2);
            assert_eq!(w.ssthresh / MSS, 49 + 24);
        }
    }

    #[test]
    fn a_loss_halves_in_linux_and_takes_a_packet_in_ns3() {
        for (variant, ssthresh) in [("linux", 50), ("ns3", 99)] {
            let (mut v, mut w) = vegas(variant, 2);
            w.cwnd = 100 * MSS;
            assert_eq!(v.ssthresh(&Cx { mss: MSS as u32, ..Cx::default() }, &w), ssthresh * MSS);
        }
    }

    #[test]
    fn a_single_flow_keeps_between_alpha_and_beta_packets_in_the_queue() {
        let p = params("linux", 2);
        let path = Path::new(20, 50);
        let mut f = Loop::new(path, |init| Vegas::new(&p, init));
        f.run_s(20.0);
        let goodput = f.run_s(10.0);
        assert!(goodput > 18.9, "{goodput}");
        // The packet in service belongs to the base RTT.
        let queue = f.cwnd() as i64 - path.bdp() as i64 - 1;
        assert!((2..=5).contains(&queue), "{queue}");
    }
}
