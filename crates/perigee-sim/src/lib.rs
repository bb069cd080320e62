// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The packet-level simulator: carries a workload over a timeline.
//!
//! Floors:
//! * [`Simulation`]: the event loop, which runs to the end or step by step. Behind it: `schedule` (what happens next),
//!   `packet` (arenas), `net` (ports and links), `routes` (ways and their RTT), `host` (the ends of a flow), `notices`
//!   (handovers as flows learn of them).
//! * [`outside`]: ends that are not in the simulation; [`external`]: decisions of congestion control from there.
//! * [`setup`]: what a simulation is made of (flows with their controller and transport options, run options).
//! * [`observe`]: what it metered_data while it runs, and what it leaves behind.
//!
//! It knows nothing of files, scenario syntax, plots or satellites.

pub mod external;
mod host;
mod net;
mod notices;
pub mod observe;
pub mod outside;
mod packet;
mod prefetch;
mod routes;
mod schedule;
pub mod setup;
mod simulation;

pub use external::External;
pub use host::VideoTotals;
pub use notices::{Notice, Told};
pub use observe::*;
pub use outside::{Content, Delivery, EndpointId, OutsidePacket, Side};
pub use packet::TelemetryStack;
pub use perigee_timeline::{Leg, Notices};
pub use setup::*;
pub use simulation::{Foreseen, Simulation};
