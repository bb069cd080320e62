// SPDX-License-Identifier: Apache-2.0 OR MIT
//! State of loss detection: reports of the previous ACKs, reordering, and RACK's newest delivered
//! packet with its reordering window (RFC 8985).

use crate::scoreboard::{Slot, EVER_RETRANS, RETRANS};
use crate::{AckBlocks, Seg};
use perigee_units::Nanos;

/// Number of recoveries without a DSACK after which the reordering window is reset.
const REO_PERSIST: u32 = 16;
/// Maximum number of steps of the reordering window.
const MAX_STEPS: u64 = 255;
/// Maximum degree of reordering.
const MAX_REORDERING: u64 = 300;

/// State of loss detection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Detection {
    /// One past the highest selectively acknowledged segment.
    pub highest_sacked: Seg,
    /// Ranges of the previous ACK, so that only new ones are tagged.
    sack_cache: [(Seg, Seg); 4],
    /// Duplicates reported so far.
    pub dsack_dups: u64,
    /// Degree of reordering in segments, and number of observations.
    pub reordering: u64,
    pub reord_seen: u64,
    /// The rule of RFC 6675 has examined all segments below this one.
    pub dup_marked: Seg,
    pub rack: Rack,
}

impl Default for Detection {
    fn default() -> Self {
        Detection {
            highest_sacked: 0,
            sack_cache: [(0, 0); 4],
            dsack_dups: 0,
            reordering: 3,
            reord_seen: 0,
            dup_marked: 0,
            rack: Rack::default(),
        }
    }
}

impl Detection {
    /// Range of the previous ACK that overlaps `start..end`.
    pub fn known_range(&self, start: Seg, end: Seg) -> Option<(Seg, Seg)> {
        self.sack_cache.iter().find(|&&(s, e)| s < end && start < e && e > s).copied()
    }

    /// Stores the ranges of an ACK.
    pub fn store_ranges(&mut self, blocks: &AckBlocks) {
        self.sack_cache = [(0, 0); 4];
        self.sack_cache[..blocks.count as usize].copy_from_slice(blocks.sacks());
    }

    /// A never-retransmitted segment, `low`, has arrived after segments up to `high`.
    pub fn saw_reordering(&mut self, low: Seg, high: Seg) {
        self.reordering = self.reordering.max((high - low).min(MAX_REORDERING));
        self.reord_seen += 1;
    }
}

/// RACK's newest delivered packet, and the steps of its reordering window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    /// Departure and number of the most recently sent packet among those delivered.
    pub sent: Nanos,
    pub seg: Seg,
    pub rtt: Nanos,
    pub advanced: bool,
    pub steps: u64,
    persist: u32,
    pub dsack_seen: bool,
    last_delivered: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Rack {
            sent: Nanos::ZERO,
            seg: 0,
            rtt: Nanos::ZERO,
            advanced: false,
            steps: 1,
            persist: 0,
            dsack_seen: false,
            last_delivered: 0,
        }
    }
}

impl Rack {
    /// Advances the most recently sent delivered packet; undelivered packets sent before it become
    /// candidates for loss.
    #[inline]
    pub fn advance(&mut self, now: Nanos, slot: &Slot, seg: Seg, min_rtt: Nanos) {
        let rtt = now.saturating_sub(slot.tx.sent);
        // Less than the minimum RTT: the ACK is for the original, not the retransmission.
        if rtt < min_rtt && slot.flags & (EVER_RETRANS | RETRANS) != 0 {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if (slot.tx.sent, seg) > (self.sent, self.seg) {
            self.sent = slot.tx.sent;
            self.seg = seg;
        }
    }

    /// Widens the reordering window on DSACKs, at most once per round; shrinks it after a while
    /// without. `delivered`: packets delivered so far; `before`: when the newest packet of this ACK
    /// was sent.
    pub fn resize_window(&mut self, before: u64, delivered: u64) {
        if before < self.last_delivered {
            self.dsack_seen = false;
        }
        if std::mem::take(&mut self.dsack_seen) {
            self.steps = (self.steps + 1).min(MAX_STEPS);
            self.last_delivered = delivered;
            self.persist = REO_PERSIST;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// A recovery has ended without an undo.
    pub fn recovery_without_undo(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// Keeps the window for one more recovery.
    pub fn persist_window(&mut self) {
        self.persist = (self.persist + 1).min(REO_PERSIST);
    }
}
