// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keeps the window over a reduction that the transport makes on its own, for schemes that do not answer to a loss.
//!
//! The transport asks for a threshold, reduces towards it while it repairs the loss, and leaves the window there. Told the
//! present window as its threshold, and with the window put back on every ACK meanwhile, it repairs and changes nothing.

use crate::Window;

/// The window to be kept, and whether it is being kept.
#[derive(Clone, Debug, Default)]
pub struct Freeze {
    cwnd: u64,
    ssthresh: u64,
    active: bool,
}

impl Freeze {
    /// Remembers the window before anything is done to it: at the end of an ACK, when a loss is told, when a threshold
    /// is asked for.
    pub fn note(&mut self, w: &Window) {
        if !self.active {
            (self.cwnd, self.ssthresh) = (w.cwnd, w.ssthresh);
        }
    }

    /// The window is being kept.
    pub fn active(&self) -> bool {
        self.active
    }

    /// A reduction begins that must change nothing; returns the threshold to be told.
    pub fn begin(&mut self, w: &Window) -> u64 {
        self.note(w);
        self.active = true;
        self.cwnd
    }

    /// The window that was noted is to come back, later.
    pub fn keep(&mut self) {
        self.active = true;
    }

    /// Puts the window back while the reduction goes on.
    pub fn hold(&self, w: &mut Window) {
        if self.active {
            w.cwnd = self.cwnd;
        }
    }

    /// The reduction is over, or is to be made after all: the window and threshold of before hold again.
    pub fn end(&mut self, w: &mut Window) {
        if self.active {
            self.restore(w);
        }
    }

    /// Keeps it no longer; what the transport has done stands.
    pub fn release(&mut self) {
        self.active = false;
    }

    /// Window and threshold of before hold again, as after a timeout that must change nothing.
    pub fn restore(&mut self, w: &mut Window) {
        self.active = false;
        (w.cwnd, w.ssthresh) = (self.cwnd, self.ssthresh);
    }
}
