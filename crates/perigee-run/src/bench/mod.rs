// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The speed table: cases that print rates, never asserted as times.
//!
//! Packets count once per link that they cross, data and ACKs alike. Recording is on (a row each 100 ms), as in any
//! run, so that the numbers are those that a user gets.

mod acks;
mod captures;
pub mod sky;

use perigee_scenario::Scenario;
use perigee_scenario::World;
use serde::Serialize;
use serde_json::{json, Value as Json};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// A case of the benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Name in tables.
    pub name: &'static str,
    /// Scheme.
    pub cc: &'static str,
    /// The scenario.
    pub toml: &'static str,
    /// Overrides.
    pub sets: &'static [&'static str],
}

/// Ten links, 100 Mbit/s, 20 ms in all, 1 BDP.
const CHAIN: &str = r#"
[run]
duration = "60 s"
[source.chain]
links = 10
rtt = "20 ms"
[port.all]
rate = "100 Mbit"
queue = "1 bdp"
metered = false
[[flow]]
"#;

/// The chain with OrbCC's egress meter on every port.
const METERED_CHAIN: &str = r#"
[run]
duration = "60 s"
[source.chain]
links = 10
rtt = "20 ms"
[port.all]
rate = "100 Mbit"
queue = "1 bdp"
[[flow]]
"#;

/// Ten bottlenecks, a flow over all of them and cross traffic on each.
const PARKING_LOT: &str = r#"
[run]
duration = "20 s"
[source.parking_lot]
bottlenecks = 10
rtt = "20 ms"
[port.bottleneck]
rate = "100 Mbit"
[[flow]]
"#;

/// A hundred chains that share nothing: cache misses rule.
const DISJOINT: &str = r#"
[run]
duration = "2 s"
[source.chain]
links = 10
copies = 100
rtt = "20 ms"
[port.all]
rate = "100 Mbit"
metered = false
[[flow]]
"#;

/// Three links, one bottleneck.
const DUMBBELL: &str = r#"
[run]
duration = "100 s"
[source.dumbbell]
rtt = "50 ms"
[port.bottleneck]
rate = "100 Mbit"
[[flow]]
"#;

const fn case(
    name: &'static str,
    cc: &'static str,
    toml: &'static str,
    sets: &'static [&'static str],
) -> Case {
    Case { name, cc, toml, sets }
}

/// All cases.
pub const CASES: &[Case] = &[
    case("chain10-cubic-1", "cubic", CHAIN, &[]),
    case("chain10-cubic-10", "cubic", CHAIN, &["flow.0.count=10"]),
    case("chain10-cubic-100", "cubic", CHAIN, &["flow.0.count=100"]),
    case("chain10-bbr-1", "bbr", CHAIN, &[]),
    case("chain10-bbr-10", "bbr", CHAIN, &["flow.0.count=10"]),
    case("chain10-bbr-100", "bbr", CHAIN, &["flow.0.count=100"]),
    case("chain10-bbr3-1", "bbr3", CHAIN, &[]),
    case("chain10-bbr3-10", "bbr3", CHAIN, &["flow.0.count=10"]),
    case("chain10-leocc-1", "leocc", CHAIN, &[]),
    case("chain10-leocc-10", "leocc", CHAIN, &["flow.0.count=10"]),
    case("chain10-orbcc-1", "orbcc", METERED_CHAIN, &[]),
    case("chain10-orbcc-10", "orbcc", METERED_CHAIN, &["flow.0.count=10"]),
    case("parking-lot10-cubic", "cubic", PARKING_LOT, &[]),
    case("disjoint100-cubic", "cubic", DISJOINT, &[]),
    case("dumbbell-100M-cubic-1", "cubic", DUMBBELL, &[]),
    case(
        "dumbbell-1G-cubic-10",
        "cubic",
        DUMBBELL,
        &["port.bottleneck.rate=1 Gbit", "flow.0.count=10", "run.duration=20 s"],
    ),
];

/// Names of the cases that run unless others are named.
pub fn names() -> Vec<&'static str> {
    let experiments = sky::EXPERIMENTS.iter().filter(|e| e.1).map(|e| e.0);
    let skies = sky::SKIES.iter().copied();
    CASES.iter().map(|c| c.name).chain([acks::CASE, captures::CASE]).chain(skies).chain(experiments).collect()
}

/// Runs a case; what it measured as JSON.
///
/// # Errors
/// An unknown name, or a case that failed.
pub fn measure(name: &str) -> Result<Json, String> {
    if let Some(case) = CASES.iter().find(|c| c.name == name) {
        return Ok(json!(run(case.name)?));
    }
    if name == acks::CASE {
        return Ok(acks::measure());
    }
    if name == captures::CASE {
        return captures::measure();
    }
    if let Some((text, cc)) = sky::experiment(name) {
        return Ok(json!(simulate(name, sky::parse(&text, name)?, cc)?));
    }
    sky::sky(name).map_err(|e| format!("{e}; there are {}", names().join(", ")))
}

/// What a case measured.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Name of the case.
    pub name: String,
    /// Time that it took to build the world: nodes, first routes, queues.
    pub build_s: f64,
    /// Link crossings of all packets.
    pub packet_hops: u64,
    /// Events of the simulator.
    pub events: u64,
    /// Flows.
    pub flows: usize,
    /// Simulated time.
    pub simulated_s: f64,
    /// Wall time of the run alone.
    pub wall_s: f64,
    /// Memory of the simulator per flow.
    pub memory_per_flow_bytes: usize,
    /// The reported packet-hops are the sum of the link counters.
    pub hops_match_links: bool,
}

/// Runs a case.
///
/// # Errors
/// An unknown name, or a run that failed.
pub fn run(name: &str) -> Result<Measured, String> {
    let case = CASES
        .iter()
        .find(|c| c.name == name)
        .ok_or_else(|| format!("no case {name:?}; there are {}", names().join(", ")))?;
    let sets: Vec<String> = case.sets.iter().map(|s| s.to_string()).collect();
    let scenario = Scenario::parse(case.toml, case.name, Path::new(""), &sets).map_err(|e| e.to_string())?;
    simulate(case.name, scenario, case.cc)
}

fn simulate(name: &str, scenario: Scenario, cc: &str) -> Result<Measured, String> {
    let begin = Instant::now();
    let world = World::build(Arc::new(scenario), 1).map_err(|e| e.to_string())?;
    let build_s = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    let done = crate::run(&world, cc, &Default::default(), None, &mut |_| true).map_err(|e| e.to_string())?;
    let wall_s = begin.elapsed().as_secs_f64();
    let hops = done.outcome.packet_hops.unwrap_or(0);
    let crossed = done
        .tables
        .iter()
        .find(|t| t.name == "link_totals")
        .and_then(|t| t.columns.iter().find(|c| c.name == "crossed_packets"))
        .map_or(0, |c| match &c.values {
            perigee_record::Values::U64(v) => v.iter().sum(),
            _ => 0,
        });
    Ok(Measured {
        name: name.into(),
        build_s,
        packet_hops: hops,
        events: done.outcome.events.unwrap_or(0),
        flows: world.flows.len(),
        simulated_s: done.outcome.end_ns as f64 * 1e-9,
        wall_s,
        memory_per_flow_bytes: done.outcome.memory_per_flow_bytes.unwrap_or(0) as usize,
        hops_match_links: crossed == hops,
    })
}
