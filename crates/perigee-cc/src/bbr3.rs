// SPDX-License-Identifier: Apache-2.0 OR MIT
//! BBR version 3 as in the public Linux code (google/bbr branch v3; draft-ietf-ccwg-bbr).
//!
//! Idea: BBR with memory of loss. As in version 1 the path is modelled by its bandwidth and its
//! minimum RTT. In addition, probing measures how much data in flight the path carries before more
//! than 2 % is lost (inflight_hi), and between probes any loss lowers the short-term bounds (bw_lo,
//! inflight_lo), but never below the current delivery rate and amount.
//!
//! ```text
//! bw          = min(max_bw, bw_lo)             max_bw: best sample of the last two probing cycles
//! pacing      = 0.99 · gain · bw
//! cwnd        → max(⌈gain · bw · min_rtt⌉ + extra_acked, 3 bursts, 4) (+2 in UP),
//!             by the packets acknowledged
//! bound       ≤ inflight_lo; ≤ inflight_hi in DOWN, REFILL, UP;
//!             ≤ inflight_hi less 15 % in CRUISE, PROBE_RTT
//! loss        between probes, per round: bw_lo   = max(bw delivered,  0.7 bw_lo),
//!                                        inflight_lo = max(data delivered, 0.7 inflight_lo)
//!             in a probe, above 2 %:     inflight_hi = max(in flight at the excess, 0.7 target),
//!                                        UP → DOWN
//!
//!          plateau, or ≥ 6 losses > 2 %     in flight ≤ 1 BDP
//!  STARTUP ──────────────────► DRAIN ──────────────────► DOWN ──────────────────► CRUISE
//!  2.77/2                      0.34/2                    0.91/2   ≤ headroom      1/2  │
//!                                                         ▲ │ 2-3 s or min(63, BDP)    │ rounds
//!                                            too high or  │ └───────────┐  ┌───────────┘
//!                                            plateau      │             ▼  ▼
//!                                                         └─── UP ◄── REFILL
//!                                                           1.25/2.25  1/2, one round
//!  no lower RTT for 5 s, from any mode: PROBE_RTT, half a BDP in flight for 200 ms and a round,
//!  then CRUISE
//! ```
//!
//! Integer arithmetic in packets with the kernel's truncations and order, so that windows and rates
//! equal the kernel's on every ACK. `variant = draft` follows the draft where it differs: gains of
//! DRAIN and DOWN, at most three rounds of DRAIN, 2 % of the bytes instead of more than ⌊5n/256⌋
//! packets, plateau re-based at round starts only, return to probing when an undo shows that the
//! loss was spurious.
//!
//! `variant = inet` is the BBRv3 of the OrbCC and LeoTCP studies' simulator on that simulator's
//! TCP, see `inet`.
//!
//! `on_notice = refresh` (scheme `bbr3_hint`) resets bandwidth, minimum RTT and bounds when a
//! notice reports a new path, ignores packets sent before, and runs STARTUP again. It shows the
//! benefit of notices alone, without LeoCC's other changes.
//!
//! Differs from BBRv1: bounds set by loss, probing by wall clock, half-full PROBE_RTT every 5
//! s, no packet conservation in recovery, no long-term mode. Congestion marks count if the RTT has
//! been 5 ms or less at least once (`ecn_max_rtt`): their mean share cuts inflight_lo by up to a
//! third per round. Differs from the kernel: marks are counted per round instead of per sample;
//! load balancing is not implemented.

mod bounds;
mod ecn;
pub(crate) mod inet;
mod phases;
mod rules;

use crate::bbr::aggregation::{Aggregation, SLOT_ROUNDS, STARTUP_SLOT_ROUNDS};
use crate::bbr::pacing::{paced_bytes_per_s, PacingRate, PriorCwnd};
use crate::bbr::units::{bandwidth_ceil, bdp, packets_in, Bw, BW_SHIFT, UNIT};
use crate::clock::JiffyClock;
use crate::notice::{Horizon, Notices};
use crate::rng::Rng;
use crate::*;
use bounds::{Bounds, Flight, Latest};
use ecn::Ecn;
use phases::{Cycle, MinRtt, Mode, Plateau};
pub use rules::{hint, PARAMS};
use rules::{Rules, MIN_CWND};

