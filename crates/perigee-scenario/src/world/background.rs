// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[[background]]`, applied to the network of a source.

use crate::file::background::Background;
use crate::file::error::{Problem, ScenarioError};
use crate::file::port as file;
use crate::file::scenario::Scenario;
use crate::file::sources::{Constellation, Source};
use crate::world::network::Network;
use crate::world::radio::RadioTable;
use perigee_queue::info;
use perigee_sources::background::{Entry, Loaded, Ports, StepsOf};
use perigee_timeline::{NodeId, Port, PortSpec};
use perigee_units::Nanos;

const DAMA: &[&str] =
    &["dama_delay", "dama_frame", "dama_cra", "dama_rbdc", "dama_by_volume", "dama_vbdc", "dama_fca"];

/// Adds background traffic to a network, if the scenario has any.
///
/// # Errors
/// Names that no port has, ports that cannot have background, unreadable files.
pub fn apply(scenario: &Scenario, mut net: Network) -> Result<Network, ScenarioError> {
    if scenario.background.is_empty() {
        return Ok(net);
    }
    if let Source::Constellation(c) = &scenario.source {
        check_constellation(scenario, c)?;
    }
    let (mut entries, mut sections) = (Vec::new(), Vec::new());
    for spec in &scenario.background {
        entries.extend(of(spec, &net)?);
        sections.resize(entries.len(), spec);
    }
    let first = &scenario.background[0].written;
    let numbered = || (0..).zip(&net.header.ports);
    let others: Vec<(u32, &Port)> = numbered().filter(|(_, p)| obstacle(&p.spec).is_some()).collect();
    let refused = |e: &Background| others.iter().find(|(n, p)| is_on(e, *n, p, &net)).map(|(_, p)| *p);
    if let Some((spec, port)) = scenario.background.iter().find_map(|e| Some((e, refused(e)?))) {
        return Err(refusal(scenario, spec, port).into());
    }
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

/// Whether a port known at the start has the traffic of a section by its key `on`.
fn is_on(spec: &Background, number: u32, port: &Port, net: &Network) -> bool {
    let bottleneck = spec.on.iter().any(|n| n == "bottleneck");
    let named = |pattern: &String| meet(pattern.as_bytes(), port.name.as_bytes());
    !spec.has_own_ports()
        && if bottleneck { net.bottlenecks.contains(&number) } else { spec.on.iter().any(named) }
}

/// What keeps a port from serving everything in order of arrival: the key, what it is, and why.
fn obstacle(spec: &PortSpec) -> Option<(&'static [&'static str], &'static str, &'static str)> {
    let own_queues = info(&spec.queue.discipline.name).is_some_and(|d| d.has_own_queues());
    let order = "the fluid shares one queue, which is served in order of arrival";
    Some(match spec {
        _ if own_queues => (
            &["discipline"],
            "a discipline with several queues",
            "which of them a flow of the fluid would be in, and with whom it would share, is not modelled",
        ),
        _ if spec.queue.probe_priority => (&["probe_priority"], "probe_priority", order),
        _ if spec.burst > 0 => (&["burst"], "a token bucket", "the fluid takes no tokens"),
        _ if spec.dama.is_some() => (DAMA, "demand assignment", "the fluid requests no capacity"),
        _ if spec.carrier.is_some() => {
            (&[], "neighbours of a [beam]", "neighbours are the other traffic of such a port")
        }
        _ => return None,
    })
}

/// Rejects ports that do not serve everything in order of arrival.
fn serves_in_order(port: &Port) -> Result<(), String> {
    match obstacle(&port.spec) {
        None => Ok(()),
        Some((_, what, why)) => {
            Err(format!("port {:?} has {what}: no background traffic there, because {why}", port.name))
        }
    }
}

/// The problem of a section at a port, at the key of the port that is the obstacle.
fn refusal(scenario: &Scenario, spec: &Background, port: &Port) -> Problem {
    let (keys, what, why) = obstacle(&port.spec).unwrap_or((&[], "its own order of service", ""));
    let key_of = |section: &file::Port| keys.iter().copied().find(|k| section.written.has(k));
    let own = scenario.ports.iter().filter(|(name, _)| *name == port.name);
    let found = own.chain(scenario.ports.iter().rev()).find_map(|(name, p)| Some((name, p, key_of(p)?)));
    let on = &spec.written;
    let Some((name, section, key)) = found else {
        let p = on.problem(
            "on",
            format!("port {:?} has {what}: no background traffic there, because {why}", port.name),
        );
        return p.hint("name other ports in on");
    };
    let message = format!("no background traffic at port {:?}: {why}", port.name);
    let mut p = Problem::new(format!("port.{name}.{key}"), message).at(section.written.place_of(key));
    p.found = section.written.word(key).or_else(|| (key == "probe_priority").then(|| "true".into()));
    p.hint(format!("remove it, or name other ports in {}", on.problem("on", "").key))
}

