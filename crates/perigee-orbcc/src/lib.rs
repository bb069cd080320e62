// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Conformance of the C core of OrbCC (`orbcc/core`), which runs in Linux kernels, with the
//! reference in Rust: both process the same ACKs, and their windows, pacing rates and handovers are
//! compared at each.
//!
//! * [`Core`]: the C core behind safe functions.
//! * [`Lockstep`]: a congestion control that is the reference and feeds the core with its inputs.
//! * [`Report`]: results of the comparisons.
//! * [`fuzz`]: random connections.

pub mod core;
pub mod fuzz;
pub mod lockstep;
mod wire;

pub use crate::core::{Core, Output, Profile, Receiver, Trust};
pub use lockstep::{Lockstep, Report};
