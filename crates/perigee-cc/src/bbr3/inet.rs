// SPDX-License-Identifier: Apache-2.0 OR MIT
//! BBRv3 in the OMNeT++ model of the OrbCC study (Avian688/bbr at 43c7ad8), on that simulator's TCP
//! ([`Stack::Inet`]).
//!
//! Differs from the kernel: gains of 2.89 in STARTUP; the constants for the reduction after loss,
//! the headroom and the extra window of a probe are integer divisions that yield zero, so that a
//! loss sets the upper bound of data in flight to the target itself and CRUISE leaves a headroom of
//! one byte; a probe ends at 1.25 BDP or after three rounds without growth; the interval between
//! probes is 2 s, or 3 s in one of a thousand draws; no packet conservation, ECN or Reno
//! coexistence; the bandwidth assumed in STARTUP before an RTT is known enters the maximum filter
//! of two probe cycles; the ACK aggregation filter computes the expected data in full seconds and
//! restarts at 4096 bytes; a recovery ends at the BDP of STARTUP. The loss rate is computed from
//! the bytes newly marked lost at one ACK, relative to the data then in flight.

mod cycle;

use crate::inet::{rate_of, Pace, Twister};
use crate::*;

const HIGH_GAIN: f64 = 2.89;
const DRAIN_GAIN: f64 = 1000.0 / 2885.0;
const UP_GAIN: f64 = 1.25;
const DOWN_GAIN: f64 = 0.91;
const CWND_GAIN: f64 = 2.0;
const MIN_PACKETS: u64 = 4;
const QUANTA: u64 = 3;
const BETA: f64 = 0.7;
const LOSS_SHARE: f64 = 0.02;
const FULL_LOSSES: u32 = 6;
const MOST_LOSSES: u32 = 15;
const FULL_ROUNDS: u32 = 3;
const MIN_RTT_WINDOW: Nanos = Nanos::from_secs(10);
const PROBE_RTT_WINDOW: Nanos = Nanos::from_secs(5);
const PROBE_RTT_TIME: Nanos = Nanos::from_millis(200);
const EXCESS_ROUNDS: u32 = 5;
const EXCESS_RESET: u64 = 4096;
/// No bound.
const NONE: u64 = u32::MAX as u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    Up,
    Down,
    Cruise,
    Refill,
    ProbeRtt,
}

