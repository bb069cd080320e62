// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Attachment policies: the choice of satellites and the times of reselection.
//!
//! A policy assigns a price to every visible satellite; the lowest price wins. A new policy takes a
//! variant of [`Policy`] and a branch in `Sky::price`.

use crate::links::length::Access;
use crate::time::Epoch;
use perigee_units::Nanos;

/// Criterion for the best satellite.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    /// Shortest path to the other end. A terminal with several peers uses the satellite with the
    /// smallest sum of path lengths; a station, with a dish for each peer, uses the best one for
    /// each at every step.
    #[default]
    ShortestPath,
    /// Smallest range.
    Nearest,
    /// Highest elevation.
    HighestElevation,
    /// Longest remaining time above the mask.
    LongestVisibility,
    /// A user-defined function.
    Function,
}

/// Peers that determine a terminal's satellite with the shortest-path policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Peers {
    /// All peers: the smallest sum of path lengths. An additional peer may change the satellite.
    #[default]
    All,
    /// Only the peer of the first pair: additional pairs have no effect.
    First,
}

/// Times at which a visible satellite may be replaced by another. A satellite out of view is
/// replaced at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reselect {
    /// At every step.
    #[default]
    EachStep,
    /// Never: a satellite is kept while it is in view.
    WhenLost,
    /// This time after the last selection of the ground point.
    Hold(Nanos),
    /// At common instants of all ground points: when the calendar time modulo `period` is `phase`.
    Slots {
        /// Time between instants.
        period: Nanos,
        /// Time of the first instant after midnight.
        phase: Nanos,
    },
}

/// Reallocation of Starlink as measured: seconds 12, 27, 42 and 57 of every minute.
pub const STARLINK_SLOTS: Reselect =
    Reselect::Slots { period: Nanos::from_secs(15), phase: Nanos::from_secs(12) };

impl Reselect {
    /// Whether a selection is due at `now` if the last one was at `last`.
    pub fn due(self, start: Epoch, last: Nanos, now: Nanos) -> bool {
        match self {
            Reselect::EachStep => true,
            Reselect::WhenLost => false,
            Reselect::Hold(time) => now >= last + time,
            Reselect::Slots { period, phase } => {
                let since_midnight = |t: Nanos| start.plus(t).0 - Epoch::Y2000.0 - phase.0 as i64;
                let slot = |t: Nanos| since_midnight(t).div_euclid(period.0 as i64);
                slot(now) != slot(last)
            }
        }
    }
}

/// Attachment of a ground point.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Held {
    /// Satellite in use.
    pub sat: Option<u32>,
    /// Time of the last selection.
    pub chosen: Nanos,
}

/// A visible satellite and its price.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Offer {
    /// Satellite and slant range.
    pub access: Access,
    /// Price: zero or more, lower is better.
    pub price: f64,
}

/// Selects the satellite of a ground point attached to `holding`. The current one is kept unless
/// another is cheaper by the fraction `hysteresis`; ties go to the lower number.
pub fn choose(offers: &[Offer], holding: Option<u32>, hysteresis: f64) -> Option<Access> {
    let best =
        offers.iter().min_by(|a, b| a.price.total_cmp(&b.price).then(a.access.sat.cmp(&b.access.sat)))?;
    let held = offers.iter().find(|o| Some(o.access.sat) == holding);
    let stays = held.filter(|h| h.price <= best.price * (1.0 + hysteresis));
    Some(stays.unwrap_or(best).access)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(sat: u32, price: f64) -> Offer {
        Offer { access: Access { sat, range: 1 }, price }
    }

    #[test]
    fn the_cheapest_wins_and_the_one_in_use_wins_a_tie() {
        let offers = [offer(3, 50.0), offer(1, 50.0), offer(2, 70.0)];
        let sat = |holding, hysteresis| choose(&offers, holding, hysteresis).unwrap().sat;
        assert_eq!(sat(None, 0.0), 1);
        assert_eq!(sat(Some(3), 0.0), 3);
        assert_eq!(sat(Some(2), 0.0), 1);
        assert_eq!(choose(&[], Some(3), 0.0), None);
    }

    #[test]
    fn hysteresis_keeps_a_satellite_that_is_nearly_as_good() {
        let offers = [offer(1, 50.0), offer(2, 54.0)];
        assert_eq!(choose(&offers, Some(2), 0.10).unwrap().sat, 2);
        assert_eq!(choose(&offers, Some(2), 0.05).unwrap().sat, 1);
        assert_eq!(choose(&offers, Some(9), 9.0).unwrap().sat, 1, "a satellite that is gone is not kept");
    }

    #[test]
    fn a_held_satellite_is_reconsidered_after_its_time() {
        let s = Nanos::from_secs;
        assert!(!Reselect::Hold(s(16)).due(Epoch::Y2000, s(3), s(18)));
        assert!(Reselect::Hold(s(16)).due(Epoch::Y2000, s(3), s(19)));
        assert!(!Reselect::WhenLost.due(Epoch::Y2000, s(0), s(9999)));
    }

    #[test]
    fn slots_are_the_seconds_12_27_42_and_57_of_the_calendar() {
        let start = Epoch::parse("2022-09-14T11:06:50Z").unwrap();
        let step = Nanos::from_millis(100);
        let due: Vec<u64> = (1..1200)
            .filter(|k| STARLINK_SLOTS.due(start, step * (k - 1), step * *k))
            .map(|k| (50 + k / 10) % 60)
            .collect();
        assert_eq!(due, [57, 12, 27, 42, 57, 12, 27, 42]);
    }
}
