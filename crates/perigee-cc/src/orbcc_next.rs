// SPDX-License-Identifier: Apache-2.0 OR MIT
//! OrbCC next: further development of OrbCC.
//!
//! Idea: OrbCC averages utilisation over a hundred ACKs, which are many RTTs for a flow with a small
//! share; it starts with five packets, although the first record states what is free; and it adds
//! 5 % of a share per RTT, whatever is free. Records carry enough for more. With the symbols of
//! [`orbcc`], T: the flow's RTT without queueing, τ: time between two records,
//! N: windows in use at the port:
//!
//! ```text
//! (1) u   = max(0, min(qLen, qLen') − allowance · √N · MSS) / (bw · avgRTT) + txRate / bw
//! (2) U   ← U + x/(1+x) · (u − U),   x = τ / (averaging · T)
//! (3) dW  = min(τ/T, 1) · g · (W · (η/U − 1) + a · bw · T / N)      g = gain, or yield_gain where
//!                                                                  U is more than 10 % above η
//! (4) W   ← W · bw/bw'                at another rate of the port; (3) then pauses for one RTT
//!     W   = η · bw · T / (N + 1)      at the first record of a port that has measured
//!     cwnd = W + d · MSS              d: dither in [0, 1), another one each RTT, so that the mean of
//!                                     whole packets is W
//! N   = A/d + handshakes of the last interval: the part of their windows that flows use
//!
//!            handshake or first ACK with a record of a port that has measured
//!  startup ───────────────────────────────────────────────────────────────────► control
//!  10 packets                                                                     │ ▲
//!                                        telemetry missing or does not            ▼ │ complete again
//!                                        cover the queue                        fallback (Cubic)
//! ```
//!
//! The steady state is OrbCC's: U = 1 with the wire's bytes, equal rates whatever the RTTs. With one
//! round trip of delay and an averaging of half of it, a gain of 0.3 has a phase margin of 69°. Where
//! a rate alternates (more than twice within 8 RTTs) no loop can follow: the mean rate of 4 RTTs
//! replaces bw, and only the queue that remains over 4 RTTs counts as an excess.
//!
//! Differs from OrbCC: each of the above, by an option; the SYN carries telemetry; one packet stands
//! for up to `packets_per_record`. Headers have version 2, and ports report the windows in use: A/d
//! of the sums that they have anyway.

mod options;
mod rates;

use crate::orbcc::fallback::{Coverage, Fallback, Switch, WatchInput};
use crate::orbcc::path::{Arrival, PathGuard};
use crate::orbcc::rtt::RttEstimate;
use crate::orbcc::PathChange;
use crate::utilisation::{bottleneck, queue_delay, STACK_LIFETIME};
use crate::*;
pub use options::PARAMS;
use options::{Options, RateChange};
use rates::{Rates, MEMORY_RTTS};

const TYPICAL_MAX_HOPS: usize = 14;
/// OrbCC's first window, and its increase until it knows a share.
const WAITING_SEGMENTS: f64 = 5.0;
const WAITING_INCREASE_BYTES: f64 = 1.0;
const RECORDS_PER_RTT: f64 = 8.0;
/// Least window in segments: below one, the pacing rate limits.
const LEAST_SEGMENTS: f64 = 0.05;
const LEAST_U: f64 = 1e-3;
/// Excess of U above η from which `yield_gain` applies.
const OVERLOAD: f64 = 0.1;
/// Largest growth in an RTT, in windows.
const MOST_GROWTH: f64 = 1.0;
const BOUND_SLACK_S: f64 = 0.2;
/// Step of the dither: its multiples modulo 1 are evenly spread.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// Bottleneck as described by a record.
#[derive(Clone, Copy, Debug, Default)]
struct Port {
    hop: usize,
    /// Equation (1), and the time between its records; zero for a first record.
    u: f64,
    tau: Nanos,
    bw: BitRate,
    avg_rtt: Nanos,
    flows: u32,
    /// Bytes.
    queue: f64,
    /// Bytes per second.
    sent_per_s: f64,
}

