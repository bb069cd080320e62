// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiled module of the Python package `perigee`. Conversions only: `perigee-scenario` defines
//! the meaning of a run, `python/perigee_lab` that of its numbers.

#[cfg(not(all(feature = "hosts", feature = "learn")))]
mod absent;
mod backends;
#[cfg(feature = "hosts")]
mod capture;
mod congestion;
mod convert;
mod demand;
mod exchange;
#[cfg(feature = "hosts")]
mod hosts;
mod interrupt;
#[cfg(feature = "learn")]
mod learning;
mod plugins;
mod programs;
mod quantities;
mod runs;

mod sky;
mod timelines;

use perigee_scenario::schema;
use pyo3::prelude::*;
use serde_json::json;

/// Compiled core of the Perigee laboratory.
#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    let scenario_error = m.py().get_type::<runs::ScenarioError>();
    // `str()` yields only the message: the list of problems is for programs.
    scenario_error
        .setattr("__str__", m.py().eval(c"lambda e: str(e.args[0]) if e.args else ''", None, None)?)?;
    m.add("ScenarioError", scenario_error)?;
    m.add("RunError", m.py().get_type::<runs::RunError>())?;
    m.add("HostsError", m.py().get_type::<runs::HostsError>())?;
    m.add_class::<runs::Scenario>()?;
    m.add_class::<runs::World>()?;
    m.add_function(wrap_pyfunction!(backends::backends, m)?)?;
    m.add_class::<congestion::PyCx>()?;
    m.add_class::<congestion::PyWindow>()?;
    m.add_class::<congestion::PyAck>()?;
    m.add_class::<congestion::PyHop>()?;
    m.add_class::<sky::Sky>()?;
    m.add_class::<demand::Demand>()?;
    m.add_function(wrap_pyfunction!(demand::allocate, m)?)?;
    m.add_function(wrap_pyfunction!(sky::network_paths, m)?)?;
    m.add_class::<timelines::Timeline>()?;
    m.add_class::<plugins::SeenSatellite>()?;
    m.add_class::<plugins::AttachView>()?;
    m.add_class::<plugins::RouteView>()?;
    m.add_class::<plugins::IslView>()?;
    let close = wrap_pyfunction!(plugins::close_plugins, m)?;
    m.py().import("atexit")?.call_method1("register", (&close,))?;
    m.add_function(wrap_pyfunction!(plugins::ends_with, m)?)?;
    m.add_function(wrap_pyfunction!(plugins::plugin_threads, m)?)?;
    m.add_function(wrap_pyfunction!(json_schema, m)?)?;
    m.add_function(wrap_pyfunction!(quantities::quantity, m)?)?;
    m.add_function(wrap_pyfunction!(reference, m)?)?;
    m.add_function(wrap_pyfunction!(schemes, m)?)?;
    m.add_function(wrap_pyfunction!(states, m)?)?;
    m.add_function(wrap_pyfunction!(starts, m)?)?;
    m.add_class::<convert::TableHasher>()?;
    m.add_function(wrap_pyfunction!(convert::hash_table, m)?)?;
    m.add_function(wrap_pyfunction!(record_tables, m)?)?;
    m.add_function(wrap_pyfunction!(exchange::export, m)?)?;
    m.add_function(wrap_pyfunction!(exchange::import_state, m)?)?;
    m.add_function(wrap_pyfunction!(exchange::diff_timelines, m)?)?;
    m.add_function(wrap_pyfunction!(runs::bench_cases, m)?)?;
    m.add_function(wrap_pyfunction!(runs::bench, m)?)?;
    m.add_function(wrap_pyfunction!(runs::bench_threads, m)?)?;
    add_captures(m)?;
    add_learning(m)
}

#[cfg(feature = "hosts")]
fn add_captures(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(capture::import_capture, m)?)
}

#[cfg(not(feature = "hosts"))]
fn add_captures(m: &Bound<'_, PyModule>) -> PyResult<()> {
    absent::add(m, "captures", &["import_capture"])
}

#[cfg(feature = "learn")]
fn add_learning(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<learning::VecEnv>()?;
    m.add_class::<learning::Training>()?;
    m.add_class::<learning::Policy>()?;
    m.add_function(wrap_pyfunction!(learning::recipes, m)?)?;
    m.add_function(wrap_pyfunction!(learning::policies, m)?)?;
    m.add_function(wrap_pyfunction!(learning::bench_run, m)?)?;
    m.add_function(wrap_pyfunction!(learning::policy_rows, m)?)?;
    m.add_function(wrap_pyfunction!(learning::policy_row, m)?)?;
    m.add_function(wrap_pyfunction!(learning::bench_decisions, m)?)
}

#[cfg(not(feature = "learn"))]
fn add_learning(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let classes = ["VecEnv", "Training", "Policy"];
    let functions = ["recipes", "policies", "policy_rows", "policy_row", "bench_run", "bench_decisions"];
    absent::add(m, "learning", &[&classes[..], &functions[..]].concat())
}

/// JSON Schema of scenario files, as text.
#[pyfunction]
fn json_schema() -> String {
    schema::json_schema().to_string()
}

/// Reference of all keys, in Markdown.
#[pyfunction]
fn reference() -> String {
    schema::reference()
}

/// A row of a parameter table as JSON, with its default.
fn param(p: &perigee_scenario::cc::ParamSpec, default: &perigee_scenario::cc::Value) -> serde_json::Value {
    json!({
        "name": p.name,
        "default": default,
        "allowed": p.domain.allowed(),
        "unit": p.unit,
        "source": p.source,
        "help": p.help,
    })
}

/// All congestion controls as JSON: id, label, summary, parameters, the starts that they can have.
#[pyfunction]
fn schemes() -> String {
    let scheme = |s: &perigee_scenario::cc::SchemeInfo| {
        let defaults = s.defaults();
        let params: Vec<_> = s.params.iter().zip(&defaults).map(|(p, (_, value))| param(p, value)).collect();
        json!({"id": s.id, "label": s.label, "summary": s.summary, "params": params, "starts": s.starts()})
    };
    json!(perigee_scenario::cc::SCHEMES.iter().map(scheme).collect::<Vec<_>>()).to_string()
}

/// All starts as JSON: id, summary, source, parameters.
#[pyfunction]
fn starts() -> String {
    let start = |s: &perigee_scenario::cc::StartInfo| {
        let params: Vec<_> = s.params.iter().map(|p| param(p, &p.domain.default_value())).collect();
        json!({"id": s.id, "summary": s.summary, "source": s.source, "params": params})
    };
    json!(perigee_scenario::cc::STARTS.iter().map(start).collect::<Vec<_>>()).to_string()
}

/// Names of the states that built-in schemes report.
#[pyfunction]
fn states() -> Vec<&'static str> {
    perigee_scenario::cc::states::STATES.to_vec()
}

/// The tables of a record as JSON, in their order: name, help, columns (name, type, unit, when it
/// is null, help).
#[pyfunction]
fn record_tables() -> String {
    let column = |c: &perigee_record::tables::ColumnSpec| json!({"name": c.name, "type": c.kind(), "unit": c.unit(), "null": c.null, "help": c.help.trim()});
    let table = |t: &perigee_record::tables::TableSpec| {
        let columns: Vec<_> = t.columns.iter().map(column).collect();
        json!({"name": t.name, "help": t.help.trim(), "columns": columns})
    };
    json!(perigee_record::tables::record_tables().iter().map(table).collect::<Vec<_>>()).to_string()
}
