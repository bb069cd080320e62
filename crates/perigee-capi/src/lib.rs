// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The controllers of `perigee-cc` for callers that speak C: `libperigee_cc`, described to them by
//! `include/perigee_cc.h`.
//!
//! The idea: a host (ns-3, INET, a QUIC stack, a script with a foreign function interface) keeps its own transport and
//! asks the same state machines that the simulator runs. A handle owns one controller and its [`Window`], the only
//! copy; each event of the transport is one call, after which the host reads the window, and may edit it.
//!
//! The contract:
//! * **Order of calls** as in [`perigee_cc::interface`]; times never go back.
//! * **Growth.** Each structure begins with `size`, which the caller sets to `sizeof`. A shorter one than ours lacks
//!   the newer members, which then are zero; a longer one must be zero where we know no members. So zero means
//!   "absent" throughout, and members are only ever added at the end.
//! * **Errors** are negative codes ([`Code`]). Arguments are checked before anything changes: a refused call has no
//!   effect. Nothing panics across the boundary: a panic, which would be our mistake, becomes [`Code::Panic`], and the
//!   handle then refuses all but its destruction.
//! * **Memory.** What the caller passes is read during the call and never kept. No callbacks, no I/O, no clock.
//! * **Threads.** Thread-compatible, not thread-safe: a handle may move between threads, two handles may be used at
//!   the same time, but calls on one handle must not overlap.
//!
//! Files: [`types`] (the structures), [`boundary`] (reading and writing foreign memory, guarding against panics),
//! [`convert`] (to and from the types of `perigee-cc`), [`api`] (the functions), [`describe`] (what is told as JSON).
//! All `unsafe` code is in `boundary` and `api`.
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
