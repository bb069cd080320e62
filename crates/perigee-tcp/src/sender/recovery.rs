// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The congestion state machine: Open, Disorder, CWR, Recovery, Loss; PRR; undo.

use super::input::{Before, Progress};
use super::{Resend, Sender};
use crate::config::Reduction;
use crate::scoreboard::EVER_RETRANS;
use perigee_cc::{CaState, CongestionControl, OnRto, Recovery, Transition, UndoKind, INFINITE_SSTHRESH};
use perigee_units::Nanos;

impl Sender {
    pub(super) fn tell(&mut self, now: Nanos, t: Transition) {
        let cx = self.cx(now);
        self.cc.on_transition(&cx, &mut self.win, t);
    }

    pub(super) fn set_state(&mut self, now: Nanos, new: CaState) {
        let old = std::mem::replace(&mut self.ca, new);
        if old == new {
            return;
        }
        match old {
            CaState::Recovery => self.tell(now, Transition::ExitRecovery),
            CaState::Loss => self.tell(now, Transition::ExitRto),
            CaState::Cwr => self.tell(now, Transition::ExitCwr),
            _ => {}
        }
        match new {
            CaState::Recovery => self.tell(now, Transition::EnterRecovery),
            CaState::Cwr => self.tell(now, Transition::EnterCwr),
            _ => {}
        }
    }

    /// State machine for ACKs other than plain progress in Open. Decides whether lost segments may
    /// be retransmitted on this ACK ([`Sender::resend`] is `Nothing` before).
    pub(super) fn state_machine(&mut self, now: Nanos, before: &Before, p: &mut Progress) {
        if self.ca == CaState::Open {
            self.reduction.retrans_stamp = None;
        } else if self.board.una() >= self.high {
            self.leave_if_complete(now);
        }
        match self.ca {
            CaState::Recovery => {
                if p.acked > 0 && self.undo_partial(now, before) {
                    return;
                }
                if self.undo_by_dsack(now) {
                    self.try_to_open(now);
                }
                self.find_losses(now, p);
                if self.ca == CaState::Recovery {
                    self.resend = Resend::Lost;
                } else if self.board.lost > 0 {
                    self.enter_recovery(now);
                }
            }
            CaState::Loss => {
                self.process_loss(now, p);
                self.find_losses(now, p);
                if self.ca == CaState::Open || p.lost_retrans {
                    self.open_or_recover(now);
                }
            }
            _ => {
                if self.ca <= CaState::Disorder {
                    self.undo_by_dsack(now);
                }
                self.find_losses(now, p);
                self.open_or_recover(now);
            }
        }
    }

    fn open_or_recover(&mut self, now: Nanos) {
        if self.board.lost > 0 {
            self.enter_recovery(now);
        } else {
            self.try_to_open(now);
        }
    }

    /// Ends an episode once all data outstanding at its start is acknowledged.
    fn leave_if_complete(&mut self, now: Nanos) {
        match self.ca {
            // One segment beyond, so that the reduction lasts a full round.
            CaState::Cwr if self.board.una() > self.high => {
                self.end_reduction();
                self.set_state(now, CaState::Open);
            }
            CaState::Recovery => self.finish_recovery(now),
            _ => {}
        }
    }

    fn finish_recovery(&mut self, now: Nanos) {
        match self.undo_evidence() {
            Some(kind) => self.undo(now, false, kind),
            None => self.recovery_without_undo(),
        }
        self.end_reduction();
        self.set_state(now, CaState::Open);
    }

    pub(super) fn enter_recovery(&mut self, now: Nanos) {
        self.reduction.prior_ssthresh = 0;
        self.allow_undo();
        if !self.in_reduction() {
            self.reduction.prior_ssthresh = self.ssthresh_to_restore();
            self.begin_reduction(now);
        }
        self.stats.recoveries += 1;
        self.resend = Resend::Lost;
        self.head_at_once = self.cfg.reduction == Reduction::Ns3;
        // Re-entry after an undo within recovery is a new episode for the controller as well.
        self.set_state(now, CaState::Recovery);
    }

    fn allow_undo(&mut self) {
        if !self.cfg.undo {
            return;
        }
        self.reduction.undo_marker = Some(self.board.una());
        let probe = (self.probe.high.is_some() && self.probe.was_retrans) as u64;
        let outstanding = self.board.retrans + probe;
        self.reduction.undo_retrans = (outstanding > 0).then_some(outstanding);
    }

    fn ssthresh_to_restore(&self) -> u64 {
        let cwnd = self.cwnd();
        self.ssthresh().max((cwnd >> 1) + (cwnd >> 2))
    }

    /// Queries the controller's threshold and starts a reduction towards it.
    pub(super) fn begin_reduction(&mut self, now: Nanos) {
        self.high = self.board.nxt();
        self.probe.high = None;
        self.reduction.prior_cwnd = match self.cfg.reduction {
            Reduction::Ns3 => self.board.in_flight().max(1),
            _ => self.cwnd(),
        };
        self.reduction.delivered = 0;
        self.reduction.out = 0;
        self.reduction.progressed = false;
        let cx = self.cx(now);
        self.win.ssthresh = self.cc.ssthresh(&cx, &self.win);
    }

