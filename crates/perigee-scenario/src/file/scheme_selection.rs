// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Selection of the congestion controls that a scenario compares: `--cc`, else `run.cc`, else those
//! that its flows name.

use crate::file::error::{Problem, ScenarioError};
use crate::file::flow::{self, FlowSpec};
use crate::file::scenario::Scenario;
use std::collections::BTreeSet;

impl Scenario {
    /// The schemes to compare: `--cc`, else `run.cc`, else those that the flows name.
    ///
    /// # Errors
    /// When a flow is to be compared and no scheme is given.
    pub fn schemes(&self, asked: &[String]) -> Result<Vec<String>, ScenarioError> {
        self.schemes_with(asked, &[])
    }

    /// As [`schemes`](Scenario::schemes), where a kernel has `others` in addition to ours.
    ///
    /// # Errors
    /// As there.
    pub fn schemes_with(&self, asked: &[String], others: &[String]) -> Result<Vec<String>, ScenarioError> {
        if self.flows.is_empty() {
            return Err(self.without_flows());
        }
        let open = self.flows.iter().find(|f| f.app.is_tcp() && f.schemes().iter().any(|id| *id == "*"));
        let every: Vec<String>;
        let mut list = if asked.is_empty() { &self.run.cc[..] } else { asked };
        if list.iter().any(|id| id == "all") {
            let whole = perigee_cc::SCHEMES.iter().filter(|s| s.is_whole());
            every = whole.map(|s| s.id.to_string()).collect();
            list = &every;
        }
        // The name that represents a scenario without open flows may be requested.
        let own = self.own_scheme();
        let known = |id: &str| {
            perigee_cc::info(id).is_some()
                || crate::file::notation::is_plugin(id)
                || others.iter().any(|other| other == id)
                || (open.is_none() && id == own)
        };
        if let Some(unknown) = list.iter().find(|id| !known(id)) {
            // Real hosts have the schemes of their kernel; that a flow of the simulator may have
            // more is reported elsewhere.
            let ids: Vec<_> = match others {
                [] => perigee_cc::SCHEMES.iter().map(|s| s.id).collect(),
                _ => others.iter().map(String::as_str).collect(),
            };
            let mut p = Problem::new("cc", "no such congestion control").found(format!("{unknown:?}"));
            p.hint = crate::file::suggestions::hint(unknown, ids.iter().copied());
            return Err(p.allowed(ids.join(", ")).into());
        }
        match open {
            None if list.iter().any(|id| *id != own) => Err(self.nothing_open(list, &own)),
            None => Ok(vec![own]),
            Some(f) if list.is_empty() => {
                Err(Problem::new("flow.cc", "\"*\" requires congestion controls to compare")
                    .at(&f.place)
                    .hint("pass --cc A,B or set run.cc = [\"A\", \"B\"]")
                    .into())
            }
            Some(_) => Ok(without_repeats(list)),
        }
    }

    /// Why a scenario without flows cannot be run.
    pub(crate) fn without_flows(&self) -> ScenarioError {
        let p = Problem::new("flow", "the scenario has no flow to simulate");
        p.hint("`perigee demand run` and `perigee demand sweep` compute its [demand], or add a [[flow]]")
            .into()
    }

    /// Names of the plug-ins that the flows or `run.cc` request.
    pub fn plugins(&self) -> Vec<String> {
        let named = self.flows.iter().flat_map(FlowSpec::schemes).chain(&self.run.cc);
        let found: BTreeSet<&String> = named.filter(|id| crate::file::notation::is_plugin(id)).collect();
        found.into_iter().cloned().collect()
    }

    /// Schemes were requested, and every flow has its own.
    fn nothing_open(&self, asked: &[String], own: &str) -> ScenarioError {
        let fixed = self.flows.iter().find(|f| f.app.is_tcp());
        if fixed.is_none() {
            let why = format!(
                "--cc (or run.cc) {} has no effect: no flow of this scenario uses TCP",
                asked.join(", ")
            );
            return Problem::new("flow", why)
                .hint("remove --cc and run.cc, or add a flow with cc = \"*\"")
                .into();
        }
        let why = format!(
            "--cc (or run.cc) {} has no effect: every flow names its congestion control",
            asked.join(", ")
        );
        let mut p = Problem::new("flow.cc", why).found(own.to_string());
        p.place = fixed.map(|f| f.place.clone());
        p.hint("set cc = \"*\" in the flows to compare (or pass --set 'flow.0.cc=\"*\"'), or remove --cc and run.cc")
            .into()
    }

    /// A folder name for a scenario in which all flows name their scheme.
    fn own_scheme(&self) -> String {
        let names: BTreeSet<&str> = self.flows.iter().flat_map(flow::own_schemes).collect();
        names.into_iter().collect::<Vec<_>>().join("+")
    }
}

fn without_repeats(list: &[String]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    list.iter().filter(|id| seen.insert(id.as_str())).cloned().collect()
}
