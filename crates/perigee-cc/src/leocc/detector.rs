// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Detector of reconfigurations from out-of-band probes, and measurement of the fluctuation of the
//! base RTT (LeoCC).
//!
//! ```text
//! a reply more than 45 ms after the previous one   sets G, until the first reply 200 ms later
//! one RTT after that                               100 replies are collected
//! with the reply after them                        F = s[95] − s[5] of the sorted samples
//! ```
//!
//! With probes every 10 ms, an outage below about 35 ms goes unnoticed, as does a handover without
//! an outage.

use crate::Nanos;

const SAMPLES: usize = 100;
/// The fluctuation is the difference between these percentiles.
const LOW: usize = SAMPLES * 5 / 100;
const HIGH: usize = SAMPLES * 95 / 100;

#[derive(Clone, Debug)]
pub(crate) struct Detector {
    gap_threshold: Nanos,
    trigger_life: Nanos,
    triggered: bool,
    /// Time and RTT of the reply that revealed the last reconfiguration, until its samples are
    /// evaluated.
    last: Option<(Nanos, Nanos)>,
    fluctuation: Nanos,
    collecting: bool,
    samples: [Nanos; SAMPLES],
    count: usize,
}

impl Detector {
    pub fn new(gap_threshold: Nanos, trigger_life: Nanos) -> Self {
        Detector {
            gap_threshold,
            trigger_life,
            triggered: false,
            last: None,
            fluctuation: Nanos::ZERO,
            collecting: false,
            samples: [Nanos::ZERO; SAMPLES],
            count: 0,
        }
    }

    /// Trigger G.
    pub fn triggered(&self) -> bool {
        self.triggered
    }

    /// Fluctuation F; zero before the first reconfiguration.
    pub fn fluctuation(&self) -> Nanos {
        self.fluctuation
    }

    /// Processes a reply that arrived `gap` after the previous one of the same prober.
    pub fn on_reply(&mut self, now: Nanos, rtt: Nanos, gap: Option<Nanos>) {
        let reconfigured = gap.is_some_and(|gap| gap > self.gap_threshold);
        if rtt == Nanos::ZERO && !reconfigured {
            return;
        }
        if let Some((at, rtt_then)) = self.last {
            self.triggered &= now < at.saturating_add(self.trigger_life);
            if !self.collecting && now >= at.saturating_add(rtt_then) {
                self.collecting = true;
                self.count = 0;
            }
        } else if self.triggered {
            // The samples were evaluated before the trigger expired.
            self.triggered = false;
        }
        if self.collecting {
            self.collect(rtt);
        }
        if reconfigured {
            self.triggered = true;
            self.last = Some((now, rtt));
        }
    }

    fn collect(&mut self, rtt: Nanos) {
        if self.count < SAMPLES {
            self.samples[self.count] = rtt;
            self.count += 1;
            return;
        }
        self.samples.sort_unstable();
        self.fluctuation = self.samples[HIGH] - self.samples[LOW];
        self.collecting = false;
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    fn detector() -> Detector {
        Detector::new(MS(45), MS(200))
    }

    /// Times at which triggers rise, with replies every 10 ms except during `outage`.
    fn triggers(outage: std::ops::Range<u64>, until: u64) -> Vec<u64> {
        let mut d = detector();
        let (mut last, mut seen) = (None, vec![]);
        for t in (0..until).step_by(10).filter(|t| !outage.contains(t)) {
            let was = d.triggered();
            d.on_reply(MS(t), MS(30), last.map(|l| MS(t - l)));
            if d.triggered() && !was {
                seen.push(t);
            }
            last = Some(t);
        }
        seen
    }

    #[test]
    fn replies_withheld_for_60_ms_are_one_reconfiguration_and_for_30_ms_none() {
        assert_eq!(triggers(1000..1060, 3000), [1060]);
        assert_eq!(triggers(1000..1030, 3000), []);
    }

    #[test]
    fn the_trigger_lives_for_200_ms_and_falls_with_a_reply() {
        let mut d = detector();
        d.on_reply(MS(0), MS(30), None);
        d.on_reply(MS(60), MS(30), Some(MS(60)));
        d.on_reply(MS(250), MS(30), Some(MS(10)));
        assert!(d.triggered());
        d.on_reply(MS(260), MS(30), Some(MS(10)));
        assert!(!d.triggered());
    }

    #[test]
    fn the_fluctuation_of_a_ramp_is_90_ms_and_comes_with_the_101st_reply() {
        let mut d = detector();
        d.on_reply(MS(0), MS(10), Some(MS(60)));
        for i in 0..100 {
            d.on_reply(MS(10 + i * 10), MS(i).max(Nanos(1)), Some(MS(10)));
        }
        assert_eq!(d.fluctuation(), Nanos::ZERO);
        d.on_reply(MS(1010), MS(7), Some(MS(10)));
        assert_eq!(d.fluctuation(), MS(90));
    }

    #[test]
    fn collection_starts_one_rtt_after_the_reconfiguration() {
        let mut d = detector();
        d.on_reply(MS(0), MS(500), Some(MS(60)));
        d.on_reply(MS(490), MS(500), Some(MS(10)));
        assert_eq!(d.count, 0);
        d.on_reply(MS(500), MS(500), Some(MS(10)));
        assert_eq!(d.count, 1);
    }
}
