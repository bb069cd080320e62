// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Speed table of constellations: snapshots with routes, days of one pair, and the experiments over
//! an entire constellation for which other tools are known.

use perigee_orbit::links::planes::PlaneOptions;
use perigee_orbit::motion::fleet::{shell_elements, Gravity};
use perigee_orbit::motion::presets::STARLINK_SHELL1;
use perigee_orbit::motion::shell::Shell;
use perigee_orbit::sky::cities;
use perigee_orbit::time::Epoch;
use perigee_orbit::{GroundKind, GroundNode, Satellites, Sky, SkySpec, TableScratch};
use perigee_scenario::Scenario;
use perigee_timeline::ChunkSource;
use perigee_units::Nanos;
use serde_json::{json, Value as Json};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// CPU seconds that Hypatia's own routing takes for one state of 1,584 satellites and 100 stations,
/// measured with its authors' code for this project's specification.
const HYPATIA_CPU_S: f64 = 23.6;

/// Cases without packets.
pub const SKIES: &[&str] = &["sky-snapshot-100", "sky-200s-100", "sky-7000x1000", "sky-24h-pair"];
/// Cases with packets, and whether they run by default.
pub const EXPERIMENTS: &[(&str, bool)] =
    &[("hypatia-100-10M", true), ("hypatia-100-100M", false), ("flows-10000", true)];
/// Prefix of the cases of the growth table, which run only if named: `grow-sats-N`,
/// `grow-places-N`, `grow-flows-N`, `grow-rate-N`.
pub const GROWTH: &str = "grow-";

/// Runs a case without packets.
///
/// # Errors
/// If the name is unknown, or the sky cannot be built.
pub fn sky(name: &str) -> Result<Json, String> {
    match name {
        "sky-snapshot-100" => {
            // One core: a snapshot is the unit of work distributed over cores.
            let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(|e| e.to_string())?;
            one.install(|| snapshots(name, &of_cities(100, SkySpec::default())?, 100))
        }
        "sky-200s-100" => snapshots(name, &of_cities(100, SkySpec::default())?, 2000),
        "sky-7000x1000" => snapshots(name, &of_cities(1000, from_tle(7000))?, 10),
        "sky-24h-pair" => stream(name, Nanos::from_secs(86_400)),
        _ => growing(name),
    }
}

fn growing(name: &str) -> Result<Json, String> {
    let unknown = || format!("no case {name:?}");
    let (what, n) = name.strip_prefix(GROWTH).and_then(|n| n.split_once('-')).ok_or_else(unknown)?;
    let n: u32 = n.parse().map_err(|_| unknown())?;
    match what {
        "sats" => snapshots(name, &of_cities(100, from_tle(n))?, 20),
        "places" => snapshots(name, &of_cities(n as usize, SkySpec::default())?, 20),
        _ => Err(unknown()),
    }
}

/// The scenario of a case with packets.
pub fn experiment(name: &str) -> Option<(String, &'static str)> {
    let ten = "10 Mbit";
    let text = match name {
        "hypatia-100-10M" => permutation(100, "200 s", ten, 1),
        "hypatia-100-100M" => permutation(100, "200 s", "100 Mbit", 1),
        "flows-10000" => permutation(1000, "10 s", ten, 10),
        _ => {
            let (what, n) = name.strip_prefix(GROWTH)?.split_once('-')?;
            let n: u32 = n.parse().ok()?;
            match what {
                "flows" => permutation(100, "20 s", ten, n.div_ceil(100)),
                "rate" => permutation(100, "20 s", &format!("{n} Mbit"), 1),
                _ => return None,
            }
        }
    };
    Some((text, "newreno"))
}

/// The largest cities, each with a flow to another one; every port has the same rate and 100
/// packets (the traffic matrix of Hypatia, except that the permutation is drawn here).
fn permutation(cities: u32, duration: &str, rate: &str, flows: u32) -> String {
    format!(
        "[run]\nduration = \"{duration}\"\nsample = \"1 s\"\n[source.constellation]\npreset = \"starlink-shell1\"\n\
         [[nodes]]\nset = \"cities\"\ncount = {cities}\n\
         [port.all]\nrate = \"{rate}\"\nqueue = \"100 packets\"\nmetered = false\n\
         [[flow]]\npattern = \"permutation\"\ncount = {flows}\n"
    )
}

