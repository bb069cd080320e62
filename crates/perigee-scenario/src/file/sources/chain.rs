// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[source.chain]`.

use crate::file::error::Problem;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use crate::file::rows::RTT;
use crate::file::sources::SourceSpec;
use perigee_timeline::LinkOrder;
use perigee_units::Nanos;

/// Number of links of a small topology above which it is considered a mistake.
const MAX_LINKS: usize = 1_000_000;

parameters! {
    /// `[source.chain]`.
    Chain = "chain", "Hosts s and d, connected by routers r1, r2, … in a row. Ports: bottleneck (data direction), reverse.";
    links: usize = key(Notation::Int(1, 10_000), "1", "number of links from host to host");
    copies: usize = key(Notation::Int(1, 100_000), "1", "number of independent parallel chains (hosts s.1, d.1, s.2, …)");
    rtt: Nanos = key(RTT, "50 ms", "round-trip propagation time, distributed evenly over the links");
    loss: f64 = loss();
    reordering: LinkOrder = reordering();
}

impl SourceSpec for Chain {
    fn check(self, problems: &mut Vec<Problem>) -> Option<Self> {
        let (links, copies) = (self.links, self.copies);
        if links * copies > MAX_LINKS {
            let p = self.written.problem("copies", format!("{copies} chains of {links} links are {} links", links * copies));
            problems.push(p.allowed(format!("at most {MAX_LINKS} in total")));
            return None;
        }
        Some(self)
    }
}
