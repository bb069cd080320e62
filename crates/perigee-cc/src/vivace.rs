// SPDX-License-Identifier: Apache-2.0 OR MIT
//! PCC Vivace (Dong et al. 2018; PCCproject/PCC-Uspace).
//!
//! Idea: no model of the path. Send at deliberately different rates for about an RTT each, compare
//! their utility, and move the rate along its gradient.
//!
//! ```text
//! u(x, g, L) = x^0.9 − 900 x g − 11.35 x L    (as published)
//! x = rate in Mbit/s, g = dRTT/dt, L = share lost
//!
//!   interval n        interval n+1      …         result of n: (x, g, L), an RTT after its end
//!  ├─ rate r(1+e) ──┼─ rate r(1−e) ──┼─ rate r ─┤                    │
//!                                                                    ▼
//!  START (×2) ──► PROBE (pairs around r) ──► MOVE (along the gradient) ──► PROBE …
//! ```
//!
//! Two controllers, each in a separate file, differ in utility, intervals and steps.
//! `variant = udt`, the default, is the program behind the paper and the LEO study; `newer` the
//! later rewrite. There is no window in the algorithm; the transport's is set to a value that never
//! limits. Both programs acknowledge each packet, so that receivers neither delay nor bundle ACKs.
//! `newer` stops sending while more than four intervals without a purpose are in progress.
//!
//! Under random loss: `udt` tolerates 50 lost packets in its start, and losses up to 3 % hardly
//! count. `newer` compares two intervals of an RTT each in its start, whatever their losses; if one
//! packet of twenty is lost at 4 Mbit/s, the doubling ends, and its bounded steps, each of which
//! one lost packet can reverse, then take 20 to 30 s to 100 Mbit/s. With 1 % of loss, 100 Mbit/s
//! and 50 ms this happens to every second connection, as in the original program.
//!
//! Differs from the programs: intervals count payload, not datagrams. `newer`: the slope is
//! computed over send times instead of packet numbers, and an interval with few reliable RTTs is
//! not prolonged. `udt`: its monitor's timeouts and hibernation, disabled there, are not
//! implemented.

mod monitor;
mod newer;
mod udt;
mod utility;

use crate::rng::Rng;
use crate::*;
use monitor::{Monitor, Report, Role};
use newer::Newer;
use udt::Udt;

/// Parameters.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "variant",
        domain: Domain::Choice(&["udt", "newer"]),
        unit: "",
        source: "PCC-Uspace: master; NSDI-2018",
        help: "implementation of the controller",
    },
    ParamSpec {
        name: "latency",
        domain: Domain::Bool(true),
        unit: "",
        source: "paper; flag 1 in the LEO study",
        help: "whether a rising RTT reduces utility (Vivace-Latency), or only loss does",
    },
    ParamSpec {
        name: "safety_window",
        domain: Domain::Bool(false),
        unit: "",
        source: "choice",
        help: "limit data in flight to 2 × rate × minimum RTT, plus 8 packets",
    },
];

/// Window of UDT, which is never the limit.
const FREE_WINDOW_SEGMENTS: u64 = 100_000;
const MIN_WINDOW_SEGMENTS: u64 = 4;
/// Maximum number of intervals in progress without a purpose.
const MAX_WAITING: usize = 4;
/// RTTs assumed before the first sample (newer, UDT).
const FIRST_RTT: Nanos = Nanos::from_millis(100);
const FIRST_RTT_UDT: Nanos = Nanos::from_secs(10);
/// UDT: RTTs above this result in intervals of 0.3 s.
const LONG_RTT: Nanos = Nanos::from_secs(1);
const LONG_INTERVAL: Nanos = Nanos::from_millis(300);
const UDT_PACKETS: (u64, u64) = (10, 3000);
/// Minimum number of RTT samples of its own packets before an interval may end (newer).
const MIN_RTTS: u32 = 4;
const START_BYTES_PER_PACKET: f64 = 1400.0;

#[derive(Clone, Debug)]
enum Rate {
    Newer(Newer),
    Udt(Udt),
}

