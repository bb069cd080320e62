// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fluid allocation of capacities to demands: steady-state rates, without packets or time.
//!
//! * [`problem`]: resources with capacities, demands with weights, limits and paths.
//! * [`max_min()`]: weighted max–min fair rates by progressive filling, exact.
//! * [`alpha_fair()`]: proportionally and α-fair rates, to a given duality gap.
//! * [`verify`]: the optimality conditions of both, checked independently of the algorithms.
//!
//! Rates are in bit/s. The algorithms are sequential, with sums in a fixed order: the same problem
//! gives bit-identical results on every machine. Callers solve independent problems in parallel.

pub mod alpha_fair;
pub mod max_min;
pub mod problem;
pub mod verify;

pub use alpha_fair::{alpha_fair, Priced};
pub use max_min::{max_min, Allocation, Bottleneck};
pub use problem::{Problem, Unusable};
