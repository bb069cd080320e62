// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Headers of captured packets: IPv4 or IPv6, TCP or UDP, with valid checksums. Payloads are zeros,
//! which are not stored and do not affect the checksum.

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Host number, from 0.
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

/// TCP fields of a packet.
#[derive(Clone, Debug, Default)]
pub struct Tcp<'a> {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Flags.
    pub flags: u8,
    /// Timestamp value and echo; `None` = no timestamp option.
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
    /// All options of a hop-by-hop header, padded: the packet is IPv6.
    Options(&'a [u8]),
    /// A destination option of type 0x1E with the echo: the packet is IPv6.
    Destination(&'a [u8]),
}

/// A window that never limits: 65535 << 14.
const WINDOW: u16 = u16::MAX;
/// Window scale of the SYN.
const WINDOW_SCALE: u8 = 14;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Writes the headers of a TCP packet with a payload of `payload` zero bytes; `ecn`: ECN field of
/// its IP header. Replaces the contents of `out`.
pub fn tcp_packet(
    out: &mut Vec<u8>,
    from: Endpoint,
    to: Endpoint,
    tcp: &Tcp<'_>,
    payload: u32,
    ecn: u8,
    telemetry: Telemetry<'_>,
) {
    let ip = Ip { from, to, protocol: TCP, ecn };
    let start = ip_header(out, ip, telemetry);
    out.extend(from.port.to_be_bytes());
    out.extend(to.port.to_be_bytes());
    out.extend(tcp.seq.to_be_bytes());
    out.extend(tcp.ack.to_be_bytes());
    // The header length, in 32-bit words, is set later.
    out.extend([0, tcp.flags]);
    out.extend(WINDOW.to_be_bytes());
    out.extend([0; 4]);
    tcp_options(out, tcp);
    out[start + 12] = ((out.len() - start) as u8 / 4) << 4;
    finish(out, ip, start, start + 16, payload, telemetry);
}

/// Writes the headers of a UDP packet. Replaces the contents of `out`.
pub fn udp_packet(out: &mut Vec<u8>, from: Endpoint, to: Endpoint, payload: u32) {
    let ip = Ip { from, to, protocol: UDP, ecn: 0 };
    let start = ip_header(out, ip, Telemetry::None);
    out.extend(from.port.to_be_bytes());
    out.extend(to.port.to_be_bytes());
    out.extend((8 + payload as u16).to_be_bytes());
    out.extend([0; 2]);
    finish(out, ip, start, start + 6, payload, Telemetry::None);
}

fn tcp_options(out: &mut Vec<u8>, tcp: &Tcp<'_>) {
    let start = out.len();
    if let Some(mss) = tcp.syn_mss {
        out.extend([2, 4]);
        out.extend(mss.to_be_bytes());
        out.extend([4, 2, 3, 3, WINDOW_SCALE, 1]);
    }
    if let Some((value, echo)) = tcp.timestamps {
        out.extend([1, 1, 8, 10]);
        out.extend(value.to_be_bytes());
        out.extend(echo.to_be_bytes());
    }
    // 40 bytes have room for three blocks in addition to timestamps.
    let fits = (40 - (out.len() - start)).saturating_sub(4) / 8;
    let blocks = &tcp.sack[..tcp.sack.len().min(fits)];
    if !blocks.is_empty() {
        out.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
        for (start, end) in blocks {
            out.extend(start.to_be_bytes());
            out.extend(end.to_be_bytes());
        }
    }
    while (out.len() - start) % 4 != 0 {
        out.push(1);
    }
}

/// Fields of IP headers of both versions.
#[derive(Clone, Copy)]
struct Ip {
    from: Endpoint,
    to: Endpoint,
    protocol: u8,
    ecn: u8,
}

/// Writes an IP header, with zero length and checksum for now, and its extension; returns the
/// offset of the next header.
fn ip_header(out: &mut Vec<u8>, ip: Ip, telemetry: Telemetry<'_>) -> usize {
    out.clear();
    let (next, kind, block) = match telemetry {
        Telemetry::None => {
            out.extend([0x45, ip.ecn, 0, 0, 0, 0, 0x40, 0, 64, ip.protocol, 0, 0]);
            out.extend(v4(ip.from.host));
            out.extend(v4(ip.to.host));
            return out.len();
        }
        Telemetry::HopByHop(block) | Telemetry::Options(block) => (0, 0x3E, block),
        Telemetry::Destination(block) => (60, 0x1E, block),
    };
    // The traffic class spans the first two bytes; ECN is its last two bits.
    out.extend([0x60, ip.ecn << 4, 0, 0, 0, 0, next, 64]);
    out.extend(v6(ip.from.host));
    out.extend(v6(ip.to.host));
    match telemetry {
        Telemetry::Options(area) => {
            out.extend([ip.protocol, ((2 + area.len()) / 8 - 1) as u8]);
            out.extend(area);
        }
        _ => option(out, ip.protocol, kind, block),
    }
    out.len()
}

/// Fills in the length and the checksums of a packet with a TCP or UDP header at `start`.
fn finish(out: &mut [u8], ip: Ip, start: usize, checksum_at: usize, payload: u32, telemetry: Telemetry<'_>) {
    let length = (out.len() - start) as u32 + payload;
    let mut sum = Sum::default();
    if telemetry == Telemetry::None {
        out[2..4].copy_from_slice(&(20 + length as u16).to_be_bytes());
        let mut header = Sum::default();
        header.add(&out[..20]);
        out[10..12].copy_from_slice(&header.finish().to_be_bytes());
        sum.add(&out[12..20]);
    } else {
        let after = (start - 40) as u16 + length as u16;
        out[4..6].copy_from_slice(&after.to_be_bytes());
        sum.add(&out[8..40]);
    }
    sum.add(&u32::from(ip.protocol).to_be_bytes());
    sum.add(&length.to_be_bytes());
    sum.add(&out[start..]);
    // A computed UDP checksum of zero is sent as all ones, since zero means "no checksum".
    let checksum = match sum.finish() {
        0 if ip.protocol == UDP => 0xFFFF,
        c => c,
    };
    out[checksum_at..checksum_at + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// Extension header with one option, padded to a multiple of 8.
fn option(out: &mut Vec<u8>, next: u8, kind: u8, block: &[u8]) {
    // The option's length is a single byte: at most 255, which is 14 hops.
    let block = &block[..block.len().min(255)];
    let total = (4 + block.len()).next_multiple_of(8);
    let end = out.len() + total;
    out.extend([next, (total / 8 - 1) as u8, kind, block.len() as u8]);
    out.extend(block);
    match end - out.len() {
        0 => {}
        1 => out.push(0),
        n => {
            out.extend([1, n as u8 - 2]);
            out.resize(end, 0);
        }
    }
}

/// Address 10.x.y.z with the host number, from 1.
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

/// Internet checksum (RFC 1071) over pieces of even length.
#[derive(Default)]
struct Sum(u32);

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        let pairs = bytes.chunks_exact(2);
        let odd = pairs.remainder().first().map_or(0, |&last| u32::from(last) << 8);
        self.0 += odd + pairs.map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum::<u32>();
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

    fn tcp(tcp: &Tcp<'_>, payload: u32, ecn: u8, telemetry: Telemetry<'_>) -> Vec<u8> {
        // The buffer's former contents must leave no trace.
        let mut out = vec![0xFF; 100];
        tcp_packet(&mut out, A, B, tcp, payload, ecn, telemetry);
        out
    }

    fn checksum_of(bytes: &[u8]) -> u16 {
        let mut s = Sum::default();
        s.add(bytes);
        s.finish()
    }

    #[test]
    fn headers_sum_to_zero_with_their_checksum() {
        let sack = [(3000, 4448), (6000, 7448), (9000, 9500), (1, 2)];
        let header =
            Tcp { seq: 1, ack: 7, flags: flag::ACK, timestamps: Some((5, 6)), sack: &sack, syn_mss: None };
        let p = tcp(&header, 0, 0, Telemetry::None);
        assert_eq!(checksum_of(&p[..20]), 0);
        let pseudo = [&p[12..20], &[0, 6, 0, (p.len() - 20) as u8]].concat();
        assert_eq!(checksum_of(&[&pseudo, &p[20..]].concat()), 0);
        assert_eq!(p.len(), 20 + 20 + 12 + 28, "three of the four SACK blocks fit");
    }

    #[test]
    fn the_ecn_field_is_the_end_of_the_type_of_service_and_under_the_checksum() {
        let header = Tcp { flags: flag::ACK, ..Tcp::default() };
        for ecn in 0..4 {
            let p = tcp(&header, 500, ecn, Telemetry::None);
            assert_eq!((p[1], checksum_of(&p[..20])), (ecn, 0));
        }
    }

    #[test]
    fn telemetry_is_an_ipv6_option_padded_to_eight() {
        let block = [7; 8 + 17];
        let header = Tcp { flags: flag::ACK, ..Tcp::default() };
        let p = tcp(&header, 1000, 1, Telemetry::HopByHop(&block));
        assert_eq!((p[0] >> 4, p[6], p[40], p[42], p[43]), (6, 0, 6, 0x3E, 25));
        assert_eq!(p.len(), 40 + 32 + 20);
        assert_eq!(u32::from_be_bytes([p[0], p[1], p[2], p[3]]), 0x6010_0000, "ECT(1) in the traffic class");
        assert_eq!(u16::from_be_bytes([p[4], p[5]]), 32 + 20 + 1000);
    }

    #[test]
    fn options_of_a_hop_by_hop_header_are_written_as_they_are() {
        let area = [1, 0, 0x31, 10, 0, 0, 0, 0, 0x18, 0, 0x92, 0, 0, 0];
        let header = Tcp { flags: flag::ACK, ..Tcp::default() };
        let p = tcp(&header, 1000, 1, Telemetry::Options(&area));
        assert_eq!((p[6], p[40], p[41], &p[42..56]), (0, 6, 1, &area[..]));
        assert_eq!(u16::from_be_bytes([p[4], p[5]]), 16 + 20 + 1000);
    }
}
