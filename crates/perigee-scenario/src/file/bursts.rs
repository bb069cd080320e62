// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[bursts]`: bursts of loss.

use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use crate::file::rows::MAX_DURATION;
use perigee_sources::fading;
use perigee_units::Nanos;

parameters! {
    /// `[bursts]`.
    Bursts = "bursts", "Bursts of loss (Gilbert and Elliott) on every link between the ground and a satellite or, in a small network, on the slowest link of each pair.";
    loss_outside: f64 = key(Notation::Number(0.0, 1.0), "0", "probability of loss between bursts");
    loss_inside: f64 = key(Notation::Number(0.0, 1.0), "0.5", "probability of loss in a burst");
    apart: Nanos = key(Notation::Time(Nanos::from_millis(1), MAX_DURATION), "10 s", "mean time from the end of a burst to the next one, exponential");
    length: Nanos = key(Notation::Time(Nanos::from_millis(1), MAX_DURATION), "100 ms", "mean length of a burst, exponential");
}

impl Bursts {
    /// Random process of the bursts.
    pub fn process(&self) -> fading::Bursts {
        fading::Bursts { loss: [self.loss_outside, self.loss_inside], stay: [self.apart, self.length] }
    }
}
