// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parallel paths between two routers, among which the packets of each flow are spread.

use crate::topology::{Built, Drawing, Hop, Placement, TopologyError};
use perigee_timeline::*;
use perigee_units::{BitRate, Nanos};

/// Routers `r1`, `r2`, and `m1`, `m2`, … in between; pairs `s1, d1 …`. ACKs return over `m1`.
#[derive(Clone, Debug, PartialEq)]
pub struct ParallelSpec {
    /// Round-trip time of each pair over the first path, without its `path_delays`.
    pub rtts: Vec<Nanos>,
    /// Delay that each path adds to that of the data; its length is the number of paths.
    pub path_delays: Vec<Nanos>,
    /// Choice among the paths.
    pub by: SpreadBy,
    /// All ports of and towards the hosts, and those of `r1`.
    pub access: PortSpec,
    /// `m1 -> r2`, `m2 -> r2`, …, and the other direction.
    pub bottleneck: PortSpec,
}

impl Default for ParallelSpec {
    fn default() -> Self {
        ParallelSpec {
            rtts: vec![Nanos::from_millis(50)],
            path_delays: vec![Nanos::ZERO; 2],
            by: SpreadBy::Flow,
            access: PortSpec::packets(BitRate::from_mbit(10_000), 100_000),
            bottleneck: PortSpec::default(),
        }
    }
}

/// Builds the network. The bottlenecks are `m1 -> r2`, `m2 -> r2`, ….
///
/// # Errors
/// If there are no pairs or no paths.
pub fn parallel(spec: &ParallelSpec) -> Result<Built, TopologyError> {
    if spec.rtts.is_empty() || spec.path_delays.is_empty() {
        return Err(TopologyError("parallel paths need at least one pair and one path".into()));
    }
    let mut d = Drawing::default();
    let [r1, r2] = ["r1", "r2"].map(|name| d.node(name.into(), NodeClass::Router));
    let mut paths = Vec::new();
    for k in 1..=spec.path_delays.len() {
        let m = d.node(format!("m{k}"), NodeClass::Router);
        let enter = d.duplex((r1, m), &spec.access, &spec.access, 0.0, LinkOrder::Fifo);
        let leave = d.duplex((m, r2), &spec.bottleneck, &spec.bottleneck, 0.0, LinkOrder::Fifo);
        d.bottlenecks.push(leave);
        paths.push([enter, leave]);
    }
    let mut choices = Vec::new();
    for i in 1..=spec.rtts.len() {
        let s = d.node(format!("s{i}"), NodeClass::Host);
        let t = d.node(format!("d{i}"), NodeClass::Host);
        let first = d.duplex((s, r1), &spec.access, &spec.access, 0.0, LinkOrder::Fifo);
        let last = d.duplex((r2, t), &spec.access, &spec.access, 0.0, LinkOrder::Fifo);
        let along = |k: usize| [first, paths[k][0], paths[k][1], last];
        d.flow(s, t, &along(0));
        let mut own = vec![d.flows[i - 1].forward];
        for k in 1..paths.len() {
            let hops: Vec<Hop> = along(k).iter().map(|d| d.forward).collect();
            own.push(d.pair(s, t, &hops));
        }
        choices.push(own);
    }
    let added = paths.iter().zip(&spec.path_delays).map(|(path, &delay)| (path[1].forward.link, delay));
    let added = added.collect();
    let title = format!("{} parallel paths", paths.len());
    let mut built = d.finish_placed(title, Placement::Access, Nanos::ZERO, &spec.rtts)?;
    built.header.spread = Some(Box::new(Spread { by: spec.by, paths: choices }));
    built.add_delays(added)?;
    Ok(built)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_timeline::store::check;

    #[test]
    fn each_pair_has_every_path_and_each_path_its_delay() {
        let ms = Nanos::from_millis;
        let spec = ParallelSpec {
            rtts: vec![ms(40), ms(60)],
            path_delays: vec![ms(0), ms(10), ms(25)],
            ..ParallelSpec::default()
        };
        let mut built = parallel(&spec).unwrap();
        let spread = built.header.spread.clone().unwrap();
        let one_way = |built: &Built, pair: PairId| -> u64 {
            let path = built.paths.iter().find_map(|t| match &t.change {
                Change::Path(p, Some(links)) if *p == pair => Some(links.clone()),
                _ => None,
            });
            path.unwrap().iter().map(|l| built.header.links[l.ix()].delay.base.0 / 1_000_000).sum()
        };
        let delays = |built: &Built| -> Vec<Vec<u64>> {
            spread.paths.iter().map(|own| own.iter().map(|&p| one_way(built, p)).collect()).collect()
        };
        assert_eq!(delays(&built), [[20, 30, 45], [30, 40, 55]]);
        assert_eq!(built.bottlenecks.len(), 3);
        built.spread_rtts(|flow| [1.0, 2.0][flow]).unwrap();
        assert_eq!(delays(&built), [[20, 30, 45], [60, 70, 85]]);
        let changes = built.set_rtts(ms(5), &[ms(80)]).unwrap();
        let added = changes.iter().any(|t| {
            matches!(&t.change, Change::Delay(l, d) if *l == built.bottlenecks[2].forward.link && d.base == ms(25))
        });
        assert!(added);
        check(&built.clone().timeline(ms(300), vec![])).unwrap();
        built.header.spread.as_mut().unwrap().paths[0].push(built.flows[1].forward);
        assert!(check(&built.timeline(ms(300), vec![])).is_err(), "pairs with other ends");
    }
}
