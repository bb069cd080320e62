// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Two dumbbells in parallel; at given times the pairs of the second move to the bottleneck of the
//! first, and back.
//!
//! Hosts of the second dumbbell have access links to both. A move loses no packets: those in flight
//! finish the path on which they started (OrbCC study, E6; the cross path of the Mininet testbed).

use crate::topology::{Built, Drawing, Duplex, Placement, TopologyError};
use perigee_timeline::*;
use perigee_units::{BitRate, Nanos};

/// Routers `a1`, `a2` and `b1`, `b2`; pairs `s1, d1 …`: those of the first dumbbell, then those of
/// the second.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossingSpec {
    /// Pairs that stay on `a1 -> a2`.
    pub staying: usize,
    /// Pairs that start on `b1 -> b2` and move.
    pub moving: usize,
    /// Round-trip time of each pair on either path.
    pub rtts: Vec<Nanos>,
    /// Times at which the moving pairs change sides.
    pub moves: Vec<Nanos>,
    /// Fixed one-way delay of each bottleneck; the access links have the rest.
    pub bottleneck_delay: Nanos,
    /// All ports of and towards the hosts.
    pub access: PortSpec,
    /// Both bottlenecks, in both directions.
    pub bottleneck: PortSpec,
}

impl Default for CrossingSpec {
    fn default() -> Self {
        CrossingSpec {
            staying: 2,
            moving: 2,
            rtts: vec![Nanos::from_millis(50); 4],
            moves: Vec::new(),
            bottleneck_delay: Nanos::ZERO,
            access: PortSpec::packets(BitRate::from_mbit(10_000), 100_000),
            bottleneck: PortSpec::default(),
        }
    }
}

/// Builds the network. The bottlenecks are `a1 -> a2` and `b1 -> b2`.
///
/// # Errors
/// If there are no pairs, or an RTT is missing or shorter than the fixed delays.
pub fn crossing(spec: &CrossingSpec) -> Result<Built, TopologyError> {
    let pairs = spec.staying + spec.moving;
    if pairs == 0 || spec.rtts.len() != pairs {
        return Err(TopologyError(format!("{} round-trip times for {pairs} pairs", spec.rtts.len())));
    }
    let mut d = Drawing::default();
    let routers = ["a1", "a2", "b1", "b2"].map(|name| d.node(name.into(), NodeClass::Router));
    let middles = [0, 2].map(|i| {
        let ends = (routers[i], routers[i + 1]);
        d.duplex(ends, &spec.bottleneck, &spec.bottleneck, 0.0, LinkOrder::Fifo)
    });
    d.bottlenecks.extend(middles);
    let mut others = Vec::new();
    for i in 1..=pairs {
        let s = d.node(format!("s{i}"), NodeClass::Host);
        let t = d.node(format!("d{i}"), NodeClass::Host);
        let mut way = |side: usize| {
            let [enter, leave] = [routers[2 * side], routers[2 * side + 1]];
            let first = d.duplex((s, enter), &spec.access, &spec.access, 0.0, LinkOrder::Fifo);
            let last = d.duplex((leave, t), &spec.access, &spec.access, 0.0, LinkOrder::Fifo);
            [first, middles[side], last]
        };
        let moves = i > spec.staying;
        let home = way(usize::from(moves));
        let other = moves.then(|| way(0));
        d.flow(s, t, &home);
        others.extend(other.map(|other| (i - 1, home, other)));
    }
    let changes = moves(spec, &d, &others);
    let mut built =
        d.finish_placed("two dumbbells".into(), Placement::Access, spec.bottleneck_delay, &spec.rtts)?;
    let hops = |along: &[Duplex; 3]| {
        [along.map(|d| d.forward).to_vec(), along.iter().rev().map(|d| d.reverse).collect()]
    };
    built.add_paths(others.iter().map(|(i, _, other)| (*i, hops(other))).collect())?;
    built.paths.extend(changes);
    Ok(built)
}

/// New paths of the moving pairs at each move, with notes.
fn moves(spec: &CrossingSpec, d: &Drawing, others: &[(usize, [Duplex; 3], [Duplex; 3])]) -> Vec<Timed> {
    let mut out = Vec::new();
    for (k, &at) in spec.moves.iter().enumerate() {
        for (i, home, other) in others {
            let along = if k % 2 == 0 { other } else { home };
            let flow = &d.flows[*i];
            let data = along.iter().map(|d| d.forward.link).collect();
            let acks = along.iter().rev().map(|d| d.reverse.link).collect();
            out.push(Timed { at, change: Change::Path(flow.forward, Some(data)) });
            out.push(Timed { at, change: Change::Path(flow.reverse, Some(acks)) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_timeline::store::check;

    #[test]
    fn moving_pairs_cross_the_first_bottleneck_between_the_moves() {
        let ms = Nanos::from_millis;
        let spec = CrossingSpec {
            rtts: vec![ms(50), ms(50), ms(20), ms(20)],
            moves: vec![ms(100), ms(200)],
            bottleneck_delay: Nanos(500_000),
            ..CrossingSpec::default()
        };
        let mut built = crossing(&spec).unwrap();
        let shared = built.bottlenecks[0].forward.link;
        let delay =
            |links: &[LinkId]| links.iter().map(|l| built.header.links[l.ix()].delay.base.0).sum::<u64>();
        let of = |pair: PairId| -> Vec<_> {
            let mine = built.paths.iter().filter_map(|t| match &t.change {
                Change::Path(p, Some(links)) if *p == pair => Some((t.at, links.clone())),
                _ => None,
            });
            mine.collect()
        };
        let mover = of(built.flows[2].forward);
        assert_eq!(mover.iter().map(|(at, _)| at.0 / 1_000_000).collect::<Vec<_>>(), [0, 100, 200]);
        assert_eq!(mover.iter().map(|(_, l)| l.contains(&shared)).collect::<Vec<_>>(), [false, true, false]);
        assert!(mover.iter().all(|(_, l)| delay(l) == 10_000_000));
        assert_eq!(of(built.flows[0].forward).len(), 1);
        built.spread_rtts(|flow| [1.0, 1.01, 0.99, 1.0][flow]).unwrap();
        let one_way =
            |links: &[LinkId]| links.iter().map(|l| built.header.links[l.ix()].delay.base.0).sum::<u64>();
        let [home, away, back] = [0, 1, 2].map(|k| one_way(&mover[k].1));
        assert_eq!([home, away, back], [9_900_000; 3], "the factor holds on every path of the flow");
        check(&built.timeline(ms(300), vec![])).unwrap();
        assert!(crossing(&CrossingSpec { rtts: vec![ms(50)], ..CrossingSpec::default() }).is_err());
    }
}
