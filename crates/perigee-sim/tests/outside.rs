// SPDX-License-Identifier: Apache-2.0 OR MIT
//! External endpoints: frames cross the same network as simulated packets, and a connection behaves
//! identically with its two ends in two simulations.

mod support;
use perigee_sim::*;
use perigee_sources::topology::*;
use perigee_timeline::*;
use perigee_units::Nanos;
use support::*;

const BOTH: Outside = Outside { source: true, destination: true };
const SOURCE: EndpointId = EndpointId { flow: 0, side: Side::Source };
const DESTINATION: EndpointId = EndpointId { flow: 0, side: Side::Destination };

fn simulation(timeline: &Timeline, flows: Vec<FlowSetup>) -> Simulation<'_> {
    let options = Options { max_hops: 4, ..Options::default() };
    Simulation::new(&timeline.header, Box::new(timeline.reader()), flows, options).expect("a setup")
}

fn line(mbit: u64, changes: impl Fn(&Built) -> Vec<Timed>) -> (Timeline, FlowSetup) {
    ordered(LinkOrder::Fifo, mbit, changes)
}

fn ordered(order: LinkOrder, mbit: u64, changes: impl Fn(&Built) -> Vec<Timed>) -> (Timeline, FlowSetup) {
    let built = chain(&ChainSpec {
        links: 2,
        port: bytes_port(mbit, 20_000, 0),
        rtt: ms(40),
        order,
        ..ChainSpec::default()
    });
    let built = built.expect("a chain");
    let f = flow(&built, 0, "cubic");
    let changes = changes(&built);
    (built.timeline(s(2), changes), f)
}

#[test]
fn a_frame_arrives_whole_after_transmission_and_propagation() {
    let (timeline, f) = line(10, |_| Vec::new());
    let mut sim = simulation(&timeline, vec![FlowSetup { outside: BOTH, ..f }]);
    let bytes: Box<[u8]> = (0..=249).collect();
    sim.inject(ms(5), SOURCE, OutsidePacket::frame(Side::Source, ms(5), bytes.clone()).unwrap()).unwrap();
    sim.inject(ms(7), DESTINATION, OutsidePacket::frame(Side::Destination, ms(7), bytes.clone()).unwrap())
        .unwrap();
    sim.advance(s(1), &mut Silent).unwrap();
    let out: Vec<Delivery> = sim.egress().collect();
    // Two links, each with 0.2 ms of transmission and 10 ms of propagation.
    let crossing = Nanos::from_micros(20_400);
    let ends: Vec<_> = out.iter().map(|d| (d.at, d.endpoint, d.packet.number, d.packet.hops)).collect();
    assert_eq!(ends, [(ms(5) + crossing, DESTINATION, Some(1), 2), (ms(7) + crossing, SOURCE, Some(1), 2)]);
    assert!(out.iter().all(|d| matches!(&d.packet.content, Content::Frame(b) if *b == bytes)));
    let done = sim.finish();
    assert_eq!(done.conserved, Some(true));
    assert_eq!((done.flows[0].sent, done.flows[0].delivered, done.flows[0].goodput_bytes), (2, 2, 500));
}

#[test]
fn packets_that_enter_at_one_instant_do_so_by_end_and_number() {
    let (timeline, f) = line(10, |_| Vec::new());
    let second = FlowSetup { name: "second".into(), outside: BOTH, ..f.clone() };
    let mut sim = simulation(&timeline, vec![FlowSetup { outside: BOTH, ..f }, second]);
    let later = EndpointId { flow: 1, side: Side::Source };
    for (end, tag) in [(later, 1u8), (SOURCE, 2), (later, 3), (SOURCE, 4)] {
        sim.inject(ms(1), end, OutsidePacket::frame(end.side, ms(1), vec![tag; 100].into()).unwrap())
            .unwrap();
    }
    sim.advance(s(1), &mut Silent).unwrap();
    let tag = |d: Delivery| match d.packet.content {
        Content::Frame(b) => b[0],
        _ => panic!("no frame"),
    };
    assert_eq!(sim.egress().map(tag).collect::<Vec<_>>(), [2, 4, 1, 3]);
}

