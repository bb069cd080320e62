// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Player of a kernel's calls, in the order in which the simulator's transport makes them, with a
//! comparison of decisions.

use crate::recording::{Call, Recording};
use perigee_cc::{
    AckEvent, CaState, CongestionControl, ConnInit, Controller, Cx, Nanos, RateSample, Recovery, Transition,
    UndoKind, Value, Window, INFINITE_SSTHRESH,
};
use perigee_cc::{BitRate, SchemeInfo};
use std::collections::BTreeMap;
use std::fmt;

/// The kernel's threshold before the first reduction.
const KERNEL_INFINITE: u64 = 0x7fff_ffff;
const TX_START: i64 = 0;

/// A decision that differs.
pub struct Difference {
    /// Line of the call, from 1.
    pub call: usize,
    pub kind: char,
    pub what: &'static str,
    pub kernel: u64,
    pub ours: u64,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { call, kind, what, kernel, ours } = self;
        write!(f, "line {call} ({kind}): {what} {ours} instead of {kernel}")
    }
}

/// Result of a replay.
#[derive(Default)]
pub struct Outcome {
    /// Number of decisions compared.
    pub decisions: usize,
    pub differences: Vec<Difference>,
}

/// An acknowledgement for which further calls are expected.
struct Pending {
    call: Call,
    line: usize,
    state: CaState,
    /// Window before the first call, and after the last one.
    before: Window,
    after: Call,
}

/// A connection being replayed.
struct Player<'a> {
    recording: &'a Recording,
    cc: Controller,
    mss: u64,
    pending: Option<Pending>,
    outcome: Outcome,
}

/// Replays a recording with parameters that differ from the kernel's defaults and a seed for random
/// draws, up to `most` differences.
pub fn replay(
    recording: &Recording,
    info: &SchemeInfo,
    given: &[(&str, Value)],
    seed: u64,
    most: usize,
) -> Outcome {
    let given: BTreeMap<_, _> = given.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    let first = &recording.calls[0];
    let init = ConnInit {
        now: Nanos(recording.get(first, "clock_ns") as u64),
        mss: recording.get(first, "mss") as u32,
        init_cwnd: (recording.get(first, "cwnd") * recording.get(first, "mss")) as u64,
        srtt: None,
        seed,
        hz: 1000,
    };
    let cc = info.build(&info.params(given).unwrap(), &init);
    let mut player =
        Player { recording, cc, mss: init.mss.into(), pending: None, outcome: Outcome::default() };
    for (at, call) in recording.calls.iter().enumerate() {
        player.play(at + 1, call);
        if player.outcome.differences.len() >= most {
            return player.outcome;
        }
    }
    player.close();
    player.outcome
}

