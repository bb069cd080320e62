// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counters of the gateway, as JSON and in the text format of Prometheus.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

macro_rules! counters {
    ($($name:ident: $kind:ident, $help:literal;)*) => {
        /// Counters of all workers, which are the only state that threads share.
        #[derive(Debug, Default)]
        pub struct Counters {
            $(#[doc = $help] pub $name: counters!(@type $kind),)*
            /// Whether new connections are refused.
            pub draining: AtomicBool,
            /// Whether connections are being reset.
            pub stopping: AtomicBool,
        }

        impl Counters {
            /// Name, kind, help text and value of each counter.
            fn rows(&self) -> Vec<(&'static str, &'static str, &'static str, f64)> {
                vec![$((stringify!($name), stringify!($kind), $help, self.$name.load(Relaxed) as f64)),*]
            }
        }
    };
    (@type counter) => { AtomicU64 };
    (@type gauge) => { AtomicI64 };
}

counters! {
    open: gauge, "Split connections.";
    dialling: gauge, "Connections for which the far side has not answered yet.";
    window_bytes: gauge, "Sum of the windows that the gateway bounds.";
    backlog_bytes: gauge, "Bytes that wait in the gateway, by the last measurement of each connection.";
    split: counter, "Connections that were split.";
    completed: counter, "Connections that ended in order.";
    reset: counter, "Connections that were reset by an end, a timeout or the gateway.";
    refused: counter, "Connections that the far side refused.";
    timed_out: counter, "Connections for which the far side did not answer in time.";
    passed: counter, "SYNs that were forwarded unsplit: limit, MPTCP joins, unreachable servers.";
    repeated_syns: counter, "SYNs that arrived again while the far side was dialled.";
    abandoned: counter, "Dialled connections that the client gave up.";
    other_port: counter, "Connections whose far leg could not have the client's port.";
    urgent: counter, "Directions with urgent data.";
    lost_notices: counter, "Times that the kernel lost notices on waiting SYNs.";
    bytes_outwards: counter, "Bytes from the inside to the outside interface.";
    bytes_inwards: counter, "Bytes from the outside to the inside interface.";
}

/// Adds to a counter.
pub fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Relaxed);
}

/// Raises a gauge by one for its lifetime.
pub struct Raised<'a>(&'a AtomicI64);

impl<'a> Raised<'a> {
    /// Raises the gauge.
    pub fn new(gauge: &'a AtomicI64) -> Raised<'a> {
        gauge.fetch_add(1, Relaxed);
        Raised(gauge)
    }
}

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// A contribution to a gauge that is a sum.
pub struct Share<'a>(&'a AtomicI64, i64);

impl<'a> Share<'a> {
    /// A contribution of zero.
    pub fn new(gauge: &'a AtomicI64) -> Share<'a> {
        Share(gauge, 0)
    }

    /// Changes the contribution.
    pub fn set(&mut self, value: u32) {
        let value = i64::from(value);
        self.0.fetch_add(value - self.1, Relaxed);
        self.1 = value;
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Relaxed);
    }
}

impl Counters {
    /// `running`, `draining` or `stopping`.
    #[must_use]
    pub fn state(&self) -> &'static str {
        match (self.stopping.load(Relaxed), self.draining.load(Relaxed)) {
            (true, _) => "stopping",
            (_, true) => "draining",
            _ => "running",
        }
    }

    /// All values as a JSON object.
    #[must_use]
    pub fn as_json(&self) -> serde_json::Map<String, serde_json::Value> {
        self.rows().into_iter().map(|(name, _, _, value)| (name.to_owned(), (value as i64).into())).collect()
    }

    /// All values in the text format of Prometheus.
    #[must_use]
    pub fn as_prometheus(&self) -> String {
        let mut text = String::new();
        for (name, kind, help, value) in self.rows() {
            let name = match kind {
                "counter" => format!("perigee_gateway_{name}_total"),
                _ => format!("perigee_gateway_{name}"),
            };
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
        }
        let cpu = "perigee_gateway_cpu_seconds_total";
        let seconds = crate::system::cpu_seconds();
        let _ =
            write!(text, "# HELP {cpu} CPU time of the process.\n# TYPE {cpu} counter\n{cpu} {seconds}\n");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{add, Counters, Raised, Share};
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn gauges_return_to_zero_and_forms_have_all_values() {
        let counters = Counters::default();
        {
            let _one = Raised::new(&counters.open);
            let mut share = Share::new(&counters.window_bytes);
            share.set(500);
            share.set(200);
            assert_eq!((counters.open.load(Relaxed), counters.window_bytes.load(Relaxed)), (1, 200));
        }
        add(&counters.split, 3);
        assert_eq!(counters.as_json()["split"], 3);
        assert_eq!((counters.as_json()["open"].as_i64(), counters.window_bytes.load(Relaxed)), (Some(0), 0));
        let text = counters.as_prometheus();
        assert!(text.contains("# TYPE perigee_gateway_split_total counter\nperigee_gateway_split_total 3\n"));
        assert!(text.contains("# TYPE perigee_gateway_open gauge\nperigee_gateway_open 0\n"));
    }
}
