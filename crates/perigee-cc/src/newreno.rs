// SPDX-License-Identifier: Apache-2.0 OR MIT
//! NewReno as Linux's `reno` runs it over SACK (RFC 5681, RFC 6582; cc-classic section 2).
//!
//! Idea: double the window each round until the first loss, then add one packet per round, and halve on loss.
//!
//! ```text
//! slow start            cwnd += acked                 while cwnd < ssthresh
//! congestion avoidance  cwnd += 1 per cwnd packets acknowledged
//! loss                  ssthresh = max(cwnd / 2, 2)   the transport's PRR takes cwnd there
//! ```
//!
//! Differs from RFC 5681: the reduction starts from cwnd, not from FlightSize, and a stretch ACK of n packets grows the
//! window by n in slow start (no ABC limit), both as in Linux.

use crate::window::{slow_start, AdditiveIncrease};
use crate::*;

/// NewReno has no parameters.
pub const PARAMS: &[ParamSpec] = &[];

/// State of one connection.
#[derive(Clone, Debug, Default)]
pub struct NewReno {
    increase: AdditiveIncrease,
}

impl NewReno {
    /// A controller for a new connection.
    pub fn new(_params: &Params, _init: &ConnInit) -> Self {
        NewReno::default()
    }
}

impl CongestionControl for NewReno {
    fn caps(&self) -> Caps {
        Caps::WINDOW
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        if !ev.may_grow || !cx.cwnd_limited {
            return;
        }
        let mut cwnd = cx.packets(w.cwnd);
        let mut acked = cx.packets(ev.newly_acked);
        let ssthresh = cx.packets(w.ssthresh);
        if cwnd < ssthresh {
            (cwnd, acked) = slow_start(cwnd, ssthresh, acked);
        }
        if acked > 0 {
            cwnd = self.increase.grow(cwnd, cwnd, acked);
        }
        w.cwnd = cx.bytes(cwnd);
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        cx.bytes((cx.packets(w.cwnd) / 2).max(2))
    }

    fn mode(&self, w: &Window) -> &'static str {
        if w.cwnd < w.ssthresh {
            "slow start"
        } else {
            "congestion avoidance"
        }
    }
}
