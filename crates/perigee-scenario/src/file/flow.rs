// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[[flow]]`: traffic between nodes.

use crate::file::apps;
use crate::file::checked::Given;
use crate::file::error::{Place, Problem};
use crate::file::grammar::{By, Kinds, Only};
use crate::file::matrix::{self, Demand};
use crate::file::node::NodeSpec;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use crate::file::rows::{ANY_TIME, MAX_FLOWS};
use crate::file::split::{self, LegPlace, Split};
use crate::file::starts;
use perigee_timeline::{App, Hosts, Law};
use perigee_units::Nanos;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// UDP has neither a congestion control nor transport options.
const TCP: &[Only] = &[Only::Without("app", &["ping", "cbr", "voice"])];
/// The start and contents of programs' traffic are determined by the programs.
const TIMED: &[Only] = &[Only::Without("app", &["programs"])];
const TCP_OF_OURS: &[Only] = &[Only::Without("app", &["ping", "cbr", "voice", "programs"])];

parameters! {
    /// `[[flow]]`.
    Flow = "flow", "A flow, or several similar flows.", kinds Kinds { by: By::Word("app"), of: apps::APPS };
    name: Option<String> = optional(Notation::Text, "unique name; default: derived from the ends");
    from: Option<String> = optional(Notation::Text, "sending node; without from and to: one flow for each pair of the source");
    to: Option<String> = optional(Notation::Text, "receiving node; in a constellation also \"any gateway\" = the nearest station on the ground that is in service");
    pattern: Option<String> = optional(Notation::Word(&["permutation", "all-to-one", "gravity"]), "several flows between the nodes of a constellation: permutation = a random permutation (each node sends to one and receives from one); all-to-one = all other nodes to the node `to`; gravity = `count` random pairs, with probabilities proportional to the product of the nodes' weights");
    matrix: Option<PathBuf> = optional(Notation::File, "several flows from a file, one row each: CSV with the columns from, to, then rate_mbps (UDP at that rate) or flows (number of flows of this entry), and optionally start_s, stop_s");
    group: Option<String> = optional(Notation::Text, "group of flows, also evaluated separately in tables, report and comparisons; default: \"background\" with background = true, otherwise none");
    background: Option<bool> = optional(Notation::Bool, "exclude the flow from the figures of the run, but not from those of its group; default: false");
    cc: String = key(Notation::Scheme("*"), "*", "congestion control; \"*\" = each of the compared ones in turn"), only TCP;
    backend: Option<Hosts> = optional(Notation::Word(&Hosts::NAMES), "backend of the flow: simulator, also in a run with real hosts; or linux, which requires real hosts (--backend linux or emulation); default: that of the run, but simulator for ping, cbr and voice"), only TIMED;
    app: String = key(Notation::Word(apps::NAMES), apps::NAMES[0], "application; each has additional keys, below");
    start: Nanos = key(ANY_TIME, "0 s", "start time"), only TIMED;
    stagger: Nanos = key(ANY_TIME, "0 s", "interval between the starts of the flows of this entry"), only TIMED;
    stop: Option<Nanos> = optional(ANY_TIME, "time at which it stops sending; default: the end of the run"), only TIMED;
    count: u64 = key(Notation::Int(1, MAX_FLOWS), "1", "number of identical flows"), only TIMED;
    cc_params: Given = scheme_params("cc", "parameters of the congestion control; cc must name one"), only TCP_OF_OURS;
    slow_start: Option<String> = optional(Notation::Word(starts::NAMES), "initial slow start of the flow; default: run.slow_start"), only TCP_OF_OURS;
    slow_start_params: Given = start_params("slow_start", "parameters of the initial slow start; slow_start must name one"), only TCP_OF_OURS;
    tcp: Given = tcp_options("transport options of the flow"), only TCP;
}

/// A flow, or several identical ones.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // the keys document each
pub struct FlowSpec {
    pub name: Option<String>,
    pub ends: Option<(String, String)>,
    pub pattern: Option<Pattern>,
    pub group: Option<String>,
    pub background: bool,
    pub cc: String,
    pub cc_place: Place,
    pub hosts: Option<Hosts>,
    pub app: App,
    /// Interarrival time and size of transfers, if the entry represents many flows.
    pub arrivals: Option<(Law, Law)>,
    pub start: Nanos,
    pub stagger: Nanos,
    pub stop: Option<Nanos>,
    pub count: u64,
    pub split: Option<Split>,
    pub leg: Option<LegPlace>,
    pub cc_params: Given,
    pub slow_start: Option<String>,
    pub slow_start_params: Given,
    pub tcp: Given,
    pub place: Place,
}

/// Pattern of pairs of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A random permutation without fixed points: every node sends to one node and receives from
    /// one.
    Permutation,
    /// Every other node sends to this one.
    AllToOne(String),
    /// `count` pairs, each with a probability proportional to the product of its nodes' weights.
    Gravity,
    /// The rows of a file.
    Matrix(Vec<Demand>),
}

impl FlowSpec {
    /// Schemes named by the flow, which may include `"*"`.
    pub fn schemes(&self) -> Vec<&String> {
        match &self.split {
            Some(split) if !split.cc.is_empty() => split.cc.iter().collect(),
            _ => vec![&self.cc],
        }
    }
}

