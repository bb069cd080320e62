// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tables of a record. Their columns do not depend on the backend.

mod internals;

use crate::table::{Cell, Table};
pub use internals::Internals;

/// A column as declared.
#[derive(Clone, Copy, Debug)]
pub struct ColumnSpec {
    /// Name, with the unit as its last word.
    pub name: &'static str,
    /// Rust type of its cells; `Option<…>` if a row may have no value.
    pub cells: &'static str,
    /// Meaning of a row without a value; empty if all rows have one.
    pub null: &'static str,
    /// Meaning of the column.
    pub help: &'static str,
}

/// Last words of names that are units, and their symbols.
const UNITS: [(&str, &str); 14] = [
    ("ns", "ns"),
    ("us", "µs"),
    ("ms", "ms"),
    ("bps", "bit/s"),
    ("bytes", "bytes"),
    ("bits", "bits"),
    ("packets", "packets"),
    ("deg", "degrees"),
    ("m", "m"),
    ("share", "1"),
    ("utilisation", "1"),
    ("sum", "1"),
    ("retransmits", "packets"),
    ("sent", "packets"),
];

impl ColumnSpec {
    /// Type of its values, as in the hash.
    pub fn kind(&self) -> &'static str {
        match self.cells.trim_start_matches("Option<").trim_end_matches('>') {
            "u32" => "u32",
            "u64" => "u64",
            "f64" => "f64",
            "bool" => "bool",
            _ => "words",
        }
    }

    /// Unit, from the last word of its name; empty for counts, strings and flags.
    pub fn unit(&self) -> &'static str {
        if self.name.starts_with("drops_") {
            return "packets";
        }
        let last = self.name.rsplit('_').next().unwrap_or_default();
        UNITS.iter().find(|(word, _)| *word == last).map_or("", |(_, unit)| unit)
    }
}

/// A table as declared.
#[derive(Clone, Copy, Debug)]
pub struct TableSpec {
    /// Name, which is the file name without its extension.
    pub name: &'static str,
    /// Meaning of a row.
    pub help: &'static str,
    /// Columns, in order.
    pub columns: &'static [ColumnSpec],
    /// Creates a table without rows.
    pub empty: fn() -> Table,
}

/// Tables of a record, in order.
pub fn record_tables() -> &'static [TableSpec] {
    &[
        FlowTable::SPEC,
        LinkTable::SPEC,
        EventTable::SPEC,
        RttTable::SPEC,
        DelayTable::SPEC,
        CompletionTable::SPEC,
        FlowTotalsTable::SPEC,
        WindowTable::SPEC,
        ApplicationTable::SPEC,
        LimitTable::SPEC,
        CarrierTable::SPEC,
        LinkTotalsTable::SPEC,
        MeterTable::SPEC,
        RouteTable::SPEC,
        TrackTable::SPEC,
    ]
}

