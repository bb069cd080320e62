// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counter and hasher of the rows of all tables, on their way to another sink.

use crate::hash::TableHasher;
use crate::observed::{FrameSeen, PacketSeen};
use crate::sink::{FlowInfo, RecordSink, RunHeader, SinkError};
use crate::table::Table;
use crate::tables;
use crate::totals::RunOutcome;
use std::collections::BTreeMap;

/// Digest of a table in a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDigest {
    /// Name of the table.
    pub name: &'static str,
    /// Number of rows.
    pub rows: u64,
    /// Hash of its content, format 2.
    pub sha256: String,
}

/// Forwards everything to another sink and computes the digests of the tables.
pub struct Tally<'s> {
    to: &'s mut dyn RecordSink,
    tables: BTreeMap<&'static str, TableHasher>,
    outcome: RunOutcome,
}

impl<'s> Tally<'s> {
    /// Tally that forwards to `to`.
    pub fn new(to: &'s mut dyn RecordSink) -> Self {
        let mut tally = Tally { to, tables: BTreeMap::new(), outcome: RunOutcome::default() };
        tables::record_tables().iter().for_each(|t| tally.count(&(t.empty)()));
        tally
    }

    /// Digests of the tables, including those without rows, by name; and the outcome of the run.
    pub fn finish(self) -> (Vec<TableDigest>, RunOutcome) {
        let digest = |(name, h): (_, TableHasher)| TableDigest { name, rows: h.rows(), sha256: h.finish() };
        (self.tables.into_iter().map(digest).collect(), self.outcome)
    }

    fn count(&mut self, rows: &Table) {
        self.tables.entry(rows.name).or_default().update(rows);
    }
}

impl RecordSink for Tally<'_> {
    fn begin(&mut self, header: &RunHeader) -> Result<(), SinkError> {
        self.to.begin(header)
    }
    fn flow_added(&mut self, flow: &FlowInfo) -> Result<(), SinkError> {
        self.to.flow_added(flow)
    }
    fn batch(&mut self, rows: Table) -> Result<(), SinkError> {
        self.count(&rows);
        self.to.batch(rows)
    }
    fn wants_packets(&self) -> bool {
        self.to.wants_packets()
    }
    fn packet(&mut self, packet: &PacketSeen<'_>) -> Result<(), SinkError> {
        self.to.packet(packet)
    }
    fn frame(&mut self, frame: &FrameSeen<'_>) -> Result<(), SinkError> {
        self.to.frame(frame)
    }
    fn end(&mut self, outcome: &RunOutcome) -> Result<(), SinkError> {
        self.outcome = outcome.clone();
        self.to.end(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::Collector;
    use crate::tables::{RttRow, RttTable};

    #[test]
    fn the_digests_are_those_of_the_tables_that_are_collected() {
        let mut rows = Collector::default();
        let mut tally = Tally::new(&mut rows);
        for rtt_us in [70, 50] {
            let mut t = RttTable::default();
            t.push(RttRow { flow: 0, rtt_us, count: 3 });
            tally.batch(t.finish()).unwrap();
        }
        tally.end(&RunOutcome { end: perigee_units::Nanos(9), ..RunOutcome::default() }).unwrap();
        let (digests, outcome) = tally.finish();
        assert_eq!(outcome.end.0, 9);
        let tables = rows.finish();
        assert_eq!(digests.len(), tables.len());
        for t in &tables {
            let mut h = TableHasher::default();
            h.update(t);
            let whole = TableDigest { name: t.name, rows: t.rows() as u64, sha256: h.finish() };
            assert!(digests.contains(&whole), "{}", t.name);
        }
    }
}
