// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One run: a world under one congestion control → tables and a manifest.

use crate::recorder::{is_bulk, Recorder};
use crate::routes::RouteListener;
use crate::warnings;
use perigee_record::tables::{
    FlowTotalsRow, FlowTotalsTable, LinkTotalsRow, LinkTotalsTable, RttRow, RttTable,
};
use perigee_record::{Rtts, Table};
use perigee_scenario::shared::Reader;
use perigee_scenario::Plugins;
use perigee_scenario::ScenarioError;
use perigee_scenario::World;
use perigee_sim::{FlowSetup, Outcome, Scheme, SimError, Simulation};
use perigee_timeline::{files, NodeId, QueueLimit};
use perigee_units::Nanos;
use serde_json::{json, Value as Json};
use std::path::Path;

/// Version of the record's layout.
pub const RECORD_FORMAT: u32 = 1;

/// What a run leaves behind.
pub struct Finished {
    /// All tables.
    pub tables: Vec<Table>,
    /// What is known of the run, without wall time and machine.
    pub manifest: Json,
    /// It was stopped before its end.
    pub stopped: bool,
    /// Memory of the simulator per flow at the end.
    pub memory_per_flow_bytes: usize,
}

/// Why a run did not finish.
#[derive(Debug)]
pub enum RunError {
    /// The scenario is wrong.
    Scenario(ScenarioError),
    /// The simulator or a source failed.
    Failed(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunError::Scenario(e) => e.fmt(f),
            RunError::Failed(why) => f.write_str(why),
        }
    }
}

impl From<ScenarioError> for RunError {
    fn from(e: ScenarioError) -> Self {
        RunError::Scenario(e)
    }
}
impl From<SimError> for RunError {
    fn from(e: SimError) -> Self {
        RunError::Failed(e.to_string())
    }
}
impl From<std::io::Error> for RunError {
    fn from(e: std::io::Error) -> Self {
        RunError::Failed(format!("the capture cannot be written: {}", files::why(&e)))
    }
}

/// Runs a world under `cc`; `progress` hears the simulated time and may return false to stop.
///
/// # Errors
/// See [`RunError`].
pub fn run(
    world: &World,
    cc: &str,
    plugins: &Plugins,
    pcap: Option<&Path>,
    progress: &mut dyn FnMut(Nanos) -> bool,
) -> Result<Finished, RunError> {
    match pcap {
        Some(_) => with_recorder(world, cc, plugins, Recorder::<true>::new(world, pcap)?, progress),
        None => with_recorder(world, cc, plugins, Recorder::<false>::new(world, None)?, progress),
    }
}

fn with_recorder<const PACKETS: bool>(
    world: &World,
    cc: &str,
    plugins: &Plugins,
    mut recorder: Recorder<PACKETS>,
    progress: &mut dyn FnMut(Nanos) -> bool,
) -> Result<Finished, RunError> {
    let setups = world.setups(cc, plugins)?;
    let mut source = RouteListener::new(world.timeline.reader(), &world.header);
    let mut simulation =
        Simulation::new(&world.header, Box::new(&mut source), setups.clone(), world.options())?;
    let outcome = simulation.run(&mut recorder, progress)?;
    let memory_per_flow_bytes = simulation.memory_per_flow();
    drop(simulation);
    recorder.finish_capture()?;
    let mut done = finished(world, cc, &setups, recorder, source, &outcome);
    done.memory_per_flow_bytes = memory_per_flow_bytes;
    Ok(done)
}

fn finished<const PACKETS: bool>(
    world: &World,
    cc: &str,
    setups: &[FlowSetup],
    recorder: Recorder<PACKETS>,
    source: RouteListener<Reader>,
    outcome: &Outcome,
) -> Finished {
    let totals = flow_totals(world, cc, &recorder, outcome);
    let links = link_totals(&source, outcome);
    let Recorder { flows, internals, links: link_series, events, completions, rtts, .. } = recorder;
    let nodes = source.nodes().to_vec();
    let warnings = warnings::after(world, cc, setups, outcome);
    let mut flows = flows.finish();
    flows.columns.extend(internals.finish());
    let tables = vec![
        flows,
        link_series.finish(),
        events.finish(),
        rtt_table(rtts),
        completions.finish(),
        totals,
        links,
        source.routes.finish(),
        source.tracks.finish(),
    ];
    let mut manifest = manifest(world, cc, setups, outcome, &tables);
    if world.flows.iter().any(|f| f.leg().is_some()) {
        manifest["splits"] = splits(world);
    }
    manifest["nodes"] = json!(nodes);
    manifest["warnings"] = json!(warnings);
    Finished { manifest, tables, stopped: outcome.stopped, memory_per_flow_bytes: 0 }
}

