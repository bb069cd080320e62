// SPDX-License-Identifier: Apache-2.0 OR MIT
//! OrbCC, in its first version LeoTCP: window control from in-network telemetry, for paths over LEO
//! satellites.
//!
//! Idea: each port reports its utilisation, number of flows and their mean base RTT. The sender
//! scales its window by η over the busiest port's utilisation (η = 0.95), and always adds its share
//! of 5 % of the bandwidth-delay product per RTT: together they converge to a full port
//! (`steady state` below), not to 95 %. Nothing depends on loss, nor on RTT changes due to a moving
//! path; windows are proportional to the flow's own RTT, so that rates are equal.
//!
//! ```text
//! (1) u_i  = min(qLen_i, qLen'_i) / (bw_i · avgRTT_i) + txRate_i / bw_i
//!     u    = max over hops, b = that hop
//! (2) U    ← (1 − α) U + α u    per ACK; weight 1 − (1−α)^k for an ACK of k packets; U starts at 1
//! (3) AI   = a · bw_b · RTT / flowCnt_b
//! (4) W    = refCwnd · η/U + AI   if U ≥ η,   refCwnd + AI   otherwise
//!     cwnd = W on every ACK; refCwnd = W once per sRTT
//!     pacing = 1.2 · max(cwnd, in flight) / sRTT
//!     base RTT ← EWMA(RTT − Σ rxQlen_i / bw_i): sent to the ports in each header, with cwnd
//! steady state of N flows on one port: U = η c/(c − a), c = counted bytes / wire bytes;
//!     equal rates for any RTTs
//!
//!           one avgRTT after
//!           the first usable stack                 next reference update
//!  startup ────────────────────────► initial phase ──────────────────────► control
//!  5 packets, AI = 1 byte            once: W = η · bw_b ·                    │ ▲
//!                                    base RTT / flowCnt_b                    │ │
//!                                      telemetry missing or does not         ▼ │ complete again
//!                                      cover the queue    fallback (Cubic; see option `fallback`)
//! ```
//!
//! With `echo = pint` packets carry one record of fixed size: ports average u themselves and the
//! sender uses it as U; the start adds 5 % of the BDP per RTT, divided by the flows that are
//! starting, up to its share.
//!
//! Differs from HPCC: the switch's mean RTT instead of a configured one in (1); AI from the flow
//! count and added in both branches; a constant weight in (2) instead of time over RTT; no stages;
//! the reference follows a timer, not sequence numbers; base RTT, window and path id travel with
//! the packets. Differs from the authors' simulator, in the profile `orbcc`, in the options listed
//! in [`options`]; `orbcc-repro` follows it in each.

pub(crate) mod fallback;
pub mod options;
pub(crate) mod path;
mod reading;
pub(crate) mod rtt;
mod second_controller;

use crate::rng::Rng;
use crate::*;
use fallback::{Coverage, Fallback, Switch, WatchInput};
pub(crate) use options::PathChange;
pub use options::{head, paper, pint, repro, NEEDS, PARAMS};
use options::{Decrease, Jump, Options};
use path::PathGuard;
use reading::{covered, queueing};
use rtt::{quantise, RttEstimate};
use second_controller::SecondController;

const INITIAL_SEGMENTS: u64 = 5;
/// Increase per ACK until the initial phase: the window follows the decrease rule only.
const STARTUP_INCREASE_BYTES: f64 = 1.0;
/// Buffering permitted by the upper bound of the window.
const BOUND_SLACK_S: f64 = 0.2;
/// Bound of the interval between stacks with time-based weights, in mean RTTs: an outage must not
/// count in full.
const MAX_PAIR_RTTS: u64 = 4;
/// Number of hop records in one IPv6 option; longer stacks only cost an allocation at their first
/// appearance.
const TYPICAL_MAX_HOPS: usize = 14;

