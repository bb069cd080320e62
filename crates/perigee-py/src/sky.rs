// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Survey of a scenario's constellation without packets.

use crate::interrupt::interruptible;
use crate::runs::{wrong, RunError, Scenario};
use numpy::{PyArray1, PyReadonlyArray2};
use perigee_scenario::survey::{self, Look};
use perigee_scenario::timeline_paths;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::Arc;

/// Round-trip times and directions at every step.
type Steps<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<bool>>);

/// Satellites in view and lengths of paths, by place.
type Reach<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// Satellites and ground points of a scenario, and the requested pairs.
#[pyclass(frozen, module = "perigee_lab._core")]
pub struct Sky(Arc<Look>);

/// Paths of a network without satellites of its own, in the form of `Sky.paths`.
#[pyfunction]
#[pyo3(signature = (scenario, ends, seed=None))]
pub fn network_paths<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    ends: Vec<(String, String)>,
    seed: Option<u64>,
) -> PyResult<(String, Vec<Steps<'py>>)> {
    let scenario = scenario.0.clone();
    let seed = seed.unwrap_or(scenario.run.seed);
    let found = interruptible(py, move || timeline_paths::paths(scenario, &ends, seed))?;
    let (json, series) = found.map_err(|e| wrong(&e))?;
    let arrays =
        series.into_iter().map(|s| (PyArray1::from_vec(py, s.rtt_ms), PyArray1::from_vec(py, s.apart)));
    Ok((json.to_string(), arrays.collect()))
}

#[pymethods]
impl Sky {
    /// The sky of a scenario with traffic between `ends` (nodes, cities or "lat, lon"), or else
    /// that of its flows.
    #[new]
    #[pyo3(signature = (scenario, ends, seed=None, alone=false))]
    fn new(
        py: Python<'_>,
        scenario: &Scenario,
        ends: Vec<(String, String)>,
        seed: Option<u64>,
        alone: bool,
    ) -> PyResult<Self> {
        let scenario = scenario.0.clone();
        let seed = seed.unwrap_or(scenario.run.seed);
        let look = interruptible(py, move || survey::look(&scenario, &ends, seed, alone))?;
        Ok(Sky(Arc::new(look.map_err(|e| wrong(&e))?)))
    }

    /// Paths of all pairs as JSON; and for each pair, at every step, the round-trip time in ms (NaN
    /// = unreachable) and whether the satellites of its ends move in opposite directions.
    fn paths<'py>(&self, py: Python<'py>) -> PyResult<(String, Vec<Steps<'py>>)> {
        let look = self.0.clone();
        let (json, series) = interruptible(py, move || look.paths())?.map_err(RunError::new_err)?;
        let arrays =
            series.into_iter().map(|s| (PyArray1::from_vec(py, s.rtt_ms), PyArray1::from_vec(py, s.apart)));
        Ok((json.to_string(), arrays.collect()))
    }

    /// Warnings about satellites that terminals select for several pairs at once.
    fn shared_choices(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let look = self.0.clone();
        interruptible(py, move || look.shared_choices())?.map_err(RunError::new_err)
    }

    /// View of places (one row of latitude and longitude in degrees each), then of the ground
    /// points, at an instant: the number of satellites at least `mask_deg` above the horizon, and
    /// the length of the shortest path from the ground point `origin` in metres (infinite = none).
    #[pyo3(signature = (t_ns, places, mask_deg, origin=None))]
    fn reach<'py>(
        &self,
        py: Python<'py>,
        t_ns: u64,
        places: PyReadonlyArray2<'_, f64>,
        mask_deg: f64,
        origin: Option<usize>,
    ) -> PyResult<Reach<'py>> {
        let look = self.0.clone();
        let places = places.as_array();
        if places.ncols() != 2 {
            return Err(PyValueError::new_err("places are rows of latitude and longitude"));
        }
        let places: Vec<[f64; 2]> = places.rows().into_iter().map(|p| [p[0], p[1]]).collect();
        let found = interruptible(py, move || look.reach(t_ns, &places, mask_deg, origin))?;
        let found = found.map_err(RunError::new_err)?;
        let in_view = found.iter().map(|r| r.in_view as f64).collect();
        let path_m = found.iter().map(|r| r.path_m.unwrap_or(f64::INFINITY)).collect();
        Ok((PyArray1::from_vec(py, in_view), PyArray1::from_vec(py, path_m)))
    }

    /// Complete state at an instant, as JSON.
    fn picture(&self, py: Python<'_>, t_ns: u64) -> PyResult<String> {
        let look = self.0.clone();
        let found = interruptible(py, move || look.picture(t_ns).map(|json| json.to_string()))?;
        found.map_err(RunError::new_err)
    }
}
