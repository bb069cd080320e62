// SPDX-License-Identifier: Apache-2.0 OR MIT
//! SaTCP (Cao, Zhang 2023; XuyangCaoUCSD/LeoEM, Avian688/satcp).
//!
//! Idea: losses around a handover are no sign of congestion. The terminal can predict handovers and
//! reports each to the sender shortly before; while the flag H is set, Cubic keeps its state and
//! returns to it at once.
//!
//! ```text
//! H     set for `hold` (2.3 s) after each report; a report in that time restarts it
//!
//! linux   loss       as Cubic: cwnd falls to 0.7; an epoch that starts with H set: K' = K − ⌊8K/9⌋
//!         timeout    cwnd = in flight + 1 as Cubic, but with H set Cubic's state is not reset
//! omnet   loss       as linux
//!         timeout    with H set no effect on window, threshold and state
//! ideal   any loss   with H set no effect: frozen, as in most papers
//!
//!  H clear ── report ─► H set ── hold passed ─► H clear
//!                       │ ▲
//!                       └─┘ report
//! ```
//!
//! Without reports it is Cubic ACK for ACK. A report is a [`Signal::HandoverBegin`] when it reaches
//! the sender: the host models lead time, prediction error and the scope of reports (the published
//! flag is one per machine).
//!
//! Differs from Cubic: as above. Differs from the paper's text in the mode `linux`: the published
//! code does not freeze the window.

use crate::cubic::{self, Cubic, Memory};
use crate::freeze::Freeze;
use crate::params::joined;
use crate::*;

const OWN: [ParamSpec; 3] = [
    ParamSpec {
        name: "mode",
        domain: Domain::Choice(&["linux", "omnet", "ideal"]),
        unit: "",
        source: "XuyangCaoUCSD/LeoEM; Avian688/satcp; the paper's text",
        help: "effect of a handover report on Cubic: linux = faster return after a loss, state kept over a timeout; omnet = also no reduction at a timeout; ideal = no reduction at any loss",
    },
    ParamSpec {
        name: "hold",
        domain: Domain::Time {
            default: Nanos::from_millis(2300),
            min: Nanos::ZERO,
            max: Nanos::from_secs(3600),
        },
        unit: "",
        source: "XuyangCaoUCSD/LeoEM",
        help: "time for which a report applies",
    },
    ParamSpec {
        name: "trigger_scope",
        domain: Domain::Choice(&["path", "host", "machine"]),
        unit: "",
        source: "choice; host in the published code",
        help: "scope of reports: path = those of the flow's path; host = of all paths from its host; machine = of all paths (one machine for all hosts)",
    },
];
const ALL: [ParamSpec; cubic::PARAMS.len() + OWN.len()] = joined(cubic::PARAMS, &OWN);
/// Parameters: Cubic's and its own.
pub const PARAMS: &[ParamSpec] = &ALL;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Linux,
    Omnet,
    Ideal,
}

/// State of one connection.
#[derive(Clone, Debug)]
pub struct SaTcp {
    cubic: Cubic,
    mode: Mode,
    hold: Nanos,
    scope: SignalScope,
    /// Time until which H is set.
    up_until: Option<Nanos>,
    freeze: Freeze,
    /// Cubic's state before a threshold was queried that no recovery has used yet.
    memory: Option<Memory>,
}

impl SaTcp {
    /// A controller for a new connection.
    pub fn new(params: &Params, init: &ConnInit) -> Self {
        SaTcp {
            cubic: Cubic::new(params, init),
            mode: match params.choice("mode").as_str() {
                "omnet" => Mode::Omnet,
                "ideal" => Mode::Ideal,
                _ => Mode::Linux,
            },
            hold: params.time("hold"),
            scope: SignalScope::of(params),
            up_until: None,
            freeze: Freeze::default(),
            memory: None,
        }
    }

    fn handover(&self, now: Nanos) -> bool {
        self.up_until.is_some_and(|t| now < t)
    }

    fn on_timeout(&mut self, cx: &Cx, w: &mut Window) {
        let memory = self.memory.take();
        if !self.handover(cx.now) {
            self.freeze.release();
            self.cubic.on_transition(cx, w, Transition::EnterRto);
        } else if self.mode != Mode::Linux {
            // The transport has already reduced the window, usually after querying a threshold.
            self.freeze.restore(w);
            if let Some(memory) = memory {
                self.cubic.recall(memory);
            }
        }
    }
}

