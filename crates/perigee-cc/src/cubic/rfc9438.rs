// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cubic as specified in RFC 9438, in real numbers of packets.
//!
//! ```text
//! W(t)    = C (t − K)³ + W_max              K = cbrt((W_max − cwnd_epoch) / C)
//! target  = clamp(W(t + SRTT), cwnd, 1.5 cwnd)
//! W_est  += α · acked / cwnd             α = 3 (1 − β) / (1 + β) until W_est ≥ cwnd_prior, then 1
//! cwnd    = W_est  where W(t) < W_est,      else cwnd += acked · (target − cwnd) / cwnd
//! loss    W_max = cwnd, or cwnd (1 + β)/2 if it did not reach the old one;
//!         ssthresh = β · FlightSize
//! timeout the next epoch starts on its plateau: K = 0, W_max = cwnd
//! ```
//!
//! Periods in which the window is not the limit do not count. An undo restores all state.

use crate::Nanos;

const C: f64 = 0.4;
const BETA: f64 = 0.7;
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
const MAX_GROWTH: f64 = 1.5;
const MIN_SSTHRESH: f64 = 2.0;

#[derive(Clone, Copy, Debug)]
struct Curve {
    w_max: f64,
    k_s: f64,
    /// `None` before the first acknowledgement of an epoch.
    epoch: Option<Nanos>,
    w_est: f64,
    cwnd_prior: f64,
    /// Growth of less than a packet, carried over.
    fraction: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Rfc9438 {
    fast_convergence: bool,
    curve: Curve,
    saved: Option<Curve>,
    last: Nanos,
}

impl Rfc9438 {
    pub fn new(fast_convergence: bool) -> Self {
        let curve = Curve { w_max: 0.0, k_s: 0.0, epoch: None, w_est: 0.0, cwnd_prior: 0.0, fraction: 0.0 };
        Rfc9438 { fast_convergence, curve, saved: None, last: Nanos::ZERO }
    }

    /// Excludes the time since the last ACK or growth.
    pub fn skip(&mut self, now: Nanos) {
        if let Some(epoch) = &mut self.curve.epoch {
            *epoch = epoch.saturating_add(now.saturating_sub(self.last)).min(now);
        }
        self.last = now;
    }

    /// Window after `acked` packets in congestion avoidance.
    pub fn grow(&mut self, now: Nanos, srtt: Nanos, cwnd: u64, acked: u64) -> u64 {
        self.last = now;
        let c = &mut self.curve;
        let acked = acked as f64;
        let mut w = cwnd as f64 + c.fraction;
        let epoch = *c.epoch.get_or_insert_with(|| {
            c.w_max = c.w_max.max(w);
            c.k_s = libm::cbrt((c.w_max - w) / C);
            c.w_est = w;
            now
        });
        let t = now.saturating_sub(epoch).as_secs_f64();
        let alpha = if c.w_est < c.cwnd_prior { ALPHA } else { 1.0 };
        c.w_est += alpha * acked / w;
        if c.at(t) < c.w_est {
            w = w.max(c.w_est);
        } else {
            let target = c.at(t + srtt.as_secs_f64()).clamp(w, MAX_GROWTH * w);
            w += acked * (target - w) / w;
        }
        let whole = libm::floor(w).min(u32::MAX as f64);
        c.fraction = (w - whole).clamp(0.0, 1.0);
        whole as u64
    }

    /// Threshold after a loss; sizes in packets.
    pub fn reduce(&mut self, cwnd: u64, flight: u64) -> u64 {
        self.saved = Some(self.curve);
        let w = cwnd as f64;
        let c = &mut self.curve;
        let gives_way = self.fast_convergence && w < c.w_max;
        c.w_max = if gives_way { w * (1.0 + BETA) / 2.0 } else { w };
        c.cwnd_prior = w;
        c.epoch = None;
        c.fraction = 0.0;
        let flight = if flight > 0 { flight.min(cwnd) } else { cwnd };
        (flight as f64 * BETA).max(MIN_SSTHRESH) as u64
    }

    pub fn on_timeout(&mut self) {
        // At the start of the epoch the maximum with the window makes W_max that window, and K
        // zero.
        self.curve.w_max = 0.0;
        self.curve.epoch = None;
        self.curve.fraction = 0.0;
    }

    pub fn undo(&mut self) {
        if let Some(saved) = self.saved.take() {
            self.curve = saved;
        }
    }
}

impl Curve {
    fn at(&self, t_s: f64) -> f64 {
        let d = t_s - self.k_s;
        C * d * d * d + self.w_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_points_of_the_curve() {
        let mut r = Rfc9438::new(true);
        assert_eq!(r.reduce(100, 100), 70);
        r.grow(Nanos::from_secs(1), Nanos::ZERO, 70, 1);
        assert!((r.curve.k_s - 4.217).abs() < 1e-3);
        for (t, w) in [(1.0, 86.68), (2.0, 95.64), (5.0, 100.19), (8.0, 121.65), (10.0, 177.35)] {
            assert!((r.curve.at(t) - w).abs() < 0.01, "{t}");
        }
    }

    #[test]
    fn a_timeout_puts_the_next_epoch_on_its_plateau_and_an_undo_takes_everything_back() {
        let mut r = Rfc9438::new(true);
        r.reduce(100, 100);
        r.on_timeout();
        r.grow(Nanos::from_secs(1), Nanos::ZERO, 50, 1);
        assert_eq!((r.curve.k_s, r.curve.w_max), (0.0, 50.0));
        let before = r.curve.w_max;
        r.reduce(80, 80);
        r.undo();
        assert_eq!(r.curve.w_max, before);
    }

    #[test]
    fn unused_time_does_not_count() {
        let mut r = Rfc9438::new(true);
        r.reduce(100, 100);
        r.grow(Nanos::from_secs(1), Nanos::ZERO, 70, 1);
        r.skip(Nanos::from_secs(9));
        assert_eq!(r.curve.epoch, Some(Nanos::from_secs(9)));
    }

    #[test]
    fn the_flight_counts_and_not_the_window() {
        assert_eq!(Rfc9438::new(true).reduce(100, 40), 28);
        assert_eq!(Rfc9438::new(true).reduce(2, 2), 2);
    }
}
