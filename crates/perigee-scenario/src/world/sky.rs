// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Construction of a network that changes over time from `[source.constellation]`.

use crate::file::error::{Problem, ScenarioError};
use crate::file::field::Named;
use crate::file::scenario::Scenario;
use crate::file::sources::LEOEM;
use crate::file::sources::{self, Constellation};
use crate::file::suggestions;
use crate::world::network::{refuse_changes, Network, PairPlace};
use crate::world::ports::Settled;
use crate::world::radio::RadioTable;
use crate::world::replay;
use crate::world::sky_spec;
use perigee_orbit::{interop, Route, Sky, SkyError};
use perigee_sources::leoem::PathLog;
use perigee_timeline::LinkOrder;
use perigee_timeline::PairId;
use perigee_units::Nanos;
use std::sync::Arc;

/// Builds the network of a constellation.
///
/// # Errors
/// Unknown places and nodes, damaged element sets, traffic that can never flow.
pub fn build(scenario: &Scenario, c: &Constellation, seed: u64) -> Result<Network, ScenarioError> {
    let wrong =
        |e: SkyError| ScenarioError::from(Problem::new("source.constellation", e.to_string()).at(c.place()));
    let pairs = pairs(scenario)?;
    if c.is_leoem() {
        refuse_changes(scenario, "a recorded path has its changes already")?;
        return leoem(scenario, c, &pairs, seed);
    }
    let sky = Sky::new(sky_spec::spec(scenario, c, &pairs, seed)?).map_err(wrong)?;
    let cut = sky.check().map_err(wrong)?;
    let table = RadioTable::new(scenario, c, &sky.constellation().names)?;
    let isl = table.isl();
    // Every second pair is a reverse pair.
    let routes: Vec<Option<Route>> =
        sky.routes_at(Nanos::ZERO).map_err(wrong)?.into_iter().step_by(2).collect();
    let base_rtts: Vec<Option<Nanos>> =
        routes.iter().zip(&pairs).map(|(r, pair)| Some(base_rtt(r.as_ref()?, &table, *pair, &isl))).collect();
    let largest = base_rtts.iter().flatten().copied().max().unwrap_or(Nanos::from_millis(50));
    let ports = table.report(largest);
    let sky =
        Arc::new(sky.with_ports(table.usual(largest), isl.spec(largest)).with_radios(table.radios(largest)));
    let (report, warnings) =
        (sky.report().to_vec(), [c.remarks(), sky.warnings().to_vec(), Vec::from_iter(cut)].concat());
    let (of_pair, places): (Vec<usize>, Vec<PairPlace>) = places(scenario, &pairs)?.into_iter().unzip();
    let hops = |&i: &usize| routes[i].as_ref().map_or(0, |r| r.delays.len());
    let node = |name: &str| scenario.nodes.iter().position(|n| n.name == name).unwrap_or(0);
    let bottleneck = |p: &PairPlace| table.slowest(node(&p.from), node(&p.to));
    Ok(Network {
        header: sky.header(),
        source: Box::new(sky.stream()),
        ports,
        base_rtts: of_pair.iter().map(|&i| base_rtts[i]).collect(),
        hops: of_pair.iter().map(hops).collect(),
        longest: longest(&sky, scenario.run.duration).map_err(wrong)?,
        // ISLs are faster.
        bottlenecks: places.iter().map(bottleneck).collect(),
        pairs: places,
        report,
        warnings,
    })
}

/// Path that LeoEM would log between two nodes, over ISLs or, without them, over all stations.
fn leoem(
    scenario: &Scenario,
    c: &Constellation,
    pairs: &[(usize, usize)],
    seed: u64,
) -> Result<Network, ScenarioError> {
    let wrong =
        |why: String| ScenarioError::from(Problem::new("source.constellation.preset", why).at(c.place()));
    let &[(from, to)] = pairs else {
        return Err(wrong(format!(
            "{}: a path log has exactly one pair of nodes, not {}",
            LEOEM,
            pairs.len()
        )));
    };
    let log = leoem_log(scenario, c, (from, to))?;
    let replay = sources::PathLog {
        file: Named { path: "".into(), place: c.place().clone() },
        // LeoEM's emulator interrupts the hops of a row.
        hops: if c.is_broken() { "chain" } else { "nodes" }.into(),
        first: Nanos::ZERO,
        breaks: if c.is_broken() { "emulator" } else { "none" }.into(),
        reordering: if c.is_broken() { LinkOrder::Reorder } else { LinkOrder::Fifo },
        written: c.written.clone(),
    };
    let ends = [from, to].map(|n| scenario.nodes[n].name.as_str());
    replay::of_log(scenario, &log, &replay, ends, seed).map_err(|e| match e {
        replay::Unfit::Log(why) => wrong(why),
        replay::Unfit::Scenario(e) => e,
    })
}

