// SPDX-License-Identifier: Apache-2.0 OR MIT
//! BBR version 1 as Linux runs it (Cardwell et al. 2016; cc-classic section 7).
//!
//! Idea: model the path by its bottleneck bandwidth (maximum of the delivery rate over 10 rounds) and its empty RTT
//! (minimum over 10 s), pace at the bandwidth, keep twice the bandwidth-delay product in flight, and now and then send
//! a little faster, a little slower, or almost nothing to see whether the model still holds. Loss is not a signal.
//!
//! ```text
//! bdp(g)      = ceil(bw · min_rtt · g)
//! quantise(c) = even(c + 3 · bursts) (+2 in the probing phase)          inflight(g) = quantise(bdp(g))
//! pacing      = 0.99 · pacing_gain · bw
//! cwnd        → quantise(bdp(cwnd_gain) + extra_acked), by what is acknowledged
//!
//!            3 rounds without +25 %      in flight ≤ inflight(1)
//!  STARTUP ──────────────────────► DRAIN ──────────────────────► PROBE_BW: 1.25, 0.75, 6 × 1 (each ≥ min_rtt)
//!  2.89/2.89                       0.34/2.89                      cwnd gain 2     │ ▲
//!                            no lower RTT for 10 s, from any mode                 ▼ │ 200 ms and a round
//!                                                                 PROBE_RTT: cwnd ≤ 4
//! ```
//!
//! Integer arithmetic in packets, bandwidth in packets/µs · 2^24, gains in 1/256, windows of time in timer ticks, in the
//! order of the kernel's steps, so that cwnd and pacing rate equal the kernel's on every ACK.
//!
//! Differs from BBRv3: no bounds learnt from loss, min_rtt window 10 s with a nearly empty pipe instead of half full,
//! fixed gain cycle, packet conservation in the first round of recovery, long-term mode for policers.

mod aggregation;
mod long_term;
mod units;

use crate::clock::JiffyClock;
use crate::filter::WindowedMax;
use crate::rng::Rng;
use crate::*;
use aggregation::Aggregation;
use long_term::{LongTerm, Observation, Totals, Verdict};
use units::{bandwidth, bdp, bytes_per_s, packets_in, Bw, BW_SHIFT, UNIT};

/// Parameters, with the kernel's defaults.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "ack_aggregation",
        domain: Domain::Bool(true),
        unit: "",
        source: "Linux 5.1 and later",
        help: "enlarge the window by the excess that bundled ACKs show",
    },
    ParamSpec {
        name: "long_term",
        domain: Domain::Bool(true),
        unit: "",
        source: "Linux",
        help: "recognise token-bucket policers and hold their rate",
    },
    ParamSpec {
        name: "min_rtt_window",
        domain: Domain::Time {
            default: Nanos::from_secs(10),
            min: Nanos::from_millis(100),
            max: Nanos::from_secs(3600),
        },
        unit: "time",
        source: "Linux bbr_min_rtt_win_sec",
        help: "age at which the lowest RTT is measured anew",
    },
    ParamSpec {
        name: "probe_rtt_duration",
        domain: Domain::Time {
            default: Nanos::from_millis(200),
            min: Nanos::from_millis(1),
            max: Nanos::from_secs(10),
        },
        unit: "time",
        source: "Linux bbr_probe_rtt_mode_ms",
        help: "time with a nearly empty pipe in PROBE_RTT",
    },
];

/// 2/ln 2 and a little: the least gain that doubles the rate each round.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
const CWND_GAIN: u64 = 2 * UNIT;
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// The cycle may start in any phase but the draining one.
const CYCLE_START_CHOICES: u32 = 7;
const MAX_BW_ROUNDS: u64 = CYCLE.len() as u64 + 2;
/// STARTUP goes on while the bandwidth grows by this per round.
const FULL_BW_GROWTH: u64 = UNIT * 5 / 4;
const FULL_BW_ROUNDS: u32 = 3;
const MIN_CWND: u64 = 4;
const INITIAL_CWND: u64 = 10;
const MAX_EXTRA_ACKED_US: u64 = 100_000;
/// Below 1.2 Mbit/s bursts of two packets would be too long.
const SINGLE_PACKET_BYTES_PER_S: u64 = 1_200_000 / 8;
/// Largest burst in bytes and in packets: a 64 KiB buffer less headers, and the kernel's 7-bit field.
const MAX_BURST_BYTES: u64 = 65_536 - 1 - 320;
const MAX_BURST_PACKETS: u64 = 127;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// One ACK in the model's units.
struct Sample {
    acked: u64,
    losses: u64,
    prior_in_flight: u64,
    rtt_us: Option<u64>,
    /// Packets and microseconds of the rate sample, if it is usable.
    rate: Option<(u64, u64)>,
    prior_delivered: u64,
    app_limited: bool,
    delayed: bool,
}

