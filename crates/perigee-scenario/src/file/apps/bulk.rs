// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `app = "bulk"`: one transfer, or many that arrive one after the other.

use crate::file::apps::Spec;
use crate::file::error::Problem;
use crate::file::grammar::Only;
use crate::file::notation::Notation;
use crate::file::field::Bytes;
use crate::file::parameters::parameters;
use perigee_timeline::{App, Law};

const ARRIVALS: &[Only] = &[Only::Given(&["arrivals"])];
const NO_ARRIVALS: &[Only] = &[Only::Absent("arrivals")];
const VIA: &[Only] = &[Only::Given(&["via"])];

parameters! {
    /// `app = "bulk"`.
    Bulk = "bulk", "As much as the transport takes.";
    bytes: Option<Bytes> = optional(Notation::Data, "amount to transfer; default: no limit"), only NO_ARRIVALS;
    arrivals: Option<Law> = optional(
        Notation::TimeLaw,
        "time between arrivals instead of one flow: each is a connection of its own that transfers one object from start to stop (exponential: a Poisson process)",
    );
    object: Option<Law> = optional(Notation::DataLaw, "size of a transfer that arrives"), only ARRIVALS;
    via: Option<Vec<String>> = optional(
        Notation::OneOrMany(&Notation::Text),
        "nodes on its way with a proxy that splits it, from sender to receiver: a connection of its own for each leg, named \"NAME leg 1\" and so on; the last leg's goodput is what arrives",
    );
    via_cc: Option<Vec<String>> = optional(
        Notation::OneOrMany(&Notation::Scheme("*")),
        "congestion control of each leg; default: cc for all",
    ), only VIA;
    via_buffer: Bytes = key(
        Notation::Data,
        "4 MB",
        "what a proxy may hold that the next leg has not acknowledged; the leg before it is offered the rest as receive window",
    ), only VIA;
    via_standing: bool = key(
        Notation::Bool,
        "false",
        "legs between two proxies are standing connections: no handshake, and their RTT is known",
    ), only VIA;
    via_spoof: bool = key(
        Notation::Bool,
        "true",
        "a proxy answers a SYN at once, not when the next leg is established",
    ), only VIA;
}

impl Bulk {
    pub(super) fn spec(self, problems: &mut Vec<Problem>) -> Spec {
        let Some(gap) = self.arrivals else {
            return App::Bulk { bytes: self.bytes.map(|b| b.0) }.into();
        };
        if matches!(gap, Law::Fixed(g) if g < 1e-6) {
            problems.push(self.written.problem("arrivals", "arrivals without time between them never end"));
        }
        let object = self.object.unwrap_or_else(|| {
            let p = self.written.problem("object", "the size of the transfers that arrive must be given");
            problems.push(p.hint("write object = \"pareto(100 kB, 1.3)\""));
            Law::Fixed(1.0)
        });
        Spec { app: App::Bulk { bytes: None }, arrivals: Some((gap, object)) }
    }
}
