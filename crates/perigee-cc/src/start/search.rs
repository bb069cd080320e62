// SPDX-License-Identifier: Apache-2.0 OR MIT
//! SEARCH, Slow start Exit At Right CHokepoint (draft-chung-ccwg-search): leaves slow start when the
//! path delivers less than it was sent.
//!
//! Idea: while slow start is below the capacity, what is delivered within a window of time equals
//! what was sent within the window one RTT before, and is twice what was delivered then. Bytes are
//! counted in bins, cumulatively; a window has ten bins and is 3.5 times the first RTT long.
//!
//! ```text
//! bin        3.5 · first RTT / 10
//! delivered  A(i) − A(i − 10)                 A: bytes acknowledged by the end of bin i
//! expected   S(j) − S(j − 10)                 draft: S bytes sent, j = i − RTT/bin, interpolated
//!            2·(A(j) − A(j − 10))             linux: of the bytes acknowledged
//! leave      1 − delivered/expected ≥ 0.26    linux: 0.35
//! ```
//!
//! At the end, `after = "reset"` lowers the window to what was delivered within the first RTT, an
//! empty path's worth; `after = "drain"` does so gradually, by half of what is acknowledged. The
//! scheme takes over there. `rule = "linux"` is the
//! authors' module 3.1 with bins of 16 bits, rescaled when they overflow, microseconds, and a reset
//! while the application is the limit; its roll-back, `after = "rollback"`, lowers the window at once
//! by what was delivered within two first RTTs.
//!
//! Interpolation is backwards, as in neqo; draft 09 has it forwards, into bins that do not exist yet
//! for short RTTs. Bins older than a window without an ACK restart the measurement, as in neqo.

use super::started::{grow, Step};
use crate::{AckEvent, Cx, Domain, Nanos, ParamSpec, Params, Window};

/// Parameters, with the draft's constants.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "rule",
        domain: Domain::Choice(&["draft", "linux"]),
        unit: "",
        source: "draft-chung-ccwg-search-09; maryam-ataei/TCP_SS_SEARCH_ALG 3.1",
        help: "reference for the bytes delivered: draft = bytes sent a round earlier; linux = twice the bytes delivered a round earlier",
    },
    ParamSpec {
        name: "threshold",
        domain: Domain::Float { default: 0.26, min: 0.01, max: 1.0 },
        unit: "fraction",
        source: "draft-chung-ccwg-search-09; 0.35 in the module",
        help: "relative shortfall of deliveries that ends slow start; default with rule = linux: 0.35",
    },
    ParamSpec {
        name: "window",
        domain: Domain::Float { default: 3.5, min: 1.0, max: 100.0 },
        unit: "first RTTs",
        source: "draft-chung-ccwg-search-09",
        help: "duration of the measurement window of ten bins",
    },
    ParamSpec {
        name: "after",
        domain: Domain::Choice(&["hold", "reset", "drain", "rollback"]),
        unit: "",
        source: "neqo, the module's default; draft-chung-ccwg-search-09; cwnd_rollback of the module",
        help: "congestion window at the end: hold = unchanged; reset = reduced to the data delivered in a round; drain = reduced to it gradually; rollback = reduced by the data delivered in two rounds",
    },
];

/// Bins of a window.
const WINDOW: u64 = 10;
/// Bins kept in addition, to look back by an RTT.
const EXTRA: u64 = 15;
const SLOTS: usize = (WINDOW + EXTRA + 1) as usize;
/// Slots of the module: one less than the draft needs.
const MODULE_SLOTS: u64 = WINDOW + EXTRA;
const MODULE_MAX: u64 = 0xffff;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Draft,
    Linux,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Hold,
    Reset,
    Drain,
    Rollback,
}

/// Bins of one measurement.
#[derive(Clone, Debug)]
struct Bins {
    /// Length of a bin: nanoseconds, with the module's rule microseconds.
    length: u64,
    /// First RTT, in the same unit.
    first_rtt: u64,
    end: u64,
    /// Number of the newest bin.
    newest: u64,
    acked: [u64; SLOTS],
    sent: [u64; SLOTS],
    /// Halvings of the module's bins.
    scale: u32,
}

/// State of one connection.
#[derive(Clone, Debug)]
pub struct Search {
    rule: Rule,
    after: After,
    /// Length of a window, in hundredths of the first RTT.
    window_percent: u64,
    threshold_percent: u64,
    bins: Option<Bins>,
    rtt: Nanos,
    shortfall_percent: u64,
    /// Window in bytes that is drained to.
    target: Option<u64>,
}

