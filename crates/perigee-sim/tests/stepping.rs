// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Independence of results from execution: in one run or step by step, with or without lookahead at
//! ports with a known future.

mod support;
use perigee_sim::*;
use perigee_sources::topology::*;
use perigee_timeline::*;
use perigee_units::{BitRate, Nanos};
use proptest::prelude::*;
use std::sync::Arc;
use support::*;

/// A network with its changes and flows, small enough for thousands of runs.
#[derive(Clone, Debug)]
struct Case {
    shape: u8,
    mbit: u64,
    queue: u64,
    burst: u64,
    dama: Option<Dama>,
    carrier: Option<Carrier>,
    rtt_ms: u64,
    loss: f64,
    drop: LinkOrder,
    probe_priority: bool,
    metered: bool,
    schemes: [u8; 3],
    app: u8,
    host_jitter_us: u64,
    changes: Vec<(u64, u8, u64)>,
    seed: u64,
}

/// Background traffic that depends on a number.
fn background(n: u64) -> Background {
    let elastic = Elastic {
        flows: (n % 40) as u32 + 1,
        rtt: ms(n % 60 + 1),
        start: BitRate(n * 10_000),
        most: (n % 3 == 0).then_some(BitRate(n * 3_000)),
        recovery: (n % 5 == 0).then_some(20.0),
        packet: 1514,
    };
    Background {
        inelastic: BitRate(n % 4 * n * 10_000),
        burst: (n % 9 * 1000) as u32,
        elastic: (n % 2 == 0).then_some(elastic),
    }
}

/// Carrier with neighbours: frame in ms, rate in Mbit/s, load in percent, number of neighbours, request
/// slots, whether grants are proportional, mean burst in bytes.
fn carrier(
    (frame, mbit, load, count, request_slots, proportional, burst): (u64, u64, u64, u32, u32, bool, u64),
) -> Carrier {
    let rate = BitRate::from_mbit(mbit);
    Carrier {
        rate,
        frame: ms(frame),
        sharing: if proportional { Sharing::Proportional } else { Sharing::RoundRobin },
        floor: BitRate(burst),
        request_slots,
        neighbours: Neighbours {
            count,
            load: BitRate(rate.0 * load / 100),
            peak: BitRate(rate.0 * 2),
            burst: 1000 + burst,
            burst_max: 10_000_000,
            burst_shape: 1.2,
            queue: 100_000,
        },
    }
}

/// Makes the last links of all flows leave from one port, which resembles the bottleneck.
fn radio(mut built: Built) -> Built {
    let last = built.flows[0].hops[0].last().expect("a link").port;
    let first = built.bottlenecks[0].forward.port;
    let like = built.header.ports[first.ix()].spec.clone();
    let spec = &mut built.header.ports[last.ix()].spec;
    *spec = PortSpec { framing: spec.framing, ..like };
    for flow in &mut built.flows {
        let hop = flow.hops[0].last_mut().expect("a link");
        hop.port = last;
        built.header.links[hop.link.ix()].port = last;
    }
    built
}

const DURATION: Nanos = Nanos::from_millis(1500);
const SCHEMES: [&str; 12] =
    ["newreno", "cubic", "vegas", "hybla", "bbr", "bbr3", "copa", "leocc", "orbcc", "vivace", "xcp", "rcp"];

fn case() -> impl Strategy<Value = Case> {
    let burst = prop_oneof![2 => Just(0), 1 => 1_000u64..60_000];
    let rate = || (0u64..8_000_000).prop_map(BitRate);
    let slots = (1u64..60, 1u64..200, rate(), rate(), prop::option::of(rate()), rate());
    let slots = slots.prop_map(|(frame, delay, cra, rbdc, vbdc, fca)| Dama {
        frame: ms(frame),
        delay: ms(delay),
        cra,
        rbdc,
        vbdc,
        fca,
    });
    let carrier =
        (1u64..60, 1u64..60, 0u64..120, 1u32..8, 0u32..3, any::<bool>(), 0u64..1_000_000).prop_map(carrier);
    let network = (
        0u8..4,
        1u64..40,
        2_000u64..80_000,
        2u64..80,
        burst,
        prop::option::weighted(0.3, slots),
        prop::option::weighted(0.2, carrier),
    );
    let loss = prop_oneof![4 => Just(0.0), 1 => 0.0001f64..0.05];
    let drop = prop_oneof![Just(LinkOrder::Fifo), Just(LinkOrder::Reorder)];
    let rest = (any::<bool>(), any::<bool>(), [0u8..12, 0u8..12, 0u8..12], 0u8..8);
    let host_jitter = prop_oneof![2 => Just(0), 1 => 1u64..3_000];
    let changes = prop::collection::vec((0u64..1500, 0u8..8, 0u64..1000), 0..8);
    (network, loss, drop, rest, host_jitter, changes, 1u64..1000).prop_map(
        |(n, loss, drop, r, j, changes, seed)| Case {
            shape: n.0,
            mbit: n.1,
            queue: n.2,
            rtt_ms: n.3,
            burst: if n.5.is_some() || n.6.is_some() { 0 } else { n.4 },
            dama: n.5,
            carrier: n.6.map(|c| Carrier { frame: n.5.map_or(c.frame, |d| d.frame), ..c }),
            loss,
            drop,
            probe_priority: r.0,
            metered: r.1,
            schemes: r.2,
            app: r.3,
            host_jitter_us: j,
            changes,
            seed,
        },
    )
}

