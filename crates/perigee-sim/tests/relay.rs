// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Split connections: data that proxies forward, hold and acknowledge.

mod support;
use perigee_sim::*;
use perigee_sources::topology::{chain, Built, ChainSpec};
use perigee_timeline::*;
use perigee_units::{BitRate, Nanos};
use proptest::prelude::*;
use support::*;

const MSS: u64 = 1448;

/// Three links with proxies between them; the rate of each in Mbit/s, and their common delay.
fn line(rates: [u64; 3], delay: Nanos, loss: f64) -> Built {
    let port = PortSpec::packets(BitRate::from_mbit(100), 200);
    let mut b =
        chain(&ChainSpec { links: 3, rtt: delay * 6, port, loss, ..ChainSpec::default() }).expect("a chain");
    for (k, rate) in rates.into_iter().enumerate() {
        let hop = b.flows[0].hops[0][k];
        b.header.ports[hop.port.ix()].spec.rate = BitRate::from_mbit(rate);
    }
    for (from, to) in [("s", "r1"), ("r1", "r2"), ("r2", "d")] {
        b.part(from, to).expect("a part");
    }
    b
}

/// Legs of a transfer over `line`, as flows 0, 1, 2.
fn legs(b: &Built, cc: [&str; 3], bytes: Option<u64>, buffer: u64, spoof: bool) -> Vec<FlowSetup> {
    let leg = |k: usize| {
        let place = Leg {
            before: k.checked_sub(1).map(|p| p as u32),
            after: (k < 2).then_some(k as u32 + 1),
            buffer,
            spoof,
            standing: false,
        };
        FlowSetup { app: App::Bulk { bytes }, leg: Some(place), ..flow(b, k + 1, cc[k]) }
    };
    (0..3).map(leg).collect()
}

/// Delivered bytes of the three legs at each sampling instant.
fn delivered(log: &Log) -> Vec<[u64; 3]> {
    let mut rows: Vec<(Nanos, [u64; 3])> = Vec::new();
    let mut now = [0; 3];
    for &(at, flow, _, bytes, _) in &log.flows {
        assert!(bytes >= now[flow as usize], "what was delivered in order stays so");
        now[flow as usize] = bytes;
        match rows.last_mut() {
            Some(row) if row.0 == at => row.1 = now,
            _ => rows.push((at, now)),
        }
    }
    rows.into_iter().map(|r| r.1).collect()
}

fn seconds(n: u64, b: Built, changes: Vec<Timed>) -> Timeline {
    b.timeline(s(n), changes)
}

#[test]
fn a_transfer_arrives_whole_over_three_legs() {
    let b = line([100, 20, 50], ms(20), 0.001);
    let flows = legs(&b, ["cubic", "bbr", "newreno"], Some(5_000_000), 500_000, true);
    let (out, log) = run(&seconds(20, b, vec![]), flows, 3);
    for f in &out.flows {
        assert_eq!(f.goodput_bytes, 5_000_000);
        assert!(f.completed.is_some());
    }
    let done: Vec<_> = out.flows.iter().map(|f| f.completed.unwrap()).collect();
    assert!(done[0] < done[1] && done[1] < done[2], "{done:?}");
    assert!(delivered(&log).iter().all(|d| d[0] >= d[1] && d[1] >= d[2]));
}

#[test]
fn the_slowest_leg_sets_the_pace_of_all() {
    let b = line([100, 100, 10], ms(5), 0.0);
    let flows = legs(&b, ["cubic"; 3], None, 200_000, true);
    let (out, log) = run(&seconds(20, b, vec![]), flows, 1);
    let rate = |f: u32| log.goodput_mbit(f, s(5), s(20));
    let payload = 10.0 * 1448.0 / 1500.0;
    for f in 0..3 {
        assert!((rate(f) / payload - 1.0).abs() < 0.02, "leg {f}: {}", rate(f));
    }
    assert_eq!(out.flows[0].timeouts, 0);
}

#[test]
fn a_proxy_without_spoofing_answers_when_the_next_leg_stands() {
    let started = |spoof: bool| {
        let b = line([100; 3], ms(50), 0.0);
        let flows = legs(&b, ["cubic"; 3], Some(MSS), 1 << 20, spoof);
        let (out, _) = run(&seconds(10, b, vec![]), flows, 1);
        (out.flows.iter().map(|f| f.started.unwrap()).collect::<Vec<_>>(), out.flows[2].completed.unwrap())
    };
    let (spoofed, early) = started(true);
    let (honest, late) = started(false);
    assert_eq!(spoofed, honest, "each SYN goes on at once");
    // The nested handshakes take 300 ms, then data crosses in 150 ms. With spoofing the handshakes
    // overlap and take 100 ms.
    assert!(early > ms(250) && early < ms(260), "{early}");
    assert!(late > ms(450) && late < ms(460), "{late}");
}