impl Search {
    /// A start of a new connection.
    pub fn new(p: &Params) -> Self {
        let rule = if p.choice("rule") == "linux" { Rule::Linux } else { Rule::Draft };
        let threshold = match rule {
            Rule::Linux if !p.is_given("threshold") => 0.35,
            _ => p.float("threshold"),
        };
        Search {
            rule,
            after: match p.choice("after").as_str() {
                "reset" => After::Reset,
                "drain" => After::Drain,
                "rollback" => After::Rollback,
                _ => After::Hold,
            },
            window_percent: libm::round(p.float("window") * 100.0) as u64,
            threshold_percent: libm::round(threshold * 100.0) as u64,
            bins: None,
            rtt: Nanos::ZERO,
            shortfall_percent: 0,
            target: None,
        }
    }

    /// Whether it lowers the window.
    pub fn is_draining(&self) -> bool {
        self.target.is_some()
    }

    /// Number of the newest bin, and bytes acknowledged and sent by its end.
    pub fn newest(&self) -> (u64, u64, u64) {
        self.bins.as_ref().map_or((0, 0, 0), |b| {
            let at = b.slot(b.newest, self.rule);
            (b.newest, b.acked[at] << b.scale, b.sent[at])
        })
    }

    /// Shortfall of the last comparison as a fraction.
    pub fn shortfall(&self) -> f64 {
        self.shortfall_percent as f64 / 100.0
    }

    /// Processes an ACK: grows the window, or leaves slow start.
    pub fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) -> Step {
        if let Some(target) = self.target {
            return drain(cx, w, ev, target);
        }
        self.rtt = ev.rtt.unwrap_or(self.rtt);
        let full = match self.rule {
            Rule::Draft => self.rtt > Nanos::ZERO && self.draft(cx),
            Rule::Linux => ev.rtt.is_some() && self.linux(cx),
        };
        if !full {
            grow(cx, w, ev, ev.newly_acked);
            return Step::Stay;
        }
        match self.after {
            After::Hold => Step::Leave,
            After::Reset => {
                w.cwnd = cx.bytes(cx.packets(self.delivered_within(1)).max(2));
                Step::Leave
            }
            After::Rollback => {
                let over = self.delivered_within(2);
                w.cwnd = cx.bytes(cx.packets(w.cwnd.saturating_sub(over)).max(10));
                Step::Leave
            }
            After::Drain => {
                self.target = Some(self.delivered_within(1).max(cx.bytes(2)));
                Step::Stay
            }
        }
    }

    /// Bytes delivered within a number of first RTTs, whole bins.
    fn delivered_within(&self, rtts: u64) -> u64 {
        let Some(b) = &self.bins else { return 0 };
        let bins = (rtts * b.first_rtt).div_ceil(b.length).min(WINDOW);
        let (from, to) = (b.slot(b.newest.saturating_sub(bins), self.rule), b.slot(b.newest, self.rule));
        b.acked[to].saturating_sub(b.acked[from]) << b.scale
    }

    fn draft(&mut self, cx: &Cx) -> bool {
        let (now, rtt) = (cx.now.0, self.rtt.0);
        let Some(b) = &mut self.bins else {
            self.bins = Bins::new(now, rtt, self.window_percent, cx.delivered, cx.snd_nxt);
            return false;
        };
        if now <= b.end {
            return false;
        }
        let passed = (now - b.end) / b.length + 1;
        if passed > WINDOW {
            self.bins = None;
            return false;
        }
        b.advance(passed, Rule::Draft);
        let at = b.slot(b.newest, Rule::Draft);
        (b.acked[at], b.sent[at]) = (cx.delivered, cx.snd_nxt);
        let back = rtt / b.length;
        let Some(then) = b.newest.checked_sub(back).filter(|t| *t > WINDOW && back < EXTRA) else {
            return false;
        };
        let fraction = (u128::from(rtt % b.length) * 100 / u128::from(b.length)) as u64;
        let delivered = b.window(&b.acked, b.newest, Rule::Draft);
        let expected = (b.window(&b.sent, then - 1, Rule::Draft) * fraction
            + b.window(&b.sent, then, Rule::Draft) * (100 - fraction))
            / 100;
        if expected == 0 {
            return false;
        }
        self.shortfall_percent = expected.saturating_sub(delivered) * 100 / expected;
        self.shortfall_percent >= self.threshold_percent
    }

    fn linux(&mut self, cx: &Cx) -> bool {
        let (now, rtt) = (cx.now.as_micros(), self.rtt.as_micros().max(1));
        let Some(b) = &mut self.bins else {
            self.bins = Bins::new(now, rtt, self.window_percent, 0, 0);
            if let Some(b) = &mut self.bins {
                b.store(cx.snd_una);
            }
            return false;
        };
        if now < b.end {
            return false;
        }
        if cx.app_limited {
            // The bins start again, with the old length.
            let (length, first_rtt) = (b.length, b.first_rtt);
            *b = Bins { length, first_rtt, end: now + length, ..Bins::empty() };
            b.store(cx.snd_una);
        } else {
            b.advance((now - b.end) / b.length + 1, Rule::Linux);
            b.store(cx.snd_una);
        }
        let back = rtt / b.length;
        let Some(then) = b.newest.checked_sub(back).filter(|t| *t >= WINDOW && back < EXTRA - 1) else {
            return false;
        };
        let fraction = (rtt % b.length) * 100 / b.length;
        let delivered = b.module_window(b.newest, 0);
        let expected = 2 * b.module_window(then, fraction);
        if expected == 0 {
            return false;
        }
        self.shortfall_percent = expected.saturating_sub(delivered) * 100 / expected;
        expected >= delivered && self.shortfall_percent >= self.threshold_percent
    }
}

