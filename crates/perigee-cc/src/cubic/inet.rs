// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cubic in the OMNeT++ model of the OrbCC study (Avian688/cubic at 5366042), on the TCP of that
//! simulator ([`Stack::Inet`]).
//!
//! Differs from Linux: no HyStart, no Reno region (unless `tcp_friendliness` is set); the curve is
//! evaluated a *smoothed* RTT ahead, and that RTT starts at zero; the window grows on every
//! advancing ACK, even in recovery and whether or not it was the limit, by one packet per count
//! plus one ACKs; a recovery starts at the threshold plus three packets and ends at the threshold;
//! a timeout resets the plateau; packets are paced at 2 or 1.2 windows per smoothed RTT.

use crate::*;

const SCALE: u64 = 1024;
const BETA: u64 = 717;
/// C in 1/1024 packet/s³ over a tenth of a second, as the kernel's `bic_scale`.
const BIC_SCALE: u64 = 41;
const CUBE_SHIFT: u32 = 40;
const MS_PER_S: u64 = 1000;
/// The curve's time unit, per second.
const CURVE_HZ: u64 = 1024;
/// Interval between evaluations of the curve at the same window, in milliseconds.
const QUIET_MS: u64 = MS_PER_S / 32;
const MAX_COUNT_BEFORE_LOSS: u64 = 20;
const RENO_SLOPE_EIGHTHS: u64 = 15;
const MIN_SSTHRESH: u64 = 2;
const RECOVERY_PACKETS: u64 = 3;
const SLOW_START_PACE: f64 = 2.0;
const PACE: f64 = 1.2;
/// Initial window (RFC 3390).
const FIRST_WINDOW: u64 = 4380;

/// State of an epoch; all zero before the first one.
#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    count: u64,
    w_max: u64,
    last_cwnd: u64,
    last_ms: u64,
    origin: u64,
    k: u64,
    /// Start in milliseconds; 0 = none.
    start: u64,
    acked: u64,
    w_tcp: u64,
}

/// State of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cubic {
    fast_convergence: bool,
    friendly: bool,
    e: Epoch,
    /// Number of ACKs since the last growth.
    acks: u64,
}

impl Cubic {
    pub fn new(params: &Params) -> Self {
        Cubic {
            fast_convergence: params.bool("fast_convergence"),
            friendly: params.bool("tcp_friendliness"),
            e: Epoch::default(),
            acks: 0,
        }
    }

    fn reduce(&mut self, cx: &Cx, w: &mut Window) {
        let cwnd = cx.packets(w.cwnd);
        self.e.start = 0;
        self.e.w_max = match cwnd <= self.e.w_max && self.fast_convergence {
            true => cwnd * (SCALE + BETA) / (2 * SCALE),
            false => cwnd,
        };
        w.ssthresh = cx.bytes((cwnd * BETA / SCALE).max(MIN_SSTHRESH));
    }

    fn update(&mut self, cx: &Cx, cwnd: u64) {
        let now = cx.now.0 / 1_000_000;
        let e = &mut self.e;
        e.acked += 1;
        if e.last_cwnd == cwnd && now - e.last_ms <= QUIET_MS {
            return;
        }
        if e.start == 0 || now != e.last_ms {
            (e.last_cwnd, e.last_ms) = (cwnd, now);
            if e.start == 0 {
                (e.start, e.acked, e.w_tcp) = (now, 1, cwnd);
                let rise = e.w_max.saturating_sub(cwnd);
                e.k = approximate_cube_root((1 << CUBE_SHIFT) / (BIC_SCALE * 10) * rise);
                e.origin = e.w_max.max(cwnd);
            }
            let ahead = cx.srtt.0 / 1_000_000;
            let t = ((now - e.start + ahead) << 10) / MS_PER_S;
            let distance = u128::from(t.abs_diff(e.k));
            let rise = ((u128::from(BIC_SCALE << 3) * distance.pow(3)) >> CUBE_SHIFT) as u64;
            let target = if t < e.k { e.origin.saturating_sub(rise) } else { e.origin + rise };
            e.count = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
            if e.w_max == 0 {
                e.count = e.count.min(MAX_COUNT_BEFORE_LOSS);
            }
        }
        if self.friendly {
            self.follow_reno(cwnd);
        }
        self.e.count = self.e.count.max(2);
    }

