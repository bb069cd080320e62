// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Everything of a demand that is constant over its steps.

use crate::file::cells::Cell;
use crate::file::demand::{self, Demand, DemandSpec};
use crate::file::error::{Problem, ScenarioError};
use crate::file::scenario::Scenario;
use crate::file::sources::{Constellation, Source};
use crate::world::demand::between::Between;
use crate::world::radio::RadioTable;
use crate::world::sky_spec;
use perigee_orbit::frames::great_circle_m;
use perigee_orbit::links::length::Weight;
use perigee_orbit::links::visibility::GroundPoint;
use perigee_orbit::Sky;
use perigee_sources::fading::{read_weather, Fade};
use perigee_timeline::GeoPoint;
use perigee_units::{files, BitRate, Nanos};
use std::sync::Arc;

/// Towards the terminals, and from them: indices of all pairs.
pub const DOWN: usize = 0;
/// See [`DOWN`].
pub const UP: usize = 1;

/// Capacities of a direction, in bit/s.
/// Those of gateways and cells are with them.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// Of a terminal.
    pub terminal: f64,
    /// Of all beams of a satellite.
    pub satellite: f64,
    /// Of an antenna of a gateway.
    pub feeder: f64,
}

/// What an active terminal of a plan wants.
#[derive(Clone, Debug, PartialEq)]
pub struct TerminalPlan {
    /// Name.
    pub name: String,
    /// Share of the terminals.
    pub share: f64,
    /// Of its elastic rate.
    pub weight: f64,
    /// Elastic rate down and up, at most.
    pub elastic_bps: [f64; 2],
    /// Inelastic rate down and up.
    pub inelastic_bps: [f64; 2],
}

/// A gateway.
#[derive(Clone, Debug)]
pub struct Gateway {
    /// Name.
    pub name: String,
    /// Place.
    pub place: GeoPoint,
    /// Number of its ground point.
    pub ground: usize,
    /// Its weather, in order of time.
    pub weather: Vec<Fade>,
    /// Capacity of all antennas together, down and up.
    pub capacity_bps: [f64; 2],
    /// The exchange to which its traffic continues.
    pub exchange: Option<Exchange>,
}

/// The Internet exchange of a gateway.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Name.
    pub name: String,
    /// Fibre to it, one way, as the millimetres of vacuum with the same delay.
    pub length: Weight,
}

/// A failure of one gateway.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    /// Number of the gateway.
    pub gateway: usize,
    /// Start.
    pub from: Nanos,
    /// End.
    pub to: Nanos,
    /// Share of the capacity that is left.
    pub left: f64,
}

/// How elastic traffic shares capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fairness {
    /// Weighted max–min.
    MaxMin,
    /// α-fair.
    Alpha(f64),
}

/// How terminals are spread over satellites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Less to satellites with many terminals in view.
    Balanced,
    /// Evenly.
    Even,
    /// To the nearest only.
    Nearest,
}

/// A demand, resolved.
#[derive(Debug)]
#[allow(missing_docs)] // the keys of the section document each
pub struct Setting {
    pub sky: Arc<Sky>,
    pub cells: Vec<Cell>,
    /// The same as points of view.
    pub points: Vec<GroundPoint>,
    pub gateways: Vec<Gateway>,
    /// Their ground points.
    pub grounds: Vec<usize>,
    /// Capacity of all beams between a satellite and each cell, down and up.
    pub beam_bps: Vec<[f64; 2]>,
    pub plans: Vec<TerminalPlan>,
    pub failures: Vec<Failure>,
    pub capacity: [Capacity; 2],
    pub isl_bps: f64,
    /// Of terminals, in the busy hour.
    pub active: f64,
    pub activity: Vec<(f64, f64)>,
    pub spread: Spread,
    pub satellites: usize,
    /// Gateways of a satellite's traffic; 1 = the nearest.
    pub ways: usize,
    pub load_aware: bool,
    pub between: Option<Between>,
    pub fairness: Fairness,
    pub step: Nanos,
    pub record: Nanos,
    pub record_links: Nanos,
    pub duration: Nanos,
    pub threshold_bps: f64,
    pub warnings: Vec<String>,
}

