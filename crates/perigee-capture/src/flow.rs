// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flow: a direction of a connection that carries data, with its totals and rows.

use crate::packet::{End, Segment};
use crate::received::Arrival;
use crate::sent::Data;
use crate::Place;
use perigee_record::rtts::Rtts;
use perigee_record::tables::{FlowRow, FlowTotalsRow, WindowRow};
use perigee_units::Nanos;

/// Linux's minimum retransmission timeout (TCP_RTO_MIN): a retransmission after such a pause is
/// attributed to a timeout.
const RTO_MIN: Nanos = Nanos::from_millis(200);
/// Payload of a full segment if no SYN was captured: that of Ethernet, with timestamps.
const USUAL_MSS: u32 = 1448;
/// Maximum length of a packet that is certainly a single datagram (no GSO or GRO).
const ETHERNET_MTU: u32 = 1500;
/// Maximum payload of a segment that was certainly not merged by an interface.
const LARGEST_FRAME: u32 = 9000;

/// State and totals of a flow. Times are relative to the start of the record.
#[derive(Clone, Debug)]
pub struct Flow {
    pub number: u32,
    pub from: End,
    pub to: End,
    pub place: Place,
    quic: bool,
    /// Payload of a full segment, according to the SYNs.
    pub mss: Option<u32>,
    pub asked: Nanos,
    started: Nanos,
    last: Nanos,
    completed: Option<Nanos>,
    delivered: u64,
    delivered_at_warmup: u64,
    in_flight: Option<u64>,
    sent_packets: u64,
    retransmits: u64,
    pub needless: u64,
    pub reordered: u64,
    timeouts: u64,
    last_sent: Nanos,
    last_ack: Nanos,
    receive_window: Option<u64>,
    largest: (u32, u32),
    rtts: Rtts,
    srtt: Option<(f64, f64)>,
    interval_rtt: (u64, u64),
    /// Start of the current period with data in flight, and total length of the previous ones.
    busy_since: Option<Nanos>,
    busy: Nanos,
    row_before: (Nanos, u64),
    touched: bool,
}

/// Columns of captures in addition to those of every record.
pub const OWN_COLUMNS: [&str; 3] =
    ["capture.receive_window_bytes", "capture.needless_packets", "capture.reordered_packets"];

impl Flow {
    pub fn new(
        number: u32,
        (from, to): (End, End),
        place: Place,
        at: Nanos,
        asked: Nanos,
        mss: Option<u32>,
    ) -> Self {
        Flow {
            number,
            from,
            to,
            quic: false,
            place,
            mss,
            asked,
            started: at,
            last: at,
            completed: None,
            delivered: 0,
            delivered_at_warmup: 0,
            in_flight: None,
            sent_packets: 0,
            retransmits: 0,
            needless: 0,
            reordered: 0,
            timeouts: 0,
            last_sent: at,
            last_ack: at,
            receive_window: None,
            largest: (0, 0),
            rtts: Rtts::default(),
            srtt: None,
            interval_rtt: (0, 0),
            busy_since: None,
            busy: Nanos::ZERO,
            row_before: (at, 0),
            touched: false,
        }
    }

    /// Marks the flow as QUIC.
    pub fn quic(self) -> Self {
        Flow { quic: true, ..self }
    }

    pub fn is_quic(&self) -> bool {
        self.quic
    }

    /// Counts a datagram: one packet, unless the interface received several at once (GSO).
    pub fn datagram(&mut self, payload: u32, ip_bytes: u32) {
        if payload > self.largest.0 && ip_bytes <= ETHERNET_MTU {
            self.largest = (payload, ip_bytes);
        }
        let several = ip_bytes > ETHERNET_MTU && self.largest.0 > 0;
        self.sent_packets += if several { u64::from(payload.div_ceil(self.largest.0)) } else { 1 };
    }

    pub fn name(&self) -> String {
        format!("{} > {}", self.from, self.to)
    }

    /// Records a packet since the last row; true for the first one.
    pub fn touch(&mut self, at: Nanos) -> bool {
        self.last = self.last.max(at);
        !std::mem::replace(&mut self.touched, true)
    }

