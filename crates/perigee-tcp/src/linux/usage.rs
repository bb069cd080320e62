// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Congestion-window validation: the use that was made of the window, and its decay when unused
//! (Linux's form of RFC 7661).

use super::Linux;
use crate::scoreboard::Scoreboard;
use crate::sender::Connection;
use crate::Seg;
use perigee_cc::CaState;
use perigee_units::Nanos;

/// Use of the congestion window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    /// Linux's `is_cwnd_limited`, `max_packets_out`, `cwnd_usage_seq`, `snd_cwnd_used`,
    /// `snd_cwnd_stamp`.
    limited: bool,
    max_out: u64,
    seq: Seg,
    used: u64,
    stamp: Nanos,
}

impl Usage {
    pub fn new(now: Nanos) -> Self {
        Usage { limited: false, max_out: 0, seq: 0, used: 0, stamp: now }
    }

    /// Whether growth is allowed: the window was the limit, or in slow start at least half of it
    /// was used.
    pub fn permits_growth(&self, conn: &Connection) -> bool {
        self.limited || (conn.win.cwnd < conn.win.ssthresh && conn.cwnd() < 2 * self.max_out)
    }

    /// Records the use in this round.
    fn record(&mut self, board: &Scoreboard, limited: bool) {
        let out = board.out();
        if board.una() >= self.seq || limited || (!self.limited && out > self.max_out) {
            self.limited = limited;
            self.max_out = out;
            self.seq = board.nxt();
        }
    }

    /// Starts a new period of use.
    fn restart(&mut self, now: Nanos) {
        self.used = 0;
        self.stamp = now;
    }
}

impl Linux {
    /// Records whether the window was the limit in this round.
    pub(super) fn validate_window(&mut self, now: Nanos, limited: bool) {
        self.usage.record(&self.board, limited);
        if self.usage.permits_growth(&self.conn) {
            return self.usage.restart(now);
        }
        self.usage.used = self.usage.used.max(self.board.out());
        let stale = now.saturating_sub(self.usage.stamp) >= self.rto();
        if self.conn.cfg.slow_start_after_idle && self.conn.caps.idle_decay && stale {
            self.decay_unused_window(now);
        }
    }

    fn decay_unused_window(&mut self, now: Nanos) {
        if self.episode.ca == CaState::Open {
            let conn = &mut self.conn;
            let used = self.usage.used.max(u64::from(conn.cfg.init_cwnd));
            if used < conn.cwnd() {
                conn.set_ssthresh(conn.current_ssthresh());
                conn.set_cwnd((conn.cwnd() + used) >> 1);
            }
            self.usage.used = 0;
        }
        self.usage.stamp = now;
    }

    /// After an idle time longer than a timeout, halves the window once per timeout, down to the
    /// restart window.
    pub(super) fn restart_after_idle(&mut self, now: Nanos) {
        if !self.conn.cfg.slow_start_after_idle
            || !self.conn.caps.idle_decay
            || self.conn.stats.sent == 0
            || !self.has_new_data()
        {
            return;
        }
        let rto = self.rto();
        let mut idle = now.saturating_sub(self.last_sent);
        if idle <= rto {
            return;
        }
        let conn = &mut self.conn;
        conn.set_ssthresh(conn.current_ssthresh());
        let mut cwnd = conn.cwnd();
        let restart = u64::from(conn.cfg.init_cwnd).min(cwnd);
        while idle > rto && cwnd > restart {
            idle -= rto;
            cwnd >>= 1;
        }
        conn.set_cwnd(cwnd.max(restart));
        self.usage.restart(now);
    }
}
