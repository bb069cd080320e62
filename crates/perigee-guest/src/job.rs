// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Jobs of the agent, one item per line: in a guest the file `/job` in its root, in real time a message.

use crate::types::Mac;
use perigee_units::Nanos;
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Guest time at simulated time zero: booting and creating namespaces, which take some ticks, are
/// complete by then.
pub const EPOCH: Nanos = Nanos(4_000_000_000);

/// Maximum number of hosts of a guest: one interface per host and one for reports, limited by the
/// kernel's interrupts.
pub const MAX_HOSTS: usize = 48;

/// Maximum number of flows of a guest: the capacity of its agent.
pub const MAX_TRANSFERS: usize = 4096;

/// First TCP port of flows: a flow has this plus its number.
pub const FIRST_PORT: u16 = 5001;

/// MTU of interfaces.
pub const MTU: u32 = 1500;

/// Ethernet header of frames with notices, addressed to the agent's interface.
const NOTICE: [u8; 14] = [2, 0, 0, 0, 0xff, 0xfe, 2, 0, 0, 0, 0xff, 0xff, 0x88, 0xb7];

/// Frame after which the agent ends all programs (`ending.c`).
pub const ENDING: [u8; 14] = [2, 0, 0, 0, 0xff, 0xfe, 2, 0, 0, 0, 0xff, 0xff, 0x88, 0xb8];

/// Frame with a notice, a line of text, to the agent for a host, by its number in that guest.
pub fn notice(host: usize, text: &str) -> Box<[u8]> {
    [&NOTICE[..], format!("{host} {text}\n").as_bytes()].concat().into()
}

/// Interface for reports; that of host `i` has number `i + 1`.
pub const REPORTS: usize = 0;

/// A host of the scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Name of the host.
    pub name: String,
    /// Kernel settings of its network namespace, by name: `net.ipv4.tcp_rmem`.
    pub sysctls: Vec<(String, String)>,
    /// Attributes of its routes to the others.
    pub route: Route,
    /// Default congestion control; `None` = that of the kernel.
    pub scheme: Option<String>,
    /// MTU of its interface, of which IPv4 uses [`MTU`]; `None` = that for both.
    pub mtu: Option<u32>,
}

impl Host {
    /// Sets or replaces a kernel setting.
    pub fn set(&mut self, name: &str, value: String) {
        match self.sysctls.iter_mut().find(|(key, _)| key == name) {
            Some((_, old)) => *old = value,
            None => self.sysctls.push((name.into(), value)),
        }
    }

    /// Initial size of its receive buffers in bytes, if set.
    pub fn receive_buffer(&self) -> Option<u64> {
        let (_, value) = self.sysctls.iter().find(|(key, _)| key == "net.ipv4.tcp_rmem")?;
        value.split(' ').nth(1)?.parse().ok()
    }
}

/// Attributes of a route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// Initial window in segments; 0 = the kernel's default.
    pub initial_window: u32,
    /// Whether every segment is acknowledged at once.
    pub quick_acks: bool,
}

/// A TCP flow between two hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Number of the flow in the workload.
    pub flow: u32,
    /// Number of the sending host.
    pub from: usize,
    /// Number of the receiving host.
    pub to: usize,
    /// Time at which it connects, in simulated time.
    pub start: Nanos,
    /// Time at which it stops writing data.
    pub stop: Nanos,
    /// Number of bytes to send; `None` = unlimited.
    pub bytes: Option<u64>,
    /// Kernel name of its congestion control.
    pub scheme: String,
    /// Whether its packets are those of IPv6, which have room for telemetry.
    pub ipv6: bool,
    /// Application of the flow.
    pub application: Application,
}

/// UDP packets from one host to another, at a constant rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Number of the flow in the workload.
    pub flow: u32,
    /// Number of the sending host.
    pub from: usize,
    /// Number of the receiving host.
    pub to: usize,
    /// Time of the first packet, in simulated time.
    pub start: Nanos,
    /// End of sending.
    pub stop: Nanos,
    /// Interval between packets.
    pub interval: Nanos,
    /// Payload bytes.
    pub payload: u32,
    /// Whether the receiver echoes the packets.
    pub echoed: bool,
}

