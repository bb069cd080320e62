// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Core of BBR version 1 and its descendants: path model, gain cycle, PROBE_RTT, window and pacing.
//! A scheme calls the steps in its own order, may replace the bandwidth in use, and chooses the
//! mode after PROBE_RTT.

use super::aggregation::{Aggregation, SLOT_ROUNDS};
use super::pacing::{paced_bytes_per_s, PacingRate, PriorCwnd};
use super::units::{bandwidth, bdp, packets_in, whole_bdp, Bw, BW_SHIFT, UNIT};
use crate::clock::JiffyClock;
use crate::filter::WindowedMax;
use crate::rng::Rng;
use crate::*;

/// Slightly above 2/ln 2: the minimum gain that doubles the rate each round.
pub const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
pub const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
const CWND_GAIN: u64 = 2 * UNIT;
pub const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// The cycle may start in any phase except the draining one.
const CYCLE_START_CHOICES: u32 = 7;
/// ns-3 draws a real number below 6.
const NS3_START_CHOICES: u32 = 6;
pub const MAX_BW_ROUNDS: u64 = CYCLE.len() as u64 + 2;
/// STARTUP continues while the bandwidth grows by this factor per round.
const FULL_BW_GROWTH: u64 = UNIT * 5 / 4;
const FULL_BW_ROUNDS: u32 = 3;
pub const MIN_CWND: u64 = 4;
const INITIAL_CWND: u64 = 10;
const MAX_EXTRA_ACKED_US: u64 = 100_000;
/// Rate (1.2 Mbit/s) below which bursts of two packets would be too long.
const SINGLE_PACKET_BYTES_PER_S: u64 = 1_200_000 / 8;
/// Maximum burst in bytes and in packets: a 64 KiB buffer less headers, and the kernel's 7-bit
/// field.
const MAX_BURST_BYTES: u64 = 65_536 - 1 - 320;
const MAX_BURST_PACKETS: u64 = 127;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBw => "probe_bw",
            Mode::ProbeRtt => "probe_rtt",
        }
    }
}

/// Implementation to reproduce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    Linux,
    /// `TcpBbr` of ns-3.
    Ns3,
}

/// An ACK in the model's units.
pub(crate) struct Sample {
    pub acked: u64,
    pub losses: u64,
    pub prior_in_flight: u64,
    pub rtt_us: Option<u64>,
    /// Packets and microseconds of the rate sample, if usable.
    pub rate: Option<(u64, u64)>,
    pub prior_delivered: u64,
    pub app_limited: bool,
    pub delayed: bool,
}

impl Sample {
    pub fn new(cx: &Cx, ev: &AckEvent<'_>) -> Self {
        let interval_us = ev.rs.interval.as_micros();
        Sample {
            acked: cx.packets(ev.newly_acked),
            losses: cx.packets(ev.newly_lost),
            prior_in_flight: cx.packets(ev.prior_in_flight),
            rtt_us: ev.rtt.map(Nanos::as_micros),
            rate: (ev.rs.valid && interval_us > 0).then(|| (cx.packets(ev.rs.delivered), interval_us)),
            prior_delivered: cx.packets(ev.rs.prior_delivered),
            app_limited: ev.rs.is_app_limited,
            delayed: ev.ack_delayed,
        }
    }

    pub fn bw(&self) -> Option<Bw> {
        self.rate.map(|(delivered, interval_us)| bandwidth(delivered, interval_us))
    }
}

/// Options of PROBE_RTT.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeRttRule {
    pub min_rtt_window: Nanos,
    pub duration: Nanos,
    pub cwnd: ProbeRttCwnd,
}

/// Data in flight in PROBE_RTT.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ProbeRttCwnd {
    FourPackets,
    /// Half a bandwidth-delay product plus this many packets.
    HalfBdp(u64),
}

/// State shared by BBR version 1 and its descendants.
#[derive(Clone, Debug)]
pub(crate) struct Core {
    pub model: Model,
    use_aggregation: bool,
    probe_rtt_rule: ProbeRttCwnd,
    min_rtt_window: u64,
    probe_rtt_duration: u64,
    pub clock: JiffyClock,
    rng: Rng,
    pub pacing: PacingRate,
    pub prior: PriorCwnd,

    pub mode: Mode,
    pub pacing_gain: u64,
    pub cwnd_gain: u64,

    pub max_bw: WindowedMax,
    /// Bandwidth used for pacing and window in place of the maximum.
    pub replaced_bw: Option<Bw>,
    pub rounds: u64,
    /// Total number of packets delivered at the end of the round.
    pub round_end: u64,
    pub round_start: bool,

