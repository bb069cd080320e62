// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The tables of a record. Columns are the same whatever the backend was.

use crate::table::{Cell, Column, Table, Values};

/// A column as declared.
#[derive(Clone, Copy, Debug)]
pub struct ColumnSpec {
    /// Name, with the unit as its last word.
    pub name: &'static str,
    /// Type of its cells; `Option<…>` where a row may have no value.
    pub kind: &'static str,
    /// What it means.
    pub help: &'static str,
}

/// A table as declared.
#[derive(Clone, Copy, Debug)]
pub struct TableSpec {
    /// Name: that of its file, without the ending.
    pub name: &'static str,
    /// What a row is.
    pub help: &'static str,
    /// In order.
    pub columns: &'static [ColumnSpec],
    /// One without rows.
    pub empty: fn() -> Table,
}

/// The tables of a record, in their order.
pub fn record_tables() -> &'static [TableSpec] {
    &[
        FlowTable::SPEC,
        LinkTable::SPEC,
        EventTable::SPEC,
        RttTable::SPEC,
        CompletionTable::SPEC,
        FlowTotalsTable::SPEC,
        LinkTotalsTable::SPEC,
        RouteTable::SPEC,
        TrackTable::SPEC,
    ]
}

macro_rules! table {
    ($(#[doc = $doc:literal])* $table:ident, $row:ident, $name:literal { $($(#[doc = $field_doc:literal])* $field:ident : $ty:ty,)* }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug)]
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
            /// The rows so far, which are forgotten.
            pub fn take(&mut self) -> Table {
                std::mem::take(self).finish()
            }
            /// What the table is, as declared.
            pub const SPEC: TableSpec = TableSpec {
                name: $name,
                help: concat!($($doc),*),
                columns: &[$(ColumnSpec {
                    name: stringify!($field),
                    kind: stringify!($ty),
                    help: concat!($($field_doc),*),
                },)*],
                empty: || <$table>::default().finish(),
            };
        }
    };
}

table! {
    /// A flow at a sampling instant. Rates and RTTs are those since the previous instant; counters are totals.
    FlowTable, FlowRow, "flows" {
        /// Time since the start of the run.
        t_ns: u64,
        /// Index of the flow.
        flow: u32,
        /// Payload delivered in order since the previous row, per second.
        goodput_bps: f64,
        /// Payload delivered in order since the start.
        delivered_bytes: u64,
        /// Congestion window.
        cwnd_bytes: u64,
        /// Slow start threshold; none while infinite.
        ssthresh_bytes: Option<u64>,
        /// Pacing rate; none where the flow is not paced.
        pacing_bps: Option<u64>,
        /// Bytes in flight.
        in_flight_bytes: u64,
        /// Smoothed RTT.
        srtt_ns: Option<u64>,
        /// Mean of the RTT samples since the previous row.
        rtt_ns: Option<u64>,
        /// RTT of the present route without queues; none without a route.
        base_rtt_ns: Option<u64>,
        /// Rate of the slowest port of the present route.
        path_rate_bps: Option<u64>,
        /// Latest delivery-rate sample.
        delivery_rate_bps: u64,
        /// Data packets sent.
        sent_packets: u64,
        /// Data packets sent again.
        retransmits: u64,
        /// Packets that the sender marked lost.
        lost_packets: u64,
        /// Retransmission timeouts.
        timeouts: u64,
        /// Congestion avoidance state of the transport.
        ca_state: &'static str,
        /// State of the congestion control.
        mode: &'static str,
    }
}

table! {
    /// A link that carried or held packets since the previous sampling instant.
    LinkTable, LinkRow, "links" {
        /// Time since the start of the run.
        t_ns: u64,
        /// Index of the link.
        link: u32,
        /// Index of its port.
        port: u32,
        /// Bytes waiting at the port.
        queue_bytes: u64,
        /// Packets waiting at the port.
        queue_packets: u64,
        /// Share of the rate used since the previous row of the link.
        utilisation: f64,
        /// Rate of the port.
        rate_bps: u64,
        /// Propagation delay.
        delay_ns: u64,
        /// It carries packets.
        up: bool,
        /// Packets that left on it, in all.
        tx_packets: u64,
        /// Their bytes.
        tx_bytes: u64,
        /// Packets lost because the queue was full, in all.
        drops_queue: u64,
        /// Lost at random.
        drops_random: u64,
        /// Lost in outages.
        drops_outage: u64,
        /// Lost for want of a route.
        drops_no_route: u64,
    }
}

