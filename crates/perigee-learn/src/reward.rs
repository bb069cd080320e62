// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reward of Astraea, as far as its authors' code shows it, with two optional terms per flow: for
//! its share and for its queueing delay.

use serde::Deserialize;

/// Measurements of a flow between two decisions.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowFacts {
    /// Mean delivery rate, in bytes/s.
    pub throughput: f64,
    /// Mean RTT, in milliseconds; zero = no sample.
    pub rtt_ms: f64,
    /// RTT without queueing, in milliseconds.
    pub base_rtt_ms: f64,
    /// Pacing rate, in bytes/s.
    pub pacing: f64,
    /// Bytes lost per second.
    pub loss: f64,
    /// Standard deviation of the window over the latest steps, in packets.
    pub cwnd_deviation: f64,
}

/// Weights of the terms. With `share` and `queue` zero, the default, this is the reward of Astraea.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Reward {
    /// Weight of the flows' total throughput, relative to the capacity.
    pub throughput: f64,
    /// Weight of the queueing delay beyond 15 % of the base RTT.
    pub latency: f64,
    /// Weight of the mean loss rate, relative to the pacing rate.
    pub loss: f64,
    /// Weight of the standard deviation of the flows' throughputs, relative to their sum.
    pub fairness: f64,
    /// Weight of the stability of the windows.
    pub stability: f64,
    /// Weight of the difference between a flow's throughput and the mean, relative to the mean: an
    /// incentive for flows above the mean to yield.
    pub share: f64,
    /// Weight of the difference between a flow's queueing delay and its goal, relative to the goal.
    /// The goal is `queue_ms` at 50 Mbit/s and 30 ms, and falls as the flow's throughput grows:
    /// flows of equal RTT meet it together only with equal shares.
    pub queue: f64,
    /// Goal for the queueing delay at 50 Mbit/s and a base RTT of 30 ms, in milliseconds.
    pub queue_ms: f64,
    /// Exponent of the base RTT in the goal. Flows with different base RTTs get shares in
    /// proportion to this power of them.
    pub queue_power: f64,
}

impl Default for Reward {
    fn default() -> Self {
        Reward {
            throughput: 0.1,
            latency: 0.02,
            loss: 1.0,
            fairness: 0.02,
            stability: 0.01,
            share: 0.0,
            queue: 0.0,
            queue_ms: 3.5,
            queue_power: 0.5,
        }
    }
}

/// Minimum reward.
const FLOOR: f64 = -0.5;
/// Fairness below which windows count as unstable.
const FAIR: f64 = 0.96;

impl Reward {
    /// Computes the rewards of all active flows, on a path of `capacity` bytes/s with a one-way
    /// delay of `delay_ms`. Replaces the contents of `out` by one reward per flow, in the same
    /// order: all zero if nothing was delivered.
    pub fn of(&self, flows: &[FlowFacts], capacity: f64, delay_ms: f64, out: &mut Vec<f64>) {
        out.clear();
        let n = flows.len() as f64;
        let sum: f64 = flows.iter().map(|f| f.throughput).sum();
        if flows.is_empty() || sum <= 0.0 || capacity <= 0.0 || delay_ms <= 0.0 {
            out.resize(flows.len(), 0.0);
            return;
        }
        let mean = sum / n;
        let used = (sum / capacity).min(1.0);
        let deviation =
            libm::sqrt(flows.iter().map(|f| (f.throughput - mean) * (f.throughput - mean)).sum::<f64>() / n);
        let fair = if n > 1.0 { (1.0 - deviation / sum).max(0.5) } else { 1.0 };
        let mut instability = flows.iter().map(|f| f.cwnd_deviation).sum::<f64>() / n / 100.0;
        if instability > 1.0 || fair < FAIR {
            instability = 1.0;
        }
        let loss =
            flows.iter().map(|f| if f.pacing > 0.0 { f.loss / f.pacing } else { 0.0 }).sum::<f64>() / n;
        let common = -self.latency * latency(flows, capacity, delay_ms)
            + self.throughput * used
            + self.fairness * (fair - 1.0) * used
            + self.stability * (1.0 - instability) * used
            - self.loss * loss;
        out.extend(flows.iter().map(|f| {
            let imbalance = ((f.throughput - mean).abs() / mean).min(1.0);
            let off_goal = if self.queue == 0.0 { 0.0 } else { self.queue * self.off_goal(f) };
            (common - self.share * imbalance * used - off_goal).max(FLOOR)
        }));
    }

