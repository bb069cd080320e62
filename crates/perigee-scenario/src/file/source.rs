// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[source]` as types.

use crate::file::checked::Checked;
use crate::file::error::{Place, Problem};
use crate::file::keys;
use crate::file::kind::{function, Val};
use crate::file::tree::resolve;
use perigee_sources::topology::Placement;
use perigee_timeline::{LinkOrder, Routing};
use perigee_units::{BitRate, Nanos};
use std::path::PathBuf;

/// Links of one micro topology beyond which something is mistyped.
const MAX_LINKS: i64 = 1_000_000;

/// Where the network comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// `[source.chain]`.
    Chain(Chain),
    /// `[source.dumbbell]`.
    Dumbbell(Fan),
    /// `[source.parking_lot]`.
    ParkingLot(Fan),
    /// `[source.crossing]`.
    Crossing(Crossing),
    /// `[source.path_log]`.
    PathLog(PathLog),
    /// `[source.trace]`.
    Trace(Trace),
    /// `[source.timeline]`.
    Timeline(SavedTimeline),
    /// `[source.constellation]`.
    Constellation(Box<Constellation>),
}

/// `[source.chain]`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // keys::CHAIN documents each
pub struct Chain {
    pub links: usize,
    pub copies: usize,
    pub rtt: Nanos,
    pub loss: f64,
    pub order: LinkOrder,
}

/// `[source.dumbbell]` and `[source.parking_lot]`: several pairs of hosts on a row of routers.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // keys::DUMBBELL and keys::PARKING_LOT document each
pub struct Fan {
    pub bottlenecks: usize,
    pub rtts: Vec<Nanos>,
    pub placement: Placement,
    pub bottleneck_delay: Nanos,
    pub loss: f64,
    pub order: LinkOrder,
}

/// `[source.crossing]`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // keys::CROSSING documents each
pub struct Crossing {
    pub staying: usize,
    pub moving: usize,
    pub rtts: Vec<Nanos>,
    pub bottleneck_delay: Nanos,
    pub moves: Vec<Nanos>,
}

/// `[source.path_log]`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // keys::PATH_LOG documents each
pub struct PathLog {
    pub file: PathBuf,
    pub as_nodes: bool,
    pub first: Nanos,
    pub breaks: bool,
    pub order: LinkOrder,
    pub place: Place,
}

/// `[source.trace]`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // keys::TRACE documents each
pub struct Trace {
    pub rate_file: PathBuf,
    pub delay_file: Option<PathBuf>,
    pub delay_step: Nanos,
    pub rate_step: Nanos,
    pub rtt: Nanos,
    pub loss: f64,
    pub order: LinkOrder,
    pub place: Place,
}

/// `[source.timeline]`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // keys::TIMELINE documents each
pub struct SavedTimeline {
    pub file: PathBuf,
    pub place: Place,
}

/// The keys of load-aware paths.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // keys::CONSTELLATION documents each
pub struct Load {
    pub demand: Option<BitRate>,
    pub delay: Nanos,
    pub period: Nanos,
}

/// `[source.constellation]`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // keys::CONSTELLATION documents each
pub struct Constellation {
    pub satellites: Satellites,
    pub start: Option<String>,
    pub step: Nanos,
    pub mask_deg: Option<f64>,
    pub min_altitude_m: f64,
    pub propagation: String,
    pub longitude_deg: f64,
    pub attach: String,
    pub reselect: String,
    pub hold: Nanos,
    pub hysteresis: f64,
    pub routing: Routing,
    pub route: String,
    pub load: Load,
    pub isls: Isls,
    /// Python functions that are named: key, file, name.
    pub functions: Vec<Function>,
    pub relay: bool,
    pub ports_per_link: bool,
    /// A path log's changes break what LeoEM's emulator breaks.
    pub breaks: bool,
    /// Keys that were written, whatever their value: presets of other tools yield to them.
    pub given: Vec<&'static str>,
    /// What was written and does nothing.
    pub remarks: Vec<String>,
    pub place: Place,
}

