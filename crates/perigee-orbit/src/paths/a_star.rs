// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A* search (Hart, Nilsson, Raphael 1968) for the shortest path between two ground points: the
//! search of [`crate::paths::tree`] without visiting most of the sky.
//!
//! A satellite is visited only if its distance plus the straight line to the goal does not exceed
//! the resulting path. ISL lengths are computed on demand. [`Tree::path`] then returns the same
//! path as after a full search, ties included: every satellite is settled if its distance plus
//! straight line is at most the path's length.

use crate::frames::{distance_m, Vec3};
use crate::links::isls::{IslGraph, Limits};
use crate::links::length::{Access, Weight, UNREACHABLE};
use crate::motion::positions::Positions;
use crate::paths::tree::{Label, Tree, BUCKET_SHIFT, DOWN};

/// Margin subtracted from straight lines, as lengths of links are rounded to millimetres, up or
/// down.
const ROUNDING_MM: Weight = 1000;

/// ISLs at an instant; lengths are computed on demand unless they are known.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    isls: &'a IslGraph,
    at: &'a Positions,
    limits: Limits,
    /// Length up to which every link exists.
    clear_m: f64,
    /// Lengths by entry of the graph, if known.
    lengths: Option<&'a [Weight]>,
}

/// Goal of a search.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    point: Vec3,
    /// Maximum excess of the straight line to the point over the distance to a relevant satellite.
    reach: Weight,
    /// Only the satellite on the shortest path to the point is needed.
    best: bool,
}

impl Goal {
    /// Goal that needs only the best of the satellites that a ground point may use. Path lengths
    /// through others are upper bounds.
    pub fn best(point: Vec3) -> Self {
        Goal { point, reach: ROUNDING_MM, best: true }
    }

    /// Goal that needs all satellites that a ground point may use.
    pub fn all(point: Vec3, targets: &[Access]) -> Self {
        let farthest = targets.iter().map(|a| a.range).max().unwrap_or(0);
        Goal { point, reach: farthest + ROUNDING_MM, best: false }
    }

    /// Lower bound of the remaining distance from a satellite.
    fn ahead(&self, from: Vec3) -> Weight {
        ((distance_m(from, self.point) * 1e3) as Weight).saturating_sub(self.reach)
    }
}

impl<'a> Field<'a> {
    /// Field of a constellation at an instant.
    pub fn new(isls: &'a IslGraph, at: &'a Positions, limits: Limits) -> Self {
        Field::with_clear(isls, at, limits, limits.clear_m(at, 0.0))
    }

    /// Like [`Field::new`], with a known [`Limits::clear_m`].
    pub(crate) fn with_clear(isls: &'a IslGraph, at: &'a Positions, limits: Limits, clear_m: f64) -> Self {
        Field { isls, at, limits, clear_m, lengths: None }
    }

    /// The same field with known lengths by entry of the graph (see [`IslGraph::weights`]).
    #[must_use]
    pub(crate) fn measured(self, lengths: &'a [Weight]) -> Self {
        Field { lengths: (lengths.len() == self.isls.to.len()).then_some(lengths), ..self }
    }

    /// Number of satellites.
    pub fn satellites(&self) -> usize {
        self.at.len()
    }

    /// Length of the link between two satellites, if there is one.
    pub(crate) fn link(&self, a: u32, b: u32) -> Option<Weight> {
        let linked = self.isls.neighbours(a).contains(&b);
        linked.then(|| self.length(a, b)).filter(|&length| length != UNREACHABLE)
    }

    /// Neighbours of a satellite, with the lengths of the links.
    #[inline]
    fn around(&self, sat: u32) -> impl Iterator<Item = (u32, Weight)> + '_ {
        let entries = self.isls.rows[sat as usize] as usize..self.isls.rows[sat as usize + 1] as usize;
        let first = entries.start;
        self.isls.to[entries].iter().enumerate().map(move |(i, &to)| match self.lengths {
            Some(lengths) => (to, lengths[first + i]),
            None => (to, self.length(sat, to)),
        })
    }

    fn length(&self, a: u32, b: u32) -> Weight {
        let d = distance_m(self.at.get(a as usize), self.at.get(b as usize));
        if d <= self.clear_m {
            return crate::links::length::weight(d);
        }
        self.limits.length(self.at, a, b)
    }
}

impl Tree {
    /// Searches from a destination reachable through `gates` until the goal is settled; `targets`
    /// are the satellites that the goal's ground point may use. Only their distances and paths are
    /// valid afterwards.
    pub fn toward(&mut self, field: &Field<'_>, gates: &[Access], targets: &[Access], goal: Goal) {
        self.toward_without(field, gates, targets, goal, &[]);
    }

    /// Like [`Tree::toward`], without the satellites marked in `taken`.
    pub fn toward_without(
        &mut self,
        field: &Field<'_>,
        gates: &[Access],
        targets: &[Access],
        goal: Goal,
        taken: &[bool],
    ) {
        let free = |_: u32, to: u32| (!taken.get(to as usize).is_some_and(|&t| t)).then_some(0);
        self.toward_with(field, gates, targets, goal, free);
    }

