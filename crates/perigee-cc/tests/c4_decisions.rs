// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Decisions of C4 compared with those of its authors' code.
//!
//! `c4/decisions.csv.gz` has the ACKs and losses of a simulated flow (3, 6 and 5 Mbit/s, 40, 90 and
//! 60 ms, random loss at the end), and after each ACK the window, pacing rate and state of `c4.c`
//! (private-octopus/picoquic 0a82f5f), compiled without the rest of picoquic, for the same input.
//!
//! Columns of a loss: bytes delivered, lost and in flight, now and when the packet was sent. Of an
//! ACK: bytes delivered, lost and in flight, smoothed RTT (µs), bytes acknowledged, RTT (µs), rate
//! sample (bytes, ns, bytes delivered before, lost since, in flight then), and the decisions (bytes,
//! bytes per second, state).

use flate2::read::GzDecoder;
use perigee_cc::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

const MSS: u64 = 1448;

fn text() -> String {
    let packed = include_bytes!("c4/decisions.csv.gz");
    let mut text = String::new();
    GzDecoder::new(&packed[..]).read_to_string(&mut text).expect("a gzip file of text");
    text
}

fn context(numbers: &[u64]) -> Cx {
    let (delivered, lost, in_flight) = (numbers[0], numbers[1], numbers[2]);
    let srtt = Nanos::from_micros(40_000);
    Cx { mss: MSS as u32, delivered, lost, in_flight, srtt, ..Cx::default() }
}

fn lose(c: &mut Controller, w: &mut Window, numbers: &[u64]) {
    let (delivered, lost, in_flight) = (numbers[3], numbers[4], numbers[5]);
    let tx = TxSnapshot { delivered, lost, in_flight, ..TxSnapshot::default() };
    let ev = LossEvent { bytes: MSS, tx, tag: 0, lost_total: numbers[1], kind: LossKind::Rack };
    c.on_loss(&context(numbers), w, &ev);
}

fn acknowledge(c: &mut Controller, w: &mut Window, numbers: &[u64]) {
    let rs = RateSample {
        valid: numbers[6] > 0,
        delivered: numbers[6],
        interval: Nanos(numbers[7]),
        prior_delivered: numbers[8],
        has_prior: true,
        lost_since_tx: numbers[9],
        tx_in_flight: numbers[10],
        ..RateSample::default()
    };
    let rtt = (numbers[5] > 0).then(|| Nanos::from_micros(numbers[5]));
    let cx = Cx { srtt: Nanos::from_micros(numbers[3]), ..context(numbers) };
    c.on_ack(&cx, w, &AckEvent { newly_acked: numbers[4], rtt, rs, ..AckEvent::default() });
}

#[test]
fn every_decision_of_the_authors_code_is_ours() {
    let init =
        ConnInit { now: Nanos::ZERO, mss: MSS as u32, init_cwnd: 10 * MSS, srtt: None, seed: 1, hz: 1000 };
    let scheme = info("c4").expect("a scheme of the list");
    let mut c = scheme.build(&scheme.params(BTreeMap::new()).expect("defaults"), &init);
    let mut w = init.window();
    c.on_start(&context(&[0; 3]), &mut w);
    let (mut decisions, mut states) = (0, BTreeSet::new());
    let text = text();
    for (number, line) in text.lines().enumerate().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let numbers: Vec<u64> = cells[1..].iter().map_while(|n| n.parse().ok()).collect();
        if cells[0] == "loss" {
            lose(&mut c, &mut w, &numbers);
            continue;
        }
        acknowledge(&mut c, &mut w, &numbers);
        let state = *cells.last().expect("a state");
        let pacing = w.pacing.expect("a rate").0 / 8;
        let line = number + 1;
        assert_eq!(c.mode(&w), state, "line {line}");
        assert!(w.cwnd.abs_diff(numbers[11].max(2 * MSS)) <= 2, "line {line}: {} {}", w.cwnd, numbers[11]);
        assert_eq!(pacing, numbers[12], "line {line}");
        decisions += 1;
        states.insert(state.to_string());
    }
    assert_eq!((decisions, states.len()), (5315, 5));
}
