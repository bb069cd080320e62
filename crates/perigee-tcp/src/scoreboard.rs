// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scoreboard of outstanding data: a ring of segments indexed by segment number, with incremental
//! counters, so that no ACK scans the window. `in_flight = out - sacked - lost + retransmitted`, as
//! in Linux.

mod by_time;

use crate::Seg;
use perigee_cc::TxSnapshot;
use perigee_units::Nanos;

/// Selectively acknowledged.
pub const SACKED: u8 = 1;
/// Marked lost; stays set while its retransmission is in flight.
pub const LOST: u8 = 2;
/// Retransmission in flight.
pub const RETRANS: u8 = 4;
/// Retransmitted at least once.
pub const EVER_RETRANS: u8 = 8;
/// The segment's snapshot has been used for a rate sample.
pub const SAMPLED: u8 = 16;
/// First segment of a unit: segments sent together are retransmitted together, or in parts of the
/// unit.
pub const BEGINS: u8 = 64;
/// Is in the list by time of transmission, which loss detection walks.
const LISTED: u8 = 32;

const NONE: Seg = Seg::MAX;

/// Minimum number of slots in a ring: the rings of a hundred slow flows fit in a cache of a
/// megabyte.
const FEWEST: usize = 16;

/// An outstanding segment: one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct Slot {
    /// Snapshot at its latest transmission, with counters in packets.
    pub tx: Snapshot,
    /// Neighbours in the list by time of transmission, as the low halves of their numbers. `prev`
    /// of the first and `next` of the last are unused.
    prev: u32,
    next: u32,
    /// Tag returned by the controller at transmission.
    pub tag: u32,
    /// Flags: see the constants.
    pub flags: u8,
}

impl Slot {
    /// Whether it is lost and not yet retransmitted.
    #[inline]
    pub fn waits(&self) -> bool {
        self.flags & (LOST | RETRANS) == LOST
    }

    /// Whether its segment `seg` was sent before another transmission; at the same instant, the
    /// lower number is older.
    #[inline]
    pub fn older(&self, seg: Seg, than: (Nanos, Seg)) -> bool {
        (self.tx.sent, seg) < than
    }
}

/// Transmission snapshot: [`TxSnapshot`] in packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    /// Departure of the latest transmission.
    pub sent: Nanos,
    /// Departure of the first packet of the sampling window.
    pub first_sent: Nanos,
    /// Time at which the delivered counter last changed.
    pub delivered_time: Nanos,
    /// Packets delivered at the time of transmission.
    pub delivered: u64,
    /// Packets lost at the time of transmission.
    pub lost: u32,
    /// Packets in flight, including this one.
    pub in_flight: u32,
    /// Sent while application-limited.
    pub app_limited: bool,
}

impl Snapshot {
    /// Conversion to bytes, for the congestion control.
    pub fn in_bytes(&self, mss: u64) -> TxSnapshot {
        TxSnapshot {
            sent: self.sent,
            first_sent: self.first_sent,
            delivered_time: self.delivered_time,
            delivered: self.delivered * mss,
            lost: self.lost as u64 * mss,
            in_flight: self.in_flight as u64 * mss,
            app_limited: self.app_limited,
        }
    }
}

/// The ring, its counters, and two indexes over it.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    slots: Vec<Slot>,
    /// Set bits mark segments that are lost and to be retransmitted.
    to_retransmit: Vec<u64>,
    una: Seg,
    nxt: Seg,
    /// No segment below it needs retransmission.
    hint: Seg,
    /// Segments that loss detection examines, oldest transmission first: neither delivered, nor
    /// marked lost by it since their latest transmission.
    head: Seg,
    tail: Seg,
    /// Last of the leading segments that are lost and not retransmitted
    /// ([`Scoreboard::oldest_not_lost`]).
    stale: Seg,
    /// Last segment found to be older than a given transmission ([`Scoreboard::latest_before`]).
    before: Seg,
    /// Selectively acknowledged packets.
    pub sacked: u64,
    /// Packets marked lost (their retransmissions may be in flight).
    pub lost: u64,
    /// Retransmissions in flight.
    pub retrans: u64,
}

