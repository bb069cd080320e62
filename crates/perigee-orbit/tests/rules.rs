// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Path rules: disjoint paths, and load-aware ones.

use perigee_orbit::*;
use perigee_timeline::store::check;
use perigee_timeline::{GeoPoint, Routing};
use perigee_units::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Stations around two places, each with a peer at the other one.
fn crowd(pairs: usize, apart_deg: f64) -> SkySpec {
    let station = |i: usize, lat_deg: f64, lon_deg: f64| {
        let place = GeoPoint { lat_deg: lat_deg + apart_deg * i as f64, lon_deg, height_m: 0.0 };
        GroundNode::new(format!("g{i} {lon_deg}"), GroundKind::Station, place)
    };
    let ground = (0..pairs).map(|i| station(i, 51.0, 0.0)).chain((0..pairs).map(|i| station(i, 40.0, -74.0)));
    SkySpec {
        ground: ground.collect(),
        pairs: (0..pairs).flat_map(|i| [(i, pairs + i), (pairs + i, i)]).collect(),
        duration: Nanos::from_secs(20),
        ..SkySpec::default()
    }
}

fn load_aware(pairs: usize) -> SkySpec {
    let rule = LoadRule {
        demand_bps: (0..pairs).map(|i| ((i, pairs + i), 10_000_000)).collect(),
        isl_bps: 20_000_000,
        delay: Nanos::from_millis(1),
        period: Nanos::from_secs(1),
    };
    SkySpec { rule: PathRule::LoadAware(rule), ..crowd(pairs, 0.5) }
}

/// Number of the first direction's paths over each ISL.
fn crossings(routes: &[Option<Route>]) -> BTreeMap<[u32; 2], usize> {
    let mut all = BTreeMap::new();
    for r in routes.iter().step_by(2).flatten() {
        r.satellites.windows(2).for_each(|w| *all.entry([w[0], w[1]]).or_default() += 1);
    }
    all
}

fn lengths(routes: &[Option<Route>]) -> Vec<Nanos> {
    routes.iter().map(|r| r.as_ref().unwrap().one_way()).collect()
}

#[test]
fn load_aware_paths_relieve_a_hotspot_and_are_not_much_longer() {
    let (plain, aware) = (Sky::new(crowd(8, 0.5)).unwrap(), Sky::new(load_aware(8)).unwrap());
    for second in [0, 5, 15] {
        let t = Nanos::from_secs(second);
        let (short, wide) = (plain.routes_at(t).unwrap(), aware.routes_at(t).unwrap());
        let most = |routes: &[Option<Route>]| crossings(routes).into_values().max().unwrap();
        // Two demands saturate an ISL.
        assert!(most(&short) >= 5 && most(&wide) <= 2, "{} {}", most(&short), most(&wide));
        let longest = lengths(&short).into_iter().zip(lengths(&wide)).map(|(a, b)| b.saturating_sub(a)).max();
        assert!(longest.unwrap() < Nanos::from_millis(15), "{longest:?}");
    }
    // Without loaded links, the paths are the shortest ones.
    let mut idle = load_aware(8);
    let PathRule::LoadAware(rule) = &mut idle.rule else { unreachable!() };
    rule.demand_bps.clear();
    let idle = Sky::new(idle).unwrap();
    assert_eq!(
        lengths(&idle.routes_at(Nanos::ZERO).unwrap()),
        lengths(&plain.routes_at(Nanos::ZERO).unwrap())
    );
}

#[test]
fn load_aware_paths_stay_between_assignments_and_make_a_timeline() {
    let spec = load_aware(8);
    let rule = |period| {
        let PathRule::LoadAware(rule) = load_aware(8).rule else { unreachable!() };
        PathRule::LoadAware(LoadRule { period: Nanos::from_secs(period), ..rule })
    };
    let changes = |spec: SkySpec| {
        let sky = Arc::new(Sky::new(spec).unwrap());
        let t = sky.timeline().unwrap();
        check(&t).unwrap();
        assert_eq!(t, sky.timeline().unwrap());
        sky.survey(&[0, 2, 4, 6].map(perigee_timeline::PairId))
            .unwrap()
            .iter()
            .map(|s| s.legs.len())
            .sum::<usize>()
    };
    let (often, rarely) = (changes(spec.clone()), changes(SkySpec { rule: rule(1000), ..spec }));
    assert!(rarely <= often, "{rarely} {often}");
}

#[test]
fn pairs_between_the_same_places_share_no_satellite() {
    let spec = SkySpec { rule: PathRule::Disjoint, ..crowd(3, 0.0) };
    let short = Sky::new(crowd(3, 0.0)).unwrap().routes_at(Nanos::ZERO).unwrap();
    let sky = Arc::new(Sky::new(spec).unwrap());
    check(&sky.timeline().unwrap()).unwrap();
    for second in [0, 7, 19] {
        let routes = sky.routes_at(Nanos::from_secs(second)).unwrap();
        let all: Vec<u32> = routes.iter().step_by(2).flatten().flat_map(|r| r.satellites.clone()).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{second} s");
        let l = lengths(&routes);
        assert!(l[0] < l[2] && l[2] < l[4], "{l:?}");
    }
    assert_eq!(sky.route_at(perigee_timeline::PairId(0), Nanos::ZERO).unwrap(), short[0]);
}

#[test]
fn tables_and_relays_are_refused_with_a_reason() {
    let refused = |spec: SkySpec| Sky::new(spec).unwrap_err().to_string();
    for rule in [PathRule::Disjoint, load_aware(2).rule] {
        let why = refused(SkySpec { rule: rule.clone(), routing: Routing::PerHop, ..crowd(2, 0.5) });
        assert!(why.contains("routing = \"per-path\""), "{why}");
        let mut relays = SkySpec { rule, ..crowd(2, 0.5) };
        relays.ground[0].relays = true;
        assert!(refused(relays).contains("relay = \"none\""));
    }
}