/// State of one connection.
#[derive(Clone, Debug)]
pub struct Vivace {
    rate: Rate,
    monitor: Monitor,
    rng: Rng,
    safety_window: bool,
    /// Rate of the current interval in Mbit/s.
    mbps: f64,
    role: Role,
    /// Newer: shortest RTT. UDT: mean RTT of the latest complete interval.
    rtt: Nanos,
    has_rtt: bool,
    last_utility_rate: f64,
}

impl Vivace {
    /// A controller for a new connection.
    pub fn new(params: &Params, init: &ConnInit) -> Self {
        let latency = params.bool("latency");
        let udt = params.choice("variant") == "udt";
        let rtt = init.srtt.unwrap_or(FIRST_RTT).min(FIRST_RTT).max(Nanos::from_micros(100));
        let packets = init.init_cwnd as f64 / init.mss.max(1) as f64;
        let initial_mbps = packets * START_BYTES_PER_PACKET * 8e-6 / rtt.as_secs_f64();
        Vivace {
            rate: if udt {
                Rate::Udt(Udt::new(latency))
            } else {
                Rate::Newer(Newer::new(latency, initial_mbps))
            },
            monitor: Monitor::new(udt),
            rng: Rng::new(init.seed),
            safety_window: params.bool("safety_window"),
            mbps: 0.0,
            role: Role::Waiting,
            rtt: if udt { FIRST_RTT_UDT } else { init.srtt.unwrap_or(FIRST_RTT) },
            has_rtt: !udt && init.srtt.is_some(),
            last_utility_rate: 0.0,
        }
    }

    fn is_udt(&self) -> bool {
        matches!(self.rate, Rate::Udt(_))
    }

    fn begin_interval(&mut self, w: &mut Window) {
        (self.role, self.mbps) = match &mut self.rate {
            Rate::Newer(c) => c.next(&mut self.rng),
            Rate::Udt(c) => c.next(&mut self.rng),
        };
        self.monitor.begin(self.role, self.mbps);
        w.pacing = Some(BitRate((self.mbps * 1e6).max(1.0) as u64));
    }

    /// Whether the current interval is over.
    fn is_due(&self, cx: &Cx) -> bool {
        let (sent, rtts, since) = self.monitor.present();
        match &self.rate {
            Rate::Newer(c) if self.role == Role::Waiting => !c.waits(),
            Rate::Newer(_) => rtts >= MIN_RTTS && cx.now.saturating_sub(since) >= self.rtt,
            Rate::Udt(_) => {
                let rtt = if self.rtt > LONG_RTT { LONG_INTERVAL } else { self.rtt };
                let packets = (rtt.as_secs_f64() * self.mbps * 1e6 / (8.0 * cx.mss.max(1) as f64)) as u64;
                sent as u64 >= packets.clamp(UDT_PACKETS.0, UDT_PACKETS.1)
            }
        }
    }

    fn take(&mut self, report: &Report) {
        self.last_utility_rate = report.sample.mbps;
        match &mut self.rate {
            Rate::Newer(c) => c.on_report(report),
            Rate::Udt(c) => {
                if report.sample.mean_rtt_s > 0.0 {
                    self.rtt = Nanos::from_secs_f64(report.sample.mean_rtt_s);
                }
                c.on_report(report);
            }
        }
    }

    fn set_window(&self, cx: &Cx, w: &mut Window) {
        let segments = if !self.is_udt() && self.monitor.waiting() > MAX_WAITING {
            MIN_WINDOW_SEGMENTS
        } else if self.safety_window {
            let bdp = self.mbps * 1e6 / 8.0 * self.rtt.as_secs_f64() / cx.mss.max(1) as f64;
            ((2.0 * bdp) as u64).max(MIN_WINDOW_SEGMENTS) + MIN_WINDOW_SEGMENTS
        } else {
            FREE_WINDOW_SEGMENTS
        };
        w.cwnd = cx.bytes(segments);
    }
}

