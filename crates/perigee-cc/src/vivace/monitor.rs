// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Monitor intervals: assignment of packets to intervals, and the results of intervals.
//!
//! Each packet carries the number of its interval as its tag. An interval ends when the next one
//! starts, and is complete when all of its packets are acknowledged or lost, or when feedback of
//! later intervals implies that no more will arrive.

use super::utility::Sample;
use crate::{AckedPkt, Nanos};
use std::collections::VecDeque;

/// Purpose of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// No purpose: results of other intervals are pending.
    Waiting,
    /// A step of the startup.
    Start,
    /// Member of a pair, with the higher or the lower rate.
    Probe { pair: usize, up: bool },
    /// A step of a move.
    Move,
}

/// Maximum number of intervals in progress; above it the oldest counts as complete.
const CAPACITY: usize = 64;
/// An interval is abandoned at an ACK of an interval with a number this much higher.
const TIMEOUT_INTERVALS: u32 = 8;
/// Ratio of ACK gaps to packet gaps above which ACKs belong to a burst.
const BURST_RATIO: f64 = 50.0;
const RATIO_GAIN: f64 = 0.1;

/// Least-squares regression of the RTT on the send time, both in seconds from the first sample.
#[derive(Clone, Copy, Debug, Default)]
struct Regression {
    n: f64,
    t: f64,
    r: f64,
    tt: f64,
    tr: f64,
    rr: f64,
}

impl Regression {
    fn add(&mut self, t: f64, r: f64) {
        self.n += 1.0;
        self.t += t;
        self.r += r;
        self.tt += t * t;
        self.tr += t * r;
        self.rr += r * r;
    }

    /// Slope, and the standard deviation around the line.
    fn slope(&self) -> (f64, f64) {
        let var_t = self.n * self.tt - self.t * self.t;
        if self.n < 2.0 || var_t <= 0.0 {
            return (0.0, 0.0);
        }
        let cov = self.n * self.tr - self.t * self.r;
        let var_r = self.n * self.rr - self.r * self.r;
        let residual = ((var_r - cov * cov / var_t) / (self.n * self.n)).max(0.0);
        (cov / var_t, libm::sqrt(residual))
    }

