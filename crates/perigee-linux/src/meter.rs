// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RTT samples of a real flow, from its packets at its sender's interface: the kernel takes the
//! same samples, but TCP_INFO contains only an occasional smoothed value. The rules are those for
//! captures.

use perigee_capture::sent::Sent;
use perigee_units::Nanos;

/// The flag of a SYN.
pub(super) const SYN: u8 = 2;
pub(super) const ACK: u8 = 16;
/// Kinds of TCP options (RFC 9293 section 3.1, RFC 2018).
const END: u8 = 0;
const PADDING: u8 = 1;
const SACK: u8 = 5;
/// RFC 7323 section 3.2; Linux's clock counts milliseconds.
const TIMESTAMPS: u8 = 8;

/// Packets of one flow in flight.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    sent: Sent,
    /// Number of packets with data.
    pub data_packets: u64,
}

/// Fields of an IP packet's TCP header.
pub(super) struct Header<'a> {
    pub(super) sequence: u32,
    ack: u32,
    pub(super) flags: u8,
    options: &'a [u8],
    /// Size in bytes.
    pub(super) payload: u64,
}

impl<'a> Header<'a> {
    pub(super) fn read(packet: &'a [u8], at: usize) -> Option<Self> {
        let tcp = packet.get(at..)?;
        let length = usize::from(tcp.get(12)? >> 4) * 4;
        Some(Header {
            sequence: word(tcp, 4)?,
            ack: word(tcp, 8)?,
            flags: *tcp.get(13)?,
            options: tcp.get(20..length)?,
            payload: (tcp.len() - length) as u64,
        })
    }

