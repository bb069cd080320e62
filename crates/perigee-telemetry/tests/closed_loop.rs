// SPDX-License-Identifier: Apache-2.0 OR MIT
//! OrbCC and the meters in a closed loop: lossless FIFO links in a row, ideal senders that always
//! have data, an ACK per packet. Kept small for readability; the simulator repeats these tests with
//! a complete transport.

use perigee_cc::{
    info, AckEvent, CongestionControl, ConnInit, Controller, Cx, Nanos, TxBytesUnit, Value, Window,
};
use perigee_telemetry::{
    counted_bytes, switch_id, BottleneckEcho, EchoMode, Meter, StackDecoder, Stamp, WireCompact, WireHop,
};
use perigee_units::BitRate;
use std::collections::{BinaryHeap, VecDeque};

const MSS: u32 = 1448;
const IP: u32 = 1500;
const WIRE: u32 = 1507;

struct Packet {
    flow: usize,
    sent: Nanos,
    stamp: Stamp,
    path_id: u16,
    q_in: u16,
    stack: Vec<WireHop>,
}

struct Link {
    rate: BitRate,
    meter: Meter,
    id: u16,
    waiting: VecDeque<Packet>,
    in_service: Option<Packet>,
}

enum Echo {
    Stack(u16, Vec<WireHop>),
    Compact(WireCompact),
}

struct Flow {
    cc: Controller,
    window: Window,
    base_rtt: Nanos,
    first_link: usize,
    in_flight: u64,
    next_departure: Nanos,
    timer: Option<Nanos>,
    sent: u64,
    delivered: u64,
    unit: TxBytesUnit,
    echo: Option<BottleneckEcho>,
    rtts: Vec<(Nanos, f64)>,
}

enum Event {
    Start(usize),
    Wake(usize),
    LinkDone(usize),
    Ack(usize, Nanos, Echo),
    Rate(usize, BitRate),
}

/// Events at the same time run in the order in which they were planned.
struct Planned(Nanos, u64, Event);

impl Ord for Planned {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.0, other.1).cmp(&(self.0, self.1))
    }
}
impl PartialOrd for Planned {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Planned {
    fn eq(&self, other: &Self) -> bool {
        self.1 == other.1
    }
}
impl Eq for Planned {}

struct Network {
    now: Nanos,
    events: BinaryHeap<Planned>,
    planned: u64,
    links: Vec<Link>,
    flows: Vec<Flow>,
    decoder: StackDecoder,
}

impl Network {
    fn new(rates_mbit: &[u64]) -> Self {
        let link = |(i, &rate): (usize, &u64)| Link {
            rate: BitRate::from_mbit(rate),
            meter: Meter::new(),
            id: switch_id(i as u32),
            waiting: VecDeque::new(),
            in_service: None,
        };
        Network {
            now: Nanos::ZERO,
            events: BinaryHeap::new(),
            planned: 0,
            links: rates_mbit.iter().enumerate().map(link).collect(),
            flows: Vec::new(),
            decoder: StackDecoder::default(),
        }
    }

    fn at(&mut self, time: Nanos, event: Event) {
        self.events.push(Planned(time, self.planned, event));
        self.planned += 1;
    }

    fn flow(&mut self, scheme: &str, options: &[(&str, &str)], base_rtt_ms: u64, start_ms: u64) {
        let scheme = info(scheme).unwrap();
        let given = options.iter().map(|(k, v)| (k.to_string(), value(v))).collect();
        let start = Nanos::from_millis(start_ms);
        let init =
            ConnInit { now: start, mss: MSS, init_cwnd: 10 * MSS as u64, srtt: None, seed: 1, hz: 1000 };
        let cc = scheme.build(&scheme.params(given).unwrap(), &init);
        let caps = cc.caps();
        let compact = EchoMode::of(&caps) == Some(EchoMode::Bottleneck);
        self.flows.push(Flow {
            window: init.window(),
            base_rtt: Nanos::from_millis(base_rtt_ms),
            first_link: 0,
            in_flight: 0,
            next_departure: start,
            timer: None,
            sent: 0,
            delivered: 0,
            unit: caps.tx_bytes_unit,
            echo: compact.then(BottleneckEcho::new),
            rtts: Vec::new(),
            cc,
        });
        self.at(start, Event::Start(self.flows.len() - 1));
    }

