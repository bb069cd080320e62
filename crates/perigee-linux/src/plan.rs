// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Plan of the flows on real hosts: converts a workload into a job for the hosts.

use crate::options::{route, sysctls};
use crate::pace::Keyboard;
use crate::{Listener, PROGRAMS};
use perigee_backend::setups::{flow_setups, Plugins};
use perigee_backend::BackendError;
use perigee_guest::job::{self, Application, Command, Host, Input, Job, Probe, Relay, Route, Transfer};
use perigee_scenario::file::programs::{self, ProgramSpec};
use perigee_sim::{EndpointId, FlowSetup, Outside, Side};
use perigee_timeline::{App, Flow, Header, Hosts, NodeId, Workload};
use perigee_units::params::Value;
use perigee_units::Nanos;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Schemes with different names in Perigee and Linux; all other names are identical.
const NAMES: [(&str, &str); 1] = [("newreno", "reno")];

/// Congestion controls in the default kernel configuration.
pub const IN_KERNEL: [&str; 18] = [
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "orbcc",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// Scheme whose packets carry telemetry, over IPv6.
const WITH_TELEMETRY: &str = "orbcc";

/// Bytes by which IPv6's header exceeds IPv4's.
pub const LONGER_HEADER: u16 = 20;

/// File that lists the congestion controls of a machine.
const OF_MACHINE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// Length of the IPv4 and UDP headers.
const PROBE_HEADER: u32 = 28;

/// Maximum TCP window (RFC 7323 section 2.3).
const LARGEST_WINDOW: u32 = 1 << 30;

/// Minimum buffer of a proxy: its socket buffers hold full packets of up to 64 KiB, before
/// segmentation.
const LEAST_BUFFER: u64 = 256_000;

/// Environment of a program: independent of the machine, so that runs can be repeated elsewhere.
pub const ENVIRONMENT: [&str; 3] =
    ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8"];

/// A program of this machine that runs on a host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Name of its node, an end of some flow.
    pub node: String,
    /// Start time.
    pub start: Nanos,
    /// Working directory, a folder of this machine.
    pub folder: PathBuf,
    /// Environment variables, `NAME=VALUE`.
    pub environment: Vec<String>,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Standard input.
    pub input: Option<Input>,
    /// The run ends when all programs with this flag have ended.
    pub awaited: bool,
    /// Whether it runs in the first network namespace of its host's kernel.
    pub first_namespace: bool,
}

/// Programs on real hosts in addition to those of a scenario, and the resources that they may use.
#[derive(Clone, Default)]
pub struct HostPrograms {
    /// The programs.
    pub programs: Vec<Program>,
    /// Folders of this machine that programs may modify.
    pub writable: Vec<PathBuf>,
    /// Receives reports about programs, in order of simulated time.
    pub listener: Option<Listener>,
    /// Keyboard of a program with a terminal.
    pub keyboard: Option<Keyboard>,
}

impl HostPrograms {
    /// Programs of a scenario, followed by these.
    pub fn with_scenario(&self, specs: &[ProgramSpec]) -> Vec<Program> {
        specs.iter().map(Program::of).chain(self.programs.iter().cloned()).collect()
    }
}

impl Program {
    /// A program of a scenario.
    pub fn of(spec: &ProgramSpec) -> Program {
        let input = spec.input.clone().map(|input| match input {
            programs::Input::File(path) => Input::File(path),
            programs::Input::Bytes(bytes) => Input::Bytes(bytes),
        });
        let own = ENVIRONMENT.iter().map(|v| v.to_string());
        Program {
            node: spec.node.clone(),
            start: spec.start,
            folder: spec.folder.clone(),
            environment: own.chain(spec.environment.iter().cloned()).collect(),
            words: spec.words.clone(),
            input,
            awaited: spec.wait,
            first_namespace: spec.first_namespace,
        }
    }
}

/// Kernel that provides the congestion controls of hosts.
#[derive(Clone, Debug, PartialEq)]
pub enum Schemes<'a> {
    /// A kernel with the default configuration and these modules.
    Built(&'a [String]),
    /// The kernel of this machine, which has these.
    Machine(Vec<String>),
}

