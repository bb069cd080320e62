// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compatibility with other tools, against their published results. Ignored if the data is absent.

use perigee_orbit::interop::{self, leoem};
use perigee_orbit::*;
use perigee_sources::leoem::PathLog;
use perigee_timeline::{GeoPoint, PairId};
use perigee_units::Nanos;
use std::sync::Arc;

#[path = "../../perigee-sources/src/testdata.rs"]
#[allow(dead_code)]
mod testdata;
use testdata::read;

fn place(lat_deg: f64, lon_deg: f64) -> GeoPoint {
    GeoPoint { lat_deg, lon_deg, height_m: 0.0 }
}

/// Stations of the OrbCC study, by name.
fn gateways(text: &str) -> Vec<GroundNode> {
    let general = text.lines().filter(|l| l.starts_with("General,"));
    let station = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let n = cells.len();
        let at = place(cells[n - 2].parse().unwrap(), cells[n - 1].parse().unwrap());
        GroundNode::new(format!("{} {}", cells[1], cells[2..n - 2].join(",")), GroundKind::Station, at)
    };
    general.map(station).collect()
}

#[test]
#[cfg_attr(
    not(reference_data),
    ignore = "the reference data is not there: PERIGEE_SHARED_DATA names its folder"
)]
fn orbtcp_compat_has_the_base_round_trips_of_the_study() {
    let text = read("orbtcp/ground_stations_experiment8.csv");
    let ground = gateways(&text);
    assert_eq!(ground.len(), 100);
    // Numbers of the two stations, whether ISLs are used, and mean, minimum and maximum RTT over
    // 300 s in steps of 1 s.
    let expected = [
        ((0, 1), true, 18.06, 14.05, 21.19),
        ((1, 2), true, 30.95, 30.30, 31.72),
        ((0, 2), true, 32.31, 30.93, 33.73),
        ((2, 3), true, 42.84, 42.22, 44.32),
        ((0, 4), true, 81.60, 78.79, 86.33),
        ((2, 56), true, 15.89, 14.86, 17.23),
        ((29, 2), true, 15.51, 14.73, 16.20),
        ((0, 1), false, 18.06, 14.05, 21.19),
        ((1, 2), false, 35.88, 35.55, 36.32),
        ((0, 2), false, 36.55, 35.92, 43.67),
    ];
    for isls in [true, false] {
        let rows: Vec<_> = expected.iter().filter(|e| e.1 == isls).collect();
        let mut spec = SkySpec {
            ground: ground.clone(),
            pairs: rows.iter().flat_map(|e| [e.0, (e.0 .1, e.0 .0)]).collect(),
            isls: Isls::of(if isls { Pattern::PlusGrid } else { Pattern::None }),
            step: Nanos::from_secs(1),
            duration: Nanos::from_secs(300),
            ..SkySpec::default()
        };
        assert!(interop::apply("orbtcp-compat", &mut spec, &|_| false));
        let sky = Arc::new(Sky::new(spec).unwrap());
        let pairs: Vec<PairId> = (0..rows.len()).map(|i| PairId(2 * i as u32)).collect();
        for (row, found) in rows.iter().zip(sky.survey(&pairs).unwrap()) {
            let rtts: Vec<f64> = found.rtts.iter().map(|r| r.expect("a path").as_millis_f64()).collect();
            let mean = rtts.iter().sum::<f64>() / rtts.len() as f64;
            let (least, most) = rtts.iter().fold((f64::MAX, 0.0f64), |(a, b), &r| (a.min(r), b.max(r)));
            println!("{:?} ISLs {isls}: {mean:.3} ({least:.3} - {most:.3}) against {row:?}", row.0);
            // Nine of ten are within 0.5 %; San Diego to New York over ISLs is 0.53 % below.
            assert!((mean / row.2 - 1.0).abs() < 0.001, "{row:?}: {mean}");
            assert!((least / row.3 - 1.0).abs() < 0.004 && (most / row.4 - 1.0).abs() < 0.0005, "{row:?}");
        }
    }
}

