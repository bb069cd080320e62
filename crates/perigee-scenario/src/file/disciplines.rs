// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Queue disciplines in scenario files. Each declares its parameters once, in `perigee-queue`; they
//! are keys of `[port.NAME]` next to the name of the discipline. A parameter of another discipline
//! would have no effect, so it is rejected.

use crate::file::checked::Checked;
use crate::file::error::Problem;
use crate::file::field::{Field, FromPart};
use crate::file::grammar::{Key, DISCIPLINE_PARAMS};
use crate::file::suggestions;
use crate::file::tree::{Entry, Given};
use perigee_queue::{info, owners, DisciplineInfo, Setup, DISCIPLINES};
use perigee_timeline::Discipline;
use perigee_units::params::{Domain, ParamSpec, Params, Value as Param};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The discipline of a port that names none.
pub const DEFAULT: &str = DISCIPLINES[0].id;

/// The name of every discipline.
pub const NAMES: &[&str] = &{
    let mut names = [""; DISCIPLINES.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = DISCIPLINES[i].id;
        i += 1;
    }
    names
};

/// The discipline of a `[port.NAME]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chosen {
    /// Name of the discipline, if given.
    pub name: Option<String>,
    /// Parameters.
    pub params: Given,
}

impl Field for Chosen {
    const SHAPES: u64 = <String as FromPart>::SHAPES;
    const OPTIONAL: bool = true;

    fn read(section: &Checked, row: &Key) -> Self {
        let name = section.written(row.name).and_then(|(part, place)| String::from_part(part, place));
        let params = section.written(DISCIPLINE_PARAMS).and_then(|(p, place)| Given::from_part(p, place));
        Chosen { name, params: params.unwrap_or_default() }
    }
}

impl Chosen {
    /// Applies another table on top.
    pub fn add(&mut self, other: &Chosen) {
        if other.name.is_some() {
            self.name.clone_from(&other.name);
        }
        self.params.extend(other.params.clone());
    }

    /// The discipline; the grammar has checked its name.
    pub fn info(&self) -> &'static DisciplineInfo {
        self.name.as_deref().and_then(info).unwrap_or(&DISCIPLINES[0])
    }

    /// Resolves the value of every parameter at a port.
    pub fn resolve(&self, setup: &Setup) -> Arc<Discipline> {
        let info = self.info();
        let own = self.params.iter().filter(|(name, _)| info.parameter(name).is_some());
        let given = own.map(|(name, (value, _))| (name.clone(), value.clone())).collect();
        let params = info.resolve(given, setup).expect("the grammar has checked the values");
        Arc::new(Discipline { name: info.id.into(), params })
    }
}

/// Whether any discipline has a parameter of this name.
pub fn is_parameter(key: &str) -> bool {
    owners(&key.replace('-', "_")).next().is_some()
}

/// Reads parameters from the table of a port, where the discipline is `name`, if given.
pub fn read(name: Option<&str>, entries: &[&Entry], path: &str, out: &mut Vec<Problem>) -> Given {
    let mut given = Given::new();
    for e in entries {
        let key = e.key.replace('-', "_");
        let path = format!("{path}.{key}");
        let Some(value) = e.item.single() else {
            let p = Problem::new(path, "must be a single value").at(&e.item.place);
            out.push(p.found(e.item.value.shown()));
            continue;
        };
        let named = name.and_then(info);
        if let Some(info) = named.filter(|d| d.parameter(&key).is_none()) {
            out.push(not_its_own(&path, &key, info).at(&e.place));
            continue;
        }
        let specs: Vec<&ParamSpec> = match named {
            Some(info) => info.parameter(&key).into_iter().collect(),
            None => owners(&key).filter_map(|d| d.parameter(&key)).collect(),
        };
        let value = whole(value, specs[0]);
        if specs.iter().any(|s| s.domain.admits(&value)) {
            given.insert(key, (value, e.place.clone()));
            continue;
        }
        let why = match value {
            Param::Int(_) | Param::Float(_) if has_unit(specs[0]) => "a bare number has no unit",
            _ => "value out of range or of the wrong type",
        };
        let p = Problem::new(path, why).at(&e.item.place).found(e.item.value.shown());
        out.push(p.allowed(specs[0].domain.allowed()));
    }
    given
}

