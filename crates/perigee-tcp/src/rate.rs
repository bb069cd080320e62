// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation). Counters are in packets, as
//! in the kernel; the congestion control receives bytes.

use crate::scoreboard::{Slot, Snapshot, EVER_RETRANS, SAMPLED};
use crate::Seg;
use perigee_cc::RateSample;
use perigee_units::Nanos;

/// Connection-wide counters.
#[derive(Clone, Debug, Default)]
pub struct RateSampler {
    /// Packets delivered so far.
    pub delivered: u64,
    /// Time of the last change of `delivered`.
    pub delivered_time: Nanos,
    /// Packets marked lost so far.
    pub lost: u64,
    /// Samples are application-limited until this many packets are delivered; 0 = not limited.
    pub app_limited: u64,
    /// Bytes and time of the latest valid sample.
    pub last: (u64, Nanos),
    first_sent: Nanos,
    /// `None`: each ACK has its own sample.
    lasting: Option<Lasting>,
}

/// A sample kept until delivery of a packet that was sent after the delivered count had increased.
/// Packets sent between two ACKs share the same delivered count: all but the first of them extend
/// the old sample without changing its interval, so that the rate is too high, by one or two
/// packets per window.
#[derive(Clone, Debug, Default)]
struct Lasting {
    tx: Snapshot,
    send_elapsed: Nanos,
    ack_elapsed: Nanos,
    renewed: bool,
    /// Packets and interval of the last valid sample, which is reported again in place of an
    /// invalid one.
    valid: (u64, Nanos),
}

impl Lasting {
    fn close(&mut self, total: u64, now: Nanos, min_rtt: Nanos, mss: u64) -> RateSample {
        if std::mem::take(&mut self.renewed) {
            self.ack_elapsed = now.saturating_sub(self.tx.delivered_time);
        }
        let interval = self.send_elapsed.max(self.ack_elapsed);
        if interval >= min_rtt {
            self.valid = (total - self.tx.delivered, interval);
        }
        let (delivered, interval) = self.valid;
        RateSample {
            valid: interval > Nanos::ZERO,
            delivered: delivered * mss,
            interval,
            prior_delivered: self.tx.delivered * mss,
            has_prior: interval > Nanos::ZERO,
            send_elapsed: self.send_elapsed,
            ack_elapsed: self.ack_elapsed,
            tx_in_flight: self.tx.in_flight as u64 * mss,
            is_app_limited: self.tx.app_limited,
            ..RateSample::default()
        }
    }
}

/// Sample of an ACK that is being processed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sampling {
    newest: Option<(Snapshot, Seg, bool)>,
    send_elapsed: Nanos,
}

impl Sampling {
    /// Number of packets that had been delivered when the newest packet of this ACK was sent.
    pub fn newest_delivered(&self) -> u64 {
        self.newest.map_or(0, |(tx, _, _)| tx.delivered)
    }
}

impl RateSampler {
    /// Sampler of a new connection. `lasting`: a sample is kept until delivery of a packet that was
    /// sent after the delivered count had increased.
    pub fn new(lasting: bool) -> Self {
        RateSampler { lasting: lasting.then(Lasting::default), ..RateSampler::default() }
    }

    /// Snapshot to store with a packet that departs at `sent`; `in_flight` includes that packet.
    pub fn snapshot(&mut self, sent: Nanos, nothing_out: bool, in_flight: u64) -> Snapshot {
        // A timeout marks all segments lost: for ns-3, nothing is in flight then, and a sample
        // starts with this packet.
        if nothing_out || (self.lasting.is_some() && in_flight <= 1) {
            self.first_sent = sent;
            self.delivered_time = sent;
        }
        Snapshot {
            sent,
            first_sent: self.first_sent,
            delivered_time: self.delivered_time,
            delivered: self.delivered,
            lost: self.lost as u32,
            in_flight: in_flight as u32,
            app_limited: self.app_limited != 0,
        }
    }

    /// Counts a delivered packet; the newest one (by departure, then number) defines the sample.
    #[inline]
    pub fn on_delivered(&mut self, s: &mut Sampling, seg: Seg, slot: &Slot) {
        if slot.flags & SAMPLED != 0 {
            return;
        }
        if let Some(l) = &mut self.lasting {
            if l.tx.delivered == 0 || slot.tx.delivered > l.tx.delivered {
                self.first_sent = slot.tx.sent;
                l.send_elapsed = slot.tx.sent.saturating_sub(slot.tx.first_sent);
                (l.tx, l.renewed) = (slot.tx, true);
            }
        }
        let newer = match &s.newest {
            None => true,
            Some((tx, last, _)) => (slot.tx.sent, seg) > (tx.sent, *last),
        };
        if newer {
            s.newest = Some((slot.tx, seg, slot.flags & EVER_RETRANS != 0));
            if self.lasting.is_none() {
                self.first_sent = slot.tx.sent;
            }
            s.send_elapsed = slot.tx.sent.saturating_sub(slot.tx.first_sent);
        }
    }

    /// Closes the sample of an ACK that delivered `delivered` packets.
    pub fn close(
        &mut self,
        s: &Sampling,
        now: Nanos,
        delivered: u64,
        min_rtt: Nanos,
        mss: u64,
    ) -> RateSample {
        let rs = self.sample(s, now, delivered, min_rtt, mss);
        if rs.valid && rs.interval > Nanos::ZERO {
            self.last = (rs.delivered, rs.interval);
        }
        rs
    }

