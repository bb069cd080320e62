// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Integer version of [`crate::meter`] for switches: bounded width, no multiplication or division.
//!
//! Idea: products and quotients of the reference meter become sums in logarithms. A logarithm is a
//! leading-zero count and one look-up in a table of 2,048 entries, its inverse a shift and one
//! look-up in a table of 4,096:
//!
//! ```text
//! lg x  = 4096 log2 x, rounded               r = header's base RTT (µs), s = payload (B), w = header's window (uf16, B)
//! a     = lg s + lg r − lg w                 A += 2^(a/4096)        r·s/w   in 2^-24 µs
//! b     = a + lg r                           B += 2^(b/4096)        r²·s/w  in 2^-10 µs²
//! avgRTT = 2^((lg B − lg A)/4096)            once per interval, by the same tables
//! flowCnt: 65,536 cells hold the interval in which a flow last hashed to them; a cell that is old counts one more,
//!          occupied n of m: n + n²/2m + n³/3m² flows (linear counting, Whang et al. 1990, its series), once per interval
//! ```
//!
//! | per port | bits |
//! |---|---|
//! | A, B | 64, 64 |
//! | deadline (µs; 0 = the timer is off) | 48 |
//! | avgRTT, flowCnt, its flag, interval number, occupied cells | 20, 12, 1, 16, 17 |
//! | txBytes | 31 |
//! | cells | 65,536 × 16 |
//!
//! Tables are shared by all ports: 2,048 and 4,096 entries of 16 bits, 12 KiB. Per packet: 3
//! logarithms, 2 inverses, 5 additions of logarithms, 2 of sums, one cell read and written. The
//! 16-bit interval number wraps around after 65,535 intervals, about 65 s at a mean RTT of 1 ms; a
//! control plane must then clear the cells.
//!
//! `p4/meter.p4` of this crate implements the same in P4₁₆; `tests/p4` compares the arithmetic of
//! the two.

use crate::wire::{FLAG_FLOWS_SATURATED, FLOWS_MAX, RTT_MAX_US};
use std::sync::LazyLock;

/// Bits of a logarithm's fraction.
const FRACTION: u32 = 12;
/// Bits of a number that its logarithm uses, after the leading one.
const MANTISSA: u32 = 11;
/// Fractions of the sums: r·s/w is small where windows are large.
const SHIFT_A: u32 = 24;
const SHIFT_B: u32 = 10;
/// Cells of the flow counter.
pub const CELLS: usize = 1 << 16;
/// 4096 log2 of twice their number, and of three times its square.
const LG_2M: i32 = 17 << FRACTION;
const LG_3MM: i32 = (32 << FRACTION) + 6492;
/// Interval until the first mean RTT is known, in microseconds.
const FIRST_INTERVAL_US: u64 = 10_000;
/// The timer is off.
const OFF: u64 = 0;
/// Lower bound on the mean RTT published by a port.
const SHORTEST_US: u32 = 1;

/// Tables that all meters share.
pub static TABLES: LazyLock<Tables> = LazyLock::new(Tables::default);

/// Logarithms of 1 to 2 and their inverses.
#[derive(Clone, Debug)]
pub struct Tables {
    /// 4096 log2(1 + i/2048).
    pub log: [u16; 1 << MANTISSA],
    /// 2^15 · 2^(i/4096), from 2^15 to 2^16 − 1.
    pub exp: [u16; 1 << FRACTION],
}

impl Default for Tables {
    fn default() -> Self {
        let log = |i: usize| libm::round(4096.0 * libm::log2(1.0 + i as f64 / 2048.0)) as u16;
        let exp = |i: usize| libm::round(32768.0 * libm::exp2(i as f64 / 4096.0)) as u16;
        Tables { log: std::array::from_fn(log), exp: std::array::from_fn(exp) }
    }
}

