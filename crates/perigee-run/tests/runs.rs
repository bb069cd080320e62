// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scenarios run from text to tables.

use perigee_record::observed::MARKED;
use perigee_record::{PacketKind, PacketSeen, RecordSink, SinkError, Table, Values};
use perigee_run::{record, run, Simulator};
use perigee_scenario::{Scenario, World};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

const DUMBBELL: &str = r#"[run]
duration = "10 s"
warmup = "2 s"
cc = ["newreno"]
[source.dumbbell]
rtt = "50 ms"
rtt_at = "ack-path"
[port.bottleneck]
rate = "20 Mbit"
queue = "1 bdp"
bdp_rtt = "50 ms"
[[flow]]
[[flow]]
name = "probe"
app = "ping"
"#;

fn world(text: &str, sets: &[&str]) -> World {
    let sets: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
    let scenario = Scenario::parse(text, "t.toml", Path::new(""), &sets).unwrap_or_else(|e| panic!("{e}"));
    World::build(Arc::new(scenario), 1).unwrap_or_else(|e| panic!("{e}"))
}

fn refused(text: &str, sets: &[&str]) -> String {
    let sets: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
    match Scenario::parse(text, "t.toml", Path::new(""), &sets) {
        Err(e) => e.to_string(),
        Ok(s) => World::build(Arc::new(s), 1).err().expect("should be refused").to_string(),
    }
}

