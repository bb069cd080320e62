// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Import of a capture as a record: tracks each connection, writes rows at the sampling instants
//! and totals at the end.

mod datagrams;
mod quic_connections;

use crate::connection::Connection;
use crate::flow::{window_row, Flow, OWN_COLUMNS};
use crate::packet::{self, Contents, End, Segment};
use crate::reader::{Packets, Raw};
use crate::warnings::Warnings;
use crate::{CaptureError, Place};
use datagrams::Spins;
use perigee_record::sink::BATCH_ROWS;
use perigee_record::table::{Column, Values};
use perigee_record::tables::{
    CompletionRow, CompletionTable, EventRow, EventTable, FlowTable, FlowTotalsTable, RttRow, RttTable,
    WindowTable,
};
use perigee_record::{FlowInfo, RecordSink, RunHeader, RunOutcome, SinkError};
use perigee_units::Nanos;
use quic_connections::QuicConnections;
use std::collections::HashMap;

/// Name of the backend in records.
pub const BACKEND: &str = "capture";
/// Number of packets between calls of `go_on`.
const ASK_EVERY: u64 = 1 << 13;
/// Time after which a connection that has ended is forgotten.
const FORGET_AFTER: Nanos = Nanos::from_secs(60);
/// Number of packets between searches for connections to forget.
const LOOK_EVERY: u64 = 1 << 20;

/// Options of an import.
#[derive(Clone, Debug)]
pub struct Options {
    /// Place of the capture relative to the data; `None` = determined from each handshake.
    pub place: Option<Place>,
    /// Congestion control of the flows, as named in the record.
    pub cc: String,
    /// Time between rows.
    pub sample: Nanos,
    /// Start of the metrics.
    pub warmup: Nanos,
}

/// Summary of an import.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// Time of the first packet in nanoseconds since 1970.
    pub began_ns: u64,
    /// Time from the first packet to the last.
    pub duration_ns: u64,
    /// Number of packets in the file.
    pub packets: u64,
    /// Number of connections, including those without data.
    pub connections: u64,
    /// Flows with name, ends and times.
    pub flows: Vec<FlowInfo>,
    /// Addresses.
    pub nodes: Vec<String>,
    /// Warnings.
    pub remarks: Vec<String>,
}

/// Ten years: a later time is corrupt.
const LONGEST: Nanos = Nanos::from_secs(10 * 365 * 86_400);

type Key = (End, End);

/// Key of a connection, which is the same for both directions.
fn key_of(from: End, to: End) -> Key {
    if from <= to {
        (from, to)
    } else {
        (to, from)
    }
}

/// Reads a capture to its end and passes the tables to `sink`. `go_on` is called regularly with the
/// number of bytes read; if it returns false, the import stops.
///
/// # Errors
/// The file is not a capture, or has no connection with data; an error of the sink; a stop by
/// `go_on`.
pub fn import(
    mut packets: Packets,
    options: &Options,
    sink: &mut dyn RecordSink,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Imported, CaptureError> {
    let mut import = Import::new(options, sink);
    import.sink.begin(&RunHeader {
        backend: BACKEND,
        warmup_ns: options.warmup.0,
        sample_ns: options.sample.0,
        ..RunHeader::default()
    })?;
    loop {
        let (mut left, mut error) = (ASK_EVERY, None);
        let more = packets.some(&mut |raw| {
            left -= 1;
            error = import.packet(raw).err();
            left > 0 && error.is_none()
        });
        if let Some(e) = error {
            return Err(e.into());
        }
        if !more {
            break;
        }
        if !go_on(packets.bytes_read()) {
            return Err(CaptureError::Stopped);
        }
    }
    import.finish(&packets)
}

struct Import<'s> {
    options: Options,
    sink: &'s mut dyn RecordSink,
    begin_ns: Option<u64>,
    now: Nanos,
    next_row: Nanos,
    seen: u64,
    connections: HashMap<Key, Connection>,
    quic: QuicConnections,
    spins: Spins,
    other_datagrams: u64,
    began: u64,
    flows: Vec<Flow>,
    infos: Vec<FlowInfo>,
    /// Flows with packets since the last instant, and those with a row at it.
    busy: Vec<u32>,
    resting: Vec<u32>,
    rows: FlowTable,
    own: [Vec<f64>; OWN_COLUMNS.len()],
    events: EventTable,
    completions: CompletionTable,
    waiting_rows: usize,
    warnings: Warnings,
    unplaced: u64,
    between: u64,
    unseen: u64,
    forgotten: u64,
}

