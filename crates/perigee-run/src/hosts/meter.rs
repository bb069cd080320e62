// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RTT samples of a real flow, from its packets as its sender's interface sees them: what the kernel measures too, sample
//! by sample, while TCP_INFO tells a smoothed value now and then.

use perigee_units::Nanos;
use std::collections::VecDeque;

const SYN: u8 = 2;

/// Segments of one flow that wait for their ACK.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    /// End of each segment that was sent once, in stream order, and when.
    waiting: VecDeque<(u64, Nanos)>,
    /// Stream position of the first byte, and the end of what was sent.
    first: Option<u32>,
    sent_to: u64,
    /// Packets with data.
    pub data_packets: u64,
}

/// An IP packet's TCP header, as far as it is needed.
struct Header {
    sequence: u32,
    ack: u32,
    flags: u8,
    payload: u64,
}

impl Header {
    fn read(packet: &[u8], at: usize) -> Option<Header> {
        let tcp = packet.get(at..)?;
        let word = |i: usize| Some(u32::from_be_bytes(tcp.get(i..i + 4)?.try_into().ok()?));
        let payload = tcp.len().checked_sub(usize::from(tcp.get(12)? >> 4) * 4)?;
        Some(Header { sequence: word(4)?, ack: word(8)?, flags: *tcp.get(13)?, payload: payload as u64 })
    }
}

impl Meter {
    /// The sender has sent a packet.
    pub fn sent(&mut self, at: Nanos, packet: &[u8], tcp: usize) {
        let Some(h) = Header::read(packet, tcp) else { return };
        if h.flags & SYN != 0 {
            // The SYN takes one number: the stream begins behind it.
            self.first = Some(h.sequence.wrapping_add(1));
            return;
        }
        if h.payload == 0 {
            return;
        }
        self.data_packets += 1;
        let end = self.position(h.sequence, self.sent_to) + h.payload;
        if end > self.sent_to {
            self.sent_to = end;
            self.waiting.push_back((end, at));
        } else {
            // Sent again: no sample of it is certain (Karn's algorithm; RFC 6298 section 3).
            let begin = end - h.payload;
            self.waiting.retain(|&(e, _)| e <= begin || e > end);
        }
    }

    /// A packet of the receiver has reached the sender. Returns when the newest segment that it acknowledges had left.
    pub fn arrived(&mut self, packet: &[u8], tcp: usize) -> Option<Nanos> {
        let h = Header::read(packet, tcp)?;
        let acked = self.position(h.ack, self.sent_to);
        let mut newest = None;
        while self.waiting.front().is_some_and(|&(end, _)| end <= acked) {
            newest = self.waiting.pop_front().map(|(_, at)| at);
        }
        newest
    }

    /// Position in the stream of a sequence number: the one nearest to `near`.
    fn position(&self, sequence: u32, near: u64) -> u64 {
        let offset = sequence.wrapping_sub(self.first.unwrap_or(sequence));
        let distance = offset.wrapping_sub(near as u32) as i32;
        near.saturating_add_signed(i64::from(distance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sequence: u32, ack: u32, flags: u8, payload: usize) -> Vec<u8> {
        let mut p = vec![0; 4];
        p.extend(sequence.to_be_bytes());
        p.extend(ack.to_be_bytes());
        p.extend([0x50, flags, 0, 0, 0, 0, 0, 0]);
        p.resize(20 + payload, 0);
        p
    }

    /// A meter that has seen a SYN with this number.
    fn meter(isn: u32) -> Meter {
        let mut m = Meter::default();
        m.sent(Nanos(0), &packet(isn, 0, SYN, 0), 0);
        m
    }

    #[test]
    fn an_ack_gives_the_time_of_the_newest_segment_that_it_covers() {
        // Numbers wrap within the first segment.
        let isn = u32::MAX - 500;
        let mut m = meter(isn);
        let at = |n: u32| isn.wrapping_add(1 + n * 1000);
        for n in 0..3 {
            m.sent(Nanos(u64::from(n) + 10), &packet(at(n), 0, 16, 1000), 0);
        }
        assert_eq!(m.arrived(&packet(0, at(0), 16, 0), 0), None);
        assert_eq!(m.arrived(&packet(0, at(2), 16, 0), 0), Some(Nanos(11)));
        assert_eq!(m.arrived(&packet(0, at(3), 16, 0), 0), Some(Nanos(12)));
        assert_eq!(m.data_packets, 3);
    }

    #[test]
    fn what_is_sent_again_gives_no_sample() {
        let mut m = meter(0);
        for n in 0..3 {
            m.sent(Nanos(10), &packet(1 + n * 1000, 0, 16, 1000), 0);
        }
        m.sent(Nanos(50), &packet(1, 0, 16, 1000), 0);
        assert_eq!(m.arrived(&packet(0, 1001, 16, 0), 0), None);
        assert_eq!(m.arrived(&packet(0, 3001, 16, 0), 0), Some(Nanos(10)));
        assert_eq!(m.data_packets, 4);
    }
}
