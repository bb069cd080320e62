// SPDX-License-Identifier: Apache-2.0 OR MIT
//! External endpoints of flows: real hosts, programs or another part of a larger simulation.
//! Complete packets, contents included, leave and enter the simulation and cross the same ports as
//! those of simulated flows.

use crate::packet::TelemetryStack;
use perigee_record::PacketKind;
use perigee_tcp::AckBlocks;
use perigee_units::Nanos;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// An end of a flow. Ends are ordered by flow, the source before the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointId {
    /// Number of the flow.
    pub flow: u32,
    /// End of the flow.
    pub side: Side,
}

/// End of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The end that sends the data.
    Source,
    /// The end that receives it.
    Destination,
}

impl Side {
    /// End that sends packets of this kind.
    pub fn of(kind: PacketKind) -> Side {
        match kind.is_forward() {
            true => Side::Source,
            false => Side::Destination,
        }
    }

    /// The other end.
    pub fn other(self) -> Side {
        match self {
            Side::Source => Side::Destination,
            Side::Destination => Side::Source,
        }
    }
}

/// Contents of a packet, in addition to its number.
#[derive(Clone, Debug)]
pub enum Content {
    /// Nothing.
    None,
    /// Blocks of a [`PacketKind::Ack`].
    Ack(AckBlocks),
    /// Bytes of a [`PacketKind::Frame`] or [`PacketKind::FrameBack`]; the simulation does not parse
    /// them.
    Frame(Box<[u8]>),
}

/// A complete packet that enters or leaves a simulation.
#[derive(Clone, Debug)]
pub struct OutsidePacket {
    /// Kind of packet.
    pub kind: PacketKind,
    /// Number of a segment, probe, request or datagram, from 0; of an ACK, the next segment
    /// expected; 0 for other kinds.
    pub seq: u64,
    /// PSH flag.
    pub push: bool,
    /// Contents.
    pub content: Content,
    /// Departure from its source: the transmission time of a probe, the timestamp of a segment.
    pub sent: Nanos,
    /// Number of this transmission in its flow and direction, from 1: random losses depend on it.
    /// `None` for a packet that enters = the next number.
    pub number: Option<u32>,
    /// Size of the IP packet in bytes.
    pub ip_bytes: u16,
    /// Congestion experienced (ECN).
    pub marked: bool,
    /// Telemetry written by the ports it passed.
    pub telemetry: Option<TelemetryStack>,
    /// Links crossed so far.
    pub hops: u8,
}

impl OutsidePacket {
    /// A frame that holds an IP packet of `bytes`, sent by an end of a flow at `at`.
    ///
    /// # Errors
    /// If it is empty or exceeds the size of an IP packet.
    pub fn frame(from: Side, at: Nanos, bytes: Box<[u8]>) -> Result<Self, String> {
        let size = u16::try_from(bytes.len()).ok().filter(|n| *n > 0);
        let ip_bytes = size.ok_or_else(|| format!("a frame of {} bytes is no IP packet", bytes.len()))?;
        let kind = match from {
            Side::Source => PacketKind::Frame,
            Side::Destination => PacketKind::FrameBack,
        };
        Ok(OutsidePacket {
            kind,
            seq: 0,
            push: false,
            content: Content::Frame(bytes),
            sent: at,
            number: None,
            ip_bytes,
            marked: false,
            telemetry: None,
            hops: 0,
        })
    }

    /// True if it has all contents that its kind requires.
    pub(crate) fn is_whole(&self) -> bool {
        match self.kind {
            PacketKind::Ack => matches!(self.content, Content::Ack(_)),
            PacketKind::Frame | PacketKind::FrameBack => matches!(self.content, Content::Frame(_)),
            _ => matches!(self.content, Content::None),
        }
    }
}

/// A packet that has reached an external endpoint.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// Time of arrival.
    pub at: Nanos,
    /// Endpoint it reached.
    pub endpoint: EndpointId,
    /// The packet.
    pub packet: OutsidePacket,
}

/// Packets that have left the simulation, in order of departure.
pub(crate) type Outbox = VecDeque<Delivery>;

/// Packets that will enter the simulation, ordered by instant, end and number.
#[derive(Default)]
pub(crate) struct Inbox {
    due: BinaryHeap<Reverse<Entry>>,
    injected: u64,
}

struct Entry {
    key: (Nanos, EndpointId, u64),
    packet: OutsidePacket,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl Inbox {
    pub fn push(&mut self, at: Nanos, endpoint: EndpointId, packet: OutsidePacket) {
        self.injected += 1;
        self.due.push(Reverse(Entry { key: (at, endpoint, self.injected), packet }));
    }

    /// Time at which the next packet enters.
    pub fn next(&self) -> Nanos {
        self.due.peek().map_or(Nanos::MAX, |Reverse(e)| e.key.0)
    }

    /// Removes the next packet that enters by `now`.
    pub fn pop(&mut self, now: Nanos) -> Option<(EndpointId, OutsidePacket)> {
        if self.next() > now {
            return None;
        }
        self.due.pop().map(|Reverse(e)| (e.key.1, e.packet))
    }
}