impl Case {
    fn built(&self) -> Built {
        let mut port = bytes_port(self.mbit, self.queue, 14);
        port.metered = self.metered;
        port.burst = self.burst;
        port.dama = self.dama.map(Box::new);
        port.carrier = self.carrier.map(Box::new);
        port.queue.probe_priority = self.probe_priority;
        let rtt = ms(self.rtt_ms);
        let (order, loss) = (self.drop, self.loss);
        let built = match self.shape {
            0 => chain(&ChainSpec { links: 4, rtt, port, loss, order, ..ChainSpec::default() }),
            1 | 3 => {
                let rtts = vec![rtt, rtt * 2, rtt * 3];
                dumbbell(&DumbbellSpec { rtts, bottleneck: port, loss, order, ..DumbbellSpec::default() })
            }
            _ => parking_lot(&ParkingLotSpec {
                bottlenecks: 2,
                rtts: vec![rtt],
                bottleneck: port,
                order,
                ..ParkingLotSpec::default()
            }),
        }
        .expect("a topology");
        if self.shape == 3 {
            radio(built)
        } else {
            built
        }
    }

    fn timeline(&self, built: Built) -> Timeline {
        let hops = built.flows[0].hops.clone();
        let change = |&(at, what, n): &(u64, u8, u64)| {
            let hop = hops[(n % 7 == 0) as usize][n as usize % hops[(n % 7 == 0) as usize].len()];
            let mode = [OutageMode::Flush, OutageMode::Hold, OutageMode::Blackhole][n as usize % 3];
            let what = match what {
                0 => Change::Rate(hop.port, BitRate::from_mbit(n % 30)),
                1 => Change::Delay(hop.link, Delay::constant(Nanos::from_micros(n * 30))),
                2 => Change::Delay(hop.link, Delay { base: ms(n % 50), slope: n as i64 * 1_000 - 400_000 }),
                3 => Change::Down(hop.link, mode),
                4 => Change::Up(hop.link),
                6 | 7
                    if self.burst == 0
                        && self.dama.is_none()
                        && self.carrier.is_none()
                        && !self.probe_priority =>
                {
                    Change::Background(hop.port, Arc::new(background(n)))
                }
                _ => Change::Lose(hop.link, (n % 4) as u32),
            };
            support::change(ms(at), what)
        };
        let changes = self.changes.iter().map(change).collect();
        built.timeline(DURATION, changes)
    }

    fn flows(&self, built: &Built) -> Vec<FlowSetup> {
        let mut flows: Vec<FlowSetup> = (0..built.flows.len().min(3))
            .map(|i| flow(built, i, SCHEMES[self.schemes[i] as usize]))
            .collect();
        let mut other = FlowSetup { name: "other".into(), ..flows[0].clone() };
        other.app = match self.app {
            0 => App::Ping { interval: ms(3), size: 64 },
            1 => App::Cbr { interval: Nanos::from_micros(700), size: 500 },
            2 => App::OnOff { on: Law::Exponential(0.05), off: Law::Exponential(0.03) },
            3 => App::Request {
                size: Law::Exponential(20_000.0),
                think: Law::Exponential(0.01),
                period: Nanos::ZERO,
                count: 1_000,
            },
            4 => App::Web(Web {
                document: Law::Exponential(5_000.0),
                objects: 9,
                object: Law::Exponential(5_000.0),
                think: Law::Exponential(0.02),
                pages: 1_000,
            }),
            5 => App::Video(Video {
                ladder: Ladder::new(&[1, 3, 9].map(BitRate::from_mbit)).unwrap(),
                segment: ms(100),
                buffer: ms(400),
                start_up: ms(100),
                abr: if self.schemes[0] % 2 == 0 { Abr::Buffer } else { Abr::Rate },
                segments: 1_000,
            }),
            6 => App::Voice(Voice {
                codec: Codec::G711,
                interval: ms(5),
                talk: Law::Exponential(0.05),
                silence: Law::Exponential(0.03),
                playout: ms(5),
            }),
            _ => App::Bulk { bytes: Some(100_000) },
        };
        flows.push(other);
        flows
    }

