// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lateness of packets in runs in real time: histogram with logarithmic bins, 16 per doubling above
//! one microsecond.

use perigee_units::Nanos;
use serde::Serialize;

/// Number of bins per doubling.
const STEPS: u32 = 16;
const MICROSECOND: u64 = 1_000;
/// One bin below a microsecond, and 32 doublings, up to 72 minutes.
const BINS: usize = 1 + (32 * STEPS) as usize;

/// Histogram of the delays of packets behind their due times.
#[derive(Clone, Debug)]
pub struct Lateness {
    counts: Vec<u64>,
    total: u64,
    max: Nanos,
}

impl Default for Lateness {
    fn default() -> Self {
        Lateness { counts: vec![0; BINS], total: 0, max: Nanos::ZERO }
    }
}

/// A run is marked as late if the 99th percentile of the lateness exceeds this.
pub(crate) const LATE: Nanos = Nanos::from_millis(1);

/// Timing of a run in real time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Measured {
    /// Lateness of packets at their delivery to hosts.
    pub delivered: Summary,
    /// Lateness of packets at their entry into the network, as simulated time had already passed
    /// their send time.
    pub entered: Summary,
    /// Number of times that the run fell more than 20 ms behind real time.
    pub stalls: u64,
    /// Longest such lag, in microseconds.
    pub longest_stall_us: f64,
    /// Packets lost because hosts sent faster than the network read.
    pub lost: u64,
    /// Packets that the interfaces of hosts rejected.
    pub refused: u64,
    /// Whether the run is marked as late: by its 99th percentile, or by any stall.
    pub late: bool,
}

impl Measured {
    /// Human-readable warnings.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut out = Vec::new();
        let d = &self.delivered;
        if d.p99_us > LATE.0 as f64 / 1e3 {
            out.push(format!(
                "this machine was too slow for real time: 1 % of the packets were more than {:.3} ms late (limit: 1 ms)",
                d.p99_us / 1e3
            ));
        }
        if self.stalls > 0 {
            let longest = self.longest_stall_us / 1e3;
            out.push(format!(
                "the run fell behind real time {} times, by up to {longest:.1} ms",
                self.stalls
            ));
        }
        if self.lost > 0 {
            out.push(format!(
                "{} packets were lost because hosts sent faster than the network read",
                self.lost
            ));
        }
        if self.refused > 0 {
            out.push(format!(
                "{} packets were lost because the interfaces of hosts rejected them",
                self.refused
            ));
        }
        out
    }
}

/// Statistics of the lateness, as recorded in the manifest; times in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Number of packets.
    pub packets: u64,
    /// 50th percentile.
    pub p50_us: f64,
    /// 90th percentile.
    pub p90_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    /// Maximum.
    pub max_us: f64,
    /// Upper bound of each bin in microseconds, and number of packets in it; empty bins are omitted.
    pub histogram: Vec<(f64, u64)>,
}

impl Lateness {
    /// Adds a packet.
    pub fn add(&mut self, late: Nanos) {
        self.counts[bin(late)] += 1;
        self.total += 1;
        self.max = self.max.max(late);
    }

    /// Quantile of the lateness for a fraction from 0 to 1: the upper bound of its bin. Zero without
    /// packets.
    pub fn percentile(&self, fraction: f64) -> Nanos {
        let wanted = (fraction * self.total as f64).ceil() as u64;
        let mut seen = 0;
        for (i, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return bound(i).min(self.max);
            }
        }
        self.max
    }

    /// Summary for the manifest.
    pub fn summary(&self) -> Summary {
        let us = |t: Nanos| t.0 as f64 / MICROSECOND as f64;
        let p = |fraction| us(self.percentile(fraction));
        let filled = self.counts.iter().enumerate().filter(|(_, n)| **n > 0);
        Summary {
            packets: self.total,
            p50_us: p(0.5),
            p90_us: p(0.9),
            p99_us: p(0.99),
            p999_us: p(0.999),
            max_us: us(self.max),
            histogram: filled.map(|(i, n)| (us(bound(i)), *n)).collect(),
        }
    }
}

/// Bin of a value.
fn bin(late: Nanos) -> usize {
    if late.0 < MICROSECOND {
        return 0;
    }
    // In units of a sixteenth of a microsecond, the four bits below the highest one are the index of
    // the bin within its doubling.
    let scaled = late.0.saturating_mul(u64::from(STEPS)) / MICROSECOND;
    let doubling = scaled.ilog2() - STEPS.ilog2();
    let within = (scaled >> doubling) as u32 - STEPS;
    ((1 + doubling * STEPS + within) as usize).min(BINS - 1)
}

/// Upper bound of a bin.
fn bound(bin: usize) -> Nanos {
    if bin == 0 {
        return Nanos(MICROSECOND);
    }
    let (doubling, within) = ((bin as u32 - 1) / STEPS, (bin as u32 - 1) % STEPS);
    Nanos((u64::from(STEPS + within + 1) << doubling) * MICROSECOND / u64::from(STEPS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_below_the_bound_of_their_bin() {
        for late in [
            0,
            999,
            1_000,
            1_062,
            1_063,
            1_999,
            2_000,
            3_300,
            500_000,
            1_000_000,
            77_777_777,
            3_600_000_000_000,
        ] {
            let i = bin(Nanos(late));
            assert!(late <= bound(i).0, "{late} in {i}, up to {}", bound(i).0);
            assert!(i == 0 || late + 1 >= bound(i - 1).0, "{late} in {i}, from {}", bound(i - 1).0);
        }
        assert_eq!(bin(Nanos::MAX), BINS - 1);
    }

    #[test]
    fn percentiles_are_upper_bounds_within_a_sixteenth() {
        let mut late = Lateness::default();
        (1..=1_000).for_each(|us| late.add(Nanos::from_micros(us)));
        let s = late.summary();
        assert_eq!((s.packets, s.max_us), (1_000, 1_000.0));
        for (found, exact) in [(s.p50_us, 500.0), (s.p90_us, 900.0), (s.p99_us, 990.0), (s.p999_us, 999.0)] {
            assert!(found >= exact && found <= exact * 17.0 / 16.0, "{found} for {exact}");
        }
        assert_eq!(s.histogram.iter().map(|(_, n)| n).sum::<u64>(), 1_000);
        assert_eq!(Lateness::default().summary().p99_us, 0.0);
    }
}
