// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Incremental shortest-path trees: the result of a new search for a fraction of the work.
//!
//! Between two instants 100 ms apart all distances change, but hardly any next hop. The stored tree
//! is first re-measured along its next hops: one addition per satellite. It is still the
//! shortest-path tree if no neighbour offers a shorter path. The excess of a satellite's
//! second-best path, its *margin*, is determined whenever all its neighbours are evaluated; since
//! then the margin has shrunk at most by the relative change of distances in the tree (largest
//! minus smallest change, both known) and by the largest change of a link. While that sum stays
//! below the margin, the neighbours need not be evaluated. The same applies to the first satellite
//! of a ground point.
//!
//! Sums and margins are in whole metres, rounded to the safe side. When a link or a gate appears or
//! disappears, the tree is searched again, in the order of the old one.

use crate::links::length::{Access, Weight};
use crate::paths::tree::{Graph, Growth, Label, Step, Tree, DOWN};

/// Millimetres per unit of margins.
const MARGIN_MM: Weight = 1000;
/// Bound of margins and of single movements, so that sums of a few of them do not overflow.
const LIMIT: i32 = 1 << 28;
/// No step: the satellite reaches the destination directly, or has no path.
const NO_STEP: u32 = u32::MAX;
/// Number of satellites with margins checked by one branch.
const BLOCK: usize = 8;

/// Largest change of a link between two graphs; `None` = different graphs: links were added,
/// removed or rearranged.
pub(crate) fn drift(old: Graph<'_>, new: Graph<'_>) -> Option<Weight> {
    if old.rows != new.rows || old.steps.len() != new.steps.len() {
        return None;
    }
    let changes = old.steps.iter().zip(new.steps).map(|(a, b)| a.change_to(*b));
    changes.into_iter().try_fold(0, |most: Weight, change| Some(most.max(change?)))
}

/// A movement in metres, rounded up.
fn movement(mm: Weight) -> i32 {
    mm.div_ceil(MARGIN_MM).min(LIMIT as Weight) as i32
}

/// The best and the second-best of some paths, and the index of the best.
#[derive(Clone, Copy)]
struct Choice {
    best: Label,
    second: Label,
    step: u32,
}

impl Choice {
    fn new(first: Label) -> Self {
        Choice { best: first, second: Label::NONE, step: NO_STEP }
    }

    #[inline(always)]
    fn offer(&mut self, way: Label, step: u32) {
        if way < self.best {
            *self = Choice { best: way, second: self.best, step };
        } else if way < self.second {
            self.second = way;
        }
    }

    /// Margin in metres, rounded down.
    fn margin(&self) -> i32 {
        let mm = self.second.distance().saturating_sub(self.best.distance());
        (mm / MARGIN_MM).min(LIMIT as Weight) as i32
    }
}

/// Satellites in view of ground points, and their movement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Views {
    /// Satellites in view, concatenated, and the end of each ground point's part.
    seen: Vec<Step>,
    ends: Vec<usize>,
    /// The same for the previous instant.
    before: (Vec<Step>, Vec<usize>),
    /// Accumulated relative movement of each ground point's ranges, in metres.
    spent: Vec<i32>,
    /// Ground points with a changed set of satellites in view.
    fresh: Vec<u32>,
}

impl Views {
    /// Updates the views to an instant.
    pub fn update(&mut self, visible: &[Vec<Access>]) {
        std::mem::swap(&mut self.before.0, &mut self.seen);
        std::mem::swap(&mut self.before.1, &mut self.ends);
        self.seen.clear();
        self.ends.clear();
        self.fresh.clear();
        self.spent.resize(visible.len(), 0);
        for (g, view) in visible.iter().enumerate() {
            let begin = self.seen.len();
            self.seen.extend(view.iter().map(|a| Step::new(a.sat, a.range)));
            let moved =
                part(&self.before.0, &self.before.1, g).and_then(|old| spread(old, &self.seen[begin..]));
            self.ends.push(self.seen.len());
            match moved.filter(|_| self.spent[g] < LIMIT) {
                Some(mm) => self.spent[g] += movement(mm),
                None => {
                    self.spent[g] = 0;
                    self.fresh.push(g as u32);
                }
            }
        }
    }

    fn of(&self, g: usize) -> &[Step] {
        part(&self.seen, &self.ends, g).unwrap_or_default()
    }
}

/// The `g`-th part of a list.
fn part<'a>(all: &'a [Step], ends: &[usize], g: usize) -> Option<&'a [Step]> {
    let begin = g.checked_sub(1).map_or(0, |before| ends.get(before).copied().unwrap_or(0));
    all.get(begin..*ends.get(g)?)
}

