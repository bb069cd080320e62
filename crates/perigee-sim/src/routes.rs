// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Routes through the network: paths of pairs, or next-hop tables.

use crate::net::Net;
use crate::packet::NONE;
use perigee_timeline::{transmission, LinkId, NodeId, Pair, PairId, Routing, Spread, SpreadBy};
use perigee_units::{BitRate, Nanos, NS_PER_S};
use std::collections::BTreeMap;

/// Maximum length of a path that is followed: a loop in next-hop tables must not hang the
/// simulation.
const MAX_HOPS: usize = 250;

/// Sentinel: packets reach a link's port over several links, or from a host.
const MANY: u32 = NONE - 1;

/// All routes.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    mode: Routing,
    pairs: Vec<Pair>,
    /// All paths ever used, back to back, each terminated by [`NONE`]. A packet stores its position
    /// in the list, so that it can finish a path that its pair no longer uses.
    hops: Vec<u32>,
    known: BTreeMap<Vec<u32>, u32>,
    /// Per link: the only link over which packets reach its port; [`NONE`] if there is none, or
    /// [`MANY`].
    feeder: Vec<u32>,
    /// Per link: whether it leads to another partition. Its far end is then not known here.
    pub cut: Vec<bool>,
    /// Per pair: start of its path in `hops`, or the number of its destination.
    start: Vec<u32>,
    /// Destinations, and for each destination a table by node.
    destinations: Vec<u32>,
    tables: Vec<Vec<u32>>,
    /// Choice among several paths, and by pair the pairs that have them; empty = no pair has.
    by: SpreadBy,
    choices: Vec<Vec<PairId>>,
}

/// Current properties of a path, without queues.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathState {
    /// Propagation and serialisation delay.
    pub delay: Nanos,
    /// Rate of change of the propagation delay, in nanoseconds per second.
    pub slope: i64,
    /// Rate of the slowest port.
    pub rate: BitRate,
    /// Framing of that port.
    pub framing: u32,
    pub hops: usize,
}

impl Routes {
    pub fn new(mode: Routing, pairs: &[Pair]) -> Self {
        let mut r =
            Routes { mode, pairs: pairs.to_vec(), start: vec![NONE; pairs.len()], ..Routes::default() };
        if mode == Routing::PerHop {
            for (i, pair) in pairs.iter().enumerate() {
                r.start[i] = r.destination(pair.to);
            }
        }
        r
    }

    /// With several paths for some pairs.
    pub fn with_spread(mut self, spread: Option<&Spread>) -> Self {
        let Some(spread) = spread else { return self };
        self.by = spread.by;
        self.choices = vec![Vec::new(); self.pairs.len()];
        for paths in &spread.paths {
            self.choices[paths[0].ix()].clone_from(paths);
        }
        self
    }

    /// Pairs with paths that the packets of a pair may take; empty = its own alone.
    #[inline]
    pub fn choices(&self, pair: PairId) -> &[PairId] {
        self.choices.get(pair.ix()).map_or(&[], Vec::as_slice)
    }

    /// What is kept on one path.
    pub fn spread_by(&self) -> SpreadBy {
        self.by
    }

    fn destination(&mut self, node: NodeId) -> u32 {
        match self.destinations.iter().position(|&d| d == node.0) {
            Some(d) => d as u32,
            None => {
                self.destinations.push(node.0);
                self.tables.push(Vec::new());
                self.destinations.len() as u32 - 1
            }
        }
    }

    /// Sets the path of a pair.
    pub fn set_path(&mut self, pair: PairId, links: Option<&[LinkId]>) {
        self.start[pair.ix()] = match links {
            None => NONE,
            Some(links) => {
                let key: Vec<u32> = links.iter().map(|l| l.0).collect();
                match self.known.get(&key) {
                    Some(at) => *at,
                    None => self.add_path(key),
                }
            }
        };
    }

