// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[[program]]`: programs on real hosts.

use crate::file::error::{Place, Problem};
use crate::file::flow::FlowSpec;
use crate::file::grammar::Only;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use crate::file::rows::ANY_TIME;
use crate::file::tree::{Entry, Item, Raw, Table};
use perigee_timeline::App;
use perigee_units::Nanos;
use std::path::PathBuf;

parameters! {
    /// `[[program]]`.
    Program = "program", "A program of this machine, run on a node; requires real hosts (--backend linux).";
    node: String = required(Notation::Text, "node on which it runs: an end of a flow with app = \"programs\"");
    command: Vec<String> = required(Notation::OneOrMany(&Notation::Text), "a shell command line, or a list: the program and its arguments");
    start: Nanos = key(ANY_TIME, "0 s", "start time");
    namespace: String = key(Notation::Word(&["node", "first"]), "node", "network namespace: node = that of its node; first = the initial namespace of the kernel, in which modules have their netlink sockets");
    wait: bool = key(Notation::Bool, "false", "end the run once all programs with wait = true have exited");
    environment: Vec<String> = optional(Notation::OneOrMany(&Notation::Text), "environment variables, as \"NAME=VALUE\"");
    folder: Option<PathBuf> = optional(Notation::File, "working directory; default: the folder of this file");
    stdin: Option<PathBuf> = optional(Notation::File, "file for standard input; default: empty");
    input: Option<String> = optional(Notation::Text, "text for standard input"), only &[Only::Absent("stdin")];
}

/// A program on a node.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // the keys document each
pub struct ProgramSpec {
    pub node: String,
    /// The program and its arguments.
    pub words: Vec<String>,
    pub start: Nanos,
    pub wait: bool,
    pub environment: Vec<String>,
    pub folder: PathBuf,
    pub input: Option<Input>,
    pub first_namespace: bool,
    /// Place of its node in the scenario.
    pub place: Place,
}

impl ProgramSpec {
    /// File read by the program, if any.
    pub fn file(&self) -> Option<PathBuf> {
        match &self.input {
            Some(Input::File(path)) => Some(path.clone()),
            _ => None,
        }
    }
}

/// Input of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A file on this machine.
    File(PathBuf),
    /// These bytes.
    Bytes(Vec<u8>),
}

/// Writes the folder of the file into programs without one: resolved scenarios are loaded from
/// other folders.
pub fn name_folders(table: &mut Table) {
    let lists = table.0.iter_mut().filter(|e| e.key == Program::SECTION.name);
    for item in lists.flat_map(|e| match &mut e.item.value {
        Raw::List(items) => items.iter_mut(),
        _ => [].iter_mut(),
    }) {
        let place = item.place.clone();
        if let Raw::Table(program) = &mut item.value {
            if program.get("folder").is_none() {
                let here = Item { value: Raw::Text(".".into()), place: place.clone() };
                program.0.push(Entry { key: "folder".into(), place, item: here });
            }
        }
    }
}

impl Program {
    pub(crate) fn spec(self, duration: Nanos, problems: &mut Vec<Problem>) -> ProgramSpec {
        let c = self.written;
        if self.start >= duration {
            problems.push(c.problem("start", format!("must be before the end of the run ({duration})")));
        }
        for variable in self.environment.iter().filter(|v| v.find('=').is_none_or(|at| at == 0)) {
            let p = c.problem("environment", "invalid environment variable").found(format!("{variable:?}"));
            problems.push(p.allowed("NAME=VALUE"));
        }
        ProgramSpec {
            node: self.node,
            words: words(self.command),
            start: self.start,
            wait: self.wait,
            environment: self.environment,
            folder: self.folder.unwrap_or_default(),
            input: self.stdin.map(Input::File).or(self.input.map(|t| Input::Bytes(t.into_bytes()))),
            first_namespace: self.namespace == "first",
            place: c.place_of("node").clone(),
        }
    }
}

/// A single text is a shell command line, unless it is the plain name of a program.
pub fn words(given: Vec<String>) -> Vec<String> {
    let plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
    match &given[..] {
        [line] if !line.chars().all(plain) => vec!["/bin/sh".into(), "-c".into(), line.clone()],
        _ => given,
    }
}