    fn follow_reno(&mut self, cwnd: u64) {
        let e = &mut self.e;
        let step = ((cwnd * RENO_SLOPE_EIGHTHS) >> 3).max(1);
        while e.acked > step {
            e.acked -= step;
            e.w_tcp += 1;
        }
        if e.w_tcp > cwnd {
            e.count = e.count.min(cwnd / (e.w_tcp - cwnd));
        }
    }

    fn pace(cx: &Cx, w: &mut Window) {
        let factor = if w.cwnd < w.ssthresh / 2 { SLOW_START_PACE } else { PACE };
        let bytes = w.cwnd.max(cx.in_flight) as f64;
        let seconds = cx.srtt.as_secs_f64();
        if seconds > 0.0 {
            w.pacing = Some(BitRate((bytes * factor * 8.0 / seconds) as u64));
        }
    }
}

impl CongestionControl for Cubic {
    fn caps(&self) -> Caps {
        let stack = Stack::Inet { smooths_from_zero: true };
        Caps { recovery: Recovery::Own, host_restores_cwnd: false, stack, ..Caps::WINDOW }
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        let mss = u64::from(cx.mss);
        w.cwnd = FIRST_WINDOW.max(2 * mss).min(4 * mss);
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        if !ev.is_dup {
            if w.cwnd < w.ssthresh {
                w.cwnd += u64::from(cx.mss);
            } else {
                self.update(cx, cx.packets(w.cwnd));
                self.acks += 1;
                if self.acks > self.e.count {
                    self.acks = 0;
                    w.cwnd += u64::from(cx.mss);
                }
            }
        }
        Self::pace(cx, w);
    }

    fn ssthresh(&mut self, _cx: &Cx, w: &Window) -> u64 {
        w.ssthresh
    }

    fn on_transition(&mut self, cx: &Cx, w: &mut Window, t: Transition) {
        match t {
            Transition::EnterRecovery => {
                self.reduce(cx, w);
                w.cwnd = w.ssthresh + cx.bytes(RECOVERY_PACKETS);
            }
            Transition::ExitRecovery => w.cwnd = w.ssthresh,
            Transition::EnterRto => {
                self.e = Epoch::default();
                self.reduce(cx, w);
                w.cwnd = u64::from(cx.mss);
            }
            _ => {}
        }
    }

    fn mode(&self, w: &Window) -> &'static str {
        match w.cwnd < w.ssthresh {
            true => "slow start",
            false => "congestion avoidance",
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("w_max_segments", self.e.w_max as f64);
        out("k_s", self.e.k as f64 / CURVE_HZ as f64);
    }
}

/// Initial values of the cube root, by the six highest bits (Linux `cubic_root`).
const ROOTS: [u8; 64] = [
    0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173,
    176, 179, 181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221,
    222, 224, 225, 227, 229, 231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
];

