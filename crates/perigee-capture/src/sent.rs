// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Direction of a connection at its sender's interface: bytes in flight, retransmissions, and the
//! RTT samples that Linux takes (`tcp_clean_rtx_queue`, `tcp_ack_update_rtt` in
//! net/ipv4/tcp_input.c).

use perigee_units::Nanos;
use std::collections::VecDeque;

const NS_PER_MS: u64 = 1_000_000;
/// Maximum number of unacknowledged segments: if no ACKs are captured, the oldest ones are
/// forgotten.
const MOST_WAITING: usize = 1 << 20;

/// State of the direction. Positions are bytes of the stream, from 0 after the SYN.
#[derive(Clone, Debug, Default)]
pub struct Sent {
    /// Unacknowledged segments in stream order.
    waiting: VecDeque<Waiting>,
    first: Option<u32>,
    sent_to: u64,
    acked_to: u64,
    sacked: u64,
    /// SACK blocks of the previous ACK.
    known_blocks: Vec<(u64, u64)>,
    /// Offset of the sender's timestamp clock from record time, in milliseconds.
    clock: Option<u32>,
    forgotten: u64,
    unseen: u64,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    begin: u64,
    end: u64,
    at: Nanos,
    sacked: bool,
    resent: bool,
}

/// Classification of a packet with data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// Bytes sent for the first time.
    pub new: u64,
    /// Bytes retransmitted.
    pub again: u64,
    /// Whether all retransmitted bytes had already been acknowledged, in order or by SACK.
    pub needless: bool,
    /// Whether it is a keepalive or window probe: a byte that is known to have arrived.
    pub probe: bool,
}

impl Sent {
    /// Processes the SYN: the stream starts after it.
    pub fn begin(&mut self, sequence: u32) {
        self.first = Some(sequence.wrapping_add(1));
    }

    /// Whether the first byte of the stream is known.
    pub fn has_begun(&self) -> bool {
        self.first.is_some()
    }

    /// Processes a packet with a timestamp that leaves the sender.
    pub fn stamped(&mut self, at: Nanos, stamp: u32) {
        // A timestamp may be taken slightly before its packet leaves: the largest difference is the
        // offset of the clock.
        let ahead = stamp.wrapping_sub(milliseconds(at));
        if self.clock.is_none_or(|clock| (ahead.wrapping_sub(clock) as i32) > 0) {
            self.clock = Some(ahead);
        }
    }

    /// Processes a packet with `bytes` of data that leaves the sender.
    pub fn data(&mut self, at: Nanos, sequence: u32, bytes: u64) -> Data {
        let first = *self.first.get_or_insert(sequence);
        let begin = self.position(sequence);
        // Before the first known byte: the capture started later.
        if begin == 0 && sequence.wrapping_sub(first) as i32 > 1 << 30 {
            return Data::default();
        }
        let end = begin + bytes;
        if bytes <= 1 && end <= self.acked_to && self.acked_to == self.sent_to {
            return Data { probe: true, ..Data::default() };
        }
        let again = end.min(self.sent_to).saturating_sub(begin);
        let needless = again > 0 && self.is_known(begin, begin + again);
        if again > 0 {
            self.mark_resent(begin, begin + again);
        }
        let from = begin.max(self.sent_to);
        if end > from {
            self.waiting.push_back(Waiting { begin: from, end, at, sacked: false, resent: again > 0 });
            if self.waiting.len() > MOST_WAITING {
                self.forget();
            }
        }
        self.sent_to = self.sent_to.max(end);
        Data { new: end.saturating_sub(from), again, needless, probe: false }
    }

    fn forget(&mut self) {
        if let Some(old) = self.waiting.pop_front() {
            self.forgotten += 1;
            self.sacked -= if old.sacked { old.end - old.begin } else { 0 };
        }
    }

    /// Whether all these bytes have been acknowledged, cumulatively or selectively.
    fn is_known(&self, begin: u64, end: u64) -> bool {
        let begin = begin.max(self.acked_to);
        begin >= end || self.between(begin, end).all(|s| s.sacked)
    }

    fn mark_resent(&mut self, begin: u64, end: u64) {
        let from = self.waiting.partition_point(|s| s.end <= begin);
        for s in self.waiting.range_mut(from..).take_while(|s| s.begin < end) {
            s.resent = true;
        }
    }

    fn between(&self, begin: u64, end: u64) -> impl Iterator<Item = &Waiting> {
        let from = self.waiting.partition_point(|s| s.end <= begin);
        self.waiting.range(from..).take_while(move |s| s.begin < end)
    }

