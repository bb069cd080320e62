// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[demand]`: many users as a fluid, for `perigee demand`.

use crate::file::cell_shares;
use crate::file::cells::{self, Cell, MAX_CELLS};
use crate::file::checked::{Checked, Part};
use crate::file::error::{Place, Problem};
use crate::file::field::FromPart;
use crate::file::grammar::Only;
use crate::file::node::NodeSpec;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use crate::file::rows::ANY_TIME;
use crate::file::run::RunSpec;
use crate::file::tree;
use perigee_timeline::GeoPoint;
use perigee_units::{files, BitRate, Nanos};
use std::path::PathBuf;

/// Names of curves of activity.
const CURVES: &[&str] = &["residential", "flat"];
const STEP: Notation = Notation::Time(Nanos::from_secs(1), Nanos::from_secs(3600));
/// Names that a message lists.
const MOST_LISTED: usize = 100;
/// Most cells with traffic by gravity: the model compares all pairs.
const MAX_GRAVITY: usize = 10_000;
const INTERVAL: Notation = Notation::Time(Nanos::from_secs(1), Nanos::from_secs(86_400));

/// Curve of activity over the day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activity {
    /// [`ACTIVITY`].
    Residential,
    /// That of the busy hour at all times.
    Flat,
    /// From a file.
    File(PathBuf),
}

impl FromPart for Activity {
    const SHAPES: u64 = <String as FromPart>::SHAPES;

    fn from_part(part: &Part, place: &Place) -> Option<Self> {
        Some(match String::from_part(part, place)?.as_str() {
            "residential" => Activity::Residential,
            "flat" => Activity::Flat,
            file => Activity::File(tree::resolve(place, file)),
        })
    }
}

impl Activity {
    fn file(&self) -> Option<&PathBuf> {
        match self {
            Activity::File(path) => Some(path),
            Activity::Residential | Activity::Flat => None,
        }
    }
}

