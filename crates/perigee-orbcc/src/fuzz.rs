// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random connections: ACKs, losses, pauses, paths and records in any order, within their bounds.

use crate::core::Profile;
use crate::lockstep::{Lockstep, Report};
use crate::{wire::Wire, Receiver};
use perigee_cc::orbcc::{self, OrbCc};
use perigee_cc::*;
use perigee_telemetry::wire::{rate_code, WireCompact, WireHop, MAX_HOPS};
use perigee_telemetry::{uf16, BottleneckEcho, StackDecoder, WirePint};
use perigee_units::draw::mix;
use std::sync::{Arc, Mutex};

const MSS: u32 = 1448;

/// Deterministic random numbers.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }
    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
    /// Draws a value between two bounds, with a uniform logarithm.
    fn log(&mut self, low: f64, high: f64) -> f64 {
        let x = self.next() as f64 / u64::MAX as f64;
        low * libm::pow(high / low, x)
    }
}

/// A port with a counter and a clock.
struct Port {
    ts_us: u64,
    tx: u64,
    mbit: f64,
    avg_rtt_us: u64,
    flows: u32,
    queue: u64,
}

impl Port {
    fn new(d: &mut Draws) -> Self {
        Port {
            ts_us: d.next() >> 20,
            tx: d.next() >> 20,
            mbit: d.log(0.1, 400_000.0),
            avg_rtt_us: if d.one_in(20) { 0 } else { d.log(50.0, 1_000_000.0) as u64 },
            flows: d.log(1.0, 4000.0) as u32,
            queue: 0,
        }
    }

    fn advance(&mut self, d: &mut Draws, us: u64) {
        self.ts_us += us;
        self.tx += (self.mbit / 8.0 * us as f64 * d.log(0.3, 1.05)) as u64;
        let room = (self.mbit / 8.0 * self.avg_rtt_us as f64) as u64;
        self.queue = if d.one_in(3) { d.below(room.clamp(1, 1 << 31)) } else { self.queue };
        // Loads stay below the bound of plausibility.
        if d.one_in(3000) {
            self.mbit = (self.mbit * d.log(1.0 / 30.0, 30.0)).clamp(0.1, 400_000.0);
            self.queue = 0;
        }
        if d.one_in(500) {
            self.flows = d.log(1.0, 4000.0) as u32;
            self.avg_rtt_us = d.log(50.0, 1_000_000.0) as u64;
            self.queue = 0;
        }
    }

    fn record(&self) -> WireHop {
        WireHop::encode(&Hop {
            ts: Nanos::from_micros(self.ts_us & 0xff_ffff),
            bw: BitRate((self.mbit * 1e6) as u64),
            q_out: self.queue,
            q_in: self.queue,
            tx_bytes: self.tx & 0x7fff_ffff,
            avg_rtt: Nanos::from_micros(self.avg_rtt_us),
            flows: self.flows,
        })
    }
}

/// Telemetry of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// Stacks, of which the sender computes differences.
    Full,
    /// Compact records; the receivers of both implementations are also compared.
    Bottleneck,
    /// Records of fixed size.
    Pint,
}

/// The reference's options.
fn reference(echo: Echo, init: &ConnInit) -> OrbCc {
    let given = match echo {
        Echo::Full => vec![],
        Echo::Bottleneck => vec![("echo".to_string(), Value::Text("bottleneck".into()))],
        Echo::Pint => vec![("echo".to_string(), Value::Text("pint".into()))],
    };
    let params = Params::new(orbcc::PARAMS, given.into_iter().collect()).expect("known options");
    OrbCc::new(&params, init)
}

/// Runs connections until `acks` ACKs have been processed. Also returns the number of echoes in
/// which the two receivers differ by more than one unit.
pub fn run(seed: u64, acks: u64, echo: Echo) -> (Report, u64) {
    let into = Arc::new(Mutex::new(Report::default()));
    let (mut done, mut apart, mut connection) = (0, 0, 0);
    while done < acks {
        connection += 1;
        let seed = mix(seed ^ connection << 20);
        let length = 200 + mix(seed) % 4000;
        apart += one(seed, length, echo, &into);
        done += length;
    }
    let report = into.lock().expect("no thread has failed").clone();
    (report, apart)
}

