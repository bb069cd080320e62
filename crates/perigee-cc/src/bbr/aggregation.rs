// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Estimator of ACK aggregation: packets acknowledged in excess of the bandwidth because receivers
//! and links bundle ACKs.
//!
//! An epoch compares acknowledged packets with bandwidth × time; it restarts whenever the count
//! falls below that product. The largest excess of the last 5 to 10 rounds (two slots of 5 rounds;
//! in BBRv3's STARTUP, of 1) is added to the window.

use super::units::{packets_in, Bw};

/// Rounds per slot.
pub const SLOT_ROUNDS: u32 = 5;
/// Rounds per slot in BBRv3's STARTUP, where an old excess is outdated.
pub const STARTUP_SLOT_ROUNDS: u32 = 1;
/// The kernel's counter has 20 bits.
const EPOCH_LIMIT: u64 = 1 << 20;
/// ns-3's counter has 12 bits, and counts bytes.
const NS3_EPOCH_BYTES: u64 = 1 << 12;

/// The estimator.
#[derive(Clone, Debug, Default)]
pub struct Aggregation {
    epoch_start_us: u64,
    epoch_acked: u64,
    slots: [u64; 2],
    slot: usize,
    rounds: u32,
}

impl Aggregation {
    /// Starts a new epoch: at the start of the connection or of a burst after idling.
    pub fn restart(&mut self, now_us: u64) {
        self.epoch_start_us = now_us;
        self.epoch_acked = 0;
    }

    /// Starts a round: drops the older slot every `slot_rounds` rounds.
    pub fn on_round(&mut self, slot_rounds: u32) {
        self.rounds += 1;
        if self.rounds >= slot_rounds {
            self.rounds = 0;
            self.slot ^= 1;
            self.slots[self.slot] = 0;
        }
    }

    /// Processes an ACK of `acked` packets (> 0) with a valid rate sample.
    pub fn on_ack(&mut self, delivered_us: u64, bw: Bw, acked: u64, cwnd: u64) {
        let mut expected = packets_in(bw, delivered_us.saturating_sub(self.epoch_start_us));
        if self.epoch_acked <= expected || self.epoch_acked + acked >= EPOCH_LIMIT {
            self.restart(delivered_us);
            expected = 0;
        }
        self.epoch_acked = (self.epoch_acked + acked).min(EPOCH_LIMIT - 1);
        let excess = self.epoch_acked.saturating_sub(expected).min(cwnd);
        self.slots[self.slot] = self.slots[self.slot].max(excess);
    }

    /// The same in ns-3, where an epoch has at most 4,095 bytes and its time is in full seconds.
    pub fn on_ack_like_ns3(&mut self, delivered_us: u64, bw: Bw, acked: u64, cwnd: u64, mss: u32) {
        let whole_us = delivered_us.saturating_sub(self.epoch_start_us) / 1_000_000 * 1_000_000;
        let mut expected = packets_in(bw, whole_us);
        if self.epoch_acked <= expected || (self.epoch_acked + acked) * u64::from(mss) >= NS3_EPOCH_BYTES {
            self.restart(delivered_us);
            expected = 0;
        }
        self.epoch_acked += acked;
        let excess = self.epoch_acked.saturating_sub(expected).min(cwnd);
        self.slots[self.slot] = self.slots[self.slot].max(excess);
    }

    /// Largest recent excess, in packets.
    pub fn extra_acked(&self) -> u64 {
        self.slots[0].max(self.slots[1])
    }
}

#[cfg(test)]
mod tests {
    use super::super::units::bandwidth;
    use super::*;

    #[test]
    fn bundles_show_as_excess_and_are_forgotten_after_ten_rounds() {
        let bw = bandwidth(1, 1024);
        let mut a = Aggregation::default();
        for i in 1..=10u64 {
            a.on_round(SLOT_ROUNDS);
            a.on_ack(i * 8192, bw, 8, 100);
        }
        assert_eq!(a.extra_acked(), 8);
        for i in 0..10u64 {
            a.on_round(SLOT_ROUNDS);
            a.on_ack(90_112 + i * 1024, bw, 1, 100);
        }
        assert_eq!(a.extra_acked(), 1, "a single packet is an excess of one at its epoch's start");
    }

    #[test]
    fn ns3_counts_two_full_packets_at_most_unless_one_ack_is_for_more() {
        let mut a = Aggregation::default();
        for i in 0..10 {
            a.on_ack_like_ns3(1000 * i, bandwidth(1, 1000), 1, 100, 1448);
        }
        assert_eq!(a.extra_acked(), 2);
        a.on_ack_like_ns3(20_000, bandwidth(1, 1000), 7, 100, 1448);
        assert_eq!(a.extra_acked(), 7);
    }

    #[test]
    fn the_excess_never_exceeds_the_window() {
        let mut a = Aggregation::default();
        a.on_ack(1000, 0, 500, 40);
        assert_eq!(a.extra_acked(), 40);
    }
}
