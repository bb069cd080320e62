// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Steps a simulation and sends a real frame through it, alongside a simulated flow:
//! `cargo run --release -p perigee-sim --example step_and_inject`.

use perigee_cc::info;
use perigee_sim::*;
use perigee_sources::topology::{chain, ChainSpec};
use perigee_timeline::App;
use perigee_units::Nanos;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let built = chain(&ChainSpec { links: 3, rtt: Nanos::from_millis(60), ..ChainSpec::default() })?;
    let cubic = info("cubic").expect("in the list");
    let load = FlowSetup {
        name: "load".into(),
        forward: built.flows[0].forward,
        reverse: built.flows[0].reverse,
        start: Nanos::ZERO,
        stop: Nanos::MAX,
        app: App::Bulk { bytes: None },
        scheme: Scheme::Builtin(cubic, cubic.params(Default::default())?),
        tcp: perigee_tcp::Config::default(),
        notices: None,
        leg: None,
        outside: Outside::default(),
    };
    let frames = Outside { source: true, destination: true };
    let host = FlowSetup { name: "host".into(), outside: frames, ..load.clone() };
    let timeline = built.timeline(Nanos::from_secs(2), Vec::new());
    let source = Box::new(timeline.reader());
    let mut sim = Simulation::new(&timeline.header, source, vec![load, host], Options::default())?;

    let at = Nanos::from_secs(1);
    let frame = OutsidePacket::frame(Side::Source, at, vec![0x45; 100].into())?;
    sim.advance(at, &mut Silent)?;
    sim.inject(at, EndpointId { flow: 1, side: Side::Source }, frame)?;
    while sim.next_event() < Nanos::from_secs(2) {
        sim.advance(sim.next_event() + Nanos(1), &mut Silent)?;
        for delivery in sim.egress() {
            println!("{:?} after {} in the network", delivery.packet.content, delivery.at - at);
        }
    }
    println!("the flow beside it delivered {} bytes", sim.finish().flows[0].goodput_bytes);
    Ok(())
}
