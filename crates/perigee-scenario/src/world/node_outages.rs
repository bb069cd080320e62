// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[[change]]` in a constellation: outages of nodes.

use crate::file::change::{ChangeSpec, When};
use crate::file::error::{Problem, ScenarioError};
use crate::file::scenario::Scenario;
use crate::file::suggestions;
use perigee_orbit::GroundNode;
use perigee_units::Nanos;

/// Sets the outages of the ground points; `step` is the time between computations of routes.
///
/// # Errors
/// A change of anything else, one between two steps, or of an unknown node.
pub(crate) fn apply(
    scenario: &Scenario,
    step: Nanos,
    ground: &mut [GroundNode],
) -> Result<(), ScenarioError> {
    for change in &scenario.changes {
        let problem = |key: &str, why: &str| change.written.problem(key, why);
        let When::At(at) = change.when else {
            let why = "no effect: the links of a constellation change with its satellites";
            let p = Problem::new("schedule", why).at(&change.place);
            return Err(p.hint("use [handover] every, or [[change]]").into());
        };
        for key in ["rate", "delay", "rtt", "loss", "direction", "mode"] {
            if change.written.has(key) {
                let p = problem(key, "no effect in a constellation: only outages of nodes can be set");
                return Err(p.hint("use [port.NAME], [handover] or the weather of a node").into());
            }
        }
        let Some(length) = change.to.outage.and_then(|o| o.as_fixed()) else {
            return Err(problem("outage", "must be a fixed time at a node of a constellation").into());
        };
        for (key, time) in [("at", at), ("outage", length)] {
            if time.0 % step.0 != 0 {
                let why = format!("{time} is not a multiple of source.constellation.step ({step})");
                let p = change.written.problem(key, why);
                return Err(p.hint("routes are computed at steps only; use a multiple").into());
            }
        }
        let Some(node) = ground.iter_mut().find(|g| g.name == change.on) else {
            return Err(unknown(change, ground).into());
        };
        node.off.push(at..at + length);
    }
    Ok(())
}

fn unknown(change: &ChangeSpec, ground: &[GroundNode]) -> Problem {
    const SHOWN: usize = 5;
    if !change.written.has("on") {
        let p = change.written.problem("on", "required in a constellation: the name of the node");
        return p.hint("ports of a constellation have no outages");
    }
    let names: Vec<&str> = ground.iter().map(|g| g.name.as_str()).collect();
    let more = if names.len() > SHOWN { ", …" } else { "" };
    let some = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    let p = change.written.problem("on", "must be a node of the constellation");
    let p = p.found(format!("{:?}", change.on)).allowed(format!("{some}{more}"));
    match suggestions::hint(&change.on, names) {
        Some(near) => p.hint(near),
        None => p,
    }
}

#[cfg(test)]
mod tests {
    use crate::file::scenario::Scenario;
    use crate::world::from_source;
    use perigee_timeline::{Change, ChunkSource, NoteKind};
    use perigee_units::Nanos;
    use std::path::Path;

    const SKY: &str = "[run]\nduration = \"30 s\"\n[source.constellation]\npreset = \"starlink-shell1\"\n\
        [node.home]\nplace = \"London\"\n[node.gateway]\nkind = \"station\"\nplace = \"Madrid\"\n\
        [port.ground]\nrate = \"50 Mbit\"\nqueue = \"1 bdp\"\n[[flow]]\nfrom = \"home\"\nto = \"gateway\"\ncc = \"cubic\"\n";

    fn notes(change: &str) -> Result<Vec<(Nanos, NoteKind)>, String> {
        let s = Scenario::parse(&format!("{SKY}{change}"), "test", Path::new(""), &[])
            .map_err(|e| e.to_string())?;
        let mut network = from_source::build(&s, 1).map_err(|e| e.to_string())?;
        let mut found = Vec::new();
        while let Some(chunk) = network.source.next_chunk()? {
            for timed in &chunk.changes {
                if let Change::Note(note) = &timed.change {
                    found.push((timed.at, note.kind));
                }
            }
        }
        Ok(found)
    }

    #[test]
    fn a_node_that_is_off_is_unreachable_meanwhile() {
        let change = "[[change]]\nat = \"10 s\"\non = \"gateway\"\noutage = \"5 s\"\n";
        let found = notes(change).unwrap();
        let times = |kind| found.iter().filter(|n| n.1 == kind).map(|n| n.0).collect::<Vec<_>>();
        assert_eq!(times(NoteKind::Unreachable), [Nanos::from_secs(10)]);
        assert_eq!(times(NoteKind::Reachable), [Nanos::from_secs(15)]);
        assert!(!notes("").unwrap().iter().any(|n| n.1 == NoteKind::Unreachable));
    }

    #[test]
    fn what_cannot_be_changed_in_a_constellation_is_refused() {
        for (change, says) in [
            ("on = \"gatewy\"\noutage = \"5 s\"", "did you mean \"gateway\""),
            ("on = \"gateway\"\nrate = \"5 Mbit\"", "change.0.rate: no effect"),
            ("on = \"gateway\"\noutage = \"uniform(1 s, 2 s)\"", "a fixed time"),
            ("on = \"gateway\"\noutage = \"5 s\"\nmode = \"hold\"", "no effect"),
            ("on = \"gateway\"\noutage = \"5 s\"\ndirection = \"forward\"", "no effect"),
            ("outage = \"5 s\"", "required in a constellation"),
            ("on = \"gateway\"\noutage = \"40 ms\"", "change.0.outage: 40 ms is not a multiple"),
        ] {
            let e = notes(&format!("[[change]]\nat = \"10 s\"\n{change}\n")).unwrap_err();
            assert!(e.contains(says), "{change}: {e}");
        }
        let e = notes("[schedule]\nevery = \"15 s\"\noutage = \"1 s\"\n").unwrap_err();
        assert!(e.contains("[handover] every"), "{e}");
        let e = notes("[[change]]\nat = \"0 s\"\non = \"home\"\noutage = \"30.1 s\"\n").unwrap_err();
        assert!(e.contains("outages leave it no time"), "{e}");
    }
}