    /// Like [`Tree::toward`], with an `extra` cost per link, from a satellite to the next one as
    /// seen from the destination; `None` = the link must not be used.
    pub(crate) fn toward_with(
        &mut self,
        field: &Field<'_>,
        gates: &[Access],
        targets: &[Access],
        goal: Goal,
        extra: impl Fn(u32, u32) -> Option<Weight>,
    ) {
        self.clear(field.at.len());
        self.ahead.clear();
        self.ahead.resize(field.at.len(), UNREACHABLE);
        for g in gates {
            self.approach(field, g.sat, Label::new(g.range, DOWN), goal);
        }
        let mut bucket = 0;
        while bucket < self.buckets.len() && !self.reached(bucket, targets, goal) {
            let mut i = 0;
            while i < self.buckets[bucket].len() {
                let here = self.buckets[bucket][i];
                i += 1;
                let label = self.labels[here as usize];
                // An entry is stale if its satellite has since moved to an earlier bucket.
                if bucket_of(label.distance() + self.ahead[here as usize]) != bucket {
                    continue;
                }
                for (to, length) in field.around(here) {
                    if length == UNREACHABLE {
                        continue;
                    }
                    if let Some(more) = extra(here, to) {
                        self.approach(field, to, Label::new(label.distance() + length + more, here), goal);
                    }
                }
            }
            bucket += 1;
        }
    }

    /// Whether all relevant satellites are in earlier buckets.
    fn reached(&self, bucket: usize, targets: &[Access], goal: Goal) -> bool {
        if !goal.best {
            return self.settled_below(bucket, targets);
        }
        let bound = (bucket as Weight) << BUCKET_SHIFT;
        targets.is_empty() || targets.iter().any(|&t| self.through(t) < bound)
    }

    fn approach(&mut self, field: &Field<'_>, sat: u32, new: Label, goal: Goal) {
        let old = self.labels[sat as usize];
        if new >= old {
            return;
        }
        self.labels[sat as usize] = new;
        if new.distance() == old.distance() {
            return;
        }
        if self.ahead[sat as usize] == UNREACHABLE {
            self.ahead[sat as usize] = goal.ahead(field.at.get(sat as usize));
        }
        let bucket = bucket_of(new.distance() + self.ahead[sat as usize]);
        if bucket >= self.buckets.len() {
            self.buckets.resize_with(bucket + 1, Vec::new);
        }
        self.buckets[bucket].push(sat);
    }
}

fn bucket_of(length: Weight) -> usize {
    (length >> BUCKET_SHIFT) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::isls::{plus_grid, Seam};
    use crate::links::visibility::{GroundPoint, Mask};
    use crate::motion::presets::STARLINK_SHELL1;
    use crate::motion::shell::ShellMotion;
    use crate::paths::tree::{Graph, Step};
    use crate::time::Epoch;
    use perigee_timeline::GeoPoint;
    use proptest::prelude::*;

    fn point(lat_deg: f64, lon_deg: f64) -> GroundPoint {
        let place = GeoPoint { lat_deg, lon_deg, height_m: 0.0 };
        GroundPoint::new(place, Mask::default(), crate::frames::WGS84)
    }

    fn place() -> impl Strategy<Value = (f64, f64)> {
        (-56.0f64..56.0, -180.0f64..180.0)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        #[test]
        fn an_aimed_search_finds_what_a_full_one_finds(
            a in place(), b in place(), minutes in 0u64..100, near in prop::bool::ANY, measured in prop::bool::ANY,
        ) {
            let links = plus_grid(&STARLINK_SHELL1, if near { Seam::Open } else { Seam::Auto });
            let isls = IslGraph::new(1584, &links);
            let limits = Limits { max_range_m: if near { 1_500e3 } else { f64::INFINITY }, ..Limits::default() };
            let mut at = Positions::default();
            let later = Epoch::Y2000.plus(perigee_units::Nanos::from_secs(60 * minutes));
            ShellMotion::new(STARLINK_SHELL1, Epoch::Y2000).positions(later, 1.0, &mut at);
            let (mut gates, mut targets, mut weights) = (Vec::new(), Vec::new(), Vec::new());
            point(a.0, a.1).visible(&at, &mut gates);
            point(b.0, b.1).visible(&at, &mut targets);
            isls.weights(&at, (limits, 0.0), &mut weights);
            let (mut full, mut aimed) = (Tree::default(), Tree::default());
            let steps: Vec<Step> = isls.to.iter().zip(&weights).map(|(&to, &w)| Step::new(to, w)).collect();
            full.search(Graph { rows: &isls.rows, steps: &steps }, &gates, &[]);
            let [from, to] = [a, b].map(|p| point(p.0, p.1).ecef);
            let field = Field::new(&isls, &at, limits);
            // The result must depend neither on when lengths are computed nor on reused memory.
            let field = if measured { field.measured(&weights) } else { field };
            aimed.toward(&field, &targets, &gates, Goal::all(from, &gates));
            aimed.toward(&field, &gates, &targets, Goal::all(to, &targets));
            for t in &targets {
                prop_assert_eq!(full.distance(t.sat), aimed.distance(t.sat));
                prop_assert_eq!(full.path(&[*t]), aimed.path(&[*t]));
            }
            prop_assert_eq!(full.path(&targets), aimed.path(&targets));
            aimed.toward(&field, &gates, &targets, Goal::best(to));
            prop_assert_eq!(full.best(&targets), aimed.best(&targets));
            prop_assert_eq!(full.path(&targets), aimed.path(&targets));
        }
    }
}