impl Default for Scoreboard {
    fn default() -> Self {
        Scoreboard {
            slots: vec![Slot::default(); FEWEST],
            to_retransmit: vec![0; 1],
            una: 0,
            nxt: 0,
            hint: 0,
            head: NONE,
            tail: NONE,
            stale: NONE,
            before: NONE,
            sacked: 0,
            lost: 0,
            retrans: 0,
        }
    }
}

impl Scoreboard {
    /// First unacknowledged segment.
    #[inline]
    pub fn una(&self) -> Seg {
        self.una
    }
    /// Next new segment.
    #[inline]
    pub fn nxt(&self) -> Seg {
        self.nxt
    }
    /// Packets outstanding.
    #[inline]
    pub fn out(&self) -> u64 {
        self.nxt - self.una
    }
    /// Packets in flight.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.out() + self.retrans - self.sacked - self.lost
    }
    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.slots.capacity() * std::mem::size_of::<Slot>() + self.to_retransmit.capacity() * 8
    }

    #[inline]
    fn ix(&self, seg: Seg) -> usize {
        seg as usize & (self.slots.len() - 1)
    }
    /// Slot of an outstanding segment.
    #[inline]
    pub fn slot(&self, seg: Seg) -> &Slot {
        &self.slots[self.ix(seg)]
    }
    /// Mutable slot of an outstanding segment.
    #[inline]
    pub fn slot_mut(&mut self, seg: Seg) -> &mut Slot {
        let i = self.ix(seg);
        &mut self.slots[i]
    }

    /// Adds a new segment that was sent.
    pub fn push(&mut self, tx: Snapshot, tag: u32) -> Seg {
        if self.out() as usize == self.slots.len() {
            self.resize(2 * self.slots.len());
        }
        let seg = self.nxt;
        self.nxt += 1;
        *self.slot_mut(seg) = Slot { tx, prev: 0, next: 0, tag, flags: 0 };
        self.link_last(seg);
        seg
    }

    /// Records the retransmission of a lost segment.
    pub fn retransmit(&mut self, seg: Seg, tx: Snapshot, tag: u32) {
        self.send_again(seg, tx, tag);
        let i = self.ix(seg);
        if self.slots[i].flags & RETRANS == 0 {
            self.retrans += 1;
        }
        self.slots[i].flags |= RETRANS;
        self.to_retransmit[i / 64] &= !(1 << (i % 64));
    }

    /// Records the retransmission of a segment not known to be lost, as a probe; it counts once in
    /// flight, not twice.
    pub fn send_again(&mut self, seg: Seg, tx: Snapshot, tag: u32) {
        if self.slot(seg).flags & LISTED != 0 {
            self.unlink(seg);
        }
        let s = self.slot_mut(seg);
        s.tx = tx;
        s.tag = tag;
        s.flags = (s.flags | EVER_RETRANS) & !SAMPLED;
        self.link_last(seg);
    }

    /// Marks a segment lost (again). False if it was delivered, or is lost and not yet
    /// retransmitted.
    pub fn mark_lost(&mut self, seg: Seg) -> bool {
        let i = self.ix(seg);
        let flags = self.slots[i].flags;
        if flags & SACKED != 0 || flags & (LOST | RETRANS) == LOST {
            return false;
        }
        if flags & RETRANS != 0 {
            self.retrans -= 1;
        }
        if flags & LOST == 0 {
            self.lost += 1;
        }
        self.slots[i].flags = (flags | LOST) & !RETRANS;
        self.to_retransmit[i / 64] |= 1 << (i % 64);
        self.hint = self.hint.min(seg);
        true
    }

    /// Removes a segment from the list: loss detection no longer examines this transmission of it.
    pub fn unlist(&mut self, seg: Seg) {
        if self.slot(seg).flags & LISTED != 0 {
            self.unlink(seg);
        }
    }

    /// Clears all loss marks (the losses turned out to be reordering). As in Linux, segments that
    /// loss detection had marked stay off its list: it does not find them a second time; only a
    /// probe or a timeout does.
    pub fn unmark_losses(&mut self) {
        for seg in self.una..self.nxt {
            self.slot_mut(seg).flags &= !LOST;
        }
        self.lost = 0;
        self.to_retransmit.fill(0);
        self.hint = self.nxt;
        self.stale = NONE;
    }

    /// Marks a segment selectively acknowledged.
    pub fn mark_sacked(&mut self, seg: Seg) {
        let i = self.ix(seg);
        let flags = self.slots[i].flags;
        let mut new = flags | SACKED;
        if flags & LOST != 0 {
            // Lost and retransmitted: either copy may have arrived, and both leave the counters.
            if flags & RETRANS != 0 {
                self.retrans -= 1;
            }
            self.lost -= 1;
            new &= !(LOST | RETRANS);
            self.to_retransmit[i / 64] &= !(1 << (i % 64));
        }
        self.slots[i].flags = new;
        self.sacked += 1;
        if flags & LISTED != 0 {
            self.unlink(seg);
        }
    }

    /// Records the arrival of a retransmission, proven by a duplicate SACK; the segment is known to
    /// be delivered.
    pub fn retransmission_arrived(&mut self, seg: Seg) {
        let s = self.slot_mut(seg);
        debug_assert!(s.flags & LOST == 0, "delivered and lost");
        if s.flags & RETRANS != 0 {
            s.flags &= !RETRANS;
            self.retrans -= 1;
        }
    }

    /// Removes the first outstanding segment (cumulatively acknowledged) and returns it.
    #[inline]
    pub fn pop(&mut self) -> Slot {
        let seg = self.una;
        let i = self.ix(seg);
        let s = self.slots[i];
        if s.flags & !LISTED != 0 {
            if s.flags & RETRANS != 0 {
                self.retrans -= 1;
            }
            if s.flags & LOST != 0 {
                self.lost -= 1;
                self.to_retransmit[i / 64] &= !(1 << (i % 64));
            }
            if s.flags & SACKED != 0 {
                self.sacked -= 1;
            }
        }
        if s.flags & LISTED != 0 {
            self.unlink(seg);
        }
        self.una += 1;
        // Checked once per turn of the ring, which may have grown for a burst.
        let len = self.slots.len();
        if self.una as usize & (len - 1) == 0 && len > FEWEST && self.out() as usize * 4 <= len {
            self.resize(len / 2);
        }
        s
    }

    /// The lowest segment that is lost and not yet retransmitted.
    pub fn next_lost(&mut self) -> Option<Seg> {
        let mut seg = self.hint.max(self.una);
        while seg < self.nxt {
            let i = self.ix(seg);
            let word = self.to_retransmit[i / 64] >> (i % 64);
            if word != 0 {
                let found = seg + word.trailing_zeros() as u64;
                // A set bit past the wrap of the ring belongs to an outstanding segment; so does
                // this one.
                debug_assert!(found < self.nxt);
                self.hint = found;
                return Some(found);
            }
            let run = self.slots.len().min(64);
            seg += (run - i % run) as u64;
        }
        self.hint = self.nxt;
        None
    }

    fn resize(&mut self, len: usize) {
        let old = std::mem::take(&mut self.slots);
        let mask = old.len() - 1;
        self.slots = vec![Slot::default(); len];
        self.to_retransmit = vec![0; len.div_ceil(64)];
        for seg in self.una..self.nxt {
            let i = self.ix(seg);
            self.slots[i] = old[seg as usize & mask];
            if self.slots[i].flags & (LOST | RETRANS) == LOST {
                self.to_retransmit[i / 64] |= 1 << (i % 64);
            }
        }
    }

    /// Recounts all counters from the flags (for tests).
    #[cfg(test)]
    pub fn check(&self) {
        let mut sum = [0u64; 3];
        let mut linked = 0;
        for seg in self.una..self.nxt {
            let f = self.slot(seg).flags;
            sum[0] += (f & SACKED != 0) as u64;
            sum[1] += (f & LOST != 0) as u64;
            sum[2] += (f & RETRANS != 0) as u64;
            assert!(f & (SACKED | LOST) != SACKED | LOST, "sacked and lost");
            linked += (f & LISTED != 0) as u64;
            assert!(f & LISTED == 0 || f & SACKED == 0, "delivered and listed");
            let i = self.ix(seg);
            let bit = self.to_retransmit[i / 64] >> (i % 64) & 1;
            assert_eq!(bit == 1, f & (LOST | RETRANS) == LOST);
        }
        assert_eq!(sum, [self.sacked, self.lost, self.retrans]);
        let mut walked = 0;
        let mut at = self.oldest();
        let mut last = Nanos::ZERO;
        while let Some(seg) = at {
            assert!(self.slot(seg).tx.sent >= last, "list out of order");
            last = self.slot(seg).tx.sent;
            walked += 1;
            at = self.after(seg);
        }
        assert_eq!(walked, linked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Snapshot {
        Snapshot { sent: Nanos::from_millis(ms), ..Snapshot::default() }
    }

    #[test]
    fn in_flight_follows_every_step_of_a_loss() {
        let mut b = Scoreboard::default();
        for i in 0..10 {
            b.push(at(i), 0);
        }
        assert_eq!(b.in_flight(), 10);
        b.mark_sacked(3);
        assert!(b.mark_lost(0));
        assert!(!b.mark_lost(0), "a loss counts once until it is retransmitted");
        assert_eq!((b.in_flight(), b.lost, b.sacked), (8, 1, 1));
        b.check();
        assert_eq!(b.next_lost(), Some(0));
        b.retransmit(0, at(20), 0);
        assert_eq!((b.in_flight(), b.next_lost()), (9, None));
        assert!(b.mark_lost(0), "its retransmission can be lost as well");
        assert_eq!((b.in_flight(), b.lost), (8, 1));
        b.check();
        b.retransmit(0, at(30), 0);
        b.pop();
        assert_eq!((b.in_flight(), b.lost, b.retrans), (8, 0, 0));
        b.check();
    }

    #[test]
    fn the_ring_grows_without_losing_a_flag() {
        let mut b = Scoreboard::default();
        for i in 0..60 {
            b.push(at(i), 0);
        }
        for _ in 0..40 {
            b.pop();
        }
        for i in 60..103 {
            b.push(at(i), 0);
        }
        b.mark_lost(50);
        b.mark_sacked(90);
        for i in 103..400 {
            b.push(at(i), 0);
        }
        b.check();
        assert_eq!((b.next_lost(), b.sacked), (Some(50), 1));
    }

    #[test]
    fn the_ring_shrinks_after_a_burst() {
        let mut b = Scoreboard::default();
        for i in 0..500 {
            b.push(at(i), i as u32);
        }
        let most = b.memory_bytes();
        for i in 500..3000 {
            while b.out() > 3 {
                assert_eq!(b.slot(b.una()).tag, b.una() as u32);
                b.pop();
            }
            b.push(at(i), i as u32);
            b.check();
        }
        assert_eq!(std::mem::size_of::<Slot>(), 64);
        assert!(b.memory_bytes() * 16 < most);
    }

    #[test]
    fn losses_that_are_taken_back_are_in_flight_again_and_not_found_twice() {
        let mut b = Scoreboard::default();
        for i in 0..20 {
            b.push(at(i), 0);
        }
        for seg in [2, 5, 7] {
            b.mark_lost(seg);
            b.unlist(seg);
        }
        b.retransmit(5, at(30), 0);
        b.unmark_losses();
        b.check();
        assert_eq!((b.lost, b.retrans, b.in_flight()), (0, 1, 21));
        assert_eq!((b.next_lost(), b.oldest()), (None, Some(0)));
        let mut listed = vec![];
        let mut at = b.oldest();
        while let Some(seg) = at {
            listed.push(seg);
            at = b.after(seg);
        }
        assert!(!listed.contains(&2) && listed.last() == Some(&5));
        assert!(b.mark_lost(2), "a timeout finds it");
        b.check();
    }

    proptest::proptest! {
        #[test]
        fn counters_agree_with_flags_after_any_history(ops in proptest::collection::vec((0u8..6, 0u64..80), 1..400)) {
            let mut b = Scoreboard::default();
            let mut clock = 0;
            for (op, k) in ops {
                clock += 1;
                let seg = b.una() + k % b.out().max(1);
                match op {
                    0 | 1 => { b.push(at(clock), 0); }
                    2 if b.out() > 0 => { b.pop(); }
                    3 if b.out() > 0 && b.slot(seg).flags & SACKED == 0 => b.mark_sacked(seg),
                    4 if b.out() > 0 => { b.mark_lost(seg); }
                    5 => {
                        let lost = |&s: &Seg| b.slot(s).flags & (LOST | RETRANS) == LOST;
                        let lowest = (b.una()..b.nxt()).find(lost);
                        assert_eq!(b.next_lost(), lowest);
                        if let Some(seg) = lowest { b.retransmit(seg, at(clock), 0) }
                    }
                    _ => {}
                }
                b.check();
            }
        }
    }
}
