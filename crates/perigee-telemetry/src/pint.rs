// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Telemetry of fixed size: ports average their utilisation themselves, and each overwrites the
//! packet's record if it is busier than the ports before it.
//!
//! ```text
//! per packet at a port   U ← (1 − α) U + α (queue / (bw · avgRTT) + bytes / (bw · τ))     τ since the packet before
//! record, 128 bits       version 4 | U 8 log 1.05 | flows 8 | bw 16 uf16 kbit/s | Σ queueing 12 × 64 µs | path 32
//!                        | baseRTT 24 µs | cwnd 16 uf16 bytes | 8 unused
//! ```
//!
//! U is rounded up or down at random so that its mean is unbiased; the flow count is a linear count
//! over 4096 bits, exact in the record up to 31 and rounded up above. An ACK returns the record of
//! the data packet and adds only its own queueing. The number of flows in their startup, which the
//! specification leaves open, is not measured.

use crate::wire::{rate_of, Stamp, VERSION};
use perigee_cc::{BitRate, Nanos, Telemetry};
use perigee_units::draw::mix;

/// Size of the record in bytes.
pub const RECORD_BYTES: usize = 16;
/// Weight of a packet in a port's average.
const ALPHA: f64 = 0.03;
/// Mean RTT assumed until the port has measured one.
const FIRST_AVG_RTT: Nanos = Nanos::from_millis(10);
/// Base of the encoding of U.
const BASE: f64 = 1.05;
/// Value of code 1; code 255 represents 59.
const LEAST_U: f64 = 1.0 / 4096.0;
/// Unit of the queueing time, and its maximum count.
const WAIT_UNIT_NS: u64 = 64_000;
const MAX_WAIT: u16 = (1 << 12) - 1;
/// Largest flow count that is exact.
const EXACT_FLOWS: u32 = 31;
const BITMAP_BITS: usize = 4096;

/// Record of a packet, encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WirePint {
    /// Highest utilisation so far, encoded; zero = no port yet.
    pub u: u8,
    /// Number of flows at that port, encoded.
    pub flows: u8,
    /// Rate of that port, `uf16` kbit/s.
    pub bw: u16,
    /// Queueing time so far, in units of 64 µs.
    pub wait: u16,
    /// Digest of the ports, in order.
    pub path: u32,
}

impl WirePint {
    /// Handles the transmission by a port of switch `switch` after waiting for `wait`: the record
    /// with the higher utilisation is kept.
    #[inline]
    pub fn pass(&mut self, port: WirePint, switch: u16, wait: Nanos) {
        self.path = (self.path.rotate_left(5) ^ u32::from(switch)).wrapping_mul(0x9E37_79B1);
        self.wait_more(wait);
        let share = |r: &WirePint| rate_of(r.bw).0 / u64::from(decode_flows(r.flows)).max(1);
        if port.u > self.u || (port.u == self.u && share(&port) < share(self)) {
            (self.u, self.flows, self.bw) = (port.u, port.flows, port.bw);
        }
    }

    /// Adds queueing time.
    #[inline]
    pub fn wait_more(&mut self, wait: Nanos) {
        let units = (wait.0 + WAIT_UNIT_NS / 2) / WAIT_UNIT_NS;
        self.wait = (u64::from(self.wait) + units).min(u64::from(MAX_WAIT)) as u16;
    }

    /// Conversion to the units of controllers.
    #[inline]
    pub fn decode(&self, covered: u32, partial: bool) -> Telemetry<'static> {
        Telemetry::Pint {
            path_id: u64::from(self.path),
            u: decode_u(self.u),
            bw: rate_of(self.bw),
            flows: decode_flows(self.flows),
            starting: None,
            queue_delay: Nanos(u64::from(self.wait) * WAIT_UNIT_NS),
            covered,
            partial,
        }
    }

    /// Wire format.
    pub fn to_bytes(&self, stamp: &Stamp) -> [u8; RECORD_BYTES] {
        let fields = [
            (u64::from(VERSION), 4),
            (u64::from(self.u), 8),
            (u64::from(self.flows), 8),
            (u64::from(self.bw), 16),
            (u64::from(self.wait), 12),
            (u64::from(self.path), 32),
            (u64::from(stamp.base_rtt_us), 24),
            (u64::from(stamp.cwnd), 16),
            (0, 8),
        ];
        let word = fields.iter().fold(0u128, |w, &(v, bits)| w << bits | u128::from(v & ((1 << bits) - 1)));
        word.to_be_bytes()
    }
}

