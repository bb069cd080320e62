// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Plan of the flows on hosts in real time, and the jobs of these hosts.

use crate::options::{LARGEST_MEMORY, LEAST_RECEIVE_MEMORY};
use crate::plan::{HostPlan, Program, Schemes};
use crate::PROGRAMS;
use perigee_backend::BackendError;
use perigee_guest::job;
use perigee_timeline::{App, Header, Hosts, Workload};
use std::collections::BTreeMap;

impl HostPlan {
    /// Plan for hosts in real time. Flows without `hosts` are simulated unless `all` is set; the
    /// nodes in `apart` are connected to interfaces.
    ///
    /// # Errors
    /// As for [`new`](HostPlan::new); combinations of buffers that one host cannot have.
    pub fn in_real_time(
        header: &Header,
        workload: &Workload,
        schemes: &Schemes<'_>,
        programs: &[Program],
        all: bool,
        apart: &[String],
    ) -> Result<HostPlan, BackendError> {
        let mut chosen = workload.clone();
        for flow in &mut chosen.flows {
            let carries = flow.app == App::Programs || flow.cc == PROGRAMS;
            if !carries && !all && flow.hosts != Some(Hosts::Linux) {
                flow.hosts = Some(Hosts::Simulated);
            }
        }
        let mut plan = HostPlan::new(header, &chosen, schemes, programs)?;
        plan.set_apart(apart)?;
        plan.fix_buffers()?;
        Ok(plan)
    }

    /// Sets fixed buffer sizes as settings of namespaces: only root of the machine could set them
    /// on sockets.
    ///
    /// # Errors
    /// Proxies with different settings at one host, or a proxy at a host where other flows start or
    /// end.
    fn fix_buffers(&mut self) -> Result<(), BackendError> {
        let refuse = |plan: &HostPlan, flow: u32, why: String| BackendError::Unsupported {
            flow: plan.names[flow as usize].clone(),
            why,
        };
        let mut proxies: BTreeMap<usize, u64> = BTreeMap::new();
        for r in self.job.relays.clone() {
            let Some(at) = self.job.transfers.iter().find(|t| t.flow == r.flow).map(|t| t.to) else {
                continue;
            };
            let legs = |flow: u32| self.job.relays.iter().any(|r| r.flow == flow || r.next == flow);
            let other = self.job.transfers.iter().find(|t| (t.from == at || t.to == at) && !legs(t.flow));
            if let Some(other) = other {
                let name = &self.job.hosts[at].name;
                let why = format!(
                    "in real time no other flow begins or ends at {name}, a proxy with buffers of its own"
                );
                return Err(refuse(self, other.flow, why));
            }
            if *proxies.entry(at).or_insert(r.buffer) != r.buffer {
                let why = "in real time proxies at one host have the same via_buffer".into();
                return Err(refuse(self, r.flow, why));
            }
        }
        for (at, buffer) in proxies {
            let (input, output) = job::proxy_buffers(buffer);
            let host = &mut self.job.hosts[at];
            host.set("net.ipv4.tcp_rmem", format!("{LEAST_RECEIVE_MEMORY} {input} {input}"));
            host.set("net.ipv4.tcp_wmem", format!("{LEAST_RECEIVE_MEMORY} {output} {output}"));
        }
        for &(flow, window) in &self.job.windows {
            let Some(to) = self.job.transfers.iter().find(|t| t.flow == flow).map(|t| t.to) else { continue };
            // Room for the kernel's overhead in addition to the data; with an autotuned buffer it
            // would ignore the limit.
            let room = (2 * u64::from(window)).min(LARGEST_MEMORY);
            let host = &mut self.job.hosts[to];
            let first = host.receive_buffer().unwrap_or(0).max(room);
            host.set("net.ipv4.tcp_rmem", format!("{LEAST_RECEIVE_MEMORY} {first} {first}"));
            host.set("net.ipv4.tcp_moderate_rcvbuf", "0".into());
        }
        Ok(())
    }

    /// Sets the hosts connected to interfaces of the machine.
    ///
    /// # Errors
    /// If there is no such host, or simulated flows or programs use it.
    fn set_apart(&mut self, apart: &[String]) -> Result<(), BackendError> {
        for name in apart {
            let host = self.host_named(name)?;
            let transfers = self.job.transfers.iter().map(|t| (t.flow, t.from, t.to));
            let mut ours = transfers.chain(self.job.probes.iter().map(|p| (p.flow, p.from, p.to)));
            if let Some((flow, ..)) = ours.find(|(_, from, to)| *from == host || *to == host) {
                let why = format!("{name} is behind an interface, where only its own programs send");
                return Err(BackendError::Unsupported { flow: self.names[flow as usize].clone(), why });
            }
            if let Some(command) = self.job.commands.iter().find(|c| c.host == host) {
                let what = command.words.join(" ");
                return Err(BackendError::Failed(format!(
                    "{what} cannot run at {name}, which is behind an interface"
                )));
            }
            self.apart.push(host);
        }
        Ok(())
    }
}
