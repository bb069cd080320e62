// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Observer interface and results.

pub use crate::packet::PacketKind;
use crate::packet::{Packet, CE};
use perigee_cc::CaState;
pub use perigee_queue::Ecn;
use perigee_tcp::AckBlocks;
use perigee_timeline::Note;
use perigee_units::{BitRate, Nanos};

/// Why a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DropCause {
    /// The queue was full.
    Queue = 0,
    /// Random loss of the link.
    Random = 1,
    /// The link was down.
    Outage = 2,
    /// There was no route.
    NoRoute = 3,
}

/// Number of causes.
pub const CAUSES: usize = 4;

/// Names of the causes, in order, as in column names.
pub const CAUSE_NAMES: [&str; CAUSES] = ["queue", "random", "outage", "no_route"];

/// A flow at a sampling instant. Counters are totals since the start of the run.
#[derive(Clone, Debug)]
pub struct FlowSample<'a> {
    /// When.
    pub at: Nanos,
    /// Index of the flow.
    pub flow: u32,
    /// Payload bytes handed in order to the receiving application.
    pub delivered_bytes: u64,
    /// Data packets sent, retransmissions included.
    pub sent_packets: u64,
    /// Data packets sent again.
    pub retrans_packets: u64,
    /// Packets that the sender marked lost; `None` = unknown.
    pub lost_packets: Option<u64>,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Congestion window in bytes; `None` for flows without one, and before a connection has begun.
    pub cwnd: Option<u64>,
    /// Slow start threshold in bytes; `None` = infinite.
    pub ssthresh: Option<u64>,
    /// Pacing rate, where the flow is paced.
    pub pacing: Option<BitRate>,
    /// Bytes in flight; `None` for flows whose ends do not count them, and before a connection has begun.
    pub in_flight: Option<u64>,
    /// Smoothed RTT; `None` before the first sample.
    pub srtt: Option<Nanos>,
    /// Mean of the RTT samples since the previous sampling instant.
    pub rtt_mean: Option<Nanos>,
    /// RTT of the present route without queues; `None` = no route.
    pub base_rtt: Option<Nanos>,
    /// Rate of the slowest port on the present route; `None` = no route.
    pub path_rate: Option<BitRate>,
    /// Latest delivery-rate sample; `None` before the first.
    pub delivery_rate: Option<BitRate>,
    /// Congestion avoidance state.
    pub ca: CaState,
    /// Name of the controller's state.
    pub mode: &'static str,
    /// Named internals of the controller.
    pub internals: &'a [(&'static str, f64)],
}

/// A link that carried or held packets since the previous sampling instant. Counters are totals.
#[derive(Clone, Copy, Debug)]
pub struct LinkSample {
    /// When.
    pub at: Nanos,
    /// Index of the link.
    pub link: u32,
    /// Index of its port.
    pub port: u32,
    /// Bytes waiting at the port, framing included, the packet in service not.
    pub queue_bytes: u64,
    /// Packets waiting at the port.
    pub queue_packets: u64,
    /// Packets that left the port on this link.
    pub tx_packets: u64,
    /// Their bytes, framing included.
    pub tx_bytes: u64,
    /// Packets lost at this link, by cause.
    pub drops: [u64; CAUSES],
    /// Rate of the port.
    pub rate: BitRate,
    /// Propagation delay now.
    pub delay: Nanos,
    /// It carries packets.
    pub up: bool,
}

/// Something that happened.
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
    /// The application of a flow has nothing to send or to ask for, and all that it had sent has arrived.
    Idle(u32),
    /// It has again.
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
    /// The player of a video began, went on after a stall, or changed its quality.
    Video {
        /// Flow.
        flow: u32,
        /// What happened.
        what: VideoEvent,
    },
    /// A reduction was taken back as spurious.
    Undo {
        /// Flow.
        flow: u32,
    },
    /// Packets were lost at a link since the previous sampling instant.
    LossBurst {
        /// Link.
        link: u32,
        /// How many.
        packets: u64,
        /// Why.
        cause: DropCause,
    },
}

/// What a player does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum VideoEvent {
    /// It goes on after it stood still for so long.
    Stalled(Nanos),
    /// It asks for a segment of another rate than before, bit/s.
    Quality(u64),
}

