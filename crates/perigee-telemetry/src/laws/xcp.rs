// SPDX-License-Identifier: Apache-2.0 OR MIT
//! XCP at a port (Katabi, Handley, Rohrs, SIGCOMM 2002; draft-falk-xcp-spec-03).
//!
//! Idea: the port knows its spare rate, and divides it among flows in equal parts; independently of
//! that, it shuffles a tenth of the traffic from flows in proportion to their rates to all flows in
//! equal parts, so that shares converge at full utilisation.
//!
//! ```text
//! per packet       y += s    x += s    ΣX += X    ΣrX += r X    X = r s/w = seconds per packet of its flow;
//!                                                               other traffic adds to y only
//! per interval d   d = ΣrX / ΣX                                 mean RTT of the flows
//!   efficiency     φ = α (C − y/d) − β Q/d                      α = 0.4, β = 0.226
//!   shuffling      h = max(0, γ x/d − |φ|)                      γ = 0.1
//!   fairness       Cp = (h + max(φ, 0)) / ΣX    Cn = (h + max(−φ, 0)) / x
//! at departure     feedback = min(requested, Cp X − Cn s)       bytes/s, within the residues of the interval
//! Q                least queue of the latest Tq = max(2 ms, (d − q/C)/2), so that bursts do not count
//! ```
//!
//! β = α²√2 is the paper's stable choice for any RTT. As in the draft, feedback is a change of rate
//! (in the paper: of the window), and a packet that requests less than its part leaves the rest to
//! others.
//!
//! Differs from the draft: timers expire at packets; an interval without traffic stops the control
//! timer until the next packet; the first interval is the RTT of the first packet; x has the traffic
//! of the law alone (in the draft all traffic: what other traffic would give up has no effect, so that
//! shuffling would add rate and leave a queue).

use super::{FeedbackLaw, PortView};
use crate::wire::Stamp;
use perigee_cc::{HeaderStamp, Nanos};

/// Gain of the spare rate.
pub const ALPHA: f64 = 0.4;
/// Gain of the queue.
pub const BETA: f64 = 0.226;
/// Part of the traffic that is shuffled.
pub const GAMMA: f64 = 0.1;
const MIN_INTERVAL_S: f64 = 0.001;
const MAX_INTERVAL_S: f64 = 1.0;
/// Shortest time over which the queue's minimum is taken.
const MIN_QUEUE_TIME_S: f64 = 0.002;

/// Change of rate that a packet requests, in bytes/s: its part of the difference to the demand.
pub fn request(stamp: &HeaderStamp, payload: u32) -> f64 {
    if stamp.demand_kbps == 0 || stamp.base_rtt == Nanos::ZERO || payload == 0 {
        return f64::INFINITY;
    }
    let packets = (stamp.cwnd as f64 / f64::from(payload)).max(1.0);
    let rate = stamp.cwnd as f64 / stamp.base_rtt.as_secs_f64();
    (f64::from(stamp.demand_kbps) * 125.0 - rate) / packets
}

/// State of a port.
#[derive(Clone, Debug)]
pub struct Xcp {
    deadline: Nanos,
    interval_s: f64,
    rtt_s: f64,
    /// Of the current interval: bytes, those with the law, Σ X and Σ r X.
    traffic: f64,
    own_traffic: f64,
    seconds: f64,
    rtt_seconds: f64,
    /// Positive feedback per second of X, negative feedback per byte, and the remainder of each.
    positive: f64,
    negative: f64,
    residue_positive: f64,
    residue_negative: f64,
    /// Persistent queue, the least queue of the current Tq, and its end.
    queue: f64,
    least_queue: f64,
    queue_deadline: Nanos,
}

impl Xcp {
    /// A port that receives its first packet.
    pub fn new(port: &PortView, stamp: &Stamp) -> Self {
        let rtt_s = if stamp.base_rtt_us > 0 { f64::from(stamp.base_rtt_us) * 1e-6 } else { 0.05 };
        let interval_s = rtt_s.clamp(MIN_INTERVAL_S, MAX_INTERVAL_S);
        Xcp {
            deadline: port.now + Nanos::from_secs_f64(interval_s),
            interval_s,
            rtt_s: interval_s,
            traffic: 0.0,
            own_traffic: 0.0,
            seconds: 0.0,
            rtt_seconds: 0.0,
            positive: 0.0,
            negative: 0.0,
            residue_positive: 0.0,
            residue_negative: 0.0,
            queue: 0.0,
            least_queue: port.queued as f64,
            queue_deadline: port.now + Nanos::from_secs_f64(interval_s),
        }
    }

