// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lengths of links in the integer unit of path searches.

/// Length of a link or path in millimetres.
pub type Weight = u64;

/// No link or path.
pub const UNREACHABLE: Weight = u64::MAX;

/// Converts metres to the unit of the search; never zero, so that next hops cannot form a loop.
#[inline]
pub fn weight(metres: f64) -> Weight {
    ((metres * 1e3 + 0.5) as Weight).max(1)
}

/// A satellite that a ground point may use, and the distance to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Satellite.
    pub sat: u32,
    /// Slant range.
    pub range: Weight,
}
