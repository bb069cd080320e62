// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[source.constellation]`.

use crate::file::error::{Place, Problem};
use crate::file::grammar::{Only, A_FUNCTION};
use crate::file::notation::{function, Notation};
use crate::file::parameters::parameters;
use crate::file::rows::RTT;
use crate::file::sources::SourceSpec;
use crate::file::tree::resolve;
use perigee_timeline::Routing;
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

parameters! {
    /// `[source.constellation]`.
    Constellation = "constellation", "Satellites that move, seen from the nodes of this file. Ports: ground, isl.";
    preset: Option<String> = optional(Notation::Word(PRESETS), "a known constellation");
    shell: Option<Shell> = one();
    shells: Vec<Shell> = list("[[source.constellation.shells]]: several shells instead of one");
    fibres as fibre: Vec<Fibre> = list("[[source.constellation.fibre]]: terrestrial links between stations and places such as data centres");
    tle: Option<PathBuf> = optional(Notation::File, "element sets instead of a generated shell: TLE, or OMM as JSON or CSV");
    also_tle: Option<PathBuf> = optional(Notation::File, "element sets in the same sky, besides the preset or the shells; ISLs stay within each shell"), only &[Only::Absent("tle")];
    min_altitude_m as min_altitude: f64 = key(Notation::Length(0.0, 2_000e3), "500 km", "satellites of a tle file that fly lower are still being raised, or falling: they are left out"), only &[Only::Given(&["tle", "also_tle"])];
    propagation: String = key(Notation::Word(&["kepler", "j2", "sgp4"]), "j2", "how generated shells move: undisturbed, with the secular drift of J2, or by SGP4 (element sets always do)"), only &[Only::Absent("tle")];
    longitude_deg as longitude: f64 = key(Notation::Angle(-180.0, 360.0), "0 deg", "meridian of the preset `geostationary`"), only &[Only::With("preset", &["geostationary"])];
    start: Option<String> = optional(Notation::Instant, "time zero of the run; default: the newest epoch of the TLE file, or 2000-01-01T00:00:00Z");
    step: Nanos = key(Notation::Time(Nanos::from_millis(1), Nanos::from_secs(60)), "100 ms", "time between routings");
    mask_deg as mask: Option<f64> = optional(Notation::Angle(0.0, 90.0), "smallest elevation at which a satellite is usable; default: that of the preset, or 25 deg");
    attach: String = key(Notation::WordOrFunction(&["shortest-path", "nearest", "highest-elevation", "longest-visibility"]), "shortest-path", "which satellite a terminal uses: the one of the shortest path to the other end, the nearest, the highest, the one that stays in view longest, or the one that a Python function chooses (docs/how-to/plugins.md)");
    attach_for: Option<String> = optional(Notation::Word(&["all", "first"]), "for whom a terminal with several peers seeks the shortest path: the smallest sum of its paths to all of them, so that a further flow may change its satellite, or the peer of its first flow, whatever follows; default: all"), only &[Only::With("attach", &["shortest-path"])];
    reselect: String = key(Notation::Word(&["auto", "step", "lost", "hold", "slots"]), "auto", "when a satellite still in view may be left: each step, never, `hold` after the last choice, or everywhere at seconds 12, 27, 42 and 57 of the minute (Starlink); auto = never with longest-visibility, else each step");
    hold: Nanos = key(Notation::Time(Nanos::from_millis(100), Nanos::from_secs(3600)), "15 s", "time between choices (LeoEM: 16 s)"), only &[Only::With("reselect", &["hold"])];
    breaks: Option<String> = optional(Notation::Word(&["none", "emulator"]), "as in [source.path_log]; default: nothing"), only &[Only::With("preset", &[LEOEM])];
    hysteresis: f64 = key(Notation::Number(0.0, 10.0), "0", "a satellite must be better than the one in use by this share (of path, range, zenith angle or time in view)");
    routing: Routing = key(Notation::Word(&["per-path", "per-hop"]), "per-path", "packets under way finish their path, or follow the newest tables");
    isls: String = key(Notation::WordOrFunction(&["grid", "nearest", "none"]), "grid", "inter-satellite links: +Grid of each shell, the nearest of the shell (chosen anew every isl_period), none, or those that a Python function names every isl_period");
    route: String = key(Notation::WordOrFunction(&["shortest", "disjoint", "load-aware"]), "shortest", "paths of the pairs: the shortest; without a common satellite for pairs between the same two places; short ones that avoid full links; or those that a Python function names (all but the first with routing = \"per-path\" and without relays)");
    load_demand: Option<BitRate> = optional(Notation::Rate, "what every flow is expected to send; default: its rate, if it has one, else its share of the radio of its sender"), only LOAD;
    load_delay: Nanos = key(Notation::Time(Nanos::ZERO, Nanos::from_secs(1)), "1 ms", "delay that a half full link counts more; at utilisation u it is this times u / (1 - u), above 0.9 in a straight line"), only LOAD;
    load_period: Nanos = key(Notation::Time(Nanos::from_millis(100), Nanos::from_secs(3600)), "1 s", "time between assignments of all pairs; between, only pairs whose path is gone get another one"), only LOAD;
    isl_list: Option<PathBuf> = optional(Notation::File, "inter-satellite links instead: a line with two satellite numbers for each");
    isl_seam: String = key(Notation::Word(&["auto", "linked", "open"]), "auto", "whether the last plane is linked to the first: auto = in a delta, not in a star"), only &[Only::With("isls", &["grid"]), Only::Absent("isl_list")];
    cross_shell: bool = key(Notation::Bool, "false", "one link more per satellite, to the nearest satellite of another shell");
    isl_count: u32 = key(Notation::Int(1, 16), "4", "links of a satellite"), only &[Only::With("isls", &["nearest"]), Only::Absent("isl_list")];
    isl_range_m as isl_range: Option<f64> = optional(Notation::Length(1e3, 100_000e3), "longest inter-satellite link");
    isl_height_m as isl_height: f64 = key(Notation::Length(0.0, 2_000e3), "80 km", "links stay above this height over the ground");
    isl_period: Nanos = key(Notation::Time(Nanos::from_secs(1), Nanos::from_secs(86_400)), "60 s", "time between choices of near satellites"), only CHOSEN_LINKS;
    isl_setup: Nanos = key(Notation::Time(Nanos::ZERO, Nanos::from_secs(3600)), "10 s", "a link that such a choice makes carries nothing for this long"), only CHOSEN_LINKS;
    relay: String = key(Notation::Word(&["none", "stations"]), "none", "packets of others may come down at stations and go up again (bent pipes)");
    ground_ports: String = key(Notation::Word(&["per-node", "per-link"]), "per-node", "one queue of a ground radio for all peers, or one for each");
}

