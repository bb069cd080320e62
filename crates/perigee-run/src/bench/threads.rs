// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Speed of one run by its number of threads, on the machine at hand.
//!
//! The runs are interleaved, so that a busy phase of the machine affects all numbers of threads. The
//! record is discarded as it is produced; its hashes must be those of one thread.

use super::{large, sky};
use crate::Simulator;
use perigee_record::{RecordSink, SinkError, Table};
use perigee_scenario::{Scenario, World};
use perigee_sim::Execution;
use serde_json::{json, Value as Json};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Cases that are measured unless others are named.
pub const CASES: &[&str] = &["flows-10000", "hypatia-100-100M", "large-100000-10000"];

/// Sink that discards its rows.
pub(super) struct Nowhere {
    pub rows: usize,
}

impl RecordSink for Nowhere {
    fn batch(&mut self, rows: Table) -> Result<(), SinkError> {
        self.rows += rows.rows();
        Ok(())
    }
}

/// A run on a number of threads.
struct Timed {
    wall_s: f64,
    hops: u64,
    hashes: Vec<String>,
    execution: Execution,
}

/// Measures a case on each of these numbers of threads, `rounds` times. `duration` replaces the
/// case's simulated time.
///
/// # Errors
/// If the case is unknown or fails, or its record depends on the number of threads.
pub fn curve(name: &str, threads: &[usize], rounds: usize, duration: Option<&str>) -> Result<Json, String> {
    if let Some(found) =
        large::with_scenario(name, |text, folder| run(name, text, folder, threads, rounds, duration))
    {
        return found?;
    }
    let (text, _) =
        sky::experiment(name).ok_or_else(|| "no such case with packets over a sky".to_string())?;
    run(name, &text, Path::new(""), threads, rounds, duration)
}

fn run(
    name: &str,
    text: &str,
    folder: &Path,
    threads: &[usize],
    rounds: usize,
    duration: Option<&str>,
) -> Result<Json, String> {
    let sets: Vec<String> = duration.iter().map(|d| format!("run.duration={d}")).collect();
    let scenario = Scenario::parse(text, name, folder, &sets).map_err(|e| e.to_string())?;
    let world = World::build(Arc::new(scenario), 1).map_err(|e| e.to_string())?;
    let mut runs: Vec<Vec<Timed>> = threads.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds.max(1) {
        for (of, &threads) in runs.iter_mut().zip(threads) {
            of.push(timed(&world, threads)?);
        }
    }
    let first = &runs.first().and_then(|r| r.first()).ok_or("no number of threads")?.hashes;
    if let Some(other) = runs.iter().flatten().find(|r| r.hashes != *first) {
        return Err(format!("{name}: the record on {} threads differs", other.execution.threads));
    }
    let rows: Vec<Json> = runs.iter().zip(threads).map(|(of, &n)| row(n, of, &runs[0])).collect();
    Ok(json!({ "name": name, "flows": world.flows.len(), "packet_hops": runs[0][0].hops, "threads": rows }))
}

fn timed(world: &World, threads: usize) -> Result<Timed, String> {
    let simulator = Simulator { threads, ..Simulator::default() };
    let mut rows = Nowhere { rows: 0 };
    let begin = Instant::now();
    let done = crate::record(world, "newreno", &simulator, &mut rows, None, &mut |_| true);
    let done = done.map_err(|e| e.to_string())?;
    let wall_s = begin.elapsed().as_secs_f64();
    let hashes = done.manifest.tables.values().map(|t| t.sha256.clone()).collect();
    let execution = simulator.execution.lock().expect("no panic").clone().ok_or("a run without execution")?;
    Ok(Timed { wall_s, hops: done.outcome.packet_hops.unwrap_or(0), hashes, execution })
}

/// Best time on a number of threads, the speed-up over the first number (median over the rounds of
/// the quotient within a round), and what bounds it.
fn row(threads: usize, of: &[Timed], single: &[Timed]) -> Json {
    let best = of.iter().map(|r| r.wall_s).fold(f64::INFINITY, f64::min);
    let mut ratios: Vec<f64> = single.iter().zip(of).map(|(one, many)| one.wall_s / many.wall_s).collect();
    ratios.sort_by(f64::total_cmp);
    let e = &of[0].execution;
    let events: u64 = e.events.iter().sum();
    json!({
        "threads": threads, "used": e.threads, "limit": e.limit, "wall_s": best,
        "speed_up": ratios[ratios.len() / 2], "windows": e.windows, "exchanged": e.exchanged,
        "in_turn": e.in_turn, "events": e.events,
        "bound": (e.threads > 1).then(|| events as f64 / e.critical.max(1) as f64),
    })
}
