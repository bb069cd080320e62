// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RTTs of connections of programs, from their packets at the hosts' interfaces: of TCP by the rules
//! for real flows, of QUIC by its handshake and spin bit (RFC 9000 section 17.4, RFC 9312 section
//! 4.2), which programs need not set.

use crate::frames::{half, transport, TCP, UDP, UDP_HEADER};
use crate::meter::{Header, Meter, ACK, SYN};
use perigee_capture::quic::{head, Head, LongHeader, QuicConnection};
use perigee_sim::Side;
use perigee_units::Nanos;
use std::collections::BTreeMap;

/// Maximum number of connections of a flow; beyond it, the one without packets for longest is
/// forgotten.
const MOST: usize = 1024;
/// Fragments after the first have no ports (RFC 791).
const FRAGMENT_OFFSET: u16 = 0x1fff;

/// IP version and protocol, and the ports at the flow's source and destination.
type Key = (u8, u8, u16, u16);

/// Connections of programs over a flow.
#[derive(Clone, Debug, Default)]
pub struct Conversations(BTreeMap<Key, Conversation>);

#[derive(Clone, Debug)]
struct Conversation {
    last: Nanos,
    of: Protocol,
}

#[derive(Clone, Debug)]
enum Protocol {
    /// Meters at the flow's source and destination.
    Tcp(Box<[Meter; 2]>),
    /// The end of the client, at which its packets are seen.
    Quic { client: Side, seen: Box<QuicConnection> },
}

impl Conversations {
    /// Processes a packet that an end sends into the network. Returns an RTT that ends with it.
    pub fn entered(&mut self, at: Nanos, from: Side, packet: &[u8]) -> Option<Nanos> {
        self.see(at, from, packet, true)
    }

    /// Processes a packet of the other end that has reached `to`. Returns an RTT that ends with it.
    pub fn arrived(&mut self, at: Nanos, to: Side, packet: &[u8]) -> Option<Nanos> {
        self.see(at, to, packet, false)
    }

    /// `side`: the end at which the packet is seen.
    fn see(&mut self, at: Nanos, side: Side, packet: &[u8], leaves: bool) -> Option<Nanos> {
        let (header, protocol) = transport(packet)?;
        let version = packet[0] >> 4;
        if version == 4 && half(packet, 6)? & FRAGMENT_OFFSET != 0 {
            return None;
        }
        let (mut near, mut far) = (half(packet, header)?, half(packet, header + 2)?);
        if !leaves {
            (near, far) = (far, near);
        }
        let key = match side {
            Side::Source => (version, protocol, near, far),
            Side::Destination => (version, protocol, far, near),
        };
        match protocol {
            TCP => self.see_tcp(at, side, key, (packet, header), leaves),
            UDP => self.see_quic(at, side, key, packet.get(header + UDP_HEADER..)?, leaves),
            _ => None,
        }
    }

    fn see_tcp(
        &mut self,
        at: Nanos,
        side: Side,
        key: Key,
        (packet, header): (&[u8], usize),
        leaves: bool,
    ) -> Option<Nanos> {
        let opens = leaves && Header::read(packet, header)?.flags & (SYN | ACK) == SYN;
        if opens {
            self.open(key, at, Protocol::Tcp(Box::default()));
        }
        let found = self.0.get_mut(&key)?;
        found.last = at;
        let Protocol::Tcp(meters) = &mut found.of else { return None };
        let meter = &mut meters[usize::from(side == Side::Destination)];
        if leaves {
            meter.sent(at, packet, header);
            return None;
        }
        meter.arrived(at, packet, header)
    }

    fn see_quic(&mut self, at: Nanos, side: Side, key: Key, payload: &[u8], leaves: bool) -> Option<Nanos> {
        let head = head(payload);
        if leaves && head == Head::Long(LongHeader::Initial) && !self.0.contains_key(&key) {
            let seen = Box::new(QuicConnection::new(at));
            self.open(key, at, Protocol::Quic { client: side, seen });
        }
        let found = self.0.get_mut(&key)?;
        let Protocol::Quic { client, seen } = &mut found.of else { return None };
        // At its client's interface: its own packets as they leave, in order, and those of the server
        // as they arrive.
        if side != *client {
            return None;
        }
        found.last = at;
        if seen.shake(at, usize::from(!leaves), head) {
            return seen.rtt();
        }
        match head {
            Head::Short { spin } if leaves => {
                let usual = seen.rtt();
                seen.ways[0].spin.see(at, spin, usual)
            }
            _ => None,
        }
    }

