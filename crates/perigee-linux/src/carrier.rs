// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Carriers of interfaces: a host configured for it has no carrier during an outage of its node,
//! nor while all links of the node are down. A listener reads outages from the notes of a timeline
//! on their way to the simulator.

use crate::plan::HostPlan;
use perigee_timeline::{Change, Chunk, ChunkSource, Header, Link, LinkId, NodeId, Note, NoteKind, Port};
use perigee_units::Nanos;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A change of an interface's carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarrierChange {
    /// Time of the change.
    pub at: Nanos,
    /// Number of the host.
    pub host: usize,
    /// Whether the carrier is up from then on.
    pub carrier: bool,
}

/// Carrier changes found by a listener, to be passed on to the hosts.
pub struct Carriers {
    found: Arc<Mutex<VecDeque<CarrierChange>>>,
    /// Hosts that have lost their carrier at least once.
    lost: Vec<usize>,
}

impl Carriers {
    /// Takes the changes before an instant that have not been taken yet.
    pub fn due(&mut self, before: Nanos) -> Vec<CarrierChange> {
        let mut found = lock(&self.found);
        let count = found.partition_point(|change| change.at < before.max(Nanos(1)));
        let due: Vec<CarrierChange> = found.drain(..count).collect();
        for change in due.iter().filter(|change| !change.carrier) {
            if !self.lost.contains(&change.host) {
                self.lost.push(change.host);
            }
        }
        due
    }

    /// Warnings about hosts for which the key had no effect.
    pub fn remarks<'a>(&'a self, plan: &'a HostPlan) -> impl Iterator<Item = String> + 'a {
        plan.carrier.iter().filter(|host| !self.lost.contains(host)).map(|&host| {
            let name = &plan.job.hosts[host].name;
            format!("hosts.carrier names {name}, which had no outage in this run")
        })
    }
}

/// A node being watched.
struct Watched {
    host: usize,
    node: NodeId,
    /// Number of its links, and of those that are up.
    links: usize,
    up: usize,
    /// Number of outages in progress.
    outages: usize,
    carrier: bool,
}

/// Forwards chunks, and determines when interfaces lose their carrier.
pub struct Listener<S> {
    inner: S,
    watched: Vec<Watched>,
    /// Node of each port.
    ports: Vec<NodeId>,
    /// Near end of each link, and whether the link is up.
    links: Vec<(NodeId, bool)>,
    found: Arc<Mutex<VecDeque<CarrierChange>>>,
}

impl<S: ChunkSource> Listener<S> {
    /// Watches the nodes of some hosts: `carrier` has the numbers of these hosts, `nodes` the node
    /// of each host.
    pub fn new(inner: S, header: &Header, nodes: &[NodeId], carrier: &[usize]) -> Self {
        let watch =
            |&host: &usize| Watched { host, node: nodes[host], links: 0, up: 0, outages: 0, carrier: true };
        let watched = carrier.iter().map(watch).collect();
        let mut listener =
            Listener { inner, watched, ports: Vec::new(), links: Vec::new(), found: Arc::default() };
        listener.extend(&header.ports, &header.links);
        listener
    }

    /// Queue of the changes found.
    pub fn carriers(&self) -> Carriers {
        Carriers { found: self.found.clone(), lost: Vec::new() }
    }

    fn extend(&mut self, ports: &[Port], links: &[Link]) {
        self.ports.extend(ports.iter().map(|port| port.node));
        for link in links {
            let near = self.ports.get(link.port.ix()).copied().unwrap_or(link.to);
            self.links.push((near, link.up));
            for node in self.watched.iter_mut().filter(|w| w.node == near) {
                node.links += 1;
                node.up += usize::from(link.up);
            }
        }
    }

    fn set_link(&mut self, link: LinkId, up: bool) {
        let Some((near, was)) = self.links.get_mut(link.ix()).filter(|(_, was)| *was != up) else { return };
        *was = up;
        for node in self.watched.iter_mut().filter(|w| w.node == *near) {
            node.up = if up { node.up + 1 } else { node.up - 1 };
        }
    }

    fn note(&mut self, note: &Note) {
        let begins = match note.kind {
            NoteKind::OutageBegin => true,
            NoteKind::OutageEnd => false,
            _ => return,
        };
        // Notes without a node apply to the entire path.
        for node in self.watched.iter_mut().filter(|w| note.node.is_none_or(|node| node == w.node)) {
            node.outages = if begins { node.outages + 1 } else { node.outages.saturating_sub(1) };
        }
    }

