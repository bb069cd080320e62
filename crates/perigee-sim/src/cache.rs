// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cache prefetch hints.
#![allow(unsafe_code)] // one instruction that reads nothing and cannot fault

/// Size of a cache line in bytes.
const LINE: usize = 64;

/// Prefetches the first `lines` cache lines of an item.
#[inline(always)]
pub fn fetch<T: ?Sized>(item: &T, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        let begin = std::ptr::from_ref(item).cast::<i8>();
        for i in 0..lines {
            // SAFETY: a prefetch is a hint and does not fault, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(begin.wrapping_add(LINE * i)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (item, lines);
}

/// Prefetches an item of a slice.
#[inline(always)]
pub fn fetch_of<T>(items: &[T], i: usize, lines: usize) {
    if let Some(item) = items.get(i) {
        fetch(item, lines);
    }
}
