// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The congestion state machine: Open, Disorder, CWR, Recovery, Loss; PRR; undo.

use super::episode::Resend;
use super::input::{Before, Progress};
use super::Linux;
use crate::config::Reduction;
use crate::scoreboard::EVER_RETRANS;
use perigee_cc::{CaState, CongestionControl, OnRto, Recovery, Transition, UndoKind, INFINITE_SSTHRESH};
use perigee_units::Nanos;

impl Linux {
    /// Reports a transition to the congestion control.
    pub(super) fn notify(&mut self, now: Nanos, t: Transition) {
        let cx = self.cx(now);
        self.conn.cc.on_transition(&cx, &mut self.conn.win, t);
    }

    pub(super) fn set_state(&mut self, now: Nanos, new: CaState) {
        let old = std::mem::replace(&mut self.episode.ca, new);
        if old == new {
            return;
        }
        match old {
            CaState::Recovery => self.notify(now, Transition::ExitRecovery),
            CaState::Loss => self.notify(now, Transition::ExitRto),
            CaState::Cwr => self.notify(now, Transition::ExitCwr),
            _ => {}
        }
        match new {
            CaState::Recovery => self.notify(now, Transition::EnterRecovery),
            CaState::Cwr => self.notify(now, Transition::EnterCwr),
            _ => {}
        }
    }

