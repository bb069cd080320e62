// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets as seen by end hosts, for captures and packet lists.

/// Kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketKind {
    /// First packet of a TCP connection.
    Syn,
    /// Reply to a SYN.
    SynAck,
    /// A bare ACK that completes the handshake before the data (only from stacks that do not
    /// combine it with data).
    Opened,
    /// TCP with payload.
    Data,
    /// TCP without payload.
    Ack,
    /// Probe.
    Ping,
    /// Echo of a probe.
    Pong,
    /// A client's request for an object.
    Request,
    /// UDP without a reply.
    Datagram,
    /// Frame of an end outside the backend, from the flow's source to its destination.
    Frame,
    /// The same in the other direction.
    FrameBack,
}

impl PacketKind {
    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            PacketKind::Syn => "syn",
            PacketKind::SynAck => "syn-ack",
            PacketKind::Opened => "opened",
            PacketKind::Data => "data",
            PacketKind::Ack => "ack",
            PacketKind::Ping => "ping",
            PacketKind::Pong => "pong",
            PacketKind::Request => "request",
            PacketKind::Datagram => "datagram",
            PacketKind::Frame | PacketKind::FrameBack => "frame",
        }
    }

    /// Whether it is a probe or its echo.
    #[inline]
    pub fn is_probe(self) -> bool {
        matches!(self, PacketKind::Ping | PacketKind::Pong)
    }

    /// Whether it travels from the flow's source to its destination.
    #[inline]
    pub fn is_forward(self) -> bool {
        use PacketKind::{Data, Datagram, Frame, Opened, Ping, Syn};
        matches!(self, Syn | Opened | Data | Ping | Datagram | Frame)
    }
}

/// [`PacketSeen::ecn`] of a packet that carries a congestion mark.
pub const MARKED: u8 = 3;

/// A packet as seen by one end host. Byte positions and sequence numbers are as in the tables.
#[derive(Clone, Debug)]
pub struct PacketSeen<'a> {
    /// Time.
    pub at_ns: u64,
    /// Flow.
    pub flow: u32,
    /// Kind of packet.
    pub kind: PacketKind,
    /// Whether it is leaving its source; otherwise it is arriving at its destination.
    pub leaving: bool,
    /// First byte of the payload in the stream, from 0 (Data); number (Ping, Pong).
    pub seq: u64,
    /// Payload bytes.
    pub payload: u32,
    /// Next byte expected from the peer, from 0 (Ack).
    pub ack: u64,
    /// SACK blocks as byte ranges of the stream, newest first; a DSACK precedes them.
    pub sack: &'a [(u64, u64)],
    /// Timestamp value, in milliseconds.
    pub ts_val: u32,
    /// Timestamp echo, in milliseconds.
    pub ts_ecr: u32,
    /// Size of the IP packet, including telemetry that is on the wire.
    pub ip_bytes: u32,
    /// Whether it was sent before.
    pub retrans: bool,
    /// Number of this transmission in its flow and direction, from 1.
    pub number: u32,
    /// ECN field of its IP header (RFC 3168 section 5, RFC 8311): 0 not capable, 1 ECT(1), 2
    /// ECT(0), 3 marked.
    pub ecn: u8,
    /// Telemetry in its wire form, if it is on the wire.
    pub telemetry: &'a [u8],
}

/// An IP packet of a real host, as seen by an end of its flow.
#[derive(Clone, Debug)]
pub struct FrameSeen<'a> {
    /// Time.
    pub at_ns: u64,
    /// Flow.
    pub flow: u32,
    /// Whether the flow's source sees it, leaving or arriving; otherwise its destination does.
    pub at_source: bool,
    /// The full packet, IP header first.
    pub packet: &'a [u8],
    /// Number of bytes with information: the headers of a transfer, or all bytes of programs'
    /// traffic.
    pub informative_bytes: usize,
}
