// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Timeline of a [`Sky`], in chunks of ten seconds.
//!
//! A chunk is planned first (see `plan`); then one pass over its steps writes the changes.

mod handover;
mod network;
pub mod overlook;
pub(crate) mod plan;
pub mod reach;
pub(crate) mod snapshot;
pub mod survey;

use crate::frames::WGS84;
use crate::motion::positions::Positions;
use crate::paths::tree::{DOWN, NOWHERE};
use crate::sky::config::GroundKind;
use crate::sky::pair_searches::PairSearch;
use crate::sky::search::Routes;
use crate::sky::Sky;
use crate::stream::handover::{Hand, Terminal};
use crate::stream::network::{Step, StreamedNetwork, Vertex};
use crate::stream::plan::{Planner, Recorded, Steps};
use perigee_timeline::*;
use perigee_units::{Nanos, NS_PER_S};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Length of a chunk.
const CHUNK: Nanos = Nanos::from_secs(10);
/// Time for which the satellites of an abandoned path keep next-hop tables for packets still there.
const TABLE_LINGER: Nanos = Nanos::from_secs(2);

/// Timeline of a sky, computed lazily.
pub struct SkyStream {
    sky: Arc<Sky>,
    net: StreamedNetwork,
    terminals: Vec<Terminal>,
    planner: Planner,
    paths: Vec<Option<Vec<u32>>>,
    tables: Tables,
    changes: Vec<Timed>,
    next: Nanos,
    /// Next step, in steps from the start.
    step: u64,
}

/// Next hops as last written, and the satellites that need them.
#[derive(Default)]
struct Tables {
    written: BTreeMap<(Vertex, usize), Option<LinkId>>,
    /// Last time at which a satellite was on a path to a root.
    live: BTreeMap<(usize, Vertex), Nanos>,
}

impl Sky {
    /// Ground points, pairs and all other constants of the timeline.
    pub fn header(&self) -> Header {
        self.header_of(&StreamedNetwork::new(self))
    }

    fn header_of(&self, net: &StreamedNetwork) -> Header {
        let pair = |&(a, b): &(usize, usize)| Pair { from: NodeId(a as u32), to: NodeId(b as u32) };
        Header {
            title: self.spec.title.clone(),
            duration: self.spec.duration,
            routing: self.spec.routing,
            nodes: net.new_nodes.clone(),
            ports: net.new_ports.clone(),
            links: Vec::new(),
            pairs: self.spec.pairs.iter().map(pair).collect(),
            spread: None,
        }
    }

    /// The chunks that follow [`Sky::header`].
    pub fn stream(self: &Arc<Self>) -> SkyStream {
        self.stream_of(Planner::new(self))
    }

    /// The same with recorded paths. Requires that all ground points are stations, and routing per
    /// path.
    pub fn replay(self: &Arc<Self>, recorded: Recorded) -> SkyStream {
        self.stream_of(Planner::replaying(self, recorded))
    }

    fn stream_of(self: &Arc<Self>, planner: Planner) -> SkyStream {
        let mut net = StreamedNetwork::new(self);
        net.new_nodes.clear();
        net.new_ports.clear();
        SkyStream {
            sky: Arc::clone(self),
            net,
            terminals: vec![Terminal::default(); self.spec.ground.len()],
            planner,
            paths: Vec::new(),
            tables: Tables::default(),
            changes: Vec::new(),
            next: Nanos::ZERO,
            step: 0,
        }
    }

    /// The complete timeline, in memory.
    ///
    /// # Errors
    /// If a satellite decays during the run.
    pub fn timeline(self: &Arc<Self>) -> Result<Timeline, String> {
        let mut stream = self.stream();
        let mut chunks = Vec::new();
        while let Some(chunk) = stream.next_chunk()? {
            chunks.push(chunk);
        }
        Ok(Timeline { header: self.header(), chunks })
    }
}

impl ChunkSource for SkyStream {
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, String> {
        let duration = self.sky.spec.duration;
        if self.next >= duration {
            return Ok(None);
        }
        let start = self.next;
        let end = (start + CHUNK).min(duration);
        let length = self.sky.spec.step;
        let steps = self.step..end.0.div_ceil(length.0);
        self.step = steps.end;
        let mut tracks = Vec::new();
        if !steps.is_empty() {
            let steps = self.planner.steps(steps)?;
            let next = steps.moments.iter().skip(1).map(|m| &m.positions).chain([&steps.after]);
            for (((&t, m), next), r) in steps.times.iter().zip(&steps.moments).zip(next).zip(&steps.routes) {
                self.write_step(t, Step { now: &m.positions, next, length }, r);
            }
            tracks = self.tracks(&steps);
        }
        self.tick(end);
        if self.sky.constellation.has_laser_faults() {
            self.net.laser_outages(&self.sky, end, &mut self.changes);
        }
        self.next = end;
        let mut changes = std::mem::take(&mut self.changes);
        // Outages end between steps and their ends are written first: a stable sort puts them in
        // order.
        changes.sort_by_key(|c| c.at);
        Ok(Some(Arc::new(Chunk {
            start,
            end,
            nodes: std::mem::take(&mut self.net.new_nodes),
            ports: std::mem::take(&mut self.net.new_ports),
            links: std::mem::take(&mut self.net.new_links),
            changes,
            tracks,
        })))
    }
}

