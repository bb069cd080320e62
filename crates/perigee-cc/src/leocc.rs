// SPDX-License-Identifier: Apache-2.0 OR MIT
//! LeoCC (SpaceNetLab; the Linux module of its replay and live variants, and the OMNeT++ model).
//!
//! Idea: on a path over LEO satellites, reconfigurations every 15 s invalidate the model of the
//! path. BBR version 1, notified of them from outside, enters PROBE_RTT, discards its model and
//! repeats STARTUP; in between a Kalman filter smooths the bandwidth while the RTT fluctuates above
//! its minimum.
//!
//! ```text
//! trigger     probes:   a reply > 45 ms after the previous one; set for 200 ms (see `detector`)
//!             notices:  the end of a handover, a change of path
//!             periodic: an ACK in the 100 ms before `offset` of each `period`, counted from the
//!                       connection's creation
//! bandwidth   bw_kal with probing gain 1.05   if RTT_kal ≥ RTT_min + delta_rtt + F, in CRUISE,
//!                                             no trigger pending
//!             bw_max with probing gain 1.25   otherwise
//! F           fluctuation of the base RTT, measured by the probes
//! pacing      = 0.99 · gain · bw                          window, recovery: as BBRv1
//!
//!        3 rounds without +25 %, trigger := 0  in flight ≤ BDP
//!  STARTUP ─────────────────────────► DRAIN ────────────────► CRUISE: 1.25 or 1.05, 0.75, 6 × 1
//!     ▲  2.89/2.89                    0.34/2.89               2  ▲     │ trigger, or
//!     │ trigger pending:                              no trigger │     ▼ no lower RTT for 20 s
//!     └── RTT_min := current RTT, bw_max := 0 ◄── PROBE_RTT: ≤ max(4, BDP/2), 200 ms and a round
//! ```
//!
//! Integer arithmetic of the kernel throughout, on the core that it shares with `bbr`.
//!
//! Differs from BBRv1: triggers, half a BDP in PROBE_RTT and its RTT taken as the minimum even if
//! larger, a window of 20 s, the Kalman filters, no long-term mode. Differs from the published
//! module: trigger, F and probing gain are per connection instead of per host
//! (`trigger_scope = host` lets the host share the signals), the period counts from the
//! connection's creation, and an ACK without an RTT sample never becomes the minimum. `leocc_omnet`
//! is the model of the OrbCC study's simulator (`variant = inet`) on that simulator's TCP, see
//! `inet`; with `variant = linux` its parameters select that model's real-valued filters, slack in
//! PROBE_RTT and overwritten minimum on Linux's TCP.

mod detector;
pub(crate) mod inet;
mod kalman;

use crate::bbr::core::{Core, Mode, ProbeRttCwnd, ProbeRttRule, Sample};
use crate::bbr::units::{Bw, UNIT};
use crate::notice::Notices;
use crate::params::joined;
use crate::*;
use detector::Detector;
use kalman::{Arithmetic, Kalman};

const fn time(
    name: &'static str,
    (default, min, max): (u64, u64, u64),
    source: &'static str,
    help: &'static str,
) -> ParamSpec {
    let ms = Nanos::from_millis;
    let domain = Domain::Time { default: ms(default), min: ms(min), max: ms(max) };
    ParamSpec { name, domain, unit: "", source, help }
}

