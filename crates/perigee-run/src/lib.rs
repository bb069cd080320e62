// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Running: a world under one congestion control → the tables and the manifest of a record.
//!
//! Floors:
//! * [`run`]: one run, with [`recorder`] and [`routes`] listening; [`warnings`]: what to look at before trusting it.
//! * [`trace`]: the packets of one flow, from the run made again.
//! * [`bench`]: the speed table.

// An error carries the scenario's problem; it is made once per mistake, never in a loop that matters.
#![allow(clippy::result_large_err)]

mod ack_bench;
pub mod bench;
pub mod recorder;
pub mod routes;
pub mod run;
pub mod sky_bench;
pub mod trace;
pub mod warnings;

pub use run::{run, Finished, RunError};
pub use trace::{trace, TraceWindow};