/// A packet as one end host sees it, for captures and packet lists.
#[derive(Clone, Debug)]
pub struct PacketView<'a> {
    /// When.
    pub at: Nanos,
    /// Flow.
    pub flow: u32,
    /// What it is.
    pub kind: PacketKind,
    /// It is leaving its source (else: arriving at its destination).
    pub leaving: bool,
    /// First byte of the payload in the stream, from 0 (Data); number (Ping, Pong).
    pub seq: u64,
    /// Payload bytes.
    pub payload: u32,
    /// Next byte expected from the peer, from 0 (Ack).
    pub ack: u64,
    /// SACK blocks, byte ranges of the stream, newest first; a DSACK stands first.
    pub sack: &'a [(u64, u64)],
    /// Timestamp value, in milliseconds.
    pub ts_val: u32,
    /// Timestamp echo, in milliseconds.
    pub ts_ecr: u32,
    /// Size of the IP packet, telemetry included where it is on the wire.
    pub ip_bytes: u32,
    /// It was sent before.
    pub retrans: bool,
    /// Number of this transmission in its flow and direction, from 1.
    pub number: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Telemetry in its wire form, where it is on the wire (the block that `perigee_telemetry::wire` writes).
    pub telemetry: &'a [u8],
}

/// An object or a limited transfer that is complete at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Flow.
    pub flow: u32,
    /// Number of the object in its flow, from 0.
    pub object: u64,
    /// Its size.
    pub bytes: u64,
    /// When it was asked for; of a transfer without requests: when its connection began.
    pub asked: Nanos,
    /// When its first data arrived; unknown for transfers without requests.
    pub first: Option<Nanos>,
    /// When its last byte arrived.
    pub done: Nanos,
}

/// Receives the samples, events and packets of a simulation. Every method has an empty default: an unused one costs nothing.
pub trait Observer {
    /// The observer wants [`Observer::packet`].
    const PACKETS: bool = false;

