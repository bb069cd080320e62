// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transport options: one table from which validation, schema and documentation are derived.

use crate::arrival::ArrivalClock;
use perigee_cc::{Domain, ParamSpec, Params};
use perigee_units::Nanos;

const fn flag(name: &'static str, default: bool, source: &'static str, help: &'static str) -> ParamSpec {
    ParamSpec { name, domain: Domain::Bool(default), unit: "", source, help }
}

/// All options with their defaults (profile `linux`: Linux 6.12).
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
        domain: Domain::Int { default: 10, min: 1, max: 100_000 },
        unit: "segments",
        source: "RFC 6928",
        help: "initial window (a congestion control may set another); proxies on satellite links start with a full bandwidth-delay product",
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
        "round timers up like the kernel's timer wheel",
    ),
    ParamSpec {
        name: "delayed_ack",
        domain: Domain::Int { default: 2, min: 1, max: 64 },
        unit: "segments",
        source: "RFC 9293; Linux acknowledges every second full segment",
        help: "acknowledge every n-th in-order segment (a congestion control may request 1)",
    },
    ParamSpec {
        name: "quickack",
        domain: Domain::Int { default: 16, min: 0, max: 1_000_000 },
        unit: "ACKs",
        source: "Linux TCP_MAX_QUICKACKS",
        help: "number of immediate ACKs at the start of a connection; as in Linux, plus one for each packet by which the receive window grows (with rmem of 8 MiB about 490 in total)",
    },
    flag(
        "sack_compression",
        true,
        "Linux tcp_comp_sack_nr 44, tcp_comp_sack_delay_ns 1 ms, tcp_comp_sack_slack_ns 0.1 ms",
        "compress the ACKs of out-of-order packets: after three for the same hole, one per 44 packets or 5 % of the RTT, at most 1 ms plus a timer slack of 0.1 ms",
    ),
    flag(
        "push_acks",
        true,
        "Linux 6.6 and later: tcp_measure_rcv_mss; TSO packets have PSH since 5.5",
        "acknowledge the last packet of a burst immediately",
    ),
    flag("timestamps", true, "RFC 7323", "timestamp option: RTT of retransmissions, Eifel detection"),
    ParamSpec {
        name: "arrival_clock",
        domain: Domain::Choice(&["exact", "timestamps", "off"]),
        unit: "",
        source: "RFC 7323: TSval less TSecr; draft-ietf-quic-receive-ts",
        help: "arrival time of the newest packet in ACKs, for congestion controls that use one-way delays: exact = by the receiver's clock, like QUIC's receive timestamps; timestamps = TCP timestamps in ticks, with the time of the ACK as arrival and that of the echoed packet as departure (requires timestamps); off = none",
    },
    ParamSpec {
        name: "timestamp_tick",
        domain: Domain::Time {
            default: Nanos::from_millis(1),
            min: Nanos::from_micros(1),
            max: Nanos::from_secs(1),
        },
        unit: "",
        source: "Linux TCP_TS_HZ; RFC 7323 section 5.4: 1 ms to 1 s",
        help: "resolution of both clocks with arrival_clock = \"timestamps\"",
    },
    ParamSpec {
        name: "clock_offset",
        domain: Domain::Float { default: 0.0, min: -1e6, max: 1e6 },
        unit: "s",
        source: "RFC 7323 section 5.4: the start value of TCP clocks is arbitrary",
        help: "receiver's clock minus sender's clock at the start of the run",
    },
    ParamSpec {
        name: "clock_drift",
        domain: Domain::Float { default: 0.0, min: -1000.0, max: 1000.0 },
        unit: "ppm",
        source: "RFC 6817 appendix A.1: up to 100 ppm are usual",
        help: "frequency offset of the receiver's clock; positive = fast",
    },
    flag("dsack", true, "RFC 2883", "report and use duplicate SACKs"),
    flag("tlp", true, "RFC 8985 section 7", "tail loss probes"),
    flag("frto", true, "RFC 5682", "detect spurious timeouts"),
    flag(
        "impatient",
        false,
        "RFC 6582 section 4; ns-3",
        "in recovery, restart the retransmission timer only on the first ACK that advances",
    ),
    flag(
        "pacing",
        false,
        "fq qdisc",
        "also pace window-based congestion controls (2 x cwnd/SRTT in slow start, 1.2 x afterwards)",
    ),
    flag("slow_start_after_idle", true, "RFC 2861; Linux sysctl", "reduce the window after idle periods"),
    ParamSpec {
        name: "tso_segments",
        domain: Domain::Int { default: 0, min: 0, max: 64 },
        unit: "segments",
        source: "Linux TSO autosizing",
        help: "maximum burst; 0 = about 1 ms at the pacing rate, as in Linux",
    },
    ParamSpec {
        name: "tso_defer",
        domain: Domain::Choice(&["linux", "linux-6.4", "off"]),
        unit: "",
        source: "Linux tcp_tso_should_defer: 6.18 and later 6.12; before",
        help: "deferral of transmission for a larger burst (about 1 ms of data): linux = if the next ACK is due within 1 ms; linux-6.4 = within half an SRTT; off = never",
    },
    ParamSpec {
        name: "pacing_ss_ratio",
        domain: Domain::Int { default: 200, min: 10, max: 1000 },
        unit: "% of cwnd/SRTT",
        source: "Linux tcp_pacing_ss_ratio",
        help: "pacing rate of window-based congestion controls below half of ssthresh",
    },
    ParamSpec {
        name: "pacing_ca_ratio",
        domain: Domain::Int { default: 120, min: 10, max: 1000 },
        unit: "% of cwnd/SRTT",
        source: "Linux tcp_pacing_ca_ratio",
        help: "pacing rate of window-based congestion controls above half of ssthresh",
    },
    flag("unpaced_first_window", false, "INET's paced schemes", "send the initial window as one burst"),
    ParamSpec {
        name: "init_ssthresh",
        domain: Domain::Int { default: 0, min: 0, max: 1 << 30 },
        unit: "segments",
        source: "RFC 5681: as high as possible",
        help: "initial slow start threshold; 0 = none",
    },
    ParamSpec {
        name: "loss_detection",
        domain: Domain::Choice(&["rack", "rack-4.15", "dupthresh"]),
        unit: "",
        source: "RFC 8985 in Linux 6.12; Linux 4.15; RFC 6675",
        help: "criterion for lost segments: rack = time (RACK); rack-4.15 = time with a reordering window of at least 1 ms, and three segments SACKed above; dupthresh = the latter alone",
    },
    ParamSpec {
        name: "reduction",
        domain: Domain::Choice(&["rfc9937", "linux-4.15", "rfc6937", "rfc6675", "ns3"]),
        unit: "",
        source: "PRR of Linux 6.12; of Linux 4.15; as published, with the slow start bound; RFC 6675; ns-3 up to 3.48 (TcpPrrRecovery)",
        help: "reduction of the window to ssthresh after a loss: rfc9937, linux-4.15, rfc6937 = proportional (PRR), with different bounds by packet conservation; rfc6675 = immediate; ns3 = in proportion to the pipe, with new SACKs counted twice and a 32-bit product; there a timeout reduces again, data sent after the highest SACKed segment is not retransmitted, the first retransmission ignores window and pacer, and ACKs with new SACKs neither grow the window nor restart the timer",
    },
    flag("ecn", false, "RFC 3168; off in Linux unless the peer requests it", "ECN: data may be marked instead of dropped; window-based congestion controls reduce on marks once per round"),
    flag("undo", true, "RFC 3708, RFC 4015", "undo reductions that prove spurious"),
    ParamSpec {
        name: "rto_rule",
        domain: Domain::Choice(&["linux", "rfc6298"]),
        unit: "",
        source: "Linux tcp_rtt_estimator; RFC 6298",
        help: "retransmission timeout: linux = SRTT + max(variance, min_rto); rfc6298 = max(SRTT + 4 x variance, min_rto)",
    },
    ParamSpec {
        name: "rttvar_gain",
        domain: Domain::Int { default: 4, min: 1, max: 64 },
        unit: "1/n",
        source: "RFC 6298; 8 in INET",
        help: "gain of the variance with rto_rule = rfc6298",
    },
    ParamSpec {
        name: "rto_granularity",
        domain: Domain::Time { default: Nanos::ZERO, min: Nanos::ZERO, max: Nanos::from_secs(1) },
        unit: "",
        source: "RFC 6298: G; 1 ms in ns-3",
        help: "minimum that rto_rule = rfc6298 adds to SRTT",
    },
    ParamSpec {
        name: "initial_rto",
        domain: Domain::Time {
            default: Nanos::from_secs(1),
            min: Nanos::from_millis(1),
            max: Nanos::from_secs(60),
        },
        unit: "",
        source: "RFC 6298; 3 s in INET and ns-3",
        help: "timeout of the first SYN",
    },
    ParamSpec {
        name: "max_rto",
        domain: Domain::Time {
            default: Nanos::from_secs(120),
            min: Nanos::from_secs(1),
            max: Nanos::from_secs(3600),
        },
        unit: "",
        source: "Linux TCP_RTO_MAX",
        help: "maximum retransmission timeout",
    },
    ParamSpec {
        name: "rtt_granularity",
        domain: Domain::Time { default: Nanos::ZERO, min: Nanos::ZERO, max: Nanos::from_secs(1) },
        unit: "",
        source: "Linux: microseconds; 1 ms in INET and ns-3",
        help: "with timestamps: resolution of the (rounded down) times of which RTT samples are differences; 0 = exact",
    },
    flag(
        "smoothed_samples",
        false,
        "ns-3: EstimateRtt keeps the estimate as the last RTT",
        "report the smoothed RTT to the congestion control, in place of samples",
    ),
    flag(
        "lasting_samples",
        false,
        "ns-3: TcpRateLinux::SkbDelivered",
        "keep a sample of the delivery rate until the arrival of a packet that was sent after more data had been delivered",
    ),
    flag(
        "pacing_credit",
        true,
        "Linux tcp_update_skb_after_send; not in ns-3",
        "pacing credit after idle periods, up to half of the time of a burst",
    ),
    flag("sack_rtt", true, "Linux tcp_ack_update_rtt; not in ns-3", "also take RTT samples from selectively acknowledged packets"),
    ParamSpec {
        name: "delayed_ack_timeout",
        domain: Domain::Time {
            default: Nanos::from_millis(40),
            min: Nanos::from_millis(1),
            max: Nanos::from_millis(500),
        },
        unit: "",
        source: "Linux TCP_DELACK_MIN; 200 ms in ns-3",
        help: "maximum delay of an ACK, counted from the next timer tick",
    },
    ParamSpec {
        name: "min_rto",
        domain: Domain::Time {
            default: Nanos::from_millis(200),
            min: Nanos::from_millis(1),
            max: Nanos::from_secs(10),
        },
        unit: "",
        source: "Linux TCP_RTO_MIN",
        help: "minimum of the retransmission timeout, or of its variance term (see rto_rule)",
    },
    ParamSpec {
        name: "send_buffer",
        domain: Domain::Int { default: 0, min: 0, max: 1 << 40 },
        unit: "bytes",
        source: "socket buffers as a cap on bytes in flight",
        help: "maximum of unacknowledged bytes; 0 = no limit",
    },
    ParamSpec {
        name: "receive_buffer",
        domain: Domain::Int { default: 0, min: 0, max: 1 << 40 },
        unit: "bytes",
        source: "receive window of a fixed buffer that is read immediately",
        help: "maximum receive window, in payload bytes; 0 = no limit",
    },
    ParamSpec {
        name: "rmem",
        domain: Domain::Int { default: 8 << 20, min: 0, max: 1 << 40 },
        unit: "bytes",
        source: "Linux tcp_rmem[1]; its default is 128 KiB, the measured hosts have 8 MiB",
        help: "receive buffer of a new connection, half of which is offered initially; 0 = the receive window never limits; no effect together with receive_buffer, send_buffer or buffer_factor",
    },
    ParamSpec {
        name: "rmem_max",
        domain: Domain::Int { default: 64 << 20, min: 0, max: 1 << 40 },
        unit: "bytes",
        source: "Linux tcp_rmem[2]; its default is 6 MiB (32 MiB since 6.16), the measured hosts have 64 MiB",
        help: "maximum receive buffer of autotuning (tcp_rcv_space_adjust)",
    },
    ParamSpec {
        name: "wmem",
        domain: Domain::Int { default: 0, min: 0, max: 1 << 40 },
        unit: "bytes",
        source: "Linux: 87,040 or tcp_wmem[1], whichever is larger",
        help: "send buffer of a new connection, which a bulk sender fills at once; while only the window of the SYN-ACK is known, its entries hold half of that window, and early bursts end with an entry (tso_defer); 0 = full entries from the start",
    },
    ParamSpec {
        name: "truesize",
        domain: Domain::Int { default: 2176, min: 256, max: 1 << 20 },
        unit: "bytes",
        source: "Linux skb->truesize of a full packet, here with virtio; it depends on the driver",
        help: "receive-buffer memory of a full packet: the window is mss/truesize of the buffer",
    },
    ParamSpec {
        name: "buffer_factor",
        domain: Domain::Float { default: 0.0, min: 0.0, max: 1e6 },
        unit: "x (BDP + queue)",
        source: "as in Mininet testbeds",
        help: "both buffers, unless given in bytes, as a multiple of the bandwidth-delay product plus queue of the flow's bottleneck at time zero; 0 = no limit",
    },
];

