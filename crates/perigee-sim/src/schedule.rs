// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What happens next: tournament trees over sources of events, each with the one instant it knows.
//!
//! A source re-keys its leaf in place, so a tree never holds stale entries and costs O(log n) per change with no
//! allocation. The order of simultaneous events is part of the model: timeline changes, notices, departures of shared
//! ports, arrivals by link, transport timers by flow, the sampler; within a class the lower number goes first.

use perigee_units::Nanos;

/// A source of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The next change of the timeline.
    Timeline,
    /// The next notice to a flow.
    Notice,
    /// The packet in service at a port with several links departs.
    Port(u32),
    /// A packet arrives at the far end of a link.
    Link(u32),
    /// A transport timer of a flow.
    Flow(u32),
    /// The sampling instant.
    Sampler,
}

/// What happens next, over all classes of sources. A tree per class, so that the many flows do not deepen the tree of
/// the links, which is touched at every hop.
#[derive(Clone, Debug)]
pub struct Schedule {
    timeline: Nanos,
    notice: Nanos,
    ports: Tree,
    links: Tree,
    flows: Tree,
    sampler: Nanos,
}

impl Schedule {
    /// Room for so many sources; all are at "never".
    pub fn new(ports: usize, links: usize, flows: usize) -> Self {
        Schedule {
            timeline: Nanos::MAX,
            notice: Nanos::MAX,
            ports: Tree::new(ports),
            links: Tree::new(links),
            flows: Tree::new(flows),
            sampler: Nanos::MAX,
        }
    }

    /// Makes room for more ports and links, keeping every key.
    pub fn grow(&mut self, ports: usize, links: usize) {
        self.ports.grow(ports);
        self.links.grow(links);
    }

    /// The next event.
    #[inline]
    pub fn next(&self) -> (Nanos, Source) {
        let mut next = (self.timeline, Source::Timeline);
        for (at, source) in [
            (self.notice, Source::Notice),
            (self.ports.first(), Source::Port(self.ports.winner())),
            (self.links.first(), Source::Link(self.links.winner())),
            (self.flows.first(), Source::Flow(self.flows.winner())),
            (self.sampler, Source::Sampler),
        ] {
            if at < next.0 {
                next = (at, source);
            }
        }
        next
    }

    /// A source's next instant; [`Nanos::MAX`] = never.
    #[inline]
    pub fn set(&mut self, source: Source, at: Nanos) {
        match source {
            Source::Timeline => self.timeline = at,
            Source::Notice => self.notice = at,
            Source::Port(p) => self.ports.set(p, at),
            Source::Link(l) => self.links.set(l, at),
            Source::Flow(f) => self.flows.set(f, at),
            Source::Sampler => self.sampler = at,
        }
    }
}

/// A tournament tree. Leaves start at half of the nodes; where two are due at once, the left one wins.
#[derive(Clone, Debug)]
struct Tree {
    nodes: Vec<Node>,
}

/// The winner below a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    at: u64,
    leaf: u32,
}

/// Later than everything, with room for one more.
const NEVER: u64 = u64::MAX >> 1;

impl Tree {
    fn new(leaves: usize) -> Self {
        let size = leaves.next_power_of_two();
        let mut nodes = vec![Node { at: NEVER, leaf: 0 }; 2 * size];
        for (leaf, node) in nodes[size..].iter_mut().enumerate() {
            node.leaf = leaf as u32;
        }
        for i in (1..size).rev() {
            nodes[i] = nodes[2 * i];
        }
        Tree { nodes }
    }

    fn grow(&mut self, leaves: usize) {
        let size = self.nodes.len() / 2;
        if leaves <= size {
            return;
        }
        let mut new = Tree::new(leaves);
        for node in &self.nodes[size..] {
            new.set(node.leaf, Nanos(node.at));
        }
        *self = new;
    }

    #[inline]
    fn first(&self) -> Nanos {
        match self.nodes[1].at {
            NEVER => Nanos::MAX,
            at => Nanos(at),
        }
    }

    #[inline]
    fn winner(&self) -> u32 {
        self.nodes[1].leaf
    }

    #[inline]
    fn set(&mut self, leaf: u32, at: Nanos) {
        let nodes = self.nodes.as_mut_slice();
        let mut i = nodes.len() / 2 + leaf as usize;
        let mut winner = Node { at: at.0.min(NEVER), leaf };
        if nodes[i].at == winner.at {
            return;
        }
        nodes[i] = winner;
        while i > 1 {
            let other = nodes[i ^ 1];
            // Without a branch, because which of the two wins is as good as random: an odd node's sibling is the left
            // one and wins a tie.
            let lost = other.at < winner.at + (i & 1) as u64;
            winner.at = if lost { other.at } else { winner.at };
            winner.leaf = if lost { other.leaf } else { winner.leaf };
            i >>= 1;
            // Nothing above changes. (Where this leaf was the winner of all, everything does.)
            if nodes[i] == winner {
                return;
            }
            nodes[i] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simultaneous_events_come_in_the_order_of_their_class_and_number() {
        let mut s = Schedule::new(2, 3, 2);
        let order = [
            Source::Timeline,
            Source::Port(1),
            Source::Link(0),
            Source::Link(2),
            Source::Flow(1),
            Source::Sampler,
        ];
        for &src in order.iter().rev() {
            s.set(src, Nanos(5));
        }
        for &src in &order {
            assert_eq!(s.next(), (Nanos(5), src));
            s.set(src, Nanos::MAX);
        }
        assert_eq!(s.next().0, Nanos::MAX);
    }

    proptest::proptest! {
        #[test]
        fn the_tree_agrees_with_a_sorted_list(ops in proptest::collection::vec((0u32..20, 0u64..50), 1..300)) {
            let mut s = Schedule::new(0, 7, 3);
            let mut keys = [u64::MAX; 20];
            for (i, (link, at)) in ops.into_iter().enumerate() {
                if i == 100 { s.grow(4, 20); }
                let link = if i < 100 { link % 7 } else { link };
                keys[link as usize] = at;
                s.set(Source::Link(link), Nanos(at));
                let best = (0..20).min_by_key(|&k| (keys[k], k)).unwrap();
                assert_eq!(s.next(), (Nanos(keys[best]), Source::Link(best as u32)));
            }
        }
    }
}