    /// Processes an ACK that reaches the sender. Returns the RTT sample that Linux takes: of the
    /// first acknowledged segment unless any of them was retransmitted (Karn's algorithm), else of
    /// the first newly SACKed one, else from the echoed timestamp, in milliseconds.
    pub fn acked(&mut self, at: Nanos, ack: u32, sacks: &[(u32, u32)], echo: Option<u32>) -> Option<Nanos> {
        self.first?;
        let acked = self.position(ack);
        let (mut first, mut resent, mut any) = (None, false, false);
        while let Some(s) = self.waiting.front_mut().filter(|s| s.begin < acked) {
            (any, resent) = (true, resent | s.resent);
            first = first.or((!s.sacked && !s.resent).then_some(s.at));
            let (end, covered) = (s.end, s.end.min(acked) - s.begin);
            self.sacked -= if s.sacked { covered } else { 0 };
            if end > acked {
                // The acknowledged start of a segment that the interface has split.
                s.begin = acked;
                break;
            }
            self.waiting.pop_front();
        }
        if acked > self.sent_to {
            // The ACK is beyond the captured data: the capture lacks data, unless this is the ACK
            // of a FIN.
            self.unseen += acked - self.sent_to - 1;
        }
        self.acked_to = self.acked_to.max(acked.min(self.sent_to));
        let sacked = self.take_sacks(sacks);
        let sent = first.filter(|_| !resent).or(sacked);
        let by_stamp = || if any { self.by_timestamp(at, echo?) } else { None };
        sent.map(|sent| at.saturating_sub(sent)).or_else(by_stamp)
    }

    /// Send time of the first newly SACKed segment that was sent once.
    fn take_sacks(&mut self, sacks: &[(u32, u32)]) -> Option<Nanos> {
        if sacks.is_empty() {
            self.known_blocks.clear();
            return None;
        }
        let blocks: Vec<_> = sacks
            .iter()
            .map(|&(b, e)| (self.position(b), self.position(e)))
            .filter(|&(b, e)| b < e && e <= self.sent_to && e > self.acked_to)
            .collect();
        let known = std::mem::take(&mut self.known_blocks);
        let mut first: Option<Waiting> = None;
        for &block in &blocks {
            for (begin, end) in without(block, &known) {
                let found = self.sack(begin, end);
                first = match (first, found) {
                    (Some(a), Some(b)) => Some(if b.begin < a.begin { b } else { a }),
                    (a, b) => a.or(b),
                };
            }
        }
        self.known_blocks = blocks;
        first.map(|s| s.at)
    }

    /// Marks the segments within a range; returns the first newly marked one that was sent once.
    fn sack(&mut self, begin: u64, end: u64) -> Option<Waiting> {
        let from = self.waiting.partition_point(|s| s.begin < begin);
        let (mut first, mut sacked) = (None, 0);
        for s in self.waiting.range_mut(from..).take_while(|s| s.end <= end).filter(|s| !s.sacked) {
            s.sacked = true;
            sacked += s.end - s.begin;
            if first.is_none() && !s.resent {
                first = Some(*s);
            }
        }
        self.sacked += sacked;
        first
    }

    /// RTT in milliseconds, from the echoed timestamp.
    fn by_timestamp(&self, at: Nanos, echo: u32) -> Option<Nanos> {
        let since = milliseconds(at).wrapping_add(self.clock?).wrapping_sub(echo) as i32;
        (echo != 0).then(|| Nanos(since.max(1) as u64 * NS_PER_MS))
    }

    /// Position of a sequence number in the stream: the one nearest to the latest data.
    pub fn position(&self, sequence: u32) -> u64 {
        let offset = sequence.wrapping_sub(self.first.unwrap_or(sequence));
        let distance = offset.wrapping_sub(self.sent_to as u32) as i32;
        self.sent_to.saturating_add_signed(i64::from(distance))
    }

    /// Bytes acknowledged in order, among those captured.
    pub fn acked_to(&self) -> u64 {
        self.acked_to
    }

    /// End of the data sent.
    pub fn sent_to(&self) -> u64 {
        self.sent_to
    }

    /// Bytes sent but not acknowledged, neither cumulatively nor by SACK.
    pub fn in_flight(&self) -> u64 {
        (self.sent_to - self.acked_to).saturating_sub(self.sacked)
    }

    /// Bytes acknowledged but not captured.
    pub fn unseen(&self) -> u64 {
        self.unseen
    }

    /// Number of segments forgotten for lack of ACKs.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }
}

