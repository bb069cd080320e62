// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Congestion-controller interface: inputs and decisions.
//!
//! Host contract, in the order of one ACK: per-packet deliveries → rate sample → losses
//! ([`on_loss`] each, only with [`Caps::per_loss`]) → transitions (with [`ssthresh`] before
//! [`Transition::EnterRecovery`] and [`Transition::EnterRto`]) → [`on_ack`] once → the host reads
//! the [`Window`].
//!
//! Sizes are bytes. A host that counts packets, as Linux does, reports packets × MSS, so that a
//! short segment counts as a full one; schemes that must match Linux convert with [`Cx::packets`]
//! and compute in packets.
//!
//! [`on_loss`]: CongestionControl::on_loss
//! [`ssthresh`]: CongestionControl::ssthresh
//! [`on_ack`]: CongestionControl::on_ack

mod caps;

pub use caps::{
    Caps, Carrier, Law, OnRto, Pacing, Probes, Recovery, SignalScope, Stack, TelemetryNeed, TxBytesUnit,
};
pub use perigee_units::{BitRate, Nanos};

/// "No threshold yet": the initial ssthresh, in bytes.
pub const INFINITE_SSTHRESH: u64 = u64::MAX / 4;

/// Linux's congestion avoidance states (`tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum CaState {
    /// Nothing unusual.
    #[default]
    Open = 0,
    /// SACKs or duplicate ACKs arrived, nothing is marked lost.
    Disorder = 1,
    /// The window is being reduced because of ECN or a loss that a tail loss probe repaired.
    Cwr = 2,
    /// Fast recovery.
    Recovery = 3,
    /// After a retransmission timeout.
    Loss = 4,
}

impl CaState {
    /// Its name in records and in Python.
    pub fn name(self) -> &'static str {
        match self {
            CaState::Open => "open",
            CaState::Disorder => "disorder",
            CaState::Cwr => "cwr",
            CaState::Recovery => "recovery",
            CaState::Loss => "loss",
        }
    }
}

/// State of the host at the time of a callback. Read-only; passed to every callback.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cx {
    /// Now.
    pub now: Nanos,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Bytes in flight now (`packets_out - sacked - lost + retransmitted`).
    pub in_flight: u64,
    /// Bytes between snd_una and snd_nxt.
    pub outstanding: u64,
    /// Bytes delivered (cumulatively or selectively acknowledged) since the start of the
    /// connection.
    pub delivered: u64,
    /// When `delivered` last changed.
    pub delivered_time: Nanos,
    /// Bytes marked lost since the start of the connection; a segment lost twice counts twice.
    pub lost: u64,
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Nanos,
    /// Windowed minimum RTT of the transport (300 s in Linux); [`Nanos::MAX`] before the first
    /// sample.
    pub min_rtt: Nanos,
    /// First unacknowledged byte of the stream.
    pub snd_una: u64,
    /// Next new byte to be sent.
    pub snd_nxt: u64,
    /// When data was last sent before this callback; zero before the first.
    pub last_sent: Nanos,
    /// Earliest departure time of the next packet; `now` or earlier where the host does not pace.
    pub edt: Nanos,
    /// State after the transitions of this ACK.
    pub ca: CaState,
    /// The connection is application-limited at the moment.
    pub app_limited: bool,
    /// The window limited sending in the current round (Linux: `tcp_is_cwnd_limited`); growth is
    /// allowed only then.
    pub cwnd_limited: bool,
    /// The host paces this connection.
    pub paced: bool,
}

impl Cx {
    /// Bytes in segments, rounded as Linux counts windows.
    #[inline]
    pub fn packets(&self, bytes: u64) -> u64 {
        bytes / self.mss as u64
    }
    /// Segments in bytes.
    #[inline]
    pub fn bytes(&self, packets: u64) -> u64 {
        packets.saturating_mul(self.mss as u64)
    }
}

