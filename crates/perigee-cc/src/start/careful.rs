// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Careful Resume (RFC 9959): a jump to half of the window that an earlier connection saved for the
//! same path, paced over one RTT and then validated.
//!
//! ```text
//! reconnaissance  ordinary slow start with the initial window. Ends without a jump at congestion,
//!                 a path change, expired parameters, min RTT ≤ saved/2 or > 10·saved
//!   initial data acknowledged, and more to send
//! unvalidated     pipe = in flight; cwnd = min(max_jump, saved/2), paced over the current RTT;
//!                 pipe += acked. Ends once the window is sent, a packet of it is acknowledged, or
//!                 one RTT has passed: then cwnd = in flight and validation follows; if the jump
//!                 was not used (in flight ≤ pipe), cwnd = pipe and ordinary slow start follows
//! validating      cwnd += acked, pipe += acked, until the last unvalidated packet is acknowledged
//! safe retreat    at congestion: cwnd ≤ pipe/2 until the losses are repaired, then
//!                 ssthresh = beta·pipe; the saved parameters are deleted
//! ```
//!
//! Without a saved window in the scenario, a flow uses the observation of an earlier flow of the
//! run between the same ends: the lowest RTT, and the largest amount acknowledged within that time.
//! One flow at a time uses it.
//!
//! With a model-based scheme (BBR) the jump is a lower bound of the scheme's pacing rate and window
//! while it is being sent; the phases are the same, but losses count from 2 % on, as in BBR itself.
//!
//! `then = "saved"` ends slow start at the saved window, which the RFC permits and does not
//! require: with the RFC's ordinary slow start (`classic`) a validated window doubles once more.

use super::memory::{Memory, Saved};
use super::started::{grow, Step};
use crate::{AckEvent, BitRate, ConnInit, Cx, Domain, Nanos, ParamSpec, Params, Window, INFINITE_SSTHRESH};

const TIME: Domain = Domain::Time { default: Nanos::ZERO, min: Nanos::ZERO, max: Nanos::from_secs(1 << 30) };

/// Parameters of the start.
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

/// Checks the combination of parameters.
///
/// # Errors
/// If `saved_window` is given without `saved_rtt`: the RFC requires both.
pub(super) fn check(p: &Params) -> Result<(), String> {
    match p.is_given("saved_window") && p.time("saved_rtt") == Nanos::ZERO {
        true => Err("saved_rtt is missing: saved_window needs the lowest RTT that was saved with it; \
                     add saved_rtt = \"600 ms\""
            .into()),
        false => Ok(()),
    }
}

/// The path counts as another one if its minimum RTT is above this multiple of the saved RTT.
const MAX_RTT_RATIO: u64 = 10;
/// Losses that model-based schemes tolerate during the jump: up to 1/50 of the data (BBR's 2 %), or
/// up to 6 packets.
const MODEL_LOSS: (u64, u64) = (50, 6);
/// Windows below this multiple of the initial window are not saved.
const MIN_SAVED: u64 = 4;
/// Window of BBR during the jump, as a multiple of the jump (BBRStartupCwndGain).
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
    /// Saved parameters are not used, or no longer.
    Normal,
}

/// Measurement of the path per round trip, for later flows.
#[derive(Clone, Debug, Default)]
struct Round {
    /// Sequence number that ends the round.
    end: u64,
    start: Nanos,
    /// Bytes acknowledged in the round.
    delivered: u64,
    /// Largest amount of all rounds, scaled to the minimum RTT, in bytes.
    best: u64,
}

/// State of one connection.
#[derive(Clone, Debug)]
pub struct Careful {
    phase: Phase,
    /// Saved parameters from the scenario.
    given: Option<Saved>,
    lifetime: Nanos,
    share: f64,
    max_jump: Option<u64>,
    beta: f64,
    up_to_saved: bool,
    memory: Option<Memory>,
    /// Saved parameters in use.
    saved: Option<Saved>,
    /// Whether the scheme is model-based (BBR).
    model: bool,
    init_cwnd: u64,
    min_rtt: Nanos,
    /// Latest RTT sample.
    rtt: Nanos,
    /// Sequence number that ends the initial data.
    initial_end: Option<u64>,
    first_unvalidated: u64,
    last_unvalidated: u64,
    /// Time of the jump.
    entered: Nanos,
    /// Window of the jump, in bytes.
    jump: u64,
    /// PipeSize of the RFC: data in flight at the jump plus data acknowledged since, in bytes.
    pipe: u64,
    /// Bytes lost since the jump.
    lost: u64,
    /// `pipe` at the start of the retreat.
    retreat_pipe: u64,
    /// Upper bound of the window during a retreat, in bytes.
    limit: u64,
    /// Window as a fraction of `retreat_pipe`; zero outside a retreat.
    retreat_share: f64,
    /// Whether the first retransmission of the retreat has been allowed.
    retransmitted: bool,
    round: Round,
}

