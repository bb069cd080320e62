// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Paths and commands of tests that compile programs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A file of this crate.
pub fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Runs a command that must succeed, and returns its output.
pub fn run(command: &mut Command) -> String {
    let done = command.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{command:?}\n{out}{err}");
    out.into_owned()
}
