// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scenarios, worlds and runs. The interpreter lock is released while Rust works.

#![expect(clippy::disallowed_methods, reason = "intervals between progress reports and signals")]

use crate::backends::{chosen, unusable};
use crate::congestion::{self, Failure};
use crate::interrupt::interruptible;
use crate::programs::{self, Programs};
use crate::{convert, plugins};
use perigee_record::{Collector, RecordSink, SinkError, Table};
use perigee_run::{bench as benches, RunError as Failed};
use perigee_scenario::estimate;
use perigee_scenario::survey;
use perigee_scenario::units::Nanos;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

create_exception!(
    perigee_lab,
    ScenarioError,
    PyValueError,
    "A scenario is wrong; the second argument lists the problems as JSON."
);
create_exception!(perigee_lab, RunError, PyRuntimeError, "A run failed.");
create_exception!(perigee_lab, HostsError, RunError, "Real hosts of a run did not come up, or ended.");

/// Interval between calls of the progress callback: short enough for display and Ctrl-C, but too
/// long to cost anything.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);

pub(crate) fn wrong(e: &perigee_scenario::ScenarioError) -> PyErr {
    ScenarioError::new_err((e.to_string(), json!(e).to_string()))
}

/// A checked scenario.
#[pyclass(frozen, module = "perigee_lab._core")]
pub struct Scenario(pub(crate) Arc<perigee_scenario::Scenario>);

#[pymethods]
impl Scenario {
    /// Reads and checks a file; `sets`: overrides `key=value`; `functions`: those that its source
    /// names in memory.
    #[staticmethod]
    #[pyo3(signature = (path, sets, functions=None))]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        sets: Vec<String>,
        functions: Option<Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let scenario = perigee_scenario::Scenario::load(&path, &sets).map_err(|e| wrong(&e))?;
        Ok(Scenario(Arc::new(plugins::load(py, scenario, functions.as_ref()).map_err(|e| wrong(&e))?)))
    }

    /// Reads and checks text.
    #[staticmethod]
    #[pyo3(signature = (text, name, folder, sets, functions=None))]
    fn parse(
        py: Python<'_>,
        text: &str,
        name: &str,
        folder: PathBuf,
        sets: Vec<String>,
        functions: Option<Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let scenario =
            perigee_scenario::Scenario::parse(text, name, &folder, &sets).map_err(|e| wrong(&e))?;
        Ok(Scenario(Arc::new(plugins::load(py, scenario, functions.as_ref()).map_err(|e| wrong(&e))?)))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }
    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }
    #[getter]
    fn duration_ns(&self) -> u64 {
        self.0.run.duration.0
    }
    #[getter]
    fn sample_ns(&self) -> u64 {
        self.0.run.sample.0
    }
    #[getter]
    fn seed(&self) -> u64 {
        self.0.run.seed
    }
    #[getter]
    fn runs(&self) -> u64 {
        self.0.run.runs
    }
    #[getter]
    fn toml(&self) -> &str {
        &self.0.resolved_toml
    }
    #[getter]
    fn files(&self) -> Vec<PathBuf> {
        self.0.files.clone()
    }
    /// About the file itself: keys without effect, former names.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.remarks.clone()
    }

    /// Programs of the scenario: see `programs.rs`.
    #[getter]
    fn programs(&self) -> Vec<programs::OneProgram> {
        programs::of(&self.0)
    }

    /// Names of the plug-ins that the scenario requests.
    fn plugins(&self) -> Vec<String> {
        self.0.plugins()
    }

    /// Whether the network consists of its own moving satellites.
    #[getter]
    fn has_sky(&self) -> bool {
        survey::has_sky(&self.0)
    }

    /// Whether it has flows: without any, it has a demand only.
    #[getter]
    fn has_flows(&self) -> bool {
        !self.0.flows.is_empty()
    }

    /// `[sweep]`: keys, with their values in TOML and their place.
    fn sweep(&self) -> Vec<(String, Vec<String>, String)> {
        self.0.sweep.axes.iter().map(|a| (a.key.clone(), a.values.clone(), a.place.to_string())).collect()
    }

    /// Whether the n-th values of all keys of `[sweep]` belong together.
    fn sweep_zip(&self) -> bool {
        self.0.sweep.zip
    }

    /// `[[expect]]`: the keys of each with their values in SI units, as JSON.
    fn expectations(&self) -> String {
        self.0
            .expect
            .iter()
            .map(perigee_scenario::file::expect::Expect::as_json)
            .collect::<serde_json::Value>()
            .to_string()
    }

    /// `[case]`: source, purpose, whether it is among the quick ones, and names of states.
    fn case(&self) -> (Option<String>, Option<String>, bool, Vec<String>) {
        let c = &self.0.case;
        (c.source.clone(), c.purpose.clone(), c.quick, c.states.clone())
    }

    /// `[cc.CLASS]` of Python classes: class, parameter, value in JSON, and its place.
    fn class_params(&self) -> Vec<(String, String, String, String)> {
        let foreign = self.0.cc.iter().filter(|(name, _)| perigee_scenario::cc::info(name).is_none());
        let rows = foreign.flat_map(|(class, given)| {
            given.iter().map(|(name, (value, place))| {
                (class.clone(), name.clone(), in_json(value).to_string(), place.to_string())
            })
        });
        rows.collect()
    }

    /// The schemes to compare, given the requested ones, which may include those of the hosts of
    /// `backend` (see `World.run`).
    #[pyo3(signature = (asked, backend=None))]
    fn schemes(&self, asked: Vec<String>, backend: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<String>> {
        let of_hosts = chosen(backend)?.schemes().map_err(unusable)?;
        let (others, distinct): (Vec<_>, Vec<_>) = of_hosts.into_iter().map(|s| (s.on_host, s.name)).unzip();
        let asked = if !others.is_empty() && self.wants_all(&asked) { distinct } else { asked };
        self.0.schemes_with(&asked, &others).map_err(|e| wrong(&e))
    }

    /// The network and flows of one seed.
    fn world(&self, py: Python<'_>, seed: u64) -> PyResult<World> {
        let scenario = self.0.clone();
        let world = interruptible(py, move || perigee_scenario::World::build(scenario, seed))?;
        Ok(World(Arc::new(world.map_err(|e| wrong(&e))?)))
    }
}

