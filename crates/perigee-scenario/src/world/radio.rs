// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Radios of a constellation: selects the `[port.NAME]` tables of each by kind of node, direction,
//! pattern and name.

use crate::file::error::{Problem, ScenarioError};
use crate::file::scenario::Scenario;
use crate::file::sources::Constellation;
use crate::file::suggestions;
use crate::world::ports::{PortReport, PortTable, Settled};
use perigee_orbit::{Radio, Radios};
use perigee_timeline::PortSpec;
use perigee_units::Nanos;
use std::collections::BTreeMap;

/// Classes of ports of a constellation; kinds of nodes may be followed by a direction.
const CLASSES: [&str; 5] = ["ground", "isl", "satellite", "terminal", "station"];
const DIRECTIONS: [&str; 2] = [".up", ".down"];

/// The ports of a constellation.
pub(crate) struct RadioTable<'a> {
    table: PortTable<'a>,
    nodes: Vec<(&'a str, &'static str)>,
    per_link: bool,
    /// Satellites with their own tables.
    satellites: Vec<String>,
}

impl<'a> RadioTable<'a> {
    /// Checks all names; `satellites`: those of the sky.
    ///
    /// # Errors
    /// Unknown names, directions without a port, values without effect.
    pub fn new(
        scenario: &'a Scenario,
        c: &Constellation,
        satellites: &[String],
    ) -> Result<Self, ScenarioError> {
        let mut radios = Self::unchecked(scenario, c);
        let mut problems = radios.table.problems(&CLASSES);
        for (name, section) in radios.table.all() {
            match radios.is_known(name, satellites) {
                Ok(true) => {}
                Ok(false) => radios.satellites.push(name.clone()),
                Err(p) => problems.push(p.at(section.place())),
            }
        }
        match problems.is_empty() {
            true => Ok(radios),
            false => Err(ScenarioError(problems)),
        }
    }

    /// Like `new`, before the sky of the scenario has been built.
    pub fn unchecked(scenario: &'a Scenario, c: &Constellation) -> Self {
        let kind = |kind: &str| if kind == "station" { "station" } else { "terminal" };
        let nodes = scenario.nodes.iter().map(|n| (n.name.as_str(), kind(&n.kind))).collect();
        let table = PortTable::unchecked(&scenario.ports);
        RadioTable { table, nodes, per_link: c.ground_ports == "per-link", satellites: Vec::new() }
    }

    /// Whether a name is that of a class or of ground points; false = that of a satellite.
    fn is_known(&self, name: &str, satellites: &[String]) -> Result<bool, Problem> {
        let key = format!("port.{name}");
        let (base, direction) = split(name);
        let base_name = base.replace("gateway", "station");
        let is_node = self.nodes.iter().any(|(n, _)| matches(base, n));
        let kind = ["terminal", "station"].contains(&base_name.as_str()) && !base.contains('*');
        if direction.is_empty() && (base == "all" || CLASSES.contains(&base)) || kind || is_node {
            if direction == ".down" && !self.per_link {
                let why = "no effect: with ground_ports = \"per-node\" a satellite has one radio for all its links to the ground";
                return Err(Problem::new(key, why).hint(
                    "use [port.satellite], or set source.constellation.ground_ports = \"per-link\" for one radio per link",
                ));
            }
            return Ok(true);
        }
        if direction.is_empty() && satellites.iter().any(|s| s == base) {
            if self.per_link {
                let why =
                    "no effect: with ground_ports = \"per-link\" radios belong to links, not to satellites";
                return Err(
                    Problem::new(key, why).hint("use the name of the ground node, as in [port.NODE.down]")
                );
            }
            return Ok(false);
        }
        let mut p = Problem::new(key, "no such port, class of ports or node");
        let names = || self.nodes.iter().map(|(n, _)| *n).chain(CLASSES).chain(["all", "gateway"]);
        let some: Vec<&str> = self.nodes.iter().take(4).map(|(n, _)| *n).collect();
        p.allowed = Some(format!(
            "all, {}; terminal, station (or gateway) and nodes also with .up or .down; nodes such as {}; patterns such as \"gate*\"",
            CLASSES.join(", "),
            some.join(", ")
        ));
        p.hint = suggestions::hint(base, names());
        Err(p)
    }

    /// Settings of the transmitter of a ground point.
    pub fn up(&self, node: usize) -> Settled {
        self.table.layered("ground", &self.layers(node, ".up", &["all", "ground"]))
    }

