// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Comparison of two timelines: the paths of their common pairs over time, and their notes.
//!
//! Pairs are matched by the names of their ends, and nodes of a path by their names, so that two
//! generators with different numbering can be compared; [`Names`] translates names of one to those
//! of the other. Times of changes may differ by a tolerance.

use crate::follow::{every, Follower};
use crate::model::*;
use crate::TelemetryFaults;
use perigee_units::Nanos;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A pair in both timelines.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PairDiff {
    /// Name of its source.
    pub from: String,
    /// Name of its destination.
    pub to: String,
    /// Number of instants compared.
    pub steps: u64,
    /// Number of instants with the same nodes on the path (or no path in either).
    pub same_way: u64,
    /// Number of instants at which both have a path, over which delays are compared.
    pub both: u64,
    /// Number of instants at which only the first has a path.
    pub only_a: u64,
    /// Number of instants at which only the second has a path.
    pub only_b: u64,
    /// First instant with a different path, in seconds.
    pub first_difference_s: Option<f64>,
    /// Mean one-way propagation delay in milliseconds, over instants at which both have a path.
    pub mean_ms: [f64; 2],
    /// Mean absolute difference of the one-way delays in milliseconds.
    pub mean_difference_ms: f64,
    /// Maximum absolute difference of the one-way delays in milliseconds.
    pub largest_difference_ms: f64,
    /// Number of instants at which both have a path with delays that differ by a nanosecond or
    /// more.
    pub other_delay: u64,
}

/// Notes, or changes of ports and links, of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NoteDiff {
    /// Kind, as in saved timelines.
    pub kind: String,
    /// Number of notes or changes.
    pub count: [usize; 2],
    /// Number of these without a partner (of the same node or pair; of the same port or link, with
    /// the same value) in the other timeline within the tolerance.
    pub alone: [usize; 2],
}

/// All differences.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Diff {
    /// Titles.
    pub titles: [String; 2],
    /// Lengths in seconds.
    pub durations_s: [f64; 2],
    /// Pairs in only one of them, as "from to".
    pub pairs_alone: [Vec<String>; 2],
    /// Pairs in both.
    pub pairs: Vec<PairDiff>,
    /// Kinds of notes in either, and of changes of rate, loss and state.
    pub notes: Vec<NoteDiff>,
    /// Ports that differ in properties, or exist in one timeline only, as text.
    pub ports: Vec<String>,
    /// Whether they are identical except for titles and names.
    pub identical: bool,
}

/// Translation of the names of one timeline to those of the other.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// New names by old names.
    pub renamed: BTreeMap<String, String>,
    /// Planes and slots of a shell: node number n ("node750", "Starlink-550 750") is its satellite
    /// in plane n / slots and slot n % slots, and is named like a generated one.
    pub shell: Option<(u32, u32)>,
}

impl Names {
    /// Name under which a node is compared with the other timeline.
    pub fn of(&self, name: &str) -> String {
        if let Some(new) = self.renamed.get(name) {
            return new.clone();
        }
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (stem, number) = name.split_at(name.len() - digits);
        match (self.shell, number.parse::<u32>()) {
            (Some((planes, slots)), Ok(n))
                if n < planes * slots && (stem == "node" || stem.ends_with(' ')) =>
            {
                format!("sat-{}-{}", n / slots, n % slots)
            }
            _ => name.to_string(),
        }
    }

    /// The same timeline with translated names.
    pub fn apply(&self, mut t: Timeline) -> Timeline {
        if self.renamed.is_empty() && self.shell.is_none() {
            return t;
        }
        t.header.nodes.iter_mut().for_each(|n| n.name = self.of(&n.name));
        for chunk in &mut t.chunks {
            if !chunk.nodes.is_empty() {
                std::sync::Arc::make_mut(chunk).nodes.iter_mut().for_each(|n| n.name = self.of(&n.name));
            }
        }
        t
    }
}

impl Diff {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        let same = |p: &PairDiff| p.same_way == p.steps && p.other_delay == 0;
        self.durations_s[0] == self.durations_s[1]
            && self.pairs_alone.iter().all(Vec::is_empty)
            && self.pairs.iter().all(same)
            && self.notes.iter().all(|n| n.alone == [0, 0])
            && self.ports.is_empty()
    }
}

