// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parser for TCP SYN packets, and the resets that answer them if the server rejects a connection.

use crate::system;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const TCP: u8 = 6;
const RST_AND_ACK: u8 = 0x14;
/// Bytes of a TCP header without options.
const TCP_HEADER: usize = 20;
/// Option kind of MPTCP (RFC 8684).
const MPTCP: u8 = 30;

/// Fields of a SYN that the gateway uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Syn {
    /// Address of the client.
    pub from: SocketAddr,
    /// Address of the server.
    pub to: SocketAddr,
    /// DSCP and ECN field: IPv4 TOS or IPv6 traffic class.
    pub traffic_class: u8,
    /// Sequence number of the SYN.
    pub sequence: u32,
    /// Whether it adds a subflow to an MPTCP connection (MP_JOIN), which may not cross this gateway.
    pub joins: bool,
}

impl Syn {
    /// Parses a packet that starts with its IP header; `None` if it is not TCP or is truncated. The
    /// SYN flag is not checked: the caller's filter passes only SYNs.
    #[must_use]
    pub fn read(packet: &[u8]) -> Option<Syn> {
        let (from, to, traffic_class, tcp) = match packet.first()? >> 4 {
            4 => read_v4(packet)?,
            6 => read_v6(packet)?,
            _ => return None,
        };
        let port = |at: usize| Some(u16::from_be_bytes([*tcp.get(at)?, *tcp.get(at + 1)?]));
        let sequence = u32::from_be_bytes(tcp.get(4..8)?.try_into().ok()?);
        let header = usize::from(tcp.get(12)? >> 4) * 4;
        let options = tcp.get(TCP_HEADER..header.min(tcp.len())).unwrap_or(&[]);
        Some(Syn {
            from: SocketAddr::new(from, port(0)?),
            to: SocketAddr::new(to, port(2)?),
            traffic_class,
            sequence,
            joins: joins(options),
        })
    }

    /// IP packet with the reset (RST, ACK) by which the server would reject the SYN.
    #[must_use]
    pub fn reset(&self) -> Vec<u8> {
        let mut tcp = [0; TCP_HEADER];
        tcp[..2].copy_from_slice(&self.to.port().to_be_bytes());
        tcp[2..4].copy_from_slice(&self.from.port().to_be_bytes());
        tcp[8..12].copy_from_slice(&self.sequence.wrapping_add(1).to_be_bytes());
        tcp[12] = 5 << 4;
        tcp[13] = RST_AND_ACK;
        let length = (TCP_HEADER as u16).to_be_bytes();
        let (mut packet, pseudo) = match (self.to.ip(), self.from.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                // The kernel computes the checksum of this header.
                let mut header = vec![0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, TCP, 0, 0];
                header.extend(from.octets());
                header.extend(to.octets());
                (header, [&from.octets()[..], &to.octets(), &[0, TCP], &length].concat())
            }
            (from, to) => {
                let (from, to) = (v6(from), v6(to));
                let mut header = vec![0x60, 0, 0, 0, 0, 20, TCP, 64];
                header.extend(from.octets());
                header.extend(to.octets());
                (header, [&from.octets()[..], &to.octets(), &[0, 0], &length, &[0, 0, 0, TCP]].concat())
            }
        };
        let sum = checksum(&[&pseudo, &tcp]);
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        packet.extend(tcp);
        packet
    }
}

/// Sends a reset to the client in the name of the server, which has rejected the connection.
///
/// # Errors
/// EPERM without CAP_NET_RAW, otherwise those of `sendto`.
pub fn refuse(syn: &Syn) -> io::Result<()> {
    let socket = system::raw_socket(syn.from.is_ipv6())?;
    // Raw IPv6 sockets reject addresses with a port.
    system::send_packet(&socket, &syn.reset(), SocketAddr::new(syn.from.ip(), 0))
}

/// Source, destination, traffic class, and the packet from its TCP header on.
type Parts<'a> = (IpAddr, IpAddr, u8, &'a [u8]);

fn read_v4(packet: &[u8]) -> Option<Parts<'_>> {
    let address = |at: usize| {
        let bytes: [u8; 4] = packet.get(at..at + 4)?.try_into().ok()?;
        Some(IpAddr::V4(Ipv4Addr::from(bytes)))
    };
    let header = usize::from(packet[0] & 15) * 4;
    (*packet.get(9)? == TCP).then_some(())?;
    Some((address(12)?, address(16)?, packet[1], packet.get(header..)?))
}

