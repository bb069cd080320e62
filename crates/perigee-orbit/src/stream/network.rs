// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Nodes, ports and links with dense ids, created at first use, and the delays of the links in use.

use crate::frames::light_time;
use crate::links::lasers::LinkOutages;
use crate::motion::positions::Positions;
use crate::sky::config::GroundPorts;
use crate::sky::Sky;
use perigee_timeline::*;
use perigee_units::{Nanos, NS_PER_S};
use std::collections::BTreeMap;
use std::iter::Peekable;

/// A satellite (by number) or, numbered after all satellites, a ground point.
pub(crate) type Vertex = u32;

/// Time for which the delays of an abandoned path are updated: packets may still be in flight on
/// it.
const LINGER: Nanos = Nanos::from_secs(2);

/// A directed link of the timeline.
#[derive(Debug)]
struct Line {
    ends: [Vertex; 2],
    /// Current delay, and its start.
    knot: Option<(Nanos, Delay)>,
    last_used: Nanos,
    /// Whether its delay is being updated.
    active: bool,
    up: bool,
    /// Of an ISL: time up to which the outages of its lasers are written.
    written: Option<Nanos>,
    /// The outages that are not over by then.
    outages: Option<Peekable<LinkOutages>>,
}

/// The part of the constellation that is in the timeline so far, and the additions since the last
/// chunk.
#[derive(Debug)]
pub(crate) struct StreamedNetwork {
    satellites: usize,
    nodes: Vec<Option<NodeId>>,
    radios: Vec<Option<PortId>>,
    node_count: u32,
    port_count: u32,
    by_ends: BTreeMap<[Vertex; 2], LinkId>,
    lines: Vec<Line>,
    /// Links whose delays are being updated.
    active: Vec<LinkId>,
    pub new_nodes: Vec<Node>,
    pub new_ports: Vec<Port>,
    pub new_links: Vec<Link>,
}

/// Positions at the two ends of a step.
#[derive(Clone, Copy)]
pub(crate) struct Step<'a> {
    pub now: &'a Positions,
    pub next: &'a Positions,
    pub length: Nanos,
}

impl StreamedNetwork {
    /// Network of the ground points, and of their radios if these are shared.
    pub fn new(sky: &Sky) -> Self {
        let satellites = sky.constellation.len();
        let vertices = satellites + sky.spec.ground.len();
        let mut net = StreamedNetwork {
            satellites,
            nodes: vec![None; vertices],
            radios: vec![None; vertices],
            node_count: 0,
            port_count: 0,
            by_ends: BTreeMap::new(),
            lines: Vec::new(),
            active: Vec::new(),
            new_nodes: Vec::new(),
            new_ports: Vec::new(),
            new_links: Vec::new(),
        };
        for g in 0..sky.spec.ground.len() {
            net.node(sky, (satellites + g) as Vertex);
        }
        if sky.spec.ground_ports == GroundPorts::PerNode {
            for g in 0..sky.spec.ground.len() {
                net.radio(sky, (satellites + g) as Vertex);
            }
        }
        net
    }

    /// Vertex of a ground point.
    pub fn ground(&self, g: usize) -> Vertex {
        (self.satellites + g) as Vertex
    }

    /// Node of a vertex, created if new.
    pub fn node(&mut self, sky: &Sky, v: Vertex) -> NodeId {
        if let Some(id) = self.nodes[v as usize] {
            return id;
        }
        let node = match (v as usize).checked_sub(self.satellites) {
            None => Node {
                name: sky.constellation.names[v as usize].clone(),
                class: NodeClass::Satellite,
                place: None,
            },
            Some(g) => {
                let g = &sky.spec.ground[g];
                let class = match g.kind {
                    crate::sky::config::GroundKind::Terminal => NodeClass::Terminal,
                    crate::sky::config::GroundKind::Station => NodeClass::Station,
                };
                Node { name: g.name.clone(), class, place: Some(g.place) }
            }
        };
        self.new_nodes.push(node);
        let id = NodeId(self.node_count);
        self.node_count += 1;
        self.nodes[v as usize] = Some(id);
        id
    }

    fn port(&mut self, name: String, node: NodeId, spec: &PortSpec) -> PortId {
        self.new_ports.push(Port { name, node, spec: spec.clone() });
        self.port_count += 1;
        PortId(self.port_count - 1)
    }

    fn radio(&mut self, sky: &Sky, v: Vertex) -> PortId {
        if let Some(id) = self.radios[v as usize] {
            return id;
        }
        let name = format!("{} radio", sky.vertex_name(v));
        let node = self.node(sky, v);
        let id = self.port(name, node, sky.radio(v, None).0);
        self.radios[v as usize] = Some(id);
        id
    }

