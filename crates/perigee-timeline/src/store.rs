// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Saving, loading and checking of timelines. The format is JSON, one line for the header and one
//! per chunk: it can be streamed, and compared by `diff`.

use crate::model::*;
use perigee_units::{names, Nanos, NS_PER_S};
use std::collections::BTreeSet;
use std::io::{BufRead, Write};
use std::sync::Arc;

/// Reason why a timeline could not be saved, loaded or accepted.
#[derive(Debug, thiserror::Error)]
pub enum TimelineError {
    /// Reading or writing failed.
    #[error("{}", perigee_units::files::why(.0))]
    Io(#[from] std::io::Error),
    /// A line with invalid syntax.
    #[error("line {line}: {reason}")]
    Syntax {
        /// Line number, from 1.
        line: usize,
        /// The reason as text.
        reason: String,
    },
    /// The timeline is inconsistent.
    #[error("timeline: {0}")]
    Invalid(String),
}

/// Writes a timeline.
///
/// # Errors
/// If writing fails.
pub fn save(timeline: &Timeline, out: impl Write) -> Result<(), TimelineError> {
    save_stream(&timeline.header, &mut timeline.reader(), out)
}

/// Writes a timeline chunk by chunk, so that a long one is never held in memory.
///
/// # Errors
/// If writing fails, or the source does.
pub fn save_stream(
    header: &Header,
    source: &mut dyn ChunkSource,
    mut out: impl Write,
) -> Result<(), TimelineError> {
    let line = |out: &mut dyn Write, json: serde_json::Result<String>| -> Result<(), TimelineError> {
        let json = json.map_err(|e| TimelineError::Invalid(e.to_string()))?;
        Ok(writeln!(out, "{json}")?)
    };
    line(&mut out, serde_json::to_string(header))?;
    while let Some(chunk) = source.next_chunk().map_err(TimelineError::Invalid)? {
        perigee_units::stop::check().map_err(TimelineError::Invalid)?;
        line(&mut out, serde_json::to_string(chunk.as_ref()))?;
    }
    Ok(out.flush()?)
}

/// Reads a timeline and checks it.
///
/// # Errors
/// If reading fails, a line cannot be parsed, or the timeline is inconsistent.
pub fn load(input: impl BufRead) -> Result<Timeline, TimelineError> {
    let mut lines = input.lines().enumerate();
    let syntax = |line: usize, e: serde_json::Error| TimelineError::Syntax {
        line: line + 1,
        reason: not_ours(line, &e),
    };
    let Some((_, first)) = lines.next() else {
        return Err(TimelineError::Invalid("the file is empty".into()));
    };
    let header: Header = serde_json::from_str(&first?).map_err(|e| syntax(0, e))?;
    let mut chunks = Vec::new();
    for (n, line) in lines {
        perigee_units::stop::check().map_err(TimelineError::Invalid)?;
        chunks.push(Arc::new(serde_json::from_str::<Chunk>(&line?).map_err(|e| syntax(n, e))?));
    }
    let timeline = Timeline { header, chunks };
    check(&timeline)?;
    Ok(timeline)
}

/// Error about the first line, the header: missing fields indicate a file of another kind.
fn not_ours(line: usize, e: &serde_json::Error) -> String {
    let why = why_not_json(e);
    match line {
        0 => format!("this is no saved timeline: {why}"),
        _ => why,
    }
}

/// Maximum delay of a link and maximum duration of a timeline: sums of both are far from the end of
/// the clock.
const LONGEST: Nanos = Nanos::from_secs(366 * 86_400);

/// Checks that ids exist, times do not decrease, paths are connected, and values are within range.
///
/// # Errors
/// The first inconsistency, as text.
pub fn check(timeline: &Timeline) -> Result<(), TimelineError> {
    let h = &timeline.header;
    let mut seen = Declared::default();
    name(&h.title, "the title")?;
    seen.add(&h.nodes, &h.ports, &h.links)?;
    for (i, p) in h.pairs.iter().enumerate() {
        if p.from.ix() >= seen.nodes() || p.to.ix() >= seen.nodes() {
            return invalid(format!("pair {i} names a node that does not exist at the start"));
        }
        if p.from == p.to {
            return invalid(format!("pair {i} leads from node {} to itself", p.from.0));
        }
    }
    h.spread.iter().flat_map(|s| &s.paths).try_for_each(|paths| alternatives(h, paths))?;
    let mut now = Nanos::ZERO;
    let mut end = Nanos::ZERO;
    for chunk in &timeline.chunks {
        if chunk.start != end || chunk.end < chunk.start {
            return invalid(format!("chunk {} - {} does not follow {end}", chunk.start, chunk.end));
        }
        end = chunk.end;
        seen.add(&chunk.nodes, &chunk.ports, &chunk.links)?;
        for c in &chunk.changes {
            if c.at < now || c.at < chunk.start || c.at > chunk.end {
                return invalid(format!(
                    "a change at {} comes after {now} in a chunk {} - {}",
                    c.at, chunk.start, chunk.end
                ));
            }
            now = c.at;
            seen.change(c, h)?;
        }
        seen.tracks(&chunk.tracks)?;
    }
    if end != h.duration || end > LONGEST {
        return invalid(format!("it ends at {end}; its header says {}, at most {LONGEST}", h.duration));
    }
    Ok(())
}

/// Checks the pairs of one list of [`Spread`](crate::Spread).
fn alternatives(h: &Header, paths: &[PairId]) -> Result<(), TimelineError> {
    let Some((&first, others)) = paths.split_first() else { return invalid("a choice of no path".into()) };
    if h.routing != Routing::PerPath {
        return invalid("several paths at once require a path for each pair".into());
    }
    let ends = known_pair(h, first)?;
    for &other in others {
        if known_pair(h, other)? != ends {
            return invalid(format!("pairs {} and {} have different ends", first.0, other.0));
        }
    }
    Ok(())
}

fn known_pair(h: &Header, id: PairId) -> Result<Pair, TimelineError> {
    let pair = h.pairs.get(id.ix()).copied();
    pair.ok_or_else(|| TimelineError::Invalid(format!("pair {} does not exist", id.0)))
}

fn invalid<T>(reason: String) -> Result<T, TimelineError> {
    Err(TimelineError::Invalid(reason))
}

fn name(text: &str, of: &str) -> Result<(), TimelineError> {
    names::check(text).or_else(|why| invalid(format!("the text of {of}, {text:?}, {why}")))
}

/// Nodes, ports and links so far, with the two ends of each link for the path check.
#[derive(Default)]
struct Declared {
    names: BTreeSet<String>,
    port_node: Vec<NodeId>,
    link_ends: Vec<(NodeId, NodeId)>,
}

impl Declared {
    fn nodes(&self) -> usize {
        self.names.len()
    }

