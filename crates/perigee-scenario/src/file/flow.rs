// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[[flow]]`: who sends what to whom.

use crate::file::apps;
use crate::file::checked::{Checked, Given};
use crate::file::error::{Place, Problem};
use crate::file::matrix::{self, Demand};
use crate::file::node::NodeSpec;
use crate::file::split::{self, LegPlace, Split};
use perigee_timeline::{App, Hosts, Law};
use perigee_units::Nanos;

/// `[[flow]]`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // keys::FLOW documents each
pub struct FlowSpec {
    pub name: Option<String>,
    pub ends: Option<(String, String)>,
    pub pattern: Option<Pattern>,
    pub cc: String,
    pub hosts: Option<Hosts>,
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

/// Who talks to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A random permutation without fixed points: every node sends to one and hears from one.
    Permutation,
    /// Every other node sends to this one.
    AllToOne(String),
    /// `count` pairs, each as likely as the product of its nodes' weights.
    Gravity,
    /// The rows of a file.
    Matrix(Vec<Demand>),
}

impl FlowSpec {
    /// The schemes that it names, `"*"` among them.
    pub fn schemes(&self) -> Vec<&String> {
        match &self.split {
            Some(split) if !split.cc.is_empty() => split.cc.iter().collect(),
            _ => vec![&self.cc],
        }
    }
}

/// The schemes that a flow names, or what stands for them in a flow that needs none.
pub(crate) fn own_schemes(flow: &FlowSpec) -> Vec<&str> {
    match flow.app.without_tcp() {
        Some(app) => vec![app],
        None => flow.schemes().into_iter().map(String::as_str).collect(),
    }
}

/// Reads `[[flow]]`; `nodes` are those of a constellation.
pub fn read(c: &Checked, duration: Nanos, nodes: &[NodeSpec], problems: &mut Vec<Problem>) -> FlowSpec {
    let pattern = match c.has("matrix") {
        true => matrix::read(c, duration, problems).map(Pattern::Matrix),
        false => read_pattern(c, nodes, problems),
    };
    let ends = match (c.opt_text("from"), c.opt_text("to")) {
        _ if c.has("pattern") || c.has("matrix") => None,
        (Some(from), Some(to)) if from == to => {
            problems.push(c.problem("to", "a flow from a node to itself").found(format!("{to:?}")));
            None
        }
        (Some(from), Some(to)) => Some((from, to)),
        (None, None) => None,
        (from, _) => {
            let missing = if from.is_some() { "to" } else { "from" };
            problems.push(c.problem(missing, "must be given with the other end, or neither"));
            None
        }
    };
    let apps::Spec { mut app, arrivals } = apps::read(c, problems);
    if let Some(Pattern::Matrix(rows)) = &pattern {
        // What has a rate is sent at that rate.
        app = rows.iter().find_map(Demand::app).unwrap_or(app);
    }
    let split = split::read(c, &ends, problems);
    let flow = FlowSpec {
        name: c.opt_text("name"),
        ends,
        pattern,
        cc: c.text("cc"),
        hosts: c.opt_text("hosts").and_then(|name| Hosts::named(&name)),
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
    times(c, &flow, duration, problems);
    flow
}

fn read_pattern(c: &Checked, nodes: &[NodeSpec], problems: &mut Vec<Problem>) -> Option<Pattern> {
    let word = c.opt_text("pattern")?;
    if c.has("from") {
        problems.push(c.problem("from", "a pattern chooses the senders"));
    }
    match (word.as_str(), c.opt_text("to")) {
        ("all-to-one", Some(to)) => match nodes.iter().any(|n| n.name == to) {
            true => Some(Pattern::AllToOne(to)),
            false => {
                problems.push(c.problem("to", "no node is called that").found(format!("{to:?}")));
                None
            }
        },
        ("all-to-one", None) => {
            problems.push(c.problem("pattern", "all-to-one needs `to`"));
            None
        }
        (_, Some(_)) => {
            problems.push(c.problem("to", "this pattern chooses the receivers"));
            None
        }
        ("permutation", None) => Some(Pattern::Permutation),
        _ => Some(Pattern::Gravity),
    }
}

fn times(c: &Checked, flow: &FlowSpec, duration: Nanos, problems: &mut Vec<Problem>) {
    let last = flow.stagger.0 as u128 * u128::from(flow.count - 1) + flow.start.0 as u128;
    if last >= duration.0 as u128 {
        let key = if flow.start >= duration { "start" } else { "stagger" };
        let why = format!(
            "the flow would start at {} s, after the end of the run at {}",
            last as f64 / 1e9,
            duration
        );
        problems.push(c.problem(key, why).hint("start it earlier or make the run longer"));
    }
    if flow.stop.is_some_and(|stop| stop <= flow.start) {
        problems.push(c.problem("stop", format!("not after its start at {}", flow.start)));
    }
}
