// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Columns in memory, and the hash of their content.

use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt::Write;

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // the element types say it
pub enum Values {
    U32(Vec<u32>),
    U64(Vec<u64>),
    F64(Vec<f64>),
    Bool(Vec<bool>),
    /// Words by code: rows repeat few of them.
    Words(Words),
}

/// A column of words that repeat.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Words {
    /// Row → index into `words`.
    pub codes: Vec<u32>,
    /// Each word once, in order of first appearance.
    pub words: Vec<String>,
    index: HashMap<String, u32>,
}

impl Words {
    /// Appends a row.
    pub fn push(&mut self, word: &str) {
        let next = self.words.len() as u32;
        let code = match self.index.get(word) {
            Some(&code) => code,
            None => {
                self.index.insert(word.to_string(), next);
                self.words.push(word.to_string());
                next
            }
        };
        self.codes.push(code);
    }
}

/// A named column; where `valid` is given, rows that are false there have no value.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name, with the unit as its last word.
    pub name: String,
    /// Values; arbitrary but deterministic where not valid.
    pub values: Values,
    /// Which rows have a value; `None` = all.
    pub valid: Option<Vec<bool>>,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Name: the file name without ending.
    pub name: &'static str,
    /// Columns of equal length.
    pub columns: Vec<Column>,
}

impl Values {
    /// Rows.
    pub fn len(&self) -> usize {
        match self {
            Values::U32(v) => v.len(),
            Values::U64(v) => v.len(),
            Values::F64(v) => v.len(),
            Values::Bool(v) => v.len(),
            Values::Words(w) => w.codes.len(),
        }
    }
    /// No rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Table {
    /// Rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.values.len())
    }

    /// SHA-256 over names, types, values (little endian) and gaps, in column order: equal content gives equal hashes
    /// on every machine and with every version of the file format.
    pub fn hash(&self) -> String {
        let mut h = Sha256::new();
        for c in &self.columns {
            text(&mut h, &c.name);
            let has = |row: usize| c.valid.as_ref().is_none_or(|v| v[row]);
            h.update((c.values.len() as u64).to_le_bytes());
            hash_values(&mut h, &c.values, has);
            if let Some(valid) = &c.valid {
                // Gaps that are not there hash as a column without gaps.
                if valid.contains(&false) {
                    h.update(valid.iter().map(|&v| u8::from(v)).collect::<Vec<_>>());
                }
            }
        }
        h.finalize().iter().fold(String::new(), |mut s, b| {
            let _ = write!(s, "{b:02x}");
            s
        })
    }
}

fn text(h: &mut Sha256, s: &str) {
    h.update((s.len() as u64).to_le_bytes());
    h.update(s.as_bytes());
}

fn hash_values(h: &mut Sha256, values: &Values, has: impl Fn(usize) -> bool) {
    match values {
        Values::U32(v) => {
            h.update(b"u32");
            v.iter().enumerate().for_each(|(i, x)| h.update(if has(i) { *x } else { 0 }.to_le_bytes()));
        }
        Values::U64(v) => {
            h.update(b"u64");
            v.iter().enumerate().for_each(|(i, x)| h.update(if has(i) { *x } else { 0 }.to_le_bytes()));
        }
        Values::F64(v) => {
            h.update(b"f64");
            // One bit pattern for all NaNs: they differ between processors.
            let bits = |x: f64| if x.is_nan() { f64::NAN.to_bits() & (u64::MAX >> 1) } else { x.to_bits() };
            v.iter().enumerate().for_each(|(i, x)| h.update(if has(i) { bits(*x) } else { 0 }.to_le_bytes()));
        }
        Values::Bool(v) => {
            h.update(b"bool");
            v.iter().for_each(|x| h.update([u8::from(*x)]));
        }
        Values::Words(w) => {
            h.update(b"words");
            w.codes.iter().enumerate().for_each(|(i, &c)| {
                text(h, if has(i) { &w.words[c as usize] } else { "" });
            });
        }
    }
}

/// Something a column can hold.
pub trait Cell: Sized {
    /// What collects such cells.
    type Builder: Default + Clone + std::fmt::Debug;
    /// Appends it.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn table(values: Values, valid: Option<Vec<bool>>) -> Table {
        Table { name: "t", columns: vec![Column { name: "x".into(), values, valid }] }
    }

    #[test]
    fn equal_content_gives_equal_hashes() {
        let a = table(Values::U64(vec![1, 2, 3]), None);
        assert_eq!(a.hash(), table(Values::U64(vec![1, 2, 3]), Some(vec![true; 3])).hash());
        assert_ne!(a.hash(), table(Values::U64(vec![1, 2, 4]), None).hash());
        assert_ne!(a.hash(), table(Values::U32(vec![1, 2, 3]), None).hash());
    }

    #[test]
    fn what_stands_in_a_gap_does_not_matter_but_the_gap_does() {
        let gap = Some(vec![true, false]);
        let a = table(Values::F64(vec![1.0, 7.0]), gap.clone());
        assert_eq!(a.hash(), table(Values::F64(vec![1.0, 9.0]), gap).hash());
        assert_ne!(a.hash(), table(Values::F64(vec![1.0, 0.0]), None).hash());
    }

    #[test]
    fn the_order_in_which_words_first_appear_does_not_matter() {
        let words = |list: &[&str]| {
            let mut w = Words::default();
            list.iter().for_each(|x| w.push(x));
            w
        };
        let mut reordered = words(&["b", "a", "b"]);
        reordered.codes.remove(0);
        assert_eq!(
            table(Values::Words(words(&["a", "b"])), None).hash(),
            table(Values::Words(reordered), None).hash()
        );
    }

    #[test]
    fn the_hash_is_the_same_on_every_machine() {
        // SHA-256 of: length 1, "x", 1 row, "u32", 1 (all little endian).
        let golden = "cefa94fdbb19f4f12c243a340e25dc0d9f1a6962b0496296262bb05860aa3fd0";
        assert_eq!(table(Values::U32(vec![1]), None).hash(), golden);
    }
}
