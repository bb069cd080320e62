// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The scenario as types: every value read, every name resolved that can be resolved without building the network.

use crate::error::{Place, Problem, ScenarioError};
use crate::fading::{self, BurstSpec};
use crate::grammar::{check, Checked, Given};
use crate::keys::{self, MAX_FLOWS};
use crate::kind::{Draw, Val};
use crate::node_sets;
use crate::source::{self, Source};
use crate::split::{self, LegPlace, Split};
use crate::traffic::Pattern;
use crate::tree::{self, Table};
use perigee_timeline::{App, Law, OutageMode};
use perigee_units::{BitRate, Nanos, Size};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of the flow table beyond which a run is refused: they are kept in memory until the run is over.
const MAX_ROWS: u128 = 50_000_000;

/// Shortest mean time of sending, and of silence, of an on/off source: it changes at most 5,000 times a second.
const SHORTEST_PERIOD: Nanos = Nanos::from_micros(100);
/// Shortest time between packets of a constant rate: 1.2 Tbit/s in packets of 1500 bytes.
const SHORTEST_GAP: Nanos = Nanos(10);

/// A scenario that is valid as far as it can be known before its network is built.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name for folders and titles: the file's without its ending.
    pub name: String,
    /// One line for tables and reports.
    pub title: String,
    /// `[run]`.
    pub run: RunSpec,
    /// `[source]`.
    pub source: Source,
    /// `[node.NAME]`.
    pub nodes: Vec<NodeSpec>,
    /// `[port.NAME]`, in file order.
    pub ports: Vec<PortSetting>,
    /// `[[change]]` and `[schedule]`.
    pub changes: Vec<ChangeSpec>,
    /// `[jitter]`.
    pub jitter: Option<crate::jitter::Jitter>,
    /// `[handover]`.
    pub handover: OutageSpec,
    /// `[bursts]`.
    pub bursts: Option<BurstSpec>,
    /// `[notices]`; `None` = nobody is told anything.
    pub notices: Option<perigee_sim::Notices>,
    /// `[telemetry]`.
    pub telemetry: TelemetrySpec,
    /// Name of the transport profile.
    pub profile: &'static str,
    /// `[tcp]`.
    pub tcp: Given,
    /// `[tcp.SCHEME]`.
    pub tcp_of: BTreeMap<String, Given>,
    /// `[cc.SCHEME]`.
    pub cc: BTreeMap<String, Given>,
    /// `[[flow]]`.
    pub flows: Vec<FlowSpec>,
    /// The file after `extends` and overrides, as TOML, with paths from where it was loaded.
    pub resolved_toml: String,
    /// Files that it names.
    pub files: Vec<PathBuf>,
    /// The functions that the source names, once somebody has loaded them.
    pub plugins: perigee_orbit::Plugins,
}

/// `[run]`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // keys::RUN documents each
pub struct RunSpec {
    pub duration: Nanos,
    pub seed: u64,
    pub runs: u64,
    pub cc: Vec<String>,
    pub sample: Nanos,
    pub warmup: Nanos,
    pub start_jitter: Nanos,
}

/// `[node.NAME]`.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    /// Name.
    pub name: String,
    /// terminal, station or host.
    pub kind: String,
    /// City, or latitude and longitude in degrees.
    pub position: Position,
    /// Metres above the ellipsoid.
    pub height_m: f64,
    /// Smallest elevation, where it is not that of the constellation.
    pub mask_deg: Option<f64>,
    /// Dishes of a station, where they are limited.
    pub dishes: Option<u32>,
    /// For traffic patterns.
    pub weight: f64,
    /// File of its weather.
    pub weather: Option<PathBuf>,
    /// Where it was written.
    pub place: Place,
}

/// Where a node stands.
#[derive(Clone, Debug)]
pub enum Position {
    /// A city of the list.
    City(String),
    /// Degrees north and east.
    Degrees(f64, f64),
}

/// `[port.NAME]`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // keys::PORT documents each
pub struct PortSetting {
    pub name: String,
    pub rate: Option<BitRate>,
    pub queue: Option<Size>,
    pub bdp_rate: Option<BitRate>,
    pub bdp_rtt: Option<Nanos>,
    pub framing: Option<u32>,
    pub discipline: AqmSetting,
    pub count_in_service: Option<bool>,
    pub probe_priority: Option<bool>,
    pub metered: Option<bool>,
    pub place: Place,
}

