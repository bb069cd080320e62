// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Invariants of every built-in scheme under arbitrary input.

use perigee_cc::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

const MSS: u64 = 1448;
/// Schemes that, like their reference, grow the window although it is not the limit.
const GROWS_UNUSED: &[&str] = &["vegas"];
/// Schemes that decide by a clock, which does not advance here.
const BY_CLOCK: &[&str] = &["astraea", "astraea_leo", "policy"];

/// A call to the controller, in small integers, from which the host below derives consistent
/// arguments.
#[derive(Clone, Debug)]
enum Call {
    Ack {
        packets: u64,
        lost: u64,
        rtt_us: u64,
        limited: bool,
        app_limited: bool,
        telemetry: Option<(u64, u64, u64)>,
    },
    Recovery,
    RecoveryOver,
    Timeout,
    TimeoutOver,
    Undo,
    IdleStart,
    Handover(bool),
    PathChange(u64),
    Probe(u64),
    Nothing,
}

fn calls() -> impl Strategy<Value = Vec<(u64, Call)>> {
    let telemetry = prop::option::of((1u64..4, 0u64..30_000, 0u64..400_000));
    let ack = (0u64..6, 0u64..4, 0u64..900_000, any::<bool>(), prop::bool::weighted(0.1), telemetry)
        .prop_map(|(packets, lost, rtt_us, limited, app_limited, telemetry)| Call::Ack {
            packets,
            lost: lost.saturating_sub(2),
            rtt_us,
            limited,
            app_limited,
            telemetry,
        });
    let call = prop_oneof![
        30 => ack,
        1 => Just(Call::Recovery),
        1 => Just(Call::RecoveryOver),
        1 => Just(Call::Timeout),
        1 => Just(Call::TimeoutOver),
        1 => Just(Call::Undo),
        1 => Just(Call::IdleStart),
        1 => any::<bool>().prop_map(Call::Handover),
        1 => (0u64..3).prop_map(Call::PathChange),
        2 => (0u64..200_000).prop_map(Call::Probe),
        2 => Just(Call::Nothing),
    ];
    // Mostly microseconds between calls, sometimes half a minute.
    let gap = prop_oneof![20 => 0u64..20_000, 1 => 0u64..30_000_000];
    prop::collection::vec((gap, call), 1..300)
}

/// A minimal host that obeys the contract: counters are consistent, and windows are changed as in
/// Linux.
struct Host {
    id: &'static str,
    cc: Controller,
    caps: Caps,
    w: Window,
    cx: Cx,
    reduced: Option<(u64, u64)>,
    port_bytes: u64,
    /// Packets in flight, for schemes that track each packet.
    flight: VecDeque<(u32, TxSnapshot)>,
    last_probe: Option<Nanos>,
    trace: Vec<(u64, u64, Option<BitRate>)>,
}

impl Host {
    fn new(scheme: &SchemeInfo, seed: u64) -> Self {
        let now = Nanos::from_secs(1);
        let srtt = Nanos::from_millis(50);
        let init = ConnInit { now, mss: MSS as u32, init_cwnd: 10 * MSS, srtt: Some(srtt), seed, hz: 250 };
        let params = scheme.params(BTreeMap::new()).unwrap();
        let mut cc = scheme.build(&params, &init);
        let caps = cc.caps();
        let mut w = init.window();
        let cx = Cx {
            now,
            mss: MSS as u32,
            srtt,
            min_rtt: srtt,
            delivered_time: now,
            paced: caps.pacing == Pacing::Required,
            ..Cx::default()
        };
        cc.on_start(&cx, &mut w);
        let host = Host {
            id: scheme.id,
            cc,
            caps,
            w,
            cx,
            reduced: None,
            port_bytes: 0,
            flight: VecDeque::new(),
            last_probe: None,
            trace: Vec::new(),
        };
        host.check("start");
        host
    }

    fn check(&self, after: &str) {
        let floor = self.caps.min_cwnd as u64 * MSS;
        assert!(self.w.cwnd >= floor, "{}: window {} below {floor} after {after}", self.id, self.w.cwnd);
        let required = self.caps.pacing == Pacing::Required;
        assert_eq!(self.w.pacing.is_some(), required, "{}: pacing after {after}", self.id);
        assert!(self.w.pacing.is_none_or(|r| r.0 > 0), "{}: no rate after {after}", self.id);
        self.cc.probe(&mut |name, value| assert!(value.is_finite(), "{name} = {value} after {after}"));
        assert!(!self.cc.mode(&self.w).is_empty());
    }

