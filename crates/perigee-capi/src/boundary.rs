// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Access to foreign memory: checks, copies in, copies out. All other modules use Rust values.

// The crate is a C interface; each block states why it is sound, given the contract of the header.
#![allow(unsafe_code)]

use crate::types::{self, for_each_mirror};
use std::ffi::{c_char, CStr};
use std::mem::{offset_of, size_of, MaybeUninit};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Error codes; negative in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    /// A required pointer is null.
    Null = -1,
    /// A structure's `size` is too small, too large, or larger than known with non-zero bytes in
    /// the unknown part.
    Size = -2,
    /// A member is out of its range.
    Value = -3,
    /// `now` is earlier than in a previous call.
    Time = -4,
    /// The library failed, in this call or an earlier one; the handle can only be destroyed.
    Panic = -5,
}

impl Code {
    /// All codes, with their names in C (where they have the prefix `PERIGEE_E_`) and
    /// zero-terminated descriptions.
    pub const ALL: &'static [(Code, &'static str, &'static CStr)] = &[
        (Code::Null, "NULL", c"a pointer that must not be NULL is"),
        (
            Code::Size,
            "SIZE",
            c"a structure's size is too small, absurd, or it uses members that this library lacks",
        ),
        (Code::Value, "VALUE", c"a member is out of its range"),
        (Code::Time, "TIME", c"the time is earlier than in a call before"),
        (Code::Panic, "PANIC", c"the library failed; the handle can only be destroyed"),
    ];
}

/// Result of a call.
pub type Answer<T> = Result<T, Code>;

/// Upper bound of the size of all future structures; a larger `size` is an error.
const LONGEST: usize = 4096;

/// Structures that start with `size: u32` and have no invalid bit pattern.
///
/// # Safety
/// `repr(C)`, first member `size: u32`, and only integers, floats, raw pointers and arrays of them
/// as members.
pub unsafe trait Plain: Copy {
    /// Size of the oldest version of the structure; zero means "absent" for all later members.
    const OLDEST: usize = size_of::<Self>();
}

macro_rules! plain {
    (AckEvent) => {
        // SAFETY: as of all mirrors: `repr(C)`, `size: u32` first, integers, floats and raw pointers only.
        unsafe impl Plain for types::AckEvent {
            // Arrivals were added in version 0.3.
            const OLDEST: usize = offset_of!(types::AckEvent, sent_ns);
        }
    };
    ($name:ident) => {
        // SAFETY: every mirror is `repr(C)`, starts with `size: u32`, and has only integers, floats
        // and raw pointers.
        unsafe impl Plain for types::$name {}
    };
}
for_each_mirror!(plain);

/// An all-zero structure: every member absent.
pub fn zeroed<T: Plain>() -> T {
    // SAFETY: every bit pattern is a value of a `Plain` type.
    unsafe { MaybeUninit::<T>::zeroed().assume_init() }
}

/// Copies the caller's structure into the version of this library.
///
/// # Safety
/// `from` is null, or points to 4 readable bytes and, if these as `size` lie within 4 and 4096, to
/// `size` such bytes.
pub unsafe fn read<T: Plain>(from: *const T) -> Answer<T> {
    // SAFETY: null or 4 readable bytes, by contract.
    let size = unsafe { size_at(from)? };
    let mut value = zeroed::<T>();
    let known = size.min(size_of::<T>());
    let bytes = from.cast::<u8>();
    // SAFETY: `size` bytes are readable by contract; `known` is at most that, and at most the size
    // of `value`, a local that does not overlap. Bytes may be copied at any alignment.
    unsafe { bytes.copy_to_nonoverlapping((&raw mut value).cast(), known) };
    // SAFETY: `known <= size`, and `size` bytes are readable by contract.
    let unknown = unsafe { std::slice::from_raw_parts(bytes.add(known), size - known) };
    if unknown.iter().any(|&b| b != 0) {
        return Err(Code::Size);
    }
    Ok(value)
}

