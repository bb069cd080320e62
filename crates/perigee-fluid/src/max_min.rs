// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Weighted max–min fair rates by progressive filling.
//!
//! All rates rise together, each in proportion to its weight, until a demand reaches its limit or a
//! resource is full; those demands keep their rate, the others continue. Resources become full in
//! the order of their levels `(capacity - load of fixed demands) / weight of the others`. A level
//! never falls when a demand is fixed at a lower or equal one. A heap with outdated entries, which
//! are corrected when they are removed, therefore gives the exact order. The sums of a resource are
//! recomputed when it becomes full, so that rounding errors do not accumulate.

use crate::problem::{Members, Problem};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Constraint that limits the rate of a demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bottleneck {
    /// The demand's own limit, or a weight of zero.
    Limit,
    /// A full resource, by index.
    Resource(u32),
}

/// Rates of all demands.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// Rate of each demand, in bit/s.
    pub rate: Vec<f64>,
    /// Load of each resource, in bit/s.
    pub load: Vec<f64>,
    /// Constraint of each demand.
    pub bottleneck: Vec<Bottleneck>,
}

/// Level (bit/s per unit of weight) at which a resource is full or a demand reaches its limit.
/// Ordered by level, then by index.
#[derive(Clone, Copy, PartialEq)]
struct Event {
    level: f64,
    /// Index of the resource or demand.
    index: u32,
}

impl Eq for Event {}
impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        self.level.total_cmp(&other.level).then(self.index.cmp(&other.index))
    }
}

/// Sums over the demands of a resource.
#[derive(Clone, Copy, Default)]
struct Sums {
    /// Load of the fixed demands, in bit/s.
    fixed: f64,
    /// Weight of the other demands.
    weight: f64,
    /// Number of the other demands.
    rising: u32,
}

/// State of progressive filling.
struct Filling<'a> {
    p: &'a Problem,
    sums: Vec<Sums>,
    rate: Vec<f64>,
    /// Constraint of each fixed demand; `None` = its rate still rises.
    limited_by: Vec<Option<Bottleneck>>,
}

impl Filling<'_> {
    /// Level at which a resource is full, from its sums.
    fn level(&self, r: usize) -> f64 {
        let s = self.sums[r];
        ((self.p.capacity[r] - s.fixed) / s.weight).max(0.0)
    }

    /// Fixes the rate of a demand.
    fn fix(&mut self, d: usize, rate: f64, by: Bottleneck) {
        (self.rate[d], self.limited_by[d]) = (rate, Some(by));
        let weight = self.p.weight[d];
        for i in self.p.row(d) {
            let (s, share) = (&mut self.sums[self.p.resource[i] as usize], self.p.share[i]);
            if share > 0.0 {
                s.fixed += share * rate;
                s.weight -= share * weight;
                s.rising -= 1;
            }
        }
    }

    /// Fixes all rising demands of a resource at its level.
    fn fill(&mut self, r: usize, members: &Members) {
        let (mut fixed, mut weight) = (0.0, 0.0);
        for (d, share) in members.of(r).filter(|&(_, share)| share > 0.0) {
            match self.limited_by[d] {
                Some(_) => fixed += share * self.rate[d],
                None => weight += share * self.p.weight[d],
            }
        }
        let level = ((self.p.capacity[r] - fixed) / weight).max(0.0);
        for (d, share) in members.of(r) {
            if share > 0.0 && self.limited_by[d].is_none() {
                let rate = (self.p.weight[d] * level).min(self.p.limit[d]);
                self.fix(d, rate, Bottleneck::Resource(r as u32));
            }
        }
    }
}

