// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sending side used by the schemes of the OrbCC authors' simulator: Avian688/tcpPaced 2b591cf over
//! Avian688/inet4.5 8287e4c. Facts and rules are taken from that code; schemes request it by
//! [`perigee_cc::Stack::Inet`].
//!
//! Differences from Linux:
//! * Pacing by a timer: a packet is sent and starts the timer, and until it expires nothing is sent
//!   but the retransmission triggered by a partial ACK. Time lost while the window is full is not
//!   recovered.
//! * Recovery starts only with duplicate ACKs (the third one, RACK, or a head marked lost). Each
//!   partial ACK retransmits the head, unless that has been done, regardless of window and pacer.
//! * Only lost segments below the highest selectively acknowledged segment are retransmitted. After
//!   a timeout without such segments new data is sent first.
//! * A retransmitted segment counts as in flight until the cumulative ACK covers it.
//! * An RTT is the difference of two readings of a millisecond clock, taken from each ACK that
//!   advances; the variance has a gain of 1/8.
//! * Selectively acknowledged data counts as delivered in rate samples, but not towards the window:
//!   for schemes, an ACK delivers the data that it acknowledges cumulatively, less data reported
//!   earlier.
//! * The lost bytes of a sample are the change of the bytes marked lost, in either direction (see
//!   also [`sample`]).

mod board;
mod rack;
mod sample;
#[cfg(test)]
mod tests;

use crate::sender::{timestamp, Ack, Connection, Limit, Transmit};
use crate::AckBlocks;
use crate::{Config, Seg};
use board::{Board, Region};
use perigee_cc::{
    AckEvent, BitRate, CaState, CongestionControl, Cx, LossEvent, LossKind, Transition, TxSnapshot,
};
use perigee_units::Nanos;
use rack::{Rack, Situation};
use sample::Sampler;

/// Interval between packets while the connection has no rate.
const FIRST_GAP_NS: f64 = 100.0;
/// Upper limit of the interval, so that a pacer close to a standstill does not overflow the clock.
const LONGEST_GAP_NS: f64 = 3.6e12;
/// Number of duplicate ACKs that start a recovery.
const DUP_ACKS: u32 = 3;
/// Variance before the first sample.
const FIRST_VARIANCE: Nanos = Nanos::from_millis(750);

/// Smoothed RTT in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Smoothed {
    srtt: f64,
    variance: f64,
    rto: Nanos,
    /// Minimum of all samples.
    min: Nanos,
    from_zero: bool,
}

impl Smoothed {
    fn take(&mut self, cfg: &Config, rtt: Nanos) {
        let sample = rtt.0 as f64;
        if self.srtt == 0.0 && !self.from_zero {
            self.srtt = sample;
        }
        let gain = 1.0 / cfg.rto.rfc6298_gain.unwrap_or(8) as f64;
        let error = sample - self.srtt;
        self.srtt += error / 8.0;
        self.variance += gain * (error.abs() - self.variance);
        self.rto = Nanos((self.srtt + 4.0 * self.variance) as u64).clamp(cfg.rto.min, cfg.rto.max);
        self.min = self.min.min(rtt);
    }

    fn srtt(&self) -> Nanos {
        Nanos(self.srtt as u64)
    }
}

/// Sending side of a connection.
pub(crate) struct Inet {
    pub conn: Connection,
    board: Board,
    rack: Rack,
    sampler: Sampler,
    rtt: Smoothed,
    /// Packets in flight and packets marked lost, as of the last ACK or transmission: these limit
    /// sending and are reported to schemes.
    in_flight: u64,
    marked: u64,
    /// Packets marked lost since the start of the connection.
    lost: u64,
    recovering: bool,
    /// End of the previous recovery.
    recovery_end: Option<Seg>,
    /// End of the data outstanding at the last timeout.
    repair_end: Seg,
    dup_acks: u32,
    /// One past the highest segment acknowledged in any way, and whether a lower segment has
    /// arrived later.
    forward: Seg,
    reordered: bool,
    dsack: bool,
    timeout_at: Nanos,
    rack_at: Nanos,
    pace_at: Nanos,
    /// Difference between the timer's exact expiry and `pace_at`, in nanoseconds.
    pace_rest: f64,
    out: Vec<Transmit>,
    last_delivery: (u64, Nanos),
}

