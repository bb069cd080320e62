// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parameters: one table alongside each congestion control, queue discipline or transport, and the
//! values that a scenario chose.

use crate::{parse_size, parse_time, Nanos, Size};
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A parameter's value. In scenario files: a boolean, a number, or a text (choices, and times such
/// as `"200 ms"`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// On or off.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A real number.
    Float(f64),
    /// One of the allowed words, or a time with its unit.
    Text(String),
}

impl std::fmt::Display for Value {
    /// As in a scenario file.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Bool(v) => v.fmt(f),
            Value::Int(v) => v.fmt(f),
            Value::Float(v) => v.fmt(f),
            Value::Text(v) => write!(f, "{v:?}"),
        }
    }
}

/// Values that a parameter may take, with its default.
#[derive(Clone, Copy, Debug)]
pub enum Domain {
    /// On or off.
    Bool(bool),
    /// A whole number within `min..=max`.
    Int {
        /// Default.
        default: i64,
        /// Smallest allowed.
        min: i64,
        /// Largest allowed.
        max: i64,
    },
    /// A finite number within `min..=max`.
    Float {
        /// Default.
        default: f64,
        /// Smallest allowed.
        min: f64,
        /// Largest allowed.
        max: f64,
    },
    /// A time within `min..=max`.
    Time {
        /// Default.
        default: Nanos,
        /// Smallest allowed.
        min: Nanos,
        /// Largest allowed.
        max: Nanos,
    },
    /// An amount of data above zero, written like `"64 kB"`; without it, a share of a total that
    /// the host knows.
    Data {
        /// Share of the total that is the default.
        share: f64,
        /// The total, as text.
        of: &'static str,
    },
    /// One of these words; the first is the default.
    Choice(&'static [&'static str]),
}

/// One row of a parameter table.
#[derive(Clone, Copy, Debug)]
pub struct ParamSpec {
    /// Name in scenario files.
    pub name: &'static str,
    /// Allowed values and default.
    pub domain: Domain,
    /// Unit as text ("", "fraction", "segments", …).
    pub unit: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
    /// Effect, one line.
    pub help: &'static str,
}

/// A file that a scheme wants. This crate does no I/O: the host reads it and calls
/// [`Params::attach`].
#[derive(Clone, Copy, Debug)]
pub struct FileSpec {
    /// Name in scenario files, where the value is a path.
    pub name: &'static str,
    /// Purpose, one line.
    pub help: &'static str,
    /// Reads its text; the result is shared by all connections.
    pub parse: fn(&str) -> Result<Arc<dyn Any + Send + Sync>, String>,
}

/// A scheme's table that continues the table of the scheme that it builds on; `N` is the length of
/// both.
pub const fn joined<const N: usize>(base: &[ParamSpec], own: &[ParamSpec]) -> [ParamSpec; N] {
    assert!(N == base.len() + own.len() && !own.is_empty());
    let mut all = [own[0]; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < base.len() { base[i] } else { own[i - base.len()] };
        i += 1;
    }
    all
}

impl Domain {
    /// The default as a value; of [`Domain::Data`] as text.
    pub fn default_value(&self) -> Value {
        match *self {
            Domain::Bool(b) => Value::Bool(b),
            Domain::Int { default, .. } => Value::Int(default),
            Domain::Float { default, .. } => Value::Float(default),
            Domain::Time { default, .. } => Value::Text(default.to_string()),
            Domain::Data { share: 1.0, of } => Value::Text(of.into()),
            Domain::Data { share, of } => Value::Text(format!("{share} of {of}")),
            Domain::Choice(words) => Value::Text(words[0].to_string()),
        }
    }

    /// Allowed values as text.
    pub fn allowed(&self) -> String {
        match *self {
            Domain::Bool(_) => "true or false".into(),
            Domain::Int { min, max, .. } => format!("a whole number from {min} to {max}"),
            Domain::Float { min, max, .. } => format!("a number from {min} to {max}"),
            Domain::Time { min, max, .. } => format!("a time from {min} to {max}, written like \"50 ms\""),
            Domain::Data { .. } => "an amount of data above zero, written like \"64 kB\"".into(),
            Domain::Choice(words) => format!("one of {}", words.join(", ")),
        }
    }

    /// The value is one of the allowed ones.
    pub fn admits(&self, v: &Value) -> bool {
        match (*self, v) {
            (Domain::Bool(_), Value::Bool(_)) => true,
            (Domain::Int { min, max, .. }, Value::Int(i)) => (min..=max).contains(i),
            (Domain::Float { min, max, .. }, Value::Float(f)) => f.is_finite() && (min..=max).contains(f),
            (Domain::Float { min, max, .. }, Value::Int(i)) => (min..=max).contains(&(*i as f64)),
            (Domain::Time { min, max, .. }, Value::Text(t)) => {
                parse_time(t).is_ok_and(|t| (min..=max).contains(&t))
            }
            (Domain::Data { .. }, Value::Text(t)) => data(t).is_some(),
            (Domain::Choice(words), Value::Text(t)) => words.contains(&t.as_str()),
            _ => false,
        }
    }
}

