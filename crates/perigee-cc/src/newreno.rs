// SPDX-License-Identifier: Apache-2.0 OR MIT
//! NewReno as in Linux's `reno` over SACK (RFC 5681, RFC 6582).
//!
//! Idea: double the window each round until the first loss, then add one packet per round, and
//! halve on loss.
//!
//! ```text
//! slow start            cwnd += acked                 while cwnd < ssthresh
//! congestion avoidance  cwnd += 1 per cwnd packets acknowledged
//! loss                  ssthresh = max(cwnd / 2, 2)   the transport's PRR takes cwnd there
//!
//! slow start ── cwnd ≥ ssthresh ──► congestion avoidance ── loss ──► recovery (PRR)
//!     ▲                                  ▲   │ timeout                   │ high_seq passed
//!     │                                  └── │ ──────────────────────────┘
//!     └──────────────────────────────────────┘
//! ```
//!
//! Differs from RFC 5681: the reduction starts from cwnd, not from FlightSize
//! (`reduce_from = flight` does), and a stretch ACK of n packets grows the window by n in slow
//! start (no ABC limit; `slow_start_by = acks` grows by one, as ns-3), both as in Linux. ns-3
//! halves its *pipe* (`reduce_from = pipe`): packets neither SACKed nor considered lost. If a
//! hundred packets are reordered by a shorter path, all of them are considered lost at the third
//! SACK, and the pipe is almost empty. In congestion avoidance ns-3 adds an integral number of
//! bytes per ACK, whatever it covers (`avoidance_by = acks`): with an ACK for every second packet
//! half a packet per round.

use crate::window::{slow_start, AdditiveIncrease};
use crate::*;

/// Parameters.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "reduce_from",
        domain: Domain::Choice(&["window", "flight", "pipe"]),
        unit: "",
        source: "Linux; RFC 5681; ns-3 (TcpTxBuffer::BytesInFlight)",
        help: "quantity halved after a loss: window; flight = data in flight; pipe = data in flight less SACKed and lost data",
    },
    ParamSpec {
        name: "slow_start_by",
        domain: Domain::Choice(&["packets", "acks"]),
        unit: "",
        source: "Linux; ns-3",
        help: "growth in slow start: by the number of acknowledged packets, or by one packet per ACK",
    },
    ParamSpec {
        name: "avoidance_by",
        domain: Domain::Choice(&["packets", "acks"]),
        unit: "",
        source: "Linux; ns-3 (TcpNewReno::CongestionAvoidance)",
        help: "growth in congestion avoidance: by the number of acknowledged packets, or by mss * mss / cwnd bytes per ACK",
    },
];

/// The quantity that is halved after a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum ReduceFrom {
    #[default]
    Window,
    Flight,
    Pipe,
}

/// State of one connection.
#[derive(Clone, Debug, Default)]
pub struct NewReno {
    from: ReduceFrom,
    by_acks: bool,
    avoidance_by_acks: bool,
    increase: AdditiveIncrease,
}

impl NewReno {
    /// A controller for a new connection.
    pub fn new(params: &Params, _init: &ConnInit) -> Self {
        NewReno {
            from: match params.choice("reduce_from").as_str() {
                "flight" => ReduceFrom::Flight,
                "pipe" => ReduceFrom::Pipe,
                _ => ReduceFrom::Window,
            },
            by_acks: params.choice("slow_start_by") == "acks",
            avoidance_by_acks: params.choice("avoidance_by") == "acks",
            ..NewReno::default()
        }
    }
}

impl CongestionControl for NewReno {
    fn caps(&self) -> Caps {
        Caps::WINDOW
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        if !ev.may_grow || !cx.cwnd_limited {
            return;
        }
        let mut cwnd = cx.packets(w.cwnd).max(1);
        let mut acked = cx.packets(ev.newly_acked);
        let ssthresh = cx.packets(w.ssthresh);
        if cwnd < ssthresh {
            let most = if self.by_acks { acked.min(1) } else { acked };
            let (grown, _) = slow_start(cwnd, ssthresh, most);
            acked -= grown - cwnd;
            // ns-3 discards the excess of an ACK, unless slow start is over.
            acked = if self.by_acks && grown < ssthresh { 0 } else { acked };
            cwnd = grown;
        }
        if acked > 0 && self.avoidance_by_acks {
            let bytes = w.cwnd.max(cx.bytes(cwnd));
            w.cwnd = bytes + (u64::from(cx.mss).pow(2) / bytes).max(1);
            return;
        }
        if acked > 0 {
            cwnd = self.increase.grow(cwnd, cwnd, acked);
        }
        w.cwnd = cx.bytes(cwnd);
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        let whole = match self.from {
            ReduceFrom::Window => w.cwnd,
            ReduceFrom::Flight => cx.outstanding,
            ReduceFrom::Pipe => cx.in_flight,
        };
        cx.bytes((cx.packets(whole) / 2).max(2))
    }

