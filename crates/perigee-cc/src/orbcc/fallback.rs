// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fallback to Cubic while telemetry is missing or does not cover the queue: from the current
//! window, and with slow start on connections that never had telemetry.
//!
//! ```text
//!            ACKs without telemetry for 2 sRTT, or partial telemetry while the unexplained
//!            part of the RTT stays 20 % above its lowest and a wider window brings no more
//!   OrbCC ─────────────────────────────────────────────────────────────► Cubic
//!     ▲                                                                    │
//!     └──────────────── complete telemetry for 1 sRTT ─────────────────────┘
//! ```
//!
//! Silence does not count as missing telemetry: no ACK arrives during an outage, and there is no
//! handover of control.
//!
//! A longer RTT may be an unreported queue, or a longer path. The window distinguishes the two: on
//! a longer path the delivery rate grows with the window, at a saturated hop it does not. (The
//! specification hands over at once; a step of the RTT could then not be distinguished from a queue
//! if an idle access link has no telemetry.)

use crate::cubic::{self, Cubic};
use crate::*;

const UNEXPLAINED_RISE: f64 = 1.2;
/// Growth of the window after which the delivery rate is compared, and the fraction of that growth
/// by which the rate must grow.
const TEST_GROWTH: f64 = 1.1;
const FOLLOWS: f64 = 0.5;
/// Number of sRTTs. A window that does not grow during two such periods is limited by a port with
/// telemetry, if one is busy, and otherwise by an unknown port.
const TEST_ROUNDS: u64 = 8;
const BUSY: f64 = 0.85;

/// Handover of control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handover {
    ToFallback,
    Back,
}

/// Telemetry coverage of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coverage {
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

/// Input of the watch from an ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchInput {
    pub coverage: Coverage,
    pub srtt: Nanos,
    pub base_rtt_s: f64,
    /// Window, in bytes.
    pub window: u64,
    /// Delivery rate in bytes per second; zero if unknown.
    pub rate: f64,
    /// Utilisation of the busiest port with telemetry.
    pub utilisation: f64,
}

/// Test of a rise of the RTT that no port explains.
#[derive(Clone, Copy, Debug)]
struct Rise {
    since: Nanos,
    /// State one sRTT later: time, window, rate.
    mark: Option<(Nanos, f64, f64)>,
    /// Whether the test has failed once: it is repeated, as rates are distorted after an outage.
    failed: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Fallback {
    cubic: Cubic,
    active: bool,
    /// Whether the window has been chosen by telemetry.
    informed: bool,
    bare_since: Option<Nanos>,
    complete_since: Option<Nanos>,
    rise: Option<Rise>,
    lowest_base_rtt_s: f64,
    /// Window and threshold before the last reduction, for undo.
    prior: (u64, u64),
}

impl Fallback {
    pub fn new(init: &ConnInit) -> Self {
        Fallback {
            cubic: Cubic::new(&Params::defaults(cubic::PARAMS), init),
            active: false,
            informed: false,
            bare_since: None,
            complete_since: None,
            rise: None,
            lowest_base_rtt_s: f64::INFINITY,
            prior: (0, INFINITE_SSTHRESH),
        }
    }

    pub fn active(&self) -> bool {
        self.active
    }

    /// Fallback is active; watch for telemetry to return.
    pub fn set_active(&mut self) {
        self.active = true;
    }

    /// Resets the lowest base RTT, which belongs to the old path.
    pub fn on_path_change(&mut self) {
        self.lowest_base_rtt_s = f64::INFINITY;
        self.rise = None;
    }

    /// Evaluates the telemetry of each ACK; returns a handover when due.
    pub fn watch(&mut self, now: Nanos, seen: &WatchInput) -> Option<Handover> {
        let srtt = seen.srtt;
        if srtt == Nanos::ZERO {
            return None;
        }
        let lasts = |since: &mut Option<Nanos>, holds: bool| {
            if !holds {
                *since = None;
            }
            holds.then(|| now.saturating_sub(*since.get_or_insert(now)))
        };
        let bare = lasts(&mut self.bare_since, seen.coverage == Coverage::None);
        let complete = lasts(&mut self.complete_since, seen.coverage == Coverage::Complete);
        self.lowest_base_rtt_s = self.lowest_base_rtt_s.min(seen.base_rtt_s);
        if self.active {
            return complete.filter(|t| *t >= srtt).map(|_| Handover::Back);
        }
        let blind = bare.is_some_and(|t| t >= srtt * 2) || self.hides_a_queue(now, seen);
        blind.then_some(Handover::ToFallback)
    }

