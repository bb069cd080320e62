// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Execution of runs: a world under one congestion control yields the tables and the manifest of a
//! record.
//!
//! Layers:
//! * [`mod@run`]: combines a world, a backend and sinks; [`manifest`]; [`warnings`] about the
//!   results.
//! * [`backends`]: registry of backends; [`simulator`] is the default.
//! * [`capture`], [`mod@trace`]: further sinks: a capture, and the packets of one flow from a
//!   repeated run.
//! * [`mod@bench`]: the speed table.

// An error contains the scenario's problem; it is created once per mistake, never in a hot loop.
#![allow(clippy::result_large_err)]

pub mod backends;
pub mod bench;
pub mod capture;
pub mod manifest;
pub mod run;
pub mod trace;
mod traces;
pub mod warnings;

pub use backends::simulator::{self, Plugins, Simulator};
pub use manifest::Manifest;
pub use perigee_backend as backend;
pub use run::{check, record, run, workload, Finished, Recorded, RunError};
pub use trace::{trace, TraceWindow};