    /// Settings of the transmitter towards a ground point.
    pub fn down(&self, node: usize) -> Settled {
        match self.per_link {
            true => {
                self.table.layered("ground", &self.layers(node, ".down", &["all", "ground", "satellite"]))
            }
            false => self.shared(),
        }
    }

    /// Settings of a satellite's shared radio.
    fn shared(&self) -> Settled {
        self.table.layered("ground", &["all", "ground", "satellite"])
    }

    /// Settings of the links between satellites.
    pub fn isl(&self) -> Settled {
        self.table.settled("isl", "")
    }

    /// Names of the tables that apply to a ground point in a direction, the most general first.
    fn layers(&self, node: usize, direction: &str, first: &[&'static str]) -> Vec<&str> {
        let (name, kind) = self.nodes[node];
        let other = if kind == "station" { "gateway" } else { kind };
        // Rank: 0 kind, 1 pattern, 2 name; then whether it has a direction.
        let rank = |table: &str| {
            let (base, of) = split(table);
            let level = match base {
                _ if base == name => 2,
                _ if base == kind || base == other => 0,
                _ if base.contains('*') && matches(base, name) => 1,
                _ => return None,
            };
            (of.is_empty() || of == direction).then_some((level, usize::from(!of.is_empty())))
        };
        let mut own: Vec<((usize, usize), &str)> =
            self.table.all().iter().filter_map(|(t, _)| Some((rank(t)?, t.as_str()))).collect();
        own.sort_by_key(|(rank, _)| *rank);
        first.iter().copied().chain(own.into_iter().map(|(_, t)| t)).collect()
    }

    /// Port of radios without a more specific table.
    pub fn usual(&self, rtt: Nanos) -> PortSpec {
        self.shared().spec(rtt)
    }

    /// Radios that differ from the default.
    pub fn radios(&self, rtt: Nanos) -> Radios {
        let usual = self.shared();
        let radio =
            |s: Settled| (s != usual).then(|| Radio { port: s.spec(rtt), loss: s.loss.unwrap_or(0.0) });
        let each = |of: &dyn Fn(usize) -> Settled| -> BTreeMap<usize, Radio> {
            (0..self.nodes.len()).filter_map(|n| Some((n, radio(of(n))?))).collect()
        };
        let satellite = |name: &String| {
            let s = self.table.layered("ground", &["all", "ground", "satellite", name]);
            Some((name.clone(), radio(s)?))
        };
        Radios {
            up: each(&|n| self.up(n)),
            down: if self.per_link { each(&|n| self.down(n)) } else { BTreeMap::new() },
            of_satellite: self.satellites.iter().filter_map(satellite).collect(),
            loss: [usual.loss.unwrap_or(0.0), self.isl().loss.unwrap_or(0.0)],
        }
    }

    /// Number of the slowest radio of a path: that of the sender, or the one that transmits to the
    /// receiver.
    pub fn slowest(&self, from: usize, to: usize) -> u32 {
        let down = self.per_link && self.down(to).rate < self.up(from).rate;
        (if down { self.nodes.len() + to } else { from }) as u32
    }

    /// Ports for the manifest: classes, and each node that differs.
    pub fn report(&self, rtt: Nanos) -> Vec<PortReport> {
        let mut ports = vec![PortReport::new("ground", "ground", &self.usual(rtt))];
        let of = |direction: &'static str, radios: &BTreeMap<usize, Radio>| -> Vec<PortReport> {
            let name = |n: &usize| format!("{} {direction}", self.nodes[*n].0);
            radios.iter().map(|(n, r)| PortReport::new(&name(n), direction, &r.port)).collect()
        };
        let radios = self.radios(rtt);
        ports.push(PortReport::new("isl", "isl", &self.isl().spec(rtt)));
        ports.extend(of("up", &radios.up));
        ports.extend(of("down", &radios.down));
        ports.extend(radios.of_satellite.iter().map(|(n, r)| PortReport::new(n, "satellite", &r.port)));
        ports
    }
}

/// Splits the name of a table into its base and its direction.
fn split(name: &str) -> (&str, &str) {
    let found = DIRECTIONS.iter().find_map(|d| Some((name.strip_suffix(d)?, *d)));
    found.unwrap_or((name, ""))
}