impl Tables {
    /// 4096 log2 x for x > 0.
    pub fn lg(&self, x: u64) -> i32 {
        let place = u64::BITS - 1 - x.leading_zeros();
        // Eleven bits after the leading one; the twelfth rounds, and may carry into the next power.
        let aligned = if place > MANTISSA {
            let shift = place - MANTISSA;
            (x + ((1 << shift) >> 1)) >> shift
        } else {
            x << (MANTISSA - place)
        };
        let carried = (aligned >> (MANTISSA + 1)) as u32;
        let index = if carried == 1 { 0 } else { aligned as usize & ((1 << MANTISSA) - 1) };
        (((place + carried) << FRACTION) + u32::from(self.log[index])) as i32
    }

    /// 4096 log2 of a `uf16` code above zero, which already has an exponent and a mantissa.
    pub fn lg_uf16(&self, code: u16) -> i32 {
        let (exponent, mantissa) = (i32::from(code >> MANTISSA), code & ((1 << MANTISSA) - 1));
        match exponent {
            0 => self.lg(u64::from(mantissa)),
            e => ((e + MANTISSA as i32 - 1) << FRACTION) + i32::from(self.log[usize::from(mantissa)]),
        }
    }

    /// 2^(l/4096), rounded down, at most 2^62.
    pub fn exp(&self, l: i32) -> u64 {
        if l < 0 {
            return 0;
        }
        let (whole, fraction) = ((l >> FRACTION) as u32, (l & ((1 << FRACTION) - 1)) as usize);
        let mantissa = u64::from(self.exp[fraction]);
        match whole {
            0..=15 => mantissa >> (15 - whole),
            16..=61 => mantissa << (whole - 15),
            _ => 1 << 62,
        }
    }
}

/// Meter of one egress queue in integers. Times are in microseconds.
#[derive(Clone, Debug)]
pub struct IntegerMeter {
    /// End of the running interval; zero = the timer is off.
    deadline_us: u64,
    a: u64,
    b: u64,
    interval: u16,
    occupied: u32,
    cells: Box<[u16]>,
    /// Results of the last completed interval.
    avg_rtt_us: u32,
    flows: u16,
    flags: u8,
}

impl Default for IntegerMeter {
    fn default() -> Self {
        IntegerMeter {
            deadline_us: OFF,
            a: 0,
            b: 0,
            interval: 1,
            occupied: 0,
            cells: vec![0; CELLS].into_boxed_slice(),
            avg_rtt_us: 0,
            flows: 1,
            flags: 0,
        }
    }
}

impl IntegerMeter {
    /// Processes a data packet with a telemetry header before it is queued: `base_rtt_us` and the
    /// `uf16` code `cwnd` are from its header (zero = unknown), `payload` is in bytes, `hash` is 16
    /// bits of a hash of its four-tuple.
    pub fn on_enqueue(
        &mut self,
        t: &Tables,
        now_us: u64,
        base_rtt_us: u32,
        cwnd: u16,
        payload: u32,
        hash: u16,
    ) {
        self.advance(t, now_us);
        if self.deadline_us == OFF {
            self.deadline_us = now_us + self.interval_us();
        }
        if base_rtt_us > 0 && cwnd > 0 && payload > 0 {
            let lg_r = t.lg(u64::from(base_rtt_us));
            let a = t.lg(u64::from(payload)) + lg_r - t.lg_uf16(cwnd);
            self.a = self.a.saturating_add(t.exp(a + ((SHIFT_A << FRACTION) as i32)));
            self.b = self.b.saturating_add(t.exp(a + lg_r + ((SHIFT_B << FRACTION) as i32)));
        }
        let cell = &mut self.cells[usize::from(hash)];
        if *cell != self.interval {
            *cell = self.interval;
            self.occupied += 1;
        }
    }

    /// Processes all timer expirations up to `now_us`. Returns whether an interval was completed.
    pub fn advance(&mut self, t: &Tables, now_us: u64) -> bool {
        let mut complete = false;
        // At most two iterations: an interval that ends without a packet turns the timer off.
        while self.deadline_us != OFF && self.deadline_us <= now_us {
            complete |= self.expire(t);
        }
        complete
    }

