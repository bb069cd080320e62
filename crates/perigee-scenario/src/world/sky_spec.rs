// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Conversion of `[source.constellation]`, `[node.NAME]` and `[handover]` to the configuration of
//! `perigee-orbit`.

use crate::file::error::{Place, Problem, ScenarioError};
use crate::file::flow::FlowSpec;
use crate::file::handover::Handover as OutageKeys;
use crate::file::node::{NodeSpec, Position};
use crate::file::notation;
use crate::file::scenario::Scenario;
use crate::file::sources::{self, Constellation};
use crate::file::vary::Varied;
use crate::world::node_outages;
use crate::world::radio::RadioTable;
use perigee_orbit::interop;
use perigee_orbit::links::isls::{Limits, Seam};
use perigee_orbit::links::lasers::{LaserFaults, Pointing};
use perigee_orbit::links::planes::PlaneOptions;
use perigee_orbit::links::visibility::Mask;
use perigee_orbit::motion::fleet::Gravity;
use perigee_orbit::motion::presets;
use perigee_orbit::motion::shell::{Phasing, Propagation, Shell};
use perigee_orbit::sky::policy::{Peers, Policy, Reselect, STARLINK_SLOTS};
use perigee_orbit::time::Epoch;
use perigee_orbit::{
    GroundKind, GroundNode, GroundPorts, Handover, Isls, LoadRule, Outage, PathRule, Pattern, Recurrence,
    Satellites, SkySpec,
};
use perigee_timeline::workload::App;
use perigee_timeline::GeoPoint;
use perigee_units::files;
use perigee_units::{BitRate, Nanos};
use std::collections::BTreeMap;
use std::path::Path;

/// Default minimum elevation of a satellite in use (Starlink's filing).
pub(crate) const MASK_DEG: f64 = 25.0;

/// Longest outage accepted in a recorded distribution.
const MAX_OUTAGE_S: f64 = 3600.0;

/// Sky of a scenario; queues are still placeholders.
///
/// # Errors
/// Unknown places, unreadable files, an impossible start.
pub fn spec(
    scenario: &Scenario,
    c: &Constellation,
    pairs: &[(usize, usize)],
    seed: u64,
) -> Result<SkySpec, ScenarioError> {
    loaded(scenario, c)?;
    let (satellites, own_mask) = satellites(c)?;
    let mask = c.mask_deg.unwrap_or(own_mask);
    let mut ground: Vec<GroundNode> =
        scenario.nodes.iter().map(|n| ground(n, mask, c.relay == "stations")).collect::<Result<_, _>>()?;
    node_outages::apply(scenario, c.step, &mut ground)?;
    let start = c.start.as_deref().map(Epoch::parse).transpose();
    let start = start.map_err(|e| Problem::new("source.constellation.start", e).at(c.place()))?;
    let mut spec = SkySpec {
        title: scenario.title.clone(),
        satellites,
        isls: isls(c)?,
        start,
        ground,
        pairs: pairs.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect(),
        routing: c.routing,
        rule: rule(scenario, c)?,
        attach: policy(&c.attach),
        attach_for: if c.attach_for.as_deref() == Some("first") { Peers::First } else { Peers::All },
        reselect: reselect(c),
        hysteresis: c.hysteresis,
        step: c.step,
        duration: scenario.run.duration,
        ground_ports: if c.ground_ports == "per-link" { GroundPorts::PerLink } else { GroundPorts::PerNode },
        handover: handover(&scenario.handover)?,
        seed: scenario.run.vary.seed_of(Varied::Outages, seed),
        later: scenario.run.vary.phase(seed),
        plugins: scenario.plugins.clone(),
        ..SkySpec::default()
    };
    if let sources::Satellites::Preset(name) = c.satellites() {
        interop::apply(name, &mut spec, &|key| c.written.has(key));
    }
    Ok(spec)
}

fn policy(word: &str) -> Policy {
    match word {
        "nearest" => Policy::Nearest,
        "highest-elevation" => Policy::HighestElevation,
        "longest-visibility" => Policy::LongestVisibility,
        function if notation::function(function).is_some() => Policy::Function,
        _ => Policy::ShortestPath,
    }
}

/// Checks that every named function has been loaded, which only a Python process can do.
fn loaded(scenario: &Scenario, c: &Constellation) -> Result<(), ScenarioError> {
    let p = &scenario.plugins;
    let there = |key: &str| match key {
        "attach" => p.attach.is_some(),
        "route" => p.route.is_some(),
        _ => p.isls.is_some(),
    };
    match c.functions().into_iter().find(|f| !there(f.key)) {
        None => Ok(()),
        Some(f) => {
            let why = format!("the function {} of {} is not loaded", f.name, f.file.display());
            let p = Problem::new(format!("source.constellation.{}", f.key), why).at(&f.place);
            Err(p
                .hint("name a function of a .py file, or pass one with perigee.load(FILE, {KEY: function})")
                .into())
        }
    }
}