/// Parses a scenario of the table.
///
/// # Errors
/// If the scenario is invalid.
pub fn parse(text: &str, name: &str) -> Result<Scenario, String> {
    Scenario::parse(text, name, Path::new(""), &[]).map_err(|e| e.to_string())
}

/// Sky with the largest cities as stations.
fn of_cities(n: usize, spec: SkySpec) -> Result<Sky, String> {
    let station = |(i, c): (usize, &cities::City)| {
        GroundNode::new(format!("{} {i}", c.name), GroundKind::Station, c.place())
    };
    let ground = cities::largest().enumerate().map(station).take(n).collect();
    Sky::new(SkySpec { ground, ..spec }).map_err(|e| e.to_string())
}

/// Sky with about `n` satellites, read from the text of a TLE file.
fn from_tle(n: u32) -> SkySpec {
    let (satellites, text) = tle_of(n);
    let satellites = Satellites::Elements {
        name: format!("{satellites} satellites"),
        text,
        planes: PlaneOptions::default(),
        gravity: Gravity::Wgs72,
    };
    SkySpec { satellites, ..SkySpec::default() }
}

/// Number of satellites, and the text of their TLE file.
pub(super) fn tle_of(n: u32) -> (usize, String) {
    let shell = Shell { planes: n.div_ceil(70).max(1), per_plane: 70.min(n), ..STARLINK_SHELL1 };
    let sets = shell_elements(&shell, 15.06, Epoch::midnight(2022, 9, 14));
    let text = sets.iter().flat_map(|set| std::iter::once(set.name.clone()).chain(set.lines()));
    (sets.len(), text.map(|line| line + "\n").collect())
}

/// Snapshots at intervals of 100 ms: positions, visibility, and next hops from every node to all
/// stations.
fn snapshots(name: &str, sky: &Sky, count: u64) -> Result<Json, String> {
    let destinations: Vec<usize> = (0..sky.spec().ground.len()).collect();
    let mut scratch = TableScratch::default();
    let mut table_entries = 0;
    let mut take = |k: u64| -> Result<f64, String> {
        let begin = Instant::now();
        let found = sky.snapshot_tables(Nanos::from_millis(100 * k), &destinations, &mut scratch);
        table_entries += found.map_err(|e| e.to_string())?;
        Ok(begin.elapsed().as_secs_f64())
    };
    // The first snapshot has no previous trees to start from.
    let first_s = take(0)?;
    let (mut wall_s, mut best_s) = (0.0, f64::INFINITY);
    for k in 1..=count {
        let s = take(k)?;
        wall_s += s;
        best_s = best_s.min(s);
    }
    let (satellites, stations) = (sky.constellation().len(), destinations.len());
    // Hypatia was measured with one size only.
    let ratio = (satellites == STARLINK_SHELL1.satellites() && stations == 100)
        .then(|| HYPATIA_CPU_S * count as f64 / wall_s);
    Ok(json!({
        "name": name, "snapshots": count, "satellites": satellites, "stations": stations,
        "first_ms": first_s * 1e3, "ms_per_snapshot": wall_s * 1e3 / count as f64,
        // Other load on the machine only adds time.
        "best_ms": best_s * 1e3, "table_entries": table_entries, "wall_s": wall_s,
        "times_faster_than_hypatia": ratio,
    }))
}

/// The timeline of London to New York.
fn stream(name: &str, duration: Nanos) -> Result<Json, String> {
    let city = |name: &str| cities::find(name).ok_or_else(|| format!("{name} is no city"));
    let mut ground = Vec::new();
    for end in ["London", "New York"] {
        ground.push(GroundNode::new(end, GroundKind::Terminal, city(end)?.place()));
    }
    let spec = SkySpec { ground, pairs: vec![(0, 1), (1, 0)], duration, ..SkySpec::default() };
    let sky = Arc::new(Sky::new(spec).map_err(|e| e.to_string())?);
    let (begin, mut changes, mut stream) = (Instant::now(), 0, sky.stream());
    while let Some(chunk) = stream.next_chunk()? {
        changes += chunk.changes.len();
    }
    let wall_s = begin.elapsed().as_secs_f64();
    Ok(json!({
        "name": name, "simulated_s": duration.as_secs_f64(), "changes": changes, "wall_s": wall_s,
    }))
}
