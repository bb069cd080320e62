// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The scenario as types: every value read, every name resolved that can be resolved without building the network.

use crate::file::aliases;
use crate::file::bursts::{self, BurstSpec};
use crate::file::change::{self, outage_mode, ChangeSpec, OutageSpec, When};
use crate::file::checked::{Checked, Given};
use crate::file::error::{Origin, Place, Problem, ScenarioError};
use crate::file::flow::{self, FlowSpec};
use crate::file::jitter::Jitter;
use crate::file::keys;
use crate::file::kind::Val;
use crate::file::node::{self, NodeSpec};
use crate::file::node_sets;
use crate::file::printable;
use crate::file::programs::{self, ProgramSpec};
use crate::file::rows::MAX_FLOWS;
use crate::file::schedules;
use crate::file::sources::{self, Source};
use crate::file::sources::{Satellites, LEOEM};
use crate::file::tree::{self, Table};
use crate::file::validate::check;
use crate::file::vary::{Varied, Vary};
use perigee_units::params::Value;
use perigee_units::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of the flow table beyond which a run is refused: they are kept in memory until the run is over.
const MAX_ROWS: u128 = 50_000_000;

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
    pub ports: Vec<(String, Checked)>,
    /// `[[change]]` and `[schedule]`.
    pub changes: Vec<ChangeSpec>,
    /// `[jitter]`.
    pub jitter: Option<Jitter>,
    /// `[handover]`.
    pub handover: OutageSpec,
    /// `[bursts]`.
    pub bursts: Option<BurstSpec>,
    /// `[notices]`; `None` = nobody is told anything.
    pub notices: Option<perigee_timeline::Notices>,
    /// `[hosts]`: each real host has a kernel of its own.
    pub own_kernels: bool,
    /// Interfaces of real hosts cut large TCP segments into packets.
    pub offload: bool,
    /// Nodes whose interfaces lose their carrier in outages, where hosts are real.
    pub carrier: Vec<String>,
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
    /// `[sweep]`.
    pub sweep: Vec<tree::Axis>,
    /// `[[flow]]`.
    pub flows: Vec<FlowSpec>,
    /// `[[program]]`.
    pub programs: Vec<ProgramSpec>,
    /// The file after `extends` and overrides, as TOML, with paths from where it was loaded.
    pub resolved_toml: String,
    /// What a person should know of the file itself: keys that give way, names that are about to go.
    pub remarks: Vec<String>,
    /// Files of data that it names, all of them: results depend on their contents.
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
    pub vary: Vary,
    pub cc: Vec<String>,
    pub sample: Nanos,
    pub warmup: Nanos,
    pub start_jitter: Nanos,
    pub host_jitter: Nanos,
    pub rtt_spread: f64,
    pub rtt_changes: u32,
}

/// `[telemetry]`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // keys::TELEMETRY documents each
pub struct TelemetrySpec {
    pub overhead: Option<String>,
    pub echo: Option<String>,
    pub max_hops: Option<usize>,
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
        printable::check(table)?;
        let mut table = table.clone();
        let old_names = aliases::apply(&mut table);
        crate::file::directions::apply(&mut table);
        let profile = crate::file::profiles::apply(&mut table)?;
        programs::name_folders(&mut table);
        let table = &table;
        let origin = Origin::File { name: file.into(), folder: PathBuf::new(), depth: 0 };
        let place = Place { origin: Arc::new(origin), line: None };
        let (top, remarks) = check(&keys::SCENARIO, table, &place).map_err(ScenarioError)?;
        let mut problems = Vec::new();
        let scenario = Reader { top: &top, nodes: Vec::new(), problems: &mut problems }.scenario(name);
        match scenario {
            Some(s) if problems.is_empty() => {
                // What gives way is not in the scenario as resolved: read again, it would be a key without effect.
                // Of a sweep, each cell is a scenario of its own.
                let idle: Vec<String> =
                    remarks.iter().map(|r| r.key.clone()).chain(["sweep".into()]).collect();
                let resolved_toml = crate::file::write::toml(&table.without(&idle));
                let remarks = old_names.into_iter().chain(remarks.iter().map(Problem::to_string));
                let remarks = remarks.chain(crate::file::sweep::remark(&s.sweep)).collect();
                Ok(Scenario { profile, remarks, resolved_toml, ..s })
            }
            _ => Err(ScenarioError(problems)),
        }
    }
}

