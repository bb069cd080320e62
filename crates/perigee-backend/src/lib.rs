// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Backend interface: a [`Backend`] takes a timeline and a workload and writes a record, so that
//! sources and analyses do not depend on the backend. The packet-level simulator is one
//! (`perigee-run`); Linux hosts are another (`perigee-linux`).
//!
//! The modules are the common parts of packet-level backends:
//! * [`setups`]: flows as set up for the simulator;
//! * [`recording`]: start of a record; [`recorder`]: its rows;
//! * [`routes`], [`goodput_windows`], [`capacity`], [`application_metrics`]: tables computed during
//!   the run.

pub mod application_metrics;
pub mod capacity;
pub mod goodput_windows;
mod min_port_sum;
pub mod recorder;
pub mod recording;
pub mod routes;
mod rtt_changes;
pub mod setups;

use crate::setups::{flow_setups, Plugins};
use perigee_record::RecordSink;
use perigee_sim::FlowSetup;
use perigee_timeline::{ChunkSource, Header, Workload};
use perigee_units::Nanos;
use std::collections::BTreeMap;

/// Name of the default backend, which manifests omit.
pub const SIMULATOR: &str = "simulator";

/// Inputs of a run.
pub struct Inputs<'a> {
    /// The network at time zero.
    pub header: &'a Header,
    /// Changes of the network over time.
    pub changes: Box<dyn ChunkSource + 'a>,
    /// Flows known at the start of the run.
    pub workload: &'a Workload,
    /// Options of the run.
    pub options: RunOptions,
}

/// Options of a run, common to all backends.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOptions {
    /// Seed of all random draws.
    pub seed: u64,
    /// Time between rows of the time series; zero = no rows.
    pub sample: Nanos,
    /// Start of the metrics.
    pub warmup: Nanos,
    /// Upper bound of a uniform random delay of each flow's start.
    pub start_jitter: Nanos,
    /// Upper bound of a uniform random delay of each packet at its host.
    pub host_jitter: Nanos,
    /// Maximum number of RTT samples per flow that are recorded as events; only those that differ
    /// from the previous sample are.
    pub rtt_changes: u32,
    /// Maximum number of hops in a telemetry stack.
    pub max_hops: usize,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            seed: 1,
            sample: Nanos::from_millis(100),
            warmup: Nanos::ZERO,
            start_jitter: Nanos::ZERO,
            host_jitter: Nanos::ZERO,
            rtt_changes: 0,
            max_hops: 14,
        }
    }
}

/// Reason why a backend did not finish a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackendError {
    /// The workload requires a feature that this backend lacks.
    Unsupported {
        /// Name of the flow.
        flow: String,
        /// The missing feature, and a remedy.
        why: String,
    },
    /// The backend failed, with a human-readable message.
    Failed(String),
    /// Hosts outside the simulator did not come up, or exited before the run started.
    Hosts(String),
}

impl std::fmt::Display for BackendError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BackendError::Unsupported { flow, why } => write!(f, "flow {flow:?}: {why}"),
            BackendError::Failed(why) | BackendError::Hosts(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for BackendError {}

/// Carries a workload over a timeline.
pub trait Backend {
    /// Name in records: in manifests, and as the prefix of backend-specific columns.
    fn name(&self) -> &'static str;

    /// Whether it has a congestion control that is not built into `perigee-cc`.
    fn has_scheme(&self, _name: &str) -> bool {
        false
    }

    /// Flows with resolved options, for manifest and warnings.
    ///
    /// # Errors
    /// The first flow that cannot be carried.
    fn setups(&self, header: &Header, workload: &Workload) -> Result<Vec<FlowSetup>, BackendError> {
        flow_setups(header, workload, &Plugins::default())
    }

    /// Rejects a workload that it cannot carry, before a run.
    ///
    /// # Errors
    /// The first flow that cannot be carried.
    fn check(&self, header: &Header, workload: &Workload) -> Result<(), BackendError> {
        self.setups(header, workload).map(|_| ())
    }

    /// Runs to the end of the timeline, or until `progress`, which is called from time to time with
    /// the simulated time, returns false; writes the results to `sink`.
    ///
    /// # Errors
    /// If the source of the timeline, the backend or the sink fails.
    fn run(
        &self,
        inputs: Inputs<'_>,
        sink: &mut dyn RecordSink,
        progress: &mut dyn FnMut(Nanos) -> bool,
    ) -> Result<(), BackendError>;

    /// Remarks on how the last run was executed, on which no result depends.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Keys to add to the manifest of its last run.
    fn manifest(&self) -> BTreeMap<&'static str, serde_json::Value> {
        BTreeMap::new()
    }
}
