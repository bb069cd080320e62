// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Background traffic of a port as a fluid, which shares queue and transmitter with packets.
//!
//! The port serves everything in order of arrival. When a packet arrives, the background bytes that
//! came since the previous packet are ahead of it (its *lead*), so its service starts once these have
//! been served too: the instant is known on arrival, as at any port in order. Between packets, the
//! unfinished work w (bytes, of packets and background) follows
//!
//! ```text
//! w(t + d) = w(t) + A(d) - C d,   reflected at 0 (the transmitter idles) and at the limit (losses)
//! ```
//!
//! with rate C and arrivals A(d) of mean B d and variance I b d, for inelastic traffic of rate I in
//! bursts of b bytes (independent arrivals of b bytes each: a compound Poisson process, here as a
//! Brownian motion, with extremes drawn exactly). A packet that finds the queue full is lost; one
//! that finds it overflowing is lost with the probability of a background byte. The state advances
//! only when a packet arrives or the timeline changes, so samples do not affect it.
//!
//! Elastic traffic is one window of all its flows ([`elastic`](super::elastic)), with the rate
//! window / RTT, updated once per RTT of these flows.

use super::elastic::Flows;
use perigee_timeline::{Background, QueueLimit};
use perigee_units::draw::{mix, unit};
use perigee_units::{BitRate, Nanos};

/// Bytes of a background packet at a queue that counts packets.
const PACKET: f64 = 1500.0;

/// Makes these draws independent of others.
const DRAWS: u64 = 0x6261_636b_6772_6e64;

/// Standard deviations beyond which an extreme of the work is not drawn.
const FAR: f64 = 6.0;

/// Background traffic of a port, and the work that it shares with packets.
#[derive(Clone, Debug)]
pub struct Load {
    /// Bytes/s of inelastic traffic, and bytes that arrive at once.
    inelastic: f64,
    burst: f64,
    elastic: Option<Flows>,
    /// Bytes that may be unfinished.
    limit: f64,
    /// Instant of the values below.
    at: Nanos,
    /// Unfinished bytes of packets and background.
    work: f64,
    /// Those of them up to the latest packet.
    assigned: f64,
    /// Share of the background that was lost in the latest interval between packets.
    loss: f64,
    /// Background bytes served or waiting since the start.
    carried: f64,
    key: u64,
    draws: u64,
    /// Whether services may be arranged ahead of time: no meter reads the queue.
    pub looks_ahead: bool,
}

/// Result of an arrival at a port with background traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Admission {
    /// The packet waits behind this number of background bytes since the previous packet.
    Lead(u32),
    /// The queue is full.
    Full,
}

impl Load {
    /// A port without background traffic, so far, and without work; `key`: of its draws.
    pub fn new(limit: QueueLimit, now: Nanos, key: u64) -> Self {
        let limit = match limit {
            // The packet in transmission does not count.
            QueueLimit::Bytes(n) => n as f64 + PACKET / 2.0,
            QueueLimit::Packets(n) => (n as f64 + 0.5) * PACKET,
        };
        Load {
            inelastic: 0.0,
            burst: 0.0,
            elastic: None,
            limit,
            at: now,
            work: 0.0,
            assigned: 0.0,
            loss: 0.0,
            carried: 0.0,
            key: mix(key ^ DRAWS),
            draws: 0,
            looks_ahead: true,
        }
    }

    /// Replaces the traffic at `now`, to which the load has been advanced. Elastic flows keep their
    /// state if their number stays the same.
    pub fn set(&mut self, traffic: &Background) {
        self.inelastic = traffic.inelastic.bytes_per_s();
        self.burst = f64::from(traffic.burst.max(1));
        self.elastic = traffic.elastic.as_ref().map(|e| match self.elastic.take() {
            Some(flows) => flows.changed(e),
            None => Flows::new(e, self.at),
        });
    }

    /// Advances to `now`, at a constant `rate`.
    pub fn advance(&mut self, now: Nanos, rate: BitRate) {
        if now <= self.at {
            return;
        }
        let rate = rate.bytes_per_s();
        let (mut offered, mut lost) = (0.0, 0.0);
        while self.at < now {
            let until = self.elastic.as_ref().map_or(now, |e| e.due().min(now));
            if until > self.at {
                let (bytes, over) = self.interval((until - self.at).as_secs_f64(), rate);
                offered += bytes;
                lost += over;
                self.at = until;
            }
            if self.elastic.as_ref().is_some_and(|e| e.due() <= self.at) {
                let draw = self.normal();
                let delay = if rate > 0.0 { self.work / rate } else { 0.0 };
                if let Some(elastic) = &mut self.elastic {
                    elastic.end_round(self.at, delay, draw);
                }
            }
        }
        self.loss = if offered > 0.0 { lost / offered } else { 0.0 };
        self.carried += offered - lost;
    }

