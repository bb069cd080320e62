// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The packet-level simulator as a backend.

use super::{no_schemes, Entry, Setting};
use perigee_backend::recording::{begin_record, failed, run_and_record, simulator_options, Records};
use perigee_backend::routes::RouteListener;
use perigee_backend::setups::flow_setups;
pub use perigee_backend::setups::Plugins;
use perigee_backend::{Backend, BackendError, Inputs, SIMULATOR};
use perigee_record::RecordSink;
use perigee_sim::{FlowSetup, Simulation};
use perigee_timeline::{App, Flow, Header, Hosts, Workload};
use perigee_units::Nanos;

/// Registry entry.
pub const ENTRY: Entry = Entry {
    name: SIMULATOR,
    summary: "packets, queues and TCP are simulated",
    options: &[],
    schemes: no_schemes,
    cpu_s_per_tcp_packet: 0.0,
    make: |of: &Setting<'_>| Ok(Box::new(Simulator { plugins: of.plugins.clone() })),
};

/// The simulator, with plug-ins for its flows.
#[derive(Clone, Default)]
pub struct Simulator {
    /// Congestion controls in addition to the built-in ones.
    pub plugins: Plugins,
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
        let simulation = Simulation::new(header, Box::new(&mut source), setups, simulator_options(&options));
        let mut simulation = simulation.map_err(failed)?;
        let sink_failed = recorder.failed();
        let outcome = simulation.run(&mut recorder, &mut |now| !sink_failed.get() && progress(now));
        let outcome = outcome.map_err(failed)?;
        drop(simulation);
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
