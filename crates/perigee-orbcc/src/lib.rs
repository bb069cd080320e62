// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Conformance test of the C core of OrbCC (`orbcc/core`), which runs in Linux kernels, against the
//! reference in Rust: both process the same ACKs, and their windows, pacing rates and handovers are
//! compared at each ACK.
//!
//! * [`Core`]: safe interface to the C core.
//! * [`Lockstep`]: a congestion control that runs the reference and passes its inputs to the core.
//! * [`Report`]: results of the comparisons.
//! * [`fuzz`]: random connections.
//! * [`ioam`]: the reader of IOAM traces.

pub mod core;
pub mod fuzz;
pub mod ioam;
pub mod lockstep;
mod wire;

pub use crate::core::{Core, Output, Profile, Receiver, Trust};
pub use lockstep::{Lockstep, Report};
