// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Conservation of packets over many randomly drawn networks: chains, dumbbells and parking lots
//! with losses, outages, lost routes, changes of rate and delay, reordering, every queue
//! discipline, every congestion control and every application. Each network is stepped to three
//! instants, at which no link may have forwarded more packets than it received, and to the end,
//! where the counters of links and flows must balance to the packet and agree with each other. The
//! first violation ends the program.
//!
//! `cargo run --release -p perigee-sim --example conservation -- PACKETS [SEED]`

mod networks;

use networks::{Draws, Network};
use perigee_sim::*;
use perigee_timeline::LinkId;
use perigee_units::Nanos;

/// Approximate maximum of data packets that one network carries.
const PACKETS_PER_NETWORK: f64 = 400_000.0;

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<u64>().expect("a whole number"));
    let wanted = args.next().unwrap_or(10_000_000);
    let mut draws = Draws { seed: args.next().unwrap_or(1), n: 0 };
    let mut counted = Counts::default();
    let mut shown = 0;
    while counted.sent < wanted {
        let network = Network::draw(&mut draws, PACKETS_PER_NETWORK);
        counted.add(&run(&network));
        if counted.sent >= shown + wanted / 20 {
            shown = counted.sent;
            eprintln!("{} networks, {:.0} million packets", counted.networks, shown as f64 / 1e6);
        }
    }
    println!("{counted}");
}

fn run(network: &Network) -> Counts {
    let header = &network.timeline.header;
    let options = Options {
        seed: network.seed,
        sample: Nanos::from_millis(500),
        lookahead: network.lookahead,
        ..Options::default()
    };
    let source = Box::new(network.timeline.reader());
    let mut sim = Simulation::new(header, source, network.flows.clone(), options).expect("a setup");
    for instant in network.instants {
        sim.advance(instant, &mut Silent).expect("a step");
        for link in 0..header.links.len() as u32 {
            link_is_possible(&sim.link_totals(LinkId(link)).expect("a link"));
        }
    }
    sim.advance(header.duration + Nanos(1), &mut Silent).expect("the rest");
    let out = sim.finish();
    assert_eq!(out.conserved, Some(true), "the simulator's own check");
    out.links.iter().for_each(link_balances);
    out.flows.iter().for_each(flow_balances);
    ends_and_links_agree(&out);
    Counts::of(network, &out)
}

/// Consistency of a link's counters while it runs, when packets in flight are not counted.
fn link_is_possible(l: &LinkTotals) {
    let gone = l.crossed + l.dropped.iter().sum::<u64>();
    assert!(gone <= l.entered && l.crossed <= l.tx_packets && l.tx_packets <= l.entered, "{l:?}");
}

fn link_balances(l: &LinkTotals) {
    assert_eq!(l.entered, l.crossed + l.dropped.iter().sum::<u64>() + l.under_way, "{l:?}");
}

fn flow_balances(f: &FlowTotals) {
    assert_eq!(f.sent, f.delivered + f.dropped.iter().sum::<u64>() + f.under_way, "{f:?}");
}

/// Flows lose or have in flight as many packets as links drop or hold; each packet that crosses a
/// link is either delivered or enters the next link.
fn ends_and_links_agree(out: &RunOutcome) {
    let flows = |of: fn(&FlowTotals) -> u64| out.flows.iter().map(of).sum::<u64>();
    let links = |of: fn(&LinkTotals) -> u64| out.links.iter().map(of).sum::<u64>();
    for cause in [DropCause::Queue, DropCause::Random, DropCause::Outage] {
        let lost = out.flows.iter().map(|f| f.dropped[cause as usize]).sum::<u64>();
        assert_eq!(lost, out.links.iter().map(|l| l.dropped[cause as usize]).sum::<u64>(), "{cause:?}");
    }
    assert_eq!(flows(|f| f.under_way), links(|l| l.under_way), "under way");
    let no_route = flows(|f| f.dropped[DropCause::NoRoute as usize]);
    assert_eq!(
        links(|l| l.entered) + no_route + flows(|f| f.delivered),
        flows(|f| f.sent) + links(|l| l.crossed),
        "hops"
    );
}

/// Sums over networks.
#[derive(Default)]
struct Counts {
    networks: u64,
    shapes: std::collections::BTreeMap<&'static str, u64>,
    flows: u64,
    simulated: Nanos,
    sent: u64,
    delivered: u64,
    dropped: [u64; CAUSES],
    under_way: u64,
    hops: u64,
    marked: u64,
}

impl Counts {
    fn of(network: &Network, out: &RunOutcome) -> Counts {
        let mut c = Counts {
            networks: 1,
            shapes: [(network.shape, 1)].into(),
            flows: out.flows.len() as u64,
            simulated: out.end,
            hops: out.packet_hops.unwrap_or(0),
            marked: out.links.iter().map(|l| l.marked).sum(),
            ..Counts::default()
        };
        for f in &out.flows {
            c.sent += f.sent;
            c.delivered += f.delivered;
            c.under_way += f.under_way;
            (0..CAUSES).for_each(|i| c.dropped[i] += f.dropped[i]);
        }
        c
    }

    fn add(&mut self, other: &Counts) {
        self.networks += other.networks;
        other.shapes.iter().for_each(|(shape, n)| *self.shapes.entry(shape).or_default() += n);
        self.flows += other.flows;
        self.simulated += other.simulated;
        self.sent += other.sent;
        self.delivered += other.delivered;
        self.under_way += other.under_way;
        self.hops += other.hops;
        self.marked += other.marked;
        (0..CAUSES).for_each(|i| self.dropped[i] += other.dropped[i]);
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "| | |\n| --- | ---: |\n| networks | {} |", self.networks)?;
        for (shape, n) in &self.shapes {
            writeln!(f, "| … {shape} | {n} |")?;
        }
        writeln!(f, "| flows | {} |", self.flows)?;
        writeln!(f, "| simulated seconds | {:.0} |", self.simulated.as_secs_f64())?;
        writeln!(f, "| packets sent | {} |", self.sent)?;
        writeln!(f, "| … delivered | {} |", self.delivered)?;
        for (name, n) in CAUSE_NAMES.iter().zip(self.dropped) {
            writeln!(f, "| … dropped: {name} | {n} |")?;
        }
        writeln!(f, "| … under way at the end | {} |", self.under_way)?;
        writeln!(f, "| packets marked | {} |", self.marked)?;
        write!(f, "| packet-hops | {} |", self.hops)
    }
}
