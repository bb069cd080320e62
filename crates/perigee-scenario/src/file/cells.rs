// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Readers of the cells of `[demand]`, from the bundled table, CSV or GeoJSON, and of curves over the
//! day.

use crate::file::node_sets;
use perigee_orbit::sky::cities;
use perigee_timeline::GeoPoint;
use perigee_units::names;
use serde_json::Value as Json;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Most cells of a demand.
pub const MAX_CELLS: usize = 100_000;

/// Terminals at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Name, unique.
    pub name: String,
    /// Place.
    pub place: GeoPoint,
    /// Inhabitants.
    pub population: f64,
    /// Terminals.
    pub terminals: f64,
}

/// The cells of the bundled table.
pub(crate) fn cities() -> Vec<Cell> {
    let cell = |(name, c): (String, &cities::City)| Cell {
        name,
        place: c.place(),
        population: c.population as f64,
        terminals: 0.0,
    };
    node_sets::unique(cities::largest()).into_iter().map(cell).collect()
}

/// Cells of a file: CSV or GeoJSON.
///
/// # Errors
/// The first wrong row or feature, as text.
pub fn parse(text: &str) -> Result<Vec<Cell>, String> {
    if text.trim_start().starts_with('{') {
        geojson(text)
    } else {
        csv(text)
    }
}

/// Merges cells into squares; each has the name of its most populous cell, and their centre of
/// population.
pub(crate) fn merged(all: &[Cell], deg: f64) -> Vec<Cell> {
    let mut squares: BTreeMap<(i64, i64), Vec<&Cell>> = BTreeMap::new();
    for cell in all {
        let index = |x: f64| (x / deg).floor() as i64;
        squares.entry((index(cell.place.lat_deg), index(cell.place.lon_deg))).or_default().push(cell);
    }
    let people = |a: &Cell| a.population.max(a.terminals);
    let square = |of: Vec<&Cell>| {
        let weight: f64 = of.iter().map(|a| people(a)).sum();
        let mean = |x: &dyn Fn(&Cell) -> f64| {
            if weight > 0.0 {
                of.iter().map(|a| x(a) * people(a)).sum::<f64>() / weight
            } else {
                x(of[0])
            }
        };
        let largest = of.iter().fold(of[0], |best, a| if people(a) > people(best) { a } else { best });
        Cell {
            name: largest.name.clone(),
            place: GeoPoint {
                lat_deg: mean(&|a| a.place.lat_deg),
                lon_deg: mean(&|a| a.place.lon_deg),
                height_m: 0.0,
            },
            population: of.iter().map(|a| a.population).sum(),
            terminals: of.iter().map(|a| a.terminals).sum(),
        }
    };
    squares.into_values().map(square).collect()
}

/// Name of a cell without one.
fn by_place(lat: f64, lon: f64) -> String {
    let side = |x: f64, letters: [&str; 2]| format!("{:.3}{}", x.abs(), letters[usize::from(x < 0.0)]);
    format!("{} {}", side(lat, ["N", "S"]), side(lon, ["E", "W"]))
}

/// A column by one of its names.
fn column(head: &[Cow<str>], names: &[&str]) -> Option<usize> {
    head.iter().position(|c| names.iter().any(|n| c.eq_ignore_ascii_case(n)))
}

/// Cells of a line.
pub(super) type Row<'a> = Vec<Cow<'a, str>>;
/// Rows with the numbers of their lines.
pub(super) type Rows<'a> = Vec<(usize, Row<'a>)>;

/// Names of the columns and rows of a table, with quoted cells as in RFC 4180, each within its line.
pub(super) fn table(text: &str) -> Result<(Row<'_>, Rows<'_>), String> {
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#'));
    let Some((first, head)) = lines.next() else { return Err("the file is empty".into()) };
    let of_line = |n: usize, line| split(line).map_err(|why| format!("line {}: {why}: {line:?}", n + 1));
    let head = of_line(first, head)?;
    let mut rows = Vec::new();
    for (n, line) in lines {
        let row = of_line(n, line)?;
        if row.len() != head.len() {
            let (found, wanted) = (row.len(), head.len());
            return Err(format!("line {}: {found} cells, the header has {wanted}: {line:?}", n + 1));
        }
        rows.push((n + 1, row));
    }
    Ok((head, rows))
}

/// The cells of a line without the spaces around them. In a quoted cell commas are text, and two quotes
/// are one.
fn split(line: &str) -> Result<Row<'_>, String> {
    let mut cells = Vec::new();
    let mut rest = line;
    loop {
        let (cell, after) = match rest.trim_start().strip_prefix('"') {
            Some(quoted) => unquoted(quoted)?,
            None => match rest.split_once(',') {
                Some((cell, after)) => (cell.trim().into(), Some(after)),
                None => (rest.trim().into(), None),
            },
        };
        cells.push(cell);
        match after {
            Some(after) => rest = after,
            None => return Ok(cells),
        }
    }
}

