// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Start of a record with rows from the simulator's observer.

use crate::application_metrics::Calls;
use crate::goodput_windows::Windows;
use crate::recorder::Recorder;
use crate::routes::RouteListener;
use crate::{BackendError, Inputs, RunOptions};
use perigee_record::{FlowInfo, RecordSink, RunHeader};
use perigee_sim::{FlowSetup, Options};
use perigee_timeline::{ChunkSource, Flow, Header, Workload};
use perigee_units::Nanos;

/// A backend that records packets if the sink needs them.
pub trait Records {
    /// Like `Backend::run`; without `PACKETS` no time is spent on packets.
    fn record<const PACKETS: bool>(
        &self,
        inputs: Inputs<'_>,
        sink: &mut dyn RecordSink,
        progress: &mut dyn FnMut(Nanos) -> bool,
    ) -> Result<(), BackendError>;
}

/// `Backend::run` for backends with records.
pub fn run_and_record(
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

/// Subject of a record: the backend's name, the network, the traffic, and the options of the run.
pub type About<'a> = (&'static str, &'a Header, &'a Workload, &'a RunOptions);

/// Starts the record of a run.
///
/// # Errors
/// Errors of the sink.
pub fn begin_record<'s, const PACKETS: bool>(
    (backend, header, workload, options): About<'_>,
    setups: &[FlowSetup],
    source: &RouteListener<impl ChunkSource>,
    sink: &'s mut dyn RecordSink,
) -> Result<Recorder<'s, PACKETS>, BackendError> {
    let begin = run_header(backend, header, options);
    let windows = Windows::new(workload, options.warmup, options.sample, header.duration, source.steps());
    let infos = flow_infos(header, workload, setups);
    let observed = (windows, Calls::new(workload));
    let recorder = Recorder::new(&begin, infos, source.tables(), observed, sink).map_err(failed)?;
    Ok(recorder.with_rtt_changes(options.rtt_changes))
}

/// Header of a record.
pub fn run_header(backend: &'static str, header: &Header, options: &RunOptions) -> RunHeader {
    RunHeader {
        backend,
        seed: options.seed,
        duration_ns: header.duration.0,
        warmup_ns: options.warmup.0,
        sample_ns: options.sample.0,
        nodes: header.nodes.iter().map(|n| n.name.clone()).collect(),
    }
}

/// A failure, as a human-readable message.
pub fn failed(e: impl std::fmt::Display) -> BackendError {
    BackendError::Failed(e.to_string())
}

/// Options of a run in the form of the simulator.
pub fn simulator_options(options: &RunOptions) -> Options {
    Options {
        seed: options.seed,
        sample: options.sample,
        start_jitter: options.start_jitter,
        host_jitter: options.host_jitter,
        max_hops: options.max_hops,
        ..Options::default()
    }
}

/// Flows as listed in a record.
pub fn flow_infos(header: &Header, workload: &Workload, setups: &[FlowSetup]) -> Vec<FlowInfo> {
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