impl Scenario {
    /// Whether all available schemes are requested.
    fn wants_all(&self, asked: &[String]) -> bool {
        let named = if asked.is_empty() { &self.0.run.cc } else { asked };
        named.iter().any(|name| name == "all")
    }
}

/// The value of a parameter.
fn in_json(value: &perigee_scenario::cc::Value) -> serde_json::Value {
    use perigee_scenario::cc::Value;
    match value {
        Value::Bool(b) => json!(b),
        Value::Int(i) => json!(i),
        Value::Float(x) => json!(x),
        Value::Text(t) => json!(t),
    }
}

/// A scenario with one seed.
#[pyclass(frozen, module = "perigee_lab._core")]
pub struct World(pub(crate) Arc<perigee_scenario::World>);

#[pymethods]
impl World {
    /// Checks that every flow can run under `cc`, given the classes of plug-ins by name.
    #[pyo3(signature = (cc, plugins=None, backend=None))]
    fn check(
        &self,
        cc: &str,
        plugins: Option<&Bound<'_, PyDict>>,
        backend: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let plugins = classes(plugins, &Arc::default())?;
        let backend = chosen(backend)?.make(&self.0, &plugins).map_err(unusable)?;
        perigee_run::check(&self.0, cc, backend.as_ref()).map_err(failed)
    }

    /// Announces that only one run will use this network: the chunks of the timeline that it has
    /// read are not kept for others.
    fn expect_one_run(&self) {
        self.0.timeline.expect_one_reader();
    }

    /// Estimate of (packet-hops, seconds of one core) with `backend` (see `World.run`).
    #[pyo3(signature = (backend=None))]
    fn estimate(&self, backend: Option<&Bound<'_, PyDict>>) -> PyResult<(f64, f64)> {
        let e = estimate::estimate(&self.0);
        let backend = chosen(backend)?.entry;
        Ok((e.packet_hops, e.cpu_s + e.tcp_packets * backend.cpu_s_per_tcp_packet))
    }

