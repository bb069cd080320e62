// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Planner of a sky's steps: views in parallel, then attachment step by step (a policy may depend
//! on the previous selection), then paths in parallel again. Results do not depend on the number of
//! threads.

use crate::links::length::Weight;
use crate::motion::positions::Positions;
use crate::paths::incremental_tree::{drift, Warm};
use crate::paths::search_graph::Mesh;
use crate::paths::tree::Tree;
use crate::sky::config::PathRule;
use crate::sky::moment::Moment;
use crate::sky::pair_searches::PairSearch;
use crate::sky::policy::Held;
use crate::sky::search::{RootRoutes, Routes};
use crate::sky::Sky;
use perigee_timeline::{PairId, Routing};
use perigee_units::Nanos;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Recorded paths of each pair, each valid from its instant until the next one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    times: Vec<Nanos>,
    /// Vertices of each pair's path, in the order of the pairs.
    paths: Vec<Vec<Option<Vec<u32>>>>,
}

impl Recorded {
    /// Adds the paths from `t` on; instants must be in order.
    pub fn push(&mut self, t: Nanos, paths: Vec<Option<Vec<u32>>>) {
        self.times.push(t);
        self.paths.push(paths);
    }

    fn at(&self, t: Nanos, pair: PairId) -> Option<&Vec<u32>> {
        let i = self.times.partition_point(|&since| since <= t).checked_sub(1)?;
        self.paths[i].get(pair.ix())?.as_ref()
    }

    /// The recorded paths, in place of the result of [`Sky::routes`].
    fn routes(&self, sky: &Sky, t: Nanos) -> Routes {
        let path = |w: &PairSearch| match (w.along, w.against) {
            (Some(pair), _) => self.at(t, pair).cloned(),
            (None, Some(pair)) => self.at(t, pair).map(|p| p.iter().rev().copied().collect()),
            (None, None) => None,
        };
        Routes { paths: sky.ways.iter().map(path).collect(), ..Routes::default() }
    }
}

/// Planner, starting at the beginning of the run.
pub(crate) struct Planner {
    sky: Arc<Sky>,
    /// Attachments at the last step.
    held: Vec<Held>,
    recorded: Option<Recorded>,
    /// With next-hop tables: tree of each root, and links, at the last step.
    trees: Vec<Warm>,
    mesh: Mesh,
    /// With load-aware paths: the paths of the last step.
    assigned: Vec<Option<Vec<u32>>>,
}

/// A range of steps.
pub(crate) struct Steps {
    pub times: Vec<Nanos>,
    pub moments: Vec<Moment>,
    pub routes: Vec<Routes>,
    /// Positions one step after the last.
    pub after: Positions,
}

impl Planner {
    pub fn new(sky: &Arc<Sky>) -> Self {
        let sky = Arc::clone(sky);
        Planner {
            sky,
            held: Vec::new(),
            recorded: None,
            trees: Vec::new(),
            mesh: Mesh::default(),
            assigned: Vec::new(),
        }
    }

    /// Planner with recorded paths instead of searches.
    pub fn replaying(sky: &Arc<Sky>, recorded: Recorded) -> Self {
        Planner { recorded: Some(recorded), ..Planner::new(sky) }
    }

    /// Plans the steps `first..last`, counted from the start; they must continue those of the
    /// previous call.
    pub fn steps(&mut self, steps: std::ops::Range<u64>) -> Result<Steps, String> {
        perigee_units::stop::check()?;
        let length = self.sky.spec.step;
        let (first, end) = (length * steps.start, length * steps.end);
        let times: Vec<Nanos> = steps.map(|k| length * k).collect();
        let (moments, after) = self.moments(&times, first, end)?;
        let routes = self.routes(&moments)?;
        if let Some(last) = moments.last().filter(|_| self.sky.spec.routing == Routing::PerHop) {
            self.mesh = last.mesh.clone();
        }
        Ok(Steps { times, moments, routes, after })
    }

