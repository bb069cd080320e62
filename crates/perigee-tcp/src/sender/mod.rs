// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sending side of a TCP connection.
//!
//! A host creates a [`Sender`] and calls [`Sender::on_ack`] for each ACK and [`Sender::on_timer`]
//! at [`Sender::next_timer`]. After each of these calls it calls [`Sender::transmit`], which
//! returns the segments to send.
//!
//! The congestion control selects the stack ([`perigee_cc::Stack`]): that of Linux (`linux`), or
//! that of the OrbCC authors' simulator (`inet`).

mod connection;
mod limits;

pub(crate) use connection::{timestamp, Connection};
pub(crate) use limits::Limits;
pub use limits::{Limit, LIMITS};

use crate::inet::Inet;
use crate::linux::Linux;
use crate::{AckBlocks, Config, Seg};
use perigee_cc::{
    CaState, Caps, CongestionControl, ConnInit, Controller, Cx, HeaderStamp, Telemetry, Window,
};
use perigee_units::{BitRate, Nanos};

/// An arriving acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Acknowledgement number and SACK blocks.
    pub blocks: &'a AckBlocks,
    /// Telemetry echoed by the ACK.
    pub telemetry: Option<Telemetry<'a>>,
}

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Segment number.
    pub seg: Seg,
    /// Whether the segment was sent before.
    pub retrans: bool,
    /// Timestamp value in milliseconds.
    pub ts_val: u32,
    /// Departure time: `now`, or later for a paced unit.
    pub sent: Nanos,
    /// Contents of the telemetry header, for schemes that use it.
    pub stamp: HeaderStamp,
    /// PSH flag; segmentation offload sets it on the last packet of a burst only.
    pub push: bool,
}

/// Counters for the record's tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Data packets retransmitted.
    pub retrans: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Number of fast recoveries.
    pub recoveries: u64,
    /// Window reductions undone as spurious.
    pub undos: u64,
}

/// Sending side of a connection.
pub struct Sender {
    stack: Stack,
}

/// Stack of a sender. That of Linux is the common case and is stored inline.
#[expect(clippy::large_enum_variant, reason = "a host allocates the sender on the heap")]
enum Stack {
    Linux(Linux),
    Inet(Box<Inet>),
}

/// Evaluates an expression with either stack of the sender.
macro_rules! either {
    ($self:ident, $stack:ident => $body:expr) => {
        match &$self.stack {
            Stack::Linux($stack) => $body,
            Stack::Inet($stack) => $body,
        }
    };
    (mut $self:ident, $stack:ident => $body:expr) => {
        match &mut $self.stack {
            Stack::Linux($stack) => $body,
            Stack::Inet($stack) => $body,
        }
    };
}

impl Sender {
    /// Creates the sender of a connection established at `now`. `build` creates its congestion
    /// control, `handshake` is the RTT of its SYN if measured, `seed` that of its random draws.
    pub fn new(
        cfg: Config,
        build: impl FnOnce(&ConnInit) -> Controller,
        now: Nanos,
        handshake: Option<Nanos>,
        seed: u64,
    ) -> Self {
        let init = ConnInit {
            now,
            mss: cfg.mss,
            init_cwnd: u64::from(cfg.init_cwnd) * u64::from(cfg.mss),
            srtt: handshake,
            seed,
            hz: cfg.controller_hz(),
        };
        let conn = Connection::new(cfg, build(&init), init.window(), now);
        let stack = match conn.caps.stack {
            perigee_cc::Stack::Host => Stack::Linux(Linux::new(conn, now, handshake)),
            perigee_cc::Stack::Inet { smooths_from_zero } => {
                Stack::Inet(Box::new(Inet::new(conn, now, handshake, smooths_from_zero)))
            }
        };
        let mut sender = Sender { stack };
        let cx = sender.cx(now);
        sender.conn_mut().start(&cx);
        if let Stack::Linux(linux) = &mut sender.stack {
            linux.update_pacing_rate();
        }
        sender
    }

    /// Passes the telemetry of the handshake to the congestion control.
    pub fn on_handshake(&mut self, now: Nanos, telemetry: &Telemetry<'_>) {
        let cx = self.cx(now);
        let conn = self.conn_mut();
        conn.cc.on_handshake(&cx, &mut conn.win, telemetry);
        if let Stack::Linux(linux) = &mut self.stack {
            linux.update_pacing_rate();
        }
    }

    /// Limits the stream to `segments` in total, or to those already sent if they are more.
    pub fn limit(&mut self, segments: Seg) {
        let sent = self.una_nxt().1;
        self.conn_mut().available = segments.max(sent);
    }

    /// Sets the segments available so far, and the receive window's right edge at segment `edge`.
    /// Data held back by the window does not make the connection application-limited.
    pub fn offer(&mut self, segments: Seg, edge: Seg) {
        let sent = self.una_nxt().1;
        let conn = self.conn_mut();
        conn.available = segments.min(edge).max(sent);
        conn.window_bound = edge < segments;
    }

