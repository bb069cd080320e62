// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[telemetry]`: in-network telemetry.

use crate::file::notation::Notation;
use crate::file::parameters::parameters;

parameters! {
    /// `[telemetry]`.
    Telemetry = "telemetry", "In-network telemetry for the schemes that use it; overrides their own parameters of the same names.";
    overhead: Option<String> = optional(Notation::Word(&["none", "wire"]), "packets carry the telemetry as metadata, or as bytes");
    echo: Option<String> = optional(Notation::Word(&["full", "bottleneck"]), "ACKs carry all hops, or the bottleneck's record");
    max_hops: Option<usize> = optional(Notation::Int(1, 14), "hops that fit a packet (its bytes are reserved where they are on the wire); further ones write nothing. Default: the longest route; of a constellation, one more than the longest that is found every 10 s");
}
