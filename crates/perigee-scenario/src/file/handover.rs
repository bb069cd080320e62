// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[handover]`: outages of terminals at changes of their satellite.

use crate::file::error::Problem;
use crate::file::field::Named;
use crate::file::grammar::Only;
use crate::file::notation::{Draw, Notation};
use crate::file::parameters::parameters;
use crate::file::rows::SHORT_DRAW;
use crate::file::run::RunSpec;
use perigee_timeline::OutageMode;
use perigee_units::Nanos;

parameters! {
    /// `[handover]`.
    Handover = "handover", "Handover of a terminal between satellites: outage and treatment of packets.";
    mode: OutageMode = outage_mode();
    length as outage: Draw<Nanos> = key(SHORT_DRAW, "uniform(45 ms, 120 ms)", "duration of the outage");
    file: Option<Named> = optional(Notation::File, "recorded distribution of outage durations, in place of `outage`: seconds in the first column of each line");
    per_delay: f64 = key(Notation::Number(0.0, 1000.0), "0", "additional outage, as a multiple of the sum of the propagation delays to the old and the new satellite (LeoEM: 3, with outage = \"0 s\")");
    every: Option<Nanos> = optional(Notation::Time(Nanos::from_millis(1), Nanos::from_secs(604_800)), "interval of forced handovers of all terminals, in addition to those that follow from the selection of satellites: each has an outage, even if the satellite stays the same; a multiple of source.constellation.step; only for constellations");
    first: Option<Nanos> = optional(Notation::Time(Nanos::from_millis(1), Nanos::from_secs(604_800)), "time of the first forced handover, a multiple of source.constellation.step; default: `every`"), only &[Only::Given(&["every"])];
}

impl Handover {
    /// Checks that one file does not give both a distribution and a file of outages.
    pub(crate) fn check(&self, problems: &mut Vec<Problem>) {
        let c = &self.written;
        // `file` in a scenario overrides the `outage` of the base file that it extends.
        let of_one_file = c.place_of("file").origin == c.place_of("outage").origin;
        if self.file.is_some() && c.has("outage") && of_one_file {
            let p = c.problem("outage", "conflicts with handover.file");
            problems.push(p.hint("remove one of them"));
        }
    }

    /// Checks the times of forced handovers against the step of the constellation and the duration
    /// of the run.
    pub(crate) fn check_forced(
        &self,
        (step, run): (Nanos, &RunSpec),
        terminals: bool,
        problems: &mut Vec<Problem>,
    ) {
        for (key, value) in [("every", self.every), ("first", self.first)] {
            let Some(time) = value.filter(|t| t.0 % step.0 != 0) else { continue };
            let why = format!("{time} is not a multiple of source.constellation.step ({step})");
            let hint = format!("use a multiple of {step}, or change source.constellation.step");
            problems.push(self.written.problem(key, why).hint(hint));
        }
        if !self.gives_way(run) {
            problems.extend(self.unreached(run).into_iter().next());
        }
        if self.every.is_some() && !terminals {
            let p = self.written.problem("every", "no effect: no node is a terminal");
            problems.push(p.hint("stations have soft handovers; set kind = \"terminal\" for a node"));
        }
    }

    /// The keys of forced handovers if the run ends before the first of them, that with its time first.
    fn unreached(&self, run: &RunSpec) -> Vec<Problem> {
        let Some(time) = self.first.or(self.every).filter(|&t| t >= run.duration) else { return Vec::new() };
        let why =
            format!("no effect: the first forced handover is at {time}, the run ends at {}", run.duration);
        let keys = ["first", "every"].into_iter().filter(|key| self.written.has(key));
        let hint = "use an earlier time, or a longer run.duration";
        keys.map(|key| self.written.problem(key, why.clone()).hint(hint)).collect()
    }

    /// Whether the duration is from a higher level than the times, such as `--set run.duration=10s`: then
    /// handovers after the end are not reached.
    fn gives_way(&self, run: &RunSpec) -> bool {
        self.unreached(run).iter().all(|p| p.place.as_ref().is_some_and(|at| run.is_shortened_above(at)))
    }

    /// The keys without effect since the duration was shortened at a higher level.
    pub(crate) fn cut_off(&self, run: &RunSpec) -> Vec<Problem> {
        if self.gives_way(run) {
            self.unreached(run)
        } else {
            Vec::new()
        }
    }

    /// Without the forced handovers of which the first is not before the end of the run.
    pub(crate) fn within(self, run: &RunSpec) -> Self {
        match self.unreached(run).is_empty() {
            true => self,
            false => Handover { every: None, first: None, ..self },
        }
    }

    /// Reports forced handovers of a source without satellites as problems.
    pub(crate) fn reject_forced(&self, problems: &mut Vec<Problem>) {
        if self.every.is_some() {
            let p = self.written.problem("every", "no effect: this source has no satellites");
            problems.push(p.hint("use [schedule] with every and outage"));
        }
    }
}
