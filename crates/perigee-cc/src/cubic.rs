// SPDX-License-Identifier: Apache-2.0 OR MIT
//! CUBIC as in Linux (Ha, Rhee, Xu 2008; RFC 9438).
//!
//! Idea: after a loss at window W_max the window returns there along a cubic of *time*: fast at
//! first, flat around W_max, fast again beyond, so that growth does not depend on the RTT. Where
//! that is slower than Reno, follow Reno.
//!
//! ```text
//! W(t)     = C·(t − K)³ + W_max       K = cbrt((W_max − cwnd)/C)        C = 0.4 packet/s³
//! growth   one packet per cnt packets acknowledged,
//!          cnt = cwnd / (W(t + delay_min) − cwnd), at least 2
//! Reno     w_tcp += 1 per 15/8·cwnd packets acknowledged;
//!          while w_tcp > cwnd: cnt ≤ cwnd / (w_tcp − cwnd)
//! loss     W_max = cwnd, or 0.85·cwnd if it did not reach the old W_max;  ssthresh = 0.7·cwnd
//! timeout  reset everything; until the next loss cnt ≤ 20
//!
//!             cwnd ≥ ssthresh                  loss (ssthresh call)
//! slow start ─────────────────► epoch: W(t) ─────────────────────► recovery (PRR) ──► new epoch
//!     ▲        or HyStart             │ timeout
//!     └───────────────────────────────┘
//! ```
//!
//! Integer arithmetic in packets, with the curve in 1/1024 s and the wall clock in timer ticks, so
//! that windows equal the kernel's packet for packet (except for its approximate cube root, ±1).
//!
//! `variant = ns3` follows ns-3 where it differs (later end of slow start, at most one packet per
//! ACK, W_max kept over a timeout); `variant = rfc9438` is the RFC in real numbers, see `rfc9438`;
//! `variant = inet` is the model of an OMNeT++ study, see `inet`.
//!
//! Differs from RFC 9438: the reduction starts from cwnd, not FlightSize; the curve is evaluated
//! delay_min ahead, not SRTT; the Reno slope stays 8/15 for ever; undo does not restore W_max;
//! growth is capped at 1.5 per round.

pub(crate) mod inet;
mod rfc9438;

use crate::clock::JiffyClock;
use crate::hystart::{Detect, Flavour, HyStart};
use crate::window::{slow_start, AdditiveIncrease};
use crate::*;
use rfc9438::Rfc9438;

/// Parameters, with the kernel's defaults.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "variant",
        domain: Domain::Choice(&["linux", "ns3", "rfc9438", "inet"]),
        unit: "",
        source: "Linux; ns-3; RFC 9438; Avian688/cubic, the model of the OrbCC study's simulator",
        help: "implementation that is followed in arithmetic and edge cases",
    },
    ParamSpec {
        name: "fast_convergence",
        domain: Domain::Bool(true),
        unit: "",
        source: "RFC 9438 section 4.7",
        help: "yield to new flows: reduce W_max if the previous one was not reached",
    },
    ParamSpec {
        name: "tcp_friendliness",
        domain: Domain::Bool(true),
        unit: "",
        source: "RFC 9438 section 4.3",
        help: "grow at least as fast as Reno",
    },
    ParamSpec {
        name: "hystart",
        domain: Domain::Bool(true),
        unit: "",
        source: "Linux",
        help: "end slow start before the queue overflows (HyStart)",
    },
    ParamSpec {
        name: "hystart_detect",
        domain: Domain::Choice(&["both", "train", "delay"]),
        unit: "",
        source: "Linux (3 = both)",
        help: "signals that end slow start: ACK trains, rising delay",
    },
    ParamSpec {
        name: "hystart_rule",
        domain: Domain::Choice(&["linux", "linux-4.15"]),
        unit: "",
        source: "Linux since 2025; Linux before 5.8",
        help: "kernel version of the HyStart thresholds (ns-3's with variant = ns3)",
    },
];

