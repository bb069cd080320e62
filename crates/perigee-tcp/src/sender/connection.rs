// SPDX-License-Identifier: Apache-2.0 OR MIT
//! State of a sender that both stacks have.

use super::{Limit, Limits, Stats};
use crate::{Config, Seg};
use perigee_cc::{Caps, CongestionControl, Controller, Cx, Window, INFINITE_SSTHRESH};
use perigee_units::Nanos;

/// Configuration, congestion control and data of a sender.
pub(crate) struct Connection {
    pub cfg: Config,
    pub mss: u64,
    pub caps: Caps,
    pub cc: Controller,
    pub win: Window,
    /// Segments available from the application; `Seg::MAX` = unlimited.
    pub available: Seg,
    /// Whether the receive window ends before the application's data.
    pub window_bound: bool,
    pub limits: Limits,
    pub stats: Stats,
}

impl Connection {
    pub fn new(cfg: Config, cc: Controller, win: Window, now: Nanos) -> Self {
        let caps = cc.caps();
        let mut conn = Connection {
            mss: u64::from(cfg.mss),
            cfg,
            caps,
            cc,
            win,
            available: Seg::MAX,
            window_bound: false,
            limits: Limits::new(now),
            stats: Stats::default(),
        };
        if conn.cfg.init_ssthresh > 0 {
            conn.set_ssthresh(conn.cfg.init_ssthresh);
        }
        conn
    }

    /// Starts the congestion control.
    pub fn start(&mut self, cx: &Cx) {
        self.cc.on_start(cx, &mut self.win);
        if self.cfg.unpaced_first_window {
            self.caps.unpaced_start = self.cwnd() as u32;
        }
    }

    #[inline]
    pub fn cwnd(&self) -> u64 {
        self.win.cwnd / self.mss
    }
    #[inline]
    pub fn ssthresh(&self) -> u64 {
        self.win.ssthresh / self.mss
    }
    pub fn set_cwnd(&mut self, packets: u64) {
        self.win.cwnd = packets * self.mss;
    }
    pub fn set_ssthresh(&mut self, packets: u64) {
        self.win.ssthresh = packets.saturating_mul(self.mss).min(INFINITE_SSTHRESH);
    }

    /// Threshold that keeps three quarters of the window (Linux `tcp_current_ssthresh`).
    pub fn current_ssthresh(&self) -> u64 {
        let cwnd = self.cwnd();
        self.ssthresh().max((cwnd >> 1) + (cwnd >> 2))
    }

    /// Whether a full segment fits in the window in addition to `in_flight`.
    #[inline]
    pub fn has_room(&self, in_flight: u64) -> bool {
        (in_flight + 1) * self.mss <= self.win.cwnd
    }

    /// Whether the send buffer has room for a segment in addition to `out`.
    #[inline]
    pub fn fits_in_buffer(&self, out: u64) -> bool {
        let size = self.cfg.buffer;
        size == 0 || (out + 1) * self.mss <= size
    }

    /// Limit of a sender held back by its pacer. A rate that follows from the window is no limit of
    /// its own.
    pub fn limit_of_pacing(&self) -> Limit {
        match self.win.pacing {
            Some(_) => Limit::Pacing,
            None => Limit::CongestionWindow,
        }
    }

    /// Limit of a sender with `out` segments outstanding that the congestion window permits more.
    pub fn limit_of_buffers(&self, out: u64) -> Limit {
        match !self.fits_in_buffer(out) && !self.cfg.window_caps {
            true => Limit::SendBuffer,
            false => Limit::ReceiveWindow,
        }
    }
}

/// Millisecond clock of the timestamp option; starts at 1 so that 0 can mean "none".
pub(crate) fn timestamp(now: Nanos) -> u32 {
    (now.0 / 1_000_000) as u32 + 1
}
