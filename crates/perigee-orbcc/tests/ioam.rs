// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The core's reader of IOAM traces agrees with that of the simulator.

use perigee_cc::{Carrier, Nanos};
use perigee_orbcc::ioam::{option, IoamReader, NoTrace, Node, Sender, MOST_HOPS};
use perigee_telemetry::carrier::{Carried, CarrierReader};
use perigee_telemetry::wire::BASELINE_HOP;
use perigee_telemetry::{uf16, Stamp, WireCompact, WireHop};
use perigee_units::draw::{mix, unit};

const PAYLOAD: u32 = 1448;
const WIRE: f64 = 1500.0;
const PROPAGATION_US: u64 = 8_000;
/// Of a port's clock and of the receiver's, which say nothing of each other.
const CLOCKS_US: [u64; 4] = [0, 123_456, 777_777, 900_001];

/// Ports in a row, each with cross traffic that comes and goes.
struct Path {
    rates_mbit: Vec<f64>,
    /// Times at which the ports are idle, in microseconds.
    idle_us: Vec<f64>,
}

impl Path {
    /// A packet that is sent at `us`: its nodes by their own clocks, for the core and for the
    /// simulator's reader, and its arrival.
    fn pass(&mut self, us: u64, cross: impl Fn(usize) -> f64) -> (Vec<Node>, Vec<WireHop>, u64) {
        let mut at = us as f64;
        let (mut nodes, mut hops) = (Vec::new(), Vec::new());
        for (i, (rate, idle)) in self.rates_mbit.iter().zip(&mut self.idle_us).enumerate() {
            at += PROPAGATION_US as f64;
            *idle = idle.max(at) + cross(i) * 8.0 / rate;
            let q_in = uf16::encode(((*idle - at) * rate / 8.0) as u64);
            let (id, there_us) = (100 + i as u32, at as u64 + CLOCKS_US[i]);
            let (at_us, backlog) = ((there_us % 1_000_000) as u32, uf16::decode(q_in) as u32);
            nodes.push(Node { id, at_us, backlog });
            hops.push(WireHop { ts: (there_us & 0xff_ffff) as u32, tx: id, q_in, ..WireHop::default() });
            *idle += WIRE * 8.0 / rate;
            at = *idle;
        }
        (nodes, hops, at as u64 + PROPAGATION_US)
    }
}

fn assert_near(ours: &WireCompact, reference: &WireCompact) {
    let near = |a: u64, b: u64, share: f64| a.abs_diff(b) as f64 <= 2.0 + share * b as f64;
    let context = format!("{ours:?} instead of {reference:?}");
    assert_eq!(
        (ours.hop, ours.tau, ours.flows),
        (reference.hop, reference.tau, reference.flows),
        "{context}"
    );
    assert_eq!(ours.avg_rtt, reference.avg_rtt, "{context}");
    assert!(near(u64::from(ours.u), u64::from(reference.u), 0.002), "{context}");
    let rate = |record: &WireCompact| uf16::decode(record.bw);
    assert!(near(rate(ours), rate(reference), 0.002), "{context}");
    let waiting = |record: &WireCompact| uf16::decode(record.queue_delay);
    assert!(near(waiting(ours), waiting(reference), 0.002), "{context}");
}

#[test]
fn records_of_random_paths_agree() {
    let (mut records, mut steering, mut none, mut apart) = (0u32, 0u32, 0u32, 0u32);
    for connection in 0..60u64 {
        let mut draws = 0u64;
        let mut draw = || {
            draws += 1;
            unit(mix(connection << 32 | draws))
        };
        let ports = 1 + (draw() * 3.0) as usize;
        let rates_mbit = (0..ports).map(|_| libm::pow(10.0, 1.0 + 2.0 * draw())).collect();
        let mut path = Path { rates_mbit, idle_us: vec![0.0; ports] };
        let base_rtt_us = 20_000 + (draw() * 200_000.0) as u32;
        let window = uf16::encode(20_000 + (draw() * 2e6) as u64);
        let (mut reader, mut reference) = (IoamReader::default(), CarrierReader::default());
        let mut us = 1_000_000;
        for _ in 0..3000 {
            us += if draw() < 0.002 { 200_000 } else { (draw() * 2000.0) as u64 };
            let burst = if draw() < 0.05 { draw() * 60_000.0 } else { 0.0 };
            let busy = (draw() * ports as f64) as usize;
            let (nodes, hops, arrival_us) = path.pass(us, |i| if i == busy { burst } else { 0.0 });
            let sender = Sender { base_rtt_us, window, payload: PAYLOAD };
            let ours = reader.read(arrival_us * 1000, &option(&nodes, 3), sender).expect("a trace");
            let carried = Carried { carrier: Carrier::Ioam, value: 0 };
            let stamp = Stamp::coded(base_rtt_us, window, PAYLOAD);
            let theirs = reference.read(Nanos::from_micros(arrival_us), &carried, 0, &hops, &stamp);
            match (ours, theirs) {
                (None, None) => none += 1,
                // The u of two ports may differ by less than the rounding of either.
                (Some(a), Some(b)) if a.hop != b.hop && a.u.abs_diff(b.u) <= 2 => apart += 1,
                (Some(a), Some(b)) => {
                    assert_near(&a, &b);
                    records += 1;
                    steering += u32::from(b.hop != BASELINE_HOP);
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(steering > 100_000 && none > 1000, "{records} records, {steering} with a port, {none} without");
    assert!(apart < 100, "{apart}");
}

#[test]
fn what_is_no_trace_and_what_is_out_of_bounds_gives_no_record() {
    let sender = Sender { base_rtt_us: 50_000, window: 1000, payload: PAYLOAD };
    let node = Node { id: 7, at_us: 5, backlog: 0 };
    let mut reader = IoamReader::default();
    let good = option(&[node], 3);
    assert_eq!(reader.read(1, &good, sender), Ok(None));
    for (at, value) in [(0, 0x30), (3, 1), (6, 0xff), (7, 1), (8, 0), (11 + 13, 0)] {
        let mut bad = good.clone();
        bad[at] = value;
        let there = at < 12;
        assert_eq!(reader.read(1, &bad, sender).is_err(), there, "{at}");
    }
    for bad in [Node { at_us: 1_000_000, ..node }, Node { backlog: 1 << 28, ..node }] {
        assert_eq!(reader.read(1, &option(&[bad], 1), sender), Err(NoTrace));
    }
    assert!(reader.read(1, &option(&[node; MOST_HOPS], MOST_HOPS), sender).is_ok());
    assert!(reader.read(1, &option(&[node], MOST_HOPS + 1), sender).is_err());
}
