// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Eras of C4: round trips counted by packets, as in QUIC.

use crate::{Cx, RateSample};

/// A round trip: until its first packet and all before are acknowledged or lost. Packets are numbered
/// by the bytes sent before them; as in QUIC, data sent again has a new number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Era {
    /// Number of its first packet.
    pub first: u64,
    /// Number of its second packet.
    second: u64,
    /// Bytes of the connection delivered so far.
    delivered: u64,
    /// Bytes up to the first packet that are neither acknowledged nor lost.
    left: u64,
    /// Later bytes that are.
    later: u64,
    /// Bytes acknowledged or lost at which it ends in any case: data sent twice is acknowledged once.
    end: u64,
}

impl Era {
    pub fn new(cx: &Cx) -> Self {
        let mss = u64::from(cx.mss);
        let first = resolved(cx).saturating_add(cx.in_flight);
        let (left, second) = (cx.in_flight.saturating_add(mss), first.saturating_add(mss));
        Era { first, second, delivered: cx.delivered, left, later: 0, end: first.saturating_add(left) }
    }

    pub fn on_lost(&mut self, number: u64, bytes: u64) {
        match number < self.second {
            true => self.left = self.left.saturating_sub(bytes),
            false => self.later = self.later.saturating_add(bytes),
        }
    }

    pub fn on_acked(&mut self, cx: &Cx, rs: &RateSample) {
        // Losses of this ACK may have started the era.
        let before = std::mem::replace(&mut self.delivered, cx.delivered);
        let acked = cx.delivered.saturating_sub(before);
        let newest_end =
            number_after(rs.prior_delivered, cx.lost.saturating_sub(rs.lost_since_tx), rs.tx_in_flight);
        let later =
            if rs.has_prior { newest_end.saturating_sub(self.second.saturating_add(self.later)) } else { 0 };
        let later = acked.min(later - later % u64::from(cx.mss));
        self.later = self.later.saturating_add(later);
        self.left = self.left.saturating_sub(acked - later);
    }

    pub fn is_over(&self, cx: &Cx) -> bool {
        self.left == 0 || resolved(cx) > self.end
    }
}

/// Bytes of the connection acknowledged or lost.
fn resolved(cx: &Cx) -> u64 {
    cx.delivered.saturating_add(cx.lost)
}

/// Number of the packet after one that was sent with these bytes delivered, lost and, itself
/// included, in flight.
pub(super) fn number_after(delivered: u64, lost: u64, in_flight: u64) -> u64 {
    delivered.saturating_add(lost).saturating_add(in_flight)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn cx(delivered: u64, lost: u64, in_flight: u64) -> Cx {
        let (delivered, lost, in_flight) = (delivered * MSS, lost * MSS, in_flight * MSS);
        Cx { mss: MSS as u32, delivered, lost, in_flight, ..Cx::default() }
    }

    /// The rate sample of an ACK whose newest packet has this number, sent without losses before.
    fn newest(number: u64) -> RateSample {
        let (prior_delivered, tx_in_flight) = (0, (number + 1) * MSS);
        RateSample { has_prior: true, prior_delivered, tx_in_flight, ..RateSample::default() }
    }

    #[test]
    fn an_era_ends_with_its_first_packet_once_all_before_are_accounted_for() {
        // Packets 20 to 22 are in flight; the era starts with packet 23.
        let mut e = Era::new(&cx(20, 0, 3));
        assert_eq!(e.first, 23 * MSS);
        e.on_acked(&cx(21, 0, 3), &newest(20));
        e.on_acked(&cx(22, 0, 3), &newest(22));
        e.on_acked(&cx(23, 0, 3), &newest(23));
        assert!(!e.is_over(&cx(23, 0, 3)), "packet 21 is missing");
        e.on_lost(21 * MSS, MSS);
        assert!(e.is_over(&cx(23, 1, 2)));
    }

    #[test]
    fn later_packets_do_not_end_it_while_its_first_one_is_missing() {
        let mut e = Era::new(&cx(20, 0, 1));
        e.on_acked(&cx(21, 0, 4), &newest(20));
        e.on_acked(&cx(23, 0, 2), &newest(23));
        assert!(!e.is_over(&cx(23, 0, 2)), "packet 21 is missing");
        e.on_lost(21 * MSS, MSS);
        assert!(e.is_over(&cx(23, 1, 1)));
    }

    #[test]
    fn a_round_trip_later_it_ends_in_any_case() {
        let mut e = Era::new(&cx(20, 0, 2));
        // Packet 20 was sent twice, and only one of both is acknowledged.
        e.on_acked(&cx(25, 0, 2), &newest(25));
        assert!(e.is_over(&cx(26, 0, 2)));
    }

    #[test]
    fn an_ack_that_starts_it_is_not_part_of_it() {
        let mut e = Era::new(&cx(20, 1, 1));
        e.on_acked(&cx(20, 1, 1), &newest(19));
        assert!(!e.is_over(&cx(20, 1, 1)));
        e.on_acked(&cx(21, 1, 2), &RateSample { lost_since_tx: MSS, ..newest(21) });
        assert!(!e.is_over(&cx(21, 1, 2)));
        e.on_acked(&cx(22, 1, 2), &RateSample { lost_since_tx: MSS, ..newest(22) });
        assert!(e.is_over(&cx(22, 1, 2)));
    }
}