impl Sample {
    fn new(cx: &Cx, ev: &AckEvent<'_>) -> Self {
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
}

/// State of one connection.
#[derive(Clone, Debug)]
pub struct Bbr {
    use_aggregation: bool,
    use_long_term: bool,
    min_rtt_window: u64,
    probe_rtt_duration: u64,
    clock: JiffyClock,
    rng: Rng,
    mss: u32,

    mode: Mode,
    pacing_gain: u64,
    cwnd_gain: u64,

    max_bw: WindowedMax,
    rounds: u64,
    /// Packets delivered in total when the round ends.
    round_end: u64,
    round_start: bool,

    full_bw: Bw,
    full_bw_rounds: u32,
    pipe_full: bool,

    phase: usize,
    phase_start: Nanos,

    min_rtt_us: Option<u64>,
    /// Tick of the last minimum.
    min_rtt_stamp: u64,
    probe_rtt_done: Option<u64>,
    probe_rtt_round_done: bool,
    idle_restart: bool,

    seen_rtt: bool,
    prior_cwnd: u64,
    prior_ca: CaState,
    conserving: bool,

    long_term: LongTerm,
    aggregation: Aggregation,
}

impl Bbr {
    /// A controller for a new connection.
    pub fn new(params: &Params, init: &ConnInit) -> Self {
        let clock = JiffyClock::new(init.hz);
        Bbr {
            use_aggregation: params.bool("ack_aggregation"),
            use_long_term: params.bool("long_term"),
            min_rtt_window: clock.ceil(params.time("min_rtt_window")),
            probe_rtt_duration: clock.ceil(params.time("probe_rtt_duration")),
            clock,
            rng: Rng::new(init.seed),
            mss: init.mss,
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            max_bw: WindowedMax::new(MAX_BW_ROUNDS),
            rounds: 0,
            round_end: 0,
            round_start: false,
            full_bw: 0,
            full_bw_rounds: 0,
            pipe_full: false,
            phase: 0,
            phase_start: Nanos::ZERO,
            min_rtt_us: None,
            min_rtt_stamp: clock.at(init.now),
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            seen_rtt: false,
            prior_cwnd: 0,
            prior_ca: CaState::Open,
            conserving: false,
            long_term: LongTerm::default(),
            aggregation: Aggregation::default(),
        }
    }

    fn bw(&self) -> Bw {
        self.long_term.in_use().unwrap_or_else(|| self.max_bw.get())
    }

    // ---- bandwidth and rounds ------------------------------------------------------------------------------------

    fn update_bandwidth(&mut self, cx: &Cx, s: &Sample) {
        self.round_start = false;
        let Some((delivered, interval_us)) = s.rate else { return };
        if s.prior_delivered >= self.round_end {
            self.round_end = cx.packets(cx.delivered);
            self.rounds += 1;
            self.round_start = true;
            self.conserving = false;
        }
        self.sample_long_term(cx, s.losses > 0, s.app_limited);
        let bw = bandwidth(delivered, interval_us);
        // An application-limited sample is a lower bound: it can only raise the estimate.
        if !s.app_limited || bw >= self.max_bw.get() {
            self.max_bw.update(self.rounds, bw);
        }
    }

    fn totals(&self, cx: &Cx) -> Totals {
        Totals {
            delivered: cx.packets(cx.delivered),
            lost: cx.packets(cx.lost),
            ms: cx.delivered_time.as_micros() / 1000,
        }
    }

