// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sources of the other terminals of a shared carrier: independent, on and off.
//!
//! A burst of X bytes arrives at the peak rate p, i.e. in X / p; the next one follows an idle time of
//! exponential length. X is Pareto distributed with exponent a between m and M:
//!
//! ```text
//! P(X > x) = (x^-a - M^-a) / (m^-a - M^-a),   E X = a / (a - 1) (m^(1-a) - M^(1-a)) / (m^-a - M^-a)
//! ```
//!
//! with m such that the mean is the given one; mean idle time and mean burst give the load. At time
//! zero each source is in its stationary state, with the rest of a burst or of an idle time.

use perigee_timeline::Neighbours;
use perigee_units::draw::{mix, unit};
use perigee_units::Nanos;

/// Distributions of bursts and idle times.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// Bytes/s within a burst.
    peak: f64,
    /// Smallest burst, and the largest relative to it.
    least: f64,
    range: f64,
    shape: f64,
    /// Mean idle time in s; infinite for sources that send nothing.
    idle_s: f64,
    /// Share of the time in bursts.
    busy: f64,
}

impl Law {
    pub fn new(n: &Neighbours) -> Self {
        let (peak, mean, most) = (n.peak.bytes_per_s(), n.burst as f64, n.burst_max as f64);
        let busy = n.load_of_each() / n.peak.0.max(1) as f64;
        let idle_s = if busy > 0.0 { mean / peak * (1.0 - busy) / busy } else { f64::INFINITY };
        let least = smallest(mean, most, n.burst_shape);
        Law { peak, least, range: most / least, shape: n.burst_shape, idle_s, busy }
    }

    /// Burst of quantile `u`.
    fn burst(&self, u: f64) -> f64 {
        let a = self.shape;
        self.least * libm::pow(1.0 - u * (1.0 - libm::pow(self.range, -a)), -1.0 / a)
    }

    /// Quantile `u` of the bursts at a random instant of bursts, where long ones are likelier.
    fn burst_in_progress(&self, u: f64) -> f64 {
        let b = self.shape - 1.0;
        self.least * libm::pow(1.0 - u * (1.0 - libm::pow(self.range, -b)), -1.0 / b)
    }

    fn time_of(&self, bytes: f64) -> Nanos {
        Nanos::from_secs_f64(bytes / self.peak).max(Nanos(1))
    }

    fn idle(&self, u: f64) -> Nanos {
        match self.idle_s.is_finite() {
            true => Nanos::from_secs_f64(-libm::log(1.0 - u) * self.idle_s).max(Nanos(1)),
            false => Nanos::MAX,
        }
    }
}

/// Smallest burst of a distribution with this mean, by bisection.
fn smallest(mean: f64, most: f64, a: f64) -> f64 {
    let mean_from = |m: f64| {
        let r = most / m;
        m * a / (a - 1.0) * (1.0 - libm::pow(r, 1.0 - a)) / (1.0 - libm::pow(r, -a))
    };
    let (mut low, mut high) = (mean * (a - 1.0) / a, mean);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if mean_from(middle) < mean {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// Source of one terminal.
#[derive(Clone, Debug)]
pub struct Source {
    key: u64,
    draws: u64,
    sends: bool,
    /// End of the burst or idle time.
    until: Nanos,
}

impl Source {
    /// State at time zero.
    pub fn new(law: &Law, key: u64) -> Self {
        let mut source = Source { key, draws: 0, sends: false, until: Nanos::ZERO };
        source.sends = source.uniform() < law.busy;
        let (u, rest) = (source.uniform(), source.uniform());
        source.until = match source.sends {
            true => law.time_of(law.burst_in_progress(u) * rest),
            false => law.idle(u),
        };
        source
    }

    /// Bytes that arrive between two instants; calls follow each other in time.
    pub fn arrivals(&mut self, law: &Law, from: Nanos, to: Nanos) -> f64 {
        let (mut at, mut time) = (from, 0);
        loop {
            let end = self.until.min(to);
            if self.sends {
                time += end.saturating_sub(at).0;
            }
            if self.until > to {
                return time as f64 * 1e-9 * law.peak;
            }
            at = end;
            self.sends = !self.sends;
            let u = self.uniform();
            let length = if self.sends { law.time_of(law.burst(u)) } else { law.idle(u) };
            self.until = self.until.saturating_add(length);
        }
    }

    fn uniform(&mut self) -> f64 {
        self.draws += 1;
        unit(mix(self.key ^ mix(self.draws)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_units::BitRate;

    const USUAL: Neighbours = Neighbours {
        count: 10,
        load: BitRate::from_mbit(16),
        peak: BitRate::from_mbit(8), // a byte per microsecond
        burst: 100_000,
        burst_max: 10_000_000,
        burst_shape: 1.5,
        queue: 1_000_000,
    };

    #[test]
    fn bursts_have_the_given_mean_and_stay_within_their_bounds() {
        for shape in [1.05, 1.5, 3.0] {
            let law = Law::new(&Neighbours { burst_shape: shape, ..USUAL });
            let n = 200_000;
            // The midpoint rule over quantiles.
            let all = (0..n).map(|i| law.burst((f64::from(i) + 0.5) / f64::from(n)));
            let mean = all.sum::<f64>() / f64::from(n);
            assert!((mean / 100_000.0 - 1.0).abs() < 0.01, "{shape}: {mean}");
            assert!((law.burst(1.0) / 1e7 - 1.0).abs() < 1e-9 && law.burst(0.0) == law.least);
            assert!((law.burst_in_progress(1.0) / 1e7 - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn many_sources_offer_the_load_at_every_instant() {
        let law = Law::new(&Neighbours { burst_shape: 3.0, ..USUAL });
        let mut all: Vec<Source> = (0..4_000).map(|i| Source::new(&law, mix(i))).collect();
        // A fifth of the peak rate, already in the first 100 ms.
        for (from, to) in [(0, 100), (100, 400), (400, 5_000)] {
            let (from, to) = (Nanos::from_millis(from), Nanos::from_millis(to));
            let bytes: f64 = all.iter_mut().map(|s| s.arrivals(&law, from, to)).sum();
            let rate = bytes / 4_000.0 / (to - from).as_secs_f64();
            assert!((rate / 200_000.0 - 1.0).abs() < 0.08, "from {from}: {rate} B/s");
        }
    }

    #[test]
    fn arrivals_do_not_depend_on_the_intervals_of_the_calls() {
        let law = Law::new(&USUAL);
        let (mut one, mut many) = (Source::new(&law, 7), Source::new(&law, 7));
        let end = Nanos::from_secs(20);
        let whole = one.arrivals(&law, Nanos::ZERO, end);
        let step = Nanos::from_millis(1);
        let parts: f64 = (0..20_000u64).map(|i| many.arrivals(&law, step * i, step * (i + 1))).sum();
        assert!((whole - parts).abs() < 1e-3 && whole > 0.0, "{whole} {parts}");
    }

    #[test]
    fn a_load_of_nothing_sends_nothing() {
        let law = Law::new(&Neighbours { load: BitRate(0), ..USUAL });
        let mut source = Source::new(&law, 1);
        assert_eq!(source.arrivals(&law, Nanos::ZERO, Nanos::from_secs(1_000_000)), 0.0);
    }
}