/// Behaviour of a flow's ends. All random values are drawn before the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Application {
    /// Sends as much as the transport accepts.
    #[default]
    Bulk,
    /// Alternates between sending and idle periods of these lengths.
    OnOff(Vec<Nanos>),
    /// The receiver requests one object after the other.
    Request {
        /// Total number; `u64::MAX` = until the flow stops.
        wanted: u64,
        /// Minimum time between two requests.
        period: Nanos,
        /// Bytes of each object, and the time from its end to the next request; fewer entries than
        /// `wanted` if the flow stops earlier.
        objects: Vec<(u64, Nanos)>,
    },
}

impl Application {
    /// Line of the job for the application, if it has one.
    fn text(&self, flow: u32) -> Option<String> {
        let join = |numbers: &mut dyn Iterator<Item = u64>| {
            numbers.fold(String::new(), |mut line, n| {
                write!(line, " {n}").expect("a string takes everything");
                line
            })
        };
        match self {
            Application::Bulk => None,
            Application::OnOff(turns) => {
                Some(format!("turns {flow}{}", join(&mut turns.iter().map(|t| t.0))))
            }
            Application::Request { wanted, period, objects } => {
                let drawn = join(&mut objects.iter().flat_map(|(bytes, think)| [*bytes, think.0]));
                Some(format!("objects {flow} {wanted} {}{drawn}", period.0))
            }
        }
    }
}

/// Proxy at the end of one flow that forwards its data over another flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relay {
    /// Number of the flow that it receives.
    pub flow: u32,
    /// Number of the flow that forwards the data.
    pub next: u32,
    /// Size of the relay's buffer in bytes.
    pub buffer: u64,
    /// Whether that connection is opened at the start of the run instead of on demand.
    pub standing: bool,
}

/// Number of bytes that a proxy reads at once, and maximum size of a segment before segmentation
/// (`relay.c`).
const BLOCK: u64 = 1 << 15;
const LARGEST_SEGMENT: u64 = 1 << 16;

/// Sizes of the receive buffer of one leg and the send buffer of the next, for a proxy with a
/// buffer of `held` bytes: half each, less the data being read or in transit between the two.
pub fn proxy_buffers(held: u64) -> (u64, u64) {
    let half = held / 2;
    (half.saturating_sub(BLOCK), half.saturating_sub(LARGEST_SEGMENT))
}

/// A program of this machine that runs on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Number of the command.
    pub id: u32,
    /// Number of its host.
    pub host: usize,
    /// Start time, in simulated time.
    pub start: Nanos,
    /// Working directory of the command, on this machine.
    pub folder: PathBuf,
    /// Standard input of the command.
    pub input: Option<Input>,
    /// Variables of its environment, `NAME=VALUE`.
    pub environment: Vec<String>,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Whether it runs in the kernel's first network namespace, where modules have their netlink
    /// sockets, instead of that of its host.
    pub first_namespace: bool,
}

/// Standard input of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A file of this machine.
    File(PathBuf),
    /// These bytes.
    Bytes(Vec<u8>),
    /// A terminal, also its output.
    Terminal,
}

/// An echo request from one host to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ping {
    /// Number of the ping, which its packets carry.
    pub number: u16,
    /// Number of the requesting host.
    pub from: usize,
    /// Address of the pinged host.
    pub to: IpAddr,
}

/// The job of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// Time between samples; zero = no samples.
    pub sample: Nanos,
    /// Simulated time of the final reports.
    pub end: Nanos,
    /// Hosts, by number.
    pub hosts: Vec<Host>,
    /// Flows, in ascending order.
    pub transfers: Vec<Transfer>,
    /// UDP flows, in ascending order.
    pub probes: Vec<Probe>,
    /// Maximum windows advertised by receivers of transfers, in bytes, by flow number.
    pub windows: Vec<(u32, u32)>,
    /// Proxies of split connections.
    pub relays: Vec<Relay>,
    /// Programs; those of the same instant start in this order.
    pub commands: Vec<Command>,
    /// Bytes kept of each output stream of a program; `None` = all. Of the rest, agents report the
    /// number only.
    pub output_limit: Option<u64>,
    /// Folders of this machine that programs may modify; all others are read-only below an
    /// in-memory layer.
    pub writable: Vec<PathBuf>,
    /// Echo requests that hosts send when they start.
    pub pings: Vec<Ping>,
}

/// Hardware address of a host.
pub fn mac(host: usize) -> Mac {
    let n = (host + 1) as u16;
    [2, 0, 0, 0, (n >> 8) as u8, n as u8]
}

