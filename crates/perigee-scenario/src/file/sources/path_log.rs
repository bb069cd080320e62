// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[source.path_log]`.

use crate::file::notation::Notation;
use crate::file::field::Named;
use crate::file::parameters::parameters;
use crate::file::rows::ANY_TIME;
use crate::file::sources::SourceSpec;
use perigee_timeline::LinkOrder;
use perigee_units::Nanos;
use std::path::PathBuf;

parameters! {
    /// `[source.path_log]`.
    PathLog = "path_log", "A recorded path, one line per second (LeoEM's format). Hosts: end1, end2. Ports: hop (all); dish (uplinks of the ends; [port.dish] overrides keys of [port.hop]); host ([port.host] adds a link without delay between each host and its end of the path, as in LeoEM's emulator).";
    file: Named = required(Notation::File, "path log");
    hops: String = key(Notation::Word(&["chain", "nodes"]), "chain", "identity of hops: chain = hop k of the path is always port k (queues persist over handovers); nodes = each recorded node is a separate node");
    first: Nanos = key(ANY_TIME, "0 s", "start of the run in the log");
    breaks: String = key(
        Notation::Word(&["none", "emulator"]),
        "none",
        "outages at a change of satellites: none, or emulator = those of LeoEM's emulator: changed links between satellites lose their packets, and those of the ends are down for the time in [handover]",
    );
    reordering: LinkOrder = reordering();
}

impl SourceSpec for PathLog {
    fn files(&self) -> Vec<PathBuf> {
        vec![self.file.path.clone()]
    }
}

impl PathLog {
    /// Whether a change of satellites causes the outages of LeoEM's emulator.
    pub fn is_broken(&self) -> bool {
        self.breaks == "emulator"
    }
}
