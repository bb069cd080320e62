// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Path rules other than shortest paths: satellite-disjoint paths for pairs between the same
//! places, and load-aware paths.
//!
//! Load-aware paths are an assignment of the traffic matrix. Each pair offers a demand; a link
//! costs its propagation delay and a queueing delay of `delay * u / (1 - u)` at utilisation u
//! (M/M/1; `delay` is the cost at half load), continued linearly above u = 0.9, since offered
//! demands may exceed a rate. Pairs take turns, the largest demand first: each selects the cheapest
//! path given all others, until no pair changes or after [`TURNS`] rounds. All values are integral
//! bit/s and millimetres, so that the result depends on the scenario alone. The assignment is
//! repeated every `period`, from the current paths; in between, only pairs with a broken path
//! select another one.

use crate::frames::SPEED_OF_LIGHT_M_S;
use crate::links::length::{Access, Weight, UNREACHABLE};
use crate::paths::a_star::{Field, Goal};
use crate::paths::tree::Tree;
use crate::sky::config::{GroundPorts, LoadRule};
use crate::sky::moment::Moment;
use crate::sky::pair_searches::PairSearch;
use crate::sky::policy::Held;
use crate::sky::search::Routes;
use crate::sky::Sky;
use perigee_timeline::GeoPoint;
use std::collections::BTreeMap;

/// Maximum number of rounds at one instant; most assignments converge in two.
const TURNS: usize = 4;
/// Above this utilisation the cost of a link grows linearly.
const BEND: f64 = 0.9;
/// Maximum queueing cost of one link, 0.23 s, so that the cost of a path fits the labels of the
/// search.
const DEAREST: Weight = 1 << 36;

impl LoadRule {
    fn radio_bps(&self, sky: &Sky, from: u32, to: u32) -> u64 {
        let shared = sky.spec.ground_ports == GroundPorts::PerNode;
        sky.radio(from, (!shared).then_some(to)).0.rate.0
    }

    /// Queueing cost of a link at a utilisation, as the distance that light travels in that time,
    /// in millimetres.
    fn cost(&self, utilisation: f64) -> Weight {
        let (u, bend) = (utilisation.min(BEND), BEND / (1.0 - BEND));
        let slope = 1.0 / ((1.0 - BEND) * (1.0 - BEND));
        let queues = if utilisation <= BEND { u / (1.0 - u) } else { bend + slope * (utilisation - BEND) };
        let half_mm = self.delay.as_secs_f64() * SPEED_OF_LIGHT_M_S * 1e3;
        ((half_mm * queues) as Weight).min(DEAREST)
    }
}

/// A transmitter: a node and the far end, or [`SHARED`] for a shared radio.
type Port = (u32, u32);
/// Marker for the far end of a shared radio.
const SHARED: u32 = u32::MAX;

/// An assignment in progress.
struct Assignment<'a> {
    sky: &'a Sky,
    rule: &'a LoadRule,
    field: Field<'a>,
    /// Offered load of each transmitter in bit/s.
    load: BTreeMap<Port, u64>,
    tree: Tree,
}

