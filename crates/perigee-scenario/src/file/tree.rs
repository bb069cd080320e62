// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parsed TOML as a tree in which every value has the place where it was written; `extends` and
//! overrides are merged here, before anything is interpreted.

use crate::file::error::{Origin, Place, Problem, ScenarioError};
use perigee_units::files;
use perigee_units::params::Value as Param;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::de::{DeTable, DeValue};
use toml::Spanned;

/// Maximum depth of `extends`; more indicates a cycle.
const MAX_EXTENDS: usize = 8;
/// Maximum size of a scenario file: it is written by hand, and a larger file is something else.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Place.
    pub place: Place,
    /// The value.
    pub value: Raw,
}

/// A value before interpretation.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // TOML's own types
pub enum Raw {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Item>),
    Table(Table),
}

/// A table: keys in the order of the file.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Table(pub Vec<Entry>);

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Key as written.
    pub key: String,
    /// Place of the key.
    pub place: Place,
    /// Its value.
    pub item: Item,
}

impl Table {
    /// A copy without the values at these dotted keys; those of lists are numbered (`change.0`).
    pub fn without(&self, keys: &[String]) -> Table {
        let mut left = self.clone();
        if !keys.is_empty() {
            left.remove(keys, "");
        }
        left
    }

    fn remove(&mut self, keys: &[String], path: &str) {
        let dotted = |e: &Entry| {
            let name = e.key.replace('-', "_");
            if path.is_empty() {
                name
            } else {
                format!("{path}.{name}")
            }
        };
        self.0.retain_mut(|entry| {
            let here = dotted(entry);
            if keys.contains(&here) {
                return false;
            }
            match &mut entry.item.value {
                Raw::Table(t) => t.remove(keys, &here),
                Raw::List(all) => return !removed_all(all, keys, &here),
                _ => {}
            }
            true
        });
    }

    /// The entry of `key`.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.0.iter().find(|e| e.key == key)
    }
    fn get_mut(&mut self, key: &str) -> Option<&mut Entry> {
        self.0.iter_mut().find(|e| e.key == key)
    }
}

/// Removes values of a list by their numbers, and from those that stay; whether none is left.
fn removed_all(all: &mut Vec<Item>, keys: &[String], path: &str) -> bool {
    let mut number = 0..;
    let count = all.len();
    all.retain_mut(|item| {
        let here = format!("{path}.{}", number.next().unwrap_or(usize::MAX));
        if let Raw::Table(t) = &mut item.value {
            t.remove(keys, &here);
        }
        !keys.contains(&here)
    });
    all.is_empty() && count > 0
}

/// A key of `[sweep]` and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Dotted key; parts that contain dots are in quotes.
    pub key: String,
    /// Values as TOML, in the form of overrides.
    pub values: Vec<String>,
    /// Place.
    pub place: Place,
}

/// `[sweep]`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sweep {
    /// Swept keys, in file order.
    pub axes: Vec<Axis>,
    /// Whether the n-th values of all keys belong together, instead of all combinations.
    pub zip: bool,
}

/// Parameters, each with its place.
pub type Given = BTreeMap<String, (Param, Place)>;

/// Parameters without their places.
pub(crate) fn values(given: Option<&Given>) -> BTreeMap<String, Param> {
    given.into_iter().flatten().map(|(k, (v, _))| (k.clone(), v.clone())).collect()
}

impl Item {
    /// A value that is neither a list nor a table.
    pub fn single(&self) -> Option<Param> {
        match &self.value {
            Raw::Bool(b) => Some(Param::Bool(*b)),
            Raw::Int(i) => Some(Param::Int(*i)),
            Raw::Float(f) => Some(Param::Float(*f)),
            Raw::Text(t) => Some(Param::Text(t.clone())),
            Raw::List(_) | Raw::Table(_) => None,
        }
    }
}

impl Raw {
    /// Human-readable form, for messages.
    pub fn shown(&self) -> String {
        match self {
            Raw::Bool(b) => b.to_string(),
            Raw::Int(i) => i.to_string(),
            Raw::Float(x) => x.to_string(),
            Raw::Text(t) => format!("{t:?}"),
            Raw::List(l) => format!("a list of {} values", l.len()),
            Raw::Table(_) => "a table".into(),
        }
    }
}

/// Loads a file, the files it extends, and the overrides (`key=value`).
///
/// # Errors
/// If a file cannot be read or parsed, or an override does not fit the tree.
pub fn load(path: &Path, sets: &[String]) -> Result<Table, ScenarioError> {
    finished(file(path, 0, None)?, sets)
}

/// Parses text that has no file (`folder` resolves the paths in it).
///
/// # Errors
/// As for [`load`].
pub fn parse(text: &str, name: &str, folder: &Path, sets: &[String]) -> Result<Table, ScenarioError> {
    finished(extended(text, name, folder, 0)?, sets)
}