/// Bytes that the record adds to a packet or ACK, option framing and padding included.
pub const fn record_bytes() -> u32 {
    (4 + RECORD_BYTES).next_multiple_of(8) as u32
}

/// State of a port in addition to its meter.
#[derive(Clone, Debug)]
pub struct PintPort {
    utilisation: f64,
    last: Nanos,
    draws: u64,
    seen: Box<[u64; BITMAP_BITS / 64]>,
    flows: u32,
}

impl Default for PintPort {
    fn default() -> Self {
        PintPort {
            utilisation: 0.0,
            last: Nanos::ZERO,
            draws: 0,
            seen: Box::new([0; BITMAP_BITS / 64]),
            flows: 1,
        }
    }
}

impl PintPort {
    /// Counts the flow of a packet that arrives.
    #[inline]
    pub fn on_enqueue(&mut self, flow: u32) {
        let bit = mix(u64::from(flow)) as usize % BITMAP_BITS;
        self.seen[bit / 64] |= 1 << (bit % 64);
    }

    /// Handles the departure of a packet of `bytes` (the complete IP packet) from the queue;
    /// `avg_rtt`: zero = not yet measured.
    #[inline]
    pub fn on_dequeue(&mut self, now: Nanos, bytes: u32, queued: u64, bw: BitRate, avg_rtt: Nanos) {
        let gap = now.saturating_sub(self.last).as_secs_f64();
        let first = self.last == Nanos::ZERO;
        self.last = now;
        let rate = bw.bytes_per_s();
        if first || gap <= 0.0 || rate <= 0.0 {
            return;
        }
        let rtt = if avg_rtt == Nanos::ZERO { FIRST_AVG_RTT } else { avg_rtt };
        let u = queued as f64 / (rate * rtt.as_secs_f64()) + f64::from(bytes) / (rate * gap);
        self.utilisation += ALPHA * (u - self.utilisation);
    }

    /// Record of the port; `switch` makes the draws of ports differ.
    #[inline]
    pub fn record(&mut self, bw_code: u16, switch: u16) -> WirePint {
        self.draws += 1;
        let draw = mix(self.draws << 16 | u64::from(switch)) >> 11;
        WirePint {
            u: encode_u(self.utilisation, draw as f64 / (1u64 << 53) as f64),
            flows: encode_flows(self.flows),
            bw: bw_code,
            ..WirePint::default()
        }
    }

    /// Ends an interval of the meter.
    pub fn end_interval(&mut self) {
        let used: u32 = self.seen.iter().map(|w| w.count_ones()).sum();
        let zeros = (BITMAP_BITS as u32 - used).max(1);
        let count = BITMAP_BITS as f64 * libm::log(BITMAP_BITS as f64 / f64::from(zeros));
        self.flows = (libm::round(count) as u32).max(1);
        self.seen.fill(0);
    }

    /// Utilisation as averaged by the port.
    pub fn utilisation(&self) -> f64 {
        self.utilisation
    }
}

/// Encodes U; `draw` in [0, 1) selects one of the two nearest codes so that the mean of the values
/// is `u`.
#[inline]
pub(crate) fn encode_u(u: f64, draw: f64) -> u8 {
    if u <= LEAST_U {
        // Between zero and the smallest value.
        return u8::from(draw < u / LEAST_U);
    }
    let exact = 1.0 + libm::log(u / LEAST_U) / libm::log(BASE);
    if exact >= 255.0 {
        return u8::MAX;
    }
    let below = exact as u8;
    let (low, high) = (decode_u(below), decode_u(below + 1));
    below + u8::from(draw < (u - low) / (high - low))
}

#[inline]
pub(crate) fn decode_u(code: u8) -> f64 {
    match code {
        0 => 0.0,
        k => LEAST_U * libm::pow(BASE, f64::from(k - 1)),
    }
}

/// Encodes a flow count: exact up to 31; above, 31 · 1.03^k rounded up.
fn encode_flows(n: u32) -> u8 {
    if n <= EXACT_FLOWS {
        return n as u8;
    }
    let k = libm::ceil(libm::log(f64::from(n) / f64::from(EXACT_FLOWS)) / libm::log(1.03));
    (f64::from(EXACT_FLOWS) + k).min(255.0) as u8
}

