// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs on real hosts, as Python names them.

use perigee_guest::job::Input;
use perigee_guest::report::{Exit, Report, Stream};
use perigee_linux::pace::Keyboard;
use perigee_linux::plan::{Program, ENVIRONMENT};
use perigee_linux::{HostPrograms, Listener};
use perigee_scenario::file::programs::{self, ProgramSpec};
use perigee_units::Nanos;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A program: node, start in ns, folder, further environment, words, standard input, whether the run ends with it.
pub type One = (String, u64, PathBuf, Vec<String>, Vec<String>, Given, bool);

/// Standard input: a file, bytes, or a terminal.
type Given = (Option<PathBuf>, Option<Vec<u8>>, bool);

/// Programs beside those of the scenario, folders that they may change, and who hears of them: called with kind ("begun", "output", "errors", "exited",
/// "killed"), simulated time in ns, number of the program (the
/// scenario's come first), bytes that it wrote, and exit code or signal.
///
/// The keyboard, for a program with a terminal, is called with a time in seconds: it waits for keys that long and returns
/// what the agent is told, which is empty when there are none; `None` ends the run.
pub type Programs = (Vec<One>, Vec<PathBuf>, Py<PyAny>, Option<Py<PyAny>>);

/// Programs and who hears of them, as a backend takes them.
pub fn on_hosts((programs, writable, call, keyboard): Programs) -> HostPrograms {
    let programs = programs.into_iter().map(program).collect();
    let listener: Option<Listener> = Some(Arc::new(Mutex::new(move |report: &Report| tell(&call, report))));
    let keyboard = keyboard.map(|call| -> Keyboard {
        // An exception there is its own business, too: the run ends.
        Arc::new(Mutex::new(move |time: Duration| {
            Python::attach(|py| call.call1(py, (time.as_secs_f64(),)).ok()?.extract(py).ok().flatten())
        }))
    });
    HostPrograms { programs, writable, listener, keyboard }
}

/// The command that makes hosts in real time, whether flows that do not say so have them, too, and which hosts are behind
/// interfaces of the machine.
pub type Machine = (Vec<String>, bool, Vec<String>);

fn program((node, start, folder, environment, words, (file, bytes, terminal), awaited): One) -> Program {
    let own = ENVIRONMENT.iter().map(|v| v.to_string());
    Program {
        node,
        start: Nanos(start),
        folder,
        environment: own.chain(environment).collect(),
        words,
        input: file.map(Input::File).or(bytes.map(Input::Bytes)).or(terminal.then_some(Input::Terminal)),
        awaited,
        ..Program::default()
    }
}

/// Those of a scenario, as [`on_hosts`] takes them.
pub fn of(scenario: &perigee_scenario::Scenario) -> Vec<One> {
    let one = |spec: &ProgramSpec| {
        let input = match &spec.input {
            None => (None, None, false),
            Some(programs::Input::File(path)) => (Some(path.clone()), None, false),
            Some(programs::Input::Bytes(bytes)) => (None, Some(bytes.clone()), false),
        };
        let s = spec.clone();
        (s.node, s.start.0, s.folder, s.environment, s.words, input, s.wait)
    };
    scenario.programs.iter().map(one).collect()
}

fn tell(call: &Py<PyAny>, report: &Report) {
    let (kind, at, program, bytes, code): (_, _, _, &[u8], _) = match report {
        Report::Begun(at, program) => ("begun", at, program, &[], 0),
        Report::Wrote(at, program, Stream::Output, bytes) => ("output", at, program, bytes, 0),
        Report::Wrote(at, program, Stream::Errors, bytes) => ("errors", at, program, bytes, 0),
        Report::Exited(at, program, Exit::Code(code)) => ("exited", at, program, &[], *code),
        Report::Exited(at, program, Exit::Signal(signal)) => ("killed", at, program, &[], *signal),
        _ => return,
    };
    // What goes wrong in the listener is its own business: it keeps it and says so afterwards.
    Python::attach(|py| {
        let _ = call.call1(py, (kind, at.0, *program, bytes, code));
    });
}
