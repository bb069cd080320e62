// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RCP at a port (Dukkipati, Kobayashi, Zhang-Shen, McKeown, IWQoS 2005; Dukkipati 2008).
//!
//! Idea: the port has one rate R for all flows, as processor sharing would, and adjusts it so that
//! the traffic fills the link and the queue empties in about an RTT. C/R estimates the number of
//! flows, so that no state per flow is needed. A new flow sends at R from its first packet on.
//!
//! ```text
//! per packet       y += s    Σr += r                            r = RTT of its flow
//! per interval T   T = min(d, 10 ms)
//!   d ← d + (T/d) (mean of r − d)
//!   R ← R (1 + (T/d) (α (C − y/T) − β q/d) / C)                 α = 0.4, β = 1; R at most C
//! at departure     rate = min(requested, R)                     bytes/s
//! ```
//!
//! α and β are those of the authors' scripts for ns-2. R starts at C/20, as there.
//!
//! Differs from the papers: the timer expires at packets; the traffic of a packet counts in the
//! interval in which it arrives.

use super::{FeedbackLaw, PortView};
use crate::wire::Stamp;
use perigee_cc::{BitRate, HeaderStamp, Nanos};

/// Gain of the spare rate.
pub const ALPHA: f64 = 0.4;
/// Gain of the queue.
pub const BETA: f64 = 1.0;
/// Longest interval.
pub const MAX_INTERVAL_S: f64 = 0.01;
const MIN_INTERVAL_S: f64 = 0.001;
/// First R, as a fraction of the capacity.
const FIRST_RATE: f64 = 0.05;
/// Mean RTT until a packet has reported one.
const FIRST_RTT_S: f64 = 0.05;
/// Least R: a hundredth of a packet of this size per RTT.
const LEAST_BYTES: f64 = 15.0;
/// Longest RTT that counts.
const MAX_RTT_S: f64 = 2.0;

/// Rate that a packet requests, in bytes/s.
pub fn request(stamp: &HeaderStamp, _payload: u32) -> f64 {
    match stamp.demand_kbps {
        0 => f64::INFINITY,
        kbps => f64::from(kbps) * 125.0,
    }
}

/// State of a port.
#[derive(Clone, Debug)]
pub struct Rcp {
    /// R in bytes/s.
    rate: f64,
    rtt_s: f64,
    deadline: Nanos,
    interval_s: f64,
    /// Of the current interval: bytes, and RTTs of the packets that report one.
    traffic: f64,
    rtts: f64,
    reports: f64,
    capacity: BitRate,
}

impl Rcp {
    /// A port that receives its first packet.
    pub fn new(port: &PortView, stamp: &Stamp) -> Self {
        let rtt_s = if stamp.base_rtt_us > 0 { f64::from(stamp.base_rtt_us) * 1e-6 } else { FIRST_RTT_S };
        let interval_s = rtt_s.clamp(MIN_INTERVAL_S, MAX_INTERVAL_S);
        Rcp {
            rate: FIRST_RATE * port.rate.bytes_per_s(),
            rtt_s,
            deadline: port.now + Nanos::from_secs_f64(interval_s),
            interval_s,
            traffic: 0.0,
            rtts: 0.0,
            reports: 0.0,
            capacity: port.rate,
        }
    }

