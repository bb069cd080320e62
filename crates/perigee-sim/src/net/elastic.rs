// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Elastic background traffic: an aggregate of flows that respond to losses, modelled as one
//! window.
//!
//! The window is updated once per round of one RTT R (base RTT plus queueing delay), for N flows
//! with windows of w bytes:
//!
//! ```text
//! hit = N (1 - e^(-L/1.5N))                 flows that the round's L lost packets affect
//! w  += (1 - hit/N) (1 - β) w / T           growth of the others; T: recovery time in RTTs
//! w  -= hit/N (1 - β) w                     half of it in this round, half in the next one
//! rate = N w / R
//! ```
//!
//! The decrease is split because losses of a round are detected one RTT later, spread over the next
//! round. `hit` is drawn from a normal distribution with the variance of a binomial variable. By
//! default T is that of Cubic (RFC 9438) with β = 0.7: the shorter of K = ∛(w (1 - β) / 0.4)
//! seconds (w in packets) and of its Reno-friendly growth of 3 (1 - β) / (1 + β) packets per RTT.
//!
//! Arrivals fluctuate within a round, but their sum over a round is the window: an
//! Ornstein-Uhlenbeck process is added to the fluid.

use perigee_timeline::Elastic;
use perigee_units::Nanos;

/// Cubic's decrease factor (RFC 9438 section 4).
const BETA: f64 = 0.7;
/// Cubic's constant C, in packets/s³ (RFC 9438 section 4).
const CUBIC: f64 = 0.4;

/// Minimum window of a flow, in packets.
const MIN_WINDOW: f64 = 2.0;

/// Packets that a flow sends back to back, on one ACK. The variance of the bytes that arrive in a
/// short interval is their mean times the bytes of such a burst.
const BURST: f64 = 2.0;

/// Time constant, as a fraction of the RTT, in which early arrivals are compensated: over one RTT
/// the arrivals are the window. Calibrated, as [`LOST_AT_ONCE`], on packet-level flows
/// (design/background.md).
const COMPENSATION: f64 = 0.01;

/// Mean number of packets that an affected flow loses.
const LOST_AT_ONCE: f64 = 1.5;

/// State of the aggregate.
#[derive(Clone, Debug)]
pub struct Flows {
    given: Elastic,
    /// Sum of the windows, in bytes.
    window: f64,
    /// Rate of the aggregate, in bytes/s.
    rate: f64,
    /// End of the current round.
    due: Nanos,
    /// Bytes lost in the current round.
    lost: f64,
    /// Bytes that have arrived early (late, if negative) and are not yet compensated.
    early: f64,
    /// RTT of the current round, queueing included.
    rtt_s: f64,
    /// Decrease to apply in the next round, as a fraction of the window.
    later: f64,
}

impl Flows {
    /// Aggregate at its initial rate.
    pub fn new(given: &Elastic, now: Nanos) -> Self {
        let rate = given.start.bytes_per_s();
        let window = rate * given.rtt.as_secs_f64();
        Flows {
            given: given.clone(),
            window,
            rate,
            due: now + given.rtt,
            lost: 0.0,
            early: 0.0,
            rtt_s: given.rtt.as_secs_f64(),
            later: 0.0,
        }
    }

    /// Applies other settings. If the number of flows changes, those that are added or removed have
    /// the mean window.
    pub fn changed(self, given: &Elastic) -> Self {
        let share = f64::from(given.flows) / f64::from(self.given.flows.max(1));
        Flows { given: given.clone(), window: self.window * share, rate: self.rate * share, ..self }
    }

    /// Current rate in bytes/s.
    pub fn bytes_per_s(&self) -> f64 {
        self.rate
    }

    /// End of the current round.
    pub fn due(&self) -> Nanos {
        self.due
    }

    /// Records the loss of `bytes` bytes of the aggregate.
    pub fn lose(&mut self, bytes: f64) {
        self.lost += bytes;
        if self.early > 0.0 {
            self.early = (self.early - bytes).max(0.0);
        }
    }

    /// Variance of the bytes that arrive within `d` seconds, in bytes².
    pub fn variance(&self, d: f64) -> f64 {
        self.rate * f64::from(self.given.packet) * BURST * d
    }

    /// Records that `noise` bytes arrive early within `d` seconds. Returns the bytes that do not
    /// arrive in this interval because they arrived early before.
    pub fn compensate(&mut self, d: f64, noise: f64) -> f64 {
        let back = self.early * -libm::expm1(-d / (self.rtt_s * COMPENSATION));
        self.early += noise - back;
        back
    }

    /// Ends a round at `now`, with a queueing delay of `delay` seconds. `draw` is a standard normal
    /// variable.
    pub fn end_round(&mut self, now: Nanos, delay: f64, draw: f64) {
        let flows = f64::from(self.given.flows);
        let packet = f64::from(self.given.packet);
        let rtt = self.given.rtt.as_secs_f64() + delay;
        let packets = std::mem::take(&mut self.lost) / packet;
        self.rtt_s = rtt;
        let share = -libm::expm1(-packets / LOST_AT_ONCE / flows);
        let hit = flows * share + libm::sqrt(flows * share * (1.0 - share)) * draw;
        let share = hit.clamp(0.0, flows.min(packets.ceil())) / flows;
        let w = self.window / flows / packet;
        let grown = (1.0 - share) * (1.0 - BETA) * self.window / self.recovery(w, rtt);
        let decrease = share * (1.0 - BETA) / 2.0;
        self.window *= 1.0 - decrease - std::mem::replace(&mut self.later, decrease);
        self.window = (self.window + grown).max(MIN_WINDOW * packet * flows);
        if let Some(most) = self.given.most {
            self.window = self.window.min(most.bytes_per_s() * flows * rtt);
        }
        self.rate = self.window / rtt;
        self.due = now + Nanos::from_secs_f64(rtt).max(Nanos(1_000));
    }

    /// Number of RTTs (of `rtt` seconds) in which a flow with a window of `w` packets recovers from
    /// a loss.
    fn recovery(&self, w: f64, rtt: f64) -> f64 {
        if let Some(given) = self.given.recovery {
            return given;
        }
        let lost = w * (1.0 - BETA);
        let cubic = libm::cbrt(lost / CUBIC) / rtt;
        let reno = lost / (3.0 * (1.0 - BETA) / (1.0 + BETA));
        cubic.min(reno).max(1.0)
    }
}
