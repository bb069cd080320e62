// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Ports that request capacity, as packets experience them.

mod support;
use perigee_sim::*;
use perigee_sources::topology::*;
use perigee_timeline::*;
use perigee_units::{BitRate, Nanos};
use support::*;

const DAMA: Dama = Dama {
    frame: Nanos::from_millis(50),
    delay: Nanos::from_millis(600),
    cra: BitRate(0),
    rbdc: BitRate(0),
    vbdc: None,
    fca: BitRate(0),
};
const BACK: LinkId = LinkId(1);

/// Two hosts joined by one link each way, 20 ms long, at 10 Mbit/s; the port of the return path
/// requests its capacity.
fn wire(dama: Option<Dama>, changes: &[(Nanos, Change)]) -> Timeline {
    let (header, mut all) = two_hosts(10, ms(20), dama);
    all.extend(changes.iter().map(|(at, what)| change(*at, what.clone())));
    Timeline::single(header, all)
}

/// Pings of 1250 bytes.
fn ping(timeline: &Timeline, interval: Nanos) -> (RunOutcome, Vec<(f64, f64)>) {
    let (out, rtts) = pinged(timeline, interval, 1250);
    assert_eq!(out.conserved, Some(true));
    (out, rtts)
}

#[test]
fn an_answer_waits_for_its_grant() {
    // A reply reaches the port 21 ms into each second: requested at 50 ms, granted at 650 ms, at
    // the host 21 ms later.
    let (_, rtts) = ping(&wire(Some(DAMA), &[]), s(1));
    assert!(rtts.len() >= 9 && rtts.iter().all(|(_, rtt)| *rtt == 671.0), "{rtts:?}");
}

#[test]
fn a_constant_rate_spares_it_the_wait_and_one_of_the_ports_rate_makes_a_plain_port() {
    // Slots of 1250 bytes per frame: at 21 ms the frame's slot has passed, the next one starts at
    // 50 ms.
    let small = Dama { cra: BitRate(200_000), ..DAMA };
    let (_, rtts) = ping(&wire(Some(small), &[]), s(1));
    assert!(rtts.iter().all(|(_, rtt)| *rtt == 71.0), "{rtts:?}");
    for whole in [Dama { cra: BitRate::from_mbit(10), ..DAMA }, Dama { fca: BitRate::from_mbit(10), ..DAMA }]
    {
        let interval = Nanos::from_micros(970); // more than the port can carry
        assert_eq!(ping(&wire(Some(whole), &[]), interval).1, ping(&wire(None, &[]), interval).1);
    }
}

#[test]
fn pings_by_volume_wait_each_and_by_rate_only_at_first() {
    let (_, by_volume) = ping(&wire(Some(DAMA), &[]), ms(10));
    let late =
        |rtts: &[(f64, f64)]| rtts.iter().filter(|(sent, rtt)| *sent > 3_000.0 && *rtt > 600.0).count();
    assert!(by_volume.iter().all(|(_, rtt)| *rtt > 620.0), "{by_volume:?}");
    let (_, by_rate) = ping(&wire(Some(Dama { rbdc: BitRate::from_mbit(5), ..DAMA }), &[]), ms(10));
    assert!(by_rate[0].1 > 620.0 && late(&by_rate) == 0, "{by_rate:?}");
}

#[test]
fn a_flush_loses_what_waits_and_its_grants_serve_what_comes_later() {
    let outage = [(ms(1_300), Change::Down(BACK, OutageMode::Flush)), (ms(1_340), Change::Up(BACK))];
    let (out, rtts) = ping(&wire(Some(DAMA), &outage), ms(250));
    // The replies of 750, 1000 and 1250 ms were waiting; that of 1500 ms uses the grants for 1000
    // and 1250 ms, that of 1750 ms those after.
    assert_eq!(out.flows[0].dropped[DropCause::Outage as usize], 3);
    assert_eq!(rtts[3].0, 1_500.0);
    assert!(rtts[3].1 < 200.0 && rtts.iter().skip(6).all(|(_, rtt)| *rtt < 672.0), "{rtts:?}");
}

#[test]
fn a_held_link_and_a_rate_of_zero_keep_everything() {
    let held = [(ms(600), Change::Down(BACK, OutageMode::Hold)), (ms(2_025), Change::Up(BACK))];
    let (_, rtts) = ping(&wire(Some(DAMA), &held), s(1));
    // Requested at 50, 700, 1350 and 2000 ms, and granted 600 ms later each: three grants expire
    // unused. Capacity for the second reply is requested at 1050 and 1700 ms; the latter grant
    // serves the first reply, which is ahead of it in the queue.
    let found: Vec<f64> = rtts.iter().map(|(_, rtt)| *rtt).collect();
    assert_eq!(found[..4], [2_321.0, 1_621.0, 671.0, 671.0]);
    let port = PortId(1);
    let blocked =
        [(ms(600), Change::Rate(port, BitRate(0))), (ms(2_025), Change::Rate(port, BitRate::from_mbit(10)))];
    let (_, rtts) = ping(&wire(Some(DAMA), &blocked), s(1));
    assert_eq!(
        (rtts[0].0, rtts[0].1),
        (0.0, 2_071.0),
        "owed since 650 ms, granted with the first frame that has capacity"
    );
}

#[test]
fn flows_of_all_schemes_are_conserved_over_a_return_link_on_request() {
    for cc in ["cubic", "bbr", "leocc", "orbcc", "vivace"] {
        let spec = DumbbellSpec {
            rtts: vec![ms(60)],
            bottleneck: bytes_port(20, 300_000, 14),
            ..Default::default()
        };
        let mut built = dumbbell(&spec).unwrap();
        let back = built.flows[0].hops[1][1].port;
        built.header.ports[back.ix()].spec.dama =
            Some(Box::new(Dama { rbdc: BitRate::from_mbit(2), ..DAMA }));
        let f = flow(&built, 0, cc);
        let timeline = built.timeline(s(20), Vec::new());
        let (out, _) = run(&timeline, vec![f], 1);
        assert!(out.conserved == Some(true) && out.flows[0].delivered > 1_000, "{cc}: {:?}", out.flows[0]);
    }
}