parameters! {
    /// `[demand]`.
    Demand = "demand", "Traffic of all users, modelled as a fluid, for `perigee demand`. Gateways are the nodes of kind \"station\".";
    set: Option<String> = optional(Notation::Word(&["cities"]), "bundled table of cells: the largest cities");
    file: Option<PathBuf> = optional(Notation::File, "file of cells, in place of a bundled table: CSV with columns lat, lon, population (or terminals) and optionally name, or X, Y, Z; or GeoJSON");
    count: Option<usize> = optional(Notation::Int(1, 100_000), "number of cells, the most populous ones; default: all");
    grid_deg as grid: Option<f64> = optional(Notation::Angle(0.1, 30.0), "size of the squares into which cells are merged; default: no merging");
    terminals: Option<u64> = optional(Notation::Int(1, 10_000_000_000), "number of terminals in all cells, distributed in proportion to population; default: the column terminals of the file");
    mask_deg as mask: Option<f64> = optional(Notation::Angle(0.0, 90.0), "minimum elevation for terminals; default: that of the constellation");
    active: f64 = key(Notation::Share(0.0, 1.0), "0.05", "fraction of the terminals that is active in the busy hour");
    activity: Activity = key(Notation::WordOrFile(CURVES), "residential", "activity by local solar time, relative to the busy hour: residential = a bundled curve, below; flat = that of the busy hour at all times; or a CSV file with columns hour, share");
    spread: String = key(Notation::Word(&["balanced", "even", "nearest"]), "balanced", "distribution of a cell's terminals over the satellites in view: balanced = fewer to satellites with many terminals in view; even; nearest = all to the nearest");
    satellites: usize = key(Notation::Int(1, 64), "4", "maximum number of satellites that serve a cell, the nearest ones"), only &[Only::Without("spread", &["nearest"])];
    gateway: String = key(Notation::Word(&["nearest", "balanced"]), "nearest", "gateway of a satellite's traffic: nearest = the nearest by path; balanced = distributed over the nearest ones, less to gateways with much traffic");
    gateways: usize = key(Notation::Int(1, 16), "3", "maximum number of gateways over which a satellite's traffic is distributed, the nearest by path"), only &[Only::With("gateway", &["balanced"])];
    exchanges: Option<PathBuf> = optional(Notation::File, "CSV file with columns name, lat, lon: Internet exchanges; traffic continues from a gateway over fibre to the nearest one, which counts for the RTT and for the nearest gateway; default: RTTs end at the gateway");
    fibre: f64 = key(Notation::Number(1.0, 10.0), "2.1", "delay of fibre relative to light in vacuum along the great circle: 1.47 in glass, and detours"), only &[Only::Given(&["exchanges"])];
    route: String = key(Notation::Word(&["shortest", "load-aware"]), "shortest", "paths over ISLs: shortest; load-aware = around ISLs that shortest paths would saturate");
    fairness: String = key(Notation::Word(&["max-min", "proportional", "alpha"]), "max-min", "fairness of the (weighted) allocation of capacity to elastic traffic");
    alpha: f64 = key(Notation::Number(0.2, 8.0), "2", "parameter of alpha fairness: 1 = proportional; larger values approach max-min"), only &[Only::With("fairness", &["alpha"])];
    to: String = key(Notation::Word(&["gateways", "gravity", "shares"]), "gateways", "the other ends of the terminals' traffic: gateways; gravity = terminals of other cells, in proportion to their number and to the distance; shares = those of a file. Traffic between cells crosses ISLs from satellite to satellite, without a gateway");
    exponent: f64 = key(Notation::Number(0.0, 4.0), "1", "traffic between cells falls with this power of the great-circle distance (at least 10 km); 0 = with the number of terminals only"), only &[Only::With("to", &["gravity"])];
    peers: usize = key(Notation::Int(1, 1000), "16", "number of other cells with which a cell has traffic, those with the largest shares"), only &[Only::With("to", &["gravity"])];
    shares: Option<PathBuf> = optional(Notation::File, "CSV file with columns from, to, share: names of cells, and the share of `to` in the traffic of `from` with other cells, relative to its other rows; cells without rows have traffic with gateways only"), only &[Only::With("to", &["shares"])];
    cells_down: f64 = key(Notation::Share(0.0, 1.0), "1", "fraction of the downlink traffic that comes from other cells, not from gateways"), only &[Only::Without("to", &["gateways"])];
    cells_up: f64 = key(Notation::Share(0.0, 1.0), "1", "fraction of the uplink traffic that goes to other cells, not to gateways"), only &[Only::Without("to", &["gateways"])];
    isl: Option<BitRate> = optional(Notation::Rate, "capacity of an ISL in each direction; default: that of [port.isl], or 10 Gbit/s");
    step: Nanos = key(STEP, "15 s", "interval between allocations");
    record: Nanos = key(INTERVAL, "60 s", "averaging interval of rows of cells; a multiple of step");
    record_links: Nanos = key(INTERVAL, "300 s", "averaging interval of rows of links, beams and gateways; a multiple of record");
    threshold: BitRate = key(Notation::Rate, "25 Mbit", "terminals with less than this rate and less than their plan's rate count as below");
    down: Down = one();
    up: Up = one();
    plan: Vec<Plan> = list("[[demand.plan]]: service plans of the terminals; default: one plan with the defaults below");
    capacity: Vec<CapacityOf> = list("[[demand.capacity]]: capacities of single gateways or cells");
    failure: Vec<Failure> = list("[[demand.failure]]: temporary failures of gateways");
}

parameters! {
    /// `[demand.down]`.
    Down = "down", "Capacities of the downlink, towards the terminals.";
    terminal: BitRate = key(Notation::Rate, "300 Mbit", "rate of a terminal");
    beam: BitRate = key(Notation::Rate, "4 Gbit", "capacity of all beams from one satellite to one cell");
    satellite: BitRate = key(Notation::Rate, "20 Gbit", "capacity of all beams of a satellite");
    feeder: BitRate = key(Notation::Rate, "20 Gbit", "capacity of a gateway's antenna, which tracks one satellite");
    gateway: BitRate = key(Notation::Rate, "100 Gbit", "capacity of a gateway, all antennas together");
}

parameters! {
    /// `[demand.up]`.
    Up = "up", "Capacities of the uplink, from the terminals.";
    terminal: BitRate = key(Notation::Rate, "40 Mbit", "rate of a terminal");
    beam: BitRate = key(Notation::Rate, "600 Mbit", "capacity of all beams from one cell to one satellite");
    satellite: BitRate = key(Notation::Rate, "4 Gbit", "capacity of all beams of a satellite");
    feeder: BitRate = key(Notation::Rate, "20 Gbit", "capacity of a gateway's antenna, which tracks one satellite");
    gateway: BitRate = key(Notation::Rate, "100 Gbit", "capacity of a gateway, all antennas together");
}

