// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The small networks: chain, dumbbell, parking lot, crossing, parallel paths.

use crate::file::error::{Problem, ScenarioError};
use crate::file::scenario::Scenario;
use crate::file::sources::{Chain, Crossing, Dumbbell, Parallel, ParkingLot, Source};
use crate::file::vary::Varied;
use crate::world::changes;
use crate::world::jitter;
use crate::world::network::{Network, PairPlace};
use crate::world::ports::{PortReport, PortTable};
use perigee_sources::crossing;
use perigee_sources::parallel::ParallelSpec;
use perigee_sources::topology::{self, Built};
use perigee_timeline::PortSpec;
use perigee_timeline::{Header, LinkId, NodeId, Timed};
use perigee_units::draw::{mix, unit};
use perigee_units::{BitRate, Nanos};
use std::collections::BTreeSet;

/// Rate of access links, which never limit.
const ACCESS_RATE: BitRate = BitRate(10_000_000_000);

pub(crate) fn no_more(_: &mut Built) -> Vec<Timed> {
    Vec::new()
}

pub(crate) fn chain(c: &Chain) -> topology::ChainSpec {
    topology::ChainSpec {
        links: c.links,
        copies: c.copies,
        rtt: c.rtt,
        loss: c.loss,
        order: c.reordering,
        ..Default::default()
    }
}

pub(crate) fn dumbbell(f: &Dumbbell) -> topology::DumbbellSpec {
    topology::DumbbellSpec {
        rtts: f.rtt.clone(),
        placement: f.rtt_at,
        bottleneck_delay: f.bottleneck_delay,
        access: PortSpec::packets(ACCESS_RATE, 1),
        loss: f.loss,
        order: f.reordering,
        ..Default::default()
    }
}

pub(crate) fn crossing(c: &Crossing) -> crossing::CrossingSpec {
    crossing::CrossingSpec {
        staying: c.staying,
        moving: c.moving,
        rtts: c.rtt.clone(),
        moves: c.moves.clone(),
        bottleneck_delay: c.bottleneck_delay,
        access: PortSpec::packets(ACCESS_RATE, 1),
        ..Default::default()
    }
}

pub(crate) fn parallel(p: &Parallel) -> ParallelSpec {
    ParallelSpec {
        rtts: p.rtt.clone(),
        path_delays: p.path_delay.clone(),
        by: p.by(),
        access: PortSpec::packets(ACCESS_RATE, 1),
        ..Default::default()
    }
}

pub(crate) fn parking_lot(f: &ParkingLot) -> topology::ParkingLotSpec {
    topology::ParkingLotSpec {
        bottlenecks: f.bottlenecks,
        rtts: f.rtt.clone(),
        placement: f.rtt_at,
        bottleneck_delay: f.bottleneck_delay,
        access: PortSpec::packets(ACCESS_RATE, 1),
        order: f.reordering,
        ..Default::default()
    }
}

/// A small network with the scenario's changes. `more` applies the source's settings before
/// `[port.NAME]` and returns the source's own changes.
///
/// # Errors
/// If the network cannot be built, or names of ports or files are invalid.
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
    let seed = scenario.run.vary.seed_of(Varied::Changes, seed);
    spread_rtts(scenario, &mut built, seed)?;
    changes.extend(changes::expand(scenario, &built, seed)?);
    changes.extend(jitter::expand(scenario, &built, seed)?);
    let whole = built.flows.len();
    add_parts(scenario, &mut built);
    finish(scenario, built, whole, changes, |header, ways| {
        let table = PortTable::new(&scenario.ports, &["bottleneck", "reverse", "access"], &header.ports)?;
        let base_rtts = table.apply_to(header, &classes, ways);
        Ok((base_rtts, table.report(&header.ports, &classes)))
    })
}

/// Draws the base RTTs around their nominal values (`run.rtt_spread`).
fn spread_rtts(scenario: &Scenario, built: &mut Built, seed: u64) -> Result<(), ScenarioError> {
    const SPREAD: u64 = 0x7370_7265_6164;
    let spread = scenario.run.rtt_spread;
    if spread == 0.0 {
        return Ok(());
    }
    let factor = |flow: usize| 1.0 + spread * (2.0 * unit(mix(mix(seed ^ SPREAD) ^ flow as u64)) - 1.0);
    built.spread_rtts(factor).map_err(|e| Problem::new("run.rtt_spread", e.0).into())
}

/// Base RTTs, and ports for the manifest.
type Ports = (Vec<Nanos>, Vec<PortReport>);

/// Network from a topology: the first `whole` flows are unsplit, the others are legs. `apply` sets
/// the ports, given the links of each pair in both directions.
///
/// # Errors
/// Errors of `apply`.
pub(crate) fn finish(
    scenario: &Scenario,
    mut built: Built,
    whole: usize,
    changes: Vec<Timed>,
    apply: impl FnOnce(&mut Header, &[[Vec<LinkId>; 2]]) -> Result<Ports, ScenarioError>,
) -> Result<Network, ScenarioError> {
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
    let mut pairs: Vec<PairPlace> = built.flows.iter().enumerate().map(place).collect();
    let mut ways: Vec<[Vec<LinkId>; 2]> =
        built.flows.iter().map(|f| f.hops.clone().map(|way| way.iter().map(|h| h.link).collect())).collect();
    add_turned(scenario, &mut pairs, &mut ways);
    let (base_rtts, ports) = apply(&mut built.header, &ways)?;
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
        warnings: changes::early_ends(scenario),
    })
}

/// Adds the paths of the legs of split flows, where routes do not change.
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

/// Adds reversed pairs for flows in that direction: uploads.
fn add_turned(scenario: &Scenario, pairs: &mut Vec<PairPlace>, ways: &mut Vec<[Vec<LinkId>; 2]>) {
    let ends: BTreeSet<(&str, &str)> = scenario
        .flows
        .iter()
        .filter_map(|f| f.ends.as_ref())
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    for i in 0..pairs.len() {
        let p = &pairs[i];
        let there = |q: &PairPlace| q.from == p.to && q.to == p.from;
        if ends.contains(&(p.to.as_str(), p.from.as_str())) && !pairs.iter().any(there) {
            let [go, back] = ways[i].clone();
            let turned = PairPlace {
                from: p.to.clone(),
                to: p.from.clone(),
                forward: p.reverse,
                reverse: p.forward,
                part: true,
            };
            pairs.push(turned);
            ways.push([back, go]);
        }
    }
}

/// The first of the slowest ports of a route.
fn slowest(header: &Header, links: &[LinkId]) -> u32 {
    let ports = links.iter().map(|l| header.links[l.ix()].port);
    ports.min_by_key(|p| header.ports[p.ix()].spec.rate).map_or(0, |p| p.0)
}
