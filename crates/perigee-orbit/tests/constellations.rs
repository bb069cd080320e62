// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Presets, several shells, dynamic ISLs, relaying stations.

use perigee_orbit::frames::{distance_m, elevation_deg, up, SPEED_OF_LIGHT_M_S, WGS84};
use perigee_orbit::links::isls::Limits;
use perigee_orbit::links::lasers::{LaserFaults, Pointing};
use perigee_orbit::links::visibility::Mask;
use perigee_orbit::motion::presets::{self, STARLINK_SHELL1};
use perigee_orbit::motion::shell::{Propagation, Shell};
use perigee_orbit::*;
use perigee_timeline::store::check;
use perigee_timeline::{Change, GeoPoint, Law, NoteKind, PairId, Timeline};
use perigee_units::Nanos;
use std::sync::Arc;

fn ground(name: &str, kind: GroundKind, lat_deg: f64, lon_deg: f64) -> GroundNode {
    GroundNode::new(name, kind, GeoPoint { lat_deg, lon_deg, height_m: 0.0 })
}

/// London and New York with a preset.
fn under(name: &str) -> SkySpec {
    let preset = presets::find(name).unwrap();
    let mut spec = SkySpec {
        satellites: Satellites::Shells(preset.shells.to_vec()),
        ground: vec![
            ground("london", GroundKind::Terminal, 51.507, -0.128),
            ground("new-york", GroundKind::Terminal, 40.713, -74.006),
        ],
        pairs: vec![(0, 1), (1, 0)],
        duration: Nanos::from_secs(60),
        ..SkySpec::default()
    };
    spec.ground.iter_mut().for_each(|g| g.mask = Mask::Elevation(preset.mask_deg));
    spec
}

fn rtt_ms(sky: &Sky, second: u64) -> f64 {
    sky.rtt_at(PairId(0), Nanos::from_secs(second)).unwrap().expect("a path").as_millis_f64()
}

fn timeline(spec: SkySpec) -> Timeline {
    let t = Arc::new(Sky::new(spec).unwrap()).timeline().unwrap();
    check(&t).unwrap();
    t
}

#[test]
fn every_preset_with_isls_joins_london_and_new_york_faster_than_twice_the_straight_way() {
    let straight = distance_m(
        WGS84.ecef(GeoPoint { lat_deg: 51.507, lon_deg: -0.128, height_m: 0.0 }),
        WGS84.ecef(GeoPoint { lat_deg: 40.713, lon_deg: -74.006, height_m: 0.0 }),
    );
    let light_ms = 2e3 * straight / SPEED_OF_LIGHT_M_S;
    for name in ["starlink-shell1", "starlink-gen1", "starlink-24x66", "kuiper", "telesat", "iridium"] {
        let rtt = rtt_ms(&Sky::new(under(name)).unwrap(), 7);
        assert!((light_ms..2.0 * light_ms + 20.0).contains(&rtt), "{name}: {rtt} ms");
    }
}

#[test]
fn a_geostationary_satellite_stands_still_and_costs_half_a_second() {
    let mut spec = under("geostationary");
    spec.satellites = Satellites::Shells(vec![Shell { raan0_deg: -37.0, ..presets::GEOSTATIONARY }]);
    let sky = Sky::new(spec).unwrap();
    let rtt = rtt_ms(&sky, 0);
    assert!((490.0..530.0).contains(&rtt), "{rtt}");
    assert_eq!(rtt, rtt_ms(&sky, 50));
}

#[test]
fn without_isls_a_pair_needs_stations_that_relay() {
    let spec = under("oneweb");
    let refused = Sky::new(spec.clone()).unwrap().check().unwrap_err().to_string();
    assert!(refused.starts_with("there is no path between"), "{refused}");
    let mut bridged = SkySpec { duration: Nanos::from_secs(30), ..spec };
    for (name, lat, lon) in [
        ("reykjavik", 64.1, -21.9),
        ("nuuk", 64.2, -51.7),
        ("st-johns", 47.6, -52.7),
        ("azores", 38.7, -27.2),
    ] {
        let station = ground(name, GroundKind::Station, lat, lon);
        bridged.ground.push(GroundNode { relays: true, ..station });
    }
    let sky = Sky::new(bridged.clone()).unwrap();
    sky.check().unwrap();
    let route = sky.route_at(PairId(0), Nanos::ZERO).unwrap().unwrap();
    let names: Vec<&str> = route.satellites.iter().map(|&v| sky.vertex_name(v)).collect();
    // Satellites and stations alternate, and each station sees both of its satellites.
    assert!(names.len() % 2 == 1 && names.len() >= 3, "{names:?}");
    let mut p = perigee_orbit::motion::positions::Positions::default();
    let c = sky.constellation();
    c.motion.span(c.start, Nanos::ZERO, Nanos::ZERO).unwrap().positions(Nanos::ZERO, &mut p);
    for i in (1..names.len()).step_by(2) {
        let station = bridged.ground.iter().find(|g| g.name == names[i]).expect("a station");
        for sat in [route.satellites[i - 1], route.satellites[i + 1]] {
            let e = elevation_deg(WGS84.ecef(station.place), up(station.place), p.get(sat as usize));
            assert!(e >= 25.0, "{}: {e}", station.name);
        }
    }
    timeline(bridged.clone());
    timeline(SkySpec { routing: perigee_timeline::Routing::PerHop, ..bridged });
}

