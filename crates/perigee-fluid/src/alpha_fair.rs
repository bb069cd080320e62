// SPDX-License-Identifier: Apache-2.0 OR MIT
//! α-fair rates: those that maximise the sum of `w U(x / w)` over all demands, with
//! `U(y) = y^(1 - α) / (1 - α)`, or `ln y` for α = 1 (proportional fairness).
//!
//! The dual has a price per resource. A demand with the sum `q` of its prices takes
//! `x = min(limit, w q^(-1/α))`; a resource with a price is full. Prices start at those of the
//! max–min fair rates (the limit for large α) and are corrected one resource after another
//! (coordinate descent on the dual, which is convex and smooth), in a fixed order. Rates that exceed a
//! capacity by rounding or for lack of convergence are reduced before they are returned, and the
//! duality gap is that of the rates returned.

use crate::max_min::{max_min, Bottleneck};
use crate::problem::{Members, Problem};

/// Duality gap at which the search ends, relative to the value of all capacities at their prices.
pub const GAP: f64 = 1e-7;
/// Most passes over all resources.
const PASSES: usize = 20_000;
/// Passes between computations of the gap.
const BETWEEN: usize = 8;

/// α-fair rates and their prices.
#[derive(Clone, Debug, PartialEq)]
pub struct Priced {
    /// Rate of each demand, in bit/s; within all capacities and limits.
    pub rate: Vec<f64>,
    /// Price of each resource.
    pub price: Vec<f64>,
    /// Duality gap, relative to the value of all capacities at their prices.
    pub gap: f64,
    /// Passes over all resources.
    pub passes: usize,
}

struct Market<'a> {
    p: &'a Problem,
    members: Members,
    alpha: f64,
    price: Vec<f64>,
    /// Sum of prices along each demand.
    path: Vec<f64>,
}

/// α-fair rates; `alpha` above 0, 1 for proportional fairness. The problem must pass
/// [`Problem::check`].
pub fn alpha_fair(p: &Problem, alpha: f64) -> Priced {
    let start = max_min(p);
    // Levels of about one keep powers within range.
    let unit = unit(p, &start.rate);
    let scaled = Problem {
        capacity: p.capacity.iter().map(|c| c / unit).collect(),
        limit: p.limit.iter().map(|l| l / unit).collect(),
        ..p.clone()
    };
    let mut price = vec![0.0_f64; p.capacity.len()];
    for (d, by) in start.bottleneck.iter().enumerate() {
        if let Bottleneck::Resource(r) = *by {
            let level = start.rate[d] / unit / p.weight[d];
            if level > 0.0 {
                price[r as usize] = price[r as usize].max(libm::pow(level, -alpha));
            }
        }
    }
    let mut m = Market { members: Members::new(&scaled), path: Vec::new(), price, p: &scaled, alpha };
    let mut passes = 0;
    let (mut rate, mut gap) = m.primal();
    while gap > GAP && passes < PASSES {
        for _ in 0..BETWEEN {
            m.sum_paths();
            (0..m.price.len()).for_each(|r| m.clear_market(r));
        }
        passes += BETWEEN;
        (rate, gap) = m.primal();
    }
    let scale = libm::pow(unit, -alpha);
    rate.iter_mut().for_each(|x| *x *= unit);
    Priced { rate, price: m.price.iter().map(|q| q * scale).collect(), gap, passes }
}

/// Mean rate per weight of the demands that have one.
fn unit(p: &Problem, rate: &[f64]) -> f64 {
    let (sum, weight) = rate.iter().zip(&p.weight).fold((0.0, 0.0), |(s, w), (x, v)| (s + x, w + v));
    let mean: f64 = sum / weight;
    if mean.is_finite() && mean > 0.0 {
        mean
    } else {
        1.0
    }
}

