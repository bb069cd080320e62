// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Saved timelines: `[source.timeline]` replays one.

use crate::file::error::{Problem, ScenarioError};
use crate::file::scenario::Scenario;
use crate::file::sources;
use crate::world::network::{refuse_changes, Network, PairPlace};
use crate::world::ports::PortReport;
use perigee_timeline::follow::Follower;
use perigee_timeline::{store, transmission, Change, Header, LinkId, Pair, PairId, Timeline};
use perigee_units::files;
use perigee_units::{BitRate, Nanos};
use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::Path;

/// Sizes of a full data packet and of a plain ACK, for base RTTs at time zero.
const PACKET_BYTES: [u64; 2] = [1500, 52];

/// Builds the network of a saved timeline.
///
/// # Errors
/// A damaged file, one too short for the run, or settings that the file determines.
pub fn build(scenario: &Scenario, s: &sources::Timeline) -> Result<Network, ScenarioError> {
    refuse_changes(scenario, "no effect: a saved timeline contains its changes")?;
    if let Some((name, section)) = scenario.ports.first() {
        let why = "no effect: a saved timeline contains its ports; set them in its scenario";
        return Err(Problem::new(format!("port.{name}"), why).at(section.place()).into());
    }
    let wrong = |why: String| Problem::new("source.timeline.file", why).at(&s.file.place);
    let timeline = load(&s.file.path).map_err(wrong)?;
    let (length, needed) = (timeline.header.duration, scenario.run.duration);
    if length < needed {
        let why = format!("{} is shorter than the run", s.file.path.display());
        let problem = wrong(why).found(length.to_string()).allowed(format!("at least {needed}"));
        return Err(problem.into());
    }
    let chunks = timeline.chunks.iter().flat_map(|c| &c.ports);
    for port in timeline.header.ports.iter().chain(chunks) {
        let checked = crate::file::disciplines::check(&port.spec.queue.discipline);
        checked.map_err(|why| wrong(format!("{}: port {:?}: {why}", s.file.path.display(), port.name)))?;
    }
    let places =
        places(&timeline.header).map_err(|why| wrong(format!("{}: {why}", s.file.path.display())))?;
    Ok(network(timeline.until(needed), places))
}

/// Reads a saved timeline.
///
/// # Errors
/// A message with the name of the file.
pub fn load(file: &Path) -> Result<Timeline, String> {
    let input = files::open(file)?;
    store::load(BufReader::new(input)).map_err(|e| format!("{}: {e}", file.display()))
}

/// Each pair with the pair in the opposite direction.
///
/// # Errors
/// If a pair has no reverse pair, or there are no pairs.
pub fn ways(pairs: &[Pair]) -> Result<Vec<[PairId; 2]>, String> {
    // Pairs that still lack their reverse pair, by the ends that it must have.
    let mut waiting: BTreeMap<[u32; 2], Vec<usize>> = BTreeMap::new();
    let mut found = Vec::new();
    for (i, pair) in pairs.iter().enumerate() {
        let (from, to) = (pair.from.0, pair.to.0);
        match waiting.get_mut(&[from, to]).and_then(Vec::pop) {
            Some(first) => found.push([PairId(first as u32), PairId(i as u32)]),
            None => waiting.entry([to, from]).or_default().push(i),
        }
    }
    match waiting.into_values().flatten().min() {
        Some(i) => Err(format!("pair {i} has no reverse pair")),
        None if found.is_empty() => Err("the timeline has no pairs".into()),
        None => {
            found.sort_unstable_by_key(|way| way[0]);
            Ok(found)
        }
    }
}

fn places(header: &Header) -> Result<Vec<PairPlace>, String> {
    let name = |node: perigee_timeline::NodeId| header.nodes[node.ix()].name.clone();
    let place = |[forward, reverse]: [PairId; 2]| {
        let pair = header.pairs[forward.ix()];
        PairPlace { from: name(pair.from), to: name(pair.to), forward, reverse, part: false }
    };
    let there: Vec<PairPlace> = ways(&header.pairs)?.into_iter().map(place).collect();
    // A flow may also use a pair in the reverse direction; unnamed ends mean the first pair, which
    // stays first. Where both directions have their own pairs, each is found before.
    let back = |p: &PairPlace| PairPlace {
        from: p.to.clone(),
        to: p.from.clone(),
        forward: p.reverse,
        reverse: p.forward,
        part: true,
    };
    let turned: Vec<PairPlace> = there.iter().map(back).collect();
    Ok([there, turned].concat())
}

