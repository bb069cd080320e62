// SPDX-License-Identifier: Apache-2.0 OR MIT
//! PIE against the formulas of RFC 8033, computed independently.

mod support;
use perigee_queue::pie::{Pie, UPDATE};
use perigee_queue::{Discipline, Ecn, Packet, Port, Verdict};
use perigee_units::params::Value;
use perigee_units::{BitRate, Nanos};
use support::*;

/// Bytes per millisecond at 100 Mbit/s.
const BYTES_PER_MS: f64 = 12_500.0;

fn pie(given: &[(&str, Value)]) -> Pie {
    Pie::new(&params("pie", given), &of_queue(1 << 30))
}

fn arrival(p: &mut Pie, now: Nanos, bytes: u64, draw: f64, ecn: Ecn) -> Verdict {
    p.on_arrival(&port(now, bytes), &Packet { draw, ..packet(1, now, ecn) })
}

/// Performs an update at each of `steps` instants, with that number of waiting bytes.
fn updated(p: &mut Pie, first: u64, steps: &[u64]) {
    for (i, &bytes) in steps.iter().enumerate() {
        p.on_dequeue(&port(UPDATE * (first + i as u64), bytes), &packet(1, Nanos::ZERO, Ecn::NotEct), false);
    }
}

/// Controller of section 4.2 with the safeguards of section 5; times in seconds.
#[derive(Clone, Copy, Default)]
struct Model {
    p: f64,
    old: f64,
    burst: f64,
}

impl Model {
    fn update(&mut self, delay: f64) {
        let mut step = 0.125 * (delay - 0.015) + 1.25 * (delay - self.old);
        let divisor = match self.p {
            p if p < 0.000001 => 2048.0,
            p if p < 0.00001 => 512.0,
            p if p < 0.0001 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        step /= divisor;
        if self.p >= 0.1 && step > 0.02 {
            step = 0.02;
        }
        self.p += step;
        if delay > 0.25 {
            self.p += 0.02;
        }
        if delay == 0.0 && self.old == 0.0 {
            self.p *= 0.98;
        }
        self.p = self.p.clamp(0.0, 1.0);
        self.burst = (self.burst - 0.015).max(0.0);
        if self.p == 0.0 && delay < 0.0075 && self.old < 0.0075 {
            self.burst = 0.15;
        }
        self.old = delay;
    }
}

#[test]
fn the_probability_of_a_wandering_queue_agrees_with_the_formulas() {
    for seed in 1..20 {
        let (mut p, mut model, mut draws) =
            (pie(&[]), Model { burst: 0.15, ..Model::default() }, Draws(seed));
        let mut delay_ms: f64 = 0.0;
        for i in 1..3000 {
            // The delay rises, falls, is constant or zero, and occasionally very long.
            delay_ms = match i % 700 {
                0..200 => delay_ms + draws.next() * 0.4,
                200..400 => (delay_ms + (draws.next() - 0.5) * 6.0).max(0.0),
                400..450 => 260.0 + draws.next(),
                450..600 => (delay_ms - draws.next() * 9.0).max(0.0),
                _ => 0.0,
            };
            let bytes = (delay_ms * BYTES_PER_MS) as u64;
            updated(&mut p, i, &[bytes]);
            model.update(bytes as f64 * 8.0 / 1e8);
            let (found, expected) = (p.probability(), model.p);
            assert!((found - expected).abs() <= 1e-9 * expected + 2e-15, "{i}: {found} {expected}");
        }
    }
}

#[test]
fn each_row_of_the_scaling_table_counts_below_its_limit() {
    // One update from p, with a constant delay of target + 8 ms: alpha * 8 ms / divisor.
    for (p, divisor) in
        [(0.5e-6, 2048.0), (0.5e-5, 512.0), (0.5e-4, 128.0), (0.5e-3, 32.0), (0.5e-2, 8.0), (0.05, 2.0)]
    {
        let mut x = pie(&[]);
        let mut i = 1;
        // Approaches p from below in small steps.
        while x.probability() < p {
            assert!(i < 100_000, "the probability does not rise");
            let more = if p > 1e-3 { 40.0 } else { 0.3 };
            updated(&mut x, i, &[((15.0 + more) * BYTES_PER_MS) as u64]);
            i += 1;
        }
        let bytes = (23.0 * BYTES_PER_MS) as u64;
        updated(&mut x, i, &[bytes]);
        let before = x.probability();
        let divisor_now =
            [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)]
                .iter()
                .find(|(below, _)| before < *below)
                .map_or(1.0, |(_, d)| *d);
        updated(&mut x, i + 1, &[bytes]);
        let step = x.probability() - before;
        assert!((step - 0.125 * 0.008 / divisor_now).abs() < 1e-12, "{p} {divisor} {divisor_now}: {step}");
    }
}