impl Setting {
    /// From a scenario.
    ///
    /// # Errors
    /// See [`super::DemandRun::new`].
    pub fn new(scenario: &Scenario) -> Result<Self, ScenarioError> {
        let Some(spec) = &scenario.demand else {
            let p = Problem::new("demand", "the scenario has no [demand]");
            return Err(p.hint("add a [demand] section: docs/reference/scenario/demand.md").into());
        };
        let c = constellation(scenario)?;
        let mut sky = sky_spec::spec(scenario, c, &[], scenario.run.seed)?;
        sky.pairs.clear();
        let mask_deg = match sky.ground.iter().map(|g| g.mask).find_map(elevation) {
            _ if spec.keys.mask_deg.is_some() => spec.keys.mask_deg.unwrap_or(sky_spec::MASK_DEG),
            found => c.mask_deg.or(found).unwrap_or(sky_spec::MASK_DEG),
        };
        let wrong =
            |e: perigee_orbit::SkyError| Problem::new("source.constellation", e.to_string()).at(c.place());
        let sky = Arc::new(Sky::new(sky).map_err(wrong)?);
        let gateways = gateways(scenario, spec, &sky)?;
        let keys = &spec.keys;
        let isl = keys.isl.unwrap_or_else(|| RadioTable::unchecked(scenario, c).isl().rate);
        Ok(Setting {
            points: spec.cells.iter().map(|cell| sky.place_at(cell.place, mask_deg)).collect(),
            cells: spec.cells.clone(),
            beam_bps: spec.cells.iter().map(|cell| beam_bps(keys, &cell.name)).collect(),
            grounds: gateways.iter().map(|g| g.ground).collect(),
            plans: plans(keys),
            failures: failures(keys, &gateways),
            gateways,
            capacity: [down(keys), up(keys)],
            isl_bps: bps(isl),
            active: keys.active,
            activity: spec.activity.clone(),
            spread: match keys.spread.as_str() {
                "even" => Spread::Even,
                "nearest" => Spread::Nearest,
                _ => Spread::Balanced,
            },
            satellites: if keys.spread == "nearest" { 1 } else { keys.satellites },
            ways: if keys.gateway == "balanced" { keys.gateways } else { 1 },
            load_aware: keys.route == "load-aware",
            between: Between::new(spec),
            fairness: match keys.fairness.as_str() {
                "proportional" => Fairness::Alpha(1.0),
                "alpha" => Fairness::Alpha(keys.alpha),
                _ => Fairness::MaxMin,
            },
            step: keys.step,
            record: keys.record,
            record_links: keys.record_links,
            duration: scenario.run.duration,
            threshold_bps: bps(keys.threshold),
            warnings: [scenario.remarks.clone(), c.remarks(), sky.warnings().to_vec()].concat(),
            sky,
        })
    }

    /// Share of a gateway's capacity at an instant, after weather and failures.
    pub fn share_left(&self, gateway: usize, t: Nanos) -> f64 {
        if self.sky.spec().ground[self.gateways[gateway].ground].is_off(t) {
            return 0.0;
        }
        let weather = &self.gateways[gateway].weather;
        let fade = weather[..weather.partition_point(|f| f.at <= t)].last();
        let dry = fade.map_or(1.0, |f| f.rate_share * (1.0 - f.loss));
        let failed = self.failures.iter().filter(|f| f.gateway == gateway && f.from <= t && t < f.to);
        failed.fold(dry, |share, f| share * f.left)
    }

    /// Terminals of a cell that are active at an instant.
    pub fn active_terminals(&self, cell: usize, t: Nanos) -> f64 {
        let c = &self.cells[cell];
        // Days since J2000 start at noon.
        let utc_h = (self.sky.constellation().start.plus(t).days_since_j2000() + 0.5) * 24.0;
        let local_h = (utc_h + c.place.lon_deg / 15.0).rem_euclid(24.0);
        c.terminals * self.active * curve_at(&self.activity, local_h)
    }
}

/// A curve over the day at an hour: linear between its points, around midnight also.
pub fn curve_at(points: &[(f64, f64)], hour: f64) -> f64 {
    let after = points.partition_point(|p| p.0 <= hour);
    let (last, first) = (points[points.len() - 1], points[0]);
    let a = if after == 0 { (last.0 - 24.0, last.1) } else { points[after - 1] };
    let b = points.get(after).copied().unwrap_or((first.0 + 24.0, first.1));
    if b.0 <= a.0 {
        return a.1;
    }
    a.1 + (b.1 - a.1) * (hour - a.0) / (b.0 - a.0)
}

