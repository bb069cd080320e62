// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One run: a world under one congestion control → tables and a manifest.

use crate::capture::CaptureSink;
use crate::manifest::{manifest, Manifest};
use crate::simulator::{Plugins, Simulator};
use crate::warnings;
use perigee_backend::{Backend, BackendError, Inputs, RunOptions};
use perigee_record::{Collector, RecordSink, RunOutcome, SinkError, Sinks, Table};
use perigee_scenario::{ScenarioError, World};
use perigee_units::Nanos;
use std::path::Path;

/// What a run leaves behind.
pub struct Finished {
    /// All tables.
    pub tables: Vec<Table>,
    /// What is known of the run, without wall time and machine.
    pub manifest: Manifest,
    /// How it ended.
    pub outcome: RunOutcome,
}

/// Why a run did not finish.
#[derive(Debug)]
pub enum RunError {
    /// The scenario is wrong.
    Scenario(ScenarioError),
    /// The simulator or a source failed.
    Failed(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunError::Scenario(e) => e.fmt(f),
            RunError::Failed(why) => f.write_str(why),
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
        RunError::Failed(e.to_string())
    }
}
impl From<SinkError> for RunError {
    fn from(e: SinkError) -> Self {
        RunError::Failed(e.to_string())
    }
}

/// Runs a world under `cc` on the simulator and keeps its record in memory; `pcap` is the file of a capture. `progress` hears
/// the simulated time and may return false to stop.
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
    let mut capture = pcap.map(CaptureSink::create).transpose()?;
    let backend = Simulator { plugins: plugins.clone() };
    let workload = world.workload(cc, &|name| plugins.contains_key(name))?;
    let mut sinks = Sinks(vec![&mut rows]);
    sinks.0.extend(capture.iter_mut().map(|c| c as &mut dyn RecordSink));
    let changes = Box::new(world.timeline.reader());
    let inputs = Inputs { header: &world.header, changes, workload: &workload, options: run_options(world) };
    backend.run(inputs, &mut sinks, progress)?;
    let outcome = rows.outcome().clone();
    let tables = rows.finish();
    let setups = backend.setups(&world.header, &workload)?;
    let mut manifest = manifest(world, cc, &setups, &outcome, &tables)?;
    manifest.warnings = warnings::after(world, cc, &setups, &outcome);
    Ok(Finished { tables, manifest, outcome })
}

/// Options of a world's runs.
pub(crate) fn run_options(world: &World) -> RunOptions {
    let run = &world.scenario.run;
    RunOptions {
        seed: world.seed,
        sample: run.sample,
        warmup: run.warmup,
        start_jitter: run.start_jitter,
        max_hops: world.max_hops,
    }
}
