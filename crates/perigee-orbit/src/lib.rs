// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Satellite constellations as changing networks: orbits, visibility, links, routes and handovers,
//! as a timeline.
//!
//! Layers, each based on those before it:
//! * [`time`], [`frames`]: instants, sidereal time, ellipsoids, elevation.
//! * [`motion`]: generated shells and known constellations, element sets (TLE, OMM), positions over
//!   time.
//! * [`links`]: inter-satellite links, planes found in element sets, visibility from the ground.
//! * [`paths`]: shortest and disjoint paths over the links of one instant.
//! * [`sky`]: a constellation with ground points and traffic: attachment policies, path rules,
//!   user-defined functions, places by name.
//! * [`stream`]: the sky over time as a timeline or a survey without packets.
//! * [`interop`]: skies and files of other tools.
//!
//! The crate's README has an example.

pub mod frames;
pub mod interop;
pub mod links;
pub mod motion;
pub mod paths;
pub mod sky;
pub mod stream;
#[cfg(test)]
#[path = "../../perigee-sources/src/testdata.rs"]
mod testdata;
pub mod time;

pub use sky::config::*;
pub use sky::error::SkyError;
pub use sky::plugin::Plugins;
pub use sky::{Route, Sky};
pub use stream::plan::Recorded;
pub use stream::reach::Reach;
pub use stream::snapshot::TableScratch;

/// Runs the example of the README as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
