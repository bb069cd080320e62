// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[source.parking_lot]`.

use crate::file::error::Problem;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use crate::file::rows::RTT;
use crate::file::sources::{one_for_each, SourceSpec, ON_ACCESS};
use perigee_sources::topology::Placement;
use perigee_timeline::LinkOrder;
use perigee_units::Nanos;

parameters! {
    /// `[source.parking_lot]`.
    ParkingLot = "parking_lot", "Routers r0, r1, … in a row; pair s0, d0 crosses all bottlenecks, pair s1, d1 the first, and so on. Ports: bottleneck, reverse, access.";
    bottlenecks: usize = key(Notation::Int(1, 10_000), "3", "number of links between the routers");
    rtt: Vec<Nanos> = key(Notation::OneOrMany(&RTT), "50 ms", "round-trip propagation time of all pairs, or a list with one value per pair");
    rtt_at: Placement = key(Notation::Word(&["access", "forward"]), "access", "placement of the RTT: access = on the access links; forward = on the first link of the data path");
    bottleneck_delay: Nanos = key(RTT, "0 s", "fixed one-way delay of each bottleneck, part of the RTT"), only ON_ACCESS;
    reordering: LinkOrder = reordering();
}

impl SourceSpec for ParkingLot {
    fn check(self, problems: &mut Vec<Problem>) -> Option<Self> {
        let rtt = one_for_each(&self.written, &self.rtt, self.bottlenecks + 1, problems)?;
        Some(ParkingLot { rtt, ..self })
    }
}
