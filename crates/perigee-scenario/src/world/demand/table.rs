// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Resources of a step, and those that each group uses.

use crate::world::demand::setting::{Setting, DOWN, UP};
use crate::world::demand::step::{Link, Outcome};
use perigee_orbit::stream::overlook::Overlook;
use std::collections::BTreeMap;

/// Resources of a step, and those of each group.
pub(super) struct Table {
    pub(super) links: Vec<Link>,
    /// Of each path: resources up, resources down (the ISLs differ).
    ways: Vec<[Vec<u32>; 2]>,
    groups: Vec<Uses>,
}

/// Resources of a group, besides those of its path.
#[derive(Clone, Copy)]
struct Uses {
    beam: u32,
    radio: u32,
    path: u32,
    /// Radio and beam of the other cell.
    peer: Option<[u32; 2]>,
}

impl Table {
    pub(super) fn new(setting: &Setting, outcome: &Outcome, seen: &Overlook) -> Self {
        let satellites = setting.sky.constellation().len() as u32;
        let ends: Vec<(u32, u32)> = seen.isl_ends().collect();
        let first_isl = satellites;
        let first_gateway = first_isl + ends.len() as u32;
        let mut links: Vec<Link> = (0..satellites).map(Link::Radio).collect();
        links.extend(ends.iter().map(|&(a, b)| Link::Isl(a, b)));
        links.extend((0..setting.gateways.len() as u32).map(Link::Gateway));
        let mut feeders: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let mut ways = Vec::with_capacity(outcome.ways.len());
        for way in &outcome.ways {
            let landing = way.gateway.map(|gateway| {
                let feeder = *feeders.entry((gateway, way.exit)).or_insert_with(|| {
                    links.push(Link::Feeder(gateway, way.exit));
                    links.len() as u32 - 1
                });
                [feeder, first_gateway + gateway]
            });
            let landing = || landing.into_iter().flatten();
            let up = way.isls.iter().map(|i| first_isl + i).chain(landing()).collect();
            let turned = |i: &u32| {
                let (a, b) = ends[*i as usize];
                first_isl + seen.isl(b, a)
            };
            let down = way.isls.iter().map(turned).chain(landing()).collect();
            ways.push([down, up]);
        }
        let mut beams = Beams { of: vec![Vec::new(); outcome.active.len()] };
        let groups = outcome.groups.iter().map(|g| Uses {
            beam: beams.number(g.satellite, g.cell, &mut links),
            radio: g.satellite,
            path: g.path,
            peer: g.peer.map(|cell| {
                let satellite = outcome.ways[g.path as usize].exit;
                [satellite, beams.number(satellite, cell, &mut links)]
            }),
        });
        Table { groups: groups.collect(), links, ways }
    }

    /// Resources of a group's traffic in a direction, each with the direction of its capacity: the other
    /// cell is at the opposite end.
    pub(super) fn path(&self, group: usize, direction: usize) -> impl Iterator<Item = (usize, u32)> + '_ {
        let Uses { beam, radio, path, peer } = self.groups[group];
        let here = [beam, radio].into_iter().chain(self.ways[path as usize][direction].iter().copied());
        here.map(move |r| (direction, r))
            .chain(peer.into_iter().flatten().map(move |r| (DOWN + UP - direction, r)))
    }
}

/// Numbers of the beams of each cell, by satellite.
struct Beams {
    of: Vec<Vec<(u32, u32)>>,
}

impl Beams {
    fn number(&mut self, satellite: u32, cell: u32, links: &mut Vec<Link>) -> u32 {
        let of = &mut self.of[cell as usize];
        if let Some(known) = of.iter().find(|b| b.0 == satellite) {
            return known.1;
        }
        links.push(Link::Beam(satellite, cell));
        of.push((satellite, links.len() as u32 - 1));
        links.len() as u32 - 1
    }
}
