// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sending side of Linux 6.12.
//!
//! The state is divided by responsibility; each part has the methods that need no other. The order
//! of steps within an ACK is that of Linux, in [`Linux::on_ack`].

mod detection;
mod episode;
mod input;
mod marks;
mod output;
mod pacing;
mod rack;
mod recovery;
mod sack;
mod timers;
mod usage;

use crate::rate::RateSampler;
use crate::rtt::Rtt;
use crate::scoreboard::Scoreboard;
use crate::sender::{Connection, Limit};
use crate::window::UNSCALED;
use crate::{Config, Seg};
use detection::Detection;
use episode::Episode;
use marks::Marks;
use pacing::Pacing;
use perigee_cc::{AckedPkt, CaState, Cx};
use perigee_units::{BitRate, Nanos, NS_PER_S};
use rack::Probe;
use timers::Timers;
use usage::Usage;

/// Sending side of a connection.
pub(crate) struct Linux {
    pub conn: Connection,
    board: Scoreboard,
    rtt: Rtt,
    rate: RateSampler,
    detection: Detection,
    probe: Probe,
    episode: Episode,
    timers: Timers,
    pacing: Pacing,
    usage: Usage,
    marks: Marks,
    /// One past the last segment permitted by the receive window.
    window_end: Seg,
    last_sent: Nanos,
    /// End of the send-buffer entry to be sent next, for senders with burst deferral.
    entry_end: Seg,
    /// Packets delivered by the latest ACK, for schemes that request them.
    acked_pkts: Vec<AckedPkt>,
}

/// Segments permitted by the SYN-ACK. Its window is not scaled.
fn first_window(cfg: &Config) -> Seg {
    match cfg.has_receive_window() {
        true => UNSCALED.min(cfg.rmem / 2) / u64::from(cfg.mss),
        false => Seg::MAX,
    }
}

impl Linux {
    /// A connection that was established at `now`; `handshake` is the RTT measured with its SYN.
    pub fn new(conn: Connection, now: Nanos, handshake: Option<Nanos>) -> Self {
        let cfg = &conn.cfg;
        let tick = Nanos(if cfg.hz == 0 { 0 } else { NS_PER_S / u64::from(cfg.hz) });
        let mut rtt = Rtt::new(cfg.rto, tick);
        if let Some(r) = handshake {
            rtt.sample(r, 0, 0);
            rtt.sample_min(now, r);
        }
        let mut rate = RateSampler::new(cfg.lasting_samples);
        rate.delivered_time = now;
        Linux {
            board: Scoreboard::default(),
            rtt,
            rate,
            detection: Detection::default(),
            probe: Probe::default(),
            episode: Episode::default(),
            timers: Timers::new(tick.0, cfg.timer_wheel),
            pacing: Pacing::new(cfg.pacing || conn.caps.pacing == perigee_cc::Pacing::Required),
            usage: Usage::new(now),
            marks: Marks::default(),
            window_end: first_window(cfg),
            last_sent: now,
            entry_end: 0,
            acked_pkts: Vec::new(),
            conn,
        }
    }

    #[inline]
    pub fn ca_state(&self) -> CaState {
        self.episode.ca
    }
    pub fn in_flight(&self) -> u64 {
        self.board.in_flight()
    }
    pub fn una_nxt(&self) -> (Seg, Seg) {
        (self.board.una(), self.board.nxt())
    }
    pub fn srtt(&self) -> Nanos {
        self.rtt.srtt()
    }
    /// Current timeout, backoff included.
    pub fn rto(&self) -> Nanos {
        self.timers.backed_off(self.rtt.rto(), self.conn.cfg.rto.max)
    }
    pub fn lost(&self) -> u64 {
        self.rate.lost
    }
    pub fn last_delivery(&self) -> (u64, Nanos) {
        self.rate.last
    }
    pub fn pacing_rate(&self) -> Option<BitRate> {
        self.pacing.on.then_some(self.pacing.rate)
    }
    pub fn memory_bytes(&self) -> usize {
        self.board.memory_bytes()
    }

    /// Why it sends no more.
    #[inline]
    pub fn limit(&self) -> Limit {
        if self.pacing.holds_back {
            return self.conn.limit_of_pacing();
        }
        let unsent = self.board.nxt() < self.conn.available || self.conn.window_bound;
        if self.board.lost > self.board.retrans || (unsent && (!self.has_room() || self.has_new_data())) {
            return Limit::CongestionWindow;
        }
        match unsent {
            true => self.conn.limit_of_buffers(self.board.out()),
            false => Limit::Application,
        }
    }

    /// Whether a full segment fits in the window.
    #[inline]
    fn has_room(&self) -> bool {
        self.conn.has_room(self.board.in_flight())
    }

    fn has_new_data(&self) -> bool {
        self.board.nxt() < self.conn.available
            && self.conn.fits_in_buffer(self.board.out())
            && self.board.nxt() < self.window_end
    }

    pub fn cx(&self, now: Nanos) -> Cx {
        let conn = &self.conn;
        let mss = conn.mss;
        Cx {
            now,
            mss: conn.cfg.mss,
            in_flight: self.board.in_flight() * mss,
            outstanding: self.board.out() * mss,
            delivered: self.rate.delivered * mss,
            delivered_time: self.rate.delivered_time,
            lost: self.rate.lost * mss,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            snd_una: self.board.una() * mss,
            snd_nxt: self.board.nxt() * mss,
            edt: self.pacing.next,
            ca: self.episode.ca,
            app_limited: self.rate.app_limited != 0,
            cwnd_limited: self.usage.permits_growth(conn),
            paced: self.pacing.on,
            last_sent: self.last_sent,
        }
    }
}
