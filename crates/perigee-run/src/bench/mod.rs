// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Speed table: cases that print rates; times are never asserted.
//!
//! Packets, data and ACKs alike, count once per link crossed. Recording is on (a row every 100 ms),
//! as in any run, so that the numbers are those that a user gets.

#![expect(clippy::disallowed_methods, reason = "measures wall-clock time")]

mod acks;
#[cfg(feature = "hosts")]
mod captures;
mod cases;
mod large;
pub mod sky;
pub mod threads;

pub use cases::{Case, CASES, PEERS};

use perigee_scenario::Scenario;
use perigee_scenario::World;
use serde::Serialize;
use serde_json::{json, Value as Json};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The case that imports captures.
const CAPTURES: &str = "import-capture";

/// Names of the cases that run by default.
pub fn names() -> Vec<&'static str> {
    let experiments = sky::EXPERIMENTS.iter().filter(|e| e.1).map(|e| e.0);
    let skies = sky::SKIES.iter().copied();
    let captures = cfg!(feature = "hosts").then_some(CAPTURES);
    CASES.iter().map(|c| c.name).chain([acks::CASE]).chain(captures).chain(skies).chain(experiments).collect()
}

/// Runs a case; returns its measurements as JSON.
///
/// # Errors
/// If the name is unknown, or the case fails.
pub fn measure(name: &str) -> Result<Json, String> {
    if find(name).is_some() {
        return Ok(json!(run(name)?));
    }
    if name == acks::CASE {
        return Ok(acks::measure());
    }
    #[cfg(feature = "hosts")]
    if name == CAPTURES {
        return captures::measure();
    }
    if let Some(found) = large::measure(name) {
        return found;
    }
    if let Some((text, cc)) = sky::experiment(name) {
        return Ok(json!(simulate(name, sky::parse(&text, name)?, cc, false)?));
    }
    sky::sky(name).map_err(|e| format!("{e}; there are {}", names().join(", ")))
}

/// Measurements of a case.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Name of the case.
    pub name: String,
    /// Time to build the world: nodes, first routes, queues.
    pub build_s: f64,
    /// Link crossings of all packets.
    pub packet_hops: u64,
    /// Data packets sent by flows.
    pub data_packets: u64,
    /// Events of the simulator.
    pub events: u64,
    /// Number of flows.
    pub flows: usize,
    /// Simulated time.
    pub simulated_s: f64,
    /// Wall-clock time of the run alone.
    pub wall_s: f64,
    /// Memory of the simulator per flow.
    pub memory_per_flow_bytes: usize,
    /// Whether the reported packet-hops equal the sum of the link counters.
    pub hops_match_links: bool,
    /// One word for the hashes of all tables: equal if two builds yield identical results.
    pub tables: String,
}

/// A case that is a scenario.
fn find(name: &str) -> Option<&'static Case> {
    CASES.iter().chain(PEERS).find(|c| c.name == name)
}

/// Runs a case.
///
/// # Errors
/// If the name is unknown, or the run fails.
pub fn run(name: &str) -> Result<Measured, String> {
    let case = find(name).ok_or_else(|| format!("no case {name:?}; there are {}", names().join(", ")))?;
    let sets: Vec<String> = case.sets.iter().map(|s| s.to_string()).collect();
    let scenario = Scenario::parse(case.toml, case.name, Path::new(""), &sets).map_err(|e| e.to_string())?;
    simulate(case.name, scenario, case.cc, case.capture)
}

fn simulate(name: &str, scenario: Scenario, cc: &str, capture: bool) -> Result<Measured, String> {
    let begin = Instant::now();
    let world = World::build(Arc::new(scenario), 1).map_err(|e| e.to_string())?;
    let build_s = begin.elapsed().as_secs_f64();
    let pcap = capture.then_some(Path::new("/dev/null"));
    let begin = Instant::now();
    let done = crate::run(&world, cc, &Default::default(), pcap, &mut |_| true).map_err(|e| e.to_string())?;
    let wall_s = begin.elapsed().as_secs_f64();
    let hops = done.outcome.packet_hops.unwrap_or(0);
    let sum = |table: &str, column: &str| {
        let column = done
            .tables
            .iter()
            .find(|t| t.name == table)
            .and_then(|t| t.columns.iter().find(|c| c.name == column));
        column.map_or(0, |c| match &c.values {
            perigee_record::Values::U64(v) => v.iter().sum(),
            _ => 0,
        })
    };
    Ok(Measured {
        name: name.into(),
        build_s,
        packet_hops: hops,
        data_packets: sum("flow_totals", "data_sent"),
        events: done.outcome.events.unwrap_or(0),
        flows: world.flows.len(),
        simulated_s: done.outcome.end.as_secs_f64(),
        wall_s,
        memory_per_flow_bytes: done.outcome.memory_per_flow_bytes.unwrap_or(0) as usize,
        hops_match_links: sum("link_totals", "crossed_packets") == hops,
        tables: word_of(done.manifest.tables.iter().map(|(name, t)| (*name, t.sha256.as_str()))),
    })
}

/// FNV-1a over names and hashes.
fn word_of<'a>(tables: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let bytes = tables.flat_map(|(name, hash)| name.bytes().chain(hash.bytes()));
    let word = bytes.fold(0xCBF2_9CE4_8422_2325_u64, |word, byte| {
        (word ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    });
    format!("{word:016x}")
}