impl Port {
    /// Whether it has measured flows, so that it counts them.
    fn measured(&self) -> bool {
        self.avg_rtt > Nanos::ZERO
    }
}

/// State of one connection.
#[derive(Clone, Debug)]
pub struct OrbCcNext {
    options: Options,
    mss: f64,
    rtt: RttEstimate,
    /// U of equation (2).
    utilisation: f64,
    /// W of equation (3) in bytes, not rounded.
    window: f64,
    /// With `law = per_ack`: window of the last reference update, and time of the next one.
    ref_cwnd: f64,
    commit_at: Nanos,
    stack: Vec<Hop>,
    stack_at: Option<Nanos>,
    path: PathGuard,
    port: Option<Port>,
    rates: Rates,
    /// Whether the window is still the initial one.
    starting: bool,
    /// With `start = wait`: end of the wait.
    jump_at: Option<Nanos>,
    /// After another rate: end of the RTT in which the queue of the old one remains.
    pause_until: Nanos,
    dither: f64,
    dither_at: Nanos,
    fallback: Fallback,
}

impl OrbCcNext {
    /// A controller for a new connection.
    pub fn new(params: &Params, init: &ConnInit) -> Self {
        let options = Options::new(params);
        let mut rtt = RttEstimate::default();
        if let Some(handshake) = init.srtt.filter(|_| options.starts_at_share) {
            rtt.sample(handshake, 0.0);
        }
        OrbCcNext {
            mss: f64::from(init.mss),
            rtt,
            utilisation: if options.starts_at_share { options.eta } else { 1.0 },
            window: 0.0,
            ref_cwnd: 0.0,
            commit_at: Nanos::ZERO,
            stack: Vec::with_capacity(TYPICAL_MAX_HOPS),
            stack_at: None,
            path: PathGuard::new(PathChange::AcceptNew),
            port: None,
            rates: Rates::default(),
            starting: true,
            jump_at: None,
            pause_until: Nanos::ZERO,
            dither: rng::Rng::new(init.seed).unit(),
            dither_at: Nanos::ZERO,
            fallback: Fallback::new(init),
            options,
        }
    }

    // ---- records --------------------------------------------------------------------------------

    /// Compares a stack with the last one and stores it; `None` if it yields no reading.
    fn read(&mut self, now: Nanos, path_id: u64, hops: &[Hop]) -> Option<Port> {
        if self.stack_at.is_none_or(|at| now.saturating_sub(at) > STACK_LIFETIME) {
            self.keep(now, hops);
            self.path.adopt(path_id);
            return self.narrowest(hops);
        }
        let comparable = hops.len() == self.stack.len();
        match self.path.judge(now, self.rtt.smoothed(), path_id, comparable) {
            Arrival::Late => return None,
            Arrival::Changed => {
                self.keep(now, hops);
                self.fallback.on_path_change();
                return None;
            }
            Arrival::Same => {}
        }
        let own = if self.options.starts_at_share { self.rtt.smoothed() } else { Nanos::ZERO };
        let reference = |hop: &Hop| if hop.avg_rtt == Nanos::ZERO { own } else { hop.avg_rtt };
        let found = bottleneck(&self.stack, hops, reference)?;
        let (before, hop) = (&self.stack[found.hop], &hops[found.hop]);
        let queue = before.q_out.min(hop.q_out) as f64;
        let (rate, reference_s) = (hop.bw.bytes_per_s(), reference(hop).as_secs_f64());
        let allowed = self.options.allowance * libm::sqrt(f64::from(hop.flows)) * self.mss;
        let port = Port {
            hop: found.hop,
            u: found.u - queue.min(allowed) / (rate * reference_s),
            tau: found.tau,
            bw: hop.bw,
            avg_rtt: hop.avg_rtt,
            flows: hop.flows,
            queue,
            sent_per_s: found.u * rate - queue / reference_s,
        };
        self.keep(now, hops);
        Some(port)
    }

