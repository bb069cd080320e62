// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Terrestrial links alongside a constellation: `[[source.constellation.fibre]]` between stations
//! and places without satellite access, such as data centres.
//!
//! The sky is built with gateways in place of such ends; nodes and links of the fibres are added to
//! it, and each path of the sky is extended by the links that lead to its gateways. Flows between
//! ends connected by fibres never use a satellite.

use crate::file::error::{Problem, ScenarioError};
use crate::file::flow::FlowSpec;
use crate::file::scenario::Scenario;
use crate::file::sources::{Constellation, Fibre, Source};
use crate::file::suggestions;
use crate::world::network::{Network, PairPlace};
use crate::world::ports::PortReport;
use crate::world::sky;
use perigee_sources::network::{network, ways_from, LinkRow, Own};
use perigee_sources::overlay::Beside;
use perigee_sources::topology::Hop;
use perigee_timeline::*;
use perigee_units::Nanos;
use std::collections::BTreeMap;

/// Sizes of a full packet and a plain ACK in bytes, for base RTTs.
const PACKETS: [u64; 2] = [1500, 52];
/// First number of fibres as bottlenecks: above those of radios.
const BOTTLENECKS: u32 = 1 << 30;

/// Builds a constellation with fibres.
///
/// # Errors
/// Errors of the sky, or ends that no fibre connects to a station.
pub fn build(scenario: &Scenario, c: &Constellation, seed: u64) -> Result<Network, ScenarioError> {
    if c.routing == Routing::PerHop {
        let p = Problem::new("source.constellation.routing", "fibres require routing per path").at(c.place());
        return Err(p.found("\"per-hop\"").hint("set routing = \"per-path\"").into());
    }
    let plan = FibrePlan::new(scenario, &c.fibres)?;
    let inner = without_fibres(c);
    let net = sky::build(&plan.sky_only(scenario, c), &inner, seed)?;
    plan.lay(c, net)
}

/// The scenario without fibres, from which the sky is built: flows start and end at gateways.
///
/// # Errors
/// As for [`build`].
pub fn sky_only(scenario: &Scenario, c: &Constellation) -> Result<Scenario, ScenarioError> {
    Ok(FibrePlan::new(scenario, &c.fibres)?.sky_only(scenario, c))
}

fn without_fibres(c: &Constellation) -> Constellation {
    Constellation { fibres: Vec::new(), ..c.clone() }
}

/// A direction in which at least one flow sends.
struct Direction {
    ends: [String; 2],
    /// Gateways of the ends; `None` = fibres along the entire path.
    gates: Option<[String; 2]>,
}

impl Direction {
    /// Fibre segments, each from an end of the flow: to the other end, or to a gateway (an end may
    /// be its own gateway).
    fn legs(&self) -> Vec<(String, String)> {
        let [from, to] = &self.ends;
        match &self.gates {
            None => vec![(from.clone(), to.clone())],
            Some([a, b]) => vec![(from.clone(), a.clone()), (to.clone(), b.clone())],
        }
    }
}

struct FibrePlan {
    rows: Vec<LinkRow>,
    /// Unique, in the order of the flows.
    ways: Vec<Direction>,
}

impl FibrePlan {
    fn new(scenario: &Scenario, fibres: &[Fibre]) -> Result<FibrePlan, ScenarioError> {
        check(scenario, fibres)?;
        let mut plan = FibrePlan { rows: fibres.iter().map(row).collect(), ways: Vec::new() };
        for flow in &scenario.flows {
            let Some((from, to)) = &flow.ends else {
                let p = Problem::new(
                    "flow.from",
                    "required key is missing: a constellation has no default pairs",
                );
                return Err(p.at(&flow.place).into());
            };
            let ends = [from.clone(), to.clone()];
            if plan.ways.iter().any(|w| w.ends == ends) {
                continue;
            }
            let reached = ways_from(&plan.rows, from).map_err(|e| wrong(fibres, e.0))?;
            let gates = match reached.contains_key(to) {
                true => None,
                false => {
                    Some([plan.gate(scenario, fibres, flow, from)?, plan.gate(scenario, fibres, flow, to)?])
                }
            };
            plan.ways.push(Direction { ends, gates });
        }
        Ok(plan)
    }

