// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Constants and options of BBRv3: differences between the kernel and the draft.

use super::bounds::Flight;
use crate::bbr::units::UNIT;
use crate::*;

/// Parameters, with the kernel's defaults.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "variant",
        domain: Domain::Choice(&["linux", "draft", "inet"]),
        unit: "",
        source: "google/bbr v3; draft-ietf-ccwg-bbr; Avian688/bbr 43c7ad8",
        help: "behaviour where the kernel and the draft differ; inet = the model of the OrbCC study's simulator, on its TCP (bbr3 only)",
    },
    ParamSpec {
        name: "ecn_max_rtt",
        domain: Domain::Time {
            default: Nanos::from_millis(5),
            min: Nanos::ZERO,
            max: Nanos::from_secs(10),
        },
        unit: "",
        source: "google/bbr v3",
        help: "maximum value of the minimum RTT at which ECN marks are used (with tcp.ecn); 0 = always",
    },
    ParamSpec {
        name: "on_notice",
        domain: Domain::Choice(&["ignore", "refresh"]),
        unit: "",
        source: "choice",
        help: "reaction to notifications of handovers and path changes: refresh = restart the path model",
    },
    ParamSpec {
        name: "refresh_skip",
        domain: Domain::Time { default: Nanos::ZERO, min: Nanos::ZERO, max: Nanos::from_secs(10) },
        unit: "",
        source: "choice",
        help: "with on_notice = refresh: time for which samples are ignored, in addition to those of packets sent before",
    },
];

/// BBRv3 with reconfiguration notices.
pub fn hint() -> Vec<(&'static str, Value)> {
    vec![("on_notice", Value::Text("refresh".into()))]
}

pub(super) const MIN_CWND: u64 = 4;
pub(super) const FULL_BW_GROWTH: u64 = UNIT * 5 / 4;
pub(super) const FULL_BW_ROUNDS: u32 = 3;
pub(super) const STARTUP_LOSS_EVENTS: u32 = 6;
/// The kernel's counter has four bits.
pub(super) const MAX_LOSS_EVENTS: u32 = 15;
pub(super) const HEADROOM: u64 = UNIT * 15 / 100;
pub(super) const PROBE_WAIT_US: u64 = 2_000_000;
pub(super) const PROBE_WAIT_SPREAD_US: u32 = 1_000_000;
/// Bound of the rounds between probes, at which Reno would probe about as often as the clock does.
pub(super) const MAX_PROBE_ROUNDS: u64 = 63;
pub(super) const PROBE_ROUNDS_SPREAD: u32 = 2;
pub(super) const MAX_UP_ROUNDS: u32 = 30;
pub(super) const MIN_RTT_WINDOW: Nanos = Nanos::from_secs(10);
pub(super) const PROBE_RTT_INTERVAL: Nanos = Nanos::from_secs(5);
pub(super) const PROBE_RTT_DURATION: Nanos = Nanos::from_millis(200);
/// Kernel: more than ⌊5 n / 256⌋ of n packets; a single loss is therefore too much with fewer than
/// 52 packets.
const LOSS_THRESHOLD: u64 = UNIT * 2 / 100;

/// Gains in 1/256.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub draft: bool,
    pub startup_pacing: u64,
    pub startup_cwnd: u64,
    pub drain_pacing: u64,
    pub drain_cwnd: u64,
    pub drain_rounds: Option<u32>,
    pub down_pacing: u64,
    pub up_pacing: u64,
    pub up_cwnd: u64,
    pub cwnd: u64,
    /// Factor applied to the bandwidth or to data in flight after a loss.
    pub beta: u64,
    /// Maximum of the lowest RTT for marks to count; zero = any.
    pub ecn_max_rtt: Nanos,
    pub refresh_on_notice: bool,
    pub refresh_skip: Nanos,
}

impl Rules {
    pub fn new(p: &Params) -> Self {
        let draft = p.choice("variant") == "draft";
        Rules {
            draft,
            startup_pacing: if draft { UNIT * 277 / 100 } else { UNIT * 277 / 100 + 1 },
            startup_cwnd: 2 * UNIT,
            drain_cwnd: 2 * UNIT,
            drain_pacing: if draft { UNIT / 2 } else { UNIT * 1000 / 2885 },
            drain_rounds: draft.then_some(3),
            down_pacing: if draft { UNIT * 90 / 100 } else { UNIT * 91 / 100 },
            up_pacing: UNIT * 5 / 4,
            up_cwnd: 2 * UNIT + UNIT / 4,
            cwnd: 2 * UNIT,
            beta: if draft { UNIT * 70 / 100 } else { UNIT - UNIT * 30 / 100 },
            ecn_max_rtt: p.time("ecn_max_rtt"),
            refresh_on_notice: p.choice("on_notice") == "refresh",
            refresh_skip: p.time("refresh_skip"),
        }
    }

    /// Whether the loss rate indicates too much data in flight.
    pub fn is_too_high(&self, f: &Flight) -> bool {
        if f.lost == 0 || f.tx_in_flight == 0 {
            return false;
        }
        match self.draft {
            true => f.lost.saturating_mul(50) > f.tx_in_flight,
            false => f.lost > f.tx_in_flight.saturating_mul(LOSS_THRESHOLD) / UNIT,
        }
    }

    /// Packets in flight up to the point, within the lost packet, at which the loss rate became too
    /// high.
    pub fn inflight_before_loss(&self, f: &Flight) -> u64 {
        let before = f.tx_in_flight - 1;
        let lost_before = f.lost - 1;
        let budget = before.saturating_mul(LOSS_THRESHOLD).div_ceil(UNIT);
        before + budget.saturating_sub(lost_before) * UNIT / (UNIT - LOSS_THRESHOLD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(variant: &str) -> Rules {
        let given = std::collections::BTreeMap::from([("variant".to_string(), Value::Text(variant.into()))]);
        Rules::new(&Params::new(PARAMS, given).unwrap())
    }

    #[test]
    fn quantised_constants_are_the_kernels() {
        let r = rules("linux");
        assert_eq!((r.startup_pacing, r.drain_pacing, r.down_pacing), (710, 88, 232));
        assert_eq!((r.up_pacing, r.up_cwnd, r.cwnd, r.startup_cwnd), (320, 576, 512, 512));
        assert_eq!((r.beta, HEADROOM, LOSS_THRESHOLD, FULL_BW_GROWTH), (180, 38, 5, 320));
        assert_eq!(r.drain_rounds, None);
    }

    #[test]
    fn one_lost_packet_is_too_much_below_52_in_flight_and_two_up_to_102() {
        let too_high = |variant, lost, tx_in_flight| {
            rules(variant).is_too_high(&Flight { lost, tx_in_flight, app_limited: false })
        };
        for (n, allowed) in [(1, 0), (51, 0), (52, 1), (102, 1), (103, 2), (153, 2), (154, 3)] {
            assert!(!too_high("linux", allowed, n) && too_high("linux", allowed + 1, n), "{n}");
        }
        assert!(!too_high("draft", 1, 50) && too_high("draft", 1, 49));
        assert!(!too_high("linux", 0, 10) && !too_high("linux", 3, 0));
    }

    #[test]
    fn the_flight_is_cut_where_its_loss_became_too_high() {
        let cut = |lost, tx_in_flight| {
            rules("linux").inflight_before_loss(&Flight { lost, tx_in_flight, app_limited: false })
        };
        assert_eq!(cut(3, 100), 99, "the budget of 2 was used up before");
        assert_eq!(cut(1, 50), 50, "a budget of 1 and nothing lost before");
        assert_eq!(cut(1, 1), 0);
    }
}
