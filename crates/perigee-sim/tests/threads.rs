// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs on several threads give the results of one thread to the bit: every row, event and packet in
//! the same order, and all totals.

#[path = "../examples/conservation/networks.rs"]
#[allow(dead_code)] // some fields are for the example alone
mod networks;

use networks::{Draws, Network};
use perigee_cc::{info, Value};
use perigee_sim::*;
use perigee_timeline::*;
use perigee_units::{BitRate, Nanos};
use std::fmt::Write;

/// Everything that an observer receives, as text; packets too if `PACKETS`.
#[derive(Default)]
struct Lines<const PACKETS: bool>(Vec<String>);

impl<const PACKETS: bool> Observer for Lines<PACKETS> {
    const PACKETS: bool = PACKETS;

    fn flow(&mut self, row: &FlowRow, internals: &Internals) {
        self.0.push(format!("{row:?} {internals:?}"));
    }
    fn link(&mut self, row: &LinkRow) {
        self.0.push(format!("{row:?}"));
    }
    fn carrier(&mut self, row: &CarrierRow) {
        self.0.push(format!("{row:?}"));
    }
    fn event(&mut self, at: Nanos, e: &SimEvent<'_>) {
        self.0.push(format!("{at:?} {e:?}"));
    }
    fn rtt(&mut self, flow: u32, sent: Nanos, rtt: Nanos, base: Option<Nanos>) {
        self.0.push(format!("rtt {flow} {sent:?} {rtt:?} {base:?}"));
    }
    fn datagram(&mut self, flow: u32, spurt: u64, sent: Nanos, at: Nanos) {
        self.0.push(format!("datagram {flow} {spurt} {sent:?} {at:?}"));
    }
    fn completion(&mut self, row: &CompletionRow) {
        self.0.push(format!("{row:?}"));
    }
    fn sampled(&mut self, at: Nanos) {
        self.0.push(format!("sampled {at:?}"));
    }
    fn packet(&mut self, p: &PacketSeen<'_>) {
        self.0.push(format!("{p:?}"));
    }
}

/// A run on `threads` threads: how it was executed, its totals and reports.
fn run<const PACKETS: bool>(network: &Network, threads: usize) -> (Execution, String, Vec<String>) {
    let options = Options {
        seed: network.seed,
        sample: Nanos::from_millis(100),
        host_jitter: Nanos(network.seed % 3 * 100_000),
        lookahead: network.lookahead,
        max_hops: if network.seed % 4 == 0 { 2 } else { Options::default().max_hops },
        ..Options::default()
    };
    let threads = Threads { most: threads, least_events: 1 + network.seed % 3, most_uneven: f64::INFINITY };
    let mut lines = Lines::<PACKETS>::default();
    let (header, source) = (&network.timeline.header, Box::new(network.timeline.reader()));
    let done =
        run_on_threads(header, source, network.flows.clone(), options, threads, &mut lines, &mut |_| true);
    let (out, execution) = done.expect("a run");
    let mut totals = String::new();
    let out = RunOutcome { events: None, memory_per_flow_bytes: None, ..out };
    write!(totals, "{out:?}").expect("text");
    (execution, totals, lines.0)
}

fn compare<const PACKETS: bool>(n: u64, network: &Network) -> Vec<Execution> {
    let (_, totals, lines) = run::<PACKETS>(network, 1);
    let on = |threads| {
        let (execution, other_totals, other_lines) = run::<PACKETS>(network, threads);
        let differs = lines.iter().zip(&other_lines).position(|(a, b)| a != b);
        if let Some(i) = differs {
            panic!(
                "network {n}, {threads} threads, {execution:?}, report {i}:\n{}\n{}",
                lines[i], other_lines[i]
            );
        }
        assert_eq!(lines.len(), other_lines.len(), "network {n}, {threads} threads: {execution:?}");
        assert!(totals == other_totals, "network {n}, {threads} threads:\n{totals}\n{other_totals}");
        execution
    };
    [2, 3, 4, 8].map(on).to_vec()
}