/// Progress of the start of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Waiting for a usable stack, then one mean RTT.
    Startup,
    /// The next processed ACK causes the jump.
    Jump,
    /// After the jump; the next reference update ends the phase.
    Settling,
    Control,
}

/// Bottleneck as described by the last processed ACK.
#[derive(Clone, Copy, Debug, Default)]
struct Port {
    hop: usize,
    u: f64,
    tau: Nanos,
    bw: BitRate,
    avg_rtt: Nanos,
    flows: u32,
    /// PINT: number of flows in their startup.
    starting: Option<u32>,
    /// PINT: whether the port has averaged u.
    averaged: bool,
}

impl Port {
    /// Share of one of `flows` flows of the bytes that the port sends in `seconds`.
    fn bytes_per_flow(&self, seconds: f64, flows: u32) -> f64 {
        self.bw.bytes_per_s() * seconds / flows.max(1) as f64
    }
}

/// State of one connection.
#[derive(Clone, Debug)]
pub struct OrbCc {
    options: Options,
    rtt: RttEstimate,
    /// Queueing delay of the last processed packet.
    queue_delay_s: f64,
    /// U of equation (2).
    utilisation: f64,
    /// AI of equation (3).
    increase: f64,
    ref_cwnd: f64,
    /// Copy of the window for headers.
    cwnd: u64,
    /// Last accepted stack and its arrival; receivers that compute differences store it themselves.
    stack: Vec<Hop>,
    stack_at: Option<Nanos>,
    path: PathGuard,
    port: Option<Port>,
    phase: Phase,
    initial_timer: Option<Nanos>,
    reference_timer: Option<Nanos>,
    update_reference: bool,
    fallback: Option<Fallback>,
    second: Option<SecondController>,
    rng: Rng,
    /// Time of the last RTT sample.
    last_sample: Nanos,
    /// With `timeout_sample`: excess of the next sample over the path's RTT, after a timeout.
    timeout: Option<Nanos>,
}

impl OrbCc {
    /// A controller for a new connection.
    pub fn new(params: &Params, init: &ConnInit) -> Self {
        let options = Options::new(params);
        OrbCc {
            rtt: RttEstimate::default(),
            queue_delay_s: 0.0,
            utilisation: 1.0,
            increase: STARTUP_INCREASE_BYTES,
            ref_cwnd: 0.0,
            cwnd: 0,
            stack: Vec::with_capacity(TYPICAL_MAX_HOPS),
            stack_at: None,
            path: PathGuard::new(options.path_change),
            port: None,
            phase: Phase::Startup,
            initial_timer: None,
            reference_timer: None,
            update_reference: false,
            fallback: options.fallback.then(|| Fallback::new(init)),
            second: options.second.map(|(scheme, rule)| SecondController::new(scheme, rule, init)),
            rng: Rng::new(init.seed),
            last_sample: Nanos::ZERO,
            timeout: None,
            options,
        }
    }

    // ---- input of an ACK ------------------------------------------------------------------------

    /// Processes an RTT sample; `queueing_s`: queueing delay reported by this ACK.
    fn sample_rtt(&mut self, cx: &Cx, ev: &AckEvent<'_>, queueing_s: Option<f64>) {
        let Some(rtt) = ev.rtt.or(ev.seq_rtt).filter(|_| ev.newly_cum_acked > 0) else { return };
        self.last_sample = cx.now;
        let rtt = rtt.saturating_add(self.timeout.take().unwrap_or(Nanos::ZERO));
        let rtt = quantise(rtt, cx.now, self.options.rtt_granularity);
        let same_ack = queueing_s.filter(|_| self.options.same_ack_queueing);
        self.rtt.sample(rtt, same_ack.unwrap_or(self.queue_delay_s));
    }

    // ---- the control law ------------------------------------------------------------------------

