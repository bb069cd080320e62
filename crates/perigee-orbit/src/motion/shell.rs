// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Generated shells: circular orbits in evenly spaced planes (Walker constellations).

use crate::frames::{wrap, Vec3, EARTH_RAD_S, RAD};
use crate::motion::positions::Positions;
use crate::time::Epoch;
use std::f64::consts::TAU;

/// Gravitational parameter of the Earth (WGS84), for generated shells.
pub const MU_M3_S2: f64 = 3.986_004_418e14;

/// Reference radius of altitudes (equatorial).
pub const EARTH_RADIUS_M: f64 = 6_378_137.0;
const J2: f64 = 1.082_63e-3;

/// Shift of the satellites of a plane relative to those of the previous one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Phasing {
    /// By `F / planes` of a slot, with Walker's factor F.
    Factor(u32),
    /// Every second plane by half a slot. The satellites are those of F = planes / 2, but slot
    /// numbers alternate, as do the +Grid's links to the next plane, so that the slots need no
    /// shift between the last plane and the first.
    HalfSlot,
}

/// Propagator of the satellites of a shell.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Propagation {
    /// Circular Kepler orbits.
    Kepler,
    /// Circular orbits with secular drift of node and mean motion by the Earth's oblateness (J2).
    #[default]
    J2,
    /// SGP4 with WGS72, from circular elements at an epoch.
    Sgp4 {
        /// Mean motion in revolutions per day; `None` = from the altitude.
        revs_per_day: Option<f64>,
        /// Epoch of the elements; `None` = the start of the run.
        epoch: Option<Epoch>,
    },
    /// Fixed above the ground (geostationary); `raan0_deg` is the longitude of the first satellite.
    EarthFixed,
}

/// A shell of `planes` x `per_plane` satellites.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shell {
    /// Above [`EARTH_RADIUS_M`].
    pub altitude_m: f64,
    /// Inclination.
    pub inclination_deg: f64,
    /// Number of planes.
    pub planes: u32,
    /// Number of satellites per plane.
    pub per_plane: u32,
    /// Shift between neighbouring planes.
    pub phasing: Phasing,
    /// Range of the planes' nodes: 360 (delta) or 180 degrees (star).
    pub raan_spread_deg: f64,
    /// Right ascension of the first plane's node at the start.
    pub raan0_deg: f64,
    /// Argument of latitude of the first plane's first satellite at the start.
    pub latitude0_deg: f64,
    /// Propagator.
    pub propagation: Propagation,
    /// Whether the satellites have ISLs.
    pub isls: bool,
}

impl Shell {
    /// Number of satellites.
    pub fn satellites(&self) -> usize {
        self.planes as usize * self.per_plane as usize
    }

    /// # Errors
    /// A description, if the numbers do not define a valid shell.
    pub fn check(&self) -> Result<(), String> {
        let n = u64::from(self.planes) * u64::from(self.per_plane);
        if self.planes == 0 || self.per_plane == 0 || n > 100_000 {
            return Err(format!(
                "a shell of {} x {} satellites: 1 to 100000 are allowed",
                self.planes, self.per_plane
            ));
        }
        if !(160e3..=50_000e3).contains(&self.altitude_m) {
            return Err(format!("an altitude of {} km: 160 to 50000 km are allowed", self.altitude_m / 1e3));
        }
        if !(0.0..=180.0).contains(&self.inclination_deg) {
            return Err(format!("an inclination of {} degrees: 0 to 180 are allowed", self.inclination_deg));
        }
        if matches!(self.propagation, Propagation::Sgp4 { revs_per_day: Some(n), .. } if !(n > 0.0 && n < 18.0))
        {
            return Err("a mean motion must be above 0 and below 18 turns a day".into());
        }
        let spread = self.raan_spread_deg;
        if !(spread > 0.0 && spread <= 360.0 && self.raan0_deg.is_finite() && self.latitude0_deg.is_finite())
        {
            return Err("the nodes must be spread over more than 0 and up to 360 degrees".into());
        }
        if matches!(self.phasing, Phasing::Factor(f) if f >= self.planes) {
            return Err(format!("a phasing factor must be below the number of planes, {}", self.planes));
        }
        Ok(())
    }

    /// Phase of a plane's first satellite, in slots.
    fn phase_slots(&self, plane: u32) -> f64 {
        match self.phasing {
            Phasing::Factor(f) => f64::from(plane * f) / f64::from(self.planes),
            Phasing::HalfSlot => f64::from(plane % 2) / 2.0,
        }
    }