/// Values that stand for a distribution of prediction errors: its quantiles, with both signs.
const ERROR_QUANTILES: u64 = 64;

fn notices(c: &Checked) -> Option<perigee_timeline::Notices> {
    let error = c.time_draw("error");
    let (low, high) = (error.low.0, error.high.0);
    let errors = (0..ERROR_QUANTILES).flat_map(|k| {
        let e = (low + (high - low) / (ERROR_QUANTILES - 1) * k) as i64;
        [e, -e]
    });
    let errors: Vec<i64> = if high == 0 { Vec::new() } else { errors.collect() };
    let (lead, hold) = (c.time("lead"), c.time("hold"));
    c.bool("on").then(|| perigee_timeline::Notices {
        lead,
        hold,
        errors: errors.into(),
        loss: c.number("loss"),
    })
}

/// Files that schemes are given: those of `[cc.SCHEME]` and of flows.
fn scheme_files(cc: &BTreeMap<String, Given>, flows: &[FlowSpec]) -> Vec<PathBuf> {
    let of_flows = flows.iter().map(|f| (&f.cc, &f.cc_params));
    let named = cc.iter().chain(of_flows).flat_map(|(id, given)| {
        let wanted = perigee_cc::info(id).map_or(&[][..], |info| info.files());
        wanted.iter().filter_map(|file| match given.get(file.name)? {
            (Value::Text(name), place) => Some(tree::resolve(place, name)),
            _ => None,
        })
    });
    named.collect()
}

