// SPDX-License-Identifier: Apache-2.0 OR MIT
//! DualPI2 against the facts and formulas of RFC 9332, computed independently.

mod support;
use perigee_queue::dualpi2::DualPi2;
use perigee_queue::{info, Discipline, Ecn, Packet, Queues, Verdict};
use perigee_units::params::Value;
use perigee_units::Nanos;
use support::*;

const UPDATE: Nanos = ms(16);

fn dual(given: &[(&str, Value)]) -> DualPi2 {
    DualPi2::new(&params("dualpi2", given), &of_queue(1 << 30))
}

fn push(d: &mut DualPi2, id: u32, at: Nanos, ecn: Ecn) {
    let mut lost = Vec::new();
    d.push(at, packet(id, at, ecn), true, &mut lost);
    assert!(lost.is_empty());
}

/// Removes the head; returns it with its verdict.
fn take(d: &mut DualPi2, now: Nanos) -> Option<(Packet, Verdict)> {
    let head = d.head()?;
    assert_eq!(d.head(), Some(head), "asked twice, it is the same one");
    let verdict = d.on_dequeue(&port(now, 0), &head, false);
    assert_eq!(d.take(), Some(head));
    Some((head, verdict))
}

/// Runs the n-th update of the controller with heads that have waited for `classic` and `scalable`.
fn update(d: &mut DualPi2, n: u64, classic: Nanos, scalable: Nanos) {
    let at = UPDATE * n;
    let mut lost = Vec::new();
    d.flush(at - Nanos(1), 0, &mut lost);
    for (waited, ecn) in [(classic, Ecn::Ect0), (scalable, Ecn::Ect1)] {
        if waited > Nanos::ZERO {
            // The packet carries its arrival time.
            d.push(at - Nanos(1), packet(1, at - waited, ecn), true, &mut lost);
        }
    }
    d.flush(at, 0, &mut lost);
}

/// A controller with a base probability above `p`, and the number of its next update.
fn warmed(p: f64, given: &[(&str, Value)]) -> (DualPi2, u64) {
    let mut d = dual(given);
    let mut n = 1000;
    while d.probability() < p {
        assert!(n < 100_000, "the probability does not rise");
        update(&mut d, n, ms(31), Nanos::ZERO);
        n += 1;
    }
    (d, n)
}

#[test]
fn the_defaults_are_the_published_ones() {
    let all = info("dualpi2").unwrap().resolve(Default::default(), &of_queue(1)).unwrap();
    for (name, value) in [
        ("target", text("15 ms")),
        ("tupdate", text("16 ms")),
        ("alpha", Value::Float(0.16)),
        ("beta", Value::Float(3.2)),
        ("coupling", Value::Float(2.0)),
        ("step", text("1 ms")),
        ("classic_protection", Value::Float(0.1)),
        ("overload", text("drop")),
    ] {
        assert_eq!(all[name], value, "{name}");
    }
}

#[test]
fn ect1_and_ce_are_scalable_and_ect0_and_not_ect_are_classic() {
    let mut d = dual(&[]);
    for (id, ecn) in [(1, Ecn::NotEct), (2, Ecn::Ect0), (3, Ecn::Ect1), (4, Ecn::Ce)] {
        push(&mut d, id, ms(1), ecn);
    }
    let order: Vec<u32> = (0..4).map(|_| take(&mut d, ms(1)).unwrap().0.id).collect();
    assert_eq!(order, [3, 4, 1, 2], "the L queue goes first, each in order of arrival");
    assert!(take(&mut d, ms(1)).is_none());
}

