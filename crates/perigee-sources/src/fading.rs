// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Links with random variations of loss and rate: bursts of loss (Gilbert 1960, Elliott 1963) and
//! weather, added to any source of chunks as ordinary changes. The simulator needs no support for
//! either.
//!
//! A burst process is a Markov chain in time, not in packets: a link stays good and bad for
//! exponentially distributed times, so that a faster flow loses more packets in the same burst.
//! Each directed link has its own chain, determined by the seed and the names of its ends,
//! independent of flows and schemes. Changes are emitted only for links on a route; those of other
//! links are deferred until the link is used.

use perigee_timeline::*;
use perigee_units::draw::mix;
use perigee_units::{BitRate, Nanos};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A Gilbert-Elliott process.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bursts {
    /// Loss probability outside and inside bursts.
    pub loss: [f64; 2],
    /// Mean sojourn time outside and inside bursts.
    pub stay: [Nanos; 2],
}

/// Weather on a link from an instant on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fade {
    /// Start time.
    pub at: Nanos,
    /// Remaining fraction of the rate, 0 to 1.
    pub rate_share: f64,
    /// Probability of loss.
    pub loss: f64,
}

/// Variations of links.
#[derive(Clone, Debug, Default)]
pub struct Fading {
    /// Seed of the bursts.
    pub seed: u64,
    /// Bursts on each selected link.
    pub bursts: Option<Bursts>,
    /// Weather by node name, in order of time: it applies to all selected links that start or end
    /// at the node.
    pub weather: BTreeMap<String, Vec<Fade>>,
    /// Links that vary; `None` = all between the ground and a satellite.
    pub links: Option<BTreeSet<LinkId>>,
}

/// A source with [`Fading`] added to it.
pub struct Faded<S> {
    inner: S,
    what: Fading,
    nodes: Vec<(String, bool)>,
    ports: Vec<(NodeId, BitRate)>,
    links: Vec<Line>,
    /// Links of the path of each pair.
    paths: BTreeMap<PairId, Arc<[LinkId]>>,
    /// Number of routes that currently use each link.
    uses: BTreeMap<LinkId, usize>,
    tabled: BTreeSet<LinkId>,
}

/// State of a link and its chain.
struct Line {
    port: PortId,
    ends: [NodeId; 2],
    base_loss: f64,
    chosen: bool,
    bad: bool,
    until: Nanos,
    /// Number of draws so far.
    draws: u64,
    loss: f64,
    rate_share: f64,
}

impl<S: ChunkSource> Faded<S> {
    /// Adds `what` to the chunks that follow a header.
    pub fn new(inner: S, header: &Header, what: Fading) -> Self {
        let mut f = Faded {
            inner,
            what,
            nodes: Vec::new(),
            ports: Vec::new(),
            links: Vec::new(),
            paths: BTreeMap::new(),
            uses: BTreeMap::new(),
            tabled: BTreeSet::new(),
        };
        f.meet(&header.nodes, &header.ports, &header.links, Nanos::ZERO);
        f
    }

    fn meet(&mut self, nodes: &[Node], ports: &[Port], links: &[Link], now: Nanos) {
        self.nodes.extend(nodes.iter().map(|n| (n.name.clone(), n.class == NodeClass::Satellite)));
        self.ports.extend(ports.iter().map(|p| (p.node, p.spec.rate)));
        for l in links {
            let id = LinkId(self.links.len() as u32);
            let ends = [self.ports[l.port.ix()].0, l.to];
            let [a, b] = ends.map(|n| self.nodes[n.ix()].1);
            let chosen = self.what.links.as_ref().map_or(a != b, |set| set.contains(&id));
            let mut line = Line {
                port: l.port,
                ends,
                base_loss: l.loss,
                chosen,
                bad: true,
                until: now,
                draws: 0,
                loss: l.loss,
                rate_share: 1.0,
            };
            // The first turn switches it to good.
            self.turn(&mut line);
            self.links.push(line);
        }
    }

    /// Ends a sojourn of the chain and draws the length of the next one.
    fn turn(&self, line: &mut Line) {
        let Some(b) = self.what.bursts else {
            line.until = Nanos(u64::MAX);
            return;
        };
        line.bad = !line.bad;
        let name = |n: NodeId| hash(self.nodes[n.ix()].0.as_bytes());
        let key = self.what.seed ^ name(line.ends[0]) ^ name(line.ends[1]).rotate_left(17);
        let u = (mix(mix(key).wrapping_add(line.draws)) >> 11) as f64 / (1u64 << 53) as f64;
        line.draws += 1;
        let stay = b.stay[usize::from(line.bad)].as_secs_f64() * -libm::log(1.0 - u);
        line.until += Nanos::from_secs_f64(stay).max(Nanos(1));
    }