    /// Station of an end: the end itself, or the station with the smallest delay over fibres.
    fn gate(
        &self,
        scenario: &Scenario,
        fibres: &[Fibre],
        flow: &FlowSpec,
        name: &String,
    ) -> Result<String, ScenarioError> {
        let on_ground = |name: &String| scenario.nodes.iter().any(|n| n.name == *name);
        if on_ground(name) {
            return Ok(name.clone());
        }
        let reached = ways_from(&self.rows, name).map_err(|e| wrong(fibres, e.0))?;
        let gates = reached.into_iter().filter(|(n, _)| on_ground(n));
        gates.min_by_key(|(n, delay)| (*delay, n.clone())).map(|(n, _)| n).ok_or_else(|| {
            let names = || {
                let of_fibres = fibres.iter().flat_map(|f| [f.from.as_str(), f.to.as_str()]);
                scenario.nodes.iter().map(|n| n.name.as_str()).chain(of_fibres)
            };
            let mut p = Problem::new("flow", "no such node, or no fibre from it to a station")
                .found(format!("{name:?}"))
                .at(&flow.place);
            p.hint = suggestions::hint(name, names());
            p.into()
        })
    }

    fn sky_only(&self, scenario: &Scenario, c: &Constellation) -> Scenario {
        let flows = scenario.flows.iter().filter_map(|flow| {
            let (from, to) = flow.ends.as_ref()?;
            let way = self.ways.iter().find(|w| [from, to] == [&w.ends[0], &w.ends[1]])?;
            let [a, b] = way.gates.clone()?;
            Some(FlowSpec { ends: Some((a, b)), ..flow.clone() })
        });
        Scenario {
            flows: flows.collect(),
            source: Source::Constellation(Box::new(without_fibres(c))),
            ..scenario.clone()
        }
    }

    /// Adds the fibres to a sky.
    fn lay(&self, c: &Constellation, sky: Network) -> Result<Network, ScenarioError> {
        let mut legs: Vec<(String, String)> = self.ways.iter().flat_map(Direction::legs).collect();
        legs.retain(|(a, b)| a != b);
        legs.sort();
        legs.dedup();
        let own = network(&self.rows, &[], &legs).map_err(|e| wrong(&c.fibres, e.0))?;
        let mut header = own.built.header.clone();
        for (port, given) in header.ports.iter_mut().zip(&own.given) {
            port.spec.rate = given.rate.unwrap_or(port.spec.rate);
            port.spec.queue = Queue::drop_tail(QueueLimit::Packets(given.queue_packets.unwrap_or(1)));
        }
        let reports: Vec<PortReport> = header.ports.iter().map(report).collect();
        let mut beside = Beside::new(sky.header, &header);
        let of_sky: BTreeMap<[&str; 2], usize> =
            sky.pairs.iter().enumerate().map(|(i, p)| ([p.from.as_str(), p.to.as_str()], i)).collect();
        let mut net = Network {
            header: Header::default(),
            source: sky.source,
            pairs: Vec::new(),
            ports: [sky.ports, reports].concat(),
            base_rtts: Vec::new(),
            hops: Vec::new(),
            longest: sky.longest,
            bottlenecks: Vec::new(),
            report: [sky.report, vec![format!("{} fibres", c.fibres.len())]].concat(),
            warnings: sky.warnings,
        };
        let mut longest = 0;
        for way in &self.ways {
            let stretch = |i: usize| Stretch::of(&way.legs()[i], &legs, &own, &header);
            let (first, second) = (stretch(0), stretch(way.legs().len() - 1));
            let second = if way.gates.is_some() { second } else { Stretch::default() };
            let known = way.gates.as_ref().and_then(|[a, b]| of_sky.get(&[a.as_str(), b.as_str()]));
            let inner = known.map(|&i| &sky.pairs[i]);
            let [from, to] = &way.ends;
            let forward = beside.pair([from, to], inner.map(|p| p.forward), [&first.there, &second.back]);
            let reverse = beside.pair([to, from], inner.map(|p| p.reverse), [&second.there, &first.back]);
            let place = PairPlace { from: from.clone(), to: to.clone(), forward, reverse, part: false };
            net.pairs.push(place);
            let fibres = first.rtt + second.rtt;
            let (rtt, hops, bottleneck) = match known {
                Some(&i) => (sky.base_rtts[i], sky.hops[i], sky.bottlenecks[i]),
                None => (Some(Nanos::ZERO), 0, BOTTLENECKS + first.slowest),
            };
            net.base_rtts.push(rtt.map(|r| r + fibres));
            net.bottlenecks.push(bottleneck);
            let laid = first.there.len() + second.there.len();
            net.hops.push(hops + laid);
            longest = longest.max(laid);
        }
        net.longest += longest;
        net.header = beside.header().clone();
        net.source = Box::new(beside.over(net.source));
        Ok(net)
    }
}