/// An amount of data in bytes, above zero.
fn data(text: &str) -> Option<u64> {
    match parse_size(text) {
        Ok(Size::Bytes(b)) if b > 0 => Some(b),
        _ => None,
    }
}

/// Why parameters were rejected.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamError {
    /// No parameter of that name; the known names follow.
    Unknown {
        /// Given name.
        name: String,
        /// Existing names.
        known: Vec<&'static str>,
    },
    /// The value is outside the domain.
    Value {
        /// Parameter.
        name: String,
        /// Given value.
        found: Value,
        /// Allowed values.
        allowed: String,
    },
}

impl std::fmt::Display for ParamError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ParamError::Unknown { name, known } if known.is_empty() => {
                write!(f, "unknown parameter {name:?}: there are none")
            }
            ParamError::Unknown { name, known } => {
                write!(f, "unknown parameter {name:?}; known: {}", known.join(", "))
            }
            ParamError::Value { name, found, allowed } => {
                write!(f, "{name} = {found} is not allowed: expected {allowed}")
            }
        }
    }
}
impl std::error::Error for ParamError {}

/// Why a file was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// Name of its parameter.
    pub name: String,
    /// Cause of the rejection.
    pub reason: String,
}

impl std::fmt::Display for FileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.name, self.reason)
    }
}
impl std::error::Error for FileError {}

/// Parameters, checked against their table; anything not given has its default.
#[derive(Clone, Debug)]
pub struct Params {
    table: &'static [ParamSpec],
    given: BTreeMap<String, Value>,
    files: BTreeMap<&'static str, Arc<dyn Any + Send + Sync>>,
}

impl Params {
    /// Checks `given` against `table`.
    ///
    /// # Errors
    /// An unknown name, or a value of the wrong type or outside its range.
    pub fn new(table: &'static [ParamSpec], given: BTreeMap<String, Value>) -> Result<Self, ParamError> {
        for (name, value) in &given {
            let Some(spec) = table.iter().find(|s| s.name == name) else {
                return Err(ParamError::Unknown {
                    name: name.clone(),
                    known: table.iter().map(|s| s.name).collect(),
                });
            };
            if !spec.domain.admits(value) {
                return Err(ParamError::Value {
                    name: name.clone(),
                    found: value.clone(),
                    allowed: spec.domain.allowed(),
                });
            }
        }
        Ok(Params { table, given, files: BTreeMap::new() })
    }

    /// Every parameter at its default.
    pub fn defaults(table: &'static [ParamSpec]) -> Self {
        Params { table, given: BTreeMap::new(), files: BTreeMap::new() }
    }

    /// Adds the content of a file that the scheme wants.
    ///
    /// # Errors
    /// The scheme wants no file of that name, or its content is invalid.
    pub fn attach(&mut self, wanted: &'static [FileSpec], name: &str, text: &str) -> Result<(), FileError> {
        let refused = |reason| FileError { name: name.to_string(), reason };
        let spec = wanted.iter().find(|f| f.name == name);
        let spec = spec.ok_or_else(|| refused("the scheme reads no such file".into()))?;
        let content = (spec.parse)(text).map_err(refused)?;
        self.files.insert(spec.name, content);
        Ok(())
    }

    /// Contents of a file, if the host attached it.
    pub fn file<T: Any + Send + Sync>(&self, name: &str) -> Option<Arc<T>> {
        self.files.get(name).cloned()?.downcast().ok()
    }