fn finished(mut table: Table, sets: &[String]) -> Result<Table, ScenarioError> {
    for set in sets {
        apply(&mut table, set)?;
    }
    Ok(table)
}

fn file(path: &Path, depth: usize, from: Option<&Place>) -> Result<Table, ScenarioError> {
    let name = path.display().to_string();
    let fail = |why: String| {
        let mut p = Problem::new(if from.is_some() { "extends" } else { "" }, why);
        p.place = from.cloned();
        ScenarioError::from(p)
    };
    let text = match from {
        // Shells create pipes for `<(command)`: the file of the command line may be one.
        None if is_pipe(path) => read_pipe(path),
        _ => files::open(path).and_then(|f| {
            let size = f.metadata().map_or(0, |m| m.len());
            if size > MAX_FILE_BYTES {
                return Err(format!("{name} has {size} bytes; a scenario file has at most {MAX_FILE_BYTES}"));
            }
            files::read(path)
        }),
    };
    let text = text.map_err(fail)?;
    extended(&text, &name, path.parent().unwrap_or(Path::new("")), depth)
}

#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|m| m.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_pipe(_: &Path) -> bool {
    false
}

fn read_pipe(path: &Path) -> Result<String, String> {
    let cannot = |e| format!("cannot read {}: {}", path.display(), files::why(&e));
    let mut text = String::new();
    let pipe = std::fs::File::open(path).map_err(cannot)?;
    pipe.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).map_err(cannot)?;
    match text.len() as u64 > MAX_FILE_BYTES {
        true => Err(format!(
            "{} is too large; a scenario file has at most {MAX_FILE_BYTES} bytes",
            path.display()
        )),
        false => Ok(text),
    }
}

fn extended(text: &str, name: &str, folder: &Path, depth: usize) -> Result<Table, ScenarioError> {
    let origin = Arc::new(Origin::File { name: name.into(), folder: folder.into(), depth });
    let mut table = parsed(text, &origin)?;
    let Some(position) = table.0.iter().position(|e| e.key == "extends") else { return Ok(table) };
    let base = table.0.remove(position);
    let Raw::Text(target) = &base.item.value else {
        return Err(Problem::new("extends", "must be the path of one file")
            .at(&base.place)
            .found(base.item.value.shown())
            .into());
    };
    if depth >= MAX_EXTENDS {
        return Err(Problem::new("extends", format!("more than {MAX_EXTENDS} nested files"))
            .at(&base.place)
            .hint("check whether the files extend each other in a cycle")
            .into());
    }
    let mut below = file(&folder.join(target), depth + 1, Some(&base.place))?;
    merge(&mut below, table);
    Ok(below)
}

fn parsed(text: &str, origin: &Arc<Origin>) -> Result<Table, ScenarioError> {
    let lines = Lines::new(text, origin);
    let document = DeTable::parse(text).map_err(|e| {
        let place = e.span().map_or(Place { origin: origin.clone(), line: None }, |s| lines.place(s.start));
        Problem::new("", format!("not valid TOML: {}", e.message().replace('\n', ", "))).at(&place)
    })?;
    Ok(table(document.get_ref(), &lines)?)
}

/// Converts offsets to line numbers.
struct Lines<'a> {
    starts: Vec<usize>,
    origin: &'a Arc<Origin>,
}

impl<'a> Lines<'a> {
    fn new(text: &str, origin: &'a Arc<Origin>) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        Lines { starts, origin }
    }
    fn place(&self, offset: usize) -> Place {
        Place { origin: self.origin.clone(), line: Some(self.starts.partition_point(|&s| s <= offset)) }
    }
}

fn table(source: &DeTable<'_>, lines: &Lines<'_>) -> Result<Table, Problem> {
    let mut entries = Vec::with_capacity(source.len());
    for (key, value) in source.iter() {
        let place = lines.place(key.span().start);
        entries.push(Entry { key: key.get_ref().to_string(), item: item(value, &place, lines)?, place });
    }
    // In the order of the file; keys on the same line are sorted by name.
    entries.sort_by(|a, b| a.place.line.cmp(&b.place.line).then_with(|| a.key.cmp(&b.key)));
    Ok(Table(entries))
}

