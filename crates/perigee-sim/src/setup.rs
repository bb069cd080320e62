// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Inputs of a simulation.

use crate::packet::PROBE_HEADER;
use perigee_cc::{CongestionControl, ConnInit, Controller, Params, SchemeInfo};
use perigee_queue::DisciplineInfo;
use perigee_timeline::{App, Leg, Notices, PairId};
use perigee_units::draw::{mix, name_key};
use perigee_units::Nanos;
use std::sync::Arc;

/// Makes the controller of a plug-in scheme.
pub type CustomScheme = Arc<dyn Fn(&ConnInit) -> Box<dyn CongestionControl> + Send + Sync>;

/// Congestion control of a flow.
#[derive(Clone)]
pub enum Scheme {
    /// One of the list, with checked parameters.
    Builtin(&'static SchemeInfo, Params),
    /// A plug-in.
    Custom(CustomScheme),
}

impl Scheme {
    /// The controller of a new connection.
    pub fn build(&self, init: &ConnInit) -> Controller {
        match self {
            Scheme::Builtin(info, params) => info.build(params, init),
            Scheme::Custom(make) => Controller::Custom(make(init)),
        }
    }
}

/// One flow, resolved.
#[derive(Clone)]
pub struct FlowSetup {
    /// Unique name: draws of random numbers depend on it, so that adding a flow changes no other
    /// flow's losses.
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
    /// Its congestion control (unused by pings).
    pub scheme: Scheme,
    /// Its transport options (unused by pings).
    pub tcp: perigee_tcp::Config,
    /// Its notices of handovers, outages and path changes; `None` = none.
    pub notices: Option<Notices>,
    /// Its place in a split connection; `None` = it is not split.
    pub leg: Option<Leg>,
    /// Ends that are not in the simulation.
    pub outside: Outside,
}

impl FlowSetup {
    /// Its ends share state that no packet carries, so that both have to be in the simulation, or
    /// both outside.
    pub(crate) fn needs_both_ends(&self) -> bool {
        self.leg.is_some() || self.app.has_client()
    }
}

/// Ends of the flow that are outside the simulation: packets that arrive there leave it
/// ([`Simulation::egress`]), and packets that such an end sends are injected
/// ([`Simulation::inject`]).
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
    /// fit a smaller one.
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
    /// Time between samples; zero = none are taken.
    pub sample: Nanos,
    /// Each flow's start is delayed by a seeded draw from 0 to this (breaks drop-tail phase
    /// effects).
    pub start_jitter: Nanos,
    /// Each packet leaves its host later by a seeded draw from 0 to this; the order within a flow
    /// and direction is kept.
    pub host_jitter: Nanos,
    /// Most hops of one telemetry stack; further hops write nothing and the stack is marked
    /// partial.
    pub max_hops: usize,
    /// Queue disciplines that ports may name in addition to those of the list.
    pub disciplines: &'static [DisciplineInfo],
    /// Packets cross ports with a known future without an event for each hop. Results do not depend
    /// on it, only speed; turning it off verifies that.
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

/// Names a flow in draws.
pub(crate) fn key_of(flow: &FlowSetup) -> u64 {
    mix(name_key(&flow.name))
}

impl Options {
    /// Seed of a flow's draws.
    pub fn seed_of(&self, flow: &FlowSetup) -> u64 {
        mix(mix(self.seed) ^ key_of(flow))
    }

    /// Start of a flow: from its set-up, plus its draw of the jitter. External ends start at the
    /// same time.
    pub fn start_of(&self, flow: &FlowSetup) -> Nanos {
        let jitter = (u128::from(self.seed_of(flow)) * u128::from(self.start_jitter.0)) >> 64;
        flow.start + Nanos(jitter as u64)
    }
}

/// Reason why a simulation cannot be built or cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The setup contradicts itself.
    #[error("{0}")]
    Setup(String),
    /// Time does not advance: a controller or plug-in requests an immediate call, again and again.
    #[error("the simulation is stuck at {at}: {what} asks to be called again without end")]
    Stuck {
        /// Simulated time.
        at: Nanos,
        /// The component that repeats.
        what: String,
    },
    /// The source of the timeline failed.
    // The reason names the simulated time: chunks are made ahead of it.
    #[error("making the network: {reason}")]
    Source {
        /// Simulated time.
        at: Nanos,
        /// The reason as text.
        reason: String,
    },
}