#[test]
fn a_burst_of_150_ms_passes_and_an_idle_queue_earns_it_again() {
    let mut p = pie(&[]);
    for i in 1..=9 {
        assert_eq!(arrival(&mut p, UPDATE * i, 1_250_000, 0.0, Ecn::NotEct), Verdict::Pass);
    }
    let mut i = 10;
    while i < 200 && arrival(&mut p, UPDATE * i, 1_250_000, 0.0, Ecn::NotEct) == Verdict::Pass {
        i += 1;
    }
    assert!(p.probability() > 0.0 && i < 200, "{i}");
    updated(&mut p, i + 1, &vec![0; 3000]);
    assert_eq!(p.probability(), 0.0);
    let later = i + 3002;
    for k in 0..9 {
        assert_eq!(arrival(&mut p, UPDATE * (later + k), 1_250_000, 0.0, Ecn::NotEct), Verdict::Pass);
    }
}

/// A PIE without burst allowance, with a probability above `p` and a queue of 40 ms, and the number
/// of its next update.
fn warmed(p: f64) -> (Pie, u64) {
    let mut x = pie(&[("burst_allowance", text("0 ns"))]);
    let mut i = 1;
    while x.probability() < p {
        assert!(i < 100_000, "the probability does not rise");
        updated(&mut x, i, &[(40.0 * BYTES_PER_MS) as u64]);
        i += 1;
    }
    (x, i)
}

#[test]
fn drops_are_neither_bunched_nor_far_apart() {
    let (mut x, i) = warmed(0.05);
    let (p, now) = (x.probability(), UPDATE * (i - 1));
    let bytes = (40.0 * BYTES_PER_MS) as u64;
    // Section 5.4: no drop until the accumulated probability is 0.85, whatever is drawn,
    let free = (0.85 / p).ceil() as usize - 1;
    let mut passed = 0;
    while passed < 1000 && arrival(&mut x, now, bytes, 0.0, Ecn::NotEct) == Verdict::Pass {
        passed += 1;
    }
    assert_eq!(passed, free);
    // and a drop at 8.5, whatever is drawn.
    let most = (8.5 / p).ceil() as usize - 1;
    let mut passed = 0;
    while passed < 1000 && arrival(&mut x, now, bytes, 0.999, Ecn::NotEct) == Verdict::Pass {
        passed += 1;
    }
    assert_eq!(passed, most);
    // In between, the draw decides.
    for _ in 0..free {
        assert_eq!(arrival(&mut x, now, bytes, 0.0, Ecn::NotEct), Verdict::Pass);
    }
    assert_eq!(arrival(&mut x, now, bytes, p, Ecn::NotEct), Verdict::Pass);
    assert_eq!(arrival(&mut x, now, bytes, p - 1e-9, Ecn::NotEct), Verdict::Drop);
}

fn first_verdict(x: &mut Pie, now: Nanos, bytes: u64, ecn: Ecn) -> Verdict {
    let told = (0..1000).map(|_| arrival(x, now, bytes, 0.0, ecn)).find(|v| *v != Verdict::Pass);
    told.unwrap_or(Verdict::Pass)
}

#[test]
fn what_can_be_marked_is_marked_below_ten_percent_and_dropped_from_there() {
    let bytes = (40.0 * BYTES_PER_MS) as u64;
    let (mut x, i) = warmed(0.09);
    assert!(x.probability() < 0.1);
    assert_eq!(first_verdict(&mut x, UPDATE * (i - 1), bytes, Ecn::Ect0), Verdict::Mark);
    let (mut x, i) = warmed(0.1);
    assert_eq!(first_verdict(&mut x, UPDATE * (i - 1), bytes, Ecn::Ect0), Verdict::Drop);
}

#[test]
fn nothing_is_dropped_with_two_packets_waiting_or_with_a_short_delay_and_little_probability() {
    let (mut x, i) = warmed(0.05);
    let now = UPDATE * (i - 1);
    assert_eq!(first_verdict(&mut x, now, 2 * 1514, Ecn::NotEct), Verdict::Pass);
    assert_eq!(first_verdict(&mut x, now, 2 * 1514 + 1, Ecn::NotEct), Verdict::Drop);
    // Section 5.1: half of the target delay, and 20 %.
    let half = (7.5 * BYTES_PER_MS) as u64;
    for (p, bytes, expected) in [
        (0.15, half - 100, Verdict::Pass),
        (0.15, half + 100, Verdict::Drop),
        (0.3, half - 100, Verdict::Drop),
    ] {
        let (mut x, i) = warmed(p);
        // The decrease of the delay lowers p by 1.25 * 32.5 ms = 4 %.
        updated(&mut x, i, &[bytes]);
        assert!((x.probability() < 0.2) == (p < 0.2), "{}", x.probability());
        assert_eq!(first_verdict(&mut x, UPDATE * i, bytes, Ecn::NotEct), expected, "{p} {bytes}");
    }
}