/// Checks that a flow carries the packets of programs.
pub fn check(programs: &[ProgramSpec], flows: &[FlowSpec], problems: &mut Vec<Problem>) {
    let carrier = flows.iter().find(|f| f.app == App::Programs);
    if let (Some(program), None) = (programs.first(), carrier) {
        let p = Problem::new("program.node", "no flow carries its packets").at(&program.place);
        problems.push(p.hint("add a [[flow]] with app = \"programs\" between its node and another"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;
    use std::path::Path;

    fn scenario(programs: &str) -> Result<Scenario, String> {
        let base = "[run]\nduration = \"9 s\"\n[source.dumbbell]\n[[flow]]\napp = \"programs\"\n";
        let text = format!("{base}{programs}");
        Scenario::parse(&text, "s.toml", Path::new("/home"), &[]).map_err(|e| e.to_string())
    }

    #[test]
    fn a_text_is_a_line_for_the_shell_and_a_list_is_words() {
        let line = |text: &str| words(vec![text.into()]).join("|");
        assert_eq!(line("curl -s x"), "/bin/sh|-c|curl -s x");
        assert_eq!(line("a;b"), "/bin/sh|-c|a;b");
        assert_eq!(line("./server-2.0"), "./server-2.0");
        assert_eq!(words(vec!["echo".into(), "a b".into()]), ["echo", "a b"]);
    }

    #[test]
    fn a_program_has_all_that_the_file_says() {
        let s = scenario(
            "[[program]]\nnode = \"s1\"\ncommand = [\"cat\", \"-\"]\nstart = \"1 s\"\nwait = true\n\
             environment = [\"A=1\"]\nstdin = \"words.txt\"\n[[program]]\nnode = \"d1\"\ncommand = \"sleep 1\"\ninput = \"x\"\n",
        );
        let s = s.unwrap();
        let [cat, sleep] = &s.programs[..] else { panic!("{:?}", s.programs) };
        assert_eq!((cat.words.join(" "), cat.start, cat.wait), ("cat -".into(), Nanos::from_secs(1), true));
        assert_eq!(cat.input, Some(Input::File("/home/words.txt".into())));
        assert_eq!(cat.environment, ["A=1"]);
        assert_eq!((sleep.folder.as_path(), sleep.words.len()), (Path::new("/home/."), 3));
        assert_eq!(sleep.input, Some(Input::Bytes(b"x".to_vec())));
        assert_eq!(s.files, [PathBuf::from("/home/words.txt")]);
        let again = Scenario::parse(&s.resolved_toml, "s", Path::new("/elsewhere"), &[]).unwrap();
        assert_eq!(again.programs[1].folder, sleep.folder);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let refused = |programs: &str| scenario(programs).unwrap_err();
        let e = refused("[[program]]\nnode = \"s1\"\ncommand = \"x\"\nenvironment = \"A\"\n");
        assert!(e.contains("s.toml:9") && e.contains("NAME=VALUE"), "{e}");
        let e = refused("[[program]]\nnode = \"s1\"\ncommand = \"x\"\nstart = \"9 s\"\n");
        assert!(e.contains("s.toml:9") && e.contains("before the end"), "{e}");
        let e = refused("[[program]]\nnode = \"s1\"\ncommand = \"x\"\nstdin = \"f\"\ninput = \"t\"\n");
        assert!(e.contains("s.toml:10") && e.contains("no effect"), "{e}");
        let e = refused("count = 2\n");
        assert!(e.contains("s.toml:6") && e.contains("no effect with app = \"programs\""), "{e}");
        let text = "[run]\nduration = \"9 s\"\n[source.dumbbell]\n[[flow]]\n[[program]]\nnode = \"s1\"\ncommand = \"x\"\n";
        let e = Scenario::parse(text, "s.toml", Path::new(""), &[]).unwrap_err().to_string();
        assert!(e.contains("s.toml:6") && e.contains("app = \"programs\""), "{e}");
    }
}
