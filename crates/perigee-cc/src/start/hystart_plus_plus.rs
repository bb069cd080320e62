// SPDX-License-Identifier: Apache-2.0 OR MIT
//! HyStart++ (RFC 9406): a conservative slow start after a rise of the RTT.
//!
//! ```text
//! slow start    cwnd += acked; at a rise of the round's lowest RTT over that of the last round by
//!               clamp(last/8, 4 ms, 16 ms), from the 8th sample on: conservative slow start
//! conservative  cwnd += acked/4; back if the round's lowest RTT falls below the baseline, that of
//!               the rise; after 5 rounds ssthresh = cwnd
//! ```
//!
//! A round ends when the data sent by its start is acknowledged. An ACK counts for at most eight
//! segments (L) unless the host paces.

use super::growth::{Growth, REFERENCE_RTT};
use super::started::{grow, Step};
use crate::{AckEvent, Cx, Domain, Nanos, ParamSpec, Params, Window};

const fn time(default_ms: u64) -> Domain {
    Domain::Time {
        default: Nanos::from_millis(default_ms),
        min: Nanos::from_micros(1),
        max: Nanos::from_secs(10),
    }
}

/// Parameters, with the RFC's constants.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "min_rtt_thresh",
        domain: time(4),
        unit: "",
        source: "RFC 9406 section 4.3",
        help: "minimum rise of the RTT that counts",
    },
    ParamSpec {
        name: "max_rtt_thresh",
        domain: time(16),
        unit: "",
        source: "RFC 9406 section 4.3",
        help: "rise of the RTT that always counts",
    },
    ParamSpec {
        name: "min_rtt_divisor",
        domain: Domain::Int { default: 8, min: 1, max: 1000 },
        unit: "",
        source: "RFC 9406 section 4.3",
        help: "between the two, a rise counts from the last round's minimum RTT divided by this",
    },
    ParamSpec {
        name: "rtt_samples",
        domain: Domain::Int { default: 8, min: 1, max: 1_000_000 },
        unit: "",
        source: "RFC 9406 section 4.3 (N_RTT_SAMPLE)",
        help: "number of RTT samples of a round required for a comparison",
    },
    ParamSpec {
        name: "css_growth_divisor",
        domain: Domain::Int { default: 4, min: 2, max: 1000 },
        unit: "",
        source: "RFC 9406 section 4.3",
        help: "divisor of the growth in conservative slow start",
    },
    ParamSpec {
        name: "css_rounds",
        domain: Domain::Int { default: 5, min: 1, max: 1000 },
        unit: "rounds",
        source: "RFC 9406 section 4.3",
        help: "duration of conservative slow start",
    },
    REFERENCE_RTT,
    ParamSpec {
        name: "burst_limit",
        domain: Domain::Int { default: 8, min: 1, max: 1_000_000 },
        unit: "segments",
        source: "RFC 9406 section 4.3 (L)",
        help: "maximum growth per ACK if the host does not pace",
    },
];

/// Conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Css {
    baseline: Nanos,
    rounds: i64,
}

/// State of one connection.
#[derive(Clone, Debug)]
pub struct HyStartPlusPlus {
    thresh: (Nanos, Nanos),
    divisor: u64,
    samples_needed: i64,
    growth_divisor: u64,
    css_rounds: i64,
    burst_limit: u64,
    growth: Growth,
    window_end: u64,
    last_min: Option<Nanos>,
    current_min: Option<Nanos>,
    samples: i64,
    css: Option<Css>,
    /// Acknowledged bytes that conservative slow start has not yet counted.
    rest: u64,
}

impl HyStartPlusPlus {
    /// # Errors
    /// Thresholds in the wrong order: the rise that counts lies between them.
    pub(super) fn check(p: &Params) -> Result<(), String> {
        let (min, max) = (p.time("min_rtt_thresh"), p.time("max_rtt_thresh"));
        match min > max {
            true => Err(format!("min_rtt_thresh = {min} is above max_rtt_thresh = {max}")),
            false => Ok(()),
        }
    }

    /// A start of a new connection.
    pub fn new(p: &Params) -> Self {
        HyStartPlusPlus {
            thresh: (p.time("min_rtt_thresh"), p.time("max_rtt_thresh")),
            divisor: p.int("min_rtt_divisor") as u64,
            samples_needed: p.int("rtt_samples"),
            growth_divisor: p.int("css_growth_divisor") as u64,
            css_rounds: p.int("css_rounds"),
            burst_limit: p.int("burst_limit") as u64,
            growth: Growth::new(p),
            window_end: 0,
            last_min: None,
            current_min: None,
            samples: 0,
            css: None,
            rest: 0,
        }
    }

    /// Whether it is in conservative slow start.
    pub fn is_conservative(&self) -> bool {
        self.css.is_some()
    }

