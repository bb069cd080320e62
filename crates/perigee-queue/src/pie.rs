// SPDX-License-Identifier: Apache-2.0 OR MIT
//! PIE (RFC 8033): a drop probability that follows the queueing delay, applied to arriving packets.
//!
//! Every 15 ms, with the delay `d` = waiting bytes / rate, the probability changes by
//! `alpha * (d - target) + beta * (d - d_old)` (section 4.2), scaled down while it is small. The
//! safeguards of section 5 are implemented (burst allowance, no drops near an empty queue, at most
//! 2 % per step from 10 % on, 2 % more above 250 ms, decay when idle, drops neither bunched nor too
//! rare); above 10 % ECN-capable packets are dropped as well (section 5.1).

use crate::{Discipline, DisciplineInfo, Packet, Port, Setup, Verdict, MTU};
use perigee_units::params::{Domain, ParamSpec, Params};
use perigee_units::{BitRate, Nanos};

/// Entry in [`DISCIPLINES`](crate::DISCIPLINES).
pub const INFO: DisciplineInfo = DisciplineInfo {
    id: "pie",
    label: "PIE",
    summary: "drops or marks at random, with a probability controlled by the queueing delay (RFC 8033)",
    params: PARAMS,
    make: Some(|params, setup| Box::new(Pie::new(params, setup))),
};

const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "target",
        domain: Domain::Time {
            default: Nanos::from_millis(15),
            min: Nanos::from_micros(1),
            max: Nanos::from_secs(100),
        },
        unit: "",
        source: "RFC 8033 section 4.2, QDELAY_REF",
        help: "target queueing delay",
    },
    ParamSpec {
        name: "burst_allowance",
        domain: Domain::Time {
            default: Nanos::from_millis(150),
            min: Nanos::ZERO,
            max: Nanos::from_secs(100),
        },
        unit: "",
        source: "RFC 8033 section 4.4, MAX_BURST",
        help: "duration of a burst that passes without drops",
    },
];

/// Time between updates, T_UPDATE.
pub const UPDATE: Nanos = Nanos::from_millis(15);
/// Gains per second of delay (section 4.2).
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
/// Probability below which ECN-capable packets are marked (section 5.1).
const MARK_BELOW: f64 = 0.1;
/// Smaller probabilities have smaller steps (section 4.2): (probability below, factor).
const SCALE: [(f64, f64); 6] = [
    (1e-6, 1.0 / 2048.0),
    (1e-5, 1.0 / 512.0),
    (1e-4, 1.0 / 128.0),
    (1e-3, 1.0 / 32.0),
    (1e-2, 1.0 / 8.0),
    (1e-1, 1.0 / 2.0),
];

/// State of one port. Delays are in seconds.
#[derive(Clone, Debug)]
pub struct Pie {
    target: f64,
    burst: Nanos,
    allowance: Nanos,
    p: f64,
    old_delay: f64,
    /// Sum of the probabilities since the latest drop.
    accumulated: f64,
    next_update: Nanos,
}

impl Pie {
    /// An empty queue.
    pub fn new(params: &Params, _setup: &Setup) -> Self {
        let burst = params.time("burst_allowance");
        Pie {
            target: params.time("target").as_secs_f64(),
            burst,
            allowance: burst,
            p: 0.0,
            old_delay: 0.0,
            accumulated: 0.0,
            next_update: UPDATE,
        }
    }

    /// The drop probability.
    pub fn probability(&self) -> f64 {
        self.p
    }

    /// Performs the updates due until `now`, during which the queue did not change.
    fn advance(&mut self, now: Nanos, delay: f64) {
        while self.next_update <= now {
            self.next_update += UPDATE;
            if self.p == 0.0 && delay == 0.0 && self.old_delay == 0.0 && self.allowance == self.burst {
                let idle = now.saturating_sub(self.next_update).0 / UPDATE.0;
                self.next_update += UPDATE * idle;
                continue;
            }
            self.update(delay);
        }
    }

    fn update(&mut self, delay: f64) {
        let step = ALPHA * (delay - self.target) + BETA * (delay - self.old_delay);
        let factor = SCALE.iter().find(|(below, _)| self.p < *below).map_or(1.0, |(_, f)| *f);
        let mut step = step * factor;
        if self.p >= 0.1 {
            step = step.min(0.02);
        }
        self.p += step;
        if delay > 0.25 {
            self.p += 0.02;
        }
        if delay == 0.0 && self.old_delay == 0.0 {
            self.p *= 0.98;
        }
        self.p = self.p.clamp(0.0, 1.0);
        if self.p < 1e-15 {
            self.p = 0.0;
        }
        self.allowance = self.allowance.saturating_sub(UPDATE);
        if self.p == 0.0 && delay < self.target / 2.0 && self.old_delay < self.target / 2.0 {
            self.allowance = self.burst;
        }
        self.old_delay = delay;
    }
}

impl Discipline for Pie {
    fn on_arrival(&mut self, port: &Port, packet: &Packet) -> Verdict {
        self.advance(port.now, delay_s(port.bytes, port.rate));
        let calm = self.old_delay < self.target / 2.0 && self.p < 0.2;
        if self.allowance > Nanos::ZERO || calm || port.bytes <= 2 * MTU {
            return Verdict::Pass;
        }
        if self.p == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.p;
        let drops = self.accumulated >= 0.85 && (self.accumulated >= 8.5 || packet.draw < self.p);
        if !drops {
            return Verdict::Pass;
        }
        self.accumulated = 0.0;
        if self.p < MARK_BELOW {
            packet.notify()
        } else {
            Verdict::Drop
        }
    }

    fn on_dequeue(&mut self, port: &Port, _packet: &Packet, _again: bool) -> Verdict {
        self.advance(port.now, delay_s(port.bytes, port.rate));
        Verdict::Pass
    }
}

/// Transmission time of `queued` bytes; one second while the port is blocked.
fn delay_s(queued: u64, rate: BitRate) -> f64 {
    match rate.0 {
        0 if queued == 0 => 0.0,
        0 => 1.0,
        rate => queued as f64 * 8.0 / rate as f64,
    }
}