    fn sample_long_term(&mut self, cx: &Cx, any_loss: bool, app_limited: bool) {
        if !self.use_long_term {
            return;
        }
        let observation = Observation {
            totals: self.totals(cx),
            mss: cx.mss,
            round_start: self.round_start,
            any_loss,
            app_limited,
            in_probe_bw: self.mode == Mode::ProbeBw,
        };
        match self.long_term.on_ack(&observation) {
            Verdict::Nothing => {}
            Verdict::Engaged => self.pacing_gain = UNIT,
            Verdict::Released => self.enter_probe_bw(cx),
        }
    }

    fn update_aggregation(&mut self, cx: &Cx, w: &Window, s: &Sample) {
        if self.use_aggregation && s.acked > 0 && s.rate.is_some() {
            let delivered_us = cx.delivered_time.as_micros();
            self.aggregation.on_ack(delivered_us, self.bw(), s.acked, cx.packets(w.cwnd), self.round_start);
        }
    }

    fn check_pipe_full(&mut self, s: &Sample) {
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

    // ---- how much is in flight, and how much should be --------------------------------------------------------------

    fn burst_packets(&self, w: &Window) -> u64 {
        let rate = pacing_bytes_per_s(w);
        let least = if rate < SINGLE_PACKET_BYTES_PER_S { 1 } else { 2 };
        let about_a_millisecond = (rate >> 10).min(MAX_BURST_BYTES) / self.mss as u64;
        about_a_millisecond.max(least).min(MAX_BURST_PACKETS)
    }

    fn bdp(&self, bw: Bw, gain: u64) -> u64 {
        self.min_rtt_us.map_or(INITIAL_CWND, |rtt| bdp(bw, rtt, gain))
    }

    /// Room for the bursts at the sender and the receiver, and for delayed ACKs.
    fn quantise(&self, w: &Window, packets: u64) -> u64 {
        let even = (packets + 3 * self.burst_packets(w) + 1) & !1;
        let probing = self.mode == Mode::ProbeBw && self.phase == 0;
        even + if probing { 2 } else { 0 }
    }

    fn inflight(&self, w: &Window, gain: u64) -> u64 {
        self.quantise(w, self.bdp(self.max_bw.get(), gain))
    }

    /// What will be in flight when the next packet departs: pacing has promised departures that have yet to come.
    fn inflight_at_departure(&self, cx: &Cx, w: &Window, in_flight: u64) -> u64 {
        let wait_us = cx.edt.saturating_sub(cx.now).as_micros();
        let burst = if self.pacing_gain > UNIT { self.burst_packets(w) } else { 0 };
        (in_flight + burst).saturating_sub(packets_in(self.bw(), wait_us))
    }

    // ---- modes -----------------------------------------------------------------------------------------------------

    fn enter_probe_bw(&mut self, cx: &Cx) {
        self.mode = Mode::ProbeBw;
        self.phase = CYCLE.len() - 1 - self.rng.below(CYCLE_START_CHOICES) as usize;
        self.advance_phase(cx);
    }

    fn advance_phase(&mut self, cx: &Cx) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_start = cx.delivered_time;
    }

    fn update_phase(&mut self, cx: &Cx, w: &Window, s: &Sample) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let elapsed_us = cx.delivered_time.as_micros().saturating_sub(self.phase_start.as_micros());
        let full_length = self.min_rtt_us.is_some_and(|rtt| elapsed_us > rtt);
        let in_flight = || self.inflight_at_departure(cx, w, s.prior_in_flight);
        let done = match self.pacing_gain {
            UNIT => full_length,
            // Probing must have had the chance to fill the pipe; draining ends as soon as the queue is gone.
            gain if gain > UNIT => full_length && (s.losses > 0 || in_flight() >= self.inflight(w, gain)),
            _ => full_length || in_flight() <= self.inflight(w, UNIT),
        };
        if done {
            self.advance_phase(cx);
        }
    }

    fn check_drain(&mut self, cx: &Cx, w: &mut Window) {
        if self.mode == Mode::Startup && self.pipe_full {
            self.mode = Mode::Drain;
            w.ssthresh = cx.bytes(self.inflight(w, UNIT));
        }
        if self.mode == Mode::Drain {
            let in_flight = self.inflight_at_departure(cx, w, cx.packets(cx.in_flight));
            if in_flight <= self.inflight(w, UNIT) {
                self.enter_probe_bw(cx);
            }
        }
    }