/// A cell after its first quote, and what follows the comma after it.
fn unquoted(text: &str) -> Result<(Cow<'_, str>, Option<&str>), String> {
    let mut from = 0;
    loop {
        let end = from + text[from..].find('"').ok_or("a quote is not closed")?;
        if text[end + 1..].starts_with('"') {
            from = end + 2;
            continue;
        }
        let cell = match text[..end].contains('"') {
            true => text[..end].replace("\"\"", "\"").into(),
            false => text[..end].into(),
        };
        let after = text[end + 1..].trim_start();
        return match after.strip_prefix(',') {
            None if !after.is_empty() => Err("text follows the closing quote of a cell".into()),
            after => Ok((cell, after)),
        };
    }
}

pub(super) fn number(
    row: &[Cow<str>],
    column: usize,
    head: &[Cow<str>],
    line: usize,
    (low, high): (f64, f64),
) -> Result<f64, String> {
    match row[column].parse::<f64>() {
        Ok(x) if (low..=high).contains(&x) => Ok(x),
        _ => Err(format!(
            "line {line}: {} is {:?}; expected a number from {low} to {high}",
            head[column], row[column]
        )),
    }
}

/// Cells of a CSV file.
fn csv(text: &str) -> Result<Vec<Cell>, String> {
    let (head, rows) = table(text)?;
    let needed = |names: &[&str]| {
        let wrong = || format!("the header has no column {:?}; found {}", names[0], head.join(", "));
        column(&head, names).ok_or_else(wrong)
    };
    let (lat, lon) = (needed(&["lat", "latitude", "y"])?, needed(&["lon", "longitude", "x"])?);
    let population = column(&head, &["population", "z"]);
    let terminals = column(&head, &["terminals"]);
    if population.is_none() && terminals.is_none() {
        needed(&["population"])?;
    }
    let name = column(&head, &["name"]);
    let mut cells = Cells::default();
    for (line, row) in rows {
        let number = |c: usize, bounds| number(&row, c, &head, line, bounds);
        let people = |c: Option<usize>| c.map_or(Ok(0.0), |c| number(c, (0.0, 1e12)));
        let (lat, lon) = (number(lat, (-90.0, 90.0))?, number(lon, (-180.0, 360.0))?);
        let name = name.map(|c| row[c].to_string()).filter(|n| !n.is_empty());
        cells
            .add(name, lat, lon, people(population)?, people(terminals)?)
            .map_err(|why| format!("line {line}: {why}"))?;
    }
    cells.done()
}

/// Named places of a CSV file, with columns name, lat and lon.
///
/// # Errors
/// The first wrong row, as text.
pub fn places(text: &str) -> Result<Vec<(String, GeoPoint)>, String> {
    let (head, rows) = table(text)?;
    let needed = |name: &str| {
        column(&head, &[name])
            .ok_or_else(|| format!("the header has no column {name:?}; found {}", head.join(", ")))
    };
    let (name, lat, lon) = (needed("name")?, needed("lat")?, needed("lon")?);
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for (line, row) in rows {
        names::check(&row[name]).map_err(|why| format!("line {line}: the name {why}"))?;
        if row[name].is_empty() {
            return Err(format!("line {line}: no name"));
        }
        if !seen.insert(row[name].to_string()) {
            return Err(format!("line {line}: {:?} is listed twice", row[name]));
        }
        let lat_deg = number(&row, lat, &head, line, (-90.0, 90.0))?;
        let lon_deg = number(&row, lon, &head, line, (-180.0, 360.0))?;
        found.push((row[name].to_string(), GeoPoint { lat_deg, lon_deg, height_m: 0.0 }));
    }
    match found.is_empty() {
        true => Err("no row after the header".into()),
        false => Ok(found),
    }
}

/// Cells with unique names; those without people are left out.
#[derive(Default)]
struct Cells {
    all: Vec<Cell>,
    names: BTreeMap<String, usize>,
}

