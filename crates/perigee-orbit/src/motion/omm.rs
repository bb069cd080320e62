// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Orbit mean-elements messages (OMM, CCSDS 502.0-B) as published by catalogues: a JSON list of
//! objects, or CSV with a header line. Both have the same keys; angles are in degrees, the mean
//! motion in revolutions per day, the drag term per Earth radius. Catalogue numbers may have nine
//! digits, which is why this format replaces the TLE.
//!
//! As with TLEs, a file with any invalid set is rejected.

use crate::frames::RAD;
use crate::motion::tle::{self, at, Origin, Tle, TleError};
use crate::time::Epoch;
use perigee_timeline::store::why_not_json;
use perigee_units::names;
use serde_json::Value;
use std::collections::BTreeMap;

/// Reads element sets in any of the three formats.
///
/// # Errors
/// The first set that is malformed.
pub fn read_elements(text: &str) -> Result<Vec<Tle>, TleError> {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let header = start.lines().next().unwrap_or("");
    if start.starts_with(['[', '{']) {
        parse_json(start)
    } else if header.split(',').any(|name| OMM_NAMES.contains(&name.trim().trim_matches('"'))) {
        parse_csv(start)
    } else {
        tle::parse(text)
    }
}

/// Column names that identify a table of OMM, even an incomplete one.
const OMM_NAMES: [&str; 4] = ["OBJECT_NAME", "EPOCH", "MEAN_MOTION", "NORAD_CAT_ID"];

/// Reads a JSON list.
///
/// # Errors
/// The first set that is malformed.
pub fn parse_json(text: &str) -> Result<Vec<Tle>, TleError> {
    let parsed: Value = serde_json::from_str(text).map_err(|e| at(e.line(), why_not_json(&e)))?;
    let list = match parsed {
        Value::Array(list) => list,
        one => vec![one],
    };
    let text_of = |v: &Value| match v {
        Value::String(s) => Some(s.clone()),
        Value::Number(n) => Some(n.to_string()),
        _ => None,
    };
    let set =
        |(i, entry): (usize, &Value)| read_set(Origin::Entry(i + 1), |key| entry.get(key).and_then(text_of));
    finish(list.iter().enumerate().map(set))
}

/// Reads CSV.
///
/// # Errors
/// The first line that is malformed.
pub fn parse_csv(text: &str) -> Result<Vec<Tle>, TleError> {
    let mut lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty());
    let (_, header) = lines.next().ok_or(TleError::Empty)?;
    let names = cells(header);
    let set = |(n, line): (usize, &str)| {
        let row = cells(line);
        if row.len() != names.len() {
            return Err(at(n + 1, format!("{} cells under {} names", row.len(), names.len())));
        }
        read_set(Origin::Line(n + 1), |key| names.iter().position(|name| name == key).map(|i| row[i].clone()))
    };
    finish(lines.map(set))
}

/// Cells of a line; names of satellites may have commas, in quotes.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for c in line.trim().chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().expect("never empty").push(c),
        }
    }
    cells.iter().map(|c| c.trim().to_string()).collect()
}

fn finish(sets: impl Iterator<Item = Result<Tle, TleError>>) -> Result<Vec<Tle>, TleError> {
    let sets: Vec<Tle> = sets.collect::<Result<_, _>>()?;
    let mut seen = BTreeMap::new();
    for set in &sets {
        if let Some(first) = seen.insert(set.catalogue, set.origin) {
            let n = set.catalogue;
            return Err(
                set.wrong(format!("catalogue number {n} comes twice, first in {}", tle::listed(&[first])))
            );
        }
    }
    if sets.is_empty() {
        return Err(TleError::Empty);
    }
    Ok(sets)
}