/// Parameters of the signals of reconfigurations.
pub(crate) const SIGNALS: [ParamSpec; 7] = [
    ParamSpec {
        name: "signal",
        domain: Domain::Choice(&["probes", "notices", "periodic"]),
        unit: "",
        source: "live variant; choice; replay variant",
        help: "source of reconfiguration signals: probes, notifications, or a fixed period",
    },
    ParamSpec {
        name: "trigger_scope",
        domain: Domain::Choice(&["path", "host", "machine"]),
        unit: "",
        source: "choice; host in the published module",
        help: "scope of probes and notifications: path = those of the flow's path; host = of all paths from its host; machine = of all paths (one machine for all hosts)",
    },
    time("probe_interval", (10, 1, 1000), "LeoCC live", "interval between probes"),
    time("gap_threshold", (45, 1, 10_000), "LeoCC live", "gap between replies that indicates a reconfiguration"),
    time(
        "trigger_life",
        (200, 0, 10_000),
        "LeoCC live",
        "time for which a detected reconfiguration remains pending",
    ),
    time("period", (15_000, 200, 3_600_000), "LeoCC replay", "with signal = periodic: interval between reconfigurations"),
    time(
        "offset",
        (12_000, 100, 3_600_000),
        "LeoCC replay",
        "with signal = periodic: end of the 100 ms in each period in which an ACK triggers",
    ),
];
const VARIANT: [ParamSpec; 1] = [
    ParamSpec {
        name: "variant",
        domain: Domain::Choice(&["linux", "inet"]),
        unit: "",
        source: "SpaceNetLab/LeoCC; Avian688/leocc ef7afda, the model of the OrbCC study's simulator",
        help: "linux = the published module; inet = that model on its simulator's TCP (of the parameters below, only those of signals and probes apply)",
    },
];
const MODEL: [ParamSpec; 9] = [
    time(
        "fluctuation",
        (10, 0, 1000),
        "LeoCC replay",
        "fluctuation F if no probes measure it: larger = more throughput, smaller = less delay",
    ),
    time(
        "delta_rtt",
        (0, 0, 1000),
        "LeoCC replay",
        "additional rise of the RTT required for the filtered bandwidth",
    ),
    time(
        "delta_thresh",
        (45, 0, 1000),
        "LeoCC replay",
        "fall of the RTT at which the last bandwidth is kept",
    ),
    time(
        "min_rtt_window",
        (20_000, 100, 3_600_000),
        "LeoCC",
        "age at which the minimum RTT is measured again",
    ),
    time("probe_rtt_duration", (200, 1, 10_000), "LeoCC", "duration of PROBE_RTT with a half-empty pipe"),
    ParamSpec {
        name: "kalman",
        domain: Domain::Choice(&["integer", "real"]),
        unit: "",
        source: "Linux; OMNeT++",
        help: "arithmetic of the filters",
    },
    ParamSpec {
        name: "rtt_overwrite",
        domain: Domain::Choice(&["at_exit", "each_round"]),
        unit: "",
        source: "Linux; OMNeT++",
        help: "time at which PROBE_RTT takes the current RTT as the minimum",
    },
    ParamSpec {
        name: "probe_rtt_slack",
        domain: Domain::Int { default: 0, min: 0, max: 100 },
        unit: "segments",
        source: "Linux; 3 in OMNeT++",
        help: "packets in PROBE_RTT beyond half a BDP",
    },
    ParamSpec {
        name: "ack_aggregation",
        domain: Domain::Bool(true),
        unit: "",
        source: "Linux; off in OMNeT++",
        help: "enlarge the window by the excess observed with aggregated ACKs",
    },
];
const BEFORE: [ParamSpec; VARIANT.len() + SIGNALS.len()] = joined(&VARIANT, &SIGNALS);
const ALL: [ParamSpec; BEFORE.len() + MODEL.len()] = joined(&BEFORE, &MODEL);
/// Parameters; times with their defaults of the published module.
pub const PARAMS: &[ParamSpec] = &ALL;

/// The version of the OMNeT++ study.
pub fn omnet() -> Vec<(&'static str, Value)> {
    let word = |s: &str| Value::Text(s.into());
    vec![
        ("variant", word("inet")),
        ("kalman", word("real")),
        ("rtt_overwrite", word("each_round")),
        ("probe_rtt_slack", Value::Int(3)),
        ("ack_aggregation", Value::Bool(false)),
    ]
}

/// Probing gain while the filtered bandwidth is in use.
const GENTLE_PROBE_GAIN: u64 = UNIT * 105 / 100;
const PROBE_GAIN: u64 = UNIT * 5 / 4;
/// Length of the periodic trigger's window, which ends at the offset.
const TRIGGER_WINDOW: Nanos = Nanos::from_millis(100);
/// Default payload of `ping`.
const PROBE_PAYLOAD_BYTES: u32 = 56;

/// Source of notices of reconfigurations.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Probes(Box<Detector>),
    Notices(Notices),
    Periodic { created: Nanos, period: Nanos, offset: Nanos },
}

impl Source {
    pub(crate) fn new(params: &Params, init: &ConnInit) -> Self {
        match params.choice("signal").as_str() {
            "notices" => Source::Notices(Notices::default()),
            "periodic" => Source::Periodic {
                created: init.now,
                period: params.time("period"),
                offset: params.time("offset"),
            },
            _ => {
                let detector = Detector::new(params.time("gap_threshold"), params.time("trigger_life"));
                Source::Probes(Box::new(detector))
            }
        }
    }

