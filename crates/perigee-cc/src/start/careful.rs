// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Careful Resume (RFC 9959): half of a window that an earlier connection has observed on the same
//! path, paced over a round and then checked.
//!
//! ```text
//! reconnaissance  ordinary slow start with the initial window. Stops at congestion, a path change,
//!                 parameters older than their lifetime, min RTT ≤ saved/2 or > 10·saved
//!   initial data acknowledged, and more to send
//! unvalidated     pipe = in flight; cwnd = min(max_jump, saved/2), paced over the current RTT;
//!                 pipe += acked. Until the window is sent, a packet of it is acknowledged, or a
//!                 round has passed; then cwnd = in flight, or pipe and the end if that is more
//! validating      cwnd += acked, pipe += acked, until the last unvalidated packet is acknowledged
//! safe retreat    at congestion: cwnd ≤ pipe/2 until the repair is complete, then
//!                 ssthresh = beta·pipe; the saved parameters are deleted
//! ```
//!
//! Without a saved window in the scenario, the flow takes what an earlier flow of the run between
//! the same ends has observed: the most that was acknowledged within the lowest RTT, and that RTT. One flow at a time uses it.
//!
//! With BBR the jump is a floor of its pacing rate and window while it is being sent; the rules for
//! leaving and retreat are the same, but losses count from 2 % on, as for BBR itself.
//!
//! `then = "saved"` ends slow start at the saved window, which the RFC permits and does not require:
//! with the RFC's ordinary slow start (`classic`) a window that is validated doubles once more.

use super::memory::{Memory, Saved};
use super::started::{grow, Step};
use crate::{AckEvent, BitRate, ConnInit, Cx, Domain, Nanos, ParamSpec, Params, Window, INFINITE_SSTHRESH};

const TIME: Domain = Domain::Time { default: Nanos::ZERO, min: Nanos::ZERO, max: Nanos::from_secs(1 << 30) };

/// Parameters.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "saved_window",
        domain: Domain::Data { share: 1.0, of: "the observation of an earlier flow" },
        unit: "",
        source: "RFC 9959 section 3.1 (saved_cwnd)",
        help: "capacity of the path, as saved by an earlier connection",
    },
    ParamSpec {
        name: "saved_rtt",
        domain: TIME,
        unit: "",
        source: "RFC 9959 section 3.1",
        help: "minimum RTT, as saved by that connection; required with saved_window, no effect without",
    },
    ParamSpec {
        name: "saved_age",
        domain: TIME,
        unit: "",
        source: "scenario",
        help: "age of the saved values at the start of the flow",
    },
    ParamSpec {
        name: "lifetime",
        domain: Domain::Time {
            default: Nanos::from_secs(300),
            min: Nanos(1),
            max: Nanos::from_secs(1 << 30),
        },
        unit: "",
        source: "RFC 7661 section 4.4 (five minutes); RFC 9959 leaves it to the sender",
        help: "age above which saved values are not used",
    },
    ParamSpec {
        name: "share",
        domain: Domain::Float { default: 0.5, min: 0.01, max: 1.0 },
        unit: "fraction",
        source: "RFC 9959 section 3.3 (at most half); picoquic's BBR uses all of it",
        help: "fraction of the saved window used for the jump",
    },
    ParamSpec {
        name: "max_jump",
        domain: Domain::Data { share: 1.0, of: "that fraction of the saved window" },
        unit: "",
        source: "RFC 9959 section 3.3",
        help: "maximum window of the jump",
    },
    ParamSpec {
        name: "beta",
        domain: Domain::Float { default: 0.5, min: 0.5, max: 1.0 },
        unit: "fraction",
        source: "RFC 9959 section 3.5",
        help: "slow start threshold after a retreat, as a fraction of the data delivered",
    },
    ParamSpec {
        name: "then",
        domain: Domain::Choice(&["classic", "saved"]),
        unit: "",
        source: "RFC 9959 section 3.6; choice",
        help: "slow start after the jump: classic = until a loss; saved = up to the saved window",
    },
];

/// # Errors
/// A saved window without an RTT: the RFC requires both.
pub(super) fn check(p: &Params) -> Result<(), String> {
    match p.is_given("saved_window") && p.time("saved_rtt") == Nanos::ZERO {
        true => Err("saved_rtt is missing: saved_window needs the lowest RTT that was saved with it; \
                     add saved_rtt = \"600 ms\""
            .into()),
        false => Ok(()),
    }
}

