// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Overlay of fixed links on another network: nodes, ports and links that exist from the start, and
//! pairs with paths of the other network preceded and followed by some of these links.

use perigee_timeline::*;
use perigee_units::Nanos;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A pair of the combined network.
#[derive(Clone, Debug)]
struct Outer {
    /// Links before and after the inner path.
    around: [Vec<LinkId>; 2],
    /// The path does not use the inner network.
    alone: bool,
}

/// Combination of two networks: ids that the inner one adds after the start are shifted by the
/// number of fixed ones.
#[derive(Clone, Debug)]
pub struct Beside {
    header: Header,
    /// Number of nodes, ports and links of the inner network at the start, and of the fixed one.
    first: [u32; 3],
    more: [u32; 3],
    outer: Vec<Outer>,
    /// Pairs of the combined network by pair of the inner one.
    by_inner: BTreeMap<PairId, Vec<PairId>>,
}

impl Beside {
    /// Adds the nodes, ports and links of `fixed` to those of `inner`; nodes of the same name are
    /// merged. Pairs of both are dropped: see [`Beside::pair`].
    pub fn new(inner: Header, fixed: &Header) -> Beside {
        let mut header = Header { pairs: Vec::new(), ..inner };
        let count = |h: &Header| [h.nodes.len() as u32, h.ports.len() as u32, h.links.len() as u32];
        let first = count(&header);
        let mut ids = Vec::new();
        for node in &fixed.nodes {
            let known = header.nodes.iter().position(|n| n.name == node.name);
            ids.push(NodeId(known.unwrap_or(header.nodes.len()) as u32));
            if known.is_none() {
                header.nodes.push(Node { class: NodeClass::Host, ..node.clone() });
            }
        }
        header.ports.extend(fixed.ports.iter().map(|p| Port { node: ids[p.node.ix()], ..p.clone() }));
        header.links.extend(fixed.links.iter().map(|l| Link {
            port: PortId(l.port.0 + first[1]),
            to: ids[l.to.ix()],
            ..l.clone()
        }));
        let all = count(&header);
        let more = [0, 1, 2].map(|i| all[i] - first[i]);
        Beside { header, first, more, outer: Vec::new(), by_inner: BTreeMap::new() }
    }

    /// The initial combined network.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The pair between two nodes, created if new: over the path of a pair of the inner network,
    /// with fixed links (by their numbers in `fixed`) before and after.
    ///
    /// # Panics
    /// If no node has the name.
    pub fn pair(&mut self, ends: [&str; 2], inner: Option<PairId>, around: [&[LinkId]; 2]) -> PairId {
        let node = |name: &str| {
            let i = self.header.nodes.iter().position(|n| n.name == name);
            NodeId(i.expect("ends of pairs are nodes") as u32)
        };
        let pair = Pair { from: node(ends[0]), to: node(ends[1]) };
        if let Some(known) = self.header.pairs.iter().position(|p| *p == pair) {
            return PairId(known as u32);
        }
        let id = PairId(self.header.pairs.len() as u32);
        self.header.pairs.push(pair);
        let link = |l: &LinkId| LinkId(l.0 + self.first[2]);
        let around = around.map(|links| links.iter().map(link).collect());
        self.outer.push(Outer { around, alone: inner.is_none() });
        if let Some(inner) = inner {
            self.by_inner.entry(inner).or_default().push(id);
        }
        id
    }

    /// Applies the overlay to the chunks of the inner network.
    pub fn over<S: ChunkSource>(self, inner: S) -> Over<S> {
        Over { inner, beside: self, begun: false }
    }

    fn moved(&self, kind: usize, id: u32) -> u32 {
        if id < self.first[kind] {
            id
        } else {
            id + self.more[kind]
        }
    }
    fn node(&self, id: NodeId) -> NodeId {
        NodeId(self.moved(0, id.0))
    }
    fn port(&self, id: PortId) -> PortId {
        PortId(self.moved(1, id.0))
    }
    fn link(&self, id: LinkId) -> LinkId {
        LinkId(self.moved(2, id.0))
    }

    fn whole(&self, pair: PairId, path: &[LinkId]) -> Arc<[LinkId]> {
        let [before, behind] = &self.outer[pair.ix()].around;
        before
            .iter()
            .copied()
            .chain(path.iter().map(|l| self.link(*l)))
            .chain(behind.iter().copied())
            .collect()
    }

    fn changes(&self, change: &Change, out: &mut Vec<Change>) {
        let pairs = |inner: PairId| self.by_inner.get(&inner).into_iter().flatten().copied();
        let one = match change {
            Change::Rate(port, rate) => Change::Rate(self.port(*port), *rate),
            Change::Background(port, traffic) => Change::Background(self.port(*port), traffic.clone()),
            Change::Delay(link, delay) => Change::Delay(self.link(*link), *delay),
            Change::Loss(link, loss) => Change::Loss(self.link(*link), *loss),
            Change::Lose(link, packets) => Change::Lose(self.link(*link), *packets),
            Change::Down(link, mode) => Change::Down(self.link(*link), *mode),
            Change::Up(link) => Change::Up(self.link(*link)),
            Change::NextHop { at, to, link } => {
                Change::NextHop { at: self.node(*at), to: self.node(*to), link: link.map(|l| self.link(l)) }
            }
            Change::Path(inner, path) => {
                let whole = |id| path.as_ref().map(|p| self.whole(id, p));
                return out.extend(pairs(*inner).map(|id| Change::Path(id, whole(id))));
            }
            Change::Note(note) => {
                let note = Note { node: note.node.map(|n| self.node(n)), ..note.clone() };
                let Some(inner) = note.pair else { return out.push(Change::Note(note)) };
                let of_pair = |id| Change::Note(Note { pair: Some(id), ..note.clone() });
                return out.extend(pairs(inner).map(of_pair));
            }
        };
        out.push(one);
    }
}

/// Chunks of the combined network.
pub struct Over<S> {
    inner: S,
    beside: Beside,
    begun: bool,
}

impl<S: ChunkSource> ChunkSource for Over<S> {
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, String> {
        let Some(chunk) = self.inner.next_chunk()? else { return Ok(None) };
        let b = &self.beside;
        let mut changes = Vec::new();
        if !std::mem::replace(&mut self.begun, true) {
            let alone = b.outer.iter().enumerate().filter(|(_, o)| o.alone);
            changes.extend(alone.map(|(i, _)| Timed {
                at: Nanos::ZERO,
                change: Change::Path(PairId(i as u32), Some(b.whole(PairId(i as u32), &[]))),
            }));
        }
        let mut made = Vec::new();
        for t in &chunk.changes {
            b.changes(&t.change, &mut made);
            changes.extend(made.drain(..).map(|change| Timed { at: t.at, change }));
        }
        let ports = chunk.ports.iter().map(|p| Port { node: b.node(p.node), ..p.clone() });
        let links = chunk.links.iter().map(|l| Link { port: b.port(l.port), to: b.node(l.to), ..l.clone() });
        let tracks = chunk.tracks.iter().map(|t| TrackPoint { node: b.node(t.node), ..*t });
        Ok(Some(Arc::new(Chunk {
            start: chunk.start,
            end: chunk.end,
            nodes: chunk.nodes.clone(),
            ports: ports.collect(),
            links: links.collect(),
            changes,
            tracks: tracks.collect(),
        })))
    }
}
