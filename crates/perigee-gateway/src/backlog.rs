// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bound on the time that data waits in the gateway, for one direction of a connection.
//!
//! Data waits in two places: in the receive queue of the first leg, and unsent in the send queue of
//! the next leg. If R is the rate at which the next leg drains and T a fraction of its RTT, each
//! may hold R·T/2:
//!
//! * the next leg takes bytes only while fewer than R·T/2 are unsent;
//! * once the gateway has waited for the next leg, the window of the first leg is R·(RTT of the
//!   first leg) + R·T/2, which is the data in flight to the gateway plus that in the receive queue.
//!
//! While R grows (slow start), both are doubled. The window that a receive buffer yields depends on
//! segment size and offload; a gain therefore corrects the window according to the resulting queue.
//! As long as the next leg keeps up, the kernel's autotuning determines the window.

/// Minimum number of segments that may wait in either place.
const LEAST_SEGMENTS: u32 = 4;
/// Minimum window in segments.
const LEAST_WINDOW_SEGMENTS: u32 = 8;
/// Bound on unsent bytes before the first measurement.
const FIRST_UNSENT: u32 = 32 << 10;
/// Growth between two measurements above which the rate counts as growing.
const GROWTH: f64 = 1.25;
/// Minimum time between measurements in s.
const SHORTEST_S: f64 = 0.01;

/// State of the bound.
#[derive(Clone, Debug)]
pub struct Backlog {
    share: f64,
    largest: u32,
    measured_s: f64,
    bytes: u64,
    blocked: bool,
    rate: f64,
    last_rate: f64,
    gain: f64,
    window: Option<u32>,
    unsent: u32,
}

/// State of both legs at a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Legs {
    /// RTT in s of the leg from which data arrives.
    pub first_rtt_s: f64,
    /// RTT in s of the leg to which data is sent, without queues.
    pub next_rtt_s: f64,
    /// Segment size of the next leg in bytes.
    pub mss: u32,
    /// Received and unread bytes.
    pub unread: u32,
}

impl Backlog {
    /// A bound of `share` RTTs of the next leg, and of `largest` bytes in either place.
    #[must_use]
    pub fn new(share: f64, largest: u32, now_s: f64) -> Backlog {
        Backlog {
            share,
            largest,
            measured_s: now_s,
            bytes: 0,
            blocked: false,
            rate: 0.0,
            last_rate: 0.0,
            gain: 1.0,
            window: None,
            unsent: FIRST_UNSENT.min(largest),
        }
    }

    /// Bytes that may wait unsent in the next leg.
    #[must_use]
    pub fn unsent(&self) -> u32 {
        self.unsent
    }

    /// Window of the first leg; `None` leaves it to the kernel.
    #[must_use]
    pub fn window(&self) -> Option<u32> {
        self.window
    }

    /// Rate at which data leaves, bytes/s.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Counts bytes that were moved to the next leg.
    pub fn moved(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// Records that data waited for the next leg.
    pub fn wait(&mut self) {
        self.blocked = true;
    }

    /// Whether a measurement is due, given the RTT of the next leg.
    #[must_use]
    pub fn is_due(&self, now_s: f64, next_rtt_s: f64) -> bool {
        now_s - self.measured_s >= (next_rtt_s / 2.0).max(SHORTEST_S)
    }

    /// Computes both bounds from the bytes moved since the last measurement.
    pub fn measure(&mut self, now_s: f64, legs: Legs) {
        let elapsed = (now_s - self.measured_s).max(1e-6);
        let now = self.bytes as f64 / elapsed;
        // The larger of two measurements counts: an idle sender does not make the leg slow.
        let best = now.max(self.last_rate);
        let growing = now > GROWTH * self.rate;
        // Without a wait, the measured rate is that of arrivals, a lower bound on the rate of the
        // leg.
        self.rate = if self.blocked { best } else { best.max(self.rate) };
        self.last_rate = now;
        let ahead = if growing { 2.0 } else { 1.0 } * self.rate;
        let part_s = self.share * legs.next_rtt_s / 2.0;
        self.unsent = self.bounded(ahead * part_s, LEAST_SEGMENTS * legs.mss);
        if self.blocked {
            self.limit_window(legs, ahead, part_s);
        } else if let Some(window) = self.window {
            // The next leg kept up, so that the window may be the limit.
            self.window = Some(window.saturating_mul(2).min(self.largest));
            self.gain = (self.gain * 1.1).min(2.0);
        }
        (self.bytes, self.blocked, self.measured_s) = (0, false, now_s);
    }

    fn limit_window(&mut self, legs: Legs, ahead: f64, part_s: f64) {
        let goal = (self.rate * part_s).max(f64::from(LEAST_SEGMENTS * legs.mss));
        let unread = f64::from(legs.unread);
        if unread > 1.25 * goal {
            self.gain = (self.gain * 0.85).max(0.05);
        } else if unread < 0.5 * goal {
            self.gain = (self.gain * 1.1).min(2.0);
        }
        let window = self.gain * ahead * (legs.first_rtt_s + part_s);
        self.window = Some(self.bounded(window, LEAST_WINDOW_SEGMENTS * legs.mss));
    }

    fn bounded(&self, bytes: f64, least: u32) -> u32 {
        (bytes as u32).clamp(least.min(self.largest), self.largest)
    }
}

#[cfg(test)]
mod tests {
    use super::{Backlog, Legs, FIRST_UNSENT, LEAST_SEGMENTS};