    /// The host attached a file of that name.
    pub fn has_file(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Was `name` given explicitly?
    pub fn is_given(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// Replaces defaults by those of a named profile; values that were given explicitly stay.
    pub fn with_profile(mut self, profile: &[(&'static str, Value)]) -> Self {
        for (name, value) in profile {
            debug_assert!(self.table.iter().any(|s| s.name == *name && s.domain.admits(value)), "{name}");
            self.given.entry((*name).to_string()).or_insert_with(|| value.clone());
        }
        self
    }

    /// Every parameter with its resolved value, in table order (for manifests).
    pub fn resolved(&self) -> Vec<(&'static str, Value)> {
        self.table.iter().map(|s| (s.name, self.get(s.name))).collect()
    }

    /// The same, where the total of each [`Domain::Data`] is known to be `whole` bytes.
    pub fn resolved_of(&self, whole: u64) -> Vec<(&'static str, Value)> {
        let value = |s: &ParamSpec| match s.domain {
            Domain::Data { .. } => Value::Text(format!("{} B", self.data(s.name, whole))),
            _ => self.get(s.name),
        };
        self.table.iter().map(|s| (s.name, value(s))).collect()
    }

    fn spec(&self, name: &str) -> &'static ParamSpec {
        let spec = self.table.iter().find(|s| s.name == name);
        spec.unwrap_or_else(|| panic!("parameter {name} is not in the table"))
    }

    fn get(&self, name: &str) -> Value {
        let spec = self.spec(name);
        self.given.get(name).cloned().unwrap_or_else(|| spec.domain.default_value())
    }

    /// A boolean parameter of the table.
    pub fn bool(&self, name: &str) -> bool {
        matches!(self.get(name), Value::Bool(true))
    }
    /// A whole number of the table.
    pub fn int(&self, name: &str) -> i64 {
        match self.get(name) {
            Value::Int(i) => i,
            v => panic!("{name} = {v:?} is not a whole number"),
        }
    }
    /// A number of the table.
    pub fn float(&self, name: &str) -> f64 {
        match self.get(name) {
            Value::Float(f) => f,
            Value::Int(i) => i as f64,
            v => panic!("{name} = {v:?} is not a number"),
        }
    }
    /// A time of the table.
    pub fn time(&self, name: &str) -> Nanos {
        match self.get(name) {
            Value::Text(t) => parse_time(&t).expect("checked when the parameters were made"),
            v => panic!("{name} = {v:?} is not a time"),
        }
    }
    /// An amount of data in bytes; not given, its share of a total of `whole` bytes.
    pub fn data(&self, name: &str, whole: u64) -> u64 {
        match (self.given.get(name), self.spec(name).domain) {
            (Some(Value::Text(t)), _) => data(t).expect("checked when the parameters were made"),
            (_, Domain::Data { share, .. }) => (share * whole as f64) as u64,
            (v, _) => panic!("{name} = {v:?} is not an amount of data"),
        }
    }
    /// A word of the table.
    pub fn choice(&self, name: &str) -> String {
        match self.get(name) {
            Value::Text(t) => t,
            v => panic!("{name} = {v:?} is not a word"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[ParamSpec] = &[
        ParamSpec {
            name: "beta",
            domain: Domain::Float { default: 0.7, min: 0.1, max: 0.99 },
            unit: "fraction",
            source: "RFC 9438",
            help: "decrease factor",
        },
        ParamSpec {
            name: "probe",
            domain: Domain::Time {
                default: Nanos::from_millis(200),
                min: Nanos(1),
                max: Nanos::from_secs(9),
            },
            unit: "time",
            source: "test",
            help: "",
        },
    ];

    fn given(name: &str, v: Value) -> BTreeMap<String, Value> {
        BTreeMap::from([(name.to_string(), v)])
    }

    #[test]
    fn defaults_come_from_the_table_and_given_values_win() {
        let p = Params::new(TABLE, given("beta", Value::Float(0.5))).unwrap();
        assert_eq!(p.float("beta"), 0.5);
        assert_eq!(p.time("probe"), Nanos::from_millis(200));
    }

    #[test]
    fn bad_parameters_are_refused_with_what_is_allowed() {
        assert!(matches!(Params::new(TABLE, given("bata", Value::Int(1))), Err(ParamError::Unknown { .. })));
        for bad in [Value::Float(1.5), Value::Float(f64::NAN), Value::Bool(true), Value::Text("x".into())] {
            let e = Params::new(TABLE, given("beta", bad)).unwrap_err();
            assert!(e.to_string().contains("0.1 to 0.99"), "{e}");
        }
    }

    #[test]
    fn an_amount_of_data_is_given_or_a_share_of_a_whole() {
        const DATA: &[ParamSpec] = &[ParamSpec {
            name: "from",
            domain: Domain::Data { share: 0.5, of: "the queue" },
            unit: "",
            source: "test",
            help: "",
        }];
        let none = Params::defaults(DATA);
        assert_eq!(
            (none.data("from", 3001), none.resolved()[0].1.to_string()),
            (1500, "\"0.5 of the queue\"".into())
        );
        assert_eq!(none.resolved_of(3001), [("from", Value::Text("1500 B".into()))]);
        let some = Params::new(DATA, given("from", Value::Text("64 kB".into()))).unwrap();
        assert_eq!(some.data("from", 3001), 64_000);
        for bad in [Value::Int(5), Value::Text("0 B".into()), Value::Text("3 packets".into())] {
            assert!(Params::new(DATA, given("from", bad)).is_err());
        }
    }

    #[test]
    fn a_profile_changes_defaults_only() {
        let p = Params::new(TABLE, given("beta", Value::Float(0.5))).unwrap();
        let p = p.with_profile(&[("beta", Value::Float(0.8)), ("probe", Value::Text("1 s".into()))]);
        assert_eq!((p.float("beta"), p.time("probe")), (0.5, Nanos::from_secs(1)));
    }
}
