// SPDX-License-Identifier: Apache-2.0 OR MIT
//! State of a recovery episode: congestion state, proportional rate reduction, undo, and the
//! segments that may be sent.

use super::input::Progress;
use crate::Seg;
use perigee_cc::{CaState, UndoKind};

/// Segments to send after the last ACK or timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resend {
    /// None for now: the hole may be reordering. New data may be sent.
    Nothing,
    /// Lost segments first.
    Lost,
    /// F-RTO: new data first, to detect whether the timeout was spurious.
    New,
}

/// State of the current episode, if the congestion state is not Open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Episode {
    pub ca: CaState,
    /// snd_nxt at the start of the episode.
    pub high: Seg,
    pub prr: Prr,
    pub undo: Undo,
    pub frto: bool,
    pub resend: Resend,
    /// Whether the first lost segment is retransmitted before any other transmission, regardless of
    /// window and pacer (ns-3, at the start of a recovery).
    pub head_at_once: bool,
}

impl Default for Episode {
    fn default() -> Self {
        Episode {
            ca: CaState::Open,
            high: 0,
            prr: Prr::default(),
            undo: Undo::default(),
            frto: false,
            resend: Resend::Nothing,
            head_at_once: false,
        }
    }
}

impl Episode {
    pub fn in_reduction(&self) -> bool {
        matches!(self.ca, CaState::Cwr | CaState::Recovery)
    }
}

/// Proportional rate reduction (RFC 9937).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    pub prior_cwnd: u64,
    pub delivered: u64,
    pub out: u64,
    /// Whether an ACK that advances has arrived.
    pub progressed: bool,
}

impl Prr {
    /// Starts a reduction from `prior_cwnd` packets.
    pub fn start(&mut self, prior_cwnd: u64) {
        *self = Prr { prior_cwnd, ..Prr::default() };
    }

    /// Number of packets that ns-3 counts as delivered: an ACK with new SACKs counts one packet
    /// more until a window is delivered, and a second time if it also advances.
    pub fn delivered_like_ns3(&self, delivered: u64, p: &Progress) -> u64 {
        let more = u64::from(p.data_sacked && self.delivered < self.prior_cwnd);
        more + delivered * (1 + u64::from(p.data_sacked && p.acked > 0))
    }
}

/// Evidence for an undo of the reduction, and the threshold that it restores.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// 0 = no value to restore.
    pub prior_ssthresh: u64,
    /// Undo is possible while this is set.
    pub marker: Option<Seg>,
    /// Retransmissions not yet reported as duplicates; `None` = unknown, so that an undo by DSACK
    /// is impossible.
    pub retrans: Option<u64>,
    /// Millisecond timestamp of the first retransmission of the episode.
    pub stamp: Option<u32>,
    /// Timestamp echo of the latest ACK; zero if the connection has no timestamps.
    pub echo: u32,
}

impl Undo {
    /// Evidence that the reduction was spurious: all retransmissions were duplicates, or an echoed
    /// timestamp predates the first one.
    pub fn evidence(&self) -> Option<UndoKind> {
        self.marker?;
        if self.retrans == Some(0) {
            return Some(UndoKind::Dsack);
        }
        self.packet_was_delayed().then_some(UndoKind::Timestamp)
    }

    /// Whether all retransmissions were duplicates.
    pub fn proven_by_dsack(&self) -> bool {
        self.marker.is_some() && self.retrans == Some(0)
    }

    /// Whether the original filled the hole: its echoed timestamp predates the first
    /// retransmission, or there was no retransmission yet (held back by pacing or a full window).
    pub fn packet_was_delayed(&self) -> bool {
        self.stamp.is_none_or(|stamp| is_before(self.echo, stamp))
    }

    /// Counts a retransmission with timestamp `stamp`.
    pub fn on_retransmission(&mut self, stamp: u32) {
        self.stamp.get_or_insert(stamp);
        self.retrans = Some(self.retrans.unwrap_or(0) + 1);
    }

    /// Counts `dups` reported duplicates that end at segment `end`.
    pub fn on_duplicates(&mut self, dups: u64, end: Seg) {
        if let (Some(marker), Some(left)) = (self.marker, self.retrans) {
            if end > marker && left > 0 {
                self.retrans = Some(left.saturating_sub(dups));
            }
        }
    }
}

/// Whether an echoed timestamp is older than `stamp`; zero means that none is echoed.
pub(super) fn is_before(echo: u32, stamp: u32) -> bool {
    echo != 0 && (echo.wrapping_sub(stamp) as i32) < 0
}