impl Inet {
    /// A connection that was established at `now`, one handshake after it was opened.
    pub fn new(conn: Connection, now: Nanos, handshake: Option<Nanos>, smooths_from_zero: bool) -> Self {
        Inet {
            board: Board::default(),
            rack: Rack::default(),
            sampler: Sampler::new(now.saturating_sub(handshake.unwrap_or_default())),
            rtt: Smoothed {
                srtt: 0.0,
                variance: FIRST_VARIANCE.0 as f64,
                rto: conn.cfg.initial_rto,
                min: Nanos::MAX,
                from_zero: smooths_from_zero,
            },
            in_flight: 0,
            marked: 0,
            lost: 0,
            recovering: false,
            recovery_end: None,
            repair_end: 0,
            dup_acks: 0,
            forward: 0,
            reordered: false,
            dsack: false,
            timeout_at: Nanos::MAX,
            rack_at: Nanos::MAX,
            pace_at: Nanos::MAX,
            pace_rest: 0.0,
            out: Vec::new(),
            last_delivery: (0, Nanos::ZERO),
            conn,
        }
    }

    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }
    pub fn una_nxt(&self) -> (Seg, Seg) {
        (self.board.una(), self.board.nxt())
    }
    pub fn srtt(&self) -> Nanos {
        self.rtt.srtt()
    }
    pub fn rto(&self) -> Nanos {
        self.rtt.rto
    }
    pub fn lost(&self) -> u64 {
        self.lost
    }
    pub fn memory_bytes(&self) -> usize {
        self.board.memory_bytes()
    }
    pub fn last_delivery(&self) -> (u64, Nanos) {
        self.last_delivery
    }

    pub fn pacing_rate(&self) -> Option<BitRate> {
        self.conn.win.pacing
    }

    /// Why it sends no more.
    pub fn limit(&self) -> Limit {
        let (conn, out) = (&self.conn, self.in_flight);
        let unsent = self.board.nxt() < conn.available;
        if !unsent && !conn.window_bound {
            Limit::Application
        } else if !conn.has_room(out) {
            Limit::CongestionWindow
        } else if !unsent || !conn.fits_in_buffer(out) {
            conn.limit_of_buffers(out)
        } else {
            conn.limit_of_pacing()
        }
    }

    /// Congestion state in Linux's terms.
    pub fn ca_state(&self) -> CaState {
        match self.board.una() < self.repair_end {
            _ if self.recovering => CaState::Recovery,
            true => CaState::Loss,
            false => CaState::Open,
        }
    }

    pub fn cx(&self, now: Nanos) -> Cx {
        let mss = self.conn.mss;
        Cx {
            now,
            mss: self.conn.cfg.mss,
            in_flight: self.in_flight * mss,
            outstanding: self.board.out() * mss,
            delivered: self.sampler.delivered,
            delivered_time: self.sampler.delivered_time,
            lost: self.lost * mss,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min,
            snd_una: self.board.una() * mss,
            snd_nxt: self.board.nxt() * mss,
            edt: if self.pace_at == Nanos::MAX { now } else { self.pace_at },
            ca: self.ca_state(),
            app_limited: false,
            cwnd_limited: true,
            paced: true,
            last_sent: Nanos::ZERO,
        }
    }

    // ---- ACKs -----------------------------------------------------------------------------------

    /// Processes an acknowledgement; returns its RTT sample if it advances.
    pub fn on_ack(&mut self, now: Nanos, ack: &Ack<'_>) -> Option<Nanos> {
        // An ACK passes through several modules after its arrival, so a timer of the same instant
        // runs first.
        self.run_pacer(now);
        let blocks = ack.blocks;
        let sacked = !blocks.is_plain() && self.take_sacks(now, blocks);
        // Selectively acknowledged data does not count as newly delivered, neither now nor later.
        let before = (self.sampler.delivered, self.in_flight, self.marked);
        let una = self.board.una();
        if blocks.ack < una || (blocks.ack == una && self.board.out() == 0) {
            self.dup_acks = 0;
            return None;
        }
        let end = blocks.ack.min(self.board.nxt());
        let rtt = if end > una { self.take_rtt(now, blocks.ts_ecr) } else { None };
        self.update_rack(now, end, sacked);
        let duplicate = end == una;
        if duplicate {
            self.dup_acks += 1;
        }
        self.remove(now, end);
        self.recount();
        let lost = self.board.lost().abs_diff(before.2) * self.conn.mss;
        let rs = self.sampler.close(lost, self.rtt.min);
        if rs.valid {
            self.last_delivery = (rs.delivered, rs.interval);
        }
        let mut event = AckEvent {
            newly_acked: self.sampler.delivered - before.0,
            newly_cum_acked: (end - una) * self.conn.mss,
            newly_lost: lost,
            rtt,
            seq_rtt: rtt,
            prior_in_flight: before.1 * self.conn.mss,
            rs,
            is_dup: duplicate,
            may_grow: !duplicate,
            arrival: blocks.arrival,
            telemetry: ack.telemetry,
            ..AckEvent::default()
        };
        if duplicate {
            self.on_duplicate(now);
        } else {
            event.resent = self.on_advance(now);
        }
        let cx = self.cx(now);
        self.conn.cc.on_ack(&cx, &mut self.conn.win, &event);
        if !duplicate {
            self.dup_acks = 0;
        }
        self.send_pending(now);
        self.reordered = self.forward > end;
        self.forward = self.forward.max(end);
        rtt
    }

    /// Tags segments reported by SACK blocks; true if a block above the cumulative ACK was among
    /// them.
    fn take_sacks(&mut self, now: Nanos, blocks: &AckBlocks) -> bool {
        let floor = blocks.ack.max(self.board.una());
        let mut any = false;
        match blocks.dsack {
            Some((_, end)) if end <= blocks.ack => {
                self.dsack = true;
                self.reordered |= end > 0 && self.board.get(end - 1).is_some_and(|r| r.resent);
            }
            dsack => self.dsack &= dsack.is_none() && blocks.count < 2,
        }
        let duplicate = blocks.dsack.filter(|d| d.1 > floor);
        for &(start, end) in duplicate.iter().chain(blocks.sacks()).filter(|b| b.1 > floor) {
            any = true;
            for seg in start.max(self.board.una())..end.min(self.board.nxt()) {
                if !self.board.sack(seg) {
                    continue;
                }
                if seg + 1 > self.forward {
                    self.forward = seg + 1;
                } else {
                    self.reordered = true;
                }
                if let Some(region) = self.board.get_mut(seg) {
                    self.sampler.on_delivered(region, now, self.conn.mss);
                }
            }
        }
        let found = self.board.mark_holes();
        if found > 0 {
            self.lost += found;
            self.notify(now);
        }
        any
    }

    /// Notifies the scheme of lost packets, along with the losses counted in the current sample.
    fn notify(&mut self, now: Nanos) {
        if !self.conn.cc.caps().per_loss {
            return;
        }
        let event = LossEvent {
            bytes: self.sampler.lost,
            tx: TxSnapshot::default(),
            tag: 0,
            lost_total: self.lost * self.conn.mss,
            kind: LossKind::Rack,
        };
        let cx = self.cx(now);
        self.conn.cc.on_loss(&cx, &mut self.conn.win, &event);
    }

    fn take_rtt(&mut self, now: Nanos, echo_ms: u32) -> Option<Nanos> {
        // Zero means that no timestamp is echoed.
        let ms = (echo_ms > 0).then(|| timestamp(now).saturating_sub(echo_ms))?;
        let rtt = Nanos::from_millis(u64::from(ms));
        self.rtt.take(&self.conn.cfg, rtt);
        Some(rtt)
    }

    fn update_rack(&mut self, now: Nanos, ack: Seg, sacked: bool) {
        let newest = if sacked { self.board.highest_sacked() } else { ack.max(1) };
        let newest = match self.board.get(newest.saturating_sub(1)) {
            None if !sacked => self.board.highest_sacked(),
            _ => newest,
        };
        if let Some(r) = newest.checked_sub(1).and_then(|seg| self.board.get(seg)) {
            let packet = (newest - 1, r.sent, r.resent);
            self.rack.on_delivered(packet, now, self.rtt.srtt(), self.board.nxt());
        }
        self.rack.resize(&Situation {
            reordered: self.reordered,
            dsack: self.dsack,
            una: self.board.una(),
            nxt: self.board.nxt(),
            sacked: self.board.sacked(),
            recovering: self.recovering,
            leaving: self.recovering && self.recovery_end.is_some_and(|end| end <= ack),
        });
    }

    fn remove(&mut self, now: Nanos, end: Seg) {
        while self.board.una() < end {
            let Some(mut region) = self.board.pop() else { break };
            self.sampler.on_delivered(&mut region, now, self.conn.mss);
        }
    }

    fn recount(&mut self) {
        self.in_flight = self.board.in_flight();
        self.marked = self.board.lost();
    }

    fn on_duplicate(&mut self, now: Nanos) {
        let head_lost =
            self.board.highest_sacked() > self.board.una() + 1 && self.board.head().is_some_and(|r| r.lost);
        let late = self.check_rack(now);
        let begins = !self.recovering && (late || head_lost);
        if !begins && self.dup_acks != DUP_ACKS {
            return;
        }
        if self.recovery_end.is_none_or(|end| self.board.una() >= end) && !self.recovering {
            self.recovery_end = Some(self.board.nxt());
            if self.board.head().is_some_and(|r| !r.lost) {
                self.lost += 1;
            }
            self.board.mark_head();
            self.recount();
            self.recovering = true;
            self.conn.stats.recoveries += 1;
            let cx = self.cx(now);
            self.conn.cc.on_transition(&cx, &mut self.conn.win, Transition::EnterRecovery);
            self.resend_head(now);
        }
        if self.recovering {
            self.restart_timeout(now);
        }
    }

    /// Marks late packets lost; true if that starts a recovery.
    fn check_rack(&mut self, now: Nanos) -> bool {
        let (found, wait) = self.board.mark_late(&self.rack, now);
        if found > 0 {
            self.lost += found;
            self.notify(now);
        }
        if wait > Nanos::ZERO {
            self.rack_at = now + wait;
            self.restart_timeout(now);
        }
        self.board.lost() > 0 && !self.recovering
    }

    /// Handles an ACK that advances; true if it triggers a retransmission.
    fn on_advance(&mut self, now: Nanos) -> bool {
        if self.board.out() == 0 {
            self.timeout_at = Nanos::MAX;
        } else {
            self.restart_timeout(now);
        }
        if !self.recovering {
            return false;
        }
        if self.recovery_end.is_some_and(|end| self.board.una() < end) {
            return self.resend_head(now);
        }
        // The scheme restores its window while the state is still recovery.
        self.recovering = false;
        let cx = self.cx(now);
        self.conn.cc.on_transition(&cx, &mut self.conn.win, Transition::ExitRecovery);
        false
    }

    // ---- timers ---------------------------------------------------------------------------------

    pub fn next_timer(&self) -> Nanos {
        self.timeout_at.min(self.rack_at).min(self.pace_at)
    }

    /// Runs the timers that are due; true if the retransmission timer was among them.
    pub fn on_timer(&mut self, now: Nanos) -> bool {
        if self.rack_at <= now {
            self.rack_at = Nanos::MAX;
            self.check_rack(now);
        }
        self.run_pacer(now);
        if self.timeout_at > now {
            return false;
        }
        self.timeout_at = Nanos::MAX;
        if self.board.out() == 0 {
            return false;
        }
        self.conn.stats.timeouts += 1;
        self.rtt.rto = (self.rtt.rto * 2).min(self.conn.cfg.rto.max);
        self.timeout_at = now + self.rtt.rto;
        if std::mem::take(&mut self.recovering) {
            self.recovery_end = Some(self.board.nxt());
        }
        self.lost += self.board.mark_all();
        self.recount();
        self.repair_end = self.board.nxt();
        let cx = self.cx(now);
        self.conn.cc.on_transition(&cx, &mut self.conn.win, Transition::EnterRto);
        (self.pace_at, self.pace_rest) = (Nanos::MAX, 0.0);
        self.send_pending(now);
        true
    }

    fn restart_timeout(&mut self, now: Nanos) {
        self.timeout_at = now + self.rtt.rto;
    }

    // ---- output ---------------------------------------------------------------------------------

    /// Appends the packets to send at `now`.
    pub fn transmit(&mut self, now: Nanos, out: &mut Vec<Transmit>) {
        self.send_pending(now);
        out.append(&mut self.out);
    }

    /// Sends the packets released by the pacer's timer, if it is due.
    fn run_pacer(&mut self, now: Nanos) {
        if self.pace_at > now {
            return;
        }
        self.pace_at = Nanos::MAX;
        self.send_pending(now);
        if self.pace_at == Nanos::MAX {
            self.pace_rest = 0.0;
        }
    }

    /// Starts the pacer's timer. Fractions of a nanosecond are carried over to the next packet.
    fn start_pacer(&mut self, now: Nanos) {
        let rate = self.conn.win.pacing.filter(|r| r.0 > 0);
        let gap = rate.map_or(FIRST_GAP_NS, |rate: BitRate| self.conn.mss as f64 * 8e9 / rate.0 as f64);
        let exact = gap.clamp(1.0, LONGEST_GAP_NS) + self.pace_rest;
        let whole = exact.round();
        (self.pace_at, self.pace_rest) = (now + Nanos(whole as u64), exact - whole);
    }

    /// Sends one packet if the pacer's timer is not running and the window has room.
    fn send_pending(&mut self, now: Nanos) {
        if self.pace_at != Nanos::MAX {
            return;
        }
        self.conn.win.cwnd = self.conn.win.cwnd.max(self.conn.mss);
        if !self.conn.has_room(self.in_flight) {
            return;
        }
        if let Some(seg) = self.next_segment() {
            self.send(now, seg);
            self.start_pacer(now);
        }
    }

    /// Retransmits the head at once unless that has been done; true if a packet was sent.
    fn resend_head(&mut self, now: Nanos) -> bool {
        if self.board.head().is_some_and(|r| r.resent && !r.sacked) {
            return false;
        }
        let Some(seg) = self.next_segment() else { return false };
        self.send(now, seg);
        if self.pace_at == Nanos::MAX {
            self.start_pacer(now);
        }
        true
    }

    /// Next segment to send: a lost segment below the highest selectively acknowledged one, new
    /// data, or within a recovery any hole. Sources in that simulator never end; here, lost
    /// segments beyond the last hole come last.
    fn next_segment(&mut self) -> Option<Seg> {
        if let Some(seg) = self.board.next_lost() {
            return Some(seg);
        }
        if self.board.nxt() < self.conn.available && self.conn.fits_in_buffer(self.in_flight) {
            return Some(self.board.nxt());
        }
        let hole = self.recovering.then(|| self.board.first_hole()).flatten();
        hole.or_else(|| self.board.last_resort())
    }

    fn send(&mut self, now: Nanos, seg: Seg) {
        let retrans = seg < self.board.nxt();
        let top = self.board.highest_resent();
        let state = Region {
            sacked: false,
            resent: false,
            lost: false,
            sent: now,
            first_sent: self.sampler.first_sent,
            delivered_time: self.sampler.delivered_time,
            delivered: self.sampler.delivered,
        };
        if retrans {
            self.board.resend(seg);
            if let Some(r) = self.board.get_mut(seg) {
                *r = Region { sacked: r.sacked, resent: r.resent, lost: r.lost, ..state };
            }
        } else {
            self.board.push(state);
        }
        self.recount();
        self.conn.stats.sent += 1;
        self.conn.stats.retrans += u64::from(retrans);
        let stamp_block = self.conn.cc.stamp();
        let ts_val = timestamp(now);
        self.out.push(Transmit { seg, retrans, ts_val, sent: now, stamp: stamp_block, push: false });
        if self.board.highest_resent() != top || self.timeout_at == Nanos::MAX {
            self.restart_timeout(now);
        }
    }
}
