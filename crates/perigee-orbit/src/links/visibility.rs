// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Visibility of satellites from the ground.

use crate::frames::{distance_m, dot, norm, sub, up, Ellipsoid, Vec3, RAD};
use crate::links::length::{weight, Access};
use crate::motion::positions::Positions;
use perigee_timeline::GeoPoint;
use perigee_units::Nanos;

/// Criterion of visibility.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Mask {
    /// Minimum elevation in degrees.
    Elevation(f64),
    /// Maximum range in metres, and above the horizon (Hypatia's rule).
    Range(f64),
}

impl Default for Mask {
    /// Elevation of 25 degrees, the limit of Starlink's filings.
    fn default() -> Self {
        Mask::Elevation(25.0)
    }
}

/// A point on the ground, prepared for many queries.
#[derive(Clone, Copy, Debug)]
pub struct GroundPoint {
    /// Earth-fixed position.
    pub ecef: Vec3,
    up: Vec3,
    mask: Mask,
    /// Sine of the minimum elevation.
    sin_mask: f64,
}

impl GroundPoint {
    /// Ground point at a place on an ellipsoid.
    pub fn new(place: GeoPoint, mask: Mask, ellipsoid: Ellipsoid) -> Self {
        let sin_mask = match mask {
            Mask::Elevation(deg) => libm::sin(deg * RAD),
            Mask::Range(_) => 0.0,
        };
        GroundPoint { ecef: ellipsoid.ecef(place), up: up(place), mask, sin_mask }
    }

    /// Sine of the least elevation of a visible point.
    pub(crate) fn least_sine(&self) -> f64 {
        self.sin_mask
    }

    /// Sine of the elevation of a point.
    pub fn sin_elevation(&self, p: Vec3) -> f64 {
        let d = sub(p, self.ecef);
        dot(d, self.up) / norm(d)
    }

    /// Whether a point is visible.
    pub fn sees(&self, p: Vec3) -> bool {
        let sin = self.sin_elevation(p);
        match self.mask {
            Mask::Elevation(_) => sin > 0.0 && sin >= self.sin_mask,
            Mask::Range(m) => sin > 0.0 && distance_m(p, self.ecef) <= m,
        }
    }

    /// The visible satellites, by number.
    pub fn visible(&self, at: &Positions, out: &mut Vec<Access>) {
        self.visible_among(0..at.len() as u32, at, out);
    }

    /// The visible ones of the given satellites, in their order.
    pub fn visible_among(&self, sats: impl Iterator<Item = u32>, at: &Positions, out: &mut Vec<Access>) {
        out.clear();
        for sat in sats {
            let sight = self.sight(at, sat);
            // Most satellites are below the horizon, which takes one comparison and no square root.
            if sight.height_m > 0.0 && self.lets_pass(&sight, 0.0) {
                out.push(Access { sat, range: weight(sight.range2.sqrt()) });
            }
        }
    }

    /// Satellites, by number, that can be visible while none has moved farther than `moved_m` from
    /// its current position.
    pub fn candidates(&self, at: &Positions, moved_m: f64, out: &mut Vec<u32>) {
        out.clear();
        for sat in 0..at.len() as u32 {
            let sight = self.sight(at, sat);
            if sight.height_m > -moved_m && self.lets_pass(&sight, moved_m) {
                out.push(sat);
            }
        }
    }

    #[inline(always)]
    fn sight(&self, at: &Positions, sat: u32) -> Sight {
        let ([gx, gy, gz], [ux, uy, uz], sat) = (self.ecef, self.up, sat as usize);
        let (dx, dy, dz) = (at.x[sat] - gx, at.y[sat] - gy, at.z[sat] - gz);
        Sight { height_m: dx * ux + dy * uy + dz * uz, range2: dx * dx + dy * dy + dz * dz }
    }

    /// Whether a satellite can pass the mask after a movement of at most `moved_m`.
    #[inline(always)]
    fn lets_pass(&self, sight: &Sight, moved_m: f64) -> bool {
        match self.mask {
            // Height and range change by at most this distance, and the range is weighted by the
            // sine.
            Mask::Elevation(_) => {
                sight.height_m >= self.sin_mask * sight.range2.sqrt() - (1.0 + self.sin_mask) * moved_m
            }
            Mask::Range(m) => sight.range2 <= (m + moved_m) * (m + moved_m),
        }
    }
}

