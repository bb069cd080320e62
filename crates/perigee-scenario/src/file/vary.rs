// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[run] vary`: quantities that differ between runs with different seeds.

use crate::file::checked::Part;
use crate::file::error::Place;
use crate::file::field::FromPart;
use perigee_units::draw::{mix, unit};
use perigee_units::Nanos;

/// Words of `run.vary`, in the order of [`Varied`].
pub const VARIED: [&str; 5] = ["phase", "outages", "changes", "traffic", "packets"];

/// Quantity that may depend on the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Varied {
    /// Positions of the satellites at the start of the run.
    Phase,
    /// Lengths of the outages at handovers.
    Outages,
    /// Drawn changes: schedules, jitter, bursts of loss.
    Changes,
    /// Arrivals, and pairs of nodes.
    Traffic,
    /// Random losses, start jitter, applications, schemes.
    Packets,
}

/// Seed with which everything is as written, and the seed of quantities that do not vary.
const AS_WRITTEN: u64 = 1;
/// Upper bound of the shift of orbits: one rotation of the Earth below them.
const LONGEST_SHIFT_S: f64 = 86_400.0;
const SHIFTS: u64 = 0x7068_6173_6500;

/// Quantities that differ between seeds; `None` = all but the phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vary(pub Option<Vec<String>>);

impl FromPart for Vary {
    const SHAPES: u64 = <Vec<String>>::SHAPES;
    const EMPTY: Option<fn() -> Self> = Some(Vary::default);

    fn from_part(part: &Part, place: &Place) -> Option<Self> {
        FromPart::from_part(part, place).map(|words| Vary(Some(words)))
    }
}

impl Vary {
    /// Whether this quantity is listed.
    pub fn names(&self, what: Varied) -> bool {
        self.0.iter().flatten().any(|w| w == VARIED[what as usize])
    }

    /// Seed of these draws in the run with `seed`.
    pub fn seed_of(&self, what: Varied, seed: u64) -> u64 {
        let varies = if self.0.is_some() { self.names(what) } else { what != Varied::Phase };
        if varies {
            seed
        } else {
            AS_WRITTEN
        }
    }

    /// Shift of the run with `seed` in the motion of the satellites, in full seconds: a function of
    /// the seed alone.
    pub fn phase(&self, seed: u64) -> Nanos {
        match self.seed_of(Varied::Phase, seed) {
            AS_WRITTEN => Nanos::ZERO,
            seed => Nanos::from_secs((unit(mix(mix(seed) ^ SHIFTS)) * LONGEST_SHIFT_S) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_key_seeds_vary_what_they_always_did() {
        let run = Vary(None);
        assert_eq!((run.seed_of(Varied::Outages, 7), run.seed_of(Varied::Packets, 7)), (7, 7));
        assert_eq!(run.phase(7), Nanos::ZERO);
    }

    #[test]
    fn what_is_not_named_is_that_of_seed_one() {
        let run = Vary(Some(vec!["phase".into(), "outages".into()]));
        assert_eq!((run.seed_of(Varied::Outages, 7), run.seed_of(Varied::Packets, 7)), (7, 1));
        assert_eq!(run.phase(1), Nanos::ZERO, "seed 1 is as written");
        let shifts: Vec<Nanos> = (2..200).map(|seed| run.phase(seed)).collect();
        assert!(shifts.iter().all(|s| s.0 % 1_000_000_000 == 0 && *s < Nanos::from_secs(86_400)));
        let mean = shifts.iter().map(|s| s.as_secs_f64()).sum::<f64>() / shifts.len() as f64;
        assert!((mean - 43_200.0).abs() < 6_000.0, "{mean}");
    }
}