    /// State machine for ACKs other than plain progress in Open. Decides whether lost segments may
    /// be retransmitted on this ACK (`resend` is `Nothing` before).
    pub(super) fn state_machine(&mut self, now: Nanos, before: &Before, p: &mut Progress) {
        if self.episode.ca == CaState::Open {
            self.episode.undo.stamp = None;
        } else if self.board.una() >= self.episode.high {
            self.leave_if_complete(now);
        }
        match self.episode.ca {
            CaState::Recovery => {
                if p.acked > 0 && self.undo_partial(now, before) {
                    return;
                }
                if self.undo_by_dsack(now) {
                    self.try_to_open(now);
                }
                self.find_losses(now, p);
                if self.episode.ca == CaState::Recovery {
                    self.episode.resend = Resend::Lost;
                } else if self.board.lost > 0 {
                    self.enter_recovery(now);
                }
            }
            CaState::Loss => {
                self.process_loss(now, p);
                self.find_losses(now, p);
                if self.episode.ca == CaState::Open || p.lost_retrans {
                    self.open_or_recover(now);
                }
            }
            _ => {
                if self.episode.ca <= CaState::Disorder {
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
        match self.episode.ca {
            // One segment beyond, so that the reduction lasts a full round.
            CaState::Cwr if self.board.una() > self.episode.high => {
                self.end_reduction();
                self.set_state(now, CaState::Open);
            }
            CaState::Recovery => self.finish_recovery(now),
            _ => {}
        }
    }

    fn finish_recovery(&mut self, now: Nanos) {
        match self.episode.undo.evidence() {
            Some(kind) => self.undo(now, false, kind),
            None => self.detection.rack.recovery_without_undo(),
        }
        self.end_reduction();
        self.set_state(now, CaState::Open);
    }

    pub(super) fn enter_recovery(&mut self, now: Nanos) {
        self.episode.undo.prior_ssthresh = 0;
        self.allow_undo();
        if !self.episode.in_reduction() {
            self.episode.undo.prior_ssthresh = self.conn.current_ssthresh();
            self.begin_reduction(now);
        }
        self.conn.stats.recoveries += 1;
        self.episode.resend = Resend::Lost;
        self.episode.head_at_once = self.conn.cfg.reduction == Reduction::Ns3;
        // Re-entry after an undo within recovery is a new episode for the controller as well.
        self.set_state(now, CaState::Recovery);
    }

    fn allow_undo(&mut self) {
        if !self.conn.cfg.undo {
            return;
        }
        self.episode.undo.marker = Some(self.board.una());
        let probe = u64::from(self.probe.is_retransmission());
        let outstanding = self.board.retrans + probe;
        self.episode.undo.retrans = (outstanding > 0).then_some(outstanding);
    }

    /// Queries the controller's threshold and starts a reduction towards it.
    pub(super) fn begin_reduction(&mut self, now: Nanos) {
        self.episode.high = self.board.nxt();
        self.probe.high = None;
        let prior_cwnd = match self.conn.cfg.reduction {
            Reduction::Ns3 => self.board.in_flight().max(1),
            _ => self.conn.cwnd(),
        };
        self.episode.prr.start(prior_cwnd);
        let cx = self.cx(now);
        self.conn.win.ssthresh = self.conn.cc.ssthresh(&cx, &self.conn.win);
    }

    /// Whether the ACK shows that the network has spare capacity: PRR may then send one packet more
    /// than was delivered.
    pub(super) fn is_safe_ack(&self, p: &Progress, lost: u64) -> bool {
        match self.conn.cfg.reduction {
            Reduction::Rfc9937 => p.acked > 0 && lost == 0,
            Reduction::Linux415 => p.retrans_acked && !p.lost_retrans,
            Reduction::Ns3 => p.retrans_acked,
            Reduction::Rfc6937 => true,
            Reduction::Rfc6675 => false,
        }
    }

    /// Proportional rate reduction: the window follows deliveries down to the threshold.
    pub(super) fn reduce(&mut self, delivered: u64, safe: bool) {
        let r = &mut self.episode.prr;
        if delivered == 0 || r.prior_cwnd == 0 {
            return;
        }
        r.delivered += delivered;
        let in_flight = self.board.in_flight();
        let ssthresh = self.conn.win.ssthresh / self.conn.mss;
        if self.conn.cfg.reduction == Reduction::Ns3 && in_flight > ssthresh {
            return self.reduce_like_ns3(in_flight);
        }
        let r = &self.episode.prr;
        let mut count = if self.conn.cfg.reduction == Reduction::Rfc6675 {
            ssthresh.saturating_sub(in_flight)
        } else if in_flight > ssthresh {
            let share = (ssthresh * r.delivered).div_ceil(r.prior_cwnd);
            share.saturating_sub(r.out)
        } else {
            let n = match (self.conn.cfg.reduction, safe) {
                (Reduction::Linux415, false) => delivered,
                _ => r.delivered.saturating_sub(r.out).max(delivered) + safe as u64,
            };
            n.min(ssthresh - in_flight)
        };
        if r.out == 0 {
            count = count.max(1);
        }
        self.conn.set_cwnd(in_flight + count);
    }

    /// ns-3 counts bytes, and up to release 3.48 it computes the product of the delivered data and
    /// the threshold in 32 bits (fixed for its issue 1282): with windows of more than about fifty
    /// packets the product wraps around to a few packets, and nothing more is sent until the data
    /// in flight is down to the threshold.
    fn reduce_like_ns3(&mut self, in_flight: u64) {
        let r = &self.episode.prr;
        let product = ((r.delivered * self.conn.mss) as u32).wrapping_mul(self.conn.win.ssthresh as u32);
        let share = u64::from(product).div_ceil(r.prior_cwnd * self.conn.mss);
        let least = if r.out == 0 { self.conn.mss } else { 0 };
        self.conn.win.cwnd =
            in_flight * self.conn.mss + share.saturating_sub(r.out * self.conn.mss).max(least);
    }

    /// Completes the reduction: the window is set to the threshold, unless the reduction was
    /// undone.
    pub(super) fn end_reduction(&mut self) {
        if self.conn.caps.recovery == Recovery::Own {
            return;
        }
        if self.conn.win.ssthresh < INFINITE_SSTHRESH
            && (self.episode.ca == CaState::Cwr || self.episode.undo.marker.is_some() || !self.conn.cfg.undo)
        {
            self.conn.win.cwnd = self.conn.win.ssthresh;
        }
    }

    fn try_to_open(&mut self, now: Nanos) {
        if !self.any_retransmission_out() {
            self.episode.undo.stamp = None;
        }
        if self.episode.ca != CaState::Cwr {
            self.try_keep_open(now);
        }
    }

    pub(super) fn try_keep_open(&mut self, now: Nanos) {
        let unsettled = self.board.sacked + self.board.lost > 0 || self.any_retransmission_out();
        let state = if unsettled { CaState::Disorder } else { CaState::Open };
        if self.episode.ca != state {
            self.set_state(now, state);
            self.episode.high = self.board.nxt();
        }
    }

    fn any_retransmission_out(&self) -> bool {
        self.board.retrans > 0
            || (self.board.out() > 0 && self.board.slot(self.board.una()).flags & EVER_RETRANS != 0)
    }

    /// Handles an ACK in Loss: F-RTO (RFC 5682), undo, or ordinary repair.
    fn process_loss(&mut self, now: Nanos, p: &Progress) {
        let recovered = self.board.una() >= self.episode.high;
        if p.acked > 0 {
            if let Some(kind) = self.episode.undo.evidence() {
                return self.undo_loss(now, kind);
            }
        }
        if self.episode.frto {
            if p.orig_delivered {
                return self.undo_loss(now, UndoKind::Frto);
            }
            if self.board.nxt() > self.episode.high {
                if p.data_sacked || p.acked == 0 {
                    self.episode.frto = false;
                }
            } else if p.acked > 0 && !recovered {
                self.episode.high = self.board.nxt();
                if self.has_new_data() {
                    self.episode.resend = Resend::New;
                    return;
                }
                self.episode.frto = false;
            }
        }
        if recovered {
            match self.episode.undo.evidence() {
                Some(kind) => self.undo(now, false, kind),
                None => self.detection.rack.recovery_without_undo(),
            }
            return self.set_state(now, CaState::Open);
        }
        self.episode.resend = Resend::Lost;
    }

    fn undo_loss(&mut self, now: Nanos, kind: UndoKind) {
        self.undo(now, true, kind);
        self.timers.retransmits = 0;
        self.episode.frto = false;
        self.set_state(now, CaState::Open);
    }

    /// Handles the expiry of the retransmission timer.
    pub(super) fn enter_loss(&mut self, now: Nanos) {
        let new_episode = self.episode.ca < CaState::Recovery;
        // RFC 5681 section 3.1 distinguishes whether the timer has already retransmitted the
        // packet; Linux also excludes a timeout during fast recovery.
        let in_recovery = self.episode.ca == CaState::Recovery && self.conn.cfg.reduction == Reduction::Ns3;
        let reduces = self.episode.ca <= CaState::Disorder
            || self.episode.high <= self.board.una()
            || (self.episode.ca == CaState::Loss && self.timers.retransmits == 0)
            || in_recovery;
        // The context has the data in flight before all of it is marked lost.
        let cx = self.cx(now);
        self.mark_lost_at_timeout(now);
        if reduces {
            self.episode.undo.prior_ssthresh = self.conn.current_ssthresh();
            self.episode.prr.prior_cwnd = self.conn.cwnd();
            self.conn.win.ssthresh = self.conn.cc.ssthresh(&cx, &self.conn.win);
            self.allow_undo();
        }
        if self.conn.caps.on_rto == OnRto::InFlightPlusOne {
            self.conn.set_cwnd(self.board.in_flight() + 1);
        }
        if self.episode.ca <= CaState::Disorder && self.board.sacked >= self.detection.reordering {
            self.detection.reordering = self.detection.reordering.min(3);
        }
        let was = std::mem::replace(&mut self.episode.ca, CaState::Loss);
        match was {
            CaState::Recovery => self.notify(now, Transition::ExitRecovery),
            CaState::Cwr => self.notify(now, Transition::ExitCwr),
            _ => {}
        }
        self.notify(now, Transition::EnterRto);
        self.episode.high = self.board.nxt();
        self.probe.high = None;
        self.episode.frto = self.conn.cfg.frto && (new_episode || self.timers.retransmits > 0);
        self.episode.resend = Resend::Lost;
        self.after_control();
    }

    // ---- Undo -----------------------------------------------------------------------------------

    /// Undoes a reduction if a delayed original has filled a hole: reordering, not loss. True: the
    /// ACK needs no further processing.
    fn undo_partial(&mut self, now: Nanos, before: &Before) -> bool {
        if self.episode.undo.marker.is_none() || !self.episode.undo.packet_was_delayed() {
            return false;
        }
        if before.highest_sacked > before.una {
            self.detection.saw_reordering(before.una, before.highest_sacked);
        }
        if self.board.retrans > 0 {
            return true;
        }
        if !self.any_retransmission_out() {
            self.episode.undo.stamp = None;
        }
        self.undo(now, true, UndoKind::Timestamp);
        self.try_keep_open(now);
        false
    }

    fn undo_by_dsack(&mut self, now: Nanos) -> bool {
        let proven = self.episode.undo.proven_by_dsack();
        if proven {
            self.detection.rack.persist_window();
            self.undo(now, false, UndoKind::Dsack);
        }
        proven
    }

    fn undo(&mut self, now: Nanos, unmark: bool, kind: UndoKind) {
        if unmark {
            self.board.unmark_losses();
        }
        if self.episode.undo.prior_ssthresh != 0 {
            if self.conn.caps.host_restores_cwnd {
                self.conn.set_cwnd(self.conn.cwnd().max(self.episode.prr.prior_cwnd));
            }
            if self.episode.undo.prior_ssthresh > self.conn.ssthresh() {
                self.conn.set_ssthresh(self.episode.undo.prior_ssthresh);
            }
        }
        self.notify(now, Transition::Undo(kind));
        self.detection.dup_marked = self.board.una();
        self.episode.undo.marker = None;
        self.detection.rack.advanced = true;
        self.conn.stats.undos += 1;
    }
}
