// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Long-term estimator: detects a token-bucket policer, which passes bursts and then drops
//! persistently.
//!
//! ```text
//!   idle ──loss──► sampling: intervals of 4..16 rounds ──two with ≥ 19.5 % loss agree──► in use
//!    ▲               │ application-limited, or too long                                    │
//!    └───────────────┴───────────────────────────◄── 48 rounds of PROBE_BW ────────────────┘
//! ```
//!
//! While in use, the mean of the two intervals replaces the bandwidth estimate. Two intervals agree
//! if they differ by at most 1/8 or 4 kbit/s.

use super::units::{bandwidth, bytes_per_s, Bw, UNIT};

const MIN_INTERVAL_ROUNDS: u32 = 4;
const MAX_INTERVAL_ROUNDS: u32 = 4 * MIN_INTERVAL_ROUNDS;
/// In 1/256: 19.5 %.
const LOSS_THRESHOLD: u64 = 50;
/// In 1/256: 1/8.
const AGREEMENT: u64 = UNIT / 8;
const AGREEMENT_BYTES_PER_S: u64 = 4000 / 8;
const ROUNDS_IN_USE: u32 = 48;

/// Connection totals in packets, and the time of the totals.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    pub delivered: u64,
    pub lost: u64,
    pub ms: u64,
}

/// Input of the estimator from an ACK (or timeout).
#[derive(Clone, Copy, Debug)]
pub struct Observation {
    pub totals: Totals,
    pub mss: u32,
    pub round_start: bool,
    pub any_loss: bool,
    pub app_limited: bool,
    pub in_probe_bw: bool,
}

/// Action required of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Nothing,
    /// The estimate is in use now: pace at gain 1.
    Engaged,
    /// The estimate has been in use for long enough: probe for bandwidth again.
    Released,
}

#[derive(Clone, Debug, Default)]
pub struct LongTerm {
    sampling: bool,
    in_use: bool,
    bw: Bw,
    rounds: u32,
    interval_start: Totals,
}

impl LongTerm {
    /// The estimate, if it is in use.
    pub fn in_use(&self) -> Option<Bw> {
        self.in_use.then_some(self.bw)
    }

    pub fn reset(&mut self, totals: Totals) {
        *self = LongTerm { interval_start: totals, ..LongTerm::default() };
    }

    fn start_interval(&mut self, totals: Totals) {
        self.interval_start = totals;
        self.rounds = 0;
    }

    pub fn on_ack(&mut self, o: &Observation) -> Verdict {
        if self.in_use {
            return self.count_use(o);
        }
        if !self.sampling {
            if !o.any_loss {
                return Verdict::Nothing;
            }
            self.start_interval(o.totals);
            self.sampling = true;
        }
        if o.app_limited {
            self.reset(o.totals);
            return Verdict::Nothing;
        }
        self.rounds += o.round_start as u32;
        if self.rounds < MIN_INTERVAL_ROUNDS {
            return Verdict::Nothing;
        }
        if self.rounds > MAX_INTERVAL_ROUNDS {
            self.reset(o.totals);
            return Verdict::Nothing;
        }
        // An interval ends at a loss, when the bucket is certainly empty.
        if o.any_loss {
            self.try_to_end_interval(o)
        } else {
            Verdict::Nothing
        }
    }

    fn count_use(&mut self, o: &Observation) -> Verdict {
        if o.in_probe_bw && o.round_start {
            self.rounds += 1;
            if self.rounds >= ROUNDS_IN_USE {
                self.reset(o.totals);
                return Verdict::Released;
            }
        }
        Verdict::Nothing
    }

    fn try_to_end_interval(&mut self, o: &Observation) -> Verdict {
        let lost = o.totals.lost.saturating_sub(self.interval_start.lost);
        let delivered = o.totals.delivered.saturating_sub(self.interval_start.delivered);
        let ms = o.totals.ms.saturating_sub(self.interval_start.ms);
        if delivered == 0 || lost << 8 < LOSS_THRESHOLD * delivered || ms == 0 {
            return Verdict::Nothing;
        }
        if ms >= u32::MAX as u64 / 1000 {
            self.reset(o.totals);
            return Verdict::Nothing;
        }
        self.end_interval(bandwidth(delivered, ms * 1000), o)
    }

    fn end_interval(&mut self, bw: Bw, o: &Observation) -> Verdict {
        if self.bw > 0 {
            let difference = bw.abs_diff(self.bw);
            if difference * UNIT <= AGREEMENT * self.bw
                || bytes_per_s(difference, UNIT, o.mss) <= AGREEMENT_BYTES_PER_S
            {
                self.bw = (bw + self.bw) / 2;
                self.in_use = true;
                self.rounds = 0;
                return Verdict::Engaged;
            }
        }
        self.bw = bw;
        self.start_interval(o.totals);
        Verdict::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of 100 packets in 100 ms with `lost` losses each; returns the verdicts with their
    /// rounds.
    fn rounds(n: u64, lost: u64) -> Vec<(u64, Verdict)> {
        let mut lt = LongTerm::default();
        let observe = |round: u64| Observation {
            totals: Totals { delivered: round * 100, lost: round * lost, ms: round * 100 },
            mss: 1448,
            round_start: true,
            any_loss: lost > 0,
            app_limited: false,
            in_probe_bw: true,
        };
        (1..=n).map(|r| (r, lt.on_ack(&observe(r)))).filter(|(_, v)| *v != Verdict::Nothing).collect()
    }

    #[test]
    fn two_agreeing_intervals_with_heavy_loss_engage_it_for_48_rounds() {
        // The first interval starts in round 1, which it includes; the second consists of four
        // further rounds.
        assert_eq!(rounds(60, 25), [(8, Verdict::Engaged), (56, Verdict::Released)]);
    }

    #[test]
    fn light_loss_never_engages_it() {
        assert_eq!(rounds(500, 0), []);
        assert_eq!(rounds(500, 1), []);
        assert_eq!(rounds(500, 19), []);
    }
}