fn elevation(mask: perigee_orbit::links::visibility::Mask) -> Option<f64> {
    match mask {
        perigee_orbit::links::visibility::Mask::Elevation(deg) => Some(deg),
        perigee_orbit::links::visibility::Mask::Range(_) => None,
    }
}

fn constellation(scenario: &Scenario) -> Result<&Constellation, ScenarioError> {
    match &scenario.source {
        Source::Constellation(c) if !c.is_leoem() => Ok(c),
        _ => {
            let p = Problem::new("source", "this source has no satellites");
            Err(p.hint("[demand] requires a [source.constellation]").into())
        }
    }
}

fn bps(rate: BitRate) -> f64 {
    rate.0 as f64
}

fn down(keys: &Demand) -> Capacity {
    let demand::Down { terminal, satellite, feeder, .. } = &keys.down;
    Capacity { terminal: bps(*terminal), satellite: bps(*satellite), feeder: bps(*feeder) }
}

fn up(keys: &Demand) -> Capacity {
    let demand::Up { terminal, satellite, feeder, .. } = &keys.up;
    Capacity { terminal: bps(*terminal), satellite: bps(*satellite), feeder: bps(*feeder) }
}

/// The plans with shares that add up to one; without any, that of an empty `[[demand.plan]]`.
fn plans(keys: &Demand) -> Vec<TerminalPlan> {
    let optional = |rate: Option<BitRate>| rate.map_or(0.0, bps);
    let sum: f64 = keys.plan.iter().map(|p| p.share).sum();
    let plan = |p: &demand::Plan| TerminalPlan {
        name: p.name.clone(),
        share: p.share / sum,
        weight: p.weight,
        elastic_bps: [bps(p.down), bps(p.up)],
        inelastic_bps: [optional(p.inelastic_down), optional(p.inelastic_up)],
    };
    let mut all: Vec<TerminalPlan> = keys.plan.iter().filter(|p| p.share > 0.0).map(plan).collect();
    if all.is_empty() {
        all.push(TerminalPlan {
            name: "all".into(),
            share: 1.0,
            weight: 1.0,
            elastic_bps: [100e6, 10e6],
            inelastic_bps: [0.0; 2],
        });
    }
    all
}

fn failures(keys: &Demand, gateways: &[Gateway]) -> Vec<Failure> {
    let of = |f: &demand::Failure| {
        let (from, left) = (f.at, f.left);
        let to = f.length.map_or(Nanos::MAX, |length| from + length);
        let failure = move |gateway: usize| Failure { gateway, from, to, left };
        let number = |name: &String| gateways.iter().position(|g| g.name == *name);
        f.gateway.iter().filter_map(number).map(failure).collect::<Vec<_>>()
    };
    keys.failure.iter().flat_map(of).collect()
}

/// The stations of a scenario, with their weather.
fn gateways(scenario: &Scenario, spec: &DemandSpec, sky: &Sky) -> Result<Vec<Gateway>, ScenarioError> {
    let stations = scenario.nodes.iter().enumerate().filter(|(_, n)| n.kind == "station");
    let gateway = |(ground, node): (usize, &crate::file::node::NodeSpec)| {
        let wrong = |why: String| Problem::new(format!("node.{}.weather", node.name), why).at(&node.place);
        let weather = match &node.weather {
            None => Vec::new(),
            Some(file) => {
                let text = files::read(file).map_err(wrong)?;
                read_weather(&text).map_err(|why| wrong(format!("{}: {why}", file.display())))?
            }
        };
        let place = sky.spec().ground[ground].place;
        let capacity_bps = gateway_bps(&spec.keys, &node.name);
        let exchange = nearest_exchange(spec, place);
        Ok(Gateway { name: node.name.clone(), place, ground, weather, capacity_bps, exchange })
    };
    stations.map(gateway).collect()
}

fn gateway_bps(keys: &Demand, name: &str) -> [f64; 2] {
    let of = |c: &&demand::CapacityOf| c.gateway.iter().flatten().any(|n| n == name);
    overridden(keys.capacity.iter().filter(of), [keys.down.gateway, keys.up.gateway])
}

