// SPDX-License-Identifier: Apache-2.0 OR MIT
//! CoDel (RFC 8289): controls the sojourn time of packets at the head of the queue.
//!
//! Once the sojourn time has exceeded `target` for an entire `interval`, one packet is dropped (or
//! marked), and further ones at distances of `interval / sqrt(count)` (section 3.3), until a
//! sojourn time is below the target or the backlog is at most one full packet. A dropping state
//! that was left less than 16 intervals ago resumes near its former rate (section 5.5).

use crate::{Discipline, DisciplineInfo, Packet, Port, Setup, Verdict, MTU};
use perigee_units::params::{Domain, ParamSpec, Params};
use perigee_units::Nanos;

/// Entry in [`DISCIPLINES`](crate::DISCIPLINES).
pub const INFO: DisciplineInfo = DisciplineInfo {
    id: "codel",
    label: "CoDel",
    summary: "drops or marks at the head while the queueing delay is too high (RFC 8289)",
    params: &[TARGET, INTERVAL],
    make: Some(|params, setup| Box::new(CoDel::new(params, setup))),
};

pub(crate) const TARGET: ParamSpec = ParamSpec {
    name: "target",
    domain: Domain::Time {
        default: Nanos::from_millis(5),
        min: Nanos::from_micros(1),
        max: Nanos::from_secs(100),
    },
    unit: "",
    source: "RFC 8289 section 4.3",
    help: "acceptable queueing delay",
};

pub(crate) const INTERVAL: ParamSpec = ParamSpec {
    name: "interval",
    domain: Domain::Time {
        default: Nanos::from_millis(100),
        min: Nanos::from_micros(1),
        max: Nanos::from_secs(100),
    },
    unit: "",
    source: "RFC 8289 section 4.3",
    help: "time for which a higher delay is tolerated",
};

/// Number of intervals within which a dropping state that has ended is resumed.
const RECENT_INTERVALS: u64 = 16;

/// Control law for one queue.
#[derive(Clone, Debug)]
pub struct Control {
    target: Nanos,
    interval: Nanos,
    /// Instant at which the sojourn time will have exceeded the target for an interval; zero = it
    /// is below the target.
    first_above: Nanos,
    drop_next: Nanos,
    /// Number of drops in this dropping state, and the initial value of that counter.
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl Control {
    /// Control of an empty queue.
    pub fn new(params: &Params) -> Self {
        Control {
            target: params.time("target"),
            interval: params.time("interval"),
            first_above: Nanos::ZERO,
            drop_next: Nanos::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
        }
    }

    /// Whether the sojourn time has exceeded the target for an interval.
    fn is_late(&mut self, now: Nanos, sojourn: Nanos, left: u64) -> bool {
        if sojourn < self.target || left <= MTU {
            self.first_above = Nanos::ZERO;
            return false;
        }
        if self.first_above == Nanos::ZERO {
            self.first_above = now + self.interval;
            return false;
        }
        now >= self.first_above
    }

    fn next_after(&self, from: Nanos) -> Nanos {
        let root = libm::sqrt(f64::from(self.count));
        from + Nanos((self.interval.0 as f64 / root) as u64)
    }

    /// Returns whether to drop (or mark) the packet at the head, which has waited for `sojourn` and
    /// has `left` bytes queued after it. `again`: another packet was dropped at this transmission
    /// opportunity.
    pub fn on_head(&mut self, now: Nanos, sojourn: Nanos, left: u64, again: bool) -> bool {
        let late = self.is_late(now, sojourn, left);
        if self.dropping {
            if !late {
                self.dropping = false;
                return false;
            }
            if now < self.drop_next {
                return false;
            }
            self.count += 1;
            self.drop_next = self.next_after(self.drop_next);
            return true;
        }
        if !late || again {
            return false;
        }
        self.dropping = true;
        let drops = self.count - self.last_count;
        let recent = now.saturating_sub(self.drop_next) < self.interval * RECENT_INTERVALS;
        self.count = if drops > 1 && recent { drops } else { 1 };
        self.drop_next = self.next_after(now);
        self.last_count = self.count;
        true
    }

    /// Handles an empty queue.
    pub fn on_empty(&mut self) {
        self.dropping = false;
        self.first_above = Nanos::ZERO;
    }
}

/// State of one port.
#[derive(Clone, Debug)]
pub struct CoDel {
    control: Control,
}

impl CoDel {
    /// An empty queue.
    pub fn new(params: &Params, _setup: &Setup) -> Self {
        CoDel { control: Control::new(params) }
    }
}

impl Discipline for CoDel {
    fn on_dequeue(&mut self, port: &Port, packet: &Packet, again: bool) -> Verdict {
        let left = port.bytes - u64::from(packet.bytes);
        match self.control.on_head(port.now, packet.sojourn(port.now), left, again) {
            true => packet.notify(),
            false => Verdict::Pass,
        }
    }

    fn on_empty(&mut self) {
        self.control.on_empty();
    }
}
