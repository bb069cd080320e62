// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fallback to Cubic while telemetry is missing or does not cover the queue. Cubic starts from the
//! current window, and in slow start on connections that never had telemetry.
//!
//! ```text
//!            ACKs without telemetry for 2 sRTT, or partial telemetry while the part of the RTT
//!            that it does not explain is 20 % above its minimum and a larger window does not
//!            increase the delivery rate
//!   OrbCC ─────────────────────────────────────────────────────────────► Cubic
//!     ▲                                                                    │
//!     └──────────────── complete telemetry for 1 sRTT ─────────────────────┘
//! ```
//!
//! The absence of ACKs does not count as missing telemetry, so that an outage causes no switch.
//!
//! A longer RTT is due either to a queue that no telemetry reports or to a longer path. The delivery
//! rate distinguishes the two: on a longer path it grows with the window, at a saturated hop it does
//! not. (OrbCC's specification switches immediately. Then a longer path would count as a queue
//! whenever an idle access link has no telemetry.)

use crate::cubic::{self, Cubic};
use crate::*;

/// Ratio of the base RTT to its minimum above which the rise is tested.
const UNEXPLAINED_RISE: f64 = 1.2;
/// Growth of the window (ratio) after which the delivery rate is compared.
const TEST_GROWTH: f64 = 1.1;
/// Fraction of the window's growth by which the delivery rate must grow on a longer path.
const RATE_RESPONSE: f64 = 0.5;
/// Duration in sRTTs of a test in which the window does not grow. If a port with telemetry is busy,
/// it limits the window; otherwise the limit is taken to be a port without telemetry.
const TEST_ROUNDS: u64 = 8;
/// Utilisation from which a port with telemetry is busy.
const BUSY: f64 = 0.85;

/// Switch between OrbCC and its fallback (not a satellite handover).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Switch {
    ToFallback,
    ToOrbCc,
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
                | Telemetry::Pint { partial: true, .. }
                | Telemetry::Feedback { partial: true, .. },
            ) => Coverage::Partial,
            Some(_) => Coverage::Complete,
        }
    }
}

/// Input of [`Fallback::watch`] from an ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchInput {
    pub coverage: Coverage,
    pub srtt: Nanos,
    pub base_rtt_s: f64,
    /// Congestion window in bytes.
    pub window: u64,
    /// Delivery rate in bytes per second; zero if unknown.
    pub rate: f64,
    /// Utilisation of the busiest port with telemetry, 1 = full.
    pub utilisation: f64,
}

/// Test of a rise of the RTT that telemetry does not explain: a queue, or a longer path?
#[derive(Clone, Copy, Debug)]
struct Rise {
    since: Nanos,
    /// State one sRTT after `since`: time, window in bytes, delivery rate in bytes per second.
    mark: Option<(Nanos, f64, f64)>,
    /// Whether the test has indicated a queue once. It is repeated, since rates are distorted after
    /// an outage.
    failed: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Fallback {
    cubic: Cubic,
    active: bool,
    /// Whether telemetry has determined the window at least once.
    informed: bool,
    /// Start of the current series of ACKs without telemetry.
    none_since: Option<Nanos>,
    /// Start of the current series of ACKs with complete telemetry.
    complete_since: Option<Nanos>,
    rise: Option<Rise>,
    /// Minimum base RTT on the current path.
    lowest_base_rtt_s: f64,
    /// Window and ssthresh in bytes before the last reduction, for undo.
    prior: (u64, u64),
}

impl Fallback {
    pub fn new(init: &ConnInit) -> Self {
        Fallback {
            cubic: Cubic::new(&Params::defaults(cubic::PARAMS), init),
            active: false,
            informed: false,
            none_since: None,
            complete_since: None,
            rise: None,
            lowest_base_rtt_s: f64::INFINITY,
            prior: (0, INFINITE_SSTHRESH),
        }
    }

    pub fn active(&self) -> bool {
        self.active
    }

    /// Records that another controller has taken over, without changing a window.
    pub fn set_active(&mut self) {
        self.active = true;
    }

    /// Resets the minimum base RTT, which belongs to the old path.
    pub fn on_path_change(&mut self) {
        self.lowest_base_rtt_s = f64::INFINITY;
        self.rise = None;
    }

    /// Evaluates the telemetry of an ACK; returns a switch when one is due. Must be called for each
    /// ACK.
    pub fn watch(&mut self, now: Nanos, seen: &WatchInput) -> Option<Switch> {
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
        let none = lasts(&mut self.none_since, seen.coverage == Coverage::None);
        let complete = lasts(&mut self.complete_since, seen.coverage == Coverage::Complete);
        self.lowest_base_rtt_s = self.lowest_base_rtt_s.min(seen.base_rtt_s);
        if self.active {
            return complete.filter(|t| *t >= srtt).map(|_| Switch::ToOrbCc);
        }
        let blind = none.is_some_and(|t| t >= srtt * 2) || self.has_unreported_queue(now, seen);
        blind.then_some(Switch::ToFallback)
    }

    /// Whether the RTT has risen without an explanation in telemetry and a larger window does not
    /// increase the delivery rate.
    fn has_unreported_queue(&mut self, now: Nanos, seen: &WatchInput) -> bool {
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
            seen.rate > rate_then * (1.0 + RATE_RESPONSE * (growth - 1.0))
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

    /// Records that an ACK carried the telemetry of a port.
    pub fn on_reading(&mut self) {
        self.informed = true;
    }

    /// Switches to Cubic: in congestion avoidance if telemetry has determined the window, otherwise
    /// in slow start, as on any new connection.
    pub fn take_over(&mut self, cx: &Cx, w: &mut Window) {
        self.active = true;
        self.cubic.reset(cx);
        if self.informed {
            w.ssthresh = w.cwnd;
        }
    }

    /// Switches back to OrbCC at the current window.
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

    /// Reduces the window immediately: the transport leaves reductions to OrbCC and does not apply
    /// PRR.
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

    /// Whether the fallback is entered on a path whose RTT rises from 20 ms to `rtt_s(window)`; the
    /// window grows by 5 % of its initial value per RTT if `grows`.
    fn falls_back(rtt_s: impl Fn(f64) -> f64, utilisation: f64, grows: bool) -> bool {
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
    fn a_saturated_hop_without_telemetry_causes_a_fallback_and_a_longer_path_does_not() {
        assert!(!falls_back(|_| 0.1, 0.2, true), "the path is longer");
        assert!(falls_back(|window| (window / 6.25e6).max(0.025), 0.2, true), "the bottleneck has 50 Mbit/s");
    }

    #[test]
    fn a_constant_window_causes_a_fallback_unless_a_port_with_telemetry_is_busy() {
        assert!(!falls_back(|_| 0.1, 0.95, false));
        assert!(falls_back(|_| 0.1, 0.3, false));
    }
}
