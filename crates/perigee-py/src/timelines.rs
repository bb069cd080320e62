// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Timelines: made by a scenario or loaded from a file, saved, followed.

use crate::runs::{wrong, RunError, World};
use perigee_scenario::saved;
use perigee_scenario::timeline::view::{view, PairView};
use perigee_scenario::timeline::{store, Change, PairId};
use perigee_scenario::units::Nanos;
use perigee_scenario::{Problem, ScenarioError};
use pyo3::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

/// A network over time.
#[pyclass(frozen, module = "perigee._core")]
pub struct Timeline(perigee_scenario::timeline::Timeline);

#[pymethods]
impl Timeline {
    /// The network of a world over its whole run.
    #[staticmethod]
    fn of(py: Python<'_>, world: &World) -> PyResult<Self> {
        let made = py.detach(|| world.0.whole_timeline());
        Ok(Timeline(made.map_err(RunError::new_err)?))
    }

    /// Reads a saved timeline and checks it.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let read = py.detach(|| saved::load(&path));
        Ok(Timeline(read.map_err(|why| wrong(&ScenarioError::from(Problem::new("", why))))?))
    }

    /// Writes the timeline: a line of JSON for the network at time zero, and one per chunk of changes.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let file = File::create(path)?;
        py.detach(|| match store::save(&self.0, BufWriter::new(&file)) {
            Ok(()) => Ok(file.sync_all()?),
            Err(store::TimelineError::Io(e)) => Err(e.into()),
            Err(e) => Err(RunError::new_err(e.to_string())),
        })
    }

    /// Title, length, numbers of things and changes, and the pairs with their ways back, as JSON.
    fn describe(&self) -> PyResult<String> {
        let (header, chunks) = (&self.0.header, &self.0.chunks);
        let mut changes: BTreeMap<&str, usize> = BTreeMap::new();
        for c in chunks.iter().flat_map(|c| &c.changes) {
            *changes.entry(kind(&c.change)).or_default() += 1;
        }
        let ways = saved::ways(&header.pairs).map_err(RunError::new_err)?;
        let name = |id: perigee_scenario::timeline::NodeId| header.nodes[id.ix()].name.as_str();
        let pairs = ways.iter().map(|[there, back]| {
            let pair = header.pairs[there.ix()];
            json!({"from": name(pair.from), "to": name(pair.to), "forward": there.0, "reverse": back.0})
        });
        Ok(json!({
            "title": header.title,
            "duration_ns": header.duration.0,
            "nodes": header.nodes.len() + chunks.iter().map(|c| c.nodes.len()).sum::<usize>(),
            "ports": header.ports.len() + chunks.iter().map(|c| c.ports.len()).sum::<usize>(),
            "links": header.links.len() + chunks.iter().map(|c| c.links.len()).sum::<usize>(),
            "changes": changes,
            "pairs": pairs.collect::<Vec<_>>(),
        })
        .to_string())
    }

    /// What a pair and its way back see each `step_ns`, as JSON.
    fn follow(&self, py: Python<'_>, forward: u32, reverse: u32, step_ns: u64) -> PyResult<String> {
        let pairs = self.0.header.pairs.len();
        if forward.max(reverse) as usize >= pairs {
            return Err(RunError::new_err(format!("there are {pairs} pairs")));
        }
        let way = [forward, reverse].map(PairId);
        Ok(py.detach(|| as_json(&view(&self.0, way[0], way[1], Nanos(step_ns)))))
    }
}

fn as_json(v: &PairView) -> String {
    json!({
        "t_ns": v.t.iter().map(|t| t.0).collect::<Vec<_>>(),
        "rtt_ns": v.rtt.iter().map(|r| r.map(|r| r.0)).collect::<Vec<_>>(),
        "rate_bps": v.rate.iter().map(|r| r.map(|r| r.0)).collect::<Vec<_>>(),
        "hops": v.hops,
        "outages_ns": v.outages.iter().map(|(a, b)| [a.0, b.0]).collect::<Vec<_>>(),
        "path_changes_ns": v.path_changes.iter().map(|t| t.0).collect::<Vec<_>>(),
    })
    .to_string()
}

fn kind(change: &Change) -> &'static str {
    match change {
        Change::Rate(..) => "rate",
        Change::Delay(..) => "delay",
        Change::Loss(..) | Change::Lose(..) => "loss",
        Change::Down(..) => "down",
        Change::Up(_) => "up",
        Change::Path(..) => "path",
        Change::NextHop { .. } => "next hop",
        Change::Note(_) => "note",
    }
}