fn rule(scenario: &Scenario, c: &Constellation) -> Result<PathRule, ScenarioError> {
    match c.route.as_str() {
        "disjoint" => Ok(PathRule::Disjoint),
        "load-aware" => {
            let radios = RadioTable::unchecked(scenario, c);
            let isl_bps = radios.isl().rate.0;
            let demand_bps = demands(scenario, c.load_demand, &|node| radios.up(node).rate.0);
            let (delay, period) = (c.load_delay, c.load_period);
            Ok(PathRule::LoadAware(LoadRule { demand_bps, isl_bps, delay, period }))
        }
        _ => Ok(PathRule::Shortest),
    }
}

/// Demands from node to node in bit/s. A flow without its own rate fills its sender's radio,
/// together with all such flows of the sender.
fn demands(
    scenario: &Scenario,
    each: Option<BitRate>,
    radio_bps: &dyn Fn(usize) -> u64,
) -> BTreeMap<(usize, usize), u64> {
    let node = |name: &String| scenario.nodes.iter().position(|n| n.name == *name);
    let ends = |f: &FlowSpec| f.ends.as_ref().and_then(|(a, b)| Some((node(a)?, node(b)?)));
    let mut flows_of: BTreeMap<usize, u64> = BTreeMap::new();
    for flow in &scenario.flows {
        if let Some((from, _)) = ends(flow) {
            *flows_of.entry(from).or_default() += flow.count;
        }
    }
    let mut demands = BTreeMap::new();
    for flow in &scenario.flows {
        let Some((from, to)) = ends(flow) else { continue };
        let own = match flow.app {
            App::Voice(v) => {
                let bits = u128::from(v.codec.packet_bytes(v.interval)) * 8_000_000_000;
                Some((bits / u128::from(v.interval.0.max(1))) as u64)
            }
            App::Cbr { interval, size } => {
                Some((u128::from(size) * 8_000_000_000 / u128::from(interval.0.max(1))) as u64)
            }
            _ => None,
        };
        let share = || radio_bps(from) / flows_of[&from].max(1);
        let one = each.map(|r| r.0).or(own).unwrap_or_else(share);
        *demands.entry((from, to)).or_default() += one * flow.count;
    }
    demands
}

fn reselect(c: &Constellation) -> Reselect {
    match (c.reselect.as_str(), c.attach.as_str()) {
        ("lost", _) | ("auto", "longest-visibility") => Reselect::WhenLost,
        ("hold", _) => Reselect::Hold(c.hold),
        ("slots", _) => STARLINK_SLOTS,
        _ => Reselect::EachStep,
    }
}

/// Satellites, and the minimum elevation that belongs to them.
fn satellites(c: &Constellation) -> Result<(Satellites, f64), ScenarioError> {
    let Some(file) = &c.also_tle else { return alone(c) };
    match alone(c)? {
        (Satellites::Shells(shells), mask) => {
            Ok((Satellites::Both(shells, Box::new(elements(c, "also_tle", file)?)), mask))
        }
        other => Ok(other),
    }
}

/// Element sets from the file of a key.
fn elements(c: &Constellation, key: &str, file: &Path) -> Result<Satellites, ScenarioError> {
    let text = read(&format!("source.constellation.{key}"), file, c.place())?;
    let name = file.display().to_string();
    let planes = PlaneOptions { min_altitude_km: c.min_altitude_m / 1e3, ..PlaneOptions::default() };
    Ok(Satellites::Elements { name, text, planes, gravity: Gravity::Wgs72 })
}

fn alone(c: &Constellation) -> Result<(Satellites, f64), ScenarioError> {
    let propagation = match c.propagation.as_str() {
        "kepler" => Propagation::Kepler,
        "sgp4" => Propagation::Sgp4 { revs_per_day: None, epoch: None },
        _ => Propagation::J2,
    };
    match c.satellites() {
        sources::Satellites::Preset(name) => {
            // The sky of another tool replaces this preset.
            let known = presets::find(name).or_else(|| presets::find("starlink-shell1"));
            let preset = known.ok_or_else(|| Problem::new("source.constellation.preset", "unknown"))?;
            let moved = |shell: &Shell| match shell.propagation {
                Propagation::EarthFixed => Shell { raan0_deg: c.longitude_deg, ..*shell },
                _ => Shell { propagation, ..*shell },
            };
            Ok((Satellites::Shells(preset.shells.iter().map(moved).collect()), preset.mask_deg))
        }
        sources::Satellites::Shells(all) => {
            let shell = |s: &sources::Shell| Shell {
                altitude_m: s.altitude_m,
                inclination_deg: s.inclination_deg,
                planes: s.planes,
                per_plane: s.per_plane,
                phasing: Phasing::Factor(s.phasing),
                raan_spread_deg: s.raan_spread_deg,
                raan0_deg: s.raan_deg,
                latitude0_deg: 0.0,
                propagation,
                isls: s.isls,
            };
            Ok((Satellites::Shells(all.into_iter().map(shell).collect()), MASK_DEG))
        }
        sources::Satellites::Elements(file) => Ok((elements(c, "tle", file)?, MASK_DEG)),
    }
}