/// Names of the nodes of a path and its delay, at an instant.
type PathSample = Option<(Vec<String>, f64)>;

/// Compares two timelines every `step`, over the time covered by both.
pub fn diff(a: &Timeline, b: &Timeline, step: Nanos, tolerance: Nanos) -> Diff {
    let ends = [pair_names(a), pair_names(b)];
    let common: Vec<_> = ends[0].iter().filter(|(k, _)| ends[1].contains_key(*k)).collect();
    let alone = |this: &BTreeMap<Ends, PairId>, other: &BTreeMap<Ends, PairId>| {
        this.keys().filter(|k| !other.contains_key(*k)).map(|k| format!("{} {}", k.0, k.1)).collect()
    };
    let mut pairs = Vec::new();
    let ids = |i: usize| -> Vec<PairId> { common.iter().map(|(k, _)| ends[i][*k]).collect() };
    let (seen_a, seen_b) = (ways(a, &ids(0), step), ways(b, &ids(1), step));
    for (i, ((from, to), _)) in common.iter().enumerate() {
        let mut d = PairDiff { from: from.clone(), to: to.clone(), ..PairDiff::default() };
        for (k, (x, y)) in seen_a[i].iter().zip(&seen_b[i]).enumerate() {
            d.add((step * k as u64).as_secs_f64(), x, y);
        }
        d.finish();
        pairs.push(d);
    }
    Diff {
        titles: [a.header.title.clone(), b.header.title.clone()],
        durations_s: [a, b].map(|t| t.header.duration.as_secs_f64()),
        pairs_alone: [alone(&ends[0], &ends[1]), alone(&ends[1], &ends[0])],
        pairs,
        notes: notes(a, b, tolerance),
        ports: ports(a, b),
        identical: a.chunks == b.chunks
            && Header { title: String::new(), ..a.header.clone() }
                == Header { title: String::new(), ..b.header.clone() },
    }
}

/// Differences of the properties of each port, by its node and its index among the node's ports.
fn ports(a: &Timeline, b: &Timeline) -> Vec<String> {
    let (a, b) = (port_words(a), port_words(b));
    let all: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let line = |name: &String| match (a.get(name), b.get(name)) {
        (Some(x), Some(y)) if x == y => None,
        (Some(x), Some(y)) => Some(format!("{name}: in a {x}; in b {y}")),
        (Some(_), None) => Some(format!("{name}: only in a")),
        (None, _) => Some(format!("{name}: only in b")),
    };
    all.into_iter().filter_map(line).collect()
}

fn dama_words(d: &crate::Dama) -> String {
    let volume = d.vbdc.map_or("all".into(), |rate| rate.to_string());
    let rates = format!("CRA {}, RBDC {}, VBDC {volume}, FCA {}", d.cra, d.rbdc, d.fca);
    format!("slots on request after {} in frames of {} ({rates})", d.delay, d.frame)
}

fn carrier_words(c: &crate::Carrier) -> String {
    let crate::Carrier { rate, frame, sharing, floor, request_slots, neighbours } = c;
    format!(
        "shared carrier of {rate} in frames of {frame} ({sharing:?}, floor {floor}, {request_slots} request slots, \
         {neighbours:?})"
    )
}

fn port_words(t: &Timeline) -> BTreeMap<String, String> {
    let nodes: Vec<&Node> = t.header.nodes.iter().chain(t.chunks.iter().flat_map(|c| &c.nodes)).collect();
    let ports = t.header.ports.iter().chain(t.chunks.iter().flat_map(|c| &c.ports));
    // The name of a port contains the source's names of nodes, whereas its index among the ports of
    // its node does not.
    let mut of_node: BTreeMap<NodeId, usize> = BTreeMap::new();
    let mut named = |p: &Port| {
        let k = of_node.entry(p.node).or_default();
        *k += 1;
        format!("port {k} of {}", nodes[p.node.ix()].name)
    };
    ports.map(|p| (named(p), spec_words(&p.spec))).collect()
}

