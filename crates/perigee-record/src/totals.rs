// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Totals of a run: of its flows and their applications, and of its links.

use perigee_units::Nanos;

/// Why a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DropCause {
    /// The queue was full.
    Queue = 0,
    /// Random loss of the link.
    Random = 1,
    /// The link was down.
    Outage = 2,
    /// There was no route.
    NoRoute = 3,
}

/// Number of causes.
pub const CAUSES: usize = 4;

/// Names of the causes, in order, as in column names.
pub const CAUSE_NAMES: [&str; CAUSES] = ["queue", "random", "outage", "no_route"];

impl DropCause {
    /// Its name, as in column names.
    pub fn name(self) -> &'static str {
        CAUSE_NAMES[self as usize]
    }
}

/// Amounts of payload with a recorded time of arrival: the first byte, and these numbers of bytes.
pub const MILESTONES: [u64; 5] = [1, 10_000, 100_000, 1_000_000, 10_000_000];

/// Totals of a video.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VideoTotals {
    /// When it started to play.
    pub playing: Option<Nanos>,
    /// Times that it stopped for want of data.
    pub stalls: u64,
    /// Media time that was played.
    pub played: Nanos,
    /// Media time that has arrived.
    pub media: Nanos,
    /// Time in all that it stalled after it had started.
    pub stalled: Nanos,
    /// Segments that have arrived.
    pub segments: u64,
    /// Bits of these.
    pub media_bits: u64,
    /// Segments in another quality than the one before them.
    pub switches: u64,
}

/// Totals of a flow at the end. Packets are conserved: `sent = delivered + Σ dropped + under_way`,
/// for each direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowTotals {
    /// Packets put into the network (data and ACKs; pings and echoes).
    pub sent: u64,
    /// Packets that reached their destination.
    pub delivered: u64,
    /// Packets lost, by cause.
    pub dropped: [u64; CAUSES],
    /// Packets in the network at the end.
    pub under_way: u64,
    /// Data packets sent, retransmissions included.
    pub data_sent: u64,
    /// Data packets sent again.
    pub retrans: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Reductions taken back as spurious; `None` = unknown.
    pub undos: Option<u64>,
    /// Times that fast recovery was entered; `None` = unknown.
    pub recoveries: Option<u64>,
    /// Payload bytes handed in order to the receiving application.
    pub goodput_bytes: u64,
    /// When the flow really started.
    pub started: Option<Nanos>,
    /// When a limited transfer was complete.
    pub completed: Option<Nanos>,
    /// Time within the flow's life during which a route existed.
    pub routed: Nanos,
    /// Integral of the slowest port's rate over that time, in bits: divided by `routed` it is the
    /// capacity.
    pub capacity_bits: f64,
    /// Payload bytes of its largest packet over that packet's bytes on the slowest port (framing
    /// and telemetry included).
    pub payload_share: f64,
    /// Route changes during the flow's life (forward direction).
    pub path_changes: u64,
    /// Times that the route was lost.
    pub unreachable: u64,
    /// ACKs that carried telemetry.
    pub telemetry_acks: u64,
}

/// Totals of the application of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplicationTotals {
    /// When that amount of payload had arrived, of [`MILESTONES`] each; `None` = never, or unknown.
    pub reached: [Option<Nanos>; MILESTONES.len()],
    /// The video as its viewer saw it.
    pub video: Option<VideoTotals>,
}

/// Totals of a link at the end. Packets are conserved: `entered = crossed + Σ dropped + under_way`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkTotals {
    /// Packets given to the link's port for this link.
    pub entered: u64,
    /// Packets that reached the far end.
    pub crossed: u64,
    /// Packets lost, by cause.
    pub dropped: [u64; CAUSES],
    /// Packets marked instead of dropped (ECN).
    pub marked: u64,
    /// Packets waiting, in service or in flight at the end.
    pub under_way: u64,
    /// Packets that left the port on this link.
    pub tx_packets: u64,
    /// Their bytes, framing included.
    pub tx_bytes: u64,
    /// Sum over packets of the time spent waiting (own transmission not included), in nanoseconds.
    pub wait_ns: u128,
    /// Packets in that sum.
    pub waited: u64,
}

/// Results of a run at its end, in addition to its rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunOutcome {
    /// Time reached.
    pub end: Nanos,
    /// It was stopped before its end.
    pub stopped: bool,
    /// Why it could not continue, where that is the reason.
    pub broken: Option<String>,
    /// Every packet that was sent was delivered, dropped for a reason, or is in flight, per link
    /// and per flow; `None` = not counted.
    pub conserved: Option<bool>,
    /// Link crossings of all packets, the sum of [`LinkTotals::crossed`]; `None` = not counted.
    pub packet_hops: Option<u64>,
    /// Events that the backend processed: depends on how it does its work; `None` = not counted.
    pub events: Option<u64>,
    /// By flow; empty where the source of the record does not know.
    pub flows: Vec<FlowTotals>,
    /// Totals of the applications, by flow.
    pub applications: Vec<ApplicationTotals>,
    /// By link.
    pub links: Vec<LinkTotals>,
    /// All nodes that ever were there, by index.
    pub nodes: Vec<String>,
    /// Memory of the backend per flow; `None` = not measured.
    pub memory_per_flow_bytes: Option<u64>,
    /// Warnings of the backend about the numbers.
    pub remarks: Vec<String>,
}
