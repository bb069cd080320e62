// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scoreboard of INET's sender: every outstanding segment with three flags, and their counts.

use super::rack::Rack;
use crate::Seg;
use perigee_units::Nanos;
use std::collections::VecDeque;

/// Number of selectively acknowledged segments above a hole at which the hole is considered lost.
const DUP_THRESHOLD: u32 = 3;

/// State of a segment: its flags, and the state of the connection when it was last sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    pub sacked: bool,
    pub resent: bool,
    pub lost: bool,
    pub sent: Nanos,
    pub first_sent: Nanos,
    /// Time of `delivered`; [`Nanos::MAX`] once the segment has been counted as delivered.
    pub delivered_time: Nanos,
    pub delivered: u64,
}

/// Outstanding segments, from the first unacknowledged one on.
#[derive(Clone, Debug, Default)]
pub(super) struct Board {
    una: Seg,
    regions: VecDeque<Region>,
    sacked: u64,
    lost: u64,
    resent: u64,
    /// One past the highest selectively acknowledged segment.
    highest_sacked: Seg,
    /// One past the highest retransmitted segment.
    highest_resent: Seg,
    /// All holes below this segment are marked lost.
    marked_below: Seg,
    /// No lost segment below this one waits for retransmission.
    resend_from: Seg,
}

impl Board {
    pub fn una(&self) -> Seg {
        self.una
    }
    pub fn nxt(&self) -> Seg {
        self.una + self.regions.len() as Seg
    }
    pub fn out(&self) -> u64 {
        self.regions.len() as u64
    }
    pub fn lost(&self) -> u64 {
        self.lost
    }
    pub fn sacked(&self) -> u64 {
        self.sacked
    }
    pub fn memory_bytes(&self) -> usize {
        self.regions.capacity() * size_of::<Region>()
    }

    /// Segments sent that are neither selectively acknowledged nor lost, plus retransmissions. A
    /// retransmitted segment counts until the cumulative ACK covers it, whether or not it is
    /// selectively acknowledged.
    pub fn in_flight(&self) -> u64 {
        (self.out() + self.resent).saturating_sub(self.sacked + self.lost)
    }

    pub fn get(&self, seg: Seg) -> Option<&Region> {
        self.regions.get(seg.checked_sub(self.una)? as usize)
    }
    pub fn get_mut(&mut self, seg: Seg) -> Option<&mut Region> {
        self.regions.get_mut(seg.checked_sub(self.una)? as usize)
    }
    pub fn head(&self) -> Option<&Region> {
        self.regions.front()
    }

    /// One past the highest selectively acknowledged segment, or the first unacknowledged one.
    pub fn highest_sacked(&self) -> Seg {
        self.highest_sacked.max(self.una)
    }
    /// One past the highest retransmitted segment, or the first unacknowledged one.
    pub fn highest_resent(&self) -> Seg {
        self.highest_resent.max(self.una)
    }

    pub fn push(&mut self, region: Region) {
        self.regions.push_back(region);
    }

    /// Marks a segment as retransmitted; it also stays marked lost.
    pub fn resend(&mut self, seg: Seg) {
        if let Some(r) = self.get_mut(seg) {
            if !std::mem::replace(&mut r.resent, true) {
                self.resent += 1;
            }
            self.highest_resent = self.highest_resent.max(seg + 1);
        }
    }

    /// Removes the first segment.
    pub fn pop(&mut self) -> Option<Region> {
        let region = self.regions.pop_front()?;
        self.una += 1;
        self.sacked -= u64::from(region.sacked);
        self.lost -= u64::from(region.lost);
        self.resent -= u64::from(region.resent);
        Some(region)
    }

    /// Marks a segment selectively acknowledged; false if it already was, or is not outstanding.
    pub fn sack(&mut self, seg: Seg) -> bool {
        let Some(r) = self.get_mut(seg).filter(|r| !r.sacked) else { return false };
        r.sacked = true;
        let was_lost = std::mem::replace(&mut r.lost, false);
        self.lost -= u64::from(was_lost);
        self.sacked += 1;
        self.highest_sacked = self.highest_sacked.max(seg + 1);
        true
    }