    /// Records the carrier changes of an instant, once all its events have been processed.
    fn settle(&mut self, at: Nanos) {
        for node in &mut self.watched {
            let carrier = node.outages == 0 && (node.up > 0 || node.links == 0);
            if carrier != node.carrier {
                node.carrier = carrier;
                lock(&self.found).push_back(CarrierChange { at, host: node.host, carrier });
            }
        }
    }

    fn listen(&mut self, chunk: &Chunk) {
        self.extend(&chunk.ports, &chunk.links);
        let mut at = chunk.start;
        for timed in &chunk.changes {
            if timed.at > at {
                self.settle(at);
                at = timed.at;
            }
            match &timed.change {
                Change::Up(link) => self.set_link(*link, true),
                Change::Down(link, _) => self.set_link(*link, false),
                Change::Note(note) => self.note(note),
                _ => {}
            }
        }
        self.settle(at);
    }
}

impl<S: ChunkSource> ChunkSource for Listener<S> {
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, String> {
        let chunk = self.inner.next_chunk()?;
        if let (Some(chunk), false) = (&chunk, self.watched.is_empty()) {
            self.listen(chunk);
        }
        Ok(chunk)
    }
}

fn lock(found: &Mutex<VecDeque<CarrierChange>>) -> MutexGuard<'_, VecDeque<CarrierChange>> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_timeline::{
        Delay, LinkOrder, OutageMode, PortId, PortSpec, Queue, QueueLimit, Timed, Timeline,
    };
    use perigee_units::BitRate;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    /// A network of two nodes with a link from the first to the second, which is up or down.
    fn header(up: bool) -> Header {
        let queue = Queue::drop_tail(QueueLimit::Packets(1));
        let port = Port {
            name: "p".into(),
            node: NodeId(0),
            spec: PortSpec { queue, ..PortSpec::packets(BitRate(1), 1) },
        };
        let delay = Delay::constant(MS(1));
        let link = Link { port: PortId(0), to: NodeId(1), delay, loss: 0.0, up, order: LinkOrder::Fifo };
        Header { duration: MS(1000), ports: vec![port], links: vec![link], ..Header::default() }
    }

    fn note(at: u64, kind: NoteKind, node: Option<u32>) -> Timed {
        let note = Note { kind, node: node.map(NodeId), pair: None, value: 0.0, text: String::new() };
        Timed { at: MS(at), change: Change::Note(note) }
    }

    /// Instants in ms and carriers of host 1, which is node 0.
    fn states(up: bool, changes: Vec<Timed>) -> Vec<(u64, bool)> {
        let timeline = Timeline::single(header(up), changes);
        let mut listener = Listener::new(timeline.reader(), &timeline.header, &[NodeId(1), NodeId(0)], &[1]);
        let mut carriers = listener.carriers();
        while listener.next_chunk().unwrap().is_some() {}
        carriers.due(MS(1000)).iter().map(|c| (c.at.0 / 1_000_000, c.carrier)).collect()
    }

    #[test]
    fn outages_of_the_node_and_of_the_whole_path_take_the_carrier() {
        use NoteKind::{OutageBegin, OutageEnd};
        let changes = vec![
            note(10, OutageBegin, None),
            note(20, OutageBegin, Some(0)),
            note(30, OutageEnd, None),
            note(40, OutageEnd, Some(0)),
            // An outage of another node, and an outage that ends at once.
            note(50, OutageBegin, Some(1)),
            note(60, OutageBegin, None),
            note(60, OutageEnd, None),
        ];
        assert_eq!(states(true, changes), [(10, false), (40, true)]);
    }

    #[test]
    fn a_node_without_a_link_has_no_carrier() {
        let change = |at, change| Timed { at: MS(at), change };
        let down = |at| change(at, Change::Down(LinkId(0), OutageMode::Flush));
        let up = |at| change(at, Change::Up(LinkId(0)));
        // Only the outcome at an instant counts; changes that leave the carrier as it is are not
        // reported.
        let changes = vec![down(10), up(10), down(20), down(25), up(30)];
        assert_eq!(states(true, changes), [(20, false), (30, true)]);
        assert_eq!(states(false, vec![up(5)]), [(0, false), (5, true)]);
    }
}
