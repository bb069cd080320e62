// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Limits of the sender: the reason why it sends no more, and the time spent under each.
//!
//! As Linux's chronographs (`tcp_chrono_start`), but every instant of the connection has one limit:
//! the times add up to its age. Only a change costs more than a comparison.

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
pub(crate) struct Limits {
    current: Limit,
    since: Nanos,
    spent: [Nanos; LIMITS],
}

impl Limits {
    pub fn new(now: Nanos) -> Self {
        Limits { current: Limit::CongestionWindow, since: now, spent: [Nanos::ZERO; LIMITS] }
    }

    #[inline]
    pub fn set(&mut self, now: Nanos, limit: Limit) {
        if limit != self.current {
            self.close(now);
            self.current = limit;
        }
    }

    /// Times since the previous call.
    pub fn take(&mut self, now: Nanos) -> [Nanos; LIMITS] {
        self.close(now);
        std::mem::take(&mut self.spent)
    }

    fn close(&mut self, now: Nanos) {
        self.spent[self.current as usize] += now - self.since;
        self.since = now;
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
