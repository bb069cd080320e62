// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From `[source.constellation]` to the sky of `perigee-orbit`.

use crate::error::{Problem, ScenarioError};
use crate::network::{refuse_changes, Network, PairPlace};
use crate::ports::{PortReport, PortTable, Settled};
use crate::scenario::{NodeSpec, Position, Scenario};
use crate::source::{self, Constellation};
use crate::spell;
use perigee_orbit::attach::Policy;
use perigee_orbit::motion::Gravity;
use perigee_orbit::planes::PlaneOptions;
use perigee_orbit::shell::{Perturbation, Phasing, Shell};
use perigee_orbit::time::Epoch;
use perigee_orbit::visibility::Mask;
use perigee_orbit::{
    GroundKind, GroundNode, GroundPorts, Handover, Lasers, Outage, Route, Satellites, Sky, SkyError, SkySpec,
};
use perigee_timeline::{GeoPoint, PairId};
use perigee_units::Nanos;
use std::sync::Arc;

/// Constellations known by name (those of `perigee_orbit::shell::PRESETS`).
pub const PRESETS: &[&str] = &["starlink-shell1"];

/// Elevation below which a satellite is not used, where nothing else is said (Starlink's filing).
const MASK_DEG: f64 = 25.0;

/// Builds the network of a constellation.
///
/// # Errors
/// Unknown places and nodes, damaged element sets, traffic that can never flow.
pub fn build(scenario: &Scenario, c: &Constellation, seed: u64) -> Result<Network, ScenarioError> {
    refuse_changes(scenario, "changes of links belong to the small networks; a sky changes by itself")?;
    let wrong =
        |e: SkyError| ScenarioError::from(Problem::new("source.constellation", e.to_string()).at(&c.place));
    let pairs = pairs(scenario)?;
    let sky = Sky::new(spec(scenario, c, &pairs, seed)?).map_err(wrong)?;
    sky.check().map_err(wrong)?;
    let table = PortTable::new(&scenario.ports, &["ground", "laser"], &[])?;
    let (ground, laser) = (table.settled("ground", ""), table.settled("laser", ""));
    let routes: Vec<Option<Route>> = (0..pairs.len())
        .map(|i| sky.route_at(PairId(2 * i as u32), Nanos::ZERO))
        .collect::<Result<_, _>>()
        .map_err(wrong)?;
    let base_rtts: Vec<Option<Nanos>> =
        routes.iter().map(|r| r.as_ref().map(|r| base_rtt(r, &ground, &laser))).collect();
    let largest = base_rtts.iter().flatten().copied().max().unwrap_or(Nanos::from_millis(50));
    let (ground, laser) = (ground.spec(largest), laser.spec(largest));
    let sky = Arc::new(sky.with_ports(ground, laser));
    let report = sky.report().to_vec();
    Ok(Network {
        header: sky.header(),
        source: Box::new(sky.stream()),
        ports: vec![PortReport::new("ground", "ground", &ground), PortReport::new("laser", "laser", &laser)],
        base_rtts,
        hops: routes.iter().map(|r| r.as_ref().map_or(0, |r| r.delays.len())).collect(),
        longest: longest(&sky, pairs.len(), scenario.run.duration).map_err(wrong)?,
        // The radio of the sender: lasers are faster.
        bottlenecks: pairs.iter().map(|&(from, _)| from as u32).collect(),
        pairs: places(scenario, &pairs),
        report,
    })
}

/// Propagation and serialisation of a full packet there and a plain ACK back: radios at both ends, lasers between.
fn base_rtt(route: &Route, ground: &Settled, laser: &Settled) -> Nanos {
    let mut sum = route.one_way() * 2;
    for bytes in [1500, 52] {
        let radio = ground.rate.time_for(bytes + u64::from(ground.framing));
        let light = laser.rate.time_for(bytes + u64::from(laser.framing));
        sum += radio * 2 + light * (route.delays.len() as u64).saturating_sub(2);
    }
    sum
}

/// One link more than the longest route that is seen at a few instants: a route that is longer for a moment loses the
/// telemetry of its last hop, no more.
fn longest(sky: &Sky, pairs: usize, duration: Nanos) -> Result<usize, SkyError> {
    const INSTANTS: u64 = 64;
    let step = (duration / INSTANTS).max(Nanos::from_secs(10));
    let mut longest = 0;
    for k in 0..=duration.0 / step.0 {
        for pair in 0..pairs.min(64) {
            let route = sky.route_at(PairId(2 * pair as u32), step * k)?;
            longest = longest.max(route.map_or(0, |r| r.delays.len()));
        }
    }
    Ok(longest + 1)
}

