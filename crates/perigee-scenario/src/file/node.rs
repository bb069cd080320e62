// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[node.NAME]`: a place on the ground.

use crate::file::error::{Place, Problem};
use crate::file::grammar::Only;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use std::path::PathBuf;

/// Names of an end of a flow that stand for the nearest station.
pub(crate) const ANY_GATEWAY: [&str; 2] = ["any gateway", "any station"];

/// A terminal has one dish, so only stations have these keys.
pub(crate) const STATION: &[Only] = &[Only::With("kind", &["station"])];

parameters! {
    /// `[node.NAME]`.
    Node = "node", "A node on the ground.";
    kind: String = key(Notation::Word(&["terminal", "station", "host"]), "terminal", "terminal, host = one dish, hard handovers; station = several dishes, soft handovers");
    place: Option<String> = optional(Notation::Text, "city of the bundled list");
    lat: Option<f64> = optional(Notation::Number(-90.0, 90.0), "latitude in degrees north; with lon, in place of `place`");
    lon: Option<f64> = optional(Notation::Number(-180.0, 360.0), "longitude in degrees east");
    height_m as height: f64 = key(Notation::Length(-500.0, 10_000.0), "0 m", "height above the ellipsoid");
    mask_deg as mask: Option<f64> = optional(Notation::Angle(0.0, 90.0), "minimum elevation for this node; default: that of the constellation");
    weight: f64 = key(Notation::Number(0.0, 1e12), "1", "weight in the traffic pattern `gravity`: population or demand");
    dishes: Option<u32> = optional(Notation::Int(1, 10_000), "maximum number of satellites in use at once, the nearest ones; default: all in view"), only STATION;
    weather: Option<PathBuf> = optional(Notation::File, "CSV file with columns t_s, rate_share, loss, as written by `perigee weather`; requires ground_ports = \"per-link\"");
}

/// A node on the ground: from `[node.NAME]`, or from `[[nodes]]`.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    /// Name.
    pub name: String,
    /// Notation: terminal, station or host.
    pub kind: String,
    /// City, or latitude and longitude in degrees.
    pub position: Position,
    /// Height above the ellipsoid in metres.
    pub height_m: f64,
    /// Minimum elevation, if it differs from that of the constellation.
    pub mask_deg: Option<f64>,
    /// Number of dishes of a station, if limited.
    pub dishes: Option<u32>,
    /// Weight in traffic patterns.
    pub weight: f64,
    /// Weather file of the node.
    pub weather: Option<PathBuf>,
    /// Place of the node in the scenario.
    pub place: Place,
}

/// Position of a node.
#[derive(Clone, Debug)]
pub enum Position {
    /// A city by name.
    City(String),
    /// Degrees north and east.
    Degrees(f64, f64),
}

impl Node {
    pub(crate) fn spec(self, name: &str, problems: &mut Vec<Problem>) -> Option<NodeSpec> {
        let position = match (&self.place, self.lat, self.lon) {
            (Some(city), None, None) => Position::City(city.clone()),
            (None, Some(lat), Some(lon)) => Position::Degrees(lat, lon),
            _ => {
                let key = if self.place.is_some() { "place" } else { "lat" };
                problems.push(self.written.problem(key, "give either a place, or lat and lon"));
                return None;
            }
        };
        if ANY_GATEWAY.contains(&name) {
            let p = self.written.problem("", "reserved for the nearest station of flows");
            problems.push(p.hint("choose another name"));
        }
        let Node { kind, height_m, mask_deg, dishes, weight, weather, written, .. } = self;
        let (name, place) = (name.into(), written.place.clone());
        Some(NodeSpec { name, kind, position, height_m, mask_deg, dishes, weight, weather, place })
    }
}