    /// Whether the ACK shows that the network has spare capacity: PRR may then send one packet more
    /// than was delivered.
    pub(super) fn is_safe_ack(&self, p: &Progress, lost: u64) -> bool {
        match self.cfg.reduction {
            Reduction::Rfc9937 => p.acked > 0 && lost == 0,
            Reduction::Linux415 => p.retrans_acked && !p.lost_retrans,
            Reduction::Ns3 => p.retrans_acked,
            Reduction::Rfc6937 => true,
            Reduction::Rfc6675 => false,
        }
    }

    /// Number of packets that ns-3 counts as delivered: an ACK with new SACKs counts one packet
    /// more until a window is delivered, and a second time if it also advances.
    pub(super) fn delivered_like_ns3(&self, delivered: u64, p: &Progress) -> u64 {
        let r = &self.reduction;
        let more = u64::from(p.data_sacked && r.delivered < r.prior_cwnd);
        more + delivered * (1 + u64::from(p.data_sacked && p.acked > 0))
    }

    /// Proportional rate reduction: the window follows deliveries down to the threshold.
    pub(super) fn reduce(&mut self, delivered: u64, safe: bool) {
        let r = &mut self.reduction;
        if delivered == 0 || r.prior_cwnd == 0 {
            return;
        }
        r.delivered += delivered;
        let in_flight = self.board.in_flight();
        let ssthresh = self.win.ssthresh / self.mss;
        if self.cfg.reduction == Reduction::Ns3 && in_flight > ssthresh {
            return self.reduce_like_ns3(in_flight);
        }
        let r = &self.reduction;
        let mut count = if self.cfg.reduction == Reduction::Rfc6675 {
            ssthresh.saturating_sub(in_flight)
        } else if in_flight > ssthresh {
            let share = (ssthresh * r.delivered).div_ceil(r.prior_cwnd);
            share.saturating_sub(r.out)
        } else {
            let n = match (self.cfg.reduction, safe) {
                (Reduction::Linux415, false) => delivered,
                _ => r.delivered.saturating_sub(r.out).max(delivered) + safe as u64,
            };
            n.min(ssthresh - in_flight)
        };
        if r.out == 0 {
            count = count.max(1);
        }
        self.set_cwnd(in_flight + count);
    }

    /// ns-3 counts bytes, and up to release 3.48 it computes the product of the delivered data and
    /// the threshold in 32 bits (fixed for its issue 1282): with windows of more than about fifty
    /// packets the product wraps around to a few packets, and nothing more is sent until the data
    /// in flight is down to the threshold.
    fn reduce_like_ns3(&mut self, in_flight: u64) {
        let r = &self.reduction;
        let product = ((r.delivered * self.mss) as u32).wrapping_mul(self.win.ssthresh as u32);
        let share = u64::from(product).div_ceil(r.prior_cwnd * self.mss);
        let least = if r.out == 0 { self.mss } else { 0 };
        self.win.cwnd = in_flight * self.mss + share.saturating_sub(r.out * self.mss).max(least);
    }

    /// Completes the reduction: the window is set to the threshold, unless the reduction was
    /// undone.
    pub(super) fn end_reduction(&mut self) {
        if self.caps.recovery == Recovery::Own {
            return;
        }
        if self.win.ssthresh < INFINITE_SSTHRESH
            && (self.ca == CaState::Cwr || self.reduction.undo_marker.is_some() || !self.cfg.undo)
        {
            self.win.cwnd = self.win.ssthresh;
        }
    }

    fn try_to_open(&mut self, now: Nanos) {
        if !self.any_retransmission_out() {
            self.reduction.retrans_stamp = None;
        }
        if self.ca != CaState::Cwr {
            self.try_keep_open(now);
        }
    }

    pub(super) fn try_keep_open(&mut self, now: Nanos) {
        let unsettled = self.board.sacked + self.board.lost > 0 || self.any_retransmission_out();
        let state = if unsettled { CaState::Disorder } else { CaState::Open };
        if self.ca != state {
            self.set_state(now, state);
            self.high = self.board.nxt();
        }
    }

    fn any_retransmission_out(&self) -> bool {
        self.board.retrans > 0
            || (self.board.out() > 0 && self.board.slot(self.board.una()).flags & EVER_RETRANS != 0)
    }

    /// Handles an ACK in Loss: F-RTO (RFC 5682), undo, or ordinary repair.
    fn process_loss(&mut self, now: Nanos, p: &Progress) {
        let recovered = self.board.una() >= self.high;
        if p.acked > 0 {
            if let Some(kind) = self.undo_evidence() {
                return self.undo_loss(now, kind);
            }
        }
        if self.frto {
            if p.orig_delivered {
                return self.undo_loss(now, UndoKind::Frto);
            }
            if self.board.nxt() > self.high {
                if p.data_sacked || p.acked == 0 {
                    self.frto = false;
                }
            } else if p.acked > 0 && !recovered {
                self.high = self.board.nxt();
                if self.has_new_data() {
                    self.resend = Resend::New;
                    return;
                }
                self.frto = false;
            }
        }
        if recovered {
            match self.undo_evidence() {
                Some(kind) => self.undo(now, false, kind),
                None => self.recovery_without_undo(),
            }
            return self.set_state(now, CaState::Open);
        }
        self.resend = Resend::Lost;
    }

