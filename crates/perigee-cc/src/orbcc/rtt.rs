// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RTT estimates of OrbCC: last sample, smoothed, and without queueing.

use crate::Nanos;

const GAIN: f64 = 1.0 / 8.0;
const RESOLUTION_S: f64 = 1e-9;
const RTO_RANGE_S: (f64, f64) = (0.2, 240.0);

/// In seconds; all zero before the first sample.
#[derive(Clone, Debug, Default)]
pub(crate) struct RttEstimate {
    pub last_s: f64,
    pub smoothed_s: f64,
    variation_s: f64,
    /// RTT less queueing: base RTT of the path.
    pub base_s: f64,
}

impl RttEstimate {
    /// Takes a sample of a packet that waited `queue_delay_s` in queues.
    pub fn sample(&mut self, rtt: Nanos, queue_delay_s: f64) {
        let r = rtt.as_secs_f64();
        self.last_s = r;
        if self.smoothed_s == 0.0 {
            (self.smoothed_s, self.base_s, self.variation_s) = (r, r, r / 2.0);
            return;
        }
        let error = r - self.smoothed_s;
        self.smoothed_s += error * GAIN;
        self.variation_s += (error.abs() - self.variation_s) * GAIN;
        // On a steady path the variation would decay to subnormal numbers, which are slow to
        // process.
        if self.variation_s < RESOLUTION_S {
            self.variation_s = 0.0;
        }
        let base_sample = r - queue_delay_s;
        self.base_s += (base_sample - self.base_s) * GAIN;
        if base_sample <= 0.0 || self.base_s <= 0.0 {
            self.base_s = self.smoothed_s;
        }
    }

    pub fn smoothed(&self) -> Nanos {
        Nanos::from_secs_f64(self.smoothed_s)
    }

    pub fn rto(&self) -> Nanos {
        let rto = self.smoothed_s + 4.0 * self.variation_s;
        Nanos::from_secs_f64(rto.clamp(RTO_RANGE_S.0, RTO_RANGE_S.1))
    }
}

/// RTT as measured by a clock of resolution `tick`: both ends of the interval are rounded down, so
/// that the mean over many samples is unbiased although each sample is off by up to a tick.
pub(crate) fn quantise(rtt: Nanos, now: Nanos, tick: Nanos) -> Nanos {
    if tick == Nanos::ZERO {
        return rtt;
    }
    let sent = now.saturating_sub(rtt);
    let measured = (now.0 / tick.0 - sent.0 / tick.0) * tick.0;
    // A zero would mean "no sample"; an RTT of less than a tick becomes the shortest non-zero
    // value.
    Nanos(if measured == 0 { rtt.0.min(tick.0).max(1) } else { measured })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_rtt_converges_to_the_rtt_without_queueing() {
        let mut e = RttEstimate::default();
        e.sample(Nanos::from_millis(80), 0.03);
        assert_eq!(e.base_s, 0.08, "the first sample initialises both");
        for _ in 0..100 {
            e.sample(Nanos::from_millis(80), 0.03);
        }
        assert!((e.base_s - 0.05).abs() < 1e-5 && (e.smoothed_s - 0.08).abs() < 1e-12);
    }

    #[test]
    fn queueing_that_exceeds_the_rtt_falls_back_to_the_smoothed_rtt() {
        let mut e = RttEstimate::default();
        e.sample(Nanos::from_millis(50), 0.0);
        e.sample(Nanos::from_millis(50), 0.06);
        assert_eq!(e.base_s, e.smoothed_s);
    }

    #[test]
    fn a_coarse_clock_is_right_on_average() {
        let (rtt, tick) = (Nanos(51_650_000), Nanos::from_millis(1));
        let sum: u64 = (0..1000u64).map(|i| quantise(rtt, Nanos(i * 1_237_003 + 60_000_000), tick).0).sum();
        assert!((sum as f64 / 1000.0 - 51_650_000.0).abs() < 30_000.0, "{sum}");
        assert_eq!(quantise(rtt, Nanos(99_999_999), Nanos::ZERO), rtt);
    }
}
