// SPDX-License-Identifier: Apache-2.0 OR MIT
//! LeoEM path logs: one path per second, with the delay of each link.
//!
//! A line is `cycle$[nodes]$count$[delays]$sum`: seconds from 1, node numbers from end 1 (-1) to
//! end 2 (-2), their count, one-way delays in seconds (one fewer), and their sum; a second without
//! a path is `cycle$NULL`. Delays apply to their second and are replayed unchanged. (Two defects of
//! their generator make the delays of the published logs too small; a replay keeps them.) The logs
//! do not contain the emulator's outages at handovers: [`leoem_outages`](crate::leoem_outages) adds
//! them.

use crate::leoem_outages::Breaks;
use crate::line_error::{lines, number, TraceError};
use perigee_timeline::*;
use perigee_units::Nanos;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Nodes of end 1 and end 2 in a log.
const ENDS: [i64; 2] = [-1, -2];
/// Hosts attached to the ends, if these are separate nodes.
const HOSTS: [i64; 2] = [-3, -4];
/// Maximum plausible one-way delay of a link.
const MAX_DELAY_S: f64 = 10.0;

/// The path of one second.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedPath {
    /// From end 1 to end 2, both included.
    pub nodes: Vec<i64>,
    /// One-way delay of each link.
    pub delays: Vec<Nanos>,
}

impl LoggedPath {
    /// Round-trip time without queues and serialisation.
    pub fn rtt(&self) -> Nanos {
        self.delays.iter().fold(Nanos::ZERO, |sum, d| sum + *d) * 2
    }
}

/// A log: line `i` is second `i`; `None` = no path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathLog {
    /// One entry per second.
    pub seconds: Vec<Option<LoggedPath>>,
}

/// Representation of the hops of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hops {
    /// Hop `k` is the `k`-th position of a chain, regardless of the satellite at that position: its
    /// queue survives a change of satellites, as in LeoEM's emulator.
    #[default]
    Positions,
    /// Each node of the log is a node, and each link has its own queue.
    Nodes,
}

/// Options of the conversion of a log to a timeline.
#[derive(Clone, Debug, PartialEq)]
pub struct PathOptions {
    /// Representation of hops.
    pub hops: Hops,
    /// Part of the log to skip (full seconds).
    pub first: Nanos,
    /// Length of the timeline; `None` = to the end of the log.
    pub duration: Option<Nanos>,
    /// All ports, in both directions.
    pub port: PortSpec,
    /// Uplink ports of the two ends (LeoEM's dish links have a separate rate); `None` = as the
    /// others.
    pub dish: Option<PortSpec>,
    /// Port of a separate link without delay between a host and its end of the path, as in LeoEM's
    /// emulator; `None` = hosts are the ends.
    pub host: Option<PortSpec>,
    /// Effect of a shrinking delay; LeoEM's emulator reorders.
    pub order: LinkOrder,
    /// Outages when satellites change; `None` = none.
    pub breaks: Option<Breaks>,
}

impl Default for PathOptions {
    fn default() -> Self {
        PathOptions {
            hops: Hops::Positions,
            first: Nanos::ZERO,
            duration: None,
            port: PortSpec::default(),
            dish: None,
            host: None,
            order: LinkOrder::Fifo,
            breaks: None,
        }
    }
}

/// Pair of the data, from end 1 to end 2.
pub const FORWARD: PairId = PairId(0);
/// Pair of the ACKs, from end 2 to end 1.
pub const REVERSE: PairId = PairId(1);

