// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One run: a world under one congestion control → rows for a sink, and a manifest.

use crate::capture::CaptureSink;
use crate::manifest::{manifest, Manifest};
use crate::simulator::{Plugins, Simulator};
use crate::warnings;
use perigee_backend::{Backend, BackendError, Inputs, RunOptions};
use perigee_linux::plan::Program;
use perigee_linux::real_time::{Measured, RealTimeHosts};
use perigee_linux::LinuxHosts;
use perigee_record::{Collector, RecordSink, RunOutcome, SinkError, Sinks, Table, Tally};
use perigee_scenario::file::vary::Varied;
use perigee_scenario::{ScenarioError, World};
use perigee_timeline::Workload;
use perigee_units::Nanos;
use std::path::Path;
use std::sync::PoisonError;

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

/// A run whose tables went elsewhere.
pub struct Recorded {
    /// What is known of the run, without wall time and machine.
    pub manifest: Manifest,
    /// How it ended.
    pub outcome: RunOutcome,
}

/// Who sits at the ends of flows.
#[derive(Clone, Default)]
pub enum Ends {
    /// The simulator's own transport.
    #[default]
    Simulated,
    /// Linux, where it can carry the flow.
    Linux(LinuxHosts),
    /// This machine's kernel, by its clock.
    RealTime(RealTimeHosts),
}

impl Ends {
    /// The backend of a world, with the schemes of simulated flows that are not in the list. Programs of the scenario come
    /// before others.
    fn backend(&self, world: &World, plugins: &Plugins) -> Box<dyn Backend> {
        let plugins = plugins.clone();
        match self {
            Ends::Simulated => Box::new(Simulator { plugins }),
            Ends::Linux(hosts) => {
                let programs = all_programs(world, &hosts.programs);
                let own_kernels = world.scenario.hosts.own_kernels();
                let offload = world.scenario.hosts.offload;
                let carrier = world.scenario.hosts.carrier.clone();
                Box::new(LinuxHosts { plugins, programs, own_kernels, offload, carrier, ..hosts.clone() })
            }
            Ends::RealTime(hosts) => {
                let programs = all_programs(world, &hosts.programs);
                let carrier = world.scenario.hosts.carrier.clone();
                Box::new(RealTimeHosts { plugins, programs, carrier, ..hosts.clone() })
            }
        }
    }

    /// The flows of a world under `cc`.
    ///
    /// # Errors
    /// Parameters that contradict each other, files that cannot be read.
    pub fn workload(&self, world: &World, cc: &str, plugins: &Plugins) -> Result<Workload, ScenarioError> {
        world.workload(cc, &|name| plugins.contains_key(name) || self.knows(name))
    }

    /// Schemes that only the kernel has.
    fn knows(&self, scheme: &str) -> bool {
        match self {
            Ends::Simulated => false,
            Ends::Linux(hosts) => perigee_cc::info(scheme).is_none() && hosts.has(scheme),
            Ends::RealTime(hosts) => perigee_cc::info(scheme).is_none() && hosts.has(scheme),
        }
    }

    /// How a run in real time went.
    fn measured(&self) -> Option<Measured> {
        match self {
            Ends::RealTime(hosts) => {
                Some(hosts.measured.lock().unwrap_or_else(PoisonError::into_inner).clone())
            }
            _ => None,
        }
    }

    /// All flows as the simulator takes them.
    ///
    /// # Errors
    /// The first flow that cannot be carried.
    pub fn setups(
        &self,
        world: &World,
        workload: &Workload,
        plugins: &Plugins,
    ) -> Result<Vec<perigee_sim::FlowSetup>, RunError> {
        Ok(match self {
            Ends::Simulated => Simulator { plugins: plugins.clone() }.setups(&world.header, workload)?,
            Ends::Linux(hosts) => hosts.setups(&world.header, workload)?.1,
            Ends::RealTime(hosts) => hosts.setups(&world.header, workload)?.1,
        })
    }

    /// Refuses a world that cannot be run.
    ///
    /// # Errors
    /// The first flow that cannot be carried.
    pub fn check(&self, world: &World, cc: &str, plugins: &Plugins) -> Result<(), RunError> {
        let workload = self.workload(world, cc, plugins)?;
        Ok(self.backend(world, plugins).check(&world.header, &workload)?)
    }
}

/// Programs of a scenario, and others.
fn all_programs(world: &World, others: &[Program]) -> Vec<Program> {
    world.scenario.programs.iter().map(Program::of).chain(others.iter().cloned()).collect()
}

/// Runs a world under `cc` on the simulator and keeps its tables in memory, which therefore grows with the time that is
/// simulated; `pcap` is the file of a capture. `progress` hears the simulated time and may return false to stop.
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
    let Recorded { manifest, outcome } =
        record(world, cc, plugins, &Ends::Simulated, &mut rows, pcap, progress)?;
    Ok(Finished { tables: rows.finish(), manifest, outcome })
}

/// As [`run`], on hosts of one's choice and with the rows written to a sink as they come: what the run itself keeps does not grow with time.
///
/// # Errors
/// See [`RunError`]; those of the sink.
pub fn record(
    world: &World,
    cc: &str,
    plugins: &Plugins,
    ends: &Ends,
    rows: &mut dyn RecordSink,
    pcap: Option<&Path>,
    progress: &mut dyn FnMut(Nanos) -> bool,
) -> Result<Recorded, RunError> {
    let mut capture = pcap.map(CaptureSink::create).transpose()?;
    let backend = ends.backend(world, plugins);
    let workload = ends.workload(world, cc, plugins)?;
    let mut sinks = Sinks(vec![rows]);
    sinks.0.extend(capture.iter_mut().map(|c| c as &mut dyn RecordSink));
    let mut tally = Tally::new(&mut sinks);
    let changes = Box::new(world.timeline.reader());
    let inputs = Inputs { header: &world.header, changes, workload: &workload, options: run_options(world) };
    backend.run(inputs, &mut tally, progress)?;
    let (tables, outcome) = tally.finish();
    let setups = ends.setups(world, &workload, plugins)?;
    let mut manifest = manifest(world, cc, &setups, &outcome, tables)?;
    manifest.backend = backend.name();
    manifest.real_time = ends.measured();
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
