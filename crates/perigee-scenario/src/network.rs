// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What every source is turned into: a network with sized queues, its changes, and the pairs that may talk.

use crate::error::{Problem, ScenarioError};
use crate::ports::{PortReport, PortTable};
use crate::scenario::Scenario;
use crate::source::{Chain, Crossing, Fan, Source};
use perigee_timeline::crossing;
use perigee_timeline::topology::{self, Built, PortSpec};
use perigee_timeline::{ChunkSource, Header, LinkId, NodeId, PairId, Timed};
use perigee_units::{BitRate, Nanos};
use std::collections::BTreeSet;

/// A network, its traffic pairs, and the classes of its ports.
pub struct Network {
    /// State at time zero.
    pub header: Header,
    /// What happens.
    pub source: Box<dyn ChunkSource>,
    /// Where flows may run.
    pub pairs: Vec<PairPlace>,
    /// Ports as resolved: each of a small network, the classes of a large one.
    pub ports: Vec<PortReport>,
    /// Base RTT of each pair at time zero; `None` = unreachable then.
    pub base_rtts: Vec<Option<Nanos>>,
    /// Links of each pair's route at time zero, forward.
    pub hops: Vec<usize>,
    /// Links of the longest route of the run, as far as it is known.
    pub longest: usize,
    /// Number of each pair's slowest port at time zero: pairs with the same number share it.
    pub bottlenecks: Vec<u32>,
    /// Lines for a person: what flies, what is doubtful.
    pub report: Vec<String>,
    /// What a person should look at before trusting it.
    pub warnings: Vec<String>,
}

/// A traffic pair with its way back.
#[derive(Clone, Debug)]
pub struct PairPlace {
    /// Name of the sending node.
    pub from: String,
    /// Name of the receiving node.
    pub to: String,
    /// Way of the data.
    pub forward: PairId,
    /// Way of the ACKs.
    pub reverse: PairId,
    /// Only flows that name its ends take it: the way of a split flow's leg, or a saved pair the other way round.
    pub part: bool,
}

/// Builds the network of a scenario for one seed.
///
/// # Errors
/// When the source cannot be built, or a node is unknown.
pub fn build(scenario: &Scenario, seed: u64) -> Result<Network, ScenarioError> {
    let net = bare(scenario, seed)?;
    crate::fading::lay(scenario, net, seed)
}

fn bare(scenario: &Scenario, seed: u64) -> Result<Network, ScenarioError> {
    match &scenario.source {
        Source::Chain(c) => micro(scenario, topology::chain(&chain(c)), seed, no_more),
        Source::Dumbbell(f) => micro(scenario, topology::dumbbell(&dumbbell(f)), seed, no_more),
        Source::ParkingLot(f) => micro(scenario, topology::parking_lot(&parking_lot(f)), seed, no_more),
        Source::Crossing(c) => micro(scenario, crossing::crossing(&crossing(c)), seed, no_more),
        Source::Constellation(c) => crate::sky::build(scenario, c, seed),
        Source::PathLog(p) => crate::replay::path_log(scenario, p, seed),
        Source::Trace(t) => crate::replay::trace(scenario, t, seed),
        Source::Timeline(t) => crate::saved::build(scenario, t),
    }
}

/// Access links are fast enough never to limit.
const ACCESS_RATE: BitRate = BitRate(10_000_000_000);

fn no_more(_: &mut Built) -> Vec<Timed> {
    Vec::new()
}

fn chain(c: &Chain) -> topology::ChainSpec {
    topology::ChainSpec {
        links: c.links,
        copies: c.copies,
        rtt: c.rtt,
        loss: c.loss,
        delay_drop: c.delay_drop,
        ..Default::default()
    }
}

fn dumbbell(f: &Fan) -> topology::DumbbellSpec {
    topology::DumbbellSpec {
        rtts: f.rtts.clone(),
        placement: f.placement,
        bottleneck_delay: f.bottleneck_delay,
        access: PortSpec::packets(ACCESS_RATE, 1),
        loss: f.loss,
        delay_drop: f.delay_drop,
        ..Default::default()
    }
}

fn crossing(c: &Crossing) -> crossing::CrossingSpec {
    crossing::CrossingSpec {
        staying: c.staying,
        moving: c.moving,
        rtts: c.rtts.clone(),
        moves: c.moves.clone(),
        bottleneck_delay: c.bottleneck_delay,
        access: PortSpec::packets(ACCESS_RATE, 1),
        ..Default::default()
    }
}

