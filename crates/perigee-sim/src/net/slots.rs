// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transmitter that sends only in granted slots: at the start of each frame (frames have equal
//! length) [`Allocator`] computes the number of bytes that the terminal may send, or on a forward
//! carrier, which needs no requests, [`Beam`]. The slots of a
//! frame are one contiguous burst at the start of the frame, at the port's rate. A packet that
//! arrives after its slot has passed waits for another one; a packet that does not fit continues in
//! the next slots.
//!
//! The head of the queue, which waits for slots, is stored in place of the packet in service and
//! counts as waiting. All instants are exact: bits are counted in units of 10^-9, so that rate
//! times nanoseconds is an integer number of them.

use super::beam::Beam;
use super::dama::Allocator;
use super::PortState;
use crate::packet::NONE;
use perigee_timeline::{Carrier, Dama, PortSpec};
use perigee_units::{BitRate, Nanos, NS_PER_S};

/// Units per byte.
const BYTE: u128 = 8 * NS_PER_S as u128;

/// Frames, slots, and the packet being transmitted in them.
#[derive(Clone, Debug)]
pub struct Slots {
    frame: Nanos,
    /// Requests and grants; `None` on a forward carrier.
    allocator: Option<Allocator>,
    /// Carrier shared with other terminals.
    beam: Option<Box<Beam>>,
    /// Start of the current frame.
    begin: Nanos,
    /// Bytes that have arrived since the start of the frame.
    came: u64,
    /// Instant to which the fields below refer.
    at: Nanos,
    /// Remaining capacity of the slots of this frame.
    open: u128,
    /// Remainder of the packet at the head of the queue; 0 = none.
    left: u128,
    /// Capacity used in this frame.
    used: u128,
    /// The head's link holds it: slots pass unused.
    held: bool,
    /// The next event is the end of the packet; otherwise the start of a frame.
    finishes: bool,
}

impl Slots {
    /// Slots of a port, if it has any; `key`: of the draws of other terminals.
    pub fn of(spec: &PortSpec, key: u64) -> Option<Self> {
        match (spec.dama.as_deref(), spec.carrier.as_deref()) {
            (None, None) => None,
            (dama, carrier) => Some(Slots::new(dama, carrier, spec.rate, key)),
        }
    }

    /// State at time zero, when the first frame starts. With neither demand assignment nor a shared
    /// carrier nothing may ever be sent.
    fn new(dama: Option<&Dama>, carrier: Option<&Carrier>, rate: BitRate, key: u64) -> Self {
        let frame = dama.map(|d| d.frame).or(carrier.map(|c| c.frame)).unwrap_or(Nanos::MAX);
        let mut slots = Slots {
            frame,
            allocator: dama.map(Allocator::new),
            beam: carrier.map(|c| Box::new(Beam::new(c, dama, key))),
            begin: Nanos::ZERO,
            came: 0,
            at: Nanos::ZERO,
            open: 0,
            left: 0,
            used: 0,
            held: false,
            finishes: false,
        };
        slots.open_frame(rate, 0);
        slots
    }

    /// Carrier shared with other terminals.
    pub fn beam(&self) -> Option<&Beam> {
        self.beam.as_deref()
    }

    /// Start of the next frame.
    fn end(&self) -> Nanos {
        self.begin.saturating_add(self.frame)
    }

    /// Counts the arrival of a packet, whether or not there is room for it.
    pub fn note_arrival(&mut self, bytes: u64) {
        self.came = self.came.saturating_add(bytes);
    }

    /// Starts frames until `t`, inclusive, while no packet is at the head; `waiting` bytes are held
    /// by their links.
    pub fn run(&mut self, t: Nanos, rate: BitRate, waiting: u64) {
        while self.end() <= t {
            if waiting == 0 && self.came == 0 && self.is_at_rest() {
                // The frames in between would all be alike.
                let further = (t - self.begin).0 / self.frame.0 - 1;
                self.begin += self.frame * further;
            }
            self.begin_frame(rate, waiting);
        }
        self.pass(t, rate);
    }