/// Relative movement between two lists of ranges to the same satellites; `None` = different
/// satellites.
fn spread(old: &[Step], new: &[Step]) -> Option<Weight> {
    if old.len() != new.len() {
        return None;
    }
    let mut spread = Spread::default();
    for (a, b) in old.iter().zip(new) {
        a.change_to(*b)?;
        spread.note(a.length(), b.length());
    }
    Some(spread.width())
}

/// Range of a set of changes.
#[derive(Default)]
struct Spread {
    least: Option<i64>,
    most: i64,
}

impl Spread {
    #[inline(always)]
    fn note(&mut self, old: Weight, new: Weight) {
        self.add(new as i64 - old as i64);
    }

    #[inline(always)]
    fn add(&mut self, change: i64) {
        self.most = self.least.map_or(change, |_| self.most.max(change));
        self.least = Some(self.least.map_or(change, |least| least.min(change)));
    }

    fn width(&self) -> Weight {
        self.least.map_or(0, |least| (self.most - least) as Weight)
    }
}

/// An incremental shortest-path tree.
#[derive(Clone, Debug, Default)]
pub struct Warm {
    tree: Tree,
    /// Satellites that the destination may use at the last instant, without duplicates.
    gates: Vec<Access>,
    /// All satellites, every next hop before its predecessors.
    order: Vec<u32>,
    /// Step of each satellite, in this order, as an index into the graph's steps.
    taken: Vec<u32>,
    /// Position of each satellite in the order.
    rank: Vec<u32>,
    /// Value of `spent` from which on a satellite's neighbours are evaluated again.
    until: Vec<i32>,
    /// Loss of margins since the tree was searched.
    spent: i32,
    /// Queue of satellites with a shorter path to propagate, with their previous labels.
    lowered: Vec<(u32, Label)>,
    /// First satellites of the ground points, and thresholds of their next evaluation: when the sum
    /// of `spent` and the movement of the view exceeds the threshold.
    first: Vec<u32>,
    first_until: Vec<i32>,
}

impl Warm {
    /// The tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Updates the tree to the instant of `graph`, at which the destination is reachable through
    /// `gates`. `drift`: movement of the links since the last call, see [`drift`].
    pub(crate) fn refresh(&mut self, graph: Graph<'_>, gates: &[Access], drift: Option<Weight>) {
        let known = self.order.len() + 1 == graph.rows.len()
            && self.gates.len() == gates.len()
            && self.gates.iter().zip(gates).all(|(old, new)| old.sat == new.sat);
        match drift.filter(|_| known && self.spent < LIMIT) {
            Some(drift) => self.follow(graph, gates, drift),
            None => self.search(graph, gates),
        }
    }

    /// Full search in the existing order.
    fn search(&mut self, graph: Graph<'_>, gates: &[Access]) {
        let satellites = graph.rows.len() - 1;
        if self.order.len() == satellites {
            self.tree.search_along(&self.order, graph, gates);
        } else {
            self.tree.search(graph, gates, &[]);
            self.order = (0..satellites as u32).collect();
            let labels = &self.tree.labels;
            self.order.sort_by_key(|&s| labels[s as usize]);
        }
        self.taken.clear();
        self.taken.resize(satellites, NO_STEP);
        self.sort();
        self.gates.clear();
        self.gates.extend_from_slice(gates);
        self.spent = 0;
        self.first_until.clear();
        self.until.clear();
        self.until.resize(satellites.next_multiple_of(BLOCK), i32::MAX);
        for here in 0..satellites as u32 {
            let choice = self.choice(graph, here, Label::NONE);
            self.take(here, choice.step);
            self.until[here as usize] = choice.margin();
        }
        for g in gates {
            let choice = self.choice(graph, g.sat, Label::new(g.range, DOWN));
            self.take(g.sat, choice.step);
        }
    }

    fn take(&mut self, sat: u32, step: u32) {
        self.taken[self.rank[sat as usize] as usize] = step;
    }

    /// Paths of a satellite through its neighbours and, if the destination may use the satellite,
    /// directly.
    #[inline(always)]
    fn choice(&self, graph: Graph<'_>, here: u32, down: Label) -> Choice {
        let mut choice = Choice::new(down);
        let begin = graph.rows[here as usize];
        for (i, &step) in graph.row(here).iter().enumerate() {
            choice.offer(self.tree.labels[step.to() as usize].over(step), begin + i as u32);
        }
        choice
    }

