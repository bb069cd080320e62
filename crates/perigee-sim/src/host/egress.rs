// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Egress from an end into the network: numbering of its packets, and their first link.

use super::Cx;
use crate::observe::DropCause;
use crate::packet::{Packet, NONE};
use crate::routes::Routes;
use perigee_record::PacketKind;
use perigee_timeline::{PairId, SpreadBy};
use perigee_units::draw::mix;
use perigee_units::Nanos;

/// Separates the choice of paths from other draws of a flow.
const SPREAD: u64 = 0x7370_7265_6164_6279;

/// Packets of one end of a flow: transmits packets, and counts those received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Egress {
    pub flow: u32,
    /// The pair of nodes between which its packets travel.
    pub pair: PairId,
    /// Transmissions so far, frames of external endpoints included.
    ordinal: u32,
    /// Packets sent into the network.
    pub sent: u64,
    /// Packets that reached this end.
    pub received: u64,
    /// With a choice among paths by flowlet: flowlets so far, and the departure of the latest packet.
    flowlets: u32,
    departed: Nanos,
}

impl Egress {
    pub fn new(flow: u32, pair: PairId) -> Self {
        Egress { flow, pair, ordinal: 0, sent: 0, received: 0, flowlets: 0, departed: Nanos::ZERO }
    }

    /// Creates a packet that leaves the end now; it counts as a transmission.
    pub fn packet(&mut self, now: Nanos, kind: PacketKind, ip_bytes: u32, seq: u64) -> Packet {
        self.ordinal += 1;
        Packet {
            enqueued: now,
            sent: now,
            seq,
            flow: self.flow,
            route: 0,
            link: NONE,
            ordinal: self.ordinal,
            content: NONE,
            telemetry: NONE,
            echo_ms: 0,
            lead: 0,
            ip_bytes: ip_bytes as u16,
            kind,
            hops: 0,
            push: false,
        }
    }

    /// Passes a packet to the network.
    pub fn send<O>(&mut self, packet: Packet, cx: &mut Cx<'_, O>) {
        self.sent += 1;
        if cx.net.processing.is_on() {
            return self.hold(packet, cx);
        }
        match cx.routes.first(self.path_of(packet.ordinal, cx)) {
            Some((link, route)) => {
                let h = cx.net.packets.insert(Packet { route, ..packet });
                cx.net.enqueue(cx.now, h, link, cx.routes);
            }
            None => {
                let h = cx.net.packets.insert(packet);
                cx.net.discard(h, DropCause::NoRoute);
            }
        }
    }

    /// Pair with the path of a packet that departs now.
    #[inline]
    fn path_of<O>(&mut self, ordinal: u32, cx: &Cx<'_, O>) -> PairId {
        if cx.routes.choices(self.pair).is_empty() {
            return self.pair;
        }
        self.choose(ordinal, cx.now, cx.net.flow_keys[self.flow as usize], cx.routes)
    }

    #[cold]
    #[inline(never)]
    fn choose(&mut self, ordinal: u32, now: Nanos, flow_key: u64, routes: &Routes) -> PairId {
        let choices = routes.choices(self.pair);
        let drawn = |n: u32| mix(mix(flow_key ^ SPREAD) ^ u64::from(n));
        let choice = match routes.spread_by() {
            SpreadBy::Flow => drawn(0),
            SpreadBy::Packet => drawn(ordinal),
            SpreadBy::Turns(turn) => now.0 / turn.0.max(1),
            SpreadBy::Flowlet(gap) => {
                self.flowlets += u32::from(now >= self.departed + gap);
                self.departed = now;
                drawn(self.flowlets)
            }
        };
        choices[(choice % choices.len() as u64) as usize]
    }

    /// Holds a packet until its host has processed it.
    #[inline(never)]
    fn hold<O>(&self, packet: Packet, cx: &mut Cx<'_, O>) {
        let net = &mut *cx.net;
        let h = net.packets.insert(packet);
        net.processing.hold(cx.now, h, &packet, net.flow_keys[self.flow as usize]);
        net.schedule_injection();
    }

    /// Puts a processed packet onto the first link of its current route.
    pub fn depart<O>(&mut self, h: u32, cx: &mut Cx<'_, O>) {
        let ordinal = cx.net.packets.get(h).ordinal;
        match cx.routes.first(self.path_of(ordinal, cx)) {
            Some((link, route)) => {
                cx.net.packets.get_mut(h).route = route;
                cx.net.enqueue(cx.now, h, link, cx.routes);
            }
            None => cx.net.discard(h, DropCause::NoRoute),
        }
    }
}