    /// Changes of a link in use from `from` to `to`.
    fn vary(&mut self, id: LinkId, from: Nanos, to: Nanos, out: &mut Vec<Timed>) {
        let mut t = from;
        while t < to && self.links[id.ix()].chosen {
            while self.links[id.ix()].until <= t {
                let mut line = std::mem::replace(&mut self.links[id.ix()], Line::nobody());
                self.turn(&mut line);
                self.links[id.ix()] = line;
            }
            let line = &self.links[id.ix()];
            let (mut kept, mut share, mut next) = (1.0 - line.base_loss, 1.0, line.until);
            if let Some(b) = self.what.bursts {
                kept *= 1.0 - b.loss[usize::from(line.bad)];
            }
            for series in line.ends.iter().filter_map(|n| self.what.weather.get(&self.nodes[n.ix()].0)) {
                let i = series.partition_point(|f| f.at <= t);
                if let Some(now) = i.checked_sub(1).map(|i| series[i]) {
                    kept *= 1.0 - now.loss;
                    share *= now.rate_share;
                }
                next = series.get(i).map_or(next, |f| next.min(f.at));
            }
            let line = &mut self.links[id.ix()];
            if line.loss != 1.0 - kept {
                line.loss = 1.0 - kept;
                out.push(Timed { at: t, change: Change::Loss(id, 1.0 - kept) });
            }
            if line.rate_share != share {
                line.rate_share = share;
                let rate = BitRate((self.ports[line.port.ix()].1 .0 as f64 * share) as u64);
                out.push(Timed { at: t, change: Change::Rate(line.port, rate) });
            }
            t = next;
        }
    }

    /// Follows the routes through a chunk: periods in which each link is used.
    fn used(&mut self, chunk: &Chunk) -> Vec<(LinkId, Nanos, Nanos)> {
        let mut since: BTreeMap<LinkId, Nanos> = self.uses.keys().map(|&l| (l, chunk.start)).collect();
        let mut stretches = Vec::new();
        for c in &chunk.changes {
            let (gone, come): (Arc<[LinkId]>, Vec<LinkId>) = match &c.change {
                Change::Path(pair, links) => {
                    let old = self.paths.remove(pair).unwrap_or_else(|| Arc::from([]));
                    if let Some(links) = links {
                        self.paths.insert(*pair, links.clone());
                    }
                    (old, links.as_deref().unwrap_or_default().to_vec())
                }
                // Next-hop tables are not traced: a link that was in a table counts as used from
                // then on.
                Change::NextHop { link: Some(l), .. } if self.tabled.insert(*l) => (Arc::from([]), vec![*l]),
                _ => continue,
            };
            for l in come {
                let n = self.uses.entry(l).or_default();
                *n += 1;
                since.entry(l).or_insert(c.at);
            }
            for l in gone.iter() {
                let Some(n) = self.uses.get_mut(l) else { continue };
                *n -= 1;
                if *n == 0 {
                    self.uses.remove(l);
                    stretches.extend(since.remove(l).map(|from| (*l, from, c.at)));
                }
            }
        }
        stretches.extend(since.into_iter().map(|(l, from)| (l, from, chunk.end)));
        stretches
    }
}

impl Line {
    fn nobody() -> Self {
        Line {
            port: PortId(0),
            ends: [NodeId(0); 2],
            base_loss: 0.0,
            chosen: false,
            bad: false,
            until: Nanos(u64::MAX),
            draws: 0,
            loss: 0.0,
            rate_share: 1.0,
        }
    }
}

impl<S: ChunkSource> ChunkSource for Faded<S> {
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, String> {
        let Some(chunk) = self.inner.next_chunk()? else { return Ok(None) };
        let mut chunk = Arc::unwrap_or_clone(chunk);
        self.meet(&chunk.nodes, &chunk.ports, &chunk.links, chunk.start);
        let mut more = Vec::new();
        for (link, from, to) in self.used(&chunk) {
            self.vary(link, from, to, &mut more);
        }
        if !more.is_empty() {
            chunk.changes.extend(more);
            // Stable: at one instant, the changes of the source come first.
            chunk.changes.sort_by_key(|c| c.at);
        }
        Ok(Some(Arc::new(chunk)))
    }
}

/// FNV-1a hash.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Reads weather: CSV with columns `t_s`, `rate_share` and `loss`, in order of time.
///
/// # Errors
/// An invalid line, with its number.
pub fn read_weather(text: &str) -> Result<Vec<Fade>, String> {
    let mut lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#'));
    match lines.next() {
        Some((_, head)) if head.trim() == "t_s,rate_share,loss" => {}
        _ => return Err("its first line must be t_s,rate_share,loss".into()),
    }
    let mut series: Vec<Fade> = Vec::new();
    for (n, line) in lines {
        let wrong = |why: &str| format!("line {}: {why}: {line:?}", n + 1);
        let cells: Vec<f64> = line.split(',').filter_map(|c| c.trim().parse().ok()).collect();
        let [t, rate_share, loss] = cells[..] else { return Err(wrong("three numbers are expected")) };
        if !(0.0..=1e9).contains(&t) || !(0.0..=1.0).contains(&rate_share) || !(0.0..=1.0).contains(&loss) {
            return Err(wrong("a time from 0 s, and shares from 0 to 1, are expected"));
        }
        let at = Nanos::from_secs_f64(t);
        if series.last().is_some_and(|f| f.at >= at) {
            return Err(wrong("not later than the line before"));
        }
        series.push(Fade { at, rate_share, loss });
    }
    match series.is_empty() {
        true => Err("it has no rows".into()),
        false => Ok(series),
    }
}
