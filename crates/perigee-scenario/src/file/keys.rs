// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The grammar of scenario files: one table per section. Validation, the JSON Schema and the reference page of the
//! guide are all made from these tables, so a key that is added here exists everywhere.

use crate::file::apps;
use crate::file::disciplines::{DEFAULT, NAMES};
use crate::file::grammar::Content::{ByScheme, Discipline, List, Named, Sweep, Tcp, TcpOfAll, Value};
use crate::file::grammar::{By, Key, Kinds, Only, Section};
use crate::file::kind::Kind;
use crate::file::programs::PROGRAM;
use crate::file::rows::*;
use crate::file::schedules;
use crate::file::sources::SOURCE;
use crate::file::vary::VARIED;
use perigee_timeline::{Dama, Hosts};
use perigee_units::Nanos;

/// The whole file.
pub const SCENARIO: Section = Section {
    name: "scenario",
    help: "An experiment: what moves, what is sent over it, and what is written down.",
    keys: &[
        optional("title", Kind::Text, "one line for tables and reports"),
        optional("extends", Kind::File, "a scenario file whose keys hold unless they are given here"),
        Key { required: true, ..one(&RUN) },
        one(&SOURCE),
        Key {
            name: "node",
            content: Named(&NODE),
            default: None,
            required: false,
            help: "[node.NAME]: a terminal, station or host of a constellation",
            only: &[],
        },
        Key {
            name: "nodes",
            content: List(&NODES),
            default: None,
            required: false,
            help: "[[nodes]]: many nodes at once: the largest cities, the gateways of a study, the rows of a file",
            only: &[],
        },
        Key {
            name: "port",
            content: Named(&PORT),
            default: None,
            required: false,
            help: "[port.NAME]: rate and queue of one port or of a class of ports (also written [link.NAME])",
            only: &[],
        },
        Key {
            name: "change",
            content: List(&CHANGE),
            default: None,
            required: false,
            help: "[[change]]: something that happens at a given time",
            only: &[],
        },
        one(&SCHEDULE),
        one(&JITTER),
        one(&HANDOVER),
        one(&BURSTS),
        one(&NOTICES),
        one(&TELEMETRY),
        Key {
            name: "tcp",
            content: TcpOfAll,
            default: None,
            required: false,
            help: "[tcp]: transport options of all flows, and [tcp.SCHEME]: of those that run it",
            only: &[],
        },
        Key {
            name: "cc",
            content: ByScheme,
            default: None,
            required: false,
            help: "[cc.SCHEME]: parameters of a congestion control for all flows that run it",
            only: &[],
        },
        Key {
            name: "flow",
            content: List(&FLOW),
            default: None,
            required: true,
            help: "[[flow]]: who sends what to whom",
            only: &[],
        },
        one(&HOSTS),
        Key {
            name: "sweep",
            content: Sweep,
            default: None,
            required: false,
            help: "[sweep]: keys of this file, each with a list of values, for `perigee sweep`: every combination is run",
            only: &[],
        },
        Key {
            name: "program",
            content: List(&PROGRAM),
            default: None,
            required: false,
            help: "[[program]]: what runs on the nodes, where hosts are real",
            only: &[],
        },
    ],
    kinds: None,
};

