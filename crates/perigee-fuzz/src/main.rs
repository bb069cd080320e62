// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fuzzer that feeds damaged input to every parser and codec: none may panic or take long.
//!
//! ```sh
//! cargo run --release -p perigee-fuzz -- all 1000000       # every target, a million inputs each
//! cargo run --release -p perigee-fuzz -- scenario 5000 7   # one target, number of inputs, seed
//! ```
//!
//! Inputs are mutations of small valid ones (`targets.rs`), determined by the seed, so that
//! findings are reproducible. Inputs that cause a panic are written to
//! `crates/perigee-fuzz/found/TARGET-SEED-NUMBER`, and the exit code is 1.

#![expect(clippy::disallowed_methods, reason = "fuzzing reports its speed and finds hangs")]

mod mutate;

use mutate::Mutator;
use perigee_fuzz::{Target, TARGETS};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Processing time of an input above which it is a finding.
const SLOW: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let name = words.first().map_or("all", String::as_str);
    let number = |i: usize, usual: u64| words.get(i).map_or(Some(usual), |w| w.parse().ok());
    let (Some(count), Some(seed)) = (number(1, 10_000), number(2, 1)) else { return usage() };
    let chosen: Vec<&Target> = TARGETS.iter().filter(|t| name == "all" || t.name == name).collect();
    if chosen.is_empty() {
        return usage();
    }
    // Panics are reported below, once, with their input.
    std::panic::set_hook(Box::new(|_| {}));
    println!("{:<12}{:>12}{:>12}{:>12}{:>12}", "target", "inputs", "accepted", "found", "inputs/s");
    let found: u64 = chosen.into_iter().map(|t| fuzz(t, count, seed)).sum();
    ExitCode::from(u8::from(found > 0))
}

fn usage() -> ExitCode {
    let names: Vec<&str> = TARGETS.iter().map(|t| t.name).collect();
    eprintln!("usage: perigee-fuzz [TARGET [INPUTS [SEED]]], TARGET one of all, {}", names.join(", "));
    ExitCode::from(2)
}

/// Feeds a target; returns the number of findings.
fn fuzz(target: &Target, count: u64, seed: u64) -> u64 {
    let mut mutator = Mutator::new((target.seeds)(), seed);
    let (mut accepted, mut found) = (0u64, 0u64);
    let begin = Instant::now();
    for n in 0..count {
        let input = mutator.next();
        let since = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| (target.feed)(&input)));
        let slow = since.elapsed() > SLOW;
        accepted += u64::from(matches!(result, Ok(true)));
        if result.is_err() || slow {
            found += 1;
            keep(target, seed, n, &input, if slow { "took too long" } else { "panicked" });
        }
    }
    let rate = count as f64 / begin.elapsed().as_secs_f64().max(1e-9);
    println!("{:<12}{count:>12}{accepted:>12}{found:>12}{rate:>12.0}", target.name);
    found
}

fn keep(target: &Target, seed: u64, n: u64, input: &[u8], why: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("found");
    let file = folder.join(format!("{}-{seed}-{n}", target.name));
    match std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, input)) {
        Ok(()) => println!("{} {why}: {}", target.name, file.display()),
        Err(e) => println!("{} {why}, input {n} with seed {seed}; it cannot be written: {e}", target.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_fuzz::corpus;

    #[test]
    fn every_target_accepts_its_seeds_and_survives_a_few_thousand_mutations() {
        for target in TARGETS {
            for seed in (target.seeds)() {
                assert!((target.feed)(&seed), "{}: {:?}", target.name, String::from_utf8_lossy(&seed));
            }
            let mut mutator = Mutator::new((target.seeds)(), 99);
            for _ in 0..2_000 {
                let input = mutator.next();
                let fed = catch_unwind(AssertUnwindSafe(|| (target.feed)(&input)));
                assert!(fed.is_ok(), "{}: {:?}", target.name, String::from_utf8_lossy(&input));
            }
        }
    }

    #[test]
    fn every_input_of_the_corpus_is_survived() {
        for target in TARGETS {
            let bytes = std::fs::read(corpus::file(target.name)).unwrap_or_default();
            let inputs = corpus::split(&bytes);
            assert_eq!(corpus::join(&inputs), bytes, "{}: the file is damaged", target.name);
            assert!(inputs.len() > 1, "{}: `make coverage` writes the corpus", target.name);
            for input in inputs {
                let fed = catch_unwind(AssertUnwindSafe(|| (target.feed)(&input)));
                assert!(fed.is_ok(), "{}: {:?}", target.name, String::from_utf8_lossy(&input));
            }
        }
    }

    #[test]
    fn mutations_depend_on_the_seed_alone() {
        let made = |seed| {
            let mut m = Mutator::new(vec![b"duration = \"10 s\"".to_vec()], seed);
            (0..50).map(|_| m.next()).collect::<Vec<_>>()
        };
        assert_eq!(made(1), made(1));
        assert_ne!(made(1), made(2));
    }
}
