// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `app = "on-off"`.

use crate::file::apps::Spec;
use crate::file::error::Problem;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use perigee_timeline::{App, Law};
use perigee_units::Nanos;

/// Minimum mean duration of on and off periods: at most 5,000 on periods start per second on
/// average.
const SHORTEST: Nanos = Nanos::from_micros(100);

parameters! {
    /// `app = "on-off"`.
    OnOff = "on-off", "Alternating periods of bulk transfer and silence over one connection.";
    on: Law = key(Notation::TimeLaw, "exponential(1 s)", "duration of a period of transfer");
    off: Law = key(Notation::TimeLaw, "exponential(1 s)", "duration of a period of silence");
}

impl OnOff {
    pub(super) fn spec(self, problems: &mut Vec<Problem>) -> Spec {
        for (key, law) in [("on", &self.on), ("off", &self.off)] {
            // With zero the source would switch forever at one instant.
            if law.mean() < SHORTEST.as_secs_f64() {
                let why = "the mean duration is too short";
                let p = self.written.problem(key, why).allowed(format!("a mean of at least {SHORTEST}"));
                problems.push(p.hint("use app = \"bulk\" to send continuously"));
            }
        }
        App::OnOff { on: self.on, off: self.off }.into()
    }
}
