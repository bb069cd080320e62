// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One step of a demand: groups of terminals with their paths, and their rates.
//!
//! A group is the terminals of a cell that use one satellite and one path to one gateway. Each plan
//! of a group is a demand of the fluid, downwards and upwards. Resources are the beams between a
//! satellite and a cell, the radio of a satellite, ISLs, the antenna of a gateway for a satellite,
//! and the gateway.

use crate::world::demand::setting::{Fairness, Setting, Spread, DOWN, UP};
use crate::world::demand::spreading::Shares;
use perigee_fluid::{alpha_fair, max_min, Problem};
use perigee_orbit::links::length::{Access, Weight, UNREACHABLE};
use perigee_orbit::paths::tree::{Tree, DOWN as LANDS};
use perigee_orbit::stream::overlook::{KnownIsls, Overlook};
use perigee_units::Nanos;
use std::collections::BTreeMap;

/// Delay that a half full ISL counts more in load-aware paths: 1 ms, in millimetres.
const LOAD_DELAY_MM: f64 = 299_792_458.0;
/// Utilisation above which the cost of an ISL grows in a straight line.
const STRAIGHT: f64 = 0.9;

/// Terminals of a cell over one path.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Cell.
    pub cell: u32,
    /// Satellite over the cell.
    pub satellite: u32,
    /// Number of the path.
    pub path: u32,
    /// Active terminals.
    pub terminals: f64,
    /// One-way propagation, in millimetres.
    pub length: Weight,
}

/// A path from a satellite to a gateway.
#[derive(Clone, Debug, PartialEq)]
pub struct GatewayPath {
    /// ISLs, by number, in the direction of the gateway.
    pub isls: Vec<u32>,
    /// Satellite over the gateway.
    pub exit: u32,
    /// Gateway.
    pub gateway: u32,
    /// Length with the link to the gateway and its fibre, in millimetres of vacuum.
    pub length: Weight,
}

/// A resource that carries something, for tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Link {
    /// From one satellite to another.
    Isl(u32, u32),
    /// The radio of a satellite towards terminals.
    Radio(u32),
    /// Between a gateway and a satellite: gateway, satellite.
    Feeder(u32, u32),
    /// A gateway.
    Gateway(u32),
    /// Between a satellite and a cell: satellite, cell.
    Beam(u32, u32),
}

/// Rates of a direction.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    /// Elastic rate of each plan of each group, in bit/s.
    pub elastic: Vec<f64>,
    /// Inelastic rate, the same way.
    pub inelastic: Vec<f64>,
    /// Resources with load: link, load, capacity in bit/s.
    pub loads: Vec<(Link, f64, f64)>,
    /// Largest excess of a load over a capacity, relative.
    pub excess: f64,
    /// Difference between what groups get and what gateways and radios carry, relative.
    pub lost: f64,
    /// Duality gap of proportional and alpha-fair rates, relative; 0 for max–min.
    pub gap: f64,
}

/// A step.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Instant.
    pub t: Nanos,
    /// Active terminals of each cell.
    pub active: Vec<f64>,
    /// Groups, in the order of the cells.
    pub groups: Vec<Group>,
    /// Their paths.
    pub ways: Vec<GatewayPath>,
    /// Down and up.
    pub rates: [Rates; 2],
}

/// Routes of a step: paths of each satellite that serves cells, and the share of its traffic on each.
struct Routes {
    ways: Vec<GatewayPath>,
    /// Of each satellite: number of the path and share.
    of: BTreeMap<u32, Vec<(u32, f64)>>,
}

impl Setting {
    /// Computes a step.
    ///
    /// # Errors
    /// When a satellite has decayed by then.
    pub fn step_at(&self, t: Nanos, isls: &mut KnownIsls) -> Result<Outcome, String> {
        let seen = self.sky.overlook(t, &self.points, &self.grounds, isls).map_err(|e| e.to_string())?;
        let active: Vec<f64> = (0..self.cells.len()).map(|c| self.active_terminals(c, t)).collect();
        let left: Vec<f64> = (0..self.gateways.len()).map(|g| self.share_left(g, t)).collect();
        let fibre = self.fibre();
        let exits = Exits::new(&seen, &left, &fibre, self.ways);
        let spread = self.spread(&seen, &exits, &active);
        let on = spread.amounts(&active, self.sky.constellation().len());
        let routes = self.routes(&exits, &on, &left);
        let groups = groups(&seen, &spread, &routes, &active);
        let mut outcome = Outcome { t, active, groups, ways: routes.ways, rates: Default::default() };
        self.allocate(&mut outcome, &seen, &left);
        if self.load_aware && self.avoid(&mut outcome, &seen, &left) {
            self.allocate(&mut outcome, &seen, &left);
        }
        Ok(outcome)
    }

