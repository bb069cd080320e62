// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Adapter from the simulator's observer to a record's sink: rows are written in batches as they
//! are produced.

use crate::application_metrics::Calls;
use crate::goodput_windows::Windows;
use crate::routes::{RouteListener, RouteTables};
use crate::rtt_changes::RttChanges;
use perigee_record::sink::BATCH_ROWS;
use perigee_record::tables::{
    CarrierRow, CarrierTable, CompletionRow, CompletionTable, DelayRow, DelayTable, EventRow, EventTable,
    FlowRow, FlowTable, FlowTotalsRow, FlowTotalsTable, Internals, LimitRow, LimitTable, LinkRow, LinkTable,
    LinkTotalsRow, LinkTotalsTable, MeterRow, MeterTable, RttRow, RttTable,
};
use perigee_record::{
    FlowInfo, FlowTableTotals, FrameSeen, PacketSeen, RecordSink, Rtts, RunHeader, RunOutcome, SinkError,
    Table,
};
use perigee_sim::{Observer, SimEvent, VideoEvent};
use perigee_timeline::{ChunkSource, NodeId, Note, QueueLimit};
use perigee_units::Nanos;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// Writes the rows of one run. `PACKETS`: whether the sink needs packets.
pub struct Recorder<'s, const PACKETS: bool> {
    sink: &'s mut dyn RecordSink,
    /// First error of the sink, which ends the run.
    error: Option<SinkError>,
    failed: Rc<Cell<bool>>,
    infos: Vec<FlowInfo>,
    flows: FlowTable,
    /// Internals of the schemes, row by row alongside `flows`.
    internals: Internals,
    limits: LimitTable,
    links: LinkTable,
    carriers: CarrierTable,
    events: EventTable,
    completions: CompletionTable,
    /// Number of rows in the tables above.
    rows: usize,
    routes: Arc<Mutex<RouteTables>>,
    /// RTT samples by flow.
    rtts: Vec<Rtts>,
    /// One-way delays by flow: forward, return.
    delays: Vec<[Rtts; 2]>,
    changes: RttChanges,
    /// Payload that each flow had delivered at the start of its goodput window.
    delivered_at_warmup: Vec<u64>,
    /// Names of nodes, for events.
    nodes: Vec<String>,
    warmup: Nanos,
    windows: Windows,
    calls: Calls,
}

impl<'s, const PACKETS: bool> Recorder<'s, PACKETS> {
    /// Starts a record.
    ///
    /// # Errors
    /// Errors of the sink.
    pub fn new(
        header: &RunHeader,
        flows: Vec<FlowInfo>,
        routes: Arc<Mutex<RouteTables>>,
        (windows, calls): (Windows, Calls),
        sink: &'s mut dyn RecordSink,
    ) -> Result<Self, SinkError> {
        sink.begin(header)?;
        flows.iter().try_for_each(|f| sink.flow_added(f))?;
        Ok(Recorder {
            sink,
            error: None,
            failed: Rc::default(),
            rtts: vec![Rtts::default(); flows.len()],
            delays: vec![Default::default(); flows.len()],
            changes: RttChanges::default(),
            delivered_at_warmup: vec![0; flows.len()],
            infos: flows,
            flows: FlowTable::default(),
            internals: Internals::default(),
            limits: LimitTable::default(),
            links: LinkTable::default(),
            carriers: CarrierTable::default(),
            events: EventTable::default(),
            completions: CompletionTable::default(),
            rows: 0,
            routes,
            nodes: header.nodes.clone(),
            warmup: Nanos(header.warmup_ns),
            windows,
            calls,
        })
    }

    /// Also records RTT samples that differ from the previous one, up to `limit` per flow.
    pub fn with_rtt_changes(mut self, limit: u32) -> Self {
        self.changes = RttChanges::new(limit, self.infos.len());
        self
    }

    /// True once the sink has failed.
    pub fn failed(&self) -> Rc<Cell<bool>> {
        self.failed.clone()
    }

