// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who controls while telemetry is missing or does not see the queue: Cubic, from the window of the moment.
//!
//! ```text
//!            ACKs without telemetry for 2 sRTT, or partial telemetry while the
//!            unexplained part of the RTT stays 20 % above its lowest for 1 sRTT
//!   OrbCC ─────────────────────────────────────────────────────────────► Cubic
//!     ▲                                                                    │
//!     └──────────────── complete telemetry for 1 sRTT ─────────────────────┘
//! ```
//!
//! Silence is not missing telemetry: in an outage no ACK arrives, and nothing changes hands.

use crate::cubic::{self, Cubic};
use crate::*;

const UNEXPLAINED_RISE: f64 = 1.2;

/// Who controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handover {
    ToFallback,
    Back,
}

/// What an ACK brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coverage {
    None,
    Partial,
    Complete,
}

impl Coverage {
    pub fn of(telemetry: Option<&Telemetry<'_>>) -> Self {
        match telemetry {
            None | Some(Telemetry::Stack { hops: [], .. }) => Coverage::None,
            Some(
                Telemetry::Stack { partial: true, .. }
                | Telemetry::Bottleneck { partial: true, .. }
                | Telemetry::Pint { partial: true, .. },
            ) => Coverage::Partial,
            Some(_) => Coverage::Complete,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Fallback {
    cubic: Cubic,
    active: bool,
    bare_since: Option<Nanos>,
    complete_since: Option<Nanos>,
    rising_since: Option<Nanos>,
    lowest_base_rtt_s: f64,
    /// Window and threshold before the last reduction, for undo.
    prior: (u64, u64),
}

impl Fallback {
    pub fn new(init: &ConnInit) -> Self {
        Fallback {
            cubic: Cubic::new(&Params::defaults(cubic::PARAMS), init),
            active: false,
            bare_since: None,
            complete_since: None,
            rising_since: None,
            lowest_base_rtt_s: f64::INFINITY,
            prior: (0, INFINITE_SSTHRESH),
        }
    }

    pub fn active(&self) -> bool {
        self.active
    }

    /// The lowest base RTT of the old path says nothing about the new one.
    pub fn on_path_change(&mut self) {
        self.lowest_base_rtt_s = f64::INFINITY;
        self.rising_since = None;
    }

    /// Watches the telemetry of each ACK; tells when control changes hands. Times in seconds where so named.
    pub fn watch(
        &mut self,
        now: Nanos,
        coverage: Coverage,
        srtt: Nanos,
        base_rtt_s: f64,
    ) -> Option<Handover> {
        if srtt == Nanos::ZERO {
            return None;
        }
        let lasts = |since: &mut Option<Nanos>, holds: bool| {
            if !holds {
                *since = None;
            }
            holds.then(|| now.saturating_sub(*since.get_or_insert(now)))
        };
        let bare = lasts(&mut self.bare_since, coverage == Coverage::None);
        let complete = lasts(&mut self.complete_since, coverage == Coverage::Complete);
        self.lowest_base_rtt_s = self.lowest_base_rtt_s.min(base_rtt_s);
        let unexplained = base_rtt_s > UNEXPLAINED_RISE * self.lowest_base_rtt_s;
        let rising = lasts(&mut self.rising_since, coverage == Coverage::Partial && unexplained);
        if self.active {
            return complete.filter(|t| *t >= srtt).map(|_| Handover::Back);
        }
        let blind = bare.is_some_and(|t| t >= srtt * 2) || rising.is_some_and(|t| t >= srtt);
        blind.then_some(Handover::ToFallback)
    }

    /// Takes over in congestion avoidance.
    pub fn take_over(&mut self, cx: &Cx, w: &mut Window) {
        self.active = true;
        self.cubic.reset(cx);
        w.ssthresh = w.cwnd;
    }

    pub fn hand_back(&mut self, w: &mut Window) {
        self.active = false;
        w.ssthresh = INFINITE_SSTHRESH;
        self.on_path_change();
    }

    pub fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        self.cubic.on_ack(cx, w, ev);
    }

    pub fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        self.prior = (w.cwnd, w.ssthresh);
        self.cubic.ssthresh(cx, w)
    }

    /// OrbCC's transport does not reduce, so the reductions are made here, at once instead of by PRR.
    pub fn on_transition(&mut self, cx: &Cx, w: &mut Window, t: Transition) {
        self.cubic.on_transition(cx, w, t);
        match t {
            Transition::EnterRecovery | Transition::EnterCwr => w.cwnd = w.ssthresh.max(cx.mss as u64),
            Transition::EnterRto => w.cwnd = cx.in_flight + cx.mss as u64,
            Transition::Undo(_) => {
                w.cwnd = w.cwnd.max(self.prior.0);
                w.ssthresh = w.ssthresh.max(self.prior.1);
            }
            _ => {}
        }
    }

    pub fn on_tx_start(&mut self, cx: &Cx, w: &mut Window) {
        self.cubic.on_tx_start(cx, w);
    }
}