table! {
    /// Something that happened.
    EventTable, EventRow, "events" {
        /// Time since the start of the run.
        t_ns: u64,
        /// What.
        kind: &'static str,
        /// To which flow.
        flow: Option<u32>,
        /// At which link.
        link: Option<u32>,
        /// At which node.
        node: String,
        /// A number whose meaning the kind gives.
        value: f64,
        /// In words.
        text: String,
    }
}

table! {
    /// An object that an application asked for, or a limited transfer, that was complete before the end.
    CompletionTable, CompletionRow, "completions" {
        /// Index of the flow.
        flow: u32,
        /// Number of the object in its flow, from 0.
        object: u64,
        /// Its size.
        bytes: u64,
        /// When it was asked for; of a transfer without requests: when its connection began.
        asked_ns: u64,
        /// When its first data arrived; none for a transfer without requests.
        first_ns: Option<u64>,
        /// When its last byte arrived.
        done_ns: u64,
    }
}

table! {
    /// A packet of a trace: not part of a record, because it is made again on demand.
    PacketTable, PacketRow, "packets" {
        /// When it left its source.
        sent_ns: u64,
        /// When it reached its destination; none if it was lost.
        arrived_ns: Option<u64>,
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
        /// SACK blocks, newest first; a DSACK stands first.
        sack: String,
        /// Timestamp.
        ts_val_ms: u32,
        /// Timestamp that is echoed.
        ts_ecr_ms: u32,
        /// IP packet.
        ip_bytes: u32,
        /// It was sent before.
        retransmission: bool,
        /// It arrived with a congestion mark.
        marked: bool,
    }
}

table! {
    /// All RTT samples of a flow after the warm-up, counted by microsecond.
    RttTable, RttRow, "rtt" {
        /// Index of the flow.
        flow: u32,
        /// The RTT, rounded down.
        rtt_us: u32,
        /// How many samples.
        count: u64,
    }
}

table! {
    /// A flow over the whole run. Counters are totals of the run; RTTs and the goodput window leave out the warm-up.
    FlowTotalsTable, FlowTotalsRow, "flow_totals" {
        /// Index of the flow.
        flow: u32,
        /// Its name.
        name: String,
        /// Sending node.
        from: String,
        /// Receiving node.
        to: String,
        /// Congestion control, or `ping`.
        cc: String,
        /// Number of its slowest port at time zero: flows with the same number share it.
        bottleneck: u32,
        /// When it really started.
        started_ns: Option<u64>,
        /// When a limited transfer was complete.
        completed_ns: Option<u64>,
        /// When it stopped, at the latest the end of the run.
        stop_ns: u64,
        /// Payload delivered in order, whole run.
        goodput_bytes: u64,
        /// Payload delivered in order within the goodput window.
        window_bytes: u64,
        /// Length of the goodput window: from the later of start and warm-up to the earlier of stop, completion, end.
        window_ns: u64,
        /// Data packets sent, retransmissions included.
        data_sent: u64,
        /// Data packets sent again.
        retransmits: u64,
        /// Retransmission timeouts.
        timeouts: u64,
        /// Reductions taken back as spurious.
        undos: u64,
        /// Times that fast recovery was entered.
        recoveries: u64,
        /// RTT samples.
        rtt_samples: u64,
        /// Their sum.
        rtt_sum_ns: u64,
        /// Samples whose base RTT is known.
        inflation_samples: u64,
        /// Sum over these of RTT over base RTT at send time.
        inflation_sum: f64,
        /// Smallest base RTT among them.
        base_rtt_min_ns: Option<u64>,
        /// Sum of base RTTs over these samples.
        base_rtt_sum_ns: u64,
        /// Time with a route.
        routed_ns: u64,
        /// Time average of the slowest port's rate while a route existed.
        capacity_bps: f64,
        /// Payload bytes of a full packet over its bytes on the slowest port.
        payload_share: f64,
        /// Changes of the forward route.
        path_changes: u64,
        /// Times that the route was lost.
        unreachable: u64,
        /// ACKs that carried telemetry.
        telemetry_acks: u64,
        /// Packets put into the network.
        sent_packets: u64,
        /// Packets that arrived.
        delivered_packets: u64,
        /// Packets in the network at the end.
        under_way_packets: u64,
        /// Packets lost because a queue was full.
        drops_queue: u64,
        /// Lost at random.
        drops_random: u64,
        /// Lost in outages.
        drops_outage: u64,
        /// Lost for want of a route.
        drops_no_route: u64,
    }
}

