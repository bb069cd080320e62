// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parser of captured packets, which yields TCP segments and UDP datagrams: Ethernet (with VLAN
//! tags), Linux cooked captures v1 and v2, BSD loopback, raw IP; IPv4 and IPv6 with extension
//! headers. Payloads are not needed: the number of bytes cut off by the snap length is known from
//! the lengths in the headers.

use crate::ids::Start;
use crate::quic::{self, Head};
use crate::reader::{Raw, ETHERNET};
use etherparse::{
    EtherType, LaxNetSlice, LaxSlicedPacket, TcpOptionElement, TcpSlice, TransportSlice, UdpSlice,
};
use std::net::IpAddr;

/// Maximum number of SACK blocks in an option.
pub const SACK_BLOCKS: usize = 4;
const UDP_HEADER: u32 = 8;

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    /// IP address.
    pub address: IpAddr,
    /// Port number.
    pub port: u16,
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.address {
            IpAddr::V4(a) => write!(f, "{a}:{}", self.port),
            IpAddr::V6(a) => write!(f, "[{a}]:{}", self.port),
        }
    }
}

/// A TCP segment, or several that an interface has merged or not yet split (GSO, GRO).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // TCP's terms
pub struct Segment {
    pub from: End,
    pub to: End,
    pub seq: u32,
    pub ack: u32,
    pub syn: bool,
    pub fin: bool,
    pub rst: bool,
    pub has_ack: bool,
    /// CE mark of the IP header, and ECE flag.
    pub marked: bool,
    pub window: u16,
    /// Payload bytes, captured or not.
    pub payload: u32,
    /// Bytes of the IP packet.
    pub ip_bytes: u32,
    /// Identification of an IPv4 packet; 0 for IPv6.
    pub id: u16,
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    /// Timestamp and echo.
    pub stamps: Option<(u32, u32)>,
    pub sacks: [(u32, u32); SACK_BLOCKS],
    pub sack_count: usize,
}

impl Segment {
    /// Blocks of the SACK option.
    pub fn sacks(&self) -> &[(u32, u32)] {
        &self.sacks[..self.sack_count]
    }
}

/// A UDP datagram, or several that an interface has merged or not yet split (GSO, GRO).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Source.
    pub from: End,
    /// Destination.
    pub to: End,
    /// Payload bytes, captured or not.
    pub payload: u32,
    /// Bytes of the IP packet.
    pub ip_bytes: u32,
    /// Interpretation of its first byte as QUIC.
    pub head: Head,
    /// First bytes of its payload.
    pub start: Start,
}

/// Contents of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// TCP.
    Tcp(Segment),
    /// UDP.
    Udp(Datagram),
    /// A fragment of an IP packet other than the first.
    Fragment,
    /// IP, but neither TCP nor UDP.
    OtherIp,
    /// Not IP.
    NotIp,
    /// Headers truncated or damaged.
    Cut,
    /// Unsupported link type.
    UnknownLink(i32),
}

/// Parses the headers of a packet.
pub fn read(raw: &Raw<'_>) -> Contents {
    let Some((sliced, ip_at)) = slice(raw) else { return unread(raw) };
    let Some(net) = &sliced.net else {
        return if sliced.stop_err.is_some() { Contents::Cut } else { Contents::NotIp };
    };
    let Some(ip) = Ip::of(net, raw, ip_at) else { return Contents::NotIp };
    if ip.later_fragment {
        return Contents::Fragment;
    }
    match &sliced.transport {
        Some(TransportSlice::Tcp(tcp)) => segment(tcp, &ip, raw).map_or(Contents::Cut, Contents::Tcp),
        Some(TransportSlice::Udp(udp)) => datagram(udp, &ip).map_or(Contents::Cut, Contents::Udp),
        Some(_) => Contents::OtherIp,
        None if sliced.stop_err.is_some() || ip.protocol == 6 => Contents::Cut,
        None => Contents::OtherIp,
    }
}

/// The packet split into headers, and the length of the link-layer header.
fn slice<'a>(raw: &Raw<'a>) -> Option<(LaxSlicedPacket<'a>, usize)> {
    let by_type = |at: usize, kind: usize| {
        let word = raw.data.get(kind..kind + 2)?;
        let kind = EtherType(u16::from_be_bytes([word[0], word[1]]));
        Some((LaxSlicedPacket::from_ether_type(kind, raw.data.get(at..)?), at))
    };
    let ip_from = |at: usize| Some((LaxSlicedPacket::from_ip(raw.data.get(at..)?).ok()?, at));
    match raw.link_type {
        // Length of the link-layer header, from the position of the IP header.
        ETHERNET => Some((LaxSlicedPacket::from_ethernet(raw.data).ok()?, 14)),
        113 => by_type(16, 14),
        276 => by_type(20, 0),
        // BSD loopback, and raw IP under its several link types.
        0 | 108 => ip_from(4),
        12 | 14 | 101 | 228 | 229 => ip_from(0),
        _ => None,
    }
}

