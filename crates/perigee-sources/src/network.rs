// SPDX-License-Identifier: Apache-2.0 OR MIT
//! User-defined networks: links between named nodes, with rates, delays and losses that may change,
//! and routes that are computed (smallest delay) or given.

use crate::line_error::{lines, TraceError};
use crate::topology::{Built, Drawing, Hop, TopologyError};
use perigee_timeline::*;
use perigee_units::{names, BitRate, Nanos};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Upper bounds of plausible values.
const MOST_MBPS: f64 = 1e7;
const MOST_MS: f64 = 1e5;
const MOST_S: f64 = 604_800.0;

/// Properties of a link from a time on. They apply to both directions, unless another row specifies
/// the reverse one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkRow {
    /// Names of its ends.
    pub ends: [String; 2],
    /// Start time.
    pub at: Nanos,
    /// Rate of its transmitter.
    pub rate: Option<BitRate>,
    /// One-way propagation delay.
    pub delay: Option<Nanos>,
    /// Probability of random loss.
    pub loss: Option<f64>,
    /// Limit of its queue.
    pub queue_packets: Option<u64>,
    /// Line in the file, for messages.
    pub line: usize,
}

const COLUMNS: [&str; 7] = ["from", "to", "t_s", "rate_mbps", "delay_ms", "loss_pct", "queue_packets"];

/// Parses links as CSV: the first line names the columns, `from` and `to` and any of `t_s`,
/// `rate_mbps`, `delay_ms`, `loss_pct`, `queue_packets`. An empty cell leaves the value unchanged.
///
/// # Errors
/// The first line that cannot be parsed, with the expected contents.
pub fn parse_links(text: &str) -> Result<Vec<LinkRow>, TraceError> {
    let mut all = lines(text);
    let Some((n, head)) = all.next() else { return Err(TraceError::at(1, "the file is empty")) };
    let names: Vec<&str> = head.split(',').map(str::trim).collect();
    if let Some(strange) = names.iter().find(|c| !COLUMNS.contains(c)) {
        let why =
            format!("{strange:?} is no column of links; units are part of the names: {}", COLUMNS.join(", "));
        return Err(TraceError::at(n, why));
    }
    for needed in ["from", "to"] {
        if !names.contains(&needed) {
            return Err(TraceError::at(n, format!("the column {needed} is missing")));
        }
    }
    let rows: Result<Vec<_>, _> = all.map(|(n, line)| row(&names, n, line)).collect();
    let rows = rows?;
    match rows.is_empty() {
        true => Err(TraceError::at(n, "there is nothing below the names of the columns")),
        false => Ok(rows),
    }
}

fn row(names: &[&str], n: usize, line: &str) -> Result<LinkRow, TraceError> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    if cells.len() != names.len() {
        return Err(TraceError::at(n, format!("{} values for {} columns", cells.len(), names.len())));
    }
    let mut found = LinkRow { line: n, ..LinkRow::default() };
    for (name, cell) in names.iter().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
        let number = |most: f64| match cell.parse::<f64>() {
            Ok(v) if (0.0..=most).contains(&v) => Ok(v),
            _ => Err(TraceError::at(n, format!("{name} is {cell:?}: a number from 0 to {most} is expected"))),
        };
        match *name {
            "from" => found.ends[0] = cell.into(),
            "to" => found.ends[1] = cell.into(),
            "t_s" => found.at = Nanos::from_secs_f64(number(MOST_S)?),
            "rate_mbps" => found.rate = Some(BitRate((number(MOST_MBPS)? * 1e6) as u64)),
            "delay_ms" => found.delay = Some(Nanos::from_secs_f64(number(MOST_MS)? / 1e3)),
            "loss_pct" => found.loss = Some(number(100.0)? / 100.0),
            _ => found.queue_packets = Some(number(1e9)? as u64),
        }
    }
    for end in &found.ends {
        fit(n, end)?;
    }
    match found.ends.iter().any(String::is_empty) || found.ends[0] == found.ends[1] {
        true => Err(TraceError::at(n, "a link needs two different ends")),
        false => Ok(found),
    }
}

/// Parses routes: the nodes of each route from end to end, separated by commas. The reverse path is
/// the reversed route, unless also given.
///
/// # Errors
/// A line with fewer than two nodes.
pub fn parse_routes(text: &str) -> Result<Vec<Vec<String>>, TraceError> {
    let route = |(n, line): (usize, &str)| {
        let nodes: Vec<String> = line.split(',').map(|c| c.trim().to_string()).collect();
        nodes.iter().try_for_each(|name| fit(n, name))?;
        match nodes.len() < 2 || nodes.iter().any(String::is_empty) {
            true => Err(TraceError::at(n, "a route has two nodes at least, with a comma between them")),
            false => Ok(nodes),
        }
    };
    lines(text).map(route).collect()
}

