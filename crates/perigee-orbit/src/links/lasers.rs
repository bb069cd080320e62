// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Faults of lasers: losses of pointing, which last until the link is acquired again, and failures,
//! which last until the end of the run.
//!
//! All draws are hashes of the seed and of the two satellites, so that they depend neither on other
//! links nor on the scheme under test. At the start all links are aligned.

use perigee_timeline::Law;
use perigee_units::draw::{mix, unit};
use perigee_units::Nanos;
use std::ops::Range;

/// Losses of pointing of a link.
#[derive(Clone, PartialEq, Debug)]
pub struct Pointing {
    /// Mean time from an acquisition to the next loss (exponential).
    pub every: Nanos,
    /// Time to acquire the link again, in seconds.
    pub acquisition: Law,
}

/// Faults of the lasers of a constellation; without any by default.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LaserFaults {
    /// Losses of pointing.
    pub pointing: Option<Pointing>,
    /// Fraction of lasers that have failed before the run. A link has a laser at each end.
    pub failed: f64,
    /// Mean time until a working laser fails (exponential).
    pub failure_every: Option<Nanos>,
}

/// Purposes of draws.
const POINTING: u64 = 0x706f_696e;
const FAILED: u64 = 0x6661_696c;
const LIFETIME: u64 = 0x6c69_6665;

impl LaserFaults {
    /// Whether there are none.
    pub fn is_none(&self) -> bool {
        self.pointing.is_none() && self.failed <= 0.0 && self.failure_every.is_none()
    }

    /// Times at which the link between two satellites is down, in order and apart; those that begin
    /// before `until`. They are drawn one by one, as they are taken.
    pub fn outages(&self, seed: u64, ends: [u32; 2], until: Nanos) -> LinkOutages {
        let [a, b] = [ends[0].min(ends[1]), ends[0].max(ends[1])];
        let draws = self.pointing.as_ref().map(|p| Draws {
            key: key(seed, POINTING, a, b),
            aligned: Law::Exponential(p.every.as_secs_f64()),
            acquisition: p.acquisition,
        });
        let failure = self.failure(seed, a, b).min(self.failure(seed, b, a));
        LinkOutages { draws, failure, until, acquired: Nanos::ZERO, number: 0, ended: false }
    }

    /// Instant at which the laser of `sat` towards `peer` fails; zero = before the run.
    fn failure(&self, seed: u64, sat: u32, peer: u32) -> Nanos {
        if unit(key(seed, FAILED, sat, peer)) < self.failed {
            return Nanos::ZERO;
        }
        let lifetime =
            |mean: Nanos| Law::Exponential(mean.as_secs_f64()).time(key(seed, LIFETIME, sat, peer), 0);
        self.failure_every.map_or(Nanos::MAX, lifetime)
    }
}

/// Law of the losses of pointing of a link.
#[derive(Clone, PartialEq, Debug)]
struct Draws {
    key: u64,
    aligned: Law,
    acquisition: Law,
}

/// Outages of a link in order of time, drawn from a counter. See [`LaserFaults::outages`].
#[derive(Clone, PartialEq, Debug)]
pub struct LinkOutages {
    draws: Option<Draws>,
    /// Instant at which a laser fails.
    failure: Nanos,
    until: Nanos,
    /// Instant of the latest acquisition, and number of the next draw.
    acquired: Nanos,
    number: u64,
    ended: bool,
}

impl LinkOutages {
    /// The next loss of pointing before a failure: its start, and the acquisition after it.
    fn loss(&mut self) -> Option<[Nanos; 2]> {
        let Draws { key, aligned, acquisition } = self.draws.as_ref()?;
        loop {
            let lost = self.acquired + aligned.time(*key, self.number);
            if lost >= self.until.min(self.failure) {
                return None;
            }
            self.acquired = lost + acquisition.time(*key, self.number + 1);
            self.number += 2;
            if self.acquired > lost {
                return Some([lost, self.acquired]);
            }
        }
    }
}

impl Iterator for LinkOutages {
    type Item = Range<Nanos>;

    fn next(&mut self) -> Option<Range<Nanos>> {
        if self.ended {
            return None;
        }
        let fails = self.failure < self.until;
        match self.loss() {
            Some([lost, acquired]) if acquired < self.failure => Some(lost..acquired),
            Some([lost, _]) => {
                self.ended = true;
                Some(lost..if fails { Nanos::MAX } else { self.failure })
            }
            None => {
                self.ended = true;
                fails.then_some(self.failure..Nanos::MAX)
            }
        }
    }
}

