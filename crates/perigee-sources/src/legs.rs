// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pairs along part of a flow's path: one for each leg of a split connection.

use crate::topology::{add_pair, Built, FlowPath, Hop};
use perigee_timeline::{NodeId, PairId};

impl Built {
    /// Adds a pair along the first flow with a path through both nodes, in this order; returns its
    /// index in [`Built::flows`]. `None` = no such flow.
    pub fn part(&mut self, from: &str, to: &str) -> Option<usize> {
        let node = |name: &str| self.header.nodes.iter().position(|n| n.name == name);
        let (a, b) = (NodeId(node(from)? as u32), NodeId(node(to)? as u32));
        let hops = self.flows.iter().find_map(|f| {
            let [data, acks] = &f.hops;
            Some([self.between(data, a, b)?.to_vec(), self.between(acks, b, a)?.to_vec()])
        })?;
        let forward = self.pair(a, b, &hops[0]);
        let reverse = self.pair(b, a, &hops[1]);
        self.flows.push(FlowPath { forward, reverse, hops });
        Some(self.flows.len() - 1)
    }

    /// Hops of a path from one node to another.
    fn between<'a>(&self, way: &'a [Hop], from: NodeId, to: NodeId) -> Option<&'a [Hop]> {
        let first = way.iter().position(|h| self.header.ports[h.port.ix()].node == from)?;
        let last = way.iter().position(|h| self.header.links[h.link.ix()].to == to)?;
        (first <= last).then(|| &way[first..=last])
    }

    fn pair(&mut self, from: NodeId, to: NodeId, hops: &[Hop]) -> PairId {
        add_pair(&mut self.header, &mut self.paths, from, to, hops)
    }
}

#[cfg(test)]
mod tests {
    use crate::topology::{chain, dumbbell, ChainSpec, DumbbellSpec};
    use perigee_timeline::store::check;
    use perigee_units::Nanos;

    #[test]
    fn the_parts_of_a_way_are_the_whole_way() {
        let mut b = chain(&ChainSpec { links: 5, ..ChainSpec::default() }).unwrap();
        let parts = [("s", "r2"), ("r2", "r3"), ("r3", "d")].map(|(a, z)| b.part(a, z).unwrap());
        for way in 0..2 {
            let mut legs: Vec<_> = parts.iter().map(|&p| b.flows[p].hops[way].clone()).collect();
            if way == 1 {
                legs.reverse();
            }
            assert_eq!(legs.concat(), b.flows[0].hops[way]);
        }
        check(&b.timeline(Nanos::from_secs(1), vec![])).unwrap();
    }

    #[test]
    fn nodes_that_no_flow_visits_in_this_order_have_no_part() {
        let mut b = dumbbell(&DumbbellSpec::default()).unwrap();
        assert_eq!([b.part("r2", "r1"), b.part("r1", "nobody"), b.part("r1", "r1")], [None; 3]);
        assert_eq!(b.part("r1", "r2"), Some(b.flows.len() - 1));
    }
}
