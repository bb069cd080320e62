// SPDX-License-Identifier: Apache-2.0 OR MIT

use super::*;
use crate::closed_loop::{Loop, Path, MSS};
use std::collections::BTreeMap;

fn flow(path: Path) -> Loop<C4> {
    let params = Params::defaults(PARAMS);
    Loop::new(path, |init| C4::new(&params, init))
}

fn c4() -> C4 {
    flow(Path::new(20, 50)).cc
}

/// Names of the states in the order in which they are entered.
fn states(f: &mut Loop<C4>, seconds: f64) -> Vec<&'static str> {
    let mut found = vec![];
    f.run(Nanos::from_secs_f64(seconds), |f| {
        let mode = f.cc.mode(&f.w);
        if found.last() != Some(&mode) {
            found.push(mode);
        }
    });
    found
}

#[test]
fn sensitivity_is_0_at_50_kb_per_s_0_94_at_1_mb_per_s_and_1_from_10_mb_per_s() {
    let of = |rate| sensitivity(rate) as f64 / 1024.0;
    assert_eq!((of(0), of(49_999), of(50_000)), (0.0, 0.0, 0.0));
    assert!((of(525_000) - 0.47).abs() < 0.001, "{}", of(525_000));
    assert!((of(1_000_000) - 0.94).abs() < 0.001);
    assert!((of(5_500_000) - 0.97).abs() < 0.001);
    assert_eq!((of(10_000_000), of(u64::MAX)), (1.0, 1.0));
}

#[test]
fn losses_are_a_signal_above_2_5_and_52_percent_at_high_medium_and_low_rates() {
    for (rate, share) in [(10_000_000, 0.02), (1_000_000, 0.05), (50_000, 0.52)] {
        assert!((loss_threshold(rate) - share).abs() < 0.001, "{rate}");
    }
    // A single loss has a weight of a sixteenth: enough from 7.8 Mbit/s.
    assert!(loss_threshold(975_000) < LOSS_WEIGHT && loss_threshold(970_000) > LOSS_WEIGHT);
}

#[test]
fn the_threshold_of_delay_is_a_quarter_to_a_sixteenth_of_the_rtt_and_25_ms_at_most() {
    let mut c = c4();
    for (rate, rtt_ms, expected_ms) in
        [(10_000_000, 80, 5.0), (50_000, 80, 20.3), (10_000_000, 600, 25.0), (1_000_000, 40, 2.93)]
    {
        (c.rate, c.max_rtt) = (rate, Nanos::from_millis(rtt_ms));
        c.set_threshold();
        assert!((c.threshold.as_millis_f64() - expected_ms).abs() < 0.05, "{:?}", c.threshold);
    }
}

#[test]
fn an_era_at_a_gain_of_1_raises_the_maximum_rtt_at_once_and_lowers_it_by_an_eighth() {
    let ms = Nanos::from_millis;
    let mut c = c4();
    (c.max_rtt, c.min_rtt, c.gain_before) = (ms(100), ms(80), UNIT);
    c.era_rtt = Some((ms(80), ms(140)));
    c.learn_rtts();
    assert_eq!(c.max_rtt, ms(140));
    c.era_rtt = Some((ms(88), ms(100)));
    c.learn_rtts();
    assert_eq!((c.min_rtt, c.max_rtt), (ms(81), ms(135)));
    c.era_rtt = Some((ms(81), ms(900)));
    c.learn_rtts();
    assert_eq!(c.max_rtt, ms(331), "250 ms of jitter at most");
    c.gain_before = PROBING;
    c.era_rtt = Some((ms(81), ms(500)));
    c.learn_rtts();
    assert_eq!(c.max_rtt, ms(331), "a push is no measurement");
}

#[test]
fn growth_is_a_quarter_of_the_expected_one_full_growth_three_quarters() {
    let mut c = c4();
    (c.push_rate, c.push_gain) = (1_000_000, PUSHING);
    for (rate, growth) in [
        (1_056_000, Growth::None),
        (1_057_000, Growth::Slow),
        (1_169_000, Growth::Slow),
        (1_171_000, Growth::Fast),
    ] {
        c.rate = rate;
        assert_eq!(c.growth(), growth, "{rate}");
    }
    // A probe of a sixteenth is too small for that.
    (c.push_gain, c.rate) = (PROBING, 1_000_001);
    assert_eq!(c.growth(), Growth::Fast);
    c.congested = true;
    assert_eq!(c.growth(), Growth::None);
}

#[test]
fn alone_it_finds_the_rate_and_then_cycles_through_cruising_probing_and_recovery() {
    let mut f = flow(Path::new(20, 80));
    assert_eq!(states(&mut f, 5.0)[..3], ["initial", "recovery", "cruising"]);
    let found = states(&mut f, 15.0);
    let next = |state: &str| match state {
        "cruising" => "probing",
        "probing" => "recovery",
        _ => "cruising",
    };
    assert!(found.len() > 60 && found.windows(2).all(|s| next(s[0]) == s[1]), "{found:?}");
    let goodput = f.run_s(20.0);
    assert!(goodput > 18.0, "{goodput}");
    assert!(f.rtt() < Nanos::from_millis(95), "{:?}", f.rtt());
    let lost = f.lost;
    f.run_s(20.0);
    assert_eq!(f.lost, lost, "none after the initial state");
}

