// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Networks as GraphML: files of the Internet Topology Zoo (Knight et al., IEEE JSAC 2011),
//! networkx, yEd.
//!
//! Node attributes are `label` (else the id), `Latitude` and `Longitude`; edge attributes are
//! `rate_mbps`, `delay_ms`, `loss_pct` and `queue_packets` as in files of links, or `LinkSpeedRaw`
//! in bit/s as in the Zoo. Attribute names are case-insensitive.

use crate::line_error::{number, TraceError};
use crate::network::LinkRow;
use perigee_timeline::GeoPoint;
use perigee_units::{names, BitRate, Nanos};
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::{BTreeMap, BTreeSet};

/// Deepest nesting of elements; files of yEd have some ten. The parser of XML recurses.
const MOST_DEEP: usize = 256;
/// Upper bounds of plausible values.
const MOST_BPS: f64 = 1e13;
const MOST_MS: f64 = 1e5;

/// A parsed network. The length of a link without a delay is the distance between the places of its
/// ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// The links.
    pub rows: Vec<LinkRow>,
    /// Places of nodes by name.
    pub places: BTreeMap<String, GeoPoint>,
    /// Number of links omitted because a faster one connects the same two nodes.
    pub parallel: usize,
    /// Number of edges from a node to itself, which are omitted.
    pub loops: usize,
}

/// Names of the attributes in lower case, with default values, by key id.
type Keys = BTreeMap<String, (String, Option<String>)>;

/// Parses a graph.
///
/// # Errors
/// If the text is not XML, or not a graph; invalid numbers, with their line.
pub fn parse(text: &str) -> Result<Graph, TraceError> {
    let lines = Lines::of(text);
    if let Some(at) = too_deep(text.as_bytes()) {
        let why = format!("not GraphML: elements are nested more than {MOST_DEEP} deep");
        return Err(TraceError::at(lines.at(at), why));
    }
    let options = ParsingOptions { allow_dtd: false, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|e| TraceError::at(e.pos().row as usize, format!("not GraphML: {e}")))?;
    let root = document.root_element();
    let mut graphs = elements(root, "graph");
    let (Some(graph), true) = (graphs.next(), root.has_tag_name_of("graphml")) else {
        return Err(TraceError::at(1, "not GraphML: <graphml> with a <graph> in it is expected"));
    };
    if let Some(second) = graphs.next() {
        return Err(TraceError::at(lines.of_node(second), "a second graph: one is expected"));
    }
    let keys = keys(root);
    let mut found = Graph::default();
    let names = names(graph, &keys, &lines, &mut found.places)?;
    let directed = graph.attribute("edgedefault") == Some("directed");
    let mut at: BTreeMap<[String; 2], usize> = BTreeMap::new();
    for edge in elements(graph, "edge") {
        let row = link(edge, &keys, &lines, &names)?;
        if row.ends[0] == row.ends[1] {
            found.loops += 1;
            continue;
        }
        let mut ends = row.ends.clone();
        if !directed {
            ends.sort();
        }
        match at.get(&ends) {
            None => {
                at.insert(ends, found.rows.len());
                found.rows.push(row);
            }
            Some(&known) => {
                found.parallel += 1;
                if row.rate > found.rows[known].rate {
                    found.rows[known] = row;
                }
            }
        }
    }
    match found.rows.is_empty() {
        true => Err(TraceError::at(lines.of_node(graph), "the graph has no edges")),
        false => Ok(found),
    }
}

trait Named {
    fn has_tag_name_of(&self, name: &str) -> bool;
}

impl Named for Node<'_, '_> {
    /// Compares the name in any namespace.
    fn has_tag_name_of(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

fn elements<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(move |n| n.has_tag_name_of(name))
}

/// Starts of the lines of a text: the document itself counts them again for each node.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Lines {
        Lines(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i).collect())
    }

    /// The number of the line that has a byte, from 1.
    fn at(&self, byte: usize) -> usize {
        1 + self.0.partition_point(|end| *end < byte)
    }

    fn of_node(&self, node: Node<'_, '_>) -> usize {
        self.at(node.range().start)
    }
}

/// The place of the first element that is nested too deep, in text that need not be XML.
fn too_deep(text: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(start) = find(text, at, b"<") {
        let rest = &text[start..];
        let skipped = [
            (&b"<!--"[..], &b"-->"[..]),
            (b"<![CDATA[", b"]]>"),
            (b"<?", b"?>"),
            (b"<!", b">"),
            (b"</", b">"),
        ];
        if let Some((open, close)) = skipped.iter().find(|(open, _)| rest.starts_with(open)) {
            depth = depth.saturating_sub(usize::from(*open == b"</"));
            at = find(text, start + open.len(), close)? + close.len();
            continue;
        }
        depth += 1;
        if depth > MOST_DEEP {
            return Some(start);
        }
        at = end_of_tag(text, start)?;
        depth -= usize::from(text[at - 2] == b'/');
    }
    None
}