fn fit(line: usize, name: &str) -> Result<(), TraceError> {
    names::check(name).map_err(|why| TraceError::at(line, format!("the name {name:?} {why}")))
}

/// Initial properties of a link's port from its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Given {
    /// Rate of the port.
    pub rate: Option<BitRate>,
    /// Length of the port's queue in packets.
    pub queue_packets: Option<u64>,
}

/// A network with its own changes; `given` has an entry for each port.
#[derive(Debug)]
pub struct Own {
    /// Nodes, links and routes.
    pub built: Built,
    /// Later changes of links.
    pub changes: Vec<Timed>,
    /// Initial properties of each port.
    pub given: Vec<Given>,
    made: BTreeMap<[NodeId; 2], Made>,
}

impl Own {
    /// Route changes that result from `changes` (of delays, and of links that go down and up):
    /// routes minimise the sum of delays over links that are up, and take effect `after` each
    /// change.
    pub fn reroute(&self, changes: &[Timed], after: Nanos) -> Vec<Timed> {
        let header = &self.built.header;
        let mut delays: Vec<Nanos> = header.links.iter().map(|l| l.delay.base).collect();
        let mut down = vec![false; delays.len()];
        let mut sorted: Vec<&Timed> = changes.iter().collect();
        sorted.sort_by_key(|c| c.at);
        let mut now: Vec<Option<Vec<LinkId>>> = vec![None; header.pairs.len()];
        for flow in &self.built.flows {
            for (pair, hops) in [flow.forward, flow.reverse].into_iter().zip(&flow.hops) {
                now[pair.ix()] = Some(hops.iter().map(|h| h.link).collect());
            }
        }
        let mut found = Vec::new();
        for of_instant in sorted.chunk_by(|a, b| a.at == b.at) {
            let before = (delays.clone(), down.clone());
            for c in of_instant {
                match c.change {
                    Change::Delay(link, delay) => delays[link.ix()] = delay.base,
                    Change::Down(link, _) => down[link.ix()] = true,
                    Change::Up(link) => down[link.ix()] = false,
                    _ => {}
                }
            }
            if (&before.0, &before.1) == (&delays, &down) {
                continue;
            }
            let usable = |i: usize| if down[i] { Nanos::MAX } else { delays[i] };
            let usable: Vec<Nanos> = (0..delays.len()).map(usable).collect();
            let map = Map { made: &self.made, delays: &usable, nodes: header.nodes.len() };
            for (i, pair) in header.pairs.iter().enumerate() {
                let way = map.shortest(pair.from, pair.to).and_then(|ids| map.hops(&ids, &[]).ok());
                let way: Option<Vec<LinkId>> = way.map(|hops| hops.iter().map(|h| h.link).collect());
                if way != now[i] {
                    let at = of_instant[0].at + after;
                    found.extend(moved(PairId(i as u32), now[i].is_some(), &way, &delays, at));
                    now[i] = way;
                }
            }
        }
        found
    }
}

/// New path of a pair, and a note about it (once for both directions, at the forward one, which has
/// an even number).
fn moved(
    pair: PairId,
    had: bool,
    way: &Option<Vec<LinkId>>,
    delays: &[Nanos],
    at: Nanos,
) -> impl Iterator<Item = Timed> {
    let kind = match (had, way.is_some()) {
        (_, false) => NoteKind::Unreachable,
        (false, true) => NoteKind::Reachable,
        (true, true) => NoteKind::PathChange,
    };
    let one_way: u64 = way.iter().flatten().map(|l| delays[l.ix()].0).sum();
    let value = 2.0 * Nanos(one_way).as_secs_f64();
    let note = Note { kind, node: None, pair: Some(pair), value, text: String::new() };
    let path = Change::Path(pair, way.as_ref().map(|links| links.as_slice().into()));
    let note = (pair.0 % 2 == 0).then_some(Change::Note(note));
    std::iter::once(path).chain(note).map(move |change| Timed { at, change })
}

fn wrong<T>(row: &LinkRow, why: &str) -> Result<T, TopologyError> {
    let line = if row.line > 0 { format!("line {}: ", row.line) } else { String::new() };
    Err(TopologyError(format!("{line}link {} -> {}: {why}", row.ends[0], row.ends[1])))
}

