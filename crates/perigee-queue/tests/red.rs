// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RED against its formula: `p = max_p (avg - min) / (max - min)` between the thresholds.

mod support;
use perigee_queue::red::Red;
use perigee_queue::{Discipline, Ecn, Packet, Verdict};
use perigee_units::params::Value;
use perigee_units::Nanos;
use support::*;

fn red(given: &[(&str, Value)]) -> Red {
    Red::new(&params("red", given), &of_queue(36_000))
}

fn asked(r: &mut Red, queued: u64, draw: f64, ecn: Ecn) -> Verdict {
    r.on_arrival(&port(Nanos::ZERO, queued), &Packet { draw, ..packet(1, Nanos::ZERO, ecn) })
}

#[test]
fn the_probability_rises_linearly_between_the_thresholds() {
    // Defaults are half of the queue and the full queue: 18,000 and 36,000 bytes.
    let mut r = red(&[]);
    assert_eq!(asked(&mut r, 18_000, 0.0, Ecn::NotEct), Verdict::Pass);
    assert_eq!(asked(&mut r, 36_000, 0.999, Ecn::NotEct), Verdict::Drop);
    for queued in (18_100..36_000).step_by(100) {
        let p = 0.1 * (queued - 18_000) as f64 / 18_000.0;
        assert_eq!(asked(&mut r, queued, p - 1e-9, Ecn::NotEct), Verdict::Drop, "{queued}");
        assert_eq!(asked(&mut r, queued, p - 1e-9, Ecn::Ect0), Verdict::Mark, "{queued}");
        assert_eq!(asked(&mut r, queued, p + 1e-9, Ecn::Ect0), Verdict::Pass, "{queued}");
    }
    assert_eq!(asked(&mut r, 27_000, 0.05, Ecn::NotEct), Verdict::Pass, "draws lie in 0..1, without 1");
    assert_eq!(asked(&mut r, 36_000, 0.0, Ecn::Ect1), Verdict::Drop, "beyond, nothing is marked");
}

#[test]
fn a_floor_counts_where_the_line_is_lower() {
    let mut r = red(&[("red_p", Value::Float(0.5)), ("red_floor", Value::Float(0.25))]);
    assert_eq!(asked(&mut r, 18_000, 0.0, Ecn::NotEct), Verdict::Pass);
    assert_eq!(asked(&mut r, 18_001, 0.249, Ecn::NotEct), Verdict::Drop);
    assert_eq!(asked(&mut r, 18_001, 0.251, Ecn::NotEct), Verdict::Pass);
    // 0.5 * 16,200 / 18,000 = 0.45.
    assert_eq!(asked(&mut r, 34_200, 0.449, Ecn::NotEct), Verdict::Drop);
    assert_eq!(asked(&mut r, 34_200, 0.451, Ecn::NotEct), Verdict::Pass);
}

#[test]
fn the_average_moves_by_its_weight() {
    let mut r = red(&[("red_weight", Value::Float(0.25)), ("red_p", Value::Float(1.0))]);
    // 9,000, 15,750, 20,812.5: the third is the first above 18,000, by 0.15625 of the range.
    assert_eq!(asked(&mut r, 36_000, 0.0, Ecn::NotEct), Verdict::Pass);
    assert_eq!(asked(&mut r, 36_000, 0.0, Ecn::NotEct), Verdict::Pass);
    assert_eq!(asked(&mut r.clone(), 36_000, 0.1562, Ecn::NotEct), Verdict::Drop);
    assert_eq!(asked(&mut r, 36_000, 0.1563, Ecn::NotEct), Verdict::Pass);
    // An empty queue lowers the average by a quarter: 15,609.
    assert_eq!(asked(&mut r, 0, 0.0, Ecn::NotEct), Verdict::Pass);
}

#[test]
fn equal_thresholds_are_a_step() {
    let mut r = red(&[("red_min", text("9 kB")), ("red_max", text("9 kB"))]);
    assert_eq!(asked(&mut r, 9_000, 0.0, Ecn::NotEct), Verdict::Pass);
    assert_eq!(asked(&mut r, 9_001, 0.999, Ecn::NotEct), Verdict::Drop);
}
