// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Table of nf_tables that diverts connections to the gateway.
//!
//! ```text
//! chain divert  (prerouting, mangle)      socket transparent 1                -> mark, accept
//!                                         SYN from IN, route leaves by OUT    -> chain intake0
//! chain intake0 a rule per worker         source port selects a lane          -> queue, or tproxy (--spoof)
//! chain admit   (prerouting, mangle + 1)  mark of the verdict selects a lane  -> tproxy, mark, accept
//! ```
//!
//! A lane is a worker and a direction; with `--from both`, there are two directions and chains.
//!
//! Only SYNs are diverted: connections that exist when the gateway starts are not affected. The
//! socket that created the table owns it, so that the kernel removes the table when the process
//! ends for whatever reason.

use crate::netlink::{attributes, Messages, Socket, ACK, APPEND, CREATE, DUMP, REQUEST};
use crate::options::{From, Options};
use std::io;

const SUBSYSTEM: u16 = 10 << 8;
const NEW_TABLE: u16 = SUBSYSTEM;
const GET_TABLE: u16 = SUBSYSTEM | 1;
const DELETE_TABLE: u16 = SUBSYSTEM | 2;
const NEW_CHAIN: u16 = SUBSYSTEM | 3;
const NEW_RULE: u16 = SUBSYSTEM | 6;
const DELETE_RULE: u16 = SUBSYSTEM | 8;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;

const INET: u8 = 1;
const IPV4: u32 = 2;
const IPV6: u32 = 10;
/// `NFT_TABLE_F_OWNER`.
const OWNER: u32 = 2;
const MANGLE: i32 = -150;
const ACCEPT: i32 = 1;
const JUMP: i32 = -3;
const VERDICT: u32 = 0;
/// The 16-byte register in which values are compared, and the registers of the proxy's address and
/// port.
const VALUE: u32 = 1;
const ADDRESS: u32 = 2;
const PORT: u32 = 3;

/// Prefix of the table names of gateways; the process ID follows.
pub const PREFIX: &str = "perigee_gateway_";

/// Ports of a lane's listening sockets, on the loopback addresses.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    /// For IPv4.
    pub v4: u16,
    /// For IPv6, if the machine has it.
    pub v6: Option<u16>,
}

/// The installed table.
pub struct Table {
    socket: Socket,
    name: String,
    directions: usize,
}

impl Table {
    /// Installs the table of this process, with the ports of the workers of each direction.
    ///
    /// # Errors
    /// Errors that the kernel reports, with the rejected part.
    pub fn install(options: &Options, lanes: &[Vec<Ports>]) -> Result<Table, String> {
        let socket = Socket::open(libc::NETLINK_NETFILTER).map_err(|e| {
            format!("no netlink socket for nf_tables ({e}); the kernel needs CONFIG_NF_TABLES")
        })?;
        let name = format!("{PREFIX}{}", std::process::id());
        let table = Table { socket, name, directions: lanes.len() };
        let with = |flags, queue| table.build(options, lanes, flags, queue).map(drop);
        // Queues are an expression of nf_tables, or a target of xtables through nft_compat.
        let mut last = None;
        for queue in [Queue::Expression, Queue::Target] {
            for flags in [OWNER, 0] {
                match with(flags, queue) {
                    Ok(()) => return Ok(table),
                    Err(e) if e.raw_os_error() == Some(libc::EPERM) => {
                        return Err(crate::options::no_capability(&e))
                    }
                    Err(e) => last = last.or(Some(e)),
                }
            }
        }
        let reason = last.map_or_else(String::new, |e| e.to_string());
        let queue = if options.spoof {
            ""
        } else {
            " (NFT_QUEUE or NFT_COMPAT with XT_TARGET_NFQUEUE; or use --spoof)"
        };
        Err(format!(
            "nf_tables rejects the rules: {reason}; the kernel needs CONFIG_NF_TABLES with NFT_TPROXY, NFT_SOCKET, \
             NFT_FIB_INET and, for handshakes from end to end, a queue{queue}"
        ))
    }

    /// Stops the intake of new connections; established connections stay diverted.
    ///
    /// # Errors
    /// Errors that the kernel reports.
    pub fn stop_intake(&self) -> io::Result<()> {
        let mut batch = Batch::start();
        for direction in 0..self.directions {
            batch.add(DELETE_RULE, 0, |m| {
                m.text(1, &self.name).text(2, &intake(direction));
            });
        }
        batch.run(&self.socket)
    }

    /// Removes the table.
    ///
    /// # Errors
    /// Errors that the kernel reports.
    pub fn remove(&self) -> io::Result<()> {
        remove(&self.socket, &self.name)
    }

