// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every bundled scenario can be read and contains no key without effect.

use perigee_scenario::Scenario;
use std::path::{Path, PathBuf};

fn shipped(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
        match entry.extension().is_some_and(|e| e == "toml") {
            _ if entry.is_dir() => shipped(&entry, found),
            true => found.push(entry),
            false => {}
        }
    }
}

const LACKING: [(&str, &str); 2] = [("flow", "required key is missing"), ("source", "no source is given")];

#[test]
fn every_shipped_scenario_is_read_without_remarks() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in ["scenarios", "studies/perigee_studies/scenarios", "python/perigee_lab/templates"] {
        shipped(&root.join(folder), &mut files);
    }
    assert!(files.len() > 50, "{}", files.len());
    let mut wrong = Vec::new();
    for file in &files {
        match Scenario::load(file, &[]) {
            // A base for other files needs neither flows nor a source of its own.
            Err(e) if e.0.iter().all(|p| LACKING.contains(&(p.key.as_str(), p.message.as_str()))) => {}
            Err(e) => wrong.push(e.to_string()),
            Ok(s) => wrong.extend(s.remarks),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