/// `[run]`.
pub const RUN: Section = Section {
    name: "run",
    help: "Length, seed and recording.",
    keys: &[
        Key {
            name: "duration",
            content: Value(Kind::Time(Nanos::from_millis(1), MAX_DURATION)),
            default: None,
            required: true,
            help: "simulated time",
            only: &[],
        },
        key("seed", Kind::Int(0, i64::MAX), "1", "seed of all random draws; run k of several uses seed + k - 1"),
        key("runs", Kind::Int(1, 10_000), "1", "repetitions with successive seeds"),
        optional("vary", Kind::OneOrMany(&Kind::Word(&VARIED)), "what differs between seeds, everything else being that of seed 1: phase (the orbits: the run begins up to a day later in their motion; seed 1 is as written), outages (their lengths at handovers), changes (schedules, jitter, rtt_spread, bursts of loss), traffic (arrivals, pairs), packets (random losses, start_jitter, host_jitter, applications, schemes); default: all but the phase"),
        optional("cc", Kind::OneOrMany(&Kind::Scheme("all")), "schemes to compare; they replace cc = \"*\" of the flows"),
        key("sample", Kind::Time(Nanos::from_millis(1), Nanos::from_secs(3600)), "100 ms", "time between rows of the time series"),
        key("warmup", ANY_TIME, "0 s", "tables and figures leave out what happens before this time"),
        key("start_jitter", Kind::Time(Nanos::ZERO, Nanos::from_secs(60)), "0 s", "each flow starts later by a seeded draw from zero to this"),
        key("host_jitter", Kind::Time(Nanos::ZERO, Nanos::from_secs(1)), "0 s", "each packet leaves its host later by a seeded draw from zero to this, in the order of its flow and direction, as the processing of real hosts delays it; one packet's service time at the bottleneck breaks phase effects of drop-tail queues (docs/limits.md)"),
        key("rtt_changes", Kind::Int(0, 1_000_000), "0", "the first this many RTT samples of each simulated flow that differ from the sample before become events (kind rtt-change): what a recorder that leaves out repeated values keeps"),
        key("rtt_spread", Kind::Number(0.0, 0.5), "0", "the base RTT of each flow's path is multiplied by a seeded draw within 1 - this and 1 + this, at the start and after every change; chains, dumbbells, parking lots and crossings"),
    ],
    kinds: None,
};

/// A terminal has one dish.
const STATION: &[Only] = &[Only::With("kind", &["station"])];

/// `[node.NAME]`.
pub const NODE: Section = Section {
    name: "node",
    help: "A place on the ground.",
    keys: &[
        key(
            "kind",
            Kind::Word(&["terminal", "station", "host"]),
            "terminal",
            "terminal: one dish, hard handovers; station: several dishes, soft handovers",
        ),
        optional("place", Kind::Text, "a city of the shipped list"),
        optional("lat", Kind::Number(-90.0, 90.0), "degrees north, instead of a place"),
        optional("lon", Kind::Number(-180.0, 360.0), "degrees east"),
        key("height", Kind::Length(-500.0, 10_000.0), "0 m", "above the ellipsoid"),
        optional("mask", Kind::Angle(0.0, 90.0), "smallest elevation for this node alone"),
        key(
            "weight",
            Kind::Number(0.0, 1e12),
            "1",
            "population or demand, for the traffic pattern `gravity`",
        ),
        optional(
            "dishes",
            Kind::Int(1, 10_000),
            "satellites that a station can talk to at once, the nearest ones; default: all in view",
        )
        .only(STATION),
        optional("weather", Kind::File, "a CSV file with columns t_s, rate_share, loss, as `perigee weather` writes it; needs ground_ports = \"per-link\""),
    ],
    kinds: None,
};

/// `[[nodes]]`.
pub const NODES: Section = Section {
    name: "nodes",
    help: "Many nodes at once, each under its own name.",
    keys: &[
        optional(
            "set",
            Kind::Word(&["cities", "gateways", "study-cities"]),
            "cities: the largest first, with their population as weight; gateways: the 95 of the OrbCC study; study-cities: its five cities",
        ),
        optional("file", Kind::File, "a CSV file with columns name, lat, lon and, if wanted, height_m, mask_deg, dishes, weight, weather (a file as of [node.NAME] weather, beside this one)"),
        optional("count", Kind::Int(1, 100_000), "only so many, from the top"),
        key("kind", Kind::Word(&["terminal", "station"]), "station", "as of [node.NAME]"),
        optional("mask", Kind::Angle(0.0, 90.0), "smallest elevation"),
        optional("dishes", Kind::Int(1, 10_000), "satellites that a station can talk to at once").only(STATION),
    ],
    kinds: None,
};

