// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Growth rules shared by window-based schemes, in packets as Linux counts them.

/// Slow start: grows by the packets acknowledged, up to the threshold. Returns the new window and
/// the number of packets left for congestion avoidance.
#[inline]
pub fn slow_start(cwnd: u64, ssthresh: u64, acked: u64) -> (u64, u64) {
    let new = (cwnd + acked).min(ssthresh);
    (new, acked - (new - cwnd))
}

/// Additive increase by one packet per `divisor` packets acknowledged, with the fraction kept in a
/// counter.
#[derive(Clone, Copy, Debug, Default)]
pub struct AdditiveIncrease {
    credit: u64,
}

impl AdditiveIncrease {
    /// Adds `acked` packets; returns the new window.
    #[inline]
    pub fn grow(&mut self, mut cwnd: u64, divisor: u64, acked: u64) -> u64 {
        // Credit left over from a larger divisor is worth one packet, not several.
        if self.credit >= divisor {
            self.credit = 0;
            cwnd += 1;
        }
        self.credit += acked;
        if self.credit >= divisor {
            let steps = self.credit / divisor;
            self.credit -= steps * divisor;
            cwnd += steps;
        }
        cwnd
    }

    /// As [`AdditiveIncrease::grow`], but by at most one packet; the excess of the count is kept
    /// (ns-3).
    pub fn grow_once(&mut self, cwnd: u64, divisor: u64, acked: u64) -> u64 {
        self.credit += acked;
        if self.credit < divisor {
            return cwnd;
        }
        self.credit -= divisor;
        cwnd + 1
    }

    /// Counts packets (or the scheme's other unit) without growing.
    pub fn count(&mut self, n: u64) {
        self.credit += n;
    }

    /// Count since the last growth.
    pub fn credit(&self) -> u64 {
        self.credit
    }

    /// Resets the fraction.
    pub fn reset(&mut self) {
        self.credit = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_hands_what_is_above_the_threshold_to_congestion_avoidance() {
        assert_eq!(slow_start(10, 100, 4), (14, 0));
        assert_eq!(slow_start(10, 12, 4), (12, 2));
    }

    #[test]
    fn a_window_of_83_takes_83_packets_per_increment() {
        let mut ai = AdditiveIncrease::default();
        let mut cwnd = 83;
        for i in 1..=83 {
            cwnd = ai.grow(cwnd, 83, 1);
            assert_eq!(cwnd, if i < 83 { 83 } else { 84 });
        }
    }
}
