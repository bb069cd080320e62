// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Validity of element sets during a run: age of the elements and decay of the satellites.

use crate::frames::norm;
use crate::motion::fleet::Sgp4;
use crate::motion::shell::EARTH_RADIUS_M;
use crate::motion::tle::mean_altitude_km;
use crate::motion::tle::{listed, Origin, Tle};
use crate::time::Epoch;
use perigee_units::Nanos;
use rayon::prelude::*;

/// Age beyond which element sets cause a warning; they are accurate for a few days.
const STALE_DAYS: f64 = 14.0;
/// Height below which a satellite has decayed.
const DECAYED_M: f64 = 100e3;
/// Height below which all [`INSTANTS`] of the run are checked, instead of three.
const LOW_M: f64 = 300e3;
/// With old elements SGP4 may place a satellite far outside its orbit instead of failing. A satellite
/// counts as decayed beyond this multiple of the radius of its apogee, and beyond the second value.
const LOST_APOGEES: f64 = 2.0;
const FARTHEST_M: f64 = 1e9;
/// Number of intervals of a run between checks.
const INSTANTS: u64 = 64;
/// Time after the end of a run for which positions are also needed, for interpolation.
const BEYOND: Nanos = Nanos::from_secs(20);

/// Result of the check of a file's element sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checked {
    /// Indices of the sets of satellites in orbit during the entire run, and of those below the
    /// minimum altitude.
    pub used: Vec<usize>,
    /// Human-readable warnings: old sets, decayed satellites.
    pub warnings: Vec<String>,
}

/// Whether an instant is more than 14 days from the epoch of a set.
pub fn is_stale(set: &Tle, at: Epoch) -> bool {
    age_days(set, at) > STALE_DAYS
}

fn age_days(set: &Tle, at: Epoch) -> f64 {
    at.minutes_since(set.epoch).abs() / 1440.0
}

/// Excludes satellites that decay before the end of the run, and warns of sets with epochs far from
/// its start. Sets for which `low` is true are neither checked nor mentioned: the caller excludes
/// them by their altitude.
pub fn check(
    file: &str,
    (sets, motion): (&[Tle], &[Sgp4]),
    low: impl Fn(&Tle) -> bool + Sync,
    start: Epoch,
    duration: Nanos,
) -> Checked {
    let in_orbit = |i: usize| low(&sets[i]) || stays_up(&sets[i], &motion[i], start, duration + BEYOND);
    let in_orbit: Vec<bool> = (0..sets.len()).into_par_iter().map(in_orbit).collect();
    let (used, gone): (Vec<usize>, Vec<usize>) = (0..sets.len()).partition(|&i| in_orbit[i]);
    let high: Vec<usize> = used.iter().copied().filter(|&i| !low(&sets[i])).collect();
    let mut warnings = Vec::new();
    warnings.extend(decayed(file, sets, &gone, start.plus(duration)));
    warnings.extend(stale(file, sets, &high, start));
    Checked { used, warnings }
}

/// Whether a satellite is above the atmosphere and near its orbit throughout a run.
fn stays_up(set: &Tle, s: &Sgp4, start: Epoch, length: Nanos) -> bool {
    let apogee_m = (mean_altitude_km(set) * 1e3 + EARTH_RADIUS_M) * (1.0 + set.eccentricity);
    let farthest_m = (LOST_APOGEES * apogee_m).min(FARTHEST_M);
    let height = |k: u64| {
        let radius_m = norm(s.state(start.plus(length / INSTANTS * k)).ok()?.p);
        (radius_m < farthest_m).then_some(radius_m - EARTH_RADIUS_M)
    };
    let up = |k: u64| height(k).is_some_and(|h| h > DECAYED_M);
    let high = |k: u64| height(k).is_some_and(|h| h > LOW_M);
    [0, INSTANTS / 2, INSTANTS].into_iter().all(high) || (0..=INSTANTS).all(up)
}

fn decayed(file: &str, sets: &[Tle], gone: &[usize], end: Epoch) -> Option<String> {
    let first = &sets[*gone.first()?];
    let (places, n) = (origins(sets, gone), gone.len());
    let (have, are) = if n == 1 { ("satellite has", "it is") } else { ("satellites have", "they are") };
    Some(format!(
        "{file}: {}: {n} {have} decayed by {end} according to SGP4 (first: {}, elements of {}): {are} excluded",
        listed(&places),
        first.name,
        first.epoch
    ))
}

