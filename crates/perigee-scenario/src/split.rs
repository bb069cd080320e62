// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `via`: flows that are split at proxies. Each leg becomes a flow of its own, in the order of the data.

use crate::error::Problem;
use crate::grammar::Checked;
use crate::kind::Val;
use crate::scenario::FlowSpec;
use perigee_sim::Leg;
use perigee_timeline::App;
use perigee_units::Nanos;
use std::collections::{BTreeMap, BTreeSet};

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

impl FlowSpec {
    /// The schemes that it names, `"*"` among them.
    pub fn schemes(&self) -> Vec<&String> {
        match &self.split {
            Some(split) if !split.cc.is_empty() => split.cc.iter().collect(),
            _ => vec![&self.cc],
        }
    }
}

/// The schemes that a flow names, or what stands for them in a flow that needs none.
pub(crate) fn own_schemes(flow: &FlowSpec) -> Vec<&str> {
    match crate::world::without_tcp(flow.app) {
        Some(app) => vec![app],
        None => flow.schemes().into_iter().map(String::as_str).collect(),
    }
}

/// Split flows as their legs.
pub fn expand(flows: Vec<FlowSpec>) -> Vec<FlowSpec> {
    let mut names: BTreeMap<String, u64> = BTreeMap::new();
    let mut out = Vec::with_capacity(flows.len());
    for flow in flows {
        let (Some(split), Some((from, to))) = (flow.split.clone(), flow.ends.clone()) else {
            out.push(flow);
            continue;
        };
        for k in 0..flow.count {
            let base = flow.name.clone().unwrap_or_else(|| format!("{from}->{to}"));
            let n = names.entry(base.clone()).or_default();
            *n += 1;
            let name = if *n == 1 { base } else { format!("{base}.{n}") };
            out.extend(legs(&flow, &split, &name, flow.start + flow.stagger * k));
        }
    }
    out
}

fn legs(flow: &FlowSpec, split: &Split, name: &str, start: Nanos) -> Vec<FlowSpec> {
    let (from, to) = flow.ends.as_ref().expect("checked by the caller");
    let nodes: Vec<&String> = std::iter::once(from).chain(&split.via).chain([to]).collect();
    let leg = |(number, ends): (usize, &[&String])| {
        let cc = split.cc.get(number).unwrap_or(&flow.cc).clone();
        FlowSpec {
            name: Some(format!("{name} leg {}", number + 1)),
            ends: Some((ends[0].clone(), ends[1].clone())),
            cc_params: if cc == flow.cc { flow.cc_params.clone() } else { Default::default() },
            cc,
            start,
            stagger: Nanos::ZERO,
            count: 1,
            split: None,
            leg: Some(LegPlace { flow: name.into(), number, split: split.clone() }),
            ..flow.clone()
        }
    };
    nodes.windows(2).enumerate().map(leg).collect()
}
