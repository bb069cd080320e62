// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Execution of a run: a world under one congestion control yields rows for a sink, and a manifest.

use crate::backends::simulator::{Plugins, Simulator};
use crate::capture::CaptureSink;
use crate::manifest::{manifest, Manifest};
use crate::traces;
use crate::warnings;
use perigee_backend::{Backend, BackendError, Inputs, RunOptions};
use perigee_record::{Collector, RecordSink, RunOutcome, SinkError, Sinks, Table, Tally};
use perigee_scenario::file::vary::Varied;
use perigee_scenario::{ScenarioError, World};
use perigee_timeline::Workload;
use perigee_units::Nanos;
use std::path::Path;

/// Output of a run.
pub struct Finished {
    /// All tables.
    pub tables: Vec<Table>,
    /// Manifest, without wall-clock time and machine.
    pub manifest: Manifest,
    /// Outcome of the run.
    pub outcome: RunOutcome,
}

/// Reason why a run did not finish.
#[derive(Debug)]
pub enum RunError {
    /// The scenario is invalid.
    Scenario(ScenarioError),
    /// The simulator or a source failed.
    Failed(String),
    /// Real hosts did not come up.
    Hosts(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunError::Scenario(e) => e.fmt(f),
            RunError::Failed(why) | RunError::Hosts(why) => f.write_str(why),
        }
    }
}

impl From<ScenarioError> for RunError {
    fn from(e: ScenarioError) -> Self {
        RunError::Scenario(e)
    }
}
impl From<BackendError> for RunError {
    fn from(e: BackendError) -> Self {
        match e {
            BackendError::Hosts(why) => RunError::Hosts(why),
            other => RunError::Failed(other.to_string()),
        }
    }
}
impl From<SinkError> for RunError {
    fn from(e: SinkError) -> Self {
        RunError::Failed(e.to_string())
    }
}

/// A run that has passed its tables to a sink.
pub struct Recorded {
    /// Manifest, without wall-clock time and machine.
    pub manifest: Manifest,
    /// Outcome of the run.
    pub outcome: RunOutcome,
}

/// Flows of a world under `cc`.
///
/// # Errors
/// Parameters that contradict each other, unreadable files.
pub fn workload(world: &World, cc: &str, backend: &dyn Backend) -> Result<Workload, ScenarioError> {
    world.workload(cc, &|name| backend.has_scheme(name))
}

/// Rejects a world that cannot be run.
///
/// # Errors
/// The first flow that cannot be carried.
pub fn check(world: &World, cc: &str, backend: &dyn Backend) -> Result<(), RunError> {
    let workload = workload(world, cc, backend)?;
    Ok(backend.check(&world.header, &workload)?)
}

/// Runs a world under `cc` on the simulator and keeps its tables in memory. Their size therefore
/// grows with the simulated time. `pcap`: file for a capture. `progress` is called with the
/// simulated time and may return false to stop.
///
/// # Errors
/// See [`RunError`].
pub fn run(
    world: &World,
    cc: &str,
    plugins: &Plugins,
    pcap: Option<&Path>,
    progress: &mut dyn FnMut(Nanos) -> bool,
) -> Result<Finished, RunError> {
    let mut rows = Collector::default();
    let simulator = Simulator { plugins: plugins.clone(), ..Simulator::default() };
    let Recorded { manifest, outcome } = record(world, cc, &simulator, &mut rows, pcap, progress)?;
    Ok(Finished { tables: rows.finish(), manifest, outcome })
}

/// Like [`run`], on any backend and with rows passed to a sink as they are produced: the memory of
/// the run itself does not grow with time.
///
/// # Errors
/// See [`RunError`]; errors of the sink.
pub fn record(
    world: &World,
    cc: &str,
    backend: &dyn Backend,
    rows: &mut dyn RecordSink,
    pcap: Option<&Path>,
    progress: &mut dyn FnMut(Nanos) -> bool,
) -> Result<Recorded, RunError> {
    let workload = workload(world, cc, backend)?;
    if pcap.is_some() {
        traces::check(&workload, world.max_hops)?;
    }
    let mut capture = pcap.map(CaptureSink::create).transpose()?;
    let mut sinks = Sinks(vec![rows]);
    sinks.0.extend(capture.iter_mut().map(|c| c as &mut dyn RecordSink));
    let mut tally = Tally::new(&mut sinks);
    let changes = Box::new(world.timeline.reader());
    let inputs = Inputs { header: &world.header, changes, workload: &workload, options: run_options(world) };
    backend.run(inputs, &mut tally, progress)?;
    let (tables, outcome) = tally.finish();
    let setups = backend.setups(&world.header, &workload)?;
    let mut manifest = manifest(world, cc, &setups, &outcome, tables)?;
    manifest.backend = backend.name();
    manifest.added = backend.manifest();
    manifest.warnings = warnings::after(world, cc, &setups, &outcome);
    Ok(Recorded { manifest, outcome })
}

/// Options of a world's runs.
pub(crate) fn run_options(world: &World) -> RunOptions {
    let run = &world.scenario.run;
    RunOptions {
        seed: run.vary.seed_of(Varied::Packets, world.seed),
        sample: run.sample,
        warmup: run.warmup,
        start_jitter: run.start_jitter,
        host_jitter: run.host_jitter,
        rtt_changes: run.rtt_changes,
        max_hops: world.max_hops,
    }
}
