// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Carrier of a satellite that a port shares with the terminals of others, frame by frame.
//!
//! A terminal's demand d in a frame is divided so that all shares fit into the capacity C:
//!
//! ```text
//! round robin:   min(d, L),  with the level L at which the shares add up to C (max-min)
//! proportional:  min(d, f) + (C - sum of min(d, f)) (d - min(d, f)) / (sum of the same), at most d
//! ```
//!
//! with f bytes of the rate floor per frame. On a forward carrier ([`Beam::turn`]) the gateway sees
//! all queues. The port may send what its turns would give it if it always had data, and neighbours
//! divide what it does not send; their data wait for the next frame. On a return carrier
//! ([`Beam::allow`], [`Beam::requests`]) demands are requests, which arrive a delay later
//! ([`dama`](super::dama)). Each neighbour requests by volume; constant and free capacity
//! are the same for all terminals. A granted frame is taken even if nothing is left to send.
//!
//! With request slots, a terminal without a grant in the frame sends its request in one of them,
//! drawn at random. Requests in one slot are lost, which terminals detect a delay later and repeat
//! within [`BACKOFF`] frames.

use super::neighbours::{Law, Source};
use perigee_timeline::{Carrier, Dama, Sharing};
use perigee_units::draw::{mix, unit};
use perigee_units::{BitRate, Nanos};
use std::collections::VecDeque;

/// Frames over which repeated requests are spread.
const BACKOFF: f64 = 16.0;

/// Makes these draws independent of others.
const DRAWS: u64 = 0x6265_616d;

/// Carrier with the queues and requests of its neighbours.
#[derive(Clone, Debug)]
pub struct Beam {
    carrier: Carrier,
    law: Law,
    /// Bytes per frame: of the carrier, of the floor, and the most of one neighbour.
    capacity: f64,
    floor: f64,
    peak: f64,
    sources: Vec<Source>,
    /// Waiting bytes of each neighbour.
    queues: Vec<f64>,
    /// Start of the current frame.
    at: Nanos,
    requests: Option<Requests>,
    /// Demands of the frame, and shares of them.
    demands: Vec<f64>,
    sorted: Vec<f64>,
    key: u64,
    draws: u64,
    /// Counters since the start.
    pub counts: Counts,
}

/// Counters of a carrier.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Frames that are over.
    pub frames: u64,
    /// Bytes of neighbours that left, and that found a full queue.
    pub carried: f64,
    pub lost: f64,
    /// Their waiting bytes, summed over nanoseconds.
    pub waiting_ns: f64,
    /// Bytes that the port could send.
    pub granted: u64,
}

/// Requests of neighbours on a return carrier, and the controller's account of them.
#[derive(Clone, Debug)]
struct Requests {
    /// Constant and free bytes per frame, at most.
    cra: f64,
    fca: f64,
    /// Volumes that have not reached the controller, oldest frame first, and their sums.
    on_way: VecDeque<Vec<f64>>,
    volume_on_way: Vec<f64>,
    /// Volumes that have reached it and are not granted yet.
    owed: Vec<f64>,
    /// Bytes granted in this frame.
    granted: Vec<f64>,
    /// First frame in which each terminal may contend again; the last one is that of the port.
    again: Vec<u64>,
}

/// Demand of the port's terminal on a return carrier, in bytes of this frame.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Constant capacity.
    pub constant: u64,
    /// Requested by rate and volume.
    pub requested: u64,
}