/// Fills the caller's structure up to its size; bytes unknown to this library become zero. Its
/// `size` is kept.
///
/// # Safety
/// As [`read`], and the bytes are writable.
pub unsafe fn write<T: Plain>(to: *mut T, value: &T) -> Answer<()> {
    // SAFETY: null or 4 readable bytes, by contract.
    let size = unsafe { size_at(to)? };
    let known = size.min(size_of::<T>());
    let (bytes, from) = (to.cast::<u8>(), (&raw const *value).cast::<u8>());
    let head = size_of::<u32>();
    // SAFETY: `head <= known <= size`, and `size` bytes are writable by contract; `value` belongs
    // to this library and has at least `known` bytes. Bytes may be copied at any alignment.
    unsafe {
        from.add(head).copy_to_nonoverlapping(bytes.add(head), known - head);
        bytes.add(known).write_bytes(0, size - known);
    }
    Ok(())
}

/// Size of the caller's structure, if a structure of that size can be a `T` of any version.
///
/// # Safety
/// `at` is null or points to 4 readable bytes.
unsafe fn size_at<T: Plain>(at: *const T) -> Answer<usize> {
    if at.is_null() {
        return Err(Code::Null);
    }
    // SAFETY: not null, so 4 bytes are readable by contract; `Plain` guarantees that they are
    // `size`.
    let size = unsafe { at.cast::<u32>().read_unaligned() } as usize;
    (T::OLDEST..=LONGEST).contains(&size).then_some(size).ok_or(Code::Size)
}

/// Appends an array of structures to `out`. The first element's `size` is the stride.
///
/// # Safety
/// `from` is null, or points to `count` contiguous structures, each as [`read`] requires.
pub unsafe fn read_array<T: Plain, U>(
    from: *const T,
    count: usize,
    most: u32,
    out: &mut Vec<U>,
    convert: impl Fn(&T) -> Answer<U>,
) -> Answer<()> {
    out.clear();
    if count == 0 {
        return Ok(());
    }
    if count > most as usize {
        return Err(Code::Value);
    }
    // SAFETY: there is a first structure, by contract.
    let distance = unsafe { size_at(from)? };
    for i in 0..count {
        // SAFETY: `i < count` and the structures are contiguous, each of `distance` bytes by the
        // check below.
        let at = unsafe { from.cast::<u8>().add(i * distance) }.cast::<T>();
        // SAFETY: structure `i`, by contract.
        if unsafe { size_at(at)? } != distance {
            return Err(Code::Size);
        }
        // SAFETY: as above.
        out.push(convert(unsafe { &read(at)? })?);
    }
    Ok(())
}

/// The caller's bytes; empty if `len` is 0.
///
/// # Safety
/// `from` is null, or points to `len` bytes that stay readable and unchanged while the result is
/// used.
pub unsafe fn bytes<'a>(from: *const u8, len: usize) -> Answer<&'a [u8]> {
    match (from.is_null(), len) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Code::Null),
        (_, len) if len > isize::MAX as usize => Err(Code::Value),
        // SAFETY: not null, `len` readable bytes by contract, and no more than a slice may have.
        (_, len) => Ok(unsafe { std::slice::from_raw_parts(from, len) }),
    }
}

/// The caller's text.
///
/// # Safety
/// `from` is null, or points to a zero-terminated text that stays unchanged while the result is
/// used.
pub unsafe fn text<'a>(from: *const c_char) -> Result<Option<&'a str>, std::str::Utf8Error> {
    if from.is_null() {
        return Ok(None);
    }
    // SAFETY: not null, so it is zero-terminated by contract.
    unsafe { CStr::from_ptr(from) }.to_str().map(Some)
}

/// Writes as many characters of `text` as fit, and a zero byte. Returns the required length without
/// the zero byte.
///
/// # Safety
/// `to` is null, or points to `len` writable bytes.
pub unsafe fn write_text(to: *mut c_char, len: usize, text: &str) -> i64 {
    if !to.is_null() && len > 0 {
        let mut end = text.len().min(len - 1);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let to = to.cast::<u8>();
        // SAFETY: `end < len`, and `len` bytes are writable by contract; `text` has at least `end`
        // bytes.
        unsafe {
            to.copy_from_nonoverlapping(text.as_ptr(), end);
            to.add(end).write(0);
        }
    }
    text.len() as i64
}

/// Runs `f`; a panic becomes `None` instead of crossing the boundary.
pub fn contained<R>(f: impl FnOnce() -> R) -> Option<R> {
    // `f` may leave inconsistent only a handle, which the caller of this function marks as failed,
    // or an output of a failing call.
    catch_unwind(AssertUnwindSafe(f)).ok()
}