    /// Starts a packet of `bytes` that reaches the head at `at`, with `waiting` bytes after it.
    /// Returns the time of the next event.
    pub fn start(&mut self, at: Nanos, bytes: u64, rate: BitRate, waiting: u64) -> Nanos {
        self.run(at, rate, waiting.saturating_add(bytes));
        (self.left, self.held) = (u128::from(bytes) * BYTE, false);
        self.next(rate)
    }

    /// Handles the next event: true if the packet has left. Otherwise a frame starts, and
    /// [`Slots::next`] computes the event after it.
    pub fn finish(&mut self, rate: BitRate, waiting: u64) -> bool {
        if self.finishes {
            self.open -= self.left;
            self.used += self.left;
            self.at = self.at.saturating_add(self.time_for_head(rate));
            self.left = 0;
            return true;
        }
        self.pass(self.end(), rate);
        let head = (self.left.div_ceil(BYTE)) as u64;
        self.begin_frame(rate, waiting.saturating_add(head));
        false
    }

    /// Departure of the head if it leaves in this frame; otherwise the start of the next frame.
    pub fn next(&mut self, rate: BitRate) -> Nanos {
        let end = self.end();
        self.finishes = false;
        if self.held || rate.0 == 0 || self.left > self.open {
            return end;
        }
        let leaves = self.at.saturating_add(self.time_for_head(rate));
        self.finishes = leaves <= end;
        leaves.min(end)
    }

    /// Advances time to `now`, before a change of the rate or of a link.
    pub fn pass(&mut self, now: Nanos, rate: BitRate) {
        let could = u128::from(now.saturating_sub(self.at).0) * u128::from(rate.0);
        let sent = could.min(self.open);
        if !self.held {
            let of_head = self.left.min(sent);
            self.left -= of_head;
            self.used += of_head;
        }
        self.open -= sent;
        self.at = self.at.max(now);
    }

    /// Holds or releases the head. Returns the time of the next event.
    pub fn hold(&mut self, held: bool, rate: BitRate) -> Nanos {
        self.held = held;
        self.next(rate)
    }

    /// Drops the head.
    pub fn abandon(&mut self) {
        self.left = 0;
    }

    fn time_for_head(&self, rate: BitRate) -> Nanos {
        let time = self.left.div_ceil(u128::from(rate.0.max(1)));
        Nanos(time.min(u128::from(u64::MAX / 2)) as u64)
    }

    fn begin_frame(&mut self, rate: BitRate, waiting: u64) {
        self.begin = self.end();
        self.at = self.begin;
        self.open_frame(rate, waiting);
    }

    /// Opens the slots of the frame that has begun.
    fn open_frame(&mut self, rate: BitRate, waiting: u64) {
        let came = std::mem::take(&mut self.came);
        let used = (std::mem::take(&mut self.used) / BYTE) as u64;
        let capacity = capacity(rate, self.frame);
        let granted = match (&mut self.allocator, &mut self.beam) {
            (Some(allocator), None) => allocator.frame(capacity, waiting, came),
            (Some(allocator), Some(beam)) => {
                allocator.shared_frame((beam, self.begin), capacity, waiting, came)
            }
            (None, Some(beam)) => beam.turn(self.begin, used, capacity),
            (None, None) => 0,
        };
        self.open = u128::from(granted) * BYTE;
    }

    /// Whether further frames without arrivals would all be alike.
    fn is_at_rest(&self) -> bool {
        self.beam.is_none() && self.allocator.as_ref().is_none_or(Allocator::is_at_rest)
    }
}

impl PortState {
    /// Whether the head of the queue, which waits for tokens or slots, is stored in place of the
    /// packet in service.
    pub(super) fn head_waits(&self) -> bool {
        self.bucket.is_some() || self.slots.is_some()
    }

    /// True if the instant `done` is the start of a frame of slots: the head continues to wait.
    #[inline]
    pub(super) fn begins_frame(&mut self) -> bool {
        let Some(slots) = &mut self.slots else { return false };
        if slots.finish(self.rate, self.bytes) {
            return false;
        }
        self.done = slots.next(self.rate);
        true
    }

