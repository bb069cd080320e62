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
    PathLog = "path_log", "A recorded path, a line per second (LeoEM's format). Hosts: end1, end2. Ports: hop (all); dish (those of the ends into the sky, where [port.dish] says more than [port.hop]); host (with [port.host] hosts have a link of their own, without delay, to the ends of the path, as in LeoEM's emulator).";
    file: Named = required(Notation::File, "the log");
    hops: String = key(Notation::Word(&["chain", "nodes"]), "chain", "chain = hop k of the path is port k whoever sits there (queues survive a change of satellites); nodes = each recorded node is a node");
    first: Nanos = key(ANY_TIME, "0 s", "skip this much of the log");
    breaks: String = key(
        Notation::Word(&["none", "emulator"]),
        "none",
        "what a change of satellites breaks: nothing, or what LeoEM's emulator does: links between satellites lose what they hold, those of the ends are down for the time of [handover]",
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
