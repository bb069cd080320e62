// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Laser links between satellites: who may talk to whom. Further patterns (lists, rings, learnt ones) join here.

use crate::frames::distance_m;
use crate::motion::Positions;
use crate::routing::{Weight, UNREACHABLE};
use crate::shell::{Shell, EARTH_RADIUS_M};

/// A laser link does not pass below this height: air would bend and absorb it.
const GRAZING_HEIGHT_M: f64 = 80e3;

/// +Grid of a generated shell: the next satellite of the plane, and the same slot of the next plane; both wrap. At
/// the seam the slot shifts as the phasing demands. A star (nodes over 180 degrees) has no links across its seam,
/// where neighbours fly in opposite directions.
pub fn plus_grid(shell: &Shell) -> Vec<(u32, u32)> {
    let (planes, slots) = (shell.planes, shell.per_plane);
    let id = |plane: u32, slot: u32| plane * slots + slot;
    let mut links = Vec::with_capacity(2 * shell.satellites());
    for plane in 0..planes {
        for slot in 0..slots {
            if slots > 2 || slot + 1 < slots {
                links.push((id(plane, slot), id(plane, (slot + 1) % slots)));
            }
            if plane + 1 < planes {
                links.push((id(plane, slot), id(plane + 1, slot)));
            } else if planes > 2 && shell.raan_spread_deg >= 360.0 {
                links.push((id(plane, slot), id(0, (slot + shell.seam_shift()) % slots)));
            }
        }
    }
    links
}

/// The laser links as rows of neighbours, for the route search.
#[derive(Clone, Debug, Default)]
pub struct LaserGraph {
    /// `rows[s]..rows[s + 1]` are the entries of satellite `s`.
    pub rows: Vec<u32>,
    /// Neighbour of each entry.
    pub to: Vec<u32>,
    /// Each undirected link with its two entries.
    links: Vec<Laser>,
}

#[derive(Clone, Copy, Debug)]
struct Laser {
    ends: [u32; 2],
    entries: [u32; 2],
}

impl LaserGraph {
    /// From a list of links; the order of the list does not matter, and a link given twice counts once.
    pub fn new(satellites: usize, links: &[(u32, u32)]) -> Self {
        let mut pairs: Vec<(u32, u32)> =
            links.iter().filter(|(a, b)| a != b).map(|&(a, b)| (a.min(b), a.max(b))).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut rows = vec![0u32; satellites + 1];
        for &(a, b) in &pairs {
            rows[a as usize + 1] += 1;
            rows[b as usize + 1] += 1;
        }
        for s in 0..satellites {
            rows[s + 1] += rows[s];
        }
        let mut fill = rows.clone();
        let mut to = vec![0u32; 2 * pairs.len()];
        let mut place = |from: u32, target: u32| {
            let entry = fill[from as usize];
            fill[from as usize] += 1;
            to[entry as usize] = target;
            entry
        };
        let links =
            pairs.iter().map(|&(a, b)| Laser { ends: [a, b], entries: [place(a, b), place(b, a)] }).collect();
        LaserGraph { rows, to, links }
    }

    /// Number of satellites.
    pub fn satellites(&self) -> usize {
        self.rows.len().saturating_sub(1)
    }

    /// Number of links, both directions counted once.
    pub fn links(&self) -> usize {
        self.links.len()
    }

    /// Length of every entry at an instant; a link whose line of sight grazes the air has none.
    pub fn weights(&self, at: &Positions, out: &mut Vec<Weight>) {
        let low = EARTH_RADIUS_M + GRAZING_HEIGHT_M;
        // From a satellite to the point where its line of sight is tangent to the grazing sphere.
        let tangent = |s: usize| {
            let p = at.get(s);
            (p[0] * p[0] + p[1] * p[1] + p[2] * p[2] - low * low).max(0.0).sqrt()
        };
        let horizon: Vec<f64> = (0..at.len()).map(tangent).collect();
        out.clear();
        out.resize(self.to.len(), UNREACHABLE);
        for l in &self.links {
            let [a, b] = l.ends.map(|s| s as usize);
            let d = distance_m(at.get(a), at.get(b));
            if d <= horizon[a] + horizon[b] {
                let w = crate::routing::weight(d);
                out[l.entries[0] as usize] = w;
                out[l.entries[1] as usize] = w;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::Positions;
    use crate::shell::{Phasing, ShellMotion, STARLINK_SHELL1};
    use crate::time::Epoch;

    fn positions(shell: Shell) -> Positions {
        let mut p = Positions::default();
        ShellMotion::new(shell, Epoch::Y2000).positions(Epoch::Y2000, 0.0, &mut p);
        p
    }

    #[test]
    fn every_satellite_of_a_delta_shell_has_four_neighbours() {
        let g = LaserGraph::new(1584, &plus_grid(&STARLINK_SHELL1));
        assert_eq!(g.links(), 3168);
        assert!((0..1584).all(|s| g.rows[s + 1] - g.rows[s] == 4));
    }

    #[test]
    fn the_seam_of_a_walker_shell_is_as_tight_as_the_rest() {
        for f in [0, 1, 17, 36] {
            let shell = Shell { phasing: Phasing::Factor(f), ..STARLINK_SHELL1 };
            let p = positions(shell);
            let longest = |links: &[(u32, u32)]| {
                links
                    .iter()
                    .map(|&(a, b)| distance_m(p.get(a as usize), p.get(b as usize)))
                    .fold(0.0, f64::max)
            };
            let all = plus_grid(&shell);
            let (seam, rest): (Vec<_>, Vec<_>) =
                all.iter().copied().partition(|&(a, b)| a / 22 == 71 && b / 22 == 0);
            assert_eq!(seam.len(), 22);
            assert!(longest(&seam) <= longest(&rest) * 1.001, "F = {f}");
        }
    }

    #[test]
    fn a_link_through_the_earth_does_not_exist() {
        let p = positions(STARLINK_SHELL1);
        let g = LaserGraph::new(1584, &[(0, 1), (0, 11)]);
        let mut w = Vec::new();
        g.weights(&p, &mut w);
        assert!(w.contains(&UNREACHABLE) && w.iter().any(|&x| x != UNREACHABLE));
    }
}