#[test]
fn any_number_of_threads_gives_the_same_results() {
    let wanted = std::env::var("PERIGEE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(24);
    let first = std::env::var("PERIGEE_FIRST").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let (mut several, mut windows, mut exchanged, mut in_turn, mut apart) = (0, 0, 0, 0, 0);
    for n in first..first + wanted {
        let network = Network::draw(&mut Draws { seed: n + 1, n: 0 }, 3_000.0);
        let executions = match n % 4 {
            0 => compare::<true>(n, &network),
            _ => compare::<false>(n, &network),
        };
        for e in executions {
            several += u64::from(e.threads > 1);
            exchanged += e.exchanged;
            windows += e.windows;
            in_turn += e.in_turn;
            apart += e.apart;
        }
    }
    let runs = 4 * wanted;
    println!(
        "{several} of {runs} runs divided, {apart} flows with ends apart, {windows} windows, {exchanged} packets, \
         {in_turn} events in turn"
    );
    assert!(several > 0 && exchanged > 0 && apart > 0, "no run was divided");
}

/// Schemes with packets that carry telemetry, in each form.
const FORMS: &[(&str, &[(&str, &str)])] = &[
    ("orbcc", &[("carrier", "utilisation")]),
    ("orbcc", &[("carrier", "ioam"), ("fallback", "none")]),
    ("orbcc-pint", &[]),
    ("xcp", &[]),
    ("orbcc", &[("carrier", "ecn")]),
    ("orbcc", &[]),
    ("hpcc", &[]),
];

#[test]
fn telemetry_of_each_form_crosses_partitions() {
    let mut exchanged = 0;
    for n in 0..12 {
        let mut network = Network::draw(&mut Draws { seed: 500 + n, n: 0 }, 1_500.0);
        network.timeline.header.ports.iter_mut().for_each(|port| port.spec.metered = true);
        for (i, flow) in network.flows.iter_mut().enumerate() {
            let (name, options) = FORMS[(n as usize + i) % FORMS.len()];
            let options = options.iter().map(|&(key, word)| (key.to_string(), Value::Text(word.into())));
            let info = info(name).expect("a scheme");
            flow.scheme = Scheme::Builtin(info, info.params(options.collect()).expect("valid options"));
        }
        exchanged += compare::<false>(n, &network).iter().map(|e| e.exchanged).sum::<u64>();
    }
    assert!(exchanged > 1_000, "{exchanged} packets");
}

/// Satellites appear with their links in the second chunk, and the paths move there.
fn moving_paths() -> Network {
    let node = |name: String| Node { name, class: NodeClass::Satellite, place: None };
    let port = |node: u32, n: u32| Port {
        name: format!("port {n}"),
        node: NodeId(node),
        spec: PortSpec::packets(BitRate::from_mbit(20), 30),
    };
    let link = |n: u32, to: u32| Link {
        port: PortId(n),
        to: NodeId(to),
        delay: Delay::default(),
        loss: 0.0,
        up: true,
        order: LinkOrder::Fifo,
    };
    // Hosts are nodes 0 to 3; each chunk adds a row of satellites from all sources to all sinks.
    let header = Header {
        duration: Nanos::from_secs(3),
        nodes: (0..4).map(|n| node(format!("host {n}"))).collect(),
        pairs: [(0, 1), (1, 0), (2, 3), (3, 2)]
            .map(|(a, b)| Pair { from: NodeId(a), to: NodeId(b) })
            .to_vec(),
        ..Header::default()
    };
    let mut chunks = Vec::new();
    let (mut nodes, mut links) = (4, 0);
    for k in 0..3u64 {
        let start = Nanos::from_secs(k);
        let mut chunk = Chunk { start, end: Nanos::from_secs(k + 1), ..Chunk::default() };
        chunk.nodes = (0..4).map(|n| node(format!("satellite {k} {n}"))).collect();
        for (pair, ends) in header.pairs.iter().enumerate() {
            let hops = [ends.from.0, nodes + pair as u32, nodes + (pair as u32 + 1) % 4, ends.to.0];
            let path: Vec<LinkId> = (0..3).map(|hop| LinkId(links + hop)).collect();
            for hop in 0..3 {
                chunk.ports.push(port(hops[hop], links));
                chunk.links.push(link(links, hops[hop + 1]));
                let delay =
                    Delay { base: Nanos::from_micros(2_000 + 700 * u64::from(links)), slope: -90_000 };
                chunk.changes.push(Timed { at: start, change: Change::Delay(LinkId(links), delay) });
                links += 1;
            }
            let path = Change::Path(PairId(pair as u32), Some(path.into()));
            chunk.changes.push(Timed { at: start, change: path });
        }
        let (kind, text) = (NoteKind::Handover, String::new());
        let note = Note { kind, node: None, pair: None, value: 0.0, text };
        chunk.changes.push(Timed { at: start + Nanos(k), change: Change::Note(note) });
        nodes += 4;
        chunks.push(std::sync::Arc::new(chunk));
    }
    let mut network = Network::draw(&mut Draws { seed: 1, n: 0 }, 10.0);
    let pairs = [(0, 1), (1, 0), (2, 3), (3, 2)];
    let flow = |n: usize| FlowSetup {
        name: format!("flow {n}"),
        forward: PairId(pairs[n % 4].0),
        reverse: PairId(pairs[n % 4].1),
        start: Nanos::from_millis(13 * n as u64),
        stop: Nanos::from_millis(if n == 5 { 2_000 } else { 3_000 }),
        app: match n {
            0..6 => App::Bulk { bytes: None },
            6 => App::Bulk { bytes: Some(90_000) },
            7 => App::Cbr { interval: Nanos::from_micros(900), size: 400 },
            _ => App::Ping { interval: Nanos::from_micros(1_100), size: 64 },
        },
        notices: Some(Notices::default()),
        ..network.flows[0].clone()
    };
    network.flows = (0..12).map(flow).collect();
    network.timeline = Timeline { header, chunks };
    network
}

#[test]
fn nodes_that_appear_later_belong_to_a_partition() {
    let network = moving_paths();
    for execution in [compare::<true>(0, &network), compare::<false>(0, &network)].concat() {
        assert!(
            execution.threads > 1 && execution.windows > 100 && execution.exchanged > 1_000,
            "{execution:?}"
        );
    }
}
