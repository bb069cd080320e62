// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pacing by departure times (EDT).

use perigee_units::{BitRate, Nanos};

/// Maximum time that a unit may take, so that a pacer close to a standstill does not overflow the
/// clock.
const LONGEST: Nanos = Nanos::from_secs(3600);

/// Pacing by departure times: the next unit departs no earlier than `next`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacing {
    /// Whether departures are paced at all.
    pub on: bool,
    /// Rate; also computed for unpaced senders with burst deferral, which size bursts by it.
    pub rate: BitRate,
    pub next: Nanos,
    /// Packets sent so far.
    pub data_sent: u64,
    /// Data is held back only by the departure time.
    pub holds_back: bool,
}

impl Pacing {
    pub fn new(on: bool) -> Self {
        Pacing { on, rate: BitRate(0), next: Nanos::ZERO, data_sent: 0, holds_back: false }
    }

    /// Departure of a packet that may be sent at `now`.
    pub fn departure(&self, now: Nanos) -> Nanos {
        if self.on {
            self.next.max(now)
        } else {
            now
        }
    }

    /// Time until which data is held back.
    #[inline]
    pub fn timer(&self) -> Nanos {
        if self.holds_back {
            self.next
        } else {
            Nanos::MAX
        }
    }

    /// Sets the departure of the next unit: the time at which this one, of `bytes`, has been sent
    /// at the pacing rate. Credit for idle time is limited to half of that duration. The first
    /// `unpaced` packets take no time.
    pub fn charge(&mut self, now: Nanos, bytes: u64, credits_idle: bool, unpaced: u32) {
        if !self.on {
            return;
        }
        let departed = self.next.max(now);
        let idle = departed - self.next;
        let credit = if credits_idle { idle } else { Nanos::ZERO };
        self.next = departed;
        if self.data_sent <= u64::from(unpaced) || self.rate.0 == 0 {
            return;
        }
        let length = self.rate.time_for(bytes).min(LONGEST);
        self.next += length - credit.min(length / 2);
    }
}
