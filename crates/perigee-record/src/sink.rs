// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sink of a backend's results. A backend passes to a [`RecordSink`] the start of a run, each flow
//! (first the known ones, then others as they appear), rows in batches, and the end. Unknown values
//! are null, never 0; names of backend-specific columns start with the backend's name
//! (`linux.rcv_space_bytes`).

use crate::observed::{FrameSeen, PacketSeen};
use crate::table::{Column, Table, Values};
use crate::tables;
use crate::totals::RunOutcome;
use std::collections::BTreeMap;

/// Approximate number of rows in a batch: enough to be written at once, few enough that memory does
/// not grow with a run.
pub const BATCH_ROWS: usize = 1 << 16;

/// Cause of a sink's failure, human-readable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinkError(pub String);

impl std::fmt::Display for SinkError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SinkError {}

/// Header of a run: facts known before its first event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunHeader {
    /// Name of the backend.
    pub backend: &'static str,
    /// Seed of all random draws.
    pub seed: u64,
    /// Configured duration in simulated (or real) time.
    pub duration_ns: u64,
    /// Start of the metrics.
    pub warmup_ns: u64,
    /// Time between rows of the time series.
    pub sample_ns: u64,
    /// Nodes at the start.
    pub nodes: Vec<String>,
}

/// A flow, as named in tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowInfo {
    /// Index of the flow: the `flow` of all tables.
    pub flow: u32,
    /// Unique name.
    pub name: String,
    /// Sending node.
    pub from: String,
    /// Receiving node.
    pub to: String,
    /// Congestion control, or `ping` and `cbr`.
    pub cc: String,
    /// Number of its slowest port at time zero, where known.
    pub bottleneck: Option<u32>,
    /// Start time.
    pub start_ns: u64,
    /// Time at which it stops sending new data.
    pub stop_ns: u64,
    /// Payload of a full segment.
    pub mss: u32,
    /// Whether it uses the timestamp option.
    pub timestamps: bool,
    /// Base RTT of its pair at time zero, if known.
    pub base_rtt_ns: Option<u64>,
    /// Whether its ends are real hosts.
    pub real: bool,
}

/// Receives the output of a run. Every method except [`batch`](RecordSink::batch) has an empty
/// default.
///
/// # Errors
/// The first error of a method ends the run.
pub trait RecordSink {
    /// Starts the run.
    fn begin(&mut self, _header: &RunHeader) -> Result<(), SinkError> {
        Ok(())
    }
    /// Adds a flow, before its first row.
    fn flow_added(&mut self, _flow: &FlowInfo) -> Result<(), SinkError> {
        Ok(())
    }
    /// Adds rows of a table, in the order of the table.
    fn batch(&mut self, rows: Table) -> Result<(), SinkError>;
    /// Whether it needs [`packet`](RecordSink::packet) and [`frame`](RecordSink::frame), which cost
    /// time.
    fn wants_packets(&self) -> bool {
        false
    }
    /// A packet has left its source or reached its destination.
    fn packet(&mut self, _packet: &PacketSeen<'_>) -> Result<(), SinkError> {
        Ok(())
    }
    /// A packet of a real host has left or reached it.
    fn frame(&mut self, _frame: &FrameSeen<'_>) -> Result<(), SinkError> {
        Ok(())
    }
    /// Ends the run.
    fn end(&mut self, _outcome: &RunOutcome) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Several sinks of one run: a record, a live view, a capture.
#[derive(Default)]
pub struct Sinks<'s>(pub Vec<&'s mut dyn RecordSink>);

