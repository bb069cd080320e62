// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Faults of the records that a port writes: what a switch with late, coarse or wrong measurements
//! would report. The port itself works as before.
//!
//! ```text
//! stale               bw is that of this time ago
//! error e             bw, qLen and rxQlen are multiplied by 1 + e z, z uniform in −1..1, each its own
//! clock_ppm           ts runs faster by this
//! flow_count_error f  flowCnt is multiplied by 1 + f, at least 1
//! delay               the record is the latest one of this time ago
//! ```

use crate::uf16;
use crate::wire::{rate_code, rate_of, WireHop, FLAG_FLOWS_WEIGHTED, FLOWS_MAX, TS_MASK};
use perigee_cc::{BitRate, Nanos};
use perigee_units::draw::{mix, unit};
use std::collections::VecDeque;

/// Faults of a port; zero = none of the kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FaultSpec {
    /// Age of records.
    pub delay: Nanos,
    /// Largest relative error of rates and backlogs.
    pub error: f64,
    /// Drift of the port's clock in parts per million.
    pub clock_ppm: f64,
    /// Time for which the rate reported stays old after a change.
    pub stale: Nanos,
    /// Relative error of the number of flows.
    pub flow_count_error: f64,
}

/// Faults of a port, with their state.
#[derive(Clone, Debug)]
pub struct Faults {
    spec: FaultSpec,
    /// Key of the draws, and their number.
    key: u64,
    draws: u64,
    /// Rates of the port with the instants at which they were first seen, from the one reported on.
    rates: VecDeque<(Nanos, BitRate)>,
    /// Records with their instants, from the one reported on.
    records: VecDeque<(Nanos, WireHop)>,
}

impl Faults {
    /// Faults of a port; `key`: that of its random draws.
    pub fn new(spec: FaultSpec, key: u64) -> Self {
        Faults { spec, key, draws: 0, rates: VecDeque::new(), records: VecDeque::new() }
    }

    /// The record that the port writes at `now` in place of `hop`, at a time at which its rate is
    /// `rate`.
    #[cold]
    pub fn apply(&mut self, now: Nanos, rate: BitRate, hop: WireHop) -> WireHop {
        let hop = self.with_stale_rate(now, rate, hop);
        let hop = self.with_errors(hop);
        let hop = self.by_own_clock(now, hop);
        let hop = self.with_wrong_flows(hop);
        self.delayed(now, hop)
    }

    fn with_stale_rate(&mut self, now: Nanos, rate: BitRate, hop: WireHop) -> WireHop {
        if self.spec.stale == Nanos::ZERO {
            return hop;
        }
        if self.rates.back().is_none_or(|&(_, last)| last != rate) {
            self.rates.push_back((now, rate));
        }
        keep_from(&mut self.rates, now, self.spec.stale);
        let reported = self.rates.front().map_or(rate, |r| r.1);
        WireHop { bw: rate_code(reported), ..hop }
    }

    fn with_errors(&mut self, hop: WireHop) -> WireHop {
        if self.spec.error == 0.0 {
            return hop;
        }
        let mut off = |value: u64| {
            self.draws += 1;
            let z = 2.0 * unit(mix(self.key ^ mix(self.draws))) - 1.0;
            (value as f64 * (1.0 + self.spec.error * z) + 0.5) as u64
        };
        WireHop {
            bw: rate_code(BitRate(off(rate_of(hop.bw).0))),
            q_out: uf16::encode(off(uf16::decode(hop.q_out))),
            q_in: uf16::encode(off(uf16::decode(hop.q_in))),
            ..hop
        }
    }

    fn by_own_clock(&self, now: Nanos, hop: WireHop) -> WireHop {
        if self.spec.clock_ppm == 0.0 {
            return hop;
        }
        let gained = now.0 as f64 * self.spec.clock_ppm * 1e-6;
        let own = (now.0 as i64).saturating_add(gained as i64).div_euclid(1000);
        WireHop { ts: own as u32 & TS_MASK, ..hop }
    }

    fn with_wrong_flows(&self, hop: WireHop) -> WireHop {
        if self.spec.flow_count_error == 0.0 {
            return hop;
        }
        let flows = f64::from(hop.decode().flows) * (1.0 + self.spec.flow_count_error);
        match hop.flags & FLAG_FLOWS_WEIGHTED {
            0 => WireHop { flows: (flows + 0.5).clamp(1.0, f64::from(FLOWS_MAX)) as u16, ..hop },
            _ => hop.with_windows(flows),
        }
    }

    fn delayed(&mut self, now: Nanos, hop: WireHop) -> WireHop {
        if self.spec.delay == Nanos::ZERO {
            return hop;
        }
        self.records.push_back((now, hop));
        keep_from(&mut self.records, now, self.spec.delay);
        self.records.front().map_or(hop, |r| r.1)
    }
}

