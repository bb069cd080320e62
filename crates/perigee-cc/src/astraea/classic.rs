// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cubic as the replacement or the base of a policy, with Linux's window and pacing rate.

use super::MIN_CWND;
use crate::cubic::{self, Cubic};
use crate::*;

/// Cubic of one connection.
#[derive(Clone, Debug)]
pub struct Classic(Cubic);

impl Classic {
    /// Cubic for a new connection.
    pub fn new(init: &ConnInit) -> Self {
        Classic(Cubic::new(&Params::defaults(cubic::PARAMS), init))
    }

    /// Starts with the current window.
    pub fn start(&mut self, cx: &Cx, w: &mut Window) {
        self.0.on_start(cx, w);
    }

    /// Processes an ACK. Cubic grows as if it were alone, although the policy may limit the window.
    pub fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        self.0.on_ack(cx, w, ev);
        pace(cx, w);
    }

    /// Cubic's slow start threshold.
    pub fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        self.0.ssthresh(cx, w)
    }

    /// Processes a transition; `own`: the scheme sets the window itself.
    pub fn on_transition(&mut self, cx: &Cx, w: &mut Window, t: Transition, own: bool) {
        self.0.on_transition(cx, w, t);
        if own && matches!(t, Transition::EnterRecovery | Transition::EnterCwr) {
            w.cwnd = w.cwnd.min(w.ssthresh).max(cx.bytes(MIN_CWND));
        }
        pace(cx, w);
    }
}

/// Cubic's pacing rate: Linux's share of the window per SRTT, doubled in slow start.
pub fn pace(cx: &Cx, w: &mut Window) {
    let percent = if w.cwnd < w.ssthresh / 2 { 200 } else { 120 };
    let bytes = w.cwnd.max(cx.outstanding).saturating_mul(percent) / 100;
    w.pacing = Some(BitRate(BitRate::of(bytes, cx.srtt.max(Nanos::from_millis(1))).0.max(1)));
}