    fn mean(&self) -> f64 {
        if self.n > 0.0 {
            self.r / self.n
        } else {
            0.0
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Interval {
    id: u32,
    role: Role,
    target_mbps: f64,
    first_sent: Nanos,
    last_sent: Nanos,
    sent: u32,
    bytes: u64,
    acked: u32,
    lost: u32,
    rtts: Regression,
    over: bool,
}

/// A complete interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub role: Role,
    pub sample: Sample,
    /// Standard deviation of the RTTs around the fitted line (with slope `gradient`), relative to
    /// their mean.
    pub residual: f64,
}

/// The intervals in progress.
#[derive(Clone, Debug)]
pub(super) struct Monitor {
    ring: VecDeque<Interval>,
    next_id: u32,
    newest_acked: u32,
    /// Whether feedback of a later interval completes an earlier one (UDT), instead of feedback on
    /// all its packets.
    by_later_feedback: bool,
    /// Send and ACK time of the previous acknowledged packet, and the mean ratio of gaps.
    last_ack: Option<(Nanos, Nanos)>,
    gap_ratio: f64,
}

impl Monitor {
    pub fn new(by_later_feedback: bool) -> Self {
        Monitor {
            ring: VecDeque::with_capacity(CAPACITY),
            next_id: 0,
            newest_acked: 0,
            by_later_feedback,
            last_ack: None,
            gap_ratio: 0.0,
        }
    }

    /// Ends the current interval and starts another.
    pub fn begin(&mut self, role: Role, target_mbps: f64) {
        if let Some(last) = self.ring.back_mut() {
            last.over = true;
            if last.sent == 0 {
                self.ring.pop_back();
            }
        }
        self.ring.push_back(Interval {
            id: self.next_id,
            role,
            target_mbps,
            first_sent: Nanos::ZERO,
            last_sent: Nanos::ZERO,
            sent: 0,
            bytes: 0,
            acked: 0,
            lost: 0,
            rtts: Regression::default(),
            over: false,
        });
        self.next_id = self.next_id.wrapping_add(1);
    }

    /// Adds a packet to the current interval; returns its tag.
    pub fn on_sent(&mut self, at: Nanos, bytes: u32) -> u32 {
        let Some(now) = self.ring.back_mut() else { return u32::MAX };
        if now.sent == 0 {
            now.first_sent = at;
        }
        now.last_sent = at;
        now.sent += 1;
        now.bytes += bytes as u64;
        now.id
    }

    /// For the current interval: packets sent, number of RTT samples, and start.
    pub fn present(&self) -> (u32, u32, Nanos) {
        self.ring.back().map_or((0, 0, Nanos::ZERO), |i| (i.sent, i.rtts.n as u32, i.first_sent))
    }

    /// Searched from the end: few intervals are in progress, and most feedback is for the latest.
    fn find(&mut self, tag: u32) -> Option<&mut Interval> {
        self.ring.iter_mut().rev().find(|i| i.id == tag)
    }

    pub fn on_acked(&mut self, now: Nanos, p: &AckedPkt) {
        let reliable = self.is_reliable(now, p.sent);
        let newest = self.newest_acked;
        let Some(i) = self.find(p.tag) else { return };
        i.acked += 1;
        if let Some(rtt) = p.rtt.filter(|_| reliable) {
            let t = p.sent.saturating_sub(i.first_sent).as_secs_f64();
            i.rtts.add(t, rtt.as_secs_f64());
        }
        if p.tag.wrapping_sub(newest) < u32::MAX / 2 {
            self.newest_acked = p.tag;
        }
    }

    pub fn on_lost(&mut self, tag: u32) {
        if let Some(i) = self.find(tag) {
            i.lost += 1;
        }
    }

    /// Whether the gaps of ACKs and of their packets are similar; a burst of ACKs does not reflect
    /// the queue.
    fn is_reliable(&mut self, now: Nanos, sent: Nanos) -> bool {
        let last = self.last_ack.replace((sent, now));
        let Some((last_sent, last_now)) = last else { return true };
        let send_gap = sent.saturating_sub(last_sent).0;
        if send_gap == 0 || self.by_later_feedback {
            return true;
        }
        let ratio = now.saturating_sub(last_now).0 as f64 / send_gap as f64;
        if self.gap_ratio == 0.0 {
            self.gap_ratio = ratio;
            return true;
        }
        let reliable = ratio < BURST_RATIO * self.gap_ratio && ratio * BURST_RATIO > self.gap_ratio;
        self.gap_ratio += RATIO_GAIN * (ratio - self.gap_ratio);
        reliable
    }

    /// Number of intervals in progress without a purpose.
    pub fn waiting(&self) -> usize {
        self.ring.iter().filter(|i| i.over && i.role == Role::Waiting).count()
    }

    /// Removes the oldest interval, if it is complete.
    pub fn pop(&mut self) -> Option<Report> {
        let i = *self.ring.front()?;
        let behind = self.newest_acked.wrapping_sub(i.id);
        let passed =
            behind < u32::MAX / 2 && behind >= if self.by_later_feedback { 1 } else { TIMEOUT_INTERVALS };
        let complete = i.over && (i.acked + i.lost >= i.sent || passed);
        if !complete && self.ring.len() < CAPACITY {
            return None;
        }
        self.ring.pop_front();
        Some(i.report())
    }
}

impl Interval {
    fn report(&self) -> Report {
        let duration_s = self.last_sent.saturating_sub(self.first_sent).as_secs_f64();
        // The last packet ends the duration but does not count towards the bytes sent in it.
        let spaced = self.bytes as f64 * (self.sent.max(1) - 1) as f64 / self.sent.max(1) as f64;
        let measured = if duration_s > 0.0 { spaced * 8e-6 / duration_s } else { self.target_mbps };
        let (gradient, deviation) = self.rtts.slope();
        let mean_rtt_s = self.rtts.mean();
        Report {
            role: self.role,
            sample: Sample {
                target_mbps: self.target_mbps,
                mbps: measured.min(1e6),
                sent: self.sent,
                lost: self.sent.saturating_sub(self.acked).min(self.sent),
                gradient,
                mean_rtt_s,
                duration_s,
            },
            residual: if mean_rtt_s > 0.0 { deviation / mean_rtt_s } else { 0.0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acked(tag: u32, sent_ms: u64, rtt_ms: u64) -> (Nanos, AckedPkt) {
        let (sent, rtt) = (Nanos::from_millis(sent_ms), Nanos::from_millis(rtt_ms));
        (sent + rtt, AckedPkt { tag, sent, bytes: 1000, rtt: Some(rtt) })
    }

    #[test]
    fn an_interval_reports_rate_losses_and_slope() {
        let mut m = Monitor::new(false);
        m.begin(Role::Start, 8.0);
        for i in 0..10 {
            assert_eq!(m.on_sent(Nanos::from_millis(i), 1000), 0);
        }
        m.begin(Role::Waiting, 8.0);
        for i in 0..8 {
            // The RTT rises by half a millisecond per millisecond.
            let (now, p) = acked(0, 2 * (i / 2), 50 + i / 2);
            m.on_acked(now, &p);
            assert!(m.pop().is_none());
        }
        m.on_lost(0);
        assert!(m.pop().is_none());
        m.on_lost(0);
        let r = m.pop().unwrap();
        assert_eq!((r.role, r.sample.sent, r.sample.lost), (Role::Start, 10, 2));
        assert!((r.sample.mbps - 8.0).abs() < 1e-9, "{}", r.sample.mbps);
        assert!((r.sample.gradient - 0.5).abs() < 1e-9 && r.residual < 1e-6, "{r:?}");
        assert!(m.pop().is_none());
    }

    #[test]
    fn feedback_of_a_later_interval_completes_the_udt_programs() {
        let mut m = Monitor::new(true);
        for id in 0..2 {
            m.begin(Role::Waiting, 1.0);
            m.on_sent(Nanos::from_millis(id), 1000);
            m.on_sent(Nanos::from_millis(id), 1000);
        }
        m.begin(Role::Waiting, 1.0);
        assert!(m.pop().is_none());
        let (now, p) = acked(1, 1, 10);
        m.on_acked(now, &p);
        assert_eq!(m.pop().unwrap().sample.lost, 2, "unanswered counts as lost");
        assert!(m.pop().is_none());
    }

    #[test]
    fn unused_intervals_leave_no_trace() {
        let mut m = Monitor::new(false);
        m.begin(Role::Start, 1.0);
        m.begin(Role::Move, 1.0);
        let tag = m.on_sent(Nanos::ZERO, 1000);
        m.begin(Role::Waiting, 1.0);
        m.begin(Role::Waiting, 1.0);
        let later = m.on_sent(Nanos::ZERO, 1000);
        m.on_lost(tag);
        m.on_lost(later);
        m.on_lost(77);
        assert_eq!(m.pop().unwrap().role, Role::Move);
    }
}
