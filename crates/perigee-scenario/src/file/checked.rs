// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A section whose keys and values are all valid, and which of its keys have no effect.

use crate::file::error::{Place, Problem};
use crate::file::grammar::{quoted, Content, Key, Only, Section, A_FUNCTION};
use crate::file::kind::{function, Draw, Val};
pub use crate::file::tree::{Axis, Given};
use crate::file::tree::{Entry, Table};
use perigee_timeline::Law;
use perigee_units::{BitRate, Nanos, Size};
use std::collections::BTreeMap;

/// What was found behind a key.
#[derive(Clone, Debug)]
pub enum Part {
    /// A value within its bounds.
    Value(Val),
    /// A section.
    One(Checked),
    /// Sections by name, in file order.
    Named(Vec<(String, Checked)>),
    /// A list of sections.
    List(Vec<Checked>),
    /// Parameters, checked against their table.
    Params(Given),
    /// Parameters by scheme.
    ByScheme(BTreeMap<String, Given>),
    /// Keys that are swept, in file order.
    Sweep(Vec<Axis>),
    /// Transport options, and those by scheme.
    Tcp(Given, BTreeMap<String, Given>),
}

/// A section whose keys and values are all valid.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Where it starts.
    pub place: Place,
    /// Dotted key.
    pub path: String,
    section: &'static Section,
    kind: Option<&'static Section>,
    pub(crate) parts: BTreeMap<&'static str, (Part, Place)>,
    pub(crate) idle: Vec<Idle>,
}

/// A key that was written and has no effect.
#[derive(Clone, Debug)]
pub(crate) struct Idle {
    pub problem: Problem,
    /// What makes it so was written above it: in an override, or in a file that extends the one in which it stands.
    pub gives_way: bool,
}

macro_rules! getter {
    ($(#[$doc:meta])* $name:ident, $optional:ident, $variant:ident, $ty:ty) => {
        $(#[$doc])*
        pub fn $name(&self, key: &str) -> $ty {
            self.$optional(key).unwrap_or_else(|| panic!("{}.{key} has no default in the grammar", self.path))
        }
        /// The same, where it may be absent.
        pub fn $optional(&self, key: &str) -> Option<$ty> {
            match self.value(key)? {
                Val::$variant(v) => Some(v),
                other => panic!("{}.{key} is {other:?} in the grammar", self.path),
            }
        }
    };
}

impl Checked {
    /// An absent section: every key has its default.
    pub fn absent(section: &'static Section, parent: &Checked) -> Self {
        Checked::new(section, None, &parent.place, section.name)
    }

    pub(crate) fn new(
        section: &'static Section,
        kind: Option<&'static Section>,
        place: &Place,
        path: &str,
    ) -> Self {
        let (place, path) = (place.clone(), path.into());
        Checked { place, path, section, kind, parts: BTreeMap::new(), idle: Vec::new() }
    }

    /// The name of its kind; empty where it has none.
    pub fn kind(&self) -> &'static str {
        self.kind.map_or("", |k| k.name)
    }

    fn spec(&self, key: &str) -> &'static Key {
        let own = self.kind.iter().flat_map(|k| k.keys);
        let found = self.section.keys.iter().chain(own).find(|k| k.name == key);
        found.unwrap_or_else(|| panic!("{key} is not a key of [{}] in the grammar", self.section.name))
    }

    /// The value of `key`, or its default.
    pub fn value(&self, key: &str) -> Option<Val> {
        let spec = self.spec(key);
        match (self.parts.get(key), &spec.content, spec.default) {
            (Some((Part::Value(v), _)), ..) => Some(v.clone()),
            (None, Content::Value(kind), Some(text)) => Some(kind.read_default(text)),
            _ => None,
        }
    }

    getter!(/// A boolean.
        bool, opt_bool, Bool, bool);
    getter!(/// A whole number.
        int, opt_int, Int, i64);
    getter!(/// A number.
        number, opt_number, Number, f64);
    getter!(/// A time.
        time, opt_time, Time, Nanos);
    getter!(/// A rate.
        rate, opt_rate, Rate, BitRate);
    getter!(/// A queue.
        queue, opt_queue, Queue, Size);
    getter!(/// A law of random times or amounts.
        law, opt_law, Law, Law);
    getter!(/// An amount of data.
        bytes, opt_bytes, Bytes, u64);
    getter!(/// An angle in degrees.
        degrees, opt_degrees, Degrees, f64);
    getter!(/// A length in metres.
        metres, opt_metres, Metres, f64);
    getter!(/// A text or word.
        text, opt_text, Text, String);
    getter!(/// A time that may be drawn.
        time_draw, opt_time_draw, TimeDraw, Draw<Nanos>);
    getter!(/// A rate that may be drawn.
        rate_draw, opt_rate_draw, RateDraw, Draw<BitRate>);
    getter!(/// A probability that may be drawn.
        loss_draw, opt_loss_draw, LossDraw, Draw<f64>);
    getter!(/// One or many values.
        many, opt_many, Many, Vec<Val>);

    /// It stands in the file.
    pub fn has(&self, key: &str) -> bool {
        debug_assert!(self.spec(key).name == key);
        self.parts.contains_key(key)
    }

    /// Where `key` was written, else where the section starts.
    pub fn place_of(&self, key: &str) -> &Place {
        self.parts.get(key).map_or(&self.place, |(_, place)| place)
    }

    /// The section `key`, if it was given.
    pub fn one(&self, key: &str) -> Option<&Checked> {
        match self.parts.get(key) {
            Some((Part::One(c), _)) => Some(c),
            _ => None,
        }
    }

    /// The section `key`, or one full of defaults.
    pub fn one_or_default(&self, section: &'static Section) -> Checked {
        self.one(section.name).cloned().unwrap_or_else(|| Checked::absent(section, self))
    }

    /// The sections under `key.NAME`.
    pub fn named(&self, key: &str) -> &[(String, Checked)] {
        match self.parts.get(key) {
            Some((Part::Named(n), _)) => n,
            _ => &[],
        }
    }

    /// The list `[[key]]`.
    pub fn list(&self, key: &str) -> &[Checked] {
        match self.parts.get(key) {
            Some((Part::List(l), _)) => l,
            _ => &[],
        }
    }

    /// The parameters under `key`.
    pub fn params(&self, key: &str) -> Given {
        match self.parts.get(key) {
            Some((Part::Params(p) | Part::Tcp(p, _), _)) => p.clone(),
            _ => Given::new(),
        }
    }

    /// The parameters of each scheme under `key`.
    pub fn by_scheme(&self, key: &str) -> BTreeMap<String, Given> {
        match self.parts.get(key) {
            Some((Part::ByScheme(p) | Part::Tcp(_, p), _)) => p.clone(),
            _ => BTreeMap::new(),
        }
    }

    /// What is swept under `key`.
    pub fn sweep(&self, key: &str) -> Vec<Axis> {
        match self.parts.get(key) {
            Some((Part::Sweep(axes), _)) => axes.clone(),
            _ => Vec::new(),
        }
    }

    /// A problem with the value of `key`.
    pub fn problem(&self, key: &str, message: impl Into<String>) -> Problem {
        let path = if self.path.is_empty() { key.to_string() } else { format!("{}.{key}", self.path) };
        Problem::new(path, message).at(self.place_of(key))
    }
}

