// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Upper bound on the joint capacity of several paths: the sum of the rates of a set of ports that
//! contains a port of every path (a weighted set cover). The smaller of two sums is used: that of
//! the slowest port of each path, and that of a greedy cover, which repeatedly adds the port with
//! the lowest rate per path not covered yet (Chvátal's rule). If no port is shared, or all paths
//! have the same slowest port, the two are equal and only the first, which is maintained
//! incrementally, is needed: thousands of flows may start one after the other.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Paths in use, each as port numbers in ascending order.
#[derive(Clone, Debug, Default)]
pub struct Cover {
    /// Number of uses of each path, and its slowest port.
    paths: BTreeMap<Vec<usize>, (u32, usize)>,
    /// By port: number of distinct paths over it, and of those with it as their slowest port.
    over: Vec<u32>,
    slowest: Vec<u32>,
    /// Number of ports with more than one path.
    shared: usize,
    /// Number of ports that are the slowest of some path, and the sum of their rates.
    limiting: usize,
    sum_bps: u128,
}

impl Cover {
    /// Adds a use of a path.
    pub fn add(&mut self, path: &[usize], rates_bps: &[u64]) {
        if let Some((uses, _)) = self.paths.get_mut(path) {
            *uses += 1;
            return;
        }
        let Some(slowest) = path.iter().copied().min_by_key(|&p| rates_bps[p]) else { return };
        self.paths.insert(path.to_vec(), (1, slowest));
        self.over.resize(rates_bps.len(), 0);
        self.slowest.resize(rates_bps.len(), 0);
        for &port in path {
            self.over[port] += 1;
            self.shared += usize::from(self.over[port] == 2);
        }
        self.slowest[slowest] += 1;
        if self.slowest[slowest] == 1 {
            self.limiting += 1;
            self.sum_bps += u128::from(rates_bps[slowest]);
        }
    }

    /// Removes a use of a path that was added under the same rates.
    pub fn remove(&mut self, path: &[usize], rates_bps: &[u64]) {
        let Some((uses, slowest)) = self.paths.get_mut(path) else { return };
        *uses -= 1;
        if *uses > 0 {
            return;
        }
        let slowest = *slowest;
        self.paths.remove(path);
        for &port in path {
            self.over[port] -= 1;
            self.shared -= usize::from(self.over[port] == 1);
        }
        self.slowest[slowest] -= 1;
        if self.slowest[slowest] == 0 {
            self.limiting -= 1;
            self.sum_bps -= u128::from(rates_bps[slowest]);
        }
    }

    /// Joint capacity of the paths; `None` without paths.
    pub fn rate_bps(&self, rates_bps: &[u64]) -> Option<f64> {
        if self.paths.is_empty() {
            return None;
        }
        let sum = match self.shared == 0 || self.limiting == 1 {
            true => self.sum_bps,
            false => self.sum_bps.min(self.greedy(rates_bps)),
        };
        Some(sum as f64)
    }

    fn greedy(&self, rates_bps: &[u64]) -> u128 {
        let mut users: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut every: Vec<(usize, usize)> =
            self.paths.keys().enumerate().flat_map(|(k, p)| p.iter().map(move |&port| (port, k))).collect();
        every.sort_unstable();
        for (port, path) in every {
            match users.last_mut().filter(|u| u.0 == port) {
                Some(u) => u.1.push(path),
                None => users.push((port, vec![path])),
            }
        }
        let mut covered = vec![false; self.paths.len()];
        // Costs only grow as paths are covered, so an entry popped with its current gain is the
        // cheapest. The bit patterns of non-negative floats sort like their values.
        let cost = |k: usize, gain: usize| ((rates_bps[users[k].0] as f64 / gain as f64).to_bits(), k, gain);
        let mut cheapest: BinaryHeap<_> =
            users.iter().enumerate().map(|(k, (_, paths))| Reverse(cost(k, paths.len()))).collect();
        let mut sum = 0;
        while let Some(Reverse((_, k, gain))) = cheapest.pop() {
            let (port, own) = &users[k];
            match own.iter().filter(|&&path| !covered[path]).count() {
                0 => {}
                now if now == gain => {
                    sum += u128::from(rates_bps[*port]);
                    own.iter().for_each(|&path| covered[path] = true);
                }
                now => cheapest.push(Reverse(cost(k, now))),
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_units::draw::mix;

    /// Capacity of these paths, added to an empty cover and computed without the shortcut.
    fn afresh(paths: &[Vec<usize>], rates: &[u64]) -> Option<f64> {
        let mut c = Cover::default();
        paths.iter().for_each(|p| c.add(p, rates));
        (!paths.is_empty()).then(|| c.sum_bps.min(c.greedy(rates)) as f64)
    }

    #[test]
    fn paths_that_come_and_go_carry_what_those_that_are_left_carry() {
        for seed in 0..300 {
            let draw = |k: u64, below: u64| mix(seed * 100_000 + k) % below;
            let ports = 2 + draw(0, 9);
            let rates: Vec<u64> = (0..ports).map(|p| 10 * draw(100 + p, 5)).collect();
            let (mut c, mut present) = (Cover::default(), Vec::new());
            for step in 0..60 {
                let at = 1000 * (step + 1);
                if draw(at, 3) > 0 || present.is_empty() {
                    let mut path: Vec<usize> =
                        (0..=draw(at + 1, 4)).map(|k| draw(at + 2 + k, ports) as usize).collect();
                    path.sort_unstable();
                    path.dedup();
                    c.add(&path, &rates);
                    present.push(path);
                } else {
                    let gone = present.swap_remove(draw(at + 9, present.len() as u64) as usize);
                    c.remove(&gone, &rates);
                }
                assert_eq!(c.rate_bps(&rates), afresh(&present, &rates), "seed {seed}, step {step}");
            }
        }
    }

    #[test]
    fn a_faster_port_that_all_share_covers_many_slow_ones() {
        let (rates, mut c) = ([10, 10, 10, 15], Cover::default());
        [[0, 3], [1, 3], [2, 3]].iter().for_each(|p| c.add(p, &rates));
        assert_eq!(c.rate_bps(&rates), Some(15.0));
        c.remove(&[2, 3], &rates);
        c.remove(&[1, 3], &rates);
        assert_eq!(c.rate_bps(&rates), Some(10.0));
        c.remove(&[0, 3], &rates);
        assert_eq!(c.rate_bps(&rates), None);
    }
}