parameters! {
    /// `[[demand.plan]]`.
    Plan = "plan", "A service plan, for a share of the terminals of every cell.";
    name: String = key(Notation::Text, "all", "name, for tables");
    share: f64 = key(Notation::Number(0.0, 1e9), "1", "share of the terminals, relative to the other plans");
    down: BitRate = key(Notation::Rate, "100 Mbit", "maximum elastic rate of an active terminal, downlink");
    up: BitRate = key(Notation::Rate, "10 Mbit", "maximum elastic rate of an active terminal, uplink");
    inelastic_down: Option<BitRate> = optional(Notation::Rate, "inelastic rate of an active terminal, downlink: served first, and in full or not at all, such as voice; default: none");
    inelastic_up: Option<BitRate> = optional(Notation::Rate, "inelastic rate of an active terminal, uplink; default: none");
    weight: f64 = key(Notation::Number(1e-6, 1e6), "1", "weight of a terminal's elastic rate where capacity is scarce");
}

parameters! {
    /// `[[demand.capacity]]`.
    CapacityOf = "capacity", "Capacities of single gateways or cells, in place of those of [demand.down] and [demand.up]; of several entries for one of them the last counts.";
    gateway: Option<Vec<String>> = optional(Notation::OneOrMany(&Notation::Text), "names of gateways: capacity of each, all antennas together");
    cell: Option<Vec<String>> = optional(Notation::OneOrMany(&Notation::Text), "names of cells, in place of gateways: capacity of all beams from one satellite to each");
    down: Option<BitRate> = optional(Notation::Rate, "capacity of the downlink; default: as for the others");
    up: Option<BitRate> = optional(Notation::Rate, "capacity of the uplink; default: as for the others");
}

parameters! {
    /// `[[demand.failure]]`.
    Failure = "failure", "A failure of gateways.";
    gateway: Vec<String> = required(Notation::OneOrMany(&Notation::Text), "names of the gateways");
    at: Nanos = key(ANY_TIME, "0 s", "start time");
    length: Option<Nanos> = optional(ANY_TIME, "duration; default: until the end of the run");
    left: f64 = key(Notation::Share(0.0, 1.0), "0", "remaining fraction of the capacity");
}

/// `[demand]` with its cells and curve.
#[derive(Clone, Debug)]
pub struct DemandSpec {
    /// The section.
    pub keys: Demand,
    /// Cells, in the order of the table or file.
    pub cells: Vec<Cell>,
    /// Activity by local time: hour and share, relative to the busy hour, in order.
    pub activity: Vec<(f64, f64)>,
    /// Internet exchanges: name and place.
    pub exchanges: Vec<(String, GeoPoint)>,
    /// Shares of traffic between cells: from, to (numbers of cells), share.
    pub shares: Vec<(u32, u32, f64)>,
    /// Files that it names.
    pub files: Vec<PathBuf>,
}

/// Activity of each hour of the day relative to the busy hour: an assumption with the shape of
/// residential traffic (a minimum before dawn, a plateau over the day, a maximum in the evening), not
/// a measurement.
pub const ACTIVITY: [f64; 24] = [
    0.70, 0.52, 0.38, 0.29, 0.25, 0.25, 0.29, 0.37, 0.45, 0.51, 0.55, 0.58, 0.60, 0.61, 0.62, 0.65, 0.70,
    0.76, 0.84, 0.92, 0.98, 1.00, 0.96, 0.85,
];

impl DemandSpec {
    /// Failures that are not reached since the run was shortened at a higher level.
    pub(crate) fn cut_off(&self, run: &RunSpec) -> Vec<Problem> {
        self.keys.failure.iter().filter_map(|f| run.cut_off(f.at, &f.written)).collect()
    }

    /// Without the failures that are not before the end of the run.
    pub(crate) fn within(mut self, run: &RunSpec) -> Self {
        self.keys.failure.retain(|f| f.at < run.duration);
        self
    }
}