    fn run(&mut self, gap_us: u64, call: &Call) {
        self.cx.now += Nanos::from_micros(gap_us);
        self.timers();
        let before = self.w.cwnd;
        match *call {
            Call::Ack { limited, .. } => {
                self.ack(call);
                let window_scheme = self.caps.recovery == Recovery::Prr && !GROWS_UNUSED.contains(&self.id);
                assert!(!window_scheme || limited || self.w.cwnd <= before, "grew unused");
            }
            Call::Recovery if self.cx.ca < CaState::Recovery => {
                self.reduce();
                self.become_(CaState::Recovery, Transition::EnterRecovery);
            }
            Call::RecoveryOver if self.cx.ca == CaState::Recovery => {
                if self.caps.recovery == Recovery::Prr {
                    self.w.cwnd = self.w.ssthresh;
                }
                self.become_(CaState::Open, Transition::ExitRecovery);
            }
            Call::Timeout => {
                self.lose(self.flight.len(), LossKind::Rto);
                self.reduce();
                self.cx.in_flight = 0;
                if self.caps.on_rto == OnRto::InFlightPlusOne {
                    self.w.cwnd = MSS;
                }
                self.become_(CaState::Loss, Transition::EnterRto);
            }
            Call::TimeoutOver if self.cx.ca == CaState::Loss => {
                self.become_(CaState::Open, Transition::ExitRto)
            }
            Call::Undo if self.cx.ca >= CaState::Recovery => {
                if let (true, Some((cwnd, ssthresh))) = (self.caps.host_restores_cwnd, self.reduced) {
                    self.w.cwnd = self.w.cwnd.max(cwnd);
                    self.w.ssthresh = self.w.ssthresh.max(ssthresh);
                }
                self.become_(CaState::Open, Transition::Undo(UndoKind::Timestamp));
            }
            Call::IdleStart => {
                (self.cx.in_flight, self.cx.outstanding, self.cx.app_limited) = (0, 0, true);
                self.cc.on_tx_start(&self.cx, &mut self.w);
                self.cx.last_sent = self.cx.now;
            }
            Call::Handover(begin) => {
                let expected_end = Some(self.cx.now + Nanos::from_millis(100));
                let s = if begin { Signal::HandoverBegin { expected_end } } else { Signal::HandoverEnd };
                self.cc.on_signal(&self.cx, &mut self.w, &s);
            }
            Call::Probe(rtt_us) => {
                let gap = self.last_probe.replace(self.cx.now).map(|t| self.cx.now - t);
                let s = Signal::ProbeRtt { rtt: Nanos::from_micros(rtt_us), gap };
                self.cc.on_signal(&self.cx, &mut self.w, &s);
            }
            Call::PathChange(id) => self.cc.on_signal(&self.cx, &mut self.w, &Signal::PathChange { id }),
            _ => {}
        }
        self.check(&format!("{call:?}"));
        self.trace.push((self.w.cwnd, self.w.ssthresh, self.w.pacing));
    }

    fn timers(&mut self) {
        if self.w.next_timer.is_some_and(|t| t <= self.cx.now) {
            self.w.next_timer = None;
            self.cc.on_timer(&self.cx, &mut self.w);
            assert!(self.w.next_timer.is_none_or(|t| t > self.cx.now), "a timer in the past");
            self.check("timer");
        }
    }

    /// Sends until `packets` are in flight.
    fn send(&mut self, packets: usize) {
        while self.flight.len() < packets {
            let pkt =
                SentPkt { seq: self.cx.snd_nxt, bytes: MSS as u32, retrans: self.flight.len() % 9 == 8 };
            let tag = if self.caps.per_packet { self.cc.on_sent(&self.cx, &mut self.w, &pkt) } else { 0 };
            let tx = TxSnapshot {
                sent: self.cx.now,
                delivered: self.cx.delivered,
                lost: self.cx.lost,
                in_flight: self.cx.in_flight,
                ..TxSnapshot::default()
            };
            self.flight.push_back((tag, tx));
        }
    }

    fn lose(&mut self, packets: usize, kind: LossKind) {
        for _ in 0..packets.min(self.flight.len()) {
            let (tag, tx) = self.flight.pop_front().expect("one is left");
            self.cx.lost += MSS;
            if self.caps.per_loss {
                let ev = LossEvent { bytes: MSS, tx, tag, lost_total: self.cx.lost, kind };
                self.cc.on_loss(&self.cx, &mut self.w, &ev);
            }
        }
    }

