// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rate of a byte counter between two rows of a table.

use perigee_units::Nanos;

/// State of a byte counter at the latest row.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByteRate {
    at: Nanos,
    bytes: u64,
}

impl ByteRate {
    /// A counter that is zero until `start`.
    pub fn since(start: Nanos) -> Self {
        ByteRate { at: start, bytes: 0 }
    }

    /// Bits per second since the latest row; 0 if no time has passed.
    pub fn next_bps(&mut self, at: Nanos, bytes: u64) -> f64 {
        let before = std::mem::replace(self, ByteRate { at, bytes });
        match at.saturating_sub(before.at) {
            Nanos::ZERO => 0.0,
            time => (bytes - before.bytes) as f64 * 8e9 / time.0 as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_that_since_the_row_before() {
        let mut rate = ByteRate::since(Nanos::from_secs(1));
        assert_eq!(rate.next_bps(Nanos::from_secs(1), 0), 0.0, "no time has passed");
        assert_eq!(rate.next_bps(Nanos::from_secs(3), 1000), 4000.0);
        assert_eq!(rate.next_bps(Nanos::from_secs(4), 1000), 0.0);
        assert_eq!(rate.next_bps(Nanos::from_millis(4500), 1100), 1600.0);
    }
}
