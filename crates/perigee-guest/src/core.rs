// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Shared core of a guest and the thread that drives it. They alternate and never run at the same
//! time: a switch on one core costs half as much as between two.

use rustix::thread::{sched_getaffinity, sched_getcpu, sched_setaffinity, CpuSet, Pid};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

/// A core reserved for the guests of one run while this value exists. The calling thread stays on
/// it.
pub struct Core {
    /// Previous affinity of the thread.
    before: CpuSet,
    only: CpuSet,
    /// A socket name that only one process on the machine can hold, released when the process ends.
    _claim: UnixListener,
}

impl Core {
    /// Claims the core on which the calling thread runs, or another one; `None` if all are taken or
    /// the affinity cannot be set.
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
        // A process that has already ended is handled elsewhere.
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

fn claim(cpu: usize) -> Option<UnixListener> {
    let name = SocketAddr::from_abstract_name(format!("perigee-core-{cpu}")).ok()?;
    UnixListener::bind_addr(&name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_claimed_once_and_given_back() {
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