    /// Probes that the host must send alongside the flow.
    pub(crate) fn probes(&self, interval: Nanos) -> Option<Probes> {
        let probes = Probes { interval, payload_bytes: PROBE_PAYLOAD_BYTES };
        matches!(self, Source::Probes(_)).then_some(probes)
    }

    /// Whether an ACK reveals a reconfiguration. (Notices take effect on arrival.)
    pub(crate) fn triggered(&self, now: Nanos) -> bool {
        match self {
            Source::Probes(detector) => detector.triggered(),
            Source::Notices(_) => false,
            Source::Periodic { created, period, offset } => {
                let phase = now.saturating_sub(*created).0 % period.0;
                (offset.saturating_sub(TRIGGER_WINDOW).0..=offset.0).contains(&phase)
            }
        }
    }

    /// True if a notice becomes due.
    pub(crate) fn on_timer(&mut self, cx: &Cx, w: &mut Window) -> bool {
        let Source::Notices(notices) = self else { return false };
        let due = notices.on_timer(cx.now);
        w.next_timer = notices.next_timer();
        due
    }

    /// True if a notice takes effect at once.
    pub(crate) fn on_signal(&mut self, cx: &Cx, w: &mut Window, s: &Signal<'_>) -> bool {
        match (self, s) {
            (Source::Probes(detector), Signal::ProbeRtt { rtt, gap }) => {
                detector.on_reply(cx.now, *rtt, *gap);
                false
            }
            (Source::Notices(notices), s) => {
                let due = notices.on_signal(cx, s);
                w.next_timer = notices.next_timer();
                due
            }
            _ => false,
        }
    }
}

/// State of one connection.
#[derive(Clone, Debug)]
pub struct LeoCc {
    core: Core,
    source: Source,
    scope: SignalScope,
    probe_interval: Nanos,
    fluctuation: Nanos,
    delta_rtt_us: u64,
    delta_thresh_us: u64,
    overwrite_each_round: bool,

    /// A reconfiguration, before the model is rebuilt.
    trigger: bool,
    bw_filter: Kalman,
    rtt_filter: Kalman,
    /// Best sample of the round.
    round_bw: Bw,
    /// Sample of the previous ACK.
    last_bw: Bw,
    /// Value from which the maximum restarts.
    kept_bw: Bw,
}

impl LeoCc {
    /// A controller for a new connection.
    pub fn new(params: &Params, init: &ConnInit) -> Self {
        let arithmetic = match params.choice("kalman").as_str() {
            "real" => Arithmetic::Real,
            _ => Arithmetic::Integer,
        };
        let rule = ProbeRttRule {
            min_rtt_window: params.time("min_rtt_window"),
            duration: params.time("probe_rtt_duration"),
            cwnd: ProbeRttCwnd::HalfBdp(params.int("probe_rtt_slack") as u64),
        };
        LeoCc {
            core: Core::new(init, rule, params.bool("ack_aggregation")),
            source: Source::new(params, init),
            scope: SignalScope::of(params),
            probe_interval: params.time("probe_interval"),
            fluctuation: params.time("fluctuation"),
            delta_rtt_us: params.time("delta_rtt").as_micros(),
            delta_thresh_us: params.time("delta_thresh").as_micros(),
            overwrite_each_round: params.choice("rtt_overwrite") == "each_round",
            trigger: false,
            bw_filter: Kalman::new(arithmetic),
            rtt_filter: Kalman::new(arithmetic),
            round_bw: 0,
            last_bw: 0,
            kept_bw: 0,
        }
    }

    // ---- triggers -------------------------------------------------------------------------------

    /// F, if it is known: without probes it is an option, with probes it must have been measured.
    fn fluctuation(&self) -> Option<Nanos> {
        match &self.source {
            Source::Probes(detector) => Some(detector.fluctuation()).filter(|f| *f > Nanos::ZERO),
            _ => Some(self.fluctuation),
        }
    }

    // ---- filters --------------------------------------------------------------------------------

    /// Filters the bandwidth of the round that has just ended, if the flow cruises.
    fn filter_bandwidth(&mut self, s: &Sample) {
        if self.core.mode == Mode::ProbeBw && self.core.begins_round(s) {
            self.bw_filter.update(self.round_bw);
        }
    }