    fn on_transition(&mut self, _cx: &Cx, _w: &mut Window, t: Transition) {
        if matches!(t, Transition::EnterRecovery | Transition::EnterCwr | Transition::EnterRto) {
            self.increase.reset();
        }
    }

    fn mode(&self, w: &Window) -> &'static str {
        if w.cwnd < w.ssthresh {
            "slow start"
        } else {
            "congestion avoidance"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The window in bytes after 100 ACKs for `packets_per_ack` packets each.
    fn grown(by: &str, packets_per_ack: u64) -> u64 {
        let given = BTreeMap::from([("avoidance_by".to_string(), Value::Text(by.into()))]);
        let mut w = window(100, 50);
        let init = ConnInit { now: Nanos::ZERO, mss: 1448, init_cwnd: 0, srtt: None, seed: 1, hz: 1000 };
        let mut cc = NewReno::new(&Params::new(PARAMS, given).unwrap(), &init);
        for _ in 0..100 {
            let ev = AckEvent { newly_acked: packets_per_ack * MSS, may_grow: true, ..AckEvent::default() };
            cc.on_ack(&cx(), &mut w, &ev);
        }
        w.cwnd
    }

    #[test]
    fn ns3_grows_by_whole_bytes_for_each_ack_whatever_it_covers() {
        assert_eq!((grown("packets", 1), grown("packets", 3)), (101 * MSS, 102 * MSS));
        // 1448 / 100 is 14 bytes per ACK.
        assert_eq!(grown("acks", 3), grown("acks", 1));
        assert_eq!(grown("acks", 1), 100 * (MSS + 14));
    }

    const MSS: u64 = 1448;

    fn cx() -> Cx {
        Cx { mss: MSS as u32, cwnd_limited: true, ..Cx::default() }
    }

    fn window(cwnd: u64, ssthresh: u64) -> Window {
        let init =
            ConnInit { now: Nanos::ZERO, mss: 1448, init_cwnd: cwnd * MSS, srtt: None, seed: 1, hz: 1000 };
        Window { ssthresh: ssthresh * MSS, ..init.window() }
    }

    fn ack(packets: u64) -> AckEvent<'static> {
        AckEvent { newly_acked: packets * MSS, may_grow: true, ..AckEvent::default() }
    }

    #[test]
    fn slow_start_grows_by_what_a_stretch_ack_covers() {
        let (mut c, mut w) = (NewReno::default(), window(10, 1000));
        let mut seen = vec![];
        for n in [2, 2, 2, 2, 2, 4] {
            c.on_ack(&cx(), &mut w, &ack(n));
            seen.push(w.cwnd / MSS);
        }
        assert_eq!(seen, [12, 14, 16, 18, 20, 24]);
    }

    #[test]
    fn a_loss_halves_the_window_but_leaves_two_packets() {
        for (cwnd, ssthresh) in [(1, 2), (7, 3), (332, 166)] {
            assert_eq!(NewReno::default().ssthresh(&cx(), &window(cwnd, 9)), ssthresh * MSS);
        }
    }

    #[test]
    fn the_rfc_halves_what_is_outstanding_and_ns3_what_is_not_lost_of_it() {
        let cx = Cx { outstanding: 40 * MSS, in_flight: 10 * MSS, ..cx() };
        for (from, ssthresh) in [(ReduceFrom::Window, 50), (ReduceFrom::Flight, 20), (ReduceFrom::Pipe, 5)] {
            let mut c = NewReno { from, ..NewReno::default() };
            assert_eq!(c.ssthresh(&cx, &window(100, 9)), ssthresh * MSS);
        }
    }

    #[test]
    fn nothing_grows_while_the_window_is_not_the_limit() {
        let (mut c, mut w) = (NewReno::default(), window(10, 1000));
        c.on_ack(&Cx { cwnd_limited: false, ..cx() }, &mut w, &ack(4));
        assert_eq!(w.cwnd, 10 * MSS);
    }
}