    fn steer(&mut self, cx: &Cx, w: &mut Window, port: Port, covered: u32) {
        if self.options.time_weighted && port.tau > port.avg_rtt * MAX_PAIR_RTTS {
            return;
        }
        if self.phase == Phase::Startup && self.initial_timer.is_none() && !self.starts_blank() {
            self.initial_timer = Some(cx.now.saturating_add(port.avg_rtt));
        }
        self.port = Some(port);
        self.average(&port, covered);
        let climbs = port.averaged && self.options.initial_phase && self.climb(&port);
        let jumps =
            self.phase == Phase::Jump && self.options.initial_phase && self.options.jump == Jump::Assign;
        let window = if jumps && !climbs {
            self.phase = Phase::Settling;
            self.ref_cwnd = self.bounded(cx, w, &port, self.initial_target(&port));
            self.increase = self.share_of_increase(&port);
            self.ref_cwnd
        } else {
            if !climbs {
                self.increase = self.next_increase(w, &port);
            }
            let window = self.bounded(cx, w, &port, self.law());
            if self.update_reference {
                self.update_reference = false;
                self.ref_cwnd = window;
                if self.phase == Phase::Settling && !climbs {
                    self.phase = Phase::Control;
                }
            }
            window
        };
        w.cwnd = (window as u64).max(cx.mss as u64);
        if self.phase == Phase::Startup && self.starts_blank() {
            self.phase = if self.options.initial_phase { Phase::Jump } else { Phase::Control };
        }
    }

    /// Equation (2).
    fn average(&mut self, port: &Port, covered: u32) {
        let weight = if port.averaged {
            1.0
        } else if self.options.time_weighted {
            (port.tau.0 as f64 / port.avg_rtt.0 as f64).min(1.0)
        } else if covered <= 1 {
            self.options.alpha
        } else {
            1.0 - libm::pow(1.0 - self.options.alpha, covered as f64)
        };
        self.utilisation += weight * (port.u - self.utilisation);
        if self.utilisation <= 0.0 {
            self.utilisation = port.u;
        }
    }

    /// Equation (3).
    fn share_of_increase(&self, port: &Port) -> f64 {
        let flows = if self.options.share_increase { port.flows } else { 1 };
        self.options.additive_increase * port.bytes_per_flow(self.rtt.last_s, flows)
    }

    /// PINT's startup: grows towards the share of the port, as fast as all starting flows together
    /// may. False if it is over.
    fn climb(&mut self, port: &Port) -> bool {
        if !matches!(self.phase, Phase::Jump | Phase::Settling) {
            return false;
        }
        let missing = self.initial_target(port) - self.ref_cwnd;
        if missing <= 0.0 || self.utilisation >= self.options.eta {
            self.phase = Phase::Control;
            return false;
        }
        self.phase = Phase::Settling;
        let starting = port.starting.unwrap_or(port.flows);
        let most = self.options.additive_increase * port.bytes_per_flow(self.rtt.base_s, starting);
        self.increase = missing.min(most);
        true
    }

    /// As in the authors' simulator: echoes that describe no measured port (the first of a
    /// connection, and those of a port without a mean RTT) count as those of an idle port without a
    /// rate, instead of being ignored.
    fn starts_blank(&self) -> bool {
        self.options.jump == Jump::Once
    }

    /// Ends the initial phase at a duplicate ACK, which indicates that the path is full enough.
    fn end_initial_phase_if_duplicate(&mut self, ev: &AckEvent<'_>) {
        if ev.newly_cum_acked == 0 && matches!(self.phase, Phase::Jump | Phase::Settling) {
            self.phase = Phase::Control;
        }
    }

    fn initial_target(&self, port: &Port) -> f64 {
        let flows = port.flows.max(1) + self.options.count_newcomer as u32;
        self.options.eta * port.bytes_per_flow(self.rtt.base_s, flows)
    }

    fn next_increase(&mut self, w: &Window, port: &Port) -> f64 {
        match self.phase {
            Phase::Startup if self.options.initial_phase => STARTUP_INCREASE_BYTES,
            Phase::Jump | Phase::Settling
                if self.options.initial_phase && self.options.jump != Jump::Assign =>
            {
                self.phase = Phase::Settling;
                self.initial_target(port) - w.cwnd as f64
            }
            Phase::Jump => {
                self.phase = Phase::Settling;
                self.share_of_increase(port)
            }
            _ => self.share_of_increase(port),
        }
    }

