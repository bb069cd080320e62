// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Two-line element sets, with or without a line for the name.
//!
//! Columns as in the definition of the format (Spacetrack Report No. 3; Vallado and Crawford, AIAA
//! 2008-6770). A file with any invalid line is rejected: it may be a truncated download, and a
//! constellation with undetected gaps yields wrong routes.

use crate::frames::RAD;
use crate::time::Epoch;
use perigee_units::names;
use std::collections::BTreeMap;

/// Errors of element set files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TleError {
    /// An invalid line.
    #[error("line {line}: {reason}")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// Description.
        reason: String,
    },
    /// An invalid entry of a list.
    #[error("entry {entry}: {reason}")]
    Entry {
        /// Number of the entry, from 1.
        entry: usize,
        /// Description.
        reason: String,
    },
    /// No element sets.
    #[error("the file holds no element sets")]
    Empty,
}

/// Position of a set in its file, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Origin {
    /// Not from a file: generated for a shell.
    #[default]
    Generated,
    /// Number of the set's first line (after the name, if it has one).
    Line(usize),
    /// Entry of a list.
    Entry(usize),
}

impl Origin {
    pub(crate) fn error(self, reason: String) -> TleError {
        match self {
            Origin::Entry(entry) => TleError::Entry { entry, reason },
            Origin::Line(line) => TleError::Line { line, reason },
            Origin::Generated => TleError::Line { line: 0, reason },
        }
    }
}

/// Positions in a file as human-readable text: the first few, and the number of others.
pub fn listed(places: &[Origin]) -> String {
    const SHOWN: usize = 5;
    let word = match places.first() {
        Some(Origin::Entry(_)) if places.len() > 1 => "entries",
        Some(Origin::Entry(_)) => "entry",
        _ if places.len() > 1 => "lines",
        _ => "line",
    };
    let number = |o: &Origin| match o {
        Origin::Line(n) | Origin::Entry(n) => n.to_string(),
        Origin::Generated => "-".into(),
    };
    let some: Vec<String> = places.iter().take(SHOWN).map(number).collect();
    match places.len().saturating_sub(SHOWN) {
        0 => format!("{word} {}", some.join(", ")),
        rest => format!("{word} {} and {rest} more", some.join(", ")),
    }
}

/// Mean elements of one satellite, in the units of SGP4.
#[derive(Clone, Debug, PartialEq)]
pub struct Tle {
    /// Name line, or else the catalogue number.
    pub name: String,
    /// Origin of the set.
    pub origin: Origin,
    /// Catalogue number.
    pub catalogue: u32,
    /// Epoch of the elements.
    pub epoch: Epoch,
    /// Drag term B*, per Earth radius.
    pub bstar: f64,
    /// Inclination.
    pub inclination_rad: f64,
    /// Right ascension of the ascending node.
    pub raan_rad: f64,
    /// Eccentricity.
    pub eccentricity: f64,
    /// Argument of perigee.
    pub perigee_rad: f64,
    /// Mean anomaly.
    pub anomaly_rad: f64,
    /// Mean motion as defined for TLEs (Kozai).
    pub revs_per_day: f64,
}

impl Tle {
    /// Creates an error about this set.
    pub fn wrong(&self, reason: impl Into<String>) -> TleError {
        self.origin.error(reason.into())
    }

    /// The set's two lines. Catalogue numbers beyond five digits are truncated to their last five.
    pub fn lines(&self) -> [String; 2] {
        let (id, (year, day_e8)) = (self.catalogue % 100_000, self.epoch.to_tle());
        let (day, part) = (day_e8 / 100_000_000, day_e8 % 100_000_000);
        let degrees = |rad: f64| (rad / RAD).rem_euclid(360.0);
        // Angles that round to 360 degrees become 0.
        let angle = |rad: f64| if degrees(rad) >= 359.999_95 { 0.0 } else { degrees(rad) };
        let drag = write_exponent(self.bstar);
        let one =
            format!("1 {id:05}U 00000ABC {year:02}{day:03}.{part:08}  .00000000  00000-0 {drag} 0    0");
        let two = format!(
            "2 {id:05} {:8.4} {:8.4} {:07} {:8.4} {:8.4} {:11.8}    0",
            self.inclination_rad / RAD,
            angle(self.raan_rad),
            libm::round(self.eccentricity * 1e7) as u64,
            angle(self.perigee_rad),
            angle(self.anomaly_rad),
            self.revs_per_day,
        );
        [one, two].map(|line| format!("{line}{}", checksum(line.as_bytes())))
    }
}

