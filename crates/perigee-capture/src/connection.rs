// SPDX-License-Identifier: Apache-2.0 OR MIT
//! TCP connection: two directions, the handshake between them, and the place of the capture.

use crate::packet::{End, Segment};
use crate::received::Received;
use crate::sent::Sent;
use crate::warnings::Clock;
use crate::Place;
use perigee_units::Nanos;

/// State of a direction.
#[derive(Clone, Debug, Default)]
pub struct Direction {
    pub flow: Option<u32>,
    pub sent: Sent,
    pub received: Received,
    pub clock: Clock,
    /// Options of its sender's SYN.
    pub syn: Option<Syn>,
    pub before: Option<(u64, Segment)>,
    pub fin: Option<u32>,
}

/// Options of a SYN.
#[derive(Clone, Copy, Debug)]
pub struct Syn {
    pub at: Nanos,
    pub sequence: u32,
    pub mss: Option<u16>,
    pub scale: Option<u8>,
    pub stamps: bool,
}

/// State of a connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// End that opened the connection, as far as known: direction 0 starts here.
    pub opener: End,
    pub directions: [Direction; 2],
    pub began: Nanos,
    pub last: Nanos,
    /// Time from the SYN to the SYN-ACK, and from there to the ACK.
    pub shares: Option<(Nanos, Nanos)>,
    answered: Option<Nanos>,
    pub closed: bool,
}

/// Data within this time after the end of the handshake was waiting for it.
const AT_ONCE: Nanos = Nanos::from_millis(1);
/// Fraction of the handshake's duration below which the capture was taken at that end.
const AT_AN_END: f64 = 0.1;

impl Connection {
    pub fn new(s: &Segment, at: Nanos) -> Self {
        // A SYN-ACK without its SYN: the other end opened the connection.
        let opener = if s.syn && s.has_ack { s.to } else { s.from };
        Connection {
            opener,
            directions: Default::default(),
            began: at,
            last: at,
            shares: None,
            answered: None,
            closed: false,
        }
    }

    /// Index of a segment's direction.
    pub fn direction(&self, s: &Segment) -> usize {
        usize::from(s.from != self.opener)
    }

    /// Processes a segment of the handshake.
    pub fn shake(&mut self, at: Nanos, i: usize, s: &Segment) {
        if s.syn {
            let d = &mut self.directions[i];
            let again = d.syn.is_some_and(|syn| syn.sequence == s.seq);
            d.sent.begin(s.seq);
            d.received.begin(s.seq);
            // A retransmitted SYN yields no RTT (Karn's algorithm).
            let at = if again { Nanos::MAX } else { at };
            let (mss, scale) = (s.mss, s.window_scale);
            d.syn = Some(Syn { at, sequence: s.seq, mss, scale, stamps: s.stamps.is_some() });
            if s.has_ack {
                self.answered = (at != Nanos::MAX).then_some(at);
            }
        } else if let (0, Some(answered), None) = (i, self.answered, self.shares) {
            if let Some(syn) = self.directions[0].syn.filter(|syn| syn.at <= answered) {
                self.shares = Some((answered.saturating_sub(syn.at), at.saturating_sub(answered)));
            }
        }
    }

    /// Whether data of the opener now follows the handshake immediately: the transfer then counts
    /// from the SYN, as in runs.
    pub fn is_followed_at(&self, at: Nanos) -> bool {
        self.shares.is_some_and(|(there, here)| self.began + there + here + AT_ONCE >= at)
    }

    /// Place of the capture relative to the data of a direction; `None` if undetermined.
    pub fn place(&self, i: usize) -> Option<Place> {
        let (there, here) = self.shares?;
        let at_opener = there >= here;
        Some(if at_opener == (i == 0) { Place::Sender } else { Place::Receiver })
    }

    /// Fraction of the RTT on the opener's side, if the capture was taken between the ends.
    pub fn between(&self) -> Option<f64> {
        let (there, here) = self.shares?;
        let share = here.0 as f64 / (there.0 + here.0).max(1) as f64;
        (AT_AN_END..1.0 - AT_AN_END).contains(&share).then_some(share)
    }

    /// Payload of a full segment of a direction: the minimum of both SYNs, less the timestamps.
    pub fn mss(&self, i: usize) -> Option<u32> {
        let [own, other] = [i, 1 - i].map(|k| self.directions[k].syn);
        let mss = [own, other].into_iter().flatten().filter_map(|s| s.mss).min()?;
        let stamps = own.or(other).is_some_and(|s| s.stamps) && other.or(own).is_some_and(|s| s.stamps);
        Some(u32::from(mss).saturating_sub(if stamps { 12 } else { 0 }).max(1))
    }

    /// Receive window advertised by a segment.
    pub fn window(&self, i: usize, s: &Segment) -> u64 {
        let scaled = self.directions.iter().all(|d| d.syn.is_some_and(|s| s.scale.is_some()));
        let scale = self.directions[i].syn.and_then(|s| s.scale).unwrap_or(0);
        u64::from(s.window) << if scaled && !s.syn { scale } else { 0 }
    }

    /// Whether a segment is the SYN of another connection between the same ends.
    pub fn is_succeeded_by(&self, s: &Segment) -> bool {
        let known = self.directions[self.direction(s)].syn;
        s.syn && !s.has_ack && known.is_none_or(|syn| syn.sequence != s.seq)
    }
}