    fn node(&self, id: NodeId) -> Result<(), TimelineError> {
        if id.ix() < self.nodes() {
            return Ok(());
        }
        invalid(format!("node {} does not exist", id.0))
    }

    fn tracks(&self, points: &[TrackPoint]) -> Result<(), TimelineError> {
        points.iter().try_for_each(|p| self.node(p.node))
    }

    fn add(&mut self, nodes: &[Node], ports: &[Port], links: &[Link]) -> Result<(), TimelineError> {
        for n in nodes {
            name(&n.name, "a node")?;
            if !self.names.insert(n.name.clone()) {
                return invalid(format!("two nodes are called {:?}", n.name));
            }
        }
        for p in ports {
            name(&p.name, "a port")?;
            if p.node.ix() >= self.nodes() {
                return invalid(format!("port {:?} sits on a node that does not exist", p.name));
            }
            match p.spec.queue.limit {
                QueueLimit::Packets(0) | QueueLimit::Bytes(0) => {
                    return invalid(format!("the queue of port {:?} holds nothing", p.name))
                }
                _ => {}
            }
            if let Some(faults) = &p.spec.telemetry_faults {
                faults.check().or_else(|why| invalid(format!("port {:?}: {why}", p.name)))?;
            }
            if let Some(dama) = &p.spec.dama {
                dama.check().or_else(|why| invalid(format!("port {:?}: {why}", p.name)))?;
                if p.spec.burst > 0 {
                    return invalid(format!("port {:?} has both slots and a token bucket", p.name));
                }
            }
            if let Some(carrier) = &p.spec.carrier {
                carrier.check().or_else(|why| invalid(format!("carrier of port {:?}: {why}", p.name)))?;
                if p.spec.burst > 0 {
                    return invalid(format!("port {:?} has both a carrier and a token bucket", p.name));
                }
                if p.spec.dama.as_ref().is_some_and(|dama| dama.frame != carrier.frame) {
                    return invalid(format!("port {:?} and its carrier have different frames", p.name));
                }
            }
            self.port_node.push(p.node);
        }
        for l in links {
            let Some(&from) = self.port_node.get(l.port.ix()) else {
                return invalid(format!("link {} leaves a port that does not exist", self.link_ends.len()));
            };
            if l.to.ix() >= self.nodes() {
                return invalid(format!("link {} ends at a node that does not exist", self.link_ends.len()));
            }
            self.values(l.delay, l.loss)?;
            self.link_ends.push((from, l.to));
        }
        Ok(())
    }

