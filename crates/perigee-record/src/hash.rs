// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hashes of the contents of tables. Equal contents have equal hashes on every machine, with every
//! version of the file format, and however the rows are split into batches.
//!
//! Format 2, [`TableHasher`]: each column has two SHA-256 states. One receives the values that are
//! present, little endian, words preceded by their length; the other receives the gaps, each as the
//! number of its first row and of the next row with a value. The hash of the table is SHA-256 over
//! the number of rows and, ordered by name, each column's name, type, number of gaps and two
//! digests. A column first seen in a later batch starts with a gap.
//!
//! Format 1, [`format_1`]: one SHA-256 over complete columns in sequence, so that the table must be
//! in memory.

use crate::table::{Column, Table, Values, Words};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

/// Hash (format 2) of a table that is passed in batches of rows.
#[derive(Clone, Default)]
pub struct TableHasher {
    rows: u64,
    columns: BTreeMap<String, ColumnHasher>,
    bytes: Vec<u8>,
}

impl TableHasher {
    /// Number of rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Appends rows. A column that is missing in them, or has another type than before, gets a gap.
    pub fn update(&mut self, rows: &Table) {
        let more = rows.rows() as u64;
        for column in &rows.columns {
            let kind = column.values.kind();
            if !self.columns.contains_key(&column.name) {
                let mut new = ColumnHasher::new(kind);
                new.skip(self.rows);
                self.columns.insert(column.name.clone(), new);
            }
            if let Some(hasher) = self.columns.get_mut(&column.name).filter(|c| c.kind == kind) {
                hasher.update(column, &mut self.bytes);
            }
        }
        self.rows += more;
        for hasher in self.columns.values_mut() {
            hasher.skip(self.rows - hasher.rows);
        }
    }

    /// The hash of all rows, as 64 hexadecimal digits.
    pub fn finish(self) -> String {
        let mut h = Sha256::new();
        h.update(b"perigee table 2");
        h.update(self.rows.to_le_bytes());
        for (name, mut column) in self.columns {
            column.close_gap();
            text(&mut h, &name);
            text(&mut h, column.kind);
            h.update(column.gaps.to_le_bytes());
            h.update(column.values.finalize());
            h.update(column.gap_bounds.finalize());
        }
        hexadecimal(h)
    }
}

#[derive(Clone)]
struct ColumnHasher {
    kind: &'static str,
    rows: u64,
    /// Number of rows without a value.
    gaps: u64,
    /// First row of the current gap.
    gap: Option<u64>,
    values: Sha256,
    gap_bounds: Sha256,
}

impl ColumnHasher {
    fn new(kind: &'static str) -> Self {
        ColumnHasher { kind, rows: 0, gaps: 0, gap: None, values: Sha256::new(), gap_bounds: Sha256::new() }
    }

    fn update(&mut self, column: &Column, bytes: &mut Vec<u8>) {
        let Some(valid) = &column.valid else {
            return self.take(&column.values, 0..column.values.len(), bytes);
        };
        let mut at = 0;
        for run in valid.chunk_by(|a, b| a == b) {
            if run[0] {
                self.take(&column.values, at..at + run.len(), bytes);
            } else {
                self.skip(run.len() as u64);
            }
            at += run.len();
        }
    }

    /// Appends rows with values.
    fn take(&mut self, values: &Values, rows: Range<usize>, bytes: &mut Vec<u8>) {
        if rows.is_empty() {
            return;
        }
        self.close_gap();
        self.rows += rows.len() as u64;
        bytes.clear();
        match values {
            Values::U32(v) => v[rows].iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes())),
            Values::U64(v) => v[rows].iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes())),
            Values::F64(v) => v[rows].iter().for_each(|x| bytes.extend_from_slice(&bits(*x).to_le_bytes())),
            Values::Bool(v) => bytes.extend(v[rows].iter().map(|&x| u8::from(x))),
            Values::Words(w) => rows.for_each(|row| {
                let word = word(w, row);
                bytes.extend_from_slice(&(word.len() as u64).to_le_bytes());
                bytes.extend_from_slice(word.as_bytes());
            }),
        }
        self.values.update(bytes.as_slice());
    }

    /// Appends rows without values.
    fn skip(&mut self, rows: u64) {
        if rows > 0 {
            self.gap.get_or_insert(self.rows);
            self.rows += rows;
            self.gaps += rows;
        }
    }

    fn close_gap(&mut self) {
        if let Some(first) = self.gap.take() {
            self.gap_bounds.update(first.to_le_bytes());
            self.gap_bounds.update(self.rows.to_le_bytes());
        }
    }
}

