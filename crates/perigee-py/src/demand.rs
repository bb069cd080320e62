// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Users of a constellation as a fluid: chunks of the tables of `perigee demand`.

use crate::interrupt::interruptible;
use crate::runs::{wrong, RunError, Scenario};
use numpy::PyArray1;
use perigee_scenario::demand::step::Link;
use perigee_scenario::demand::tally::{self, Chunk, Served};
use perigee_scenario::demand::DemandRun;
use perigee_scenario::fluid::{self, Problem};
use perigee_scenario::units::Nanos;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use std::sync::Arc;

/// The demand of a scenario.
#[pyclass(frozen, module = "perigee_lab._core")]
pub struct Demand {
    run: Arc<DemandRun>,
    /// Satellites, then gateways, then cells: first numbers of the latter two.
    first: [u32; 2],
}

#[pymethods]
impl Demand {
    /// Prepares the demand of a scenario.
    #[new]
    fn new(py: Python<'_>, scenario: &Scenario) -> PyResult<Self> {
        let scenario = scenario.0.clone();
        let run = interruptible(py, move || DemandRun::new(&scenario))?.map_err(|e| wrong(&e))?;
        let first = run.first_vertices();
        Ok(Demand { run: Arc::new(run), first })
    }

    /// Satellites, gateways, cells, plans and lengths of time, as JSON.
    fn describe(&self) -> String {
        self.run.describe().to_string()
    }

    /// Degrees north and east below each satellite at an instant, in one list.
    fn shadows<'py>(&self, py: Python<'py>, t_ns: u64) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let run = self.run.clone();
        let found = interruptible(py, move || run.shadows(Nanos(t_ns)))?.map_err(RunError::new_err)?;
        Ok(PyArray1::from_vec(py, found.into_iter().flatten().collect()))
    }

    /// A chunk: a dictionary of columns for each table, and errors and failed steps as JSON.
    /// On that number of threads, by default one per core.
    #[pyo3(signature = (number, threads=None))]
    fn chunk<'py>(
        &self,
        py: Python<'py>,
        number: u64,
        threads: Option<usize>,
    ) -> PyResult<(Bound<'py, PyDict>, String)> {
        let run = self.run.clone();
        let chunk = interruptible(py, move || run.chunk(number, threads))?.map_err(RunError::new_err)?;
        let tables = PyDict::new(py);
        tables.set_item("cells", cells(py, &chunk)?)?;
        tables.set_item("paths", self.paths(py, &chunk)?)?;
        tables.set_item("links", self.links(py, &chunk)?)?;
        tables.set_item("steps", steps(py, &chunk)?)?;
        let failed = chunk.failed.iter().map(|(t, why)| json!({"t_s": seconds(*t), "why": why}));
        let facts = json!({
            "errors": {
                "offered": chunk.errors.offered,
                "carried": chunk.errors.carried,
                "excess": chunk.errors.excess,
            },
            "gap": chunk.errors.gap,
            "failed": failed.collect::<Vec<_>>(),
            "unreached": chunk.unreached,
        });
        Ok((tables, facts.to_string()))
    }
}

/// A demand: weight, limit, and the share of its rate on each resource.
type Wanted = (f64, f64, Vec<(u32, f64)>);

/// Rates of demands over resources: weighted max–min fair, or α-fair with their duality gap.
/// `demands` are tuples of weight, limit (infinite = none) and uses, which are tuples of a resource
/// and the share of the rate that loads it.
#[pyfunction]
#[pyo3(signature = (capacity, demands, alpha=None))]
pub fn allocate<'py>(
    py: Python<'py>,
    capacity: Vec<f64>,
    demands: Vec<Wanted>,
    alpha: Option<f64>,
) -> PyResult<(Bound<'py, PyArray1<f64>>, f64)> {
    let mut p = Problem::new(capacity);
    for (weight, limit, uses) in demands {
        p.add_split(weight, limit, uses);
    }
    p.check().map_err(|e| PyValueError::new_err(e.to_string()))?;
    if alpha.is_some_and(|a| !(0.2..=8.0).contains(&a)) {
        return Err(PyValueError::new_err("alpha must be from 0.2 to 8"));
    }
    let found = interruptible(py, move || match alpha {
        None => (fluid::max_min(&p).rate, 0.0),
        Some(alpha) => {
            let priced = fluid::alpha_fair(&p, alpha);
            (priced.rate, priced.gap)
        }
    })?;
    Ok((PyArray1::from_vec(py, found.0), found.1))
}

/// Exact for whole seconds, so that times can be compared.
fn seconds(t: Nanos) -> f64 {
    t.0 as f64 / 1e9
}