    /// Writes the remaining rows, the totals, and the end.
    ///
    /// # Errors
    /// The first error of the sink.
    pub fn finish<S: ChunkSource>(
        mut self,
        source: &RouteListener<S>,
        mut outcome: RunOutcome,
    ) -> Result<(), SinkError> {
        self.flush();
        let (rtts, delays) = (self.rtt_table(), self.delay_table());
        let (flows, links, meters) =
            (self.flow_totals(&outcome), link_totals(source, &outcome), meters(source, &outcome));
        for table in [rtts, delays, flows, links, meters] {
            self.write(table);
        }
        if let Some(e) = self.error {
            return Err(e);
        }
        let (windows, backlog) = self.windows.table(&outcome, &self.delivered_at_warmup);
        outcome.remarks.extend(backlog);
        self.sink.batch(windows)?;
        let applications = crate::application_metrics::table(&self.calls, &outcome);
        if applications.rows() > 0 {
            self.sink.batch(applications)?;
        }
        outcome.nodes = source.nodes().to_vec();
        self.sink.end(&outcome)
    }

    fn write(&mut self, rows: Table) {
        if self.error.is_none() && rows.rows() > 0 {
            self.error = self.sink.batch(rows).err();
            self.failed.set(self.error.is_some());
        }
    }

    /// Writes the rows so far.
    fn flush(&mut self) {
        self.rows = 0;
        let mut flows = self.flows.take();
        flows.columns.extend(self.internals.take());
        let (limits, links, carriers) = (self.limits.take(), self.links.take(), self.carriers.take());
        let (events, completions) = (self.events.take(), self.completions.take());
        let [routes, tracks] = self.routes.lock().expect("nothing panics with it").take();
        for table in [flows, limits, links, carriers, events, completions, routes, tracks] {
            self.write(table);
        }
    }

    fn event(&mut self, at: Nanos, kind: &'static str, flow: Option<u32>, text: &str) {
        self.push_event(EventRow {
            t_ns: at.0,
            kind,
            flow,
            link: None,
            node: String::new(),
            value: 0.0,
            text: text.into(),
        });
    }

    fn push_event(&mut self, row: EventRow) {
        self.rows += 1;
        self.events.push(row);
    }

    fn note(&mut self, at: Nanos, n: &Note) {
        let node = n.node.and_then(|id| self.nodes.get(id.ix()).cloned()).unwrap_or_default();
        let (kind, value, text) = (n.kind.name(), n.value, n.text.clone());
        self.push_event(EventRow { t_ns: at.0, kind, flow: None, link: None, node, value, text });
    }

    fn rtt_table(&mut self) -> Table {
        let mut table = RttTable::default();
        for (flow, r) in self.rtts.iter_mut().enumerate() {
            for (rtt_us, count) in r.take_counts() {
                table.push(RttRow { flow: flow as u32, rtt_us, count });
            }
        }
        table.finish()
    }

    fn delay_table(&mut self) -> Table {
        let mut table = DelayTable::default();
        for (flow, both) in self.delays.iter_mut().enumerate() {
            for (direction, delays) in ["forward", "return"].into_iter().zip(both) {
                for (delay_us, count) in delays.take_counts() {
                    table.push(DelayRow { flow: flow as u32, direction, delay_us, count });
                }
            }
        }
        table.finish()
    }

