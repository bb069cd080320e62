// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cubic against values computed from its equations (RFC 9438) and from Linux's integers.

use super::*;

const MSS: u64 = 1448;

fn init() -> ConnInit {
    ConnInit { now: Nanos::ZERO, mss: MSS as u32, init_cwnd: 10 * MSS, srtt: None, seed: 1, hz: 1000 }
}

fn cubic() -> Cubic {
    Cubic::new(&Params::defaults(PARAMS), &init())
}

fn window(cwnd: u64, ssthresh: u64) -> Window {
    Window { cwnd: cwnd * MSS, ssthresh: ssthresh * MSS, ..init().window() }
}

fn cx(now: Nanos) -> Cx {
    Cx { now, mss: MSS as u32, cwnd_limited: true, srtt: Nanos::from_millis(100), ..Cx::default() }
}

fn ack(packets: u64) -> AckEvent<'static> {
    AckEvent { newly_acked: packets * MSS, may_grow: true, ..AckEvent::default() }
}

/// One window of single ACKs per round of `rtt_ms`, for `rounds` rounds from `from_ms`.
fn run(c: &mut Cubic, w: &mut Window, from_ms: u64, rtt_ms: u64, rounds: u64) {
    for round in 0..rounds {
        let n = w.cwnd / MSS;
        for i in 0..n {
            let now = Nanos::from_millis(from_ms + round * rtt_ms) + Nanos::from_millis(rtt_ms) * i / n;
            c.on_ack(&cx(now), w, &ack(1));
        }
    }
}

#[test]
fn reductions_are_the_kernels_integers() {
    for (cwnd, ssthresh, lower_w_max) in
        [(10, 7, 8), (50, 35, 42), (100, 70, 85), (500, 350, 425), (1000, 700, 850)]
    {
        let mut c = cubic();
        assert_eq!(c.ssthresh(&cx(Nanos::ZERO), &window(cwnd, 2)), ssthresh * MSS);
        assert_eq!(c.curve.w_max, cwnd);
        c.curve.w_max = cwnd + 1;
        c.ssthresh(&cx(Nanos::ZERO), &window(cwnd, 2));
        assert_eq!(c.curve.w_max, lower_w_max, "fast convergence");
    }
}

#[test]
fn the_time_to_the_plateau_is_the_cube_root_law() {
    for (w, k_s) in [(10, 1.957), (50, 3.346), (100, 4.216), (500, 7.209), (1000, 9.083)] {
        let mut c = cubic();
        let start = c.ssthresh(&cx(Nanos::ZERO), &window(w, 2)) / MSS;
        c.count(&cx(Nanos::from_secs(1)), start, 1);
        let k = c.curve.k as f64 / 1024.0;
        assert!((k - k_s).abs() < 1.5e-3, "W_max {w}: {k}");
    }
}

#[test]
fn the_window_follows_the_cubic_to_its_plateau_and_beyond() {
    // C = 0.4, W_max = 100, epoch start 70 at t = 0; growth lags the curve by up to a round.
    let mut c = cubic();
    c.tcp_friendliness = false;
    let mut w = window(100, 2);
    w.cwnd = c.ssthresh(&cx(Nanos::ZERO), &w);
    w.ssthresh = w.cwnd;
    let mut at = 0;
    for (second, expected) in [(1, 86.68), (2, 95.64), (3, 99.28), (4, 100.0), (6, 102.27), (8, 121.65)] {
        run(&mut c, &mut w, at, 20, (second * 1000 - at) / 20);
        at = second * 1000;
        let cwnd = (w.cwnd / MSS) as f64;
        assert!((cwnd - expected).abs() <= 1.5, "{second} s: {cwnd}, curve {expected}");
    }
}

