// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of the published system's behaviour.

use super::*;
use crate::closed_loop::{Loop, Path, MSS};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A single-layer policy that uses only the latest step.
fn linear(weights: [f32; FEATURES], bias: f32) -> String {
    let mut text = String::from("perigee-policy 1 input 50 dense 1\n");
    for w in std::iter::repeat_n(0.0, INPUTS - FEATURES).chain(weights) {
        write!(text, "{w} ").unwrap();
    }
    write!(text, "\n{bias} tanh end").unwrap();
    text
}

fn params(given: &[(&str, &str)], weights: Option<&str>) -> Params {
    let given: BTreeMap<_, _> =
        given.iter().map(|(k, v)| (k.to_string(), Value::Text(v.to_string()))).collect();
    let mut p = Params::new(PARAMS, given).unwrap();
    if let Some(text) = weights {
        p.attach(FILES, "weights", text).unwrap();
    }
    p
}

/// A policy that grows below 1.2 times the lowest RTT and shrinks above.
fn delay_policy() -> String {
    let mut weights = [0.0; FEATURES];
    weights[1] = -50.0;
    linear(weights, 60.0)
}

#[test]
fn the_action_moves_the_window_by_the_published_map() {
    for (cwnd, a, expected) in [
        (10, 0.5, 11),
        (10, -0.5, 9),
        (40, 1.0, 41),
        (41, 1.0, 43),
        (1000, 1.0, 1025),
        (1000, -1.0, 975),
        (39, 0.0, 39),
        (4, -1.0, 3),
    ] {
        assert_eq!(act(cwnd, a), expected, "{cwnd} {a}");
    }
    let steps = |from: u64, to: u64| {
        let mut cwnd = from;
        (1..).find(|_| {
            cwnd = act(cwnd, 1.0);
            cwnd >= to
        })
    };
    assert_eq!((steps(10, 400), steps(4, 400)), (Some(109), Some(115)));
}

#[test]
fn without_a_policy_the_initial_window_stands() {
    let p = params(&[("trained", "none")], None);
    let mut f = Loop::new(Path::new(100, 30), |init| Astraea::new(&p, init));
    f.run_s(3.0);
    assert_eq!((f.cwnd(), f.cc.mode(&f.w)), (10, "no policy"));
}

#[test]
fn our_own_policy_fills_a_link_with_low_delay_whatever_is_lost_at_random() {
    for (mbit, rtt_ms) in [(40, 100), (100, 30), (160, 60)] {
        let path = Path::new(mbit, rtt_ms);
        let mut f = Loop::new(path, |init| Astraea::new(&params(&[], None), init));
        f.run_s(15.0);
        let goodput = f.run_s(10.0);
        assert!(goodput > 0.9 * mbit as f64, "{mbit} Mbit/s, {rtt_ms} ms: {goodput}");
        let inflation = f.rtt().as_secs_f64() / path.rtt.as_secs_f64();
        assert!(inflation < 1.5, "{mbit} Mbit/s, {rtt_ms} ms: {inflation}");
    }
}

#[test]
fn weights_that_overflow_decide_nothing() {
    let text = format!("perigee-policy 1 input 50 dense 1 {} 0 leaky_relu 0.2 end", "3e38 -3e38 ".repeat(25));
    let p = params(&[], Some(&text));
    let mut f = Loop::new(Path::new(100, 30), |init| Astraea::new(&p, init));
    f.run_s(3.0);
    assert!(f.cwnd() >= MIN_CWND);
}

#[test]
fn decisions_follow_the_clock_whatever_the_rtt() {
    for rtt_ms in [10, 200] {
        // Always increases: the window counts the decisions while it is below 40 packets.
        let p = params(&[], Some(&linear([0.0; FEATURES], 20.0)));
        let mut f = Loop::new(Path::new(1000, rtt_ms), |init| Astraea::new(&p, init));
        f.run(Nanos::from_millis(599), |_| {});
        assert_eq!(f.cwnd(), 10 + 19, "{rtt_ms} ms: 599/30");
    }
}