    /// R in bytes/s.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    fn advance(&mut self, port: &PortView) {
        self.capacity = port.rate;
        let capacity = port.rate.bytes_per_s();
        while self.deadline <= port.now {
            let idle = self.traffic == 0.0 && port.queued == 0;
            if idle && self.rate >= capacity {
                // Nothing changes until now.
                self.deadline = port.now + Nanos::from_secs_f64(self.interval_s);
                return;
            }
            self.control(capacity, port.queued as f64);
        }
    }

    /// Ends an interval.
    fn control(&mut self, capacity: f64, queue: f64) {
        if self.reports > 0.0 {
            let mean = self.rtts / self.reports;
            self.rtt_s += (self.interval_s / self.rtt_s).min(1.0) * (mean - self.rtt_s);
        }
        let traffic = std::mem::take(&mut self.traffic) / self.interval_s;
        (self.rtts, self.reports) = (0.0, 0.0);
        if capacity > 0.0 {
            let excess = ALPHA * (capacity - traffic) - BETA * queue / self.rtt_s;
            let factor = 1.0 + self.interval_s / self.rtt_s * excess / capacity;
            let least = (LEAST_BYTES / self.rtt_s).min(capacity);
            self.rate = (self.rate * factor).clamp(least, capacity);
        }
        self.interval_s = self.rtt_s.clamp(MIN_INTERVAL_S, MAX_INTERVAL_S);
        self.deadline += Nanos::from_secs_f64(self.interval_s);
    }
}

impl FeedbackLaw for Rcp {
    fn on_arrival(&mut self, port: &PortView, stamp: &Stamp) {
        self.on_other(port);
        if stamp.base_rtt_us > 0 {
            self.rtts += (f64::from(stamp.base_rtt_us) * 1e-6).min(MAX_RTT_S);
            self.reports += 1.0;
        }
    }

    fn on_other(&mut self, port: &PortView) {
        self.advance(port);
        self.traffic += f64::from(port.bytes);
    }

    fn on_departure(&mut self, port: &PortView, _stamp: &Stamp, feedback: &mut f64) {
        self.advance(port);
        *feedback = feedback.min(self.rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: f64 = 12.5e6;

    fn at(us: u64, queued: u64) -> PortView {
        PortView { now: Nanos::from_micros(us), rate: BitRate::from_mbit(100), queued, bytes: 1500 }
    }

    fn stamp() -> Stamp {
        Stamp::coded(50_000, 0, 1448)
    }

    #[test]
    fn the_rate_follows_the_equation_of_the_paper() {
        let mut port = Rcp::new(&at(0, 0), &stamp());
        assert_eq!(port.rate(), FIRST_RATE * C);
        // Forty packets in the first interval of 10 ms, and 20,000 bytes queued at its end.
        for i in 0..40 {
            port.on_arrival(&at(i * 200, 0), &stamp());
        }
        let mut f = f64::INFINITY;
        port.on_departure(&at(10_000, 20_000), &stamp(), &mut f);
        let y = 40.0 * 1500.0 / 0.01;
        let expected = FIRST_RATE * C * (1.0 + 0.01 / 0.05 * (0.4 * (C - y) - 20_000.0 / 0.05) / C);
        assert!((f / expected - 1.0).abs() < 1e-9, "{f}, expected {expected}");
    }

    #[test]
    fn an_idle_port_returns_to_its_capacity_and_a_full_one_stays() {
        let mut port = Rcp::new(&at(0, 0), &stamp());
        let mut f = f64::INFINITY;
        port.on_departure(&at(60_000_000, 0), &stamp(), &mut f);
        assert_eq!(f, C);
        // At capacity with no queue the rate is in equilibrium.
        port.rate = C / 10.0;
        port.deadline = Nanos::from_micros(60_010_000);
        for i in 0..20_000 {
            port.on_arrival(&at(60_000_000 + i * 120, 0), &stamp());
        }
        assert!((port.rate() / (C / 10.0) - 1.0).abs() < 0.02, "{}", port.rate());
    }

    #[test]
    fn a_port_leaves_a_smaller_rate_of_another_one() {
        let mut port = Rcp::new(&at(0, 0), &stamp());
        let mut f = 1000.0;
        port.on_departure(&at(10, 0), &stamp(), &mut f);
        assert_eq!(f, 1000.0);
        let limited = HeaderStamp { demand_kbps: 8, ..HeaderStamp::default() };
        assert_eq!((request(&limited, 0), request(&HeaderStamp::default(), 0)), (1000.0, f64::INFINITY));
    }
}
