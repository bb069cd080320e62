// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A sky at an instant as a network of capacities: satellites in view of many places and of
//! gateways, and shortest paths from every satellite to gateways over ISLs.

use crate::frames::norm;
use crate::links::isls::IslGraph;
use crate::links::length::{Access, Weight, UNREACHABLE};
use crate::links::visibility::{GroundPoint, Mask};
use crate::motion::positions::Positions;
use crate::paths::search_graph::Mesh;
use crate::paths::tree::{Graph, Step, Tree};
use crate::sky::error::SkyError;
use crate::sky::Sky;
use perigee_timeline::GeoPoint;
use perigee_units::Nanos;
use std::sync::Arc;

/// The ISLs of the previous instant, kept while they are the same.
#[derive(Clone, Debug, Default)]
pub struct KnownIsls(Option<(Nanos, Arc<IslGraph>)>);

/// Views and links at an instant.
#[derive(Clone, Debug)]
pub struct Overlook {
    /// Satellites in view of each place, by number.
    pub places: Vec<Vec<Access>>,
    /// Satellites that each gateway can use: those in view, limited to its dishes.
    pub gateways: Vec<Vec<Access>>,
    mesh: Mesh,
}

impl Sky {
    /// A place with the mask of the ground points' default, for [`Sky::overlook`].
    pub fn place_at(&self, place: GeoPoint, mask_deg: f64) -> GroundPoint {
        GroundPoint::new(place, Mask::Elevation(mask_deg), self.spec.ellipsoid)
    }

    /// Views and links at an instant, from `places` and from the ground points `gateways`.
    ///
    /// # Errors
    /// If a satellite has decayed by then.
    pub fn overlook(
        &self,
        t: Nanos,
        places: &[GroundPoint],
        gateways: &[usize],
        isls: &mut KnownIsls,
    ) -> Result<Overlook, SkyError> {
        let c = &self.constellation;
        let mut at = Positions::default();
        c.motion.span(c.start, t, t).map_err(SkyError::Spec)?.positions(t, &mut at);
        let since = c.isls_since(t);
        let graph = match isls.0.take() {
            Some((known, graph)) if known == since => graph,
            _ => c.isls_at(t).map_err(SkyError::Spec)?,
        };
        isls.0 = Some((since, graph.clone()));
        let mut mesh = Mesh::default();
        let limits = c.limits();
        mesh.measure(&graph, &at, (limits, limits.clear_m(&at, 0.0)), &[], &[]);
        let near = Belts::new(&at);
        let view = |point: &GroundPoint| {
            let mut seen = Vec::new();
            near.visible(point, &at, &mut seen);
            seen
        };
        let all: Vec<u32> = (0..at.len() as u32).collect();
        let gateway = |&g: &usize| {
            let mut seen = Vec::new();
            self.look(g, &at, &all, &mut seen);
            seen
        };
        Ok(Overlook {
            places: places.iter().map(view).collect(),
            gateways: gateways.iter().map(gateway).collect(),
            mesh,
        })
    }
}

/// Satellites in the order of their distance from the equatorial plane: a place looks only at those
/// of about its latitude.
struct Belts {
    z: Vec<f64>,
    sats: Vec<u32>,
    farthest_m: f64,
}

impl Belts {
    fn new(at: &Positions) -> Self {
        let mut sats: Vec<u32> = (0..at.len() as u32).collect();
        sats.sort_unstable_by(|a, b| at.z[*a as usize].total_cmp(&at.z[*b as usize]).then(a.cmp(b)));
        let radius2 = |s: &u32| {
            let [x, y, z] = at.get(*s as usize);
            x * x + y * y + z * z
        };
        let farthest_m = sats.iter().map(radius2).fold(0.0, f64::max).sqrt();
        Belts { z: sats.iter().map(|s| at.z[*s as usize]).collect(), sats, farthest_m }
    }

    /// The satellites in view of a point, by number.
    fn visible(&self, point: &GroundPoint, at: &Positions, out: &mut Vec<Access>) {
        let reach = point.reach_m(self.farthest_m);
        let z = point.ecef[2];
        let first = self.z.partition_point(|s| *s < z - reach);
        let end = self.z.partition_point(|s| *s <= z + reach);
        point.visible_among(self.sats[first..end].iter().copied(), at, out);
        out.sort_unstable_by_key(|a| a.sat);
    }
}

/// Costs of ISLs in addition to their lengths, in millimetres, by the number of the link.
pub type Detours = [Weight];

impl Overlook {
    /// Number of ISLs, each direction counted; they are numbered by [`Overlook::isl`].
    pub fn isls(&self) -> usize {
        self.mesh.all_isls().to.len()
    }

    /// Number of the ISL from a satellite to a neighbour.
    ///
    /// # Panics
    /// If they are no neighbours.
    pub fn isl(&self, from: u32, to: u32) -> u32 {
        let graph = self.mesh.all_isls();
        let row = graph.rows[from as usize];
        let place = graph.neighbours(from).iter().position(|n| *n == to);
        row + place.expect("paths go from neighbour to neighbour") as u32
    }

    /// The ends of every ISL, in the order of their numbers.
    pub fn isl_ends(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let graph = self.mesh.all_isls();
        let from = (0..graph.satellites() as u32).flat_map(|s| graph.neighbours(s).iter().map(move |_| s));
        from.zip(graph.to.iter().copied())
    }

    /// Shortest paths from all satellites to a destination in view of `gates`.
    pub fn search(&self, tree: &mut Tree, gates: &[Access]) {
        tree.search(self.mesh.graph(), gates, &[]);
    }

