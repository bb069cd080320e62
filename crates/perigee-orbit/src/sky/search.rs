// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Path searches for all pairs at an instant, given the satellite of each ground point.

use crate::links::length::{Access, Weight};
use crate::paths::a_star::Goal;
use crate::paths::incremental_tree::Warm;
use crate::paths::tree::Tree;
use crate::sky::config::PathRule;
use crate::sky::error::SkyError;
use crate::sky::moment::Moment;
use crate::sky::pair_searches::PairSearch;
use crate::sky::plugin::{failed, RouteFunction, RouteView};
use crate::sky::policy::Held;
use crate::sky::Sky;
use perigee_timeline::Routing;
use std::sync::Arc;

/// Paths at one instant.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Routes {
    /// Satellite of each ground point that uses only one.
    pub serving: Vec<Option<u32>>,
    /// Satellites (and relays, numbered after all satellites) of each path, from its start to its
    /// root.
    pub paths: Vec<Option<Vec<u32>>>,
    /// With next-hop tables: next hops of all satellites towards each root, in the order of
    /// [`Sky::roots`].
    pub next_hops: Vec<Vec<u32>>,
}

/// Paths to one root.
#[derive(Debug, Default)]
pub(crate) struct RootRoutes {
    /// Path of each search to the root.
    pub paths: Vec<Option<Vec<u32>>>,
    /// Next hops of all satellites, with next-hop tables.
    pub next_hops: Option<Vec<u32>>,
}

impl Sky {
    /// Searches from `gates` until the distances of the `targets`, in view of ground point `g`, are
    /// known; with `best`, only that of the target on the shortest path needs to be exact.
    pub(crate) fn grow(
        &self,
        m: &Moment,
        tree: &mut Tree,
        gates: &[Access],
        (g, targets): (usize, &[Access]),
        best: bool,
    ) {
        let point = self.ground[g].ecef;
        match m.mesh.field(&m.positions) {
            Some(f) if best => tree.toward(&f, gates, targets, Goal::best(point)),
            Some(f) => tree.toward(&f, gates, targets, Goal::all(point, targets)),
            None => tree.search(m.mesh.graph(), gates, targets),
        }
    }

    /// Routes as if the run started at that instant.
    pub(crate) fn routes_of(&self, m: &Moment) -> Result<Routes, SkyError> {
        let held = self.serve(m, &[]).map_err(SkyError::Spec)?;
        self.routes(m, &held, &mut Tree::default()).map_err(SkyError::Spec)
    }

    /// Path chosen by a user-defined function, from the start of a search's pair to its root.
    fn ask_route(
        &self,
        f: &dyn RouteFunction,
        m: &Moment,
        way: &PairSearch,
        gates: [&[Access]; 2],
        shortest: Option<Vec<u32>>,
    ) -> Result<Option<Vec<u32>>, String> {
        let ends = [way.from, way.root];
        let view = RouteView {
            t: m.t,
            ends: ends.map(|g| self.spec.ground[g].name.clone()),
            points: ends.map(|g| self.ground[g].ecef),
            gates: gates.map(<[Access]>::to_vec),
            shortest,
            net: Arc::new(self.constellation.view(&m.positions, m.mesh.all_isls())),
        };
        let of = format!("{:?} to {:?}", view.ends[0], view.ends[1]);
        let wrong = |why: &str| failed(f.name(), m.t, &of, why);
        let view = Arc::new(view);
        let path = f.route(&view).map_err(|why| wrong(&why))?;
        if let Some(path) = &path {
            view.check(path).map_err(|why| wrong(&why))?;
        }
        Ok(path)
    }

    /// Satellites that a ground point may use, given `serving`.
    pub(crate) fn gates(&self, m: &Moment, g: usize, serving: Option<u32>) -> Vec<Access> {
        let visible = &m.visible[g];
        if !self.holds_one(g) {
            return visible.clone();
        }
        visible.iter().filter(|a| Some(a.sat) == serving).copied().collect()
    }

    /// Ground points at which shortest-path trees are rooted, in order.
    pub(crate) fn roots(&self) -> impl Iterator<Item = usize> + '_ {
        self.ways.chunk_by(|a, b| a.root == b.root).map(|c| c[0].root)
    }

    /// Paths, given the satellite of each terminal.
    pub(crate) fn routes(&self, m: &Moment, held: &[Held], tree: &mut Tree) -> Result<Routes, String> {
        let serving: Vec<Option<u32>> = held.iter().map(|h| h.sat).collect();
        let mut r = Routes::default();
        for of_root in self.ways.chunk_by(|a, b| a.root == b.root) {
            let found = self.routes_to(m, held, of_root, tree)?;
            r.paths.extend(found.paths);
            r.next_hops.extend(found.next_hops);
        }
        r.serving = serving;
        match &self.spec.rule {
            PathRule::Shortest => {}
            PathRule::Disjoint => self.disjoin(m, held, &mut r),
            PathRule::LoadAware(rule) => r = self.assign((m, held), rule, &[], true),
        }
        Ok(r)
    }

    /// Next hops of all satellites to the common root of some searches, and the searches' paths.
    /// `drift`: movement of the links since the tree's instant.
    pub(crate) fn table_to(
        &self,
        m: &Moment,
        held: &[Held],
        ways: &[PairSearch],
        (tree, drift): (&mut Warm, Option<Weight>),
    ) -> RootRoutes {
        tree.refresh(m.mesh.graph(), &self.gates(m, ways[0].root, held[ways[0].root].sat), drift);
        let path = |w: &PairSearch| tree.tree().path(&self.gates(m, w.from, held[w.from].sat));
        RootRoutes {
            paths: ways.iter().map(path).collect(),
            next_hops: Some(tree.tree().next_hops().collect()),
        }
    }

    /// Paths to one root and, with next-hop tables, the table.
    pub(crate) fn routes_to(
        &self,
        m: &Moment,
        held: &[Held],
        ways: &[PairSearch],
        tree: &mut Tree,
    ) -> Result<RootRoutes, String> {
        if self.spec.routing == Routing::PerHop {
            return Ok(self.table_to(m, held, ways, (&mut Warm::default(), None)));
        }
        let gates = |g: usize| self.gates(m, g, held[g].sat);
        let root = gates(ways[0].root);
        let from: Vec<Vec<Access>> = ways.iter().map(|w| gates(w.from)).collect();
        let mut found = RootRoutes::default();
        if m.mesh.field(&m.positions).is_none() {
            let all: Vec<Access> = from.iter().flatten().copied().collect();
            tree.search(m.mesh.graph(), &root, &all);
        }
        for (way, from) in ways.iter().zip(&from) {
            if m.mesh.field(&m.positions).is_some() {
                self.grow(m, tree, &root, (way.from, from), true);
            }
            let path = match &self.spec.plugins.route {
                Some(f) => self.ask_route(f.as_ref(), m, way, [from, &root], tree.path(from))?,
                None => tree.path(from),
            };
            found.paths.push(path);
        }
        Ok(found)
    }
}
