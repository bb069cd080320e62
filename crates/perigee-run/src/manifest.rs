// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Manifest of a record: the subject of a run and how it ended, without wall-clock time and
//! machine. Versioned; readers reject unknown versions.

use perigee_backend::SIMULATOR;
use perigee_record::{RunOutcome, TableDigest};
use perigee_scenario::{FlowPlan, PortReport, ScenarioError, World};
use perigee_sim::{FlowSetup, Scheme};
use perigee_timeline::{App, Hosts};
use perigee_units::params::{Params, Value};
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of the record's layout: tables, hashes and manifest.
pub const RECORD_FORMAT: u32 = 2;

/// Maximum number of flows listed: thousands of identical ones would make the manifest too long to
/// read.
const LISTED_FLOWS: usize = 100;

/// Description of a run in its record.
#[derive(Clone, Debug, Serialize)]
pub struct Manifest {
    /// [`RECORD_FORMAT`].
    pub record_format: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Its title.
    pub title: String,
    /// Scheme under comparison.
    pub cc: String,
    /// Name of the backend that carried the packets.
    #[serde(skip_serializing_if = "is_simulator")]
    pub backend: &'static str,
    /// Fields added by the backend: `real_time` contains the lateness of packets in a real-time
    /// run.
    #[serde(flatten)]
    pub added: BTreeMap<&'static str, serde_json::Value>,
    /// Seed of all random draws.
    pub seed: u64,
    /// Configured duration.
    pub duration_ns: u64,
    /// Start of the metrics.
    pub warmup_ns: u64,
    /// Time between rows of the time series.
    pub sample_ns: u64,
    /// Time reached.
    pub simulated_ns: u64,
    /// Whether it was stopped before its end.
    pub stopped: bool,
    /// Reason if the run could not continue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
    /// Link crossings of all packets.
    pub packet_hops: Option<u64>,
    /// Whether every packet was delivered, dropped with a cause, or is in flight.
    pub conserved: Option<bool>,
    /// Human-readable summary of the network.
    pub report: Vec<String>,
    /// Ports as resolved.
    pub ports: Vec<PortReport>,
    /// Number of hops that fit in a packet's telemetry.
    pub telemetry_max_hops: usize,
    /// Transport profile.
    pub tcp_profile: &'static str,
    /// Flows as resolved, the first hundred.
    pub flows: Vec<FlowEntry>,
    /// Ends of the traffic pairs.
    pub pairs: Vec<PairEntry>,
    /// The scenario with every key resolved.
    pub scenario_toml: String,
    /// Tables by name.
    pub tables: BTreeMap<&'static str, TableEntry>,
    /// Split flows; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<SplitEntry>,
    /// Groups of flows; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupEntry>,
    /// All nodes that existed at any time.
    pub nodes: Vec<String>,
    /// Warnings about the results.
    pub warnings: Vec<String>,
}

/// A flow as resolved.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)] // keys of the scenario and columns of `flow_totals`
pub struct FlowEntry {
    pub name: String,
    pub from: String,
    pub to: String,
    pub cc: String,
    /// `linux` if real hosts carry the flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Hosts>,
    pub app: App,
    pub start_ns: u64,
    pub stop_ns: u64,
    pub base_rtt_ns: Option<u64>,
    /// Number of links of its route at time zero.
    pub hops: usize,
    /// Parameters of its scheme, defaults included; empty for schemes of a kernel.
    pub cc_params: BTreeMap<&'static str, Value>,
    /// Initial slow start, if it is not that of its scheme.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_start: Option<StartEntry>,
    /// Options of its transport, defaults included.
    pub tcp: BTreeMap<&'static str, Value>,
}

/// Initial slow start of a flow.
#[derive(Clone, Debug, Serialize)]
pub struct StartEntry {
    /// Its identifier.
    pub id: &'static str,
    /// Its parameters, defaults included.
    pub params: BTreeMap<&'static str, Value>,
}

/// Ends of a traffic pair.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct PairEntry {
    pub from: String,
    pub to: String,
}

/// A table of the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableEntry {
    /// Number of rows.
    pub rows: u64,
    /// Hash of its content.
    pub sha256: String,
}

/// A group of flows.
#[derive(Clone, Debug, Serialize)]
pub struct GroupEntry {
    /// Its name.
    pub name: String,
    /// Whether the numbers of the run leave it out.
    pub background: bool,
    /// First and last number of each run of consecutive flows in it.
    pub flows: Vec<(usize, usize)>,
}

/// A split flow: the deliveries of its last leg are those of the flow.
#[derive(Clone, Debug, Serialize)]
pub struct SplitEntry {
    /// Its name.
    pub flow: String,
    /// Numbers of its legs.
    pub legs: Vec<usize>,
    /// Nodes with a proxy.
    pub via: Vec<String>,
    /// Capacity of a proxy's buffer.
    pub buffer_bytes: u64,
    /// Whether proxies answer a SYN at once.
    pub spoof: bool,
    /// Whether legs between proxies are permanent connections.
    pub standing: bool,
}

