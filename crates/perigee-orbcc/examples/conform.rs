// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Conformance of the C core with the reference.
//!
//! ```text
//! cargo run --release -p perigee-orbcc --example conform -- scenarios [SECONDS]
//! cargo run --release -p perigee-orbcc --example conform -- fuzz ACKS [SEED]
//! ```

use perigee_orbcc::fuzz::{self, Echo};
use perigee_orbcc::Report;

#[path = "../tests/scenarios/mod.rs"]
mod scenarios;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: u64| words.get(i).map_or(default, |w| w.parse().expect("a number"));
    let agrees = match words.first().map(String::as_str) {
        Some("fuzz") => all_fuzz(number(1, 1_000_000), number(2, 1)),
        Some("scenarios") => all_scenarios(number(1, 1_000_000)),
        _ => panic!("the first argument is fuzz or scenarios"),
    };
    std::process::exit(i32::from(!agrees));
}

fn all_fuzz(acks: u64, seed: u64) -> bool {
    println!("{:<34}{} echoes apart", "echo", Report::head());
    let runs: Vec<_> = [Echo::Full, Echo::Bottleneck, Echo::Pint]
        .map(|echo| std::thread::spawn(move || (echo, fuzz::run(seed, acks / 3, echo))))
        .into_iter()
        .collect();
    let mut agrees = true;
    for run in runs {
        let (echo, (report, apart)) = run.join().expect("no run fails");
        println!("{:<34}{} {apart}", format!("{echo:?}"), report.line());
        report.examples.iter().for_each(|e| println!("    {e}"));
        agrees &= report.agrees() && apart == 0;
    }
    agrees
}

fn all_scenarios(seconds: u64) -> bool {
    println!("{:<34}{}", "scenario", Report::head());
    let mut agrees = true;
    for case in scenarios::all() {
        let report = scenarios::run(&case, seconds);
        println!("{:<34}{}", case.name, report.line());
        report.examples.iter().for_each(|e| println!("    {e}"));
        agrees &= report.agrees() && report.compared > 0;
    }
    agrees
}
