// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The coarse clock of a kernel's timer tick, which Cubic's curve and BBR's windows read.

use crate::Nanos;

/// Counts timer ticks ("jiffies").
#[derive(Clone, Copy, Debug)]
pub struct JiffyClock {
    hz: u64,
}

impl JiffyClock {
    /// A clock of `hz` ticks per second; 0 stands for an exact clock (ticks of 1 µs).
    pub fn new(hz: u32) -> Self {
        JiffyClock { hz: if hz == 0 { 1_000_000 } else { hz as u64 } }
    }

    /// Ticks per second.
    pub fn hz(&self) -> u64 {
        self.hz
    }

    /// Ticks that have passed at `now`.
    #[inline]
    pub fn at(&self, now: Nanos) -> u64 {
        (now.0 as u128 * self.hz as u128 / 1_000_000_000) as u64
    }

    /// A duration in ticks, rounded up as kernels round timeouts.
    #[inline]
    pub fn ceil(&self, duration: Nanos) -> u64 {
        (duration.0 as u128 * self.hz as u128).div_ceil(1_000_000_000) as u64
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
        assert_eq!(JiffyClock::new(0).at(Nanos::from_millis(3)), 3000);
    }
}
