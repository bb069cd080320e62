// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Closed loop of a scheme and a simple path, for tests: one FIFO bottleneck with a propagation
//! delay, an ACK per packet, random loss, and a minimal transport. The real transport is in
//! `perigee-tcp`.

use crate::rng::Rng;
use crate::*;
use std::collections::VecDeque;

pub const MSS: u64 = 1448;
/// Bytes of a full segment on the wire.
const WIRE: u64 = 1514;
/// Number of later packets delivered after which a packet counts as lost.
const REORDERING: u64 = 3;

/// Properties of the path, which may change during a run.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    pub rate: BitRate,
    pub rtt: Nanos,
    /// Limit of the queue in packets.
    pub buffer: u64,
    pub loss: f64,
    /// Whether all packets are lost.
    pub down: bool,
}

impl Path {
    pub fn new(mbit: u64, rtt_ms: u64) -> Self {
        let (rate, rtt) = (BitRate::from_mbit(mbit), Nanos::from_millis(rtt_ms));
        Path { rate, rtt, buffer: rate.bytes_in(rtt) / WIRE, loss: 0.0, down: false }
    }

    /// Bandwidth-delay product in packets.
    pub fn bdp(&self) -> u64 {
        self.rate.bytes_in(self.rtt) / WIRE
    }
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    seq: u64,
    tx: TxSnapshot,
    tag: u32,
    retrans: bool,
    /// Arrival of its ACK; `None` = dropped.
    ack: Option<Nanos>,
    /// Number of later packets delivered since.
    overtaken: u64,
    hop: Hop,
}

/// The connection.
pub struct Loop<C> {
    pub cc: C,
    pub w: Window,
    pub cx: Cx,
    pub path: Path,
    pub caps: Caps,
    pub lost: u64,
    pub sent: u64,
    pub timeouts: u64,
    rng: Rng,
    flight: VecDeque<Packet>,
    resend: VecDeque<u64>,
    busy_until: Nanos,
    next_departure: Nanos,
    first_sent: Nanos,
    rto_at: Nanos,
    recover_at: u64,
    last_rtt: Nanos,
    port_bytes: u64,
}

impl<C: CongestionControl> Loop<C> {
    /// A new connection; `cc` builds its controller.
    pub fn new(path: Path, cc: impl FnOnce(&ConnInit) -> C) -> Self {
        let now = Nanos::from_secs(1);
        let init =
            ConnInit { now, mss: MSS as u32, init_cwnd: 10 * MSS, srtt: Some(path.rtt), seed: 7, hz: 1000 };
        let mut cc = cc(&init);
        let caps = cc.caps();
        let cx = Cx {
            now,
            mss: MSS as u32,
            srtt: path.rtt,
            min_rtt: path.rtt,
            delivered_time: now,
            paced: caps.pacing == Pacing::Required,
            ..Cx::default()
        };
        let mut w = init.window();
        cc.on_start(&cx, &mut w);
        Loop {
            cc,
            w,
            cx,
            path,
            caps,
            lost: 0,
            sent: 0,
            timeouts: 0,
            rng: Rng::new(99),
            flight: VecDeque::new(),
            resend: VecDeque::new(),
            busy_until: now,
            next_departure: now,
            first_sent: now,
            rto_at: Nanos::MAX,
            recover_at: 0,
            last_rtt: path.rtt,
            port_bytes: 0,
        }
    }

    /// RTT of the newest delivered packet.
    pub fn rtt(&self) -> Nanos {
        self.last_rtt
    }

    pub fn cwnd(&self) -> u64 {
        self.w.cwnd / MSS
    }

    /// Seconds since the start of the connection.
    pub fn seconds(&self) -> f64 {
        self.cx.now.as_secs_f64() - 1.0
    }

    /// Runs for `time`; `seen` is called after each event. Returns the goodput in Mbit/s.
    pub fn run(&mut self, time: Nanos, mut seen: impl FnMut(&mut Self)) -> f64 {
        let (end, before) = (self.cx.now + time, self.cx.delivered);
        while self.step(end) {
            seen(self);
        }
        (self.cx.delivered - before) as f64 * 8e-6 / time.as_secs_f64()
    }

    /// Runs for a number of seconds.
    pub fn run_s(&mut self, seconds: f64) -> f64 {
        self.run(Nanos::from_secs_f64(seconds), |_| {})
    }

