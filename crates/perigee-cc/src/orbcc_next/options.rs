// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Options of OrbCC next: a choice for each change to OrbCC, the last word of which is OrbCC's own
//! rule, so that each change can be undone by itself.

use crate::*;

const fn change(name: &'static str, words: &'static [&'static str], help: &'static str) -> ParamSpec {
    ParamSpec {
        name,
        domain: Domain::Choice(words),
        unit: "",
        source: "choice; the last value is OrbCC's",
        help,
    }
}

const fn number(
    name: &'static str,
    unit: &'static str,
    (default, min, max): (f64, f64, f64),
    source: &'static str,
    help: &'static str,
) -> ParamSpec {
    ParamSpec { name, domain: Domain::Float { default, min, max }, unit, source, help }
}

/// Parameters.
pub const PARAMS: &[ParamSpec] = &[
    number("eta", "fraction", (0.95, 0.1, 1.0), "paper", "target utilisation"),
    number(
        "additive_increase",
        "fraction",
        (0.05, 0.0, 1.0),
        "paper",
        "increase per RTT, as a fraction of the flow's share of the BDP, times the gain",
    ),
    change("law", &["per_rtt", "per_ack"], "weight of an ACK: per_rtt = its time relative to the RTT; per_ack = constant"),
    number(
        "gain",
        "fraction",
        (0.3, 0.05, 2.0),
        "phase margin of 69°",
        "with law = per_rtt: fraction of the correction applied per RTT",
    ),
    number(
        "yield_gain",
        "fraction",
        (1.0, 0.05, 2.0),
        "measured",
        "with law = per_rtt: gain while the utilisation exceeds the target by more than 10 %",
    ),
    number(
        "averaging",
        "RTTs",
        (0.5, 0.0, 8.0),
        "phase margin of 69°",
        "with law = per_rtt: time constant of the mean utilisation",
    ),
    number(
        "alpha",
        "fraction",
        (0.01, 0.0001, 1.0),
        "authors' simulator",
        "with law = per_ack: weight of one ACK in the mean utilisation",
    ),
    change("start", &["share", "wait"], "initial window: share = the fair share at the first record; wait = 5 packets until one mean RTT has passed"),
    number(
        "initial_window",
        "packets",
        (10.0, 1.0, 100.0),
        "RFC 6928",
        "with start = share: window until the fair share at the port is known",
    ),
    change("handshake", &["on", "off"], "with start = share: whether the SYN carries telemetry"),
    change("growth", &["proportional", "additive"], "use of free capacity: proportional to it, or additive, by additive_increase of the share per RTT"),
    change(
        "rate_change",
        &["mean", "scale", "none"],
        "reaction to another rate of the bottleneck: scale = scale the window with it; mean = the same, by the mean \
         rate of 4 RTTs while rates alternate; none",
    ),
    change("rounding", &["dithered", "down"], "window in packets: dithered = exact in the mean over RTTs; down = rounded down"),
    number(
        "allowance",
        "packets",
        (1.5, 0.0, 10.0),
        "measured; OrbCC: 0",
        "queue that does not count as excess, per square root of the number of flows (coinciding packets)",
    ),
    change("count", &["windows", "flows"], "flow count of ports: windows = windows in use and those announced by handshakes; flows = observed flows"),
    number(
        "packets_per_record",
        "packets",
        (4.0, 1.0, 15.0),
        "choice; OrbCC: 1",
        "maximum number of packets per packet with telemetry; at least 8 per RTT carry it",
    ),
    number("pacing_gain", "fraction", (1.05, 1.0, 4.0), "measured; OrbCC: 1.2", "pacing rate over max(cwnd, in flight)/sRTT"),
    ParamSpec {
        name: "overhead",
        domain: Domain::Choice(&["wire", "none"]),
        unit: "",
        source: "paper; none in the source",
        help: "whether telemetry adds bytes to packets",
    },
];

/// Reaction to another rate of the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RateChange {
    Mean,
    Scale,
    Nothing,
}

/// The options, resolved.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub eta: f64,
    pub additive_increase: f64,
    pub per_rtt: bool,
    pub gain: f64,
    pub yield_gain: f64,
    pub averaging: f64,
    pub alpha: f64,
    pub starts_at_share: bool,
    pub initial_window: f64,
    pub handshake: bool,
    pub proportional_growth: bool,
    pub rate_change: RateChange,
    pub dithers: bool,
    pub allowance: f64,
    pub windows_counted: bool,
    pub packets_per_record: f64,
    pub pacing_gain: f64,
    pub on_wire: bool,
}

impl Options {
    pub fn new(p: &Params) -> Self {
        let is = |name: &str, word: &str| p.choice(name) == word;
        Options {
            eta: p.float("eta"),
            additive_increase: p.float("additive_increase"),
            per_rtt: is("law", "per_rtt"),
            gain: p.float("gain"),
            yield_gain: p.float("yield_gain"),
            averaging: p.float("averaging"),
            alpha: p.float("alpha"),
            starts_at_share: is("start", "share"),
            initial_window: p.float("initial_window"),
            handshake: is("handshake", "on") && is("start", "share"),
            proportional_growth: is("growth", "proportional"),
            rate_change: match p.choice("rate_change").as_str() {
                "mean" => RateChange::Mean,
                "scale" => RateChange::Scale,
                _ => RateChange::Nothing,
            },
            dithers: is("rounding", "dithered"),
            allowance: p.float("allowance"),
            windows_counted: is("count", "windows"),
            packets_per_record: p.float("packets_per_record"),
            pacing_gain: p.float("pacing_gain"),
            on_wire: is("overhead", "wire"),
        }
    }
}