parameters! {
    /// `[[source.constellation.fibre]]`.
    Fibre = "fibre", "A terrestrial link, the same both ways.";
    from: String = required(Notation::Text, "a station, or any name: a place that only fibres reach, such as a data centre, which flows may name");
    to: String = required(Notation::Text, "its other end");
    delay: Nanos = required(RTT, "one-way propagation delay (light in glass: 4.9 us/km)");
    rate: BitRate = key(Notation::Rate, "10 Gbit", "rate of its transmitters");
    queue: u64 = key(Notation::Int(1, 100_000_000), "10000", "packets that may wait for each");
    loss: f64 = key(Notation::Number(0.0, 1.0), "0", "probability that a packet is lost, in either direction");
}

parameters! {
    /// `[source.constellation.shell]`.
    Shell = "shell", "A shell of circular orbits.";
    planes: u32 = required(Notation::Int(1, 1000), "orbital planes");
    per_plane: u32 = required(Notation::Int(1, 1000), "satellites of each plane");
    altitude_m as altitude: f64 = required(Notation::Length(160e3, 50_000e3), "height above the equator");
    inclination_deg as inclination: f64 = required(Notation::Angle(0.0, 180.0), "angle between the orbits and the equator");
    phasing: u32 = key(Notation::Int(0, 1000), "0", "Walker's F: neighbours in the next plane are ahead by F x 360 deg / all satellites");
    raan_spread_deg as raan_spread: f64 = key(Notation::Angle(1.0, 360.0), "360 deg", "ascending nodes are spread over this angle (180 deg: star)");
    raan_deg as raan: f64 = key(Notation::Angle(-360.0, 360.0), "0 deg", "right ascension of the first plane's node at the start");
    isls: bool = key(Notation::Bool, "true", "its satellites have inter-satellite links");
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
            format!("{dropped}: source.constellation.{other} gives way to the element sets of {tle}")
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
            problems.push(problem(other, "given together with a tle file").hint("keep one of them"));
        }
        match (self.shell.is_some() || !self.shells.is_empty(), self.preset.is_some()) {
            _ if self.tle.is_some() => {}
            (true, true) => {
                let key = if self.shell.is_some() { "shell" } else { "shells" };
                problems.push(problem(key, "given together with a preset: give one of them"));
                return None;
            }
            (false, false) => {
                problems.push(problem("preset", "give a preset, a shell or a tle file"));
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
                problems.push(p.hint("leave it out, or use another preset"));
            }
        }
        if let (Satellites::Preset(name), Some(_)) = (self.satellites(), &self.also_tle) {
            if name.contains("compat") {
                let why = format!("no effect: the preset {name:?} is another tool's whole sky");
                let hint = "leave it out, or give the shell in [source.constellation.shell]";
                problems.push(c.problem("also_tle", why).hint(hint));
            }
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
