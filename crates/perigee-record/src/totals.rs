// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Totals of a run: of its flows, their applications, and its links.

use perigee_units::Nanos;

/// Cause of a packet loss.
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
    /// Name, as in column names.
    pub fn name(self) -> &'static str {
        CAUSE_NAMES[self as usize]
    }
}

/// Amounts of payload in bytes with a recorded arrival time, from the first byte on.
pub const MILESTONES: [u64; 5] = [1, 10_000, 100_000, 1_000_000, 10_000_000];

/// Totals of a video.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VideoTotals {
    /// Start of playback.
    pub playing: Option<Nanos>,
    /// Number of stalls, when the buffer ran empty.
    pub stalls: u64,
    /// Media time played.
    pub played: Nanos,
    /// Media time received.
    pub media: Nanos,
    /// Total duration of stalls after playback had started.
    pub stalled: Nanos,
    /// Number of segments received.
    pub segments: u64,
    /// Bits of these segments.
    pub media_bits: u64,
    /// Number of segments in another quality than the previous one.
    pub switches: u64,
}

/// Totals of a flow at the end. Packets are conserved: `sent = delivered + Σ dropped + under_way`,
/// for each direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowTotals {
    /// Packets sent into the network (data and ACKs; pings and echoes).
    pub sent: u64,
    /// Packets that reached their destination.
    pub delivered: u64,
    /// Packets lost, by cause.
    pub dropped: [u64; CAUSES],
    /// Packets in the network at the end.
    pub under_way: u64,
    /// Data packets sent, retransmissions included.
    pub data_sent: u64,
    /// Retransmitted data packets.
    pub retrans: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Reductions undone as spurious; `None` = unknown.
    pub undos: Option<u64>,
    /// Number of fast recoveries; `None` = unknown.
    pub recoveries: Option<u64>,
    /// Payload bytes delivered in order to the receiving application.
    pub goodput_bytes: u64,
    /// Actual start of the flow.
    pub started: Option<Nanos>,
    /// Completion of a limited transfer.
    pub completed: Option<Nanos>,
    /// Time within the flow's life during which a route existed.
    pub routed: Nanos,
    /// Integral of the slowest port's rate over that time, in bits: divided by `routed`, it is the
    /// capacity.
    pub capacity_bits: f64,
    /// Ratio of the payload bytes of its largest packet to that packet's bytes on the slowest port
    /// (framing and telemetry included).
    pub payload_share: f64,
    /// Number of route changes during the flow's life (forward direction).
    pub path_changes: u64,
    /// Number of times that the route was lost.
    pub unreachable: u64,
    /// Number of ACKs with telemetry.
    pub telemetry_acks: u64,
}

/// Totals of the application of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplicationTotals {
    /// Arrival time of each amount of [`MILESTONES`]; `None` = never, or unknown.
    pub reached: [Option<Nanos>; MILESTONES.len()],
    /// Playback of the video.
    pub video: Option<VideoTotals>,
}

/// Totals of a link at the end. Packets are conserved: `entered = crossed + Σ dropped + under_way`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkTotals {
    /// Packets passed to the link's port for this link.
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
    /// Sum over packets of the time spent waiting (excluding their own transmission), in
    /// nanoseconds.
    pub wait_ns: u128,
    /// Number of packets in that sum.
    pub waited: u64,
}

/// Totals of the flow table of a meter, where its size is bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowTableTotals {
    /// Port of the meter.
    pub port: u32,
    /// Its size.
    pub entries: u64,
    /// Flows evicted for others.
    pub evictions: u64,
    /// Of these, flows that had been seen in the same interval.
    pub evictions_in_use: u64,
}

/// Results of a run at its end, in addition to its rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunOutcome {
    /// Time reached.
    pub end: Nanos,
    /// Whether it was stopped before its end.
    pub stopped: bool,
    /// Reason if the run could not continue.
    pub broken: Option<String>,
    /// Whether every packet sent was delivered, dropped with a cause, or is in flight, per link and
    /// per flow; `None` = not counted.
    pub conserved: Option<bool>,
    /// Link crossings of all packets, the sum of [`LinkTotals::crossed`]; `None` = not counted.
    pub packet_hops: Option<u64>,
    /// Number of events processed, which depends on the backend's implementation; `None` = not
    /// counted.
    pub events: Option<u64>,
    /// Totals by flow; empty if the source of the record does not know them.
    pub flows: Vec<FlowTotals>,
    /// Totals of the applications, by flow.
    pub applications: Vec<ApplicationTotals>,
    /// Totals by link.
    pub links: Vec<LinkTotals>,
    /// Totals of bounded flow tables, by port.
    pub flow_tables: Vec<FlowTableTotals>,
    /// All nodes that existed at any time, by index.
    pub nodes: Vec<String>,
    /// Memory of the backend per flow; `None` = not measured.
    pub memory_per_flow_bytes: Option<u64>,
    /// Warnings of the backend about the numbers.
    pub remarks: Vec<String>,
}