/// Hash of a table as in records of format 1: over names, types, values (little endian) and gaps, in
/// the order of the columns.
///
/// Format 1 stored a missing value as NaN in scheme-specific columns and as 0 in a few others; a
/// table of format 2 gets the hash that it would have in format 1.
pub fn format_1(table: &Table) -> String {
    let mut h = Sha256::new();
    for c in &table.columns {
        let gap = gap_of_format_1(c);
        let valid = c.valid.as_ref().filter(|_| gap.is_none());
        let has = |row: usize| c.valid.as_ref().is_none_or(|v| v[row]);
        text(&mut h, &c.name);
        h.update((c.values.len() as u64).to_le_bytes());
        values_of_format_1(&mut h, &c.values, has, gap.unwrap_or(0.0));
        // A validity mask without gaps hashes like no mask.
        if let Some(valid) = valid.filter(|v| v.contains(&false)) {
            h.update(valid.iter().map(|&v| u8::from(v)).collect::<Vec<_>>());
        }
    }
    hexadecimal(h)
}

/// Columns in which format 1 stores 0 for a missing value.
const ZERO_IN_FORMAT_1: [&str; 3] = ["cwnd_bytes", "in_flight_bytes", "delivery_rate_bps"];

/// Placeholder of format 1 for missing values in a column; `None` = it has a validity mask.
fn gap_of_format_1(column: &Column) -> Option<f64> {
    match column.values {
        Values::F64(_) if column.name.starts_with("cc_") => Some(f64::NAN),
        Values::U64(_) if ZERO_IN_FORMAT_1.contains(&column.name.as_str()) => Some(0.0),
        _ => None,
    }
}

fn values_of_format_1(h: &mut Sha256, values: &Values, has: impl Fn(usize) -> bool, gap: f64) {
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
            let value = |i: usize| if has(i) { v[i] } else { gap };
            (0..v.len()).for_each(|i| h.update(bits(value(i)).to_le_bytes()));
        }
        Values::Bool(v) => {
            h.update(b"bool");
            v.iter().for_each(|x| h.update([u8::from(*x)]));
        }
        Values::Words(w) => {
            h.update(b"words");
            (0..w.codes.len()).for_each(|i| text(h, if has(i) { word(w, i) } else { "" }));
        }
    }
}

/// Bits of a value, with one pattern for all NaNs, since processors produce different ones.
fn bits(x: f64) -> u64 {
    if x.is_nan() {
        f64::NAN.to_bits() & (u64::MAX >> 1)
    } else {
        x.to_bits()
    }
}

fn word(w: &Words, row: usize) -> &str {
    &w.words[w.codes[row] as usize]
}

fn text(h: &mut Sha256, s: &str) {
    h.update((s.len() as u64).to_le_bytes());
    h.update(s.as_bytes());
}

