// SPDX-License-Identifier: Apache-2.0 OR MIT
//! QUIC as visible on the path (RFC 9000, RFC 9369, RFC 9312): long headers of the handshake,
//! sizes, and the spin bit. Everything else is encrypted: retransmissions, acknowledgements,
//! windows.

use crate::ids::LONGEST;
use perigee_units::Nanos;

/// Version 2 (RFC 9369), which numbers packet types differently.
const VERSION_2: u32 = 0x6b33_43cf;
/// Drafts that are identical to version 1 on the wire.
const DRAFTS: std::ops::RangeInclusive<u32> = 0xff00_001d..=0xff00_0022;
/// Packets of a client within this time form one flight: a ClientHello may need several.
const ONE_FLIGHT: Nanos = Nanos::from_millis(10);
/// Fraction of the RTT below which the interval between two edges of the spin bit is too short:
/// such an edge comes from an overtaken packet, or from an end that sets the bit at random.
const TOO_QUICK: f64 = 0.25;
/// One in this many packets between two edges may be overtaken, and one in any case; otherwise this
/// RTT and the next do not count.
const FEW: u64 = 8;

/// Type of a datagram, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// A long header: the handshake.
    Long(LongHeader),
    /// Possibly a short header, with the spin bit.
    Short {
        /// The bit.
        spin: bool,
    },
    /// Neither.
    Other,
}

/// Kinds of long headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // QUIC's terms
pub enum LongHeader {
    Initial,
    ZeroRtt,
    Handshake,
    Retry,
}

/// Parses the start of a datagram's payload.
pub fn head(payload: &[u8]) -> Head {
    let Some(&first) = payload.first() else { return Head::Other };
    if first & 0x40 == 0 {
        return Head::Other;
    }
    if first & 0x80 == 0 {
        return Head::Short { spin: first & 0x20 != 0 };
    }
    let version = payload.get(1..5).and_then(|v| v.try_into().ok()).map(u32::from_be_bytes);
    let Some(version) = version.filter(|v| *v == 1 || *v == VERSION_2 || DRAFTS.contains(v)) else {
        return Head::Other;
    };
    if payload.get(5).is_some_and(|id| usize::from(*id) > LONGEST) {
        return Head::Other;
    }
    // RFC 9369 section 3.2: the types of version 2 are those of version 1, incremented by one.
    let kind = (first >> 4).wrapping_sub(u8::from(version == VERSION_2)) & 3;
    Head::Long(
        [LongHeader::Initial, LongHeader::ZeroRtt, LongHeader::Handshake, LongHeader::Retry]
            [usize::from(kind)],
    )
}

/// A connection.
#[derive(Clone, Copy, Debug)]
pub struct QuicConnection {
    /// Both directions, the client's first.
    pub ways: [QuicDirection; 2],
    /// Time of the first packet.
    pub began: Nanos,
    /// Time of the latest packet.
    pub last: Nanos,
    /// Time from the client's first packet to the answer, and from there to the client's next
    /// packet.
    pub shares: Option<(Nanos, Nanos)>,
    asked: Option<Nanos>,
    answered: Option<Nanos>,
}

/// One direction of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct QuicDirection {
    /// Flow, once there is one.
    pub flow: Option<u32>,
    /// State of the spin bit.
    pub spin: Spin,
    /// Payload of its datagrams before there is a flow.
    pub bytes: u64,
}

impl QuicConnection {
    /// A connection opened by a packet with a long header.
    pub fn new(at: Nanos) -> Self {
        QuicConnection {
            ways: Default::default(),
            began: at,
            last: at,
            shares: None,
            asked: None,
            answered: None,
        }
    }

    /// Processes a packet of the handshake; true if its RTT has just become known.
    pub fn shake(&mut self, at: Nanos, i: usize, head: Head) -> bool {
        match (i, head, self.answered) {
            (0, Head::Long(LongHeader::Initial), None) => {
                // A packet retransmitted after a pause yields no RTT.
                let again = self.asked.is_some_and(|t| t + ONE_FLIGHT < at);
                self.asked = Some(if again { Nanos::MAX } else { at });
            }
            // The client restarts with the token.
            (1, Head::Long(LongHeader::Retry), None) => self.asked = None,
            (1, Head::Long(_), None) => self.answered = Some(at),
            (0, Head::Long(_) | Head::Short { .. }, Some(answered)) if self.shares.is_none() => {
                let asked = self.asked.filter(|t| *t <= answered);
                self.shares = asked.map(|t| (answered.saturating_sub(t), at.saturating_sub(answered)));
                // Later packets do not belong to the handshake.
                self.answered = self.shares.map(|_| answered);
                return self.shares.is_some();
            }
            _ => {}
        }
        false
    }

