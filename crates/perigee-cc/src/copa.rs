// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Copa (Arun, Balakrishnan 2018).
//!
//! Idea: send at a rate in inverse proportion to the queueing delay; then the queue of N flows
//! settles at N/δ packets and empties regularly, so that all flows observe the empty RTT. If it
//! never does, a competing flow fills the buffer: compete with it.
//!
//! ```text
//! RTT_standing = lowest RTT of the last SRTT/2  RTT_min = lowest of 10 s
//! d_q          = RTT_standing − RTT_min         λ_target = 1 / (δ d_q)    λ = cwnd / RTT_standing
//! per packet   cwnd += v / (δ cwnd)   if λ ≤ λ_target   else   cwnd −= v / (δ cwnd)
//! velocity     v = 1; doubles per RTT after 3 RTTs in one direction; 1 again when it changes
//! pacing       2 cwnd / RTT_standing
//!
//!  slow start: doubles per RTT ── λ > λ_target ──► default mode: δ = 0.5
//!                                                   │     ▲ queue nearly empty within 5 RTTs:
//!                                                   ▼     │ d_q < 0.1 (RTT_max − RTT_min)
//!                                                  competitive mode: 1/δ += 1 per RTT,
//!                                                  halves on loss, ≥ 2
//! ```
//!
//! Differs from the paper: nothing known. Differs from the public prototype
//! (venkatarun95/genericCC): no floor of the velocity, no cut by 0.7 on heavy loss. A timeout
//! restarts slow start; other losses matter in competitive mode only.

use crate::filter::{WindowedMax, WindowedMin};
use crate::*;

/// Parameters, with the paper's defaults.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "delta",
        domain: Domain::Float { default: 0.5, min: 0.004, max: 10.0 },
        unit: "1/segments",
        source: "paper",
        help: "inverse of the number of packets that the flow keeps queued",
    },
    ParamSpec {
        name: "competitive",
        domain: Domain::Bool(true),
        unit: "",
        source: "paper",
        help: "compete with other flows if the queue never empties",
    },
];

const MIN_RTT_WINDOW_US: u64 = 10_000_000;
/// A queue below this fraction of the RTT's range is nearly empty.
const NEARLY_EMPTY: f64 = 0.1;
/// Number of RTTs without a nearly empty queue after which a competing flow is assumed.
const COMPETITIVE_RTTS: u64 = 5;
/// Number of RTTs over which the highest RTT is taken.
const MAX_RTT_RTTS: u64 = 4;
/// Number of RTTs in one direction before the velocity doubles.
const STEADY_RTTS: u32 = 3;
const MAX_VELOCITY: f64 = 65_536.0;
const MIN_CWND: f64 = 2.0;
const PACING_GAIN: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// Velocity of the window.
#[derive(Clone, Debug)]
struct Velocity {
    v: f64,
    direction: Direction,
    /// Number of RTTs with an unchanged direction.
    steady: u32,
    /// Window at the start of the RTT.
    cwnd: f64,
}

/// State of one connection. Times in microseconds, windows in packets.
#[derive(Clone, Debug)]
pub struct Copa {
    default_delta: f64,
    may_compete: bool,
    delta: f64,
    cwnd: f64,
    slow_start: bool,
    min_rtt: WindowedMin,
    standing_rtt: WindowedMin,
    max_rtt: WindowedMax,
    velocity: Velocity,
    /// End of the data sent at the start of the RTT.
    round_end_seq: u64,
    rounds: u64,
    /// Round in which the queue was last nearly empty.
    emptied_in: u64,
    loss_in_round: bool,
    last_us: u64,
}

impl Copa {
    /// A controller for a new connection.
    pub fn new(params: &Params, init: &ConnInit) -> Self {
        let delta = params.float("delta");
        let cwnd = init.init_cwnd as f64 / init.mss.max(1) as f64;
        Copa {
            default_delta: delta,
            may_compete: params.bool("competitive"),
            delta,
            cwnd,
            slow_start: true,
            min_rtt: WindowedMin::new(MIN_RTT_WINDOW_US),
            standing_rtt: WindowedMin::new(1),
            max_rtt: WindowedMax::new(MAX_RTT_RTTS),
            velocity: Velocity { v: 1.0, direction: Direction::Up, steady: 0, cwnd },
            round_end_seq: 0,
            rounds: 0,
            emptied_in: 0,
            loss_in_round: false,
            last_us: 0,
        }
    }

