// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Attachment: selection of a terminal's satellite, times of changes, lengths of outages.

use perigee_orbit::frames::{distance_m, SPEED_OF_LIGHT_M_S, WGS84};
use perigee_orbit::sky::policy::{Policy, Reselect, STARLINK_SLOTS};
use perigee_orbit::time::Epoch;
use perigee_orbit::*;
use perigee_timeline::store::check;
use perigee_timeline::{Change, GeoPoint, NodeId, Note, NoteKind, Timeline};
use perigee_units::Nanos;
use std::sync::Arc;

fn spec(attach: Policy, reselect: Reselect) -> SkySpec {
    let terminal = |name: &str, lat_deg, lon_deg| {
        GroundNode::new(name, GroundKind::Terminal, GeoPoint { lat_deg, lon_deg, height_m: 0.0 })
    };
    SkySpec {
        ground: vec![terminal("london", 51.507, -0.128), terminal("new-york", 40.713, -74.006)],
        pairs: vec![(0, 1), (1, 0)],
        duration: Nanos::from_secs(600),
        handover: Handover { outage: Outage::Fixed(Nanos::ZERO), ..Handover::default() },
        attach,
        reselect,
        ..SkySpec::default()
    }
}

fn timeline(spec: SkySpec) -> Timeline {
    let t = Arc::new(Sky::new(spec).unwrap()).timeline().unwrap();
    check(&t).unwrap();
    t
}

/// Handovers of London.
fn handovers(t: &Timeline) -> Vec<(f64, Note)> {
    let changes = t.chunks.iter().flat_map(|c| &c.changes);
    let note = |c: &perigee_timeline::Timed| match &c.change {
        Change::Note(n) if n.kind == NoteKind::Handover && n.node == Some(NodeId(0)) => {
            Some((c.at.as_secs_f64(), n.clone()))
        }
        _ => None,
    };
    changes.filter_map(note).collect()
}

fn count(attach: Policy, reselect: Reselect) -> usize {
    handovers(&timeline(spec(attach, reselect))).len()
}

/// Whether the former satellite is below the mask at that instant.
fn was_lost(sky: &Sky, at: f64, note: &Note) -> bool {
    let c = sky.constellation();
    let old = c.names.iter().position(|n| *n == note.text.split(" -> ").next().unwrap()).unwrap();
    let place = sky.spec().ground[0].place;
    let now = c.start.plus(Nanos::from_secs_f64(at));
    let p = c.motion.position(old, now).unwrap();
    perigee_orbit::frames::elevation_deg(WGS84.ecef(place), perigee_orbit::frames::up(place), p) < 25.0
}

#[test]
fn whoever_waits_for_the_longest_view_changes_least() {
    let longest = count(Policy::LongestVisibility, Reselect::WhenLost);
    assert!((2..=6).contains(&longest), "{longest} in ten minutes");
    for policy in [Policy::ShortestPath, Policy::Nearest, Policy::HighestElevation] {
        assert!(count(policy, Reselect::EachStep) > longest, "{policy:?}");
        assert!(count(policy, Reselect::WhenLost) < count(policy, Reselect::EachStep), "{policy:?}");
    }
}

#[test]
fn the_highest_satellite_of_one_shell_is_the_nearest_too() {
    let of = |policy| handovers(&timeline(spec(policy, Reselect::EachStep)));
    let (highest, nearest) = (of(Policy::HighestElevation), of(Policy::Nearest));
    assert!(highest.len().abs_diff(nearest.len()) <= 1, "{} {}", highest.len(), nearest.len());
}

#[test]
fn a_hold_time_separates_handovers() {
    let spec = spec(Policy::Nearest, Reselect::Hold(Nanos::from_secs(16)));
    let sky = Sky::new(spec.clone()).unwrap();
    let mut last_choice = 0.0;
    let all = handovers(&timeline(spec));
    assert!(all.len() > 3);
    for (at, note) in &all {
        let since = at - last_choice;
        let multiple = (since / 16.0).round() * 16.0;
        assert!(was_lost(&sky, *at, note) || (since - multiple).abs() < 0.05, "{since} s after the last");
        last_choice = *at;
    }
}

#[test]
fn slots_are_the_same_for_all_terminals_and_follow_the_calendar() {
    let start = Some(Epoch::parse("2024-05-05T10:00:00Z").unwrap());
    let spec = SkySpec { start, ..spec(Policy::HighestElevation, STARLINK_SLOTS) };
    let sky = Sky::new(spec.clone()).unwrap();
    let all = handovers(&timeline(spec));
    let in_slot = |at: &f64| ((at - 12.0).rem_euclid(15.0) - 0.0).abs() < 0.05;
    assert!(all.iter().filter(|(at, _)| in_slot(at)).count() > 5, "{all:?}");
    assert!(all.iter().all(|(at, note)| in_slot(at) || was_lost(&sky, *at, note)));
}

