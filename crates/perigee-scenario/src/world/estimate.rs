// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cost of a run, estimated before it starts.

use crate::file::sources::Source;
use crate::world::assembly::{FlowPlan, World};
use perigee_timeline::{App, Change, ChunkSource};
use perigee_units::Nanos;
use serde::Serialize;
use std::collections::HashMap;

/// Packet-hops per second of one core; the benchmark (`perigee bench`) measures it on a given
/// machine.
const PACKET_HOPS_PER_S: f64 = 10e6;
/// Bytes of a full packet.
const PACKET_BYTES: f64 = 1500.0;
/// An ACK for every second packet, on the return path.
const ACKS_PER_PACKET: f64 = 0.5;
/// Changing rates are averaged over this part of the run.
const LOOKED_AT: Nanos = Nanos::from_secs(600);
/// Runs above this are rejected: about four months of one core.
pub const MAX_PACKET_HOPS: f64 = 1e14;

/// Rough estimate of a run's cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Link crossings of all packets.
    pub packet_hops: f64,
    /// Seconds of one core, with simulated hosts.
    pub cpu_s: f64,
    /// Packets of TCP flows, in both directions.
    pub tcp_packets: f64,
}

/// Assumes that TCP flows share the slowest port of their route evenly and keep it busy, and that
/// the packets of other flows are limited by its rate.
pub fn estimate(world: &World) -> Estimate {
    let rate = slowest_rate(world);
    let mut sharing: HashMap<(&str, &str), f64> = HashMap::new();
    for f in world.flows.iter().filter(|f| f.app().is_tcp()) {
        *sharing.entry((&f.pair.from, &f.pair.to)).or_default() += 1.0;
    }
    let users =
        |f: &FlowPlan| sharing.get(&(f.pair.from.as_str(), f.pair.to.as_str())).copied().unwrap_or(1.0);
    let packet_hops = world.flows.iter().map(|f| packets(f, rate, users(f)) * f.hops as f64);
    let packet_hops = packet_hops.fold(0.0, |sum, hops| sum + hops);
    let tcp = world.flows.iter().filter(|f| f.app().is_tcp());
    let tcp_packets = tcp.map(|f| packets(f, rate, users(f))).fold(0.0, |sum, packets| sum + packets);
    Estimate { packet_hops, cpu_s: packet_hops / PACKET_HOPS_PER_S, tcp_packets }
}

/// Packets of a flow in both directions, with `users` flows on its path.
fn packets(f: &FlowPlan, rate: f64, users: f64) -> f64 {
    let life = f.stop.saturating_sub(f.start).as_secs_f64();
    match f.app() {
        App::Ping { interval, .. } => 2.0 * life / interval.as_secs_f64(),
        App::Cbr { interval, size } => {
            let most = rate / 8.0 / f64::from(size) * life;
            (life / interval.as_secs_f64()).min(most)
        }
        App::Voice(v) => {
            let talking = v.talk.mean() / (v.talk.mean() + v.silence.mean());
            life * talking / v.interval.as_secs_f64()
        }
        _ => {
            let most = rate / users / 8.0 / PACKET_BYTES * life;
            let packets = f.bytes().map_or(most, |bytes| most.min(bytes as f64 / PACKET_BYTES));
            packets * (1.0 + ACKS_PER_PACKET)
        }
    }
}

/// Rate of the slowest port in bit/s, averaged over the run if it changes: small networks have one
/// bottleneck, skies a common rate of all radios.
fn slowest_rate(world: &World) -> f64 {
    let resolved = world.ports.iter().map(|p| p.rate_bps as f64).fold(f64::INFINITY, f64::min);
    let rate = match world.scenario.source {
        Source::Constellation(_) => resolved,
        _ => mean_rates(world).into_iter().fold(f64::INFINITY, f64::min),
    };
    if rate.is_finite() {
        rate
    } else {
        0.0
    }
}

/// Mean rates of the ports, over the first part of the run.
fn mean_rates(world: &World) -> Vec<f64> {
    let end = world.header.duration.min(LOOKED_AT);
    let mut now: Vec<(f64, Nanos)> =
        world.header.ports.iter().map(|p| (p.spec.rate.0 as f64, Nanos::ZERO)).collect();
    let mut bits = vec![0.0; now.len()];
    let mut reader = world.timeline.reader();
    // Errors of the timeline are reported by the run.
    while let Ok(Some(chunk)) = reader.next_chunk() {
        if chunk.start >= end {
            break;
        }
        for t in chunk.changes.iter().filter(|t| t.at <= end) {
            let Change::Rate(port, rate) = &t.change else { continue };
            if let Some((old, since)) = now.get_mut(port.ix()) {
                bits[port.ix()] += *old * (t.at - *since).as_secs_f64();
                (*old, *since) = (rate.0 as f64, t.at);
            }
        }
    }
    let mean = |(bits, (rate, since)): (f64, (f64, Nanos))| {
        let seconds = end.as_secs_f64();
        if seconds > 0.0 {
            (bits + rate * end.saturating_sub(since).as_secs_f64()) / seconds
        } else {
            rate
        }
    };
    bits.into_iter().zip(now).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::scenario::Scenario;
    use std::path::Path;
    use std::sync::Arc;

    fn hops(text: &str) -> f64 {
        let text = format!("[run]\nduration = \"10 s\"\n{text}");
        let scenario = Scenario::parse(&text, "test", Path::new(""), &[]).unwrap();
        estimate(&World::build(Arc::new(scenario), 1).unwrap()).packet_hops
    }

    const CHAIN: &str = "[source.chain]\nlinks = 2\n[port.all]\nrate = \"12 Mbit\"\n";

    #[test]
    fn datagrams_and_probes_cost_what_they_send() {
        // 6 Mbit/s are 500 packets a second, over two links.
        let cbr = format!("{CHAIN}[[flow]]\napp = \"cbr\"\nrate = \"6 Mbit\"\n");
        assert_eq!(hops(&cbr), 10_000.0);
        let ping = format!("{CHAIN}[[flow]]\napp = \"ping\"\ninterval = \"10 ms\"\n");
        assert_eq!(hops(&ping), 4_000.0);
    }

    #[test]
    fn a_rate_that_changes_counts_with_its_mean() {
        // 12 Mbit/s for 5 s, then 6: 9 on average, which is 750 packets per second, and half as
        // many ACKs.
        let change = "[[change]]\nat = \"5 s\"\nrate = \"6 Mbit\"\n";
        let found = hops(&format!("{CHAIN}{change}[[flow]]\ncc = \"cubic\"\n"));
        assert!((found - 7_500.0 * 1.5 * 2.0).abs() < 1.0, "{found}");
    }
}
