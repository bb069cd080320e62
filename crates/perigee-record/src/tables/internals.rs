// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Columns for internals of schemes, which depend on the schemes of a run.

use crate::table::{Cell, Column};

/// Columns that only some schemes have (`cc_u`, `cc_bw_bps`, …) in addition to those of
/// `FlowTable`; null in rows of other schemes.
#[derive(Clone, Debug, Default)]
pub struct Internals {
    rows: usize,
    columns: Vec<(&'static str, <Option<f64> as Cell>::Builder)>,
}

impl Internals {
    /// Appends the named values of one row.
    pub fn push(&mut self, named: &[(&'static str, f64)]) {
        for &(name, value) in named {
            let at = match self.columns.iter().position(|(n, _)| *n == name) {
                Some(at) => at,
                None => {
                    self.columns.push((name, (vec![0.0; self.rows], vec![false; self.rows])));
                    self.columns.len() - 1
                }
            };
            let column = &mut self.columns[at].1;
            // A name that occurs twice in one row keeps its first value.
            if column.0.len() == self.rows {
                Some(value).push(column);
            }
        }
        self.rows += 1;
        for (_, (values, valid)) in &mut self.columns {
            values.resize(self.rows, 0.0);
            valid.resize(self.rows, false);
        }
    }

    /// Drains the columns so far, sorted by name.
    pub fn take(&mut self) -> Vec<Column> {
        std::mem::take(self).finish()
    }

    /// Finishes the columns, sorted by name.
    pub fn finish(mut self) -> Vec<Column> {
        self.columns.sort_by_key(|(name, _)| *name);
        let column = |(name, cells)| <Option<f64> as Cell>::finish(&format!("cc_{name}"), cells);
        self.columns.into_iter().map(column).collect()
    }
}