#[test]
fn hysteresis_means_fewer_handovers() {
    let with = |hysteresis| {
        let spec = SkySpec { hysteresis, ..spec(Policy::ShortestPath, Reselect::EachStep) };
        handovers(&timeline(spec)).len()
    };
    let (none, some) = (with(0.0), with(0.05));
    assert!(some < none && some > 0, "{none} without, {some} with");
}

#[test]
fn an_outage_of_signalling_is_three_times_the_delays_to_both_satellites() {
    let handover = Handover { per_delay: 3.0, outage: Outage::Fixed(Nanos::ZERO), ..Handover::default() };
    let spec = SkySpec { handover, ..spec(Policy::Nearest, Reselect::EachStep) };
    let sky = Sky::new(spec.clone()).unwrap();
    let c = sky.constellation();
    let all = handovers(&timeline(spec.clone()));
    assert!(!all.is_empty());
    for (at, note) in &all {
        let now = c.start.plus(Nanos::from_secs_f64(*at));
        let delay = |name: &str| {
            let sat = c.names.iter().position(|n| n == name).unwrap();
            let place = WGS84.ecef(spec.ground[0].place);
            distance_m(place, c.motion.position(sat, now).unwrap()) / SPEED_OF_LIGHT_M_S
        };
        let expected: f64 = 3.0 * note.text.split(" -> ").map(delay).sum::<f64>();
        assert!((note.value - expected).abs() < 1e-6, "{} against {expected}", note.value);
        // Two satellites at slant ranges of 550 to 1123 km: the formula yields 11 to 22.5 ms.
        assert!((0.011..0.023).contains(&note.value), "{}", note.value);
    }
}

#[test]
fn forced_handovers_occur_at_their_times_even_to_the_same_satellite() {
    let forced = Some(Recurrence { every: Nanos::from_secs(15), first: Nanos::from_secs(12) });
    let outage = Outage::Fixed(Nanos::from_millis(80));
    let spec = SkySpec {
        handover: Handover { forced, outage, ..Handover::default() },
        ..spec(Policy::LongestVisibility, Reselect::WhenLost)
    };
    let all = handovers(&timeline(spec.clone()));
    let at = |k: u64| 12.0 + 15.0 * k as f64;
    let on_time: Vec<_> = (0..39).filter(|&k| all.iter().any(|(t, _)| (t - at(k)).abs() < 1e-9)).collect();
    assert_eq!(on_time.len(), 39, "{all:?}");
    let same = all.iter().filter(|(_, n)| n.text.split(" -> ").all(|s| n.text.starts_with(s))).count();
    assert!(same > 30, "{same} of {} stay with their satellite", all.len());
    // Those of the selection itself are the same as without.
    let without = SkySpec { handover: Handover { forced: None, ..spec.handover.clone() }, ..spec };
    let moves = handovers(&timeline(without));
    assert!(moves.iter().all(|(t, n)| all.iter().any(|(u, m)| t == u && n.text == m.text)), "{moves:?}");
}

#[test]
fn recorded_outages_are_drawn_as_they_are() {
    let recorded = [30, 50, 70].map(Nanos::from_millis);
    let handover = Handover { outage: Outage::Recorded(recorded.into()), ..Handover::default() };
    let spec = SkySpec { handover, ..spec(Policy::ShortestPath, Reselect::EachStep) };
    let all = handovers(&timeline(spec));
    assert!(all.iter().all(|(_, n)| recorded.iter().any(|r| r.as_secs_f64() == n.value)));
    let kinds = recorded.iter().filter(|r| all.iter().any(|(_, n)| n.value == r.as_secs_f64()));
    assert!(kinds.count() >= 2, "{} handovers", all.len());
}

#[test]
fn impossible_choices_are_refused_in_words() {
    let refuse = |spec: SkySpec| Sky::new(spec).unwrap_err().to_string();
    let base = || spec(Policy::Nearest, Reselect::EachStep);
    let empty = Handover { outage: Outage::Recorded([].into()), ..Handover::default() };
    assert!(refuse(SkySpec { handover: empty, ..base() }).contains("none at all"));
    assert!(refuse(SkySpec { hysteresis: -0.1, ..base() }).contains("hysteresis"));
    let short = Reselect::Hold(Nanos::from_millis(10));
    assert!(refuse(SkySpec { reselect: short, ..base() }).contains("are chosen every"));
}

#[test]
fn a_station_with_one_dish_uses_the_nearest_satellite() {
    let mut one = spec(Policy::ShortestPath, Reselect::EachStep);
    one.duration = Nanos::from_secs(60);
    one.ground.iter_mut().for_each(|g| {
        g.kind = GroundKind::Station;
        g.dishes = Some(1);
    });
    let mut nearest = one.clone();
    nearest.attach = Policy::Nearest;
    nearest.ground.iter_mut().for_each(|g| g.dishes = None);
    let (a, b) = (timeline(one), timeline(nearest));
    assert_eq!(handovers(&a), handovers(&b));
}
