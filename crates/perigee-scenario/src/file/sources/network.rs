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
    Network = "network", "A network of one's own: links between nodes of any names. Flows name their ends. Ports: link (all), or one by its ends, a->b.";
    links: Option<Named> = optional(Notation::File, "CSV with the columns from, to and, as wanted, rate_mbps, delay_ms, loss_pct, queue_packets, t_s; a row holds for both directions, a further one from the other end for that direction; a row with t_s above 0 changes the link at that time. Or GraphML (.graphml; docs/how-to/inputs.md)");
    link: Vec<Link> = list("[[source.network.link]]: links here, instead of a file or besides");
    delay: Option<Nanos> = optional(RTT, "one-way delay of the edges of a GraphML file of which neither delay_ms nor the places of their nodes say one"), only &[Only::Given(&["links"])];
    routes: Option<Named> = optional(Notation::File, "a line per route: its nodes from end to end with commas between them; default: the smallest sum of delays at time zero");
    reroute: String = key(Notation::Word(&["never", "changes"]), "never", "when routes are computed again: never, or whenever the delay of a link changes, one goes down or comes up"), only &[Only::Absent("routes")];
    reroute_after: Nanos = key(ANY_TIME, "0 s", "routes follow a change so much later"), only REROUTED;
}

parameters! {
    /// `[[source.network.link]]`.
    Link = "link", "A link, or a change of one: as a row of the file `links`.";
    from: String = required(Notation::Text, "one end");
    to: String = required(Notation::Text, "the other end");
    at: Nanos = key(ANY_TIME, "0 s", "above 0: the link, which is there already, changes at that time");
    rate: Option<BitRate> = optional(Notation::Rate, "rate of its transmitters; default: that of [port.link]");
    delay: Option<Nanos> = optional(RTT, "one-way propagation delay; the first entry of a link must have it");
    loss: Option<f64> = optional(Notation::Number(0.0, 1.0), "probability that a packet is lost, each way");
    queue: Option<u64> = optional(Notation::Int(1, 1_000_000_000), "packets that may wait; default: as [port.link] says");
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
            let p = self.written.problem("links", "required: a network has links");
            problems.push(p.hint("write links = \"links.csv\", or [[source.network.link]] with from, to, rate and delay"));
            return None;
        }
        for l in self.link.iter().filter(|l| l.from == l.to) {
            let p = l.written.problem("to", "a link from a node to itself");
            problems.push(p.found(format!("{:?}", l.to)));
        }
        if self.delay.is_some() && self.links.as_ref().is_some_and(|file| !is_graphml(&file.path)) {
            let p = self.written.problem("delay", "has no effect: it is for the edges of a GraphML file");
            problems.push(p.hint("CSV gives delays in a column delay_ms"));
        }
        Some(self)
    }

    fn files(&self) -> Vec<PathBuf> {
        self.links.iter().chain(&self.routes).map(|named| named.path.clone()).collect()
    }
}
