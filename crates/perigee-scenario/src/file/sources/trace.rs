// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[source.trace]`.

use crate::file::grammar::Only;
use crate::file::notation::Notation;
use crate::file::field::Named;
use crate::file::parameters::parameters;
use crate::file::rows::RTT;
use crate::file::sources::SourceSpec;
use perigee_timeline::LinkOrder;
use perigee_units::Nanos;
use std::path::PathBuf;

/// Allowed steps of recorded series.
const STEP: Notation = Notation::Time(Nanos::from_millis(1), Nanos::from_secs(60));

parameters! {
    /// `[source.trace]`.
    Trace = "trace", "One link driven by recorded rates and delays (mahimahi, LeoReplayer). Hosts: s, d. Ports: bottleneck, reverse.";
    rate_file: Named = required(Notation::File, "a line per opportunity to deliver 1500 bytes: milliseconds since the start");
    reverse_rate_file: Option<Named> = optional(Notation::File, "the same for the way back, d to s; default: as [port.reverse] says");
    delay_file: Option<Named> = optional(Notation::File, "a line per step: one-way delay in milliseconds, with fractions if wanted");
    delay_step: Nanos = key(STEP, "10 ms", "time between lines of the delay file"), only &[Only::Given(&["delay_file"])];
    rate_step: Nanos = key(STEP, "100 ms", "delivery opportunities are counted over this time");
    rtt: Nanos = key(RTT, "50 ms", "round-trip propagation time"), only &[Only::Absent("delay_file")];
    loss: f64 = loss();
    reordering: LinkOrder = reordering();
}

impl SourceSpec for Trace {
    fn files(&self) -> Vec<PathBuf> {
        std::iter::once(&self.rate_file).chain(&self.reverse_rate_file).chain(&self.delay_file).map(|named| named.path.clone()).collect()
    }
}
