// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Demand assignment: requests of a terminal, frame by frame, and the grants they receive (DAMA
//! with the capacity categories of DVB-RCS2, ETSI EN 301 545-2). A state machine that is called
//! once per frame; it depends on neither time nor packets.
//!
//! At the start of frame k the terminal requests
//! * a volume V(k): the waiting bytes, less those that this frame carries and those requested but
//!   not granted yet;
//! * a rate R(k), in bytes per frame: the mean of arrivals in the latest d frames, for arrivals to
//!   come. A terminal that requests by rate alone adds 1/d of the waiting bytes, which would
//!   otherwise never be sent.
//!
//! The network controller receives both d frames later. Volumes add up until they are granted; a
//! rate holds for one frame. Of the frame's capacity C it grants, in this order, CRA, min(R(k - d),
//! RBDC), min(volume requested and not granted, VBDC), and as free capacity min(remainder, FCA).
//! Requests and grants are never lost. Other terminals exist only as the limits of the categories,
//! except on a shared carrier ([`Beam`]), which limits the grants of a frame further and may lose
//! requests.

use super::beam::{Beam, Wanted};
use perigee_timeline::Dama;
use perigee_units::Nanos;
use std::collections::VecDeque;

/// Requests in flight, and the controller's account of ungranted volume.
#[derive(Clone, Debug)]
pub struct Allocator {
    cra: u64,
    rbdc: u64,
    vbdc: u64,
    fca: u64,
    /// Requests that have not reached the controller, oldest first, one per frame of the delay.
    on_way: VecDeque<Request>,
    /// Sums of these.
    volume_on_way: u64,
    rate_on_way: u64,
    /// Requested volume that the controller has received and not granted yet.
    owed: u64,
    /// Arrivals in each of the latest frames, and their sum.
    came: VecDeque<u64>,
    came_in_all: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Request {
    volume: u64,
    rate: u64,
}

impl Allocator {
    /// Idle state: no bytes waiting, no requests.
    pub fn new(dama: &Dama) -> Self {
        let frames = dama.frames() as usize;
        Allocator {
            cra: dama.per_frame(dama.cra),
            rbdc: dama.per_frame(dama.rbdc),
            vbdc: dama.vbdc.map_or(u64::MAX, |rate| dama.per_frame(rate)),
            fca: dama.per_frame(dama.fca),
            on_way: VecDeque::from(vec![Request::default(); frames]),
            volume_on_way: 0,
            rate_on_way: 0,
            owed: 0,
            came: VecDeque::from(vec![0; frames]),
            came_in_all: 0,
        }
    }

    /// Starts a frame that could carry `capacity` bytes: `waiting` bytes are queued, `came` of them
    /// (or of those that have left already) since the frame before. Returns the number of bytes the
    /// terminal may send in it.
    pub fn frame(&mut self, capacity: u64, waiting: u64, came: u64) -> u64 {
        let rate = self.receive();
        let granted = self.grant(capacity, rate);
        self.note_arrivals(came);
        self.send(self.request(waiting.saturating_sub(granted)));
        granted
    }

    /// The same for a frame, starting at `begin`, of a carrier shared with other terminals.
    pub fn shared_frame(
        &mut self,
        (beam, begin): (&mut Beam, Nanos),
        capacity: u64,
        waiting: u64,
        came: u64,
    ) -> u64 {
        let rate = self.receive();
        let constant = self.cra.min(capacity);
        let volume = self.owed.min(self.vbdc);
        let requested = rate.saturating_add(volume).min(capacity - constant);
        let allowed = beam.allow(begin, Wanted { constant, requested });
        let granted = self.grant(capacity.min(allowed), rate);
        self.note_arrivals(came);
        let request = self.request(waiting.saturating_sub(granted));
        let sent = beam.requests(request.volume > 0 || request.rate > 0, granted > 0);
        self.send(if sent { request } else { Request::default() });
        granted
    }