#[test]
fn a_terminal_cannot_relay() {
    let mut spec = under("starlink-shell1");
    spec.ground[0].relays = true;
    assert!(Sky::new(spec).unwrap_err().to_string().contains("cannot relay"));
}

#[test]
fn kepler_j2_and_sgp4_tell_nearly_the_same_round_trips() {
    let of = |propagation| {
        let shell = Shell { propagation, ..STARLINK_SHELL1 };
        Sky::new(SkySpec { satellites: Satellites::Shells(vec![shell]), ..under("starlink-shell1") }).unwrap()
    };
    let [kepler, j2, sgp4] =
        [Propagation::Kepler, Propagation::J2, Propagation::Sgp4 { revs_per_day: None, epoch: None }].map(of);
    for s in [0, 20, 40, 60] {
        let rtts = [rtt_ms(&kepler, s), rtt_ms(&j2, s), rtt_ms(&sgp4, s)];
        assert!(rtts.iter().all(|r| (r - rtts[0]).abs() < 1.5), "{s} s: {rtts:?}");
    }
}

#[test]
fn a_isl_to_another_shell_can_only_help() {
    let gen1 = under("starlink-gen1");
    let isls = Isls { cross_shell: true, ..Isls::default() };
    let across = Sky::new(SkySpec { isls, ..gen1.clone() }).unwrap();
    let alone = Sky::new(gen1).unwrap();
    for s in [0, 30] {
        assert!(rtt_ms(&across, s) <= rtt_ms(&alone, s) + 1e-6);
    }
    let c = across.constellation();
    let shell = |sat: u32| c.places[sat as usize].unwrap().shell;
    let links = c.isls_at(Nanos::ZERO).unwrap();
    let between = links.pairs().filter(|[a, b]| shell(*a) != shell(*b)).count();
    assert!(between > 1500, "{between} links between shells");
}

#[test]
fn a_new_isl_carries_nothing_until_it_is_set_up() {
    let isls = Isls {
        pattern: Pattern::Nearest(4),
        period: Nanos::from_secs(20),
        set_up: Nanos::from_secs(5),
        ..Isls::default()
    };
    let sky = Sky::new(SkySpec { isls, ..under("starlink-shell1") }).unwrap();
    let c = sky.constellation();
    let at = |s: u64| c.isls_at(Nanos::from_secs(s)).unwrap();
    let set = |s: u64| at(s).pairs().collect::<std::collections::BTreeSet<_>>();
    assert_eq!(at(0).links(), at(19).links(), "at the start all are set up");
    assert!(set(21).is_subset(&set(19)) && set(21).is_subset(&set(26)));
    assert!(set(26).len() > set(21).len(), "some links are new");
    for (a, b) in [(0, 19), (20, 24), (25, 39)] {
        let since = |s| c.isls_since(Nanos::from_secs(s));
        assert_eq!(since(a), since(b));
        assert_eq!(at(a), at(b));
    }
    timeline(SkySpec { duration: Nanos::from_secs(45), ..sky.spec().clone() });
}

#[test]
fn a_range_limit_lengthens_paths_and_then_cuts_them() {
    let limited = |km: f64| {
        let limits = Limits { max_range_m: km * 1e3, ..Limits::default() };
        let spec = SkySpec { isls: Isls { limits, ..Isls::default() }, ..under("starlink-shell1") };
        let sky = Sky::new(spec).unwrap();
        sky.rtt_at(PairId(0), Nanos::ZERO).unwrap()
    };
    assert_eq!(limited(2500.0), limited(5000.0));
    assert_eq!(limited(500.0), None);
}

