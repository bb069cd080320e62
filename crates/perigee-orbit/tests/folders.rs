// SPDX-License-Identifier: Apache-2.0 OR MIT
//! State folders of Hypatia: round trips, and errors on damaged files.

use perigee_orbit::interop::hypatia::{read_folder, write_folder};
use perigee_orbit::*;
use perigee_timeline::diff::diff;
use perigee_timeline::store::check;
use perigee_timeline::{ChunkSource, GeoPoint, Timeline};
use perigee_units::Nanos;
use std::path::PathBuf;
use std::sync::Arc;

/// A folder removed on drop.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("perigee-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Temporary(folder)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn sky() -> Arc<Sky> {
    let station = |name: &str, lat_deg, lon_deg| {
        let place = GeoPoint { lat_deg, lon_deg, height_m: 0.0 };
        let range = links::visibility::Mask::Range(1_089_686.4);
        GroundNode { mask: range, ..GroundNode::new(name, GroundKind::Station, place) }
    };
    let propagation = motion::shell::Propagation::Sgp4 { revs_per_day: Some(15.19), epoch: None };
    let shell = motion::shell::Shell { propagation, ..motion::presets::STARLINK_SHELL1 };
    let spec = SkySpec {
        satellites: Satellites::Shells(vec![shell]),
        ellipsoid: frames::WGS72,
        ground: vec![
            station("manila", 14.6042, 120.9822),
            station("dalian", 38.9228, 121.6298),
            station("pole", 89.0, 0.0),
        ],
        pairs: vec![(0, 1), (1, 0)],
        duration: Nanos::from_secs(20),
        ..SkySpec::default()
    };
    Arc::new(Sky::new(spec).unwrap())
}

#[test]
fn a_sky_that_is_written_and_read_takes_the_same_paths() {
    let folder = Temporary::new("hypatia");
    let sky = sky();
    write_folder(&sky, &folder.0).unwrap();
    let state = read_folder(&folder.0, None).unwrap();
    assert_eq!((state.spec.step, state.spec.duration), (Nanos::from_millis(100), Nanos::from_secs(20)));
    let recorded = state.paths(&[(0, 1), (1, 0)]).unwrap();
    assert_eq!(
        state.paths(&[(0, 2)]).unwrap(),
        state.paths(&[(2, 0)]).unwrap(),
        "no way to the pole or back"
    );
    let read = Arc::new(Sky::new(SkySpec { pairs: vec![(0, 1), (1, 0)], ..state.spec.clone() }).unwrap());
    let mut stream = read.replay(recorded);
    let mut chunks = Vec::new();
    while let Some(chunk) = stream.next_chunk().unwrap() {
        chunks.push(chunk);
    }
    let again = Timeline { header: read.header(), chunks };
    check(&again).unwrap();
    let d = diff(&sky.timeline().unwrap(), &again, Nanos::from_millis(100), Nanos::ZERO);
    for p in &d.pairs {
        // Element sets have four decimals of a degree, which is a few metres.
        assert!(p.same_way == p.steps && p.largest_difference_ms < 1e-3, "{p:?}");
    }
    assert!(d.notes.iter().all(|n| n.alone == [0, 0]), "{:?}", d.notes);
}

#[test]
fn a_damaged_folder_is_refused_with_its_file() {
    let folder = Temporary::new("damaged");
    write_folder(&sky(), &folder.0).unwrap();
    let error = || match read_folder(&folder.0, None) {
        Ok(state) => state.paths(&[(0, 1)]).map(|_| ()).unwrap_err(),
        Err(e) => e,
    };
    let state = folder.0.join("dynamic_state_100ms_for_20s");
    let late = state.join("fstate_500000000.txt");
    let good = std::fs::read_to_string(&late).unwrap();
    std::fs::write(&late, "1584,1585,9999,0,0\n").unwrap();
    assert!(error().contains("fstate_500000000.txt: line 1"), "{}", error());
    std::fs::write(&late, "1584,1585,3,0,0\n3,1585,4,0,0\n4,1585,3,0,0\n").unwrap();
    assert!(error().contains("comes to node 3 twice"), "{}", error());
    std::fs::write(&late, "1584,1585,3,0,0\n3,1585,700,0,0\n").unwrap();
    assert!(
        error().contains("satellite 3 sends to satellite 700, to which isls.txt has no link"),
        "{}",
        error()
    );
    std::fs::write(&late, "1584,1585,1586,0,0\n").unwrap();
    assert!(error().contains("station 1584 sends to station 1586"), "{}", error());
    std::fs::write(&late, good).unwrap();
    let isls = std::fs::read_to_string(folder.0.join("isls.txt")).unwrap();
    std::fs::write(folder.0.join("isls.txt"), format!("{isls}5 5\n")).unwrap();
    assert!(error().contains("\"5 5\" is not a pair of satellites, 0 to 1583"), "{}", error());
    std::fs::write(folder.0.join("isls.txt"), isls).unwrap();
    for (name, part) in [
        ("isls.txt", "cannot read"),
        ("tles.txt", "cannot read"),
        ("description.txt", "cannot read"),
        ("ground_stations.txt", "cannot read"),
    ] {
        let (from, to) = (folder.0.join(name), folder.0.join("aside"));
        std::fs::rename(&from, &to).unwrap();
        assert!(error().contains(part) && error().contains(name), "{}", error());
        std::fs::rename(&to, &from).unwrap();
    }
    let promise = "20 s every 100 ms are 200 files, fstate_0.txt to fstate_19900000000.txt; there are ";
    for gone in ["fstate_19900000000.txt", "fstate_700000000.txt", "fstate_0.txt"] {
        let aside = folder.0.join("aside");
        std::fs::rename(state.join(gone), &aside).unwrap();
        assert!(error().contains(&format!("{gone} is missing: {promise}199")), "{}", error());
        std::fs::rename(&aside, state.join(gone)).unwrap();
    }
    std::fs::write(state.join("fstate_50000000.txt"), "").unwrap();
    assert!(
        error().contains(&format!("fstate_50000000.txt is between the steps: {promise}201")),
        "{}",
        error()
    );
    std::fs::remove_file(state.join("fstate_50000000.txt")).unwrap();
    std::fs::write(state.join("fstate_20000000000.txt"), "").unwrap();
    assert!(error().contains("fstate_20000000000.txt is behind the end"), "{}", error());
    std::fs::remove_file(state.join("fstate_20000000000.txt")).unwrap();
    // Entries absent at an instant are unchanged since an earlier one.
    let first = std::fs::read_to_string(state.join("fstate_0.txt")).unwrap();
    let cut: String =
        first.lines().filter(|l| !l.starts_with("1584,1585,")).map(|l| format!("{l}\n")).collect();
    std::fs::write(state.join("fstate_0.txt"), cut).unwrap();
    assert!(error().contains("fstate_0.txt: no line up to here tells where node 1584"), "{}", error());
    std::fs::remove_dir_all(state).unwrap();
    assert!(error().contains("there is no folder dynamic_state_"), "{}", error());
}

#[test]
fn what_a_folder_cannot_hold_is_refused() {
    let folder = Temporary::new("refused");
    let mut spec = sky().spec().clone();
    spec.attach = sky::policy::Policy::Nearest;
    let error = write_folder(&Arc::new(Sky::new(spec.clone()).unwrap()), &folder.0).unwrap_err();
    assert!(error.contains("follows the shortest path"), "{error}");
    spec.isls = Isls::of(Pattern::Nearest(4));
    let error = write_folder(&Arc::new(Sky::new(spec).unwrap()), &folder.0).unwrap_err();
    assert!(error.contains("come and go"), "{error}");
}
