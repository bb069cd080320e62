// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Satellite motion: generated shells in closed form, element sets by SGP4.
//!
//! SGP4 costs a microsecond per satellite and instant. Routes need an instant every 100 ms, so
//! within a [`Span`] SGP4 runs only every 10 s, and positions in between are interpolated cubically
//! (Hermite, through positions and velocities). The error of the interpolation is h^4 omega^4 r /
//! 384, a third of a millimetre; the velocities of SGP4, which are not exactly the derivatives of
//! its positions, add decimetres (tested below 1 m, or 3 ns of light travel).

use crate::frames::{gmst_rad, to_ecef, turn, wrap, Vec3, EARTH_RAD_S};
use crate::motion::positions::Positions;
use crate::motion::shell::ShellMotion;
use crate::motion::shell::MU_M3_S2;
use crate::motion::tle::Tle;
use crate::time::Epoch;
use perigee_units::Nanos;
use rayon::prelude::*;
use std::borrow::Cow;
use std::f64::consts::{PI, TAU};
use std::sync::Arc;

/// Time between the instants at which SGP4 runs within a [`Span`].
const KNOT: Nanos = Nanos::from_secs(10);

/// Gravity constants of SGP4. Element sets are generated with WGS72, which is therefore the
/// default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Gravity {
    /// As used by the element sets of the US Space Force, Hypatia and Python's `sgp4`.
    #[default]
    Wgs72,
    /// Newer constants.
    Wgs84,
}

/// One satellite under SGP4.
#[derive(Clone, Debug)]
pub struct Sgp4 {
    constants: sgp4::Constants,
    epoch: Epoch,
    name: Arc<str>,
    /// Upper bound of its speed in the Earth-fixed frame.
    fastest_m_s: f64,
}

/// Upper bound of a satellite's speed in the Earth-fixed frame: the speed at perigee, plus 5 % for
/// perturbations (a satellite accelerated by more than that is decaying) and the rotation of the
/// Earth at apogee.
fn fastest_m_s(tle: &Tle) -> f64 {
    let (n, e) = (tle.revs_per_day * TAU / 86_400.0, tle.eccentricity);
    let a = libm::cbrt(MU_M3_S2 / (n * n));
    1.05 * n * a * ((1.0 + e) / (1.0 - e)).sqrt() + EARTH_RAD_S * a * (1.0 + e)
}

/// Position and velocity in TEME, metres and metres per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Position.
    pub p: Vec3,
    /// Velocity.
    pub v: Vec3,
}

impl Sgp4 {
    /// Initialises the propagator of a satellite.
    ///
    /// # Errors
    /// If SGP4 rejects the elements.
    pub fn new(tle: &Tle, gravity: Gravity) -> Result<Self, String> {
        let model = match gravity {
            Gravity::Wgs72 => sgp4::WGS72,
            Gravity::Wgs84 => sgp4::WGS84,
        };
        let refused =
            |e: &dyn std::fmt::Display| tle.wrong(format!("satellite {}: {e}", tle.name)).to_string();
        let orbit = sgp4::Orbit::from_kozai_elements(
            &model,
            tle.inclination_rad,
            tle.raan_rad,
            tle.eccentricity,
            tle.perigee_rad,
            tle.anomaly_rad,
            tle.revs_per_day * PI / 720.0,
        )
        .map_err(|e| refused(&e))?;
        let years = tle.epoch.days_since_j2000() / 365.25;
        let constants =
            sgp4::Constants::new(model, sgp4::afspc_epoch_to_sidereal_time, years, tle.bstar, orbit)
                .map_err(|e| refused(&e))?;
        Ok(Sgp4 {
            constants,
            epoch: tle.epoch,
            name: tle.name.as_str().into(),
            fastest_m_s: fastest_m_s(tle),
        })
    }