    fn values(&self, delay: Delay, loss: f64) -> Result<(), TimelineError> {
        if delay.base > LONGEST {
            return invalid(format!("a delay of {}; at most {LONGEST}", delay.base));
        }
        if delay.slope.unsigned_abs() >= NS_PER_S {
            return invalid(format!("a delay changes by {} ns per second: faster than time", delay.slope));
        }
        if !(0.0..=1.0).contains(&loss) {
            return invalid(format!("a loss of {loss} is not a probability"));
        }
        Ok(())
    }

    fn link(&self, id: LinkId) -> Result<(NodeId, NodeId), TimelineError> {
        self.link_ends
            .get(id.ix())
            .copied()
            .ok_or_else(|| TimelineError::Invalid(format!("link {} does not exist", id.0)))
    }

    fn change(&self, c: &Timed, h: &Header) -> Result<(), TimelineError> {
        match &c.change {
            Change::Rate(p, _) | Change::Background(p, _) if p.ix() >= self.port_node.len() => {
                invalid(format!("port {} does not exist", p.0))
            }
            Change::Delay(l, d) => self.link(*l).and_then(|_| self.values(*d, 0.0)),
            Change::Lose(l, _) => self.link(*l).map(|_| ()),
            Change::Loss(l, p) => self.link(*l).and_then(|_| self.values(Delay::default(), *p)),
            Change::Down(l, _) | Change::Up(l) => self.link(*l).map(|_| ()),
            Change::NextHop { at, to, link: None } => self.node(*at).and_then(|()| self.node(*to)),
            Change::NextHop { at, to, link: Some(l) } => {
                self.node(*to)?;
                if self.link(*l)?.0 != *at {
                    return invalid(format!("at {}: the next hop of node {} does not leave it", c.at, at.0));
                }
                Ok(())
            }
            Change::Path(pair, links) => {
                let p = known_pair(h, *pair)?;
                links.as_deref().map_or(Ok(()), |links| self.path(p, links, c.at))
            }
            Change::Note(note) => {
                name(&note.text, "a note")?;
                note.node.map_or(Ok(()), |node| self.node(node))?;
                note.pair.map_or(Ok(()), |pair| known_pair(h, pair).map(|_| ()))
            }
            Change::Rate(..) => Ok(()),
            Change::Background(_, b) => b.check().or_else(invalid),
        }
    }

