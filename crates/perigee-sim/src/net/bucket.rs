// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Token buckets: the port's rate fills a bucket of some depth, and a packet leaves as soon as the
//! bucket holds its bytes (the `tbf` discipline of Linux). A lone packet thus passes at once,
//! whereas a transmitter would take the transmission time. In a backlog, packets leave one
//! transmission time apart, as from a transmitter, but earlier by the time that the bucket's depth
//! represents.
//!
//! The head of the queue, which waits for tokens, is stored in place of the packet in service and
//! counts as waiting.

use perigee_units::{BitRate, Nanos, NS_PER_S};

/// The bucket of a port.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    /// Depth in bytes.
    pub burst: u64,
    /// Time in which the rate fills an empty bucket.
    fill_time: Nanos,
    /// Time at which the bucket is full again if no further packet leaves.
    full_at: Nanos,
    /// While the rate is zero: missing tokens, in bits × 10^9.
    lack: u128,
}

impl Bucket {
    /// A full bucket.
    pub fn new(burst: u64, rate: BitRate) -> Self {
        Bucket { burst, fill_time: rate.time_for(burst), full_at: Nanos::ZERO, lack: 0 }
    }

    /// Takes the tokens of a packet with this transmission time that reaches the head of the queue
    /// at `at`. Returns its departure.
    #[inline]
    pub fn take(&mut self, at: Nanos, transmission: Nanos) -> Nanos {
        self.full_at = self.full_at.max(at).saturating_add(transmission);
        self.head_leaves(at)
    }

    /// Takes the tokens of a packet while the rate is zero: it leaves once a later rate has
    /// supplied the missing tokens.
    pub fn take_later(&mut self, bytes: u64) {
        self.lack += u128::from(bytes) * 8 * u128::from(NS_PER_S);
    }

    /// Departure, not before `now`, of the head of the queue, which has taken its tokens in
    /// advance.
    #[inline]
    pub fn head_leaves(&self, now: Nanos) -> Nanos {
        now.max(self.full_at.saturating_sub(self.fill_time))
    }

    /// Changes the rate at `now`.
    pub fn set_rate(&mut self, now: Nanos, old: BitRate, new: BitRate) {
        if old.0 > 0 {
            self.lack = u128::from(self.full_at.saturating_sub(now).0) * u128::from(old.0);
        }
        if new.0 > 0 {
            let time = self.lack.div_ceil(u128::from(new.0)).min(u128::from(u64::MAX / 2));
            self.full_at = now.saturating_add(Nanos(time as u64));
            self.fill_time = new.time_for(self.burst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: BitRate = BitRate::from_mbit(100);
    const PACKET: u64 = 1514;

    fn us(t: Nanos) -> f64 {
        t.0 as f64 / 1e3
    }

    #[test]
    fn a_lone_packet_passes_at_once_and_a_train_leaves_at_the_rate() {
        let mut b = Bucket::new(1600, RATE);
        let time = RATE.time_for(PACKET);
        let mut at = Nanos::ZERO;
        let mut left = Vec::new();
        for _ in 0..4 {
            at = b.take(at, time);
            left.push(us(at));
        }
        // The second packet waits for 1514 - 86 bytes of tokens, each of the others for 1514.
        assert_eq!(left, [0.0, 114.24, 235.36, 356.48]);
        assert_eq!(b.take(Nanos::from_secs(1), time), Nanos::from_secs(1), "full again");
    }

    #[test]
    fn a_deep_bucket_lets_a_burst_pass() {
        let mut b = Bucket::new(10 * PACKET, RATE);
        let time = RATE.time_for(PACKET);
        let at = Nanos::from_millis(5);
        assert!((0..10).all(|_| b.take(at, time) == at));
        assert_eq!(b.take(at, time), at + time);
    }

    #[test]
    fn tokens_outlive_a_change_of_the_rate() {
        let mut b = Bucket::new(PACKET, RATE);
        b.take(Nanos::ZERO, RATE.time_for(PACKET));
        let half = RATE.time_for(PACKET) / 2;
        assert_eq!(b.take(Nanos::ZERO, RATE.time_for(PACKET)), half * 2, "without a change");
        b.set_rate(half, RATE, BitRate(0));
        b.set_rate(Nanos::from_secs(1), BitRate(0), BitRate::from_mbit(50));
        assert_eq!(
            b.head_leaves(Nanos::from_secs(1)),
            Nanos::from_secs(1) + half * 2,
            "half a packet at half the rate"
        );
    }

    #[test]
    fn a_packet_larger_than_the_bucket_waits_for_the_rest() {
        let mut b = Bucket::new(1000, RATE);
        assert_eq!(b.take(Nanos::ZERO, RATE.time_for(PACKET)), RATE.time_for(PACKET) - RATE.time_for(1000));
    }
}