    fn add_path(&mut self, path: Vec<u32>) -> u32 {
        let mut before = MANY;
        for &link in &path {
            self.feeder.resize(self.feeder.len().max(link as usize + 1), NONE);
            let feeder = &mut self.feeder[link as usize];
            *feeder = if *feeder == NONE || *feeder == before { before } else { MANY };
            before = if self.cut.get(link as usize).is_some_and(|&cut| cut) { MANY } else { link };
        }
        let at = self.hops.len() as u32;
        self.hops.extend(&path);
        self.hops.push(NONE);
        self.known.insert(path, at);
        at
    }

    /// Sets the next hop of a node.
    pub fn set_next_hop(&mut self, at: NodeId, to: NodeId, link: Option<LinkId>) {
        let d = self.destination(to) as usize;
        let table = &mut self.tables[d];
        if table.len() <= at.ix() {
            table.resize(at.ix() + 1, NONE);
        }
        table[at.ix()] = link.map_or(NONE, |l| l.0);
    }

    /// First link of a pair's path, and the routing state that the packet must carry.
    #[inline]
    pub fn first(&self, pair: PairId) -> Option<(u32, u32)> {
        let start = self.start[pair.ix()];
        match self.mode {
            Routing::PerPath if start == NONE => None,
            Routing::PerPath => Some((self.hops[start as usize], start)),
            Routing::PerHop => {
                let from = self.pairs[pair.ix()].from.0;
                self.table(start, from).map(|link| (link, start))
            }
        }
    }

    /// Next step of a packet that has crossed a link and is at `node`.
    #[inline]
    pub fn next(&self, route: u32, node: u32) -> Next {
        match self.mode {
            Routing::PerPath => match self.hops[route as usize + 1] {
                NONE => Next::Arrived,
                link => Next::Link(link, route + 1),
            },
            Routing::PerHop if self.destinations[route as usize] == node => Next::Arrived,
            Routing::PerHop => self.table(route, node).map_or(Next::Lost, |link| Next::Link(link, route)),
        }
    }

    /// Next step of a packet that crosses `link`, if the link taken next is reached over `link`
    /// only.
    #[inline]
    pub fn only_way(&self, route: u32, link: u32) -> Option<(u32, u32)> {
        if self.mode != Routing::PerPath {
            return None;
        }
        let next = self.hops[route as usize + 1];
        (next != NONE && self.feeder[next as usize] == link).then_some((next, route + 1))
    }

    /// The only link over which packets ever reach `link`, if there is exactly one.
    pub fn feeder(&self, link: u32) -> Option<u32> {
        let known = self.mode == Routing::PerPath;
        self.feeder.get(link as usize).copied().filter(|&feeder| known && feeder < NONE - 1)
    }

    /// Whether packets may take a link: it is on a path, unless there are tables.
    pub fn may_use(&self, link: u32) -> bool {
        self.mode == Routing::PerHop || self.feeder.get(link as usize).is_some_and(|&f| f != NONE)
    }

    /// Node at which a pair's packets arrive.
    pub fn end_of(&self, pair: PairId) -> u32 {
        self.pairs[pair.ix()].to.0
    }

    fn table(&self, destination: u32, node: u32) -> Option<u32> {
        let link = self.tables[destination as usize].get(node as usize).copied().unwrap_or(NONE);
        (link != NONE).then_some(link)
    }

    /// Links of a pair's current path; `None` = unreachable.
    pub fn links(&self, pair: PairId, net: &Net) -> Option<Vec<u32>> {
        let (mut link, mut route) = self.first(pair)?;
        let mut links = vec![link];
        loop {
            match self.next(route, net.links[link as usize].to) {
                Next::Arrived => return Some(links),
                Next::Lost => return None,
                Next::Link(l, r) => (link, route) = (l, r),
            }
            if links.len() == MAX_HOPS {
                return None;
            }
            links.push(link);
        }
    }