/// Fixed point of the factors below.
const SCALE: u64 = 1024;
/// Fraction of the window kept after a loss: 0.70020.
const BETA: u64 = 717;
/// C in 1/1024 packet/s³: 0.40039.
const C: u64 = 410;
/// Packets acknowledged per packet of Reno growth, in eighths of the window: the inverse of
/// 3(1-β)/(1+β), truncated.
const RENO_SLOPE_EIGHTHS: u64 = 15;
/// Before the first loss the window grows by at least 1/20 per round.
const MAX_COUNT_BEFORE_LOSS: u64 = 20;
/// Time after the start of an epoch during which ns-3 ignores RTT samples; Linux uses a second.
const NS3_QUIET: Nanos = Nanos::from_millis(10);
/// The curve's time unit, per second.
const CURVE_HZ: u64 = 1024;
/// C/1024 · (1/1024 s)³ as a shift.
const CUBE_SHIFT: u32 = 40;

/// Curve and Reno estimate; all zero before the first epoch.
#[derive(Clone, Debug, Default)]
struct Curve {
    /// Number of packets to be acknowledged per packet of growth.
    count: u64,
    w_max: u64,
    /// Window and time (ticks) of the last evaluation.
    last_cwnd: u64,
    last_time: u64,
    /// Plateau of the current epoch.
    origin: u64,
    /// Time from the epoch's start to the plateau, in 1/1024 s.
    k: u64,
    epoch_start: Option<u64>,
    /// Packets acknowledged but not yet used by the Reno estimate.
    acked: u64,
    w_tcp: u64,
    /// Whether a new epoch starts close to its plateau (SaTCP).
    hasten: bool,
}

/// State of the last loss and the epoch.
#[derive(Clone, Debug)]
pub(crate) struct Memory(Curve, Option<Rfc9438>);

/// State of one connection.
#[derive(Clone, Debug)]
pub struct Cubic {
    ns3: bool,
    rfc: Option<Rfc9438>,
    fast_convergence: bool,
    tcp_friendliness: bool,
    clock: JiffyClock,
    hystart: Option<HyStart>,
    curve: Curve,
    /// Lowest RTT since the start or the last timeout.
    delay_min: Option<Nanos>,
    increase: AdditiveIncrease,
    /// With ns-3's rules: whether this ACK has ended a recovery.
    recovered: bool,
}

impl Cubic {
    /// A controller for a new connection.
    pub fn new(params: &Params, init: &ConnInit) -> Self {
        let signs = params.choice("hystart_detect");
        let detect = Detect { train: signs != "delay", delay: signs != "train" };
        let variant = params.choice("variant");
        let ns3 = variant == "ns3";
        let flavour = match params.choice("hystart_rule").as_str() {
            _ if ns3 => Flavour::Ns3,
            "linux-4.15" => Flavour::Linux415,
            _ => Flavour::Linux,
        };
        Cubic {
            ns3,
            rfc: (variant == "rfc9438").then(|| Rfc9438::new(params.bool("fast_convergence"))),
            fast_convergence: params.bool("fast_convergence"),
            tcp_friendliness: params.bool("tcp_friendliness"),
            clock: JiffyClock::new(init.hz),
            hystart: params.bool("hystart").then(|| HyStart::new(detect, flavour, init.now)),
            curve: Curve::default(),
            delay_min: None,
            increase: AdditiveIncrease::default(),
            recovered: false,
        }
    }

    /// Sets whether new epochs start close to their plateau.
    pub(crate) fn hasten(&mut self, on: bool) {
        self.curve.hasten = on;
    }

    /// W_max in packets.
    #[cfg(test)]
    pub(crate) fn w_max(&self) -> u64 {
        self.curve.w_max
    }

    /// Window in packets of the last evaluation of the curve; zero before the first.
    pub(crate) fn last_cwnd(&self) -> u64 {
        self.curve.last_cwnd
    }

    /// Copy of the state changed by a reduction, for undo.
    pub(crate) fn memory(&self) -> Memory {
        Memory(self.curve.clone(), self.rfc.clone())
    }

    pub(crate) fn recall(&mut self, memory: Memory) {
        self.curve = Curve { hasten: self.curve.hasten, ..memory.0 };
        self.rfc = memory.1;
    }

