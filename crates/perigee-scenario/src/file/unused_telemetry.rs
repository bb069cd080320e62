// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys of ports that change the records of telemetry, where no flow reads records.

use crate::file::checked::Given;
use crate::file::error::{Place, Problem};
use crate::file::flow::FlowSpec;
use crate::file::port::Port;
use crate::file::tree::Axis;
use perigee_cc::{CongestionControl, ConnInit};
use perigee_timeline::Hosts;
use perigee_units::Nanos;
use std::collections::BTreeMap;

/// Keys of ports that change what records contain.
pub(crate) const OF_RECORDS: [&str; 6] = [
    "telemetry_delay",
    "telemetry_error",
    "telemetry_clock_ppm",
    "telemetry_stale",
    "telemetry_flow_count_error",
    "telemetry_flow_table",
];

/// What is known of the congestion controls of a scenario.
pub(crate) struct Schemes<'a> {
    pub flows: &'a [FlowSpec],
    /// `[cc.SCHEME]`.
    pub tables: &'a BTreeMap<String, Given>,
    pub sweep: &'a [Axis],
}

/// Keys of records that no flow reads, and whether each yields to a scheme chosen at a higher level.
/// Flows with an open scheme may read them.
pub(crate) fn problems(ports: &[(String, Port)], schemes: &Schemes) -> Vec<(Problem, bool)> {
    if ports.iter().all(|(_, p)| OF_RECORDS.iter().all(|key| !p.written.has(key))) || schemes.may_read() {
        return Vec::new();
    }
    let chosen: Vec<&Place> = schemes.places().collect();
    let written = ports.iter().flat_map(|(name, port)| {
        let keys = OF_RECORDS.into_iter().filter(|key| port.written.has(key));
        keys.map(move |key| (name, key, port.written.place_of(key)))
    });
    let problem = |(name, key, place): (&String, &str, &Place)| {
        let why = "no effect: no flow's congestion control reads the records of ports";
        // orbcc-next and HPCC use no flow count.
        let hint = match key {
            "telemetry_flow_table" | "telemetry_flow_count_error" => {
                "remove it, or use a scheme that reads the number of flows: orbcc"
            }
            _ => "remove it, or use a scheme with records: orbcc, orbcc-next, hpcc_tcp",
        };
        let yields = chosen.iter().any(|c| c.is_above(place));
        (Problem::new(format!("port.{name}.{key}"), why).at(place).hint(hint), yields)
    };
    written.map(problem).collect()
}

impl Schemes<'_> {
    fn may_read(&self) -> bool {
        let swept = |axis: &Axis| axis.key.ends_with("cc") || axis.key.starts_with("cc.");
        let unknown = |f: &FlowSpec| f.hosts == Some(Hosts::Linux) || f.app.without_tcp() == Some("programs");
        self.flows.is_empty()
            || self.sweep.iter().any(swept)
            || self.flows.iter().any(|f| unknown(f) || (f.app.is_tcp() && self.flow_may_read(f)))
    }

    fn flow_may_read(&self, flow: &FlowSpec) -> bool {
        // Those of run.cc are a choice that --cc replaces.
        flow.schemes().into_iter().any(|id| id == "*" || self.reads(id, flow))
    }

    /// Whether a scheme reads records; a plug-in or one of a kernel may.
    fn reads(&self, id: &str, flow: &FlowSpec) -> bool {
        let Some(info) = perigee_cc::info(id) else { return true };
        let tables = self.tables.get(id).into_iter().chain([&flow.cc_params]).flatten();
        let given = tables.map(|(name, (value, _))| (name.clone(), value.clone())).collect();
        let Some(params) = info.params(given).ok().filter(|_| info.is_whole()) else { return false };
        let init = ConnInit { now: Nanos::ZERO, mss: 1448, init_cwnd: 14_480, srtt: None, seed: 0, hz: 1000 };
        info.build(&params, &init).caps().reads_records()
    }

    fn places(&self) -> impl Iterator<Item = &Place> {
        self.flows.iter().map(|f| &f.cc_place)
    }
}

#[cfg(test)]
mod tests {
    use crate::file::scenario::Scenario;
    use std::path::Path;

    fn read(rest: &str, sets: &[&str]) -> Result<Scenario, String> {
        let text = format!(
            "[run]\nduration = \"10 s\"\n{rest}[source.dumbbell]\n[port.bottleneck]\ntelemetry_delay = \"1 ms\"\n"
        );
        let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
        Scenario::parse(&text, "s", Path::new("/"), &sets).map_err(|e| e.to_string())
    }

    fn flow(cc: &str) -> String {
        format!("[[flow]]\ncc = {cc:?}\n")
    }

    #[test]
    fn a_fault_of_records_without_a_scheme_that_reads_them_is_an_error() {
        for cc in ["xcp", "rcp", "orbcc-pint", "cubic"] {
            let error = read(&flow(cc), &[]).expect_err(cc);
            assert!(error.contains("port.bottleneck.telemetry_delay: no effect: no flow's"), "{error}");
            assert!(error.contains("s:7"), "{error}");
        }
        for cc in ["orbcc", "orbcc-next", "hpcc_tcp", "leotcp", "*", "mine.py:Mine"] {
            assert!(read(&flow(cc), &[]).is_ok(), "{cc}");
        }
        let both = [flow("xcp"), flow("orbcc")].concat();
        assert!(read(&both, &[]).is_ok());
    }

    #[test]
    fn parameters_decide_too_and_open_flows_may_have_any_scheme() {
        let pint = format!("{}[cc.orbcc]\necho = \"pint\"\n", flow("orbcc"));
        assert!(read(&pint, &[]).is_err());
        assert!(read(&format!("cc = [\"xcp\", \"rcp\"]\n{}", flow("*")), &[]).is_ok(), "--cc orbcc");
    }

    #[test]
    fn it_yields_to_a_scheme_that_an_override_chooses() {
        let s = read(&flow("orbcc"), &["flow.0.cc=xcp"]).unwrap();
        assert!(s.remarks.iter().any(|r| r.contains("telemetry_delay")), "{:?}", s.remarks);
        assert!(!s.resolved_toml.contains("telemetry_delay"), "{}", s.resolved_toml);
    }
}
