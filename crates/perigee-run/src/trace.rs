// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets of one flow in a time window: the run is repeated with the packet tap on, and stops once
//! the fate of every packet of the window is known. As the same scenario and seed yield identical
//! results, these are the packets of the record.

use crate::backends::simulator::{Plugins, Simulator};
use crate::run::run_options;
use crate::RunError;
use perigee_backend::{Backend, Inputs};
use perigee_record::observed::MARKED;
use perigee_record::tables::{PacketRow, PacketTable};
use perigee_record::{Collector, PacketSeen, RecordSink, SinkError, Table};
use perigee_scenario::World;
use perigee_units::Nanos;
use std::collections::BTreeMap;

/// Time after which packets that have not arrived count as lost.
const PATIENCE: Nanos = Nanos::from_secs(10);

/// Flow and time window of a trace.
#[derive(Clone, Copy, Debug)]
pub struct TraceWindow {
    /// Index of the flow.
    pub flow: u32,
    /// Start of the window: packets that leave or arrive from here
    pub from: Nanos,
    /// to here, inclusive.
    pub to: Nanos,
}

/// Runs a world under `cc` and returns the tables `packets`, `flows` and `events` (the latter two
/// of all flows, until shortly after the window); `progress` may return false to stop.
///
/// # Errors
/// See [`RunError`].
pub fn trace(
    world: &World,
    cc: &str,
    plugins: &Plugins,
    window: TraceWindow,
    progress: &mut dyn FnMut(Nanos) -> bool,
) -> Result<Vec<Table>, RunError> {
    let backend = Simulator { plugins: plugins.clone(), ..Simulator::default() };
    let workload = world.workload(cc, &|name| plugins.contains_key(name))?;
    let changes = Box::new(world.timeline.reader());
    let inputs = Inputs { header: &world.header, changes, workload: &workload, options: run_options(world) };
    let mut tracer =
        Tracer { window, under_way: BTreeMap::new(), seen: Vec::new(), rows: Collector::default() };
    let end = window.to.saturating_add(PATIENCE);
    backend.run(inputs, &mut tracer, &mut |now| now <= end && progress(now))?;
    let mut tables = vec![packet_table(window, tracer.seen, tracer.under_way)];
    tables.extend(tracer.rows.finish().into_iter().filter(|t| matches!(t.name, "flows" | "events")));
    Ok(tables)
}

/// Packets by direction (forward first) and by number in that direction.
type UnderWay = BTreeMap<(bool, u32), PacketRow>;

struct Tracer {
    window: TraceWindow,
    under_way: UnderWay,
    seen: Vec<PacketRow>,
    rows: Collector,
}

impl Tracer {
    fn is_inside(&self, at: u64) -> bool {
        (self.window.from.0..=self.window.to.0).contains(&at)
    }
}

impl RecordSink for Tracer {
    fn batch(&mut self, rows: Table) -> Result<(), SinkError> {
        self.rows.batch(rows)
    }

    fn wants_packets(&self) -> bool {
        true
    }

    fn packet(&mut self, p: &PacketSeen<'_>) -> Result<(), SinkError> {
        if p.flow != self.window.flow {
            return Ok(());
        }
        let key = (!p.kind.is_forward(), p.number);
        if p.leaving {
            if p.at_ns <= self.window.to.0 {
                self.under_way.insert(key, row(p));
            }
        } else if let Some(mut packet) = self.under_way.remove(&key) {
            if self.is_inside(p.at_ns) || self.is_inside(packet.sent_ns) {
                packet.arrived_ns = Some(p.at_ns);
                packet.marked = p.ecn == MARKED;
                self.seen.push(packet);
            }
        }
        Ok(())
    }
}

fn row(p: &PacketSeen<'_>) -> PacketRow {
    let blocks = p.sack.iter().map(|(start, end)| format!("{start}-{end}"));
    PacketRow {
        sent_ns: p.at_ns,
        arrived_ns: None,
        kind: p.kind.name(),
        number: p.number,
        seq: p.seq,
        payload_bytes: p.payload,
        ack: p.ack,
        sack: blocks.collect::<Vec<_>>().join(" "),
        ts_val_ms: p.ts_val,
        ts_ecr_ms: p.ts_ecr,
        ip_bytes: p.ip_bytes,
        retransmission: p.retrans,
        marked: p.ecn == MARKED,
    }
}

fn packet_table(window: TraceWindow, mut seen: Vec<PacketRow>, under_way: UnderWay) -> Table {
    seen.extend(under_way.into_values().filter(|p| p.sent_ns >= window.from.0));
    seen.sort_by_key(|p| (p.sent_ns, p.kind, p.number));
    let mut table = PacketTable::default();
    seen.into_iter().for_each(|p| table.push(p));
    table.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_record::Values;
    use perigee_scenario::Scenario;
    use std::path::Path;
    use std::sync::Arc;

    const LOSSY: &str = r#"
[run]
duration = "3 s"
[source.dumbbell]
rtt = "50 ms"
loss = 0.02
[port.bottleneck]
rate = "10 Mbit"
[[flow]]
cc = "cubic"
"#;

    fn column<'a>(table: &'a Table, name: &str) -> &'a perigee_record::Column {
        table.columns.iter().find(|c| c.name == name).unwrap()
    }

    fn u64s<'a>(table: &'a Table, name: &str) -> &'a [u64] {
        match &column(table, name).values {
            Values::U64(v) => v,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_packet_of_the_window_is_there_with_its_fate() {
        let scenario = Scenario::parse(LOSSY, "lossy", Path::new(""), &[]).unwrap();
        let world = World::build(Arc::new(scenario), 1).unwrap();
        let all = TraceWindow { flow: 0, from: Nanos::ZERO, to: Nanos::from_secs(3) };
        let plugins = Plugins::default();
        let whole = trace(&world, "cubic", &plugins, all, &mut |_| true).unwrap();
        let done = crate::run(&world, "cubic", &plugins, None, &mut |_| true).unwrap();
        let totals = done.tables.iter().find(|t| t.name == "flow_totals").unwrap();
        let data = match &column(&whole[0], "kind").values {
            Values::Words(w) => w.codes.iter().filter(|&&c| w.words[c as usize] == "data").count() as u64,
            other => panic!("{other:?}"),
        };
        assert_eq!(data, u64s(totals, "data_sent")[0]);
        let arrived = column(&whole[0], "arrived_ns").valid.clone().unwrap();
        let missing = arrived.iter().filter(|&&a| !a).count() as u64;
        let lost = u64s(totals, "drops_random")[0] + u64s(totals, "drops_queue")[0];
        let under_way = u64s(totals, "under_way_packets")[0];
        assert!(lost > 0);
        assert_eq!(missing, lost + under_way);

        let part = TraceWindow { from: Nanos::from_millis(1000), to: Nanos::from_millis(1200), ..all };
        let cut = trace(&world, "cubic", &plugins, part, &mut |_| true).unwrap();
        let (sent, arrived) = (u64s(&cut[0], "sent_ns"), u64s(&cut[0], "arrived_ns"));
        let inside = |t: u64| (1_000_000_000..=1_200_000_000).contains(&t);
        assert!(!sent.is_empty() && sent.iter().zip(arrived).all(|(&s, &a)| inside(s) || inside(a)));
        let (from_all, to_all) = (u64s(&whole[0], "sent_ns"), u64s(&whole[0], "arrived_ns"));
        let expected = from_all.iter().zip(to_all).filter(|(&s, &a)| inside(s) || inside(a)).count();
        assert_eq!(sent.len(), expected);
    }
}