impl Assignment<'_> {
    fn satellites(&self) -> u32 {
        self.field.satellites() as u32
    }

    fn port(&self, from: u32, to: u32) -> Port {
        let isl = from.max(to) < self.satellites();
        let shared = !isl && self.sky.spec.ground_ports == GroundPorts::PerNode;
        (from, if shared { SHARED } else { to })
    }

    /// Demand of a search's pair along the path, and in reverse.
    fn demand(&self, way: &PairSearch) -> [u64; 2] {
        let of = |from, to| self.rule.demand_bps.get(&(from, to)).copied().unwrap_or(0);
        [of(way.from, way.root), of(way.root, way.from)]
    }

    /// Queueing cost of a link after adding demands in both directions.
    fn queue(&self, a: u32, b: u32, [there, back]: [u64; 2]) -> Weight {
        let isl = a.max(b) < self.satellites();
        // The slower of the two directions.
        let radio = || self.rule.radio_bps(self.sky, a, b).min(self.rule.radio_bps(self.sky, b, a));
        let rate = if isl { self.rule.isl_bps } else { radio() };
        let carried = |from, to| self.load.get(&self.port(from, to)).copied().unwrap_or(0);
        let most = (carried(a, b) + there).max(carried(b, a) + back);
        self.rule.cost(most as f64 / rate as f64)
    }

    /// Adds demands to the ports of a path, or removes them.
    fn put(&mut self, way: &PairSearch, path: &[u32], add: bool) {
        let [there, back] = self.demand(way);
        let vertices = self.vertices(way, path);
        for w in vertices.windows(2) {
            for (port, demand) in [(self.port(w[0], w[1]), there), (self.port(w[1], w[0]), back)] {
                let load = self.load.entry(port).or_default();
                *load = if add { *load + demand } else { *load - demand };
            }
        }
    }

    fn vertices(&self, way: &PairSearch, path: &[u32]) -> Vec<u32> {
        let ground = |g: usize| self.satellites() + g as u32;
        std::iter::once(ground(way.from)).chain(path.iter().copied()).chain([ground(way.root)]).collect()
    }

    /// Cost of a path for a pair with demands not yet assigned to it; `None` = the path does not
    /// exist.
    fn price(&self, way: &PairSearch, path: &[u32], gates: [&[Access]; 2]) -> Option<Weight> {
        let range = |gates: &[Access], sat: u32| gates.iter().find(|a| a.sat == sat).map(|a| a.range);
        let mut sum = range(gates[0], *path.first()?)? + range(gates[1], *path.last()?)?;
        for w in path.windows(2) {
            let length = self.field.link(w[0], w[1])?;
            sum += length;
        }
        let demand = self.demand(way);
        let queues =
            self.vertices(way, path).windows(2).map(|w| self.queue(w[0], w[1], demand)).sum::<Weight>();
        Some(sum + queues)
    }

    /// Cheapest path given the current loads.
    fn cheapest(&mut self, way: &PairSearch, [from, root]: [&[Access]; 2]) -> Option<Vec<u32>> {
        let demand = self.demand(way);
        let ground = |g: usize| self.satellites() + g as u32;
        let up = |a: &Access| Access { range: a.range + self.queue(ground(way.from), a.sat, demand), ..*a };
        let down = |a: &Access| Access { range: a.range + self.queue(a.sat, ground(way.root), demand), ..*a };
        let (from, root): (Vec<_>, Vec<_>) = (from.iter().map(up).collect(), root.iter().map(down).collect());
        let goal = Goal::best(self.sky.ground[way.from].ecef);
        let mut tree = std::mem::take(&mut self.tree);
        // The search expands from the root, whereas packets travel toward it.
        let queue = |here: u32, to: u32| Some(self.queue(to, here, demand));
        tree.toward_with(&self.field, &root, &from, goal, queue);
        let path = tree.path(&from);
        self.tree = tree;
        path
    }
}

