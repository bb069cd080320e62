// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The scenario file: what may be written, and what was written, as types. It knows nothing of the networks built from it.
//!
//! From text to types:
//! * [`tree`]: TOML with a place for every value; `extends` and overrides. [`error`]: problems with their places.
//! * [`kind`], [`grammar`], [`keys`]: what may be written; one table per section drives validation ([`validate`], [`checked`]),
//!   [`schema`] and the reference page. [`parameters`]: a section's table and its type from one declaration.
//! * [`disciplines`]: the parameters that queue disciplines add to ports.
//! * [`sources`], [`schedules`], [`apps`]: the sections that come in kinds, one file each; [`node`], [`change`], [`flow`] and others: the sections as types; [`scenario`]: the whole.

pub mod aliases;
pub mod apps;
pub mod bursts;
pub mod change;
pub mod checked;
mod directions;
pub mod disciplines;
pub mod error;
pub mod flow;
pub mod grammar;
pub mod jitter;
pub mod keys;
pub mod kind;
pub mod matrix;
pub mod node;
mod node_sets;
pub mod parameters;
mod printable;
pub mod profiles;
pub mod programs;
pub mod rows;
pub mod scenario;
pub mod schedules;
pub mod schema;
mod scheme_selection;
pub mod sources;
pub mod split;
pub(crate) mod suggestions;
mod sweep;
pub mod tree;
pub mod validate;
pub mod vary;
mod write;