impl Careful {
    /// Start of a new connection; `model`: whether its scheme is model-based.
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
            retransmitted: false,
            round: Round::default(),
        }
    }

    /// Current phase.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Saved window in use, window of the jump, and PipeSize, in bytes.
    pub fn sizes(&self) -> (u64, u64, u64) {
        (self.saved.map_or(0, |s| s.window), self.jump, self.pipe)
    }

    /// Window during a retreat, as a fraction of PipeSize at its start; zero outside a retreat.
    pub fn retreat_share(&self) -> f64 {
        if self.phase == Phase::SafeRetreat {
            self.retreat_share
        } else {
            0.0
        }
    }

    /// Handles the start of the connection: takes the saved parameters, if there are any.
    pub fn on_start(&mut self, cx: &Cx) {
        self.saved = match &self.memory {
            Some(memory) => memory.take(cx.now, self.lifetime),
            None => self.given,
        };
        self.phase = Phase::Reconnaissance;
    }

    /// Processes an ACK during the start.
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
        let reached =
            self.up_to_saved && self.saved.is_some_and(|s| cx.packets(w.cwnd) >= cx.packets(s.window));
        if !self.model && reached && self.phase == Phase::Normal && self.jump > 0 {
            return Step::Leave;
        }
        Step::Stay
    }

    /// Whether an ACK signals congestion. Model-based schemes tolerate a few losses of the jump.
    fn is_congested(&mut self, cx: &Cx, ev: &AckEvent<'_>) -> bool {
        self.lost += ev.newly_lost;
        let few = self.lost * MODEL_LOSS.0 <= self.pipe + self.lost || self.lost <= cx.bytes(MODEL_LOSS.1);
        let is_jump = matches!(self.phase, Phase::Unvalidated | Phase::Validating);
        ev.ece > 0 || (ev.newly_lost > 0 && !(self.model && is_jump && few))
    }

    /// Bytes by which slow start grows the window; with `then = "saved"` not beyond the saved
    /// window.
    fn grown_by(&self, w: &Window, ev: &AckEvent<'_>) -> u64 {
        match self.saved {
            Some(s) if self.up_to_saved && self.jump > 0 => {
                ev.newly_acked.min(s.window.saturating_sub(w.cwnd))
            }
            _ => ev.newly_acked,
        }
    }

    /// Jumps once the initial data is acknowledged, if the path is unchanged and the window limits
    /// the sender.
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

    /// Ends the unvalidated phase when it is due.
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
            // The jump was not used: the window becomes the amount that the path has delivered.
            w.cwnd = cx.bytes(cx.packets(self.pipe.max(self.init_cwnd)));
            return self.stop();
        }
        w.cwnd = cx.bytes(cx.packets(flight));
        self.phase = Phase::Validating;
    }

    /// Lower bound of a model-based scheme's pacing rate and window while the jump is sent; upper
    /// bound of its window in a retreat.
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

    /// Handles the start of a reduction. Returns the threshold of a retreat, in bytes; `None` =
    /// that of the scheme.
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
        self.retransmitted = false;
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
        // The first retransmission does not have to wait until the path has drained.
        let first = if self.retransmitted { 0 } else { cx.in_flight + u64::from(cx.mss) };
        self.retransmitted = true;
        w.cwnd = w.cwnd.min(self.limit.max(first));
        w.pacing = None;
        self.retreat_share = if first > 0 { 0.0 } else { w.cwnd as f64 / self.retreat_pipe.max(1) as f64 };
    }

    /// Handles the end of loss recovery.
    pub fn after_repair(&mut self, cx: &Cx, w: &mut Window) {
        if self.phase == Phase::SafeRetreat {
            w.cwnd = w.cwnd.min(self.limit);
            let threshold = (self.pipe as f64 * self.beta) as u64;
            w.ssthresh = cx.bytes(cx.packets(threshold).max(2)).min(INFINITE_SSTHRESH);
        }
        self.phase = Phase::Normal;
    }

    /// Ends the retreat of a model-based scheme once the last unvalidated packet is acknowledged.
    pub fn end_model_retreat(&mut self, cx: &Cx) {
        if self.model && self.phase == Phase::SafeRetreat && cx.snd_una >= self.last_unvalidated {
            self.phase = Phase::Normal;
        }
    }

    /// Ends the use of saved parameters, for instance at a timeout or a path change.
    pub fn stop(&mut self) {
        if self.saved.is_some() && self.phase != Phase::Normal {
            if let Some(memory) = &self.memory {
                memory.release();
            }
        }
        self.phase = Phase::Normal;
    }

    /// Measures the RTT, and the data delivered per round for later flows.
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
        // A queue lengthens the round and adds to the data that it delivers.
        let share = (self.min_rtt.0 as f64 / took.0 as f64).min(1.0);
        self.round.best = self.round.best.max((delivered as f64 * share) as u64);
        if self.phase == Phase::Normal && self.round.best >= MIN_SAVED * self.init_cwnd {
            memory.save(Saved { window: self.round.best, rtt: self.min_rtt, at: cx.now });
        }
    }
}
