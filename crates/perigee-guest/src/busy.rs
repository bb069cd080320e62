// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs of a guest that compute without a pause, so that its time hardly advances.

use crate::types::Busy;
use perigee_units::Nanos;
use std::time::Duration;

/// CPU time of a guest over which its advance is measured.
const FIRST: Duration = Duration::from_secs(5);
/// The same after a finding, which is repeated while it holds.
const NEXT: Duration = Duration::from_secs(30);
/// Advance of time below which it is conspicuous: this part of the CPU time.
const SLOW: u32 = 100;
/// Wall-clock time in the guest between two looks at its CPU time.
const LOOK: Duration = Duration::from_secs(1);

/// Advance of a guest's time while it uses the CPU.
#[derive(Debug)]
pub struct Advance {
    /// The guest's time when the measurement began, and its CPU time at the first look after that.
    from: Nanos,
    used: Option<Duration>,
    /// CPU time after which it is reported.
    interval: Duration,
    /// Wall-clock time spent in the guest since the last look.
    spent: Duration,
}

impl Advance {
    /// Measurement from a guest's boot.
    pub fn new() -> Self {
        Advance { from: Nanos::ZERO, used: None, interval: FIRST, spent: Duration::ZERO }
    }

    /// Adds wall-clock time spent in the guest, at the end of which its time is `now`. `used` returns
    /// the guest's CPU time, which takes a while.
    pub fn add(&mut self, spent: Duration, now: Nanos, used: impl FnOnce() -> Duration) -> Option<Busy> {
        let advanced = now.saturating_sub(self.from);
        if u128::from(advanced.0) >= (self.interval / SLOW).as_nanos() {
            *self = Advance { from: now, ..Advance::new() };
            return None;
        }
        self.spent += spent;
        if self.spent < LOOK {
            return None;
        }
        self.spent = Duration::ZERO;
        let used = used();
        let computed = used.saturating_sub(*self.used.get_or_insert(used));
        if computed < self.interval {
            return None;
        }
        *self = Advance { from: now, used: Some(used), interval: NEXT, spent: Duration::ZERO };
        Some(Busy { seconds: computed.as_secs(), advanced })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn a_guest_is_busy_if_it_computes_while_its_time_hardly_advances() {
        let mut advance = Advance::new();
        let now = Nanos::from_millis(49);
        assert_eq!(advance.add(S, Nanos::ZERO, || S * 3), None, "the first look");
        assert_eq!(advance.add(S / 2, Nanos::ZERO, || panic!("too early")), None);
        assert_eq!(advance.add(S / 2, now, || S * 7), None, "4 s of computation");
        assert_eq!(advance.add(S * 9, now, || S * 8), Some(Busy { seconds: 5, advanced: now }));
        // Repeated, at longer intervals.
        assert_eq!(advance.add(S * 90, now, || S * 37), None);
        assert_eq!(advance.add(S, now, || S * 38), Some(Busy { seconds: 30, advanced: Nanos::ZERO }));
    }

    #[test]
    fn a_guest_without_the_cpu_or_whose_time_advances_is_not_busy() {
        let mut advance = Advance::new();
        assert_eq!(advance.add(S * 5, Nanos::ZERO, || S), None);
        assert_eq!(advance.add(S * 50, Nanos::ZERO, || S * 5), None, "other work has the CPU");
        // 50 ms are 1 % of 5 s.
        assert_eq!(advance.add(S * 5, Nanos::from_millis(50), || panic!("no need")), None);
        assert_eq!(advance.add(S * 5, Nanos::from_millis(99), || S * 60), None, "the first look again");
    }
}