impl Beam {
    /// State at time zero. `dama`: of a return carrier; `key`: of its draws.
    pub fn new(carrier: &Carrier, dama: Option<&Dama>, key: u64) -> Self {
        let n = carrier.neighbours.count as usize;
        let key = mix(key ^ DRAWS);
        let law = Law::new(&carrier.neighbours);
        let frame_s = carrier.frame.as_secs_f64();
        let capacity = carrier.rate.bytes_per_s() * frame_s;
        let requests = dama.map(|dama| {
            let of_each = capacity / (n as f64 + 1.0);
            Requests {
                cra: (dama.per_frame(dama.cra) as f64).min(of_each),
                fca: dama.per_frame(dama.fca) as f64,
                on_way: VecDeque::from(vec![vec![0.0; n]; dama.frames() as usize]),
                volume_on_way: vec![0.0; n],
                owed: vec![0.0; n],
                granted: vec![0.0; n],
                again: vec![0; n + 1],
            }
        });
        Beam {
            law,
            capacity,
            floor: carrier.floor.bytes_per_s() * frame_s,
            peak: carrier.neighbours.peak.bytes_per_s() * frame_s,
            sources: (0..n as u64).map(|i| Source::new(&law, mix(key ^ mix(i)))).collect(),
            queues: vec![0.0; n],
            at: Nanos::ZERO,
            requests,
            demands: vec![0.0; n],
            sorted: Vec::new(),
            key,
            draws: 0,
            counts: Counts::default(),
            carrier: *carrier,
        }
    }

    /// Waiting bytes of all neighbours.
    pub fn waiting(&self) -> f64 {
        self.queues.iter().sum()
    }

    /// Rate of the carrier.
    pub fn rate(&self) -> BitRate {
        self.carrier.rate
    }

    /// Bytes of this number of frames.
    pub fn capacity(&self, frames: f64) -> f64 {
        self.capacity * frames
    }

    /// Starts a frame of a forward carrier. `sent`: bytes that the port sent in the frame before;
    /// `most`: those that it can send in this one. Returns the number that it may send.
    pub fn turn(&mut self, begin: Nanos, sent: u64, most: u64) -> u64 {
        if begin > self.at {
            let left = (self.capacity - sent as f64).max(0.0);
            let level = self.level(left, 0.0);
            for (queue, demand) in self.queues.iter_mut().zip(&self.demands) {
                let carried = demand.min(level);
                *queue -= carried;
                self.counts.carried += carried;
            }
        }
        self.arrive(begin);
        for (demand, queue) in self.demands.iter_mut().zip(&self.queues) {
            *demand = queue.min(self.peak);
        }
        let granted = (self.level(self.capacity, 1.0) as u64).min(most);
        self.counts.granted += granted;
        granted
    }

    /// Starts a frame of a return carrier. Returns the number of bytes granted to the port.
    pub fn allow(&mut self, begin: Nanos, wanted: Wanted) -> u64 {
        self.arrive(begin);
        let Some(mut r) = self.requests.take() else { return u64::MAX };
        let came = r.on_way.pop_front().unwrap_or_default();
        for (i, volume) in came.iter().enumerate() {
            r.volume_on_way[i] -= volume;
            r.owed[i] += volume;
            self.demands[i] = r.owed[i].min((self.peak - r.cra).max(0.0));
        }
        r.on_way.push_back(came);
        let terminals = self.queues.len() as f64 + 1.0;
        let capacity = (self.capacity - r.cra * terminals).max(0.0);
        let own = wanted.requested as f64;
        let (share, left) = self.divide(capacity, own);
        let free = r.fca.min(left / terminals);
        for i in 0..self.queues.len() {
            r.owed[i] = (r.owed[i] - self.demands[i]).max(0.0);
            r.granted[i] = self.demands[i] + r.cra + free;
            let carried = r.granted[i].min(self.queues[i]);
            self.queues[i] -= carried;
            self.counts.carried += carried;
        }
        self.requests = Some(r);
        let constant = (wanted.constant as f64).min(self.capacity / terminals);
        let granted = (constant + share + free) as u64;
        self.counts.granted += granted;
        granted
    }

