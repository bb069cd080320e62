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
    /// Rate of the port, and end of the service of the latest packet at that rate.
    rate: BitRate,
    end: Nanos,
    /// While the rate is zero: unfinished bytes up to the latest packet.
    held: f64,
    /// Share of the background that was lost since the latest packet.
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
    /// A port without background traffic, so far, that works on packets until `end`; `key`: of its
    /// draws.
    pub fn new(limit: QueueLimit, rate: BitRate, now: Nanos, end: Nanos, key: u64) -> Self {
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
            work: end.saturating_sub(now).as_secs_f64() * rate.bytes_per_s(),
            rate,
            end,
            held: 0.0,
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
        self.burst = f64::from(traffic.burst);
        self.elastic = traffic.elastic.as_ref().map(|e| match self.elastic.take() {
            Some(flows) => flows.changed(e),
            None => Flows::new(e, self.at),
        });
    }

    /// The port has another rate from `now` on.
    pub fn set_rate(&mut self, now: Nanos, rate: BitRate) {
        self.advance(now);
        let assigned = self.assigned();
        self.rate = rate;
        match rate.0 {
            0 => self.held = assigned,
            _ => self.end = now + Nanos::from_secs_f64(assigned / rate.bytes_per_s()),
        }
    }

    /// Unfinished bytes up to the latest packet.
    fn assigned(&self) -> f64 {
        match self.rate.0 {
            0 => self.held,
            _ => self.end.saturating_sub(self.at).as_secs_f64() * self.rate.bytes_per_s(),
        }
    }

    /// Advances to `now`.
    pub fn advance(&mut self, now: Nanos) {
        if now <= self.at {
            return;
        }
        let rate = self.rate.bytes_per_s();
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
        let of_elastic = self.elastic.as_ref().map_or(0.0, |e| e.variance(d));
        let variance = self.inelastic * self.burst * d + of_elastic;
        let mut step = offered - served;
        if variance > 0.0 {
            let noise = libm::sqrt(variance) * self.normal();
            let more = self.elastic.as_mut().map_or(0.0, |e| e.compensate(d, noise * of_elastic / variance));
            // No fewer than no bytes arrive.
            step = (step + noise - more).max(-served);
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
        let loss = std::mem::take(&mut self.loss);
        if self.work > self.limit || (loss > 0.0 && self.uniform() < loss) {
            return Admission::Full;
        }
        let assigned = self.assigned();
        self.work = self.work.max(assigned);
        let lead = (self.work - assigned + 0.5).min(f64::from(u32::MAX)) as u32;
        self.work += f64::from(size);
        if self.rate.0 == 0 {
            self.held += f64::from(lead) + f64::from(size);
        } else {
            // Rounded as the port does.
            let service = self.rate.time_for(u64::from(lead)) + self.rate.time_for(u64::from(size));
            self.end = self.end.max(self.at).saturating_add(service);
        }
        Admission::Lead(lead)
    }

    /// Everything waiting is lost.
    pub fn clear(&mut self) {
        (self.work, self.held, self.end) = (0.0, 0.0, self.at);
    }

    /// Expected unfinished bytes, and background bytes carried, at `now`.
    pub fn at(&self, now: Nanos) -> (u64, f64) {
        let d = now.saturating_sub(self.at).as_secs_f64();
        let elastic = self.elastic.as_ref().map_or(0.0, Flows::bytes_per_s);
        let offered = (self.inelastic + elastic) * d;
        let work = self.work + offered - self.rate.bytes_per_s() * d;
        let over = (work - self.limit.max(self.work)).max(0.0);
        ((work - over + 0.5).max(0.0) as u64, self.carried + (offered - over).max(0.0))
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

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_timeline::Elastic;

    /// 1 byte/µs.
    const RATE: BitRate = BitRate::from_mbit(8);

    fn load(limit: u64, inelastic_mbit: f64, burst: u32, elastic: Option<Elastic>) -> Load {
        let mut load = Load::new(QueueLimit::Bytes(limit), RATE, Nanos::ZERO, Nanos::ZERO, 1);
        load.set(&Background { inelastic: BitRate((inelastic_mbit * 1e6) as u64), burst, elastic });
        load
    }

    fn admit(load: &mut Load, us: u64, size: u32) -> Admission {
        load.advance(Nanos::from_micros(us));
        load.admit(size)
    }

    #[test]
    fn background_between_two_packets_is_ahead_of_the_second() {
        let mut load = load(1_000_000, 2.0, 0, None);
        // A quarter of the rate: no queue of its own; during the service of a packet it accumulates.
        assert_eq!(admit(&mut load, 1_000, 1000), Admission::Lead(0));
        assert_eq!(admit(&mut load, 1_400, 1000), Admission::Lead(100));
        // Done at 1000 + 1000 + 100 + 1000; of 425 bytes since then, all wait behind the packet.
        assert_eq!(admit(&mut load, 3_100, 1000), Admission::Lead(425));
        assert_eq!(load.at(Nanos::from_micros(3_100)).0, 1425);
        assert_eq!(admit(&mut load, 9_000, 1000), Admission::Lead(0));
    }

    #[test]
    fn waiting_times_are_those_of_a_queue_in_heavy_traffic() {
        // Independent packets of 1500 bytes at a load of 0.8: ρ b / (2 (1 - ρ)) = 3000 bytes.
        let mut load = load(10_000_000, 6.4, 1500, None);
        let n = 40_000;
        let lead = |k: u64, load: &mut Load| match admit(load, k * 50_000, 0) {
            Admission::Lead(bytes) => f64::from(bytes),
            Admission::Full => panic!("full"),
        };
        let mean = (1..=n).map(|k| lead(k, &mut load)).sum::<f64>() / n as f64;
        assert!((mean / 3000.0 - 1.0).abs() < 0.03, "{mean}");
    }

    #[test]
    fn an_overloaded_port_loses_what_exceeds_its_rate() {
        for burst in [0, 1500] {
            let mut load = load(50_000, 10.0, burst, None);
            let full = (1_000..21_000).filter(|k| admit(&mut load, k * 7_001, 100) == Admission::Full);
            let share = full.count() as f64 / 20_000.0;
            // (10 + 0.1 - 8) / 10.1 Mbit/s
            assert!((share / 0.208 - 1.0).abs() < 0.06, "{burst}: {share}");
        }
    }

    #[test]
    fn elastic_flows_take_what_is_left_and_yield() {
        let elastic = Elastic {
            flows: 5,
            rtt: Nanos::from_millis(40),
            start: BitRate::from_mbit(1),
            most: None,
            recovery: None,
            packet: 1500,
        };
        let carried = |inelastic: f64| {
            let mut load = load(40_000, inelastic, 1500, Some(elastic.clone()));
            load.advance(Nanos::from_secs(30));
            let before = load.at(Nanos::from_secs(30)).1;
            load.advance(Nanos::from_secs(90));
            (load.at(Nanos::from_secs(90)).1 - before) / 60.0 / 1e6
        };
        assert!((0.9..=1.0).contains(&carried(0.0)), "{}", carried(0.0));
        assert!((0.9..=1.0).contains(&carried(5.0)), "{}", carried(5.0));
        // With a limit of 100 kbit/s for each.
        let capped = Elastic { most: Some(BitRate(400_000)), ..elastic };
        let mut load = load(40_000, 0.0, 0, Some(capped));
        load.advance(Nanos::from_secs(60));
        assert!(load.at(Nanos::from_secs(60)).0 < 3_000, "half of the rate: no queue to speak of");
        assert!((load.at(Nanos::from_secs(60)).1 / 60.0 - 250_000.0).abs() < 10_000.0);
    }

    #[test]
    fn a_rate_of_zero_keeps_the_order() {
        let mut load = load(1_000_000, 0.8, 0, None);
        load.set_rate(Nanos::from_millis(10), BitRate(0));
        assert_eq!(admit(&mut load, 20_000, 1000), Admission::Lead(1000));
        assert_eq!(admit(&mut load, 30_000, 1000), Admission::Lead(1000));
        load.set_rate(Nanos::from_millis(30), RATE);
        // 4000 bytes until 34 ms, and 400 behind them.
        assert_eq!(admit(&mut load, 34_000, 1000), Admission::Lead(400));
    }
}