/// Output of the controller: the **only** copy. The host's recovery (PRR), undo, idle decay and
/// timeout edit the same one and the controller reads it back.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow start threshold in bytes; [`INFINITE_SSTHRESH`] at first.
    pub ssthresh: u64,
    /// Pacing rate; `None` lets the host choose (Linux: 2 or 1.2 × cwnd/SRTT where it paces at
    /// all).
    pub pacing: Option<BitRate>,
    /// Segments that the host should send as one burst; 0 lets the host size bursts by its own
    /// rule.
    pub quantum: u32,
    /// When the host should call [`CongestionControl::on_timer`].
    pub next_timer: Option<Nanos>,
    /// The host should mark the connection application-limited (BBR in PROBE_RTT); the host clears
    /// it.
    pub mark_app_limited: bool,
    /// The host should postpone the pending timeout by this; the host resets it to zero. Hosts that
    /// have their own timers ignore it.
    pub postpone: Nanos,
}

/// Facts known when a connection starts.
#[derive(Clone, Copy, Debug)]
pub struct ConnInit {
    /// Now.
    pub now: Nanos,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Initial window in bytes.
    pub init_cwnd: u64,
    /// RTT of the handshake, where there was one.
    pub srtt: Option<Nanos>,
    /// Seed for the controller's private random numbers.
    pub seed: u64,
    /// Timer ticks per second of the emulated kernel (Linux CONFIG_HZ), for jiffy clocks.
    pub hz: u32,
}

impl ConnInit {
    /// The window that the host starts with.
    pub fn window(&self) -> Window {
        Window {
            cwnd: self.init_cwnd,
            ssthresh: INFINITE_SSTHRESH,
            pacing: None,
            quantum: 0,
            next_timer: None,
            mark_app_limited: false,
            postpone: Nanos::ZERO,
        }
    }
}

/// Copied into the transport's record of each packet at transmission.
#[derive(Clone, Copy, Debug, Default)]
pub struct TxSnapshot {
    /// When the packet was sent (its scheduled departure).
    pub sent: Nanos,
    /// Send time of the first packet of the sampling window.
    pub first_sent: Nanos,
    /// When `delivered` last changed before the packet was sent.
    pub delivered_time: Nanos,
    /// Bytes delivered when the packet was sent.
    pub delivered: u64,
    /// Bytes lost when the packet was sent.
    pub lost: u64,
    /// Bytes in flight including this packet.
    pub in_flight: u64,
    /// The connection was application-limited when the packet was sent.
    pub app_limited: bool,
}

/// A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation; Linux `struct rate_sample`).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// `delivered` and `interval` are usable.
    pub valid: bool,
    /// Bytes delivered over `interval`.
    pub delivered: u64,
    /// `max(send_elapsed, ack_elapsed)`.
    pub interval: Nanos,
    /// `delivered` of the connection when the newest delivered packet was sent: the round clock.
    /// Set whenever a packet was delivered, also when the sample is not valid.
    pub prior_delivered: u64,
    /// A packet was delivered by this ACK (so `prior_delivered` is set).
    pub has_prior: bool,
    /// Time over which the packets of the sample were sent.
    pub send_elapsed: Nanos,
    /// Time over which they were acknowledged.
    pub ack_elapsed: Nanos,
    /// Bytes lost since the newest delivered packet was sent.
    pub lost_since_tx: u64,
    /// Bytes in flight when the newest delivered packet was sent, itself included.
    pub tx_in_flight: u64,
    /// The sample was taken while application-limited.
    pub is_app_limited: bool,
    /// The newest delivered packet was a retransmission.
    pub is_retrans: bool,
}

/// When a packet left its sender and when it reached its receiver, each by the clock of that end.
///
/// The clocks differ by an unknown offset, and may drift apart: differences of one-way delays are
/// meaningful over short times, their absolute values are not, and may be negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Sender's clock at its departure, in nanoseconds.
    pub sent_ns: i64,
    /// Receiver's clock at its arrival, in nanoseconds.
    pub received_ns: i64,
}

