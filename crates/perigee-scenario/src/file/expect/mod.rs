// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[[expect]]`: bounds that the results of a scenario must meet. They are evaluated on records;
//! a run does not depend on them.

pub mod metrics;

use crate::file::checked::{Checked, Part};
use crate::file::error::Problem;
use crate::file::flow::FlowSpec;
use crate::file::grammar::{By, Kinds, Only};
use crate::file::notation::{Notation, Val};
use crate::file::parameters::parameters;
use crate::file::rows::ANY_TIME;
use perigee_units::Nanos;
use serde_json::{json, Map, Value as Json};
use std::collections::BTreeSet;

/// Metrics of single flows; the others compare flows or are those of a table.
const OF_FLOWS: &[Only] = &[Only::Without("metric", &["jain", "column"])];
/// A flow is in at most one group.
const WITHOUT_FLOW: &[Only] = &[Only::Absent("flow")];
/// A column of the tables has its own window.
const IN_A_WINDOW: &[Only] = &[Only::Without("metric", &["column"])];
const NEAR: &[Only] = &[Only::Given(&["near"])];
const BOUNDS: [&str; 4] = ["at_least", "at_most", "near", "order"];

parameters! {
    /// `[[expect]]`.
    Expect = "expect", "A bound on the results. `perigee run`, `sweep` and `judge` check it and exit with code 4 if it is not met.", kinds Kinds { by: By::Word("metric"), of: metrics::METRICS };
    metric: String = required(Notation::Word(metrics::NAMES), "metric to bound; each has additional keys, below");
    title: Option<String> = optional(Notation::Text, "one-line title for tables; default: derived from the keys");
    source: Option<String> = optional(Notation::Text, "origin of the bound: the section of a document, a derivation, or \"ours\"");
    cc: Vec<String> = optional(Notation::OneOrMany(&Notation::Text), "congestion controls to which it applies; default: all that are compared");
    flow: Vec<String> = optional(Notation::OneOrMany(&Notation::Text), "names of flows; default: all TCP flows together"), only OF_FLOWS;
    group: Vec<String> = optional(Notation::OneOrMany(&Notation::Text), "names of groups of flows (`group` of [[flow]]); for a column, one"), only WITHOUT_FLOW;
    from: Option<Nanos> = optional(ANY_TIME, "start of the window; default: the end of run.warmup; for states, rise and convergence the start of the run"), only IN_A_WINDOW;
    until: Option<Nanos> = optional(ANY_TIME, "end of the window; default: the end of the run"), only IN_A_WINDOW;
    within: Option<f64> = optional(Notation::Share(0.0, 1.0), "maximum deviation from near, as a fraction of it"), only NEAR;
    order: Vec<String> = optional(Notation::OneOrMany(&Notation::Text), "congestion controls in descending order of the value, compared seed by seed");
    seeds: String = key(Notation::Word(&["mean", "each"]), "mean", "mean = the 95 % confidence interval of the mean over seeds must lie within the bounds; each = the value of every seed must");
}

impl Expect {
    pub(crate) fn check(&self, duration: Nanos, problems: &mut Vec<Problem>) {
        let c = &self.written;
        if !BOUNDS.iter().any(|k| c.has(k)) {
            let p = c.problem("metric", "no bound is given").found(format!("{:?}", self.metric));
            problems.push(p.hint(format!("give one of {}", BOUNDS.join(", "))));
        }
        if c.has("near") && self.within.is_none() {
            let p = c.problem("near", "requires within");
            problems.push(p.hint("add within = \"2 %\""));
        }
        if let (Some(low), Some(high)) = (number(c, "at_least"), number(c, "at_most")) {
            if low > high {
                let p = c.problem("at_least", "must not exceed at_most");
                problems.push(p.hint("swap them, or increase at_most"));
            }
        }
        self.check_window(duration, problems);
        let distinct: BTreeSet<_> = self.order.iter().collect();
        if c.has("order") && (distinct.len() < 2 || distinct.len() < self.order.len()) {
            let p = c.problem("order", "requires at least two congestion controls, each listed once");
            problems.push(p.found(format!("{:?}", self.order)));
        }
    }

    /// Groups that no flow is in, and several of them where the value is that of one.
    pub(crate) fn check_groups(&self, flows: &[FlowSpec], problems: &mut Vec<Problem>) {
        let names: BTreeSet<&str> = flows.iter().filter_map(|f| f.group.as_deref()).collect();
        for name in self.group.iter().filter(|name| !names.contains(name.as_str())) {
            let p = self.written.problem("group", "no flow is in such a group").found(format!("{name:?}"));
            let known = names.iter().copied().collect::<Vec<_>>().join(", ");
            problems.push(match names.is_empty() {
                true => p.hint("give flows a group: group = \"web\" in [[flow]]"),
                false => p.allowed(known),
            });
        }
        if self.metric == "column" && self.group.len() > 1 {
            let p = self.written.problem("group", "a column has a value for each group");
            problems.push(p.found(format!("{:?}", self.group)).hint("write an [[expect]] for each"));
        }
    }

    fn check_window(&self, duration: Nanos, problems: &mut Vec<Problem>) {
        let c = &self.written;
        let (from, until) = (self.from.unwrap_or_default(), self.until.unwrap_or(duration));
        for (key, time) in [("from", from), ("until", until)] {
            if c.has(key) && time > duration {
                let why = format!("after the end of the run at {duration}");
                problems.push(c.problem(key, why).found(format!("{time}")));
            }
        }
        if from >= until {
            let key = if c.has("from") { "from" } else { "until" };
            let p = c.problem(key, format!("the window from {from} to {until} is empty"));
            problems.push(p.hint("give a time before the end of the window"));
        }
    }

