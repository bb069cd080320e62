// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parameters: one table for each congestion control, queue discipline or transport, and the values
//! selected by a scenario.

use crate::{parse_size, parse_time, Nanos, Size};
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Value of a parameter. In scenario files: a boolean, a number, or a text (choices, and times such
/// as `"200 ms"`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// On or off.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A real number.
    Float(f64),
    /// One of the allowed words, or a quantity with its unit.
    Text(String),
}

impl std::fmt::Display for Value {
    /// Formatted as in a scenario file.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Bool(v) => v.fmt(f),
            Value::Int(v) => v.fmt(f),
            Value::Float(v) => v.fmt(f),
            Value::Text(v) => write!(f, "{v:?}"),
        }
    }
}

/// Allowed values of a parameter, with its default.
#[derive(Clone, Copy, Debug)]
pub enum Domain {
    /// On or off.
    Bool(bool),
    /// An integer within `min..=max`.
    Int {
        /// Default.
        default: i64,
        /// Minimum.
        min: i64,
        /// Maximum.
        max: i64,
    },
    /// A finite number within `min..=max`.
    Float {
        /// Default.
        default: f64,
        /// Minimum.
        min: f64,
        /// Maximum.
        max: f64,
    },
    /// A time within `min..=max`.
    Time {
        /// Default.
        default: Nanos,
        /// Minimum.
        min: Nanos,
        /// Maximum.
        max: Nanos,
    },
    /// An amount of data above zero, written like `"64 kB"`; if absent, a fraction of a total that
    /// the host determines.
    Data {
        /// Default, as a fraction of the total.
        share: f64,
        /// The total, as text.
        of: &'static str,
    },
    /// One of these words; the first is the default.
    Choice(&'static [&'static str]),
}

const YEAR: Nanos = Nanos::from_secs(31_557_600);

/// An upper bound as text; long ones in complete years.
fn bound(max: Nanos) -> String {
    match max.0 / YEAR.0 {
        0 => max.to_string(),
        years => format!("{years} years"),
    }
}

/// A row of a parameter table.
#[derive(Clone, Copy, Debug)]
pub struct ParamSpec {
    /// Name in scenario files.
    pub name: &'static str,
    /// Allowed values and default.
    pub domain: Domain,
    /// Unit as text ("", "fraction", "segments", …); empty for times, which include theirs.
    pub unit: &'static str,
    /// Source of the default.
    pub source: &'static str,
    /// Effect, one line.
    pub help: &'static str,
}

/// A file required by a scheme. This crate does no I/O: the host reads the file and calls
/// [`Params::attach`].
#[derive(Clone, Copy, Debug)]
pub struct FileSpec {
    /// Name in scenario files. Its value is a path.
    pub name: &'static str,
    /// Purpose, one line.
    pub help: &'static str,
    /// Parses its text; the result is shared by all connections.
    pub parse: fn(&str) -> Result<Arc<dyn Any + Send + Sync>, String>,
}

/// Table of a scheme that extends the table of its base scheme; `N` is the length of both together.
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
    /// The default as a value; as text for [`Domain::Data`].
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
            Domain::Int { min, max, .. } => format!("an integer from {min} to {max}"),
            Domain::Float { min, max, .. } => format!("a number from {min} to {max}"),
            Domain::Time { min, max, .. } => {
                format!("a time from {min} to {}, such as \"50 ms\"", bound(max))
            }
            Domain::Data { .. } => {
                "an amount of data above zero with its unit (B, kB, MB, GB, KiB, MiB, GiB), such as \"64 kB\""
                    .into()
            }
            Domain::Choice(words) => format!("one of {}", words.join(", ")),
        }
    }

    /// Whether the value is allowed.
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

/// Reason why parameters were rejected.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamError {
    /// Unknown parameter name.
    Unknown {
        /// Name as given.
        name: String,
        /// Known names.
        known: Vec<&'static str>,
    },
    /// The value is outside the domain.
    Value {
        /// Parameter.
        name: String,
        /// Value as given.
        found: Value,
        /// Allowed values.
        allowed: String,
    },
}