#[test]
fn frames_share_ports_with_simulated_flows_and_are_dropped_like_them() {
    let (timeline, f) = line(10, |b| {
        let link = b.flows[0].hops[0][1].link;
        vec![change(ms(1000), Change::Down(link, OutageMode::Flush)), change(ms(1300), Change::Up(link))]
    });
    let frames = FlowSetup { name: "frames".into(), outside: BOTH, ..f.clone() };
    let run = |with_frames: bool| {
        let mut sim = simulation(&timeline, vec![f.clone(), frames.clone()]);
        let (from, mut arrived) = (EndpointId { flow: 1, side: Side::Source }, 0);
        for n in 0..if with_frames { 1000 } else { 0 } {
            let at = ms(2 * n);
            sim.inject(at, from, OutsidePacket::frame(Side::Source, at, vec![0; 1000].into()).unwrap())
                .unwrap();
        }
        for step in 1..=200 {
            sim.advance(ms(10 * step + 1), &mut Silent).unwrap();
            arrived += sim.egress().count() as u64;
        }
        (sim.finish(), arrived)
    };
    let ((alone, _), (shared, arrived)) = (run(false), run(true));
    let [cubic, frames] = [&shared.flows[0], &shared.flows[1]];
    assert_eq!((shared.conserved, alone.conserved), (Some(true), Some(true)));
    assert!(cubic.goodput_bytes < alone.flows[0].goodput_bytes * 8 / 10, "frames take their share");
    assert_eq!(frames.delivered, arrived);
    assert!(
        frames.dropped[DropCause::Queue as usize] > 0 && frames.dropped[DropCause::Outage as usize] > 100
    );
    assert_eq!(frames.sent, frames.delivered + frames.dropped.iter().sum::<u64>() + frames.under_way);
}

#[test]
fn frames_are_marked_where_their_header_allows_it_and_dropped_where_not() {
    let (mut timeline, f) = line(10, |_| Vec::new());
    let codel = std::sync::Arc::new(Discipline { name: "codel".into(), ..Discipline::default() });
    for port in &mut timeline.header.ports {
        port.spec.queue = Queue { discipline: codel.clone(), ..Queue::drop_tail(QueueLimit::Packets(1000)) };
    }
    let marked_and_lost = |ecn: u8| {
        let mut sim = simulation(&timeline, vec![FlowSetup { outside: BOTH, ..f.clone() }]);
        // 12 Mbit/s offered to a link of 10.
        for n in 0..1500 {
            let at = Nanos::from_micros(667 * n);
            let mut bytes = vec![0; 1000];
            bytes[..2].copy_from_slice(&[0x45, ecn]);
            sim.inject(at, SOURCE, OutsidePacket::frame(Side::Source, at, bytes.into()).unwrap()).unwrap();
        }
        sim.advance(s(2), &mut Silent).unwrap();
        let marked = sim.egress().filter(|d| d.packet.marked).count() as u64;
        let done = sim.finish();
        assert_eq!(done.conserved, Some(true));
        (marked, done.flows[0].dropped[DropCause::Queue as usize])
    };
    let (capable, not_capable) = (marked_and_lost(2), marked_and_lost(0));
    assert!(capable.0 > 5 && capable.1 == 0, "{capable:?}");
    assert!(not_capable.0 == 0 && not_capable.1 > 5, "{not_capable:?}");
}

/// The sender in one simulation, the receiver in another, the network in a third: complete packets
/// are exchanged.
#[test]
fn a_connection_across_simulations_is_the_connection_within_one() {
    for cc in ["cubic", "bbr3", "orbcc"] {
        let built = || {
            let port = bytes_port(10, 20_000, 0);
            chain(&ChainSpec { links: 2, port, rtt: ms(40), loss: 0.002, ..ChainSpec::default() }).unwrap()
        };
        let f = FlowSetup { app: App::Bulk { bytes: Some(700_000) }, ..flow(&built(), 0, cc) };
        let timeline = built().timeline(s(2), Vec::new());
        let mut all = simulation(&timeline, vec![f.clone()]);
        let expected = all.run(&mut Silent, &mut |_| true).unwrap();

        // One network and one receiver; each packet is handed over at the exact instant of its
        // arrival.
        let outside = Outside { source: false, destination: true };
        let mut near = simulation(&timeline, vec![FlowSetup { outside, ..f.clone() }]);
        let far_net = chain(&ChainSpec {
            links: 1,
            port: PortSpec::unlimited(),
            rtt: Nanos(0),
            ..ChainSpec::default()
        });
        let far_net = far_net.unwrap();
        let outside = Outside { source: true, destination: false };
        let far_flow = FlowSetup {
            outside,
            forward: far_net.flows[0].forward,
            reverse: far_net.flows[0].reverse,
            ..f.clone()
        };
        let far_timeline = far_net.timeline(s(2), Vec::new());
        let mut far = simulation(&far_timeline, vec![far_flow]);
        loop {
            let until = near.next_event().min(far.next_event()) + Nanos(1);
            near.advance(until, &mut Silent).unwrap();
            far.advance(until, &mut Silent).unwrap();
            let to_far: Vec<Delivery> = near.egress().collect();
            for d in to_far {
                far.inject(until, SOURCE, d.packet).unwrap();
            }
            let to_near: Vec<Delivery> = far.egress().collect();
            for d in to_near {
                near.inject(until, DESTINATION, d.packet).unwrap();
            }
            if until > s(2) {
                break;
            }
        }
        let (near, far) = (near.finish(), far.finish());
        let (goodput, sent) = (far.flows[0].goodput_bytes, near.flows[0].data_sent);
        let expected = &expected.flows[0];
        assert_eq!((near.conserved, far.conserved), (Some(true), Some(true)));
        assert_eq!((goodput, expected.goodput_bytes), (700_000, 700_000), "{cc}: complete in both");
        // The only difference is the delay of some nanoseconds at each handover.
        assert!(sent.abs_diff(expected.data_sent) * 20 <= expected.data_sent, "{cc}: {sent} {expected:?}");
        assert_eq!(near.flows[0].telemetry_acks > 0, cc == "orbcc");
    }
}

