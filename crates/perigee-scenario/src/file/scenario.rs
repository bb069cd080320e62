// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The scenario as types: every value read, every name resolved that can be resolved without
//! building the network.

use crate::file::aliases;
use crate::file::background::Background;
use crate::file::beam::Beam;
use crate::file::bursts::Bursts;
use crate::file::case::Case;
use crate::file::change::{ChangeSpec, When};
use crate::file::checked::{Checked, Given};
use crate::file::demand::DemandSpec;
use crate::file::error::{Origin, Place, Problem, ScenarioError};
use crate::file::expect::Expect;
use crate::file::flow::{self, FlowSpec};
use crate::file::handover::Handover;
use crate::file::hosts::Hosts;
use crate::file::jitter::{Jitter, JitterKeys};
use crate::file::node::NodeSpec;
use crate::file::node_sets::{self, NodeSet};
use crate::file::port::Port;
use crate::file::printable;
use crate::file::programs::{self, ProgramSpec};
use crate::file::rows::MAX_FLOWS;
use crate::file::run::RunSpec;
use crate::file::sources::{self, Source};
use crate::file::telemetry::Telemetry;
use crate::file::top::Top;
use crate::file::tree::{self, Table};
use crate::file::validate::check;
use crate::file::vary::Varied;
use crate::file::{unused_starts, unused_telemetry};
use perigee_units::params::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of the flow table beyond which a run is rejected: they are kept in memory until the run is
/// over.
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
    pub ports: Vec<(String, Port)>,
    /// `[[change]]` and `[schedule]`.
    pub changes: Vec<ChangeSpec>,
    /// `[jitter]`.
    pub jitter: Option<Jitter>,
    /// `[handover]`.
    pub handover: Handover,
    /// `[bursts]`.
    pub bursts: Option<Bursts>,
    /// `[[background]]`.
    pub background: Vec<Background>,
    /// `[beam]`.
    pub beam: Option<Beam>,
    /// `[notices]`; `None` = no notices.
    pub notices: Option<perigee_timeline::Notices>,
    /// `[hosts]`.
    pub hosts: Hosts,
    /// `[telemetry]`.
    pub telemetry: Telemetry,
    /// Name of the transport profile.
    pub profile: &'static str,
    /// `[tcp]`.
    pub tcp: Given,
    /// `[tcp.SCHEME]`.
    pub tcp_of: BTreeMap<String, Given>,
    /// `[cc.SCHEME]`.
    pub cc: BTreeMap<String, Given>,
    /// `[slow_start.NAME]`.
    pub slow_start: BTreeMap<String, Given>,
    /// `[sweep]`.
    pub sweep: tree::Sweep,
    /// `[[flow]]`.
    pub flows: Vec<FlowSpec>,
    /// `[case]`.
    pub case: Case,
    /// `[[expect]]`.
    pub expect: Vec<Expect>,
    /// `[demand]`.
    pub demand: Option<DemandSpec>,
    /// `[[program]]`.
    pub programs: Vec<ProgramSpec>,
    /// The file after `extends` and overrides, as TOML, with paths from where it was loaded.
    pub resolved_toml: String,
    /// Warnings about the file itself: keys that are overridden, names that are deprecated.
    pub remarks: Vec<String>,
    /// Files of data that it names, all of them: results depend on their contents.
    pub files: Vec<PathBuf>,
    /// The functions that the source names, once a caller has loaded them.
    pub plugins: perigee_orbit::Plugins,
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
        let (top, mut remarks) = check(&Top::SECTION, table, &place).map_err(ScenarioError)?;
        let mut problems = Vec::new();
        let scenario = Reader { nodes: Vec::new(), problems: &mut problems }.scenario(name, Top::read(&top));
        for (unused, yields) in scenario.iter().flat_map(Scenario::unused) {
            if yields { &mut remarks } else { &mut problems }.push(unused);
        }
        match scenario {
            Some(s) if problems.is_empty() => {
                // Overridden keys are not in the scenario as resolved: read again, they would be
                // keys without effect. Of a sweep, each cell is a scenario of its own.
                let idle: Vec<String> =
                    remarks.iter().map(|r| r.key.clone()).chain(["sweep".into()]).collect();
                let resolved_toml = crate::file::write::toml(&table.without(&idle));
                let remarks = old_names.into_iter().chain(remarks.iter().map(Problem::to_string));
                let remarks = remarks.chain(crate::file::sweep::remark(&s.sweep)).collect();
                Ok(Scenario { profile, remarks, resolved_toml, ..s.within() })
            }
            _ => Err(ScenarioError(problems)),
        }
    }

    fn unused(&self) -> Vec<(Problem, bool)> {
        let (run, flows, sweep) = (&self.run, &self.flows[..], &self.sweep.axes[..]);
        let schemes = unused_telemetry::Schemes { flows, tables: &self.cc, sweep };
        let starts = unused_starts::problems(&self.slow_start, run, flows, sweep);
        let changes = self.changes.iter().filter_map(|c| c.cut_off(run));
        let failures = self.demand.iter().flat_map(|d| d.cut_off(run));
        let later = self.handover.cut_off(run).into_iter().chain(changes).chain(failures);
        let later = later.map(|p| (p, true)).collect();
        [starts, unused_telemetry::problems(&self.ports, &schemes), later].concat()
    }

    /// Without forced handovers, changes and failures that are not before the end of the run.
    fn within(mut self) -> Self {
        self.handover = self.handover.within(&self.run);
        self.changes.retain(|c| !matches!(c.when, When::At(at) if at >= self.run.duration));
        self.demand = self.demand.map(|d| d.within(&self.run));
        self
    }
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
    nodes: Vec<NodeSpec>,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    fn scenario(&mut self, name: &str, top: Top) -> Option<Scenario> {
        let run = top.run;
        run.check(self.problems);
        top.expect.iter().for_each(|e| e.check(run.duration, self.problems));
        let source = sources::read(top.source, self.problems);
        let first_node = top.node.first().map(|(_, n)| &n.written).or(top.nodes.first().map(|n| &n.written));
        let misplaced = first_node.map(|node| {
            node.problem(
                "kind",
                "no effect: the source defines the nodes; [node.NAME] requires a [source.constellation]",
            )
        });
        self.nodes = top.node.into_iter().filter_map(|(name, n)| n.spec(&name, self.problems)).collect();
        let node_files = self.node_sets(&top.nodes);
        let nodes = self.nodes.clone();
        let node_files: Vec<_> =
            node_files.into_iter().chain(nodes.iter().filter_map(|n| n.weather.clone())).collect();
        let is_sky = matches!(source, Some(Source::Constellation(_)));
        self.check_varied(&run, source.as_ref());
        if !is_sky && source.is_some() {
            self.problems.extend(misplaced);
        }
        let least = if top.demand.is_some() { 1 } else { 2 };
        if is_sky && nodes.len() < least {
            let why = "a constellation requires at least two ground nodes";
            self.problems.push(top.written.problem("node", why));
        }
        if top.flow.is_empty() && top.demand.is_none() {
            let p = top.written.problem("flow", "required key is missing");
            self.problems.push(p.hint("add a [[flow]] or a [demand]"));
        }
        if let Some(demand) = top.demand.as_ref().filter(|_| !is_sky && source.is_some()) {
            let why = "no effect: this source has no satellites";
            let p = Problem::new("demand", why).at(demand.place());
            self.problems.push(p.hint("[demand] requires a [source.constellation]"));
        }
        let demand = top.demand.and_then(|d| d.spec(&nodes, &run, self.problems));
        let matrices: Vec<_> = top.flow.iter().filter_map(|f| f.matrix.clone()).collect();
        let flows = top.flow.into_iter().map(|f| f.spec(run.duration, &nodes, self.problems));
        let flows: Vec<_> = flows.collect();
        self.flow_totals(&flows, &run, &top.written);
        let programs = top.program.into_iter().map(|p| p.spec(run.duration, self.problems));
        let programs: Vec<_> = programs.collect();
        programs::check(&programs, &flows, self.problems);
        flow::check_groups(&flows, self.problems);
        top.expect.iter().for_each(|e| e.check_groups(&flows, self.problems));
        let changes = top.change.into_iter().map(|c| c.spec(&run, self.problems));
        let mut changes: Vec<_> = changes.collect();
        changes.extend(top.schedule.and_then(|s| s.spec(self.problems)));
        let jitter = self.jitter(top.jitter, source.as_ref());
        self.check_handover((&top.handover, &top.written), &run, source.as_ref(), &nodes);
        let schedule_files = changes.iter().filter_map(|c| match &c.when {
            When::File(path) => Some(path.clone()),
            _ => None,
        });
        let outages = top.handover.file.iter().map(|named| named.path.clone());
        let of_the_network = source.iter().flat_map(Source::files).chain(outages).chain(node_files);
        let read_by_programs = programs.iter().filter_map(ProgramSpec::file);
        let of_flows =
            schedule_files.chain(scheme_files(&top.cc, &flows)).chain(matrices).chain(read_by_programs);
        let of_demand = demand.iter().flat_map(|d| d.files.clone());
        for entry in &top.background {
            entry.steps().err().into_iter().for_each(|p| self.problems.push(p));
        }
        self.problems.extend(top.beam.as_ref().and_then(Beam::problem));
        let of_background = top.background.iter().filter_map(|b| b.file.clone());
        let files = of_the_network.chain(of_flows).chain(of_demand).chain(of_background).collect();
        Some(Scenario {
            name: name.into(),
            title: top.title.unwrap_or_else(|| name.into()),
            run,
            files,
            source: source?,
            nodes,
            ports: top.port,
            changes,
            jitter,
            handover: top.handover,
            bursts: top.bursts,
            background: top.background,
            beam: top.beam,
            notices: top.notices.notices(),
            hosts: top.hosts,
            telemetry: top.telemetry,
            profile: crate::file::profiles::PROFILES[0].id,
            tcp: top.tcp.all,
            tcp_of: top.tcp.of,
            cc: top.cc,
            slow_start: top.slow_start,
            sweep: top.sweep,
            flows,
            case: top.case,
            expect: top.expect,
            demand,
            programs,
            resolved_toml: String::new(),
            remarks: Vec::new(),
            plugins: perigee_orbit::Plugins::default(),
        })
    }

    fn jitter(&mut self, keys: Option<JitterKeys>, source: Option<&Source>) -> Option<Jitter> {
        let written = keys.as_ref()?.written.clone();
        let jitter = Jitter::new(keys?, self.problems);
        let fixed = matches!(source, Some(Source::Chain(_) | Source::Dumbbell(_) | Source::ParkingLot(_)));
        if !fixed && source.is_some() {
            self.problems.push(
                written
                    .problem("on", "no effect: this source determines its delays")
                    .hint("[jitter] requires a chain, dumbbell or parking lot"),
            );
        }
        jitter
    }

    fn check_handover(
        &mut self,
        (handover, top): (&Handover, &Checked),
        run: &RunSpec,
        source: Option<&Source>,
        nodes: &[NodeSpec],
    ) {
        let changes_satellites = match source {
            Some(Source::Constellation(_)) | None => true,
            Some(Source::PathLog(p)) => p.is_broken(),
            Some(_) => false,
        };
        if top.has("handover") && !changes_satellites {
            let why = "no effect: this source has no handovers";
            let p = Problem::new("handover", why).at(handover.place());
            self.problems.push(p.hint("use [[change]] or [schedule] for outages"));
        }
        handover.check(self.problems);
        match source {
            Some(Source::Constellation(c)) => {
                if let Some(name) = c.preset_of_stations().filter(|_| top.has("handover")) {
                    let why = format!("no effect: with preset = {name:?} every node is a station");
                    let p = Problem::new("handover", why).at(handover.place());
                    self.problems
                        .push(p.hint("stations have soft handovers; use another preset, or [[change]]"));
                    return;
                }
                let terminals = nodes.iter().any(|n| n.kind == "terminal");
                handover.check_forced((c.step, run), terminals, self.problems);
            }
            Some(_) => handover.reject_forced(self.problems),
            None => {}
        }
    }

    /// Only what moves has a phase.
    fn check_varied(&mut self, run: &RunSpec, source: Option<&Source>) {
        let moves = match source {
            Some(Source::Constellation(c)) => !c.is_leoem(),
            _ => source.is_none(),
        };
        let c = &run.written;
        if !moves && run.vary.names(Varied::Phase) {
            let p = c.problem("vary", "phase has no effect: this source has no orbits");
            self.problems.push(p.hint("phase requires a [source.constellation]"));
        }
        let nominal = matches!(
            source,
            Some(
                Source::Chain(_)
                    | Source::Dumbbell(_)
                    | Source::ParkingLot(_)
                    | Source::Crossing(_)
                    | Source::Parallel(_)
            ) | None
        );
        if !nominal && run.rtt_spread > 0.0 {
            let p = c.problem("rtt_spread", "no effect: the RTTs of this source follow from its paths");
            self.problems
                .push(p.hint("remove it; run.host_jitter and run.start_jitter work with every source"));
        }
    }

    /// Adds the nodes of `[[nodes]]`; the files that they come from.
    fn node_sets(&mut self, sets: &[NodeSet]) -> Vec<PathBuf> {
        let mut files = Vec::new();
        // Names of stations yield to those of cities, wherever these appear.
        let (stations, plain): (Vec<_>, Vec<_>) = sets.iter().partition(|set| node_sets::are_stations(set));
        for set in plain.into_iter().chain(stations) {
            match node_sets::read(set) {
                Ok((mut nodes, file)) => {
                    let names: BTreeSet<&str> = self.nodes.iter().map(|n| n.name.as_str()).collect();
                    node_sets::tell_apart(set, &mut nodes, &names);
                    if let Some(n) = nodes.iter().find(|n| names.contains(n.name.as_str())) {
                        let why = "duplicate name of a node";
                        let key = if set.set.is_some() { "set" } else { "file" };
                        self.problems.push(set.written.problem(key, why).found(format!("{:?}", n.name)));
                    }
                    self.nodes.extend(nodes);
                    files.extend(file);
                }
                Err(p) => self.problems.push(p),
            }
        }
        files
    }

    fn flow_totals(&mut self, flows: &[FlowSpec], run: &RunSpec, top: &Checked) {
        let n: u128 = flows.iter().map(|f| f.count as u128).sum();
        if n > MAX_FLOWS as u128 {
            let p = top.problem("flow", format!("{n} flows in total"));
            self.problems.push(p.allowed(format!("at most {MAX_FLOWS}")).hint("reduce count"));
        }
        let rows = n * u128::from(run.duration.0 / run.sample.0.max(1));
        if rows > MAX_ROWS {
            let why = format!("{rows} rows would be recorded ({n} flows, one row each per {})", run.sample);
            let p = Problem::new("run.sample", why).allowed(format!("at most {MAX_ROWS} rows"));
            self.problems.push(p.hint("increase run.sample, or shorten the run"));
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
