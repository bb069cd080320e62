// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Conversion of tables to NumPy and back.

use numpy::{PyArray1, PyReadonlyArray1};
use perigee_record::hash::format_1;
use perigee_record::table::Words;
use perigee_record::{Column, Table, Values};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

/// Name, values (codes for strings), strings, mask of rows with a value.
type Parts<'py> = (String, Bound<'py, PyAny>, Option<Vec<String>>, Option<Bound<'py, PyAny>>);

/// All tables: name → list of columns, each (name, array, strings or None, mask or None).
pub fn tables<'py>(py: Python<'py>, tables: Vec<Table>) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for t in tables {
        all.set_item(t.name, table(py, t)?)?;
    }
    Ok(all)
}

/// The columns of a table.
pub fn table(py: Python<'_>, table: Table) -> PyResult<Bound<'_, PyList>> {
    let columns = table.columns.into_iter().map(|c| column(py, c));
    PyList::new(py, columns.collect::<PyResult<Vec<_>>>()?)
}

fn column<'py>(py: Python<'py>, c: Column) -> PyResult<Bound<'py, PyTuple>> {
    let (array, words) = match c.values {
        Values::U32(v) => (PyArray1::from_vec(py, v).into_any(), None),
        Values::U64(v) => (PyArray1::from_vec(py, v).into_any(), None),
        Values::F64(v) => (PyArray1::from_vec(py, v).into_any(), None),
        Values::Bool(v) => (PyArray1::from_vec(py, v).into_any(), None),
        Values::Words(w) => (PyArray1::from_vec(py, w.codes).into_any(), Some(w.words)),
    };
    // Columns without gaps need no mask: the file is smaller and reads as plain integers.
    let valid = c.valid.filter(|v| v.contains(&false)).map(|v| PyArray1::from_vec(py, v).into_any());
    (c.name, array, words, valid).into_pyobject(py)
}

/// Hasher of the content of a table of format 2, from rows in the form in which a run returns them.
#[pyclass(module = "perigee_lab._core")]
#[derive(Default)]
pub struct TableHasher(perigee_record::TableHasher);

#[pymethods]
impl TableHasher {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Adds rows.
    fn update(&mut self, py: Python<'_>, columns: Vec<Parts<'_>>) -> PyResult<()> {
        let rows = rows(columns)?;
        let hasher = &mut self.0;
        py.detach(move || hasher.update(&rows));
        Ok(())
    }

    /// Number of rows so far.
    #[getter]
    fn rows(&self) -> u64 {
        self.0.rows()
    }

    /// Hash of the rows so far.
    fn hexdigest(&self) -> String {
        self.0.clone().finish()
    }
}

/// Hash of a complete table in a record of some format, from columns in the form in which a run
/// returns them.
#[pyfunction]
pub fn hash_table(py: Python<'_>, columns: Vec<Parts<'_>>, record_format: u32) -> PyResult<String> {
    let table = rows(columns)?;
    match record_format {
        1 => Ok(py.detach(move || format_1(&table))),
        2 => Ok(py.detach(move || {
            let mut hasher = perigee_record::TableHasher::default();
            hasher.update(&table);
            hasher.finish()
        })),
        other => Err(PyValueError::new_err(format!("there is no record format {other}"))),
    }
}

fn rows(columns: Vec<Parts<'_>>) -> PyResult<Table> {
    Ok(Table { name: "", columns: columns.into_iter().map(read).collect::<PyResult<Vec<_>>>()? })
}

fn read((name, array, words, valid): Parts<'_>) -> PyResult<Column> {
    let values = if let Some(list) = words {
        let codes: PyReadonlyArray1<'_, u32> = array.extract()?;
        let mut words = Words::default();
        for &code in codes.as_slice()? {
            let word = list.get(code as usize);
            words.push(word.ok_or_else(|| PyTypeError::new_err(format!("{name}: code {code} has no word")))?);
        }
        Values::Words(words)
    } else if let Ok(a) = array.extract::<PyReadonlyArray1<'_, u64>>() {
        Values::U64(a.as_slice()?.to_vec())
    } else if let Ok(a) = array.extract::<PyReadonlyArray1<'_, u32>>() {
        Values::U32(a.as_slice()?.to_vec())
    } else if let Ok(a) = array.extract::<PyReadonlyArray1<'_, f64>>() {
        Values::F64(a.as_slice()?.to_vec())
    } else if let Ok(a) = array.extract::<PyReadonlyArray1<'_, bool>>() {
        Values::Bool(a.as_slice()?.to_vec())
    } else {
        return Err(PyTypeError::new_err(format!("{name}: not a column of a record")));
    };
    let valid = valid.map(|v| -> PyResult<Vec<bool>> {
        Ok(v.extract::<PyReadonlyArray1<'_, bool>>()?.as_slice()?.to_vec())
    });
    Ok(Column { name, values, valid: valid.transpose()? })
}
