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
    Trace = "trace", "A link with recorded rates and delays (mahimahi, LeoReplayer). Hosts: s, d. Ports: bottleneck, reverse.";
    rate_file: Named = required(Notation::File, "delivery opportunities of 1500 bytes, one per line: milliseconds since the start");
    reverse_rate_file: Option<Named> = optional(Notation::File, "delivery opportunities of the reverse direction, d to s; default: constant rate of [port.reverse]");
    delay_file: Option<Named> = optional(Notation::File, "one-way delays in milliseconds, one per line and step (fractions allowed)");
    delay_step: Nanos = key(STEP, "10 ms", "interval between lines of delay_file"), only &[Only::Given(&["delay_file"])];
    rate_step: Nanos = key(STEP, "100 ms", "interval over which delivery opportunities are counted");
    rtt: Nanos = key(RTT, "50 ms", "round-trip propagation time"), only &[Only::Absent("delay_file")];
    loss: f64 = loss();
    reordering: LinkOrder = reordering();
}

impl SourceSpec for Trace {
    fn files(&self) -> Vec<PathBuf> {
        std::iter::once(&self.rate_file).chain(&self.reverse_rate_file).chain(&self.delay_file).map(|named| named.path.clone()).collect()
    }
}
