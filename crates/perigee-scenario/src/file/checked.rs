// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checked section: only valid keys and values, and the keys without effect.

use crate::file::error::{Place, Problem};
use crate::file::grammar::{quoted, Content, Key, Only, Section, A_FUNCTION};
use crate::file::notation::{function, Val};
use crate::file::tree::{Entry, Table};
pub use crate::file::tree::{Given, Sweep};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Content of a key.
#[derive(Clone, Debug)]
pub enum Part {
    /// A value within its bounds.
    Value(Val),
    /// A section.
    One(Arc<Checked>),
    /// Sections by name, in file order.
    Named(Vec<(String, Arc<Checked>)>),
    /// Several sections, as a list.
    List(Vec<Arc<Checked>>),
    /// Parameters, checked against their table.
    Params(Given),
    /// Parameters by scheme.
    ByScheme(BTreeMap<String, Given>),
    /// Keys to sweep, in file order.
    Sweep(Sweep),
    /// Transport options of all flows, and those by scheme.
    Tcp(Given, BTreeMap<String, Given>),
}

/// A section with only valid keys and values.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Place at which it starts.
    pub place: Place,
    /// Dotted key.
    pub path: String,
    section: &'static Section,
    kind: Option<&'static Section>,
    pub(crate) parts: BTreeMap<&'static str, (Part, Place)>,
    pub(crate) idle: Vec<Idle>,
}

/// A key that is present but has no effect.
#[derive(Clone, Debug)]
pub(crate) struct Idle {
    pub problem: Problem,
    /// Whether the cause is at a higher level: in an override, or in a file that extends the one
    /// with the key.
    pub gives_way: bool,
}

impl Checked {
    /// An absent section, in which every key has its default.
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

    /// Name of its kind; empty if the section has no kinds.
    pub fn kind(&self) -> &'static str {
        self.kind.map_or("", |k| k.name)
    }

    fn row(&self, key: &str) -> Option<&'static Key> {
        let own = self.kind.iter().flat_map(|k| k.keys);
        self.section.keys.iter().chain(own).find(|k| k.name == key)
    }

    /// Value of a key, or its default, and its place.
    pub(crate) fn part<'a>(&'a self, row: &Key) -> Option<(Cow<'a, Part>, &'a Place)> {
        if let Some((part, place)) = self.written(row.name) {
            return Some((Cow::Borrowed(part), place));
        }
        let part = match (&row.content, row.default) {
            (Content::Value(notation), Some(text)) => Part::Value(notation.read_default(text)),
            (Content::One(section), _) => Part::One(Arc::new(Checked::absent(section, self))),
            _ => return None,
        };
        Some((Cow::Owned(part), &self.place))
    }

    /// Value of a key as written, and its place.
    pub(crate) fn written(&self, key: &str) -> Option<(&Part, &Place)> {
        self.parts.get(key).map(|(part, place)| (part, place))
    }

    /// Value of a key that is a word, as written or by default.
    pub(crate) fn word(&self, key: &str) -> Option<String> {
        match self.part(self.row(key)?)?.0.as_ref() {
            Part::Value(Val::Text(word)) => Some(word.clone()),
            _ => None,
        }
    }

    /// Whether the key is in the file.
    pub fn has(&self, key: &str) -> bool {
        self.parts.contains_key(key)
    }

    /// Place of `key`, or of the section if the key is absent.
    pub fn place_of(&self, key: &str) -> &Place {
        self.parts.get(key).map_or(&self.place, |(_, place)| place)
    }

    /// A problem with the value of `key`.
    pub fn problem(&self, key: &str, message: impl Into<String>) -> Problem {
        let path = if self.path.is_empty() { key.to_string() } else { format!("{}.{key}", self.path) };
        Problem::new(path, message).at(self.place_of(key))
    }
}

impl Checked {
    /// Records the keys with unmet conditions. A value from a profile is a default; it has no
    /// effect until they are met.
    pub(crate) fn look_for_idle(&mut self, table: &Table) {
        let mut found = Vec::new();
        for (&name, (_, place)) in self.parts.iter().filter(|(_, (_, place))| !place.is_default()) {
            let Some((only, chosen)) = self.row(name).and_then(|row| self.unmet(row)) else { continue };
            let path = join(&self.path, name);
            let mut problem = Problem::new(path, format!("no effect {}", only.where_not())).at(place);
            problem.found = entry(self.section, table, name).map(|e| e.item.value.shown());
            let remedy = match only {
                Only::With(key, words) => format!("remove it, or set {key} = {}", quoted(words)),
                Only::Without(key, _) => format!("remove it, or choose another {key}"),
                Only::Given(keys) => format!("remove it, or give {}", keys.join(" or ")),
                Only::Absent(_) => "remove one of them".into(),
            };
            let gives_way = chosen.is_some_and(|c| c.is_above(place));
            found.push(Idle { problem: problem.hint(remedy), gives_way });
        }
        self.idle.extend(found);
    }

    /// First condition of a key that does not hold, and the place of the key it refers to.
    fn unmet(&self, spec: &Key) -> Option<(Only, Option<&Place>)> {
        let word = |key: &str| match self.word(key) {
            Some(word) if function(&word).is_some() => A_FUNCTION.to_string(),
            word => word.unwrap_or_default(),
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

    /// Collects the keys without effect, here and in subsections: as problems, or as warnings if
    /// something at a higher level overrides them.
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

/// Joins a path and a key.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.into()
    } else {
        format!("{path}.{key}")
    }
}

/// Key in the spelling of the grammar.
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
