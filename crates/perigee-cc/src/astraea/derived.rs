// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Derived features: logarithms of a step's features as inputs of a policy's first layer.
//!
//! ```text
//! thr   = f0 · f4          throughput, in 10⁷ bytes/s
//! queue = (f1 − 1) · f5    queueing delay, in 0.5 s
//! ln (thr + 10⁻³),  ln (queue + 2·10⁻⁴),  ln (f5 + 10⁻³)
//! ```
//!
//! Flows at the same bottleneck observe the same queueing delay. If each flow keeps a queueing
//! delay that decreases with its own throughput (as in Vegas or FAST, at constant thr · queue),
//! they converge to equal shares. In logarithms this law is a sum, which a small network learns
//! easily, whereas products of features that depend on the flow's history have to be approximated.

use super::FEATURES;

/// Number of values derived from a step.
pub const DERIVED: usize = 3;

/// Derived values of one step; a step without measurements yields those of an idle flow.
///
/// Features are those of [`super`]: ratios, rates in 10⁷ bytes/s, times in 0.5 s.
pub fn derive(step: &[f32]) -> [f32; DERIVED] {
    debug_assert_eq!(step.len(), FEATURES);
    let thr = (step[0] * step[4]).max(0.0);
    let queue = ((step[1] - 1.0) * step[5]).max(0.0);
    [libm::logf(thr + 1e-3), libm::logf(queue + 2e-4), libm::logf(step[5].max(0.0) + 1e-3)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_with_the_same_product_of_rate_and_queue_differ_only_in_their_parts() {
        // 100 Mbit/s (12.5 MB/s), 30 ms and 3 ms of queue; half the rate and twice the queue; and
        // the first one with a different maximum throughput.
        let a = derive(&[1.0, 1.1, 1.1, 0.8, 1.25, 0.06, 0.0, 1.0, 1.0, 0.0]);
        let b = derive(&[0.5, 1.2, 1.2, 0.4, 1.25, 0.06, 0.0, 1.0, 1.0, 0.0]);
        let c = derive(&[1.0, 1.2, 1.2, 0.8, 0.625, 0.06, 0.0, 1.0, 1.0, 0.0]);
        assert!((a[0] - libm::logf(1.251)).abs() < 1e-6 && (a[1] - libm::logf(0.0062)).abs() < 1e-4);
        assert!((a[0] + a[1] - b[0] - b[1]).abs() < 0.04);
        assert_eq!(b, c);
    }

    #[test]
    fn nothing_measured_is_finite() {
        assert!(derive(&[0.0; FEATURES]).iter().all(|x| x.is_finite() && *x < -6.0));
    }
}