impl Demand {
    /// Reads the files of the section and checks it against the nodes and the length of the run.
    pub(crate) fn spec(
        self,
        nodes: &[NodeSpec],
        run: &RunSpec,
        problems: &mut Vec<Problem>,
    ) -> Option<DemandSpec> {
        let before = problems.len();
        self.check_times(run.duration, problems);
        self.check_gateways(nodes, run, problems);
        let cells = self.cells().map_err(|p| problems.push(p)).ok();
        let activity = self.activity().map_err(|p| problems.push(p)).ok();
        if self.plan.iter().map(|p| p.share).sum::<f64>() <= 0.0 && !self.plan.is_empty() {
            problems.push(
                self.written
                    .problem("plan", "the shares of all plans are zero; at least one must be positive"),
            );
        }
        let exchanges = self.exchanges().map_err(|p| problems.push(p)).ok();
        self.check_capacities(nodes, cells.as_deref().unwrap_or_default(), problems);
        let shares = cells.as_deref().map(|cells| self.shares(cells)).transpose();
        let shares = shares.map_err(|p| problems.push(p)).ok().flatten();
        if problems.len() > before {
            return None;
        }
        let files = [self.file.as_ref(), self.activity.file(), self.exchanges.as_ref(), self.shares.as_ref()];
        let files = files.into_iter().flatten().cloned().collect();
        Some(DemandSpec {
            cells: cells?,
            activity: activity?,
            exchanges: exchanges?,
            shares: shares?,
            files,
            keys: self,
        })
    }

    fn check_times(&self, duration: Nanos, problems: &mut Vec<Problem>) {
        let c = &self.written;
        let multiple = |longer: Nanos, shorter: Nanos| longer.0 % shorter.0 == 0;
        if !multiple(self.record, self.step) {
            problems.push(c.problem("record", format!("must be a multiple of step ({})", self.step)));
        }
        if !multiple(self.record_links, self.record) {
            problems
                .push(c.problem("record_links", format!("must be a multiple of record ({})", self.record)));
        }
        if !multiple(duration, self.record) {
            let why = format!("the duration of the run ({duration}) is not a multiple of it");
            problems
                .push(c.problem("record", why).hint("choose run.duration as a multiple of demand.record"));
        }
    }

    fn check_gateways(&self, nodes: &[NodeSpec], run: &RunSpec, problems: &mut Vec<Problem>) {
        let names = || nodes.iter().filter(|n| n.kind == "station").map(|n| n.name.as_str());
        if names().next().is_none() {
            let p = self.written.problem("gateway", "no gateway is defined");
            problems.push(p.hint("gateways are nodes of kind \"station\": [node.NAME] or [[nodes]]"));
            return;
        }
        for f in &self.failure {
            run.check_before_end(f.at, &f.written, problems);
            problems.extend(unknown(&f.written, "gateway", &f.gateway, &names().collect::<Vec<_>>()));
        }
    }

    fn check_capacities(&self, nodes: &[NodeSpec], cells: &[Cell], problems: &mut Vec<Problem>) {
        let gateways: Vec<&str> =
            nodes.iter().filter(|n| n.kind == "station").map(|n| n.name.as_str()).collect();
        let cells: Vec<&str> = cells.iter().map(|c| c.name.as_str()).collect();
        for c in &self.capacity {
            if c.gateway.is_some() == c.cell.is_some() {
                problems.push(c.written.problem("gateway", "give either gateways or cells"));
            }
            if c.down.is_none() && c.up.is_none() {
                problems
                    .push(c.written.problem("down", "give down, up or both: without them it has no effect"));
            }
            let named = [("gateway", &c.gateway, &gateways), ("cell", &c.cell, &cells)];
            for (key, names, known) in named {
                problems.extend(unknown(&c.written, key, names.as_deref().unwrap_or_default(), known));
            }
        }
    }

    /// Checks the keys of traffic between cells, and reads the file of shares.
    fn shares(&self, cells: &[Cell]) -> Result<Vec<(u32, u32, f64)>, Problem> {
        let c = &self.written;
        if self.to == "gateways" {
            return Ok(Vec::new());
        }
        if self.cells_down == 0.0 && self.cells_up == 0.0 {
            let p = c.problem("to", "no effect: cells_down and cells_up are both zero");
            return Err(p.hint("set one of them above zero, or to = \"gateways\""));
        }
        if self.to == "gravity" {
            let places = cells.iter().filter(|cell| cell.terminals > 0.0).count();
            return match places {
                0 | 1 => Err(c.problem("to", "only one cell has terminals; gravity requires two or more")),
                n if n > MAX_GRAVITY => {
                    let p = c.problem("to", format!("gravity between {n} cells"));
                    let p = p.allowed(format!("at most {MAX_GRAVITY}"));
                    Err(p.hint("merge them with grid = \"1 deg\", or take the largest with count"))
                }
                _ => Ok(Vec::new()),
            };
        }
        let Some(file) = &self.shares else {
            let p = c.problem("to", "to = \"shares\" requires a file of shares");
            return Err(p.hint("add shares = \"FILE.csv\" with columns from, to, share"));
        };
        let text = files::read(file).map_err(|why| c.problem("shares", why))?;
        let wrong = |why: String| c.problem("shares", format!("{}: {why}", file.display()));
        cell_shares::parse(&text, cells).map_err(wrong)
    }

