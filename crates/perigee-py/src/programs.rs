// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs on real hosts in the form used by Python.

use perigee_scenario::file::programs::{self, ProgramSpec};
use pyo3::prelude::*;
use std::path::PathBuf;

/// A program, as a dictionary with these keys. Its standard input is a file, bytes, a terminal, or
/// empty.
#[derive(FromPyObject, IntoPyObject)]
pub struct OneProgram {
    #[pyo3(item)]
    pub(crate) node: String,
    #[pyo3(item)]
    pub(crate) start_ns: u64,
    #[pyo3(item)]
    pub(crate) folder: PathBuf,
    /// Variables in addition to those that all programs get.
    #[pyo3(item)]
    pub(crate) environment: Vec<String>,
    #[pyo3(item)]
    pub(crate) words: Vec<String>,
    #[pyo3(item)]
    pub(crate) file: Option<PathBuf>,
    #[pyo3(item)]
    pub(crate) data: Option<Vec<u8>>,
    #[pyo3(item)]
    pub(crate) terminal: bool,
    /// Whether the run ends when the program does.
    #[pyo3(item)]
    pub(crate) awaited: bool,
}

/// Programs in addition to those of the scenario, as a dictionary with these keys.
#[derive(FromPyObject)]
#[cfg_attr(not(feature = "hosts"), expect(dead_code, reason = "for backends with hosts"))]
pub struct Programs {
    #[pyo3(item)]
    pub(crate) programs: Vec<OneProgram>,
    /// Folders that the programs may modify.
    #[pyo3(item)]
    pub(crate) writable: Vec<PathBuf>,
    /// Called with the kind ("begun", "output", "errors", "exited", "killed", or "ending" when all of
    /// them receive SIGTERM), the simulated time in ns, the number of the program (the scenario's come
    /// first), the bytes that it wrote, and the exit code or signal.
    #[pyo3(item)]
    pub(crate) listener: Py<PyAny>,
    /// Keyboard of a program with a terminal: called with a time in seconds, it waits for keys for
    /// up to that time and returns the message to the agent, which is empty if there are none;
    /// `None` ends the run.
    #[pyo3(item)]
    pub(crate) keyboard: Option<Py<PyAny>>,
}

/// Programs of a scenario, in the form of [`Programs`].
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