/// Number of the host with a hardware address.
pub fn host_of(mac: &[u8]) -> Option<usize> {
    match mac {
        [2, 0, 0, 0, high, low] => (usize::from(*high) << 8 | usize::from(*low)).checked_sub(1),
        _ => None,
    }
}

fn text_of(mac: Mac) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// IPv4 address of a host, in 10.0.0.0/16.
pub fn ipv4(host: usize) -> Ipv4Addr {
    let n = (host + 1) as u16;
    Ipv4Addr::new(10, 0, (n >> 8) as u8, n as u8)
}

/// IPv6 address of a host, in fd00::/64.
pub fn ipv6(host: usize) -> Ipv6Addr {
    Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, (host + 1) as u16)
}

/// TCP port of a flow.
pub fn port(flow: u32) -> Option<u16> {
    u16::try_from(flow).ok().and_then(|n| FIRST_PORT.checked_add(n))
}

impl Job {
    /// Hardware addresses of all interfaces of the guest with the hosts `here`, that for reports
    /// first.
    pub fn interfaces(&self, here: &Range<usize>) -> Vec<Mac> {
        let reports = [2, 0, 0, 0, 0xff, 0xfe];
        std::iter::once(reports).chain(here.clone().map(mac)).collect()
    }

    /// Job of the agent with the hosts `here`, which are numbered from 0 in it.
    pub fn text(&self, here: &Range<usize>) -> String {
        let mut out = format!("epoch {}\nsample {}\nend {}\n", EPOCH.0, self.sample.0, self.end.0);
        for (i, host) in here.clone().zip(&self.hosts[here.clone()]) {
            let (v4, v6) = (ipv4(i), ipv6(i));
            let number = 1 + i - here.start;
            let mtu = host.mtu.map_or(String::new(), |mtu| format!(" {mtu}"));
            let mac = text_of(mac(i));
            line(&mut out, format_args!("host {} eth{number} {v4}/16 {v6}/64 {mac}{mtu}", host.name));
        }
        for (number, host) in self.hosts[here.clone()].iter().enumerate() {
            for (key, value) in &host.sysctls {
                line(&mut out, format_args!("sysctl {number} {key} {value}"));
            }
            if host.route != Route::default() || host.mtu.is_some() {
                let Route { initial_window, quick_acks } = host.route;
                let mtu = host.mtu.map_or(String::new(), |_| format!(" {MTU}"));
                line(
                    &mut out,
                    format_args!("route {number} {initial_window} {}{mtu}", u32::from(quick_acks)),
                );
            }
            if let Some(scheme) = &host.scheme {
                line(&mut out, format_args!("sysctl {number} net.ipv4.tcp_congestion_control {scheme}"));
            }
            for other in (0..self.hosts.len()).filter(|other| *other != here.start + number) {
                let mac = text_of(mac(other));
                line(&mut out, format_args!("neighbour {number} {} {mac}", ipv4(other)));
                line(&mut out, format_args!("neighbour {number} {} {mac}", ipv6(other)));
            }
        }
        // An end in another guest has no number here.
        let number = |host: usize| here.contains(&host).then(|| host - here.start);
        let or_none = |host: usize| number(host).map_or(-1, |n| n as i64);
        for t in self.transfers.iter().filter(|t| here.contains(&t.from) || here.contains(&t.to)) {
            let to = if t.ipv6 { IpAddr::V6(ipv6(t.to)) } else { IpAddr::V4(ipv4(t.to)) };
            let port = port(t.flow).unwrap_or(0);
            let bytes = t.bytes.unwrap_or(u64::MAX);
            let (flow, start, stop) = (t.flow, t.start.0, t.stop.0);
            let ends = format!("{flow} {} {} {to} {port}", or_none(t.from), or_none(t.to));
            line(&mut out, format_args!("flow {ends} {start} {stop} {bytes} {}", t.scheme));
        }
        for p in self.probes.iter().filter(|p| here.contains(&p.from) || here.contains(&p.to)) {
            let (to, port) = (ipv4(p.to), port(p.flow).unwrap_or(0));
            let ends = format!("{} {} {} {to} {port}", p.flow, or_none(p.from), or_none(p.to));
            let times = format!("{} {} {}", p.start.0, p.stop.0, p.interval.0);
            line(&mut out, format_args!("probe {ends} {times} {} {}", p.payload, u8::from(p.echoed)));
        }
        for (flow, bytes) in &self.windows {
            if self.transfers.iter().any(|t| t.flow == *flow && here.contains(&t.to)) {
                line(&mut out, format_args!("window {flow} {bytes}"));
            }
        }
        for t in self.transfers.iter().filter(|t| here.contains(&t.from) || here.contains(&t.to)) {
            if let Some(text) = t.application.text(t.flow) {
                line(&mut out, format_args!("{text}"));
            }
        }
        let proxy = |r: &&Relay| self.transfers.iter().any(|t| t.flow == r.flow && here.contains(&t.to));
        for r in self.relays.iter().filter(proxy) {
            let standing = u8::from(r.standing);
            line(&mut out, format_args!("relay {} {} {} {standing}", r.flow, r.next, r.buffer));
        }
        if self.commands.iter().any(|c| here.contains(&c.host)) {
            self.commands_text(here, &mut out);
        }
        for ping in self.pings.iter().filter(|ping| here.contains(&ping.from)) {
            line(&mut out, format_args!("ping {} {} {}", ping.number, ping.from - here.start, ping.to));
        }
        out
    }

