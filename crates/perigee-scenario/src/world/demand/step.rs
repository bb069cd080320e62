// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One step of a demand: groups of terminals with their paths, and their rates.
//!
//! A group is the terminals of a cell that use one satellite and one path, to a gateway or to another
//! cell ([`between`](super::between)). Each plan of a group is a demand of the fluid, downwards and
//! upwards. Resources are the beams between a satellite and a cell, the radio of a satellite, ISLs, the
//! antenna of a gateway for a satellite, and the gateway. Traffic between cells uses beams and radios at
//! both its ends, those of the other cell in the opposite direction.

use crate::world::demand::between::Detour;
use crate::world::demand::exits::Exits;
use crate::world::demand::setting::{Fairness, Setting, Spread, TerminalPlan, DOWN, UP};
use crate::world::demand::spreading::Shares;
use crate::world::demand::table::Table;
use perigee_fluid::{alpha_fair, max_min, Problem};
use perigee_orbit::links::length::{Access, Weight};
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
    /// The cell at the other end; `None` = a gateway.
    pub peer: Option<u32>,
    /// Active terminals.
    pub terminals: f64,
    /// Share of their traffic, down and up.
    pub part: [f64; 2],
    /// One-way propagation, in millimetres.
    pub length: Weight,
}

/// A path from a satellite to a gateway, or to the satellite over another cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// ISLs, by number, from the satellite on.
    pub isls: Vec<u32>,
    /// The last satellite.
    pub exit: u32,
    /// Gateway; `None` = another cell, see [`Group::peer`].
    pub gateway: Option<u32>,
    /// Length, with the link to the gateway and its fibre, in millimetres of vacuum.
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
    /// Sums of the loads of gateways and of radios, in bit/s.
    pub carried: [f64; 2],
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
    /// Number of satellites that serve each cell.
    pub serving: Vec<u32>,
    /// Groups: those with gateways in the order of the cells, then those with other cells.
    pub groups: Vec<Group>,
    /// Their paths.
    pub ways: Vec<Way>,
    /// Terminals of each cell with traffic without a path, down and up: their number times the share of
    /// their traffic.
    pub without: Vec<[f64; 2]>,
    /// Down and up.
    pub rates: [Rates; 2],
}

