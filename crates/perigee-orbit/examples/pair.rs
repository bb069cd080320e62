// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Streams the timeline of London to New York for the number of hours given as the first argument:
//! for use with profilers.

#![expect(clippy::disallowed_methods, reason = "measures wall-clock time")]

use perigee_orbit::sky::cities;
use perigee_orbit::{GroundKind, GroundNode, Sky, SkySpec};
use perigee_timeline::{ChunkSource, GeoPoint};
use perigee_units::Nanos;
use std::sync::Arc;
use std::time::Instant;

fn main() {
    let hours: f64 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1.0);
    let ground = ["London", "New York"].map(|name| {
        let city = cities::find(name).expect("a city");
        let place = GeoPoint { lat_deg: city.lat_deg, lon_deg: city.lon_deg, height_m: 0.0 };
        GroundNode::new(name, GroundKind::Terminal, place)
    });
    let duration = Nanos::from_secs((3600.0 * hours) as u64);
    let spec = SkySpec { ground: ground.into(), pairs: vec![(0, 1), (1, 0)], duration, ..SkySpec::default() };
    let sky = Arc::new(Sky::new(spec).expect("a sky"));
    let (begin, mut changes, mut stream) = (Instant::now(), 0, sky.stream());
    while let Some(chunk) = stream.next_chunk().expect("a chunk") {
        changes += chunk.changes.len();
    }
    println!("{hours} h: {changes} changes in {:.2} s", begin.elapsed().as_secs_f64());
}
