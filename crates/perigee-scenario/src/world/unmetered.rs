// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Warning about ports that are not metered, under carriers that derive rates from transit times.

use crate::file::checked::Given;
use crate::file::scenario::Scenario;
use crate::world::network::Network;

/// Names that a warning lists.
const MOST_LISTED: usize = 3;

/// Whether parameters of a scheme say `carrier = "ioam"`.
fn derives_rates(given: &Given) -> bool {
    given.get("carrier").is_some_and(|(value, _)| value.to_string().trim_matches('"') == "ioam")
}

/// A warning if a scheme has `carrier = "ioam"` and ports are not metered.
pub fn warning(scenario: &Scenario, net: &Network) -> Option<String> {
    let of_flows = scenario.flows.iter().map(|f| &f.cc_params);
    if !scenario.cc.values().chain(of_flows).any(derives_rates) {
        return None;
    }
    let names: Vec<&str> = net.ports.iter().filter(|p| !p.metered).map(|p| p.name.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let more = if names.len() > MOST_LISTED { ", ..." } else { "" };
    Some(format!(
        "carrier = \"ioam\" derives rates from the times at which a packet reaches its ports: with ports of its path that are \
         not metered ({}{more}) telemetry is partial, and the fallback of the scheme may act for the whole run; set \
         port.all.metered = true",
        names[..names.len().min(MOST_LISTED)].join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use crate::{Scenario, World};
    use std::path::Path;
    use std::sync::Arc;

    fn warnings(carrier: &str, port: &str) -> Vec<String> {
        let text = format!(
            "[run]\nduration = \"10 s\"\n[source.parking_lot]\nbottlenecks = 2\n[port.bottleneck]\nrate = \"10 Mbit\"\n\
             {port}\n[[flow]]\ncc = \"orbcc\"\n[cc.orbcc]\ncarrier = {carrier:?}\n"
        );
        let s = Scenario::parse(&text, "test", Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}"));
        World::build(Arc::new(s), 1).unwrap_or_else(|e| panic!("{e}")).warnings
    }

    #[test]
    fn ports_that_are_not_metered_are_named() {
        let names =
            |w: &[String], port: &str| w.iter().any(|w| w.contains("not metered (") && w.contains(port));
        let all = "[port.all]\nmetered = true";
        // Access ports are not metered by default.
        assert!(names(&warnings("ioam", ""), ", ..."), "{:?}", warnings("ioam", ""));
        assert!(!names(&warnings("ioam", all), ""), "{:?}", warnings("ioam", all));
        let one = format!("{all}\n[port.\"r0->r1\"]\nmetered = false");
        assert!(names(&warnings("ioam", &one), "(r0->r1)"), "{:?}", warnings("ioam", &one));
        assert!(!names(&warnings("ioam_rate", &one), ""));
    }
}
