// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The packet-level simulator: carries a workload over a timeline.
//!
//! Floors:
//! * [`setup`]: what a simulation is made of (flows with their controller and transport options, run options).
//! * [`observe`]: what it tells while it runs, and what it leaves behind.
//!
//! It knows nothing of files, scenario syntax, plots or satellites.

pub mod observe;
pub mod setup;

pub use observe::*;
pub use setup::*;