    /// Its keys with their values in SI units (times in s, rates in bit/s), and its place.
    pub fn as_json(&self) -> Json {
        let c = &self.written;
        let own = metrics::of(&self.metric).keys;
        let rows = Expect::SECTION.keys.iter().chain(own);
        let values = rows.filter_map(|row| match c.part(row)?.0.as_ref() {
            Part::Value(value) => Some((row.name.to_string(), in_si(value))),
            _ => None,
        });
        let mut found: Map<String, Json> = values.collect();
        found.insert("place".into(), json!(c.place.to_string()));
        Json::Object(found)
    }
}

/// A written number.
fn number(c: &Checked, key: &str) -> Option<f64> {
    match c.written(key)?.0 {
        Part::Value(value) => in_si(value).as_f64(),
        _ => None,
    }
}

fn in_si(value: &Val) -> Json {
    match value {
        Val::Bool(b) => json!(b),
        Val::Int(i) => json!(i),
        Val::Number(x) | Val::Degrees(x) | Val::Metres(x) => json!(x),
        Val::Time(t) => json!(t.as_secs_f64()),
        Val::Rate(r) => json!(r.0),
        Val::Bytes(b) => json!(b),
        Val::Text(t) => json!(t),
        Val::Many(all) => all.iter().map(in_si).collect(),
        other => unreachable!("no key of [[expect]] has the value {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::file::scenario::Scenario;
    use serde_json::json;
    use std::path::Path;

    const BASE: &str =
        "[run]\nduration = \"10 s\"\n[source.dumbbell]\n[[flow]]\ncc = \"cubic\"\n[[expect]]\n";

    fn read(keys: &str) -> Result<Scenario, String> {
        Scenario::parse(&format!("{BASE}{keys}"), "s", Path::new("/"), &[]).map_err(|e| e.to_string())
    }

    #[test]
    fn bounds_have_units_and_become_si() {
        let s = read("metric = \"goodput\"\nat_least = \"40 Mbit\"\nfrom = \"2 s\"\ncc = \"cubic\"").unwrap();
        let expected = json!({
            "metric": "goodput", "at_least": 40_000_000, "from": 2.0, "cc": ["cubic"], "seeds": "mean",
            "place": "s:7",
        });
        assert_eq!(s.expect[0].as_json(), expected);
        let s = read("metric = \"share\"\nat_least = \"95 %\"").unwrap();
        assert_eq!(s.expect[0].as_json()["at_least"], json!(0.95));
    }

    #[test]
    fn groups_are_those_of_the_flows() {
        let web = "[[flow]]\ncc = \"cubic\"\ngroup = \"web\"\n";
        let read = |expect: &str, more: &str| {
            let text = format!("{}{more}[[expect]]\n{expect}", BASE.trim_end_matches("[[expect]]\n"));
            Scenario::parse(&text, "s", Path::new("/"), &[]).map_err(|e| e.to_string())
        };
        let bound = "metric = \"goodput\"\nat_least = \"1 Mbit\"\ngroup = \"web\"";
        assert_eq!(read(bound, web).unwrap().expect[0].as_json()["group"], json!(["web"]));
        assert!(read(bound, "").unwrap_err().contains("no flow is in such a group; found \"web\""));
        assert!(read(&bound.replace("web", "wed"), web).unwrap_err().contains("allowed: web"));
        assert!(read(&format!("{bound}\nflow = \"a\""), web)
            .unwrap_err()
            .contains("no effect together with flow"));
        let two = "metric = \"column\"\ncolumn = \"jain\"\nat_least = 0.5\ngroup = [\"web\", \"b\"]";
        assert!(read(two, &web.repeat(2).replacen("web", "b", 1)).unwrap_err().contains("for each group"));
    }

    #[test]
    fn errors_name_line_value_and_remedy() {
        let rejected = [
            ("metric = \"goodput\"", "s:7: expect.0.metric: no bound is given"),
            ("metric = \"goodput\"\nat_least = 40", "s:8: expect.0.at_least: a bare number has no unit"),
            (
                "metric = \"goodput\"\nat_least = \"1 Mbit\"\nquantile = 0.5",
                "s:9: expect.0.quantile: no effect",
            ),
            (
                "metric = \"goodput\"\nat_least = \"1 Mbit\"\nwithin = \"2 %\"",
                "s:9: expect.0.within: no effect",
            ),
            ("metric = \"rtt\"\nnear = \"1 ms\"", "add within"),
            ("metric = \"rtt\"\nat_least = \"2 ms\"\nat_most = \"1 ms\"", "swap them"),
            ("metric = \"rtt\"\nat_most = \"2 ms\"\nfrom = \"11 s\"", "after the end of the run"),
            ("metric = \"rtt\"\nat_most = \"2 ms\"\nfrom = \"3 s\"\nuntil = \"2 s\"", "is empty"),
            ("metric = \"jain\"\nat_least = 0.9\nflow = \"a\"", "no effect"),
            ("metric = \"rtt\"\norder = [\"cubic\"]", "at least two congestion controls"),
            ("metric = \"visits\"\nat_least = 1", "expect.0.state: required key is missing"),
            ("metric = \"speed\"\nat_least = 1", "goodput"),
        ];
        for (keys, expected) in rejected {
            let error = read(keys).expect_err(keys);
            assert!(error.contains(expected), "{keys}: {error}");
        }
    }
}