    pub full_bw: Bw,
    pub full_bw_rounds: u32,
    pub pipe_full: bool,

    /// Gain of the probing phase.
    pub probe_gain: u64,
    pub phase: usize,
    phase_start: Nanos,

    pub min_rtt_us: Option<u64>,
    /// Tick of the last minimum.
    min_rtt_stamp: u64,
    probe_rtt_done: Option<u64>,
    probe_rtt_round_done: bool,
    pub idle_restart: bool,

    conserving: bool,
    aggregation: Aggregation,
}

impl Core {
    pub fn new(init: &ConnInit, rule: ProbeRttRule, use_aggregation: bool) -> Self {
        let clock = JiffyClock::new(init.hz);
        Core {
            model: Model::Linux,
            use_aggregation,
            probe_rtt_rule: rule.cwnd,
            min_rtt_window: clock.ceil(rule.min_rtt_window),
            probe_rtt_duration: clock.ceil(rule.duration),
            clock,
            rng: Rng::new(init.seed),
            pacing: PacingRate::new(init.mss, HIGH_GAIN),
            prior: PriorCwnd::default(),
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            max_bw: WindowedMax::new(MAX_BW_ROUNDS),
            replaced_bw: None,
            rounds: 0,
            round_end: 0,
            round_start: false,
            full_bw: 0,
            full_bw_rounds: 0,
            pipe_full: false,
            probe_gain: CYCLE[0],
            phase: 0,
            phase_start: Nanos::ZERO,
            min_rtt_us: None,
            min_rtt_stamp: clock.at(init.now),
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            conserving: false,
            aggregation: Aggregation::default(),
        }
    }

    pub fn start(&mut self, cx: &Cx, w: &mut Window) {
        self.round_end = cx.packets(cx.delivered);
        self.min_rtt_us =
            (cx.min_rtt != Nanos::MAX && cx.min_rtt > Nanos::ZERO).then(|| cx.min_rtt.as_micros());
        self.min_rtt_stamp = self.clock.at(cx.now);
        self.aggregation.restart(cx.now.as_micros());
        self.pacing.initialise(cx, w);
        if self.model == Model::Ns3 {
            self.assume_bandwidth(cx, w);
        }
        w.quantum = self.burst_packets(w) as u32;
    }

    pub fn bw(&self) -> Bw {
        self.replaced_bw.unwrap_or_else(|| self.max_bw.get())
    }

    /// ns-3 initially assumes the bandwidth of the first window per RTT, with the RTT in full
    /// milliseconds.
    fn assume_bandwidth(&mut self, cx: &Cx, w: &Window) {
        let rtt_ms = (cx.srtt.as_micros() / 1000).max(1);
        self.max_bw.reset(0, bandwidth(cx.packets(w.cwnd), rtt_ms * 1000));
    }

    // ---- bandwidth and rounds -------------------------------------------------------------------

    /// Whether the ACK starts a round: data sent after the start of the previous one is
    /// acknowledged.
    pub fn begins_round(&self, s: &Sample) -> bool {
        s.rate.is_some() && s.prior_delivered >= self.round_end
    }

    pub fn count_round(&mut self, cx: &Cx, s: &Sample) {
        self.round_start = self.begins_round(s);
        if self.round_start {
            self.round_end = cx.packets(cx.delivered);
            self.rounds += 1;
            self.conserving = false;
        }
    }

    /// An application-limited sample is a lower bound: it can only raise the estimate.
    pub fn sample_bandwidth(&mut self, s: &Sample) {
        let Some(bw) = s.bw() else { return };
        if !s.app_limited || bw >= self.max_bw.get() {
            self.max_bw.update(self.rounds, bw);
        }
    }

    pub fn update_aggregation(&mut self, cx: &Cx, w: &Window, s: &Sample) {
        if self.use_aggregation && s.acked > 0 && s.rate.is_some() {
            if self.round_start {
                self.aggregation.on_round(SLOT_ROUNDS);
            }
            let delivered_us = cx.delivered_time.as_micros();
            if self.model == Model::Ns3 {
                let window = cx.packets(w.cwnd);
                self.aggregation.on_ack_like_ns3(delivered_us, self.bw(), s.acked, window, cx.mss);
                return;
            }
            self.aggregation.on_ack(delivered_us, self.bw(), s.acked, cx.packets(w.cwnd));
        }
    }

