// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The top level of the scenario file: its sections. Validation, the JSON Schema and the reference
//! page of the guide are all made from the tables of these types, so a key that is added to one
//! exists everywhere.

use crate::file::background::Background;
use crate::file::beam::Beam;
use crate::file::bursts::Bursts;
use crate::file::case::Case;
use crate::file::change::Change;
use crate::file::checked::{Given, Sweep};
use crate::file::demand::Demand;
use crate::file::expect::Expect;
use crate::file::field::TcpOfAll;
use crate::file::flow::Flow;
use crate::file::handover::Handover;
use crate::file::hosts::Hosts;
use crate::file::jitter::JitterKeys;
use crate::file::node::Node;
use crate::file::node_sets::NodeSet;
use crate::file::notation::Notation;
use crate::file::notices::NoticeSpec;
use crate::file::parameters::parameters;
use crate::file::port::Port;
use crate::file::programs::Program;
use crate::file::run::RunSpec;
use crate::file::schedules::Schedule;
use crate::file::sources::Sources;
use crate::file::telemetry::Telemetry;
use std::collections::BTreeMap;
use std::path::PathBuf;

parameters! {
    /// The whole file.
    Top = "scenario", "An experiment: network, traffic and recording.";
    title: Option<String> = optional(Notation::Text, "one-line title for tables and reports");
    extends: Option<PathBuf> = optional(Notation::File, "base scenario file; keys of this file take precedence over its keys");
    run: RunSpec = needed();
    source: Sources = one();
    node: Vec<(String, Node)> = named("[node.NAME]: a terminal, station or host of a constellation");
    nodes: Vec<NodeSet> = list("[[nodes]]: a set of nodes: the largest cities, the gateways of a study, or the rows of a file");
    port: Vec<(String, Port)> = named("[port.NAME]: rate and queue of a port or of a class of ports (alias: [link.NAME])");
    change: Vec<Change> = list("[[change]]: change of rate, delay or loss, or an outage, at a given time");
    schedule: Option<Schedule> = one();
    jitter: Option<JitterKeys> = one();
    handover: Handover = one();
    bursts: Option<Bursts> = one();
    background: Vec<Background> = list("[[background]]: aggregate traffic of many users, modelled as a fluid that occupies ports as packets do");
    beam: Option<Beam> = one();
    notices: NoticeSpec = one();
    telemetry: Telemetry = one();
    tcp: TcpOfAll = tcp_of_all("[tcp]: transport options of all flows; [tcp.SCHEME]: those of flows with that congestion control");
    cc: BTreeMap<String, Given> = by_scheme("[cc.SCHEME]: parameters of a congestion control, for all flows that use it");
    slow_start: BTreeMap<String, Given> = by_start("[slow_start.NAME]: parameters of an initial slow start, for all flows that use it");
    flow: Vec<Flow> = list("[[flow]]: traffic between nodes; at least one entry is required without a [demand]");
    demand: Option<Demand> = one();
    hosts: Hosts = one();
    sweep: Sweep = sweep("[sweep]: keys of this file, each with a list of values; `perigee sweep` runs every combination, or with zip = true the n-th values of all keys together");
    case: Case = one();
    expect: Vec<Expect> = list("[[expect]]: bounds on the results");
    program: Vec<Program> = list("[[program]]: programs on the nodes; requires real hosts");
}
