// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets of external endpoints: entry into the simulation and delivery out of it.

use super::egress::Egress;
use super::{Cx, FlowFacts};
use crate::external_endpoint::{Content, Delivery, EndpointId, OutsidePacket, Side};
use crate::packet::{Packet, CE, NONE};
use perigee_record::PacketKind;

/// Upper bound on the size of a packet without data: IPv6 and TCP headers with all options, plus a
/// margin.
const MAX_HEADER_BYTES: u16 = 120;

/// Whether a packet of an external endpoint starts its flow. A persistent connection (`standing`)
/// is established in advance: its flow starts with its first data.
pub(crate) fn begins_flow(facts: &FlowFacts, packet: &OutsidePacket) -> bool {
    let standing = facts.setup.leg.is_some_and(|l| l.standing);
    !standing || packet.ip_bytes > MAX_HEADER_BYTES
}

/// Moves a packet that has reached an external endpoint to the outbox. Returns the length of its
/// frame in bytes, 0 without one.
#[cold]
pub(crate) fn leave<O>(h: u32, packet: Packet, cx: &mut Cx<'_, O>) -> u64 {
    let content = match packet.kind {
        // An external endpoint needs no confirmation of its handshake.
        PacketKind::Opened => {
            cx.net.release(h);
            return 0;
        }
        PacketKind::Ack => Content::Ack(*cx.net.acks.get(packet.content)),
        PacketKind::Frame | PacketKind::FrameBack => {
            cx.net.packets.get_mut(h).content = NONE;
            Content::Frame(cx.net.frames.take(packet.content))
        }
        _ => Content::None,
    };
    let frame_bytes = match &content {
        Content::Frame(bytes) => bytes.len() as u64,
        _ => 0,
    };
    let telemetry = (packet.telemetry != NONE).then(|| cx.net.stacks.export(packet.telemetry));
    cx.net.release(h);
    cx.outbox.push_back(Delivery {
        at: cx.now,
        endpoint: EndpointId { flow: packet.flow, side: Side::of(packet.kind).other() },
        packet: OutsidePacket {
            kind: packet.kind,
            seq: packet.seq,
            push: packet.push,
            content,
            sent: packet.sent,
            number: Some(packet.ordinal & !CE),
            ip_bytes: packet.ip_bytes,
            marked: packet.ordinal & CE != 0,
            telemetry,
            hops: packet.hops,
        },
    });
    frame_bytes
}

impl Egress {
    /// Sends a packet of an external endpoint into the network.
    pub fn enter<O>(&mut self, from: OutsidePacket, cx: &mut Cx<'_, O>) {
        let mut packet = self.packet(cx.now, from.kind, u32::from(from.ip_bytes), from.seq);
        packet.push = from.push;
        packet.sent = from.sent;
        packet.hops = from.hops;
        packet.ordinal = from.number.unwrap_or(packet.ordinal);
        if from.marked {
            packet.ordinal |= CE;
        }
        if let Some(stack) = &from.telemetry {
            cx.net.expect_telemetry_from_outside(cx.now);
            packet.telemetry = cx.net.stacks.import(stack);
        }
        match from.content {
            Content::Ack(blocks) => packet.content = cx.net.acks.insert(blocks),
            Content::Frame(bytes) => packet.content = cx.net.frames.insert(bytes),
            Content::None => {}
        }
        self.send(packet, cx);
    }
}
