// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Shared memory of a guest, safe against truncation. A guest's memory is a file that the guest
//! shares and could truncate: access to this process's mapping beyond the new end would then raise
//! a fatal SIGBUS. The handler replaces such a page by zeros and marks the memory as truncated for
//! the reader.
//!
//! Alternatives: this process cannot seal a file that the guest created (fcntl(2), `F_ADD_SEALS`),
//! and `pread` would cost a system call for each of about ten accesses per frame.

use crate::types::GuestError;
use nix::libc;
use nix::sys::signal::{sigaction, SaFlags, SigAction, SigHandler, SigSet, Signal};
use rustix::mm::{mmap_anonymous, MapFlags, ProtFlags};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::OnceLock;

/// Maximum number of ranges watched at a time: 64 kernels with 49 interfaces and a range each.
const RANGES: usize = 4096;

struct Range {
    /// Address of its first byte; 0 = free, 1 = being set.
    first: AtomicUsize,
    bytes: AtomicUsize,
    cut: AtomicBool,
}

static WATCHED: [Range; RANGES] =
    [const { Range { first: AtomicUsize::new(0), bytes: AtomicUsize::new(0), cut: AtomicBool::new(false) } };
        RANGES];

/// The previous handler of SIGBUS.
static BEFORE: OnceLock<SigAction> = OnceLock::new();
static INSTALL: OnceLock<Result<(), nix::Error>> = OnceLock::new();

/// A watched range of a guest's mapped memory.
#[derive(Debug)]
pub struct Watched(usize);

impl Watched {
    /// Watches `bytes` bytes, starting at an address.
    ///
    /// # Errors
    /// If a system call fails, or too many ranges are watched.
    pub fn new(first: *const u8, bytes: usize) -> Result<Self, GuestError> {
        if let Err(e) = INSTALL.get_or_init(install) {
            return Err(GuestError::Machine(format!("a guest's memory cannot be watched: {e}")));
        }
        for (i, range) in WATCHED.iter().enumerate() {
            if range.first.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                range.cut.store(false, Ordering::SeqCst);
                range.bytes.store(bytes, Ordering::SeqCst);
                range.first.store(first.addr(), Ordering::SeqCst);
                return Ok(Watched(i));
            }
        }
        Err(GuestError::Machine(format!("more than {RANGES} ranges of guests' memory")))
    }

    /// Whether the guest has truncated its memory and the missing part was accessed.
    pub fn is_cut(&self) -> bool {
        WATCHED[self.0].cut.load(Ordering::SeqCst)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        WATCHED[self.0].first.store(0, Ordering::SeqCst);
    }
}

#[allow(unsafe_code)] // a handler of a signal
fn install() -> Result<(), nix::Error> {
    let action = SigAction::new(
        SigHandler::SigAction(on_fault),
        SaFlags::SA_SIGINFO | SaFlags::SA_ONSTACK,
        SigSet::empty(),
    );
    // SAFETY: the handler makes system calls and touches atomics only.
    let before = unsafe { sigaction(Signal::SIGBUS, &action)? };
    let _ = BEFORE.set(before);
    Ok(())
}

#[allow(unsafe_code)] // see below
extern "C" fn on_fault(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid `siginfo_t` to handlers with SA_SIGINFO.
    let at = unsafe { (*info).si_addr() }.addr();
    let inside = |range: &&Range| {
        let first = range.first.load(Ordering::SeqCst);
        first > 1 && at.wrapping_sub(first) < range.bytes.load(Ordering::SeqCst)
    };
    if let Some(range) = WATCHED.iter().find(inside) {
        let page = rustix::param::page_size();
        let start = std::ptr::without_provenance_mut(at & !(page - 1));
        let flags = MapFlags::PRIVATE | MapFlags::FIXED;
        // SAFETY: the page belongs to a mapping of a guest's memory made by this process: no code
        // relies on its contents, and it is unmapped with the rest of the mapping. mmap(2) is a
        // plain system call and works in signal handlers.
        let replaced = unsafe { mmap_anonymous(start, page, ProtFlags::READ | ProtFlags::WRITE, flags) };
        if replaced.is_ok() {
            range.cut.store(true, Ordering::SeqCst);
            return;
        }
    }
    // Not in a watched range: restore the previous handler, under which the fault recurs.
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: restores the previous handler.
    let _ = unsafe { sigaction(Signal::SIGBUS, BEFORE.get().unwrap_or(&default)) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{ftruncate, memfd_create, MemfdFlags};
    use std::fs::File;
    use vm_memory::mmap::MmapRegion;
    use vm_memory::{Bytes, FileOffset, VolatileMemory};

    fn mapped(pages: usize) -> (File, MmapRegion) {
        let file = File::from(memfd_create("test", MemfdFlags::CLOEXEC).unwrap());
        ftruncate(&file, 4096 * pages as u64).unwrap();
        let region =
            MmapRegion::from_file(FileOffset::new(file.try_clone().unwrap(), 0), 4096 * pages).unwrap();
        (file, region)
    }

    #[test]
    fn a_page_that_is_gone_reads_as_zeros_and_is_told() {
        let (file, region) = mapped(3);
        let watched = Watched::new(region.as_ptr(), region.size()).unwrap();
        let all = region.as_volatile_slice();
        all.write_obj(7u64, 8200).unwrap();
        assert_eq!((all.read_obj::<u64>(8200).unwrap(), watched.is_cut()), (7, false));
        ftruncate(&file, 4096).unwrap();
        assert_eq!(all.read_obj::<u64>(0).unwrap(), 0);
        assert!(!watched.is_cut(), "what is left of it is as it was");
        assert_eq!((all.read_obj::<u64>(8200).unwrap(), watched.is_cut()), (0, true));
        // Writes are handled as well, also to a page that was never read.
        all.write_obj(9u64, 4096).unwrap();
        assert_eq!(all.read_obj::<u64>(4096).unwrap(), 9);
        // A new watch starts without the mark.
        drop(watched);
        assert!(!Watched::new(region.as_ptr(), region.size()).unwrap().is_cut());
    }
}
