// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Network of a source: sized queues, changes, and traffic pairs.

use crate::file::error::{Problem, ScenarioError};
use crate::file::scenario::Scenario;
use crate::world::ports::PortReport;
use perigee_timeline::{ChunkSource, Header, PairId};
use perigee_units::Nanos;

/// A network, its traffic pairs, and the classes of its ports.
pub struct Network {
    /// State at time zero.
    pub header: Header,
    /// Changes over time.
    pub source: Box<dyn ChunkSource>,
    /// Pairs between which flows may run.
    pub pairs: Vec<PairPlace>,
    /// Ports as resolved: each of a small network, the classes of a large one.
    pub ports: Vec<PortReport>,
    /// Base RTT of each pair at time zero; `None` = unreachable then.
    pub base_rtts: Vec<Option<Nanos>>,
    /// Number of links of each pair's forward route at time zero.
    pub hops: Vec<usize>,
    /// Number of links of the longest route of the run, as far as known.
    pub longest: usize,
    /// Number of each pair's slowest port at time zero: pairs with the same number share it.
    pub bottlenecks: Vec<u32>,
    /// Human-readable summary: satellites, assumptions.
    pub report: Vec<String>,
    /// Warnings about the network.
    pub warnings: Vec<String>,
}

/// A traffic pair with its reverse pair.
#[derive(Clone, Debug)]
pub struct PairPlace {
    /// Name of the sending node.
    pub from: String,
    /// Name of the receiving node.
    pub to: String,
    /// Data path.
    pub forward: PairId,
    /// ACK path.
    pub reverse: PairId,
    /// Used only by flows that name both ends: the path of a leg of a split flow, or the reverse of
    /// a saved pair.
    pub part: bool,
}

/// Rejects changes at a source that does not support them, instead of ignoring them.
///
/// # Errors
/// If the scenario has any changes.
pub fn refuse_changes(scenario: &Scenario, why: &str) -> Result<(), ScenarioError> {
    match scenario.changes.first() {
        Some(c) => Err(Problem::new("change", why).at(&c.place).into()),
        None => Ok(()),
    }
}
