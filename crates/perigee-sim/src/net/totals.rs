// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Link totals and packets in flight at the end.

use super::beam::Beam;
use super::{Net, PortState};
use crate::observe::{FlowTableTotals, LinkTotals};
use crate::packet::NONE;
use perigee_units::{BitRate, Nanos};

impl Net {
    /// Adds packets still in flight to the totals of each link and flow.
    pub fn count_under_way(&mut self, end: Nanos, per_flow: &mut [u64]) {
        for p in 0..self.ports.len() as u32 {
            self.advance(p, end);
            self.leave_fast_path(p, end + Nanos(1));
        }
        let mut found = Vec::new();
        for port in &self.ports {
            found.extend(port.waiting.iter().chain(port.probes.iter()).map(|w| w.packet));
            found.extend(port.waiting_apart());
            found.extend((port.serving != NONE).then_some(port.serving)); // not predictable: see above
        }
        for link in &self.links {
            found.extend(link.flight.iter().map(|f| f.packet));
        }
        for h in self.processing.held() {
            per_flow[self.packets.get(h).flow as usize] += 1;
        }
        for h in found {
            let packet = self.packets.get(h);
            self.links[packet.link as usize].under_way += 1;
            per_flow[packet.flow as usize] += 1;
        }
    }

    /// Totals of a link at `now`, up to which its port has advanced.
    pub fn totals(&self, link: u32, now: Nanos) -> LinkTotals {
        let l = &self.links[link as usize];
        let port = &self.ports[l.port as usize];
        let serving = match port.predictable {
            true if port.done > now && self.serves(l.port, link) => port.in_service as u64,
            _ => 0,
        };
        LinkTotals {
            entered: l.entered,
            crossed: l.crossed,
            dropped: l.dropped,
            marked: l.marked,
            under_way: l.under_way,
            tx_packets: l.tx_packets - u64::from(serving > 0),
            tx_bytes: l.tx_bytes - serving,
            wait_ns: l.wait_ns,
            waited: l.tx_packets,
        }
    }

    /// Bounded flow tables of ports of the nodes that `here` selects.
    pub fn flow_tables(&self, here: impl Fn(u32) -> bool) -> Vec<FlowTableTotals> {
        let ports = self.ports.iter().enumerate().filter(|(_, port)| here(port.node));
        let of = |(p, port): (usize, &PortState)| {
            let table = port.laws.as_ref()?.records.flow_table()?;
            let (evictions, evictions_in_use) = (table.evictions(), table.evictions_in_use());
            Some(FlowTableTotals { port: p as u32, entries: table.entries(), evictions, evictions_in_use })
        };
        ports.filter_map(of).collect()
    }

    /// Bytes (with framing) and packets waiting at a port at `now`, up to which it has advanced.
    pub fn queued(&self, p: u32, now: Nanos) -> (u64, u64) {
        let port = &self.ports[p as usize];
        if let Some(load) = &port.load {
            return (load.at(now).0, port.packets);
        }
        let serving = match port.serving {
            NONE => 0,
            _ if port.predictable => 0,
            h => u32::from(self.packets.get(h).ip_bytes) + port.framing,
        };
        port.queued(now, serving)
    }
    /// Background bytes that a port has carried by `now`; 0 = it has none.
    pub fn background_bytes(&self, p: u32, now: Nanos) -> u64 {
        let port = &self.ports[p as usize];
        port.load.as_ref().map_or(0, |load| load.at(now).1 as u64)
    }
    /// Carrier that a port shares with other terminals, if it does. The port has been advanced.
    pub fn beam(&self, p: u32) -> Option<&Beam> {
        self.ports[p as usize].slots.as_ref().and_then(|s| s.beam())
    }
    /// Total wait of the packets that have left a port, and their number.
    pub fn waits(&self, p: u32) -> (u128, u64) {
        let port = &self.ports[p as usize];
        let links = std::iter::once(port.link).filter(|l| *l != NONE).chain(port.others.iter().copied());
        links.map(|l| &self.links[l as usize]).fold((0, 0), |(ns, n), l| (ns + l.wait_ns, n + l.tx_packets))
    }
    /// Whether a link is the first one of its port.
    pub fn is_first_of_port(&self, link: u32) -> bool {
        self.ports[self.links[link as usize].port as usize].link == link
    }
    /// Whether packets entered, crossed or were dropped at a link since the previous call.
    pub fn take_activity(&mut self, link: u32) -> bool {
        let l = &mut self.links[link as usize];
        let seen = l.entered + l.crossed + l.dropped.iter().sum::<u64>();
        std::mem::replace(&mut l.seen, seen) != seen
    }
    /// Bytes of framing added by a link's port.
    pub fn framing(&self, link: u32) -> u32 {
        self.ports[self.links[link as usize].port as usize].framing
    }
    /// Depth of the token bucket of a link's port, in bytes.
    pub fn burst(&self, link: u32) -> u64 {
        let bucket = &self.ports[self.links[link as usize].port as usize].bucket;
        bucket.as_ref().map_or(0, |b| b.burst)
    }
    /// Rate of a link's port.
    pub fn rate(&self, link: u32) -> BitRate {
        self.ports[self.links[link as usize].port as usize].rate
    }
}