/// The place after the `>` of a tag; quotes may hold others.
fn end_of_tag(text: &[u8], start: usize) -> Option<usize> {
    let mut quote = None;
    for (i, &b) in text.iter().enumerate().skip(start) {
        match (quote, b) {
            (None, b'>') => return Some(i + 1),
            (None, b'"' | b'\'') => quote = Some(b),
            (Some(open), _) if open == b => quote = None,
            _ => {}
        }
    }
    None
}

fn find(text: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    text.get(from..)?.windows(what.len()).position(|w| w == what).map(|i| from + i)
}

fn keys(root: Node<'_, '_>) -> Keys {
    let key = |k: Node<'_, '_>| {
        let name = k.attribute("attr.name").or(k.attribute("id"))?.to_lowercase();
        let default = elements(k, "default").next().and_then(|d| d.text()).map(str::to_string);
        Some((k.attribute("id")?.to_string(), (name, default)))
    };
    elements(root, "key").filter_map(key).collect()
}

/// Value of an attribute of a node or an edge.
fn value(of: Node<'_, '_>, keys: &Keys, name: &str) -> Option<String> {
    let wanted = |id: &str| keys.get(id).is_some_and(|(known, _)| known == name);
    let own = elements(of, "data").find(|d| d.attribute("key").is_some_and(wanted));
    let text = own.and_then(|d| d.text()).map(|t| t.trim().to_string());
    let default = || {
        let scope = |id: &&String| wanted(id);
        keys.iter().find(|(id, _)| scope(id)).and_then(|(_, (_, default))| default.clone())
    };
    text.or_else(default).filter(|t| !t.is_empty())
}

/// Names by id: the label if it is unique, otherwise label and id.
fn names(
    graph: Node<'_, '_>,
    keys: &Keys,
    lines: &Lines,
    places: &mut BTreeMap<String, GeoPoint>,
) -> Result<BTreeMap<String, String>, TraceError> {
    let mut names = BTreeMap::new();
    let mut taken = BTreeSet::new();
    for node in elements(graph, "node") {
        let Some(id) = node.attribute("id") else {
            return Err(TraceError::at(lines.of_node(node), "a node without an id"));
        };
        // Commas separate the nodes of a route.
        let label = value(node, keys, "label").unwrap_or_else(|| id.to_string()).replace(',', " ");
        let label = label.split_whitespace().collect::<Vec<_>>().join(" ");
        let name = if taken.contains(&label) { format!("{label} ({id})") } else { label };
        names::check(&name)
            .map_err(|why| TraceError::at(lines.of_node(node), format!("the node {name:?} {why}")))?;
        if !taken.insert(name.clone()) || names.insert(id.to_string(), name.clone()).is_some() {
            return Err(TraceError::at(lines.of_node(node), format!("two nodes are called {name:?}")));
        }
        let degrees = |what: &str, most: f64| match value(node, keys, what) {
            None => Ok(None),
            Some(text) => match text.parse::<f64>() {
                Ok(v) if v.abs() <= most => Ok(Some(v)),
                _ => {
                    let why = format!("{what} of {name:?} is {text:?}: degrees up to {most} are expected");
                    Err(TraceError::at(lines.of_node(node), why))
                }
            },
        };
        if let (Some(lat_deg), Some(lon_deg)) = (degrees("latitude", 90.0)?, degrees("longitude", 360.0)?) {
            places.insert(name, GeoPoint { lat_deg, lon_deg, height_m: 0.0 });
        }
    }
    Ok(names)
}

