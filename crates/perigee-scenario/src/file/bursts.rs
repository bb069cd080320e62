// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[bursts]`: bursts of loss.

use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use crate::file::rows::MAX_DURATION;
use perigee_sources::fading;
use perigee_units::Nanos;

parameters! {
    /// `[bursts]`.
    Bursts = "bursts", "Bursts of loss (Gilbert-Elliott model) on every link between the ground and a satellite or, in a chain, dumbbell or parking lot, on the slowest link of each pair.";
    loss_outside: f64 = key(Notation::Share(0.0, 1.0), "0", "loss probability between bursts");
    loss_inside: f64 = key(Notation::Share(0.0, 1.0), "0.5", "loss probability during a burst");
    apart: Nanos = key(Notation::Time(Nanos::from_millis(1), MAX_DURATION), "10 s", "mean time from the end of a burst to the start of the next one (exponential)");
    length: Nanos = key(Notation::Time(Nanos::from_millis(1), MAX_DURATION), "100 ms", "mean duration of a burst (exponential)");
}

impl Bursts {
    /// Random process of the bursts.
    pub fn process(&self) -> fading::Bursts {
        fading::Bursts { loss: [self.loss_outside, self.loss_inside], stay: [self.apart, self.length] }
    }
}