#[test]
fn the_base_probability_follows_the_proportional_integral_controller() {
    let (mut d, mut draws) = (dual(&[]), Draws(3));
    let (mut p, mut old) = (0.0f64, 0.0);
    let mut delay_ms: f64 = 0.0;
    for n in 1000..4000u64 {
        delay_ms =
            if n % 500 < 350 { (delay_ms + (draws.next() - 0.48) * 8.0).clamp(0.0, 400.0) } else { 0.0 };
        let classic = Nanos((delay_ms * 1e6) as u64);
        // The longer sojourn time of the two heads counts (appendix A.2).
        let scalable = if n % 7 == 0 { classic + ms(3) } else { classic / 2 };
        update(&mut d, n, classic, scalable);
        let q = classic.max(scalable).as_secs_f64();
        p = (p + 0.16 * (q - 0.015) + 3.2 * (q - old)).clamp(0.0, 1.0);
        old = q;
        assert!((d.probability() - p).abs() < 1e-9, "{n}: {} {p}", d.probability());
    }
}

#[test]
fn a_queue_that_empties_while_nothing_is_dropped_is_remembered_as_empty() {
    // 5 ms and 0 keep p' at 0; the following 20 ms count as growth from 0, not from 5 ms.
    let mut d = dual(&[]);
    update(&mut d, 1000, ms(5), Nanos::ZERO);
    update(&mut d, 1001, Nanos::ZERO, Nanos::ZERO);
    assert_eq!(d.probability(), 0.0);
    update(&mut d, 1002, ms(20), Nanos::ZERO);
    let expected = 0.16 * 0.005 + 3.2 * 0.020;
    assert!((d.probability() - expected).abs() < 1e-12, "{}", d.probability());
}

#[test]
fn updates_come_every_tupdate_whenever_they_are_asked_for() {
    // A packet that waits for 200 ms: twelve updates, at 16, 32, ... 192 ms.
    let (mut once, mut often) = (dual(&[]), dual(&[]));
    for d in [&mut once, &mut often] {
        push(d, 1, ms(1), Ecn::NotEct);
    }
    (2..=200).for_each(|t| d_flush(&mut often, ms(t)));
    d_flush(&mut once, ms(200));
    let (mut p, mut old) = (0.0f64, 0.0);
    for n in 1..=12 {
        let q = 0.016 * f64::from(n) - 0.001;
        p = (p + 0.16 * (q - 0.015) + 3.2 * (q - old)).max(0.0);
        old = q;
    }
    assert!((once.probability() - p).abs() < 1e-12, "{} {p}", once.probability());
    assert_eq!(once.probability(), often.probability());
    // After an hour without packets the update times are still multiples of the period.
    let mut idle = dual(&[]);
    let hour = UPDATE * 225_000;
    push(&mut idle, 1, hour + ms(1), Ecn::NotEct);
    d_flush(&mut idle, hour + ms(200));
    assert!((idle.probability() - p).abs() < 1e-12, "{} {p}", idle.probability());
}

#[test]
fn years_without_packets_are_passed_over() {
    // 3 x 10^13 updates; the update times are still multiples of the period.
    let mut d = dual(&[("tupdate", text("1 us"))]);
    let year = Nanos::from_secs(365 * 86_400);
    d_flush(&mut d, year);
    push(&mut d, 1, year, Ecn::NotEct);
    d_flush(&mut d, year + us(1));
    assert_eq!(d.probability(), 0.0);
    d_flush(&mut d, year + ms(20));
    assert!(d.probability() > 0.0);
}

fn d_flush(d: &mut DualPi2, now: Nanos) {
    d.flush(now, 99, &mut Vec::new());
}

/// Fractions of the verdicts on `n` packets of a kind that hardly wait, at the current p'.
fn shares(d: &mut DualPi2, now: Nanos, ecn: Ecn, n: u32) -> [f64; 3] {
    let mut count = [0.0; 3];
    for id in 0..n {
        push(d, id, now, ecn);
        let (_, verdict) = take(d, now).unwrap();
        count[verdict as usize] += 1.0 / f64::from(n);
    }
    count
}

