// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Effects of the network on packets: outages, changes of rate and delay, routes, loss.

mod support;
use perigee_sim::*;
use perigee_timeline::*;
use perigee_units::{BitRate, Nanos};
use std::sync::Arc;
use support::*;

/// Two hosts joined by one link each way, with pings over it.
struct Wire {
    header: Header,
    changes: Vec<Timed>,
}

const FORWARD: LinkId = LinkId(0);

fn wire(mbit: u64, delay: Nanos) -> Wire {
    let (header, changes) = two_hosts(mbit, delay, None);
    Wire { header, changes }
}

impl Wire {
    fn with(mut self, at: Nanos, c: Change) -> Self {
        self.changes.push(change(at, c));
        self
    }
    /// Sends pings of `size` bytes every `interval`; returns the totals and (sent ms, rtt ms).
    fn ping(self, interval: Nanos, size: u32) -> (FlowTotals, Vec<(f64, f64)>) {
        let timeline = Timeline::single(self.header, self.changes);
        let (out, rtts) = pinged(&timeline, interval, size);
        (out.flows[0].clone(), rtts)
    }
}

#[test]
fn a_ping_measures_propagation_and_transmission_both_ways() {
    let (totals, rtts) = wire(10, ms(20)).ping(ms(100), 1250);
    assert_eq!(totals.dropped, [0; CAUSES]);
    // 1250 B at 10 Mbit/s take 1 ms.
    assert!(rtts.iter().all(|r| r.1 == 42.0), "{rtts:?}");
    assert_eq!(rtts.len(), 100);
}

#[test]
fn flush_loses_what_is_under_way_and_what_comes_during_the_outage() {
    let w = wire(10, ms(20))
        .with(ms(1010), Change::Down(FORWARD, OutageMode::Flush))
        .with(ms(1100), Change::Up(FORWARD));
    let (totals, rtts) = w.ping(ms(10), 125);
    // Sent up to 20.1 ms before the outage (990 and 1000 are still in flight) or during it (1010 to
    // 1090).
    assert_eq!(totals.dropped[DropCause::Outage as usize], 11);
    assert!(rtts.iter().all(|&(sent, _)| !(990.0..1100.0).contains(&sent)));
}

#[test]
fn blackhole_loses_what_leaves_the_queue_and_spares_what_is_under_way() {
    let w = wire(10, ms(20))
        .with(ms(1010), Change::Down(FORWARD, OutageMode::Blackhole))
        .with(ms(1100), Change::Up(FORWARD));
    let (totals, rtts) = w.ping(ms(10), 125);
    assert_eq!(totals.dropped[DropCause::Outage as usize], 9, "1010 to 1090");
    assert!(rtts.iter().any(|&(sent, _)| sent == 1000.0));
}

#[test]
fn hold_keeps_everything_and_resumes_the_packet_in_service() {
    // 12 500 B at 10 Mbit/s take 10 ms; the packet sent at 1000 ms is half transmitted when the
    // link is held for 95 ms.
    let w = wire(10, ms(20))
        .with(ms(1005), Change::Down(FORWARD, OutageMode::Hold))
        .with(ms(1100), Change::Up(FORWARD));
    let (totals, rtts) = w.ping(ms(1000), 12_500);
    assert_eq!(totals.dropped, [0; CAUSES]);
    assert_eq!(rtts[0].1, 60.0);
    assert_eq!(rtts[1].1, 60.0 + 95.0);
}

#[test]
fn a_rate_change_applies_to_what_is_left_of_the_packet_in_service() {
    let w = wire(10, ms(20)).with(ms(1005), Change::Rate(PortId(0), BitRate::from_mbit(5)));
    let (_, rtts) = w.ping(ms(1000), 12_500);
    assert_eq!(rtts[0].1, 60.0);
    assert_eq!(rtts[1].1, 65.0, "half at 10 Mbit/s, half at 5");
    assert_eq!(rtts[2].1, 70.0);
}

#[test]
fn a_rate_of_zero_blocks_until_it_rises() {
    let w = wire(10, ms(20))
        .with(ms(1500), Change::Rate(PortId(0), BitRate(0)))
        .with(ms(2500), Change::Rate(PortId(0), BitRate::from_mbit(10)));
    let (totals, rtts) = w.ping(ms(1000), 1250);
    assert_eq!(totals.dropped, [0; CAUSES]);
    assert_eq!(rtts[2].1, 42.0 + 500.0);
}

