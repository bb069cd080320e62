// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[source.network]`.

use crate::file::checked::Checked;
use crate::file::error::Problem;
use crate::file::kind::Kind;
use crate::file::parameters::{parameters, Named};
use crate::file::sources::SourceSpec;
use std::path::PathBuf;

parameters! {
    /// `[source.network]`.
    Network = "network", "A network of one's own: links between nodes of any names, from a CSV file. Flows name their ends. Ports: link (all), or one by its ends, a->b.";
    links: Named = required(Kind::File, "CSV with the columns from, to and, as wanted, rate_mbps, delay_ms, loss_pct, queue_packets, t_s; a row holds for both directions, a further one from the other end for that direction; a row with t_s above 0 changes the link at that time");
    routes: Option<Named> = optional(Kind::File, "a line per route: its nodes from end to end with commas between them; default: the smallest sum of delays at time zero");
}

impl SourceSpec for Network {
    fn parse(c: &Checked, _: &mut Vec<Problem>) -> Option<Self> {
        Some(Network::read(c))
    }

    fn files(&self) -> Vec<PathBuf> {
        std::iter::once(&self.links).chain(&self.routes).map(|named| named.path.clone()).collect()
    }
}
