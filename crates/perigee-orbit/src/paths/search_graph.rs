// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Search graph of an instant: the ISLs with their lengths and, if stations relay, the radio links
//! of those. A relay is a vertex after all satellites, in the usual numbering: satellites first,
//! then all ground points.

use crate::links::isls::{IslGraph, Limits};
use crate::links::length::{Access, Weight, UNREACHABLE};
use crate::motion::positions::Positions;
use crate::paths::a_star::Field;
use crate::paths::tree::{Graph, Step};
use std::sync::Arc;

/// Links of an instant, with their lengths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mesh {
    isls: Arc<IslGraph>,
    limits: Limits,
    /// If lengths are not computed: length up to which every link exists.
    clear_m: f64,
    weights: Vec<Weight>,
    /// Empty for A* searches.
    steps: Vec<Step>,
    /// ISLs and radio links combined, if any station relays.
    mixed: Option<Mixed>,
}

#[derive(Clone, Debug, Default)]
struct Mixed {
    rows: Vec<u32>,
    steps: Vec<Step>,
}

impl Mesh {
    /// Computes the lengths of all links. `relays[g]` = ground point `g` relays; `visible` =
    /// satellites in view of each.
    pub fn measure(
        &mut self,
        isls: &Arc<IslGraph>,
        at: &Positions,
        (limits, clear_m): (Limits, f64),
        relays: &[bool],
        visible: &[Vec<Access>],
    ) {
        self.isls = isls.clone();
        (self.limits, self.clear_m) = (limits, clear_m);
        self.isls.weights(at, (limits, clear_m), &mut self.weights);
        self.steps.clear();
        self.steps.extend(self.isls.to.iter().zip(&self.weights).map(|(&to, &w)| Step::new(to, w)));
        self.mixed = relays.contains(&true).then(|| self.mix(relays, visible));
    }

    /// Adopts ISLs for A* searches. If there are many searches, all lengths are computed at once.
    pub fn adopt(
        &mut self,
        isls: &Arc<IslGraph>,
        at: &Positions,
        (limits, clear_m): (Limits, f64),
        many: bool,
    ) {
        *self = Mesh { isls: isls.clone(), limits, clear_m, ..Mesh::default() };
        if many {
            self.isls.weights(at, (limits, clear_m), &mut self.weights);
        }
    }

    /// All ISLs, including those that cannot carry packets.
    pub fn all_isls(&self) -> &Arc<IslGraph> {
        &self.isls
    }

    /// Field of an A* search, if the links were adopted for such searches.
    pub fn field<'a>(&'a self, at: &'a Positions) -> Option<Field<'a>> {
        let aims = self.steps.is_empty() && self.mixed.is_none();
        aims.then(|| self.unmeasured(at).measured(&self.weights))
    }

    /// The ISLs alone, whether their lengths are computed or not.
    pub fn unmeasured<'a>(&'a self, at: &'a Positions) -> Field<'a> {
        Field::with_clear(&self.isls, at, self.limits, self.clear_m)
    }

    fn mix(&self, relays: &[bool], visible: &[Vec<Access>]) -> Mixed {
        let satellites = self.isls.satellites();
        let relaying = || visible.iter().enumerate().filter(|(g, _)| relays[*g]);
        let mut rows: Vec<Vec<(u32, Weight)>> = vec![Vec::new(); satellites + visible.len()];
        for (s, row) in rows.iter_mut().enumerate().take(satellites) {
            let own = self.isls.rows[s] as usize..self.isls.rows[s + 1] as usize;
            row.extend(self.isls.to[own.clone()].iter().copied().zip(self.weights[own].iter().copied()));
        }
        for (g, seen) in relaying() {
            let vertex = satellites + g;
            for a in seen {
                rows[a.sat as usize].push((vertex as u32, a.range));
                rows[vertex].push((a.sat, a.range));
            }
        }
        let mut mixed = Mixed { rows: vec![0], ..Mixed::default() };
        for row in rows {
            mixed.steps.extend(row.iter().map(|&(to, length)| Step::new(to, length)));
            mixed.rows.push(mixed.steps.len() as u32);
        }
        mixed
    }

    /// Graph of a full search.
    pub fn graph(&self) -> Graph<'_> {
        match &self.mixed {
            Some(m) => Graph { rows: &m.rows, steps: &m.steps },
            None => Graph { rows: &self.isls.rows, steps: &self.steps },
        }
    }

    /// The ISLs that can carry packets.
    pub fn isls(&self, at: &Positions) -> Vec<[u32; 2]> {
        let there = |l: &[u32; 2]| self.limits.length(at, l[0], l[1]) != UNREACHABLE;
        self.isls.pairs().filter(there).collect()
    }
}