impl SkyStream {
    fn tick(&mut self, limit: Nanos) {
        for (ground, terminal) in self.terminals.iter_mut().enumerate() {
            terminal.tick(
                &mut Hand { sky: &self.sky, net: &mut self.net, out: &mut self.changes, ground, at: None },
                limit,
            );
        }
    }

    /// Writes the changes at `t`: link states first, then delays, then routes, then notes.
    fn write_step(&mut self, t: Nanos, step: Step<'_>, r: &Routes) {
        let sky = Arc::clone(&self.sky);
        // An outage that ends at `t` ends before all other changes at that time.
        self.tick(t + Nanos(1));
        self.hand_over(t, step.now, r);
        let begins = t == Nanos::ZERO;
        let mut routes = Vec::new();
        let mut notes = Vec::new();
        self.paths.resize(sky.ways.len(), None);
        for (i, way) in sky.ways.iter().enumerate() {
            let new = &r.paths[i];
            let there = new.as_ref().map(|p| self.used(way, p, t));
            if begins || self.paths[i] != *new {
                if sky.spec.routing == Routing::PerPath {
                    routes.extend(path_changes(way, there.as_ref()));
                }
                let old = std::mem::replace(&mut self.paths[i], new.clone());
                let change =
                    PathNote { way, old: &old, new, links: there.as_ref().map(|l| &l[0][..]), begins };
                for note in self.path_notes(change, &step) {
                    // A station may make the same change for several pairs: one note suffices.
                    if !notes.contains(&note) {
                        notes.push(note);
                    }
                }
            }
        }
        if sky.spec.routing == Routing::PerHop {
            routes.extend(self.write_tables(t, r));
        }
        self.net.knots(&sky, t, step, &mut self.changes);
        self.changes.extend(routes.into_iter().map(|change| Timed { at: t, change }));
        self.changes.extend(notes.into_iter().map(|n| Timed { at: t, change: Change::Note(n) }));
    }

    fn hand_over(&mut self, t: Nanos, now: &Positions, r: &Routes) {
        let at = Some(now);
        let forced = self.sky.spec.handover.forced.is_some_and(|times| times.contains(t));
        for (ground, terminal) in self.terminals.iter_mut().enumerate() {
            if self.sky.spec.ground[ground].kind != GroundKind::Terminal {
                continue;
            }
            if t == Nanos::ZERO {
                terminal.begin(r.serving[ground]);
            } else if terminal.serving != r.serving[ground] || (forced && terminal.serving.is_some()) {
                let mut hand =
                    Hand { sky: &self.sky, net: &mut self.net, out: &mut self.changes, ground, at };
                terminal.change(&mut hand, t, r.serving[ground]);
            }
        }
    }

    /// Links of a path in both directions, marked as used.
    fn used(&mut self, way: &PairSearch, path: &[u32], t: Nanos) -> [Vec<LinkId>; 2] {
        let mut vertices = vec![self.net.ground(way.from)];
        vertices.extend(path);
        vertices.push(self.net.ground(way.root));
        let there = self.net.links(&self.sky, &vertices, t);
        vertices.reverse();
        [there, self.net.links(&self.sky, &vertices, t)]
    }

    fn path_notes(&mut self, c: PathNote<'_>, step: &Step<'_>) -> Vec<Note> {
        let mut notes = Vec::new();
        if let (Some(old), Some(new)) = (c.old, c.new) {
            let ends = [(c.way.from, old.first(), new.first()), (c.way.root, old.last(), new.last())];
            for (g, a, b) in ends {
                if a != b && self.sky.spec.ground[g].kind == GroundKind::Station {
                    notes.push(self.soft_handover(g, [a, b]));
                }
            }
        }
        let rtt = |links: &[LinkId]| {
            let one_way = links.iter().map(|&l| self.net.delay_now(&self.sky, l, step.now).as_secs_f64());
            2.0 * one_way.sum::<f64>()
        };
        let value = c.links.map_or(0.0, rtt);
        let kind = match (c.old, c.new) {
            (_, None) => Some(NoteKind::Unreachable),
            _ if c.begins => None,
            (None, Some(_)) => Some(NoteKind::Reachable),
            (Some(_), Some(_)) => Some(NoteKind::PathChange),
        };
        if let (Some(kind), Some(pair)) = (kind, c.way.noted) {
            let names = |p: &Vec<u32>| {
                let names: Vec<&str> = p.iter().map(|&v| self.sky.vertex_name(v)).collect();
                names.join(" ")
            };
            let text = c.new.as_ref().map(names).unwrap_or_default();
            notes.push(Note { kind, node: None, pair: Some(pair), value, text });
        }
        notes
    }

