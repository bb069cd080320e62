// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[source.constellation]`.

use crate::file::error::{Place, Problem};
use crate::file::grammar::{Only, A_FUNCTION};
use crate::file::notation::{function, Notation};
use crate::file::parameters::parameters;
use crate::file::rows::RTT;
use crate::file::sources::SourceSpec;
use crate::file::tree::resolve;
use perigee_orbit::interop;
use perigee_timeline::{Law, Routing};
use perigee_units::{BitRate, Nanos};
use std::path::{Path, PathBuf};

/// Constellations known by name (those of `perigee_orbit::motion::presets`), and the skies of other
/// tools (`perigee_orbit::interop`).
pub const PRESETS: &[&str] = &[
    "starlink-shell1",
    "starlink-gen1",
    "starlink-24x66",
    "kuiper",
    "telesat",
    "oneweb",
    "iridium",
    "geostationary",
    "hypatia-compat-starlink",
    "hypatia-compat-kuiper",
    "hypatia-compat-telesat",
    "orbtcp-compat",
    LEOEM,
];

/// The preset that generates a path log instead of a sky.
pub const LEOEM: &str = "leoem-compat";

/// Placeholder for the file of a function that has none.
pub const IN_MEMORY: &str = "in-memory";

/// Condition of the keys of load-aware routes.
const LOAD: &[Only] = &[Only::With("route", &["load-aware"])];
/// Condition of the keys of links that are reselected over time.
const CHOSEN_LINKS: &[Only] = &[Only::With("isls", &["nearest", A_FUNCTION]), Only::Absent("isl_list")];

/// Condition of the keys of faults of lasers.
const LASERS: &[Only] = &[Only::Without("isls", &["none"])];
/// Condition of keys of losses of pointing.
const POINTING: &[Only] = &[Only::Given(&["isl_pointing_every"]), Only::Without("isls", &["none"])];