fn network(timeline: Timeline, pairs: Vec<PairPlace>) -> Network {
    let start = Follower::at_start(&timeline);
    let routes: Vec<_> = pairs.iter().map(|p| [p.forward, p.reverse].map(|way| start.links(way))).collect();
    let base_rtt = |[there, back]: &[Option<_>; 2]| {
        let one_way = |links: &[LinkId], bytes| one_way(&timeline, &start, links, bytes);
        let [full, ack] = PACKET_BYTES;
        Some(one_way(there.as_deref()?, full) + one_way(back.as_deref()?, ack))
    };
    let forward = || routes.iter().map(|[there, _]| there.as_deref().unwrap_or_default());
    let slowest = |links| start.slowest(links).map_or(0, |(port, _)| port.0);
    let changes: usize = timeline.chunks.iter().map(|c| c.changes.len()).sum();
    Network {
        base_rtts: routes.iter().map(base_rtt).collect(),
        hops: forward().map(<[LinkId]>::len).collect(),
        longest: forward().map(<[LinkId]>::len).max().unwrap_or(0).max(longest_path(&timeline)),
        bottlenecks: forward().map(slowest).collect(),
        ports: port_reports(&timeline.header),
        report: vec![format!("{}: {changes} changes in {}", timeline.header.title, timeline.header.duration)],
        warnings: Vec::new(),
        pairs,
        source: Box::new(timeline.reader()),
        header: timeline.header,
    }
}

fn one_way(timeline: &Timeline, start: &Follower, links: &[LinkId], bytes: u64) -> Nanos {
    let chunk_ports = timeline.chunks.first().map_or(&[][..], |c| &c.ports);
    let of = |port: usize| {
        let known = &timeline.header.ports;
        let port = known.get(port).or_else(|| chunk_ports.get(port - known.len()));
        port.map_or((0, 0), |p| (u64::from(p.spec.framing), p.spec.burst))
    };
    // A blocked port would take forever: its serialisation is left out, as the route exists.
    let serialised = |l: &LinkId| match start.feeder(*l) {
        (_, BitRate(0)) => Nanos::ZERO,
        (port, rate) => {
            let (framing, burst) = of(port.ix());
            transmission(rate, burst, bytes + framing)
        }
    };
    links.iter().fold(Nanos::ZERO, |sum, l| sum + start.delay(*l, Nanos::ZERO) + serialised(l))
}

fn longest_path(timeline: &Timeline) -> usize {
    let length = |c: &perigee_timeline::Timed| match &c.change {
        Change::Path(_, Some(links)) => links.len(),
        _ => 0,
    };
    timeline.chunks.iter().flat_map(|c| &c.changes).map(length).max().unwrap_or(0)
}

fn port_reports(header: &Header) -> Vec<PortReport> {
    let report = |p: &perigee_timeline::Port| PortReport::new(&p.name, "saved", &p.spec);
    header.ports.iter().map(report).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_timeline::NodeId;

    fn pairs(ends: &[[u32; 2]]) -> Vec<Pair> {
        ends.iter().map(|&[a, b]| Pair { from: NodeId(a), to: NodeId(b) }).collect()
    }

    #[test]
    fn pairs_find_their_ways_back_in_order() {
        let found = ways(&pairs(&[[0, 1], [1, 0], [1, 0], [0, 1], [2, 3], [3, 2]])).unwrap();
        let ids: Vec<_> = found.iter().map(|w| w.map(|p| p.0)).collect();
        assert_eq!(ids, [[0, 1], [2, 3], [4, 5]]);
    }

    #[test]
    fn a_pair_without_a_way_back_is_refused() {
        assert!(ways(&pairs(&[[0, 1], [1, 0], [0, 1]])).unwrap_err().contains("pair 2"));
        assert!(ways(&[]).is_err());
    }
}