    /// Satellites of each cell, and the share of its terminals on each.
    fn spread(&self, seen: &Overlook, exits: &Exits, active: &[f64]) -> Shares {
        let options = seen.places.iter().map(|view| {
            let mut usable: Vec<Access> = view.iter().copied().filter(|a| exits.reaches(a.sat)).collect();
            usable.sort_unstable_by_key(|a| (a.range, a.sat));
            usable.truncate(self.satellites);
            usable.into_iter().map(|a| a.sat).collect()
        });
        let mut shares = Shares::even(options);
        if self.spread == Spread::Balanced {
            shares.balance(active, &vec![1.0; self.sky.constellation().len()]);
        }
        shares
    }

    /// Paths of the satellites with terminals, `on` each.
    fn routes(&self, exits: &Exits, on: &[f64], left: &[f64]) -> Routes {
        let used: Vec<u32> = (0..on.len() as u32).filter(|s| on[*s as usize] > 0.0).collect();
        let options: Vec<Vec<(u32, usize)>> = used.iter().map(|s| exits.nearest(*s, self.ways)).collect();
        let mut shares = Shares::even(options.iter().map(|o| o.iter().map(|g| g.0).collect()));
        if self.ways > 1 {
            let amount: Vec<f64> = used.iter().map(|s| on[*s as usize]).collect();
            shares.balance(&amount, left);
        }
        let mut routes = Routes { ways: Vec::new(), of: BTreeMap::new() };
        for (i, (&s, of)) in used.iter().zip(&options).enumerate() {
            let row = routes.of.entry(s).or_default();
            for (&(_, tree), (_, share)) in of.iter().zip(shares.of(i)) {
                row.push((routes.ways.len() as u32, share));
                routes.ways.push(exits.way(s, tree));
            }
        }
        routes
    }

    /// Moves half of each group to a path that avoids the ISLs that are full now, where there is
    /// another. Returns whether anything moved.
    fn avoid(&self, outcome: &mut Outcome, seen: &Overlook, left: &[f64]) -> bool {
        let mut used = vec![0.0_f64; seen.isls()];
        for rates in &outcome.rates {
            for (link, load, capacity) in &rates.loads {
                if let Link::Isl(a, b) = *link {
                    let u = load / capacity;
                    for isl in [seen.isl(a, b), seen.isl(b, a)] {
                        used[isl as usize] = used[isl as usize].max(u);
                    }
                }
            }
        }
        let cost = |u: &f64| {
            let low = u.min(STRAIGHT);
            let curve = low / (1.0 - low);
            ((curve + (u - low) / ((1.0 - STRAIGHT) * (1.0 - STRAIGHT))) * LOAD_DELAY_MM) as Weight
        };
        let detours: Vec<Weight> = used.iter().map(cost).collect();
        let exits = Exits::around(seen, left, &self.fibre(), &detours);
        let mut other: BTreeMap<u32, Option<u32>> = BTreeMap::new();
        let before = outcome.groups.len();
        let mut groups = Vec::with_capacity(2 * before);
        for g in std::mem::take(&mut outcome.groups) {
            let way = *other.entry(g.path).or_insert_with(|| {
                let found = exits.nearest(g.satellite, 1);
                let new = exits.way(g.satellite, found.first()?.1);
                (new != outcome.ways[g.path as usize]).then(|| {
                    outcome.ways.push(new);
                    outcome.ways.len() as u32 - 1
                })
            });
            let Some(way) = way else {
                groups.push(g);
                continue;
            };
            let half = Group { terminals: g.terminals / 2.0, ..g };
            let access = g.length - outcome.ways[g.path as usize].length;
            let length = access + outcome.ways[way as usize].length;
            groups.extend([half, Group { path: way, length, ..half }]);
        }
        outcome.groups = groups;
        outcome.groups.len() > before
    }

    /// Length of the fibre behind each gateway.
    fn fibre(&self) -> Vec<Weight> {
        self.gateways.iter().map(|g| g.exchange.as_ref().map_or(0, |e| e.length)).collect()
    }

    /// Rates of all groups, down and up.
    fn allocate(&self, outcome: &mut Outcome, seen: &Overlook, left: &[f64]) {
        let table = Table::new(self, outcome, seen);
        let (down, up) =
            rayon::join(|| self.rates(outcome, &table, left, DOWN), || self.rates(outcome, &table, left, UP));
        outcome.rates = [down, up];
    }

