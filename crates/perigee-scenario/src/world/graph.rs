// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Links of a GraphML file: missing delays are derived from the places of the nodes.

use perigee_orbit::frames::{great_circle_m, Ellipsoid, Vec3};
use perigee_sources::graphml::{self, Graph};
use perigee_sources::network::LinkRow;
use perigee_timeline::GeoPoint;
use perigee_units::Nanos;
use std::collections::{BTreeMap, BTreeSet};

/// Speed of light in glass: 4.9 us per km.
const LIGHT_IN_GLASS_M_S: f64 = 299_792_458.0 / 1.468;

/// Links of a graph. An edge without a delay gets that of light along the great circle between its
/// ends or, if these have no place, `delay`.
///
/// Errors of [`graphml::parse`], and edges without any source of a delay.
pub fn links(text: &str, delay: Option<Nanos>, remarks: &mut Vec<String>) -> Result<Vec<LinkRow>, String> {
    let mut graph = graphml::parse(text).map_err(|e| e.to_string())?;
    let missing = graph.rows.iter().any(|row| row.delay.is_none());
    let guessed = if missing { place_by_neighbours(&mut graph) } else { 0 };
    let (mut computed, mut assumed) = (0, 0);
    for row in graph.rows.iter_mut().filter(|row| row.delay.is_none()) {
        let [a, b] = [&row.ends[0], &row.ends[1]].map(|name| graph.places.get(name).copied());
        row.delay = match (a, b, delay) {
            (Some(a), Some(b), _) => {
                computed += 1;
                Some(Nanos::from_secs_f64(great_circle_m(a, b) / LIGHT_IN_GLASS_M_S))
            }
            (_, _, Some(delay)) => {
                assumed += 1;
                Some(delay)
            }
            _ => return Err(no_delay(row, if a.is_none() { 0 } else { 1 })),
        };
    }
    if delay.is_some() && assumed == 0 {
        return Err(
            "delay in [source.network] has no effect: every edge has a delay, or ends with coordinates"
                .into(),
        );
    }
    let mut say = |count: usize, what: &str| {
        if count > 0 {
            remarks.push(format!("{count} {what}"));
        }
    };
    say(computed, "links with the delay of light in glass along the great circle");
    say(guessed, "nodes without coordinates: each placed at the centre of its neighbours");
    say(assumed, "links with the delay of [source.network]: the coordinates of their ends are unknown");
    say(graph.parallel, "links omitted: a faster or earlier one connects the same nodes");
    say(graph.loops, "links omitted: both ends are the same node");
    Ok(graph.rows)
}

/// Sphere for averages of places, which are taken of directions: those of longitudes would fail at
/// the date line.
const SPHERE: Ellipsoid = Ellipsoid { a_m: 1.0, f: 0.0 };

/// Places each node without a place at the centre of its neighbours, starting with those that have
/// placed neighbours: clouds of many links ("hyperedges" of the Topology Zoo) and routers of other
/// networks. Returns the number of nodes placed.
fn place_by_neighbours(graph: &mut Graph) -> usize {
    // Neighbours in the order of the rows, so that sums do not depend on the order of nodes.
    let mut neighbours: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for [a, b] in graph.rows.iter().map(|row| &row.ends) {
        neighbours.entry(a).or_default().push(b);
        neighbours.entry(b).or_default().push(a);
    }
    let places = &mut graph.places;
    let is_open = |places: &BTreeMap<String, GeoPoint>, node: &str| !places.contains_key(node);
    let beside = |places: &BTreeMap<String, GeoPoint>, node: &str| -> Vec<&str> {
        neighbours.get(node).into_iter().flatten().copied().filter(|n| is_open(places, n)).collect()
    };
    let mut next: BTreeSet<&str> = places.keys().flat_map(|node| beside(places, node)).collect();
    let mut placed = 0;
    while !next.is_empty() {
        let middle = |node: &&str| {
            let mut sum = Vec3::default();
            for place in neighbours[node].iter().filter_map(|n| places.get(*n)) {
                SPHERE.ecef(*place).iter().zip(&mut sum).for_each(|(v, s)| *s += v);
            }
            (node.to_string(), GeoPoint { height_m: 0.0, ..SPHERE.geodetic(sum) })
        };
        let found: Vec<_> = next.iter().map(middle).collect();
        placed += found.len();
        places.extend(found);
        next = next.iter().flat_map(|node| beside(places, node)).collect();
    }
    placed
}

