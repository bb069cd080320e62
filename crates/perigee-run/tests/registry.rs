// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A backend of one file, registered and run through the public interface.

#[path = "backends/line_rate.rs"]
mod line_rate;

use perigee_record::{Collector, Values};
use perigee_run::backends::{Options, Registry, SHIPPED};
use perigee_scenario::{Scenario, World};
use std::path::Path;
use std::sync::Arc;

const TWO_FLOWS: &str = r#"[run]
duration = "3 s"
sample = "500 ms"
cc = ["newreno"]
[source.dumbbell]
rtt = "500 ms"
[port.bottleneck]
rate = "8 Mbit"
queue = "1 bdp"
[[flow]]
[[flow]]
start = "1 s"
"#;

#[test]
fn a_backend_is_one_file_and_one_line() {
    let mut registry = Registry::default();
    registry.add(line_rate::ENTRY).unwrap();
    let chosen = registry.choose("line_rate", Options::default()).unwrap();
    let scenario = Scenario::parse(TWO_FLOWS, "t.toml", Path::new(""), &[]).unwrap();
    let world = World::build(Arc::new(scenario), 1).unwrap();
    let backend = chosen.make(&world, &Default::default()).unwrap();
    perigee_run::check(&world, "newreno", backend.as_ref()).unwrap();
    let mut rows = Collector::default();
    let done =
        perigee_run::record(&world, "newreno", backend.as_ref(), &mut rows, None, &mut |_| true).unwrap();
    let tables = rows.finish();
    let flows = tables.iter().find(|t| t.name == "flows").expect("it has rows of flows");
    let column = |name: &str| &flows.columns.iter().find(|c| c.name == name).unwrap().values;
    let (Values::U32(flow), Values::F64(rate)) = (column("flow"), column("goodput_bps")) else {
        panic!("other types")
    };
    let of = |id: u32| -> Vec<f64> {
        let rows = flow.iter().zip(rate).filter(|(f, _)| **f == id);
        rows.map(|(_, bps)| (bps / 1e6).round()).collect()
    };
    assert_eq!(of(0), [0.0, 8.0, 8.0, 8.0, 8.0, 8.0]);
    assert_eq!(of(1), [0.0, 0.0, 0.0, 8.0, 8.0, 8.0]);
    let manifest = done.manifest;
    assert_eq!(
        (manifest.backend, manifest.conserved, manifest.simulated_ns),
        ("line_rate", None, 3_000_000_000)
    );
    assert_eq!(manifest.tables["flows"].rows, 12);
}

#[test]
fn unknown_backends_are_named_with_those_there_are() {
    let mut registry = Registry::default();
    registry.add(line_rate::ENTRY).unwrap();
    let why = registry.choose("line_raet", Options::default()).err().expect("there is none").to_string();
    let names = SHIPPED.map(|e| e.name).join(", ");
    assert!(why.ends_with(&format!("use one of {names}, line_rate")), "{why}");
}

/// The section on backends in CONTRIBUTING walks through the file above and the list of the
/// registry.
#[test]
fn contributing_walks_through_the_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let section =
        text.split("\n## ").find(|s| s.starts_with("Add a backend\n")).expect("a section of its own");
    for file in [
        "crates/perigee-run/tests/backends/line_rate.rs",
        "crates/perigee-run/src/backends/mod.rs",
        "crates/perigee-run/tests/registry.rs",
    ] {
        assert!(section.contains(file) && root.join(file).exists(), "{file}");
    }
    let source =
        std::fs::read_to_string(root.join("crates/perigee-run/tests/backends/line_rate.rs")).unwrap();
    for item in ["ENTRY", "SHIPPED", "run_header", "flow_infos", "FlowRow", "RunOutcome"] {
        let known = source.contains(item) || item == "SHIPPED";
        assert!(known && section.contains(&format!("`{item}`")), "{item}");
    }
    assert!(source.lines().count() < 90, "it is short enough to be read");
    let name = line_rate::ENTRY.name;
    assert!(SHIPPED.iter().all(|e| e.name != name), "the example is not bundled");
}
