// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Start of guests as processes that end with this process, however it ends.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::{channel, Sender};
use std::sync::{LazyLock, Mutex};

type Order = (Command, Sender<io::Result<Child>>);

/// Thread that exists as long as the process: a child receives its parent-death signal when the
/// *thread* that started it ends (prctl(2), PR_SET_PDEATHSIG), and threads that run simulations are
/// short-lived.
static STARTER: LazyLock<Mutex<Sender<Order>>> = LazyLock::new(|| {
    let (orders, received) = channel::<Order>();
    std::thread::Builder::new()
        .name("guests".into())
        .spawn(move || {
            for (mut command, answer) in received {
                let _ = answer.send(command.spawn());
            }
        })
        .expect("a thread can be started");
    Mutex::new(orders)
});

/// Starts a process that is killed when this one ends.
///
/// # Errors
/// If the process cannot be started.
#[allow(unsafe_code)] // the code between fork and exec makes system calls only
pub fn spawn(mut command: Command) -> io::Result<Child> {
    let parent = rustix::process::getpid();
    let set = move || {
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
        // The parent may have ended before the previous line.
        if rustix::process::getppid() != Some(parent) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(())
    };
    // SAFETY: the closure makes two system calls and allocates nothing.
    unsafe { command.pre_exec(set) };
    let (answer, child) = channel();
    let orders = STARTER.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    orders.send((command, answer)).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
    drop(orders);
    child.recv().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))
}
