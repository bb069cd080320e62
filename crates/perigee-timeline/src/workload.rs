// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Traffic: flows with their application, congestion control and transport options, as plain data.

use crate::applications::{Video, Voice, Web};
use crate::model::PairId;
use perigee_units::draw::{mix, unit};
use perigee_units::params::Value;
use perigee_units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum of a drawn time.
const LONGEST_S: f64 = 1e6;
/// Maximum of a drawn amount.
const LARGEST_BYTES: f64 = 1e15;

/// Distribution of a quantity: seconds or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// A constant.
    Fixed(f64),
    /// Uniform between two bounds.
    Uniform(f64, f64),
    /// Memoryless, with this mean: times between the arrivals of a Poisson process.
    Exponential(f64),
    /// Heavy-tailed.
    Pareto {
        /// Mean.
        mean: f64,
        /// Exponent of the tail, above 1; below 2 the variance is infinite.
        shape: f64,
    },
}

impl Law {
    /// The value at quantile `u` in 0..1.
    pub fn quantile(&self, u: f64) -> f64 {
        match *self {
            Law::Fixed(value) => value,
            Law::Uniform(low, high) => low + (high - low) * u,
            Law::Exponential(mean) => -mean * libm::log(1.0 - u),
            Law::Pareto { mean, shape } => mean * (shape - 1.0) / shape * libm::pow(1.0 - u, -1.0 / shape),
        }
    }

    /// The `n`-th draw with `seed`, as a time.
    pub fn time(&self, seed: u64, n: u64) -> Nanos {
        Nanos::from_secs_f64(self.quantile(nth(seed, n)).clamp(0.0, LONGEST_S))
    }

    /// The `n`-th draw with `seed`, as an amount of data of at least one byte.
    pub fn bytes(&self, seed: u64, n: u64) -> u64 {
        self.quantile(nth(seed, n)).clamp(1.0, LARGEST_BYTES) as u64
    }

    /// The mean of its draws.
    pub fn mean(&self) -> f64 {
        match *self {
            Law::Fixed(value) | Law::Exponential(value) | Law::Pareto { mean: value, .. } => value,
            Law::Uniform(low, high) => (low + high) / 2.0,
        }
    }

    /// Maximum draw; infinite if unbounded.
    pub fn largest(&self) -> f64 {
        match *self {
            Law::Fixed(value) | Law::Uniform(_, value) => value,
            Law::Exponential(_) | Law::Pareto { .. } => f64::INFINITY,
        }
    }
}

/// The `n`-th draw in 0..1.
fn nth(seed: u64, n: u64) -> f64 {
    unit(mix(seed ^ mix(n)))
}

/// Minimum time between changes of an application, whatever is drawn: it ensures that time advances
/// and a run ends.
pub const SHORTEST: Nanos = Nanos::from_micros(1);

/// Duration of an on/off source's state after its `n`-th change. The source starts with sending, so
/// it sends after even ones.
pub fn turn(on: &Law, off: &Law, seed: u64, n: u64) -> Nanos {
    let law = if n % 2 == 0 { on } else { off };
    law.time(seed, n).max(SHORTEST)
}

/// Size of the `n`-th object requested by a client, in bytes.
pub fn object_bytes(size: &Law, seed: u64, n: u64) -> u64 {
    size.bytes(seed, 2 * n)
}

/// Time from the end of the `n`-th object to the next request.
pub fn think_time(think: &Law, seed: u64, n: u64) -> Nanos {
    think.time(seed, 2 * n + 1)
}

