// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Comparison of two timelines, with path logs.

use perigee_sources::leoem::{Hops, PathLog, PathOptions};
use perigee_timeline::diff::{diff, Diff, Names};
use perigee_timeline::*;
use perigee_units::Nanos;
use std::collections::BTreeMap;

const LOG: &str = "\
1$[-1, 7, 8, -2]$4$[0.001, 0.002, 0.003]$0.006
2$[-1, 7, 8, -2]$4$[0.001, 0.0025, 0.003]$0.0065
3$NULL
4$[-1, 9, -2]$3$[0.001, 0.004]$0.005
";

fn timeline(text: &str) -> Timeline {
    let options = PathOptions { hops: Hops::Nodes, ..Default::default() };
    PathLog::parse(text).unwrap().timeline(&options).unwrap()
}

fn compare(other: &str) -> Diff {
    diff(&timeline(LOG), &timeline(other), Nanos::from_millis(500), Nanos::from_millis(200))
}

#[test]
fn a_timeline_does_not_differ_from_itself() {
    let d = compare(LOG);
    assert!(d.is_empty(), "{d:?}");
    assert_eq!((d.pairs.len(), d.pairs[0].steps, d.pairs[0].both), (2, 8, 6));
    assert!((d.pairs[0].mean_ms[0] - (6.0 + 6.5 + 5.0) / 3.0).abs() < 1e-9);
}

#[test]
fn another_delay_another_way_and_another_gap_are_told_apart() {
    let slower = compare(&LOG.replace("0.0025, 0.003]$0.0065", "0.0035, 0.003]$0.0075"));
    let p = &slower.pairs[0];
    assert_eq!((p.same_way, p.first_difference_s), (8, None));
    assert!((p.largest_difference_ms - 1.0).abs() < 1e-9 && !slower.is_empty());
    assert_eq!((p.other_delay, slower.identical), (2, false));
    let detour = compare(&LOG.replace("4$[-1, 9, -2]", "4$[-1, 6, -2]"));
    assert_eq!((detour.pairs[1].same_way, detour.pairs[1].first_difference_s), (6, Some(3.0)));
    let gap = compare(&LOG.replace("2$[-1, 7, 8, -2]$4$[0.001, 0.0025, 0.003]$0.0065", "2$NULL"));
    assert_eq!((gap.pairs[0].only_a, gap.pairs[0].only_b), (2, 0));
    let unreachable = gap.notes.iter().find(|n| n.kind == "unreachable").unwrap();
    assert_eq!((unreachable.count, unreachable.alone), ([1, 1], [1, 1]), "it comes a second earlier");
}

#[test]
fn a_nanosecond_a_rate_and_an_outage_count() {
    let base = timeline(LOG);
    let against = |other: &Timeline| diff(&base, other, Nanos::from_millis(500), Nanos::from_millis(200));
    assert!(against(&base).identical);
    let mut later = base.clone();
    for c in &mut std::sync::Arc::make_mut(&mut later.chunks[0]).changes {
        if let Change::Delay(_, d) = &mut c.change {
            d.base += Nanos(1);
        }
    }
    let d = against(&later);
    assert!(d.pairs.iter().any(|p| p.other_delay > 0) && !d.is_empty(), "{d:?}");
    let mut faster = base.clone();
    faster.header.ports[0].spec.rate = perigee_units::BitRate::from_mbit(77);
    let d = against(&faster);
    assert!(d.ports.len() == 1 && d.ports[0].contains("77 Mbit") && !d.is_empty(), "{d:?}");
    let mut broken = base.clone();
    let down = Timed { at: Nanos::from_millis(700), change: Change::Down(LinkId(0), OutageMode::Flush) };
    std::sync::Arc::make_mut(&mut broken.chunks[0]).changes.insert(0, down);
    let d = against(&broken);
    assert_eq!(d.notes.iter().find(|n| n.kind == "down").map(|n| n.alone), Some([0, 1]), "{d:?}");
}

#[test]
fn every_property_of_a_port_counts() {
    let base = timeline(LOG);
    type Edit = fn(&mut PortSpec);
    let edits: [(&str, Edit); 10] = [
        ("rate", |spec| spec.rate = perigee_units::BitRate::from_mbit(77)),
        ("limit", |spec| spec.queue.limit = QueueLimit::Packets(7)),
        ("discipline", |spec| {
            spec.queue.discipline = Discipline { name: "codel".into(), ..Default::default() }.into()
        }),
        ("count_in_service", |spec| spec.queue.count_in_service ^= true),
        ("probe_priority", |spec| spec.queue.probe_priority ^= true),
        ("integer_meter", |spec| spec.queue.integer_meter ^= true),
        ("framing", |spec| spec.framing += 1),
        ("burst", |spec| spec.burst += 1),
        ("metered", |spec| spec.metered ^= true),
        ("telemetry_faults", |spec| spec.telemetry_faults = Some(Box::default())),
    ];
    for (property, edit) in edits {
        let mut other = base.clone();
        edit(&mut other.header.ports[0].spec);
        let d = diff(&base, &other, Nanos::from_millis(500), Nanos::from_millis(200));
        assert!(d.ports.len() == 1 && !d.is_empty(), "{property}: {d:?}");
    }
}

#[test]
fn names_of_one_tool_are_read_in_the_words_of_another() {
    let renamed = BTreeMap::from([("end1".to_string(), "london".to_string())]);
    let names = Names { renamed, shell: Some((24, 66)) };
    let read = |name| names.of(name);
    assert_eq!(read("end1"), "london");
    assert_eq!(read("node750"), "sat-11-24");
    assert_eq!(read("Starlink-550 67"), "sat-1-1");
    // Stations are numbered after the satellites.
    assert_eq!(read("node1584"), "node1584");
    assert_eq!(read("e7"), "e7");
    let other = names.apply(timeline(LOG));
    let d = diff(&timeline(LOG), &other, Nanos::from_millis(500), Nanos::ZERO);
    assert_eq!(d.pairs.len(), 0, "{d:?}");
    assert!(diff(&other, &other, Nanos::from_millis(500), Nanos::ZERO).is_empty());
}
