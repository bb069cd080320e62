// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The scenario file: what may be written, and what was written, as types. It knows nothing of the networks built from it.
//!
//! From text to types:
//! * [`tree`]: TOML with a place for every value; `extends` and overrides. [`error`]: problems with their places.
//! * [`kind`], [`grammar`], [`keys`]: what may be written; one table per section drives validation, [`schema`] and the
//!   reference page.
//! * [`disciplines`]: the parameters that queue disciplines add to ports.
//! * [`source`], [`node`], [`change`], [`flow`] and others: the sections as types; [`scenario`]: the whole.

pub mod bursts;
pub mod change;
mod choice;
pub mod disciplines;
pub mod error;
pub mod flow;
pub mod grammar;
pub mod jitter;
pub mod keys;
pub mod kind;
pub mod node;
mod node_sets;
pub mod profiles;
pub mod scenario;
pub mod schema;
pub mod source;
pub(crate) mod spell;
pub mod split;
pub mod tree;
mod write;
