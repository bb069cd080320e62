// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random early detection: an arriving packet is marked or dropped with a probability that rises
//! with the queue.
//!
//! With `q` = the waiting bytes, or their moving average `avg += (q - avg) * red_weight`:
//!
//! * `q <= red_min`: passed.
//! * between: marked (if ECN-capable) or dropped with probability
//!   `max(red_p * (q - red_min) / (red_max - red_min), red_floor)`.
//! * `q >= red_max`: dropped.
//!
//! The default weight of 1 uses the instantaneous queue, as rate limiters of access networks do; S.
//! Floyd and V. Jacobson (Random Early Detection Gateways for Congestion Avoidance, 1993) recommend
//! 0.002. Their spacing of drops by a count of packets since the latest one is not implemented.

use crate::{Discipline, DisciplineInfo, Packet, Port, Setup, Verdict};
use perigee_units::params::{Domain, ParamSpec, Params};

/// Entry in [`DISCIPLINES`](crate::DISCIPLINES).
pub const INFO: DisciplineInfo = DisciplineInfo {
    id: "red",
    label: "RED",
    summary: "drops or marks at random, with a probability that rises with the queue length",
    params: PARAMS,
    make: Some(|params, setup| Box::new(Red::new(params, setup))),
};

const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "red_min",
        domain: Domain::Data { share: 0.5, of: "the queue" },
        unit: "",
        source: "ours",
        help: "queue length above which packets are dropped or marked",
    },
    ParamSpec {
        name: "red_max",
        domain: Domain::Data { share: 1.0, of: "the queue" },
        unit: "",
        source: "ours",
        help: "queue length from which all packets are dropped",
    },
    ParamSpec {
        name: "red_p",
        domain: Domain::Float { default: 0.1, min: 0.0, max: 1.0 },
        unit: "probability",
        source: "max_p of Floyd's recommendation of 1997",
        help: "probability just below red_max",
    },
    ParamSpec {
        name: "red_floor",
        domain: Domain::Float { default: 0.0, min: 0.0, max: 1.0 },
        unit: "probability",
        source: "ours",
        help: "minimum probability above red_min; with red_p at or below it the probability is a single step",
    },
    ParamSpec {
        name: "red_weight",
        domain: Domain::Float { default: 1.0, min: 1e-9, max: 1.0 },
        unit: "fraction",
        source: "ours; Floyd and Jacobson 1993: 0.002",
        help: "weight of the current queue length in the moving average; 1 = no averaging",
    },
];

/// State of one port.
#[derive(Clone, Debug)]
pub struct Red {
    min: u64,
    max: u64,
    p: f64,
    floor: f64,
    weight: f64,
    average: f64,
}

impl Red {
    /// An empty queue.
    pub fn new(params: &Params, setup: &Setup) -> Self {
        let min = params.data("red_min", setup.queue_bytes);
        Red {
            min,
            max: params.data("red_max", setup.queue_bytes).max(min + 1),
            p: params.float("red_p"),
            floor: params.float("red_floor"),
            weight: params.float("red_weight"),
            average: 0.0,
        }
    }
}

impl Discipline for Red {
    fn on_arrival(&mut self, port: &Port, packet: &Packet) -> Verdict {
        self.average += (port.bytes as f64 - self.average) * self.weight;
        let share = (self.average - self.min as f64) / (self.max - self.min) as f64;
        if share <= 0.0 {
            return Verdict::Pass;
        }
        if share >= 1.0 {
            return Verdict::Drop;
        }
        if packet.draw < (share * self.p).max(self.floor) {
            packet.notify()
        } else {
            Verdict::Pass
        }
    }
}
