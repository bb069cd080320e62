// SPDX-License-Identifier: Apache-2.0 OR MIT
//! BBR on an ideal path: a FIFO of 20 Mbit/s and 50 ms that acknowledges every packet.

use super::core::{CYCLE, DRAIN_GAIN, HIGH_GAIN, MAX_BW_ROUNDS, MIN_CWND};
use super::units::bytes_per_s;
use super::*;
use std::collections::VecDeque;

const MSS: u64 = 1448;
const RTT: Nanos = Nanos::from_millis(50);
/// 1507 bytes at 20 Mbit/s.
const SERVICE: Nanos = Nanos(602_800);

struct Path {
    bbr: Bbr,
    w: Window,
    cx: Cx,
    /// (arrival of its ACK, send time, delivered, delivered_time, first_sent) of each packet in
    /// flight.
    flight: VecDeque<(Nanos, Nanos, u64, Nanos, Nanos)>,
    busy_until: Nanos,
    next_departure: Nanos,
    first_sent: Nanos,
}

impl Path {
    fn new(params: Params) -> Self {
        let init =
            ConnInit { now: RTT, mss: MSS as u32, init_cwnd: 10 * MSS, srtt: Some(RTT), seed: 7, hz: 1000 };
        let cx =
            Cx { now: RTT, mss: MSS as u32, srtt: RTT, min_rtt: RTT, delivered_time: RTT, ..Cx::default() };
        let mut path = Path {
            bbr: Bbr::new(&params, &init),
            w: init.window(),
            cx,
            flight: VecDeque::new(),
            busy_until: RTT,
            next_departure: RTT,
            first_sent: RTT,
        };
        path.bbr.on_start(&path.cx, &mut path.w);
        path
    }

    /// Sends as much as window and pacing permit, then delivers the next ACK or advances to the
    /// next departure.
    fn step(&mut self) -> Option<Nanos> {
        let now = self.cx.now;
        if self.cx.in_flight + MSS <= self.w.cwnd && self.next_departure <= now {
            self.send(now);
            return None;
        }
        let can_send = self.cx.in_flight + MSS <= self.w.cwnd;
        let ack = self.flight.front().map_or(Nanos::MAX, |f| f.0);
        if can_send && self.next_departure < ack {
            self.cx.now = self.next_departure;
            return None;
        }
        self.ack(ack)
    }

    fn send(&mut self, now: Nanos) {
        if self.cx.in_flight == 0 {
            self.first_sent = now;
            self.cx.delivered_time = now;
        }
        self.busy_until = self.busy_until.max(now) + SERVICE;
        let snapshot =
            (self.busy_until + RTT, now, self.cx.delivered, self.cx.delivered_time, self.first_sent);
        self.flight.push_back(snapshot);
        self.cx.in_flight += MSS;
        self.next_departure = self.next_departure.max(now) + self.w.pacing.unwrap().time_for(MSS);
    }

    fn ack(&mut self, at: Nanos) -> Option<Nanos> {
        let (_, sent, prior_delivered, prior_time, first_sent) = self.flight.pop_front()?;
        let prior_in_flight = self.cx.in_flight;
        self.cx.now = at;
        self.cx.in_flight -= MSS;
        self.cx.delivered += MSS;
        self.cx.delivered_time = at;
        self.cx.edt = self.next_departure;
        self.first_sent = sent;
        let rs = RateSample {
            valid: true,
            delivered: self.cx.delivered - prior_delivered,
            interval: (at - prior_time).max(sent - first_sent),
            prior_delivered,
            has_prior: true,
            ..RateSample::default()
        };
        let rtt = at - sent;
        let ev = AckEvent { newly_acked: MSS, rtt: Some(rtt), prior_in_flight, rs, ..AckEvent::default() };
        self.bbr.on_ack(&self.cx, &mut self.w, &ev);
        Some(rtt)
    }

    /// Runs until `at`; calls `seen` after each ACK with its RTT.
    fn run_until(&mut self, at: Nanos, mut seen: impl FnMut(&Path, Nanos)) {
        while self.cx.now < at {
            if let Some(rtt) = self.step() {
                seen(self, rtt);
            }
        }
    }
}

fn path() -> Path {
    Path::new(Params::defaults(PARAMS))
}

#[test]
fn gains_are_the_kernels_quantised_constants() {
    assert_eq!((HIGH_GAIN, DRAIN_GAIN, CYCLE[0], CYCLE[1], MAX_BW_ROUNDS), (739, 88, 320, 192, 10));
}