/// Transport options of a connection, resolved.
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
    pub sack_compression: bool,
    pub timestamps: bool,
    pub dsack: bool,
    pub tlp: bool,
    pub frto: bool,
    pub impatient: bool,
    pub pacing: bool,
    pub pacing_ss_ratio: u64,
    pub pacing_ca_ratio: u64,
    pub unpaced_first_window: bool,
    pub init_ssthresh: u64,
    pub loss_detection: LossDetection,
    pub reduction: Reduction,
    pub undo: bool,
    pub ecn: bool,
    pub rto: RtoRule,
    pub initial_rto: Nanos,
    pub rtt_granularity: Nanos,
    pub smoothed_samples: bool,
    pub pacing_credit: bool,
    pub lasting_samples: bool,
    pub sack_rtt: bool,
    pub delayed_ack_timeout: Nanos,
    pub slow_start_after_idle: bool,
    pub tso_segments: u32,
    pub tso_defer: TsoDefer,
    pub push_acks: bool,
    /// Cap on bytes in flight, the smaller of the two buffers; 0 = none.
    pub buffer: u64,
    /// The cap is the receiver's: data held back by it does not make a flow application-limited.
    pub window_caps: bool,
    pub buffer_factor: f64,
    pub rmem: u64,
    pub rmem_max: u64,
    pub truesize: u64,
    pub wmem: u64,
    pub arrival: ArrivalClock,
}

