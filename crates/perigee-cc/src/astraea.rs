// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Astraea (Liao et al. 2024; Aruuni/astraea-open-source).
//!
//! Idea: a small network, trained once over many flows sharing bottlenecks, looks at normalised measurements every 30 ms,
//! independent of the RTT, and moves the window by at most 2.5 %.
//!
//! ```text
//! per step    thr = mean delivery rate of the ACKs, rtt = mean RTT, loss = bytes lost / time
//!             max_tput = highest thr, min_rtt = lowest RTT             of the whole connection
//! features    thr/max_tput, rtt/min_rtt, SRTT/min_rtt, 0.8 · window in own BDPs, max_tput/10⁷, min_rtt/0.5 s,
//!             loss/max_tput, packets out/cwnd, pacing/max_tput, retransmissions out/cwnd
//! input       the last five steps, oldest first (50 values)
//! action      a in [−1, 1]:  cwnd = ⌈cwnd (1 + 0.025 a)⌉  or  ⌊cwnd / (1 − 0.025 |a|)⌋,  at least 4
//! pacing      = (MSS + headers) · max(cwnd, packets out) / SRTT
//!
//!  step ──► read measurements ──► network ──► window ──► 30 ms ──► step
//! ```
//!
//! There is no slow start: until the first step, and for ever without a policy, the initial window stands. The policy is
//! a file in the format of [`policy`], which the host reads and attaches.
//!
//! Differs from the published system: the network runs in the process instead of a service beside the kernel; the life of
//! min_rtt and max_tput is an option (`lifetime`), because that they never expire is what breaks the scheme on paths whose
//! RTT changes. The published C++ server's slips (feature 0 always 1) are not imitated.

pub mod policy;

use crate::filter::{WindowedMax, WindowedMin};
use crate::notice::{Horizon, Notices};
use crate::*;
use policy::{Policy, Scratch};
use std::any::Any;
use std::sync::Arc;

/// Parameters, with the published system's defaults.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "step",
        domain: Domain::Time {
            default: Nanos::from_millis(30),
            min: Nanos::from_millis(1),
            max: Nanos::from_secs(10),
        },
        unit: "time",
        source: "Astraea; 20 ms in the LEO study",
        help: "time between decisions",
    },
    ParamSpec {
        name: "lifetime",
        domain: Domain::Choice(&["forever", "window", "on_hint"]),
        unit: "",
        source: "Astraea; choice",
        help: "when the lowest RTT and the highest throughput are forgotten",
    },
    ParamSpec {
        name: "window",
        domain: Domain::Time {
            default: Nanos::from_secs(10),
            min: Nanos::from_millis(100),
            max: Nanos::from_secs(3600),
        },
        unit: "time",
        source: "choice",
        help: "their age with lifetime = window",
    },
    ParamSpec {
        name: "module",
        domain: Domain::Choice(&["normal", "bypass"]),
        unit: "",
        source: "Astraea",
        help: "whether the transport may reduce the window in recovery (hardly, with normal)",
    },
];

/// The policy's file.
pub const FILES: &[FileSpec] = &[FileSpec {
    name: "weights",
    help:
        "policy in Perigee's plain text format, 50 inputs and 1 output; without it the initial window stands",
    parse: parse_weights,
}];

fn parse_weights(text: &str) -> Result<Arc<dyn Any + Send + Sync>, String> {
    let policy = Policy::parse(text).map_err(|e| e.to_string())?;
    if (policy.inputs(), policy.outputs()) != (INPUTS, 1) {
        return Err(format!(
            "the policy has {} inputs and {} outputs, Astraea's has {INPUTS} and 1",
            policy.inputs(),
            policy.outputs()
        ));
    }
    Ok(Arc::new(policy))
}

const FEATURES: usize = 10;
const HISTORY: usize = 5;
const INPUTS: usize = FEATURES * HISTORY;
/// Largest relative change per step.
const STEP_SIZE: f64 = 0.025;
const MIN_CWND: u64 = 4;
/// Threshold that the published module gives the transport at least.
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

