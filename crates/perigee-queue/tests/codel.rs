// SPDX-License-Identifier: Apache-2.0 OR MIT
//! CoDel against the formulas of RFC 8289, computed independently.

mod support;
use perigee_queue::{Discipline, Ecn, Packet, Verdict, MTU};
use perigee_units::Nanos;
use support::*;

/// Verdict on a head that has waited for `sojourn`, with `left` bytes queued after it.
fn asked(d: &mut dyn Discipline, now: Nanos, sojourn: Nanos, left: u64, ecn: Ecn, again: bool) -> Verdict {
    let p: Packet = packet(1, now - sojourn, ecn);
    d.on_dequeue(&port(now, left + 1500), &p, again)
}

const DEEP: u64 = 1 << 20;

/// Instants, in steps of `step`, at which a queue that is always late is marked.
fn marks(d: &mut dyn Discipline, from: Nanos, to: Nanos, step: Nanos) -> Vec<Nanos> {
    let mut found = Vec::new();
    let mut now = from;
    while now < to {
        if asked(d, now, ms(20), DEEP, Ecn::Ect0, false) == Verdict::Mark {
            found.push(now);
        }
        now += step;
    }
    found
}

#[test]
fn drops_come_after_an_interval_and_then_at_distances_of_interval_over_the_root_of_their_count() {
    let mut d = made("codel", &[]);
    let found = marks(d.as_mut(), ms(50), ms(5000), us(10));
    // The first mark is one interval after the delay was first above the target.
    let mut expected = ms(150).0 as f64;
    assert_eq!(found[0], ms(150));
    for (n, at) in found.iter().enumerate().skip(1) {
        expected += 1e8 / (n as f64).sqrt();
        let late = at.0 as f64 - expected;
        assert!((-2000.0..10_000.0 + 1000.0).contains(&late), "{n}: {late} ns after {expected}");
    }
    // The sum of 1 / sqrt(k) up to n is 2 sqrt(n) - 1.46: 48.5 intervals contain ((48.5 + 1.46) /
    // 2)^2 marks.
    assert_eq!(found.len(), 624);
}

#[test]
fn target_and_interval_are_parameters_and_the_target_itself_is_late() {
    let given = [("target", text("2 ms")), ("interval", text("30 ms"))];
    let mut d = made("codel", &given);
    assert!((0..1000)
        .all(|t| asked(d.as_mut(), us(50_000 + 100 * t), us(1999), DEEP, Ecn::Ect0, false) == Verdict::Pass));
    let mut d = made("codel", &given);
    let found: Vec<u64> = (0..400)
        .filter(|t| {
            asked(d.as_mut(), us(50_000 + 100 * t), us(2000), DEEP, Ecn::Ect0, false) == Verdict::Mark
        })
        .collect();
    assert_eq!(found[0], 300);
}

#[test]
fn with_one_packet_left_or_less_nothing_is_dropped() {
    let mut d = made("codel", &[]);
    assert!(
        (0..3000).all(|t| asked(d.as_mut(), ms(50 + t), ms(40), MTU, Ecn::NotEct, false) == Verdict::Pass)
    );
    let mut d = made("codel", &[]);
    assert!((0..3000)
        .any(|t| asked(d.as_mut(), ms(50 + t), ms(40), MTU + 1, Ecn::NotEct, false) == Verdict::Drop));
}

/// A dropping state with `n` marks, left at the instant after its last mark; returns that instant
/// and the time of its next mark.
fn left_after(n: usize) -> (Box<dyn Discipline>, Nanos, Nanos) {
    let mut d = made("codel", &[]);
    let (mut now, mut seen, mut next) = (ms(50), 0, 0.0);
    while seen < n {
        assert!(now < ms(100_000), "no marks");
        if asked(d.as_mut(), now, ms(20), DEEP, Ecn::Ect0, false) == Verdict::Mark {
            seen += 1;
            next = if seen == 1 { now.0 as f64 + 1e8 } else { next + (1e8 / (seen as f64).sqrt()).floor() };
        }
        now += us(10);
    }
    assert_eq!(asked(d.as_mut(), now, ms(1), DEEP, Ecn::Ect0, false), Verdict::Pass);
    (d, now, Nanos(next as u64))
}

/// Interval between the first two marks of a dropping state that starts at `at`.
fn first_distance(d: &mut dyn Discipline, at: Nanos) -> Nanos {
    let found = marks(d, at - ms(100), at + ms(150), us(10));
    assert_eq!(found[0], at);
    found[1] - found[0]
}

