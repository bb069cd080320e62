// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Legs of flows split at proxies: each leg becomes a separate flow, in the order of the data.

use crate::file::flow::FlowSpec;
use crate::file::split::{LegPlace, Split};
use perigee_units::Nanos;
use std::collections::BTreeMap;

/// Replaces split flows by their legs.
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