    /// Offset in slots from a satellite of the last plane to the nearest satellite of the first
    /// plane.
    pub fn seam_shift(&self) -> u32 {
        match self.phasing {
            Phasing::Factor(f) => f,
            Phasing::HalfSlot => 0,
        }
    }

    /// Semi-major axis.
    pub fn radius_m(&self) -> f64 {
        EARTH_RADIUS_M + self.altitude_m
    }

    /// Right ascension of the ascending node, and argument of latitude of a plane's first
    /// satellite, at the start.
    pub fn elements_rad(&self, plane: u32) -> (f64, f64) {
        let node = self.raan0_deg + self.raan_spread_deg * f64::from(plane) / f64::from(self.planes);
        let phase = self.latitude0_deg * RAD + self.phase_slots(plane) * TAU / f64::from(self.per_plane);
        (wrap(node * RAD), wrap(phase))
    }

    /// Nodal period in seconds.
    pub fn nodal_period_s(&self) -> f64 {
        TAU / self.rates_rad_s().1
    }

    /// Rates of the node and of the argument of latitude.
    fn rates_rad_s(&self) -> (f64, f64) {
        let a = self.radius_m();
        let n = (MU_M3_S2 / (a * a * a)).sqrt();
        match self.propagation {
            Propagation::EarthFixed => return (0.0, 0.0),
            Propagation::Kepler => return (0.0, n),
            Propagation::J2 | Propagation::Sgp4 { .. } => {}
        }
        // Kozai's secular rates for e = 0 (Vallado, section 9.6): node, and perigee plus mean
        // anomaly.
        let cos_i = libm::cos(self.inclination_deg * RAD);
        let k = 1.5 * J2 * (EARTH_RADIUS_M / a) * (EARTH_RADIUS_M / a) * n;
        (-k * cos_i, n + k * (4.0 * cos_i * cos_i - 1.0))
    }
}

/// Propagator of the satellites of a shell.
#[derive(Clone, Debug)]
pub struct ShellMotion {
    shell: Shell,
    start: Epoch,
    rates_rad_s: (f64, f64),
    /// Sine and cosine of the inclination.
    tilt: (f64, f64),
    /// Elements of each plane at the start: see [`Shell::elements_rad`].
    planes: Vec<(f64, f64)>,
    /// Cosines and sines of the slots' positions in their planes, so that one sine per plane and
    /// instant suffices.
    slots: [Vec<f64>; 2],
}

impl ShellMotion {
    /// Propagator of a shell with its elements at `start`.
    pub fn new(shell: Shell, start: Epoch) -> Self {
        let step = TAU / f64::from(shell.per_plane);
        let slot = |j| libm::sincos(step * f64::from(j));
        let slots = (0..shell.per_plane).map(|j| (slot(j).1, slot(j).0)).unzip();
        let slots = <[Vec<f64>; 2]>::from(slots);
        let tilt = libm::sincos(shell.inclination_deg * RAD);
        let planes = (0..shell.planes).map(|plane| shell.elements_rad(plane)).collect();
        ShellMotion { shell, start, rates_rad_s: shell.rates_rad_s(), tilt, planes, slots }
    }

    /// Number of satellites.
    pub fn len(&self) -> usize {
        self.shell.satellites()
    }

    /// Whether there are no satellites; false for a checked shell.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the Earth-fixed positions at an instant.
    pub fn positions(&self, at: Epoch, gmst_rad: f64, out: &mut Positions) {
        let slots = self.shell.per_plane as usize;
        let [xs, ys, zs] = out.append(self.len());
        for plane in 0..self.shell.planes {
            let circle = self.circle(plane, at, gmst_rad);
            let own = plane as usize * slots..(plane as usize + 1) * slots;
            let places = self.slots[0].iter().zip(&self.slots[1]);
            let (xs, ys, zs) = (&mut xs[own.clone()], &mut ys[own.clone()], &mut zs[own]);
            for (((&c, &s), x), (y, z)) in places.zip(xs).zip(ys.iter_mut().zip(zs)) {
                [*x, *y, *z] = circle.place((c, s));
            }
        }
    }

    /// Earth-fixed position of one satellite.
    pub fn position(&self, sat: usize, at: Epoch, gmst_rad: f64) -> Vec3 {
        let plane = sat as u32 / self.shell.per_plane;
        let slot = sat % self.shell.per_plane as usize;
        self.circle(plane, at, gmst_rad).place((self.slots[0][slot], self.slots[1][slot]))
    }