/// Converts a float without a fraction, such as 1e3, to an integer where the parameter requires
/// one.
fn whole(value: Param, spec: &ParamSpec) -> Param {
    match (value, spec.domain) {
        (Param::Float(x), Domain::Int { .. }) if x.fract() == 0.0 && x.abs() < 1e15 => Param::Int(x as i64),
        (value, _) => value,
    }
}

fn has_unit(spec: &ParamSpec) -> bool {
    matches!(spec.domain, Domain::Time { .. } | Domain::Data { .. })
}

/// Parameter `key` at a port with a discipline that does not have it.
pub fn not_its_own(path: &str, key: &str, found: &DisciplineInfo) -> Problem {
    let names: Vec<&str> = owners(key).map(|d| d.id).collect();
    let mut p = Problem::new(
        path,
        format!("no effect: the discipline of this port, {}, has no such parameter", found.id),
    );
    if !found.params.is_empty() {
        let own = found.params.iter().map(|p| p.name);
        p = p.allowed(own.clone().collect::<Vec<_>>().join(", "));
        p.hint = suggestions::hint(key, own);
    }
    if p.hint.is_none() {
        p = p.hint(format!("remove it, or set discipline = \"{}\"", names.join("\" or \"")));
    }
    p
}

/// The parameters of all disciplines as rows of a reference: name, allowed values, default,
/// meaning.
pub fn rows() -> Vec<[String; 4]> {
    let mut rows: Vec<[String; 4]> = Vec::new();
    for p in DISCIPLINES.iter().flat_map(|d| d.params) {
        if rows.iter().any(|r| r[0] == p.name) {
            continue;
        }
        let of: Vec<(&str, &ParamSpec)> =
            owners(p.name).filter_map(|d| Some((d.id, d.parameter(p.name)?))).collect();
        rows.push([
            p.name.into(),
            told(&of, &|s| s.domain.allowed(), false),
            told(&of, &|s| format!("`{}`", shown(&s.domain.default_value())), false),
            told(&of, &|s| s.help.into(), true),
        ]);
    }
    rows
}

/// Joins the descriptions of a parameter by several disciplines: each distinct text once, prefixed
/// with the names of its disciplines. A single text is prefixed only with `always`.
fn told(of: &[(&str, &ParamSpec)], text: &dyn Fn(&ParamSpec) -> String, always: bool) -> String {
    let mut texts: Vec<(String, Vec<&str>)> = Vec::new();
    for (id, spec) in of {
        let text = text(spec);
        match texts.iter_mut().find(|(known, _)| *known == text) {
            Some((_, ids)) => ids.push(id),
            None => texts.push((text, vec![id])),
        }
    }
    if let ([(text, _)], false) = (texts.as_slice(), always) {
        return text.clone();
    }
    texts.iter().map(|(text, ids)| format!("{}: {text}", ids.join(", "))).collect::<Vec<_>>().join("; ")
}

/// A value as written in the reference.
pub(crate) fn shown(value: &Param) -> String {
    match value {
        Param::Text(t) => t.clone(),
        other => other.to_string(),
    }
}

/// Checks the discipline of an externally supplied timeline.
///
/// # Errors
/// A message: an unknown name, or parameters that the discipline does not allow.
pub fn check(d: &Discipline) -> Result<(), String> {
    let info = info(&d.name)
        .ok_or_else(|| format!("no such queue discipline: {:?}; allowed: {}", d.name, NAMES.join(", ")))?;
    let params: BTreeMap<String, Param> = d.params.clone();
    Params::new(info.params, params).map(drop).map_err(|e| format!("queue discipline {}: {e}", d.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_has_one_row_that_names_its_disciplines() {
        let rows = rows();
        let target = rows.iter().find(|r| r[0] == "target").unwrap();
        assert!(
            target[2].contains("codel, fq_codel: `5 ms`") && target[2].contains("pie, dualpi2: `15 ms`"),
            "{target:?}"
        );
        assert!(target[3].starts_with("codel, fq_codel: "), "{target:?}");
        assert_eq!(rows.iter().filter(|r| r[0] == "interval").count(), 1);
    }

    #[test]
    fn a_timeline_with_a_discipline_that_nobody_knows_is_refused() {
        assert!(check(&Discipline::default()).is_ok());
        let other = Discipline { name: "blue".into(), ..Discipline::default() };
        assert!(check(&other).unwrap_err().contains("blue"));
        let params = BTreeMap::from([("red_min".to_string(), Param::Text("1 B".into()))]);
        assert!(check(&Discipline { name: "pie".into(), params }).unwrap_err().contains("red_min"));
    }
}