#[test]
fn a_policy_on_delay_holds_the_rtt_where_it_turns() {
    let p = params(&[], Some(&delay_policy()));
    let path = Path::new(100, 30);
    let mut f = Loop::new(path, |init| Astraea::new(&p, init));
    f.run_s(20.0);
    let goodput = f.run_s(5.0);
    assert!(goodput > 90.0, "{goodput}");
    let inflation = f.rtt().as_secs_f64() / path.rtt.as_secs_f64();
    assert!((1.1..1.3).contains(&inflation), "{inflation}");
}

#[test]
fn features_are_the_published_ones_in_steady_state() {
    let p = params(&[], None);
    let init = ConnInit { now: Nanos::ZERO, mss: 1460, init_cwnd: 14_600, srtt: None, seed: 1, hz: 1000 };
    let mut a = Astraea::new(&p, &init);
    // 100 Mbit/s at 30 ms, an RTT of 1.2 times that, and a window of one BDP.
    let bdp = 12_500_000.0 * 0.036;
    let mut w = init.window();
    w.cwnd = bdp as u64;
    w.pacing = Some(BitRate::from_mbit(100));
    a.min_rtt_us = 30_000.0;
    a.max_tput = 12_500_000.0;
    let ms = Nanos::from_millis;
    let ev = AckEvent {
        rtt: Some(ms(36)),
        rs: RateSample { valid: true, delivered: 12_500, interval: ms(1), ..RateSample::default() },
        ..AckEvent::default()
    };
    let cx = Cx { now: ms(30), mss: 1460, srtt: ms(36), outstanding: w.cwnd, ..Cx::default() };
    a.measure(&cx, &ev);
    let f = a.see(&cx, &w).0;
    let expected = [1.0, 1.2, 1.2, 0.8 * 1.2, 1.25, 0.06, 0.0, 1.0, 1.0, 0.0];
    for (i, (x, y)) in f.iter().zip(expected).enumerate() {
        assert!((x - y).abs() < 5e-3, "feature {i}: {x}, expected {y}");
    }
    let empty = a.see(&Cx { srtt: Nanos::ZERO, ..cx }, &w).0;
    assert_eq!((empty[0], empty[1], empty[2]), (0.5, 2.0, 2.0));
}

