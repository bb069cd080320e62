// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[source.dumbbell]`.

use crate::file::error::Problem;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use crate::file::rows::RTT;
use crate::file::sources::{one_for_each, SourceSpec, ON_ACCESS};
use perigee_sources::topology::Placement;
use perigee_timeline::LinkOrder;
use perigee_units::Nanos;

parameters! {
    /// `[source.dumbbell]`.
    Dumbbell = "dumbbell", "Senders s1, s2, … and receivers d1, d2, … on either side of the bottleneck r1 -> r2. Ports: bottleneck, reverse, access.";
    pairs: usize = key(Notation::Int(1, 100_000), "1", "number of sender-receiver pairs");
    rtt: Vec<Nanos> = key(Notation::OneOrMany(&RTT), "50 ms", "round-trip propagation time of all pairs, or a list with one value per pair");
    rtt_at: Placement = key(
        Notation::Word(&["access", "even", "bottleneck", "ack-path", "forward"]),
        "access",
        "placement of the RTT: access = on the four access links; even = on all links; bottleneck = the smallest RTT on the bottleneck, the excess of other pairs on their access links; ack-path = half of the smallest RTT on the bottleneck, the remainder on the ACK path (Linux curves); forward = on the first link of the data path",
    );
    bottleneck_delay: Nanos = key(RTT, "0 s", "fixed one-way delay of the bottleneck, part of the RTT"), only ON_ACCESS;
    loss: f64 = loss();
    reordering: LinkOrder = reordering();
}

impl SourceSpec for Dumbbell {
    fn check(self, problems: &mut Vec<Problem>) -> Option<Self> {
        let rtt = one_for_each(&self.written, &self.rtt, self.pairs, problems)?;
        Some(Dumbbell { rtt, ..self })
    }
}