    fn sample_bandwidth(&mut self, s: &Sample) {
        if self.core.round_start {
            self.round_bw = 0;
        }
        let Some(bw) = s.bw() else { return };
        self.core.sample_bandwidth(s);
        self.round_bw = self.round_bw.max(bw);
        if self.core.mode == Mode::ProbeRtt {
            // The path has become much shorter: the previous rate is still informative.
            if s.rtt_us.is_some_and(|rtt| self.rtt_filter.get() > rtt + self.delta_thresh_us) {
                self.kept_bw = self.last_bw;
            }
        }
        self.last_bw = bw;
    }

    /// Whether the RTT fluctuates above its minimum, so that the best samples overestimate the
    /// bandwidth.
    fn rtt_is_raised(&self) -> bool {
        let (Some(min), Some(f)) = (self.core.min_rtt_us, self.fluctuation()) else { return false };
        self.rtt_filter.get() >= min + self.delta_rtt_us + f.as_micros()
    }

    fn choose_bandwidth(&mut self) {
        let filtered = self.core.mode == Mode::ProbeBw && !self.trigger && self.rtt_is_raised();
        self.core.replaced_bw = filtered.then(|| self.bw_filter.get());
        self.core.probe_gain = if filtered { GENTLE_PROBE_GAIN } else { PROBE_GAIN };
    }

    // ---- PROBE_RTT ------------------------------------------------------------------------------

    fn update_min_rtt(&mut self, cx: &Cx, w: &mut Window, s: &Sample) {
        let forced = self.trigger && self.core.mode == Mode::ProbeBw;
        let over = self.core.update_min_rtt(cx, w, s, forced);
        let each_round =
            self.overwrite_each_round && self.core.dwells_in_probe_rtt() && self.core.round_start;
        if let (true, Some(rtt)) = (over || each_round, s.rtt_us) {
            self.core.set_min_rtt(cx, rtt);
        }
        if over {
            self.leave_probe_rtt(cx);
        }
    }

    /// A pending trigger leads to STARTUP.
    fn leave_probe_rtt(&mut self, cx: &Cx) {
        if self.trigger {
            self.core.forget_pipe();
            self.core.max_bw.reset(self.core.rounds, self.kept_bw);
        }
        self.core.leave_probe_rtt(cx);
    }
}

impl CongestionControl for LeoCc {
    fn caps(&self) -> Caps {
        Caps {
            min_cwnd: 1,
            probes: self.source.probes(self.probe_interval),
            signal_scope: self.scope,
            ..Caps::MODEL
        }
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        self.core.start(cx, w);
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        let s = Sample::new(cx, ev);
        self.trigger |= self.source.triggered(cx.now);
        self.filter_bandwidth(&s);
        self.core.count_round(cx, &s);
        self.sample_bandwidth(&s);
        self.core.update_aggregation(cx, w, &s);
        self.core.update_phase(cx, w, &s);
        self.core.check_pipe_full(&s);
        if self.core.check_drain(cx, w) {
            self.kept_bw = 0;
            self.trigger = false;
        }
        self.update_min_rtt(cx, w, &s);
        self.core.update_gains();
        if let Some(rtt) = s.rtt_us.filter(|rtt| *rtt > 0) {
            self.rtt_filter.update(rtt);
        }
        self.choose_bandwidth();
        self.core.set_pacing(cx, w, self.core.pacing_gain);
        self.core.set_cwnd(cx, w, &s);
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        self.core.save_cwnd(cx, w);
        w.ssthresh
    }

    fn on_transition(&mut self, _cx: &Cx, _w: &mut Window, t: Transition) {
        match t {
            Transition::EnterRto => self.core.on_timeout(),
            Transition::Undo(_) => self.core.on_undo(),
            _ => {}
        }
    }

    fn on_tx_start(&mut self, cx: &Cx, w: &mut Window) {
        if cx.app_limited && self.core.on_idle_restart(cx, w) {
            self.leave_probe_rtt(cx);
        }
    }

    fn on_timer(&mut self, cx: &Cx, w: &mut Window) {
        self.trigger |= self.source.on_timer(cx, w);
    }

    fn on_signal(&mut self, cx: &Cx, w: &mut Window, s: &Signal<'_>) {
        self.trigger |= self.source.on_signal(cx, w, s);
    }

    fn mode(&self, _w: &Window) -> &'static str {
        match self.core.mode {
            Mode::ProbeBw => "cruise",
            mode => mode.name(),
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.core.probe(out);
        out("trigger", self.trigger as u8 as f64);
        out("filtered", self.core.replaced_bw.is_some() as u8 as f64);
        out("rtt_filter_s", self.rtt_filter.get() as f64 * 1e-6);
    }
}

#[cfg(test)]
mod tests;
