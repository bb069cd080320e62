// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parser of human-readable quantities: `"100 Mbit"`, `"50 ms"`, `"1.5 bdp"`.
//!
//! Prefixes of rates and sizes are decimal (k = 10^3). A number without a unit is rejected: units
//! are never guessed.

use crate::{BitRate, Nanos};

/// Error of parsing a quantity; the text contains the value, the reason and the allowed forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError(pub String);

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for ParseError {}

/// A buffer size: absolute, or relative to the bandwidth-delay product, which the scenario
/// resolves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// Bytes.
    Bytes(u64),
    /// Packets.
    Packets(u64),
    /// Multiples of the bandwidth-delay product.
    Bdp(f64),
}

const TIME_UNITS: &[(&str, f64)] = &[
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
    ("h", 3600e9),
    ("d", 86_400e9),
];

const RATE_UNITS: &[(&str, f64)] =
    &[("bit", 1.0), ("kbit", 1e3), ("Mbit", 1e6), ("Gbit", 1e9), ("Tbit", 1e12)];

const SIZE_UNITS: &[(&str, f64)] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1048576.0),
    ("GiB", 1073741824.0),
];

/// Splits `"50 ms"` into a finite, non-negative number and its unit.
fn split<'a>(text: &'a str, what: &str, allowed: &str) -> Result<(f64, &'a str), ParseError> {
    let s = text.trim();
    let end = s
        .char_indices()
        .find(|&(i, c)| {
            !(c.is_ascii_digit()
                || c == '.'
                || c == '-'
                || c == '+'
                || c == '_'
                || ((c == 'e' || c == 'E')
                    && s[i + 1..].starts_with(|d: char| d.is_ascii_digit() || d == '-' || d == '+')))
        })
        .map_or(s.len(), |(i, _)| i);
    let number: f64 = s[..end].replace('_', "").parse().map_err(|_| {
        ParseError(format!("{text:?} is not a {what}: write a number and a unit, for example {allowed}"))
    })?;
    if !number.is_finite() {
        return Err(ParseError(format!("{text:?} is not a finite {what}")));
    }
    if number < 0.0 {
        return Err(ParseError(format!("{text:?} is negative; a {what} must be zero or more")));
    }
    Ok((number, s[end..].trim()))
}

fn scaled(text: &str, number: f64, factor: f64, what: &str) -> Result<u64, ParseError> {
    let value = number * factor;
    // Beyond 2^63 sums could overflow; no duration, rate or size in this field is that large.
    if value >= 9.2e18 {
        return Err(ParseError(format!("{text:?} is too large for a {what}")));
    }
    Ok((value + 0.5) as u64)
}

fn factor(units: &[(&str, f64)], unit: &str) -> Option<f64> {
    units.iter().find(|(name, _)| *name == unit).map(|&(_, f)| f)
}

fn unknown(text: &str, unit: &str, what: &str, units: &[(&str, f64)], extra: &str) -> ParseError {
    let names: Vec<_> = units.iter().map(|(n, _)| *n).collect();
    let found =
        if unit.is_empty() { "has no unit".to_string() } else { format!("has the unknown unit {unit:?}") };
    let hint = names
        .iter()
        .find(|n| n.eq_ignore_ascii_case(unit))
        .map_or(String::new(), |n| format!("; did you mean {n:?}?"));
    ParseError(format!("{text:?} {found}; units of a {what}: {}{extra}{hint}", names.join(", ")))
}

/// Parses a time: `"50 ms"`, `"1.5 s"`, `"2 min"`.
pub fn parse_time(text: &str) -> Result<Nanos, ParseError> {
    let (number, unit) = split(text, "time", "\"50 ms\"")?;
    let f = factor(TIME_UNITS, unit).ok_or_else(|| unknown(text, unit, "time", TIME_UNITS, ""))?;
    scaled(text, number, f, "time").map(Nanos)
}

/// Parses a rate: `"100 Mbit"`, `"2.5 Gbit/s"`, `"9600 bit/s"`.
pub fn parse_rate(text: &str) -> Result<BitRate, ParseError> {
    let (number, unit) = split(text, "rate", "\"100 Mbit\"")?;
    let bare = unit.strip_suffix("/s").or_else(|| unit.strip_suffix("ps")).unwrap_or(unit);
    let f = factor(RATE_UNITS, bare).ok_or_else(|| unknown(text, unit, "rate", RATE_UNITS, ""))?;
    scaled(text, number, f, "rate").map(BitRate)
}

/// Parses a size: `"64 kB"`, `"100 packets"`, `"1 bdp"`.
pub fn parse_size(text: &str) -> Result<Size, ParseError> {
    let (number, unit) = split(text, "size", "\"1 bdp\", \"100 packets\" or \"64 kB\"")?;
    match unit {
        "bdp" | "BDP" => Ok(Size::Bdp(number)),
        "packets" | "packet" | "pkts" => {
            if (number as u64) as f64 != number {
                return Err(ParseError(format!("{text:?} is not a whole number of packets")));
            }
            scaled(text, number, 1.0, "size").map(Size::Packets)
        }
        _ => {
            let f = factor(SIZE_UNITS, unit)
                .ok_or_else(|| unknown(text, unit, "size", SIZE_UNITS, ", packets, bdp"))?;
            scaled(text, number, f, "size").map(Size::Bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_with_and_without_a_space() {
        assert_eq!(parse_time("50 ms"), Ok(Nanos::from_millis(50)));
        assert_eq!(parse_time("1.5s"), Ok(Nanos::from_millis(1500)));
        assert_eq!(parse_rate("100 Mbit"), Ok(BitRate::from_mbit(100)));
        assert_eq!(parse_rate("50Mbit/s"), Ok(BitRate::from_mbit(50)));
        assert_eq!(parse_rate("1e3 bit"), Ok(BitRate(1000)));
        assert_eq!(parse_size("1 bdp"), Ok(Size::Bdp(1.0)));
        assert_eq!(parse_size("100 packets"), Ok(Size::Packets(100)));
        assert_eq!(parse_size("64 kB"), Ok(Size::Bytes(64_000)));
    }

    #[test]
    fn bad_quantities_say_what_is_allowed() {
        assert!(parse_time("50").unwrap_err().0.contains("no unit"));
        assert!(parse_time("50 Ms").unwrap_err().0.contains("did you mean \"ms\""));
        assert!(parse_time("-1 s").unwrap_err().0.contains("negative"));
        assert!(parse_time("NaN s").is_err());
        assert!(parse_time("1e300 s").unwrap_err().0.contains("too large"));
        assert!(parse_rate("100 MB").unwrap_err().0.contains("Mbit"));
        assert!(parse_size("1.5 packets").unwrap_err().0.contains("whole"));
        assert!(parse_size("").is_err());
    }
}
