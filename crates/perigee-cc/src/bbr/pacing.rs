// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pacing rate of the BBR family, and the window restored after recovery.

use super::units::{all_bytes_per_s, bandwidth, bytes_per_s, Bw};
use crate::*;

/// RTT assumed before the first sample if the handshake yielded none.
const DEFAULT_RTT_US: u64 = 1000;

/// Headers of TCP with timestamps and IP.
const HEADERS: u32 = 52;

/// Computes the pacing rate from a bandwidth and a gain.
#[derive(Clone, Debug)]
pub(crate) struct PacingRate {
    mss: u32,
    whole_packets: bool,
    startup_gain: u64,
    seen_rtt: bool,
}

impl PacingRate {
    pub fn new(mss: u32, startup_gain: u64) -> Self {
        PacingRate { mss, whole_packets: false, startup_gain, seen_rtt: false }
    }

    /// As in Linux before 4.20: the size of a packet includes its headers, and there is no margin.
    /// Without a pacing queue discipline only payload is charged to that rate, so that the payload
    /// is sent at MTU/MSS times the estimate.
    pub fn count_whole_packets(&mut self) {
        self.whole_packets = true;
    }

    pub fn mss(&self) -> u32 {
        self.mss
    }

    fn rate(&self, bw: Bw, gain: u64) -> u64 {
        match self.whole_packets {
            true => all_bytes_per_s(bw, gain, self.mss + HEADERS),
            false => bytes_per_s(bw, gain, self.mss),
        }
    }

    /// Initial rate: the current window per RTT, times the gain of STARTUP.
    pub fn initialise(&mut self, cx: &Cx, w: &mut Window) {
        self.mss = cx.mss;
        let rtt_us = if cx.srtt > Nanos::ZERO {
            self.seen_rtt = true;
            cx.srtt.as_micros().max(1)
        } else {
            DEFAULT_RTT_US
        };
        let bw = bandwidth(cx.packets(w.cwnd), rtt_us);
        set_bytes_per_s(w, self.rate(bw, self.startup_gain));
    }

    /// `pipe_full`: the rate may only fall if this is set.
    pub fn set(&mut self, cx: &Cx, w: &mut Window, bw: Bw, gain: u64, pipe_full: bool) {
        if !self.seen_rtt && cx.srtt > Nanos::ZERO {
            self.initialise(cx, w);
        }
        let rate = self.rate(bw, gain);
        if pipe_full || rate > paced_bytes_per_s(w) {
            set_bytes_per_s(w, rate);
        }
    }
}

/// The pacing rate in payload bytes per second.
pub(crate) fn paced_bytes_per_s(w: &Window) -> u64 {
    w.pacing.map_or(0, |r| r.0 / 8)
}

/// Sets the pacing rate. Zero means an unknown bandwidth (LeoCC's filter before its first round).
/// Linux does not pace in this case; here the previous rate is kept, and the window is the limit. A
/// rate of one byte per second would stop the flow for minutes.
fn set_bytes_per_s(w: &mut Window, rate: u64) {
    if rate > 0 || w.pacing.is_none() {
        w.pacing = Some(BitRate(rate.max(1).saturating_mul(8)));
    }
}

/// Window before a disturbance (recovery, timeout, PROBE_RTT).
#[derive(Clone, Debug, Default)]
pub(crate) struct PriorCwnd {
    /// In packets.
    pub cwnd: u64,
    /// State at the end of the previous ACK.
    pub ca: CaState,
}

impl PriorCwnd {
    /// Saves the window. During a disturbance the larger value is kept, as the current window has
    /// already been reduced.
    pub fn save(&mut self, cx: &Cx, w: &Window, in_probe_rtt: bool) {
        let cwnd = cx.packets(w.cwnd);
        let undisturbed = self.ca < CaState::Recovery && !in_probe_rtt;
        self.cwnd = if undisturbed { cwnd } else { self.cwnd.max(cwnd) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bandwidth_that_is_not_known_stops_nobody() {
        let init = ConnInit { now: Nanos::ZERO, mss: 1448, init_cwnd: 14480, srtt: None, seed: 1, hz: 1000 };
        let cx = Cx { mss: 1448, srtt: Nanos::from_millis(50), ..Cx::default() };
        let mut w = init.window();
        let mut pacing = PacingRate::new(1448, 739);
        pacing.initialise(&cx, &mut w);
        let before = w.pacing.unwrap();
        pacing.set(&cx, &mut w, 0, 256, true);
        assert_eq!(w.pacing, Some(before));
    }
}
