// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Choice among several paths between the same nodes (equal-cost multipath, ECMP).

use crate::model::PairId;
use perigee_units::Nanos;
use serde::{Deserialize, Serialize};

/// What is kept on one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpreadBy {
    /// All packets of a flow, by a hash of the flow.
    #[default]
    Flow,
    /// The packets of a flow that follow each other within less than this; after a gap the path is
    /// drawn again.
    Flowlet(Nanos),
    /// A packet: each draws its path.
    Packet,
    /// The packets of all flows for this time; then the next path follows, and so on by turns.
    Turns(Nanos),
}

/// Pairs with several paths, and the choice among them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Spread {
    /// What is kept on one path.
    pub by: SpreadBy,
    /// Pairs between the same two nodes, each with its path. Flows use the first of a list.
    pub paths: Vec<Vec<PairId>>,
}
