// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The scenario file, and the world that is built from it.
//!
//! Floors, from text to packets:
//! * [`tree`]: TOML with a place for every value; `extends` and overrides.
//! * [`kind`], [`grammar`], [`keys`]: what may be written; one table per section drives validation, [`schema`] and
//!   the reference page.
//! * [`scenario`], [`source`]: the file as types.
//! * [`network`], [`ports`], [`changes`], [`replay`], [`saved`], [`sky`]: the network over time; [`shared`]: one for all
//!   schemes.
//! * [`world`]: network and flows of one seed; [`estimate`]: what they will cost.
//!
//! A bad scenario gives a [`ScenarioError`] that lists every problem with its place; nothing here panics on input.

// A problem carries its place and words; it is made once per mistake, never in a loop that matters.
#![allow(clippy::result_large_err)]

pub mod changes;
mod choice;
pub mod error;
pub mod estimate;
pub mod exchange;
pub mod fading;
pub mod grammar;
pub mod jitter;
pub mod keys;
pub mod kind;
pub mod network;
mod node_sets;
pub mod ports;
pub mod profiles;
pub mod replay;
pub mod saved;
pub mod scenario;
pub mod schema;
pub mod shared;
pub mod sky;
mod sky_spec;
pub mod source;
mod spell;
pub mod split;
pub mod survey;
pub mod traffic;
pub mod tree;
pub mod world;
mod write;

/// What a front end needs of the crates below; it depends on this one only.
/// Congestion controls from outside, by the names that scenarios give them.
pub type Plugins = std::collections::BTreeMap<String, perigee_sim::CustomScheme>;

/// The name says that it is a plug-in's: `file.py:Class`. Whether there is such a thing, only the caller knows.
pub fn is_plugin(name: &str) -> bool {
    name.split_once(':').is_some_and(|(from, what)| !from.is_empty() && !what.is_empty())
}

pub use perigee_cc as cc;
pub use perigee_orbit as orbit;
pub use perigee_timeline as timeline;
pub use perigee_units as units;

pub use error::{Origin, Place, Problem, ScenarioError};
pub use scenario::Scenario;
pub use world::World;