    /// Sends the requests of this frame. `request`: whether the port's terminal has one, `granted`:
    /// and may send in this frame. Returns whether its request is sent.
    pub fn requests(&mut self, request: bool, granted: bool) -> bool {
        let Some(mut r) = self.requests.take() else { return request };
        let n = self.queues.len();
        let mut now = r.on_way.pop_back().unwrap_or_else(|| vec![0.0; n]);
        let mut contend = Vec::new();
        for (i, volume) in now.iter_mut().enumerate() {
            *volume = (self.queues[i] - r.owed[i] - r.volume_on_way[i]).max(0.0);
            if *volume > 0.0 && self.carrier.request_slots > 0 && r.granted[i] < 1.0 {
                contend.push(i);
            }
        }
        if request && self.carrier.request_slots > 0 && !granted {
            contend.push(n);
        }
        contend.retain(|&i| {
            let may = r.again[i] <= self.counts.frames;
            if let (false, Some(volume)) = (may, now.get_mut(i)) {
                *volume = 0.0;
            }
            may
        });
        let sends = request && (self.carrier.request_slots == 0 || granted || contend.contains(&n));
        let lost = self.contention(&contend);
        for &i in &lost {
            let spread = (self.uniform() * BACKOFF) as u64;
            r.again[i] = self.counts.frames + r.on_way.len() as u64 + 2 + spread;
            if let Some(volume) = now.get_mut(i) {
                *volume = 0.0;
            }
        }
        for (sum, volume) in r.volume_on_way.iter_mut().zip(&now) {
            *sum += volume;
        }
        r.on_way.push_back(now);
        self.requests = Some(r);
        sends && !lost.contains(&n)
    }

    /// Terminals with a request that is lost to another one in the same slot.
    fn contention(&mut self, terminals: &[usize]) -> Vec<usize> {
        let slots = self.carrier.request_slots;
        let chosen: Vec<u32> = terminals.iter().map(|_| (self.uniform() * f64::from(slots)) as u32).collect();
        let collides = |slot: &u32| chosen.iter().filter(|s| *s == slot).count() > 1;
        terminals.iter().zip(&chosen).filter(|(_, slot)| collides(slot)).map(|(i, _)| *i).collect()
    }

    /// Replaces the demands of neighbours by their shares of `capacity`. Returns the share of the
    /// port, which demands `own`, and the remainder.
    fn divide(&mut self, capacity: f64, own: f64) -> (f64, f64) {
        let all = self.demands.iter().sum::<f64>() + own;
        if all <= capacity {
            return (own, capacity - all);
        }
        match self.carrier.sharing {
            Sharing::RoundRobin => {
                self.demands.push(own);
                let level = self.level(capacity, 0.0);
                self.demands.pop();
                self.demands.iter_mut().for_each(|d| *d = d.min(level));
                (own.min(level), 0.0)
            }
            Sharing::Proportional => {
                let terminals = self.demands.len() as f64 + 1.0;
                let floor = self.floor.min(capacity / terminals);
                let first: f64 = self.demands.iter().map(|d| d.min(floor)).sum::<f64>() + own.min(floor);
                let part = (capacity - first) / (all - first).max(f64::MIN_POSITIVE);
                let share = |d: f64| d.min(floor) + (d - d.min(floor)) * part.min(1.0);
                self.demands.iter_mut().for_each(|d| *d = share(*d));
                (share(own), 0.0)
            }
        }
    }

    /// Level up to which demands are met, with `more` unlimited ones in addition.
    fn level(&mut self, capacity: f64, more: f64) -> f64 {
        self.sorted.clear();
        self.sorted.extend(self.demands.iter().copied().filter(|d| *d > 0.0));
        self.sorted.sort_unstable_by(f64::total_cmp);
        let (mut left, mut n) = (capacity, self.sorted.len() as f64 + more);
        for demand in &self.sorted {
            if demand * n >= left {
                return left / n;
            }
            left -= demand;
            n -= 1.0;
        }
        if more > 0.0 {
            left / more
        } else {
            f64::INFINITY
        }
    }

    /// Adds what has arrived since the start of the frame before.
    fn arrive(&mut self, begin: Nanos) {
        if begin == self.at {
            return;
        }
        let most = self.carrier.neighbours.queue as f64;
        let time = (begin - self.at).0 as f64;
        for (queue, source) in self.queues.iter_mut().zip(&mut self.sources) {
            self.counts.waiting_ns += *queue * time;
            let came = *queue + source.arrivals(&self.law, self.at, begin);
            *queue = came.min(most);
            self.counts.lost += came - *queue;
        }
        self.at = begin;
        self.counts.frames += 1;
    }

