// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Grid of instants, 15 s apart, at which a satellite network moves terminals to other satellites.
//!
//! Schemes with a synchronised clock derive reconfigurations from it, without notices. The clock is
//! the simulation's.

use crate::{Domain, Nanos, ParamSpec};

/// Time between instants.
pub(crate) const PERIOD: Nanos = Nanos::from_secs(15);
/// Parameter with the phase.
pub(crate) const PHASE: ParamSpec = ParamSpec {
    name: "phase",
    domain: Domain::Time { default: Nanos::from_secs(12), min: Nanos::ZERO, max: PERIOD },
    unit: "",
    source: "StarQUIC, SatPipe, TCP LEO: seconds 12, 27, 42, 57 of the minute",
    help: "phase of the reallocation instants",
};

/// The instants `phase + k · 15 s`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    phase: Nanos,
}

impl Grid {
    pub const fn new(phase: Nanos) -> Self {
        Grid { phase: Nanos(phase.0 % PERIOD.0) }
    }

    /// Time since the latest instant; zero at an instant.
    pub fn since(&self, t: Nanos) -> Nanos {
        Nanos((t.0 % PERIOD.0 + PERIOD.0 - self.phase.0) % PERIOD.0)
    }

    /// Time until the next instant; a whole period at an instant.
    pub fn until(&self, t: Nanos) -> Nanos {
        PERIOD - self.since(t)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_the_usual_phase_the_instants_are_seconds_12_27_42_and_57() {
        let grid = Grid::new(Nanos::from_secs(12));
        for s in [12, 27, 42, 57, 72] {
            assert_eq!(grid.since(Nanos::from_secs(s)), Nanos::ZERO);
            assert_eq!(grid.until(Nanos::from_secs(s)), PERIOD);
            assert_eq!(grid.until(Nanos::from_millis(s * 1000 - 200)), Nanos::from_millis(200));
        }
        assert_eq!(grid.since(Nanos::ZERO), Nanos::from_secs(3));
        assert_eq!(Grid::new(PERIOD).since(Nanos::from_secs(1)), Nanos::from_secs(1));
    }
}