    fn expire(&mut self, t: &Tables) -> bool {
        if self.a == 0 {
            self.deadline_us = OFF;
            return false;
        }
        let quotient = t.lg(self.b.max(1)) - t.lg(self.a) + (((SHIFT_A - SHIFT_B) << FRACTION) as i32);
        self.avg_rtt_us = (t.exp(quotient) as u32).clamp(SHORTEST_US, RTT_MAX_US);
        let distinct = self.distinct(t);
        self.flows = distinct.min(FLOWS_MAX as u64) as u16;
        self.flags = if distinct > FLOWS_MAX as u64 { FLAG_FLOWS_SATURATED } else { 0 };
        (self.a, self.b, self.occupied) = (0, 0, 0);
        self.interval = self.interval.wrapping_add(1);
        if self.interval == 0 {
            // Done by the control plane of a switch, once in 65,535 intervals.
            self.cells.fill(0);
            self.interval = 1;
        }
        self.deadline_us += self.interval_us();
        true
    }

    /// Number of flows, estimated from the number of occupied cells.
    fn distinct(&self, t: &Tables) -> u64 {
        if self.occupied == 0 {
            return 0;
        }
        let lg = t.lg(u64::from(self.occupied));
        u64::from(self.occupied) + t.exp(lg + lg - LG_2M) + t.exp(lg + lg + lg - LG_3MM)
    }

    /// Length of the next interval.
    fn interval_us(&self) -> u64 {
        match self.avg_rtt_us {
            0 => FIRST_INTERVAL_US,
            us => u64::from(us),
        }
    }

    /// Mean base RTT of the last completed interval in microseconds; zero = not yet measured.
    pub fn avg_rtt_us(&self) -> u32 {
        self.avg_rtt_us
    }

    /// Number of flows in the last completed interval, at most 4,095; 1 before the first.
    pub fn flows(&self) -> u32 {
        u32::from(self.flows)
    }

