// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cost of an ACK per scheme: nanoseconds of `on_ack` and the calls around it, on a steady
//! synthetic stream.
//!
//! `cargo run --release -p perigee-cc --example cost -- [SCHEME...]`

#![expect(clippy::disallowed_methods, reason = "measures wall-clock time")]

use perigee_cc::*;
use std::collections::BTreeMap;
use std::time::Instant;

const MSS: u64 = 1448;
const ACKS: u64 = 2_000_000;
/// Number of packets in flight, which is the delay of feedback.
const FLIGHT: usize = 400;
const RTT: Nanos = Nanos::from_millis(50);

fn main() {
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    for scheme in SCHEMES.iter().filter(|s| chosen.is_empty() || chosen.iter().any(|c| c == s.id)) {
        println!("{:16} {:6.1} ns per ACK", scheme.id, nanoseconds_per_ack(scheme));
    }
}

/// A flow at 100 Mbit/s with an RTT that varies by a millisecond, over one metered port.
fn nanoseconds_per_ack(scheme: &SchemeInfo) -> f64 {
    let start = Nanos::from_secs(1);
    let init =
        ConnInit { now: start, mss: MSS as u32, init_cwnd: 10 * MSS, srtt: Some(RTT), seed: 1, hz: 1000 };
    let params = scheme.params(BTreeMap::new()).expect("defaults are valid");
    let mut cc = scheme.build(&params, &init);
    let caps = cc.caps();
    let mut w = init.window();
    let mut cx =
        Cx { now: start, mss: MSS as u32, srtt: RTT, min_rtt: RTT, delivered_time: start, ..Cx::default() };
    cc.on_start(&cx, &mut w);
    let mut flight = vec![(0u32, start, 0u64, start); FLIGHT];
    let begin = Instant::now();
    for i in 0..ACKS {
        cx.now = start + Nanos::from_micros(120) * i;
        if w.next_timer.is_some_and(|t| t <= cx.now) {
            w.next_timer = None;
            cc.on_timer(&cx, &mut w);
        }
        (cx.in_flight, cx.outstanding) = (FLIGHT as u64 * MSS, FLIGHT as u64 * MSS);
        let slot = &mut flight[i as usize % FLIGHT];
        let (tag, sent, prior_delivered, prior_time) = *slot;
        cx.delivered += MSS;
        cx.snd_una = cx.delivered;
        cx.snd_nxt = cx.delivered + cx.outstanding;
        cx.delivered_time = cx.now;
        cx.edt = cx.now;
        cx.cwnd_limited = true;
        let rtt = RTT + Nanos::from_micros(i % 1000);
        let hop = Hop {
            ts: Nanos(cx.now.0 % utilisation::TS_WRAP.0),
            bw: BitRate::from_mbit(100),
            q_out: 1500 * (i % 7),
            q_in: 1500 * (i % 7),
            tx_bytes: (i * 1500) % utilisation::TX_WRAP,
            avg_rtt: RTT,
            flows: 1,
        };
        let ev = AckEvent {
            newly_acked: MSS,
            newly_cum_acked: MSS,
            rtt: Some(rtt),
            seq_rtt: Some(rtt),
            prior_in_flight: cx.in_flight + MSS,
            rs: RateSample {
                valid: true,
                delivered: cx.delivered - prior_delivered,
                interval: cx.now.saturating_sub(prior_time).max(Nanos(1)),
                prior_delivered,
                has_prior: true,
                tx_in_flight: cx.in_flight,
                ..RateSample::default()
            },
            may_grow: true,
            acked: &[AckedPkt { tag, sent, bytes: MSS as u32, rtt: Some(rtt) }],
            telemetry: Some(Telemetry::Stack { path_id: 1, hops: &[hop], covered: 1, partial: false }),
            ..AckEvent::default()
        };
        cc.on_ack(&cx, &mut w, &ev);
        let pkt = SentPkt { seq: cx.snd_nxt, bytes: MSS as u32, retrans: false };
        let tag = if caps.per_packet { cc.on_sent(&cx, &mut w, &pkt) } else { 0 };
        flight[i as usize % FLIGHT] = (tag, cx.now, cx.delivered, cx.now);
    }
    begin.elapsed().as_secs_f64() * 1e9 / ACKS as f64
}
