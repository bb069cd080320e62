// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Links at one instant: between satellites, and from the ground to the satellites in view.

pub mod isls;
pub mod lasers;
pub mod length;
pub mod planes;
pub mod visibility;
