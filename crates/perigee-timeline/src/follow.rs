// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Follower of a timeline: the path of a pair's packets at an instant, and their delay.

use crate::model::*;
use perigee_units::{BitRate, Nanos};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The path of a pair at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathSnapshot {
    /// Nodes from end to end.
    pub nodes: Vec<NodeId>,
    /// Delay of each link, for packets that enter it at that instant.
    pub delays: Vec<Nanos>,
}

impl PathSnapshot {
    /// One-way propagation delay.
    pub fn one_way(&self) -> Nanos {
        self.delays.iter().fold(Nanos::ZERO, |sum, d| sum + *d)
    }
}

/// State of a timeline at an instant, which only advances.
#[derive(Debug, Default)]
pub struct Follower {
    /// Names of all nodes so far.
    pub names: Vec<String>,
    owners: Vec<NodeId>,
    ends: Vec<(NodeId, NodeId)>,
    /// Current delay of each link, and its start.
    delays: Vec<(Nanos, Delay)>,
    up: Vec<bool>,
    /// Port that feeds each link.
    feeders: Vec<PortId>,
    rates: Vec<BitRate>,
    paths: BTreeMap<PairId, Arc<[LinkId]>>,
    hops: BTreeMap<(NodeId, NodeId), LinkId>,
    pairs: Vec<Pair>,
    routing: Routing,
}

impl Follower {
    /// State at the start of a timeline.
    pub fn new(header: &Header) -> Self {
        let mut f = Follower { pairs: header.pairs.clone(), routing: header.routing, ..Follower::default() };
        f.meet(&header.nodes, &header.ports, &header.links, Nanos::ZERO);
        f
    }

    fn meet(&mut self, nodes: &[Node], ports: &[Port], links: &[Link], since: Nanos) {
        self.names.extend(nodes.iter().map(|n| n.name.clone()));
        self.owners.extend(ports.iter().map(|p| p.node));
        self.ends.extend(links.iter().map(|l| (self.owners[l.port.ix()], l.to)));
        self.delays.extend(links.iter().map(|l| (since, l.delay)));
        self.up.extend(links.iter().map(|l| l.up));
        self.feeders.extend(links.iter().map(|l| l.port));
        self.rates.extend(ports.iter().map(|p| p.spec.rate));
    }

    /// State of a complete timeline at time zero, with the changes of that instant.
    pub fn at_start(timeline: &Timeline) -> Self {
        let mut f = Follower::new(&timeline.header);
        if let Some(chunk) = timeline.chunks.first() {
            f.enter(chunk);
            chunk.changes.iter().take_while(|c| c.at == Nanos::ZERO).for_each(|c| f.apply(c));
        }
        f
    }

    /// Adds the nodes, ports and links of a chunk to the network; its changes are passed to
    /// [`Follower::apply`] afterwards.
    pub fn enter(&mut self, chunk: &Chunk) {
        self.meet(&chunk.nodes, &chunk.ports, &chunk.links, chunk.start);
    }

    /// Applies a change.
    pub fn apply(&mut self, c: &Timed) {
        match &c.change {
            Change::Delay(link, delay) => self.delays[link.ix()] = (c.at, *delay),
            Change::Rate(port, rate) => self.rates[port.ix()] = *rate,
            Change::Down(link, _) => self.up[link.ix()] = false,
            Change::Up(link) => self.up[link.ix()] = true,
            Change::Path(pair, Some(links)) => {
                self.paths.insert(*pair, links.clone());
            }
            Change::Path(pair, None) => {
                self.paths.remove(pair);
            }
            Change::NextHop { at, to, link: Some(link) } => {
                self.hops.insert((*at, *to), *link);
            }
            Change::NextHop { at, to, link: None } => {
                self.hops.remove(&(*at, *to));
            }
            Change::Background(..) | Change::Loss(..) | Change::Lose(..) | Change::Note(_) => {}
        }
    }

    /// Path of a pair at `t`, which must not be before the last change; `None` = unreachable.
    pub fn way(&self, pair: PairId, t: Nanos) -> Option<PathSnapshot> {
        let links = self.links(pair)?;
        let start = self.pairs[pair.ix()].from;
        let nodes = std::iter::once(start).chain(links.iter().map(|l| self.ends[l.ix()].1)).collect();
        Some(PathSnapshot { nodes, delays: links.iter().map(|&l| self.delay(l, t)).collect() })
    }

    /// Delay of a link that is entered at `t`, which must not be before the last change.
    pub fn delay(&self, link: LinkId, t: Nanos) -> Nanos {
        let (since, delay) = self.delays[link.ix()];
        delay.at(t.saturating_sub(since))
    }

    /// Port that feeds a link, and its rate.
    pub fn feeder(&self, link: LinkId) -> (PortId, BitRate) {
        let port = self.feeders[link.ix()];
        (port, self.rates[port.ix()])
    }

    /// Node at the far end of a link.
    pub fn far_end(&self, link: LinkId) -> NodeId {
        self.ends[link.ix()].1
    }

    /// First of the slowest ports along links, with its rate.
    pub fn slowest(&self, links: &[LinkId]) -> Option<(PortId, BitRate)> {
        links.iter().map(|&l| self.feeder(l)).min_by_key(|&(_, rate)| rate)
    }

    /// Whether all links are up and no port is blocked.
    pub fn carries(&self, links: &[LinkId]) -> bool {
        links.iter().all(|&l| self.up[l.ix()] && self.feeder(l).1 > BitRate(0))
    }

    /// Links of a pair's path; `None` = unreachable.
    pub fn links(&self, pair: PairId) -> Option<Vec<LinkId>> {
        if self.routing == Routing::PerPath {
            return self.paths.get(&pair).map(|l| l.to_vec());
        }
        let Pair { from, to } = self.pairs[pair.ix()];
        let (mut here, mut links) = (from, Vec::new());
        while here != to {
            let link = *self.hops.get(&(here, to))?;
            links.push(link);
            here = self.ends[link.ix()].1;
            // Next hops that form a loop lead nowhere.
            if links.len() > self.names.len() {
                return None;
            }
        }
        Some(links)
    }
}

/// Calls `visit` at every multiple of `step` before the end of a timeline, with all changes up to
/// that instant applied.
pub fn every(timeline: &Timeline, step: Nanos, mut visit: impl FnMut(Nanos, &Follower)) {
    let mut f = Follower::new(&timeline.header);
    let mut t = Nanos::ZERO;
    for chunk in &timeline.chunks {
        f.enter(chunk);
        for c in &chunk.changes {
            while t < c.at {
                visit(t, &f);
                t += step;
            }
            f.apply(c);
        }
        while t < chunk.end {
            visit(t, &f);
            t += step;
        }
    }
}
