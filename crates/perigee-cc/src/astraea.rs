// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Astraea (Liao et al. 2024; Aruuni/astraea-open-source).
//!
//! Idea: a small network, trained once over many flows sharing bottlenecks, evaluates normalised
//! measurements every 30 ms, independent of the RTT, and changes the window by at most 2.5 %.
//!
//! ```text
//! per step    thr = mean delivery rate of the ACKs, rtt = mean RTT, loss = bytes lost / time
//!             max_tput = highest thr, min_rtt = lowest RTT             of the whole connection
//! features    thr/max_tput, rtt/min_rtt, SRTT/min_rtt, 0.8 · window in own BDPs, max_tput/10⁷,
//!             min_rtt/0.5 s, loss/max_tput, packets out/cwnd, pacing/max_tput,
//!             retransmissions out/cwnd
//! input       the last five steps, oldest first (50 values)
//! action      a in [−1, 1]: cwnd = ⌈cwnd (1 + 0.025 a)⌉ or ⌊cwnd / (1 + 0.025 |a|)⌋, at least 4
//! pacing      = (MSS + headers) · max(cwnd, packets out) / SRTT
//!
//!  step ──► read measurements ──► network ──► window ──► 30 ms ──► step
//! ```
//!
//! There is no slow start: the initial window is kept until the first step. The policy is one
//! trained with Perigee (`perigee train astraea`), or a file in the format of [`policy`], which the
//! host reads and attaches. A guard (`guard`) supervises every policy: bounds, and Cubic for a
//! while if it starves or floods.
//!
//! `astraea_leo` is the same scheme for paths that change: it is notified of changes, and its
//! policy was trained over such paths (`perigee train astraea-leo`). `policy` runs a given file
//! (`--cc policy:FILE`).
//!
//! With `below = "cubic"` the policy corrects another scheme instead (Orca, Abbasloo et al. 2020):
//! Cubic acts on each ACK, and once per SRTT, at least a step apart and after slow start, the
//! policy multiplies the window by 2^a.
//!
//! Differs from the published system: the network runs in the process instead of in a service
//! outside the kernel; the lifetime of min_rtt and max_tput is an option (`lifetime`), because the
//! scheme breaks on paths with a changing RTT if they never expire. Bugs of the published C++
//! server (feature 0 always 1) are not reproduced.

pub mod classic;
pub mod derived;
pub mod desk;
pub mod guard;
pub mod policy;
mod weights;

use crate::filter::{WindowedMax, WindowedMin};
use crate::notice::{Horizon, Notices};
use crate::*;
use classic::{pace, Classic};
use desk::{Decision, Desk, Seen, ACT, OBSERVE};
use guard::Guard;
use policy::{Policy, Scratch};
use std::sync::{Arc, Mutex, PoisonError};
use weights::policy_of;
pub use weights::{FILES, REPRODUCTION_TEXT, SATELLITE_TEXT};

/// Parameters, with the published system's defaults.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "step",
        domain: Domain::Time {
            default: Nanos::from_millis(30),
            min: Nanos::from_millis(1),
            max: Nanos::from_secs(10),
        },
        unit: "",
        source: "Astraea; 20 ms in the LEO study",
        help: "interval between decisions",
    },
    ParamSpec {
        name: "lifetime",
        domain: Domain::Choice(&["forever", "window", "on_hint"]),
        unit: "",
        source: "Astraea; choice",
        help: "lifetime of the minimum RTT and the maximum throughput",
    },
    ParamSpec {
        name: "window",
        domain: Domain::Time {
            default: Nanos::from_secs(10),
            min: Nanos::from_millis(100),
            max: Nanos::from_secs(3600),
        },
        unit: "",
        source: "choice",
        help: "maximum age of both with lifetime = window",
    },
    ParamSpec {
        name: "module",
        domain: Domain::Choice(&["bypass", "normal"]),
        unit: "",
        source: "Astraea",
        help: "whether the transport may reduce the window in recovery: bypass = no; normal = yes, but rarely (which of the two the studies loaded is not known)",
    },
    ParamSpec {
        name: "trained",
        domain: Domain::Choice(&["reproduction", "satellite", "none"]),
        unit: "",
        source: "choice",
        help: "bundled policy used without `weights`: reproduction = trained like the published one; satellite = trained over changing paths; none = keep the initial window",
    },
    ParamSpec {
        name: "below",
        domain: Domain::Choice(&["nothing", "cubic"]),
        unit: "",
        source: "Orca",
        help: "cubic = Cubic acts on each ACK, and once per SRTT the policy multiplies its window by 2^a; excludes module and guard",
    },
    ParamSpec {
        name: "guard",
        domain: Domain::Choice(&["on", "off"]),
        unit: "",
        source: "choice",
        help: "safety guard: bounds, and Cubic for 10 s if a policy starves or floods",
    },
];

