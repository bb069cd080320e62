// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Requirements of a scheme on its host: recovery, pacing, telemetry, signals, transport.

use super::Nanos;

/// Component that reduces the window after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// The transport, by proportional rate reduction towards `ssthresh` (RFC 9937).
    Prr,
    /// The controller itself; the transport only selects packets to send.
    Own,
}

/// Effect of a retransmission timeout on the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRto {
    /// The transport sets it to bytes in flight + 1 segment (Linux).
    InFlightPlusOne,
    /// The window is kept (OrbCC).
    Keep,
}

/// The TCP that carries a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    /// The host's, by its options.
    Host,
    /// The sender of Avian688/tcpPaced on INET 4.5, to which that simulator's schemes belong.
    /// Schemes reduce the window themselves at transitions: `ssthresh()` is not called.
    Inet {
        /// The smoothed RTT starts from zero instead of from the first sample.
        smooths_from_zero: bool,
    },
}

/// Whether the host must pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// The host's setting decides (Linux without the fq qdisc: no).
    HostDefault,
    /// Always paced.
    Required,
}

/// Telemetry required by a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TelemetryNeed {
    /// None.
    None,
    /// The complete stack, echoed.
    Stack,
    /// The receiver's bottleneck record.
    Bottleneck,
    /// Feedback of a law that ports compute, [`Telemetry::Feedback`](super::Telemetry::Feedback).
    Law(Law),
}

/// A law by which ports compute feedback in place of reporting their state: each port reduces the
/// one number that a packet carries. The unit is the law's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// XCP: a change of the flow's rate, in bytes/s.
    Xcp,
    /// RCP: a rate for every flow, in bytes/s.
    Rcp,
}

/// What packets carry from metered ports to the receiver, which makes the bottleneck record of it
/// (with [`TelemetryNeed::Bottleneck`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carrier {
    /// The ports' complete records.
    #[default]
    Records,
    /// Node data of IOAM that a router without changes writes: time of arrival and backlog.
    Ioam,
    /// The same, and the rate of the port's configuration as its opaque snapshot.
    IoamRate,
    /// The complete records as opaque snapshots in node data of IOAM.
    IoamSnapshot,
    /// The highest utilisation in eight bits.
    Utilisation,
    /// One bit: a port's queue was long.
    Ecn,
}

/// Scope of the signals that a controller receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalScope {
    /// Signals of its own path.
    Path,
    /// Signals of every path that starts at its host.
    Host,
    /// Signals of every path: published implementations keep them in one variable per machine,
    /// which emulations with one machine for all hosts share.
    Machine,
}

impl SignalScope {
    /// From the parameter `trigger_scope`.
    pub fn of(params: &crate::Params) -> Self {
        match params.choice("trigger_scope").as_str() {
            "host" => SignalScope::Host,
            "machine" => SignalScope::Machine,
            _ => SignalScope::Path,
        }
    }
}

/// An out-of-band prober that the host runs alongside the flow, on the same path; each reply
/// becomes a [`Signal::ProbeRtt`](super::Signal::ProbeRtt).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probes {
    /// Time between probes.
    pub interval: Nanos,
    /// Payload of a probe in bytes.
    pub payload_bytes: u32,
}

/// Requirements of a controller on its host.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    /// Component that reduces the window after a loss.
    pub recovery: Recovery,
    /// Whether the host must pace.
    pub pacing: Pacing,
    /// Telemetry that it requires.
    pub telemetry: TelemetryNeed,
    /// Whether ports write the fixed-size record [`Telemetry::Pint`](super::Telemetry::Pint)
    /// instead of appending to a stack (only with [`TelemetryNeed::Stack`]).
    pub pint: bool,
    /// What packets carry from ports (only with [`TelemetryNeed::Bottleneck`]).
    pub carrier: Carrier,
    /// Whether telemetry bytes are sent on the wire (only with telemetry).
    pub telemetry_on_wire: bool,
    /// Whether the SYN carries telemetry, too, which the SYN-ACK returns (only with telemetry).
    pub telemetry_on_syn: bool,
    /// Unit of the meter's txBytes (only with telemetry).
    pub tx_bytes_unit: TxBytesUnit,
    /// Whether any packet, not only data with telemetry, starts the timer of the ports' meters, as
    /// in the OrbCC authors' simulator.
    pub any_packet_times_meters: bool,
    /// Whether an undo restores the host's saved window; otherwise the controller handles
    /// [`Transition::Undo`](super::Transition::Undo) itself.
    pub host_restores_cwnd: bool,
    /// Effect of a timeout on the window.
    pub on_rto: OnRto,
    /// Whether the host decays the window after idle or application-limited periods.
    pub idle_decay: bool,
    /// Whether [`CongestionControl::on_sent`](super::CongestionControl::on_sent) and
    /// [`AckEvent::acked`](super::AckEvent::acked) are used.
    pub per_packet: bool,
    /// [`CongestionControl::on_loss`](super::CongestionControl::on_loss) is used.
    pub per_loss: bool,
    /// The receiver acknowledges every n-th full packet; `None` = the transport's profile decides.
    pub ack_every: Option<u32>,
    /// Floor of the window in segments.
    pub min_cwnd: u32,
    /// Number of initial packets that are not paced, even if the rest are.
    pub unpaced_start: u32,
    /// Out-of-band probes to run.
    pub probes: Option<Probes>,
    /// Scope of the signals to receive.
    pub signal_scope: SignalScope,
    /// Whether its response to marks is scalable (L4S, RFC 9331 section 4): its data is ECT(1),
    /// whatever the host's setting for ECN, and it handles marks itself, counted packet by packet
    /// in [`AckEvent::ece`](super::AckEvent::ece).
    pub scalable: bool,
    /// TCP on which it runs.
    pub stack: Stack,
}

/// Unit of a telemetry port's transmitted bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxBytesUnit {
    /// TCP payload only.
    Payload,
    /// The IP packet.
    Ip,
    /// All bytes on the wire, framing included.
    Wire,
}

impl Caps {
    /// Whether the scheme receives the records that ports write, of all ports or of the bottleneck.
    pub fn reads_records(&self) -> bool {
        let written = matches!(self.carrier, Carrier::Records | Carrier::IoamSnapshot);
        written && !self.pint && matches!(self.telemetry, TelemetryNeed::Stack | TelemetryNeed::Bottleneck)
    }

    /// A window-based scheme on Linux's transport.
    pub const WINDOW: Caps = Caps {
        recovery: Recovery::Prr,
        pacing: Pacing::HostDefault,
        telemetry: TelemetryNeed::None,
        pint: false,
        carrier: Carrier::Records,
        telemetry_on_wire: false,
        telemetry_on_syn: false,
        tx_bytes_unit: TxBytesUnit::Wire,
        any_packet_times_meters: false,
        host_restores_cwnd: true,
        on_rto: OnRto::InFlightPlusOne,
        idle_decay: true,
        per_packet: false,
        per_loss: false,
        ack_every: None,
        min_cwnd: 1,
        unpaced_start: 0,
        probes: None,
        signal_scope: SignalScope::Path,
        scalable: false,
        stack: Stack::Host,
    };
    /// A rate-based scheme that controls everything itself (Linux: `cong_control`).
    pub const MODEL: Caps = Caps {
        recovery: Recovery::Own,
        pacing: Pacing::Required,
        host_restores_cwnd: false,
        idle_decay: false,
        min_cwnd: 4,
        unpaced_start: 10,
        ..Caps::WINDOW
    };
}
