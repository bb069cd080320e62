// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[notices]`: announcements of handovers, outages and reconfigurations to schemes and programs.

use crate::file::notation::{Draw, Notation};
use crate::file::parameters::parameters;
use crate::file::rows::{ANY_TIME, SHORT_DRAW};
use perigee_timeline::Notices;
use perigee_units::Nanos;

/// Number of quantiles that represent a distribution of prediction errors; both signs are used.
const ERROR_QUANTILES: u64 = 64;

parameters! {
    /// `[notices]`.
    NoticeSpec = "notices", "Notifications of handovers, outages and reconfigurations to congestion controls that use them (most do not) and to programs on real hosts.";
    on: bool = key(Notation::Bool, "true", "send notifications");
    lead: Nanos = key(ANY_TIME, "0 s", "lead time of the start notification before the event (SaTCP's testbed: 0.5 s)");
    hold: Nanos = key(ANY_TIME, "2.3 s", "time from the start notification to the end notification");
    error: Draw<Nanos> = key(SHORT_DRAW, "0 s", "timing error: the notifications of an event are early or late by a draw from this");
    loss: f64 = key(Notation::Share(0.0, 1.0), "0", "probability that the notifications of an event are lost");
}

impl NoticeSpec {
    /// Notices in the form of the simulator; `None` = no notices.
    pub fn notices(&self) -> Option<Notices> {
        let (low, high) = (self.error.low.0, self.error.high.0);
        let errors = (0..ERROR_QUANTILES).flat_map(|k| {
            let e = (low + (high - low) / (ERROR_QUANTILES - 1) * k) as i64;
            [e, -e]
        });
        let errors: Vec<i64> = if high == 0 { Vec::new() } else { errors.collect() };
        let (lead, hold, loss) = (self.lead, self.hold, self.loss);
        self.on.then(|| Notices { lead, hold, errors: errors.into(), loss })
    }
}