    /// The port with the smallest share, from a first stack.
    fn narrowest(&self, hops: &[Hop]) -> Option<Port> {
        let usable = hops.iter().enumerate().filter(|(_, hop)| hop.bw.0 > 0);
        let (hop, h) = usable.min_by_key(|(_, hop)| hop.bw.0 / u64::from(hop.flows.max(1)))?;
        let port = Port { hop, bw: h.bw, avg_rtt: h.avg_rtt, flows: h.flows, ..Port::default() };
        self.options.starts_at_share.then_some(port)
    }

    fn keep(&mut self, now: Nanos, hops: &[Hop]) {
        self.stack.clear();
        self.stack.extend_from_slice(hops);
        self.stack_at = Some(now);
    }

    // ---- the law --------------------------------------------------------------------------------

    /// Bytes per RTT of one of `flows` flows of the port.
    fn share(&self, port: &Port, flows: u32) -> f64 {
        let rate = if self.alternates() { self.rates.mean() } else { port.bw.bytes_per_s() };
        rate * self.rtt.base_s / f64::from(flows.max(1))
    }

    fn alternates(&self) -> bool {
        self.options.rate_change == RateChange::Mean && self.rates.alternate()
    }

    fn steer(&mut self, cx: &Cx, port: Port) {
        self.follow_rate(cx.now, &port);
        self.port = Some(port);
        if self.starting && self.starts(cx, &port) {
            return;
        }
        if port.tau > Nanos::ZERO && cx.now >= self.pause_until {
            let window = if self.options.per_rtt { self.by_rtt(cx, &port) } else { self.by_ack(cx, &port) };
            let most = 2.0 * port.bw.bytes_per_s() * (self.rtt.base_s + BOUND_SLACK_S);
            self.window = window.min(most).max(self.least());
        }
    }

    /// Scales the window with the rate of the port.
    fn follow_rate(&mut self, now: Nanos, port: &Port) {
        let last = self.port.filter(|last| last.hop == port.hop && last.bw.0 > 0 && last.bw != port.bw);
        let elapsed = port.tau.as_secs_f64() / self.rtt.base_s;
        self.rates.record(now, self.rtt.smoothed(), port, elapsed, last.is_some());
        let scales = self.options.rate_change != RateChange::Nothing && !self.alternates();
        if let Some(last) = last.filter(|_| scales) {
            let ratio = port.bw.0 as f64 / last.bw.0 as f64;
            self.window *= ratio;
            self.ref_cwnd *= ratio;
            // The port's queue is still that of the old rate.
            self.utilisation = self.options.eta;
            self.pause_until = now.saturating_add(self.rtt.smoothed());
        }
    }

    /// Sets the first window from a share when that is due. True if it has been set now.
    fn starts(&mut self, cx: &Cx, port: &Port) -> bool {
        if !port.measured() {
            return false;
        }
        if self.options.starts_at_share {
            let share = self.options.eta * self.share(port, port.flows.saturating_add(1));
            // Before data is sent the share replaces the initial window, later it only adds.
            self.window = if cx.delivered == 0 { share } else { self.window.max(share) };
        } else if cx.now < *self.jump_at.get_or_insert(cx.now.saturating_add(port.avg_rtt)) {
            return false;
        } else {
            self.window = self.options.eta * self.share(port, port.flows);
        }
        self.window = self.window.max(self.least());
        self.ref_cwnd = self.window;
        self.starting = false;
        true
    }

    fn increase(&self, port: &Port) -> f64 {
        match self.starting && !self.options.starts_at_share {
            true => WAITING_INCREASE_BYTES,
            false => self.options.additive_increase * self.share(port, port.flows),
        }
    }

    /// Equations (2) and (3).
    fn by_rtt(&mut self, cx: &Cx, port: &Port) -> f64 {
        let rtt_s = self.rtt.base_s;
        let elapsed = port.tau.as_secs_f64() / rtt_s;
        let (u, memory) = match self.alternates() {
            true => (self.rates.utilisation(port, rtt_s), MEMORY_RTTS),
            false => (port.u, 1.0),
        };
        let x = elapsed / (self.options.averaging * memory).max(f64::MIN_POSITIVE);
        self.utilisation += if x.is_finite() { x / (1.0 + x) } else { 1.0 } * (u - self.utilisation);
        let error = self.options.eta / self.utilisation.max(LEAST_U) - 1.0;
        let gain = if error < -OVERLOAD { self.options.yield_gain } else { self.options.gain };
        let error =
            if self.options.proportional_growth { error.min(MOST_GROWTH / gain) } else { error.min(0.0) };
        let change = gain * (self.window * error + self.increase(port));
        // Growth needs a flow that uses its window.
        if change > 0.0 && !cx.cwnd_limited {
            return self.window;
        }
        self.window + elapsed.min(1.0) * change / memory
    }

