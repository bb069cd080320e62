// SPDX-License-Identifier: Apache-2.0 OR MIT
//! TCP Hybla (Caini, Firrincieli 2004) as in Linux, for paths over geostationary satellites.
//!
//! Idea: a flow with a long RTT should gain *rate* as fast as a Reno flow with a reference RTT of
//! 25 ms. Growth per ACK is scaled with the ratio of the RTT to the reference, so that the RTT
//! cancels out.
//!
//! ```text
//! rho  = max(SRTT / rtt0, 1), recomputed whenever the SRTT reaches a new minimum
//! slow start            cwnd += 2^rho − 1      per ACK
//! congestion avoidance  cwnd += rho² / cwnd    per ACK
//! loss                  ssthresh = max(cwnd / 2, 2)
//! not in Open           Reno
//!
//! slow start ── cwnd ≥ ssthresh ──► congestion avoidance ── loss ──► Reno ── Open again ──┐
//!     ▲                                  ▲   │ timeout                                    │
//!     │                                  └── │ ───────────────────────────────────────────┘
//!     └──────────────────────────────────────┘
//! ```
//!
//! Integer arithmetic: rho in units of 1/8, growth in units of 1/128 packet with the remainder
//! carried over, 2^(k/8) from a table.
//!
//! Differs from the paper, as Linux does: growth per ACK, not per acknowledged packet, so that
//! delayed ACKs halve it; no bandwidth estimate for the initial threshold; no separate pacing; the
//! initial window is replaced by rho.

use crate::window::{slow_start, AdditiveIncrease};
use crate::*;

/// Parameters, with the kernel's defaults.
pub const PARAMS: &[ParamSpec] = &[ParamSpec {
    name: "rtt0",
    domain: Domain::Time {
        default: Nanos::from_millis(25),
        min: Nanos::from_millis(1),
        max: Nanos::from_secs(1),
    },
    unit: "",
    source: "Linux; 50 ms in ns-3",
    help: "RTT of the reference Reno flow, whose rate growth is reproduced",
}];

/// 2^(k/8) in 1/128.
const FRACTIONS: [u64; 8] = [128, 139, 152, 165, 181, 197, 215, 234];
/// Unit of growth: 1/128 packet.
const UNIT: u64 = 128;
const MAX_EXPONENT: u64 = 16;
const MAX_CWND: u64 = 65_535;

/// State of one connection.
#[derive(Clone, Debug)]
pub struct Hybla {
    rtt0_us: u64,
    rho_eighths: u64,
    /// Lowest SRTT so far.
    min_srtt: Nanos,
    /// Growth not yet applied, in 1/128 packet.
    fraction: u64,
    increase: AdditiveIncrease,
}

impl Hybla {
    /// A controller for a new connection.
    pub fn new(params: &Params, _init: &ConnInit) -> Self {
        Hybla {
            rtt0_us: params.time("rtt0").as_micros(),
            rho_eighths: 8,
            min_srtt: Nanos::MAX,
            fraction: 0,
            increase: AdditiveIncrease::default(),
        }
    }

    fn take_rho(&mut self, srtt: Nanos) {
        self.min_srtt = srtt;
        self.rho_eighths = (srtt.as_micros().saturating_mul(8) / self.rtt0_us).clamp(8, u32::MAX as u64);
    }

    fn grow(&mut self, cwnd: u64, ssthresh: u64) -> u64 {
        let slow_start = cwnd < ssthresh;
        let step = if slow_start { self.slow_start_step() } else { self.avoidance_step(cwnd) };
        let mut new = cwnd.saturating_add(step / UNIT);
        self.fraction += step % UNIT;
        if self.fraction >= UNIT {
            new += self.fraction / UNIT;
            self.fraction %= UNIT;
            self.increase.reset();
        }
        // Growth below 1/128 packet per ACK rounds to zero: fall back to one packet per window.
        if step == 0 && self.increase.credit() >= cwnd {
            new += 1;
            self.increase.reset();
        }
        new.min(if slow_start { ssthresh } else { MAX_CWND }).min(MAX_CWND)
    }

    fn slow_start_step(&self) -> u64 {
        let whole = (self.rho_eighths / 8).min(MAX_EXPONENT);
        (FRACTIONS[(self.rho_eighths % 8) as usize] << whole) - UNIT
    }

    fn avoidance_step(&mut self, cwnd: u64) -> u64 {
        let step = self.rho_eighths * self.rho_eighths * 2 / cwnd;
        if step < UNIT {
            self.increase.count(1);
        }
        step
    }

    fn reno(&mut self, cwnd: u64, ssthresh: u64, mut acked: u64) -> u64 {
        let mut cwnd = cwnd;
        if cwnd < ssthresh {
            (cwnd, acked) = slow_start(cwnd, ssthresh, acked);
        }
        if acked > 0 {
            cwnd = self.increase.grow(cwnd, cwnd, acked);
        }
        cwnd
    }
}