fn item(value: &Spanned<DeValue<'_>>, key: &Place, lines: &Lines<'_>) -> Result<Item, Problem> {
    let place = lines.place(value.span().start);
    let value = match value.get_ref() {
        DeValue::String(s) => Raw::Text(s.to_string()),
        DeValue::Boolean(b) => Raw::Bool(*b),
        DeValue::Integer(i) => Raw::Int(
            i64::from_str_radix(i.as_str(), i.radix())
                .map_err(|_| Problem::new("", format!("the integer {i} is too large")).at(&place))?,
        ),
        DeValue::Float(f) => Raw::Float(f.as_str().replace('_', "").parse().unwrap_or(f64::NAN)),
        DeValue::Datetime(d) => Raw::Text(d.to_string()),
        DeValue::Array(a) => Raw::List(a.iter().map(|v| item(v, key, lines)).collect::<Result<_, _>>()?),
        // A table may be opened by a deeper header ([a.b]): its own span is then not a useful
        // place.
        DeValue::Table(t) => return Ok(Item { place: key.clone(), value: Raw::Table(table(t, lines)?) }),
    };
    Ok(Item { place, value })
}

/// Merges two tables: values in `above` take precedence, tables are merged, everything else (also
/// lists of flows) is replaced.
fn merge(below: &mut Table, above: Table) {
    for entry in above.0 {
        match (below.get_mut(&entry.key), entry) {
            (Some(old), Entry { item: Item { value: Raw::Table(new), .. }, .. })
                if matches!(old.item.value, Raw::Table(_)) =>
            {
                if let Raw::Table(old) = &mut old.item.value {
                    merge(old, new);
                }
            }
            (Some(old), new) => *old = new,
            (None, new) => below.0.push(new),
        }
    }
}

fn apply(table: &mut Table, set: &str) -> Result<(), ScenarioError> {
    let place = Place { origin: Arc::new(Origin::Override(set.into())), line: None };
    let form = || {
        Problem::new("", "an override must have the form key=value")
            .at(&place)
            .hint("for example run.duration=60s")
    };
    let (path, text) = override_parts(set).ok_or_else(form)?;
    let keys = segments(path);
    if keys.iter().any(|k| k.is_empty()) {
        return Err(form().into());
    }
    if keys == ["extends"] {
        // Files are merged before overrides are applied, so the override would be ignored.
        let p = Problem::new("extends", "cannot be set by an override: set it in the file").at(&place);
        return Err(p.into());
    }
    let value = override_value(text.trim(), &place);
    put(table, &keys, value, &place).map_err(|why| Problem::new(path.trim(), why).at(&place).into())
}

/// Key and value of an override. A quoted part of the key may contain an equals sign.
fn override_parts(set: &str) -> Option<(&str, &str)> {
    let at = outside_quotes(set, '=').next()?;
    Some((&set[..at], &set[at + 1..]))
}

/// The parts of a dotted key, each without its quotes.
fn segments(path: &str) -> Vec<&str> {
    let cuts: Vec<usize> = outside_quotes(path, '.').collect();
    let starts = std::iter::once(0).chain(cuts.iter().map(|c| c + 1));
    let part = |(from, to): (usize, usize)| {
        let part = path[from..to].trim();
        let unquoted = ['"', '\''].iter().find_map(|&q| part.strip_prefix(q)?.strip_suffix(q));
        unquoted.unwrap_or(part)
    };
    starts.zip(cuts.iter().copied().chain([path.len()])).map(part).collect()
}

/// Positions of a character outside quotes.
fn outside_quotes(text: &str, wanted: char) -> impl Iterator<Item = usize> + '_ {
    let mut quote = None;
    text.char_indices().filter_map(move |(at, c)| match quote {
        Some(q) if q == c => {
            quote = None;
            None
        }
        Some(_) => None,
        None if c == '"' || c == '\'' => {
            quote = Some(c);
            None
        }
        None => (c == wanted).then_some(at),
    })
}

/// The value as TOML if it parses, otherwise as text: shells remove quotes.
fn override_value(text: &str, place: &Place) -> Item {
    let line = format!("v = {text}");
    let parsed = parsed(&line, &place.origin).ok().filter(|t| t.0.len() == 1);
    let value = match parsed.and_then(|mut t| t.0.pop()) {
        Some(entry) => entry.item.value,
        None => Raw::Text(text.into()),
    };
    rooted(Item { place: place.clone(), value }, place)
}

/// Assigns the override's place to all values of an override.
fn rooted(mut item: Item, place: &Place) -> Item {
    item.place = place.clone();
    match &mut item.value {
        Raw::List(l) => *l = std::mem::take(l).into_iter().map(|i| rooted(i, place)).collect(),
        Raw::Table(t) => {
            for e in &mut t.0 {
                e.place = place.clone();
                e.item = rooted(e.item.clone(), place);
            }
        }
        _ => {}
    }
    item
}

fn put(table: &mut Table, keys: &[&str], value: Item, place: &Place) -> Result<(), String> {
    let Some((first, rest)) = keys.split_first() else { return Ok(()) };
    if table.get(first).is_none() {
        let item = Item { place: place.clone(), value: Raw::Table(Table::default()) };
        table.0.push(Entry { key: (*first).into(), place: place.clone(), item });
    }
    let Some(entry) = table.get_mut(first) else { return Ok(()) };
    if rest.is_empty() {
        // The key's own place is also changed: a message about it must not point into the file.
        entry.place = place.clone();
        entry.item = value;
        return Ok(());
    }
    match &mut entry.item.value {
        Raw::Table(t) => put(t, rest, value, place),
        Raw::List(l) => put_in_list(first, l, rest, value, place),
        other => Err(format!("{first} is {} and has no key {:?}", other.shown(), rest[0])),
    }
}

