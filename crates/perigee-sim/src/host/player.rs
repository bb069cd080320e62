// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Video player: its buffer, its stalls, and the quality of its next request.
//!
//! `Abr::Buffer` is BBA-0 of Huang, Johari, McKeown, Trunnell, Watson, "A Buffer-Based Approach to
//! Rate Adaptation", SIGCOMM 2014, Algorithm 1: the reservoir of 90 s and the upper bound of 216 s,
//! which belong to a buffer of 240 s, are scaled to the actual buffer. `Abr::Rate` is RB of Yin,
//! Jindal, Sekar, Sinopoli, "A Control-Theoretic Approach for Dynamic Adaptive Video Streaming over
//! HTTP", SIGCOMM 2015: the highest quality with a rate not above the harmonic mean of the
//! throughputs of the latest five segments.

use crate::observe::VideoTotals;
use perigee_timeline::{Abr, Video};
use perigee_units::Nanos;

/// Number of recent segments over which the rate-based choice averages.
const LOOKED_AT: usize = 5;
/// Ends of the linear part of BBA-0, as fractions of the buffer.
const RESERVOIR: f64 = 90.0 / 240.0;
const UPPER: f64 = 216.0 / 240.0;

/// The player.
#[derive(Clone, Debug)]
pub struct Player {
    video: Video,
    totals: VideoTotals,
    /// Media time in the buffer at `at`.
    buffered: Nanos,
    at: Nanos,
    playing: bool,
    /// Start of the current stall.
    stalled_at: Nanos,
    quality: usize,
    /// Throughputs of the latest segments in bit/s, as a ring.
    throughputs: [f64; LOOKED_AT],
    /// All segments have arrived: an empty buffer is the end of the video, not a stall.
    over: bool,
}

impl Player {
    pub fn new(video: Video) -> Self {
        Player {
            video,
            totals: VideoTotals::default(),
            buffered: Nanos::ZERO,
            at: Nanos::ZERO,
            playing: false,
            stalled_at: Nanos::ZERO,
            quality: 0,
            throughputs: [0.0; LOOKED_AT],
            over: false,
        }
    }

    /// Plays until `now`.
    fn play(&mut self, now: Nanos) {
        let passed = now.saturating_sub(self.at);
        if self.playing {
            self.totals.played += passed.min(self.buffered);
        }
        if self.playing && passed >= self.buffered && !self.over {
            self.playing = false;
            self.stalled_at = self.at + self.buffered;
            self.buffered = Nanos::ZERO;
            self.totals.stalls += 1;
        }
        if self.playing {
            self.buffered = self.buffered.saturating_sub(passed);
        }
        self.at = now;
    }

    /// Chooses the quality of the next segment.
    pub fn choose(&mut self) -> usize {
        let chosen = match self.video.abr {
            Abr::Buffer => self.by_buffer(),
            Abr::Rate => self.by_rate(),
        };
        self.totals.switches += u64::from(self.totals.segments > 0 && chosen != self.quality);
        self.quality = chosen;
        chosen
    }

    fn by_buffer(&self) -> usize {
        let rates = self.video.ladder.rates_bps();
        let (top, buffer) = (rates.len() - 1, self.video.buffer.as_secs_f64());
        let (low, high) = (RESERVOIR * buffer, UPPER * buffer);
        let filled = self.buffered.as_secs_f64();
        if filled <= low {
            return 0;
        }
        if filled >= high {
            return top;
        }
        let (least, most) = (rates[0] as f64, rates[top] as f64);
        let line = least + (most - least) * (filled - low) / (high - low);
        let above = rates[(self.quality + 1).min(top)] as f64;
        let below = rates[self.quality.saturating_sub(1)] as f64;
        if line >= above {
            rates.iter().rposition(|r| (*r as f64) < line).unwrap_or(0)
        } else if line <= below {
            rates.iter().position(|r| (*r as f64) > line).unwrap_or(top)
        } else {
            self.quality
        }
    }

    fn by_rate(&self) -> usize {
        let known = self.throughputs.iter().filter(|t| **t > 0.0);
        let (count, inverse) = known.fold((0.0, 0.0), |(n, sum), t| (n + 1.0, sum + 1.0 / t));
        let predicted = if count > 0.0 { count / inverse } else { 0.0 };
        self.video.ladder.rates_bps().iter().rposition(|r| *r as f64 <= predicted).unwrap_or(0)
    }

