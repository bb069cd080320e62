// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[node.NAME]`: a place on the ground.

use crate::file::checked::Checked;
use crate::file::error::{Place, Problem};
use crate::file::tree;
use std::path::PathBuf;

/// `[node.NAME]`.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    /// Name.
    pub name: String,
    /// terminal, station or host.
    pub kind: String,
    /// City, or latitude and longitude in degrees.
    pub position: Position,
    /// Metres above the ellipsoid.
    pub height_m: f64,
    /// Smallest elevation, where it is not that of the constellation.
    pub mask_deg: Option<f64>,
    /// Dishes of a station, where they are limited.
    pub dishes: Option<u32>,
    /// For traffic patterns.
    pub weight: f64,
    /// File of its weather.
    pub weather: Option<PathBuf>,
    /// Where it was written.
    pub place: Place,
}

/// Where a node stands.
#[derive(Clone, Debug)]
pub enum Position {
    /// A city of the list.
    City(String),
    /// Degrees north and east.
    Degrees(f64, f64),
}

/// Reads `[node.NAME]`.
pub fn read(name: &str, c: &Checked, problems: &mut Vec<Problem>) -> Option<NodeSpec> {
    let position = match (c.opt_text("place"), c.opt_number("lat"), c.opt_number("lon")) {
        (Some(city), None, None) => Position::City(city),
        (None, Some(lat), Some(lon)) => Position::Degrees(lat, lon),
        _ => {
            let key = if c.has("place") { "place" } else { "lat" };
            problems.push(c.problem(key, "give either a place, or lat and lon"));
            return None;
        }
    };
    Some(NodeSpec {
        name: name.into(),
        kind: c.text("kind"),
        position,
        height_m: c.metres("height"),
        mask_deg: c.opt_degrees("mask"),
        dishes: c.opt_int("dishes").map(|n| n as u32),
        weight: c.number("weight"),
        weather: c.opt_text("weather").map(|f| tree::resolve(c.place_of("weather"), &f)),
        place: c.place.clone(),
    })
}