fn decode_flows(code: u8) -> u32 {
    let n = u32::from(code);
    if n <= EXACT_FLOWS {
        return n;
    }
    libm::round(f64::from(EXACT_FLOWS) * libm::pow(1.03, f64::from(n - EXACT_FLOWS))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::rate_code as bw_code;

    const BW: BitRate = BitRate::from_mbit(100);

    #[test]
    fn the_code_of_u_is_right_on_average() {
        for u in [0.0001, 0.01, 0.37, 0.95, 1.0, 3.0] {
            let n = 2000;
            let mean: f64 = (0..n).map(|i| decode_u(encode_u(u, (f64::from(i) + 0.5) / f64::from(n)))).sum();
            assert!((mean / f64::from(n) - u).abs() < 0.001 * u, "{u}: {}", mean / f64::from(n));
        }
        assert_eq!((encode_u(0.0, 0.0), encode_u(1e9, 0.5)), (0, 255));
    }

    #[test]
    fn flow_counts_are_exact_to_31_and_then_rounded_up() {
        assert!((0..=31).all(|n| decode_flows(encode_flows(n)) == n));
        for n in [32, 40, 100, 500, 5000] {
            let coded = decode_flows(encode_flows(n));
            assert!(coded >= n && f64::from(coded) <= 1.035 * f64::from(n), "{n}: {coded}");
        }
    }

    #[test]
    fn the_bitmap_counts_flows() {
        for n in [1u32, 20, 300] {
            let mut port = PintPort::default();
            (0..n).for_each(|f| port.on_enqueue(f * 7));
            port.end_interval();
            assert!(port.flows.abs_diff(n) * 20 <= n, "{n}: {}", port.flows);
            port.end_interval();
            assert_eq!(port.flows, 1);
        }
    }

    #[test]
    fn a_port_at_half_load_says_one_half_and_a_queue_adds_to_it() {
        let (mut port, mut queued) = (PintPort::default(), PintPort::default());
        // 1500 bytes take 120 µs.
        for i in 1..=400u64 {
            let at = Nanos::from_micros(240 * i);
            port.on_dequeue(at, 1500, 0, BW, Nanos::from_millis(50));
            queued.on_dequeue(at, 1500, 62_500, BW, Nanos::from_millis(50));
        }
        assert!((port.utilisation() - 0.5).abs() < 0.001);
        assert!((queued.utilisation() - 0.6).abs() < 0.001);
    }

    #[test]
    fn the_busiest_port_stays_and_the_order_of_ports_matters() {
        let (calm, busy) = (
            WirePint { u: 10, flows: 3, bw: bw_code(BW), ..WirePint::default() },
            WirePint { u: 20, flows: 1, bw: bw_code(BW), ..WirePint::default() },
        );
        let mut a = WirePint::default();
        a.pass(calm, 1, Nanos::from_millis(1));
        a.pass(busy, 2, Nanos::from_millis(2));
        let mut b = WirePint::default();
        b.pass(busy, 2, Nanos::ZERO);
        b.pass(calm, 1, Nanos::ZERO);
        assert_eq!((a.u, a.flows, b.u), (20, 1, 20));
        assert_ne!(a.path, b.path);
        let Telemetry::Pint { queue_delay, .. } = a.decode(1, false) else { panic!() };
        assert_eq!(queue_delay, Nanos::from_micros(47 * 64));
        let mut equal = WirePint { flows: 2, ..busy };
        equal.pass(busy, 1, Nanos::ZERO);
        assert_eq!(equal.flows, 2, "the smaller share stays");
    }

    #[test]
    fn the_record_is_16_bytes() {
        let r = WirePint { u: 0xab, flows: 0xcd, bw: 0x1234, wait: 0x567, path: 0x89ab_cdef };
        let stamp = Stamp {
            base_rtt_us: 0x1_2345,
            cwnd: 0xbeef,
            weight: 0.0,
            payload: 0,
            covers: 1,
            weighted: false,
        };
        let bytes = r.to_bytes(&stamp);
        assert_eq!(
            bytes,
            [0x1a, 0xbc, 0xd1, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0xbe, 0xef, 0x00]
        );
        assert_eq!(record_bytes(), 24);
    }
}
