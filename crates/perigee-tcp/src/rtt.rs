// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Round-trip time and retransmission timeout, as Linux computes them.

use crate::config::RtoRule;
use perigee_units::Nanos;

/// Window of the transport's minimum RTT (Linux `tcp_min_rtt_wlen`).
const MIN_RTT_WINDOW: Nanos = Nanos::from_secs(300);

/// RTT estimator: SRTT, the variance term, the timeout and the windowed minimum.
#[derive(Clone, Debug)]
pub struct Rtt {
    rule: RtoRule,
    min_rto: i64,
    tick: u64,
    /// Smoothed RTT in eighths of a nanosecond, so that its fraction is kept.
    srtt8: i64,
    /// Four times the mean deviation.
    mdev4: i64,
    /// Largest deviation of the round.
    mdev_max: i64,
    /// Variance term of the timeout: never below `min_rto`, so that a path with a steady RTT of 50
    /// ms has an RTO of 250 ms.
    rttvar: i64,
    round_end: u64,
    rto: Nanos,
    min: MinFilter,
}

impl Rtt {
    /// `tick`: duration of a jiffy, to which timeouts are rounded up. Zero = exact.
    pub fn new(rule: RtoRule, tick: Nanos) -> Self {
        Rtt {
            rule,
            min_rto: rule.min.0 as i64,
            tick: tick.0,
            srtt8: 0,
            mdev4: 0,
            mdev_max: rule.min.0 as i64,
            rttvar: 0,
            round_end: 0,
            rto: Nanos::from_secs(1),
            min: MinFilter::default(),
        }
    }

    /// Takes an RTT sample. `una` and `nxt`: the first outstanding and the next new segment, which
    /// delimit rounds.
    pub fn sample(&mut self, rtt: Nanos, una: u64, nxt: u64) {
        let r = rtt.0 as i64;
        if self.srtt8 == 0 {
            self.srtt8 = (r * 8).max(1);
            self.mdev4 = r * 2;
            self.rttvar = self.mdev4.max(self.min_rto);
            self.mdev_max = self.rttvar;
            self.round_end = nxt;
        } else if let Some(gain) = self.rule.rfc6298_gain {
            self.update_plainly(r, gain);
        } else {
            self.update(r, una, nxt);
        }
        let rto = match self.rule.rfc6298_gain {
            None => (self.srtt8 >> 3) + self.rttvar,
            Some(_) => ((self.srtt8 >> 3) + self.mdev4.max(self.rule.granularity.0 as i64)).max(self.min_rto),
        };
        self.rto = round_up(Nanos(rto as u64), self.tick).min(self.rule.max);
    }

    /// RFC 6298 section 2.3: both averages are updated from the same error.
    fn update_plainly(&mut self, r: i64, gain: i64) {
        let err = r - (self.srtt8 >> 3);
        self.mdev4 += (err.abs() * 4 - self.mdev4) / gain;
        self.srtt8 += err;
    }

    fn update(&mut self, r: i64, una: u64, nxt: u64) {
        let err = r - (self.srtt8 >> 3);
        self.srtt8 += err;
        let mut dev = err.abs() - (self.mdev4 >> 2);
        // A falling RTT must not inflate the variance: only an eighth of the step counts.
        if err < 0 && dev > 0 {
            dev >>= 3;
        }
        self.mdev4 += dev;
        if self.mdev4 > self.mdev_max {
            self.mdev_max = self.mdev4;
            self.rttvar = self.rttvar.max(self.mdev_max);
        }
        if una > self.round_end {
            if self.mdev_max < self.rttvar {
                self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
            }
            self.round_end = nxt;
            self.mdev_max = self.min_rto;
        }
    }

    /// Updates the windowed minimum.
    pub fn sample_min(&mut self, now: Nanos, rtt: Nanos) {
        self.min.sample(now, rtt);
    }

    /// Smoothed RTT; zero before the first sample.
    #[inline]
    pub fn srtt(&self) -> Nanos {
        Nanos((self.srtt8 >> 3) as u64)
    }
    /// Smallest RTT of the last 300 s; [`Nanos::MAX`] before the first sample.
    #[inline]
    pub fn min(&self) -> Nanos {
        self.min.get()
    }
    /// Retransmission timeout without backoff.
    pub fn rto(&self) -> Nanos {
        self.rto
    }
}

/// Rounds a duration up to full ticks; zero = exact.
pub fn round_up(t: Nanos, tick: u64) -> Nanos {
    match tick {
        0 => t,
        tick => Nanos(t.0.div_ceil(tick) * tick),
    }
}

/// Windowed minimum that keeps the best candidates of three successive sub-windows (K. Nichols'
/// filter).
#[derive(Clone, Debug)]
struct MinFilter {
    best: [(Nanos, Nanos); 3],
}

impl Default for MinFilter {
    fn default() -> Self {
        MinFilter { best: [(Nanos::ZERO, Nanos::MAX); 3] }
    }
}

impl MinFilter {
    fn get(&self) -> Nanos {
        self.best[0].1
    }