impl PathLog {
    /// Parses a log.
    ///
    /// # Errors
    /// The first line that is malformed, truncated, or out of order.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut seconds = Vec::new();
        for (n, line) in lines(text) {
            let (cycle, rest) =
                line.split_once('$').ok_or_else(|| TraceError::at(n, "there is no $ in it"))?;
            let expected = seconds.len() + 1;
            if cycle.trim().parse() != Ok(expected) {
                return Err(TraceError::at(n, format!("second {cycle:?} where {expected} is due")));
            }
            seconds.push(if rest.trim() == "NULL" { None } else { Some(parse_path(n, rest)?) });
        }
        if seconds.iter().all(Option::is_none) {
            return Err(TraceError::at(seconds.len().max(1), "the log holds no path"));
        }
        Ok(PathLog { seconds })
    }

    /// The log as text, in the format of [`PathLog::parse`].
    pub fn to_text(&self) -> String {
        let line = |(i, second): (usize, &Option<LoggedPath>)| {
            let Some(path) = second else { return format!("{}$NULL\n", i + 1) };
            let list = |items: Vec<String>| format!("[{}]", items.join(", "));
            let nodes = list(path.nodes.iter().map(i64::to_string).collect());
            let delays_s: Vec<f64> = path.delays.iter().map(|d| d.as_secs_f64()).collect();
            let sum: f64 = delays_s.iter().sum();
            let delays = list(delays_s.iter().map(f64::to_string).collect());
            format!("{}${nodes}${}${delays}${sum}\n", i + 1, path.nodes.len())
        };
        self.seconds.iter().enumerate().map(line).collect()
    }

    /// Timeline of a part of the log. Pairs: [`FORWARD`] and [`REVERSE`]; nodes 0 and 1 are the two
    /// ends.
    ///
    /// # Errors
    /// If the log is too short, or has no path in that part.
    pub fn timeline(&self, o: &PathOptions) -> Result<Timeline, String> {
        let skip = o.first.0.div_ceil(Nanos::from_secs(1).0) as usize;
        let rest = self.seconds.get(skip..).unwrap_or(&[]);
        let duration = o.duration.unwrap_or(Nanos::from_secs(rest.len() as u64));
        let needed = duration.0.div_ceil(Nanos::from_secs(1).0) as usize;
        if needed == 0 || needed > rest.len() {
            let have = self.seconds.len();
            return Err(format!("{duration} from {} on are asked of a log of {have} s", o.first));
        }
        let window = &rest[..needed];
        if window.iter().all(Option::is_none) {
            return Err(format!("the log has no path in the {duration} from {} on", o.first));
        }
        let mut replay = Replay::new(o);
        for (s, path) in window.iter().enumerate() {
            replay.second(Nanos::from_secs(s as u64), path.as_ref());
        }
        replay.header.duration = duration;
        Ok(Timeline::single(replay.header, replay.changes))
    }
}

fn parse_path(n: usize, rest: &str) -> Result<LoggedPath, TraceError> {
    let fields: Vec<&str> = rest.split('$').collect();
    let [nodes, count, delays, sum] = fields[..] else {
        return Err(TraceError::at(n, format!("{} fields after the second, not 4", fields.len())));
    };
    let node = |t: &str| {
        t.trim().parse::<i64>().map_err(|_| TraceError::at(n, format!("the node {t:?} is not a number")))
    };
    let nodes: Vec<i64> = list(n, nodes)?.map(node).collect::<Result<_, _>>()?;
    let delays_s: Vec<f64> = list(n, delays)?.map(|t| number(n, t, "delay")).collect::<Result<_, _>>()?;
    if count.trim().parse() != Ok(nodes.len()) {
        return Err(TraceError::at(n, format!("{} nodes, but the line counts {count}", nodes.len())));
    }
    if delays_s.len() + 1 != nodes.len() {
        return Err(TraceError::at(n, format!("{} delays for {} nodes", delays_s.len(), nodes.len())));
    }
    if nodes.len() < 2 || nodes[0] != ENDS[0] || nodes[nodes.len() - 1] != ENDS[1] {
        return Err(TraceError::at(n, "the path does not lead from -1 to -2"));
    }
    let inner = &nodes[1..nodes.len() - 1];
    if inner.iter().enumerate().any(|(i, node)| *node < 0 || inner[..i].contains(node)) {
        return Err(TraceError::at(n, "the path visits a node twice, or an end on its way"));
    }
    if let Some(d) = delays_s.iter().find(|d| **d > MAX_DELAY_S) {
        return Err(TraceError::at(
            n,
            format!("a delay of {d} s: more than {MAX_DELAY_S} s is not believed"),
        ));
    }
    let total: f64 = delays_s.iter().sum();
    if (number(n, sum, "sum")? - total).abs() > 1e-6 {
        return Err(TraceError::at(n, format!("the delays add up to {total}, the line says {sum}")));
    }
    Ok(LoggedPath { nodes, delays: delays_s.into_iter().map(Nanos::from_secs_f64).collect() })
}