/// A group is in the foreground or in the background, and some flow is in the foreground.
pub(crate) fn check_groups(flows: &[FlowSpec], problems: &mut Vec<Problem>) {
    let mut side: BTreeMap<&str, bool> = BTreeMap::new();
    for flow in flows {
        let Some(group) = &flow.group else { continue };
        if *side.entry(group).or_insert(flow.background) != flow.background {
            let why = "the group has both foreground and background flows";
            let p = Problem::new("flow.background", why).at(&flow.place).found(format!("{group:?}"));
            problems.push(p.hint("use a different group for each"));
            return;
        }
    }
    if let (Some(last), true) = (flows.last(), flows.iter().all(|f| f.background)) {
        let p = Problem::new("flow.background", "all flows are in the background").at(&last.place);
        problems.push(p.hint("at least one flow must have background = false"));
    }
}

/// Schemes named by a flow, or a placeholder for a flow that needs none.
pub(crate) fn own_schemes(flow: &FlowSpec) -> Vec<&str> {
    match flow.app.without_tcp() {
        Some(app) => vec![app],
        None => flow.schemes().into_iter().map(String::as_str).collect(),
    }
}

impl Flow {
    /// Builds the flow; `nodes`: those of a constellation.
    pub(crate) fn spec(self, duration: Nanos, nodes: &[NodeSpec], problems: &mut Vec<Problem>) -> FlowSpec {
        let pattern = match &self.matrix {
            Some(file) => matrix::read(&self.written, file, duration, problems).map(Pattern::Matrix),
            None => self.pattern(nodes, problems),
        };
        let ends = self.ends(problems);
        let apps::Spec { mut app, arrivals } = apps::read(&self.written, problems);
        if let Some(Pattern::Matrix(rows)) = &pattern {
            // Demands with a rate are sent at that rate.
            app = rows.iter().find_map(Demand::app).unwrap_or(app);
        }
        let split = split::read(&self.written, &ends, problems);
        self.times(duration, problems);
        FlowSpec {
            name: self.name,
            ends,
            pattern,
            group: self.group.or_else(|| self.background.filter(|b| *b).map(|_| "background".into())),
            background: self.background.unwrap_or(false),
            cc: self.cc,
            cc_place: self.written.place_of("cc").clone(),
            hosts: self.backend,
            app,
            arrivals,
            start: self.start,
            stagger: self.stagger,
            stop: self.stop,
            count: self.count,
            split,
            leg: None,
            cc_params: self.cc_params,
            slow_start: self.slow_start,
            slow_start_params: self.slow_start_params,
            tcp: self.tcp,
            place: self.written.place.clone(),
        }
    }

    fn ends(&self, problems: &mut Vec<Problem>) -> Option<(String, String)> {
        match (&self.from, &self.to) {
            _ if self.pattern.is_some() || self.matrix.is_some() => None,
            (Some(from), Some(to)) if from == to => {
                let p = self.written.problem("to", "a flow from a node to itself");
                problems.push(p.found(format!("{to:?}")));
                None
            }
            (Some(from), Some(to)) => Some((from.clone(), to.clone())),
            (None, None) => None,
            (from, _) => {
                let missing = if from.is_some() { "to" } else { "from" };
                let why = "from and to must be given together";
                problems.push(self.written.problem(missing, why));
                None
            }
        }
    }

    fn pattern(&self, nodes: &[NodeSpec], problems: &mut Vec<Problem>) -> Option<Pattern> {
        let (word, c) = (self.pattern.as_deref()?, &self.written);
        if self.from.is_some() {
            problems.push(c.problem("from", "no effect: the pattern determines the senders"));
        }
        match (word, &self.to) {
            ("all-to-one", Some(to)) => match nodes.iter().any(|n| n.name == *to) {
                true => Some(Pattern::AllToOne(to.clone())),
                false => {
                    problems.push(c.problem("to", "no such node").found(format!("{to:?}")));
                    None
                }
            },
            ("all-to-one", None) => {
                problems.push(c.problem("pattern", "all-to-one requires `to`"));
                None
            }
            (_, Some(_)) => {
                problems.push(c.problem("to", "no effect: the pattern determines the receivers"));
                None
            }
            ("permutation", None) => Some(Pattern::Permutation),
            _ => Some(Pattern::Gravity),
        }
    }

    fn times(&self, duration: Nanos, problems: &mut Vec<Problem>) {
        let last = self.stagger.0 as u128 * u128::from(self.count - 1) + self.start.0 as u128;
        if last >= duration.0 as u128 {
            let key = if self.start >= duration { "start" } else { "stagger" };
            let last_s = last as f64 / 1e9;
            let why = format!("the flow would start at {last_s} s, after the end of the run at {duration}");
            let p = self.written.problem(key, why);
            problems.push(p.hint("start it earlier, or lengthen the run"));
        }
        if self.stop.is_some_and(|stop| stop <= self.start) {
            let why = format!("must be after the start ({})", self.start);
            problems.push(self.written.problem("stop", why));
        }
    }
}