/// Removes other ranges from a range.
fn without(range: (u64, u64), others: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut pieces = vec![range];
    for &(b, e) in others {
        pieces = pieces
            .into_iter()
            .flat_map(|(begin, end)| [(begin, end.min(b)), (begin.max(e), end)])
            .filter(|(begin, end)| begin < end)
            .collect();
    }
    pieces
}

fn milliseconds(at: Nanos) -> u32 {
    (at.0 / NS_PER_MS) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Nanos = Nanos(100);

    fn three(isn: u32) -> Sent {
        let mut s = Sent::default();
        s.begin(isn);
        for n in 0..3 {
            s.data(Nanos(10 + u64::from(n)), isn.wrapping_add(1 + n * 1000), 1000);
        }
        s
    }

    #[test]
    fn an_ack_gives_the_time_of_the_first_segment_that_it_covers() {
        // Sequence numbers wrap within the first segment.
        let isn = u32::MAX - 500;
        let mut s = three(isn);
        let at = |n: u32| isn.wrapping_add(1 + n * 1000);
        assert_eq!(s.acked(NOW, at(0), &[], None), None);
        assert_eq!(s.acked(NOW, at(2), &[], None), Some(Nanos(90)));
        assert_eq!((s.acked_to(), s.in_flight()), (2000, 1000));
        assert_eq!(s.acked(NOW, at(3), &[], None), Some(Nanos(88)));
    }

    #[test]
    fn what_is_sent_again_gives_no_sample_and_takes_that_of_its_neighbours() {
        let mut s = three(0);
        assert_eq!(s.data(Nanos(50), 1, 1000), Data { again: 1000, ..Data::default() });
        assert_eq!(s.clone().acked(NOW, 3001, &[], None), None);
        assert_eq!(s.acked(NOW, 1001, &[], None), None);
        assert_eq!(s.acked(NOW, 3001, &[], None), Some(Nanos(89)));
        assert!(s.data(NOW, 1, 1000).needless);
    }

    #[test]
    fn a_segment_that_is_sacked_gives_its_sample_then_and_not_again() {
        let mut s = three(0);
        assert_eq!(s.acked(NOW, 1, &[(2001, 3001)], None), Some(Nanos(88)));
        assert_eq!(s.in_flight(), 2000);
        assert_eq!(s.acked(NOW, 1, &[(1001, 3001)], None), Some(Nanos(89)));
        assert_eq!(s.acked(NOW, 1, &[(1001, 3001)], None), None);
        assert_eq!(s.in_flight(), 1000);
        assert!(s.clone().data(NOW, 2001, 1000).needless);
        assert_eq!(s.acked(NOW, 3001, &[], None), Some(Nanos(90)));
        assert_eq!(s.in_flight(), 0);
        assert!(s.data(NOW, 3000, 1).probe);
    }

    #[test]
    fn a_segment_that_the_interface_cut_up_is_acknowledged_in_parts() {
        let mut s = Sent::default();
        s.begin(0);
        s.data(Nanos(10), 1, 3000);
        assert_eq!(s.acked(NOW, 1001, &[], None), Some(Nanos(90)));
        assert_eq!(s.acked(Nanos(110), 3001, &[], None), Some(Nanos(100)));
        assert_eq!(s.in_flight(), 0);
    }

    #[test]
    fn without_another_sample_the_echoed_timestamp_gives_one_in_milliseconds() {
        let ms = |n: u64| Nanos(n * NS_PER_MS);
        let mut s = Sent::default();
        s.begin(0);
        s.stamped(ms(10), 1009);
        s.data(ms(10), 1, 1000);
        s.stamped(ms(30) + Nanos(700), 1030);
        s.data(ms(30) + Nanos(700), 1, 1000);
        assert_eq!(s.acked(ms(60), 1, &[], Some(1030)), None, "nothing new");
        assert_eq!(s.clone().acked(ms(61) - Nanos(1), 1001, &[], Some(1030)), Some(ms(30)));
        assert_eq!(s.acked(ms(61), 1001, &[], Some(1009)), Some(ms(52)));
    }

    #[test]
    fn blocks_without_those_that_are_known() {
        assert_eq!(without((10, 50), &[(20, 30), (45, 90)]), [(10, 20), (30, 45)]);
        assert_eq!(without((10, 50), &[(0, 60)]), []);
    }

    #[test]
    fn acks_of_what_was_not_seen_are_counted() {
        let mut s = three(0);
        s.acked(NOW, 3002, &[], None);
        assert_eq!(s.unseen(), 0, "a FIN");
        s.acked(NOW, 4001, &[], None);
        assert_eq!((s.unseen(), s.acked_to()), (999, 3000));
    }
}