/// A Python function that a scenario names.
#[derive(Clone, Debug)]
pub struct Function {
    /// Of `[source.constellation]`: attach, route or isls.
    pub key: &'static str,
    /// Where it is defined. The place of a function that was handed over in memory is [`IN_MEMORY`].
    pub file: PathBuf,
    /// Its name there.
    pub name: String,
    /// Where it was named.
    pub place: Place,
}

/// "File" of a function that has none.
pub const IN_MEMORY: &str = "in-memory";

/// The keys `isl…` of `[source.constellation]`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // keys::CONSTELLATION documents each
pub struct Isls {
    pub pattern: String,
    pub list: Option<PathBuf>,
    pub seam: String,
    pub cross_shell: bool,
    pub count: u32,
    pub range_m: Option<f64>,
    pub height_m: f64,
    pub period: Nanos,
    pub set_up: Nanos,
}

/// Which satellites.
#[derive(Clone, Debug)]
pub enum Satellites {
    /// A known constellation.
    Preset(String),
    /// Generated shells.
    Shells(Vec<Shell>),
    /// Element sets.
    Elements(PathBuf),
}

/// `[source.constellation.shell]`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // keys::SHELL documents each
pub struct Shell {
    pub planes: u32,
    pub per_plane: u32,
    pub altitude_m: f64,
    pub inclination_deg: f64,
    pub phasing: u32,
    pub raan_spread_deg: f64,
    pub raan_deg: f64,
    pub isls: bool,
}

impl Source {
    /// Files that it reads.
    pub fn files(&self) -> Vec<PathBuf> {
        match self {
            Source::PathLog(p) => vec![p.file.clone()],
            Source::Timeline(t) => vec![t.file.clone()],
            Source::Trace(t) => std::iter::once(&t.rate_file).chain(&t.delay_file).cloned().collect(),
            Source::Constellation(c) => c.files(),
            _ => Vec::new(),
        }
    }
}

impl Constellation {
    fn files(&self) -> Vec<PathBuf> {
        let elements = if let Satellites::Elements(file) = &self.satellites { Some(file) } else { None };
        let own = self.functions.iter().map(|f| &f.file).filter(|f| !f.ends_with(IN_MEMORY));
        elements.into_iter().chain(&self.isls.list).chain(own).cloned().collect()
    }
}

/// Reads `[source]`.
pub fn read(c: &Checked, problems: &mut Vec<Problem>) -> Option<Source> {
    let names: Vec<&str> = keys::SOURCE.keys.iter().map(|k| k.name).filter(|name| c.has(name)).collect();
    let [name] = names[..] else {
        let all: Vec<_> = keys::SOURCE.keys.iter().map(|k| format!("[source.{}]", k.name)).collect();
        // The one written last is the likelier mistake; overrides (no line) come after every file.
        let places = names.iter().map(|name| c.place_of(name));
        let place = places.max_by_key(|p| p.line.unwrap_or(usize::MAX)).unwrap_or(&c.place);
        let message = match names.len() {
            0 => "there is no source: where does the network come from?".to_string(),
            _ => format!("more than one source: {}", names.join(", ")),
        };
        problems
            .push(Problem::new("source", message).at(place).allowed(format!("one of {}", all.join(", "))));
        return None;
    };
    let c = c.one(name)?;
    match name {
        "chain" => chain(c, problems).map(Source::Chain),
        "dumbbell" => fan(c, 1, c.int("pairs") as usize, c.number("loss"), problems).map(Source::Dumbbell),
        "parking_lot" => {
            let n = c.int("bottlenecks") as usize;
            fan(c, n, n + 1, 0.0, problems).map(Source::ParkingLot)
        }
        "crossing" => crossing(c, problems).map(Source::Crossing),
        "path_log" => Some(Source::PathLog(path_log(c))),
        "trace" => Some(Source::Trace(trace(c))),
        "timeline" => Some(Source::Timeline(saved(c))),
        _ => constellation(c, problems).map(|c| Source::Constellation(Box::new(c))),
    }
}

