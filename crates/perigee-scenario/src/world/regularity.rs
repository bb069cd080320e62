// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Warnings about runs that are too regular: seeds without effect, and phases locked by drop-tail
//! queues.

use crate::file::scenario::Scenario;
use crate::file::sources::Source;
use crate::world::from_source;
use crate::world::network::Network;
use perigee_timeline::{App, Header, PairId};
use std::collections::BTreeMap;

/// A flow and the port it loads.
#[derive(Clone, Copy, Debug)]
pub struct Offered {
    /// Pair of its data.
    pub forward: PairId,
    /// Number of its slowest port.
    pub bottleneck: u32,
    /// Application of the flow.
    pub app: App,
}

/// Warnings about the runs of a scenario, given its network for `seed` and the flows on it.
pub fn warnings(scenario: &Scenario, seed: u64, header: &Header, flows: &[Offered]) -> Vec<String> {
    let mut out: Vec<String> = locked_phases(scenario, header, flows).into_iter().collect();
    // Networks are compared only once, for the first seed: the comparison builds two more networks.
    let compares = scenario.run.runs > 1 && seed == scenario.run.seed;
    if compares && !draws_packets(scenario, header, flows) && has_one_network(scenario, seed) {
        out.push(format!(
            "all {} seeds give the same network and traffic: runs differ at most by random draws of the congestion controls (BBR's \
             phases), so that intervals over them are not meaningful; set run.host_jitter or run.rtt_spread",
            scenario.run.runs
        ));
    }
    out
}

/// Whether a draw for single packets, starts or applications depends on the seed.
fn draws_packets(scenario: &Scenario, header: &Header, flows: &[Offered]) -> bool {
    let run = &scenario.run;
    let regular = |app: App| matches!(app, App::Bulk { .. } | App::Ping { .. } | App::Cbr { .. });
    run.start_jitter.0 > 0
        || run.host_jitter.0 > 0
        || header.links.iter().any(|l| l.loss > 0.0)
        || header.ports.iter().any(|p| p.spec.queue.discipline.name != "drop-tail")
        || flows.iter().any(|f| !regular(f.app))
}

/// Whether the network over time is the same for the next seed. Networks over moving satellites
/// count as different: their seeds determine outages and phases.
fn has_one_network(scenario: &Scenario, seed: u64) -> bool {
    if matches!(scenario.source, Source::Constellation(_)) {
        return false;
    }
    let of = |seed: u64| from_source::build(scenario, seed).ok();
    let (Some(mut a), Some(mut b)) = (of(seed), of(seed.wrapping_add(1))) else { return false };
    if a.header != b.header {
        return false;
    }
    loop {
        match (next(&mut a), next(&mut b)) {
            (Some(None), Some(None)) => return true,
            (x, y) if x.is_some() && x == y => {}
            _ => return false,
        }
    }
}

/// Next chunk; `None` if the source fails, which is reported by its run.
fn next(net: &mut Network) -> Option<Option<std::sync::Arc<perigee_timeline::Chunk>>> {
    net.source.next_chunk().ok()
}

/// Constant-rate datagrams through a drop-tail port that cannot carry all of them: without jitter
/// the same flows find the queue full again and again.
fn locked_phases(scenario: &Scenario, header: &Header, flows: &[Offered]) -> Option<String> {
    if scenario.run.host_jitter.0 > 0 {
        return None;
    }
    let mut loads: BTreeMap<Shared, Load> = BTreeMap::new();
    for flow in flows {
        let App::Cbr { interval, size } = flow.app else { continue };
        let bps = f64::from(size) * 8.0 / interval.as_secs_f64();
        let ends = header.pairs.get(flow.forward.ix()).map(|p| [Shared::From(p.from.0), Shared::To(p.to.0)]);
        for shared in ends.into_iter().flatten().chain([Shared::Port(flow.bottleneck)]) {
            let load = loads.entry(shared).or_default();
            load.flows += 1;
            load.bps += bps;
        }
    }
    loads.retain(|_, load| load.flows > 1);
    if loads.is_empty() {
        return None;
    }
    for port in header.ports.iter().enumerate().filter(|(_, p)| p.spec.queue.discipline.name == "drop-tail") {
        Load::count_port(&mut loads, Shared::Port(port.0 as u32), port.1.spec.rate.0);
        Load::count_port(&mut loads, Shared::From(port.1.node.0), port.1.spec.rate.0);
    }
    for link in &header.links {
        let port = &header.ports[link.port.ix()];
        if port.spec.queue.discipline.name == "drop-tail" {
            Load::count_port(&mut loads, Shared::To(link.to.0), port.spec.rate.0);
        }
    }
    let (shared, load) = loads.iter().find(|(_, l)| l.capacity_bps.is_some_and(|c| l.bps > c as f64))?;
    Some(format!(
        "{} flows at constant rates offer {:.3} Mbit/s to {} of {:.3} Mbit/s: a drop-tail queue locks their phases, so that \
         losses always affect the same flows; set run.host_jitter to the service time of one packet at this port",
        load.flows,
        load.bps / 1e6,
        shared.name(header),
        load.capacity_bps.unwrap_or_default() as f64 / 1e6
    ))
}

/// Resource that flows may share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Shared {
    /// A port.
    Port(u32),
    /// A port of the sending node.
    From(u32),
    /// A port towards the receiving node.
    To(u32),
}

impl Shared {
    fn name(self, header: &Header) -> String {
        let node = |n: u32| &header.nodes[n as usize].name;
        match self {
            Shared::Port(p) => format!("port {:?}", header.ports[p as usize].name),
            Shared::From(n) => format!("a port of {:?}", node(n)),
            Shared::To(n) => format!("a port towards {:?}", node(n)),
        }
    }
}

/// Constant-rate flows, and the fastest drop-tail port that they may share.
#[derive(Clone, Copy, Default)]
struct Load {
    flows: usize,
    bps: f64,
    capacity_bps: Option<u64>,
}

impl Load {
    fn count_port(loads: &mut BTreeMap<Shared, Load>, shared: Shared, bps: u64) {
        if let Some(load) = loads.get_mut(&shared) {
            load.capacity_bps = load.capacity_bps.max(Some(bps));
        }
    }
}
