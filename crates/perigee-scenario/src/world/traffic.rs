// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Expansion of `[[flow]]` entries into single flows: patterns between the nodes of a
//! constellation, traffic matrices, arrivals, and flows split by proxies. Random draws depend only
//! on the seed and the index of the entry, so that they do not change with other entries.

use crate::file::flow::{FlowSpec, Pattern};
use crate::file::matrix::Demand;
use crate::file::rows::MAX_FLOWS;
use crate::file::scenario::Scenario;
use crate::file::vary::Varied;
use crate::world::any_gateway;
use perigee_timeline::App;
use perigee_units::draw::finalise;
use perigee_units::Nanos;
use std::sync::Arc;

/// The scenario with all entries expanded; unchanged if all are single flows already.
pub fn expand(scenario: &Arc<Scenario>, seed: u64) -> Arc<Scenario> {
    let seed = scenario.run.vary.seed_of(Varied::Traffic, seed);
    let plain = |f: &FlowSpec| {
        f.pattern.is_none() && f.arrivals.is_none() && f.split.is_none() && !any_gateway::is_any(f)
    };
    if scenario.flows.iter().all(plain) {
        return scenario.clone();
    }
    let mut flows = Vec::new();
    for (i, flow) in scenario.flows.iter().enumerate() {
        match &flow.pattern {
            None => flows.extend(any_gateway::resolve(scenario, arrivals(scenario, flow, seed, i as u64))),
            Some(Pattern::Matrix(rows)) => {
                for (k, row) in rows.iter().enumerate() {
                    let of_row = of_row(flow, k, row);
                    let of_row = arrivals(scenario, &of_row, seed, finalise(i as u64) ^ k as u64);
                    flows.extend(any_gateway::resolve(scenario, of_row));
                }
            }
            Some(pattern) => {
                let mut draw = Draw(finalise(seed ^ finalise(i as u64)));
                let pairs = pairs(scenario, pattern, flow.count, &mut draw);
                for (k, p) in pairs.into_iter().enumerate() {
                    let flow = one(scenario, flow, k as u64, p);
                    flows.extend(arrivals(scenario, &flow, seed, finalise(i as u64) ^ k as u64));
                }
            }
        }
    }
    Arc::new(Scenario { flows: crate::world::legs::expand(flows), ..Scenario::clone(scenario) })
}

/// Flow entry of row `k` (from 0) of a traffic matrix.
fn of_row(flow: &FlowSpec, k: usize, row: &Demand) -> FlowSpec {
    FlowSpec {
        name: flow.name.as_ref().map(|prefix| format!("{prefix}.{}", k + 1)),
        ends: Some(row.ends.clone()),
        app: row.app().unwrap_or(flow.app),
        start: row.start.unwrap_or(flow.start) + flow.stagger * k as u64,
        stop: row.stop.or(flow.stop),
        count: row.flows,
        pattern: None,
        ..flow.clone()
    }
}

/// Expands an entry with `arrivals` into a flow per transfer, named `NAME.1` and so on. Others are
/// returned as they are.
fn arrivals(scenario: &Scenario, flow: &FlowSpec, seed: u64, entry: u64) -> Vec<FlowSpec> {
    let Some((gap, size)) = &flow.arrivals else { return vec![flow.clone()] };
    let stop = flow.stop.unwrap_or(scenario.run.duration).min(scenario.run.duration);
    let draws = finalise(seed ^ finalise(entry ^ ARRIVALS));
    let mut found = Vec::new();
    let mut at = flow.start;
    while at < stop && found.len() <= MAX_FLOWS as usize {
        let n = found.len() as u64;
        found.push(FlowSpec {
            name: flow.name.as_ref().map(|prefix| format!("{prefix}.{}", n + 1)),
            start: at,
            // A transfer that has started runs to completion.
            stop: None,
            app: App::Bulk { bytes: Some(size.bytes(draws, 2 * n)) },
            arrivals: None,
            ..flow.clone()
        });
        at += gap.time(draws, 2 * n + 1).max(Nanos(1000));
    }
    found
}

/// Domain separator: makes the draws of arrivals independent of those of pairs.
const ARRIVALS: u64 = 0x6172_7269_7661_6c73;

/// Flow `k` (from 0) of an entry with a pattern, between nodes `from` and `to`.
fn one(scenario: &Scenario, flow: &FlowSpec, k: u64, (from, to): (usize, usize)) -> FlowSpec {
    let name = |n: usize| scenario.nodes[n].name.clone();
    let gravity = flow.pattern == Some(Pattern::Gravity);
    FlowSpec {
        name: flow.name.as_ref().map(|prefix| format!("{prefix}.{}", k + 1)),
        ends: Some((name(from), name(to))),
        start: flow.start + flow.stagger * k,
        count: if gravity { 1 } else { flow.count },
        pattern: None,
        ..flow.clone()
    }
}