parameters! {
    /// `[source.constellation]`.
    Constellation = "constellation", "Moving satellites, and the ground nodes of this file. Ports: ground, isl.";
    preset: Option<String> = optional(Notation::Word(PRESETS), "bundled constellation");
    shell: Option<Shell> = one();
    shells: Vec<Shell> = list("[[source.constellation.shells]]: several shells, in place of one");
    fibres as fibre: Vec<Fibre> = list("[[source.constellation.fibre]]: terrestrial links between stations and places such as data centres");
    tle: Option<PathBuf> = optional(Notation::File, "element sets, in place of a generated shell: TLE, or OMM as JSON or CSV");
    also_tle: Option<PathBuf> = optional(Notation::File, "element sets of additional satellites, alongside the preset or the shells; ISLs stay within each shell"), only &[Only::Absent("tle")];
    min_altitude_m as min_altitude: f64 = key(Notation::Length(0.0, 2_000e3), "500 km", "minimum mean altitude of satellites from element sets; lower ones are excluded, as in orbit raising or decaying"), only &[Only::Given(&["tle", "also_tle"])];
    propagation: String = key(Notation::Word(&["kepler", "j2", "sgp4"]), "j2", "motion of generated shells: kepler = unperturbed; j2 = with the secular drift of J2; sgp4 = SGP4, as always for element sets"), only &[Only::Absent("tle")];
    longitude_deg as longitude: f64 = key(Notation::Angle(-180.0, 360.0), "0 deg", "longitude of the preset `geostationary`"), only &[Only::With("preset", &["geostationary"])];
    start: Option<String> = optional(Notation::Instant, "calendar time of the start of the run; default: the latest epoch of the element sets, or 2000-01-01T00:00:00Z");
    step: Nanos = key(Notation::Time(Nanos::from_millis(1), Nanos::from_secs(60)), "100 ms", "interval between route computations");
    mask_deg as mask: Option<f64> = optional(Notation::Angle(0.0, 90.0), "minimum elevation of a usable satellite; default: that of the preset, or 25 deg");
    attach: String = key(Notation::WordOrFunction(&["shortest-path", "nearest", "highest-elevation", "longest-visibility"]), "shortest-path", "selection of a terminal's satellite: shortest path to the other end, smallest range, highest elevation, longest remaining visibility, or a Python function (docs/how-to/plugins.md)");
    attach_for: Option<String> = optional(Notation::Word(&["all", "first"]), "peers that determine the satellite of a terminal with several: all = smallest sum of the paths to all of them, so that an additional flow may change the satellite; first = only the peer of its first flow; default: all"), only &[Only::With("attach", &["shortest-path"])];
    reselect: String = key(Notation::Word(&["auto", "step", "lost", "hold", "slots"]), "auto", "times at which a satellite still in view may be replaced: step = each step; lost = never; hold = `hold` after the last selection; slots = for all nodes at seconds 12, 27, 42 and 57 of the minute (Starlink); auto = lost with longest-visibility, otherwise step");
    hold: Nanos = key(Notation::Time(Nanos::from_millis(100), Nanos::from_secs(3600)), "15 s", "interval between selections (LeoEM: 16 s)"), only &[Only::With("reselect", &["hold"])];
    breaks: Option<String> = optional(Notation::Word(&["none", "emulator"]), "as in [source.path_log]; default: none"), only &[Only::With("preset", &[LEOEM])];
    hysteresis: f64 = key(Notation::Number(0.0, 10.0), "0", "relative advantage (in path, range, zenith angle or time in view) required to replace the satellite in use");
    routing: Routing = key(Notation::Word(&["per-path", "per-hop"]), "per-path", "routing of packets in flight: per-path = they complete their path; per-hop = they follow the current tables");
    isls: String = key(Notation::WordOrFunction(&["grid", "nearest", "none"]), "grid", "inter-satellite links: grid = +Grid of each shell; nearest = to the nearest satellites of the shell, selected every isl_period; none; or a Python function that selects them every isl_period");
    route: String = key(Notation::WordOrFunction(&["shortest", "disjoint", "load-aware"]), "shortest", "paths of the pairs: shortest; disjoint = without common satellites for pairs between the same two places; load-aware = short paths that avoid loaded links; or a Python function; all except shortest require routing = \"per-path\" and relay = \"none\"");
    load_demand: Option<BitRate> = optional(Notation::Rate, "expected rate of every flow; default: the rate of its application, if constant, otherwise its share of the sender's radio"), only LOAD;
    load_delay: Nanos = key(Notation::Time(Nanos::ZERO, Nanos::from_secs(1)), "1 ms", "additional delay in the cost of a link at half load; at utilisation u it is this times u / (1 - u), linear above 0.9"), only LOAD;
    load_period: Nanos = key(Notation::Time(Nanos::from_millis(100), Nanos::from_secs(3600)), "1 s", "interval between assignments of all pairs; in between, only pairs that lose their path are reassigned"), only LOAD;
    isl_list: Option<PathBuf> = optional(Notation::File, "file of inter-satellite links, in place of `isls`: one per line, as two satellite numbers");
    isl_seam: String = key(Notation::Word(&["auto", "linked", "open"]), "auto", "links between the last plane and the first: auto = linked in a delta constellation, open in a star"), only &[Only::With("isls", &["grid"]), Only::Absent("isl_list")];
    cross_shell: bool = key(Notation::Bool, "false", "one additional link per satellite, to the nearest satellite of another shell");
    isl_count: u32 = key(Notation::Int(1, 16), "4", "number of links per satellite"), only &[Only::With("isls", &["nearest"]), Only::Absent("isl_list")];
    isl_range_m as isl_range: Option<f64> = optional(Notation::Length(1e3, 100_000e3), "maximum length of an inter-satellite link; default: no limit");
    isl_height_m as isl_height: f64 = key(Notation::Length(0.0, 2_000e3), "80 km", "minimum height of inter-satellite links above the ground");
    isl_period: Nanos = key(Notation::Time(Nanos::from_secs(1), Nanos::from_secs(86_400)), "60 s", "interval between selections of inter-satellite links"), only CHOSEN_LINKS;
    isl_setup: Nanos = key(Notation::Time(Nanos::ZERO, Nanos::from_secs(3600)), "10 s", "time after a selection for which a new link carries no packets"), only CHOSEN_LINKS;
    isl_pointing_every: Option<Nanos> = optional(Notation::Time(Nanos::from_secs(10), Nanos::from_secs(604_800)), "mean time from an acquisition of an inter-satellite link to its next loss of pointing (exponential, per link); at the start all links are aligned; default: no losses of pointing"), only LASERS;
    isl_acquisition: Law = key(Notation::TimeLaw, "uniform(5 s, 20 s)", "time to acquire a link again after a loss of pointing: it is down in both directions, what is at it is lost, and paths avoid it from the next step on"), only POINTING;
    isl_failed: f64 = key(Notation::Share(0.0, 1.0), "0", "fraction of lasers that have failed before the run, for all of it; a link has a laser at each end, and needs both"), only LASERS;
    isl_failure_every: Option<Nanos> = optional(Notation::Time(Nanos::from_secs(10), Nanos::from_secs(1_000_000_000)), "mean time until a laser fails, for the rest of the run (exponential, per laser); default: none fails"), only LASERS;
    relay: String = key(Notation::Word(&["none", "stations"]), "none", "ground relays for packets of other nodes: none, or stations (bent pipe)");
    ground_ports: String = key(Notation::Word(&["per-node", "per-link"]), "per-node", "transmitters of radio links: per-node = one per node, shared by its links; per-link = one per link and direction");
}