    fn path(&self, pair: Pair, links: &[LinkId], at: Nanos) -> Result<(), TimelineError> {
        let mut here = pair.from;
        for &l in links {
            let (from, to) = self.link(l)?;
            if from != here {
                return invalid(format!(
                    "at {at}: link {} of a path leaves node {}, not node {}",
                    l.0, from.0, here.0
                ));
            }
            here = to;
        }
        if here != pair.to {
            return invalid(format!("at {at}: a path ends at node {}, not at node {}", here.0, pair.to.0));
        }
        Ok(())
    }
}

/// Reason why text is not the expected JSON, without the parser's position (callers add their own).
pub fn why_not_json(e: &serde_json::Error) -> String {
    use serde_json::error::Category;
    let text = e.to_string();
    let text = text.split(" at line ").next().unwrap_or(&text).replace('`', "\"");
    match e.classify() {
        Category::Eof => "it breaks off in the middle".into(),
        Category::Syntax => format!("it is not JSON ({text})"),
        Category::Io | Category::Data => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_units::BitRate;

    fn two_nodes() -> Timeline {
        let node = |name: &str| Node { name: name.into(), class: NodeClass::Host, place: None };
        let queue = Queue::drop_tail(QueueLimit::Packets(10));
        let port = Port {
            name: "a->b".into(),
            node: NodeId(0),
            spec: PortSpec { queue, ..PortSpec::packets(BitRate::from_mbit(10), 1) },
        };
        let link = Link {
            port: PortId(0),
            to: NodeId(1),
            delay: Delay::constant(Nanos::from_millis(5)),
            loss: 0.0,
            up: true,
            order: LinkOrder::Fifo,
        };
        let header = Header {
            title: "two nodes".into(),
            duration: Nanos::from_secs(1),
            routing: Routing::PerPath,
            nodes: vec![node("a"), node("b")],
            ports: vec![port],
            links: vec![link],
            pairs: vec![Pair { from: NodeId(0), to: NodeId(1) }],
            spread: None,
        };
        let path = Change::Path(PairId(0), Some(Arc::from([LinkId(0)])));
        Timeline::single(header, vec![Timed { at: Nanos::ZERO, change: path }])
    }

    #[test]
    fn what_is_saved_is_what_is_loaded() {
        let t = two_nodes();
        let mut file = Vec::new();
        save(&t, &mut file).unwrap();
        assert_eq!(load(file.as_slice()).unwrap(), t);
    }

    #[test]
    fn a_damaged_file_is_refused_with_its_line() {
        let mut file = Vec::new();
        save(&two_nodes(), &mut file).unwrap();
        file.truncate(file.len() - 5);
        assert!(load(file.as_slice()).unwrap_err().to_string().starts_with("line 2"));
    }

    #[test]
    fn a_path_that_does_not_connect_its_pair_is_refused() {
        let mut t = two_nodes();
        t.header.pairs[0] = Pair { from: NodeId(1), to: NodeId(0) };
        assert!(check(&t).unwrap_err().to_string().contains("leaves node 0, not node 1"));
    }

    #[test]
    fn names_are_unique_and_nobody_talks_to_himself() {
        let mut t = two_nodes();
        t.header.nodes[1].name = "a".into();
        assert!(check(&t).unwrap_err().to_string().contains("two nodes are called \"a\""));
        let mut t = two_nodes();
        t.header.pairs[0].to = NodeId(0);
        assert!(check(&t).unwrap_err().to_string().contains("itself"));
    }

    #[test]
    fn names_are_one_line() {
        let of_port = |t: &mut Timeline| t.header.ports[0].name.push('\n');
        let of_node = |t: &mut Timeline| t.header.nodes[0].name.push('\u{1b}');
        let of_title = |t: &mut Timeline| t.header.title.push('\u{202e}');
        for damage in [of_port as fn(&mut Timeline), of_node, of_title] {
            let mut t = two_nodes();
            damage(&mut t);
            let e = check(&t).unwrap_err().to_string();
            assert!(e.contains("control character U+") && !e.contains(['\n', '\u{1b}']), "{e:?}");
        }
    }

    #[test]
    fn a_file_that_ends_too_early_is_refused() {
        let mut t = two_nodes();
        t.chunks.clear();
        assert!(check(&t).unwrap_err().to_string().contains("it ends at 0 ns"));
    }

    #[test]
    fn times_that_run_back_are_refused() {
        let mut t = two_nodes();
        let mut chunk = Chunk::clone(&t.chunks[0]);
        let late = Timed { at: Nanos::from_millis(3), change: Change::Loss(LinkId(0), 0.1) };
        chunk.changes.insert(0, late);
        t.chunks[0] = Arc::new(chunk);
        assert!(check(&t).is_err());
    }

    #[test]
    fn what_is_not_json_is_said_in_words() {
        let why = |text: &str| why_not_json(&serde_json::from_str::<Vec<u8>>(text).unwrap_err());
        assert_eq!(why("[1"), "it breaks off in the middle");
        assert!(why("[1, x]").starts_with("it is not JSON"), "{}", why("[1, x]"));
        assert!(!why("{}").contains(" at line "), "{}", why("{}"));
    }
}
