// SPDX-License-Identifier: Apache-2.0 OR MIT
//! LeoCC's scalar Kalman filter: process and measurement variance 4, initial variance 25.
//!
//! ```text
//! P ← P + Q        K = P / (P + R)        x ← (1 − K) x + K z        P ← (1 − K) P
//! ```
//!
//! The kernel module computes K in units of 1/256 and P in integers: K = 224, 162, then 153. The
//! simulator keeps K real and truncates only P: K = 0.8788, 0.6364, then 0.6.

const Q: u64 = 4;
const R: u64 = 4;
const FIRST_P: u64 = 25;
/// The kernel keeps P in 5 bits.
const MAX_P: u64 = 31;
const SHIFT: u32 = 8;

/// Representation of K.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Integer,
    Real,
}

#[derive(Clone, Debug)]
pub(super) struct Kalman {
    arithmetic: Arithmetic,
    p: u64,
    estimate: u64,
}

impl Kalman {
    pub fn new(arithmetic: Arithmetic) -> Self {
        Kalman { arithmetic, p: FIRST_P, estimate: 0 }
    }

    pub fn get(&self) -> u64 {
        self.estimate
    }

    pub fn update(&mut self, z: u64) {
        let p = (self.p + Q).min(MAX_P);
        match self.arithmetic {
            Arithmetic::Integer => {
                let k = (p << SHIFT) / (p + R);
                let rest = (1 << SHIFT) - k;
                let sum = rest as u128 * self.estimate as u128 + k as u128 * z as u128;
                self.estimate = (sum >> SHIFT).min(u64::MAX as u128) as u64;
                self.p = (rest * p) >> SHIFT;
            }
            Arithmetic::Real => {
                let k = p as f64 / (p + R) as f64;
                self.estimate = ((1.0 - k) * self.estimate as f64 + k * z as f64) as u64;
                self.p = ((1.0 - k) * p as f64) as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_gains_are_the_kernels() {
        let mut f = Kalman::new(Arithmetic::Integer);
        let mut gains = vec![];
        for _ in 0..6 {
            let p = f.p + Q;
            gains.push((p << SHIFT) / (p + R));
            f.update(0);
        }
        assert_eq!(gains, [224, 162, 153, 153, 153, 153]);
        assert_eq!(f.p, 2);
    }

    #[test]
    fn a_step_is_followed_in_four_samples() {
        let mut f = Kalman::new(Arithmetic::Integer);
        for part in [0.875, 0.954, 0.982, 0.993] {
            f.update(1_000_000);
            assert!((f.get() as f64 * 1e-6 - part).abs() < 1.5e-3, "{}", f.get());
        }
    }

    #[test]
    fn real_gains_are_the_simulators() {
        let mut f = Kalman::new(Arithmetic::Real);
        let mut rest = 1.0;
        for k in [0.8788, 0.6364, 0.6, 0.6] {
            f.update(1_000_000);
            rest *= 1.0 - k;
            assert!((f.get() as f64 * 1e-6 - (1.0 - rest)).abs() < 1e-4, "{}", f.get());
        }
    }
}
