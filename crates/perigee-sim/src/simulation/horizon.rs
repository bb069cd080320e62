// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arrivals at external endpoints that are final, so that hosts there may run ahead of the network.
//! Packets on their last link arrive regardless of later transmissions, which are queued after
//! them. So do packets on the link before it, if the last link carries only packets that arrive
//! over that link.

use super::Simulation;
use crate::external_endpoint::{EndpointId, Side};
use crate::packet::CE;
use crate::packet::{Packet, TelemetryStack, NONE};
use crate::routes::Next;
use perigee_record::PacketKind;
use perigee_units::Nanos;

/// A frame on its last link to an external endpoint.
#[derive(Clone, Debug)]
pub struct Foreseen<'a> {
    /// Time at which it arrives.
    pub at: Nanos,
    /// Endpoint at which it arrives.
    pub endpoint: EndpointId,
    /// Congestion experienced (ECN).
    pub marked: bool,
    /// Bytes of the frame.
    pub bytes: &'a [u8],
    /// Telemetry written by the ports it passed.
    pub telemetry: Option<TelemetryStack>,
}

/// With a last link of this delay hosts can run far enough ahead, so that the link before it need
/// not be examined.
const LONG: Nanos = Nanos::from_millis(1);

/// A packet that will reach the far end of a link.
#[derive(Clone, Copy)]
struct Coming {
    at: Nanos,
    packet: u32,
    /// Routing state on arrival.
    route: u32,
    link: u32,
}

/// Known future arrivals at the far end of a link, and the instant before which there are no
/// others.
struct LinkArrivals {
    known: Vec<Coming>,
    until: Nanos,
}

impl Simulation<'_> {
    /// Passes to `show`, in order of time, every frame that reaches an external endpoint from
    /// `since` until the returned instant (exclusive), provided that no packet is injected before
    /// `from`. No other packet reaches an external endpoint before that instant, which is at least
    /// `from` or the next event.
    pub fn foresee(&mut self, since: Nanos, from: Nanos, show: &mut dyn FnMut(Foreseen<'_>)) -> Nanos {
        self.find_last_links();
        // Packets that have left a port are in flight, even if the port has not been advanced
        // since.
        let before = Nanos(self.reached().0.saturating_sub(1));
        for i in 0..self.last_links.len() {
            let link = self.last_links[i];
            for link in [Some(link), self.routes.feeder(link)].into_iter().flatten() {
                self.net.advance(self.net.links[link as usize].port, before);
            }
        }
        let from = from.min(self.next_event());
        let next_change = self.net.schedule.next_change().max(from);
        let ways: Vec<LinkArrivals> = self.last_links.iter().map(|&link| self.way(link, from)).collect();
        let entering = ways.iter().map(|way| way.until).min();
        let certain = entering.unwrap_or(Nanos::MAX).min(next_change).min(self.end());
        let on_time = |c: &Coming| (since..certain).contains(&c.at);
        let mut coming: Vec<Coming> = ways.into_iter().flat_map(|w| w.known).filter(on_time).collect();
        coming.sort_by_key(|c| c.at);
        for c in coming {
            let packet = self.net.packets.get(c.packet);
            if let Some(endpoint) = self.arrives_outside(packet, &c) {
                let bytes = self.net.frames.get(packet.content);
                let telemetry = (packet.telemetry != NONE).then(|| self.net.stacks.export(packet.telemetry));
                show(Foreseen { at: c.at, endpoint, marked: packet.ordinal & CE != 0, bytes, telemetry });
            }
        }
        certain
    }

    /// Future arrivals over a link, if no packet enters a host's queue before `from` and the
    /// timeline changes nothing.
    fn way(&self, link: u32, from: Nanos) -> LinkArrivals {
        let mut known: Vec<Coming> = self.on_link(link).collect();
        if self.net.links[link as usize].delay_at(from) >= LONG {
            return LinkArrivals { known, until: self.net.earliest_arrival(link, from) };
        }
        let (coming, enters) = match self.routes.feeder(link) {
            Some(feeder) => {
                let enters = self.net.earliest_arrival(feeder, from);
                (self.coming_from(feeder, link, enters), enters)
            }
            None => (Vec::new(), from),
        };
        let arrivals: Vec<_> = coming.iter().map(|c| (c.at, c.packet)).collect();
        let predicted = self.net.predict(link, &arrivals).map(|predicted| (predicted, enters));
        // If there may not be room for all packets yet to come, only the waiting ones are known.
        let Some((predicted, enters)) = predicted.or_else(|| Some((self.net.predict(link, &[])?, from)))
        else {
            return LinkArrivals { known, until: self.net.earliest_arrival(link, from) };
        };
        // Packets yet to come are queued after the waiting ones.
        let wait = predicted.arrivals.len().saturating_sub(coming.len());
        let routes = |i: usize, packet: u32| match i.checked_sub(wait).and_then(|i| coming.get(i)) {
            Some(c) if c.packet == packet => c.route,
            _ => self.net.packets.get(packet).route,
        };
        let arrivals = predicted.arrivals.iter().enumerate();
        known.extend(arrivals.map(|(i, &(at, packet))| Coming {
            at,
            packet,
            route: routes(i, packet),
            link,
        }));
        // Packets not known yet enter and leave after these.
        LinkArrivals { known, until: self.net.arrival_of_leaving(link, enters.max(predicted.done)) }
    }

    /// Packets on one link that will take another, and that no packet arriving at `before` or later
    /// can overtake.
    fn coming_from(&self, feeder: u32, link: u32, before: Nanos) -> Vec<Coming> {
        let goes_on = |c: Coming| match self.routes.next(c.route, self.net.links[feeder as usize].to) {
            Next::Link(next, route) if next == link => Some(Coming { route, link, ..c }),
            _ => None,
        };
        let in_order = self.net.keeps_order(feeder);
        self.on_link(feeder).filter(|c| in_order || c.at < before).filter_map(goes_on).collect()
    }

    fn on_link(&self, link: u32) -> impl Iterator<Item = Coming> + '_ {
        self.net.in_flight(link).map(move |f| {
            let route = self.net.packets.get(f.packet).route;
            Coming { at: f.arrival, packet: f.packet, route, link }
        })
    }

    /// External endpoint that a frame reaches at the end of its link.
    fn arrives_outside(&self, packet: &Packet, coming: &Coming) -> Option<EndpointId> {
        if !matches!(packet.kind, PacketKind::Frame | PacketKind::FrameBack) {
            return None;
        }
        let side = Side::of(packet.kind).other();
        let node = self.net.links[coming.link as usize].to;
        let here = matches!(self.routes.next(coming.route, node), Next::Arrived);
        let endpoint = EndpointId { flow: packet.flow, side };
        (here && self.is_outside(endpoint)).then_some(endpoint)
    }

    fn is_outside(&self, end: EndpointId) -> bool {
        let outside = self.facts[end.flow as usize].setup.outside;
        match end.side {
            Side::Source => outside.source,
            Side::Destination => outside.destination,
        }
    }

    /// Finds links that lead to external ends, again whenever links have been added.
    fn find_last_links(&mut self) {
        if self.links_looked_at == self.net.links.len() {
            return;
        }
        let ends = (0u32..).zip(&self.facts).flat_map(|(flow, f)| {
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