fn read_set(origin: Origin, get: impl Fn(&str) -> Option<String>) -> Result<Tle, TleError> {
    let at = |reason: String| origin.error(reason);
    let text = |key: &str| get(key).ok_or_else(|| at(format!("{key} is missing")));
    let number = |key: &str| -> Result<f64, TleError> {
        let text = text(key)?;
        let value = text.parse().ok().filter(|v: &f64| v.is_finite());
        value.ok_or_else(|| at(format!("{key} is {text:?}, not a number")))
    };
    let within = |key: &str, low: f64, high: f64| {
        let v = number(key)?;
        if v < low || v > high {
            return Err(at(format!("{key} is {v}: {low} to {high} are possible")));
        }
        Ok(v)
    };
    let id = text("NORAD_CAT_ID")?;
    let catalogue = id.parse().map_err(|_| at(format!("NORAD_CAT_ID is {id:?}, not a number")))?;
    let revs_per_day = within("MEAN_MOTION", 0.0, 18.0)?;
    if revs_per_day == 0.0 {
        return Err(at("a mean motion of zero is not an orbit".into()));
    }
    let name = get("OBJECT_NAME").filter(|s| !s.is_empty()).unwrap_or_else(|| id.clone());
    names::check(&name).map_err(|why| at(format!("OBJECT_NAME is {name:?}: it {why}")))?;
    Ok(Tle {
        name,
        origin,
        catalogue,
        epoch: Epoch::parse(&text("EPOCH")?).map_err(|e| at(format!("EPOCH: {e}")))?,
        bstar: number("BSTAR")?,
        inclination_rad: within("INCLINATION", 0.0, 180.0)? * RAD,
        raan_rad: number("RA_OF_ASC_NODE")? * RAD,
        eccentricity: within("ECCENTRICITY", 0.0, 0.999_999_9)?,
        perigee_rad: number("ARG_OF_PERICENTER")? * RAD,
        anomaly_rad: number("MEAN_ANOMALY")? * RAD,
        revs_per_day,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"[
{"OBJECT_NAME": "STARLINK-24", "OBJECT_ID": "2019-029D", "EPOCH": "2022-09-14T11:06:57.105216", "MEAN_MOTION":
 15.51686006, "ECCENTRICITY": 0.0007663, "INCLINATION": 53.0028, "RA_OF_ASC_NODE": 47.8601, "ARG_OF_PERICENTER":
 290.4472, "MEAN_ANOMALY": 69.5712, "NORAD_CAT_ID": 44238, "BSTAR": "0.0035067"}]"#;
    const CSV: &str = "\
OBJECT_NAME,OBJECT_ID,EPOCH,MEAN_MOTION,ECCENTRICITY,INCLINATION,RA_OF_ASC_NODE,ARG_OF_PERICENTER,MEAN_ANOMALY,\
NORAD_CAT_ID,BSTAR
STARLINK-24,2019-029D,2022-09-14T11:06:57.105216,15.51686006,.0007663,53.0028,47.8601,290.4472,69.5712,44238,.0035067
\"DEB, OLD\",2019-029T,2022-09-14T11:06:57.105216,15.51686006,.0007663,53.0028,47.8601,290.4472,69.5712,100044252,0
";

    fn error(text: &str) -> String {
        read_elements(text).unwrap_err().to_string()
    }

    #[test]
    fn the_three_forms_of_one_set_agree() {
        let from_tle = &read_elements(tle::tests::TWO).unwrap()[0];
        for text in [JSON, CSV] {
            let set = &read_elements(text).unwrap()[0];
            assert!((set.epoch.0 - from_tle.epoch.0).abs() < 1_000, "{} {}", set.epoch.0, from_tle.epoch.0);
            assert_eq!((set.name.as_str(), set.catalogue), (from_tle.name.as_str(), from_tle.catalogue));
            let numbers = |t: &Tle| {
                let angles = [t.inclination_rad, t.raan_rad, t.perigee_rad, t.anomaly_rad];
                [angles[0], angles[1], angles[2], angles[3], t.eccentricity, t.revs_per_day, t.bstar]
            };
            let pairs = numbers(set).into_iter().zip(numbers(from_tle));
            assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-12), "{set:?} {from_tle:?}");
        }
        let second = &read_elements(CSV).unwrap()[1];
        assert_eq!((second.name.as_str(), second.catalogue), ("DEB, OLD", 100_044_252));
    }

    #[test]
    fn errors_name_the_set_and_the_reason() {
        assert_eq!(error("[]"), "the file holds no element sets");
        assert!(error("[{]").starts_with("line 1: it is not JSON"));
        assert_eq!(error(&JSON.replace("\"BSTAR\"", "\"B\"")), "entry 1: BSTAR is missing");
        assert_eq!(
            error(&CSV.replace("53.0028,47.8601,290.4472,69.5712,100", "190,47.8601,290.4472,69.5712,100")),
            "line 3: INCLINATION is 190: 0 to 180 are possible"
        );
        assert_eq!(error(&CSV.replace(",100044252,0", ",100044252")), "line 3: 10 cells under 11 names");
        assert_eq!(
            error(&CSV.replace("100044252", "44238")),
            "line 3: catalogue number 44238 comes twice, first in line 2"
        );
    }

    #[test]
    fn no_damage_makes_it_panic() {
        for text in [JSON, CSV].into_iter().flat_map(crate::testdata::damaged) {
            let _ = read_elements(&text);
        }
    }
}