/// `[port.NAME]`.
pub const PORT: Section = Section {
    name: "port",
    help: "An egress queue and its transmitter. NAME is a class of the source, a port such as r1->r2, or all. In a constellation it may also be terminal, station (or gateway), satellite, the name of a node, or a pattern such as \"gateway*\", each with .up (towards the satellites) or .down (from them): [port.terminal.up], [port.\"gateway*\".down]. What is more special wins: all, ground, satellite, kind of node, pattern, name; with a direction over without. How many radios there are is said by source.constellation.ground_ports: with \"per-node\" a satellite has one radio for all that it serves ([port.satellite]); with \"per-link\" one for each, so that .down exists.",
    keys: &[
        optional("rate", Kind::Rate, "rate of the transmitter"),
        optional("queue", Kind::Queue, "what may wait; bdp = rate x the largest base RTT of the flows that use the port, both at time zero"),
        optional("bdp_rate", Kind::Rate, "use this rate for bdp"),
        optional("bdp_rtt", RTT, "use this RTT for bdp"),
        optional("framing", Kind::Int(0, 256), "bytes added to each IP packet for transmission times and queues in bytes (7 PPP, 14 Ethernet)"),
        optional("burst", Kind::Data, "depth of a token bucket, framing included: what passes at once after the port was idle, as through Linux's tbf; without it a packet takes its transmission time"),
        optional("dama_delay", Kind::Time(Dama::DELAY[0], Dama::DELAY[1]), "the port sends in slots that it has to ask for (DAMA, as the return link of a geostationary terminal), and a request is granted this much later, rounded up to whole frames: a round trip to the hub and the scheduler's time. What waits for slots waits in the queue; base RTTs and queues in bdp do not count it"),
        optional("dama_frame", Kind::Time(Dama::FRAME[0], Dama::FRAME[1]), "length of a frame; one request in each. Default: 26.5 ms"),
        optional("dama_cra", Kind::Rate, "constant capacity, granted without being asked for (CRA), at most the port's rate; default: none"),
        optional("dama_rbdc", Kind::Rate, "the most that is asked for by rate: as much as came per frame in the latest dama_delay, and without requests by volume a part of what waits (RBDC); default: none"),
        optional("dama_by_volume", Kind::Bool, "asks for what waits and was not asked for yet (VBDC); default: true"),
        optional("dama_vbdc", Kind::Rate, "the most that is granted by volume; default: what the others leave of the port's rate"),
        optional("dama_fca", Kind::Rate, "free capacity, added where the others leave room, without being asked for (FCA); default: none"),
        Key {
            name: "discipline",
            content: Discipline(Kind::Word(NAMES)),
            default: Some(DEFAULT),
            required: false,
            help: "which packet is dropped, and when. Flows with tcp.ecn are marked instead. Its parameters are keys of this section; those of other disciplines are refused",
            only: &[],
        },
        optional("count_in_service", Kind::Bool, "the packet in transmission counts against the queue"),
        optional("probe_priority", Kind::Bool, "pings wait in a side queue that is served first"),
        optional("loss", Kind::Number(0.0, 1.0), "probability that a packet is lost on each link of this port; default: as the source says, mostly 0"),
        optional("metered", Kind::Bool, "runs OrbCC's egress meter and writes telemetry"),
        optional("meter", Kind::Word(&["reference", "integer"]), "how that meter computes: reference (the default) = in floating point with an exact set of flows, integer = as a P4 switch can (docs/integer-meter.md)"),
    ],
    kinds: None,
};

const MODE: Key = key(
    "mode",
    Kind::Word(&["flush", "hold", "blackhole"]),
    "flush",
    "what an outage does: flush = all packets at the link are lost, hold = all are kept, blackhole = the queue is served and what leaves it is lost",
);
const DIRECTION: Key = key(
    "direction",
    Kind::Word(&["both", "forward", "reverse"]),
    "both",
    "which directions change (forward = that of the data); rates change forward unless this is given",
);
const ON: Key =
    key("on", Kind::Text, "bottleneck", "bottleneck = all of them, or one by the name of its port");

/// `[[change]]`.
pub const CHANGE: Section = Section {
    name: "change",
    help: "Something that happens at a given time. Keys that are absent stay as they are.",
    keys: &[
        required("at", ANY_TIME, "when"),
        ON,
        DIRECTION,
        optional("rate", Kind::RateDraw, "new rate of the port; zero blocks it"),
        optional("delay", SHORT_DRAW, "new one-way propagation delay of the bottleneck"),
        optional("rtt", SHORT_DRAW, "new round-trip time of all flows"),
        optional("loss", Kind::LossDraw, "new probability of random loss"),
        optional("outage", SHORT_DRAW, "the link is down for this long"),
        MODE.only(&[Only::Given(&["outage"])]),
    ],
    kinds: None,
};

