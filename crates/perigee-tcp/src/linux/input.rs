// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Processing of acknowledgements.

use super::episode::{is_before, Resend};
use super::Linux;
use crate::config::Reduction;
use crate::rate::Sampling;
use crate::scoreboard::{Slot, EVER_RETRANS, SACKED};
use crate::sender::{timestamp, Ack};
use crate::{AckBlocks, Seg};
use perigee_cc::{AckEvent, AckedPkt, CaState, CongestionControl, TelemetryNeed};
use perigee_units::Nanos;

/// Progress made by the ACK that is being processed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Number of segments by which snd_una has advanced.
    pub acked: u64,
    /// Whether segments were newly selectively acknowledged.
    pub data_sacked: bool,
    /// Whether an original transmission sent before the episode was delivered.
    pub orig_delivered: bool,
    /// Whether the cumulative ACK covers a retransmitted segment.
    pub retrans_acked: bool,
    /// Whether the ACK reports a duplicate, and whether the tail loss probe caused it.
    pub dsack: bool,
    pub dsack_of_probe: bool,
    /// Whether a retransmission was found lost.
    pub lost_retrans: bool,
    /// Whether the retransmission timer must be restarted.
    pub rearm: bool,
    /// Lowest never-retransmitted segment delivered out of order.
    pub reord: Option<Seg>,
    /// Departures of the oldest and newest never-retransmitted segments among those acknowledged
    /// cumulatively, and selectively.
    pub acked_span: Option<(Nanos, Nanos)>,
    pub sacked_span: Option<(Nanos, Nanos)>,
    pub sampling: Sampling,
    /// Whether the receiver may have delayed the ACK.
    pub maybe_delayed: bool,
    pub ts_ecr: u32,
}

impl Progress {
    pub fn forward(&self) -> bool {
        self.acked > 0 || self.data_sacked
    }
}

impl Linux {
    /// Processes an acknowledgement. Returns its RTT sample, if any, as used by the smoothed
    /// estimator.
    pub fn on_ack(&mut self, now: Nanos, ack: &Ack<'_>) -> Option<Nanos> {
        let blocks = ack.blocks;
        let before = Before {
            ca: self.episode.ca,
            una: self.board.una(),
            in_flight: self.board.in_flight(),
            delivered: self.rate.delivered,
            lost: self.rate.lost,
            lost_out: self.board.lost,
            sacked: self.board.sacked,
            highest_sacked: if self.board.sacked > 0 {
                self.detection.highest_sacked
            } else {
                self.board.una()
            },
        };
        self.episode.undo.echo = if self.conn.cfg.timestamps { blocks.ts_ecr } else { 0 };
        self.window_end = match blocks.window_end {
            0 => Seg::MAX,
            end => self.window_end.max(end),
        };
        let mut p = Progress { ts_ecr: blocks.ts_ecr, ..Progress::default() };
        self.acked_pkts.clear();
        self.episode.resend = Resend::Nothing;
        if blocks.ack > self.board.una() {
            self.timers.retransmits = 0;
        }
        if !blocks.is_plain() {
            self.tag_sacks(now, blocks, &mut p);
        }
        if blocks.ack < self.board.una() {
            return self.overtaken_ack(now, blocks, &before, &mut p);
        }
        self.remove_acked(now, blocks.ack.min(self.board.nxt()), &mut p);
        let (seq_rtt, ca_rtt) = self.take_rtt(now, &before, &mut p);
        self.note_reordering(&before, &p);
        if p.forward() {
            self.detection.rack.resize_window(p.sampling.newest_delivered(), self.rate.delivered);
        }
        self.check_probe(now, blocks.ack, &p);
        if self.conn.cfg.ecn || self.conn.caps.scalable {
            self.take_marks(now, blocks.marked);
        }
        if self.is_dubious(blocks, &p) {
            self.state_machine(now, &before, &mut p);
        }
        if p.rearm && !self.keeps_timer(&p) {
            self.arm_after_ack(now);
        }
        let acked = std::mem::take(&mut self.acked_pkts);
        let event = self.close_ack(now, &before, &p, (seq_rtt, ca_rtt), ack, &acked);
        self.control(now, &before, &p, &event);
        self.acked_pkts = acked;
        seq_rtt
    }

    /// Handles an ACK overtaken by a later one. Only its selective acknowledgements can be new.
    fn overtaken_ack(
        &mut self,
        now: Nanos,
        blocks: &AckBlocks,
        before: &Before,
        p: &mut Progress,
    ) -> Option<Nanos> {
        if !blocks.is_plain() {
            self.state_machine(now, before, p);
        }
        None
    }

    /// Whether the state machine must handle the ACK: true for all but plain forward progress in
    /// Open.
    fn is_dubious(&self, blocks: &AckBlocks, p: &Progress) -> bool {
        self.episode.ca != CaState::Open || self.marks.new > 0 || !blocks.is_plain() || p.acked == 0
    }