impl RecordSink for Sinks<'_> {
    fn begin(&mut self, header: &RunHeader) -> Result<(), SinkError> {
        self.0.iter_mut().try_for_each(|s| s.begin(header))
    }
    fn flow_added(&mut self, flow: &FlowInfo) -> Result<(), SinkError> {
        self.0.iter_mut().try_for_each(|s| s.flow_added(flow))
    }
    fn batch(&mut self, rows: Table) -> Result<(), SinkError> {
        let Some((last, others)) = self.0.split_last_mut() else { return Ok(()) };
        others.iter_mut().try_for_each(|s| s.batch(rows.clone()))?;
        last.batch(rows)
    }
    fn wants_packets(&self) -> bool {
        self.0.iter().any(|s| s.wants_packets())
    }
    fn packet(&mut self, packet: &PacketSeen<'_>) -> Result<(), SinkError> {
        self.0.iter_mut().filter(|s| s.wants_packets()).try_for_each(|s| s.packet(packet))
    }
    fn frame(&mut self, frame: &FrameSeen<'_>) -> Result<(), SinkError> {
        self.0.iter_mut().filter(|s| s.wants_packets()).try_for_each(|s| s.frame(frame))
    }
    fn end(&mut self, outcome: &RunOutcome) -> Result<(), SinkError> {
        self.0.iter_mut().try_for_each(|s| s.end(outcome))
    }
}

/// Keeps all rows in memory.
#[derive(Clone, Debug, Default)]
pub struct Collector {
    tables: BTreeMap<&'static str, Table>,
    outcome: RunOutcome,
}

impl Collector {
    /// Tables of a record in their usual order, including empty ones, then others by name.
    pub fn finish(mut self) -> Vec<Table> {
        let mut all: Vec<Table> = tables::record_tables()
            .iter()
            .map(|t| self.tables.remove(t.name).unwrap_or_else(|| (t.empty)()))
            .collect();
        all.extend(self.tables.into_values());
        all.iter_mut().for_each(sort_extra);
        all
    }

    /// Outcome of the run.
    pub fn outcome(&self) -> &RunOutcome {
        &self.outcome
    }
}

impl RecordSink for Collector {
    fn batch(&mut self, rows: Table) -> Result<(), SinkError> {
        match self.tables.get_mut(rows.name) {
            Some(table) => append(table, rows),
            None => {
                self.tables.insert(rows.name, rows);
            }
        }
        Ok(())
    }
    fn end(&mut self, outcome: &RunOutcome) -> Result<(), SinkError> {
        self.outcome = outcome.clone();
        Ok(())
    }
}

/// Moves undeclared columns after the declared ones, sorted by name.
fn sort_extra(table: &mut Table) {
    let declared =
        tables::record_tables().iter().find(|t| t.name == table.name).map_or(0, |t| t.columns.len());
    if let Some(extra) = table.columns.get_mut(declared..) {
        extra.sort_by(|a, b| a.name.cmp(&b.name));
    }
}

/// Appends rows; a column that either side lacks has gaps in its rows.
pub fn append(table: &mut Table, rows: Table) {
    let (before, more) = (table.rows(), rows.rows());
    let mut given: Vec<Option<Column>> = rows.columns.into_iter().map(Some).collect();
    for column in &mut table.columns {
        let found = given.iter_mut().find(|c| c.as_ref().is_some_and(|c| c.name == column.name));
        match found.and_then(Option::take) {
            Some(new) => column.append(new),
            None => column.append_gap(more),
        }
    }
    for new in given.into_iter().flatten() {
        let mut column = Column::empty_like(&new);
        column.append_gap(before);
        column.append(new);
        table.columns.push(column);
    }
}

impl Column {
    fn empty_like(other: &Column) -> Column {
        let values = match other.values {
            Values::U32(_) => Values::U32(Vec::new()),
            Values::U64(_) => Values::U64(Vec::new()),
            Values::F64(_) => Values::F64(Vec::new()),
            Values::Bool(_) => Values::Bool(Vec::new()),
            Values::Words(_) => Values::Words(Default::default()),
        };
        Column { name: other.name.clone(), values, valid: None }
    }

