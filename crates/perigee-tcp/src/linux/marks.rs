// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Congestion marks that the receiver reports.

/// Congestion marks that the receiver reports.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    /// Marks reported so far.
    reported: u32,
    /// Marks newly reported by the latest ACK.
    pub new: u32,
}

impl Marks {
    /// Processes the count of an ACK; true if it reports new marks.
    pub fn take(&mut self, count: u32) -> bool {
        // An overtaken ACK reports a lower count.
        let new = count.wrapping_sub(self.reported) as i32;
        self.new = new.max(0) as u32;
        if self.new > 0 {
            self.reported = count;
        }
        self.new > 0
    }
}
