// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Shortest-path trees from a destination to all satellites.
//!
//! Lengths are integral millimetres, so that sums are exact and equal paths compare equal; ties go
//! to the path through the satellite with the lower number, whatever the order of the search.
//! Ground points do not relay: a path goes up once and comes down once. (Relays on the ground, for
//! bent pipes, are additional vertices: see `search_graph`.)
//!
//! The search is Dijkstra's algorithm with buckets instead of a heap. A bucket holds satellites
//! with distances within `BUCKET_MM` of each other; their order inside a bucket is irrelevant,
//! because a satellite is settled again if its distance decreases after it was settled. Links are
//! mostly longer than a bucket, so that this is rare.
//!
//! Few next hops change from one instant to the next: see `incremental_tree`.

use crate::links::length::{Access, Weight, UNREACHABLE};

/// Next hop of a satellite that reaches the destination directly.
pub const DOWN: u32 = NOWHERE - 1;
/// Next hop of a satellite that has no path.
pub const NOWHERE: u32 = (1 << HOP_BITS) - 1;
/// Maximum number of satellites.
pub const MAX_SATELLITES: usize = DOWN as usize;

/// Bits of a next hop in a `Label`; the others are for the distance, up to 17 million kilometres.
const HOP_BITS: u32 = 20;
const HOP_MASK: u64 = (1 << HOP_BITS) - 1;

/// Width of a bucket: 262 km, a power of two so that the bucket of a distance is a shift.
pub(crate) const BUCKET_SHIFT: u32 = 28;
/// One bucket in millimetres.
pub const BUCKET_MM: Weight = 1 << BUCKET_SHIFT;

/// Adjacency lists of the satellites, with link lengths: rows as in
/// [`crate::links::isls::IslGraph`].
#[derive(Clone, Copy, Debug)]
pub struct Graph<'a> {
    /// `rows[s]..rows[s + 1]` are the entries of satellite `s`.
    pub rows: &'a [u32],
    /// Neighbour and length of each entry; a link has the same length from both ends.
    pub steps: &'a [Step],
}

impl Graph<'_> {
    #[inline(always)]
    pub(crate) fn row(&self, sat: u32) -> &[Step] {
        &self.steps[self.rows[sat as usize] as usize..self.rows[sat as usize + 1] as usize]
    }
}

/// A link to a neighbour, packed as a `Label`: its length in the upper bits, the neighbour in the
/// lower.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step(u64);

impl Step {
    /// A link of that length, or [`UNREACHABLE`].
    pub fn new(to: u32, length: Weight) -> Self {
        Step(length.min(Label::NONE.0 >> HOP_BITS) << HOP_BITS | Weight::from(to))
    }
    pub(crate) fn to(self) -> u32 {
        (self.0 & HOP_MASK) as u32
    }
    pub(crate) fn length(self) -> Weight {
        self.0 >> HOP_BITS
    }

    /// Difference in length; `None` = another neighbour, or a link that was added or removed.
    #[inline(always)]
    pub(crate) fn change_to(self, new: Step) -> Option<Weight> {
        let same = self.to() == new.to() && self.exists() == new.exists();
        same.then(|| self.length().abs_diff(new.length()))
    }
    fn exists(self) -> bool {
        self.length() < Label::NONE.0 >> HOP_BITS
    }
}

/// Distance and next hop in one word, the distance in the upper bits: one comparison selects the
/// shorter path or, of two equal ones, that through the satellite with the lower number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Label(u64);

impl Label {
    /// Longer than any path; a sum of two does not overflow.
    pub(crate) const NONE: Label = Label(1 << 62 | HOP_MASK);
    /// Longer than any existing path, and not longer than a path over [`Label::NONE`], even with a
    /// step of length zero.
    const NO_WAY: Label = Label(1 << 62);

    /// The path over a link to a satellite with this label; without a path the result is never
    /// shorter than [`Label::NONE`].
    #[inline(always)]
    pub(crate) fn over(self, step: Step) -> Label {
        Label((self.0 & !HOP_MASK) + step.0)
    }

