// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fuzz targets: every parser and codec of untrusted input, with small valid inputs, and the inputs
//! that coverage-guided fuzzing kept.

mod captures;
pub mod corpus;
mod guests;
mod learning;
mod tables;
mod targets;

pub use targets::{Target, TARGETS};
