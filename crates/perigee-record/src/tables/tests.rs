// SPDX-License-Identifier: Apache-2.0 OR MIT

use super::*;
use crate::table::Values;

#[test]
fn columns_say_what_they_mean_and_those_with_gaps_what_a_gap_means() {
    for t in record_tables().iter().chain([&PacketTable::SPEC]) {
        let empty = (t.empty)();
        for (spec, column) in t.columns.iter().zip(&empty.columns) {
            let name = format!("{}.{}", t.name, spec.name);
            assert_eq!((spec.name, spec.kind()), (column.name.as_str(), column.values.kind()), "{name}");
            assert_eq!(spec.null.is_empty(), column.valid.is_none(), "{name}: when is it null?");
            assert!(spec.help.trim().ends_with('.'), "{name}: {:?}", spec.help);
        }
    }
}

#[test]
fn units_are_told_by_names() {
    let unit = |table: &TableSpec, name: &str| {
        table.columns.iter().find(|c| c.name == name).map(|c| c.unit()).unwrap()
    };
    for (name, expected) in
        [("t_ns", "ns"), ("goodput_bps", "bit/s"), ("retransmits", "packets"), ("mode", "")]
    {
        assert_eq!(unit(&FlowTable::SPEC, name), expected, "{name}");
    }
    assert_eq!(unit(&LinkTable::SPEC, "drops_no_route"), "packets");
    assert_eq!(unit(&TrackTable::SPEC, "height_m"), "m");
}

#[test]
fn rows_become_columns() {
    let mut t = RttTable::default();
    t.push(RttRow { flow: 0, rtt_us: 50_000, count: 3 });
    let t = t.finish();
    assert_eq!((t.name, t.rows(), t.columns.len()), ("rtt", 1, 3));
    assert_eq!(t.columns[1].values, Values::U32(vec![50_000]));
}

#[test]
fn internals_of_different_schemes_share_a_table() {
    let mut i = Internals::default();
    i.push(&[("u", 1.0)]);
    i.push(&[]);
    i.push(&[("bw", 2.0), ("u", 3.0)]);
    let columns = i.finish();
    assert_eq!(columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["cc_bw", "cc_u"]);
    assert_eq!(columns[1].values, Values::F64(vec![1.0, 0.0, 3.0]));
    assert_eq!(columns[1].valid, Some(vec![true, false, true]));
}