    fn step(&mut self, end: Nanos) -> bool {
        let can_send = self.cx.in_flight + MSS <= self.w.cwnd;
        let departs = match (can_send, self.cx.paced) {
            (false, _) => Nanos::MAX,
            (true, true) => self.next_departure.max(self.cx.now),
            (true, false) => self.cx.now,
        };
        let ack = self.flight.iter().filter_map(|p| p.ack).min().unwrap_or(Nanos::MAX);
        let timer = self.w.next_timer.unwrap_or(Nanos::MAX).max(self.cx.now);
        let next = departs.min(ack).min(timer).min(self.rto_at);
        if next >= end {
            self.cx.now = end;
            return false;
        }
        self.cx.now = self.cx.now.max(next);
        self.cx.edt = self.next_departure;
        if next == timer {
            self.w.next_timer = None;
            self.cc.on_timer(&self.cx, &mut self.w);
        } else if next == ack {
            self.deliver(ack);
        } else if next == departs {
            self.send();
        } else {
            self.time_out();
        }
        true
    }

    fn send(&mut self) {
        let now = self.cx.now;
        if self.cx.in_flight == 0 {
            (self.first_sent, self.cx.delivered_time) = (now, now);
            self.cc.on_tx_start(&self.cx, &mut self.w);
        }
        let again = self.resend.pop_front();
        let seq = again.unwrap_or(self.cx.snd_nxt);
        let pkt = SentPkt { seq, bytes: MSS as u32, retrans: again.is_some() };
        let tag = if self.caps.per_packet { self.cc.on_sent(&self.cx, &mut self.w, &pkt) } else { 0 };
        if again.is_none() {
            self.cx.snd_nxt += MSS;
        }
        self.cx.in_flight += MSS;
        self.cx.outstanding = self.cx.in_flight;
        self.cx.last_sent = now;
        let tx = TxSnapshot {
            sent: now,
            first_sent: self.first_sent,
            delivered_time: self.cx.delivered_time,
            delivered: self.cx.delivered,
            lost: self.cx.lost,
            in_flight: self.cx.in_flight,
            app_limited: self.cx.app_limited,
        };
        let (ack, hop) = self.through_bottleneck(now);
        self.flight.push_back(Packet { seq, tx, tag, retrans: again.is_some(), ack, overtaken: 0, hop });
        self.sent += 1;
        if let Some(rate) = self.w.pacing {
            let unpaced = self.sent <= self.caps.unpaced_start as u64;
            let gap = if unpaced { Nanos::ZERO } else { rate.time_for(MSS) };
            self.next_departure = self.next_departure.max(now) + gap;
        }
        if self.rto_at == Nanos::MAX {
            self.arm_rto();
        }
    }

    /// Arrival of the ACK for a packet sent now, and the port's telemetry for it.
    fn through_bottleneck(&mut self, now: Nanos) -> (Option<Nanos>, Hop) {
        let service = self.path.rate.time_for(WIRE);
        let waiting = self.busy_until.saturating_sub(now).0 / service.0.max(1);
        let lost = self.path.loss > 0.0 && self.rng.unit() < self.path.loss;
        if waiting > self.path.buffer || lost || self.path.down {
            return (None, Hop::default());
        }
        self.busy_until = self.busy_until.max(now) + service;
        self.port_bytes += WIRE;
        let queue = waiting * WIRE;
        let hop = Hop {
            ts: Nanos(self.busy_until.0 % crate::utilisation::TS_WRAP.0),
            bw: self.path.rate,
            q_out: queue,
            q_in: queue,
            tx_bytes: self.port_bytes % crate::utilisation::TX_WRAP,
            avg_rtt: self.path.rtt,
            flows: 1,
        };
        (Some(self.busy_until + self.path.rtt), hop)
    }

    fn arm_rto(&mut self) {
        let rto = (self.cx.srtt * 2).max(Nanos::from_millis(200) + self.cx.srtt);
        self.rto_at = if self.flight.is_empty() { Nanos::MAX } else { self.cx.now + rto };
    }

