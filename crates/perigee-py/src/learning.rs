// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Python classes for training: vectorised environments, trainings, policies.

use crate::runs::{wrong, RunError};
use numpy::{PyArray1, PyReadonlyArray2, PyReadwriteArray1, PyReadwriteArray2, PyReadwriteArray3};
use perigee_learn::evaluate::{RowSet, Subject};
use perigee_learn::train::Training as Inner;
use perigee_learn::vector::{Arrays, Ground, VecEnv as Envs, METRICS};
use perigee_learn::{Decision, LearnError};
use perigee_units::BitRate;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

fn failed(e: LearnError) -> PyErr {
    match e {
        LearnError::Scenario(e) => wrong(&e),
        LearnError::Run(why) => RunError::new_err(why),
        LearnError::Input(why) => PyValueError::new_err(why),
    }
}

/// Vectorised environment: scenarios advanced in parallel from decision to decision.
#[pyclass(frozen, module = "perigee_lab._core")]
pub struct VecEnv(Mutex<Inside>);

struct Inside {
    envs: Envs,
    decisions: Vec<Decision>,
}

/// The arrays that a step fills.
type Filled<'py> = (
    PyReadwriteArray3<'py, f32>,
    PyReadwriteArray2<'py, bool>,
    PyReadwriteArray2<'py, f32>,
    PyReadwriteArray2<'py, f32>,
    PyReadwriteArray3<'py, f32>,
    PyReadwriteArray1<'py, bool>,
);

#[pymethods]
impl VecEnv {
    /// Creates `count` environments with `flows` flows each, drawn from the worlds of a recipe.
    #[new]
    fn new(
        py: Python<'_>,
        recipe: &str,
        folder: PathBuf,
        count: usize,
        flows: usize,
        seed: u64,
    ) -> PyResult<Self> {
        let make = || {
            let recipe = perigee_learn::recipe::Recipe::parse(recipe, &folder)?;
            let ground: Ground = recipe.ground(&folder, seed);
            Envs::new(ground, count, flows)
        };
        let envs = py.detach(make).map_err(failed)?;
        Ok(VecEnv(Mutex::new(Inside { decisions: vec![Decision::Step(0.0); count * flows], envs })))
    }

    /// Advances by one decision; `actions` are Astraea's steps, or windows in packets where `rates`
    /// (bytes/s; 0 = the transport's) are given as well. The arrays are filled.
    #[allow(clippy::too_many_arguments)] // the arrays of a step
    #[pyo3(signature = (actions, rates, observations, active, whole, rewards, metrics, ended))]
    fn step<'py>(
        &self,
        py: Python<'py>,
        actions: PyReadonlyArray2<'py, f32>,
        rates: Option<PyReadonlyArray2<'py, f32>>,
        observations: PyReadwriteArray3<'py, f32>,
        active: PyReadwriteArray2<'py, bool>,
        whole: PyReadwriteArray2<'py, f32>,
        rewards: PyReadwriteArray2<'py, f32>,
        metrics: PyReadwriteArray3<'py, f32>,
        ended: PyReadwriteArray1<'py, bool>,
    ) -> PyResult<()> {
        let mut inside = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inside.decide(actions.as_slice()?, rates.as_ref().map(|r| r.as_slice()).transpose()?)?;
        inside.go_on(py, (observations, active, whole, rewards, metrics, ended))
    }
}

impl Inside {
    fn decide(&mut self, actions: &[f32], rates: Option<&[f32]>) -> PyResult<()> {
        let n = self.decisions.len();
        if actions.len() != n || rates.is_some_and(|r| r.len() != n) {
            return Err(PyValueError::new_err(format!("{} actions for {n} flows", actions.len())));
        }
        if !actions.iter().chain(rates.into_iter().flatten()).all(|a| a.is_finite()) {
            return Err(PyValueError::new_err("an action is not a finite number"));
        }
        for (i, (to, a)) in self.decisions.iter_mut().zip(actions).enumerate() {
            *to = match rates {
                None => Decision::Step(f64::from(*a)),
                Some(rates) => Decision::Set {
                    cwnd: *a as u64,
                    pacing: (rates[i] > 0.0).then(|| BitRate((f64::from(rates[i]) * 8.0) as u64)),
                },
            };
        }
        Ok(())
    }

