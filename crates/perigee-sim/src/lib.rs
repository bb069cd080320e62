// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packet-level simulator: carries a workload over a timeline.
//!
//! Layers:
//! * [`Simulation`]: the event loop, which runs to the end or step by step. Below it: `schedule`
//!   (pending events), `packet` (arenas), `net` (ports and links), `routes` (routes and their RTT),
//!   `host` (the ends of flows), `notices` (handover notices to flows).
//! * [`external_endpoint`]: ends outside the simulation; [`external`]: congestion control with
//!   decisions from outside.
//! * [`setup`]: inputs of a simulation (flows with their controller and transport options, run
//!   options).
//! * [`observe`]: the observer interface, and the results.
//!
//! The crate does not depend on files, scenario syntax, plots or satellites.

mod cache;
pub mod external;
pub mod external_endpoint;
mod host;
mod net;
mod notices;
pub mod observe;
mod packet;
pub mod parallel;
mod routes;
mod schedule;
pub mod setup;
mod simulation;

pub use external::External;
pub use external_endpoint::{Content, Delivery, EndpointId, OutsidePacket, Side};
pub use notices::{FlowNotice, Notice};
pub use observe::*;
pub use packet::TelemetryStack;
pub use parallel::{run_on_threads, Execution, Threads};
pub use perigee_timeline::{Leg, Notices};
pub use setup::*;
pub use simulation::{Foreseen, Simulation};
