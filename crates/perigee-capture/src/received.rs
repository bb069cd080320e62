// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One direction of a connection at its receiver's interface: bytes in order, late segments, and
//! RTTs from echoed timestamps.

use perigee_units::Nanos;
use std::collections::{BTreeMap, VecDeque};

/// A hole that is filled within this time, by a packet with no later timestamp, was caused by
/// reordering.
const REORDERED_WITHIN: Nanos = Nanos::from_millis(3);
/// Maximum number of out-of-order ranges and of timestamps awaiting their echo: a file may be
/// damaged or malicious.
const MOST_KEPT: usize = 1 << 16;

/// State of the direction. Positions are bytes of the stream, from 0 after the SYN.
#[derive(Clone, Debug, Default)]
pub struct Received {
    first: Option<u32>,
    in_order: u64,
    highest: u64,
    /// Out-of-order ranges (above a hole), start → end.
    beyond: BTreeMap<u64, u64>,
    /// Arrival of the highest byte, and its timestamp.
    newest: Option<(Nanos, Option<u32>)>,
    /// The receiver's own timestamps, with the time of the first packet that carried each.
    stamps: VecDeque<(u32, Nanos)>,
}

/// Classification of a packet with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Bytes beyond all earlier ones.
    New,
    /// Fills a hole: reordered.
    Reordered,
    /// Fills a hole: retransmitted.
    Retransmission,
    /// All bytes had arrived before.
    Duplicate,
}

impl Received {
    /// Processes the SYN: the stream starts after it.
    pub fn begin(&mut self, sequence: u32) {
        self.first = Some(sequence.wrapping_add(1));
    }

    /// A packet with data arrives.
    pub fn data(&mut self, at: Nanos, sequence: u32, bytes: u64, stamp: Option<u32>) -> Arrival {
        let first = *self.first.get_or_insert(sequence);
        let offset = sequence.wrapping_sub(first);
        let begin =
            self.highest.saturating_add_signed(i64::from(offset.wrapping_sub(self.highest as u32) as i32));
        let end = begin + bytes;
        let kind = self.kind(at, begin, end, stamp);
        self.keep(begin, end);
        if end > self.highest {
            self.highest = end;
            self.newest = Some((at, stamp));
        }
        kind
    }

    fn kind(&self, at: Nanos, begin: u64, end: u64, stamp: Option<u32>) -> Arrival {
        if end > self.highest {
            return Arrival::New;
        }
        let covers = self.beyond.range(..=begin).next_back().is_some_and(|(_, &e)| e >= end);
        if end <= self.in_order || covers {
            return Arrival::Duplicate;
        }
        let Some((newest, newest_stamp)) = self.newest else { return Arrival::Retransmission };
        let later = match (stamp, newest_stamp) {
            (Some(a), Some(b)) => (a.wrapping_sub(b) as i32) > 0,
            _ => false,
        };
        match !later && at.saturating_sub(newest) < REORDERED_WITHIN {
            true => Arrival::Reordered,
            false => Arrival::Retransmission,
        }
    }

    fn keep(&mut self, begin: u64, end: u64) {
        if begin > self.in_order {
            if self.beyond.len() < MOST_KEPT {
                self.join(begin, end);
            }
            return;
        }
        self.in_order = self.in_order.max(end);
        while let Some(next) = self.beyond.first_entry().filter(|e| *e.key() <= self.in_order) {
            self.in_order = self.in_order.max(next.remove());
        }
    }

    /// Inserts a range, merged with adjacent ones.
    fn join(&mut self, mut begin: u64, mut end: u64) {
        if let Some((&b, &e)) = self.beyond.range(..=begin).next_back().filter(|(_, &e)| e >= begin) {
            (begin, end) = (b, end.max(e));
        }
        while let Some((&b, &e)) = self.beyond.range(begin..=end).next() {
            self.beyond.remove(&b);
            end = end.max(e);
        }
        self.beyond.insert(begin, end);
    }

    /// The receiver sends a packet with a timestamp.
    pub fn stamped(&mut self, at: Nanos, stamp: u32) {
        if self.stamps.back().is_none_or(|&(last, _)| (stamp.wrapping_sub(last) as i32) > 0) {
            self.stamps.push_back((stamp, at));
            if self.stamps.len() > MOST_KEPT {
                self.stamps.pop_front();
            }
        }
    }

    /// Data arrives that echoes a timestamp: returns the time since the first packet with that
    /// timestamp was sent, once per timestamp.
    pub fn echoed(&mut self, at: Nanos, echo: u32) -> Option<Nanos> {
        while let Some(&(stamp, sent)) = self.stamps.front() {
            if (echo.wrapping_sub(stamp) as i32) < 0 {
                return None;
            }
            self.stamps.pop_front();
            if stamp == echo {
                return Some(at.saturating_sub(sent));
            }
        }
        None
    }

    /// Bytes received in order.
    pub fn in_order(&self) -> u64 {
        self.in_order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn holes_keep_back_what_is_behind_them() {
        let mut r = Received::default();
        r.begin(u32::MAX);
        assert_eq!(r.data(Nanos(0), 0, 1000, None), Arrival::New);
        assert_eq!(r.data(Nanos(1), 2000, 1000, None), Arrival::New);
        assert_eq!(r.data(Nanos(2), 3000, 1000, None), Arrival::New);
        assert_eq!(r.in_order(), 1000);
        assert_eq!(r.data(Nanos(3), 3000, 1000, None), Arrival::Duplicate);
        assert_eq!(r.data(Nanos(MS), 1000, 1000, None), Arrival::Reordered);
        assert_eq!(r.in_order(), 4000);
        assert_eq!(r.data(Nanos(MS), 0, 1000, None), Arrival::Duplicate);
    }

    #[test]
    fn a_hole_is_filled_by_what_was_sent_again_if_it_is_late_or_stamped_later() {
        let hole = || {
            let mut r = Received::default();
            r.begin(u32::MAX);
            r.data(Nanos(0), 1000, 1000, Some(7));
            r
        };
        assert_eq!(hole().data(Nanos(50 * MS), 0, 1000, None), Arrival::Retransmission);
        assert_eq!(hole().data(Nanos(MS), 0, 1000, Some(8)), Arrival::Retransmission);
        assert_eq!(hole().data(Nanos(MS), 0, 1000, Some(7)), Arrival::Reordered);
    }

    #[test]
    fn each_timestamp_that_comes_back_gives_one_sample() {
        let mut r = Received::default();
        r.stamped(Nanos(10), 100);
        r.stamped(Nanos(12), 100);
        r.stamped(Nanos(20), 101);
        assert_eq!(r.echoed(Nanos(60), 100), Some(Nanos(50)));
        assert_eq!(r.echoed(Nanos(61), 100), None);
        assert_eq!(r.echoed(Nanos(70), 101), Some(Nanos(50)));
    }
}