fn isls(c: &Constellation) -> Result<Isls, ScenarioError> {
    let pattern = match (&c.isl_list, c.isls.as_str()) {
        (Some(file), _) => Pattern::List(link_list(file, c.place())?),
        (None, function) if notation::function(function).is_some() => Pattern::Function,
        (None, "none") => Pattern::None,
        (None, "nearest") => Pattern::Nearest(c.isl_count),
        _ => Pattern::PlusGrid,
    };
    let seam = match c.isl_seam.as_str() {
        "linked" => Seam::Linked,
        "open" => Seam::Open,
        _ => Seam::Auto,
    };
    let pointing = c.isl_pointing_every.map(|every| Pointing { every, acquisition: c.isl_acquisition });
    let max_range_m = c.isl_range_m.unwrap_or(f64::INFINITY);
    Ok(Isls {
        pattern,
        seam,
        cross_shell: c.cross_shell,
        limits: Limits { max_range_m, grazing_height_m: c.isl_height_m },
        period: c.isl_period,
        set_up: c.isl_setup,
        faults: LaserFaults { pointing, failed: c.isl_failed, failure_every: c.isl_failure_every },
    })
}

/// Links from lines of two numbers, as in Hypatia's `isls.txt`.
fn link_list(file: &Path, place: &Place) -> Result<Vec<(u32, u32)>, ScenarioError> {
    let key = "source.constellation.isl_list";
    let link = |(n, line): (usize, &str)| {
        let numbers: Vec<Option<u32>> =
            line.split([' ', ',', '\t']).filter(|w| !w.is_empty()).map(|w| w.parse().ok()).collect();
        match numbers[..] {
            [Some(a), Some(b)] => Ok((a, b)),
            _ => {
                let why = format!("{}: line {}: expected two satellite numbers", file.display(), n + 1);
                Err(Problem::new(key, why).at(place).found(format!("{line:?}")).into())
            }
        }
    };
    let text = read(key, file, place)?;
    text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()).map(link).collect()
}

fn handover(spec: &OutageKeys) -> Result<Handover, ScenarioError> {
    let outage = match (&spec.file, spec.length.as_fixed()) {
        (Some(file), _) => Outage::Recorded(recorded(&file.path, &file.place)?.into()),
        (None, Some(fixed)) => Outage::Fixed(fixed),
        (None, None) => Outage::Uniform(spec.length.low, spec.length.high),
    };
    let forced = spec.every.map(|every| Recurrence { every, first: spec.first.unwrap_or(every) });
    Ok(Handover { outage, per_delay: spec.per_delay, mode: spec.mode, forced })
}

fn recorded(file: &Path, place: &Place) -> Result<Vec<Nanos>, ScenarioError> {
    let wrong = |n: usize, line: &str| {
        let why = format!("{}: line {}: expected seconds from 0 to {MAX_OUTAGE_S}", file.display(), n + 1);
        Problem::new("handover.file", why).at(place).found(format!("{line:?}"))
    };
    let text = read("handover.file", file, place)?;
    let lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty());
    let mut all = Vec::new();
    for (n, line) in lines {
        let cell = line.split([',', ';', '\t']).next().unwrap_or("").trim();
        match cell.parse::<f64>() {
            Ok(s) if (0.0..=MAX_OUTAGE_S).contains(&s) => all.push(Nanos::from_secs_f64(s)),
            // A first line that is not numeric is a header.
            Err(_) if n == 0 => {}
            _ => return Err(wrong(n, line).into()),
        }
    }
    if all.is_empty() {
        return Err(wrong(0, "").into());
    }
    Ok(all)
}

fn read(key: &str, file: &Path, place: &Place) -> Result<String, ScenarioError> {
    Ok(files::read(file).map_err(|why| Problem::new(key, why).at(place))?)
}

pub(crate) fn ground(n: &NodeSpec, mask_deg: f64, relay: bool) -> Result<GroundNode, ScenarioError> {
    let (lat_deg, lon_deg) = match &n.position {
        Position::Degrees(lat, lon) => (*lat, *lon),
        Position::City(city) => {
            let Some(city) = perigee_orbit::sky::cities::find(city) else {
                let mut p = Problem::new(format!("node.{}.place", n.name), "not in the list of cities")
                    .at(&n.place)
                    .found(format!("{city:?}"));
                p.hint = Some(match perigee_orbit::sky::cities::nearest_spelling(city) {
                    Some(near) => format!("did you mean {near:?}? Otherwise set lat and lon in degrees"),
                    None => "set lat and lon in degrees instead".into(),
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
        mask: Mask::Elevation(n.mask_deg.unwrap_or(mask_deg)),
        relays: relay && kind == GroundKind::Station,
        dishes: n.dishes,
        off: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_words_of_the_grammar_are_the_presets_of_the_orbits() {
        let own = perigee_orbit::motion::presets::PRESETS.iter().map(|p| p.name);
        let hypatia = perigee_orbit::interop::HYPATIA.iter().map(|p| p.0);
        let names: Vec<_> =
            own.chain(hypatia).chain(["orbtcp-compat", crate::file::sources::LEOEM]).collect();
        assert_eq!(names, crate::file::sources::PRESETS);
    }
}
