// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[source.network]`: a user-defined network.

use crate::file::error::{Problem, ScenarioError};
use crate::file::scenario::Scenario;
use crate::file::sources;
use crate::file::sources::is_graphml;
use crate::file::suggestions;
use crate::file::vary::Varied;
use crate::world::changes;
use crate::world::graph;
use crate::world::network::Network;
use crate::world::ports::{apply_settled, PortTable, Settled};
use crate::world::small;
use perigee_sources::network::{network, parse_links, parse_routes, LinkRow, Own};
use perigee_units::files;
use std::collections::BTreeSet;

/// Builds the network, with traffic between the ends of the scenario's flows.
///
/// # Errors
/// Unreadable files, nodes without a link, links without a rate.
pub fn build(scenario: &Scenario, n: &sources::Network, seed: u64) -> Result<Network, ScenarioError> {
    let read = |key: &str, file: &crate::file::field::Named| {
        files::read(&file.path)
            .map_err(|why| Problem::new(format!("source.network.{key}"), why).at(&file.place))
    };
    let damaged = |key: &str, file: &crate::file::field::Named, why: String| {
        let what = format!("{}: {why}", file.path.display());
        Problem::new(format!("source.network.{key}"), what).at(&file.place)
    };
    let mut remarks = Vec::new();
    let mut rows = match &n.links {
        None => Vec::new(),
        Some(file) => {
            let text = read("links", file)?;
            let found = match is_graphml(&file.path) {
                true => graph::links(&text, n.delay, &mut remarks),
                false => parse_links(&text).map_err(|e| e.to_string()),
            };
            found.map_err(|why| damaged("links", file, why))?
        }
    };
    rows.extend(n.link.iter().map(row));
    let routes = match &n.routes {
        None => Vec::new(),
        Some(file) => {
            parse_routes(&read("routes", file)?).map_err(|e| damaged("routes", file, e.to_string()))?
        }
    };
    let wrong = |why: String| match &n.links {
        Some(file) => damaged("links", file, why),
        None => Problem::new("source.network.link", why).at(n.link.first().map_or(n.place(), |l| l.place())),
    };
    ends_exist(scenario, &rows)?;
    let own = network(&rows, &routes, &pairs(scenario)?).map_err(|e| wrong(e.0))?;
    let net = finish(scenario, own, n, seed, &wrong)?;
    Ok(Network { report: [net.report, remarks].concat(), ..net })
}

/// Where to specify a missing rate, which depends on the kind of input.
fn add_rate(n: &sources::Network) -> &'static str {
    match &n.links {
        Some(file) if is_graphml(&file.path) => "add rate_mbps or LinkSpeedRaw to the edges",
        Some(_) => "add a column rate_mbps",
        None => "add rate to each [[source.network.link]]",
    }
}

/// # Errors
/// Rejects the first flow with an end that is not on any link, and suggests the most similar name.
fn ends_exist(scenario: &Scenario, rows: &[LinkRow]) -> Result<(), ScenarioError> {
    let names: BTreeSet<&str> = rows.iter().flat_map(|row| &row.ends).map(String::as_str).collect();
    for flow in &scenario.flows {
        let (Some((from, to)), place) = (&flow.ends, &flow.place) else { continue };
        for (key, name) in [("flow.from", from), ("flow.to", to)] {
            if names.contains(name.as_str()) {
                continue;
            }
            let some: Vec<&str> = names.iter().take(12).copied().collect();
            let more = if names.len() > some.len() { ", …" } else { "" };
            let all = || format!("nodes: {}{more}", some.join(", "));
            let hint = suggestions::hint(name, names.iter().copied()).unwrap_or_else(all);
            return Err(Problem::new(key, format!("no link ends at a node {name:?}"))
                .at(place)
                .hint(hint)
                .into());
        }
    }
    Ok(())
}

fn row(l: &sources::Link) -> LinkRow {
    LinkRow {
        ends: [l.from.clone(), l.to.clone()],
        at: l.at,
        rate: l.rate,
        delay: l.delay,
        loss: l.loss,
        queue_packets: l.queue,
        line: 0,
    }
}

