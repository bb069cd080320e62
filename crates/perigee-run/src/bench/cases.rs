// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Benchmark cases that are scenarios.

/// A case of the benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Name in tables.
    pub name: &'static str,
    /// Scheme.
    pub cc: &'static str,
    /// The scenario.
    pub toml: &'static str,
    /// Overrides.
    pub sets: &'static [&'static str],
    /// Whether a capture is also written (and discarded).
    pub capture: bool,
}

/// Ten links, 100 Mbit/s, 20 ms in total, 1 BDP.
const CHAIN: &str = r#"
[run]
duration = "60 s"
[source.chain]
links = 10
rtt = "20 ms"
[port.all]
rate = "100 Mbit"
queue = "1 bdp"
metered = false
[[flow]]
"#;

/// The chain with OrbCC's egress meter on every port.
const METERED_CHAIN: &str = r#"
[run]
duration = "60 s"
[source.chain]
links = 10
rtt = "20 ms"
[port.all]
rate = "100 Mbit"
queue = "1 bdp"
[[flow]]
"#;

/// Ten bottlenecks, with a flow over all of them and cross traffic on each.
const PARKING_LOT: &str = r#"
[run]
duration = "20 s"
[source.parking_lot]
bottlenecks = 10
rtt = "20 ms"
[port.bottleneck]
rate = "100 Mbit"
[[flow]]
"#;

/// A hundred chains that share nothing: dominated by cache misses.
const DISJOINT: &str = r#"
[run]
duration = "2 s"
[source.chain]
links = 10
copies = 100
rtt = "20 ms"
[port.all]
rate = "100 Mbit"
metered = false
[[flow]]
"#;

/// Three links, one bottleneck.
const DUMBBELL: &str = r#"
[run]
duration = "100 s"
[source.dumbbell]
rtt = "50 ms"
[port.bottleneck]
rate = "100 Mbit"
[[flow]]
"#;

/// Ten flows at 1 Gbit/s.
const GIGABIT: &str = r#"
[run]
duration = "20 s"
[source.dumbbell]
rtt = "50 ms"
[port.bottleneck]
rate = "1 Gbit"
[[flow]]
count = 10
"#;

/// The dumbbell with a delay that changes randomly every 5 ms, and ten flows.
const JITTER: &str = r#"
[run]
duration = "10 s"
[source.dumbbell]
rtt = "50 ms"
rtt_at = "bottleneck"
[jitter]
rtt = ["0 % 40 ms", "100 % 60 ms"]
step = "5 ms"
correlation = "5 ms"
[port.bottleneck]
rate = "1 Gbit"
[[flow]]
count = 10
"#;

/// The same at 10 Gbit/s.
const JITTER_10G: &[&str] =
    &["port.bottleneck.rate=10 Gbit", "port.access.rate=100 Gbit", "run.duration=2 s"];
const JITTER_10G_REORDERING: &[&str] = &[
    "port.bottleneck.rate=10 Gbit",
    "port.access.rate=100 Gbit",
    "run.duration=2 s",
    "source.dumbbell.reordering=true",
];

/// Objects of 10 kB, ten thousand per second.
const SHORT_FLOWS: &str = r#"
[run]
duration = "5 s"
[source.dumbbell]
rtt = "50 ms"
[port.bottleneck]
rate = "10 Gbit"
[port.access]
rate = "100 Gbit"
[[flow]]
arrivals = "exponential(100 us)"
object = "10 kB"
"#;

/// A port of 1 Gbit/s shared by many flows.
const MANY: &str = r#"
[run]
duration = "5 s"
[source.dumbbell]
rtt = "50 ms"
[port.bottleneck]
rate = "1 Gbit"
queue = "20000 packets"
[[flow]]
count = 10000
"#;

const fn case(
    name: &'static str,
    cc: &'static str,
    toml: &'static str,
    sets: &'static [&'static str],
) -> Case {
    Case { name, cc, toml, sets, capture: false }
}

