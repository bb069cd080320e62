// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Allocation problem: resources with capacities, and demands that share them.

use std::fmt;

/// Resources and demands. A demand with rate `x` loads each resource that it uses by `share * x`.
/// The shares of a demand over one path are 1. If a demand is split over several paths in fixed
/// proportions, its share of a resource is the sum of the fractions that cross it.
///
/// ```
/// let mut p = perigee_fluid::Problem::new(vec![10e6, 4e6]);
/// p.add(1.0, f64::INFINITY, [0, 1]);
/// p.add(1.0, 2e6, [0]);
/// assert!(p.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Capacity of each resource, in bit/s.
    pub capacity: Vec<f64>,
    pub(crate) weight: Vec<f64>,
    pub(crate) limit: Vec<f64>,
    /// `rows[d]..rows[d + 1]` are the uses of demand `d`.
    pub(crate) rows: Vec<u32>,
    pub(crate) resource: Vec<u32>,
    pub(crate) share: Vec<f64>,
}

/// Invalid capacity, weight, limit or share of a problem, as a human-readable message.
#[derive(Clone, Debug, PartialEq)]
pub struct Unusable(pub String);

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unusable {}

impl Problem {
    /// A problem without demands. `capacity`: of each resource, in bit/s.
    pub fn new(capacity: Vec<f64>) -> Self {
        Problem {
            capacity,
            weight: Vec::new(),
            limit: Vec::new(),
            rows: vec![0],
            resource: Vec::new(),
            share: Vec::new(),
        }
    }

    /// Adds a demand over one path and returns its index. `weight`: relative weight of its rate in the
    /// fairness criterion; `limit`: maximum rate in bit/s, or infinity; `path`: indices of resources,
    /// each at most once. The values are not checked here, see [`Self::check`].
    pub fn add(&mut self, weight: f64, limit: f64, path: impl IntoIterator<Item = u32>) -> usize {
        self.add_split(weight, limit, path.into_iter().map(|r| (r, 1.0)))
    }

    /// Adds a demand that loads each resource of `uses` by a share of its rate; returns its index.
    pub fn add_split(
        &mut self,
        weight: f64,
        limit: f64,
        uses: impl IntoIterator<Item = (u32, f64)>,
    ) -> usize {
        self.weight.push(weight);
        self.limit.push(limit);
        for (resource, share) in uses {
            self.resource.push(resource);
            self.share.push(share);
        }
        self.rows.push(self.resource.len() as u32);
        self.weight.len() - 1
    }

    /// Removes all demands; keeps the resources and the allocated memory.
    pub fn clear_demands(&mut self) {
        self.weight.clear();
        self.limit.clear();
        self.rows.truncate(1);
        self.resource.clear();
        self.share.clear();
    }

    /// Number of demands.
    pub fn demands(&self) -> usize {
        self.weight.len()
    }

    /// Maximum rate of a demand in bit/s; infinite without a limit.
    pub fn limit(&self, demand: usize) -> f64 {
        self.limit[demand]
    }

    /// Relative weight of a demand.
    pub fn weight(&self, demand: usize) -> f64 {
        self.weight[demand]
    }

    /// Indices of the resources of a demand, and the share of its rate on each.
    pub fn uses(&self, demand: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let row = self.row(demand);
        self.resource[row.clone()].iter().map(|&r| r as usize).zip(self.share[row].iter().copied())
    }

    pub(crate) fn row(&self, demand: usize) -> std::ops::Range<usize> {
        self.rows[demand] as usize..self.rows[demand + 1] as usize
    }

    /// Load of each resource in bit/s at given rates of the demands (bit/s), summed in their order.
    pub fn loads(&self, rate: &[f64]) -> Vec<f64> {
        let mut load = vec![0.0; self.capacity.len()];
        for (d, x) in rate.iter().enumerate() {
            for (r, share) in self.uses(d) {
                load[r] += share * x;
            }
        }
        load
    }

    /// Checks all values.
    ///
    /// # Errors
    /// If a capacity, weight or share is negative or not finite, a limit is negative or NaN, a resource
    /// does not exist, or a demand has neither a limit nor a resource.
    pub fn check(&self) -> Result<(), Unusable> {
        let wrong = |text: String| Err(Unusable(text));
        let usable = |x: f64| x >= 0.0 && x.is_finite();
        if let Some((r, c)) = self.capacity.iter().enumerate().find(|(_, c)| !usable(**c)) {
            return wrong(format!("capacity of resource {r} must be finite and at least 0, got {c}"));
        }
        for d in 0..self.demands() {
            let (weight, limit) = (self.weight[d], self.limit[d]);
            if !usable(weight) {
                return wrong(format!("weight of demand {d} must be finite and at least 0, got {weight}"));
            }
            if limit.is_nan() || limit < 0.0 {
                return wrong(format!("limit of demand {d} must be at least 0, got {limit}"));
            }
            if let Some((r, s)) = self.uses(d).find(|&(r, s)| r >= self.capacity.len() || !usable(s)) {
                return wrong(format!(
                    "demand {d} uses a share of {s} of resource {r}: indices must be below {}, shares finite and at \
                     least 0",
                    self.capacity.len()
                ));
            }
            if limit.is_infinite() && weight > 0.0 && self.uses(d).all(|(_, s)| s == 0.0) {
                return wrong(format!(
                    "demand {d} has neither a limit nor a resource: its rate is unbounded"
                ));
            }
        }
        Ok(())
    }
}

/// Demands of each resource: the transpose of the uses, in compressed rows.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    rows: Vec<u32>,
    demand: Vec<u32>,
    share: Vec<f64>,
}

impl Members {
    /// Transposes the uses; the demands of a resource keep their order.
    pub(crate) fn new(p: &Problem) -> Self {
        let mut rows = vec![0u32; p.capacity.len() + 1];
        for &r in &p.resource {
            rows[r as usize + 1] += 1;
        }
        for r in 0..p.capacity.len() {
            rows[r + 1] += rows[r];
        }
        let mut next = rows.clone();
        let mut demand = vec![0u32; p.resource.len()];
        let mut share = vec![0.0; p.resource.len()];
        for d in 0..p.demands() {
            for (r, s) in p.uses(d) {
                let at = next[r] as usize;
                next[r] += 1;
                (demand[at], share[at]) = (d as u32, s);
            }
        }
        Members { rows, demand, share }
    }

    /// Indices of the demands of a resource, and the share of each.
    #[inline]
    pub(crate) fn of(&self, resource: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let row = self.rows[resource] as usize..self.rows[resource + 1] as usize;
        self.demand[row.clone()].iter().map(|&d| d as usize).zip(self.share[row].iter().copied())
    }
}
