// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parameters of starts that no flow has.

use crate::file::error::{Place, Problem};
use crate::file::flow::FlowSpec;
use crate::file::run::RunSpec;
use crate::file::tree::{Axis, Given};
use std::collections::BTreeMap;

/// Tables `[slow_start.NAME]` of starts that no flow has, and whether each yields to a choice of the
/// start at a higher level. A sweep over starts may have those of all its values.
pub(crate) fn problems(
    tables: &BTreeMap<String, Given>,
    run: &RunSpec,
    flows: &[FlowSpec],
    sweep: &[Axis],
) -> Vec<(Problem, bool)> {
    if sweep.iter().any(|axis| axis.key.ends_with("slow_start")) {
        return Vec::new();
    }
    let start_of = |f: &FlowSpec| f.slow_start.clone().unwrap_or_else(|| run.slow_start.clone());
    let has = |id: &str| flows.iter().any(|f| f.app.is_tcp() && start_of(f) == id);
    let unused = tables.iter().filter(|(id, given)| !given.is_empty() && !has(id));
    let chosen = run.written.written("slow_start").map(|(_, place)| place);
    let problem = |(id, given): (&String, &Given)| {
        let place: Option<&Place> = given.values().next().map(|(_, place)| place);
        let p = Problem::new(format!("slow_start.{id}"), "no effect: no flow has this start");
        let p = place.map_or(p.clone(), |place| p.at(place));
        let yields = chosen.zip(place).is_some_and(|(chosen, place)| chosen.is_above(place));
        (p.hint(format!("leave it out, or set slow_start = {id:?} in [run] or in a [[flow]]")), yields)
    };
    unused.map(problem).collect()
}

#[cfg(test)]
mod tests {
    use crate::file::scenario::Scenario;
    use std::path::Path;

    const TABLE: &str = "[slow_start.search]\nthreshold = 0.3\n";

    fn read(text: &str, sets: &[&str]) -> Result<Scenario, String> {
        let text = format!("[run]\nduration = \"10 s\"\n{text}[source.dumbbell]\n{TABLE}");
        let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
        Scenario::parse(&text, "s", Path::new("/"), &sets).map_err(|e| e.to_string())
    }

    #[test]
    fn parameters_of_a_start_that_no_flow_has_are_an_error() {
        let flow = "[[flow]]\ncc = \"cubic\"\n";
        let error = read(flow, &[]).expect_err("no flow has it");
        assert!(error.contains("s:7: slow_start.search: no effect: no flow has this start"), "{error}");
        assert!(error.contains("set slow_start = \"search\""), "{error}");
        assert!(read(&format!("slow_start = \"search\"\n{flow}"), &[]).is_ok());
        assert!(read(&format!("{flow}slow_start = \"search\"\n"), &[]).is_ok());
        let udp = "[[flow]]\napp = \"ping\"\nslow_start = \"search\"\n";
        assert!(read(udp, &[]).is_err());
    }

    #[test]
    fn they_yield_to_an_override_and_are_there_for_a_sweep() {
        let text = "slow_start = \"search\"\n[[flow]]\ncc = \"cubic\"\n";
        let s = read(text, &["run.slow_start=careful"]).unwrap();
        assert!(s.remarks.iter().any(|r| r.contains("slow_start.search")), "{:?}", s.remarks);
        assert!(!s.resolved_toml.contains("[slow_start.search]"), "{}", s.resolved_toml);
        let sweep = "[[flow]]\ncc = \"cubic\"\n[sweep]\n\"run.slow_start\" = [\"search\", \"careful\"]\n";
        assert!(read(sweep, &[]).is_ok());
    }
}