    /// Incremental update: measures the tree, and evaluates the neighbours of satellites that have
    /// used up their margins.
    fn follow(&mut self, graph: Graph<'_>, gates: &[Access], drift: Weight) {
        let spread = self.measure(graph, gates);
        self.spend(spread + drift);
        self.lowered.clear();
        // The few gates have no margins: they are evaluated each time.
        for g in gates {
            let best = self.choice(graph, g.sat, Label::new(g.range, DOWN)).best;
            self.lower(g.sat, best);
        }
        for begin in (0..self.until.len()).step_by(BLOCK) {
            let block = &self.until[begin..begin + BLOCK];
            if !block.iter().fold(false, |any, &until| any | (until <= self.spent)) {
                continue;
            }
            for here in begin..begin + BLOCK {
                if self.until[here] <= self.spent {
                    let choice = self.choice(graph, here as u32, Label::NONE);
                    self.until[here] = self.spent + choice.margin();
                    self.lower(here as u32, choice.best);
                }
            }
        }
        self.spread(graph);
    }

    /// Measures the tree along its next hops. Returns the relative change of distances.
    fn measure(&mut self, graph: Graph<'_>, gates: &[Access]) -> Weight {
        let labels = &mut self.tree.labels[..];
        let mut spread = Spread::default();
        for (old, new) in self.gates.iter_mut().zip(gates) {
            spread.note(old.range, new.range);
            *old = *new;
            if self.taken[self.rank[new.sat as usize] as usize] == NO_STEP {
                labels[new.sat as usize] = Label::new(new.range, DOWN);
            }
        }
        let (mut least, mut most) = (Growth::MAX, Growth::MIN);
        for (&here, &step) in self.order.iter().zip(&self.taken) {
            // Satellites without a step were measured above, or have no path.
            let Some(&step) = graph.steps.get(step as usize) else { continue };
            let new = labels[step.to() as usize].over(step);
            let place = &mut labels[here as usize];
            let growth = new.growth_since(*place);
            *place = new;
            least = if growth < least { growth } else { least };
            most = if growth > most { growth } else { most };
        }
        if least <= most {
            spread.add(least.mm());
            spread.add(most.mm());
        }
        spread.width()
    }

    fn spend(&mut self, mm: Weight) {
        self.spent += movement(mm);
    }

    /// Assigns a path to a satellite if it is shorter.
    #[inline(always)]
    fn lower(&mut self, sat: u32, new: Label) {
        let label = &mut self.tree.labels[sat as usize];
        if new < *label {
            self.lowered.push((sat, std::mem::replace(label, new)));
        }
    }

    /// Propagates shorter paths from neighbour to neighbour, and updates the satellites that use
    /// them.
    fn spread(&mut self, graph: Graph<'_>) {
        let mut i = 0;
        while let Some(&(here, _)) = self.lowered.get(i) {
            i += 1;
            let label = self.tree.labels[here as usize];
            for &step in graph.row(here) {
                if let Some(way) = label.through_neighbour(step, here) {
                    self.lower(step.to(), way);
                }
            }
        }
        let (mut farthest, mut in_order) = (0, true);
        for i in 0..self.lowered.len() {
            let (sat, before) = self.lowered[i];
            let label = self.tree.labels[sat as usize];
            farthest = farthest.max(before.distance() - label.distance());
            self.until[sat as usize] = 0;
            let next = label.next();
            let begin = graph.rows[sat as usize];
            let step = graph.row(sat).iter().position(|s| s.to() == next);
            self.take(sat, step.map_or(NO_STEP, |i| begin + i as u32));
            in_order &= next == DOWN || self.rank[next as usize] < self.rank[sat as usize];
        }
        // Satellites with a second-best path over these have lost up to that much of their margin.
        self.spend(farthest);
        if !in_order {
            self.sort();
        }
    }

    /// Sorts the order, which is nearly sorted.
    fn sort(&mut self) {
        let labels = &self.tree.labels;
        for i in 1..self.order.len() {
            let (here, step) = (self.order[i], self.taken[i]);
            let label = labels[here as usize];
            let mut j = i;
            while j > 0 && labels[self.order[j - 1] as usize] > label {
                (self.order[j], self.taken[j]) = (self.order[j - 1], self.taken[j - 1]);
                j -= 1;
            }
            (self.order[j], self.taken[j]) = (here, step);
        }
        self.rank.resize(self.order.len(), 0);
        for (place, &here) in self.order.iter().enumerate() {
            self.rank[here as usize] = place as u32;
        }
    }