    /// State at an instant.
    ///
    /// # Errors
    /// If the orbit has decayed by then.
    pub fn state(&self, at: Epoch) -> Result<State, String> {
        let t = sgp4::MinutesSinceEpoch(at.minutes_since(self.epoch));
        let p = self.constants.propagate(t).map_err(|e| {
            let (name, epoch) = (&self.name, self.epoch);
            format!("satellite {name} has decayed between its elements of {epoch} and {at} ({e}); start the run nearer to them")
        })?;
        let metres = |v: [f64; 3]| v.map(|x| x * 1e3);
        Ok(State { p: metres(p.position), v: metres(p.velocity) })
    }
}

/// A group of satellites with the same propagator.
#[derive(Clone, Debug)]
pub enum Group {
    /// A generated shell in closed form.
    Shell(ShellMotion),
    /// Satellites under SGP4.
    Sgp4(Vec<Sgp4>),
}

impl Group {
    fn len(&self) -> usize {
        match self {
            Group::Shell(shell) => shell.len(),
            Group::Sgp4(all) => all.len(),
        }
    }
}

/// All satellites of a constellation, group after group.
#[derive(Clone, Debug)]
pub struct Motion(pub Vec<Group>);

impl Motion {
    /// Prepares a span for many instants between `from` and `to`.
    ///
    /// # Errors
    /// If a satellite has decayed by then.
    pub fn span(&self, start: Epoch, from: Nanos, to: Nanos) -> Result<Span<'_>, String> {
        let knots = self.knots(start, from, to)?;
        Ok(Span { motion: self, start, knots: Cow::Owned(knots) })
    }

    /// A span with existing knots.
    pub fn over<'a>(&'a self, start: Epoch, knots: &'a Knots) -> Span<'a> {
        Span { motion: self, start, knots: Cow::Borrowed(knots) }
    }

    /// Runs SGP4 for a span.
    ///
    /// # Errors
    /// If a satellite has decayed by then.
    pub fn knots(&self, start: Epoch, from: Nanos, to: Nanos) -> Result<Knots, String> {
        let first = from.0 / KNOT.0;
        let last = to.0 / KNOT.0 + 1;
        let of_group = |group: &Group| match group {
            Group::Shell(_) => Ok(Vec::new()),
            // Knots are on a grid from the start of the run, independent of the start of a span, so
            // that positions are continuous across chunks.
            Group::Sgp4(all) => (first..=last)
                .map(|k| {
                    let at = start.plus(KNOT * k);
                    all.par_iter().map(|s| s.state(at)).collect::<Result<Vec<_>, _>>()
                })
                .collect::<Result<Vec<_>, _>>(),
        };
        let states = self.0.iter().map(of_group).collect::<Result<_, _>>()?;
        Ok(Knots { first, last, states })
    }

    /// Upper bound of the speed of all satellites in the Earth-fixed frame.
    pub fn fastest_m_s(&self) -> f64 {
        let of_group = |group: &Group| match group {
            Group::Shell(shell) => shell.fastest_m_s(),
            Group::Sgp4(all) => all.iter().map(|s| s.fastest_m_s).fold(0.0, f64::max),
        };
        self.0.iter().map(of_group).fold(0.0, f64::max)
    }

    /// Earth-fixed position of one satellite, not interpolated. `None` = decayed by then.
    pub fn position(&self, mut sat: usize, at: Epoch) -> Option<Vec3> {
        let gmst = gmst_rad(at);
        for group in &self.0 {
            if sat < group.len() {
                return match group {
                    Group::Shell(shell) => Some(shell.position(sat, at, gmst)),
                    Group::Sgp4(all) => all[sat].state(at).ok().map(|s| to_ecef(s.p, gmst)),
                };
            }
            sat -= group.len();
        }
        None
    }
}

/// States of satellites under SGP4 every `KNOT`, for interpolation.
#[derive(Clone, Debug)]
pub struct Knots {
    first: u64,
    last: u64,
    /// States by group; empty for a shell.
    states: Vec<Vec<Vec<State>>>,
}

