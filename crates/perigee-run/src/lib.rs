// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Running: a world under one congestion control → the tables and the manifest of a record.
//!
//! Layers:
//! * [`mod@run`]: the composition: a world, a backend, sinks; [`manifest`]; [`warnings`] about its
//!   results.
//! * [`backends`]: the registry of backends; [`simulator`] is the default one.
//! * [`capture`], [`mod@trace`]: further sinks: a capture; the packets of one flow, from a repeated
//!   run.
//! * [`mod@bench`]: the speed table.

// An error carries the scenario's problem; it is made once per mistake, never in a loop that
// matters.
#![allow(clippy::result_large_err)]

pub mod backends;
pub mod bench;
pub mod capture;
pub mod manifest;
pub mod run;
pub mod trace;
pub mod warnings;

pub use backends::simulator::{self, Plugins, Simulator};
pub use manifest::Manifest;
pub use perigee_backend as backend;
pub use run::{check, record, run, workload, Finished, Recorded, RunError};
pub use trace::{trace, TraceWindow};
