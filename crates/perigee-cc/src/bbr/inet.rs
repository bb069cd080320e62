// SPDX-License-Identifier: Apache-2.0 OR MIT
//! BBR version 1 in the OMNeT++ model of the OrbCC study (Avian688/bbr at 43c7ad8), on the TCP of
//! that simulator ([`Stack::Inet`]).
//!
//! Differs from Linux: rates in integral bytes per second; until an RTT is known, the bandwidth is
//! assumed from the first window and 1 ms, and is the first reference for a full pipe; the RTT is
//! that of the last advancing ACK, even at duplicate ACKs; an ACK without a valid sample does not
//! reset the start of a round; three packets of slack and two more in the probing phase; no
//! allowance for aggregated ACKs, no long-term mode; at the end of a recovery the window is at
//! least the BDP that STARTUP found; a timeout leaves four packets; the phases after PROBE_RTT
//! follow the same draws in every connection.

use crate::inet::{rate_of, MaxFilter, Pace, Twister};
use crate::*;

pub(crate) const HIGH_GAIN: f64 = 2.89;
const MIN_PACKETS: u64 = 4;
const QUANTA: u64 = 3;
const FULL_ROUNDS: u32 = 3;
const CYCLE: usize = 8;

/// Differences between this model and the schemes based on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Gains of the cycle's phases.
    pub gains: [f64; CYCLE],
    /// Age at which the lowest RTT is measured again, and minimum duration of the measurement.
    pub min_rtt_window: Nanos,
    pub probe_rtt_time: Nanos,
    /// PROBE_RTT is entered only from the cruise phase.
    pub only_from_cruise: bool,
    /// In PROBE_RTT the RTT of each round replaces the minimum.
    pub overwrites_min_rtt: bool,
}