    /// An interval of constant rates; returns the background bytes that arrive, and those lost.
    fn interval(&mut self, d: f64, rate: f64) -> (f64, f64) {
        let elastic = self.elastic.as_ref().map_or(0.0, Flows::bytes_per_s);
        let offered = (self.inelastic + elastic) * d;
        let served = rate * d;
        let variance = self.inelastic * self.burst * d;
        let mut step = offered - served;
        if variance > 0.0 {
            // No fewer than no bytes arrive.
            step = (step + libm::sqrt(variance) * self.normal()).max(-served);
        }
        let near = FAR * libm::sqrt(variance);
        let (work, after) = (self.work, self.work + step);
        let idle = match work.min(after) - near < 0.0 {
            true => (self.extreme(step, variance, -1.0) - work).max(0.0),
            false => 0.0,
        };
        let over = match work.max(after) + near > self.limit {
            true => (work + self.extreme(step, variance, 1.0) - self.limit).max(0.0),
            false => 0.0,
        };
        let lost = over.min((step + served).max(0.0));
        self.work = (after + idle - lost).max(0.0);
        self.assigned = (self.assigned - served).max(0.0).min(self.work);
        if let Some(e) = &mut self.elastic {
            // All of the aggregate loses the same share.
            let share = if offered > 0.0 { elastic * d / offered } else { 0.0 };
            e.lose(lost * share);
        }
        (offered, lost)
    }

    /// Largest (`sign` 1) or smallest (-1, with its sign reversed) value of a Brownian bridge from 0 to
    /// `step` with this variance.
    fn extreme(&mut self, step: f64, variance: f64, sign: f64) -> f64 {
        let end = sign * step;
        if variance == 0.0 {
            return end.max(0.0);
        }
        let u = 1.0 - self.uniform();
        0.5 * (end + libm::sqrt(end * end - 2.0 * variance * libm::log(u)))
    }

    /// A packet of `size` bytes arrives at the instant of the latest advance.
    pub fn admit(&mut self, size: u32) -> Admission {
        if self.work > self.limit || (self.loss > 0.0 && self.uniform() < self.loss) {
            return Admission::Full;
        }
        let lead = (self.work - self.assigned).max(0.0).min(f64::from(u32::MAX)) as u32;
        self.work += f64::from(size);
        self.assigned += f64::from(lead) + f64::from(size);
        // Packets that follow at once find what this one has left.
        self.loss = 0.0;
        Admission::Lead(lead)
    }

    /// The work up to the latest packet takes the port this long: corrects rounding.
    pub fn settle(&mut self, ahead: Nanos, rate: BitRate) {
        self.assigned = ahead.as_secs_f64() * rate.bytes_per_s();
        self.work = self.work.max(self.assigned);
    }

    /// Everything waiting is lost.
    pub fn clear(&mut self) {
        (self.work, self.assigned) = (0.0, 0.0);
    }

    /// Expected unfinished bytes, and background bytes carried, at `now`.
    pub fn at(&self, now: Nanos, rate: BitRate) -> (u64, f64) {
        let d = now.saturating_sub(self.at).as_secs_f64();
        let elastic = self.elastic.as_ref().map_or(0.0, Flows::bytes_per_s);
        let offered = (self.inelastic + elastic) * d;
        let work = self.work + offered - rate.bytes_per_s() * d;
        let over = (work - self.limit.max(self.work)).max(0.0);
        ((work - over).max(0.0) as u64, self.carried + (offered - over).max(0.0))
    }

    fn uniform(&mut self) -> f64 {
        self.draws += 1;
        unit(mix(self.key ^ mix(self.draws)))
    }

    /// A standard normal variable (Box and Muller).
    fn normal(&mut self) -> f64 {
        let (a, b) = (1.0 - self.uniform(), self.uniform());
        libm::sqrt(-2.0 * libm::log(a)) * libm::cos(2.0 * std::f64::consts::PI * b)
    }
}