fn hexadecimal(h: Sha256) -> String {
    h.finalize().iter().fold(String::new(), |mut s, b| {
        let _ = write!(s, "{b:02x}");
        s
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, values: Values, valid: Option<Vec<bool>>) -> Column {
        Column { name: name.into(), values, valid }
    }

    fn table(values: Values, valid: Option<Vec<bool>>) -> Table {
        Table { name: "t", columns: vec![column("x", values, valid)] }
    }

    fn words(list: &[&str]) -> Words {
        let mut w = Words::default();
        list.iter().for_each(|x| w.push(x));
        w
    }

    fn format_2(batches: &[Table]) -> String {
        let mut h = TableHasher::default();
        batches.iter().for_each(|b| h.update(b));
        h.finish()
    }

    fn both(t: &Table) -> [String; 2] {
        [format_1(t), format_2(std::slice::from_ref(t))]
    }

    /// Two tables that must have different hashes in both formats.
    fn differ(a: &Table, b: &Table) {
        let (a, b) = (both(a), both(b));
        assert_ne!(a[0], b[0], "format 1");
        assert_ne!(a[1], b[1], "format 2");
    }

    #[test]
    fn equal_content_gives_equal_hashes() {
        let a = table(Values::U64(vec![1, 2, 3]), None);
        assert_eq!(both(&a), both(&table(Values::U64(vec![1, 2, 3]), Some(vec![true; 3]))));
        differ(&a, &table(Values::U64(vec![1, 2, 4]), None));
        differ(&a, &table(Values::U32(vec![1, 2, 3]), None));
        differ(&a, &table(Values::U64(vec![1, 2]), None));
    }

    #[test]
    fn gaps_are_hashed_without_the_values_in_them() {
        let gap = Some(vec![true, false]);
        let a = table(Values::F64(vec![1.0, 7.0]), gap.clone());
        assert_eq!(both(&a), both(&table(Values::F64(vec![1.0, 9.0]), gap)));
        differ(&a, &table(Values::F64(vec![1.0, 0.0]), None));
        differ(&a, &table(Values::F64(vec![1.0, 7.0]), Some(vec![false, true])));
    }

    #[test]
    fn the_boundaries_between_words_are_hashed() {
        differ(
            &table(Values::Words(words(&["ab", "c"])), None),
            &table(Values::Words(words(&["a", "bc"])), None),
        );
    }

    #[test]
    fn the_order_in_which_words_first_appear_does_not_matter() {
        let mut reordered = words(&["b", "a", "b"]);
        reordered.codes.remove(0);
        assert_eq!(
            both(&table(Values::Words(words(&["a", "b"])), None)),
            both(&table(Values::Words(reordered), None))
        );
    }

    /// Rows `from..to` of a table of all types, with gaps.
    fn part(from: usize, to: usize) -> Table {
        let valid = [true, false, false, true, false, true];
        let float = [0.5, f64::NAN, -0.0, 0.0, 3.0, -f64::NAN];
        let columns = vec![
            column("a", Values::U64((from as u64..to as u64).collect()), Some(valid[from..to].to_vec())),
            column("c", Values::F64(float[from..to].to_vec()), None),
            column("b", Values::Words(words(&["x", "", "x", "yy", "", "x"][from..to])), None),
            column("d", Values::Bool(valid[from..to].to_vec()), None),
        ];
        Table { name: "t", columns }
    }

    #[test]
    fn batches_do_not_matter() {
        let whole = format_2(&[part(0, 6)]);
        for a in 0..=6 {
            for b in a..=6 {
                assert_eq!(format_2(&[part(0, a), part(a, b), part(b, 6)]), whole, "cut at {a} and {b}");
            }
        }
    }

    #[test]
    fn a_column_that_is_missing_in_a_batch_has_gaps() {
        let t = |columns| Table { name: "t", columns };
        let (a, x) = (|v| column("a", Values::U64(v), None), |v, g| column("x", Values::F64(v), g));
        let gaps = Some(vec![false, false, true, false]);
        let whole = format_2(&[t(vec![a(vec![1, 2, 3, 4]), x(vec![0.0, 0.0, 0.5, 0.0], gaps)])]);
        let cut = [t(vec![a(vec![1, 2])]), t(vec![x(vec![0.5], None), a(vec![3])]), t(vec![a(vec![4])])];
        assert_eq!(format_2(&cut), whole);
        assert_ne!(format_2(&[t(vec![a(vec![1, 2, 3, 4])])]), whole);
    }

    #[test]
    fn the_order_of_columns_matters_in_format_1_only() {
        let mut turned = part(0, 6);
        turned.columns.reverse();
        assert_eq!(format_2(&[turned.clone()]), format_2(&[part(0, 6)]));
        assert_ne!(format_1(&turned), format_1(&part(0, 6)));
    }

    #[test]
    fn placeholders_of_format_1_and_gaps_of_format_2_have_equal_hashes_of_format_1() {
        let gap = || Some(vec![true, false]);
        let old = [
            column("cwnd_bytes", Values::U64(vec![5, 0]), None),
            column("delivery_rate_bps", Values::U64(vec![5, 0]), None),
            column("cc_u", Values::F64(vec![0.5, f64::NAN]), None),
        ];
        let new = [
            column("cwnd_bytes", Values::U64(vec![5, 7]), gap()),
            column("delivery_rate_bps", Values::U64(vec![5, 7]), gap()),
            column("cc_u", Values::F64(vec![0.5, 7.0]), gap()),
        ];
        let [old, new] = [old, new].map(|c| Table { name: "flows", columns: c.into() });
        assert_eq!(format_1(&old), format_1(&new));
        assert_ne!(format_2(&[old]), format_2(&[new]));
    }

    #[test]
    fn the_hash_is_the_same_on_every_machine() {
        let one = table(Values::U32(vec![1]), None);
        // SHA-256 of: length 1, "x", 1 row, "u32", 1 (all little endian).
        let golden = "cefa94fdbb19f4f12c243a340e25dc0d9f1a6962b0496296262bb05860aa3fd0";
        assert_eq!(format_1(&one), golden);
        // Computed with Python's hashlib from the description of format 2 above.
        assert_eq!(format_2(&[one]), "8bd087240948aa7aa73afaef4564374d2adefccb3466893000537c0c9ea28e56");
    }
}