table! {
    /// A link over the whole run.
    LinkTotalsTable, LinkTotalsRow, "link_totals" {
        /// Index of the link.
        link: u32,
        /// Its port.
        port: u32,
        /// Name of the port.
        name: String,
        /// Near end.
        from: String,
        /// Far end.
        to: String,
        /// What may wait at the port, in bytes; none for limits in packets.
        queue_limit_bytes: Option<u64>,
        /// What may wait at the port, in packets; none for limits in bytes.
        queue_limit_packets: Option<u64>,
        /// Packets given to the port for this link.
        entered_packets: u64,
        /// Packets that reached the far end.
        crossed_packets: u64,
        /// Packets waiting, in service or in flight at the end.
        under_way_packets: u64,
        /// Bytes that left, framing included.
        tx_bytes: u64,
        /// Mean time that a packet waited before its own transmission; none if no packet did.
        mean_wait_ns: Option<f64>,
        /// Packets marked instead of dropped (ECN).
        marked_packets: u64,
        /// Packets lost because the queue was full.
        drops_queue: u64,
        /// Lost at random.
        drops_random: u64,
        /// Lost in outages.
        drops_outage: u64,
        /// Lost for want of a route.
        drops_no_route: u64,
    }
}

table! {
    /// A node of the route of a traffic pair from `t_ns` on; a single row with hop 0 and no node = no route.
    RouteTable, RouteRow, "routes" {
        /// From when on.
        t_ns: u64,
        /// Index of the traffic pair.
        pair: u32,
        /// Position on the route, from 0.
        hop: u32,
        /// Index of the node.
        node: Option<u32>,
    }
}

table! {
    /// Where a node was.
    TrackTable, TrackRow, "tracks" {
        /// When.
        t_ns: u64,
        /// Index of the node.
        node: u32,
        /// Its name.
        name: String,
        /// Degrees north.
        lat_deg: f64,
        /// Degrees east.
        lon_deg: f64,
        /// Metres above the ellipsoid.
        height_m: f64,
    }
}

/// Columns that only some schemes have (`cc_u`, `cc_bw_bps`, …), beside [`FlowTable`]: rows of other schemes hold NaN.
#[derive(Clone, Debug, Default)]
pub struct Internals {
    rows: usize,
    columns: Vec<(&'static str, Vec<f64>)>,
}

impl Internals {
    /// Appends the named values of one row.
    pub fn push(&mut self, named: &[(&'static str, f64)]) {
        for &(name, value) in named {
            let at = match self.columns.iter().position(|(n, _)| *n == name) {
                Some(at) => at,
                None => {
                    self.columns.push((name, vec![f64::NAN; self.rows]));
                    self.columns.len() - 1
                }
            };
            let column = &mut self.columns[at].1;
            // A name that comes twice in one row keeps its first value.
            if column.len() == self.rows {
                column.push(value);
            }
        }
        self.rows += 1;
        for (_, column) in &mut self.columns {
            column.resize(self.rows, f64::NAN);
        }
    }

    /// The columns so far, by name; their rows are forgotten, the names are not needed again.
    pub fn take(&mut self) -> Vec<Column> {
        std::mem::take(self).finish()
    }

    /// The columns, by name.
    pub fn finish(mut self) -> Vec<Column> {
        self.columns.sort_by_key(|(name, _)| *name);
        let column = |(name, values): (&str, Vec<f64>)| Column {
            name: format!("cc_{name}"),
            values: Values::F64(values),
            valid: None,
        };
        self.columns.into_iter().map(column).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_columns() {
        let mut t = RttTable::default();
        t.push(RttRow { flow: 0, rtt_us: 50_000, count: 3 });
        let t = t.finish();
        assert_eq!((t.name, t.rows(), t.columns.len()), ("rtt", 1, 3));
        assert_eq!(t.columns[1].values, Values::U32(vec![50_000]));
    }

    #[test]
    fn internals_of_different_schemes_share_a_table() {
        let mut i = Internals::default();
        i.push(&[("u", 1.0)]);
        i.push(&[]);
        i.push(&[("bw", 2.0), ("u", 3.0)]);
        let columns = i.finish();
        assert_eq!(columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["cc_bw", "cc_u"]);
        let Values::F64(u) = &columns[1].values else { panic!() };
        assert!(u[0] == 1.0 && u[1].is_nan() && u[2] == 3.0);
    }
}
