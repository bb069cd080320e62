// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[run]`: duration, seed and recording.

use crate::file::error::Problem;
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
    runs: u64 = key(Notation::Int(1, 10_000), "1", "repetitions with successive seeds");
    vary: Vary = optional(Notation::OneOrMany(&Notation::Word(&VARIED)), "what differs between seeds, everything else being that of seed 1: phase (the orbits: the run begins up to a day later in their motion; seed 1 is as written), outages (their lengths at handovers), changes (schedules, jitter, rtt_spread, bursts of loss), traffic (arrivals, pairs), packets (random losses, start_jitter, host_jitter, applications, schemes); default: all but the phase");
    cc: Vec<String> = optional(Notation::OneOrMany(&Notation::Scheme("all")), "schemes to compare; they replace cc = \"*\" of the flows");
    slow_start: String = key(Notation::Word(starts::NAMES), starts::NAMES[0], "initial slow start of all flows, where their scheme can have it (perigee schemes lists which); own: that of the scheme");
    sample: Nanos = key(Notation::Time(Nanos::from_millis(1), Nanos::from_secs(3600)), "100 ms", "time between rows of the time series");
    warmup: Nanos = key(ANY_TIME, "0 s", "tables and figures leave out what happens before this time");
    start_jitter: Nanos = key(Notation::Time(Nanos::ZERO, Nanos::from_secs(60)), "0 s", "each flow starts later by a seeded draw from zero to this");
    host_jitter: Nanos = key(Notation::Time(Nanos::ZERO, Nanos::from_secs(1)), "0 s", "each packet leaves its host later by a seeded draw from zero to this, in the order of its flow and direction, as the processing of real hosts delays it; one packet's service time at the bottleneck breaks phase effects of drop-tail queues (docs/explanation/limits.md)");
    rtt_changes: u32 = key(Notation::Int(0, 1_000_000), "0", "the first this many RTT samples of each simulated flow that differ from the sample before become events (kind rtt-change): what a recorder that leaves out repeated values keeps");
    rtt_spread: f64 = key(Notation::Number(0.0, 0.5), "0", "the base RTT of each flow's path is multiplied by a seeded draw within 1 - this and 1 + this, at the start and after every change; chains, dumbbells, parking lots and crossings");
}

impl RunSpec {
    pub(crate) fn check(&self, problems: &mut Vec<Problem>) {
        if self.warmup >= self.duration {
            let why = format!("nothing is left of a run of {}", self.duration);
            problems.push(self.written.problem("warmup", why));
        }
        if self.sample > self.duration {
            let why = format!("longer than the run of {}", self.duration);
            problems.push(self.written.problem("sample", why));
        }
    }
}
