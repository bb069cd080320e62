// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Loss detection by time (RACK, RFC 8985) and by duplicate ACKs (RFC 6675), and tail loss probes.

use super::input::Progress;
use super::timers::TimerKind;
use super::Linux;
use crate::config::LossDetection;
use crate::rtt::round_up;
use crate::scoreboard::{EVER_RETRANS, LOST, SACKED};
use crate::sender::Transmit;
use crate::Seg;
use perigee_cc::{CaState, CongestionControl, LossEvent, LossKind, Transition};
use perigee_units::Nanos;

/// Number of segments SACKed above a hole that mark it lost (RFC 6675).
const DUP_THRESHOLD: u64 = 3;

/// State of the tail loss probe.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    /// snd_nxt when the probe was sent; `None` = no outstanding probe.
    pub high: Option<Seg>,
    /// Whether the probe was a retransmission.
    pub was_retrans: bool,
    /// Whether the sender was application-limited when the probe was sent.
    app_limited: bool,
}

impl Probe {
    /// Whether a probe is outstanding that was a retransmission.
    pub fn is_retransmission(&self) -> bool {
        self.high.is_some() && self.was_retrans
    }
}

impl Linux {
    /// Time by which a segment may arrive later than one sent after it (`tcp_rack_reo_wnd`).
    fn reordering_window(&self) -> Nanos {
        match self.conn.cfg.loss_detection {
            LossDetection::Rack => {}
            LossDetection::Rack415 => return self.reordering_window_415(),
            LossDetection::DupThresh => return Nanos::ZERO,
        }
        if self.detection.reord_seen == 0
            && (self.episode.ca >= CaState::Recovery || self.board.sacked >= self.detection.reordering)
        {
            return Nanos::ZERO;
        }
        let min = if self.rtt.min() == Nanos::MAX { Nanos::ZERO } else { self.rtt.min() };
        (min / 4 * self.detection.rack.steps).min(self.rtt.srtt())
    }

    /// Reordering window of Linux 4.15: 1 ms in recovery without reordering, otherwise at least 1
    /// ms unless the smoothed RTT is shorter.
    fn reordering_window_415(&self) -> Nanos {
        const MIN_WINDOW: Nanos = Nanos::from_millis(1);
        let min = self.rtt.min();
        if (self.detection.reord_seen == 0 && self.episode.ca >= CaState::Recovery) || min == Nanos::MAX {
            return MIN_WINDOW;
        }
        (min / 4 * self.detection.rack.steps).max(MIN_WINDOW).min(self.rtt.srtt())
    }

    /// RFC 6675: marks a segment lost when a number of segments above it are SACKed:
    /// `DUP_THRESHOLD`, or alongside RACK the reordering degree. Retransmissions are not marked
    /// again.
    fn mark_by_dupthresh(&mut self, now: Nanos) {
        let mut needed = match self.conn.cfg.loss_detection {
            LossDetection::DupThresh => DUP_THRESHOLD,
            _ => self.detection.reordering,
        };
        if self.board.sacked < needed {
            return;
        }
        let una = self.board.una();
        let mut end = self.detection.highest_sacked;
        while end > una && needed > 0 {
            end -= 1;
            needed -= (self.board.slot(end).flags & SACKED != 0) as u64;
        }
        let from = self.detection.dup_marked.max(una);
        self.detection.dup_marked = from.max(end);
        for seg in from..end {
            if self.board.slot(seg).flags & (SACKED | LOST | EVER_RETRANS) == 0 {
                self.mark_lost(now, seg, LossKind::Rack);
                self.board.unlist(seg);
            }
        }
    }

    /// Marks overdue segments lost; returns the longest remaining wait if any segment is not
    /// overdue yet. Deadlines are in order of transmission, so the first segment that is not
    /// overdue ends the search.
    fn detect_losses(&mut self, now: Nanos) -> Option<Nanos> {
        let wait = self.detection.rack.rtt + self.reordering_window();
        let newest = (self.detection.rack.sent, self.detection.rack.seg);
        let mut at = self.board.oldest_not_lost(newest);
        while let Some(seg) = at {
            let slot = *self.board.slot(seg);
            if !slot.older(seg, newest) {
                break;
            }
            at = self.board.after(seg);
            // Already marked lost, by a timeout, and not retransmitted yet.
            if slot.waits() {
                continue;
            }
            if slot.tx.sent + wait > now {
                return Some(self.board.latest_before(newest, seg) + wait - now);
            }
            self.mark_lost(now, seg, LossKind::Rack);
            self.board.unlist(seg);
        }
        None
    }

