// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `via`: flows that are split at proxies.

use crate::file::error::Problem;
use crate::file::grammar::Checked;
use crate::file::kind::Val;
use perigee_timeline::{App, Leg};
use std::collections::BTreeSet;

/// Where a flow is split, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Nodes with a proxy, from sender to receiver.
    pub via: Vec<String>,
    /// Congestion control of each leg; empty = the flow's.
    pub cc: Vec<String>,
    /// What a proxy may hold, in bytes.
    pub buffer: u64,
    /// A proxy answers a SYN at once.
    pub spoof: bool,
    /// Legs between proxies are standing connections.
    pub standing: bool,
}

/// A flow that is a leg.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegPlace {
    /// Name of the flow that was split.
    pub flow: String,
    /// From 0.
    pub number: usize,
    /// How.
    pub split: Split,
}

impl LegPlace {
    /// For the simulator; the leg is flow `index`.
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

fn words(c: &Checked, key: &str) -> Vec<String> {
    let word = |v: Val| if let Val::Text(t) = v { Some(t) } else { None };
    c.opt_many(key).unwrap_or_default().into_iter().filter_map(word).collect()
}

/// The keys `via…` of a `[[flow]]`.
pub fn read(
    c: &Checked,
    app: App,
    ends: &Option<(String, String)>,
    problems: &mut Vec<Problem>,
) -> Option<Split> {
    let (via, cc) = (words(c, "via"), words(c, "via_cc"));
    if via.is_empty() {
        let alone = ["via_cc", "via_buffer", "via_spoof", "via_standing"].into_iter().find(|k| c.has(k));
        problems.extend(alone.map(|k| c.problem(k, "belongs to `via`, which is not given")));
        return None;
    }
    let mut seen: BTreeSet<&str> = ends.iter().flat_map(|(a, b)| [a.as_str(), b.as_str()]).collect();
    if let Some(twice) = via.iter().find(|node| !seen.insert(node)) {
        problems.push(c.problem("via", "a flow passes each node once").found(format!("{twice:?}")));
    }
    if ends.is_none() {
        problems.push(c.problem("via", "a split flow needs `from` and `to`"));
    }
    if !matches!(app, App::Bulk { .. }) {
        problems.push(c.problem("via", "only bulk transfers can be split").hint("use app = \"bulk\""));
    }
    if !cc.is_empty() && cc.len() != via.len() + 1 {
        let p = c.problem("via_cc", format!("{} congestion controls for {} legs", cc.len(), via.len() + 1));
        problems.push(p.hint("give one for each leg, from sender to receiver"));
    }
    Some(Split {
        via,
        cc,
        buffer: c.bytes("via_buffer"),
        spoof: c.bool("via_spoof"),
        standing: c.bool("via_standing"),
    })
}