/// Two hosts that send at random times, and a random walk of instants: all foreseen arrivals occur,
/// and no others before the reported instant. Returns the numbers of foreseen and of all arrivals.
fn foresight(timeline: &Timeline, f: &FlowSetup, alone: bool) -> (usize, usize) {
    let mut flows = vec![FlowSetup { outside: BOTH, ..f.clone() }];
    flows.extend((!alone).then(|| f.clone()));
    let mut sim = simulation(timeline, flows);
    let (mut expected, mut foreseen, mut arrived) = (Vec::new(), 0, 0);
    let (mut wakes_at, mut draw) = (ms(1), 1u64);
    while sim.reached() < s(2) {
        let certain = sim.foresee(sim.reached(), wakes_at, &mut |frame| {
            expected.push((frame.at, frame.endpoint, frame.bytes[0]));
        });
        foreseen += expected.len();
        // The hosts run up to that instant, and their packets enter the network.
        while wakes_at <= certain {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let end = if draw >> 40 & 1 == 0 { SOURCE } else { DESTINATION };
            // Occasionally a burst that fills queues, followed by silence.
            let burst = draw >> 41 & 15 == 0;
            for _ in 0..if burst { 20 } else { 1 } {
                let frame =
                    OutsidePacket::frame(end.side, wakes_at, vec![(draw >> 50) as u8; 700].into()).unwrap();
                sim.inject(wakes_at, end, frame).unwrap();
            }
            wakes_at += Nanos(draw >> 33 & 0xf_ffff) + if burst { ms(60) } else { Nanos::ZERO };
        }
        sim.advance(certain + Nanos(1), &mut Silent).unwrap();
        for d in sim.egress() {
            arrived += 1;
            let Content::Frame(bytes) = &d.packet.content else { panic!("no frame") };
            if d.at < certain {
                assert_eq!(expected.remove(0), (d.at, d.endpoint, bytes[0]));
            } else {
                assert_eq!(d.at, certain);
            }
        }
        assert!(expected.is_empty(), "foreseen and not delivered: {expected:?}");
    }
    (foreseen, arrived)
}

/// The same with the flow alone, and alongside a simulated flow with many events.
fn shares(timeline: &(Timeline, FlowSetup)) -> [f64; 2] {
    [true, false].map(|alone| {
        let (foreseen, arrived) = foresight(&timeline.0, &timeline.1, alone);
        assert!(arrived > 500, "{arrived} arrived");
        foreseen as f64 / arrived as f64
    })
}