#[test]
fn the_first_pacing_rate_comes_from_the_handshake() {
    let p = path();
    assert_eq!(p.w.pacing.unwrap().0 / 1000, 6620, "2.887 x 10 packets per 50 ms, less 1 %");
    assert_eq!(p.w.quantum, 2);
}

#[test]
fn startup_doubles_finds_the_pipe_full_and_drains_the_queue() {
    let mut p = path();
    let (mut drained_at, mut lowest_pacing, mut modes) = (None, 0, vec![]);
    p.run_until(Nanos::from_secs(3), |p, _| {
        let mode = p.bbr.mode(&p.w);
        if modes.last() != Some(&mode) {
            modes.push(mode);
        }
        if mode == "startup" {
            assert!(p.w.pacing.unwrap().0 >= lowest_pacing, "pacing never falls in STARTUP");
            lowest_pacing = p.w.pacing.unwrap().0;
            assert!(p.w.cwnd / MSS <= 258, "cap: 2.887 BDP and bursts");
        }
        if mode == "probe_bw" && drained_at.is_none() {
            drained_at = Some(p.cx.now);
        }
    });
    assert_eq!(modes, ["startup", "drain", "probe_bw"]);
    let at = drained_at.unwrap().as_secs_f64();
    assert!((0.4..1.0).contains(&at), "{at}");
}

#[test]
fn steady_state_fills_the_link_with_two_bdp_of_window() {
    let mut p = path();
    p.run_until(Nanos::from_secs(3), |_, _| {});
    let before = (p.cx.delivered, p.cx.now);
    let mut cycles = 0;
    let mut phase = p.bbr.core.phase;
    p.run_until(Nanos::from_secs(9), |p, rtt| {
        let cwnd = p.w.cwnd / MSS;
        assert!((172..=186).contains(&cwnd), "{cwnd}");
        assert!(rtt < RTT + Nanos::from_millis(20), "{rtt:?}");
        cycles += (phase != p.bbr.core.phase && p.bbr.core.phase == 0) as u32;
        phase = p.bbr.core.phase;
    });
    let rate = (p.cx.delivered - before.0) as f64 * 8.0 / (p.cx.now - before.1).as_secs_f64();
    assert!(rate > 19.0e6, "{rate}");
    // 8 phases of slightly more than 50 ms; the draining one may be shorter.
    assert!((13..=16).contains(&cycles), "{cycles}");
}

#[test]
fn probe_rtt_comes_after_10_s_and_holds_four_packets_for_200_ms() {
    let mut p = path();
    let (mut entered, mut left) = (None, None);
    p.run_until(Nanos::from_secs(12), |p, _| match p.bbr.mode(&p.w) {
        "probe_rtt" => {
            entered.get_or_insert(p.cx.now);
            assert!(p.w.mark_app_limited && p.w.cwnd <= MIN_CWND * MSS);
        }
        _ if entered.is_some() => {
            left.get_or_insert(p.cx.now);
        }
        _ => {}
    });
    let (entered, left) = (entered.unwrap(), left.unwrap());
    assert!((10.0..10.2).contains(&entered.as_secs_f64()), "{entered:?}");
    let held = (left - entered).as_millis_f64();
    assert!((200.0..400.0).contains(&held), "{held} ms");
    assert!(p.w.cwnd / MSS > 160, "the window is restored at once");
}

#[test]
fn recovery_conserves_packets_for_a_round_and_then_restores_the_window() {
    let mut p = path();
    p.run_until(Nanos::from_secs(3), |_, _| {});
    let before = p.w.cwnd;
    let ssthresh = p.w.ssthresh;
    assert_eq!(p.bbr.ssthresh(&p.cx.clone(), &p.w), ssthresh);
    p.cx.ca = CaState::Recovery;
    p.bbr.on_transition(&p.cx.clone(), &mut p.w, Transition::EnterRecovery);
    while p.step().is_none() {}
    assert_eq!(p.w.cwnd, p.cx.in_flight + MSS, "what was in flight before this ACK");
    p.cx.ca = CaState::Open;
    while p.step().is_none() {}
    assert_eq!(p.w.cwnd, before);
}

