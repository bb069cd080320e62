// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs from Python in the form of the backends that have hosts.

use crate::programs::{OneProgram, Programs};
use perigee_guest::job::Input;
use perigee_guest::report::{Exit, Report, Stream};
use perigee_linux::pace::Keyboard;
use perigee_linux::plan::{Program, ENVIRONMENT};
use perigee_linux::{HostPrograms, Listener};
use perigee_units::Nanos;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex};
use std::time::Duration;

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

fn tell(call: &Py<PyAny>, report: &Report) {
    let (kind, at, program, bytes, code): (_, _, _, &[u8], i64) = match report {
        Report::Begun(at, program) => ("begun", at, program, &[], 0),
        Report::Wrote(at, program, Stream::Output, bytes) => ("output", at, program, bytes, 0),
        Report::Wrote(at, program, Stream::Errors, bytes) => ("errors", at, program, bytes, 0),
        Report::Discarded(at, program, stream, total) => {
            let kind = if *stream == Stream::Output { "discarded output" } else { "discarded errors" };
            (kind, at, program, &[], i64::try_from(*total).unwrap_or(i64::MAX))
        }
        Report::Busy(at, text) => ("busy", at, &0, text.as_bytes(), 0),
        Report::Exited(at, program, Exit::Code(code)) => ("exited", at, program, &[], i64::from(*code)),
        Report::Exited(at, program, Exit::Signal(signal)) => ("killed", at, program, &[], i64::from(*signal)),
        Report::Ending(at) => ("ending", at, &0, &[], 0),
        _ => return,
    };
    // The listener stores its own exceptions and raises them afterwards.
    Python::attach(|py| {
        let _ = call.call1(py, (kind, at.0, *program, bytes, code));
    });
}
