// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `uf16`: an unsigned 16-bit float for byte counts and rates.
//!
//! The top 5 bits are an exponent e, the low 11 bits a mantissa m: the value is m for e = 0 and
//! (2048 + m) · 2^(e-1) otherwise. Values below 4096 are exact; above, the relative error is at
//! most 2^-12, and values beyond 4095 · 2^30 saturate. Codes sort like their values.

/// Maximum value of the format.
pub const MAX: u64 = 4095 << 30;

const MANTISSA_BITS: u32 = 11;
const HIDDEN: u64 = 1 << MANTISSA_BITS;

/// Nearest code for `value`.
#[inline]
pub fn encode(value: u64) -> u16 {
    if value < HIDDEN {
        return value as u16;
    }
    if value >= MAX {
        return u16::MAX;
    }
    let shift = u64::BITS - value.leading_zeros() - (MANTISSA_BITS + 1);
    let mantissa = (value + ((1 << shift) >> 1)) >> shift;
    // A mantissa that rounds up to 4096 carries into the exponent, which is the correct next code.
    (((shift as u64 + 1) << MANTISSA_BITS) + (mantissa - HIDDEN)) as u16
}

/// Value of `code`.
#[inline]
pub fn decode(code: u16) -> u64 {
    let exponent = code >> MANTISSA_BITS;
    let mantissa = code as u64 & (HIDDEN - 1);
    match exponent {
        0 => mantissa,
        e => (HIDDEN + mantissa) << (e - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_survives_a_round_trip() {
        for code in 0..=u16::MAX {
            assert_eq!(encode(decode(code)), code, "{code:#x}");
        }
    }

    #[test]
    fn the_relative_error_is_at_most_2_to_the_minus_12() {
        let mut v = 1u64;
        while v < MAX {
            for x in [v - 1, v, v + 1, v + v / 3, v + v / 2].map(|x| x.min(MAX)) {
                let error = decode(encode(x)).abs_diff(x);
                assert!(error as f64 <= x as f64 / 4096.0, "{x}: off by {error}");
            }
            v = v * 5 / 4 + 1;
        }
    }

    #[test]
    fn small_values_are_exact_and_7300_is_off_by_one_at_most() {
        assert!((0..4096).all(|v| decode(encode(v)) == v));
        assert!(decode(encode(7300)).abs_diff(7300) <= 1);
    }

    #[test]
    fn what_is_too_large_saturates() {
        assert_eq!(decode(encode(u64::MAX)), MAX);
        assert_eq!(decode(encode(MAX + 1)), MAX);
    }

    #[test]
    fn link_rates_of_the_studies_are_exact_in_kbit() {
        for mbit in [1, 5, 10, 20, 50, 60, 100, 200, 400] {
            assert_eq!(decode(encode(mbit * 1000)), mbit * 1000);
        }
    }
}