impl<'s> Import<'s> {
    fn new(options: &Options, sink: &'s mut dyn RecordSink) -> Self {
        Import {
            options: options.clone(),
            sink,
            begin_ns: None,
            now: Nanos::ZERO,
            next_row: options.sample,
            seen: 0,
            connections: HashMap::new(),
            quic: QuicConnections::default(),
            spins: Spins::default(),
            other_datagrams: 0,
            began: 0,
            flows: Vec::new(),
            infos: Vec::new(),
            busy: Vec::new(),
            resting: Vec::new(),
            rows: FlowTable::default(),
            own: Default::default(),
            events: EventTable::default(),
            completions: CompletionTable::default(),
            waiting_rows: 0,
            warnings: Warnings::default(),
            unplaced: 0,
            between: 0,
            unseen: 0,
            forgotten: 0,
        }
    }

    fn packet(&mut self, raw: &Raw<'_>) -> Result<(), SinkError> {
        let seen = packet::read(raw);
        self.warnings.on_packet(raw.at_ns, &seen);
        let begin = *self.begin_ns.get_or_insert(raw.at_ns);
        let at = Nanos(raw.at_ns.saturating_sub(begin)).min(LONGEST);
        self.now = self.now.max(at);
        self.seen += 1;
        if self.now >= self.next_row {
            self.sample()?;
        }
        if self.seen % LOOK_EVERY == 0 {
            self.forget_old();
        }
        match seen {
            Contents::Tcp(s) => self.tcp(at, raw.at_ns, &s),
            Contents::Udp(d) => self.datagram(at, &d),
            _ => Ok(()),
        }
    }

    /// Writes the rows of the instants that have passed. A flow that becomes idle gets one more
    /// row, and then none until its next packet.
    fn sample(&mut self) -> Result<(), SinkError> {
        let step = self.options.sample.0;
        let at = self.next_row;
        let busy = std::mem::take(&mut self.busy);
        for flow in std::mem::take(&mut self.resting) {
            let f = &self.flows[flow as usize];
            if f.row_before() < at && !f.is_touched() {
                self.row(flow, at);
            }
        }
        busy.iter().for_each(|&flow| self.row(flow, at));
        self.next_row = Nanos(self.now.0 / step * step + step);
        if self.next_row.0 > at.0 + step {
            // All flows became idle: busy ones get their last, empty row at the next instant.
            busy.iter().for_each(|&flow| self.row(flow, at + Nanos(step)));
        } else {
            self.resting = busy;
        }
        if self.waiting_rows >= BATCH_ROWS {
            self.flush()?;
        }
        Ok(())
    }

    fn row(&mut self, flow: u32, at: Nanos) {
        let (row, own) = self.flows[flow as usize].row(at);
        self.rows.push(row);
        self.own.iter_mut().zip(own).for_each(|(column, value)| column.push(value));
        self.waiting_rows += 1;
    }

    /// Marks a flow busy; an idle period ends with a row.
    fn touch(&mut self, flow: u32, at: Nanos) {
        let step = self.options.sample;
        let before = self.next_row.saturating_sub(step);
        let f = &mut self.flows[flow as usize];
        if !f.touch(at) {
            return;
        }
        self.busy.push(flow);
        // A resting flow already has its row at that instant.
        if f.row_before() < before && f.started() < before {
            self.row(flow, before);
            self.flows[flow as usize].touch(at);
        }
    }

    fn tcp(&mut self, at: Nanos, at_ns: u64, s: &Segment) -> Result<(), SinkError> {
        let key = key_of(s.from, s.to);
        if self.connections.get(&key).is_some_and(|c| c.is_succeeded_by(s)) {
            self.end(&key);
        }
        let mut c = match self.connections.remove(&key) {
            Some(known) => known,
            None => {
                self.began += 1;
                Connection::new(s, at)
            }
        };
        let followed = self.follow(&mut c, at, at_ns, s);
        self.connections.insert(key, c);
        followed
    }