    /// A flow at a sampling instant (only while it is active).
    fn flow(&mut self, _s: &FlowSample<'_>) {}
    /// A link at a sampling instant.
    fn link(&mut self, _s: &LinkSample) {}
    /// Something happened.
    fn event(&mut self, _at: Nanos, _e: &SimEvent<'_>) {}
    /// An RTT sample of the transport (or a ping): the packet left at `sent`, when the route's RTT was `base`.
    fn rtt(&mut self, _flow: u32, _sent: Nanos, _rtt: Nanos, _base: Option<Nanos>) {}
    /// A datagram of a flow without a transport, which left at `sent`, reached its destination. `spurt`: of a call, the
    /// number of its talk spurt.
    fn datagram(&mut self, _flow: u32, _spurt: u64, _sent: Nanos, _at: Nanos) {}
    /// An object that an application asked for, or a limited transfer, is complete.
    fn completion(&mut self, _c: &Completion) {}
    /// All flows and links of a sampling instant have been told.
    fn sampled(&mut self, _at: Nanos) {}
    /// A packet left its source or reached its destination.
    fn packet(&mut self, _p: &PacketView<'_>) {}
}

/// Two observers at once: a record and a live view, say. More are pairs of pairs.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const PACKETS: bool = A::PACKETS || B::PACKETS;

    fn flow(&mut self, s: &FlowSample<'_>) {
        self.0.flow(s);
        self.1.flow(s);
    }
    fn link(&mut self, s: &LinkSample) {
        self.0.link(s);
        self.1.link(s);
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
    fn completion(&mut self, c: &Completion) {
        self.0.completion(c);
        self.1.completion(c);
    }
    fn sampled(&mut self, at: Nanos) {
        self.0.sampled(at);
        self.1.sampled(at);
    }
    fn packet(&mut self, p: &PacketView<'_>) {
        if A::PACKETS {
            self.0.packet(p);
        }
        if B::PACKETS {
            self.1.packet(p);
        }
    }
}

/// An observer that somebody else keeps.
impl<O: Observer> Observer for &mut O {
    const PACKETS: bool = O::PACKETS;

    fn flow(&mut self, s: &FlowSample<'_>) {
        (**self).flow(s);
    }
    fn link(&mut self, s: &LinkSample) {
        (**self).link(s);
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
    fn completion(&mut self, c: &Completion) {
        (**self).completion(c);
    }
    fn sampled(&mut self, at: Nanos) {
        (**self).sampled(at);
    }
    fn packet(&mut self, p: &PacketView<'_>) {
        (**self).packet(p);
    }
}

/// Wants nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;
impl Observer for Silent {}

/// Amounts of payload whose arrival is noted: the first byte, and so many.
pub const MILESTONES: [u64; 5] = [1, 10_000, 100_000, 1_000_000, 10_000_000];

/// Totals of a video.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VideoTotals {
    /// When it began to play.
    pub playing: Option<Nanos>,
    /// Times that it stopped for want of data.
    pub stalls: u64,
    /// Media time that was played.
    pub played: Nanos,
    /// Media time that has arrived.
    pub media: Nanos,
    /// Time in all that it stood still after it had begun.
    pub stalled: Nanos,
    /// Segments that have arrived.
    pub segments: u64,
    /// Bits of these.
    pub media_bits: u64,
    /// Segments in another quality than the one before them.
    pub switches: u64,
}

/// Totals of a flow at the end. Packets are conserved: `sent = delivered + Σ dropped + under_way`, for each direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowTotals {
    /// Packets put into the network (data and ACKs; pings and echoes).
    pub sent: u64,
    /// Packets that reached their destination.
    pub delivered: u64,
    /// Packets lost, by cause.
    pub dropped: [u64; CAUSES],
    /// Packets in the network at the end.
    pub under_way: u64,
    /// Data packets sent, retransmissions included.
    pub data_sent: u64,
    /// Data packets sent again.
    pub retrans: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Reductions taken back as spurious; `None` = unknown.
    pub undos: Option<u64>,
    /// Times that fast recovery was entered; `None` = unknown.
    pub recoveries: Option<u64>,
    /// Payload bytes handed in order to the receiving application.
    pub goodput_bytes: u64,
    /// When the flow really started.
    pub started: Option<Nanos>,
    /// When a limited transfer was complete.
    pub completed: Option<Nanos>,
    /// Time within the flow's life during which a route existed.
    pub routed: Nanos,
    /// Integral of the slowest port's rate over that time, in bits: divided by `routed` it is the capacity.
    pub capacity_bits: f64,
    /// Payload bytes of its largest packet over that packet's bytes on the slowest port (framing and telemetry included).
    pub payload_share: f64,
    /// Route changes during the flow's life (forward direction).
    pub path_changes: u64,
    /// Times that the route was lost.
    pub unreachable: u64,
    /// ACKs that carried telemetry.
    pub telemetry_acks: u64,
}

/// What the application of a flow got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplicationTotals {
    /// When so much payload was there, of [`MILESTONES`] each; `None` = never, or unknown.
    pub reached: [Option<Nanos>; MILESTONES.len()],
    /// What its viewer saw, of a video.
    pub video: Option<VideoTotals>,
}

/// Totals of a link at the end. Packets are conserved: `entered = crossed + Σ dropped + under_way`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkTotals {
    /// Packets given to the link's port for this link.
    pub entered: u64,
    /// Packets that reached the far end.
    pub crossed: u64,
    /// Packets lost, by cause.
    pub dropped: [u64; CAUSES],
    /// Packets marked instead of dropped (ECN).
    pub marked: u64,
    /// Packets waiting, in service or in flight at the end.
    pub under_way: u64,
    /// Packets that left the port on this link.
    pub tx_packets: u64,
    /// Their bytes, framing included.
    pub tx_bytes: u64,
    /// Sum over packets of the time spent waiting (own transmission not included), in nanoseconds.
    pub wait_ns: u128,
    /// Packets in that sum.
    pub waited: u64,
}

/// What a run leaves behind, apart from what its observer kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Simulated time reached.
    pub end: Nanos,
    /// The caller asked it to stop before the end.
    pub stopped: bool,
    /// Events processed.
    pub events: u64,
    /// Link crossings of all packets: the sum of [`LinkTotals::crossed`].
    pub packet_hops: u64,
    /// Per flow.
    pub flows: Vec<FlowTotals>,
    /// What their applications got, per flow.
    pub applications: Vec<ApplicationTotals>,
    /// Per link.
    pub links: Vec<LinkTotals>,
    /// Everything sent was delivered, dropped for a reason, or is under way: per link and per flow.
    pub conserved: bool,
}

/// Tells an observer of a packet.
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
    let Some(kind) = packet.kind.shown() else { return };
    let (retrans, mss, ecn) = tcp.unwrap_or((false, 1, Ecn::NotEct));
    let bytes = |(s, e): (u64, u64)| (s * mss as u64, e * mss as u64);
    let sack: Vec<(u64, u64)> = blocks.dsack.iter().chain(blocks.sacks()).map(|&r| bytes(r)).collect();
    let is_ack = kind == PacketKind::Ack;
    obs.packet(&PacketView {
        at,
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
        ecn: if packet.ordinal & CE != 0 { Ecn::Ce } else { ecn },
        telemetry,
    });
}