    /// Processes an ACK: grows the window, or leaves slow start.
    pub fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) -> Step {
        self.grow(cx, w, ev);
        if let Some(rtt) = ev.rtt {
            self.current_min = Some(self.current_min.map_or(rtt, |m| m.min(rtt)));
            self.samples += 1;
            self.compare();
        }
        if cx.snd_una > self.window_end && self.end_round(cx) {
            return Step::Leave;
        }
        Step::Stay
    }

    fn grow(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        let limit = if cx.paced { u64::MAX } else { cx.bytes(self.burst_limit) };
        let acked = self.growth.of(cx, ev.newly_acked.min(limit));
        if self.css.is_none() {
            return grow(cx, w, ev, acked);
        }
        let all = acked + self.rest;
        let unit = self.growth_divisor * u64::from(cx.mss);
        if ev.may_grow && cx.cwnd_limited {
            self.rest = all % unit;
            grow(cx, w, ev, all / unit * u64::from(cx.mss));
        }
    }

    fn compare(&mut self) {
        let (Some(current), true) = (self.current_min, self.samples >= self.samples_needed) else { return };
        match self.css {
            Some(css) if current < css.baseline => self.css = None,
            None => {
                let Some(last) = self.last_min else { return };
                let rise = (last / self.divisor).clamp(self.thresh.0, self.thresh.1.max(self.thresh.0));
                if current >= last.saturating_add(rise) {
                    self.css = Some(Css { baseline: current, rounds: 0 });
                    self.rest = 0;
                }
            }
            Some(_) => {}
        }
    }

    /// Starts a round; true if it was the last one of conservative slow start.
    fn end_round(&mut self, cx: &Cx) -> bool {
        self.window_end = cx.snd_nxt;
        self.last_min = self.current_min.take();
        self.samples = 0;
        let Some(css) = &mut self.css else { return false };
        // The round with the rise counts, although it began before.
        css.rounds += 1;
        css.rounds >= self.css_rounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ConnInit, Params};

    const MSS: u64 = 1000;

    /// A start that is fed rounds of ACKs with one RTT each.
    struct Fed {
        start: HyStartPlusPlus,
        cx: Cx,
        w: Window,
    }

    impl Fed {
        fn new(paced: bool) -> Fed {
            let init =
                ConnInit { now: Nanos::ZERO, mss: 1000, init_cwnd: 100 * MSS, srtt: None, seed: 1, hz: 1000 };
            let cx = Cx { mss: 1000, cwnd_limited: true, paced, ..Cx::default() };
            Fed { start: HyStartPlusPlus::new(&Params::defaults(PARAMS)), cx, w: init.window() }
        }

        /// A round of `acks` ACKs for `packets` packets each; true if the start has left.
        fn round(&mut self, acks: u64, packets: u64, rtt_ms: u64) -> bool {
            let rtt = Some(Nanos::from_millis(rtt_ms));
            let mut left = false;
            for _ in 0..acks {
                self.cx.snd_una += packets * MSS;
                self.cx.snd_nxt = self.cx.snd_una + self.w.cwnd;
                if self.start.window_end > 0 {
                    // The round lasts until its last ACK.
                    self.start.window_end = u64::MAX;
                }
                let ev = AckEvent { newly_acked: packets * MSS, rtt, may_grow: true, ..AckEvent::default() };
                left |= self.start.on_ack(&self.cx, &mut self.w, &ev) == Step::Leave;
            }
            left | self.start.end_round(&self.cx)
        }
    }

    #[test]
    fn the_eighth_sample_of_a_round_with_a_rise_by_an_eighth_starts_the_conservative_rounds() {
        for (rtt, acks, conservative) in [(67, 9, false), (68, 7, false), (68, 8, true)] {
            let mut f = Fed::new(false);
            f.round(10, 1, 60);
            f.round(acks, 1, rtt);
            assert_eq!(f.start.is_conservative(), conservative, "{rtt} ms, {acks} ACKs");
        }
    }

    #[test]
    fn the_rise_that_counts_is_between_4_and_16_ms() {
        for (last, rtt, conservative) in [(8, 11, false), (8, 12, true), (400, 415, false), (400, 416, true)]
        {
            let mut f = Fed::new(false);
            f.round(10, 1, last);
            f.round(8, 1, rtt);
            assert_eq!(f.start.is_conservative(), conservative, "{last} to {rtt} ms");
        }
    }

    #[test]
    fn five_conservative_rounds_at_a_quarter_of_the_growth_end_it() {
        let mut f = Fed::new(false);
        f.round(10, 1, 60);
        assert_eq!(f.w.cwnd, 110 * MSS);
        let left: Vec<bool> = (0..5).map(|_| f.round(40, 1, 80)).collect();
        assert_eq!(left, [false, false, false, false, true]);
        // Eight ACKs until the rise is found, then a quarter of the rest.
        assert_eq!(f.w.cwnd, (110 + 8 + (5 * 40 - 8) / 4) * MSS);
    }

    #[test]
    fn a_rise_that_was_spurious_is_taken_back() {
        let mut f = Fed::new(false);
        f.round(10, 1, 60);
        f.round(10, 1, 80);
        assert!(f.start.is_conservative());
        f.round(7, 1, 79);
        assert!(f.start.is_conservative(), "seven samples are not enough");
        f.round(8, 1, 79);
        assert!(!f.start.is_conservative());
    }

    #[test]
    fn an_ack_counts_for_eight_segments_unless_the_host_paces() {
        for (paced, grown) in [(false, 108), (true, 120)] {
            let mut f = Fed::new(paced);
            f.round(1, 20, 60);
            assert_eq!(f.w.cwnd, grown * MSS);
        }
    }
}
