// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Inputs of a simulation.

use crate::packet::PROBE_HEADER;
use perigee_cc::{CongestionControl, ConnInit, Controller, Params, SchemeInfo, Start};
use perigee_queue::DisciplineInfo;
use perigee_timeline::{App, Leg, Notices, PairId};
use perigee_units::draw::{mix, name_key};
use perigee_units::Nanos;
use std::sync::Arc;

/// Factory of the controllers of a plug-in scheme.
pub type CustomScheme = Arc<dyn Fn(&ConnInit) -> Box<dyn CongestionControl> + Send + Sync>;

/// Congestion control of a flow.
#[derive(Clone)]
pub enum Scheme {
    /// A built-in scheme, with checked parameters.
    Builtin(&'static SchemeInfo, Params),
    /// A built-in scheme with a start other than its own.
    Started(&'static SchemeInfo, Params, Start),
    /// A plug-in.
    Custom(CustomScheme),
}

impl Scheme {
    /// Description and parameters of a built-in scheme.
    pub fn builtin(&self) -> Option<(&'static SchemeInfo, &Params)> {
        match self {
            Scheme::Builtin(info, params) | Scheme::Started(info, params, _) => Some((info, params)),
            Scheme::Custom(_) => None,
        }
    }

    /// Creates the controller of a new connection.
    pub fn build(&self, init: &ConnInit) -> Controller {
        match self {
            Scheme::Builtin(info, params) => info.build(params, init),
            Scheme::Started(info, params, start) => start.build(info, params, init),
            Scheme::Custom(make) => Controller::Custom(make(init)),
        }
    }
}

/// A flow, fully resolved.
#[derive(Clone)]
pub struct FlowSetup {
    /// Unique name: random draws depend on it, so that adding a flow does not change the losses of
    /// other flows.
    pub name: String,
    /// Path of the data.
    pub forward: PairId,
    /// Path of the ACKs.
    pub reverse: PairId,
    /// Start time.
    pub start: Nanos,
    /// Time at which it stops sending new data.
    pub stop: Nanos,
    /// Application that supplies its data.
    pub app: App,
    /// Congestion control (unused by pings).
    pub scheme: Scheme,
    /// Transport options (unused by pings).
    pub tcp: perigee_tcp::Config,
    /// Notices of handovers, outages and path changes that it receives; `None` = none.
    pub notices: Option<Notices>,
    /// Place in a split connection; `None` = not split.
    pub leg: Option<Leg>,
    /// Ends that are not in the simulation.
    pub outside: Outside,
}

impl FlowSetup {
    /// True if its ends share state that no packet carries, so that both must be inside the
    /// simulation or both outside.
    pub(crate) fn needs_both_ends(&self) -> bool {
        self.leg.is_some() || self.app.has_client()
    }

    /// True if its ends share state at the same instant, so that both must be in one partition: those
    /// above, and on/off sources, which are idle as soon as all of their data has been delivered.
    pub(crate) fn shares_state(&self) -> bool {
        self.needs_both_ends() || matches!(self.app, App::OnOff { .. })
    }
}

/// Ends of the flow outside the simulation: packets that arrive there leave the simulation
/// ([`Simulation::egress`]), and packets sent by such an end are injected ([`Simulation::inject`]).
///
/// [`Simulation::egress`]: crate::Simulation::egress
/// [`Simulation::inject`]: crate::Simulation::inject
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    /// The end that sends the data.
    pub source: bool,
    /// The end that receives it.
    pub destination: bool,
}

impl FlowSetup {
    /// Payload of the largest packet that the flow sends: a full segment, unless all of its data
    /// fit in a smaller packet.
    pub fn payload_bytes(&self) -> u32 {
        let mss = self.tcp.mss;
        match self.app {
            App::Ping { size, .. } | App::Cbr { size, .. } => size.saturating_sub(PROBE_HEADER),
            App::Bulk { bytes: Some(bytes) } => bytes.clamp(1, mss.into()) as u32,
            App::Request { size, .. } => size.largest().clamp(1.0, mss.into()) as u32,
            App::Voice(v) => v.codec.packet_bytes(v.interval).saturating_sub(PROBE_HEADER),
            _ => mss,
        }
    }
}

/// Options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Seed of all random draws.
    pub seed: u64,
    /// Time between samples; zero = no samples.
    pub sample: Nanos,
    /// Upper bound of a uniform random delay of each flow's start (breaks drop-tail phase effects).
    pub start_jitter: Nanos,
    /// Upper bound of a uniform random delay of each packet at its host; the order within a flow
    /// and direction is kept.
    pub host_jitter: Nanos,
    /// Maximum number of hops in a telemetry stack; further hops write no record, and the stack is
    /// marked partial.
    pub max_hops: usize,
    /// Queue disciplines that ports may use in addition to the built-in ones.
    pub disciplines: &'static [DisciplineInfo],
    /// Whether packets cross ports with a known future without an event per hop. Affects only
    /// speed, not results; turning it off verifies that.
    pub lookahead: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            seed: 1,
            sample: Nanos::from_millis(100),
            start_jitter: Nanos::ZERO,
            host_jitter: Nanos::ZERO,
            max_hops: 14,
            disciplines: &[],
            lookahead: true,
        }
    }
}

/// Identifies a flow in random draws.
pub(crate) fn key_of(flow: &FlowSetup) -> u64 {
    mix(name_key(&flow.name))
}

impl Options {
    /// Seed of a flow's draws.
    pub fn seed_of(&self, flow: &FlowSetup) -> u64 {
        mix(mix(self.seed) ^ key_of(flow))
    }

    /// Start of a flow: its configured start plus a random jitter. External ends start at the same
    /// time.
    pub fn start_of(&self, flow: &FlowSetup) -> Nanos {
        let jitter = (u128::from(self.seed_of(flow)) * u128::from(self.start_jitter.0)) >> 64;
        flow.start + Nanos(jitter as u64)
    }
}

/// Reason why a simulation cannot be built or cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The setup is inconsistent.
    #[error("{0}")]
    Setup(String),
    /// Time does not advance: a controller or plug-in keeps requesting immediate calls.
    #[error("the simulation is stuck at {at}: {what} reschedules itself at this instant without end")]
    Stuck {
        /// Simulated time.
        at: Nanos,
        /// Component that repeats.
        what: String,
    },
    /// The source of the timeline failed.
    // The reason contains the simulated time: chunks are produced ahead of the simulation's time.
    #[error("making the network: {reason}")]
    Source {
        /// Simulated time.
        at: Nanos,
        /// The reason as text.
        reason: String,
    },
}
