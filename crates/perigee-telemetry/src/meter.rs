// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Meter of an egress queue: mean base RTT of its flows, number of flows, and bytes transmitted.
//!
//! Principle: packets carry the base RTT r and the window w of their flow. A flow sends w/s packets
//! of s bytes in each r, so that within any interval d
//!
//! ```text
//! A = Σ r·s/w      grows by d per flow          → A/d   = number of flows
//! B = Σ r²·s/w     grows by d·r per flow        → B/A   = mean of r over flows, not over packets
//! flowCnt = number of distinct flow ids
//! ```
//!
//! The mean needs no per-flow state. An interval lasts one mean RTT (10 ms until it is known);
//! packets carry its results during the next one.
//!
//! ```text
//!            first packet: deadline = now + (avgRTT or 10 ms)
//!   off ───────────────────────────────────────────────────────► running
//!    ▲                                                             │
//!    │  expiry with A = 0: keep everything                         │ expiry with A > 0: publish, clear, restart
//!    └─────────────────────────────────────────────────────────────┤◄──┐
//!                                                                  └───┘
//! ```
//!
//! The timer is evaluated lazily: each entry point first processes the expiries that are due.

use crate::flow_table::FlowTable;
use crate::integer::{IntegerMeter, TABLES};
use crate::pint::{PintPort, WirePint};
use crate::uf16;
use crate::wire::{rate_code, Stamp, WireHop, FLAG_FLOWS_SATURATED, FLOWS_MAX, RTT_MAX_US, TS_MASK, TX_MASK};
use perigee_cc::{BitRate, Nanos, TxBytesUnit};

/// Interval until the first mean RTT is known.
const FIRST_INTERVAL: Nanos = Nanos::from_millis(10);