/// Runs a connection of `length` ACKs.
fn one(seed: u64, length: u64, echo: Echo, into: &Arc<Mutex<Report>>) -> u64 {
    let mut d = Draws(seed);
    let mut now = 1_000_000_000 + d.below(1 << 40);
    let init = ConnInit { now: Nanos(now), mss: MSS, init_cwnd: 14_480, srtt: None, seed, hz: 1000 };
    let profile = if echo == Echo::Pint { Profile::Pint } else { Profile::OrbCc };
    let mut cc = Lockstep::new(reference(echo, &init), &init, profile, into.clone());
    let mut w = init.window();
    let mut cx = Cx { now: init.now, mss: MSS, cwnd_limited: true, paced: true, ..Cx::default() };
    cc.on_start(&cx, &mut w);
    let (mut decoder, mut theirs, mut ours) =
        (StackDecoder::default(), BottleneckEcho::new(), Receiver::default());
    let mut path = d.next() as u16;
    let mut ports: Vec<Port> = ports_of(&mut d);
    let rtt_ns = d.log(100_000.0, 1e9);
    let gap_ns = d.log(1_000.0, rtt_ns / 2.0);
    let partial = d.one_in(4);
    let (mut silent, mut apart) = (0u64, 0);
    let mut records: Vec<WireHop> = Vec::new();
    for _ in 0..length {
        let pause = if d.one_in(800) { d.log(1e8, 2e10) } else { gap_ns * d.log(0.2, 5.0) };
        let until = now + 1_000 + pause as u64;
        fire_timers(&mut cc, &mut cx, &mut w, until);
        let us = (until - now) / 1000;
        now = until;
        cx.now = Nanos(now);
        if d.one_in(1500) {
            path = d.next() as u16;
            ports = ports_of(&mut d);
            records.clear();
        }
        ports.iter_mut().for_each(|p| p.advance(&mut d, us));
        // Occasionally, the old records are repeated.
        if records.len() != ports.len() || !d.one_in(50) {
            records = ports.iter().map(Port::record).collect();
        }
        if d.one_in(700) {
            silent = d.below(400);
        }
        silent = silent.saturating_sub(1);
        let covered = if d.one_in(4) { 1 + d.below(60) as u32 } else { 1 };
        let pint = WirePint {
            u: d.below(256) as u8,
            flows: d.below(256) as u8,
            bw: rate_code(BitRate((ports.first().map_or(1.0, |p| p.mbit) * 1e6) as u64)),
            wait: d.below(4096) as u16,
            path: u32::from(path) * 65_537,
        };
        let compact = theirs.on_data(cx.now, path, &records);
        if echo == Echo::Bottleneck && !records.is_empty() {
            apart += u64::from(!alike(&compact, &ours.on_data(now, &Wire::of_stack(path, &records))));
        }
        let telemetry = (silent == 0).then(|| match echo {
            Echo::Bottleneck if records.is_empty() => decoder.decode(path, &records, covered, partial),
            Echo::Full => decoder.decode(path, &records, covered, partial),
            Echo::Bottleneck => compact.decode(covered, partial),
            Echo::Pint => pint.decode(covered, partial),
        });
        let bytes = u64::from(covered) * u64::from(MSS);
        let acked = if d.one_in(60) { 0 } else { bytes };
        cx.delivered += bytes;
        cx.in_flight = d.below(2 * w.cwnd + 1);
        cx.outstanding = if d.one_in(30) { 0 } else { cx.in_flight + 1 };
        let rtt = (!d.one_in(10)).then(|| Nanos((rtt_ns * d.log(1.0, 2.0)) as u64));
        let rs = RateSample {
            valid: !d.one_in(20),
            delivered: d.below(1 << 28),
            interval: Nanos(1_000_000 + d.below(1 << 30)),
            ..RateSample::default()
        };
        let ev = AckEvent {
            newly_acked: bytes,
            newly_cum_acked: acked,
            rtt,
            rs,
            telemetry,
            ..AckEvent::default()
        };
        cc.on_ack(&cx, &mut w, &ev);
        if d.one_in(200) {
            // The next packet leaves after a pause.
            cx.outstanding = 0;
            let last_sent = Nanos(now);
            let later = now + d.log(1e6, 5e9) as u64;
            fire_timers(&mut cc, &mut cx, &mut w, later);
            now = later;
            cx.now = Nanos(now);
            cx.last_sent = last_sent;
            cc.on_tx_start(&cx, &mut w);
        }
    }
    apart
}

/// Draws 0 to 14 ports, rarely 0.
fn ports_of(d: &mut Draws) -> Vec<Port> {
    let n = if d.one_in(20) { 0 } else { 1 + d.below(MAX_HOPS as u64) };
    (0..n).map(|_| Port::new(d)).collect()
}

fn fire_timers(cc: &mut Lockstep<OrbCc>, cx: &mut Cx, w: &mut Window, until: u64) {
    while let Some(at) = w.next_timer.filter(|t| t.0 < until) {
        cx.now = Nanos(at.0.max(cx.now.0));
        w.next_timer = None;
        cc.on_timer(cx, w);
    }
}

/// Whether records differ at most by rounding.
fn alike(theirs: &WireCompact, ours: &[u8; 16]) -> bool {
    let ours = WireCompact::from_bytes(ours);
    let near = |a: u16, b: u16| a.abs_diff(b) <= 1 || (a >= 65_000 && b >= 65_000);
    let wait = uf16::decode(theirs.queue_delay).abs_diff(uf16::decode(ours.queue_delay));
    // If the loads of two hops are equal up to the last bits, either hop may be reported.
    let same_hop = theirs.hop == ours.hop && theirs.bw == ours.bw && theirs.tau == ours.tau;
    near(theirs.u, ours.u)
        && (same_hop || (theirs.hop != 255 && ours.hop != 255))
        && wait <= 1 + uf16::decode(theirs.queue_delay) / 2048
        && theirs.path_id == ours.path_id
}