    /// Discards the path: curve, lowest RTT and HyStart's rounds.
    pub(crate) fn reset(&mut self, cx: &Cx) {
        self.curve = Curve { hasten: self.curve.hasten, ..Curve::default() };
        self.delay_min = None;
        self.increase.reset();
        if let Some(h) = &mut self.hystart {
            h.restart(cx);
        }
    }

    fn on_timeout(&mut self, cx: &Cx) {
        let w_max = self.curve.w_max;
        self.reset(cx);
        if self.ns3 {
            self.curve.w_max = w_max;
        }
        if let Some(rfc) = &mut self.rfc {
            rfc.on_timeout();
        }
    }

    fn on_rtt(&mut self, cx: &Cx, w: &mut Window, rtt: Nanos) {
        // The queue of the last loss is still draining: such samples do not reflect the empty path.
        let quiet = if self.ns3 { self.clock.ceil(NS3_QUIET) } else { self.clock.hz() };
        let young = |start| self.clock.at(cx.now).saturating_sub(start) < quiet;
        if self.curve.epoch_start.is_some_and(young) {
            return;
        }
        let rtt = rtt.max(Nanos(1));
        let delay_min = self.delay_min.map_or(rtt, |d| d.min(rtt));
        self.delay_min = Some(delay_min);
        if w.cwnd < w.ssthresh {
            if let Some(h) = &mut self.hystart {
                if h.on_sample(cx, w, rtt, delay_min) {
                    w.ssthresh = w.cwnd;
                }
            }
        }
    }

    /// Number of packets to be acknowledged per packet of growth, after `acked` more.
    fn count(&mut self, cx: &Cx, cwnd: u64, acked: u64) -> u64 {
        let now = self.clock.at(cx.now);
        let hz = self.clock.hz();
        self.curve.acked += acked;
        let c = &self.curve;
        // ns-3 evaluates the curve on every ACK.
        if !self.ns3 && c.last_cwnd == cwnd && now.saturating_sub(c.last_time) <= hz / 32 {
            return c.count;
        }
        if c.epoch_start.is_none() || now != c.last_time {
            let ahead = self.clock.ceil(self.delay_min.unwrap_or_default());
            self.curve.evaluate(now, ahead, hz, cwnd, acked);
        }
        if self.tcp_friendliness {
            self.curve.follow_reno(cwnd);
        }
        self.curve.count = self.curve.count.max(2);
        self.curve.count
    }
}

impl Curve {
    /// Sets `count` from the cubic at `now + ahead`; starts an epoch if there is none. Times in
    /// ticks.
    fn evaluate(&mut self, now: u64, ahead: u64, hz: u64, cwnd: u64, acked: u64) {
        self.last_cwnd = cwnd;
        self.last_time = now;
        let start = *self.epoch_start.get_or_insert_with(|| {
            self.acked = acked;
            self.w_tcp = cwnd;
            let rise = self.w_max.saturating_sub(cwnd);
            self.k = cube_root((1 << CUBE_SHIFT) / C * rise);
            if self.hasten {
                self.k = hastened(self.k);
            }
            self.origin = self.w_max.max(cwnd);
            now
        });
        let t = (now.saturating_sub(start) + ahead) * CURVE_HZ / hz;
        let distance = t.abs_diff(self.k) as u128;
        let rise = ((C as u128 * distance * distance * distance) >> CUBE_SHIFT).min(u32::MAX as u128) as u64;
        let target = if t < self.k { self.origin.saturating_sub(rise) } else { self.origin + rise };
        self.count = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.w_max == 0 {
            self.count = self.count.min(MAX_COUNT_BEFORE_LOSS);
        }
    }

    /// Lowers `count` if Reno would have a larger window by now.
    fn follow_reno(&mut self, cwnd: u64) {
        let step = (cwnd * RENO_SLOPE_EIGHTHS) >> 3;
        if self.acked > step {
            let steps = (self.acked - 1) / step;
            self.acked -= steps * step;
            self.w_tcp += steps;
        }
        if self.w_tcp > cwnd {
            self.count = self.count.min(cwnd / (self.w_tcp - cwnd));
        }
    }
}

