// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Output of the sender: retransmissions first, then new data, within the window, in units, paced
//! or not.

use super::episode::Resend;
use super::timers::TimerKind;
use super::{first_window, Linux};
use crate::config::{Reduction, TsoDefer};
use crate::scoreboard::BEGINS;
use crate::sender::{timestamp, Transmit};
use crate::Seg;
use perigee_cc::{CaState, CongestionControl, HeaderStamp, SentPkt};
use perigee_units::{BitRate, Nanos};

/// Maximum bytes of one unit (64 KB of GSO).
const GSO_MAX_BYTES: u64 = 65_536;
/// Kernel: `sk_pacing_shift`; a unit covers about 1 ms of the pacing rate.
const PACING_SHIFT: u32 = 10;
/// Size of a send-buffer entry: the bytes of one write (64 KB less headers).
const ENTRY_BYTES: u64 = GSO_MAX_BYTES - 1 - 320;
/// Buffer space of an entry in addition to its data.
const ENTRY_OVERHEAD: u64 = 960;

/// End of the send-buffer entry of a bulk sender that contains `seg`; `buffer` bytes are written
/// before the first ACK.
///
/// An entry holds at most half of the largest window offered by the peer (Linux
/// `tcp_bound_to_half_wnd`). When the application fills the first buffer, only a window of
/// `offered` segments is known, the maximum that a SYN-ACK can announce without scaling, so the
/// first entries are short. The first entry is sent at once, as the initial window
/// (`tcp_push_one`); the last one waits and is filled up once the window is known, and full entries
/// follow.
fn end_of_entry(seg: Seg, mss: u64, buffer: u64, (initial, offered): (Seg, Seg)) -> Seg {
    let full = (ENTRY_BYTES / mss).max(1);
    if buffer == 0 {
        return (seg / full + 1) * full;
    }
    let short = (offered / 2).clamp(1, full);
    let begin = initial.min(short);
    let left = buffer.saturating_sub(begin * mss + ENTRY_OVERHEAD);
    let last = begin + (left.div_ceil(short * mss + ENTRY_OVERHEAD).max(1) - 1) * short;
    match seg {
        _ if seg < begin => begin,
        _ if seg < last => begin + ((seg - begin) / short + 1) * short,
        _ => last + ((seg - last) / full + 1) * full,
    }
}

impl Linux {
    /// Appends all segments that may be sent at `now` to `out`.
    pub fn transmit(&mut self, now: Nanos, out: &mut Vec<Transmit>) {
        let sent_before = out.len();
        if self.board.out() == 0 {
            self.restart_after_idle(now);
        }
        let mut new_sent = 0;
        if std::mem::take(&mut self.episode.head_at_once) {
            self.resend_head(now, out);
        }
        self.pacing.holds_back = false;
        loop {
            if self.pacing.on && self.pacing.next > now {
                self.pacing.holds_back =
                    self.has_room() && (self.board.lost > self.board.retrans || self.has_new_data());
                break;
            }
            let unit = self.unit_segments();
            let count = self.send_unit(now, unit, &mut new_sent, out);
            if count == 0 {
                break;
            }
            let credits_idle = self.conn.cfg.pacing_credit;
            self.pacing.charge(now, count * self.conn.mss, credits_idle, self.conn.caps.unpaced_start);
        }
        self.after_sending(now, new_sent, out.len() > sent_before);
    }

    /// Sends one unit of at most `unit` segments; returns the number sent.
    fn send_unit(&mut self, now: Nanos, unit: u64, new_sent: &mut u64, out: &mut Vec<Transmit>) -> u64 {
        let mut count = 0;
        if self.episode.resend == Resend::Lost {
            count = self.resend_unit(now, unit, out);
            if count > 0 {
                return count;
            }
        }
        // At most half of the window at once, so that no burst fills it alone.
        let half = (self.conn.cwnd() / 2).max(1);
        let burst = if self.gathers() { self.burst_of_entry(unit.min(half)) } else { unit.min(half) };
        if self.waits_for_burst(now) {
            return 0;
        }
        let first = self.board.nxt();
        while count < burst && self.has_room() && self.has_new_data() {
            self.emit_new(now, out);
            *new_sent += 1;
            count += 1;
        }
        if count > 0 {
            self.board.slot_mut(first).flags |= BEGINS;
        }
        if count > 1 {
            out.last_mut().expect("what was just sent").push = true;
        }
        if count == 0 && self.episode.resend == Resend::New {
            // F-RTO found no new data to send: ordinary repair.
            if self.board.nxt() <= self.episode.high {
                self.episode.frto = false;
                self.episode.resend = Resend::Lost;
                return self.send_unit(now, unit, new_sent, out);
            }
        }
        count
    }

