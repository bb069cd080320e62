// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Import of captures as records.

#![expect(clippy::disallowed_methods, reason = "intervals between progress reports and signals")]

use crate::runs::{Batches, Reporter, RunError};
use perigee_capture::{reader::Packets, CaptureError, Options, Place};
use perigee_record::Tally;
use perigee_scenario::units::Nanos;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde_json::json;
use std::fs::File;
use std::path::PathBuf;
use std::time::Instant;

/// Reads a capture; `batches` is called with the name of a table and further rows of it. `place` is
/// "sender", "receiver" or None. `progress` is called a few times a second with the number of bytes
/// read, and stops the import by returning False. Returns a summary as JSON; None if it was
/// stopped.
#[pyfunction]
#[pyo3(signature = (path, batches, cc, sample_ns, warmup_ns=0, place=None, progress=None))]
#[allow(clippy::too_many_arguments)] // keywords in Python
pub fn import_capture(
    py: Python<'_>,
    path: PathBuf,
    batches: Py<PyAny>,
    cc: String,
    sample_ns: u64,
    warmup_ns: u64,
    place: Option<&str>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Option<String>> {
    let place = match place {
        None => None,
        Some("sender") => Some(Place::Sender),
        Some("receiver") => Some(Place::Receiver),
        Some(other) => {
            return Err(PyValueError::new_err(format!("{other:?}: captures are at sender or receiver")))
        }
    };
    if sample_ns == 0 {
        return Err(PyValueError::new_err("the time between rows must be more than 0"));
    }
    let file = File::open(&path).map_err(|e| PyOSError::new_err(e.to_string()))?;
    let options = Options { place, cc, sample: Nanos(sample_ns), warmup: Nanos(warmup_ns) };
    let mut handed = Batches { call: batches, error: None };
    let mut reporter = Reporter { call: progress, last: Instant::now(), error: None };
    let (found, tables) = py.detach(|| {
        let mut tally = Tally::new(&mut handed);
        let found = Packets::new(Box::new(file)).and_then(|packets| {
            perigee_capture::import(packets, &options, &mut tally, &mut |bytes| reporter.go_on(Nanos(bytes)))
        });
        (found, tally.finish().0)
    });
    if let Some(e) = reporter.error.or(handed.error) {
        return Err(e);
    }
    let found = match found {
        Ok(found) => found,
        Err(CaptureError::Stopped) => return Ok(None),
        Err(e) => return Err(RunError::new_err(e.to_string())),
    };
    let flow = |f: &perigee_record::FlowInfo| json!({"name": f.name, "from": f.from, "to": f.to, "cc": f.cc, "start_ns": f.start_ns, "stop_ns": f.stop_ns});
    let about = json!({
        "began_ns": found.began_ns,
        "duration_ns": found.duration_ns,
        "packets": found.packets,
        "connections": found.connections,
        "flows": found.flows.iter().take(100).map(flow).collect::<Vec<_>>(),
        "nodes": found.nodes,
        "remarks": found.remarks,
        "tables": tables.iter().map(|t| (t.name, json!({"rows": t.rows, "sha256": t.sha256})))
            .collect::<std::collections::BTreeMap<_, _>>(),
    });
    Ok(Some(about.to_string()))
}
