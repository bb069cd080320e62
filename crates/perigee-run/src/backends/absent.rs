// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Registry entries of real hosts in builds without them: they name the build that has them.

use super::{options, Entry, HostScheme, Options, Setting};
use perigee_backend::{Backend, BackendError};

/// Programs on real hosts, of which this build has none.
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

fn refusal() -> BackendError {
    BackendError::Failed("this build has the simulator only: `make setup` adds real hosts".into())
}

fn schemes(_: &Options) -> Result<Vec<HostScheme>, BackendError> {
    Err(refusal())
}

fn make(_: &Setting<'_>) -> Result<Box<dyn Backend>, BackendError> {
    Err(refusal())
}
