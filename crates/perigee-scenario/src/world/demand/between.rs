// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Traffic between cells: shares of the cells at its other ends, and its paths.
//!
//! A share of a terminal's traffic, down and up, comes from and goes to terminals of other cells. The
//! shares of the cells are those of a file, or of a gravity model: in proportion to the terminals of the
//! other cell and to a power of the distance (G. K. Zipf, "The P1 P2/D hypothesis", American
//! Sociological Review 11(6), 1946, has the exponent 1; Y. Zhang et al., "Fast accurate computation of
//! large-scale IP traffic matrices from link loads", SIGMETRICS 2003, 0).
//!
//! The terminals of both cells are on several satellites. Their traffic is matched in the order of the
//! satellites' distance, so that each satellite of both cells has its share of it.

use crate::file::cells::Cell;
use crate::file::demand::DemandSpec;
use crate::world::demand::setting::{DOWN, UP};
use crate::world::demand::spreading::Shares;
use crate::world::demand::step::{range, Group, Outcome, Way};
use perigee_orbit::frames::{self, MEAN_RADIUS_M};
use perigee_orbit::links::length::{Access, UNREACHABLE};
use perigee_orbit::paths::tree::Tree;
use perigee_orbit::stream::overlook::{Detours, Overlook};
use rayon::prelude::*;

/// Cells closer than this count as that far apart, in metres.
const NEAREST_M: f64 = 10e3;
/// Shares below this are rounding errors.
const DUST: f64 = 1e-12;

/// Traffic between cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Between {
    /// Share of the traffic that has another cell at its other end, down and up.
    pub part: [f64; 2],
    /// Other cells of each cell, with their shares of its traffic between cells; these add up to one.
    pub peers: Vec<Vec<(u32, f64)>>,
    /// Share of the model's traffic that these cells have, mean over the cells with peers.
    pub covered: f64,
}

impl Between {
    /// The traffic between cells of a demand, if it has any.
    pub(super) fn new(spec: &DemandSpec) -> Option<Self> {
        let keys = &spec.keys;
        let found = match keys.to.as_str() {
            "gravity" => gravity(&spec.cells, keys.exponent, keys.peers),
            "shares" => listed(&spec.shares, spec.cells.len()),
            _ => return None,
        };
        let with = found.iter().filter(|(of, _)| !of.is_empty());
        let (sum, count) = with.fold((0.0, 0.0), |(sum, n), (_, covered)| (sum + covered, n + 1.0));
        let peers = found.into_iter().map(|(of, _)| of).collect();
        Some(Between { part: [keys.cells_down, keys.cells_up], peers, covered: sum / f64::max(count, 1.0) })
    }

    /// Share of a cell's traffic that has another cell at its other end, down and up: none if no cell is
    /// listed for it.
    pub fn part_of(&self, cell: usize) -> [f64; 2] {
        match self.peers[cell].is_empty() {
            true => [0.0; 2],
            false => self.part,
        }
    }

