// SPDX-License-Identifier: Apache-2.0 OR MIT
//! PPB: a wrapper that lets any scheme start its filters afresh at a path phase boundary
//! (draft-lai-ccwg-lsncc-01, Informational, by the authors of LeoCC).
//!
//! Idea: a path over LEO satellites consists of phases, separated by reconfigurations that an end
//! can detect. What a scheme has measured in one phase (minimum RTT, bandwidth, window of the last
//! loss) says little about the next one, so it is discarded at the boundary. What the scheme is
//! doing with the path, its window, is kept.
//!
//! ```text
//! boundary   as LeoCC's `signal`: a gap between replies to probes, a notice, or a fixed period
//! effective  with the first ACK of a packet that was sent after it, outside of the repair of a
//!            loss; until then the scheme sees the samples of both phases, as without a wrapper
//!
//! then       scheme := a new one, for a connection with the smoothed RTT measured since, that
//!                      starts at cwnd for a window scheme, and at latest rate · RTT for a model
//!            cwnd, ssthresh, pacing    kept; the new scheme changes them with its next ACK
//!            minimum RTT of the transport, as far as the scheme sees it    that of the phase
//! ```
//!
//! A window scheme (newreno, cubic, hybla, vegas) continues from the same window: Cubic without its
//! W_max, Vegas without its base RTT. A model (bbr, bbr3, copa) measures the path again: BBR from
//! STARTUP, where it fills the queue for some rounds.
//!
//! Over `scenarios/micro/leo-schedule.toml` (another path every 15 s, known by its period), in
//! Mbit/s, without and with the wrapper: hybla 46.5 and 55.4, vegas 33.3 and 37.3, cubic 59.1 and
//! 61.9, bbr3 55.2 and 57.4, bbr 56.9 and 57.6, newreno 51.2 and 51.1, copa 52.8 and 51.4. Where it
//! gains, the mean RTT rises by 1 to 17 ms.
//!
//! Known of the draft are its abstract and the published detector of LeoCC. The response to a
//! boundary, the start of a new model at the latest rate, and the delay until a packet of the new
//! phase is acknowledged are choices.

use crate::leocc::{Source, SIGNALS};
use crate::notice::Horizon;
use crate::params::joined;
use crate::*;
use std::collections::BTreeMap;

const OVER: [ParamSpec; 1] = [ParamSpec {
    name: "over",
    domain: Domain::Choice(&["bbr3", "bbr", "copa", "cubic", "newreno", "hybla", "vegas"]),
    unit: "",
    source: "any, by the draft",
    help: "scheme with its default parameters whose filters are discarded at a boundary",
}];
const ALL: [ParamSpec; SIGNALS.len() + OVER.len()] = joined(&OVER, &SIGNALS);
/// Parameters; those of boundaries are LeoCC's.
pub const PARAMS: &[ParamSpec] = &ALL;

/// State of one connection.
pub struct Ppb {
    scheme: Box<Controller>,
    info: &'static SchemeInfo,
    params: Params,
    init: ConnInit,
    source: Source,
    probe_interval: Nanos,
    scope: SignalScope,
    /// A boundary was detected, and is not effective yet.
    pending: bool,
    /// A trigger that lasts counts once.
    triggered: bool,
    horizon: Horizon,
    /// Smoothed RTT since the boundary; zero before its first sample.
    rtt: Nanos,
    /// Lowest RTT of the phase; `None` in the first one, where it is the transport's.
    lowest: Option<Nanos>,
    /// Latest sample of the delivery rate.
    rate: Option<BitRate>,
    boundaries: u32,
}

impl Ppb {
    /// A controller for a new connection.
    pub fn new(params: &Params, init: &ConnInit) -> Self {
        let info = info(&params.choice("over")).expect("the choices are schemes");
        let inner = info.params(BTreeMap::new()).expect("defaults are valid");
        Ppb {
            scheme: Box::new(info.build(&inner, init)),
            info,
            params: inner,
            init: *init,
            source: Source::new(params, init),
            probe_interval: params.time("probe_interval"),
            scope: SignalScope::of(params),
            pending: false,
            triggered: false,
            horizon: Horizon::default(),
            rtt: Nanos::ZERO,
            lowest: None,
            rate: None,
            boundaries: 0,
        }
    }