#[test]
fn a_standing_connection_saves_its_handshake() {
    let done = |standing: bool, spoof: bool| {
        let b = line([100; 3], ms(50), 0.0);
        let mut flows = legs(&b, ["cubic"; 3], Some(MSS), 1 << 20, spoof);
        flows[1].leg.as_mut().unwrap().standing = standing;
        let (out, _) = run(&seconds(10, b, vec![]), flows, 1);
        out.flows[2].completed.unwrap()
    };
    // Data of the first leg waits for the second leg. A standing one saves its handshake of 100 ms.
    assert_eq!(
        done(false, true),
        done(true, true),
        "the first leg's own handshake is as long as the second's"
    );
    assert!(done(false, false) - done(true, false) > ms(99));
}

#[test]
fn a_window_whose_reopening_is_lost_is_found_by_probes() {
    let b = line([100, 100, 100], ms(10), 0.0);
    let [data, acks] = [b.flows[0].hops[0].clone(), b.flows[0].hops[1].clone()];
    // The second link fails and the first proxy fills up. When the link is back, the path of the
    // first leg's ACKs is down for a while: the window update is lost.
    let at = |t: u64, c: Change| change(ms(t), c);
    let changes = vec![
        at(1000, Change::Down(data[1].link, OutageMode::Blackhole)),
        at(3000, Change::Up(data[1].link)),
        at(2500, Change::Down(acks[2].link, OutageMode::Blackhole)),
        at(6000, Change::Up(acks[2].link)),
    ];
    let flows = legs(&b, ["cubic"; 3], Some(40_000_000), 300_000, true);
    let (out, log) = run(&seconds(40, b, changes), flows, 1);
    assert!(out.flows[2].completed.is_some(), "{:?}", out.flows[2].goodput_bytes);
    assert!(log.goodput_mbit(0, ms(4500), ms(5900)) < 1.0, "the first leg was stopped");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// For all legs, losses and outages: no proxy adds, reorders or loses bytes, none holds more
    /// than its buffer, and a limited transfer arrives completely. (`run` checks the conservation
    /// of packets.)
    #[test]
    fn bytes_out_never_exceed_bytes_in(
        rates in (1u64..100, 1u64..100, 1u64..100),
        delay in 1u64..120,
        loss in 0.0..0.01f64,
        buffer in 2_000u64..400_000,
        spoof: bool,
        cc in proptest::sample::select(vec!["cubic", "bbr", "newreno", "bbr3", "orbcc"]),
        cuts in proptest::collection::vec((0usize..3, 0usize..2, 100u64..9_000, 1u64..900), 0..4),
        seed in 0u64..1000,
    ) {
        let b = line([rates.0, rates.1, rates.2], ms(delay), loss);
        let hops = b.flows[0].hops.clone();
        let mut changes = Vec::new();
        for (k, way, at, length) in cuts {
            let link = hops[way][k].link;
            changes.push(change(ms(at), Change::Down(link, OutageMode::Flush)));
            changes.push(change(ms(at + length), Change::Up(link)));
        }
        changes.sort_by_key(|c| c.at);
        let total = 200_000;
        let flows = legs(&b, ["cubic", cc, "cubic"], Some(total), buffer, spoof);
        let (out, log) = run(&seconds(200, b, changes), flows, seed);
        let room = (buffer / MSS).max(1) * MSS;
        for d in delivered(&log) {
            for k in 0..2 {
                prop_assert!(d[k + 1] <= d[k] && d[k] <= d[k + 1] + room, "{d:?} with room for {room}");
            }
        }
        prop_assert_eq!(out.flows[2].goodput_bytes, total, "{:?}", out.flows.iter().map(|f| f.timeouts).collect::<Vec<_>>());
    }
}

#[test]
fn legs_that_do_not_name_each_other_are_refused() {
    let b = line([10; 3], ms(5), 0.0);
    let mut flows = legs(&b, ["cubic"; 3], None, 1 << 20, true);
    flows[1].leg.as_mut().unwrap().before = None;
    let t = seconds(1, b, vec![]);
    let refused = |flows: Vec<FlowSetup>| match Simulation::new(
        &t.header,
        Box::new(t.reader()),
        flows,
        Options::default(),
    ) {
        Err(e) => e.to_string(),
        Ok(_) => String::new(),
    };
    assert!(refused(flows.clone()).contains("does not continue"));
    flows[1].leg.as_mut().unwrap().before = Some(0);
    flows[1].tcp.mss = 1000;
    assert!(refused(flows).contains("1448 and 1000 bytes"));
}