    /// RTT of the handshake.
    pub fn rtt(&self) -> Option<Nanos> {
        self.shares.map(|(there, here)| there + here)
    }
}

/// Spin bit of one direction: it changes once per RTT (RFC 9000 section 17.4).
#[derive(Clone, Copy, Debug, Default)]
pub struct Spin {
    value: Option<bool>,
    edge: Option<Nanos>,
    before: Option<Nanos>,
    packets: u64,
    quick: u64,
    wild: bool,
    /// Number of intervals between edges taken as RTTs.
    pub taken: u64,
    /// Number of intervals rejected because of too many changes in between.
    pub refused: u64,
}

impl Spin {
    /// Processes a packet with a short header; returns an RTT if it completes one. `usual`: the RTT
    /// known so far.
    pub fn see(&mut self, at: Nanos, spin: bool, usual: Option<Nanos>) -> Option<Nanos> {
        self.packets += 1;
        if self.value.is_none_or(|v| v == spin) {
            self.value = Some(spin);
            return None;
        }
        let since = self.edge.map(|edge| at.saturating_sub(edge));
        let yardstick = usual.or(self.before).map_or(0.0, |t| t.0 as f64 * TOO_QUICK);
        if since.is_some_and(|t| (t.0 as f64) < yardstick) {
            self.quick += 1;
            return None;
        }
        let wild = self.quick > 1.max(self.packets / FEW);
        let calm = !(wild || std::mem::replace(&mut self.wild, wild));
        (self.value, self.edge, self.packets, self.quick) = (Some(spin), Some(at), 0, 0);
        let rtt = since?;
        self.before = Some(rtt);
        self.taken += u64::from(calm);
        self.refused += u64::from(!calm);
        calm.then_some(rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_both_versions() {
        let long = |first: u8, version: u32| {
            let mut bytes = vec![first];
            bytes.extend(version.to_be_bytes());
            bytes.extend([8, 1, 2]);
            head(&bytes)
        };
        assert_eq!(long(0xc3, 1), Head::Long(LongHeader::Initial));
        assert_eq!(long(0xd3, 1), Head::Long(LongHeader::ZeroRtt));
        assert_eq!(long(0xe3, 1), Head::Long(LongHeader::Handshake));
        assert_eq!(long(0xf3, 1), Head::Long(LongHeader::Retry));
        assert_eq!(long(0xd3, VERSION_2), Head::Long(LongHeader::Initial));
        assert_eq!(long(0xc3, VERSION_2), Head::Long(LongHeader::Retry));
        assert_eq!(long(0xc3, 77), Head::Other);
        assert_eq!(long(0x83, 1), Head::Other, "without the fixed bit");
        assert_eq!(head(&[0x40]), Head::Short { spin: false });
        assert_eq!(head(&[0x7f, 1]), Head::Short { spin: true });
        assert_eq!(head(&[0x12]), Head::Other);
        assert_eq!(head(&[0xc0, 0, 0]), Head::Other);
        assert_eq!(head(&[]), Head::Other);
    }

    /// Samples for packets every millisecond, with the bit as a function of the time in ms.
    fn rtts(bit: impl Fn(u64) -> bool, usual: Option<Nanos>) -> (Vec<Nanos>, Spin) {
        let mut spin = Spin::default();
        let seen = (0..500).filter_map(|t| spin.see(Nanos::from_millis(t), bit(t), usual));
        let found = seen.collect();
        (found, spin)
    }

    #[test]
    fn an_rtt_lies_between_two_edges() {
        let (found, _) = rtts(|t| t / 50 % 2 == 1, Some(Nanos::from_millis(50)));
        assert_eq!(found, vec![Nanos::from_millis(50); 8]);
        let (found, _) = rtts(|t| t / 50 % 2 == 1, None);
        assert_eq!(found, vec![Nanos::from_millis(50); 8]);
    }

    #[test]
    fn a_packet_that_was_overtaken_makes_no_edge() {
        // The last packet of each period arrives 3 ms late.
        let bit = |t: u64| if t > 50 && t % 50 == 3 { t / 50 % 2 == 0 } else { t / 50 % 2 == 1 };
        let (found, _) = rtts(bit, Some(Nanos::from_millis(50)));
        assert_eq!(found, vec![Nanos::from_millis(50); 8]);
    }

    #[test]
    fn a_bit_that_is_set_at_random_tells_nothing() {
        let bit = |t: u64| t.wrapping_mul(0x9e37_79b9_7f4a_7c15).count_ones() % 2 == 1;
        let (found, spin) = rtts(bit, Some(Nanos::from_millis(50)));
        assert_eq!(found, []);
        assert!(spin.refused > 10);
    }

    #[test]
    fn a_bit_that_stands_still_tells_nothing() {
        assert_eq!(rtts(|_| false, None).0, []);
    }
}