/// Parameters that have an effect only together with certain others.
pub const NEEDS: &[Needs] = &[
    Needs { name: "module", other: "below", words: &["nothing"] },
    Needs { name: "guard", other: "below", words: &["nothing"] },
    Needs { name: "window", other: "lifetime", words: &["window"] },
];

/// Options of `astraea_leo`: notified of path changes, with a policy trained over such paths.
pub fn leo() -> Vec<(&'static str, Value)> {
    vec![("lifetime", Value::Text("on_hint".into())), ("trained", Value::Text("satellite".into()))]
}

/// Options of `policy`: a file, without a bundled policy.
pub fn own() -> Vec<(&'static str, Value)> {
    vec![("trained", Value::Text("none".into()))]
}

/// Number of features per step.
pub const FEATURES: usize = 10;
/// Number of steps that the network receives.
pub const HISTORY: usize = 5;
/// Number of inputs of the network.
pub const INPUTS: usize = FEATURES * HISTORY;
/// Maximum relative change of the window per step.
const STEP_SIZE: f64 = 0.025;
const MIN_CWND: u64 = 4;
/// Minimum threshold of the published module.
const MIN_SSTHRESH: u64 = 10;
/// Normalisation of the features, as trained.
const PACKET_BYTES: f64 = 1460.0;
const MAX_TPUT_SCALE: f64 = 1e7;
const MIN_RTT_SCALE_US: f64 = 5e5;
const CAP: f64 = 2.0;
/// IP and TCP headers with timestamps.
const HEADER_BYTES: u64 = 52;

/// Sums since the last step.
#[derive(Clone, Debug, Default)]
struct Measurements {
    thr_sum: f64,
    thr_count: u32,
    rtt_sum_us: f64,
    rtt_count: u32,
    lost: u64,
    since: Nanos,
}

fn mean(sum: f64, count: u32) -> f64 {
    if count == 0 {
        0.0
    } else {
        sum / count as f64
    }
}

/// Lifetime of minima and maxima.
#[derive(Clone, Debug)]
enum Lifetime {
    Forever,
    Window { min_rtt_us: WindowedMin, max_tput: WindowedMax },
    OnHint(Notices, Horizon),
}

/// State of one connection.
#[derive(Clone, Debug)]
pub struct Astraea {
    policy: Option<(Arc<Policy>, Scratch)>,
    /// Mailbox of an external learner.
    desk: Option<Arc<Mutex<Desk>>>,
    guard: Option<Guard>,
    /// The scheme corrected by the policy.
    below: Option<Classic>,
    step: Nanos,
    bypass: bool,
    lifetime: Lifetime,
    now: Measurements,
    /// Minimum RTT in microseconds and maximum throughput in bytes/s; zero = unknown.
    min_rtt_us: f64,
    max_tput: f64,
    history: [[f32; FEATURES]; HISTORY],
    next_step: Nanos,
    retrans_out: u64,
    action: f64,
}

impl Astraea {
    /// A controller for a new connection.
    pub fn new(params: &Params, init: &ConnInit) -> Self {
        let window_us = params.time("window").as_micros();
        let below = (params.choice("below") == "cubic").then(|| Classic::new(init));
        let policy = policy_of(params);
        Astraea {
            policy: policy.map(|p| {
                let scratch = p.scratch();
                (p, scratch)
            }),
            desk: None,
            guard: (params.choice("guard") == "on" && below.is_none()).then(|| Guard::new(init)),
            step: params.time("step"),
            bypass: params.choice("module") == "bypass" && below.is_none(),
            below,
            lifetime: match params.choice("lifetime").as_str() {
                "window" => Lifetime::Window {
                    min_rtt_us: WindowedMin::new(window_us),
                    max_tput: WindowedMax::new(window_us),
                },
                "on_hint" => Lifetime::OnHint(Notices::default(), Horizon::default()),
                _ => Lifetime::Forever,
            },
            now: Measurements { since: init.now, ..Measurements::default() },
            min_rtt_us: 0.0,
            max_tput: 0.0,
            history: [[0.0; FEATURES]; HISTORY],
            next_step: init.now.saturating_add(params.time("step")),
            retrans_out: 0,
            action: 0.0,
        }
    }