#[test]
fn what_is_foreseen_arrives_and_nothing_else() {
    // Nearly all: the last link accounts for half of the path's delay.
    assert!(shares(&line(3, |_| Vec::new())).iter().all(|share| *share > 0.9));
    // With a last link without delay, packets on the link before it are also known.
    let short = line(3, |b| {
        let forward = b.flows[0].hops[0][1].link;
        vec![change(Nanos(1), Change::Delay(forward, Delay::constant(Nanos::ZERO)))]
    });
    assert!(shares(&short).iter().all(|share| *share > 0.9));
    // The link before the last one becomes shorter: packets that leave then overtake those in
    // flight.
    let overtaking = ordered(LinkOrder::Reorder, 3, |b| {
        let [first, last] = [0, 1].map(|i| b.flows[0].hops[0][i].link);
        let delays =
            (1..20).map(|n| change(ms(100 * n), Change::Delay(first, Delay::constant(ms(30 * (n % 2))))));
        delays.chain([change(Nanos(1), Change::Delay(last, Delay::constant(Nanos::ZERO)))]).collect()
    });
    assert!(shares(&overtaking).iter().all(|share| *share > 0.5));
    let moving = line(3, |b| {
        let hops = &b.flows[0].hops[0];
        vec![
            change(ms(300), Change::Delay(hops[1].link, Delay::constant(ms(2)))),
            change(ms(500), Change::Loss(hops[1].link, 0.2)),
            change(ms(700), Change::Delay(hops[1].link, Delay { base: ms(30), slope: -20_000_000 })),
            change(ms(900), Change::Down(hops[1].link, OutageMode::Hold)),
            change(ms(1100), Change::Up(hops[1].link)),
            change(ms(1300), Change::Down(hops[1].link, OutageMode::Flush)),
            change(ms(1400), Change::Up(hops[1].link)),
            change(ms(1500), Change::Delay(hops[1].link, Delay::constant(Nanos::ZERO))),
        ]
    });
    assert!(shares(&moving).iter().all(|share| *share > 0.5));
}

#[test]
fn what_cannot_enter_is_refused() {
    let (timeline, f) = line(10, |_| Vec::new());
    let mut sim = simulation(&timeline, vec![f.clone(), FlowSetup { name: "o".into(), outside: BOTH, ..f }]);
    sim.advance(ms(10), &mut Silent).unwrap();
    let frame = || OutsidePacket::frame(Side::Source, ms(10), vec![0; 60].into()).unwrap();
    let end = |flow, side| EndpointId { flow, side };
    let why =
        |sim: &mut Simulation<'_>, at, end, packet| sim.inject(at, end, packet).unwrap_err().to_string();
    assert!(why(&mut sim, ms(9), end(1, Side::Source), frame()).contains("has been reached"));
    assert!(why(&mut sim, ms(10), end(0, Side::Source), frame()).contains("not outside"));
    assert!(why(&mut sim, ms(10), end(7, Side::Source), frame()).contains("there are 2"));
    let ack = OutsidePacket { kind: PacketKind::SynAck, ..frame() };
    assert!(why(&mut sim, ms(10), end(1, Side::Source), ack).contains("does not send"));
    let empty = OutsidePacket { content: Content::None, ..frame() };
    assert!(why(&mut sim, ms(10), end(1, Side::Source), empty).contains("does not carry None"));
    assert!(OutsidePacket::frame(Side::Source, ms(1), Box::default()).is_err());
    assert!(OutsidePacket::frame(Side::Source, ms(1), vec![0; 70_000].into()).is_err());
}

#[test]
fn a_controller_outside_decides_window_and_rate() {
    let (timeline, mut f) = line(10, |_| Vec::new());
    f.scheme = External::scheme();
    // A growing receive window would cause every packet to be acknowledged at once.
    f.tcp.rmem = 0;
    let mut sim = simulation(&timeline, vec![f]);
    assert!(!sim.control(0, 20 * 1448, None, &mut Silent).unwrap(), "not established yet");
    let mut delivered = Vec::new();
    for step in 1..=18 {
        sim.advance(ms(100 * step), &mut Silent).unwrap();
        let segments = if step < 9 { 10 } else { 42 };
        assert!(sim.control(0, segments * 1448, None, &mut Silent).unwrap());
        delivered.push(sim.flow_totals(0).unwrap().goodput_bytes);
    }
    // Ten segments per RTT of 40 ms plus two to four transmissions of 1.2 ms (ACKs wait for a
    // second segment); then the link's 10 Mbit/s.
    let rate = |from: usize, to: usize| (delivered[to] - delivered[from]) as f64 * 8e-5 / (to - from) as f64;
    let windows = [46.0, 42.4].map(|rtt_ms| 10.0 * 1448.0 * 8e-3 / rtt_ms);
    assert!((windows[0]..windows[1]).contains(&rate(2, 7)), "{} Mbit/s, {windows:?}", rate(2, 7));
    assert!((rate(11, 17) - 9.653).abs() < 0.1, "{}", rate(11, 17));
    assert!(sim.control(3, 1, None, &mut Silent).is_err());
}

#[test]
fn two_observers_see_the_same_run() {
    let (timeline, f) = line(10, |_| Vec::new());
    let mut both = (Log::default(), Log::default());
    simulation(&timeline, vec![f]).run(&mut both, &mut |_| true).unwrap();
    assert!(both.0 == both.1 && both.0.rtts.len() > 100);
}
