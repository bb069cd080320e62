// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The packet-level simulator as a backend.

use crate::application_metrics::Calls;
use crate::goodput_windows::Windows;
use crate::recorder::Recorder;
use crate::routes::RouteListener;
use perigee_backend::{Backend, BackendError, Inputs, RunOptions};
use perigee_cc::Params;
use perigee_record::{FlowInfo, RecordSink, RunHeader};
use perigee_sim::{CustomScheme, FlowSetup, Options, Scheme, Simulation};
use perigee_timeline::{App, ChunkSource, Flow, Header, Hosts, Workload};
use perigee_units::Nanos;
use std::collections::BTreeMap;

/// Congestion controls from outside, by the names that workloads give them.
pub type Plugins = BTreeMap<String, CustomScheme>;

/// The simulator, with the plug-ins that its flows may name.
#[derive(Clone, Default)]
pub struct Simulator {
    /// Congestion controls beside those of the list.
    pub plugins: Plugins,
}

impl Backend for Simulator {
    fn name(&self) -> &'static str {
        crate::manifest::SIMULATOR
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
        let memory = simulation.memory_per_flow();
        drop(simulation);
        recorder.finish(&source, &outcome, memory, Vec::new(), None).map_err(failed)
    }
}

impl Simulator {
    /// The flows as the simulator takes them.
    ///
    /// # Errors
    /// Schemes that do not exist, parameters and options that contradict each other.
    pub fn setups(&self, header: &Header, workload: &Workload) -> Result<Vec<FlowSetup>, BackendError> {
        let mut setups: Vec<FlowSetup> = Vec::with_capacity(workload.flows.len());
        for (i, flow) in workload.flows.iter().enumerate() {
            // Of thousands of flows most are as the one before.
            let before = i.checked_sub(1).map(|b| (&workload.flows[b], &setups[b]));
            let alike = before.filter(|(other, _)| same_transport(other, flow));
            let (tcp, scheme) = match alike {
                Some((_, setup)) => (setup.tcp.clone(), setup.scheme.clone()),
                None => {
                    let wrong = |why: String| BackendError::Unsupported { flow: flow.name.clone(), why };
                    let params = Params::new(perigee_tcp::OPTIONS, flow.tcp.clone());
                    let tcp = perigee_tcp::Config::new(&params.map_err(|e| wrong(e.to_string()))?);
                    (tcp, self.scheme(flow).map_err(wrong)?)
                }
            };
            // A proxy carries on what it holds when the application has stopped.
            let carries_on = flow.leg.is_some_and(|l| l.before.is_some());
            setups.push(FlowSetup {
                name: flow.name.clone(),
                forward: flow.forward,
                reverse: flow.reverse,
                start: flow.start,
                stop: if carries_on { header.duration } else { flow.stop },
                app: flow.app,
                scheme,
                tcp: perigee_tcp::Config { buffer: flow.buffer_bytes, ..tcp },
                notices: flow.notices.clone(),
                leg: flow.leg,
                outside: Default::default(),
            });
        }
        Ok(setups)
    }

    fn scheme(&self, flow: &Flow) -> Result<Scheme, String> {
        // UDP needs no scheme; any will do as a placeholder.
        let id = if flow.app.is_tcp() { flow.cc.as_str() } else { "newreno" };
        if let Some(plugin) = self.plugins.get(id) {
            return Ok(Scheme::Custom(plugin.clone()));
        }
        let info = perigee_cc::info(id).ok_or_else(|| format!("no congestion control {id:?}"))?;
        let mut params = info.params(flow.cc_params.clone()).map_err(|e| e.to_string())?;
        for (name, text) in &flow.cc_files {
            params.attach(info.files(), name, text).map_err(|e| e.reason)?;
        }
        Ok(Scheme::Builtin(info, params))
    }
}

/// Two flows have the same transport options and the same congestion control.
fn same_transport(a: &Flow, b: &Flow) -> bool {
    (a.app.is_tcp(), &a.cc, &a.tcp, &a.cc_params, &a.cc_files)
        == (b.app.is_tcp(), &b.cc, &b.tcp, &b.cc_params, &b.cc_files)
}

