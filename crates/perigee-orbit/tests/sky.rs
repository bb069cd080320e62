// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Skies end to end: invariants of the timelines of all constellations.

use perigee_orbit::frames::{elevation_deg, up, WGS84};
use perigee_orbit::*;
use perigee_timeline::store::check;
use perigee_timeline::*;
use perigee_units::Nanos;
use std::collections::BTreeMap;
use std::sync::Arc;

fn terminal(name: &str, lat_deg: f64, lon_deg: f64) -> GroundNode {
    let place = GeoPoint { lat_deg, lon_deg, height_m: 0.0 };
    GroundNode::new(name, GroundKind::Terminal, place)
}

fn london_new_york(seconds: u64) -> SkySpec {
    SkySpec {
        title: "London - New York".into(),
        ground: vec![terminal("london", 51.507, -0.128), terminal("new-york", 40.713, -74.006)],
        pairs: vec![(0, 1), (1, 0)],
        duration: Nanos::from_secs(seconds),
        ..SkySpec::default()
    }
}

fn timeline(spec: SkySpec) -> Timeline {
    let sky = Arc::new(Sky::new(spec).unwrap());
    sky.check().unwrap();
    let t = sky.timeline().unwrap();
    check(&t).unwrap();
    t
}

fn changes(t: &Timeline) -> impl Iterator<Item = &Timed> {
    t.chunks.iter().flat_map(|c| &c.changes)
}

fn notes(t: &Timeline, kind: NoteKind) -> Vec<(Nanos, &Note)> {
    changes(t)
        .filter_map(|c| match &c.change {
            Change::Note(n) if n.kind == kind => Some((c.at, n)),
            _ => None,
        })
        .collect()
}

/// Replays the timeline and calls `visit` after every instant.
fn replay(t: &Timeline, mut visit: impl FnMut(Nanos, &State)) {
    let mut s = State::default();
    let mut all = changes(t).peekable();
    while let Some(c) = all.next() {
        match &c.change {
            Change::Delay(l, d) => {
                s.delays.insert(*l, (c.at, *d));
            }
            Change::Path(p, path) => {
                s.paths.insert(*p, path.clone());
            }
            Change::Down(l, _) => assert!(s.down.insert(*l, ()).is_none(), "down twice"),
            Change::Up(l) => assert!(s.down.remove(l).is_some(), "up, but was not down"),
            _ => {}
        }
        if all.peek().is_none_or(|n| n.at > c.at) {
            visit(c.at, &s);
        }
    }
}

#[derive(Default)]
struct State {
    delays: BTreeMap<LinkId, (Nanos, Delay)>,
    paths: BTreeMap<PairId, Option<Arc<[LinkId]>>>,
    down: BTreeMap<LinkId, ()>,
}

impl State {
    fn delay(&self, pair: PairId, t: Nanos) -> Option<Nanos> {
        let links = self.paths[&pair].as_ref()?;
        let at = |l: &LinkId| {
            let (since, d) = self.delays[l];
            d.at(t - since)
        };
        Some(links.iter().map(at).fold(Nanos::ZERO, |a, b| a + b))
    }
}

#[test]
fn delays_of_a_path_are_those_of_the_geometry_and_continuous_along_it() {
    let spec = london_new_york(60);
    let sky = Arc::new(Sky::new(spec).unwrap());
    let t = sky.timeline().unwrap();
    check(&t).unwrap();
    let mut last: Option<(Nanos, Nanos, Arc<[LinkId]>)> = None;
    replay(&t, |now, s| {
        let path = s.paths[&PairId(0)].clone().unwrap();
        let here = s.delay(PairId(0), now).unwrap();
        assert_eq!(here, s.delay(PairId(1), now).unwrap(), "the way back is the same way");
        if let Some((before, d, p)) = &last {
            if *p == path {
                // Satellites move at 7.6 km/s: delays change by at most 26 us per second on each of
                // two radio links.
                let allowed = (now - *before).0 / 10_000 + 20;
                assert!(here.0.abs_diff(d.0) <= allowed, "{d} -> {here} in {}", now - *before);
            }
        }
        if now.0 % 1_000_000_000 == 0 {
            let exact = sky.rtt_at(PairId(0), now).unwrap().unwrap();
            assert!(exact.0.abs_diff(here.0 * 2) <= 40, "{now}: {exact} against twice {here}");
        }
        last = Some((now, here, path));
    });
}