/// Rule by which senders defer segments to form larger bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TsoDefer {
    /// Defer if the next ACK is due within a millisecond (Linux 6.18, later versions of 6.12).
    Linux,
    /// Defer if the next ACK is due within half an SRTT (earlier Linux).
    HalfSrtt,
    /// Send on each ACK as many segments as it permits.
    Off,
}

/// Rule that marks segments lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// RFC 8985 as implemented in Linux 6.12.
    Rack,
    /// The earlier RACK of Linux 4.15, in addition to the rule of RFC 6675.
    Rack415,
    /// RFC 6675: three segments SACKed above the segment.
    DupThresh,
}

/// Rule by which the window is reduced after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// PRR with the SafeACK rule (RFC 9937).
    Rfc9937,
    /// PRR that grows only on ACKs of retransmissions (Linux 4.15).
    Linux415,
    /// PRR with the slow start reduction bound (RFC 6937).
    Rfc6937,
    /// Immediate reduction.
    Rfc6675,
    /// PRR of ns-3 (TcpPrrRecovery up to 3.48): in proportion to the data in flight at the start,
    /// with new SACKs counted more than once, by a product that overflows at 32 bits.
    Ns3,
}

/// Computation of the retransmission timeout from RTT samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoRule {
    /// The formula of RFC 6298 with this inverse gain of the variance; `None` = the formula of
    /// Linux.
    pub rfc6298_gain: Option<i64>,
    /// RFC 6298: clock granularity G, the minimum added to SRTT.
    pub granularity: Nanos,
    /// Lower bound: of the variance term (Linux) or of the timeout (RFC 6298).
    pub min: Nanos,
    /// Maximum timeout.
    pub max: Nanos,
}

