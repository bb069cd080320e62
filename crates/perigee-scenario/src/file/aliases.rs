// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Former names in scenario files: accepted for one version, with a warning that states the new
//! name.

use crate::file::tree::{Raw, Table};

/// A name that has changed.
struct Old {
    /// Tables in which the name appears; `*` matches any.
    within: &'static [&'static str],
    /// Former name.
    old: &'static str,
    /// Current name.
    new: &'static str,
    /// Values that have been renamed.
    values: &'static [(&'static str, New)],
}

/// Current form of a value.
#[derive(Clone, Copy)]
enum New {
    Bool(bool),
    Word(&'static str),
}

const fn renamed(within: &'static [&'static str], old: &'static str, new: &'static str) -> Old {
    Old { within, old, new, values: &[] }
}

const SKY: &[&str] = &["source", "constellation"];

const OLD: &[Old] = &[
    Old {
        within: &["source", "*"],
        old: "delay_drop",
        new: "reordering",
        values: &[("reorder", New::Bool(true)), ("fifo", New::Bool(false))],
    },
    Old { within: &["schedule"], old: "recipe", new: "recipe", values: &[("seed000", New::Word("leo-cc"))] },
    Old { within: &["flow"], old: "hosts", new: "backend", values: &[("simulated", New::Word("simulator"))] },
    renamed(SKY, "lasers", "isls"),
    renamed(SKY, "laser_list", "isl_list"),
    renamed(SKY, "laser_seam", "isl_seam"),
    renamed(SKY, "laser_count", "isl_count"),
    renamed(SKY, "laser_range", "isl_range"),
    renamed(SKY, "laser_height", "isl_height"),
    renamed(SKY, "laser_period", "isl_period"),
    renamed(SKY, "laser_setup", "isl_setup"),
    renamed(&["source", "constellation", "shell"], "lasers", "isls"),
    renamed(&["source", "constellation", "shells"], "lasers", "isls"),
    renamed(&["port"], "laser", "isl"),
    renamed(&["link"], "laser", "isl"),
];

/// Replaces former names by current ones; returns a warning for each.
pub fn apply(table: &mut Table) -> Vec<String> {
    let mut remarks = Vec::new();
    for old in OLD {
        visit(table, old, old.within, &mut remarks);
    }
    remarks
}

fn visit(table: &mut Table, old: &Old, within: &[&str], remarks: &mut Vec<String>) {
    let Some((first, rest)) = within.split_first() else { return rename(table, old, remarks) };
    for e in table.0.iter_mut().filter(|e| *first == "*" || e.key.replace('-', "_") == *first) {
        match &mut e.item.value {
            Raw::Table(t) => visit(t, old, rest, remarks),
            Raw::List(items) => {
                for item in items {
                    if let Raw::Table(t) = &mut item.value {
                        visit(t, old, rest, remarks);
                    }
                }
            }
            _ => {}
        }
    }
}

fn rename(table: &mut Table, old: &Old, remarks: &mut Vec<String>) {
    let Some(at) = table.0.iter().position(|e| e.key.replace('-', "_") == old.old) else { return };
    let value = match &table.0[at].item.value {
        Raw::Text(word) => old.values.iter().find(|(was, _)| was == word).map(|(_, new)| *new),
        _ => None,
    };
    if old.old == old.new && value.is_none() {
        return;
    }
    let (place, was) = (table.0[at].place.clone(), table.0[at].item.value.shown());
    let e = &mut table.0[at];
    e.key = old.new.into();
    match value {
        Some(New::Bool(b)) => e.item.value = Raw::Bool(b),
        Some(New::Word(word)) => e.item.value = Raw::Text(word.into()),
        None => {}
    }
    let section = old.within.join(".");
    let now = match value {
        Some(_) => format!("{section}.{} = {}", old.new, e.item.value.shown()),
        None => format!("{section}.{}", old.new),
    };
    let before = if value.is_some() { format!("{} = {was}", old.old) } else { old.old.to_string() };
    remarks
        .push(format!("{place}: {before} is deprecated, use {now}; the next version rejects the old name"));
    // An override by the former name takes precedence over the current name in the file, and vice
    // versa.
    let twin = table.0.iter().enumerate().position(|(i, e)| i != at && e.key.replace('-', "_") == old.new);
    if let Some(twin) = twin {
        if table.0[twin].place.is_above(&place) {
            table.0.remove(at);
        } else if place.is_above(&table.0[twin].place) {
            table.0.remove(twin);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use std::path::Path;

    #[test]
    fn old_names_hold_with_a_remark_that_tells_the_new_one() {
        let text = "[run]\nduration = \"1 s\"\n[source.dumbbell]\ndelay_drop = \"reorder\"\n[schedule]\n\
                    recipe = \"seed000\"\n[[flow]]\ncc = \"cubic\"\n";
        let s = Scenario::parse(text, "t.toml", Path::new(""), &[]).unwrap();
        let says = "t.toml:4: delay_drop = \"reorder\" is deprecated, use source.*.reordering = true";
        assert!(s.remarks.iter().any(|r| r.starts_with(says)), "{:?}", s.remarks);
        assert!(s.remarks.iter().any(|r| r.contains("recipe = \"leo-cc\"")), "{:?}", s.remarks);
        assert!(s.resolved_toml.contains("reordering = true") && !s.resolved_toml.contains("seed000"));
        let again = Scenario::parse(&s.resolved_toml, "t.toml", Path::new(""), &[]).unwrap();
        assert!(again.remarks.is_empty());
    }

    #[test]
    fn hosts_of_flows_are_their_backend() {
        let parse = |flow: &str| {
            let text =
                format!("[run]\nduration = \"1 s\"\n[source.dumbbell]\n[[flow]]\ncc = \"cubic\"\n{flow}");
            Scenario::parse(&text, "t.toml", Path::new(""), &[])
        };
        for (old, new) in [("simulated", "simulator"), ("linux", "linux")] {
            let older = parse(&format!("hosts = \"{old}\"\n")).unwrap();
            let newer = parse(&format!("backend = \"{new}\"\n")).unwrap();
            assert_eq!(older.resolved_toml, newer.resolved_toml);
            assert!(
                older.remarks[0].contains("flow.backend") && newer.remarks.is_empty(),
                "{:?}",
                older.remarks
            );
        }
        let both =
            parse("hosts = \"linux\"\nbackend = \"simulator\"\n").expect_err("they contradict each other");
        assert!(both.to_string().contains("given twice"), "{both}");
        let unknown = parse("backend = \"linus\"\n").expect_err("there is none").to_string();
        assert!(unknown.contains("simulator, linux"), "{unknown}");
    }

    #[test]
    fn an_override_by_the_old_name_wins_over_the_new_one_in_the_file() {
        let text = "[run]\nduration = \"1 s\"\n[source.constellation]\npreset = \"starlink-shell1\"\nisls = \"grid\"\n\
                    [port.isl]\nrate = \"1 Gbit\"\n[node.a]\nplace = \"London\"\n[node.b]\nplace = \"Paris\"\n\
                    [[flow]]\nfrom = \"a\"\nto = \"b\"\ncc = \"cubic\"\n";
        let sets = ["source.constellation.lasers=none".to_string()];
        let s = Scenario::parse(text, "t.toml", Path::new(""), &sets).unwrap();
        assert!(s.resolved_toml.contains("isls = \"none\""), "{}", s.resolved_toml);
        assert_eq!(s.remarks.len(), 1, "{:?}", s.remarks);
    }
}
