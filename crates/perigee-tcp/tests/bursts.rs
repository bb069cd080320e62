// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pacing and bursts of the sender: departure times and TSO deferral.

mod support;
use perigee_tcp::config::TsoDefer;
use perigee_tcp::Config;
use perigee_units::Nanos;
use support::*;

#[test]
fn model_based_schemes_are_paced_by_departure_times_after_their_first_ten_packets() {
    let mut s = Script::new("bbr", plain(), 10_000);
    assert_eq!(s.send().len(), 10, "the first ten are not paced");
    s.now += RTT;
    for ack in (2..=10).step_by(2) {
        s.ack(ack);
    }
    let rate = s.sender.pacing_rate().unwrap();
    let mut departures = vec![];
    for _ in 0..6 {
        let at = s.sender.next_timer();
        s.now = at;
        let mut out = vec![];
        s.sender.on_timer(at, &mut out);
        s.sender.transmit(at, &mut out);
        assert!(
            out.len() <= 2,
            "a unit has at most a millisecond of data, and two packets at least: {}",
            out.len()
        );
        departures.extend(out.iter().map(|t| t.sent));
    }
    let span = *departures.last().unwrap() - departures[0];
    let bytes = (departures.iter().filter(|t| **t < *departures.last().unwrap()).count() as u64) * MSS;
    let expected = rate.time_for(bytes);
    assert!(span.as_secs_f64() / expected.as_secs_f64() > 0.99, "{span:?} {expected:?}");
}

/// Number of segments sent on each of eight ACKs, 0.1 ms apart, for single packets of a window of
/// 320 packets. The first ACK arrives `early` before an SRTT has passed.
fn gathered(tso_defer: TsoDefer, early: Nanos) -> Vec<usize> {
    let mut s = Script::new("newreno", Config { tso_defer, ..plain() }, 100_000);
    s.send();
    for _ in 0..5 {
        s.now += RTT;
        let all = s.sender.una_nxt().1;
        s.ack(all);
    }
    assert_eq!((s.cwnd(), s.sender.in_flight()), (320, 320));
    s.now = s.now + RTT - early;
    let una = s.sender.una_nxt().0;
    (1..=8)
        .map(|i| {
            s.now += Nanos::from_micros(100);
            s.ack(una + i).len()
        })
        .collect()
}

#[test]
fn what_acks_allow_is_gathered_into_bursts_of_a_millisecond() {
    // Slow start: each ACK permits two more segments; 2 x 320 kB / 100 ms are six segments in 2^-10
    // s. The first ACK after an idle time sends at once.
    assert_eq!(gathered(TsoDefer::Linux, Nanos::ZERO), [2, 0, 0, 6, 0, 0, 6, 0]);
    assert_eq!(gathered(TsoDefer::Off, Nanos::ZERO), [2; 8]);
}

#[test]
fn nobody_waits_for_an_ack_that_is_far() {
    // ACKs that arrive 5 ms early: the next one is expected only at its regular time.
    let early = Nanos::from_millis(5);
    assert_eq!(gathered(TsoDefer::Linux, early), [2; 8]);
    assert_eq!(gathered(TsoDefer::HalfSrtt, early), [2, 0, 0, 6, 0, 0, 6, 0]);
}
