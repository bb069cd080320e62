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
    Bulk = "bulk", "Bulk transfer, limited only by the transport.";
    bytes: Option<Bytes> = optional(Notation::Data, "amount to transfer; default: unlimited"), only NO_ARRIVALS;
    arrivals: Option<Law> = optional(
        Notation::TimeLaw,
        "time between arrivals, for many transfers in place of one: each is a separate connection that transfers one object; they arrive from start to stop (exponential: a Poisson process)",
    );
    object: Option<Law> = optional(Notation::DataLaw, "size of each arriving transfer"), only ARRIVALS;
    via: Option<Vec<String>> = optional(
        Notation::OneOrMany(&Notation::Text),
        "nodes with a proxy that splits the connection, from sender to receiver: each leg is a separate connection, named \"NAME leg 1\" and so on; the receiver's goodput is that of the last leg",
    );
    via_cc: Option<Vec<String>> = optional(
        Notation::OneOrMany(&Notation::Scheme("*")),
        "congestion control of each leg; default: cc for all",
    ), only VIA;
    via_buffer: Bytes = key(
        Notation::Data,
        "4 MB",
        "buffer of a proxy for data that the next leg has not acknowledged; its free space is the receive window of the preceding leg",
    ), only VIA;
    via_standing: bool = key(
        Notation::Bool,
        "false",
        "legs between two proxies are persistent connections: no handshake, RTT known in advance",
    ), only VIA;
    via_spoof: bool = key(
        Notation::Bool,
        "true",
        "a proxy answers a SYN immediately, before the next leg is established",
    ), only VIA;
}

impl Bulk {
    pub(super) fn spec(self, problems: &mut Vec<Problem>) -> Spec {
        let Some(gap) = self.arrivals else {
            return App::Bulk { bytes: self.bytes.map(|b| b.0) }.into();
        };
        if matches!(gap, Law::Fixed(g) if g < 1e-6) {
            problems.push(self.written.problem("arrivals", "the time between arrivals must be at least 1 us"));
        }
        let object = self.object.unwrap_or_else(|| {
            let p = self.written.problem("object", "required with arrivals");
            problems.push(p.hint("write object = \"pareto(100 kB, 1.3)\""));
            Law::Fixed(1.0)
        });
        Spec { app: App::Bulk { bytes: None }, arrivals: Some((gap, object)) }
    }
}