/// Fibres from an end of a flow to its gateway, and back.
#[derive(Default)]
struct Stretch {
    there: Vec<LinkId>,
    back: Vec<LinkId>,
    /// Propagation and serialisation of a full packet in one direction and a plain ACK in the
    /// other.
    rtt: Nanos,
    /// Number of its slowest port.
    slowest: u32,
}

impl Stretch {
    fn of(leg: &(String, String), legs: &[(String, String)], own: &Own, header: &Header) -> Stretch {
        let Some(i) = legs.iter().position(|known| known == leg) else { return Stretch::default() };
        let [there, back] = &own.built.flows[i].hops;
        let time = |hop: &Hop, bytes: u64| {
            (header.links[hop.link.ix()].delay.base + header.ports[hop.port.ix()].spec.rate.time_for(bytes)).0
        };
        let sum = |way: &[Hop], bytes: u64| Nanos(way.iter().map(|hop| time(hop, bytes)).sum());
        let slowest = there.iter().min_by_key(|hop| header.ports[hop.port.ix()].spec.rate);
        Stretch {
            there: there.iter().map(|hop| hop.link).collect(),
            back: back.iter().map(|hop| hop.link).collect(),
            // Fibres are the same in both directions.
            rtt: sum(there, PACKETS[0]) + sum(back, PACKETS[1]),
            slowest: slowest.map_or(0, |hop| hop.port.0),
        }
    }
}

fn wrong(fibres: &[Fibre], why: String) -> ScenarioError {
    let problem = Problem::new("source.constellation.fibre", why);
    fibres.first().map_or(problem.clone(), |f| problem.at(f.place())).into()
}

/// Checks that fibres end at stations or at places without a dish.
fn check(scenario: &Scenario, fibres: &[Fibre]) -> Result<(), ScenarioError> {
    for f in fibres {
        let terminal =
            scenario.nodes.iter().find(|n| [&f.from, &f.to].contains(&&n.name) && n.kind != "station");
        if let Some(n) = terminal {
            let p = Problem::new("source.constellation.fibre", "a fibre ends at a terminal").at(f.place());
            let p = p.found(format!("{:?}", n.name));
            return Err(p.hint(format!("set kind = \"station\" in [node.{}]", n.name)).into());
        }
    }
    Ok(())
}

fn row(f: &Fibre) -> LinkRow {
    LinkRow {
        ends: [f.from.clone(), f.to.clone()],
        rate: Some(f.rate),
        delay: Some(f.delay),
        loss: Some(f.loss),
        queue_packets: Some(f.queue),
        ..LinkRow::default()
    }
}