    /// Lets slots pass until `t` while nothing is in service.
    #[inline]
    pub(super) fn pass_slots(&mut self, t: Nanos) {
        if let (Some(slots), NONE) = (&mut self.slots, self.serving) {
            slots.run(t, self.rate, self.bytes);
        }
    }
}

/// Bytes that a frame can carry, including a partial byte.
fn capacity(rate: BitRate, frame: Nanos) -> u64 {
    (u128::from(rate.0) * u128::from(frame.0)).div_ceil(BYTE).min(u128::from(u64::MAX)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const RATE: BitRate = BitRate::from_mbit(8); // a byte takes a microsecond
    const FRAME: Nanos = Nanos::from_millis(10);

    fn dama(cra: u64) -> Dama {
        let delay = Nanos::from_millis(100);
        Dama { frame: FRAME, delay, cra: BitRate(cra), rbdc: BitRate(0), vbdc: None, fca: BitRate(0) }
    }

    fn granted(cra: u64) -> Slots {
        Slots::new(Some(&dama(cra)), None, RATE, 0)
    }

    /// Sends packets back to back, all of them present at `from`; returns their departures.
    fn send(slots: &mut Slots, from: Nanos, rate: BitRate, sizes: &[u64]) -> Vec<Nanos> {
        let mut at = from;
        let mut behind: u64 = sizes.iter().sum();
        slots.run(from, rate, 0);
        slots.note_arrival(behind);
        let mut left = Vec::new();
        for size in sizes {
            behind -= size;
            let mut next = slots.start(at, *size, rate, behind);
            while !slots.finish(rate, behind) {
                next = slots.next(rate);
            }
            at = next;
            left.push(at);
        }
        left
    }

    fn us(t: &[Nanos]) -> Vec<f64> {
        t.iter().map(|t| t.0 as f64 / 1e3).collect()
    }

    #[test]
    fn a_constant_rate_as_large_as_the_ports_makes_it_a_plain_transmitter() {
        let mut slots = granted(8_000_000);
        let left = send(&mut slots, Nanos::from_micros(3_500), RATE, &[1_500, 40, 9_000]);
        assert_eq!(us(&left), [5_000.0, 5_040.0, 14_040.0]);
    }

    #[test]
    fn a_packet_waits_for_the_next_frame_of_a_small_constant_rate() {
        // 1000 bytes in each frame, in its first millisecond.
        let mut slots = granted(800_000);
        let left = send(&mut slots, Nanos::from_micros(500), RATE, &[300, 500]);
        assert_eq!(
            us(&left),
            [800.0, 10_300.0],
            "the second has 200 bytes in this frame and 300 in the next"
        );
        assert_eq!(
            us(&send(&mut slots, Nanos::from_micros(31_500), RATE, &[100])),
            [40_100.0],
            "its slot has passed"
        );
    }

    #[test]
    fn without_any_it_waits_for_the_grant() {
        let mut slots = granted(0);
        // Requested at 10 ms and granted 100 ms later.
        assert_eq!(us(&send(&mut slots, Nanos::from_micros(3_000), RATE, &[1_000])), [111_000.0]);
        // A long idle time costs no more computation than a short one.
        let late = Nanos::from_secs(1_000_000_000);
        assert_eq!(send(&mut slots, late + Nanos(1), RATE, &[1_000])[0], late + Nanos::from_micros(111_000));
    }

    #[test]
    fn a_rate_that_changes_takes_the_rest_of_the_slots_with_it() {
        let mut slots = granted(1_600_000); // 2000 bytes a frame
        slots.start(Nanos::ZERO, 1_500, RATE, 0);
        slots.pass(Nanos::from_micros(500), RATE);
        assert_eq!(slots.hold(false, BitRate(0)), FRAME, "the next frame");
        slots.pass(Nanos::from_micros(2_000), BitRate(0));
        assert_eq!(
            slots.hold(false, BitRate::from_mbit(4)),
            Nanos::from_micros(4_000),
            "1000 bytes at half the rate"
        );
        assert!(slots.finish(BitRate::from_mbit(4), 0));
    }

    #[test]
    fn a_held_packet_lets_its_slots_pass() {
        let mut slots = granted(1_600_000);
        slots.start(Nanos::ZERO, 1_500, RATE, 0);
        slots.pass(Nanos::from_micros(1_000), RATE);
        assert_eq!(slots.hold(true, RATE), FRAME);
        slots.pass(Nanos::from_micros(1_800), RATE);
        assert_eq!(slots.hold(false, RATE), FRAME, "200 bytes of slots for 500 of the packet");
        assert!(!slots.finish(RATE, 0));
        assert_eq!(slots.next(RATE), Nanos::from_micros(10_300));
    }

    /// Grants of each frame, and departures of packets, for a load of (arrival, size) pairs.
    fn drive(dama: &Dama, rate: BitRate, load: &[(Nanos, u64)]) -> (Vec<u64>, Vec<(Nanos, u64)>) {
        let mut slots = Slots::new(Some(dama), None, rate, 0);
        let (mut granted, mut left) = (vec![(slots.open / BYTE) as u64], Vec::new());
        let (mut queue, mut head): (VecDeque<u64>, Option<(Nanos, u64)>) = Default::default();
        let mut coming = load.iter().copied().peekable();
        while coming.peek().is_some() || head.is_some() {
            let next = head.map_or(slots.end(), |(at, _)| at);
            let waiting = queue.iter().sum();
            if let Some((at, bytes)) = coming.next_if(|(at, _)| *at < next) {
                slots.note_arrival(bytes);
                match head {
                    None => head = Some((slots.start(at, bytes, rate, 0), bytes)),
                    Some(_) => queue.push_back(bytes),
                }
                continue;
            }
            let before = slots.begin;
            match head {
                None => slots.run(next, rate, 0),
                Some((at, bytes)) if slots.finish(rate, waiting) => {
                    left.push((at, bytes));
                    let size = queue.pop_front();
                    head = size.map(|b| (slots.start(at, b, rate, waiting - b), b));
                }
                Some((_, bytes)) => head = Some((slots.next(rate), bytes)),
            }
            if slots.begin > before {
                // A packet that leaves at the end of its frame starts the next one.
                granted.push((slots.open / BYTE) as u64);
            }
        }
        (granted, left)
    }

    proptest! {
        #[test]
        fn never_more_leaves_than_was_granted_and_all_of_it_in_order(
            rates in [0u64..6_000_000, 0u64..2_000_000, 0u64..2_000_000],
            mbit in 1u64..20,
            load in prop::collection::vec((0u64..40_000, 40u64..3_000), 1..80),
        ) {
            let [cra, rbdc, fca] = rates.map(BitRate);
            let dama = Dama { rbdc, fca, ..dama(cra.0) };
            let mut at = Nanos::ZERO;
            let load: Vec<(Nanos, u64)> = load
                .into_iter()
                .map(|(pause, size)| {
                    at += Nanos::from_micros(pause);
                    (at, size)
                })
                .collect();
            let rate = BitRate::from_mbit(mbit);
            let (granted, left) = drive(&dama, rate, &load);
            let sizes = |of: &[(Nanos, u64)]| of.iter().map(|(_, size)| *size).collect::<Vec<_>>();
            prop_assert_eq!(sizes(&left), sizes(&load));
            prop_assert!(left.iter().zip(&load).all(|((out, size), (came, _))| *out >= *came + rate.time_for(*size)));
            prop_assert!(left.windows(2).all(|w| w[1].0 >= w[0].0 + rate.time_for(w[1].1) - Nanos(1)));
            let most = capacity(rate, FRAME);
            prop_assert!(granted.iter().all(|g| *g <= most));
            let mut sent = 0u64;
            for (out, size) in left {
                sent += size;
                let frames = out.0.div_ceil(FRAME.0) as usize;
                prop_assert!(sent <= granted[..frames].iter().sum(), "until {}", out);
            }
        }
    }
}
