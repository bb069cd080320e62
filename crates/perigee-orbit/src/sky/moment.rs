// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Snapshot of the sky for routing: positions, lengths of links, and the satellites in view of each
//! ground point.

use crate::links::isls::IslGraph;
use crate::links::length::{Access, Weight};
use crate::links::visibility::Horizon;
use crate::motion::positions::Positions;
use crate::paths::search_graph::Mesh;
use crate::paths::tree::Tree;
use crate::sky::config::GroundKind;
use crate::sky::error::SkyError;
use crate::sky::policy::Reselect;
use crate::sky::Sky;
use perigee_units::Nanos;
use rayon::prelude::*;
use std::sync::Arc;

/// Number of A* searches per instant from which on it is cheaper to compute all ISL lengths at
/// once.
const MANY_SEARCHES: usize = 8;

/// Positions and views at one instant: all state that does not depend on the previous instant.
#[derive(Debug, Default)]
pub(crate) struct Moment {
    pub t: Nanos,
    pub positions: Positions,
    pub mesh: Mesh,
    pub visible: Vec<Vec<Access>>,
    /// For terminals that select the shortest path at every step: path lengths to their peers
    /// through each visible satellite.
    pub paths: Vec<Vec<Weight>>,
}

impl Sky {
    pub(crate) fn moment_at(&self, t: Nanos) -> Result<Moment, SkyError> {
        let span = self.constellation.motion.span(self.constellation.start, t, t).map_err(SkyError::Spec)?;
        let mut positions = Positions::default();
        span.positions(t, &mut positions);
        let isls = self.constellation.isls_at(t).map_err(SkyError::Spec)?;
        let horizon = self.horizon(&positions, t, Nanos::ZERO);
        Ok(self.moment(t, positions, (&isls, &horizon), &mut Tree::default()))
    }

    /// Satellites that ground points with traffic can see within `reach` of `t`, from the positions
    /// at `t`.
    pub(crate) fn horizon(&self, at: &Positions, t: Nanos, reach: Nanos) -> Horizon {
        let asked = |g: usize| !self.peers[g].is_empty() || self.relays[g];
        self.horizon_of(at, (t, reach), asked)
    }

    pub(crate) fn horizon_of(
        &self,
        at: &Positions,
        (centre, reach): (Nanos, Nanos),
        asked: impl Fn(usize) -> bool + Sync,
    ) -> Horizon {
        // Interpolated positions are off by at most a metre.
        let moved_m = 10.0 + self.fastest_m_s * reach.as_secs_f64();
        let of = |g: usize| {
            let mut candidates = Vec::new();
            if asked(g) {
                self.ground[g].candidates(at, moved_m, &mut candidates);
            }
            candidates
        };
        let candidates = (0..self.ground.len()).into_par_iter().map(of).collect();
        let clear_m = self.constellation.limits().clear_m(at, moved_m);
        Horizon { candidates, clear_m, centre, reach }
    }

    /// Views for given positions.
    pub(crate) fn moment(
        &self,
        t: Nanos,
        positions: Positions,
        (isls, horizon): (&Arc<IslGraph>, &Horizon),
        tree: &mut Tree,
    ) -> Moment {
        let mut m = Moment { t, positions, ..Moment::default() };
        m.visible.resize_with(self.ground.len(), Vec::new);
        for g in 0..self.ground.len() {
            if !horizon.candidates[g].is_empty() && !self.spec.ground[g].is_off(t) {
                self.look(g, &m.positions, &horizon.candidates[g], &mut m.visible[g]);
            }
        }
        let limits = self.constellation.limits();
        if self.aims {
            let many = self.ways.len() >= MANY_SEARCHES;
            m.mesh.adopt(isls, &m.positions, (limits, horizon.clear_m), many);
        } else {
            m.mesh.measure(isls, &m.positions, (limits, horizon.clear_m), &self.relays, &m.visible);
        }
        // With less frequent selections, paths are searched at each selection.
        if self.spec.reselect == Reselect::EachStep {
            m.paths = (0..self.ground.len()).map(|g| self.paths_through(&m, g, tree)).collect();
        }
        m
    }

    /// Satellites in view of a ground point, limited to its number of dishes.
    pub(crate) fn look(&self, g: usize, at: &Positions, candidates: &[u32], out: &mut Vec<Access>) {
        self.ground[g].visible_among(candidates.iter().copied(), at, out);
        if let Some(dishes) = self.spec.ground[g].dishes.filter(|&d| (d as usize) < out.len()) {
            if self.spec.ground[g].kind == GroundKind::Station {
                out.sort_unstable_by_key(|a| (a.range, a.sat));
                out.truncate(dishes as usize);
                out.sort_unstable_by_key(|a| a.sat);
            }
        }
    }
}
