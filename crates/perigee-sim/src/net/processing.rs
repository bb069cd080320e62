// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Processing delay of hosts: each packet leaves its host after a random delay; the order within
//! its flow is kept.
//!
//! A deterministic drop-tail network locks phases: among flows with a common period it is always
//! the same ones that find the queue full. A random processing time of up to one packet's service
//! time at the bottleneck breaks the lock (Floyd and Jacobson, "On traffic phase effects in
//! packet-switched gateways", Internetworking: Research and Experience 3, 1992, section 3.3).

use crate::packet::Packet;
use perigee_units::draw::mix;
use perigee_units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Packets between the transport and the first link of their route.
#[derive(Clone, Debug, Default)]
pub(crate) struct Processing {
    /// Maximum of the delays, which are uniform from zero; zero = off.
    longest: Nanos,
    seed: u64,
    /// Latest release of each flow, for the data and the return direction.
    latest: Vec<[Nanos; 2]>,
    /// Release time, arrival number and packet.
    held: BinaryHeap<Reverse<(Nanos, u64, u32)>>,
    arrivals: u64,
}

impl Processing {
    /// Delays of up to `longest` for this number of flows.
    pub fn new(longest: Nanos, seed: u64, flows: usize) -> Self {
        let latest = if longest > Nanos::ZERO { vec![[Nanos::ZERO; 2]; flows] } else { Vec::new() };
        Processing { longest, seed, latest, ..Processing::default() }
    }

    /// Whether packets are delayed.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.longest > Nanos::ZERO
    }

    /// Holds a packet that its transport sends at `now`. The draw depends only on the flow's key,
    /// the direction and the packet's number, so that other flows have no influence on it.
    pub fn hold(&mut self, now: Nanos, h: u32, packet: &Packet, flow_key: u64) {
        let back = usize::from(!packet.kind.is_forward());
        let bits = mix(mix(self.seed ^ flow_key) ^ (u64::from(packet.ordinal) << 1 | back as u64));
        let delay = Nanos(((u128::from(bits) * u128::from(self.longest.0)) >> 64) as u64);
        let latest = &mut self.latest[packet.flow as usize][back];
        *latest = (now + delay).max(*latest);
        self.arrivals += 1;
        self.held.push(Reverse((*latest, self.arrivals, h)));
    }

    /// Time at which the next packet leaves its host.
    pub fn next(&self) -> Nanos {
        self.held.peek().map_or(Nanos::MAX, |Reverse((at, ..))| *at)
    }

    /// Removes the next packet that leaves by `now`.
    pub fn pop(&mut self, now: Nanos) -> Option<u32> {
        if self.next() > now {
            return None;
        }
        self.held.pop().map(|Reverse((_, _, h))| h)
    }

    /// Packets still at their hosts.
    pub fn held(&self) -> impl Iterator<Item = u32> + '_ {
        self.held.iter().map(|Reverse((_, _, h))| *h)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::NONE;
    use perigee_record::PacketKind;

    fn packet(flow: u32, ordinal: u32, kind: PacketKind) -> Packet {
        Packet {
            enqueued: Nanos::ZERO,
            sent: Nanos::ZERO,
            seq: 0,
            flow,
            route: 0,
            link: NONE,
            ordinal,
            content: NONE,
            telemetry: NONE,
            echo_ms: 0,
            lead: 0,
            ip_bytes: 1500,
            kind,
            hops: 0,
            push: false,
        }
    }

    /// Release times of a burst of `n` data packets of flow 0 at time zero.
    fn burst(p: &mut Processing, n: u32) -> Vec<(Nanos, u32)> {
        (0..n).for_each(|i| p.hold(Nanos::ZERO, i, &packet(0, i + 1, PacketKind::Data), 7));
        std::iter::from_fn(|| Some((p.next(), p.pop(Nanos::MAX)?))).collect()
    }

    #[test]
    fn a_burst_keeps_its_order_and_no_packet_waits_longer_than_the_bound() {
        let longest = Nanos::from_micros(120);
        let released = burst(&mut Processing::new(longest, 1, 1), 100);
        assert!(released.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 < w[1].1), "{released:?}");
        assert!(released.last().unwrap().0 < longest);
        assert!(released[0].0 > Nanos::ZERO);
    }

    #[test]
    fn lone_packets_are_delayed_by_half_of_the_bound_on_average() {
        let (longest, n) = (Nanos::from_micros(100), 10_000);
        let mut p = Processing::new(longest, 1, 1);
        let sum: u64 = (0..n)
            .map(|i| {
                let now = Nanos::from_millis(i);
                p.hold(now, 0, &packet(0, i as u32 + 1, PacketKind::Data), 7);
                let at = p.next();
                p.pop(at).unwrap();
                (at - now).0
            })
            .sum();
        assert!((sum as f64 / n as f64 / 50_000.0 - 1.0).abs() < 0.02, "{sum}");
    }

    #[test]
    fn another_flow_changes_no_delay_and_another_seed_does() {
        let longest = Nanos::from_micros(120);
        let alone = burst(&mut Processing::new(longest, 1, 2), 5);
        let mut shared = Processing::new(longest, 1, 2);
        shared.hold(Nanos::ZERO, 900, &packet(1, 1, PacketKind::Data), 8);
        let beside: Vec<_> = burst(&mut shared, 5).into_iter().filter(|(_, h)| *h != 900).collect();
        assert_eq!(alone, beside);
        assert_ne!(alone, burst(&mut Processing::new(longest, 2, 2), 5));
    }
}
