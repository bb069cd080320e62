// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[schedule] every`: a fresh draw at each interval.

use crate::file::change::{some_effect, Changes, When};
use crate::file::error::Problem;
use crate::file::notation::{Draw, Notation};
use crate::file::parameters::parameters;
use crate::file::rows::{ANY_TIME, MAX_DURATION, SHORT_DRAW};
use perigee_units::{BitRate, Nanos};

parameters! {
    /// `[schedule] every`.
    Every = "every", "Changes at a fixed interval, with values drawn independently.";
    every: Nanos = required(Notation::Time(Nanos::from_millis(1), MAX_DURATION), "interval between changes");
    first: Nanos = key(ANY_TIME, "0 s", "time of the first change");
    rate: Option<Draw<BitRate>> = optional(Notation::RateDraw, "new transmission rate of the port; 0 blocks it");
    rtt: Option<Draw<Nanos>> = optional(SHORT_DRAW, "new round-trip time of all flows");
    loss: Option<Draw<f64>> = optional(Notation::LossDraw, "new probability of random loss");
    outage: Option<Draw<Nanos>> = optional(SHORT_DRAW, "duration for which the link is down, from the change on");
}

impl Every {
    pub(super) fn changes(self, problems: &mut Vec<Problem>) -> (When, Changes) {
        some_effect(&self.written, problems, &["rate", "rtt", "loss", "outage"]);
        let Every { every, first, rate, rtt, loss, outage, .. } = self;
        (When::Every(first, every), Changes { rate, rtt, loss, outage, delay: None })
    }
}