impl Sky {
    /// Paths that avoid loaded links; `before` = those of the previous instant, if any. With `turn`
    /// all pairs may change, else only those with a broken path.
    pub(crate) fn assign(
        &self,
        (m, held): (&Moment, &[Held]),
        rule: &LoadRule,
        before: &[Option<Vec<u32>>],
        turn: bool,
    ) -> Routes {
        let gates = |g: usize| self.gates(m, g, held[g].sat);
        let ends: Vec<[Vec<Access>; 2]> = self.ways.iter().map(|w| [gates(w.from), gates(w.root)]).collect();
        let field = m.mesh.unmeasured(&m.positions);
        let mut a = Assignment { sky: self, rule, field, load: BTreeMap::new(), tree: Tree::default() };
        let mut order: Vec<usize> = (0..self.ways.len()).collect();
        order.sort_by_key(|&i| {
            let (w, [there, back]) = (&self.ways[i], a.demand(&self.ways[i]));
            (std::cmp::Reverse(there.max(back)), w.from.min(w.root), w.from.max(w.root), w.from)
        });
        let mut paths: Vec<Option<Vec<u32>>> = before.to_vec();
        paths.resize(self.ways.len(), None);
        for (i, path) in paths.iter_mut().enumerate() {
            let [from, root] = &ends[i];
            if path.as_ref().is_some_and(|p| a.price(&self.ways[i], p, [from, root]).is_none()) {
                *path = None;
            }
            if let Some(p) = path {
                a.put(&self.ways[i], p, true);
            }
        }
        for _ in 0..TURNS {
            let mut changed = false;
            for &i in &order {
                let (way, [from, root]) = (&self.ways[i], &ends[i]);
                if paths[i].is_some() && !turn {
                    continue;
                }
                if let Some(old) = &paths[i] {
                    a.put(way, old, false);
                }
                let price = |a: &Assignment<'_>, p: &Option<Vec<u32>>| {
                    p.as_ref().and_then(|p| a.price(way, p, [from, root])).unwrap_or(UNREACHABLE)
                };
                let new = a.cheapest(way, [from, root]);
                if price(&a, &new) < price(&a, &paths[i]) {
                    paths[i] = new;
                    changed = true;
                }
                if let Some(p) = &paths[i] {
                    a.put(way, p, true);
                }
            }
            if !changed {
                break;
            }
        }
        Routes { serving: held.iter().map(|h| h.sat).collect(), paths, next_hops: Vec::new() }
    }

    /// Assigns satellite-disjoint paths to pairs between the same two places, as far as possible.
    pub(crate) fn disjoin(&self, m: &Moment, held: &[Held], routes: &mut Routes) {
        let place = |g: usize| {
            let GeoPoint { lat_deg, lon_deg, height_m } = self.spec.ground[g].place;
            [lat_deg, lon_deg, height_m].map(f64::to_bits)
        };
        let mut groups: BTreeMap<[[u64; 3]; 2], Vec<usize>> = BTreeMap::new();
        for (i, way) in self.ways.iter().enumerate() {
            let (a, b) = (place(way.from), place(way.root));
            groups.entry([a.min(b), a.max(b)]).or_default().push(i);
        }
        let field = m.mesh.unmeasured(&m.positions);
        let mut tree = Tree::default();
        for group in groups.values_mut().filter(|g| g.len() > 1) {
            // In scenario order.
            group.sort_by_key(|&i| self.ways[i].along.max(self.ways[i].against));
            let mut taken = vec![false; field.satellites()];
            for &i in &*group {
                let free = |g: usize| -> Vec<Access> {
                    let all = self.gates(m, g, held[g].sat);
                    all.into_iter().filter(|a| !taken[a.sat as usize]).collect()
                };
                let (from, root) = (free(self.ways[i].from), free(self.ways[i].root));
                let goal = Goal::all(self.ground[self.ways[i].from].ecef, &from);
                tree.toward_without(&field, &root, &from, goal, &taken);
                // Without a disjoint path the pair keeps its shortest path, which shares
                // satellites.
                if let Some(path) = tree.path(&from) {
                    path.iter().for_each(|&s| taken[s as usize] = true);
                    routes.paths[i] = Some(path);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_units::Nanos;

    #[test]
    fn a_queue_costs_what_m_m_1_says_and_grows_on_above_the_rate() {
        let rule = LoadRule { delay: Nanos::from_millis(1), ..LoadRule::default() };
        let ms = |u: f64| rule.cost(u) as f64 / (SPEED_OF_LIGHT_M_S * 1e3) * 1e3;
        assert!((ms(0.5) - 1.0).abs() < 1e-6 && (ms(0.8) - 4.0).abs() < 1e-6, "{} {}", ms(0.5), ms(0.8));
        assert!((ms(0.9) - 9.0).abs() < 1e-6 && (ms(2.0) - 119.0).abs() < 1e-6, "{} {}", ms(0.9), ms(2.0));
        assert_eq!(rule.cost(0.0), 0);
        assert_eq!(rule.cost(1e9), DEAREST);
    }
}