    fn reduce(&mut self) {
        self.reduced = Some((self.w.cwnd, self.w.ssthresh));
        self.w.ssthresh = self.cc.ssthresh(&self.cx, &self.w);
        assert!(self.w.ssthresh >= 2 * MSS || self.caps.recovery == Recovery::Own, "{}", self.id);
    }

    fn become_(&mut self, ca: CaState, t: Transition) {
        self.cx.ca = ca;
        self.cc.on_transition(&self.cx, &mut self.w, t);
    }

    fn ack(&mut self, call: &Call) {
        let &Call::Ack { packets, lost, rtt_us, limited, app_limited, telemetry } = call else { return };
        let prior_delivered = self.cx.delivered.saturating_sub(self.w.cwnd);
        // Twenty packets are in flight at each ACK, so that feedback is delayed.
        self.send(20 + (packets + lost) as usize);
        self.lose(lost as usize, LossKind::Rack);
        let acked: Vec<_> = self.flight.drain(..packets as usize).collect();
        self.cx.delivered += packets * MSS;
        if packets > 0 {
            self.cx.delivered_time = self.cx.now;
        }
        self.cx.in_flight = self.w.cwnd.saturating_sub(lost * MSS);
        self.cx.outstanding = self.cx.in_flight;
        (self.cx.snd_una, self.cx.snd_nxt) = (self.cx.delivered, self.cx.delivered + self.cx.outstanding);
        (self.cx.cwnd_limited, self.cx.app_limited) = (limited, app_limited);
        let rtt = (rtt_us % 7 != 0 && packets > 0).then(|| Nanos::from_micros(rtt_us));
        let acked: Vec<AckedPkt> = acked
            .into_iter()
            .map(|(tag, tx)| AckedPkt { tag, sent: tx.sent, bytes: MSS as u32, rtt })
            .collect();
        let feedback = telemetry.map_or(0.0, |(_, load, queue)| 1000.0 * load as f64 - queue as f64);
        let hops = telemetry.map(|(n, load, queue)| self.stack(n, load, queue));
        let ev = AckEvent {
            newly_acked: packets * MSS,
            newly_cum_acked: packets * MSS,
            newly_lost: lost * MSS,
            rtt,
            seq_rtt: rtt,
            prior_in_flight: self.cx.in_flight + packets * MSS,
            rs: RateSample {
                valid: rtt_us % 11 != 0,
                delivered: self.cx.delivered - prior_delivered,
                interval: Nanos::from_micros(rtt_us),
                prior_delivered,
                has_prior: packets > 0,
                is_app_limited: app_limited,
                lost_since_tx: lost * MSS,
                tx_in_flight: self.cx.in_flight,
                ..RateSample::default()
            },
            acked: if self.caps.per_packet { &acked } else { &[] },
            is_dup: packets == 0,
            may_grow: packets > 0 && self.cx.ca != CaState::Recovery,
            telemetry: hops.as_deref().map(|hops| match self.caps.telemetry {
                TelemetryNeed::Law(law) => Telemetry::Feedback {
                    law,
                    value: feedback,
                    hops: hops.len() as u32,
                    covered: packets.max(1) as u32,
                    partial: rtt_us % 13 == 0,
                },
                _ => Telemetry::Stack {
                    path_id: hops.len() as u64,
                    hops,
                    covered: packets.max(1) as u32,
                    partial: rtt_us % 13 == 0,
                },
            }),
            ..AckEvent::default()
        };
        self.cc.on_ack(&self.cx, &mut self.w, &ev);
    }

    fn stack(&mut self, hops: u64, load: u64, queue: u64) -> Vec<Hop> {
        self.port_bytes += load;
        let hop = |i: u64| Hop {
            ts: Nanos(self.cx.now.0 % utilisation::TS_WRAP.0),
            bw: BitRate::from_mbit(100 * (i % 2)),
            q_out: queue,
            q_in: queue,
            tx_bytes: self.port_bytes % utilisation::TX_WRAP,
            avg_rtt: Nanos::from_millis(40 * (load % 3)),
            flows: i as u32,
        };
        (0..hops).map(hop).collect()
    }
}

