// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Speed of one run on several threads, compared with one thread in the same process.
//!
//! `cargo run --release -p perigee-run --example threads -- CASE DURATION THREADS ROUNDS`
#![expect(clippy::disallowed_methods, reason = "measures wall-clock time")]

use perigee_record::{Collector, Table};
use perigee_run::bench::sky;
use perigee_run::Simulator;
use perigee_scenario::{Scenario, World};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize| args[i].parse::<usize>().map_err(|e| e.to_string());
    let (text, cc) = sky::experiment(&args[0]).ok_or("no such case")?;
    let sets = [format!("run.duration={}", args[1])];
    let scenario = Scenario::parse(&text, &args[0], Path::new(""), &sets).map_err(|e| e.to_string())?;
    let world = World::build(Arc::new(scenario), 1).map_err(|e| e.to_string())?;
    for round in 0..number(3)? {
        for threads in [1, number(2)?] {
            let simulator = Simulator { threads, ..Simulator::default() };
            let (begin, cpu) = (Instant::now(), cpu_s());
            let mut rows = Collector::default();
            let done = perigee_run::record(&world, cc, &simulator, &mut rows, None, &mut |_| true);
            let done = done.map_err(|e| e.to_string())?;
            let (wall, cpu) = (begin.elapsed().as_secs_f64(), cpu_s() - cpu);
            let hops = done.outcome.packet_hops.unwrap_or(0);
            let hashes: Vec<_> = done.manifest.tables.values().map(|t| t.sha256[..6].to_string()).collect();
            let tables: Vec<Table> = rows.finish();
            let execution = simulator.execution.lock().expect("no panic").clone();
            println!(
                "{round} threads {threads} wall {wall:.2} cpu {cpu:.2} hops {hops} {:.2} M/s tables {} {} {execution:?}",
                hops as f64 / wall / 1e6,
                tables.len(),
                hashes.join("")
            );
        }
    }
    Ok(())
}

/// CPU time of this process, in seconds.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}