    /// Retransmits up to `unit` lost segments, and only segments that were sent together, without a
    /// gap: with pacing each piece waits for its turn.
    fn resend_unit(&mut self, now: Nanos, unit: u64, out: &mut Vec<Transmit>) -> u64 {
        let mut count = 0;
        let mut previous = None;
        while count < unit && self.has_room() && self.board.lost > self.board.retrans {
            let Some(seg) = self.next_to_resend() else { break };
            let begins = self.board.slot(seg).flags & BEGINS != 0;
            if previous.is_some_and(|p| seg != p + 1 || begins) {
                break;
            }
            self.emit_again(now, seg, out);
            if previous.is_none() {
                self.board.slot_mut(seg).flags |= BEGINS;
            }
            previous = Some(seg);
            count += 1;
        }
        if count > 1 {
            out.last_mut().expect("what was just sent").push = true;
        }
        count
    }

    /// The lowest segment to retransmit. In ns-3, segments sent after the highest selectively
    /// acknowledged one are not retransmitted, even after a timeout: new data is sent first.
    fn next_to_resend(&mut self) -> Option<Seg> {
        let seg = self.board.next_lost()?;
        let bounded = self.conn.cfg.reduction == Reduction::Ns3 && self.board.sacked > 0;
        (!bounded || seg + 1 < self.detection.highest_sacked).then_some(seg)
    }

    /// Retransmits the head, regardless of window and pacer.
    fn resend_head(&mut self, now: Nanos, out: &mut Vec<Transmit>) {
        if let Some(seg) = self.next_to_resend() {
            let next = self.pacing.next;
            self.pacing.next = next.min(now);
            self.emit_again(now, seg, out);
            self.pacing.next = next;
        }
    }

    /// Whether segments that ACKs permit are deferred to form bursts, paced or not.
    #[inline]
    fn gathers(&self) -> bool {
        self.conn.cfg.tso_defer != TsoDefer::Off
    }

    /// Whether to wait for a fuller burst: less than a burst may be sent, less than the remainder
    /// of the send-buffer entry, and less than a third of the window; the last burst is less than a
    /// millisecond old; and the next ACK, due an SRTT after the oldest outstanding packet, is near
    /// (Linux `tcp_tso_should_defer`).
    fn waits_for_burst(&self, now: Nanos) -> bool {
        const SOON: Nanos = Nanos::from_millis(1);
        if !self.gathers() || self.episode.ca >= CaState::Recovery || self.board.out() == 0 {
            return false;
        }
        let free = self.conn.cwnd().saturating_sub(self.board.in_flight());
        let left = self.entry_end.min(self.conn.available).saturating_sub(self.board.nxt());
        if free >= left || left <= 1 || free >= self.conn.cwnd() / 3 || free >= self.burst_segments() {
            return false;
        }
        let half = self.rtt.srtt() / 2;
        let near = if self.conn.cfg.tso_defer == TsoDefer::Linux { half.min(SOON) } else { half };
        let next_ack = self.board.slot(self.board.una()).tx.sent + self.rtt.srtt();
        now.saturating_sub(self.last_sent.max(self.pacing.next)) <= SOON
            && next_ack.saturating_sub(now) <= near
    }