fn stale(file: &str, sets: &[Tle], used: &[usize], start: Epoch) -> Option<String> {
    let old: Vec<usize> = used.iter().copied().filter(|&i| is_stale(&sets[i], start)).collect();
    let worst =
        old.iter().map(|&i| &sets[i]).max_by(|a, b| age_days(a, start).total_cmp(&age_days(b, start)))?;
    Some(format!(
        "{file}: {}: {} of {} element sets are more than {STALE_DAYS} days from the start of the run, {start} \
         (the farthest: {} of {}, {:.0} days); their positions are unreliable: use newer elements, or set start",
        listed(&origins(sets, &old)),
        old.len(),
        used.len(),
        worst.name,
        worst.epoch,
        age_days(worst, start)
    ))
}

/// Warning if the run starts at the newest epoch and most other epochs are so far from it that it may
/// be an error.
pub fn outlier(file: &str, sets: &[Tle], newest: &Tle, start: Epoch) -> Option<String> {
    let near = sets.iter().filter(|s| !is_stale(s, newest.epoch)).count();
    (newest.epoch == start && 2 * near < sets.len()).then(|| {
        format!(
            "{file}: {}: the run starts at the newest epoch, {start} ({}), and only {near} of {} element sets are within \
             {STALE_DAYS} days of it: if that epoch is wrong, correct it or set start",
            listed(&[newest.origin]),
            newest.name,
            sets.len()
        )
    })
}

fn origins(sets: &[Tle], which: &[usize]) -> Vec<Origin> {
    which.iter().map(|&i| sets[i].origin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::fleet::Gravity;
    use crate::motion::tle::{parse, tests::TWO};

    fn checked(text: &str, start: &str) -> Checked {
        let sets = parse(text).unwrap();
        let motion: Vec<Sgp4> = sets.iter().map(|t| Sgp4::new(t, Gravity::Wgs72).unwrap()).collect();
        check(
            "x.tle",
            (&sets, &motion),
            |t| t.catalogue == 1,
            Epoch::parse(start).unwrap(),
            Nanos::from_secs(60),
        )
    }

    #[test]
    fn fresh_elements_cause_no_warning() {
        assert_eq!(checked(TWO, "2022-09-15T00:00:00Z"), Checked { used: vec![0, 1], warnings: Vec::new() });
    }

    #[test]
    fn stale_elements_are_named_by_line() {
        let c = checked(TWO, "2022-10-14T00:00:00Z");
        assert_eq!(c.used, [0, 1]);
        let [w] = &c.warnings[..] else { panic!("{c:?}") };
        assert!(w.starts_with("x.tle: lines 2, 5: 2 of 2 element sets are more than 14 days"), "{w}");
        assert!(w.contains("STARLINK-24 of 2022-09-14"), "{w}");
    }

    #[test]
    fn a_satellite_that_sgp4_places_outside_its_orbit_is_excluded() {
        // SGP4 with drag, propagated backwards for years, raises an orbit without bound.
        let dragging = TWO.replace("31977-2 0  9994", "31977-0 0  9992");
        for start in ["2019-09-14T00:00:00Z", "2012-01-01T00:00:00Z", "2032-01-01T00:00:00Z"] {
            let c = checked(&dragging, start);
            let sets = parse(&dragging).unwrap();
            for &i in c.used.iter().filter(|&&i| sets[i].catalogue != 1) {
                let s = Sgp4::new(&sets[i], Gravity::Wgs72).unwrap();
                let state = s.state(Epoch::parse(start).unwrap()).unwrap();
                assert!(norm(state.p) < 15e6, "{start}: {:?}", state.p);
            }
        }
    }

    #[test]
    fn a_decayed_satellite_is_excluded_and_named_by_line() {
        // The drag of the second is a hundred times that of the first.
        let dragging = TWO.replace("31977-2 0  9994", "31977-0 0  9992");
        let c = checked(&dragging, "2022-12-01T00:00:00Z");
        assert_eq!(c.used, [0]);
        assert!(c.warnings[0].starts_with("x.tle: line 5: 1 satellite has decayed by 2022-12-01"), "{c:?}");
        assert!(c.warnings[0].contains("STARLINK-71"), "{c:?}");
    }
}