#[test]
fn scalable_marks_are_coupled_linearly_and_classic_signals_by_the_square() {
    for target in [0.05, 0.2, 0.4] {
        let (mut d, n) = warmed(target, &[]);
        let (p, now) = (d.probability(), UPDATE * (n - 1));
        assert!(p < 0.5);
        let near = |found: [f64; 3], expected: [f64; 3]| {
            assert!(
                found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 2e-4),
                "{p}: {found:?} {expected:?}"
            );
        };
        // Verdicts: pass, mark, drop.
        near(shares(&mut d, now, Ecn::Ect1, 10_000), [1.0 - 2.0 * p, 2.0 * p, 0.0]);
        near(shares(&mut d, now, Ecn::Ect0, 10_000), [1.0 - p * p, p * p, 0.0]);
        near(shares(&mut d, now, Ecn::NotEct, 10_000), [1.0 - p * p, 0.0, p * p]);
        assert_eq!(d.probability(), p);
    }
    let (mut d, n) = warmed(0.1, &[("coupling", Value::Float(4.0))]);
    let p = d.probability();
    assert!((shares(&mut d, UPDATE * (n - 1), Ecn::Ect1, 10_000)[1] - 4.0 * p).abs() < 2e-4);
}

#[test]
fn signals_are_spread_evenly() {
    // recur() of appendix A.1: with probability 2 p' a mark follows each time the sum passes 1.
    let (mut d, n) = warmed(0.1, &[]);
    let (step, now) = (2.0 * d.probability(), UPDATE * (n - 1));
    let mut owed = 0.0;
    for id in 0..1000 {
        owed += step;
        push(&mut d, id, now, Ecn::Ect1);
        let marked = take(&mut d, now).unwrap().1 == Verdict::Mark;
        assert_eq!(marked, owed > 1.0, "{id}");
        owed -= f64::from(u8::from(marked));
    }
}

#[test]
fn what_waits_longer_than_the_step_is_marked_unless_nothing_is_behind_it() {
    let mut d = dual(&[]);
    for id in 0..6 {
        push(&mut d, id, ms(1), Ecn::Ect1);
    }
    assert_eq!(take(&mut d, ms(2)).unwrap().1, Verdict::Pass, "exactly 1 ms is not longer");
    // The first packet for which a mark is due brings the sum to 1, not beyond.
    assert_eq!(take(&mut d, us(2001)).unwrap().1, Verdict::Pass);
    for _ in 0..3 {
        assert_eq!(take(&mut d, us(2001)).unwrap().1, Verdict::Mark);
    }
    assert_eq!(take(&mut d, us(2001)).unwrap().1, Verdict::Pass, "the last one");
    let mut d = dual(&[("step", text("3 ms"))]);
    (0..9).for_each(|id| push(&mut d, id, ms(1), Ecn::Ect1));
    assert!((0..8).all(|_| take(&mut d, ms(4)).unwrap().1 == Verdict::Pass));
}

#[test]
fn a_step_does_not_lower_what_the_coupling_asks_for() {
    let (mut d, n) = warmed(0.4, &[]);
    let now = UPDATE * (n - 1);
    (0..1000).for_each(|id| push(&mut d, id, now - ms(5), Ecn::Ect1));
    let marked = (0..999).filter(|_| take(&mut d, now).unwrap().1 == Verdict::Mark).count();
    assert!(marked >= 998, "{marked}");
}

#[test]
fn in_overload_scalable_packets_are_dropped_like_classic_ones() {
    let (mut d, n) = warmed(0.5, &[]);
    let (p, now) = (d.probability(), UPDATE * (n - 1));
    assert!((0.5..0.6).contains(&p));
    let found = shares(&mut d, now, Ecn::Ect1, 10_000);
    assert!((found[2] - p * p).abs() < 2e-4, "{found:?}");
    assert!(found[0] < 2e-4, "the rest is marked: {found:?}");
    // ECN-capable packets are dropped (p_C has reached 1 / k^2).
    let found = shares(&mut d, now, Ecn::Ect0, 10_000);
    assert!((found[2] - p * p).abs() < 2e-4 && found[1] == 0.0, "{found:?}");
}