fn reordering(c: &Checked) -> LinkOrder {
    if c.bool("reordering") {
        LinkOrder::Reorder
    } else {
        LinkOrder::Fifo
    }
}

fn chain(c: &Checked, problems: &mut Vec<Problem>) -> Option<Chain> {
    let (links, copies) = (c.int("links"), c.int("copies"));
    if links * copies > MAX_LINKS {
        let p = c.problem("copies", format!("{copies} chains of {links} links are {} links", links * copies));
        problems.push(p.allowed(format!("at most {MAX_LINKS} in all")));
        return None;
    }
    Some(Chain {
        links: links as usize,
        copies: copies as usize,
        rtt: c.time("rtt"),
        loss: c.number("loss"),
        order: reordering(c),
    })
}

fn times(c: &Checked, name: &str) -> Vec<Nanos> {
    c.many(name).into_iter().filter_map(|v| if let Val::Time(t) = v { Some(t) } else { None }).collect()
}

/// A round-trip time for each pair; one value holds for all.
fn rtts(c: &Checked, pairs: usize, problems: &mut Vec<Problem>) -> Option<Vec<Nanos>> {
    match times(c, "rtt") {
        one if one.len() == 1 => Some(vec![one[0]; pairs]),
        each if each.len() == pairs => Some(each),
        some => {
            let p = c.problem("rtt", format!("{} round-trip times for {pairs} pairs", some.len()));
            problems.push(p.allowed("one, or one for each pair"));
            None
        }
    }
}

fn crossing(c: &Checked, problems: &mut Vec<Problem>) -> Option<Crossing> {
    let (staying, moving) = (c.int("staying") as usize, c.int("moving") as usize);
    Some(Crossing {
        staying,
        moving,
        rtts: rtts(c, staying + moving, problems)?,
        bottleneck_delay: c.time("bottleneck_delay"),
        moves: times(c, "moves"),
    })
}

fn fan(c: &Checked, bottlenecks: usize, pairs: usize, loss: f64, problems: &mut Vec<Problem>) -> Option<Fan> {
    let rtts = rtts(c, pairs, problems)?;
    let placement = match c.text("rtt_at").as_str() {
        "even" => Placement::Even,
        "bottleneck" => Placement::Bottleneck,
        "ack-path" => Placement::AckPath,
        "forward" => Placement::Forward,
        _ => Placement::Access,
    };
    let bottleneck_delay = c.time("bottleneck_delay");
    Some(Fan { bottlenecks, rtts, placement, bottleneck_delay, loss, order: reordering(c) })
}

fn path_log(c: &Checked) -> PathLog {
    PathLog {
        file: resolve(c.place_of("file"), &c.text("file")),
        as_nodes: c.text("hops") == "nodes",
        first: c.time("first"),
        breaks: c.text("breaks") == "emulator",
        order: reordering(c),
        place: c.place_of("file").clone(),
    }
}

fn saved(c: &Checked) -> SavedTimeline {
    let place = c.place_of("file");
    SavedTimeline { file: resolve(place, &c.text("file")), place: place.clone() }
}

fn trace(c: &Checked) -> Trace {
    Trace {
        rate_file: resolve(c.place_of("rate_file"), &c.text("rate_file")),
        delay_file: c.opt_text("delay_file").map(|f| resolve(c.place_of("delay_file"), &f)),
        delay_step: c.time("delay_step"),
        rate_step: c.time("rate_step"),
        rtt: c.time("rtt"),
        loss: c.number("loss"),
        order: reordering(c),
        place: c.place_of("rate_file").clone(),
    }
}