#[test]
fn updates_do_not_depend_on_when_they_are_asked_for() {
    let mut often = pie(&[]);
    let mut once = pie(&[]);
    (0..3000).for_each(|t| {
        arrival(&mut often, ms(t), 500_000, 1.0, Ecn::NotEct);
    });
    arrival(&mut once, ms(2999), 500_000, 1.0, Ecn::NotEct);
    assert_eq!(often.probability(), once.probability());
    assert!(once.probability() > 0.0);
    // After an hour without packets the next update comes within one period.
    let mut idle = pie(&[("burst_allowance", text("0 ns"))]);
    let hour = Nanos::from_secs(3600);
    arrival(&mut idle, hour, 0, 1.0, Ecn::NotEct);
    arrival(&mut idle, hour + UPDATE * 2, 12_500_000, 1.0, Ecn::NotEct);
    let two = |p: &Pie| p.probability();
    let mut fresh = pie(&[("burst_allowance", text("0 ns"))]);
    updated(&mut fresh, 1, &[12_500_000, 12_500_000]);
    assert_eq!(two(&idle), two(&fresh));
}

/// Number of updates that pass without a drop after a sudden queue of one second, preceded by
/// queues of `delays_ms`, one per update.
fn free_updates(delays_ms: &[f64]) -> u64 {
    let mut x = pie(&[]);
    let bytes: Vec<u64> = delays_ms.iter().map(|d| (d * BYTES_PER_MS) as u64).collect();
    updated(&mut x, 1, &bytes);
    let first = bytes.len() as u64 + 1;
    let passes =
        |i: &u64| first_verdict(&mut x, UPDATE * (first + i), 12_500_000, Ecn::NotEct) == Verdict::Pass;
    (0..50).take_while(passes).count() as u64
}

#[test]
fn the_burst_allowance_is_earned_by_two_short_delays_while_nothing_is_dropped() {
    // Section 4.4: 150 ms are ten updates, the tenth of which uses up the allowance.
    assert_eq!(free_updates(&[]), 9);
    // 10 ms are below the target, so nothing is dropped, but above half of it: the allowance is
    // used up.
    let used = [10.0; 10];
    let after = |more: &[f64]| free_updates(&[&used[..], more].concat());
    assert_eq!(free_updates(&used[..4]), 5);
    for more in [&[][..], &[7.0], &[10.0, 7.0], &[7.0, 10.0], &[7.0, 7.6], &[0.0]] {
        assert_eq!(after(more), 0, "{more:?}");
    }
    for more in [&[7.0, 7.0][..], &[0.0, 0.0], &[0.0, 0.0, 0.0, 0.0], &[7.0, 0.0]] {
        assert_eq!(after(more), 9, "{more:?}");
    }
    // While the probability is not zero, short delays do not restore the allowance: from more than
    // 80 % the decrease of the delay takes 37 %.
    assert_eq!(after(&[&[300.0; 60][..], &[7.0, 7.0]].concat()), 0);
}

#[test]
fn a_queue_that_empties_while_nothing_is_dropped_is_remembered_as_empty() {
    let mut x = pie(&[]);
    let at = |ms: f64| (ms * BYTES_PER_MS) as u64;
    updated(&mut x, 1, &[at(5.0), at(5.0), 0]);
    assert_eq!(x.probability(), 0.0);
    updated(&mut x, 4, &[at(20.0)]);
    let expected = (0.125 * 0.005 + 1.25 * 0.020) / 2048.0;
    assert!((x.probability() - expected).abs() < 1e-12, "{} {expected}", x.probability());
}

#[test]
fn two_percent_more_are_for_delays_above_250_ms() {
    for (bytes, more) in [(3_125_000, 0.0), (3_125_100, 0.02)] {
        let mut x = pie(&[]);
        updated(&mut x, 1, &[bytes]);
        let delay = bytes as f64 * 8.0 / 1e8;
        let expected = (0.125 * (delay - 0.015) + 1.25 * delay) / 2048.0 + more;
        assert!((x.probability() - expected).abs() < 1e-12, "{} {expected}", x.probability());
    }
}

#[test]
fn centuries_without_packets_are_passed_over() {
    let mut x = pie(&[]);
    let long = Nanos::from_secs(500 * 365 * 86_400) + ms(1);
    arrival(&mut x, long, 0, 1.0, Ecn::NotEct);
    assert_eq!(x.probability(), 0.0);
    // 10^12 updates were skipped; the next one comes within a period.
    arrival(&mut x, long + UPDATE, 1_250_000, 1.0, Ecn::NotEct);
    assert!(x.probability() > 0.0);
}

#[test]
fn a_blocked_port_counts_as_a_second_and_an_empty_one_as_nothing() {
    let at = |rate, bytes| {
        let mut x = pie(&[]);
        let port = Port { now: UPDATE, rate: BitRate(rate), bytes };
        x.on_dequeue(&port, &packet(1, Nanos::ZERO, Ecn::NotEct), false);
        x.probability()
    };
    assert_eq!(at(0, 1500), at(12_000, 1500));
    assert!(at(0, 1500) > 0.0);
    assert_eq!(at(0, 0), 0.0);
}