#[test]
fn ns3_goes_on_after_a_recovery_with_the_threshold_of_the_end_of_startup_or_with_no_limit_before_it() {
    let after = |at_s: u64| {
        let given = [("variant".to_string(), Value::Text("ns3".into()))].into();
        let mut p = Path::new(Params::new(PARAMS, given).unwrap());
        p.run_until(Nanos::from_millis(at_s), |_, _| {});
        p.cx.ca = CaState::Recovery;
        p.bbr.on_transition(&p.cx.clone(), &mut p.w, Transition::EnterRecovery);
        while p.step().is_none() {}
        assert_eq!(p.w.cwnd, p.cx.in_flight + 2 * MSS, "the first lost packet went out already");
        p.cx.ca = CaState::Open;
        while p.step().is_none() {}
        (p.w.cwnd / MSS, p.w.ssthresh / MSS)
    };
    let (cwnd, ssthresh) = after(3000);
    assert!((ssthresh..ssthresh + 3).contains(&cwnd), "{cwnd} {ssthresh}");
    assert_eq!(after(150).0, u64::from(u32::MAX) / MSS);
}

#[test]
fn a_timeout_forgets_the_plateau_but_not_the_bandwidth() {
    let mut p = path();
    p.run_until(Nanos::from_secs(3), |_, _| {});
    let bw = p.bbr.core.bw();
    p.bbr.on_transition(&p.cx.clone(), &mut p.w, Transition::EnterRto);
    assert_eq!((p.bbr.core.full_bw, p.bbr.core.bw(), p.bbr.core.pipe_full), (0, bw, true));
}

#[test]
fn after_idling_it_neither_probes_nor_enters_probe_rtt_at_once() {
    let mut p = path();
    p.run_until(Nanos::from_secs(3), |_, _| {});
    while p.cx.in_flight > 0 {
        let at = p.flight.front().unwrap().0;
        p.ack(at);
    }
    p.cx.now += Nanos::from_secs(15);
    p.cx.app_limited = true;
    p.bbr.on_tx_start(&p.cx.clone(), &mut p.w);
    let exact = bytes_per_s(p.bbr.core.bw(), UNIT, MSS as u32) * 8;
    assert_eq!(p.w.pacing.unwrap().0, exact);
    p.cx.app_limited = false;
    while p.step().is_none() {}
    assert_eq!(p.bbr.mode(&p.w), "probe_bw", "the sample after idling is a fresh minimum");
}

#[test]
fn the_cycle_starts_in_every_phase_but_the_draining_one() {
    let mut p = path();
    let mut seen = [0; 8];
    for _ in 0..700 {
        p.bbr.core.enter_probe_bw(&p.cx.clone());
        seen[p.bbr.core.phase] += 1;
    }
    assert_eq!(seen[1], 0);
    assert!(seen.iter().enumerate().all(|(i, &n)| i == 1 || n > 60), "{seen:?}");
}

#[test]
fn the_pacing_of_linux_4_15_counts_headers_and_holds_nothing_back() {
    let of = |rule: &str| {
        let given = [("pacing_rule".to_string(), Value::Text(rule.to_string()))].into();
        let mut p = Path::new(Params::new(PARAMS, given).unwrap());
        let first = p.w.pacing.unwrap().0 as f64;
        p.run_until(Nanos::from_secs(5), |_, _| {});
        (first, p.bbr.core.bw() as f64, p.w.pacing.unwrap().0 as f64 / p.bbr.core.pacing_gain as f64)
    };
    let (new, old) = (of("linux"), of("linux-4.15"));
    let expected = 1500.0 / 1448.0 / 0.99;
    assert!((old.0 / new.0 / expected - 1.0).abs() < 1e-3, "{} {}", old.0, new.0);
    assert!((old.2 / old.1 / (new.2 / new.1) / expected - 1.0).abs() < 1e-3);
}

#[test]
fn the_model_of_ns3_does_not_return_to_the_window_before_a_timeout() {
    let of = |variant: &str| {
        let given = [("variant".to_string(), Value::Text(variant.to_string()))].into();
        let mut p = Path::new(Params::new(PARAMS, given).unwrap());
        p.run_until(Nanos::from_secs(5), |_, _| {});
        let before = p.w.cwnd;
        p.w.ssthresh = p.bbr.ssthresh(&p.cx.clone(), &p.w);
        p.w.cwnd = MSS;
        p.bbr.on_transition(&p.cx.clone(), &mut p.w, Transition::EnterRto);
        let first = p.w.cwnd / MSS;
        p.cx.ca = CaState::Loss;
        while p.step().is_none() {}
        p.cx.ca = CaState::Open;
        while p.step().is_none() {}
        (first, p.w.cwnd >= before)
    };
    assert_eq!(of("linux"), (1, true));
    assert_eq!(of("ns3"), (1, false));
}
