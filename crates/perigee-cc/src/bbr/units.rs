// SPDX-License-Identifier: Apache-2.0 OR MIT
//! BBR's fixed-point units and the conversions between them, truncating where the kernel truncates.

/// Bandwidth in packets per microsecond, scaled by 2^24.
pub type Bw = u64;

/// Fractional bits of the bandwidth.
pub const BW_SHIFT: u32 = 24;
/// Gain of 1: gains are in 1/256.
pub const UNIT: u64 = 1 << 8;
/// Bound that keeps all products below within range; 10^5 times the fastest existing link.
const BW_MAX: Bw = 1 << 40;

/// Packet counts below this can be scaled within 64 bits.
const NARROW: u64 = 1 << (u64::BITS - BW_SHIFT);

/// Pacing rate in percent of the estimate: the queue at the bottleneck should drain, not build up.
const PACED_PERCENT: u128 = 99;

/// Bandwidth of `packets` in `us` microseconds (> 0).
#[inline]
pub fn bandwidth(packets: u64, us: u64) -> Bw {
    match packets {
        // Nearly all cases: a 64-bit division is much cheaper.
        0..NARROW => (packets << BW_SHIFT).checked_div(us).unwrap_or(0).min(BW_MAX),
        _ => ((packets as u128) << BW_SHIFT).checked_div(us as u128).unwrap_or(0).min(BW_MAX as u128) as Bw,
    }
}

/// The same, rounded up as in version 3: rounding down can get stuck at very low rates.
#[inline]
pub fn bandwidth_ceil(packets: u64, us: u64) -> Bw {
    match packets {
        _ if us == 0 => 0,
        0..NARROW => (packets << BW_SHIFT).div_ceil(us).min(BW_MAX),
        _ => ((packets as u128) << BW_SHIFT).div_ceil(us as u128).min(BW_MAX as u128) as Bw,
    }
}

/// Packets transmitted in `us` microseconds, rounded down.
#[inline]
pub fn packets_in(bw: Bw, us: u64) -> u64 {
    ((bw as u128 * us as u128) >> BW_SHIFT).min(u32::MAX as u128) as u64
}

/// Packets of `gain` times the bandwidth-delay product, rounded up.
#[inline]
pub fn bdp(bw: Bw, min_rtt_us: u64, gain: u64) -> u64 {
    let scaled = (bw as u128 * min_rtt_us as u128 * gain as u128) >> 8;
    scaled.div_ceil(1 << BW_SHIFT).min(u32::MAX as u128) as u64
}

/// The same, rounded down.
pub fn whole_bdp(bw: Bw, min_rtt_us: u64, gain: u64) -> u64 {
    let scaled = (bw as u128 * min_rtt_us as u128 * gain as u128) >> 8;
    (scaled >> BW_SHIFT).min(u32::MAX as u128) as u64
}

/// `gain` times `bw` in payload bytes per second, less the pacing margin.
#[inline]
pub fn bytes_per_s(bw: Bw, gain: u64, mss: u32) -> u64 {
    percent_per_s(bw, gain, mss, PACED_PERCENT)
}

/// `gain` times `bw` in bytes per second for packets of `bytes`, without the margin.
pub fn all_bytes_per_s(bw: Bw, gain: u64, bytes: u32) -> u64 {
    percent_per_s(bw, gain, bytes, 100)
}

#[inline]
fn percent_per_s(bw: Bw, gain: u64, bytes: u32, percent: u128) -> u64 {
    let per_us = (bw as u128 * bytes as u128 * gain as u128) >> 8;
    ((per_us * (10_000 * percent)) >> BW_SHIFT) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_initial_pacing_rate_of_the_kernel_is_met() {
        // RTT 50.295 ms, 10 packets of 1448 bytes, STARTUP gain: 6.581 Mbit/s.
        let rate = bytes_per_s(bandwidth(10, 50_295), 739, 1448) * 8;
        assert_eq!(rate / 1000, 6580);
    }

    #[test]
    fn kernels_before_the_margin_pace_whole_packets() {
        let bw = bandwidth(10_000, 1_000_000);
        let share = |bytes_per_s: u64, packet: f64| bytes_per_s as f64 / (10_000.0 * packet);
        assert!((share(all_bytes_per_s(bw, UNIT, 1500), 1500.0) - 1.0).abs() < 1e-5);
        assert!((share(bytes_per_s(bw, UNIT, 1448), 1448.0) - 0.99).abs() < 1e-5);
        assert_eq!(all_bytes_per_s(bw, 2 * UNIT, 1500) / 2, all_bytes_per_s(bw, UNIT, 1500));
    }

    #[test]
    fn a_bandwidth_delay_product_rounds_up_to_whole_packets() {
        let bw = bandwidth(839, 500_000);
        assert_eq!(bdp(bw, 50_000, UNIT), 84);
        assert_eq!(packets_in(bw, 50_000), 83);
    }

    #[test]
    fn both_ways_of_dividing_agree_and_rounding_up_rounds_up() {
        for packets in [NARROW - 1, NARROW] {
            assert_eq!(bandwidth(packets, 1 << 30), BW_MAX.min(((packets as u128) << BW_SHIFT >> 30) as u64));
        }
        assert_eq!((bandwidth(1, 1000), bandwidth_ceil(1, 1000)), (16_777, 16_778));
    }

    #[test]
    fn absurd_inputs_saturate() {
        let bw = bandwidth(u64::MAX, 1);
        assert!(bytes_per_s(bw, 739, u32::MAX) > 0 && bdp(bw, u64::MAX, 739) == u32::MAX as u64);
        assert_eq!((bandwidth(1, 0), bandwidth_ceil(1, 0)), (0, 0));
    }
}
