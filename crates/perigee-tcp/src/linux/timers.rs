// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The transport's timers: retransmission, tail loss probe and reordering share one, as in Linux;
//! pacing and the controller's own timer are separate.

use super::episode::Resend;
use super::Linux;
use crate::rtt::round_up;
use crate::sender::Transmit;
use perigee_units::Nanos;

/// Kind of the pending timer; as in Linux, all three share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimerKind {
    None,
    Rto,
    Probe,
    Reorder,
}

/// The shared timer, and the backoff of the retransmission timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    pub kind: TimerKind,
    pub at: Nanos,
    /// Consecutive timeouts without progress, and doublings of the timeout.
    pub retransmits: u32,
    pub backoff: u32,
    /// Kernel tick in nanoseconds; zero = exact timers.
    pub tick: u64,
    /// Whether long delays are rounded up as by Linux's timer wheel.
    wheel: bool,
}

impl Timers {
    pub fn new(tick: u64, wheel: bool) -> Self {
        Timers { kind: TimerKind::None, at: Nanos::MAX, retransmits: 0, backoff: 0, tick, wheel }
    }

    pub fn arm(&mut self, kind: TimerKind, at: Nanos) {
        self.kind = kind;
        self.at = at;
    }

    /// Arms the reordering timer, with the two jiffies of slack that the kernel adds.
    pub fn arm_reorder(&mut self, now: Nanos, wait: Nanos) {
        self.arm(TimerKind::Reorder, now + round_up(wait, self.tick) + Nanos(2 * self.tick));
    }

    pub fn arm_rto(&mut self, now: Nanos, rto: Nanos) {
        self.arm(TimerKind::Rto, now + self.duration(rto));
    }

    /// Postpones the pending timer, if any.
    pub fn postpone(&mut self, by: Nanos) {
        self.at = self.at.saturating_add(by);
    }

    /// Timeout `rto` with the backoff, at most `max`.
    pub fn backed_off(&self, rto: Nanos, max: Nanos) -> Nanos {
        Nanos(rto.0.saturating_mul(1 << self.backoff.min(20))).min(max)
    }

    /// Linux's timer wheel rounds up long delays: from 64 ticks on to multiples of 8, from 512 of
    /// 64, from 4096 of 512.
    fn duration(&self, t: Nanos) -> Nanos {
        if !self.wheel || self.tick == 0 {
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

impl Linux {
    /// Time of the next call to [`Linux::on_timer`] or, for pacing, [`Linux::transmit`].
    #[inline]
    pub fn next_timer(&self) -> Nanos {
        self.timers.at.min(self.pacing.timer())
    }

    /// Runs the timers that are due; true if a retransmission timeout occurred.
    pub fn on_timer(&mut self, now: Nanos, out: &mut Vec<Transmit>) -> bool {
        if self.pacing.holds_back && self.pacing.next <= now && self.episode.resend == Resend::Nothing {
            // Data held back by the pacer includes all segments marked lost by now.
            self.episode.resend = Resend::Lost;
        }
        if self.timers.at > now {
            return false;
        }
        let kind = std::mem::replace(&mut self.timers.kind, TimerKind::None);
        self.timers.at = Nanos::MAX;
        match kind {
            TimerKind::None => {}
            TimerKind::Reorder => self.reorder_timeout(now),
            TimerKind::Probe => {
                // The probe's timer kind affects the timeout that follows it.
                self.timers.kind = TimerKind::Probe;
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
        self.conn.stats.timeouts += 1;
        self.enter_loss(now);
        self.timers.retransmits += 1;
        self.timers.backoff += 1;
        if let Some(seg) = self.board.next_lost() {
            // The head is sent regardless of the pacer.
            self.pacing.next = self.pacing.next.min(now);
            self.emit_again(now, seg, out);
        }
        self.timers.arm_rto(now, self.rto());
    }

    /// Time remaining until the head's timeout.
    pub(super) fn rto_left(&self, now: Nanos) -> Nanos {
        let head = self.board.slot(self.board.una()).tx.sent;
        (head + self.rto()).saturating_sub(now)
    }

    /// Restarts the retransmission timer. When it replaces a probe or reordering timer, it counts
    /// from the head's transmission.
    pub(super) fn arm_rto(&mut self, now: Nanos) {
        if self.board.out() == 0 {
            self.timers.arm(TimerKind::None, Nanos::MAX);
            return;
        }
        let rto = match self.timers.kind {
            TimerKind::Probe | TimerKind::Reorder => {
                round_up(self.rto_left(now).max(Nanos(1)), self.timers.tick)
            }
            _ => self.rto(),
        };
        self.timers.arm_rto(now, rto);
    }

    /// After forward progress: starts the probe timer if a probe may be sent, otherwise the
    /// retransmission timer.
    pub(super) fn arm_after_ack(&mut self, now: Nanos) {
        match self.probe_delay(now, true) {
            Some(delay) => self.timers.arm(TimerKind::Probe, now + delay),
            None => self.arm_rto(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pending_timer_is_postponed_and_none_is_started() {
        let mut timers = Timers::new(0, false);
        timers.postpone(Nanos::from_millis(600));
        assert_eq!(timers.at, Nanos::MAX);
        timers.arm_rto(Nanos::from_secs(1), Nanos::from_millis(200));
        timers.postpone(Nanos::from_millis(600));
        assert_eq!((timers.kind, timers.at), (TimerKind::Rto, Nanos::from_millis(1800)));
    }
}