/// Drops entries older than the one that was the latest `age` ago; the first one is kept until
/// another is old enough.
fn keep_from<T>(entries: &mut VecDeque<(Nanos, T)>, now: Nanos, age: Nanos) {
    while entries.get(1).is_some_and(|e| e.0 + age <= now) {
        entries.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MBIT: BitRate = BitRate::from_mbit(100);

    fn hop(us: u64) -> WireHop {
        WireHop {
            ts: us as u32,
            tx: us as u32,
            avg_rtt: 50_000,
            bw: rate_code(MBIT),
            q_out: uf16::encode(30_000),
            q_in: uf16::encode(45_000),
            flows: 4,
            flags: 0,
        }
    }

    fn faults(spec: FaultSpec) -> Faults {
        Faults::new(spec, 7)
    }

    #[test]
    fn without_faults_records_stay_as_they_are() {
        let mut f = faults(FaultSpec::default());
        for us in [0, 500, 90_000] {
            assert_eq!(f.apply(Nanos::from_micros(us), MBIT, hop(us)), hop(us));
        }
    }

    #[test]
    fn a_delayed_record_is_the_latest_that_is_old_enough() {
        let mut f = faults(FaultSpec { delay: Nanos::from_micros(1000), ..FaultSpec::default() });
        let shown: Vec<u32> =
            (0..6).map(|i| f.apply(Nanos::from_micros(400 * i), MBIT, hop(400 * i)).tx).collect();
        assert_eq!(shown, [0, 0, 0, 0, 400, 800]);
    }

    #[test]
    fn errors_are_bounded_unbiased_and_independent() {
        let mut f = faults(FaultSpec { error: 0.2, ..FaultSpec::default() });
        let n = 4000u32;
        let (mut sum, mut equal, mut widest) = (0.0, 0, 0.0f64);
        for us in 0..u64::from(n) {
            let shown = f.apply(Nanos::from_micros(us), MBIT, hop(us)).decode();
            let rate = shown.bw.0 as f64 / 1e8;
            let queue = shown.q_out as f64 / 30_000.0;
            assert!((rate - 1.0).abs() < 0.201 && (queue - 1.0).abs() < 0.201, "{rate} {queue}");
            sum += rate;
            equal += u32::from((rate - queue).abs() < 1e-3);
            widest = widest.max((rate - 1.0).abs());
        }
        assert!((sum / f64::from(n) - 1.0).abs() < 0.01, "{}", sum / f64::from(n));
        assert!(widest > 0.19 && equal < n / 50, "{widest} {equal}");
    }

    #[test]
    fn a_fast_clock_lengthens_the_time_between_records() {
        let mut f = faults(FaultSpec { clock_ppm: 1000.0, ..FaultSpec::default() });
        let at = |us: u64| Nanos::from_micros(us);
        let first = f.apply(at(1_000_000), MBIT, hop(1_000_000)).ts;
        let second = f.apply(at(2_000_000), MBIT, hop(2_000_000)).ts;
        assert_eq!((first, second - first), (1_001_000, 1_001_000));
        let mut slow = faults(FaultSpec { clock_ppm: -1000.0, ..FaultSpec::default() });
        assert_eq!(slow.apply(at(1_000_000), MBIT, hop(1_000_000)).ts, 999_000);
    }

    #[test]
    fn a_stale_rate_is_that_of_some_time_ago() {
        let mut f = faults(FaultSpec { stale: Nanos::from_millis(100), ..FaultSpec::default() });
        let half = BitRate::from_mbit(50);
        let mut shown = |ms: u64, rate: BitRate| {
            let record = WireHop { bw: rate_code(rate), ..hop(0) };
            f.apply(Nanos::from_millis(ms), rate, record).decode().bw.0 / 1_000_000
        };
        assert_eq!(
            (shown(0, MBIT), shown(10, half), shown(109, half), shown(110, half)),
            (100, 100, 100, 50)
        );
        // A rate that returns before the time is over is reported all the same.
        assert_eq!(
            (shown(200, MBIT), shown(250, half), shown(310, half), shown(360, half)),
            (50, 50, 100, 50)
        );
    }

    #[test]
    fn a_wrong_number_of_flows_is_at_least_one() {
        let flows = |error: f64| {
            let mut f = faults(FaultSpec { flow_count_error: error, ..FaultSpec::default() });
            let weighted = f.apply(Nanos::ZERO, MBIT, hop(0).with_windows(300.0)).decode().flows;
            (f.apply(Nanos::ZERO, MBIT, hop(0)).decode().flows, weighted)
        };
        assert_eq!((flows(0.5), flows(-0.99)), ((6, 450), (1, 3)));
    }
}