impl Arrival {
    /// One-way delay plus the offset of the clocks, in nanoseconds.
    #[inline]
    pub fn one_way_ns(&self) -> i64 {
        self.received_ns.saturating_sub(self.sent_ns)
    }
}

/// One ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckEvent<'a> {
    /// Bytes newly delivered by this ACK, cumulatively or selectively (Linux `acked_sacked`).
    pub newly_acked: u64,
    /// Bytes by which snd_una advanced.
    pub newly_cum_acked: u64,
    /// Bytes newly marked lost while this ACK was processed.
    pub newly_lost: u64,
    /// RTT of the newest packet that this ACK delivered, if it was never retransmitted (Linux
    /// `ca_rtt_us`).
    pub rtt: Option<Nanos>,
    /// RTT sample as the smoothed estimator takes it (oldest packet newly covered).
    pub seq_rtt: Option<Nanos>,
    /// Bytes in flight before this ACK.
    pub prior_in_flight: u64,
    /// Delivery-rate sample.
    pub rs: RateSample,
    /// Nothing was newly delivered.
    pub is_dup: bool,
    /// The receiver may have delayed this ACK (it covers a single short packet).
    pub ack_delayed: bool,
    /// The ACK covers a tail loss probe that was a retransmission.
    pub acks_tlp: bool,
    /// Growth may happen on this ACK by Linux's rules (forward progress, not in a window
    /// reduction).
    pub may_grow: bool,
    /// A lost packet was retransmitted on this ACK regardless of window and pacer (only with
    /// [`Stack::Inet`]).
    pub resent: bool,
    /// Bytes newly marked with congestion experienced.
    pub ece: u64,
    /// Departure and arrival of the newest packet that the receiver had when it sent this ACK;
    /// `None` where the peer does not report it.
    pub arrival: Option<Arrival>,
    /// Packets newly acknowledged, with the results of [`CongestionControl::on_sent`]; empty unless
    /// [`Caps::per_packet`].
    pub acked: &'a [AckedPkt],
    /// In-network telemetry echoed by this ACK.
    pub telemetry: Option<Telemetry<'a>>,
}

/// A packet about to be sent.
#[derive(Clone, Copy, Debug)]
pub struct SentPkt {
    /// First byte of the stream that it carries.
    pub seq: u64,
    /// Payload bytes.
    pub bytes: u32,
    /// It was sent before.
    pub retrans: bool,
}

/// A packet newly acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckedPkt {
    /// Result of [`CongestionControl::on_sent`] for it.
    pub tag: u32,
    /// When it was sent.
    pub sent: Nanos,
    /// Payload bytes.
    pub bytes: u32,
    /// Its RTT, unless it was retransmitted.
    pub rtt: Option<Nanos>,
}

/// How a loss was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossKind {
    /// RACK (RFC 8985).
    Rack,
    /// Retransmission timeout.
    Rto,
}

/// A packet newly marked lost.
#[derive(Clone, Copy, Debug)]
pub struct LossEvent {
    /// Payload bytes.
    pub bytes: u64,
    /// Its snapshot at transmission.
    pub tx: TxSnapshot,
    /// Result of [`CongestionControl::on_sent`] for it.
    pub tag: u32,
    /// Bytes lost by the connection, this packet included.
    pub lost_total: u64,
    /// How it was found.
    pub kind: LossKind,
}

/// Reason of an undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoKind {
    /// Every retransmission was reported as duplicate (DSACK).
    Dsack,
    /// A timestamp proves that the original arrived (Eifel).
    Timestamp,
    /// The timeout was spurious (F-RTO).
    Frto,
}

