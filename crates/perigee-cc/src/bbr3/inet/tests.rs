// SPDX-License-Identifier: Apache-2.0 OR MIT
//! BBRv3 in the model of the OrbCC study's simulator, rule by rule.

use super::*;

const MSS: u64 = 1448;

fn flow() -> (Bbr3, Cx, Window) {
    let init = ConnInit { now: Nanos::ZERO, mss: MSS as u32, init_cwnd: 0, srtt: None, seed: 1, hz: 0 };
    let (mut cc, mut w) = (Bbr3::new(&init), init.window());
    let cx = Cx { mss: MSS as u32, min_rtt: Nanos::MAX, ..Cx::default() };
    cc.on_start(&cx, &mut w);
    (cc, cx, w)
}

fn filled() -> (Bbr3, Cx, Window) {
    let (mut cc, cx, mut w) = flow();
    cc.full_reached = true;
    cc.bw_hi = [0, 10_000_000];
    cc.min_rtt = Some(Nanos::from_millis(50));
    (cc.mode, w.cwnd) = (Mode::Cruise, 1000 * MSS);
    (cc, Cx { min_rtt: Nanos::from_millis(50), in_flight: 300 * MSS, ..cx }, w)
}

#[test]
fn what_is_assumed_of_the_bandwidth_lasts_two_cycles() {
    let (mut cc, cx, _) = flow();
    assert_eq!(cc.max_bw(), 5_792_000);
    for (cycle, left) in [(1, 5_792_000), (2, 1000)] {
        cc.bw_hi[1] = cc.bw_hi[1].max(1000);
        cc.mode = Mode::Down;
        (cc.acks, cc.round_start) = (Acks::Stopping, true);
        cc.adapt_upper_bounds(
            &cx,
            &ConnInit { now: cx.now, mss: MSS as u32, init_cwnd: 0, srtt: None, seed: 0, hz: 0 }.window(),
            &AckEvent::default(),
        );
        cc.bw_hi[1] = 1000;
        assert_eq!(cc.max_bw(), left, "cycle {cycle}");
    }
}

#[test]
fn too_much_loss_bounds_what_is_in_flight_at_the_target_itself() {
    let (mut cc, cx, mut w) = filled();
    let ev = |bytes| LossEvent {
        bytes,
        tx: TxSnapshot::default(),
        tag: 0,
        lost_total: bytes,
        kind: LossKind::Rack,
    };
    cc.on_loss(&cx, &mut w, &ev(6 * MSS));
    assert_eq!(cc.inflight_hi, NONE, "2 % of 300 packets");
    cc.on_loss(&cx, &mut w, &ev(7 * MSS));
    assert_eq!(cc.inflight_hi, 500_000 + 3 * MSS);
    assert_eq!(cc.with_headroom(&cx), cc.inflight_hi - 1);
}

#[test]
fn a_probe_ends_at_a_quarter_more_than_the_bdp() {
    let (mut cc, cx, w) = filled();
    (cc.mode, cc.pacing_gain) = (Mode::Up, UP_GAIN);
    let end = 625_000 + 5 * MSS;
    for (flight, mode) in [(end - 1, Mode::Up), (end, Mode::Down)] {
        let ev = AckEvent { prior_in_flight: flight, ..AckEvent::default() };
        cc.update_cycle(&cx, &w, &ev, 0);
        assert_eq!(cc.mode, mode);
    }
}

#[test]
fn probes_wait_two_seconds() {
    let (mut cc, cx, _) = filled();
    let waits: Vec<_> = (0..50).map(|_| (cc.start_down(&cx), cc.wait).1).collect();
    assert!(waits.iter().all(|w| *w == Nanos::from_secs(2)));
}

#[test]
fn a_recovery_ends_at_the_threshold_and_after_a_timeout_at_the_window_before() {
    let (mut cc, cx, mut w) = filled();
    w.ssthresh = 345 * MSS;
    cc.on_transition(&cx, &mut w, Transition::EnterRecovery);
    assert_eq!(w.cwnd, 1000 * MSS);
    cc.on_transition(&cx, &mut w, Transition::ExitRecovery);
    assert_eq!(w.cwnd, 345 * MSS);
    w.cwnd = 900 * MSS;
    cc.on_transition(&cx, &mut w, Transition::EnterRto);
    assert_eq!(w.cwnd, 4 * MSS);
    cc.on_transition(&cx, &mut w, Transition::ExitRecovery);
    assert_eq!(w.cwnd, 900 * MSS);
}

/// An epoch counts packets up to 4096 bytes: two packets, or as many as one ACK delivers.
#[test]
fn aggregation_adds_two_packets_or_what_one_ack_delivers() {
    let (mut cc, mut cx, w) = filled();
    cx.now = Nanos::from_millis(700);
    for _ in 0..10 {
        cc.update_excess(&cx, &w, &AckEvent { newly_acked: MSS, ..AckEvent::default() });
    }
    assert_eq!(cc.excess.of[0], 2 * MSS);
    cc.update_excess(&cx, &w, &AckEvent { newly_acked: 40 * MSS, ..AckEvent::default() });
    assert_eq!(cc.excess.of[0], 40 * MSS);
}