    /// Passes a signal from outside the transport to the congestion control.
    pub fn signal(&mut self, now: Nanos, signal: &perigee_cc::Signal<'_>) {
        let cx = self.cx(now);
        let conn = self.conn_mut();
        conn.cc.on_signal(&cx, &mut conn.win, signal);
        self.after_control();
    }

    /// Processes an acknowledgement. Returns its RTT sample, if any, as used by the smoothed
    /// estimator.
    #[inline]
    pub fn on_ack(&mut self, now: Nanos, ack: &Ack<'_>) -> Option<Nanos> {
        either!(mut self, stack => stack.on_ack(now, ack))
    }

    /// Appends all segments that may be sent at `now` to `out`.
    #[inline]
    pub fn transmit(&mut self, now: Nanos, out: &mut Vec<Transmit>) {
        either!(mut self, stack => {
            stack.transmit(now, out);
            let limit = stack.limit();
            stack.conn.limits.set(now, limit);
        });
    }

    /// Runs all timers that are due. Packets to send at once (probes, the first segment after a
    /// timeout) are appended to `out`; call [`Sender::transmit`] afterwards. Returns whether a
    /// retransmission timeout occurred.
    pub fn on_timer(&mut self, now: Nanos, out: &mut Vec<Transmit>) -> bool {
        if self.conn().win.next_timer.is_some_and(|t| t <= now) {
            let cx = self.cx(now);
            let conn = self.conn_mut();
            conn.win.next_timer = None;
            conn.cc.on_timer(&cx, &mut conn.win);
            self.after_control();
        }
        match &mut self.stack {
            Stack::Linux(linux) => linux.on_timer(now, out),
            Stack::Inet(inet) => inet.on_timer(now),
        }
    }

    /// Time of the next call to [`Sender::on_timer`] (or, for pacing, [`Sender::transmit`]);
    /// [`Nanos::MAX`] = never.
    #[inline]
    pub fn next_timer(&self) -> Nanos {
        let control = self.conn().win.next_timer.unwrap_or(Nanos::MAX);
        either!(self, stack => stack.next_timer()).min(control)
    }

    /// Time spent under each limit, in the order of [`Limit`], since the previous call (at first:
    /// since the connection was established).
    pub fn take_limits(&mut self, now: Nanos) -> [Nanos; LIMITS] {
        self.conn_mut().limits.take(now)
    }

    /// Window and pacing rate set by the congestion control.
    pub fn window(&self) -> &Window {
        &self.conn().win
    }
    /// The congestion control.
    pub fn controller(&self) -> &Controller {
        &self.conn().cc
    }
    /// Capabilities and requirements of the congestion control.
    pub fn caps(&self) -> &Caps {
        &self.conn().caps
    }
    /// Counters.
    #[inline]
    pub fn stats(&self) -> &Stats {
        &self.conn().stats
    }
    /// Congestion state of the connection.
    #[inline]
    pub fn ca_state(&self) -> CaState {
        either!(self, stack => stack.ca_state())
    }
    /// Packets in flight.
    pub fn in_flight(&self) -> u64 {
        either!(self, stack => stack.in_flight())
    }
    /// First unacknowledged and next new segment.
    pub fn una_nxt(&self) -> (Seg, Seg) {
        either!(self, stack => stack.una_nxt())
    }
    /// Smoothed RTT; zero before the first sample.
    pub fn srtt(&self) -> Nanos {
        either!(self, stack => stack.srtt())
    }
    /// Current retransmission timeout, backoff included.
    pub fn rto(&self) -> Nanos {
        either!(self, stack => stack.rto())
    }
    /// Packets marked lost so far.
    pub fn lost(&self) -> u64 {
        either!(self, stack => stack.lost())
    }
    /// Latest valid delivery-rate sample; `None` before the first.
    pub fn delivery_rate(&self) -> Option<BitRate> {
        let (bytes, interval) = either!(self, stack => stack.last_delivery());
        (interval > Nanos::ZERO).then(|| BitRate::of(bytes, interval))
    }
    /// Pacing rate, if the connection is paced.
    pub fn pacing_rate(&self) -> Option<BitRate> {
        either!(self, stack => stack.pacing_rate())
    }
    /// Heap memory of the connection in bytes, excluding the struct itself.
    pub fn memory_bytes(&self) -> usize {
        either!(self, stack => stack.memory_bytes())
    }

    #[inline]
    fn conn(&self) -> &Connection {
        either!(self, stack => &stack.conn)
    }
    #[inline]
    fn conn_mut(&mut self) -> &mut Connection {
        either!(mut self, stack => &mut stack.conn)
    }
    fn cx(&self, now: Nanos) -> Cx {
        either!(self, stack => stack.cx(now))
    }

    /// Applies a decision that the congestion control made outside an ACK.
    fn after_control(&mut self) {
        if let Stack::Linux(linux) = &mut self.stack {
            linux.after_control();
        }
    }
}