fn parking_lot(f: &Fan) -> topology::ParkingLotSpec {
    topology::ParkingLotSpec {
        bottlenecks: f.bottlenecks,
        rtts: f.rtts.clone(),
        placement: f.placement,
        bottleneck_delay: f.bottleneck_delay,
        access: PortSpec::packets(ACCESS_RATE, 1),
        delay_drop: f.delay_drop,
        ..Default::default()
    }
}

/// A small network with the scenario's changes; `more` sets what the source knows of it, before `[port.NAME]` is
/// applied, and returns the source's own changes.
///
/// # Errors
/// When it cannot be built, or names of ports or files are wrong.
pub fn micro(
    scenario: &Scenario,
    built: Result<Built, topology::TopologyError>,
    seed: u64,
    more: impl FnOnce(&mut Built) -> Vec<Timed>,
) -> Result<Network, ScenarioError> {
    let mut built = built.map_err(|e| Problem::new("source", e.0))?;
    let mut classes = vec!["access"; built.header.ports.len()];
    for b in &built.bottlenecks {
        classes[b.forward.port.ix()] = "bottleneck";
        classes[b.reverse.port.ix()] = "reverse";
    }
    let mut changes = more(&mut built);
    changes.extend(crate::changes::expand(scenario, &built, seed)?);
    changes.extend(crate::jitter::expand(scenario, &built, seed)?);
    let whole = built.flows.len();
    add_parts(scenario, &mut built);
    let name = |id: NodeId| built.header.nodes[id.ix()].name.clone();
    let place = |(i, f): (usize, &topology::FlowPath)| {
        let pair = built.header.pairs[f.forward.ix()];
        PairPlace {
            from: name(pair.from),
            to: name(pair.to),
            forward: f.forward,
            reverse: f.reverse,
            part: i >= whole,
        }
    };
    let pairs: Vec<PairPlace> = built.flows.iter().enumerate().map(place).collect();
    let ways: Vec<[Vec<LinkId>; 2]> =
        built.flows.iter().map(|f| f.hops.clone().map(|way| way.iter().map(|h| h.link).collect())).collect();
    let table = PortTable::new(&scenario.ports, &["bottleneck", "reverse", "access"], &built.header.ports)?;
    let base_rtts = table.dress(&mut built.header, &classes, &ways);
    let ports = table.report(&built.header.ports, &classes);
    let bottlenecks = ways.iter().map(|w| slowest(&built.header, &w[0])).collect();
    let timeline = built.timeline(scenario.run.duration, changes);
    Ok(Network {
        source: Box::new(timeline.reader()),
        header: timeline.header,
        pairs,
        ports,
        base_rtts: base_rtts.into_iter().map(Some).collect(),
        hops: ways.iter().map(|w| w[0].len()).collect(),
        longest: ways.iter().flatten().map(Vec::len).max().unwrap_or(0),
        bottlenecks,
        report: Vec::new(),
        warnings: Vec::new(),
    })
}

/// The ways of the legs of split flows, where routes do not change.
fn add_parts(scenario: &Scenario, built: &mut Built) {
    let fixed = matches!(
        scenario.source,
        Source::Chain(_) | Source::Dumbbell(_) | Source::ParkingLot(_) | Source::Trace(_)
    );
    let mut known = BTreeSet::new();
    for (from, to) in
        scenario.flows.iter().filter(|f| fixed && f.leg.is_some()).filter_map(|f| f.ends.as_ref())
    {
        let is_whole = |f: &topology::FlowPath| {
            let pair = built.header.pairs[f.forward.ix()];
            [pair.from, pair.to].map(|n| built.header.nodes[n.ix()].name.as_str()) == [from, to]
        };
        if known.insert((from, to)) && !built.flows.iter().any(is_whole) {
            built.part(from, to);
        }
    }
}

/// The first of the slowest ports of a route.
fn slowest(header: &Header, links: &[LinkId]) -> u32 {
    let ports = links.iter().map(|l| header.links[l.ix()].port);
    ports.min_by_key(|p| header.ports[p.ix()].rate).map_or(0, |p| p.0)
}

/// Changes that a source cannot take are refused rather than ignored.
///
/// # Errors
/// When the scenario has any.
pub fn refuse_changes(scenario: &Scenario, why: &str) -> Result<(), ScenarioError> {
    match scenario.changes.first() {
        Some(c) => Err(Problem::new("change", why).at(&c.place).into()),
        None => Ok(()),
    }
}
