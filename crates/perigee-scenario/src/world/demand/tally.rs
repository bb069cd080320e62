// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rows of the demand tables: averages over the steps of an interval.

use crate::world::demand::setting::{Setting, DOWN, UP};
use crate::world::demand::step::{Group, Link, Outcome};
use perigee_orbit::frames::SPEED_OF_LIGHT_M_S;
use perigee_units::Nanos;

/// Utilisation from which a link counts as full.
pub const FULL: f64 = 0.95;

/// Traffic of a plan in a cell, or of all, averaged over the steps of a row; rates in bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Served {
    /// Number of active terminals.
    pub active: f64,
    /// Number of active terminals with less than the threshold and less than their plan.
    pub below: f64,
    /// Elastic traffic: offered, served.
    pub elastic: [f64; 2],
    /// Inelastic traffic: offered, served.
    pub inelastic: [f64; 2],
    /// Unserved traffic of cells that reach no gateway.
    pub no_gateway: f64,
    /// Unserved traffic for lack of capacity.
    pub no_capacity: f64,
}

impl Served {
    fn add(&mut self, o: &Served) {
        self.active += o.active;
        self.below += o.below;
        self.no_gateway += o.no_gateway;
        self.no_capacity += o.no_capacity;
        for i in 0..2 {
            self.elastic[i] += o.elastic[i];
            self.inelastic[i] += o.inelastic[i];
        }
    }

    fn divided(&self, n: f64) -> Served {
        let pair = |x: [f64; 2]| x.map(|v| v / n);
        Served {
            active: self.active / n,
            below: self.below / n,
            elastic: pair(self.elastic),
            inelastic: pair(self.inelastic),
            no_gateway: self.no_gateway / n,
            no_capacity: self.no_capacity / n,
        }
    }

    /// Relative error of the balance: |offered - served - unserved| / offered.
    pub fn missing(&self) -> f64 {
        let offered = self.elastic[0] + self.inelastic[0];
        let found = self.elastic[1] + self.inelastic[1] + self.no_gateway + self.no_capacity;
        (offered - found).abs() / offered.max(1.0)
    }
}

/// Row of the table of cells: a plan of a cell in one direction.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the columns of the table
pub struct CellRow {
    pub t: Nanos,
    pub cell: u32,
    pub direction: u8,
    pub plan: u16,
    pub served: Served,
}

/// Row of the table of paths: the paths of a cell.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the columns of the table
pub struct PathRow {
    pub t: Nanos,
    pub cell: u32,
    pub satellites: f64,
    pub rtt_ms: f64,
    pub isls: f64,
    pub gateway: Option<u32>,
    pub reached: f64,
}

/// Row of the table of links: a link in one direction.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the columns of the table
pub struct LinkRow {
    pub t: Nanos,
    pub link: Link,
    pub direction: u8,
    pub mean_bps: f64,
    pub peak_bps: f64,
    pub capacity_bps: f64,
    pub full_s: f64,
}

/// Row of the table of steps: all cells and plans in one direction, and numbers of full links.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the columns of the table
pub struct StepRow {
    pub t: Nanos,
    pub direction: u8,
    pub served: Served,
    pub full_isls: f64,
    pub full_feeders: f64,
    pub full_gateways: f64,
    pub full_radios: f64,
    pub full_beams: f64,
}

/// Largest relative errors of the conservation laws.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Errors {
    /// Offered traffic against served and unserved, by cell, plan, direction and step.
    pub offered: f64,
    /// Served traffic against the loads of gateways and of radios, by direction and step.
    pub carried: f64,
    /// Excess of loads over capacities.
    pub excess: f64,
    /// Duality gap of proportional and alpha-fair rates.
    pub gap: f64,
}

/// Rows of a chunk, in order of time.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)] // tables
pub struct Chunk {
    pub cells: Vec<CellRow>,
    pub paths: Vec<PathRow>,
    pub links: Vec<LinkRow>,
    pub steps: Vec<StepRow>,
    pub errors: Errors,
    /// Steps for which the allocation failed, with the error.
    pub failed: Vec<(Nanos, String)>,
    /// Number of steps in which no cell with active terminals reached a gateway.
    pub unreached: u64,
}

impl Chunk {
    /// Appends the rows of the next interval.
    pub fn append(&mut self, i: Interval) {
        self.cells.extend(i.rows.cells);
        self.paths.extend(i.rows.paths);
        self.links.extend(i.rows.links);
        self.steps.extend(i.rows.steps);
        self.failed.extend(i.rows.failed);
        self.unreached += i.rows.unreached;
        let e = i.rows.errors;
        self.errors.offered = self.errors.offered.max(e.offered);
        self.errors.carried = self.errors.carried.max(e.carried);
        self.errors.excess = self.errors.excess.max(e.excess);
        self.errors.gap = self.errors.gap.max(e.gap);
    }
}

