// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Headers of captured packets: IPv4 or IPv6, TCP or UDP, with valid checksums. Payloads are zeros that are not
//! stored; their checksum is therefore the checksum of the headers.

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Number of the host, from 0.
    pub host: u32,
    /// Port.
    pub port: u16,
}

/// TCP flags.
#[allow(missing_docs)]
pub mod flag {
    pub const SYN: u8 = 0x02;
    pub const PSH: u8 = 0x08;
    pub const ACK: u8 = 0x10;
}

/// The TCP part of a packet.
#[derive(Clone, Debug, Default)]
pub struct Tcp<'a> {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Flags.
    pub flags: u8,
    /// Timestamp value and echo; no option where absent.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks (sequence numbers).
    pub sack: &'a [(u32, u32)],
    /// Options of a SYN: MSS, SACK permitted, window scale.
    pub syn_mss: Option<u16>,
}

/// Telemetry on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telemetry<'a> {
    /// None: the packet is IPv4.
    None,
    /// A hop-by-hop option of type 0x3E with this block: the packet is IPv6.
    HopByHop(&'a [u8]),
    /// A destination option of type 0x1E with the echo: the packet is IPv6.
    Destination(&'a [u8]),
}

/// A window that never limits: 65535 << 14.
const WINDOW: u16 = u16::MAX;
/// Window scale of the SYN.
const WINDOW_SCALE: u8 = 14;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Headers of a TCP packet with `payload` bytes of zeros behind them; `ecn` is the ECN field of its IP header.
pub fn tcp_packet(
    from: Endpoint,
    to: Endpoint,
    tcp: &Tcp<'_>,
    payload: u32,
    ecn: u8,
    telemetry: Telemetry<'_>,
) -> Vec<u8> {
    let options = tcp_options(tcp);
    let mut segment = Vec::with_capacity(60);
    segment.extend(from.port.to_be_bytes());
    segment.extend(to.port.to_be_bytes());
    segment.extend(tcp.seq.to_be_bytes());
    segment.extend(tcp.ack.to_be_bytes());
    segment.push(((20 + options.len()) as u8 / 4) << 4);
    segment.push(tcp.flags);
    segment.extend(WINDOW.to_be_bytes());
    segment.extend([0; 4]);
    segment.extend(options);
    wrapped(Ip { from, to, protocol: TCP, ecn }, segment, 16, payload, telemetry)
}

/// Headers of a UDP packet.
pub fn udp_packet(from: Endpoint, to: Endpoint, payload: u32) -> Vec<u8> {
    let mut segment = Vec::with_capacity(8);
    segment.extend(from.port.to_be_bytes());
    segment.extend(to.port.to_be_bytes());
    segment.extend((8 + payload as u16).to_be_bytes());
    segment.extend([0; 2]);
    wrapped(Ip { from, to, protocol: UDP, ecn: 0 }, segment, 6, payload, Telemetry::None)
}

fn tcp_options(tcp: &Tcp<'_>) -> Vec<u8> {
    let mut o = Vec::with_capacity(40);
    if let Some(mss) = tcp.syn_mss {
        o.extend([2, 4]);
        o.extend(mss.to_be_bytes());
        o.extend([4, 2, 3, 3, WINDOW_SCALE, 1]);
    }
    if let Some((value, echo)) = tcp.timestamps {
        o.extend([1, 1, 8, 10]);
        o.extend(value.to_be_bytes());
        o.extend(echo.to_be_bytes());
    }
    // 40 bytes hold three blocks beside timestamps.
    let fits = (40 - o.len()).saturating_sub(4) / 8;
    let blocks = &tcp.sack[..tcp.sack.len().min(fits)];
    if !blocks.is_empty() {
        o.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
        for (start, end) in blocks {
            o.extend(start.to_be_bytes());
            o.extend(end.to_be_bytes());
        }
    }
    while o.len() % 4 != 0 {
        o.push(1);
    }
    o
}

/// What IP headers of both versions say.
#[derive(Clone, Copy)]
struct Ip {
    from: Endpoint,
    to: Endpoint,
    protocol: u8,
    ecn: u8,
}

fn wrapped(
    ip: Ip,
    mut segment: Vec<u8>,
    checksum_at: usize,
    payload: u32,
    telemetry: Telemetry<'_>,
) -> Vec<u8> {
    let length = segment.len() as u32 + payload;
    let Ip { from, to, protocol, .. } = ip;
    let mut packet = match telemetry {
        Telemetry::None => ipv4(ip, length),
        Telemetry::HopByHop(block) => ipv6(ip, length, 0, option(protocol, 0x3E, block)),
        Telemetry::Destination(block) => ipv6(ip, length, 60, option(protocol, 0x1E, block)),
    };
    let mut sum = Sum::default();
    match telemetry {
        Telemetry::None => sum.add(&[v4(from.host), v4(to.host)].concat()),
        _ => sum.add(&[v6(from.host), v6(to.host)].concat()),
    }
    sum.add(&u32::from(protocol).to_be_bytes());
    sum.add(&length.to_be_bytes());
    sum.add(&segment);
    // A UDP checksum of zero means "none": it is sent as all ones.
    let checksum = match sum.finish() {
        0 if protocol == UDP => 0xFFFF,
        c => c,
    };
    segment[checksum_at..checksum_at + 2].copy_from_slice(&checksum.to_be_bytes());
    packet.extend(segment);
    packet
}

fn ipv4(ip: Ip, length: u32) -> Vec<u8> {
    let mut h = vec![0x45, ip.ecn];
    h.extend((20 + length as u16).to_be_bytes());
    h.extend([0, 0, 0x40, 0, 64, ip.protocol, 0, 0]);
    h.extend(v4(ip.from.host));
    h.extend(v4(ip.to.host));
    let mut sum = Sum::default();
    sum.add(&h);
    let checksum = sum.finish().to_be_bytes();
    h[10..12].copy_from_slice(&checksum);
    h
}

fn ipv6(ip: Ip, length: u32, next: u8, extension: Vec<u8>) -> Vec<u8> {
    // The traffic class lies across the first two bytes; ECN is its last two bits.
    let mut h = vec![0x60, ip.ecn << 4, 0, 0];
    h.extend((extension.len() as u16 + length as u16).to_be_bytes());
    h.extend([next, 64]);
    h.extend(v6(ip.from.host));
    h.extend(v6(ip.to.host));
    h.extend(extension);
    h
}

/// An extension header with one option, padded to a multiple of 8.
fn option(next: u8, kind: u8, block: &[u8]) -> Vec<u8> {
    // One byte holds the option's length: 255 at most, which is 14 hops.
    let block = &block[..block.len().min(255)];
    let total = (4 + block.len()).next_multiple_of(8);
    let mut o = vec![next, (total / 8 - 1) as u8, kind, block.len() as u8];
    o.extend(block);
    match total - o.len() {
        0 => {}
        1 => o.push(0),
        n => {
            o.extend([1, n as u8 - 2]);
            o.resize(total, 0);
        }
    }
    o
}

/// 10.x.y.z, host number from 1.
fn v4(host: u32) -> [u8; 4] {
    (0x0A00_0000 + (host + 1) % 0x00FF_FFFF).to_be_bytes()
}

/// A unique local address (RFC 4193).
fn v6(host: u32) -> [u8; 16] {
    let mut a = [0; 16];
    a[0] = 0xFD;
    a[12..].copy_from_slice(&(host + 1).to_be_bytes());
    a
}

/// The Internet checksum (RFC 1071) over pieces of even length.
#[derive(Default)]
struct Sum(u32);

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        for pair in bytes.chunks(2) {
            self.0 += u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
        }
    }
    fn finish(self) -> u16 {
        let mut s = self.0;
        while s > 0xFFFF {
            s = (s & 0xFFFF) + (s >> 16);
        }
        !(s as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Endpoint = Endpoint { host: 0, port: 40_000 };
    const B: Endpoint = Endpoint { host: 1, port: 5_001 };

    fn checksum_of(bytes: &[u8]) -> u16 {
        let mut s = Sum::default();
        s.add(bytes);
        s.finish()
    }

    #[test]
    fn headers_sum_to_zero_with_their_checksum() {
        let sack = [(3000, 4448), (6000, 7448), (9000, 9500), (1, 2)];
        let tcp =
            Tcp { seq: 1, ack: 7, flags: flag::ACK, timestamps: Some((5, 6)), sack: &sack, syn_mss: None };
        let p = tcp_packet(A, B, &tcp, 0, 0, Telemetry::None);
        assert_eq!(checksum_of(&p[..20]), 0);
        let pseudo = [&p[12..20], &[0, 6, 0, (p.len() - 20) as u8]].concat();
        assert_eq!(checksum_of(&[&pseudo, &p[20..]].concat()), 0);
        assert_eq!(p.len(), 20 + 20 + 12 + 28, "three of the four SACK blocks fit");
    }

    #[test]
    fn the_ecn_field_is_the_end_of_the_type_of_service_and_under_the_checksum() {
        let tcp = Tcp { flags: flag::ACK, ..Tcp::default() };
        for ecn in 0..4 {
            let p = tcp_packet(A, B, &tcp, 500, ecn, Telemetry::None);
            assert_eq!((p[1], checksum_of(&p[..20])), (ecn, 0));
        }
    }

    #[test]
    fn telemetry_is_an_ipv6_option_padded_to_eight() {
        let block = [7; 8 + 17];
        let p = tcp_packet(
            A,
            B,
            &Tcp { flags: flag::ACK, ..Tcp::default() },
            1000,
            1,
            Telemetry::HopByHop(&block),
        );
        assert_eq!((p[0] >> 4, p[6], p[40], p[42], p[43]), (6, 0, 6, 0x3E, 25));
        assert_eq!(p.len(), 40 + 32 + 20);
        assert_eq!(u32::from_be_bytes([p[0], p[1], p[2], p[3]]), 0x6010_0000, "ECT(1) in the traffic class");
        assert_eq!(u16::from_be_bytes([p[4], p[5]]), 32 + 20 + 1000);
    }
}
