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

/// What a flow sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