#[test]
fn a_shrinking_delay_keeps_the_order_or_lets_packets_overtake() {
    for (order, overtakes) in [(LinkOrder::Fifo, false), (LinkOrder::Reorder, true)] {
        let mut w = wire(10, ms(100)).with(ms(1050), Change::Delay(FORWARD, Delay::constant(ms(10))));
        w.header.links[0].order = order;
        let (_, rtts) = w.ping(ms(10), 125);
        let in_order = rtts.windows(2).all(|w| w[0].0 < w[1].0);
        assert_eq!(in_order, !overtakes);
        let after = rtts.iter().find(|r| r.0 == 1050.0).unwrap().1;
        // FIFO: after the packet sent at 1040 ms, which arrives at 1140.1 ms.
        assert!((after - if overtakes { 110.2 } else { 190.2 }).abs() < 0.2, "{after}");
    }
}

#[test]
fn a_linear_delay_is_followed_within_a_path() {
    let mut w = wire(1000, ms(10));
    w.header.links[0].delay = Delay { base: ms(10), slope: 1_000_000 };
    let (_, rtts) = w.ping(s(1), 125);
    for (i, r) in rtts.iter().enumerate() {
        assert!((r.1 - 20.002 - i as f64).abs() < 1e-3, "{i}: {r:?}");
    }
}

#[test]
fn no_route_is_a_loss_with_its_own_cause() {
    let w = wire(10, ms(20)).with(ms(1005), Change::Path(PairId(0), None));
    let (totals, _) = w.ping(ms(1000), 125);
    assert_eq!(totals.dropped[DropCause::NoRoute as usize], 8);
}

#[test]
fn random_loss_has_its_rate_and_does_not_depend_on_other_flows() {
    let build = |flows: usize| {
        let mut w = wire(100, ms(5));
        w.header.links[0].loss = 0.05;
        let timeline = Timeline::single(w.header, w.changes);
        let scheme = perigee_cc::info("newreno").unwrap();
        let flows = (0..flows)
            .map(|i| {
                let params = scheme.params(Default::default()).unwrap();
                let mut f = setup(&format!("ping{i}"), PairId(0), PairId(1), Scheme::Builtin(scheme, params));
                f.app = App::Ping { interval: Nanos::from_micros(200), size: 125 };
                f
            })
            .collect();
        let (_, log) = run(&timeline, flows, 7);
        log.rtts.iter().filter(|r| r.0 == 0).map(|r| r.1).collect::<Vec<_>>()
    };
    let alone = build(1);
    let lost = 1.0 - alone.len() as f64 / 50_000.0;
    assert!((lost - 0.05).abs() < 0.004, "{lost}");
    assert_eq!(alone.len(), build(3).len(), "the same packets of the first flow are lost beside two others");
}

#[test]
fn packets_follow_new_tables_per_hop_and_finish_old_paths_per_path() {
    // a - r - b and r - c - b: while a packet is in flight to r, the route changes from r-b to
    // r-c-b.
    let build = |routing: Routing| {
        let node = |name: &str| Node { name: name.into(), class: NodeClass::Router, place: None };
        let ends = [(0, 1), (1, 2), (1, 3), (3, 2), (2, 0)];
        let port = |&(from, to): &(u32, u32)| Port {
            name: format!("{from}-{to}"),
            node: NodeId(from),
            spec: PortSpec::packets(BitRate::from_mbit(1000), 10),
        };
        let links = ends.iter().enumerate().map(|(i, &(_, to))| Link {
            port: PortId(i as u32),
            to: NodeId(to),
            delay: Delay::constant(ms(10)),
            loss: 0.0,
            up: true,
            order: LinkOrder::Fifo,
        });
        let header = Header {
            duration: s(3),
            routing,
            nodes: ["a", "r", "b", "c"].map(node).to_vec(),
            ports: ends.iter().map(port).collect(),
            links: links.collect(),
            pairs: vec![Pair { from: NodeId(0), to: NodeId(2) }, Pair { from: NodeId(2), to: NodeId(0) }],
            ..Header::default()
        };
        let path = |at, p, links: &[u32]| {
            change(at, Change::Path(PairId(p), Some(links.iter().map(|&l| LinkId(l)).collect())))
        };
        let hop = |at, from, to, link| {
            change(at, Change::NextHop { at: NodeId(from), to: NodeId(to), link: Some(LinkId(link)) })
        };
        let z = Nanos::ZERO;
        let changes = match routing {
            Routing::PerPath => {
                vec![path(z, 0, &[0, 1]), path(z, 1, &[4]), path(ms(1005), 0, &[0, 2, 3])]
            }
            Routing::PerHop => vec![
                hop(z, 0, 2, 0),
                hop(z, 1, 2, 1),
                hop(z, 3, 2, 3),
                hop(z, 2, 0, 4),
                hop(ms(1005), 1, 2, 2),
            ],
        };
        let timeline = Timeline::single(header, changes);
        let scheme = perigee_cc::info("newreno").unwrap();
        let mut f = setup(
            "ping",
            PairId(0),
            PairId(1),
            Scheme::Builtin(scheme, scheme.params(Default::default()).unwrap()),
        );
        f.app = App::Ping { interval: s(1), size: 125 };
        let (_, log) = run(&timeline, vec![f], 1);
        log.rtts.iter().map(|r| (r.2.as_millis_f64() + 0.5) as u64).collect::<Vec<_>>()
    };
    assert_eq!(build(Routing::PerPath), [30, 30, 40]);
    assert_eq!(build(Routing::PerHop), [30, 40, 40]);
}

