// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RACK of INET 4.5 at Avian688/inet4.5 8287e4c: it uses the smoothed RTT, and ACKs of
//! retransmissions almost never update its state.

use crate::Seg;
use perigee_units::{Nanos, NS_PER_S};

/// Recoveries for which a widened window is kept.
const PERSISTENCE: u32 = 16;

/// Reordering and recovery state as of the last ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Situation {
    pub reordered: bool,
    pub dsack: bool,
    pub una: Seg,
    pub nxt: Seg,
    pub sacked: u64,
    pub recovering: bool,
    /// The recovery ends with this ACK.
    pub leaving: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    sent: Nanos,
    seg: Seg,
    rtt: Nanos,
    min_rtt: Nanos,
    srtt: f64,
    rtt_nxt: Seg,
    window: Nanos,
    steps: u32,
    persist: u32,
}

impl Default for Rack {
    fn default() -> Self {
        Rack {
            sent: Nanos::ZERO,
            seg: 0,
            rtt: Nanos::ZERO,
            min_rtt: Nanos::ZERO,
            srtt: 0.0,
            rtt_nxt: 0,
            window: Nanos::ZERO,
            steps: 1,
            persist: PERSISTENCE,
        }
    }
}

impl Rack {
    /// Whether the latest delivered packet was sent after this one.
    pub fn is_after(&self, sent: Nanos, seg: Seg) -> bool {
        (self.sent, self.seg) > (sent, seg)
    }

    /// Time after its transmission at which a packet is considered lost.
    pub fn patience(&self) -> Nanos {
        self.rtt + self.window
    }

    /// Processes a delivered packet. Whether an ACK is for the retransmission is decided by the
    /// peer's clock in full seconds: the ACK is attributed to the original unless a second boundary
    /// lies in between.
    pub fn on_delivered(
        &mut self,
        (seg, sent, resent): (Seg, Nanos, bool),
        peer: Nanos,
        srtt: Nanos,
        nxt: Seg,
    ) {
        let clock = Nanos(peer.0 / NS_PER_S * NS_PER_S);
        if resent && (clock < sent || srtt < self.min_rtt) {
            return;
        }
        if srtt > Nanos::ZERO {
            self.rtt = srtt;
            self.rtt_nxt = nxt;
        }
        self.min_rtt = if self.min_rtt == Nanos::ZERO { self.rtt } else { self.min_rtt.min(self.rtt) };
        let rtt = self.rtt.0 as f64;
        self.srtt = if self.srtt == 0.0 { rtt } else { self.srtt * 0.875 + rtt * 0.125 };
        if (sent, seg) > (self.sent, self.seg) {
            (self.sent, self.seg) = (sent, seg);
        }
    }

    /// Sizes the reordering window: a quarter of the lowest smoothed RTT per step, at most the
    /// smoothed RTT; zero if no reordering was observed and recovery is in progress or three
    /// segments are SACKed.
    pub fn resize(&mut self, s: &Situation) {
        if s.dsack && s.una >= self.rtt_nxt {
            self.steps += 1;
            self.rtt_nxt = s.nxt;
            self.persist = PERSISTENCE;
        } else if s.leaving {
            self.persist = self.persist.saturating_sub(1);
            if self.persist == 0 {
                self.steps = 1;
            }
        }
        self.window = if !s.reordered && (s.recovering || s.sacked >= 3) {
            Nanos::ZERO
        } else {
            let quarter = self.min_rtt.0 as f64 / 4.0 * f64::from(self.steps);
            Nanos(quarter.min(self.srtt) as u64)
        };
    }
}
