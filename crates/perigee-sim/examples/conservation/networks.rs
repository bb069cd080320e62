// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random networks: chains, dumbbells and parking lots with losses, outages, lost routes, changes of
//! rate and delay, reordering, every queue discipline, every congestion control and every
//! application.

use perigee_cc::SCHEMES;
use perigee_queue::DISCIPLINES;
use perigee_sim::*;
use perigee_sources::topology::*;
use perigee_timeline::*;
use perigee_units::draw::{mix, unit};
use perigee_units::{BitRate, Nanos};
use std::sync::Arc;

/// Pseudo-random numbers, reproducible from a seed.
pub struct Draws {
    pub seed: u64,
    pub n: u64,
}

impl Draws {
    pub fn next(&mut self) -> u64 {
        self.n += 1;
        mix(self.seed ^ mix(self.n))
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    /// True with probability 1/n.
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
    /// A number between two bounds, log-uniform.
    fn log(&mut self, low: f64, high: f64) -> f64 {
        low * libm::pow(high / low, unit(self.next()))
    }
    fn time(&mut self, end: Nanos) -> Nanos {
        Nanos(self.next() % end.0)
    }
}

/// A network with its changes and flows.
pub struct Network {
    pub shape: &'static str,
    pub timeline: Timeline,
    pub flows: Vec<FlowSetup>,
    pub seed: u64,
    pub lookahead: bool,
    pub instants: [Nanos; 3],
}

impl Network {
    /// Draws a network that carries up to about `packets` data packets.
    pub fn draw(d: &mut Draws, packets: f64) -> Network {
        let bps = d.log(1e6, 1e9);
        let rtt = Nanos::from_secs_f64(d.log(0.002, 0.6));
        let end = Nanos::from_secs_f64((packets * 12_000.0 / bps).clamp(2.0, 120.0));
        let port = draw_port(d, bps, rtt);
        let order = if d.one_in(2) { LinkOrder::Fifo } else { LinkOrder::Reorder };
        let loss = if d.one_in(2) { 0.0 } else { d.log(1e-5, 0.1) };
        let (shape, built) = draw_topology(d, rtt, port, loss, order);
        let flows = draw_flows(d, &built, end);
        let changes = (0..d.below(40)).map(|_| draw_change(d, &built, end, bps)).collect::<Vec<_>>();
        let mut changes: Vec<Timed> = changes.into_iter().flatten().collect();
        changes.sort_by_key(|c| c.at);
        let mut instants = [d.time(end), d.time(end), d.time(end)];
        instants.sort();
        let (seed, lookahead) = (d.next(), !d.one_in(8));
        Network { shape, timeline: built.timeline(end, changes), flows, seed, lookahead, instants }
    }
}

fn draw_port(d: &mut Draws, bps: f64, rtt: Nanos) -> PortSpec {
    let bytes = (bps / 8.0 * rtt.as_secs_f64() * d.log(0.1, 4.0)).max(3_100.0);
    let limit = if d.one_in(2) {
        QueueLimit::Bytes(bytes as u64)
    } else {
        QueueLimit::Packets((bytes / 1_500.0) as u64)
    };
    let mut queue = Queue::drop_tail(limit);
    // Half of the ports use the disciplines in order, the others one drawn at random.
    if d.one_in(2) {
        let name = DISCIPLINES[d.below(DISCIPLINES.len())].id.to_string();
        queue.discipline = Arc::new(Discipline { name, params: Default::default() });
    }
    queue.count_in_service = d.one_in(4);
    queue.probe_priority = d.one_in(4);
    let framing = [0, 7, 14][d.below(3)];
    let burst = [0, 0, 1600, 60_000][d.below(4)];
    let rate = BitRate(bps as u64);
    let dama = d.one_in(6).then(|| Box::new(draw_slots(d, rate, rtt)));
    let burst = if dama.is_some() { 0 } else { burst };
    PortSpec {
        rate,
        queue,
        framing,
        burst,
        dama,
        carrier: None,
        metered: d.one_in(2),
        telemetry_faults: None,
    }
}

/// Slots on request: a frame takes up to a fifth of the RTT, a grant up to twice the RTT.
fn draw_slots(d: &mut Draws, rate: BitRate, rtt: Nanos) -> Dama {
    let within = |t: Nanos, [least, most]: [Nanos; 2]| t.clamp(least, most);
    let part = |n: usize| BitRate(rate.0 * n as u64 / 8);
    Dama {
        frame: within(d.time(rtt / 5), Dama::FRAME),
        delay: within(d.time(rtt * 2), Dama::DELAY),
        cra: part(d.below(8)),
        rbdc: part(d.below(8)),
        vbdc: d.one_in(2).then(|| part(1 + d.below(8))),
        fca: part(d.below(8)),
    }
}

fn draw_topology(
    d: &mut Draws,
    rtt: Nanos,
    port: PortSpec,
    loss: f64,
    order: LinkOrder,
) -> (&'static str, Built) {
    let (shape, built) = match d.below(3) {
        0 => {
            let (links, copies) = (1 + d.below(10), 1 + d.below(3));
            ("chain", chain(&ChainSpec { links, copies, rtt, port, loss, order, ..ChainSpec::default() }))
        }
        1 => {
            let rtts = (0..1 + d.below(8)).map(|_| rtt + d.time(rtt * 2)).collect();
            let bottleneck = port;
            ("dumbbell", dumbbell(&DumbbellSpec { rtts, bottleneck, loss, order, ..DumbbellSpec::default() }))
        }
        _ => {
            let (bottlenecks, rtts, bottleneck) = (1 + d.below(5), vec![rtt], port);
            let spec = ParkingLotSpec { bottlenecks, rtts, bottleneck, order, ..ParkingLotSpec::default() };
            ("parking lot", parking_lot(&spec))
        }
    };
    (shape, built.expect("a topology"))
}

fn draw_flows(d: &mut Draws, built: &Built, end: Nanos) -> Vec<FlowSetup> {
    let further = d.below(4);
    let count = built.flows.len() + further;
    let one = |i: usize| {
        let path = &built.flows[i % built.flows.len()];
        let info = &SCHEMES[d.below(SCHEMES.len())];
        let params = info.params(Default::default()).expect("defaults are valid");
        let start = if d.one_in(2) { Nanos::ZERO } else { d.time(end / 2) };
        let stop = if d.one_in(3) { start + d.time(end) } else { Nanos::MAX };
        let app = draw_app(d, i < built.flows.len());
        let tcp = perigee_tcp::Config {
            ecn: d.one_in(2),
            timestamps: !d.one_in(4),
            ..perigee_tcp::Config::default()
        };
        FlowSetup {
            name: format!("{}{i}", info.id),
            forward: path.forward,
            reverse: path.reverse,
            start,
            stop,
            app,
            scheme: Scheme::Builtin(info, params),
            tcp,
            notices: d.one_in(3).then(Notices::default),
            leg: None,
            outside: Outside::default(),
        }
    };
    (0..count).map(one).collect()
}

/// Usually an unlimited transfer for the first flow of a pair, any application for the others.
fn draw_app(d: &mut Draws, first: bool) -> App {
    if first && !d.one_in(4) {
        return App::Bulk { bytes: None };
    }
    let interval = Nanos::from_secs_f64(d.log(0.0005, 0.1));
    let size = 64 + d.below(1_400) as u32;
    let (seconds, bytes) = (d.log(0.02, 3.0), d.log(2_000.0, 5e6));
    match d.below(5) {
        0 => App::Ping { interval, size },
        1 => App::Cbr { interval, size },
        2 => App::OnOff { on: Law::Exponential(seconds), off: Law::Exponential(seconds / 2.0) },
        3 => App::Request {
            size: Law::Exponential(bytes),
            think: Law::Exponential(seconds),
            period: Nanos::ZERO,
            count: 1_000,
        },
        _ => App::Bulk { bytes: Some(bytes as u64) },
    }
}

/// A change somewhere along a flow's path, forward or reverse, and the change that reverts it where
/// one is needed.
fn draw_change(d: &mut Draws, built: &Built, end: Nanos, bps: f64) -> Vec<Timed> {
    let path = &built.flows[d.below(built.flows.len())];
    let back = usize::from(d.one_in(4));
    let hop = path.hops[back][d.below(path.hops[back].len())];
    let at = d.time(end);
    let later = at + Nanos::from_secs_f64(d.log(0.001, 2.0));
    let mode = [OutageMode::Flush, OutageMode::Hold, OutageMode::Blackhole][d.below(3)];
    let timed = |at, change| Timed { at, change };
    match d.below(8) {
        0 | 1 => vec![timed(at, Change::Rate(hop.port, BitRate((bps * d.log(0.2, 2.0)) as u64)))],
        2 => {
            let zero = timed(at, Change::Rate(hop.port, BitRate(0)));
            vec![zero, timed(later, Change::Rate(hop.port, BitRate(bps as u64)))]
        }
        3 => {
            let base = Nanos::from_secs_f64(d.log(1e-5, 0.3));
            let slope = if d.one_in(2) { 0 } else { d.below(2_000_000) as i64 - 1_000_000 };
            vec![timed(at, Change::Delay(hop.link, Delay { base, slope }))]
        }
        4 => vec![timed(at, Change::Loss(hop.link, d.log(1e-5, 0.05)))],
        5 => vec![timed(at, Change::Lose(hop.link, 1 + d.below(20) as u32))],
        6 => vec![timed(at, Change::Down(hop.link, mode)), timed(later, Change::Up(hop.link))],
        _ => {
            let (pair, hops) = [(path.forward, &path.hops[0]), (path.reverse, &path.hops[1])][back];
            let links: Arc<[LinkId]> = hops.iter().map(|h| h.link).collect();
            vec![timed(at, Change::Path(pair, None)), timed(later, Change::Path(pair, Some(links)))]
        }
    }
}