#[test]
fn a_shared_radio_port_serves_all_its_links_from_one_queue() {
    // One port at node 0 with a long link to 1 and a short one to 2: the packet on the short link
    // is delayed only by the transmission of the other, not by its propagation.
    let node = |name: &str| Node { name: name.into(), class: NodeClass::Host, place: None };
    let port = |from: u32| Port {
        name: format!("p{from}"),
        node: NodeId(from),
        spec: PortSpec::packets(BitRate::from_mbit(10), 10),
    };
    let link = |port: u32, to: u32, delay: u64| Link {
        port: PortId(port),
        to: NodeId(to),
        delay: Delay::constant(ms(delay)),
        loss: 0.0,
        up: true,
        order: LinkOrder::Fifo,
    };
    let header = Header {
        duration: s(1),
        nodes: vec![node("a"), node("b"), node("c")],
        ports: vec![port(0), port(1), port(2)],
        links: vec![link(0, 1, 100), link(0, 2, 1), link(1, 0, 100), link(2, 0, 1)],
        pairs: [(0, 1), (0, 2), (1, 0), (2, 0)]
            .map(|(a, b)| Pair { from: NodeId(a), to: NodeId(b) })
            .to_vec(),
        ..Header::default()
    };
    let changes =
        (0..4).map(|i| change(Nanos::ZERO, Change::Path(PairId(i), Some(Arc::from([LinkId(i)]))))).collect();
    let timeline = Timeline::single(header, changes);
    let scheme = perigee_cc::info("newreno").unwrap();
    let ping = |name: &str, pair: u32| {
        let params = scheme.params(Default::default()).unwrap();
        let mut f = setup(name, PairId(pair), PairId(pair + 2), Scheme::Builtin(scheme, params));
        f.app = App::Ping { interval: s(1), size: 1250 };
        f
    };
    let (_, log) = run(&timeline, vec![ping("long", 0), ping("short", 1)], 1);
    let rtt = |flow| log.rtts.iter().find(|r| r.0 == flow).unwrap().2;
    assert_eq!(rtt(0), ms(202));
    assert_eq!(rtt(1), ms(5), "1 ms of waiting, 1 ms of transmission, 1 ms of flight, and back");
}