fn put_in_list(
    name: &str,
    list: &mut [Item],
    keys: &[&str],
    value: Item,
    place: &Place,
) -> Result<(), String> {
    let n = list.len();
    let which = || format!("{name} has {n} entries: use {name}.0 to {name}.{}", n.saturating_sub(1));
    let index: usize = keys[0].parse().map_err(|_| which())?;
    let item = list.get_mut(index).ok_or_else(which)?;
    match &mut item.value {
        _ if keys.len() == 1 => {
            *item = value;
            Ok(())
        }
        Raw::Table(t) => put(t, &keys[1..], value, place),
        other => Err(format!("{name}.{index} is {} and has no key {:?}", other.shown(), keys[1])),
    }
}

/// Path named by a value, relative to the file in which it was written.
pub fn resolve(place: &Place, name: &str) -> PathBuf {
    match place.origin.as_ref() {
        Origin::File { folder, .. } => folder.join(name),
        Origin::Override(_) | Origin::Profile(_) => PathBuf::from(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, sets: &[&str]) -> Result<Table, ScenarioError> {
        let sets: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
        parse(text, "t.toml", Path::new(""), &sets)
    }

    fn text_at(table: &Table, path: &[&str]) -> Raw {
        let entry = table.get(path[0]).unwrap();
        match (&entry.item.value, &path[1..]) {
            (value, []) => value.clone(),
            (Raw::Table(t), rest) => text_at(t, rest),
            (other, _) => panic!("{other:?}"),
        }
    }

    #[test]
    fn keys_of_overrides_may_be_quoted() {
        for set in ["port.\"r1->r2.x\".rate=5 Mbit", "port.'r1->r2.x'.rate=5 Mbit"] {
            let t = read("", &[set]).unwrap();
            let Raw::Text(rate) = text_at(&t, &["port", "r1->r2.x", "rate"]) else { panic!() };
            assert_eq!(rate, "5 Mbit");
        }
        let t = read("", &["port.\"a=b\".rate=x=y"]).unwrap();
        let Raw::Text(rate) = text_at(&t, &["port", "a=b", "rate"]) else { panic!() };
        assert_eq!(rate, "x=y");
        for bad in ["port.\"a=1", "=5", "a..b=5", "a.\"\".b=5"] {
            assert!(read("", &[bad]).is_err(), "{bad}");
        }
    }

    #[test]
    fn values_know_their_line() {
        let t = read("[run]\n\nduration = \"5 s\"\n", &[]).unwrap();
        let Raw::Table(run) = &t.get("run").unwrap().item.value else { panic!() };
        assert_eq!(run.get("duration").unwrap().place.to_string(), "t.toml:3");
    }

    #[test]
    fn overrides_need_no_quotes_and_say_set() {
        let t = read("[run]\nseed = 1\n", &["run.seed=7", "port.bottleneck.rate=50Mbit"]).unwrap();
        assert_eq!(text_at(&t, &["run", "seed"]), Raw::Int(7));
        assert_eq!(text_at(&t, &["port", "bottleneck", "rate"]), Raw::Text("50Mbit".into()));
        let Raw::Table(run) = &t.get("run").unwrap().item.value else { panic!() };
        assert_eq!(run.get("seed").unwrap().place.to_string(), "--set run.seed=7");
    }

    #[test]
    fn overrides_reach_into_lists_by_number() {
        let t = read("[[flow]]\ncc = \"a\"\n", &["flow.0.cc=b"]).unwrap();
        let Raw::List(flows) = &t.get("flow").unwrap().item.value else { panic!() };
        assert!(
            matches!(&flows[0].value, Raw::Table(f) if f.get("cc").unwrap().item.value == Raw::Text("b".into()))
        );
        assert!(read("[[flow]]\ncc = 1\n", &["flow.3.cc=b"]).unwrap_err().to_string().contains("flow.0"));
        assert!(read("[run]\nseed = 1\n", &["run.seed.x=b"]).is_err());
        assert!(read("", &["nothing"]).unwrap_err().to_string().contains("key=value"));
    }

    #[test]
    fn broken_toml_is_reported_with_its_line() {
        let e = read("[run]\nseed = = 1\n", &[]).unwrap_err();
        assert!(e.to_string().starts_with("t.toml:2: not valid TOML"), "{e}");
        assert!(read("a = 99999999999999999999", &[]).unwrap_err().to_string().contains("too large"));
    }
}