    /// Appends rows without a value.
    fn append_gap(&mut self, rows: usize) {
        if rows == 0 {
            return;
        }
        let before = self.values.len();
        match &mut self.values {
            Values::U32(v) => v.resize(before + rows, 0),
            Values::U64(v) => v.resize(before + rows, 0),
            Values::F64(v) => v.resize(before + rows, 0.0),
            Values::Bool(v) => v.resize(before + rows, false),
            Values::Words(w) => (0..rows).for_each(|_| w.push("")),
        }
        self.valid.get_or_insert_with(|| vec![true; before]).resize(before + rows, false);
    }

    /// Appends the values of a column of the same type, or gaps if the type differs.
    fn append(&mut self, more: Column) {
        let (before, rows) = (self.values.len(), more.values.len());
        match (&mut self.values, more.values) {
            (Values::U32(a), Values::U32(b)) => a.extend(b),
            (Values::U64(a), Values::U64(b)) => a.extend(b),
            (Values::F64(a), Values::F64(b)) => a.extend(b),
            (Values::Bool(a), Values::Bool(b)) => a.extend(b),
            (Values::Words(a), Values::Words(b)) => a.extend(&b),
            _ => return self.append_gap(rows),
        }
        if self.valid.is_some() || more.valid.is_some() {
            let valid = self.valid.get_or_insert_with(|| vec![true; before]);
            match more.valid {
                Some(v) => valid.extend(v),
                None => valid.resize(before + rows, true),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::format_1;
    use crate::tables::{EventRow, EventTable};
    use perigee_units::Nanos;

    fn event(t_ns: u64, kind: &'static str, flow: Option<u32>) -> EventRow {
        EventRow { t_ns, kind, flow, link: None, node: String::new(), value: 0.5, text: "x".into() }
    }

    fn rows(events: &[EventRow]) -> Table {
        let mut t = EventTable::default();
        events.iter().cloned().for_each(|e| t.push(e));
        t.take()
    }

    #[test]
    fn batches_make_the_table_that_one_batch_makes() {
        let all = [event(1, "a", None), event(2, "b", Some(3)), event(3, "a", Some(4)), event(4, "c", None)];
        let whole = rows(&all);
        for cut in 0..=all.len() {
            let mut c = Collector::default();
            c.batch(rows(&all[..cut])).unwrap();
            c.batch(rows(&all[cut..])).unwrap();
            let tables = c.finish();
            let events = tables.iter().find(|t| t.name == "events").unwrap();
            assert_eq!((events.rows(), format_1(events)), (whole.rows(), format_1(&whole)), "cut at {cut}");
        }
    }

    #[test]
    fn columns_that_come_later_have_gaps_before() {
        let column = |name: &str, values| Column { name: name.into(), values, valid: None };
        let batch = |columns| Table { name: "own", columns };
        let mut c = Collector::default();
        c.batch(batch(vec![column("t_ns", Values::U64(vec![1]))])).unwrap();
        let late = vec![column("linux.x", Values::U64(vec![7])), column("cc_u", Values::F64(vec![0.5]))];
        c.batch(batch(late)).unwrap();
        let own = c.finish().pop().unwrap();
        let find = |name: &str| own.columns.iter().find(|c| c.name == name).unwrap();
        assert_eq!(find("linux.x").valid, Some(vec![false, true]));
        assert_eq!(find("t_ns").valid, Some(vec![true, false]));
        assert_eq!(find("cc_u").valid, Some(vec![false, true]));
    }

    #[test]
    fn two_sinks_get_the_same() {
        let (mut a, mut b) = (Collector::default(), Collector::default());
        let mut both = Sinks(vec![&mut a, &mut b]);
        both.batch(rows(&[event(1, "a", None)])).unwrap();
        both.end(&RunOutcome { end: Nanos(9), ..RunOutcome::default() }).unwrap();
        assert_eq!((a.outcome().end, b.outcome().end), (Nanos(9), Nanos(9)));
        assert_eq!(a.finish(), b.finish());
    }
}
