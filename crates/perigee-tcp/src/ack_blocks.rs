// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Content of an acknowledgement.

use crate::Seg;
use perigee_cc::Arrival;

/// An acknowledgement to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckBlocks {
    /// Next segment expected.
    pub ack: Seg,
    /// Range of the duplicate that triggered it (RFC 2883).
    pub dsack: Option<(Seg, Seg)>,
    /// Ranges received above `ack`, newest first.
    pub sacks: [(Seg, Seg); 4],
    /// Number of ranges in `sacks`.
    pub count: u8,
    /// Timestamp echo in milliseconds.
    pub ts_ecr: u32,
    /// Packets that arrived marked since the start of the connection.
    pub marked: u32,
    /// Number of data packets acknowledged for the first time, duplicates included.
    pub covered: u32,
    /// One past the last segment that the receive window permits; 0 = the window is not announced
    /// (the host may set it).
    pub window_end: Seg,
    /// Departure and arrival of the newest packet; set by [`Receiver::stamp`](crate::Receiver::stamp).
    pub arrival: Option<Arrival>,
}

impl AckBlocks {
    /// The SACK blocks.
    pub fn sacks(&self) -> &[(Seg, Seg)] {
        &self.sacks[..self.count as usize]
    }
    /// Whether it is a cumulative ACK without SACK blocks.
    pub fn is_plain(&self) -> bool {
        self.count == 0 && self.dsack.is_none()
    }
}
