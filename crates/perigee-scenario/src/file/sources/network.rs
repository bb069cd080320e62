// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[source.network]`.

use crate::file::error::Problem;
use crate::file::grammar::Only;
use crate::file::notation::Notation;
use crate::file::field::Named;
use crate::file::parameters::parameters;
use crate::file::rows::{ANY_TIME, RTT};
use crate::file::sources::SourceSpec;
use perigee_units::{BitRate, Nanos};
use std::path::{Path, PathBuf};

const REROUTED: &[Only] = &[Only::With("reroute", &["changes"])];

parameters! {
    /// `[source.network]`.
    Network = "network", "A user-defined network: links between nodes with arbitrary names. Flows must name their ends. Ports: link (all), or one by its ends, a->b.";
    links: Option<Named> = optional(Notation::File, "CSV with the columns from, to and optionally rate_mbps, delay_ms, loss_pct, queue_packets, t_s; a row applies to both directions, an additional row with exchanged ends to that direction; a row with t_s above 0 changes the link at that time. Or GraphML (.graphml; docs/how-to/inputs.md)");
    link: Vec<Link> = list("[[source.network.link]]: links, in place of a file or in addition to it");
    delay: Option<Nanos> = optional(RTT, "one-way delay of edges of a GraphML file that have neither delay_ms nor nodes with coordinates"), only &[Only::Given(&["links"])];
    routes: Option<Named> = optional(Notation::File, "routes, one per line: nodes from end to end, separated by commas; default: shortest paths by delay at time zero");
    reroute: String = key(Notation::Word(&["never", "changes"]), "never", "recomputation of routes: never, or changes = whenever the delay of a link changes or a link goes down or up"), only &[Only::Absent("routes")];
    reroute_after: Nanos = key(ANY_TIME, "0 s", "delay of new routes after a change of a link"), only REROUTED;
}

parameters! {
    /// `[[source.network.link]]`.
    Link = "link", "A link, or a change of a link, as in a row of the file `links`.";
    from: String = required(Notation::Text, "one end");
    to: String = required(Notation::Text, "the other end");
    at: Nanos = key(ANY_TIME, "0 s", "above 0: change of an existing link at this time");
    rate: Option<BitRate> = optional(Notation::Rate, "transmission rate; default: that of [port.link]");
    delay: Option<Nanos> = optional(RTT, "one-way propagation delay; required in the first entry of a link");
    loss: Option<f64> = optional(Notation::Share(0.0, 1.0), "loss probability, in each direction");
    queue: Option<u64> = optional(Notation::Int(1, 1_000_000_000), "queue capacity in packets; default: that of [port.link]");
}

/// Whether a file of links is GraphML, judged by its name.
pub fn is_graphml(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("graphml"))
}

impl Network {
    /// Delay after which routes follow changes.
    pub fn reroute(&self) -> Option<Nanos> {
        (self.reroute == "changes").then_some(self.reroute_after)
    }
}

impl SourceSpec for Network {
    fn check(self, problems: &mut Vec<Problem>) -> Option<Self> {
        if self.links.is_none() && self.link.is_empty() {
            let p = self.written.problem("links", "no links are given");
            problems.push(p.hint("write links = \"links.csv\", or [[source.network.link]] with from, to, rate and delay"));
            return None;
        }
        for l in self.link.iter().filter(|l| l.from == l.to) {
            let p = l.written.problem("to", "a link from a node to itself");
            problems.push(p.found(format!("{:?}", l.to)));
        }
        if self.delay.is_some() && self.links.as_ref().is_some_and(|file| !is_graphml(&file.path)) {
            let p = self.written.problem("delay", "no effect: applies only to the edges of a GraphML file");
            problems.push(p.hint("use the column delay_ms of the CSV file"));
        }
        Some(self)
    }

    fn files(&self) -> Vec<PathBuf> {
        self.links.iter().chain(&self.routes).map(|named| named.path.clone()).collect()
    }
}