    fn exchanges(&self) -> Result<Vec<(String, GeoPoint)>, Problem> {
        let Some(file) = &self.exchanges else { return Ok(Vec::new()) };
        let wrong = |why: String| self.written.problem("exchanges", why);
        let text = files::read(file).map_err(wrong)?;
        cells::places(&text).map_err(|why| wrong(format!("{}: {why}", file.display())))
    }

    /// The cells of the table or file, merged, cut and with their terminals.
    fn cells(&self) -> Result<Vec<Cell>, Problem> {
        let c = &self.written;
        let (mut all, key) = match (self.set.as_deref(), &self.file) {
            (Some(_), None) => (cells::cities(), "set"),
            (None, Some(file)) => {
                let text = files::read(file).map_err(|why| c.problem("file", why))?;
                let wrong = |why: String| c.problem("file", format!("{}: {why}", file.display()));
                (cells::parse(&text).map_err(wrong)?, "file")
            }
            _ => return Err(c.problem("set", "give either a set or a file of cells")),
        };
        if let Some(deg) = self.grid_deg {
            all = cells::merged(&all, deg);
        }
        let people = |a: &Cell| a.population.max(a.terminals);
        if let Some(count) = self.count.filter(|n| *n < all.len()) {
            all.sort_by(|a, b| people(b).total_cmp(&people(a)));
            all.truncate(count);
        }
        if all.len() > MAX_CELLS {
            let p = c.problem(key, format!("{} cells", all.len())).allowed(format!("at most {MAX_CELLS}"));
            return Err(p.hint("merge them with grid = \"1 deg\", or take the largest with count"));
        }
        if let Some(total) = self.terminals {
            let sum: f64 = all.iter().map(|a| a.population).sum();
            if sum <= 0.0 {
                return Err(c.problem("terminals", "no cell has a population by which to distribute them"));
            }
            all.iter_mut().for_each(|a| a.terminals = total as f64 * a.population / sum);
        }
        if all.iter().all(|a| a.terminals <= 0.0) {
            let p = c.problem("terminals", "no cell has terminals");
            return Err(p.hint("set terminals = 10000000, or add a column terminals to the file"));
        }
        Ok(all)
    }

    fn activity(&self) -> Result<Vec<(f64, f64)>, Problem> {
        let file = match &self.activity {
            Activity::Residential => {
                return Ok(ACTIVITY.iter().enumerate().map(|(h, s)| (h as f64, *s)).collect());
            }
            Activity::Flat => return Ok(vec![(0.0, 1.0)]),
            Activity::File(file) => file,
        };
        let wrong = |why: String| self.written.problem("activity", format!("{}: {why}", file.display()));
        let unread = |why| {
            let p = self.written.problem("activity", why);
            p.hint(format!("give the path of a CSV file, or one of {}", CURVES.join(", ")))
        };
        let text = files::read(file).map_err(unread)?;
        cells::curve(&text).map_err(wrong)
    }
}

/// A problem for each of `names` that is not `known`; of many names the first ones are listed.
fn unknown(written: &Checked, key: &str, names: &[String], known: &[&str]) -> Vec<Problem> {
    let problem = |name: &String| {
        let p = written.problem(key, format!("no such {key}: {name:?}"));
        let more = if known.len() > MOST_LISTED { ", …" } else { "" };
        let listed = known.iter().take(MOST_LISTED).copied().collect::<Vec<_>>().join(", ");
        let mut p = p.allowed(format!("{listed}{more}"));
        p.hint = crate::file::suggestions::hint(name, known.iter().copied());
        p
    };
    names.iter().filter(|n| !known.contains(&n.as_str())).map(problem).collect()
}
