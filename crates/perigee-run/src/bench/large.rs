// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Benchmarks of large runs: `large-FLOWS-PLACES` over 7,000 satellites from a TLE file for two
//! seconds, and `memory-FLOWS` over a dumbbell for five. The record is discarded as it is produced,
//! so that the memory is that of the run alone.

use super::sky::tle_of;
use super::threads::Nowhere;
use perigee_scenario::{Scenario, World};
use perigee_units::files::private_folder;
use serde_json::{json, Value as Json};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

const SATELLITES: u32 = 7000;

/// Runs a case; `None` if the name is not one of these.
pub fn measure(name: &str) -> Option<Result<Json, String>> {
    if let Some(flows) = name.strip_prefix("memory-").and_then(|n| n.parse().ok()) {
        return Some(memory(name, flows));
    }
    with_scenario(name, |text, folder| run(name, text, folder))?.map_or_else(|e| Some(Err(e)), Some)
}

/// Calls `use_it` with the scenario of a case `large-FLOWS-PLACES`, and the folder of its files, which
/// is deleted afterwards; `None` if the name is not one of these.
pub fn with_scenario<T>(name: &str, use_it: impl FnOnce(&str, &Path) -> T) -> Option<Result<T, String>> {
    let (flows, places) = name.strip_prefix("large-")?.split_once('-')?;
    let (flows, places) = (flows.parse().ok()?, places.parse().ok()?);
    Some(write(flows, places).map(|(text, folder)| {
        let found = use_it(&text, &folder);
        // A failure to delete the folder is ignored.
        let _ = std::fs::remove_dir_all(&folder);
        found
    }))
}

fn memory(name: &str, flows: u32) -> Result<Json, String> {
    let text = format!(
        "[run]\nduration = \"5 s\"\n[source.dumbbell]\nrtt = \"50 ms\"\n[port.bottleneck]\nrate = \"1 Gbit\"\n\
         queue = \"20000 packets\"\n[[flow]]\ncount = {flows}\n"
    );
    run(name, &text, Path::new(""))
}

/// Each place has flows to another one, drawn once.
fn write(flows: u32, places: u32) -> Result<(String, PathBuf), String> {
    let base = std::env::temp_dir();
    let folder = private_folder(&base, "perigee-bench-").map_err(|e| format!("{}: {e}", base.display()))?;
    let written = std::fs::write(folder.join("satellites.tle"), tle_of(SATELLITES).1)
        .and_then(|()| std::fs::write(folder.join("places.csv"), spread(places)));
    written.map_err(|e| format!("{}: {e}", folder.display()))?;
    let text = format!(
        "[run]\nduration = \"2 s\"\nsample = \"1 s\"\n[source.constellation]\ntle = \"satellites.tle\"\n\
         [[nodes]]\nfile = \"places.csv\"\n[port.all]\nrate = \"10 Mbit\"\nqueue = \"100 packets\"\nmetered = false\n\
         [[flow]]\npattern = \"permutation\"\ncount = {}\n",
        flows.div_ceil(places)
    );
    Ok((text, folder))
}

/// Places on a spiral over all latitudes from which satellites are visible.
fn spread(places: u32) -> String {
    const GOLDEN_ANGLE_DEG: f64 = 137.507_764;
    let mut rows = String::from("name,lat,lon\n");
    for i in 0..places {
        let lat = (f64::from(i) + 0.5) / f64::from(places) * 106.0 - 53.0;
        let lon = (f64::from(i) * GOLDEN_ANGLE_DEG) % 360.0 - 180.0;
        let _ = writeln!(rows, "p{i},{lat:.4},{lon:.4}");
    }
    rows
}

fn run(name: &str, text: &str, folder: &Path) -> Result<Json, String> {
    let begin = Instant::now();
    let scenario = Scenario::parse(text, name, folder, &[]).map_err(|e| e.to_string())?;
    let world = World::build(Arc::new(scenario), 1).map_err(|e| e.to_string())?;
    world.timeline.expect_one_reader();
    let build_s = begin.elapsed().as_secs_f64();
    let built_bytes = peak_bytes();
    let mut rows = Nowhere { rows: 0 };
    let begin = Instant::now();
    let simulator = crate::Simulator::default();
    let done = crate::record(&world, "newreno", &simulator, &mut rows, None, &mut |_| true);
    let outcome = done.map_err(|e| e.to_string())?.outcome;
    Ok(json!({
        "name": name, "flows": world.flows.len(), "packet_hops": outcome.packet_hops, "events": outcome.events,
        "simulated_s": outcome.end.as_secs_f64(), "build_s": build_s, "wall_s": begin.elapsed().as_secs_f64(),
        "memory_per_flow_bytes": outcome.memory_per_flow_bytes, "rows": rows.rows,
        "built_peak_bytes": built_bytes, "peak_bytes": peak_bytes(), "hops_match_links": true,
    }))
}

/// Peak memory of this process, if reported by Linux.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kb| kb * 1024)
}
