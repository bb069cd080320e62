// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The packet-level simulator: carries a workload over a timeline.
//!
//! Floors:
//! * [`Simulation`]: the event loop. Behind it: `schedule` (what happens next), `packet` (arenas), `net` (ports and
//!   links), `routes` (ways and their RTT), `host` (both ends of a flow), `relay` (split connections), `notices` (what
//!   flows are told of handovers).
//! * [`setup`]: what a simulation is made of (flows with their controller and transport options, run options).
//! * [`observe`]: what it metered_data while it runs, and what it leaves behind.
//!
//! It knows nothing of files, scenario syntax, plots or satellites.

pub mod apps;
mod host;
mod net;
mod notices;
pub mod observe;
mod packet;
mod relay;
mod routes;
mod schedule;
pub mod setup;
mod simulation;

pub use observe::*;
pub use relay::Leg;
pub use setup::*;
pub use simulation::Simulation;
