// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[[nodes]]`: many nodes at once, from a bundled table or a user-supplied file.

use crate::file::error::Problem;
use crate::file::node::{NodeSpec, Position, STATION};
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use perigee_orbit::sky::cities;
use perigee_units::{files, names};
use std::path::{Path, PathBuf};

parameters! {
    /// `[[nodes]]`.
    NodeSet = "nodes", "A set of nodes, each with its own name.";
    set: Option<String> = optional(Notation::Word(&["cities", "gateways", "study-cities"]), "bundled set: cities = the largest first, weighted by population; gateways = the 95 of the OrbCC study; study-cities = the five cities of that study");
    file: Option<PathBuf> = optional(Notation::File, "CSV file with columns name, lat, lon and optionally height_m, mask_deg, dishes, weight, weather (a file as for [node.NAME] weather, relative to the CSV file)");
    count: Option<usize> = optional(Notation::Int(1, 100_000), "number of nodes, from the top of the list; default: all");
    kind: String = key(Notation::Word(&["terminal", "station"]), "station", "kind of the nodes, as in [node.NAME]");
    mask_deg as mask: Option<f64> = optional(Notation::Angle(0.0, 90.0), "minimum elevation; default: that of the constellation");
    dishes: Option<u32> = optional(Notation::Int(1, 10_000), "maximum number of satellites in use at once, the nearest ones; default: all in view"), only STATION;
}

/// The nodes of an entry and the file that they came from.
///
/// # Errors
/// Errors of the entry or its file.
pub fn read(nodes: &NodeSet) -> Result<(Vec<NodeSpec>, Option<PathBuf>), Problem> {
    let c = &nodes.written;
    let node = |name: &str, lat: f64, lon: f64, weight: f64| NodeSpec {
        name: name.into(),
        kind: nodes.kind.clone(),
        position: Position::Degrees(lat, lon),
        height_m: 0.0,
        mask_deg: nodes.mask_deg,
        dishes: nodes.dishes,
        weight,
        weather: None,
        place: c.place.clone(),
    };
    let (mut all, file): (Vec<NodeSpec>, _) = match (nodes.set.as_deref(), &nodes.file) {
        (Some("cities"), None) => {
            let city =
                |(name, c): (String, &cities::City)| node(&name, c.lat_deg, c.lon_deg, c.population as f64);
            (unique(cities::largest()).into_iter().map(city).collect(), None)
        }
        (Some(set), None) => {
            let stations = cities::study_stations().map(|(name, p)| node(name, p.lat_deg, p.lon_deg, 1.0));
            let (cities, gateways): (Vec<_>, Vec<_>) =
                stations.enumerate().partition(|(i, _)| *i < STUDY_CITIES);
            let chosen = if set == "gateways" { gateways } else { cities };
            (chosen.into_iter().map(|(_, n)| n).collect(), None)
        }
        (None, Some(file)) => {
            let text = files::read(file).map_err(|why| c.problem("file", why))?;
            let rows = table(&text, &node).map(|all| beside(all, file));
            (rows.map_err(|why| c.problem("file", format!("{}: {why}", file.display())))?, Some(file.clone()))
        }
        _ => return Err(c.problem("set", "give either a set or a file")),
    };
    if let Some(count) = nodes.count {
        if count > all.len() {
            let why = format!("{count} nodes of a list of {}", all.len());
            return Err(c.problem("count", why).allowed(format!("at most {}", all.len())));
        }
        all.truncate(count);
    }
    Ok((all, file))
}

/// Resolves file names in rows relative to the folder of the table.
fn beside(all: Vec<NodeSpec>, table: &Path) -> Vec<NodeSpec> {
    let folder = table.parent().unwrap_or(Path::new(""));
    all.into_iter().map(|n| NodeSpec { weather: n.weather.map(|w| folder.join(w)), ..n }).collect()
}

/// The study's list starts with its cities.
const STUDY_CITIES: usize = 5;

/// Unique names of cities: of several with one name the largest keeps it, others get their country
/// appended ("London, CA"), and those of the same country a number ("Suzhou 2").
pub(crate) fn unique(
    cities: impl Iterator<Item = &'static cities::City>,
) -> Vec<(String, &'static cities::City)> {
    let mut seen = std::collections::BTreeMap::<&str, Vec<&str>>::new();
    let mut named = Vec::new();
    for c in cities {
        let before = seen.entry(c.name).or_default();
        named.push(match before.iter().filter(|country| **country == c.country).count() {
            0 if before.is_empty() => (c.name.to_string(), c),
            0 => (format!("{}, {}", c.name, c.country), c),
            n => (format!("{} {}", c.name, n + 1), c),
        });
        before.push(c.country);
    }
    named
}

/// Whether an entry is a set of gateways or of stations of a study.
pub fn are_stations(nodes: &NodeSet) -> bool {
    nodes.set.as_ref().is_some_and(|set| set != "cities")
}

/// Renames gateways and stations with the name of a city that is a node already ("Los Angeles
/// station").
pub fn tell_apart(set: &NodeSet, nodes: &mut [NodeSpec], taken: &std::collections::BTreeSet<&str>) {
    if are_stations(set) {
        for n in nodes.iter_mut().filter(|n| taken.contains(n.name.as_str())) {
            n.name.push_str(" station");
        }
    }
}

