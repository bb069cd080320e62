// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cubic as the OMNeT++ model of the OrbCC study has it (Avian688/cubic at 5366042), where it differs from Linux: no HyStart;
//! the curve is evaluated a *smoothed* RTT ahead; the window grows on every ACK that advances, within a recovery too, by a packet
//! after more ACKs than the count; a recovery begins at the threshold and three packets and ends at the threshold.

use super::Cubic;
use crate::*;

/// What it remembers.
#[derive(Clone, Debug, Default)]
pub(super) struct Inet {
    /// ACKs since the last growth.
    acks: u64,
    /// Window of the last reduction, in packets.
    pub reduced_from: u64,
}

impl Cubic {
    pub(super) fn on_ack_inet(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        self.delay_min = Some(cx.srtt);
        if ev.newly_cum_acked == 0 {
            return;
        }
        let cwnd = cx.packets(w.cwnd).max(1);
        if w.cwnd < w.ssthresh {
            w.cwnd = cx.bytes(cwnd + 1);
            return;
        }
        let count = self.count(cx, cwnd, 1);
        let Some(inet) = &mut self.inet else { return };
        inet.acks += 1;
        if inet.acks > count {
            inet.acks = 0;
            w.cwnd = cx.bytes(cwnd + 1);
        }
    }
}