    /// Upper bound of the speed in the Earth-fixed frame.
    pub(crate) fn fastest_m_s(&self) -> f64 {
        match self.shell.propagation {
            Propagation::EarthFixed => 0.0,
            _ => (self.rates_rad_s.0.abs() + self.rates_rad_s.1.abs() + EARTH_RAD_S) * self.shell.radius_m(),
        }
    }

    /// Orbit of a plane at an instant.
    fn circle(&self, plane: u32, at: Epoch, gmst_rad: f64) -> Circle {
        let (t, gmst_rad) = match self.shell.propagation {
            Propagation::EarthFixed => (0.0, 0.0),
            _ => (at.minutes_since(self.start) * 60.0, gmst_rad),
        };
        let r = self.shell.radius_m();
        let (sin_i, cos_i) = self.tilt;
        let (node, phase) = self.planes[plane as usize];
        let (so, co) = libm::sincos(node + self.rates_rad_s.0 * t - gmst_rad);
        let (sb, cb) = libm::sincos(wrap(phase + self.rates_rad_s.1 * t));
        Circle { p: [r * co, r * so, 0.0], q: [-r * so * cos_i, r * co * cos_i, r * sin_i], first: (cb, sb) }
    }
}

/// Orbit of a plane in the Earth-fixed frame.
struct Circle {
    /// Direction of the ascending node.
    p: Vec3,
    /// Direction a quarter turn further along the orbit.
    q: Vec3,
    /// Cosine and sine of the first satellite's argument of latitude.
    first: (f64, f64),
}

impl Circle {
    #[inline(always)]
    fn place(&self, (cs, ss): (f64, f64)) -> Vec3 {
        let ((cb, sb), p, q) = (self.first, self.p, self.q);
        let (c, s) = (cb * cs - sb * ss, sb * cs + cb * ss);
        [c * p[0] + s * q[0], c * p[1] + s * q[1], s * q[2]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::{distance_m, norm};
    use crate::motion::presets::STARLINK_SHELL1;

    fn at(shell: Shell, seconds: f64) -> Positions {
        let mut out = Positions::default();
        let later = Epoch(Epoch::Y2000.0 + (seconds * 1e9) as i64);
        ShellMotion::new(shell, Epoch::Y2000).positions(later, 0.0, &mut out);
        out
    }

    #[test]
    fn the_period_is_keplers() {
        let kepler = Shell { propagation: Propagation::Kepler, ..STARLINK_SHELL1 };
        let a = kepler.radius_m();
        assert!((kepler.nodal_period_s() - TAU * (a * a * a / MU_M3_S2).sqrt()).abs() < 1e-9);
        assert!((kepler.nodal_period_s() / 60.0 - 95.65).abs() < 0.01);
        let (now, later) = (at(kepler, 0.0), at(kepler, kepler.nodal_period_s()));
        assert!(distance_m(now.get(700), later.get(700)) < 1.0);
    }

    #[test]
    fn the_node_of_starlink_falls_back_by_4_49_degrees_a_day() {
        let per_day = STARLINK_SHELL1.rates_rad_s().0 * 86_400.0 / RAD;
        assert!((per_day + 4.49).abs() < 0.01, "{per_day}");
    }

    #[test]
    fn neighbours_in_a_plane_are_a_chord_apart() {
        let p = at(STARLINK_SHELL1, 1234.5);
        let chord = 2.0 * STARLINK_SHELL1.radius_m() * libm::sin(TAU / 44.0);
        for (a, b) in [(0, 1), (21, 0), (22, 23), (1582, 1583)] {
            assert!((distance_m(p.get(a), p.get(b)) - chord).abs() < 1e-3);
        }
        assert!((0..p.len()).all(|s| (norm(p.get(s)) - STARLINK_SHELL1.radius_m()).abs() < 1e-3));
    }

    #[test]
    fn both_phasings_of_half_a_slot_fill_the_same_places() {
        let zigzag = at(STARLINK_SHELL1, 0.0);
        let walker = at(Shell { phasing: Phasing::Factor(36), ..STARLINK_SHELL1 }, 0.0);
        for s in [0, 25, 700, 1583] {
            let here = zigzag.get(s);
            assert!((0..walker.len()).any(|w| distance_m(here, walker.get(w)) < 1.0), "{s}");
        }
    }
}
