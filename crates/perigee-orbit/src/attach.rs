// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which satellite a ground point uses. A policy is a small function here; more of them (longest visibility, a fixed
//! reallocation period, learnt ones) join [`Policy`] and [`choose`].

use crate::routing::{Access, Weight};

/// How a satellite is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    /// The satellite on the shortest path to the other end. A terminal with several peers takes the one with the
    /// smallest sum; a station, which has a dish for each, takes the best for each peer.
    #[default]
    ShortestPath,
    /// The nearest one.
    Nearest,
}

/// A visible satellite and what it is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// Satellite and slant range.
    pub access: Access,
    /// Length of the paths to all peers through it, where the policy asks for it.
    pub paths: Weight,
}

/// The satellite for a terminal that holds `holding` now. The one it holds wins a tie, then the lower number.
pub fn choose(policy: Policy, offers: &[Offer], holding: Option<u32>) -> Option<Access> {
    let price = |o: &Offer| match policy {
        Policy::ShortestPath => o.paths,
        Policy::Nearest => o.access.range,
    };
    let best = offers.iter().min_by_key(|o| (price(o), Some(o.access.sat) != holding, o.access.sat));
    best.map(|o| o.access)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_looks_at_its_own_price() {
        let offer = |sat, range, paths| Offer { access: Access { sat, range }, paths };
        let offers = [offer(1, 900, 50), offer(2, 600, 70), offer(3, 800, 50)];
        let sat = |policy, holding| choose(policy, &offers, holding).unwrap().sat;
        assert_eq!(sat(Policy::ShortestPath, None), 1);
        assert_eq!(sat(Policy::ShortestPath, Some(3)), 3);
        assert_eq!(sat(Policy::Nearest, Some(3)), 2);
        assert_eq!(choose(Policy::Nearest, &[], Some(3)), None);
    }
}
