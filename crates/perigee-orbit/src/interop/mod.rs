// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compatibility with the skies of other tools, with their peculiarities: for the reproduction of
//! published results only. The default is physically correct.
//!
//! * `hypatia-compat-…` ([`hypatia()`]): SGP4 over generated elements, WGS72, ranges instead of
//!   elevations, stations instead of terminals.
//! * `orbtcp-compat` ([`orbtcp`]): no phasing, no link at the seam, relaying stations, and the
//!   orientation that elements of "year 0, day 0" have at the study's fixed date.
//! * `leoem-compat` ([`leoem`]): path logs with the two defects of their generator.

pub mod hypatia;
pub mod leoem;

use crate::frames::{gmst_rad, RAD, WGS72};
use crate::links::isls::{Limits, Seam};
use crate::links::visibility::Mask;
use crate::motion::presets::STARLINK_SHELL1;
use crate::motion::shell::{Phasing, Propagation, Shell};
use crate::sky::config::*;
use crate::time::Epoch;
use perigee_timeline::Routing;
use std::f64::consts::TAU;

/// A shell of Hypatia's paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HypatiaShell {
    shell: Shell,
    revs_per_day: f64,
    /// Maximum distance from a station to a satellite.
    pub max_gsl_m: f64,
}

const fn hypatia_shell(
    altitude_km: f64,
    inclination_deg: f64,
    [planes, per_plane]: [u32; 2],
    revs_per_day: f64,
    max_gsl_m: f64,
) -> HypatiaShell {
    let shell =
        Shell { altitude_m: altitude_km * 1e3, inclination_deg, planes, per_plane, ..STARLINK_SHELL1 };
    HypatiaShell { shell, revs_per_day, max_gsl_m }
}

/// Shells used in Hypatia's own experiments, by the last part of the preset's name. The ranges are
/// those of its scripts: the cone at 25, 30 and 10 degrees over a flat Earth.
pub const HYPATIA: &[(&str, HypatiaShell)] = &[
    ("hypatia-compat-starlink", hypatia_shell(550.0, 53.0, [72, 22], 15.19, 1_089_686.418_1)),
    ("hypatia-compat-kuiper", hypatia_shell(630.0, 51.9, [34, 34], 14.80, 1_260_000.0)),
    ("hypatia-compat-telesat", hypatia_shell(1015.0, 98.98, [27, 13], 13.66, 3_319_596.5)),
];

/// Predicate for keys set by the scenario, which a preset does not override.
pub type IsGiven<'a> = &'a dyn Fn(&str) -> bool;

/// Configures a sky like Hypatia: its satellites, ellipsoid, ranges, stations without outages.
pub fn hypatia(h: &HypatiaShell, spec: &mut SkySpec, given: IsGiven<'_>) {
    let propagation = Propagation::Sgp4 { revs_per_day: Some(h.revs_per_day), epoch: None };
    spec.satellites = Satellites::Shells(vec![Shell { propagation, ..h.shell }]);
    spec.ellipsoid = WGS72;
    for g in &mut spec.ground {
        g.kind = GroundKind::Station;
        if !given("mask") {
            g.mask = Mask::Range(h.max_gsl_m);
        }
    }
}

/// Name of the preset of the OrbCC study's simulator.
const ORBTCP: &str = "orbtcp-compat";

/// Mean motion of the OrbCC study's satellites in revolutions per day: circular velocity with the
/// study's constants.
fn orbtcp_revs_per_day() -> f64 {
    let (gm_km3_s2, radius_km): (f64, f64) = (398_601.2, 6_378.135 + 550.0);
    (gm_km3_s2 / (radius_km * radius_km * radius_km)).sqrt() * 86_400.0 / TAU
}

/// Start of the OrbCC study's constellation runs: 2021-04-22 19:19:00 UTC.
fn orbtcp_start() -> Epoch {
    Epoch::midnight(2021, 4, 22).plus(perigee_units::Nanos::from_secs(19 * 3600 + 19 * 60))
}

/// Longitude of the first plane's ascending node at [`orbtcp_start`]: right ascension less
/// Greenwich sidereal time.
const ORBTCP_NODE_LONGITUDE_DEG: f64 = 58.671;
/// Argument of latitude of satellite 0 at [`orbtcp_start`].
const ORBTCP_LATITUDE0_DEG: f64 = 358.871;

/// Configures a sky like the simulator of the OrbCC study.
///
/// The study's elements have the epoch "year 0, day 0", which its Julian dates
/// (Avian688/leosatellites, cOrbitA.cc and NoradA.ned) convert to JD 1721059.5, 738,267.8 days
/// before the start. Over two millennia SGP4 amplifies the last digits of its constants, and the
/// interval exceeds 64 bits of nanoseconds, so the resulting mean elements at the start are used
/// here.
pub fn orbtcp(spec: &mut SkySpec, given: IsGiven<'_>) {
    let start = orbtcp_start();
    let propagation = Propagation::Sgp4 { revs_per_day: Some(orbtcp_revs_per_day()), epoch: Some(start) };
    let shell = Shell {
        phasing: Phasing::Factor(0),
        raan0_deg: ORBTCP_NODE_LONGITUDE_DEG + gmst_rad(start) / RAD,
        latitude0_deg: ORBTCP_LATITUDE0_DEG,
        propagation,
        ..STARLINK_SHELL1
    };
    spec.satellites = Satellites::Shells(vec![shell]);
    spec.ellipsoid = WGS72;
    if !given("start") {
        spec.start = Some(start);
    }
    if !given("isl_seam") {
        spec.isls.seam = Seam::Open;
    }
    if !given("isl_height") {
        spec.isls.limits = Limits { grazing_height_m: 0.0, ..spec.isls.limits };
    }
    if !given("routing") {
        spec.routing = Routing::PerHop;
    }
    if !given("ground_ports") {
        spec.ground_ports = GroundPorts::PerLink;
    }
    for g in &mut spec.ground {
        g.kind = GroundKind::Station;
        if !given("relay") {
            g.relays = true;
        }
        if !given("mask") {
            g.mask = Mask::Elevation(25.0);
        }
    }
}

/// Whether `name` is a preset of [`apply`]: all of its nodes are stations, as in those simulators.
pub fn has_stations_only(name: &str) -> bool {
    name == ORBTCP || HYPATIA.iter().any(|(n, _)| *n == name)
}

/// Applies the preset with this name; false if there is none.
pub fn apply(name: &str, spec: &mut SkySpec, given: IsGiven<'_>) -> bool {
    if let Some((_, shell)) = HYPATIA.iter().find(|(n, _)| *n == name) {
        hypatia(shell, spec, given);
        return true;
    }
    if name == ORBTCP {
        orbtcp(spec, given);
        return true;
    }
    false
}