    /// Whether the RTT has risen without an explanation in telemetry, while a larger window does
    /// not increase the rate.
    fn hides_a_queue(&mut self, now: Nanos, seen: &WatchInput) -> bool {
        let unexplained = seen.base_rtt_s > UNEXPLAINED_RISE * self.lowest_base_rtt_s;
        if seen.coverage != Coverage::Partial || !unexplained {
            self.rise = None;
            return false;
        }
        let window = seen.window as f64;
        let rise = self.rise.get_or_insert(Rise { since: now, mark: None, failed: false });
        let Some((at, window_then, rate_then)) = rise.mark else {
            if now.saturating_sub(rise.since) >= seen.srtt {
                rise.mark = Some((now, window, seen.rate));
            }
            return false;
        };
        let age = now.saturating_sub(at);
        let growth = window / window_then;
        let longer_path = if growth >= TEST_GROWTH && age >= seen.srtt * 2 {
            seen.rate > rate_then * (1.0 + FOLLOWS * (growth - 1.0))
        } else if age >= seen.srtt * TEST_ROUNDS {
            seen.utilisation >= BUSY
        } else {
            return false;
        };
        if longer_path {
            self.lowest_base_rtt_s = seen.base_rtt_s;
            self.rise = None;
        } else if !rise.failed {
            *rise = Rise { mark: Some((now, window, seen.rate)), failed: true, ..*rise };
            return false;
        }
        !longer_path
    }

    /// Telemetry described a port.
    pub fn on_reading(&mut self) {
        self.informed = true;
    }

    /// Takes over: in congestion avoidance from a window that telemetry has chosen. The first
    /// window is no such window: Cubic then starts as on any new connection.
    pub fn take_over(&mut self, cx: &Cx, w: &mut Window) {
        self.active = true;
        self.cubic.reset(cx);
        if self.informed {
            w.ssthresh = w.cwnd;
        }
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

    /// Applies reductions, which OrbCC's transport leaves to the scheme: at once instead of by PRR.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A path whose RTT rises from 20 ms to `rtt_s` of the window; the window grows by 5 % per RTT.
    fn runs_blind(rtt_s: impl Fn(f64) -> f64, utilisation: f64, grows: bool) -> bool {
        let init = ConnInit { now: Nanos::ZERO, mss: 1448, init_cwnd: 14480, srtt: None, seed: 1, hz: 1000 };
        let mut f = Fallback::new(&init);
        let (mut now, mut window) = (Nanos::from_secs(1), 250_000.0);
        let mut seen = |now: Nanos, window: f64, rtt: f64| {
            f.watch(
                now,
                &WatchInput {
                    coverage: Coverage::Partial,
                    srtt: Nanos::from_secs_f64(rtt),
                    base_rtt_s: rtt,
                    window: window as u64,
                    rate: window / rtt,
                    utilisation,
                },
            )
        };
        assert_eq!(seen(now, window, 0.02), None);
        (0..2000).any(|_| {
            let rtt = rtt_s(window);
            now += Nanos::from_secs_f64(rtt / 20.0);
            if grows {
                window += 0.05 * 250_000.0 / 20.0;
            }
            seen(now, window, rtt).is_some()
        })
    }

    #[test]
    fn a_longer_path_brings_more_with_a_wider_window_a_full_hop_does_not() {
        assert!(!runs_blind(|_| 0.1, 0.2, true), "the path is longer");
        assert!(
            runs_blind(|window| (window / 6.25e6).max(0.025), 0.2, true),
            "50 Mbit/s are all that gets through"
        );
    }

    #[test]
    fn a_window_that_stands_is_held_by_a_busy_port_or_by_nothing_known() {
        assert!(!runs_blind(|_| 0.1, 0.95, false));
        assert!(runs_blind(|_| 0.1, 0.3, false));
    }
}