/// Whether a name matches a pattern, in which `*` matches any text.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or("")) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, inner)) = parts.split_last() else { return rest.is_empty() };
    for part in inner {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::World;
    use std::path::Path;
    use std::sync::Arc;

    fn world(ports: &str, per_link: bool) -> Result<World, String> {
        let how = if per_link { "per-link" } else { "per-node" };
        let text = format!(
            "[run]\nduration = \"1 s\"\n[source.constellation]\npreset = \"starlink-shell1\"\nground_ports = \"{how}\"\n\
             [node.home]\nplace = \"London\"\n[node.gateway-1]\nkind = \"station\"\nplace = \"Paris\"\n\
             [node.gateway-2]\nkind = \"station\"\nplace = \"Madrid\"\n{ports}\n\
             [[flow]]\nfrom = \"gateway-1\"\nto = \"home\"\ncc = \"cubic\"\n\
             [[flow]]\nfrom = \"home\"\nto = \"gateway-2\"\ncc = \"cubic\"\n"
        );
        let s = crate::Scenario::parse(&text, "test", Path::new(""), &[]).map_err(|e| e.to_string())?;
        World::build(Arc::new(s), 1).map_err(|e| e.to_string())
    }

    /// Rates in Mbit/s of ports with names that start with `begin`.
    fn rates(world: &World, begin: &str) -> Vec<u64> {
        let t = world.whole_timeline().unwrap();
        let all = t.header.ports.iter().chain(t.chunks.iter().flat_map(|c| &c.ports));
        all.filter(|p| p.name.starts_with(begin)).map(|p| p.spec.rate.0 / 1_000_000).collect()
    }

    #[test]
    fn patterns_match_as_in_a_shell() {
        let cases = [
            ("gateway*", "gateway-1", true),
            ("*", "x", true),
            ("a*c*e", "abcde", true),
            ("a*c", "abcd", false),
        ];
        for (pattern, name, fits) in cases {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn rates_by_kind_direction_pattern_and_name() {
        let ports = "[port.terminal.up]\nrate = \"20 Mbit\"\n[port.terminal.down]\nrate = \"200 Mbit\"\n\
                     [port.\"gateway*\"]\nrate = \"1 Gbit\"\n[port.gateway-2.up]\nrate = \"500 Mbit\"\n";
        let w = world(ports, true).unwrap();
        assert!(rates(&w, "home->").iter().all(|r| *r == 20));
        assert!(rates(&w, "gateway-1->").iter().all(|r| *r == 1000));
        assert!(rates(&w, "gateway-2->").iter().all(|r| *r == 500));
        let t = w.whole_timeline().unwrap();
        let down = |name: &str| -> Vec<u64> {
            let ports = t.header.ports.iter().chain(t.chunks.iter().flat_map(|c| &c.ports));
            let to = format!("->{name}");
            ports.filter(|p| p.name.ends_with(&to)).map(|p| p.spec.rate.0 / 1_000_000).collect()
        };
        assert!(!down("home").is_empty() && down("home").iter().all(|r| *r == 200));
        assert!(down("gateway-2").iter().all(|r| *r == 1000));
    }

    #[test]
    fn a_shared_radio_is_the_satellites() {
        let w = world(
            "[port.satellite]\nrate = \"300 Mbit\"\nloss = 0.25\n[port.home]\nrate = \"10 Mbit\"",
            false,
        )
        .unwrap();
        let t = w.whole_timeline().unwrap();
        let of =
            |name: &str| t.header.ports.iter().find(|p| p.name == name).map(|p| p.spec.rate.0 / 1_000_000);
        assert_eq!((of("home radio"), of("gateway-1 radio")), (Some(10), Some(100)));
        let later: Vec<_> =
            t.chunks.iter().flat_map(|c| &c.ports).filter(|p| p.name.ends_with(" radio")).collect();
        assert!(!later.is_empty() && later.iter().all(|p| p.spec.rate.0 == 300_000_000));
        let lossy = t.chunks.iter().flat_map(|c| &c.links).filter(|l| l.loss == 0.25).count();
        assert!(lossy >= 2, "the links down lose, those up do not: {lossy}");
        let e = world("[port.terminal.down]\nrate = \"1 Mbit\"", false).err().unwrap();
        assert!(e.contains("per-link") && e.contains("[port.satellite]"), "{e}");
    }

    #[test]
    fn nobody_is_not_a_port() {
        let e = world("[port.\"gate-*\"]\nrate = \"1 Mbit\"", true).err().unwrap();
        assert!(e.contains("no such port") && e.contains("gateway-1"), "{e}");
    }
}