    fn rates(&self, outcome: &Outcome, table: &Table, left: &[f64], direction: usize) -> Rates {
        let caps = self.capacity[direction];
        let capacity: Vec<f64> = table
            .links
            .iter()
            .map(|link| match *link {
                Link::Isl(..) => self.isl_bps,
                Link::Radio(_) => caps.satellite,
                Link::Feeder(g, _) => caps.feeder * left[g as usize],
                Link::Gateway(g) => self.gateways[g as usize].capacity_bps[direction] * left[g as usize],
                Link::Beam(_, cell) => self.beam_bps[cell as usize][direction],
            })
            .collect();
        let n = outcome.groups.len() * self.plans.len();
        let mut p = Problem::new(capacity.clone());
        let mut inelastic = vec![0.0; n];
        let mut load = vec![0.0; capacity.len()];
        if self.plans.iter().any(|plan| plan.inelastic_bps[direction] > 0.0) {
            for (i, g) in outcome.groups.iter().enumerate() {
                for plan in &self.plans {
                    let wanted = g.terminals * plan.share * plan.inelastic_bps[direction].min(caps.terminal);
                    p.add(wanted, wanted, table.path(i, direction));
                }
            }
            let found = max_min(&p);
            (inelastic, load) = (found.rate, found.load);
            p.clear_demands();
            p.capacity.iter_mut().zip(&load).for_each(|(c, l)| *c = (*c - l).max(0.0));
        }
        for (i, g) in outcome.groups.iter().enumerate() {
            for plan in &self.plans {
                let room = (caps.terminal - plan.inelastic_bps[direction]).max(0.0);
                let of_plan = g.terminals * plan.share;
                let limit = of_plan * plan.elastic_bps[direction].min(room);
                p.add(of_plan * plan.weight, limit, table.path(i, direction));
            }
        }
        let (elastic, gap) = match self.fairness {
            Fairness::MaxMin => (max_min(&p).rate, 0.0),
            Fairness::Alpha(alpha) => {
                let priced = alpha_fair(&p, alpha);
                (priced.rate, priced.gap)
            }
        };
        load.iter_mut().zip(p.loads(&elastic)).for_each(|(l, more)| *l += more);
        let mut rates = Rates { elastic, inelastic, gap, ..Rates::default() };
        let mut carried = [0.0_f64; 2];
        for (r, &link) in table.links.iter().enumerate() {
            if load[r] > 0.0 {
                rates.loads.push((link, load[r], capacity[r]));
                rates.excess = rates.excess.max((load[r] - capacity[r]) / capacity[r].max(1.0));
            }
            match link {
                Link::Gateway(_) => carried[0] += load[r],
                Link::Radio(_) => carried[1] += load[r],
                _ => {}
            }
        }
        let given: f64 = rates.elastic.iter().zip(&rates.inelastic).map(|(a, b)| a + b).sum();
        rates.lost = carried.iter().map(|c| (c - given).abs() / given.max(1.0)).fold(0.0, f64::max);
        rates
    }
}

/// Groups of all cells.
fn groups(seen: &Overlook, spread: &Shares, routes: &Routes, active: &[f64]) -> Vec<Group> {
    let mut groups = Vec::new();
    for (cell, &terminals) in active.iter().enumerate() {
        for (satellite, share) in spread.of(cell) {
            let view = &seen.places[cell];
            let place = view.binary_search_by_key(&satellite, |a| a.sat);
            let range = view[place.expect("cells are spread over satellites in view")].range;
            for &(path, part) in routes.of.get(&satellite).into_iter().flatten() {
                let terminals = terminals * share * part;
                if terminals > 0.0 {
                    let length = range + routes.ways[path as usize].length;
                    groups.push(Group { cell: cell as u32, satellite, path, terminals, length });
                }
            }
        }
    }
    groups
}

/// Resources of a step, and those of each group.
struct Table {
    links: Vec<Link>,
    /// Of each path: resources up, resources down (the ISLs differ).
    ways: Vec<[Vec<u32>; 2]>,
    /// Of each group: beam, radio, path.
    groups: Vec<[u32; 3]>,
}

