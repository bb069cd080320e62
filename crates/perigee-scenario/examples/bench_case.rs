// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs one case of the benchmark without Python: for profilers.
//!
//! ```text
//! CARGO_PROFILE_RELEASE_DEBUG=1 cargo build --release -p perigee-scenario --example bench_case
//! perf record target/release/examples/bench_case chain10-bbr-10
//! valgrind --tool=callgrind target/release/examples/bench_case chain10-bbr-10
//! ```

use perigee_scenario::bench;

fn main() -> Result<(), String> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let all = || bench::CASES.iter().map(|c| c.name.to_string()).collect();
    for name in if names.is_empty() { all() } else { names } {
        let m = bench::run(&name)?;
        let rate = m.packet_hops as f64 / m.wall_s;
        println!("{:<24}{:>12} packet-hops {:>8.2} million/s", m.name, m.packet_hops, rate / 1e6);
    }
    Ok(())
}
