// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Units of C4, and its sensitivity to congestion: integers, truncated where the code truncates.

use crate::Nanos;

/// Gains and shares are in 1/1024.
pub const UNIT: u64 = 1024;
/// Bound of rates and windows, in bytes, far above those of any path.
pub const MOST: u64 = 1 << 50;

/// A share or gain of a value.
pub fn share(gain: u64, of: u64) -> u64 {
    ((u128::from(of) * u128::from(gain)) >> 10).min(u128::from(MOST)) as u64
}

/// Bytes sent at a rate in a time.
pub fn bytes_in(rate: u64, time: Nanos) -> u64 {
    let bytes = u128::from(rate) * u128::from(time.0) / u128::from(perigee_units::NS_PER_S);
    bytes.min(u128::from(MOST)) as u64
}

/// Sensitivity to congestion at a rate, in 1/1024.
pub fn sensitivity(rate: u64) -> u64 {
    match rate {
        0..50_000 => 0,
        50_000..1_000_000 => (rate - 50_000) * 963 / 950_000,
        1_000_000..10_000_001 => 963 + (rate - 1_000_000) * 61 / 9_000_000,
        _ => UNIT,
    }
}

/// Share of lost packets that is a signal.
pub fn loss_threshold(rate: u64) -> f64 {
    0.02 + 0.5 * (1.0 - sensitivity(rate) as f64 / UNIT as f64)
}
