// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[port.NAME]`: rate and queue of a port or of a class of ports. The keys of several tables for
//! one port are merged in [`ports`](crate::world).

use crate::file::disciplines::Chosen;
use crate::file::field::Bytes;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use crate::file::rows::RTT;
use perigee_timeline::{Dama, TelemetryFaults};
use perigee_units::{BitRate, Nanos, Size};

parameters! {
    /// `[port.NAME]`.
    Port = "port", "An egress queue and its transmitter. NAME is a class of the source, a port such as r1->r2, or all. In a constellation also terminal, station (or gateway), satellite, the name of a node, or a pattern such as \"gateway*\", each optionally with .up (towards the satellites) or .down (from them): [port.terminal.up], [port.\"gateway*\".down]. Order of precedence, lowest first: all, ground, satellite, kind of node, pattern, name; each without, then with a direction. source.constellation.ground_ports determines the radios: with \"per-node\" a satellite has one radio for all its links to the ground ([port.satellite]); with \"per-link\" it has one per link, so that .down exists.";
    rate: Option<BitRate> = optional(Notation::Rate, "transmission rate");
    queue: Option<Size> = optional(Notation::Queue, "queue capacity; bdp = rate x the largest base RTT of the flows that use the port, both at time zero");
    bdp_rate: Option<BitRate> = optional(Notation::Rate, "rate used for bdp; default: that of the port");
    bdp_rtt: Option<Nanos> = optional(RTT, "RTT used for bdp; default: the largest base RTT");
    framing: Option<u32> = optional(Notation::Int(0, 256), "bytes added to each IP packet, in transmission times and in queues limited in bytes (PPP: 7, Ethernet: 14); default: 0");
    burst: Option<Bytes> = optional(Notation::Data, "depth of a token bucket, framing included: data that passes at once after an idle period, as through Linux's tbf; default: no token bucket, each packet takes its transmission time");
    dama_delay: Option<Nanos> = optional(Notation::Time(Dama::DELAY[0], Dama::DELAY[1]), "enables demand assignment (DAMA, as on the return link of a geostationary terminal): the port sends in slots granted on request. Time from a request to its grant, rounded up to frames: a round trip to the hub, and scheduling. Packets wait for slots in the queue; base RTTs and queues in bdp do not include this time");
    dama_frame: Option<Nanos> = optional(Notation::Time(Dama::FRAME[0], Dama::FRAME[1]), "duration of a frame; one request per frame; default: 26.5 ms");
    dama_cra: Option<BitRate> = optional(Notation::Rate, "constant rate granted without requests (CRA), at most the port's rate; default: none");
    dama_rbdc: Option<BitRate> = optional(Notation::Rate, "maximum rate granted on request of a rate (RBDC): the mean arrival rate of the latest dama_delay plus, without requests of volume, a fraction of the queued bytes; default: none");
    dama_by_volume: Option<bool> = optional(Notation::Bool, "requests of volume (VBDC): queued bytes that are not requested yet; default: true");
    dama_vbdc: Option<BitRate> = optional(Notation::Rate, "maximum rate granted on request of volume; default: the remainder of the port's rate");
    dama_fca: Option<BitRate> = optional(Notation::Rate, "maximum rate of free capacity, granted without requests from the remainder of each frame (FCA); default: none");
    discipline: Chosen = discipline("queue discipline: selects the packets to drop, or to mark in flows with tcp.ecn. Its parameters are keys of this section; those of other disciplines are rejected");
    count_in_service: Option<bool> = optional(Notation::Bool, "count the packet in transmission against the queue limit; default: false");
    probe_priority: Option<bool> = optional(Notation::Bool, "queue pings separately, with priority; default: false");
    loss: Option<f64> = optional(Notation::Share(0.0, 1.0), "loss probability on each link of this port; default: that of the source, usually 0");
    metered: Option<bool> = optional(Notation::Bool, "run OrbCC's egress meter and write telemetry; default: true, for ports of the class access false");
    meter: Option<String> = optional(Notation::Word(&["reference", "integer"]), "arithmetic of the meter: reference = floating point with an exact set of flows; integer = that of a P4 switch (docs/explanation/integer-meter.md); default: reference");
    telemetry_delay: Option<Nanos> = optional(Notation::Time(TelemetryFaults::DELAY[0], TelemetryFaults::DELAY[1]), "fault of the telemetry: records are older by this time; default: 0 ms");
    telemetry_error: Option<f64> = optional(Notation::Share(0.0, 1.0), "fault of the telemetry: largest relative error of the rate and of both backlogs in a record, drawn for each value; default: 0");
    telemetry_clock_ppm: Option<f64> = optional(Notation::Number(-TelemetryFaults::CLOCK_PPM, TelemetryFaults::CLOCK_PPM), "fault of the telemetry: drift of the clock that records carry, in parts per million; default: 0");
    telemetry_stale: Option<Nanos> = optional(Notation::Time(TelemetryFaults::STALE[0], TelemetryFaults::STALE[1]), "fault of the telemetry: records have the rate of this time ago; default: 0 ms");
    telemetry_flow_count_error: Option<f64> = optional(Notation::Share(-1.0, TelemetryFaults::FLOW_COUNT_ERROR), "fault of the telemetry: relative error of the number of flows, at least one of which is reported; default: 0");
    telemetry_flow_table: Option<u32> = optional(Notation::Int(1, TelemetryFaults::FLOW_TABLE as i64), "entries of the table in which the meter counts flows, in buckets of 4 by a hash of the flow; a flow without an entry counts as a new one and evicts the flow of its bucket that was seen longest ago (table `meters` of the record); default: an entry for each flow");
}
