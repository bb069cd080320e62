// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tagging of segments reported by SACK blocks. Only ranges not reported by the previous ACK are
//! walked.

use super::input::Progress;
use super::Linux;
use crate::scoreboard::{EVER_RETRANS, LOST, RETRANS, SACKED, SAMPLED};
use crate::{AckBlocks, Seg};
use perigee_units::Nanos;

impl Linux {
    pub(super) fn tag_sacks(&mut self, now: Nanos, blocks: &AckBlocks, p: &mut Progress) {
        let dsack = blocks.dsack.filter(|&(s, e)| self.take_dsack(s, e, p));
        for &(start, end) in blocks.sacks() {
            self.tag_range(now, start, end, p);
        }
        // Data that arrived twice above the cumulative ACK has been received, even if the report of
        // its first arrival was lost (Linux walks this block like any other). It is still
        // outstanding in the scoreboard.
        if let Some((start, end)) = dsack {
            self.tag_range(now, start.max(blocks.ack), end, p);
            for seg in start.max(blocks.ack)..end.min(self.board.nxt()) {
                self.board.retransmission_arrived(seg);
            }
        }
        self.detection.store_ranges(blocks);
    }

    /// Accounts for a reported duplicate; false if this sender cannot have caused it.
    fn take_dsack(&mut self, start: Seg, end: Seg, p: &mut Progress) -> bool {
        let dups = end.saturating_sub(start);
        if dups == 0 || end > self.board.nxt() {
            return false;
        }
        if self.probe.high.is_some_and(|h| self.probe.was_retrans && end == h) {
            p.dsack_of_probe = true;
        } else if self.detection.dsack_dups + dups > self.conn.stats.retrans {
            // The network duplicates packets, so this is no evidence about retransmissions.
            return false;
        }
        self.detection.dsack_dups += dups;
        if self.detection.reord_seen > 0 && !p.dsack_of_probe {
            self.detection.rack.dsack_seen = true;
        }
        p.dsack = true;
        self.rate.delivered += dups;
        self.episode.undo.on_duplicates(dups, end);
        true
    }

    /// Tags `start..end`, skipping ranges already reported by the previous ACK.
    fn tag_range(&mut self, now: Nanos, start: Seg, end: Seg, p: &mut Progress) {
        let start = start.max(self.board.una());
        let end = end.min(self.board.nxt());
        match self.detection.known_range(start, end) {
            Some((s, e)) => {
                self.tag_new(now, start, end.min(s), p);
                self.tag_new(now, start.max(e), end, p);
            }
            None => self.tag_new(now, start, end, p),
        }
    }

    fn tag_new(&mut self, now: Nanos, start: Seg, end: Seg, p: &mut Progress) {
        for seg in start..end {
            let slot = *self.board.slot(seg);
            if slot.flags & SACKED != 0 {
                continue;
            }
            // Only the RTT distinguishes the original: below a hole the echoed timestamp stays
            // constant, which would disqualify every retransmission that is delivered (Linux
            // `tcp_sacktag_one`).
            self.detection.rack.advance(now, &slot, seg, self.rtt.min());
            if slot.flags & (EVER_RETRANS | RETRANS) == 0 {
                if seg < self.detection.highest_sacked {
                    p.reord = Some(p.reord.map_or(seg, |r| r.min(seg)));
                }
                p.orig_delivered |= seg < self.episode.high;
                let (first, last) = p.sacked_span.unwrap_or((slot.tx.sent, slot.tx.sent));
                p.sacked_span = Some((first.min(slot.tx.sent), last.max(slot.tx.sent)));
            }
            debug_assert!(slot.flags & (SACKED | LOST) != SACKED | LOST);
            self.rate.on_delivered(&mut p.sampling, seg, &slot);
            self.report_delivered(now, &slot);
            self.board.mark_sacked(seg);
            self.board.slot_mut(seg).flags |= SAMPLED;
            self.rate.delivered += 1;
            p.data_sacked = true;
            self.detection.highest_sacked = self.detection.highest_sacked.max(seg + 1);
        }
    }
}