    const MSS: u32 = 1448;
    const LEGS: Legs = Legs { first_rtt_s: 0.01, next_rtt_s: 0.1, mss: MSS, unread: 0 };

    /// Simulates a leg that drains at a rate (bytes/s) for a time and makes the gateway wait; the
    /// queue follows the window.
    fn drain(backlog: &mut Backlog, now: &mut f64, rate: f64, seconds: f64) -> u32 {
        let (end, mut unread) = (*now + seconds, 0);
        while *now < end {
            *now += 0.05;
            backlog.moved((rate * 0.05) as u64);
            backlog.wait();
            backlog.measure(*now, Legs { unread, ..LEGS });
            let in_flight = rate * LEGS.first_rtt_s;
            unread = backlog.window().map_or(1 << 20, |w| (f64::from(w) - in_flight).max(0.0) as u32);
        }
        unread
    }

    #[test]
    fn what_waits_is_a_share_of_the_next_legs_rtt() {
        let (mut backlog, mut now) = (Backlog::new(0.25, 16 << 20, 0.0), 0.0);
        for rate in [1e6, 12.5e6, 2e6] {
            let unread = drain(&mut backlog, &mut now, rate, 3.0);
            let waiting = f64::from(unread + backlog.unsent());
            let wanted = rate * 0.25 * 0.1;
            assert!((0.5..1.5).contains(&(waiting / wanted)), "{waiting} bytes at {rate}, wanted {wanted}");
        }
    }

    #[test]
    fn a_growing_rate_doubles_what_may_wait() {
        let mut backlog = Backlog::new(0.5, 16 << 20, 0.0);
        let bounds = [1e5, 2e5, 4e5].map(|bytes: f64| {
            backlog.moved(bytes as u64);
            backlog.wait();
            let now = 0.1 * (bytes / 1e5).log2() + 0.1;
            backlog.measure(now, LEGS);
            backlog.unsent()
        });
        for (bound, wanted) in bounds.into_iter().zip([50_000_u32, 100_000, 200_000]) {
            assert!(bound.abs_diff(wanted) <= 1, "{bound} bytes: twice the rate for a quarter of 0.1 s");
        }
    }

    #[test]
    fn the_kernel_tunes_the_window_until_the_next_leg_makes_data_wait() {
        let mut backlog = Backlog::new(0.25, 1 << 20, 0.0);
        assert_eq!((backlog.window(), backlog.unsent()), (None, FIRST_UNSENT));
        backlog.moved(1 << 20);
        backlog.measure(0.1, LEGS);
        assert_eq!(backlog.window(), None);
        backlog.moved(1 << 18);
        backlog.wait();
        backlog.measure(0.2, LEGS);
        let window = backlog.window().expect("bounded");
        backlog.moved(1 << 18);
        backlog.measure(0.3, LEGS);
        assert_eq!(backlog.window(), Some(2 * window), "the leg keeps up: the window may be the limit");
    }

    #[test]
    fn no_measurement_leaves_the_bounds() {
        for rtt in [0.0, 1e-6, 1.0, f64::NAN, 1e9] {
            let mut backlog = Backlog::new(1.0, 1 << 20, 0.0);
            for bytes in [0, 1, u64::from(u32::MAX), 1 << 50] {
                backlog.moved(bytes);
                backlog.wait();
                backlog.measure(0.0, Legs { first_rtt_s: rtt, next_rtt_s: rtt, mss: MSS, unread: u32::MAX });
                assert!((LEAST_SEGMENTS * MSS..=1 << 20).contains(&backlog.unsent()));
                assert!((1..=1 << 20).contains(&backlog.window().expect("bounded")));
            }
        }
    }
}