/// Pairs of nodes connected by flows, without duplicates, in the order of the flows.
fn pairs(scenario: &Scenario) -> Result<Vec<(String, String)>, ScenarioError> {
    let mut found: Vec<(String, String)> = Vec::new();
    for flow in &scenario.flows {
        let Some((a, b)) = &flow.ends else {
            let p = Problem::new(
                "flow.from",
                "required key is missing: a user-defined network has no default pairs",
            );
            return Err(p.at(&flow.place).into());
        };
        if !found.iter().any(|(x, y)| (x, y) == (a, b) || (x, y) == (b, a)) {
            found.push((a.clone(), b.clone()));
        }
    }
    Ok(found)
}

fn finish(
    scenario: &Scenario,
    own: Own,
    n: &sources::Network,
    seed: u64,
    wrong: &dyn Fn(String) -> Problem,
) -> Result<Network, ScenarioError> {
    for c in &scenario.changes {
        let hint = "name a link, such as on = \"a->b\", and set its one-way delay with delay";
        if c.on == "bottleneck" || c.to.rtt.is_some() {
            let (key, why) = if c.to.rtt.is_some() {
                ("rtt", "not supported by this source: flows have different paths")
            } else {
                ("on", "a user-defined network has no bottleneck")
            };
            return Err(Problem::new(format!("change.{key}"), why).at(&c.place).hint(hint).into());
        }
    }
    let mut all = own.changes.clone();
    all.extend(changes::expand(scenario, &own.built, scenario.run.vary.seed_of(Varied::Changes, seed))?);
    if let Some(after) = n.reroute() {
        all.extend(own.reroute(&all, after));
    }
    let Own { built, given, .. } = own;
    let all_whole = built.flows.len();
    let network = small::finish(scenario, built, all_whole, all, |header, ways| {
        let table = PortTable::new(&scenario.ports, &["link"], &header.ports)?;
        let settled: Result<Vec<Settled>, String> =
            header.ports.iter().zip(&given).map(|(p, g)| table.of_row(&p.name, g)).collect();
        let settled =
            settled.map_err(|why| wrong(why).hint(format!("{}, or rate to [port.link]", add_rate(n))))?;
        let base_rtts = apply_settled(header, &settled, ways);
        Ok((base_rtts, table.report(&header.ports, &vec!["link"; header.ports.len()])))
    })?;
    let (nodes, links) = (network.header.nodes.len(), network.header.links.len());
    Ok(Network { report: vec![format!("{nodes} nodes, {links} links")], ..network })
}

#[cfg(test)]
mod tests {
    use crate::{Scenario, World};
    use std::sync::Arc;

