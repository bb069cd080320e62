// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs on real hosts in the form used by Python.

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

/// A program, as a dictionary with these keys. Its standard input is a file, bytes, a terminal, or
/// empty.
#[derive(FromPyObject, IntoPyObject)]
pub struct OneProgram {
    #[pyo3(item)]
    node: String,
    #[pyo3(item)]
    start_ns: u64,
    #[pyo3(item)]
    folder: PathBuf,
    /// Variables in addition to [`ENVIRONMENT`].
    #[pyo3(item)]
    environment: Vec<String>,
    #[pyo3(item)]
    words: Vec<String>,
    #[pyo3(item)]
    file: Option<PathBuf>,
    #[pyo3(item)]
    data: Option<Vec<u8>>,
    #[pyo3(item)]
    terminal: bool,
    /// Whether the run ends when the program does.
    #[pyo3(item)]
    awaited: bool,
}

/// Programs in addition to those of the scenario, as a dictionary with these keys.
#[derive(FromPyObject)]
pub struct Programs {
    #[pyo3(item)]
    programs: Vec<OneProgram>,
    /// Folders that the programs may modify.
    #[pyo3(item)]
    writable: Vec<PathBuf>,
    /// Called with the kind ("begun", "output", "errors", "exited", "killed"), the simulated time
    /// in ns, the number of the program (the scenario's come first), the bytes that it wrote, and
    /// the exit code or signal.
    #[pyo3(item)]
    listener: Py<PyAny>,
    /// Keyboard of a program with a terminal: called with a time in seconds, it waits for keys for
    /// up to that time and returns the message to the agent, which is empty if there are none;
    /// `None` ends the run.
    #[pyo3(item)]
    keyboard: Option<Py<PyAny>>,
}

/// Programs and their listener, in the form of a backend.
pub fn on_hosts(Programs { programs, writable, listener, keyboard }: Programs) -> HostPrograms {
    let programs = programs.into_iter().map(program).collect();
    let listener: Option<Listener> =
        Some(Arc::new(Mutex::new(move |report: &Report| tell(&listener, report))));
    let keyboard = keyboard.map(|call| -> Keyboard {
        // Exceptions there are also left to the listener: the run ends.
        Arc::new(Mutex::new(move |time: Duration| {
            Python::attach(|py| call.call1(py, (time.as_secs_f64(),)).ok()?.extract(py).ok().flatten())
        }))
    });
    HostPrograms { programs, writable, listener, keyboard }
}

fn program(p: OneProgram) -> Program {
    let own = ENVIRONMENT.iter().map(|v| v.to_string());
    Program {
        node: p.node,
        start: Nanos(p.start_ns),
        folder: p.folder,
        environment: own.chain(p.environment).collect(),
        words: p.words,
        input: p.file.map(Input::File).or(p.data.map(Input::Bytes)).or(p.terminal.then_some(Input::Terminal)),
        awaited: p.awaited,
        ..Program::default()
    }
}

/// Programs of a scenario, in the form of [`on_hosts`].
pub fn of(scenario: &perigee_scenario::Scenario) -> Vec<OneProgram> {
    let one = |spec: &ProgramSpec| {
        let (file, data) = match &spec.input {
            None => (None, None),
            Some(programs::Input::File(path)) => (Some(path.clone()), None),
            Some(programs::Input::Bytes(bytes)) => (None, Some(bytes.clone())),
        };
        let s = spec.clone();
        OneProgram {
            node: s.node,
            start_ns: s.start.0,
            folder: s.folder,
            environment: s.environment,
            words: s.words,
            file,
            data,
            terminal: false,
            awaited: s.wait,
        }
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
    // The listener stores its own exceptions and raises them afterwards.
    Python::attach(|py| {
        let _ = call.call1(py, (kind, at.0, *program, bytes, code));
    });
}