    /// Names of the flows that real hosts carry under `cc`.
    fn real_flows(&self, cc: &str, backend: &Bound<'_, PyDict>) -> PyResult<Vec<String>> {
        let backend = chosen(Some(backend))?.make(&self.0, &Default::default()).map_err(unusable)?;
        let workload = perigee_run::workload(&self.0, cc, backend.as_ref()).map_err(|e| wrong(&e))?;
        let setups = backend.setups(&self.0.header, &workload).map_err(unusable)?;
        Ok(setups.iter().filter(|s| s.outside.source).map(|s| s.name.clone()).collect())
    }

    /// Nodes, ports, flows and warnings, as JSON.
    fn describe(&self) -> String {
        let flow = |f: &perigee_scenario::FlowPlan| {
            json!({
                "name": f.name, "from": f.pair.from, "to": f.pair.to,
                "base_rtt_ns": f.base_rtt.map(|r| r.0), "hops": f.hops,
                "cc": f.cc(), "app": f.app(), "start_ns": f.start.0, "stop_ns": f.stop.0,
            })
        };
        json!({
            "nodes": self.0.header.nodes.len(),
            "ports": self.0.ports,
            "flows": self.0.flows.iter().map(flow).collect::<Vec<_>>(),
            "report": self.0.report,
            "warnings": self.0.warnings,
        })
        .to_string()
    }

    /// Runs under `cc`. Returns the manifest (JSON), the tables, and whether the run was stopped.
    /// `progress` is called a few times a second with the simulated time in nanoseconds, and stops
    /// the run by returning False. `plugins` contains the classes of plug-ins by name; the first
    /// exception in one of them ends the run. `batches` is called with the name of a table and
    /// further rows of it, as they are produced: no tables are then kept, and memory does not grow
    /// with time. `backend` is a dictionary with the backend's name and its options; default: the
    /// simulator. `programs` run on its hosts: see `programs.rs`.
    #[pyo3(signature = (cc, pcap=None, progress=None, plugins=None, batches=None, backend=None, programs=None))]
    #[allow(clippy::too_many_arguments)] // keywords in Python
    fn run<'py>(
        &self,
        py: Python<'py>,
        cc: &str,
        pcap: Option<PathBuf>,
        progress: Option<Py<PyAny>>,
        plugins: Option<&Bound<'py, PyDict>>,
        batches: Option<Py<PyAny>>,
        backend: Option<&Bound<'_, PyDict>>,
        programs: Option<Programs>,
    ) -> PyResult<(String, Bound<'py, PyDict>, bool)> {
        let world = self.0.clone();
        let failure = Arc::new(Failure::default());
        let plugins = classes(plugins, &failure)?;
        let choice = chosen(backend)?;
        #[cfg(feature = "hosts")]
        let choice = perigee_run::backends::Choice {
            programs: programs.map(crate::hosts::on_hosts).unwrap_or_default(),
            ..choice
        };
        #[cfg(not(feature = "hosts"))]
        drop(programs); // backends with hosts refuse to run
        let mut reporter = Reporter { call: progress, last: Instant::now(), error: None };
        let mut kept = Collector::default();
        let mut handed = batches.map(|call| Batches { call, error: None });
        let result = py.detach(|| {
            let rows: &mut dyn RecordSink = match &mut handed {
                Some(batches) => batches,
                None => &mut kept,
            };
            let backend = choice.make(&world, &plugins)?;
            let mut go_on = |now| !failure.happened() && reporter.go_on(now);
            let done = perigee_run::record(&world, cc, backend.as_ref(), rows, pcap.as_deref(), &mut go_on)?;
            Ok((done, backend.notes()))
        });
        if let Some(e) = failure.take(py).or(reporter.error).or(handed.as_mut().and_then(|b| b.error.take()))
        {
            return Err(e);
        }
        let (done, notes) = result.map_err(failed)?;
        for note in notes {
            py.import("sys")?.getattr("stderr")?.call_method1("write", (note + "\n",))?;
        }
        let tables = if handed.is_some() { Vec::new() } else { kept.finish() };
        Ok((json!(done.manifest).to_string(), convert::tables(py, tables)?, done.outcome.stopped))
    }

    /// Packets of flow `flow` between two times, with the time series and events until then: tables
    /// by name.
    #[pyo3(signature = (cc, flow, from_ns, to_ns, plugins=None))]
    fn trace<'py>(
        &self,
        py: Python<'py>,
        cc: &str,
        flow: u32,
        from_ns: u64,
        to_ns: u64,
        plugins: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let world = self.0.clone();
        let failure = Arc::new(Failure::default());
        let plugins = classes(plugins, &failure)?;
        let mut reporter = Reporter { call: None, last: Instant::now(), error: None };
        let window = perigee_run::TraceWindow { flow, from: Nanos(from_ns), to: Nanos(to_ns) };
        let result = py.detach(|| {
            perigee_run::trace(&world, cc, &plugins, window, &mut |now| {
                !failure.happened() && reporter.go_on(now)
            })
        });
        if let Some(e) = failure.take(py).or(reporter.error) {
            return Err(e);
        }
        convert::tables(py, result.map_err(failed)?)
    }
}