    /// Equation (4).
    fn law(&self) -> f64 {
        // Without the jump, the window only grows during startup.
        let growing = !self.options.initial_phase && self.phase != Phase::Control && !self.starts_blank();
        if self.utilisation < self.options.eta || growing {
            return self.ref_cwnd + self.increase;
        }
        let steered = self.ref_cwnd * self.options.eta / self.utilisation;
        match self.options.decrease {
            Decrease::PlusAi => steered + self.increase,
            Decrease::NoAi => steered,
            Decrease::Half => self.ref_cwnd / 2.0 + self.increase,
        }
    }

    fn bounded(&self, cx: &Cx, w: &Window, port: &Port, window: f64) -> f64 {
        let mut window = window;
        if self.options.upper_bound {
            window = window.min(2.0 * port.bw.bytes_per_s() * (self.rtt.base_s + BOUND_SLACK_S));
        }
        if self.options.growth_guard && !cx.cwnd_limited {
            window = window.min(w.cwnd as f64);
        }
        // The reference of the simulator's source may be less than a packet: a jump on a port
        // without a rate removes all of it.
        window.max(if self.starts_blank() { 0.0 } else { cx.mss as f64 })
    }

    // ---- around it ------------------------------------------------------------------------------

    /// Input of an ACK for the telemetry watch.
    fn seen(&self, w: &Window, ev: &AckEvent<'_>) -> WatchInput {
        WatchInput {
            coverage: Coverage::of(ev.telemetry.as_ref()),
            srtt: self.rtt.smoothed(),
            base_rtt_s: self.rtt.base_s,
            window: w.cwnd,
            rate: if ev.rs.valid { ev.rs.delivered as f64 / ev.rs.interval.as_secs_f64() } else { 0.0 },
            utilisation: self.utilisation,
        }
    }

    /// Hands over control if telemetry requires it. True while OrbCC's law is suspended.
    fn fallback_controls(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) -> bool {
        let seen = self.seen(w, ev);
        if let Some(b) = &mut self.second {
            let (resumes, alone) = (b.on_ack(cx, w, ev, &seen), b.alone());
            if resumes {
                self.go_on_from(w);
            }
            return alone;
        }
        let Some(f) = &mut self.fallback else { return false };
        match f.watch(cx.now, &seen) {
            Some(Switch::ToFallback) => f.take_over(cx, w),
            Some(Switch::ToOrbCc) => {
                f.hand_back(w);
                self.go_on_from(w);
            }
            None => {}
        }
        let Some(f) = self.active_fallback() else { return false };
        f.on_ack(cx, w, ev);
        true
    }

    /// Resumes control from the current window.
    fn go_on_from(&mut self, w: &Window) {
        self.ref_cwnd = w.cwnd as f64;
        self.update_reference = false;
        self.phase = Phase::Control;
        self.initial_timer = None;
    }

    /// Bounds the window by the second controller, and OrbCC's reference along with it.
    fn settle_second(&mut self, cx: &Cx, w: &mut Window) {
        let share = self.port.map_or(0.0, |port| self.initial_target(&port));
        if let Some(b) = &mut self.second {
            self.ref_cwnd = self.ref_cwnd.min(b.settle(cx, w, share));
        }
    }

    fn active_fallback(&mut self) -> Option<&mut Fallback> {
        self.fallback.as_mut().filter(|f| f.active())
    }

    fn set_pacing(&self, cx: &Cx, w: &mut Window) {
        if self.rtt.smoothed_s > 0.0 {
            w.pacing = Some(self.pacing_rate(w.cwnd.max(cx.in_flight), self.rtt.smoothed_s));
        }
    }