#[test]
fn a_dropping_state_left_less_than_16_intervals_ago_continues_and_an_older_one_does_not() {
    // RFC 8289 section 5.5: within 16 intervals of the planned next drop, count resumes from the
    // number added in that state.
    let rounded = |n: f64| us((1e5 / n.sqrt() / 10.0).ceil() as u64 * 10);
    for (after, count) in [(ms(1590), 9.0), (ms(1600), 1.0), (ms(1700), 1.0)] {
        let (mut d, _, next) = left_after(10);
        // Ten marks: the first one entered the state with count 1, and nine were added.
        let at = Nanos((next.0 / 10_000 + 1) * 10_000) + after;
        let at = if after == ms(1590) { at } else { next + after };
        assert_eq!(first_distance(d.as_mut(), at), rounded(count), "{after} after");
    }
}

#[test]
fn a_state_to_which_one_drop_was_added_begins_anew() {
    for (marks, count) in [(2, 1.0), (3, 2.0)] {
        let (mut d, now, _) = left_after(marks);
        let distance = first_distance(d.as_mut(), now + ms(200));
        assert_eq!(distance, us((1e5f64 / f64::sqrt(count) / 10.0).ceil() as u64 * 10), "{marks}");
    }
}

#[test]
fn an_empty_queue_ends_the_state_and_the_time_above_the_target() {
    let mut d = made("codel", &[]);
    assert_eq!(marks(d.as_mut(), ms(50), ms(151), ms(1)).len(), 1);
    d.on_empty();
    // A full interval passes again before the next mark.
    let found = marks(d.as_mut(), ms(152), ms(300), ms(1));
    assert_eq!(found[0], ms(252));
}

#[test]
fn a_second_packet_at_the_same_opportunity_begins_no_state() {
    let mut d = made("codel", &[]);
    assert_eq!(asked(d.as_mut(), ms(50), ms(20), DEEP, Ecn::NotEct, false), Verdict::Pass);
    assert_eq!(asked(d.as_mut(), ms(150), ms(20), DEEP, Ecn::NotEct, true), Verdict::Pass);
    assert_eq!(asked(d.as_mut(), ms(150), ms(20), DEEP, Ecn::NotEct, false), Verdict::Drop);
}

/// One dequeue by Linux's published rule for marked packets (`codel_dequeue` with ECN), times in
/// nanoseconds.
#[derive(Default)]
struct Model {
    above: u64,
    dropping: bool,
    next: u64,
    count: u32,
    last: u32,
}

impl Model {
    fn dequeue(&mut self, now: u64, sojourn: u64, left: u64) -> bool {
        let law = |from: u64, count: u32| from + (1e8 / f64::from(count).sqrt()) as u64;
        let mut ok = false;
        if sojourn < 5_000_000 || left <= 1514 {
            self.above = 0;
        } else if self.above == 0 {
            self.above = now + 100_000_000;
        } else {
            ok = now >= self.above;
        }
        if self.dropping && !ok {
            self.dropping = false;
        } else if self.dropping && now >= self.next {
            self.count += 1;
            self.next = law(self.next, self.count);
            return true;
        } else if !self.dropping && ok {
            let delta = self.count - self.last;
            let recent = now.saturating_sub(self.next) < 16 * 100_000_000;
            self.count = if delta > 1 && recent { delta } else { 1 };
            (self.last, self.dropping) = (self.count, true);
            self.next = law(now, self.count);
            return true;
        }
        false
    }
}

#[test]
fn a_hundred_thousand_dequeues_of_a_wandering_queue_agree_with_the_published_rule() {
    let (mut d, mut model, mut draws) = (made("codel", &[]), Model::default(), Draws(7));
    let (mut now, mut delay, mut marked) = (ms(200), 5e6, 0);
    for i in 0..100_000 {
        now += Nanos(100_000 + draws.below(400_000));
        // A random walk around the target, with minutes without a queue.
        delay = (delay + (draws.next() - 0.495) * 2e6f64).clamp(0.0, 3e7);
        if i % 9000 < 2500 {
            delay = 1e6;
        }
        let left = if draws.next() < 0.001 { 1514 } else { 60_000 };
        let expected = model.dequeue(now.0, delay as u64, left);
        let found = asked(d.as_mut(), now, Nanos(delay as u64), left, Ecn::Ect1, false) == Verdict::Mark;
        assert_eq!(found, expected, "dequeue {i}");
        marked += u32::from(found);
    }
    assert!(marked > 200, "{marked}");
}