    fn follow(&mut self, c: &mut Connection, at: Nanos, at_ns: u64, s: &Segment) -> Result<(), SinkError> {
        let i = c.direction(s);
        if self.warnings.is_duplicate(c.directions[i].before.as_ref(), at_ns, s) {
            return Ok(());
        }
        c.directions[i].before = Some((at_ns, *s));
        c.last = at;
        let shaken = c.shares.is_some();
        c.shake(at, i, s);
        if let Some((stamp, _)) = s.stamps {
            self.warnings.on_timestamp(&mut c.directions[i].clock, at_ns, stamp);
            c.directions[i].sent.stamped(Nanos(at_ns), stamp);
            c.directions[1 - i].received.stamped(at, stamp);
        }
        if s.payload > 0 {
            self.data(c, i, at, at_ns, s)?;
        }
        if let (false, Some((there, here))) = (shaken, c.shares) {
            let ends = format!("{} > {}", c.opener, if i == 0 { s.to } else { s.from });
            self.event(at, "handshake", None, (there + here).as_secs_f64(), ends);
        }
        if s.has_ack {
            self.ack(c, i, at, at_ns, s);
        }
        if s.fin {
            c.directions[i].fin = Some(s.seq.wrapping_add(s.payload));
        }
        if s.rst && !c.closed {
            c.closed = true;
            let flow = c.directions[1 - i].flow.or(c.directions[i].flow);
            self.event(at, "reset", flow, 0.0, format!("by {}", s.from));
        }
        Ok(())
    }

    fn data(
        &mut self,
        c: &mut Connection,
        i: usize,
        at: Nanos,
        at_ns: u64,
        s: &Segment,
    ) -> Result<(), SinkError> {
        let number = match c.directions[i].flow {
            Some(number) => number,
            None => self.new_flow(c, i, at, s)?,
        };
        self.touch(number, at);
        let (f, d) = (&mut self.flows[number as usize], &mut c.directions[i]);
        let (sequence, bytes) = (s.seq.wrapping_add(u32::from(s.syn)), u64::from(s.payload));
        let head = d.sent.acked_to();
        let is_head = d.sent.position(sequence) <= head;
        // Timestamps count milliseconds of the host's clock, not of the record.
        let data = d.sent.data(Nanos(at_ns), sequence, bytes);
        let warmup = self.options.warmup;
        match f.place {
            Place::Sender => {
                let timeout = f.sent(at, s, &data, is_head);
                f.progress(at, d.sent.acked_to(), Some(d.sent.in_flight()), warmup);
                if timeout {
                    self.event(at, "timeout", Some(number), 0.0, String::new());
                }
            }
            Place::Receiver => {
                let kind = d.received.data(at, sequence, bytes, s.stamps.map(|t| t.0));
                f.arrived(s, kind);
                f.progress(at, d.received.in_order(), None, warmup);
                if let Some(rtt) = s.stamps.and_then(|(_, echo)| d.received.echoed(at, echo)) {
                    f.rtt(at.saturating_sub(rtt), rtt, warmup);
                }
            }
        }
        Ok(())
    }

    /// Processes the ACK of a segment, which refers to data of the other direction.
    fn ack(&mut self, c: &mut Connection, i: usize, at: Nanos, at_ns: u64, s: &Segment) {
        let window = c.window(i, s);
        let d = &mut c.directions[1 - i];
        let rtt = d.sent.acked(Nanos(at_ns), s.ack, s.sacks(), s.stamps.map(|t| t.1));
        let Some(number) = d.flow else { return };
        self.touch(number, at);
        let warmup = self.options.warmup;
        let f = &mut self.flows[number as usize];
        let closed = f.answered(at, window);
        if f.place == Place::Sender {
            f.progress(at, d.sent.acked_to(), Some(d.sent.in_flight()), warmup);
            if let Some(rtt) = rtt {
                f.rtt(at.saturating_sub(rtt), rtt, warmup);
            }
        }
        let done = d.fin.is_some_and(|fin| (s.ack.wrapping_sub(fin) as i32) > 0) && f.complete(at);
        if done {
            let (bytes, asked_ns) = (f.delivered(), f.asked.0);
            self.event(at, "flow-complete", Some(number), 0.0, String::new());
            let row =
                CompletionRow { flow: number, object: 0, bytes, asked_ns, first_ns: None, done_ns: at.0 };
            self.completions.push(row);
            c.closed |= c.directions[i].fin.is_some() || c.directions[i].flow.is_none();
        }
        if closed && !done {
            self.event(at, "zero-window", Some(number), 0.0, String::new());
        }
    }