    fn flow_totals(&self, outcome: &RunOutcome) -> Table {
        let mut table = FlowTotalsTable::default();
        for (i, (info, t)) in self.infos.iter().zip(&outcome.flows).enumerate() {
            let r = &self.rtts[i];
            let end = Nanos(info.stop_ns).min(outcome.end);
            let window_start = t.started.unwrap_or(end).max(self.warmup);
            let window_end = t.completed.unwrap_or(end);
            let [drops_queue, drops_random, drops_outage, drops_no_route] = t.dropped;
            table.push(FlowTotalsRow {
                flow: info.flow,
                name: info.name.clone(),
                from: info.from.clone(),
                to: info.to.clone(),
                cc: info.cc.clone(),
                bottleneck: info.bottleneck.unwrap_or(u32::MAX),
                started_ns: t.started.map(|s| s.0),
                completed_ns: t.completed.map(|s| s.0),
                stop_ns: end.0,
                goodput_bytes: t.goodput_bytes,
                window_bytes: t.goodput_bytes.saturating_sub(self.delivered_at_warmup[i]),
                window_ns: window_end.saturating_sub(window_start).0,
                data_sent: t.data_sent,
                retransmits: t.retrans,
                timeouts: t.timeouts,
                undos: t.undos,
                recoveries: t.recoveries,
                rtt_samples: r.samples,
                rtt_sum_ns: r.sum_ns,
                inflation_samples: r.inflation_samples,
                inflation_sum: r.inflation_sum,
                base_rtt_min_ns: r.base_min.map(|b| b.0),
                base_rtt_sum_ns: r.base_sum_ns,
                routed_ns: Some(t.routed.0),
                capacity_bps: Some(if t.routed.0 == 0 {
                    0.0
                } else {
                    t.capacity_bits / t.routed.as_secs_f64()
                }),
                payload_share: t.payload_share,
                path_changes: Some(t.path_changes),
                unreachable: Some(t.unreachable),
                telemetry_acks: Some(t.telemetry_acks),
                sent_packets: t.sent,
                delivered_packets: Some(t.delivered),
                under_way_packets: Some(t.under_way),
                drops_queue: Some(drops_queue),
                drops_random: Some(drops_random),
                drops_outage: Some(drops_outage),
                drops_no_route: Some(drops_no_route),
            });
        }
        table.finish()
    }
}

/// Links that no packet entered are omitted: a constellation has thousands of them.
fn link_totals<S: ChunkSource>(source: &RouteListener<S>, outcome: &RunOutcome) -> Table {
    let mut table = LinkTotalsTable::default();
    let name = |id: NodeId| source.nodes().get(id.ix()).cloned().unwrap_or_default();
    for (i, t) in outcome.links.iter().enumerate().filter(|(_, t)| t.entered > 0) {
        let (Some((port, spec)), Some(&(from, to))) = (source.port_of(i), source.link_ends().get(i)) else {
            continue;
        };
        let [drops_queue, drops_random, drops_outage, drops_no_route] = t.dropped;
        let (bytes, packets) = match spec.spec.queue.limit {
            QueueLimit::Bytes(b) => (Some(b), None),
            QueueLimit::Packets(p) => (None, Some(p)),
        };
        table.push(LinkTotalsRow {
            link: i as u32,
            port: port.0,
            name: spec.name.clone(),
            from: name(from),
            to: name(to),
            queue_limit_bytes: bytes,
            queue_limit_packets: packets,
            entered_packets: t.entered,
            crossed_packets: t.crossed,
            under_way_packets: t.under_way,
            tx_bytes: t.tx_bytes,
            marked_packets: t.marked,
            mean_wait_ns: (t.waited > 0).then(|| t.wait_ns as f64 / t.waited as f64),
            drops_queue,
            drops_random,
            drops_outage,
            drops_no_route,
        });
    }
    table.finish()
}

/// Meters with a bounded flow table, by port.
fn meters<S: ChunkSource>(source: &RouteListener<S>, outcome: &RunOutcome) -> Table {
    let links = (0..outcome.links.len()).filter_map(|i| source.port_of(i));
    let names: BTreeMap<u32, &str> = links.map(|(port, spec)| (port.0, spec.name.as_str())).collect();
    let mut rows = MeterTable::default();
    for t in &outcome.flow_tables {
        let FlowTableTotals { port, entries, evictions, evictions_in_use } = *t;
        let name = names.get(&port).copied().unwrap_or_default().into();
        rows.push(MeterRow { port, name, entries, evictions, evictions_in_use });
    }
    rows.finish()
}

/// An observer that also receives the frames of real hosts.
pub trait FrameTap: Observer {
    /// A frame has left or reached a host.
    fn frame(&mut self, seen: &FrameSeen<'_>);
    /// The network has delivered a packet of a flow, from its source or (`returning`) to it.
    fn delay(&mut self, flow: u32, returning: bool, sent: Nanos, at: Nanos);
}

impl<const PACKETS: bool> FrameTap for Recorder<'_, PACKETS> {
    fn frame(&mut self, seen: &FrameSeen<'_>) {
        if self.error.is_none() {
            self.error = self.sink.frame(seen).err();
            self.failed.set(self.error.is_some());
        }
    }