macro_rules! table {
    ($(#[doc = $doc:literal])* $table:ident, $row:ident, $name:literal {
        $($(#[doc = $field_doc:literal])* $field:ident : $ty:ty $(= $null:literal)?,)*
    }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, Default)]
        pub struct $row {
            $($(#[doc = $field_doc])* pub $field: $ty,)*
        }

        #[doc = concat!("Collects [`", stringify!($row), "`]s.")]
        #[derive(Clone, Debug, Default)]
        #[allow(missing_docs)]
        pub struct $table {
            $(pub $field: <$ty as Cell>::Builder,)*
        }

        impl $table {
            /// Appends a row.
            pub fn push(&mut self, row: $row) {
                $(row.$field.push(&mut self.$field);)*
            }
            /// The finished table.
            pub fn finish(self) -> Table {
                Table { name: $name, columns: vec![$(<$ty as Cell>::finish(stringify!($field), self.$field),)*] }
            }
            /// Drains the rows so far.
            pub fn take(&mut self) -> Table {
                std::mem::take(self).finish()
            }
            /// Declaration of the table.
            pub const SPEC: TableSpec = TableSpec {
                name: $name,
                help: concat!($($doc),*),
                columns: &[$(ColumnSpec {
                    name: stringify!($field),
                    cells: stringify!($ty),
                    null: concat!($($null)?),
                    help: concat!($($field_doc),*),
                },)*],
                empty: || <$table>::default().finish(),
            };
        }
    };
}

mod carriers;
pub use carriers::{CarrierRow, CarrierTable};

table! {
    /// A flow at a sampling instant. Rates and RTTs cover the interval since the previous instant; counters are totals.
    FlowTable, FlowRow, "flows" {
        /// Sampling instant, since the start of the run.
        t_ns: u64,
        /// Number of the flow, from 0.
        flow: u32,
        /// Payload handed in order to the receiving application since the flow's previous row (at first: since its
        /// start), over that interval. Data queued after a missing packet is handed over along with it, so that an interval
        /// after a gap can exceed the rate of the path.
        goodput_bps: f64,
        /// Payload handed in order to the receiving application since the start. Of programs: payload of TCP and UDP
        /// that has reached the flow's destination, retransmitted data included.
        delivered_bytes: u64,
        /// Congestion window.
        cwnd_bytes: Option<u64> = "the flow has none, or its connection has not started",
        /// Slow start threshold.
        ssthresh_bytes: Option<u64> = "it is infinite, or the flow has none",
        /// Pacing rate.
        pacing_bps: Option<u64> = "the flow is not paced",
        /// Payload sent and neither acknowledged, selectively acknowledged nor marked lost, in full segments.
        in_flight_bytes: Option<u64> = "the flow has no transport, or its connection has not started",
        /// Smoothed RTT of the transport (RFC 6298).
        srtt_ns: Option<u64> = "no sample yet",
        /// Mean of the transport's RTT samples since the previous row.
        rtt_ns: Option<u64> = "no sample since then",
        /// RTT of the current route without queues: propagation in both directions, serialisation of a full data packet
        /// and of a plain ACK.
        base_rtt_ns: Option<u64> = "no route",
        /// Rate of the slowest port of the current route.
        path_rate_bps: Option<u64> = "no route",
        /// Latest delivery-rate sample of the transport.
        delivery_rate_bps: Option<u64> = "no sample yet",
        /// Data packets sent since the start, retransmissions included.
        sent_packets: u64,
        /// Data packets retransmitted since the start.
        retransmits: u64,
        /// Packets marked lost by the sender since the start.
        lost_packets: Option<u64> = "the backend does not report it",
        /// Retransmission timeouts since the start.
        timeouts: u64,
        /// Congestion avoidance state of the transport: open, disorder, cwr, recovery, loss.
        ca_state: &'static str,
        /// State of the congestion control, as named by the scheme.
        mode: &'static str,
    }
}

table! {
    /// A link that carried or held packets since the previous sampling instant.
    LinkTable, LinkRow, "links" {
        /// Sampling instant, since the start of the run.
        t_ns: u64,
        /// Number of the link.
        link: u32,
        /// Number of the port that feeds it.
        port: u32,
        /// Bytes queued at the port, framing included, without the packet in transmission. With background traffic at
        /// the port: of both, with the packet in transmission.
        queue_bytes: u64,
        /// Packets queued at the port.
        queue_packets: u64,
        /// Bits that left on the link since its previous row, relative to the port's current rate;
        /// background traffic included.
        utilisation: f64,
        /// Rate of the port.
        rate_bps: u64,
        /// Propagation delay.
        delay_ns: u64,
        /// Whether the link is up.
        up: bool,
        /// Packets transmitted since the start.
        tx_packets: u64,
        /// Bytes transmitted since the start, framing included.
        tx_bytes: u64,
        /// Packets dropped by the queue since the start: queue full, or by its discipline.
        drops_queue: u64,
        /// Packets lost at random since the start.
        drops_random: u64,
        /// Packets lost in outages since the start.
        drops_outage: u64,
        /// Packets lost without a route since the start.
        drops_no_route: u64,
    }
}

table! {
    /// An event.
    EventTable, EventRow, "events" {
        /// Time since the start of the run.
        t_ns: u64,
        /// Kind: flow-start, flow-complete, mode, ca-state, timeout, undo, loss-burst, rtt-change; of a video stall-end, quality;
        /// of the network handover, path-change, unreachable, reachable, outage-begin, outage-end, reconfiguration; of
        /// captures handshake, reset, zero-window, address-change; of measurements probe-lost, clock-step.
        kind: &'static str,
        /// Number of the flow.
        flow: Option<u32> = "it is not of one flow",
        /// Number of the link.
        link: Option<u32> = "it is not of one link",
        /// Name of the node; empty if it is not of a node.
        node: String,
        /// A number that depends on the kind: packets of a loss burst, seconds of an outage (handover, outage-begin) or of
        /// a stall (stall-end), bit/s (quality), base RTT in seconds (path-change), RTT in seconds (handshake, rtt-change); otherwise 0.
        value: f64,
        /// Description.
        text: String,
    }
}

table! {
    /// An object requested by an application, or a limited transfer, that was complete before the end.
    CompletionTable, CompletionRow, "completions" {
        /// Number of the flow, from 0.
        flow: u32,
        /// Number of the object in its flow, from 0.
        object: u64,
        /// Size.
        bytes: u64,
        /// Time of the request; of a transfer without requests, start of its connection.
        asked_ns: u64,
        /// Arrival of its first data.
        first_ns: Option<u64> = "a transfer without requests",
        /// Arrival of its last byte.
        done_ns: u64,
    }
}

table! {
    /// A packet of a trace: not part of a record, because it is reproduced on demand.
    PacketTable, PacketRow, "packets" {
        /// Departure from its source.
        sent_ns: u64,
        /// Arrival at its destination.
        arrived_ns: Option<u64> = "it was lost",
        /// data, ack, ping, pong.
        kind: &'static str,
        /// Number of the transmission in its flow and direction, from 1.
        number: u32,
        /// First byte of the payload in the stream, from 0; number of a probe.
        seq: u64,
        /// Payload.
        payload_bytes: u32,
        /// Next byte expected.
        ack: u64,
        /// SACK blocks, newest first, after any DSACK.
        sack: String,
        /// Timestamp.
        ts_val_ms: u32,
        /// Echoed timestamp.
        ts_ecr_ms: u32,
        /// IP packet.
        ip_bytes: u32,
        /// Whether it is a retransmission.
        retransmission: bool,
        /// Whether it arrived with a congestion mark.
        marked: bool,
    }
}

table! {
    /// All RTT samples of a flow after the warm-up, counted by microsecond.
    RttTable, RttRow, "rtt" {
        /// Number of the flow, from 0.
        flow: u32,
        /// RTT, rounded down to the microsecond.
        rtt_us: u32,
        /// Samples with this RTT, of packets sent after the warm-up.
        count: u64,
    }
}

table! {
    /// One-way delays of all packets between real hosts after the warm-up, counted by microsecond: time from the instant at
    /// which the sending host's interface passed a packet to the network to that at which the network delivered it.
    DelayTable, DelayRow, "delays" {
        /// Number of the flow, from 0.
        flow: u32,
        /// forward (from the flow's source) or return.
        direction: &'static str,
        /// Delay, rounded down to the microsecond.
        delay_us: u32,
        /// Packets with this delay that entered the network after the warm-up.
        count: u64,
    }
}

table! {
    /// A flow over the entire run. Counters are totals of the run; RTTs and the goodput window exclude the warm-up.
    FlowTotalsTable, FlowTotalsRow, "flow_totals" {
        /// Number of the flow, from 0.
        flow: u32,
        /// Name.
        name: String,
        /// Sending node.
        from: String,
        /// Receiving node.
        to: String,
        /// Congestion control, or `ping` and `cbr`.
        cc: String,
        /// Number of its slowest port at time zero: flows with the same number share it.
        bottleneck: u32,
        /// Actual start.
        started_ns: Option<u64> = "it did not start",
        /// Completion of a limited transfer.
        completed_ns: Option<u64> = "it was not complete, or has no limit",
        /// Time at which it stopped, at the latest the end of the run.
        stop_ns: u64,
        /// Payload handed in order to the receiving application, entire run.
        goodput_bytes: u64,
        /// Part of it that arrived within the goodput window.
        window_bytes: u64,
        /// Length of the goodput window: from the later of start and warm-up to the earlier of stop, completion, end.
        window_ns: u64,
        /// Data packets sent, retransmissions included.
        data_sent: u64,
        /// Data packets retransmitted.
        retransmits: u64,
        /// Retransmission timeouts.
        timeouts: u64,
        /// Reductions undone as spurious.
        undos: Option<u64> = "the backend does not report it",
        /// Number of times that fast recovery was entered.
        recoveries: Option<u64> = "the backend does not report it",
        /// RTT samples of packets sent after the warm-up.
        rtt_samples: u64,
        /// Sum of these samples.
        rtt_sum_ns: u64,
        /// Samples for which the base RTT at send time is known.
        inflation_samples: u64,
        /// Sum of their ratios of RTT to base RTT at send time.
        inflation_sum: f64,
        /// Smallest base RTT among them.
        base_rtt_min_ns: Option<u64> = "there are none",
        /// Sum of base RTTs over these samples.
        base_rtt_sum_ns: u64,
        /// Time with a route during its life.
        routed_ns: Option<u64> = "the source of the record does not report it",
        /// Time average of the rate of the route's slowest port while there was a route; 0 if there never was.
        capacity_bps: Option<f64> = "the source of the record does not report it",
        /// Ratio of the payload of its largest packet to that packet's bytes on the slowest port.
        payload_share: f64,
        /// Changes of the forward route.
        path_changes: Option<u64> = "the source of the record does not report it",
        /// Number of times that the route was lost.
        unreachable: Option<u64> = "the source of the record does not report it",
        /// ACKs that carried telemetry.
        telemetry_acks: Option<u64> = "the source of the record does not report it",
        /// Packets sent into the network, in both directions.
        sent_packets: u64,
        /// Packets that arrived.
        delivered_packets: Option<u64> = "the source of the record does not report it",
        /// Packets in flight at the end.
        under_way_packets: Option<u64> = "the source of the record does not report it",
        /// Packets dropped by the queue: queue full, or by its discipline.
        drops_queue: Option<u64> = "the source of the record does not report it",
        /// Packets lost at random.
        drops_random: Option<u64> = "the source of the record does not report it",
        /// Packets lost in outages.
        drops_outage: Option<u64> = "the source of the record does not report it",
        /// Packets lost without a route.
        drops_no_route: Option<u64> = "the source of the record does not report it",
    }
}

table! {
    /// A flow within its goodput window, and the capacity of the network while it was active: from its start, or the last
    /// sampling instant before the end of the warm-up, to its stop, its completion or the end, without silences of its
    /// application. The row without a flow covers all flows with data over TCP (of split ones the last leg) together.
    WindowTable, WindowRow, "windows" {
        /// Number of the flow, from 0.
        flow: Option<u32> = "the row covers all together",
        /// Kind of traffic: bulk, transfer (of a limited amount), on-off, request, web, video, cbr, voice, ping; empty in the row of all.
        class: &'static str,
        /// Payload delivered in order until the flow stopped.
        payload_bytes: u64,
        /// Time in which it (at least one of them) was active.
        there_ns: u64,
        /// Part of it with a route and all its links up.
        open_ns: Option<u64> = "the source of the record does not report it",
        /// Integral of the capacity over it: rate of the slowest port; of all together, of ports that each of them crosses.
        capacity_bits: Option<f64> = "the source of the record does not report it",
        /// Datagrams sent after the warm-up that arrived.
        datagrams: Option<u64> = "the flow does not send at a constant rate",
        /// Sum of their one-way delays.
        delay_sum_ns: Option<u64> = "the flow does not send at a constant rate",
        /// Maximum of these delays.
        delay_max_ns: Option<u64> = "no such datagram arrived",
        /// Sum of the absolute differences between the delays of successively arriving datagrams.
        jitter_sum_ns: Option<u64> = "the flow does not send at a constant rate",
    }
}

table! {
    /// Application-level metrics of a flow over TCP, or of a call, over the entire run.
    ApplicationTable, ApplicationRow, "applications" {
        /// Number of the flow, from 0.
        flow: u32,
        /// Arrival of the first byte of payload, since the start of the run.
        first_byte_ns: Option<u64> = "it never did, or the backend does not report it",
        /// Arrival in order of the first 10,000 bytes.
        first_10kb_ns: Option<u64> = "as for first_byte_ns",
        /// Arrival in order of the first 100,000 bytes.
        first_100kb_ns: Option<u64> = "as for first_byte_ns",
        /// Arrival in order of the first 1,000,000 bytes.
        first_1mb_ns: Option<u64> = "as for first_byte_ns",
        /// Arrival in order of the first 10,000,000 bytes.
        first_10mb_ns: Option<u64> = "as for first_byte_ns",
        /// Start of the playback of a video.
        playing_ns: Option<u64> = "it did not start, or the flow is not a video",
        /// Number of stalls of the video for lack of data.
        stalls: Option<u64> = "the flow is not a video",
        /// Total time of stalls after the start of playback.
        stalled_ns: Option<u64> = "the flow is not a video",
        /// Number of segments that arrived.
        segments: Option<u64> = "the flow is not a video",
        /// Media time of these segments.
        media_ns: Option<u64> = "the flow is not a video",
        /// Media time that was played.
        played_ns: Option<u64> = "the flow is not a video",
        /// Bits of the segments.
        media_bits: Option<u64> = "the flow is not a video",
        /// Segments requested in another quality than the preceding one.
        switches: Option<u64> = "the flow is not a video",
        /// Codec of a call; empty for other flows.
        codec: String,
        /// Packets of the call, sent after the warm-up, that arrived in time to be played.
        played_packets: Option<u64> = "the flow is not a call",
        /// Packets of the call, sent after the warm-up, that arrived too late.
        late_packets: Option<u64> = "the flow is not a call",
        /// Sum over the packets played of the time from mouth to ear: speech in a packet, look-ahead of the codec, delay of
        /// the first arriving packet of the talk spurt, playout buffer.
        mouth_ear_sum_ns: Option<u64> = "the flow is not a call",
    }
}

table! {
    /// Time for which each limit prevented the sender of a flow over TCP from sending more, since the flow's previous row
    /// (at first: since its connection was established).
    LimitTable, LimitRow, "limits" {
        /// Sampling instant, since the start of the run.
        t_ns: u64,
        /// Number of the flow, from 0.
        flow: u32,
        /// The application had nothing more to send.
        application_ns: u64,
        /// The receive window was full.
        receive_window_ns: u64,
        /// The send buffer was full of data in flight.
        send_buffer_ns: u64,
        /// The congestion window was full, or the pacing rate derived from it.
        congestion_window_ns: u64,
        /// The next packet waited for its departure at the pacing rate of the congestion control.
        pacing_ns: Option<u64> = "the backend counts it as congestion_window_ns",
    }
}

table! {
    /// A link over the entire run.
    LinkTotalsTable, LinkTotalsRow, "link_totals" {
        /// Number of the link.
        link: u32,
        /// Number of the port that feeds it.
        port: u32,
        /// Name of the port.
        name: String,
        /// Node at its near end.
        from: String,
        /// Node at its far end.
        to: String,
        /// Queue limit of the port, in bytes.
        queue_limit_bytes: Option<u64> = "the limit counts packets",
        /// Queue limit of the port, in packets.
        queue_limit_packets: Option<u64> = "the limit counts bytes",
        /// Packets passed to the port for this link.
        entered_packets: u64,
        /// Packets that reached the far end.
        crossed_packets: u64,
        /// Packets queued, in service or in flight at the end.
        under_way_packets: u64,
        /// Bytes transmitted, framing included.
        tx_bytes: u64,
        /// Mean time from a packet's arrival at the port to the start of its transmission, over all transmitted packets.
        mean_wait_ns: Option<f64> = "none left",
        /// Packets marked instead of dropped (ECN).
        marked_packets: u64,
        /// Packets dropped by the queue: queue full, or by its discipline.
        drops_queue: u64,
        /// Packets lost at random.
        drops_random: u64,
        /// Packets lost in outages.
        drops_outage: u64,
        /// Packets lost without a route.
        drops_no_route: u64,
    }
}

table! {
    /// The meter of a port with a flow table of bounded size, over the entire run.
    MeterTable, MeterRow, "meters" {
        /// Number of the port.
        port: u32,
        /// Name of the port.
        name: String,
        /// Size of the table.
        entries: u64,
        /// Flows evicted for others.
        evictions: u64,
        /// Of these, flows that had been seen in the same interval, and counted.
        evictions_in_use: u64,
    }
}

table! {
    /// A node of the route of a traffic pair from `t_ns` on; a single row with hop 0 and no node = no route.
    RouteTable, RouteRow, "routes" {
        /// Time from which it applies, since the start of the run.
        t_ns: u64,
        /// Number of the traffic pair in the manifest.
        pair: u32,
        /// Position on the route, from 0.
        hop: u32,
        /// Number of the node in the manifest.
        node: Option<u32> = "there is no route",
    }
}

table! {
    /// Position of a node.
    TrackTable, TrackRow, "tracks" {
        /// Time since the start of the run.
        t_ns: u64,
        /// Number of the node in the manifest.
        node: u32,
        /// Name.
        name: String,
        /// Latitude, degrees north.
        lat_deg: f64,
        /// Longitude, degrees east.
        lon_deg: f64,
        /// Height above the ellipsoid (WGS 84).
        height_m: f64,
    }
}

#[cfg(test)]
mod tests;