    /// Whether the timer is left running: during a recovery it is restarted only by the first ACK
    /// that advances.
    fn keeps_timer(&mut self, p: &Progress) -> bool {
        if self.is_held_up() {
            return true;
        }
        if !self.conn.cfg.impatient || self.episode.ca != CaState::Recovery {
            return false;
        }
        p.acked == 0 || std::mem::replace(&mut self.episode.prr.progressed, true)
    }

    /// Removes cumulatively acknowledged segments from the scoreboard.
    fn remove_acked(&mut self, now: Nanos, ack: Seg, p: &mut Progress) {
        while self.board.una() < ack {
            let seg = self.board.una();
            let slot = self.board.pop();
            p.acked += 1;
            if slot.flags & EVER_RETRANS != 0 {
                p.retrans_acked = true;
            } else if slot.flags & SACKED == 0 {
                let first = p.acked_span.map_or(slot.tx.sent, |(first, _)| first);
                p.acked_span = Some((first, slot.tx.sent));
                p.reord = Some(p.reord.map_or(seg, |r| r.min(seg)));
                p.orig_delivered |= seg < self.episode.high;
            }
            if slot.flags & SACKED == 0 {
                self.rate.delivered += 1;
                if !self.is_spurious_retransmission(&slot) {
                    self.detection.rack.advance(now, &slot, seg, self.rtt.min());
                }
                self.report_delivered(now, &slot);
            }
            self.rate.on_delivered(&mut p.sampling, seg, &slot);
        }
        if p.acked > 0 {
            p.rearm = true;
        }
    }

    /// Whether the echoed timestamp is older than the retransmission, which proves that the
    /// original arrived.
    fn is_spurious_retransmission(&self, slot: &Slot) -> bool {
        slot.flags & EVER_RETRANS != 0 && is_before(self.episode.undo.echo, timestamp(slot.tx.sent))
    }

    pub(super) fn report_delivered(&mut self, now: Nanos, slot: &Slot) {
        if self.conn.caps.per_packet {
            let rtt = (slot.flags & EVER_RETRANS == 0).then(|| now.saturating_sub(slot.tx.sent));
            self.acked_pkts.push(AckedPkt {
                tag: slot.tag,
                sent: slot.tx.sent,
                bytes: self.conn.cfg.mss,
                rtt,
            });
        }
    }

    /// RTT samples of this ACK: for the smoothed estimator, and that of the newest packet for the
    /// congestion control.
    fn take_rtt(&mut self, now: Nanos, before: &Before, p: &mut Progress) -> (Option<Nanos>, Option<Nanos>) {
        let coarse = self.conn.cfg.rtt_granularity.0;
        let since = |t: Nanos| match coarse {
            0 => now.saturating_sub(t),
            g => Nanos((now.0 / g).saturating_sub(t.0 / g).max(1) * g),
        };
        let mut seq_rtt = None;
        let mut ca_rtt = None;
        if let (Some((first, last)), false) = (p.acked_span, p.retrans_acked) {
            seq_rtt = Some(since(first));
            ca_rtt = Some(since(last));
            p.maybe_delayed = p.acked == 1 && before.sacked == 0 && self.last_segment_was_short();
        }
        if let (Some((first, last)), true) = (p.sacked_span, self.conn.cfg.sack_rtt) {
            seq_rtt = seq_rtt.or(Some(since(first)));
            ca_rtt = Some(since(last));
        }
        if seq_rtt.is_none() && p.acked > 0 && self.conn.cfg.timestamps && p.ts_ecr != 0 {
            let ms = timestamp(now).wrapping_sub(p.ts_ecr).max(1);
            let rtt = Nanos::from_millis(ms as u64);
            seq_rtt = Some(rtt);
            ca_rtt = Some(rtt);
        }
        if let Some(rtt) = seq_rtt {
            if let (Some(ca), false) = (ca_rtt, p.maybe_delayed) {
                self.rtt.sample_min(now, ca);
            }
            self.rtt.sample(rtt, self.board.una(), self.board.nxt());
            self.timers.backoff = 0;
            // A SACK of data sent after the head's latest transmission does not restart the timer:
            // it would keep postponing the head's timeout.
            if p.acked == 0 && self.board.out() > 0 && rtt > since(self.board.slot(self.board.una()).tx.sent)
            {
                p.rearm = true;
            }
        }
        (seq_rtt, ca_rtt)
    }

    /// Whether the last segment was short: only the last segment of a limited transfer can be.
    fn last_segment_was_short(&self) -> bool {
        self.board.una() == self.conn.available
    }

    /// Handles newly reported congestion marks: they reduce a window-based scheme once per round
    /// (RFC 3168). A scalable scheme handles marks itself.
    fn take_marks(&mut self, now: Nanos, marked: u32) {
        if !self.marks.take(marked) {
            return;
        }
        let reduces = self.conn.caps.recovery == perigee_cc::Recovery::Prr && !self.conn.caps.scalable;
        if reduces && self.episode.ca <= CaState::Disorder {
            self.begin_reduction(now);
            self.set_state(now, CaState::Cwr);
            // A mark is not a loss, so the reduction cannot prove spurious.
            self.episode.undo.marker = None;
        }
    }