/// A satellite from a ground point.
struct Sight {
    /// Height above the plane of the horizon.
    height_m: f64,
    /// Square of the distance.
    range2: f64,
}

/// Satellites that ground points can see around an instant; all others can be skipped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Horizon {
    /// Candidates of each ground point, by number; empty for those without traffic.
    pub candidates: Vec<Vec<u32>>,
    /// Length up to which every ISL is within the limits.
    pub clear_m: f64,
    /// Instant in the middle of the validity.
    pub centre: Nanos,
    /// Validity before and after that instant.
    pub reach: Nanos,
}

impl Horizon {
    /// Whether it is valid at an instant.
    pub fn holds(&self, t: Nanos) -> bool {
        !self.candidates.is_empty() && t.0.abs_diff(self.centre.0) <= self.reach.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::{elevation_deg, WGS84};
    use crate::motion::presets::STARLINK_SHELL1;
    use crate::motion::shell::{ShellMotion, EARTH_RADIUS_M};
    use crate::time::Epoch;

    fn london() -> GeoPoint {
        GeoPoint { lat_deg: 51.507, lon_deg: -0.128, height_m: 0.0 }
    }

    #[test]
    fn the_mask_is_kept_and_nothing_above_it_is_missed() {
        let mut p = Positions::default();
        ShellMotion::new(STARLINK_SHELL1, Epoch::Y2000).positions(Epoch::Y2000, 1.0, &mut p);
        let g = GroundPoint::new(london(), Mask::default(), WGS84);
        let mut seen = Vec::new();
        g.visible(&p, &mut seen);
        let expected: Vec<u32> = (0..p.len())
            .filter(|&s| elevation_deg(g.ecef, up(london()), p.get(s)) >= 25.0)
            .map(|s| s as u32)
            .collect();
        assert!(!expected.is_empty());
        assert_eq!(seen.iter().map(|a| a.sat).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn whoever_is_seen_within_ten_seconds_is_a_candidate_now() {
        let shell = ShellMotion::new(STARLINK_SHELL1, Epoch::Y2000);
        let at = |ms: u64| {
            let (mut p, t) = (Positions::default(), Epoch::Y2000.plus(Nanos::from_millis(ms)));
            shell.positions(t, crate::frames::gmst_rad(t), &mut p);
            p
        };
        for mask in [Mask::default(), Mask::Elevation(0.0), Mask::Range(1_089_686.0)] {
            let g = GroundPoint::new(london(), mask, WGS84);
            let (mut candidates, mut all, mut some) = (Vec::new(), Vec::new(), Vec::new());
            for begin in (0..600_000).step_by(10_000) {
                g.candidates(&at(begin), 10.0 * shell.fastest_m_s(), &mut candidates);
                for ms in (begin..=begin + 10_000).step_by(500) {
                    g.visible(&at(ms), &mut all);
                    g.visible_among(candidates.iter().copied(), &at(ms), &mut some);
                    assert_eq!(all, some, "{ms}");
                }
                assert!(candidates.len() < all.len() + 40, "{}", candidates.len());
            }
        }
    }

    #[test]
    fn the_cone_of_a_sphere_has_the_range_of_the_textbook() {
        // Slant range at elevation e over a sphere: sqrt((R sin e)^2 + 2 R h + h^2) - R sin e; 1123
        // km at 25 degrees.
        let (r, h, s) = (EARTH_RADIUS_M, 550e3, libm::sin(25.0 * RAD));
        let range = ((r * s) * (r * s) + 2.0 * r * h + h * h).sqrt() - r * s;
        assert!((range - 1123e3).abs() < 1e3);
        let sphere = Ellipsoid { a_m: r, f: 0.0 };
        let place = GeoPoint { lat_deg: 0.0, lon_deg: 0.0, height_m: 0.0 };
        let g = GroundPoint::new(place, Mask::Elevation(25.0), sphere);
        let across = libm::cos(25.0 * RAD);
        let at = |range: f64| {
            let mut p = Positions::default();
            p.push([r + range * s, range * across, 0.0]);
            p
        };
        let mut out = Vec::new();
        let (inside, lower) = (at(range - 1.0), {
            let mut p = at(range);
            p.x[0] -= 100.0;
            p
        });
        g.visible(&inside, &mut out);
        assert_eq!(out.len(), 1);
        g.visible(&lower, &mut out);
        assert!(out.is_empty());
    }
}