/// Discipline of a `[port.NAME]`, and what belongs to it.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)] // keys::PORT documents each
pub struct AqmSetting {
    pub name: Option<String>,
    pub target: Option<Nanos>,
    pub interval: Option<Nanos>,
    pub quantum: Option<u32>,
    pub queues: Option<u32>,
    pub burst: Option<Nanos>,
    pub red_min: Option<u64>,
    pub red_max: Option<u64>,
    pub red_p: Option<f64>,
    pub red_floor: Option<f64>,
    pub red_weight: Option<f64>,
}

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Both.
    Both,
    /// That of the data.
    Forward,
    /// That of the ACKs.
    Reverse,
}

/// An outage: how long, and what it does.
#[derive(Clone, Debug)]
pub struct OutageSpec {
    /// Length.
    pub length: Draw<Nanos>,
    /// A recorded distribution instead, and where it was named.
    pub file: Option<(PathBuf, Place)>,
    /// And this many times the propagation delays to the old and the new satellite.
    pub per_delay: f64,
    /// What it does to packets.
    pub mode: OutageMode,
}

/// When changes happen.
#[derive(Clone, Debug)]
pub enum When {
    /// Once.
    At(Nanos),
    /// First time and distance; drawn anew each time.
    Every(Nanos, Nanos),
    /// As a file says.
    File(PathBuf),
    /// As a published study drew it.
    Recipe(String),
}

/// `[[change]]` or `[schedule]`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // keys::CHANGE and keys::SCHEDULE document each
pub struct ChangeSpec {
    pub when: When,
    pub on: String,
    pub direction: Option<Direction>,
    pub rate: Option<Draw<BitRate>>,
    pub delay: Option<Draw<Nanos>>,
    pub rtt: Option<Draw<Nanos>>,
    pub loss: Option<Draw<f64>>,
    pub outage: Option<Draw<Nanos>>,
    pub mode: OutageMode,
    pub place: Place,
}

/// `[telemetry]`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // keys::TELEMETRY documents each
pub struct TelemetrySpec {
    pub overhead: Option<String>,
    pub echo: Option<String>,
    pub max_hops: Option<usize>,
}

/// `[[flow]]`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // keys::FLOW documents each
pub struct FlowSpec {
    pub name: Option<String>,
    pub ends: Option<(String, String)>,
    pub pattern: Option<Pattern>,
    pub cc: String,
    pub app: App,
    /// Time between arrivals and size of each, where the flow stands for many.
    pub arrivals: Option<(Law, Law)>,
    pub start: Nanos,
    pub stagger: Nanos,
    pub stop: Option<Nanos>,
    pub count: u64,
    pub split: Option<Split>,
    pub leg: Option<LegPlace>,
    pub cc_params: Given,
    pub tcp: Given,
    pub place: Place,
}

impl Scenario {
    /// Reads and checks a file; `sets` are overrides of the form `key=value`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load(path: &Path, sets: &[String]) -> Result<Self, ScenarioError> {
        let table = tree::load(path, sets)?;
        let name = path.file_stem().map_or("scenario".into(), |s| s.to_string_lossy().into_owned());
        Scenario::read(&table, &name, &path.display().to_string())
    }

    /// Reads and checks text; files that it names are looked for in `folder`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(text: &str, name: &str, folder: &Path, sets: &[String]) -> Result<Self, ScenarioError> {
        Scenario::read(&tree::parse(text, name, folder, sets)?, name, name)
    }

    fn read(table: &Table, name: &str, file: &str) -> Result<Self, ScenarioError> {
        let mut table = table.clone();
        let profile = crate::profiles::apply(&mut table)?;
        let table = &table;
        let origin = crate::error::Origin::File { name: file.into(), folder: PathBuf::new() };
        let place = Place { origin: Arc::new(origin), line: None };
        let top = check(&keys::SCENARIO, table, &place).map_err(ScenarioError)?;
        let mut problems = Vec::new();
        let scenario = Reader { top: &top, nodes: Vec::new(), problems: &mut problems }.scenario(table, name);
        match scenario {
            Some(s) if problems.is_empty() => Ok(Scenario { profile, ..s }),
            _ => Err(ScenarioError(problems)),
        }
    }
}

