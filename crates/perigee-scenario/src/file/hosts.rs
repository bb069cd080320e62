// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[hosts]`: real hosts.

use crate::file::field::Bytes;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use perigee_units::Nanos;

parameters! {
    /// `[hosts]`.
    Hosts = "hosts", "Real Linux hosts (--backend linux).";
    kernel: String = key(Notation::Word(&["shared", "own"]), "shared", "shared = one kernel per 48 hosts; own = one kernel per host, for at most 64 hosts");
    offload: bool = key(Notation::Bool, "false", "offload of checksums and TCP segmentation to the interfaces, as on network cards: less CPU time, and bursts of packets");
    grace: Nanos = key(Notation::Time(Nanos::ZERO, Nanos::from_secs(600)), "2 s", "time from SIGTERM, which programs receive when the run ends, to the end of those that still run; they exchange no packets then; 0 s = no SIGTERM");
    output_limit: Bytes = key(Notation::Data, "64 MB", "bytes kept of each output stream of a program; of what it writes beyond, only the number is recorded, and it is read at 6.5 MB/s");
    carrier: Vec<String> = optional(Notation::OneOrMany(&Notation::Text), "nodes whose interface loses its carrier during their outages and while they have no satellite, as that of a modem does; default: none (outages only lose packets)");
}

impl Hosts {
    /// Whether each real host has its own kernel.
    pub fn own_kernels(&self) -> bool {
        self.kernel == "own"
    }
}
