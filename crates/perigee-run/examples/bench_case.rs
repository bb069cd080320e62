// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs one benchmark case without Python, for use with profilers. With `--json` it prints all
//! measurements.
//!
//! ```text
//! CARGO_PROFILE_RELEASE_DEBUG=1 cargo build --release -p perigee-run --example bench_case
//! perf record target/release/examples/bench_case chain10-bbr-10
//! valgrind --tool=callgrind target/release/examples/bench_case chain10-bbr-10
//! ```

use perigee_run::bench;

fn main() -> Result<(), String> {
    let (flags, names): (Vec<_>, Vec<String>) = std::env::args().skip(1).partition(|word| word == "--json");
    let all = || bench::names().into_iter().map(String::from).collect();
    for name in if names.is_empty() { all() } else { names } {
        let m = bench::measure(&name)?;
        if !flags.is_empty() {
            println!("{m}");
            continue;
        }
        match (m["packet_hops"].as_u64(), m["wall_s"].as_f64()) {
            (Some(hops), Some(wall_s)) => {
                let rate = hops as f64 / wall_s / 1e6;
                let tables = m["tables"].as_str().unwrap_or("");
                println!("{name:<24}{hops:>12} packet-hops {rate:>8.2} million/s  tables {tables}");
            }
            _ => println!("{name:<24}{m}"),
        }
    }
    Ok(())
}