    /// A segment requested at `requested` is complete. Returns the time of the next request, and the
    /// duration of the stall if one ends now.
    pub fn segment(
        &mut self,
        now: Nanos,
        requested: Nanos,
        bytes: u64,
        last: bool,
    ) -> (Nanos, Option<Nanos>) {
        self.play(now);
        let took_s = (now - requested).max(Nanos(1)).as_secs_f64();
        self.throughputs[self.totals.segments as usize % LOOKED_AT] = bytes as f64 * 8.0 / took_s;
        self.totals.segments += 1;
        self.totals.media_bits += bytes * 8;
        self.totals.media += self.video.segment;
        self.buffered += self.video.segment;
        let mut stalled = None;
        if !self.playing && (self.buffered >= self.video.start_up || last) {
            self.playing = true;
            if self.totals.playing.is_some() {
                let stood = now - self.stalled_at;
                self.totals.stalled += stood;
                stalled = Some(stood);
            }
            self.totals.playing.get_or_insert(now);
        }
        self.over |= last;
        let room = self.video.buffer.saturating_sub(self.video.segment);
        (now + self.buffered.saturating_sub(room), stalled)
    }

    /// Totals at `end`, when the viewer stops the video.
    pub fn totals(&self, end: Nanos) -> VideoTotals {
        let mut at_end = self.clone();
        at_end.play(end.max(self.at));
        let stands = self.totals.playing.is_some() && !at_end.playing;
        let stood = if stands { end.saturating_sub(at_end.stalled_at) } else { Nanos::ZERO };
        VideoTotals { stalled: at_end.totals.stalled + stood, ..at_end.totals }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_timeline::Ladder;
    use perigee_units::BitRate;

    fn s(seconds: u64) -> Nanos {
        Nanos::from_secs(seconds)
    }

    fn player(abr: Abr) -> Player {
        let ladder = Ladder::new(&[1, 2, 4, 8].map(BitRate::from_mbit)).unwrap();
        Player::new(Video { ladder, segment: s(4), buffer: s(40), start_up: s(4), abr, segments: u64::MAX })
    }

    #[test]
    fn a_player_stalls_when_its_buffer_is_empty() {
        let mut p = player(Abr::Buffer);
        assert_eq!(p.segment(s(2), s(1), 500_000, false), (s(2), None));
        // 4 s of video play from 2 s to 6 s; the next segment arrives at 9 s, and another one at 10
        // s.
        assert_eq!(p.segment(s(9), s(2), 500_000, false), (s(9), Some(s(3))));
        p.segment(s(10), s(9), 500_000, false);
        // 8 s of video play from 9 s on, until 17 s.
        let t = p.totals(s(20));
        assert_eq!((t.playing, t.stalls, t.stalled), (Some(s(2)), 2, s(3 + 3)));
        assert_eq!((t.played, t.media, t.segments, t.media_bits), (s(12), s(12), 3, 12_000_000));
        assert_eq!(p.totals(s(17) - Nanos(1)).stalls, 1);
    }

    #[test]
    fn the_end_of_a_video_is_no_stall() {
        let mut p = player(Abr::Buffer);
        p.segment(s(2), s(1), 500_000, true);
        assert_eq!(p.totals(s(60)).stalls, 0);
    }

    #[test]
    fn a_player_waits_while_its_buffer_is_full() {
        let mut p = player(Abr::Buffer);
        for _ in 0..9 {
            assert_eq!(p.segment(s(1), s(1), 500_000, false).0, s(1));
        }
        // 40 s are buffered: room for the next segment becomes free after 4 s.
        assert_eq!(p.segment(s(1), s(1), 500_000, false).0, s(5));
    }

    #[test]
    fn bba_0_follows_its_line() {
        let mut p = player(Abr::Buffer);
        let mut at = |filled: u64| {
            p.buffered = s(filled);
            p.choose()
        };
        // From 15 s (1 Mbit/s) to 36 s (8 Mbit/s), the rate rises by a third of a Mbit/s per
        // second.
        assert_eq!(at(15), 0);
        assert_eq!(at(17), 0, "1.67 Mbit/s are below the next quality");
        assert_eq!(at(19), 1, "2.33");
        assert_eq!(at(25), 2, "4.33");
        assert_eq!(at(20), 2, "2.67 are above the quality below: it stays");
        assert_eq!(at(17), 1, "1.67 are not: the lowest quality above the line");
        assert_eq!(at(36), 3);
    }

    #[test]
    fn the_rate_based_choice_takes_the_harmonic_mean_of_five() {
        let mut p = player(Abr::Rate);
        assert_eq!(p.choose(), 0);
        // Harmonic mean of 8, 8, 2, 8 and 2 Mbit/s: 5 / (3/8 + 2/2) = 3.64.
        for bytes in [1, 1_000_000, 1_000_000, 250_000, 1_000_000, 250_000] {
            p.segment(s(2), s(1), bytes, false);
        }
        assert_eq!(p.choose(), 1);
        assert_eq!(p.totals(s(2)).switches, 1);
    }
}
