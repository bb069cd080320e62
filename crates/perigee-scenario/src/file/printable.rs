// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Check that keys and texts are single lines of visible characters: they become names in tables,
//! pages, scripts and terminals. Input and source text of programs is content, and may be anything.

use crate::file::error::{Place, Problem};
use crate::file::programs::Program;
use crate::file::tree::{Item, Raw, Table};
use perigee_units::names;

/// Keys of `[[program]]` with content.
const CONTENT: [&str; 3] = ["command", "input", "environment"];

/// Rejects a tree with an invalid key or text.
///
/// # Errors
/// The first one, with its place.
pub fn check(table: &Table) -> Result<(), Problem> {
    in_table(table, "")
}

fn in_table(table: &Table, path: &str) -> Result<(), Problem> {
    for e in &table.0 {
        fit(&e.key, path, &e.place, "a key ")?;
        let path = if path.is_empty() { e.key.clone() } else { format!("{path}.{}", e.key) };
        match &e.item.value {
            Raw::List(programs) if path == Program::SECTION.name => {
                programs.iter().try_for_each(in_program)?
            }
            _ => in_item(&e.item, &path)?,
        }
    }
    Ok(())
}

fn in_program(item: &Item) -> Result<(), Problem> {
    match &item.value {
        Raw::Table(t) => in_table(&t.without(&CONTENT.map(String::from)), Program::SECTION.name),
        _ => in_item(item, Program::SECTION.name),
    }
}

fn in_item(item: &Item, path: &str) -> Result<(), Problem> {
    match &item.value {
        Raw::Text(text) => fit(text, path, &item.place, ""),
        Raw::List(items) => items.iter().try_for_each(|i| in_item(i, path)),
        Raw::Table(t) => in_table(t, path),
        Raw::Bool(_) | Raw::Int(_) | Raw::Float(_) => Ok(()),
    }
}

fn fit(text: &str, path: &str, place: &Place, what: &str) -> Result<(), Problem> {
    names::check(text)
        .map_err(|why| Problem::new(path, format!("{what}{why}")).at(place).found(format!("{text:?}")))
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use std::path::Path;

    #[test]
    fn line_breaks_and_escape_sequences_are_refused_wherever_they_stand() {
        let base = "[run]\nduration = \"1 s\"\n[source.dumbbell]\nrtt = \"9 ms\"\n[port.bottleneck]\nrate = \"1 Mbit\"\n";
        let read = |text: &str, sets: &[&str]| {
            let sets: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
            Scenario::parse(text, "t.toml", Path::new(""), &sets).map(|_| ()).map_err(|e| e.to_string())
        };
        let flow = "[[flow]]\ncc = \"cubic\"\n";
        assert_eq!(read(&format!("title = \"São Paulo\"\n{base}{flow}"), &[]), Ok(()));
        for (text, line) in [
            (
                format!("title = \"a\\nb\"\n{base}{flow}"),
                "t.toml:1: title: contains the control character U+000A",
            ),
            (
                format!("{base}{flow}name = \"a\\u001b[2J\"\n"),
                "t.toml:9: flow.name: contains the control character U+001B",
            ),
            (
                format!("{base}{flow}[[expect]]\nmetric = \"share\"\nat_least = 0.5\nsource = \"a\\nb\"\n"),
                "expect.source: contains the control character U+000A; only one line of visible characters is allowed",
            ),
            (format!("{base}{flow}[port.\"x\\ny\"]\nrate = \"1 Mbit\"\n"), "port: a key contains"),
            (
                format!("{base}{flow}[sweep]\n\"run.seed\" = [\"\\u202e\"]\n"),
                "contains the control character U+202E",
            ),
        ] {
            let e = read(&text, &[]).unwrap_err();
            assert!(e.contains(line) && !e.contains('\u{1b}') && !e.contains('\n'), "{e:?}");
        }
        let e = read(&format!("{base}{flow}"), &["title=\"a\\rb\""]).unwrap_err();
        assert!(e.contains("U+000D"), "{e}");
    }

    #[test]
    fn what_programs_read_and_run_may_have_lines() {
        let text = "[run]\nduration = \"1 s\"\n[source.dumbbell]\nrtt = \"9 ms\"\n[port.bottleneck]\nrate = \"1 Mbit\"\n\
                    [[flow]]\napp = \"programs\"\n[[program]]\nnode = \"s1\"\ncommand = \"a\\nb\"\ninput = \"1\\n2\\n\"\n";
        assert!(Scenario::parse(text, "t.toml", Path::new(""), &[]).is_ok());
        let bad = text.replace("\"s1\"", "\"s\\n1\"");
        let e = Scenario::parse(&bad, "t.toml", Path::new(""), &[]).unwrap_err().to_string();
        assert!(e.contains("program.node: contains the control character U+000A"), "{e}");
    }
}