    fn soft_handover(&mut self, g: usize, [a, b]: [Option<&u32>; 2]) -> Note {
        let name = |s: Option<&u32>| s.map_or("", |&s| &self.sky.constellation.names[s as usize]);
        let text = format!("{} -> {}", name(a), name(b));
        let me = self.net.ground(g);
        let node = Some(self.net.node(&self.sky, me));
        Note { kind: NoteKind::Handover, node, pair: None, value: 0.0, text }
    }

    /// Changed next hops of satellites that may hold packets.
    fn write_tables(&mut self, t: Nanos, r: &Routes) -> Vec<Change> {
        let sky = Arc::clone(&self.sky);
        let mut out = Vec::new();
        for (way, path) in sky.ways.iter().zip(&r.paths) {
            for &sat in path.iter().flatten() {
                self.tables.live.insert((way.root, sat), t);
            }
            let first = path.as_ref().map(|p| p[0]);
            let from = self.net.ground(way.from);
            out.extend(self.next_hop(from, way.root, first, t));
        }
        self.tables.live.retain(|_, used| t.saturating_sub(*used) <= TABLE_LINGER);
        let roots: Vec<usize> = sky.roots().collect();
        for (&root, next) in roots.iter().zip(&r.next_hops) {
            let live: Vec<Vertex> =
                self.tables.live.range((root, 0)..(root + 1, 0)).map(|(k, _)| k.1).collect();
            let mut done = BTreeSet::new();
            for mut here in live {
                // Continue along the tree to the first satellite with next hops that are already
                // written.
                while done.insert(here) {
                    let hop = next[here as usize];
                    let to = match hop {
                        NOWHERE => None,
                        DOWN => Some(self.net.ground(root)),
                        sat => Some(sat),
                    };
                    out.extend(self.next_hop(here, root, to, t));
                    match hop {
                        NOWHERE | DOWN => break,
                        sat => here = sat,
                    }
                }
            }
        }
        out
    }

    fn next_hop(&mut self, at: Vertex, root: usize, to: Option<Vertex>, t: Nanos) -> Option<Change> {
        let link = to.map(|to| self.net.links(&self.sky, &[at, to], t)[0]);
        if self.tables.written.insert((at, root), link) == Some(link) {
            return None;
        }
        let root = self.net.ground(root);
        let (at, to) = (self.net.node(&self.sky, at), self.net.node(&self.sky, root));
        Some(Change::NextHop { at, to, link })
    }

    /// Positions, once per second, of the satellites on a path during that second.
    fn tracks(&mut self, steps: &Steps) -> Vec<TrackPoint> {
        let mut tracks = Vec::new();
        let (times, satellites) = (&steps.times, self.sky.constellation.len() as u32);
        let mut i = 0;
        while i < times.len() {
            let second = times[i].0 / NS_PER_S;
            let n = times[i..].iter().take_while(|t| t.0 / NS_PER_S == second).count();
            let on_paths = steps.routes[i..i + n].iter().flat_map(|r| r.paths.iter().flatten().flatten());
            let used: BTreeSet<u32> = on_paths.copied().filter(|&v| v < satellites).collect();
            for sat in used {
                let place = WGS84.geodetic(steps.moments[i].positions.get(sat as usize));
                tracks.push(TrackPoint { at: times[i], node: self.net.node(&self.sky, sat), place });
            }
            i += n;
        }
        tracks
    }
}

/// A path change.
struct PathNote<'a> {
    way: &'a PairSearch,
    old: &'a Option<Vec<u32>>,
    new: &'a Option<Vec<u32>>,
    links: Option<&'a [LinkId]>,
    begins: bool,
}

fn path_changes(way: &PairSearch, links: Option<&[Vec<LinkId>; 2]>) -> impl Iterator<Item = Change> {
    let of = |pair: Option<PairId>, direction: usize| {
        pair.map(|p| Change::Path(p, links.map(|l| Arc::from(&l[direction][..]))))
    };
    of(way.along, 0).into_iter().chain(of(way.against, 1))
}
