// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Notices of path changes: the instant at which the new path takes effect.
//!
//! A handover ends with its end notice, or at the end time in its start notice; a start without an
//! end time counts as an instant, as does a change of path.

use crate::{AckEvent, Cx, Nanos, Signal};

/// Converts notices into the instants at which a path model becomes outdated.
#[derive(Clone, Debug, Default)]
pub struct Notices {
    due: Option<Nanos>,
}

impl Notices {
    /// True if the new path takes effect now.
    pub fn on_signal(&mut self, cx: &Cx, signal: &Signal<'_>) -> bool {
        match *signal {
            Signal::HandoverBegin { expected_end: Some(end) } if end > cx.now => {
                self.due = Some(end);
                false
            }
            Signal::HandoverBegin { .. } | Signal::HandoverEnd | Signal::PathChange { .. } => {
                self.due = None;
                true
            }
            _ => false,
        }
    }

    /// True if an announced end is due.
    pub fn on_timer(&mut self, now: Nanos) -> bool {
        let over = self.due.is_some_and(|due| due <= now);
        if over {
            self.due = None;
        }
        over
    }

    /// Time of the next call to [`Notices::on_timer`].
    pub fn next_timer(&self) -> Option<Nanos> {
        self.due
    }
}

/// Distinguishes samples of the current path from those of packets sent over the previous one.
#[derive(Clone, Debug, Default)]
pub struct Horizon {
    /// Bytes delivered when the path changed; `None` = all packets sent before that are accounted
    /// for.
    delivered: Option<u64>,
}

impl Horizon {
    /// Marks the start of a new path.
    pub fn set(&mut self, cx: &Cx) {
        self.delivered = Some(cx.delivered);
    }

    /// Whether the newest packet delivered by this ACK was sent over the current path.
    pub fn passes(&mut self, ev: &AckEvent<'_>) -> bool {
        let Some(delivered) = self.delivered else { return true };
        // A packet with no delivery since may have been sent just before the change.
        let passes = ev.rs.has_prior && ev.rs.prior_delivered > delivered;
        if passes {
            self.delivered = None;
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Cx {
        Cx { now: Nanos::from_millis(ms), ..Cx::default() }
    }

    #[test]
    fn a_foretold_end_counts_when_it_comes_and_a_told_end_at_once() {
        let mut n = Notices::default();
        let begin = Signal::HandoverBegin { expected_end: Some(Nanos::from_millis(80)) };
        assert!(!n.on_signal(&at(0), &begin));
        assert!(!n.on_timer(Nanos::from_millis(79)));
        assert!(n.on_timer(Nanos::from_millis(80)));
        assert!(!n.on_timer(Nanos::from_millis(81)), "once");
        assert!(
            !n.on_signal(&at(100), &Signal::HandoverBegin { expected_end: Some(Nanos::from_millis(200)) })
        );
        assert!(n.on_signal(&at(150), &Signal::HandoverEnd));
        assert_eq!(n.next_timer(), None, "told before it was due");
    }

    #[test]
    fn other_signals_say_nothing_of_the_path() {
        let mut n = Notices::default();
        assert!(!n.on_signal(&at(0), &Signal::MssChanged(1400)));
        assert!(n.on_signal(&at(0), &Signal::HandoverBegin { expected_end: None }));
        assert!(n.on_signal(&at(0), &Signal::PathChange { id: 1 }));
    }

    #[test]
    fn packets_sent_before_a_change_of_path_do_not_pass() {
        let ack = |prior_delivered| {
            let rs = crate::RateSample { has_prior: true, prior_delivered, ..Default::default() };
            AckEvent { rs, ..AckEvent::default() }
        };
        let mut h = Horizon::default();
        assert!(h.passes(&ack(0)));
        h.set(&Cx { delivered: 100, ..Cx::default() });
        assert!(!h.passes(&ack(99)) && !h.passes(&ack(100)) && !h.passes(&AckEvent::default()));
        assert!(h.passes(&ack(101)) && h.passes(&ack(0)), "once for all");
    }
}