    /// The path of the satellite at the other end of a link over the satellite `here` with this
    /// label.
    #[inline(always)]
    pub(crate) fn through_neighbour(self, step: Step, here: u32) -> Option<Label> {
        let way = self.over(step);
        (way < Label::NONE).then_some(Label(way.0 & !HOP_MASK | Weight::from(here)))
    }

    /// Increase of the distance over the same next hop.
    #[inline(always)]
    pub(crate) fn growth_since(self, old: Label) -> Growth {
        Growth(self.0.wrapping_sub(old.0) as i64)
    }

    pub(crate) fn new(distance: Weight, next: u32) -> Self {
        Label(distance << HOP_BITS | Weight::from(next))
    }
    pub(crate) fn next(self) -> u32 {
        (self.0 & HOP_MASK) as u32
    }
    pub(crate) fn distance(self) -> Weight {
        if self == Label::NONE {
            UNREACHABLE
        } else {
            self.0 >> HOP_BITS
        }
    }
    fn bucket(self) -> usize {
        (self.0 >> (HOP_BITS + BUCKET_SHIFT)) as usize
    }
}

/// Change of a distance, in the unit of labels.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Growth(i64);

impl Growth {
    pub(crate) const MIN: Growth = Growth(i64::MIN);
    pub(crate) const MAX: Growth = Growth(i64::MAX);
    /// In millimetres.
    pub(crate) fn mm(self) -> i64 {
        self.0 >> HOP_BITS
    }
}

/// Shortest paths of all satellites to one destination, and buffers of the search, to be reused.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    pub(crate) labels: Vec<Label>,
    pub(crate) buckets: Vec<Vec<u32>>,
    /// Lower bounds of the remaining distance in an A* search, as far as computed.
    pub(crate) ahead: Vec<Weight>,
}

impl Tree {
    /// Searches from a destination reachable through `gates` until all `targets` are settled (all
    /// satellites if `targets` is empty). Distances of other satellites are then upper bounds.
    pub fn search(&mut self, graph: Graph<'_>, gates: &[Access], targets: &[Access]) {
        self.clear(graph.rows.len() - 1);
        for g in gates {
            self.improve(g.sat, Label::new(g.range, DOWN));
        }
        let mut bucket = 0;
        while bucket < self.buckets.len() {
            if !targets.is_empty() && self.settled_below(bucket, targets) {
                return;
            }
            self.settle_bucket(graph, bucket);
            bucket += 1;
        }
    }

    /// Resets the tree.
    pub(crate) fn clear(&mut self, satellites: usize) {
        self.labels.clear();
        self.labels.resize(satellites, Label::NONE);
        self.buckets.iter_mut().for_each(Vec::clear);
    }

    /// Searches as [`Tree::search`] does for all satellites, but visits them first in `order`: the
    /// order by distance at the previous instant is fastest; any order is correct.
    pub(crate) fn search_along(&mut self, order: &[u32], graph: Graph<'_>, gates: &[Access]) {
        let satellites = graph.rows.len() - 1;
        self.clear(satellites);
        for g in gates {
            self.improve(g.sat, Label::new(g.range, DOWN));
        }
        // In the previous order, the previous next hop of every satellite has its label already.
        for &here in order {
            self.labels[here as usize] = self.nearest(graph, here);
        }
        // Satellites later in that order may be nearer now: such shorter paths propagate as in a
        // normal search.
        for here in 0..satellites as u32 {
            let new = self.nearest(graph, here);
            self.improve(here, new);
        }
        for bucket in 0.. {
            if bucket >= self.buckets.len() {
                break;
            }
            self.settle_bucket(graph, bucket);
        }
    }

    /// The best path of a satellite, given its neighbours' labels.
    #[inline(always)]
    fn nearest(&self, graph: Graph<'_>, here: u32) -> Label {
        let mut best = self.labels[here as usize];
        for &step in graph.row(here) {
            let over = self.labels[step.to() as usize].over(step);
            best = if over < best { over } else { best };
        }
        best
    }

