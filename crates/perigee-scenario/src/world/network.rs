// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The network of a source: sized queues, changes, and the pairs that may talk.

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
    /// Where flows may run.
    pub pairs: Vec<PairPlace>,
    /// Ports as resolved: each of a small network, the classes of a large one.
    pub ports: Vec<PortReport>,
    /// Base RTT of each pair at time zero; `None` = unreachable then.
    pub base_rtts: Vec<Option<Nanos>>,
    /// Links of each pair's route at time zero, forward.
    pub hops: Vec<usize>,
    /// Links of the longest route of the run, as far as it is known.
    pub longest: usize,
    /// Number of each pair's slowest port at time zero: pairs with the same number share it.
    pub bottlenecks: Vec<u32>,
    /// Human-readable summary: satellites, assumptions.
    pub report: Vec<String>,
    /// Warnings to read before trusting its results.
    pub warnings: Vec<String>,
}

/// A traffic pair with its reverse pair.
#[derive(Clone, Debug)]
pub struct PairPlace {
    /// Name of the sending node.
    pub from: String,
    /// Name of the receiving node.
    pub to: String,
    /// Way of the data.
    pub forward: PairId,
    /// Way of the ACKs.
    pub reverse: PairId,
    /// Only flows that name its ends take it: the way of a split flow's leg, or a saved pair the
    /// other way round.
    pub part: bool,
}

/// Rejects changes at a source that cannot take them, rather than ignore them.
///
/// # Errors
/// When the scenario has any.
pub fn refuse_changes(scenario: &Scenario, why: &str) -> Result<(), ScenarioError> {
    match scenario.changes.first() {
        Some(c) => Err(Problem::new("change", why).at(&c.place).into()),
        None => Ok(()),
    }
}