#[test]
fn a_link_that_appears_at_a_busy_port_leaves_its_queue_moving() {
    // The queue of the first link never empties. At some instants at which a second link appears,
    // the port has not been advanced since its last service ended: waiting packets must still be
    // served, exactly as without that link.
    let delivered = |at: Option<Nanos>| {
        let (mut header, changes) = two_hosts(100, ms(5), None);
        header.duration = s(2);
        header.ports[0].spec.queue = Queue::drop_tail(QueueLimit::Packets(100));
        let whole = Timeline::single(header, changes);
        let first = &whole.chunks[0];
        let chunks = at.map(|at| {
            let mut more = whole.header.links[0].clone();
            more.delay = Delay::constant(ms(7));
            // The next chunk is fetched when the last change of this one has been applied; that is
            // a change of the return path.
            let mut until = Chunk { end: at + Nanos(1), ..(**first).clone() };
            until.changes.push(change(at, Change::Rate(PortId(1), BitRate::from_mbit(100))));
            let after = Chunk { start: until.end, end: first.end, links: vec![more], ..Chunk::default() };
            vec![Arc::new(until), Arc::new(after)]
        });
        let timeline = Timeline { chunks: chunks.unwrap_or(vec![first.clone()]), ..whole };
        let scheme = perigee_cc::info("bbr").unwrap();
        let params = scheme.params(Default::default()).unwrap();
        let f = setup("bulk", PairId(0), PairId(1), Scheme::Builtin(scheme, params));
        let (_, log) = run(&timeline, vec![f], 1);
        log.flows.last().unwrap().3
    };
    let alone = delivered(None);
    for us in 0..40 {
        assert_eq!(delivered(Some(Nanos::from_micros(900_000 + 37 * us))), alone, "{us}");
    }
}

#[test]
fn probes_with_priority_overtake_waiting_data() {
    for (priority, most) in [(false, 200.0), (true, 53.0)] {
        let mut built = net(10, 250_000, &[50]);
        built.header.ports[built.bottlenecks[0].forward.port.ix()].spec.queue.probe_priority = priority;
        let data = flow(&built, 0, "cubic");
        let mut probe = FlowSetup { name: "probe".into(), ..data.clone() };
        probe.app = App::Ping { interval: ms(10), size: 64 };
        let timeline = built.timeline(s(20), Vec::new());
        let (_, log) = run(&timeline, vec![data, probe], 1);
        let worst = log.rtts.iter().filter(|r| r.0 == 1).map(|r| r.2.as_millis_f64()).fold(0.0, f64::max);
        assert!(worst < most * 1.25 && (priority || worst > 150.0), "{priority}: {worst}");
    }
}

/// Probes wait in a separate buffer, which data cannot fill.
#[test]
fn probes_with_priority_are_not_lost_at_a_queue_full_of_data() {
    let lost = |priority: bool| {
        let mut built = net(10, 15_000, &[50]);
        let queue = &mut built.header.ports[built.bottlenecks[0].forward.port.ix()].spec.queue;
        (queue.limit, queue.probe_priority) = (QueueLimit::Packets(10), priority);
        let data = flow(&built, 0, "bbr");
        let mut probe = FlowSetup { name: "probe".into(), ..data.clone() };
        probe.app = App::Ping { interval: ms(1), size: 64 };
        let timeline = built.timeline(s(20), Vec::new());
        let (_, log) = run(&timeline, vec![data, probe], 1);
        20_000 - log.rtts.iter().filter(|r| r.0 == 1).count()
    };
    // The last probes are still in flight.
    let (with, without) = (lost(true), lost(false));
    assert!(with < 55 && without > 200, "{with}, {without}");
}

#[test]
fn the_base_rtt_of_a_sample_is_that_of_its_send_time() {
    let w = wire(10, ms(20)).with(ms(1500), Change::Delay(FORWARD, Delay::constant(ms(50))));
    let timeline = Timeline::single(w.header, w.changes);
    let scheme = perigee_cc::info("newreno").unwrap();
    let mut f = setup(
        "ping",
        PairId(0),
        PairId(1),
        Scheme::Builtin(scheme, scheme.params(Default::default()).unwrap()),
    );
    f.app = App::Ping { interval: ms(7), size: 125 };
    let (_, log) = run(&timeline, vec![f], 1);
    assert!(log.rtts.len() > 1000);
    for r in &log.rtts {
        assert_eq!(Some(r.2), r.3, "sent at {}", r.1);
    }
}