    fn go_on(&mut self, py: Python<'_>, filled: Filled<'_>) -> PyResult<()> {
        let (mut observations, mut active, mut globals, mut rewards, mut metrics, mut ended) = filled;
        let (n, flows) = (self.envs.count(), self.envs.flows());
        let arrays = Arrays {
            observations: observations.as_slice_mut()?,
            active: active.as_slice_mut()?,
            globals: globals.as_slice_mut()?,
            rewards: rewards.as_slice_mut()?,
            metrics: metrics.as_slice_mut()?,
            ended: ended.as_slice_mut()?,
        };
        let fine = arrays.observations.len() == n * flows * perigee_learn::INPUTS
            && arrays.active.len() == n * flows
            && arrays.globals.len() == n * perigee_learn::env::GLOBALS
            && arrays.rewards.len() == n * flows
            && arrays.metrics.len() == n * flows * METRICS.len()
            && arrays.ended.len() == n;
        if !fine {
            return Err(PyValueError::new_err("an array has the wrong shape"));
        }
        let (envs, decisions) = (&mut self.envs, &self.decisions);
        py.detach(|| envs.step(decisions, arrays)).map_err(failed)
    }
}

/// A training, round by round.
#[pyclass(frozen, module = "perigee_lab._core")]
pub struct Training(Mutex<Inner>);

impl Training {
    fn with<R: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Inner) -> R + Send) -> R {
        py.detach(|| work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[pymethods]
impl Training {
    /// A training of a recipe, from its checkpoint where one is given.
    #[new]
    #[pyo3(signature = (recipe, folder, seed, checkpoint=None))]
    fn new(recipe: &str, folder: PathBuf, seed: u64, checkpoint: Option<PathBuf>) -> PyResult<Self> {
        let inner = match checkpoint {
            Some(file) => Inner::resume(recipe, &folder, seed, &file),
            None => Inner::new(recipe, &folder, seed),
        };
        Ok(Training(Mutex::new(inner.map_err(failed)?)))
    }

    /// One round, as JSON.
    fn round(&self, py: Python<'_>) -> PyResult<String> {
        let round = self.with(py, Inner::round).map_err(failed)?;
        Ok(serde_json::json!(round).to_string())
    }

    /// All evaluations so far, as JSON.
    fn scores(&self, py: Python<'_>) -> String {
        self.with(py, |t| serde_json::json!(t.scores()).to_string())
    }

    /// Selects the best policy by reward instead of by the recipe's evaluation table, at no cost.
    fn without_tables(&self, py: Python<'_>) {
        self.with(py, Inner::without_tables);
    }

    /// Whether the training is complete.
    fn over(&self, py: Python<'_>) -> bool {
        self.with(py, |t| t.over())
    }

    /// Writes a checkpoint.
    fn save(&self, py: Python<'_>, checkpoint: PathBuf) -> PyResult<()> {
        self.with(py, |t| t.save(&checkpoint)).map_err(failed)
    }

    /// The current policy as text.
    fn policy(&self, py: Python<'_>) -> String {
        self.with(py, |t| t.policy())
    }

    /// The best policy so far as text.
    fn best(&self, py: Python<'_>) -> String {
        self.with(py, |t| t.best())
    }
}

/// A validated policy.
#[pyclass(frozen, module = "perigee_lab._core")]
pub struct Policy(perigee_scenario::cc::astraea::policy::Policy);

#[pymethods]
impl Policy {
    /// Parses the text of a policy file.
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        let parsed = perigee_scenario::cc::astraea::policy::Policy::parse(text);
        Ok(Policy(parsed.map_err(|e| PyValueError::new_err(e.to_string()))?))
    }

    /// Layer widths, from inputs to outputs.
    #[getter]
    fn widths(&self) -> Vec<usize> {
        self.0.widths()
    }

    /// Whether logarithmic features derived from each step are appended to the inputs.
    #[getter]
    fn logs(&self) -> bool {
        self.0.logs()
    }

    /// Number of weights and biases.
    #[getter]
    fn count(&self) -> usize {
        self.0.count()
    }

    /// The first output for each row of inputs.
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        inputs: PyReadonlyArray2<'_, f32>,
    ) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let view = inputs.as_array();
        if view.ncols() != self.0.inputs() {
            let why = format!("{} inputs, the policy has {}", view.ncols(), self.0.inputs());
            return Err(PyValueError::new_err(why));
        }
        let mut scratch = self.0.scratch();
        let rows = view.rows();
        let out: Vec<f32> = rows.into_iter().map(|r| self.0.evaluate(&r.to_vec(), &mut scratch)).collect();
        Ok(PyArray1::from_vec(py, out))
    }
}