fn rtt_table(rtts: Vec<Rtts>) -> Table {
    let mut table = RttTable::default();
    for (flow, r) in rtts.into_iter().enumerate() {
        for (rtt_us, count) in r.counted() {
            table.push(RttRow { flow: flow as u32, rtt_us, count });
        }
    }
    table.finish()
}

fn flow_totals<const P: bool>(world: &World, cc: &str, recorder: &Recorder<P>, outcome: &Outcome) -> Table {
    let mut table = FlowTotalsTable::default();
    for (i, (plan, t)) in world.flows.iter().zip(&outcome.flows).enumerate() {
        let r = &recorder.rtts[i];
        let end = plan.stop.min(outcome.end);
        let window_start = t.started.unwrap_or(end).max(world.scenario.run.warmup);
        let window_end = t.completed.unwrap_or(end);
        let [drops_queue, drops_random, drops_outage, drops_no_route] = t.dropped;
        table.push(FlowTotalsRow {
            flow: i as u32,
            name: plan.name.clone(),
            from: plan.pair.from.clone(),
            to: plan.pair.to.clone(),
            cc: world.scheme_of(plan, cc).to_string(),
            bottleneck: plan.bottleneck,
            started_ns: t.started.map(|s| s.0),
            completed_ns: t.completed.map(|s| s.0),
            stop_ns: end.0,
            goodput_bytes: t.goodput_bytes,
            window_bytes: t.goodput_bytes.saturating_sub(recorder.delivered_at_warmup[i]),
            window_ns: window_end.saturating_sub(window_start).0,
            data_sent: t.data_sent,
            retransmits: t.retrans,
            timeouts: t.timeouts,
            undos: t.undos,
            recoveries: t.recoveries,
            rtt_samples: r.samples,
            rtt_sum_ns: r.sum_ns,
            inflation_samples: r.inflation_samples,
            inflation_sum: r.inflation_sum,
            base_rtt_min_ns: r.base_min.map(|b| b.0),
            base_rtt_sum_ns: r.base_sum_ns,
            routed_ns: t.routed.0,
            capacity_bps: if t.routed.0 == 0 { 0.0 } else { t.capacity_bits / t.routed.as_secs_f64() },
            payload_share: t.payload_share,
            path_changes: t.path_changes,
            unreachable: t.unreachable,
            telemetry_acks: t.telemetry_acks,
            sent_packets: t.sent,
            delivered_packets: t.delivered,
            under_way_packets: t.under_way,
            drops_queue,
            drops_random,
            drops_outage,
            drops_no_route,
        });
    }
    table.finish()
}

/// Links that nothing ever entered are left out: a constellation has thousands.
fn link_totals(source: &RouteListener<Reader>, outcome: &Outcome) -> Table {
    let mut table = LinkTotalsTable::default();
    let name = |id: NodeId| source.nodes().get(id.ix()).cloned().unwrap_or_default();
    for (i, t) in outcome.links.iter().enumerate().filter(|(_, t)| t.entered > 0) {
        let (Some((port, spec)), Some(&(from, to))) = (source.port_of(i), source.link_ends().get(i)) else {
            continue;
        };
        let [drops_queue, drops_random, drops_outage, drops_no_route] = t.dropped;
        let (bytes, packets) = match spec.queue.limit {
            QueueLimit::Bytes(b) => (Some(b), None),
            QueueLimit::Packets(p) => (None, Some(p)),
        };
        table.push(LinkTotalsRow {
            link: i as u32,
            port: port.0,
            name: spec.name.clone(),
            from: name(from),
            to: name(to),
            queue_limit_bytes: bytes,
            queue_limit_packets: packets,
            entered_packets: t.entered,
            crossed_packets: t.crossed,
            under_way_packets: t.under_way,
            tx_bytes: t.tx_bytes,
            marked_packets: t.marked,
            mean_wait_ns: (t.waited > 0).then(|| t.wait_ns as f64 / t.waited as f64),
            drops_queue,
            drops_random,
            drops_outage,
            drops_no_route,
        });
    }
    table.finish()
}

