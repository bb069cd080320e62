// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The receiving end of a flow: a TCP receiver ([`super::tcp_receiver`]), a responder to probes, or
//! an external endpoint.

use super::egress::Egress;
use super::external::leave;
use super::tcp_receiver::TcpReceiver;
use super::{Cx, FlowFacts, TelemetryPlan, SPURT};
use crate::external_endpoint::OutsidePacket;
use crate::observe::{show, Observer, MILESTONES};
use crate::packet::{Packet, NONE, PROBE_HEADER};
use crate::schedule::End;
use perigee_record::PacketKind;
use perigee_tcp::{AckBlocks, Seg};
use perigee_timeline::App;
use perigee_units::Nanos;

/// Linux aligns the SACK option separately; INET lets it share the padding of the timestamps.
const SACK_PADDING: u32 = 4;

/// The receiving end of a flow. Fields used for every packet come first, and some are copied from
/// the facts: with ten thousand flows none of them is in the cache.
#[repr(C, align(64))]
pub(crate) struct ReceivingEnd {
    pub egress: Egress,
    pub(super) mss: u32,
    pub(super) header: u32,
    /// Bytes of padding for the SACK option.
    pub(super) sack_padding: u32,
    pub(super) milestones: u32,
    /// Whether the flow is a leg of a split connection.
    pub(super) is_leg: bool,
    /// Whether its data comes from an on/off source.
    pub(super) is_on_off: bool,
    pub(super) stop: Nanos,
    /// Payload delivered in order to the application.
    pub goodput_bytes: u64,
    pub(super) telemetry: TelemetryPlan,
    /// Segments of a limited transfer, and payload bytes of the last one.
    pub(super) segments: Option<(u64, u32)>,
    pub destination: Sink,
    /// Completion time of a limited transfer.
    pub completed: Option<Nanos>,
    /// Times at which milestones were reached; `None` = not yet.
    pub(super) reached: [Option<Nanos>; MILESTONES.len()],
}

/// Component that runs at the receiving end.
pub(crate) enum Sink {
    /// Echoes probes and counts datagrams.
    Responder,
    Tcp(Box<TcpReceiver>),
    /// Packets that arrive leave the simulation; injected packets enter here.
    Outside,
}

/// Effect of an arrival beyond the receiving end.
pub(crate) enum Delivered {
    Nothing,
    /// All data of an on/off source up to this segment (exclusive) has arrived.
    UpTo(Seg),
    /// A limited transfer is complete, with this payload.
    All {
        bytes: u64,
    },
}

impl ReceivingEnd {
    /// `elsewhere`: it runs outside of the simulation, or in another partition.
    pub fn new(id: u32, facts: &FlowFacts, elsewhere: bool) -> Self {
        let setup = &facts.setup;
        let destination = match (setup.outside.destination || elsewhere, setup.app.is_tcp()) {
            (true, _) => Sink::Outside,
            (false, true) => Sink::Tcp(Box::new(TcpReceiver::new(setup))),
            (false, false) => Sink::Responder,
        };
        ReceivingEnd {
            egress: Egress::new(id, setup.reverse),
            mss: setup.tcp.mss,
            header: setup.tcp.header,
            sack_padding: if facts.inet { 0 } else { SACK_PADDING },
            milestones: 0,
            is_leg: setup.leg.is_some(),
            is_on_off: matches!(setup.app, App::OnOff { .. }) && setup.leg.is_none(),
            stop: setup.stop,
            goodput_bytes: 0,
            telemetry: facts.telemetry,
            segments: facts.segments,
            destination,
            completed: None,
            reached: [None; MILESTONES.len()],
        }
    }

    /// Time of the next due event.
    #[inline]
    pub fn next_due(&self) -> Nanos {
        match &self.destination {
            Sink::Tcp(r) => r.next_due(self.stop),
            _ => Nanos::MAX,
        }
    }

    /// The simulated TCP receiver, if there is one.
    pub fn receiver(&self) -> Option<&TcpReceiver> {
        match &self.destination {
            Sink::Tcp(r) => Some(r),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn receiver_mut(&mut self) -> Option<&mut TcpReceiver> {
        match &mut self.destination {
            Sink::Tcp(r) => Some(r),
            _ => None,
        }
    }

    /// First segment not received yet; `None` = no connection.
    pub fn received(&self) -> Option<Seg> {
        self.receiver().and_then(|r| r.tcp.as_ref()).map(|tcp| tcp.next())
    }

    /// Reschedules the end, as an event may now be due earlier.
    #[inline]
    pub fn reschedule<O>(&mut self, cx: &mut Cx<'_, O>) {
        cx.net.wake_by(End::receiving(self.egress.flow), self.next_due());
    }

    /// Handles a packet that reached this end.
    #[inline]
    pub fn receive<O: Observer>(&mut self, h: u32, cx: &mut Cx<'_, O>) -> Delivered {
        self.egress.received += 1;
        let packet = *cx.net.packets.get(h);
        if let Sink::Outside = self.destination {
            self.goodput_bytes += leave(h, packet, cx);
            return Delivered::Nothing;
        }
        if packet.kind == PacketKind::Data {
            return self.receive_data(h, packet, cx);
        }
        if packet.kind == PacketKind::Syn && packet.telemetry != NONE {
            let head = cx.net.stacks.head_mut(packet.telemetry);
            head.partial |= head.count < packet.hops;
            cx.net.packets.get_mut(h).telemetry = NONE;
        }
        cx.net.release(h);
        match packet.kind {
            PacketKind::Ping => self.echo(packet, cx),
            PacketKind::Syn => self.receive_syn(packet.telemetry, cx),
            PacketKind::Datagram => {
                self.goodput_bytes += u64::from((packet.ip_bytes as u32).saturating_sub(PROBE_HEADER));
                cx.obs.datagram(self.egress.flow, packet.seq >> SPURT, packet.sent, cx.now);
            }
            // Frames belong to external endpoints; all other kinds travel in the other direction.
            _ => {}
        }
        Delivered::Nothing
    }

    fn echo<O: Observer>(&mut self, packet: Packet, cx: &mut Cx<'_, O>) {
        let pong = self.egress.packet(cx.now, PacketKind::Pong, packet.ip_bytes as u32, packet.seq);
        let pong = Packet { sent: packet.sent, ..pong };
        show(cx.obs, cx.now, false, &packet, 0, &AckBlocks::default(), None, &[]);
        show(cx.obs, cx.now, true, &pong, 0, &AckBlocks::default(), None, &[]);
        self.egress.send(pong, cx);
    }

    /// Injects a packet of an external endpoint.
    pub fn enter<O: Observer>(&mut self, packet: OutsidePacket, cx: &mut Cx<'_, O>) {
        self.egress.enter(packet, cx);
    }
}
