// SPDX-License-Identifier: Apache-2.0 OR MIT
//! TCP sender and receiver, sans-I/O.

pub mod config;
pub use config::{Config, OPTIONS};
