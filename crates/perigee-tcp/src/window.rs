// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Receive window for an application that reads at once: how Linux 6.12 sizes the receive
//! buffer, and which part of it the peer may use (`tcp_select_initial_window`, `tcp_grow_window`,
//! `tcp_rcv_space_adjust`, `__tcp_select_window`).
//!
//! Half of the initial buffer is offered at first. The memory used per packet is known after the
//! first packet; from then on the window grows by two segments for each packet that arrives, up to
//! the number of packets that fit in the buffer. The buffer itself grows when the application has
//! read more in a round trip than in any earlier one.

use crate::Config;
use perigee_units::Nanos;

/// Share of the buffer, in 1/256, that is offered before the first packet (Linux
/// `TCP_DEFAULT_SCALING_RATIO`).
const FIRST_SHARE: u64 = 128;
/// Largest window without scaling: that of the SYN-ACK.
pub const UNSCALED: u64 = 65_535;

/// The receive buffer of one connection.
#[derive(Clone, Debug)]
pub struct ReceiveWindow {
    mss: u64,
    /// Memory in bytes: current and maximum.
    buffer: u64,
    most: u64,
    /// Payload share of a full packet's memory, in 1/256.
    share: u64,
    /// Memory used by a full packet.
    truesize: u64,
    /// The window is a multiple of this many bytes.
    unit: u64,
    /// Largest window that the buffer permits, and current limit of the offered window
    /// (`rcv_ssthresh`).
    clamp: u64,
    allowed: u64,
    /// Latest window, and the next byte expected at that time.
    offered: u64,
    offered_at: u64,
    /// Bytes read in the best round trip so far; start of the current round trip, and its first
    /// byte.
    read: u64,
    round_began: Nanos,
    round_from: u64,
    read_to: u64,
    /// Smoothed RTT in eighths of a microsecond; zero = unknown.
    rtt_us8: u64,
    last_echo: u32,
}

impl ReceiveWindow {
    /// Window of a connection that starts at `now`; `None` if the configuration sets no receive
    /// window.
    pub fn new(config: &Config, now: Nanos) -> Option<Self> {
        if !config.has_receive_window() {
            return None;
        }
        let mss = u64::from(config.mss);
        let first = (config.rmem * FIRST_SHARE) >> 8;
        let offered = if first > mss { first - first % mss } else { first };
        let share = ((mss << 8) / config.truesize).max(1);
        let clamp = ((config.rmem * share) >> 8).max(2 * mss);
        let most = config.rmem_max.max(config.rmem);
        Some(ReceiveWindow {
            mss,
            buffer: config.rmem,
            most,
            share,
            truesize: config.truesize,
            unit: 1 << u64::from(most.ilog2()).saturating_sub(15).min(14),
            clamp,
            allowed: offered.min(clamp),
            offered,
            offered_at: 0,
            read: offered.min(10 * mss),
            round_began: now,
            round_from: 0,
            read_to: 0,
            rtt_us8: 0,
            last_echo: 0,
        })
    }

    fn of_memory(&self, bytes: u64) -> u64 {
        (bytes * self.share) >> 8
    }

    /// Free space while `held` packets wait for a hole to be filled.
    fn free(&self, held: u64) -> u64 {
        self.of_memory(self.buffer.saturating_sub(held * self.truesize))
    }

    /// Handles the echo of timestamp `echo_ms` (0 = none) in a data packet: an RTT sample, once per
    /// timestamp, at the resolution of that clock.
    #[inline]
    pub fn on_echo(&mut self, now: Nanos, echo_ms: u32) {
        if echo_ms == 0 || echo_ms == self.last_echo {
            return;
        }
        self.last_echo = echo_ms;
        let now_ms = (now.0 / 1_000_000) as u32 + 1;
        let sample = u64::from(now_ms.saturating_sub(echo_ms).max(1)) * 1000;
        match self.rtt_us8 {
            old if old == 0 || sample * 8 < old => self.rtt_us8 = sample * 8,
            old => self.rtt_us8 = old - old / 8 + sample,
        }
    }

    /// Grows the window for a full packet that arrived and fits; `held` packets wait for a hole.
    /// True if the window may have grown.
    pub fn grow(&mut self, held: u64) -> bool {
        let most = self.clamp.min(self.free(held));
        if most <= self.allowed {
            return false;
        }
        self.allowed += (2 * self.mss).min(most - self.allowed);
        true
    }

