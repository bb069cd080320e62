// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Optimality conditions, computed from a problem and its rates alone.

use crate::problem::Problem;

/// How far rates are from being feasible and max–min fair, as relative errors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MaxMinError {
    /// Largest excess of a load over its capacity, or of a rate over its limit.
    pub excess: f64,
    /// Largest shortfall of a demand: below its limit, without a full resource on which no other
    /// demand has a higher rate per weight.
    pub unfair: f64,
}

/// Checks the characterisation of max–min fairness: every demand below its limit has a full resource
/// on which its rate per weight is the highest. Resources within `slack` (relative) of their capacity
/// are full.
pub fn max_min(p: &Problem, rate: &[f64], slack: f64) -> MaxMinError {
    let load = p.loads(rate);
    let mut highest = vec![0.0_f64; p.capacity.len()];
    let level = |d: usize| rate[d] / p.weight(d);
    let rising = |d: &usize| p.weight(*d) > 0.0;
    for d in (0..p.demands()).filter(rising) {
        for (r, share) in p.uses(d) {
            if share > 0.0 {
                highest[r] = highest[r].max(level(d));
            }
        }
    }
    let mut error = MaxMinError::default();
    for (r, &c) in p.capacity.iter().enumerate() {
        error.excess = error.excess.max((load[r] - c) / c.max(1.0));
    }
    for d in (0..p.demands()).filter(rising) {
        let limit = p.limit(d);
        error.excess = error.excess.max((rate[d] - limit) / limit.max(1.0));
        if rate[d] >= limit * (1.0 - slack) {
            continue;
        }
        let short = |(r, share): (usize, f64)| {
            let full = share > 0.0 && load[r] >= p.capacity[r] - slack * p.capacity[r].max(1.0);
            if full {
                (highest[r] - level(d)) / highest[r].max(f64::MIN_POSITIVE)
            } else {
                f64::INFINITY
            }
        };
        let best = p.uses(d).map(short).fold(f64::INFINITY, f64::min);
        error.unfair = error.unfair.max(best);
    }
    error
}
