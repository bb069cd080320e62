// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory of the bottleneck's rate: whether it changes faster than a control loop can follow, its
//! mean, and the standing queue, which remains over several RTTs.

use super::Port;
use crate::Nanos;

/// Time constant of the mean rate, and interval of the lowest queue, in RTTs.
pub(super) const MEMORY_RTTS: f64 = 4.0;
/// Time constant, in RTTs, with which changes are forgotten, and the number that counts as
/// alternation.
const FORGETTING_RTTS: f64 = 8.0;
const ALTERNATES: f64 = 2.0;
const SETTLED: f64 = 0.1;

#[derive(Clone, Debug, Default)]
pub(super) struct Rates {
    /// Recent changes.
    changes: f64,
    /// Bytes per second.
    mean: f64,
    /// Lowest queue, in bytes, of the current and the previous interval.
    lowest: [f64; 2],
    interval_at: Nanos,
}

impl Rates {
    /// Takes a record: `elapsed` RTTs since the last one; `changed`: the rate is another one.
    pub fn record(&mut self, now: Nanos, rtt: Nanos, port: &Port, elapsed: f64, changed: bool) {
        self.changes /= 1.0 + elapsed / FORGETTING_RTTS;
        let rate = port.bw.bytes_per_s();
        if self.changes < SETTLED {
            self.mean = rate;
        }
        self.mean += elapsed / (elapsed + MEMORY_RTTS) * (rate - self.mean);
        if now.saturating_sub(self.interval_at) > rtt * MEMORY_RTTS as u64 {
            self.lowest = [port.queue, self.lowest[0]];
            self.interval_at = now;
        }
        self.lowest[0] = self.lowest[0].min(port.queue);
        if changed {
            self.changes += 1.0;
        }
    }

    /// Whether the rate has changed repeatedly within the last RTTs.
    pub fn alternate(&self) -> bool {
        self.changes > ALTERNATES
    }

    /// Mean rate in bytes per second.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Utilisation of a port with the mean rate, on which only the standing queue is an excess.
    pub fn utilisation(&self, port: &Port, rtt_s: f64) -> f64 {
        let standing = self.lowest[0].min(self.lowest[1]);
        (port.sent_per_s + standing / rtt_s) / self.mean.max(1.0)
    }
}
