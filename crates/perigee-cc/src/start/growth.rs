// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Growth per acknowledged byte in slow start: one, or in proportion to the RTT on long paths.

use crate::{Cx, Domain, Nanos, ParamSpec, Params};

/// RTT above which growth is in proportion to it.
pub(super) const REFERENCE_RTT: ParamSpec = ParamSpec {
    name: "reference_rtt",
    domain: Domain::Time { default: Nanos::ZERO, min: Nanos::ZERO, max: Nanos::from_secs(10) },
    unit: "",
    source: "off; picoquic: 100 ms (PICOQUIC_TARGET_RENO_RTT)",
    help: "on paths with a longer RTT, an acknowledged byte counts RTT / reference_rtt times, so that growth per time equals that of a path with this RTT; 0 = off",
};

/// RTT up to which growth rises (PICOQUIC_TARGET_SATELLITE_RTT).
const LONGEST: Nanos = Nanos::from_millis(610);

/// Growth of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Growth(Nanos);

impl Growth {
    /// By the parameter `reference_rtt`.
    pub fn new(p: &Params) -> Self {
        Growth(p.time(REFERENCE_RTT.name))
    }

    /// Bytes by which acknowledged bytes grow the window.
    pub fn of(&self, cx: &Cx, acked: u64) -> u64 {
        let rtt = cx.srtt.min(LONGEST);
        if self.0 == Nanos::ZERO || rtt <= self.0 {
            return acked;
        }
        (u128::from(acked) * u128::from(rtt.0) / u128::from(self.0 .0)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_follows_the_rtt_between_the_reference_and_that_of_a_satellite() {
        let grown = |reference, ms| {
            let cx = Cx { srtt: Nanos::from_millis(ms), ..Cx::default() };
            Growth(Nanos::from_millis(reference)).of(&cx, 1000)
        };
        assert_eq!((grown(0, 600), grown(100, 90), grown(100, 600)), (1000, 1000, 6000));
        assert_eq!(grown(100, 1200), 6100);
    }
}
