// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The controllers of `perigee-cc` for C callers: `libperigee_cc`, documented in
//! `include/perigee_cc.h`.
//!
//! Concept: a host (ns-3, INET, a QUIC stack, a script with a foreign function interface) keeps its
//! own transport and uses the same state machines as the simulator. A handle owns one controller
//! and its [`Window`], the only copy; each event of the transport is one call, after which the host
//! reads the window and may modify it.
//!
//! Contract:
//! * **Order of calls** as in [`perigee_cc::interface`]; times never decrease.
//! * **Growth.** Each structure starts with `size`, which the caller sets to `sizeof`. A structure
//!   shorter than the library's lacks the newer members, which are then zero; a longer one must be
//!   zero in the unknown part. So zero means "absent" throughout, and members are only ever added
//!   at the end.
//! * **Errors** are negative codes ([`Code`]). Arguments are checked before anything changes: a
//!   rejected call has no effect. No panic crosses the boundary: a panic, which is always a bug,
//!   becomes [`Code::Panic`], and the handle then rejects all calls except its destruction.
//! * **Memory.** Arguments are read during the call and never kept. No callbacks, no I/O, no clock.
//! * **Threads.** Thread-compatible, not thread-safe: a handle may move between threads, two
//!   handles may be used at the same time, but calls on one handle must not overlap.
//!
//! Modules: [`types`] (the structures), [`boundary`] (access to foreign memory, protection against
//! panics), [`convert`] (to and from the types of `perigee-cc`), [`api`] (the functions),
//! [`describe`] (JSON). All `unsafe` code is in `boundary` and `api`.
//!
//! [`Window`]: perigee_cc::Window
//! [`Code`]: boundary::Code
//! [`Code::Panic`]: boundary::Code::Panic

#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

pub mod api;
pub mod boundary;
pub mod convert;
pub mod describe;
pub mod types;