    /// Receives the request that reaches the controller. Returns its rate.
    fn receive(&mut self) -> u64 {
        let request = self.on_way.pop_front().unwrap_or_default();
        self.volume_on_way -= request.volume;
        self.rate_on_way -= request.rate;
        self.owed = self.owed.saturating_add(request.volume);
        request.rate
    }

    fn note_arrivals(&mut self, came: u64) {
        self.came_in_all = self.came_in_all.saturating_add(came) - self.came.pop_front().unwrap_or(0);
        self.came.push_back(came);
    }

    /// Grants of the controller in this frame.
    fn grant(&mut self, capacity: u64, rate: u64) -> u64 {
        let mut left = capacity;
        let mut give = |bytes: u64| {
            let given = bytes.min(left);
            left -= given;
            given
        };
        give(self.cra);
        give(rate);
        self.owed -= give(self.owed.min(self.vbdc));
        give(self.fca);
        capacity - left
    }

    /// The terminal's request for the data that it cannot send in this frame.
    fn request(&self, waiting: u64) -> Request {
        let frames = self.came.len() as u64;
        let expected = self.owed.saturating_add(self.volume_on_way);
        let (volume, late) = match self.vbdc {
            0 => (0, waiting),
            _ => (waiting.saturating_sub(expected), 0),
        };
        let rate = self.came_in_all.saturating_add(late).div_ceil(frames).min(self.rbdc);
        Request { volume, rate }
    }

    fn send(&mut self, request: Request) {
        self.volume_on_way += request.volume;
        self.rate_on_way += request.rate;
        self.on_way.push_back(request);
    }