    fn pace(&mut self, cx: &Cx, w: &mut Window) {
        self.set_pacing(cx, w);
        if let Some(b) = &mut self.second {
            b.pace(w);
        }
    }

    fn pacing_rate(&self, bytes: u64, rtt_s: f64) -> BitRate {
        BitRate((self.options.pacing_gain * bytes as f64 * 8.0 / rtt_s) as u64)
    }

    fn arm_timers(&mut self, cx: &Cx, w: &mut Window) {
        if self.reference_timer.is_none() && self.rtt.smoothed_s > 0.0 {
            self.reference_timer = Some(self.reference_due(cx));
        }
        self.publish_timers(w);
    }

    fn reference_due(&self, cx: &Cx) -> Nanos {
        cx.now.saturating_add(self.rtt.smoothed().max(Nanos::from_micros(1)))
    }

    fn publish_timers(&self, w: &mut Window) {
        let second = self.second.as_ref().and_then(SecondController::next_timer);
        w.next_timer = [self.initial_timer, self.reference_timer, second].into_iter().flatten().min();
    }
}

impl CongestionControl for OrbCc {
    fn caps(&self) -> Caps {
        let carrier = self.options.carrier;
        let derived = carrier.is_some_and(|c| c != Carrier::Records);
        let echo = self.options.bottleneck_echo || derived;
        Caps {
            telemetry: match carrier {
                None => TelemetryNeed::None,
                _ if echo => TelemetryNeed::Bottleneck,
                _ => TelemetryNeed::Stack,
            },
            carrier: carrier.unwrap_or_default(),
            pint: self.options.pint,
            telemetry_on_wire: self.options.on_wire,
            tx_bytes_unit: self.options.tx_bytes_unit,
            any_packet_times_meters: self.starts_blank(),
            on_rto: OnRto::Keep,
            ack_every: Some(1),
            min_cwnd: 1,
            unpaced_start: INITIAL_SEGMENTS as u32,
            ..Caps::MODEL
        }
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        let or = |bytes: u64, default: u64| if bytes > 0 { bytes } else { default };
        w.cwnd = or(self.options.initial_cwnd, cx.bytes(INITIAL_SEGMENTS)).max(cx.mss as u64);
        self.ref_cwnd = or(self.options.initial_ref_cwnd, w.cwnd) as f64;
        self.cwnd = w.cwnd;
        // One packet per pacing tick.
        w.quantum = 1;
        let rtt = if cx.srtt > Nanos::ZERO { cx.srtt } else { Nanos::from_millis(1) };
        w.pacing = Some(self.pacing_rate(w.cwnd, rtt.as_secs_f64()));
        if let Some(b) = &mut self.second {
            b.on_start(cx, w);
        }
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        let queueing_s = ev.telemetry.as_ref().map(|t| queueing(t).as_secs_f64());
        self.sample_rtt(cx, ev, queueing_s);
        if self.starts_blank() {
            self.end_initial_phase_if_duplicate(ev);
        }
        let fallback = self.fallback_controls(cx, w, ev);
        if let Some(telemetry) = &ev.telemetry {
            let port = self.read(cx, telemetry);
            if port.is_some() || self.options.same_ack_queueing {
                let blank = port.is_some_and(|p| p.bw.0 == 0);
                self.queue_delay_s = queueing_s.filter(|_| !blank).unwrap_or_default();
            }
            if let (Some(f), Some(_)) = (&mut self.fallback, port) {
                f.on_reading();
            }
            // Shares are bandwidth times RTT: without an RTT sample there is no control.
            let can_steer = !fallback && self.rtt.smoothed_s > 0.0;
            if let Some(port) = port.filter(|_| can_steer) {
                self.steer(cx, w, port, covered(telemetry));
            }
        }
        self.end_initial_phase_if_duplicate(ev);
        self.settle_second(cx, w);
        self.cwnd = w.cwnd;
        self.pace(cx, w);
        self.arm_timers(cx, w);
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        if let Some(b) = &mut self.second {
            b.ssthresh(cx);
        }
        self.active_fallback().map_or(w.ssthresh, |f| f.ssthresh(cx, w))
    }

