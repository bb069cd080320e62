// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Columns in memory.

use std::collections::HashMap;

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // the element types say it
pub enum Values {
    U32(Vec<u32>),
    U64(Vec<u64>),
    F64(Vec<f64>),
    Bool(Vec<bool>),
    /// Strings by code: few distinct ones are repeated.
    Words(Words),
}

/// A column of repeated strings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Words {
    /// Row → index into `words`.
    pub codes: Vec<u32>,
    /// Distinct strings, in order of first appearance.
    pub words: Vec<String>,
    index: HashMap<String, u32>,
}

impl Words {
    /// Appends a row.
    pub fn push(&mut self, word: &str) {
        let code = self.code(word);
        self.codes.push(code);
    }

    /// Appends the rows of another column: each of its distinct strings is looked up once.
    pub fn extend(&mut self, more: &Words) {
        // In order of first appearance, as if the rows were pushed one by one.
        let codes: Vec<u32> = more.words.iter().map(|word| self.code(word)).collect();
        self.codes.extend(more.codes.iter().map(|&code| codes[code as usize]));
    }

    fn code(&mut self, word: &str) -> u32 {
        // A row usually repeats the string of the previous row.
        if let Some(&last) = self.codes.last().filter(|&&last| self.words[last as usize] == word) {
            return last;
        }
        if let Some(&known) = self.index.get(word) {
            return known;
        }
        let next = self.words.len() as u32;
        self.index.insert(word.to_string(), next);
        self.words.push(word.to_string());
        next
    }
}

/// A named column; if `valid` is given, rows that are false there have no value.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name, with the unit as its last word.
    pub name: String,
    /// Values; arbitrary but deterministic in rows that are not valid.
    pub values: Values,
    /// Rows with a value; `None` = all.
    pub valid: Option<Vec<bool>>,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Name, which is the file name without its extension.
    pub name: &'static str,
    /// Columns of equal length.
    pub columns: Vec<Column>,
}

impl Values {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Values::U32(v) => v.len(),
            Values::U64(v) => v.len(),
            Values::F64(v) => v.len(),
            Values::Bool(v) => v.len(),
            Values::Words(w) => w.codes.len(),
        }
    }
    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Name of the type, as in hashes and declarations.
    pub fn kind(&self) -> &'static str {
        match self {
            Values::U32(_) => "u32",
            Values::U64(_) => "u64",
            Values::F64(_) => "f64",
            Values::Bool(_) => "bool",
            Values::Words(_) => "words",
        }
    }
}

impl Table {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.values.len())
    }
}

/// A type that a column can store.
pub trait Cell: Sized {
    /// Builder of a column of such cells.
    type Builder: Default + Clone + std::fmt::Debug;
    /// Appends the cell.
    fn push(self, to: &mut Self::Builder);
    /// The finished column.
    fn finish(name: &str, from: Self::Builder) -> Column;
}

macro_rules! plain_cell {
    ($($ty:ty => $variant:ident),*) => {$(
        impl Cell for $ty {
            type Builder = Vec<$ty>;
            fn push(self, to: &mut Self::Builder) {
                to.push(self);
            }
            fn finish(name: &str, from: Self::Builder) -> Column {
                Column { name: name.into(), values: Values::$variant(from), valid: None }
            }
        }
        impl Cell for Option<$ty> {
            type Builder = (Vec<$ty>, Vec<bool>);
            fn push(self, to: &mut Self::Builder) {
                to.0.push(self.unwrap_or_default());
                to.1.push(self.is_some());
            }
            fn finish(name: &str, from: Self::Builder) -> Column {
                Column { name: name.into(), values: Values::$variant(from.0), valid: Some(from.1) }
            }
        }
    )*};
}
plain_cell!(u32 => U32, u64 => U64, f64 => F64, bool => Bool);

macro_rules! word_cell {
    ($($ty:ty),*) => {$(
        impl Cell for $ty {
            type Builder = Words;
            fn push(self, to: &mut Self::Builder) {
                to.push(self.as_ref());
            }
            fn finish(name: &str, from: Self::Builder) -> Column {
                Column { name: name.into(), values: Values::Words(from), valid: None }
            }
        }
    )*};
}
word_cell!(&'static str, String);