impl Rules {
    pub fn new(params: &Params) -> Self {
        Rules {
            gains: [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
            min_rtt_window: params.time("min_rtt_window"),
            probe_rtt_time: params.time("probe_rtt_duration"),
            only_from_cruise: false,
            overwrites_min_rtt: false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// State of a connection, for BBR and schemes based on it.
#[derive(Clone)]
pub(crate) struct Core {
    rules: Rules,
    pub mode: Mode,
    pub max_bw: MaxFilter,
    pace: Pace,
    has_rtt: bool,
    pub pacing_gain: f64,
    cwnd_gain: f64,
    rounds: u32,
    round_start: bool,
    next_round: u64,
    pub filled: bool,
    full_bw: u32,
    full_rounds: u32,
    min_rtt: Option<Nanos>,
    min_rtt_at: Nanos,
    pub min_rtt_expired: bool,
    last_rtt: Nanos,
    done_at: Option<Nanos>,
    round_done: bool,
    phase: usize,
    phase_at: Nanos,
    prior_cwnd: u64,
    initial: u64,
    conserves: bool,
    draws: Twister,
}

impl Core {
    pub fn new(init: &ConnInit, rules: Rules) -> Self {
        Core {
            rules,
            mode: Mode::Startup,
            max_bw: MaxFilter::new(0),
            pace: Pace::default(),
            has_rtt: false,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            rounds: 0,
            round_start: false,
            next_round: 0,
            filled: false,
            full_bw: 0,
            full_rounds: 0,
            min_rtt: None,
            min_rtt_at: init.now,
            min_rtt_expired: false,
            last_rtt: Nanos::ZERO,
            done_at: None,
            round_done: false,
            phase: 0,
            phase_at: Nanos::ZERO,
            prior_cwnd: 0,
            initial: 0,
            conserves: false,
            draws: Twister::default(),
        }
    }

    pub fn start(&mut self, cx: &Cx, w: &mut Window) {
        w.cwnd = MIN_PACKETS * u64::from(cx.mss);
        (self.prior_cwnd, self.initial) = (w.cwnd, w.cwnd);
        self.init_pacing(cx, w);
    }

    fn init_pacing(&mut self, cx: &Cx, w: &mut Window) {
        self.has_rtt = cx.min_rtt != Nanos::MAX;
        self.max_bw = MaxFilter::new(self.pace.begin(cx, w, self.pacing_gain));
    }

    /// Processes the ACK's RTT, and its rate sample if there is one.
    pub fn sample(&mut self, cx: &Cx, ev: &AckEvent<'_>) -> Option<u32> {
        self.last_rtt = ev.rtt.unwrap_or(self.last_rtt);
        if !ev.rs.valid {
            return None;
        }
        self.round_start = ev.rs.prior_delivered >= self.next_round;
        if self.round_start {
            self.next_round = cx.delivered;
            self.rounds += 1;
            self.conserves = false;
        }
        let rate = rate_of(&ev.rs);
        self.max_bw.update(rate, self.rounds);
        Some(rate)
    }

    pub fn check_phase(&mut self, cx: &Cx, ev: &AckEvent<'_>) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let Some(min_rtt) = self.min_rtt else { return };
        let long = cx.now.saturating_sub(self.phase_at) > min_rtt;
        let (gain, flight) = (self.pacing_gain, ev.prior_in_flight);
        let over = if gain > 1.0 {
            long && (ev.newly_lost > 0 || flight >= self.inflight(cx, gain))
        } else if gain < 1.0 {
            long || flight <= self.inflight(cx, 1.0)
        } else {
            long
        };
        if over {
            self.advance_phase(cx);
        }
    }

    fn advance_phase(&mut self, cx: &Cx) {
        self.phase_at = cx.now;
        self.phase = (self.phase + 1) % CYCLE;
        self.pacing_gain = self.rules.gains[self.phase];
    }

    pub fn check_full(&mut self) {
        if self.filled || !self.round_start {
            return;
        }
        let bw = self.max_bw.get();
        if bw >= (f64::from(self.full_bw) * 1.25) as u32 {
            (self.full_bw, self.full_rounds) = (bw, 0);
            return;
        }
        self.full_rounds += 1;
        self.filled = self.full_rounds >= FULL_ROUNDS;
    }

    /// True when STARTUP ends.
    pub fn check_drain(&mut self, cx: &Cx, w: &mut Window) -> bool {
        let ends = self.mode == Mode::Startup && self.filled;
        if ends {
            self.mode = Mode::Drain;
            (self.pacing_gain, self.cwnd_gain) = (1.0 / HIGH_GAIN, HIGH_GAIN);
            w.ssthresh = self.inflight(cx, 1.0);
        }
        if self.mode == Mode::Drain && cx.in_flight <= self.inflight(cx, 1.0) {
            self.enter_probe_bw(cx);
        }
        ends
    }

    fn enter_probe_bw(&mut self, cx: &Cx) {
        self.mode = Mode::ProbeBw;
        self.cwnd_gain = 2.0;
        self.phase = CYCLE - 1 - self.draws.up_to(CYCLE as u32 - 2) as usize;
        self.advance_phase(cx);
    }

    pub fn enter_startup(&mut self) {
        self.mode = Mode::Startup;
        (self.pacing_gain, self.cwnd_gain) = (HIGH_GAIN, HIGH_GAIN);
    }

    /// Resets the estimate of a full pipe.
    pub fn forget_pipe(&mut self) {
        (self.filled, self.full_bw, self.full_rounds) = (false, 0, 0);
    }

    pub fn update_min_rtt(&mut self, cx: &Cx) {
        self.min_rtt_expired = cx.now > self.min_rtt_at + self.rules.min_rtt_window;
        if self.min_rtt_expired || self.min_rtt.is_none_or(|min| self.last_rtt < min) {
            self.take_min_rtt(cx);
        }
    }

    fn take_min_rtt(&mut self, cx: &Cx) {
        (self.min_rtt, self.min_rtt_at) = (Some(self.last_rtt), cx.now);
    }

    /// Enters PROBE_RTT if the minimum has expired or if `forced`. True when it is over: the caller
    /// selects the next mode.
    pub fn check_probe_rtt(&mut self, cx: &Cx, w: &mut Window, forced: bool) -> bool {
        let may = match self.rules.only_from_cruise {
            true => self.mode == Mode::ProbeBw,
            false => self.mode != Mode::ProbeRtt,
        };
        if may && (self.min_rtt_expired || forced) {
            self.mode = Mode::ProbeRtt;
            (self.pacing_gain, self.cwnd_gain) = (1.0, 1.0);
            self.save_cwnd(cx, w);
            self.done_at = None;
        }
        if self.mode != Mode::ProbeRtt {
            return false;
        }
        let Some(done_at) = self.done_at else {
            if cx.in_flight <= MIN_PACKETS * u64::from(cx.mss) {
                self.done_at = Some(cx.now + self.rules.probe_rtt_time);
                self.round_done = false;
                self.next_round = cx.delivered;
            }
            return false;
        };
        if self.round_start {
            self.round_done = true;
            if self.rules.overwrites_min_rtt {
                self.take_min_rtt(cx);
            }
        }
        let over = self.round_done && cx.now > done_at;
        if over {
            self.min_rtt_at = cx.now;
            w.cwnd = w.cwnd.max(self.prior_cwnd);
        }
        over
    }

    /// The default mode after PROBE_RTT.
    pub fn leave_probe_rtt(&mut self, cx: &Cx) {
        match self.filled {
            true => self.enter_probe_bw(cx),
            false => self.enter_startup(),
        }
    }

    /// Bytes in flight at `gain` BDPs.
    fn inflight(&self, cx: &Cx, gain: f64) -> u64 {
        let Some(min_rtt) = self.min_rtt else { return self.initial };
        let bdp = f64::from(self.max_bw.get()) * min_rtt.as_secs_f64();
        let probes = self.mode == Mode::ProbeBw && self.phase == 0;
        let slack = (QUANTA + if probes { 2 } else { 0 }) * u64::from(cx.mss);
        (gain * bdp + slack as f64) as u64
    }

    pub fn save_cwnd(&mut self, cx: &Cx, w: &Window) {
        self.prior_cwnd = match cx.ca != CaState::Recovery && self.mode != Mode::ProbeRtt {
            true => w.cwnd,
            false => self.prior_cwnd.max(w.cwnd),
        };
    }

    pub fn control(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        let bw = self.max_bw.get();
        if !self.has_rtt && cx.min_rtt != Nanos::MAX {
            self.init_pacing(cx, w);
        }
        self.pace.follow(w, self.pacing_gain, bw, self.filled);
        self.set_cwnd(cx, w, ev);
        if self.mode == Mode::ProbeRtt {
            w.cwnd = w.cwnd.min(MIN_PACKETS * u64::from(cx.mss));
        }
    }

    fn set_cwnd(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        let (acked, mss) = (ev.newly_acked, u64::from(cx.mss));
        if acked == 0 {
            return;
        }
        if cx.ca == CaState::Recovery {
            if ev.newly_lost > 0 {
                w.cwnd = w.cwnd.saturating_sub(ev.newly_lost).max(mss);
            }
            if self.conserves {
                w.cwnd = w.cwnd.max(cx.in_flight + acked);
                return;
            }
        }
        let target = self.inflight(cx, self.cwnd_gain);
        if self.filled {
            w.cwnd = (w.cwnd + acked).min(target);
        } else if w.cwnd < target || cx.delivered < self.initial {
            w.cwnd += acked;
        }
        w.cwnd = w.cwnd.max(MIN_PACKETS * mss);
    }

    pub fn on_transition(&mut self, cx: &Cx, w: &mut Window, t: Transition) {
        let mss = u64::from(cx.mss);
        match t {
            Transition::EnterRecovery => {
                let before = Cx { ca: CaState::Open, ..*cx };
                self.save_cwnd(&before, w);
                w.cwnd = cx.in_flight + mss;
                self.conserves = true;
            }
            Transition::ExitRecovery => {
                self.conserves = false;
                w.cwnd = finite(w.ssthresh).max(self.prior_cwnd);
            }
            Transition::EnterRto => {
                self.save_cwnd(cx, w);
                self.round_start = true;
                self.full_bw = 0;
                w.cwnd = MIN_PACKETS * mss;
            }
            _ => {}
        }
    }

    pub fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("max_bw_bps", f64::from(self.max_bw.get()) * 8.0);
        out("min_rtt_s", self.min_rtt.unwrap_or_default().as_secs_f64());
        out("pacing_gain", self.pacing_gain);
        out("pipe_filled", f64::from(u8::from(self.filled)));
    }
}

/// BBR of one connection.
pub(crate) struct Bbr {
    core: Core,
}

impl Bbr {
    pub fn new(params: &Params, init: &ConnInit) -> Self {
        Bbr { core: Core::new(init, Rules::new(params)) }
    }
}

/// Requirements on the host.
pub(crate) fn caps() -> Caps {
    Caps { min_cwnd: 1, stack: Stack::Inet { smooths_from_zero: false }, ..Caps::MODEL }
}

impl CongestionControl for Bbr {
    fn caps(&self) -> Caps {
        caps()
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        self.core.start(cx, w);
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        self.core.sample(cx, ev);
        self.core.check_phase(cx, ev);
        self.core.check_full();
        self.core.check_drain(cx, w);
        self.core.update_min_rtt(cx);
        if self.core.check_probe_rtt(cx, w, false) {
            self.core.leave_probe_rtt(cx);
        }
        self.core.control(cx, w, ev);
    }

    fn ssthresh(&mut self, _cx: &Cx, w: &Window) -> u64 {
        w.ssthresh
    }

    fn on_transition(&mut self, cx: &Cx, w: &mut Window, t: Transition) {
        self.core.on_transition(cx, w, t);
    }

    fn mode(&self, _w: &Window) -> &'static str {
        match self.core.mode {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBw => "probe_bw",
            Mode::ProbeRtt => "probe_rtt",
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.core.probe(out);
    }
}

/// The threshold, or 0 if it is infinite: that simulator always configures a finite one.
fn finite(ssthresh: u64) -> u64 {
    match ssthresh {
        INFINITE_SSTHRESH => 0,
        set => set,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;
    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    /// A connection with ACKs fed one by one.
    struct Flow {
        cc: Bbr,
        cx: Cx,
        w: Window,
    }

    impl Flow {
        fn new() -> Self {
            let init =
                ConnInit { now: MS(100), mss: MSS as u32, init_cwnd: 14_480, srtt: None, seed: 1, hz: 0 };
            let mut cc = Bbr::new(&Params::defaults(crate::bbr::PARAMS), &init);
            let mut w = init.window();
            let cx = Cx { now: init.now, mss: MSS as u32, min_rtt: Nanos::MAX, ..Cx::default() };
            cc.on_start(&cx, &mut w);
            Flow { cc, cx, w }
        }

        /// An ACK a round after the last one, at `packets` per 50 ms.
        fn round(&mut self, packets: u64) {
            self.cx.now += MS(50);
            let prior_delivered = self.cx.delivered;
            self.cx.delivered += packets * MSS;
            self.cx.min_rtt = MS(50);
            let rs = RateSample {
                valid: true,
                delivered: packets * MSS,
                interval: MS(50),
                prior_delivered,
                ..RateSample::default()
            };
            let ev = AckEvent { newly_acked: packets * MSS, rtt: Some(MS(50)), rs, ..AckEvent::default() };
            self.cc.on_ack(&self.cx, &mut self.w, &ev);
        }

        fn transition(&mut self, t: Transition) {
            self.cc.on_transition(&self.cx, &mut self.w, t);
        }
    }

    #[test]
    fn it_begins_with_four_packets_at_a_rate_that_assumes_a_millisecond() {
        let f = Flow::new();
        assert_eq!(f.w.cwnd, 4 * MSS);
        assert_eq!(f.w.pacing, Some(BitRate((HIGH_GAIN * 4.0 * MSS as f64 / 0.001 * 8.0) as u64)));
        assert_eq!(f.cc.core.max_bw.get(), 5_792_000);
    }

    #[test]
    fn three_rounds_without_a_quarter_more_end_startup_and_leave_the_threshold_at_a_bdp() {
        let mut f = Flow::new();
        f.w.ssthresh = 400 * MSS;
        for packets in [100, 200, 400, 400, 400, 400, 400] {
            f.round(packets);
        }
        assert_eq!(f.cc.mode(&f.w), "probe_bw");
        // 400 packets and three of slack.
        assert_eq!(f.w.ssthresh / MSS, 403);
        f.transition(Transition::EnterRecovery);
        f.w.cwnd = 10 * MSS;
        f.transition(Transition::ExitRecovery);
        assert!(f.w.cwnd >= 403 * MSS, "{}", f.w.cwnd / MSS);
    }

    #[test]
    fn a_recovery_holds_what_is_in_flight_and_a_timeout_leaves_four_packets() {
        let mut f = Flow::new();
        for packets in [100, 200, 400] {
            f.round(packets);
        }
        f.cx.in_flight = 90 * MSS;
        f.transition(Transition::EnterRecovery);
        assert_eq!(f.w.cwnd, 91 * MSS);
        f.transition(Transition::EnterRto);
        assert_eq!(f.w.cwnd, 4 * MSS);
    }

    #[test]
    fn an_ack_that_delivers_nothing_new_leaves_the_window() {
        let mut f = Flow::new();
        f.round(100);
        let before = f.w.cwnd;
        f.cx.ca = CaState::Recovery;
        let ev = AckEvent { is_dup: true, newly_lost: 5 * MSS, ..AckEvent::default() };
        f.cc.on_ack(&f.cx, &mut f.w, &ev);
        assert_eq!(f.w.cwnd, before);
    }

    /// All connections draw the same numbers, so that two of the same age are in the same phase.
    #[test]
    fn every_connection_enters_the_same_phases() {
        let phases = || {
            let mut core = Core::new(
                &ConnInit { now: MS(0), mss: MSS as u32, init_cwnd: 0, srtt: None, seed: 9, hz: 0 },
                Rules::new(&Params::defaults(crate::bbr::PARAMS)),
            );
            (0..5).map(|_| (core.enter_probe_bw(&Cx::default()), core.phase).1).collect::<Vec<_>>()
        };
        assert_eq!(phases(), phases());
        assert!(phases().iter().all(|&p| p != 1));
    }
}