    fn run_until(&mut self, end: Nanos) {
        while self.events.peek().is_some_and(|e| e.0 <= end) {
            let Planned(time, _, event) = self.events.pop().unwrap();
            self.now = time;
            match event {
                Event::Start(f) => {
                    let cx = self.flows[f].cx(time);
                    let flow = &mut self.flows[f];
                    flow.cc.on_start(&cx, &mut flow.window);
                    self.send(f);
                }
                Event::Wake(f) => self.wake(f),
                Event::LinkDone(l) => self.link_done(l),
                Event::Ack(f, sent, echo) => self.ack(f, sent, &echo),
                Event::Rate(l, rate) => self.links[l].rate = rate,
            }
        }
        self.now = end;
    }

    fn wake(&mut self, f: usize) {
        let cx = self.flows[f].cx(self.now);
        let flow = &mut self.flows[f];
        if flow.window.next_timer.is_some_and(|t| t <= self.now) {
            flow.window.next_timer = None;
            flow.cc.on_timer(&cx, &mut flow.window);
            self.plan_timer(f);
        }
        self.send(f);
    }

    fn send(&mut self, f: usize) {
        loop {
            let flow = &mut self.flows[f];
            if flow.in_flight + MSS as u64 > flow.window.cwnd {
                return;
            }
            if flow.next_departure > self.now {
                let at = flow.next_departure;
                self.at(at, Event::Wake(f));
                return;
            }
            let unpaced = flow.sent < flow.cc.caps().unpaced_start as u64;
            if !unpaced {
                flow.next_departure = self.now + flow.window.pacing.unwrap().time_for(MSS as u64);
            }
            flow.in_flight += MSS as u64;
            flow.sent += 1;
            let packet = Packet {
                flow: f,
                sent: self.now,
                stamp: Stamp::new(flow.cc.stamp(), MSS),
                path_id: 0,
                q_in: 0,
                stack: Vec::new(),
            };
            let first = flow.first_link;
            self.enqueue(first, packet);
        }
    }

    fn enqueue(&mut self, l: usize, mut packet: Packet) {
        let link = &mut self.links[l];
        let queued = link.waiting.len() as u64 * IP as u64;
        packet.q_in = link.meter.on_enqueue(self.now, &packet.stamp, packet.flow as u32, queued);
        link.waiting.push_back(packet);
        self.serve(l);
    }

    fn serve(&mut self, l: usize) {
        let link = &mut self.links[l];
        if link.in_service.is_some() {
            return;
        }
        let Some(mut packet) = link.waiting.pop_front() else { return };
        let queued = link.waiting.len() as u64 * IP as u64;
        let counted = counted_bytes(self.flows[packet.flow].unit, MSS, IP, WIRE);
        packet.stack.push(link.meter.on_dequeue(self.now, packet.q_in, queued, link.rate, counted));
        packet.path_id ^= link.id;
        link.in_service = Some(packet);
        let done = self.now + link.rate.time_for(WIRE as u64);
        self.at(done, Event::LinkDone(l));
    }

    fn link_done(&mut self, l: usize) {
        let packet = self.links[l].in_service.take().unwrap();
        self.serve(l);
        if l + 1 < self.links.len() {
            return self.enqueue(l + 1, packet);
        }
        let flow = &mut self.flows[packet.flow];
        let echo = match &mut flow.echo {
            Some(e) => Echo::Compact(e.on_data(self.now, packet.path_id, &packet.stack)),
            None => Echo::Stack(packet.path_id, packet.stack),
        };
        let arrival = self.now + flow.base_rtt;
        self.at(arrival, Event::Ack(packet.flow, packet.sent, echo));
    }

