// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cities by name.

/// A city.
pub struct City {
    /// Name.
    pub name: &'static str,
    /// Degrees north.
    pub lat_deg: f64,
    /// Degrees east.
    pub lon_deg: f64,
}

const CITIES: &[City] = &[
    City { name: "London", lat_deg: 51.5074, lon_deg: -0.1278 },
    City { name: "New York", lat_deg: 40.7128, lon_deg: -74.006 },
];

/// The city of that name.
pub fn find(name: &str) -> Option<&'static City> {
    CITIES.iter().find(|c| c.name.eq_ignore_ascii_case(name))
}

/// All names.
pub fn names() -> impl Iterator<Item = &'static str> {
    CITIES.iter().map(|c| c.name)
}
