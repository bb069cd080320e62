// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Satellite-disjoint paths between two ground points.
//!
//! Greedy: each path is the shortest in the graph without the satellites of the previous ones. The
//! sum of the lengths may exceed the optimum, and there may be more disjoint paths than are found
//! (Suurballe 1974). In return, the first path is the one that routing uses.

use crate::frames::Vec3;
use crate::links::length::Access;
use crate::paths::a_star::{Field, Goal};
use crate::paths::tree::Tree;

/// Up to `k` paths, shortest first, each as a list of satellites. `gates` are the access links of the
/// destination and of the source. `start` is the Earth-fixed position of the source in metres; it is
/// used by the search heuristic only.
pub fn paths(field: &Field<'_>, start: Vec3, gates: [&[Access]; 2], k: usize) -> Vec<Vec<u32>> {
    let mut tree = Tree::default();
    let mut taken = vec![false; field.satellites()];
    let mut found = Vec::new();
    let free = |gates: &[Access], taken: &[bool]| -> Vec<Access> {
        gates.iter().filter(|a| !taken[a.sat as usize]).copied().collect()
    };
    while found.len() < k {
        let [to, from] = gates.map(|g| free(g, &taken));
        tree.toward_without(field, &to, &from, Goal::all(start, &from), &taken);
        let Some(path) = tree.path(&from) else { break };
        path.iter().for_each(|&s| taken[s as usize] = true);
        found.push(path);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::isls::{plus_grid, IslGraph, Limits, Seam};
    use crate::links::visibility::{GroundPoint, Mask};
    use crate::motion::positions::Positions;
    use crate::motion::presets::STARLINK_SHELL1;
    use crate::motion::shell::ShellMotion;
    use crate::time::Epoch;
    use perigee_timeline::GeoPoint;
    use std::collections::BTreeSet;

    #[test]
    fn disjoint_paths_share_no_satellite_and_grow_longer() {
        let isls = IslGraph::new(1584, &plus_grid(&STARLINK_SHELL1, Seam::Auto));
        let mut at = Positions::default();
        ShellMotion::new(STARLINK_SHELL1, Epoch::Y2000).positions(Epoch::Y2000, 1.0, &mut at);
        let point = |lat_deg, lon_deg| {
            let place = GeoPoint { lat_deg, lon_deg, height_m: 0.0 };
            GroundPoint::new(place, Mask::default(), crate::frames::WGS84)
        };
        let (a, b) = (point(51.5, -0.1), point(40.7, -74.0));
        let (mut from, mut to) = (Vec::new(), Vec::new());
        a.visible(&at, &mut from);
        b.visible(&at, &mut to);
        let field = Field::new(&isls, &at, Limits::default());
        let all = paths(&field, a.ecef, [&to, &from], 50);
        assert!(all.len() >= 2 && all.len() <= from.len().min(to.len()), "{}", all.len());
        let unique: BTreeSet<u32> = all.iter().flatten().copied().collect();
        assert_eq!(unique.len(), all.iter().map(Vec::len).sum::<usize>());
        let range = |gates: &[Access], s: u32| gates.iter().find(|g| g.sat == s).unwrap().range;
        let lengths: Vec<u64> = all
            .iter()
            .map(|p| {
                let isls: u64 = p.windows(2).map(|w| Limits::default().length(&at, w[0], w[1])).sum();
                range(&from, p[0]) + isls + range(&to, p[p.len() - 1])
            })
            .collect();
        assert!(lengths.windows(2).all(|w| w[0] <= w[1]), "{lengths:?}");
        let mut tree = Tree::default();
        tree.toward(&field, &to, &from, Goal::best(a.ecef));
        assert_eq!(tree.path(&from).as_ref(), Some(&all[0]));
        assert_eq!(paths(&field, a.ecef, [&to, &[]], 3), Vec::<Vec<u32>>::new());
    }
}