    /// The host's state as the scheme sees it: with the minimum RTT of the phase.
    fn seen(&self, cx: &Cx) -> Cx {
        Cx { min_rtt: self.lowest.unwrap_or(cx.min_rtt), ..*cx }
    }

    fn detect(&mut self, cx: &Cx) {
        self.pending = true;
        self.horizon.set(cx);
        self.rtt = Nanos::ZERO;
    }

    /// Takes the samples of an ACK, and puts a pending boundary into effect.
    fn measure(&mut self, cx: &Cx, w: &Window, ev: &AckEvent<'_>) {
        self.lowest = self.lowest.map(|lowest| ev.rtt.map_or(lowest, |rtt| rtt.min(lowest)));
        let triggered = self.source.triggered(cx.now);
        if triggered && !self.triggered {
            self.detect(cx);
        }
        self.triggered = triggered;
        if ev.rs.valid && ev.rs.interval > Nanos::ZERO {
            self.rate = Some(BitRate::of(ev.rs.delivered, ev.rs.interval));
        }
        if !self.pending || !self.horizon.passes(ev) {
            return;
        }
        if let Some(rtt) = ev.rtt {
            // RFC 6298, with a gain of 1/8.
            self.rtt = if self.rtt == Nanos::ZERO { rtt } else { Nanos((7 * self.rtt.0 + rtt.0) / 8) };
        }
        if self.rtt > Nanos::ZERO && cx.ca < CaState::Cwr {
            self.begin_phase(cx, w);
        }
    }

    fn begin_phase(&mut self, cx: &Cx, w: &Window) {
        self.pending = false;
        self.boundaries += 1;
        self.lowest = Some(self.rtt);
        let models = self.scheme.caps().recovery == Recovery::Own;
        let pipe = self.rate.filter(|_| models).map(|rate| rate.bytes_in(self.rtt));
        let cwnd = pipe.map_or(w.cwnd, |pipe| pipe.clamp(cx.bytes(4), w.cwnd.max(cx.bytes(4))));
        let init = ConnInit { now: cx.now, mss: cx.mss, init_cwnd: cwnd, srtt: Some(self.rtt), ..self.init };
        *self.scheme = self.info.build(&self.params, &init);
        // Its first decisions are those of an ACK.
        let mut first = Window { cwnd, ssthresh: w.ssthresh, ..*w };
        self.scheme.on_start(&Cx { srtt: self.rtt, ..self.seen(cx) }, &mut first);
    }
}

impl CongestionControl for Ppb {
    fn caps(&self) -> Caps {
        let probes = self.source.probes(self.probe_interval);
        Caps { probes, signal_scope: self.scope, ..self.scheme.caps() }
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        self.scheme.on_start(&self.seen(cx), w);
    }

    fn on_sent(&mut self, cx: &Cx, w: &mut Window, p: &SentPkt) -> u32 {
        self.scheme.on_sent(&self.seen(cx), w, p)
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        self.measure(cx, w, ev);
        self.scheme.on_ack(&self.seen(cx), w, ev);
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        self.scheme.ssthresh(&self.seen(cx), w)
    }

    fn on_loss(&mut self, cx: &Cx, w: &mut Window, ev: &LossEvent) {
        self.scheme.on_loss(&self.seen(cx), w, ev);
    }

    fn on_transition(&mut self, cx: &Cx, w: &mut Window, t: Transition) {
        self.scheme.on_transition(&self.seen(cx), w, t);
    }

    fn on_tx_start(&mut self, cx: &Cx, w: &mut Window) {
        self.scheme.on_tx_start(&self.seen(cx), w);
    }

    fn on_timer(&mut self, cx: &Cx, w: &mut Window) {
        if self.source.on_timer(cx, w) {
            self.detect(cx);
        }
    }

    fn on_signal(&mut self, cx: &Cx, w: &mut Window, s: &Signal<'_>) {
        if self.source.on_signal(cx, w, s) {
            self.detect(cx);
        }
    }

    fn mode(&self, w: &Window) -> &'static str {
        self.scheme.mode(w)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.scheme.probe(out);
        out("boundaries", f64::from(self.boundaries));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::closed_loop::{Loop, Path};

    const NOTICE: Signal<'_> = Signal::PathChange { id: 1 };

