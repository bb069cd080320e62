// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Line rate as a backend: one RTT after its start each flow has the rate of its slowest port, as if
//! it were alone.

use perigee_backend::recording::{failed, flow_infos, run_header};
use perigee_backend::{Backend, BackendError, Inputs};
use perigee_record::tables::{FlowRow, FlowTable};
use perigee_record::{FlowTotals, RecordSink, RunOutcome};
use perigee_run::backends::{no_schemes, Entry};
use perigee_timeline::{Flow, Header};
use perigee_units::Nanos;

/// For the registry.
pub const ENTRY: Entry = Entry {
    name: "line_rate",
    summary: "each flow has the rate of its slowest port, one RTT after its start",
    options: &[],
    schemes: no_schemes,
    cpu_s_per_tcp_packet: 0.0,
    make: |_| Ok(Box::new(LineRate)),
};

struct LineRate;

impl Backend for LineRate {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn run(
        &self,
        inputs: Inputs<'_>,
        sink: &mut dyn RecordSink,
        progress: &mut dyn FnMut(Nanos) -> bool,
    ) -> Result<(), BackendError> {
        let Inputs { header, workload, options, .. } = inputs;
        let setups = self.setups(header, workload)?;
        sink.begin(&run_header(self.name(), header, &options)).map_err(failed)?;
        for info in flow_infos(header, workload, &setups) {
            sink.flow_added(&info).map_err(failed)?;
        }
        let step = if options.sample == Nanos::ZERO { header.duration } else { options.sample };
        let (mut at, mut stopped) = (Nanos::ZERO, false);
        while at < header.duration && !stopped {
            let before = at;
            at = (at + step).min(header.duration);
            let mut rows = FlowTable::default();
            for (id, flow) in (0..).zip(&workload.flows) {
                let delivered_bytes = delivered(header, flow, at);
                let since = delivered_bytes - delivered(header, flow, before);
                let goodput_bps = since as f64 * 8.0 / (at - before).as_secs_f64();
                let row =
                    FlowRow { t_ns: at.0, flow: id, goodput_bps, delivered_bytes, ..FlowRow::default() };
                rows.push(row);
            }
            sink.batch(rows.finish()).map_err(failed)?;
            stopped = !progress(at);
        }
        let totals = |flow: &Flow| FlowTotals {
            started: (flow.start <= at).then_some(flow.start),
            goodput_bytes: delivered(header, flow, at),
            routed: at.saturating_sub(flow.start),
            ..FlowTotals::default()
        };
        let nodes = header.nodes.iter().map(|n| n.name.clone()).collect();
        let flows = workload.flows.iter().map(totals).collect();
        sink.end(&RunOutcome { end: at, stopped, nodes, flows, ..RunOutcome::default() }).map_err(failed)
    }
}

/// Payload that a flow has delivered by an instant.
fn delivered(header: &Header, flow: &Flow, at: Nanos) -> u64 {
    let Some(port) = header.ports.get(flow.bottleneck as usize) else { return 0 };
    let first = flow.start + flow.base_rtt.unwrap_or_default();
    (port.spec.rate.0 as f64 / 8.0 * at.min(flow.stop).saturating_sub(first).as_secs_f64()) as u64
}