    fn commands_text(&self, here: &Range<usize>, out: &mut String) {
        line(out, format_args!("world of programs"));
        line(out, format_args!("output {}", self.output_limit.unwrap_or(u64::MAX)));
        line(out, format_args!("names of hosts"));
        for (i, host) in self.hosts.iter().enumerate().filter(|(i, _)| !here.contains(i)) {
            line(out, format_args!("name {} {}", ipv4(i), host.name));
            line(out, format_args!("name {} {}", ipv6(i), host.name));
        }
        line(out, format_args!("notices of handovers"));
        for folder in &self.writable {
            line(out, format_args!("writable {}", plain(folder.as_os_str().as_bytes())));
        }
        for c in self.commands.iter().filter(|c| here.contains(&c.host)) {
            let input = match &c.input {
                Some(Input::File(path)) => path.as_os_str().as_bytes(),
                _ => &[],
            };
            let mut words = vec![plain(input), plain(c.folder.as_os_str().as_bytes())];
            words.extend(c.environment.iter().map(|v| plain(v.as_bytes())));
            words.push("--".into());
            words.extend(c.words.iter().map(|w| plain(w.as_bytes())));
            let number = c.host - here.start;
            line(out, format_args!("program {} {number} {} {}", c.id, c.start.0, words.join(" ")));
            match &c.input {
                Some(Input::Bytes(bytes)) => line(out, format_args!("input {} {}", c.id, escaped(bytes))),
                Some(Input::Terminal) => line(out, format_args!("terminal {}", c.id)),
                Some(Input::File(_)) | None => {}
            }
            if c.first_namespace {
                line(out, format_args!("first {}", c.id));
            }
        }
    }
}

/// Encodes bytes as a word of the job; the empty string as %00.
fn plain(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "%00".into();
    }
    escaped(bytes)
}