    fn update_min_rtt(&mut self, cx: &Cx, w: &mut Window, s: &Sample) {
        let now = self.clock.at(cx.now);
        let expired = now > self.min_rtt_stamp + self.min_rtt_window;
        if let Some(rtt) = s.rtt_us {
            // At expiry the present sample replaces the minimum at once, queue or not.
            if self.min_rtt_us.is_none_or(|m| rtt < m) || (expired && !s.delayed) {
                self.min_rtt_us = Some(rtt);
                self.min_rtt_stamp = now;
            }
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(cx, w);
            self.probe_rtt_done = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.stay_in_probe_rtt(cx, w, now);
        }
        if s.rate.is_some_and(|(delivered, _)| delivered > 0) {
            self.idle_restart = false;
        }
    }

    fn stay_in_probe_rtt(&mut self, cx: &Cx, w: &mut Window, now: u64) {
        // The rate samples of this time say nothing about the path.
        w.mark_app_limited = true;
        if self.probe_rtt_done.is_some() {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(cx, w);
            }
        } else if cx.packets(cx.in_flight) <= MIN_CWND {
            self.probe_rtt_done = Some(now + self.probe_rtt_duration);
            self.probe_rtt_round_done = false;
            self.round_end = cx.packets(cx.delivered);
        }
    }

    fn check_probe_rtt_done(&mut self, cx: &Cx, w: &mut Window) {
        let now = self.clock.at(cx.now);
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt_stamp = now;
        w.cwnd = w.cwnd.max(cx.bytes(self.prior_cwnd));
        if self.pipe_full {
            self.enter_probe_bw(cx);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.long_term.in_use().is_some() => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.phase], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    // ---- outputs ---------------------------------------------------------------------------------------------------

    fn initialise_pacing(&mut self, cx: &Cx, w: &mut Window) {
        let rtt_us = if cx.srtt > Nanos::ZERO {
            self.seen_rtt = true;
            cx.srtt.as_micros().max(1)
        } else {
            1000
        };
        let bw = bandwidth(cx.packets(w.cwnd), rtt_us);
        set_pacing_bytes_per_s(w, bytes_per_s(bw, HIGH_GAIN, self.mss));
    }

    fn set_pacing(&mut self, cx: &Cx, w: &mut Window, gain: u64) {
        if !self.seen_rtt && cx.srtt > Nanos::ZERO {
            self.initialise_pacing(cx, w);
        }
        let rate = bytes_per_s(self.bw(), gain, self.mss);
        if self.pipe_full || rate > pacing_bytes_per_s(w) {
            set_pacing_bytes_per_s(w, rate);
        }
    }

    fn save_cwnd(&mut self, cx: &Cx, w: &Window) {
        let cwnd = cx.packets(w.cwnd);
        let undisturbed = self.prior_ca < CaState::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if undisturbed { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// The window after losses and recovery transitions, and whether it stands for this ACK.
    fn conserve_or_restore(&mut self, cx: &Cx, cwnd: u64, s: &Sample) -> (u64, bool) {
        let in_flight = cx.packets(cx.in_flight);
        let mut cwnd = if s.losses > 0 { cwnd.saturating_sub(s.losses).max(1) } else { cwnd };
        if cx.ca == CaState::Recovery && self.prior_ca != CaState::Recovery {
            self.conserving = true;
            self.round_end = cx.packets(cx.delivered);
            cwnd = in_flight + s.acked;
        } else if self.prior_ca >= CaState::Recovery && cx.ca < CaState::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.conserving = false;
        }
        self.prior_ca = cx.ca;
        if self.conserving {
            cwnd = cwnd.max(in_flight + s.acked);
        }
        (cwnd, self.conserving)
    }

    fn target_cwnd(&self, w: &Window) -> u64 {
        let bw = self.bw();
        let mut target = self.bdp(bw, self.cwnd_gain);
        if self.pipe_full {
            target += self.aggregation.extra_acked().min(packets_in(bw, MAX_EXTRA_ACKED_US));
        }
        self.quantise(w, target)
    }

    fn set_cwnd(&mut self, cx: &Cx, w: &mut Window, s: &Sample) {
        let mut cwnd = cx.packets(w.cwnd);
        if s.acked > 0 {
            let stands;
            (cwnd, stands) = self.conserve_or_restore(cx, cwnd, s);
            if !stands {
                let target = self.target_cwnd(w);
                if self.pipe_full {
                    cwnd = (cwnd + s.acked).min(target);
                } else if cwnd < target || cx.packets(cx.delivered) < INITIAL_CWND {
                    cwnd += s.acked;
                }
                cwnd = cwnd.max(MIN_CWND);
            }
        }
        if self.mode == Mode::ProbeRtt {
            cwnd = cwnd.min(MIN_CWND);
        }
        w.cwnd = cx.bytes(cwnd);
    }
}

fn pacing_bytes_per_s(w: &Window) -> u64 {
    w.pacing.map_or(0, |r| r.0 / 8)
}

fn set_pacing_bytes_per_s(w: &mut Window, rate: u64) {
    w.pacing = Some(BitRate(rate.saturating_mul(8)));
}

impl CongestionControl for Bbr {
    fn caps(&self) -> Caps {
        // The transport's one packet after a timeout is below BBR's own floor of 4 and must stand.
        Caps { min_cwnd: 1, ..Caps::MODEL }
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        self.mss = cx.mss;
        self.round_end = cx.packets(cx.delivered);
        self.min_rtt_us =
            (cx.min_rtt != Nanos::MAX && cx.min_rtt > Nanos::ZERO).then(|| cx.min_rtt.as_micros());
        self.min_rtt_stamp = self.clock.at(cx.now);
        self.aggregation.restart(cx.now.as_micros());
        self.long_term.reset(self.totals(cx));
        self.initialise_pacing(cx, w);
        w.quantum = self.burst_packets(w) as u32;
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        let s = Sample::new(cx, ev);
        self.update_bandwidth(cx, &s);
        self.update_aggregation(cx, w, &s);
        self.update_phase(cx, w, &s);
        self.check_pipe_full(&s);
        self.check_drain(cx, w);
        self.update_min_rtt(cx, w, &s);
        self.update_gains();
        self.set_pacing(cx, w, self.pacing_gain);
        self.set_cwnd(cx, w, &s);
        w.quantum = self.burst_packets(w) as u32;
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        self.save_cwnd(cx, w);
        w.ssthresh
    }

    fn on_transition(&mut self, cx: &Cx, _w: &mut Window, t: Transition) {
        match t {
            Transition::EnterRto => {
                self.prior_ca = CaState::Loss;
                self.full_bw = 0;
                // What was in flight is gone: a timeout ends the round.
                self.round_start = true;
                self.sample_long_term(cx, true, false);
            }
            Transition::Undo(_) => {
                self.full_bw = 0;
                self.full_bw_rounds = 0;
                self.long_term.reset(self.totals(cx));
            }
            _ => {}
        }
    }

    fn on_tx_start(&mut self, cx: &Cx, w: &mut Window) {
        if !cx.app_limited {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(cx.now.as_micros());
        match self.mode {
            // The queue has drained while idle: no need to drain or to probe now.
            Mode::ProbeBw => self.set_pacing(cx, w, UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(cx, w),
            _ => {}
        }
    }

    fn mode(&self, _w: &Window) -> &'static str {
        match self.mode {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBw => "probe_bw",
            Mode::ProbeRtt => "probe_rtt",
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let bps = self.bw() as f64 * self.mss as f64 * 8e6 / (1u64 << BW_SHIFT) as f64;
        out("bw_bps", bps);
        out("min_rtt_s", self.min_rtt_us.map_or(0.0, |us| us as f64 * 1e-6));
        out("pacing_gain", self.pacing_gain as f64 / UNIT as f64);
        out("cwnd_gain", self.cwnd_gain as f64 / UNIT as f64);
        out("extra_acked_segments", self.aggregation.extra_acked() as f64);
        out("long_term", self.long_term.in_use().is_some() as u8 as f64);
    }
}

#[cfg(test)]
mod tests;
