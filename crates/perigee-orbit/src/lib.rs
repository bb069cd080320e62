// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What moves: constellations, ground points, visibility, laser links, routes, handovers, as a Timeline.

pub mod attach;
pub mod cities;
pub mod constellation;
pub mod frames;
mod handover;
pub mod lasers;
pub mod motion;
mod network;
pub mod planes;
pub mod routing;
pub mod shell;
pub mod sky;
pub mod spec;
pub mod stream;
#[cfg(test)]
mod testdata;
pub mod time;
pub mod tle;
pub mod visibility;

pub use sky::{Route, Sky, SkyError, TableScratch};
pub use spec::*;