/// When extremes are forgotten.
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
    step: Nanos,
    bypass: bool,
    lifetime: Lifetime,
    now: Measurements,
    /// In microseconds and bytes/s; zero = unknown.
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
        let policy = params.file::<Policy>("weights");
        Astraea {
            policy: policy.map(|p| {
                let scratch = p.scratch();
                (p, scratch)
            }),
            step: params.time("step"),
            bypass: params.choice("module") == "bypass",
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

    // ---- measurements ----------------------------------------------------------------------------------------------

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

    /// The path is another one.
    fn forget_extremes(&mut self, cx: &Cx) {
        if let Lifetime::OnHint(_, horizon) = &mut self.lifetime {
            horizon.set(cx);
        }
        self.min_rtt_us = 0.0;
        self.max_tput = 0.0;
    }

    // ---- state, action ---------------------------------------------------------------------------------------------

    /// Reads and resets the measurements.
    fn features(&mut self, cx: &Cx, w: &Window) -> [f32; FEATURES] {
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
        [
            // Nothing was delivered: neither good nor bad.
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
        .map(|x| x as f32)
    }

    fn decide(&mut self, cx: &Cx, w: &mut Window) {
        let features = self.features(cx, w);
        self.history.rotate_left(1);
        self.history[HISTORY - 1] = features;
        let Some((policy, scratch)) = &mut self.policy else { return };
        self.action = policy.evaluate(self.history.as_flattened(), scratch) as f64;
        w.cwnd = cx.bytes(act(cx.packets(w.cwnd), self.action).max(MIN_CWND));
    }

    fn set_pacing(&self, cx: &Cx, w: &mut Window) {
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
        // A host that was late does not make the decisions that it missed.
        while self.next_step <= cx.now {
            self.next_step = self.next_step.saturating_add(self.step);
            if self.next_step.saturating_add(self.step * 1000) < cx.now {
                self.next_step = cx.now;
            }
        }
        w.next_timer = Some(hint.map_or(self.next_step, |t| t.min(self.next_step)));
    }
}

/// The window in packets after action `a`.
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
        self.next_step = cx.now.saturating_add(self.step);
        self.now.since = cx.now;
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
        self.set_pacing(cx, w);
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        w.cwnd.max(cx.bytes(MIN_SSTHRESH))
    }

    fn on_loss(&mut self, _cx: &Cx, _w: &mut Window, ev: &LossEvent) {
        self.retrans_out = self.retrans_out.saturating_sub(ev.tag as u64);
    }

    fn on_transition(&mut self, cx: &Cx, w: &mut Window, _t: Transition) {
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
            self.set_pacing(cx, w);
        }
        self.schedule(cx, w);
    }

    fn on_signal(&mut self, cx: &Cx, w: &mut Window, s: &Signal<'_>) {
        if let Lifetime::OnHint(notices, _) = &mut self.lifetime {
            if notices.on_signal(cx, s) {
                self.forget_extremes(cx);
            }
            self.schedule(cx, w);
        }
    }

    fn mode(&self, _w: &Window) -> &'static str {
        match self.policy {
            Some(_) => "policy",
            None => "no policy",
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("action", self.action);
        out("min_rtt_s", self.min_rtt_us * 1e-6);
        out("max_tput_bps", self.max_tput * 8.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::closed_loop::{Loop, Path, MSS};
    use std::collections::BTreeMap;
    use std::fmt::Write;

    /// A policy of one layer that looks at the newest step only.
    fn linear(weights: [f32; FEATURES], bias: f32) -> String {
        let mut text = String::from("perigee-policy 1 input 50 dense 1\n");
        for w in std::iter::repeat_n(0.0, INPUTS - FEATURES).chain(weights) {
            write!(text, "{w} ").unwrap();
        }
        write!(text, "\n{bias} tanh end").unwrap();
        text
    }

    fn params(given: &[(&str, &str)], weights: Option<&str>) -> Params {
        let given: BTreeMap<_, _> =
            given.iter().map(|(k, v)| (k.to_string(), Value::Text(v.to_string()))).collect();
        let mut p = Params::new(PARAMS, given).unwrap();
        if let Some(text) = weights {
            p.attach(FILES, "weights", text).unwrap();
        }
        p
    }

    /// Grows below 1.2 of the lowest RTT, shrinks above.
    fn delay_policy() -> String {
        let mut weights = [0.0; FEATURES];
        weights[1] = -50.0;
        linear(weights, 60.0)
    }

    #[test]
    fn the_action_moves_the_window_by_the_published_map() {
        for (cwnd, a, expected) in [
            (10, 0.5, 11),
            (10, -0.5, 9),
            (40, 1.0, 41),
            (41, 1.0, 43),
            (1000, 1.0, 1025),
            (1000, -1.0, 975),
            (39, 0.0, 39),
            (4, -1.0, 3),
        ] {
            assert_eq!(act(cwnd, a), expected, "{cwnd} {a}");
        }
        let steps = |from: u64, to: u64| {
            let mut cwnd = from;
            (1..).find(|_| {
                cwnd = act(cwnd, 1.0);
                cwnd >= to
            })
        };
        assert_eq!((steps(10, 400), steps(4, 400)), (Some(109), Some(115)));
    }

    #[test]
    fn without_a_policy_the_initial_window_stands() {
        let p = params(&[], None);
        let mut f = Loop::new(Path::new(100, 30), |init| Astraea::new(&p, init));
        f.run_s(3.0);
        assert_eq!((f.cwnd(), f.cc.mode(&f.w)), (10, "no policy"));
    }

    #[test]
    fn decisions_follow_the_clock_whatever_the_rtt() {
        for rtt_ms in [10, 200] {
            // Always up: the window counts the decisions while it is below 40 packets.
            let p = params(&[], Some(&linear([0.0; FEATURES], 20.0)));
            let mut f = Loop::new(Path::new(1000, rtt_ms), |init| Astraea::new(&p, init));
            f.run(Nanos::from_millis(599), |_| {});
            assert_eq!(f.cwnd(), 10 + 19, "{rtt_ms} ms: 599/30");
        }
    }

    #[test]
    fn a_policy_on_delay_holds_the_rtt_where_it_turns() {
        let p = params(&[], Some(&delay_policy()));
        let path = Path::new(100, 30);
        let mut f = Loop::new(path, |init| Astraea::new(&p, init));
        f.run_s(20.0);
        let goodput = f.run_s(5.0);
        assert!(goodput > 90.0, "{goodput}");
        let inflation = f.rtt().as_secs_f64() / path.rtt.as_secs_f64();
        assert!((1.1..1.3).contains(&inflation), "{inflation}");
    }

    #[test]
    fn features_are_the_published_ones_in_steady_state() {
        let p = params(&[], None);
        let init = ConnInit { now: Nanos::ZERO, mss: 1460, init_cwnd: 14_600, srtt: None, seed: 1, hz: 1000 };
        let mut a = Astraea::new(&p, &init);
        // 100 Mbit/s, 30 ms, RTT 1.2 times that, one own BDP of window.
        let bdp = 12_500_000.0 * 0.036;
        let mut w = init.window();
        w.cwnd = bdp as u64;
        w.pacing = Some(BitRate::from_mbit(100));
        a.min_rtt_us = 30_000.0;
        a.max_tput = 12_500_000.0;
        let ms = Nanos::from_millis;
        let ev = AckEvent {
            rtt: Some(ms(36)),
            rs: RateSample { valid: true, delivered: 12_500, interval: ms(1), ..RateSample::default() },
            ..AckEvent::default()
        };
        let cx = Cx { now: ms(30), mss: 1460, srtt: ms(36), outstanding: w.cwnd, ..Cx::default() };
        a.measure(&cx, &ev);
        let f = a.features(&cx, &w);
        let expected = [1.0, 1.2, 1.2, 0.8 * 1.2, 1.25, 0.06, 0.0, 1.0, 1.0, 0.0];
        for (i, (x, y)) in f.iter().zip(expected).enumerate() {
            assert!((x - y).abs() < 5e-3, "feature {i}: {x}, expected {y}");
        }
        let empty = a.features(&Cx { srtt: Nanos::ZERO, ..cx }, &w);
        assert_eq!((empty[0], empty[1], empty[2]), (0.5, 2.0, 2.0));
    }

    #[test]
    fn features_of_a_connection_that_knows_nothing() {
        let p = params(&[], None);
        let init = ConnInit { now: Nanos::ZERO, mss: 1448, init_cwnd: 14_480, srtt: None, seed: 1, hz: 1000 };
        let mut a = Astraea::new(&p, &init);
        let f = a.features(&Cx { now: Nanos(1), mss: 1448, ..Cx::default() }, &init.window());
        assert_eq!(f, [0.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn a_longer_path_halves_the_rate_for_ever_unless_the_minimum_is_forgotten() {
        let run = |options: &[(&str, &str)]| {
            let p = params(options, Some(&delay_policy()));
            let mut f = Loop::new(Path::new(100, 30), |init| Astraea::new(&p, init));
            f.run_s(15.0);
            f.path = Path { buffer: 1000, ..Path::new(100, 60) };
            f.signal(&Signal::PathChange { id: 2 });
            f.run_s(15.0);
            f.run_s(5.0)
        };
        assert!(run(&[]) < 50.0);
        assert!(run(&[("lifetime", "on_hint")]) > 80.0);
        assert!(run(&[("lifetime", "window"), ("window", "3 s")]) > 80.0);
    }

    #[test]
    fn fast_recovery_hardly_reduces_and_one_percent_of_loss_does_not_matter() {
        let p = params(&[], Some(&delay_policy()));
        let clean = Loop::new(Path::new(20, 30), |init| Astraea::new(&p, init)).run_s(20.0);
        let path = Path { loss: 0.01, ..Path::new(20, 30) };
        let mut f = Loop::new(path, |init| Astraea::new(&p, init));
        let lossy = f.run_s(20.0);
        assert!(lossy > 0.95 * clean, "{lossy} of {clean}");
        assert!(f.cc.retrans_out < 20 && f.lost > 100);
        let w = Window { cwnd: 4 * MSS, ..f.w };
        let cx = f.cx;
        assert_eq!(f.cc.ssthresh(&cx, &w), 10 * MSS);
    }

    #[test]
    fn a_policy_of_another_shape_is_refused() {
        let mut p = params(&[], None);
        let e = p.attach(FILES, "weights", "perigee-policy 1 input 2 dense 1 1 2 3 end").unwrap_err();
        assert!(e.to_string().contains("2 inputs"), "{e}");
        assert!(p.attach(FILES, "weight", "").is_err());
    }
}
