// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cubic in a policy's place or beneath it: a window of Linux's Cubic with the pacing rate that Linux gives it.

use super::MIN_CWND;
use crate::cubic::{self, Cubic};
use crate::*;

/// Cubic of one connection.
#[derive(Clone, Debug)]
pub struct Classic(Cubic);

impl Classic {
    /// For a connection that begins.
    pub fn new(init: &ConnInit) -> Self {
        Classic(Cubic::new(&Params::defaults(cubic::PARAMS), init))
    }

    /// Begins with the window as it is.
    pub fn start(&mut self, cx: &Cx, w: &mut Window) {
        self.0.on_start(cx, w);
    }

    /// An ACK. The window may be limited by what a policy left: Cubic grows as it would on its own.
    pub fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        self.0.on_ack(cx, w, ev);
        pace(cx, w);
    }

    /// Cubic's threshold.
    pub fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        self.0.ssthresh(cx, w)
    }

    /// A transition; `own`: the transport leaves the window to the scheme.
    pub fn on_transition(&mut self, cx: &Cx, w: &mut Window, t: Transition, own: bool) {
        self.0.on_transition(cx, w, t);
        if own && matches!(t, Transition::EnterRecovery | Transition::EnterCwr) {
            w.cwnd = w.cwnd.min(w.ssthresh).max(cx.bytes(MIN_CWND));
        }
        pace(cx, w);
    }
}

/// Cubic's rate: Linux's share of the window per SRTT, twice as much in slow start.
pub fn pace(cx: &Cx, w: &mut Window) {
    let percent = if w.cwnd < w.ssthresh / 2 { 200 } else { 120 };
    let bytes = w.cwnd.max(cx.outstanding).saturating_mul(percent) / 100;
    w.pacing = Some(BitRate(BitRate::of(bytes, cx.srtt.max(Nanos::from_millis(1))).0.max(1)));
}