/// Traffic of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum App {
    /// As much as the transport accepts, until the flow stops or `bytes` are delivered.
    Bulk {
        /// Payload bytes, if limited.
        bytes: Option<u64>,
    },
    /// A small UDP packet every `interval`, echoed by the receiver: measures the path without load.
    Ping {
        /// Time between packets.
        interval: Nanos,
        /// Bytes of the IP packet, in both directions.
        size: u32,
    },
    /// UDP packets at a constant rate, without replies.
    Cbr {
        /// Time between packets.
        interval: Nanos,
        /// Bytes of the IP packet.
        size: u32,
    },
    /// Alternates between as much as the transport accepts and silence, over one connection.
    OnOff {
        /// Duration of the on periods in seconds.
        on: Law,
        /// Duration of the off periods in seconds.
        off: Law,
    },
    /// The receiver requests one object after the other over one connection.
    Request {
        /// Bytes of an object.
        size: Law,
        /// Seconds between the end of an object and the next request.
        think: Law,
        /// Minimum time between two requests.
        period: Nanos,
        /// Number of objects.
        count: u64,
    },
    /// Pages of objects.
    Web(Web),
    /// Video over HTTP.
    Video(Video),
    /// A voice call in one direction, without TCP.
    Voice(Voice),
    /// Traffic of programs on real hosts at its ends.
    Programs,
}

impl App {
    /// Whether it uses TCP, and therefore needs a congestion control.
    pub fn is_tcp(&self) -> bool {
        self.without_tcp().is_none()
    }

    /// Name shown in place of the congestion control of an application without one.
    pub fn without_tcp(&self) -> Option<&'static str> {
        match self {
            App::Ping { .. } => Some("ping"),
            App::Cbr { .. } => Some("cbr"),
            App::Voice(_) => Some("voice"),
            _ => None,
        }
    }

    /// Whether its receiver requests the data.
    pub fn has_client(&self) -> bool {
        matches!(self, App::Request { .. } | App::Web(_) | App::Video(_))
    }
}

/// Backend of a TCP flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hosts {
    /// The simulator's transport, also in a run with real hosts.
    Simulated,
    /// Real Linux hosts.
    Linux,
}

impl Hosts {
    /// Names in scenario files.
    pub const NAMES: [&'static str; 2] = ["simulator", "linux"];

    /// Backend with this name.
    pub fn named(name: &str) -> Option<Hosts> {
        let i = Hosts::NAMES.iter().position(|n| *n == name)?;
        Some([Hosts::Simulated, Hosts::Linux][i])
    }
}

/// Notification of a flow's congestion control about events of the timeline: as the start and the
/// end of a handover, or as a change of its path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notices {
    /// Time by which the notice of the start precedes the event.
    pub lead: Nanos,
    /// Time from the notice of the start to that of the end.
    pub hold: Nanos,
    /// Prediction errors in nanoseconds: each notice is shifted by one of them, drawn at random.
    pub errors: Arc<[i64]>,
    /// Probability that a notice is lost.
    pub loss: f64,
}

impl Default for Notices {
    /// Notice at the instant of the event, held for 2.3 s (SaTCP's published hold time).
    fn default() -> Self {
        Notices { lead: Nanos::ZERO, hold: Nanos::from_millis(2300), errors: Arc::from([]), loss: 0.0 }
    }
}

/// A flow's place among the legs of a split connection (RFC 3135 section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leg {
    /// Flow that supplies this one's data; `None` = the first leg.
    pub before: Option<u32>,
    /// Flow that forwards this one's data; `None` = the last leg.
    pub after: Option<u32>,
    /// Buffer of the proxy at the end of this leg, in bytes (the last leg has no proxy).
    pub buffer: u64,
    /// Whether the proxy answers the SYN of this leg before the next leg is established.
    pub spoof: bool,
    /// Whether the leg is a permanent connection between two proxies: without a handshake, with a
    /// known RTT.
    pub standing: bool,
}

