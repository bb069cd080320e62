// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a grammar is made of, and the walk that turns a tree into checked sections.

use crate::file::disciplines;
use crate::file::error::{Place, Problem};
use crate::file::kind::{Draw, Kind, Val};
use crate::file::spell;
pub use crate::file::tree::Given;
use crate::file::tree::{Entry, Item, Raw, Table};
use perigee_cc::{FileSpec, ParamError, ParamSpec, Params, Value as Param};
use perigee_queue::{DisciplineInfo, DISCIPLINES};
use perigee_timeline::Law;
use perigee_units::{BitRate, Nanos, Size};
use std::collections::{BTreeMap, BTreeSet};

/// More problems than this are not read by anybody.
const MAX_PROBLEMS: usize = 20;

/// A table of the file.
#[derive(Debug)]
pub struct Section {
    /// Its key.
    pub name: &'static str,
    /// One line for the reference.
    pub help: &'static str,
    /// What it may hold.
    pub keys: &'static [Key],
}

/// A row of a section.
#[derive(Debug)]
pub struct Key {
    /// As written in files, with underscores; a hyphen is accepted in their place.
    pub name: &'static str,
    /// What stands behind it.
    pub content: Content,
    /// Used when it is absent.
    pub default: Option<&'static str>,
    /// It must be given.
    pub required: bool,
    /// One line for the reference.
    pub help: &'static str,
}