fn beam_bps(keys: &Demand, name: &str) -> [f64; 2] {
    let of = |c: &&demand::CapacityOf| c.cell.iter().flatten().any(|n| n == name);
    overridden(keys.capacity.iter().filter(of), [keys.down.beam, keys.up.beam])
}

/// The common capacities, replaced by those of the entries: the last one counts.
fn overridden<'a>(entries: impl Iterator<Item = &'a demand::CapacityOf>, common: [BitRate; 2]) -> [f64; 2] {
    entries.fold(common, |[down, up], c| [c.down.unwrap_or(down), c.up.unwrap_or(up)]).map(bps)
}

fn nearest_exchange(spec: &DemandSpec, gateway: GeoPoint) -> Option<Exchange> {
    let distance_m = |place: &GeoPoint| great_circle_m(gateway, *place);
    let nearest =
        |a: &&(String, GeoPoint), b: &&(String, GeoPoint)| distance_m(&a.1).total_cmp(&distance_m(&b.1));
    let (name, place) = spec.exchanges.iter().min_by(nearest)?;
    let length = (distance_m(place) * spec.keys.fibre * 1e3).round() as Weight;
    Some(Exchange { name: name.clone(), length })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const SKY: &str = "[run]\nduration = \"60 s\"\n[source.constellation]\npreset = \"iridium\"\n\
                       [node.g]\nkind = \"station\"\nplace = \"London\"\n[demand]\nset = \"cities\"\nterminals = 1000\ncount = 3\n";

    fn setting(more: &str) -> Setting {
        let s = Scenario::parse(&format!("{SKY}{more}"), "test", Path::new(""), &[]);
        Setting::new(&s.unwrap_or_else(|e| panic!("{e}"))).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn a_demand_without_plans_has_that_of_an_empty_one() {
        assert_eq!(setting("").plans, setting("[[demand.plan]]\n").plans);
    }

    #[test]
    fn the_share_of_active_terminals_follows_the_sun() {
        let s = setting("");
        let noon = Nanos::from_secs(12 * 3600);
        for (cell, c) in s.cells.iter().enumerate() {
            let local_h = (12.0 + c.place.lon_deg / 15.0).rem_euclid(24.0);
            let expected = c.terminals * 0.05 * curve_at(&s.activity, local_h);
            assert!((s.active_terminals(cell, noon) / expected - 1.0).abs() < 1e-9);
        }
        let flat = setting("activity = \"flat\"\n");
        for t in [0, 6 * 3600, 15 * 3600 + 1] {
            assert_eq!(flat.active_terminals(1, Nanos::from_secs(t)), flat.cells[1].terminals * 0.05);
        }
        assert_eq!(setting("activity = \"residential\"\n").activity, s.activity);
        assert!((curve_at(&[(6.0, 0.2), (18.0, 1.0)], 12.0) - 0.6).abs() < 1e-12);
        assert!((curve_at(&[(6.0, 0.2), (18.0, 1.0)], 0.0) - 0.6).abs() < 1e-12);
        assert_eq!(curve_at(&[(6.0, 0.2)], 1.0), 0.2);
    }

    #[test]
    fn failures_take_capacity_while_they_last() {
        let s =
            setting("[[demand.failure]]\ngateway = \"g\"\nat = \"10 s\"\nlength = \"5 s\"\nleft = 0.25\n");
        let at = |t| s.share_left(0, Nanos::from_secs(t));
        assert_eq!([9, 10, 14, 15].map(at), [1.0, 0.25, 0.25, 1.0]);
        let s = setting("[[change]]\nat = \"10 s\"\non = \"g\"\noutage = \"5 s\"\n");
        let at = |t| s.share_left(0, Nanos::from_secs(t));
        assert_eq!([9, 10, 14, 15].map(at), [1.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn single_gateways_and_cells_have_capacities_of_their_own() {
        let more = "[[demand.capacity]]\ngateway = \"g\"\ndown = \"7 Gbit\"\n\
                    [[demand.capacity]]\ncell = [\"Beijing\"]\nup = \"1 Gbit\"\n";
        let s = setting(more);
        assert_eq!(s.gateways[0].capacity_bps, [7e9, 100e9]);
        let beijing = s.cells.iter().position(|c| c.name == "Beijing").unwrap();
        for (cell, capacity) in s.beam_bps.iter().enumerate() {
            assert_eq!(*capacity, [4e9, if cell == beijing { 1e9 } else { 600e6 }]);
        }
    }
}