    /// A controller that measures as usual but makes no decisions: on [`OBSERVE`] it writes its
    /// measurements to the mailbox, on [`ACT`] it applies the decision found there.
    pub fn told(params: &Params, init: &ConnInit, desk: Arc<Mutex<Desk>>) -> Self {
        let mut told = Astraea::new(params, init);
        (told.policy, told.guard, told.desk, told.next_step) = (None, None, Some(desk), Nanos::MAX);
        told
    }

    // ---- measurements ---------------------------------------------------------------------------

    fn measure(&mut self, cx: &Cx, ev: &AckEvent<'_>) {
        let m = &mut self.now;
        m.lost += ev.newly_lost;
        if let Lifetime::OnHint(_, horizon) = &mut self.lifetime {
            if !horizon.passes(ev) {
                return;
            }
        }
        if ev.rs.valid && ev.rs.interval > Nanos::ZERO {
            m.thr_sum += ev.rs.delivered as f64 / ev.rs.interval.as_secs_f64();
            m.thr_count += 1;
        }
        if let Some(rtt) = ev.rtt {
            let us = rtt.as_micros().max(1);
            m.rtt_sum_us += us as f64;
            m.rtt_count += 1;
            self.see_rtt(cx.now.as_micros(), us);
        }
    }

    fn see_rtt(&mut self, now_us: u64, us: u64) {
        if let Lifetime::Window { min_rtt_us, .. } = &mut self.lifetime {
            min_rtt_us.update(now_us, us);
            self.min_rtt_us = min_rtt_us.get() as f64;
        } else if self.min_rtt_us == 0.0 || (us as f64) < self.min_rtt_us {
            self.min_rtt_us = us as f64;
        }
    }

    fn see_throughput(&mut self, now_us: u64, thr: f64) {
        if let Lifetime::Window { max_tput, .. } = &mut self.lifetime {
            max_tput.update(now_us, thr as u64);
            self.max_tput = max_tput.get() as f64;
        } else {
            self.max_tput = self.max_tput.max(thr);
        }
    }

    /// Discards the minima and maxima of the old path.
    fn forget_extremes(&mut self, cx: &Cx) {
        if let Lifetime::OnHint(_, horizon) = &mut self.lifetime {
            horizon.set(cx);
        }
        self.min_rtt_us = 0.0;
        self.max_tput = 0.0;
    }

    // ---- state, action --------------------------------------------------------------------------

    /// Reads and resets the measurements: returns the features, and the quantities they were
    /// computed from.
    fn see(&mut self, cx: &Cx, w: &Window) -> ([f32; FEATURES], Seen) {
        let m = std::mem::replace(&mut self.now, Measurements { since: cx.now, ..Measurements::default() });
        let thr = mean(m.thr_sum, m.thr_count);
        let rtt_us = mean(m.rtt_sum_us, m.rtt_count);
        self.see_throughput(cx.now.as_micros(), thr);
        let (max, min_us) = (self.max_tput, self.min_rtt_us);
        let elapsed_s = cx.now.saturating_sub(m.since).as_secs_f64();
        let loss = if elapsed_s > 0.0 { m.lost as f64 / elapsed_s } else { 0.0 };
        let cwnd = cx.packets(w.cwnd).max(1) as f64;
        let out = cx.packets(cx.outstanding) as f64;
        let pacing = w.pacing.map_or(0.0, |r| r.bytes_per_s());
        let over_max = |x: f64| if max == 0.0 { 0.0 } else { x / max };
        let over_min = |us: f64| match (us == 0.0, min_us == 0.0) {
            (true, _) => CAP,
            (_, true) => 0.0,
            _ => (us / min_us).min(CAP),
        };
        let own_bdps = if max == 0.0 || min_us == 0.0 {
            0.0
        } else {
            (cwnd * PACKET_BYTES * 8.0 / (min_us * 1e-6) / max / 10.0).min(CAP)
        };
        let seen = Seen {
            throughput: thr,
            rtt_us,
            srtt_us: cx.srtt.as_micros() as f64,
            min_rtt_us: min_us,
            max_throughput: max,
            loss,
            cwnd,
            out,
            pacing,
            retrans_out: self.retrans_out as f64,
        };
        let features = [
            // No delivery: a neutral value.
            if thr == 0.0 && max > 0.0 { 0.5 } else { over_max(thr) },
            over_min(rtt_us),
            over_min(cx.srtt.as_micros() as f64),
            own_bdps,
            max / MAX_TPUT_SCALE,
            min_us / MIN_RTT_SCALE_US,
            over_max(loss),
            out / cwnd,
            over_max(pacing).min(CAP),
            self.retrans_out as f64 / cwnd,
        ]
        .map(|x| x as f32);
        (features, seen)
    }