/// What stands behind a key.
#[derive(Debug)]
pub enum Content {
    /// A value.
    Value(Kind),
    /// The name of a queue discipline, whose parameters are keys of the same section.
    Discipline(Kind),
    /// A section.
    One(&'static Section),
    /// Sections under names that the user chooses.
    Named(&'static Section),
    /// A list of sections.
    List(&'static Section),
    /// Transport options.
    Tcp,
    /// A profile, transport options, and tables of them by scheme.
    TcpOfAll,
    /// Tables of scheme parameters, by scheme.
    ByScheme,
    /// Parameters of the scheme that this other key of the section names.
    SchemeOf(&'static str),
}

/// Where a section keeps the parameters of its queue discipline.
pub const DISCIPLINE_PARAMS: &str = "parameters of the discipline";

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
    parts: BTreeMap<&'static str, (Part, Place)>,
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
        Checked { place: parent.place.clone(), path: section.name.into(), section, parts: BTreeMap::new() }
    }

    fn spec(&self, key: &str) -> &'static Key {
        let found = self.section.keys.iter().find(|k| k.name == key);
        found.unwrap_or_else(|| panic!("{key} is not a key of [{}] in the grammar", self.section.name))
    }

    fn value(&self, key: &str) -> Option<Val> {
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

    /// A problem with the value of `key`.
    pub fn problem(&self, key: &str, message: impl Into<String>) -> Problem {
        let path = if self.path.is_empty() { key.to_string() } else { format!("{}.{key}", self.path) };
        Problem::new(path, message).at(self.place_of(key))
    }
}

/// Checks a tree against a section.
///
/// # Errors
/// Every problem found, up to a readable number.
pub fn check(section: &'static Section, tree: &Table, place: &Place) -> Result<Checked, Vec<Problem>> {
    let mut problems = Vec::new();
    let checked = walk(section, tree, place, "", &mut problems);
    if problems.is_empty() {
        Ok(checked)
    } else {
        problems.truncate(MAX_PROBLEMS);
        Err(problems)
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.into()
    } else {
        format!("{path}.{key}")
    }
}

fn walk(
    section: &'static Section,
    table: &Table,
    place: &Place,
    path: &str,
    out: &mut Vec<Problem>,
) -> Checked {
    let mut checked = Checked { place: place.clone(), path: path.into(), section, parts: BTreeMap::new() };
    let discipline = section.keys.iter().find(|k| matches!(k.content, Content::Discipline(_)));
    let mut of_discipline = Vec::new();
    for entry in &table.0 {
        let Some(key) = known(section, &entry.key) else {
            match discipline {
                Some(_) if disciplines::is_parameter(&entry.key) => of_discipline.push(entry),
                _ => out.push(unknown(section, entry, path)),
            }
            continue;
        };
        let part = content(key, table, entry, &join(path, key.name), out);
        match (part, checked.parts.get_mut(key.name)) {
            (Some(part), None) => {
                checked.parts.insert(key.name, (part, entry.place.clone()));
            }
            // [link.x] and [port.x] are the same section: both may be used in one file.
            (Some(Part::Named(more)), Some((Part::Named(sections), _))) => sections.extend(more),
            (Some(_), Some(_)) => {
                out.push(Problem::new(join(path, key.name), "given twice").at(&entry.place));
            }
            (None, _) => {}
        }
    }
    if !of_discipline.is_empty() {
        let name = discipline.and_then(|k| checked.opt_text(k.name));
        let given = disciplines::read(name.as_deref(), &of_discipline, path, out);
        checked.parts.insert(DISCIPLINE_PARAMS, (Part::Params(given), place.clone()));
    }
    for key in section.keys.iter().filter(|k| k.required && !table_has(section, table, k)) {
        missing(key, place, path, &mut *out);
    }
    checked
}

fn table_has(section: &'static Section, table: &Table, key: &Key) -> bool {
    table.0.iter().any(|e| known(section, &e.key).is_some_and(|k| k.name == key.name))
}

fn known(section: &'static Section, name: &str) -> Option<&'static Key> {
    let name = name.replace('-', "_");
    let name = if section.name == "scenario" && name == "link" { "port" } else { &name };
    section.keys.iter().find(|k| k.name == name)
}

fn unknown(section: &Section, entry: &Entry, path: &str) -> Problem {
    let has_discipline = section.keys.iter().any(|k| matches!(k.content, Content::Discipline(_)));
    let params: &[DisciplineInfo] = if has_discipline { DISCIPLINES } else { &[] };
    let params: BTreeSet<&str> = params.iter().flat_map(|d| d.params).map(|p| p.name).collect();
    let names = || section.keys.iter().map(|k| k.name).chain(params.iter().copied());
    let mut p = Problem::new(join(path, &entry.key), "unknown key")
        .at(&entry.place)
        .allowed(names().collect::<Vec<_>>().join(", "));
    p.hint = spell::hint(&entry.key, names());
    p
}

/// What is required below an absent section is missing too: its keys are named, not the section.
fn missing(key: &Key, place: &Place, path: &str, out: &mut Vec<Problem>) {
    let path = join(path, key.name);
    if let Content::One(section) = &key.content {
        let problems = section.keys.iter().filter(|k| k.required);
        return problems.for_each(|k| missing(k, place, &path, out));
    }
    let mut p = Problem::new(&path, "must be given").at(place);
    p.allowed = match &key.content {
        Content::Value(kind) | Content::Discipline(kind) => Some(kind.allowed()),
        _ => Some(key.help.into()),
    };
    out.push(p);
}

fn content(
    key: &'static Key,
    table: &Table,
    entry: &Entry,
    path: &str,
    out: &mut Vec<Problem>,
) -> Option<Part> {
    let item = &entry.item;
    match &key.content {
        Content::Value(kind) | Content::Discipline(kind) => match kind.read(item, path) {
            Ok(v) => Some(Part::Value(v)),
            Err(p) => {
                out.push(p);
                None
            }
        },
        Content::One(section) => {
            let t = as_table(item, path, out)?;
            Some(Part::One(walk(section, t, &entry.place, path, out)))
        }
        Content::Named(section) => {
            let t = as_table(item, path, out)?;
            let mut named = Vec::new();
            for e in &t.0 {
                let path = join(path, &e.key);
                if let Some(t) = as_table(&e.item, &path, out) {
                    named.push((e.key.clone(), walk(section, t, &e.place, &path, out)));
                }
            }
            Some(Part::Named(named))
        }
        Content::List(section) => list(section, item, path, out),
        Content::Tcp => {
            let t = as_table(item, path, out)?;
            Some(Part::Params(params(perigee_tcp::OPTIONS, &[], t, path, out)))
        }
        Content::TcpOfAll => tcp_of_all(item, path, out),
        Content::ByScheme => by_scheme(item, path, out),
        Content::SchemeOf(other) => {
            let t = as_table(item, path, out)?;
            let named = table.get(other).map(|e| &e.item.value);
            let info = match named {
                Some(Raw::Text(id)) => perigee_cc::info(id),
                _ => None,
            };
            let Some(info) = info else {
                let why = format!("parameters need a named scheme: {other} is \"*\" or unknown here");
                out.push(Problem::new(path, why).at(&entry.place).hint("use [cc.SCHEME] for all its flows"));
                return None;
            };
            Some(Part::Params(params(info.params, info.files(), t, path, out)))
        }
    }
}

fn as_table<'a>(item: &'a Item, path: &str, out: &mut Vec<Problem>) -> Option<&'a Table> {
    match &item.value {
        Raw::Table(t) => Some(t),
        other => {
            let p = Problem::new(path, "must be a table").at(&item.place).found(other.shown());
            out.push(p.allowed(format!("[{path}] and keys below it")));
            None
        }
    }
}

fn list(section: &'static Section, item: &Item, path: &str, out: &mut Vec<Problem>) -> Option<Part> {
    let Raw::List(items) = &item.value else {
        let p = Problem::new(path, "must be a list of tables").at(&item.place).found(item.value.shown());
        out.push(p.allowed(format!("[[{path}]] (two brackets) and keys below it")));
        return None;
    };
    if items.is_empty() {
        out.push(Problem::new(path, "the list is empty").at(&item.place));
    }
    let mut sections = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let path = format!("{path}.{i}");
        if let Some(t) = as_table(item, &path, out) {
            // The item's own place may be that of the list: its first key is nearer to the point.
            let place = t.0.first().map_or(&item.place, |e| &e.place);
            sections.push(walk(section, t, place, &path, out));
        }
    }
    Some(Part::List(sections))
}