#[test]
fn growth_never_exceeds_one_packet_per_two_acknowledged() {
    let mut c = cubic();
    c.curve.w_max = 58;
    let mut w = window(58, 2);
    run(&mut c, &mut w, 0, 50, 1);
    // A minute later the curve is far above the window. (The first ACK also uses the credit
    // accumulated on the plateau.)
    c.on_ack(&cx(Nanos::from_secs(59)), &mut w, &ack(2));
    for i in 0..50 {
        let before = w.cwnd / MSS;
        c.on_ack(&cx(Nanos::from_secs(60 + i)), &mut w, &ack(2));
        assert_eq!(w.cwnd / MSS, before + 1);
    }
}

#[test]
fn after_a_timeout_everything_is_forgotten_and_growth_is_one_in_20_at_least() {
    let mut c = cubic();
    let mut w = window(10, 1000);
    w.ssthresh = c.ssthresh(&cx(Nanos::ZERO), &w);
    c.on_transition(&cx(Nanos::ZERO), &mut w, Transition::EnterRto);
    assert_eq!((w.ssthresh / MSS, c.curve.w_max, c.delay_min), (7, 0, None));
    w.cwnd = MSS;
    let mut seen = vec![];
    for i in 0..6 {
        c.on_ack(&cx(Nanos::from_millis(300 + i)), &mut w, &ack(1));
        seen.push(w.cwnd / MSS);
    }
    assert_eq!(seen, [2, 3, 4, 5, 6, 7]);
    let mut acked = 0;
    while w.cwnd / MSS == 7 {
        acked += 2;
        c.on_ack(&cx(Nanos::from_millis(400 + acked * 10)), &mut w, &ack(2));
    }
    assert!((14..=20).contains(&acked), "{acked}: between the Reno estimate and 1 in 20");
}

#[test]
fn the_delay_test_ends_slow_start_at_the_window_of_its_ninth_sample() {
    let mut c = cubic();
    let mut w = init().window();
    let at =
        |ms, una: u64, nxt: u64| Cx { snd_una: una * MSS, snd_nxt: nxt * MSS, ..cx(Nanos::from_millis(ms)) };
    c.on_start(&at(0, 0, 10), &mut w);
    for i in 0..5 {
        let ev = AckEvent { rtt: Some(Nanos::from_millis(200)), ..ack(2) };
        c.on_ack(&at(200 + i * 5, 2 * i + 2, 12 + 4 * i), &mut w, &ev);
    }
    assert_eq!(w.cwnd / MSS, 20);
    for i in 0..9 {
        let ev = AckEvent { rtt: Some(Nanos::from_millis(240 + i)), ..ack(2) };
        c.on_ack(&at(440 + i * 5, 12 + 2 * i, 32 + 4 * i), &mut w, &ev);
    }
    assert_eq!((w.ssthresh / MSS, w.cwnd / MSS), (36, 36));
}

#[test]
fn idle_time_gives_no_credit() {
    let grow = |idle_s: u64| {
        let mut c = cubic();
        let mut w = window(60, 2);
        w.cwnd = c.ssthresh(&cx(Nanos::ZERO), &w);
        run(&mut c, &mut w, 0, 100, 10);
        let sent = Nanos::from_secs(1);
        let resumed = sent + Nanos::from_secs(idle_s);
        c.on_tx_start(&Cx { last_sent: sent, ..cx(resumed) }, &mut w);
        run(&mut c, &mut w, 1000 * (1 + idle_s), 100, 10);
        w.cwnd / MSS
    };
    assert_eq!(grow(0), grow(4));
    assert_eq!(grow(0), grow(40));
}

#[test]
fn the_lowest_rtt_ignores_the_second_after_an_epoch_begins() {
    let mut c = cubic();
    let mut w = window(50, 2);
    let sample = |ms| AckEvent { rtt: Some(Nanos::from_millis(ms)), ..ack(1) };
    c.on_ack(&cx(Nanos::from_secs(1)), &mut w, &sample(80));
    c.on_ack(&cx(Nanos::from_millis(1900)), &mut w, &sample(40));
    assert_eq!(c.delay_min, Some(Nanos::from_millis(80)));
    c.on_ack(&cx(Nanos::from_millis(2000)), &mut w, &sample(60));
    assert_eq!(c.delay_min, Some(Nanos::from_millis(60)));
}