/// A saved RTT counts as that of another path from this multiple on.
const MAX_RTT_RATIO: u64 = 10;
/// Loss from which on a scheme that measures the path itself is congested: BBR's 2 % of a flight,
/// and at least this number of packets.
const MODEL_LOSS: (u64, u64) = (50, 6);
/// Windows below this multiple of the initial one are not saved.
const LEAST_SAVED: u64 = 4;
/// Window of BBR during the jump, as a multiple of rate and RTT (BBRStartupCwndGain).
const MODEL_CWND_GAIN: u64 = 2;

/// Phase of the resumption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Slow start with the initial window.
    Reconnaissance,
    /// The jump is being sent.
    Unvalidated,
    /// The jump is being acknowledged.
    Validating,
    /// Congestion followed the jump.
    SafeRetreat,
    /// No or no more use of saved parameters.
    Normal,
}

/// Observation of the path by rounds, for later flows.
#[derive(Clone, Debug, Default)]
struct Round {
    end: u64,
    start: Nanos,
    delivered: u64,
    best: u64,
}

/// State of one connection.
#[derive(Clone, Debug)]
pub struct Careful {
    phase: Phase,
    /// Values given by the scenario.
    given: Option<Saved>,
    lifetime: Nanos,
    share: f64,
    max_jump: Option<u64>,
    beta: f64,
    up_to_saved: bool,
    memory: Option<Memory>,
    /// Values in use.
    saved: Option<Saved>,
    model: bool,
    init_cwnd: u64,
    min_rtt: Nanos,
    /// Newest sample.
    rtt: Nanos,
    /// Sequence number that ends the initial data.
    initial_end: Option<u64>,
    first_unvalidated: u64,
    last_unvalidated: u64,
    entered: Nanos,
    jump: u64,
    pipe: u64,
    /// Bytes lost since the jump.
    lost: u64,
    /// What the path had delivered when the retreat began.
    retreat_pipe: u64,
    /// Most that the window may be during a retreat.
    limit: u64,
    /// Window as a share of what was delivered before the retreat; zero outside of it.
    retreat_share: f64,
    /// The first retransmission of a retreat has been let through.
    probed: bool,
    round: Round,
}

impl Careful {
    /// A start of a new connection; `model`: of a scheme that measures the path itself.
    pub fn new(p: &Params, memory: Option<Memory>, init: &ConnInit, model: bool) -> Self {
        let lifetime = p.time("lifetime");
        let given = p.is_given("saved_window").then(|| Saved {
            window: p.data("saved_window", 0),
            rtt: p.time("saved_rtt"),
            at: Nanos::ZERO,
        });
        Careful {
            phase: Phase::Normal,
            given: given.filter(|_| p.time("saved_age") <= lifetime),
            lifetime,
            share: p.float("share"),
            max_jump: p.is_given("max_jump").then(|| p.data("max_jump", 0)),
            beta: p.float("beta"),
            up_to_saved: p.choice("then") == "saved",
            memory,
            saved: None,
            model,
            init_cwnd: init.init_cwnd,
            min_rtt: Nanos::MAX,
            rtt: Nanos::ZERO,
            initial_end: None,
            first_unvalidated: 0,
            last_unvalidated: 0,
            entered: Nanos::ZERO,
            jump: 0,
            pipe: 0,
            lost: 0,
            retreat_pipe: 0,
            limit: 0,
            retreat_share: 0.0,
            probed: false,
            round: Round::default(),
        }
    }

    /// Phase now.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Saved window in use, window of the jump, and what the path has delivered of it, in bytes.
    pub fn sizes(&self) -> (u64, u64, u64) {
        (self.saved.map_or(0, |s| s.window), self.jump, self.pipe)
    }

    /// Window during a retreat as a share of what the path had delivered before.
    pub fn retreat_share(&self) -> f64 {
        if self.phase == Phase::SafeRetreat {
            self.retreat_share
        } else {
            0.0
        }
    }

    /// The connection starts: looks for saved parameters.
    pub fn on_start(&mut self, cx: &Cx) {
        self.saved = match &self.memory {
            Some(memory) => memory.take(cx.now, self.lifetime),
            None => self.given,
        };
        self.phase = Phase::Reconnaissance;
    }

