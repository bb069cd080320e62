// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Handling of Ctrl-C during long work in Rust: the work runs in a separate thread, while the
//! calling thread waits for signals.

#![expect(clippy::disallowed_methods, reason = "a grace period in real time")]

use perigee_scenario::units::stop;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{sync_channel, RecvTimeoutError};
use std::sync::Arc;
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Interval between checks for a signal.
const SLICE: Duration = Duration::from_millis(50);
/// Maximum time for which an interrupt waits for the work to end, so that its partial files can be
/// removed afterwards.
const GRACE: Duration = Duration::from_secs(1);
/// Stack size, as large as that of a main thread.
const STACK: usize = 8 << 20;

/// Runs `work` without the interpreter lock. The exception of a signal (`KeyboardInterrupt`) is
/// returned soon after the signal; loops of the work that call [`stop::check`] then end as well.
pub fn interruptible<R: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> R + Send + 'static,
) -> PyResult<R> {
    let flag = Arc::new(AtomicBool::new(false));
    let theirs = flag.clone();
    let (give, mut take) = sync_channel(1);
    let thread = Builder::new().name("perigee".into()).stack_size(STACK).spawn(move || {
        stop::set_flag(theirs);
        // The caller may have stopped waiting.
        let _ = give.send(work());
    });
    let thread = thread.map_err(|e| PyRuntimeError::new_err(format!("cannot start a thread: {e}")))?;
    loop {
        let take = &mut take;
        match py.detach(move || take.recv_timeout(SLICE)) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => return Err(PyRuntimeError::new_err("the work ended without a result")),
            },
        }
        if let Err(signal) = py.check_signals() {
            flag.store(true, Ordering::Relaxed);
            let end = Instant::now() + GRACE;
            py.detach(|| {
                while !thread.is_finished() && Instant::now() < end {
                    std::thread::sleep(SLICE / 5);
                }
            });
            return Err(signal);
        }
    }
}