/// A backend whose record has packets where the sink wants them.
pub(crate) trait Records {
    /// As `Backend::run`; without `PACKETS` nothing is spent on them.
    fn record<const PACKETS: bool>(
        &self,
        inputs: Inputs<'_>,
        sink: &mut dyn RecordSink,
        progress: &mut dyn FnMut(Nanos) -> bool,
    ) -> Result<(), BackendError>;
}

/// `Backend::run` of backends with records.
pub(crate) fn run_and_record(
    backend: &impl Records,
    inputs: Inputs<'_>,
    sink: &mut dyn RecordSink,
    progress: &mut dyn FnMut(Nanos) -> bool,
) -> Result<(), BackendError> {
    if sink.wants_packets() {
        backend.record::<true>(inputs, sink, progress)
    } else {
        backend.record::<false>(inputs, sink, progress)
    }
}

/// Refuses flows that only real hosts have.
fn nothing_real(workload: &Workload) -> Result<(), BackendError> {
    let why = |flow: &Flow| match (flow.app, flow.hosts) {
        (App::Programs, _) => {
            Some("it carries what programs send, which run on real hosts: say --hosts linux")
        }
        (_, Some(Hosts::Linux)) => {
            Some("its hosts are \"linux\", and those of this run are simulated: say --hosts linux")
        }
        _ => None,
    };
    let refused = workload.flows.iter().find_map(|f| Some((f, why(f)?)));
    refused.map_or(Ok(()), |(flow, why)| {
        Err(BackendError::Unsupported { flow: flow.name.clone(), why: why.into() })
    })
}

/// What a record is of: the backend's name, the network, the traffic, and how it is run.
pub(crate) type About<'a> = (&'static str, &'a Header, &'a Workload, &'a RunOptions);

/// Begins the record of a run.
///
/// # Errors
/// Those of the sink.
pub(crate) fn begin_record<'s, const PACKETS: bool>(
    (backend, header, workload, options): About<'_>,
    setups: &[FlowSetup],
    source: &RouteListener<impl ChunkSource>,
    sink: &'s mut dyn RecordSink,
) -> Result<Recorder<'s, PACKETS>, BackendError> {
    let begin = run_header(backend, header, options);
    let windows = Windows::new(workload, options.warmup, options.sample, header.duration, source.steps());
    let infos = flow_infos(header, workload, setups);
    let heard = (windows, Calls::new(workload));
    let recorder = Recorder::new(&begin, infos, source.tables(), heard, sink).map_err(failed)?;
    Ok(recorder.with_rtt_changes(options.rtt_changes))
}

/// What a record begins with.
fn run_header(backend: &'static str, header: &Header, options: &RunOptions) -> RunHeader {
    RunHeader {
        backend,
        seed: options.seed,
        duration_ns: header.duration.0,
        warmup_ns: options.warmup.0,
        sample_ns: options.sample.0,
        nodes: header.nodes.iter().map(|n| n.name.clone()).collect(),
    }
}

pub(crate) fn failed(e: impl std::fmt::Display) -> BackendError {
    BackendError::Failed(e.to_string())
}

pub(crate) fn simulator_options(options: &RunOptions) -> Options {
    Options {
        seed: options.seed,
        sample: options.sample,
        start_jitter: options.start_jitter,
        host_jitter: options.host_jitter,
        max_hops: options.max_hops,
        ..Options::default()
    }
}

fn flow_infos(header: &Header, workload: &Workload, setups: &[FlowSetup]) -> Vec<FlowInfo> {
    let name = |node: perigee_timeline::NodeId| header.nodes[node.ix()].name.clone();
    let info = |(i, (flow, setup)): (usize, (&Flow, &FlowSetup))| {
        let pair = header.pairs.get(flow.forward.ix());
        FlowInfo {
            flow: i as u32,
            name: flow.name.clone(),
            from: pair.map(|p| name(p.from)).unwrap_or_default(),
            to: pair.map(|p| name(p.to)).unwrap_or_default(),
            cc: flow.cc.clone(),
            bottleneck: Some(flow.bottleneck),
            start_ns: flow.start.0,
            stop_ns: flow.stop.0,
            mss: setup.tcp.mss,
            timestamps: setup.tcp.timestamps,
            base_rtt_ns: flow.base_rtt.map(|rtt| rtt.0),
            real: setup.outside.source,
        }
    };
    workload.flows.iter().zip(setups).enumerate().map(info).collect()
}
