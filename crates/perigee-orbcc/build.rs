// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Build script: compiles the C core with UndefinedBehaviorSanitizer, which aborts the process on
//! undefined behaviour.

use std::path::{Path, PathBuf};
use std::process::Command;

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(status.success(), "{command:?}: {status}");
}

fn main() {
    let here = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(std::env::var("OUT_DIR").expect("set by cargo"));
    let core = here.join("../../orbcc/core");
    let source = Path::new("src/core.c");
    println!("cargo:rerun-if-changed={}", source.display());
    println!("cargo:rerun-if-changed={}", core.display());
    println!("cargo:rerun-if-env-changed=CC");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let object = out.join("core.o");
    run(Command::new(compiler)
        .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-fPIC", "-c"])
        .args(["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"])
        .arg("-I")
        .arg(&core)
        .arg(source)
        .arg("-o")
        .arg(&object));
    let library = out.join("liborbcc_core.a");
    let _ = std::fs::remove_file(&library);
    run(Command::new("ar").arg("crs").arg(&library).arg(&object));
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=orbcc_core");
}