#[test]
fn a_hard_handover_keeps_the_terminal_off_the_air_for_its_outage() {
    let t = timeline(london_new_york(300));
    let (begins, ends) = (notes(&t, NoteKind::OutageBegin), notes(&t, NoteKind::OutageEnd));
    let handovers = notes(&t, NoteKind::Handover);
    assert!(handovers.len() >= 6, "{} handovers in 300 s", handovers.len());
    assert_eq!(begins.len(), ends.len());
    for (at, n) in &handovers {
        assert!((0.045..=0.120).contains(&n.value), "{at}: {n:?}");
    }
    for (at, n) in &begins {
        let end = ends.iter().find(|(e, m)| e > at && m.node == n.node).unwrap().0;
        let prolonged = handovers.iter().any(|(h, m)| h > at && *h < end && m.node == n.node);
        let exact = Nanos::from_secs_f64(n.value);
        assert!(prolonged || (end - *at).0.abs_diff(exact.0) <= 1, "{at} - {end}: {n:?}");
    }
    // During an outage of either terminal the path contains a link that is down, otherwise it does
    // not.
    let off = |t: Nanos| {
        begins
            .iter()
            .any(|(b, n)| *b <= t && t < ends.iter().find(|(e, m)| e > b && m.node == n.node).unwrap().0)
    };
    replay(&t, |now, s| {
        let broken = s.paths[&PairId(0)].iter().any(|p| p.iter().any(|l| s.down.contains_key(l)));
        assert_eq!(broken, off(now), "{now}");
    });
}

#[test]
fn every_event_is_noted_once() {
    let t = timeline(london_new_york(300));
    for kind in [NoteKind::PathChange, NoteKind::Handover, NoteKind::OutageBegin, NoteKind::OutageEnd] {
        let all = notes(&t, kind);
        for (i, a) in all.iter().enumerate() {
            assert!(!all[..i].contains(a), "{a:?}");
        }
    }
    let mut last = None;
    let mut paths = 0;
    replay(&t, |_, s| {
        let path = s.paths[&PairId(0)].clone();
        paths += usize::from(last.as_ref().is_some_and(|l| *l != path));
        last = Some(path);
    });
    assert_eq!(notes(&t, NoteKind::PathChange).len(), paths);
}