    pub(crate) fn settled_below(&self, bucket: usize, targets: &[Access]) -> bool {
        let bound = (bucket as Weight) << BUCKET_SHIFT;
        targets.iter().all(|t| self.distance(t.sat) < bound)
    }

    fn settle_bucket(&mut self, graph: Graph<'_>, bucket: usize) {
        // Satellites may be added to this bucket while it is processed.
        let mut i = 0;
        while i < self.buckets[bucket].len() {
            let here = self.buckets[bucket][i];
            i += 1;
            // An entry is stale if its satellite has moved to an earlier bucket since.
            if self.labels[here as usize].bucket() == bucket {
                self.relax(graph, here);
            }
        }
    }

    /// Offers the path through a satellite to its neighbours.
    #[inline]
    fn relax(&mut self, graph: Graph<'_>, here: u32) {
        let label = self.labels[here as usize];
        if label == Label::NONE {
            return;
        }
        for &step in graph.row(here) {
            if let Some(way) = label.through_neighbour(step, here) {
                self.improve(step.to(), way);
            }
        }
    }

    #[inline(always)]
    fn improve(&mut self, sat: u32, new: Label) {
        if new < self.labels[sat as usize] {
            self.lower(sat, new);
        }
    }

    /// Kept out of line: three of four comparisons in `relax` fail.
    #[inline(never)]
    fn lower(&mut self, sat: u32, new: Label) {
        let old = std::mem::replace(&mut self.labels[sat as usize], new);
        if new.distance() < old.distance() {
            let bucket = new.bucket();
            if bucket >= self.buckets.len() {
                self.buckets.resize_with(bucket + 1, Vec::new);
            }
            self.buckets[bucket].push(sat);
        }
    }

    /// Distance from a satellite to the destination.
    pub fn distance(&self, sat: u32) -> Weight {
        self.labels[sat as usize].distance()
    }