impl std::fmt::Display for ParamError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ParamError::Unknown { name, known } if known.is_empty() => {
                write!(f, "unknown parameter {name:?}; there are no parameters")
            }
            ParamError::Unknown { name, known } => {
                write!(f, "unknown parameter {name:?}; allowed: {}", known.join(", "))
            }
            ParamError::Value { name, found, allowed } => {
                write!(f, "{name} = {found} is invalid; expected {allowed}")
            }
        }
    }
}
impl std::error::Error for ParamError {}

/// Reason why a file was rejected.
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

/// Parameters, checked against their table; those not given have their defaults.
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

    /// All parameters with their defaults.
    pub fn defaults(table: &'static [ParamSpec]) -> Self {
        Params { table, given: BTreeMap::new(), files: BTreeMap::new() }
    }

    /// Adds the content of a file required by the scheme.
    ///
    /// # Errors
    /// If the scheme requires no file with that name, or its content is invalid.
    pub fn attach(&mut self, wanted: &'static [FileSpec], name: &str, text: &str) -> Result<(), FileError> {
        let refused = |reason| FileError { name: name.to_string(), reason };
        let spec = wanted.iter().find(|f| f.name == name);
        let spec = spec.ok_or_else(|| refused("the congestion control has no such file".into()))?;
        let content = (spec.parse)(text).map_err(refused)?;
        self.files.insert(spec.name, content);
        Ok(())
    }

    /// Parsed content of a file, if the host attached it.
    pub fn file<T: Any + Send + Sync>(&self, name: &str) -> Option<Arc<T>> {
        self.files.get(name).cloned()?.downcast().ok()
    }

    /// Whether the host attached a file with that name.
    pub fn has_file(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Whether `name` was given explicitly.
    pub fn is_given(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// Replaces defaults by those of a named profile; explicitly given values are kept.
    pub fn with_profile(mut self, profile: &[(&'static str, Value)]) -> Self {
        for (name, value) in profile {
            debug_assert!(self.table.iter().any(|s| s.name == *name && s.domain.admits(value)), "{name}");
            self.given.entry((*name).to_string()).or_insert_with(|| value.clone());
        }
        self
    }

    /// All parameters with their resolved values, in table order (for manifests).
    pub fn resolved(&self) -> Vec<(&'static str, Value)> {
        self.table.iter().map(|s| (s.name, self.get(s.name))).collect()
    }

    /// The same, if the total of each [`Domain::Data`] is known to be `whole` bytes.
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

    /// Value of a boolean parameter.
    pub fn bool(&self, name: &str) -> bool {
        matches!(self.get(name), Value::Bool(true))
    }
    /// Value of an integer parameter.
    pub fn int(&self, name: &str) -> i64 {
        match self.get(name) {
            Value::Int(i) => i,
            v => panic!("{name} = {v:?} is not a whole number"),
        }
    }
    /// Value of a real parameter.
    pub fn float(&self, name: &str) -> f64 {
        match self.get(name) {
            Value::Float(f) => f,
            Value::Int(i) => i as f64,
            v => panic!("{name} = {v:?} is not a number"),
        }
    }
    /// Value of a time parameter.
    pub fn time(&self, name: &str) -> Nanos {
        match self.get(name) {
            Value::Text(t) => parse_time(&t).expect("checked when the parameters were made"),
            v => panic!("{name} = {v:?} is not a time"),
        }
    }
    /// Amount of data in bytes; if not given, its fraction of a total of `whole` bytes.
    pub fn data(&self, name: &str, whole: u64) -> u64 {
        match (self.given.get(name), self.spec(name).domain) {
            (Some(Value::Text(t)), _) => data(t).expect("checked when the parameters were made"),
            (_, Domain::Data { share, .. }) => (share * whole as f64) as u64,
            (v, _) => panic!("{name} = {v:?} is not an amount of data"),
        }
    }
    /// Value of a choice parameter.
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
            unit: "",
            source: "test",
            help: "",
        },
    ];

    #[test]
    fn long_bounds_are_in_years() {
        let allowed = |max| Domain::Time { default: Nanos::ZERO, min: Nanos::ZERO, max }.allowed();
        assert_eq!(allowed(Nanos::from_secs(9)), "a time from 0 ns to 9 s, such as \"50 ms\"");
        assert_eq!(allowed(Nanos::from_secs(1 << 30)), "a time from 0 ns to 34 years, such as \"50 ms\"");
    }

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
