// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Many flows, short flows and alternating rates over one bottleneck with telemetry: a row of CSV
//! per scheme, from which `docs/make/orbcc_next.py` makes the pages on OrbCC next.
//!
//! ```text
//! cargo run --release -p perigee-sim --example orbcc_next -- CASE SCHEME[:PARAMETER=VALUE,…]…
//! CASE   many:FLOWS:RTT_MS:SECONDS[:MBIT[:SEED]]   bulk flows that start within the first second
//!        short:LOAD:SECONDS[:SEED]                 Poisson arrivals, Pareto sizes (mean 100 kB, shape 1.3), 50 ms
//!        alternating:BDP                           50 and 100 Mbit/s by turns of 100 ms, 50 ms, a queue of BDP
//! ```
//!
//! 100 Mbit/s unless given; the queue has 2, 1 and BDP bandwidth-delay products. The first third of
//! a run does not count, of short flows the first second.

use perigee_cc::{info, Domain, Value};
use perigee_sim::{
    FlowRow, FlowSetup, Internals, LinkRow, Observer, Options, RunOutcome, Scheme, Simulation,
};
use perigee_sources::topology::{dumbbell, Built, DumbbellSpec};
use perigee_timeline::{App, Change, PortSpec, Queue, QueueLimit, Timed};
use perigee_units::{BitRate, Nanos};
use std::collections::BTreeMap;

const MEAN_OBJECT: f64 = 1e5;
const SHAPE: f64 = 1.3;
/// Transfers arrive until this long before the end.
const LAST_ARRIVAL_S: f64 = 3.0;
const FRAMING: u32 = 7;
const MOST_PAIRS: usize = 200;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Many,
    Short(f64),
    Alternating,
}

struct Case {
    kind: Kind,
    flows: usize,
    mbit: f64,
    rtt_s: f64,
    seconds: f64,
    queue_bdp: f64,
    /// Draws other starts.
    seed: u64,
}

impl Case {
    fn parse(text: &str) -> Self {
        let mut words = text.split(':');
        let kind = words.next().expect("a case");
        let n: Vec<f64> = words.map(|w| w.parse().expect("a number")).collect();
        let fixed = Case {
            kind: Kind::Many,
            flows: 1,
            mbit: 100.0,
            rtt_s: 0.05,
            seconds: 20.0,
            queue_bdp: 2.0,
            seed: 0,
        };
        match kind {
            "many" => {
                let mbit = n.get(3).copied().unwrap_or(100.0);
                let seed = n.get(4).map_or(0, |&seed| seed as u64);
                Case { flows: n[0] as usize, rtt_s: n[1] / 1e3, seconds: n[2], mbit, seed, ..fixed }
            }
            "short" => {
                let seed = n.get(2).map_or(0, |&seed| seed as u64);
                Case { kind: Kind::Short(n[0]), seconds: n[1], queue_bdp: 1.0, seed, ..fixed }
            }
            "alternating" => Case { kind: Kind::Alternating, queue_bdp: n[0], ..fixed },
            _ => panic!("no case {kind}: many, short or alternating"),
        }
    }

    fn warm_up_s(&self) -> f64 {
        if let Kind::Short(_) = self.kind {
            1.0
        } else {
            self.seconds / 3.0
        }
    }

    fn build(&self) -> Built {
        let bdp = self.mbit * 1e6 / 8.0 * self.rtt_s;
        let rate = BitRate((self.mbit * 1e6) as u64);
        let bottleneck = PortSpec {
            framing: FRAMING,
            metered: true,
            queue: Queue::drop_tail(QueueLimit::Bytes((self.queue_bdp * bdp) as u64)),
            ..PortSpec::packets(rate, 1000)
        };
        let access = PortSpec {
            framing: FRAMING,
            metered: false,
            ..PortSpec::packets(BitRate(rate.0 * 10), 1_000_000)
        };
        let spec = DumbbellSpec {
            rtts: vec![Nanos::from_secs_f64(self.rtt_s); self.flows.min(MOST_PAIRS)],
            bottleneck,
            access,
            bottleneck_delay: Nanos::from_micros(500),
            ..DumbbellSpec::default()
        };
        dumbbell(&spec).expect("a dumbbell")
    }

