// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Mailbox between a learner and the controller of a flow: measurements of the controller,
//! decisions of the learner. The host delivers the two commands as
//! [`Signal::Custom`](crate::Signal::Custom).

use super::{FEATURES, HISTORY};
use crate::BitRate;

/// Command to report the measurements since the latest report.
pub const OBSERVE: &[u8] = b"observe";
/// Command to apply the decision.
pub const ACT: &[u8] = b"act";

/// Measurements of a flow between two decisions; zero = unknown.
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
    /// Number of packets outstanding.
    pub pacing: f64,
    /// Retransmissions in flight.
    pub retrans_out: f64,
}

/// Decision of a learner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decision {
    /// Astraea's step of the window, from -1 to 1.
    Step(f64),
    /// A window and a pacing rate; without a pacing rate, Astraea's applies.
    Set {
        /// Window in packets.
        cwnd: u64,
        /// Pacing rate.
        pacing: Option<BitRate>,
    },
}

/// The mailbox of one flow.
#[derive(Clone, Debug)]
pub struct Desk {
    /// Features of the latest steps, oldest first.
    pub history: [[f32; FEATURES]; HISTORY],
    /// Measurements used for the latest features.
    pub seen: Seen,
    /// Number of reports so far.
    pub reports: u64,
    /// The learner's decision.
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
