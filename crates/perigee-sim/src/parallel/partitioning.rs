// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Choice of partitions: nodes in connected groups of even load, with long links between them.
//!
//! The load of a node is the number of links that the flows' paths at the start take from it, and a
//! share for each end. Nodes joined by short links form a group: the longer the links between
//! partitions, the fewer exchanges. The groups are sorted by breadth-first search and divided where
//! the fewest paths cross.

use super::Threads;
use crate::setup::FlowSetup;
use perigee_timeline::{Change, Chunk, Header, LinkId, PairId};
use perigee_units::Nanos;
use std::collections::{BTreeMap, VecDeque};

/// Load of a flow's end, in links.
const END: u64 = 4;
/// Largest load of a partition, relative to an even one, that is not avoided by shorter links.
const UNEVEN: f64 = 1.15;
/// Number of link delays that are tried.
const TRIES: usize = 24;

/// Nodes joined in groups (disjoint sets).
#[derive(Clone)]
struct Groups(Vec<u32>);

impl Groups {
    fn of(&mut self, node: u32) -> u32 {
        let mut root = node;
        while self.0[root as usize] != root {
            self.0[root as usize] = self.0[self.0[root as usize] as usize];
            root = self.0[root as usize];
        }
        root
    }
    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.of(a), self.of(b));
        self.0[a.max(b) as usize] = a.min(b);
    }
}

/// A network for the choice of partitions.
struct Graph {
    /// Near end, far end and delay of each link, and the paths over it.
    links: Vec<(u32, u32, Nanos, u64)>,
    load: Vec<u64>,
    /// Nodes that must be in one partition.
    joined: Groups,
}

/// Partition of each node; `None` = no division is worth it.
pub fn choose(
    header: &Header,
    first: Option<&Chunk>,
    flows: &[FlowSetup],
    allowed: Threads,
) -> Option<Vec<u16>> {
    // Several paths at once are not in the graph.
    if header.spread.is_some() {
        return None;
    }
    let graph = Graph::new(header, first, flows);
    let mut delays: Vec<Nanos> = graph.links.iter().map(|l| l.2).collect();
    delays.sort_unstable();
    delays.dedup();
    let step = delays.len().div_ceil(TRIES).max(1);
    let tried = delays.iter().rev().step_by(step).copied().chain([Nanos(1)]);
    let mut best = None;
    for shortest in tried {
        let (owners, uneven) = graph.divide(shortest, allowed.most);
        if uneven <= UNEVEN {
            return Some(owners);
        }
        if best.as_ref().is_none_or(|(_, known)| uneven < *known) {
            best = Some((owners, uneven));
        }
    }
    best.filter(|(_, uneven)| *uneven <= allowed.most_uneven).map(|(owners, _)| owners)
}

impl Graph {
    fn new(header: &Header, first: Option<&Chunk>, flows: &[FlowSetup]) -> Graph {
        let ports = header.ports.iter().chain(first.iter().flat_map(|c| &c.ports));
        let node_of: Vec<u32> = ports.map(|p| p.node.0).collect();
        let links = header.links.iter().chain(first.iter().flat_map(|c| &c.links));
        let nodes = header.nodes.len() + first.map_or(0, |c| c.nodes.len());
        let mut g = Graph {
            links: links.map(|l| (node_of[l.port.ix()], l.to.0, l.delay.base, 0)).collect(),
            load: vec![0; nodes],
            joined: Groups((0..nodes as u32).collect()),
        };
        g.read_delays(first);
        let paths = paths_at_start(first);
        for flow in flows {
            let pairs = [flow.forward, flow.reverse].map(|p| header.pairs[p.ix()]);
            for (at, pair) in [flow.forward, flow.reverse].into_iter().zip(pairs) {
                g.load[pair.from.ix()] += END;
                for link in paths.get(&at).copied().unwrap_or_default() {
                    if let Some(l) = g.links.get_mut(link.ix()) {
                        l.3 += 1;
                        g.load[l.0 as usize] += 1;
                    }
                }
            }
            g.joined.join(pairs[0].from.0, pairs[1].to.0);
            g.joined.join(pairs[0].to.0, pairs[1].from.0);
            if flow.shares_state() {
                g.joined.join(pairs[0].from.0, pairs[0].to.0);
            }
        }
        g
    }

