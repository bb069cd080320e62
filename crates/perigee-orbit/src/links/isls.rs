// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Inter-satellite links: patterns, limits, and the graph.

use crate::frames::distance_m;
use crate::links::length::{Weight, UNREACHABLE};
use crate::motion::positions::Positions;
use crate::motion::shell::{Shell, EARTH_RADIUS_M};

/// Whether the last plane of a shell is linked to the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Seam {
    /// Only if their satellites move in the same direction: in a delta (nodes over 360 degrees),
    /// not in a star.
    #[default]
    Auto,
    /// Always.
    Linked,
    /// Never.
    Open,
}

/// +Grid of a generated shell: links to the next satellite of the plane and to the same slot of the
/// next plane; both wrap around. At the seam the slot is shifted according to the phasing.
pub fn plus_grid(shell: &Shell, seam: Seam) -> Vec<(u32, u32)> {
    let (planes, slots) = (shell.planes, shell.per_plane);
    let id = |plane: u32, slot: u32| plane * slots + slot;
    let closed = planes > 2
        && match seam {
            Seam::Auto => shell.raan_spread_deg >= 360.0,
            Seam::Linked => true,
            Seam::Open => false,
        };
    let mut links = Vec::with_capacity(2 * shell.satellites());
    for plane in 0..planes {
        for slot in 0..slots {
            if slots > 2 || slot + 1 < slots {
                links.push((id(plane, slot), id(plane, (slot + 1) % slots)));
            }
            if plane + 1 < planes {
                links.push((id(plane, slot), id(plane + 1, slot)));
            } else if closed {
                links.push((id(plane, slot), id(0, (slot + shell.seam_shift()) % slots)));
            }
        }
    }
    links
}

/// Links between nearby satellites. `group[s]` = shell of satellite `s`, `None` = it has no ISLs.
#[derive(Clone, Copy, Debug)]
pub struct Near<'a> {
    /// Shell of each satellite.
    pub group: &'a [Option<u32>],
    /// Number of ISLs per satellite.
    pub terminals: u32,
    /// Whether to link only satellites of different shells, or only those of the same shell.
    pub across: bool,
    /// Maximum length.
    pub max_range_m: f64,
}

impl Near<'_> {
    /// The links, chosen greedily by length while both ends have a free ISL; ties are broken by
    /// number.
    pub fn links(&self, at: &Positions) -> Vec<(u32, u32)> {
        let mut near: Vec<(f64, u32, u32)> = Vec::new();
        for a in 0..at.len() {
            near.extend(self.candidates(at, a));
        }
        near.sort_by(|x, y| x.0.total_cmp(&y.0).then((x.1, x.2).cmp(&(y.1, y.2))));
        near.dedup();
        let mut free = vec![self.terminals; at.len()];
        let mut links = Vec::new();
        for (_, a, b) in near {
            if free[a as usize] > 0 && free[b as usize] > 0 {
                free[a as usize] -= 1;
                free[b as usize] -= 1;
                links.push((a, b));
            }
        }
        links
    }

    /// The nearest partners of a satellite; more than it has ISLs, because some of them may be
    /// taken.
    fn candidates(&self, at: &Positions, a: usize) -> Vec<(f64, u32, u32)> {
        let Some(own) = self.group[a] else { return Vec::new() };
        let fits = |b: &usize| *b != a && self.group[*b].is_some_and(|g| (g != own) == self.across);
        let here = at.get(a);
        let mut near: Vec<(f64, u32, u32)> = (0..at.len())
            .filter(fits)
            .map(|b| (distance_m(here, at.get(b)), a.min(b) as u32, a.max(b) as u32))
            .filter(|c| c.0 <= self.max_range_m)
            .collect();
        let keep = (3 * self.terminals as usize + 2).min(near.len());
        if keep < near.len() {
            near.select_nth_unstable_by(keep, |x, y| x.0.total_cmp(&y.0).then((x.1, x.2).cmp(&(y.1, y.2))));
            near.truncate(keep);
        }
        near
    }
}

/// Limits of links.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// Maximum length.
    pub max_range_m: f64,
    /// Minimum height of the line of sight above the ground, because of refraction and absorption.
    pub grazing_height_m: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { max_range_m: f64::INFINITY, grazing_height_m: 80e3 }
    }
}

impl Limits {
    /// Distance from a satellite to the point where its line of sight is tangent to the grazing
    /// sphere.
    fn horizon_m(&self, at: &Positions, sat: usize) -> f64 {
        let (p, low) = (at.get(sat), EARTH_RADIUS_M + self.grazing_height_m);
        (p[0] * p[0] + p[1] * p[1] + p[2] * p[2] - low * low).max(0.0).sqrt()
    }

    /// Length up to which every link is within the limits, while no satellite is more than
    /// `moved_m` from its current position.
    pub fn clear_m(&self, at: &Positions, moved_m: f64) -> f64 {
        let square = |((x, y), z): ((&f64, &f64), &f64)| x * x + y * y + z * z;
        let lowest2 = at.x.iter().zip(&at.y).zip(&at.z).map(square).fold(f64::INFINITY, f64::min);
        let (lowest, low) = (lowest2.sqrt() - moved_m, EARTH_RADIUS_M + self.grazing_height_m);
        if lowest <= low {
            return 0.0;
        }
        (2.0 * (lowest * lowest - low * low).sqrt()).min(self.max_range_m)
    }

    /// Length of the link between two satellites; unreachable beyond the limits.
    pub fn length(&self, at: &Positions, a: u32, b: u32) -> Weight {
        let (a, b) = (a as usize, b as usize);
        let d = distance_m(at.get(a), at.get(b));
        let clear = || d <= self.horizon_m(at, a) + self.horizon_m(at, b);
        if d <= self.max_range_m && clear() {
            crate::links::length::weight(d)
        } else {
            UNREACHABLE
        }
    }
}

