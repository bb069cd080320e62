// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All RTT samples of a flow, counted by microsecond: percentiles are exact to a microsecond, and a
//! long run stores thousands of numbers instead of millions.

use perigee_units::Nanos;
use std::collections::BTreeMap;

/// Number of samples that are sorted and counted in a batch.
const BATCH: usize = 1 << 14;

/// RTT samples of a flow.
#[derive(Clone, Debug, Default)]
pub struct Rtts {
    pending: Vec<u32>,
    counts: BTreeMap<u32, u64>,
    /// Number of samples.
    pub samples: u64,
    /// Sum of the samples in nanoseconds.
    pub sum_ns: u64,
    /// Number of samples with a known base RTT.
    pub inflation_samples: u64,
    /// Sum of RTT over base RTT, over these samples.
    pub inflation_sum: f64,
    /// Sum of their base RTTs, in nanoseconds.
    pub base_sum_ns: u64,
    /// Smallest base RTT.
    pub base_min: Option<Nanos>,
}

impl Rtts {
    /// Adds a sample; `base`: base RTT at the time the packet was sent.
    #[inline]
    pub fn push(&mut self, rtt: Nanos, base: Option<Nanos>) {
        self.samples += 1;
        // Times of damaged captures are centuries apart.
        self.sum_ns = self.sum_ns.saturating_add(rtt.0);
        if let Some(base) = base.filter(|b| b.0 > 0) {
            self.inflation_samples += 1;
            self.inflation_sum += rtt.0 as f64 / base.0 as f64;
            self.base_sum_ns += base.0;
            self.base_min = Some(self.base_min.map_or(base, |b| b.min(base)));
        }
        self.pending.push(rtt.as_micros().min(u64::from(u32::MAX)) as u32);
        if self.pending.len() >= BATCH {
            self.count();
        }
    }

    fn count(&mut self) {
        self.pending.sort_unstable();
        for same in self.pending.chunk_by(|a, b| a == b) {
            *self.counts.entry(same[0]).or_default() += same.len() as u64;
        }
        self.pending.clear();
    }

    /// Drains the values in microseconds with their counts, ascending; sums are kept.
    pub fn take_counts(&mut self) -> impl Iterator<Item = (u32, u64)> {
        self.count();
        std::mem::take(&mut self.counts).into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_the_longest_times_ends_at_its_largest_value() {
        let (mut r, longest) = (Rtts::default(), Nanos(u64::MAX));
        (0..3).for_each(|_| r.push(longest, None));
        assert_eq!((r.samples, r.sum_ns), (3, u64::MAX));
    }

    #[test]
    fn nothing_is_lost_in_counting() {
        let mut r = Rtts::default();
        for i in 0..(3 * BATCH as u64 + 5) {
            r.push(Nanos::from_micros(50 + i % 3), Some(Nanos::from_micros(25)));
        }
        let mean = r.inflation_sum / r.inflation_samples as f64;
        assert!((mean - 2.04).abs() < 0.01, "{mean}");
        let counts: Vec<_> = r.take_counts().collect();
        assert_eq!(counts.iter().map(|c| c.0).collect::<Vec<_>>(), [50, 51, 52]);
        assert_eq!(counts.iter().map(|c| c.1).sum::<u64>(), 3 * BATCH as u64 + 5);
    }
}
