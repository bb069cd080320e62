// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Validation of a tree, which yields checked sections.

use crate::file::checked::{entry, join, normal, Checked, Given, Idle, Part};
use crate::file::disciplines;
use crate::file::error::{Place, Problem};
use crate::file::grammar::{quoted, By, Content, Key, Section, DISCIPLINE_PARAMS};
use crate::file::starts;
use crate::file::suggestions;
use crate::file::sweep;
use crate::file::tree::{Entry, Item, Raw, Table};
use perigee_cc::{FileSpec, Needs, ParamError, ParamSpec, Params, SchemeInfo, StartInfo, Value as Param};
use perigee_queue::{DisciplineInfo, DISCIPLINES};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Maximum number of problems in a report.
const MAX_PROBLEMS: usize = 20;
const UNKNOWN_KEY: &str = "unknown key";

/// Checks a tree against a section. Also returns warnings.
///
/// # Errors
/// All problems found, up to a readable number.
pub fn check(
    section: &'static Section,
    tree: &Table,
    place: &Place,
) -> Result<(Arc<Checked>, Vec<Problem>), Vec<Problem>> {
    let mut problems = Vec::new();
    let checked = walk(section, tree, place, "", &mut problems);
    let mut remarks = Vec::new();
    checked.gather(&mut problems, &mut remarks);
    if problems.is_empty() {
        Ok((Arc::new(checked), remarks))
    } else {
        problems.truncate(MAX_PROBLEMS);
        Err(problems)
    }
}

fn walk(
    section: &'static Section,
    table: &Table,
    place: &Place,
    path: &str,
    out: &mut Vec<Problem>,
) -> Checked {
    let kind = kind_of(section, table);
    let mut checked = Checked::new(section, kind, place, path);
    let discipline = section.keys.iter().find(|k| matches!(k.content, Content::Discipline(_)));
    let mut of_discipline = Vec::new();
    for entry in &table.0 {
        let Some(key) = known(section, kind, &entry.key) else {
            match of_other_kind(section, kind, table, entry, path) {
                Some(idle) => checked.idle.push(idle),
                None if discipline.is_some() && disciplines::is_parameter(&entry.key) => {
                    of_discipline.push(entry)
                }
                None => out.push(unknown(section, kind, entry, path)),
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
        let name = discipline.filter(|k| checked.has(k.name)).and_then(|k| checked.word(k.name));
        let given = disciplines::read(name.as_deref(), &of_discipline, path, out);
        checked.parts.insert(DISCIPLINE_PARAMS, (Part::Params(given), place.clone()));
    }
    let of_kind = kind.iter().flat_map(|k| k.keys);
    for key in section.keys.iter().chain(of_kind).filter(|k| k.required) {
        if !table_has(section, kind, table, key) && !is_misspelt(key, path, out) {
            missing(key, place, path, &mut *out);
        }
    }
    checked.look_for_idle(table);
    checked
}

fn table_has(section: &'static Section, kind: Option<&'static Section>, table: &Table, key: &Key) -> bool {
    table.0.iter().any(|e| known(section, kind, &e.key).is_some_and(|k| k.name == key.name))
}

/// Whether an unknown key of this section was reported as a misspelling of this one.
fn is_misspelt(key: &Key, path: &str, out: &[Problem]) -> bool {
    let meant = suggestions::hint(key.name, [key.name]);
    out.iter().any(|p| p.message == UNKNOWN_KEY && p.hint == meant && parent(&p.key) == path)
}

fn parent(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(parent, _)| parent)
}

/// Without a kind (its name is invalid, which is reported elsewhere) the keys of all kinds are
/// valid.
fn known(section: &'static Section, kind: Option<&'static Section>, name: &str) -> Option<&'static Key> {
    let name = normal(section, name);
    let common = section.keys.iter().find(|k| k.name == name);
    common.or_else(|| match kind {
        Some(kind) => kind.keys.iter().find(|k| k.name == name),
        None => section.all_keys().find(|k| k.name == name),
    })
}