fn list(n: usize, text: &str) -> Result<impl Iterator<Item = &str>, TraceError> {
    let inner = text.trim().strip_prefix('[').and_then(|t| t.strip_suffix(']'));
    Ok(inner.ok_or_else(|| TraceError::at(n, format!("{text:?} is not a list in brackets")))?.split(','))
}

/// Builds the timeline second by second.
struct Replay<'a> {
    o: &'a PathOptions,
    header: Header,
    changes: Vec<Timed>,
    nodes: BTreeMap<i64, NodeId>,
    /// Ports by node, and by next node or direction.
    ports: BTreeMap<(NodeId, NodeId), PortId>,
    links: BTreeMap<(NodeId, NodeId), LinkId>,
    delays: BTreeMap<LinkId, Nanos>,
    before: Option<Option<LoggedPath>>,
}

impl<'a> Replay<'a> {
    fn new(o: &'a PathOptions) -> Self {
        let mut replay = Replay {
            o,
            header: Header { title: "recorded path".into(), ..Header::default() },
            changes: Vec::new(),
            nodes: BTreeMap::new(),
            ports: BTreeMap::new(),
            links: BTreeMap::new(),
            delays: BTreeMap::new(),
            before: None,
        };
        let [a, b] = replay.outer().map(|end| replay.node(end));
        replay.header.pairs = vec![Pair { from: a, to: b }, Pair { from: b, to: a }];
        replay
    }

    /// The ends of flows.
    fn outer(&self) -> [i64; 2] {
        if self.o.host.is_some() {
            HOSTS
        } else {
            ENDS
        }
    }

    fn second(&mut self, t: Nanos, path: Option<&LoggedPath>) {
        let before = self.before.replace(path.cloned());
        let begins = before.is_none();
        let before = before.flatten();
        let Some(path) = path else {
            if begins || before.is_some() {
                self.set_paths(t, None);
                self.note(t, NoteKind::Unreachable, None, 0.0, String::new());
            }
            return;
        };
        let nodes = self.vertices(path);
        let same = before.as_ref().is_some_and(|b| b.nodes == path.nodes);
        let ways: [Vec<NodeId>; 2] = [nodes.clone(), nodes.into_iter().rev().collect()];
        let ways = [self.way(&ways[0], ENDS[1]), self.way(&ways[1], ENDS[0])];
        for (way, delays) in
            ways.iter().zip([path.delays.clone(), path.delays.iter().rev().copied().collect()])
        {
            for (&link, delay) in way.iter().zip(delays) {
                self.set_delay(t, link, delay);
            }
        }
        if !same {
            let broken = before.as_ref().zip(self.o.breaks).map(|(b, how)| how.of(t, b, path, &ways));
            let ways = self.with_hosts(ways);
            self.set_paths(t, Some(ways));
            self.changes.extend(broken.into_iter().flatten());
            self.note_change(t, before.as_ref(), path, begins);
        }
    }

    /// Links of both directions, including those of the hosts, if any.
    fn with_hosts(&mut self, [there, back]: [Vec<LinkId>; 2]) -> [Vec<LinkId>; 2] {
        if self.o.host.is_none() {
            return [there, back];
        }
        let mut around = |way: Vec<LinkId>, from: usize, to: usize| {
            let [host, first, last, target] =
                [HOSTS[from], ENDS[from], ENDS[to], HOSTS[to]].map(|key| self.node(key));
            let (first, last) = (self.link(host, first, HOSTS[to]), self.link(last, target, HOSTS[to]));
            [vec![first], way, vec![last]].concat()
        };
        [around(there, 0, 1), around(back, 1, 0)]
    }

    /// The recorded path as nodes of the timeline.
    fn vertices(&mut self, path: &LoggedPath) -> Vec<NodeId> {
        let last = path.nodes.len() - 1;
        let key = |(i, &node): (usize, &i64)| match self.o.hops {
            Hops::Positions if i > 0 && i < last => i as i64,
            _ => node,
        };
        let keys: Vec<i64> = path.nodes.iter().enumerate().map(key).collect();
        keys.into_iter().map(|k| self.node(k)).collect()
    }