    fn build(&self, options: &Options, lanes: &[Vec<Ports>], flags: u32, queue: Queue) -> io::Result<()> {
        let mut batch = Batch::start();
        batch.add(NEW_TABLE, CREATE, |m| {
            m.text(1, &self.name).number(2, flags);
        });
        let hooked = [("divert", MANGLE), ("admit", MANGLE + 1)];
        for (chain, priority) in hooked {
            batch.add(NEW_CHAIN, CREATE, |m| {
                m.text(1, &self.name).text(3, chain).nested(4, |m| {
                    m.number(1, 0).number(2, priority as u32);
                });
                m.number(5, ACCEPT as u32).text(7, "filter");
            });
        }
        for direction in 0..lanes.len() {
            batch.add(NEW_CHAIN, CREATE, |m| {
                m.text(1, &self.name).text(3, &intake(direction));
            });
        }
        let mut rule = |chain: &str, content: &dyn Fn(&mut Messages)| {
            batch.add(NEW_RULE, CREATE | APPEND, |m| {
                m.text(1, &self.name).text(2, chain).nested(4, content);
            });
        };
        rule("divert", &|m| {
            tcp(m);
            expression(m, "socket", |m| {
                m.number(1, 0).number(2, VALUE);
            });
            compare(m, &[1]);
            mark(m, options.mark);
            verdict(m, ACCEPT, None);
        });
        for (direction, (from, to)) in options.from.directions(options).into_iter().enumerate() {
            rule("divert", &|m| syn_between(m, from, to, &intake(direction)));
            for (worker, ports) in lanes[direction].iter().enumerate() {
                let lane = options.lane(direction, worker);
                let chain = intake(direction);
                let mine = |m: &mut Messages| port_of_worker(m, worker, lanes[direction].len());
                if !options.spoof {
                    rule(&chain, &|m| {
                        mine(m);
                        queue.expression(m, options.queue + lane);
                    });
                }
                for (family, port) in ports.families() {
                    if options.spoof {
                        rule(&chain, &|m| {
                            mine(m);
                            proxy(m, family, port, options.mark);
                        });
                    } else {
                        rule("admit", &|m| {
                            meta(m, MARK);
                            compare(m, &options.verdict_mark(lane).to_ne_bytes());
                            proxy(m, family, port, options.mark);
                        });
                    }
                }
            }
        }
        batch.run(&self.socket)
    }
}

impl Ports {
    fn families(self) -> impl Iterator<Item = (u32, u16)> {
        std::iter::once((IPV4, self.v4)).chain(self.v6.map(|port| (IPV6, port)))
    }
}

/// The names of all gateways' tables.
///
/// # Errors
/// Errors that the kernel reports.
pub fn tables(socket: &Socket) -> io::Result<Vec<String>> {
    let mut messages = Messages::default();
    messages.start(GET_TABLE, REQUEST | DUMP, &[INET, 0, 0, 0]);
    let found = socket.exchange(&messages, 1)?;
    let names = found.iter().filter_map(|(_, body)| {
        let (_, name) = attributes(body.get(4..)?).find(|(kind, _)| *kind == 1)?;
        Some(String::from_utf8_lossy(name).trim_end_matches('\0').to_owned())
    });
    Ok(names.filter(|name| name.starts_with(PREFIX)).collect())
}

/// Removes a table.
///
/// # Errors
/// EPERM if a running process owns it.
pub fn remove(socket: &Socket, name: &str) -> io::Result<()> {
    let mut batch = Batch::start();
    batch.add(DELETE_TABLE, 0, |m| {
        m.text(1, name);
    });
    batch.run(socket)
}

/// A transaction of messages, which the kernel executes completely or not at all.
struct Batch {
    messages: Messages,
    count: usize,
}

impl Batch {
    fn start() -> Batch {
        let mut messages = Messages::default();
        messages.start(BATCH_BEGIN, REQUEST, &[0, 0, 0, 10]);
        Batch { messages, count: 0 }
    }

    fn add(&mut self, kind: u16, flags: u16, content: impl FnOnce(&mut Messages)) {
        content(self.messages.start(kind, REQUEST | ACK | flags, &[INET, 0, 0, 0]));
        self.count += 1;
    }

    fn run(mut self, socket: &Socket) -> io::Result<()> {
        self.messages.start(BATCH_END, REQUEST, &[0, 0, 0, 10]);
        socket.exchange(&self.messages, self.count).map(drop)
    }
}

const MARK: u32 = 3;
const IN_NAME: u32 = 6;
const FAMILY: u32 = 15;
const PROTOCOL: u32 = 16;

fn expression(m: &mut Messages, name: &str, content: impl FnOnce(&mut Messages)) {
    m.nested(1, |m| {
        m.text(1, name).nested(2, content);
    });
}

fn meta(m: &mut Messages, key: u32) {
    expression(m, "meta", |m| {
        m.number(1, VALUE).number(2, key);
    });
}

