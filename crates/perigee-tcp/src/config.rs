// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transport options: one table, from which scenario validation, schema and documentation are made.

use perigee_cc::{Domain, ParamSpec, Params};
use perigee_units::Nanos;

const fn flag(name: &'static str, default: bool, source: &'static str, help: &'static str) -> ParamSpec {
    ParamSpec { name, domain: Domain::Bool(default), unit: "", source, help }
}

/// Every option with its default (profile `linux`: Linux 6.12).
pub const OPTIONS: &[ParamSpec] = &[
    ParamSpec {
        name: "mss",
        domain: Domain::Int { default: 1448, min: 64, max: 8948 },
        unit: "bytes",
        source: "MTU 1500 less 52 bytes of headers with timestamps",
        help: "payload of a full segment",
    },
    ParamSpec {
        name: "header",
        domain: Domain::Int { default: 52, min: 20, max: 120 },
        unit: "bytes",
        source: "IPv4 20 + TCP 20 + timestamps 12",
        help: "IP and TCP header of a data segment, and the size of a plain ACK",
    },
    ParamSpec {
        name: "init_cwnd",
        domain: Domain::Int { default: 10, min: 1, max: 50 },
        unit: "segments",
        source: "RFC 6928",
        help: "initial window (a scheme may set its own)",
    },
    ParamSpec {
        name: "hz",
        domain: Domain::Int { default: 1000, min: 0, max: 10_000 },
        unit: "ticks/s",
        source: "CONFIG_HZ",
        help: "kernel timer ticks per second for jiffy clocks; 0 = exact timers",
    },
    flag(
        "timer_wheel",
        false,
        "Linux timer wheel granularity",
        "round timers up as the kernel's timer wheel does",
    ),
    ParamSpec {
        name: "delayed_ack",
        domain: Domain::Int { default: 2, min: 1, max: 64 },
        unit: "segments",
        source: "RFC 9293; Linux acknowledges every second full segment",
        help: "acknowledge every n-th in-order segment (a scheme may ask for 1)",
    },
    ParamSpec {
        name: "quickack",
        domain: Domain::Int { default: 16, min: 0, max: 1_000_000 },
        unit: "ACKs",
        source: "Linux TCP_MAX_QUICKACKS",
        help: "immediate ACKs at the start of a connection; Linux gives one back for each packet by which the receive window grows, so that a large initial buffer means many more (8 MB: about 1440)",
    },
    flag("timestamps", true, "RFC 7323", "timestamp option: RTT of retransmissions, Eifel detection"),
    flag("dsack", true, "RFC 2883", "report and use duplicate SACKs"),
    flag("tlp", true, "RFC 8985 section 7", "tail loss probes"),
    flag("frto", true, "RFC 5682", "detect spurious timeouts"),
    flag(
        "pacing",
        false,
        "fq qdisc",
        "pace window-based schemes too (2 x cwnd/SRTT in slow start, 1.2 x after)",
    ),
    flag("slow_start_after_idle", true, "RFC 2861; Linux sysctl", "shrink the window after idle spells"),
    ParamSpec {
        name: "tso_segments",
        domain: Domain::Int { default: 0, min: 0, max: 64 },
        unit: "segments",
        source: "Linux TSO autosizing",
        help: "largest burst that paced schemes send at once; 0 = about 1 ms of the pacing rate, as Linux",
    },
    flag(
        "tso_defer",
        false,
        "Linux tcp_tso_should_defer",
        "unpaced senders wait for a fuller burst (about 1 ms of data) if the next ACK is near",
    ),
    ParamSpec {
        name: "min_rto",
        domain: Domain::Time {
            default: Nanos::from_millis(200),
            min: Nanos::from_millis(1),
            max: Nanos::from_secs(10),
        },
        unit: "time",
        source: "Linux TCP_RTO_MIN",
        help: "floor of the variance term of the retransmission timeout",
    },
    ParamSpec {
        name: "send_buffer",
        domain: Domain::Int { default: 0, min: 0, max: 1 << 40 },
        unit: "bytes",
        source: "socket buffers as a cap on bytes in flight",
        help: "largest number of unacknowledged bytes; 0 = no cap",
    },
];

/// Transport options of one connection, resolved.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // the table above documents each
pub struct Config {
    pub mss: u32,
    pub header: u32,
    pub init_cwnd: u32,
    pub hz: u32,
    pub timer_wheel: bool,
    pub delayed_ack: u32,
    pub quickack: u32,
    pub timestamps: bool,
    pub dsack: bool,
    pub tlp: bool,
    pub frto: bool,
    pub pacing: bool,
    pub slow_start_after_idle: bool,
    pub tso_segments: u32,
    pub tso_defer: bool,
    pub min_rto: Nanos,
    pub send_buffer: u64,
}

impl Config {
    /// From checked options (`Params::new(OPTIONS, …)`).
    pub fn new(p: &Params) -> Self {
        Config {
            mss: p.int("mss") as u32,
            header: p.int("header") as u32,
            init_cwnd: p.int("init_cwnd") as u32,
            hz: p.int("hz") as u32,
            timer_wheel: p.bool("timer_wheel"),
            delayed_ack: p.int("delayed_ack") as u32,
            quickack: p.int("quickack") as u32,
            timestamps: p.bool("timestamps"),
            dsack: p.bool("dsack"),
            tlp: p.bool("tlp"),
            frto: p.bool("frto"),
            pacing: p.bool("pacing"),
            slow_start_after_idle: p.bool("slow_start_after_idle"),
            tso_segments: p.int("tso_segments") as u32,
            tso_defer: p.bool("tso_defer"),
            min_rto: p.time("min_rto"),
            send_buffer: p.int("send_buffer") as u64,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::new(&Params::defaults(OPTIONS))
    }
}
