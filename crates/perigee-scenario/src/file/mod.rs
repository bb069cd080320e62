// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The scenario file: its grammar, and its contents as types. It is independent of the networks
//! built from it.
//!
//! From text to types:
//! * [`tree`]: TOML with a place for every value; `extends` and overrides. [`error`]: problems with
//!   their places.
//! * [`notation`], [`grammar`]: allowed keys and values. [`parameters`]: a section's table of keys and
//!   its type from one declaration, with the rows of [`rows`] for types of [`field`]; the table
//!   drives validation ([`validate`], [`checked`]), [`schema`] and the reference page.
//! * [`top`]: the sections of a file, and [`run`], [`node`], [`port`], [`change`], [`flow`] and
//!   others: one file each; [`sources`], [`schedules`], [`apps`]: those that come in kinds.
//!   [`disciplines`]: the parameters that queue disciplines add to ports.
//! * [`scenario`]: the complete scenario, with what needs more than one section checked.

pub mod aliases;
pub mod apps;
pub mod background;
pub mod beam;
pub mod bursts;
pub mod case;
mod cell_shares;
pub mod cells;
pub mod change;
pub mod checked;
pub mod demand;
mod directions;
pub mod disciplines;
pub mod error;
pub mod expect;
pub mod field;
pub mod flow;
pub mod grammar;
pub mod handover;
pub mod hosts;
pub mod jitter;
pub mod matrix;
pub mod node;
pub mod node_sets;
pub mod notation;
pub mod notices;
pub mod parameters;
pub mod port;
mod printable;
pub mod profiles;
pub mod programs;
pub mod rows;
pub mod run;
pub mod scenario;
pub mod schedules;
pub mod schema;
mod scheme_selection;
pub mod shape;
pub mod sources;
pub mod split;
pub(crate) mod starts;
pub(crate) mod suggestions;
mod sweep;
pub mod telemetry;
pub mod top;
pub mod tree;
mod unused_starts;
pub(crate) mod unused_telemetry;
pub mod validate;
pub mod vary;
mod write;
