// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What happens next: a tournament tree over sources of events, each with the one instant it knows.
//!
//! A source re-keys its leaf in place, so the tree never holds stale entries and costs O(log n) per change with no
//! allocation. The order of simultaneous events is part of the model: the leaf with the lower number wins, and leaves
//! are numbered by class: timeline changes, departures of shared ports, arrivals by link, transport timers by flow,
//! the sampler.

use perigee_units::Nanos;

/// A source of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The next change of the timeline.
    Timeline,
    /// The packet in service at a port with several links departs.
    Port(u32),
    /// A packet arrives at the far end of a link.
    Link(u32),
    /// A transport timer of a flow.
    Flow(u32),
    /// The sampling instant.
    Sampler,
}

/// The tree.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Per node of the tree: winner's time and leaf. Leaves start at `size`.
    nodes: Vec<(u64, u32)>,
    size: usize,
    ports: usize,
    links: usize,
    flows: usize,
}

const TIMELINE: usize = 0;

impl Schedule {
    /// Room for so many sources; all are at "never".
    pub fn new(ports: usize, links: usize, flows: usize) -> Self {
        let size = (1 + ports + links + flows + 1).next_power_of_two();
        let mut nodes = vec![(u64::MAX, 0); 2 * size];
        for (leaf, node) in nodes[size..].iter_mut().enumerate() {
            node.1 = leaf as u32;
        }
        let mut s = Schedule { nodes, size, ports, links, flows };
        for i in (1..size).rev() {
            s.nodes[i] = s.better(i);
        }
        s
    }

    /// Makes room for more ports and links, keeping every key.
    pub fn grow(&mut self, ports: usize, links: usize) {
        if ports <= self.ports && links <= self.links {
            return;
        }
        let mut new = Schedule::new(ports.max(2 * self.ports), links.max(2 * self.links), self.flows);
        for leaf in 0..self.size {
            let key = self.nodes[self.size + leaf].0;
            if key != u64::MAX {
                new.set(self.source(leaf), Nanos(key));
            }
        }
        *self = new;
    }

    /// The next event.
    #[inline]
    pub fn next(&self) -> (Nanos, Source) {
        let (at, leaf) = self.nodes[1];
        (Nanos(at), self.source(leaf as usize))
    }

    /// A source's next instant; [`Nanos::MAX`] = never.
    #[inline]
    pub fn set(&mut self, source: Source, at: Nanos) {
        let leaf = match source {
            Source::Timeline => TIMELINE,
            Source::Port(p) => 1 + p as usize,
            Source::Link(l) => 1 + self.ports + l as usize,
            Source::Flow(f) => 1 + self.ports + self.links + f as usize,
            Source::Sampler => 1 + self.ports + self.links + self.flows,
        };
        self.rekey(leaf, at.0);
    }

    #[inline]
    fn rekey(&mut self, leaf: usize, key: u64) {
        let mut i = self.size + leaf;
        if self.nodes[i].0 == key {
            return;
        }
        self.nodes[i].0 = key;
        while i > 1 {
            i >>= 1;
            let winner = self.better(i);
            if self.nodes[i] == winner {
                return;
            }
            self.nodes[i] = winner;
        }
    }

    #[inline]
    fn better(&self, i: usize) -> (u64, u32) {
        let (left, right) = (self.nodes[2 * i], self.nodes[2 * i + 1]);
        if right.0 < left.0 {
            right
        } else {
            left
        }
    }

    #[inline]
    fn source(&self, leaf: usize) -> Source {
        let (ports, links) = (1 + self.ports, 1 + self.ports + self.links);
        if leaf >= ports && leaf < links {
            Source::Link((leaf - ports) as u32)
        } else if leaf >= links {
            match leaf - links {
                f if f < self.flows => Source::Flow(f as u32),
                _ => Source::Sampler,
            }
        } else if leaf == TIMELINE {
            Source::Timeline
        } else {
            Source::Port((leaf - 1) as u32)
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