/// Services are arranged ahead up to the next sample, and packets cross links without events until
/// then. The distance must not affect results.
#[test]
fn samples_change_nothing_that_packets_do() {
    let outcome = |sample: Nanos| {
        let mut built = net(20, 60_000, &[20, 50]);
        built.header.links[built.bottlenecks[0].forward.link.ix()].order = LinkOrder::Reorder;
        let port = built.bottlenecks[0].forward.port;
        let changes = vec![
            change(s(2), Change::Rate(port, BitRate::from_mbit(5))),
            change(s(4), Change::Rate(port, BitRate::from_mbit(40))),
        ];
        let flows = vec![flow(&built, 0, "cubic"), flow(&built, 1, "bbr")];
        let timeline = built.timeline(s(6), changes);
        let options = Options { sample, ..Options::default() };
        let mut sim = Simulation::new(&timeline.header, Box::new(timeline.reader()), flows, options).unwrap();
        let out = sim.run(&mut Log::default(), &mut |_| true).unwrap();
        assert!(out.conserved == Some(true) && out.flows.iter().all(|f| f.dropped.iter().sum::<u64>() > 0));
        format!("{:?} {:?}", out.flows, out.links)
    };
    let never = outcome(Nanos::ZERO);
    for sample in [Nanos(333_333), ms(7), s(1)] {
        assert_eq!(outcome(sample), never, "{sample}");
    }
}

#[test]
fn a_queue_of_packets_counts_the_one_in_service_where_it_is_told_to() {
    let lost = |count_in_service| {
        let mut w = wire(10, ms(20));
        w.header.ports[0].spec.queue = Queue { count_in_service, ..Queue::drop_tail(QueueLimit::Packets(3)) };
        w.header.duration = Nanos::from_micros(9_500);
        // Ten packets of 10 ms each arrive within the service time of the first.
        w.ping(ms(1), 12_500).0.dropped[DropCause::Queue as usize]
    };
    assert_eq!((lost(false), lost(true)), (6, 7));
}

#[test]
fn an_outage_leaves_nothing_in_the_queues_of_a_discipline() {
    let mut w = wire(10, ms(20))
        .with(ms(1000), Change::Down(FORWARD, OutageMode::Flush))
        .with(ms(1500), Change::Up(FORWARD));
    w.header.ports[0].spec.queue.discipline =
        Arc::new(Discipline { name: "fq_codel".into(), params: Default::default() });
    let timeline = Timeline::single(w.header, w.changes);
    let scheme = perigee_cc::info("newreno").unwrap();
    let scheme = Scheme::Builtin(scheme, scheme.params(Default::default()).unwrap());
    let mut load = setup("load", PairId(0), PairId(1), scheme.clone());
    (load.app, load.stop) = (App::Cbr { interval: ms(1), size: 2500 }, ms(1000));
    let mut ping = setup("ping", PairId(0), PairId(1), scheme);
    (ping.app, ping.start) = (App::Ping { interval: ms(10), size: 100 }, ms(1550));
    let (_, log) = run(&timeline, vec![load, ping], 1);
    let queued =
        |from, to| log.queues.iter().filter(move |q| q.1 == 0 && q.0 > from && q.0 < to).map(|q| q.2);
    assert!(queued(ms(0), ms(1000)).all(|bytes| bytes > 0));
    assert!(queued(ms(1550), s(10)).count() > 50 && queued(ms(1550), s(10)).all(|bytes| bytes == 0));
}

/// Shares of the rate of eight constant-rate flows that offer twice the capacity of a drop-tail
/// port.
fn shares_of_datagrams(host_jitter: Nanos) -> (RunOutcome, Vec<f64>) {
    let built = net(8, 30_000, &[20; 8]);
    let flows = (0..8)
        .map(|i| {
            let mut f = flow(&built, i, "newreno");
            f.app = App::Cbr { interval: ms(4), size: 1000 };
            f
        })
        .collect();
    let timeline = built.timeline(s(20), Vec::new());
    let options = Options { host_jitter, ..Options::default() };
    let mut sim = Simulation::new(&timeline.header, Box::new(timeline.reader()), flows, options).unwrap();
    let out = sim.run(&mut Silent, &mut |_| true).unwrap();
    let shares = out.flows.iter().map(|f| f.delivered as f64 / f.sent as f64).collect();
    (out, shares)
}

#[test]
fn host_jitter_breaks_the_phases_that_drop_tail_locks() {
    let (out, locked) = shares_of_datagrams(Nanos::ZERO);
    assert_eq!(out.conserved, Some(true));
    assert!(locked.iter().any(|&s| s < 0.02) && locked.iter().any(|&s| s > 0.98), "{locked:?}");
    // Jitter of one packet's service time.
    let (out, fair) = shares_of_datagrams(ms(1));
    assert_eq!(out.conserved, Some(true));
    assert!(fair.iter().all(|s| (0.4..0.6).contains(s)), "{fair:?}");
}