struct Reader<'a> {
    top: &'a Checked,
    nodes: Vec<NodeSpec>,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    fn scenario(&mut self, name: &str) -> Option<Scenario> {
        let top = self.top;
        let run = self.run();
        let source = sources::read(&top.one_or_default(&sources::SOURCE), self.problems);
        self.nodes =
            top.named("node").iter().filter_map(|(name, c)| node::read(name, c, self.problems)).collect();
        let node_files = self.node_sets();
        let nodes = self.nodes.clone();
        let node_files: Vec<_> =
            node_files.into_iter().chain(nodes.iter().filter_map(|n| n.weather.clone())).collect();
        let first_node = top.named("node").first().map(|(_, c)| c).or(top.list("nodes").first());
        let is_sky = matches!(source, Some(Source::Constellation(_)));
        self.check_varied(&run, source.as_ref());
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
        let flows: Vec<_> = top
            .list("flow")
            .iter()
            .map(|c| flow::read(c, run.duration, &self.nodes, self.problems))
            .collect();
        self.flow_totals(&flows, &run);
        let programs: Vec<_> =
            top.list("program").iter().map(|c| programs::read(c, run.duration, self.problems)).collect();
        programs::check(&programs, &flows, self.problems);
        let mut changes: Vec<_> =
            top.list("change").iter().map(|c| change::read(c, run.duration, self.problems)).collect();
        changes.extend(
            top.one("schedule").and_then(|c| {
                schedules::read(c, self.problems).map(|(when, to)| change::change(c, when, to))
            }),
        );
        let jitter = top.one("jitter").and_then(|c| Jitter::read(c, self.problems));
        let fixed = matches!(source, Some(Source::Chain(_) | Source::Dumbbell(_) | Source::ParkingLot(_)));
        if let (Some(c), false) = (top.one("jitter"), fixed || source.is_none()) {
            self.problems.push(c.problem("on", "this source sets its own delays"));
        }
        let changes_satellites = match &source {
            Some(Source::Constellation(_)) | None => true,
            Some(Source::PathLog(p)) => p.is_broken(),
            Some(_) => false,
        };
        if let (Some(c), false) = (top.one("handover"), changes_satellites) {
            let why = "no effect: nobody changes satellites in this source";
            self.problems.push(
                Problem::new("handover", why).at(&c.place).hint("use [[change]] or [schedule] for outages"),
            );
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
        let cc = top.by_scheme("cc");
        let schedule_files = changes.iter().filter_map(|c| match &c.when {
            When::File(path) => Some(path.clone()),
            _ => None,
        });
        let of_the_network = source.iter().flat_map(Source::files).chain(outages).chain(node_files);
        let matrix = |c: &Checked| Some(tree::resolve(c.place_of("matrix"), &c.opt_text("matrix")?));
        let matrices: Vec<_> = top.list("flow").iter().filter_map(matrix).collect();
        let read_by_programs = programs.iter().filter_map(ProgramSpec::file);
        let of_flows =
            schedule_files.chain(scheme_files(&cc, &flows)).chain(matrices).chain(read_by_programs);
        let files = of_the_network.chain(of_flows).collect();
        Some(Scenario {
            name: name.into(),
            title: top.opt_text("title").unwrap_or_else(|| name.into()),
            run,
            files,
            source: source?,
            nodes,
            ports: top.named("port").to_vec(),
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
            bursts: top.one("bursts").map(bursts::read),
            notices: notices(&top.one_or_default(&keys::NOTICES)),
            offload: top.one_or_default(&keys::HOSTS).bool("offload"),
            carrier: programs::texts(&top.one_or_default(&keys::HOSTS), "carrier"),
            own_kernels: top.one_or_default(&keys::HOSTS).text("kernel") == "own",
            telemetry: TelemetrySpec {
                overhead: telemetry.opt_text("overhead"),
                echo: telemetry.opt_text("echo"),
                max_hops: telemetry.opt_int("max_hops").map(|n| n as usize),
            },
            profile: crate::file::profiles::PROFILES[0].id,
            tcp: top.params("tcp"),
            tcp_of: top.by_scheme("tcp"),
            cc,
            sweep: top.sweep("sweep"),
            flows,
            programs,
            resolved_toml: String::new(),
            remarks: Vec::new(),
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
            vary: Vary(c.opt_many("vary").map(|v| v.into_iter().filter_map(word).collect())),
            cc: c.opt_many("cc").unwrap_or_default().into_iter().filter_map(word).collect(),
            sample: c.time("sample"),
            warmup: c.time("warmup"),
            start_jitter: c.time("start_jitter"),
            host_jitter: c.time("host_jitter"),
            rtt_spread: c.number("rtt_spread"),
            rtt_changes: c.int("rtt_changes") as u32,
        };
        if run.warmup >= run.duration {
            self.problems.push(c.problem("warmup", format!("nothing is left of a run of {}", run.duration)));
        }
        if run.sample > run.duration {
            self.problems.push(c.problem("sample", format!("longer than the run of {}", run.duration)));
        }
        run
    }

    /// Only what moves has a phase.
    fn check_varied(&mut self, run: &RunSpec, source: Option<&Source>) {
        let moves = match source {
            Some(Source::Constellation(c)) => !matches!(&c.satellites, Satellites::Preset(p) if p == LEOEM),
            _ => source.is_none(),
        };
        let c = self.top.one_or_default(&keys::RUN);
        if !moves && run.vary.names(Varied::Phase) {
            let p = c.problem("vary", "this source has no orbits: a phase has no effect");
            self.problems.push(p.hint("phase belongs to a [source.constellation]"));
        }
        let nominal = matches!(
            source,
            Some(Source::Chain(_) | Source::Dumbbell(_) | Source::ParkingLot(_) | Source::Crossing(_)) | None
        );
        if !nominal && run.rtt_spread > 0.0 {
            let p = c.problem("rtt_spread", "has no effect: the RTTs of this source follow from its paths");
            self.problems
                .push(p.hint("remove it; run.host_jitter and run.start_jitter work with every source"));
        }
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_schedules_and_schemes_are_among_those_that_it_names() {
        let text = r#"
            [run]
            duration = "10 s"
            [source.dumbbell]
            [schedule]
            file = "rates.csv"
            [cc.astraea]
            weights = "shared.json"
            [[flow]]
            cc = "astraea"
            cc_params = { weights = "own.json" }
            [[flow]]
            cc = "cubic"
        "#;
        let s = Scenario::parse(text, "s", Path::new("/home"), &[]).unwrap();
        assert_eq!(s.files, ["/home/rates.csv", "/home/shared.json", "/home/own.json"].map(PathBuf::from));
    }
}