impl Player<'_> {
    fn get(&self, call: &Call, column: &str) -> u64 {
        self.recording.get(call, column) as u64
    }

    fn packets(&self, call: &Call, column: &str) -> u64 {
        self.get(call, column) * self.mss
    }

    fn cx(&self, call: &Call) -> Cx {
        let us = |column| Nanos(self.get(call, column) * 1000);
        let min_rtt = self.get(call, "min_rtt_us");
        Cx {
            now: Nanos(self.get(call, "clock_ns")),
            mss: self.mss as u32,
            in_flight: self.packets(call, "in_flight"),
            outstanding: self.packets(call, "packets_out"),
            delivered: self.packets(call, "delivered"),
            delivered_time: us("delivered_us"),
            lost: self.packets(call, "lost"),
            srtt: Nanos(self.get(call, "srtt_us8") * 1000 / 8),
            min_rtt: if min_rtt >= u32::MAX.into() { Nanos::MAX } else { Nanos(min_rtt * 1000) },
            snd_una: self.get(call, "snd_una"),
            snd_nxt: self.get(call, "snd_nxt"),
            last_sent: Nanos(self.get(call, "lsndtime") * 1_000_000),
            edt: Nanos(self.get(call, "edt_ns")),
            ca: state(self.get(call, "state")),
            app_limited: self.get(call, "app_limited") > 0,
            cwnd_limited: self.get(call, "cwnd_limited") > 0,
            paced: self.get(call, "paced") > 0,
        }
    }

    fn window(&self, call: &Call) -> Window {
        let ssthresh = self.get(call, "ssthresh");
        Window {
            cwnd: self.packets(call, "cwnd"),
            ssthresh: if ssthresh >= KERNEL_INFINITE { INFINITE_SSTHRESH } else { ssthresh * self.mss },
            pacing: (call.kind != 'i').then(|| BitRate(self.get(call, "pacing").saturating_mul(8))),
            quantum: 0,
            next_timer: None,
            mark_app_limited: false,
            postpone: Nanos::ZERO,
        }
    }

    fn play(&mut self, line: usize, call: &Call) {
        if matches!(call.kind, 'i' | 'p' | 'e') {
            self.close();
        }
        let (mut cx, mut w) = (self.cx(call), self.window(call));
        match call.kind {
            'i' => {
                self.cc.on_start(&cx, &mut w);
                self.compare(line, call, &w);
            }
            'p' => {
                let (call, after) = (call.clone(), call.clone());
                self.pending = Some(Pending { call, line, state: cx.ca, before: w, after });
            }
            's' => {
                let ours = self.cc.ssthresh(&cx, &w);
                self.differ(line, call, "threshold", self.get(call, "result"), self.kernel_threshold(ours));
            }
            't' => {
                let new = state(self.get(call, "told0"));
                let old = std::mem::replace(&mut cx.ca, new);
                if let Some(transition) = transition(old, new) {
                    self.cc.on_transition(&cx, &mut w, transition);
                    self.compare(line, call, &w);
                }
                self.note(call, new);
            }
            'u' => {
                self.cc.on_transition(&cx, &mut w, Transition::Undo(UndoKind::Dsack));
                self.note(call, cx.ca);
            }
            'e' if self.recording.get(call, "told0") == TX_START => {
                self.cc.on_tx_start(&cx, &mut w);
                self.compare(line, call, &w);
            }
            'a' | 'c' => {
                let pending = self.pending.take();
                let mut event = self.event(call);
                if let (Some(p), 'a') = (&pending, call.kind) {
                    event.rtt = self.rtt(&p.call);
                    // Without another call in between, the sample refers to the earlier window.
                    let alone = p.after.kind == 'p' && self.same_window(&p.after, call);
                    w = if alone { p.before } else { w };
                }
                self.cc.on_ack(&cx, &mut w, &event);
                self.compare(line, call, &w);
            }
            _ => {}
        }
    }

    /// Whether the window after a call is that before another.
    fn same_window(&self, earlier: &Call, later: &Call) -> bool {
        let same = |after, before| self.get(earlier, after) == self.get(later, before);
        same("cwnd_after", "cwnd") && same("ssthresh_after", "ssthresh")
    }

    fn note(&mut self, call: &Call, state: CaState) {
        if let Some(p) = &mut self.pending {
            p.state = state;
            p.after = call.clone();
        }
    }

    /// Handles an acknowledgement after which the window may not grow: there is no call for it,
    /// only its sample.
    fn close(&mut self) {
        let Some(p) = self.pending.take() else { return };
        let mut w = p.before;
        let cx = Cx { ca: p.state, ..self.cx(&p.call) };
        let event = AckEvent { rtt: self.rtt(&p.call), ..AckEvent::default() };
        self.cc.on_ack(&cx, &mut w, &event);
        if self.cc.caps().recovery == Recovery::Prr && p.after.kind == 'p' {
            self.compare(p.line, &p.call, &w);
        }
    }

    fn rtt(&self, call: &Call) -> Option<Nanos> {
        u64::try_from(self.recording.get(call, "told1")).ok().map(|us| Nanos(us * 1000))
    }

    fn event(&self, call: &Call) -> AckEvent<'static> {
        let told = |n: usize| self.recording.get(call, &format!("told{n}"));
        let newly_acked = told(0) as u64 * self.mss;
        let event =
            AckEvent { newly_acked, newly_cum_acked: newly_acked, may_grow: true, ..AckEvent::default() };
        if call.kind == 'a' {
            return event;
        }
        let packets = |n| told(n).max(0) as u64 * self.mss;
        AckEvent {
            newly_lost: packets(6),
            rtt: self.rtt(call),
            prior_in_flight: packets(5),
            ack_delayed: told(8) > 0,
            rs: RateSample {
                valid: told(2) >= 0 && told(3) > 0,
                delivered: packets(2),
                interval: Nanos(told(3).max(0) as u64 * 1000),
                prior_delivered: packets(4),
                has_prior: told(9) > 0,
                is_app_limited: told(7) > 0,
                ..RateSample::default()
            },
            ..event
        }
    }

    fn kernel_threshold(&self, bytes: u64) -> u64 {
        (bytes / self.mss).min(KERNEL_INFINITE)
    }

    fn compare(&mut self, line: usize, call: &Call, w: &Window) {
        self.differ(line, call, "window", self.get(call, "cwnd_after"), w.cwnd / self.mss);
        self.differ(
            line,
            call,
            "threshold",
            self.get(call, "ssthresh_after"),
            self.kernel_threshold(w.ssthresh),
        );
        if self.cc.caps().recovery == Recovery::Own {
            let ours = w.pacing.map_or(0, |rate| rate.0 / 8);
            self.differ(line, call, "pacing rate", self.get(call, "pacing_after"), ours);
        }
    }

    fn differ(&mut self, line: usize, call: &Call, what: &'static str, kernel: u64, ours: u64) {
        self.outcome.decisions += 1;
        if kernel != ours {
            self.outcome.differences.push(Difference { call: line, kind: call.kind, what, kernel, ours });
        }
    }
}

fn state(number: u64) -> CaState {
    [CaState::Open, CaState::Disorder, CaState::Cwr, CaState::Recovery, CaState::Loss][number as usize]
}

fn transition(old: CaState, new: CaState) -> Option<Transition> {
    match (old, new) {
        (_, CaState::Cwr) => Some(Transition::EnterCwr),
        (_, CaState::Recovery) => Some(Transition::EnterRecovery),
        (_, CaState::Loss) => Some(Transition::EnterRto),
        (CaState::Cwr, _) => Some(Transition::ExitCwr),
        (CaState::Recovery, _) => Some(Transition::ExitRecovery),
        (CaState::Loss, _) => Some(Transition::ExitRto),
        _ => None,
    }
}