impl Knots {
    /// Whether the knots cover an instant.
    pub fn hold(&self, t: Nanos) -> bool {
        (self.first..self.last).contains(&(t.0 / KNOT.0))
    }
}

/// A [`Motion`] prepared for a time span.
#[derive(Debug)]
pub struct Span<'a> {
    motion: &'a Motion,
    start: Epoch,
    knots: Cow<'a, Knots>,
}

impl Span<'_> {
    /// Earth-fixed positions at `t` after the start of the run.
    pub fn positions(&self, t: Nanos, out: &mut Positions) {
        let at = self.start.plus(t);
        let gmst = gmst_rad(at);
        let earth = libm::sincos(gmst);
        out.clear();
        for (group, knots) in self.motion.0.iter().zip(&self.knots.states) {
            match group {
                Group::Shell(shell) => shell.positions(at, gmst, out),
                Group::Sgp4(_) => {
                    let k = (t.0 / KNOT.0 - self.knots.first) as usize;
                    let cubic = Hermite::new((t.0 % KNOT.0) as f64 / KNOT.0 as f64);
                    let [xs, ys, zs] = out.append(knots[k].len());
                    let states = knots[k].iter().zip(&knots[k + 1]);
                    for (((a, b), x), (y, z)) in states.zip(xs).zip(ys.iter_mut().zip(zs)) {
                        [*x, *y, *z] = turn(cubic.between(a, b), earth);
                    }
                }
            }
        }
    }
}

/// Weights of cubic interpolation between two states.
struct Hermite {
    from: f64,
    out: f64,
    to: f64,
    into: f64,
}

impl Hermite {
    /// Weights at the fraction `s` of the interval.
    fn new(s: f64) -> Self {
        let h = KNOT.as_secs_f64();
        let (s2, s3) = (s * s, s * s * s);
        Hermite {
            from: 2.0 * s3 - 3.0 * s2 + 1.0,
            out: (s3 - 2.0 * s2 + s) * h,
            to: 3.0 * s2 - 2.0 * s3,
            into: (s3 - s2) * h,
        }
    }

    fn between(&self, a: &State, b: &State) -> Vec3 {
        [0, 1, 2].map(|i| self.from * a.p[i] + self.out * a.v[i] + self.to * b.p[i] + self.into * b.v[i])
    }
}

/// Element sets for a generated shell, for comparison with tools that propagate shells by SGP4:
/// mean motion in revolutions per day, circular, without drag, epoch = `start`. Planes and slots as
/// in [`crate::motion::shell::Shell::elements_rad`].
pub fn shell_elements(shell: &crate::motion::shell::Shell, revs_per_day: f64, start: Epoch) -> Vec<Tle> {
    let mut all = Vec::with_capacity(shell.satellites());
    for plane in 0..shell.planes {
        let (raan_rad, phase) = shell.elements_rad(plane);
        for slot in 0..shell.per_plane {
            all.push(Tle {
                name: satellite_name(plane, slot),
                origin: crate::motion::tle::Origin::Generated,
                catalogue: all.len() as u32,
                epoch: start,
                bstar: 0.0,
                inclination_rad: shell.inclination_deg * crate::frames::RAD,
                raan_rad,
                eccentricity: 1e-7,
                perigee_rad: 0.0,
                anomaly_rad: wrap(phase + TAU * f64::from(slot) / f64::from(shell.per_plane)),
                revs_per_day,
            });
        }
    }
    all
}