#[test]
fn features_of_a_connection_that_knows_nothing() {
    let p = params(&[], None);
    let init = ConnInit { now: Nanos::ZERO, mss: 1448, init_cwnd: 14_480, srtt: None, seed: 1, hz: 1000 };
    let mut a = Astraea::new(&p, &init);
    let f = a.see(&Cx { now: Nanos(1), mss: 1448, ..Cx::default() }, &init.window()).0;
    assert_eq!(f, [0.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn a_longer_path_halves_the_rate_for_ever_unless_the_minimum_is_forgotten() {
    let run = |options: &[(&str, &str)]| {
        let p = params(options, Some(&delay_policy()));
        let mut f = Loop::new(Path::new(100, 30), |init| Astraea::new(&p, init));
        f.run_s(15.0);
        f.path = Path { buffer: 1000, ..Path::new(100, 60) };
        f.signal(&Signal::PathChange { id: 2 });
        f.run_s(15.0);
        f.run_s(5.0)
    };
    assert!(run(&[]) < 50.0);
    assert!(run(&[("lifetime", "on_hint")]) > 80.0);
    assert!(run(&[("lifetime", "window"), ("window", "3 s")]) > 80.0);
}

#[test]
fn fast_recovery_hardly_reduces_and_one_percent_of_loss_does_not_matter() {
    let p = params(&[], Some(&delay_policy()));
    let clean = Loop::new(Path::new(20, 30), |init| Astraea::new(&p, init)).run_s(20.0);
    let path = Path { loss: 0.01, ..Path::new(20, 30) };
    let mut f = Loop::new(path, |init| Astraea::new(&p, init));
    let lossy = f.run_s(20.0);
    assert!(lossy > 0.95 * clean, "{lossy} of {clean}");
    assert!(f.cc.retrans_out < 20 && f.lost > 100);
    let w = Window { cwnd: 4 * MSS, ..f.w };
    let cx = f.cx;
    assert_eq!(f.cc.ssthresh(&cx, &w), 10 * MSS);
}

#[test]
fn a_policy_of_another_shape_is_refused() {
    let mut p = params(&[], None);
    let e = p.attach(FILES, "weights", "perigee-policy 1 input 2 dense 1 1 2 3 end").unwrap_err();
    assert!(e.to_string().contains("2 inputs"), "{e}");
    assert!(p.attach(FILES, "weight", "").is_err());
}

#[test]
fn where_a_policy_starves_or_floods_cubic_takes_over_for_a_while() {
    let run = |bias: f32, guard: &str, seconds: f64| {
        let p = params(&[("guard", guard)], Some(&linear([0.0; FEATURES], bias)));
        let path = Path { buffer: 20, ..Path::new(10, 30) };
        let mut f = Loop::new(path, |init| Astraea::new(&p, init));
        let goodput = f.run_s(seconds) / 10.0;
        (goodput, f.lost, f.cc.guard.as_ref().map_or(0, Guard::faults))
    };
    let (alone, guarded) = (run(-20.0, "off", 20.0), run(-20.0, "on", 20.0));
    assert!(guarded.2 > 0 && guarded.0 > alone.0 + 0.2, "{alone:?} {guarded:?}");
    let (alone, guarded) = (run(20.0, "off", 6.0), run(20.0, "on", 6.0));
    assert!(guarded.2 > 0 && guarded.1 * 2 < alone.1, "{alone:?} {guarded:?}");
}

#[test]
fn a_policy_above_cubic_corrects_its_window_and_decides_nothing_in_slow_start() {
    let run = |bias: f32| {
        let p = params(&[("below", "cubic")], Some(&linear([0.0; FEATURES], bias)));
        let path = Path { loss: 0.002, ..Path::new(50, 40) };
        let mut f = Loop::new(path, |init| Astraea::new(&p, init));
        f.run_s(20.0)
    };
    // Cubic alone suffers from random loss; a policy that always increases slightly compensates for
    // it, whereas one that always decreases starves.
    let (down, cubic, up) = (run(-20.0), run(0.0), run(0.1));
    assert!(down < 0.5 * cubic && up > 1.3 * cubic, "{down} {cubic} {up}");
    let start = |bias: f32| {
        let p = params(&[("below", "cubic")], Some(&linear([0.0; FEATURES], bias)));
        let mut f = Loop::new(Path::new(1000, 200), |init| Astraea::new(&p, init));
        f.run(Nanos::from_millis(700), |_| {});
        f.cwnd()
    };
    assert!(start(-20.0) == start(20.0) && start(20.0) > 20, "slow start is Cubic's: {}", start(20.0));
}

#[test]
fn shipped_policies_and_schemes_of_files_are_what_they_say() {
    for text in [REPRODUCTION_TEXT, SATELLITE_TEXT] {
        let p = Policy::parse(text).unwrap();
        assert_eq!((p.inputs(), p.outputs()), (INPUTS, 1));
        assert!(text.len() < 1_000_000);
    }
    let own = crate::info("policy").unwrap().params(BTreeMap::new()).unwrap();
    assert!(policy_of(&own).is_none());
    let leo = crate::info("astraea_leo").unwrap().params(BTreeMap::new()).unwrap();
    assert_eq!((leo.choice("lifetime").as_str(), leo.choice("trained").as_str()), ("on_hint", "satellite"));
}
