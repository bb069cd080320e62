// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cancellation of long work after the caller has stopped waiting. The caller sets a flag for the
//! thread that does the work; loops over chunks and steps check it. Without a flag they never stop.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

thread_local! {
    static FLAG: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Sets the flag of this thread. Its work ends soon after the flag becomes true.
pub fn set_flag(flag: Arc<AtomicBool>) {
    FLAG.set(Some(flag));
}

/// Checks whether the work may continue.
///
/// # Errors
/// If the flag of this thread is set.
pub fn check() -> Result<(), String> {
    FLAG.with_borrow(|flag| match flag {
        Some(f) if f.load(Ordering::Relaxed) => Err("interrupted".into()),
        _ => Ok(()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_thread_with_the_flag_stops() {
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = flag.clone();
        let work = std::thread::spawn(move || {
            set_flag(theirs);
            let before = check();
            while check().is_ok() {
                std::thread::yield_now();
            }
            (before, check())
        });
        flag.store(true, Ordering::Relaxed);
        let (_, after) = work.join().expect("it does not panic");
        assert_eq!(after, Err("interrupted".into()));
        assert_eq!(check(), Ok(()));
    }
}