/// The inverse of [`exponent`].
fn write_exponent(v: f64) -> String {
    if v == 0.0 {
        return " 00000-0".into();
    }
    let mut power = libm::floor(libm::log10(v.abs())) as i32 + 1;
    let mut mantissa = libm::round(v.abs() * libm::pow(10.0, f64::from(5 - power))) as u32;
    if mantissa == 100_000 {
        (mantissa, power) = (10_000, power + 1);
    }
    let sign = if v < 0.0 { '-' } else { ' ' };
    format!("{sign}{mantissa:05}{}{}", if power <= 0 { '-' } else { '+' }, power.abs().min(9))
}

fn checksum(line: &[u8]) -> u32 {
    let value = |c: &u8| if *c == b'-' { 1 } else { char::from(*c).to_digit(10).unwrap_or(0) };
    line.iter().map(value).sum::<u32>() % 10
}

/// Reads a file of two-line or three-line sets; blank lines are skipped.
///
/// # Errors
/// The first line that is malformed, an incomplete set, a duplicate catalogue number, an empty
/// file.
pub fn parse(text: &str) -> Result<Vec<Tle>, TleError> {
    let mut lines =
        text.lines().enumerate().map(|(n, l)| (n + 1, l.trim_end())).filter(|(_, l)| !l.is_empty());
    let mut sets = Vec::new();
    let mut seen = BTreeMap::new();
    while let Some((number, line)) = lines.next() {
        let is_first = line.starts_with("1 ") && line.len() >= 60;
        let (name, (n1, one)) = if is_first {
            (None, (number, line))
        } else {
            let name = line.strip_prefix("0 ").unwrap_or(line).trim();
            names::check(name).map_err(|why| at(number, format!("the name {name:?} {why}")))?;
            let next = lines.next().ok_or_else(|| at(number, "the file ends after a name"))?;
            (Some(name), next)
        };
        let (n2, two) = lines.next().ok_or_else(|| at(n1, "the file ends after the first line of a set"))?;
        let set = read_set(name, (n1, one), (n2, two))?;
        if let Some(first) = seen.insert(set.catalogue, n1) {
            return Err(at(
                n1,
                format!("catalogue number {} comes twice, first in line {first}", set.catalogue),
            ));
        }
        sets.push(set);
    }
    if sets.is_empty() {
        return Err(TleError::Empty);
    }
    Ok(sets)
}

pub(crate) fn at(line: usize, reason: impl Into<String>) -> TleError {
    TleError::Line { line, reason: reason.into() }
}

fn read_set(name: Option<&str>, (n1, one): (usize, &str), (n2, two): (usize, &str)) -> Result<Tle, TleError> {
    check_line(n1, one, b'1')?;
    check_line(n2, two, b'2')?;
    let f1 = |from, to, what| field(n1, one, from, to, what);
    let f2 = |from, to, what| field(n2, two, from, to, what);
    let catalogue = catalogue_number(n1, one)?;
    if catalogue != catalogue_number(n2, two)? {
        return Err(at(n2, "its catalogue number is not that of the line before"));
    }
    let year = f1(19, 20, "epoch year")? as i64;
    let day_e8 = fixed_point(n1, one, 21, 32, "epoch day")?;
    if !(100_000_000..36_700_000_000).contains(&day_e8) {
        return Err(at(n1, "the epoch is not a day of a year"));
    }
    let tle = Tle {
        name: name.map_or_else(|| format!("{catalogue:05}"), str::to_string),
        origin: Origin::Line(n1),
        catalogue,
        epoch: Epoch::from_tle(year, day_e8),
        bstar: exponent(n1, one, 54, 61, "drag term")?,
        inclination_rad: f2(9, 16, "inclination")? * RAD,
        raan_rad: f2(18, 25, "right ascension of the node")? * RAD,
        eccentricity: fixed_point(n2, two, 27, 33, "eccentricity")? as f64 * 1e-7,
        perigee_rad: f2(35, 42, "argument of perigee")? * RAD,
        anomaly_rad: f2(44, 51, "mean anomaly")? * RAD,
        revs_per_day: f2(53, 63, "mean motion")?,
    };
    if !(0.0..=180.0 * RAD).contains(&tle.inclination_rad) {
        return Err(at(n2, "the inclination is not between 0 and 180 degrees"));
    }
    if !(tle.revs_per_day > 0.0 && tle.revs_per_day < 18.0) {
        return Err(at(n2, format!("a mean motion of {} turns a day is not an orbit", tle.revs_per_day)));
    }
    Ok(tle)
}