    fn over(scheme: &str, path: Path) -> Loop<Ppb> {
        let word = |name: &str, value: &str| (name.to_string(), Value::Text(value.into()));
        let given = [word("over", scheme), word("signal", "notices")].into_iter().collect();
        Loop::new(path, |init| Ppb::new(&info("ppb").unwrap().params(given).unwrap(), init))
    }

    fn signal(f: &mut Loop<Ppb>) {
        let (cx, mut w) = (f.cx, f.w);
        f.cc.on_signal(&cx, &mut w, &NOTICE);
        f.w = w;
    }

    fn internal(f: &Loop<Ppb>, name: &str) -> f64 {
        let mut found = f64::NAN;
        f.cc.probe(&mut |key, value| {
            if key == name {
                found = value;
            }
        });
        found
    }

    /// Goodput in Mbit/s from 2 to 7 s after a move from 30 to 90 ms, with or without a notice of it,
    /// and the number of boundaries.
    fn after_a_move(scheme: &str, notice: bool) -> (f64, f64) {
        let mut f = over(scheme, Path { buffer: 400, ..Path::new(40, 30) });
        f.run_s(10.0);
        let longer = Path { buffer: 400, ..Path::new(40, 90) };
        f.path = longer;
        if notice {
            signal(&mut f);
        }
        f.run_s(2.0);
        (f.run_s(5.0), internal(&f, "boundaries"))
    }

    #[test]
    fn a_model_learns_a_longer_path_at_once_and_without_the_boundary_it_does_not() {
        let (without, none) = after_a_move("bbr", false);
        let (with, one) = after_a_move("bbr", true);
        assert_eq!((none, one), (0.0, 1.0));
        assert!(with > 0.9 * 40.0, "{with}");
        assert!(without < 0.75 * 40.0, "the minimum RTT of the shorter path bounds its window: {without}");
    }

    #[test]
    fn a_window_scheme_keeps_its_window_over_a_boundary() {
        for scheme in ["newreno", "cubic", "vegas", "hybla"] {
            let mut f = over(scheme, Path::new(20, 50));
            f.run_s(10.0);
            let before = (f.w.cwnd, f.w.ssthresh);
            signal(&mut f);
            assert_eq!((f.w.cwnd, f.w.ssthresh), before, "{scheme}");
            f.run_s(0.2);
            assert_eq!(internal(&f, "boundaries"), 1.0, "{scheme}");
            assert!(f.w.cwnd > before.0 / 2, "{scheme}: {} after {}", f.w.cwnd, before.0);
        }
    }

    #[test]
    fn without_a_boundary_it_is_the_scheme() {
        for scheme in ["bbr3", "bbr", "copa", "cubic", "newreno", "hybla", "vegas"] {
            let own = info(scheme).unwrap();
            let params = own.params(BTreeMap::new()).unwrap();
            let mut plain = Loop::new(Path::new(20, 50), |init| own.build(&params, init));
            let mut wrapped = over(scheme, Path::new(20, 50));
            assert_eq!(plain.run_s(20.0).to_bits(), wrapped.run_s(20.0).to_bits(), "{scheme}");
            assert_eq!((plain.w.cwnd, plain.sent), (wrapped.w.cwnd, wrapped.sent), "{scheme}");
        }
    }

    #[test]
    fn the_boundary_waits_for_a_packet_that_was_sent_after_it() {
        let mut f = over("cubic", Path::new(20, 100));
        f.run_s(5.0);
        signal(&mut f);
        f.run_s(0.08);
        assert_eq!(internal(&f, "boundaries"), 0.0, "all ACKs are of packets sent before");
        f.run_s(0.3);
        assert_eq!(internal(&f, "boundaries"), 1.0);
    }

    #[test]
    fn a_gap_between_replies_to_probes_is_one_boundary() {
        let ms = Nanos::from_millis;
        let mut f = Loop::new(Path::new(20, 50), |init| Ppb::new(&Params::defaults(PARAMS), init));
        assert_eq!(f.caps.probes.map(|p| p.interval), Some(ms(10)));
        f.run_s(5.0);
        for gap in [10, 10, 46, 10, 45, 10] {
            let (cx, mut w) = (f.cx, f.w);
            f.cc.on_signal(&cx, &mut w, &Signal::ProbeRtt { rtt: ms(50), gap: Some(ms(gap)) });
            f.run_s(0.5);
        }
        assert_eq!(internal(&f, "boundaries"), 1.0);
    }
}