/// One flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Unique name: random draws depend on it, so that adding a flow does not change the losses of
    /// other flows.
    pub name: String,
    /// Path of the data.
    pub forward: PairId,
    /// Path of the ACKs.
    pub reverse: PairId,
    /// Start time.
    pub start: Nanos,
    /// Time at which it stops sending new data.
    pub stop: Nanos,
    /// Its traffic.
    pub app: App,
    /// Congestion control: a built-in identifier, a plug-in's name, or `ping`, `cbr` and `voice` if
    /// none is needed.
    pub cc: String,
    /// Whether it runs under the scheme that the run compares, instead of a fixed one.
    #[serde(default)]
    pub compared: bool,
    /// Whether it is left out of the numbers of the run, which are those of the other flows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// Backend; `None` = that of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Hosts>,
    /// Parameters of the congestion control that differ from its defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cc_params: BTreeMap<String, Value>,
    /// Contents of the files required by the congestion control, by parameter name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cc_files: BTreeMap<String, Arc<str>>,
    /// Initial slow start; `None` = that of the congestion control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_start: Option<SlowStart>,
    /// Transport options that differ from the defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tcp: BTreeMap<String, Value>,
    /// Buffer of the transport in bytes, if it depends on the path; 0 = from its options.
    #[serde(default)]
    pub buffer_bytes: u64,
    /// Notices of handovers, outages and path changes; `None` = none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notices: Option<Notices>,
    /// Place in a split connection; `None` = not split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leg: Option<Leg>,
    /// Number of its slowest port at time zero: flows with the same number share it.
    pub bottleneck: u32,
    /// Base RTT of its pair at time zero; `None` = no route at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_rtt: Option<Nanos>,
}

/// Initial slow start of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowStart {
    /// Its identifier.
    pub id: String,
    /// Parameters that differ from its defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, Value>,
}

/// All flows of a run that are known at its start.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Workload {
    /// Flows in the order in which tables print them; the index of a flow is its id.
    pub flows: Vec<Flow>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(law: Law) -> f64 {
        let n = 200_000;
        (0..n).map(|i| law.quantile(nth(7, i))).sum::<f64>() / n as f64
    }

    #[test]
    fn laws_have_their_means() {
        assert_eq!(mean(Law::Fixed(3.0)), 3.0);
        for law in [Law::Uniform(1.0, 2.0), Law::Exponential(0.1), Law::Pareto { mean: 100.0, shape: 2.5 }] {
            assert!((mean(law) / law.mean() - 1.0).abs() < 0.02, "{law:?}");
        }
    }

    #[test]
    fn a_pareto_law_never_falls_below_its_scale() {
        let law = Law::Pareto { mean: 100.0, shape: 2.0 };
        assert_eq!(law.quantile(0.0), 50.0);
        assert!((law.quantile(0.99) - 500.0).abs() < 1e-9);
    }

    #[test]
    fn a_workload_survives_being_saved() {
        let flow = Flow {
            name: "a".into(),
            forward: PairId(0),
            reverse: PairId(1),
            start: Nanos::ZERO,
            stop: Nanos::from_secs(9),
            app: App::Request {
                size: Law::Pareto { mean: 1e6, shape: 1.5 },
                think: Law::Fixed(0.0),
                period: Nanos::ZERO,
                count: u64::MAX,
            },
            cc: "cubic".into(),
            compared: true,
            background: false,
            hosts: Some(Hosts::Simulated),
            cc_params: [("beta".into(), Value::Float(0.7)), ("hystart".into(), Value::Bool(true))].into(),
            cc_files: [("weights".into(), "{}".into())].into(),
            slow_start: Some(SlowStart {
                id: "search".into(),
                params: [("threshold".into(), Value::Float(0.3))].into(),
            }),
            tcp: [("mss".into(), Value::Int(1448)), ("min_rto".into(), Value::Text("200 ms".into()))].into(),
            buffer_bytes: 1,
            notices: Some(Notices { errors: [-5, 7].into(), ..Notices::default() }),
            leg: Some(Leg { before: None, after: Some(1), buffer: 9, spoof: true, standing: false }),
            bottleneck: 3,
            base_rtt: Some(Nanos(5)),
        };
        let workload = Workload { flows: vec![flow] };
        let text = serde_json::to_string(&workload).unwrap();
        assert_eq!(serde_json::from_str::<Workload>(&text).unwrap(), workload);
    }
}
