// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Gateway of flows with the end "any gateway": the nearest station on the ground that is in
//! service.
//!
//! A flow without end is divided where its gateway changes: its user connects again over another
//! station. A transfer of a given size keeps the gateway that it started with.

use crate::file::change::When;
use crate::file::flow::FlowSpec;
use crate::file::node::{NodeSpec, ANY_GATEWAY};
use crate::file::scenario::Scenario;
use crate::world::sky_spec;
use perigee_orbit::frames::great_circle_m;
use perigee_timeline::App;
use perigee_units::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Whether an end of the flow is any gateway.
pub(crate) fn is_any(flow: &FlowSpec) -> bool {
    flow.ends.as_ref().is_some_and(|(from, to)| [from, to].iter().any(|n| ANY_GATEWAY.contains(&n.as_str())))
}

/// The flows of one entry, each with the nearest station in place of "any gateway", or divided into
/// a flow for each station in turn.
pub(crate) fn resolve(scenario: &Scenario, flows: Vec<FlowSpec>) -> Vec<FlowSpec> {
    let Some(entry) = flows.first().filter(|flow| is_any(flow)) else { return flows };
    let outages = outages(scenario);
    let times = outages.iter().flat_map(|(_, off)| [off.start, off.end]);
    let times: BTreeSet<Nanos> = times.chain([Nanos::ZERO]).collect();
    let ends = times.into_iter().map(|t| (t, ends_at(scenario, entry, &outages, t))).collect();
    flows.into_iter().flat_map(|flow| divided(flow, &ends, scenario.run.duration)).collect()
}

/// Ends of flows by the time from which they apply.
type Ends = BTreeMap<Nanos, Option<(String, String)>>;

fn divided(flow: FlowSpec, ends: &Ends, duration: Nanos) -> Vec<FlowSpec> {
    let at_start = ends.range(..=flow.start).next_back().and_then(|(_, ends)| ends.clone());
    if matches!(flow.app, App::Bulk { bytes: Some(_) }) {
        return vec![FlowSpec { ends: at_start, ..flow }];
    }
    let stop = flow.stop.unwrap_or(duration);
    let mut found: Vec<FlowSpec> = vec![FlowSpec { ends: at_start, ..flow.clone() }];
    for (&t, ends) in ends.range(flow.start..).filter(|(&t, _)| flow.start < t && t < stop) {
        let n = found.len();
        let Some(last) = found.last_mut().filter(|last| last.ends != *ends) else { continue };
        last.stop = Some(t);
        let name = flow.name.as_ref().map(|name| format!("{name}.{}", n + 1));
        found.push(FlowSpec { name, ends: ends.clone(), start: t, ..flow.clone() });
    }
    found
}

/// Outages of nodes, by name.
fn outages(scenario: &Scenario) -> Vec<(&str, Range<Nanos>)> {
    let outage = |c: &crate::file::change::ChangeSpec| match (&c.when, c.to.outage.and_then(|o| o.as_fixed()))
    {
        (When::At(at), Some(length)) => Some(*at..*at + length),
        _ => None,
    };
    scenario.changes.iter().filter_map(|c| Some((c.on.as_str(), outage(c)?))).collect()
}

fn ends_at(
    scenario: &Scenario,
    flow: &FlowSpec,
    outages: &[(&str, Range<Nanos>)],
    t: Nanos,
) -> Option<(String, String)> {
    let place = |n: &NodeSpec| sky_spec::ground(n, 0.0, false).ok().map(|g| g.place);
    let nearest = |name: &String, of: &String| {
        let here = scenario.nodes.iter().find(|n| n.name == *of).and_then(place)?;
        let off = |n: &NodeSpec| outages.iter().any(|(name, times)| *name == n.name && times.contains(&t));
        let stations = || scenario.nodes.iter().filter(|n| n.kind == "station" && n.name != *of);
        let far = |n: &&NodeSpec| place(n).map_or(u64::MAX, |p| great_circle_m(here, p) as u64);
        // Where no station is in service, the flow waits for its nearest one.
        let chosen = || stations().filter(|n| !off(n)).min_by_key(far).or_else(|| stations().min_by_key(far));
        ANY_GATEWAY.contains(&name.as_str()).then(|| chosen().map(|n| n.name.clone()))?
    };
    let (from, to) = flow.ends.as_ref()?;
    Some((nearest(from, to).unwrap_or_else(|| from.clone()), nearest(to, from).unwrap_or_else(|| to.clone())))
}

#[cfg(test)]
mod tests {
    use crate::file::scenario::Scenario;
    use crate::world::traffic;
    use perigee_units::Nanos;
    use std::path::Path;
    use std::sync::Arc;

    const SKY: &str = "[run]\nduration = \"60 s\"\n[source.constellation]\npreset = \"starlink-shell1\"\n\
        [node.home]\nplace = \"Paris\"\n[node.near]\nkind = \"station\"\nplace = \"Lyon\"\n\
        [node.far]\nkind = \"station\"\nplace = \"Madrid\"\n[port.ground]\nrate = \"50 Mbit\"\nqueue = \"1 bdp\"\n\
        [[change]]\nat = \"10 s\"\non = \"near\"\noutage = \"20 s\"\n\
        [[change]]\nat = \"15 s\"\non = \"far\"\noutage = \"1 s\"\n";

    /// Gateway, start and stop in seconds of all flows.
    fn gateways(flow: &str) -> Vec<(String, u64, Option<u64>)> {
        let text = format!("{SKY}[[flow]]\nname = \"f\"\nfrom = \"home\"\nto = \"any gateway\"\n{flow}\n");
        let s = Scenario::parse(&text, "test", Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}"));
        let s = traffic::expand(&Arc::new(s), 1);
        let seconds = |t: Nanos| t.0 / 1_000_000_000;
        let shown = s.flows.iter().map(|f| {
            let to = f.ends.as_ref().map_or(String::new(), |ends| ends.1.clone());
            (to, seconds(f.start), f.stop.map(seconds))
        });
        shown.collect()
    }

    fn named(all: &[(&str, u64, Option<u64>)]) -> Vec<(String, u64, Option<u64>)> {
        all.iter().map(|(name, start, stop)| (name.to_string(), *start, *stop)).collect()
    }

    #[test]
    fn users_of_any_gateway_connect_over_the_next_one_during_an_outage() {
        // While both are off, the flow waits for the nearest.
        let all = [
            ("near", 0, Some(10)),
            ("far", 10, Some(15)),
            ("near", 15, Some(16)),
            ("far", 16, Some(30)),
            ("near", 30, None),
        ];
        assert_eq!(gateways("cc = \"cubic\""), named(&all));
        assert_eq!(gateways("cc = \"cubic\"\nstart = \"40 s\""), named(&[("near", 40, None)]));
        let voice = gateways("app = \"cbr\"\nrate = \"1 Mbit\"\nstart = \"12 s\"\nstop = \"14 s\"");
        assert_eq!(voice, named(&[("far", 12, Some(14))]));
    }

    #[test]
    fn a_transfer_keeps_the_gateway_of_its_start() {
        assert_eq!(gateways("cc = \"cubic\"\nbytes = \"10 MB\""), named(&[("near", 0, None)]));
        let web = gateways("cc = \"cubic\"\narrivals = \"4 s\"\nobject = \"1 MB\"");
        let used = |start| web.iter().find(|f| f.1 == start).map(|f| f.0.as_str());
        assert_eq!([8, 12, 16, 32].map(used), [Some("near"), Some("far"), Some("far"), Some("near")]);
    }
}