/// Sums over the steps of a row of the table of paths.
#[derive(Clone, Debug, Default)]
struct PathSum {
    satellites: f64,
    /// RTT and number of ISLs, weighted by terminals.
    rtt_ms: f64,
    isls: f64,
    /// Active terminals with a path to a gateway.
    reached: f64,
    active: f64,
    /// Terminals of each gateway.
    gateways: Vec<(u32, f64)>,
}

/// Sums over the steps of an interval.
#[derive(Clone, Debug)]
pub struct Interval {
    start: Nanos,
    steps: u32,
    row_steps: u32,
    /// By cell, plan and direction, see [`index`].
    served: Vec<Served>,
    paths: Vec<PathSum>,
    /// Number of full links by direction and kind, summed over the steps of the row.
    full: [[f64; 5]; 2],
    /// Link, direction, load and capacity in bit/s at each step.
    loads: Vec<(Link, u8, f64, f64)>,
    rows: Chunk,
}

impl Interval {
    pub(super) fn new(s: &Setting, start: Nanos) -> Self {
        Interval {
            start,
            steps: 0,
            row_steps: 0,
            served: vec![Served::default(); s.cells.len() * s.plans.len() * 2],
            paths: vec![PathSum::default(); s.cells.len()],
            full: [[0.0; 5]; 2],
            loads: Vec::new(),
            rows: Chunk::default(),
        }
    }

    /// Adds a step for which the allocation failed: all of its traffic is unserved.
    pub(super) fn fail(&mut self, s: &Setting, t: Nanos, why: String) {
        self.rows.failed.push((t, why));
        let active = (0..s.cells.len()).map(|c| s.active_terminals(c, t));
        let active: Vec<f64> = active.collect();
        let without = active.iter().map(|a| [*a; 2]).collect();
        let serving = vec![0; s.cells.len()];
        let (groups, ways, rates) = Default::default();
        self.add(s, &Outcome { t, active, serving, groups, ways, without, rates });
    }

    /// Adds a step.
    pub(super) fn add(&mut self, s: &Setting, o: &Outcome) {
        self.steps += 1;
        self.row_steps += 1;
        let mut now = vec![Served::default(); self.served.len()];
        let mut served = vec![0.0; s.cells.len()];
        for (i, g) in o.groups.iter().enumerate() {
            served[g.cell as usize] += g.terminals * (g.part[DOWN] + g.part[UP]) / 2.0;
            for (p, plan) in s.plans.iter().enumerate() {
                for direction in [DOWN, UP] {
                    let terminals = g.terminals * plan.share * g.part[direction];
                    let at = &mut now[index(s, g.cell as usize, p, direction)];
                    let k = i * s.plans.len() + p;
                    let rates = &o.rates[direction];
                    let got = [rates.elastic[k], rates.inelastic[k]];
                    let wanted =
                        [plan.elastic_bps[direction], plan.inelastic_bps[direction]].map(|x| x * terminals);
                    at.active += terminals;
                    at.elastic[0] += wanted[0];
                    at.elastic[1] += got[0];
                    at.inelastic[0] += wanted[1];
                    at.inelastic[1] += got[1];
                    at.no_capacity += (wanted[0] - got[0]) + (wanted[1] - got[1]);
                    if is_below(s, got[0] + got[1], terminals, plan.elastic_bps[direction]) {
                        at.below += terminals;
                    }
                }
            }
            self.add_path(g, o);
        }
        if !o.active.iter().zip(&served).any(|(a, s)| *a > 0.0 && *s > 0.0) {
            self.rows.unreached += 1;
        }
        for (cell, (&active, without)) in o.active.iter().zip(&o.without).enumerate() {
            for (p, plan) in s.plans.iter().enumerate() {
                for direction in [DOWN, UP] {
                    let at = &mut now[index(s, cell, p, direction)];
                    let terminals = without[direction] * plan.share;
                    let wanted =
                        [plan.elastic_bps[direction], plan.inelastic_bps[direction]].map(|x| x * terminals);
                    at.active += terminals;
                    at.below += terminals;
                    at.elastic[0] += wanted[0];
                    at.inelastic[0] += wanted[1];
                    at.no_gateway += wanted[0] + wanted[1];
                    // Checked against the offered traffic computed without groups.
                    let all =
                        active * plan.share * (plan.elastic_bps[direction] + plan.inelastic_bps[direction]);
                    let groups = at.elastic[0] + at.inelastic[0];
                    let split = (all - groups).abs() / all.max(1.0);
                    self.rows.errors.offered = self.rows.errors.offered.max(at.missing()).max(split);
                }
            }
            self.paths[cell].active += active;
            self.paths[cell].satellites += f64::from(o.serving[cell]);
        }
        self.served.iter_mut().zip(&now).for_each(|(sum, one)| sum.add(one));
        for direction in [DOWN, UP] {
            let rates = &o.rates[direction];
            let e = &mut self.rows.errors;
            (e.excess, e.carried) = (e.excess.max(rates.excess), e.carried.max(rates.lost));
            e.gap = e.gap.max(rates.gap);
            for &(link, load, capacity) in &rates.loads {
                self.loads.push((link, direction as u8, load, capacity));
                if load >= FULL * capacity {
                    self.full[direction][kind(link)] += 1.0;
                }
            }
        }
    }