fn kind_of(section: &'static Section, table: &Table) -> Option<&'static Section> {
    let kinds = section.kinds?;
    let is_it = |name: &str| match kinds.by {
        By::Presence => entry(section, table, name).is_some(),
        By::Word(key) => match entry(section, table, key).map(|e| &e.item.value) {
            Some(Raw::Text(word)) => word == name,
            Some(_) => false,
            None => section.keys.iter().any(|k| k.name == key && k.default == Some(name)),
        },
    };
    kinds.of.iter().copied().find(|kind| is_it(kind.name))
}

/// Finds a key that belongs to other kinds of the section than the selected one.
fn of_other_kind(
    section: &'static Section,
    kind: Option<&'static Section>,
    table: &Table,
    e: &Entry,
    path: &str,
) -> Option<Idle> {
    let (kinds, kind, name) = (section.kinds?, kind?, normal(section, &e.key));
    let has = |k: &&&'static Section| k.keys.iter().any(|k| k.name == name);
    let owners: Vec<&str> = kinds.of.iter().filter(has).map(|k| k.name).collect();
    if owners.is_empty() {
        return None;
    }
    let (why, hint, chosen) = match kinds.by {
        By::Word(key) => (
            format!("no effect with {key} = {:?}", kind.name),
            format!("remove it; it belongs to {key} = {}", quoted(&owners)),
            entry(section, table, key),
        ),
        By::Presence => (
            format!("no effect together with {}", kind.name),
            format!("remove it; it belongs to {}", owners.join(" or ")),
            entry(section, table, kind.name),
        ),
    };
    let problem = Problem::new(join(path, &name), why).at(&e.place).found(e.item.value.shown()).hint(hint);
    Some(Idle { problem, gives_way: chosen.is_some_and(|c| c.place.is_above(&e.place)) })
}

fn unknown(section: &'static Section, kind: Option<&'static Section>, entry: &Entry, path: &str) -> Problem {
    let has_discipline = section.keys.iter().any(|k| matches!(k.content, Content::Discipline(_)));
    let params: &[DisciplineInfo] = if has_discipline { DISCIPLINES } else { &[] };
    let params: BTreeSet<&str> = params.iter().flat_map(|d| d.params).map(|p| p.name).collect();
    let own = section.keys.iter().chain(kind.iter().flat_map(|k| k.keys)).map(|k| k.name);
    let names = || own.clone().chain(params.iter().copied());
    let mut p = Problem::new(join(path, &entry.key), UNKNOWN_KEY)
        .at(&entry.place)
        .allowed(names().collect::<Vec<_>>().join(", "));
    p.hint = suggestions::hint(&entry.key, names());
    p
}

/// Required keys of an absent section are also missing: the keys are reported, not the section.
fn missing(key: &Key, place: &Place, path: &str, out: &mut Vec<Problem>) {
    let path = join(path, key.name);
    if let Content::One(section) = &key.content {
        let problems = section.keys.iter().filter(|k| k.required);
        return problems.for_each(|k| missing(k, place, &path, out));
    }
    let mut p = Problem::new(&path, "required key is missing").at(place);
    p.allowed = match &key.content {
        Content::Value(notation) | Content::Discipline(notation) => Some(notation.allowed()),
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
        Content::Value(notation) | Content::Discipline(notation) => match notation.read(item, path) {
            Ok(v) => Some(Part::Value(v)),
            Err(p) => {
                out.push(p);
                None
            }
        },
        Content::One(section) => {
            let t = as_table(item, path, out)?;
            Some(Part::One(Arc::new(walk(section, t, &entry.place, path, out))))
        }
        Content::Named(section) => {
            let t = as_table(item, path, out)?;
            let mut named = Vec::new();
            for e in &t.0 {
                let path = join(path, &e.key);
                if let Some(t) = as_table(&e.item, &path, out) {
                    named.push((e.key.clone(), Arc::new(walk(section, t, &e.place, &path, out))));
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
        Content::ByStart => by_start(item, path, out),
        Content::StartOf(other) => {
            let table_of = as_table(item, path, out)?;
            let Some(info) = start_of(table, other) else {
                let why =
                    format!("{other} is absent, \"own\" or unknown: parameters require a named slow start");
                let p = Problem::new(path, why).at(&entry.place);
                out.push(p.hint(format!("set {other}, or use [slow_start.NAME]")));
                return None;
            };
            Some(Part::Params(params(info.params, &[], table_of, path, out)))
        }
        Content::Sweep => Some(Part::Sweep(sweep::read(as_table(item, path, out)?, path, out))),
        Content::SchemeOf(other) => {
            let t = as_table(item, path, out)?;
            let named = table.get(other).map(|e| &e.item.value);
            let info = match named {
                Some(Raw::Text(id)) => perigee_cc::info(id),
                _ => None,
            };
            let Some(info) = info else {
                let why =
                    format!("{other} is \"*\" or unknown: parameters require a named congestion control");
                out.push(
                    Problem::new(path, why)
                        .at(&entry.place)
                        .hint(format!("name one in {other}, or use [cc.SCHEME]")),
                );
                return None;
            };
            Some(Part::Params(of_scheme(info, t, path, out)))
        }
    }
}

fn as_table<'a>(item: &'a Item, path: &str, out: &mut Vec<Problem>) -> Option<&'a Table> {
    match &item.value {
        Raw::Table(t) => Some(t),
        other => {
            let mut p = Problem::new(path, "must be a table").at(&item.place).found(other.shown());
            // This is the only table with a plural form.
            if matches!(other, Raw::List(_)) && path == "source.constellation.shell" {
                p = p.hint("use [[source.constellation.shells]] for several shells");
            }
            out.push(p.allowed(format!("[{path}] and keys below it")));
            None
        }
    }
}

fn list(section: &'static Section, item: &Item, path: &str, out: &mut Vec<Problem>) -> Option<Part> {
    let Raw::List(items) = &item.value else {
        let p = Problem::new(path, "must be a list of tables").at(&item.place).found(item.value.shown());
        out.push(p.allowed(format!("[[{path}]] (double brackets) and keys below it")));
        return None;
    };
    if items.is_empty() {
        out.push(Problem::new(path, "the list is empty").at(&item.place));
    }
    let mut sections = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let path = format!("{path}.{i}");
        if let Some(t) = as_table(item, &path, out) {
            // The item's own place may be that of the list: the place of its first key is more
            // precise.
            let place = t.0.first().map_or(&item.place, |e| &e.place);
            sections.push(Arc::new(walk(section, t, place, &path, out)));
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
            if let (true, Raw::Table(t)) = (is_class(&e.key), &e.item.value) {
                found.insert(e.key.clone(), of_class(t, &path, out));
                continue;
            }
            let mut p = Problem::new(path, "no such congestion control").at(&e.place);
            p.allowed = Some(ids().collect::<Vec<_>>().join(", "));
            p.hint = suggestions::hint(&e.key, ids());
            out.push(p);
            continue;
        };
        if let Some(t) = as_table(&e.item, &path, out) {
            found.insert(e.key.clone(), of_scheme(info, t, &path, out));
        }
    }
    Some(Part::ByScheme(found))
}

/// `[slow_start]`: a table per start.
fn by_start(item: &Item, path: &str, out: &mut Vec<Problem>) -> Option<Part> {
    let mut found = BTreeMap::new();
    for e in &as_table(item, path, out)?.0 {
        let path = join(path, &e.key);
        let Some(info) = perigee_cc::start_info(&e.key) else {
            let mut p = Problem::new(path, "no such slow start").at(&e.place);
            p.allowed = Some(starts::NAMES[1..].join(", "));
            p.hint = suggestions::hint(&e.key, starts::NAMES[1..].iter().copied());
            out.push(p);
            continue;
        };
        if let Some(t) = as_table(&e.item, &path, out) {
            found.insert(e.key.clone(), params(info.params, &[], t, &path, out));
        }
    }
    Some(Part::ByScheme(found))
}

/// The start that the key `other` of a section names.
fn start_of(table: &Table, other: &str) -> Option<&'static StartInfo> {
    match &table.get(other)?.item.value {
        Raw::Text(id) => perigee_cc::start_info(id),
        _ => None,
    }
}