/// Id of a switch, which is XORed into the path id: a hash of the node number, so that the ids of
/// neighbouring nodes do not cancel.
pub const fn switch_id(node: u32) -> u16 {
    let mut h = (node as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (h >> 48) as u16
}

/// Number of bytes that a meter counts for a packet, given its payload, IP and wire bytes.
#[inline]
pub const fn counted_bytes(unit: TxBytesUnit, payload: u32, ip: u32, wire: u32) -> u32 {
    match unit {
        TxBytesUnit::Payload => payload,
        TxBytesUnit::Ip => ip,
        TxBytesUnit::Wire => wire,
    }
}

/// Meter of one egress queue.
#[derive(Clone, Debug)]
pub struct Meter {
    /// End of the current interval; `Nanos::MAX` = the timer is off.
    deadline: Nanos,
    interval: Nanos,
    /// A in µs.
    sum_r: f64,
    /// B in µs².
    sum_r2: f64,
    /// Flows of the current interval.
    seen: FlowSet,
    /// In place of that set, if it is bounded.
    table: Option<Box<FlowTable>>,
    tx_bytes: u64,
    /// Rate encoded in `bw_code`, which is cached because the rate changes rarely.
    bw: BitRate,
    bw_code: u16,
    // Results of the last completed interval.
    avg_rtt_us: u32,
    flows: u16,
    flags: u8,
    flows_by_weight: f64,
    /// Handshake packets in the current interval: flows about to start.
    announced: u32,
    /// Present once a packet carries a record of fixed size (PINT).
    pint: Option<Box<PintPort>>,
    /// Integer arithmetic in place of the sums and the set above, if the port computes like a switch.
    integer: Option<Box<IntegerMeter>>,
}

impl Default for Meter {
    fn default() -> Self {
        Meter {
            deadline: Nanos::MAX,
            interval: FIRST_INTERVAL,
            sum_r: 0.0,
            sum_r2: 0.0,
            seen: FlowSet::default(),
            table: None,
            tx_bytes: 0,
            bw: BitRate(0),
            bw_code: 0,
            avg_rtt_us: 0,
            flows: 1,
            flags: 0,
            flows_by_weight: 0.0,
            announced: 0,
            pint: None,
            integer: None,
        }
    }
}

impl Meter {
    /// A meter in its initial state.
    pub fn new() -> Self {
        Meter::default()
    }

    /// A meter in its initial state; `integer`: with integer arithmetic, like a switch
    /// ([`crate::integer`]).
    pub fn of(integer: bool) -> Self {
        Meter { integer: integer.then(Box::default), ..Meter::default() }
    }

    /// The meter with a table of `entries` for flows, which [`Self::flows`] is counted in.
    /// (Without effect on integer arithmetic, which counts in a bitmap.)
    #[must_use]
    pub fn with_flow_table(self, entries: u32) -> Self {
        Meter { table: Some(Box::new(FlowTable::new(entries))), ..self }
    }

    /// The bounded table of flows, if there is one.
    pub fn flow_table(&self) -> Option<&FlowTable> {
        self.table.as_deref()
    }

    /// Handles the arrival of a data packet with a telemetry header at a queue of `queued_bytes`. The
    /// packet counts even if it is then dropped. `flow`: dense index of the four-tuple. Returns the
    /// encoded queue length, which the caller stores with the packet for [`Self::on_dequeue`].
    #[inline]
    pub fn on_enqueue(&mut self, now: Nanos, stamp: &Stamp, flow: u32, queued_bytes: u64) -> u16 {
        self.advance(now);
        if let Some(pint) = &mut self.pint {
            pint.on_enqueue(flow);
        }
        if let Some(integer) = &mut self.integer {
            let (us, hash) = (now.as_micros(), switch_id(flow));
            integer.on_enqueue(&TABLES, us, stamp.base_rtt_us, stamp.cwnd, stamp.payload, hash);
            return uf16::encode(queued_bytes);
        }
        if self.deadline == Nanos::MAX {
            self.deadline = now + self.interval;
        }
        let r = stamp.base_rtt_us as f64;
        self.sum_r += r * stamp.weight;
        self.sum_r2 += r * r * stamp.weight;
        match &mut self.table {
            None => self.seen.insert(flow),
            Some(table) => table.insert(flow),
        }
        // A handshake announces a flow that will use its window one round trip later.
        if stamp.weighted && stamp.payload == 0 {
            self.announced += 1;
        }
        uf16::encode(queued_bytes)
    }

    /// Handles the arrival of a packet without a telemetry header. It is not counted but starts the
    /// timer, as every packet does in the authors' simulator.
    #[inline]
    pub fn on_other(&mut self, now: Nanos) {
        self.advance(now);
        if self.integer.is_none() && self.deadline == Nanos::MAX {
            self.deadline = now + self.interval;
        }
    }

    /// Creates the record of a packet that has just been dequeued. `q_in`: from
    /// [`Self::on_enqueue`]; `counted_bytes`: see [`counted_bytes`].
    #[inline]
    pub fn on_dequeue(
        &mut self,
        now: Nanos,
        q_in: u16,
        queued_bytes_after: u64,
        bw: BitRate,
        counted_bytes: u32,
    ) -> WireHop {
        self.advance(now);
        // Counted in bytes, so that no remainders of the 8-byte unit are lost.
        self.tx_bytes += counted_bytes as u64;
        if bw != self.bw {
            self.bw = bw;
            self.bw_code = rate_code(bw);
        }
        if let Some(pint) = &mut self.pint {
            pint.on_dequeue(
                now,
                counted_bytes,
                queued_bytes_after,
                bw,
                Nanos::from_micros(self.avg_rtt_us as u64),
            );
        }
        WireHop {
            ts: now.as_micros() as u32 & TS_MASK,
            tx: (self.tx_bytes / 8) as u32 & TX_MASK,
            avg_rtt: self.avg_rtt_us,
            bw: self.bw_code,
            q_out: uf16::encode(queued_bytes_after),
            q_in,
            flows: self.flows,
            flags: self.flags,
        }
    }

    /// As [`Self::on_dequeue`], for a data packet or ACK of a flow with records of fixed size (PINT):
    /// counts `ip_bytes` and returns the record. `switch`: from [`switch_id`].
    pub fn on_dequeue_pint(
        &mut self,
        now: Nanos,
        queued_bytes_after: u64,
        bw: BitRate,
        ip_bytes: u32,
        switch: u16,
    ) -> WirePint {
        self.pint.get_or_insert_default();
        self.on_dequeue(now, 0, queued_bytes_after, bw, ip_bytes);
        let bw_code = self.bw_code;
        self.pint.get_or_insert_default().record(bw_code, switch)
    }

    /// Processes the expiries that are due at `now`. Must be called before results are read; the other
    /// entry points call it themselves.
    #[inline]
    pub fn advance(&mut self, now: Nanos) {
        if self.integer.is_some() {
            return self.advance_integer(now);
        }
        // At most two iterations: an interval without packets turns the timer off.
        while self.deadline <= now && self.deadline != Nanos::MAX {
            self.expire();
        }
    }

    fn advance_integer(&mut self, now: Nanos) {
        let Some(integer) = &mut self.integer else { return };
        if !integer.advance(&TABLES, now.as_micros()) {
            return;
        }
        (self.avg_rtt_us, self.flags) = (integer.avg_rtt_us(), integer.flags());
        self.flows = integer.flows() as u16;
        if let Some(pint) = &mut self.pint {
            pint.end_interval();
        }
    }

    #[cold]
    fn expire(&mut self) {
        if self.sum_r <= 0.0 {
            self.deadline = Nanos::MAX;
            return;
        }
        let mean_us = (self.sum_r2 / self.sum_r + 0.5) as u32;
        self.flows_by_weight = self.sum_r * 1e3 / self.interval.0 as f64 + f64::from(self.announced);
        self.announced = 0;
        self.avg_rtt_us = mean_us.clamp(1, RTT_MAX_US);
        let distinct = self.table.as_mut().map_or_else(|| self.seen.len(), |table| table.end_interval());
        self.flows = distinct.min(FLOWS_MAX as u32) as u16;
        self.flags = if distinct > FLOWS_MAX as u32 { FLAG_FLOWS_SATURATED } else { 0 };
        (self.sum_r, self.sum_r2) = (0.0, 0.0);
        self.seen.clear();
        if let Some(pint) = &mut self.pint {
            pint.end_interval();
        }
        self.interval = Nanos::from_micros(self.avg_rtt_us as u64);
        self.deadline += self.interval;
    }

    /// Mean base RTT of the last completed interval; zero = not yet measured.
    pub fn avg_rtt(&self) -> Nanos {
        Nanos::from_micros(self.avg_rtt_us as u64)
    }

    /// Number of flows in the last completed interval; 1 before the first.
    pub fn flows(&self) -> u32 {
        self.flows as u32
    }

    /// Number of windows in use in the last completed interval: A/d, which counts a flow that uses a
    /// part of its window as that part, plus the flows whose handshakes were counted. Zero with
    /// integer arithmetic.
    pub fn flows_by_weight(&self) -> f64 {
        self.flows_by_weight
    }

    /// Bytes counted since the start.
    pub fn tx_bytes(&self) -> u64 {
        self.tx_bytes
    }
}

/// Set of small integers with an O(1) clear: its elements are those last inserted in the current
/// epoch.
#[derive(Clone, Debug)]
struct FlowSet {
    epoch: u32,
    inserted_in: Vec<u32>,
    len: u32,
}

impl Default for FlowSet {
    fn default() -> Self {
        FlowSet { epoch: 1, inserted_in: Vec::new(), len: 0 }
    }
}

impl FlowSet {
    #[inline]
    fn insert(&mut self, flow: u32) {
        let i = flow as usize;
        if i >= self.inserted_in.len() {
            self.grow(i);
        }
        if self.inserted_in[i] != self.epoch {
            self.inserted_in[i] = self.epoch;
            self.len += 1;
        }
    }

    #[cold]
    fn grow(&mut self, i: usize) {
        self.inserted_in.resize(i + 1, 0);
    }

    fn len(&self) -> u32 {
        self.len
    }

    fn clear(&mut self) {
        self.len = 0;
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            // After 2^32 intervals, old marks would become valid again.
            self.inserted_in.fill(0);
            self.epoch = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_cc::HeaderStamp;

    const MSS: u32 = 1448;

    fn stamp(base_rtt_ms: u64, cwnd: u64) -> Stamp {
        Stamp::new(
            HeaderStamp { base_rtt: Nanos::from_millis(base_rtt_ms), cwnd, ..HeaderStamp::default() },
            MSS,
        )
    }

    /// Packets of two flows, each evenly spaced at its rate, over 350 ms.
    fn two_flows(cwnd_20ms: u64, cwnd_50ms: u64) -> Meter {
        let mut packets = Vec::new();
        for (flow, rtt_ms, cwnd) in [(0u32, 20u64, cwnd_20ms), (1, 50, cwnd_50ms)] {
            let spacing = rtt_ms * 1_000_000 * MSS as u64 / cwnd;
            packets.extend((0..350_000_000 / spacing).map(|i| (i * spacing, flow, stamp(rtt_ms, cwnd))));
        }
        packets.sort_by_key(|&(t, flow, _)| (t, flow));
        let mut meter = Meter::new();
        for (t, flow, stamp) in packets {
            meter.on_enqueue(Nanos(t), &stamp, flow, 0);
        }
        meter
    }

    #[test]
    fn the_mean_rtt_is_over_flows_and_independent_of_their_windows() {
        for (small, large) in [(100_000, 400_000), (400_000, 100_000), (250_000, 250_000)] {
            let meter = two_flows(small, large);
            let avg = meter.avg_rtt().as_millis_f64();
            assert!((avg - 35.0).abs() < 0.4, "{avg} ms");
            assert_eq!(meter.flows(), 2);
            assert!((meter.flows_by_weight() - 2.0).abs() < 0.05, "{}", meter.flows_by_weight());
        }
    }

    #[test]
    fn partly_used_windows_count_in_part_and_each_handshake_counts_as_one() {
        let quarter = Stamp { weighted: true, ..stamp(20, 100_000) };
        let mut meter = Meter::new();
        // One flow that fills its window, and one that uses a quarter of its own.
        let spacing = 20_000_000 * MSS as u64 / 100_000;
        for i in 0..350_000_000 / spacing {
            meter.on_enqueue(Nanos(i * spacing), &quarter, 0, 0);
            if i % 4 == 0 {
                meter.on_enqueue(Nanos(i * spacing), &quarter, 1, 0);
            }
        }
        assert!((meter.flows_by_weight() - 1.25).abs() < 0.08, "{}", meter.flows_by_weight());
        assert_eq!(meter.flows(), 2);
        let syn = Stamp { payload: 0, ..Stamp { weighted: true, ..stamp(0, 0) } };
        let at = Nanos::from_millis(360);
        meter.on_enqueue(at, &quarter, 0, 0);
        meter.on_enqueue(at, &syn, 7, 0);
        meter.on_enqueue(at, &syn, 8, 0);
        meter.advance(Nanos::from_millis(380));
        assert!((2.0..3.5).contains(&meter.flows_by_weight()), "{}", meter.flows_by_weight());
    }

    #[test]
    fn nothing_is_published_before_a_packet_carries_an_rtt() {
        let mut meter = Meter::new();
        let unknown = stamp(0, 7240);
        for ms in 0..40 {
            meter.on_enqueue(Nanos::from_millis(ms), &unknown, 3, 0);
        }
        assert_eq!((meter.avg_rtt(), meter.flows()), (Nanos::ZERO, 1));
        meter.on_enqueue(Nanos::from_millis(45), &stamp(50, 7240), 3, 0);
        meter.advance(Nanos::from_millis(60));
        assert_eq!((meter.avg_rtt(), meter.flows()), (Nanos::from_millis(50), 1));
    }

    #[test]
    fn a_packet_without_a_header_starts_the_timer_but_is_not_counted() {
        let mut meter = Meter::new();
        meter.on_other(Nanos::from_millis(1));
        meter.on_enqueue(Nanos::from_millis(8), &stamp(50, 7240), 3, 0);
        meter.on_other(Nanos::from_millis(9));
        meter.advance(Nanos::from_millis(10));
        assert_eq!(meter.avg_rtt(), Nanos::ZERO, "the interval started with the first packet");
        meter.advance(Nanos::from_millis(11));
        assert_eq!((meter.avg_rtt(), meter.flows()), (Nanos::from_millis(50), 1));
    }

    #[test]
    fn an_idle_port_keeps_its_last_values_and_starts_a_new_interval_with_the_next_packet() {
        let mut meter = Meter::new();
        for flow in 0..5 {
            meter.on_enqueue(Nanos::ZERO, &stamp(30, 50_000), flow, 0);
        }
        meter.advance(Nanos::from_secs(100));
        assert_eq!((meter.avg_rtt(), meter.flows()), (Nanos::from_millis(30), 5));
        meter.on_enqueue(Nanos::from_secs(100), &stamp(40, 50_000), 9, 0);
        meter.advance(Nanos::from_secs(100) + Nanos::from_millis(29));
        assert_eq!(meter.flows(), 5, "the interval lasts the last mean RTT");
        meter.advance(Nanos::from_secs(100) + Nanos::from_millis(30));
        assert_eq!((meter.avg_rtt(), meter.flows()), (Nanos::from_millis(40), 1));
    }

    #[test]
    fn a_packet_at_the_instant_of_expiry_belongs_to_the_next_interval() {
        let mut meter = Meter::new();
        meter.on_enqueue(Nanos::ZERO, &stamp(30, 50_000), 0, 0);
        meter.on_enqueue(FIRST_INTERVAL, &stamp(30, 50_000), 1, 0);
        assert_eq!(meter.flows(), 1);
        meter.advance(FIRST_INTERVAL + Nanos::from_millis(30));
        assert_eq!((meter.flows(), meter.seen.len()), (1, 0));
    }

    #[test]
    fn differences_of_transmitted_bytes_are_exact_although_their_unit_is_8_bytes() {
        let mut meter = Meter::new();
        let bw = BitRate::from_mbit(100);
        let first = meter.on_dequeue(Nanos::ZERO, 0, 0, bw, 0);
        let mut last = first;
        for i in 0..8000u64 {
            last = meter.on_dequeue(Nanos::from_micros(i), 0, 0, bw, 1501);
        }
        assert_eq!((last.tx - first.tx) as u64 * 8, 8000 * 1501);
    }

    #[test]
    fn a_record_carries_the_state_of_the_port() {
        let mut meter = Meter::new();
        let q_in = meter.on_enqueue(Nanos::ZERO, &stamp(50, 600_000), 0, 30_000);
        let at = Nanos::from_secs(20);
        let hop = meter.on_dequeue(at, q_in, 28_500, BitRate::from_mbit(100), 1507).decode();
        assert_eq!(hop.bw, BitRate::from_mbit(100));
        assert_eq!(hop.ts, Nanos::from_micros(20_000_000 % (1 << 24)));
        assert!(hop.q_in.abs_diff(30_000) < 8 && hop.q_out.abs_diff(28_500) < 8);
        assert_eq!((hop.tx_bytes, hop.avg_rtt), (1504, Nanos::from_millis(50)));
    }

    #[test]
    fn neighbouring_switches_have_unrelated_ids() {
        let ids: std::collections::BTreeSet<u16> = (0..2000).map(switch_id).collect();
        assert!(ids.len() > 1950);
        assert_ne!(switch_id(1) ^ switch_id(2), switch_id(3));
    }
}