    fn world(links: &str, more: &str) -> Result<World, String> {
        let folder = std::env::temp_dir().join(format!(
            "perigee-network-{}-{}",
            std::process::id(),
            links.len() + more.len()
        ));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("links.csv"), links).unwrap();
        let text = format!(
            "[run]\nduration = \"4 s\"\n[source.network]\nlinks = \"links.csv\"\n{more}\n\
             [[flow]]\nfrom = \"a\"\nto = \"c\"\ncc = \"cubic\"\n[[flow]]\nfrom = \"c\"\nto = \"a\"\ncc = \"cubic\"\n"
        );
        let s = Scenario::parse(&text, "t.toml", &folder, &[]).map_err(|e| e.to_string());
        let found = s.and_then(|s| World::build(Arc::new(s), 1).map_err(|e| e.to_string()));
        std::fs::remove_dir_all(&folder).unwrap();
        found
    }

    const LINKS: &str = "from,to,rate_mbps,delay_ms\na,b,8,10\nb,c,80,5\n";

    #[test]
    fn rows_ports_and_changes_come_together() {
        let more = "[port.link]\nqueue = \"10 packets\"\n[port.\"b->c\"]\nrate = \"4 Mbit\"\n[[change]]\nat = \"1 s\"\non = \"a->b\"\nrate = \"1 Mbit\"";
        let w = world(LINKS, more).unwrap();
        let rate = |name: &str| w.header.ports.iter().find(|p| p.name == name).unwrap().spec.rate.0;
        assert_eq!(
            (rate("a->b"), rate("b->a"), rate("b->c"), rate("c->b")),
            (8_000_000, 8_000_000, 4_000_000, 80_000_000)
        );
        assert_eq!((w.flows[0].hops, w.flows[1].hops), (2, 2));
        // 1500 bytes at 8 and at 4 Mbit/s take 1.5 and 3 ms, 52 bytes at 80 and at 8 Mbit/s 5.2 and
        // 52 us; propagation takes 30 ms.
        assert_eq!(w.flows[0].base_rtt.unwrap().0, 34_557_200);
        let t = w.whole_timeline().unwrap();
        let rates: Vec<_> = t.chunks[0]
            .changes
            .iter()
            .filter_map(|c| match c.change {
                perigee_timeline::Change::Rate(port, rate) => {
                    Some((c.at.0, t.header.ports[port.ix()].name.as_str(), rate.0))
                }
                _ => None,
            })
            .collect();
        assert_eq!(rates, [(1_000_000_000, "a->b", 1_000_000)]);
    }

    #[test]
    fn links_may_stand_in_the_scenario_and_routes_follow_changes() {
        let link = |from: &str, to: &str, ms: u32| {
            format!("[[source.network.link]]\nfrom = {from:?}\nto = {to:?}\nrate = \"8 Mbit\"\ndelay = \"{ms} ms\"\n")
        };
        let later = "[[source.network.link]]\nfrom = \"a\"\nto = \"b\"\nat = \"1 s\"\ndelay = \"40 ms\"\n";
        let text = format!(
            "[run]\nduration = \"4 s\"\n[source.network]\nreroute = \"changes\"\nreroute_after = \"100 ms\"\n{}{}{}{later}\
             [[change]]\nat = \"2 s\"\non = \"a->c\"\noutage = \"500 ms\"\n\
             [[flow]]\nfrom = \"a\"\nto = \"c\"\ncc = \"cubic\"\n",
            link("a", "b", 5),
            link("b", "c", 5),
            link("a", "c", 20)
        );
        let s = Scenario::parse(&text, "t.toml", std::path::Path::new(""), &[]).unwrap();
        let w = World::build(Arc::new(s), 1).unwrap();
        assert_eq!(w.flows[0].hops, 2);
        let t = w.whole_timeline().unwrap();
        let forward = t.chunks[0].changes.iter().filter_map(|c| match &c.change {
            perigee_timeline::Change::Path(pair, Some(path)) if pair.0 == 0 => {
                Some((c.at.0 / 1_000_000, path.len()))
            }
            _ => None,
        });
        // From 1 s on via b, in 45 ms; from 2 s to 2.5 s a->c is down.
        assert_eq!(forward.collect::<Vec<_>>(), [(0, 2), (1100, 1), (2100, 2), (2600, 1)]);
        let wrong = text.replace("at = \"1 s\"\n", "");
        let s = Scenario::parse(&wrong, "t.toml", std::path::Path::new(""), &[]).unwrap();
        let e = World::build(Arc::new(s), 1).err().unwrap().to_string();
        assert!(e.contains("t.toml") && e.contains("a -> b: it is there already"), "{e}");
    }

    #[test]
    fn what_is_missing_is_said() {
        let e = world("from,to,delay_ms\na,b,1\nb,c,1\n", "").err().unwrap();
        assert!(e.contains("no rate is given for a->b") && e.contains("[port.link]"), "{e}");
        let e = world("from,to,rate_mbps,delay_ms\na,b,1,1\n", "").err().unwrap();
        assert!(e.contains("no link ends at a node \"c\""), "{e}");
        let e = world(LINKS, "[[change]]\nat = \"1 s\"\nrate = \"1 Mbit\"").err().unwrap();
        assert!(e.contains("has no bottleneck"), "{e}");
    }
}