#[test]
fn without_drops_in_overload_the_base_probability_stops_where_all_are_marked() {
    let (mut d, n) = warmed(0.5, &[("overload", text("overflow"))]);
    (n..n + 50).for_each(|n| update(&mut d, n, ms(300), Nanos::ZERO));
    assert_eq!(d.probability(), 0.5);
    let now = UPDATE * (n + 49);
    let found = shares(&mut d, now, Ecn::Ect1, 1000);
    assert!(found[2] == 0.0 && found[1] > 0.99, "{found:?}");
    let found = shares(&mut d, now, Ecn::Ect0, 10_000);
    assert!((found[1] - 0.25).abs() < 2e-4 && found[2] == 0.0, "{found:?}");
}

#[test]
fn the_classic_queue_sends_its_protected_share_against_any_scalable_traffic() {
    for protection in [0.1, 0.25] {
        let mut d = dual(&[("classic_protection", Value::Float(protection)), ("step", text("100 s"))]);
        for id in 0..4000 {
            push(&mut d, id, ms(1), Ecn::Ect1);
            push(&mut d, id, ms(1), Ecn::NotEct);
        }
        let classic = (0..2000).filter(|_| take(&mut d, ms(2)).unwrap().0.ecn == Ecn::NotEct).count();
        assert!((classic as f64 / 2000.0 - protection).abs() < 0.002, "{protection}: {classic}");
    }
}

#[test]
fn without_protection_the_classic_queue_waits_for_an_empty_scalable_one() {
    let mut d = dual(&[("classic_protection", Value::Float(0.0))]);
    push(&mut d, 1, ms(1), Ecn::NotEct);
    (2..50).for_each(|id| push(&mut d, id, ms(1), Ecn::Ect1));
    let order: Vec<u32> = (0..49).map(|_| take(&mut d, ms(1)).unwrap().0.id).collect();
    assert_eq!(order[48], 1);
}

#[test]
fn an_idle_port_forgets_whose_turn_it_was() {
    // Before the classic queue has credit, a packet of 1,514 bytes and 80 % are spent.
    let alone = |d: &mut DualPi2| {
        (0..40).for_each(|id| push(d, id, ms(1), Ecn::Ect1));
        push(d, 99, ms(1), Ecn::NotEct);
        let order: Vec<u32> = (0..41).map(|_| take(d, ms(1)).unwrap().0.id).collect();
        assert!(take(d, ms(1)).is_none());
        order.iter().position(|&id| id == 99).unwrap()
    };
    let mut d = dual(&[]);
    // At 0.1 * 1,500 bytes per scalable packet, nine of them pay for 0.8 * 1,514.
    assert_eq!((alone(&mut d), alone(&mut d)), (9, 9));
}

#[test]
fn a_packet_without_room_is_lost_and_a_link_that_goes_down_takes_its_own() {
    let mut d = dual(&[]);
    let mut lost = Vec::new();
    d.push(ms(1), packet(7, ms(1), Ecn::Ect1), false, &mut lost);
    assert_eq!(lost.len(), 1);
    assert!(d.head().is_none());
    for (id, ecn) in [(1, Ecn::Ect1), (2, Ecn::NotEct), (3, Ecn::Ect1), (4, Ecn::NotEct)] {
        d.push(ms(1), Packet { link: id / 3, ..packet(id, ms(1), ecn) }, true, &mut lost);
    }
    lost.clear();
    d.flush(ms(2), 0, &mut lost);
    assert_eq!(lost.iter().map(|p| p.id).collect::<Vec<_>>(), [1, 2]);
    let mut left = Vec::new();
    d.queues().unwrap().for_each(&mut |p| left.push(p.id));
    assert_eq!(left, [3, 4]);
    assert!(d.queues_mut().is_some());
}