/// Rejects sections that may be at ports of a constellation that do not serve in order: these ports
/// appear only during the run.
fn check_constellation(scenario: &Scenario, c: &Constellation) -> Result<(), Problem> {
    let table = RadioTable::unchecked(scenario, c);
    let names: Vec<&str> = scenario.nodes.iter().map(|n| n.name.as_str()).collect();
    let mut ports = vec![("*->*".to_string(), table.isl())];
    for (n, name) in names.iter().enumerate() {
        ports.push((format!("{name}->*"), table.up(n)));
        ports.push((format!("{name} radio"), table.up(n)));
        ports.push((format!("*->{name}"), table.down(n)));
    }
    for spec in scenario.background.iter().filter(|b| !b.has_own_ports()) {
        // Ends of ISLs are satellites.
        let on_ground = |on: &str| on.split("->").any(|end| names.contains(&end));
        for (name, settled) in &ports {
            let meets =
                |on: &&String| meet(on.as_bytes(), name.as_bytes()) && !(name == "*->*" && on_ground(on));
            if !spec.on.iter().any(|on| on == "bottleneck" || meets(&on)) {
                continue;
            }
            let port =
                Port { name: name.clone(), node: NodeId(0), spec: settled.spec(Nanos::from_millis(50)) };
            if obstacle(&port.spec).is_some() {
                return Err(refusal(scenario, spec, &port));
            }
        }
    }
    Ok(())
}

/// Whether two patterns, in which `*` matches any text, have a text in common.
fn meet(a: &[u8], b: &[u8]) -> bool {
    // `ends[j]`: whether the rest of `a` and `b[j..]` have one.
    let star = |of: &[u8], i: usize| of.get(i) == Some(&b'*');
    let mut ends: Vec<bool> = (0..=b.len()).map(|j| b[j..].iter().all(|c| *c == b'*')).collect();
    for i in (0..a.len()).rev() {
        let mut row = vec![false; b.len() + 1];
        for j in (0..=b.len()).rev() {
            row[j] = match (star(a, i), star(b, j)) {
                (true, _) => ends[j] || (j < b.len() && row[j + 1]),
                (false, true) => row[j + 1] || ends[j],
                (false, false) => j < b.len() && a[i] == b[j] && ends[j + 1],
            };
        }
        ends = row;
    }
    ends[0]
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
            (
                "[port.all]\ndiscipline = \"fq_codel\"\n[[background]]\nload = 0.5\n",
                "test:10: port.all.discipline: no ",
            ),
            ("[port.all]\ndiscipline = \"dualpi2\"\n[[background]]\nload = 0.5\n", "is not modelled"),
            ("[port.all]\nburst = \"10 kB\"\n[[background]]\nload = 0.5\n", "port.all.burst: no "),
            (
                "[port.all]\nprobe_priority = true\n[[background]]\nload = 0.5\n",
                "test:10: port.all.probe_priority: no ",
            ),
            (
                "[port.all]\nprobe_priority = true\n[[background]]\nload = 0.5\n",
                "found true; remove it, or name other ports in background.0.on",
            ),
        ] {
            let why = traffic(text).unwrap_err();
            assert!(why.contains(says), "{why}");
        }
        // Other ports of the network are free.
        let others =
            "[port.\"r1->r2\"]\nprobe_priority = true\n[[background]]\non = \"r0->r1\"\nload = 0.5\n";
        assert!(traffic(others).is_ok());
        assert!(traffic("[port.all]\ndiscipline = \"codel\"\n[[background]]\nload = 0.5\n").is_ok());
    }

    #[test]
    fn ports_of_a_constellation_are_refused_before_they_appear() {
        let build = |ports: &str, on: &str| {
            let text = format!(
                "[run]\nduration = \"10 s\"\n[source.constellation]\npreset = \"iridium\"\n\
                 [node.a]\nkind = \"terminal\"\nplace = \"London\"\n[node.b]\nkind = \"terminal\"\nplace = \"Paris\"\n\
                 {ports}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\ncc = \"cubic\"\n[[background]]\non = {on:?}\nload = 0.5\n"
            );
            let s = Scenario::parse(&text, "test", Path::new(""), &[]).map_err(|e| e.to_string())?;
            World::build(Arc::new(s), 1).map(|_| ()).map_err(|e| e.to_string())
        };
        let ground = "[port.ground]\nprobe_priority = true";
        for on in ["a->*", "*->b", "*", "bottleneck"] {
            let why = build(ground, on).unwrap_err();
            assert!(why.contains("test:12: port.ground.probe_priority: no "), "{on}: {why}");
        }
        let isl = "[port.isl]\ndiscipline = \"fq_codel\"";
        assert!(build(isl, "*->*").unwrap_err().contains("port.isl.discipline"));
        assert!(build(isl, "*->b").is_ok() && build("", "*").is_ok());
    }

    #[test]
    fn patterns_meet_where_a_text_matches_both() {
        let all = [
            ("a->*", "*->b", true),
            ("a*", "b*", false),
            ("*", "", true),
            ("a", "a", true),
            ("*a", "b*", true),
            ("ab", "a", false),
        ];
        for (a, b, expected) in all {
            assert_eq!(super::meet(a.as_bytes(), b.as_bytes()), expected, "{a} {b}");
            assert_eq!(super::meet(b.as_bytes(), a.as_bytes()), expected, "{b} {a}");
        }
    }
}