    fn uniform(&mut self) -> f64 {
        self.draws += 1;
        unit(mix(self.key ^ mix(self.draws)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_timeline::Neighbours;
    use proptest::prelude::*;

    const FRAME: Nanos = Nanos::from_millis(10);
    const CARRIER: Carrier = Carrier {
        rate: BitRate::from_mbit(80), // 100 kB per frame
        frame: FRAME,
        sharing: Sharing::RoundRobin,
        floor: BitRate(0),
        request_slots: 0,
        neighbours: Neighbours {
            count: 4,
            load: BitRate(0),
            peak: BitRate::from_mbit(40),
            burst: 10_000,
            burst_max: 10_000_000,
            burst_shape: 1.5,
            queue: 1_000_000,
        },
    };

    fn dama(cra: u64, fca: u64) -> Dama {
        let delay = Nanos::from_millis(50);
        Dama { frame: FRAME, delay, cra: BitRate(cra), rbdc: BitRate(0), vbdc: None, fca: BitRate(fca) }
    }

    fn idle(sharing: Sharing, dama: Option<Dama>, slots: u32) -> Beam {
        let carrier = Carrier { sharing, request_slots: slots, floor: BitRate(800_000), ..CARRIER };
        Beam::new(&carrier, dama.as_ref(), 1)
    }

    #[test]
    fn a_carrier_of_its_own_gives_the_port_all_that_it_can_send() {
        let mut beam = idle(Sharing::RoundRobin, None, 0);
        assert_eq!(beam.turn(Nanos::ZERO, 0, 70_000), 70_000);
        assert_eq!(beam.turn(FRAME, 70_000, 200_000), 100_000);
    }

    #[test]
    fn turns_are_equal_and_what_one_leaves_goes_to_the_others() {
        let mut beam = idle(Sharing::RoundRobin, None, 0);
        beam.queues = vec![5_000.0, 500_000.0, 500_000.0, 0.0];
        // 95 kB among three.
        assert_eq!(beam.turn(Nanos::ZERO, 0, 200_000), 31_666);
        // The port sends nothing: 47.5 kB each.
        assert_eq!(beam.turn(FRAME, 0, 200_000), 33_333);
        assert_eq!(beam.queues, [0.0, 452_500.0, 452_500.0, 0.0]);
        // The port sends its turn.
        beam.turn(FRAME * 2, 33_333, 200_000);
        assert!((beam.queues[1] - 419_166.5).abs() < 1e-6, "{:?}", beam.queues);
        assert_eq!(beam.counts.carried, 5_000.0 + 95_000.0 + 66_667.0);
    }

    #[test]
    fn grants_are_in_proportion_to_requests_beyond_the_floor() {
        // Floor: 1000 bytes.
        let mut beam = idle(Sharing::Proportional, Some(dama(0, 0)), 0);
        beam.demands = vec![1_000.0, 101_000.0, 0.0, 0.0];
        let (own, left) = beam.divide(103_000.0 + 50_000.0 - 101_000.0, 51_000.0);
        // 3 kB first; 49 kB to demands of 100 and 50 kB.
        assert!((own - (1_000.0 + 49_000.0 / 3.0)).abs() < 1e-6 && left == 0.0, "{own}");
        assert!((beam.demands[1] - (1_000.0 + 98_000.0 / 3.0)).abs() < 1e-6);
        assert_eq!(beam.demands[0], 1_000.0);
        beam.demands = vec![1_000.0, 2_000.0, 0.0, 0.0];
        assert_eq!(beam.divide(10_000.0, 3_000.0), (3_000.0, 4_000.0), "enough for all");
    }

    /// Frames until a neighbour's bytes have left.
    fn frames_of(mut beam: Beam, bytes: f64) -> u64 {
        beam.queues[0] = bytes;
        for k in 0..1_000 {
            beam.allow(FRAME * k, Wanted { constant: 0, requested: 0 });
            beam.requests(false, false);
            if beam.waiting() < 1e-9 {
                return k;
            }
        }
        panic!("{} bytes wait for ever", beam.waiting());
    }

    #[test]
    fn neighbours_wait_for_grants_unless_capacity_is_constant_or_free() {
        let rule = Sharing::Proportional;
        assert_eq!(frames_of(idle(rule, Some(dama(0, 0)), 0), 1_000.0), 5);
        assert_eq!(frames_of(idle(rule, Some(dama(800_000, 0)), 0), 1_000.0), 0);
        assert_eq!(frames_of(idle(rule, Some(dama(0, 800_000)), 0), 1_000.0), 0);
        assert_eq!(frames_of(idle(rule, Some(dama(0, 0)), 0), 150_000.0), 7, "50 kB per frame");
        assert_eq!(frames_of(idle(rule, Some(dama(0, 0)), 1), 1_000.0), 5, "alone in its slot");
    }

    #[test]
    fn requests_in_one_slot_are_lost_and_repeated() {
        let mut beam = idle(Sharing::Proportional, Some(dama(0, 0)), 1);
        beam.queues[..2].fill(1_000.0);
        let nothing = Wanted { constant: 0, requested: 0 };
        beam.allow(Nanos::ZERO, nothing);
        assert!(!beam.requests(true, false), "three in one slot");
        let mut sent_at = None;
        for k in 1..200 {
            beam.allow(FRAME * k, nothing);
            if beam.requests(sent_at.is_none(), false) {
                sent_at = Some(k);
            }
        }
        assert!(sent_at.is_some_and(|k| k >= 6), "not before the loss is known: {sent_at:?}");
        assert_eq!(beam.waiting(), 0.0);
        assert!(beam.requests(true, true), "a terminal with a grant needs no slot");
    }

    proptest! {
        #[test]
        fn shares_fit_the_carrier_and_every_byte_is_counted(
            load in 1u64..79, count in 3u32..40, shape in 1.1f64..3.0, proportional: bool, slots in 0u32..4,
            sends in prop::collection::vec(0u64..60_000, 1..300), returns: bool, key: u64,
        ) {
            let neighbours = Neighbours {
                count, load: BitRate::from_mbit(load), burst_shape: shape, queue: 200_000, ..CARRIER.neighbours
            };
            let sharing = if proportional { Sharing::Proportional } else { Sharing::RoundRobin };
            let carrier = Carrier { neighbours, sharing, request_slots: slots, ..CARRIER };
            let demand = dama(200_000, 400_000);
            let mut beam = Beam::new(&carrier, returns.then_some(&demand), key);
            let mut mirror = beam.sources.clone();
            let (mut sent, mut came, mut own) = (0, 0.0, 0u64);
            for (k, wish) in (0u64..).zip(sends) {
                let (begin, before) = (FRAME * k, beam.counts.carried);
                if returns {
                    let granted = beam.allow(begin, Wanted { constant: 250, requested: wish });
                    prop_assert!(granted <= 250 + wish + 500);
                    prop_assert!(granted as f64 + beam.counts.carried - before <= 100_000.0 + 1e-6);
                    beam.requests(wish > 0, granted > 0);
                } else {
                    let may = beam.turn(begin, sent, 180_000);
                    prop_assert!(sent as f64 + beam.counts.carried - before <= 100_000.0 + 1e-6);
                    sent = wish.min(may);
                }
                own += 1;
                let from = FRAME * k.saturating_sub(1);
                came += mirror.iter_mut().map(|s| s.arrivals(&beam.law, from, begin)).sum::<f64>();
                let there = beam.counts.carried + beam.counts.lost + beam.waiting();
                prop_assert!((came - there).abs() < 1e-3, "{} came, {} are known after {}", came, there, own);
                prop_assert!(beam.queues.iter().all(|q| (0.0..=200_000.0).contains(q)));
            }
        }
    }
}