    pub fn check_pipe_full(&mut self, s: &Sample) {
        if self.pipe_full || !self.round_start || s.app_limited {
            return;
        }
        if self.max_bw.get() >= (self.full_bw * FULL_BW_GROWTH) >> 8 {
            self.full_bw = self.max_bw.get();
            self.full_bw_rounds = 0;
            return;
        }
        self.full_bw_rounds += 1;
        self.pipe_full = self.full_bw_rounds >= FULL_BW_ROUNDS;
    }

    // ---- how much is in flight, and how much should be ------------------------------------------

    pub fn burst_packets(&self, w: &Window) -> u64 {
        let rate = paced_bytes_per_s(w);
        let least = if rate < SINGLE_PACKET_BYTES_PER_S { 1 } else { 2 };
        let about_a_millisecond = (rate >> 10).min(MAX_BURST_BYTES) / self.pacing.mss() as u64;
        about_a_millisecond.max(least).min(MAX_BURST_PACKETS)
    }

    fn bdp(&self, bw: Bw, gain: u64) -> u64 {
        // ns-3 counts bytes; a remainder below a packet has no effect.
        let up = self.model != Model::Ns3;
        self.min_rtt_us
            .map_or(INITIAL_CWND, |rtt| if up { bdp(bw, rtt, gain) } else { whole_bdp(bw, rtt, gain) })
    }

    /// Adds room for bursts at the sender and the receiver, and for delayed ACKs.
    fn quantise(&self, w: &Window, packets: u64) -> u64 {
        let even = match self.model {
            Model::Linux => (packets + 3 * self.burst_packets(w) + 1) & !1,
            Model::Ns3 => packets + 3,
        };
        let probing = self.mode == Mode::ProbeBw && self.phase == 0;
        even + if probing { 2 } else { 0 }
    }

    fn inflight(&self, w: &Window, gain: u64) -> u64 {
        self.quantise(w, self.bdp(self.max_bw.get(), gain))
    }

    /// Data in flight at the departure of the next packet, as pacing has scheduled departures in
    /// the future.
    fn inflight_at_departure(&self, cx: &Cx, w: &Window, in_flight: u64) -> u64 {
        if self.model != Model::Linux {
            return in_flight;
        }
        let wait_us = cx.edt.saturating_sub(cx.now).as_micros();
        let burst = if self.pacing_gain > UNIT { self.burst_packets(w) } else { 0 };
        (in_flight + burst).saturating_sub(packets_in(self.bw(), wait_us))
    }

    /// Data in flight in PROBE_RTT.
    pub fn probe_rtt_cwnd(&self) -> u64 {
        match self.probe_rtt_rule {
            ProbeRttCwnd::FourPackets => MIN_CWND,
            ProbeRttCwnd::HalfBdp(slack) => (self.bdp(self.max_bw.get(), UNIT / 2) + slack).max(MIN_CWND),
        }
    }

    // ---- modes ----------------------------------------------------------------------------------

    pub fn enter_probe_bw(&mut self, cx: &Cx) {
        self.mode = Mode::ProbeBw;
        let choices = if self.model == Model::Ns3 { NS3_START_CHOICES } else { CYCLE_START_CHOICES };
        self.phase = CYCLE.len() - 1 - self.rng.below(choices) as usize;
        self.advance_phase(cx);
    }

