// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Placeholder registry entries of real hosts, for builds without the feature `hosts`. Their errors
//! name the build that has it.

use super::{options, Entry, HostScheme, Options, Setting};
use perigee_backend::{Backend, BackendError};

/// Programs on real hosts: empty in this build.
#[derive(Clone, Debug, Default)]
pub struct HostPrograms {}

pub mod linux {
    /// Registry entry of Linux hosts in virtual time.
    pub const ENTRY: super::Entry = super::absent("linux", super::options::LINUX);
}

pub mod emulation {
    /// Registry entry of hosts in real time.
    pub const ENTRY: super::Entry = super::absent("emulation", super::options::EMULATION);
}

const fn absent(name: &'static str, options: &'static [&'static str]) -> Entry {
    let summary = "not in this build: `make setup` adds real hosts";
    Entry { name, summary, options, schemes, cpu_s_per_tcp_packet: 0.0, make }
}

fn not_built() -> BackendError {
    BackendError::Failed(
        "real hosts are not in this build: run `make setup` in a clone, or use the simulator".into(),
    )
}

fn schemes(_: &Options) -> Result<Vec<HostScheme>, BackendError> {
    Err(not_built())
}

fn make(_: &Setting<'_>) -> Result<Box<dyn Backend>, BackendError> {
    Err(not_built())
}