impl Cells {
    fn add(
        &mut self,
        name: Option<String>,
        lat: f64,
        lon: f64,
        population: f64,
        terminals: f64,
    ) -> Result<(), String> {
        if population <= 0.0 && terminals <= 0.0 {
            return Ok(());
        }
        let lon = if lon > 180.0 { lon - 360.0 } else { lon };
        let mut name = name.unwrap_or_else(|| by_place(lat, lon));
        names::check(&name).map_err(|why| format!("the name {why}"))?;
        let seen = self.names.entry(name.clone()).or_default();
        *seen += 1;
        let seen = *seen;
        if seen > 1 {
            let free = |n: &usize| !self.names.contains_key(&format!("{name} {n}"));
            let number = (seen..).find(free).expect("fewer names than numbers");
            name = format!("{name} {number}");
            self.names.insert(name.clone(), 1);
        }
        let place = GeoPoint { lat_deg: lat, lon_deg: lon, height_m: 0.0 };
        self.all.push(Cell { name, place, population, terminals });
        Ok(())
    }

    fn done(self) -> Result<Vec<Cell>, String> {
        match self.all.is_empty() {
            true => Err("no row has a population or terminals above zero".into()),
            false => Ok(self.all),
        }
    }
}

/// Cells of a GeoJSON file: features with points, or polygons, of which the mean corner of the
/// outer ring counts, and properties population or terminals, and name.
fn geojson(text: &str) -> Result<Vec<Cell>, String> {
    let json: Json = serde_json::from_str(text).map_err(|e| format!("invalid JSON: {e}"))?;
    let features = json["features"].as_array().ok_or("no list \"features\"; expected a FeatureCollection")?;
    let mut cells = Cells::default();
    for (i, feature) in features.iter().enumerate() {
        let wrong = |why: String| format!("feature {}: {why}", i + 1);
        let geometry = &feature["geometry"];
        let (lon, lat) = centre(geometry).ok_or_else(|| {
            let kind = geometry["type"].as_str().unwrap_or("none");
            wrong(format!("geometry {kind:?}; expected a Point, Polygon or MultiPolygon with coordinates"))
        })?;
        if !(-90.0..=90.0).contains(&lat) || !(-180.0..=360.0).contains(&lon) {
            return Err(wrong(format!(
                "{lon}, {lat} is not a valid position: longitude from -180 to 360, then latitude from -90 to 90"
            )));
        }
        let of = &feature["properties"];
        let people = |key: &str| match &of[key] {
            Json::Null => Ok(0.0),
            Json::Number(n) if n.as_f64().is_some_and(|x| (0.0..=1e12).contains(&x)) => {
                Ok(n.as_f64().unwrap_or(0.0))
            }
            other => Err(wrong(format!("{key} is {other}; expected a number from 0 to 1e12"))),
        };
        let (population, terminals) = (people("population")?, people("terminals")?);
        if of["population"].is_null() && of["terminals"].is_null() {
            return Err(wrong("has neither property population nor terminals".into()));
        }
        let name = of["name"].as_str().map(String::from);
        cells.add(name, lat, lon, population, terminals).map_err(wrong)?;
    }
    cells.done()
}

fn centre(geometry: &Json) -> Option<(f64, f64)> {
    let coordinates = &geometry["coordinates"];
    let pair = |p: &Json| Some((p[0].as_f64()?, p[1].as_f64()?));
    let ring = |ring: &Json| {
        let corners: Option<Vec<_>> = ring.as_array()?.iter().map(pair).collect();
        let mut corners = corners?;
        // The last corner of a ring is the first.
        if corners.len() > 1 && corners.first() == corners.last() {
            corners.pop();
        }
        let n = corners.len() as f64;
        let sum = corners.iter().fold((0.0, 0.0), |s, c| (s.0 + c.0, s.1 + c.1));
        (n > 0.0).then_some((sum.0 / n, sum.1 / n))
    };
    match geometry["type"].as_str()? {
        "Point" => pair(coordinates),
        "Polygon" => ring(&coordinates[0]),
        "MultiPolygon" => ring(&coordinates[0][0]),
        _ => None,
    }
}

