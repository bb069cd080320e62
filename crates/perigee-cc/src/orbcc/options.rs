// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Options of OrbCC. They cover the differences between the published papers, the authors'
//! simulator and its later versions; a profile is a set of option values. The defaults are the
//! profile `orbcc`: the papers, and choices of ours where they leave something open.

use super::second_controller::{Rule, Second};
use crate::*;

const fn choice(
    name: &'static str,
    words: &'static [&'static str],
    source: &'static str,
    help: &'static str,
) -> ParamSpec {
    ParamSpec { name, domain: Domain::Choice(words), unit: "", source, help }
}

const fn flag(name: &'static str, default: bool, source: &'static str, help: &'static str) -> ParamSpec {
    ParamSpec { name, domain: Domain::Bool(default), unit: "", source, help }
}

const fn number(
    name: &'static str,
    (default, min, max): (f64, f64, f64),
    source: &'static str,
    help: &'static str,
) -> ParamSpec {
    ParamSpec { name, domain: Domain::Float { default, min, max }, unit: "fraction", source, help }
}

const fn bytes(name: &'static str, source: &'static str, help: &'static str) -> ParamSpec {
    ParamSpec {
        name,
        domain: Domain::Int { default: 0, min: 0, max: 1_000_000_000 },
        unit: "bytes",
        source,
        help,
    }
}

const fn time(name: &'static str, default: Nanos, source: &'static str, help: &'static str) -> ParamSpec {
    ParamSpec {
        name,
        domain: Domain::Time { default, min: Nanos::ZERO, max: Nanos::from_secs(10) },
        unit: "",
        source,
        help,
    }
}

