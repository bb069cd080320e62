// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Quantities with the unit in their type; [`params`], tables of parameters that are declared
//! once; user-supplied [`files`]; [`names`], rules for names; [`stop`], cancellation of long work.
//! Every other crate may depend on this one.
//!
//! Time is integer nanoseconds since the start of a run, rates are integer bits per second, sizes
//! are integer bytes: with integers, a simulation yields identical results on every machine.

pub mod draw;
pub mod files;
pub mod names;
pub mod params;
mod parse;
pub mod stop;
pub use parse::{parse_rate, parse_size, parse_time, ParseError, Size};

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// Nanoseconds per second.
pub const NS_PER_S: u64 = 1_000_000_000;

/// A time since the start of the run, or a duration, in nanoseconds. `Nanos::MAX` means "never".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Time zero, or zero duration.
    pub const ZERO: Nanos = Nanos(0);
    /// Never.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// Duration of full microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Nanos(us * 1_000)
    }
    /// Duration of full milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Nanos(ms * 1_000_000)
    }
    /// Duration of full seconds.
    pub const fn from_secs(s: u64) -> Self {
        Nanos(s * NS_PER_S)
    }
    /// Duration in seconds, rounded to the nearest nanosecond; negative values become zero.
    pub fn from_secs_f64(s: f64) -> Self {
        Nanos((s * 1e9 + 0.5) as u64)
    }
    /// Value in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }
    /// Value in milliseconds.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 * 1e-6
    }
    /// Value in microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }
    /// `self - other`, or zero if that would be negative.
    pub const fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
    /// `self + other`, saturating at [`Nanos::MAX`].
    pub const fn saturating_add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, o: Nanos) -> Nanos {
        Nanos(self.0 + o.0)
    }
}
impl AddAssign for Nanos {
    fn add_assign(&mut self, o: Nanos) {
        self.0 += o.0;
    }
}
impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, o: Nanos) -> Nanos {
        Nanos(self.0 - o.0)
    }
}
impl SubAssign for Nanos {
    fn sub_assign(&mut self, o: Nanos) {
        self.0 -= o.0;
    }
}
impl Mul<u64> for Nanos {
    type Output = Nanos;
    fn mul(self, k: u64) -> Nanos {
        Nanos(self.0 * k)
    }
}
impl Div<u64> for Nanos {
    type Output = Nanos;
    fn div(self, k: u64) -> Nanos {
        Nanos(self.0 / k)
    }
}

impl fmt::Debug for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            u64::MAX => write!(f, "never"),
            n if n < 1_000 => write!(f, "{n} ns"),
            n if n < 1_000_000 => write!(f, "{} us", n as f64 / 1e3),
            n if n < NS_PER_S => write!(f, "{} ms", n as f64 / 1e6),
            n => write!(f, "{} s", n as f64 / 1e9),
        }
    }
}

/// A rate in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BitRate(pub u64);

impl BitRate {
    /// Rate in megabits (10^6 bits) per second.
    pub const fn from_mbit(m: u64) -> Self {
        BitRate(m * 1_000_000)
    }
    /// Value in megabits per second.
    pub fn as_mbit(self) -> f64 {
        self.0 as f64 * 1e-6
    }
    /// Value in bytes per second.
    pub fn bytes_per_s(self) -> f64 {
        self.0 as f64 / 8.0
    }
    /// Time to send `bytes` at this rate, rounded up to a nanosecond; [`Nanos::MAX`] at rate zero.
    #[inline]
    pub fn time_for(self, bytes: u64) -> Nanos {
        if self.0 == 0 {
            return Nanos::MAX;
        }
        Nanos(mul_div_ceil(bytes, 8 * NS_PER_S, self.0))
    }
    /// Rate at which `bytes` take `time`, rounded down; zero if `time` is zero.
    #[inline]
    pub fn of(bytes: u64, time: Nanos) -> BitRate {
        if time.0 == 0 {
            return BitRate(0);
        }
        BitRate(match bytes.checked_mul(8 * NS_PER_S) {
            Some(bits) => bits / time.0,
            None => ((bytes as u128 * 8 * NS_PER_S as u128) / time.0 as u128).min(u64::MAX as u128) as u64,
        })
    }
    /// Bytes sent in `time` at this rate, rounded down.
    pub fn bytes_in(self, time: Nanos) -> u64 {
        ((self.0 as u128 * time.0 as u128) / (8 * NS_PER_S as u128)).min(u64::MAX as u128) as u64
    }
}

/// `ceil(a * b / c)`, saturating at `u64::MAX`. The 128-bit division is only used if the product
/// exceeds 64 bits.
#[inline]
fn mul_div_ceil(a: u64, b: u64, c: u64) -> u64 {
    match a.checked_mul(b) {
        Some(product) => product.div_ceil(c),
        None => (a as u128 * b as u128).div_ceil(c as u128).min(u64::MAX as u128) as u64,
    }
}

impl fmt::Debug for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n < 1_000 => write!(f, "{n} bit/s"),
            n if n < 1_000_000 => write!(f, "{} kbit/s", n as f64 / 1e3),
            n if n < NS_PER_S => write!(f, "{} Mbit/s", n as f64 / 1e6),
            n => write!(f, "{} Gbit/s", n as f64 / 1e9),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_packet_takes_120_us_at_100_mbit() {
        assert_eq!(BitRate::from_mbit(100).time_for(1500), Nanos::from_micros(120));
    }

    #[test]
    fn a_blocked_link_never_finishes() {
        assert_eq!(BitRate(0).time_for(1), Nanos::MAX);
    }

    #[test]
    fn bytes_and_time_are_inverse_up_to_rounding() {
        for rate in [1, 7, 9_600, 20_000_000, 8_000_000_000] {
            let rate = BitRate(rate);
            assert_eq!(rate.bytes_in(rate.time_for(1514)), 1514);
        }
    }

    #[test]
    fn times_print_in_the_unit_a_person_would_use() {
        assert_eq!(Nanos::from_millis(50).to_string(), "50 ms");
        assert_eq!(Nanos(1_500_000_000).to_string(), "1.5 s");
        assert_eq!(BitRate::from_mbit(100).to_string(), "100 Mbit/s");
    }
}

/// Runs the example of the README as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