/// A curve over the day from a CSV file with columns hour and share.
///
/// # Errors
/// Rows that are no hours in order, shares that are none, as text.
pub fn curve(text: &str) -> Result<Vec<(f64, f64)>, String> {
    let (head, rows) = table(text)?;
    let needed =
        |name: &str| column(&head, &[name]).ok_or_else(|| format!("the header has no column {name:?}"));
    let (hour, share) = (needed("hour")?, needed("share")?);
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (line, row) in rows {
        let h = number(&row, hour, &head, line, (0.0, 24.0))?;
        if points.last().is_some_and(|last| last.0 >= h) {
            return Err(format!("line {line}: hour {h} is not after the preceding one"));
        }
        points.push((h, number(&row, share, &head, line, (0.0, 1.0))?));
    }
    match points.is_empty() {
        true => Err("the file has no rows".into()),
        false => Ok(points),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let text = "name,lat,lon,population\nA 2,1,1,1\nA,2,2,1\nA,3,3,1\nA,4,4,1\nA 3,5,5,1\n";
        let names: Vec<String> = csv(text).unwrap().into_iter().map(|c| c.name).collect();
        assert_eq!(names, ["A 2", "A", "A 3", "A 4", "A 3 2"]);
    }

    #[test]
    fn quoted_cells_have_commas_and_quotes() {
        let text = "\u{feff}name,\"lat\",lon,population\n\"Washington, D.C.\",1,2,3\n \"the \"\"Rock\"\"\" ,3,4,\"5\"\n\"\",5,6,7\n";
        let cells = csv(text).unwrap();
        let names: Vec<&str> = cells.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["Washington, D.C.", "the \"Rock\"", "5.000N 6.000E"]);
        assert_eq!(cells[1].population, 5.0);
        for (row, says) in [
            ("\"open,1,2,3", "line 2: a quote is not closed: \"\\\"open,1,2,3\""),
            ("\"a\"b,1,2,3", "line 2: text follows the closing quote of a cell"),
            ("a,1,2,3,", "line 2: 5 cells, the header has 4"),
        ] {
            let e = csv(&format!("name,lat,lon,population\n{row}\n")).unwrap_err();
            assert!(e.starts_with(says), "{e}");
        }
    }

    #[test]
    fn rows_are_cells_and_wrong_ones_are_named() {
        let cells = csv("name,lat,lon,population\nhere,10,20,5\n,-10,200,3\nempty,1,1,0\n").unwrap();
        assert_eq!(cells.len(), 2);
        assert_eq!((cells[1].name.as_str(), cells[1].place.lon_deg), ("10.000S 160.000W", -160.0));
        let raster = csv("X,Y,Z\n20,10,5\n20,10,7\n").unwrap();
        assert_eq!((raster[0].place.lat_deg, raster[1].name.as_str()), (10.0, "10.000N 20.000E 2"));
        for (text, says) in [
            ("", "empty"),
            ("lat,population\n1,2\n", "no column \"lon\"; found lat, population"),
            ("lat,lon\n1,2\n", "no column \"population\""),
            (
                "lat,lon,population\n1,2,3\n91,2,3\n",
                "line 3: lat is \"91\"; expected a number from -90 to 90",
            ),
            ("lat,lon,population\n1,2,many\n", "line 2: population is \"many\"; expected a number from 0"),
            ("lat,lon,population\n1,2\n", "line 2: 2 cells, the header has 3"),
            ("lat,lon,population\n1,2,0\n", "no row has a population"),
        ] {
            let e = csv(text).unwrap_err();
            assert!(e.contains(says), "{e}");
        }
    }

    #[test]
    fn features_are_cells() {
        let text = r#"{"type": "FeatureCollection", "features": [
            {"geometry": {"type": "Point", "coordinates": [20, 10]}, "properties": {"name": "a", "population": 3}},
            {"geometry": {"type": "Polygon", "coordinates": [[[0, 0], [2, 0], [2, 4], [0, 4], [0, 0]]]}, "properties": {"terminals": 7}}]}"#;
        let cells = geojson(text).unwrap();
        assert_eq!((cells[1].place.lat_deg, cells[1].place.lon_deg, cells[1].terminals), (2.0, 1.0, 7.0));
        for (from, to, says) in [
            ("[20, 10]", "[20, 100]", "feature 1: 20, 100 is not a valid position"),
            ("\"population\": 3", "\"population\": \"x\"", "feature 1: population is \"x\""),
            ("\"terminals\": 7", "\"people\": 7", "feature 2: has neither property population"),
            ("\"Polygon\"", "\"LineString\"", "feature 2: geometry \"LineString\""),
        ] {
            let e = geojson(&text.replace(from, to)).unwrap_err();
            assert!(e.contains(says), "{e}");
        }
    }

    #[test]
    fn squares_have_the_people_of_their_cells_at_their_centre() {
        let cells = csv("name,lat,lon,population\na,10.5,20.5,1\nb,10.9,20.9,3\nc,12,20,5\n").unwrap();
        let squares = merged(&cells, 1.0);
        assert_eq!(squares.len(), 2);
        assert_eq!((squares[0].name.as_str(), squares[0].population), ("b", 4.0));
        assert!((squares[0].place.lat_deg - 10.8).abs() < 1e-12);
    }

    #[test]
    fn curves_are_in_order() {
        assert_eq!(curve("hour,share\n0,0.5\n12,1\n").unwrap(), [(0.0, 0.5), (12.0, 1.0)]);
        assert!(curve("hour,share\n12,1\n0,0.5\n").unwrap_err().contains("line 3: hour 0 is not after"));
        assert!(curve("hour,share\n12,2\n").unwrap_err().contains("line 2: share is \"2\""));
    }
}