/// ISLs as an adjacency list, for the path search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IslGraph {
    /// `rows[s]..rows[s + 1]` are the entries of satellite `s`.
    pub rows: Vec<u32>,
    /// Neighbour of each entry.
    pub to: Vec<u32>,
    /// Each undirected link with its two entries.
    links: Vec<Isl>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Isl {
    ends: [u32; 2],
    entries: [u32; 2],
}

impl IslGraph {
    /// Graph from a list of links; the order of the list does not matter, and duplicate links count
    /// once.
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
            pairs.iter().map(|&(a, b)| Isl { ends: [a, b], entries: [place(a, b), place(b, a)] }).collect();
        IslGraph { rows, to, links }
    }

    /// Number of satellites.
    pub fn satellites(&self) -> usize {
        self.rows.len().saturating_sub(1)
    }

    /// Neighbours of a satellite.
    pub fn neighbours(&self, sat: u32) -> &[u32] {
        &self.to[self.rows[sat as usize] as usize..self.rows[sat as usize + 1] as usize]
    }

    /// Number of links, both directions counted once.
    pub fn links(&self) -> usize {
        self.links.len()
    }

    /// Both ends of each link, the lower number first, in order.
    pub fn pairs(&self) -> impl Iterator<Item = [u32; 2]> + '_ {
        self.links.iter().map(|l| l.ends)
    }

    /// Lengths of all entries at an instant; unreachable beyond the limits. `clear_m`: see
    /// [`Limits::clear_m`].
    pub fn weights(&self, at: &Positions, (limits, clear_m): (Limits, f64), out: &mut Vec<Weight>) {
        out.clear();
        out.resize(self.to.len(), UNREACHABLE);
        for l in &self.links {
            let [a, b] = l.ends.map(|s| s as usize);
            let d = distance_m(at.get(a), at.get(b));
            let reaches =
                || d <= limits.horizon_m(at, a) + limits.horizon_m(at, b) && d <= limits.max_range_m;
            if d <= clear_m || reaches() {
                let w = crate::links::length::weight(d);
                out[l.entries[0] as usize] = w;
                out[l.entries[1] as usize] = w;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::positions::Positions;
    use crate::motion::presets::STARLINK_SHELL1;
    use crate::motion::shell::{Phasing, ShellMotion};
    use crate::time::Epoch;

    fn positions(shell: Shell) -> Positions {
        let mut p = Positions::default();
        ShellMotion::new(shell, Epoch::Y2000).positions(Epoch::Y2000, 0.0, &mut p);
        p
    }

    #[test]
    fn every_satellite_of_a_delta_shell_has_four_neighbours() {
        let g = IslGraph::new(1584, &plus_grid(&STARLINK_SHELL1, Seam::Auto));
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
            let all = plus_grid(&shell, Seam::Auto);
            let (seam, rest): (Vec<_>, Vec<_>) =
                all.iter().copied().partition(|&(a, b)| a / 22 == 71 && b / 22 == 0);
            assert_eq!(seam.len(), 22);
            assert!(longest(&seam) <= longest(&rest) * 1.001, "F = {f}");
        }
    }

    #[test]
    fn a_link_through_the_earth_does_not_exist() {
        let p = positions(STARLINK_SHELL1);
        let g = IslGraph::new(1584, &[(0, 1), (0, 11)]);
        let mut w = Vec::new();
        g.weights(&p, (Limits::default(), 0.0), &mut w);
        assert!(w.contains(&UNREACHABLE) && w.iter().any(|&x| x != UNREACHABLE));
        g.weights(&p, (Limits { max_range_m: 1900e3, ..Limits::default() }, 0.0), &mut w);
        assert!(w.iter().all(|&x| x == UNREACHABLE), "neighbours are 1972 km apart");
    }

    #[test]
    fn the_seam_is_open_in_a_star_and_wherever_it_is_asked_for() {
        let star = Shell { raan_spread_deg: 180.0, ..STARLINK_SHELL1 };
        assert_eq!(plus_grid(&STARLINK_SHELL1, Seam::Open).len(), 3168 - 22);
        assert_eq!(plus_grid(&star, Seam::Auto).len(), 3168 - 22);
        assert_eq!(plus_grid(&star, Seam::Linked).len(), 3168);
    }

    #[test]
    fn near_satellites_are_linked_as_long_as_both_have_a_isl_free() {
        let mut p = positions(STARLINK_SHELL1);
        let mut second = Positions::default();
        let higher = Shell { altitude_m: 570e3, raan0_deg: 1.0, ..STARLINK_SHELL1 };
        ShellMotion::new(higher, Epoch::Y2000).positions(Epoch::Y2000, 0.0, &mut second);
        (0..second.len()).for_each(|s| p.push(second.get(s)));
        let group: Vec<Option<u32>> = (0..3168).map(|s| Some(u32::from(s >= 1584))).collect();
        for (across, terminals) in [(false, 4), (true, 1)] {
            let near = Near { group: &group, terminals, across, max_range_m: f64::INFINITY };
            let links = near.links(&p);
            let mut used = vec![0; 3168];
            for &(a, b) in &links {
                assert_eq!(group[a as usize] != group[b as usize], across);
                used[a as usize] += 1;
                used[b as usize] += 1;
            }
            assert!(used.iter().all(|&n| n <= terminals));
            // Almost every ISL finds a partner.
            assert!(used.iter().sum::<u32>() > 3168 * terminals * 95 / 100, "{}", links.len());
        }
    }
}