/// Rows of a file; its first line names the columns.
fn table(text: &str, node: &dyn Fn(&str, f64, f64, f64) -> NodeSpec) -> Result<Vec<NodeSpec>, String> {
    let mut lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#'));
    let Some((_, head)) = lines.next() else { return Err("the file is empty".into()) };
    let columns: Vec<&str> = head.split(',').map(str::trim).collect();
    let place = |name: &str| columns.iter().position(|c| *c == name);
    let needed = |name: &str| place(name).ok_or_else(|| format!("the header has no column {name:?}"));
    let (name, lat, lon) = (needed("name")?, needed("lat")?, needed("lon")?);
    let mut nodes = Vec::new();
    for (n, line) in lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let wrong = |why: &str| format!("line {}: {why}: {line:?}", n + 1);
        if cells.len() != columns.len() {
            return Err(wrong(&format!("{} cells, the header has {}", cells.len(), columns.len())));
        }
        let number = |column: usize, low: f64, high: f64| match cells[column].parse::<f64>() {
            Ok(x) if (low..=high).contains(&x) => Ok(x),
            _ => Err(wrong(&format!("{} must be a number from {low} to {high}", columns[column]))),
        };
        let optional = |column: &str, low: f64, high: f64| match place(column) {
            Some(i) if !cells[i].is_empty() => number(i, low, high).map(Some),
            _ => Ok(None),
        };
        if cells[name].is_empty() {
            return Err(wrong("no name"));
        }
        names::check(cells[name]).map_err(|why| wrong(&format!("the name {why}")))?;
        let weight = optional("weight", 0.0, 1e12)?.or(optional("population", 0.0, 1e12)?).unwrap_or(1.0);
        let new = node(cells[name], number(lat, -90.0, 90.0)?, number(lon, -180.0, 360.0)?, weight);
        nodes.push(NodeSpec {
            height_m: optional("height_m", -500.0, 10_000.0)?.unwrap_or(new.height_m),
            mask_deg: optional("mask_deg", 0.0, 89.999)?.or(new.mask_deg),
            weather: place("weather").map(|i| cells[i]).filter(|w| !w.is_empty()).map(PathBuf::from),
            dishes: optional("dishes", 1.0, 10_000.0)?.map(|d| d as u32).or(new.dishes),
            ..new
        });
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use std::path::Path;

    fn scenario(nodes: &str, folder: &Path) -> Result<Scenario, String> {
        let text = format!(
            "[run]\nduration = \"1 s\"\n[source.constellation]\npreset = \"starlink-shell1\"\n{nodes}\n\
             [[flow]]\npattern = \"permutation\"\ncc = \"cubic\"\n"
        );
        Scenario::parse(&text, "test", folder, &[]).map_err(|e| e.to_string())
    }

    #[test]
    fn the_largest_cities_and_the_gateways_are_nodes() {
        let text = "[[nodes]]\nset = \"cities\"\ncount = 100\n[[nodes]]\nset = \"gateways\"\ndishes = 8\nmask = \"20 deg\"";
        let s = scenario(text, Path::new("")).unwrap();
        assert_eq!(s.nodes.len(), 195);
        assert!(s.nodes[0].weight > 1e7 && s.nodes[0].dishes.is_none() && s.nodes[0].kind == "station");
        assert_eq!(s.nodes.iter().filter(|n| n.name.starts_with("Los Angeles")).count(), 2);
        assert!(s.nodes.iter().any(|n| n.name == "Los Angeles station"));
        assert_eq!((s.nodes[194].dishes, s.nodes[194].mask_deg), (Some(8), Some(20.0)));
        let (cities, gateways) = text.split_at(text.rfind("[[nodes]]").unwrap());
        let turned = scenario(&format!("{gateways}\n{cities}"), Path::new("")).unwrap();
        let names = |s: &Scenario| s.nodes.iter().map(|n| n.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&turned), names(&s));
        let all = scenario("[[nodes]]\nset = \"cities\"", Path::new("")).unwrap();
        assert_eq!(all.nodes.len(), 1500);
        let named = |name: &str| all.nodes.iter().filter(|n| n.name == name).count();
        assert_eq!(
            ["London", "London, CA", "Suzhou", "Suzhou 2", "Hong Kong", "Shenzhen"].map(named),
            [1; 6]
        );
        assert_eq!(["London 2", "Hong Kong 2", "San Diego 2", "Suzhou, CN"].map(named), [0; 4]);
        for (wrong, says) in [
            ("[[nodes]]\nset = \"gateways\"\ncount = 96", "96 nodes of a list of 95"),
            ("[[nodes]]\ncount = 3", "either a set or a file"),
            ("[node.London]\nplace = \"Paris\"\n[[nodes]]\nset = \"cities\"", "London"),
        ] {
            let e = scenario(wrong, Path::new("")).unwrap_err();
            assert!(e.contains(says), "{e}");
        }
    }

    #[test]
    fn a_file_names_its_columns_and_a_wrong_line_is_named() {
        let folder = std::env::temp_dir().join(format!("perigee-nodes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let read = |text: &str| {
            std::fs::write(folder.join("p.csv"), text).unwrap();
            scenario("[[nodes]]\nfile = \"p.csv\"\nkind = \"terminal\"", &folder)
        };
        let s = read("# mine\nname,lat,lon,dishes,weight\nhere,10,20,,5\nthere,-10,200,3,\n").unwrap();
        assert_eq!((s.nodes[0].weight, s.nodes[1].dishes), (5.0, Some(3)));
        assert_eq!(s.files.len(), 1);
        for (text, says) in [
            ("", "empty"),
            ("name,lat\na,1\n", "no column \"lon\""),
            ("name,lat,lon\na,1,2\nb,91,2\n", "line 3: lat must be a number from -90 to 90"),
            ("name,lat,lon\na,1\n", "line 2: 2 cells"),
            ("name,lat,lon\n,1,3\n", "line 2: no name"),
            ("name,lat,lon\na\u{1b}[2J,1,3\n", "line 2: the name contains the control character U+001B"),
        ] {
            let e = read(text).unwrap_err();
            assert!(e.contains(says), "{e}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
