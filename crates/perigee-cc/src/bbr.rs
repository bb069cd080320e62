// SPDX-License-Identifier: Apache-2.0 OR MIT
//! BBR version 1 as in Linux (Cardwell et al. 2016).
//!
//! Idea: model the path by its bottleneck bandwidth (maximum of the delivery rate over 10 rounds)
//! and its empty RTT (minimum over 10 s), pace at the bandwidth, keep twice the bandwidth-delay
//! product in flight, and occasionally send slightly faster, slightly slower, or almost nothing to
//! verify the model. Loss is not a signal.
//!
//! ```text
//! bdp(g)      = ceil(bw · min_rtt · g)
//! quantise(c) = even(c + 3 · bursts) (+2 in the probing phase)     inflight(g) = quantise(bdp(g))
//! pacing      = 0.99 · pacing_gain · bw
//! cwnd        → quantise(bdp(cwnd_gain) + extra_acked), by the packets acknowledged
//!
//!         3 rounds without +25 %       in flight ≤ inflight(1)
//!  STARTUP ────────────────────► DRAIN ──────────────────► PROBE_BW: 1.25, 0.75, 6 × 1
//!  2.89/2.89                     0.34/2.89                 (each ≥ min_rtt), cwnd gain 2
//!                                                             │ ▲
//!                        no lower RTT for 10 s, from any mode ▼ │ 200 ms and a round
//!                                                          PROBE_RTT: cwnd ≤ 4
//! ```
//!
//! Integer arithmetic in packets, bandwidth in packets/µs · 2^24, gains in 1/256, time windows in
//! timer ticks, in the order of the kernel's steps, so that cwnd and pacing rate equal the kernel's
//! on every ACK.
//!
//! Differs from BBRv3: no bounds learnt from loss, min_rtt window 10 s with a nearly empty pipe
//! instead of half full, fixed gain cycle, packet conservation in the first round of recovery,
//! long-term mode for policers.

pub(crate) mod aggregation;
pub(crate) mod core;
pub(crate) mod inet;
mod long_term;
pub(crate) mod pacing;
pub(crate) mod units;

use self::core::{Core, Mode, Model, ProbeRttCwnd, ProbeRttRule, Sample};
use crate::*;
use long_term::{LongTerm, Observation, Totals, Verdict};
use units::UNIT;

/// Parameters, with the kernel's defaults.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "variant",
        domain: Domain::Choice(&["linux", "inet", "ns3"]),
        unit: "",
        source: "Linux; Avian688/bbr 43c7ad8, the model of the OrbCC study's simulator; ns-3 TcpBbr",
        help: "linux = the kernel's; inet = that model on its simulator's TCP (of the parameters below, only the two times apply); ns3 = bursts of one packet, packets scheduled by the pacer not counted, one packet after a timeout without restoring the previous window, a bandwidth assumed from the first window, and excess counted over 4096 bytes",
    },
    ParamSpec {
        name: "ack_aggregation",
        domain: Domain::Bool(true),
        unit: "",
        source: "Linux 5.1 and later",
        help: "enlarge the window by the excess observed with aggregated ACKs",
    },
    ParamSpec {
        name: "long_term",
        domain: Domain::Bool(true),
        unit: "",
        source: "Linux",
        help: "detect token-bucket policers and keep to their rate",
    },
    ParamSpec {
        name: "pacing_rule",
        domain: Domain::Choice(&["linux", "linux-4.15"]),
        unit: "",
        source: "Linux since 4.20; Linux before, without the fq discipline",
        help: "linux = 99 % of the estimate; linux-4.15 = the estimate, charged for payload but not for headers: 103.6 %",
    },
    ParamSpec {
        name: "min_rtt_window",
        domain: Domain::Time {
            default: Nanos::from_secs(10),
            min: Nanos::from_millis(100),
            max: Nanos::from_secs(3600),
        },
        unit: "",
        source: "Linux bbr_min_rtt_win_sec",
        help: "age at which the minimum RTT is measured again",
    },
    ParamSpec {
        name: "probe_rtt_duration",
        domain: Domain::Time {
            default: Nanos::from_millis(200),
            min: Nanos::from_millis(1),
            max: Nanos::from_secs(10),
        },
        unit: "",
        source: "Linux bbr_probe_rtt_mode_ms",
        help: "duration of PROBE_RTT with a nearly empty pipe",
    },
];

/// State of one connection.
#[derive(Clone, Debug)]
pub struct Bbr {
    pub(crate) core: Core,
    /// `None` = disabled.
    long_term: Option<LongTerm>,
}