/// `[schedule]`.
pub const SCHEDULE: Section = Section {
    name: "schedule",
    help: "Changes that repeat: drawn from the seed, read from a file, or drawn as a published study did.",
    keys: &[ON, DIRECTION, MODE],
    kinds: Some(&Kinds { by: By::Presence, of: schedules::SCHEDULES }),
};

/// What happens in a loss event.
const LOSS_EVENTS: &[Only] = &[Only::Given(&["loss_every"])];

/// `[jitter]`.
pub const JITTER: Section = Section {
    name: "jitter",
    help: "The RTT of a path as a measured distribution, drawn anew again and again, and rare losses. For chains, dumbbells and parking lots.",
    keys: &[
        optional("preset", Kind::Word(&["geo"]), "a known distribution: the RTT of a geostationary service"),
        optional("rtt", Kind::OneOrMany(&Kind::Text), "quantiles of the RTT instead, as \"50 % 598 ms\", from 0 % to 100 %"),
        optional("added", Kind::OneOrMany(&Kind::Text), "quantiles of what is added to the RTT that the path has at the time, instead"),
        ON,
        key("direction", Kind::Word(&["forward", "reverse"]), "forward", "which direction varies"),
        key("step", Kind::Time(Nanos::from_millis(1), Nanos::from_secs(3600)), "200 ms", "time between draws"),
        key("correlation", Kind::Time(Nanos::from_millis(1), Nanos::from_secs(3600)), "2 s", "time over which draws resemble each other"),
        optional("loss_every", SOME_TIME, "mean time between loss events; default: none"),
        key("loss_single", Kind::Number(0.0, 1.0), "0.91", "share of the events in which one packet is lost").only(LOSS_EVENTS),
        key("loss_mean", Kind::Number(2.0, 1000.0), "3.2", "mean length of the others, in slots").only(LOSS_EVENTS),
        key("loss_longest", Kind::Int(2, 100_000), "11", "their longest").only(LOSS_EVENTS),
        key("loss_slot", Kind::Time(Nanos::from_millis(1), Nanos::from_secs(60)), "200 ms", "length of a slot: what leaves the queue during the event is lost").only(LOSS_EVENTS),
    ],
    kinds: None,
};

/// `[handover]`.
pub const HANDOVER: Section = Section {
    name: "handover",
    help: "What happens when a terminal changes its satellite.",
    keys: &[
        MODE,
        key("outage", SHORT_DRAW, "uniform(45 ms, 120 ms)", "the terminal is cut off for this long"),
        optional("file", Kind::File, "a recorded distribution instead: seconds of one outage in the first column of each line"),
        key(
            "per_delay",
            Kind::Number(0.0, 1000.0),
            "0",
            "and for this many times the propagation delays to the old and the new satellite (LeoEM: 3, with outage = \"0 s\")",
        ),
    ],
    kinds: None,
};

/// `[bursts]`.
pub const BURSTS: Section = Section {
    name: "bursts",
    help: "Bursts of loss (Gilbert and Elliott) on every link between the ground and a satellite or, in a small network, on the slowest link of each pair.",
    keys: &[
        key("loss_outside", Kind::Number(0.0, 1.0), "0", "probability of loss between bursts"),
        key("loss_inside", Kind::Number(0.0, 1.0), "0.5", "probability of loss in a burst"),
        key("apart", Kind::Time(Nanos::from_millis(1), MAX_DURATION), "10 s", "mean time from the end of a burst to the next one, exponential"),
        key("length", Kind::Time(Nanos::from_millis(1), MAX_DURATION), "100 ms", "mean length of a burst, exponential"),
    ],
    kinds: None,
};

/// `[notices]`.
pub const NOTICES: Section = Section {
    name: "notices",
    help: "What the schemes are told of handovers, outages and reconfigurations (most listen to nothing), and programs on real hosts.",
    keys: &[
        key("on", Kind::Bool, "true", "whether they are told anything"),
        key(
            "lead",
            ANY_TIME,
            "0 s",
            "the beginning is told this long before the event (SaTCP's testbed: 0.5 s)",
        ),
        key("hold", ANY_TIME, "2.3 s", "the end is told this long after the beginning was"),
        key("error", SHORT_DRAW, "0 s", "each notice comes earlier or later by a draw of this"),
        key("loss", Kind::Number(0.0, 1.0), "0", "probability that a notice does not arrive"),
    ],
    kinds: None,
};