/// Name of a satellite of a generated shell.
pub fn satellite_name(plane: u32, slot: u32) -> String {
    format!("sat-{plane}-{slot}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::{distance_m, norm};
    use crate::motion::presets::STARLINK_SHELL1;
    use crate::motion::tle;

    /// Verification output of Vallado, Crawford, Hujsak, Kelso: "Revisiting Spacetrack Report #3"
    /// (AIAA 2006-6753).
    #[test]
    fn sgp4_gives_the_published_positions() {
        let set = "1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753\n\
                   2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667\n";
        let s = Sgp4::new(&tle::parse(set).unwrap()[0], Gravity::Wgs72).unwrap();
        for (minutes, km) in [
            (0, [7022.46529266, -1400.08296755, 0.03995155]),
            (360, [-7154.03120202, -3783.17682504, -3536.19412294]),
            (1440, [-938.55923943, -6268.18748831, -4294.02924751]),
        ] {
            let at = s.epoch.plus(Nanos::from_secs(60 * minutes));
            assert!(distance_m(s.state(at).unwrap().p, km.map(|x| x * 1e3)) < 0.02, "{minutes}");
        }
    }

    #[test]
    fn nothing_is_faster_than_it_may_be() {
        let sets = tle::parse(tle::tests::TWO).unwrap();
        let sgp4: Vec<Sgp4> = sets.iter().map(|t| Sgp4::new(t, Gravity::Wgs72).unwrap()).collect();
        let shell = ShellMotion::new(STARLINK_SHELL1, sets[0].epoch);
        for motion in [Motion(vec![Group::Sgp4(sgp4)]), Motion(vec![Group::Shell(shell)])] {
            let span = motion.span(sets[0].epoch, Nanos::ZERO, Nanos::from_secs(6000)).unwrap();
            let (mut before, mut p, mut most) = (Positions::default(), Positions::default(), 0.0);
            for second in 0..6000 {
                std::mem::swap(&mut before, &mut p);
                span.positions(Nanos::from_secs(second), &mut p);
                for s in 0..before.len() {
                    most = f64::max(most, distance_m(before.get(s), p.get(s)));
                }
            }
            let bound = motion.fastest_m_s();
            assert!(most < bound && bound < 1.2 * most, "{most} {bound}");
        }
    }

    #[test]
    fn interpolated_positions_are_those_of_sgp4() {
        let sets = tle::parse(tle::tests::TWO).unwrap();
        let start = sets[0].epoch;
        let all: Vec<Sgp4> = sets.iter().map(|t| Sgp4::new(t, Gravity::Wgs72).unwrap()).collect();
        let motion = Motion(vec![Group::Sgp4(all.clone())]);
        let span = motion.span(start, Nanos::from_secs(20), Nanos::from_secs(45)).unwrap();
        let mut p = Positions::default();
        for ms in [20_000, 21_300, 25_000, 29_900, 30_000, 45_000] {
            let t = Nanos::from_millis(ms);
            span.positions(t, &mut p);
            let at = start.plus(t);
            let exact = to_ecef(all[1].state(at).unwrap().p, gmst_rad(at));
            assert!(distance_m(p.get(1), exact) < 1.0, "{ms} ms: {}", distance_m(p.get(1), exact));
        }
    }

    #[test]
    fn a_shell_stays_with_sgp4_for_ten_minutes() {
        // SGP4 also includes the short-periodic terms of J2, some kilometres here; the secular
        // rates must agree.
        let a = STARLINK_SHELL1.radius_m();
        let revs = (MU_M3_S2 / (a * a * a)).sqrt() * 86_400.0 / TAU;
        let tles = shell_elements(&STARLINK_SHELL1, revs, Epoch::Y2000);
        let shell = ShellMotion::new(STARLINK_SHELL1, Epoch::Y2000);
        let mut p = Positions::default();
        let at = Epoch::Y2000.plus(Nanos::from_secs(600));
        shell.positions(at, 0.0, &mut p);
        for sat in [0, 30, 700] {
            let s = Sgp4::new(&tles[sat], Gravity::Wgs72).unwrap().state(at).unwrap();
            assert!(distance_m(s.p, p.get(sat)) < 15e3, "{sat}: {}", distance_m(s.p, p.get(sat)));
            assert!((norm(s.p) - a).abs() < 12e3);
        }
    }
}
