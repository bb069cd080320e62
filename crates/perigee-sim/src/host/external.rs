// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets of external endpoints at their flow: where they leave and enter the simulation.

use crate::external_endpoint::{Content, Delivery, EndpointId, OutsidePacket, Side};
use crate::host::{Cx, Flow};
use crate::observe::Observer;
use crate::packet::{Packet, CE, NONE};
use perigee_record::PacketKind;

/// Packets that are larger carry data: headers of IPv6 and TCP with all options, and some.
const MOST_HEADERS: u16 = 120;

impl Flow {
    /// A packet reached an end outside: it leaves the simulation.
    #[cold]
    pub(crate) fn leave<O>(&mut self, h: u32, packet: Packet, cx: &mut Cx<'_, O>) {
        let content = match packet.kind {
            // The handshake is over for an end outside once it has answered.
            PacketKind::Opened => return cx.net.release(h),
            PacketKind::Ack => Content::Ack(*cx.net.acks.get(packet.content)),
            PacketKind::Frame | PacketKind::FrameBack => {
                cx.net.packets.get_mut(h).content = NONE;
                Content::Frame(cx.net.frames.take(packet.content))
            }
            _ => Content::None,
        };
        if let Content::Frame(bytes) = &content {
            self.totals.goodput_bytes += bytes.len() as u64;
        }
        let telemetry = (packet.telemetry != NONE).then(|| cx.net.stacks.export(packet.telemetry));
        cx.net.release(h);
        let side = Side::of(packet.kind).other();
        cx.outbox.push_back(Delivery {
            at: cx.now,
            endpoint: EndpointId { flow: self.id, side },
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
    }

    /// A packet of an end outside enters the simulation.
    pub(crate) fn enter<O: Observer>(&mut self, from: OutsidePacket, cx: &mut Cx<'_, O>) {
        // A standing connection is there before it is needed: its flow begins with its first data.
        let standing = self.setup.leg.is_some_and(|l| l.standing);
        if !standing || from.ip_bytes > MOST_HEADERS {
            self.note_start(cx.now, cx.obs);
        }
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
        if from.kind.is_forward() {
            self.totals.data_sent += 1;
        }
        self.send(packet, cx);
    }
}
