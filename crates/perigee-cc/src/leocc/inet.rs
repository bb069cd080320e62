// SPDX-License-Identifier: Apache-2.0 OR MIT
//! LeoCC in the OMNeT++ model of the OrbCC study (Avian688/leocc at ef7afda): the BBR version 1 of
//! that simulator with triggers.
//!
//! Differs from the published module: gains of the cycle are integer divisions, so that the
//! bandwidth is never probed (1, 0.75, then 1). The gains of the filters are also integer
//! divisions, and hence zero: neither bandwidth nor RTT is smoothed, and no part of the rate before
//! a reconfiguration is kept. PROBE_RTT keeps four packets in flight, and each round's RTT becomes
//! the minimum.

use super::Source;
use crate::bbr::inet::{caps, Core, Mode, Rules};
use crate::inet::MaxFilter;
use crate::*;

/// 5/4 and 21/20 in integer division.
const PROBE_GAIN: f64 = 1.0;

/// State of one connection.
pub(crate) struct LeoCc {
    core: Core,
    source: Source,
    scope: SignalScope,
    probe_interval: Nanos,
    /// A reconfiguration, before the model is rebuilt.
    trigger: bool,
}

impl LeoCc {
    pub fn new(params: &Params, init: &ConnInit) -> Self {
        let mut rules = Rules { only_from_cruise: true, overwrites_min_rtt: true, ..Rules::new(params) };
        rules.gains[0] = PROBE_GAIN;
        LeoCc {
            core: Core::new(init, rules),
            source: Source::new(params, init),
            scope: SignalScope::of(params),
            probe_interval: params.time("probe_interval"),
            trigger: false,
        }
    }
}

impl CongestionControl for LeoCc {
    fn caps(&self) -> Caps {
        Caps { probes: self.source.probes(self.probe_interval), signal_scope: self.scope, ..caps() }
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        self.core.start(cx, w);
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        self.trigger |= self.source.triggered(cx.now);
        self.core.sample(cx, ev);
        self.core.check_phase(cx, ev);
        self.core.check_full();
        if self.core.check_drain(cx, w) {
            self.trigger = false;
        }
        self.core.update_min_rtt(cx);
        if self.core.check_probe_rtt(cx, w, self.trigger) {
            if self.trigger {
                self.core.forget_pipe();
            }
            self.core.leave_probe_rtt(cx);
            if self.core.mode == Mode::Startup {
                self.core.forget_pipe();
            }
            if self.trigger {
                self.core.max_bw = MaxFilter::new(0);
            }
        }
        self.core.control(cx, w, ev);
    }

    fn ssthresh(&mut self, _cx: &Cx, w: &Window) -> u64 {
        w.ssthresh
    }

    fn on_transition(&mut self, cx: &Cx, w: &mut Window, t: Transition) {
        self.core.on_transition(cx, w, t);
    }

    fn on_timer(&mut self, cx: &Cx, w: &mut Window) {
        self.trigger |= self.source.on_timer(cx, w);
    }

    fn on_signal(&mut self, cx: &Cx, w: &mut Window, s: &Signal<'_>) {
        self.trigger |= self.source.on_signal(cx, w, s);
    }

    fn mode(&self, _w: &Window) -> &'static str {
        match self.core.mode {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBw => "cruise",
            Mode::ProbeRtt => "probe_rtt",
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.core.probe(out);
        out("trigger", f64::from(u8::from(self.trigger)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trigger_leads_through_probe_rtt_to_a_new_start_from_nothing() {
        let ms = Nanos::from_millis;
        let init = ConnInit { now: ms(100), mss: 1448, init_cwnd: 0, srtt: None, seed: 1, hz: 0 };
        let params = Params::defaults(crate::leocc::PARAMS).with_profile(&crate::leocc::omnet());
        let (mut cc, mut w) = (LeoCc::new(&params, &init), init.window());
        let mut cx = Cx { now: init.now, mss: 1448, min_rtt: Nanos::MAX, ..Cx::default() };
        cc.on_start(&cx, &mut w);
        let mut modes = vec![];
        for round in 0..60u64 {
            cx.now += ms(50);
            let (packets, prior_delivered) = (100 * (round + 1).min(4), cx.delivered);
            cx.delivered += packets * 1448;
            cx.min_rtt = ms(50);
            let rs = RateSample {
                valid: true,
                delivered: packets * 1448,
                interval: ms(50),
                prior_delivered,
                ..RateSample::default()
            };
            if round == 30 {
                cc.on_signal(&cx, &mut w, &Signal::ProbeRtt { rtt: ms(50), gap: Some(ms(60)) });
            } else {
                cc.on_signal(&cx, &mut w, &Signal::ProbeRtt { rtt: ms(50), gap: Some(ms(10)) });
            }
            let ev = AckEvent { newly_acked: packets * 1448, rtt: Some(ms(50)), rs, ..AckEvent::default() };
            cc.on_ack(&cx, &mut w, &ev);
            if modes.last() != Some(&cc.mode(&w)) {
                modes.push(cc.mode(&w));
            }
            if cc.core.mode == Mode::ProbeRtt {
                assert!(w.cwnd <= 4 * 1448);
            }
            // This variant never probes for bandwidth.
            assert!(cc.core.mode != Mode::ProbeBw || cc.core.pacing_gain <= 1.0);
        }
        assert_eq!(modes, ["startup", "cruise", "probe_rtt", "startup", "cruise"]);
    }
}
