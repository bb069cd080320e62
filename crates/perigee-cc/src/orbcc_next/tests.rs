// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of the law on constructed telemetry.

use super::*;
use std::collections::BTreeMap;

const MSS: u64 = 1448;
const RTT: Nanos = Nanos::from_millis(50);
const BW: BitRate = BitRate::from_mbit(100);
/// Bandwidth-delay product in bytes.
const PRODUCT: f64 = 12.5e6 * 0.05;

struct Loop {
    cc: OrbCcNext,
    w: Window,
    now: Nanos,
    hop: Hop,
    limited: bool,
    delivered: u64,
}

fn word(s: &str) -> Value {
    Value::Text(s.into())
}

impl Loop {
    fn new(given: &[(&str, Value)]) -> Self {
        let given = given.iter().map(|(k, v)| (k.to_string(), v.clone())).collect::<BTreeMap<_, _>>();
        let params = Params::new(PARAMS, given).unwrap();
        let init = ConnInit {
            now: Nanos::ZERO,
            mss: MSS as u32,
            init_cwnd: 10 * MSS,
            srtt: Some(RTT),
            seed: 1,
            hz: 1000,
        };
        let hop = Hop { bw: BW, avg_rtt: RTT, flows: 1, ..Hop::default() };
        let cc = OrbCcNext::new(&params, &init);
        let mut l = Loop { cc, w: init.window(), now: Nanos::from_secs(1), hop, limited: true, delivered: 0 };
        let cx = l.cx();
        l.cc.on_start(&cx, &mut l.w);
        l
    }

    fn cx(&self) -> Cx {
        Cx {
            now: self.now,
            mss: MSS as u32,
            srtt: RTT,
            in_flight: MSS,
            outstanding: MSS,
            cwnd_limited: self.limited,
            delivered: self.delivered,
            last_sent: self.now,
            ..Cx::default()
        }
    }

    fn telemetry(&self) -> [Hop; 1] {
        [Hop { ts: Nanos(self.now.0 % utilisation::TS_WRAP.0), ..self.hop }]
    }

    fn handshake(&mut self) {
        let (cx, hops) = (self.cx(), self.telemetry());
        let t = Telemetry::Stack { path_id: 1, hops: &hops, covered: 1, partial: false };
        self.cc.on_handshake(&cx, &mut self.w, &t);
    }

    /// An ACK `us` later, over a port that has sent at `load` of its rate in the meantime.
    fn ack(&mut self, us: u64, load: f64) {
        self.now += Nanos::from_micros(us);
        self.delivered += MSS;
        self.hop.tx_bytes += (load * self.hop.bw.bytes_per_s() * us as f64 * 1e-6) as u64;
        let hops = self.telemetry();
        let telemetry = Some(Telemetry::Stack { path_id: 1, hops: &hops, covered: 1, partial: false });
        let ev = AckEvent {
            newly_acked: MSS,
            newly_cum_acked: MSS,
            rtt: Some(RTT),
            may_grow: true,
            telemetry,
            ..AckEvent::default()
        };
        let cx = self.cx();
        self.cc.on_ack(&cx, &mut self.w, &ev);
    }

    /// One RTT of ACKs, 1 ms apart.
    fn round(&mut self, load: f64) {
        (0..50).for_each(|_| self.ack(1000, load));
    }
}

#[test]
fn a_handshake_over_a_measured_port_replaces_the_initial_window_by_a_share() {
    for (flows, segments) in [(3, None), (1999, Some(0.2))] {
        let mut l = Loop::new(&[]);
        l.hop.flows = flows;
        l.handshake();
        let share = 0.95 * PRODUCT / f64::from(flows + 1);
        assert!((l.cc.window / share - 1.0).abs() < 1e-6, "{} of {share}", l.cc.window);
        if let Some(segments) = segments {
            assert!((l.cc.window / MSS as f64 - segments).abs() < 0.01, "less than a packet per RTT");
            let paced = l.w.pacing.unwrap().0 as f64;
            assert!((paced / (1.05 * share * 8.0 / 0.05) - 1.0).abs() < 1e-6, "{paced}");
        }
    }
}

