// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Speed of one run by its number of threads, as `perigee bench --threads` prints it, without Python.
//!
//! `cargo run --release -p perigee-run --example threads -- CASE DURATION THREADS,THREADS ROUNDS`

use perigee_run::bench::threads::curve;

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [case, duration, threads, rounds] = &args[..] else {
        return Err("needs a case, a duration, numbers of threads and a number of rounds".into());
    };
    let number = |text: &str| text.parse::<usize>().map_err(|e| format!("{text}: {e}"));
    let threads: Vec<usize> = threads.split(',').map(number).collect::<Result<_, _>>()?;
    let found = curve(case, &threads, number(rounds)?, Some(duration))?;
    let each = found["threads"].as_array().into_iter().flatten();
    println!("{case} {duration}: {} flows, {} packet-hops", found["flows"], found["packet_hops"]);
    each.for_each(|row| println!("  {row}"));
    Ok(())
}