const MAX_EXTRA_ACKED_US: u64 = 100_000;
/// Largest burst in bytes: a 64 KiB buffer less headers.
const MAX_BURST_BYTES: u64 = 65_536 - 1 - 320;
const MIN_BURST_PACKETS: u64 = 2;
/// The allowance for short paths halves with every 512 µs of RTT.
const SHORT_PATH_SHIFT_US: u32 = 9;
const SHORT_PATH_BYTES: u64 = 65_536;

/// An ACK in the model's units.
#[derive(Clone, Copy, Debug)]
struct Sample {
    acked: u64,
    losses: u64,
    prior_in_flight: u64,
    rtt_us: Option<u64>,
    /// Packets delivered over the sample's interval; zero without one.
    delivered: u64,
    /// Whether the interval is usable.
    timed: bool,
    bw: Bw,
    prior_delivered: u64,
    app_limited: bool,
    delayed: bool,
    acks_tlp: bool,
    /// Packets that arrived with a congestion mark.
    marked: u64,
    flight: Flight,
}

impl Sample {
    fn new(cx: &Cx, ev: &AckEvent<'_>) -> Self {
        let interval_us = ev.rs.interval.as_micros();
        let timed = ev.rs.valid && interval_us > 0;
        let delivered = cx.packets(ev.rs.delivered);
        Sample {
            acked: cx.packets(ev.newly_acked),
            losses: cx.packets(ev.newly_lost),
            prior_in_flight: cx.packets(ev.prior_in_flight),
            rtt_us: ev.rtt.map(Nanos::as_micros),
            delivered,
            timed,
            bw: if timed { bandwidth_ceil(delivered, interval_us) } else { 0 },
            prior_delivered: cx.packets(ev.rs.prior_delivered),
            app_limited: ev.rs.is_app_limited,
            delayed: ev.ack_delayed,
            acks_tlp: ev.acks_tlp,
            marked: cx.packets(ev.ece),
            flight: Flight {
                lost: cx.packets(ev.rs.lost_since_tx),
                tx_in_flight: cx.packets(ev.rs.tx_in_flight),
                app_limited: ev.rs.is_app_limited,
            },
        }
    }

    /// Whether the sample reflects the path.
    fn is_observation(&self) -> bool {
        self.timed && self.acked > 0
    }
}

/// State of one connection.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    rules: Rules,
    clock: JiffyClock,
    rng: Rng,
    pacing: PacingRate,
    prior: PriorCwnd,
    init_cwnd: u64,

    mode: Mode,
    pacing_gain: u64,
    cwnd_gain: u64,
    cycle: Cycle,
    min_rtt: MinRtt,
    plateau: Plateau,

    /// Best samples of the previous and the current probing cycle.
    max_bw: [Bw; 2],
    /// Total number of packets delivered at the end of the round.
    round_end: u64,
    round_start: bool,
    idle_restart: bool,

    latest: Latest,
    bounds: Bounds,
    /// Bounds and probing mode before losses that may turn out to be spurious.
    undo: (Bounds, Option<Mode>),
    aggregation: Aggregation,
    ecn: Ecn,
    /// The window is at its target, and its inputs have not changed since.
    settled: bool,

    notices: Notices,
    /// After a refresh: earlier samples do not count, nor those of packets sent before.
    refresh_until: Nanos,
    horizon: Horizon,
}

impl Bbr3 {
    /// A controller for a new connection.
    pub fn new(params: &Params, init: &ConnInit) -> Self {
        let rules = Rules::new(params);
        let clock = JiffyClock::new(init.hz);
        Bbr3 {
            clock,
            rng: Rng::new(init.seed),
            pacing: PacingRate::new(init.mss, rules.startup_pacing),
            prior: PriorCwnd::default(),
            init_cwnd: (init.init_cwnd / init.mss.max(1) as u64).min(127),
            mode: Mode::Startup,
            pacing_gain: rules.startup_pacing,
            cwnd_gain: rules.startup_cwnd,
            cycle: Cycle::default(),
            min_rtt: MinRtt::new(clock.at(init.now)),
            plateau: Plateau::default(),
            max_bw: [0; 2],
            round_end: 0,
            round_start: false,
            idle_restart: false,
            latest: Latest::default(),
            bounds: Bounds::default(),
            undo: (Bounds::default(), None),
            aggregation: Aggregation::default(),
            ecn: Ecn::default(),
            settled: false,
            notices: Notices::default(),
            refresh_until: Nanos::ZERO,
            horizon: Horizon::default(),
            rules,
        }
    }

    fn max_bw(&self) -> Bw {
        self.max_bw[0].max(self.max_bw[1])
    }

