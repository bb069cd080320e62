// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Geometry against reference values calculated independently with Hypatia's rules (SGP4 with WGS72
//! over generated elements, ranges instead of elevations, soft attachment at both ends). Ignored if
//! the data is absent.

use perigee_orbit::frames::WGS72;
use perigee_orbit::links::visibility::Mask;
use perigee_orbit::motion::presets::STARLINK_SHELL1;
use perigee_orbit::motion::shell::{Phasing, Propagation, Shell};
use perigee_orbit::sky::policy::Policy;
use perigee_orbit::*;
use perigee_timeline::{Change, GeoPoint, NoteKind, PairId, Timeline};
use perigee_units::Nanos;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

fn reference(name: &str) -> Value {
    let folder = std::env::var_os("PERIGEE_SHARED_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = folder.join("reference").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn station(name: &str, lat_lon: &Value, range_m: f64) -> GroundNode {
    let degrees = |i: usize| lat_lon[i].as_f64().unwrap();
    let place = GeoPoint { lat_deg: degrees(0), lon_deg: degrees(1), height_m: 0.0 };
    GroundNode { mask: Mask::Range(range_m), ..GroundNode::new(name, GroundKind::Station, place) }
}

/// A sky configured like Hypatia.
fn hypatia(shell: Shell, revs_per_day: f64, attach: Policy, ground: [GroundNode; 2]) -> Arc<Sky> {
    let propagation = Propagation::Sgp4 { revs_per_day: Some(revs_per_day), epoch: None };
    let spec = SkySpec {
        satellites: Satellites::Shells(vec![Shell { propagation, ..shell }]),
        ellipsoid: WGS72,
        ground: ground.into(),
        pairs: vec![(0, 1), (1, 0)],
        attach,
        duration: Nanos::from_secs(200),
        ..SkySpec::default()
    };
    Arc::new(Sky::new(spec).unwrap())
}

/// Times and satellites of all paths; no satellites = no path.
fn paths(sky: &Arc<Sky>, t: &Timeline) -> Vec<(f64, Vec<u64>)> {
    let number = |name: &str| sky.constellation().names.iter().position(|n| n == name).unwrap() as u64;
    let words = |text: &str| text.split(' ').filter(|w| !w.is_empty()).map(number).collect();
    let first = sky.route_at(PairId(0), Nanos::ZERO).unwrap();
    let mut out = vec![(0.0, first.map_or(vec![], |r| r.satellites.iter().map(|&s| u64::from(s)).collect()))];
    for c in t.chunks.iter().flat_map(|c| &c.changes) {
        if let Change::Note(n) = &c.change {
            if matches!(n.kind, NoteKind::PathChange | NoteKind::Reachable | NoteKind::Unreachable)
                && c.at.0 > 0
            {
                out.push((c.at.as_secs_f64(), words(&n.text)));
            }
        }
    }
    out
}

fn expected_paths(events: &Value) -> Vec<(f64, Vec<u64>)> {
    let list = |v: &Value| v.as_array().map_or(vec![], |a| a.iter().map(|x| x.as_u64().unwrap()).collect());
    events.as_array().unwrap().iter().map(|e| (e["t_s"].as_f64().unwrap(), list(&e["path"]))).collect()
}

/// Round-trip times must always agree. So must paths, except if two paths around the Earth are
/// equally long and the last digits decide (`ties`).
fn compare(what: &str, sky: &Arc<Sky>, expected: &Value, ties: bool) {
    for (s, rtt) in expected["rtt_ms_each_second"].as_array().unwrap().iter().enumerate().step_by(5) {
        let found = sky.rtt_at(PairId(0), Nanos::from_secs(s as u64)).unwrap().map(Nanos::as_millis_f64);
        match (found, rtt.as_f64()) {
            (Some(a), Some(b)) => assert!((a - b).abs() < 0.005, "{what} at {s} s: {a} against {b} ms"),
            (a, b) => assert_eq!(a, b, "{what} at {s} s"),
        }
    }
    if !ties {
        let found = paths(sky, &sky.timeline().unwrap());
        let wanted = expected_paths(&expected["path_events"]);
        assert_eq!(found.len(), wanted.len(), "{what}");
        for (a, b) in found.iter().zip(&wanted) {
            assert!((a.0 - b.0).abs() < 0.15 && a.1 == b.1, "{what}: {a:?} against {b:?}");
        }
    }
}

#[test]
#[cfg_attr(
    not(reference_data),
    ignore = "the reference data is not there: PERIGEE_SHARED_DATA names its folder"
)]
fn the_pairs_of_the_study_take_the_reference_paths() {
    let all = reference("seed002_pairs_starlink550.json");
    let range = all["meta"]["constellation"]["max_gsl_m"].as_f64().unwrap();
    for pair in all["pairs"].as_array().unwrap() {
        let ground =
            || [station("a", &pair["src_lat_lon"], range), station("b", &pair["dst_lat_lon"], range)];
        for (policy, key) in [(Policy::ShortestPath, "shortest_path"), (Policy::Nearest, "nearest_satellite")]
        {
            let what = format!("{} {} km, {key}", pair["name"], pair["distance_km"]);
            let sky = hypatia(STARLINK_SHELL1, 15.19, policy, ground());
            // With nearest satellites, paths between distant ends often have an equally long twin
            // around the other side.
            compare(&what, &sky, &pair[key], policy == Policy::Nearest);
        }
    }
}

#[test]
#[cfg_attr(
    not(reference_data),
    ignore = "the reference data is not there: PERIGEE_SHARED_DATA names its folder"
)]
fn the_pairs_of_hypatias_paper_take_the_reference_paths() {
    let kuiper630 = Shell {
        altitude_m: 630e3,
        inclination_deg: 51.9,
        planes: 34,
        per_plane: 34,
        phasing: Phasing::HalfSlot,
        ..STARLINK_SHELL1
    };
    for (file, shell, revs_per_day, range) in [
        ("hypatia_pairs_kuiper630.json", kuiper630, 14.80, 1_260_000.0),
        ("hypatia_pairs_starlink550.json", STARLINK_SHELL1, 15.19, 1_089_686.4),
    ] {
        let all = reference(file);
        for pair in all["pairs"].as_array().unwrap() {
            let place = |key: &str| Value::from(pair[key].as_array().unwrap()[1..].to_vec());
            let ground = [station("a", &place("src"), range), station("b", &place("dst"), range)];
            let sky = hypatia(shell, revs_per_day, Policy::ShortestPath, ground);
            compare(&format!("{file}: {} {}", pair["src"], pair["dst"]), &sky, &pair["shortest_path"], false);
        }
    }
}