/// All properties of a port. (Without `..` in the patterns, so that a new field does not compile
/// until it is compared here.)
fn spec_words(spec: &PortSpec) -> String {
    let PortSpec { rate, queue, framing, burst, dama, carrier, metered, telemetry_faults } = spec;
    let Queue { limit, discipline, count_in_service, probe_priority, integer_meter } = queue;
    let limit = match limit {
        QueueLimit::Packets(n) => format!("{n} packets"),
        QueueLimit::Bytes(n) => format!("{n} B"),
    };
    let counted = if *count_in_service { " and the one in transmission" } else { "" };
    let discipline = discipline_words(discipline);
    let probes = if *probe_priority { ", probes first" } else { "" };
    let burst = if *burst > 0 { format!(", burst {burst} B") } else { String::new() };
    let dama = dama.as_ref().map_or(String::new(), |d| format!(", {}", dama_words(d)));
    let carrier = carrier.as_ref().map_or(String::new(), |c| format!(", {}", carrier_words(c)));
    let meter = match (metered, integer_meter) {
        (false, false) => "",
        (false, true) => ", not metered (in integers)",
        (true, false) => ", metered",
        (true, true) => ", metered in integers",
    };
    let faults = telemetry_faults.as_ref().map_or(String::new(), |f| format!(", {}", fault_words(f)));
    format!("{rate}, {limit}{discipline}{counted}{probes}, framing {framing} B{burst}{dama}{carrier}{meter}{faults}")
}

fn fault_words(faults: &TelemetryFaults) -> String {
    let TelemetryFaults { delay, error, clock_ppm, stale, flow_count_error, flow_table } = faults;
    format!(
        "telemetry with delay {delay}, error {error}, clock {clock_ppm} ppm, stale {stale}, \
         flow count error {flow_count_error}, flow table {flow_table}"
    )
}

/// Name and parameters; empty for drop-tail.
fn discipline_words(d: &crate::Discipline) -> String {
    if *d == crate::Discipline::default() {
        return String::new();
    }
    let params: Vec<String> = d.params.iter().map(|(name, value)| format!("{name} {value}")).collect();
    match params.is_empty() {
        true => format!(" with {}", d.name),
        false => format!(" with {} ({})", d.name, params.join(", ")),
    }
}

type Ends = (String, String);

fn pair_names(t: &Timeline) -> BTreeMap<Ends, PairId> {
    let name = |n: NodeId| t.header.nodes[n.ix()].name.clone();
    let pairs = t.header.pairs.iter().enumerate();
    pairs.map(|(i, p)| ((name(p.from), name(p.to)), PairId(i as u32))).collect()
}

fn ways(t: &Timeline, pairs: &[PairId], step: Nanos) -> Vec<Vec<PathSample>> {
    let mut seen = vec![Vec::new(); pairs.len()];
    every(t, step, |now, f: &Follower| {
        if perigee_units::stop::check().is_err() {
            // The result would be unused.
            return;
        }
        for (pair, list) in pairs.iter().zip(&mut seen) {
            let way = f.way(*pair, now);
            let names = |n: &NodeId| f.names[n.ix()].clone();
            list.push(
                way.map(|w| (w.nodes.iter().map(names).collect::<Vec<_>>(), w.one_way().as_millis_f64())),
            );
        }
    });
    seen
}

impl PairDiff {
    fn add(&mut self, t_s: f64, a: &PathSample, b: &PathSample) {
        self.steps += 1;
        let same = match (a, b) {
            (None, None) => true,
            (Some(x), Some(y)) => {
                let difference = (x.1 - y.1).abs();
                self.both += 1;
                self.mean_ms[0] += x.1;
                self.mean_ms[1] += y.1;
                self.mean_difference_ms += difference;
                self.largest_difference_ms = self.largest_difference_ms.max(difference);
                self.other_delay += u64::from(difference > 0.0);
                x.0 == y.0
            }
            (Some(_), None) => {
                self.only_a += 1;
                false
            }
            (None, Some(_)) => {
                self.only_b += 1;
                false
            }
        };
        if same {
            self.same_way += 1;
        } else if self.first_difference_s.is_none() {
            self.first_difference_s = Some(t_s);
        }
    }

