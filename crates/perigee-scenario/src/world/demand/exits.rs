// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Paths from satellites to gateways.

use crate::world::demand::step::Way;
use perigee_orbit::links::length::{Access, Weight, UNREACHABLE};
use perigee_orbit::paths::tree::{Tree, DOWN as LANDS};
use perigee_orbit::stream::overlook::Overlook;
use std::collections::BTreeMap;

/// Shortest paths to gateways: one tree to the nearest of all, or one for each gateway.
pub(super) struct Exits<'a> {
    seen: &'a Overlook,
    trees: Vec<(Tree, Vec<u32>)>,
    /// Of each tree, by satellite in view of one of its gateways: gateway, and length through it to its exchange.
    gates: Vec<BTreeMap<u32, (u32, Weight)>>,
}

impl<'a> Exits<'a> {
    pub(super) fn new(seen: &'a Overlook, left: &[f64], fibre: &[Weight], ways: usize) -> Self {
        Exits::search(seen, left, fibre, ways > 1, |tree, gates| seen.search(tree, gates))
    }

    /// With costs of ISLs, to the nearest gateway.
    pub(super) fn around(seen: &'a Overlook, left: &[f64], fibre: &[Weight], detours: &[Weight]) -> Self {
        Exits::search(seen, left, fibre, false, |tree, gates| seen.search_around(tree, gates, detours))
    }

    /// `fibre` is the length behind each gateway.
    fn search(
        seen: &'a Overlook,
        left: &[f64],
        fibre: &[Weight],
        each: bool,
        search: impl Fn(&mut Tree, &[Access]),
    ) -> Self {
        let open: Vec<u32> = (0..left.len() as u32).filter(|g| left[*g as usize] > 0.0).collect();
        let sets: Vec<Vec<u32>> = if each { open.iter().map(|g| vec![*g]).collect() } else { vec![open] };
        let (mut trees, mut gates) = (Vec::new(), Vec::new());
        for set in sets {
            let mut best: BTreeMap<u32, (u32, Weight)> = BTreeMap::new();
            for g in set {
                for a in &seen.gateways[g as usize] {
                    let range = a.range + fibre[g as usize];
                    let at = best.entry(a.sat).or_insert((g, range));
                    if range < at.1 {
                        *at = (g, range);
                    }
                }
            }
            let accesses: Vec<Access> =
                best.iter().map(|(&sat, &(_, range))| Access { sat, range }).collect();
            let mut tree = Tree::default();
            search(&mut tree, &accesses);
            let next = tree.next_hops().collect();
            trees.push((tree, next));
            gates.push(best);
        }
        Exits { seen, trees, gates }
    }

    /// Whether a satellite has a path to any gateway.
    pub(super) fn reaches(&self, satellite: u32) -> bool {
        self.trees.iter().any(|(tree, _)| tree.distance(satellite) != UNREACHABLE)
    }

    /// The nearest gateways of a satellite by path, and their trees.
    pub(super) fn nearest(&self, satellite: u32, ways: usize) -> Vec<(u32, usize)> {
        let distance = |i: &usize| self.trees[*i].0.distance(satellite);
        let mut found: Vec<usize> = (0..self.trees.len()).filter(|i| distance(i) != UNREACHABLE).collect();
        found.sort_by_key(|i| (distance(i), *i));
        found.truncate(ways);
        found.into_iter().map(|i| (self.exit(satellite, i).1, i)).collect()
    }

    /// Satellite over the gateway, and the gateway.
    fn exit(&self, satellite: u32, tree: usize) -> (u32, u32) {
        let mut here = satellite;
        loop {
            let next = self.trees[tree].1[here as usize];
            if next == LANDS {
                return (here, self.gates[tree][&here].0);
            }
            here = next;
        }
    }

    /// The path of a satellite in a tree.
    pub(super) fn way(&self, satellite: u32, tree: usize) -> Way {
        let (exit, gateway) = self.exit(satellite, tree);
        let next = &self.trees[tree].1;
        let (mut isls, mut here) = (Vec::new(), satellite);
        let mut length = self.gates[tree][&exit].1;
        while here != exit {
            let isl = self.seen.isl(here, next[here as usize]);
            length += self.seen.isl_length(isl);
            isls.push(isl);
            here = next[here as usize];
        }
        Way { isls, exit, gateway: Some(gateway), length }
    }
}