fn report(port: &Port) -> PortReport {
    let QueueLimit::Packets(packets) = port.spec.queue.limit else { unreachable!("fibres count packets") };
    PortReport {
        name: port.name.clone(),
        class: "fibre",
        rate_bps: port.spec.rate.0,
        queue_bytes: None,
        queue_packets: Some(packets),
        framing_bytes: port.spec.framing,
        burst_bytes: None,
        dama: None,
        carrier: None,
        metered: port.spec.metered,
        meter: None,
        telemetry_faults: None,
        discipline: port.spec.queue.discipline.clone(),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Scenario, World};
    use std::path::Path;
    use std::sync::Arc;

    const SKY: &str = "[run]\nduration = \"4 s\"\n[source.constellation]\npreset = \"starlink-shell1\"\n\
                       [node.home]\nplace = \"London\"\n[node.gateway]\nkind = \"station\"\nplace = \"New York\"\n";

    fn world(more: &str) -> Result<World, String> {
        let s = Scenario::parse(&format!("{SKY}{more}"), "t.toml", Path::new(""), &[]);
        World::build(Arc::new(s.map_err(|e| e.to_string())?), 1).map_err(|e| e.to_string())
    }

    const FIBRES: &str = "[[source.constellation.fibre]]\nfrom = \"gateway\"\nto = \"pop\"\ndelay = \"2 ms\"\n\
                          [[source.constellation.fibre]]\nfrom = \"pop\"\nto = \"dc\"\ndelay = \"3 ms\"\nrate = \"1 Gbit\"\n";

    #[test]
    fn a_path_goes_on_over_its_fibres() {
        let plain = world("[[flow]]\nfrom = \"home\"\nto = \"gateway\"\ncc = \"cubic\"\n").unwrap();
        let flows = "[[flow]]\nfrom = \"home\"\nto = \"dc\"\ncc = \"cubic\"\n\
                     [[flow]]\nfrom = \"dc\"\nto = \"home\"\ncc = \"cubic\"\n\
                     [[flow]]\nfrom = \"pop\"\nto = \"dc\"\ncc = \"cubic\"\n";
        let w = world(&format!("{FIBRES}{flows}")).unwrap();
        // 5 ms each way, 1500 bytes forward and 52 back at 10 Gbit/s (1.2 us, 42 ns) and at 1
        // Gbit/s (12 us, 416 ns).
        let more = w.flows[0].base_rtt.unwrap() - plain.flows[0].base_rtt.unwrap();
        assert!(more.0.abs_diff(10_000_000 + 1_242 + 12_416) <= 2, "{more}");
        assert_eq!(w.flows[0].hops, plain.flows[0].hops + 2);
        assert_eq!((w.flows[1].hops, w.flows[2].hops), (w.flows[0].hops, 1));
        assert_eq!(w.flows[2].base_rtt.unwrap().0, 6_012_416, "fibre alone");
        let t = w.whole_timeline().unwrap();
        perigee_timeline::store::check(&t).unwrap();
    }

    #[test]
    fn what_fibres_cannot_do_is_said() {
        let flow = "[[flow]]\nfrom = \"home\"\nto = \"dc\"\ncc = \"cubic\"\n";
        let e = world(flow).err().unwrap();
        assert!(e.contains("no such node: \"dc\""), "{e}");
        let alone = FIBRES.replace("\"gateway\"", "\"elsewhere\"");
        let e = world(&format!("{alone}{flow}")).err().unwrap();
        assert!(e.contains("no fibre from it to a station") && e.contains("t.toml"), "{e}");
        let e = world(&format!("{}{flow}", FIBRES.replace("\"gateway\"", "\"home\""))).err().unwrap();
        assert!(e.contains("ends at a terminal") && e.contains("kind = \"station\""), "{e}");
        let twice = format!("{FIBRES}{FIBRES}{flow}");
        let e = world(&twice).err().unwrap();
        assert!(e.contains("it is there already"), "{e}");
        let hop = format!("{FIBRES}{flow}");
        let text = format!("{SKY}{hop}").replace("preset", "routing = \"per-hop\"\npreset");
        let s = Scenario::parse(&text, "t.toml", Path::new(""), &[]).unwrap();
        let e = World::build(Arc::new(s), 1).err().unwrap().to_string();
        assert!(e.contains("per-path"), "{e}");
    }
}