fn unread(raw: &Raw<'_>) -> Contents {
    match raw.link_type {
        ETHERNET | 113 | 276 | 0 | 108 | 12 | 14 | 101 | 228 | 229 => Contents::Cut,
        other => Contents::UnknownLink(other),
    }
}

/// Fields of the IP headers.
struct Ip {
    from: IpAddr,
    to: IpAddr,
    protocol: u8,
    /// Length of the packet, and of the headers before TCP or UDP.
    bytes: u32,
    headers: u32,
    id: u16,
    marked: bool,
    later_fragment: bool,
}

impl Ip {
    fn of(net: &LaxNetSlice<'_>, raw: &Raw<'_>, link: usize) -> Option<Ip> {
        let at = |part: &[u8]| (part.as_ptr() as usize).wrapping_sub(raw.data.as_ptr() as usize);
        match net {
            LaxNetSlice::Ipv4(v4) => {
                let (h, p) = (v4.header(), v4.payload());
                let begin = at(h.slice());
                // With segmentation offload the length may be 0: it exceeds the field (BIG TCP).
                let said = u32::from(h.total_len());
                let bytes = if said == 0 { raw.length.saturating_sub(begin as u32) } else { said };
                let later_fragment = h.fragments_offset().value() > 0;
                Some(Ip {
                    from: IpAddr::V4(h.source_addr()),
                    to: IpAddr::V4(h.destination_addr()),
                    protocol: p.ip_number.0,
                    bytes,
                    headers: at(p.payload).wrapping_sub(begin) as u32,
                    id: h.identification(),
                    marked: h.ecn().value() == 3,
                    later_fragment,
                })
            }
            LaxNetSlice::Ipv6(v6) => {
                let (h, p) = (v6.header(), v6.payload());
                let begin = at(h.slice());
                let said = u32::from(h.payload_length());
                let bytes = if said == 0 { raw.length.saturating_sub(begin as u32) } else { said + 40 };
                Some(Ip {
                    from: IpAddr::V6(h.source_addr()),
                    to: IpAddr::V6(h.destination_addr()),
                    protocol: p.ip_number.0,
                    bytes,
                    headers: at(p.payload).wrapping_sub(begin) as u32,
                    id: 0,
                    marked: h.traffic_class() & 3 == 3,
                    later_fragment: false,
                })
            }
            LaxNetSlice::Arp(_) => {
                let _ = link;
                None
            }
        }
    }
}

fn datagram(udp: &UdpSlice<'_>, ip: &Ip) -> Option<Datagram> {
    Some(Datagram {
        from: End { address: ip.from, port: udp.source_port() },
        to: End { address: ip.to, port: udp.destination_port() },
        payload: ip.bytes.checked_sub(ip.headers)?.checked_sub(UDP_HEADER)?,
        ip_bytes: ip.bytes,
        head: quic::head(udp.payload()),
        start: Start::of(udp.payload()),
    })
}

fn segment(tcp: &TcpSlice<'_>, ip: &Ip, raw: &Raw<'_>) -> Option<Segment> {
    let length = u32::from(tcp.data_offset()) * 4;
    let payload = ip.bytes.checked_sub(ip.headers)?.checked_sub(length)?;
    // A header that claims more than the packet contains is damaged.
    if ip.bytes > raw.length.max(raw.data.len() as u32) {
        return None;
    }
    let mut s = Segment {
        from: End { address: ip.from, port: tcp.source_port() },
        to: End { address: ip.to, port: tcp.destination_port() },
        seq: tcp.sequence_number(),
        ack: tcp.acknowledgment_number(),
        syn: tcp.syn(),
        fin: tcp.fin(),
        rst: tcp.rst(),
        has_ack: tcp.ack(),
        marked: ip.marked,
        window: tcp.window_size(),
        payload,
        ip_bytes: ip.bytes,
        id: ip.id,
        mss: None,
        window_scale: None,
        sack_permitted: false,
        stamps: None,
        sacks: [(0, 0); SACK_BLOCKS],
        sack_count: 0,
    };
    // Options after a damaged one are ignored.
    for option in tcp.options_iterator().map_while(Result::ok) {
        s.option(&option);
    }
    Some(s)
}

impl Segment {
    fn option(&mut self, option: &TcpOptionElement) {
        match option {
            TcpOptionElement::MaximumSegmentSize(mss) => self.mss = Some(*mss),
            TcpOptionElement::WindowScale(scale) => self.window_scale = Some((*scale).min(14)),
            TcpOptionElement::SelectiveAcknowledgementPermitted => self.sack_permitted = true,
            TcpOptionElement::Timestamp(value, echo) => self.stamps = Some((*value, *echo)),
            TcpOptionElement::SelectiveAcknowledgement(first, rest) => {
                let blocks = std::iter::once(*first).chain(rest.iter().flatten().copied());
                self.sack_count = 0;
                for (slot, block) in self.sacks.iter_mut().zip(blocks) {
                    *slot = block;
                    self.sack_count += 1;
                }
            }
            TcpOptionElement::Noop => {}
        }
    }
}
