// SPDX-License-Identifier: Apache-2.0 OR MIT
//! DualPI2 (RFC 9332 appendix A): a queue for scalable (L4S) and one for classic traffic with
//! coupled congestion signals, so that both get a fair share while scalable traffic has almost no
//! queueing delay.
//!
//! * ECT(1) and CE go to the L queue, ECT(0) and Not-ECT to the C queue (section 2.3; RFC 9331
//!   section 5.1).
//! * Every `tupdate`, a proportional-integral controller moves the base probability by
//!   `p' += alpha * (q - target) + beta * (q - q_old)`, with `q` = the longer sojourn time of the
//!   two heads (appendices A.1 and A.2).
//! * Classic packets are marked or dropped with `p_C = p'^2`; scalable ones are marked with the
//!   larger of the coupled `p_CL = coupling * p'` and of the step function (sojourn time above
//!   `step`, with another packet queued after it).
//! * Overload: once `p_CL` reaches 1, scalable packets are dropped with `p_C` like classic ones,
//!   and ECN-capable classic ones are dropped instead of marked. With `overload = "overflow"`, `p'`
//!   stops at `1 / coupling` and the queue's limit does the rest.
//! * The L queue has priority, except for the share `classic_protection` of the bytes that the C
//!   queue may send (weighted round robin, section 4.2.1).
//!
//! Signals are spread evenly by accumulated probability (`recur()` of appendix A.1): no random
//! numbers are drawn. The default parameters are those of Linux's `dualpi2`; those of the RFC for
//! an RTT of at most 100 ms differ in rounding only (15 ms between updates, 0.15 Hz, 3 Hz, and a
//! ramp from 0.8 ms to 1.2 ms in place of the step).

use crate::{Discipline, DisciplineInfo, Ecn, Packet, Port, Queues, Setup, Verdict, MTU};
use perigee_units::params::{Domain, ParamSpec, Params};
use perigee_units::Nanos;
use std::collections::VecDeque;

/// Entry in [`DISCIPLINES`](crate::DISCIPLINES).
pub const INFO: DisciplineInfo = DisciplineInfo {
    id: "dualpi2",
    label: "DualPI2",
    summary: "two coupled queues, for scalable (L4S) and for classic traffic (RFC 9332)",
    params: PARAMS,
    make: Some(|params, setup| Box::new(DualPi2::new(params, setup))),
};

const fn time(name: &'static str, default: Nanos, source: &'static str, help: &'static str) -> ParamSpec {
    let domain = Domain::Time { default, min: Nanos::from_micros(1), max: Nanos::from_secs(100) };
    ParamSpec { name, domain, unit: "", source, help }
}

const fn gain(name: &'static str, default: f64, help: &'static str) -> ParamSpec {
    let domain = Domain::Float { default, min: 0.0, max: 1000.0 };
    ParamSpec { name, domain, unit: "Hz", source: "Linux; RFC 9332 appendix A.1", help }
}

const PARAMS: &[ParamSpec] = &[
    time(
        "target",
        Nanos::from_millis(15),
        "RFC 9332 appendix A.1",
        "target queueing delay of classic traffic",
    ),
    time(
        "tupdate",
        Nanos::from_millis(16),
        "Linux; RFC 9332 appendix A.1",
        "interval between updates of the probability",
    ),
    gain("alpha", 0.16, "integral gain: weight of the delay above the target, per update"),
    gain("beta", 3.2, "proportional gain: weight of the growth of the delay, per update"),
    ParamSpec {
        name: "coupling",
        domain: Domain::Float { default: 2.0, min: 0.1, max: 255.0 },
        unit: "",
        source: "RFC 9332 section 4.3, k",
        help: "ratio of the probability for scalable traffic to the base probability",
    },
    time(
        "step",
        Nanos::from_millis(1),
        "Linux; RFC 9332 appendix A.1 (a ramp around it)",
        "sojourn time above which scalable packets are marked",
    ),
    ParamSpec {
        name: "classic_protection",
        domain: Domain::Float { default: 0.1, min: 0.0, max: 1.0 },
        unit: "fraction",
        source: "Linux",
        help: "share of the bytes guaranteed to the classic queue in competition with scalable traffic",
    },
    ParamSpec {
        name: "overload",
        domain: Domain::Choice(&["drop", "overflow"]),
        unit: "",
        source: "RFC 9332 section 4.2.3",
        help: "treatment of scalable packets once all of them are marked: drop = random drops; overflow = drops at the queue limit",
    },
];

/// One of the two queues.
#[derive(Clone, Debug, Default)]
struct Lane {
    packets: VecDeque<Packet>,
    /// Probability accumulated since the last signal.
    owed: f64,
}

impl Lane {
    /// Sojourn time of the head at `now`.
    fn delay(&self, now: Nanos) -> Nanos {
        self.packets.front().map_or(Nanos::ZERO, |p| p.sojourn(now))
    }

    /// Adds `probability` to the accumulated one; returns whether a signal is due.
    fn signals(&mut self, probability: f64) -> bool {
        self.owed += probability;
        let due = self.owed > 1.0;
        if due {
            self.owed -= 1.0;
        }
        due
    }
}

/// State of one port.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    target: f64,
    tupdate: Nanos,
    alpha: f64,
    beta: f64,
    coupling: f64,
    step: Nanos,
    protection: f64,
    /// Maximum base probability.
    limit: f64,
    scalable: Lane,
    classic: Lane,
    /// Base probability p', and the delay in seconds at the latest update.
    base: f64,
    old_delay: f64,
    next_update: Nanos,
    /// Bytes that the classic queue may send before its turn.
    credit: f64,
    /// Whether the head of the scalable queue is next.
    turn_scalable: bool,
}