impl Schemes<'_> {
    /// Congestion controls of this machine.
    pub fn of_machine() -> Schemes<'static> {
        let text = std::fs::read_to_string(OF_MACHINE).unwrap_or_default();
        Schemes::Machine(text.split_whitespace().map(String::from).collect())
    }

    /// All congestion controls, by the kernel's names.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Schemes::Built(modules) => {
                IN_KERNEL.into_iter().chain(modules.iter().map(String::as_str)).collect()
            }
            Schemes::Machine(all) => all.iter().map(String::as_str).collect(),
        }
    }

    /// Kernel name of a scheme.
    ///
    /// # Errors
    /// If the kernel does not have it; the message lists the available schemes.
    pub fn find(&self, name: &str) -> Result<String, String> {
        let linux = NAMES.iter().find(|(ours, _)| *ours == name).map_or(name, |(_, linux)| linux);
        let mut all = self.names();
        if all.contains(&linux) {
            return Ok(linux.into());
        }
        let (who, remedy) = match self {
            Schemes::Built(_) => ("the kernel", "`perigee kernel build --module FILE.c`"),
            Schemes::Machine(_) => ("this machine's kernel", "a module of it (as root: modprobe tcp_NAME)"),
        };
        all.sort_unstable();
        let list = all.join(", ").replace("reno", "newreno");
        Err(format!(
            "{who} has no congestion control {name:?}; it has {list}; others need {remedy}, or stay simulated (backend = \"simulator\")"
        ))
    }
}

/// Settings shared by all connections of a host.
struct Kept {
    sysctls: Vec<(String, String)>,
    route: Route,
}

/// Real hosts and their flows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostPlan {
    /// Node of each host in the timeline, by host number.
    pub nodes: Vec<NodeId>,
    /// Per flow: host numbers of source and destination; `None` = simulated.
    pub ends: Vec<Option<(usize, usize)>>,
    /// Flows that carry all packets of programs between their ends, instead of a transfer, in
    /// ascending order.
    pub carriers: Vec<u32>,
    /// Hosts of each kernel.
    pub kernels: Vec<Range<usize>>,
    /// Names of all flows.
    pub names: Vec<String>,
    /// Hosts connected to an interface of the machine: without programs from the scenario, and
    /// never pinged.
    pub apart: Vec<usize>,
    /// Hosts with interfaces that lose their carrier in outages, in ascending order.
    pub carrier: Vec<usize>,
    /// Job of the agents.
    pub job: Job,
}

impl HostPlan {
    /// Whether a flow is a transfer between real hosts.
    pub fn is_real(&self, flow: u32) -> bool {
        self.ends.get(flow as usize).is_some_and(Option::is_some) && !self.carries_programs(flow)
    }

    /// Whether a flow carries the packets of programs.
    pub fn carries_programs(&self, flow: u32) -> bool {
        self.carriers.binary_search(&flow).is_ok()
    }

    /// Whether a flow uses UDP.
    pub fn is_probe(&self, flow: u32) -> bool {
        self.job.probes.binary_search_by_key(&flow, |p| p.flow).is_ok()
    }

    /// Whether a flow is a transfer over IPv6.
    pub fn is_over_ipv6(&self, flow: u32) -> bool {
        let found = self.job.transfers.binary_search_by_key(&flow, |t| t.flow);
        found.is_ok_and(|at| self.job.transfers[at].ipv6)
    }

    /// Whether the ends of a flow are on different kernels.
    pub fn is_between_kernels(&self, flow: u32) -> bool {
        let kernel = |host: &usize| self.kernels.iter().position(|hosts| hosts.contains(host));
        let ends = self.ends.get(flow as usize).copied().flatten();
        ends.is_some_and(|(from, to)| kernel(&from) != kernel(&to))
    }

    /// Source and destination host of a packet that arrives at an end of a flow; `None` =
    /// simulated.
    pub fn way_to(&self, end: EndpointId) -> Option<(usize, usize)> {
        let (source, destination) = self.ends.get(end.flow as usize).copied().flatten()?;
        Some(match end.side {
            Side::Destination => (source, destination),
            Side::Source => (destination, source),
        })
    }

