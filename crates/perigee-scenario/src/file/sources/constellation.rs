// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[source.constellation]`.

use crate::file::checked::Checked;
use crate::file::error::{Place, Problem};
use crate::file::grammar::Content::List;
use crate::file::grammar::{Key, Only, Section, A_FUNCTION};
use crate::file::kind::{function, Kind};
use crate::file::rows::*;
use crate::file::sources::SourceSpec;
use crate::file::tree::resolve;
use perigee_timeline::Routing;
use perigee_units::{BitRate, Nanos};
use std::path::PathBuf;

/// Constellations known by name (those of `perigee_orbit::motion::presets`), and other tools' skies (`perigee_orbit::interop`).
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

/// The one that makes a path log instead of a sky.
pub const LEOEM: &str = "leoem-compat";

/// Paths that avoid links which others fill.
const LOAD: &[Only] = &[Only::With("route", &["load-aware"])];
/// Links between satellites that are chosen anew now and then.
const CHOSEN_LINKS: &[Only] = &[Only::With("isls", &["nearest", A_FUNCTION]), Only::Absent("isl_list")];

/// The keys of load-aware paths.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // SECTION documents each
pub struct Load {
    pub demand: Option<BitRate>,
    pub delay: Nanos,
    pub period: Nanos,
}

/// `[source.constellation]`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // SECTION documents each
pub struct Constellation {
    pub satellites: Satellites,
    /// Element sets in the same sky.
    pub also_tle: Option<PathBuf>,
    pub start: Option<String>,
    pub step: Nanos,
    pub mask_deg: Option<f64>,
    pub min_altitude_m: f64,
    pub propagation: String,
    pub longitude_deg: f64,
    pub attach: String,
    /// Of its peers, a terminal seeks the shortest path for the first.
    pub attach_first: bool,
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
    pub fibres: Vec<Fibre>,
    pub place: Place,
}

/// `[[source.constellation.fibre]]`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // FIBRE documents each
pub struct Fibre {
    pub ends: [String; 2],
    pub delay: Nanos,
    pub rate: BitRate,
    pub queue: u64,
    pub loss: f64,
    pub place: Place,
}

impl SourceSpec for Constellation {
    fn parse(c: &Checked, problems: &mut Vec<Problem>) -> Option<Self> {
        Constellation::read(c, problems)
    }

