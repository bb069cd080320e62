// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `p4/meter.p4` against the integer meter: its controls are interpreted, and all records are
//! identical to the bit.

mod parse;
mod run;

use perigee_telemetry::integer::{IntegerMeter, Tables, CELLS};
use perigee_telemetry::wire::rate_code;
use perigee_telemetry::{switch_id, Meter, Stamp, WireHop};
use perigee_units::{BitRate, Nanos};
use proptest::prelude::*;
use run::Switch;

const SOURCE: &str = include_str!("../../p4/meter.p4");
const SWITCH: u16 = 0x1234;

/// The program with the table entries of a control plane.
fn switch(bw: BitRate) -> Switch {
    let headers = [("hdr.block", "block_t"), ("hdr.record", "record_t")];
    let mut s = Switch::new(parse::parse(SOURCE), &headers, &[("meta.hash", 16), ("meta.payload", 16)]);
    let tables = Tables::default();
    s.fill("log_table", tables.log.map(u128::from));
    s.fill("exp_table", tables.exp.map(u128::from));
    s.fill("bw_code", [u128::from(rate_code(bw))]);
    s.fill("switch_id", [u128::from(SWITCH)]);
    s.fill("interval_number", [1]);
    s.fill("flow_count", [1]);
    s
}

/// Work of a control plane when the interval number wraps around.
fn clear_old_cells(s: &mut Switch) {
    if s.register("interval_number") == 0 {
        s.fill("cells", std::iter::repeat_n(0, CELLS));
        s.fill("interval_number", [1]);
    }
}

/// A packet at a port, `gap_us` after the previous one; it waits for `wait_us`.
#[derive(Clone, Copy, Debug)]
struct Packet {
    gap_us: u64,
    wait_us: u64,
    flow: u32,
    rtt_us: u32,
    cwnd: u16,
    payload: u32,
    found: u64,
    left: u64,
}

/// Compares both on the same packets, each enqueued and immediately dequeued.
fn compare(packets: &[Packet]) {
    let bw = BitRate::from_mbit(100);
    let (mut p4, mut meter, mut now) = (switch(bw), Meter::of(true), 0);
    for (i, p) in packets.iter().enumerate() {
        now += p.gap_us;
        let stamp = Stamp::coded(p.rtt_us, p.cwnd, p.payload);
        let q_in = meter.on_enqueue(Nanos::from_micros(now), &stamp, p.flow, p.found);
        for (field, value) in [
            ("hdr.block.base_rtt", u64::from(p.rtt_us)),
            ("hdr.block.cwnd", u64::from(p.cwnd)),
            ("meta.payload", u64::from(p.payload)),
            ("meta.hash", u64::from(switch_id(p.flow))),
            ("hdr.block.hops", 3),
            ("hdr.block.path_id", 0xff00),
        ] {
            p4.packet.insert(field.into(), u128::from(value));
        }
        p4.apply("Enqueue", &[u128::from(now)]);
        clear_old_cells(&mut p4);
        now += p.wait_us;
        let counted = p.payload + 59;
        let expected = meter.on_dequeue(Nanos::from_micros(now), q_in, p.left, bw, counted);
        p4.apply("Dequeue", &[now, p.found, p.left, u64::from(counted)].map(u128::from));
        clear_old_cells(&mut p4);
        assert_eq!(record(&p4), expected, "packet {i}: {p:?}");
        assert_eq!(p4.packet["hdr.block.hops"], 4);
        assert_eq!(p4.packet["hdr.block.path_id"], 0xff00 ^ u128::from(SWITCH));
    }
}

fn record(p4: &Switch) -> WireHop {
    let field = |name: &str| p4.packet[&format!("hdr.record.{name}")];
    WireHop {
        ts: field("ts") as u32,
        tx: field("tx") as u32,
        avg_rtt: field("avg_rtt") as u32,
        bw: field("bw") as u16,
        q_out: field("q_out") as u16,
        q_in: field("q_in") as u16,
        flows: field("flows") as u16,
        flags: field("flags") as u8,
    }
}