fn read_v6(packet: &[u8]) -> Option<Parts<'_>> {
    let address = |at: usize| {
        let bytes: [u8; 16] = packet.get(at..at + 16)?.try_into().ok()?;
        Some(IpAddr::V6(Ipv6Addr::from(bytes)))
    };
    let (mut next, mut at) = (*packet.get(6)?, 40);
    // Extension headers: hop-by-hop options, routing, destination options.
    while matches!(next, 0 | 43 | 60) {
        next = *packet.get(at)?;
        at += (usize::from(*packet.get(at + 1)?) + 1) * 8;
    }
    (next == TCP).then_some(())?;
    let traffic_class = packet[0] << 4 | packet[1] >> 4;
    Some((address(8)?, address(24)?, traffic_class, packet.get(at..)?))
}

/// Whether the TCP options contain MP_JOIN.
fn joins(mut options: &[u8]) -> bool {
    while let [kind, rest @ ..] = options {
        match (kind, rest) {
            (0, _) | (_, []) => return false,
            (1, _) => options = rest,
            (_, [length, content @ ..]) => {
                if *kind == MPTCP && content.first().is_some_and(|c| c >> 4 == 1) {
                    return true;
                }
                match options.get(usize::from(*length).max(2)..) {
                    Some(rest) => options = rest,
                    None => return false,
                }
            }
        }
    }
    false
}

fn v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

/// Internet checksum (RFC 1071) over the concatenated parts, all but the last of even length.
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let mut sum: u32 = words.map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::{checksum, Syn};

    fn v4_syn(options: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0xb8, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 1, 0, 1, 10, 2, 0, 1];
        let words = 5 + options.len() / 4;
        packet.extend([0x30, 0x39, 0, 80, 0, 0, 0, 7, 0, 0, 0, 0, (words as u8) << 4, 2, 0, 0, 0, 0, 0, 0]);
        packet.extend(options);
        packet
    }

    #[test]
    fn a_syn_has_addresses_class_and_sequence_number() {
        let syn = Syn::read(&v4_syn(&[])).expect("a SYN");
        assert_eq!(syn.from, "10.1.0.1:12345".parse().expect("address"));
        assert_eq!(syn.to, "10.2.0.1:80".parse().expect("address"));
        assert_eq!((syn.traffic_class, syn.sequence, syn.joins), (0xb8, 7, false));
    }

    #[test]
    fn extension_headers_are_skipped() {
        let mut packet = vec![0x60; 1];
        packet.extend([0, 0, 0, 0, 28, 0, 64]);
        packet.extend([0xfd; 16]);
        packet.extend([0xfe; 16]);
        packet.extend([6, 0, 1, 4, 0, 0, 0, 0]);
        packet.extend(&v4_syn(&[])[20..]);
        assert_eq!(Syn::read(&packet).expect("a SYN").to.port(), 80);
    }

    #[test]
    fn an_mptcp_join_is_recognised_after_other_options() {
        assert!(
            Syn::read(&v4_syn(&[1, 1, 30, 12, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])).expect("a SYN").joins
        );
        assert!(
            !Syn::read(&v4_syn(&[1, 1, 30, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])).expect("a SYN").joins
        );
    }

    #[test]
    fn a_reset_acknowledges_the_syn_and_has_a_valid_checksum() {
        let reset = Syn::read(&v4_syn(&[])).expect("a SYN").reset();
        let tcp = &reset[20..];
        assert_eq!((&tcp[..4], tcp[13]), (&[0, 80, 0x30, 0x39][..], 0x14));
        assert_eq!(tcp[8..12], [0, 0, 0, 8]);
        let pseudo = [10, 2, 0, 1, 10, 1, 0, 1, 0, 6, 0, 20];
        assert_eq!(checksum(&[&pseudo, tcp]), 0);
    }

    #[test]
    fn damaged_packets_do_not_panic() {
        let packet = v4_syn(&[2, 4, 5, 0xb4, 30, 12, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for length in 0..packet.len() {
            for value in [0, 1, 15, 0x60, 255] {
                let mut damaged = packet[..length].to_vec();
                if let Some(last) = damaged.last_mut() {
                    *last = value;
                }
                let _ = Syn::read(&damaged);
            }
        }
    }
}