impl Table {
    fn new(setting: &Setting, outcome: &Outcome, seen: &Overlook) -> Self {
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
            let feeder = *feeders.entry((way.gateway, way.exit)).or_insert_with(|| {
                links.push(Link::Feeder(way.gateway, way.exit));
                links.len() as u32 - 1
            });
            let landing = [feeder, first_gateway + way.gateway];
            let up = way.isls.iter().map(|i| first_isl + i).chain(landing).collect();
            let turned = |i: &u32| {
                let (a, b) = ends[*i as usize];
                first_isl + seen.isl(b, a)
            };
            let down = way.isls.iter().map(turned).chain(landing).collect();
            ways.push([down, up]);
        }
        let mut groups = Vec::with_capacity(outcome.groups.len());
        let mut last: Option<(u32, u32, u32)> = None;
        for g in &outcome.groups {
            // Groups of a cell and satellite follow each other.
            let beam = match last {
                Some((cell, satellite, beam)) if (cell, satellite) == (g.cell, g.satellite) => beam,
                _ => {
                    links.push(Link::Beam(g.satellite, g.cell));
                    links.len() as u32 - 1
                }
            };
            last = Some((g.cell, g.satellite, beam));
            groups.push([beam, g.satellite, g.path]);
        }
        Table { links, ways, groups }
    }

    fn path(&self, group: usize, direction: usize) -> impl Iterator<Item = u32> + '_ {
        let [beam, radio, way] = self.groups[group];
        [beam, radio].into_iter().chain(self.ways[way as usize][direction].iter().copied())
    }
}

/// Shortest paths to gateways: one tree to the nearest of all, or one for each gateway.
struct Exits<'a> {
    seen: &'a Overlook,
    trees: Vec<(Tree, Vec<u32>)>,
    /// Of each tree, by satellite in view of one of its gateways: gateway, and length through it to its exchange.
    gates: Vec<BTreeMap<u32, (u32, Weight)>>,
}

impl<'a> Exits<'a> {
    fn new(seen: &'a Overlook, left: &[f64], fibre: &[Weight], ways: usize) -> Self {
        Exits::search(seen, left, fibre, ways > 1, |tree, gates| seen.search(tree, gates))
    }

    /// With costs of ISLs, to the nearest gateway.
    fn around(seen: &'a Overlook, left: &[f64], fibre: &[Weight], detours: &[Weight]) -> Self {
        Exits::search(seen, left, fibre, false, |tree, gates| seen.search_around(tree, gates, detours))
    }

    /// `fibre` is the length behind each gateway.
    fn search(
        seen: &'a Overlook,
        left: &[f64],
        fibre: &[Weight],
        each: bool,
        search: impl Fn(&mut Tree, &[Access]),
    ) -> Self {
        let open: Vec<u32> = (0..left.len() as u32).filter(|g| left[*g as usize] > 0.0).collect();
        let sets: Vec<Vec<u32>> = if each { open.iter().map(|g| vec![*g]).collect() } else { vec![open] };
        let (mut trees, mut gates) = (Vec::new(), Vec::new());
        for set in sets {
            let mut best: BTreeMap<u32, (u32, Weight)> = BTreeMap::new();
            for g in set {
                for a in &seen.gateways[g as usize] {
                    let range = a.range + fibre[g as usize];
                    let at = best.entry(a.sat).or_insert((g, range));
                    if range < at.1 {
                        *at = (g, range);
                    }
                }
            }
            let accesses: Vec<Access> =
                best.iter().map(|(&sat, &(_, range))| Access { sat, range }).collect();
            let mut tree = Tree::default();
            search(&mut tree, &accesses);
            let next = tree.next_hops().collect();
            trees.push((tree, next));
            gates.push(best);
        }
        Exits { seen, trees, gates }
    }

    /// Whether a satellite has a path to any gateway.
    fn reaches(&self, satellite: u32) -> bool {
        self.trees.iter().any(|(tree, _)| tree.distance(satellite) != UNREACHABLE)
    }

    /// The nearest gateways of a satellite by path, and their trees.
    fn nearest(&self, satellite: u32, ways: usize) -> Vec<(u32, usize)> {
        let distance = |i: &usize| self.trees[*i].0.distance(satellite);
        let mut found: Vec<usize> = (0..self.trees.len()).filter(|i| distance(i) != UNREACHABLE).collect();
        found.sort_by_key(|i| (distance(i), *i));
        found.truncate(ways);
        found.into_iter().map(|i| (self.exit(satellite, i).1, i)).collect()
    }

    /// Satellite over the gateway, and the gateway.
    fn exit(&self, satellite: u32, tree: usize) -> (u32, u32) {
        let mut here = satellite;
        loop {
            let next = self.trees[tree].1[here as usize];
            if next == LANDS {
                return (here, self.gates[tree][&here].0);
            }
            here = next;
        }
    }

    /// The path of a satellite in a tree.
    fn way(&self, satellite: u32, tree: usize) -> GatewayPath {
        let (exit, gateway) = self.exit(satellite, tree);
        let next = &self.trees[tree].1;
        let (mut isls, mut here) = (Vec::new(), satellite);
        let mut length = self.gates[tree][&exit].1;
        while here != exit {
            let isl = self.seen.isl(here, next[here as usize]);
            length += self.seen.isl_length(isl);
            isls.push(isl);
            here = next[here as usize];
        }
        GatewayPath { isls, exit, gateway, length }
    }
}
