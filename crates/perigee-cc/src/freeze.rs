// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Frozen window: keeps the window through a reduction by the transport, for schemes that do not
//! react to a loss.
//!
//! The transport queries a threshold, reduces the window towards it while it repairs the loss, and
//! leaves the window there. If the threshold is the current window, and the window is restored on
//! every ACK in the meantime, the loss is repaired without a reduction.

use crate::Window;

/// The window to keep, and whether it is frozen.
#[derive(Clone, Debug, Default)]
pub struct Freeze {
    cwnd: u64,
    ssthresh: u64,
    active: bool,
}

impl Freeze {
    /// Stores the window before it is changed: at the end of an ACK, at a loss, and when a
    /// threshold is queried.
    pub fn note(&mut self, w: &Window) {
        if !self.active {
            (self.cwnd, self.ssthresh) = (w.cwnd, w.ssthresh);
        }
    }

    /// Whether the window is frozen.
    pub fn active(&self) -> bool {
        self.active
    }

    /// Starts a reduction without effect; returns the threshold for the transport.
    pub fn begin(&mut self, w: &Window) -> u64 {
        self.note(w);
        self.active = true;
        self.cwnd
    }

    /// Freezes the stored window, to be restored later.
    pub fn keep(&mut self) {
        self.active = true;
    }

    /// Restores the window during the reduction.
    pub fn hold(&self, w: &mut Window) {
        if self.active {
            w.cwnd = self.cwnd;
        }
    }

    /// Ends the freeze: restores window and threshold, also if the reduction takes place after all.
    pub fn end(&mut self, w: &mut Window) {
        if self.active {
            self.restore(w);
        }
    }

    /// Unfreezes the window and keeps the transport's changes.
    pub fn release(&mut self) {
        self.active = false;
    }

    /// Restores window and threshold, after a timeout that is to have no effect.
    pub fn restore(&mut self, w: &mut Window) {
        self.active = false;
        (w.cwnd, w.ssthresh) = (self.cwnd, self.ssthresh);
    }
}