    /// Distance of a flow's queueing delay from its goal, as a multiple of the goal: at most two,
    /// and one without a measurement.
    fn off_goal(&self, f: &FlowFacts) -> f64 {
        // Bytes/s and ms at which the goal is `queue_ms`.
        const GOAL_AT: (f64, f64) = (6.25e6, 30.0);
        if f.rtt_ms <= 0.0 || f.base_rtt_ms <= 0.0 || f.throughput <= 0.0 {
            return 1.0;
        }
        let longer = libm::pow(f.base_rtt_ms / GOAL_AT.1, self.queue_power);
        let goal = self.queue_ms * longer * GOAL_AT.0 / f.throughput;
        (((f.rtt_ms - f.base_rtt_ms) - goal).abs() / goal).min(2.0)
    }
}

/// Latency term: mean queueing delay beyond 0.3 one-way delays, in one-way delays, times the ratio
/// of the total pacing rate to the capacity, over the square root of the number of flows.
fn latency(flows: &[FlowFacts], capacity: f64, delay_ms: f64) -> f64 {
    let queues =
        flows.iter().filter(|f| f.rtt_ms > 0.0).map(|f| f.rtt_ms - f.base_rtt_ms).filter(|q| *q > 0.0);
    let (count, total) = queues.fold((0.0, 0.0), |(n, sum), q| (n + 1.0, sum + q));
    let late = if count > 0.0 { (total / count - 0.3 * delay_ms).max(0.0) } else { 0.0 };
    let sent: f64 = flows.iter().map(|f| f.pacing).sum();
    sent * late / capacity / delay_ms / libm::sqrt(flows.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(rtt_ms: f64) -> FlowFacts {
        FlowFacts { throughput: 12.5e6, rtt_ms, base_rtt_ms: 30.0, pacing: 12.5e6, ..FlowFacts::default() }
    }

    fn one(r: &Reward, flows: &[FlowFacts]) -> Vec<f64> {
        let mut out = Vec::new();
        r.of(flows, 12.5e6, 15.0, &mut out);
        out
    }

    #[test]
    fn a_full_link_within_the_delay_budget_earns_throughput_and_stability() {
        let r = Reward::default();
        assert!((one(&r, &[full(34.0)])[0] - 0.11).abs() < 1e-12);
        // 10 ms of queueing delay: 5.5 ms beyond 0.3 · 15 ms.
        assert!((one(&r, &[full(40.0)])[0] - (0.11 - 0.02 * 5.5 / 15.0)).abs() < 1e-12);
    }

    #[test]
    fn loss_counts_in_full_and_nothing_delivered_is_zero() {
        let r = Reward::default();
        let lossy = FlowFacts { loss: 0.125e6, ..full(30.0) };
        assert!((one(&r, &[lossy])[0] - (0.11 - 0.01)).abs() < 1e-12);
        assert_eq!(one(&r, &[FlowFacts::default()]), [0.0]);
    }

    #[test]
    fn a_queue_at_its_goal_costs_nothing_and_slower_flows_may_wait_longer() {
        let r = Reward { queue: 0.1, ..Reward::default() };
        let off =
            |share: f64, rtt_ms: f64| r.off_goal(&FlowFacts { throughput: 6.25e6 * share, ..full(rtt_ms) });
        assert!(off(1.0, 33.5) < 1e-12 && off(0.5, 37.0) < 1e-12);
        assert!((off(1.0, 30.0) - 1.0).abs() < 1e-12 && off(1.0, 90.0) == 2.0);
        assert_eq!(r.off_goal(&FlowFacts::default()), 1.0);
    }

    #[test]
    fn a_flow_above_or_below_its_share_earns_less() {
        let r = Reward { share: 0.05, ..Reward::default() };
        let part = |x: f64| FlowFacts { throughput: 12.5e6 * x, pacing: 12.5e6 * x, ..full(30.0) };
        let even = one(&r, &[part(0.5), part(0.5)]);
        let uneven = one(&r, &[part(0.7), part(0.3)]);
        assert!(even[0] > uneven[0] && even[1] > uneven[1]);
        let three = one(&r, &[part(0.6), part(0.3), part(0.1)]);
        assert!(three[1] > three[0] && three[1] > three[2]);
    }
}