    fn sample(&mut self, s: &Sampling, now: Nanos, delivered: u64, min_rtt: Nanos, mss: u64) -> RateSample {
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        if delivered > 0 {
            self.delivered_time = now;
        }
        if let Some(l) = &mut self.lasting {
            return l.close(self.delivered, now, min_rtt, mss);
        }
        let Some((tx, _, is_retrans)) = s.newest else {
            return RateSample::default();
        };
        let ack_elapsed = now.saturating_sub(tx.delivered_time);
        let interval = s.send_elapsed.max(ack_elapsed);
        RateSample {
            // A sample shorter than the path's RTT is an artefact of compressed or spurious ACKs.
            valid: interval >= min_rtt,
            delivered: (self.delivered - tx.delivered) * mss,
            interval,
            prior_delivered: tx.delivered * mss,
            has_prior: true,
            send_elapsed: s.send_elapsed,
            ack_elapsed,
            lost_since_tx: (self.lost as u32).wrapping_sub(tx.lost) as u64 * mss,
            tx_in_flight: tx.in_flight as u64 * mss,
            is_app_limited: tx.app_limited,
            is_retrans,
        }
    }

    /// Marks the connection application-limited: the sender has run out of data while its window
    /// has room.
    pub fn mark_app_limited(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Nanos {
        Nanos::from_millis(n)
    }

    fn slot(tx: Snapshot, flags: u8) -> Slot {
        let mut slot = Slot::default();
        (slot.tx, slot.flags) = (tx, flags);
        slot
    }

    fn delivered(r: &mut RateSampler, now: Nanos, packets: &[(Seg, Slot)]) -> RateSample {
        let mut s = Sampling::default();
        for (seg, slot) in packets {
            r.on_delivered(&mut s, *seg, slot);
        }
        r.delivered += packets.len() as u64;
        r.close(&s, now, packets.len() as u64, ms(10), 1000)
    }

    #[test]
    fn a_sample_spans_the_longer_of_sending_and_acknowledging() {
        let mut r = RateSampler::default();
        let first = slot(r.snapshot(ms(0), true, 1), 0);
        let second = slot(r.snapshot(ms(30), false, 2), 0);
        let third = slot(r.snapshot(ms(40), false, 3), 0);
        let a = delivered(&mut r, ms(50), &[(0, first)]);
        assert_eq!((a.valid, a.delivered, a.interval, a.prior_delivered), (true, 1000, ms(50), 0));
        // Compressed ACKs: the packets were sent over 40 ms, and the last two arrive a millisecond
        // later. The newest packet defines the sample.
        let b = delivered(&mut r, ms(51), &[(2, third), (1, second)]);
        assert_eq!((b.send_elapsed, b.ack_elapsed, b.interval, b.delivered), (ms(40), ms(51), ms(51), 3000));
        assert_eq!(b.tx_in_flight, 3000);
    }

    #[test]
    fn a_lasting_sample_counts_packets_that_left_together_over_the_time_of_the_first() {
        let samples = |lasting| {
            let mut r = RateSampler::new(lasting);
            let first = slot(r.snapshot(ms(0), true, 1), 0);
            delivered(&mut r, ms(50), &[(0, first)]);
            // Two packets are sent between two ACKs, and arrive a millisecond apart.
            let two = [51, 52].map(|t| slot(r.snapshot(ms(t), false, 2), 0));
            let a = delivered(&mut r, ms(102), &[(1, two[0])]);
            let b = delivered(&mut r, ms(103), &[(2, two[1])]);
            [(a.delivered, a.interval), (b.delivered, b.interval)]
        };
        assert_eq!(samples(false), [(1000, ms(52)), (2000, ms(53))]);
        assert_eq!(samples(true), [(1000, ms(52)), (2000, ms(52))]);
    }

    #[test]
    fn samples_shorter_than_the_path_and_ones_without_a_packet_are_no_samples() {
        let mut r = RateSampler::default();
        let p = slot(r.snapshot(ms(0), true, 1), 0);
        assert!(!delivered(&mut r, ms(9), &[(0, p)]).valid);
        assert!(!delivered(&mut r, ms(20), &[]).has_prior);
        let counted = slot(p.tx, SAMPLED);
        assert!(!delivered(&mut r, ms(30), &[(0, counted)]).has_prior, "a packet counts once");
    }

    #[test]
    fn what_was_sent_while_data_was_short_is_marked_until_all_of_it_is_delivered() {
        let mut r = RateSampler::default();
        let before = slot(r.snapshot(ms(0), true, 1), 0);
        r.mark_app_limited(1);
        let during = slot(r.snapshot(ms(1), false, 2), 0);
        assert!(!delivered(&mut r, ms(50), &[(0, before)]).is_app_limited);
        assert!(r.snapshot(ms(51), false, 2).app_limited, "one packet of the flight is still out");
        assert!(delivered(&mut r, ms(52), &[(1, during)]).is_app_limited);
        assert!(!r.snapshot(ms(53), false, 1).app_limited);
    }

    #[test]
    fn losses_since_the_newest_packet_was_sent_are_counted() {
        let mut r = RateSampler { lost: 4, ..RateSampler::default() };
        let p = slot(r.snapshot(ms(0), true, 7), EVER_RETRANS);
        r.lost += 3;
        let s = delivered(&mut r, ms(50), &[(0, p)]);
        assert_eq!((s.lost_since_tx, s.tx_in_flight, s.is_retrans), (3000, 7000, true));
    }
}
