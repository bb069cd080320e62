// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cache prefetch hints.
#![allow(unsafe_code)] // one instruction that reads nothing and cannot fault

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Fetches the first `lines` lines of an item.
#[inline(always)]
pub fn fetch<T: ?Sized>(item: &T, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        let begin = std::ptr::from_ref(item).cast::<i8>();
        for i in 0..lines {
            // SAFETY: a prefetch is a hint. It accesses no memory, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(begin.wrapping_add(LINE * i)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (item, lines);
}

/// Fetches one item of several.
#[inline(always)]
pub fn fetch_of<T>(items: &[T], i: usize, lines: usize) {
    if let Some(item) = items.get(i) {
        fetch(item, lines);
    }
}