/// Computes the weighted max–min fair rates: no demand can have more unless one with a lower or
/// equal rate per weight has less. The problem must pass [`Problem::check`]; otherwise the result
/// is unspecified.
pub fn max_min(p: &Problem) -> Allocation {
    let members = Members::new(p);
    let mut f = Filling {
        p,
        sums: vec![Sums::default(); p.capacity.len()],
        rate: vec![0.0; p.demands()],
        limited_by: vec![None; p.demands()],
    };
    let mut limits: Vec<Event> = Vec::with_capacity(p.demands());
    for d in 0..p.demands() {
        if p.weight[d] == 0.0 || p.limit[d] == 0.0 {
            f.limited_by[d] = Some(Bottleneck::Limit);
            continue;
        }
        for (r, share) in p.uses(d).filter(|&(_, share)| share > 0.0) {
            f.sums[r].weight += share * p.weight[d];
            f.sums[r].rising += 1;
        }
        if p.limit[d].is_finite() {
            limits.push(Event { level: p.limit[d] / p.weight[d], index: d as u32 });
        }
    }
    limits.sort_unstable();
    let full = |r: usize, f: &Filling<'_>| Reverse(Event { level: f.level(r), index: r as u32 });
    let mut heap: BinaryHeap<_> =
        (0..p.capacity.len()).filter(|&r| f.sums[r].rising > 0).map(|r| full(r, &f)).collect();
    let mut next_limit = 0;
    loop {
        while next_limit < limits.len() && f.limited_by[limits[next_limit].index as usize].is_some() {
            next_limit += 1;
        }
        let limit = limits.get(next_limit);
        let Some(&Reverse(first)) = heap.peek() else {
            let Some(limit) = limit else { break };
            let d = limit.index as usize;
            f.fix(d, p.limit[d], Bottleneck::Limit);
            continue;
        };
        if let Some(limit) = limit.filter(|l| l.level <= first.level) {
            let d = limit.index as usize;
            f.fix(d, p.limit[d], Bottleneck::Limit);
            continue;
        }
        let r = first.index as usize;
        heap.pop();
        if f.sums[r].rising == 0 {
            continue;
        }
        let now = full(r, &f);
        let later = now.0.level > first.level;
        let overtaken =
            heap.peek().is_some_and(|next| next > &now) || limit.is_some_and(|l| l.level <= now.0.level);
        if later && overtaken {
            heap.push(now);
        } else {
            f.fill(r, &members);
        }
    }
    let load = p.loads(&f.rate);
    let bottleneck = f.limited_by.iter().map(|by| by.unwrap_or(Bottleneck::Limit)).collect();
    Allocation { rate: f.rate, load, bottleneck }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_flow_over_three_links_shares_each_with_a_short_one() {
        let mut p = Problem::new(vec![10.0, 20.0, 4.0]);
        p.add(1.0, f64::INFINITY, [0, 1, 2]);
        for r in 0..3 {
            p.add(1.0, f64::INFINITY, [r]);
        }
        let a = max_min(&p);
        assert_eq!(a.rate, [2.0, 8.0, 18.0, 2.0]);
        assert_eq!(a.load, p.capacity);
        assert_eq!(a.bottleneck[0], Bottleneck::Resource(2));
    }

    #[test]
    fn weights_divide_a_link_and_limits_leave_the_rest_to_others() {
        let mut p = Problem::new(vec![12.0]);
        p.add(1.0, f64::INFINITY, [0]);
        p.add(3.0, f64::INFINITY, [0]);
        assert_eq!(max_min(&p).rate, [3.0, 9.0]);
        p.add(8.0, 4.0, [0]);
        let a = max_min(&p);
        assert_eq!(a.rate, [2.0, 6.0, 4.0]);
        assert_eq!(a.bottleneck[2], Bottleneck::Limit);
    }

    #[test]
    fn a_split_demand_is_limited_by_its_slower_path() {
        let mut p = Problem::new(vec![10.0, 3.0]);
        p.add_split(1.0, f64::INFINITY, [(0, 0.5), (1, 0.5)]);
        p.add(1.0, f64::INFINITY, [0]);
        let a = max_min(&p);
        assert_eq!(a.rate, [6.0, 7.0]);
        assert_eq!(a.load, [10.0, 3.0]);
    }

    #[test]
    fn nothing_flows_over_a_resource_without_capacity() {
        let mut p = Problem::new(vec![0.0, 5.0]);
        p.add(1.0, 9.0, [0, 1]);
        p.add(1.0, 9.0, [1]);
        p.add(0.0, 9.0, [1]);
        assert_eq!(max_min(&p).rate, [0.0, 5.0, 0.0]);
    }

    #[test]
    fn unusable_numbers_are_reported() {
        let mut p = Problem::new(vec![1.0]);
        p.add(1.0, f64::INFINITY, []);
        assert!(p.check().unwrap_err().0.contains("neither a limit nor a resource"));
        let mut p = Problem::new(vec![1.0]);
        p.add(1.0, 1.0, [1]);
        assert!(p.check().unwrap_err().0.contains("indices must be below 1"));
        assert!(Problem::new(vec![f64::NAN])
            .check()
            .unwrap_err()
            .0
            .contains("must be finite and at least 0, got NaN"));
    }
}