    /// Writes the measurements since the latest call to the mailbox.
    fn report(&mut self, cx: &Cx, w: &Window) {
        let (features, seen) = self.see(cx, w);
        let Some(desk) = &self.desk else { return };
        let mut desk = desk.lock().unwrap_or_else(PoisonError::into_inner);
        desk.history.copy_within(1.., 0);
        desk.history[HISTORY - 1] = features;
        desk.seen = seen;
        desk.reports += 1;
    }

    /// Applies the decision in the mailbox.
    fn obey(&mut self, cx: &Cx, w: &mut Window) {
        let Some(desk) = &self.desk else { return };
        let (decision, seen) = {
            let desk = desk.lock().unwrap_or_else(PoisonError::into_inner);
            (desk.decision, desk.seen)
        };
        match decision {
            Decision::Step(a) => {
                self.action = a;
                w.cwnd = cx.bytes(self.step_of(cx, w, a, &seen));
                self.set_pacing(cx, w);
            }
            Decision::Set { cwnd, pacing } => {
                w.cwnd = cx.bytes(cwnd.max(MIN_CWND));
                self.set_pacing(cx, w);
                w.pacing = pacing.or(w.pacing);
            }
        }
    }

    fn decide(&mut self, cx: &Cx, w: &mut Window) {
        let (features, seen) = self.see(cx, w);
        self.history.rotate_left(1);
        self.history[HISTORY - 1] = features;
        let Some((policy, scratch)) = &mut self.policy else { return };
        let action = policy.evaluate(self.history.as_flattened(), scratch) as f64;
        // Overflow of large weights means no change.
        self.action = if action.is_finite() { action } else { 0.0 };
        let cwnd = self.step_of(cx, w, self.action, &seen);
        let Some(guard) = &mut self.guard else {
            w.cwnd = cx.bytes(cwnd);
            return;
        };
        if let Some(fault) = guard.look(cx.now, &seen) {
            guard.take_over(cx, w, &seen, fault);
        } else if !guard.active() {
            w.cwnd = cx.bytes(Guard::bounded(cwnd, &seen));
        }
    }

    /// Window in packets after action `a` on the current one. Increases are bounded for every
    /// source of decisions.
    fn step_of(&self, cx: &Cx, w: &Window, a: f64, seen: &Seen) -> u64 {
        let cwnd = cx.packets(w.cwnd);
        let next = match &self.below {
            None => act(cwnd, a),
            Some(_) if w.cwnd < w.ssthresh => cwnd,
            Some(_) => {
                let scaled = libm::round(cwnd as f64 * libm::exp2(a.clamp(-1.0, 1.0))) as u64;
                Guard::bounded(scaled, seen)
            }
        };
        next.max(MIN_CWND)
    }

    /// Cubic, as the replacement or the base of the policy.
    fn classic(&mut self) -> Option<&mut Classic> {
        match &mut self.below {
            Some(below) => Some(below),
            None => self.guard.as_mut().and_then(Guard::stand_in),
        }
    }

    fn set_pacing(&self, cx: &Cx, w: &mut Window) {
        if self.below.is_some() {
            return pace(cx, w);
        }
        let srtt = if cx.srtt > Nanos::ZERO { cx.srtt } else { Nanos::from_millis(1) };
        let packets = cx.packets(w.cwnd.max(cx.outstanding)).max(1);
        let bytes = packets.saturating_mul(cx.mss as u64 + HEADER_BYTES);
        w.pacing = Some(BitRate(BitRate::of(bytes, srtt).0.max(1)));
    }