    /// The link between two vertices, created if new.
    pub fn link(&mut self, sky: &Sky, from: Vertex, to: Vertex) -> LinkId {
        if let Some(&id) = self.by_ends.get(&[from, to]) {
            return id;
        }
        let (node, far) = (self.node(sky, from), self.node(sky, to));
        let isl = from.max(to) < self.satellites as u32;
        let shared = sky.spec.ground_ports == GroundPorts::PerNode;
        let (spec, loss) = match isl {
            true => (&sky.spec.isl_port, sky.spec.radios.loss[1]),
            false => sky.radio(from, (!shared).then_some(to)),
        };
        let port = if !isl && shared {
            self.radio(sky, from)
        } else {
            self.port(format!("{}->{}", sky.vertex_name(from), sky.vertex_name(to)), node, spec)
        };
        // The delay is set by a change at the instant of first use.
        let link = Link { port, to: far, delay: Delay::default(), loss, up: true, order: LinkOrder::Fifo };
        self.new_links.push(link);
        let id = LinkId(self.lines.len() as u32);
        self.lines.push(Line {
            ends: [from, to],
            knot: None,
            last_used: Nanos::ZERO,
            active: false,
            up: true,
            written: None,
            outages: None,
        });
        self.by_ends.insert([from, to], id);
        id
    }

    /// Links along a list of vertices, marked as in use.
    pub fn links(&mut self, sky: &Sky, vertices: &[Vertex], t: Nanos) -> Vec<LinkId> {
        vertices
            .windows(2)
            .map(|w| {
                let id = self.link(sky, w[0], w[1]);
                self.touch(id, t);
                id
            })
            .collect()
    }

    /// Marks a link as in use.
    pub fn touch(&mut self, id: LinkId, t: Nanos) {
        let line = &mut self.lines[id.ix()];
        if !std::mem::replace(&mut line.active, true) {
            self.active.push(id);
        }
        line.last_used = t;
        line.written.get_or_insert(t);
    }

    /// Writes the outages of the lasers of all links until `end`. What is at a link at the start of
    /// its outage is lost.
    pub fn laser_outages(&mut self, sky: &Sky, end: Nanos, out: &mut Vec<Timed>) {
        for (line, id) in self.lines.iter_mut().zip(0..) {
            let [a, b] = line.ends;
            let Some(from) = line.written.filter(|_| a.max(b) < self.satellites as u32) else { continue };
            let outages = || sky.constellation.outages_of(a, b).peekable();
            let outages = line.outages.get_or_insert_with(outages);
            while outages.next_if(|o| o.end < from).is_some() {}
            while let Some(o) = outages.peek().filter(|o| o.start < end).cloned() {
                if std::mem::replace(&mut line.up, false) {
                    let down = Change::Down(LinkId(id), OutageMode::Flush);
                    out.push(Timed { at: o.start.max(from), change: down });
                }
                if o.end >= end {
                    break;
                }
                line.up = true;
                out.push(Timed { at: o.end, change: Change::Up(LinkId(id)) });
                outages.next();
            }
            line.written = Some(end);
        }
    }

    /// Sets the state of a link; true if it has changed.
    pub fn set_up(&mut self, id: LinkId, up: bool) -> bool {
        std::mem::replace(&mut self.lines[id.ix()].up, up) != up
    }

    /// Delay of a link at the start of a step.
    pub fn delay_now(&self, sky: &Sky, id: LinkId, at: &Positions) -> Nanos {
        let [a, b] = self.lines[id.ix()].ends.map(|v| sky.place(v, at));
        light_time(a, b)
    }

    /// New delays for all links in use. A link with an unchanged trend needs none: most ISLs
    /// within a plane.
    pub fn knots(&mut self, sky: &Sky, t: Nanos, step: Step<'_>, out: &mut Vec<Timed>) {
        let mut active = std::mem::take(&mut self.active);
        active.sort_unstable();
        active.retain(|&id| {
            let from = self.delay_now(sky, id, step.now);
            let keep = t.saturating_sub(self.lines[id.ix()].last_used) <= LINGER;
            let slope = if keep {
                let to = self.delay_now(sky, id, step.next);
                (to.0 as i64 - from.0 as i64) * NS_PER_S as i64 / step.length.0 as i64
            } else {
                0
            };
            let knot = Delay { base: from, slope };
            let as_before = |(since, d): (Nanos, Delay)| d.slope == slope && d.at(t - since) == from;
            let line = &mut self.lines[id.ix()];
            line.active = keep;
            if !line.knot.is_some_and(as_before) {
                line.knot = Some((t, knot));
                out.push(Timed { at: t, change: Change::Delay(id, knot) });
            }
            keep
        });
        self.active = active;
    }
}
