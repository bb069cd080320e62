// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Shortest paths from a destination to all satellites.
//!
//! Lengths are whole millimetres, so that sums are exact and equal paths are equal; of two equally short ways the one
//! through the satellite of the lower number wins, whatever the order of the search. Ground points do not relay: a
//! path goes up once and comes down once. (Relays on the ground, for bent pipes, would enter here as further nodes.)
//!
//! The search is Dijkstra's with buckets instead of a heap. A bucket collects satellites whose distances lie within
//! [`BUCKET_MM`]; inside a bucket their order does not matter, because a satellite whose distance shrinks after it was
//! settled is simply settled again. Links are mostly longer than a bucket, so that this is rare.

/// Length of a link or path in millimetres.
pub type Weight = u64;

/// No link, no path.
pub const UNREACHABLE: Weight = u64::MAX;

/// Next hop of a satellite that hands over to the destination itself.
pub const DOWN: u32 = u32::MAX;
/// Next hop of a satellite that has no path.
pub const NOWHERE: u32 = u32::MAX - 1;

/// Width of a bucket: 262 km, a power of two so that the bucket of a distance is a shift.
const BUCKET_SHIFT: u32 = 28;
/// One bucket in millimetres.
pub const BUCKET_MM: Weight = 1 << BUCKET_SHIFT;

/// Metres to the unit of the search; never zero, so that no two satellites can point at each other.
#[inline]
pub fn weight(metres: f64) -> Weight {
    ((metres * 1e3 + 0.5) as Weight).max(1)
}

/// A satellite that a ground point may use, with the distance to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Satellite.
    pub sat: u32,
    /// Slant range.
    pub range: Weight,
}

/// The satellites' neighbours with lengths: rows as in [`crate::lasers::LaserGraph`].
#[derive(Clone, Copy, Debug)]
pub struct Graph<'a> {
    /// `rows[s]..rows[s + 1]` are the entries of satellite `s`.
    pub rows: &'a [u32],
    /// Neighbour of each entry.
    pub to: &'a [u32],
    /// Length of each entry.
    pub weights: &'a [Weight],
}

/// Shortest ways of all satellites to one destination, and the memory for the search: reuse it.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    dist: Vec<Weight>,
    next: Vec<u32>,
    buckets: Vec<Vec<u32>>,
}