/// Values that stand for a distribution of prediction errors: its quantiles, with both signs.
const ERROR_QUANTILES: u64 = 64;

fn notices(c: &Checked) -> Option<perigee_sim::Notices> {
    let error = c.time_draw("error");
    let (low, high) = (error.low.0, error.high.0);
    let errors = (0..ERROR_QUANTILES).flat_map(|k| {
        let e = (low + (high - low) / (ERROR_QUANTILES - 1) * k) as i64;
        [e, -e]
    });
    let errors: Vec<i64> = if high == 0 { Vec::new() } else { errors.collect() };
    let (lead, hold) = (c.time("lead"), c.time("hold"));
    c.bool("on").then(|| perigee_sim::Notices { lead, hold, errors: errors.into(), loss: c.number("loss") })
}

/// Outage modes by their word.
pub fn outage_mode(word: &str) -> OutageMode {
    match word {
        "hold" => OutageMode::Hold,
        "blackhole" => OutageMode::Blackhole,
        _ => OutageMode::Flush,
    }
}

struct Reader<'a> {
    top: &'a Checked,
    nodes: Vec<NodeSpec>,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    fn scenario(&mut self, table: &Table, name: &str) -> Option<Scenario> {
        let top = self.top;
        let run = self.run();
        let source = source::read(&top.one_or_default(&keys::SOURCE), self.problems);
        self.nodes = top.named("node").iter().filter_map(|(name, c)| self.node(name, c)).collect();
        let node_files = self.node_sets();
        let nodes = self.nodes.clone();
        let node_files: Vec<_> = node_files.into_iter().chain(fading::files(&nodes)).collect();
        let first_node = top.named("node").first().map(|(_, c)| c).or(top.list("nodes").first());
        let is_sky = matches!(source, Some(Source::Constellation(_)));
        if let (false, Some(node)) = (is_sky || source.is_none(), first_node) {
            self.problems.push(
                node.problem(
                    "kind",
                    "nodes are placed by the source; [node.NAME] belongs to a constellation",
                ),
            );
        }
        if is_sky && nodes.len() < 2 {
            self.problems.push(top.problem("node", "a constellation needs at least two nodes on the ground"));
        }
        let flows: Vec<_> = top.list("flow").iter().map(|c| self.flow(c, &run)).collect();
        self.flow_totals(&flows, &run);
        let mut changes: Vec<_> = top.list("change").iter().map(|c| self.change(c, &run)).collect();
        changes.extend(top.one("schedule").and_then(|c| self.schedule(c)));
        let jitter = top.one("jitter").and_then(|c| crate::jitter::Jitter::read(c, self.problems));
        let fixed = matches!(source, Some(Source::Chain(_) | Source::Dumbbell(_) | Source::ParkingLot(_)));
        if let (Some(c), false) = (top.one("jitter"), fixed || source.is_none()) {
            self.problems.push(c.problem("on", "this source sets its own delays"));
        }
        let handover = top.one_or_default(&keys::HANDOVER);
        let outages = handover.opt_text("file").map(|f| tree::resolve(handover.place_of("file"), &f));
        // A base's draw gives way to a file of the scenario that extends it.
        let (file, draw) = (handover.place_of("file"), handover.place_of("outage"));
        if handover.has("file") && handover.has("outage") && file.origin == draw.origin {
            let why = "given together with a file of outages";
            self.problems.push(handover.problem("outage", why).hint("keep one of them"));
        }
        let telemetry = top.one_or_default(&keys::TELEMETRY);
        Some(Scenario {
            name: name.into(),
            title: top.opt_text("title").unwrap_or_else(|| name.into()),
            run,
            files: source.iter().flat_map(Source::files).chain(outages).chain(node_files).collect(),
            source: source?,
            nodes,
            ports: top.named("port").iter().map(|(name, c)| port(name, c)).collect(),
            changes,
            jitter,
            handover: OutageSpec {
                length: handover.time_draw("outage"),
                file: handover.opt_text("file").map(|f| {
                    let place = handover.place_of("file");
                    (tree::resolve(place, &f), place.clone())
                }),
                per_delay: handover.number("per_delay"),
                mode: outage_mode(&handover.text("mode")),
            },
            bursts: top.one("bursts").map(fading::read),
            notices: notices(&top.one_or_default(&keys::NOTICES)),
            telemetry: TelemetrySpec {
                overhead: telemetry.opt_text("overhead"),
                echo: telemetry.opt_text("echo"),
                max_hops: telemetry.opt_int("max_hops").map(|n| n as usize),
            },
            profile: crate::profiles::PROFILES[0].id,
            tcp: top.params("tcp"),
            tcp_of: top.by_scheme("tcp"),
            cc: top.by_scheme("cc"),
            flows,
            resolved_toml: crate::write::toml(table),
            plugins: perigee_orbit::Plugins::default(),
        })
    }

    fn run(&mut self) -> RunSpec {
        let c = self.top.one_or_default(&keys::RUN);
        let word = |v: Val| if let Val::Text(t) = v { Some(t) } else { None };
        let run = RunSpec {
            duration: c.time("duration"),
            seed: c.int("seed") as u64,
            runs: c.int("runs") as u64,
            cc: c.opt_many("cc").unwrap_or_default().into_iter().filter_map(word).collect(),
            sample: c.time("sample"),
            warmup: c.time("warmup"),
            start_jitter: c.time("start_jitter"),
        };
        if run.warmup >= run.duration {
            self.problems.push(c.problem("warmup", format!("nothing is left of a run of {}", run.duration)));
        }
        if run.sample > run.duration {
            self.problems.push(c.problem("sample", format!("longer than the run of {}", run.duration)));
        }
        run
    }

    fn node(&mut self, name: &str, c: &Checked) -> Option<NodeSpec> {
        let position = match (c.opt_text("place"), c.opt_number("lat"), c.opt_number("lon")) {
            (Some(city), None, None) => Position::City(city),
            (None, Some(lat), Some(lon)) => Position::Degrees(lat, lon),
            _ => {
                let key = if c.has("place") { "place" } else { "lat" };
                self.problems.push(c.problem(key, "give either a place, or lat and lon"));
                return None;
            }
        };
        Some(NodeSpec {
            name: name.into(),
            kind: c.text("kind"),
            position,
            height_m: c.metres("height"),
            mask_deg: c.opt_degrees("mask"),
            dishes: c.opt_int("dishes").map(|n| n as u32),
            weight: c.number("weight"),
            weather: c.opt_text("weather").map(|f| tree::resolve(c.place_of("weather"), &f)),
            place: c.place.clone(),
        })
    }

    /// Adds the nodes of `[[nodes]]`; the files that they come from.
    fn node_sets(&mut self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        // Names of stations give way to those of cities, wherever these stand.
        let (stations, plain): (Vec<_>, Vec<_>) =
            self.top.list("nodes").iter().partition(|c| node_sets::are_stations(c));
        for c in plain.into_iter().chain(stations) {
            match node_sets::read(c) {
                Ok((mut nodes, file)) => {
                    let names: BTreeSet<&str> = self.nodes.iter().map(|n| n.name.as_str()).collect();
                    node_sets::tell_apart(c, &mut nodes, &names);
                    if let Some(n) = nodes.iter().find(|n| names.contains(n.name.as_str())) {
                        let why = "a node of that name exists already";
                        let key = if c.has("set") { "set" } else { "file" };
                        self.problems.push(c.problem(key, why).found(format!("{:?}", n.name)));
                    }
                    self.nodes.extend(nodes);
                    files.extend(file);
                }
                Err(p) => self.problems.push(p),
            }
        }
        files
    }

    fn flow(&mut self, c: &Checked, run: &RunSpec) -> FlowSpec {
        let pattern = self.pattern(c);
        let ends = match (c.opt_text("from"), c.opt_text("to")) {
            _ if c.has("pattern") => None,
            (Some(from), Some(to)) if from == to => {
                self.problems.push(c.problem("to", "a flow from a node to itself").found(format!("{to:?}")));
                None
            }
            (Some(from), Some(to)) => Some((from, to)),
            (None, None) => None,
            (from, _) => {
                let missing = if from.is_some() { "to" } else { "from" };
                self.problems.push(c.problem(missing, "must be given with the other end, or neither"));
                None
            }
        };
        let app = match c.text("app").as_str() {
            "ping" => {
                App::Ping { interval: c.time("interval"), size: c.opt_int("size").unwrap_or(64) as u32 }
            }
            "cbr" => self.cbr(c),
            "on-off" => App::OnOff { on: self.period(c, "on"), off: self.period(c, "off") },
            "request" => App::Request {
                size: self.object(c),
                think: c.law("think"),
                period: c.time("period"),
                count: c.opt_int("objects").map_or(u64::MAX, |n| n as u64),
            },
            _ => App::Bulk { bytes: c.opt_bytes("bytes") },
        };
        let arrivals = self.arrivals(c, app);
        let split = split::read(c, app, &ends, self.problems);
        let flow = FlowSpec {
            name: c.opt_text("name"),
            ends,
            pattern,
            cc: c.text("cc"),
            app,
            arrivals,
            start: c.time("start"),
            stagger: c.time("stagger"),
            stop: c.opt_time("stop"),
            count: c.int("count") as u64,
            split,
            leg: None,
            cc_params: c.params("cc_params"),
            tcp: c.params("tcp"),
            place: c.place.clone(),
        };
        self.flow_times(c, &flow, run);
        flow
    }

    /// How long an on/off source sends, or is silent. Zero would be an endless change between the two.
    fn period(&mut self, c: &Checked, key: &str) -> Law {
        let law = c.law(key);
        if law.mean() < SHORTEST_PERIOD.as_secs_f64() {
            let why = "sending and silence would follow each other without end";
            let p = c.problem(key, why).allowed(format!("times of {SHORTEST_PERIOD} and more in the mean"));
            self.problems.push(p.hint("app = \"bulk\" sends all the time"));
        }
        law
    }

    fn cbr(&mut self, c: &Checked) -> App {
        let size = c.opt_int("size").unwrap_or(1500) as u32;
        let rate = c.opt_rate("rate").unwrap_or_else(|| {
            self.problems.push(c.problem("rate", "a constant rate must be given"));
            BitRate(1_000_000)
        });
        let interval = rate.time_for(u64::from(size));
        if interval < SHORTEST_GAP {
            let p = c
                .problem("rate", format!("packets of {size} bytes would follow each other every {interval}"));
            self.problems.push(p.hint("lower the rate, or send larger packets"));
        }
        App::Cbr { interval: interval.max(SHORTEST_GAP), size }
    }

    fn object(&mut self, c: &Checked) -> Law {
        c.opt_law("object").unwrap_or_else(|| {
            self.problems.push(c.problem("object", "the size of an object must be given"));
            Law::Fixed(1.0)
        })
    }

    fn arrivals(&mut self, c: &Checked, app: App) -> Option<(Law, Law)> {
        let gap = c.opt_law("arrivals")?;
        if !matches!(app, App::Bulk { bytes: None }) {
            let p = c.problem("arrivals", "each arrival is a bulk transfer of one `object`");
            self.problems.push(p.hint("leave out app and bytes"));
        }
        if matches!(gap, Law::Fixed(g) if g < 1e-6) {
            self.problems.push(c.problem("arrivals", "arrivals without time between them never end"));
        }
        Some((gap, self.object(c)))
    }

    fn pattern(&mut self, c: &Checked) -> Option<Pattern> {
        let word = c.opt_text("pattern")?;
        if c.has("from") {
            self.problems.push(c.problem("from", "a pattern chooses the senders"));
        }
        match (word.as_str(), c.opt_text("to")) {
            ("all-to-one", Some(to)) => match self.nodes.iter().any(|n| n.name == to) {
                true => Some(Pattern::AllToOne(to)),
                false => {
                    self.problems.push(c.problem("to", "no node is called that").found(format!("{to:?}")));
                    None
                }
            },
            ("all-to-one", None) => {
                self.problems.push(c.problem("pattern", "all-to-one needs `to`"));
                None
            }
            (_, Some(_)) => {
                self.problems.push(c.problem("to", "this pattern chooses the receivers"));
                None
            }
            ("permutation", None) => Some(Pattern::Permutation),
            _ => Some(Pattern::Gravity),
        }
    }

    fn flow_times(&mut self, c: &Checked, flow: &FlowSpec, run: &RunSpec) {
        let last = flow.stagger.0 as u128 * u128::from(flow.count - 1) + flow.start.0 as u128;
        if last >= run.duration.0 as u128 {
            let key = if flow.start >= run.duration { "start" } else { "stagger" };
            let why = format!(
                "the flow would start at {} s, after the end of the run at {}",
                last as f64 / 1e9,
                run.duration
            );
            self.problems.push(c.problem(key, why).hint("start it earlier or make the run longer"));
        }
        if flow.stop.is_some_and(|stop| stop <= flow.start) {
            self.problems.push(c.problem("stop", format!("not after its start at {}", flow.start)));
        }
    }

    fn flow_totals(&mut self, flows: &[FlowSpec], run: &RunSpec) {
        let n: u128 = flows.iter().map(|f| f.count as u128).sum();
        if n > MAX_FLOWS as u128 {
            let p = self.top.problem("flow", format!("{n} flows in all"));
            self.problems.push(p.allowed(format!("at most {MAX_FLOWS}")).hint("lower count"));
        }
        let rows = n * u128::from(run.duration.0 / run.sample.0.max(1));
        if rows > MAX_ROWS {
            let why = format!("{rows} rows would be recorded ({n} flows, a row each {})", run.sample);
            let p = Problem::new("run.sample", why).allowed(format!("at most {MAX_ROWS} rows"));
            self.problems.push(p.hint("lengthen run.sample, or shorten the run"));
        }
    }

    fn change(&mut self, c: &Checked, run: &RunSpec) -> ChangeSpec {
        let at = c.time("at");
        if at >= run.duration {
            self.problems.push(c.problem("at", format!("not before the end of the run at {}", run.duration)));
        }
        self.some_effect(c, &["rate", "delay", "rtt", "loss", "outage"]);
        let delay = c.opt_time_draw("delay");
        change(c, When::At(at), delay)
    }

    fn schedule(&mut self, c: &Checked) -> Option<ChangeSpec> {
        let when = match (c.opt_text("file"), c.opt_time("every"), c.opt_text("recipe")) {
            (Some(file), None, None) => When::File(tree::resolve(c.place_of("file"), &file)),
            (None, None, Some(recipe)) => When::Recipe(recipe),
            (None, Some(every), None) => {
                self.some_effect(c, &["rate", "rtt", "loss", "outage"]);
                When::Every(c.time("first"), every)
            }
            _ => {
                self.problems.push(c.problem("every", "give one of file, recipe and every"));
                return None;
            }
        };
        Some(change(c, when, None))
    }

    fn some_effect(&mut self, c: &Checked, keys: &[&str]) {
        if !keys.iter().any(|k| c.has(k)) {
            let p = c.problem(keys[0], "nothing changes").hint(format!("give one of {}", keys.join(", ")));
            self.problems.push(p);
        }
    }
}

