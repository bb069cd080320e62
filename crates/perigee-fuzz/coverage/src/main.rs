// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Coverage-guided fuzzer of the targets of `perigee-fuzz`, on libFuzzer. `tests/fuzz_coverage.py`
//! builds and starts it; `PERIGEE_FUZZ_TARGET` is the target's name. Without an argument it lists the
//! targets, and `--seeds FOLDER` writes the valid inputs of the target as files.
#![no_main]

use libfuzzer_sys::fuzz_target;
use perigee_fuzz::{corpus, Target, TARGETS};
use std::path::Path;
use std::sync::OnceLock;

static TARGET: OnceLock<&'static Target> = OnceLock::new();

fuzz_target!(init: start(), |data: &[u8]| {
    TARGET.get().map(|target| (target.feed)(data));
});

fn start() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.is_empty() {
        TARGETS.iter().for_each(|t| println!("{}", t.name));
        std::process::exit(0);
    }
    let name = std::env::var("PERIGEE_FUZZ_TARGET").unwrap_or_default();
    let Some(target) = TARGETS.iter().find(|t| t.name == name) else {
        eprintln!("PERIGEE_FUZZ_TARGET is {name:?}: no target");
        std::process::exit(2);
    };
    if let [flag, folder] = &words[..] {
        if flag == "--seeds" {
            write_seeds(target, Path::new(folder));
            std::process::exit(0);
        }
    }
    TARGET.get_or_init(|| target);
}

fn write_seeds(target: &Target, folder: &Path) {
    let kept = std::fs::read(corpus::file(target.name)).unwrap_or_default();
    for (n, input) in (target.seeds)().into_iter().chain(corpus::split(&kept)).enumerate() {
        std::fs::write(folder.join(format!("seed{n}")), input).expect("a folder that can be written to");
    }
}