fn run(scheme: &SchemeInfo, calls: &[(u64, Call)], seed: u64) -> Vec<(u64, u64, Option<BitRate>)> {
    let mut host = Host::new(scheme, seed);
    for (gap_us, call) in calls {
        host.run(*gap_us, call);
    }
    host.trace
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_scheme_keeps_its_promises_and_repeats_itself(calls in calls(), seed in any::<u64>()) {
        for scheme in SCHEMES {
            prop_assert_eq!(run(scheme, &calls, seed), run(scheme, &calls, seed), "{}", scheme.id);
        }
    }

    /// Arguments that no host should pass: the only guarantee is that nothing panics.
    #[test]
    fn absurd_arguments_do_not_break_a_scheme(
        steps in prop::collection::vec((any::<[u64; 6]>(), 0u8..14, any::<bool>()), 1..60),
    ) {
        const LIMIT: u64 = 1_000_000_000_000;
        for scheme in SCHEMES {
            let mut h = Host::new(scheme, 1);
            for (n, kind, flag) in &steps {
                let n = n.map(|v| if v % 5 == 0 { 0 } else { v % LIMIT });
                h.cx = Cx {
                    now: Nanos(n[0]),
                    in_flight: n[1],
                    outstanding: n[2],
                    delivered: n[3],
                    lost: n[4],
                    srtt: Nanos(n[5]),
                    snd_una: n[2],
                    snd_nxt: n[1],
                    edt: Nanos(n[4]),
                    delivered_time: Nanos(n[5]),
                    cwnd_limited: *flag,
                    ..h.cx
                };
                let (cx, w) = (h.cx, &mut h.w);
                w.cwnd = w.cwnd.min(n[1]);
                let hop = Hop { ts: Nanos(n[0]), bw: BitRate(n[1]), q_out: n[2], q_in: n[3], tx_bytes: n[4], avg_rtt: Nanos(n[5]), flows: n[1] as u32 };
                let rs = RateSample { valid: *flag, delivered: n[1], interval: Nanos(n[2]), prior_delivered: n[3], ..RateSample::default() };
                let telemetry = Some(match h.caps.telemetry {
                    TelemetryNeed::Law(law) => Telemetry::Feedback { law, value: f64::from_bits(n[0]), hops: n[1] as u32, covered: 1, partial: *flag },
                    _ => Telemetry::Stack { path_id: n[0] % 2, hops: &[hop], covered: n[1] as u32, partial: *flag },
                });
                let tx = TxSnapshot { sent: Nanos(n[1]), delivered: n[2], lost: n[3], in_flight: n[4], ..TxSnapshot::default() };
                let loss = LossEvent { bytes: n[0], tx, tag: n[5] as u32, lost_total: n[2], kind: LossKind::Rack };
                let packet = AckedPkt { tag: n[3] as u32, sent: Nanos(n[2]), bytes: n[1] as u32, rtt: flag.then_some(Nanos(n[4])) };
                match kind {
                    7 => h.cc.on_loss(&cx, w, &loss),
                    8 => { h.cc.on_sent(&cx, w, &SentPkt { seq: n[0], bytes: n[1] as u32, retrans: *flag }); }
                    9 => h.cc.on_signal(&cx, w, &Signal::ProbeRtt { rtt: Nanos(n[1]), gap: flag.then_some(Nanos(n[2])) }),
                    10 => h.cc.on_signal(&cx, w, &Signal::HandoverBegin { expected_end: flag.then_some(Nanos(n[2])) }),
                    0 => h.cc.on_transition(&cx, w, Transition::EnterRto),
                    1 => h.cc.on_transition(&cx, w, Transition::Undo(UndoKind::Frto)),
                    2 => h.cc.on_tx_start(&cx, w),
                    3 => h.cc.on_timer(&cx, w),
                    4 => w.ssthresh = h.cc.ssthresh(&cx, w),
                    _ => h.cc.on_ack(&cx, w, &AckEvent {
                        newly_acked: n[1], newly_cum_acked: n[2], newly_lost: n[3], rtt: flag.then_some(Nanos(n[4])),
                        prior_in_flight: n[5], rs, may_grow: true, telemetry, acked: &[packet], ..AckEvent::default()
                    }),
                }
            }
        }
    }
}

#[test]
fn a_clean_path_makes_every_scheme_grow_beyond_its_first_window() {
    for scheme in SCHEMES.iter().filter(|s| !BY_CLOCK.contains(&s.id)) {
        let mut h = Host::new(scheme, 3);
        let first = h.w;
        for i in 0..4000u64 {
            let telemetry = Some((2, 601, 0));
            let call = Call::Ack {
                packets: 1,
                lost: 0,
                rtt_us: 50_003,
                limited: true,
                app_limited: false,
                telemetry,
            };
            h.run(400 + i % 3, &call);
        }
        // Rate-based schemes have a window that never limits from the start.
        let grown = h.w.cwnd > first.cwnd || h.w.pacing > first.pacing;
        assert!(grown, "{}: {first:?} -> {:?}", scheme.id, h.w);
    }
}
