// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Simulation of one flow over one bottleneck, with one line of results per scheme: a minimal
//! program that uses the simulator as a library.
//!
//! ```sh
//! # RATE_MBIT RTT_MS QUEUE_BYTES FRAMING_BYTES SECONDS CC...
//! cargo run --release -p perigee-sim --example dumbbell -- 100 50 625000 14 60 cubic bbr
//! ```
//!
//! Environment variables: `LOSS` is the probability of random loss (default 0); `EVENTS`, if set,
//! prints all events and samples.

#![expect(clippy::disallowed_methods, reason = "measures wall-clock time")]

use perigee_cc::info;
use perigee_sim::{FlowRow, FlowSetup, Internals, LinkRow, Observer, Options, Scheme, Simulation};
use perigee_sources::topology::{dumbbell, DumbbellSpec};
use perigee_timeline::PortSpec;
use perigee_timeline::{App, Queue, QueueLimit};
use perigee_units::{BitRate, Nanos};
use std::time::Instant;

/// Sums for the means after the warm-up.
#[derive(Default)]
struct Means {
    /// Sum of the RTT samples.
    rtt_ms: f64,
    /// Number of RTT samples.
    samples: u64,
    /// Whether to print events.
    events: bool,
    /// Payload bytes delivered by the end of the warm-up, and in total.
    delivered: (u64, u64),
    /// Samples of the bottleneck's queue, in bytes.
    queue: Vec<u64>,
    /// End of the warm-up.
    warm: Nanos,
    /// Bottleneck port.
    port: u32,
}

impl Observer for Means {
    fn rtt(&mut self, _: u32, sent: Nanos, rtt: Nanos, _: Option<Nanos>) {
        if sent >= self.warm {
            self.rtt_ms += rtt.as_millis_f64();
            self.samples += 1;
        }
    }
    fn flow(&mut self, s: &FlowRow, internals: &Internals) {
        if s.t_ns <= self.warm.0 {
            self.delivered.0 = s.delivered_bytes;
        }
        self.delivered.1 = s.delivered_bytes;
        if self.events {
            println!(
                "{:.1} cwnd {} ssthresh {:?} inflight {} srtt {:?} retrans {} {} {} {:?}",
                s.t_ns as f64 * 1e-9,
                s.cwnd_bytes.unwrap_or(0) / 1448,
                s.ssthresh_bytes.map(|x| x / 1448),
                s.in_flight_bytes.unwrap_or(0) / 1448,
                s.srtt_ns.map(Nanos),
                s.retransmits,
                s.ca_state,
                s.mode,
                internals
            );
        }
    }
    fn link(&mut self, s: &LinkRow) {
        if s.port == self.port && s.t_ns > self.warm.0 {
            self.queue.push(s.queue_bytes);
        }
    }
    fn event(&mut self, at: Nanos, e: &perigee_sim::SimEvent<'_>) {
        if self.events {
            println!("{:.4} {e:?}", at.as_secs_f64());
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let usage = "usage: dumbbell RATE_MBIT RTT_MS QUEUE_BYTES FRAMING_BYTES SECONDS CC...";
    assert!(args.len() > 5, "{usage}");
    let number = |i: usize| args[i].parse::<f64>().expect(usage);
    let rate = BitRate((number(0) * 1e6) as u64);
    let rtt = Nanos::from_secs_f64(number(1) / 1e3);
    let port = PortSpec {
        rate,
        queue: Queue::drop_tail(QueueLimit::Bytes(number(2) as u64)),
        framing: number(3) as u32,
        burst: 0,
        dama: None,
        carrier: None,
        metered: true,
        telemetry_faults: None,
    };
    let duration = Nanos::from_secs_f64(number(4));
    for cc in &args[5..] {
        let mut spec = DumbbellSpec::linux_reference(port.clone(), vec![rtt]);
        spec.access.metered = true;
        spec.loss = std::env::var("LOSS").map_or(0.0, |p| p.parse().expect("LOSS is a probability"));
        let built = dumbbell(&spec).expect("a valid dumbbell");
        let path = built.flows[0].clone();
        let port = built.bottlenecks[0].forward.port.0;
        let link = built.bottlenecks[0].forward.link.ix();
        let timeline = built.timeline(duration, Vec::new());
        let scheme = info(cc).unwrap_or_else(|| panic!("unknown scheme {cc}"));
        let flow = FlowSetup {
            name: "f".into(),
            forward: path.forward,
            reverse: path.reverse,
            start: Nanos::ZERO,
            stop: Nanos::MAX,
            app: App::Bulk { bytes: None },
            scheme: Scheme::Builtin(scheme, scheme.params(Default::default()).expect("defaults are valid")),
            tcp: perigee_tcp::Config::default(),
            notices: None,
            leg: None,
            outside: Default::default(),
        };
        let mut obs = Means {
            events: std::env::var("EVENTS").is_ok(),
            warm: Nanos::from_secs(5).min(duration / 4),
            port,
            ..Means::default()
        };
        let begin = Instant::now();
        let mut sim =
            Simulation::new(&timeline.header, Box::new(timeline.reader()), vec![flow], Options::default())
                .expect("a valid setup");
        let out = sim.run(&mut obs, &mut |_| true).expect("the run completes");
        let wall = begin.elapsed().as_secs_f64();
        let f = &out.flows[0];
        let l = &out.links[link];
        let seconds = duration.as_secs_f64();
        println!(
            "{cc:12} goodput {:.3} (after warm-up {:.3}) Mbit/s  rtt {:.2} ms  queue {:.0} B wait {:.2} ms  drops {:?} retrans {} rto {} undo {} rec {}  conserved {}  {:.1} M hops/s  {:.0} ns/event",
            f.goodput_bytes as f64 * 8e-6 / seconds,
            (obs.delivered.1 - obs.delivered.0) as f64 * 8e-6 / (duration - obs.warm).as_secs_f64(),
            obs.rtt_ms / obs.samples as f64,
            obs.queue.iter().sum::<u64>() as f64 / obs.queue.len() as f64,
            l.wait_ns as f64 * 1e-6 / l.waited as f64,
            l.dropped,
            f.retrans,
            f.timeouts,
            f.undos.unwrap_or(0),
            f.recoveries.unwrap_or(0),
            out.conserved == Some(true),
            out.packet_hops.unwrap_or(0) as f64 / wall * 1e-6,
            wall * 1e9 / out.events.unwrap_or(0) as f64,
        );
    }
}
