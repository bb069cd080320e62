// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Coarse clock of a kernel's timer tick, for Cubic's curve and BBR's windows.

use crate::Nanos;
use perigee_units::NS_PER_S;

/// Counts timer ticks ("jiffies").
#[derive(Clone, Copy, Debug)]
pub struct JiffyClock {
    hz: u64,
    /// Length of a tick if it is an integral number of nanoseconds: division by it is much cheaper.
    tick_ns: Option<u64>,
}

impl JiffyClock {
    /// A clock of `hz` ticks per second; 0 means an exact clock (ticks of 1 µs).
    pub fn new(hz: u32) -> Self {
        let hz = if hz == 0 { 1_000_000 } else { hz as u64 };
        JiffyClock { hz, tick_ns: (NS_PER_S % hz == 0).then_some(NS_PER_S / hz) }
    }

    /// Ticks per second.
    pub fn hz(&self) -> u64 {
        self.hz
    }

    /// Number of ticks passed at `now`.
    #[inline]
    pub fn at(&self, now: Nanos) -> u64 {
        match self.tick_ns {
            Some(tick) => now.0 / tick,
            None => (now.0 as u128 * self.hz as u128 / NS_PER_S as u128) as u64,
        }
    }

    /// A duration in ticks, rounded up, as kernels do for timeouts.
    #[inline]
    pub fn ceil(&self, duration: Nanos) -> u64 {
        match self.tick_ns {
            Some(tick) => duration.0.div_ceil(tick),
            None => (duration.0 as u128 * self.hz as u128).div_ceil(NS_PER_S as u128) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_round_down_and_durations_up() {
        let clock = JiffyClock::new(250);
        assert_eq!(clock.at(Nanos(7_999_999)), 1);
        assert_eq!(clock.ceil(Nanos(4_000_001)), 2);
        let odd = JiffyClock::new(300);
        assert_eq!((odd.at(Nanos(3_333_333)), odd.at(Nanos(3_333_334)), odd.ceil(Nanos(1))), (0, 1, 1));
        assert_eq!(JiffyClock::new(0).at(Nanos::from_millis(3)), 3000);
    }
}
