// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The grammar as JSON Schema (for editors) and as a human-readable reference page.

use crate::file::disciplines;
use crate::file::grammar::{By, Content, Key, Only, Section};
use crate::file::profiles::{Preset, Profile, PROFILES};
use crate::file::top::Top;
use perigee_cc::{Domain, ParamSpec, SchemeInfo, Value};
use serde_json::{json, Map, Value as Json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// JSON Schema (draft 2020-12) of a scenario file.
pub fn json_schema() -> Json {
    let mut schema = section(&Top::SECTION);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Perigee scenario");
    // `extends` may supply keys that a file omits, so a single file has no required keys.
    if let Some(object) = schema.as_object_mut() {
        object.remove("required");
    }
    schema["properties"]["link"] = schema["properties"]["port"].clone();
    schema
}

fn section(s: &Section) -> Json {
    let mut properties: Map<String, Json> = s.keys.iter().map(|k| (k.name.to_string(), key(k))).collect();
    if has_discipline(s) {
        properties.extend(discipline_params());
    }
    properties.extend(of_kinds(s));
    let required: Vec<_> = s.keys.iter().filter(|k| k.required).map(|k| k.name).collect();
    let mut schema = json!({
        "type": "object",
        "description": s.help,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    let rules: Vec<Json> = kind_rules(s).into_iter().chain(s.all_keys().filter_map(absence)).collect();
    if !rules.is_empty() {
        schema["allOf"] = json!(rules);
    }
    schema
}

/// Keys of a section's kinds: of every kind that has the key.
fn of_kinds(s: &Section) -> Map<String, Json> {
    let mut all: Map<String, Json> = Map::new();
    for kind in s.kinds.iter().flat_map(|k| k.of) {
        for k in kind.keys {
            let new = key(k);
            let merged = match all.remove(k.name) {
                Some(old) if old != new => json!({"anyOf": [old, new]}),
                _ => new,
            };
            all.insert(k.name.into(), merged);
        }
    }
    all
}

/// Rules that exclude keys not valid for a kind of the section.
fn kind_rules(s: &Section) -> Vec<Json> {
    let Some(kinds) = s.kinds else { return Vec::new() };
    let rule = |kind: &&'static Section| {
        let own = |name: &str| kind.keys.iter().chain(s.keys).any(|k| k.name == name);
        let others = kinds.of.iter().flat_map(|k| k.keys).filter(|k| !own(k.name));
        let never: Map<String, Json> = others.map(|k| (k.name.to_string(), json!(false))).collect();
        let chosen = match kinds.by {
            By::Presence => json!({"required": [kind.name]}),
            By::Word(key) => {
                let given = json!({"properties": {key: {"const": kind.name}}, "required": [key]});
                let is_default = s.keys.iter().any(|k| k.name == key && k.default == Some(kind.name));
                let absent = json!({"not": {"required": [key]}});
                if is_default {
                    json!({"anyOf": [given, absent]})
                } else {
                    given
                }
            }
        };
        json!({"if": chosen, "then": {"properties": never}})
    };
    kinds.of.iter().map(rule).collect()
}

/// Keys that exclude each other. (Other conditions of a key may be met in a file extended by this
/// one.)
fn absence(k: &Key) -> Option<Json> {
    k.only.iter().find_map(|only| match only {
        Only::Absent(other) => Some(json!({"not": {"required": [k.name, other]}})),
        _ => None,
    })
}

fn has_discipline(s: &Section) -> bool {
    s.keys.iter().any(|k| matches!(k.content, Content::Discipline(_)))
}

fn key(k: &Key) -> Json {
    let mut schema = match &k.content {
        Content::Value(notation) | Content::Discipline(notation) => notation.json_schema(),
        Content::One(s) => section(s),
        Content::Named(s) => {
            let mut one = section(s);
            if s.name == "port" {
                // For ports of a constellation: the same keys for one direction.
                let own = one.clone();
                for way in ["up", "down"] {
                    one["properties"][way] = own.clone();
                }
            }
            json!({"type": "object", "additionalProperties": one})
        }
        Content::List(s) => json!({"type": "array", "items": section(s), "minItems": 1}),
        Content::Tcp => params(perigee_tcp::OPTIONS),
        Content::TcpOfAll => {
            let mut schema = params(perigee_tcp::OPTIONS);
            let ids: Vec<_> = PROFILES.iter().map(|p| p.id).collect();
            schema["properties"]["profile"] = json!({"enum": ids, "default": ids[0]});
            for s in perigee_cc::SCHEMES {
                schema["properties"][s.id] = params(perigee_tcp::OPTIONS);
            }
            schema
        }
        Content::ByScheme => {
            let schemes = perigee_cc::SCHEMES.iter().map(|s| {
                let mut schema = params(s.params);
                // Schemes that share a table of parameters may differ in defaults.
                for (name, value) in s.defaults() {
                    schema["properties"][name]["default"] = json!(value);
                }
                for f in s.files() {
                    schema["properties"][f.name] = json!({"type": "string", "description": f.help});
                }
                (s.id.to_string(), schema)
            });
            json!({
                "type": "object",
                "properties": schemes.collect::<Map<_, _>>(),
                // Python classes, which declare their own parameters.
                "patternProperties": {"^[A-Z][A-Za-z0-9_]*$": {"type": "object"}},
                "additionalProperties": false,
            })
        }
        Content::Sweep => json!({"type": "object", "minProperties": 1}),
        Content::SchemeOf(_) | Content::StartOf(_) => json!({"type": "object"}),
        Content::ByStart => {
            let starts = perigee_cc::STARTS.iter().map(|s| (s.id.to_string(), params(s.params)));
            json!({
                "type": "object",
                "properties": starts.collect::<Map<_, _>>(),
                "additionalProperties": false,
            })
        }
    };
    schema["description"] = json!(meaning(k));
    if let Some(default) = k.default {
        schema["default"] = match &k.content {
            Content::Value(notation)
                if matches!(schema["type"].as_str(), Some("integer" | "number" | "boolean")) =>
            {
                match notation.read_default(default) {
                    crate::file::notation::Val::Bool(b) => json!(b),
                    crate::file::notation::Val::Int(i) => json!(i),
                    crate::file::notation::Val::Number(x) => json!(x),
                    _ => json!(default),
                }
            }
            _ => json!(default),
        };
    }
    schema
}

/// Meaning of a key, with its conditions.
fn meaning(k: &Key) -> String {
    let (not, only): (Vec<&Only>, Vec<&Only>) = k.only.iter().partition(|o| matches!(o, Only::Without(..)));
    let words = |of: &[&Only]| of.iter().map(|o| o.to_string()).collect::<Vec<_>>().join(", ");
    let only = (!only.is_empty()).then(|| format!("only {}", words(&only)));
    let not = (!not.is_empty()).then(|| words(&not));
    let conditions: Vec<String> = only.into_iter().chain(not).collect();
    if conditions.is_empty() {
        k.help.into()
    } else {
        format!("{} ({})", k.help, conditions.join("; "))
    }
}

fn params(specs: &[ParamSpec]) -> Json {
    let properties: Map<String, Json> = specs.iter().map(|p| (p.name.to_string(), param(p))).collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn param(p: &ParamSpec) -> Json {
    let mut schema = match p.domain {
        Domain::Bool(_) => json!({"type": "boolean"}),
        Domain::Int { min, max, .. } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Domain::Float { min, max, .. } => json!({"type": "number", "minimum": min, "maximum": max}),
        Domain::Time { .. } | Domain::Data { .. } => json!({"type": "string"}),
        Domain::Choice(words) => json!({"enum": words}),
    };
    schema["default"] = json!(p.domain.default_value());
    schema["description"] = json!(format!("{} ({}source: {})", p.help, in_unit(p, "; "), p.source));
    schema
}

/// JSON Schema of the parameters of queue disciplines.
fn discipline_params() -> Vec<(String, Json)> {
    let schema = |[name, allowed, default, help]: [String; 4]| {
        let of: Vec<&ParamSpec> = perigee_queue::owners(&name).filter_map(|d| d.parameter(&name)).collect();
        let mut schema = param(of[0]);
        if let Some(object) = schema.as_object_mut() {
            // They depend on the port's discipline; the description lists the values.
            for key in ["default", "minimum", "maximum"].into_iter().filter(|_| of.len() > 1) {
                object.remove(key);
            }
        }
        schema["description"] = json!(format!("{help} ({allowed}; default {default})"));
        (name, schema)
    };
    disciplines::rows().into_iter().map(schema).collect()
}

/// The parameter's unit and the text after it; empty without a unit.
fn in_unit(p: &ParamSpec, then: &str) -> String {
    if p.unit.is_empty() {
        String::new()
    } else {
        format!("{}{then}", p.unit)
    }
}

/// Reference of all keys, in Markdown.
pub fn reference() -> String {
    let mut out = String::from(
        "# Scenario file\n\nTOML. Quantities carry their unit (`\"100 Mbit\"`, `\"50 ms\"`, `\"1 bdp\"`). Every key can be \
         set from the command line with `--set section.key=value`. Hyphens and underscores in keys are equivalent.\n",
    );
    page(&Top::SECTION, "", &mut out);
    let help =
        "Transport options of all flows. `profile` selects a set of other defaults (below); `[tcp.SCHEME]` \
                applies only to flows with that congestion control.";
    parameters("[tcp]", help, perigee_tcp::OPTIONS, None, &mut out);
    PROFILES.iter().for_each(|p| profile(p, &mut out));
    for d in perigee_queue::DISCIPLINES {
        let heading = format!("[port.NAME] discipline = \"{}\"", d.id);
        parameters(&heading, d.summary, d.params, None, &mut out);
    }
    for s in perigee_cc::STARTS {
        let id = if s.id.contains('+') { format!("{:?}", s.id) } else { s.id.into() };
        let help = format!("{} ({})", s.summary, s.source);
        parameters(&format!("[slow_start.{id}]"), &help, s.params, None, &mut out);
    }
    for s in perigee_cc::SCHEMES {
        parameters(&format!("[cc.{}]", s.id), s.summary, s.params, Some(s), &mut out);
        for f in s.files() {
            let _ = writeln!(out, "| `{}` | a file path | | {} | |", f.name, f.help);
        }
    }
    out
}

fn page(s: &Section, heading: &str, out: &mut String) {
    let title = if heading.is_empty() { "Top level" } else { heading };
    let _ = write!(out, "\n## {title}\n\n{}\n\n", s.help);
    rows(s.keys, out);
    if has_discipline(s) {
        for [name, allowed, default, help] in disciplines::rows() {
            let _ = writeln!(out, "| `{name}` | {allowed} | {default} | {help} |");
        }
    }
    let inner = heading.trim_matches(|c| c == '[' || c == ']');
    for (kinds, kind) in s.kinds.iter().flat_map(|kinds| kinds.of.iter().map(move |kind| (kinds, kind))) {
        let title = match kinds.by {
            By::Word(key) => format!("{heading} {key} = \"{}\"", kind.name),
            By::Presence => format!("{heading} {}", kind.name),
        };
        let _ = write!(out, "\n### {title}\n\n{}\n\n", kind.help);
        rows(kind.keys, out);
    }
    let at = |name: &str| if inner.is_empty() { name.to_string() } else { format!("{inner}.{name}") };
    for k in s.keys {
        match &k.content {
            Content::One(s) => page(s, &format!("[{}]", at(k.name)), out),
            Content::Named(s) => page(s, &format!("[{}.NAME]", at(k.name)), out),
            Content::List(s) => page(s, &format!("[[{}]]", at(k.name)), out),
            _ => {}
        }
    }
}

fn rows(keys: &[Key], out: &mut String) {
    if keys.is_empty() {
        return;
    }
    out.push_str("| key | value | default | meaning |\n|---|---|---|---|\n");
    for k in keys {
        let (allowed, default) = match &k.content {
            Content::Value(notation) | Content::Discipline(notation) => {
                (notation.allowed(), k.default.map_or(String::new(), |d| format!("`{d}`")))
            }
            _ => ("see below".to_string(), String::new()),
        };
        let default = if k.required { "required".into() } else { default };
        let _ =
            writeln!(out, "| `{}` | {} | {default} | {} |", k.name, allowed.replace('|', "\\|"), meaning(k));
    }
}

/// Section of a table of parameters; `of`: the scheme with these parameters, for its defaults.
fn parameters(heading: &str, help: &str, specs: &[ParamSpec], of: Option<&SchemeInfo>, out: &mut String) {
    if specs.is_empty() {
        let _ = write!(out, "\n## {heading}\n\n{help}\n");
        return;
    }
    let _ = write!(
        out,
        "\n## {heading}\n\n{help}\n\n| key | value | default | meaning | source |\n|---|---|---|---|---|\n"
    );
    // Schemes that share a table of parameters may differ in defaults.
    let own: BTreeMap<&str, Value> = of.map(SchemeInfo::defaults).unwrap_or_default().into_iter().collect();
    for p in specs {
        let default = own.get(p.name).cloned().unwrap_or_else(|| p.domain.default_value());
        let default = disciplines::shown(&default);
        let _ = writeln!(
            out,
            "| `{}` | {} | `{default}`{} | {} | {} |",
            p.name,
            p.domain.allowed(),
            if p.unit.is_empty() { String::new() } else { format!(" {}", p.unit) },
            p.help,
            p.source
        );
    }
}

fn profile(p: &Profile, out: &mut String) {
    let _ = write!(out, "\n## [tcp] profile = \"{}\"\n\n{}.\n", p.id, p.help);
    if let Some(base) = p.base {
        let _ = write!(out, "\nAll of `{base}`, and:\n");
    }
    if !p.settings.is_empty() {
        out.push_str("\n| key | value | source |\n|---|---|---|\n");
    }
    for s in p.settings {
        let value = match s.value {
            Preset::Bool(b) => b.to_string(),
            Preset::Int(i) => i.to_string(),
            Preset::Float(x) => x.to_string(),
            Preset::Text(t) => t.to_string(),
        };
        let _ = writeln!(out, "| `{}` | `{value}` | {} |", s.key, s.source);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_of_the_grammar_can_be_read() {
        fn visit(s: &Section) {
            for k in s.all_keys() {
                match (&k.content, k.default) {
                    (Content::Value(notation) | Content::Discipline(notation), Some(text)) => {
                        notation.read_default(text);
                    }
                    (Content::One(s) | Content::Named(s) | Content::List(s), _) => visit(s),
                    _ => {}
                }
            }
        }
        visit(&Top::SECTION);
    }

    #[test]
    fn conditions_are_stated_in_brackets() {
        let reference = reference();
        assert!(reference.contains("number of identical flows (not with app = \"programs\")"));
        assert!(reference.contains("maximum deviation from near, as a fraction of it (only with near)"));
        assert!(!reference.contains("only not"));
    }

    #[test]
    fn the_schema_knows_every_section_and_scheme() {
        let schema = json_schema();
        assert_eq!(schema["properties"]["run"]["properties"]["runs"]["default"], 1);
        assert!(schema["properties"]["cc"]["properties"]["newreno"].is_object());
        assert_eq!(schema["properties"]["source"]["properties"]["chain"]["additionalProperties"], false);
        let reference = reference();
        assert!(reference.contains("## [source.dumbbell]") && reference.contains("## [[flow]]"));
    }
}