/// Parameters with defaults, bounds and sources. A source of "choice" is none of the papers or
/// simulators: the value was chosen for Perigee.
pub const PARAMS: &[ParamSpec] = &[
    number("eta", (0.95, 0.1, 1.0), "paper", "target utilisation"),
    number("alpha", (0.01, 0.0001, 1.0), "authors' simulator", "weight of one ACK in the mean utilisation"),
    number(
        "additive_increase",
        (0.05, 0.0, 1.0),
        "paper",
        "increase per RTT, as a fraction of the flow's share of the BDP",
    ),
    number(
        "pacing_gain",
        (1.2, 1.0, 4.0),
        "authors' simulator",
        "pacing rate over max(cwnd, in flight)/sRTT",
    ),
    choice(
        "tx_bytes_unit",
        &["wire", "payload", "ip"],
        "paper; payload in the source",
        "bytes that ports count as sent",
    ),
    choice(
        "echo",
        &["full", "bottleneck", "pint"],
        "source; the paper describes bottleneck; pint is the variant of 2026",
        "telemetry echoed in ACKs",
    ),
    choice(
        "carrier",
        &["records", "ioam", "ioam_rate", "ioam_snapshot", "utilisation", "ecn", "none"],
        "choice",
        "what packets carry from ports: their records; time of arrival and backlog, as unmodified routers write them by \
         IOAM; the same with the configured rate; records by IOAM; the highest utilisation in 8 bits; a mark at 1 ms of \
         queueing; or nothing. The receiver echoes the bottleneck that it derives",
    ),
    number(
        "echo_sampling",
        (1.0, 0.0001, 1.0),
        "variant of 2026",
        "with echo = pint: probability that the telemetry of an ACK is used",
    ),
    choice("overhead", &["wire", "none"], "paper; none in the source", "whether telemetry adds bytes to packets"),
    choice(
        "ewma",
        &["per_ack", "hpcc_time"],
        "source",
        "weight of a sample: constant, or its duration relative to avgRTT",
    ),
    choice(
        "t_ref",
        &["avg_rtt", "own_rtt", "fixed"],
        "paper; own_rtt is figure 9",
        "reference RTT of queue lengths",
    ),
    time("fixed_rtt", Nanos::from_millis(100), "choice", "reference RTT with t_ref = fixed"),
    choice(
        "ai_divisor",
        &["flow_cnt", "one"],
        "paper; one is NoSharedFlows",
        "divisor of the increase",
    ),
    choice("base_rtt", &["minus_queueing", "srtt"], "paper; srtt is NoEstRTT", "RTT reported to ports in headers"),
    choice(
        "queue_delay",
        &["same_ack", "previous_ack"],
        "paper; previous in the source",
        "source of the queueing delay that is subtracted from RTT samples",
    ),
    choice("md", &["plus_ai", "no_ai", "half"], "source", "decrease rule"),
    flag("initial_phase", true, "paper; off is figure 10", "jump to the fair share after the first RTTs"),
    choice(
        "init_divisor",
        &["flow_cnt", "flow_cnt_plus_1"],
        "paper; plus 1 in the source",
        "number of flows assumed to share the capacity at the jump",
    ),
    choice(
        "initial_jump",
        &["assign", "additive", "once"],
        "choice; once in the source of the papers",
        "form of the jump: assign = to the target; additive = by target - window per ACK; once = additive, but only at the \
         first reference update, where echoes of ports without a measurement count as those of idle ports without a rate",
    ),
    bytes("initial_cwnd", "source: 7300", "initial window; 0 = 5 segments"),
    bytes("initial_ref_cwnd", "source: 10000", "initial reference window; 0 = the initial window"),
    choice(
        "path_change",
        &["accept_new", "freeze", "keep_last_u"],
        "paper; freeze in the source",
        "reaction to a new path id",
    ),
    choice(
        "growth_guard",
        &["off", "cwnd_limited"],
        "source of July 2026",
        "window growth: off = always; cwnd_limited = only while the window limits the sender",
    ),
    flag("upper_bound", true, "choice", "limit the window to 2 bw (base RTT + 0.2 s)"),
    choice(
        "idle_restart",
        &["share", "keep"],
        "choice; keep in the source",
        "window after an idle period longer than an RTO",
    ),
    choice(
        "rto_sample",
        &["path", "with_timeout"],
        "choice; with_timeout in the source of the papers",
        "first RTT sample after a timeout: that of the path, or that plus the timeout",
    ),
    time("rtt_granularity", Nanos::ZERO, "source: 1 ms", "resolution of RTT samples; 0 = exact"),
    choice(
        "fallback",
        &[
            "cubic",
            "leocc",
            "partial_cubic",
            "partial_leocc",
            "smaller_cubic",
            "smaller_leocc",
            "none",
        ],
        "choice; none in the source",
        "controller while telemetry is missing, or is partial and does not cover the queue; partial_* = as soon as it is \
         partial; smaller_* = the smaller of both windows while it is partial",
    ),
];

fn text(s: &str) -> Value {
    Value::Text(s.into())
}

/// Profile `orbcc-repro`: the authors' simulator in the version of the papers' experiments.
pub fn repro() -> Vec<(&'static str, Value)> {
    vec![
        ("tx_bytes_unit", text("payload")),
        ("overhead", text("none")),
        ("queue_delay", text("previous_ack")),
        ("init_divisor", text("flow_cnt_plus_1")),
        ("initial_jump", text("once")),
        ("rto_sample", text("with_timeout")),
        ("initial_cwnd", Value::Int(7300)),
        ("initial_ref_cwnd", Value::Int(10_000)),
        ("path_change", text("freeze")),
        ("upper_bound", Value::Bool(false)),
        ("idle_restart", text("keep")),
        ("rtt_granularity", text("1 ms")),
        ("fallback", text("none")),
    ]
}

/// Profile `orbcc-head`: the authors' simulator as of August 2026, without the freeze at path
/// changes and without growth while the window is not the limiting factor.
pub fn head() -> Vec<(&'static str, Value)> {
    let mut options = repro();
    options.retain(|(name, _)| !["path_change", "initial_jump", "rto_sample"].contains(name));
    options.push(("initial_jump", text("additive")));
    options.push(("path_change", text("keep_last_u")));
    options.push(("growth_guard", text("cwnd_limited")));
    options
}