    fn new_flow(&mut self, c: &mut Connection, i: usize, at: Nanos, s: &Segment) -> Result<u32, SinkError> {
        let place = self.options.place.or_else(|| c.place(i));
        self.unplaced += u64::from(place.is_none());
        self.between += u64::from(c.between().is_some());
        let (number, place) = (self.flows.len() as u32, place.unwrap_or(Place::Sender));
        let begin = if i == 0 && c.is_followed_at(at) { c.began } else { at };
        let f = Flow::new(number, (s.from, s.to), place, begin, c.began, c.mss(i));
        let number = self.add_flow(f, at, s.stamps.is_some())?;
        c.directions[i].flow = Some(number);
        Ok(number)
    }

    fn add_flow(&mut self, f: Flow, at: Nanos, timestamps: bool) -> Result<u32, SinkError> {
        let number = f.number;
        let info = FlowInfo {
            flow: number,
            name: f.name(),
            from: f.from.address.to_string(),
            to: f.to.address.to_string(),
            cc: self.options.cc.clone(),
            bottleneck: None,
            start_ns: f.started().0,
            stop_ns: 0,
            mss: f.mss.unwrap_or(0),
            timestamps,
            base_rtt_ns: None,
            real: true,
        };
        self.sink.flow_added(&info)?;
        self.infos.push(info);
        self.flows.push(f);
        self.event(at, "flow-start", Some(number), 0.0, String::new());
        Ok(number)
    }

    fn event(&mut self, at: Nanos, kind: &'static str, flow: Option<u32>, value: f64, text: String) {
        self.waiting_rows += 1;
        self.events.push(EventRow { t_ns: at.0, kind, flow, link: None, node: String::new(), value, text });
    }

    /// Ends a connection: its state moves to its flows.
    fn end(&mut self, key: &Key) {
        if let Some(c) = self.connections.remove(key) {
            self.unseen += c.directions.iter().map(|d| d.sent.unseen()).sum::<u64>();
            self.forgotten += c.directions.iter().map(|d| d.sent.forgotten()).sum::<u64>();
        }
    }

    #[expect(clippy::disallowed_methods, reason = "ends add up: their order is of no effect")]
    fn forget_old(&mut self) {
        let now = self.now;
        let old = |c: &Connection| c.closed && c.last + FORGET_AFTER < now;
        let keys: Vec<Key> = self.connections.iter().filter(|(_, c)| old(c)).map(|(k, _)| *k).collect();
        keys.iter().for_each(|k| self.end(k));
        self.forget_quic(false);
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        self.waiting_rows = 0;
        let mut flows = self.rows.take();
        for (name, values) in OWN_COLUMNS.iter().zip(&mut self.own) {
            let values = std::mem::take(values);
            let valid =
                values.iter().any(|v| v.is_nan()).then(|| values.iter().map(|v| !v.is_nan()).collect());
            let values = Values::F64(values.iter().map(|v| if v.is_nan() { 0.0 } else { *v }).collect());
            flows.columns.push(Column { name: (*name).into(), values, valid });
        }
        for table in [flows, self.events.take(), self.completions.take()] {
            if table.rows() > 0 {
                self.sink.batch(table)?;
            }
        }
        Ok(())
    }