    /// Properties of a pair's path for packets of `ip_bytes`, at `now`.
    pub fn way(&self, pair: PairId, net: &Net, now: Nanos, ip_bytes: u32) -> Option<PathState> {
        let mut way = PathState { rate: BitRate(u64::MAX), ..PathState::default() };
        for link in self.links(pair, net)? {
            let (delay, slope) = net.links[link as usize].delay_and_slope(now);
            let (rate, framing, burst) = (net.rate(link), net.framing(link), net.burst(link));
            way.delay += delay;
            way.slope += slope;
            way.hops += 1;
            if rate.0 > 0 {
                way.delay += transmission(rate, burst, u64::from(ip_bytes + framing));
            }
            if rate < way.rate {
                way.rate = rate;
                way.framing = framing;
            }
        }
        Some(way)
    }
}

/// Next step of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The packet has arrived.
    Arrived,
    /// Link to take, with the routing state that the packet must carry.
    Link(u32, u32),
    /// The destination is unreachable.
    Lost,
}

/// RTT of a flow without queues over time: linear pieces, the latest last.
#[derive(Clone, Debug, Default)]
pub struct BaseRtt {
    pieces: std::collections::VecDeque<Piece>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    since: Nanos,
    /// RTT at `since`; [`Nanos::MAX`] = no route.
    rtt: Nanos,
    slope: i64,
}

/// Number of pieces kept: enough for packets sent many seconds ago.
const PIECES: usize = 256;

impl BaseRtt {
    /// Adds a piece that starts at `since`.
    pub fn push(&mut self, since: Nanos, rtt: Option<(Nanos, i64)>) {
        let (rtt, slope) = rtt.unwrap_or((Nanos::MAX, 0));
        let piece = Piece { since, rtt, slope };
        if let Some(last) = self.pieces.back_mut().filter(|last| last.since == since) {
            *last = piece;
            return;
        }
        // Letting the deque grow by one would double its memory.
        if self.pieces.len() == PIECES {
            self.pieces.pop_front();
        }
        self.pieces.push_back(piece);
    }

    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.pieces.capacity() * std::mem::size_of::<Piece>()
    }

    /// RTT at `t`, which is usually recent.
    #[inline]
    pub fn at(&self, t: Nanos) -> Option<Nanos> {
        let piece = self.pieces.iter().rev().find(|p| p.since <= t).or(self.pieces.front())?;
        let (base, slope) = (piece.rtt, piece.slope);
        if base == Nanos::MAX {
            return None;
        }
        if slope == 0 {
            return Some(base);
        }
        let change = t.saturating_sub(piece.since).0 as i128 * slope as i128 / NS_PER_S as i128;
        Some(Nanos((base.0 as i128 + change).max(0) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_rtt_is_that_of_the_send_time() {
        let mut b = BaseRtt::default();
        b.push(Nanos::ZERO, Some((Nanos::from_millis(50), 0)));
        b.push(Nanos::from_secs(1), Some((Nanos::from_millis(80), -1_000_000)));
        b.push(Nanos::from_secs(2), None);
        assert_eq!(b.at(Nanos(999_999_999)), Some(Nanos::from_millis(50)));
        assert_eq!(b.at(Nanos::from_millis(1500)), Some(Nanos(79_500_000)));
        assert_eq!(b.at(Nanos::from_secs(3)), None);
    }

    #[test]
    fn a_loop_in_the_tables_is_no_way() {
        let pair = Pair { from: NodeId(0), to: NodeId(9) };
        let mut r = Routes::new(Routing::PerHop, &[pair]);
        r.set_next_hop(NodeId(0), NodeId(9), Some(LinkId(0)));
        r.set_next_hop(NodeId(1), NodeId(9), Some(LinkId(1)));
        assert_eq!(r.first(PairId(0)), Some((0, 0)));
        assert_eq!(r.next(0, 1), Next::Link(1, 0));
        assert_eq!(r.next(0, 9), Next::Arrived);
        assert_eq!(r.next(0, 5), Next::Lost);
    }
}