fn by_scheme(item: &Item, path: &str, out: &mut Vec<Problem>) -> Option<Part> {
    let mut found = BTreeMap::new();
    for e in &as_table(item, path, out)?.0 {
        let ids = || perigee_cc::SCHEMES.iter().map(|s| s.id);
        let path = join(path, &e.key);
        let Some(info) = perigee_cc::info(&e.key) else {
            let mut p = Problem::new(path, "no such congestion control").at(&e.place);
            p.allowed = Some(ids().collect::<Vec<_>>().join(", "));
            p.hint = spell::hint(&e.key, ids());
            out.push(p);
            continue;
        };
        if let Some(t) = as_table(&e.item, &path, out) {
            found.insert(e.key.clone(), params(info.params, info.files(), t, &path, out));
        }
    }
    Some(Part::ByScheme(found))
}

/// `[tcp]`: a table in it belongs to the scheme of its name.
fn tcp_of_all(item: &Item, path: &str, out: &mut Vec<Problem>) -> Option<Part> {
    let t = as_table(item, path, out)?;
    let is_scheme = |e: &Entry| matches!(e.item.value, Raw::Table(_)) && perigee_cc::info(&e.key).is_some();
    let (tables, options): (Vec<Entry>, Vec<Entry>) = t.0.iter().cloned().partition(is_scheme);
    // The profile has been applied before.
    let options = Table(options.into_iter().filter(|e| e.key != "profile").collect());
    let mut found = BTreeMap::new();
    for e in tables {
        let path = join(path, &e.key);
        if let Some(t) = as_table(&e.item, &path, out) {
            found.insert(e.key.clone(), params(perigee_tcp::OPTIONS, &[], t, &path, out));
        }
    }
    Some(Part::Tcp(params(perigee_tcp::OPTIONS, &[], &options, path, out), found))
}

/// Reads a table of parameters against the table of a scheme or of the transport.
/// The value of a file's parameter is its path.
fn params(
    specs: &'static [ParamSpec],
    files: &'static [FileSpec],
    table: &Table,
    path: &str,
    out: &mut Vec<Problem>,
) -> Given {
    let mut given = Given::new();
    for e in &table.0 {
        let key = e.key.replace('-', "_");
        let path = join(path, &key);
        let Some(value) = e.item.single() else {
            let p = Problem::new(path, "must be a single value").at(&e.item.place);
            out.push(p.found(e.item.value.shown()));
            continue;
        };
        if files.iter().any(|f| f.name == key) {
            match value {
                Param::Text(_) => drop(given.insert(key, (value, e.item.place.clone()))),
                _ => out.push(
                    Problem::new(path, "must be the path of a file")
                        .at(&e.item.place)
                        .found(e.item.value.shown()),
                ),
            }
            continue;
        }
        match Params::new(specs, BTreeMap::from([(key.clone(), value.clone())])) {
            Ok(_) => {
                given.insert(key, (value, e.place.clone()));
            }
            Err(error) => out.push(refused(error, &path, e)),
        }
    }
    given
}

fn refused(error: ParamError, path: &str, entry: &Entry) -> Problem {
    match error {
        ParamError::Unknown { known, .. } => {
            let mut p = Problem::new(path, "unknown parameter").at(&entry.place);
            p.allowed = Some(if known.is_empty() { "none".into() } else { known.join(", ") });
            p.hint = spell::hint(&entry.key, known.iter().copied());
            p
        }
        ParamError::Value { allowed, .. } => Problem::new(path, "value out of range or of the wrong type")
            .at(&entry.item.place)
            .found(entry.item.value.shown())
            .allowed(allowed),
    }
}