#[test]
fn satellites_with_elements_have_a_shell_a_plane_and_a_slot() {
    let preset = presets::find("kuiper").unwrap();
    let sky = Sky::new(under("kuiper")).unwrap();
    let c = sky.constellation();
    assert_eq!((c.len(), c.names[1156].as_str(), c.names[0].as_str()), (3236, "sat-0-0.2", "sat-0-0.1"));
    let last = c.places[3235].unwrap();
    assert_eq!((last.shell, last.plane, last.slot), (2, 27, 27));
    assert_eq!(c.report.len(), preset.shells.len());
}

#[test]
fn changes_of_isls_are_changes_of_paths_and_nothing_else() {
    let isls = Isls { pattern: Pattern::Nearest(4), period: Nanos::from_secs(15), ..Isls::default() };
    let t = timeline(SkySpec { isls, ..under("starlink-shell1") });
    let changes = || t.chunks.iter().flat_map(|c| &c.changes);
    let paths = changes().filter(|c| matches!(c.change, Change::Path(PairId(0), _))).count();
    let noted = |c: &&perigee_timeline::Timed| matches!(&c.change, Change::Note(n) if n.kind != NoteKind::Handover && n.pair == Some(PairId(0)));
    assert_eq!(paths, 1 + changes().filter(noted).count());
}

/// Ends of a link, and its changes of state: instant, and whether it is up.
type States = ([String; 2], Vec<(Nanos, bool)>);

/// Changes of state of each link of a timeline.
fn isl_states(t: &Timeline) -> Vec<States> {
    let ports: Vec<_> = t.header.ports.iter().chain(t.chunks.iter().flat_map(|c| c.ports.iter())).collect();
    let links = t.header.links.iter().chain(t.chunks.iter().flat_map(|c| c.links.iter()));
    let ends = |name: &str| name.split_once("->").map(|(a, b)| [a.to_string(), b.to_string()]);
    let mut found: Vec<_> =
        links.map(|l| (ends(&ports[l.port.ix()].name).unwrap_or_default(), Vec::new())).collect();
    for c in t.chunks.iter().flat_map(|c| &c.changes) {
        match c.change {
            Change::Down(id, _) => found[id.ix()].1.push((c.at, false)),
            Change::Up(id) => found[id.ix()].1.push((c.at, true)),
            _ => {}
        }
    }
    found
}

#[test]
fn a_link_that_loses_its_pointing_is_down_at_once_and_avoided_from_the_next_step_on() {
    let pointing = Pointing { every: Nanos::from_secs(60), acquisition: Law::Uniform(5.0, 15.0) };
    let faults = LaserFaults { pointing: Some(pointing), failed: 0.02, failure_every: None };
    let spec = SkySpec {
        isls: Isls { faults, ..Isls::default() },
        duration: Nanos::from_secs(120),
        seed: 5,
        ..under("starlink-shell1")
    };
    let t = timeline(spec.clone());
    assert_eq!(t, timeline(spec.clone()), "the same seed");
    let other = timeline(SkySpec { seed: 6, ..spec.clone() });
    assert!(isl_states(&t) != isl_states(&other), "another seed");

    let sky = Sky::new(spec.clone()).unwrap();
    let names = &sky.constellation().names;
    let number = |name: &String| names.iter().position(|n| n == name).map(|n| n as u32);
    let states = isl_states(&t);
    let (mut used, mut losses) = (0, 0);
    for (ends, changes) in &states {
        let (Some(a), Some(b)) = (number(&ends[0]), number(&ends[1])) else { continue };
        used += 1;
        let outages: Vec<_> = sky.constellation().outages_of(a, b).collect();
        for (at, up) in changes {
            let expected = |o: &std::ops::Range<Nanos>| if *up { o.end == *at } else { o.start == *at };
            assert!(outages.iter().any(expected), "{ends:?} at {at}: {outages:?}");
            losses += usize::from(!up);
        }
        // All outages from the first use on are there, in both directions.
        let last = outages.iter().filter(|o| o.start < spec.duration).count();
        assert!(changes.iter().filter(|(_, up)| !up).count() <= last);
    }
    assert!(used > 10 && losses > 5, "{losses} losses of {used} directed links");

    let down = |id: usize, at: Nanos| {
        let of = &states[id].1;
        of.iter().take_while(|(t, _)| *t <= at).last().is_some_and(|(_, up)| !up)
    };
    let mut path: Option<Arc<[_]>> = None;
    let mut cut = 0;
    for c in t.chunks.iter().flat_map(|c| &c.changes) {
        if let Change::Path(PairId(0), new) = &c.change {
            for l in new.iter().flat_map(|p| p.iter()) {
                let of: &perigee_timeline::LinkId = l;
                let isl = number(&states[of.ix()].0[0]).is_some() && number(&states[of.ix()].0[1]).is_some();
                assert!(!isl || !down(of.ix(), c.at), "a path over a link that is down at {}", c.at);
            }
            path.clone_from(new);
        }
        if let Change::Down(id, _) = c.change {
            let on_path = path.iter().flat_map(|p| p.iter()).any(|l| *l == id);
            if on_path && number(&states[id.ix()].0[0]).is_some() && number(&states[id.ix()].0[1]).is_some() {
                let next = Nanos(c.at.0.div_ceil(spec.step.0) * spec.step.0);
                let changes = t.chunks.iter().flat_map(|c| &c.changes);
                let moved = changes
                    .filter(|d| d.at >= c.at && d.at <= next)
                    .any(|d| matches!(d.change, Change::Path(PairId(0), _)));
                assert!(moved || next >= spec.duration, "the path keeps a link that is down from {}", c.at);
                cut += 1;
            }
        }
    }
    assert!(cut > 0, "no loss of pointing on the path");
}

