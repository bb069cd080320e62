// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `via`: flows that are split at proxies.

use crate::file::apps::Bulk;
use crate::file::checked::Checked;
use crate::file::error::Problem;
use perigee_timeline::Leg;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Split of a flow at proxies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Nodes with a proxy, from sender to receiver.
    pub via: Vec<String>,
    /// Congestion control of each leg; empty = that of the flow.
    pub cc: Vec<String>,
    /// Capacity of a proxy's buffer, in bytes.
    pub buffer: u64,
    /// Whether a proxy answers a SYN immediately.
    pub spoof: bool,
    /// Whether legs between proxies are permanent connections.
    pub standing: bool,
}

/// Position of a leg in a split flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegPlace {
    /// Name of the flow that was split.
    pub flow: String,
    /// Number of the leg, from 0.
    pub number: usize,
    /// Settings of the split.
    pub split: Split,
}

impl LegPlace {
    /// Leg in the form of the simulator; the leg is flow `index`.
    pub fn leg(&self, index: usize) -> Leg {
        Leg {
            before: (self.number > 0).then(|| index as u32 - 1),
            after: (self.number < self.split.via.len()).then_some(index as u32 + 1),
            buffer: self.split.buffer,
            spoof: self.split.spoof,
            standing: self.split.standing && self.number > 0 && self.number < self.split.via.len(),
        }
    }
}

/// Reads the keys `via…` of a `[[flow]]`.
pub fn read(c: &Arc<Checked>, ends: &Option<(String, String)>, problems: &mut Vec<Problem>) -> Option<Split> {
    if c.kind() != Bulk::SECTION.name {
        return None;
    }
    let Bulk { via: Some(via), via_cc, via_buffer, via_standing, via_spoof, .. } = Bulk::read(c) else {
        return None;
    };
    let cc = via_cc.unwrap_or_default();
    let mut seen: BTreeSet<&str> = ends.iter().flat_map(|(a, b)| [a.as_str(), b.as_str()]).collect();
    if let Some(twice) = via.iter().find(|node| !seen.insert(node)) {
        problems.push(c.problem("via", "a flow passes each node once").found(format!("{twice:?}")));
    }
    if ends.is_none() {
        problems.push(c.problem("via", "a split flow needs `from` and `to`"));
    }
    if !cc.is_empty() && cc.len() != via.len() + 1 {
        let p = c.problem("via_cc", format!("{} congestion controls for {} legs", cc.len(), via.len() + 1));
        problems.push(p.hint("give one for each leg, from sender to receiver"));
    }
    Some(Split { via, cc, buffer: via_buffer.0, spoof: via_spoof, standing: via_standing })
}
