// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The traffic: flows with their application, congestion control and transport options, as plain data.

use crate::model::PairId;
use perigee_units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A value of a congestion control parameter or transport option, as a scenario gives it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    /// On or off.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A real number.
    Float(f64),
    /// A word, or a quantity with its unit.
    Text(String),
}

/// How a quantity is drawn: seconds or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// Always the same.
    Fixed(f64),
    /// Between two bounds.
    Uniform(f64, f64),
    /// Memoryless, with this mean: times between the arrivals of a Poisson process.
    Exponential(f64),
    /// Heavy-tailed.
    Pareto {
        /// Mean.
        mean: f64,
        /// Exponent of the tail, above 1; below 2 the variance is infinite.
        shape: f64,
    },
}

impl Law {
    /// The mean of its draws.
    pub fn mean(&self) -> f64 {
        match *self {
            Law::Fixed(value) | Law::Exponential(value) | Law::Pareto { mean: value, .. } => value,
            Law::Uniform(low, high) => (low + high) / 2.0,
        }
    }

    /// The largest draw; infinite where there is none.
    pub fn largest(&self) -> f64 {
        match *self {
            Law::Fixed(value) | Law::Uniform(_, value) => value,
            Law::Exponential(_) | Law::Pareto { .. } => f64::INFINITY,
        }
    }
}

/// What a flow sends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum App {
    /// As much as the transport takes, until the flow stops or `bytes` are delivered.
    Bulk {
        /// Payload bytes, if limited.
        bytes: Option<u64>,
    },
    /// A small UDP packet every `interval`, echoed by the receiver: measures the path without load.
    Ping {
        /// Time between packets.
        interval: Nanos,
        /// Bytes of the IP packet, both ways.
        size: u32,
    },
    /// UDP packets at a constant rate that nobody answers.
    Cbr {
        /// Time between packets.
        interval: Nanos,
        /// Bytes of the IP packet.
        size: u32,
    },
    /// As much as the transport takes, silence, and so on, over one connection.
    OnOff {
        /// Seconds of sending.
        on: Law,
        /// Seconds of silence.
        off: Law,
    },
    /// The receiver asks for one object after the other over one connection.
    Request {
        /// Bytes of an object.
        size: Law,
        /// Seconds between the end of an object and the next request.
        think: Law,
        /// Shortest time between two requests.
        period: Nanos,
        /// Objects in all.
        count: u64,
    },
}

impl App {
    /// It runs over TCP, and so needs a congestion control.
    pub fn is_tcp(&self) -> bool {
        !matches!(self, App::Ping { .. } | App::Cbr { .. })
    }
}

/// One flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Unique name.
    pub name: String,
    /// Way of the data.
    pub forward: PairId,
    /// Way of the ACKs.
    pub reverse: PairId,
    /// When it starts.
    pub start: Nanos,
    /// When it stops sending new data, if before the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Nanos>,
    /// What it sends.
    pub app: App,
    /// Identifier of the congestion control (ignored by pings).
    pub cc: String,
    /// Parameters of the congestion control that differ from its defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cc_params: BTreeMap<String, Setting>,
    /// Transport options that differ from the defaults of the transport's profile.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tcp: BTreeMap<String, Setting>,
}

/// All flows of a run.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Workload {
    /// In the order in which tables print them; a flow's index is its id.
    pub flows: Vec<Flow>,
}
