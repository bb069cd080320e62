// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flows over a chain of ten links, for profiling: `chain LINKS FLOWS COPIES SECONDS CC [RECORD]`.

#![expect(clippy::disallowed_methods, reason = "measures wall-clock time")]

use perigee_cc::info;
use perigee_sim::{FlowRow, FlowSetup, Internals, Observer, Options, Scheme, Simulation};
use perigee_sources::topology::{chain, ChainSpec};
use perigee_timeline::App;
use perigee_timeline::PortSpec;
use perigee_units::{BitRate, Nanos};
use std::time::Instant;

#[derive(Default)]
struct Keep {
    rtts: Vec<(u32, u64)>,
    samples: u64,
}
impl Observer for Keep {
    fn rtt(&mut self, flow: u32, _: Nanos, rtt: Nanos, _: Option<Nanos>) {
        self.rtts.push((flow, rtt.0));
    }
    fn flow(&mut self, _: &FlowRow, _: &Internals) {
        self.samples += 1;
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let n = |i: usize| args[i].parse::<usize>().expect("a number");
    let (links, flows, copies, seconds) = (n(0), n(1), n(2), n(3));
    let rtt = Nanos::from_millis(20);
    let rate = BitRate::from_mbit(100);
    let packets = rate.bytes_in(rtt) / 1500;
    let port = PortSpec { metered: true, ..PortSpec::packets(rate, packets) };
    let built = chain(&ChainSpec { links, copies, rtt, port, ..ChainSpec::default() }).expect("a chain");
    let paths = built.flows.clone();
    let timeline = built.timeline(Nanos::from_secs(seconds as u64), Vec::new());
    let scheme = info(&args[4]).expect("a scheme");
    let setups = (0..flows)
        .map(|i| FlowSetup {
            name: format!("f{i}"),
            forward: paths[i % copies].forward,
            reverse: paths[i % copies].reverse,
            start: Nanos::from_millis(i as u64),
            stop: Nanos::MAX,
            app: App::Bulk { bytes: None },
            scheme: Scheme::Builtin(scheme, scheme.params(Default::default()).expect("defaults")),
            tcp: perigee_tcp::Config::default(),
            notices: None,
            leg: None,
            outside: Default::default(),
        })
        .collect();
    let mut keep = Keep::default();
    let begin = Instant::now();
    let options = Options { max_hops: links.min(14), ..Options::default() };
    let mut sim =
        Simulation::new(&timeline.header, Box::new(timeline.reader()), setups, options).expect("a setup");
    let out = sim.run(&mut keep, &mut |_| true).expect("a run");
    let wall = begin.elapsed().as_secs_f64();
    let hops = out.packet_hops.unwrap_or(0) as f64;
    println!(
        "{} links {links} flows {flows} copies {copies}: {:.2} M packet-hops/s  {:.1} ns/hop  {:.2} events/hop  conserved {} goodput {:.2}",
        args[4],
        hops * 1e-6 / wall,
        wall * 1e9 / hops,
        out.events.unwrap_or(0) as f64 / hops,
        out.conserved == Some(true),
        out.flows.iter().map(|f| f.goodput_bytes).sum::<u64>() as f64 * 8e-6 / seconds as f64,
    );
}
