// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names of the module that a build without a feature lacks; a call raises an error with the remedy.

use crate::runs::RunError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Placeholder of a function or class.
#[pyclass(frozen, module = "perigee_lab._core")]
struct Absent(&'static str);

#[pymethods]
impl Absent {
    #[pyo3(signature = (*_args, **_named))]
    fn __call__(&self, _args: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        Err(RunError::new_err(format!("this build has no support for {}: run `make setup`", self.0)))
    }
}

/// Adds placeholders for the names of a feature.
pub fn add(m: &Bound<'_, PyModule>, feature: &'static str, names: &[&'static str]) -> PyResult<()> {
    names.iter().try_for_each(|name| m.add(*name, Absent(feature)))
}
