// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Path logs as LeoEM's two stages made them, for other ends or other times.
//!
//! Satellites: 24 x 66, 6921 km from the centre, F = 1, from 2019-12-01 00:00 UTC in the frame of J2000 (so the
//! equinox has moved since: leaving precession out shifts them by up to 30 km). Their geodetic places are put back on
//! a *sphere* of 6371 km plus height, and light takes 1/300 000 s per km. Two defects shape every path:
//! 1. The latency between ground and satellite is sqrt(dx^2 + 2 dy^2) / c: dy counts twice, dz never.
//! 2. It is frozen at the value that it had when the satellite was chosen.
//!
//! The last plane has no ISLs to the first. Each end takes the satellite of the lowest such latency among those that
//! are truly within range, and thinks again every 16 seconds, or when there is no path.

use crate::frames::{distance_m, gmst_rad, to_ecef, Vec3, RAD, WGS84};
use crate::links::isls::{plus_grid, IslGraph, Limits, Seam};
use crate::links::length::{weight, Access};
use crate::motion::positions::Positions;
use crate::motion::presets::STARLINK_SHELL1;
use crate::motion::shell::{Phasing, Propagation, Shell, ShellMotion, EARTH_RADIUS_M};
use crate::paths::search_graph::Mesh;
use crate::paths::tree::Tree;
use crate::time::Epoch;
use perigee_sources::leoem::{LoggedPath, PathLog};
use perigee_timeline::GeoPoint;
use perigee_units::Nanos;
use std::sync::Arc;

/// Ends of the published logs. Their coordinates are not published; these were fitted to the logged latencies, which
/// they reproduce within 30 m.
pub const ENDS: &[(&str, f64, f64)] = &[
    ("San Diego", 32.8825, -117.2378),
    ("Seattle", 47.6093, -122.3366),
    ("New York", 40.8473, -73.9319),
    ("Shanghai", 31.2217, 121.4691),
];

/// Longest way between ground and satellite (depression 44.85 degrees, elevation 40).
const RANGE_M: f64 = 811.94e3;
/// Metres that light goes in a second.
const LIGHT_M_S: f64 = 3e8;
/// Seconds between two choices of an end.
const HOLD: u32 = 16;
const SPHERE_M: f64 = 6_371e3;

/// What there is on the way.
#[derive(Clone, Debug, PartialEq)]
pub enum Way {
    /// Isls between the satellites.
    Isls,
    /// Bent pipes over these stations, numbered behind the satellites.
    Relays(Vec<GeoPoint>),
}

/// Makes the log of `seconds` seconds between two ends.
pub fn path_log(ends: [GeoPoint; 2], way: &Way, seconds: u32) -> PathLog {
    let mut generator = Generator::new(ends, way);
    PathLog { seconds: (0..seconds).map(|s| generator.second(s)).collect() }
}

/// A satellite within range and the wrong length of the way to it.
type Reach = (u32, f64);

/// An end with its satellite.
struct End {
    place: Vec3,
    sat: Option<u32>,
    /// Frozen latency to it, as a length.
    metres: f64,
    since: u32,
}

struct Generator {
    motion: ShellMotion,
    isls: Arc<IslGraph>,
    relays: Vec<Vec3>,
    ends: [End; 2],
    tree: Tree,
}

/// Geodetic place on the sphere.
fn on_sphere(p: GeoPoint) -> Vec3 {
    let r = SPHERE_M + p.height_m;
    crate::frames::up(p).map(|x| x * r)
}

/// The wrong length of a radio link.
fn wrong_m(a: Vec3, b: Vec3) -> f64 {
    let (dx, dy) = (a[0] - b[0], a[1] - b[1]);
    (dx * dx + 2.0 * dy * dy).sqrt()
}

/// From the equinox of J2000 to that of the date (Lieske's angles, IAU 1976).
fn precess(p: Vec3, centuries: f64) -> Vec3 {
    let t = centuries;
    let angle = |a: f64, b: f64| (a * t + b * t * t) / 3600.0 * RAD;
    let (zeta, z, theta) = (angle(2306.2181, 0.30188), angle(2306.2181, 1.09468), angle(2004.3109, -0.42665));
    let turn = |[x, y, w]: Vec3, a: f64| {
        let (s, c) = libm::sincos(a);
        [x * c - y * s, x * s + y * c, w]
    };
    let q = turn(p, zeta);
    let (s, c) = libm::sincos(theta);
    turn([q[0] * c - q[2] * s, q[1], q[0] * s + q[2] * c], z)
}

impl Generator {
    fn new(ends: [GeoPoint; 2], way: &Way) -> Self {
        let shell = Shell {
            altitude_m: 6_921e3 - EARTH_RADIUS_M,
            planes: 24,
            per_plane: 66,
            phasing: Phasing::Factor(1),
            propagation: Propagation::J2,
            ..STARLINK_SHELL1
        };
        let (links, relays) = match way {
            // The published paths go round the other way rather than from the last plane to the first.
            Way::Isls => (plus_grid(&shell, Seam::Open), Vec::new()),
            Way::Relays(places) => (Vec::new(), places.iter().map(|p| on_sphere(*p)).collect()),
        };
        let end = |p| End { place: on_sphere(p), sat: None, metres: 0.0, since: 0 };
        Generator {
            motion: ShellMotion::new(shell, Epoch::midnight(2019, 12, 1)),
            isls: Arc::new(IslGraph::new(shell.satellites(), &links)),
            relays,
            ends: ends.map(end),
            tree: Tree::default(),
        }
    }