    fn files(&self) -> Vec<PathBuf> {
        let elements = if let Satellites::Elements(file) = &self.satellites { Some(file) } else { None };
        let own = self.functions.iter().map(|f| &f.file).filter(|f| !f.ends_with(IN_MEMORY));
        elements.into_iter().chain(&self.also_tle).chain(&self.isls.list).chain(own).cloned().collect()
    }
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
#[allow(missing_docs)] // SECTION documents each
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
#[allow(missing_docs)] // SHELL documents each
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

impl Constellation {
    /// Its keys.
    pub const SECTION: Section = Section {
        name: "constellation",
        help: "Satellites that move, seen from the nodes of this file. Ports: ground, isl.",
        keys: &[
            optional("preset", Kind::Word(PRESETS), "a known constellation"),
            one(&SHELL),
            Key {
                name: "shells",
                content: List(&SHELL),
                default: None,
                required: false,
                help: "[[source.constellation.shells]]: several shells instead of one",
                only: &[],
            },
            Key {
                name: "fibre",
                content: List(&FIBRE),
                default: None,
                required: false,
                help: "[[source.constellation.fibre]]: terrestrial links between stations and places such as data centres",
                only: &[],
            },
            optional("tle", Kind::File, "element sets instead of a generated shell: TLE, or OMM as JSON or CSV"),
            optional("also_tle", Kind::File, "element sets in the same sky, besides the preset or the shells; ISLs stay within each shell").only(&[Only::Absent("tle")]),
            key("min_altitude", Kind::Length(0.0, 2_000e3), "500 km", "satellites of a tle file that fly lower are still being raised, or falling: they are left out").only(&[Only::Given(&["tle", "also_tle"])]),
            key(
                "propagation",
                Kind::Word(&["kepler", "j2", "sgp4"]),
                "j2",
                "how generated shells move: undisturbed, with the secular drift of J2, or by SGP4 (element sets always do)",
            ).only(&[Only::Absent("tle")]),
            key("longitude", Kind::Angle(-180.0, 360.0), "0 deg", "meridian of the preset `geostationary`").only(&[Only::With("preset", &["geostationary"])]),
            optional(
                "start",
                Kind::Instant,
                "time zero of the run; default: the newest epoch of the TLE file, or 2000-01-01T00:00:00Z",
            ),
            key(
                "step",
                Kind::Time(Nanos::from_millis(1), Nanos::from_secs(60)),
                "100 ms",
                "time between routings",
            ),
            optional(
                "mask",
                Kind::Angle(0.0, 90.0),
                "smallest elevation at which a satellite is usable; default: that of the preset, or 25 deg",
            ),
            key(
                "attach",
                Kind::WordOrFunction(&["shortest-path", "nearest", "highest-elevation", "longest-visibility"]),
                "shortest-path",
                "which satellite a terminal uses: the one of the shortest path to the other end, the nearest, the highest, the one that stays in view longest, or the one that a Python function chooses (docs/plugins.md)",
            ),
            optional(
                "attach_for",
                Kind::Word(&["all", "first"]),
                "for whom a terminal with several peers seeks the shortest path: the smallest sum of its paths to all of them, so that a further flow may change its satellite, or the peer of its first flow, whatever follows; default: all",
            ).only(&[Only::With("attach", &["shortest-path"])]),
            key(
                "reselect",
                Kind::Word(&["auto", "step", "lost", "hold", "slots"]),
                "auto",
                "when a satellite still in view may be left: each step, never, `hold` after the last choice, or everywhere at seconds 12, 27, 42 and 57 of the minute (Starlink); auto = never with longest-visibility, else each step",
            ),
            key("hold", Kind::Time(Nanos::from_millis(100), Nanos::from_secs(3600)), "15 s", "time between choices (LeoEM: 16 s)").only(&[Only::With("reselect", &["hold"])]),
            optional("breaks", Kind::Word(&["none", "emulator"]), "as in [source.path_log]; default: nothing").only(&[Only::With("preset", &[LEOEM])]),
            key(
                "hysteresis",
                Kind::Number(0.0, 10.0),
                "0",
                "a satellite must be better than the one in use by this share (of path, range, zenith angle or time in view)",
            ),
            key(
                "routing",
                Kind::Word(&["per-path", "per-hop"]),
                "per-path",
                "packets under way finish their path, or follow the newest tables",
            ),
            key(
                "isls",
                Kind::WordOrFunction(&["grid", "nearest", "none"]),
                "grid",
                "inter-satellite links: +Grid of each shell, the nearest of the shell (chosen anew every isl_period), none, or those that a Python function names every isl_period",
            ),
            key(
                "route",
                Kind::WordOrFunction(&["shortest", "disjoint", "load-aware"]),
                "shortest",
                "paths of the pairs: the shortest; without a common satellite for pairs between the same two places; short ones that avoid full links; or those that a Python function names (all but the first with routing = \"per-path\" and without relays)",
            ),
            optional("load_demand", Kind::Rate, "what every flow is expected to send; default: its rate, if it has one, else its share of the radio of its sender").only(LOAD),
            key("load_delay", Kind::Time(Nanos::ZERO, Nanos::from_secs(1)), "1 ms", "delay that a half full link counts more; at utilisation u it is this times u / (1 - u), above 0.9 in a straight line").only(LOAD),
            key("load_period", Kind::Time(Nanos::from_millis(100), Nanos::from_secs(3600)), "1 s", "time between assignments of all pairs; between, only pairs whose path is gone get another one").only(LOAD),
            optional("isl_list", Kind::File, "inter-satellite links instead: a line with two satellite numbers for each"),
            key("isl_seam", Kind::Word(&["auto", "linked", "open"]), "auto", "whether the last plane is linked to the first: auto = in a delta, not in a star").only(&[Only::With("isls", &["grid"]), Only::Absent("isl_list")]),
            key("cross_shell", Kind::Bool, "false", "one link more per satellite, to the nearest satellite of another shell"),
            key("isl_count", Kind::Int(1, 16), "4", "links of a satellite").only(&[Only::With("isls", &["nearest"]), Only::Absent("isl_list")]),
            optional("isl_range", Kind::Length(1e3, 100_000e3), "longest inter-satellite link"),
            key("isl_height", Kind::Length(0.0, 2_000e3), "80 km", "links stay above this height over the ground"),
            key("isl_period", Kind::Time(Nanos::from_secs(1), Nanos::from_secs(86_400)), "60 s", "time between choices of near satellites").only(CHOSEN_LINKS),
            key("isl_setup", Kind::Time(Nanos::ZERO, Nanos::from_secs(3600)), "10 s", "a link that such a choice makes carries nothing for this long").only(CHOSEN_LINKS),
            key("relay", Kind::Word(&["none", "stations"]), "none", "packets of others may come down at stations and go up again (bent pipes)"),
            key(
                "ground_ports",
                Kind::Word(&["per-node", "per-link"]),
                "per-node",
                "one queue of a ground radio for all peers, or one for each",
            ),
        ],
        kinds: None,
    };

