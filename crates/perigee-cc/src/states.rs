// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names of the states that schemes report for the record.

/// All of them, in alphabetical order. Debug builds check each report against it.
pub const STATES: &[&str] = &[
    "additive",
    "avoidance",
    "competitive",
    "congestion avoidance",
    "conservative slow start",
    "control",
    "cruise",
    "cruising",
    "decision made",
    "default",
    "down",
    "drain",
    "fallback",
    "frozen",
    "initial",
    "initial phase",
    "masked",
    "move",
    "multiplicative",
    "no policy",
    "paused",
    "policy",
    "probe",
    "probe_bw",
    "probe_rtt",
    "probing",
    "pushing",
    "rapid start",
    "reconnaissance",
    "recovery",
    "refill",
    "repair",
    "safe retreat",
    "slow start",
    "slowdown",
    "start",
    "starting",
    "startup",
    "steady",
    "told",
    "unvalidated",
    "up",
    "validating",
];

/// The name, after a check in debug builds that it is listed.
pub(crate) fn listed(name: &'static str) -> &'static str {
    debug_assert!(name.is_empty() || STATES.contains(&name), "{name:?} is missing in STATES");
    name
}

#[cfg(test)]
mod tests {
    use super::STATES;

    #[test]
    fn names_are_sorted_and_unique() {
        assert!(STATES.windows(2).all(|w| w[0] < w[1]));
    }
}