    /// Persistent queue in bytes.
    pub fn queue(&self) -> f64 {
        self.queue
    }

    fn advance(&mut self, port: &PortView) {
        if self.queue_deadline <= port.now {
            let (queued, rate) = (port.queued as f64, port.rate.bytes_per_s().max(1.0));
            self.queue = self.least_queue;
            self.least_queue = queued;
            let time = ((self.rtt_s - queued / rate) / 2.0).max(MIN_QUEUE_TIME_S);
            self.queue_deadline = port.now + Nanos::from_secs_f64(time);
        }
        while self.deadline <= port.now {
            self.control(port.rate.bytes_per_s());
        }
    }

    /// Ends an interval.
    fn control(&mut self, capacity: f64) {
        let traffic = std::mem::take(&mut self.traffic);
        let own_traffic = std::mem::take(&mut self.own_traffic);
        let seconds = std::mem::take(&mut self.seconds);
        let rtt_seconds = std::mem::take(&mut self.rtt_seconds);
        if traffic == 0.0 {
            (self.positive, self.negative) = (0.0, 0.0);
            (self.residue_positive, self.residue_negative) = (0.0, 0.0);
            self.deadline = Nanos::MAX;
            return;
        }
        if seconds > 0.0 {
            self.rtt_s = rtt_seconds / seconds;
        }
        let rate = traffic / self.interval_s;
        let spare = ALPHA * (capacity - rate) - BETA * self.queue / self.rtt_s;
        let shuffled = (GAMMA * own_traffic / self.interval_s - spare.abs()).max(0.0);
        self.residue_positive = shuffled + spare.max(0.0);
        self.residue_negative = shuffled + (-spare).max(0.0);
        self.positive = if seconds > 0.0 { self.residue_positive / seconds } else { 0.0 };
        self.negative = if own_traffic > 0.0 { self.residue_negative / own_traffic } else { 0.0 };
        self.interval_s = self.rtt_s.max(MIN_INTERVAL_S);
        self.deadline += Nanos::from_secs_f64(self.interval_s);
    }

    fn count(&mut self, port: &PortView) {
        self.advance(port);
        if self.deadline == Nanos::MAX {
            self.deadline = port.now + Nanos::from_secs_f64(self.interval_s);
        }
        self.traffic += f64::from(port.bytes);
    }
}

/// Seconds per packet of the flow, and its RTT in seconds; zero = unknown.
fn spacing(stamp: &Stamp) -> (f64, f64) {
    let rtt_s = f64::from(stamp.base_rtt_us) * 1e-6;
    (rtt_s * stamp.weight, rtt_s)
}

impl FeedbackLaw for Xcp {
    fn on_arrival(&mut self, port: &PortView, stamp: &Stamp) {
        self.count(port);
        self.own_traffic += f64::from(port.bytes);
        let (x, rtt_s) = spacing(stamp);
        self.seconds += x;
        self.rtt_seconds += x * rtt_s.min(MAX_INTERVAL_S);
    }

    fn on_other(&mut self, port: &PortView) {
        self.count(port);
    }

