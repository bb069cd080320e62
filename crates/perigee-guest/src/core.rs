// SPDX-License-Identifier: Apache-2.0 OR MIT
//! CPU core shared by a guest and the thread that drives it. The two alternate and never run at the
//! same time, and a switch within one core costs half as much as one between two cores.

use rustix::thread::{sched_getaffinity, sched_getcpu, sched_setaffinity, CpuSet, Pid};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

/// A CPU core reserved for the guests of one run. The calling thread is pinned to it until the
/// value is dropped.
pub struct Core {
    /// Previous affinity of the thread.
    before: CpuSet,
    /// The reserved core.
    only: CpuSet,
    /// Abstract socket with a name that only one process on the machine can bind. The kernel
    /// releases it when the process ends.
    _claim: UnixListener,
}

impl Core {
    /// Reserves the core on which the calling thread runs, or else another core that its affinity
    /// allows. `None` if all are taken or the affinity cannot be set.
    pub fn claim() -> Option<Core> {
        let before = sched_getaffinity(None).ok()?;
        let here = sched_getcpu();
        let allowed = (0..CpuSet::MAX_CPU).filter(|cpu| before.is_set(*cpu));
        let (_claim, cpu) = std::iter::once(here).chain(allowed).find_map(|cpu| Some((claim(cpu)?, cpu)))?;
        let mut only = CpuSet::new();
        only.set(cpu);
        sched_setaffinity(None, &only).ok()?;
        Some(Core { before, only, _claim })
    }

    /// Pins a process and its future children to this core.
    pub fn keep(&self, process: u32) {
        // Errors are ignored: the caller detects a process that has already ended.
        if let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) {
            let _ = sched_setaffinity(Some(pid), &self.only);
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// Binds the socket name of a core; `None` if another run holds it.
fn claim(cpu: usize) -> Option<UnixListener> {
    let name = SocketAddr::from_abstract_name(format!("perigee-core-{cpu}")).ok()?;
    UnixListener::bind_addr(&name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_claimed_once_and_released() {
        let before = sched_getaffinity(None).unwrap();
        let first = Core::claim();
        if let Some(first) = &first {
            assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
            // The thread is now pinned to that core, which is taken.
            assert!(Core::claim().is_none());
            assert_eq!(first.only.count(), 1);
        }
        drop(first);
        assert_eq!(sched_getaffinity(None).unwrap().count(), before.count());
    }
}