    /// Number of segments, at most `most`, of a burst that starts now. It ends with the send-buffer
    /// entry, which takes data from the next entry until the burst is full (Linux `tcp_grow_skb`).
    fn burst_of_entry(&mut self, most: u64) -> u64 {
        let nxt = self.board.nxt();
        if nxt >= self.entry_end {
            let known = (u64::from(self.conn.cfg.init_cwnd), first_window(&self.conn.cfg));
            self.entry_end = end_of_entry(nxt, self.conn.mss, self.conn.cfg.wmem, known);
        }
        let quota = self.conn.cwnd().saturating_sub(self.board.in_flight()).min(most);
        self.entry_end = self.entry_end.max(nxt + quota);
        quota.min(self.entry_end - nxt)
    }

    pub(super) fn emit_new(&mut self, now: Nanos, out: &mut Vec<Transmit>) -> bool {
        let seg = self.board.nxt();
        let (sent, tag, stamp) = self.before_sending(now, seg, false);
        let nothing_out = self.board.out() == 0;
        let tx = self.rate.snapshot(sent, nothing_out, self.board.in_flight() + 1);
        self.board.push(tx, tag);
        if nothing_out || self.timers.kind == TimerKind::Probe {
            self.arm_rto(now);
        }
        out.push(Transmit { seg, retrans: false, ts_val: timestamp(sent), sent, stamp, push: false });
        true
    }

    pub(super) fn emit_again(&mut self, now: Nanos, seg: Seg, out: &mut Vec<Transmit>) -> bool {
        let (sent, tag, stamp) = self.before_sending(now, seg, true);
        let tx = self.rate.snapshot(sent, false, self.board.in_flight() + 1);
        self.board.retransmit(seg, tx, tag);
        self.conn.stats.retrans += 1;
        let ts_val = timestamp(sent);
        self.episode.undo.on_retransmission(ts_val);
        let runs = self.conn.cfg.impatient && self.timers.kind == TimerKind::Rto;
        if seg == self.board.una() && self.timers.kind != TimerKind::Reorder && !runs {
            self.timers.arm_rto(now, self.rto());
        }
        out.push(Transmit { seg, retrans: true, ts_val, sent, stamp, push: false });
        true
    }

    /// Retransmits the last segment although it is not known to be lost. The probe does not count
    /// as a retransmission of the episode, so that no undo depends on it.
    pub(super) fn emit_probe(&mut self, now: Nanos, seg: Seg, out: &mut Vec<Transmit>) -> bool {
        let (sent, tag, stamp) = self.before_sending(now, seg, true);
        let tx = self.rate.snapshot(sent, false, self.board.in_flight());
        self.board.send_again(seg, tx, tag);
        self.conn.stats.retrans += 1;
        out.push(Transmit { seg, retrans: true, ts_val: timestamp(sent), sent, stamp, push: false });
        true
    }

    fn before_sending(&mut self, now: Nanos, seg: Seg, retrans: bool) -> (Nanos, u32, HeaderStamp) {
        let sent = self.pacing.departure(now);
        if self.board.in_flight() == 0 {
            let cx = self.cx(now);
            self.conn.cc.on_tx_start(&cx, &mut self.conn.win);
            self.update_pacing_rate();
        }
        let tag = if self.conn.caps.per_packet {
            let cx = self.cx(now);
            let pkt = SentPkt { seq: seg * self.conn.mss, bytes: self.conn.cfg.mss, retrans };
            let tag = self.conn.cc.on_sent(&cx, &mut self.conn.win, &pkt);
            // A monitor interval that starts with this packet may have a different rate.
            self.update_pacing_rate();
            tag
        } else {
            0
        };
        let stamp = match self.conn.caps.telemetry {
            perigee_cc::TelemetryNeed::None => HeaderStamp::default(),
            _ => self.conn.cc.stamp(),
        };
        self.conn.stats.sent += 1;
        self.pacing.data_sent += 1;
        self.last_sent = sent;
        if self.episode.in_reduction() {
            self.episode.prr.out += 1;
        }
        (sent, tag, stamp)
    }

    /// Number of segments sent at once: about 1 ms of the rate with pacing or burst deferral,
    /// otherwise as many as ACKs permit.
    fn unit_segments(&self) -> u64 {
        if self.pacing.on || self.gathers() {
            self.burst_segments()
        } else {
            u64::MAX
        }
    }

