// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a traffic pair sees of a timeline over time, without any traffic.

use crate::follow::Follower;
use crate::model::*;
use perigee_units::{BitRate, Nanos};

/// What a pair and its way back see over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairView {
    /// Sampling instants.
    pub t: Vec<Nanos>,
    /// Propagation there and back; `None` = unreachable.
    pub rtt: Vec<Option<Nanos>>,
    /// Rate of the slowest port on the way there; `None` = unreachable.
    pub rate: Vec<Option<BitRate>>,
    /// Links of the way there; zero = unreachable.
    pub hops: Vec<u32>,
    /// When nothing gets through: no route, a link down, or a blocked port. Begin and end, exact.
    pub outages: Vec<(Nanos, Nanos)>,
    /// When the way there becomes another one, exact.
    pub path_changes: Vec<Nanos>,
}

/// Follows a pair and its way back through a timeline, with a sample each `step`.
pub fn view(timeline: &Timeline, forward: PairId, back: PairId, step: Nanos) -> PairView {
    let mut f = Watcher {
        now: Follower::new(&timeline.header),
        ways: [forward, back],
        step: step.max(Nanos(1)),
        view: PairView::default(),
        last_route: None,
        closed_since: None,
    };
    for chunk in &timeline.chunks {
        f.sample_until(chunk.start);
        f.now.enter(chunk);
        for instant in chunk.changes.chunk_by(|a, b| a.at == b.at) {
            f.sample_until(instant[0].at);
            instant.iter().for_each(|c| f.now.apply(c));
            f.note(instant[0].at);
        }
    }
    let end = timeline.header.duration;
    f.sample_until(end);
    f.view.outages.extend(f.closed_since.map(|since| (since, end)));
    f.view
}

struct Watcher {
    now: Follower,
    ways: [PairId; 2],
    step: Nanos,
    view: PairView,
    last_route: Option<Vec<LinkId>>,
    closed_since: Option<Nanos>,
}

impl Watcher {
    /// Samples up to, not at, `end`: what changes at an instant holds from that instant.
    fn sample_until(&mut self, end: Nanos) {
        loop {
            let t = self.step * self.view.t.len() as u64;
            if t >= end {
                return;
            }
            let [there, back] = self.ways.map(|p| self.now.links(p));
            let one_way =
                |links: &Vec<LinkId>| links.iter().fold(Nanos::ZERO, |sum, &l| sum + self.now.delay(l, t));
            let rtt = there.as_ref().zip(back.as_ref()).map(|(a, b)| one_way(a) + one_way(b));
            self.view.rtt.push(rtt);
            self.view.rate.push(there.as_deref().and_then(|l| self.now.slowest(l)).map(|(_, rate)| rate));
            self.view.hops.push(there.map_or(0, |l| l.len() as u32));
            self.view.t.push(t);
        }
    }

    fn note(&mut self, t: Nanos) {
        let [there, back] = self.ways.map(|p| self.now.links(p));
        let open = [&there, &back].iter().all(|way| way.as_deref().is_some_and(|l| self.now.carries(l)));
        if open {
            self.view.outages.extend(self.closed_since.take().map(|since| (since, t)));
        } else {
            self.closed_since.get_or_insert(t);
        }
        if there.is_some() && there != self.last_route {
            if self.last_route.is_some() {
                self.view.path_changes.push(t);
            }
            self.last_route = there;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{chain, ChainSpec};

    const MS: u64 = 1_000_000;

    /// A chain of two links, 20 ms, one second long, with changes.
    fn two_links(changes: Vec<(u64, Change)>) -> Timeline {
        let spec = ChainSpec { links: 2, rtt: Nanos(20 * MS), ..ChainSpec::default() };
        let timed = changes.into_iter().map(|(ms, change)| Timed { at: Nanos(ms * MS), change });
        chain(&spec).unwrap().timeline(Nanos(1_000 * MS), timed.collect())
    }

    fn seen(changes: Vec<(u64, Change)>) -> PairView {
        view(&two_links(changes), PairId(0), PairId(1), Nanos(100 * MS))
    }

    #[test]
    fn a_quiet_network_shows_its_round_trip_and_rate() {
        let view = seen(vec![]);
        assert_eq!(view.t.len(), 10);
        assert!(view.rtt.iter().all(|&r| r == Some(Nanos(20 * MS))));
        assert!(view.hops.iter().all(|&h| h == 2));
        assert!(view.outages.is_empty() && view.path_changes.is_empty());
    }

    #[test]
    fn a_change_holds_from_its_instant() {
        let longer = Change::Delay(LinkId(0), Delay::constant(Nanos(15 * MS)));
        let view = seen(vec![(300, longer), (500, Change::Rate(PortId(0), BitRate(7)))]);
        assert_eq!(view.rtt[2], Some(Nanos(20 * MS)));
        assert_eq!(view.rtt[3], Some(Nanos(30 * MS)));
        assert_ne!(view.rate[4], Some(BitRate(7)));
        assert_eq!(view.rate[5], Some(BitRate(7)));
    }

    #[test]
    fn outages_shorter_than_a_step_are_seen() {
        let view =
            seen(vec![(310, Change::Down(LinkId(1), OutageMode::Flush)), (355, Change::Up(LinkId(1)))]);
        assert_eq!(view.outages, vec![(Nanos(310 * MS), Nanos(355 * MS))]);
    }

    #[test]
    fn a_lost_route_is_an_outage_until_the_end() {
        let view = seen(vec![(700, Change::Path(PairId(0), None))]);
        assert_eq!(view.outages, vec![(Nanos(700 * MS), Nanos(1_000 * MS))]);
        assert_eq!(view.rtt[8], None);
        assert_eq!(view.hops[8], 0);
        assert!(view.path_changes.is_empty(), "losing a route is not another route");
    }
}
