// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Benchmark of one snapshot of Starlink's first shell with routing tables toward 100 ground
//! stations.

#![expect(clippy::disallowed_methods, reason = "measures wall-clock time")]

use perigee_orbit::{GroundKind, GroundNode, Sky, SkySpec, TableScratch};
use perigee_timeline::GeoPoint;
use perigee_units::Nanos;
use std::time::Instant;

fn main() {
    let station = |i: usize| {
        // A spiral over the inhabited latitudes.
        let (lat_deg, lon_deg) = (-50.0 + i as f64, (i as f64 * 137.5) % 360.0 - 180.0);
        let place = GeoPoint { lat_deg, lon_deg, height_m: 0.0 };
        GroundNode::new(format!("g{i}"), GroundKind::Station, place)
    };
    let spec = SkySpec { ground: (0..100).map(station).collect(), ..SkySpec::default() };
    let sky = Sky::new(spec).expect("a sky");
    let dests: Vec<usize> = (0..100).collect();
    let mut scratch = TableScratch::default();
    let mut entries = 0;
    let begin = Instant::now();
    const ROUNDS: u64 = 100;
    for k in 0..ROUNDS {
        entries += sky.snapshot_tables(Nanos::from_millis(100 * k), &dests, &mut scratch).expect("tables");
    }
    println!("{:.3} ms per snapshot, {entries} entries", begin.elapsed().as_secs_f64() * 1e3 / ROUNDS as f64);
}
