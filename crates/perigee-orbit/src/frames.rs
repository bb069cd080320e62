// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Frames of reference, in metres.
//!
//! SGP4 and the shells yield positions in an Earth-centred inertial frame (TEME). The Earth rotates
//! in it by the Greenwich mean sidereal time of 1982; polar motion (15 m) is neglected. Everything
//! else (distances, elevation, routes) is computed in the Earth-fixed frame (ECEF), in which ground
//! points are constant.

use crate::time::Epoch;
use perigee_timeline::GeoPoint;
use perigee_units::Nanos;
use std::f64::consts::{PI, TAU};

/// Speed of light in vacuum, for ISLs and radio links.
pub const SPEED_OF_LIGHT_M_S: f64 = 299_792_458.0;

/// Radians per degree.
pub const RAD: f64 = PI / 180.0;

/// A position or direction.
pub type Vec3 = [f64; 3];

/// Dot product.
pub fn dot(a: Vec3, b: Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Cross product.
pub fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// `a - b`.
pub fn sub(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// Length.
pub fn norm(a: Vec3) -> f64 {
    dot(a, a).sqrt()
}

/// Distance between two points.
pub fn distance_m(a: Vec3, b: Vec3) -> f64 {
    norm(sub(a, b))
}

/// Propagation time between two points, to the nanosecond.
pub(crate) fn light_time(a: Vec3, b: Vec3) -> Nanos {
    Nanos::from_secs_f64(distance_m(a, b) / SPEED_OF_LIGHT_M_S)
}

/// Reduces an angle to `0..2 pi`.
pub fn wrap(angle_rad: f64) -> f64 {
    angle_rad.rem_euclid(TAU)
}

/// Difference of two angles in degrees, reduced to `-180..180`.
pub fn turn_deg(a: f64, b: f64) -> f64 {
    (a - b + 180.0).rem_euclid(360.0) - 180.0
}

/// Greenwich mean sidereal time in radians (Aoki et al. 1982; Vallado, "Fundamentals of
/// Astrodynamics", eq. 3-45).
pub fn gmst_rad(at: Epoch) -> f64 {
    let days = at.days_since_j2000();
    let t = days / 36_525.0;
    // Full turns are removed before the small terms are added: with a day count of 10^4 those would
    // lose digits.
    let turns = days.rem_euclid(1.0);
    let seconds =
        67_310.548_41 + turns * 86_400.0 + 8_640_184.812_866 * t + 0.093_104 * t * t - 6.2e-6 * t * t * t;
    wrap(seconds / 86_400.0 * TAU)
}

/// Angular velocity of the Earth.
pub const EARTH_RAD_S: f64 = 7.292_115_9e-5;

/// Rotates TEME to ECEF by `gmst_rad`.
pub fn to_ecef(p: Vec3, gmst_rad: f64) -> Vec3 {
    turn(p, libm::sincos(gmst_rad))
}

/// Rotates TEME to ECEF, given sine and cosine of the Earth's rotation angle.
#[inline(always)]
pub fn turn(p: Vec3, (s, c): (f64, f64)) -> Vec3 {
    [c * p[0] + s * p[1], c * p[1] - s * p[0], p[2]]
}

/// An ellipsoid of revolution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ellipsoid {
    /// Equatorial radius.
    pub a_m: f64,
    /// Flattening.
    pub f: f64,
}

/// The ellipsoid of GPS; the default for ground points and maps.
pub const WGS84: Ellipsoid = Ellipsoid { a_m: 6_378_137.0, f: 1.0 / 298.257_223_563 };
/// The older ellipsoid, for comparison with tools that use it (Hypatia, the OrbCC study).
pub const WGS72: Ellipsoid = Ellipsoid { a_m: 6_378_135.0, f: 1.0 / 298.26 };

impl Ellipsoid {
    fn e2(self) -> f64 {
        self.f * (2.0 - self.f)
    }

    /// Converts geodetic coordinates to ECEF.
    pub fn ecef(self, p: GeoPoint) -> Vec3 {
        let (sin_lat, cos_lat) = libm::sincos(p.lat_deg * RAD);
        let (sin_lon, cos_lon) = libm::sincos(p.lon_deg * RAD);
        let n = self.a_m / (1.0 - self.e2() * sin_lat * sin_lat).sqrt();
        let across = (n + p.height_m) * cos_lat;
        [across * cos_lon, across * sin_lon, (n * (1.0 - self.e2()) + p.height_m) * sin_lat]
    }

    /// Converts ECEF to geodetic coordinates by Bowring's formula: exact to millimetres up to
    /// satellite heights.
    pub fn geodetic(self, p: Vec3) -> GeoPoint {
        let across = libm::hypot(p[0], p[1]);
        let b = self.a_m * (1.0 - self.f);
        let (sin_u, cos_u) = libm::sincos(libm::atan2(p[2] * self.a_m, across * b));
        let second_e2 = self.e2() / (1.0 - self.e2());
        let up = p[2] + second_e2 * b * sin_u * sin_u * sin_u;
        let out = across - self.e2() * self.a_m * cos_u * cos_u * cos_u;
        let lat = libm::atan2(up, out);
        let (sin_lat, cos_lat) = libm::sincos(lat);
        let n = self.a_m / (1.0 - self.e2() * sin_lat * sin_lat).sqrt();
        // This form of the height does not divide by a cosine that vanishes at the poles.
        let height_m = across * cos_lat + p[2] * sin_lat - self.a_m * self.a_m / n;
        GeoPoint { lat_deg: lat / RAD, lon_deg: libm::atan2(p[1], p[0]) / RAD, height_m }
    }
}

/// Mean radius of the Earth, for distances along the ground.
pub const MEAN_RADIUS_M: f64 = 6_371_008.8;

/// Distance along the ground, on a sphere (haversine formula).
pub fn great_circle_m(a: GeoPoint, b: GeoPoint) -> f64 {
    let half = |d: f64| libm::sin(d * RAD / 2.0);
    let (lat, lon) = (half(a.lat_deg - b.lat_deg), half(a.lon_deg - b.lon_deg));
    let h = lat * lat + libm::cos(a.lat_deg * RAD) * libm::cos(b.lat_deg * RAD) * lon * lon;
    2.0 * MEAN_RADIUS_M * libm::asin(h.sqrt().min(1.0))
}

/// Local vertical of a place: the normal of the ellipsoid.
pub fn up(p: GeoPoint) -> Vec3 {
    let (sin_lat, cos_lat) = libm::sincos(p.lat_deg * RAD);
    let (sin_lon, cos_lon) = libm::sincos(p.lon_deg * RAD);
    [cos_lat * cos_lon, cos_lat * sin_lon, sin_lat]
}

/// Elevation of `target` above the horizon of a ground point, in degrees.
pub fn elevation_deg(ground: Vec3, up: Vec3, target: Vec3) -> f64 {
    let d = sub(target, ground);
    libm::asin(dot(d, up) / norm(d)) / RAD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sidereal_time_agrees_with_the_textbook() {
        // Vallado, example 3-5: 1992-08-20 12:14 UT1, 152.578 787 886 degrees.
        let at = Epoch::parse("1992-08-20T12:14:00").unwrap();
        assert!((gmst_rad(at) / RAD - 152.578_787_886).abs() < 1e-6);
    }

    #[test]
    fn geodetic_and_cartesian_are_inverse() {
        for (lat_deg, lon_deg, height_m) in
            [(0.0, 0.0, 0.0), (51.5, -0.1, 100.0), (-89.9999, 170.0, 0.0), (53.0, -179.5, 550_000.0)]
        {
            let p = WGS84.geodetic(WGS84.ecef(GeoPoint { lat_deg, lon_deg, height_m }));
            assert!((p.lat_deg - lat_deg).abs() < 1e-7, "{p:?}");
            assert!((p.lon_deg - lon_deg).abs() < 1e-9, "{p:?}");
            assert!((p.height_m - height_m).abs() < 1e-3, "{p:?}");
        }
    }

    #[test]
    fn the_equator_and_the_pole_are_where_the_ellipsoid_says() {
        let at = |lat_deg| WGS84.ecef(GeoPoint { lat_deg, lon_deg: 0.0, height_m: 0.0 });
        assert!((at(0.0)[0] - 6_378_137.0).abs() < 1e-6);
        assert!((at(90.0)[2] - 6_356_752.314_245).abs() < 1e-5);
    }

    #[test]
    fn elevation_is_90_at_the_zenith_and_0_at_the_horizon() {
        let p = GeoPoint { lat_deg: 40.0, lon_deg: -74.0, height_m: 0.0 };
        let (ground, u) = (WGS84.ecef(p), up(p));
        let above = WGS84.ecef(GeoPoint { height_m: 550_000.0, ..p });
        assert!((elevation_deg(ground, u, above) - 90.0).abs() < 1e-5);
        let side = cross(u, [0.0, 0.0, 1.0]);
        let level = [ground[0] + side[0], ground[1] + side[1], ground[2] + side[2]];
        assert!(elevation_deg(ground, u, level).abs() < 1e-6);
    }
}