/// A column of a table.
macro_rules! column {
    ($table:expr, $py:expr, $name:literal, $rows:expr, $ty:ty, |$row:ident| $value:expr) => {
        let column: Vec<$ty> = $rows.iter().map(|$row| $value as $ty).collect();
        $table.set_item($name, PyArray1::from_vec($py, column))?
    };
}

fn served<'py, T>(
    table: &Bound<'py, PyDict>,
    py: Python<'py>,
    rows: &[T],
    of: impl Fn(&T) -> &Served,
) -> PyResult<()> {
    column!(table, py, "active", rows, f64, |r| of(r).active);
    column!(table, py, "below", rows, f64, |r| of(r).below);
    column!(table, py, "elastic_offered_bps", rows, f64, |r| of(r).elastic[0]);
    column!(table, py, "elastic_bps", rows, f64, |r| of(r).elastic[1]);
    column!(table, py, "inelastic_offered_bps", rows, f64, |r| of(r).inelastic[0]);
    column!(table, py, "inelastic_bps", rows, f64, |r| of(r).inelastic[1]);
    column!(table, py, "no_gateway_bps", rows, f64, |r| of(r).no_gateway);
    column!(table, py, "no_capacity_bps", rows, f64, |r| of(r).no_capacity);
    Ok(())
}

fn cells<'py>(py: Python<'py>, chunk: &Chunk) -> PyResult<Bound<'py, PyDict>> {
    let (table, rows) = (PyDict::new(py), &chunk.cells);
    column!(table, py, "t_s", rows, f64, |r| seconds(r.t));
    column!(table, py, "cell", rows, i32, |r| r.cell);
    column!(table, py, "direction", rows, i8, |r| r.direction);
    column!(table, py, "plan", rows, i16, |r| r.plan);
    served(&table, py, rows, |r| &r.served)?;
    Ok(table)
}

fn steps<'py>(py: Python<'py>, chunk: &Chunk) -> PyResult<Bound<'py, PyDict>> {
    let (table, rows) = (PyDict::new(py), &chunk.steps);
    column!(table, py, "t_s", rows, f64, |r| seconds(r.t));
    column!(table, py, "direction", rows, i8, |r| r.direction);
    served(&table, py, rows, |r| &r.served)?;
    column!(table, py, "full_isls", rows, f64, |r| r.full_isls);
    column!(table, py, "full_feeders", rows, f64, |r| r.full_feeders);
    column!(table, py, "full_gateways", rows, f64, |r| r.full_gateways);
    column!(table, py, "full_radios", rows, f64, |r| r.full_radios);
    column!(table, py, "full_beams", rows, f64, |r| r.full_beams);
    Ok(table)
}

impl Demand {
    fn paths<'py>(&self, py: Python<'py>, chunk: &Chunk) -> PyResult<Bound<'py, PyDict>> {
        let (table, rows) = (PyDict::new(py), &chunk.paths);
        let first = self.first[0];
        column!(table, py, "t_s", rows, f64, |r| seconds(r.t));
        column!(table, py, "cell", rows, i32, |r| r.cell);
        column!(table, py, "satellites", rows, f64, |r| r.satellites);
        column!(table, py, "rtt_ms", rows, f64, |r| r.rtt_ms);
        column!(table, py, "isls", rows, f64, |r| r.isls);
        column!(table, py, "gateway", rows, i32, |r| r.gateway.map_or(-1, |g| (g + first) as i32));
        column!(table, py, "reached", rows, f64, |r| r.reached);
        Ok(table)
    }

    fn links<'py>(&self, py: Python<'py>, chunk: &Chunk) -> PyResult<Bound<'py, PyDict>> {
        let (table, rows) = (PyDict::new(py), &chunk.links);
        column!(table, py, "t_s", rows, f64, |r| seconds(r.t));
        column!(table, py, "kind", rows, i8, |r| tally::kind(r.link));
        column!(table, py, "direction", rows, i8, |r| r.direction);
        column!(table, py, "from", rows, i32, |r| self.ends(r.link)[0]);
        column!(table, py, "to", rows, i32, |r| self.ends(r.link)[1]);
        column!(table, py, "mean_bps", rows, f64, |r| r.mean_bps);
        column!(table, py, "peak_bps", rows, f64, |r| r.peak_bps);
        column!(table, py, "capacity_bps", rows, f64, |r| r.capacity_bps);
        column!(table, py, "full_s", rows, f64, |r| r.full_s);
        Ok(table)
    }

    /// Both ends of a link as vertices; a resource of one vertex has it twice.
    fn ends(&self, link: Link) -> [u32; 2] {
        let [gateways, cells] = self.first;
        match link {
            Link::Isl(a, b) => [a, b],
            Link::Radio(s) => [s, s],
            Link::Gateway(g) => [g + gateways, g + gateways],
            Link::Feeder(g, s) => [g + gateways, s],
            Link::Beam(s, c) => [s, c + cells],
        }
    }
}
