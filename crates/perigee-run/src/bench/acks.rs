// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cost per ACK of each scheme: the controller alone, on a path of 100 Mbit/s and 50 ms with a
//! slightly varying RTT and an ACK for every second packet. The transport's work for the same ACK
//! is not included.

use perigee_cc::{
    AckEvent, AckedPkt, BitRate, CongestionControl, ConnInit, Controller, Cx, Hop, Nanos, RateSample,
    SchemeInfo, SentPkt, Telemetry, TelemetryNeed, SCHEMES,
};
use serde_json::{json, Value as Json};
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

/// Name of the case.
pub const CASE: &str = "cost-per-ack";

const MSS: u32 = 1448;
const ACKS: u64 = 200_000;
/// Two packets of 1514 bytes at 100 Mbit/s.
const SPACING: Nanos = Nanos(242_240);
const RTT: Nanos = Nanos::from_millis(50);
const RATE: BitRate = BitRate::from_mbit(100);
/// Bandwidth-delay product in packets.
const FLIGHT: u64 = 412;

/// Nanoseconds per ACK of every scheme, the fastest of three passes.
pub fn measure() -> Json {
    let costs = SCHEMES.iter().map(|s| (s.id.to_string(), json!(cost_ns(s))));
    json!({"name": CASE, "ns_per_ack": costs.collect::<serde_json::Map<_, _>>()})
}

fn cost_ns(scheme: &SchemeInfo) -> f64 {
    let pass = |_| {
        let mut path = Path::new(scheme);
        path.run(ACKS / 10);
        let begin = Instant::now();
        path.run(ACKS);
        begin.elapsed().as_nanos() as f64 / ACKS as f64
    };
    (0..3).map(pass).fold(f64::INFINITY, f64::min)
}

struct Path {
    cc: Controller,
    window: perigee_cc::Window,
    cx: Cx,
    tags: VecDeque<(u32, Nanos)>,
    per_packet: bool,
    telemetry: bool,
    pint: bool,
    acks: u64,
    hops: [Hop; 3],
}

impl Path {
    fn new(scheme: &SchemeInfo) -> Self {
        let now = Nanos::from_secs(1);
        let mss = u64::from(MSS);
        let init = ConnInit { now, mss: MSS, init_cwnd: 10 * mss, srtt: Some(RTT), seed: 1, hz: 1000 };
        let params = scheme.params(BTreeMap::new()).expect("defaults are valid");
        let mut cc = scheme.build(&params, &init);
        let caps = cc.caps();
        let cx = Cx {
            now,
            mss: MSS,
            in_flight: FLIGHT * mss,
            outstanding: FLIGHT * mss,
            delivered_time: now,
            srtt: RTT,
            min_rtt: RTT,
            snd_nxt: FLIGHT * mss,
            cwnd_limited: true,
            ..Cx::default()
        };
        let mut window = init.window();
        cc.on_start(&cx, &mut window);
        let mut path = Path {
            cc,
            window,
            cx,
            tags: VecDeque::new(),
            per_packet: caps.per_packet,
            telemetry: caps.telemetry != TelemetryNeed::None,
            pint: caps.pint,
            acks: 0,
            hops: [Hop { bw: RATE, avg_rtt: RTT, flows: 1, ..Hop::default() }; 3],
        };
        (0..FLIGHT).for_each(|_| path.send());
        path
    }

    fn run(&mut self, acks: u64) {
        (0..acks).for_each(|_| self.ack());
        assert!(self.window.cwnd > 0, "a window");
    }

    fn send(&mut self) {
        if !self.per_packet {
            return;
        }
        let packet = SentPkt { seq: self.cx.snd_nxt, bytes: MSS, retrans: false };
        let tag = self.cc.on_sent(&self.cx, &mut self.window, &packet);
        self.tags.push_back((tag, self.cx.now));
    }

    fn ack(&mut self) {
        self.acks += 1;
        let two = 2 * u64::from(MSS);
        let cx = &mut self.cx;
        cx.now += SPACING;
        cx.delivered += two;
        cx.delivered_time = cx.now;
        cx.snd_una += two;
        cx.snd_nxt += two;
        let rtt = RTT + Nanos(self.acks.wrapping_mul(2_654_435_761) % 400_000);
        let mut acked = [AckedPkt::default(); 2];
        let mut count = 0;
        if self.per_packet {
            while count < 2 {
                let Some((tag, sent)) = self.tags.pop_front() else { break };
                acked[count] = AckedPkt { tag, sent, bytes: MSS, rtt: Some(rtt) };
                count += 1;
            }
        }
        for (i, hop) in self.hops.iter_mut().enumerate() {
            hop.ts = Nanos::from_micros((cx.now.as_micros() + i as u64) & 0xff_ffff);
            hop.tx_bytes = (hop.tx_bytes + 2 * 1500) & 0x7fff_ffff;
        }
        let telemetry = self.telemetry.then_some(match self.pint {
            true => Telemetry::Pint {
                path_id: 7,
                u: 0.95,
                bw: RATE,
                flows: 1,
                starting: None,
                queue_delay: Nanos::ZERO,
                covered: 2,
                partial: false,
            },
            false => Telemetry::Stack { path_id: 7, hops: &self.hops, covered: 2, partial: false },
        });
        let ev = AckEvent {
            newly_acked: two,
            newly_cum_acked: two,
            rtt: Some(rtt),
            seq_rtt: Some(rtt),
            prior_in_flight: cx.in_flight,
            rs: RateSample {
                valid: true,
                delivered: FLIGHT * u64::from(MSS),
                interval: rtt,
                prior_delivered: cx.delivered.saturating_sub(FLIGHT * u64::from(MSS)),
                has_prior: true,
                send_elapsed: rtt,
                ack_elapsed: rtt,
                tx_in_flight: cx.in_flight,
                ..RateSample::default()
            },
            may_grow: true,
            acked: &acked[..count],
            telemetry,
            ..AckEvent::default()
        };
        self.cc.on_ack(&self.cx, &mut self.window, &ev);
        if self.window.next_timer.is_some_and(|t| t <= self.cx.now) {
            self.window.next_timer = None;
            self.cc.on_timer(&self.cx, &mut self.window);
        }
        self.send();
        self.send();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_can_be_driven() {
        for scheme in SCHEMES {
            let mut path = Path::new(scheme);
            path.run(5_000);
            assert!(path.window.cwnd >= u64::from(MSS), "{}: {}", scheme.id, path.window.cwnd);
        }
    }
}