pub(crate) fn failed(e: Failed) -> PyErr {
    match e {
        Failed::Scenario(e) => wrong(&e),
        Failed::Failed(why) => RunError::new_err(why),
        Failed::Hosts(why) => HostsError::new_err(why),
    }
}

fn classes(given: Option<&Bound<'_, PyDict>>, failure: &Arc<Failure>) -> PyResult<perigee_run::Plugins> {
    given.map_or_else(|| Ok(Default::default()), |classes| congestion::plugins(classes, failure))
}

/// Passes rows to Python as they are produced.
pub(crate) struct Batches {
    pub(crate) call: Py<PyAny>,
    /// First exception of the call, which ends the run.
    pub(crate) error: Option<PyErr>,
}

impl RecordSink for Batches {
    fn batch(&mut self, rows: Table) -> Result<(), SinkError> {
        let name = rows.name;
        let called = Python::attach(|py| self.call.call1(py, (name, convert::table(py, rows)?)).map(|_| ()));
        called.map_err(|e| {
            let why = SinkError(e.to_string());
            self.error = Some(e);
            why
        })
    }
}

/// Calls back into Python from time to time.
pub(crate) struct Reporter {
    pub(crate) call: Option<Py<PyAny>>,
    pub(crate) last: Instant,
    pub(crate) error: Option<PyErr>,
}

impl Reporter {
    pub(crate) fn go_on(&mut self, now: Nanos) -> bool {
        if self.last.elapsed() < PROGRESS_EVERY {
            return true;
        }
        self.last = Instant::now();
        let answer = Python::attach(|py| -> PyResult<bool> {
            py.check_signals()?;
            match &self.call {
                Some(f) => f.call1(py, (now.0,))?.extract(py),
                None => Ok(true),
            }
        });
        answer.unwrap_or_else(|e| {
            self.error = Some(e);
            false
        })
    }
}

/// Names of the benchmark cases.
#[pyfunction]
pub fn bench_cases() -> Vec<&'static str> {
    benches::names()
}

/// Runs a benchmark case; returns its numbers as JSON.
#[pyfunction]
pub fn bench(py: Python<'_>, name: &str) -> PyResult<String> {
    let name = name.to_string();
    let result = interruptible(py, move || benches::measure(&name))?;
    result.map(|json| json.to_string()).map_err(RunError::new_err)
}

/// Runs a benchmark case on each of these numbers of threads; returns its numbers as JSON. The empty
/// name stands for the cases that are measured unless others are named.
#[pyfunction]
pub fn bench_threads(py: Python<'_>, name: &str, threads: Vec<usize>, rounds: usize) -> PyResult<String> {
    if name.is_empty() {
        return Ok(serde_json::json!(benches::threads::CASES).to_string());
    }
    let name = name.to_string();
    let result = interruptible(py, move || benches::threads::curve(&name, &threads, rounds, None))?;
    result.map(|json| json.to_string()).map_err(RunError::new_err)
}