    fn delay(&mut self, flow: u32, returning: bool, sent: Nanos, at: Nanos) {
        if sent >= self.warmup {
            self.delays[flow as usize][usize::from(returning)].push(at.saturating_sub(sent), None);
        }
    }
}

impl<const PACKETS: bool> Observer for Recorder<'_, PACKETS> {
    const PACKETS: bool = PACKETS;

    fn flow(&mut self, row: &FlowRow, internals: &[(&'static str, f64)]) {
        if row.t_ns <= self.warmup.0 {
            self.delivered_at_warmup[row.flow as usize] = row.delivered_bytes;
        }
        self.rows += 1;
        self.flows.push(row.clone());
        self.internals.push(internals);
    }

    fn limits(&mut self, row: &LimitRow) {
        self.rows += 1;
        self.limits.push(row.clone());
    }

    fn link(&mut self, row: &LinkRow) {
        self.rows += 1;
        self.links.push(row.clone());
    }

    fn carrier(&mut self, row: &CarrierRow) {
        self.rows += 1;
        self.carriers.push(row.clone());
    }

    fn event(&mut self, at: Nanos, e: &SimEvent<'_>) {
        self.windows.event(at, e);
        match e {
            SimEvent::Note(n) => self.note(at, n),
            SimEvent::FlowStart(f) => self.event(at, "flow-start", Some(*f), ""),
            SimEvent::FlowComplete(f) => self.event(at, "flow-complete", Some(*f), ""),
            SimEvent::Mode { flow, mode } => self.event(at, "mode", Some(*flow), mode),
            SimEvent::CaState { flow, state } => self.event(at, "ca-state", Some(*flow), state.name()),
            SimEvent::Timeout { flow } => self.event(at, "timeout", Some(*flow), ""),
            SimEvent::Video { flow, what } => {
                let (kind, value) = match *what {
                    VideoEvent::Stalled(stood) => ("stall-end", stood.as_secs_f64()),
                    VideoEvent::Quality(rate_bps) => ("quality", rate_bps as f64),
                };
                let (t_ns, flow, node, text) = (at.0, Some(*flow), String::new(), String::new());
                self.push_event(EventRow { t_ns, kind, flow, link: None, node, value, text });
            }
            SimEvent::Undo { flow } => self.event(at, "undo", Some(*flow), ""),
            // Only used for the windows.
            SimEvent::FlowStop { .. } | SimEvent::Idle(_) | SimEvent::Busy(_) => {}
            SimEvent::LossBurst { link, packets, cause } => self.push_event(EventRow {
                t_ns: at.0,
                kind: "loss-burst",
                flow: None,
                link: Some(*link),
                node: String::new(),
                value: *packets as f64,
                text: cause.name().into(),
            }),
        }
    }

    #[inline]
    fn rtt(&mut self, flow: u32, sent: Nanos, rtt: Nanos, base: Option<Nanos>) {
        if sent < self.warmup {
            return;
        }
        self.rtts[flow as usize].push(rtt, base);
        if self.changes.is_new(flow, rtt) {
            let (t_ns, value) = ((sent + rtt).0, rtt.as_secs_f64());
            let (node, text) = (String::new(), String::new());
            self.push_event(EventRow {
                t_ns,
                kind: "rtt-change",
                flow: Some(flow),
                link: None,
                node,
                value,
                text,
            });
        }
    }

    fn datagram(&mut self, flow: u32, spurt: u64, sent: Nanos, at: Nanos) {
        if sent >= self.warmup {
            self.windows.datagram(flow, at - sent);
            self.calls.packet(flow, spurt, at - sent);
        }
    }

    fn completion(&mut self, row: &CompletionRow) {
        self.rows += 1;
        self.completions.push(row.clone());
    }

    fn sampled(&mut self, at: Nanos) {
        self.windows.sampled(at);
        let elsewhere = self.routes.lock().expect("nothing panics with it").rows();
        if self.rows + elsewhere >= BATCH_ROWS {
            self.flush();
        }
    }

    fn packet(&mut self, p: &PacketSeen<'_>) {
        if self.error.is_none() {
            self.error = self.sink.packet(p).err();
            self.failed.set(self.error.is_some());
        }
    }
}
