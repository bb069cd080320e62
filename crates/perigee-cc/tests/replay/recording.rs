// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Recordings of a kernel's calls: one line per call, each number as the difference from the line
//! above, compressed.

use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A call to a congestion control of the kernel: arguments, previous state of the connection,
/// result.
#[derive(Clone, Debug)]
pub struct Call {
    /// i: start, p: packets acknowledged, s: threshold requested, t: state, u: undo, e: event, a:
    /// window grows, c: full control.
    pub kind: char,
    values: Vec<i64>,
}

/// All calls for one connection.
pub struct Recording {
    /// Provenance, and parameters of a replay.
    pub facts: BTreeMap<String, String>,
    columns: BTreeMap<String, usize>,
    pub calls: Vec<Call>,
}

impl Recording {
    /// Reads a recording.
    pub fn read(path: &Path) -> Recording {
        let mut text = String::new();
        let file = File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        GzDecoder::new(file).read_to_string(&mut text).unwrap();
        let mut lines = text.lines();
        let mut facts = BTreeMap::new();
        let heads = loop {
            let line = lines.next().expect("a line of column names");
            match line.strip_prefix("# ").and_then(|l| l.split_once(" = ")) {
                Some((name, value)) => facts.insert(name.to_string(), value.to_string()),
                None => break line,
            };
        };
        let columns = heads.split(',').skip(1).enumerate().map(|(at, name)| (name.to_string(), at)).collect();
        let mut above = vec![0i64; heads.split(',').count() - 1];
        let calls = lines.map(|line| Call::after(&mut above, line)).collect();
        Recording { facts, columns, calls }
    }

    /// A value of a call, by its column's name.
    pub fn get(&self, call: &Call, column: &str) -> i64 {
        call.values[*self.columns.get(column).unwrap_or_else(|| panic!("no column {column}"))]
    }
}

impl Call {
    fn after(above: &mut [i64], line: &str) -> Call {
        let mut words = line.split(',');
        let kind = words.next().and_then(|w| w.chars().next()).expect("the kind of a call");
        for (value, word) in above.iter_mut().zip(words) {
            // Most numbers are equal to those of the line above.
            if !word.is_empty() {
                *value += word.parse::<i64>().expect("a number");
            }
        }
        Call { kind, values: above.to_vec() }
    }
}

/// The bundled recordings, or those of the folder in PERIGEE_RECORDINGS.
pub fn all() -> Vec<PathBuf> {
    let kept = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let folder = std::env::var_os("PERIGEE_RECORDINGS").map_or_else(kept, PathBuf::from);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut found: Vec<_> =
        entries.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|x| x == "gz")).collect();
    found.sort();
    found
}
