// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scenario files, and the worlds built from them.
//!
//! Two rooms: [`mod@file`] is the file, from text to types; [`world`] builds worlds from it.
//! `world` may use `file`, never the other way round.
//!
//! A bad scenario gives a [`ScenarioError`] that lists every problem with its place; nothing here
//! panics on input.

// A problem carries its place and words; it is made once per mistake, never in a loop that matters.
#![allow(clippy::result_large_err)]

pub mod file;
pub mod world;

// Crates below that a front end uses; it depends on this one only.
pub use perigee_cc as cc;
pub use perigee_orbit as orbit;
pub use perigee_timeline as timeline;
pub use perigee_units as units;

pub use file::error::{Origin, Place, Problem, ScenarioError};
pub use file::kind::is_plugin;
pub use file::scenario::Scenario;
pub use file::{schema, sources};
pub use world::assembly::{FlowPlan, PortReport, World};
pub use world::{estimate, exchange, saved, shared, survey, timeline_paths};