    /// Notes that the application has read all bytes before `next`: the buffer grows after a round
    /// trip with more bytes than any earlier one. Data above a hole is not read, and nothing is
    /// measured then.
    pub fn on_read(&mut self, now: Nanos, next: u64) {
        if next == self.read_to {
            return;
        }
        self.read_to = next;
        let round_us = now.saturating_sub(self.round_began).0 / 1000;
        if self.rtt_us8 == 0 || round_us < self.rtt_us8 / 8 {
            return;
        }
        let read = next - self.round_from;
        if read > self.read {
            let needed = 2 * read + 16 * self.mss;
            let rise = needed * (read - self.read) / self.read;
            let buffer = (((needed + 2 * rise) << 8) / self.share).min(self.most);
            if buffer > self.buffer {
                self.buffer = buffer;
                self.clamp = self.of_memory(buffer);
            }
            self.read = read;
        }
        (self.round_began, self.round_from) = (now, next);
    }

    /// True if the window that could be offered with `held` packets in the buffer is not smaller
    /// than the latest one.
    pub fn is_whole(&self, held: u64) -> bool {
        self.free(held).min(self.allowed).next_multiple_of(self.unit) >= self.offered
    }

    /// Window for an acknowledgement up to byte `next` while `held` packets wait for a hole: one
    /// past the last byte that the peer may send, and whether memory is so short that no ACK is due
    /// at once.
    pub fn offer(&mut self, next: u64, held: u64) -> (u64, bool) {
        let free = self.free(held);
        let short = free < self.clamp >> 1;
        let window = free.min(self.allowed).next_multiple_of(self.unit);
        // An offered window is never withdrawn.
        let left = (self.offered_at + self.offered).saturating_sub(next).next_multiple_of(self.unit);
        self.offered = window.max(left);
        self.offered_at = next;
        (next + self.offered, short)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(rmem: u64, rmem_max: u64) -> Config {
        Config { rmem, rmem_max, ..Config::default() }
    }

    fn window(rmem: u64, rmem_max: u64) -> ReceiveWindow {
        ReceiveWindow::new(&config(rmem, rmem_max), Nanos::ZERO).unwrap()
    }

    #[test]
    fn half_of_the_buffer_is_offered_at_once_and_two_segments_more_per_packet() {
        let mut w = window(8 << 20, 64 << 20);
        let mss = 1448;
        let packets = |w: &mut ReceiveWindow, next: u64| (w.offer(next * mss, 0).0 - next * mss) / mss;
        assert_eq!(packets(&mut w, 0), 2896);
        let mut grown = 0;
        while w.grow(0) {
            grown += 1;
        }
        // 8 MiB × 170 / 256 hold 3847 packets of 2176 bytes.
        assert_eq!((grown, packets(&mut w, 475)), (476, 3847));
    }

    #[test]
    fn what_was_offered_is_not_taken_back() {
        let mut w = window(1 << 20, 1 << 20);
        let (edge, _) = w.offer(0, 0);
        let (later, short) = w.offer(0, 300);
        assert!(later >= edge && short, "300 packets of 2176 bytes are more than half of a MiB");
        assert!(w.offer(1448, 0).0 >= edge && !w.offer(1448, 0).1);
    }

    #[test]
    fn the_buffer_follows_what_is_read_in_a_round_trip() {
        let mut w = window(131_072, 6 << 20);
        w.on_echo(Nanos::from_millis(50), 1);
        // Twice the amount in each round trip: slow start.
        let (mut next, mut edge) = (0, 0);
        for round in 1..=10u64 {
            next += 14_480 << (round - 1);
            w.on_read(Nanos::from_millis(51 * round), next);
            while w.grow(0) {}
            edge = w.offer(next, 0).0 - next;
        }
        assert_eq!(w.buffer, 6 << 20, "at its largest");
        assert_eq!(edge, (((6 << 20) * 170u64) >> 8).next_multiple_of(128));
        let mut held = window(131_072, 6 << 20);
        held.on_echo(Nanos::from_millis(50), 1);
        held.on_read(Nanos::from_millis(51), 14_480);
        held.on_read(Nanos::from_millis(101), 14_480);
        held.on_read(Nanos::from_millis(200), 144_800);
        assert_eq!(
            held.round_began,
            Nanos::from_millis(200),
            "what is read after a hole belongs to the round before"
        );
        let mut idle = window(131_072, 6 << 20);
        idle.on_read(Nanos::from_secs(1), 1 << 20);
        assert_eq!(idle.buffer, 131_072, "without an RTT there is no round trip");
    }

    #[test]
    fn no_window_where_a_buffer_is_fixed_or_switched_off() {
        let fixed = Config { buffer: 100_000, ..Config::default() };
        assert!(ReceiveWindow::new(&fixed, Nanos::ZERO).is_none());
        assert!(ReceiveWindow::new(&config(0, 0), Nanos::ZERO).is_none());
    }
}