/// Profile `orbcc-pint`: one telemetry record of fixed size per packet.
pub fn pint() -> Vec<(&'static str, Value)> {
    vec![("echo", text("pint"))]
}

/// Profile `orbcc`: the papers, all options at their defaults.
pub fn paper() -> Vec<(&'static str, Value)> {
    Vec::new()
}

/// Option `t_ref`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    AvgRtt,
    OwnRtt,
    Fixed(Nanos),
}

/// Option `md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decrease {
    PlusAi,
    NoAi,
    Half,
}

/// Option `initial_jump`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Jump {
    Assign,
    Additive,
    Once,
}

/// Option `path_change`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathChange {
    AcceptNew,
    Freeze,
    KeepLastU,
}

/// Option `carrier`.
fn carrier(word: &str) -> Option<Carrier> {
    Some(match word {
        "ioam" => Carrier::Ioam,
        "ioam_rate" => Carrier::IoamRate,
        "ioam_snapshot" => Carrier::IoamSnapshot,
        "utilisation" => Carrier::Utilisation,
        "ecn" => Carrier::Ecn,
        "none" => return None,
        _ => Carrier::Records,
    })
}

/// Parameters that have an effect only with a value of another one.
pub const NEEDS: &[Needs] = &[
    Needs { name: "echo", other: "carrier", words: &["records"] },
    Needs { name: "carrier", other: "echo", words: &["full"] },
    Needs { name: "echo_sampling", other: "echo", words: &["pint"] },
    // Receivers derive utilisations with the flow's own RTT.
    Needs { name: "t_ref", other: "carrier", words: &["records"] },
    Needs { name: "fixed_rtt", other: "t_ref", words: &["fixed"] },
    // Only records have numbers of bytes and of flows.
    Needs { name: "tx_bytes_unit", other: "carrier", words: OF_RECORDS },
    Needs { name: "ai_divisor", other: "carrier", words: OF_RECORDS },
    // Eight bits and a mark report no queueing delay.
    Needs { name: "base_rtt", other: "carrier", words: WITH_QUEUES },
    Needs { name: "queue_delay", other: "carrier", words: WITH_QUEUES },
    // A mark and nothing need no bytes.
    Needs { name: "overhead", other: "carrier", words: WITH_BYTES },
    // Without telemetry OrbCC's own law never acts.
    Needs { name: "eta", other: "carrier", words: NOT_NONE },
    Needs { name: "alpha", other: "carrier", words: NOT_NONE },
    Needs { name: "additive_increase", other: "carrier", words: NOT_NONE },
    Needs { name: "ewma", other: "carrier", words: NOT_NONE },
    Needs { name: "md", other: "carrier", words: NOT_NONE },
    Needs { name: "init_divisor", other: "carrier", words: NOT_NONE },
    Needs { name: "initial_phase", other: "carrier", words: NOT_NONE },
    Needs { name: "initial_jump", other: "carrier", words: NOT_NONE },
    Needs { name: "path_change", other: "carrier", words: NOT_NONE },
];

/// Values of `carrier` with records,
const OF_RECORDS: &[&str] = &["records", "ioam_snapshot"];
/// with queue lengths,
const WITH_QUEUES: &[&str] = &["records", "ioam", "ioam_rate", "ioam_snapshot"];
/// with bytes in packets,
const WITH_BYTES: &[&str] = &["records", "ioam", "ioam_rate", "ioam_snapshot", "utilisation"];
/// with anything.
const NOT_NONE: &[&str] = &["records", "ioam", "ioam_rate", "ioam_snapshot", "utilisation", "ecn"];