/// The log itself, in memory.
///
/// # Errors
/// Unknown places.
pub(crate) fn leoem_log(
    scenario: &Scenario,
    c: &Constellation,
    (from, to): (usize, usize),
) -> Result<PathLog, ScenarioError> {
    let place = |n: usize| sky_spec::ground(&scenario.nodes[n], sky_spec::MASK_DEG, false).map(|g| g.place);
    let way = if c.isls == "none" {
        let stations = (0..scenario.nodes.len()).filter(|&n| scenario.nodes[n].kind == "station");
        interop::leoem::Transit::Relays(stations.map(place).collect::<Result<_, _>>()?)
    } else {
        interop::leoem::Transit::Isls
    };
    let seconds = scenario.run.duration.0.div_ceil(1_000_000_000) as u32;
    Ok(interop::leoem::path_log([place(from)?, place(to)?], &way, seconds))
}

/// Propagation and serialisation of a full packet forward and a plain ACK back: radios at both
/// ends, ISLs in between.
fn base_rtt(route: &Route, radios: &RadioTable, (from, to): (usize, usize), isl: &Settled) -> Nanos {
    let mut sum = route.one_way() * 2;
    for (bytes, [a, b]) in [(1500, [from, to]), (52, [to, from])] {
        let light = isl.transmission(bytes);
        sum += radios.up(a).transmission(bytes) + radios.down(b).transmission(bytes);
        sum += light * (route.delays.len() as u64).saturating_sub(2);
    }
    sum
}

/// One link more than the longest route found at a few instants: if a route is longer for a moment,
/// only the telemetry of its last hop is lost.
fn longest(sky: &Sky, duration: Nanos) -> Result<usize, SkyError> {
    const INSTANTS: u64 = 64;
    let step = (duration / INSTANTS).max(Nanos::from_secs(10));
    let mut longest = 0;
    for k in 0..=duration.0 / step.0 {
        let links = sky.routes_at(step * k)?.into_iter().flatten().map(|r| r.delays.len()).max();
        longest = longest.max(links.unwrap_or(0));
    }
    Ok(longest + 1)
}

/// Pairs of nodes connected by flows, without duplicates, in the order of the flows and the
/// direction of the first flow.
pub(crate) fn pairs(scenario: &Scenario) -> Result<Vec<(usize, usize)>, ScenarioError> {
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (from, to) in directions(scenario)? {
        if !pairs.contains(&(from, to)) && !pairs.contains(&(to, from)) {
            pairs.push((from, to));
        }
    }
    Ok(pairs)
}

/// Directions in which flows send, without duplicates, in the order of the flows.
fn directions(scenario: &Scenario) -> Result<Vec<(usize, usize)>, ScenarioError> {
    let mut pairs = Vec::new();
    for flow in &scenario.flows {
        let Some((from, to)) = &flow.ends else {
            let p =
                Problem::new("flow.from", "required key is missing: a constellation has no default pairs");
            return Err(p.at(&flow.place).into());
        };
        let pair = (node(scenario, from, flow)?, node(scenario, to, flow)?);
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    Ok(pairs)
}

fn node(scenario: &Scenario, name: &str, flow: &crate::file::flow::FlowSpec) -> Result<usize, ScenarioError> {
    let names = || scenario.nodes.iter().map(|n| n.name.as_str());
    names().position(|n| n == name).ok_or_else(|| {
        let mut p = Problem::new("flow", format!("no such node: {name:?}")).at(&flow.place);
        p.allowed = Some(names().collect::<Vec<_>>().join(", "));
        p.hint = suggestions::hint(name, names());
        p.into()
    })
}

/// Directions that flows may use, each with the pair it belongs to.
fn places(scenario: &Scenario, pairs: &[(usize, usize)]) -> Result<Vec<(usize, PairPlace)>, ScenarioError> {
    let place = |(from, to): (usize, usize)| {
        let i = pairs.iter().position(|&p| p == (from, to) || p == (to, from))?;
        let (there, back) = (PairId(2 * i as u32), PairId(2 * i as u32 + 1));
        let (forward, reverse) = if pairs[i] == (from, to) { (there, back) } else { (back, there) };
        let name = |n: usize| scenario.nodes[n].name.clone();
        Some((i, PairPlace { from: name(from), to: name(to), forward, reverse, part: false }))
    };
    Ok(directions(scenario)?.into_iter().filter_map(place).collect())
}
