// SPDX-License-Identifier: Apache-2.0 OR MIT
//! External endpoints of flows: real hosts, programs, another part of a larger simulation. Packets leave the simulation and
//! enter it complete, with what they carry, and cross the same ports as those of simulated flows.

use crate::packet::{Kind, TelemetryStack};
use perigee_tcp::AckBlocks;
use perigee_units::Nanos;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// An end of a flow. Ends are ordered: by flow, the source first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointId {
    /// Number of the flow.
    pub flow: u32,
    /// Which of its ends.
    pub side: Side,
}

/// Which end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The end that sends the data.
    Source,
    /// The end that receives it.
    Destination,
}

/// What a packet carries.
#[derive(Clone, Debug)]
pub enum Content {
    /// First packet of a connection.
    Syn,
    /// Its answer.
    SynAck,
    /// A segment of the stream.
    Data {
        /// Its number, from 0.
        segment: u64,
        /// It carries the PSH flag.
        push: bool,
    },
    /// An acknowledgement.
    Ack(AckBlocks),
    /// A probe that is echoed.
    Ping {
        /// Its number.
        number: u64,
    },
    /// The echo.
    Pong {
        /// Number of the probe.
        number: u64,
    },
    /// A client's request for an object.
    Request {
        /// Its number, from 0.
        number: u64,
    },
    /// UDP without an answer.
    Datagram {
        /// Its number.
        number: u64,
    },
    /// A frame of real bytes, which nobody in the simulation reads.
    Frame(Box<[u8]>),
}

/// A packet that enters or leaves a simulation, whole.
#[derive(Clone, Debug)]
pub struct OutsidePacket {
    /// What it carries.
    pub content: Content,
    /// When it left its source: the instant of a probe, the timestamp of a segment.
    pub sent: Nanos,
    /// Number of this transmission in its flow and direction, from 1: random losses depend on it. `None` = the next one
    /// (of packets that enter).
    pub number: Option<u32>,
    /// Size of the IP packet in bytes.
    pub ip_bytes: u16,
    /// It carries a congestion mark (ECN).
    pub marked: bool,
    /// What ports wrote into it.
    pub telemetry: Option<TelemetryStack>,
    /// Links crossed so far.
    pub hops: u8,
}

impl OutsidePacket {
    /// A frame of an IP packet of `bytes`, sent at `at`.
    ///
    /// # Errors
    /// Where it is empty or larger than an IP packet can be.
    pub fn frame(at: Nanos, bytes: Box<[u8]>) -> Result<Self, String> {
        let size = u16::try_from(bytes.len()).ok().filter(|n| *n > 0);
        let ip_bytes = size.ok_or_else(|| format!("a frame of {} bytes is no IP packet", bytes.len()))?;
        Ok(OutsidePacket {
            content: Content::Frame(bytes),
            sent: at,
            number: None,
            ip_bytes,
            marked: false,
            telemetry: None,
            hops: 0,
        })
    }
}

/// A packet that has reached an end outside.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// When.
    pub at: Nanos,
    /// Where.
    pub endpoint: EndpointId,
    /// The packet.
    pub packet: OutsidePacket,
}

/// Packets that have left, in the order in which they did.
pub(crate) type Outbox = VecDeque<Delivery>;

/// Packets that are to enter, by instant, end and number.
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

    /// When the next packet enters.
    pub fn next(&self) -> Nanos {
        self.due.peek().map_or(Nanos::MAX, |Reverse(e)| e.key.0)
    }

    /// The next packet that enters by `now`.
    pub fn pop(&mut self, now: Nanos) -> Option<(EndpointId, OutsidePacket)> {
        if self.next() > now {
            return None;
        }
        self.due.pop().map(|Reverse(e)| (e.key.1, e.packet))
    }
}

impl Content {
    pub(crate) fn kind(&self, side: Side) -> Kind {
        match self {
            Content::Syn => Kind::Syn,
            Content::SynAck => Kind::SynAck,
            Content::Data { .. } => Kind::Data,
            Content::Ack(_) => Kind::Ack,
            Content::Ping { .. } => Kind::Ping,
            Content::Pong { .. } => Kind::Pong,
            Content::Request { .. } => Kind::Request,
            Content::Datagram { .. } => Kind::Datagram,
            Content::Frame(_) if side == Side::Source => Kind::Frame,
            Content::Frame(_) => Kind::FrameBack,
        }
    }

    /// The side that can send it; `None` = both.
    pub(crate) fn sender(&self) -> Option<Side> {
        match self.kind(Side::Source) {
            Kind::Frame => None,
            kind if kind.is_forward() => Some(Side::Source),
            _ => Some(Side::Destination),
        }
    }

    pub(crate) fn number(&self) -> u64 {
        match self {
            Content::Data { segment, .. } => *segment,
            Content::Ack(blocks) => blocks.ack,
            Content::Ping { number }
            | Content::Pong { number }
            | Content::Request { number }
            | Content::Datagram { number } => *number,
            Content::Syn | Content::SynAck | Content::Frame(_) => 0,
        }
    }
}
