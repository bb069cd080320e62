// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[handover]`: the outage of a terminal that changes its satellite.

use crate::file::error::Problem;
use crate::file::field::Named;
use crate::file::kind::{Draw, Kind};
use crate::file::parameters::parameters;
use crate::file::rows::SHORT_DRAW;
use perigee_timeline::OutageMode;
use perigee_units::Nanos;

parameters! {
    /// `[handover]`.
    Handover = "handover", "What happens when a terminal changes its satellite.";
    mode: OutageMode = outage_mode();
    length as outage: Draw<Nanos> = key(SHORT_DRAW, "uniform(45 ms, 120 ms)", "the terminal is cut off for this long");
    file: Option<Named> = optional(Kind::File, "a recorded distribution instead: seconds of one outage in the first column of each line");
    per_delay: f64 = key(Kind::Number(0.0, 1000.0), "0", "and for this many times the propagation delays to the old and the new satellite (LeoEM: 3, with outage = \"0 s\")");
}

impl Handover {
    pub(crate) fn check(&self, problems: &mut Vec<Problem>) {
        let c = &self.written;
        // A file of outages in a scenario overrides the draw of the base file that it extends.
        let of_one_file = c.place_of("file").origin == c.place_of("outage").origin;
        if self.file.is_some() && c.has("outage") && of_one_file {
            let p = c.problem("outage", "given together with a file of outages");
            problems.push(p.hint("keep one of them"));
        }
    }
}
