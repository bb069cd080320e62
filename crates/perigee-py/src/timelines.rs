// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Timelines: generated from a scenario or loaded from a file, saved, followed.

use crate::interrupt::interruptible;
use crate::runs::{wrong, RunError, Scenario, World};
use perigee_scenario::timeline::view::{view, Contents, PairView};
use perigee_scenario::timeline::{store, Header, PairId};
use perigee_scenario::units::Nanos;
use perigee_scenario::{exchange, saved, Problem, ScenarioError};
use pyo3::prelude::*;
use serde_json::json;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::Arc;

/// A network over time.
#[pyclass(frozen, module = "perigee_lab._core")]
pub struct Timeline(Arc<perigee_scenario::timeline::Timeline>);

#[pymethods]
impl Timeline {
    /// The network of a world over its entire run.
    #[staticmethod]
    fn of(py: Python<'_>, world: &World) -> PyResult<Self> {
        let world = world.0.clone();
        let made = interruptible(py, move || world.whole_timeline())?;
        Ok(Timeline(Arc::new(made.map_err(RunError::new_err)?)))
    }

    /// Reads a saved timeline and checks it.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let read = interruptible(py, move || saved::load(&path))?;
        let read = read.map_err(|why| wrong(&ScenarioError::from(Problem::new("", why))))?;
        Ok(Timeline(Arc::new(read)))
    }

    /// Writes the timeline: a line of JSON for the network at time zero, and one per chunk of
    /// changes.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let file = File::create(path)?;
        let timeline = self.0.clone();
        interruptible(py, move || match store::save(&timeline, BufWriter::new(&file)) {
            Ok(()) => Ok(file.sync_all()?),
            Err(store::TimelineError::Io(e)) => Err(e.into()),
            Err(e) => Err(RunError::new_err(e.to_string())),
        })?
    }

    /// Title, duration, numbers of nodes, ports, links and changes, and the pairs with their
    /// reverse pairs, as JSON.
    fn describe(&self) -> PyResult<String> {
        let mut contents = Contents::new(&self.0.header);
        self.0.chunks.iter().for_each(|chunk| contents.add(chunk));
        facts(&self.0.header, &contents, &[])
    }

    /// Generates the network of a scenario without keeping it: writes it, if a path is given, and
    /// follows the first pairs with a sample every `step_ns`. Returns the results of `describe` and
    /// `follow`.
    #[staticmethod]
    fn pass_by(
        py: Python<'_>,
        scenario: &Scenario,
        seed: u64,
        path: Option<PathBuf>,
        watched: usize,
        step_ns: u64,
    ) -> PyResult<(String, Vec<String>)> {
        let watch = (watched, Nanos(step_ns));
        let scenario = scenario.0.clone();
        let pass = move || exchange::pass_timeline(&scenario, seed, path.as_deref(), watch);
        let passed = interruptible(py, pass)?.map_err(|e| wrong(&e))?;
        Ok((
            facts(&passed.header, &passed.contents, &passed.warnings)?,
            passed.views.iter().map(as_json).collect(),
        ))
    }

    /// View of a pair and its reverse pair every `step_ns`, as JSON.
    fn follow(&self, py: Python<'_>, forward: u32, reverse: u32, step_ns: u64) -> PyResult<String> {
        let pairs = self.0.header.pairs.len();
        if forward.max(reverse) as usize >= pairs {
            return Err(RunError::new_err(format!("there are {pairs} pairs")));
        }
        let way = [forward, reverse].map(PairId);
        let timeline = self.0.clone();
        interruptible(py, move || as_json(&view(&timeline, way[0], way[1], Nanos(step_ns))))
    }
}

fn facts(header: &Header, contents: &Contents, warnings: &[String]) -> PyResult<String> {
    let ways = saved::ways(&header.pairs).map_err(RunError::new_err)?;
    let name = |id: perigee_scenario::timeline::NodeId| header.nodes[id.ix()].name.as_str();
    let pairs = ways.iter().map(|[there, back]| {
        let pair = header.pairs[there.ix()];
        json!({"from": name(pair.from), "to": name(pair.to), "forward": there.0, "reverse": back.0})
    });
    Ok(json!({
        "title": header.title,
        "duration_ns": header.duration.0,
        "nodes": contents.nodes,
        "ports": contents.ports,
        "links": contents.links,
        "changes": contents.changes,
        "pairs": pairs.collect::<Vec<_>>(),
        "warnings": warnings,
    })
    .to_string())
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
