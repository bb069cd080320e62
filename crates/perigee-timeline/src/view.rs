// SPDX-License-Identifier: Apache-2.0 OR MIT
//! View of a traffic pair over time, without traffic.

use crate::follow::Follower;
use crate::model::*;
use perigee_units::{BitRate, Nanos};
use std::collections::BTreeMap;
use std::sync::Arc;

/// View of a pair and its reverse pair over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairView {
    /// Sampling instants.
    pub t: Vec<Nanos>,
    /// Round-trip propagation delay; `None` = unreachable.
    pub rtt: Vec<Option<Nanos>>,
    /// Rate of the slowest port on the forward path; `None` = unreachable.
    pub rate: Vec<Option<BitRate>>,
    /// Number of links of the forward path; zero = unreachable.
    pub hops: Vec<u32>,
    /// Periods without connectivity: no route, a link down, or a blocked port. Exact start and end.
    pub outages: Vec<(Nanos, Nanos)>,
    /// Exact times at which the forward path changes.
    pub path_changes: Vec<Nanos>,
}

/// Follows a pair and its reverse pair through a timeline, with a sample every `step`.
pub fn view(timeline: &Timeline, forward: PairId, back: PairId, step: Nanos) -> PairView {
    let mut watcher = Watcher::new(&timeline.header, [forward, back], step);
    timeline.chunks.iter().for_each(|chunk| watcher.see(chunk));
    watcher.end(timeline.header.duration)
}

/// Numbers of nodes, ports, links and changes of a timeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of ports.
    pub ports: usize,
    /// Number of links.
    pub links: usize,
    /// Number of changes of each kind.
    pub changes: BTreeMap<&'static str, usize>,
}

impl Contents {
    /// Counts at time zero.
    pub fn new(header: &Header) -> Self {
        let (nodes, ports, links) = (header.nodes.len(), header.ports.len(), header.links.len());
        Contents { nodes, ports, links, changes: BTreeMap::new() }
    }

    /// Adds the counts of a chunk.
    pub fn add(&mut self, chunk: &Chunk) {
        self.nodes += chunk.nodes.len();
        self.ports += chunk.ports.len();
        self.links += chunk.links.len();
        for c in &chunk.changes {
            *self.changes.entry(kind(&c.change)).or_default() += 1;
        }
    }
}

fn kind(change: &Change) -> &'static str {
    match change {
        Change::Rate(..) => "rate",
        Change::Background(..) => "background",
        Change::Delay(..) => "delay",
        Change::Loss(..) | Change::Lose(..) => "loss",
        Change::Down(..) => "down",
        Change::Up(_) => "up",
        Change::Path(..) => "path",
        Change::NextHop { .. } => "next hop",
        Change::Note(_) => "note",
    }
}

/// A source of chunks with observers of the chunks that it returns.
pub struct Watched<'a> {
    source: &'a mut dyn ChunkSource,
    /// Watchers of pairs.
    pub watchers: Vec<Watcher>,
    /// Counts so far.
    pub contents: Contents,
}

impl<'a> Watched<'a> {
    /// Source of the chunks that follow `header`.
    pub fn new(header: &Header, source: &'a mut dyn ChunkSource, watchers: Vec<Watcher>) -> Self {
        Watched { source, watchers, contents: Contents::new(header) }
    }
}

impl ChunkSource for Watched<'_> {
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, String> {
        perigee_units::stop::check()?;
        let chunk = self.source.next_chunk()?;
        if let Some(chunk) = &chunk {
            self.watchers.iter_mut().for_each(|w| w.see(chunk));
            self.contents.add(chunk);
        }
        Ok(chunk)
    }
}

/// Follows a pair chunk by chunk, so that chunks need not be kept.
pub struct Watcher {
    now: Follower,
    ways: [PairId; 2],
    step: Nanos,
    view: PairView,
    last_route: Option<Vec<LinkId>>,
    closed_since: Option<Nanos>,
}

impl Watcher {
    /// Watcher of a pair and its reverse pair, with a sample every `step`.
    pub fn new(header: &Header, ways: [PairId; 2], step: Nanos) -> Self {
        Watcher {
            now: Follower::new(header),
            ways,
            step: step.max(Nanos(1)),
            view: PairView::default(),
            last_route: None,
            closed_since: None,
        }
    }

    /// Processes the next chunk.
    pub fn see(&mut self, chunk: &Chunk) {
        self.sample_until(chunk.start);
        self.now.enter(chunk);
        for instant in chunk.changes.chunk_by(|a, b| a.at == b.at) {
            self.sample_until(instant[0].at);
            instant.iter().for_each(|c| self.now.apply(c));
            self.note(instant[0].at);
        }
    }

    /// Completes the view after the last chunk.
    pub fn end(mut self, end: Nanos) -> PairView {
        self.sample_until(end);
        self.view.outages.extend(self.closed_since.map(|since| (since, end)));
        self.view
    }

    /// Samples up to `end` (exclusive): changes at an instant apply from that instant on.
    fn sample_until(&mut self, end: Nanos) {
        loop {
            let t = self.step * self.view.t.len() as u64;
            if t >= end {
                return;
            }
            let [there, back] = self.ways.map(|p| self.now.links(p));
            let one_way =
                |links: &Vec<LinkId>| links.iter().fold(Nanos::ZERO, |sum, &l| sum + self.now.delay(l, t));
            let rtt = there.as_ref().zip(back.as_ref()).map(|(a, b)| one_way(a) + one_way(b));
            self.view.rtt.push(rtt);
            self.view.rate.push(there.as_deref().and_then(|l| self.now.slowest(l)).map(|(_, rate)| rate));
            self.view.hops.push(there.map_or(0, |l| l.len() as u32));
            self.view.t.push(t);
        }
    }

    fn note(&mut self, t: Nanos) {
        let [there, back] = self.ways.map(|p| self.now.links(p));
        let open = [&there, &back].iter().all(|way| way.as_deref().is_some_and(|l| self.now.carries(l)));
        if open {
            self.view.outages.extend(self.closed_since.take().map(|since| (since, t)));
        } else {
            self.closed_since.get_or_insert(t);
        }
        if there.is_some() && there != self.last_route {
            if self.last_route.is_some() {
                self.view.path_changes.push(t);
            }
            self.last_route = there;
        }
    }
}