#[test]
fn links_at_an_instant_are_those_of_all_outages_of_the_run_in_whatever_order_they_are_asked_for() {
    // Longer than a window of draws, and shorter.
    let pointing = Pointing { every: Nanos::from_secs(120), acquisition: Law::Exponential(300.0) };
    let faults =
        LaserFaults { pointing: Some(pointing), failed: 0.02, failure_every: Some(Nanos::from_secs(9000)) };
    let duration = Nanos::from_secs(7200);
    let spec = SkySpec { duration, seed: 3, ..under("iridium") };
    let links: Vec<[u32; 2]> = {
        let whole = Sky::new(spec.clone()).unwrap();
        let pairs = whole.constellation().isls_at(Nanos::ZERO).unwrap();
        pairs.pairs().collect()
    };
    let sky = Sky::new(SkySpec { isls: Isls { faults, ..Isls::default() }, ..spec }).unwrap();
    let c = sky.constellation();
    let outages: Vec<Vec<_>> = links.iter().map(|[a, b]| c.outages_of(*a, *b).collect()).collect();
    let turns = || outages.iter().flatten().flat_map(|o| [o.start, o.end]);
    let some = turns().step_by(37).filter(|t| *t < duration);
    let later = some.flat_map(|t| [t, t - Nanos(1), t + Nanos(1)]).collect::<Vec<_>>();
    let windows = (0..13).flat_map(|w| [600 * w, 600 * w + 1]).map(Nanos::from_secs);
    let mut instants: Vec<Nanos> = windows.chain(later).collect();
    let order = |t: &Nanos| t.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for ordered in [true, false] {
        match ordered {
            true => instants.sort_unstable(),
            false => instants.sort_by_key(order),
        }
        for &t in &instants {
            let since = turns().filter(|turn| *turn <= t).max().unwrap_or(Nanos::ZERO);
            assert_eq!(c.isls_since(t), since, "{t}");
            let up = links.iter().zip(&outages).filter(|(_, of)| !of.iter().any(|o| o.contains(&t)));
            let expected: std::collections::BTreeSet<_> = up.map(|(l, _)| *l).collect();
            let found: std::collections::BTreeSet<_> = c.isls_at(t).unwrap().pairs().collect();
            assert_eq!(found, expected, "{t}");
        }
    }
}

#[test]
fn failed_lasers_are_missing_from_the_graph_and_the_timeline() {
    let of = |failed| {
        let faults = LaserFaults { failed, ..LaserFaults::default() };
        Sky::new(SkySpec { isls: Isls { faults, ..Isls::default() }, ..under("starlink-shell1") }).unwrap()
    };
    let links = |sky: &Sky| sky.constellation().isls_at(Nanos::ZERO).unwrap().links() as f64;
    let (all, some) = (links(&of(0.0)), links(&of(0.1)));
    // Of 3168 links 0.81 work, with a standard error of 0.007.
    assert!((some / all - 0.81).abs() < 0.035, "{some} of {all}");
    assert!(rtt_ms(&of(0.3), 0) > rtt_ms(&of(0.0), 0), "paths become longer");
    assert_eq!(
        Sky::new(under("starlink-shell1")).unwrap().rtt_at(PairId(0), Nanos::ZERO).unwrap(),
        of(0.0).rtt_at(PairId(0), Nanos::ZERO).unwrap()
    );
}
