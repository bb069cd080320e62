// SPDX-License-Identifier: Apache-2.0 OR MIT
//! View of a pair over time, with a chain.

use perigee_sources::topology::{chain, ChainSpec};
use perigee_timeline::view::{view, PairView};
use perigee_timeline::*;
use perigee_units::{BitRate, Nanos};

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
    let view = seen(vec![(310, Change::Down(LinkId(1), OutageMode::Flush)), (355, Change::Up(LinkId(1)))]);
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