    fn deliver(&mut self, at: Nanos) {
        let index = self.flight.iter().position(|p| p.ack == Some(at)).expect("an ACK is due");
        let p = self.flight.remove(index).expect("found");
        let prior_in_flight = self.cx.in_flight;
        self.cx.in_flight -= MSS;
        self.cx.outstanding = self.cx.in_flight;
        self.cx.delivered += MSS;
        self.cx.snd_una = self.cx.delivered;
        self.cx.delivered_time = self.cx.now;
        self.first_sent = p.tx.sent;
        let rtt = (!p.retrans).then(|| self.cx.now - p.tx.sent);
        if let Some(rtt) = rtt {
            self.last_rtt = rtt;
            self.cx.srtt = Nanos((self.cx.srtt.0 * 7 + rtt.0) / 8);
            self.cx.min_rtt = self.cx.min_rtt.min(rtt);
        }
        self.cx.cwnd_limited = prior_in_flight + MSS > self.w.cwnd;
        let newly_lost = self.find_losses(index);
        self.transitions(newly_lost > 0);
        let interval = (self.cx.now - p.tx.delivered_time).max(p.tx.sent.saturating_sub(p.tx.first_sent));
        let ev = AckEvent {
            newly_acked: MSS,
            newly_cum_acked: MSS,
            newly_lost,
            rtt,
            seq_rtt: rtt,
            prior_in_flight,
            rs: RateSample {
                valid: interval >= self.cx.min_rtt,
                delivered: self.cx.delivered - p.tx.delivered,
                interval,
                prior_delivered: p.tx.delivered,
                has_prior: true,
                lost_since_tx: self.cx.lost - p.tx.lost,
                tx_in_flight: p.tx.in_flight,
                is_app_limited: p.tx.app_limited,
                is_retrans: p.retrans,
                ..RateSample::default()
            },
            may_grow: !matches!(self.cx.ca, CaState::Recovery | CaState::Cwr),
            acked: &[AckedPkt { tag: p.tag, sent: p.tx.sent, bytes: MSS as u32, rtt }],
            telemetry: Some(Telemetry::Stack { path_id: 1, hops: &[p.hop], covered: 1, partial: false }),
            ..AckEvent::default()
        };
        self.cc.on_ack(&self.cx, &mut self.w, &ev);
        self.arm_rto();
    }

    /// Counts packets before `index` as overtaken by the one that has just been delivered; returns
    /// the bytes newly lost.
    fn find_losses(&mut self, index: usize) -> u64 {
        let mut newly_lost = 0;
        let mut i = 0;
        let mut earlier = index;
        while i < earlier {
            let now = self.cx.now;
            let p = &mut self.flight[i];
            p.overtaken += 1;
            if p.overtaken >= REORDERING && p.ack.is_none_or(|at| at > now) {
                self.lose(i, LossKind::Rack);
                newly_lost += MSS;
                earlier -= 1;
            } else {
                i += 1;
            }
        }
        newly_lost
    }

    fn lose(&mut self, index: usize, kind: LossKind) {
        let p = self.flight.remove(index).expect("in flight");
        self.lost += 1;
        self.cx.lost += MSS;
        self.cx.in_flight -= MSS;
        self.resend.push_back(p.seq);
        if self.caps.per_loss {
            let ev = LossEvent { bytes: MSS, tx: p.tx, tag: p.tag, lost_total: self.cx.lost, kind };
            self.cc.on_loss(&self.cx, &mut self.w, &ev);
        }
    }

    fn transitions(&mut self, any_lost: bool) {
        let over = self.cx.delivered >= self.recover_at;
        if self.cx.ca == CaState::Recovery && over {
            if self.caps.recovery == Recovery::Prr {
                self.w.cwnd = self.w.ssthresh;
            }
            self.change_state(CaState::Open, Transition::ExitRecovery);
        } else if self.cx.ca == CaState::Loss && over {
            self.change_state(CaState::Open, Transition::ExitRto);
        }
        if any_lost && self.cx.ca < CaState::Recovery {
            self.w.ssthresh = self.cc.ssthresh(&self.cx, &self.w);
            self.recover_at = self.cx.delivered + self.cx.in_flight + MSS;
            self.change_state(CaState::Recovery, Transition::EnterRecovery);
            if self.caps.recovery == Recovery::Prr {
                // Immediate, which is coarser than proportional rate reduction.
                self.w.cwnd = self.w.ssthresh;
            }
        }
    }

    fn time_out(&mut self) {
        self.timeouts += 1;
        while !self.flight.is_empty() {
            self.lose(0, LossKind::Rto);
        }
        if self.cx.ca < CaState::Recovery {
            self.w.ssthresh = self.cc.ssthresh(&self.cx, &self.w);
        }
        if self.caps.on_rto == OnRto::InFlightPlusOne {
            self.w.cwnd = MSS;
        }
        self.cx.outstanding = 0;
        self.recover_at = self.cx.delivered + self.w.cwnd;
        self.next_departure = self.next_departure.min(self.cx.now);
        self.change_state(CaState::Loss, Transition::EnterRto);
        self.rto_at = Nanos::MAX;
    }

    fn change_state(&mut self, ca: CaState, t: Transition) {
        self.cx.ca = ca;
        self.cc.on_transition(&self.cx, &mut self.w, t);
    }

    /// Delivers a signal to the controller.
    pub fn signal(&mut self, s: &Signal<'_>) {
        self.cc.on_signal(&self.cx, &mut self.w, s);
    }
}
