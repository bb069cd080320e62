// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Registry entry of Linux hosts in virtual time.

use super::{Entry, HostScheme, Options, Setting};
use perigee_backend::{Backend, BackendError};
use perigee_linux::plan::our_name;
use perigee_linux::{LinuxHosts, FRAME_CPU_S};

/// Registry entry.
pub const ENTRY: Entry = Entry {
    name: "linux",
    summary: "Linux kernels in virtual time carry TCP; packets take their time in the simulated network",
    options: super::options::LINUX,
    schemes,
    cpu_s_per_tcp_packet: FRAME_CPU_S,
    make,
};

fn schemes(options: &Options) -> Result<Vec<HostScheme>, BackendError> {
    Ok(named(hosts(options)?.schemes()))
}

/// Schemes of a kernel, with Perigee's names for them.
pub(super) fn named(of_kernel: Vec<String>) -> Vec<HostScheme> {
    let both = |on_host: String| HostScheme { name: our_name(&on_host).into(), on_host };
    of_kernel.into_iter().map(both).collect()
}

fn hosts(options: &Options) -> Result<LinuxHosts, BackendError> {
    let kernel = options.path("kernel")?.map(Into::into).unwrap_or_default();
    Ok(LinuxHosts { kernel, modules: options.list("modules")?, ..Default::default() })
}

fn make(of: &Setting<'_>) -> Result<Box<dyn Backend>, BackendError> {
    let scenario = &of.world.scenario;
    Ok(Box::new(LinuxHosts {
        plugins: of.plugins.clone(),
        programs: of.programs.with_scenario(&scenario.programs),
        writable: of.programs.writable.clone(),
        listener: of.programs.listener.clone(),
        keyboard: of.programs.keyboard.clone(),
        own_kernels: scenario.hosts.own_kernels(),
        offload: scenario.hosts.offload,
        grace: scenario.hosts.grace,
        output_limit: scenario.hosts.output_limit.0,
        carrier: scenario.hosts.carrier.clone(),
        ..hosts(of.options)?
    }))
}
