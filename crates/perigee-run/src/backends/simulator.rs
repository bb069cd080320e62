// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The packet-level simulator as a backend.

use super::{no_schemes, Entry, Setting};
use perigee_backend::recording::{begin_record, failed, run_and_record, simulator_options, Records};
use perigee_backend::routes::RouteListener;
use perigee_backend::setups::flow_setups;
pub use perigee_backend::setups::Plugins;
use perigee_backend::{Backend, BackendError, Inputs, SIMULATOR};
use perigee_record::RecordSink;
use perigee_sim::{run_on_threads, Execution, FlowSetup, Threads};
use perigee_timeline::{App, Flow, Header, Hosts, Workload};
use perigee_units::Nanos;
use std::sync::{Arc, Mutex};

/// Option: the number of threads of one run.
const THREADS: &str = "threads";

/// Registry entry.
pub const ENTRY: Entry = Entry {
    name: SIMULATOR,
    summary: "packets, queues and TCP are simulated",
    options: &[THREADS],
    schemes: no_schemes,
    cpu_s_per_tcp_packet: 0.0,
    make: |of: &Setting<'_>| {
        let threads = of.options.number(THREADS)?.unwrap_or(1);
        Ok(Box::new(Simulator { plugins: of.plugins.clone(), threads, ..Simulator::default() }))
    },
};

/// The simulator, with plug-ins for its flows.
#[derive(Clone, Default)]
pub struct Simulator {
    /// Congestion controls in addition to the built-in ones.
    pub plugins: Plugins,
    /// Threads of one run; no result depends on them. 0 and 1 = one.
    pub threads: usize,
    /// How the latest run was executed.
    pub execution: Arc<Mutex<Option<Execution>>>,
}

impl Backend for Simulator {
    fn name(&self) -> &'static str {
        SIMULATOR
    }

    fn has_scheme(&self, name: &str) -> bool {
        self.plugins.contains_key(name)
    }

    fn setups(&self, header: &Header, workload: &Workload) -> Result<Vec<FlowSetup>, BackendError> {
        flow_setups(header, workload, &self.plugins)
    }

    fn notes(&self) -> Vec<String> {
        let execution = self.execution.lock().expect("nothing panics with it");
        let limit = execution.as_ref().and_then(|e| e.limit.as_ref());
        limit.iter().map(|why| format!("the run used one thread: {why}")).collect()
    }

    fn check(&self, header: &Header, workload: &Workload) -> Result<(), BackendError> {
        nothing_real(workload)?;
        self.setups(header, workload).map(|_| ())
    }

    fn run(
        &self,
        inputs: Inputs<'_>,
        sink: &mut dyn RecordSink,
        progress: &mut dyn FnMut(Nanos) -> bool,
    ) -> Result<(), BackendError> {
        run_and_record(self, inputs, sink, progress)
    }
}

impl Records for Simulator {
    fn record<const PACKETS: bool>(
        &self,
        inputs: Inputs<'_>,
        sink: &mut dyn RecordSink,
        progress: &mut dyn FnMut(Nanos) -> bool,
    ) -> Result<(), BackendError> {
        let Inputs { header, changes, workload, options } = inputs;
        nothing_real(workload)?;
        let setups = self.setups(header, workload)?;
        let mut source = RouteListener::new(changes, header);
        let about = (self.name(), header, workload, &options);
        let mut recorder = begin_record::<PACKETS>(about, &setups, &source, sink)?;
        let sink_failed = recorder.failed();
        let options = simulator_options(&options);
        let threads = Threads::up_to(self.threads.max(1));
        let mut progress = |now| !sink_failed.get() && progress(now);
        let changes = Box::new(&mut source);
        let done = run_on_threads(header, changes, setups, options, threads, &mut recorder, &mut progress);
        let (outcome, execution) = done.map_err(failed)?;
        *self.execution.lock().expect("nothing panics with it") = Some(execution);
        recorder.finish(&source, outcome).map_err(failed)
    }
}

/// Rejects flows that require real hosts.
fn nothing_real(workload: &Workload) -> Result<(), BackendError> {
    let why = |flow: &Flow| match (flow.app, flow.hosts) {
        (App::Programs, _) => {
            Some("it carries what programs send, which run on real hosts: pass --backend linux")
        }
        (_, Some(Hosts::Linux)) => {
            Some("its backend is \"linux\", and that of this run is the simulator: pass --backend linux")
        }
        _ => None,
    };
    let refused = workload.flows.iter().find_map(|f| Some((f, why(f)?)));
    refused.map_or(Ok(()), |(flow, why)| {
        Err(BackendError::Unsupported { flow: flow.name.clone(), why: why.into() })
    })
}
