// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where a learner and the controller of a flow meet: the controller lays down what it has seen, the learner what the window
//! shall be. The host carries the two words between them as [`Signal::Custom`](crate::Signal::Custom).

use super::{FEATURES, HISTORY};
use crate::BitRate;

/// The word that asks for a report of the time since the latest one.
pub const OBSERVE: &[u8] = b"observe";
/// The word that has the decision on the desk carried out.
pub const ACT: &[u8] = b"act";

/// What a flow has measured between two decisions; zero = unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// Mean delivery rate of the ACKs, in bytes/s.
    pub throughput: f64,
    /// Mean RTT of the ACKs, in microseconds.
    pub rtt_us: f64,
    /// Smoothed RTT, in microseconds.
    pub srtt_us: f64,
    /// Lowest RTT, in microseconds.
    pub min_rtt_us: f64,
    /// Highest throughput, in bytes/s.
    pub max_throughput: f64,
    /// Bytes lost per second.
    pub loss: f64,
    /// Window in packets.
    pub cwnd: f64,
    /// Packets outstanding.
    pub out: f64,
    /// Pacing rate in bytes/s.
    pub pacing: f64,
    /// Retransmissions in flight.
    pub retrans_out: f64,
}

/// What shall happen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decision {
    /// Astraea's step of the window, from -1 to 1.
    Step(f64),
    /// This window in packets, and this pacing rate; without one, Astraea's.
    Set {
        /// Window in packets.
        cwnd: u64,
        /// Pacing rate.
        pacing: Option<BitRate>,
    },
}

/// The desk of one flow.
#[derive(Clone, Debug)]
pub struct Desk {
    /// Features of the latest steps, oldest first.
    pub history: [[f32; FEATURES]; HISTORY],
    /// What the latest of them were made of.
    pub seen: Seen,
    /// How many reports there have been.
    pub reports: u64,
    /// What the learner wants.
    pub decision: Decision,
}

impl Default for Desk {
    fn default() -> Self {
        Desk {
            history: [[0.0; FEATURES]; HISTORY],
            seen: Seen::default(),
            reports: 0,
            decision: Decision::Step(0.0),
        }
    }
}