    fn sample(&mut self, cx: &Cx, rtt: Nanos) {
        // The filters require a clock that never runs backwards.
        self.last_us = self.last_us.max(cx.now.as_micros());
        let us = rtt.as_micros().max(1);
        self.min_rtt.update(self.last_us, us);
        self.standing_rtt.set_window((cx.srtt.as_micros() / 2).max(1));
        self.standing_rtt.update(self.last_us, us);
        self.max_rtt.update(self.rounds, us);
    }

    fn standing_us(&self) -> u64 {
        self.standing_rtt.get()
    }

    fn queueing_us(&self) -> u64 {
        self.standing_us().saturating_sub(self.min_rtt.get())
    }

    /// λ ≤ λ_target, without dividing by a queue of zero.
    fn is_below_target(&self) -> bool {
        self.cwnd * self.queueing_us() as f64 * self.delta <= self.standing_us() as f64
    }

    fn note_queue(&mut self) {
        let range = self.max_rtt.get().saturating_sub(self.min_rtt.get());
        if self.queueing_us() as f64 <= NEARLY_EMPTY * range as f64 {
            self.emptied_in = self.rounds;
        }
    }

    fn competes(&self) -> bool {
        self.may_compete && self.rounds.saturating_sub(self.emptied_in) >= COMPETITIVE_RTTS
    }

    /// Once per RTT: updates the velocity, and the aggressiveness in competitive mode.
    fn on_round(&mut self, cx: &Cx) {
        self.round_end_seq = cx.snd_nxt;
        self.rounds += 1;
        let inverse = 1.0 / self.delta;
        self.delta = match (self.competes(), self.loss_in_round) {
            (false, _) => self.default_delta,
            (true, false) => 1.0 / (inverse + 1.0),
            (true, true) => (2.0 / inverse).min(self.default_delta),
        };
        self.loss_in_round = false;
        let velocity = &mut self.velocity;
        let direction = if self.cwnd > velocity.cwnd { Direction::Up } else { Direction::Down };
        if direction == velocity.direction {
            velocity.steady += 1;
            if velocity.steady >= STEADY_RTTS {
                velocity.v = (velocity.v * 2.0).min(MAX_VELOCITY);
            }
        } else {
            *velocity = Velocity { v: 1.0, direction, steady: 0, cwnd: 0.0 };
        }
        velocity.cwnd = self.cwnd;
    }

    fn steer(&mut self, acked: f64) {
        let below = self.is_below_target();
        if self.slow_start && below {
            self.cwnd += acked;
            return;
        }
        self.slow_start = false;
        let direction = if below { Direction::Up } else { Direction::Down };
        // An overshoot at full velocity would make the queue oscillate.
        if direction != self.velocity.direction && self.velocity.v > 1.0 {
            self.velocity = Velocity { v: 1.0, direction, steady: 0, cwnd: self.cwnd };
        }
        let step = self.velocity.v * acked / (self.delta * self.cwnd);
        self.cwnd = match direction {
            Direction::Up => self.cwnd + step,
            Direction::Down => (self.cwnd - step).max(MIN_CWND),
        };
    }

    fn publish(&mut self, cx: &Cx, w: &mut Window) {
        w.cwnd = (self.cwnd * cx.mss as f64) as u64;
        let standing = self.standing_us();
        let rtt_s = match standing {
            u64::MAX if cx.srtt > Nanos::ZERO => cx.srtt.as_secs_f64(),
            u64::MAX => 1e-3,
            us => us as f64 * 1e-6,
        };
        w.pacing = Some(BitRate((PACING_GAIN * w.cwnd as f64 * 8.0 / rtt_s).max(1.0) as u64));
    }
}

impl CongestionControl for Copa {
    fn caps(&self) -> Caps {
        Caps { min_cwnd: 1, ..Caps::MODEL }
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        self.cwnd = w.cwnd as f64 / cx.mss.max(1) as f64;
        self.round_end_seq = cx.snd_nxt;
        self.publish(cx, w);
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        self.loss_in_round |= ev.newly_lost > 0;
        if let Some(rtt) = ev.rtt {
            self.sample(cx, rtt);
            self.note_queue();
        }
        if self.standing_us() == u64::MAX || ev.newly_acked == 0 {
            return;
        }
        if cx.snd_una > self.round_end_seq {
            self.on_round(cx);
        }
        // While the application does not use the window, samples carry no information about a
        // larger one.
        if !cx.app_limited || !self.is_below_target() {
            self.steer(ev.newly_acked as f64 / cx.mss.max(1) as f64);
        }
        self.publish(cx, w);
    }

    fn ssthresh(&mut self, _cx: &Cx, w: &Window) -> u64 {
        w.ssthresh
    }

