// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What moves: constellations, ground points, visibility, ISL links, routes, handovers, as a Timeline.
//!
//! From the ground up:
//! * [`time`], [`frames`]: instants, sidereal time, ellipsoids, elevation.
//! * [`shell`] (generated, in closed form), [`presets`] (known ones), [`tle`] and [`omm`] (element sets), [`motion`] (all
//!   of them as positions over time).
//! * [`planes`]: the grid in real element sets; [`isls`]: who is linked to whom; [`constellation`]: all of it.
//! * [`visibility`]: what a ground point sees; [`attach`]: which satellite it takes; [`routing`],
//!   [`aim`]: shortest paths.
//! * `elements`: which element sets hold at the time of a run; `ways`: who talks to whom; `reach`: traffic that can never flow,
//!   and why; [`shared`]: paths that other pairs lengthen.
//! * [`disjoint`]: several paths without a common satellite; [`plugin`]: functions of the user's.
//! * [`spec`]: the description of a sky; [`sky`]: questions about one instant; [`survey`]: paths over time without
//!   packets; [`stream`]: the timeline.
//! * [`cities`]: places by name; [`hypatia`]: state folders of another tool; [`compat`]: skies as other tools see them.
//!
//! The crate's README has an example.

pub mod aim;
pub mod attach;
pub mod cities;
pub mod compat;
pub mod constellation;
pub mod disjoint;
mod elements;
pub mod frames;
mod handover;
pub mod hypatia;
pub mod isls;
mod mesh;
pub mod motion;
mod network;
pub mod omm;
mod plan;
pub mod planes;
pub mod plugin;
pub mod presets;
mod reach;
pub mod routing;
mod rules;
pub mod shared;
pub mod shell;
pub mod sky;
mod snapshot;
pub mod spec;
pub mod stream;
pub mod survey;
#[cfg(test)]
#[path = "../../perigee-sources/src/testdata.rs"]
mod testdata;
pub mod time;
pub mod tle;
pub mod visibility;
mod warm;
mod ways;

pub use plan::Recorded;
pub use plugin::Plugins;
pub use rules::{LoadRule, PathRule};
pub use sky::{Route, Sky, SkyError};
pub use snapshot::TableScratch;
pub use spec::*;

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
