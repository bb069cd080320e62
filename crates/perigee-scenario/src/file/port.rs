// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[port.NAME]`: rate and queue of a port or of a class of ports. The keys of several tables for
//! one port are merged in [`ports`](crate::world).

use crate::file::disciplines::Chosen;
use crate::file::field::Bytes;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use crate::file::rows::RTT;
use perigee_timeline::Dama;
use perigee_units::{BitRate, Nanos, Size};

parameters! {
    /// `[port.NAME]`.
    Port = "port", "An egress queue and its transmitter. NAME is a class of the source, a port such as r1->r2, or all. In a constellation it may also be terminal, station (or gateway), satellite, the name of a node, or a pattern such as \"gateway*\", each with .up (towards the satellites) or .down (from them): [port.terminal.up], [port.\"gateway*\".down]. What is more special wins: all, ground, satellite, kind of node, pattern, name; with a direction over without. How many radios there are is said by source.constellation.ground_ports: with \"per-node\" a satellite has one radio for all that it serves ([port.satellite]); with \"per-link\" one for each, so that .down exists.";
    rate: Option<BitRate> = optional(Notation::Rate, "rate of the transmitter");
    queue: Option<Size> = optional(Notation::Queue, "what may wait; bdp = rate x the largest base RTT of the flows that use the port, both at time zero");
    bdp_rate: Option<BitRate> = optional(Notation::Rate, "use this rate for bdp");
    bdp_rtt: Option<Nanos> = optional(RTT, "use this RTT for bdp");
    framing: Option<u32> = optional(Notation::Int(0, 256), "bytes added to each IP packet for transmission times and queues in bytes (7 PPP, 14 Ethernet)");
    burst: Option<Bytes> = optional(Notation::Data, "depth of a token bucket, framing included: what passes at once after the port was idle, as through Linux's tbf; without it a packet takes its transmission time");
    dama_delay: Option<Nanos> = optional(Notation::Time(Dama::DELAY[0], Dama::DELAY[1]), "the port sends in slots that it has to ask for (DAMA, as the return link of a geostationary terminal), and a request is granted this much later, rounded up to whole frames: a round trip to the hub and the scheduler's time. What waits for slots waits in the queue; base RTTs and queues in bdp do not count it");
    dama_frame: Option<Nanos> = optional(Notation::Time(Dama::FRAME[0], Dama::FRAME[1]), "length of a frame; one request in each. Default: 26.5 ms");
    dama_cra: Option<BitRate> = optional(Notation::Rate, "constant capacity, granted without being asked for (CRA), at most the port's rate; default: none");
    dama_rbdc: Option<BitRate> = optional(Notation::Rate, "the most that is asked for by rate: as much as came per frame in the latest dama_delay, and without requests by volume a part of what waits (RBDC); default: none");
    dama_by_volume: Option<bool> = optional(Notation::Bool, "asks for what waits and was not asked for yet (VBDC); default: true");
    dama_vbdc: Option<BitRate> = optional(Notation::Rate, "the most that is granted by volume; default: what the others leave of the port's rate");
    dama_fca: Option<BitRate> = optional(Notation::Rate, "free capacity, added where the others leave room, without being asked for (FCA); default: none");
    discipline: Chosen = discipline("which packet is dropped, and when. Flows with tcp.ecn are marked instead. Its parameters are keys of this section; those of other disciplines are refused");
    count_in_service: Option<bool> = optional(Notation::Bool, "the packet in transmission counts against the queue");
    probe_priority: Option<bool> = optional(Notation::Bool, "pings wait in a side queue that is served first");
    loss: Option<f64> = optional(Notation::Number(0.0, 1.0), "probability that a packet is lost on each link of this port; default: as the source says, mostly 0");
    metered: Option<bool> = optional(Notation::Bool, "runs OrbCC's egress meter and writes telemetry");
    meter: Option<String> = optional(Notation::Word(&["reference", "integer"]), "how that meter computes: reference (the default) = in floating point with an exact set of flows, integer = as a P4 switch can (docs/explanation/integer-meter.md)");
}