/// Encodes separators and non-ASCII bytes as %XX.
fn escaped(bytes: &[u8]) -> String {
    let byte = |b: &u8| match b {
        b'%' | 0..=b' ' | 0x7f.. => format!("%{b:02x}"),
        _ => char::from(*b).to_string(),
    };
    bytes.iter().map(byte).collect()
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("a string takes everything");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_by_their_addresses() {
        for host in [0, 1, 254, 255, 300] {
            assert_eq!(host_of(&mac(host)), Some(host));
        }
        assert_eq!(host_of(&[0xff; 6]), None);
        assert_eq!(host_of(&[2, 0, 0, 0, 0, 0]), None);
    }

    #[test]
    fn a_job_has_a_line_for_each_thing() {
        let host = |name: &str| Host {
            name: name.into(),
            sysctls: vec![("net.ipv4.tcp_rmem".into(), "4096 8388608 67108864".into())],
            route: Route { initial_window: 20, quick_acks: true },
            scheme: Some("bbr".into()),
            mtu: None,
        };
        let transfer = Transfer {
            flow: 3,
            from: 0,
            to: 1,
            start: Nanos(5),
            stop: Nanos(9),
            bytes: Some(1000),
            scheme: "cubic".into(),
            ipv6: false,
            application: Application::OnOff(vec![Nanos(7), Nanos(8)]),
        };
        let request = Application::Request { wanted: 9, period: Nanos(4), objects: vec![(100, Nanos(6))] };
        assert_eq!(request.text(2).as_deref(), Some("objects 2 9 4 100 6"));
        let job = Job {
            sample: Nanos(100),
            end: Nanos(1_000),
            hosts: vec![host("a"), host("b")],
            transfers: vec![transfer],
            relays: vec![Relay { flow: 3, next: 4, buffer: 1000, standing: true }],
            ..Job::default()
        };
        let text = job.text(&(0..2));
        assert!(text.starts_with(
            "epoch 4000000000\nsample 100\nend 1000\nhost a eth1 10.0.0.1/16 fd00::1/64 02:00:00:00:00:01\n"
        ));
        assert!(text.contains("neighbour 0 10.0.0.2 02:00:00:00:00:02\n"));
        assert!(text.contains("sysctl 1 net.ipv4.tcp_rmem 4096 8388608 67108864\n"));
        assert!(text.contains("route 1 20 1\nsysctl 1 net.ipv4.tcp_congestion_control bbr\n"));
        assert!(
            text.ends_with("flow 3 0 1 10.0.0.2 5004 5 9 1000 cubic\nturns 3 7 8\nrelay 3 4 1000 1\n"),
            "{text}"
        );
        // In a separate kernel the second host has number 0, and the other end is not one of its
        // hosts.
        let text = job.text(&(1..2));
        assert!(
            text.contains("host b eth1 10.0.0.2/16 fd00::2/64 02:00:00:00:00:02\n")
                && !text.contains("host a"),
            "{text}"
        );
        assert!(text.contains("neighbour 0 10.0.0.1 02:00:00:00:00:01\n"), "{text}");
        assert!(
            text.ends_with("flow 3 -1 0 10.0.0.2 5004 5 9 1000 cubic\nturns 3 7 8\nrelay 3 4 1000 1\n"),
            "{text}"
        );
        assert_eq!(job.interfaces(&(1..2)), [[2, 0, 0, 0, 0xff, 0xfe], mac(1)]);
        // The proxy is in the kernel with the hosts of the flow's end.
        assert!(!job.text(&(0..1)).contains("relay"));
        // Packets of IPv6 with telemetry are larger; those of IPv4 are not.
        let mut large = job;
        large.hosts[0].mtu = Some(1552);
        large.transfers[0].ipv6 = true;
        let text = large.text(&(0..2));
        assert!(text.contains("host a eth1 10.0.0.1/16 fd00::1/64 02:00:00:00:00:01 1552\n"), "{text}");
        assert!(text.contains("route 0 20 1 1500\n") && text.contains("route 1 20 1\n"), "{text}");
        assert!(text.contains("flow 3 0 1 fd00::2 5004"), "{text}");
    }

    #[test]
    fn words_of_programs_keep_their_bytes() {
        let command = Command {
            id: 7,
            host: 1,
            start: Nanos(5),
            folder: "/home/a b".into(),
            input: Some(Input::File("/home/f".into())),
            environment: vec!["A=1 2".into()],
            words: vec!["sh".into(), "-c".into(), "echo 50%\n".into(), "".into(), "é".into()],
            first_namespace: true,
        };
        let host = Host { name: "a".into(), ..Host::default() };
        let hosts = vec![host.clone(), host];
        let job = Job { hosts, commands: vec![command], writable: vec!["/tmp/x".into()], ..Job::default() };
        let expected =
            "writable /tmp/x\nprogram 7 1 5 /home/f /home/a%20b A=1%202 -- sh -c echo%2050%25%0a %00 %c3%a9\nfirst 7\n";
        let text = job.text(&(0..2));
        assert!(text.ends_with(expected), "{text}");
        let ending = |input: Input| {
            let mut job = job.clone();
            job.commands[0].input = Some(input);
            let text = job.text(&(0..2));
            assert!(text.contains("program 7 1 5 %00 /home/a%20b"), "{text}");
            assert!(text.contains("\noutput 18446744073709551615\n"), "{text}");
            text.rsplit_once("%c3%a9\n").map(|(_, end)| end.to_string())
        };
        assert_eq!(ending(Input::Bytes(b"a b\0".into())).as_deref(), Some("input 7 a%20b%00\nfirst 7\n"));
        assert_eq!(ending(Input::Bytes(Vec::new())).as_deref(), Some("input 7 \nfirst 7\n"));
        assert_eq!(ending(Input::Terminal).as_deref(), Some("terminal 7\nfirst 7\n"));
    }
}