    fn on_departure(&mut self, port: &PortView, stamp: &Stamp, feedback: &mut f64) {
        self.advance(port);
        self.least_queue = self.least_queue.min(port.queued as f64);
        let (x, _) = spacing(stamp);
        if x == 0.0 {
            *feedback = feedback.min(0.0);
            return;
        }
        let mut positive = (self.positive * x).min(self.residue_positive);
        let mut negative = (self.negative * f64::from(port.bytes)).min(self.residue_negative);
        let own = positive - negative;
        if *feedback >= own {
            *feedback = own;
        } else {
            // Another port, or the sender, allows less: the rest stays for other flows.
            negative = (negative + (own - *feedback)).min(self.residue_negative);
            positive = *feedback + negative;
        }
        self.residue_positive = (self.residue_positive - positive).max(0.0);
        self.residue_negative = (self.residue_negative - negative).max(0.0);
        if self.residue_positive == 0.0 {
            self.positive = 0.0;
        }
        if self.residue_negative == 0.0 {
            self.negative = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_cc::BitRate;

    const RTT_MS: u64 = 50;

    fn at(ms: u64, queued: u64) -> PortView {
        PortView { now: Nanos::from_millis(ms), rate: BitRate::from_mbit(100), queued, bytes: 1500 }
    }

    fn stamp(cwnd: u64) -> Stamp {
        Stamp::coded((RTT_MS * 1000) as u32, crate::uf16::encode(cwnd), 1448)
    }

    /// Sends `packets` of windows `cwnds` evenly over one interval, and returns the sum of the
    /// feedback of each flow over the next one, for the same packets.
    fn feedback(cwnds: &[u64], queued: u64) -> Vec<f64> {
        let mut port = Xcp::new(&at(0, queued), &stamp(cwnds[0]));
        let mut sums = vec![0.0; cwnds.len()];
        for ms in 0..2 * RTT_MS {
            for (flow, &cwnd) in cwnds.iter().enumerate() {
                // As many packets as the window has, spread over the interval.
                let (sent, due) =
                    (cwnd / 1448 * (ms % RTT_MS) / RTT_MS, cwnd / 1448 * (ms % RTT_MS + 1) / RTT_MS);
                for _ in sent..due {
                    port.on_arrival(&at(ms, queued), &stamp(cwnd));
                    let mut f = f64::INFINITY;
                    port.on_departure(&at(ms, queued), &stamp(cwnd), &mut f);
                    if ms >= RTT_MS {
                        sums[flow] += f;
                    }
                }
            }
        }
        sums
    }

    #[test]
    fn spare_rate_is_granted_by_alpha_to_all_flows_in_equal_parts() {
        // 20 and 100 packets of 1500 bytes per 50 ms: 28.8 Mbit/s of 100, so no shuffling.
        let sums = feedback(&[20 * 1448, 100 * 1448], 0);
        let spare = ALPHA * (12.5e6 - 120.0 * 1500.0 / 0.05);
        assert!((sums.iter().sum::<f64>() / spare - 1.0).abs() < 0.01, "{sums:?} of {spare}");
        assert!((sums[0] / sums[1] - 1.0).abs() < 0.06, "{sums:?}");
    }

    #[test]
    fn at_capacity_a_tenth_is_shuffled_from_large_flows_to_small_ones() {
        // 417 packets per interval = 100.08 Mbit/s.
        let sums = feedback(&[117 * 1448, 300 * 1448], 0);
        let (total, moved) = (sums[0] + sums[1], sums[0]);
        assert!(total.abs() < 0.01 * 12.5e6, "{sums:?}");
        // Half of a tenth for each, less the part of its own traffic.
        let expected = GAMMA * 12.5e6 * (0.5 - 117.0 / 417.0);
        assert!((moved / expected - 1.0).abs() < 0.05, "{moved}, expected {expected}");
    }

    #[test]
    fn a_standing_queue_is_drained_by_beta() {
        let sums = feedback(&[208 * 1448, 209 * 1448], 100_000);
        let expected = -BETA * 100_000.0 / 0.05;
        assert!((sums.iter().sum::<f64>() - expected).abs() < 0.01 * 12.5e6, "{sums:?}, expected {expected}");
        assert!(sums.iter().sum::<f64>() < 0.9 * expected, "{sums:?}");
    }

    #[test]
    fn a_sender_that_asks_for_less_gets_that() {
        let mut port = Xcp::new(&at(0, 0), &stamp(14_480));
        for ms in 0..=RTT_MS {
            port.on_arrival(&at(ms, 0), &stamp(14_480));
        }
        let mut f = 10.0;
        port.on_departure(&at(RTT_MS, 0), &stamp(14_480), &mut f);
        assert_eq!(f, 10.0);
        let stamp = HeaderStamp { base_rtt: Nanos::from_millis(50), cwnd: 14_480, ..HeaderStamp::default() };
        assert_eq!(request(&stamp, 1448), f64::INFINITY);
        // 10 Mbit/s are 1.25 MB/s, ten packets per 50 ms 0.2896 MB/s.
        let limited = HeaderStamp { demand_kbps: 10_000, ..stamp };
        assert!((request(&limited, 1448) - (1.25e6 - 289_600.0) / 10.0).abs() < 1e-6);
    }

    #[test]
    fn an_idle_port_grants_nothing_until_it_has_measured() {
        let mut port = Xcp::new(&at(0, 0), &stamp(14_480));
        port.on_arrival(&at(0, 0), &stamp(14_480));
        let later = at(10_000, 0);
        port.on_arrival(&later, &stamp(14_480));
        let mut f = f64::INFINITY;
        port.on_departure(&later, &stamp(14_480), &mut f);
        assert_eq!(f, 0.0);
    }

    #[test]
    fn the_constants_are_those_of_the_paper() {
        assert_eq!((ALPHA, BETA, GAMMA), (0.4, 0.226, 0.1));
        assert!((BETA - ALPHA * ALPHA * std::f64::consts::SQRT_2).abs() < 1e-3);
    }
}