parameters! {
    /// `[[source.constellation.fibre]]`.
    Fibre = "fibre", "A terrestrial link, with the same properties in both directions.";
    from: String = required(Notation::Text, "a station, or a new name: a place reached by fibre only, such as a data centre, which may be an end of flows");
    to: String = required(Notation::Text, "the other end");
    delay: Nanos = required(RTT, "one-way propagation delay (light in glass: 4.9 us/km)");
    rate: BitRate = key(Notation::Rate, "10 Gbit", "transmission rate");
    queue: u64 = key(Notation::Int(1, 100_000_000), "10000", "queue capacity in packets, in each direction");
    loss: f64 = key(Notation::Share(0.0, 1.0), "0", "loss probability, in each direction");
}

parameters! {
    /// `[source.constellation.shell]`.
    Shell = "shell", "A shell of circular orbits.";
    planes: u32 = required(Notation::Int(1, 1000), "number of orbital planes");
    per_plane: u32 = required(Notation::Int(1, 1000), "number of satellites per plane");
    altitude_m as altitude: f64 = required(Notation::Length(160e3, 50_000e3), "altitude above the equatorial radius");
    inclination_deg as inclination: f64 = required(Notation::Angle(0.0, 180.0), "inclination of the orbits");
    phasing: u32 = key(Notation::Int(0, 1000), "0", "Walker's phasing factor F: neighbours in the next plane are ahead by F x 360 deg / number of satellites");
    raan_spread_deg as raan_spread: f64 = key(Notation::Angle(1.0, 360.0), "360 deg", "range of the ascending nodes (360 deg: delta, 180 deg: star)");
    raan_deg as raan: f64 = key(Notation::Angle(-360.0, 360.0), "0 deg", "right ascension of the first plane's node at the start");
    isls: bool = key(Notation::Bool, "true", "whether its satellites have inter-satellite links");
}