    fn positions(&self, second: u32) -> Positions {
        let at = Epoch::midnight(2019, 12, 1).plus(Nanos::from_secs(u64::from(second)));
        let (mut inertial, mut out) = (Positions::default(), Positions::default());
        self.motion.positions(at, 0.0, &mut inertial);
        let (gmst, centuries) = (gmst_rad(at), at.days_since_j2000() / 36_525.0);
        for s in 0..inertial.len() {
            let fixed = to_ecef(precess(inertial.get(s), centuries), gmst);
            out.push(on_sphere(WGS84.geodetic(fixed)));
        }
        out
    }

    /// Satellites within range of a place, with their wrong lengths.
    fn in_range(place: Vec3, at: &Positions) -> Vec<Reach> {
        let near = |s: &usize| distance_m(place, at.get(*s)) < RANGE_M;
        (0..at.len()).filter(near).map(|s| (s as u32, wrong_m(place, at.get(s)))).collect()
    }

    fn choose(&mut self, end: usize, second: u32, at: &Positions) {
        let near = Self::in_range(self.ends[end].place, at);
        let best = near.into_iter().min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        let e = &mut self.ends[end];
        e.since = second;
        e.sat = best.map(|b| b.0);
        e.metres = best.map_or(0.0, |b| b.1);
    }

    fn second(&mut self, second: u32) -> Option<LoggedPath> {
        let at = self.positions(second);
        let mut mesh = Mesh::default();
        let visible: Vec<Vec<Access>> = self.relays.iter().map(|&r| Self::accesses(r, &at)).collect();
        let relaying = vec![true; visible.len()];
        let limits = Limits { grazing_height_m: 0.0, ..Limits::default() };
        mesh.measure(&self.isls, &at, (limits, 0.0), &relaying, &visible);
        let first = self.path(&mesh);
        if first.is_some() {
            let due: Vec<usize> = (0..2).filter(|&e| second - self.ends[e].since >= HOLD).collect();
            due.into_iter().for_each(|e| self.choose(e, second, &at));
        } else {
            self.search_anew(second, &at, &mesh);
        }
        let path = self.path(&mesh)?;
        Some(self.logged(&path, &at))
    }

    fn accesses(place: Vec3, at: &Positions) -> Vec<Access> {
        let access = |(sat, metres): (u32, f64)| Access { sat, range: weight(metres) };
        Self::in_range(place, at).into_iter().map(access).collect()
    }

    /// One end after the other, both, and then whatever pair of satellites has a path.
    fn search_anew(&mut self, second: u32, at: &Positions, mesh: &Mesh) {
        for ends in [&[0][..], &[1], &[0, 1]] {
            ends.iter().for_each(|&e| self.choose(e, second, at));
            if self.path(mesh).is_some() {
                return;
            }
        }
        let near = [0, 1].map(|e| Self::in_range(self.ends[e].place, at));
        let mut pairs: Vec<[Reach; 2]> =
            near[0].iter().flat_map(|&a| near[1].iter().map(move |&b| [a, b])).collect();
        pairs.sort_by(|x, y| (x[0].1 + x[1].1).total_cmp(&(y[0].1 + y[1].1)));
        for pair in pairs {
            for (end, (sat, metres)) in self.ends.iter_mut().zip(pair) {
                (end.sat, end.metres) = (Some(sat), metres);
            }
            if self.path(mesh).is_some() {
                return;
            }
        }
        self.ends.iter_mut().for_each(|e| e.sat = None);
    }

    /// Vertices between the satellites of the two ends.
    fn path(&mut self, mesh: &Mesh) -> Option<Vec<u32>> {
        let [from, to] = [self.ends[0].sat?, self.ends[1].sat?];
        let at = |sat| [Access { sat, range: 0 }];
        self.tree.search(mesh.graph(), &at(to), &at(from));
        self.tree.path(&at(from))
    }

    fn logged(&self, path: &[u32], at: &Positions) -> LoggedPath {
        let satellites = at.len();
        let metres = |w: &[u32]| {
            let place = |v: u32| match (v as usize).checked_sub(satellites) {
                None => at.get(v as usize),
                Some(r) => self.relays[r],
            };
            let isls = w.iter().all(|&v| (v as usize) < satellites);
            let length = if isls { distance_m } else { wrong_m };
            length(place(w[0]), place(w[1]))
        };
        let mut lengths = vec![self.ends[0].metres];
        lengths.extend(path.windows(2).map(metres));
        lengths.push(self.ends[1].metres);
        let mut nodes = vec![-1];
        nodes.extend(path.iter().map(|&v| i64::from(v)));
        nodes.push(-2);
        LoggedPath { nodes, delays: lengths.iter().map(|m| Nanos::from_secs_f64(m / LIGHT_M_S)).collect() }
    }
}