/// Checks length, line number and checksum.
fn check_line(n: usize, line: &str, kind: u8) -> Result<(), TleError> {
    let bytes = line.as_bytes();
    if !line.is_ascii() {
        return Err(at(n, "there are characters in it that no element set has"));
    }
    if bytes.first() != Some(&kind) || bytes.get(1) != Some(&b' ') {
        return Err(at(n, format!("expected line {} of an element set", kind as char)));
    }
    if bytes.len() < 69 {
        return Err(at(n, format!("it is cut off: {} of 69 columns", bytes.len())));
    }
    let sum = checksum(&bytes[..68]);
    let found = bytes[68];
    if u32::from(found.wrapping_sub(b'0')) != sum {
        let found = char::from(found);
        return Err(at(n, format!("the checksum in column 69 is {found}, the line adds up to {sum}")));
    }
    Ok(())
}

/// Columns `from..=to`, counted from 1 as in the definition.
fn columns(line: &str, from: usize, to: usize) -> &str {
    line[from - 1..to].trim()
}

fn bad(n: usize, what: &str, text: &str) -> TleError {
    at(n, format!("the {what} {text:?} is not a number"))
}

fn field(n: usize, line: &str, from: usize, to: usize, what: &str) -> Result<f64, TleError> {
    let text = columns(line, from, to);
    text.parse().ok().filter(|v: &f64| v.is_finite()).ok_or_else(|| bad(n, what, text))
}

/// Integer of a number with a fixed number of decimals (the point is dropped): exact where a float
/// would not be.
fn fixed_point(n: usize, line: &str, from: usize, to: usize, what: &str) -> Result<i64, TleError> {
    let text = columns(line, from, to);
    let digits: String = text.chars().filter(|c| *c != '.').map(|c| if c == ' ' { '0' } else { c }).collect();
    digits.parse().ok().filter(|v| *v >= 0).ok_or_else(|| bad(n, what, text))
}

/// Number in the form `-12345-6`, which means -0.12345e-6.
fn exponent(n: usize, line: &str, from: usize, to: usize, what: &str) -> Result<f64, TleError> {
    let text = columns(line, from, to);
    let parse = || {
        let (sign, rest) = text.strip_prefix('-').map_or((1.0, text), |r| (-1.0, r));
        let rest = rest.strip_prefix('+').unwrap_or(rest);
        let split = rest.len().checked_sub(2)?;
        let mantissa: f64 = format!("0.{}", rest[..split].trim()).parse().ok()?;
        let power: f64 = rest[split..].parse().ok()?;
        Some(sign * mantissa * libm::pow(10.0, power))
    };
    parse().ok_or_else(|| bad(n, what, text))
}

/// Catalogue number of five digits, or with a letter (other than I and O) for the first two:
/// "Alpha-5".
fn catalogue_number(n: usize, line: &str) -> Result<u32, TleError> {
    let text = columns(line, 3, 7);
    let parse = || {
        let first = text.chars().next()?;
        if first.is_ascii_digit() {
            return text.parse().ok();
        }
        let place = "ABCDEFGHJKLMNPQRSTUVWXYZ".find(first)? as u32;
        Some((place + 10) * 10_000 + text[1..].parse::<u32>().ok()?)
    };
    parse().ok_or_else(|| at(n, format!("the catalogue number {text:?} is not one")))
}