fn link(
    edge: Node<'_, '_>,
    keys: &Keys,
    lines: &Lines,
    names: &BTreeMap<String, String>,
) -> Result<LinkRow, TraceError> {
    let n = lines.of_node(edge);
    let end = |which: &str| {
        let id = edge.attribute(which).unwrap_or_default();
        let unknown = || TraceError::at(n, format!("the {which} of an edge is {id:?}: no node has this id"));
        names.get(id).cloned().ok_or_else(unknown)
    };
    let ends = [end("source")?, end("target")?];
    let amount = |name: &str, most: f64| -> Result<Option<f64>, TraceError> {
        let Some(text) = value(edge, keys, name) else { return Ok(None) };
        let v = number(n, &text, name)?;
        match v <= most {
            true => Ok(Some(v)),
            false => Err(TraceError::at(n, format!("{name} is {text}: at most {most} is expected"))),
        }
    };
    let mbps = amount("rate_mbps", MOST_BPS / 1e6)?.map(|m| m * 1e6);
    let bps = mbps.or(amount("linkspeedraw", MOST_BPS)?);
    Ok(LinkRow {
        ends,
        rate: bps.map(|b| BitRate(b as u64)),
        delay: amount("delay_ms", MOST_MS)?.map(|ms| Nanos::from_secs_f64(ms / 1e3)),
        loss: amount("loss_pct", 100.0)?.map(|p| p / 100.0),
        queue_packets: amount("queue_packets", 1e9)?.map(|q| q as u64),
        line: n,
        ..LinkRow::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file in the style of the Topology Zoo.
    const ZOO: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d36" />
  <key attr.name="label" attr.type="string" for="node" id="d33" />
  <key attr.name="Longitude" attr.type="double" for="node" id="d32" />
  <key attr.name="Latitude" attr.type="double" for="node" id="d29" />
  <graph edgedefault="undirected">
    <node id="0"><data key="d29">51.5</data><data key="d32">-0.1</data><data key="d33">London</data></node>
    <node id="1"><data key="d29">48.9</data><data key="d32">2.4</data><data key="d33">Paris</data></node>
    <node id="2"><data key="d33">Paris</data></node>
    <edge source="0" target="1"><data key="d36">1000000000.0</data></edge>
    <edge source="1" target="0" id="e1"><data key="d36">2000000000.0</data></edge>
    <edge source="1" target="2" />
  </graph>
</graphml>
"#;

    #[test]
    fn a_graph_of_the_zoo_is_read() {
        let g = parse(ZOO).unwrap();
        assert_eq!(g.rows.len(), 2);
        assert_eq!(g.rows[0].ends, ["Paris", "London"], "the faster of two parallel ones");
        assert_eq!((g.rows[0].rate, g.parallel), (Some(BitRate(2_000_000_000)), 1));
        assert_eq!((g.rows[1].ends[1].as_str(), g.rows[1].rate), ("Paris (2)", None));
        assert_eq!(g.places["London"].lat_deg, 51.5);
        assert_eq!(g.places.len(), 2);
    }

    #[test]
    fn edges_from_a_node_to_itself_are_left_out() {
        let g = parse(&ZOO.replace("</graph>", "<edge source=\"2\" target=\"2\"/></graph>")).unwrap();
        assert_eq!((g.loops, g.rows.len()), (1, 2));
    }

    #[test]
    fn attributes_of_our_own_and_defaults_count() {
        let text = ZOO
            .replace("attr.name=\"LinkSpeedRaw\"", "attr.name=\"delay_ms\"")
            .replace("id=\"d36\" />", "id=\"d36\"><default>7.5</default></key>")
            .replace("undirected", "directed");
        let g = parse(&text.replace("0000000.0", "")).unwrap();
        assert_eq!(g.rows.len(), 3, "each direction of its own");
        assert_eq!(g.rows[2].delay, Some(Nanos(7_500_000)));
    }

    #[test]
    fn elements_that_are_nested_deep_are_refused_before_the_parser_recurses() {
        let n = 20_000;
        for (open, close) in [
            ("<a>", "</a>"),
            ("<a b=\"/>\">", "</a>"),
            ("<a><!-- </a> -->", "</a>"),
            ("<a>", ""),
            ("<a/ >", ""),
        ] {
            let text = format!("<graphml>\n{}{}</graphml>", open.repeat(n), close.repeat(n));
            let e = parse(&text).unwrap_err().to_string();
            assert!(e.contains("line 2: ") && e.contains("nested more than 256 deep"), "{open}: {e}");
        }
        assert!(parse(&ZOO.replace("<edge", &format!("{}<edge", "<x/>".repeat(n)))).is_ok());
    }

    #[test]
    fn two_hundred_thousand_edges_are_read_in_linear_time() {
        let mut text = String::from("<graphml>\n<graph>\n");
        let n = 200_000;
        (0..=n).for_each(|i| text += &format!("<node id=\"{i}\"/>\n"));
        (0..n).for_each(|i| text += &format!("<edge source=\"{i}\" target=\"{}\"/>\n", i + 1));
        let g = parse(&(text + "</graph></graphml>")).unwrap();
        assert_eq!((g.rows.len(), g.rows[n - 1].line), (n, 2 * n + 3));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (from, to, says) in [
            ("1000000000.0", "fast", "line 11: the linkspeedraw \"fast\" is not a number"),
            ("1000000000.0", "1e18", "line 11: linkspeedraw is 1e18: at most"),
            ("1000000000.0", "NaN", "line 11: the linkspeedraw NaN must be"),
            ("48.9", "148.9", "line 9: latitude of \"Paris\" is \"148.9\": degrees up to 90"),
            ("target=\"2\"", "target=\"9\"", "line 13: the target of an edge is \"9\": no node has this id"),
            ("id=\"2\"", "name=\"2\"", "line 10: a node without an id"),
            ("id=\"2\"", "id=\"1\"", "line 10: two nodes"),
            ("</graph>", "</graf>", "not GraphML"),
            ("<graphml ", "<!DOCTYPE a><graphml ", "not GraphML"),
        ] {
            let e = parse(&ZOO.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(e.contains(says), "{e}");
        }
        for text in ["", "a,b\n", "<graphml/>", "<svg><graph/></svg>", "<graphml><graph/></graphml>"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