    /// Start in seconds and size of each flow.
    fn transfers(&self, draw: &mut impl FnMut() -> f64) -> Vec<(f64, Option<u64>)> {
        let Kind::Short(load) = self.kind else {
            let spread = if self.flows > 1 { 1.0 } else { 0.0 };
            return (0..self.flows).map(|_| (draw() * spread, None)).collect();
        };
        let per_second = load * self.mbit * 1e6 / 8.0 / MEAN_OBJECT;
        let least = MEAN_OBJECT * (SHAPE - 1.0) / SHAPE;
        let (mut at, mut found) = (0.0, Vec::new());
        loop {
            at -= libm::log(1.0 - draw()) / per_second;
            if at >= self.seconds - LAST_ARRIVAL_S {
                return found;
            }
            found.push((at, Some((least / libm::pow(1.0 - draw(), 1.0 / SHAPE)) as u64)));
        }
    }

    fn changes(&self, built: &Built) -> Vec<Timed> {
        if self.kind != Kind::Alternating {
            return Vec::new();
        }
        let port = built.bottlenecks[0].forward.port;
        let turn = |k: u64| Timed {
            at: Nanos::from_millis(100 * k),
            change: Change::Rate(port, BitRate::from_mbit(if k % 2 == 1 { 50 } else { 100 })),
        };
        (1..self.seconds as u64 * 10).map(turn).collect()
    }
}

#[derive(Default)]
struct Samples {
    warm: Nanos,
    until: Nanos,
    port: u32,
    /// By microsecond.
    rtts: BTreeMap<u64, u64>,
    queue_bytes: Vec<f64>,
    /// Payload delivered by each flow before and after the warm-up.
    delivered: Vec<(u64, u64)>,
}

impl Observer for Samples {
    fn rtt(&mut self, _: u32, sent: Nanos, rtt: Nanos, _: Option<Nanos>) {
        if sent >= self.warm {
            *self.rtts.entry(rtt.as_micros()).or_default() += 1;
        }
    }

    fn flow(&mut self, row: &FlowRow, _: &Internals) {
        let i = row.flow as usize;
        if i >= self.delivered.len() {
            self.delivered.resize(i + 1, (0, 0));
        }
        if row.t_ns <= self.warm.0 {
            self.delivered[i].0 = row.delivered_bytes;
        }
        self.delivered[i].1 = row.delivered_bytes;
    }

    fn link(&mut self, row: &LinkRow) {
        if row.port == self.port && (self.warm.0..self.until.0).contains(&row.t_ns) {
            self.queue_bytes.push(row.queue_bytes as f64);
        }
    }
}

impl Samples {
    fn rtt_p99_ms(&self) -> f64 {
        let all: u64 = self.rtts.values().sum();
        let mut seen = 0;
        for (us, count) in &self.rtts {
            seen += count;
            if seen * 100 >= all * 99 {
                return *us as f64 / 1e3;
            }
        }
        f64::NAN
    }
}

fn scheme(text: &str) -> Scheme {
    let (id, given) = text.split_once(':').unwrap_or((text, ""));
    let info = info(id).unwrap_or_else(|| panic!("no scheme {id}"));
    let value = |name: &str, word: &str| {
        let spec = info.params.iter().find(|p| p.name == name).unwrap_or_else(|| panic!("no {name} in {id}"));
        match spec.domain {
            Domain::Float { .. } => Value::Float(word.parse().expect("a number")),
            Domain::Int { .. } => Value::Int(word.parse().expect("a whole number")),
            Domain::Bool(_) => Value::Bool(word == "true"),
            _ => Value::Text(word.into()),
        }
    };
    let pairs = given.split(',').filter(|s| !s.is_empty()).map(|s| s.split_once('=').expect("NAME=VALUE"));
    let given = pairs.map(|(name, word)| (name.to_string(), value(name, word))).collect();
    Scheme::Builtin(info, info.params(given).expect("valid parameters"))
}