impl CongestionControl for Cubic {
    fn caps(&self) -> Caps {
        Caps::WINDOW
    }

    fn on_start(&mut self, cx: &Cx, _w: &mut Window) {
        self.reset(cx);
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        if let Some(rtt) = ev.rtt {
            self.on_rtt(cx, w, rtt);
        }
        if !ev.may_grow || !cx.cwnd_limited {
            if let Some(rfc) = &mut self.rfc {
                rfc.skip(cx.now);
            }
            return;
        }
        let mut cwnd = cx.packets(w.cwnd).max(1);
        let jump = std::mem::take(&mut self.recovered);
        let mut acked = cx.packets(if jump { ev.newly_cum_acked } else { ev.newly_acked });
        let ssthresh = cx.packets(w.ssthresh);
        if cwnd < ssthresh {
            (cwnd, acked) = slow_start(cwnd, ssthresh, acked);
            // ns-3 leaves the remainder to the next ACK.
            acked = if self.ns3 { 0 } else { acked };
        }
        if let (true, Some(rfc)) = (acked > 0, &mut self.rfc) {
            cwnd = rfc.grow(cx.now, cx.srtt, cwnd, acked);
        } else if acked > 0 {
            let count = self.count(cx, cwnd, acked);
            cwnd = match self.ns3 {
                true => self.increase.grow_once(cwnd, count, acked),
                false => self.increase.grow(cwnd, count, acked),
            };
        }
        w.cwnd = cx.bytes(cwnd);
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        let cwnd = cx.packets(w.cwnd);
        if let Some(rfc) = &mut self.rfc {
            return cx.bytes(rfc.reduce(cwnd, cx.packets(cx.outstanding)));
        }
        let c = &mut self.curve;
        c.epoch_start = None;
        let gives_way = self.fast_convergence && cwnd < c.w_max;
        c.w_max = if gives_way { cwnd.saturating_mul(SCALE + BETA) / (2 * SCALE) } else { cwnd };
        cx.bytes((cwnd.saturating_mul(BETA) / SCALE).max(2))
    }

    fn on_transition(&mut self, cx: &Cx, _w: &mut Window, t: Transition) {
        match t {
            Transition::EnterRto => self.on_timeout(cx),
            Transition::Undo(_) => {
                if let Some(rfc) = &mut self.rfc {
                    rfc.undo();
                }
            }
            // ns-3 counts all packets covered by the ACK that ends a recovery, and keeps the count.
            Transition::ExitRecovery if self.ns3 => self.recovered = true,
            Transition::EnterRecovery | Transition::EnterCwr if !self.ns3 => self.increase.reset(),
            _ => {}
        }
    }

    fn on_tx_start(&mut self, cx: &Cx, _w: &mut Window) {
        if let Some(rfc) = &mut self.rfc {
            rfc.skip(cx.now);
        }
        if self.ns3 {
            return;
        }
        // Idle time must not advance the curve.
        if let Some(start) = &mut self.curve.epoch_start {
            let now = self.clock.at(cx.now);
            let idle = now.saturating_sub(self.clock.at(cx.last_sent));
            *start = (*start + idle).min(now);
        }
    }

    fn mode(&self, w: &Window) -> &'static str {
        if w.cwnd < w.ssthresh {
            "slow start"
        } else {
            "congestion avoidance"
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("w_max_segments", self.curve.w_max as f64);
        out("k_s", self.curve.k as f64 / CURVE_HZ as f64);
        out("delay_min_s", self.delay_min.unwrap_or_default().as_secs_f64());
    }
}

/// K reduced to about a ninth: the curve starts within 1/729 of its rise below the plateau.
fn hastened(k: u64) -> u64 {
    k - 8 * k / 9
}

/// Largest r with r³ ≤ x.
fn cube_root(x: u64) -> u64 {
    let mut r = libm::cbrt(x as f64) as u64;
    let cube = |r: u64| (r as u128) * (r as u128) * (r as u128);
    while cube(r) > x as u128 {
        r -= 1;
    }
    while cube(r + 1) <= x as u128 {
        r += 1;
    }
    r
}

#[cfg(test)]
mod tests;
