// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a run will cost, before it is begun.

use crate::build::world::World;
use serde::Serialize;
use std::collections::HashMap;

/// Packet-hops that one core does in a second; the benchmark (`perigee bench`) prints what it is here.
const PACKET_HOPS_PER_S: f64 = 10e6;
/// Bytes of a full packet.
const PACKET_BYTES: f64 = 1500.0;
/// An ACK for every second packet, on the way back.
const ACKS_PER_PACKET: f64 = 0.5;
/// More than this is refused: about four months of one core.
pub const MAX_PACKET_HOPS: f64 = 1e14;

/// A rough guess.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Link crossings of all packets.
    pub packet_hops: f64,
    /// Seconds of one core.
    pub cpu_s: f64,
}

/// Assumes that flows share the slowest port of their route evenly and keep it busy.
pub fn estimate(world: &World) -> Estimate {
    let rate = slowest_rate(world);
    let mut sharing: HashMap<(&str, &str), f64> = HashMap::new();
    let bulk: Vec<_> = world.flows.iter().filter(|f| f.app().is_tcp()).collect();
    for f in &bulk {
        *sharing.entry((&f.pair.from, &f.pair.to)).or_default() += 1.0;
    }
    let hops = |f: &&crate::build::world::FlowPlan| {
        let share = rate / sharing[&(f.pair.from.as_str(), f.pair.to.as_str())];
        let life = f.stop.saturating_sub(f.start).as_secs_f64();
        let packets = match f.bytes() {
            Some(bytes) => (bytes as f64 / PACKET_BYTES).min(share / 8.0 / PACKET_BYTES * life),
            None => share / 8.0 / PACKET_BYTES * life,
        };
        packets * f.hops as f64 * (1.0 + ACKS_PER_PACKET)
    };
    let packet_hops = bulk.iter().map(hops).sum();
    Estimate { packet_hops, cpu_s: packet_hops / PACKET_HOPS_PER_S }
}

/// Rate of the slowest class of ports: small networks have one bottleneck rate, skies a ground rate.
fn slowest_rate(world: &World) -> f64 {
    world.ports.iter().map(|p| p.rate_bps).min().unwrap_or(0) as f64
}
