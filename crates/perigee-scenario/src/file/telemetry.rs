// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[telemetry]`: in-network telemetry.

use crate::file::notation::Notation;
use crate::file::parameters::parameters;

parameters! {
    /// `[telemetry]`.
    Telemetry = "telemetry", "In-band network telemetry for the congestion controls that use it. Overrides their parameters of the same names.";
    overhead: Option<String> = optional(Notation::Word(&["none", "wire"]), "none = telemetry is metadata and occupies no bytes of a packet; wire = it occupies bytes; default: that of the congestion control");
    echo: Option<String> = optional(Notation::Word(&["full", "bottleneck"]), "telemetry in ACKs: full = the records of all hops; bottleneck = the record of the bottleneck; default: that of the congestion control");
    max_hops: Option<usize> = optional(Notation::Int(1, 14), "maximum number of records in a packet; further hops write none; the bytes are reserved with overhead = \"wire\"; default: the length of the longest route, in a constellation one more than that of the longest route found in steps of 10 s");
}
