// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Detection of the grid in real element sets: shells, planes, slots, and the resulting ISLs.
//!
//! Element sets have epochs days apart, and the node of a low orbit drifts by degrees per day, so
//! every satellite is first propagated to a common instant (node and argument of latitude are taken
//! from the SGP4 state there). Satellites of similar altitude and inclination then form a shell,
//! nodes on an evenly spaced comb form planes, and positions along the orbit on such a comb are
//! slots. Satellites that do not fit are strays and are linked to their nearest neighbours. The
//! ISLs of real satellites are not public; this is the +Grid suggested by their geometry.

use crate::frames::{cross, distance_m, dot, norm, turn_deg, RAD};
use crate::motion::fleet::{Sgp4, State};
use crate::motion::tle::mean_altitude_km;
use crate::motion::tle::Tle;
use crate::time::Epoch;
use std::collections::BTreeMap;

/// Tolerances of the clustering. The defaults fit the Starlink files of 2021 and 2022.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PlaneOptions {
    /// Satellites with a lower mean altitude are excluded: they are in orbit raising, or decaying.
    pub min_altitude_km: f64,
    /// Half-width of a shell in altitude.
    pub altitude_km: f64,
    /// Half-width of a shell in inclination.
    pub inclination_deg: f64,
    /// Half-width of a plane in right ascension; at most a fifth of the spacing.
    pub raan_deg: f64,
    /// Half-width of a slot, in slots.
    pub slot: f64,
    /// Minimum number of satellites of a shell; a plane needs a fifth of it.
    pub min_shell: usize,
}

impl Default for PlaneOptions {
    fn default() -> Self {
        PlaneOptions {
            min_altitude_km: 500.0,
            altitude_km: 5.0,
            inclination_deg: 0.1,
            raan_deg: 1.0,
            slot: 0.25,
            min_shell: 15,
        }
    }
}

/// A detected shell.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundShell {
    /// Mean altitude above the equatorial radius.
    pub altitude_km: f64,
    /// Inclination.
    pub inclination_deg: f64,
    /// Number of satellites.
    pub satellites: usize,
    /// Number of these in a plane.
    pub in_planes: usize,
    /// Number of these in a slot: the regular grid.
    pub placed: usize,
    /// Number of planes with satellites.
    pub planes: usize,
    /// Number of slots per plane.
    pub slots: usize,
}

/// Grid position of a satellite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Shell, from 0.
    pub shell: u32,
    /// Plane, from 0.
    pub plane: u32,
    /// Slot of the plane, from 0.
    pub slot: u32,
}

/// Result of the detection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arrangement {
    /// Satellites in use, as indices into the element sets.
    pub kept: Vec<usize>,
    /// ISLs as pairs of indices into `kept`.
    pub links: Vec<(u32, u32)>,
    /// Grid position of each satellite of `kept`, if it has one.
    pub places: Vec<Option<Place>>,
    /// Shells, the largest first.
    pub shells: Vec<FoundShell>,
    /// Number of satellites outside every grid.
    pub strays: usize,
    /// Number of satellites below the minimum altitude, or decayed by the common instant.
    pub left_out: usize,
}

impl Arrangement {
    /// Human-readable summary.
    pub fn report(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.shells.iter().map(FoundShell::line).collect();
        lines.push(format!(
            "{} satellites used, {} of them outside the grids; {} left out (still being raised, or decayed)",
            self.kept.len(),
            self.strays,
            self.left_out
        ));
        lines
    }
}

impl FoundShell {
    fn line(&self) -> String {
        format!(
            "shell at {:.0} km, {:.2} degrees: {} of {} satellites in {} planes, {} of them in a grid of {} slots",
            self.altitude_km, self.inclination_deg, self.in_planes, self.satellites, self.planes, self.placed, self.slots
        )
    }
}

/// A satellite at the common instant.
#[derive(Clone, Copy)]
struct Member {
    /// Index into `kept`.
    id: u32,
    altitude_km: f64,
    inclination_deg: f64,
    raan_deg: f64,
    latitude_arg_deg: f64,
    state: State,
}

fn member(id: u32, tle: &Tle, state: State) -> Member {
    let h = cross(state.p, state.v);
    let raan = libm::atan2(h[0], -h[1]);
    let node = [libm::cos(raan), libm::sin(raan), 0.0];
    let ahead = cross(h, node);
    let latitude_arg = libm::atan2(dot(state.p, ahead) / norm(ahead), dot(state.p, node));
    Member {
        id,
        altitude_km: mean_altitude_km(tle),
        inclination_deg: tle.inclination_rad / RAD,
        raan_deg: (raan / RAD).rem_euclid(360.0),
        latitude_arg_deg: (latitude_arg / RAD).rem_euclid(360.0),
        state,
    }
}