    /// Content of an option.
    fn option(&self, wanted: u8) -> Option<&'a [u8]> {
        let mut rest = self.options;
        while let [kind, tail @ ..] = rest {
            let size = match *kind {
                END => break,
                PADDING => 1,
                _ => usize::from(tail.first().copied().unwrap_or(0)),
            };
            if size == 0 || size > rest.len() {
                break;
            }
            if *kind == wanted {
                return rest.get(2..size);
            }
            rest = &rest[size..];
        }
        None
    }

    /// Blocks of the SACK option.
    fn sack(&self) -> impl Iterator<Item = (u32, u32)> + 'a {
        let block = |b: &[u8]| Some((word(b, 0)?, word(b, 4)?));
        self.option(SACK).unwrap_or_default().chunks(8).filter_map(block)
    }

    /// The sender's timestamp, and the one that it echoes.
    fn timestamps(&self) -> Option<(u32, u32)> {
        let option = self.option(TIMESTAMPS)?;
        Some((word(option, 0)?, word(option, 4)?))
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

impl Meter {
    /// Handles a packet sent by the sender.
    pub fn sent(&mut self, at: Nanos, packet: &[u8], tcp: usize) {
        let Some(h) = Header::read(packet, tcp) else { return };
        if let Some((stamp, _)) = h.timestamps() {
            self.sent.stamped(at, stamp);
        }
        if h.flags & SYN != 0 {
            self.sent.begin(h.sequence);
        } else if h.payload > 0 {
            self.data_packets += 1;
            self.sent.data(at, h.sequence, h.payload);
        }
    }

    /// Handles a packet of the receiver that has reached the sender. Returns the sample that Linux
    /// takes.
    pub fn arrived(&mut self, at: Nanos, packet: &[u8], tcp: usize) -> Option<Nanos> {
        let h = Header::read(packet, tcp)?;
        let blocks: Vec<_> = h.sack().collect();
        self.sent.acked(at, h.ack, &blocks, h.timestamps().map(|(_, echo)| echo))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const NOW: Nanos = Nanos(100);
    const NS_PER_MS: u64 = 1_000_000;

    /// A TCP segment without preceding headers.
    pub fn packet(sequence: u32, ack: u32, flags: u8, payload: usize) -> Vec<u8> {
        let mut p = vec![0; 4];
        p.extend(sequence.to_be_bytes());
        p.extend(ack.to_be_bytes());
        p.extend([0x50, flags, 0, 0, 0, 0, 0, 0]);
        p.resize(20 + payload, 0);
        p
    }

    /// A meter after a SYN with this sequence number.
    fn meter(isn: u32) -> Meter {
        let mut m = Meter::default();
        m.sent(Nanos(0), &packet(isn, 0, SYN, 0), 0);
        m
    }

    #[test]
    fn an_ack_gives_the_time_of_the_first_segment_that_it_covers() {
        // Sequence numbers wrap within the first segment.
        let isn = u32::MAX - 500;
        let mut m = meter(isn);
        let at = |n: u32| isn.wrapping_add(1 + n * 1000);
        for n in 0..3 {
            m.sent(Nanos(u64::from(n) + 10), &packet(at(n), 0, 16, 1000), 0);
        }
        assert_eq!(m.arrived(NOW, &packet(0, at(0), 16, 0), 0), None);
        assert_eq!(m.arrived(NOW, &packet(0, at(2), 16, 0), 0), Some(Nanos(90)));
        assert_eq!(m.arrived(NOW, &packet(0, at(3), 16, 0), 0), Some(Nanos(88)));
        assert_eq!(m.data_packets, 3);
    }

    #[test]
    fn what_is_sent_again_gives_no_sample_and_takes_that_of_its_neighbours() {
        let sent = || {
            let mut m = meter(0);
            for n in 0..3 {
                m.sent(Nanos(10), &packet(1 + n * 1000, 0, 16, 1000), 0);
            }
            m.sent(Nanos(50), &packet(1, 0, 16, 1000), 0);
            m
        };
        let mut m = sent();
        assert_eq!(m.arrived(NOW, &packet(0, 1001, 16, 0), 0), None);
        assert_eq!(m.arrived(NOW, &packet(0, 3001, 16, 0), 0), Some(Nanos(90)));
        assert_eq!(m.data_packets, 4);
        // An ACK that covers it along with other segments may answer either transmission
        // (FLAG_RETRANS_DATA_ACKED).
        assert_eq!(sent().arrived(NOW, &packet(0, 3001, 16, 0), 0), None);
    }

    /// The same packet with a timestamp and its echo.
    fn stamped(mut packet: Vec<u8>, stamp: u32, echo: u32) -> Vec<u8> {
        packet[12] += 0x30;
        let mut option = vec![PADDING, PADDING, TIMESTAMPS, 10];
        option.extend([stamp.to_be_bytes(), echo.to_be_bytes()].concat());
        packet.splice(20..20, option);
        packet
    }

    #[test]
    fn without_another_sample_the_echoed_timestamp_gives_one_in_milliseconds() {
        let ms = |n: u64| Nanos(n * NS_PER_MS);
        let mut m = meter(0);
        m.sent(ms(10), &stamped(packet(1, 0, 16, 1000), 1009, 0), 0);
        m.sent(ms(30) + Nanos(700), &stamped(packet(1, 0, 16, 1000), 1030, 0), 0);
        let ack = |echo| stamped(packet(0, 1001, 16, 0), 5, echo);
        // The ACK acknowledges nothing new.
        assert_eq!(m.arrived(ms(60), &stamped(packet(0, 1, 16, 0), 5, 1030), 0), None);
        assert_eq!(m.clone().arrived(ms(61) - Nanos(1), &ack(1030), 0), Some(ms(30)));
        assert_eq!(m.clone().arrived(ms(30) + Nanos(900), &ack(1030), 0), Some(ms(1)));
        assert_eq!(m.arrived(ms(61), &ack(1009), 0), Some(ms(52)));
    }

    #[test]
    fn a_segment_that_is_sacked_gives_its_sample_then_and_not_again() {
        let mut m = meter(0);
        for n in 0..3 {
            m.sent(Nanos(u64::from(n) + 10), &packet(1 + n * 1000, 0, 16, 1000), 0);
        }
        let mut ack = packet(0, 1, 16, 0);
        ack[12] = 0x80;
        ack.extend([PADDING, PADDING, SACK, 10]);
        ack.extend([2001u32.to_be_bytes(), 3001u32.to_be_bytes()].concat());
        assert_eq!(m.arrived(NOW, &ack, 0), Some(Nanos(88)));
        assert_eq!(m.arrived(NOW, &ack, 0), None);
        assert_eq!(m.arrived(NOW, &packet(0, 3001, 16, 0), 0), Some(Nanos(90)));
        // Truncated options end the list.
        ack.truncate(25);
        assert_eq!(m.arrived(NOW, &ack, 0), None);
    }
}
