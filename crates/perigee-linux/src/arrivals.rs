// SPDX-License-Identifier: Apache-2.0 OR MIT
//! In-order arrivals at a flow's receiver, counted from its packets. The receiver's kernel has the
//! same count, but if sender and receiver are on different kernels, no agent can sample both at the
//! same instant.

use crate::meter::{Header, SYN};
use std::collections::BTreeMap;

/// The stream of one flow at its receiver.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    /// Sequence number of its first byte.
    first: Option<u32>,
    /// All bytes before this position have arrived.
    next: u64,
    /// Ranges that have arrived beyond it, disjoint: ends by starts.
    ahead: BTreeMap<u64, u64>,
}

impl Arrivals {
    /// Payload bytes that have arrived in order.
    pub fn bytes(&self) -> u64 {
        self.next
    }

    /// A packet of the sender has arrived; its TCP header starts at `tcp`.
    pub fn arrived(&mut self, packet: &[u8], tcp: usize) {
        let Some(h) = Header::read(packet, tcp) else { return };
        if h.flags & SYN != 0 {
            self.first = self.first.or(Some(h.sequence.wrapping_add(1)));
            return;
        }
        let Some(first) = self.first.filter(|_| h.payload > 0) else { return };
        let distance = h.sequence.wrapping_sub(first).wrapping_sub(self.next as u32) as i32;
        let begin = self.next.saturating_add_signed(i64::from(distance));
        self.cover(begin, begin + h.payload);
    }

    fn cover(&mut self, begin: u64, end: u64) {
        if begin > self.next {
            let known = self.ahead.entry(begin).or_default();
            *known = end.max(*known);
            return;
        }
        self.next = self.next.max(end);
        while let Some(block) = self.ahead.first_entry().filter(|block| *block.key() <= self.next) {
            self.next = self.next.max(block.remove());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::tests::packet;

    #[test]
    fn what_is_missing_holds_up_what_follows() {
        // Numbers wrap within the stream.
        let isn = u32::MAX - 1500;
        let mut a = Arrivals::default();
        let mut data = |n: u32, payload: usize| {
            a.arrived(&packet(isn.wrapping_add(1 + n), 0, 16, payload), 0);
            a.bytes()
        };
        assert_eq!(data(0, 1000), 0, "without a SYN nobody knows where it begins");
        a.arrived(&packet(isn, 0, SYN, 0), 0);
        let mut data = |n: u32, payload: usize| {
            a.arrived(&packet(isn.wrapping_add(1 + n), 0, 16, payload), 0);
            a.bytes()
        };
        assert_eq!(data(0, 1000), 1000);
        assert_eq!(data(2000, 1000), 1000);
        assert_eq!(data(4000, 500), 1000);
        assert_eq!(data(0, 1000), 1000, "twice");
        assert_eq!(data(1000, 1000), 3000);
        assert_eq!(data(2500, 1500), 4500, "in part known");
        assert!(a.ahead.is_empty());
    }
}