    /// Runs loss detection if a delivery advanced the RACK state. Arms the reordering timer if a
    /// packet is not overdue yet; the other timers must not be rearmed then.
    pub(super) fn find_losses(&mut self, now: Nanos, p: &mut Progress) {
        if self.conn.cfg.loss_detection != LossDetection::Rack {
            self.mark_by_dupthresh(now);
            if self.conn.cfg.loss_detection == LossDetection::DupThresh {
                return;
            }
        }
        if self.board.out() == 0 || !std::mem::take(&mut self.detection.rack.advanced) {
            return;
        }
        let retrans = self.board.retrans;
        if let Some(wait) = self.detect_losses(now) {
            self.timers.arm_reorder(now, wait);
            p.rearm = false;
        }
        p.lost_retrans |= retrans > self.board.retrans;
    }

    /// Marks a segment lost and reports it to the congestion control.
    pub(super) fn mark_lost(&mut self, now: Nanos, seg: Seg, kind: LossKind) {
        if !self.board.mark_lost(seg) {
            return;
        }
        self.rate.lost += 1;
        if self.conn.caps.per_loss {
            let slot = *self.board.slot(seg);
            let event = LossEvent {
                bytes: self.conn.mss,
                tx: slot.tx.in_bytes(self.conn.mss),
                tag: slot.tag,
                lost_total: self.rate.lost * self.conn.mss,
                kind,
            };
            let cx = self.cx(now);
            self.conn.cc.on_loss(&cx, &mut self.conn.win, &event);
        }
    }

    /// Marks all segments lost at a timeout, except those sent so recently that their ACKs may
    /// still arrive.
    pub(super) fn mark_lost_at_timeout(&mut self, now: Nanos) {
        let wait = self.detection.rack.rtt + self.reordering_window();
        let by_time = self.conn.cfg.loss_detection != LossDetection::DupThresh;
        for seg in self.board.una()..self.board.nxt() {
            let slot = self.board.slot(seg);
            let recent = by_time && slot.tx.sent + wait > now;
            if seg != self.board.una() && recent && slot.flags & LOST == 0 {
                continue;
            }
            self.mark_lost(now, seg, LossKind::Rto);
        }
    }

    /// Handles the expiry of the reordering timer.
    pub(super) fn reorder_timeout(&mut self, now: Nanos) {
        let in_flight = self.board.in_flight();
        let wait = self.detect_losses(now);
        if self.board.in_flight() != in_flight && self.episode.ca != CaState::Recovery {
            self.enter_recovery(now);
            if self.conn.caps.recovery == perigee_cc::Recovery::Prr {
                self.reduce(1, false);
            }
        }
        match wait {
            Some(wait) => self.timers.arm_reorder(now, wait),
            None => self.arm_rto(now),
        }
    }

    /// Delay of the tail loss probe; `None` if none may be sent.
    pub(super) fn probe_delay(&self, now: Nanos, from_ack: bool) -> Option<Nanos> {
        let allowed = self.conn.cfg.tlp
            && self.board.out() > 0
            && matches!(self.episode.ca, CaState::Open | CaState::Cwr)
            && self.probe.high.is_none();
        if !allowed {
            return None;
        }
        let srtt = self.rtt.srtt();
        let delay = if srtt == Nanos::ZERO {
            Nanos::from_secs(1)
        } else if self.board.out() == 1 {
            srtt * 2 + self.conn.cfg.rto.min
        } else {
            srtt * 2 + Nanos::from_millis(2)
        };
        let rto_left = if from_ack { self.rto() } else { self.rto_left(now) };
        Some(round_up(delay.min(rto_left.max(Nanos(1))), self.timers.tick))
    }

    /// Handles the expiry of the probe timer: sends one new segment if available, else retransmits
    /// the last one.
    pub(super) fn send_probe(&mut self, now: Nanos, out: &mut Vec<Transmit>) {
        if self.probe.high.is_none() {
            let app_limited = self.rate.app_limited != 0;
            let is_new = self.has_new_data();
            let sent = if is_new {
                self.emit_new(now, out)
            } else {
                self.emit_probe(now, self.board.nxt() - 1, out)
            };
            if sent {
                self.conn.stats.probes += 1;
                self.probe = Probe { high: Some(self.board.nxt()), was_retrans: !is_new, app_limited };
            }
        }
        self.timers.kind = TimerKind::None;
        self.arm_rto(now);
    }

    /// Ends an outstanding probe if the ACK covers it; reduces the window if the probe repaired a
    /// loss.
    pub(super) fn check_probe(&mut self, now: Nanos, ack: Seg, p: &Progress) {
        let Some(high) = self.probe.high else { return };
        if ack < high {
            return;
        }
        if !self.probe.was_retrans || p.dsack_of_probe {
            self.probe.high = None;
        } else if ack > high {
            // The probe repaired a loss: one reduction.
            let app_limited = self.probe.app_limited;
            self.begin_reduction(now);
            self.set_state(now, CaState::Cwr);
            self.end_reduction();
            self.try_keep_open(now);
            self.probe.high = None;
            self.notify(now, Transition::TlpRepaired { app_limited });
        } else if p.acked == 0 && !p.data_sacked {
            self.probe.high = None;
        }
    }
}