    fn open(&mut self, key: Key, at: Nanos, of: Protocol) {
        if self.0.len() >= MOST && !self.0.contains_key(&key) {
            let oldest = self.0.iter().min_by_key(|(_, c)| c.last).map(|(key, _)| *key);
            oldest.and_then(|key| self.0.remove(&key));
        }
        self.0.insert(key, Conversation { last: at, of });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Side::{Destination, Source};

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    /// An IPv4 packet between ports.
    fn ip(protocol: u8, ports: (u16, u16), rest: &[u8]) -> Vec<u8> {
        let mut p = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol];
        p.resize(20, 0);
        p.extend(ports.0.to_be_bytes());
        p.extend(ports.1.to_be_bytes());
        p.extend(rest);
        p
    }

    fn tcp(ports: (u16, u16), sequence: u32, ack: u32, flags: u8, payload: usize) -> Vec<u8> {
        ip(TCP, ports, &crate::meter::tests::packet(sequence, ack, flags, payload)[4..])
    }

    fn udp(ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
        ip(UDP, ports, &[&[0; 4], payload].concat())
    }

    const INITIAL: [u8; 7] = [0xc0, 0, 0, 0, 1, 0, 0];

    #[test]
    fn both_directions_of_tcp_have_rtts() {
        let mut c = Conversations::default();
        let (there, back) = ((4000, 80), (80, 4000));
        let mut at = |ms: u64, side: Side, leaves: bool, packet: &[u8]| match leaves {
            true => c.entered(MS(ms), side, packet),
            false => c.arrived(MS(ms), side, packet),
        };
        assert_eq!(at(0, Source, true, &tcp(there, 100, 0, SYN, 0)), None);
        assert_eq!(at(20, Destination, true, &tcp(back, 500, 101, SYN | ACK, 0)), None);
        assert_eq!(at(50, Source, true, &tcp(there, 101, 501, ACK, 700)), None);
        assert_eq!(at(70, Destination, true, &tcp(back, 501, 801, ACK, 900)), None);
        assert_eq!(at(90, Source, false, &tcp(back, 501, 801, ACK, 900)), Some(MS(40)));
        assert_eq!(at(99, Destination, false, &tcp(there, 801, 1401, ACK, 0)), Some(MS(29)));
        // Packets of a connection with an unknown start have no position.
        assert_eq!(at(99, Source, false, &tcp((80, 4001), 501, 801, ACK, 900)), None);
    }

    #[test]
    fn the_spin_bit_and_the_handshake_of_quic_have_rtts() {
        let mut c = Conversations::default();
        let (there, back) = ((4000, 443), (443, 4000));
        assert_eq!(c.entered(MS(0), Source, &udp(there, &INITIAL)), None);
        assert_eq!(c.arrived(MS(40), Source, &udp(back, &INITIAL)), None);
        assert_eq!(c.entered(MS(41), Source, &udp(there, &INITIAL)), Some(MS(41)));
        let mut found = Vec::new();
        for ms in 50..400u64 {
            let first = 0x40 | if ms / 40 % 2 == 1 { 0x20 } else { 0 };
            // The server's packets, and long headers between short ones, make no edges.
            c.arrived(MS(ms), Source, &udp(back, &[first ^ 0x20]));
            c.entered(MS(ms), Destination, &udp(back, &[first ^ 0x20]));
            c.entered(MS(ms), Source, &udp(there, &INITIAL));
            found.extend(c.entered(MS(ms), Source, &udp(there, &[first])));
        }
        assert_eq!(found, vec![MS(40); 7]);
    }

    #[test]
    fn datagrams_that_are_not_quic_have_no_rtt() {
        let mut c = Conversations::default();
        for ms in 0..400 {
            let first = 0x40 | if ms / 40 % 2 == 1 { 0x20 } else { 0 };
            assert_eq!(c.entered(MS(ms), Source, &udp((4000, 443), &[first])), None);
        }
        // Nor have fragments, which begin with data instead of ports.
        let mut fragment = udp((4000, 443), &INITIAL);
        fragment[7] = 1;
        assert_eq!(c.entered(MS(0), Source, &fragment), None);
        assert!(c.0.is_empty());
    }

    #[test]
    fn connections_are_forgotten_beyond_a_number() {
        let mut c = Conversations::default();
        for port in 0..2 * MOST as u16 {
            c.entered(MS(port.into()), Source, &udp((port, 443), &INITIAL));
        }
        assert_eq!(c.0.len(), MOST);
        assert_eq!(c.0.keys().map(|k| k.2).min(), Some(MOST as u16));
        assert_eq!(c.entered(MS(1), Source, &udp((1, 443), &[])), None, "an empty datagram");
        assert_eq!(c.entered(MS(1), Source, &[0x45]), None);
    }
}