#[test]
fn no_path_uses_a_satellite_below_the_mask() {
    let spec = london_new_york(30);
    let sky = Sky::new(spec.clone()).unwrap();
    for s in 0..30 {
        let t = Nanos::from_secs(s);
        let route = sky.route_at(PairId(0), t).unwrap().unwrap();
        let mut p = perigee_orbit::motion::positions::Positions::default();
        let c = sky.constellation();
        c.motion.span(c.start, t, t).unwrap().positions(t, &mut p);
        for (g, sat) in [(0, route.satellites[0]), (1, *route.satellites.last().unwrap())] {
            let place = spec.ground[g].place;
            let e = elevation_deg(WGS84.ecef(place), up(place), p.get(sat as usize));
            assert!(e >= 25.0, "{e}");
        }
        assert_eq!(route.one_way() * 2, sky.rtt_at(PairId(1), t).unwrap().unwrap());
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| timeline(london_new_york(25)))
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn tables_lead_every_packet_to_its_destination() {
    let spec = SkySpec { routing: Routing::PerHop, ..london_new_york(60) };
    let t = timeline(spec);
    let mut ends: Vec<(NodeId, NodeId)> = Vec::new();
    let mut ports: Vec<NodeId> = t.header.ports.iter().map(|p| p.node).collect();
    for c in &t.chunks {
        ports.extend(c.ports.iter().map(|p| p.node));
        ends.extend(c.links.iter().map(|l| (ports[l.port.ix()], l.to)));
    }
    let mut tables: BTreeMap<(NodeId, NodeId), Option<LinkId>> = BTreeMap::new();
    let mut all = changes(&t).peekable();
    while let Some(c) = all.next() {
        if let Change::NextHop { at, to, link } = c.change {
            tables.insert((at, to), link);
        }
        assert!(!matches!(c.change, Change::Path(..)));
        if all.peek().is_none_or(|n| n.at > c.at) {
            for (from, to) in [(NodeId(0), NodeId(1)), (NodeId(1), NodeId(0))] {
                let mut here = from;
                for _ in 0..30 {
                    if here != to {
                        here = ends[tables[&(here, to)].unwrap().ix()].1;
                    }
                }
                assert_eq!(here, to, "{}", c.at);
            }
        }
    }
}

#[test]
fn a_station_changes_its_satellite_without_an_outage() {
    let mut spec = london_new_york(120);
    spec.ground.iter_mut().for_each(|g| g.kind = GroundKind::Station);
    let t = timeline(spec);
    assert!(!notes(&t, NoteKind::Handover).is_empty());
    assert!(notes(&t, NoteKind::Handover).iter().all(|(_, n)| n.value == 0.0));
    assert!(notes(&t, NoteKind::OutageBegin).is_empty());
    assert!(!changes(&t).any(|c| matches!(c.change, Change::Down(..))));
}

#[test]
fn a_gap_in_coverage_is_noted_and_a_pair_without_hope_is_refused() {
    // Tromso at 69.6 N sees a 53 degree shell only low in the south.
    let mut spec = london_new_york(20);
    spec.ground[1] = terminal("tromso", 69.65, 18.96);
    let sky = Sky::new(spec.clone()).unwrap();
    let error = sky.check().unwrap_err().to_string();
    let why = "\"tromso\" sees no satellite during the whole run: it stands at 69.7 degrees of latitude, and these \
               orbits are seen up to 61.5 with its mask of 25 degrees";
    assert!(error.starts_with(why), "{error}");
    let t = Arc::new(sky).timeline().unwrap();
    check(&t).unwrap();
    assert_eq!(notes(&t, NoteKind::Unreachable).len(), 1);
    spec.isls = Isls::of(Pattern::None);
    spec.ground[1] = terminal("new-york", 40.713, -74.006);
    let error = Sky::new(spec).unwrap().check().unwrap_err().to_string();
    assert!(error.starts_with("there is no path between \"london\" and \"new-york\""), "{error}");
}

#[test]
fn satellites_on_paths_have_tracks_every_second() {
    let t = timeline(london_new_york(12));
    for s in 0..12 {
        let at: Vec<_> =
            t.chunks.iter().flat_map(|c| &c.tracks).filter(|p| p.at == Nanos::from_secs(s)).collect();
        assert!(at.len() >= 4, "{s} s: {}", at.len());
        assert!(at.iter().all(|p| p.node.ix() >= 2 && (p.place.height_m - 550e3).abs() < 30e3));
    }
}

#[test]
fn outages_longer_than_the_time_between_handovers_are_one() {
    for mode in [OutageMode::Flush, OutageMode::Hold, OutageMode::Blackhole] {
        let handover = Handover { outage: Outage::Fixed(Nanos::from_secs(40)), mode, ..Handover::default() };
        let t = timeline(SkySpec { handover, ..london_new_york(300) });
        let handovers = notes(&t, NoteKind::Handover);
        let (begins, ends) = (notes(&t, NoteKind::OutageBegin), notes(&t, NoteKind::OutageEnd));
        assert!(begins.len() < handovers.len(), "none was prolonged");
        for node in [NodeId(0), NodeId(1)] {
            let of = |all: &[(Nanos, &Note)]| {
                all.iter().filter(|n| n.1.node == Some(node)).map(|n| n.0).collect::<Vec<_>>()
            };
            let (h, b, e) = (of(&handovers), of(&begins), of(&ends));
            // Starts and ends alternate, and each end is 40 s after the last handover before it.
            assert!(b.len() - e.len() <= 1 && e.iter().zip(&b[1..]).all(|(e, b)| e <= b));
            for end in e {
                let last = h.iter().rev().find(|h| **h < end).unwrap();
                assert_eq!(end - *last, Nanos::from_secs(40));
            }
        }
        // `replay` rejects a link that goes down or up twice; with `hold`, none stays down
        // permanently.
        let mut down = 0;
        replay(&t, |_, s| down = s.down.len());
        let still_off = begins.len() - ends.len();
        assert!(mode != OutageMode::Hold || still_off > 0 || down == 0, "{down} links are held for ever");
    }
}

#[test]
fn a_handover_without_an_outage_only_cuts_the_old_satellite() {
    let handover = Handover { outage: Outage::Fixed(Nanos::ZERO), ..Handover::default() };
    let t = timeline(SkySpec { handover, ..london_new_york(120) });
    assert!(!notes(&t, NoteKind::Handover).is_empty());
    assert!(notes(&t, NoteKind::OutageBegin).is_empty());
    replay(&t, |now, s| {
        assert!(s.paths[&PairId(0)].iter().all(|p| p.iter().all(|l| !s.down.contains_key(l))), "{now}");
    });
}

#[test]
fn at_the_edge_of_coverage_paths_come_and_go() {
    let mut spec = london_new_york(600);
    spec.ground[1] = terminal("edge", 61.3, 10.0);
    spec.attach = sky::policy::Policy::Nearest;
    let t = timeline(spec);
    let (lost, found) = (notes(&t, NoteKind::Unreachable), notes(&t, NoteKind::Reachable));
    assert!(!found.is_empty() && lost.len().abs_diff(found.len()) <= 1, "{} {}", lost.len(), found.len());
    let mut all: Vec<_> = lost.iter().chain(&found).map(|(at, n)| (*at, n.kind)).collect();
    all.sort_by_key(|e| e.0);
    assert!(all.windows(2).all(|w| w[0].1 != w[1].1), "they alternate: {all:?}");
    replay(&t, |now, s| {
        let gone = all.iter().rev().find(|e| e.0 <= now).is_some_and(|e| e.1 == NoteKind::Unreachable);
        assert_eq!(s.paths[&PairId(0)].is_none(), gone, "{now}");
    });
}

#[test]
fn many_ground_points_share_one_sky() {
    let places = [
        ("london", 51.5, -0.1),
        ("tokyo", 35.7, 139.7),
        ("sydney", -33.9, 151.2),
        ("lagos", 6.5, 3.4),
        ("santiago", -33.4, -70.7),
    ];
    let mut ground: Vec<GroundNode> = places.iter().map(|p| terminal(p.0, p.1, p.2)).collect();
    ground[3].kind = GroundKind::Station;
    let all = (0..5).flat_map(|a| (0..5).filter(move |&b| b != a).map(move |b| (a, b)));
    let pairs: Vec<(usize, usize)> = all.collect();
    for ground_ports in [GroundPorts::PerNode, GroundPorts::PerLink] {
        for routing in [Routing::PerPath, Routing::PerHop] {
            let spec = SkySpec {
                ground: ground.clone(),
                pairs: pairs.clone(),
                ground_ports,
                routing,
                duration: Nanos::from_secs(40),
                ..SkySpec::default()
            };
            let t = timeline(spec);
            let radios = t.header.ports.len();
            assert_eq!(radios, if ground_ports == GroundPorts::PerNode { 5 } else { 0 });
            if routing == Routing::PerPath {
                // A terminal has one dish: all its paths leave through one satellite.
                let mut ends: BTreeMap<LinkId, (usize, NodeId)> = BTreeMap::new();
                let mut owner: Vec<NodeId> = t.header.ports.iter().map(|p| p.node).collect();
                for c in &t.chunks {
                    owner.extend(c.ports.iter().map(|p| p.node));
                    for l in &c.links {
                        ends.insert(LinkId(ends.len() as u32), (owner[l.port.ix()].ix(), l.to));
                    }
                }
                replay(&t, |now, s| {
                    for g in [0, 1, 2, 4] {
                        let first = |p: &PairId| s.paths[p].as_ref().map(|l| ends[&l[0]].1);
                        let of: Vec<PairId> =
                            (0..20u32).map(PairId).filter(|p| pairs[p.ix()].0 == g).collect();
                        let used: Vec<_> = of.iter().filter_map(first).collect();
                        assert!(used.windows(2).all(|w| w[0] == w[1]), "{now}: {g} uses {used:?}");
                    }
                });
            }
        }
    }
}

/// The timeline depends neither on the processor nor on the build: this hash is that of a release
/// build.
#[test]
fn the_timeline_of_london_and_new_york_has_not_moved() {
    let mut file = Vec::new();
    perigee_timeline::store::save(&timeline(london_new_york(20)), &mut file).unwrap();
    let hash = file
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3));
    assert_eq!(hash, 0xe13c_ad9e_b4bb_23f9, "{hash:#x}");
}
