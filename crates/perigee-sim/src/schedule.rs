// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Event scheduler: tournament trees over sources of events, one pending instant per source.
//!
//! A source changes the key of its leaf in place, so a tree never holds stale entries, and a change
//! costs O(log n) without allocation. The order of simultaneous events is part of the model:
//! timeline changes, notices, departures of shared ports, arrivals by link, packets from outside,
//! transport timers by flow (of the receiving end, then of the sending end), the sampler; within a class
//! the source with the lower number comes first.

use perigee_units::Nanos;

/// Simulations with link numbers of at least this many bits exceed the first-level cache.
const WIDE: u32 = 8;

/// Source of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Next change of the timeline.
    Timeline,
    /// Next notice to a flow.
    Notice,
    /// Departure of the packet in service at a port with several links.
    Port(u32),
    /// Arrival of a packet at the far end of a link.
    Link(u32),
    /// Injection of an external packet.
    Injection,
    /// Timer of one end of a flow.
    End(End),
    /// Sampling instant.
    Sampler,
}

/// An end of a flow, as a source of events: the receiving end of flow f has number 2 f, the sending
/// end 2 f + 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End(pub u32);

impl End {
    /// The receiving end of a flow.
    pub const fn receiving(flow: u32) -> End {
        End(flow << 1)
    }

    /// The sending end of a flow.
    pub const fn sending(flow: u32) -> End {
        End(flow << 1 | 1)
    }

    /// Its flow.
    pub const fn flow(self) -> u32 {
        self.0 >> 1
    }

