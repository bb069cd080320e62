// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Real Linux hosts in virtual time: User-Mode Linux as a process of this machine, without root
//! privileges, with an emulated clock and emulated network interfaces.
//!
//! A [`Guest`] is one kernel with one or more interfaces. [`Guest::run`] runs it from an instant
//! until it waits or reaches the end of its unsynchronised time; [`Guest::deliver`] delivers a
//! frame to an interface; [`Guest::sent`] drains the frames sent, each with its instant in
//! nanoseconds. This crate depends on neither simulator nor scenario.
//!
//! Layers:
//! * [`guest`]: the process: boot, slices of time, exit.
//! * [`clock`]: the time-travel protocol of `arch/um` (Linux's
//!   `include/uapi/linux/um_timetravel.h`), over shared memory.
//! * [`device`]: a network interface: the vhost-user protocol (QEMU's
//!   `docs/interop/vhost-user.rst`) and virtio's split rings (OASIS virtio 1.2, section 2.7). Rings
//!   and memory of a guest are untrusted.
//! * [`live`]: hosts in real time instead: namespaces of this machine, without a guest.
//! * [`wall_clock`]: the only access to wall-clock time, for timeouts and real time.
//! * [`job`]: jobs of the agent in the guest; [`report`]: its reports.

#[cfg(target_os = "linux")]
mod busy;
#[cfg(target_os = "linux")]
pub mod clock;
#[cfg(target_os = "linux")]
mod core;
#[cfg(target_os = "linux")]
mod cpu_time;
#[cfg(target_os = "linux")]
pub mod device;
#[cfg(target_os = "linux")]
pub mod guest;
#[cfg(not(target_os = "linux"))]
#[path = "unsupported.rs"]
pub mod guest;
pub mod job;
#[cfg(target_os = "linux")]
pub mod live;
#[cfg(not(target_os = "linux"))]
#[path = "unsupported_live.rs"]
pub mod live;
#[cfg(target_os = "linux")]
mod offload;
pub mod report;
pub mod root;
#[cfg(target_os = "linux")]
mod shared_memory;
#[cfg(target_os = "linux")]
mod spawn;
mod types;
pub mod wall_clock;
#[cfg(target_os = "linux")]
mod wire;

pub use guest::{Guest, GuestError, GuestSpec, SentFrame};
pub use types::{Busy, GoOn, Mac, Offer};
