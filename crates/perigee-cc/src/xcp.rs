// SPDX-License-Identifier: Apache-2.0 OR MIT
//! XCP (Katabi, Handley, Rohrs 2002; draft-falk-xcp-spec-03): the sender obeys the ports.
//!
//! Idea: every packet carries the flow's RTT and window; the ports of the path compute by how much
//! the flow's rate may change, and the ACK returns it. The laws of efficiency and fairness are in
//! the ports (`perigee-telemetry`, `laws/xcp.rs`), the sender only adds:
//!
//! ```text
//! header    RTT, cwnd, requested change of rate          none requested: as much as possible
//! per ACK   cwnd ← max(cwnd + feedback · SRTT, 1 MSS)    feedback in bytes/s
//! loss      as TCP: halves once per round
//! ```
//!
//! Differs from the draft: packets are paced at 1.2 cwnd/SRTT, and a window that did not limit
//! sending does not grow (in the draft it decays).

use crate::*;

/// Parameters.
pub const PARAMS: &[ParamSpec] = &[ParamSpec {
    name: "demand",
    domain: Domain::Float { default: 0.0, min: 0.0, max: 1e6 },
    unit: "Mbit/s",
    source: "draft-falk-xcp-spec",
    help: "rate that senders request from ports; 0 = as much as possible",
}];

const PACING_GAIN: f64 = 1.2;
/// Larger windows, in bytes, are due to damaged feedback.
const MOST_WINDOW: f64 = 1e13;

/// State of one connection.
#[derive(Clone, Debug)]
pub struct Xcp {
    demand_kbps: u32,
    /// Window with its fraction of a byte, and as last written.
    window: f64,
    cwnd: u64,
    srtt: Nanos,
    feedback: f64,
}

impl Xcp {
    /// A controller for a new connection.
    pub fn new(params: &Params, init: &ConnInit) -> Self {
        Xcp {
            demand_kbps: (params.float("demand") * 1e3) as u32,
            window: init.init_cwnd as f64,
            cwnd: init.init_cwnd,
            srtt: init.srtt.unwrap_or(Nanos::ZERO),
            feedback: 0.0,
        }
    }

    fn set_pacing(&mut self, cx: &Cx, w: &mut Window) {
        (self.cwnd, self.srtt) = (w.cwnd, cx.srtt);
        if cx.srtt > Nanos::ZERO {
            let rate = PACING_GAIN * w.cwnd as f64 * 8.0 / cx.srtt.as_secs_f64();
            w.pacing = Some(BitRate(rate.max(1.0) as u64));
        }
    }
}

impl CongestionControl for Xcp {
    fn caps(&self) -> Caps {
        Caps {
            telemetry: TelemetryNeed::Law(Law::Xcp),
            telemetry_on_wire: true,
            pacing: Pacing::Required,
            idle_decay: false,
            ack_every: Some(1),
            ..Caps::WINDOW
        }
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        self.window = w.cwnd as f64;
        w.quantum = 1;
        self.set_pacing(cx, w);
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        if w.cwnd != self.window as u64 {
            // The transport has changed it.
            self.window = w.cwnd as f64;
        }
        if let Some(Telemetry::Feedback { law: Law::Xcp, value, hops: 1.., .. }) = ev.telemetry {
            self.feedback = if value.is_finite() { value } else { 0.0 };
            let repairs = matches!(cx.ca, CaState::Recovery | CaState::Cwr);
            if !repairs && (value < 0.0 || cx.cwnd_limited) {
                let grown = self.window + self.feedback * cx.srtt.as_secs_f64();
                self.window = grown.clamp(f64::from(cx.mss), MOST_WINDOW.max(f64::from(cx.mss)));
                w.cwnd = self.window as u64;
            }
        }
        self.set_pacing(cx, w);
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        (w.cwnd / 2).max(2 * u64::from(cx.mss))
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
        "control"
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("feedback_bytes_per_s", self.feedback);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    fn started() -> (Xcp, Window, Cx) {
        let rtt = Nanos::from_millis(50);
        let init =
            ConnInit { now: Nanos::ZERO, mss: 1448, init_cwnd: 10 * MSS, srtt: Some(rtt), seed: 1, hz: 1000 };
        let mut c = Xcp::new(&Params::defaults(PARAMS), &init);
        let mut w = init.window();
        let cx = Cx { mss: 1448, srtt: rtt, cwnd_limited: true, ..Cx::default() };
        c.on_start(&cx, &mut w);
        (c, w, cx)
    }

    fn ack(c: &mut Xcp, w: &mut Window, cx: &Cx, value: f64, hops: u32) {
        let telemetry = Some(Telemetry::Feedback { law: Law::Xcp, value, hops, covered: 1, partial: false });
        c.on_ack(cx, w, &AckEvent { newly_acked: MSS, telemetry, ..AckEvent::default() });
    }

    #[test]
    fn the_window_changes_by_the_feedback_times_the_rtt() {
        let (mut c, mut w, cx) = started();
        ack(&mut c, &mut w, &cx, 20_000.0, 1);
        assert_eq!(w.cwnd, 10 * MSS + 1000);
        ack(&mut c, &mut w, &cx, -40_000.0, 2);
        assert_eq!(w.cwnd, 10 * MSS - 1000);
        assert_eq!(w.pacing, Some(BitRate((1.2 * 13_480.0 * 8.0 / 0.05) as u64)));
        ack(&mut c, &mut w, &cx, -1e9, 2);
        assert_eq!(w.cwnd, MSS);
    }

    #[test]
    fn fractions_of_a_byte_add_up() {
        let (mut c, mut w, cx) = started();
        (0..100).for_each(|_| ack(&mut c, &mut w, &cx, 2.0, 1));
        assert_eq!(w.cwnd, 10 * MSS + 10);
    }

    #[test]
    fn a_request_that_no_port_has_seen_and_a_window_in_excess_leave_the_window() {
        let (mut c, mut w, cx) = started();
        ack(&mut c, &mut w, &cx, f64::INFINITY, 0);
        ack(&mut c, &mut w, &Cx { cwnd_limited: false, ..cx }, 20_000.0, 1);
        assert_eq!(w.cwnd, 10 * MSS);
        ack(&mut c, &mut w, &Cx { cwnd_limited: false, ..cx }, -20_000.0, 1);
        assert_eq!(w.cwnd, 10 * MSS - 1000);
    }

    #[test]
    fn a_loss_halves_the_window_and_the_transport_s_changes_are_kept() {
        let (mut c, mut w, cx) = started();
        assert_eq!(c.ssthresh(&cx, &w), 5 * MSS);
        w.cwnd = 5 * MSS;
        ack(&mut c, &mut w, &Cx { ca: CaState::Recovery, ..cx }, 20_000.0, 1);
        assert_eq!(w.cwnd, 5 * MSS);
        ack(&mut c, &mut w, &cx, 20_000.0, 1);
        assert_eq!((w.cwnd, c.stamp().cwnd), (5 * MSS + 1000, 5 * MSS + 1000));
    }
}