/// Parameters of a built-in scheme; those without effect in this combination are rejected.
fn of_scheme(info: &SchemeInfo, table: &Table, path: &str, out: &mut Vec<Problem>) -> Given {
    let given = params(info.params, info.files(), table, path, out);
    let values = given.iter().filter(|(name, _)| info.params.iter().any(|p| p.name == name.as_str()));
    let values = values.map(|(name, (value, _))| (name.clone(), value.clone())).collect();
    if let Some(Needs { name, other, words }) = info.idle(&values) {
        let (value, place) = &given[*name];
        let words = words.iter().map(|w| format!("{w:?}")).collect::<Vec<_>>().join(" or ");
        let p = Problem::new(join(path, name), format!("no effect without {other} = {words}")).at(place);
        out.push(p.found(value.to_string()).hint(format!("remove it, or set {other} = {words}")));
    }
    given
}

/// Whether a name that is not a built-in scheme looks like that of a Python class; the parameters
/// that the class declares are checked once it is loaded.
fn is_class(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn of_class(table: &Table, path: &str, out: &mut Vec<Problem>) -> Given {
    let mut given = Given::new();
    for e in &table.0 {
        match e.item.single() {
            Some(value) => drop(given.insert(e.key.clone(), (value, e.place.clone()))),
            None => {
                let p = Problem::new(join(path, &e.key), "must be a single value").at(&e.item.place);
                out.push(p.found(e.item.value.shown()));
            }
        }
    }
    given
}

/// `[tcp]`: a table in it belongs to the scheme with its name.
fn tcp_of_all(item: &Item, path: &str, out: &mut Vec<Problem>) -> Option<Part> {
    let t = as_table(item, path, out)?;
    let is_scheme = |e: &Entry| matches!(e.item.value, Raw::Table(_)) && perigee_cc::info(&e.key).is_some();
    let (tables, options): (Vec<Entry>, Vec<Entry>) = t.0.iter().cloned().partition(is_scheme);
    // The profile has already been applied.
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

/// Reads a table of parameters by the table of a scheme or of the transport. The value of a file
/// parameter is its path.
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
                    Problem::new(path, "must be a file path").at(&e.item.place).found(e.item.value.shown()),
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
            p.hint = suggestions::hint(&entry.key, known.iter().copied());
            p
        }
        ParamError::Value { allowed, .. } => Problem::new(path, "value out of range or of the wrong type")
            .at(&entry.item.place)
            .found(entry.item.value.shown())
            .allowed(allowed),
    }
}
