// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Options of IOAM against the vectors that a protocol analyser reads (`tests/runs/test_ioam.py`).
//! `PERIGEE_BLESS=1` writes them.

use perigee_cc::{BitRate, Carrier, Nanos};
use perigee_telemetry::{ioam, uf16, wire, WireHeader, WireHop};
use std::fmt::Write;

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ioam.txt");

#[test]
fn options_are_those_of_the_vectors() {
    let hop = |ts: u32, tx: u32, backlog: u64| WireHop {
        ts,
        tx,
        q_in: uf16::encode(backlog),
        bw: wire::rate_code(BitRate::from_mbit(100)),
        avg_rtt: 50_000,
        flows: 3,
        ..WireHop::default()
    };
    let hops = [hop(3_000_000, 0x1111, 1500), hop(3_222_000, 0x2222, 0)];
    let head = WireHeader { hops: 2, path_id: 0x3333, base_rtt_us: 50_000, cwnd: uf16::encode(300_000) };
    let mut now = String::new();
    for (name, carrier) in
        [("ioam", Carrier::Ioam), ("ioam_rate", Carrier::IoamRate), ("ioam_snapshot", Carrier::IoamSnapshot)]
    {
        let area = ioam::options(carrier, Nanos::from_secs(20), &hops, 3, &head);
        let hex: String = area.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(now, "{name} {hex}").unwrap();
    }
    if std::env::var_os("PERIGEE_BLESS").is_some() {
        std::fs::write(VECTORS, &now).expect("the vectors can be written");
    }
    assert_eq!(std::fs::read_to_string(VECTORS).expect("the vectors of the repository"), now);
}
