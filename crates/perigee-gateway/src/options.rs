// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Command line of the gateway.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

/// Side that opens the connections to be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// Hosts at the inside interface.
    Inside,
    /// Hosts at the outside interface.
    Outside,
    /// Both.
    Both,
}

/// Task of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Split connections.
    Run,
    /// Print the state of a running gateway.
    Status,
    /// Print the counters of a running gateway in the format of Prometheus.
    Metrics,
    /// Let a running gateway accept no new connections, and end with its last one.
    Drain,
    /// Remove the rules and routes of a killed gateway.
    Clean,
}

/// Options of a gateway.
#[derive(Clone, Debug)]
pub struct Options {
    /// Task of the program.
    pub task: Task,
    /// Interface of the hosts.
    pub inside: String,
    /// Interface of the satellite link.
    pub outside: String,
    /// Congestion control at the outside interface; `None` is the system's default.
    pub congestion: Option<String>,
    /// Congestion control at the inside interface.
    pub inside_congestion: Option<String>,
    /// Side that opens connections.
    pub from: From,
    /// Whether SYNs are answered immediately.
    pub spoof: bool,
    /// Maximum waiting time of data, in RTTs of the next leg.
    pub backlog: f64,
    /// Maximum number of connections.
    pub connections: u32,
    /// Maximum buffer of a connection in one direction, in bytes.
    pub buffer: u32,
    /// Maximum sum of advertised windows, in bytes.
    pub memory: u64,
    /// Timeout for the answer of the far side, in s.
    pub dial_s: u32,
    /// Idle time before keepalive probes, in s.
    pub keepalive_s: u32,
    /// Time in s that connections have to end after SIGTERM.
    pub drain_s: u32,
    /// Number of threads; a power of two.
    pub workers: u32,
    /// Mark of packets that are delivered to this machine.
    pub mark: u32,
    /// Number of the routing table.
    pub table: u32,
    /// Number of the first queue.
    pub queue: u16,
    /// Unix socket of the health endpoint.
    pub control: PathBuf,
    /// Loopback port of the health endpoint, if it has one.
    pub health_port: Option<u16>,
    /// Whether to replace a running gateway.
    pub replace: bool,
}

const HELP: &str = "\
Split TCP connections at a router, transparently

Usage: perigee gateway --inside IF --outside IF [OPTIONS]
       perigee gateway status|metrics|drain [--control PATH]
       perigee gateway clean

  perigee gateway --inside eth1 --outside eth0 --cc bbr

Connections from hosts at the inside interface that leave by the outside interface end in the
gateway; it opens the second half from the client's own address and port. UDP, QUIC, ICMP and
connections that exist already are forwarded as before.

  --inside IF          interface of the hosts
  --outside IF         interface of the satellite link
  --cc NAME            congestion control at the outside interface (default: the system's)
  --inside-cc NAME     congestion control at the inside interface (default: the system's)
  --from SIDE          inside, outside or both: who opens the connections to split (default: inside)
  --spoof              answer SYNs at once; default: when the far side has answered
  --backlog X          data that may wait here, in RTTs of the next leg, 0.05 to 1 (default: 0.25)
  --connections N      most connections (default: 10000); further ones are forwarded unsplit
  --buffer MIB         largest buffer of a connection and direction (default: 16)
  --memory MIB         largest sum of advertised windows (default: 1024)
  --dial-timeout S     time for the far side's answer (default: 30)
  --keepalive S        idle time before keepalive probes (default: 120)
  --drain S            time for connections to end after SIGTERM (default: 30)
  --replace            take over from a running gateway, which keeps its connections until they end
  --workers N          threads, a power of two up to 64 (default: by cores)
  --control PATH       Unix socket of the health endpoint (default: /run/perigee-gateway.sock)
  --health-port PORT   also serve it by HTTP on 127.0.0.1
  --mark N             packet mark (default: 0x50475759)
  --table N            table of routes (default: 5047)
  --queue N            first queue of netfilter (default: 5047)
  --help               print this text
";

/// The help text.
#[must_use]
pub fn help() -> &'static str {
    HELP
}

impl Default for Options {
    fn default() -> Options {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // The largest power of two that does not exceed the number of cores.
        let workers = 1_u32 << cores.min(8).ilog2();
        Options {
            task: Task::Run,
            inside: String::new(),
            outside: String::new(),
            congestion: None,
            inside_congestion: None,
            from: From::Inside,
            spoof: false,
            backlog: 0.25,
            connections: 10_000,
            buffer: 16 << 20,
            memory: 1024 << 20,
            dial_s: 30,
            keepalive_s: 120,
            drain_s: 30,
            workers,
            mark: 0x5047_5759,
            table: 5047,
            queue: 5047,
            control: PathBuf::from("/run/perigee-gateway.sock"),
            health_port: None,
            replace: false,
        }
    }
}

impl Options {
    /// Reads the command line; `None` if help was requested.
    ///
    /// # Errors
    /// A message about the first invalid option.
    pub fn read(arguments: &[String]) -> Result<Option<Options>, String> {
        let mut options = Options::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if matches!(argument.as_str(), "--help" | "-h") {
                return Ok(None);
            }
            let (name, attached) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (argument.as_str(), None),
            };
            let mut value = || {
                attached
                    .clone()
                    .or_else(|| rest.next().cloned())
                    .ok_or_else(|| format!("{name} needs a value"))
            };
            match name {
                "status" => options.task = Task::Status,
                "metrics" => options.task = Task::Metrics,
                "drain" => options.task = Task::Drain,
                "clean" => options.task = Task::Clean,
                "--inside" => options.inside = value()?,
                "--outside" => options.outside = value()?,
                "--cc" => options.congestion = Some(value()?),
                "--inside-cc" => options.inside_congestion = Some(value()?),
                "--from" => options.from = side(&value()?)?,
                "--spoof" => options.spoof = true,
                "--replace" => options.replace = true,
                "--backlog" => options.backlog = fraction(&value()?)?,
                "--connections" => options.connections = number(name, &value()?, 1, 1_000_000)?,
                "--buffer" => options.buffer = number(name, &value()?, 1, 512)? << 20,
                "--memory" => options.memory = u64::from(number(name, &value()?, 1, 1 << 20)?) << 20,
                "--dial-timeout" => options.dial_s = number(name, &value()?, 1, 300)?,
                "--keepalive" => options.keepalive_s = number(name, &value()?, 8, 32767)?,
                "--drain" => options.drain_s = number(name, &value()?, 0, 86400)?,
                "--workers" => options.workers = number(name, &value()?, 1, 64)?,
                "--control" => options.control = value()?.into(),
                "--health-port" => options.health_port = Some(small(name, &value()?, 1, 65535)?),
                "--mark" => options.mark = number(name, &value()?, 1, u32::MAX - 129)?,
                "--table" => options.table = number(name, &value()?, 1, u32::MAX - 1)?,
                "--queue" => options.queue = small(name, &value()?, 0, 65535 - 128)?,
                other => return Err(format!("no option {other}; see --help")),
            }
        }
        options.check().map(Some)
    }

    fn check(self) -> Result<Options, String> {
        if self.task != Task::Run {
            return Ok(self);
        }
        for (name, value) in [("--inside", &self.inside), ("--outside", &self.outside)] {
            if value.is_empty() {
                return Err(format!("{name} IF is missing; interfaces here: {}", interfaces()));
            }
            if value.len() > 15 || crate::system::interface_index(value).is_err() {
                return Err(format!("{name} {value}: no such interface; there are {}", interfaces()));
            }
        }
        if self.inside == self.outside {
            return Err(format!(
                "--inside and --outside are both {}; they must be two interfaces",
                self.inside
            ));
        }
        if !self.workers.is_power_of_two() {
            return Err(format!("--workers {} is no power of two", self.workers));
        }
        Ok(self)
    }

    /// Number of a worker's lane in one direction.
    #[must_use]
    pub fn lane(&self, direction: usize, worker: usize) -> u16 {
        u16::try_from(2 * worker + direction).expect("few workers")
    }

    /// Mark of the admitted SYNs of a lane.
    #[must_use]
    pub fn verdict_mark(&self, lane: u16) -> u32 {
        self.mark + 1 + u32::from(lane)
    }
}

