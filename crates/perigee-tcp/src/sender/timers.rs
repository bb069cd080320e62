// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The transport's timers: retransmission, tail loss probe and reordering share one, as in Linux;
//! pacing and the controller's own timer are separate.

use super::output::Transmit;
use super::{delegate, Resend, Sender, TimerKind};
use crate::rtt::round_up;
use perigee_cc::CongestionControl;
use perigee_units::Nanos;

impl Sender {
    /// Time of the next call to [`Sender::on_timer`] (or, for pacing, [`Sender::transmit`]);
    /// [`Nanos::MAX`] = never.
    #[inline]
    pub fn next_timer(&self) -> Nanos {
        let control = self.win.next_timer.unwrap_or(Nanos::MAX);
        if let Some(inet) = self.inet.as_deref() {
            return inet.next_timer().min(control);
        }
        self.timer_at.min(control).min(self.pacing_timer())
    }

    /// Time until which the pacer holds data back.
    #[inline]
    fn pacing_timer(&self) -> Nanos {
        if self.pacer.holds_back {
            self.pacer.next
        } else {
            Nanos::MAX
        }
    }

    /// Runs all timers that are due. Packets to send at once (probes, the first segment after a
    /// timeout) are appended to `out`; call [`Sender::transmit`] afterwards. Returns whether a
    /// retransmission timeout occurred.
    pub fn on_timer(&mut self, now: Nanos, out: &mut Vec<Transmit>) -> bool {
        if self.win.next_timer.is_some_and(|t| t <= now) {
            self.win.next_timer = None;
            let cx = self.cx(now);
            self.cc.on_timer(&cx, &mut self.win);
            if self.inet.is_none() {
                self.after_control();
            }
        }
        delegate!(self, inet, host => inet.on_timer(host, now));
        if self.pacer.holds_back && self.pacer.next <= now && self.resend == Resend::Nothing {
            // Data held back by the pacer includes all segments marked lost by now.
            self.resend = Resend::Lost;
        }
        if self.timer_at > now {
            return false;
        }
        let kind = std::mem::replace(&mut self.timer, TimerKind::None);
        self.timer_at = Nanos::MAX;
        match kind {
            TimerKind::None => {}
            TimerKind::Reorder => self.reorder_timeout(now),
            TimerKind::Probe => {
                // The probe's timer kind affects the timeout that follows it.
                self.timer = TimerKind::Probe;
                self.send_probe(now, out);
            }
            TimerKind::Rto => {
                self.retransmission_timeout(now, out);
                return true;
            }
        }
        false
    }

    fn retransmission_timeout(&mut self, now: Nanos, out: &mut Vec<Transmit>) {
        if self.board.out() == 0 {
            return;
        }
        self.stats.timeouts += 1;
        self.enter_loss(now);
        self.retransmits += 1;
        self.backoff += 1;
        if let Some(seg) = self.board.next_lost() {
            // The head is sent regardless of the pacer.
            self.pacer.next = self.pacer.next.min(now);
            self.emit_again(now, seg, out);
        }
        self.arm(TimerKind::Rto, now + self.timer_duration(self.backed_off_rto()));
    }

    pub(super) fn arm(&mut self, kind: TimerKind, at: Nanos) {
        self.timer = kind;
        self.timer_at = at;
    }

    pub(super) fn backed_off_rto(&self) -> Nanos {
        Nanos(self.rtt.rto().0.saturating_mul(1 << self.backoff.min(20))).min(self.cfg.rto.max)
    }

    /// Time remaining until the head's timeout.
    pub(super) fn rto_left(&self, now: Nanos) -> Nanos {
        let head = self.board.slot(self.board.una()).tx.sent;
        (head + self.backed_off_rto()).saturating_sub(now)
    }

    /// Restarts the retransmission timer. When it replaces a probe or reordering timer, it counts
    /// from the head's transmission.
    pub(super) fn arm_rto(&mut self, now: Nanos) {
        if self.board.out() == 0 {
            self.arm(TimerKind::None, Nanos::MAX);
            return;
        }
        let rto = match self.timer {
            TimerKind::Probe | TimerKind::Reorder => round_up(self.rto_left(now).max(Nanos(1)), self.tick),
            _ => self.backed_off_rto(),
        };
        self.arm(TimerKind::Rto, now + self.timer_duration(rto));
    }

    /// After forward progress: starts the probe timer if a probe may be sent, otherwise the
    /// retransmission timer.
    pub(super) fn arm_after_ack(&mut self, now: Nanos) {
        match self.probe_delay(now, true) {
            Some(delay) => self.arm(TimerKind::Probe, now + delay),
            None => self.arm_rto(now),
        }
    }

    /// Linux's timer wheel rounds up long delays: from 64 ticks on to multiples of 8, from 512 of
    /// 64, from 4096 of 512.
    pub(super) fn timer_duration(&self, t: Nanos) -> Nanos {
        if !self.cfg.timer_wheel || self.tick == 0 {
            return t;
        }
        let ticks = t.0.div_ceil(self.tick);
        let granule = match ticks {
            0..=63 => 1,
            64..=511 => 8,
            512..=4095 => 64,
            _ => 512,
        };
        Nanos(ticks.div_ceil(granule) * granule * self.tick)
    }
}