    /// Plan for a workload and the congestion controls of its hosts. Packets of programs are
    /// carried by the flows that represent them, and by those with the scheme [`PROGRAMS`].
    ///
    /// # Errors
    /// The first flow that real hosts cannot carry, and the reason; programs at nodes without a
    /// flow.
    pub fn new(
        header: &Header,
        workload: &Workload,
        schemes: &Schemes<'_>,
        programs: &[Program],
    ) -> Result<HostPlan, BackendError> {
        let mut plan = HostPlan::default();
        plan.job.end = header.duration;
        plan.names = workload.flows.iter().map(|f| f.name.clone()).collect();
        for (id, flow) in workload.flows.iter().enumerate() {
            let refuse = |why: String| BackendError::Unsupported { flow: flow.name.clone(), why };
            let by_default = flow.app.is_tcp() && flow.hosts != Some(Hosts::Simulated);
            if !by_default && flow.hosts != Some(Hosts::Linux) {
                plan.ends.push(None);
                continue;
            }
            let carries = flow.app == App::Programs || flow.cc == PROGRAMS;
            let sysctls = sysctls(flow).map_err(refuse)?;
            let pair = header.pairs.get(flow.forward.ix()).ok_or_else(|| refuse("it has no path".into()))?;
            let kept = Kept { sysctls, route: route(flow) };
            let mut host = |node| plan.host(header, node, &kept).map_err(refuse);
            let (from, to) = (host(pair.from)?, host(pair.to)?);
            if job::port(id as u32).is_none() {
                return Err(refuse(format!("it is number {id}: real hosts have ports for 60,000 flows")));
            }
            plan.ends.push(Some((from, to)));
            if carries {
                plan.carriers.push(id as u32);
            }
            if flow.cc == PROGRAMS {
                continue;
            }
            if let Some(why) = only_simulated(&flow.app) {
                return Err(refuse(why));
            }
            if let Some((interval, size, echoed)) = probe(&flow.app) {
                let payload = size.saturating_sub(PROBE_HEADER);
                let (flow, start, stop) = (id as u32, flow.start, flow.stop.min(header.duration));
                plan.job.probes.push(Probe { flow, from, to, start, stop, interval, payload, echoed });
                continue;
            }
            let scheme = schemes.find(&flow.cc).map_err(refuse)?;
            if carries {
                plan.use_by_default(&[from, to], scheme).map_err(refuse)?;
                continue;
            }
            let bytes = bytes(flow).map_err(refuse)?;
            if flow.buffer_bytes > 0 {
                let window = u32::try_from(flow.buffer_bytes).unwrap_or(u32::MAX).min(LARGEST_WINDOW);
                plan.job.windows.push((id as u32, window));
            }
            // A proxy continues to forward its buffered data after the application has stopped.
            let carries_on = flow.leg.is_some_and(|leg| leg.before.is_some());
            let stop = if carries_on { header.duration } else { flow.stop.min(header.duration) };
            let start = flow.start;
            plan.job.relays.extend(relay(id as u32, flow, workload).map_err(refuse)?);
            let application = Application::default();
            if plan.job.transfers.len() == job::MAX_TRANSFERS {
                return Err(refuse(format!("real hosts have {} flows at most", job::MAX_TRANSFERS)));
            }
            let flow = id as u32;
            let ipv6 = scheme == WITH_TELEMETRY && matches!(schemes, Schemes::Built(_));
            plan.job.transfers.push(Transfer {
                flow,
                from,
                to,
                start,
                stop,
                bytes,
                scheme,
                ipv6,
                application,
            });
        }
        plan.add_programs(header, programs)?;
        Ok(plan)
    }

    /// Sets the hosts with interfaces that lose their carrier.
    ///
    /// # Errors
    /// If there is no such host, or it is connected to an interface of the machine.
    pub fn set_carrier(&mut self, names: &[String]) -> Result<(), BackendError> {
        for name in names {
            let host =
                self.host_named(name).map_err(|e| BackendError::Failed(format!("hosts.carrier: {e}")))?;
            if self.apart.contains(&host) {
                return Err(BackendError::Failed(format!(
                    "hosts.carrier: the carrier of {name}, which is behind an interface of this machine, is its device's"
                )));
            }
            self.carrier.push(host);
        }
        self.carrier.sort_unstable();
        self.carrier.dedup();
        Ok(())
    }

    /// Number of a host.
    pub(super) fn host_named(&self, name: &str) -> Result<usize, BackendError> {
        let known = || self.job.hosts.iter().map(|h| h.name.as_str()).collect::<Vec<_>>().join(", ");
        let found = self.job.hosts.iter().position(|h| h.name == name);
        found.ok_or_else(|| {
            BackendError::Failed(format!("the scenario has no real host {name:?}; it has {}", known()))
        })
    }

