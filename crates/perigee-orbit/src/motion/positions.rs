// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Positions of satellites at one instant.

use crate::frames::Vec3;

/// Earth-fixed positions of all satellites in metres, by satellite. One vector per axis, so that the
/// visibility scan is vectorised.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Positions {
    /// Towards latitude 0, longitude 0.
    pub x: Vec<f64>,
    /// Towards latitude 0, longitude 90 degrees east.
    pub y: Vec<f64>,
    /// Towards the north pole.
    pub z: Vec<f64>,
}

impl Positions {
    /// Removes all positions.
    pub fn clear(&mut self) {
        self.x.clear();
        self.y.clear();
        self.z.clear();
    }
    /// Appends `more` positions and returns their x, y and z, for the caller to write.
    pub fn append(&mut self, more: usize) -> [&mut [f64]; 3] {
        let begin = self.len();
        [&mut self.x, &mut self.y, &mut self.z].map(|axis| {
            axis.resize(begin + more, 0.0);
            &mut axis[begin..]
        })
    }
    /// Appends a position.
    pub fn push(&mut self, p: Vec3) {
        self.x.push(p[0]);
        self.y.push(p[1]);
        self.z.push(p[2]);
    }
    /// Position of a satellite.
    ///
    /// # Panics
    /// If `sat` is not below [`Self::len`].
    #[inline]
    pub fn get(&self, sat: usize) -> Vec3 {
        [self.x[sat], self.y[sat], self.z[sat]]
    }
    /// Number of positions.
    pub fn len(&self) -> usize {
        self.x.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }
}