/// `[telemetry]`.
pub const TELEMETRY: Section = Section {
    name: "telemetry",
    help:
        "In-network telemetry for the schemes that use it; overrides their own parameters of the same names.",
    keys: &[
        optional(
            "overhead",
            Kind::Word(&["none", "wire"]),
            "packets carry the telemetry as metadata, or as bytes",
        ),
        optional(
            "echo",
            Kind::Word(&["full", "bottleneck"]),
            "ACKs carry all hops, or the bottleneck's record",
        ),
        optional(
            "max_hops",
            Kind::Int(1, 14),
            "hops that fit a packet (its bytes are reserved where they are on the wire); further ones write nothing. Default: the longest route; of a constellation, one more than the longest that is found every 10 s",
        ),
    ],
    kinds: None,
};

/// `[hosts]`.
pub const HOSTS: Section = Section {
    name: "hosts",
    help: "Real hosts (--hosts linux).",
    keys: &[
        key(
            "kernel",
            Kind::Word(&["shared", "own"]),
            "shared",
            "shared: one kernel for up to 48 hosts, and several for more; own: one for each, 64 at most",
        ),
        key(
            "offload",
            Kind::Bool,
            "false",
            "interfaces make checksums and cut large TCP segments into packets, as network cards do: less computation, and bursts",
        ),
        optional(
            "carrier",
            Kind::OneOrMany(&Kind::Text),
            "nodes whose interface has no carrier while an outage of theirs lasts, or they have no satellite, as a modem's; default: none, outages are lost packets only",
        ),
    ],
    kinds: None,
};

/// UDP has neither a congestion control nor transport options.
const TCP: &[Only] = &[Only::Without("app", &["ping", "cbr", "voice"])];

/// Programs say themselves when they send, and what.
const TIMED: &[Only] = &[Only::Without("app", &["programs"])];
const TCP_OF_OURS: &[Only] = &[Only::Without("app", &["ping", "cbr", "voice", "programs"])];

/// `[[flow]]`.
pub const FLOW: Section = Section {
    name: "flow",
    help: "A flow, or several alike.",
    keys: &[
        optional("name", Kind::Text, "unique; default: made from the ends"),
        optional(
            "from",
            Kind::Text,
            "sending node; with neither from nor to: one flow for each pair of the source",
        ),
        optional("to", Kind::Text, "receiving node; in a constellation also \"any gateway\": the station that is nearest on the ground"),
        optional(
            "pattern",
            Kind::Word(&["permutation", "all-to-one", "gravity"]),
            "several flows between the nodes of a constellation instead: each node to one other, at random; all to the node `to`; `count` pairs drawn by the product of the nodes' weights",
        ),
        optional(
            "matrix",
            Kind::File,
            "several flows instead, a row each: CSV with the columns from, to, then rate_mbps (UDP at that rate) or flows (so many of this entry), and, if wanted, start_s, stop_s",
        ),
        key(
            "cc",
            Kind::Scheme("*"),
            "*",
            "congestion control; \"*\" = each of the compared schemes in turn",
        )
        .only(TCP),
        optional(
            "hosts",
            Kind::Word(&Hosts::NAMES),
            "who carries it: the simulator, also in a run with --hosts linux, or Linux, which such a run must have; default: as the run says, but the simulator for ping, cbr and voice",
        )
        .only(TIMED),
        key("app", Kind::Word(apps::NAMES), apps::NAMES[0], "what it sends; each application has keys of its own, below"),
        key("start", ANY_TIME, "0 s", "when it starts").only(TIMED),
        key("stagger", ANY_TIME, "0 s", "each further flow of this entry starts this much later").only(TIMED),
        optional("stop", ANY_TIME, "when it stops sending; default: the end").only(TIMED),
        key("count", Kind::Int(1, MAX_FLOWS), "1", "identical flows").only(TIMED),
        Key {
            name: "cc_params",
            content: crate::file::grammar::Content::SchemeOf("cc"),
            default: None,
            required: false,
            help: "parameters of this flow's scheme (its cc must be named)",
            only: TCP_OF_OURS,
        },
        Key {
            name: "tcp",
            content: Tcp,
            default: None,
            required: false,
            help: "transport options of this flow",
            only: TCP,
        },
    ],
    kinds: Some(&Kinds { by: By::Word("app"), of: apps::APPS }),
};