    fn advance_phase(&mut self, cx: &Cx) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_start = cx.delivered_time;
    }

    pub fn update_phase(&mut self, cx: &Cx, w: &Window, s: &Sample) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let elapsed_us = cx.delivered_time.as_micros().saturating_sub(self.phase_start.as_micros());
        let full_length = self.min_rtt_us.is_some_and(|rtt| elapsed_us > rtt);
        let in_flight = || self.inflight_at_departure(cx, w, s.prior_in_flight);
        let done = match self.pacing_gain {
            UNIT => full_length,
            // Probing must have had the chance to fill the pipe; draining ends as soon as the queue
            // is empty.
            gain if gain > UNIT => full_length && (s.losses > 0 || in_flight() >= self.inflight(w, gain)),
            _ => full_length || in_flight() <= self.inflight(w, UNIT),
        };
        if done {
            self.advance_phase(cx);
        }
    }

    /// Ends STARTUP when the pipe is full, DRAIN when the queue is empty. True: STARTUP has just
    /// ended.
    pub fn check_drain(&mut self, cx: &Cx, w: &mut Window) -> bool {
        let startup_over = self.mode == Mode::Startup && self.pipe_full;
        if startup_over {
            self.mode = Mode::Drain;
            w.ssthresh = cx.bytes(self.inflight(w, UNIT));
        }
        if self.mode == Mode::Drain {
            let in_flight = self.inflight_at_departure(cx, w, cx.packets(cx.in_flight));
            if in_flight <= self.inflight(w, UNIT) {
                self.enter_probe_bw(cx);
            }
        }
        startup_over
    }

    /// Tracks the lowest RTT and runs PROBE_RTT; `forced` enters it before the minimum has expired.
    /// True: PROBE_RTT is over, the window is restored, and [`Core::leave_probe_rtt`] is due.
    pub fn update_min_rtt(&mut self, cx: &Cx, w: &mut Window, s: &Sample, forced: bool) -> bool {
        let now = self.clock.at(cx.now);
        let expired = now > self.min_rtt_stamp + self.min_rtt_window;
        if let Some(rtt) = s.rtt_us {
            // On expiry the current sample replaces the minimum at once, whether or not there is a
            // queue.
            let lower = self.min_rtt_us.is_none_or(|m| rtt < m || (rtt == m && self.model == Model::Ns3));
            if lower || (expired && !s.delayed) {
                self.set_min_rtt(cx, rtt);
            }
        }
        if (expired || forced) && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.enter_probe_rtt(cx, w);
        }
        let over = self.mode == Mode::ProbeRtt && self.stay_in_probe_rtt(cx, w, now);
        if s.rate.is_some_and(|(delivered, _)| delivered > 0) {
            self.idle_restart = false;
        }
        over
    }

    pub fn enter_probe_rtt(&mut self, cx: &Cx, w: &Window) {
        // The mode counts as entered: the larger window of an earlier disturbance is kept, as in
        // the kernel.
        self.mode = Mode::ProbeRtt;
        self.save_cwnd(cx, w);
        self.probe_rtt_done = None;
    }

    pub fn set_min_rtt(&mut self, cx: &Cx, rtt_us: u64) {
        self.min_rtt_us = Some(rtt_us);
        self.min_rtt_stamp = self.clock.at(cx.now);
    }

    fn stay_in_probe_rtt(&mut self, cx: &Cx, w: &mut Window, now: u64) -> bool {
        // Rate samples of this period do not reflect the path; ns-3 uses them nevertheless.
        w.mark_app_limited = self.model != Model::Ns3;
        if self.probe_rtt_done.is_some() {
            self.probe_rtt_round_done |= self.round_start;
            return self.probe_rtt_round_done && self.check_probe_rtt_done(cx, w);
        }
        if cx.packets(cx.in_flight) <= self.probe_rtt_cwnd() {
            self.probe_rtt_done = Some(now + self.probe_rtt_duration);
            self.probe_rtt_round_done = false;
            self.round_end = cx.packets(cx.delivered);
        }
        false
    }

    /// True if PROBE_RTT has lasted long enough; the window is then restored.
    pub fn check_probe_rtt_done(&mut self, cx: &Cx, w: &mut Window) -> bool {
        let now = self.clock.at(cx.now);
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return false;
        }
        self.min_rtt_stamp = now;
        w.cwnd = w.cwnd.max(cx.bytes(self.prior.cwnd));
        true
    }

    pub fn leave_probe_rtt(&mut self, cx: &Cx) {
        if self.pipe_full {
            self.enter_probe_bw(cx);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// Whether in flight is low enough for RTT samples of PROBE_RTT to count.
    pub fn dwells_in_probe_rtt(&self) -> bool {
        self.mode == Mode::ProbeRtt && self.probe_rtt_done.is_some()
    }

    /// Resets the estimate of a full pipe.
    pub fn forget_pipe(&mut self) {
        self.pipe_full = false;
        self.full_bw = 0;
        self.full_bw_rounds = 0;
    }

    pub fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.phase == 0 => (self.probe_gain, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.phase], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    // ---- outputs --------------------------------------------------------------------------------

    pub fn set_pacing(&mut self, cx: &Cx, w: &mut Window, gain: u64) {
        let (bw, pipe_full) = (self.bw(), self.pipe_full);
        self.pacing.set(cx, w, bw, gain, pipe_full);
    }

    /// The window after losses and recovery transitions, and whether it is final for this ACK.
    fn conserve_or_restore(&mut self, cx: &Cx, w: &Window, s: &Sample) -> (u64, bool) {
        let in_flight = cx.packets(cx.in_flight);
        let heeded = self.model != Model::Ns3 || cx.ca == CaState::Recovery;
        let cwnd = cx.packets(w.cwnd);
        let mut cwnd = if s.losses > 0 && heeded { cwnd.saturating_sub(s.losses).max(1) } else { cwnd };
        if cx.ca == CaState::Recovery && self.prior.ca != CaState::Recovery {
            self.conserving = true;
            cwnd = in_flight + s.acked;
            // ns-3: until the end of the current round, however short; the first lost packet has
            // already been retransmitted.
            if self.model == Model::Ns3 {
                cwnd += 1;
            } else {
                self.round_end = cx.packets(cx.delivered);
            }
        } else if self.prior.ca >= CaState::Recovery && cx.ca < CaState::Recovery {
            cwnd = self.after_recovery(cx, w, cwnd);
            self.conserving = false;
        }
        self.prior.ca = cx.ca;
        if self.conserving {
            cwnd = cwnd.max(in_flight + s.acked);
        }
        (cwnd, self.conserving)
    }

    /// Window restored after recovery. In ns-3 the transport sets it to ssthresh, which is the
    /// value at the end of STARTUP, and infinite before that.
    fn after_recovery(&self, cx: &Cx, w: &Window, cwnd: u64) -> u64 {
        match self.model {
            Model::Ns3 if self.prior.ca == CaState::Recovery => {
                cx.packets(w.ssthresh.min(u64::from(u32::MAX)))
            }
            Model::Linux => cwnd.max(self.prior.cwnd),
            _ if self.prior.ca == CaState::Loss => cwnd,
            _ => cwnd.max(self.prior.cwnd),
        }
    }

    /// The window plus the acknowledged packets. ns-3 adds bytes in 32 bits, in which an unlimited
    /// window wraps around.
    fn grown(&self, cx: &Cx, cwnd: u64, acked: u64) -> u64 {
        let sum = cwnd + acked;
        match self.model {
            Model::Ns3 => cx.packets(u64::from(cx.bytes(sum) as u32)),
            _ => sum,
        }
    }

    fn target_cwnd(&self, w: &Window) -> u64 {
        let bw = self.bw();
        let mut target = self.bdp(bw, self.cwnd_gain);
        if self.pipe_full {
            target += self.extra_acked().min(packets_in(bw, MAX_EXTRA_ACKED_US));
        }
        self.quantise(w, target)
    }

    pub fn set_cwnd(&mut self, cx: &Cx, w: &mut Window, s: &Sample) {
        let mut cwnd = cx.packets(w.cwnd);
        if s.acked > 0 {
            let stands;
            (cwnd, stands) = self.conserve_or_restore(cx, w, s);
            if !stands {
                let target = self.target_cwnd(w);
                if self.pipe_full {
                    cwnd = self.grown(cx, cwnd, s.acked).min(target);
                } else if cwnd < target || cx.packets(cx.delivered) < INITIAL_CWND {
                    cwnd += s.acked;
                }
                cwnd = cwnd.max(MIN_CWND);
            }
        }
        if self.mode == Mode::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_cwnd());
        }
        w.cwnd = cx.bytes(cwnd);
        w.quantum = self.burst_packets(w) as u32;
    }

    // ---- events ---------------------------------------------------------------------------------

    /// Saves the window before a reduction.
    pub fn save_cwnd(&mut self, cx: &Cx, w: &Window) {
        self.prior.save(cx, w, self.mode == Mode::ProbeRtt);
    }

    /// A timeout ends the round, as nothing is in flight.
    pub fn on_timeout(&mut self) {
        self.prior.ca = CaState::Loss;
        if self.model != Model::Ns3 {
            self.full_bw = 0;
        }
        self.round_start = true;
    }

    pub fn on_undo(&mut self) {
        self.full_bw = 0;
        self.full_bw_rounds = 0;
    }

    /// Handles the resumption of sending with nothing in flight. True: PROBE_RTT is over, as for
    /// [`Core::update_min_rtt`].
    pub fn on_idle_restart(&mut self, cx: &Cx, w: &mut Window) -> bool {
        self.idle_restart = true;
        self.aggregation.restart(cx.now.as_micros());
        match self.mode {
            // The queue has drained while idle: no need to drain or to probe now.
            Mode::ProbeBw => self.set_pacing(cx, w, UNIT),
            Mode::ProbeRtt => return self.check_probe_rtt_done(cx, w),
            _ => {}
        }
        false
    }

    pub fn extra_acked(&self) -> u64 {
        self.aggregation.extra_acked()
    }

    pub fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let bps = self.bw() as f64 * self.pacing.mss() as f64 * 8e6 / (1u64 << BW_SHIFT) as f64;
        out("bw_bps", bps);
        out("min_rtt_s", self.min_rtt_us.map_or(0.0, |us| us as f64 * 1e-6));
        out("pacing_gain", self.pacing_gain as f64 / UNIT as f64);
        out("cwnd_gain", self.cwnd_gain as f64 / UNIT as f64);
        out("extra_acked_segments", self.extra_acked() as f64);
    }
}