impl Checked {
    /// Notes the keys whose conditions do not hold. What a profile sets is a default: it waits for them.
    pub(crate) fn look_for_idle(&mut self, table: &Table) {
        let mut found = Vec::new();
        for (&name, (_, place)) in self.parts.iter().filter(|(_, (_, place))| !place.is_default()) {
            let own = self.kind.iter().flat_map(|k| k.keys);
            let Some(spec) = self.section.keys.iter().chain(own).find(|k| k.name == name) else { continue };
            let Some((only, chosen)) = self.unmet(spec) else { continue };
            let path = join(&self.path, name);
            let mut problem = Problem::new(path, format!("no effect {}", only.where_not())).at(place);
            problem.found = entry(self.section, table, name).map(|e| e.item.value.shown());
            let remedy = match only {
                Only::With(key, words) => format!("leave it out, or set {key} = {}", quoted(words)),
                Only::Without(key, _) => format!("leave it out, or choose another {key}"),
                Only::Given(keys) => format!("leave it out, or give {}", keys.join(" or ")),
                Only::Absent(_) => "keep one of them".into(),
            };
            let gives_way = chosen.is_some_and(|c| c.is_above(place));
            found.push(Idle { problem: problem.hint(remedy), gives_way });
        }
        self.idle.extend(found);
    }

    /// The first condition of a key that does not hold, and where the key that it is about was written.
    fn unmet(&self, spec: &Key) -> Option<(Only, Option<&Place>)> {
        let word = |key: &str| match self.value(key) {
            Some(Val::Text(word)) if function(&word).is_some() => A_FUNCTION.to_string(),
            Some(Val::Text(word)) => word,
            _ => String::new(),
        };
        let written = |key: &str| self.parts.get(key).map(|(_, place)| place);
        let holds = |only: &Only| match only {
            Only::With(key, words) => words.contains(&word(key).as_str()),
            Only::Without(key, words) => !words.contains(&word(key).as_str()),
            Only::Given(keys) => keys.iter().any(|key| self.parts.contains_key(key)),
            Only::Absent(key) => !self.parts.contains_key(key),
        };
        let place = |only: &Only| match only {
            Only::With(key, _) | Only::Without(key, _) | Only::Absent(key) => written(key),
            Only::Given(_) => None,
        };
        spec.only.iter().find(|only| !holds(only)).map(|only| (*only, place(only)))
    }

    /// Collects what has no effect, here and below: as problems, or as remarks where something above took its place.
    pub(crate) fn gather(&self, problems: &mut Vec<Problem>, remarks: &mut Vec<Problem>) {
        for idle in &self.idle {
            match idle.gives_way {
                true => remarks.push(idle.problem.clone()),
                false => problems.push(idle.problem.clone()),
            }
        }
        for (part, _) in self.parts.values() {
            match part {
                Part::One(c) => c.gather(problems, remarks),
                Part::List(all) => all.iter().for_each(|c| c.gather(problems, remarks)),
                Part::Named(all) => all.iter().for_each(|(_, c)| c.gather(problems, remarks)),
                _ => {}
            }
        }
    }
}

/// A dotted key.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.into()
    } else {
        format!("{path}.{key}")
    }
}

/// A key as the grammar writes it.
pub(crate) fn normal(section: &Section, name: &str) -> String {
    let name = name.replace('-', "_");
    if section.name == "scenario" && name == "link" {
        "port".into()
    } else {
        name
    }
}

/// The entry of a key.
pub(crate) fn entry<'a>(section: &Section, table: &'a Table, key: &str) -> Option<&'a Entry> {
    table.0.iter().find(|e| normal(section, &e.key) == key)
}