    fn read(c: &Checked, problems: &mut Vec<Problem>) -> Option<Constellation> {
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
        let given: Vec<&str> = Constellation::SECTION.keys.iter().map(|k| k.name).filter(|k| c.has(k)).collect();
        if matches!(&satellites, Satellites::Preset(name) if name == LEOEM) {
            // It makes the path log that LeoEM would have written: satellites, routes and times are LeoEM's.
            for key in given.iter().filter(|key| !["preset", "isls", "breaks"].contains(key)) {
                let why = format!("no effect with preset = {:?}", LEOEM);
                problems.push(c.problem(key, why).hint("leave it out, or use another preset"));
            }
        }
        if let (Satellites::Preset(name), true) = (&satellites, c.has("also_tle")) {
            if name.contains("compat") {
                let p = c.problem("also_tle", format!("no effect: the preset {name:?} is another tool's whole sky"));
                problems.push(p.hint("leave it out, or give the shell in [source.constellation.shell]"));
            }
        }
        Some(Constellation {
            satellites,
            also_tle: c.opt_text("also_tle").map(|f| resolve(c.place_of("also_tle"), &f)),
            start: c.opt_text("start"),
            step: c.time("step"),
            mask_deg: c.opt_degrees("mask"),
            min_altitude_m: c.metres("min_altitude"),
            propagation: c.text("propagation"),
            longitude_deg: c.degrees("longitude"),
            attach: c.text("attach"),
            attach_first: c.opt_text("attach_for").is_some_and(|w| w == "first"),
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
            fibres: c.list("fibre").iter().map(|f| fibre(f, problems)).collect(),
            place: c.place.clone(),
        })
    }


}

fn fibre(c: &Checked, problems: &mut Vec<Problem>) -> Fibre {
    let ends = [c.text("from"), c.text("to")];
    if ends[0] == ends[1] {
        problems.push(c.problem("to", "a fibre from a node to itself").found(format!("{:?}", ends[1])));
    }
    let (delay, rate, loss) = (c.time("delay"), c.rate("rate"), c.number("loss"));
    Fibre { ends, delay, rate, queue: c.int("queue") as u64, loss, place: c.place.clone() }
}

/// `[[source.constellation.fibre]]`.
const FIBRE: Section = Section {
    name: "fibre",
    help: "A terrestrial link, the same both ways.",
    keys: &[
        required("from", Kind::Text, "a station, or any name: a place that only fibres reach, such as a data centre, which flows may name"),
        required("to", Kind::Text, "its other end"),
        required("delay", RTT, "one-way propagation delay (light in glass: 4.9 us/km)"),
        key("rate", Kind::Rate, "10 Gbit", "rate of its transmitters"),
        key("queue", Kind::Int(1, 100_000_000), "10000", "packets that may wait for each"),
        key("loss", Kind::Number(0.0, 1.0), "0", "probability that a packet is lost, in either direction"),
    ],
    kinds: None,
};

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

/// `[source.constellation.shell]`.
const SHELL: Section = Section {
    name: "shell",
    help: "A shell of circular orbits.",
    keys: &[
        required("planes", Kind::Int(1, 1000), "orbital planes"),
        required("per_plane", Kind::Int(1, 1000), "satellites of each plane"),
        required("altitude", Kind::Length(160e3, 50_000e3), "height above the equator"),
        required("inclination", Kind::Angle(0.0, 180.0), "angle between the orbits and the equator"),
        key(
            "phasing",
            Kind::Int(0, 1000),
            "0",
            "Walker's F: neighbours in the next plane are ahead by F x 360 deg / all satellites",
        ),
        key(
            "raan_spread",
            Kind::Angle(1.0, 360.0),
            "360 deg",
            "ascending nodes are spread over this angle (180 deg: star)",
        ),
        key(
            "raan",
            Kind::Angle(-360.0, 360.0),
            "0 deg",
            "right ascension of the first plane's node at the start",
        ),
        key("isls", Kind::Bool, "true", "its satellites have inter-satellite links"),
    ],
    kinds: None,
};
