// SPDX-License-Identifier: Apache-2.0 OR MIT
//! View of a sky from arbitrary places at an instant: satellites in view, and the shortest path
//! from a ground point.

use crate::links::length::Access;
use crate::links::visibility::{GroundPoint, Mask};
use crate::paths::search_graph::Mesh;
use crate::paths::tree::Tree;
use crate::sky::Sky;
use perigee_timeline::GeoPoint;
use perigee_units::Nanos;
use rayon::prelude::*;

/// View from a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// Satellites above the mask.
    pub in_view: usize,
    /// Length of the shortest path from the ground point, over satellites and ISLs; `None` = no
    /// path.
    pub path_m: Option<f64>,
}

impl Sky {
    /// Views from `places` at the last step up to `t`, with satellites at least `mask_deg` above
    /// the horizon, and the lengths of the shortest paths from the ground point `origin`, which has
    /// its configured mask. Attachment policies, dishes and relays are ignored.
    ///
    /// # Errors
    /// If a satellite has decayed by then, or there is no ground point `origin`.
    pub fn reach(
        &self,
        t: Nanos,
        places: &[GeoPoint],
        mask_deg: f64,
        origin: Option<usize>,
    ) -> Result<Vec<Reach>, String> {
        let m = self.moment_at(self.spec.step * (t.0 / self.spec.step.0)).map_err(|e| e.to_string())?;
        let origin =
            origin.map(|g| self.ground.get(g).ok_or(format!("there is no ground point {g}"))).transpose()?;
        let tree = origin.map(|from| {
            let (mut gates, mut mesh, mut tree) = (Vec::new(), Mesh::default(), Tree::default());
            from.visible(&m.positions, &mut gates);
            let limits = self.constellation.limits();
            let clear_m = limits.clear_m(&m.positions, 0.0);
            mesh.measure(m.mesh.all_isls(), &m.positions, (limits, clear_m), &[], &[]);
            tree.search(mesh.graph(), &gates, &[]);
            tree
        });
        let reach = |seen: &mut Vec<Access>, place: &GeoPoint| {
            let from = GroundPoint::new(*place, Mask::Elevation(mask_deg), self.spec.ellipsoid);
            from.visible(&m.positions, seen);
            let path_m = tree.as_ref().and_then(|t| Some(t.through(t.best(seen)?) as f64 / 1e3));
            Reach { in_view: seen.len(), path_m }
        };
        Ok(places.par_iter().map_init(Vec::new, reach).collect())
    }
}

#[cfg(test)]
mod tests {
    use crate::motion::presets;
    use crate::sky::config::{GroundKind, GroundNode, Satellites, SkySpec};
    use crate::{Reach, Sky};
    use perigee_timeline::GeoPoint;
    use perigee_units::Nanos;
    use std::sync::Arc;

    #[test]
    fn a_place_has_the_path_that_a_pair_there_has_and_the_satellites_that_it_sees() {
        let places = [(51.5, -0.1), (40.7, -74.0)].map(|(lat_deg, lon_deg)| GeoPoint {
            lat_deg,
            lon_deg,
            height_m: 0.0,
        });
        let ground = |(name, place): (&str, GeoPoint)| GroundNode::new(name, GroundKind::Terminal, place);
        let preset = presets::find("iridium").unwrap();
        let sky = Sky::new(SkySpec {
            satellites: Satellites::Shells(preset.shells.to_vec()),
            ground: ["a", "b"].into_iter().zip(places).map(ground).collect(),
            pairs: vec![(0, 1), (1, 0)],
            duration: Nanos::from_secs(3600),
            ..SkySpec::default()
        });
        let sky = Arc::new(sky.unwrap());
        for t in [0, 900, 2400].map(Nanos::from_secs) {
            let seen = sky.picture(t).unwrap();
            let reach = sky.reach(t, &places, 25.0, Some(0)).unwrap();
            for (r, visible) in reach.iter().zip(&seen.visible) {
                assert_eq!(r.in_view, visible.len());
            }
            let rtt = seen.routes[0].as_ref().map(|route| (route.one_way() * 2).as_secs_f64());
            let light = reach[1].path_m.map(|m| 2.0 * m / crate::frames::SPEED_OF_LIGHT_M_S);
            match (rtt, light) {
                (Some(rtt), Some(light)) => assert!((rtt - light).abs() < 1e-6, "{rtt} {light}"),
                (rtt, light) => assert_eq!(rtt.is_some(), light.is_some()),
            }
        }
        assert!(matches!(
            sky.reach(Nanos::ZERO, &places, 25.0, None).unwrap()[0],
            Reach { path_m: None, .. }
        ));
    }
}
