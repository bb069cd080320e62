// SPDX-License-Identifier: Apache-2.0 OR MIT
//! List of outstanding segments by time of transmission, walked by time-based loss detection. Two
//! cursors ensure that the walk passes each transmission only once.

use super::{Scoreboard, Slot, LISTED, NONE};
use crate::Seg;
use perigee_units::Nanos;

impl Scoreboard {
    /// The oldest transmission that is neither delivered nor considered lost.
    #[inline]
    pub fn oldest(&self) -> Option<Seg> {
        (self.head != NONE).then_some(self.head)
    }

    /// The transmission after `seg` in order of time.
    #[inline]
    pub fn after(&self, seg: Seg) -> Option<Seg> {
        (seg != self.tail).then(|| self.whole(self.slot(seg).next))
    }

    /// The oldest transmission not yet marked lost, or the first that is not older than `newest`.
    /// Transmissions before it are not examined again while they remain lost.
    pub fn oldest_not_lost(&mut self, newest: (Nanos, Seg)) -> Option<Seg> {
        let mut at = if self.stale == NONE { self.oldest() } else { self.after(self.stale) };
        while let Some(seg) = at.filter(|&seg| self.slot(seg).waits() && self.slot(seg).older(seg, newest)) {
            self.stale = seg;
            at = self.after(seg);
        }
        at
    }

    /// Departure of the latest transmission older than `newest` (time, then segment number) and not
    /// marked lost; `from` is such a transmission. `newest` only grows, so that each transmission
    /// is passed once.
    pub fn latest_before(&mut self, newest: (Nanos, Seg), from: Seg) -> Nanos {
        let mut last = if self.before == NONE { from } else { self.before };
        while let Some(seg) = self.after(last).filter(|&seg| self.slot(seg).older(seg, newest)) {
            last = seg;
        }
        self.before = last;
        while self.slot(last).waits() && last != from {
            last = self.whole(self.slot(last).prev);
        }
        self.slot(last).tx.sent
    }

    /// Full segment number of an outstanding segment from its low half.
    #[inline]
    fn whole(&self, low: u32) -> Seg {
        self.una + low.wrapping_sub(self.una as u32) as u64
    }

    pub(super) fn link_last(&mut self, seg: Seg) {
        let tail = self.tail;
        let s = self.slot_mut(seg);
        s.prev = tail as u32;
        s.flags |= LISTED;
        if tail == NONE {
            self.head = seg;
        } else {
            self.slot_mut(tail).next = seg as u32;
        }
        self.tail = seg;
    }

    pub(super) fn unlink(&mut self, seg: Seg) {
        let s = self.slot_mut(seg);
        s.flags &= !LISTED;
        let Slot { prev, next, .. } = *s;
        let (first, last) = (seg == self.head, seg == self.tail);
        if seg == self.stale || seg == self.before {
            let back = if first { NONE } else { self.whole(prev) };
            for mark in [&mut self.stale, &mut self.before].into_iter().filter(|mark| **mark == seg) {
                *mark = back;
            }
        }
        match (first, last) {
            (true, true) => (self.head, self.tail) = (NONE, NONE),
            (true, false) => self.head = self.whole(next),
            (false, true) => self.tail = self.whole(prev),
            (false, false) => {
                let (before, after) = (self.whole(prev), self.whole(next));
                self.slot_mut(before).next = next;
                self.slot_mut(after).prev = prev;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Snapshot, LOST, SACKED};
    use super::*;

    fn at(ms: u64) -> Snapshot {
        Snapshot { sent: Nanos::from_millis(ms), ..Snapshot::default() }
    }

    fn by_time(b: &Scoreboard) -> Vec<Seg> {
        std::iter::successors(b.oldest(), |&seg| b.after(seg)).collect()
    }

    proptest::proptest! {
        #[test]
        fn the_walk_by_time_finds_what_a_whole_walk_finds(ops in proptest::collection::vec((0u8..10, 0u64..30), 1..400)) {
            let mut b = Scoreboard::default();
            let (mut clock, mut newest) = (0, (Nanos::ZERO, 0));
            for (op, k) in ops {
                clock += k % 2;
                let seg = b.una() + k % b.out().max(1);
                match op {
                    0 | 1 => { b.push(at(clock), 0); }
                    2 if b.out() > 0 => { b.pop(); }
                    3 if b.out() > 0 && b.slot(seg).flags & SACKED == 0 => {
                        newest = newest.max((b.slot(seg).tx.sent, seg));
                        b.mark_sacked(seg);
                    }
                    4 if b.out() > 0 => {
                        b.mark_lost(seg);
                        b.unlist(seg);
                    }
                    5 => if let Some(seg) = b.next_lost() { b.retransmit(seg, at(clock), 0) },
                    // A timeout.
                    6 => (b.una()..b.una() + b.out().min(k)).for_each(|seg| { b.mark_lost(seg); }),
                    7 => b.unmark_losses(),
                    8 if b.out() > 0 && b.slot(b.nxt() - 1).flags & (SACKED | LOST) == 0 => b.send_again(b.nxt() - 1, at(clock), 0),
                    9 if b.out() > 0 && b.slot(seg).flags & SACKED != 0 => b.retransmission_arrived(seg),
                    _ => {}
                }
                b.check();
                let older = |b: &Scoreboard, seg| b.slot(seg).older(seg, newest);
                let prefix: Vec<Seg> = by_time(&b).into_iter().take_while(|&seg| older(&b, seg)).collect();
                let expected: Vec<Seg> = prefix.into_iter().filter(|&seg| !b.slot(seg).waits()).collect();
                let first = b.oldest_not_lost(newest).filter(|&seg| older(&b, seg));
                assert_eq!(first, expected.first().copied());
                if let Some(&last) = expected.last() {
                    assert_eq!(b.latest_before(newest, expected[0]), b.slot(last).tx.sent);
                }
            }
        }
    }
}
