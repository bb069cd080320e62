// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instants on the calendar.
//!
//! The only time scale is UTC without leap seconds, used as UT1: the difference is below 0.9 s, in
//! which a point on the equator moves by 420 m, and it is the same for all satellites of a run.

use perigee_units::Nanos;

const NS_PER_DAY: i64 = 86_400_000_000_000;

/// An instant: nanoseconds since 2000-01-01 12:00 UTC (J2000).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Epoch(pub i64);

impl Epoch {
    /// 2000-01-01 00:00, the default start of generated shells (as in Hypatia).
    pub const Y2000: Epoch = Epoch(-NS_PER_DAY / 2);

    /// Midnight of a day of the Gregorian calendar.
    pub fn midnight(year: i64, month: i64, day: i64) -> Self {
        Epoch((days_from_2000(year, month, day) * NS_PER_DAY) - NS_PER_DAY / 2)
    }

    /// Instant from a two-digit year and a day of the year in units of 1e-8 days, as in TLEs.
    pub fn from_tle(year2: i64, day_e8: i64) -> Self {
        // Years 57 to 99 are in the 20th century (the first satellite flew in 1957).
        let year = if year2 < 57 { 2000 + year2 } else { 1900 + year2 };
        let first = Epoch::midnight(year, 1, 1);
        Epoch(first.0 + (day_e8 - 100_000_000) * (NS_PER_DAY / 100_000_000))
    }

    /// The inverse of [`Epoch::from_tle`], to 1e-8 days.
    pub fn to_tle(self) -> (i64, i64) {
        let ns = self.0 + NS_PER_DAY / 2;
        let (year, ..) = civil(ns.div_euclid(NS_PER_DAY));
        let unit = NS_PER_DAY / 100_000_000;
        let since = self.0 - Epoch::midnight(year, 1, 1).0;
        (year.rem_euclid(100), (since + unit / 2).div_euclid(unit) + 100_000_000)
    }

    /// `"2022-09-14"`, `"2022-09-14T12:00:00"` or `"2022-09-14 12:00:00.25Z"`.
    ///
    /// # Errors
    /// A description, if the text has any other format.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bad = || format!("{text:?} is not a time: write it like 2022-09-14T12:00:00Z");
        let body = text.trim().trim_end_matches('Z');
        let (date, clock) = body.split_once(['T', ' ']).unwrap_or((body, "00:00:00"));
        let number = |s: &str| s.parse::<u32>().map(i64::from).map_err(|_| bad());
        let [y, m, d] = three(date, '-').ok_or_else(bad)?;
        let [h, mi, s] = three(clock, ':').ok_or_else(bad)?;
        let (y, m, d, h, mi) = (number(y)?, number(m)?, number(d)?, number(h)?, number(mi)?);
        let s: f64 = s.parse().map_err(|_| bad())?;
        let days = if m == 12 { 31 } else { days_from_2000(y, m + 1, 1) - days_from_2000(y, m, 1) };
        let fits = (1957..=2150).contains(&y) && (1..=12).contains(&m) && (1..=days).contains(&d);
        if !fits || h > 23 || mi > 59 || !(0.0..60.0).contains(&s) {
            return Err(bad());
        }
        Ok(Epoch(Self::midnight(y, m, d).0 + (h * 3600 + mi * 60) * 1_000_000_000 + (s * 1e9 + 0.5) as i64))
    }

    /// The instant `t` later.
    pub fn plus(self, t: Nanos) -> Self {
        Epoch(self.0 + t.0 as i64)
    }

    /// `self - earlier` in minutes, the unit of SGP4.
    pub fn minutes_since(self, earlier: Epoch) -> f64 {
        (self.0 - earlier.0) as f64 / 60e9
    }

    /// Days since J2000.
    pub fn days_since_j2000(self) -> f64 {
        self.0 as f64 / NS_PER_DAY as f64
    }
}

fn three(text: &str, separator: char) -> Option<[&str; 3]> {
    let parts: Vec<&str> = text.split(separator).collect();
    <[&str; 3]>::try_from(parts).ok()
}

/// Days from 2000-01-01, counting the year from March so that the leap day comes last.
fn days_from_2000(year: i64, month: i64, day: i64) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    365 * y + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) + day_of_year - 730_425
}

/// The inverse of [`days_from_2000`]: year, month, day.
fn civil(days: i64) -> (i64, i64, i64) {
    let from_march_of_year_0 = days + 730_425;
    let era = from_march_of_year_0.div_euclid(146_097);
    let day_of_era = from_march_of_year_0.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

impl std::fmt::Display for Epoch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ns = self.0 + NS_PER_DAY / 2;
        let (year, month, day) = civil(ns.div_euclid(NS_PER_DAY));
        let s = ns.rem_euclid(NS_PER_DAY) / 1_000_000_000;
        write!(f, "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", s / 3600, s / 60 % 60, s % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calendar_agrees_with_itself() {
        for text in
            ["2000-01-01T12:00:00Z", "2000-02-29T00:00:00Z", "1999-12-31T23:59:59Z", "2100-03-01T01:02:03Z"]
        {
            assert_eq!(Epoch::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Epoch::parse("2000-01-01T12:00:00").unwrap(), Epoch(0));
        assert_eq!(Epoch::Y2000.to_string(), "2000-01-01T00:00:00Z");
        assert_eq!(Epoch::parse("2001-01-01 00:00:00").unwrap().0, (366 * 2 - 1) * NS_PER_DAY / 2);
    }

    #[test]
    fn tle_epochs_count_days_from_one() {
        assert_eq!(Epoch::from_tle(0, 100_000_000), Epoch::Y2000);
        assert_eq!(Epoch::from_tle(22, 25_746_316_094).to_string(), "2022-09-14T11:06:57Z");
        assert_eq!(Epoch::from_tle(58, 150_000_000).to_string(), "1958-01-01T12:00:00Z");
    }

    #[test]
    fn times_that_do_not_exist_are_refused() {
        for text in
            ["2022-02-29", "2022-13-01", "14.9.2022", "2022-09-14T25:00:00", "", "2022-09-14T00:00:NaN"]
        {
            assert!(Epoch::parse(text).is_err(), "{text}");
        }
    }
}