    fn sample(&mut self, now: Nanos, v: Nanos) {
        let new = (now, v);
        let b = &mut self.best;
        if v <= b[0].1 || now.saturating_sub(b[2].0) > MIN_RTT_WINDOW {
            *b = [new; 3];
            return;
        }
        if v <= b[1].1 {
            b[1] = new;
            b[2] = new;
        } else if v <= b[2].1 {
            b[2] = new;
        }
        let age = now.saturating_sub(b[0].0);
        if age > MIN_RTT_WINDOW {
            *b = [b[1], b[2], new];
            if now.saturating_sub(b[0].0) > MIN_RTT_WINDOW {
                *b = [b[1], new, new];
            }
        } else if b[1].0 == b[0].0 && age > MIN_RTT_WINDOW / 4 {
            b[1] = new;
            b[2] = new;
        } else if b[2].0 == b[1].0 && age > MIN_RTT_WINDOW / 2 {
            b[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    fn quiet(rtt_ms: u64, samples: u64) -> Rtt {
        let mut r = Rtt::new(RtoRule::linux(Nanos(200 * MS)), Nanos::ZERO);
        for i in 0..samples {
            r.sample(Nanos(rtt_ms * MS), i, i + 10);
        }
        r
    }

    #[test]
    fn a_quiet_50_ms_path_has_a_timeout_of_250_ms() {
        assert_eq!(quiet(50, 500).rto(), Nanos(250 * MS));
    }

    #[test]
    fn two_samples_on_a_100_ms_path_give_300_ms() {
        assert_eq!(quiet(100, 2).rto(), Nanos(300 * MS));
    }

    #[test]
    fn a_first_sample_counts_twice_as_deviation() {
        let mut r = Rtt::new(RtoRule::linux(Nanos(200 * MS)), Nanos::ZERO);
        r.sample(Nanos(300 * MS), 0, 10);
        assert_eq!((r.srtt(), r.rto()), (Nanos(300 * MS), Nanos(900 * MS)));
    }

    #[test]
    fn variance_rises_at_once_and_decays_by_a_quarter_per_round() {
        let mut r = quiet(50, 500);
        r.sample(Nanos(650 * MS), 500, 510);
        let high = r.rto();
        assert!(high > Nanos(650 * MS), "{high}");
        for i in 501..900 {
            r.sample(Nanos(50 * MS), i, i + 10);
        }
        assert!(r.rto() < Nanos(260 * MS), "{}", r.rto());
    }

    #[test]
    fn timeouts_are_rounded_up_to_ticks() {
        let mut r = Rtt::new(RtoRule::linux(Nanos(200 * MS)), Nanos(4 * MS));
        r.sample(Nanos(51 * MS), 0, 1);
        assert_eq!(r.rto().0 % (4 * MS), 0);
    }

    #[test]
    fn by_rfc_6298_the_floor_holds_for_the_whole_timeout() {
        let rule = RtoRule { rfc6298_gain: Some(4), ..RtoRule::linux(Nanos(1000 * MS)) };
        let mut r = Rtt::new(rule, Nanos::ZERO);
        r.sample(Nanos(84 * MS), 0, 10);
        assert_eq!(r.rto(), Nanos(1000 * MS));
        // First R = 500 ms: RTTVAR = 250 ms, RTO = 1.5 s; then a sample of 900 ms: RTTVAR = 0.75 x
        // 250 + 0.25 x 400.
        let mut r = Rtt::new(rule, Nanos::ZERO);
        r.sample(Nanos(500 * MS), 0, 10);
        assert_eq!(r.rto(), Nanos(1500 * MS));
        r.sample(Nanos(900 * MS), 1, 10);
        assert_eq!((r.srtt(), r.rto()), (Nanos(550 * MS), Nanos((550 + 4 * 2875 / 10) * MS)));
    }

    #[test]
    fn by_rfc_6298_a_timeout_is_a_tick_of_the_clock_longer_than_a_steady_rtt() {
        let rule =
            RtoRule { rfc6298_gain: Some(4), granularity: Nanos(MS), ..RtoRule::linux(Nanos(200 * MS)) };
        let mut r = Rtt::new(rule, Nanos::ZERO);
        for k in 0..200 {
            r.sample(Nanos(250 * MS), k, k + 10);
        }
        assert_eq!(r.rto(), Nanos(251 * MS));
    }

    #[test]
    fn the_minimum_is_forgotten_after_its_window() {
        let mut r = Rtt::new(RtoRule::linux(Nanos(200 * MS)), Nanos::ZERO);
        r.sample_min(Nanos::ZERO, Nanos(20 * MS));
        for s in 1..200 {
            r.sample_min(Nanos::from_secs(s), Nanos(50 * MS));
        }
        assert_eq!(r.min(), Nanos(20 * MS));
        for s in 200..400 {
            r.sample_min(Nanos::from_secs(s), Nanos(50 * MS));
        }
        assert_eq!(r.min(), Nanos(50 * MS));
    }
}