/// Option values of one connection, parsed. [`PARAMS`] documents them.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub eta: f64,
    pub alpha: f64,
    pub additive_increase: f64,
    pub pacing_gain: f64,
    pub tx_bytes_unit: TxBytesUnit,
    pub bottleneck_echo: bool,
    pub pint: bool,
    /// None: packets carry nothing.
    pub carrier: Option<Carrier>,
    pub echo_sampling: f64,
    pub on_wire: bool,
    pub time_weighted: bool,
    pub reference: Reference,
    pub share_increase: bool,
    pub subtract_queueing: bool,
    pub same_ack_queueing: bool,
    pub decrease: Decrease,
    pub initial_phase: bool,
    pub count_newcomer: bool,
    pub jump: Jump,
    pub timeout_sample: bool,
    pub initial_cwnd: u64,
    pub initial_ref_cwnd: u64,
    pub path_change: PathChange,
    pub growth_guard: bool,
    pub upper_bound: bool,
    pub restart_after_idle: bool,
    pub rtt_granularity: Nanos,
    pub fallback: bool,
    pub second: Option<(Second, Rule)>,
}

impl Options {
    pub fn new(p: &Params) -> Self {
        let is = |name: &str, word: &str| p.choice(name) == word;
        Options {
            eta: p.float("eta"),
            alpha: p.float("alpha"),
            additive_increase: p.float("additive_increase"),
            pacing_gain: p.float("pacing_gain"),
            tx_bytes_unit: match p.choice("tx_bytes_unit").as_str() {
                "payload" => TxBytesUnit::Payload,
                "ip" => TxBytesUnit::Ip,
                _ => TxBytesUnit::Wire,
            },
            bottleneck_echo: is("echo", "bottleneck"),
            pint: is("echo", "pint"),
            carrier: carrier(&p.choice("carrier")),
            echo_sampling: p.float("echo_sampling"),
            on_wire: is("overhead", "wire"),
            time_weighted: is("ewma", "hpcc_time"),
            reference: match p.choice("t_ref").as_str() {
                "own_rtt" => Reference::OwnRtt,
                "fixed" => Reference::Fixed(p.time("fixed_rtt")),
                _ => Reference::AvgRtt,
            },
            share_increase: is("ai_divisor", "flow_cnt"),
            subtract_queueing: is("base_rtt", "minus_queueing"),
            same_ack_queueing: is("queue_delay", "same_ack"),
            decrease: match p.choice("md").as_str() {
                "no_ai" => Decrease::NoAi,
                "half" => Decrease::Half,
                _ => Decrease::PlusAi,
            },
            initial_phase: p.bool("initial_phase"),
            count_newcomer: is("init_divisor", "flow_cnt_plus_1"),
            jump: match p.choice("initial_jump").as_str() {
                "additive" => Jump::Additive,
                "once" => Jump::Once,
                _ => Jump::Assign,
            },
            timeout_sample: is("rto_sample", "with_timeout"),
            initial_cwnd: p.int("initial_cwnd") as u64,
            initial_ref_cwnd: p.int("initial_ref_cwnd") as u64,
            path_change: match p.choice("path_change").as_str() {
                "freeze" => PathChange::Freeze,
                "keep_last_u" => PathChange::KeepLastU,
                _ => PathChange::AcceptNew,
            },
            growth_guard: is("growth_guard", "cwnd_limited"),
            upper_bound: p.bool("upper_bound"),
            restart_after_idle: is("idle_restart", "share"),
            rtt_granularity: p.time("rtt_granularity"),
            fallback: is("fallback", "cubic"),
            second: match p.choice("fallback").as_str() {
                "leocc" => Some((Second::LeoCc, Rule::Blind)),
                "partial_cubic" => Some((Second::Cubic, Rule::Partial)),
                "partial_leocc" => Some((Second::LeoCc, Rule::Partial)),
                "smaller_cubic" => Some((Second::Cubic, Rule::Smaller)),
                "smaller_leocc" => Some((Second::LeoCc, Rule::Smaller)),
                _ => None,
            },
        }
    }
}