/// Uniform numbers in [0, 1) (SplitMix64), the same for every scheme.
fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut state = 77 + (seed << 32);
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn run(case: &Case, scheme: &Scheme) -> (RunOutcome, Samples) {
    let built = case.build();
    let transfers = case.transfers(&mut uniform(case.seed));
    let setup = |(i, &(start, bytes)): (usize, &(f64, Option<u64>))| {
        let path = &built.flows[i % built.flows.len()];
        FlowSetup {
            name: format!("f{i}"),
            forward: path.forward,
            reverse: path.reverse,
            start: Nanos::from_secs_f64(start),
            stop: Nanos::MAX,
            app: App::Bulk { bytes },
            scheme: scheme.clone(),
            tcp: perigee_tcp::Config::default(),
            notices: None,
            leg: None,
            outside: Default::default(),
        }
    };
    let flows: Vec<FlowSetup> = transfers.iter().enumerate().map(setup).collect();
    let end = if let Kind::Short(_) = case.kind { case.seconds - LAST_ARRIVAL_S } else { case.seconds };
    let mut samples = Samples {
        warm: Nanos::from_secs_f64(case.warm_up_s()),
        until: Nanos::from_secs_f64(end),
        port: built.bottlenecks[0].forward.port.0,
        ..Samples::default()
    };
    let sample = Nanos::from_millis(if case.flows > 1000 { 100 } else { 5 });
    let changes = case.changes(&built);
    let timeline = built.timeline(Nanos::from_secs_f64(case.seconds), changes);
    let options =
        Options { max_hops: 1, sample, seed: Options::default().seed + case.seed, ..Options::default() };
    let mut sim =
        Simulation::new(&timeline.header, Box::new(timeline.reader()), flows, options).expect("a setup");
    let out = sim.run(&mut samples, &mut |_| true).expect("a run");
    (out, samples)
}

fn quantile(sorted: &[f64], p: f64) -> f64 {
    sorted.get(((sorted.len().max(1) - 1) as f64 * p) as usize).copied().unwrap_or(f64::NAN)
}

fn row(case: &Case, out: &RunOutcome, s: &Samples) -> String {
    let ms = |bytes: f64| bytes * 8.0 / (case.mbit * 1e6) * 1e3;
    let mut queue: Vec<f64> = s.queue_bytes.iter().map(|&b| ms(b)).collect();
    queue.sort_by(f64::total_cmp);
    let n = queue.len() as f64;
    let mean = queue.iter().sum::<f64>() / n;
    let sd = (queue.iter().map(|q| (q - mean) * (q - mean)).sum::<f64>() / n).sqrt();
    let drops: u64 = out.links.iter().map(|l| l.dropped.iter().sum::<u64>()).sum();
    let bits: Vec<f64> = s.delivered.iter().map(|d| (d.1 - d.0) as f64 * 8.0).collect();
    let total: f64 = bits.iter().sum();
    let jain = total * total / (bits.len() as f64 * bits.iter().map(|b| b * b).sum::<f64>());
    let goodput = total / (case.seconds - case.warm_up_s()) / (case.mbit * 1e6);
    let late = out.flows.iter().filter(|f| f.started.is_some_and(|t| t >= s.warm));
    let mut times: Vec<f64> = late.filter_map(|f| Some((f.completed? - f.started?).as_secs_f64())).collect();
    times.sort_by(f64::total_cmp);
    let (mean_s, p99_s) = (times.iter().sum::<f64>() / times.len() as f64, quantile(&times, 0.99));
    format!(
        "{goodput:.4},{jain:.4},{mean:.2},{sd:.2},{:.2},{:.2},{mean_s:.4},{p99_s:.3},{drops}",
        quantile(&queue, 0.99),
        s.rtt_p99_ms(),
    )
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [case_text, schemes @ ..] = args.as_slice() else { panic!("CASE SCHEME…") };
    let case = Case::parse(case_text);
    for text in schemes {
        let (out, samples) = run(&case, &scheme(text));
        println!("{case_text},\"{text}\",{}", row(&case, &out, &samples));
    }
}