    /// Processes an ACK of the start.
    pub fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) -> Step {
        self.observe(cx, ev);
        let congested = self.is_congested(cx, ev);
        match self.phase {
            Phase::Reconnaissance if congested => self.stop(),
            Phase::Reconnaissance => self.confirm(cx, w),
            Phase::Unvalidated | Phase::Validating if congested && self.model => self.retreat(cx),
            Phase::Unvalidated => {
                self.pipe += ev.newly_acked;
                self.check_unvalidated(cx, w, ev);
            }
            Phase::Validating => {
                self.pipe += ev.newly_acked;
                if cx.snd_una >= self.last_unvalidated {
                    self.stop();
                }
            }
            _ => {}
        }
        if self.model {
            self.steer_model(cx, w);
        } else if !matches!(self.phase, Phase::Unvalidated | Phase::SafeRetreat) {
            let grown = self.grown_by(w, ev);
            grow(cx, w, ev, grown);
        }
        let enough =
            self.up_to_saved && self.saved.is_some_and(|s| cx.packets(w.cwnd) >= cx.packets(s.window));
        if !self.model && enough && self.phase == Phase::Normal && self.jump > 0 {
            return Step::Leave;
        }
        Step::Stay
    }

    /// Whether an ACK is a sign of congestion; of losses, schemes that measure the path ignore a few.
    fn is_congested(&mut self, cx: &Cx, ev: &AckEvent<'_>) -> bool {
        self.lost += ev.newly_lost;
        let few = self.lost * MODEL_LOSS.0 <= self.pipe + self.lost || self.lost <= cx.bytes(MODEL_LOSS.1);
        let is_jump = matches!(self.phase, Phase::Unvalidated | Phase::Validating);
        ev.ece > 0 || (ev.newly_lost > 0 && !(self.model && is_jump && few))
    }

    /// Bytes by which slow start grows: not beyond the saved window, if that ends it.
    fn grown_by(&self, w: &Window, ev: &AckEvent<'_>) -> u64 {
        match self.saved {
            Some(s) if self.up_to_saved && self.jump > 0 => {
                ev.newly_acked.min(s.window.saturating_sub(w.cwnd))
            }
            _ => ev.newly_acked,
        }
    }

    /// Jumps once the initial data is acknowledged and more is to be sent.
    fn confirm(&mut self, cx: &Cx, w: &mut Window) {
        let end = *self.initial_end.get_or_insert(cx.snd_nxt);
        if cx.snd_una < end || !cx.cwnd_limited {
            return;
        }
        let Some(saved) = self.saved else { return self.stop() };
        let other_path = self.min_rtt <= saved.rtt / 2
            || self.min_rtt > saved.rtt.0.checked_mul(MAX_RTT_RATIO).map_or(Nanos::MAX, Nanos);
        let jump = ((saved.window as f64 * self.share) as u64).min(self.max_jump.unwrap_or(u64::MAX));
        if other_path || jump <= w.cwnd || cx.srtt == Nanos::ZERO {
            return self.stop();
        }
        self.phase = Phase::Unvalidated;
        self.entered = cx.now;
        self.first_unvalidated = cx.snd_nxt;
        self.pipe = cx.in_flight;
        self.lost = 0;
        self.jump = jump;
        if !self.model {
            w.cwnd = jump;
            w.pacing = Some(BitRate::of(jump, self.rtt));
        }
    }

    fn check_unvalidated(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        let flight = cx.in_flight;
        let sent = ev.prior_in_flight.max(flight) + u64::from(cx.mss) > self.jump;
        let arrived = cx.snd_una > self.first_unvalidated;
        let late = cx.now.saturating_sub(self.entered) > cx.srtt;
        if !(sent || arrived || late) {
            return;
        }
        self.last_unvalidated = cx.snd_nxt;
        if self.model {
            self.phase = Phase::Validating;
            return;
        }
        w.pacing = None;
        if flight < self.init_cwnd || flight <= self.pipe {
            // The jump was not used: the window is what the path has delivered.
            w.cwnd = cx.bytes(cx.packets(self.pipe.max(self.init_cwnd)));
            return self.stop();
        }
        w.cwnd = cx.bytes(cx.packets(flight));
        self.phase = Phase::Validating;
    }

    /// A floor of the pacing rate and the window while the jump is sent, a ceiling in a retreat.
    fn steer_model(&self, cx: &Cx, w: &mut Window) {
        match self.phase {
            Phase::Unvalidated => {
                let rate = BitRate::of(self.jump, self.rtt);
                w.pacing = Some(w.pacing.map_or(rate, |p| p.max(rate)));
                w.cwnd = w.cwnd.max(self.jump.saturating_mul(MODEL_CWND_GAIN));
            }
            Phase::SafeRetreat => w.cwnd = w.cwnd.min(self.limit.max(cx.bytes(2))),
            _ => {}
        }
    }

    /// A reduction starts. The threshold of a retreat, unless the scheme's own holds.
    pub fn on_reduction(&mut self, cx: &Cx) -> Option<u64> {
        match self.phase {
            Phase::Unvalidated | Phase::Validating => {
                self.retreat(cx);
                Some(self.limit)
            }
            _ => {
                self.stop();
                None
            }
        }
    }

    fn retreat(&mut self, cx: &Cx) {
        if self.phase == Phase::Unvalidated {
            self.last_unvalidated = cx.snd_nxt;
        }
        self.phase = Phase::SafeRetreat;
        self.retreat_pipe = self.pipe;
        self.limit = (self.pipe / 2).max(cx.bytes(2));
        self.probed = false;
        if let Some(memory) = &self.memory {
            memory.forget();
        }
    }

    /// Processes an ACK of a retreat, after the transport has set its window.
    pub fn on_repair(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        if self.phase != Phase::SafeRetreat {
            return;
        }
        self.pipe += ev.newly_acked;
        // The first retransmission need not wait until the path is drained.
        let first = if self.probed { 0 } else { cx.in_flight + u64::from(cx.mss) };
        self.probed = true;
        w.cwnd = w.cwnd.min(self.limit.max(first));
        w.pacing = None;
        self.retreat_share = if first > 0 { 0.0 } else { w.cwnd as f64 / self.retreat_pipe.max(1) as f64 };
    }

    /// The repair is complete.
    pub fn after_repair(&mut self, cx: &Cx, w: &mut Window) {
        if self.phase == Phase::SafeRetreat {
            w.cwnd = w.cwnd.min(self.limit);
            let threshold = (self.pipe as f64 * self.beta) as u64;
            w.ssthresh = cx.bytes(cx.packets(threshold).max(2)).min(INFINITE_SSTHRESH);
        }
        self.phase = Phase::Normal;
    }

    /// Whether a retreat of a scheme that measures the path itself is over.
    pub fn ends_model_retreat(&mut self, cx: &Cx) {
        if self.model && self.phase == Phase::SafeRetreat && cx.snd_una >= self.last_unvalidated {
            self.phase = Phase::Normal;
        }
    }

    /// Ends the use of saved parameters: a timeout, a changed path.
    pub fn stop(&mut self) {
        if self.saved.is_some() && self.phase != Phase::Normal {
            if let Some(memory) = &self.memory {
                memory.release();
            }
        }
        self.phase = Phase::Normal;
    }

    /// Measures RTT and rounds, the latter for later flows.
    pub fn observe(&mut self, cx: &Cx, ev: &AckEvent<'_>) {
        if let Some(rtt) = ev.rtt {
            self.rtt = rtt;
            self.min_rtt = self.min_rtt.min(rtt);
        }
        let Some(memory) = &self.memory else { return };
        self.round.delivered += ev.newly_acked;
        if cx.snd_una < self.round.end {
            return;
        }
        let (took, delivered) = (cx.now.saturating_sub(self.round.start), self.round.delivered);
        self.round = Round { end: cx.snd_nxt, start: cx.now, delivered: 0, best: self.round.best };
        if took == Nanos::ZERO || self.min_rtt == Nanos::MAX {
            return;
        }
        // A queue lengthens the round, and adds to what it delivers.
        let share = (self.min_rtt.0 as f64 / took.0 as f64).min(1.0);
        self.round.best = self.round.best.max((delivered as f64 * share) as u64);
        if self.phase == Phase::Normal && self.round.best >= LEAST_SAVED * self.init_cwnd {
            memory.save(Saved { window: self.round.best, rtt: self.min_rtt, at: cx.now });
        }
    }
}
