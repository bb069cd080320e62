// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[run]`: duration, seed and recording.

use crate::file::checked::Checked;
use crate::file::error::{Place, Problem};
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use crate::file::rows::{ANY_TIME, MAX_DURATION};
use crate::file::starts;
use crate::file::vary::{Vary, VARIED};
use perigee_units::Nanos;

parameters! {
    /// `[run]`.
    RunSpec = "run", "Length, seed and recording.";
    duration: Nanos = required(Notation::Time(Nanos::from_millis(1), MAX_DURATION), "simulated time");
    seed: u64 = key(Notation::Int(0, i64::MAX), "1", "seed of all random draws; run k of several uses seed + k - 1");
    runs: u64 = key(Notation::Int(1, 10_000), "1", "number of repetitions, with successive seeds");
    vary: Vary = optional(Notation::OneOrMany(&Notation::Word(&VARIED)), "quantities that depend on the seed; all others are those of seed 1: phase (start of the run in the motion of the satellites, up to a day later; seed 1: no shift), outages (durations at handovers), changes (schedules, jitter, rtt_spread, loss bursts), traffic (arrivals, pairs), packets (random loss, start_jitter, host_jitter, applications, congestion controls, neighbours of a beam); default: all except phase");
    cc: Vec<String> = optional(Notation::OneOrMany(&Notation::Scheme("all")), "congestion controls to compare; they replace cc = \"*\" of the flows");
    slow_start: String = key(Notation::Word(starts::NAMES), starts::NAMES[0], "initial slow start of all flows with a congestion control that supports it (see `perigee schemes`); own: that of the congestion control");
    sample: Nanos = key(Notation::Time(Nanos::from_millis(1), Nanos::from_secs(3600)), "100 ms", "sampling interval of the time series");
    warmup: Nanos = key(ANY_TIME, "0 s", "initial period excluded from tables and figures");
    start_jitter: Nanos = key(Notation::Time(Nanos::ZERO, Nanos::from_secs(60)), "0 s", "maximum random delay of the start of each flow (uniform)");
    host_jitter: Nanos = key(Notation::Time(Nanos::ZERO, Nanos::from_secs(1)), "0 s", "maximum random processing delay of each packet in its host (uniform); packets of a flow and direction stay in order; one packet's service time at the bottleneck breaks phase effects of drop-tail queues (docs/explanation/limits.md)");
    rtt_changes: u32 = key(Notation::Int(0, 1_000_000), "0", "number of RTT samples of each simulated flow recorded as events of kind rtt-change: the first ones that differ from the preceding sample, as kept by a recorder that omits repeated values");
    rtt_spread: f64 = key(Notation::Number(0.0, 0.5), "0", "relative spread of base RTTs: that of each flow's path is multiplied by a random factor from 1 - rtt_spread to 1 + rtt_spread, at the start and after every change; only for chains, dumbbells, parking lots and crossings");
}

impl RunSpec {
    /// Whether the duration is from a higher level than a value at this place, such as
    /// `--set run.duration=10s`: then what is after the end is not reached.
    pub(crate) fn is_shortened_above(&self, place: &Place) -> bool {
        self.written.place_of("duration").is_above(place)
    }

    /// Rejects a time (`at` of a section) that is not before the end, unless the run was shortened
    /// at a higher level.
    pub(crate) fn check_before_end(&self, at: Nanos, section: &Checked, problems: &mut Vec<Problem>) {
        if at >= self.duration && !self.is_shortened_above(section.place_of("at")) {
            let why = format!("must be before the end of the run ({})", self.duration);
            problems.push(section.problem("at", why));
        }
    }

    /// A warning about a section if the run was shortened at a higher level and ends before its time.
    pub(crate) fn cut_off(&self, at: Nanos, section: &Checked) -> Option<Problem> {
        let place = section.place_of("at");
        let is_later = at >= self.duration && self.is_shortened_above(place);
        let why = format!("no effect: it is at {at}, the run ends at {}", self.duration);
        is_later.then(|| Problem::new(&section.path, why).at(place).hint("use a longer run.duration"))
    }

    pub(crate) fn check(&self, problems: &mut Vec<Problem>) {
        if self.warmup >= self.duration {
            let why = format!("must be shorter than the run ({})", self.duration);
            problems.push(self.written.problem("warmup", why));
        }
        if self.sample > self.duration {
            let why = format!("must not be longer than the run ({})", self.duration);
            problems.push(self.written.problem("sample", why));
        }
    }
}