    fn simulation<'t>(
        &self,
        timeline: &'t Timeline,
        flows: Vec<FlowSetup>,
        lookahead: bool,
    ) -> Simulation<'t> {
        let host_jitter = Nanos::from_micros(self.host_jitter_us);
        let options = Options {
            seed: self.seed,
            sample: ms(50),
            max_hops: 4,
            lookahead,
            host_jitter,
            ..Options::default()
        };
        Simulation::new(&timeline.header, Box::new(timeline.reader()), flows, options).expect("a setup")
    }
}

/// All results visible to a user; the number of events is excluded, as it depends on how a
/// simulation is executed.
fn seen(out: RunOutcome, log: Log) -> (RunOutcome, Log) {
    assert_eq!(out.conserved, Some(true));
    (RunOutcome { events: None, memory_per_flow_bytes: None, ..out }, log)
}

fn whole(case: &Case, lookahead: bool) -> (RunOutcome, Log) {
    let built = case.built();
    let flows = case.flows(&built);
    let timeline = case.timeline(built);
    let mut log = Log::default();
    let out = case.simulation(&timeline, flows, lookahead).run(&mut log, &mut |_| true).expect("a run");
    seen(out, log)
}

fn stepped(case: &Case, steps: &[u64]) -> (RunOutcome, Log) {
    let built = case.built();
    let flows = case.flows(&built);
    let timeline = case.timeline(built);
    let mut log = Log::default();
    let mut sim = case.simulation(&timeline, flows, true);
    let mut until = Nanos::ZERO;
    for step in steps.iter().cycle() {
        // Sometimes exactly up to the next event, or one nanosecond past it.
        until = match step % 5 {
            0 => sim.next_event().max(until + Nanos(1)),
            1 => sim.next_event() + Nanos(1),
            _ => until + Nanos(50_000 + step * step),
        };
        sim.advance(until, &mut log).expect("a step");
        if until > DURATION {
            break;
        }
        for link in 0..timeline.header.links.len() as u32 {
            let l = sim.link_totals(LinkId(link)).expect("a link");
            assert!(l.crossed <= l.tx_packets && l.tx_packets <= l.entered, "{l:?}");
        }
    }
    seen(sim.finish(), log)
}

fn cases(usual: u32) -> ProptestConfig {
    let wanted = std::env::var("PERIGEE_CASES").ok().and_then(|n| n.parse().ok());
    ProptestConfig { cases: wanted.unwrap_or(usual), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn looking_ahead_changes_nothing(case in case()) {
        let (a, b) = (whole(&case, true), whole(&case, false));
        prop_assert_eq!(&a.0, &b.0);
        prop_assert!(a.1 == b.1, "logs differ");
    }

    #[test]
    fn any_steps_give_the_same_results(case in case(), steps in prop::collection::vec(0u64..4000, 1..40)) {
        let (a, b) = (whole(&case, true), stepped(&case, &steps));
        prop_assert_eq!(&a.0, &b.0);
        prop_assert!(a.1 == b.1, "logs differ");
    }
}

#[test]
fn an_arrangement_reaches_no_further_than_the_step() {
    // A full queue at 1 Mbit/s: one packet leaves every 12 ms. 10 ms into the service of the second
    // packet, one has left.
    let built =
        chain(&ChainSpec { port: bytes_port(1, 100_000, 0), rtt: ms(20), ..ChainSpec::default() }).unwrap();
    let mut load = flow(&built, 0, "newreno");
    load.app = App::Cbr { interval: ms(1), size: 1500 };
    let link = built.flows[0].hops[0][0].link;
    let timeline = built.timeline(s(1), Vec::new());
    let options = Options::default();
    let mut sim =
        Simulation::new(&timeline.header, Box::new(timeline.reader()), vec![load], options).unwrap();
    for (until_ms, left, crossed) in [(12, 0, 0), (13, 1, 0), (22, 1, 0), (23, 1, 1), (35, 2, 2), (109, 9, 8)]
    {
        sim.advance(ms(until_ms), &mut Silent).unwrap();
        let l = sim.link_totals(link).unwrap();
        assert_eq!((l.tx_packets, l.crossed), (left, crossed), "before {until_ms} ms");
        assert_eq!(sim.flow_totals(0).unwrap().sent, until_ms, "one packet a millisecond");
    }
}