impl CongestionControl for SaTcp {
    fn caps(&self) -> Caps {
        Caps { signal_scope: self.scope, ..self.cubic.caps() }
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        self.cubic.on_start(cx, w);
        self.freeze.note(w);
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        self.cubic.hasten(self.handover(cx.now));
        self.cubic.on_ack(cx, w, ev);
        self.freeze.hold(w);
        self.freeze.note(w);
        self.memory = None;
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        if self.mode == Mode::Ideal && self.handover(cx.now) {
            return self.freeze.begin(w).max(cx.bytes(2));
        }
        self.freeze.note(w);
        self.memory = Some(self.cubic.memory());
        self.cubic.ssthresh(cx, w)
    }

    fn on_transition(&mut self, cx: &Cx, w: &mut Window, t: Transition) {
        match t {
            Transition::EnterRto => return self.on_timeout(cx, w),
            Transition::EnterRecovery | Transition::EnterCwr => self.memory = None,
            Transition::ExitRecovery | Transition::ExitCwr | Transition::Undo(_) => self.freeze.end(w),
            _ => {}
        }
        self.cubic.on_transition(cx, w, t);
    }

    fn on_tx_start(&mut self, cx: &Cx, w: &mut Window) {
        self.cubic.on_tx_start(cx, w);
    }

    fn on_signal(&mut self, cx: &Cx, _w: &mut Window, s: &Signal<'_>) {
        if matches!(s, Signal::HandoverBegin { .. }) {
            self.up_until = Some(cx.now.saturating_add(self.hold));
        }
    }

