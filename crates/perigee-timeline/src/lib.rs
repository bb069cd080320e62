// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The network over time and its traffic: the common input of all backends.
//!
//! A [`Timeline`] is plain data: nodes, ports, directed links, and all their changes, in order of
//! time. It can be saved, loaded, compared, plotted and replayed. It is independent of satellites
//! and of TCP; sources (`perigee-sources`: recorded paths, schedules, small topologies;
//! `perigee-orbit`: constellations) produce it, backends (such as the simulator) consume it.
//!
//! Layers:
//! * [`model`]: the types.
//! * [`workload`]: the flows; [`applications`]: applications with metrics of their own.
//! * [`store`]: saving, loading, checking; [`follow`]: the path of packets at an instant; [`view`]:
//!   the view of a pair over time; [`diff`]: comparison of two timelines.
//!
//! A timeline consists of [`Chunk`]s so that long ones can be streamed: the [`Header`] is the state
//! at time zero; each chunk adds nodes, ports and links that appear, and lists the changes of its
//! time span.

pub mod applications;
mod background;
mod carrier;
mod dama;
pub mod diff;
mod discipline;
pub mod follow;
pub mod model;
mod spread;
pub mod store;
mod telemetry_faults;
pub mod view;
pub mod workload;

pub use applications::*;
pub use background::{Background, Elastic};
pub use carrier::{Carrier, Neighbours, Sharing};
pub use dama::Dama;
pub use discipline::Discipline;
pub use model::*;
pub use spread::{Spread, SpreadBy};
pub use telemetry_faults::TelemetryFaults;
pub use workload::*;

/// Runs the example of the README as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