    /// Adds groups for the traffic between cells.
    pub(super) fn add(&self, outcome: &mut Outcome, seen: &Overlook, spread: &Shares) {
        let ends = self.ends(outcome, spread);
        let mut wanted: Vec<(u32, u32)> = ends.iter().map(|e| (e.exit, e.satellite)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let ways = shortest(seen, &wanted, |tree, gate, targets| seen.search_for(tree, gate, targets));
        let mut number = vec![None; ways.len()];
        for (n, way) in ways.into_iter().enumerate() {
            if let Some(way) = way {
                number[n] = Some(outcome.ways.len() as u32);
                outcome.ways.push(way);
            }
        }
        for e in ends {
            let place =
                wanted.binary_search(&(e.exit, e.satellite)).expect("every pair of ends has an entry");
            let Some(path) = number[place] else {
                let without = &mut outcome.without[e.cell as usize];
                (0..2).for_each(|d| without[d] += e.terminals * self.part[d]);
                continue;
            };
            let far = range(seen, e.peer as usize, e.exit);
            outcome.groups.push(Group {
                cell: e.cell,
                satellite: e.satellite,
                path,
                peer: Some(e.peer),
                terminals: e.terminals,
                part: self.part,
                length: range(seen, e.cell as usize, e.satellite) + outcome.ways[path as usize].length + far,
            });
        }
    }

    /// Terminals by the satellites at both ends of their traffic; those of cells out of view of any
    /// satellite are entered as without a path.
    fn ends(&self, outcome: &mut Outcome, spread: &Shares) -> Vec<Ends> {
        let mut ends = Vec::new();
        for (cell, peers) in self.peers.iter().enumerate() {
            let active = outcome.active[cell];
            if active <= 0.0 {
                continue;
            }
            for &(peer, share) in peers {
                let matched = matched(spread.of(cell), spread.of(peer as usize));
                if matched.is_empty() {
                    let without = &mut outcome.without[cell];
                    [DOWN, UP].into_iter().for_each(|d| without[d] += active * share * self.part[d]);
                }
                ends.extend(matched.into_iter().map(|(satellite, exit, both)| Ends {
                    cell: cell as u32,
                    peer,
                    satellite,
                    exit,
                    terminals: active * share * both,
                }));
            }
        }
        ends
    }
}

/// Terminals of a cell by the satellites at both ends of their traffic.
struct Ends {
    cell: u32,
    peer: u32,
    satellite: u32,
    exit: u32,
    terminals: f64,
}

/// Other cells with their shares, and the share of the model's traffic that they have.
type Peers = (Vec<(u32, f64)>, f64);

/// Shares in proportion to terminals and distance, of the `most` cells with the largest.
fn gravity(cells: &[Cell], exponent: f64, most: usize) -> Vec<Peers> {
    let verticals: Vec<[f64; 3]> = cells.iter().map(|c| frames::up(c.place)).collect();
    let pull = |a: usize, b: usize| {
        if cells[b].terminals <= 0.0 || exponent == 0.0 {
            return cells[b].terminals;
        }
        let chord = frames::norm([0, 1, 2].map(|i| verticals[a][i] - verticals[b][i]));
        let distance = 2.0 * MEAN_RADIUS_M * libm::asin((chord / 2.0).min(1.0));
        cells[b].terminals * libm::pow(distance.max(NEAREST_M) / NEAREST_M, -exponent)
    };
    let of = |a: usize| {
        let others = (0..cells.len()).filter(|b| *b != a);
        let mut all: Vec<(u32, f64)> = others.map(|b| (b as u32, pull(a, b))).filter(|p| p.1 > 0.0).collect();
        let total: f64 = all.iter().map(|p| p.1).sum();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        all.truncate(most);
        normalised(all, total)
    };
    (0..cells.len()).into_par_iter().map(of).collect()
}

/// Shares of a file, by cell.
fn listed(shares: &[(u32, u32, f64)], cells: usize) -> Vec<Peers> {
    let mut of: Vec<Vec<(u32, f64)>> = vec![Vec::new(); cells];
    for &(from, to, share) in shares.iter().filter(|s| s.2 > 0.0) {
        of[from as usize].push((to, share));
    }
    let normalised = |all: Vec<(u32, f64)>| {
        let total = all.iter().map(|p| p.1).sum();
        normalised(all, total)
    };
    of.into_iter().map(normalised).collect()
}

fn normalised(mut all: Vec<(u32, f64)>, total: f64) -> Peers {
    let sum: f64 = all.iter().map(|p| p.1).sum();
    all.iter_mut().for_each(|p| p.1 /= sum);
    (all, if total > 0.0 { sum / total } else { 0.0 })
}

/// Joint shares of the options of two items in their orders: each option of both has its share.
fn matched(
    mut from: impl Iterator<Item = (u32, f64)>,
    mut to: impl Iterator<Item = (u32, f64)>,
) -> Vec<(u32, u32, f64)> {
    let mut found = Vec::new();
    let (mut a, mut b) = (from.next(), to.next());
    while let (Some((s, left)), Some((t, room))) = (a, b) {
        let both = left.min(room);
        if both > DUST {
            found.push((s, t, both));
        }
        let next = |rest: f64, of: u32| (rest > DUST).then_some((of, rest));
        a = next(left - both, s).or_else(|| from.next());
        b = next(room - both, t).or_else(|| to.next());
    }
    found
}

/// Shortest paths by their last and first satellite; `wanted` is sorted.
fn shortest(
    seen: &Overlook,
    wanted: &[(u32, u32)],
    search: impl Fn(&mut Tree, Access, &[Access]) + Sync,
) -> Vec<Option<Way>> {
    let at = |sat: u32| Access { sat, range: 0 };
    let of_exit = |tree: &mut Tree, of: &[(u32, u32)]| -> Vec<Option<Way>> {
        let exit = of[0].0;
        let targets: Vec<Access> = of.iter().map(|w| at(w.1)).collect();
        search(tree, at(exit), &targets);
        of.iter().map(|w| way(seen, tree, w.1, exit)).collect()
    };
    let by_exit: Vec<&[(u32, u32)]> = wanted.chunk_by(|a, b| a.0 == b.0).collect();
    let found = by_exit.par_iter().map_init(Tree::default, |tree, of| of_exit(tree, of));
    found.collect::<Vec<_>>().into_iter().flatten().collect()
}

fn way(seen: &Overlook, tree: &Tree, satellite: u32, exit: u32) -> Option<Way> {
    if tree.distance(satellite) == UNREACHABLE {
        return None;
    }
    let path = tree.path(&[Access { sat: satellite, range: 0 }])?;
    let isls: Vec<u32> = path.windows(2).map(|w| seen.isl(w[0], w[1])).collect();
    let length = isls.iter().map(|i| seen.isl_length(*i)).sum();
    Some(Way { isls, exit, gateway: None, length })
}

/// Paths between cells that avoid full ISLs.
pub(super) struct Detour {
    wanted: Vec<(u32, u32)>,
    ways: Vec<Option<Way>>,
}

impl Detour {
    /// For all groups between cells.
    pub(super) fn new(outcome: &Outcome, seen: &Overlook, detours: &Detours) -> Self {
        let between = outcome.groups.iter().filter(|g| g.peer.is_some());
        let mut wanted: Vec<(u32, u32)> =
            between.map(|g| (outcome.ways[g.path as usize].exit, g.satellite)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let ways = shortest(seen, &wanted, |tree, gate, _| seen.search_around(tree, &[gate], detours));
        Detour { wanted, ways }
    }

    /// The path from a satellite to another.
    pub(super) fn way(&self, satellite: u32, exit: u32) -> Option<Way> {
        self.ways[self.wanted.binary_search(&(exit, satellite)).ok()?].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_timeline::GeoPoint;

    fn cell(lon_deg: f64, terminals: f64) -> Cell {
        let place = GeoPoint { lat_deg: 0.0, lon_deg, height_m: 0.0 };
        Cell { name: format!("{lon_deg}"), place, population: 0.0, terminals }
    }

    #[test]
    fn shares_follow_terminals_and_distance() {
        let cells = [cell(0.0, 1.0), cell(10.0, 1.0), cell(20.0, 8.0), cell(30.0, 0.0)];
        let of = |exponent, most| gravity(&cells, exponent, most);
        // Twice as far and eight times the terminals: 4 to 1, 2 to 1, 8 to 1.
        for (exponent, ratio) in [(1.0, 4.0), (2.0, 2.0), (0.0, 8.0)] {
            let (peers, covered) = &of(exponent, 16)[0];
            assert_eq!((peers[0].0, peers[1].0, peers.len(), *covered), (2, 1, 2, 1.0));
            assert!((peers[0].1 / peers[1].1 / ratio - 1.0).abs() < 1e-9, "{exponent}");
            assert!((peers[0].1 + peers[1].1 - 1.0).abs() < 1e-12);
        }
        let (peers, covered) = &of(1.0, 1)[0];
        assert_eq!(peers, &[(2, 1.0)]);
        assert!((covered - 0.8).abs() < 1e-9);
    }

    #[test]
    fn both_ends_keep_their_shares() {
        let (a, b) = ([(1, 0.5), (2, 0.3), (3, 0.2)], [(7, 0.4), (8, 0.6)]);
        let found = matched(a.into_iter(), b.into_iter());
        assert_eq!(found.len(), 4);
        for (satellite, share) in a {
            let sum: f64 = found.iter().filter(|m| m.0 == satellite).map(|m| m.2).sum();
            assert!((sum - share).abs() < 1e-12);
        }
        for (satellite, share) in b {
            let sum: f64 = found.iter().filter(|m| m.1 == satellite).map(|m| m.2).sum();
            assert!((sum - share).abs() < 1e-12);
        }
        assert!(matched(a.into_iter(), std::iter::empty()).is_empty());
    }
}