/// Arranges satellites at `common`, usually the latest epoch of the file. `motion` corresponds to
/// `sets`.
pub fn arrange(sets: &[Tle], motion: &[Sgp4], common: Epoch, options: &PlaneOptions) -> Arrangement {
    let mut out = Arrangement::default();
    let mut members = Vec::new();
    for (i, (set, sgp4)) in sets.iter().zip(motion).enumerate() {
        let high = mean_altitude_km(set) >= options.min_altitude_km;
        match sgp4.state(common) {
            Ok(state) if high => {
                members.push(member(out.kept.len() as u32, set, state));
                out.kept.push(i);
            }
            _ => out.left_out += 1,
        }
    }
    let mut free = members.clone();
    let mut placed = Vec::new();
    while let Some(shell) = take_shell(&mut free, options) {
        let grid = Grid::fit(&shell, options);
        out.places.resize(out.kept.len(), None);
        for (id, place) in grid.places(out.shells.len() as u32) {
            out.places[id as usize] = Some(place);
        }
        out.shells.push(grid.describe(&shell));
        out.links.extend(grid.links());
        placed.extend(grid.planes.iter().flat_map(|p| p.slots.values().copied()));
    }
    out.places.resize(out.kept.len(), None);
    out.strays = members.len() - placed.len();
    join_strays(&members, &placed, &mut out.links);
    out
}

/// Removes the satellites around the point of highest density in altitude and inclination.
fn take_shell(free: &mut Vec<Member>, o: &PlaneOptions) -> Option<Vec<Member>> {
    let near = |a: &Member, b: &Member, part: f64| {
        (a.altitude_km - b.altitude_km).abs() <= o.altitude_km * part
            && (a.inclination_deg - b.inclination_deg).abs() <= o.inclination_deg * part.max(0.5)
    };
    // The search uses a tenth of the altitude window: a window that straddles two shells would
    // count both.
    let crowd = |m: &Member| free.iter().filter(|n| near(m, n, 0.1)).count();
    let seed = *free.iter().rev().max_by_key(|m| crowd(m))?;
    let (shell, rest): (Vec<_>, Vec<_>) = free.iter().partition(|m| near(&seed, m, 1.0));
    if shell.len() < o.min_shell {
        return None;
    }
    *free = rest;
    Some(shell)
}

/// One plane: its node, the position of slot 0, and the satellite in each slot.
#[derive(Default)]
struct Plane {
    raan_deg: f64,
    phase_deg: f64,
    slots: BTreeMap<usize, Member>,
}

struct Grid {
    slot_deg: f64,
    slots: usize,
    planes: Vec<Plane>,
    in_planes: usize,
}

impl Grid {
    fn fit(shell: &[Member], o: &PlaneOptions) -> Grid {
        let planes = split_planes(shell, o);
        let slots = count_slots(&planes);
        let slot_deg = 360.0 / slots as f64;
        let in_planes = planes.iter().map(Vec::len).sum();
        let planes = planes.iter().map(|p| fill_slots(p, slot_deg, slots, o.slot)).collect();
        Grid { slot_deg, slots, planes, in_planes }
    }

    fn describe(&self, shell: &[Member]) -> FoundShell {
        let mean = |f: fn(&Member) -> f64| shell.iter().map(f).sum::<f64>() / shell.len() as f64;
        FoundShell {
            altitude_km: mean(|m| m.altitude_km),
            inclination_deg: mean(|m| m.inclination_deg),
            satellites: shell.len(),
            in_planes: self.in_planes,
            placed: self.planes.iter().map(|p| p.slots.len()).sum(),
            planes: self.planes.len(),
            slots: self.slots,
        }
    }

