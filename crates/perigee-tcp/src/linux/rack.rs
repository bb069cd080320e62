// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Loss detection by time (RACK) and tail loss probes (RFC 8985).

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
/// The tail loss probe in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    /// snd_nxt when the probe was sent; `None` = no outstanding probe.
    pub high: Option<Seg>,
    pub was_retrans: bool,
    app_limited: bool,
}

impl Probe {
    /// Whether a retransmission is outstanding as a probe.
    pub fn is_retransmission(&self) -> bool {
        self.high.is_some() && self.was_retrans
    }
}

impl Linux {
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

    /// Linux 4.15: never below a millisecond, and narrow only in recovery without reordering.
    fn reordering_window_415(&self) -> Nanos {
        const LEAST: Nanos = Nanos::from_millis(1);
        let min = self.rtt.min();
        if (self.detection.reord_seen == 0 && self.episode.ca >= CaState::Recovery) || min == Nanos::MAX {
            return LEAST;
        }
        (min / 4 * self.detection.rack.steps).max(LEAST).min(self.rtt.srtt())
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
        let mut at = self.board.oldest_under_way(newest);
        while let Some(seg) = at {
            let slot = *self.board.slot(seg);
            if !slot.older(seg, newest) {
                break;
            }
            at = self.board.after(seg);
            // Marked lost by a timeout and not retransmitted yet.
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

    /// At a timeout all segments are lost except those sent so recently that their ACKs may still
    /// arrive.
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

    /// The reordering timer fired.
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

    /// Delay of the tail loss probe, if one may be sent.
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

    /// The probe timer fired: sends one new segment if available, else retransmits the last one.
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

    /// Evaluates an ACK for an outstanding probe.
    pub(super) fn check_probe(&mut self, now: Nanos, ack: Seg, p: &Progress) {
        let Some(high) = self.probe.high else { return };
        if ack < high {
            return;
        }
        if !self.probe.was_retrans || p.dsack_of_probe {
            self.probe.high = None;
        } else if ack > high {
            // The probe repaired a loss: reduce the window once.
            let app_limited = self.probe.app_limited;
            self.begin_reduction(now);
            self.set_state(now, CaState::Cwr);
            self.end_reduction();
            self.try_keep_open(now);
            self.probe.high = None;
            self.tell(now, Transition::TlpRepaired { app_limited });
        } else if p.acked == 0 && !p.data_sacked {
            self.probe.high = None;
        }
    }
}
