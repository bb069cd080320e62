// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which satellites a ground point sees.

use crate::frames::{distance_m, dot, norm, sub, up, Ellipsoid, Vec3, RAD};
use crate::motion::Positions;
use crate::routing::{weight, Access};
use perigee_timeline::GeoPoint;

/// When a satellite counts as visible.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Mask {
    /// At least these degrees above the horizon.
    Elevation(f64),
    /// At most this far away, in metres (Hypatia's rule), and above the horizon.
    Range(f64),
}

impl Default for Mask {
    /// 25 degrees, the limit of Starlink's filings.
    fn default() -> Self {
        Mask::Elevation(25.0)
    }
}

/// A point on the ground, ready for many questions.
#[derive(Clone, Copy, Debug)]
pub struct GroundPoint {
    /// Earth-fixed position.
    pub ecef: Vec3,
    up: Vec3,
    mask: Mask,
    /// Sine of the least elevation.
    sin_mask: f64,
}

impl GroundPoint {
    /// At a place on an ellipsoid.
    pub fn new(place: GeoPoint, mask: Mask, ellipsoid: Ellipsoid) -> Self {
        let sin_mask = match mask {
            Mask::Elevation(deg) => libm::sin(deg * RAD),
            Mask::Range(_) => 0.0,
        };
        GroundPoint { ecef: ellipsoid.ecef(place), up: up(place), mask, sin_mask }
    }

    /// Sine of the elevation of a point.
    pub fn sin_elevation(&self, p: Vec3) -> f64 {
        let d = sub(p, self.ecef);
        dot(d, self.up) / norm(d)
    }

    /// A point is visible.
    pub fn sees(&self, p: Vec3) -> bool {
        let sin = self.sin_elevation(p);
        match self.mask {
            Mask::Elevation(_) => sin > 0.0 && sin >= self.sin_mask,
            Mask::Range(m) => sin > 0.0 && distance_m(p, self.ecef) <= m,
        }
    }

    /// The visible satellites, by number.
    pub fn visible(&self, at: &Positions, out: &mut Vec<Access>) {
        out.clear();
        let farthest2 = match self.mask {
            Mask::Elevation(_) => f64::INFINITY,
            Mask::Range(m) => m * m,
        };
        let ([gx, gy, gz], [ux, uy, uz]) = (self.ecef, self.up);
        for (sat, ((&x, &y), &z)) in at.x.iter().zip(&at.y).zip(&at.z).enumerate() {
            let (dx, dy, dz) = (x - gx, y - gy, z - gz);
            let height = dx * ux + dy * uy + dz * uz;
            // Most satellites are below the horizon: one comparison, no square root.
            if height <= 0.0 {
                continue;
            }
            let range2 = dx * dx + dy * dy + dz * dz;
            let range = range2.sqrt();
            if height >= self.sin_mask * range && range2 <= farthest2 {
                out.push(Access { sat: sat as u32, range: weight(range) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::{elevation_deg, WGS84};
    use crate::presets::STARLINK_SHELL1;
    use crate::shell::{ShellMotion, EARTH_RADIUS_M};
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
    fn the_cone_of_a_sphere_has_the_range_of_the_textbook() {
        // Slant range at elevation e over a sphere: sqrt((R sin e)^2 + 2 R h + h^2) - R sin e; 1123 km at 25 degrees.
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
