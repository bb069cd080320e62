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
    OnOff = "on-off", "As much as the transport takes, silence, and so on, over one connection.";
    on: Law = key(Notation::TimeLaw, "exponential(1 s)", "time of sending");
    off: Law = key(Notation::TimeLaw, "exponential(1 s)", "time of silence");
}

impl OnOff {
    pub(super) fn spec(self, problems: &mut Vec<Problem>) -> Spec {
        for (key, law) in [("on", &self.on), ("off", &self.off)] {
            // With zero the source would switch forever at one instant.
            if law.mean() < SHORTEST.as_secs_f64() {
                let why = "sending and silence would follow each other without end";
                let p = self.written.problem(key, why).allowed(format!("times of {SHORTEST} and more in the mean"));
                problems.push(p.hint("app = \"bulk\" sends all the time"));
            }
        }
        App::OnOff { on: self.on, off: self.off }.into()
    }
}