fn change(c: &Checked, when: When, delay: Option<Draw<Nanos>>) -> ChangeSpec {
    let direction = c.has("direction").then(|| match c.text("direction").as_str() {
        "forward" => Direction::Forward,
        "reverse" => Direction::Reverse,
        _ => Direction::Both,
    });
    ChangeSpec {
        when,
        on: c.text("on"),
        direction,
        rate: c.opt_rate_draw("rate"),
        delay,
        rtt: c.opt_time_draw("rtt"),
        loss: c.opt_loss_draw("loss"),
        outage: c.opt_time_draw("outage"),
        mode: outage_mode(&c.text("mode")),
        place: c.place.clone(),
    }
}

fn port(name: &str, c: &Checked) -> PortSetting {
    PortSetting {
        name: name.into(),
        rate: c.opt_rate("rate"),
        queue: c.opt_queue("queue"),
        bdp_rate: c.opt_rate("bdp_rate"),
        bdp_rtt: c.opt_time("bdp_rtt"),
        framing: c.opt_int("framing").map(|v| v as u32),
        discipline: AqmSetting {
            name: c.opt_text("discipline"),
            target: c.opt_time("target"),
            interval: c.opt_time("interval"),
            quantum: c.opt_int("quantum").map(|n| n as u32),
            queues: c.opt_int("queues").map(|n| n as u32),
            burst: c.opt_time("burst"),
            red_min: c.opt_bytes("red_min"),
            red_max: c.opt_bytes("red_max"),
            red_p: c.opt_number("red_p"),
            red_floor: c.opt_number("red_floor"),
            red_weight: c.opt_number("red_weight"),
        },
        count_in_service: c.opt_bool("count_in_service"),
        probe_priority: c.opt_bool("probe_priority"),
        metered: c.opt_bool("metered"),
        place: c.place.clone(),
    }
}