/// Mean altitude from the mean motion, with the constants of WGS72.
pub fn mean_altitude_km(tle: &Tle) -> f64 {
    let n = tle.revs_per_day * std::f64::consts::TAU / 86_400.0;
    libm::cbrt(398_600.8 / (n * n)) - 6_378.135
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const TWO: &str = "\
STARLINK-24             
1 44238U 19029D   22257.46316094  .00217935  00000+0  35067-2 0  9992
2 44238  53.0028  47.8601 0007663 290.4472  69.5712 15.51686006181960
STARLINK-71             
1 44252U 19029T   22257.66652686  .00210967  00000+0  31977-2 0  9994
2 44252  52.9931  41.1318 0006495 306.7007  53.3405 15.53381077183735
";

    fn error(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn sets_are_read_with_and_without_names() {
        let named = parse(TWO).unwrap();
        assert_eq!(named.len(), 2);
        assert_eq!((named[0].name.as_str(), named[0].catalogue), ("STARLINK-24", 44238));
        assert!((named[0].bstar - 0.0035067).abs() < 1e-12);
        assert!((named[0].eccentricity - 0.0007663).abs() < 1e-12);
        assert_eq!(named[0].epoch.to_string(), "2022-09-14T11:06:57Z");
        let bare: String = TWO.lines().filter(|l| !l.starts_with('S')).map(|l| format!("{l}\r\n")).collect();
        assert_eq!(parse(&bare).unwrap()[1].name, "44252");
    }

    #[test]
    fn errors_name_the_line_and_the_reason() {
        assert_eq!(error(""), "the file holds no element sets");
        assert!(
            error(&TWO.replace("53.0028", "53.0029")).starts_with("line 3: the checksum in column 69 is 0")
        );
        assert!(error(&TWO[..TWO.len() - 10]).starts_with("line 6: it is cut off: 60 of 69"));
        let name_last: Vec<&str> = TWO.lines().take(4).collect();
        assert_eq!(error(&name_last.join("\n")), "line 4: the file ends after a name");
        assert!(error("A\nB\nC\n").starts_with("line 2: expected line 1 of an element set"));
        let twice = format!("{TWO}{TWO}");
        assert_eq!(error(&twice), "line 8: catalogue number 44238 comes twice, first in line 2");
    }

    #[test]
    fn what_is_written_is_what_was_read() {
        for set in parse(TWO).unwrap() {
            let text = format!("{}\n{}\n", set.name, set.lines().join("\n"));
            let again = &parse(&text).unwrap()[0];
            let numbers = |t: &Tle| {
                [t.inclination_rad, t.raan_rad, t.eccentricity, t.perigee_rad, t.anomaly_rad, t.revs_per_day]
            };
            assert!(numbers(again).iter().zip(numbers(&set)).all(|(a, b)| (a - b).abs() < 1e-9), "{text}");
            assert_eq!((again.epoch, again.catalogue), (set.epoch, set.catalogue));
            assert!((again.bstar - set.bstar).abs() < 1e-9, "{text}");
        }
    }

    #[test]
    fn no_damage_makes_it_panic() {
        for text in crate::testdata::damaged(TWO) {
            for set in parse(&text).unwrap_or_default() {
                let _ = crate::motion::fleet::Sgp4::new(&set, crate::motion::fleet::Gravity::Wgs72)
                    .map(|s| s.state(set.epoch));
            }
        }
    }

    #[test]
    fn catalogue_numbers_beyond_99999_use_letters() {
        assert_eq!(catalogue_number(1, "1 A0001U").unwrap(), 100_001);
        assert_eq!(catalogue_number(1, "1 Z9999U").unwrap(), 339_999);
        assert!(catalogue_number(1, "1 I0001U").is_err());
    }
}