    /// Shortest paths to a satellite (`gate`) from those of `targets`; distances of others are upper bounds.
    pub fn search_for(&self, tree: &mut Tree, gate: Access, targets: &[Access]) {
        tree.search(self.mesh.graph(), &[gate], targets);
    }

    /// The same as [`Overlook::search`] where ISLs cost more than their length. `detours` has an entry for each ISL and is
    /// the same in both directions of a link.
    pub fn search_around(&self, tree: &mut Tree, gates: &[Access], detours: &Detours) {
        let graph = self.mesh.graph();
        let costly = |(step, extra): (&Step, &Weight)| match step.length() {
            length if length >= MOST => Step::new(step.to(), UNREACHABLE),
            length => Step::new(step.to(), (length + extra).min(MOST - 1)),
        };
        let steps: Vec<Step> = graph.steps.iter().zip(detours).map(costly).collect();
        tree.search(Graph { rows: graph.rows, steps: &steps }, gates, &[]);
    }

    /// Length of an ISL, by number; unreachable if it carries nothing.
    pub fn isl_length(&self, isl: u32) -> Weight {
        let length = self.mesh.graph().steps[isl as usize].length();
        if length >= MOST {
            UNREACHABLE
        } else {
            length
        }
    }
}

/// Lengths from here on are those of links that carry nothing: beyond any orbit.
const MOST: Weight = 1 << 40;

impl GroundPoint {
    /// Bound on the distance of a visible point that is at most `radius_m` from the Earth's centre.
    pub(crate) fn reach_m(&self, radius_m: f64) -> f64 {
        // Over a sphere, at elevation e: sqrt(r^2 - (p cos e)^2) - p sin e; a tenth more for the
        // difference between the ellipsoid's normal and the direction of the centre.
        let p = norm(self.ecef);
        let sin = self.least_sine();
        let across2 = p * p * (1.0 - sin * sin);
        1.1 * ((radius_m * radius_m - across2).max(0.0).sqrt() - p * sin).max(0.0) + 100e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::presets;
    use crate::sky::config::{GroundKind, GroundNode, Satellites, SkySpec};

    fn place(lat_deg: f64, lon_deg: f64) -> GeoPoint {
        GeoPoint { lat_deg, lon_deg, height_m: 0.0 }
    }

    fn sky(preset: &str) -> Sky {
        let ground = [("a", 51.5, -0.1), ("b", 40.7, -74.0)].map(|(name, lat, lon)| {
            let kind = GroundKind::Station;
            GroundNode { dishes: Some(2), ..GroundNode::new(name, kind, place(lat, lon)) }
        });
        Sky::new(SkySpec {
            satellites: Satellites::Shells(presets::find(preset).unwrap().shells.to_vec()),
            ground: ground.to_vec(),
            ..SkySpec::default()
        })
        .unwrap()
    }

    #[test]
    fn views_and_paths_are_those_of_the_sky() {
        for preset in ["starlink-shell1", "iridium", "telesat"] {
            let sky = sky(preset);
            let places: Vec<GeoPoint> = (-8..=8)
                .flat_map(|i| (-3..3).map(move |j| place(f64::from(i) * 10.5, f64::from(j) * 60.0)))
                .collect();
            let points: Vec<GroundPoint> = places.iter().map(|p| sky.place_at(*p, 25.0)).collect();
            for t in [0, 1234].map(Nanos::from_secs) {
                let seen = sky.overlook(t, &points, &[0, 1], &mut KnownIsls::default()).unwrap();
                let expected = sky.reach(t, &places, 25.0, None).unwrap();
                for (view, e) in seen.places.iter().zip(&expected) {
                    assert_eq!(view.len(), e.in_view, "{preset}");
                }
                assert!(seen.gateways.iter().all(|g| g.len() <= 2));
                let (mut tree, mut around) = (Tree::default(), Tree::default());
                seen.search(&mut tree, &seen.gateways[0]);
                seen.search_around(&mut around, &seen.gateways[0], &vec![0; seen.isls()]);
                let all: Vec<u32> = (0..sky.constellation().len() as u32).collect();
                for &s in &all {
                    assert_eq!(tree.distance(s), around.distance(s));
                }
                let from = seen.places.iter().find(|p| tree.best(p).is_some()).unwrap();
                let best = tree.best(from).unwrap();
                let path = tree.path(&[best]).unwrap();
                let isls: Weight = path.windows(2).map(|w| seen.isl_length(seen.isl(w[0], w[1]))).sum();
                let last = seen.gateways[0].iter().find(|g| g.sat == *path.last().unwrap()).unwrap();
                assert_eq!(isls + last.range, tree.distance(best.sat));
            }
        }
    }

    #[test]
    fn a_costly_link_is_avoided() {
        let sky = sky("starlink-shell1");
        let seen = sky.overlook(Nanos::ZERO, &[], &[0, 1], &mut KnownIsls::default()).unwrap();
        let mut tree = Tree::default();
        seen.search(&mut tree, &seen.gateways[0]);
        let path = tree.path(&seen.gateways[1]).unwrap();
        assert!(path.len() > 2);
        let mut detours = vec![0; seen.isls()];
        for (a, b) in [(path[0], path[1]), (path[1], path[0])] {
            detours[seen.isl(a, b) as usize] = 100_000_000_000;
        }
        seen.search_around(&mut tree, &seen.gateways[0], &detours);
        let other = tree.path(&seen.gateways[1]).unwrap();
        assert!(other.windows(2).all(|w| w != &path[..2]));
        let ends: Vec<_> = seen.isl_ends().collect();
        assert_eq!(ends[seen.isl(path[0], path[1]) as usize], (path[0], path[1]));
    }
}