    /// Rejects flows between kernels that need both ends on the same one.
    ///
    /// # Errors
    /// On/off sources between kernels: no agent could detect that all data has arrived.
    pub fn check_kernels(&self, workload: &Workload) -> Result<(), BackendError> {
        for (id, flow) in (0..).zip(&workload.flows) {
            let on_off = matches!(flow.app, App::OnOff { .. }) && self.is_real(id);
            if on_off && self.is_between_kernels(id) {
                let why = "on-off sources need both ends in one kernel: hosts.kernel = \"shared\", 48 real hosts at \
                           most, or backend = \"simulator\" for the flow";
                return Err(BackendError::Unsupported { flow: flow.name.clone(), why: why.into() });
            }
        }
        Ok(())
    }

    /// Sets the congestion control that programs at these hosts use by default.
    fn use_by_default(&mut self, hosts: &[usize], scheme: String) -> Result<(), String> {
        for &i in hosts {
            let host = &mut self.job.hosts[i];
            if host.scheme.as_ref().is_some_and(|other| *other != scheme) {
                return Err(format!(
                    "programs at {} would have two congestion controls by default",
                    host.name
                ));
            }
            host.scheme = Some(scheme.clone());
        }
        Ok(())
    }

    fn add_programs(&mut self, header: &Header, programs: &[Program]) -> Result<(), BackendError> {
        if self.carriers.is_empty() && !programs.is_empty() {
            let why =
                "nothing carries the programs' packets: add a [[flow]] with app = \"programs\" between their nodes, or \
                       give a TCP flow there cc = \"*\"";
            return Err(BackendError::Failed(why.into()));
        }
        for (id, program) in programs.iter().enumerate() {
            let name = |node: &NodeId| header.nodes[node.ix()].name.as_str();
            let host = self.nodes.iter().position(|n| name(n).eq_ignore_ascii_case(&program.node));
            let host = host.ok_or_else(|| {
                let known = self.nodes.iter().map(name).collect::<Vec<_>>().join(", ");
                BackendError::Failed(format!(
                    "no flow of the scenario begins or ends at {:?}: programs can be at {known}",
                    program.node
                ))
            })?;
            self.job.commands.push(Command {
                id: id as u32,
                host,
                start: program.start,
                folder: absolute(&program.folder)?,
                environment: program.environment.clone(),
                words: program.words.clone(),
                first_namespace: program.first_namespace,
                input: match &program.input {
                    Some(Input::File(path)) => Some(Input::File(absolute(path)?)),
                    other => other.clone(),
                },
            });
        }
        Ok(())
    }

    /// Number of the host at a node.
    fn host(&mut self, header: &Header, node: NodeId, kept: &Kept) -> Result<usize, String> {
        let known = self.nodes.iter().position(|n| *n == node);
        if let Some(i) = known {
            if self.job.hosts[i].sysctls != kept.sysctls || self.job.hosts[i].route != kept.route {
                return Err(format!(
                    "host {} would need transport options of two kinds: flows of one host share them",
                    self.job.hosts[i].name
                ));
            }
            return Ok(i);
        }
        self.nodes.push(node);
        let plain = host_name(&header.nodes[node.ix()].name);
        let taken = |name: &str| name == "localhost" || self.job.hosts.iter().any(|h| h.name == name);
        let others = (2..).map(|n| format!("{plain}-{n}"));
        let mut names = std::iter::once(plain.clone()).chain(others);
        let name = names.find(|n| !taken(n)).expect("numbers do not end");
        self.job.hosts.push(Host {
            name,
            sysctls: kept.sysctls.clone(),
            route: kept.route,
            scheme: None,
            mtu: None,
        });
        Ok(self.nodes.len() - 1)
    }
}

impl HostPlan {
    /// All flows as set up for the simulator: real ones have both ends outside.
    ///
    /// # Errors
    /// Errors of the simulator's own flows.
    pub fn setups(
        &self,
        header: &Header,
        workload: &Workload,
        plugins: &Plugins,
    ) -> Result<Vec<FlowSetup>, BackendError> {
        // Real flows need no built-in scheme, but the simulator requires one.
        let mut simulated = workload.clone();
        for (flow, ends) in simulated.flows.iter_mut().zip(&self.ends) {
            if ends.is_some() && perigee_cc::info(&flow.cc).is_none() {
                flow.cc = "newreno".into();
            }
        }
        let mut setups = flow_setups(header, &simulated, plugins)?;
        for (setup, _) in setups.iter_mut().zip(&self.ends).filter(|(_, ends)| ends.is_some()) {
            setup.outside = Outside { source: true, destination: true };
        }
        self.mark_standing(&mut setups);
        Ok(setups)
    }

