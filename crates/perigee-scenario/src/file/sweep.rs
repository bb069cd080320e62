// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[sweep]`: keys of the scenario, each with a list of values.

use crate::file::error::Problem;
use crate::file::tree::{Axis, Raw, Table};
use crate::file::write;

/// Reads the section: `port.bottleneck.queue = ["1 bdp", "4 bdp"]`, with or without quotes around
/// the key.
pub(crate) fn read(table: &Table, path: &str, out: &mut Vec<Problem>) -> Vec<Axis> {
    let mut found = Vec::new();
    gather(table, "", path, &mut found, out);
    found
}

fn gather(table: &Table, prefix: &str, path: &str, found: &mut Vec<Axis>, out: &mut Vec<Problem>) {
    for e in &table.0 {
        // A quoted key is a full key at the top level, and one part of a key below it.
        let part =
            if prefix.is_empty() || !e.key.contains('.') { e.key.clone() } else { format!("{:?}", e.key) };
        let key = if prefix.is_empty() { part } else { format!("{prefix}.{part}") };
        let problem = |why: &str| Problem::new(format!("{path}.{key}"), why).at(&e.item.place);
        match &e.item.value {
            Raw::Table(t) => gather(t, &key, path, found, out),
            Raw::List(l) if l.is_empty() => out.push(problem("the list of values is empty")),
            Raw::List(l) => {
                let values: Vec<String> = l.iter().map(write::one).collect();
                match values.iter().enumerate().find(|(i, v)| values[..*i].contains(v)) {
                    Some((_, twice)) => out.push(problem("a value is given twice").found(twice.clone())),
                    None => found.push(Axis { key, values, place: e.place.clone() }),
                }
            }
            other => out.push(problem("must be a list of values").found(other.shown())),
        }
    }
}

/// Warning about a sweep in a run that is not a sweep.
pub(crate) fn remark(sweep: &[Axis]) -> Option<String> {
    let first = sweep.first()?;
    Some(format!(
        "{}: [sweep] is for `perigee sweep`; this runs the scenario as it is without it",
        first.place
    ))
}
