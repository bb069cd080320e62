// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A dumbbell in few lines, for tests.
#![allow(dead_code)] // each test file uses its own part

use perigee_cc::{info, Value};
use perigee_sim::*;
use perigee_sources::topology::{dumbbell, Built, DumbbellSpec};
use perigee_timeline::*;
use perigee_units::{BitRate, Nanos};
use std::collections::BTreeMap;
use std::sync::Arc;

pub const fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}
pub const fn s(n: u64) -> Nanos {
    Nanos::from_secs(n)
}

/// A port with a byte queue.
pub fn bytes_port(mbit: u64, queue: u64, framing: u32) -> PortSpec {
    PortSpec {
        rate: BitRate::from_mbit(mbit),
        queue: Queue::drop_tail(QueueLimit::Bytes(queue)),
        framing,
        burst: 0,
        dama: None,
        carrier: None,
        metered: true,
        telemetry_faults: None,
    }
}

/// The reference dumbbell: RTTs on the ACK paths, one bottleneck.
pub fn net(mbit: u64, queue: u64, rtts_ms: &[u64]) -> Built {
    let mut spec =
        DumbbellSpec::linux_reference(bytes_port(mbit, queue, 0), rtts_ms.iter().map(|&r| ms(r)).collect());
    spec.access.metered = true;
    dumbbell(&spec).expect("a valid dumbbell")
}

pub fn change(at: Nanos, change: Change) -> Timed {
    Timed { at, change }
}

/// Two hosts joined by one link each way, for 10 s, and the paths between them; the port of the
/// return path may request its capacity.
pub fn two_hosts(mbit: u64, delay: Nanos, dama: Option<Dama>) -> (Header, Vec<Timed>) {
    let node = |name: &str| Node { name: name.into(), class: NodeClass::Host, place: None };
    let port = |from: u32| Port {
        name: format!("p{from}"),
        node: NodeId(from),
        spec: PortSpec {
            dama: if from == 1 { dama.map(Box::new) } else { None },
            ..PortSpec::packets(BitRate::from_mbit(mbit), 1000)
        },
    };
    let link = |port: u32| Link {
        port: PortId(port),
        to: NodeId(1 - port),
        delay: Delay::constant(delay),
        loss: 0.0,
        up: true,
        order: LinkOrder::Fifo,
    };
    let header = Header {
        duration: s(10),
        nodes: vec![node("a"), node("b")],
        ports: vec![port(0), port(1)],
        links: vec![link(0), link(1)],
        pairs: vec![Pair { from: NodeId(0), to: NodeId(1) }, Pair { from: NodeId(1), to: NodeId(0) }],
        ..Header::default()
    };
    let path = |p: u32| change(Nanos::ZERO, Change::Path(PairId(p), Some(Arc::from([LinkId(p)]))));
    (header, vec![path(0), path(1)])
}

/// Pings of `size` bytes between the first pair: the run's outcome, and RTTs in ms by send time in
/// ms.
pub fn pinged(timeline: &Timeline, interval: Nanos, size: u32) -> (RunOutcome, Vec<(f64, f64)>) {
    let scheme = info("newreno").expect("a scheme of the list");
    let scheme = Scheme::Builtin(scheme, scheme.params(Default::default()).expect("its defaults"));
    let mut f = setup("ping", PairId(0), PairId(1), scheme);
    f.app = App::Ping { interval, size };
    let (out, log) = run(timeline, vec![f], 1);
    let rtts = log.rtts.iter().map(|r| (r.1.as_millis_f64(), r.2.as_millis_f64())).collect();
    (out, rtts)
}

/// A bulk flow of scheme `cc` on the `i`-th pair.
pub fn flow(built: &Built, i: usize, cc: &str) -> FlowSetup {
    flow_with(built, i, cc, &[])
}

pub fn flow_with(built: &Built, i: usize, cc: &str, params: &[(&str, Value)]) -> FlowSetup {
    let scheme = info(cc).unwrap_or_else(|| panic!("no scheme {cc}"));
    let given: BTreeMap<String, Value> = params.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
    setup(
        &format!("{cc}{i}"),
        built.flows[i].forward,
        built.flows[i].reverse,
        Scheme::Builtin(scheme, scheme.params(given).unwrap()),
    )
}