    fn burst_segments(&self) -> u64 {
        if self.conn.cfg.tso_segments > 0 {
            return self.conn.cfg.tso_segments as u64;
        }
        if self.conn.win.quantum > 0 {
            return self.conn.win.quantum as u64;
        }
        tso_segments(self.pacing.rate, self.rtt.min(), self.conn.mss, 2)
    }

    /// Updates the pacing rate. It is computed for all senders, as Linux also sizes the bursts of
    /// unpaced senders by it.
    pub fn update_pacing_rate(&mut self) {
        if let Some(rate) = self.conn.win.pacing {
            self.pacing.rate = rate;
            return;
        }
        if !self.pacing.on && !self.gathers() {
            return;
        }
        let below = self.conn.win.cwnd < self.conn.win.ssthresh / 2;
        let percent = if below { self.conn.cfg.pacing_ss_ratio } else { self.conn.cfg.pacing_ca_ratio };
        let bytes = self.conn.win.cwnd.max(self.board.out() * self.conn.mss);
        self.pacing.rate = BitRate::of(bytes.saturating_mul(percent) / 100, self.rtt.srtt());
    }

    fn after_sending(&mut self, now: Nanos, new_sent: u64, any_sent: bool) {
        let limited = !self.has_room() || self.waits_for_burst(now);
        if any_sent || limited {
            self.validate_window(now, limited);
        }
        if new_sent > 0 {
            if let Some(delay) = self.probe_delay(now, false) {
                self.timers.arm(TimerKind::Probe, now + delay);
            }
        }
        let starved = !self.has_new_data() && self.board.lost <= self.board.retrans;
        if starved && !limited && !self.conn.window_bound && !self.waits_for_window() {
            self.rate.mark_app_limited(self.board.in_flight());
        }
    }

    /// Whether the receive window blocks available data. (Data that does not fit in a full send
    /// buffer is not available: Linux considers that application-limited.)
    fn waits_for_window(&self) -> bool {
        let held = self.conn.cfg.window_caps || self.board.nxt() >= self.window_end;
        held && self.board.nxt() < self.conn.available
    }
}

/// Linux's autosizing: about 1 ms of the pacing rate, more on very short paths.
fn tso_segments(rate: BitRate, min_rtt: Nanos, mss: u64, min_segments: u64) -> u64 {
    let mut bytes = (rate.0 / 8) >> PACING_SHIFT;
    let shift = min_rtt.as_micros() >> 9;
    if shift < 32 {
        bytes += GSO_MAX_BYTES >> shift;
    }
    (bytes.min(GSO_MAX_BYTES) / mss).max(min_segments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(mss: u64, buffer: u64, known: (Seg, Seg), most: usize) -> Vec<Seg> {
        let next = |&end: &Seg| Some(end_of_entry(end, mss, buffer, known));
        std::iter::successors(next(&0), next).take(most).collect()
    }

    /// Linux 6.12: 7.5 short entries fit in 256 KiB in addition to the initial window, and 2.2 in
    /// the default initial buffer of 87,040 bytes; the last one is filled up. The latter has been
    /// observed on real hosts.
    #[test]
    fn entries_are_short_until_the_window_is_known() {
        let found = ends(1448, 256 << 10, (10, 45), 11);
        assert_eq!(found, [10, 32, 54, 76, 98, 120, 142, 164, 209, 254, 299]);
        assert_eq!(ends(1448, 87_040, (10, 45), 6), [10, 32, 54, 99, 144, 189]);
    }

    #[test]
    fn entries_are_whole_where_nothing_limits_them() {
        assert_eq!(ends(1448, 0, (10, 45), 3), [45, 90, 135]);
        assert_eq!(ends(1448, 87_040, (10, Seg::MAX), 4), [10, 55, 100, 145]);
        // Packets so large that an entry holds one.
        assert_eq!(ends(65_000, 87_040, (10, Seg::MAX), 3), [1, 2, 3]);
        assert!(ends(9000, 87_040, (0, 7), 50).windows(2).all(|pair| pair[0] < pair[1]));
    }
}