    fn moments(
        &self,
        times: &[Nanos],
        first: Nanos,
        after: Nanos,
    ) -> Result<(Vec<Moment>, Positions), String> {
        let c = &self.sky.constellation;
        let mut isls = BTreeMap::new();
        for &t in times {
            if let std::collections::btree_map::Entry::Vacant(new) = isls.entry(c.isls_since(t)) {
                new.insert(c.isls_at(t)?);
            }
        }
        let span = c.motion.span(c.start, first, after)?;
        let positions = |t: Nanos| {
            let mut p = Positions::default();
            span.positions(t, &mut p);
            p
        };
        let middle = (first + after) / 2;
        let horizon = self.sky.horizon(&positions(middle), middle, after - middle);
        let moment = |tree: &mut Tree, &t: &Nanos| {
            self.sky.moment(t, positions(t), (&isls[&c.isls_since(t)], &horizon), tree)
        };
        Ok((times.par_iter().map_init(Tree::default, moment).collect(), positions(after)))
    }

    fn routes(&mut self, moments: &[Moment]) -> Result<Vec<Routes>, String> {
        if let Some(recorded) = &self.recorded {
            let nobody = vec![None; self.sky.spec.ground.len()];
            let routes = |m: &Moment| Routes { serving: nobody.clone(), ..recorded.routes(&self.sky, m.t) };
            return Ok(moments.iter().map(routes).collect());
        }
        let mut held = Vec::with_capacity(moments.len());
        for m in moments {
            self.held = self.sky.serve(m, &self.held)?;
            held.push(self.held.clone());
        }
        if self.sky.spec.routing == Routing::PerHop {
            return Ok(self.tables(moments, &held));
        }
        if let PathRule::LoadAware(rule) = &self.sky.spec.rule {
            let (mut routes, step) = (Vec::with_capacity(moments.len()), self.sky.spec.step);
            for (m, h) in moments.iter().zip(&held) {
                let turn = m.t.0 / rule.period.0 != m.t.saturating_sub(step).0 / rule.period.0;
                let new = self.sky.assign((m, h), rule, &self.assigned, turn || m.t == Nanos::ZERO);
                self.assigned.clone_from(&new.paths);
                routes.push(new);
            }
            return Ok(routes);
        }
        let route = |tree: &mut Tree, (m, h): (&Moment, Vec<Held>)| self.sky.routes(m, &h, tree);
        if self.sky.spec.plugins.route.is_some() {
            // Sequentially, so that a user-defined function is called in order of time.
            let mut tree = Tree::default();
            return moments.iter().zip(held).map(|(m, h)| route(&mut tree, (m, h))).collect();
        }
        moments.par_iter().zip(held).map_init(Tree::default, route).collect()
    }

    /// Next-hop tables: roots in parallel, each from one instant to the next, because few next hops
    /// change in between.
    fn tables(&mut self, moments: &[Moment], held: &[Vec<Held>]) -> Vec<Routes> {
        let roots: Vec<&[PairSearch]> = self.sky.ways.chunk_by(|a, b| a.root == b.root).collect();
        let before = std::iter::once(&self.mesh).chain(moments.iter().map(|m| &m.mesh));
        let drifts: Vec<Option<Weight>> =
            before.zip(moments).map(|(before, m)| drift(before.graph(), m.mesh.graph())).collect();
        self.trees.resize_with(roots.len(), Warm::default);
        let of_root = |(tree, ways): (&mut Warm, &&[PairSearch])| -> Vec<RootRoutes> {
            let steps = moments.iter().zip(held).zip(&drifts);
            steps.map(|((m, h), drift)| self.sky.table_to(m, h, ways, (&mut *tree, *drift))).collect()
        };
        let by_root: Vec<Vec<RootRoutes>> = self.trees.par_iter_mut().zip(&roots).map(of_root).collect();
        let serving = |h: &Vec<Held>| h.iter().map(|h| h.sat).collect();
        let empty = |h| Routes { serving: serving(h), ..Routes::default() };
        let mut routes: Vec<Routes> = held.iter().map(empty).collect();
        for root in by_root {
            for (r, found) in routes.iter_mut().zip(root) {
                r.paths.extend(found.paths);
                r.next_hops.extend(found.next_hops);
            }
        }
        routes
    }
}
