// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Delivery-rate samples of Avian688/tcpPaced: the start of a sample is kept until delivery of a
//! packet that was sent after the delivered count had increased; the interval is that of the first
//! such packet.

use super::board::Region;
use perigee_cc::RateSample;
use perigee_units::Nanos;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sampler {
    /// Bytes delivered, and the time of the last change.
    pub delivered: u64,
    pub delivered_time: Nanos,
    pub first_sent: Nanos,
    prior_delivered: u64,
    /// Zero: there is no reference. (A flow that opens at time zero has no sample in its first
    /// round trip.)
    prior_time: Nanos,
    send_elapsed: Nanos,
    ack_elapsed: Nanos,
    /// Bytes counted as lost in the current sample.
    pub lost: u64,
}

impl Sampler {
    /// Sampler of a connection opened at `opened`.
    pub fn new(opened: Nanos) -> Self {
        Sampler { delivered_time: opened, first_sent: opened, ..Sampler::default() }
    }

    /// Counts the first delivery of a segment.
    pub fn on_delivered(&mut self, region: &mut Region, now: Nanos, bytes: u64) {
        if region.delivered_time == Nanos::MAX {
            return;
        }
        self.delivered += bytes;
        self.delivered_time = now;
        if self.prior_delivered == 0 || region.delivered > self.prior_delivered {
            self.ack_elapsed = now - region.delivered_time;
            self.send_elapsed = region.sent.saturating_sub(region.first_sent);
            self.prior_delivered = region.delivered;
            self.prior_time = region.delivered_time;
            self.first_sent = region.sent;
        }
        region.delivered_time = Nanos::MAX;
    }

    /// The sample of an ACK. It is invalid if it spans less than `min_rtt`, and so is the next one
    /// unless a newer packet restarts it.
    pub fn close(&mut self, lost: u64, min_rtt: Nanos) -> RateSample {
        self.lost = lost;
        let interval = self.send_elapsed.max(self.ack_elapsed);
        let valid = self.prior_time > Nanos::ZERO && interval >= min_rtt && interval > Nanos::ZERO;
        if interval < min_rtt {
            self.prior_time = Nanos::ZERO;
        }
        RateSample {
            valid,
            delivered: self.delivered - self.prior_delivered,
            interval: if valid { interval } else { Nanos::ZERO },
            prior_delivered: self.prior_delivered,
            has_prior: true,
            send_elapsed: self.send_elapsed,
            ack_elapsed: self.ack_elapsed,
            ..RateSample::default()
        }
    }
}
