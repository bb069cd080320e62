// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The sky end to end: what its timelines must hold whatever the constellation.

use perigee_orbit::frames::{elevation_deg, up, WGS84};
use perigee_orbit::visibility::Mask;
use perigee_orbit::*;
use perigee_timeline::store::check;
use perigee_timeline::*;
use perigee_units::Nanos;
use std::collections::BTreeMap;
use std::sync::Arc;

fn terminal(name: &str, lat_deg: f64, lon_deg: f64) -> GroundNode {
    let place = GeoPoint { lat_deg, lon_deg, height_m: 0.0 };
    GroundNode { name: name.into(), kind: GroundKind::Terminal, place, mask: Mask::default() }
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

/// Follows the timeline and calls `visit` after every instant.
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
                // Satellites move at 7.6 km/s: no more than 26 us a second on each of two radio links.
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
    // During an outage of either terminal the path has a link that is down, otherwise none.
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
        let mut p = perigee_orbit::motion::Positions::default();
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
    assert_eq!(error, "\"tromso\" sees no satellite during the whole run");
    let t = Arc::new(sky).timeline().unwrap();
    check(&t).unwrap();
    assert_eq!(notes(&t, NoteKind::Unreachable).len(), 1);
    spec.lasers = Lasers::None;
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
