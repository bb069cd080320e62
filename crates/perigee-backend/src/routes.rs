// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Listener to a timeline on its way to the simulator, which collects the data of maps: routes of
//! the traffic pairs and positions of the nodes.

use crate::capacity::{Step, Steps};
use perigee_record::tables::{RouteRow, RouteTable, TrackRow, TrackTable};
use perigee_record::Table;
use perigee_timeline::{
    Change, Chunk, ChunkSource, GeoPoint, Header, Link, LinkId, Node, NodeId, Pair, PairId, Port, PortId,
};
use perigee_units::Nanos;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

/// Rows not written yet.
#[derive(Debug, Default)]
pub struct RouteTables {
    routes: RouteTable,
    tracks: TrackTable,
}

impl RouteTables {
    /// Number of rows not written yet.
    pub fn rows(&self) -> usize {
        self.routes.t_ns.len() + self.tracks.t_ns.len()
    }

    /// Drains the routes and tracks so far.
    pub fn take(&mut self) -> [Table; 2] {
        [self.routes.take(), self.tracks.take()]
    }
}

/// Forwards chunks and records routes and tracks.
pub struct RouteListener<S> {
    inner: S,
    /// Near and far end of each link.
    links: Vec<(NodeId, NodeId)>,
    /// Port of each link.
    link_ports: Vec<PortId>,
    ports: Vec<Port>,
    nodes: Vec<String>,
    pairs: Vec<Pair>,
    /// Next hops by (node, destination), with per-hop routing.
    hops: HashMap<(NodeId, NodeId), LinkId>,
    /// Route of each pair, with per-hop routing.
    walked: Vec<Option<Vec<LinkId>>>,
    tables: Arc<Mutex<RouteTables>>,
    steps: Steps,
}

impl<S: ChunkSource> RouteListener<S> {
    /// Listener with the network at time zero.
    pub fn new(inner: S, header: &Header) -> Self {
        let mut l = RouteListener {
            inner,
            links: Vec::new(),
            link_ports: Vec::new(),
            ports: Vec::new(),
            nodes: Vec::new(),
            pairs: header.pairs.clone(),
            hops: HashMap::new(),
            walked: vec![None; header.pairs.len()],
            tables: Arc::default(),
            steps: Steps::default(),
        };
        l.extend(Nanos::ZERO, &header.nodes, &header.ports, &header.links);
        l
    }

    /// Tables to which routes and tracks are written; draining them keeps the listener's memory
    /// small.
    pub fn tables(&self) -> Arc<Mutex<RouteTables>> {
        self.tables.clone()
    }

    /// Steps from which capacities are computed; draining them keeps the listener's memory small.
    pub fn steps(&self) -> Steps {
        self.steps.clone()
    }

    fn step(&self, at: Nanos, step: Step) {
        self.steps.lock().expect("nothing panics with it").push_back((at, step));
    }

    fn lock(&self) -> MutexGuard<'_, RouteTables> {
        self.tables.lock().expect("nothing panics with it")
    }

    /// Names of all nodes so far.
    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// Near and far ends of all links so far.
    pub fn link_ends(&self) -> &[(NodeId, NodeId)] {
        &self.links
    }

    /// Port that feeds a link.
    pub fn port_of(&self, link: usize) -> Option<(PortId, &Port)> {
        let id = *self.link_ports.get(link)?;
        Some((id, self.ports.get(id.ix())?))
    }

    fn extend(&mut self, at: Nanos, nodes: &[Node], ports: &[Port], links: &[Link]) {
        for n in nodes {
            let id = NodeId(self.nodes.len() as u32);
            self.nodes.push(n.name.clone());
            if let Some(place) = n.place {
                self.track(at, id, place);
            }
        }
        self.ports.extend_from_slice(ports);
        ports.iter().for_each(|p| self.step(at, Step::Port(p.spec.rate)));
        for l in links {
            self.step(at, Step::Link(l.port, l.up));
            let from = self.ports.get(l.port.ix()).map_or(l.to, |p| p.node);
            self.links.push((from, l.to));
            self.link_ports.push(l.port);
        }
    }

    fn track(&mut self, at: Nanos, node: NodeId, place: GeoPoint) {
        self.lock().tracks.push(TrackRow {
            t_ns: at.0,
            node: node.0,
            name: self.nodes.get(node.ix()).cloned().unwrap_or_default(),
            lat_deg: place.lat_deg,
            lon_deg: place.lon_deg,
            height_m: place.height_m,
        });
    }

    fn route(&mut self, at: Nanos, pair: PairId, links: Option<&[LinkId]>) {
        self.step(at, Step::Route(pair, links.map(<[LinkId]>::to_vec)));
        let first = links.and_then(|l| l.first()).map(|l| self.links[l.ix()].0);
        let rest = links.unwrap_or_default().iter().map(|l| self.links[l.ix()].1);
        let nodes: Vec<NodeId> = first.into_iter().chain(rest).collect();
        if nodes.is_empty() {
            self.lock().routes.push(RouteRow { t_ns: at.0, pair: pair.0, hop: 0, node: None });
        }
        for (hop, node) in nodes.into_iter().enumerate() {
            self.lock().routes.push(RouteRow {
                t_ns: at.0,
                pair: pair.0,
                hop: hop as u32,
                node: Some(node.0),
            });
        }
    }

    /// Follows the tables for each pair and records the routes that have changed.
    fn walk_all(&mut self, at: Nanos) {
        for i in 0..self.pairs.len() {
            let way = self.walk(self.pairs[i]);
            if way != self.walked[i] {
                self.route(at, PairId(i as u32), way.as_deref());
                self.walked[i] = way;
            }
        }
    }

    /// Links from end to end; `None` without a route, or if the tables form a loop.
    fn walk(&self, pair: Pair) -> Option<Vec<LinkId>> {
        let (mut here, mut way) = (pair.from, Vec::new());
        while here != pair.to {
            let link = *self.hops.get(&(here, pair.to))?;
            way.push(link);
            here = self.links.get(link.ix())?.1;
            if way.len() > self.nodes.len() {
                return None;
            }
        }
        Some(way)
    }

    fn listen(&mut self, chunk: &Chunk) {
        self.extend(chunk.start, &chunk.nodes, &chunk.ports, &chunk.links);
        let mut turned = None;
        for t in &chunk.changes {
            // Table changes at one instant together form one new route.
            if let Some(at) = turned.filter(|&at| at < t.at) {
                self.walk_all(at);
                turned = None;
            }
            match &t.change {
                Change::Path(pair, links) => self.route(t.at, *pair, links.as_deref()),
                Change::NextHop { at, to, link } => {
                    match link {
                        Some(link) => self.hops.insert((*at, *to), *link),
                        None => self.hops.remove(&(*at, *to)),
                    };
                    turned = Some(t.at);
                }
                Change::Rate(port, rate) => self.step(t.at, Step::Rate(*port, *rate)),
                Change::Up(link) => self.step(t.at, Step::Up(*link, true)),
                Change::Down(link, _) => self.step(t.at, Step::Up(*link, false)),
                _ => {}
            }
        }
        if let Some(at) = turned {
            self.walk_all(at);
        }
        let mut seen = HashSet::new();
        for p in &chunk.tracks {
            // Two positions of a node at one time would make the map jump.
            if seen.insert((p.at, p.node)) {
                self.track(p.at, p.node, p.place);
            }
        }
    }
}

impl<S: ChunkSource> ChunkSource for RouteListener<S> {
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, String> {
        let chunk = self.inner.next_chunk()?;
        if let Some(c) = &chunk {
            self.listen(c);
        }
        Ok(chunk)
    }
}