    #[expect(clippy::disallowed_methods, reason = "ends add up: their order is of no effect")]
    fn finish(mut self, packets: &Packets) -> Result<Imported, CaptureError> {
        if self.flows.is_empty() {
            return Err(CaptureError::Bad(self.nothing(packets)));
        }
        let at = self.next_row;
        let last = std::mem::take(&mut self.busy);
        last.iter().for_each(|&flow| self.row(flow, at));
        self.flush()?;
        let keys: Vec<Key> = self.connections.keys().copied().collect();
        keys.iter().for_each(|k| self.end(k));
        self.forget_quic(true);
        self.totals()?;
        let mut nodes: Vec<String> = self.infos.iter().flat_map(|i| [i.from.clone(), i.to.clone()]).collect();
        nodes.sort();
        nodes.dedup();
        let remarks = self.remarks(packets);
        for (info, f) in self.infos.iter_mut().zip(&self.flows) {
            info.stop_ns = f.row_before().0.min(self.now.0);
        }
        self.sink.end(&RunOutcome {
            end: self.now,
            nodes: nodes.clone(),
            remarks: remarks.clone(),
            ..RunOutcome::default()
        })?;
        Ok(Imported {
            began_ns: self.begin_ns.unwrap_or(0),
            duration_ns: self.now.0,
            packets: packets.footer().packets,
            connections: self.began,
            flows: self.infos,
            nodes,
            remarks,
        })
    }

    fn nothing(&self, packets: &Packets) -> String {
        let n = packets.footer().packets;
        let mut why = format!(
            "no connection of TCP or QUIC in it carries data ({n} packets, {} of them TCP)",
            self.warnings.tcp
        );
        for line in self.warnings.lines(packets.footer()).into_iter().chain(self.remarks_of_quic()) {
            why += "; ";
            why += &line;
        }
        why
    }

    fn totals(&mut self) -> Result<(), SinkError> {
        let (mut totals, mut windows, mut rtts) =
            (FlowTotalsTable::default(), WindowTable::default(), RttTable::default());
        let (mut bytes, mut there) = (0, 0);
        for f in &mut self.flows {
            let (row, own, counts) = f.totals(&self.options.cc, self.options.warmup);
            bytes += own.payload_bytes;
            there = there.max(own.there_ns);
            totals.push(row);
            windows.push(own);
            for (rtt_us, count) in counts {
                rtts.push(RttRow { flow: f.number, rtt_us, count });
            }
        }
        windows.push(window_row(None, "", bytes, there));
        [rtts.finish(), totals.finish(), windows.finish()].into_iter().try_for_each(|t| self.sink.batch(t))
    }

    fn remarks(&self, packets: &Packets) -> Vec<String> {
        let mut lines = self.warnings.lines(packets.footer());
        lines.extend(self.remarks_of_quic());
        let mut say = |n: u64, text: &str| {
            if n > 0 {
                lines.push(format!("{n} {text}"));
            }
        };
        say(
            self.unseen,
            "bytes were acknowledged that are not in the file: the capture lost packets, or began later",
        );
        say(self.forgotten, "segments were never acknowledged: the file seems to hold one direction only");
        say(
            self.unplaced,
            "flows have no handshake in the file: taken as captured at their sender (say --at sender or --at receiver)",
        );
        say(
            self.between,
            "flows were captured between their ends: RTTs cover only the way from there to the receiver and back",
        );
        let receivers = self.flows.iter().filter(|f| f.place == Place::Receiver && !f.is_quic()).count();
        say(
            receivers as u64,
            "flows were captured at their receiver: RTTs are those of its timestamps, which include the sender's pauses, and \
             losses before it are seen as late packets only",
        );
        say(self.wrong_place(), "flows have RTTs far below that of their handshake: they were captured at their receiver (--at receiver)");
        lines
    }

    /// Number of flows with RTTs so short that they must have been captured at the other end.
    fn wrong_place(&self) -> u64 {
        let short = |f: &&Flow| {
            let expected = self.options.place.is_some() && f.place == Place::Sender && !f.is_quic();
            expected && f.rtt_samples() > 10 && f.mean_rtt().is_some_and(|r| r < Nanos::from_micros(500))
        };
        self.flows.iter().filter(short).count() as u64
    }
}