impl CongestionControl for Hybla {
    fn caps(&self) -> Caps {
        Caps::WINDOW
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        self.take_rho(cx.srtt);
        w.cwnd = cx.bytes((self.rho_eighths / 8).min(MAX_CWND));
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        if !ev.may_grow {
            return;
        }
        if cx.srtt > Nanos::ZERO && (cx.srtt < self.min_srtt || self.min_srtt == Nanos::ZERO) {
            self.take_rho(cx.srtt);
        }
        if !cx.cwnd_limited {
            return;
        }
        let (cwnd, ssthresh) = (cx.packets(w.cwnd).max(1), cx.packets(w.ssthresh));
        let new = match cx.ca {
            CaState::Open => self.grow(cwnd, ssthresh),
            _ => self.reno(cwnd, ssthresh, cx.packets(ev.newly_acked)),
        };
        w.cwnd = cx.bytes(new);
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        cx.bytes((cx.packets(w.cwnd) / 2).max(2))
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

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("rho", self.rho_eighths as f64 / 8.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    fn hybla(srtt: Nanos) -> (Hybla, Window, Cx) {
        let init = ConnInit {
            now: Nanos::ZERO,
            mss: MSS as u32,
            init_cwnd: 10 * MSS,
            srtt: None,
            seed: 1,
            hz: 1000,
        };
        let mut c = Hybla::new(&Params::defaults(PARAMS), &init);
        let mut w = init.window();
        let cx = Cx { mss: MSS as u32, srtt, cwnd_limited: true, ..Cx::default() };
        c.on_start(&cx, &mut w);
        (c, w, cx)
    }

    fn ack(packets: u64) -> AckEvent<'static> {
        AckEvent { newly_acked: packets * MSS, may_grow: true, ..AckEvent::default() }
    }

    #[test]
    fn the_initial_window_is_rho() {
        for (ms, rho) in [(600, 24), (50, 2), (10, 1)] {
            let (c, w, _) = hybla(Nanos::from_millis(ms));
            assert_eq!((c.rho_eighths / 8, w.cwnd / MSS), (rho, rho), "{ms} ms");
        }
    }

    #[test]
    fn at_50_ms_each_ack_of_slow_start_adds_three_packets_however_many_it_covers() {
        let (mut c, mut w, cx) = hybla(Nanos::from_millis(50));
        for n in 1..=20 {
            c.on_ack(&cx, &mut w, &ack(1 + n % 2));
            assert_eq!(w.cwnd / MSS, 2 + 3 * n);
        }
    }

    #[test]
    fn at_600_ms_an_ack_of_congestion_avoidance_adds_576_over_the_window() {
        let (mut c, mut w, cx) = hybla(Nanos::from_millis(600));
        (w.cwnd, w.ssthresh) = (288 * MSS, 2 * MSS);
        c.on_ack(&cx, &mut w, &ack(1));
        assert_eq!(w.cwnd / MSS, 290);
    }

    #[test]
    fn fractions_are_carried_over() {
        // rho = 1.5: 2^1.5 − 1 = 1.828 packets per ACK.
        let (mut c, mut w, cx) = hybla(Nanos::from_micros(37_500));
        assert_eq!(c.slow_start_step(), 2 * 181 - 128);
        for _ in 0..100 {
            c.on_ack(&cx, &mut w, &ack(1));
        }
        assert_eq!(w.cwnd / MSS, 1 + 234 * 100 / 128);
    }

    #[test]
    fn growth_that_rounds_to_nothing_becomes_a_packet_per_window() {
        let (mut c, mut w, cx) = hybla(Nanos::from_millis(20));
        (w.cwnd, w.ssthresh) = (200 * MSS, 2 * MSS);
        for i in 1..=200 {
            c.on_ack(&cx, &mut w, &ack(1));
            assert_eq!(w.cwnd / MSS, if i < 200 { 200 } else { 201 }, "{i}");
        }
    }

    #[test]
    fn short_paths_grow_like_newreno() {
        let (mut c, mut w, cx) = hybla(Nanos::from_millis(20));
        for n in 1..=30 {
            c.on_ack(&cx, &mut w, &ack(1));
            assert_eq!(w.cwnd / MSS, 1 + n);
        }
        // 128/cwnd per ACK with the remainder carried over: a packet per window.
        (w.cwnd, w.ssthresh) = (64 * MSS, 2 * MSS);
        for _ in 0..64 {
            c.on_ack(&cx, &mut w, &ack(1));
        }
        assert_eq!(w.cwnd / MSS, 65);
    }

    #[test]
    fn rho_follows_only_a_new_minimum_and_other_states_are_renos() {
        let (mut c, mut w, cx) = hybla(Nanos::from_millis(100));
        c.on_ack(&Cx { srtt: Nanos::from_millis(300), ..cx }, &mut w, &ack(1));
        assert_eq!(c.rho_eighths, 32);
        c.on_ack(&Cx { srtt: Nanos::from_millis(50), ..cx }, &mut w, &ack(1));
        assert_eq!(c.rho_eighths, 16);
        w.cwnd = 10 * MSS;
        c.on_ack(&Cx { ca: CaState::Loss, srtt: Nanos::from_millis(50), ..cx }, &mut w, &ack(2));
        assert_eq!(w.cwnd / MSS, 12);
    }
}
