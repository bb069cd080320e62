// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Traffic pairs: the peers of each ground point and the path searches they need.

use crate::sky::config::SkySpec;
use crate::sky::policy::Peers;
use perigee_timeline::{PairId, Routing};

/// Two ground points with traffic, and the direction of the search for their path.
#[derive(Clone, Debug)]
pub(crate) struct PairSearch {
    /// Ground point at which the path starts.
    pub from: usize,
    /// Ground point at which the shortest-path tree is rooted.
    pub root: usize,
    /// Pair with traffic along the path, if any, and the one in the reverse direction.
    pub along: Option<PairId>,
    pub against: Option<PairId>,
    /// Pair named in event notes: the one listed first. With next-hop tables only one of the two
    /// directions has it.
    pub noted: Option<PairId>,
}

/// Per ground point: those with traffic to or from it.
pub(crate) fn peers(spec: &SkySpec) -> Vec<Vec<usize>> {
    let mut peers = vec![Vec::new(); spec.ground.len()];
    for &(a, b) in &spec.pairs {
        peers[a].push(b);
        peers[b].push(a);
    }
    for p in &mut peers {
        p.sort_unstable();
        p.dedup();
    }
    peers
}

/// Peers of a ground point that determine its terminal's satellite.
pub(crate) fn sought(spec: &SkySpec, peers: &[Vec<usize>]) -> Vec<Vec<usize>> {
    match spec.attach_for {
        Peers::All => peers.to_vec(),
        Peers::First => {
            let other = |g: usize, &(a, b): &(usize, usize)| match (a == g, b == g) {
                (true, _) => Some(b),
                (_, true) => Some(a),
                _ => None,
            };
            let first = |g: usize| spec.pairs.iter().find_map(|p| other(g, p)).into_iter().collect();
            (0..peers.len()).map(first).collect()
        }
    }
}

/// Searches of all pairs, sorted by root. With a path per pair both directions share a search,
/// rooted at the end with more peers (which yields fewer trees); with next-hop tables each
/// destination is a root.
pub(crate) fn ways(spec: &SkySpec, peers: &[Vec<usize>]) -> Vec<PairSearch> {
    let mut ways: Vec<PairSearch> = Vec::new();
    for (i, &(a, b)) in spec.pairs.iter().enumerate() {
        let id = PairId(i as u32);
        let noted = (!spec.pairs[..i].contains(&(b, a))).then_some(id);
        let same = |w: &&mut PairSearch| (w.from, w.root) == (a, b) || (w.from, w.root) == (b, a);
        match ways.iter_mut().find(same) {
            Some(w) if spec.routing == Routing::PerPath => {
                let place = if w.from == a { &mut w.along } else { &mut w.against };
                *place = Some(id);
            }
            _ => {
                let turn = spec.routing == Routing::PerPath && (peers[a].len(), a) > (peers[b].len(), b);
                let (from, root) = if turn { (b, a) } else { (a, b) };
                let (along, against) = if turn { (None, Some(id)) } else { (Some(id), None) };
                ways.push(PairSearch { from, root, along, against, noted });
            }
        }
    }
    ways.sort_by_key(|w| w.root);
    ways
}