fn constellation(c: &Checked, problems: &mut Vec<Problem>) -> Option<Constellation> {
    // A TLE file wins over a preset so that `--tle` needs no other change to a scenario; one line above the other in
    // a file is a mistake.
    let mut remarks = Vec::new();
    let others = ["preset", "shell", "shells"].into_iter().filter(|k| c.has(k));
    for other in others.filter(|_| c.has("tle")) {
        let (tle, dropped) = (c.place_of("tle"), c.place_of(other));
        let of_base = dropped.line.is_some() && dropped.origin != tle.origin;
        if tle.line.is_some() && !of_base {
            let p = Problem::new(format!("source.constellation.{other}"), "given together with a tle file")
                .at(dropped);
            problems.push(p.hint("keep one of them"));
        } else {
            remarks.push(format!(
                "{dropped}: source.constellation.{other} gives way to the element sets of {tle}"
            ));
        }
    }
    let shells: Vec<Shell> = c.one("shell").into_iter().chain(c.list("shells")).map(shell).collect();
    let satellites = match (c.opt_text("tle"), shells.is_empty(), c.opt_text("preset")) {
        (Some(file), ..) => Satellites::Elements(resolve(c.place_of("tle"), &file)),
        (None, false, None) => Satellites::Shells(shells),
        (None, true, Some(preset)) => Satellites::Preset(preset),
        (None, false, Some(_)) => {
            let key = if c.has("shell") { "shell" } else { "shells" };
            problems.push(c.problem(key, "given together with a preset: give one of them"));
            return None;
        }
        (None, true, None) => {
            problems.push(c.problem("preset", "give a preset, a shell or a tle file"));
            return None;
        }
    };
    let breaks = c.opt_text("breaks").is_some_and(|word| word == "emulator");
    let given: Vec<&str> = keys::CONSTELLATION.keys.iter().map(|k| k.name).filter(|k| c.has(k)).collect();
    if matches!(&satellites, Satellites::Preset(name) if name == keys::LEOEM) {
        // It makes the path log that LeoEM would have written: satellites, routes and times are LeoEM's.
        for key in given.iter().filter(|key| !["preset", "isls", "breaks"].contains(key)) {
            let why = format!("no effect with preset = {:?}", keys::LEOEM);
            problems.push(c.problem(key, why).hint("leave it out, or use another preset"));
        }
    }
    Some(Constellation {
        satellites,
        start: c.opt_text("start"),
        step: c.time("step"),
        mask_deg: c.opt_degrees("mask"),
        min_altitude_m: c.metres("min_altitude"),
        propagation: c.text("propagation"),
        longitude_deg: c.degrees("longitude"),
        attach: c.text("attach"),
        reselect: c.text("reselect"),
        hold: c.time("hold"),
        hysteresis: c.number("hysteresis"),
        routing: if c.text("routing") == "per-hop" { Routing::PerHop } else { Routing::PerPath },
        route: c.text("route"),
        load: Load {
            demand: c.opt_rate("load_demand"),
            delay: c.time("load_delay"),
            period: c.time("load_period"),
        },
        isls: Isls {
            pattern: c.text("isls"),
            list: c.opt_text("isl_list").map(|f| resolve(c.place_of("isl_list"), &f)),
            seam: c.text("isl_seam"),
            cross_shell: c.bool("cross_shell"),
            count: c.int("isl_count") as u32,
            range_m: c.opt_metres("isl_range"),
            height_m: c.metres("isl_height"),
            period: c.time("isl_period"),
            set_up: c.time("isl_setup"),
        },
        functions: ["attach", "route", "isls"].into_iter().filter_map(|key| named_function(c, key)).collect(),
        relay: c.text("relay") == "stations",
        ports_per_link: c.text("ground_ports") == "per-link",
        breaks,
        remarks,
        given,
        place: c.place.clone(),
    })
}

fn named_function(c: &Checked, key: &'static str) -> Option<Function> {
    let text = c.text(key);
    let (file, name) = function(&text)?;
    let place = c.place_of(key).clone();
    Some(Function { key, file: resolve(&place, file), name: name.into(), place })
}

fn shell(c: &Checked) -> Shell {
    Shell {
        planes: c.int("planes") as u32,
        per_plane: c.int("per_plane") as u32,
        altitude_m: c.metres("altitude"),
        inclination_deg: c.degrees("inclination"),
        phasing: c.int("phasing") as u32,
        raan_spread_deg: c.degrees("raan_spread"),
        raan_deg: c.degrees("raan"),
        isls: c.bool("isls"),
    }
}