    fn bw(&self) -> Bw {
        self.max_bw().min(self.bounds.bw_lo)
    }

    fn pipe_full(&self) -> bool {
        self.plateau.reached
    }

    // ---- rounds and signals ---------------------------------------------------------------------

    fn start_round(&mut self, cx: &Cx) {
        self.round_end = cx.packets(cx.delivered);
    }

    fn update_round(&mut self, cx: &Cx, s: &Sample) {
        self.round_start = s.timed && s.prior_delivered >= self.round_end;
        if self.round_start {
            self.start_round(cx);
            self.cycle.rounds_since_probe = (self.cycle.rounds_since_probe + 1).min(255);
        }
    }

    fn update_congestion_signals(&mut self, cx: &Cx, w: &Window, s: &Sample) {
        if !s.is_observation() {
            return;
        }
        if !s.app_limited || s.bw >= self.max_bw() {
            self.max_bw[1] = self.max_bw[1].max(s.bw);
        }
        self.latest.loss_in_round |= s.losses > 0;
        if self.latest.loss_round_start {
            self.adapt_lower_bounds(cx, w);
            self.latest.loss_in_round = false;
            self.ecn.in_round = false;
        }
    }

    fn update_aggregation(&mut self, cx: &Cx, w: &Window, s: &Sample) {
        if !s.is_observation() {
            return;
        }
        if self.round_start {
            self.aggregation.on_round(if self.pipe_full() { SLOT_ROUNDS } else { STARTUP_SLOT_ROUNDS });
        }
        let delivered_us = cx.delivered_time.as_micros();
        self.aggregation.on_ack(delivered_us, self.bw(), s.acked, cx.packets(w.cwnd));
    }

    // ---- how much is in flight, and how much should be ------------------------------------------

    fn burst_packets(&self, w: &Window) -> u64 {
        let mut bytes = paced_bytes_per_s(w) >> 10;
        let shift = self.min_rtt.us.unwrap_or(u64::MAX) >> SHORT_PATH_SHIFT_US;
        if shift < 32 && !self.rules.draft {
            bytes += SHORT_PATH_BYTES >> shift;
        }
        (bytes.min(MAX_BURST_BYTES) / self.pacing.mss() as u64).max(MIN_BURST_PACKETS)
    }

    fn bdp(&self, bw: Bw, gain: u64) -> u64 {
        self.min_rtt.us.map_or(self.init_cwnd, |rtt| bdp(bw, rtt, gain))
    }

    /// Adds at least room for bursts at the sender and the receiver.
    fn quantise(&self, w: &Window, packets: u64) -> u64 {
        let room = packets.max(3 * self.burst_packets(w)).max(MIN_CWND);
        room + if self.mode == Mode::Up { 2 } else { 0 }
    }

    fn inflight(&self, w: &Window, bw: Bw) -> u64 {
        self.quantise(w, self.bdp(bw, UNIT))
    }

    /// Target of data in flight: a multiple of the BDP, unless congestion has reduced the window.
    fn target_inflight(&self, cx: &Cx, w: &Window) -> u64 {
        self.inflight(w, self.bw()).min(cx.packets(w.cwnd))
    }

    /// Data in flight at the departure of the next packet, as pacing has scheduled departures in
    /// the future.
    fn inflight_at_departure(&self, cx: &Cx, w: &Window, in_flight: u64) -> u64 {
        let wait_us = cx.edt.saturating_sub(cx.now).as_micros();
        let burst = if self.pacing_gain > UNIT { self.burst_packets(w) } else { 0 };
        (in_flight + burst).saturating_sub(packets_in(self.bw(), wait_us))
    }

    fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp(self.bw(), UNIT / 2).max(MIN_CWND)
    }

    // ---- outputs --------------------------------------------------------------------------------

    fn update_gains(&mut self) {
        let r = &self.rules;
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (r.startup_pacing, r.startup_cwnd),
            Mode::Drain => (r.drain_pacing, r.drain_cwnd),
            Mode::Down => (r.down_pacing, r.cwnd),
            Mode::Cruise | Mode::Refill => (UNIT, r.cwnd),
            Mode::Up => (r.up_pacing, r.up_cwnd),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    fn set_pacing(&mut self, cx: &Cx, w: &mut Window, gain: u64) {
        let (bw, full) = (self.bw(), self.pipe_full());
        self.pacing.set(cx, w, bw, gain, full);
    }

    fn target_cwnd(&self, w: &Window) -> u64 {
        let bw = self.bw();
        let mut target = self.bdp(bw, self.cwnd_gain);
        target += self.aggregation.extra_acked().min(packets_in(bw, MAX_EXTRA_ACKED_US));
        self.quantise(w, target)
    }

    fn set_cwnd(&mut self, cx: &Cx, w: &mut Window, s: &Sample) {
        let mut cwnd = cx.packets(w.cwnd);
        if s.acked > 0 {
            let target = self.target_cwnd(w);
            self.settled = false;
            if self.pipe_full() {
                cwnd += s.acked;
                self.settled = cwnd >= target;
                cwnd = cwnd.min(target);
            } else if cwnd < target || self.is_young(cx, cwnd) {
                cwnd += s.acked;
            } else {
                self.settled = true;
            }
            cwnd = cwnd.max(MIN_CWND);
        }
        if self.mode == Mode::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_cwnd());
        }
        w.cwnd = cx.bytes(cwnd.min(self.model_bound()));
    }

    /// Whether samples are too few to bound the window.
    fn is_young(&self, cx: &Cx, cwnd: u64) -> bool {
        match self.rules.draft {
            true => cx.packets(cx.delivered) < self.init_cwnd,
            false => cwnd < 2 * self.init_cwnd,
        }
    }

    fn model_bound(&self) -> u64 {
        let hi = match self.mode {
            Mode::Down | Mode::Refill | Mode::Up => self.bounds.inflight_hi,
            Mode::Cruise | Mode::ProbeRtt => self.bounds.with_headroom(),
            Mode::Startup | Mode::Drain => u64::MAX,
        };
        hi.min(self.bounds.inflight_lo).max(MIN_CWND)
    }

    // ---- one ACK --------------------------------------------------------------------------------

    /// With an application-limited flow and a settled window a slow sample carries no information:
    /// only the state machine runs. True: nothing has changed, so window and rate are unchanged as
    /// well.
    fn quick_update(&mut self, cx: &Cx, w: &mut Window, s: &Sample) -> bool {
        let before = (self.mode, self.min_rtt.us);
        self.check_drain(cx, w);
        self.update_phase(cx, w, s);
        self.update_min_rtt(cx, w, s);
        before == (self.mode, self.min_rtt.us) && self.settled
    }

    fn update_model(&mut self, cx: &Cx, w: &mut Window, s: &Sample) {
        self.update_congestion_signals(cx, w, s);
        self.update_aggregation(cx, w, s);
        self.check_loss_in_startup(cx, w, s);
        self.check_plateau(s);
        self.check_drain(cx, w);
        self.update_phase(cx, w, s);
        self.update_min_rtt(cx, w, s);
    }

    // ---- notices --------------------------------------------------------------------------------

    /// Resets the model, which belongs to the old path.
    fn refresh(&mut self, cx: &Cx, w: &mut Window) {
        if self.mode == Mode::ProbeRtt {
            w.cwnd = w.cwnd.max(cx.bytes(self.prior.cwnd));
        }
        self.refresh_until = cx.now.saturating_add(self.rules.refresh_skip);
        self.horizon.set(cx);
        self.max_bw = [0; 2];
        self.bounds = Bounds::default();
        self.undo = (Bounds::default(), None);
        self.plateau = Plateau::default();
        self.latest.restart(cx.packets(cx.delivered) + 1);
        self.min_rtt.forget(self.clock.at(cx.now));
        self.cycle.previous_too_high = false;
        self.mode = Mode::Startup;
        self.settled = false;
        self.update_gains();
        self.start_round(cx);
    }

    /// Whether the sample precedes a refresh, so that window and rate stay unchanged.
    fn is_stale(&mut self, cx: &Cx, ev: &AckEvent<'_>) -> bool {
        !self.horizon.passes(ev) || cx.now < self.refresh_until
    }
}