/// Changes of the transport's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// Fast recovery starts; `ssthresh()` was called just before.
    EnterRecovery,
    /// Fast recovery is complete; window schemes are at `ssthresh` now.
    ExitRecovery,
    /// Retransmission timeout; `ssthresh()` was called just before if this is the window's first
    /// reduction.
    EnterRto,
    /// Everything outstanding at the timeout is repaired.
    ExitRto,
    /// ECN or TLP reduction starts; `ssthresh()` was called just before.
    EnterCwr,
    /// That reduction is complete.
    ExitCwr,
    /// The reduction turned out to be spurious.
    Undo(UndoKind),
    /// A tail loss probe repaired a loss; the snapshot of the probe's flight was
    /// application-limited or not.
    TlpRepaired {
        /// Taken from the probe.
        app_limited: bool,
    },
}

/// Signals from outside the transport.
#[derive(Clone, Copy, Debug)]
pub enum Signal<'a> {
    /// A handover is imminent or has started.
    HandoverBegin {
        /// When it should be over, if known.
        expected_end: Option<Nanos>,
    },
    /// The handover is over.
    HandoverEnd,
    /// The path changed.
    PathChange {
        /// Identifier of the new path.
        id: u64,
    },
    /// The reply to an out-of-band probe ([`Caps::probes`]).
    ProbeRtt {
        /// The measured RTT.
        rtt: Nanos,
        /// Time since the previous reply to the same prober; `None` for its first.
        gap: Option<Nanos>,
    },
    /// The segment size changed.
    MssChanged(u32),
    /// Decision of a controller outside the host, for schemes that only apply it.
    Decision {
        /// Congestion window in bytes.
        cwnd: u64,
        /// Pacing rate; `None` lets the host choose.
        pacing: Option<BitRate>,
    },
    /// Anything a plug-in and its host agree on.
    Custom(&'a [u8]),
}

/// Telemetry of one hop, decoded. The identity of a hop is (path id, index).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hop {
    /// Time of dequeue by the hop's clock, modulo 2^24 µs.
    pub ts: Nanos,
    /// Nominal rate of the outgoing link.
    pub bw: BitRate,
    /// Bytes queued after this packet was removed.
    pub q_out: u64,
    /// Bytes queued before this packet was inserted.
    pub q_in: u64,
    /// Bytes transmitted by the port, this packet included, modulo 2^31 (8-byte units on the wire).
    pub tx_bytes: u64,
    /// Mean base RTT of the flows that use the port; zero = not yet measured.
    pub avg_rtt: Nanos,
    /// Flows that use the port.
    pub flows: u32,
}

/// Telemetry of the path, echoed by an ACK.
#[derive(Clone, Copy, Debug)]
pub enum Telemetry<'a> {
    /// The complete stack of the data packet that triggered the ACK.
    Stack {
        /// XOR of the switch ids on the path.
        path_id: u64,
        /// In path order.
        hops: &'a [Hop],
        /// Packets covered by the ACK (1 unless the receiver aggregates).
        covered: u32,
        /// Instrumented hops are fewer than the hops of the path.
        partial: bool,
    },
    /// Only the bottleneck, differenced by the receiver.
    Bottleneck {
        /// XOR of the switch ids on the path.
        path_id: u64,
        /// Index of the hop; 255 with u = 0 marks a baseline.
        hop: u8,
        /// Utilisation of that hop.
        u: f64,
        /// Time between the two samples.
        tau: Nanos,
        /// Nominal rate of the hop's outgoing link.
        bw: BitRate,
        /// Mean base RTT of the flows that use the port.
        avg_rtt: Nanos,
        /// Flows that use the port.
        flows: u32,
        /// Sum of rxQlen/bw over all hops.
        queue_delay: Nanos,
        /// Packets covered by the ACK.
        covered: u32,
        /// Instrumented hops are fewer than the hops of the path.
        partial: bool,
    },
    /// The fixed-size record that ports overwrite instead of appending to a stack, decoded.
    Pint {
        /// Order-sensitive digest of the ports on the path.
        path_id: u64,
        /// Highest utilisation on the path, averaged by its port.
        u: f64,
        /// Nominal rate of that port's outgoing link.
        bw: BitRate,
        /// Flows that use the port.
        flows: u32,
        /// Flows in their start-up among them, if the port counts them.
        starting: Option<u32>,
        /// Sum of rxQlen/bw over all hops.
        queue_delay: Nanos,
        /// Packets covered by the ACK.
        covered: u32,
        /// Instrumented hops are fewer than the hops of the path.
        partial: bool,
    },
    /// Result of the law that the ports of the path compute.
    Feedback {
        /// The law.
        law: Law,
        /// The request of the sender as reduced by the ports, in the unit of the law.
        value: f64,
        /// Ports that computed it; with 0, `value` is the request.
        hops: u32,
        /// Packets covered by the ACK.
        covered: u32,
        /// Instrumented hops are fewer than the hops of the path.
        partial: bool,
    },
}

