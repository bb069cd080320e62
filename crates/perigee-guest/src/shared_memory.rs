// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Shared memory of a guest, safe against truncation. A guest's memory is a file that it shares with us and could cut short: what we have
//! mapped beyond the new end would kill us with SIGBUS when it is touched. Here such a page is replaced by one of zeros, and
//! whoever touched it learns that the memory is no longer what it was.
//!
//! (A file that a guest has made cannot be sealed by us: fcntl(2), `F_ADD_SEALS`; reading it with `pread` costs a system call
//! for each of some ten accesses per frame.)

use crate::types::GuestError;
use nix::libc;
use nix::sys::signal::{sigaction, SaFlags, SigAction, SigHandler, SigSet, Signal};
use rustix::mm::{mmap_anonymous, MapFlags, ProtFlags};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::OnceLock;

/// Most ranges of memory that are watched at a time: 64 kernels with 49 interfaces and a range each.
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

/// Who handled SIGBUS before us.
static BEFORE: OnceLock<SigAction> = OnceLock::new();
static INSTALL: OnceLock<Result<(), nix::Error>> = OnceLock::new();

/// A mapped range of a guest's memory, as long as it is mapped.
#[derive(Debug)]
pub struct Watched(usize);

impl Watched {
    /// Watches so many bytes from an address on.
    ///
    /// # Errors
    /// When the machine refuses it, or too many are watched.
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

    /// The guest has cut its memory short, and we have touched what is missing.
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
    // SAFETY: the kernel gives handlers with SA_SIGINFO a valid one.
    let at = unsafe { (*info).si_addr() }.addr();
    let inside = |range: &&Range| {
        let first = range.first.load(Ordering::SeqCst);
        first > 1 && at.wrapping_sub(first) < range.bytes.load(Ordering::SeqCst)
    };
    if let Some(range) = WATCHED.iter().find(inside) {
        let page = rustix::param::page_size();
        let start = std::ptr::without_provenance_mut(at & !(page - 1));
        let flags = MapFlags::PRIVATE | MapFlags::FIXED;
        // SAFETY: the page belongs to a mapping of ours whose contents are those of a guest: nothing relies on them, and it is
        // unmapped with the rest of the mapping. mmap(2) may be called in handlers.
        let replaced = unsafe { mmap_anonymous(start, page, ProtFlags::READ | ProtFlags::WRITE, flags) };
        if replaced.is_ok() {
            range.cut.store(true, Ordering::SeqCst);
            return;
        }
    }
    // Not ours: it happens again, to whom it concerned before.
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: restores what was there.
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
        // Writing, too, and a page that was never read.
        all.write_obj(9u64, 4096).unwrap();
        assert_eq!(all.read_obj::<u64>(4096).unwrap(), 9);
        // The next one begins anew.
        drop(watched);
        assert!(!Watched::new(region.as_ptr(), region.size()).unwrap().is_cut());
    }
}
