// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Paths over time in networks that have only a timeline and no satellite model (`perigee paths`).

use crate::file::error::{Problem, ScenarioError};
use crate::file::scenario::Scenario;
use crate::file::suggestions;
use crate::world::assembly::World;
use crate::world::survey::Series;
use perigee_timeline::follow::{every, Follower};
use perigee_timeline::PairId;
use perigee_units::Nanos;
use serde_json::{json, Value as Json};
use std::sync::Arc;

/// Sampling interval.
const STEP: Nanos = Nanos::from_millis(100);

/// A traced pair.
struct Course {
    ends: (String, String),
    ways: [PairId; 2],
    legs: Vec<Json>,
    last: Option<Option<Vec<String>>>,
    rtt_ms: Vec<f64>,
}

/// The paths between `ends`, or of the flows if `ends` is absent, in the same format as those of a
/// satellite network.
///
/// # Errors
/// If the network cannot be built or has no such pair.
pub fn paths(
    scenario: Arc<Scenario>,
    ends: &[(String, String)],
    seed: u64,
) -> Result<(Json, Vec<Series>), ScenarioError> {
    let world = World::build(scenario, seed)?;
    let timeline = world.whole_timeline().map_err(|why| Problem::new("source", why))?;
    let mut courses = courses(&world, ends)?;
    every(&timeline, STEP, |t, f| courses.iter_mut().for_each(|c| c.look(t, f)));
    let pair = |c: &Course| {
        json!({
            "from": c.ends.0, "to": c.ends.1, "attachment": "as in the timeline",
            "from_place": null, "to_place": null, "distance_km": null, "fibre_rtt_ms": null, "legs": c.legs,
        })
    };
    let found = json!({
        "title": timeline.header.title, "start": null, "step_s": STEP.as_secs_f64(),
        "duration_s": timeline.header.duration.as_secs_f64(), "report": world.report, "warnings": world.warnings,
        "pairs": courses.iter().map(pair).collect::<Vec<_>>(),
    });
    let series = |c: Course| Series { apart: vec![false; c.rtt_ms.len()], rtt_ms: c.rtt_ms };
    Ok((found, courses.into_iter().map(series).collect()))
}

fn courses(world: &World, ends: &[(String, String)]) -> Result<Vec<Course>, ScenarioError> {
    let course = |from: &str, to: &str, ways| Course {
        ends: (from.into(), to.into()),
        ways,
        legs: Vec::new(),
        last: None,
        rtt_ms: Vec::new(),
    };
    if ends.is_empty() {
        let mut found: Vec<Course> = Vec::new();
        for p in world.flows.iter().map(|f| &f.pair) {
            if !found.iter().any(|c| c.ways == [p.forward, p.reverse] || c.ways == [p.reverse, p.forward]) {
                found.push(course(&p.from, &p.to, [p.forward, p.reverse]));
            }
        }
        return Ok(found);
    }
    let name = |id: perigee_timeline::NodeId| world.header.nodes[id.ix()].name.as_str();
    let pair = |from: &str, to: &str| {
        let at = world.header.pairs.iter().position(|p| name(p.from) == from && name(p.to) == to);
        at.map(|i| PairId(i as u32))
    };
    let one = |(from, to): &(String, String)| {
        let (there, back) = (pair(from, to), pair(to, from));
        there.zip(back).map(|(a, b)| course(from, to, [a, b])).ok_or_else(|| {
            let known = || world.header.pairs.iter().flat_map(|p| [name(p.from), name(p.to)]);
            let mut p = Problem::new("from", "the network has no such pair of nodes");
            p = p.found(format!("{from:?} to {to:?}"));
            let some: Vec<String> = world
                .header
                .pairs
                .iter()
                .take(5)
                .map(|p| format!("{} to {}", name(p.from), name(p.to)))
                .collect();
            p.hint = [from, to]
                .into_iter()
                .find(|n| !known().any(|k| k == n.as_str()))
                .and_then(|n| suggestions::hint(n, known()));
            ScenarioError::from(p.allowed(some.join(", ")))
        })
    };
    ends.iter().map(one).collect()
}

impl Course {
    fn look(&mut self, t: Nanos, f: &Follower) {
        let [there, back] = self.ways.map(|way| f.way(way, t));
        let rtt = there.as_ref().zip(back.as_ref()).map(|(a, b)| a.one_way() + b.one_way());
        self.rtt_ms.push(rtt.map_or(f64::NAN, Nanos::as_millis_f64));
        let inner = |nodes: &[perigee_timeline::NodeId]| -> Vec<String> {
            let between = nodes.get(1..nodes.len().saturating_sub(1)).unwrap_or_default();
            between.iter().map(|n| f.names[n.ix()].clone()).collect()
        };
        let hops = rtt.and(there).map(|w| inner(&w.nodes));
        if self.last.as_ref() == Some(&hops) {
            return;
        }
        let hop = |name: &String| json!({"name": name, "shell": null, "plane": null, "slot": null, "ascending": null, "over": null});
        self.legs.push(json!({
            "t_s": t.as_secs_f64(),
            "rtt_ms": rtt.map(Nanos::as_millis_f64),
            "hops": hops.as_ref().map(|h| h.iter().map(hop).collect::<Vec<_>>()),
        }));
        self.last = Some(hops);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_network_without_satellites_is_followed() {
        let text = "[run]\nduration = \"2 s\"\n[source.chain]\nlinks = 3\nrtt = \"30 ms\"\n\
                    [[change]]\nat = \"1 s\"\nrtt = \"60 ms\"\n[[flow]]\ncc = \"cubic\"\n";
        let s = Arc::new(Scenario::parse(text, "t", Path::new(""), &[]).unwrap());
        let (found, series) = paths(s.clone(), &[], 1).unwrap();
        assert_eq!((series[0].rtt_ms.len(), series[0].rtt_ms[5], series[0].rtt_ms[15]), (20, 30.0, 60.0));
        assert_eq!(found["pairs"][0]["legs"][0]["hops"].as_array().unwrap().len(), 2);
        assert!(found["pairs"][0]["fibre_rtt_ms"].is_null());
        let ends = |a: &str, b: &str| vec![(a.to_string(), b.to_string())];
        assert_eq!(paths(s.clone(), &ends("d", "s"), 1).unwrap().1[0].rtt_ms[0], 30.0);
        let e = paths(s, &ends("s", "x"), 1).err().unwrap().to_string();
        assert!(e.contains("s to d"), "{e}");
    }
}