fn manifest(world: &World, cc: &str, setups: &[FlowSetup], outcome: &Outcome, tables: &[Table]) -> Json {
    let run = &world.scenario.run;
    let hashes: serde_json::Map<String, Json> =
        tables.iter().map(|t| (t.name.to_string(), json!({"rows": t.rows(), "sha256": t.hash()}))).collect();
    json!({
        "record_format": RECORD_FORMAT,
        "scenario": world.scenario.name,
        "title": world.scenario.title,
        "cc": cc,
        "seed": world.seed,
        "duration_ns": run.duration.0,
        "warmup_ns": run.warmup.0,
        "sample_ns": run.sample.0,
        "simulated_ns": outcome.end.0,
        "stopped": outcome.stopped,
        "events": outcome.events,
        "packet_hops": outcome.packet_hops,
        "conserved": outcome.conserved,
        "report": world.report,
        "ports": world.ports,
        "telemetry_max_hops": world.max_hops,
        "tcp_profile": world.scenario.profile,
        "flows": flows(world, cc, setups),
        "pairs": world.header.pairs.iter().map(|p| json!({
            "from": world.header.nodes[p.from.ix()].name,
            "to": world.header.nodes[p.to.ix()].name,
        })).collect::<Vec<_>>(),
        "scenario_toml": world.scenario.resolved_toml,
        "tables": hashes,
    })
}

/// Split flows: the numbers of their legs. What the last leg delivers is what arrives.
fn splits(world: &World) -> Json {
    let first = |(i, plan): (usize, &perigee_scenario::world::FlowPlan)| {
        let leg = plan.leg().filter(|l| l.number == 0)?;
        let legs = leg.split.via.len() + 1;
        Some(json!({
            "flow": leg.flow,
            "legs": (i..i + legs).collect::<Vec<_>>(),
            "via": leg.split.via,
            "buffer_bytes": leg.split.buffer,
            "spoof": leg.split.spoof,
            "standing": leg.split.standing,
        }))
    };
    json!(world.flows.iter().enumerate().filter_map(first).collect::<Vec<_>>())
}

fn flows(world: &World, cc: &str, setups: &[FlowSetup]) -> Vec<Json> {
    // Thousands of identical flows would make a manifest nobody opens.
    const SHOWN: usize = 100;
    let one = |(plan, setup): (&perigee_scenario::world::FlowPlan, &FlowSetup)| {
        let params = match &setup.scheme {
            Scheme::Builtin(_, params) if is_bulk(setup.app) => {
                params.resolved().into_iter().map(|(k, v)| (k.to_string(), json!(v))).collect()
            }
            _ => serde_json::Map::new(),
        };
        json!({
            "name": plan.name,
            "from": plan.pair.from,
            "to": plan.pair.to,
            "cc": world.scheme_of(plan, cc),
            "app": setup.app,
            "start_ns": plan.start.0,
            "stop_ns": plan.stop.0,
            "base_rtt_ns": plan.base_rtt.map(|r| r.0),
            "hops": plan.hops,
            "cc_params": params,
            "tcp": tcp_options(world, plan, setup, cc),
        })
    };
    world.flows.iter().zip(setups).take(SHOWN).map(one).collect()
}

/// Transport options as resolved; empty for flows without a transport.
fn tcp_options(world: &World, plan: &perigee_scenario::world::FlowPlan, setup: &FlowSetup, cc: &str) -> Json {
    match world.transport_of(plan, cc) {
        Ok((_, params)) if is_bulk(setup.app) => {
            let mut options: serde_json::Map<String, Json> =
                params.resolved().into_iter().map(|(k, v)| (k.to_string(), json!(v))).collect();
            options.insert("buffer_bytes".into(), json!(setup.tcp.buffer));
            Json::Object(options)
        }
        _ => json!({}),
    }
}
