// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RCP (Dukkipati et al. 2005; Dukkipati 2008): the sender sends at the rate of the ports.
//!
//! Idea: each port has one rate for all of its flows (`perigee-telemetry`, `laws/rcp.rs`); packets
//! return the least one of their path, and the sender paces at it. The SYN carries a request, too,
//! so that the first data already leave at the rate of the path.
//!
//! ```text
//! header    RTT, requested rate                    none requested: as much as possible
//! per ACK   R ← feedback    pacing R               cwnd = max(2 R · SRTT, 4 MSS), which only bounds
//! loss      none: the rate stays
//! ```
//!
//! Differs from the papers: the SYN of a flow reports no RTT, as none is known; the bound of the
//! window, which stops a flow without ACKs; without a rate the initial window is paced
//! over the RTT.

use crate::*;

/// Parameters.
pub const PARAMS: &[ParamSpec] = &[ParamSpec {
    name: "demand",
    domain: Domain::Float { default: 0.0, min: 0.0, max: 1e6 },
    unit: "Mbit/s",
    source: "IWQoS 2005",
    help: "rate that senders request from ports; 0 = as much as possible",
}];

/// Bound of the window, in products of rate and SRTT.
const WINDOW_GAIN: f64 = 2.0;
const MIN_WINDOW_PACKETS: u64 = 4;
/// Rates above this, in bytes/s, are damaged feedback.
const MOST_RATE: f64 = 1e14;
const LEAST_RTT_S: f64 = 1e-3;

/// State of one connection.
#[derive(Clone, Debug)]
pub struct Rcp {
    demand_kbps: u32,
    /// Bytes/s; zero = no port has reported one.
    rate: f64,
    srtt: Nanos,
    cwnd: u64,
}

impl Rcp {
    /// A controller for a new connection.
    pub fn new(params: &Params, init: &ConnInit) -> Self {
        Rcp {
            demand_kbps: (params.float("demand") * 1e3) as u32,
            rate: 0.0,
            srtt: init.srtt.unwrap_or(Nanos::ZERO),
            cwnd: 0,
        }
    }

    fn obey(&mut self, cx: &Cx, w: &mut Window, telemetry: Option<&Telemetry<'_>>) {
        if let Some(&Telemetry::Feedback { law: Law::Rcp, value, hops: 1.., .. }) = telemetry {
            self.rate = if (0.0..MOST_RATE).contains(&value) { value } else { self.rate };
        }
        self.srtt = cx.srtt;
        let rtt_s = cx.srtt.as_secs_f64().max(LEAST_RTT_S);
        let rate = if self.rate > 0.0 { self.rate } else { w.cwnd as f64 / rtt_s };
        if self.rate > 0.0 {
            let bound = WINDOW_GAIN * self.rate * rtt_s;
            w.cwnd = (bound as u64).max(MIN_WINDOW_PACKETS * u64::from(cx.mss));
        }
        w.pacing = Some(BitRate((rate * 8.0).max(1.0) as u64));
        self.cwnd = w.cwnd;
    }
}

impl CongestionControl for Rcp {
    fn caps(&self) -> Caps {
        Caps {
            telemetry: TelemetryNeed::Law(Law::Rcp),
            telemetry_on_wire: true,
            telemetry_on_syn: true,
            on_rto: OnRto::Keep,
            ack_every: Some(1),
            unpaced_start: 0,
            ..Caps::MODEL
        }
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        w.quantum = 1;
        self.obey(cx, w, None);
    }

    fn on_handshake(&mut self, cx: &Cx, w: &mut Window, telemetry: &Telemetry<'_>) {
        self.obey(cx, w, Some(telemetry));
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        self.obey(cx, w, ev.telemetry.as_ref());
    }

    fn ssthresh(&mut self, _cx: &Cx, w: &Window) -> u64 {
        w.ssthresh
    }

    fn stamp(&self) -> HeaderStamp {
        HeaderStamp {
            base_rtt: self.srtt,
            cwnd: self.cwnd,
            demand_kbps: self.demand_kbps,
            ..HeaderStamp::default()
        }
    }

    fn mode(&self, _w: &Window) -> &'static str {
        match self.rate > 0.0 {
            true => "control",
            false => "start",
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("rate_bytes_per_s", self.rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_paces_at_the_rate_of_the_ports_from_the_handshake_on() {
        let rtt = Nanos::from_millis(50);
        let init =
            ConnInit { now: Nanos::ZERO, mss: 1448, init_cwnd: 14_480, srtt: Some(rtt), seed: 1, hz: 1000 };
        let mut c = Rcp::new(&Params::defaults(PARAMS), &init);
        let mut w = init.window();
        let cx = Cx { mss: 1448, srtt: rtt, ..Cx::default() };
        c.on_start(&cx, &mut w);
        let initial = Some(BitRate(14_480 * 8 * 20));
        assert_eq!((w.cwnd, w.pacing, c.mode(&w)), (14_480, initial, "start"));
        let of = |value, hops| Telemetry::Feedback { law: Law::Rcp, value, hops, covered: 1, partial: false };
        c.on_handshake(&cx, &mut w, &of(f64::INFINITY, 0));
        assert_eq!(w.pacing, initial);
        c.on_handshake(&cx, &mut w, &of(1.25e6, 2));
        assert_eq!((w.cwnd, w.pacing), (125_000, Some(BitRate::from_mbit(10))));
        let ev = AckEvent { telemetry: Some(of(10_000.0, 2)), ..AckEvent::default() };
        c.on_ack(&cx, &mut w, &ev);
        assert_eq!((w.cwnd, w.pacing), (4 * 1448, Some(BitRate(80_000))));
        assert_eq!((c.stamp().base_rtt, c.ssthresh(&cx, &w)), (rtt, w.ssthresh));
    }
}
