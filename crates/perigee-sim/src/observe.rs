// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Observer interface, in the rows and totals of the record.

use crate::packet::{Packet, CE};
use perigee_cc::CaState;
pub use perigee_queue::Ecn;
pub use perigee_record::tables::{CarrierRow, CompletionRow, FlowRow, LimitRow, LinkRow};
pub use perigee_record::totals::{
    ApplicationTotals, DropCause, FlowTableTotals, FlowTotals, LinkTotals, RunOutcome, VideoTotals, CAUSES,
    CAUSE_NAMES, MILESTONES,
};
pub use perigee_record::{PacketKind, PacketSeen};
use perigee_tcp::AckBlocks;
use perigee_timeline::Note;
use perigee_units::Nanos;

// `MARKED` of the record must equal the CE codepoint of the ECN field.
const _: () = assert!(Ecn::Ce.bits() == perigee_record::observed::MARKED);

/// Events reported to an observer.
#[derive(Clone, Debug)]
pub enum SimEvent<'a> {
    /// An annotation of the timeline.
    Note(&'a Note),
    /// A flow started.
    FlowStart(u32),
    /// All bytes of a limited flow are delivered.
    FlowComplete(u32),
    /// A flow sends no new data from now on.
    FlowStop {
        /// Flow.
        flow: u32,
        /// Payload bytes handed in order to the receiving application so far.
        delivered_bytes: u64,
    },
    /// The application of a flow has nothing to send or to request, and all its data have arrived.
    Idle(u32),
    /// The application of an idle flow has data to send or to request again.
    Busy(u32),
    /// The controller changed its named state.
    Mode {
        /// Flow.
        flow: u32,
        /// New state.
        mode: &'static str,
    },
    /// The transport entered a congestion avoidance state other than Open/Disorder, or left it.
    CaState {
        /// Flow.
        flow: u32,
        /// New state.
        state: CaState,
    },
    /// A retransmission timeout fired.
    Timeout {
        /// Flow.
        flow: u32,
    },
    /// The player of a video started, resumed after a stall, or changed its quality.
    Video {
        /// Flow.
        flow: u32,
        /// The event.
        what: VideoEvent,
    },
    /// A window reduction was undone as spurious.
    Undo {
        /// Flow.
        flow: u32,
    },
    /// Packets were lost at a link since the previous sampling instant.
    LossBurst {
        /// Link.
        link: u32,
        /// Number of packets.
        packets: u64,
        /// Cause of the drops.
        cause: DropCause,
    },
}

impl SimEvent<'_> {
    /// The same event without borrowed data; `None` for an annotation of the timeline.
    pub(crate) fn detached(&self) -> Option<SimEvent<'static>> {
        Some(match *self {
            SimEvent::Note(_) => return None,
            SimEvent::FlowStart(flow) => SimEvent::FlowStart(flow),
            SimEvent::FlowComplete(flow) => SimEvent::FlowComplete(flow),
            SimEvent::FlowStop { flow, delivered_bytes } => SimEvent::FlowStop { flow, delivered_bytes },
            SimEvent::Idle(flow) => SimEvent::Idle(flow),
            SimEvent::Busy(flow) => SimEvent::Busy(flow),
            SimEvent::Mode { flow, mode } => SimEvent::Mode { flow, mode },
            SimEvent::CaState { flow, state } => SimEvent::CaState { flow, state },
            SimEvent::Timeout { flow } => SimEvent::Timeout { flow },
            SimEvent::Video { flow, what } => SimEvent::Video { flow, what },
            SimEvent::Undo { flow } => SimEvent::Undo { flow },
            SimEvent::LossBurst { link, packets, cause } => SimEvent::LossBurst { link, packets, cause },
        })
    }
}

/// Event of a player.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum VideoEvent {
    /// Resumed after a stall of this length.
    Stalled(Nanos),
    /// Requests a segment of a rate other than the previous one, in bit/s.
    Quality(u64),
}