    fn schedule(&mut self, cx: &Cx, w: &mut Window) {
        let hint = match &self.lifetime {
            Lifetime::OnHint(notices, _) => notices.next_timer(),
            _ => None,
        };
        if self.desk.is_some() {
            w.next_timer = hint;
            return;
        }
        // Decisions missed by a late host are skipped.
        let step = if self.below.is_some() { self.step.max(cx.srtt) } else { self.step };
        while self.next_step <= cx.now {
            self.next_step = self.next_step.saturating_add(step);
            if self.next_step.saturating_add(self.step * 1000) < cx.now {
                self.next_step = cx.now;
            }
        }
        w.next_timer = Some(hint.map_or(self.next_step, |t| t.min(self.next_step)));
    }
}

/// Window in packets after action `a`.
fn act(cwnd: u64, a: f64) -> u64 {
    let (cwnd, a) = (cwnd as f64, a.clamp(-1.0, 1.0));
    if a >= 0.0 {
        libm::ceil(cwnd * (1.0 + STEP_SIZE * a)) as u64
    } else {
        libm::floor(cwnd / (1.0 - STEP_SIZE * a)) as u64
    }
}

impl CongestionControl for Astraea {
    fn caps(&self) -> Caps {
        Caps {
            pacing: Pacing::Required,
            recovery: if self.bypass { Recovery::Own } else { Recovery::Prr },
            // Retransmissions in flight are counted by tags.
            per_packet: true,
            per_loss: true,
            ..Caps::WINDOW
        }
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        if self.desk.is_none() {
            self.next_step = cx.now.saturating_add(self.step);
        }
        self.now.since = cx.now;
        if let Some(below) = &mut self.below {
            below.start(cx, w);
        }
        self.set_pacing(cx, w);
        self.schedule(cx, w);
    }

    fn on_sent(&mut self, _cx: &Cx, _w: &mut Window, p: &SentPkt) -> u32 {
        self.retrans_out += p.retrans as u64;
        p.retrans as u32
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        self.measure(cx, ev);
        let repaired: u64 = ev.acked.iter().map(|p| p.tag as u64).sum();
        self.retrans_out = self.retrans_out.saturating_sub(repaired);
        if let Some(classic) = self.classic() {
            return classic.on_ack(cx, w, ev);
        }
        self.set_pacing(cx, w);
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        if let Some(classic) = self.classic() {
            return classic.ssthresh(cx, w);
        }
        w.cwnd.max(cx.bytes(MIN_SSTHRESH))
    }

    fn on_loss(&mut self, _cx: &Cx, _w: &mut Window, ev: &LossEvent) {
        self.retrans_out = self.retrans_out.saturating_sub(ev.tag as u64);
    }

    fn on_transition(&mut self, cx: &Cx, w: &mut Window, t: Transition) {
        let own = self.bypass;
        if let Some(classic) = self.classic() {
            return classic.on_transition(cx, w, t, own);
        }
        self.set_pacing(cx, w);
    }

    fn on_timer(&mut self, cx: &Cx, w: &mut Window) {
        let hinted = match &mut self.lifetime {
            Lifetime::OnHint(notices, _) => notices.on_timer(cx.now),
            _ => false,
        };
        if hinted {
            self.forget_extremes(cx);
        }
        if self.next_step <= cx.now {
            self.decide(cx, w);
            if !self.guard.as_ref().is_some_and(Guard::active) {
                self.set_pacing(cx, w);
            }
        }
        self.schedule(cx, w);
    }

    fn on_signal(&mut self, cx: &Cx, w: &mut Window, s: &Signal<'_>) {
        match s {
            Signal::Custom(OBSERVE) => return self.report(cx, w),
            Signal::Custom(ACT) => return self.obey(cx, w),
            _ => {}
        }
        if let Lifetime::OnHint(notices, _) = &mut self.lifetime {
            if notices.on_signal(cx, s) {
                self.forget_extremes(cx);
            }
            self.schedule(cx, w);
        }
    }

    fn mode(&self, _w: &Window) -> &'static str {
        match (&self.policy, &self.desk) {
            _ if self.guard.as_ref().is_some_and(Guard::active) => "fallback",
            (Some(_), _) => "policy",
            (None, Some(_)) => "told",
            (None, None) => "no policy",
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("action", self.action);
        out("min_rtt_s", self.min_rtt_us * 1e-6);
        out("max_tput_bps", self.max_tput * 8.0);
        out("fallbacks", self.guard.as_ref().map_or(0.0, |g| g.faults() as f64));
    }
}

#[cfg(test)]
mod tests;
