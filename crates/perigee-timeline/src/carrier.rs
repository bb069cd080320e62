// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Carrier of a satellite that the terminal of a port shares with others.

use perigee_units::{BitRate, Nanos};
use serde::{Deserialize, Serialize};

/// Carrier shared by a port and by other terminals, frame by frame. The port's rate is the maximum
/// of its own terminal. (The other terminals are not nodes of the timeline.)
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Carrier {
    /// Rate of the carrier.
    pub rate: BitRate,
    /// Length of a frame, in which each terminal gets a share. At a port with demand assignment that
    /// of its frames.
    pub frame: Nanos,
    /// Division of a frame among the terminals.
    pub sharing: Sharing,
    /// Rate up to which each terminal's demand is met before the rest is divided.
    pub floor: BitRate,
    /// Slots of each frame in which terminals without a grant contend to send requests; 0 = each
    /// terminal has a slot of its own.
    #[serde(default)]
    pub request_slots: u32,
    /// The other terminals.
    pub neighbours: Neighbours,
}

/// Rule by which a frame is divided among terminals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Equal turns: no terminal gets more than one with unmet demand (max-min).
    RoundRobin,
    /// In proportion to the demands.
    Proportional,
}

/// Terminals with one queue each, fed by independent on/off sources: in a burst data arrive at the
/// peak rate, between bursts nothing does. Idle times are exponential, sizes of bursts Pareto
/// distributed up to a maximum. The sources do not respond to congestion.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Neighbours {
    /// Number of terminals.
    pub count: u32,
    /// Mean rate of all their sources.
    pub load: BitRate,
    /// Rate of a source within a burst, and maximum rate of its terminal.
    pub peak: BitRate,
    /// Mean bytes of a burst.
    pub burst: u64,
    /// Maximum bytes of a burst.
    pub burst_max: u64,
    /// Exponent of the Pareto distribution.
    pub burst_shape: f64,
    /// Bytes that a terminal's queue holds.
    pub queue: u64,
}

impl Neighbours {
    /// Maximum number.
    pub const COUNT: u32 = 10_000;
    /// Allowed exponents.
    pub const SHAPE: [f64; 2] = [1.05, 10.0];

    /// Mean rate of one source, in bit/s.
    pub fn load_of_each(&self) -> f64 {
        self.load.0 as f64 / f64::from(self.count.max(1))
    }
}

impl Carrier {
    /// Allowed range of the frame length.
    pub const FRAME: [Nanos; 2] = [Nanos::from_millis(1), Nanos::from_secs(10)];

    /// # Errors
    /// A message, if a value is out of range or the sources cannot have their load.
    pub fn check(&self) -> Result<(), String> {
        let n = &self.neighbours;
        if !(Self::FRAME[0]..=Self::FRAME[1]).contains(&self.frame) {
            return Err(format!("frames of {}: {} to {}", self.frame, Self::FRAME[0], Self::FRAME[1]));
        }
        if self.rate.bytes_in(self.frame) == 0 {
            return Err(format!("a rate of {} is less than one byte per frame of {}", self.rate, self.frame));
        }
        if n.count > Neighbours::COUNT {
            return Err(format!("{} neighbours: at most {}", n.count, Neighbours::COUNT));
        }
        if n.count == 0 || n.load.0 == 0 {
            return Ok(());
        }
        if !(Neighbours::SHAPE[0]..=Neighbours::SHAPE[1]).contains(&n.burst_shape) {
            let [least, most] = Neighbours::SHAPE;
            return Err(format!("bursts of shape {}: {least} to {most}", n.burst_shape));
        }
        if n.burst == 0 || n.burst >= n.burst_max {
            return Err(format!(
                "bursts of {} B in the mean, at most {} B: the mean is from 1 B to below the maximum",
                n.burst, n.burst_max
            ));
        }
        if n.load_of_each() >= n.peak.0 as f64 {
            let each = BitRate(n.load_of_each() as u64);
            return Err(format!("a load of {each} for each neighbour; a source has {} at most", n.peak));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Carrier = Carrier {
        rate: BitRate::from_mbit(100),
        frame: Nanos::from_millis(10),
        sharing: Sharing::RoundRobin,
        floor: BitRate(0),
        request_slots: 0,
        neighbours: Neighbours {
            count: 10,
            load: BitRate::from_mbit(50),
            peak: BitRate::from_mbit(20),
            burst: 1_000_000,
            burst_max: 100_000_000,
            burst_shape: 1.5,
            queue: 1_000_000,
        },
    };

    #[test]
    fn values_out_of_range_and_impossible_loads_are_refused() {
        assert_eq!(USUAL.check(), Ok(()));
        let of = |n: Neighbours| Carrier { neighbours: n, ..USUAL }.check().err().unwrap_or_default();
        let n = USUAL.neighbours;
        assert!(
            of(Neighbours { count: 2, ..n }).contains("load of 25 Mbit/s"),
            "{}",
            of(Neighbours { count: 2, ..n })
        );
        assert!(of(Neighbours { count: 0, burst: 0, ..n }).is_empty(), "no source sends");
        assert!(of(Neighbours { burst_shape: 1.0, ..n }).contains("shape 1"));
        assert!(of(Neighbours { burst_max: 1_000_000, ..n }).contains("below the maximum"));
        assert!(of(Neighbours { count: 10_001, ..n }).contains("at most 10000"));
        assert!(Carrier { frame: Nanos(1), ..USUAL }.check().unwrap_err().contains("frames of 1 ns"));
        assert!(Carrier { rate: BitRate(1), ..USUAL }.check().unwrap_err().contains("one byte"));
    }
}