#[test]
fn a_rate_that_doubles_is_found_by_pushes_in_a_row() {
    let mut f = flow(Path::new(5, 100));
    f.run_s(8.0);
    f.path.rate = BitRate::from_mbit(10);
    let found = states(&mut f, 6.0);
    assert!(found.contains(&"pushing"), "{found:?}");
    let goodput = f.run_s(5.0);
    assert!(goodput > 8.5, "{goodput}");
}

#[test]
fn a_loss_signal_while_cruising_lowers_rate_and_maximum_rtt_by_a_quarter_at_most() {
    let mut f = flow(Path::new(200, 40));
    f.run(Nanos::from_secs(5), |_| {});
    let (cx, mut w) = (f.cx, f.w);
    let c = &mut f.cc;
    (c.state, c.gain, c.rate) = (State::Cruising, UNIT, 20_000_000);
    c.set_max_rtt(Nanos::from_millis(40));
    let tx = TxSnapshot { delivered: Era::new(&cx).first, in_flight: MSS, ..TxSnapshot::default() };
    let ev = LossEvent { bytes: MSS, tx, tag: 0, lost_total: MSS, kind: LossKind::Rto };
    c.on_loss(&cx, &mut w, &ev);
    assert_eq!((c.rate, c.state), (20_000_000, State::Cruising), "a timeout is no signal");
    c.on_loss(&cx, &mut w, &LossEvent { kind: LossKind::Rack, ..ev });
    assert_eq!((c.rate, c.max_rtt), (15_000_000, Nanos::from_millis(30)));
    assert_eq!((c.state, c.gain), (State::Recovery, RECOVERY));
}

#[test]
fn a_delay_signal_ends_a_push_and_extends_recovery_but_does_not_touch_cruising() {
    let mut f = flow(Path::new(20, 80));
    f.run_s(5.0);
    let cx = f.cx;
    let c = &mut f.cc;
    c.set_max_rtt(Nanos::from_millis(80));
    let rate = c.rate;
    let high = Nanos::from_millis(120);
    let mut signal = |state: State, gain: u64, before: u64| {
        (c.state, c.gain, c.gain_before, c.congested) = (state, gain, before, false);
        c.on_rtt(high);
        c.on_delay(&cx);
        (c.state, c.gain, c.rate, c.congested)
    };
    assert_eq!(signal(State::Probing, PROBING, PROBING), (State::Recovery, RECOVERY, rate, true));
    assert_eq!(signal(State::Recovery, RECOVERY, PROBING), (State::Recovery, EXTENDED_RECOVERY, rate, true));
    assert_eq!(signal(State::Cruising, UNIT, UNIT), (State::Cruising, UNIT, rate, false));
}

#[test]
fn the_window_covers_the_maximum_rtt_and_up_to_15_ms() {
    let mut f = flow(Path::new(20, 80));
    let (cx, mut w) = (f.cx, f.w);
    let c = &mut f.cc;
    (c.state, c.gain, c.rate) = (State::Cruising, UNIT, 2_500_000);
    c.set_max_rtt(Nanos::from_millis(80));
    c.apply(&cx, &mut w);
    assert_eq!((w.cwnd, w.pacing), (237_500, Some(BitRate::from_mbit(20))));
    c.set_max_rtt(Nanos::from_millis(20));
    c.apply(&cx, &mut w);
    assert_eq!(w.cwnd, 62_500);
    // 4 ms of data, in whole packets.
    assert_eq!(w.quantum, 6);
    (c.state, c.gain, c.rate) = (State::Probing, PROBING, 100_000);
    c.apply(&cx, &mut w);
    let base = 106_250 * 25 / 1000;
    assert!(w.cwnd.abs_diff(base + MSS - 125) <= 1, "a packet more than while cruising: {}", w.cwnd);
}

#[test]
fn the_first_high_jitter_at_a_low_rate_restarts_it_once() {
    let ms = Nanos::from_millis;
    let mut f = flow(Path::new(5, 40));
    f.run_s(5.0);
    let (cx, w) = (f.cx, f.w);
    let c = &mut f.cc;
    for restarts in [true, false] {
        (c.state, c.gain_before, c.min_rtt) = (State::Cruising, UNIT, ms(40));
        c.set_max_rtt(ms(110));
        c.era_rtt = Some((ms(40), ms(110)));
        c.end_era(&cx, &w, &AckEvent::default());
        assert_eq!(c.state == State::Initial, restarts);
    }
}

#[test]
fn cruising_lasts_the_configured_number_of_eras() {
    let eras = |n: i64| {
        let given = BTreeMap::from([("cruise_eras".to_string(), Value::Int(n))]);
        let params = Params::new(PARAMS, given).unwrap();
        let mut f = Loop::new(Path::new(20, 80), |init| C4::new(&params, init));
        f.run_s(5.0);
        states(&mut f, 20.0).iter().filter(|s| **s == "probing").count()
    };
    let (two, four) = (eras(2), eras(4));
    assert!(four < two && four > two / 2, "{two} {four}");
}