prop_compose! {
    fn packets()(gap_us in prop_oneof![0u64..300, 0u64..40_000, Just(3_000_000u64)],
                 wait_us in 0u64..5_000, flow in 0u32..60, rtt_us in prop_oneof![0u32..2, 1_000u32..0xf_ffff],
                 cwnd in any::<u16>(), payload in 0u32..9000, found in any::<u32>(), left in 0u64..70_000) -> Packet {
        Packet { gap_us, wait_us, flow, rtt_us, cwnd, payload, found: u64::from(found), left }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_record_of_the_p4_source_is_that_of_the_integer_meter(all in prop::collection::vec(packets(), 1..400)) {
        compare(&all);
    }
}

#[test]
fn so_are_those_of_more_flows_than_the_field_holds_and_of_numbers_that_come_round() {
    let at = |gap_us, flow, rtt_us| Packet {
        gap_us,
        wait_us: 0,
        flow,
        rtt_us,
        cwnd: 0x6123,
        payload: 1448,
        found: 1500,
        left: 0,
    };
    let many: Vec<Packet> = (0..10_000).map(|i| at(2, i % 5000, 50_000)).collect();
    compare(&many);
    // With a mean RTT of a microsecond there is an interval per packet: 65,536 of them.
    let short: Vec<Packet> = (0..66_000).map(|i| at(2, i % 3, 1)).collect();
    compare(&short);
}

#[test]
fn a_fault_in_the_source_is_noticed() {
    let faulty = SOURCE.replace("const int<32> SHIFT_AB = 57344;", "const int<32> SHIFT_AB = 57345;");
    assert_ne!(faulty, SOURCE);
    let tables = Tables::default();
    let headers = [("hdr.block", "block_t"), ("hdr.record", "record_t")];
    let mut s = Switch::new(parse::parse(&faulty), &headers, &[("meta.hash", 16), ("meta.payload", 16)]);
    s.fill("log_table", tables.log.map(u128::from));
    s.fill("exp_table", tables.exp.map(u128::from));
    let mut right = IntegerMeter::default();
    let fields = [("hdr.block.base_rtt", 600_000), ("hdr.block.cwnd", 0x6123), ("meta.payload", 1448)];
    s.packet.extend(fields.map(|(k, v)| (k.to_string(), v)));
    right.on_enqueue(&tables, 1, 600_000, 0x6123, 1448, 0);
    s.apply("Enqueue", &[1]);
    right.advance(&tables, 10_001);
    s.apply("Advance", &[10_001]);
    assert_ne!(s.register("avg_rtt"), u128::from(right.avg_rtt_us()));
}

/// The documentation page of the meter states its cost, which is counted here. (The parser supports
/// neither multiplication nor division.)
#[test]
fn operations_and_memory_are_those_that_the_page_states() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/explanation/integer-meter.md");
    let page = std::fs::read_to_string(page).expect("the page of the meter");
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let program = parse::parse(SOURCE);
    let bits = |name: &str| {
        let (t, cells) = program.registers[name];
        u64::from(t.width) * cells as u64
    };
    let shared: u64 = ["log_table", "exp_table"].into_iter().map(bits).sum();
    let every: u64 = program.registers.keys().map(|name| bits(name)).sum();
    let per_port = every - shared;
    for words in [format!("{} bits", per_port - bits("cells")), format!("{} bytes", shared / 8)] {
        assert!(page.contains(&words), "the page does not say {words:?}");
    }
    let mut s = switch(BitRate::from_mbit(100));
    for (k, v) in [("hdr.block.base_rtt", 50_000), ("hdr.block.cwnd", 0x6123), ("meta.payload", 1448)] {
        s.packet.insert(k.into(), v);
    }
    s.apply("Enqueue", &[5]);
    s.done.clear();
    s.apply("Enqueue", &[6]);
    s.apply("Dequeue", &[7, 3000, 1500, 1507]);
    let of = |names: &[&str]| names.iter().map(|n| s.done.get(*n).copied().unwrap_or(0)).sum::<u64>();
    let accesses: u64 = s.done.iter().filter(|(k, _)| k.contains('.')).map(|(_, n)| n).sum();
    let words = format!(
        "{} additions and subtractions, {} shifts, {} comparisons, {} register accesses",
        of(&["+", "-", "|+|"]),
        of(&["<<", ">>"]),
        of(&["==", "!=", "<", "<=", ">", ">="]),
        accesses
    );
    assert!(page.contains(&words), "the page does not say {words:?}");
}