    /// Next hop of every satellite: a satellite, [`DOWN`] or [`NOWHERE`].
    pub fn next_hops(&self) -> impl Iterator<Item = u32> + '_ {
        self.labels.iter().map(|l| l.next())
    }

    /// Total distance through an access.
    pub fn through(&self, a: Access) -> Weight {
        self.distance(a.sat).saturating_add(a.range)
    }

    /// Access with the shortest total distance; on a tie, the one with the lower satellite number.
    pub fn best(&self, from: &[Access]) -> Option<Access> {
        let mut best = (Label::NO_WAY, None);
        for a in from {
            let way = self.labels[a.sat as usize].over(Step::new(a.sat, a.range));
            if way < best.0 {
                best = (way, Some(*a));
            }
        }
        best.1
    }

    /// The satellites of the shortest path from a ground point with these accesses, in order.
    pub fn path(&self, from: &[Access]) -> Option<Vec<u32>> {
        let mut here = self.best(from)?.sat;
        let mut path = vec![here];
        loop {
            here = self.labels[here as usize].next();
            if here == DOWN {
                return Some(path);
            }
            path.push(here);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::isls::IslGraph;
    use proptest::prelude::*;

    #[test]
    fn a_satellite_without_a_way_has_no_path_even_from_where_it_stands() {
        let rows = [0, 0, 0];
        let mut tree = Tree::default();
        tree.search(Graph { rows: &rows, steps: &[] }, &[Access { sat: 0, range: 7 }], &[]);
        let at = |sat| [Access { sat, range: 0 }];
        assert_eq!(tree.path(&at(0)), Some(vec![0]));
        assert_eq!(tree.path(&at(1)), None);
    }

    /// Reference implementation: rounds of relaxation until nothing changes.
    fn bellman_ford((rows, to, weights): (&[u32], &[u32], &[Weight]), gates: &[Access]) -> Vec<Weight> {
        let n = rows.len() - 1;
        let mut dist = vec![UNREACHABLE; n];
        for g in gates {
            dist[g.sat as usize] = dist[g.sat as usize].min(g.range);
        }
        loop {
            let before = dist.clone();
            for s in 0..n {
                for e in rows[s] as usize..rows[s + 1] as usize {
                    if dist[s] != UNREACHABLE && weights[e] != UNREACHABLE {
                        let t = to[e] as usize;
                        dist[t] = dist[t].min(dist[s] + weights[e]);
                    }
                }
            }
            if dist == before {
                return dist;
            }
        }
    }

    /// Satellites, links with lengths, gates with ranges.
    type Network = (usize, Vec<(u32, u32, u64)>, Vec<(u32, u64)>);

    /// Lengths are often equal (ties) and often much shorter than a bucket.
    fn networks() -> impl Strategy<Value = Network> {
        (2usize..40).prop_flat_map(|n| {
            let sat = 0..n as u32;
            let length = prop_oneof![1u64..4, 1u64..1_000_000, BUCKET_MM / 2..6 * BUCKET_MM];
            let links = prop::collection::vec((sat.clone(), sat.clone(), length.clone()), 1..120);
            (Just(n), links, prop::collection::vec((sat, length), 1..4))
        })
    }

    proptest! {
        #[test]
        fn distances_are_those_of_bellman_and_ford((n, links, gates) in networks()) {
            let pairs: Vec<(u32, u32)> = links.iter().map(|l| (l.0, l.1)).collect();
            let g = IslGraph::new(n, &pairs);
            let length = |a: u32, b: u32| {
                let same = |l: &&(u32, u32, u64)| (l.0.min(l.1), l.0.max(l.1)) == (a.min(b), a.max(b));
                links.iter().find(same).unwrap().2
            };
            let weights: Vec<Weight> = (0..n)
                .flat_map(|s| g.to[g.rows[s] as usize..g.rows[s + 1] as usize].iter().map(move |&t| (s as u32, t)))
                .map(|(s, t)| length(s, t))
                .collect();
            let steps: Vec<Step> = g.to.iter().zip(&weights).map(|(&to, &w)| Step::new(to, w)).collect();
            let graph = Graph { rows: &g.rows, steps: &steps };
            let gates: Vec<Access> = gates.iter().map(|&(sat, range)| Access { sat, range }).collect();
            let mut tree = Tree::default();
            // A second search in the same buffers must not depend on the first.
            tree.search(graph, &gates[..1], &[]);
            tree.search(graph, &gates, &[]);
            let expected = bellman_ford((&g.rows, &g.to, &weights), &gates);
            for s in 0..n as u32 {
                prop_assert_eq!(tree.distance(s), expected[s as usize]);
                if expected[s as usize] != UNREACHABLE {
                    // The next hops lead to the destination, link lengths add up to the distance,
                    // and ties go to the lower number.
                    let path = tree.path(&[Access { sat: s, range: 0 }]).unwrap();
                    let inner: Weight = path.windows(2).map(|w| length(w[0], w[1])).sum();
                    let last = *path.last().unwrap();
                    let exit = gates.iter().filter(|g| g.sat == last).map(|g| g.range).min().unwrap();
                    prop_assert_eq!(inner + exit, expected[s as usize]);
                    let row = g.rows[s as usize] as usize..g.rows[s as usize + 1] as usize;
                    let lower = g.to[row].iter().copied().filter(|&t| {
                        expected[t as usize] != UNREACHABLE
                            && expected[t as usize] + length(s, t) == expected[s as usize]
                    }).min();
                    prop_assert_eq!(tree.next_hops().nth(s as usize).unwrap(), lower.unwrap_or(DOWN));
                }
            }
            // A search in any order results in the same tree.
            for order in [(0..n as u32).collect::<Vec<_>>(), (0..n as u32).rev().collect()] {
                let mut other = Tree::default();
                other.search_along(&order, graph, &gates);
                prop_assert_eq!(&other.labels, &tree.labels);
            }
            // Stopping early changes nothing for the targets.
            let target = [Access { sat: n as u32 - 1, range: 0 }];
            tree.search(graph, &gates, &target);
            prop_assert_eq!(tree.distance(target[0].sat), expected[n - 1]);
        }
    }
}