impl Bins {
    fn empty() -> Self {
        Bins { length: 0, first_rtt: 0, end: 0, newest: 0, acked: [0; SLOTS], sent: [0; SLOTS], scale: 0 }
    }

    /// Bins that start now; `None` for an RTT shorter than a bin can be.
    fn new(now: u64, rtt: u64, window_percent: u64, acked: u64, sent: u64) -> Option<Self> {
        let length = (u128::from(rtt) * u128::from(window_percent) / u128::from(100 * WINDOW)) as u64;
        let mut b = Bins { length, first_rtt: rtt, end: now + length, ..Bins::empty() };
        (b.acked[0], b.sent[0]) = (acked, sent);
        (length > 0).then_some(b)
    }

    fn slot(&self, bin: u64, rule: Rule) -> usize {
        (bin % if rule == Rule::Linux { MODULE_SLOTS } else { SLOTS as u64 }) as usize
    }

    /// Starts further bins; those without an ACK repeat the value before.
    fn advance(&mut self, passed: u64, rule: Rule) {
        let last = self.slot(self.newest, rule);
        let (acked, sent) = (self.acked[last], self.sent[last]);
        for bin in self.newest + 1..self.newest + passed.min(SLOTS as u64) {
            let at = self.slot(bin, rule);
            (self.acked[at], self.sent[at]) = (acked, sent);
        }
        self.newest += passed;
        self.end += passed * self.length;
    }

    /// Increase over the window that ends with a bin.
    fn window(&self, of: &[u64; SLOTS], last: u64, rule: Rule) -> u64 {
        of[self.slot(last, rule)].saturating_sub(of[self.slot(last - WINDOW, rule)])
    }

    /// Stores the bytes acknowledged in the module's newest bin of 16 bits.
    fn store(&mut self, acked: u64) {
        let mut value = acked >> self.scale;
        while value > MODULE_MAX {
            value >>= 1;
            self.scale += 1;
            self.acked.iter_mut().for_each(|b| *b >>= 1);
        }
        let at = self.slot(self.newest, Rule::Linux);
        self.acked[at] = value;
    }

    /// The module's window that ends `fraction` hundredths of a bin before the end of a bin.
    fn module_window(&self, last: u64, fraction: u64) -> u64 {
        let bin = |i: u64| self.acked[self.slot(i, Rule::Linux)];
        let first = last - WINDOW;
        let before = if first == 0 { 0 } else { bin(first - 1) };
        let whole = bin(last - 1).saturating_sub(bin(first));
        whole
            + bin(first).saturating_sub(before) * fraction / 100
            + bin(last).saturating_sub(bin(last - 1)) * (100 - fraction) / 100
    }
}

/// Lowers the window by half of what is acknowledged, down to the target.
fn drain(cx: &Cx, w: &mut Window, ev: &AckEvent<'_>, target: u64) -> Step {
    w.cwnd = w.cwnd.saturating_sub(ev.newly_acked / 2).max(target);
    if w.cwnd > target {
        return Step::Stay;
    }
    w.cwnd = cx.bytes(cx.packets(target).max(2));
    Step::Leave
}
