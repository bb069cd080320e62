// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Snapshots of a sky's full forwarding tables, for tools without traffic and for the benchmark.

use crate::links::length::Access;
use crate::links::visibility::Horizon;
use crate::motion::fleet::Knots;
use crate::motion::positions::Positions;
use crate::paths::incremental_tree::{drift, Views, Warm};
use crate::paths::search_graph::Mesh;
use crate::paths::tree::NOWHERE;
use crate::sky::error::SkyError;
use crate::sky::Sky;
use perigee_units::Nanos;
use rayon::prelude::*;

/// Time for which visibility candidates remain valid.
const HORIZON: Nanos = Nanos::from_secs(10);

/// Reusable buffers of [`Sky::snapshot_tables`].
#[derive(Debug, Default)]
pub struct TableScratch {
    positions: Positions,
    mesh: Mesh,
    /// Links of the previous snapshot.
    mesh_before: Mesh,
    visible: Vec<Vec<Access>>,
    horizon: Horizon,
    views: Views,
    /// Interpolation of positions between two evaluations of SGP4.
    knots: Option<Knots>,
    /// One tree per destination: each snapshot starts from the trees of the previous one.
    trees: Vec<Warm>,
    /// Forwarding tables, one row per destination in the order requested: the next hop of each
    /// satellite, then the first satellite of each ground point. `NOWHERE` = no path.
    pub next: Vec<u32>,
}

impl Sky {
    /// Computes the full forwarding tables at an instant into `s`: positions, visibility, ISL
    /// lengths, and the next hop of every satellite and ground point towards each of `dests`
    /// (indices of ground points). Returns the number of entries with a path. The benchmark times
    /// this call.
    ///
    /// # Errors
    /// If a satellite has decayed by then, or a user-supplied function of ISLs fails.
    pub fn snapshot_tables(
        &self,
        t: Nanos,
        dests: &[usize],
        s: &mut TableScratch,
    ) -> Result<usize, SkyError> {
        let c = &self.constellation;
        let known = s.knots.take().filter(|k| k.hold(t));
        let knots = known.map_or_else(|| c.motion.knots(c.start, t, t).map_err(SkyError::Spec), Ok)?;
        c.motion.over(c.start, &knots).positions(t, &mut s.positions);
        s.knots = Some(knots);
        s.visible.resize_with(self.ground.len(), Vec::new);
        let at = &s.positions;
        if !s.horizon.holds(t) {
            s.horizon = self.horizon_of(at, (t, HORIZON), |_| true);
        }
        let views = s.visible.par_iter_mut().zip(&s.horizon.candidates).enumerate();
        views.for_each(|(g, (visible, candidates))| self.look(g, at, candidates, visible));
        let isls = c.isls_at(t).map_err(SkyError::Spec)?;
        std::mem::swap(&mut s.mesh, &mut s.mesh_before);
        let limits = (c.limits(), s.horizon.clear_m);
        s.mesh.measure(&isls, &s.positions, limits, &self.relays, &s.visible);
        let row = self.constellation.len() + self.ground.len();
        s.next.resize(dests.len() * row, NOWHERE);
        s.trees.resize_with(dests.len(), Warm::default);
        s.views.update(&s.visible);
        let (graph, visible, views) = (s.mesh.graph(), &s.visible, &s.views);
        let moved = drift(s.mesh_before.graph(), graph);
        let work = s.trees.par_iter_mut().zip(s.next.par_chunks_mut(row)).zip(dests);
        let filled = work.map(|((tree, next), &dest)| {
            tree.refresh(graph, &visible[dest], moved);
            let (satellites, stations) = next.split_at_mut(self.constellation.len());
            satellites.iter_mut().zip(tree.tree().next_hops()).for_each(|(entry, hop)| *entry = hop);
            stations.copy_from_slice(tree.first_hops(views));
            // Summed block by block, in a form that the compiler vectorises.
            let reachable =
                |block: &[u32]| block.iter().map(|&hop| u32::from(hop != NOWHERE)).sum::<u32>() as usize;
            next.chunks(1024).map(reachable).sum::<usize>()
        });
        Ok(filled.sum())
    }
}