impl DualPi2 {
    /// Empty queues.
    pub fn new(params: &Params, _setup: &Setup) -> Self {
        let (coupling, protection) = (params.float("coupling"), params.float("classic_protection"));
        let tupdate = params.time("tupdate");
        DualPi2 {
            target: params.time("target").as_secs_f64(),
            tupdate,
            alpha: params.float("alpha"),
            beta: params.float("beta"),
            coupling,
            step: params.time("step"),
            protection,
            limit: if params.choice("overload") == "drop" { 1.0 } else { (1.0 / coupling).min(1.0) },
            scalable: Lane::default(),
            classic: Lane::default(),
            base: 0.0,
            old_delay: 0.0,
            next_update: tupdate,
            credit: first_credit(protection),
            turn_scalable: true,
        }
    }

    /// The base probability p'.
    pub fn probability(&self) -> f64 {
        self.base
    }

    /// Performs the updates due until `now`, during which the queues did not change.
    fn advance(&mut self, now: Nanos) {
        while self.next_update <= now {
            let at = self.next_update;
            self.next_update += self.tupdate;
            if self.base == 0.0 && self.old_delay == 0.0 && self.is_empty() {
                let idle = now.saturating_sub(self.next_update).0 / self.tupdate.0;
                self.next_update += self.tupdate * idle;
                continue;
            }
            let delay = self.classic.delay(at).max(self.scalable.delay(at)).as_secs_f64();
            let step = self.alpha * (delay - self.target) + self.beta * (delay - self.old_delay);
            self.base = (self.base + step).clamp(0.0, self.limit);
            self.old_delay = delay;
        }
    }

    fn is_empty(&self) -> bool {
        self.scalable.packets.is_empty() && self.classic.packets.is_empty()
    }

    /// Whether marks become drops: p_CL has reached 1.
    fn is_overloaded(&self) -> bool {
        self.limit == 1.0 && self.coupling * self.base >= 1.0
    }

    fn on_scalable(&mut self, now: Nanos, packet: &Packet) -> Verdict {
        let coupled = (self.coupling * self.base).min(1.0);
        if self.is_overloaded() {
            if self.scalable.signals(self.base * self.base) {
                return Verdict::Drop;
            }
            return if self.scalable.signals(coupled) { Verdict::Mark } else { Verdict::Pass };
        }
        let late = packet.sojourn(now) > self.step && self.scalable.packets.len() > 1;
        if self.scalable.signals(if late { 1.0 } else { coupled }) {
            Verdict::Mark
        } else {
            Verdict::Pass
        }
    }

    fn on_classic(&mut self, packet: &Packet) -> Verdict {
        if !self.classic.signals(self.base * self.base) {
            return Verdict::Pass;
        }
        if self.is_overloaded() {
            Verdict::Drop
        } else {
            packet.notify()
        }
    }
}

/// Initial credit: one full packet of scalable traffic precedes the first classic packet.
fn first_credit(protection: f64) -> f64 {
    MTU as f64 * (2.0 * protection - 1.0)
}

impl Discipline for DualPi2 {
    /// `packet`: the head returned by [`Queues::head`].
    fn on_dequeue(&mut self, port: &Port, packet: &Packet, _again: bool) -> Verdict {
        self.advance(port.now);
        let verdict = match self.turn_scalable {
            true => self.on_scalable(port.now, packet),
            false => self.on_classic(packet),
        };
        if verdict != Verdict::Drop {
            let share = if self.turn_scalable { self.protection } else { self.protection - 1.0 };
            self.credit += share * f64::from(packet.bytes);
        }
        verdict
    }

    fn queues(&self) -> Option<&dyn Queues> {
        Some(self)
    }
    fn queues_mut(&mut self) -> Option<&mut dyn Queues> {
        Some(self)
    }
}

impl Queues for DualPi2 {
    fn push(&mut self, now: Nanos, packet: Packet, fits: bool, lost: &mut Vec<Packet>) {
        self.advance(now);
        if !fits {
            return lost.push(packet);
        }
        let lane = match packet.ecn {
            Ecn::Ect1 | Ecn::Ce => &mut self.scalable,
            Ecn::NotEct | Ecn::Ect0 => &mut self.classic,
        };
        lane.packets.push_back(packet);
    }

    fn head(&mut self) -> Option<Packet> {
        let (scalable, classic) = (self.scalable.packets.front(), self.classic.packets.front());
        if scalable.is_none() && classic.is_none() {
            self.credit = first_credit(self.protection);
            return None;
        }
        self.turn_scalable = scalable.is_some() && (classic.is_none() || self.credit <= 0.0);
        if self.turn_scalable { scalable } else { classic }.copied()
    }

    fn take(&mut self) -> Option<Packet> {
        if self.turn_scalable { &mut self.scalable } else { &mut self.classic }.packets.pop_front()
    }

    fn flush(&mut self, now: Nanos, link: u32, lost: &mut Vec<Packet>) {
        self.advance(now);
        for lane in [&mut self.scalable, &mut self.classic] {
            lost.extend(lane.packets.iter().filter(|p| p.link == link));
            lane.packets.retain(|p| p.link != link);
        }
    }

    fn for_each(&self, show: &mut dyn FnMut(&Packet)) {
        self.scalable.packets.iter().chain(&self.classic.packets).for_each(show);
    }
}
