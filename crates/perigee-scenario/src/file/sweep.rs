// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[sweep]`: keys of the scenario, each with a list of values.

use crate::file::error::Problem;
use crate::file::tree::{Axis, Raw, Sweep, Table};
use crate::file::write;

/// Key of the section that is no key of the scenario.
const ZIP: &str = "zip";

/// Reads the section: `port.bottleneck.queue = ["1 bdp", "4 bdp"]`, with or without quotes around
/// the key, and `zip`.
pub(crate) fn read(table: &Table, path: &str, out: &mut Vec<Problem>) -> Sweep {
    let entry = table.0.iter().find(|e| e.key == ZIP);
    let zip = match entry.map(|e| &e.item.value) {
        None => false,
        Some(Raw::Bool(zip)) => *zip,
        Some(other) => {
            let p = Problem::new(format!("{path}.{ZIP}"), "must be true or false").found(other.shown());
            out.extend(entry.map(|e| p.at(&e.item.place)));
            false
        }
    };
    let mut axes = Vec::new();
    let keys = table.0.iter().filter(|e| e.key != ZIP).cloned().collect();
    gather(&Table(keys), "", path, &mut axes, out);
    if zip {
        out.extend(unequal(&axes, path));
    } else {
        out.extend(axes.iter().filter_map(|a| repeated(a, path)));
    }
    Sweep { axes, zip }
}

/// Problem of the first key with another number of values than the first one.
fn unequal(axes: &[Axis], path: &str) -> Option<Problem> {
    let (first, others) = axes.split_first()?;
    let n = first.values.len();
    let other = others.iter().find(|a| a.values.len() != n)?;
    let why = format!(
        "{} values, but {} has {n}: zip = true requires equal numbers",
        other.values.len(),
        first.key
    );
    Some(Problem::new(format!("{path}.{}", other.key), why).at(&other.place))
}

fn repeated(axis: &Axis, path: &str) -> Option<Problem> {
    let (_, twice) = axis.values.iter().enumerate().find(|(i, v)| axis.values[..*i].contains(v))?;
    let problem = Problem::new(format!("{path}.{}", axis.key), "duplicate value");
    Some(problem.at(&axis.place).found(twice.clone()))
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
                let values = l.iter().map(write::one).collect();
                found.push(Axis { key, values, place: e.place.clone() });
            }
            other => out.push(problem("must be a list of values").found(other.shown())),
        }
    }
}

/// Warning about a sweep in a run that is not a sweep.
pub(crate) fn remark(sweep: &Sweep) -> Option<String> {
    let first = sweep.axes.first()?;
    Some(format!("{}: [sweep] has no effect in this command; use `perigee sweep`", first.place))
}