#[test]
fn a_port_that_has_measured_nothing_yields_no_share() {
    let mut l = Loop::new(&[]);
    l.hop.avg_rtt = Nanos::ZERO;
    l.handshake();
    assert_eq!((l.cc.window, l.cc.mode(&l.w)), (10.0 * MSS as f64, "startup"));
    l.hop.avg_rtt = RTT;
    l.ack(1000, 0.1);
    assert!((l.cc.window / (0.95 * PRODUCT / 2.0) - 1.0).abs() < 1e-6);
    assert_eq!(l.cc.mode(&l.w), "control");
}

#[test]
fn without_telemetry_in_the_handshake_the_share_only_adds_to_the_window() {
    let mut l = Loop::new(&[("handshake", word("off"))]);
    assert!(!l.cc.caps().telemetry_on_syn);
    l.hop.flows = 1999;
    l.ack(1000, 0.1);
    assert_eq!(l.cc.window, 10.0 * MSS as f64, "these packets are in flight");
}

#[test]
fn the_correction_of_an_rtt_does_not_depend_on_the_number_of_acks() {
    let after = |acks: u64| {
        let mut l = Loop::new(&[("averaging", Value::Float(0.0)), ("additive_increase", Value::Float(0.0))]);
        l.handshake();
        l.ack(50_000 / acks, 1.0);
        let before = l.cc.window;
        (0..acks).for_each(|_| l.ack(50_000 / acks, 1.0));
        l.cc.window / before
    };
    let (few, many) = (after(2), after(100));
    // dW/W = 0.3 · (0.95 − 1) per RTT.
    assert!((many - libm::exp(-0.3 * 0.05)).abs() < 1e-3, "{many}");
    assert!((few - many).abs() < 1e-3, "{few} and {many}");
}

#[test]
fn the_window_of_a_full_port_settles_where_orbccs_does() {
    let mut l = Loop::new(&[]);
    l.handshake();
    let share = 0.5 * PRODUCT;
    l.hop.flows = 2;
    (0..1000).for_each(|_| l.round(1.0));
    // W (1 − η/U) = a · share, at U = 1.
    assert!((l.cc.window / share - 1.0).abs() < 0.01, "{} of {share}", l.cc.window);
}

#[test]
fn free_capacity_is_used_in_proportion_only_by_flows_that_use_their_window() {
    let growth = |words: &[(&str, Value)], limited: bool| {
        let mut l = Loop::new(words);
        l.hop.flows = 9;
        l.handshake();
        l.round(0.2);
        let before = l.cc.window;
        l.limited = limited;
        l.round(0.2);
        l.cc.window / before
    };
    assert!(growth(&[], true) > 2.0);
    let additive = growth(&[("growth", word("additive"))], true);
    assert!((1.0..1.03).contains(&additive), "{additive}");
    assert_eq!(growth(&[], false), 1.0);
}

#[test]
fn another_rate_scales_the_window_at_once_and_the_queue_of_the_old_one_does_not_count() {
    let after = |rule: &str| {
        let mut l = Loop::new(&[("rate_change", word(rule))]);
        l.hop.flows = 1;
        l.handshake();
        l.round(1.0);
        let before = l.cc.window;
        l.hop.bw = BitRate::from_mbit(50);
        l.hop.q_out = 300_000;
        l.ack(1000, 1.0);
        let at_once = l.cc.window / before;
        (0..40).for_each(|_| l.ack(1000, 1.0));
        (at_once, l.cc.window / before)
    };
    for rule in ["scale", "mean"] {
        assert_eq!(after(rule), (0.5, 0.5), "{rule}");
    }
    let (at_once, _) = after("none");
    assert!(at_once > 0.95, "{at_once}");
}