fn compare(m: &mut Messages, value: &[u8]) {
    expression(m, "cmp", |m| {
        m.number(1, VALUE).number(2, 0).nested(3, |m| {
            m.attribute(1, value);
        });
    });
}

fn load(m: &mut Messages, register: u32, value: &[u8]) {
    expression(m, "immediate", |m| {
        m.number(1, register).nested(2, |m| {
            m.attribute(1, value);
        });
    });
}

fn verdict(m: &mut Messages, code: i32, chain: Option<&str>) {
    expression(m, "immediate", |m| {
        m.number(1, VERDICT).nested(2, |m| {
            m.nested(2, |m| {
                m.number(1, code as u32);
                if let Some(chain) = chain {
                    m.text(2, chain);
                }
            });
        });
    });
}

fn mark(m: &mut Messages, value: u32) {
    load(m, VALUE, &value.to_ne_bytes());
    expression(m, "meta", |m| {
        m.number(2, MARK).number(3, VALUE);
    });
}

fn tcp(m: &mut Messages) {
    meta(m, PROTOCOL);
    compare(m, &[6]);
}

/// Loads masked bits of the TCP header.
fn header_bits(m: &mut Messages, offset: u32, mask: &[u8]) {
    let length = u32::try_from(mask.len()).expect("short");
    expression(m, "payload", |m| {
        m.number(1, VALUE).number(2, 2).number(3, offset).number(4, length);
    });
    expression(m, "bitwise", |m| {
        m.number(1, VALUE).number(2, VALUE).number(3, length);
        m.nested(4, |m| {
            m.attribute(1, mask);
        });
        m.nested(5, |m| {
            m.attribute(1, &vec![0; mask.len()]);
        });
    });
}

/// Matches a SYN that arrives at one interface and would leave through the other.
fn syn_between(m: &mut Messages, from: &str, to: &str, chain: &str) {
    meta(m, IN_NAME);
    compare(m, &interface(from));
    tcp(m);
    // FIN, SYN, RST and ACK.
    header_bits(m, 13, &[0x17]);
    compare(m, &[0x02]);
    expression(m, "fib", |m| {
        // Loads the name of the interface on the route to the destination.
        m.number(1, VALUE).number(2, 2).number(3, 2);
    });
    compare(m, &interface(to));
    verdict(m, JUMP, Some(chain));
}

fn interface(name: &str) -> [u8; 16] {
    let mut padded = [0; 16];
    padded[..name.len()].copy_from_slice(name.as_bytes());
    padded
}

/// Matches the source ports of a worker, so that a retransmitted SYN reaches the same one.
/// Their lowest bit is of no use: Linux connects from even ports.
fn port_of_worker(m: &mut Messages, worker: usize, workers: usize) {
    let bits = |n: usize| u16::try_from(2 * n).expect("few workers").to_be_bytes();
    header_bits(m, 0, &bits(workers - 1));
    compare(m, &bits(worker));
}

/// Passes the packet to a listening socket of the gateway.
fn proxy(m: &mut Messages, family: u32, port: u16, value: u32) {
    meta(m, FAMILY);
    compare(m, &[u8::try_from(family).expect("small")]);
    tcp(m);
    match family {
        IPV4 => load(m, ADDRESS, &[127, 0, 0, 1]),
        _ => load(m, ADDRESS, &std::net::Ipv6Addr::LOCALHOST.octets()),
    }
    load(m, PORT, &port.to_be_bytes());
    expression(m, "tproxy", |m| {
        m.number(1, family).number(2, ADDRESS).number(3, PORT);
    });
    mark(m, value);
    verdict(m, ACCEPT, None);
}

/// The way in which a rule queues packets for a process.
#[derive(Clone, Copy)]
enum Queue {
    Expression,
    Target,
}

impl Queue {
    fn expression(self, m: &mut Messages, number: u16) {
        match self {
            Queue::Expression => expression(m, "queue", |m| {
                m.attribute(1, &number.to_be_bytes()).attribute(2, &1_u16.to_be_bytes());
            }),
            // struct xt_NFQ_info_v3, padded to eight bytes.
            Queue::Target => expression(m, "target", |m| {
                let mut info = [0; 8];
                info[..2].copy_from_slice(&number.to_ne_bytes());
                info[2..4].copy_from_slice(&1_u16.to_ne_bytes());
                m.text(1, "NFQUEUE").number(2, 3).attribute(3, &info);
            }),
        }
    }
}

fn intake(direction: usize) -> String {
    format!("intake{direction}")
}

impl From {
    /// Pairs of interfaces: the one at which a SYN arrives, and the one through which it would
    /// leave.
    #[must_use]
    pub fn directions(self, options: &Options) -> Vec<(&str, &str)> {
        let out = (options.inside.as_str(), options.outside.as_str());
        let back = (out.1, out.0);
        match self {
            From::Inside => vec![out],
            From::Outside => vec![back],
            From::Both => vec![out, back],
        }
    }
}