impl Bbr {
    /// A controller for a new connection.
    pub fn new(params: &Params, init: &ConnInit) -> Self {
        let rule = ProbeRttRule {
            min_rtt_window: params.time("min_rtt_window"),
            duration: params.time("probe_rtt_duration"),
            cwnd: ProbeRttCwnd::FourPackets,
        };
        let mut core = Core::new(init, rule, params.bool("ack_aggregation"));
        core.model = match params.choice("variant").as_str() {
            "ns3" => Model::Ns3,
            _ => Model::Linux,
        };
        if params.choice("pacing_rule") == "linux-4.15" {
            core.pacing.count_whole_packets();
        }
        Bbr { core, long_term: params.bool("long_term").then(LongTerm::default) }
    }

    /// As in Linux, with other options of PROBE_RTT.
    pub(crate) fn linux(init: &ConnInit, rule: ProbeRttRule) -> Self {
        Bbr { core: Core::new(init, rule, true), long_term: Some(LongTerm::default()) }
    }

    /// First steps of an ACK: round, long-term mode, bandwidth.
    pub(crate) fn sample(&mut self, cx: &Cx, s: &Sample) {
        self.core.count_round(cx, s);
        if s.rate.is_some() {
            self.sample_long_term(cx, s.losses > 0, s.app_limited);
        }
        self.core.sample_bandwidth(s);
    }

    /// The other steps: mode, gains, pacing, window. True: PROBE_RTT has just ended.
    pub(crate) fn follow(&mut self, cx: &Cx, w: &mut Window, s: &Sample) -> bool {
        self.core.update_aggregation(cx, w, s);
        self.core.update_phase(cx, w, s);
        self.core.check_pipe_full(s);
        self.core.check_drain(cx, w);
        let over = self.core.update_min_rtt(cx, w, s, false);
        if over {
            self.core.leave_probe_rtt(cx);
        }
        self.update_gains();
        self.core.set_pacing(cx, w, self.core.pacing_gain);
        self.core.set_cwnd(cx, w, s);
        over
    }

    fn totals(cx: &Cx) -> Totals {
        Totals {
            delivered: cx.packets(cx.delivered),
            lost: cx.packets(cx.lost),
            ms: cx.delivered_time.as_micros() / 1000,
        }
    }

    fn sample_long_term(&mut self, cx: &Cx, any_loss: bool, app_limited: bool) {
        let Some(long_term) = &mut self.long_term else { return };
        let observation = Observation {
            totals: Self::totals(cx),
            mss: cx.mss,
            round_start: self.core.round_start,
            any_loss,
            app_limited,
            in_probe_bw: self.core.mode == Mode::ProbeBw,
        };
        let verdict = long_term.on_ack(&observation);
        self.core.replaced_bw = long_term.in_use();
        match verdict {
            Verdict::Nothing => {}
            Verdict::Engaged => self.core.pacing_gain = UNIT,
            Verdict::Released => self.core.enter_probe_bw(cx),
        }
    }

    fn reset_long_term(&mut self, cx: &Cx) {
        if let Some(long_term) = &mut self.long_term {
            long_term.reset(Self::totals(cx));
        }
        self.core.replaced_bw = None;
    }

    fn update_gains(&mut self) {
        self.core.update_gains();
        if self.core.mode == Mode::ProbeBw && self.core.replaced_bw.is_some() {
            // A policer has no spare bandwidth to probe for.
            self.core.pacing_gain = UNIT;
        }
    }
}

impl CongestionControl for Bbr {
    fn caps(&self) -> Caps {
        // After a timeout the transport's window of one packet, below BBR's floor of 4, must be
        // kept.
        Caps { min_cwnd: 1, ..Caps::MODEL }
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        self.core.start(cx, w);
        self.reset_long_term(cx);
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        let s = Sample::new(cx, ev);
        self.sample(cx, &s);
        self.follow(cx, w, &s);
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        self.core.save_cwnd(cx, w);
        w.ssthresh
    }

    fn on_transition(&mut self, cx: &Cx, _w: &mut Window, t: Transition) {
        match t {
            Transition::EnterRto => {
                self.core.on_timeout();
                self.sample_long_term(cx, true, false);
            }
            Transition::Undo(_) => {
                self.core.on_undo();
                self.reset_long_term(cx);
            }
            _ => {}
        }
    }

    fn on_tx_start(&mut self, cx: &Cx, w: &mut Window) {
        if cx.app_limited && self.core.on_idle_restart(cx, w) {
            self.core.leave_probe_rtt(cx);
        }
    }

    fn mode(&self, _w: &Window) -> &'static str {
        self.core.mode.name()
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.core.probe(out);
        out("long_term", self.core.replaced_bw.is_some() as u8 as f64);
    }
}

#[cfg(test)]
mod tests;