    fn ack(&mut self, f: usize, sent: Nanos, echo: &Echo) {
        let flow = &mut self.flows[f];
        flow.in_flight -= MSS as u64;
        flow.delivered += MSS as u64;
        let rtt = self.now - sent;
        flow.rtts.push((self.now, rtt.as_millis_f64()));
        let telemetry = match echo {
            Echo::Stack(path, hops) => self.decoder.decode(*path, hops, 1, false),
            Echo::Compact(record) => record.decode(1, false),
        };
        let ev = AckEvent {
            newly_acked: MSS as u64,
            newly_cum_acked: MSS as u64,
            rtt: Some(rtt),
            seq_rtt: Some(rtt),
            may_grow: true,
            telemetry: Some(telemetry),
            ..AckEvent::default()
        };
        let cx = flow.cx(self.now);
        flow.cc.on_ack(&cx, &mut flow.window, &ev);
        self.plan_timer(f);
        self.send(f);
    }

    /// One wake-up per deadline, not per ACK.
    fn plan_timer(&mut self, f: usize) {
        let flow = &mut self.flows[f];
        if let Some(t) = flow.window.next_timer.filter(|t| flow.timer != Some(*t)) {
            flow.timer = Some(t);
            self.at(t, Event::Wake(f));
        }
    }

    /// Goodput of each flow in Mbit/s over the next `seconds`.
    fn goodput_over(&mut self, seconds: f64) -> Vec<f64> {
        let before: Vec<u64> = self.flows.iter().map(|f| f.delivered).collect();
        let end = self.now + Nanos::from_secs_f64(seconds);
        self.run_until(end);
        let rate = |(f, b): (&Flow, u64)| (f.delivered - b) as f64 * 8e-6 / seconds;
        self.flows.iter().zip(before).map(rate).collect()
    }
}

impl Flow {
    fn cx(&self, now: Nanos) -> Cx {
        Cx {
            now,
            mss: MSS,
            in_flight: self.in_flight,
            outstanding: self.in_flight,
            delivered: self.delivered,
            cwnd_limited: true,
            paced: true,
            last_sent: now,
            ..Cx::default()
        }
    }

    fn mean_rtt_ms(&self, since: Nanos) -> f64 {
        let late: Vec<f64> = self.rtts.iter().filter(|(t, _)| *t >= since).map(|(_, r)| *r).collect();
        late.iter().sum::<f64>() / late.len() as f64
    }

    fn probe(&self, name: &str) -> f64 {
        let mut found = f64::NAN;
        self.cc.probe(&mut |n, v| {
            if n == name {
                found = v;
            }
        });
        found
    }
}

fn value(text: &str) -> Value {
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => Value::Text(text.into()),
    }
}

fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    sum * sum / (rates.len() as f64 * rates.iter().map(|r| r * r).sum::<f64>())
}

const S: fn(u64) -> Nanos = Nanos::from_secs;

#[test]
fn four_flows_settle_at_the_published_rtts_for_each_way_of_counting_bytes() {
    for (scheme, unit, rtts_ms, u) in [
        ("orbcc-repro", "payload", [21.66, 51.64], 1.0021),
        ("orbcc", "ip", [20.43, 50.41], 1.0003),
        ("orbcc", "wire", [20.31, 50.30], 1.0),
    ] {
        let mut net = Network::new(&[100]);
        for (base_rtt, start) in [(20, 0), (50, 700), (20, 1300), (50, 1900)] {
            net.flow(scheme, &[("tx_bytes_unit", unit)], base_rtt, start);
        }
        net.run_until(S(20));
        let rates = net.goodput_over(20.0);
        assert!(jain(&rates) >= 0.999, "{unit}: {rates:?}");
        assert!((95.9..96.1).contains(&rates.iter().sum::<f64>()), "{unit}: {rates:?}");
        for (flow, expected) in net.flows.iter().zip([rtts_ms[0], rtts_ms[1], rtts_ms[0], rtts_ms[1]]) {
            let rtt = flow.mean_rtt_ms(S(20));
            assert!((rtt - expected).abs() < 0.11, "{unit}: {rtt} ms, expected {expected}");
            assert!((flow.probe("U") - u).abs() < 0.01, "{unit}: U = {}", flow.probe("U"));
        }
    }
}

