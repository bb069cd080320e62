// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What moves: constellations, ground points, visibility, laser links, routes, handovers, as a Timeline.

pub mod frames;
pub mod lasers;
pub mod motion;
pub mod planes;
pub mod routing;
pub mod shell;
#[cfg(test)]
mod testdata;
pub mod time;
pub mod tle;
pub mod visibility;