    /// Whether the state is idle: without arrivals, further frames would not change it.
    pub fn is_at_rest(&self) -> bool {
        self.owed == 0 && self.volume_on_way == 0 && self.rate_on_way == 0 && self.came_in_all == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_units::{BitRate, Nanos};
    use proptest::prelude::*;

    const FRAMES: u64 = 23;

    /// Frames of 26.5 ms, 600 ms from request to grant, no capacity without a request.
    fn dama() -> Dama {
        let (frame, delay) = (Nanos::from_micros(26_500), Nanos::from_millis(600));
        Dama { frame, delay, cra: BitRate(0), rbdc: BitRate(0), vbdc: None, fca: BitRate(0) }
    }

    /// Number of frames until all waiting bytes are granted, if they were there before the first
    /// and nothing arrives later.
    fn frames_until_sent(dama: &Dama, capacity: u64, bytes: u64) -> u64 {
        let (mut a, mut waiting, mut came) = (Allocator::new(dama), bytes, bytes);
        for k in 0..10_000 {
            waiting = waiting.saturating_sub(a.frame(capacity, waiting, came));
            came = 0;
            if waiting == 0 {
                return k;
            }
        }
        panic!("{waiting} bytes wait for ever");
    }

    #[test]
    fn a_lone_packet_waits_for_its_grant_unless_some_capacity_is_constant_or_free() {
        assert_eq!(frames_until_sent(&dama(), 50_000, 1_000), FRAMES);
        let rate = BitRate(400_000); // 1325 bytes a frame
        assert_eq!(frames_until_sent(&Dama { cra: rate, ..dama() }, 50_000, 1_000), 0);
        assert_eq!(frames_until_sent(&Dama { fca: rate, ..dama() }, 50_000, 1_000), 0);
        assert_eq!(frames_until_sent(&Dama { rbdc: rate, ..dama() }, 50_000, 1_000), FRAMES, "all by volume");
        let by_rate = Dama { rbdc: rate, vbdc: Some(BitRate(0)), ..dama() };
        assert!(frames_until_sent(&by_rate, 50_000, 1_000) > FRAMES, "a share of it per frame");
    }

    #[test]
    fn a_long_queue_leaves_at_the_capacity_of_the_frames_once_it_is_granted() {
        assert_eq!(frames_until_sent(&dama(), 1_000, 10_000), FRAMES + 9);
        assert_eq!(
            frames_until_sent(&Dama { vbdc: Some(BitRate(150_944)), ..dama() }, 1_000, 5_000),
            FRAMES + 9,
            "500 a frame"
        );
    }

    #[test]
    fn what_comes_evenly_is_served_in_the_next_frame_by_rate_and_a_delay_later_by_volume() {
        let standing = |dama: &Dama| {
            let (mut a, mut waiting) = (Allocator::new(dama), 0u64);
            for _ in 0..200 {
                waiting = (waiting + 400).saturating_sub(a.frame(5_000, waiting + 400, 400));
            }
            waiting
        };
        assert_eq!(standing(&dama()), 400 * FRAMES);
        assert_eq!(standing(&Dama { rbdc: BitRate(1_000_000), ..dama() }), 0);
    }

    #[test]
    fn what_is_sent_without_being_asked_for_leaves_grants_that_nobody_needs() {
        let mut a = Allocator::new(&Dama { cra: BitRate(100_000), ..dama() }); // 331 bytes a frame
        assert_eq!(a.frame(5_000, 1_000, 1_000), 331);
        let rest: Vec<u64> = (1..30).map(|k| a.frame(5_000, [669, 338, 7, 0][3.min(k - 1)], 0)).collect();
        assert!(rest[..22].iter().all(|&g| g == 331), "{rest:?}");
        assert_eq!(rest[22..], [1_000, 331, 331, 331, 331, 331, 331], "669 asked for once");
        assert!(a.is_at_rest());
    }

    #[test]
    fn a_frame_without_capacity_grants_nothing_and_forgets_no_volume() {
        let mut a = Allocator::new(&dama());
        a.frame(0, 700, 700);
        for _ in 0..100 {
            assert_eq!(a.frame(0, 700, 0), 0);
        }
        assert_eq!((a.frame(5_000, 700, 0), a.frame(5_000, 0, 0)), (700, 0));
    }

    proptest! {
        #[test]
        fn no_frame_gets_more_than_its_capacity_and_everything_asked_for_is_granted_once(
            rates in [0u64..3_000_000, 0u64..3_000_000, 0u64..3_000_000],
            vbdc in prop_oneof![Just(None), (100_000u64..3_000_000).prop_map(Some)],
            delay_ms in 1u64..700,
            load in prop::collection::vec((0u64..20_000, 0u64..30_000), 1..300),
        ) {
            let [cra, rbdc, fca] = rates.map(BitRate);
            let dama = Dama { delay: Nanos::from_millis(delay_ms), cra, rbdc, vbdc: vbdc.map(BitRate), fca, ..dama() };
            let mut a = Allocator::new(&dama);
            let (mut waiting, mut sent, mut all, mut granted) = (0u64, 0, 0, 0);
            let frames = load.len() as u64;
            for (came, capacity) in load {
                (waiting, all) = (waiting + came, all + came);
                let g = a.frame(capacity, waiting, came);
                prop_assert!(g <= capacity);
                granted += g;
                sent += g.min(waiting);
                waiting -= g.min(waiting);
            }
            prop_assert_eq!(sent + waiting, all);
            // Every waiting byte is covered by a request, and requests do not exceed arrivals.
            prop_assert!(a.owed + a.volume_on_way >= waiting);
            let unasked = (dama.per_frame(cra) + dama.per_frame(fca) + dama.per_frame(rbdc)) * frames;
            prop_assert!(granted <= all + unasked);
            // The port becomes idle, with no bytes left.
            for _ in 0..200_000 {
                waiting -= a.frame(30_000, waiting, 0).min(waiting);
                if a.is_at_rest() {
                    break;
                }
            }
            prop_assert!(a.is_at_rest() && waiting == 0);
        }
    }
}