impl CongestionControl for Vivace {
    fn caps(&self) -> Caps {
        Caps {
            on_rto: OnRto::Keep,
            per_packet: true,
            per_loss: true,
            // Both programs acknowledge each packet: a delayed ACK would look like a queue.
            ack_every: Some(1),
            unpaced_start: 0,
            min_cwnd: MIN_WINDOW_SEGMENTS as u32,
            ..Caps::MODEL
        }
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        // One packet per pacing tick: bursts would look like queues.
        w.quantum = 1;
        self.begin_interval(w);
        self.set_window(cx, w);
    }

    fn on_sent(&mut self, cx: &Cx, w: &mut Window, p: &SentPkt) -> u32 {
        if self.is_due(cx) {
            self.begin_interval(w);
        }
        self.monitor.on_sent(cx.edt.max(cx.now), p.bytes)
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        for p in ev.acked {
            self.monitor.on_acked(cx.now, p);
        }
        if let (false, Some(rtt)) = (self.is_udt(), ev.rtt.filter(|r| *r > Nanos::ZERO)) {
            self.rtt = if self.has_rtt { self.rtt.min(rtt) } else { rtt };
            self.has_rtt = true;
        }
        while let Some(report) = self.monitor.pop() {
            self.take(&report);
        }
        self.set_window(cx, w);
    }

    fn ssthresh(&mut self, _cx: &Cx, w: &Window) -> u64 {
        w.ssthresh
    }

    fn on_loss(&mut self, _cx: &Cx, _w: &mut Window, ev: &LossEvent) {
        self.monitor.on_lost(ev.tag);
    }

    fn on_transition(&mut self, cx: &Cx, w: &mut Window, _t: Transition) {
        self.set_window(cx, w);
    }

    fn mode(&self, _w: &Window) -> &'static str {
        match &self.rate {
            Rate::Newer(c) => c.name(),
            Rate::Udt(c) => c.name(),
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("rate_bps", self.mbps * 1e6);
        out("measured_rate_bps", self.last_utility_rate * 1e6);
        out("interval_rtt_s", self.rtt.as_secs_f64());
        out("useful", (self.role != Role::Waiting) as u8 as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::closed_loop::{Loop, Path};
    use std::collections::BTreeMap;

    fn flow(path: Path, variant: &str, latency: bool) -> Loop<Vivace> {
        let given = BTreeMap::from([
            ("variant".to_string(), Value::Text(variant.into())),
            ("latency".to_string(), Value::Bool(latency)),
        ]);
        let p = Params::new(PARAMS, given).unwrap();
        Loop::new(path, |init| Vivace::new(&p, init))
    }

    #[test]
    fn both_fill_a_clean_link() {
        for variant in ["newer", "udt"] {
            let mut f = flow(Path::new(50, 30), variant, true);
            f.run_s(20.0);
            let goodput = f.run_s(20.0);
            assert!(goodput > 40.0, "{variant}: {goodput}");
        }
    }

    #[test]
    fn one_percent_of_random_loss_is_tolerated() {
        for (variant, latency) in [("newer", true), ("newer", false), ("udt", false)] {
            let mut f = flow(Path { loss: 0.01, ..Path::new(100, 30) }, variant, latency);
            f.run_s(20.0);
            let goodput = f.run_s(20.0);
            assert!(goodput > 82.0, "{variant} {latency}: {goodput}");
        }
    }

    #[test]
    fn an_outage_does_not_stop_it_for_good() {
        for variant in ["newer", "udt"] {
            let mut f = flow(Path::new(20, 30), variant, true);
            f.run_s(5.0);
            f.path.down = true;
            f.run_s(2.0);
            f.path.down = false;
            f.run_s(30.0);
            let goodput = f.run_s(10.0);
            assert!(goodput > 10.0, "{variant}: {goodput}");
        }
    }

    #[test]
    fn the_safety_window_bounds_what_is_in_flight() {
        let given = BTreeMap::from([("safety_window".to_string(), Value::Bool(true))]);
        let p = Params::new(PARAMS, given).unwrap();
        let mut f = Loop::new(Path::new(20, 50), |init| Vivace::new(&p, init));
        f.run_s(5.0);
        assert!(f.cwnd() < 400, "{}", f.cwnd());
    }
}
