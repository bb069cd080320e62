// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Carriers shared with other terminals, as packets experience them.

mod support;
use perigee_cc::info;
use perigee_sim::*;
use perigee_timeline::*;
use perigee_units::{BitRate, Nanos};
use support::*;

const FRAME: Nanos = Nanos::from_millis(10);
/// Four neighbours at 40 Mbit/s.
const CARRIER: Carrier = Carrier {
    rate: BitRate::from_mbit(40),
    frame: FRAME,
    sharing: Sharing::RoundRobin,
    floor: BitRate(0),
    request_slots: 0,
    neighbours: Neighbours {
        count: 4,
        load: BitRate(0),
        peak: BitRate::from_mbit(40),
        burst: 100_000,
        burst_max: 10_000_000,
        burst_shape: 1.5,
        queue: 1_000_000,
    },
};

fn loaded(load: u64) -> Carrier {
    let neighbours = Neighbours { load: BitRate::from_mbit(load), ..CARRIER.neighbours };
    Carrier { neighbours, ..CARRIER }
}

/// Two hosts joined by one link each way, 20 ms long, at 10 Mbit/s, with the port of the data on a carrier.
fn forward(carrier: Option<Carrier>) -> Timeline {
    let (mut header, changes) = two_hosts(10, ms(20), None);
    header.ports[0].spec.carrier = carrier.map(Box::new);
    Timeline::single(header, changes)
}

/// The same with the port of the answers.
fn back(dama: Dama, carrier: Option<Carrier>) -> Timeline {
    let (mut header, changes) = two_hosts(10, ms(20), Some(dama));
    header.ports[1].spec.carrier = carrier.map(Box::new);
    Timeline::single(header, changes)
}

/// A run of pings of 1250 bytes: packets that arrived, RTTs in ms.
fn ping(timeline: &Timeline, interval: Nanos) -> Vec<f64> {
    let (out, rtts) = pinged(timeline, interval, 1250);
    assert_eq!(out.conserved, Some(true));
    rtts.into_iter().map(|(_, rtt)| rtt).collect()
}

#[test]
fn neighbours_without_load_leave_a_plain_port() {
    // More than the port can carry.
    let interval = Nanos::from_micros(970);
    assert_eq!(ping(&forward(Some(CARRIER)), interval), ping(&forward(None), interval));
    let none = Carrier { neighbours: Neighbours { count: 0, ..CARRIER.neighbours }, ..CARRIER };
    assert_eq!(ping(&forward(Some(none)), interval), ping(&forward(None), interval));
    let dama = Dama {
        frame: FRAME,
        delay: ms(600),
        cra: BitRate(0),
        rbdc: BitRate::from_mbit(2),
        vbdc: None,
        fca: BitRate(0),
    };
    for carrier in [CARRIER, Carrier { sharing: Sharing::Proportional, request_slots: 3, ..CARRIER }] {
        assert_eq!(ping(&back(dama, Some(carrier)), ms(7)), ping(&back(dama, None), ms(7)));
    }
}

#[test]
fn neighbours_that_always_send_leave_an_equal_turn() {
    // Four neighbours that offer more than the carrier has: a fifth of 40 Mbit/s remains, 8 pings of 1250 bytes
    // per frame of 10 ms.
    let busy = loaded(150);
    let rtts = ping(&forward(Some(busy)), Nanos::from_micros(970));
    let rate = rtts.len() as f64 * 10_000.0 / 10.0;
    assert!((7.6e6..8.1e6).contains(&rate), "{rate}");
    let idle = ping(&forward(Some(loaded(10))), Nanos::from_micros(970));
    assert!(idle.len() > 9_400, "the rate of the port: {}", idle.len());
}

#[test]
fn requests_of_neighbours_delay_grants_and_a_floor_bounds_the_delay() {
    let dama =
        Dama { frame: FRAME, delay: ms(600), cra: BitRate(0), rbdc: BitRate(0), vbdc: None, fca: BitRate(0) };
    let mean = |carrier: Carrier| {
        let rtts = ping(&back(dama, Some(carrier)), ms(100));
        (rtts.iter().sum::<f64>() / rtts.len() as f64, rtts.len())
    };
    let rule = |load: u64, floor: u64| Carrier {
        sharing: Sharing::Proportional,
        floor: BitRate(floor),
        ..loaded(load)
    };
    let (alone, crowded, floor) = (mean(rule(0, 0)), mean(rule(120, 0)), mean(rule(120, 1_000_000)));
    assert!((620.0..660.0).contains(&alone.0), "{alone:?}");
    // Of 4 MB that wait, 3 MB are requests on their way (60 frames of 50 kB): up to 1 MB competes, 20 frames' worth.
    assert!((50.0..200.0).contains(&(crowded.0 - alone.0)), "{alone:?} {crowded:?}");
    assert!(floor.0 < 1.02 * alone.0, "{alone:?} {floor:?}");
}

#[test]
fn another_seed_is_another_crowd_and_the_same_seed_the_same() {
    let rtts = |seed: u64| {
        let scheme = info("newreno").expect("a scheme of the list");
        let scheme = Scheme::Builtin(scheme, scheme.params(Default::default()).expect("its defaults"));
        let mut f = setup("ping", PairId(0), PairId(1), scheme);
        f.app = App::Ping { interval: ms(1), size: 1250 };
        run(&forward(Some(loaded(38))), vec![f], seed).1.rtts
    };
    assert_eq!(rtts(1), rtts(1));
    assert_ne!(rtts(1), rtts(2));
}
