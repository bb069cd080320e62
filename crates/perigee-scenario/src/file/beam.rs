// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[beam]`: terminals of others that share the carriers of a satellite.

use crate::file::error::Problem;
use crate::file::field::Bytes;
use crate::file::grammar::Only;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use perigee_timeline::{Carrier, Neighbours, Sharing};
use perigee_units::{BitRate, Nanos};

const FORWARD: &[Only] = &[Only::Given(&["forward_rate"])];
const RETURN: &[Only] = &[Only::Given(&["return_rate"])];

parameters! {
    /// `[beam]`.
    Beam = "beam", "Neighbours: other terminals that share the carriers of the satellite with the simulated one. They are not nodes; each has a queue per carrier, fed by an on/off source of its own that does not respond to congestion: bursts at a peak rate, of Pareto distributed sizes, and exponential idle times. forward_rate enables the forward carrier, return_rate the return carrier; at least one is required. The rate of the port remains the maximum of the simulated terminal.";
    neighbours: u64 = key(Notation::Int(0, Neighbours::COUNT as i64), "10", "number of neighbours");
    forward_rate: Option<BitRate> = optional(Notation::Rate, "rate of the forward carrier, from the gateway to all terminals. The gateway has a queue for each terminal and serves them in equal turns; that of the simulated terminal is its port's");
    forward_port: String = key(Notation::Text, "bottleneck", "port from the gateway to the simulated terminal: a class of ports that has one port, or a name"), only FORWARD;
    forward_frame: Nanos = key(Notation::Time(Carrier::FRAME[0], Carrier::FRAME[1]), "10 ms", "duration of a frame, in which each terminal with data gets a turn"), only FORWARD;
    forward_load: f64 = key(Notation::Share(0.0, 10.0), "0.5", "mean rate of the neighbours' sources, as a fraction of the forward carrier"), only FORWARD;
    forward_peak: Option<BitRate> = optional(Notation::Rate, "rate of a burst towards a neighbour, and maximum rate of its terminal; default: the port's rate"), only FORWARD;
    forward_burst: Bytes = key(Notation::Data, "2 MB", "mean size of a burst towards a neighbour"), only FORWARD;
    forward_burst_max: Bytes = key(Notation::Data, "1 GB", "maximum size of such a burst"), only FORWARD;
    forward_queue: Bytes = key(Notation::Data, "36 MB", "queue of each neighbour at the gateway; data beyond it are lost"), only FORWARD;
    return_rate: Option<BitRate> = optional(Notation::Rate, "rate of the return carrier, from all terminals to the gateway. The port requires demand assignment (dama_delay); its frames, delay and constant and free capacity apply to every terminal, and neighbours request by volume");
    return_port: String = key(Notation::Text, "reverse", "port from the simulated terminal to the gateway: a class of ports that has one port, or a name"), only RETURN;
    return_load: f64 = key(Notation::Share(0.0, 10.0), "0.5", "mean rate of the neighbours' sources, as a fraction of the return carrier"), only RETURN;
    return_peak: Option<BitRate> = optional(Notation::Rate, "rate of a burst from a neighbour, and maximum rate of its terminal; default: the port's rate"), only RETURN;
    return_burst: Bytes = key(Notation::Data, "50 kB", "mean size of a burst from a neighbour"), only RETURN;
    return_burst_max: Bytes = key(Notation::Data, "100 MB", "maximum size of such a burst"), only RETURN;
    return_queue: Bytes = key(Notation::Data, "1 MB", "queue of each neighbour at its terminal; data beyond it are lost"), only RETURN;
    grants: String = key(Notation::Word(&["proportional", "round-robin"]), "proportional", "division of a frame of the return carrier that cannot meet all requests: in proportion to them, or in equal shares"), only RETURN;
    grant_floor: Option<BitRate> = optional(Notation::Rate, "rate up to which each terminal's requests are granted before the rest is divided in proportion; default: none"), only RETURN;
    request_slots: u64 = key(Notation::Int(0, 1000), "0", "slots of each frame in which terminals without a grant contend to send requests: two in one slot lose theirs, and repeat it within 16 frames once they have detected the loss; 0 = each terminal has a slot of its own"), only RETURN;
    burst_shape: f64 = key(Notation::Number(Neighbours::SHAPE[0], Neighbours::SHAPE[1]), "1.5", "exponent of the Pareto distribution of bursts: smaller values give rarer, longer bursts");
}

impl Beam {
    /// Carrier from the gateway, for a port of this rate.
    pub(crate) fn forward(&self, port: BitRate) -> Option<Carrier> {
        let rate = self.forward_rate?;
        Some(Carrier {
            rate,
            frame: self.forward_frame,
            sharing: Sharing::RoundRobin,
            floor: BitRate(0),
            request_slots: 0,
            neighbours: Neighbours {
                count: self.neighbours as u32,
                load: share(rate, self.forward_load),
                peak: self.forward_peak.unwrap_or(port),
                burst: self.forward_burst.0,
                burst_max: self.forward_burst_max.0,
                burst_shape: self.burst_shape,
                queue: self.forward_queue.0,
            },
        })
    }

    /// Carrier to the gateway in frames of this length, for a port of this rate.
    pub(crate) fn back(&self, frame: Nanos, port: BitRate) -> Option<Carrier> {
        let rate = self.return_rate?;
        Some(Carrier {
            rate,
            frame,
            sharing: self.sharing(),
            floor: self.grant_floor.unwrap_or(BitRate(0)),
            request_slots: self.request_slots as u32,
            neighbours: Neighbours {
                count: self.neighbours as u32,
                load: share(rate, self.return_load),
                peak: self.return_peak.unwrap_or(port),
                burst: self.return_burst.0,
                burst_max: self.return_burst_max.0,
                burst_shape: self.burst_shape,
                queue: self.return_queue.0,
            },
        })
    }

    fn sharing(&self) -> Sharing {
        match self.grants.as_str() {
            "round-robin" => Sharing::RoundRobin,
            _ => Sharing::Proportional,
        }
    }

    /// Problem of a beam without a carrier, or with keys that have no effect.
    pub(crate) fn problem(&self) -> Option<Problem> {
        let c = &self.written;
        if self.forward_rate.is_none() && self.return_rate.is_none() {
            let p = c.problem("forward_rate", "the beam has no carrier");
            return Some(p.hint("set forward_rate, return_rate, or both"));
        }
        if self.grant_floor.is_some() && self.sharing() == Sharing::RoundRobin {
            let p = c.problem("grant_floor", "no effect: equal shares need no floor");
            return Some(p.hint("remove it, or set grants = \"proportional\""));
        }
        None
    }
}

fn share(rate: BitRate, share: f64) -> BitRate {
    BitRate((rate.0 as f64 * share + 0.5) as u64)
}