    /// Flags of the telemetry record: set if the number of flows exceeds its field.
    pub fn flags(&self) -> u8 {
        self.flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Meter;
    use crate::wire::Stamp;
    use crate::{switch_id, uf16};
    use perigee_units::Nanos;
    use proptest::prelude::*;

    #[test]
    fn logarithms_and_their_inverses_are_within_two_parts_in_ten_thousand() {
        let t = Tables::default();
        let mut x = 1u64;
        while x < 1 << 50 {
            for x in [x, x + x / 7, x + x / 3, 2 * x - 1] {
                let exact = 4096.0 * libm::log2(x as f64);
                // Half a unit, and the error of rounding to twelve bits: 4096 log2(1 + 2^-12).
                assert!((f64::from(t.lg(x)) - exact).abs() < 0.5 + 1.45, "{x}");
                let back = t.exp(t.lg(x) + (8 << 12)) as f64 / 256.0;
                assert!((back / x as f64 - 1.0).abs() < 5e-4, "{x}: {back}");
            }
            x = x * 9 / 8 + 1;
        }
        for code in 1..=u16::MAX {
            let exact = 4096.0 * libm::log2(uf16::decode(code) as f64);
            assert!((f64::from(t.lg_uf16(code)) - exact).abs() <= 0.51, "{code}");
        }
    }

    /// Both meters on the same packets: flows of (RTT in µs, window in bytes), evenly spaced each
    /// at its rate, for `ms`.
    fn both(flows: &[(u32, u64)], ms: u64) -> (Meter, IntegerMeter) {
        let (t, mut reference, mut integer) = (Tables::default(), Meter::new(), IntegerMeter::default());
        let mut packets = Vec::new();
        for (id, &(rtt_us, cwnd)) in flows.iter().enumerate() {
            let spacing_ns = (u64::from(rtt_us) * 1000 * 1448 / cwnd).max(1000);
            let offset = (id as u64).wrapping_mul(0x9e37_79b9) % spacing_ns;
            packets.extend((0..ms * 1_000_000 / spacing_ns).map(|i| (offset + i * spacing_ns, id)));
        }
        packets.sort_unstable();
        for (at, id) in packets {
            let (rtt_us, cwnd) = (flows[id].0, uf16::encode(flows[id].1));
            // Both receive full microseconds, so that their intervals are the same.
            let us = at / 1000;
            reference.on_enqueue(Nanos::from_micros(us), &Stamp::coded(rtt_us, cwnd, 1448), id as u32, 0);
            integer.on_enqueue(&t, us, rtt_us, cwnd, 1448, switch_id(id as u32));
        }
        (reference, integer)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn it_says_what_the_reference_says_within_a_percent(
            flows in prop::collection::vec((1_000u32..1_000_000, 10_000u64..4_000_000), 1..40),
        ) {
            let (reference, integer) = both(&flows, 400);
            let (a, b) = (reference.avg_rtt().as_micros() as f64, f64::from(integer.avg_rtt_us()));
            prop_assert!((b / a - 1.0).abs() < 0.01, "{b} for {a} µs");
            let (n, m) = (reference.flows(), integer.flows());
            prop_assert!(n.abs_diff(m) as f64 <= (0.01 * f64::from(n)).max(1.0), "{m} for {n} flows");
        }

        #[test]
        fn one_flow_anywhere_in_the_range_has_its_own_rtt(
            rtt_us in 1_000u32..1_048_575, cwnd in 2_000u64..60_000_000, payload in 64u32..9000,
        ) {
            let (t, mut m) = (Tables::default(), IntegerMeter::default());
            for i in 0..200u64 {
                m.on_enqueue(&t, i * 50, rtt_us, uf16::encode(cwnd), payload, 7);
            }
            m.advance(&t, 20_000);
            let error = f64::from(m.avg_rtt_us()) / f64::from(rtt_us) - 1.0;
            prop_assert!(error.abs() < 0.01, "{} for {rtt_us}", m.avg_rtt_us());
        }
    }

    /// Packets of one interval: (RTT in µs, window, payload, flow).
    type Interval = Vec<(u32, u16, u32, u32)>;

    /// Mean RTT in µs and flows of an interval by the reference's formulas.
    fn exact(packets: &Interval) -> (f64, usize) {
        let (mut a, mut b) = (0.0, 0.0);
        for &(rtt_us, cwnd, payload, _) in packets {
            let weight = Stamp::coded(rtt_us, cwnd, payload).weight;
            a += f64::from(rtt_us) * weight;
            b += f64::from(rtt_us) * f64::from(rtt_us) * weight;
        }
        (b / a, packets.iter().map(|p| p.3).collect::<std::collections::BTreeSet<_>>().len())
    }

    /// A flow at a port: (RTT in µs, payload, load over the flow's own window).
    fn any_flow() -> impl Strategy<Value = (u32, u32, f64)> {
        (1_000u32..700_000, 64u32..9000, 0.25..4.0f64)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// Any traffic at a port of 1 Mbit/s to 100 Gbit/s: bursts, gaps, idle seconds, more than
        /// its rate. The integer meter's own intervals are followed, and it publishes the result of
        /// the reference's formulas for the same packets.
        #[test]
        fn whatever_the_rate_the_sizes_and_the_gaps_it_is_the_reference_within_a_percent(
            rate_log in 6.0..11.0f64,
            flows in prop::collection::vec(any_flow(), 1..30),
            packets in prop::collection::vec((0usize..30, 0u32..40, 0u64..4), 50..2500),
        ) {
            let (t, mut m) = (Tables::default(), IntegerMeter::default());
            let share = libm::pow(10.0, rate_log) / 8.0 / flows.len() as f64;
            let (mut now_ns, mut seen, mut published) = (0u64, Interval::new(), 0);
            for (flow, pause, burst) in packets {
                let (rtt_us, payload, load) = flows[flow % flows.len()];
                // A transmission time or less, and now and then a pause of up to 4 s.
                now_ns += (f64::from(payload) / share / flows.len() as f64 * 1e9) as u64 * burst / 2;
                now_ns += if pause == 0 { (now_ns % 4001) * 1_000_000 } else { 0 };
                let window = uf16::encode((share * f64::from(rtt_us) / 1e6 / load) as u64 + 1);
                if m.advance(&t, now_ns / 1000) {
                    let (rtt, n) = exact(&seen);
                    let error = f64::from(m.avg_rtt_us()) / rtt - 1.0;
                    prop_assert!(error.abs() < 0.01, "{} for {rtt} µs", m.avg_rtt_us());
                    prop_assert!(m.flows().abs_diff(n as u32) <= 1, "{} for {n} flows", m.flows());
                    seen.clear();
                    published += 1;
                }
                m.on_enqueue(&t, now_ns / 1000, rtt_us, window, payload, switch_id((flow % flows.len()) as u32));
                seen.push((rtt_us, window, payload, (flow % flows.len()) as u32));
            }
            m.advance(&t, now_ns / 1000 + 2_000_000);
            prop_assert!(m.avg_rtt_us() > 0, "{published} intervals and the last");
        }
    }

    #[test]
    fn neither_a_fast_port_full_of_small_packets_nor_thousands_of_slow_flows_leave_the_range() {
        let t = Tables::default();
        // 64 bytes at 100 Gbit/s, four times the window: the smallest terms.
        let mut m = IntegerMeter::default();
        let window = uf16::encode(4 * 12_500_000);
        (0..2_000_000u64).for_each(|i| m.on_enqueue(&t, i * 64 / 12_500, 1_000, window, 64, (i % 7) as u16));
        assert!(m.avg_rtt_us().abs_diff(1_000) <= 10, "{}", m.avg_rtt_us());
        // 4,095 flows of 700 ms at four times their windows: the largest sums.
        let mut m = IntegerMeter { avg_rtt_us: 700_000, ..IntegerMeter::default() };
        for i in 0..4095u64 * 40 {
            m.on_enqueue(
                &t,
                i * 700_000 / (4095 * 40),
                700_000,
                uf16::encode(9000 * 10),
                9000,
                switch_id((i % 4095) as u32),
            );
        }
        assert!(m.b < u64::MAX && m.a < u64::MAX, "the sums are full");
        m.advance(&t, 700_001);
        assert!(m.avg_rtt_us().abs_diff(700_000) <= 7_000, "{}", m.avg_rtt_us());
    }

    #[test]
    fn thousands_of_flows_are_counted_within_a_percent_and_more_than_the_field_holds_are_flagged() {
        let t = Tables::default();
        for n in [1u32, 10, 100, 1000, 3000, 4000] {
            let mut m = IntegerMeter::default();
            (0..n).for_each(|id| m.on_enqueue(&t, 1, 50_000, uf16::encode(100_000), 1448, switch_id(id)));
            m.advance(&t, 10_001);
            assert!(m.flows().abs_diff(n) as f64 <= 0.01 * f64::from(n), "{} for {n}", m.flows());
            assert_eq!(m.flags(), 0);
        }
        let mut m = IntegerMeter::default();
        (0..6000).for_each(|id| m.on_enqueue(&t, 1, 50_000, uf16::encode(100_000), 1448, switch_id(id)));
        m.advance(&t, 10_001);
        assert_eq!((m.flows(), m.flags()), (4095, FLAG_FLOWS_SATURATED));
    }

    #[test]
    fn cells_of_old_intervals_count_again_also_when_their_number_comes_round() {
        let (t, mut m) = (Tables::default(), IntegerMeter::default());
        for k in 0..70_000u64 {
            m.on_enqueue(&t, k * 1000, 1000, uf16::encode(100_000), 1448, 5);
            m.on_enqueue(&t, k * 1000, 1000, uf16::encode(100_000), 1448, 6);
        }
        assert_eq!(m.flows(), 2);
    }
}