    /// Whether there was a packet since the last row.
    pub fn is_touched(&self) -> bool {
        self.touched
    }

    /// Instant of the last row.
    pub fn row_before(&self) -> Nanos {
        self.row_before.0
    }

    /// Packets on the wire per captured packet: an interface may segment it.
    fn packets(&mut self, s: &Segment, bytes: u64) -> u64 {
        if s.payload > self.largest.0 && s.payload <= self.mss.unwrap_or(LARGEST_FRAME) {
            self.largest = (s.payload, s.ip_bytes);
        }
        let full = self.mss.unwrap_or(if s.payload > LARGEST_FRAME { USUAL_MSS } else { s.payload.max(1) });
        bytes.div_ceil(u64::from(full.max(1)))
    }

    /// Processes data that leaves the sender.
    pub fn sent(&mut self, at: Nanos, s: &Segment, data: &Data, is_head: bool) -> bool {
        if data.probe {
            return false;
        }
        let again = self.packets(s, data.again);
        self.sent_packets += self.packets(s, data.again + data.new);
        self.retransmits += again;
        self.needless += if data.needless { again } else { 0 };
        let silent = at.saturating_sub(self.last_sent.max(self.last_ack));
        let timeout = again > 0 && is_head && silent >= RTO_MIN;
        self.timeouts += u64::from(timeout);
        self.last_sent = at;
        timeout
    }

    /// Processes data that reaches the receiver.
    pub fn arrived(&mut self, s: &Segment, kind: Arrival) {
        let packets = self.packets(s, u64::from(s.payload));
        self.sent_packets += packets;
        match kind {
            Arrival::New => {}
            Arrival::Reordered => self.reordered += packets,
            Arrival::Retransmission => self.retransmits += packets,
            Arrival::Duplicate => {
                self.retransmits += packets;
                self.needless += packets;
            }
        }
    }

    /// Processes an ACK from the receiver.
    pub fn answered(&mut self, at: Nanos, window: u64) -> bool {
        self.last_ack = at;
        let closed = window == 0 && self.receive_window != Some(0);
        self.receive_window = Some(window);
        closed
    }

    /// Updates the bytes delivered in order and those in flight.
    pub fn progress(&mut self, at: Nanos, delivered: u64, in_flight: Option<u64>, warmup: Nanos) {
        self.delivered = self.delivered.max(delivered);
        if at <= warmup {
            self.delivered_at_warmup = self.delivered;
        }
        self.in_flight = in_flight;
        match (in_flight.unwrap_or(1) > 0, self.busy_since) {
            (true, None) => self.busy_since = Some(at),
            (false, Some(since)) => {
                self.busy += at.saturating_sub(since);
                self.busy_since = None;
            }
            _ => {}
        }
    }

    /// Adds an RTT sample of a packet sent at `sent`.
    pub fn rtt(&mut self, sent: Nanos, rtt: Nanos, warmup: Nanos) {
        if sent >= warmup {
            self.rtts.push(rtt, None);
        }
        // Times of damaged captures are centuries apart.
        self.interval_rtt.0 = self.interval_rtt.0.saturating_add(rtt.0);
        self.interval_rtt.1 += 1;
        // RFC 6298 section 2.
        let r = rtt.0 as f64;
        self.srtt = Some(match self.srtt {
            None => (r, r / 2.0),
            Some((s, v)) => (0.875 * s + 0.125 * r, 0.75 * v + 0.25 * (s - r).abs()),
        });
    }

    pub fn complete(&mut self, at: Nanos) -> bool {
        let first = self.completed.is_none();
        self.completed.get_or_insert(at);
        first
    }

    pub fn is_complete(&self) -> bool {
        self.completed.is_some()
    }

    pub fn started(&self) -> Nanos {
        self.started
    }

    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    pub fn rtt_samples(&self) -> u64 {
        self.rtts.samples
    }