/// Builds the network with traffic between `pairs`.
///
/// # Errors
/// Nodes and links that do not exist, pairs without a route, or rows that contradict each other.
pub fn network(
    rows: &[LinkRow],
    routes: &[Vec<String>],
    pairs: &[(String, String)],
) -> Result<Own, TopologyError> {
    let Laid { mut d, nodes, made, given, changes, delays } = lay(rows)?;
    let id = |name: &String| {
        nodes.get(name.as_str()).copied().ok_or_else(|| {
            let some: Vec<&str> = nodes.keys().take(8).copied().collect();
            TopologyError(format!("no link ends at a node {name:?}; there are {}", some.join(", ")))
        })
    };
    let map = Map { made: &made, delays: &delays, nodes: nodes.len() };
    let mut fixed: BTreeMap<[NodeId; 2], Vec<NodeId>> = BTreeMap::new();
    for route in routes {
        let ids = route.iter().map(id).collect::<Result<Vec<_>, _>>()?;
        map.hops(&ids, route)?;
        fixed.insert([ids[0], ids[ids.len() - 1]], ids);
    }
    let mut ways = Vec::new();
    for (from, to) in pairs {
        let (a, b) = (id(from)?, id(to)?);
        let turned = |ids: &Vec<NodeId>| ids.iter().rev().copied().collect();
        let way = |a: NodeId, b: NodeId| -> Result<Vec<NodeId>, TopologyError> {
            let found = fixed.get(&[a, b]).cloned().or_else(|| fixed.get(&[b, a]).map(turned));
            found
                .or_else(|| map.shortest(a, b))
                .ok_or_else(|| TopologyError(format!("no links lead from {from:?} to {to:?}")))
        };
        let (there, back) = (way(a, b)?, way(b, a)?);
        ways.push(((a, b), map.hops(&there, &[])?, map.hops(&back, &[])?));
    }
    for ((a, b), there, back) in ways {
        d.flow_over((a, b), there, back);
    }
    Ok(Own { built: d.finish_as_given("a network of one's own".into()), changes, given, made })
}

/// Delays of the shortest paths from a node to all nodes connected to it, itself included; empty
/// for a node without links.
///
/// # Errors
/// Rows that contradict each other.
pub fn ways_from(rows: &[LinkRow], from: &str) -> Result<BTreeMap<String, Nanos>, TopologyError> {
    let Laid { nodes, made, delays, .. } = lay(rows)?;
    let Some(&start) = nodes.get(from) else { return Ok(BTreeMap::new()) };
    let found = Map { made: &made, delays: &delays, nodes: nodes.len() }.tree(start);
    let reached = nodes.iter().filter_map(|(name, id)| Some((name.to_string(), Nanos(found[id.ix()]?.0))));
    Ok(reached.collect())
}

/// Nodes and links without routes; `given` has an entry for each port, `delays` for each link.
struct Laid<'a> {
    d: Drawing,
    nodes: BTreeMap<&'a str, NodeId>,
    made: BTreeMap<[NodeId; 2], Made>,
    given: Vec<Given>,
    changes: Vec<Timed>,
    delays: Vec<Nanos>,
}

fn lay(rows: &[LinkRow]) -> Result<Laid<'_>, TopologyError> {
    let mut d = Drawing::default();
    let mut nodes: BTreeMap<&str, NodeId> = BTreeMap::new();
    let mut made: BTreeMap<[NodeId; 2], Made> = BTreeMap::new();
    let (mut given, mut changes, mut delays) = (Vec::new(), Vec::new(), Vec::new());
    let mut losses: Vec<f64> = Vec::new();
    for row in rows {
        let ends = [0, 1].map(|i| {
            let name = row.ends[i].as_str();
            *nodes.entry(name).or_insert_with(|| d.node(name.into(), NodeClass::Router))
        });
        let Some(&Made { hop, opposite, named }) = made.get(&ends) else {
            if row.at > Nanos::ZERO {
                return wrong(row, "its first row must be of time 0");
            }
            let Some(delay) = row.delay else { return wrong(row, "no delay is given") };
            let port = PortSpec::default();
            let both = d.duplex((ends[0], ends[1]), &port, &port, 0.0, LinkOrder::Fifo);
            made.insert(ends, Made { hop: both.forward, opposite: both.reverse, named: true });
            made.insert([ends[1], ends[0]], Made { hop: both.reverse, opposite: both.forward, named: false });
            d.bottlenecks.push(both);
            given.extend([Given { rate: row.rate, queue_packets: row.queue_packets }; 2]);
            let loss = row.loss.unwrap_or(0.0);
            delays.extend([delay; 2]);
            losses.extend([loss; 2]);
            for hop in [both.forward, both.reverse] {
                d.set_link(hop.link, delay, loss);
            }
            continue;
        };
        if row.at == Nanos::ZERO {
            if named {
                return wrong(row, "it is there already");
            }
            // The reverse direction has a separate row.
            let own = &mut given[hop.port.ix()];
            *own =
                Given { rate: row.rate.or(own.rate), queue_packets: row.queue_packets.or(own.queue_packets) };
            let link = hop.link.ix();
            delays[link] = row.delay.unwrap_or(delays[link]);
            losses[link] = row.loss.unwrap_or(losses[link]);
            d.set_link(hop.link, delays[link], losses[link]);
            continue;
        }
        if row.queue_packets.is_some() {
            return wrong(row, "queues do not change with time");
        }
        let mut change = |c: Change| changes.push(Timed { at: row.at, change: c });
        for hop in [hop, opposite].into_iter().take(1 + usize::from(named)) {
            row.rate.into_iter().for_each(|r| change(Change::Rate(hop.port, r)));
            row.delay.into_iter().for_each(|t| change(Change::Delay(hop.link, Delay::constant(t))));
            row.loss.into_iter().for_each(|p| change(Change::Loss(hop.link, p)));
        }
    }
    Ok(Laid { d, nodes, made, given, changes, delays })
}

