// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Paths lengthened by shared attachment: the satellite of a terminal with several peers minimises
//! the sum of its paths, so that the path to one peer may be much longer than without the others.

use crate::sky::config::{GroundKind, SkySpec};
use crate::sky::error::SkyError;
use crate::sky::policy::{Peers, Policy};
use crate::sky::{Route, Sky};
use perigee_timeline::PairId;
use perigee_units::Nanos;

/// Numbers of instants and pairs examined.
const INSTANTS: u64 = 8;
const PAIRS: usize = 20;

/// A path lengthened by other pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedChoice {
    /// Ends of the pair.
    pub ends: (String, String),
    /// The end that also has other peers, and all its peers.
    pub terminal: String,
    #[allow(missing_docs)]
    pub peers: Vec<String>,
    /// Instant.
    pub t: Nanos,
    /// Round-trip propagation time with all pairs,
    pub rtt: Nanos,
    /// and with this pair alone.
    pub alone: Nanos,
}

impl Sky {
    /// Paths lengthened by other pairs because a terminal uses one satellite for all its peers,
    /// each at the worst of several instants of the run; the longest first.
    ///
    /// # Errors
    /// If a satellite decays during the run.
    pub fn shared_choices(&self) -> Result<Vec<SharedChoice>, SkyError> {
        if self.spec.attach != Policy::ShortestPath || self.spec.attach_for == Peers::First {
            return Ok(Vec::new());
        }
        let several = |g: usize| self.spec.ground[g].kind == GroundKind::Terminal && self.peers[g].len() > 1;
        // Every second pair is a reverse direction.
        let pairs = self.spec.pairs.iter().enumerate().step_by(2);
        let shared: Vec<(PairId, (usize, usize), usize)> = pairs
            .filter_map(|(i, &(a, b))| {
                let terminal = [a, b].into_iter().find(|&g| several(g))?;
                Some((PairId(i as u32), (a, b), terminal))
            })
            .take(PAIRS)
            .collect();
        let mut worst: Vec<Option<SharedChoice>> = vec![None; shared.len()];
        let alone = shared.iter().map(|&(_, (a, b), _)| self.only((a, b))).collect::<Result<Vec<_>, _>>()?;
        let instants = if shared.is_empty() { 0 } else { INSTANTS };
        for k in 0..instants {
            let t = self.spec.duration * k / INSTANTS;
            let together = self.routes_at(t)?;
            for ((&(pair, (a, b), g), alone), worst) in shared.iter().zip(&alone).zip(&mut worst) {
                let rtt = |r: &Route| r.one_way() * 2;
                let here = together[pair.ix()].as_ref().map(rtt);
                let Some((rtt, alone)) = here.zip(alone.route_at(PairId(0), t)?.as_ref().map(rtt)) else {
                    continue;
                };
                let longer = rtt.saturating_sub(alone);
                if longer > worst.as_ref().map_or(Nanos::ZERO, |w| w.rtt - w.alone) {
                    let name = |g: usize| self.spec.ground[g].name.clone();
                    let peers = self.peers[g].iter().map(|&p| name(p)).collect();
                    let ends = (name(a), name(b));
                    *worst = Some(SharedChoice { ends, terminal: name(g), peers, t, rtt, alone });
                }
            }
        }
        let mut found: Vec<SharedChoice> = worst.into_iter().flatten().collect();
        found.sort_by_key(|c| std::cmp::Reverse(c.rtt - c.alone));
        Ok(found)
    }

    /// The same sky with a single pair.
    fn only(&self, (a, b): (usize, usize)) -> Result<Sky, SkyError> {
        Sky::new(SkySpec { pairs: vec![(a, b), (b, a)], ..self.spec.clone() })
    }
}

impl std::fmt::Display for SharedChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let SharedChoice { ends, terminal, peers, t, rtt, alone } = self;
        write!(
            f,
            "{} to {} has an RTT of {:.1} ms at {t} and would have {:.1} alone: {terminal} has one satellite for {}, that of \
             the smallest sum of paths (attach_for)",
            ends.0,
            ends.1,
            rtt.as_millis_f64(),
            alone.as_millis_f64(),
            peers.join(", "),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sky::config::GroundNode;
    use perigee_timeline::GeoPoint;

    fn sky(pairs: &[(usize, usize)], attach_for: Peers) -> Sky {
        let place = |name: &str, lat_deg: f64, lon_deg: f64| {
            GroundNode::new(name, GroundKind::Terminal, GeoPoint { lat_deg, lon_deg, height_m: 0.0 })
        };
        Sky::new(SkySpec {
            ground: vec![
                place("london", 51.5, -0.1),
                place("paris", 48.9, 2.4),
                place("sydney", -33.9, 151.2),
            ],
            pairs: pairs.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect(),
            attach_for,
            duration: Nanos::from_secs(40),
            ..SkySpec::default()
        })
        .unwrap()
    }

    #[test]
    fn a_pair_that_changes_anothers_satellite_is_told() {
        let found = sky(&[(0, 2), (0, 1)], Peers::All).shared_choices().unwrap();
        let short = found.iter().find(|c| c.ends.1 == "paris").unwrap();
        assert!(short.rtt > short.alone * 2, "{short}");
        assert_eq!((short.terminal.as_str(), short.peers.len()), ("london", 2));
        assert!(short.alone < Nanos::from_millis(9));
        assert_eq!(sky(&[(0, 1)], Peers::All).shared_choices().unwrap(), []);
    }

    #[test]
    fn of_the_first_pair_later_ones_change_nothing() {
        let alone = sky(&[(0, 1)], Peers::All);
        let with_others = sky(&[(0, 1), (0, 2)], Peers::First);
        let summed = sky(&[(0, 1), (0, 2)], Peers::All);
        let rtts = |sky: &Sky| -> Vec<_> {
            (0..8).map(|k| sky.route_at(PairId(0), Nanos::from_secs(5 * k)).unwrap()).collect()
        };
        assert_eq!(rtts(&alone), rtts(&with_others));
        assert_ne!(rtts(&alone), rtts(&summed));
    }
}