fn key(seed: u64, purpose: u64, a: u32, b: u32) -> u64 {
    mix(mix(seed ^ mix(purpose)) ^ (u64::from(a) << 32 | u64::from(b)))
}

/// Whether a link with these outages is down at `t`.
pub fn is_down(outages: &[Range<Nanos>], t: Nanos) -> bool {
    let next = outages.partition_point(|o| o.end <= t);
    outages.get(next).is_some_and(|o| o.start <= t)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Nanos = Nanos::from_secs(3600);

    fn links(n: u32) -> impl Iterator<Item = [u32; 2]> {
        (0..n).map(|i| [i, i + 1])
    }

    #[test]
    fn the_share_of_time_without_pointing_is_that_of_rate_and_acquisition() {
        // 100 s aligned and 10 s to acquire, in the mean: 1/11 of the time, and one loss in 110 s.
        for acquisition in [Law::Fixed(10.0), Law::Uniform(5.0, 15.0), Law::Exponential(10.0)] {
            let pointing = Some(Pointing { every: Nanos::from_secs(100), acquisition });
            let faults = LaserFaults { pointing, ..LaserFaults::default() };
            let (mut down_s, mut losses) = (0.0, 0);
            for link in links(1000) {
                for o in faults.outages(1, link, HOUR) {
                    down_s += o.end.min(HOUR).saturating_sub(o.start).as_secs_f64();
                    losses += 1;
                }
            }
            let (share, expected) = (down_s / 3.6e6, 1.0 / 11.0);
            // Five standard errors: of a mean of some 33,000 outages, and of the first time aligned.
            assert!((share - expected).abs() < 0.0035, "{acquisition:?}: {share}");
            assert!((f64::from(losses) / 3.6e6 * 110.0 - 1.0).abs() < 0.03, "{losses} losses");
        }
    }

    #[test]
    fn a_link_needs_a_laser_at_each_end() {
        let faults = LaserFaults { failed: 0.1, ..LaserFaults::default() };
        let n = 20_000;
        let dead = links(n)
            .filter(|&l| is_down(&faults.outages(3, l, HOUR).collect::<Vec<_>>(), Nanos::ZERO))
            .count();
        // 1 - 0.9^2 = 0.19, with a standard error of 0.0028.
        assert!((dead as f64 / f64::from(n) - 0.19).abs() < 0.014, "{dead} of {n}");
    }

    #[test]
    fn lasers_fail_at_their_rate_and_stay_so() {
        let faults = LaserFaults { failure_every: Some(HOUR), ..LaserFaults::default() };
        let n = 20_000;
        let outages: Vec<Vec<_>> = links(n).map(|l| faults.outages(4, l, HOUR).collect()).collect();
        assert!(outages.iter().all(|o| o.len() <= 1 && o.iter().all(|o| o.end == Nanos::MAX)));
        let failed = |t| outages.iter().filter(|o| is_down(o, t)).count() as f64 / f64::from(n);
        // Two lasers with a lifetime of an hour each: 1 - exp(-2 t).
        for (t, expected) in [(HOUR / 4, 1.0 - libm::exp(-0.5)), (HOUR, 1.0 - libm::exp(-2.0))] {
            assert!((failed(t - Nanos(1)) - expected).abs() < 0.018, "{t}: {}", failed(t));
        }
    }

    #[test]
    fn outages_depend_on_seed_and_link_only_and_end_with_a_failure() {
        let pointing = Some(Pointing { every: Nanos::from_secs(60), acquisition: Law::Exponential(20.0) });
        let faults = LaserFaults { pointing, failed: 0.0, failure_every: Some(HOUR) };
        let of = |seed, ends| faults.outages(seed, ends, HOUR).collect::<Vec<_>>();
        assert_eq!(of(1, [7, 8]), of(1, [8, 7]), "both directions");
        assert!(of(1, [7, 8]) != of(2, [7, 8]) && of(1, [7, 8]) != of(1, [7, 9]));
        for link in links(200) {
            let found = of(1, link);
            assert!(found.windows(2).all(|w| w[0].start < w[0].end && w[0].end < w[1].start));
            let longer: Vec<_> = faults.outages(1, link, HOUR * 2).collect();
            assert_eq!(found[..], longer[..found.len()], "a longer run begins with the same outages");
        }
        assert!(
            LaserFaults::default().is_none()
                && LaserFaults::default().outages(1, [0, 1], HOUR).next().is_none()
        );
    }
}
