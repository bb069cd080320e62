// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scenario files, and the worlds built from them.
//!
//! Two modules: [`mod@file`] is the scenario file, from text to types; [`world`] builds worlds from
//! it. `world` may use `file`, never the other way round.
//!
//! An invalid scenario yields a [`ScenarioError`] that lists every problem with its place; no input
//! causes a panic.

// A problem carries its place and text; it is created once per mistake, never in a hot loop.
#![allow(clippy::result_large_err)]

pub mod file;
pub mod world;

// Crates underneath that a front end uses; it depends only on this one.
pub use perigee_cc as cc;
pub use perigee_fluid as fluid;
pub use perigee_orbit as orbit;
pub use perigee_timeline as timeline;
pub use perigee_units as units;

pub use file::error::{Origin, Place, Problem, ScenarioError};
pub use file::notation::is_plugin;
pub use file::scenario::Scenario;
pub use file::{schema, sources};
pub use world::assembly::{FlowPlan, PortReport, World};
pub use world::{demand, estimate, exchange, saved, shared, survey, timeline_paths};