    /// OrbCC's equations (2) to (4).
    fn by_ack(&mut self, cx: &Cx, port: &Port) -> f64 {
        self.utilisation += self.options.alpha * (port.u - self.utilisation);
        let ratio = self.options.eta / self.utilisation.max(LEAST_U);
        let most = if self.options.proportional_growth { 1.0 + MOST_GROWTH } else { 1.0 };
        let window = self.ref_cwnd * ratio.min(most) + self.increase(port);
        if cx.now >= self.commit_at {
            self.ref_cwnd = window;
            self.commit_at = cx.now.saturating_add(self.rtt.smoothed());
        }
        window
    }

    fn least(&self) -> f64 {
        self.mss * if self.options.dithers { LEAST_SEGMENTS } else { 1.0 }
    }

    /// Sets window and pacing rate.
    fn apply(&mut self, cx: &Cx, w: &mut Window) {
        if cx.now >= self.dither_at {
            self.dither = (self.dither + GOLDEN) % 1.0;
            self.dither_at = cx.now.saturating_add(self.rtt.smoothed());
        }
        let added = if self.options.dithers { self.dither * self.mss } else { 0.0 };
        w.cwnd = ((self.window + added) as u64).max(u64::from(cx.mss));
        let rtt_s = if self.rtt.smoothed_s > 0.0 { self.rtt.smoothed_s } else { 1e-3 };
        // With less than a packet per RTT, the packet in flight is more than the window.
        let bytes = if self.window < self.mss { self.window } else { self.window.max(cx.in_flight as f64) };
        w.pacing = Some(BitRate((self.options.pacing_gain * bytes * 8.0 / rtt_s).max(1.0) as u64));
    }

    // ---- the fallback ---------------------------------------------------------------------------

    /// Hands over control if telemetry requires it. True while the law is suspended.
    fn fallback_controls(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) -> bool {
        let sampled = ev.telemetry.is_some() || self.options.packets_per_record <= 1.0;
        let seen = WatchInput {
            // Between records there is nothing to see.
            coverage: match (sampled, self.stack_at) {
                (false, Some(at)) if cx.now.saturating_sub(at) < self.rtt.smoothed() => Coverage::Complete,
                _ => Coverage::of(ev.telemetry.as_ref()),
            },
            srtt: self.rtt.smoothed(),
            base_rtt_s: self.rtt.base_s,
            window: w.cwnd,
            rate: if ev.rs.valid { ev.rs.delivered as f64 / ev.rs.interval.as_secs_f64() } else { 0.0 },
            utilisation: self.utilisation,
        };
        match self.fallback.watch(cx.now, &seen) {
            Some(Switch::ToFallback) => self.fallback.take_over(cx, w),
            Some(Switch::ToOrbCc) => {
                self.fallback.hand_back(w);
                self.window = w.cwnd as f64;
                self.ref_cwnd = self.window;
                self.starting = false;
            }
            None => {}
        }
        if self.fallback.active() {
            self.fallback.on_ack(cx, w, ev);
            self.window = w.cwnd as f64;
        }
        self.fallback.active()
    }
}

impl CongestionControl for OrbCcNext {
    fn caps(&self) -> Caps {
        let unpaced =
            if self.options.starts_at_share { self.options.initial_window } else { WAITING_SEGMENTS };
        Caps {
            telemetry: TelemetryNeed::Stack,
            telemetry_on_wire: self.options.on_wire,
            telemetry_on_syn: self.options.handshake,
            on_rto: OnRto::Keep,
            ack_every: Some(1),
            min_cwnd: 1,
            unpaced_start: unpaced as u32,
            ..Caps::MODEL
        }
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        let segments =
            if self.options.starts_at_share { self.options.initial_window } else { WAITING_SEGMENTS };
        self.window = segments * self.mss;
        self.ref_cwnd = self.window;
        w.quantum = 1;
        self.apply(cx, w);
    }