    fn on_transition(&mut self, cx: &Cx, w: &mut Window, t: Transition) {
        if t == Transition::EnterRto {
            self.cwnd = (w.cwnd as f64 / cx.mss.max(1) as f64).max(1.0);
            self.slow_start = true;
            self.velocity = Velocity { v: 1.0, direction: Direction::Up, steady: 0, cwnd: self.cwnd };
            self.publish(cx, w);
        }
    }

    fn mode(&self, _w: &Window) -> &'static str {
        match (self.slow_start, self.competes()) {
            (true, _) => "slow start",
            (false, true) => "competitive",
            (false, false) => "default",
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let seconds = |us: u64| if us == u64::MAX { 0.0 } else { us as f64 * 1e-6 };
        out("delta", self.delta);
        out("velocity", self.velocity.v);
        out("min_rtt_s", seconds(self.min_rtt.get()));
        out("standing_rtt_s", seconds(self.standing_us()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::closed_loop::{Loop, Path, MSS};

    fn flow(path: Path) -> Loop<Copa> {
        let p = Params::defaults(PARAMS);
        Loop::new(path, |init| Copa::new(&p, init))
    }

    #[test]
    fn slow_start_doubles_per_rtt() {
        let mut f = flow(Path::new(100, 100));
        f.run_s(0.27);
        assert!((35..=45).contains(&f.cwnd()), "{}", f.cwnd());
        assert_eq!(f.cc.mode(&f.w), "slow start");
    }

    #[test]
    fn a_single_flow_fills_the_link_with_a_queue_of_a_few_packets() {
        let path = Path::new(20, 50);
        let mut f = flow(path);
        f.run_s(10.0);
        let mut queueing = vec![];
        let goodput = f.run(Nanos::from_secs(10), |f| queueing.push((f.rtt() - path.rtt).as_secs_f64()));
        assert!(goodput > 18.5, "{goodput}");
        let packets = queueing.iter().sum::<f64>() / queueing.len() as f64 * 20e6 / (1514.0 * 8.0);
        assert!((1.0..6.0).contains(&packets), "{packets}: about 1/delta = 2 and the packet in service");
        assert_eq!(f.cc.mode(&f.w), "default");
    }

    #[test]
    fn no_queue_means_an_unbounded_target() {
        let mut f = flow(Path::new(20, 50));
        f.run_s(0.08);
        assert!(f.cc.queueing_us() < 20_000);
        f.cc.standing_rtt = WindowedMin::new(1);
        f.cc.standing_rtt.update(0, f.cc.min_rtt.get());
        f.cc.cwnd = 1e6;
        assert!(f.cc.is_below_target());
    }

    #[test]
    fn the_velocity_doubles_after_three_steady_rtts_and_starts_over_on_a_turn() {
        let mut c = flow(Path::new(20, 50)).cc;
        let mut seen = vec![];
        for i in 1..=6 {
            c.cwnd += 1.0;
            c.on_round(&Cx { snd_nxt: i * MSS, ..Cx::default() });
            seen.push(c.velocity.v);
        }
        assert_eq!(seen, [1.0, 1.0, 2.0, 4.0, 8.0, 16.0]);
        c.cwnd -= 1.0;
        c.on_round(&Cx::default());
        assert_eq!(c.velocity.v, 1.0);
    }

    #[test]
    fn a_queue_that_never_empties_makes_it_compete_and_loss_makes_it_yield() {
        let mut c = flow(Path::new(20, 50)).cc;
        c.min_rtt.update(0, 50_000);
        c.max_rtt.update(0, 100_000);
        c.standing_rtt.update(0, 90_000);
        for _ in 0..COMPETITIVE_RTTS + 3 {
            c.note_queue();
            c.on_round(&Cx::default());
        }
        assert!(c.competes() && c.delta < 0.5, "{}", c.delta);
        let delta = c.delta;
        c.loss_in_round = true;
        c.on_round(&Cx::default());
        assert!((c.delta - (2.0 * delta).min(0.5)).abs() < 1e-12);
        c.standing_rtt = WindowedMin::new(1);
        c.standing_rtt.update(0, 50_000);
        c.note_queue();
        c.on_round(&Cx::default());
        assert_eq!(c.delta, 0.5);
    }

    #[test]
    fn random_loss_does_not_matter_in_default_mode() {
        let goodput = flow(Path { loss: 0.01, ..Path::new(20, 50) }).run_s(20.0);
        assert!(goodput > 16.0, "{goodput}");
    }
}