fn no_delay(row: &LinkRow, end: usize) -> String {
    format!(
        "line {}: the edge has no delay_ms, and neither {:?} nor a neighbour of it has Latitude and Longitude: set delay in \
         [source.network] for all such edges",
        row.line, row.ends[end]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAPH: &str = r#"<graphml>
  <key attr.name="Latitude" for="node" id="la"/><key attr.name="Longitude" for="node" id="lo"/>
  <graph edgedefault="undirected">
    <node id="a"><data key="la">0</data><data key="lo">0</data></node>
    <node id="b"><data key="la">0</data><data key="lo">2</data></node>
    <node id="c"/><node id="d"/><node id="e"/>
    <edge source="a" target="c"/><edge source="c" target="b"/><edge source="d" target="e"/><edge source="d" target="d"/>
  </graph>
</graphml>"#;

    #[test]
    fn a_long_chain_without_places_is_placed_in_linear_time() {
        let n = 50_000;
        let mut text = String::from(GRAPH.split("<node").next().unwrap());
        text += "<node id=\"0\"><data key=\"la\">0</data><data key=\"lo\">2</data></node>";
        (1..=n).for_each(|i| text += &format!("<node id=\"{i}\"/>"));
        (0..n).for_each(|i| text += &format!("<edge source=\"{i}\" target=\"{}\"/>", i + 1));
        let mut remarks = Vec::new();
        let rows = links(&(text + "</graph></graphml>"), None, &mut remarks).unwrap();
        assert_eq!(rows.len(), n);
        assert!(remarks.iter().any(|r| r.starts_with("50000 nodes without coordinates")), "{remarks:?}");
    }

    #[test]
    fn delays_follow_from_places_of_neighbours_or_from_the_scenario() {
        let mut remarks = Vec::new();
        let rows = links(GRAPH, Some(Nanos::from_millis(3)), &mut remarks).unwrap();
        // One degree of the equator: 111.3 km, 0.545 ms in glass.
        assert!((rows[0].delay.unwrap().0 as f64 / 1e6 - 0.545).abs() < 0.001, "{rows:?}");
        assert_eq!(rows[0].delay, rows[1].delay);
        assert_eq!(rows[2].delay, Some(Nanos::from_millis(3)));
        assert!(
            remarks
                .iter()
                .zip(["2 links with", "1 nodes", "1 links with", "1 links omitted"])
                .all(|(r, s)| r.starts_with(s)),
            "{remarks:?}"
        );
        assert_eq!(remarks.len(), 4);
    }

    #[test]
    fn the_middle_may_be_on_the_date_line() {
        let text = GRAPH
            .replace(">0</data><data key=\"lo\">0<", ">10</data><data key=\"lo\">179<")
            .replace(">2<", ">-179<");
        let mut graph = graphml::parse(&text).unwrap();
        assert_eq!(place_by_neighbours(&mut graph), 1);
        let at = graph.places["c"];
        assert!((at.lon_deg.abs() - 180.0).abs() < 0.2 && (at.lat_deg - 5.0).abs() < 0.01, "{at:?}");
    }

    #[test]
    fn an_edge_of_which_nothing_says_the_delay_is_named() {
        let e = links(GRAPH, None, &mut Vec::new()).unwrap_err();
        let e2 =
            links(&GRAPH.replace(r#"<edge source="d" target="e"/>"#, ""), Some(Nanos(1)), &mut Vec::new());
        assert!(e2.unwrap_err().contains("no effect"));
        assert!(e.contains("line 7") && e.contains("neither \"d\"") && e.contains("[source.network]"), "{e}");
    }
}