    fn on_transition(&mut self, cx: &Cx, w: &mut Window, t: Transition) {
        if t == Transition::EnterRto && self.options.timeout_sample {
            self.timeout = Some(cx.now.saturating_sub(self.last_sample));
        }
        if let Some(f) = self.active_fallback() {
            f.on_transition(cx, w, t);
            self.cwnd = w.cwnd;
        }
        if let Some(b) = &mut self.second {
            b.on_transition(cx, w, t);
            self.cwnd = w.cwnd;
        }
    }

    fn on_tx_start(&mut self, cx: &Cx, w: &mut Window) {
        if let Some(f) = self.active_fallback() {
            f.on_tx_start(cx, w);
            return;
        }
        if let Some(b) = &mut self.second {
            b.on_tx_start(cx);
            if b.binds() {
                return;
            }
        }
        let idle = cx.outstanding == 0 && cx.now.saturating_sub(cx.last_sent) > self.rtt.rto();
        let Some(port) = self.port.filter(|_| idle && self.options.restart_after_idle) else { return };
        // The network has changed in the meantime: restart with a share of the known bandwidth, and
        // a new baseline.
        self.stack_at = None;
        let share = self.options.eta * port.bytes_per_flow(self.rtt.base_s, port.flows);
        w.cwnd = w.cwnd.min(share as u64).max(cx.mss as u64);
        self.ref_cwnd = w.cwnd as f64;
        self.cwnd = w.cwnd;
        self.set_pacing(cx, w);
    }

    fn on_timer(&mut self, cx: &Cx, w: &mut Window) {
        let due = |timer: Option<Nanos>| timer.is_some_and(|t| t <= cx.now);
        if let Some(b) = &mut self.second {
            b.on_timer(cx);
        }
        if due(self.initial_timer) {
            self.initial_timer = None;
            if self.phase == Phase::Startup {
                self.phase = Phase::Jump;
            }
        }
        if due(self.reference_timer) {
            self.update_reference = true;
            self.path.on_reference_timer();
            // With nothing outstanding no ACK can commit; the next ACK arms the timer again.
            self.reference_timer = (cx.outstanding > 0).then(|| self.reference_due(cx));
        }
        self.publish_timers(w);
    }

    fn on_signal(&mut self, cx: &Cx, w: &mut Window, s: &Signal<'_>) {
        if let Some(b) = &mut self.second {
            b.on_signal(cx, s);
            self.publish_timers(w);
        }
    }

    fn stamp(&self) -> HeaderStamp {
        let base_s = if self.options.subtract_queueing { self.rtt.base_s } else { self.rtt.smoothed_s };
        HeaderStamp { base_rtt: Nanos::from_secs_f64(base_s), cwnd: self.cwnd, ..HeaderStamp::default() }
    }

    fn mode(&self, _w: &Window) -> &'static str {
        match self.phase {
            _ if self.fallback.as_ref().is_some_and(Fallback::active) => "fallback",
            _ if self.second.as_ref().is_some_and(SecondController::binds) => "fallback",
            Phase::Startup => "startup",
            Phase::Jump | Phase::Settling => "initial phase",
            Phase::Control => "control",
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let port = self.port.unwrap_or_default();
        out("U", self.utilisation);
        out("u", port.u);
        out("increase_bytes", self.increase);
        out("ref_cwnd_bytes", self.ref_cwnd);
        out("base_rtt_s", self.rtt.base_s);
        out("queue_delay_s", self.queue_delay_s);
        out("avg_rtt_s", port.avg_rtt.as_secs_f64());
        out("flows", port.flows as f64);
        out("bottleneck_hop", port.hop as f64);
    }
}

#[cfg(test)]
mod second_controller_tests;
#[cfg(test)]
mod tests;