impl Mode {
    fn probes_bw(self) -> bool {
        matches!(self, Mode::Up | Mode::Down | Mode::Cruise | Mode::Refill)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Acks {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// Excess of delivered over expected data in the last rounds.
#[derive(Clone, Copy, Debug, Default)]
struct Excess {
    of: [u64; 2],
    slot: usize,
    rounds: u32,
    since: Nanos,
    acked: u64,
}

/// State of one connection.
pub(crate) struct Bbr3 {
    mode: Mode,
    acks: Acks,
    pace: Pace,
    has_rtt: bool,
    pacing_gain: f64,
    cwnd_gain: f64,
    bw_hi: [u32; 2],
    bw_lo: u64,
    bw_latest: u32,
    inflight_lo: u64,
    inflight_hi: u64,
    inflight_latest: u64,
    round_start: bool,
    next_round: u64,
    loss_round_start: bool,
    loss_round: u64,
    loss_in_round: bool,
    loss_events: u32,
    full_reached: bool,
    full_now: bool,
    full_bw: u32,
    full_rounds: u32,
    last_rtt: Nanos,
    min_rtt: Option<Nanos>,
    min_rtt_at: Nanos,
    probe_rtt_min: Option<Nanos>,
    probe_rtt_at: Nanos,
    done_at: Option<Nanos>,
    round_done: bool,
    phase_at: Nanos,
    wait: Nanos,
    samples_are_of_probe: bool,
    prev_too_high: bool,
    stopped_risky: bool,
    up_rounds: u32,
    up_acks: u64,
    up_count: u64,
    prior_cwnd: u64,
    initial: u64,
    excess: Excess,
    after_timeout: bool,
    draws: Twister,
}

impl Bbr3 {
    pub fn new(init: &ConnInit) -> Self {
        Bbr3 {
            mode: Mode::Startup,
            acks: Acks::Init,
            pace: Pace::default(),
            has_rtt: false,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            bw_hi: [0; 2],
            bw_lo: NONE,
            bw_latest: 0,
            inflight_lo: NONE,
            inflight_hi: NONE,
            inflight_latest: 0,
            round_start: false,
            next_round: 0,
            loss_round_start: true,
            loss_round: 0,
            loss_in_round: true,
            loss_events: 0,
            full_reached: false,
            full_now: false,
            full_bw: 0,
            full_rounds: 0,
            last_rtt: Nanos::ZERO,
            min_rtt: None,
            min_rtt_at: init.now,
            probe_rtt_min: None,
            probe_rtt_at: init.now,
            done_at: None,
            round_done: false,
            phase_at: Nanos::ZERO,
            wait: Nanos::ZERO,
            samples_are_of_probe: false,
            prev_too_high: false,
            stopped_risky: false,
            up_rounds: 0,
            up_acks: 0,
            up_count: 0,
            prior_cwnd: 0,
            initial: 0,
            excess: Excess { since: init.now, ..Excess::default() },
            after_timeout: false,
            draws: Twister::default(),
        }
    }

    // ---- model of the path ----------------------------------------------------------------------

    fn max_bw(&self) -> u32 {
        self.bw_hi[0].max(self.bw_hi[1])
    }

    fn bw(&self) -> u32 {
        u64::from(self.max_bw()).min(self.bw_lo) as u32
    }

    fn bdp(&self, bw: u32, gain: f64) -> u64 {
        match self.min_rtt {
            Some(rtt) => (f64::from(bw) * rtt.as_secs_f64() * gain) as u64,
            None => self.initial,
        }
    }

    fn inflight(&self, cx: &Cx, bw: u32, gain: f64) -> u64 {
        if self.min_rtt.is_none() {
            return self.initial;
        }
        let slack = QUANTA + if self.mode == Mode::Up { 2 } else { 0 };
        self.bdp(bw, gain) + slack * u64::from(cx.mss)
    }

    fn target(&self, cx: &Cx, w: &Window) -> u64 {
        self.inflight(cx, self.bw(), 1.0).min(w.cwnd)
    }

    fn with_headroom(&self, cx: &Cx) -> u64 {
        match self.inflight_hi {
            NONE => NONE,
            bound => bound.saturating_sub(1).max(MIN_PACKETS * u64::from(cx.mss)),
        }
    }

    fn probe_rtt_cwnd(&self, cx: &Cx) -> u64 {
        self.bdp(self.bw(), 0.5).max(MIN_PACKETS * u64::from(cx.mss))
    }

    fn is_probing(&self) -> bool {
        matches!(self.mode, Mode::Startup | Mode::Refill | Mode::Up)
    }

    fn forget_lower_bounds(&mut self) {
        (self.bw_lo, self.inflight_lo) = (NONE, NONE);
    }

    fn forget_signals(&mut self) {
        self.loss_in_round = false;
        (self.bw_latest, self.inflight_latest) = (0, 0);
    }

    fn forget_full(&mut self) {
        (self.full_bw, self.full_rounds, self.full_now) = (0, 0, false);
    }

    fn begin_round(&mut self, cx: &Cx) {
        self.next_round = cx.delivered;
    }

    fn update_rounds(&mut self, cx: &Cx, ev: &AckEvent<'_>) {
        self.round_start = ev.rs.valid && ev.rs.prior_delivered >= self.next_round;
        if self.round_start {
            self.begin_round(cx);
        }
        self.loss_round_start = false;
        if !ev.rs.valid || ev.newly_acked == 0 {
            return;
        }
        self.bw_latest = self.bw_latest.max(rate_of(&ev.rs));
        self.inflight_latest = self.inflight_latest.max(ev.rs.delivered);
        if ev.rs.prior_delivered >= self.loss_round {
            self.loss_round = cx.delivered;
            self.loss_round_start = true;
        }
    }

    fn update_signals(&mut self, cx: &Cx, w: &Window, ev: &AckEvent<'_>) {
        if !ev.rs.valid || ev.newly_acked == 0 {
            return;
        }
        self.bw_hi[1] = self.bw_hi[1].max(rate_of(&ev.rs));
        self.loss_in_round |= ev.newly_lost > 0;
        if !self.loss_round_start {
            return;
        }
        if !self.is_probing() {
            if self.loss_in_round {
                self.cut_lower_bounds(w);
            }
            self.bw_lo = self.bw_lo.max(u64::from(cx.mss));
        }
        self.loss_in_round = false;
    }

    fn cut_lower_bounds(&mut self, w: &Window) {
        if self.bw_lo == NONE {
            self.bw_lo = u64::from(self.max_bw());
        }
        if self.inflight_lo == NONE {
            self.inflight_lo = w.cwnd;
        }
        self.bw_lo = ((self.bw_lo as f64 * BETA) as u64).max(u64::from(self.bw_latest));
        self.inflight_lo = ((self.inflight_lo as f64 * BETA) as u64).max(self.inflight_latest);
    }

    fn update_excess(&mut self, cx: &Cx, w: &Window, ev: &AckEvent<'_>) {
        if ev.newly_acked == 0 {
            return;
        }
        let bw = u64::from(self.bw());
        let e = &mut self.excess;
        if self.round_start {
            e.rounds += 1;
            if e.rounds >= EXCESS_ROUNDS {
                (e.rounds, e.slot) = (0, 1 - e.slot);
                e.of[e.slot] = 0;
            }
        }
        let mut expected = bw * ((cx.now - e.since).0 / 1_000_000_000);
        if e.acked <= expected || e.acked + ev.newly_acked >= EXCESS_RESET {
            (e.acked, e.since, expected) = (0, cx.now, 0);
        }
        e.acked += ev.newly_acked;
        e.of[e.slot] = e.of[e.slot].max((e.acked - expected).min(w.cwnd));
    }

    // ---- STARTUP and DRAIN ----------------------------------------------------------------------

    /// Whether the loss exceeds 2 % of the data in flight.
    fn is_too_high(cx: &Cx, lost: u64) -> bool {
        lost > 0 && cx.in_flight > 0 && lost as f64 > cx.in_flight as f64 * LOSS_SHARE
    }

    fn check_startup_loss(&mut self, cx: &Cx, ev: &AckEvent<'_>) {
        if self.mode != Mode::Startup || self.full_reached {
            return;
        }
        if ev.newly_lost > 0 && self.loss_events < MOST_LOSSES {
            self.loss_events += 1;
        }
        if !self.loss_round_start {
            return;
        }
        let many = cx.ca == CaState::Recovery && self.loss_events >= FULL_LOSSES;
        if many && Self::is_too_high(cx, ev.newly_lost) {
            self.full_reached = true;
            self.inflight_hi = self.inflight(cx, self.max_bw(), 1.0);
            return;
        }
        self.loss_events = 0;
    }

    fn check_full(&mut self, sample: u32) {
        if self.full_now {
            return;
        }
        if f64::from(sample) >= f64::from(self.full_bw) * 1.25 {
            self.forget_full();
            self.full_bw = sample;
        } else if self.round_start {
            self.full_rounds += 1;
            self.full_now = self.full_rounds >= FULL_ROUNDS;
            self.full_reached |= self.full_now;
        }
    }

    fn check_drain(&mut self, cx: &Cx, w: &mut Window) {
        if self.mode == Mode::Startup && self.full_reached {
            self.mode = Mode::Drain;
            w.ssthresh = self.inflight(cx, self.max_bw(), 1.0);
            self.forget_signals();
        }
        if self.mode == Mode::Drain && cx.in_flight <= self.inflight(cx, self.max_bw(), 1.0) {
            self.start_down(cx);
        }
    }

    // ---- lowest RTT -----------------------------------------------------------------------------

    fn update_min_rtt(&mut self, cx: &Cx, w: &mut Window) {
        let expired = cx.now > self.probe_rtt_at + PROBE_RTT_WINDOW;
        if expired || self.probe_rtt_min.is_none_or(|min| self.last_rtt < min) {
            (self.probe_rtt_min, self.probe_rtt_at) = (Some(self.last_rtt), cx.now);
        }
        let old = cx.now > self.min_rtt_at + MIN_RTT_WINDOW;
        if old || self.min_rtt.is_none_or(|min| self.probe_rtt_min.is_some_and(|p| p <= min)) {
            (self.min_rtt, self.min_rtt_at) = (self.probe_rtt_min, self.probe_rtt_at);
        }
        if expired && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(cx, w);
            self.done_at = None;
            self.acks = Acks::Stopping;
            self.begin_round(cx);
        }
        if self.mode == Mode::ProbeRtt {
            self.dwell(cx, w);
        }
    }

    fn dwell(&mut self, cx: &Cx, w: &mut Window) {
        let Some(done_at) = self.done_at else {
            if cx.in_flight <= self.probe_rtt_cwnd(cx) {
                self.done_at = Some(cx.now + PROBE_RTT_TIME);
                self.round_done = false;
                self.begin_round(cx);
            }
            return;
        };
        self.round_done |= self.round_start;
        if !self.round_done || cx.now <= done_at {
            return;
        }
        self.probe_rtt_at = cx.now;
        w.cwnd = w.cwnd.max(self.prior_cwnd);
        self.forget_lower_bounds();
        if self.full_reached {
            self.start_down(cx);
            self.start_cruise(cx);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn save_cwnd(&mut self, cx: &Cx, w: &Window) {
        self.prior_cwnd = match cx.ca != CaState::Recovery && self.mode != Mode::ProbeRtt {
            true => w.cwnd,
            false => self.prior_cwnd.max(w.cwnd),
        };
    }

    // ---- control --------------------------------------------------------------------------------

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, CWND_GAIN),
            Mode::Up => (UP_GAIN, CWND_GAIN),
            Mode::Down => (DOWN_GAIN, CWND_GAIN),
            Mode::Cruise | Mode::Refill => (1.0, CWND_GAIN),
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }

    fn set_pacing(&mut self, cx: &Cx, w: &mut Window) {
        let bw = self.bw();
        if !self.has_rtt && cx.min_rtt != Nanos::MAX {
            self.init_pacing(cx, w);
        }
        self.pace.follow(w, self.pacing_gain, bw, self.full_reached);
    }

    fn init_pacing(&mut self, cx: &Cx, w: &mut Window) {
        self.has_rtt = cx.min_rtt != Nanos::MAX;
        let assumed = self.pace.begin(cx, w, self.pacing_gain);
        self.bw_hi[1] = self.bw_hi[1].max(assumed);
    }

    fn set_cwnd(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        let bw = self.bw();
        let mut target = self.inflight(cx, bw, self.cwnd_gain);
        if self.full_reached {
            target += self.excess.of[0].max(self.excess.of[1]).min(u64::from(bw / 10));
        }
        if ev.newly_acked > 0 {
            if self.full_reached {
                w.cwnd = (w.cwnd + ev.newly_acked).min(target);
            } else if w.cwnd < target || cx.delivered < self.initial {
                w.cwnd += ev.newly_acked;
            }
            w.cwnd = w.cwnd.max(MIN_PACKETS * u64::from(cx.mss));
        }
        if self.mode == Mode::ProbeRtt {
            w.cwnd = w.cwnd.min(self.probe_rtt_cwnd(cx));
        }
        let cap = match self.mode {
            Mode::Up | Mode::Down | Mode::Refill => self.inflight_hi,
            Mode::Cruise | Mode::ProbeRtt => self.with_headroom(cx),
            Mode::Startup | Mode::Drain => NONE,
        };
        w.cwnd = w.cwnd.min(cap.min(self.inflight_lo).max(MIN_PACKETS * u64::from(cx.mss)));
    }

    fn note_loss(&mut self, cx: &Cx) {
        if !self.loss_in_round {
            self.loss_round = cx.delivered;
        }
        self.loss_in_round = true;
    }
}

impl CongestionControl for Bbr3 {
    fn caps(&self) -> Caps {
        Caps { per_loss: true, ..crate::bbr::inet::caps() }
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        w.cwnd = MIN_PACKETS * u64::from(cx.mss);
        (self.prior_cwnd, self.initial) = (w.cwnd, w.cwnd);
        self.init_pacing(cx, w);
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        self.last_rtt = ev.rtt.unwrap_or(self.last_rtt);
        if ev.resent {
            self.note_loss(cx);
        }
        let sample = if ev.rs.valid { rate_of(&ev.rs) } else { 0 };
        self.update_rounds(cx, ev);
        self.update_signals(cx, w, ev);
        self.update_excess(cx, w, ev);
        self.check_startup_loss(cx, ev);
        self.check_full(sample);
        self.check_drain(cx, w);
        self.update_cycle(cx, w, ev, sample);
        self.update_min_rtt(cx, w);
        self.update_gains();
        self.set_pacing(cx, w);
        self.set_cwnd(cx, w, ev);
        if self.loss_round_start {
            (self.bw_latest, self.inflight_latest) = (sample, ev.rs.delivered);
        }
    }

    fn ssthresh(&mut self, _cx: &Cx, w: &Window) -> u64 {
        w.ssthresh
    }

    fn on_loss(&mut self, cx: &Cx, w: &mut Window, ev: &LossEvent) {
        self.note_loss(cx);
        if Self::is_too_high(cx, ev.bytes) {
            self.handle_too_high(cx, w);
        }
    }

    fn on_transition(&mut self, cx: &Cx, w: &mut Window, t: Transition) {
        match t {
            Transition::EnterRecovery => {
                let before = Cx { ca: CaState::Open, ..*cx };
                self.save_cwnd(&before, w);
            }
            Transition::ExitRecovery => {
                w.cwnd = match w.ssthresh {
                    INFINITE_SSTHRESH => self.prior_cwnd,
                    set => set,
                };
                if std::mem::take(&mut self.after_timeout) {
                    w.cwnd = w.cwnd.max(self.prior_cwnd);
                }
            }
            Transition::EnterRto => {
                self.save_cwnd(cx, w);
                self.round_start = true;
                self.forget_full();
                if self.is_probing() && self.inflight_lo == NONE {
                    self.inflight_lo = w.cwnd.max(self.prior_cwnd);
                }
                w.cwnd = MIN_PACKETS * u64::from(cx.mss);
                self.after_timeout = true;
            }
            _ => {}
        }
    }

    fn mode(&self, _w: &Window) -> &'static str {
        match self.mode {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::Up => "up",
            Mode::Down => "down",
            Mode::Cruise => "cruise",
            Mode::Refill => "refill",
            Mode::ProbeRtt => "probe_rtt",
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("max_bw_bps", f64::from(self.max_bw()) * 8.0);
        out("min_rtt_s", self.min_rtt.unwrap_or_default().as_secs_f64());
        out("pacing_gain", self.pacing_gain);
        out("inflight_hi", self.inflight_hi as f64);
        out("inflight_lo", self.inflight_lo as f64);
    }
}

#[cfg(test)]
mod tests;