/// Named internals of a controller.
pub type Internals = [(&'static str, f64)];

/// Receives the samples, events and packets of a simulation. Every method has an empty default, so
/// unused ones have no cost.
pub trait Observer {
    /// Whether the observer receives packets ([`Observer::packet`]).
    const PACKETS: bool = false;

    /// State of a flow at a sampling instant (only while it is active), with named internals of its
    /// controller.
    fn flow(&mut self, _row: &FlowRow, _internals: &Internals) {}
    /// Limits of the sender of a flow since its previous row, after [`Observer::flow`].
    fn limits(&mut self, _row: &LimitRow) {}
    /// State of a link at a sampling instant, if it carried or held packets since the previous one.
    fn link(&mut self, _row: &LinkRow) {}
    /// State of a carrier that a port shares with other terminals, at a sampling instant.
    fn carrier(&mut self, _row: &CarrierRow) {}
    /// Something happened.
    fn event(&mut self, _at: Nanos, _e: &SimEvent<'_>) {}
    /// An RTT sample of the transport (or of a ping): the packet was sent at `sent`; `base` was the
    /// base RTT of the route then.
    fn rtt(&mut self, _flow: u32, _sent: Nanos, _rtt: Nanos, _base: Option<Nanos>) {}
    /// A datagram of a flow without a transport, sent at `sent`, reached its destination. `spurt`:
    /// number of the talk spurt, for calls.
    fn datagram(&mut self, _flow: u32, _spurt: u64, _sent: Nanos, _at: Nanos) {}
    /// An object that an application requested, or a limited transfer, is complete.
    fn completion(&mut self, _row: &CompletionRow) {}
    /// All rows of a sampling instant have been reported.
    fn sampled(&mut self, _at: Nanos) {}
    /// A packet left its source or reached its destination.
    fn packet(&mut self, _p: &PacketSeen<'_>) {}
}

/// Two observers at once, such as a record and a live view; nest pairs for more.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const PACKETS: bool = A::PACKETS || B::PACKETS;

    fn flow(&mut self, row: &FlowRow, internals: &Internals) {
        self.0.flow(row, internals);
        self.1.flow(row, internals);
    }
    fn limits(&mut self, row: &LimitRow) {
        self.0.limits(row);
        self.1.limits(row);
    }
    fn link(&mut self, row: &LinkRow) {
        self.0.link(row);
        self.1.link(row);
    }
    fn carrier(&mut self, row: &CarrierRow) {
        self.0.carrier(row);
        self.1.carrier(row);
    }
    fn event(&mut self, at: Nanos, e: &SimEvent<'_>) {
        self.0.event(at, e);
        self.1.event(at, e);
    }
    fn rtt(&mut self, flow: u32, sent: Nanos, rtt: Nanos, base: Option<Nanos>) {
        self.0.rtt(flow, sent, rtt, base);
        self.1.rtt(flow, sent, rtt, base);
    }
    fn datagram(&mut self, flow: u32, spurt: u64, sent: Nanos, at: Nanos) {
        self.0.datagram(flow, spurt, sent, at);
        self.1.datagram(flow, spurt, sent, at);
    }
    fn completion(&mut self, row: &CompletionRow) {
        self.0.completion(row);
        self.1.completion(row);
    }
    fn sampled(&mut self, at: Nanos) {
        self.0.sampled(at);
        self.1.sampled(at);
    }
    fn packet(&mut self, p: &PacketSeen<'_>) {
        if A::PACKETS {
            self.0.packet(p);
        }
        if B::PACKETS {
            self.1.packet(p);
        }
    }
}

/// A borrowed observer.
impl<O: Observer> Observer for &mut O {
    const PACKETS: bool = O::PACKETS;

    fn flow(&mut self, row: &FlowRow, internals: &Internals) {
        (**self).flow(row, internals);
    }
    fn limits(&mut self, row: &LimitRow) {
        (**self).limits(row);
    }
    fn link(&mut self, row: &LinkRow) {
        (**self).link(row);
    }
    fn carrier(&mut self, row: &CarrierRow) {
        (**self).carrier(row);
    }
    fn event(&mut self, at: Nanos, e: &SimEvent<'_>) {
        (**self).event(at, e);
    }
    fn rtt(&mut self, flow: u32, sent: Nanos, rtt: Nanos, base: Option<Nanos>) {
        (**self).rtt(flow, sent, rtt, base);
    }
    fn datagram(&mut self, flow: u32, spurt: u64, sent: Nanos, at: Nanos) {
        (**self).datagram(flow, spurt, sent, at);
    }
    fn completion(&mut self, row: &CompletionRow) {
        (**self).completion(row);
    }
    fn sampled(&mut self, at: Nanos) {
        (**self).sampled(at);
    }
    fn packet(&mut self, p: &PacketSeen<'_>) {
        (**self).packet(p);
    }
}

/// An observer that receives nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;
impl Observer for Silent {}

/// Reports a packet to an observer.
#[allow(clippy::too_many_arguments)] // one place that fills one struct
pub(crate) fn show<O: Observer>(
    obs: &mut O,
    at: Nanos,
    leaving: bool,
    packet: &Packet,
    payload: u32,
    blocks: &AckBlocks,
    tcp: Option<(bool, u32, Ecn)>,
    telemetry: &[u8],
) {
    if !O::PACKETS {
        return;
    }
    // Captures synthesise handshakes, so only these kinds are reported.
    let kind = packet.kind;
    if !matches!(kind, PacketKind::Data | PacketKind::Ack | PacketKind::Ping | PacketKind::Pong) {
        return;
    }
    let (retrans, mss, ecn) = tcp.unwrap_or((false, 1, Ecn::NotEct));
    let bytes = |(s, e): (u64, u64)| (s * mss as u64, e * mss as u64);
    let sack: Vec<(u64, u64)> = blocks.dsack.iter().chain(blocks.sacks()).map(|&r| bytes(r)).collect();
    let is_ack = kind == PacketKind::Ack;
    let ecn = if packet.ordinal & CE != 0 { Ecn::Ce } else { ecn };
    obs.packet(&PacketSeen {
        at_ns: at.0,
        flow: packet.flow,
        kind,
        leaving,
        seq: if is_ack { 0 } else { packet.seq * mss as u64 },
        payload,
        ack: if is_ack { packet.seq * mss as u64 } else { 0 },
        sack: &sack,
        ts_val: (packet.sent.0 / 1_000_000) as u32 + 1,
        ts_ecr: blocks.ts_ecr,
        ip_bytes: packet.ip_bytes as u32,
        retrans,
        number: packet.ordinal & !CE,
        ecn: ecn.bits(),
        telemetry,
    });
}
