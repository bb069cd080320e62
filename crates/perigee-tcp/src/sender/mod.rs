// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sending side of a connection.
//!
//! The host creates a [`Sender`] ([`Sender::new`]), calls [`Sender::on_ack`] and
//! [`Sender::on_timer`], and after each call [`Sender::transmit`], which returns the segments that
//! may be sent now; [`Sender::next_timer`] is the time of the next call.
//!
//! The order of steps within an ACK is that of Linux, in [`Sender::on_ack`].

mod input;
mod limits;
mod output;
mod rack;
mod recovery;
mod sack;
mod timers;

pub use limits::{Limit, LIMITS};
pub use output::Transmit;

use crate::inet::Inet;
use crate::rate::RateSampler;
use crate::rtt::Rtt;
use crate::scoreboard::Scoreboard;
use crate::window::UNSCALED;
use crate::AckBlocks;
use crate::{Config, Seg};
use limits::Limits;
use perigee_cc::{
    AckedPkt, CaState, Caps, CongestionControl, ConnInit, Controller, Cx, Stack, Telemetry, Window,
    INFINITE_SSTHRESH,
};
use perigee_units::{BitRate, Nanos, NS_PER_S};

/// An arriving acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Acknowledgement number and SACK blocks.
    pub blocks: &'a AckBlocks,
    /// Telemetry echoed by the ACK.
    pub telemetry: Option<Telemetry<'a>>,
}

/// Counters for the record's tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Data packets retransmitted.
    pub retrans: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Number of fast recoveries.
    pub recoveries: u64,
    /// Reductions undone as spurious.
    pub undos: u64,
}

/// Kind of the pending timer; as in Linux, all three share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimerKind {
    None,
    Rto,
    Probe,
    Reorder,
}

/// Segments to send after the last ACK or timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resend {
    /// None for now: the hole may be reordering. New data may be sent.
    Nothing,
    /// Lost segments first.
    Lost,
    /// F-RTO: new data first, to detect whether the timeout was spurious.
    New,
}