impl Tree {
    /// Searches from a destination that `gates` can reach, until all `targets` are settled (all satellites, if there
    /// are none). Distances of other satellites are then upper bounds.
    pub fn search(&mut self, graph: Graph<'_>, gates: &[Access], targets: &[Access]) {
        let satellites = graph.rows.len() - 1;
        self.dist.clear();
        self.dist.resize(satellites, UNREACHABLE);
        self.next.clear();
        self.next.resize(satellites, NOWHERE);
        self.buckets.iter_mut().for_each(Vec::clear);
        for g in gates {
            self.improve(g.sat as usize, g.range, DOWN);
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

    fn settled_below(&self, bucket: usize, targets: &[Access]) -> bool {
        let bound = (bucket as Weight) << BUCKET_SHIFT;
        targets.iter().all(|t| self.dist[t.sat as usize] < bound)
    }

    fn settle_bucket(&mut self, graph: Graph<'_>, bucket: usize) {
        // Satellites may join this very bucket while it is worked on.
        let mut i = 0;
        while i < self.buckets[bucket].len() {
            let here = self.buckets[bucket][i];
            i += 1;
            let d = self.dist[here as usize];
            // An entry whose satellite has moved to an earlier bucket since is stale.
            if (d >> BUCKET_SHIFT) as usize != bucket {
                continue;
            }
            let row = graph.rows[here as usize] as usize..graph.rows[here as usize + 1] as usize;
            for (&to, &w) in graph.to[row.clone()].iter().zip(&graph.weights[row]) {
                if w != UNREACHABLE {
                    self.improve(to as usize, d + w, here);
                }
            }
        }
    }

    #[inline]
    fn improve(&mut self, sat: usize, d: Weight, via: u32) {
        let old = self.dist[sat];
        if d < old {
            self.dist[sat] = d;
            self.next[sat] = via;
            let bucket = (d >> BUCKET_SHIFT) as usize;
            if bucket >= self.buckets.len() {
                self.buckets.resize_with(bucket + 1, Vec::new);
            }
            self.buckets[bucket].push(sat as u32);
        } else if d == old && via < self.next[sat] {
            self.next[sat] = via;
        }
    }

    /// Distance from a satellite to the destination.
    pub fn distance(&self, sat: u32) -> Weight {
        self.dist[sat as usize]
    }

    /// Next hop of every satellite: a satellite, [`DOWN`] or [`NOWHERE`].
    pub fn next_hops(&self) -> &[u32] {
        &self.next
    }

    /// Whole distance through an access.
    pub fn through(&self, a: Access) -> Weight {
        self.distance(a.sat).saturating_add(a.range)
    }

    /// The access through which the destination is nearest; the lower satellite on a tie.
    pub fn best(&self, from: &[Access]) -> Option<Access> {
        from.iter()
            .copied()
            .filter(|a| self.distance(a.sat) != UNREACHABLE)
            .min_by_key(|a| (self.through(*a), a.sat))
    }

    /// The satellites of the shortest path from a ground point with these accesses, in order.
    pub fn path(&self, from: &[Access]) -> Option<Vec<u32>> {
        let mut here = self.best(from)?.sat;
        let mut path = vec![here];
        while self.next[here as usize] != DOWN {
            here = self.next[here as usize];
            path.push(here);
        }
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lasers::LaserGraph;
    use proptest::prelude::*;

    /// Rounds of relaxation until nothing changes: too simple to be wrong.
    fn bellman_ford(graph: Graph<'_>, gates: &[Access]) -> Vec<Weight> {
        let n = graph.rows.len() - 1;
        let mut dist = vec![UNREACHABLE; n];
        for g in gates {
            dist[g.sat as usize] = dist[g.sat as usize].min(g.range);
        }
        loop {
            let before = dist.clone();
            for s in 0..n {
                for e in graph.rows[s] as usize..graph.rows[s + 1] as usize {
                    if dist[s] != UNREACHABLE && graph.weights[e] != UNREACHABLE {
                        let t = graph.to[e] as usize;
                        dist[t] = dist[t].min(dist[s] + graph.weights[e]);
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
            let g = LaserGraph::new(n, &pairs);
            let length = |a: u32, b: u32| {
                let same = |l: &&(u32, u32, u64)| (l.0.min(l.1), l.0.max(l.1)) == (a.min(b), a.max(b));
                links.iter().find(same).unwrap().2
            };
            let weights: Vec<Weight> = (0..n)
                .flat_map(|s| g.to[g.rows[s] as usize..g.rows[s + 1] as usize].iter().map(move |&t| (s as u32, t)))
                .map(|(s, t)| length(s, t))
                .collect();
            let graph = Graph { rows: &g.rows, to: &g.to, weights: &weights };
            let gates: Vec<Access> = gates.iter().map(|&(sat, range)| Access { sat, range }).collect();
            let mut tree = Tree::default();
            // A second search in the same memory must not see the first.
            tree.search(graph, &gates[..1], &[]);
            tree.search(graph, &gates, &[]);
            let expected = bellman_ford(graph, &gates);
            for s in 0..n as u32 {
                prop_assert_eq!(tree.distance(s), expected[s as usize]);
                if expected[s as usize] != UNREACHABLE {
                    // The next hops lead down, over links that add up, and ties go to the lower number.
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
                    prop_assert_eq!(tree.next_hops()[s as usize], lower.unwrap_or(DOWN));
                }
            }
            // Stopping early changes nothing for the targets.
            let target = [Access { sat: n as u32 - 1, range: 0 }];
            tree.search(graph, &gates, &target);
            prop_assert_eq!(tree.distance(target[0].sat), expected[n - 1]);
        }
    }
}
