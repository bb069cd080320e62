// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Networks over time to and from files.

use crate::interrupt::interruptible;
use crate::runs::{wrong, RunError, Scenario};
use perigee_scenario::exchange::{self, Names};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Exports a scenario's network: `what` is "timeline", "hypatia" or "leoem". Returns warnings.
#[pyfunction]
#[pyo3(signature = (scenario, what, out, ends, seed=None))]
pub fn export(
    py: Python<'_>,
    scenario: &Scenario,
    what: String,
    out: PathBuf,
    ends: Vec<(String, String)>,
    seed: Option<u64>,
) -> PyResult<Vec<String>> {
    let (s, seed) = (scenario.0.clone(), seed.unwrap_or(scenario.0.run.seed));
    let asked = what.clone();
    let done = interruptible(py, move || match asked.as_str() {
        "timeline" => Some(exchange::export_timeline(&s, seed, &out)),
        "hypatia" => Some(exchange::export_hypatia(&s, seed, &out)),
        "leoem" => Some(exchange::export_leoem(&s, &ends, seed, &out)),
        _ => None,
    })?;
    done.ok_or_else(|| PyValueError::new_err(format!("there is no export as {what:?}")))?
        .map_err(|e| wrong(&e))
}

/// Reads another tool's state and writes it as a timeline: `what` is "hypatia" or "leoem".
#[pyfunction]
#[pyo3(signature = (what, source, out, ends, dynamic=None))]
pub fn import_state(
    py: Python<'_>,
    what: String,
    source: PathBuf,
    out: PathBuf,
    ends: Vec<(String, String)>,
    dynamic: Option<String>,
) -> PyResult<()> {
    let asked = what.clone();
    let done = interruptible(py, move || match asked.as_str() {
        "hypatia" => Some(exchange::import_hypatia(&source, dynamic.as_deref(), &ends, &out)),
        "leoem" => Some(exchange::import_leoem(&source, &out)),
        _ => None,
    })?;
    done.ok_or_else(|| PyValueError::new_err(format!("there is no import of {what:?}")))?
        .map_err(RunError::new_err)
}

/// Compares two saved timelines, with the nodes of both `renamed`, and with node number n named
/// like a satellite of a `shell` of planes and slots. Returns JSON.
#[pyfunction]
#[pyo3(signature = (a, b, step_ns, tolerance_ns, renamed, shell=None))]
pub fn diff_timelines(
    py: Python<'_>,
    a: PathBuf,
    b: PathBuf,
    step_ns: u64,
    tolerance_ns: u64,
    renamed: BTreeMap<String, String>,
    shell: Option<(u32, u32)>,
) -> PyResult<String> {
    let names = Names { renamed, shell };
    let found = interruptible(py, move || {
        exchange::diff_files([&a, &b], &names, step_ns, tolerance_ns).map(|json| json.to_string())
    })?;
    found.map_err(RunError::new_err)
}