/// Pairs of sending and receiving nodes of a pattern, by index.
fn pairs(scenario: &Scenario, pattern: &Pattern, count: u64, draw: &mut Draw) -> Vec<(usize, usize)> {
    let n = scenario.nodes.len();
    match pattern {
        Pattern::Permutation => {
            let mut order: Vec<usize> = (0..n).collect();
            for i in (1..n).rev() {
                order.swap(i, draw.below(i as u64 + 1) as usize);
            }
            // A single cycle through all nodes has no fixed point.
            let mut pairs: Vec<_> = (0..n).map(|i| (order[i], order[(i + 1) % n])).collect();
            pairs.sort_unstable();
            pairs
        }
        Pattern::AllToOne(name) => {
            let target = scenario.nodes.iter().position(|node| node.name == *name);
            target.map_or(Vec::new(), |to| (0..n).filter(|&from| from != to).map(|from| (from, to)).collect())
        }
        Pattern::Matrix(_) => Vec::new(),
        Pattern::Gravity => (0..count).map(|_| gravity(scenario, draw)).collect(),
    }
}

/// Two different nodes, drawn by weight; the second is drawn among the remaining nodes.
fn gravity(scenario: &Scenario, draw: &mut Draw) -> (usize, usize) {
    let weights: Vec<f64> = scenario.nodes.iter().map(|n| n.weight).collect();
    let from = draw.weighted(&weights, usize::MAX);
    (from, draw.weighted(&weights, from))
}

/// Random stream: SplitMix64 (Steele, Lea and Flood 2014).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        finalise(self.0)
    }

    /// Integer in 0..n.
    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// Index drawn with a probability in proportion to its weight, other than `without`.
    fn weighted(&mut self, weights: &[f64], without: usize) -> usize {
        let of = |i: usize| if i == without { 0.0 } else { weights[i] };
        let total: f64 = (0..weights.len()).map(of).sum();
        let mut rest = self.next() as f64 / u64::MAX as f64 * total;
        // Rounding may leave a rest of zero.
        let last = (0..weights.len()).rev().find(|&i| of(i) > 0.0).unwrap_or(0);
        for i in 0..weights.len() {
            rest -= of(i);
            if rest < 0.0 {
                return i;
            }
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    fn flows(flow: &str, seed: u64) -> Vec<FlowSpec> {
        let places = [("a", 10, 1.0), ("b", 20, 1.0), ("c", 30, 1.0), ("d", 40, 97.0), ("e", 45, 0.5)];
        let mut text =
            "[run]\nduration = \"1 s\"\n[source.constellation]\npreset = \"starlink-shell1\"\n".to_string();
        for (name, lat, weight) in places {
            text += &format!("[node.{name}]\nlat = {lat}\nlon = {lat}\nweight = {weight}\n");
        }
        text += &format!("[[flow]]\ncc = \"cubic\"\n{flow}\n");
        let scenario = Scenario::parse(&text, "test", Path::new(""), &[]).unwrap();
        expand(&Arc::new(scenario), seed).flows.clone()
    }

    fn ends(flows: &[FlowSpec]) -> Vec<(String, String)> {
        flows.iter().map(|f| f.ends.clone().unwrap()).collect()
    }

    #[test]
    fn in_a_permutation_each_node_sends_to_one_and_receives_from_one() {
        let all = ends(&flows("pattern = \"permutation\"", 1));
        assert_eq!(all.len(), 5);
        assert_eq!(all.iter().map(|e| &e.0).collect::<BTreeSet<_>>().len(), 5);
        assert_eq!(all.iter().map(|e| &e.1).collect::<BTreeSet<_>>().len(), 5);
        assert!(all.iter().all(|e| e.0 != e.1));
        assert_eq!(all, ends(&flows("pattern = \"permutation\"", 1)));
        assert!((2..9).any(|seed| ends(&flows("pattern = \"permutation\"", seed)) != all));
    }

    #[test]
    fn all_to_one_has_one_flow_from_each_other_node() {
        let all = flows("pattern = \"all-to-one\"\nto = \"c\"\nname = \"up\"\nstagger = \"10 ms\"", 1);
        assert!(ends(&all).iter().all(|e| e.1 == "c" && e.0 != "c") && all.len() == 4);
        assert_eq!(all[3].name.as_deref(), Some("up.4"));
        assert_eq!(all[3].start, perigee_units::Nanos::from_millis(30));
    }

    #[test]
    fn gravity_prefers_heavy_nodes_and_never_pairs_a_node_with_itself() {
        let all = ends(&flows("pattern = \"gravity\"\ncount = 400", 1));
        assert!(all.len() == 400 && all.iter().all(|e| e.0 != e.1));
        let heavy = all.iter().filter(|e| e.0 == "d" || e.1 == "d").count();
        assert!(heavy > 380, "{heavy}");
    }
}
