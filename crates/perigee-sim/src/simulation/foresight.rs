// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What will certainly reach ends outside, so that hosts there may run ahead of the network: packets on their last link
//! arrive whatever is sent from now on, and what is sent from now on has that link before it.

use super::Simulation;
use crate::host::Endpoint;
use crate::net::aqm::CE;
use crate::outside::{EndpointId, Side};
use crate::packet::{Kind, Packet};
use crate::routes::Next;
use perigee_units::Nanos;

/// A frame on its last link to an end outside.
#[derive(Clone, Copy, Debug)]
pub struct Foreseen<'a> {
    /// When it arrives.
    pub at: Nanos,
    /// Where.
    pub endpoint: EndpointId,
    /// It carries a congestion mark (ECN).
    pub marked: bool,
    /// Its bytes.
    pub bytes: &'a [u8],
}

impl Simulation<'_> {
    /// Shows every frame that reaches an end outside at `since` or later and before the instant that is returned, in order of
    /// time, if nothing is injected before `from`. Before that instant nothing else reaches an end outside; it is `from` or
    /// the next event at least.
    pub fn foresee(&mut self, since: Nanos, from: Nanos, show: &mut dyn FnMut(Foreseen<'_>)) -> Nanos {
        self.find_last_links();
        // What has left a port is on its way, also where nobody has looked since.
        let before = Nanos(self.reached().0.saturating_sub(1));
        for i in 0..self.last_links.len() {
            let port = self.net.links[self.last_links[i] as usize].port;
            self.net.advance(port, before);
        }
        let from = from.min(self.next_event());
        let next_change = self.net.schedule.next_change().max(from);
        let entering = self.last_links.iter().map(|&l| self.net.earliest_arrival(l, from));
        let certain = entering.min().unwrap_or(Nanos::MAX).min(next_change).min(self.end());
        let mut arriving: Vec<(Nanos, u32)> = Vec::new();
        for &link in &self.last_links {
            let flight = self.net.in_flight(link).skip_while(|f| f.arrival < since);
            arriving.extend(flight.take_while(|f| f.arrival < certain).map(|f| (f.arrival, f.packet)));
        }
        arriving.sort_by_key(|(at, _)| *at);
        for (at, handle) in arriving {
            let packet = self.net.packets.get(handle);
            if let Some(endpoint) = self.arrives_outside(packet) {
                let bytes = self.net.frames.get(packet.content);
                show(Foreseen { at, endpoint, marked: packet.ordinal & CE != 0, bytes });
            }
        }
        certain
    }

    /// The end outside that a frame on one of the last links reaches.
    fn arrives_outside(&self, packet: &Packet) -> Option<EndpointId> {
        let side = match packet.kind {
            Kind::Frame => Side::Destination,
            Kind::FrameBack => Side::Source,
            _ => return None,
        };
        let node = self.net.links[packet.link as usize].to;
        let here = matches!(self.routes.next(packet.route, node), Next::Arrived);
        let endpoint = EndpointId { flow: packet.flow, side };
        (here && self.is_outside(endpoint)).then_some(endpoint)
    }

    fn is_outside(&self, end: EndpointId) -> bool {
        let flow = &self.flows[end.flow as usize];
        let endpoint = match end.side {
            Side::Source => &flow.source,
            Side::Destination => &flow.destination,
        };
        matches!(endpoint, Endpoint::Outside)
    }

    /// Links that lead to ends outside. New ones appear as time goes on.
    fn find_last_links(&mut self) {
        if self.links_looked_at == self.net.links.len() {
            return;
        }
        let ends = (0u32..).zip(&self.flows).flat_map(|(flow, f)| {
            let end = |side, pair| (EndpointId { flow, side }, pair);
            [end(Side::Source, f.setup.reverse), end(Side::Destination, f.setup.forward)]
        });
        let mut nodes: Vec<u32> =
            ends.filter(|(end, _)| self.is_outside(*end)).map(|(_, pair)| self.routes.end_of(pair)).collect();
        nodes.sort_unstable();
        let leads_there = |&link: &u32| nodes.binary_search(&self.net.links[link as usize].to).is_ok();
        self.last_links = (0..self.net.links.len() as u32).filter(leads_there).collect();
        self.links_looked_at = self.net.links.len();
    }
}