impl Market<'_> {
    fn sum_paths(&mut self) {
        self.path.clear();
        self.path.extend(
            (0..self.p.demands())
                .map(|d| self.p.uses(d).map(|(r, share)| share * self.price[r]).sum::<f64>()),
        );
    }

    /// Rate that a demand takes at a price, and its derivative.
    #[inline]
    fn taken(&self, d: usize, q: f64) -> (f64, f64) {
        let (weight, limit) = (self.p.weight[d], self.p.limit[d]);
        if weight == 0.0 {
            return (0.0, 0.0);
        }
        if q <= 0.0 {
            return (limit, 0.0);
        }
        let level = if self.alpha == 1.0 { 1.0 / q } else { libm::pow(q, -1.0 / self.alpha) };
        let x = weight * level;
        if x >= limit {
            (limit, 0.0)
        } else {
            (x, -x / (self.alpha * q))
        }
    }

    /// Load of a resource if its price were `price`, and its derivative.
    fn load(&self, r: usize, price: f64) -> (f64, f64) {
        let change = price - self.price[r];
        let (mut load, mut slope) = (0.0, 0.0);
        for (d, share) in self.members.of(r) {
            if share > 0.0 {
                let (x, dx) = self.taken(d, (self.path[d] + share * change).max(0.0));
                load += share * x;
                slope += share * share * dx;
            }
        }
        (load, slope)
    }

    /// Sets the price of a resource so that it is full, or to zero if it cannot be.
    fn clear_market(&mut self, r: usize) {
        let capacity = self.p.capacity[r];
        if capacity <= 0.0 {
            return;
        }
        let (old, enough) = (self.price[r], 1e-13 * capacity);
        let mut price = old;
        let (mut load, mut slope) = self.load(r, price);
        if load <= capacity + enough && price == 0.0 {
            return;
        }
        let (mut low, mut high) = (0.0, f64::INFINITY);
        for _ in 0..60 {
            let excess = load - capacity;
            if excess.abs() <= enough {
                break;
            }
            if excess > 0.0 {
                low = price;
            } else {
                high = price;
                if price == 0.0 {
                    break;
                }
            }
            let newton = price - excess / slope;
            let inside = slope < 0.0 && newton.is_finite() && newton > low && newton < high;
            price = if inside {
                newton
            } else if high.is_infinite() {
                if price > 0.0 {
                    price * 4.0
                } else {
                    1e-12
                }
            } else if low == 0.0 && newton <= 0.0 && high < 1e-12 {
                0.0
            } else if low == 0.0 {
                // Zero may be the answer: reached at once if the others fill too little.
                if self.load(r, 0.0).0 <= capacity {
                    0.0
                } else {
                    0.25 * high
                }
            } else {
                libm::sqrt(low * high)
            };
            (load, slope) = self.load(r, price);
            if price == 0.0 && load <= capacity {
                break;
            }
        }
        let change = price - old;
        self.price[r] = price;
        for (d, share) in self.members.of(r) {
            self.path[d] = (self.path[d] + share * change).max(0.0);
        }
    }

    /// Feasible rates at the current prices, and the relative duality gap.
    fn primal(&mut self) -> (Vec<f64>, f64) {
        self.sum_paths();
        let p = self.p;
        let wanted: Vec<f64> = (0..p.demands()).map(|d| self.finite(d)).collect();
        let load = p.loads(&wanted);
        let room = |r: usize| if load[r] > p.capacity[r] { p.capacity[r] / load[r] } else { 1.0 };
        let rate: Vec<f64> = wanted
            .iter()
            .enumerate()
            .map(|(d, x)| x * p.uses(d).filter(|u| u.1 > 0.0).map(|(r, _)| room(r)).fold(1.0, f64::min))
            .collect();
        let value: f64 = self.price.iter().zip(&p.capacity).map(|(q, c)| q * c).sum();
        // The gap of each demand by itself: no cancellation of large sums.
        let mut gap = value;
        for d in 0..p.demands() {
            if p.weight[d] > 0.0 && wanted[d] > 0.0 {
                gap += self.gain(d, wanted[d], rate[d]) - self.path[d] * wanted[d];
            }
        }
        (rate, gap.abs() / value.max(f64::MIN_POSITIVE) * f64::from(u8::from(value > 0.0 || gap > 0.0)))
    }

    /// What a demand takes; nothing behind a resource without capacity.
    fn finite(&self, d: usize) -> f64 {
        let blocked = self.p.uses(d).any(|(r, share)| share > 0.0 && self.p.capacity[r] <= 0.0);
        let (x, _) = self.taken(d, self.path[d]);
        match blocked {
            true => 0.0,
            false if x.is_finite() => x,
            // Without a price yet: the most that its resources carry.
            false => self
                .p
                .uses(d)
                .filter(|u| u.1 > 0.0)
                .map(|(r, s)| self.p.capacity[r] / s)
                .fold(f64::INFINITY, f64::min),
        }
    }

    /// Utility of `high` above that of `low`.
    fn gain(&self, d: usize, high: f64, low: f64) -> f64 {
        let weight = self.p.weight[d];
        let ratio = low / high;
        let y = high / weight;
        if self.alpha == 1.0 {
            -weight * libm::log(ratio)
        } else {
            let power = 1.0 - self.alpha;
            weight * libm::pow(y, power) * -libm::expm1(power * libm::log(ratio)) / power
        }
    }
}