    /// Builds the event passed to the controller.
    fn close_ack<'a>(
        &mut self,
        now: Nanos,
        before: &Before,
        p: &Progress,
        (seq_rtt, ca_rtt): (Option<Nanos>, Option<Nanos>),
        ack: &Ack<'a>,
        acked: &'a [AckedPkt],
    ) -> AckEvent<'a> {
        let delivered = self.rate.delivered - before.delivered;
        let rs = self.rate.close(&p.sampling, now, delivered, self.rtt.min(), self.conn.mss);
        AckEvent {
            newly_acked: delivered * self.conn.mss,
            newly_cum_acked: p.acked * self.conn.mss,
            newly_lost: self.newly_lost(before) * self.conn.mss,
            rtt: if self.conn.cfg.smoothed_samples { ca_rtt.map(|_| self.rtt.srtt()) } else { ca_rtt },
            seq_rtt,
            prior_in_flight: before.in_flight * self.conn.mss,
            rs,
            is_dup: delivered == 0 && ack.blocks.ack == before.una,
            ack_delayed: p.maybe_delayed,
            acks_tlp: self.probe.high.is_some_and(|h| self.probe.was_retrans && self.board.una() >= h),
            may_grow: !self.episode.in_reduction()
                && !self.grows_late(before)
                && if self.detection.reordering > 3 { p.forward() } else { p.acked > 0 },
            resent: false,
            ece: u64::from(self.marks.new) * self.conn.mss,
            arrival: ack.blocks.arrival,
            acked,
            telemetry: ack.telemetry.filter(|_| self.conn.caps.telemetry != TelemetryNeed::None),
        }
    }

    /// True while an ACK neither restarts the timer nor opens the window: in ns-3, as long as SACKs
    /// report a hole.
    fn is_held_up(&self) -> bool {
        self.conn.cfg.reduction == Reduction::Ns3 && self.episode.ca == CaState::Disorder
    }

    /// True if the window of ns-3 does not grow with this ACK: it is held up, or ends the repair
    /// after a timeout (data beyond the repair does not count).
    fn grows_late(&self, before: &Before) -> bool {
        let repaired = before.ca == CaState::Loss && self.episode.ca != CaState::Loss;
        self.is_held_up() || (repaired && self.conn.cfg.reduction == Reduction::Ns3)
    }

    /// Packets marked lost by this ACK. ns-3 takes the absolute difference of the marked packets,
    /// so that lost packets count once more when they are finally delivered.
    fn newly_lost(&self, before: &Before) -> u64 {
        match self.conn.cfg.lasting_samples {
            true => self.board.lost.abs_diff(before.lost_out),
            false => self.rate.lost - before.lost,
        }
    }

    /// Runs the congestion control: the transport's reduction, or the controller's decision.
    fn control(&mut self, now: Nanos, before: &Before, p: &Progress, event: &AckEvent<'_>) {
        let prr = self.conn.caps.recovery == perigee_cc::Recovery::Prr;
        if prr && self.episode.in_reduction() {
            let safe = self.is_safe_ack(p, self.rate.lost - before.lost);
            let delivered = self.rate.delivered - before.delivered;
            let counted = match self.conn.cfg.reduction {
                Reduction::Ns3 => self.episode.prr.delivered_like_ns3(delivered, p),
                _ => delivered,
            };
            self.reduce(counted, safe);
        }
        let cx = self.cx(now);
        self.conn.cc.on_ack(&cx, &mut self.conn.win, event);
        self.after_control();
    }

    /// Applies the decision of the controller.
    pub fn after_control(&mut self) {
        self.conn.win.cwnd = self.conn.win.cwnd.max(self.conn.caps.min_cwnd.min(1) as u64 * self.conn.mss);
        if std::mem::take(&mut self.conn.win.mark_app_limited) {
            self.rate.mark_app_limited(self.board.in_flight());
        }
        self.timers.postpone(std::mem::take(&mut self.conn.win.postpone));
        self.update_pacing_rate();
    }

    /// Updates the degree of reordering: a never-retransmitted segment below the highest delivered
    /// one has arrived.
    fn note_reordering(&mut self, before: &Before, p: &Progress) {
        if let Some(low) = p.reord {
            if low < before.highest_sacked
                && (self.episode.ca != CaState::Loss || self.episode.undo.marker.is_some())
            {
                self.detection.saw_reordering(low, before.highest_sacked);
            }
        }
    }
}

/// State before the ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    pub ca: CaState,
    pub una: Seg,
    pub in_flight: u64,
    pub delivered: u64,
    pub lost: u64,
    /// Packets marked lost and not delivered since.
    pub lost_out: u64,
    pub sacked: u64,
    pub highest_sacked: Seg,
}
