// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[[background]]`, applied to the network of a source.

use crate::file::background::Background;
use crate::file::error::{Problem, ScenarioError};
use crate::file::scenario::Scenario;
use crate::file::sources::Source;
use crate::world::network::Network;
use perigee_queue::info;
use perigee_sources::background::{Entry, Loaded, Ports, StepsOf};
use perigee_timeline::Port;

/// Adds background traffic to a network, if the scenario has any.
///
/// # Errors
/// Names that no port has, ports that cannot have background, unreadable files.
pub fn apply(scenario: &Scenario, mut net: Network) -> Result<Network, ScenarioError> {
    if scenario.background.is_empty() {
        return Ok(net);
    }
    let (mut entries, mut sections) = (Vec::new(), Vec::new());
    for spec in &scenario.background {
        entries.extend(of(spec, &net)?);
        sections.resize(entries.len(), spec);
    }
    let first = &scenario.background[0].written;
    let loaded = Loaded::new(net.source, &net.header, entries, serves_in_order);
    let loaded = loaded.map_err(|why| first.problem("on", why))?;
    // Ports of a constellation appear over time.
    let unused = loaded.unused().into_iter().next().map(|i| &sections[i].written);
    if let (Some(section), false) = (unused, matches!(scenario.source, Source::Constellation(_))) {
        let names: Vec<&str> = net.header.ports.iter().take(8).map(|p| p.name.as_str()).collect();
        let key = if section.has("file") { "file" } else { "on" };
        let p = section.problem(key, "no such port").allowed(format!("bottleneck, {}", names.join(", ")));
        return Err(p.into());
    }
    net.source = Box::new(loaded);
    Ok(net)
}

/// Entries of a section.
fn of(spec: &Background, net: &Network) -> Result<Vec<Entry>, Problem> {
    let on = match spec.on.iter().any(|n| n == "bottleneck") {
        true => Ports::Numbered(net.bottlenecks.iter().copied().collect()),
        false => Ports::Named(spec.on.clone()),
    };
    let entry = |(port, steps): StepsOf| Entry {
        on: port.map_or(on.clone(), |name| Ports::Named(vec![name])),
        burst: u32::try_from(spec.burst.0).unwrap_or(u32::MAX),
        rtt: spec.rtt,
        most: spec.flow_rate,
        recovery: spec.recovery,
        steps,
    };
    Ok(spec.steps()?.into_iter().map(entry).collect())
}

/// Rejects ports that do not serve everything in order of arrival.
fn serves_in_order(port: &Port) -> Result<(), String> {
    let spec = &port.spec;
    let own_queues = info(&spec.queue.discipline.name).is_some_and(|d| d.has_own_queues());
    let what = match spec {
        _ if own_queues => "a discipline with several queues",
        _ if spec.queue.probe_priority => "probe_priority",
        _ if spec.burst > 0 => "a token bucket",
        _ if spec.dama.is_some() => "demand assignment",
        _ if spec.carrier.is_some() => "neighbours of a [beam]",
        _ => return Ok(()),
    };
    Err(format!(
        "port {:?} has {what}: background traffic requires a port that serves in order of arrival",
        port.name
    ))
}

#[cfg(test)]
mod tests {
    use crate::{Scenario, World};
    use perigee_timeline::{Background, Change};
    use std::path::Path;
    use std::sync::Arc;

    fn traffic(text: &str) -> Result<Vec<(f64, u32, Background)>, String> {
        let base = "[run]\nduration = \"10 s\"\n[source.parking_lot]\nbottlenecks = 2\n[port.bottleneck]\n\
                    rate = \"10 Mbit\"\n[[flow]]\ncc = \"cubic\"\n";
        let text = format!("{base}{text}");
        let s = Scenario::parse(&text, "test", Path::new(""), &[]).map_err(|e| e.to_string())?;
        let world = World::build(Arc::new(s), 1).map_err(|e| e.to_string())?;
        let t = world.whole_timeline()?;
        let one = |c: &perigee_timeline::Timed| match &c.change {
            Change::Background(p, b) => Some((c.at.as_secs_f64(), p.0, Background::clone(b))),
            _ => None,
        };
        Ok(t.chunks.iter().flat_map(|c| &c.changes).filter_map(one).collect())
    }

    #[test]
    fn a_load_is_a_share_of_the_rate_and_ends() {
        let found = traffic("[[background]]\non = \"r0->r1\"\nload = 0.6\nstart = \"2 s\"\nstop = \"4 s\"\n")
            .unwrap();
        let rates: Vec<_> = found.iter().map(|(t, _, b)| (*t, b.inelastic.as_mbit(), b.burst)).collect();
        assert_eq!(rates, [(2.0, 6.0, 1500), (4.0, 0.0, 0)]);
    }

    #[test]
    fn elastic_flows_start_with_what_the_rest_leaves() {
        let found = traffic("[[background]]\nrate = \"4 Mbit\"\nflows = 30\n").unwrap();
        let ports: Vec<u32> = found.iter().map(|f| f.1).collect();
        assert_eq!(ports.len(), 2, "the slowest port of each pair: {ports:?}");
        assert!(found.iter().all(|f| f.2.elastic.as_ref().is_some_and(|e| e.start.as_mbit() == 6.0)));
        let capped = traffic("[[background]]\nflows = 30\nflow_rate = \"100 kbit\"\n").unwrap();
        assert!(capped.iter().all(|f| f.2.elastic.as_ref().is_some_and(|e| e.start.as_mbit() == 3.0)));
    }

    #[test]
    fn ports_that_cannot_have_it_are_refused() {
        for (text, says) in [
            ("[[background]]\non = \"r7->r8\"\nload = 0.5\n", "r0->r1"),
            ("[[background]]\n", "no background traffic"),
            ("[[background]]\nload = 0.5\nrtt = \"1 s\"\n", "flows"),
            ("[port.all]\ndiscipline = \"fq_codel\"\n[[background]]\nload = 0.5\n", "several queues"),
            ("[port.all]\nburst = \"10 kB\"\n[[background]]\nload = 0.5\n", "token bucket"),
        ] {
            let why = traffic(text).unwrap_err();
            assert!(why.contains(says), "{why}");
        }
        assert!(traffic("[port.all]\ndiscipline = \"codel\"\n[[background]]\nload = 0.5\n").is_ok());
    }
}
