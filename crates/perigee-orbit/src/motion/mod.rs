// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Satellites over time: generated shells, element sets, and their positions.

pub mod fleet;
pub mod omm;
pub mod positions;
pub mod presets;
pub mod shell;
pub mod tle;
pub(crate) mod validity;