    fn places(&self, shell: u32) -> impl Iterator<Item = (u32, Place)> + '_ {
        self.planes.iter().enumerate().flat_map(move |(plane, p)| {
            let place = move |slot: usize| Place { shell, plane: plane as u32, slot: slot as u32 };
            p.slots.iter().map(move |(&slot, m)| (m.id, place(slot)))
        })
    }

    fn links(&self) -> Vec<(u32, u32)> {
        let mut links = Vec::new();
        for plane in &self.planes {
            let ring: Vec<u32> = plane.slots.values().map(|m| m.id).collect();
            links.extend((0..ring.len()).map(|i| (ring[i], ring[(i + 1) % ring.len()])));
        }
        for (i, j) in self.neighbours() {
            links.extend(self.across(&self.planes[i], &self.planes[j]));
        }
        links
    }

    /// Pairs of adjacent planes, except across a gap in the nodes (the seam of a star, a missing
    /// plane).
    fn neighbours(&self) -> Vec<(usize, usize)> {
        let n = self.planes.len();
        let gap = |i: usize| (self.planes[(i + 1) % n].raan_deg - self.planes[i].raan_deg).rem_euclid(360.0);
        let mut gaps: Vec<f64> = (0..n).map(gap).collect();
        gaps.sort_by(f64::total_cmp);
        let Some(&median) = gaps.get(n / 2).filter(|_| n > 1) else { return Vec::new() };
        (0..n).filter(|&i| gap(i) <= 1.5 * median).map(|i| (i, (i + 1) % n)).collect()
    }

    /// Links between the slots of two adjacent planes; none if either slot is empty.
    fn across(&self, a: &Plane, b: &Plane) -> Vec<(u32, u32)> {
        let shift = libm::round(turn_deg(a.phase_deg, b.phase_deg) / self.slot_deg);
        let shift = (shift as i64).rem_euclid(self.slots as i64) as usize;
        let partner = |(slot, m): (&usize, &Member)| {
            b.slots.get(&((slot + shift) % self.slots)).map(|other| (m.id, other.id))
        };
        a.slots.iter().filter_map(partner).collect()
    }
}

/// Mean direction of angles that repeat every `period_deg`, and how well they agree (0 to 1).
fn comb(angles_deg: impl Iterator<Item = f64> + Clone, period_deg: f64) -> (f64, f64) {
    let turn = 360.0 / period_deg * RAD;
    let (mut c, mut s, mut n) = (0.0, 0.0, 0.0);
    for a in angles_deg {
        let (sin, cos) = libm::sincos(a * turn);
        c += cos;
        s += sin;
        n += 1.0;
    }
    (libm::atan2(s, c) / turn, libm::hypot(c, s) / f64::max(n, 1.0))
}

/// Distance of an angle from the nearest tooth of a comb.
fn off_comb(angle_deg: f64, phase_deg: f64, period_deg: f64) -> f64 {
    let x = (angle_deg - phase_deg) / period_deg;
    (x - libm::round(x)) * period_deg
}

/// Planes in order of right ascension. The comb is the one with the fewest teeth that covers 85 %
/// of the nodes; if there is none, planes are split at gaps between nodes.
fn split_planes(shell: &[Member], o: &PlaneOptions) -> Vec<Vec<Member>> {
    let nodes = shell.iter().map(|m| m.raan_deg);
    let fits = |teeth: usize| {
        let period = 360.0 / teeth as f64;
        let (phase, _) = comb(nodes.clone(), period);
        let width = o.raan_deg.min(period / 5.0);
        let on = |m: &&Member| off_comb(m.raan_deg, phase, period).abs() <= width;
        let inside: Vec<Member> = shell.iter().filter(on).copied().collect();
        (inside.len() as f64 >= 0.85 * shell.len() as f64).then_some(inside)
    };
    let mut kept = (2..=120).find_map(fits).unwrap_or_else(|| shell.to_vec());
    kept.sort_by(|a, b| a.raan_deg.total_cmp(&b.raan_deg).then(a.id.cmp(&b.id)));
    // Rotate the list to start at a gap, so that no plane is split at 0 degrees.
    let gap =
        |i: usize| (kept[i].raan_deg - kept[(i + kept.len() - 1) % kept.len()].raan_deg).rem_euclid(360.0);
    let first = (0..kept.len()).find(|&i| gap(i) > o.raan_deg).unwrap_or(0);
    kept.rotate_left(first);
    let apart = |a: &Member, b: &Member| (b.raan_deg - a.raan_deg).rem_euclid(360.0) <= o.raan_deg;
    kept.chunk_by(apart).filter(|p| p.len() * 5 >= o.min_shell).map(<[Member]>::to_vec).collect()
}