    fn add_path(&mut self, g: &Group, o: &Outcome) {
        let (sum, way) = (&mut self.paths[g.cell as usize], &o.ways[g.path as usize]);
        let terminals = g.terminals * (g.part[DOWN] + g.part[UP]) / 2.0;
        sum.rtt_ms += terminals * 2.0 * g.length as f64 / SPEED_OF_LIGHT_M_S;
        sum.isls += terminals * way.isls.len() as f64;
        sum.reached += terminals;
        let Some(to) = way.gateway else { return };
        match sum.gateways.iter_mut().find(|(gateway, _)| *gateway == to) {
            Some(entry) => entry.1 += terminals,
            None => sum.gateways.push((to, terminals)),
        }
    }

    /// Writes the rows of cells, paths and steps since the last call.
    pub(super) fn close_row(&mut self, s: &Setting, t: Nanos) {
        let n = f64::from(self.row_steps.max(1));
        let mut all = [Served::default(); 2];
        for cell in 0..s.cells.len() {
            for plan in 0..s.plans.len() {
                for (direction, total) in all.iter_mut().enumerate() {
                    let served = self.served[index(s, cell, plan, direction)].divided(n);
                    total.add(&served);
                    let (cell, plan, direction) = (cell as u32, plan as u16, direction as u8);
                    self.rows.cells.push(CellRow { t, cell, direction, plan, served });
                }
            }
            let sum = std::mem::take(&mut self.paths[cell]);
            let per = |x: f64| if sum.reached > 0.0 { x / sum.reached } else { f64::NAN };
            let most = |best: Option<(u32, f64)>, g: &(u32, f64)| match best {
                Some(b) if b.1 > g.1 || (b.1 == g.1 && b.0 < g.0) => Some(b),
                _ => Some(*g),
            };
            self.rows.paths.push(PathRow {
                t,
                cell: cell as u32,
                satellites: sum.satellites / n,
                rtt_ms: per(sum.rtt_ms),
                isls: per(sum.isls),
                gateway: sum.gateways.iter().fold(None, most).map(|g| g.0),
                reached: if sum.active > 0.0 { sum.reached / sum.active } else { f64::NAN },
            });
        }
        for (direction, served) in all.into_iter().enumerate() {
            let [radios, isls, gateways, feeders, beams] = self.full[direction].map(|x| x / n);
            self.rows.steps.push(StepRow {
                t,
                direction: direction as u8,
                served,
                full_isls: isls,
                full_feeders: feeders,
                full_gateways: gateways,
                full_radios: radios,
                full_beams: beams,
            });
        }
        self.served.iter_mut().for_each(|x| *x = Served::default());
        (self.full, self.row_steps) = ([[0.0; 5]; 2], 0);
    }

    /// Writes the rows of links over the interval.
    pub(super) fn close(&mut self, s: &Setting) {
        let mut loads = std::mem::take(&mut self.loads);
        // Stable: the loads of a link stay in the order of the steps.
        loads.sort_by_key(|l| (l.0, l.1));
        for of in loads.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let sum: f64 = of.iter().map(|l| l.2).sum();
            let full = of.iter().filter(|l| l.2 >= FULL * l.3).count() as f64;
            self.rows.links.push(LinkRow {
                t: self.start,
                link: of[0].0,
                direction: of[0].1,
                mean_bps: sum / f64::from(self.steps.max(1)),
                peak_bps: of.iter().map(|l| l.2).fold(0.0, f64::max),
                capacity_bps: of.iter().map(|l| l.3).fold(0.0, f64::max),
                full_s: full * s.step.0 as f64 / 1e9,
            });
        }
    }
}

/// Whether terminals that share `rate` have less than the threshold each, and less than their plan.
fn is_below(s: &Setting, rate: f64, terminals: f64, plan_bps: f64) -> bool {
    rate < terminals * s.threshold_bps.min(plan_bps) * (1.0 - 1e-9)
}

fn index(s: &Setting, cell: usize, plan: usize, direction: usize) -> usize {
    (cell * s.plans.len() + plan) * 2 + direction
}

/// Code of a link's kind in the table of links.
pub fn kind(link: Link) -> usize {
    match link {
        Link::Radio(_) => 0,
        Link::Isl(..) => 1,
        Link::Gateway(_) => 2,
        Link::Feeder(..) => 3,
        Link::Beam(..) => 4,
    }
}