    fn on_handshake(&mut self, cx: &Cx, w: &mut Window, telemetry: &Telemetry<'_>) {
        let Telemetry::Stack { path_id, hops, .. } = *telemetry else { return };
        if self.rtt.base_s == 0.0 {
            return;
        }
        let base_s = self.rtt.base_s - queue_delay(hops).as_secs_f64();
        if base_s > 0.0 {
            self.rtt.base_s = base_s;
        }
        if let Some(port) = self.read(cx.now, path_id, hops) {
            self.steer(cx, port);
        }
        self.apply(cx, w);
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        let stack = match ev.telemetry {
            Some(Telemetry::Stack { path_id, hops, .. }) => Some((path_id, hops)),
            _ => None,
        };
        // Without a record the queueing of the packet is unknown, and so is its part of the RTT.
        let queueing = stack.map(|(_, hops)| queue_delay(hops).as_secs_f64());
        if let Some(rtt) = ev.rtt.or(ev.seq_rtt).filter(|_| ev.newly_cum_acked > 0) {
            let assumed = (rtt.as_secs_f64() - self.rtt.base_s).max(0.0);
            self.rtt.sample(rtt, queueing.unwrap_or(assumed));
        }
        let suspended = self.fallback_controls(cx, w, ev);
        if let Some((path_id, hops)) = stack {
            let port = self.read(cx.now, path_id, hops);
            // A share is bandwidth times RTT.
            if let Some(port) = port.filter(|_| !suspended && self.rtt.base_s > 0.0) {
                self.steer(cx, port);
            }
        }
        if !suspended {
            self.apply(cx, w);
        }
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        match self.fallback.active() {
            true => self.fallback.ssthresh(cx, w),
            false => w.ssthresh,
        }
    }

    fn on_transition(&mut self, cx: &Cx, w: &mut Window, t: Transition) {
        if self.fallback.active() {
            self.fallback.on_transition(cx, w, t);
            self.window = w.cwnd as f64;
        }
    }

    fn on_tx_start(&mut self, cx: &Cx, w: &mut Window) {
        if self.fallback.active() {
            self.fallback.on_tx_start(cx, w);
            return;
        }
        let idle = cx.outstanding == 0 && cx.now.saturating_sub(cx.last_sent) > self.rtt.rto();
        let Some(port) = self.port.filter(|port| idle && port.measured()) else { return };
        // The network has changed in the meantime: a share of the known rate, and a new baseline.
        self.stack_at = None;
        self.window = self.window.min(self.options.eta * self.share(&port, port.flows)).max(self.least());
        self.ref_cwnd = self.window;
        self.apply(cx, w);
    }

    fn stamp(&self) -> HeaderStamp {
        let every = self.window / self.mss / RECORDS_PER_RTT;
        HeaderStamp {
            base_rtt: Nanos::from_secs_f64(self.rtt.base_s),
            cwnd: self.window as u64,
            every: if self.starting { 1 } else { every.clamp(1.0, self.options.packets_per_record) as u8 },
            weighted: self.options.windows_counted,
            ..HeaderStamp::default()
        }
    }

    fn mode(&self, _w: &Window) -> &'static str {
        match (self.fallback.active(), self.starting) {
            (true, _) => "fallback",
            (false, true) => "startup",
            (false, false) => "control",
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let port = self.port.unwrap_or_default();
        out("U", self.utilisation);
        out("u", port.u);
        out("window_bytes", self.window);
        out("base_rtt_s", self.rtt.base_s);
        out("avg_rtt_s", port.avg_rtt.as_secs_f64());
        out("windows", f64::from(port.flows));
        out("bottleneck_hop", port.hop as f64);
    }
}

#[cfg(test)]
mod tests;