fn is_simulator(backend: &&str) -> bool {
    *backend == SIMULATOR
}

/// Builds the manifest of a run; the caller adds warnings.
///
/// # Errors
/// If transport options contradict each other.
pub fn manifest(
    world: &World,
    cc: &str,
    setups: &[FlowSetup],
    outcome: &RunOutcome,
    tables: Vec<TableDigest>,
) -> Result<Manifest, ScenarioError> {
    let run = &world.scenario.run;
    let name = |node: perigee_timeline::NodeId| world.header.nodes[node.ix()].name.clone();
    let flows = world.flows.iter().zip(setups).take(LISTED_FLOWS);
    Ok(Manifest {
        record_format: RECORD_FORMAT,
        scenario: world.scenario.name.clone(),
        title: world.scenario.title.clone(),
        cc: cc.into(),
        backend: SIMULATOR,
        seed: world.seed,
        duration_ns: run.duration.0,
        warmup_ns: run.warmup.0,
        sample_ns: run.sample.0,
        simulated_ns: outcome.end.0,
        stopped: outcome.stopped,
        broken: outcome.broken.clone(),
        packet_hops: outcome.packet_hops,
        conserved: outcome.conserved,
        report: world.report.clone(),
        ports: world.ports.clone(),
        telemetry_max_hops: world.max_hops,
        tcp_profile: world.scenario.profile,
        flows: flows.map(|(plan, setup)| flow(world, cc, plan, setup)).collect::<Result<_, _>>()?,
        pairs: world.header.pairs.iter().map(|p| PairEntry { from: name(p.from), to: name(p.to) }).collect(),
        scenario_toml: world.scenario.resolved_toml.clone(),
        tables: tables.into_iter().map(|t| (t.name, TableEntry { rows: t.rows, sha256: t.sha256 })).collect(),
        groups: groups(&world.flows),
        splits: world.flows.iter().enumerate().filter_map(split).collect(),
        nodes: outcome.nodes.clone(),
        warnings: Vec::new(),
        added: BTreeMap::new(),
    })
}

fn flow(world: &World, cc: &str, plan: &FlowPlan, setup: &FlowSetup) -> Result<FlowEntry, ScenarioError> {
    let resolved = |params: &Params| params.resolved().into_iter().collect::<BTreeMap<_, _>>();
    let (mut cc_params, mut tcp) = (BTreeMap::new(), BTreeMap::new());
    let real = setup.outside.source;
    if setup.app.is_tcp() {
        if let (Some((_, params)), false) = (setup.scheme.builtin(), real) {
            cc_params = resolved(params);
        }
        tcp = resolved(&world.transport_of(plan, cc)?.1);
        tcp.insert("buffer_bytes", Value::Int(setup.tcp.buffer as i64));
    }
    Ok(FlowEntry {
        name: plan.name.clone(),
        from: plan.pair.from.clone(),
        to: plan.pair.to.clone(),
        cc: world.scheme_of(plan, cc).into(),
        hosts: real.then_some(Hosts::Linux),
        app: setup.app,
        start_ns: plan.start.0,
        stop_ns: plan.stop.0,
        base_rtt_ns: plan.base_rtt.map(|r| r.0),
        hops: plan.hops,
        cc_params,
        slow_start: match &setup.scheme {
            Scheme::Started(_, _, s) => Some(StartEntry { id: s.info().id, params: resolved(s.params()) }),
            _ => None,
        },
        tcp,
    })
}

fn groups(flows: &[FlowPlan]) -> Vec<GroupEntry> {
    let mut found: Vec<GroupEntry> = Vec::new();
    for (i, plan) in flows.iter().enumerate() {
        let Some((name, background)) = plan.group() else { continue };
        match found.iter_mut().find(|g| g.name == name) {
            Some(group) => match group.flows.last_mut() {
                Some((_, last)) if *last + 1 == i => *last = i,
                _ => group.flows.push((i, i)),
            },
            None => found.push(GroupEntry { name: name.into(), background, flows: vec![(i, i)] }),
        }
    }
    found
}

fn split((i, plan): (usize, &FlowPlan)) -> Option<SplitEntry> {
    let leg = plan.leg().filter(|l| l.number == 0)?;
    let legs = leg.split.via.len() + 1;
    Some(SplitEntry {
        flow: leg.flow.clone(),
        legs: (i..i + legs).collect(),
        via: leg.split.via.clone(),
        buffer_bytes: leg.split.buffer,
        spoof: leg.split.spoof,
        standing: leg.split.standing,
    })
}
