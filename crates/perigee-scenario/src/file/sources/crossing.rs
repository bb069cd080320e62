// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[source.crossing]`.

use crate::file::error::Problem;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use crate::file::rows::{ANY_TIME, RTT};
use crate::file::sources::{one_for_each, SourceSpec};
use perigee_units::Nanos;

parameters! {
    /// `[source.crossing]`.
    Crossing = "crossing", "Two dumbbells, a1 -> a2 and b1 -> b2. The first pairs (s1, d1, …) stay on the first dumbbell; the others move between the second and the first, without loss. Ports: bottleneck, reverse, access.";
    staying: usize = key(Notation::Int(1, 10_000), "2", "number of pairs that stay on the first dumbbell");
    moving: usize = key(Notation::Int(1, 10_000), "2", "number of pairs that start on the second dumbbell");
    rtt: Vec<Nanos> = key(Notation::OneOrMany(&RTT), "50 ms", "round-trip propagation time of all pairs, or a list with one value per pair; the same over both dumbbells");
    bottleneck_delay: Nanos = key(RTT, "0 s", "fixed one-way delay of each bottleneck, part of the RTT");
    moves: Vec<Nanos> = required(Notation::OneOrMany(&ANY_TIME), "times at which the moving pairs change dumbbells: to the first, back, and so on");
}

impl SourceSpec for Crossing {
    fn check(self, problems: &mut Vec<Problem>) -> Option<Self> {
        let rtt = one_for_each(&self.written, &self.rtt, self.staying + self.moving, problems)?;
        Some(Crossing { rtt, ..self })
    }
}
