// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[source.network]`.

use crate::file::checked::Checked;
use crate::file::error::{Place, Problem};
use crate::file::grammar::Content::List;
use crate::file::grammar::{Key, Only, Section};
use crate::file::kind::Kind;
use crate::file::parameters::{FromKey, Named};
use crate::file::rows::{key, optional, required, ANY_TIME, RTT};
use crate::file::sources::SourceSpec;
use perigee_units::{BitRate, Nanos};
use std::path::{Path, PathBuf};

/// `[source.network]`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // SECTION documents each
pub struct Network {
    pub links: Option<Named>,
    /// In the order of the file.
    pub link: Vec<Link>,
    pub delay: Option<Nanos>,
    pub routes: Option<Named>,
    /// Routes follow changes, so much later.
    pub reroute: Option<Nanos>,
    pub place: Place,
}

/// `[[source.network.link]]`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // LINK documents each
pub struct Link {
    pub ends: [String; 2],
    pub at: Nanos,
    pub rate: Option<BitRate>,
    pub delay: Option<Nanos>,
    pub loss: Option<f64>,
    pub queue: Option<u64>,
    pub place: Place,
}

const REROUTED: &[Only] = &[Only::With("reroute", &["changes"])];

impl Network {
    /// Its keys.
    pub const SECTION: Section = Section {
        name: "network",
        help: "A network of one's own: links between nodes of any names. Flows name their ends. Ports: link (all), or one by its ends, a->b.",
        keys: &[
            optional("links", Kind::File, "CSV with the columns from, to and, as wanted, rate_mbps, delay_ms, loss_pct, queue_packets, t_s; a row holds for both directions, a further one from the other end for that direction; a row with t_s above 0 changes the link at that time. Or GraphML (.graphml; docs/inputs.md)"),
            Key {
                name: "link",
                content: List(&LINK),
                default: None,
                required: false,
                help: "[[source.network.link]]: links here, instead of a file or besides",
                only: &[],
            },
            optional("delay", RTT, "one-way delay of the edges of a GraphML file of which neither delay_ms nor the places of their nodes say one").only(&[Only::Given(&["links"])]),
            optional("routes", Kind::File, "a line per route: its nodes from end to end with commas between them; default: the smallest sum of delays at time zero"),
            key("reroute", Kind::Word(&["never", "changes"]), "never", "when routes are computed again: never, or whenever the delay of a link changes, one goes down or comes up").only(&[Only::Absent("routes")]),
            key("reroute_after", ANY_TIME, "0 s", "routes follow a change so much later").only(REROUTED),
        ],
        kinds: None,
    };
}

/// `[[source.network.link]]`.
const LINK: Section = Section {
    name: "link",
    help: "A link, or a change of one: as a row of the file `links`.",
    keys: &[
        required("from", Kind::Text, "one end"),
        required("to", Kind::Text, "the other end"),
        key("at", ANY_TIME, "0 s", "above 0: the link, which is there already, changes at that time"),
        optional("rate", Kind::Rate, "rate of its transmitters; default: that of [port.link]"),
        optional("delay", RTT, "one-way propagation delay; the first entry of a link must have it"),
        optional("loss", Kind::Number(0.0, 1.0), "probability that a packet is lost, each way"),
        optional("queue", Kind::Int(1, 1_000_000_000), "packets that may wait; default: as [port.link] says"),
    ],
    kinds: None,
};

/// Whether a file of links is GraphML, by its name.
pub fn is_graphml(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("graphml"))
}

impl SourceSpec for Network {
    fn parse(c: &Checked, problems: &mut Vec<Problem>) -> Option<Self> {
        if !c.has("links") && c.list("link").is_empty() {
            let p = c.problem("links", "required: a network has links");
            problems.push(p.hint("write links = \"links.csv\", or [[source.network.link]] with from, to, rate and delay"));
            return None;
        }
        let link = |l: &Checked| Link {
            ends: [l.text("from"), l.text("to")],
            at: l.time("at"),
            rate: l.opt_rate("rate"),
            delay: l.opt_time("delay"),
            loss: l.opt_number("loss"),
            queue: l.opt_int("queue").map(|n| n as u64),
            place: l.place.clone(),
        };
        for l in c.list("link").iter().filter(|l| l.text("from") == l.text("to")) {
            problems.push(l.problem("to", "a link from a node to itself").found(format!("{:?}", l.text("to"))));
        }
        let links: Option<Named> = FromKey::from_key(c, "links");
        if c.has("delay") && links.as_ref().is_some_and(|file| !is_graphml(&file.path)) {
            let p = c.problem("delay", "has no effect: it is for the edges of a GraphML file");
            problems.push(p.hint("CSV gives delays in a column delay_ms"));
        }
        Some(Network {
            links,
            link: c.list("link").iter().map(link).collect(),
            delay: c.opt_time("delay"),
            routes: FromKey::from_key(c, "routes"),
            reroute: (c.text("reroute") == "changes").then(|| c.time("reroute_after")),
            place: c.place.clone(),
        })
    }

    fn files(&self) -> Vec<PathBuf> {
        self.links.iter().chain(&self.routes).map(|named| named.path.clone()).collect()
    }
}
