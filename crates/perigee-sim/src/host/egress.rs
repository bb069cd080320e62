// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Egress from an end into the network: numbering of its packets, and their first link.

use super::Cx;
use crate::observe::DropCause;
use crate::packet::{Packet, NONE};
use perigee_record::PacketKind;
use perigee_timeline::PairId;
use perigee_units::Nanos;

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
}

impl Egress {
    pub fn new(flow: u32, pair: PairId) -> Self {
        Egress { flow, pair, ordinal: 0, sent: 0, received: 0 }
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
        match cx.routes.first(self.pair) {
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

    /// Holds a packet until its host has processed it.
    #[inline(never)]
    fn hold<O>(&self, packet: Packet, cx: &mut Cx<'_, O>) {
        let net = &mut *cx.net;
        let h = net.packets.insert(packet);
        net.processing.hold(cx.now, h, &packet, net.flow_keys[self.flow as usize]);
        net.schedule_injection();
    }

    /// Puts a processed packet onto the first link of its current route.
    pub fn depart<O>(&self, h: u32, cx: &mut Cx<'_, O>) {
        match cx.routes.first(self.pair) {
            Some((link, route)) => {
                cx.net.packets.get_mut(h).route = route;
                cx.net.enqueue(cx.now, h, link, cx.routes);
            }
            None => cx.net.discard(h, DropCause::NoRoute),
        }
    }
}