    fn mode(&self, w: &Window) -> &'static str {
        if self.freeze.active() {
            "frozen"
        } else {
            self.cubic.mode(w)
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.cubic.probe(out);
        out("report_until_s", self.up_until.unwrap_or_default().as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::closed_loop::{Loop, Path, MSS};
    use std::collections::BTreeMap;

    fn params(mode: &str) -> Params {
        let given = BTreeMap::from([("mode".to_string(), Value::Text(mode.into()))]);
        Params::new(PARAMS, given).unwrap()
    }

    fn satcp(mode: &str) -> (SaTcp, Window, Cx) {
        let init = ConnInit {
            now: Nanos::ZERO,
            mss: MSS as u32,
            init_cwnd: 10 * MSS,
            srtt: None,
            seed: 1,
            hz: 1000,
        };
        let mut c = SaTcp::new(&params(mode), &init);
        let mut w = Window { cwnd: 100 * MSS, ssthresh: 50 * MSS, ..init.window() };
        let cx = Cx { now: Nanos::from_secs(1), mss: MSS as u32, cwnd_limited: true, ..Cx::default() };
        c.on_start(&cx, &mut w);
        ack(&mut c, &cx, &mut w);
        (c, w, cx)
    }

    fn ack(c: &mut SaTcp, cx: &Cx, w: &mut Window) {
        c.on_ack(
            cx,
            w,
            &AckEvent { newly_acked: MSS, may_grow: cx.ca == CaState::Open, ..AckEvent::default() },
        );
    }

    const REPORT: Signal<'_> = Signal::HandoverBegin { expected_end: None };

    fn time_out(c: &mut SaTcp, cx: &Cx, w: &mut Window) {
        w.ssthresh = c.ssthresh(cx, w);
        w.cwnd = MSS;
        c.on_transition(cx, w, Transition::EnterRto);
    }

    #[test]
    fn without_reports_it_is_cubic_ack_for_ack() {
        let path = Path { loss: 0.002, ..Path::new(20, 40) };
        for mode in ["linux", "omnet", "ideal"] {
            let (a, b) = (params(mode), Params::defaults(cubic::PARAMS));
            let mut satcp = Loop::new(path, |init| SaTcp::new(&a, init));
            let mut cubic = Loop::new(path, |init| Cubic::new(&b, init));
            let (mut x, mut y) = (vec![], vec![]);
            satcp.run(Nanos::from_secs(20), |f| x.push((f.cx.now, f.w.cwnd, f.w.ssthresh)));
            cubic.run(Nanos::from_secs(20), |f| y.push((f.cx.now, f.w.cwnd, f.w.ssthresh)));
            assert!(x == y, "{mode}");
            assert!(satcp.lost > 0);
        }
    }

    #[test]
    fn two_reports_a_second_apart_hold_for_3_3_s_after_the_first() {
        let (mut c, mut w, cx) = satcp("linux");
        let at = |ms: u64| Cx { now: cx.now + Nanos::from_millis(ms), ..cx };
        c.on_signal(&cx, &mut w, &REPORT);
        c.on_signal(&at(1000), &mut w, &REPORT);
        assert!(c.handover(at(3299).now) && !c.handover(at(3300).now));
    }

    #[test]
    fn a_timeout_during_a_handover_keeps_the_memory_in_linux_mode() {
        let (mut c, mut w, cx) = satcp("linux");
        c.on_signal(&cx, &mut w, &REPORT);
        time_out(&mut c, &cx, &mut w);
        assert_eq!((w.cwnd / MSS, w.ssthresh / MSS, c.cubic.w_max()), (1, 70, 100));
        let (mut c, mut w, cx) = satcp("linux");
        time_out(&mut c, &cx, &mut w);
        assert_eq!((w.cwnd / MSS, w.ssthresh / MSS, c.cubic.w_max()), (1, 70, 0));
    }

    #[test]
    fn a_timeout_during_a_handover_changes_nothing_in_omnet_mode() {
        let (mut c, mut w, cx) = satcp("omnet");
        let before = (w.cwnd, w.ssthresh, c.cubic.w_max());
        c.on_signal(&cx, &mut w, &REPORT);
        time_out(&mut c, &cx, &mut w);
        assert_eq!((w.cwnd, w.ssthresh, c.cubic.w_max()), before);
        // For a second consecutive timeout no threshold is queried.
        w.cwnd = MSS;
        c.on_transition(&cx, &mut w, Transition::EnterRto);
        assert_eq!(w.cwnd, before.0);
    }

    #[test]
    fn a_repaired_loss_still_costs_three_tenths_but_comes_back_at_once() {
        for mode in ["linux", "omnet"] {
            let (mut c, mut w, cx) = satcp(mode);
            c.on_signal(&cx, &mut w, &REPORT);
            w.ssthresh = c.ssthresh(&cx, &w);
            w.cwnd = w.ssthresh;
            assert_eq!(w.cwnd / MSS, 70);
            // The target is at the plateau: one packet of growth per two acknowledged, instead of
            // one per many.
            let mut acked = 0;
            while w.cwnd / MSS < 100 {
                ack(&mut c, &Cx { now: cx.now + Nanos::from_millis(acked), ..cx }, &mut w);
                acked += 1;
            }
            // Without this the curve would take K = 4.2 s, with an ACK per millisecond here.
            assert!(acked < 400, "{acked} for 30 packets");
        }
    }

    #[test]
    fn the_ideal_mode_freezes() {
        let (mut c, mut w, cx) = satcp("ideal");
        let before = (w.cwnd, w.ssthresh, c.cubic.w_max());
        c.on_signal(&cx, &mut w, &REPORT);
        w.ssthresh = c.ssthresh(&cx, &w);
        assert_eq!(w.ssthresh, before.0);
        c.on_transition(&cx, &mut w, Transition::EnterRecovery);
        w.cwnd = 40 * MSS;
        ack(&mut c, &Cx { ca: CaState::Recovery, ..cx }, &mut w);
        assert_eq!(w.cwnd, before.0, "what the transport's reduction did is put back");
        w.cwnd = w.ssthresh;
        c.on_transition(&cx, &mut w, Transition::ExitRecovery);
        assert_eq!((w.cwnd, w.ssthresh, c.cubic.w_max()), before);
        time_out(&mut c, &cx, &mut w);
        assert_eq!((w.cwnd, w.ssthresh, c.cubic.w_max()), before);
    }

    #[test]
    fn random_loss_between_reports_is_cubics() {
        let (mut c, mut w, cx) = satcp("ideal");
        c.on_signal(&cx, &mut w, &REPORT);
        let later = Cx { now: cx.now + Nanos::from_secs(3), ..cx };
        assert_eq!(c.ssthresh(&later, &w) / MSS, 70);
        assert!(!c.freeze.active());
    }
}
