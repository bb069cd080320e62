// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Backends as dictionaries of Python: `{"backend": NAME, OPTION: VALUE, ...}`.

use crate::runs::failed;
use perigee_run::backend::BackendError;
use perigee_run::backends::{Choice, OptionValue, Options, Registry};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// Key of the backend's name; all other keys are its options.
const NAME: &str = "backend";

#[derive(FromPyObject)]
enum Value {
    Flag(bool),
    Number(usize),
    Path(PathBuf),
    List(Vec<String>),
}

/// The backend that a dictionary selects; `None` = the simulator.
///
/// # Errors
/// RunError if no backend has this name; ValueError without a name; TypeError if the name is not a
/// string, or an option is neither a bool, an integer, a path nor a list of strings.
pub(crate) fn chosen(given: Option<&Bound<'_, PyDict>>) -> PyResult<Choice> {
    let Some(given) = given else { return Ok(Choice::default()) };
    let name = given.get_item(NAME)?;
    let name: String = name
        .ok_or_else(|| PyValueError::new_err("missing key \"backend\": the name of a backend"))?
        .extract()?;
    let mut options = Options::default();
    for (key, value) in given {
        let key: String = key.extract()?;
        if key != NAME {
            let value = match value.extract()? {
                Value::Flag(flag) => OptionValue::Flag(flag),
                Value::Number(n) => OptionValue::Number(n),
                Value::Path(path) => OptionValue::Path(path),
                Value::List(list) => OptionValue::List(list),
            };
            options = options.with(&key, value);
        }
    }
    Registry::default().choose(&name, options).map_err(unusable)
}

/// Converts the error of a backend to a Python exception.
pub(crate) fn unusable(e: BackendError) -> PyErr {
    failed(e.into())
}

/// Names of all backends, each with a one-line summary; the first is the default.
#[pyfunction]
pub fn backends() -> Vec<(&'static str, &'static str)> {
    Registry::default().entries().iter().map(|e| (e.name, e.summary)).collect()
}