/// Origin of the satellites.
#[derive(Clone, Debug)]
pub enum Satellites<'a> {
    /// A known constellation.
    Preset(&'a str),
    /// Generated shells.
    Shells(Vec<&'a Shell>),
    /// Element sets.
    Elements(&'a Path),
}

/// A Python function named by a scenario.
#[derive(Clone, Debug)]
pub struct Function {
    /// Key of `[source.constellation]`: attach, route or isls.
    pub key: &'static str,
    /// File that defines it; [`IN_MEMORY`] for a function passed in memory.
    pub file: PathBuf,
    /// Name of the function in the file.
    pub name: String,
    /// Place of the key.
    pub place: Place,
}

impl Constellation {
    /// Origin of the satellites: a file of element sets takes precedence over a preset, so that
    /// `--tle` requires no other change to a scenario.
    pub fn satellites(&self) -> Satellites<'_> {
        match (&self.tle, &self.preset) {
            (Some(file), _) => Satellites::Elements(file),
            (None, Some(name)) => Satellites::Preset(name),
            (None, None) => Satellites::Shells(self.shell.iter().chain(&self.shells).collect()),
        }
    }

    /// Whether the source generates a path log instead of a sky.
    pub fn is_leoem(&self) -> bool {
        matches!(self.satellites(), Satellites::Preset(LEOEM))
    }

    /// The preset, if it makes every node a station, as in the simulator that it follows.
    pub fn preset_of_stations(&self) -> Option<&str> {
        match self.satellites() {
            Satellites::Preset(name) if interop::has_stations_only(name) => Some(name),
            _ => None,
        }
    }

    /// Whether changes of a path log cause the outages of LeoEM's emulator.
    pub fn is_broken(&self) -> bool {
        self.breaks.as_deref() == Some("emulator")
    }

    /// Python functions named by the keys.
    pub fn functions(&self) -> Vec<Function> {
        let named = |(key, text): (&'static str, &str)| {
            let (file, name) = function(text)?;
            let place = self.written.place_of(key).clone();
            Some(Function { key, file: resolve(&place, file), name: name.into(), place })
        };
        let texts = [("attach", &self.attach), ("route", &self.route), ("isls", &self.isls)];
        texts.into_iter().filter_map(|(key, text)| named((key, text))).collect()
    }

    /// Warnings about keys overridden by element sets.
    pub fn remarks(&self) -> Vec<String> {
        let dropped = self.dropped().filter(|other| self.gives_way(other));
        let remark = |other| {
            let (dropped, tle) = (self.written.place_of(other), self.written.place_of("tle"));
            format!("{dropped}: source.constellation.{other} is overridden by the element sets of {tle}")
        };
        dropped.map(remark).collect()
    }

    /// Keys of other satellites than those of the file of element sets.
    fn dropped(&self) -> impl Iterator<Item = &'static str> + '_ {
        ["preset", "shell", "shells"].into_iter().filter(|k| self.tle.is_some() && self.written.has(k))
    }

    /// Both keys in one file are a mistake; an override, or a file that extends another, is not.
    fn gives_way(&self, other: &str) -> bool {
        let (tle, dropped) = (self.written.place_of("tle"), self.written.place_of(other));
        let of_base = dropped.line.is_some() && dropped.origin != tle.origin;
        tle.line.is_none() || of_base
    }
}

impl SourceSpec for Constellation {
    fn check(self, problems: &mut Vec<Problem>) -> Option<Self> {
        let c = &self.written;
        let problem = |key, why: &str| c.problem(key, why);
        for other in self.dropped().filter(|other| !self.gives_way(other)) {
            problems.push(problem(other, "conflicts with source.constellation.tle").hint("remove one of them"));
        }
        match (self.shell.is_some() || !self.shells.is_empty(), self.preset.is_some()) {
            _ if self.tle.is_some() => {}
            (true, true) => {
                let key = if self.shell.is_some() { "shell" } else { "shells" };
                problems.push(problem(key, "conflicts with source.constellation.preset: remove one of them"));
                return None;
            }
            (false, false) => {
                problems.push(problem("preset", "one of preset, shell, shells and tle is required"));
                return None;
            }
            _ => {}
        }
        if self.is_leoem() {
            // Generates the path log that LeoEM would have written: satellites, routes and times
            // are LeoEM's.
            let keys = Self::SECTION.keys.iter().map(|k| k.name).filter(|k| c.has(k));
            for key in keys.filter(|key| !["preset", "isls", "breaks"].contains(key)) {
                let p = c.problem(key, format!("no effect with preset = {LEOEM:?}"));
                problems.push(p.hint("remove it, or use another preset"));
            }
        }
        if let (Satellites::Preset(name), Some(_)) = (self.satellites(), &self.also_tle) {
            if name.contains("compat") {
                let why = format!("no effect: the preset {name:?} is the complete constellation of another tool");
                let hint = "remove it, or define the shell in [source.constellation.shell]";
                problems.push(c.problem("also_tle", why).hint(hint));
            }
        }
        if c.has("isl_acquisition") && self.isl_acquisition.mean() <= 0.0 {
            problems.push(problem("isl_acquisition", "must be above zero").hint("to have no losses of pointing, remove isl_pointing_every"));
        }
        for f in self.fibres.iter().filter(|f| f.from == f.to) {
            let p = f.written.problem("to", "a fibre from a node to itself");
            problems.push(p.found(format!("{:?}", f.to)));
        }
        Some(self)
    }

    fn files(&self) -> Vec<PathBuf> {
        let functions = self.functions().into_iter().map(|f| f.file).filter(|f| !f.ends_with(IN_MEMORY));
        let named = self.tle.iter().chain(&self.also_tle).chain(&self.isl_list).cloned();
        named.chain(functions).collect()
    }
}