/// Fraction of identical rows, and median error of the RTT in milliseconds.
fn likeness(file: &str, ends: [&str; 2], way: &leoem::Transit) -> (f64, f64) {
    let published = PathLog::parse(&read(&format!("leoem/paths/{file}"))).unwrap();
    let end = |name: &str| {
        let (_, lat, lon) = leoem::ENDS.iter().find(|e| e.0 == name).unwrap();
        place(*lat, *lon)
    };
    let ours = leoem::path_log(ends.map(end), way, published.seconds.len() as u32);
    let mut same = 0;
    let mut errors = Vec::new();
    for (a, b) in published.seconds.iter().zip(&ours.seconds) {
        same += usize::from(a.as_ref().map(|p| &p.nodes) == b.as_ref().map(|p| &p.nodes));
        if let (Some(a), Some(b)) = (a, b) {
            errors.push((a.rtt().as_millis_f64() - b.rtt().as_millis_f64()).abs());
        }
    }
    errors.sort_by(f64::total_cmp);
    let share = same as f64 / published.seconds.len() as f64;
    println!(
        "{file}: {:.1} % identical rows, median error {:.4} ms",
        share * 100.0,
        errors[errors.len() / 2]
    );
    (share, errors[errors.len() / 2])
}

#[test]
#[cfg_attr(
    not(reference_data),
    ignore = "the reference data is not there: PERIGEE_SHARED_DATA names its folder"
)]
fn leoem_compat_rebuilds_the_published_paths_over_isls() {
    for (file, ends) in [
        ("Starlink_SD_NY_15_ISL_path.log", ["San Diego", "New York"]),
        ("Starlink_SEA_NY_15_ISL_path.log", ["Seattle", "New York"]),
        ("Starlink_SD_Shanghai_15_ISL_path.log", ["San Diego", "Shanghai"]),
    ] {
        let (share, error) = likeness(file, ends, &leoem::Transit::Isls);
        assert!(share >= 0.9 && error < 0.05, "{file}: {share}, {error} ms");
    }
}

#[test]
#[cfg_attr(
    not(reference_data),
    ignore = "the reference data is not there: PERIGEE_SHARED_DATA names its folder"
)]
fn leoem_compat_rebuilds_the_published_paths_over_relays() {
    let text = read("leoem/aux/ground_stations.csv");
    let station = |line: &str| {
        let cells: Vec<f64> = line.split(',').map(|c| c.trim().parse().unwrap()).collect();
        place(cells[1], cells[2])
    };
    let mut places: Vec<GeoPoint> = text.lines().skip(1).map(station).collect();
    // The list was reordered after the logs were generated: its last station used to be number
    // 1629.
    let last = places.pop().unwrap();
    places.insert(1629 - 1584, last);
    let relays = leoem::Transit::Relays(places);
    for (file, ends) in [
        ("Starlink_SD_NY_15_BP_path.log", ["San Diego", "New York"]),
        ("Starlink_SD_SEA_15_BP_path.log", ["San Diego", "Seattle"]),
    ] {
        let (share, error) = likeness(file, ends, &relays);
        assert!(share >= 0.9 && error < 0.05, "{file}: {share}, {error} ms");
    }
}

#[test]
fn leoem_compat_has_the_isl_delays_of_the_first_second() {
    let ends = [place(32.8825, -117.2378), place(40.8473, -73.9319)];
    let log = leoem::path_log(ends, &leoem::Transit::Isls, 1);
    let path = log.seconds[0].as_ref().unwrap();
    assert_eq!(path.nodes, [-1, 750, 749, 748, 747, 813, 879, 945, 1011, -2]);
    for (delay, expected) in path.delays[1..].iter().zip([2.194, 2.193, 2.192, 4.304]) {
        assert!((delay.as_millis_f64() - expected).abs() < 0.005, "{delay} against {expected} ms");
    }
}