fn interfaces() -> String {
    let mut names: Vec<_> = std::fs::read_dir("/sys/class/net")
        .map(|all| all.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    names.sort();
    let mut text = String::new();
    for (index, name) in names.iter().enumerate() {
        let _ = write!(text, "{}{name}", if index > 0 { ", " } else { "" });
    }
    text
}

fn side(value: &str) -> Result<From, String> {
    match value {
        "inside" => Ok(From::Inside),
        "outside" => Ok(From::Outside),
        "both" => Ok(From::Both),
        _ => Err(format!("--from {value} is not inside, outside or both")),
    }
}

fn fraction(value: &str) -> Result<f64, String> {
    match value.parse() {
        Ok(x) if (0.05..=1.0).contains(&x) => Ok(x),
        _ => Err(format!("--backlog {value} is no number from 0.05 to 1")),
    }
}

fn number(name: &str, value: &str, least: u32, most: u32) -> Result<u32, String> {
    let parsed = match value.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => value.parse(),
    };
    match parsed {
        Ok(n) if (least..=most).contains(&n) => Ok(n),
        _ => Err(format!("{name} {value} is no whole number from {least} to {most}")),
    }
}

fn small(name: &str, value: &str, least: u16, most: u16) -> Result<u16, String> {
    let n = number(name, value, u32::from(least), u32::from(most))?;
    u16::try_from(n).map_err(|_| format!("{name} {value} is too large"))
}

/// Message about missing privileges.
#[must_use]
pub fn no_capability(error: &io::Error) -> String {
    format!(
        "{error}: the gateway needs CAP_NET_ADMIN (rules, transparent sockets) and CAP_NET_RAW (resets); run it as root, \
         or by systemd with AmbientCapabilities=CAP_NET_ADMIN CAP_NET_RAW"
    )
}

#[cfg(test)]
mod tests {
    use super::{From, Options, Task};

    fn read(line: &str) -> Result<Option<Options>, String> {
        Options::read(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn values_follow_or_are_attached() {
        let options = read("clean --backlog=0.5 --from both --mark 0x10").expect("valid").expect("no help");
        assert_eq!(
            (options.task, options.backlog, options.from, options.mark),
            (Task::Clean, 0.5, From::Both, 16)
        );
    }

    #[test]
    fn mistakes_are_named_with_what_is_allowed() {
        for (line, part) in [
            ("--inside", "--inside needs a value"),
            ("--backlog 2", "--backlog 2 is no number from 0.05 to 1"),
            ("--from left", "--from left is not inside, outside or both"),
            ("--connections -1", "--connections -1 is no whole number from 1 to 1000000"),
            ("--colour red", "no option --colour"),
            ("--outside lo", "--inside IF is missing; interfaces here: "),
            ("--inside lo --outside perigee-none", "no such interface; there are "),
            ("--inside lo --outside lo", "both lo"),
        ] {
            let message = read(line).expect_err(line);
            assert!(message.contains(part), "{message}");
        }
    }
}
