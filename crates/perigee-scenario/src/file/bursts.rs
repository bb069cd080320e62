// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[bursts]`: bursts of loss.

use crate::file::checked::Checked;
use crate::file::error::Place;
use perigee_sources::fading::Bursts;

/// `[bursts]` and where it was written.
#[derive(Clone, Debug)]
pub struct BurstSpec {
    /// The process.
    pub bursts: Bursts,
    /// Where it was written.
    pub place: Place,
}

/// Reads `[bursts]`.
pub fn read(c: &Checked) -> BurstSpec {
    let bursts = Bursts {
        loss: [c.number("loss_outside"), c.number("loss_inside")],
        stay: [c.time("apart"), c.time("length")],
    };
    BurstSpec { bursts, place: c.place.clone() }
}
