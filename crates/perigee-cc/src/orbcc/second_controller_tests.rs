// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of the second controllers alongside OrbCC.

use super::tests::{word, Loop, BW};
use super::*;

/// Share of the port with telemetry, which is also the target of OrbCC's startup.
const PRODUCT: f64 = 12.5e6 * 0.05;

impl Loop {
    /// A loss, with the calls made by the transport.
    fn lose(&mut self) {
        let cx = self.cx();
        self.w.ssthresh = self.cc.ssthresh(&cx, &self.w);
        self.cc.on_transition(&cx, &mut self.w, Transition::EnterRecovery);
        self.cc.on_transition(&cx, &mut self.w, Transition::ExitRecovery);
    }
}

fn with(fallback: &str) -> Loop {
    Loop::new(&[("fallback", word(fallback))], paper())
}

#[test]
fn while_telemetry_is_partial_the_smaller_of_both_windows_holds() {
    let mut l = with("smaller_cubic");
    // The port with telemetry has room for five times as much: OrbCC would continue to grow.
    (0..3000).for_each(|_| l.seen(1000, 0.2, true));
    let before = l.w.cwnd;
    assert!(before > 600_000, "{before}");
    l.lose();
    let after = l.w.cwnd as f64 / before as f64;
    assert!(after <= 0.71, "the loss of a port that is not seen counts: {after}");
    assert_eq!(l.cc.mode(&l.w), "fallback");
    assert_eq!(l.w.ssthresh, INFINITE_SSTHRESH, "the transport is not asked to reduce");
}

#[test]
fn a_window_that_is_bounded_does_not_take_the_reference_along() {
    let mut l = with("smaller_cubic");
    for _ in 0..60 {
        (0..200).for_each(|_| l.seen(1000, 0.2, true));
        l.lose();
    }
    let bound = (1.25 * l.w.cwnd as f64).max(0.95 * PRODUCT) + 0.1 * PRODUCT;
    assert!(l.cc.ref_cwnd <= bound, "{} of {bound}", l.cc.ref_cwnd);
}

#[test]
fn a_busy_port_that_is_seen_holds_the_window_and_losses_do_not() {
    let mut l = with("smaller_cubic");
    (0..600).for_each(|_| l.seen(1000, 0.97, false));
    let before = l.w.cwnd;
    l.lose();
    assert_eq!(l.w.cwnd, before, "with complete telemetry nothing but OrbCC counts");
    assert_ne!(l.cc.mode(&l.w), "fallback");
}

#[test]
fn with_partial_telemetry_the_second_may_decide_alone_and_hands_back_its_window() {
    let mut l = with("partial_cubic");
    (0..2000).for_each(|_| l.seen(1000, 1.3, true));
    // OrbCC would reduce the window by a third per RTT, as the port is too busy. Cubic ignores
    // that.
    assert!(l.w.cwnd as f64 > PRODUCT, "{}", l.w.cwnd);
    assert_eq!(l.cc.mode(&l.w), "fallback");
    let before = l.w.cwnd;
    (0..53).for_each(|_| l.seen(1000, 1.0, false));
    assert_eq!(l.cc.mode(&l.w), "control");
    assert!((l.w.cwnd as f64 / before as f64 - 1.0).abs() < 0.2, "{before} -> {}", l.w.cwnd);
}

#[test]
fn without_any_telemetry_every_rule_is_alone_after_two_rtts() {
    for rule in ["smaller_cubic", "smaller_leocc", "partial_cubic", "partial_leocc", "leocc"] {
        let mut l = with(rule);
        (0..300).for_each(|_| l.seen(1000, 0.97, false));
        for _ in 0..110 {
            l.now += Nanos::from_millis(1);
            l.ack(None);
        }
        assert_eq!(l.cc.mode(&l.w), "fallback", "{rule}");
    }
}

#[test]
fn leocc_paces_where_its_rate_is_the_smaller() {
    let mut l = with("smaller_leocc");
    for _ in 0..4000 {
        l.seen(1000, 0.2, true);
    }
    let law = BW.bytes_per_s() * 8.0 * 1.2;
    let pacing = l.w.pacing.expect("it paces");
    assert!(pacing.0 > 0 && (pacing.0 as f64) < law, "{pacing}");
}