pub fn setup(name: &str, forward: PairId, reverse: PairId, scheme: Scheme) -> FlowSetup {
    FlowSetup {
        name: name.into(),
        forward,
        reverse,
        start: Nanos::ZERO,
        stop: Nanos::MAX,
        app: App::Bulk { bytes: None },
        scheme,
        tcp: perigee_tcp::Config::default(),
        notices: None,
        leg: None,
        outside: Outside::default(),
    }
}

/// Named values of a controller.
pub type Internals = Vec<(&'static str, f64)>;

/// Recorded output of a run.
#[derive(Default, Clone, PartialEq)]
pub struct Log {
    /// (flow, sent, rtt, base)
    pub rtts: Vec<(u32, Nanos, Nanos, Option<Nanos>)>,
    /// (time, flow, cwnd, delivered bytes, in flight)
    pub flows: Vec<(Nanos, u32, u64, u64, u64)>,
    pub internals: Vec<(Nanos, u32, Internals)>,
    /// (time, port, queue bytes)
    pub queues: Vec<(Nanos, u32, u64)>,
    pub events: Vec<(Nanos, String)>,
}

impl Observer for Log {
    fn rtt(&mut self, flow: u32, sent: Nanos, rtt: Nanos, base: Option<Nanos>) {
        self.rtts.push((flow, sent, rtt, base));
    }
    fn flow(&mut self, x: &FlowRow, internals: &[(&'static str, f64)]) {
        let (at, cwnd, in_flight) =
            (Nanos(x.t_ns), x.cwnd_bytes.unwrap_or(0), x.in_flight_bytes.unwrap_or(0));
        self.flows.push((at, x.flow, cwnd, x.delivered_bytes, in_flight));
        self.internals.push((at, x.flow, internals.to_vec()));
    }
    fn link(&mut self, l: &LinkRow) {
        self.queues.push((Nanos(l.t_ns), l.port, l.queue_bytes));
    }
    fn event(&mut self, at: Nanos, e: &SimEvent<'_>) {
        self.events.push((at, format!("{e:?}")));
    }
}

impl Log {
    /// Mean RTT in milliseconds of packets sent within a window.
    pub fn mean_rtt_ms(&self, flow: u32, from: Nanos, to: Nanos) -> f64 {
        let of = self.rtts.iter().filter(|r| r.0 == flow && r.1 >= from && r.1 < to);
        let (sum, n) = of.fold((0.0, 0), |(sum, n), r| (sum + r.2.as_millis_f64(), n + 1));
        sum / n as f64
    }
    /// Goodput in Mbit/s within a window.
    pub fn goodput_mbit(&self, flow: u32, from: Nanos, to: Nanos) -> f64 {
        let at = |t: Nanos| self.flows.iter().rev().find(|f| f.1 == flow && f.0 <= t).map_or(0, |f| f.3);
        (at(to) - at(from)) as f64 * 8e-6 / (to - from).as_secs_f64()
    }
    /// Mean window in bytes of the samples within a window.
    pub fn mean_cwnd(&self, flow: u32, from: Nanos, to: Nanos) -> f64 {
        let of: Vec<f64> = self
            .flows
            .iter()
            .filter(|f| f.1 == flow && f.0 > from && f.0 <= to)
            .map(|f| f.2 as f64)
            .collect();
        of.iter().sum::<f64>() / of.len() as f64
    }
}

/// Runs a simulation to the end.
pub fn run(timeline: &Timeline, flows: Vec<FlowSetup>, seed: u64) -> (RunOutcome, Log) {
    run_with(timeline, flows, Options { seed, max_hops: 3, ..Options::default() })
}

pub fn run_with(timeline: &Timeline, flows: Vec<FlowSetup>, options: Options) -> (RunOutcome, Log) {
    perigee_timeline::store::check(timeline).expect("a valid timeline");
    let mut log = Log::default();
    let mut sim = Simulation::new(&timeline.header, Box::new(timeline.reader()), flows, options)
        .expect("a valid setup");
    let out = sim.run(&mut log, &mut |_| true).expect("a run");
    assert_eq!(out.conserved, Some(true), "packets are conserved");
    assert_eq!(out.packet_hops.unwrap(), out.links.iter().map(|l| l.crossed).sum::<u64>());
    (out, log)
}