    /// Legs downstream of a permanent connection are also permanent: its SYN, at the start of the
    /// run, opens them.
    fn mark_standing(&self, setups: &mut [FlowSetup]) {
        for relay in &self.job.relays {
            let standing = |id: u32| setups[id as usize].leg.is_some_and(|l| l.standing);
            let stands = standing(relay.flow) || standing(relay.next);
            if let Some(leg) = &mut setups[relay.next as usize].leg {
                leg.standing = stands;
            }
        }
    }

    /// Notes on hosts with names other than those of their nodes.
    pub fn host_name_notes(&self, header: &Header) -> Vec<String> {
        let name = |node: &NodeId| header.nodes[node.ix()].name.as_str();
        let both = self.nodes.iter().map(name).zip(&self.job.hosts);
        let other = both.filter(|(node, host)| !node.eq_ignore_ascii_case(&host.name));
        other.map(|(node, host)| format!("node {node:?} is the host {} in /etc/hosts", host.name)).collect()
    }
}

fn absolute(path: &Path) -> Result<PathBuf, BackendError> {
    std::path::absolute(path).map_err(|e| BackendError::Failed(format!("{}: {e}", path.display())))
}

/// Converts a node's name to a valid host name (RFC 1123): letters, digits and hyphens.
fn host_name(node: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = node.chars().map(plain).take(60).collect();
    let name = name.trim_matches('-');
    if name.is_empty() {
        "host".into()
    } else {
        name.into()
    }
}

/// Perigee's name of a kernel's scheme.
pub fn our_name(linux: &str) -> &str {
    NAMES.iter().find(|(_, theirs)| *theirs == linux).map_or(linux, |(ours, _)| ours)
}

/// Reason why real hosts cannot carry an application.
fn only_simulated(app: &App) -> Option<String> {
    let name = match app {
        App::Web(_) => "web",
        App::Video(_) => "video",
        App::Voice(_) => "voice",
        _ => return None,
    };
    Some(format!(
        "app = \"{name}\" is made by the simulator only: write backend = \"simulator\" for the flow, or let programs \
         send it (app = \"programs\")"
    ))
}

/// Interval, size of IP packets and whether they are echoed, for flows without TCP.
fn probe(app: &App) -> Option<(Nanos, u32, bool)> {
    match *app {
        App::Ping { interval, size } => Some((interval, size, true)),
        App::Cbr { interval, size } => Some((interval, size, false)),
        _ => None,
    }
}

/// Size of the transfer.
fn bytes(flow: &Flow) -> Result<Option<u64>, String> {
    let has_no = |(name, value): &(&String, &Value)| flow.cc != WITH_TELEMETRY || !is_default(name, value);
    if let Some((name, _)) = flow.cc_params.iter().find(has_no) {
        return Err(format!("its kernel's {} has no parameter {name:?}", flow.cc));
    }
    if let Some(start) = &flow.slow_start {
        return Err(format!(
            "slow_start = {:?} is of simulated flows only, its kernel's {} has its own: remove it, or write \
             slow_start = \"own\" for this flow",
            start.id, flow.cc
        ));
    }
    match flow.app {
        App::Bulk { bytes } => Ok(bytes),
        _ => Ok(None),
    }
}

/// Whether a parameter of OrbCC has the value that the kernel's has.
fn is_default(name: &str, value: &Value) -> bool {
    let params = perigee_cc::info(WITH_TELEMETRY).map_or(&[][..], |info| info.params);
    params.iter().any(|p| p.name == name && p.domain.default_value() == *value)
}

/// Proxy at the end of a leg.
fn relay(id: u32, flow: &Flow, workload: &Workload) -> Result<Option<Relay>, String> {
    let Some((leg, next)) = flow.leg.and_then(|leg| Some((leg, leg.after?))) else { return Ok(None) };
    if !leg.spoof {
        return Err("kernels answer SYNs at once: via_spoof = false needs simulated hosts".into());
    }
    if leg.buffer < LEAST_BUFFER {
        return Err(format!("proxies of real hosts need a via_buffer of {LEAST_BUFFER} bytes at least"));
    }
    let standing = workload.flows.get(next as usize).and_then(|f| f.leg).is_some_and(|l| l.standing);
    Ok(Some(Relay { flow: id, next, buffer: leg.buffer, standing }))
}