#[test]
fn a_hastened_epoch_has_a_ninth_of_its_time_to_the_plateau() {
    for (k, cut) in [(4181, 465), (9, 1), (8, 1), (0, 0)] {
        assert_eq!(hastened(k), cut);
    }
}

fn variant(word: &str) -> Cubic {
    let given = std::collections::BTreeMap::from([("variant".to_string(), Value::Text(word.into()))]);
    Cubic::new(&Params::new(PARAMS, given).unwrap(), &init())
}

#[test]
fn ns3_drops_the_rest_of_slow_start_and_adds_one_packet_per_ack_at_most() {
    for (word, cwnd) in [("linux", 22), ("ns3", 20)] {
        let mut c = variant(word);
        let mut w = window(18, 20);
        c.on_ack(&cx(Nanos::from_secs(1)), &mut w, &ack(42));
        assert_eq!(w.cwnd / MSS, cwnd, "{word}: two packets of slow start, 40 at one in 20");
        w.ssthresh = w.cwnd;
        c.on_ack(&cx(Nanos::from_secs(2)), &mut w, &ack(90));
        assert_eq!(w.cwnd / MSS > cwnd + 1, word == "linux");
    }
}

#[test]
fn ns3_counts_the_whole_jump_of_the_ack_that_ends_a_recovery() {
    for (ends, cwnd) in [(false, 50), (true, 51)] {
        let mut c = variant("ns3");
        let mut w = window(50, 50);
        if ends {
            c.on_transition(&cx(Nanos::ZERO), &mut w, Transition::ExitRecovery);
        }
        // The ACK delivers one new packet and advances the cumulative ACK by 60; before the first
        // loss the window grows by one per 20 packets.
        c.on_ack(&cx(Nanos::from_secs(1)), &mut w, &AckEvent { newly_cum_acked: 60 * MSS, ..ack(1) });
        assert_eq!(w.cwnd / MSS, cwnd);
    }
}

#[test]
fn ns3_remembers_the_plateau_over_a_timeout() {
    for (word, w_max) in [("linux", 0), ("ns3", 100)] {
        let mut c = variant(word);
        let mut w = window(100, 50);
        w.ssthresh = c.ssthresh(&cx(Nanos::ZERO), &w);
        c.on_transition(&cx(Nanos::ZERO), &mut w, Transition::EnterRto);
        assert_eq!(c.curve.w_max, w_max);
    }
}

#[test]
fn the_rfc_follows_its_curve() {
    let mut c = variant("rfc9438");
    let mut w = window(100, 2);
    w.cwnd = c.ssthresh(&Cx { outstanding: 100 * MSS, ..cx(Nanos::ZERO) }, &w);
    assert_eq!(w.cwnd / MSS, 70);
    w.ssthresh = w.cwnd;
    let mut at = 0;
    // The curve is evaluated one SRTT (100 ms) ahead, and growth lags it by a round of 200 ms (with
    // shorter rounds Reno-friendly growth would apply).
    for (second, expected) in [(1u64, 86.68), (2, 95.64), (3, 99.28), (4, 100.0), (6, 102.27)] {
        run(&mut c, &mut w, at, 200, (second * 1000 - at) / 200);
        at = second * 1000;
        let cwnd = (w.cwnd / MSS) as f64;
        assert!((cwnd - expected).abs() <= 2.5, "{second} s: {cwnd}, curve {expected}");
    }
}

#[test]
fn cube_roots_are_exact_floors() {
    for r in [0u64, 1, 2, 9, 1000, 2_642_244] {
        let cube = r * r * r;
        assert_eq!(cube_root(cube), r);
        assert_eq!(cube_root(cube.saturating_sub(1)), r.saturating_sub(1));
    }
    assert_eq!(cube_root(u64::MAX), 2_642_245);
}
