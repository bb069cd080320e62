// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[hosts]`: real hosts.

use crate::file::notation::Notation;
use crate::file::parameters::parameters;

parameters! {
    /// `[hosts]`.
    Hosts = "hosts", "Real hosts (--backend linux).";
    kernel: String = key(Notation::Word(&["shared", "own"]), "shared", "shared: one kernel for up to 48 hosts, and several for more; own: one for each, 64 at most");
    offload: bool = key(Notation::Bool, "false", "interfaces make checksums and cut large TCP segments into packets, as network cards do: less computation, and bursts");
    carrier: Vec<String> = optional(Notation::OneOrMany(&Notation::Text), "nodes whose interface has no carrier while an outage of theirs lasts, or they have no satellite, as a modem's; default: none, outages are lost packets only");
}

impl Hosts {
    /// Whether each real host has its own kernel.
    pub fn own_kernels(&self) -> bool {
        self.kernel == "own"
    }
}