/// Routes of a step: paths of each satellite that serves cells, and the share of its traffic on each.
struct Routes {
    ways: Vec<Way>,
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
        let mut outcome = self.groups(t, &seen, &spread, routes, active);
        if let Some(between) = &self.between {
            between.add(&mut outcome, &seen, &spread);
        }
        self.allocate(&mut outcome, &seen, &left);
        if self.load_aware && self.avoid(&mut outcome, &seen, &left) {
            self.allocate(&mut outcome, &seen, &left);
        }
        Ok(outcome)
    }

    /// Groups of all cells with paths to gateways.
    fn groups(
        &self,
        t: Nanos,
        seen: &Overlook,
        spread: &Shares,
        routes: Routes,
        active: Vec<f64>,
    ) -> Outcome {
        let mut groups = Vec::new();
        let mut without = vec![[0.0; 2]; active.len()];
        let mut serving = vec![0; active.len()];
        for (cell, &terminals) in active.iter().enumerate() {
            let between = self.between.as_ref().map_or([0.0; 2], |b| b.part_of(cell));
            let part = between.map(|p| 1.0 - p);
            let mut reached = false;
            for (satellite, share) in spread.of(cell) {
                let range = range(seen, cell, satellite);
                let ways = routes.of.get(&satellite).map_or(&[][..], Vec::as_slice);
                let on_way = |part_of: f64| terminals * share * part_of;
                let any = ways.iter().any(|w| on_way(w.1) > 0.0);
                reached |= any;
                serving[cell] += u32::from(any || (between != [0.0; 2] && on_way(1.0) > 0.0));
                for &(path, part_of) in ways.iter().filter(|w| part != [0.0; 2] && on_way(w.1) > 0.0) {
                    let length = range + routes.ways[path as usize].length;
                    let (cell, terminals) = (cell as u32, on_way(part_of));
                    groups.push(Group { cell, satellite, path, peer: None, terminals, part, length });
                }
            }
            // Satellites that reach a gateway come first: either all terminals of a cell have a path to one, or none.
            if !reached {
                without[cell] = part.map(|p| terminals * p);
            }
        }
        Outcome { t, active, serving, groups, ways: routes.ways, without, rates: Default::default() }
    }

    /// Satellites of each cell, and the share of its terminals on each.
    fn spread(&self, seen: &Overlook, exits: &Exits, active: &[f64]) -> Shares {
        let options = seen.places.iter().map(|view| {
            let mut usable: Vec<Access> = view.iter().copied().filter(|a| exits.reaches(a.sat)).collect();
            if usable.is_empty() && self.between.is_some() {
                usable.clone_from(view);
            }
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
        let pairs = Detour::new(outcome, seen, &detours);
        let mut other: BTreeMap<u32, Option<u32>> = BTreeMap::new();
        let before = outcome.groups.len();
        let mut groups = Vec::with_capacity(2 * before);
        for g in std::mem::take(&mut outcome.groups) {
            let way = *other.entry(g.path).or_insert_with(|| {
                let new = match g.peer {
                    None => exits.way(g.satellite, exits.nearest(g.satellite, 1).first()?.1),
                    Some(_) => pairs.way(g.satellite, outcome.ways[g.path as usize].exit)?,
                };
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

    /// Rates of all groups, down and up. Traffic between cells uses capacities of both directions, which
    /// are then shared in one problem.
    fn allocate(&self, outcome: &mut Outcome, seen: &Overlook, left: &[f64]) {
        let table = Table::new(self, outcome, seen);
        let rates = |directions: &[usize]| self.rates(outcome, &table, left, directions);
        let both = if outcome.groups.iter().any(|g| g.peer.is_some()) {
            rates(&[DOWN, UP])
        } else {
            let (mut down, up) = rayon::join(|| rates(&[DOWN]), || rates(&[UP]));
            down.extend(up);
            down
        };
        outcome.rates = both.try_into().expect("rates of two directions");
    }

    /// Capacity of each resource in a direction, in bit/s.
    fn capacities(&self, table: &Table, left: &[f64], direction: usize) -> Vec<f64> {
        let caps = self.capacity[direction];
        let of = |link: &Link| match *link {
            Link::Isl(..) => self.isl_bps,
            Link::Radio(_) => caps.satellite,
            Link::Feeder(g, _) => caps.feeder * left[g as usize],
            Link::Gateway(g) => self.gateways[g as usize].capacity_bps[direction] * left[g as usize],
            Link::Beam(_, cell) => self.beam_bps[cell as usize][direction],
        };
        table.links.iter().map(of).collect()
    }

    /// Rates in some directions, which share capacity where groups have another cell at their end.
    fn rates(&self, outcome: &Outcome, table: &Table, left: &[f64], directions: &[usize]) -> Vec<Rates> {
        let links = table.links.len();
        let capacity: Vec<f64> = directions.iter().flat_map(|&d| self.capacities(table, left, d)).collect();
        let path = |group: usize, direction: usize| {
            let block = move |d: usize| directions.iter().position(|x| *x == d).unwrap_or_default();
            table.path(group, direction).map(move |(d, r)| (block(d) * links) as u32 + r)
        };
        let groups = || outcome.groups.iter().enumerate();
        let mut p = Problem::new(capacity.clone());
        let mut inelastic = vec![0.0; outcome.groups.len() * self.plans.len() * directions.len()];
        let mut load = vec![0.0; capacity.len()];
        let any = |plan: &TerminalPlan| directions.iter().any(|d| plan.inelastic_bps[*d] > 0.0);
        if self.plans.iter().any(any) {
            for &d in directions {
                let terminal = self.capacity[d].terminal;
                for (i, g) in groups() {
                    for plan in &self.plans {
                        let wanted =
                            g.terminals * plan.share * plan.inelastic_bps[d].min(terminal) * g.part[d];
                        p.add(wanted, wanted, path(i, d));
                    }
                }
            }
            let found = max_min(&p);
            (inelastic, load) = (found.rate, found.load);
            p.clear_demands();
            p.capacity.iter_mut().zip(&load).for_each(|(c, l)| *c = (*c - l).max(0.0));
        }
        for &d in directions {
            let terminal = self.capacity[d].terminal;
            for (i, g) in groups() {
                for plan in &self.plans {
                    let room = (terminal - plan.inelastic_bps[d]).max(0.0);
                    let of_plan = g.terminals * plan.share;
                    let limit = of_plan * plan.elastic_bps[d].min(room);
                    p.add(of_plan * plan.weight * g.part[d], limit * g.part[d], path(i, d));
                }
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
        let of_direction = |all: &[f64], block: usize| {
            let n = all.len() / directions.len();
            all[block * n..(block + 1) * n].to_vec()
        };
        let found = (0..directions.len()).map(|block| {
            let mut rates = Rates {
                elastic: of_direction(&elastic, block),
                inelastic: of_direction(&inelastic, block),
                gap,
                ..Rates::default()
            };
            rates.fill(table, &of_direction(&load, block), &of_direction(&capacity, block));
            rates
        });
        let mut found: Vec<Rates> = found.collect();
        check_carried(&mut found, outcome, self.plans.len());
        found
    }
}

/// Length from a cell to a satellite that serves it.
pub(super) fn range(seen: &Overlook, cell: usize, satellite: u32) -> Weight {
    let view = &seen.places[cell];
    let place = view.binary_search_by_key(&satellite, |a| a.sat);
    view[place.expect("cells are spread over satellites in view")].range
}

impl Rates {
    /// Enters loads and capacities of the resources of a direction.
    fn fill(&mut self, table: &Table, load: &[f64], capacity: &[f64]) {
        for (r, &link) in table.links.iter().enumerate() {
            if load[r] > 0.0 {
                self.loads.push((link, load[r], capacity[r]));
                self.excess = self.excess.max((load[r] - capacity[r]) / capacity[r].max(1.0));
            }
            match link {
                Link::Gateway(_) => self.carried[0] += load[r],
                Link::Radio(_) => self.carried[1] += load[r],
                _ => {}
            }
        }
    }
}

/// Compares the rates of groups with the loads of gateways and of radios. `rates`: of one direction, or of
/// both, where the radios of a direction carry the traffic of the other one at its far end as well.
fn check_carried(rates: &mut [Rates], outcome: &Outcome, plans: usize) {
    // Of each direction: to gateways, and to other cells.
    let mut given = vec![[0.0_f64; 2]; rates.len()];
    for (sum, of) in given.iter_mut().zip(rates.iter()) {
        for (k, (a, b)) in of.elastic.iter().zip(&of.inelastic).enumerate() {
            let between = outcome.groups[k / plans].peer.is_some();
            sum[usize::from(between)] += a + b;
        }
    }
    let far: Vec<f64> = given.iter().rev().map(|g| g[1]).collect();
    for ((of, [to_gateways, between]), far) in rates.iter_mut().zip(given).zip(far) {
        let expected = [to_gateways, to_gateways + between + far];
        let error = |(c, e): (&f64, f64)| (c - e).abs() / e.max(1.0);
        of.lost = of.carried.iter().zip(expected).map(error).fold(0.0, f64::max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::scenario::Scenario;
    use perigee_fluid::verify;
    use std::path::Path;

    /// The problem of both directions, from groups and paths alone.
    fn problem(s: &Setting, o: &Outcome, seen: &Overlook, left: &[f64]) -> Problem {
        let ends: Vec<(u32, u32)> = seen.isl_ends().collect();
        let mut numbers: BTreeMap<(usize, Link), u32> = BTreeMap::new();
        let mut p = Problem::new(Vec::new());
        for d in [DOWN, UP] {
            for g in &o.groups {
                let way = &o.ways[g.path as usize];
                let mut used = vec![(d, Link::Beam(g.satellite, g.cell)), (d, Link::Radio(g.satellite))];
                used.extend(way.isls.iter().map(|i| {
                    let (a, b) = ends[*i as usize];
                    (d, if d == UP { Link::Isl(a, b) } else { Link::Isl(b, a) })
                }));
                if let Some(gateway) = way.gateway {
                    used.extend([(d, Link::Feeder(gateway, way.exit)), (d, Link::Gateway(gateway))]);
                }
                if let Some(peer) = g.peer {
                    used.extend([(1 - d, Link::Radio(way.exit)), (1 - d, Link::Beam(way.exit, peer))]);
                }
                let mut number = |of: (usize, Link)| {
                    *numbers.entry(of).or_insert_with(|| {
                        let caps = s.capacity[of.0];
                        p.capacity.push(match of.1 {
                            Link::Isl(..) => s.isl_bps,
                            Link::Radio(_) => caps.satellite,
                            Link::Feeder(g, _) => caps.feeder * left[g as usize],
                            Link::Gateway(g) => s.gateways[g as usize].capacity_bps[of.0] * left[g as usize],
                            Link::Beam(_, cell) => s.beam_bps[cell as usize][of.0],
                        });
                        p.capacity.len() as u32 - 1
                    })
                };
                let used: Vec<u32> = used.into_iter().map(&mut number).collect();
                for plan in &s.plans {
                    let n = g.terminals * plan.share * g.part[d];
                    p.add(n * plan.weight, n * plan.elastic_bps[d], used.iter().copied());
                }
            }
        }
        p
    }

    #[test]
    fn rates_between_cells_fulfil_the_conditions_of_max_min_fairness() {
        let text = "[run]\nduration = \"1 min\"\n[source.constellation]\npreset = \"starlink-shell1\"\n\
            [node.Raisting]\nkind = \"station\"\nlat = 47.9\nlon = 11.1\n\
            [demand]\nset = \"cities\"\ncount = 30\nterminals = 300_000\nisl = \"1 Gbit\"\n\
            to = \"gravity\"\ncells_down = 0.4\ncells_up = 0.8\n\
            [[demand.plan]]\n[[demand.plan]]\nname = \"b\"\nweight = 2\ndown = \"200 Mbit\"\n";
        let s = Scenario::parse(text, "test", Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}"));
        let s = Setting::new(&s).unwrap_or_else(|e| panic!("{e}"));
        let o = s.step_at(Nanos::ZERO, &mut KnownIsls::default()).unwrap();
        let seen = s.sky.overlook(Nanos::ZERO, &s.points, &s.grounds, &mut KnownIsls::default()).unwrap();
        let p = problem(&s, &o, &seen, &[1.0]);
        let rates: Vec<f64> = o.rates.iter().flat_map(|r| r.elastic.iter().copied()).collect();
        let limited = (0..p.demands()).filter(|d| rates[*d] < p.limit(*d) * (1.0 - 1e-6)).count();
        assert!(limited > 100 && o.groups.iter().any(|g| g.peer.is_none()));
        let error = verify::max_min(&p, &rates, 1e-9);
        assert!(error.excess <= 1e-9 && error.unfair <= 1e-9, "{error:?}");
    }
}