    fn node(&mut self, key: i64) -> NodeId {
        let next = NodeId(self.header.nodes.len() as u32);
        let id = *self.nodes.entry(key).or_insert(next);
        if id == next {
            let hosts = self.o.host.is_some();
            let (name, class) = match (key, self.o.hops) {
                (-1 | -2, _) if hosts => (format!("dish{}", -key), NodeClass::Router),
                (-1 | -2, _) => (format!("end{}", -key), NodeClass::Host),
                (-3 | -4, _) => (format!("end{}", -key - 2), NodeClass::Host),
                (k, Hops::Positions) => (format!("hop{k}"), NodeClass::Router),
                (k, Hops::Nodes) => (format!("node{k}"), NodeClass::Satellite),
            };
            self.header.nodes.push(Node { name, class, place: None });
        }
        id
    }

    fn way(&mut self, nodes: &[NodeId], end: i64) -> Vec<LinkId> {
        nodes.windows(2).map(|w| self.link(w[0], w[1], end)).collect()
    }

    /// Link between two nodes, towards `end`.
    fn link(&mut self, from: NodeId, to: NodeId, end: i64) -> LinkId {
        if let Some(&id) = self.links.get(&(from, to)) {
            return id;
        }
        let port = self.port(from, to, end);
        let id = LinkId(self.header.links.len() as u32);
        let (delay, order) = (Delay::default(), self.o.order);
        self.header.links.push(Link { port, to, delay, loss: 0.0, up: true, order });
        self.links.insert((from, to), id);
        id
    }

    /// A position has one port per direction, whichever position or end is next; a node has one
    /// port per link.
    fn port(&mut self, from: NodeId, to: NodeId, end: i64) -> PortId {
        let name = |id: NodeId| self.header.nodes[id.ix()].name.clone();
        let (key, label) = match self.o.hops {
            Hops::Nodes => (to, format!("{}->{}", name(from), name(to))),
            Hops::Positions => {
                let end = self.nodes[&end];
                (end, format!("{} towards {}", name(from), name(end)))
            }
        };
        let next = PortId(self.header.ports.len() as u32);
        let id = *self.ports.entry((from, key)).or_insert(next);
        if id == next {
            let spec = self.spec(from, to);
            self.header.ports.push(Port { name: label, node: from, spec });
        }
        id
    }

    fn spec(&self, from: NodeId, to: NodeId) -> PortSpec {
        let is = |keys: [i64; 2], id| keys.iter().any(|key| self.nodes.get(key) == Some(&id));
        let spec = match (&self.o.host, &self.o.dish) {
            (Some(host), _) if is(HOSTS, from) || is(HOSTS, to) => host,
            (_, Some(dish)) if is(ENDS, from) => dish,
            _ => &self.o.port,
        };
        spec.clone()
    }

    fn set_delay(&mut self, t: Nanos, link: LinkId, delay: Nanos) {
        if self.delays.insert(link, delay) != Some(delay) {
            // The initial delay of a link is also stored in the header, from which queues are
            // sized.
            if self.header.links[link.ix()].delay == Delay::default() {
                self.header.links[link.ix()].delay = Delay::constant(delay);
            }
            self.changes.push(Timed { at: t, change: Change::Delay(link, Delay::constant(delay)) });
        }
    }

    fn set_paths(&mut self, t: Nanos, ways: Option<[Vec<LinkId>; 2]>) {
        for (i, pair) in [FORWARD, REVERSE].into_iter().enumerate() {
            let path = ways.as_ref().map(|w| Arc::from(&w[i][..]));
            self.changes.push(Timed { at: t, change: Change::Path(pair, path) });
        }
    }

    fn note_change(&mut self, t: Nanos, before: Option<&LoggedPath>, path: &LoggedPath, begins: bool) {
        let words = || path.nodes.iter().map(i64::to_string).collect::<Vec<_>>().join(" ");
        let rtt = path.rtt().as_secs_f64();
        let Some(before) = before else {
            if !begins {
                self.note(t, NoteKind::Reachable, None, rtt, words());
            }
            return;
        };
        let last = |p: &LoggedPath| p.nodes[p.nodes.len() - 2];
        if before.nodes[1] != path.nodes[1] {
            let text = format!("{} -> {}", before.nodes[1], path.nodes[1]);
            self.note(t, NoteKind::Handover, Some(NodeId(0)), 0.0, text);
        }
        if last(before) != last(path) {
            let text = format!("{} -> {}", last(before), last(path));
            self.note(t, NoteKind::Handover, Some(NodeId(1)), 0.0, text);
        }
        self.note(t, NoteKind::PathChange, None, rtt, words());
    }