/// A direction of a link.
#[derive(Clone, Copy, Debug)]
struct Made {
    hop: Hop,
    opposite: Hop,
    /// Whether the first row of the link has its ends in this order: later rows in this order apply
    /// to both directions.
    named: bool,
}

/// Graph for the search of routes.
struct Map<'a> {
    made: &'a BTreeMap<[NodeId; 2], Made>,
    delays: &'a [Nanos],
    nodes: usize,
}

impl Map<'_> {
    fn hops(&self, ids: &[NodeId], names: &[String]) -> Result<Vec<Hop>, TopologyError> {
        let hop = |(i, w): (usize, &[NodeId])| {
            let missing = || {
                TopologyError(format!(
                    "route {}: there is no link {} -> {}",
                    names.join(","),
                    names[i],
                    names[i + 1]
                ))
            };
            self.made.get(&[w[0], w[1]]).map(|m| m.hop).ok_or_else(missing)
        };
        ids.windows(2).enumerate().map(hop).collect()
    }

    /// Dijkstra's algorithm over delays; ties go to the path with fewer links, then to the one with
    /// smaller node numbers.
    fn shortest(&self, from: NodeId, to: NodeId) -> Option<Vec<NodeId>> {
        let best = self.tree(from);
        let mut way = vec![to];
        while way[way.len() - 1] != from {
            way.push(best[way[way.len() - 1].ix()]?.2);
        }
        way.reverse();
        Some(way)
    }

    /// Delay, number of links and predecessor of each reachable node.
    fn tree(&self, from: NodeId) -> Vec<Option<(u64, u32, NodeId)>> {
        let mut best: Vec<Option<(u64, u32, NodeId)>> = vec![None; self.nodes];
        let mut heap = BinaryHeap::from([Reverse((0u64, 0u32, from, from))]);
        while let Some(Reverse((cost, links, here, before))) = heap.pop() {
            if best[here.ix()].is_some() {
                continue;
            }
            best[here.ix()] = Some((cost, links, before));
            for ([_, next], made) in self.made.range([here, NodeId(0)]..=[here, NodeId(u32::MAX)]) {
                let delay = self.delays[made.hop.link.ix()];
                // `Nanos::MAX` marks a link that is down.
                if delay < Nanos::MAX {
                    heap.push(Reverse((cost + delay.0, links + 1, *next, here)));
                }
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINKS: &str = "from,to,rate_mbps,delay_ms,loss_pct,t_s\na,b,10,5,,\nb,c,20,5,1,\na,c,5,20,,\nc,b,2,6,,\na,b,1,7,,2.5\n";

    fn ends(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect()
    }

    fn names(own: &Own, way: usize) -> Vec<&str> {
        let h = &own.built.header;
        own.built.flows[0].hops[way].iter().map(|hop| h.ports[hop.port.ix()].name.as_str()).collect()
    }

    #[test]
    fn routes_have_the_smallest_delay_and_directions_may_differ() {
        let own = network(&parse_links(LINKS).unwrap(), &[], &ends(&[("a", "c")])).unwrap();
        assert_eq!(names(&own, 0), ["a->b", "b->c"]);
        assert_eq!(names(&own, 1), ["c->b", "b->a"]);
        let rate = |name: &str| {
            let i = own.built.header.ports.iter().position(|p| p.name == name).unwrap();
            own.given[i].rate.unwrap().0
        };
        assert_eq!((rate("b->c"), rate("c->b"), rate("a->b")), (20_000_000, 2_000_000, 10_000_000));
        assert_eq!(own.changes.len(), 4, "rate and delay, both ways");
        assert!(own.changes.iter().all(|c| c.at == Nanos::from_millis(2500)));
        let losses = |i: usize| own.built.header.links[i].loss;
        assert_eq!((losses(2), losses(3)), (0.01, 0.01), "the row of the way back says nothing of loss");
    }

    #[test]
    fn routes_may_be_given() {
        let rows = parse_links(LINKS).unwrap();
        let own = network(&rows, &parse_routes("a,c\n").unwrap(), &ends(&[("a", "c")])).unwrap();
        assert_eq!((names(&own, 0), names(&own, 1)), (vec!["a->c"], vec!["c->a"]));
        let e = network(&rows, &parse_routes("a,c,a\na,x\n").unwrap(), &ends(&[("a", "c")])).unwrap_err();
        assert!(e.0.contains("no link ends at a node \"x\"; there are a, b, c"), "{e}");
    }

    #[test]
    fn routes_follow_what_changes() {
        let own = network(&parse_links(LINKS).unwrap(), &[], &ends(&[("a", "c")])).unwrap();
        let s = Nanos::from_secs;
        let link = |name: &str| {
            let h = &own.built.header;
            let port = h.ports.iter().position(|p| p.name == name).unwrap();
            LinkId(h.links.iter().position(|l| l.port.ix() == port).unwrap() as u32)
        };
        let (ab, bc, ac) = (link("a->b"), link("b->c"), link("a->c"));
        let changes = [
            Timed { at: s(1), change: Change::Down(bc, OutageMode::Flush) },
            Timed { at: s(2), change: Change::Down(ac, OutageMode::Flush) },
            Timed { at: s(3), change: Change::Up(bc) },
            // 14 ms via b are still less than 20.
            Timed { at: s(4), change: Change::Delay(ab, Delay::constant(Nanos::from_millis(9))) },
            Timed { at: s(5), change: Change::Rate(PortId(0), BitRate(1)) },
        ];
        let found = own.reroute(&changes, Nanos::from_millis(500));
        let ms = |t: &Timed| t.at.0 / 1_000_000;
        let paths: Vec<_> = found
            .iter()
            .filter_map(|t| match &t.change {
                Change::Path(pair, path) => Some((ms(t), pair.0, path.as_ref().map(|p| p.to_vec()))),
                _ => None,
            })
            .collect();
        assert_eq!(paths, [(1500, 0, Some(vec![ac])), (2500, 0, None), (3500, 0, Some(vec![ab, bc])),]);
        let notes: Vec<_> = found
            .iter()
            .filter_map(|t| match &t.change {
                Change::Note(n) => Some((n.kind, n.value)),
                _ => None,
            })
            .collect();
        let kinds = [NoteKind::PathChange, NoteKind::Unreachable, NoteKind::Reachable];
        assert_eq!(notes.iter().map(|n| n.0).collect::<Vec<_>>(), kinds);
        assert!((notes[0].1 - 0.04).abs() < 1e-12);
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, says) in [
            ("from,to,rate\n", "line 1: \"rate\" is no column of links; units"),
            ("from,rate_mbps\n", "line 1: the column to is missing"),
            ("from,to,delay_ms\na,b,x\n", "line 2: delay_ms is \"x\""),
            ("from,to,delay_ms\na,a,1\n", "line 2: a link needs two different ends"),
            ("from,to,delay_ms\na,b\n", "line 2: 2 values for 3 columns"),
            ("from,to,delay_ms\n", "nothing below"),
        ] {
            let e = parse_links(text).unwrap_err().to_string();
            assert!(e.contains(says), "{e}");
        }
        for (text, says) in [
            ("from,to,delay_ms\na,b,1\na,b,2\n", "line 3: link a -> b: it is there already"),
            ("from,to,t_s,delay_ms\na,b,1,2\n", "must be of time 0"),
            ("from,to\na,b\n", "no delay is given"),
            ("from,to,delay_ms\na,b,1\nc,d,1\n", "no links lead from \"a\" to \"c\""),
        ] {
            let e = network(&parse_links(text).unwrap(), &[], &ends(&[("a", "c")])).unwrap_err();
            assert!(e.0.contains(says), "{e}");
        }
    }
}