/// State of the proportional rate reduction (RFC 9937), and values that an undo restores.
#[derive(Clone, Copy, Debug, Default)]
struct Episode {
    prior_cwnd: u64,
    /// 0 = no value to restore.
    prior_ssthresh: u64,
    delivered: u64,
    out: u64,
    /// Whether an ACK that advances has arrived.
    progressed: bool,
    /// Undo is possible while this is set.
    undo_marker: Option<Seg>,
    /// Retransmissions not yet reported as duplicates; `None` = unknown, so that an undo by DSACK
    /// is impossible.
    undo_retrans: Option<u64>,
    /// Millisecond timestamp of the first retransmission of the episode.
    retrans_stamp: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct RackState {
    /// Departure and number of the most recently sent packet among those delivered.
    sent: Nanos,
    seg: Seg,
    rtt: Nanos,
    advanced: bool,
    steps: u64,
    persist: u32,
    dsack_seen: bool,
    last_delivered: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct ProbeState {
    /// snd_nxt when the probe was sent; `None` = no outstanding probe.
    high: Option<Seg>,
    was_retrans: bool,
    app_limited: bool,
}

/// Pacing by departure times (EDT): the next unit departs no earlier than `next`.
#[derive(Clone, Copy, Debug, Default)]
struct Pacer {
    next: Nanos,
    data_sent: u64,
    /// Data is held back only by the departure time.
    holds_back: bool,
}

/// Segments permitted by the SYN-ACK. Its window is not scaled.
fn first_window(cfg: &Config) -> Seg {
    match cfg.has_receive_window() {
        true => UNSCALED.min(cfg.rmem / 2) / u64::from(cfg.mss),
        false => Seg::MAX,
    }
}

/// Sending side of a connection.
pub struct Sender {
    cfg: Config,
    mss: u64,
    tick: u64,
    caps: Caps,
    cc: Controller,
    win: Window,
    board: Scoreboard,
    rtt: Rtt,
    rate: RateSampler,
    ca: CaState,
    /// One past the last segment permitted by the receive window.
    window_end: Seg,
    /// snd_nxt at the start of the current episode.
    high: Seg,
    /// One past the highest selectively acknowledged segment.
    highest_sacked: Seg,
    /// Degree of reordering in segments, and number of observations.
    reordering: u64,
    reord_seen: u64,
    dsack_dups: u64,
    /// Ranges of the previous ACK, so that only new ones are tagged.
    sack_cache: [(Seg, Seg); 4],
    rack: RackState,
    /// The rule of RFC 6675 has examined all segments below this one.
    dup_marked: Seg,
    probe: ProbeState,
    reduction: Episode,
    frto: bool,
    resend: Resend,
    /// Whether the first lost segment is retransmitted before any other transmission, regardless of
    /// window and pacer (ns-3, at the start of a recovery).
    head_at_once: bool,
    /// Consecutive timeouts without progress, and doublings of the timeout.
    retransmits: u32,
    backoff: u32,
    timer: TimerKind,
    timer_at: Nanos,
    pacer: Pacer,
    paced: bool,
    pacing_rate: BitRate,
    /// Linux's `is_cwnd_limited`, `max_packets_out`, `cwnd_usage_seq`, `snd_cwnd_used`,
    /// `snd_cwnd_stamp`.
    cwnd_limited: bool,
    max_out: u64,
    usage_seq: Seg,
    cwnd_used: u64,
    cwnd_stamp: Nanos,
    last_sent: Nanos,
    /// End of the send-buffer entry to be sent next, for senders with burst deferral.
    entry_end: Seg,
    /// Marks reported so far, and those newly reported by the latest ACK.
    marked: u32,
    new_marks: u32,
    /// Timestamp echo of the latest ACK.
    last_ts_ecr: u32,
    /// Segments available from the application; `Seg::MAX` = unlimited.
    available: Seg,
    /// Whether the receive window ends before the application's data.
    window_bound: bool,
    limits: Limits,
    acked_pkts: Vec<AckedPkt>,
    /// Bytes and time of the latest valid delivery-rate sample.
    last_delivery: (u64, Nanos),
    /// Sender of a scheme with its own stack ([`Stack::Inet`]); the fields above are then unused.
    inet: Option<Box<Inet>>,
    /// Counters.
    pub stats: Stats,
}

/// Delegates a call to the scheme's own stack, if it has one, and returns the result.
macro_rules! delegate {
    ($self:ident, $inet:ident, $host:ident => $body:expr) => {
        if let Some($inet) = $self.inet.as_deref_mut() {
            let $host = &mut $crate::inet::Host {
                cc: &mut $self.cc,
                win: &mut $self.win,
                cfg: &$self.cfg,
                stats: &mut $self.stats,
                available: $self.available,
            };
            return $body;
        }
    };
}
use delegate;

impl Sender {
    /// Sender of a connection established at `now`; `handshake` is the RTT measured with its SYN.
    pub fn new(
        cfg: Config,
        build: impl FnOnce(&ConnInit) -> Controller,
        now: Nanos,
        handshake: Option<Nanos>,
        seed: u64,
    ) -> Self {
        let tick = if cfg.hz == 0 { 0 } else { NS_PER_S / cfg.hz as u64 };
        let mss = cfg.mss as u64;
        let init = ConnInit {
            now,
            mss: cfg.mss,
            init_cwnd: cfg.init_cwnd as u64 * mss,
            srtt: handshake,
            seed,
            hz: cfg.controller_hz(),
        };
        let cc = build(&init);
        let caps = cc.caps();
        let mut rtt = Rtt::new(cfg.rto, Nanos(tick));
        if let Some(r) = handshake {
            rtt.sample(r, 0, 0);
            rtt.sample_min(now, r);
        }
        let mut s = Sender {
            mss,
            tick,
            paced: cfg.pacing || caps.pacing == perigee_cc::Pacing::Required,
            caps,
            cc,
            win: init.window(),
            board: Scoreboard::default(),
            rtt,
            rate: RateSampler::new(cfg.lasting_samples),
            ca: CaState::Open,
            window_end: first_window(&cfg),
            high: 0,
            highest_sacked: 0,
            reordering: 3,
            reord_seen: 0,
            dsack_dups: 0,
            sack_cache: [(0, 0); 4],
            rack: RackState {
                sent: Nanos::ZERO,
                seg: 0,
                rtt: Nanos::ZERO,
                advanced: false,
                steps: 1,
                persist: 0,
                dsack_seen: false,
                last_delivered: 0,
            },
            dup_marked: 0,
            probe: ProbeState::default(),
            reduction: Episode::default(),
            frto: false,
            resend: Resend::Nothing,
            head_at_once: false,
            retransmits: 0,
            backoff: 0,
            timer: TimerKind::None,
            timer_at: Nanos::MAX,
            pacer: Pacer::default(),
            pacing_rate: BitRate(0),
            cwnd_limited: false,
            max_out: 0,
            usage_seq: 0,
            cwnd_used: 0,
            cwnd_stamp: now,
            last_sent: now,
            entry_end: 0,
            marked: 0,
            new_marks: 0,
            last_ts_ecr: 0,
            available: Seg::MAX,
            window_bound: false,
            limits: Limits::new(now),
            acked_pkts: Vec::new(),
            last_delivery: (0, Nanos::ZERO),
            inet: match caps.stack {
                Stack::Host => None,
                Stack::Inet { smooths_from_zero } => {
                    Some(Box::new(Inet::new(&cfg, now, handshake, smooths_from_zero)))
                }
            },
            stats: Stats::default(),
            cfg,
        };
        s.rate.delivered_time = now;
        if s.cfg.init_ssthresh > 0 {
            s.set_ssthresh(s.cfg.init_ssthresh);
        }
        let cx = s.cx(now);
        s.cc.on_start(&cx, &mut s.win);
        if s.cfg.unpaced_first_window {
            s.caps.unpaced_start = s.cwnd() as u32;
        }
        s.update_pacing_rate();
        s
    }

    /// Passes the telemetry of the handshake to the congestion control.
    pub fn on_handshake(&mut self, now: Nanos, telemetry: &Telemetry<'_>) {
        let cx = self.cx(now);
        self.cc.on_handshake(&cx, &mut self.win, telemetry);
        self.update_pacing_rate();
    }

    /// Limits the stream to `segments` in total; a number below those already sent means that no
    /// new data is sent.
    pub fn limit(&mut self, segments: Seg) {
        self.available = segments.max(self.una_nxt().1);
    }

    /// Sets the segments available so far, and the receive window's right edge at segment `edge`.
    /// Data held back by the window does not make the connection application-limited.
    pub fn offer(&mut self, segments: Seg, edge: Seg) {
        self.available = segments.min(edge).max(self.una_nxt().1);
        self.window_bound = edge < segments;
    }

    /// Passes a signal from outside the transport to the congestion control.
    pub fn signal(&mut self, now: Nanos, signal: &perigee_cc::Signal<'_>) {
        let cx = self.cx(now);
        self.cc.on_signal(&cx, &mut self.win, signal);
        if self.inet.is_none() {
            self.after_control();
        }
    }

    /// Window of the controller.
    pub fn window(&self) -> &Window {
        &self.win
    }
    /// The congestion control.
    pub fn controller(&self) -> &Controller {
        &self.cc
    }
    /// Capabilities and requirements of the controller.
    pub fn caps(&self) -> &Caps {
        &self.caps
    }
    /// Congestion state of the connection.
    #[inline]
    pub fn ca_state(&self) -> CaState {
        self.inet.as_deref().map_or(self.ca, Inet::ca_state)
    }
    /// Packets in flight.
    pub fn in_flight(&self) -> u64 {
        self.inet.as_deref().map_or_else(|| self.board.in_flight(), Inet::in_flight)
    }
    /// First unacknowledged and next new segment.
    pub fn una_nxt(&self) -> (Seg, Seg) {
        self.inet.as_deref().map_or_else(|| (self.board.una(), self.board.nxt()), Inet::una_nxt)
    }
    /// Smoothed RTT; zero before the first sample.
    pub fn srtt(&self) -> Nanos {
        self.inet.as_deref().map_or_else(|| self.rtt.srtt(), Inet::srtt)
    }
    /// Current timeout, backoff included.
    pub fn rto(&self) -> Nanos {
        self.inet.as_deref().map_or_else(|| self.backed_off_rto(), Inet::rto)
    }
    /// Packets marked lost so far.
    pub fn lost(&self) -> u64 {
        self.inet.as_deref().map_or(self.rate.lost, Inet::lost)
    }
    /// Latest valid delivery-rate sample, if there was one.
    pub fn delivery_rate(&self) -> Option<BitRate> {
        let (bytes, interval) = self.inet.as_deref().map_or(self.last_delivery, Inet::last_delivery);
        (interval > Nanos::ZERO).then(|| BitRate::of(bytes, interval))
    }
    /// Pacing rate, if the connection is paced.
    pub fn pacing_rate(&self) -> Option<BitRate> {
        if self.inet.is_some() {
            return self.win.pacing;
        }
        self.paced.then_some(self.pacing_rate)
    }
    /// Heap memory of the connection in bytes, without the struct itself.
    pub fn memory_bytes(&self) -> usize {
        self.board.memory_bytes() + self.inet.as_deref().map_or(0, Inet::memory_bytes)
    }

    #[inline]
    fn cwnd(&self) -> u64 {
        self.win.cwnd / self.mss
    }
    #[inline]
    fn ssthresh(&self) -> u64 {
        self.win.ssthresh / self.mss
    }
    fn set_cwnd(&mut self, packets: u64) {
        self.win.cwnd = packets * self.mss;
    }
    fn set_ssthresh(&mut self, packets: u64) {
        self.win.ssthresh = packets.saturating_mul(self.mss).min(INFINITE_SSTHRESH);
    }
    fn in_reduction(&self) -> bool {
        matches!(self.ca, CaState::Cwr | CaState::Recovery)
    }

    /// Whether growth is allowed: the window was the limit, or in slow start at least half of it
    /// was used.
    fn is_cwnd_limited(&self) -> bool {
        self.cwnd_limited || (self.win.cwnd < self.win.ssthresh && self.cwnd() < 2 * self.max_out)
    }

    fn cx(&self, now: Nanos) -> Cx {
        if let Some(inet) = self.inet.as_deref() {
            return inet.cx(now, &self.cfg);
        }
        let mss = self.mss;
        Cx {
            now,
            mss: self.cfg.mss,
            in_flight: self.board.in_flight() * mss,
            outstanding: self.board.out() * mss,
            delivered: self.rate.delivered * mss,
            delivered_time: self.rate.delivered_time,
            lost: self.rate.lost * mss,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            snd_una: self.board.una() * mss,
            snd_nxt: self.board.nxt() * mss,
            edt: self.pacer.next,
            ca: self.ca,
            app_limited: self.rate.app_limited != 0,
            cwnd_limited: self.is_cwnd_limited(),
            paced: self.paced,
            last_sent: self.last_sent,
        }
    }

    /// Millisecond clock of the timestamp option; starts at 1 so that 0 can mean "none".
    fn ts_ms(now: Nanos) -> u32 {
        (now.0 / 1_000_000) as u32 + 1
    }
}
