// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Registry entry of hosts in real time.

use super::{Entry, HostScheme, Options, Setting};
use perigee_backend::{Backend, BackendError};
use perigee_linux::real_time::RealTimeHosts;
use perigee_linux::FRAME_CPU_S;

/// Registry entry.
pub const ENTRY: Entry = Entry {
    name: "emulation",
    summary: "network namespaces of this machine carry TCP, in real time",
    options: super::options::EMULATION,
    schemes,
    cpu_s_per_tcp_packet: FRAME_CPU_S,
    make,
};

fn schemes(_: &Options) -> Result<Vec<HostScheme>, BackendError> {
    Ok(super::linux::named(RealTimeHosts::default().schemes()))
}

fn make(of: &Setting<'_>) -> Result<Box<dyn Backend>, BackendError> {
    Ok(Box::new(RealTimeHosts {
        command: of.options.list("command")?,
        all_flows: of.options.flag("all_flows")?.unwrap_or(true),
        apart: of.options.list("apart")?,
        carrier: of.world.scenario.hosts.carrier.clone(),
        programs: of.programs.with_scenario(&of.world.scenario.programs),
        grace: of.world.scenario.hosts.grace,
        output_limit: of.world.scenario.hosts.output_limit.0,
        listener: of.programs.listener.clone(),
        plugins: of.plugins.clone(),
        measured: Default::default(),
    }))
}