    fn note(&mut self, at: Nanos, kind: NoteKind, node: Option<NodeId>, value: f64, text: String) {
        let pair = if node.is_none() { Some(FORWARD) } else { None };
        self.changes.push(Timed { at, change: Change::Note(Note { kind, node, pair, value, text }) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testdata;
    use perigee_timeline::store::check;

    const LOG: &str = "\
1$[-1, 7, 8, -2]$4$[0.001, 0.002, 0.003]$0.006
2$[-1, 7, 8, -2]$4$[0.001, 0.0025, 0.003]$0.0065
3$NULL
4$[-1, 9, -2]$3$[0.001, 0.004]$0.005
5$[-1, 9, 7, -2]$4$[0.001, 0.004, 0.002]$0.007
";

    fn timeline(hops: Hops) -> Timeline {
        let o = PathOptions { hops, ..PathOptions::default() };
        let t = PathLog::parse(LOG).unwrap().timeline(&o).unwrap();
        check(&t).unwrap();
        t
    }

    fn notes(t: &Timeline) -> Vec<(u64, NoteKind)> {
        let note = |c: &Timed| match &c.change {
            Change::Note(n) => Some((c.at.as_secs_f64() as u64, n.kind)),
            _ => None,
        };
        t.chunks[0].changes.iter().filter_map(note).collect()
    }

    /// RTT of a ping in each second: the sum of link delays in both directions.
    fn rtts(t: &Timeline) -> Vec<Option<Nanos>> {
        let (mut delays, mut paths) = (BTreeMap::new(), BTreeMap::new());
        let mut out = vec![None; (t.header.duration.0 / 1_000_000_000) as usize];
        for (s, rtt) in out.iter_mut().enumerate() {
            let now = |c: &&Timed| c.at == Nanos::from_secs(s as u64);
            for c in t.chunks[0].changes.iter().filter(now) {
                match &c.change {
                    Change::Delay(l, d) => drop(delays.insert(*l, d.base)),
                    Change::Path(p, links) => drop(paths.insert(*p, links.clone())),
                    _ => {}
                }
            }
            let way = |p| {
                paths[&p].as_ref().map(|l: &Arc<[LinkId]>| {
                    l.iter().map(|l| delays.get(l).copied().unwrap_or_default()).collect::<Vec<_>>()
                })
            };
            *rtt = way(FORWARD)
                .zip(way(REVERSE))
                .map(|(a, b)| a.into_iter().chain(b).fold(Nanos::ZERO, |x, y| x + y));
        }
        out
    }

    #[test]
    fn both_kinds_of_hops_give_the_logged_round_trips() {
        let expected: Vec<_> = [12_000, 13_000, 0, 10_000, 14_000].map(Nanos::from_micros).into();
        for hops in [Hops::Positions, Hops::Nodes] {
            let found: Vec<_> = rtts(&timeline(hops)).into_iter().map(Option::unwrap_or_default).collect();
            assert_eq!(found, expected, "{hops:?}");
        }
    }

    #[test]
    fn positions_keep_their_queues_and_nodes_have_their_own() {
        let names =
            |t: &Timeline| t.header.nodes.iter().map(|n| n.name.clone()).collect::<Vec<_>>().join(" ");
        let (chain, nodes) = (timeline(Hops::Positions), timeline(Hops::Nodes));
        assert_eq!(names(&chain), "end1 end2 hop1 hop2");
        assert_eq!(chain.header.ports.len(), 6);
        assert!(chain.header.ports.iter().any(|p| p.name == "end2 towards end1"));
        assert_eq!(names(&nodes), "end1 end2 node7 node8 node9");
        assert_eq!(nodes.header.ports.len(), nodes.header.links.len());
    }

    #[test]
    fn hosts_have_links_of_their_own_and_dishes_rates_of_theirs() {
        let rate = |mbit| PortSpec { rate: perigee_units::BitRate::from_mbit(mbit), ..PortSpec::default() };
        for hops in [Hops::Positions, Hops::Nodes] {
            let o = PathOptions {
                hops,
                port: rate(100),
                dish: Some(rate(150)),
                host: Some(rate(90)),
                ..Default::default()
            };
            let t = PathLog::parse(LOG).unwrap().timeline(&o).unwrap();
            check(&t).unwrap();
            let expected: Vec<_> = [12_000, 13_000, 0, 10_000, 14_000].map(Nanos::from_micros).into();
            assert_eq!(rtts(&t).into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>(), expected);
            let ways: Vec<Vec<u64>> = t.chunks[0]
                .changes
                .iter()
                .filter_map(|c| match &c.change {
                    Change::Path(_, Some(links)) => Some(links),
                    _ => None,
                })
                .map(|links| {
                    links.iter().map(|l| t.header.ports[t.header.links[l.ix()].port.ix()].spec.rate.0)
                })
                .map(|rates| rates.map(|r| r / 1_000_000).collect())
                .collect();
            assert_eq!(ways[0], [90, 150, 100, 100, 90], "{hops:?}");
            assert_eq!(ways[1], [90, 150, 100, 100, 90], "{hops:?}");
            assert_eq!(t.header.nodes[t.header.pairs[0].from.ix()].name, "end1");
        }
    }

    #[test]
    fn events_are_noted_once() {
        use NoteKind::*;
        let expected = [(2, Unreachable), (3, Reachable), (4, Handover), (4, PathChange)];
        assert_eq!(notes(&timeline(Hops::Positions)), expected);
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let log = PathLog::parse(LOG).unwrap();
        assert_eq!(PathLog::parse(&log.to_text()).unwrap(), log);
    }

    #[test]
    fn damaged_logs_are_refused_with_their_line() {
        let error = |text: &str| PathLog::parse(text).unwrap_err().to_string();
        assert_eq!(error(""), "line 1: the log holds no path");
        assert!(error(&LOG.replace("\n4$[", "\n6$[")).starts_with("line 4: second \"6\" where 4 is due"));
        assert!(error(&LOG.replace("]$0.0065", "")).starts_with("line 2: 3 fields"));
        assert!(error(&LOG.replace("$4$[0.001, 0.0025", "$5$[0.001, 0.0025"))
            .contains("4 nodes, but the line counts 5"));
        assert!(error(&LOG.replace("0.0025", "-0.0025")).contains("zero or more"));
        assert!(error(&LOG.replace("0.0025", "NaN")).contains("finite"));
        assert!(error(&LOG.replace("0.0065", "0.0165")).contains("add up to"));
        assert!(error(&LOG.replace("[-1, 9, -2]", "[-1, 9, 7]")).contains("does not lead"));
        let log = PathLog::parse(LOG).unwrap();
        let long = PathOptions { duration: Some(Nanos::from_secs(9)), ..PathOptions::default() };
        assert!(log.timeline(&long).unwrap_err().contains("a log of 5 s"));
    }

    #[test]
    fn no_damage_makes_it_panic() {
        for text in testdata::damaged(LOG) {
            if let Ok(log) = PathLog::parse(&text) {
                check(&log.timeline(&PathOptions::default()).unwrap()).unwrap();
            }
        }
    }

    #[test]
    #[cfg_attr(
        not(reference_data),
        ignore = "the reference data is not there: PERIGEE_SHARED_DATA names its folder"
    )]
    fn published_logs_are_replayed_to_the_nanosecond() {
        for (file, cuts) in [("Starlink_SD_NY_15_BP_path.log", 19), ("Starlink_SD_NY_15_ISL_path.log", 0)] {
            let text = testdata::read(&format!("leoem/paths/{file}"));
            let log = PathLog::parse(&text).unwrap();
            assert_eq!(log.seconds.iter().filter(|s| s.is_none()).count(), cuts);
            for hops in [Hops::Positions, Hops::Nodes] {
                let o = PathOptions {
                    hops,
                    first: Nanos::from_secs(900),
                    duration: Some(Nanos::from_secs(300)),
                    ..PathOptions::default()
                };
                let t = log.timeline(&o).unwrap();
                check(&t).unwrap();
                for (s, rtt) in rtts(&t).into_iter().enumerate() {
                    assert_eq!(rtt, log.seconds[900 + s].as_ref().map(LoggedPath::rtt), "{file} {s}");
                }
            }
        }
    }
}
