// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Limits of the sender: the reason why it sends no more, and the time spent under each.
//!
//! As Linux's chronographs (`tcp_chrono_start`), but every instant of the connection has one limit:
//! the times add up to its age. Only a change costs more than a comparison.

use super::{Inet, Sender};
use perigee_units::Nanos;

/// Number of limits.
pub const LIMITS: usize = 5;

/// Reason why a sender sends no more at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// There is nothing to send.
    Application,
    /// The receive window is full.
    ReceiveWindow,
    /// The send buffer is full of data in flight.
    SendBuffer,
    /// The congestion window is full, or the pacing rate derived from it.
    CongestionWindow,
    /// The next packet waits for its departure at the pacing rate of the scheme.
    Pacing,
}

/// Time spent under each limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    current: Limit,
    since: Nanos,
    spent: [Nanos; LIMITS],
}

impl Limits {
    pub(super) fn new(now: Nanos) -> Self {
        Limits { current: Limit::CongestionWindow, since: now, spent: [Nanos::ZERO; LIMITS] }
    }

    #[inline]
    fn set(&mut self, now: Nanos, limit: Limit) {
        if limit != self.current {
            self.close(now);
            self.current = limit;
        }
    }

    fn close(&mut self, now: Nanos) {
        self.spent[self.current as usize] += now - self.since;
        self.since = now;
    }
}

impl Sender {
    /// Time spent under each limit, in the order of [`Limit`], since the previous call (at first:
    /// since the connection was established).
    pub fn take_limits(&mut self, now: Nanos) -> [Nanos; LIMITS] {
        self.limits.close(now);
        std::mem::take(&mut self.limits.spent)
    }

    /// Accounts for the time from now on, after all that may be sent has been.
    #[inline]
    pub(super) fn account(&mut self, now: Nanos) {
        let limit = match self.inet.as_deref() {
            Some(inet) => self.limit_of_inet(inet),
            None => self.present_limit(),
        };
        self.limits.set(now, limit);
    }

    fn present_limit(&self) -> Limit {
        if self.pacer.holds_back {
            return self.limit_of_pacing();
        }
        let unsent = self.board.nxt() < self.available || self.window_bound;
        if self.board.lost > self.board.retrans || (unsent && (!self.has_room() || self.has_new_data())) {
            return Limit::CongestionWindow;
        }
        if unsent {
            self.limit_of_buffers(self.board.out())
        } else {
            Limit::Application
        }
    }

    /// A rate that follows from the window is no limit of its own.
    fn limit_of_pacing(&self) -> Limit {
        match self.win.pacing {
            Some(_) => Limit::Pacing,
            None => Limit::CongestionWindow,
        }
    }

    fn limit_of_buffers(&self, out: u64) -> Limit {
        let full = self.cfg.buffer > 0 && (out + 1) * self.mss > self.cfg.buffer;
        match full && !self.cfg.window_caps {
            true => Limit::SendBuffer,
            false => Limit::ReceiveWindow,
        }
    }

    fn limit_of_inet(&self, inet: &Inet) -> Limit {
        let unsent = inet.una_nxt().1 < self.available;
        let (out, cap) = (inet.in_flight(), self.cfg.buffer);
        if !unsent && !self.window_bound {
            Limit::Application
        } else if (out + 1) * self.mss > self.win.cwnd {
            Limit::CongestionWindow
        } else if !unsent || (cap > 0 && (out + 1) * self.mss > cap) {
            self.limit_of_buffers(out)
        } else {
            self.limit_of_pacing()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_add_up_to_the_age_of_the_connection() {
        let ms = Nanos::from_millis;
        let mut limits = Limits::new(ms(10));
        limits.set(ms(10), Limit::Application);
        limits.set(ms(25), Limit::Application);
        limits.set(ms(30), Limit::Pacing);
        limits.close(ms(42));
        assert_eq!(limits.spent, [ms(20), ms(0), ms(0), ms(0), ms(12)]);
    }
}