    fn undo_loss(&mut self, now: Nanos, kind: UndoKind) {
        self.undo(now, true, kind);
        self.retransmits = 0;
        self.frto = false;
        self.set_state(now, CaState::Open);
    }

    /// Handles the expiry of the retransmission timer.
    pub(super) fn enter_loss(&mut self, now: Nanos) {
        let new_episode = self.ca < CaState::Recovery;
        // RFC 5681 section 3.1 distinguishes whether the timer has already retransmitted the
        // packet; Linux also excludes a timeout during fast recovery.
        let in_recovery = self.ca == CaState::Recovery && self.cfg.reduction == Reduction::Ns3;
        let reduces = self.ca <= CaState::Disorder
            || self.high <= self.board.una()
            || (self.ca == CaState::Loss && self.retransmits == 0)
            || in_recovery;
        // The context has the data in flight before all of it is marked lost.
        let cx = self.cx(now);
        self.mark_lost_at_timeout(now);
        if reduces {
            self.reduction.prior_ssthresh = self.ssthresh_to_restore();
            self.reduction.prior_cwnd = self.cwnd();
            self.win.ssthresh = self.cc.ssthresh(&cx, &self.win);
            self.allow_undo();
        }
        if self.caps.on_rto == OnRto::InFlightPlusOne {
            self.set_cwnd(self.board.in_flight() + 1);
        }
        if self.ca <= CaState::Disorder && self.board.sacked >= self.reordering {
            self.reordering = self.reordering.min(3);
        }
        let was = std::mem::replace(&mut self.ca, CaState::Loss);
        match was {
            CaState::Recovery => self.tell(now, Transition::ExitRecovery),
            CaState::Cwr => self.tell(now, Transition::ExitCwr),
            _ => {}
        }
        self.tell(now, Transition::EnterRto);
        self.high = self.board.nxt();
        self.probe.high = None;
        self.frto = self.cfg.frto && (new_episode || self.retransmits > 0);
        self.resend = Resend::Lost;
        self.after_control();
    }

    // ---- Undo -----------------------------------------------------------------------------------

    /// Evidence that the reduction was spurious: all retransmissions were duplicates, or an echoed
    /// timestamp predates the first one.
    fn undo_evidence(&self) -> Option<UndoKind> {
        self.reduction.undo_marker?;
        if self.reduction.undo_retrans == Some(0) {
            return Some(UndoKind::Dsack);
        }
        self.packet_was_delayed().then_some(UndoKind::Timestamp)
    }

    /// Whether the original filled the hole: its echoed timestamp predates the first
    /// retransmission, or there was no retransmission yet (held back by pacing or a full window).
    fn packet_was_delayed(&self) -> bool {
        self.reduction.retrans_stamp.is_none_or(|stamp| self.echo_before(self.last_ts_ecr, stamp))
    }

    /// Undoes a reduction if a delayed original has filled a hole: reordering, not loss. True: the
    /// ACK needs no further processing.
    fn undo_partial(&mut self, now: Nanos, before: &Before) -> bool {
        if self.reduction.undo_marker.is_none() || !self.packet_was_delayed() {
            return false;
        }
        if before.highest_sacked > before.una {
            self.saw_reordering(before.una, before.highest_sacked);
        }
        if self.board.retrans > 0 {
            return true;
        }
        if !self.any_retransmission_out() {
            self.reduction.retrans_stamp = None;
        }
        self.undo(now, true, UndoKind::Timestamp);
        self.try_keep_open(now);
        false
    }

    fn undo_by_dsack(&mut self, now: Nanos) -> bool {
        let proven = self.reduction.undo_marker.is_some() && self.reduction.undo_retrans == Some(0);
        if proven {
            self.persist_reordering_window();
            self.undo(now, false, UndoKind::Dsack);
        }
        proven
    }

    fn undo(&mut self, now: Nanos, unmark: bool, kind: UndoKind) {
        if unmark {
            self.board.unmark_losses();
        }
        if self.reduction.prior_ssthresh != 0 {
            if self.caps.host_restores_cwnd {
                self.set_cwnd(self.cwnd().max(self.reduction.prior_cwnd));
            }
            if self.reduction.prior_ssthresh > self.ssthresh() {
                self.set_ssthresh(self.reduction.prior_ssthresh);
            }
        }
        self.tell(now, Transition::Undo(kind));
        self.dup_marked = self.board.una();
        self.reduction.undo_marker = None;
        self.rack.advanced = true;
        self.stats.undos += 1;
    }
}