    /// Takes the first delay of links that appear without one.
    fn read_delays(&mut self, first: Option<&Chunk>) {
        for timed in first.iter().flat_map(|chunk| &chunk.changes) {
            let Change::Delay(link, delay) = timed.change else { continue };
            if let Some(l) = self.links.get_mut(link.ix()).filter(|l| l.2 == Nanos::ZERO) {
                l.2 = delay.base;
            }
        }
    }

    /// Partitions joined by links of at least this delay, and the largest load relative to an even
    /// one.
    fn divide(&self, shortest: Nanos, count: usize) -> (Vec<u16>, f64) {
        let mut groups = self.joined.clone();
        for &(near, far, delay, _) in &self.links {
            if delay < shortest {
                groups.join(near, far);
            }
        }
        let of: Vec<u32> = (0..self.load.len() as u32).map(|node| groups.of(node)).collect();
        let order = self.order(&of);
        let cuts = self.cuts(&of, &order, count);
        let mut owners = vec![0; self.load.len()];
        let mut loads = vec![0; count];
        for node in 0..of.len() {
            let position = order[of[node] as usize];
            let owner = cuts.partition_point(|&cut| cut <= position);
            owners[node] = owner as u16;
            loads[owner] += self.load[node];
        }
        let total: u64 = loads.iter().sum();
        let most = loads.iter().copied().max().unwrap_or(0);
        let uneven = if total == 0 { f64::INFINITY } else { most as f64 * count as f64 / total as f64 };
        (owners, uneven)
    }

    /// Position of each group in a breadth-first search that starts at a far end of the network.
    fn order(&self, of: &[u32]) -> Vec<usize> {
        let mut beside = vec![Vec::new(); of.len()];
        for &(near, far, _, paths) in &self.links {
            let (a, b) = (of[near as usize], of[far as usize]);
            if a != b && paths > 0 {
                beside[a as usize].push(b);
                beside[b as usize].push(a);
            }
        }
        let mut position = vec![usize::MAX; of.len()];
        let mut next = 0;
        for node in 0..of.len() {
            if of[node] as usize != node || position[node] < usize::MAX {
                continue;
            }
            let far = *search(node as u32, &beside).last().expect("the start itself");
            for group in search(far, &beside) {
                position[group as usize] = next;
                next += 1;
            }
        }
        position
    }

    /// Positions at which the next partition starts: where the fewest paths cross, near an even
    /// division of the load.
    fn cuts(&self, of: &[u32], order: &[usize], count: usize) -> Vec<usize> {
        let mut load = vec![0u64; of.len() + 1];
        for (node, &group) in of.iter().enumerate() {
            load[order[group as usize] + 1] += self.load[node];
        }
        (1..load.len()).for_each(|i| load[i] += load[i - 1]);
        let mut crossing = vec![0i64; of.len() + 2];
        for &(near, far, _, paths) in &self.links {
            let (a, b) = (order[of[near as usize] as usize], order[of[far as usize] as usize]);
            crossing[a.min(b) + 1] += paths as i64;
            crossing[a.max(b) + 1] -= paths as i64;
        }
        (1..crossing.len()).for_each(|i| crossing[i] += crossing[i - 1]);
        let total = *load.last().unwrap_or(&0);
        let slack = total / (16 * count as u64);
        let near_even = |part: usize| {
            let even = total * part as u64 / count as u64;
            let away = |i: &usize| load[*i].abs_diff(even);
            let best = (0..load.len()).min_by_key(away).unwrap_or(0);
            let close = (0..load.len()).filter(|i| away(i) <= slack);
            close.chain([best]).min_by_key(|&i| (crossing[i], away(&i))).unwrap_or(best)
        };
        (1..count).map(near_even).collect()
    }
}

/// Groups reachable from one, in the order of a breadth-first search.
fn search(from: u32, beside: &[Vec<u32>]) -> Vec<u32> {
    let mut seen = std::collections::BTreeSet::from([from]);
    let (mut found, mut due) = (Vec::new(), VecDeque::from([from]));
    while let Some(group) = due.pop_front() {
        found.push(group);
        due.extend(beside[group as usize].iter().copied().filter(|&other| seen.insert(other)));
    }
    found
}

/// First path of each pair.
fn paths_at_start(first: Option<&Chunk>) -> BTreeMap<PairId, &[LinkId]> {
    let mut paths = BTreeMap::new();
    for timed in first.iter().flat_map(|chunk| &chunk.changes) {
        if let Change::Path(pair, Some(links)) = &timed.change {
            paths.entry(*pair).or_insert(&**links);
        }
    }
    paths
}