impl RtoRule {
    /// Linux's rule, with its maximum timeout of 120 s.
    pub const fn linux(min: Nanos) -> Self {
        RtoRule { rfc6298_gain: None, granularity: Nanos::ZERO, min, max: Nanos::from_secs(120) }
    }
}

/// Cap on the bytes in flight from the two buffers, and whether it is the receiver's; zero = none.
fn cap_of_buffers(send: u64, receive: u64) -> (u64, bool) {
    let receiver_caps = receive > 0 && (send == 0 || receive < send);
    (if receiver_caps { receive } else { send }, receiver_caps)
}

impl Config {
    /// Ticks per second of the controllers' clocks: with exact timers they still count
    /// milliseconds.
    pub fn controller_hz(&self) -> u32 {
        if self.hz == 0 {
            1000
        } else {
            self.hz
        }
    }

    /// Whether the receive window is that of a buffer with autotuning.
    pub fn has_receive_window(&self) -> bool {
        self.rmem > 0 && self.buffer == 0
    }

    /// Configuration from checked options (`Params::new(OPTIONS, …)`).
    pub fn new(p: &Params) -> Self {
        let (buffer, window_caps) =
            cap_of_buffers(p.int("send_buffer") as u64, p.int("receive_buffer") as u64);
        Config {
            mss: p.int("mss") as u32,
            header: p.int("header") as u32,
            init_cwnd: p.int("init_cwnd") as u32,
            hz: p.int("hz") as u32,
            timer_wheel: p.bool("timer_wheel"),
            delayed_ack: p.int("delayed_ack") as u32,
            quickack: p.int("quickack") as u32,
            sack_compression: p.bool("sack_compression"),
            timestamps: p.bool("timestamps"),
            dsack: p.bool("dsack"),
            tlp: p.bool("tlp"),
            frto: p.bool("frto"),
            impatient: p.bool("impatient"),
            pacing: p.bool("pacing"),
            pacing_ss_ratio: p.int("pacing_ss_ratio") as u64,
            pacing_ca_ratio: p.int("pacing_ca_ratio") as u64,
            unpaced_first_window: p.bool("unpaced_first_window"),
            init_ssthresh: p.int("init_ssthresh") as u64,
            loss_detection: match p.choice("loss_detection").as_str() {
                "rack-4.15" => LossDetection::Rack415,
                "dupthresh" => LossDetection::DupThresh,
                _ => LossDetection::Rack,
            },
            reduction: match p.choice("reduction").as_str() {
                "linux-4.15" => Reduction::Linux415,
                "rfc6937" => Reduction::Rfc6937,
                "rfc6675" => Reduction::Rfc6675,
                "ns3" => Reduction::Ns3,
                _ => Reduction::Rfc9937,
            },
            undo: p.bool("undo"),
            ecn: p.bool("ecn"),
            rto: RtoRule {
                rfc6298_gain: (p.choice("rto_rule") == "rfc6298").then(|| p.int("rttvar_gain")),
                granularity: p.time("rto_granularity"),
                min: p.time("min_rto"),
                max: p.time("max_rto"),
            },
            initial_rto: p.time("initial_rto"),
            rtt_granularity: if p.bool("timestamps") { p.time("rtt_granularity") } else { Nanos::ZERO },
            smoothed_samples: p.bool("smoothed_samples"),
            pacing_credit: p.bool("pacing_credit"),
            lasting_samples: p.bool("lasting_samples"),
            sack_rtt: p.bool("sack_rtt"),
            delayed_ack_timeout: p.time("delayed_ack_timeout"),
            slow_start_after_idle: p.bool("slow_start_after_idle"),
            tso_segments: p.int("tso_segments") as u32,
            tso_defer: match p.choice("tso_defer").as_str() {
                "linux-6.4" => TsoDefer::HalfSrtt,
                "off" => TsoDefer::Off,
                _ => TsoDefer::Linux,
            },
            push_acks: p.bool("push_acks"),
            buffer,
            window_caps,
            buffer_factor: p.float("buffer_factor"),
            rmem: p.int("rmem") as u64,
            rmem_max: p.int("rmem_max") as u64,
            truesize: p.int("truesize") as u64,
            wmem: p.int("wmem") as u64,
            arrival: ArrivalClock::new(p),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::new(&Params::defaults(OPTIONS))
    }
}