/// Number of slots in the comb that best fits the satellites of the planes. (Starlink's first shell
/// was launched into 18 slots per plane; the satellites beyond 18 fly 5 degrees ahead of one of
/// those.)
fn count_slots(planes: &[Vec<Member>]) -> usize {
    let score = |slots: usize| -> f64 {
        let one = |p: &Vec<Member>| {
            comb(p.iter().map(|m| m.latitude_arg_deg), 360.0 / slots as f64).1 * p.len() as f64
        };
        planes.iter().map(one).sum()
    };
    let fullest = planes.iter().map(Vec::len).max().unwrap_or(1);
    let scores: Vec<f64> = (1..=2 * fullest).map(score).collect();
    let best = scores.iter().copied().fold(0.0, f64::max);
    // Twice the correct number fits nearly as well, so the smallest good fit is used.
    scores.iter().position(|&s| s >= 0.9 * best).map_or(1, |i| i + 1)
}

fn fill_slots(members: &[Member], slot_deg: f64, slots: usize, tolerance: f64) -> Plane {
    let (phase_deg, _) = comb(members.iter().map(|m| m.latitude_arg_deg), slot_deg);
    let (raan_deg, _) = comb(members.iter().map(|m| m.raan_deg), 360.0);
    let mut plane = Plane { raan_deg, phase_deg, slots: BTreeMap::new() };
    let off = |m: &Member| off_comb(m.latitude_arg_deg, phase_deg, slot_deg).abs();
    for m in members.iter().filter(|m| off(m) <= tolerance * slot_deg) {
        let slot = libm::round((m.latitude_arg_deg - phase_deg) / slot_deg) as i64;
        let slot = slot.rem_euclid(slots as i64) as usize;
        // Of two satellites in one slot (one is a spare), the better placed one gets the slot.
        let holder = plane.slots.entry(slot).or_insert(*m);
        if off(m) < off(holder) {
            *holder = *m;
        }
    }
    plane
}

/// Links each stray to its two nearest satellites of the grids.
fn join_strays(members: &[Member], placed: &[Member], links: &mut Vec<(u32, u32)>) {
    let mut inside = vec![false; members.len()];
    for m in placed {
        inside[m.id as usize] = true;
    }
    for stray in members.iter().filter(|m| !inside[m.id as usize]) {
        let mut near: Vec<(f64, u32)> =
            placed.iter().map(|m| (distance_m(m.state.p, stray.state.p), m.id)).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        links.extend(near.iter().take(2).map(|&(_, id)| (stray.id, id)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::isls;
    use crate::motion::fleet::{shell_elements, Gravity};
    use crate::motion::presets::STARLINK_SHELL1;
    use crate::motion::shell::Phasing;
    use crate::motion::tle;

    fn prepare(sets: &[Tle]) -> Vec<Sgp4> {
        sets.iter().map(|s| Sgp4::new(s, Gravity::Wgs72).unwrap()).collect()
    }

    #[test]
    fn a_generated_shell_is_found_again_with_its_links() {
        let shell =
            crate::motion::shell::Shell { phasing: Phasing::Factor(17), raan0_deg: 3.0, ..STARLINK_SHELL1 };
        let sets = shell_elements(&shell, 15.06, Epoch::Y2000);
        let at = Epoch(Epoch::Y2000.0 + 3 * 86_400_000_000_000);
        let found = arrange(&sets, &prepare(&sets), at, &PlaneOptions::default());
        assert_eq!((found.shells[0].planes, found.shells[0].slots, found.shells[0].placed), (72, 22, 1584));
        let order = |links: Vec<(u32, u32)>| {
            let mut l: Vec<_> = links.into_iter().map(|(a, b)| (a.min(b), a.max(b))).collect();
            l.sort_unstable();
            l
        };
        // With a shift of 17/72 of a slot the nearest slot is the one with the same number, so the
        // links must be those of the +Grid.
        assert_eq!(order(found.links), order(isls::plus_grid(&shell, isls::Seam::Auto)));
    }

    #[test]
    #[cfg_attr(
        not(reference_data),
        ignore = "the reference data is not there: PERIGEE_SHARED_DATA names its folder"
    )]
    fn starlink_of_september_2022_has_its_grid() {
        let text = crate::testdata::read("starrynet/tle/Starlink.tle");
        let sets = tle::parse(&text).unwrap();
        let newest = sets.iter().map(|s| s.epoch).max().unwrap();
        let found = arrange(&sets, &prepare(&sets), newest, &PlaneOptions::default());
        for line in found.report() {
            println!("{line}");
        }
        let first = &found.shells[0];
        assert_eq!((first.planes, first.slots), (72, 18));
        assert!((1440..1480).contains(&first.satellites), "{first:?}");
        assert!(first.in_planes * 100 > first.satellites * 98, "{first:?}");
        assert!((1270..=72 * 18).contains(&first.placed), "{first:?}");
    }
}