/// Ids of the rows of an evaluation table: "astraea" or "satellite".
#[pyfunction]
pub fn policy_rows(table: &str) -> PyResult<Vec<&'static str>> {
    let kind = RowSet::named(table).ok_or_else(|| PyValueError::new_err(format!("no table {table:?}")))?;
    Ok(kind.rows())
}

/// Evaluates a row of a table, as JSON: id, what, values, pass. `policy` None = the scheme's
/// default.
#[pyfunction]
pub fn policy_row(
    py: Python<'_>,
    scheme: &str,
    policy: Option<String>,
    params: BTreeMap<String, String>,
    row: &str,
) -> PyResult<String> {
    let params = params.into_iter().map(|(k, v)| (k, perigee_scenario::cc::Value::Text(v))).collect();
    let subject = Subject { cc: scheme.into(), params, policy: policy.map(Into::into) };
    let found = py.detach(|| perigee_learn::evaluate::row(&subject, row)).map_err(failed)?;
    Ok(serde_json::json!(found).to_string())
}

/// Runs a benchmark of `count` repetitions in this thread: "policy" (evaluations) or "guard"
/// (checks).
#[pyfunction]
pub fn bench_decisions(py: Python<'_>, what: &str, count: u32) -> PyResult<()> {
    match what {
        "policy" => py.detach(|| perigee_learn::bench::evaluations(count)).map(drop).map_err(failed),
        _ => {
            py.detach(|| perigee_learn::bench::looks(u64::from(count)));
            Ok(())
        }
    }
}

/// Runs a benchmark over a bottleneck of `mbps` with four flows at constant windows; `agent` is
/// "none", "idle" or "policy". Returns the number of decisions.
#[pyfunction]
pub fn bench_run(py: Python<'_>, mbps: f64, seconds: f64, agent: &str) -> PyResult<u64> {
    use perigee_learn::bench::Agent;
    let agent = match agent {
        "none" => Agent::None,
        "idle" => Agent::Idle,
        _ => Agent::Policy,
    };
    py.detach(|| perigee_learn::bench::run(mbps, seconds, agent)).map_err(failed)
}

/// Bundled policies, as pairs of name and text.
#[pyfunction]
pub fn policies() -> Vec<(&'static str, &'static str)> {
    use perigee_scenario::cc::astraea::{REPRODUCTION_TEXT, SATELLITE_TEXT};
    vec![("astraea", REPRODUCTION_TEXT), ("astraea_leo", SATELLITE_TEXT)]
}

/// Bundled recipes, as pairs of name and text.
#[pyfunction]
pub fn recipes() -> Vec<(&'static str, &'static str)> {
    perigee_learn::recipe::RECIPES.to_vec()
}