/// The kernel's cube root: a table, one step of Newton's method, and a third approximated by
/// 341/1024. Its error is some tenths of a percent, or milliseconds of K.
fn approximate_cube_root(a: u64) -> u64 {
    let bits = u64::from(u64::BITS - a.leading_zeros());
    if bits < 7 {
        return (u64::from(ROOTS[a as usize]) + 35) >> 6;
    }
    let third = ((bits * 84) >> 8) - 1;
    let x = ((u64::from(ROOTS[(a >> (third * 3)) as usize]) + 10) << third) >> 6;
    let x = 2 * x + a / (x * (x - 1));
    (x * 341) >> 10
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    fn cx(ms: u64) -> Cx {
        Cx { now: Nanos::from_millis(ms), mss: MSS as u32, srtt: Nanos::from_millis(50), ..Cx::default() }
    }

    fn flow(packets: u64, ssthresh: u64) -> (Cubic, Window) {
        let init = ConnInit { now: Nanos::ZERO, mss: MSS as u32, init_cwnd: 0, srtt: None, seed: 1, hz: 0 };
        let window = Window { cwnd: packets * MSS, ssthresh: ssthresh * MSS, ..init.window() };
        (
            Cubic::new(
                &Params::new(
                    crate::cubic::PARAMS,
                    [("tcp_friendliness".to_string(), Value::Bool(false))].into(),
                )
                .unwrap(),
            ),
            window,
        )
    }

    fn advance() -> AckEvent<'static> {
        AckEvent { newly_acked: MSS, newly_cum_acked: MSS, ..AckEvent::default() }
    }

    #[test]
    fn it_begins_with_4380_bytes_and_grows_by_a_packet_per_ack_that_advances() {
        let (mut c, mut w) = flow(1, 400);
        c.on_start(&cx(0), &mut w);
        assert_eq!(w.cwnd, 4380);
        c.on_ack(&cx(50), &mut w, &AckEvent { newly_acked: 9 * MSS, ..advance() });
        assert_eq!(w.cwnd, 4380 + MSS);
        c.on_ack(&cx(50), &mut w, &AckEvent { is_dup: true, ..advance() });
        assert_eq!(w.cwnd, 4380 + MSS);
    }

    #[test]
    fn growth_takes_an_ack_more_than_the_count() {
        let (mut c, mut w) = flow(100, 50);
        let mut acks = vec![];
        let mut last = 0;
        for n in 1..200 {
            let before = w.cwnd;
            c.on_ack(&cx(1000), &mut w, &advance());
            if w.cwnd > before {
                acks.push(n - last);
                last = n;
            }
        }
        // Before the first loss the count is at most 20.
        assert!(acks.len() > 5 && acks.iter().all(|&n| n == 21), "{acks:?}");
    }

    #[test]
    fn a_recovery_begins_three_packets_above_the_threshold_and_a_timeout_forgets_the_plateau() {
        let (mut c, mut w) = flow(100, 50);
        c.on_transition(&cx(1000), &mut w, Transition::EnterRecovery);
        assert_eq!((w.ssthresh / MSS, w.cwnd / MSS), (70, 73));
        c.on_transition(&cx(1100), &mut w, Transition::ExitRecovery);
        assert_eq!(w.cwnd, w.ssthresh);
        assert_eq!(c.e.w_max, 100);
        c.on_transition(&cx(1200), &mut w, Transition::EnterRecovery);
        assert_eq!(c.e.w_max, 70 * 1741 / 2048, "fast convergence");
        w.cwnd = 60 * MSS;
        c.on_transition(&cx(1300), &mut w, Transition::EnterRto);
        assert_eq!((c.e.w_max, w.cwnd, w.ssthresh / MSS), (60, MSS, 42));
    }

    #[test]
    fn packets_are_paced_at_two_windows_per_rtt_below_half_of_the_threshold_and_1_2_above() {
        for (packets, factor) in [(100, 2.0), (300, 1.2)] {
            let (mut c, mut w) = flow(packets, 400);
            c.on_ack(&cx(50), &mut w, &AckEvent { is_dup: true, ..advance() });
            let rate = packets as f64 * MSS as f64 * 8.0 * factor / 0.05;
            assert_eq!(w.pacing, Some(BitRate(rate as u64)));
        }
    }

    #[test]
    fn the_cube_root_is_the_kernels() {
        for a in [64u64, 1000, 123_456_789, 1 << 40, 2_681_735_677 * 150, u64::MAX] {
            let (found, exact) = (approximate_cube_root(a) as f64, libm::cbrt(a as f64));
            assert!((found / exact - 1.0).abs() < 0.02, "{a}: {found} {exact}");
        }
        // 153 packets below the plateau.
        assert_eq!(approximate_cube_root((1 << 40) / 410 * 153), 7429);
    }
}