/// All cases.
pub const CASES: &[Case] = &[
    case("chain10-cubic-1", "cubic", CHAIN, &[]),
    case("chain10-cubic-10", "cubic", CHAIN, &["flow.0.count=10"]),
    case("chain10-cubic-100", "cubic", CHAIN, &["flow.0.count=100"]),
    case("chain10-bbr-1", "bbr", CHAIN, &[]),
    case("chain10-bbr-10", "bbr", CHAIN, &["flow.0.count=10"]),
    case("chain10-bbr-100", "bbr", CHAIN, &["flow.0.count=100"]),
    case("chain10-bbr3-1", "bbr3", CHAIN, &[]),
    case("chain10-bbr3-10", "bbr3", CHAIN, &["flow.0.count=10"]),
    case("chain10-leocc-1", "leocc", CHAIN, &[]),
    case("chain10-leocc-10", "leocc", CHAIN, &["flow.0.count=10"]),
    case("chain10-orbcc-1", "orbcc", METERED_CHAIN, &[]),
    case("chain10-orbcc-10", "orbcc", METERED_CHAIN, &["flow.0.count=10"]),
    case("parking-lot10-cubic", "cubic", PARKING_LOT, &[]),
    case("disjoint100-cubic", "cubic", DISJOINT, &[]),
    case("dumbbell-100M-cubic-1", "cubic", DUMBBELL, &[]),
    case("dumbbell-1G-cubic-10", "cubic", GIGABIT, &[]),
    case("dumbbell-1G-newreno-10", "newreno", GIGABIT, &[]),
    case("dumbbell-1G-bbr-10", "bbr", GIGABIT, &[]),
    case("dumbbell-100M-bbr-1", "bbr", DUMBBELL, &[]),
    // Further cases encountered by users.
    case(
        "one-flow-10G",
        "cubic",
        DUMBBELL,
        &["port.bottleneck.rate=10 Gbit", "port.access.rate=100 Gbit", "run.duration=5 s"],
    ),
    case(
        "one-flow-100G",
        "cubic",
        DUMBBELL,
        &["port.bottleneck.rate=100 Gbit", "port.access.rate=1000 Gbit", "run.duration=1 s"],
    ),
    case(
        "loss-1G-100ms",
        "bbr",
        GIGABIT,
        &["flow.0.count=1", "source.dumbbell.rtt=100 ms", "source.dumbbell.loss=0.01"],
    ),
    case(
        "random-loss-ports",
        "cubic",
        CHAIN,
        &["flow.0.count=10", "port.all.loss=0.0001", "run.duration=30 s"],
    ),
    case(
        "geo-36MB",
        "cubic",
        DUMBBELL,
        &["port.bottleneck.rate=144 Mbit", "source.dumbbell.rtt=600 ms", "port.bottleneck.queue=36 MB"],
    ),
    case("short-flows-10k-per-s", "cubic", SHORT_FLOWS, &[]),
    case("aqm-codel", "cubic", GIGABIT, &["port.bottleneck.discipline=codel"]),
    case("aqm-fq_codel", "cubic", GIGABIT, &["port.bottleneck.discipline=fq_codel"]),
    case("aqm-pie", "cubic", GIGABIT, &["port.bottleneck.discipline=pie"]),
    case("many-drop-tail", "cubic", MANY, &[]),
    case(
        "many-fq_codel",
        "cubic",
        MANY,
        &["port.bottleneck.discipline=fq_codel", "port.bottleneck.queues=16384"],
    ),
    case("jitter-in-order", "cubic", JITTER, &[]),
    case("jitter-reordering", "cubic", JITTER, &["source.dumbbell.reordering=true"]),
    case("jitter-10G-in-order", "bbr", JITTER, JITTER_10G),
    case("jitter-10G-reordering", "bbr", JITTER, JITTER_10G_REORDERING),
    Case { capture: true, ..case("capture", "cubic", GIGABIT, &[]) },
    case(
        "samples-10ms-1000-flows",
        "cubic",
        GIGABIT,
        &["flow.0.count=1000", "run.duration=10 s", "run.sample=10 ms"],
    ),
    case("samples-100ms-1000-flows", "cubic", GIGABIT, &["flow.0.count=1000", "run.duration=10 s"]),
];

/// A hundred flows over ten links at 1 Gbit/s.
const HUNDRED: &[&str] = &["flow.0.count=100", "port.all.rate=1 Gbit", "run.duration=10 s"];
/// The gigabit case, long enough to be timed.
const TEN: &[&str] = &["run.duration=20 s"];

/// The four cases in which other simulators are also measured (`bench/peers`), which run only if
/// named: 1 flow over 3 links at 100 Mbit/s; 10 flows over 3 links at 1 Gbit/s; 1 flow over 10
/// links at 100 Mbit/s; 100 flows over 10 links at 1 Gbit/s.
pub const PEERS: &[Case] = &[
    case("peer-a-newreno", "newreno", DUMBBELL, &[]),
    case("peer-a-cubic", "cubic", DUMBBELL, &[]),
    case("peer-a-bbr", "bbr", DUMBBELL, &[]),
    case("peer-b-newreno", "newreno", GIGABIT, TEN),
    case("peer-b-cubic", "cubic", GIGABIT, TEN),
    case("peer-b-bbr", "bbr", GIGABIT, TEN),
    case("peer-c-newreno", "newreno", CHAIN, &[]),
    case("peer-c-cubic", "cubic", CHAIN, &[]),
    case("peer-c-bbr", "bbr", CHAIN, &[]),
    case("peer-d-newreno", "newreno", CHAIN, HUNDRED),
    case("peer-d-cubic", "cubic", CHAIN, HUNDRED),
    case("peer-d-bbr", "bbr", CHAIN, HUNDRED),
];