impl CongestionControl for Bbr3 {
    fn caps(&self) -> Caps {
        // After a timeout the transport's window of one packet, below BBR's floor of 4, must be
        // kept.
        Caps { min_cwnd: 1, per_loss: true, ..Caps::MODEL }
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        self.init_cwnd = cx.packets(w.cwnd).clamp(1, 127);
        self.start_round(cx);
        self.latest.restart(cx.packets(cx.delivered) + 1);
        self.min_rtt.start(cx, self.clock.at(cx.now));
        self.aggregation.restart(cx.now.as_micros());
        self.pacing.initialise(cx, w);
        w.quantum = self.burst_packets(w) as u32;
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        if self.is_stale(cx, ev) {
            self.prior.ca = cx.ca;
            return;
        }
        let s = Sample::new(cx, ev);
        self.update_round(cx, &s);
        self.ecn.update(&s, self.round_start, cx.packets(cx.delivered));
        self.check_ecn_in_startup(w);
        self.latest.update(cx, &s);
        let congested = self.latest.loss_in_round || self.ecn.in_round;
        let nothing_to_learn = self.settled && s.app_limited && s.bw < self.max_bw() && !congested;
        let stands = nothing_to_learn && self.quick_update(cx, w, &s);
        if !nothing_to_learn {
            self.update_model(cx, w, &s);
        }
        if !stands {
            self.update_gains();
            self.set_pacing(cx, w, self.pacing_gain);
            self.set_cwnd(cx, w, &s);
            w.quantum = self.burst_packets(w) as u32;
        }
        self.latest.advance(&s);
        self.prior.ca = cx.ca;
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        self.prior.save(cx, w, self.mode == Mode::ProbeRtt);
        self.undo = (self.bounds, Some(self.mode));
        w.ssthresh
    }

    fn on_loss(&mut self, cx: &Cx, w: &mut Window, ev: &LossEvent) {
        self.latest.note_loss(cx);
        if !self.cycle.samples_are_of_probe {
            return;
        }
        let flight = Flight {
            lost: cx.packets(ev.lost_total.saturating_sub(ev.tx.lost)),
            tx_in_flight: cx.packets(ev.tx.in_flight),
            app_limited: ev.tx.app_limited,
        };
        if self.rules.is_too_high(&flight) {
            let tx_in_flight = self.rules.inflight_before_loss(&flight);
            self.handle_too_high(cx, w, &Flight { tx_in_flight, ..flight });
        }
    }

    fn on_transition(&mut self, cx: &Cx, w: &mut Window, t: Transition) {
        match t {
            Transition::EnterRto => {
                self.prior.ca = CaState::Loss;
                self.plateau.restart();
                if !self.mode.is_probing() && self.bounds.inflight_lo == u64::MAX {
                    self.bounds.inflight_lo = cx.packets(w.cwnd).max(self.prior.cwnd);
                }
            }
            Transition::ExitRto if self.prior.ca == CaState::Loss => {
                w.cwnd = w.cwnd.max(cx.bytes(self.prior.cwnd));
                self.settled = false;
            }
            Transition::Undo(_) => self.take_back(cx, w),
            Transition::TlpRepaired { app_limited } => {
                self.latest.note_loss(cx);
                let flight = Flight { lost: 1, tx_in_flight: self.latest.inflight + 1, app_limited };
                if self.cycle.samples_are_of_probe && self.rules.is_too_high(&flight) {
                    self.handle_too_high(cx, w, &flight);
                }
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
            Mode::Down | Mode::Cruise | Mode::Refill | Mode::Up => self.set_pacing(cx, w, UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(cx, w),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn on_timer(&mut self, cx: &Cx, w: &mut Window) {
        if self.notices.on_timer(cx.now) {
            self.refresh(cx, w);
        }
        w.next_timer = self.notices.next_timer();
    }

    fn on_signal(&mut self, cx: &Cx, w: &mut Window, s: &Signal<'_>) {
        if !self.rules.refresh_on_notice {
            return;
        }
        if self.notices.on_signal(cx, s) {
            self.refresh(cx, w);
        }
        w.next_timer = self.notices.next_timer();
    }

    fn mode(&self, _w: &Window) -> &'static str {
        self.mode.name()
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let bps = |bw: Bw| bw as f64 * self.pacing.mss() as f64 * 8e6 / (1u64 << BW_SHIFT) as f64;
        let bound = |b: u64| if b == u64::MAX { 0.0 } else { b as f64 };
        out("bw_bps", bps(self.bw()));
        out("max_bw_bps", bps(self.max_bw()));
        out("min_rtt_s", self.min_rtt.us.map_or(0.0, |us| us as f64 * 1e-6));
        out("pacing_gain", self.pacing_gain as f64 / UNIT as f64);
        out("cwnd_gain", self.cwnd_gain as f64 / UNIT as f64);
        out("inflight_hi_segments", bound(self.bounds.inflight_hi));
        out("inflight_lo_segments", bound(self.bounds.inflight_lo));
        out("extra_acked_segments", self.aggregation.extra_acked() as f64);
    }
}

#[cfg(test)]
mod tests;