#[test]
fn one_flow_fills_the_link_from_the_second_second_on() {
    for (scheme, unit, cwnd_kb) in
        [("orbcc-repro", "payload", 628.0), ("orbcc", "ip", 606.0), ("orbcc", "wire", 603.0)]
    {
        let mut net = Network::new(&[100]);
        net.flow(scheme, &[("tx_bytes_unit", unit)], 50, 0);
        net.run_until(S(2));
        let rates = net.goodput_over(18.0);
        assert!(rates[0] > 95.5, "{unit}: {rates:?}");
        let cwnd = net.flows[0].window.cwnd as f64 * 1e-3;
        assert!((cwnd - cwnd_kb).abs() <= 7.0, "{unit}: {cwnd} kB");
    }
}

#[test]
fn rates_are_equal_whatever_the_rtts_if_queues_are_related_to_the_mean_rtt() {
    let ratio = |t_ref: &str| {
        let mut net = Network::new(&[100]);
        net.flow("orbcc-repro", &[("t_ref", t_ref)], 20, 0);
        net.flow("orbcc-repro", &[("t_ref", t_ref)], 200, 100);
        net.run_until(S(40));
        let rates = net.goodput_over(20.0);
        rates[0].min(rates[1]) / rates[0].max(rates[1])
    };
    let (mean, own) = (ratio("avg_rtt"), ratio("own_rtt"));
    assert!(mean >= 0.97, "{mean}");
    assert!(own <= 0.35, "{own}");
}

#[test]
fn the_initial_phase_brings_the_51st_flow_to_its_share_at_once() {
    // Goodput of the newcomer relative to its share, per half second.
    let join = |initial_phase: &str| {
        let mut net = Network::new(&[200]);
        for i in 0..51 {
            let start = if i < 50 { i * 20 } else { 20_000 };
            net.flow("orbcc-repro", &[("initial_phase", initial_phase)], 100, start);
        }
        net.run_until(S(20));
        let share = 192.16 / 51.0;
        (0..8).map(|_| net.goodput_over(0.5)[50] / share).collect::<Vec<_>>()
    };
    let (with, without) = (join("true"), join("false"));
    assert!(with[2..].iter().all(|r| *r >= 0.9), "within 1.5 s: {with:?}");
    assert!(without[..6].iter().all(|r| *r < 0.9), "not before 3 s: {without:?}");
}

#[test]
fn both_echoes_steer_alike_while_the_bottleneck_moves() {
    // Mean window, and the bottleneck, of each second.
    let trace = |echo: &str| {
        let mut net = Network::new(&[100, 120]);
        net.flow("orbcc", &[("echo", echo)], 50, 0);
        for (at_s, mbit) in [(4, 80), (8, 120), (12, 60)] {
            net.at(S(at_s), Event::Rate(1, BitRate::from_mbit(mbit)));
        }
        let mut second = |from: u64| {
            let sum: u64 = (1..=100)
                .map(|i| {
                    net.run_until(S(from) + Nanos::from_millis(10 * i));
                    net.flows[0].window.cwnd
                })
                .sum();
            (sum as f64 / 100.0, net.flows[0].probe("bottleneck_hop"))
        };
        (0..16).map(&mut second).collect::<Vec<_>>()
    };
    let (full, compact) = (trace("full"), trace("bottleneck"));
    assert_eq!([3, 7, 11, 15].map(|s| full[s].1), [0.0, 1.0, 0.0, 1.0], "it moves");
    for (second, (a, b)) in full.iter().zip(&compact).enumerate() {
        assert!((a.0 - b.0).abs() / a.0 < 0.005, "second {second}: {} and {}", a.0, b.0);
    }
}