    fn mark(&mut self, seg: Seg) -> bool {
        let Some(r) = self.get_mut(seg).filter(|r| !r.sacked && !r.lost) else { return false };
        r.lost = true;
        self.lost += 1;
        self.resend_from = self.resend_from.min(seg);
        true
    }

    /// Marks all holes with three selectively acknowledged segments above them; returns the number
    /// of new marks.
    pub fn mark_holes(&mut self) -> u64 {
        let mut above = 0;
        let mut seg = self.highest_sacked();
        while seg > self.una && above < DUP_THRESHOLD {
            seg -= 1;
            above += u32::from(self.get(seg).is_some_and(|r| r.sacked));
        }
        if above < DUP_THRESHOLD {
            return 0;
        }
        let from = self.marked_below.max(self.una);
        let found = (from..seg).filter(|&hole| self.mark(hole)).count() as u64;
        self.marked_below = self.marked_below.max(seg);
        found
    }

    /// Marks the first segment lost, again if it has been retransmitted.
    pub fn mark_head(&mut self) {
        let una = self.una;
        if self.head().is_some_and(|h| h.lost) {
            return;
        }
        self.forget_resend(una);
        self.mark(una);
    }

    fn forget_resend(&mut self, seg: Seg) {
        let Some(r) = self.get_mut(seg).filter(|r| r.resent) else { return };
        r.resent = false;
        self.resent -= 1;
        self.resend_from = self.resend_from.min(seg);
        if seg + 1 == self.highest_resent {
            let below = (self.una..seg).rev().find(|&s| self.get(s).is_some_and(|r| r.resent));
            self.highest_resent = below.map_or(0, |s| s + 1);
        }
    }

    /// After a timeout: marks all segments lost that are not selectively acknowledged, none of them
    /// retransmitted.
    pub fn mark_all(&mut self) -> u64 {
        let before = self.lost;
        for r in &mut self.regions {
            r.resent = false;
            r.lost |= !r.sacked;
        }
        self.resent = 0;
        self.lost = self.out() - self.sacked;
        self.highest_resent = 0;
        self.resend_from = self.una;
        self.lost - before
    }

    /// Marks segments lost that were sent sufficiently earlier than `rack`'s packet; a
    /// retransmission found lost may be repeated. Returns the number of newly lost segments and the
    /// longest remaining wait of the others.
    pub fn mark_late(&mut self, rack: &Rack, now: Nanos) -> (u64, Nanos) {
        let (mut found, mut wait) = (0, Nanos::ZERO);
        for seg in self.una..self.nxt() {
            let Some(&r) = self.get(seg) else { break };
            if r.sacked {
                continue;
            }
            if !rack.is_after(r.sent, seg) {
                break;
            }
            let due = r.sent + rack.patience();
            if due > now {
                wait = wait.max(due - now);
            } else if !r.lost {
                found += u64::from(self.mark(seg));
            } else {
                self.forget_resend(seg);
            }
        }
        (found, wait)
    }

    /// The lowest lost, not retransmitted segment below the highest selectively acknowledged one.
    pub fn next_lost(&mut self) -> Option<Seg> {
        let end = self.highest_sacked();
        let from = self.resend_from.max(self.una);
        let found = (from..end).find(|&s| self.get(s).is_some_and(|r| r.lost && !r.resent && !r.sacked));
        self.resend_from = found.unwrap_or(end.max(from));
        found
    }

    /// The lowest lost, not retransmitted segment at any position.
    pub fn last_resort(&self) -> Option<Seg> {
        let waits = |r: &Region| r.lost && !r.resent && !r.sacked;
        (self.lost > 0).then(|| self.regions.iter().position(waits)).flatten().map(|i| self.una + i as Seg)
    }

    /// The lowest hole below the highest selectively acknowledged segment, whether lost or not.
    pub fn first_hole(&self) -> Option<Seg> {
        (self.una..self.highest_sacked()).find(|&s| self.get(s).is_some_and(|r| !r.sacked))
    }
}