    /// Whether it is the sending end.
    pub const fn is_sending(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Pending events of all classes of sources. Each class has its own tree, so that a large number of
/// flows does not deepen the tree of the links, which is accessed at every hop.
#[derive(Clone, Debug)]
pub struct Schedule {
    timeline: Nanos,
    notice: Nanos,
    ports: Tree,
    /// Earliest event of the three sources above: the rare events that precede arrivals at the same
    /// instant.
    early: (Nanos, Source),
    links: Tree,
    injection: Nanos,
    ends: Tree,
    sampler: Nanos,
    /// An arrival before this instant precedes all other events.
    arrivals_before: Nanos,
}

impl Schedule {
    /// A schedule for the given numbers of sources, all of which are at "never".
    pub fn new(ports: usize, links: usize, flows: usize) -> Self {
        Schedule {
            timeline: Nanos::MAX,
            notice: Nanos::MAX,
            ports: Tree::new(ports),
            early: (Nanos::MAX, Source::Timeline),
            links: Tree::new(links),
            injection: Nanos::MAX,
            ends: Tree::new(2 * flows),
            sampler: Nanos::MAX,
            arrivals_before: Nanos::MAX,
        }
    }

    /// Makes room for more ports and links, keeping every key.
    pub fn grow(&mut self, ports: usize, links: usize) {
        self.ports.grow(ports);
        self.links.grow(links);
        self.find_early();
    }

    /// Instants from here on are treated as "never".
    pub fn horizon(&self) -> Nanos {
        [&self.ports, &self.links, &self.ends].map(Tree::horizon).into_iter().min().expect("three trees")
    }

    /// The next event; at the [horizon](Schedule::horizon) or beyond means that there is none.
    #[inline]
    pub fn next(&self) -> (Nanos, Source) {
        let (mut at, link) = self.links.first();
        let mut source = Source::Link(link);
        if at < self.arrivals_before {
            return (at, source);
        }
        if self.injection < at {
            (at, source) = (self.injection, Source::Injection);
        }
        let (end_at, end) = self.ends.first();
        if end_at < at {
            (at, source) = (end_at, Source::End(End(end)));
        }
        if self.sampler < at {
            (at, source) = (self.sampler, Source::Sampler);
        }
        if self.early.0 <= at {
            (at, source) = self.early;
        }
        (at, source)
    }

    /// Instant up to which, exclusively, only packets and timers have events: changes of the
    /// timeline are the first events of their instant, the sampler and the end are the last.
    pub fn lookahead_until(&self, end: Nanos) -> Nanos {
        self.timeline.min(self.sampler.min(end).saturating_add(Nanos(1)))
    }

    /// Time of the next change of the timeline.
    pub fn next_change(&self) -> Nanos {
        self.timeline
    }

    /// Sets the next instant of a link; [`Nanos::MAX`] = never.
    #[inline]
    pub fn set_link(&mut self, link: u32, at: Nanos) {
        self.links.set(link, at);
    }

    /// Link with the earliest arrival among those with the same first `depth` bits of their numbers
    /// as `link`: one of the next 2^`depth` or so.
    #[inline]
    pub fn upcoming(&self, link: u32, depth: u32) -> Option<u32> {
        self.links.first_beside(link, depth)
    }

    /// True if there are enough links for a prefetch of upcoming arrivals to pay off.
    pub fn is_wide(&self) -> bool {
        self.links.bits >= WIDE
    }

    /// Sets the next instant of an end of a flow; [`Nanos::MAX`] = never.
    #[inline]
    pub fn set_end(&mut self, end: End, at: Nanos) {
        self.ends.set(end.0, at);
        self.find_bound();
    }

    /// Sets the next instant of a source; [`Nanos::MAX`] = never.
    pub fn set(&mut self, source: Source, at: Nanos) {
        match source {
            Source::Link(l) => return self.set_link(l, at),
            Source::End(end) => return self.set_end(end, at),
            Source::Injection => self.injection = at,
            Source::Sampler => self.sampler = at,
            Source::Timeline => self.timeline = at,
            Source::Notice => self.notice = at,
            Source::Port(p) => self.ports.set(p, at),
        }
        self.find_early();
    }

    fn find_early(&mut self) {
        let (port_at, port) = self.ports.first();
        self.early = (self.timeline, Source::Timeline);
        for (at, source) in [(self.notice, Source::Notice), (port_at, Source::Port(port))] {
            if at < self.early.0 {
                self.early = (at, source);
            }
        }
        self.find_bound();
    }

    /// Updates `arrivals_before`: arrivals precede injections, ends of flows and the sampler at the same
    /// instant, and follow early events.
    #[inline]
    fn find_bound(&mut self) {
        let later = self.ends.first().0.min(self.injection).min(self.sampler);
        self.arrivals_before = self.early.0.min(later.saturating_add(Nanos(1)));
    }
}

/// A tournament tree over `time << bits | leaf`: one word per node, so that the earlier of two is
/// their minimum, and on a tie the left one. Leaves start in the middle of `nodes`.
#[derive(Clone, Debug)]
struct Tree {
    nodes: Vec<u64>,
    /// Number of bits of a leaf's number.
    bits: u32,
}

impl Tree {
    fn new(leaves: usize) -> Self {
        let size = leaves.next_power_of_two();
        Tree { nodes: vec![u64::MAX; 2 * size], bits: size.trailing_zeros() }
    }

    /// First time that cannot be represented. With 2^16 leaves that is 78 hours.
    fn horizon(&self) -> Nanos {
        Nanos(u64::MAX >> self.bits)
    }

    fn grow(&mut self, leaves: usize) {
        let size = self.nodes.len() / 2;
        if leaves <= size {
            return;
        }
        let mut new = Tree::new(leaves);
        for leaf in 0..size as u32 {
            new.set(leaf, self.get(leaf));
        }
        *self = new;
    }

    /// The earliest instant and its source; the horizon if there is none.
    #[inline]
    fn first(&self) -> (Nanos, u32) {
        let key = self.nodes[1];
        (Nanos(key >> self.bits), (key & ((1 << self.bits) - 1)) as u32)
    }

    /// Leaf with the earliest instant in the subtree that contains `leaf`, `depth` levels below the
    /// root.
    #[inline]
    fn first_beside(&self, leaf: u32, depth: u32) -> Option<u32> {
        let node = (self.nodes.len() / 2 + leaf as usize) >> self.bits.saturating_sub(depth);
        match self.nodes.get(node) {
            Some(&key) if key != u64::MAX => Some((key & ((1 << self.bits) - 1)) as u32),
            _ => None,
        }
    }

    fn get(&self, leaf: u32) -> Nanos {
        match self.nodes[self.nodes.len() / 2 + leaf as usize] {
            u64::MAX => Nanos::MAX,
            key => Nanos(key >> self.bits),
        }
    }

    #[inline]
    fn set(&mut self, leaf: u32, at: Nanos) {
        let mut key = if at >= self.horizon() { u64::MAX } else { at.0 << self.bits | leaf as u64 };
        let nodes = self.nodes.as_mut_slice();
        if nodes.is_empty() {
            return;
        }
        // Every index is within the tree; the mask makes that visible to the compiler.
        let mask = nodes.len() - 1;
        let mut i = nodes.len() / 2 + leaf as usize;
        nodes[i & mask] = key;
        // Always continues to the root, although the minimum may not change from some level on:
        // stopping early would be an unpredictable branch.
        for _ in 0..self.bits {
            key = key.min(nodes[(i ^ 1) & mask]);
            i >>= 1;
            nodes[i & mask] = key;
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
            Source::Injection,
            Source::End(End::receiving(1)),
            Source::End(End::sending(1)),
            Source::Sampler,
        ];
        for &src in order.iter().rev() {
            s.set(src, Nanos(5));
        }
        for &src in &order {
            assert_eq!(s.next(), (Nanos(5), src));
            s.set(src, Nanos::MAX);
        }
        assert!(s.next().0 >= s.horizon());
    }

    #[test]
    fn what_lies_beyond_the_horizon_never_comes() {
        let mut s = Schedule::new(0, 1 << 16, 2);
        assert_eq!(s.horizon(), Nanos((1 << 48) - 1));
        s.set(Source::Link(65_535), s.horizon());
        assert!(s.next().0 >= s.horizon());
        s.set(Source::Link(65_535), Nanos(s.horizon().0 - 1));
        assert_eq!(s.next(), (Nanos((1 << 48) - 2), Source::Link(65_535)));
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
                if keys[best] < u64::MAX {
                    assert_eq!(s.next(), (Nanos(keys[best]), Source::Link(best as u32)));
                }
            }
        }
    }
}