    /// Converts sums to means.
    fn finish(&mut self) {
        let n = self.both.max(1) as f64;
        self.mean_ms = self.mean_ms.map(|sum| sum / n);
        self.mean_difference_ms /= n;
    }
}

fn notes(a: &Timeline, b: &Timeline, tolerance: Nanos) -> Vec<NoteDiff> {
    let (a, b) = (collect(a), collect(b));
    let mut kinds: Vec<&String> = a.keys().chain(b.keys()).map(|k| &k.0).collect();
    kinds.sort();
    kinds.dedup();
    let count =
        |all: &Noted, kind: &String| all.iter().filter(|(k, _)| k.0 == *kind).map(|(_, v)| v.len()).sum();
    let alone = |x: &Noted, y: &Noted, kind: &String| {
        let of_kind = x.iter().filter(|(k, _)| k.0 == *kind);
        of_kind.map(|(k, times)| unmatched(times, y.get(k).map_or(&[], |v| v), tolerance)).sum()
    };
    let one = |kind: &String| NoteDiff {
        kind: kind.clone(),
        count: [count(&a, kind), count(&b, kind)],
        alone: [alone(&a, &b, kind), alone(&b, &a, kind)],
    };
    kinds.into_iter().map(one).collect()
}

/// Times of notes by kind and by the name of their node or the ends of their pair; times of other
/// changes by kind and by the ends of their link and the value.
type Noted = BTreeMap<(String, String), Vec<Nanos>>;

fn collect(t: &Timeline) -> Noted {
    let mut names: Vec<&str> = t.header.nodes.iter().map(|n| n.name.as_str()).collect();
    let mut owners: Vec<NodeId> = t.header.ports.iter().map(|p| p.node).collect();
    let mut links: Vec<(PortId, NodeId)> = t.header.links.iter().map(|l| (l.port, l.to)).collect();
    let mut all = Noted::new();
    for chunk in &t.chunks {
        names.extend(chunk.nodes.iter().map(|n| n.name.as_str()));
        owners.extend(chunk.ports.iter().map(|p| p.node));
        links.extend(chunk.links.iter().map(|l| (l.port, l.to)));
        let port = |p: PortId| names[owners[p.ix()].ix()];
        let link = |l: LinkId| format!("{} {}", port(links[l.ix()].0), names[links[l.ix()].1.ix()]);
        for c in &chunk.changes {
            let other = match &c.change {
                Change::Rate(p, rate) => Some(("rate", format!("{} {rate}", port(*p)))),
                Change::Background(p, b) => Some(("background", format!("{} {b:?}", port(*p)))),
                Change::Loss(l, share) => Some(("loss", format!("{} {share}", link(*l)))),
                Change::Lose(l, n) => Some(("loss", format!("{} {n} packets", link(*l)))),
                Change::Down(l, _) => Some(("down", link(*l))),
                Change::Up(l) => Some(("up", link(*l))),
                _ => None,
            };
            if let Some((kind, what)) = other {
                all.entry((kind.to_string(), what)).or_default().push(c.at);
            }
            let Change::Note(n) = &c.change else { continue };
            let pair = n.pair.map(|p| t.header.pairs[p.ix()]);
            let who = match (n.node, pair) {
                (Some(node), _) => names[node.ix()].to_string(),
                (None, Some(p)) => format!("{} {}", names[p.from.ix()], names[p.to.ix()]),
                (None, None) => String::new(),
            };
            all.entry((n.kind.name().to_string(), who)).or_default().push(c.at);
        }
    }
    all
}

/// Number of `times` without a partner in `others`, both in order; each partner is used once.
fn unmatched(times: &[Nanos], others: &[Nanos], tolerance: Nanos) -> usize {
    let mut next = 0;
    let mut alone = 0;
    for &t in times {
        while next < others.len() && others[next] + tolerance < t {
            next += 1;
        }
        if next < others.len() && others[next] <= t + tolerance {
            next += 1;
        } else {
            alone += 1;
        }
    }
    alone
}
