// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Conversion of a resolved tree to TOML, for manifests: a recorded run can be repeated without its
//! original file.

use crate::file::grammar::{Content, Section};
use crate::file::notation::{function, Notation};
use crate::file::top::Top;
use crate::file::tree::{resolve, Item, Raw, Table};
use std::collections::BTreeMap;

/// The tree as TOML, with paths relative to where the scenario was loaded. Keys are sorted, except
/// for named sections: their order numbers the nodes.
pub fn toml(table: &Table) -> String {
    toml::to_string(&tree(table, Some(&Top::SECTION))).unwrap_or_default()
}

/// One value as TOML, in the form of overrides.
pub(crate) fn one(item: &Item) -> String {
    value(item, None).to_string()
}

fn tree(table: &Table, section: Option<&'static Section>) -> BTreeMap<String, toml::Value> {
    let entry = |e: &crate::file::tree::Entry| {
        let key = section.and_then(|s| s.all_keys().find(|k| k.name == e.key.replace('-', "_")));
        (e.key.clone(), value(&e.item, key.map(|k| &k.content)))
    };
    table.0.iter().map(entry).collect()
}

fn value(item: &Item, content: Option<&'static Content>) -> toml::Value {
    match (&item.value, content) {
        (Raw::Text(t), Some(Content::Value(Notation::WordOrFile(words)))) if words.contains(&t.as_str()) => {
            toml::Value::String(t.clone())
        }
        (Raw::Text(t), Some(Content::Value(Notation::File | Notation::WordOrFile(_)))) => {
            toml::Value::String(resolve(&item.place, t).display().to_string())
        }
        (Raw::Text(t), Some(Content::Value(Notation::WordOrFunction(_)))) => {
            toml::Value::String(match function(t) {
                Some((file, name)) => format!("{}:{name}", resolve(&item.place, file).display()),
                None => t.clone(),
            })
        }
        // Scheme parameters that are files.
        (Raw::Table(t), Some(Content::ByScheme)) => {
            let one = |e: &crate::file::tree::Entry| {
                (e.key.clone(), value(&e.item, Some(&Content::SchemeOf("cc"))))
            };
            toml::Value::Table(t.0.iter().map(one).collect())
        }
        (Raw::Table(t), Some(Content::SchemeOf(_))) => {
            let one = |e: &crate::file::tree::Entry| {
                let file = is_file(&e.key).then_some(&FILE);
                (e.key.clone(), value(&e.item, file))
            };
            toml::Value::Table(t.0.iter().map(one).collect())
        }
        (Raw::Text(t), _) => toml::Value::String(t.clone()),
        (Raw::Bool(b), _) => toml::Value::Boolean(*b),
        (Raw::Int(i), _) => toml::Value::Integer(*i),
        (Raw::Float(x), _) => toml::Value::Float(*x),
        (Raw::List(l), c) => toml::Value::Array(l.iter().map(|i| value(i, c)).collect()),
        (Raw::Table(t), Some(Content::Named(s))) => {
            let one = |e: &crate::file::tree::Entry| (e.key.clone(), named(&e.item, s));
            toml::Value::Table(t.0.iter().map(one).collect())
        }
        (Raw::Table(t), Some(Content::One(s) | Content::List(s))) => {
            toml::Value::Table(tree(t, Some(s)).into_iter().collect())
        }
        (Raw::Table(t), _) => toml::Value::Table(tree(t, None).into_iter().collect()),
    }
}

static FILE: Content = Content::Value(Notation::File);

fn is_file(key: &str) -> bool {
    perigee_cc::SCHEMES.iter().any(|s| s.files().iter().any(|f| f.name == key))
}

fn named(item: &Item, section: &'static Section) -> toml::Value {
    match &item.value {
        Raw::Table(t) => toml::Value::Table(tree(t, Some(section)).into_iter().collect()),
        _ => value(item, None),
    }
}