    pub fn mean_rtt(&self) -> Option<Nanos> {
        (self.rtts.samples > 0).then(|| Nanos(self.rtts.sum_ns / self.rtts.samples))
    }

    /// Row for an instant, with the columns of captures.
    pub fn row(&mut self, at: Nanos) -> (FlowRow, [f64; OWN_COLUMNS.len()]) {
        let (before, delivered) = std::mem::replace(&mut self.row_before, (at, self.delivered));
        self.touched = false;
        let time = at.saturating_sub(before).0;
        let (sum, count) = std::mem::take(&mut self.interval_rtt);
        let row = FlowRow {
            t_ns: at.0,
            flow: self.number,
            goodput_bps: if time == 0 {
                0.0
            } else {
                (self.delivered - delivered) as f64 * 8e9 / time as f64
            },
            delivered_bytes: self.delivered,
            cwnd_bytes: None,
            ssthresh_bytes: None,
            pacing_bps: None,
            in_flight_bytes: self.in_flight,
            srtt_ns: self.srtt.map(|(s, _)| s as u64),
            rtt_ns: sum.checked_div(count),
            base_rtt_ns: None,
            path_rate_bps: None,
            delivery_rate_bps: None,
            sent_packets: self.sent_packets,
            retransmits: self.retransmits,
            lost_packets: None,
            timeouts: self.timeouts,
            ca_state: "",
            mode: "",
        };
        let window = self.receive_window.map_or(f64::NAN, |w| w as f64);
        (row, [window, self.needless as f64, self.reordered as f64])
    }

    /// Totals, windows, and RTT histogram by microsecond.
    pub fn totals(&mut self, cc: &str, warmup: Nanos) -> (FlowTotalsRow, WindowRow, Vec<(u32, u64)>) {
        let stop = self.last;
        if let Some(since) = self.busy_since.take() {
            self.busy += stop.saturating_sub(since);
        }
        let end = self.completed.unwrap_or(stop);
        let span = end.saturating_sub(self.started.max(warmup));
        let window_bytes = self.delivered - self.delivered_at_warmup.min(self.delivered);
        let (payload, packet) = self.largest;
        let row = FlowTotalsRow {
            flow: self.number,
            name: self.name(),
            from: self.from.address.to_string(),
            to: self.to.address.to_string(),
            cc: cc.into(),
            bottleneck: u32::MAX,
            started_ns: Some(self.started.0),
            completed_ns: self.completed.map(|t| t.0),
            stop_ns: stop.0,
            goodput_bytes: self.delivered,
            window_bytes,
            window_ns: span.0,
            data_sent: self.sent_packets,
            retransmits: self.retransmits,
            timeouts: self.timeouts,
            undos: None,
            recoveries: None,
            rtt_samples: self.rtts.samples,
            rtt_sum_ns: self.rtts.sum_ns,
            inflation_samples: 0,
            inflation_sum: 0.0,
            base_rtt_min_ns: None,
            base_rtt_sum_ns: 0,
            routed_ns: None,
            capacity_bps: None,
            payload_share: if packet == 0 { f64::NAN } else { f64::from(payload) / f64::from(packet) },
            path_changes: None,
            unreachable: None,
            telemetry_acks: None,
            sent_packets: self.sent_packets,
            delivered_packets: None,
            under_way_packets: None,
            drops_queue: None,
            drops_random: None,
            drops_outage: None,
            drops_no_route: None,
        };
        let class = if self.is_complete() { "transfer" } else { "bulk" };
        let share = window_row(Some(self.number), class, window_bytes, self.busy.min(span).0);
        (row, share, self.rtts.take_counts().collect())
    }
}

/// A row of windows, with null for values unknown from a capture.
pub fn window_row(flow: Option<u32>, class: &'static str, payload_bytes: u64, there_ns: u64) -> WindowRow {
    WindowRow {
        flow,
        class,
        payload_bytes,
        there_ns,
        open_ns: None,
        capacity_bits: None,
        datagrams: None,
        delay_sum_ns: None,
        delay_max_ns: None,
        jitter_sum_ns: None,
    }
}
