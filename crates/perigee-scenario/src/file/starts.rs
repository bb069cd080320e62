// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names of starts in scenarios.

/// Values of `slow_start`; the first leaves the start to the scheme.
pub(crate) const NAMES: &[&str] = &["own", "classic", "hystart", "hystart++", "search", "careful", "rapid"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_start_is_a_value_of_the_key() {
        let ids: Vec<_> = perigee_cc::STARTS.iter().map(|s| s.id).collect();
        assert_eq!(NAMES[1..], ids);
    }
}