/// Each pair of nodes that some flow connects, once, in the order of the flows.
fn pairs(scenario: &Scenario) -> Result<Vec<(usize, usize)>, ScenarioError> {
    let mut pairs = Vec::new();
    for flow in &scenario.flows {
        let Some((from, to)) = &flow.ends else {
            let p = Problem::new("flow.from", "must be given: a constellation has no natural pairs");
            return Err(p.at(&flow.place).into());
        };
        let pair = (node(scenario, from, flow)?, node(scenario, to, flow)?);
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    Ok(pairs)
}

fn node(scenario: &Scenario, name: &str, flow: &crate::scenario::FlowSpec) -> Result<usize, ScenarioError> {
    let names = || scenario.nodes.iter().map(|n| n.name.as_str());
    names().position(|n| n == name).ok_or_else(|| {
        let mut p = Problem::new("flow", format!("no node is called {name:?}")).at(&flow.place);
        p.allowed = Some(names().collect::<Vec<_>>().join(", "));
        p.hint = spell::hint(name, names());
        p.into()
    })
}

fn places(scenario: &Scenario, pairs: &[(usize, usize)]) -> Vec<PairPlace> {
    let place = |(i, &(from, to)): (usize, &(usize, usize))| PairPlace {
        from: scenario.nodes[from].name.clone(),
        to: scenario.nodes[to].name.clone(),
        forward: PairId(2 * i as u32),
        reverse: PairId(2 * i as u32 + 1),
    };
    pairs.iter().enumerate().map(place).collect()
}

fn spec(
    scenario: &Scenario,
    c: &Constellation,
    pairs: &[(usize, usize)],
    seed: u64,
) -> Result<SkySpec, ScenarioError> {
    let mask = Mask::Elevation(c.mask_deg.unwrap_or(MASK_DEG));
    let ground = scenario.nodes.iter().map(|n| ground(n, mask)).collect::<Result<_, _>>()?;
    let start = c.start.as_deref().map(Epoch::parse).transpose();
    let start = start.map_err(|e| Problem::new("source.constellation.start", e).at(&c.place))?;
    let length = scenario.handover.length;
    Ok(SkySpec {
        title: scenario.title.clone(),
        satellites: satellites(c)?,
        lasers: if c.lasers { Lasers::PlusGrid } else { Lasers::None },
        start,
        ground,
        pairs: pairs.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect(),
        routing: c.routing,
        attach: if c.attach_nearest { Policy::Nearest } else { Policy::ShortestPath },
        step: c.step,
        duration: scenario.run.duration,
        ground_ports: if c.ports_per_link { GroundPorts::PerLink } else { GroundPorts::PerNode },
        handover: Handover {
            outage: match length.as_fixed() {
                Some(fixed) => Outage::Fixed(fixed),
                None => Outage::Uniform(length.low, length.high),
            },
            mode: scenario.handover.mode,
        },
        seed,
        ..SkySpec::default()
    })
}

fn satellites(c: &Constellation) -> Result<Satellites, ScenarioError> {
    match &c.satellites {
        source::Satellites::Preset(name) => {
            let known = perigee_orbit::shell::PRESETS.iter().find(|(n, _)| n == name);
            let (_, shell) = known.ok_or_else(|| Problem::new("source.constellation.preset", "unknown"))?;
            Ok(Satellites::Shell(*shell))
        }
        source::Satellites::Shell(s) => Ok(Satellites::Shell(Shell {
            altitude_m: s.altitude_m,
            inclination_deg: s.inclination_deg,
            planes: s.planes,
            per_plane: s.per_plane,
            phasing: Phasing::Factor(s.phasing),
            raan_spread_deg: s.raan_spread_deg,
            raan0_deg: 0.0,
            perturbation: Perturbation::J2Secular,
        })),
        source::Satellites::Tle(file) => {
            let name = file.display().to_string();
            let text = std::fs::read_to_string(file).map_err(|e| {
                Problem::new("source.constellation.tle", format!("cannot read {name}: {e}")).at(&c.place)
            })?;
            Ok(Satellites::Tle { name, text, planes: PlaneOptions::default(), gravity: Gravity::Wgs72 })
        }
    }
}

fn ground(n: &NodeSpec, mask: Mask) -> Result<GroundNode, ScenarioError> {
    let (lat_deg, lon_deg) = match &n.position {
        Position::Degrees(lat, lon) => (*lat, *lon),
        Position::City(city) => {
            let Some(city) = perigee_orbit::cities::find(city) else {
                let mut p = Problem::new(format!("node.{}.place", n.name), "not in the list of cities")
                    .at(&n.place)
                    .found(format!("{city:?}"));
                p.hint = Some(match perigee_orbit::cities::nearest_spelling(city) {
                    Some(near) => format!("did you mean {near:?}? Else give lat and lon in degrees"),
                    None => "give lat and lon in degrees instead".into(),
                });
                return Err(p.into());
            };
            (city.lat_deg, city.lon_deg)
        }
    };
    let kind = if n.kind == "station" { GroundKind::Station } else { GroundKind::Terminal };
    Ok(GroundNode {
        name: n.name.clone(),
        kind,
        place: GeoPoint { lat_deg, lon_deg, height_m: n.height_m },
        mask,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_words_of_the_grammar_are_the_presets_of_the_orbits() {
        let names: Vec<_> = perigee_orbit::shell::PRESETS.iter().map(|p| p.0).collect();
        assert_eq!(names, super::PRESETS);
    }
}