#[test]
fn where_rates_alternate_the_window_follows_their_mean() {
    // Ratio of the windows in a fast and in a slow phase.
    let ratio = |rule: &str| {
        let mut l = Loop::new(&[("rate_change", word(rule))]);
        l.handshake();
        let mut windows = [0.0; 2];
        for k in 0..40 {
            let slow = k % 2;
            l.hop.bw = BitRate::from_mbit(if slow == 1 { 50 } else { 100 });
            l.hop.q_out = if slow == 1 { 150_000 } else { 0 };
            (0..100).for_each(|_| l.ack(1000, 1.0));
            windows[slow] = l.cc.window;
        }
        windows[0] / windows[1]
    };
    let (mean, scaled) = (ratio("mean"), ratio("scale"));
    assert!((0.9..1.1).contains(&mean), "{mean}");
    assert!(scaled > 1.7, "{scaled}");
}

#[test]
fn the_mean_of_whole_packets_is_the_window() {
    let packets = |rounding: &str| {
        let mut l = Loop::new(&[("rounding", word(rounding))]);
        l.cc.starting = false;
        let mut sum = 0;
        for _ in 0..1000 {
            l.cc.window = 1.7 * MSS as f64;
            l.now += RTT;
            let cx = l.cx();
            l.cc.apply(&cx, &mut l.w);
            sum += l.w.cwnd / MSS;
        }
        sum as f64 / 1000.0
    };
    assert!((packets("dithered") - 1.7).abs() < 0.01, "{}", packets("dithered"));
    assert_eq!(packets("down"), 1.0);
}

#[test]
fn a_queue_within_the_allowance_is_no_excess() {
    let mut l = Loop::new(&[]);
    l.hop.flows = 100;
    l.handshake();
    l.hop.q_out = 15 * MSS;
    l.ack(1000, 0.9);
    l.ack(1000, 0.9);
    assert!((l.cc.port.unwrap().u - 0.9).abs() < 1e-3, "{}", l.cc.port.unwrap().u);
    l.hop.q_out = 25 * MSS;
    l.ack(1000, 0.9);
    l.ack(1000, 0.9);
    let excess = 10.0 * MSS as f64 / PRODUCT;
    assert!((l.cc.port.unwrap().u - 0.9 - excess).abs() < 1e-3);
}

#[test]
fn one_packet_stands_for_others_only_in_windows_of_many() {
    let every = |window: f64| {
        let mut l = Loop::new(&[]);
        l.handshake();
        l.cc.window = window * MSS as f64;
        l.cc.stamp().every
    };
    assert_eq!([every(1.5), every(10.0), every(17.0), every(400.0)], [1, 1, 2, 4]);
    assert!(Loop::new(&[]).cc.stamp().weighted);
    assert!(!Loop::new(&[("count", word("flows"))]).cc.stamp().weighted);
}

#[test]
fn without_telemetry_cubic_takes_over_and_hands_back() {
    let mut l = Loop::new(&[]);
    l.handshake();
    l.round(0.9);
    let bare = AckEvent { newly_acked: MSS, newly_cum_acked: MSS, rtt: Some(RTT), ..AckEvent::default() };
    for _ in 0..170 {
        l.now += Nanos::from_millis(1);
        let cx = l.cx();
        l.cc.on_ack(&cx, &mut l.w, &bare);
    }
    assert_eq!(l.cc.mode(&l.w), "fallback");
    (0..60).for_each(|_| l.ack(1000, 0.9));
    assert_eq!(l.cc.mode(&l.w), "control");
}

#[test]
fn orbccs_words_give_orbccs_start() {
    let mut l = Loop::new(&[("start", word("wait"))]);
    l.handshake();
    assert_eq!(l.w.cwnd, 5 * MSS + (l.cc.dither * MSS as f64) as u64);
    (0..45).for_each(|_| l.ack(1000, 0.2));
    assert_eq!(l.cc.mode(&l.w), "startup", "one mean RTT has not passed");
    (0..10).for_each(|_| l.ack(1000, 0.2));
    assert_eq!(l.cc.mode(&l.w), "control");
    assert!(l.cc.window > 0.9 * PRODUCT);
}
