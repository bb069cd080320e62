// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The network over time, and the traffic put on it: the first waist of the laboratory.
//!
//! A [`Timeline`] is plain data: nodes, ports, directed links, and all their changes, in time
//! order. It can be saved, loaded, diffed, plotted and replayed. It is independent of satellites
//! and of TCP; sources (`perigee-sources`: recorded paths, schedules, small topologies;
//! `perigee-orbit`: constellations) make it, backends (the simulator) consume it.
//!
//! Layers:
//! * [`model`]: the types.
//! * [`workload`]: the flows; [`applications`]: those with measures of their own.
//! * [`store`]: save, load, check; [`follow`]: where packets go at an instant; [`view`]: the view
//!   of a pair over time; [`diff`]: two timelines compared.
//!
//! A timeline is carried in [`Chunk`]s so that long ones stream: the [`Header`] is the state at
//! time zero, each chunk adds nodes, ports and links that appear and lists the changes of its time
//! span.

pub mod applications;
mod dama;
pub mod diff;
mod discipline;
pub mod follow;
pub mod model;
pub mod store;
pub mod view;
pub mod workload;

pub use applications::*;
pub use dama::Dama;
pub use discipline::Discipline;
pub use model::*;
pub use workload::*;

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