/// Fields of the telemetry header of each data packet; zero = unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderStamp {
    /// The flow's queue-free RTT.
    pub base_rtt: Nanos,
    /// The flow's congestion window in bytes.
    pub cwnd: u64,
    /// One of this many packets carries telemetry, and stands for the others; 0 and 1: each.
    pub every: u8,
    /// Ports report the number of flows by the part of their windows that they use
    /// ([`Hop::flows`]), instead of the number of flows seen.
    pub weighted: bool,
    /// Rate that the flow could use, in kbit/s, for laws that use it; 0 = any.
    pub demand_kbps: u32,
}

/// A congestion control: a pure state machine. See the module text for the order of calls.
pub trait CongestionControl: Send {
    /// Requirements on the host. Called once, when the connection starts.
    fn caps(&self) -> Caps;

    /// The connection is established. May set the initial window and pacing rate.
    fn on_start(&mut self, _cx: &Cx, _w: &mut Window) {}

    /// Telemetry of the handshake (only with [`Caps::telemetry_on_syn`]), directly after
    /// [`on_start`](CongestionControl::on_start).
    fn on_handshake(&mut self, _cx: &Cx, _w: &mut Window, _telemetry: &Telemetry<'_>) {}

    /// A packet is about to be sent (only with [`Caps::per_packet`]); the result is passed with its
    /// ACK or loss.
    fn on_sent(&mut self, _cx: &Cx, _w: &mut Window, _p: &SentPkt) -> u32 {
        0
    }

    /// An ACK was processed. Called once per ACK, after losses and transitions.
    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>);

    /// The new threshold in bytes: called once per reduction, before the transport reduces.
    /// Controllers with [`Recovery::Own`] may use the call to save state and return `w.ssthresh`.
    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64;

    /// A packet was marked lost (only with [`Caps::per_loss`]).
    fn on_loss(&mut self, _cx: &Cx, _w: &mut Window, _ev: &LossEvent) {}

    /// The transport changed state.
    fn on_transition(&mut self, _cx: &Cx, _w: &mut Window, _t: Transition) {}

    /// A packet is about to be sent and nothing is in flight.
    fn on_tx_start(&mut self, _cx: &Cx, _w: &mut Window) {}

    /// `w.next_timer` is due; the host has cleared it.
    fn on_timer(&mut self, _cx: &Cx, _w: &mut Window) {}

    /// A signal from outside the transport.
    fn on_signal(&mut self, _cx: &Cx, _w: &mut Window, _s: &Signal<'_>) {}

    /// Fields for the telemetry header of the next data packet.
    fn stamp(&self) -> HeaderStamp {
        HeaderStamp::default()
    }

    /// Name of the state the scheme is in, for the record ("slow start", "probe_bw", …).
    fn mode(&self, _w: &Window) -> &'static str {
        ""
    }

    /// Named internal values for the record, in SI base units. Must be cheap and always have the
    /// same names.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}
