// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From `[source.constellation]` to the sky of `perigee-orbit`.

/// Constellations known by name.
pub const PRESETS: &[&str] = &["starlink-shell1"];