    /// First satellite of each ground point towards the destination; the views must have been
    /// updated at every instant of the tree.
    pub(crate) fn first_hops(&mut self, views: &Views) -> &[u32] {
        self.first.resize(views.ends.len(), 0);
        self.first_until.resize(views.ends.len(), i32::MIN);
        for &g in &views.fresh {
            self.first_until[g as usize] = i32::MIN;
        }
        for (g, moved) in views.spent.iter().enumerate() {
            let spent = self.spent + moved;
            if self.first_until[g] > spent {
                continue;
            }
            let mut choice = Choice::new(Label::NONE);
            for (i, &step) in views.of(g).iter().enumerate() {
                choice.offer(self.tree.labels[step.to() as usize].over(step), i as u32);
            }
            self.first[g] = choice.best.next();
            self.first_until[g] = spent + choice.margin();
        }
        &self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::isls::IslGraph;
    use crate::links::length::UNREACHABLE;
    use proptest::prelude::*;

    /// A network whose links and gates move slightly from instant to instant, or by a lot, or
    /// disappear.
    #[derive(Clone, Debug)]
    struct Moving {
        satellites: usize,
        links: Vec<(u32, u32, u64)>,
        gates: Vec<(u32, u64)>,
        /// By instant: seed of the movements, their size, and whether a link and a gate are
        /// missing.
        instants: Vec<(u64, u64, bool, bool)>,
    }

    fn networks() -> impl Strategy<Value = Moving> {
        (3usize..60).prop_flat_map(|n| {
            let sat = 0..n as u32;
            let length = prop_oneof![1u64..4, 1u64..1_000_000, 300_000_000u64..900_000_000];
            let links = prop::collection::vec((sat.clone(), sat.clone(), length.clone()), n..4 * n);
            let gates = prop::collection::btree_map(sat, length, 1..5);
            let size = prop_oneof![Just(0u64), Just(3), Just(50_000), Just(3_000_000), Just(500_000_000)];
            let rare = || prop::bool::weighted(0.1);
            let instants = prop::collection::vec((any::<u64>(), size, rare(), rare()), 1..30);
            (links, gates, instants).prop_map(move |(links, gates, instants)| Moving {
                satellites: n,
                links,
                gates: gates.into_iter().collect(),
                instants,
            })
        })
    }

    fn mix(seed: u64, k: u64) -> u64 {
        let x = (seed ^ k.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x ^ (x >> 29)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn a_kept_tree_is_the_tree_of_a_new_search(m in networks()) {
            let pairs: Vec<(u32, u32)> = m.links.iter().map(|l| (l.0, l.1)).collect();
            let g = IslGraph::new(m.satellites, &pairs);
            let (mut warm, mut views, mut before) = (Warm::default(), Views::default(), Vec::new());
            let mut lengths: Vec<u64> = m.links.iter().map(|l| l.2).collect();
            let mut ranges: Vec<u64> = m.gates.iter().map(|g| g.1).collect();
            for &(seed, size, no_link, no_gate) in &m.instants {
                let step = |x: &mut u64, k: usize| {
                    *x = (*x + mix(seed, k as u64) % (size + 1)).saturating_sub(size / 2).max(1);
                };
                lengths.iter_mut().enumerate().for_each(|(k, x)| step(x, k));
                ranges.iter_mut().enumerate().for_each(|(k, x)| step(x, 1000 + k));
                let length = |a: u32, b: u32| {
                    let same = |l: &(u32, u32, u64)| (l.0.min(l.1), l.0.max(l.1)) == (a.min(b), a.max(b));
                    let i = m.links.iter().position(same).unwrap();
                    if no_link && i == 0 { UNREACHABLE } else { lengths[i] }
                };
                let of = |s: usize| &g.to[g.rows[s] as usize..g.rows[s + 1] as usize];
                let steps: Vec<Step> = (0..m.satellites)
                    .flat_map(|s| of(s).iter().map(move |&t| (s as u32, t)))
                    .map(|(s, t)| Step::new(t, length(s, t)))
                    .collect();
                let graph = Graph { rows: &g.rows, steps: &steps };
                let all: Vec<Access> =
                    m.gates.iter().zip(&ranges).map(|(g, &range)| Access { sat: g.0, range }).collect();
                let gates = &all[usize::from(no_gate && all.len() > 1)..];
                let moved = if before.is_empty() { None } else { drift(Graph { steps: &before, ..graph }, graph) };
                warm.refresh(graph, gates, moved);
                let mut tree = Tree::default();
                tree.search(graph, gates, &[]);
                prop_assert_eq!(&warm.tree.labels, &tree.labels);
                // Views of a point that sees the gates, and of one that sees the others.
                let other = |s: u32| all.iter().all(|a| a.sat != s);
                let rest = (0..m.satellites as u32).filter(|s| other(*s)).take(7);
                let rest: Vec<Access> = rest.map(|sat| Access { sat, range: 1 + mix(seed, sat.into()) % (size + 1) }).collect();
                let visible = [gates.to_vec(), rest, Vec::new()];
                views.update(&visible);
                let expected = visible.map(|v| tree.best(&v).map_or(crate::paths::tree::NOWHERE, |a| a.sat));
                prop_assert_eq!(warm.first_hops(&views), &expected);
                before = steps;
            }
        }
    }
}
