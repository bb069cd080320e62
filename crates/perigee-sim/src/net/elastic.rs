// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Elastic background: flows that respond to losses, as one window.
//!
//! Once per RTT R (their own, and the queue's delay), with N flows of w bytes each:
//!
//! ```text
//! hit = N (1 - e^(-L/1.5N))                 flows among which the round's L lost packets are
//! w  += (1 - hit/N) (1 - β) w / T           growth of the others; T: recovery in RTTs
//! w  -= hit/N (1 - β) w                     half of it in this round, half in the next one
//! rate = N w / R
//! ```
//!
//! Losses of a round are detected an RTT later, spread over the next round: hence the halves. `hit` is
//! drawn (normal, with the variance of a binomial variable). By default T is that of Cubic (RFC 9438),
//! with β = 0.7: the shorter of K = ∛(w (1 - β) / 0.4) and of its Reno-friendly growth of
//! 3 (1 - β) / (1 + β) packets per RTT. Within a round arrivals fluctuate, but not over it: an
//! Ornstein-Uhlenbeck process is added to the fluid.

use perigee_timeline::Elastic;
use perigee_units::Nanos;

/// Cubic's decrease and its constant C in packets/s³ (RFC 9438 section 4).
const BETA: f64 = 0.7;
const CUBIC: f64 = 0.4;

/// Smallest window of a flow, in packets.
const LEAST: f64 = 2.0;

/// Packets that a flow sends at once: those that one ACK releases. The variance of the bytes in a short
/// time is their mean times this.
const BURST: f64 = 2.0;

/// Share of an RTT in which bytes that came early are made up for: over an RTT, no more comes than the
/// window. Calibrated, as the next one, on flows in packets (design/background.md).
const REGAINED: f64 = 0.01;

/// Packets that a flow loses of a burst, if it loses any.
const LOST_AT_ONCE: f64 = 1.5;

/// The flows of an aggregate.
#[derive(Clone, Debug)]
pub struct Flows {
    given: Elastic,
    /// Window of all flows, in bytes.
    window: f64,
    rate: f64,
    /// End of the round.
    due: Nanos,
    /// Bytes lost in it.
    lost: f64,
    /// Bytes that came early (or late, if negative).
    early: f64,
    rtt_s: f64,
    /// Decrease left for the next round, as a share of the window.
    later: f64,
}

impl Flows {
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

    /// The same flows with other settings; those that come or go have the mean window.
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

    /// Bytes of the aggregate are lost.
    pub fn lose(&mut self, bytes: f64) {
        self.lost += bytes;
        if self.early > 0.0 {
            self.early = (self.early - bytes).max(0.0);
        }
    }

    /// Variance of the bytes that arrive within `d` seconds.
    pub fn variance(&self, d: f64) -> f64 {
        self.rate * f64::from(self.given.packet) * BURST * d
    }

    /// `noise` bytes come early within `d` seconds. Returns the bytes that do not come because they came
    /// early before.
    pub fn compensate(&mut self, d: f64, noise: f64) -> f64 {
        let back = self.early * -libm::expm1(-d / (self.rtt_s * REGAINED));
        self.early += noise - back;
        back
    }

    /// Ends a round at `now`: the queue delays by `delay` seconds. `draw`: a standard normal variable.
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
        self.window = (self.window + grown).max(LEAST * packet * flows);
        if let Some(most) = self.given.most {
            self.window = self.window.min(most.bytes_per_s() * flows * rtt);
        }
        self.rate = self.window / rtt;
        self.due = now + Nanos::from_secs_f64(rtt).max(Nanos(1_000));
    }

    /// RTTs in which a flow with a window of `w` packets recovers from a loss.
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