fn number(tables: &[Table], table: &str, column: &str, row: usize) -> f64 {
    let table = tables.iter().find(|t| t.name == table).unwrap();
    let column = table.columns.iter().find(|c| c.name == column).unwrap();
    match &column.values {
        Values::U32(v) => f64::from(v[row]),
        Values::U64(v) => v[row] as f64,
        Values::F64(v) => v[row],
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_transfer_fills_its_bottleneck_and_the_record_says_so() {
    let w = world(DUMBBELL, &[]);
    assert_eq!(w.ports.iter().find(|p| p.class == "bottleneck").unwrap().queue_bytes, Some(125_000));
    let done = run(&w, "newreno", &Default::default(), None, &mut |_| true).unwrap();
    assert_eq!(done.manifest.conserved, Some(true), "{:?}", done.manifest);
    assert_eq!(done.manifest.warnings, [""; 0]);
    let t = &done.tables;
    let goodput =
        number(t, "flow_totals", "window_bytes", 0) * 8e9 / number(t, "flow_totals", "window_ns", 0);
    assert!((0.85..0.97).contains(&(goodput / 20e6)), "{goodput}");
    assert_eq!(number(t, "flow_totals", "capacity_bps", 0), 20e6);
    let inflation =
        number(t, "flow_totals", "inflation_sum", 0) / number(t, "flow_totals", "inflation_samples", 0);
    assert!((1.1..2.1).contains(&inflation), "{inflation}");
    assert!(number(t, "flow_totals", "rtt_samples", 1) > 50.0, "the probe measures too");
    let flows = t.iter().find(|t| t.name == "flows").unwrap();
    for name in ["cwnd_bytes", "in_flight_bytes", "delivery_rate_bps"] {
        let valid = flows.columns.iter().find(|c| c.name == name).unwrap().valid.as_ref().unwrap();
        // After a second, all connections have started.
        let known: Vec<bool> = valid.iter().skip(20).copied().collect();
        assert!(
            known.chunks(2).all(|rows| rows == [true, false]),
            "{name}: the transport knows, a probe does not"
        );
    }
}

/// ECN fields by kind of packet, and by whether the packet leaves.
#[derive(Default)]
struct Fields(BTreeSet<(&'static str, bool, u8)>);

impl RecordSink for Fields {
    fn batch(&mut self, _: Table) -> Result<(), SinkError> {
        Ok(())
    }
    fn wants_packets(&self) -> bool {
        true
    }
    fn packet(&mut self, p: &PacketSeen<'_>) -> Result<(), SinkError> {
        let kind = match p.kind {
            PacketKind::Data => "data",
            PacketKind::Ack => "ack",
            _ => "probe",
        };
        self.0.insert((kind, p.leaving, p.ecn));
        Ok(())
    }
}

#[test]
fn packets_carry_their_ecn_field_for_captures() {
    let fields = |cc: &str, sets: &[&str]| {
        let mut seen = Fields::default();
        let sets = [&["port.bottleneck.discipline=codel", "run.duration=4 s"], sets].concat();
        record(&world(DUMBBELL, &sets), cc, &Simulator::default(), &mut seen, None, &mut |_| true).unwrap();
        seen.0.into_iter().filter(|f| f.0 == "data").map(|f| (f.1, f.2)).collect::<Vec<_>>()
    };
    // 1 is ECT(1), 2 is ECT(0); packets that leave are not marked yet.
    assert_eq!(fields("cubic", &[]), [(false, 0), (true, 0)]);
    assert_eq!(fields("cubic", &["tcp.ecn=true"]), [(false, 2), (false, MARKED), (true, 2)]);
    assert_eq!(fields("prague", &[]), [(false, 1), (false, MARKED), (true, 1)]);
    let mut seen = Fields::default();
    let w = world(DUMBBELL, &["run.duration=4 s", "tcp.ecn=true"]);
    record(&w, "cubic", &Simulator::default(), &mut seen, None, &mut |_| true).unwrap();
    assert!(seen.0.iter().filter(|f| f.0 != "data").all(|f| f.2 == 0), "RFC 3168: only data");
}

#[test]
fn equal_runs_have_equal_hashes_and_a_seed_changes_a_random_one() {
    let hashes = |sets: &[&str], seed| {
        let scenario = Scenario::parse(
            DUMBBELL,
            "t",
            Path::new(""),
            &sets.iter().map(|s| s.to_string()).collect::<Vec<_>>(),
        );
        let w = World::build(Arc::new(scenario.unwrap()), seed).unwrap();
        run(&w, "newreno", &Default::default(), None, &mut |_| true).unwrap().manifest.tables
    };
    let loss: &[&str] = &["source.dumbbell.loss=0.001", "run.duration=4 s"];
    assert_eq!(hashes(loss, 1), hashes(loss, 1));
    assert_ne!(hashes(loss, 1), hashes(loss, 2));
}

#[test]
fn a_run_can_be_stopped_and_says_so() {
    let w = world(DUMBBELL, &[]);
    let done = run(&w, "newreno", &Default::default(), None, &mut |now| now.0 < 1_000_000_000).unwrap();
    assert!(done.outcome.stopped);
    assert_eq!(done.manifest.conserved, Some(true), "packets are where they are at that instant");
    assert!(done.manifest.warnings[0].contains("stopped"), "{:?}", done.manifest);
}

#[test]
fn what_can_only_be_known_with_the_network_is_refused_too() {
    for (set, words) in [
        ("port.botleneck.rate=1 Mbit", "did you mean \"bottleneck\""),
        ("port.r1->r3.rate=1 Mbit", "no such port"),
        ("change=[{at=\"1 s\", rate=\"1 Mbit\", on=\"r9\"}]", "no such bottleneck: \"r9\""),
        ("flow=[{from=\"s1\", to=\"d2\"}]", "no such host: \"d2\""),
        ("flow=[{from=\"d1\", to=\"s1\"}]", "ok"),
        ("flow=[{name=\"a\"}, {name=\"a\"}]", "duplicate name of a flow"),
        ("schedule={file=\"nowhere.csv\"}", "cannot read nowhere.csv: no such file"),
        ("schedule={every=\"1 ms\", rate=\"1 Mbit\"}", "ok"),
    ] {
        if words == "ok" {
            world(DUMBBELL, &[set]);
            continue;
        }
        let e = refused(DUMBBELL, &[set]);
        assert!(e.contains(words), "{set}: {e}");
    }
}

#[test]
fn what_would_fill_the_memory_is_refused_with_its_number() {
    let jitter = "jitter={preset=\"geo\", loss_every=\"1 us\"}";
    let e = refused(DUMBBELL, &["run.duration=20 s", jitter]);
    assert!(e.contains("jitter.loss_every: about 20000000 loss events"), "{e}");
    let schedule = "schedule={every=\"1 ms\", rtt=\"uniform(30 ms, 50 ms)\"}";
    let e = refused(DUMBBELL, &["source.dumbbell.pairs=1000", schedule]);
    assert!(e.contains("10000 steps on 4002 links make 40020000 changes"), "{e}");
}

#[test]
fn changes_reach_the_record_as_events() {
    let text = format!(
        "{DUMBBELL}[[change]]\nat = \"3 s\"\nrate = \"10 Mbit\"\n[[change]]\nat = \"5 s\"\noutage = \"200 ms\"\n"
    );
    let done = run(&world(&text, &[]), "newreno", &Default::default(), None, &mut |_| true).unwrap();
    let events = done.tables.iter().find(|t| t.name == "events").unwrap();
    let Values::Words(kinds) = &events.columns[1].values else { panic!() };
    for kind in ["reconfiguration", "outage-begin", "outage-end", "flow-start"] {
        assert!(kinds.words.iter().any(|w| w == kind), "{kind}: {:?}", kinds.words);
    }
    let capacity = number(&done.tables, "flow_totals", "capacity_bps", 0);
    assert!((12e6..14e6).contains(&capacity), "{capacity}");
}

#[test]
fn a_capture_holds_the_handshake_and_every_packet_of_the_sender() {
    let path = std::env::temp_dir().join(format!("perigee-capture-{}.pcapng", std::process::id()));
    let w = world(DUMBBELL, &["run.duration=500 ms", "run.warmup=0 s", "run.sample=100 ms"]);
    run(&w, "newreno", &Default::default(), Some(&path), &mut |_| true).unwrap();
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!(bytes > 10_000, "{bytes}");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn base_rtts_and_payload_shares_are_those_of_the_packets_that_a_flow_sends() {
    let flows =
        "flow=[{bytes=\"1 B\"}, {app=\"ping\", size=100}, {app=\"cbr\", rate=\"10 kbit\", size=128}, \
                 {app=\"request\", object=\"uniform(1 B, 20 B)\", objects=3}]";
    let w = world(DUMBBELL, &[flows, "run.warmup=0 s", "port.bottleneck.rate=1 Mbit"]);
    let done = run(&w, "newreno", &Default::default(), None, &mut |_| true).unwrap();
    let of = |column: &str, flow| number(&done.tables, "flow_totals", column, flow);
    // 52 bytes of IP and TCP header with timestamps, 28 of IP and UDP or ICMP.
    for (flow, share) in [1.0 / 53.0, 72.0 / 100.0, 100.0 / 128.0, 20.0 / 72.0].into_iter().enumerate() {
        assert!((of("payload_share", flow) - share).abs() < 1e-9, "{flow}: {}", of("payload_share", flow));
    }
    for flow in [0, 1, 3] {
        let inflation = of("inflation_sum", flow) / of("inflation_samples", flow);
        assert!((0.995..1.1).contains(&inflation), "{flow}: {inflation}");
    }
}
