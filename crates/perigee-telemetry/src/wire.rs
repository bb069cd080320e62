// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Wire format of a packet's telemetry: encoded records for the simulator, bytes for captures.
//!
//! ```text
//! fixed part, 8 bytes   version 4 | hopCount 8 | pathID 16 | baseRTT 20 µs | cwnd 16 uf16 bytes
//! per hop, 17 bytes     ts 24 µs | bw 16 uf16 kbit/s | qLen 16 uf16 bytes | rxQlen 16 uf16 bytes | txBytes 28 × 8 bytes
//!                       | avgRTT 20 µs | flowCnt 12 | flags 4
//! compact echo, 16 bytes  pathID 16 | hop 8 | u 16 Q4.12 | τ 24 µs | bw 16 | avgRTT 20 | flowCnt 12 | Σ rxQlen/bw 16 uf16 µs
//! ```
//!
//! Big-endian, fields packed without gaps. In a packet the block is in an IPv6 hop-by-hop option
//! (in ACKs a destination option): 2 bytes of extension header, 2 of option header, the block,
//! padding to a multiple of 8.

use crate::uf16;
use perigee_cc::{BitRate, HeaderStamp, Hop, Nanos, Telemetry};

/// Version of the layout above.
pub const VERSION: u8 = 1;
/// Version in which the upper half of hopCount is the number of packets for which this one stands,
/// and the flow count of records is that of [`FLAG_FLOWS_WEIGHTED`].
pub const VERSION_WEIGHTED: u8 = 2;
/// Size of the fixed part in bytes.
pub const FIXED_BYTES: usize = 8;
/// Size of one hop record in bytes.
pub const HOP_BYTES: usize = 17;
/// Size of the compact echo in bytes.
pub const COMPACT_BYTES: usize = 16;
/// Number of hops that fit in the 255 bytes of an IPv6 option.
pub const MAX_HOPS: usize = 14;
/// [`WireHop::flags`]: the flow count exceeds its field.
pub const FLAG_FLOWS_SATURATED: u8 = 1;
/// [`WireHop::flags`]: the rate is that of a shaper, not of the link.
pub const FLAG_SHAPER_RATE: u8 = 2;
/// [`WireCompact::hop`] of a record that only marks a new baseline.
pub const BASELINE_HOP: u8 = 255;

/// [`WireHop::flags`]: the flow count is a number of windows in use, with four bits of exponent.
pub const FLAG_FLOWS_WEIGHTED: u8 = 4;
/// Largest value of [`Stamp::covers`].
pub const COVERS_MAX: u8 = 15;

const EXTENSION_AND_OPTION_HEADER: usize = 4;
pub(crate) const TS_MASK: u32 = (1 << 24) - 1;
pub(crate) const TX_MASK: u32 = (1 << 28) - 1;
pub(crate) const RTT_MAX_US: u32 = (1 << 20) - 1;
pub(crate) const FLOWS_MAX: u16 = (1 << 12) - 1;

/// Bytes that a stack of `hops` records adds to a packet, option framing and padding included. The
/// same applies to a full echo in an ACK.
pub const fn stack_bytes(hops: usize) -> u32 {
    (EXTENSION_AND_OPTION_HEADER + FIXED_BYTES + HOP_BYTES * hops).next_multiple_of(8) as u32
}

/// Bytes that a compact echo adds to an ACK.
pub const fn compact_echo_bytes() -> u32 {
    (EXTENSION_AND_OPTION_HEADER + COMPACT_BYTES).next_multiple_of(8) as u32
}

/// A time in integer microseconds, rounded, within a 20-bit field.
#[inline]
pub(crate) fn rtt_code(rtt: Nanos) -> u32 {
    (rtt.0.saturating_add(500) / 1000).min(RTT_MAX_US as u64) as u32
}

/// A rate in kbit/s as `uf16`.
#[inline]
pub fn rate_code(rate: BitRate) -> u16 {
    uf16::encode(rate.0 / 1000)
}

#[inline]
pub(crate) fn rate_of(code: u16) -> BitRate {
    BitRate(uf16::decode(code) * 1000)
}

/// A number of windows, at least 1, in 12 bits: exact to 255, above with 8 bits of mantissa.
fn windows_code(windows: f64) -> u16 {
    let n = (windows + 0.5).clamp(1.0, 8e6) as u32;
    let exponent = (n >> 8).checked_ilog2().map_or(0, |bits| bits + 1);
    match exponent {
        0 => n as u16,
        e => (e << 8 | (n >> (e - 1)) & 0xff) as u16,
    }
}

fn windows_of(code: u16) -> u32 {
    let (exponent, mantissa) = (u32::from(code >> 8), u32::from(code & 0xff));
    match exponent {
        0 => mantissa.max(1),
        e => (256 + mantissa) << (e - 1),
    }
}

/// The sender's part of the fixed header, encoded, with the weight that meters need.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stamp {
    /// The flow's queue-free RTT in microseconds; zero = unknown.
    pub base_rtt_us: u32,
    /// The flow's window in bytes as `uf16`; zero = unknown.
    pub cwnd: u16,
    /// Payload divided by the window: the fraction of the flow's window carried by this packet.
    /// Zero if either is unknown. Not on the wire: every meter would compute the same quotient, so
    /// the sender computes it once.
    pub weight: f64,
    /// Payload of the packet in bytes, from its other headers.
    pub payload: u32,
    /// Number of packets for which the packet stands, itself included; at most [`COVERS_MAX`].
    pub covers: u8,
    /// The flow count of records is [`FLAG_FLOWS_WEIGHTED`].
    pub weighted: bool,
}

impl Stamp {
    /// Encodes the controller's input to the meters, for a packet of `payload` bytes.
    #[inline]
    pub fn new(stamp: HeaderStamp, payload: u32) -> Self {
        let coded = Stamp::coded(rtt_code(stamp.base_rtt), uf16::encode(stamp.cwnd), payload);
        Stamp { weighted: stamp.weighted, ..coded }
    }

    /// The stamp of a packet that stands for `packets` packets of its size.
    #[inline]
    pub fn covering(self, packets: u8) -> Self {
        let covers = packets.clamp(1, COVERS_MAX);
        Stamp { weight: self.weight * f64::from(covers), covers, ..self }
    }

    /// Stamp from the encoded fields of a packet with `payload` bytes.
    #[inline]
    pub fn coded(base_rtt_us: u32, cwnd: u16, payload: u32) -> Self {
        let known = base_rtt_us > 0 && cwnd > 0;
        let weight = if known { payload as f64 / uf16::decode(cwnd) as f64 } else { 0.0 };
        Stamp { base_rtt_us, cwnd, weight, payload, covers: 1, weighted: false }
    }
}

/// Record of one hop with encoded fields, as stored by a simulator per packet and hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireHop {
    /// Dequeue time in microseconds modulo 2^24.
    pub ts: u32,
    /// Transmitted bytes in units of 8, modulo 2^28.
    pub tx: u32,
    /// Mean base RTT in microseconds, 20 bits; zero = not yet measured.
    pub avg_rtt: u32,
    /// Rate of the outgoing link, `uf16` kbit/s.
    pub bw: u16,
    /// Bytes queued after the packet left, `uf16`.
    pub q_out: u16,
    /// Bytes queued before the packet arrived, `uf16`.
    pub q_in: u16,
    /// Flows that use the port, 12 bits.
    pub flows: u16,
    /// [`FLAG_FLOWS_SATURATED`], [`FLAG_SHAPER_RATE`].
    pub flags: u8,
}

const _: () = assert!(size_of::<WireHop>() <= 24);

impl WireHop {
    /// Conversion to the units of controllers.
    #[inline]
    pub fn decode(&self) -> Hop {
        Hop {
            ts: Nanos::from_micros(self.ts as u64),
            bw: rate_of(self.bw),
            q_out: uf16::decode(self.q_out),
            q_in: uf16::decode(self.q_in),
            tx_bytes: self.tx as u64 * 8,
            avg_rtt: Nanos::from_micros(self.avg_rtt as u64),
            flows: match self.flags & FLAG_FLOWS_WEIGHTED {
                0 => self.flows as u32,
                _ => windows_of(self.flows),
            },
        }
    }

    /// The record with another flow count: that of the windows in use.
    #[inline]
    pub fn with_windows(self, windows: f64) -> Self {
        let flags = self.flags & !FLAG_FLOWS_SATURATED | FLAG_FLOWS_WEIGHTED;
        WireHop { flows: windows_code(windows), flags, ..self }
    }

    /// Conversion from the units of controllers (times and counters wrap to their fields).
    pub fn encode(hop: &Hop) -> Self {
        WireHop {
            ts: hop.ts.as_micros() as u32 & TS_MASK,
            tx: (hop.tx_bytes / 8) as u32 & TX_MASK,
            avg_rtt: rtt_code(hop.avg_rtt),
            bw: rate_code(hop.bw),
            q_out: uf16::encode(hop.q_out),
            q_in: uf16::encode(hop.q_in),
            flows: hop.flows.min(FLOWS_MAX as u32) as u16,
            flags: if hop.flows > FLOWS_MAX as u32 { FLAG_FLOWS_SATURATED } else { 0 },
        }
    }

    /// Wire format.
    pub fn to_bytes(&self) -> [u8; HOP_BYTES] {
        let head = pack(&[
            (self.ts as u64, 24),
            (self.bw as u64, 16),
            (self.q_out as u64, 16),
            (self.q_in as u64, 16),
            (self.tx as u64, 28),
            (self.avg_rtt as u64, 20),
        ]);
        let mut out = [0; HOP_BYTES];
        out[..15].copy_from_slice(&head.to_be_bytes()[1..]);
        out[15..].copy_from_slice(&(self.flows << 4 | (self.flags & 15) as u16).to_be_bytes());
        out
    }

    /// Parses its bytes in a packet.
    pub fn from_bytes(bytes: &[u8; HOP_BYTES]) -> Self {
        let mut head = [0; 16];
        head[1..].copy_from_slice(&bytes[..15]);
        let mut bits = Unpack { word: u128::from_be_bytes(head), left: 120 };
        let tail = u16::from_be_bytes([bytes[15], bytes[16]]);
        WireHop {
            ts: bits.take(24) as u32,
            bw: bits.take(16) as u16,
            q_out: bits.take(16) as u16,
            q_in: bits.take(16) as u16,
            tx: bits.take(28) as u32,
            avg_rtt: bits.take(20) as u32,
            flows: tail >> 4,
            flags: (tail & 15) as u8,
        }
    }
}

/// Fixed part of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireHeader {
    /// Number of records that follow.
    pub hops: u8,
    /// XOR of the ids of the switches passed so far.
    pub path_id: u16,
    /// See [`Stamp::base_rtt_us`].
    pub base_rtt_us: u32,
    /// See [`Stamp::cwnd`].
    pub cwnd: u16,
}

impl WireHeader {
    /// Wire format.
    pub fn to_bytes(&self) -> [u8; FIXED_BYTES] {
        let word = pack(&[
            (VERSION as u64, 4),
            (self.hops as u64, 8),
            (self.path_id as u64, 16),
            (self.base_rtt_us as u64, 20),
            (self.cwnd as u64, 16),
        ]);
        (word as u64).to_be_bytes()
    }

    /// Parses its bytes in a packet; `None` for another version.
    pub fn from_bytes(bytes: &[u8; FIXED_BYTES]) -> Option<Self> {
        let mut bits = Unpack { word: u64::from_be_bytes(*bytes) as u128, left: 64 };
        (bits.take(4) as u8 == VERSION).then(|| WireHeader {
            hops: bits.take(8) as u8,
            path_id: bits.take(16) as u16,
            base_rtt_us: bits.take(20) as u32,
            cwnd: bits.take(16) as u16,
        })
    }
}

/// Appends a complete block: fixed part and records.
pub fn write_stack(out: &mut Vec<u8>, path_id: u16, stamp: &Stamp, hops: &[WireHop]) {
    let header =
        WireHeader { hops: hops.len() as u8, path_id, base_rtt_us: stamp.base_rtt_us, cwnd: stamp.cwnd };
    let mut fixed = header.to_bytes();
    if stamp.weighted {
        fixed[0] = VERSION_WEIGHTED << 4 | stamp.covers;
    }
    out.extend_from_slice(&fixed);
    hops.iter().for_each(|h| out.extend_from_slice(&h.to_bytes()));
}

/// Parses a complete block, appending its records to `hops`; `None` if it is truncated or of
/// another version.
pub fn read_stack(bytes: &[u8], hops: &mut Vec<WireHop>) -> Option<WireHeader> {
    let header = WireHeader::from_bytes(bytes.first_chunk()?)?;
    let records = bytes.get(FIXED_BYTES..FIXED_BYTES + HOP_BYTES * header.hops as usize)?;
    hops.extend(
        records.chunks_exact(HOP_BYTES).map(|r| WireHop::from_bytes(r.try_into().expect("17 bytes"))),
    );
    Some(header)
}

/// Compact echo: one hop, as compared by the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireCompact {
    /// XOR of the switch ids on the path.
    pub path_id: u16,
    /// Index of the bottleneck; [`BASELINE_HOP`] marks a record without a measurement.
    pub hop: u8,
    /// Utilisation in 1/4096.
    pub u: u16,
    /// Time between the two samples in microseconds, 24 bits.
    pub tau: u32,
    /// Rate of the hop's link, `uf16` kbit/s.
    pub bw: u16,
    /// Mean base RTT in microseconds, 20 bits.
    pub avg_rtt: u32,
    /// Flows that use the port, 12 bits.
    pub flows: u16,
    /// Queueing delay of the entire path in microseconds, `uf16`.
    pub queue_delay: u16,
}

impl WireCompact {
    /// Wire format.
    pub fn to_bytes(&self) -> [u8; COMPACT_BYTES] {
        pack(&[
            (self.path_id as u64, 16),
            (self.hop as u64, 8),
            (self.u as u64, 16),
            (self.tau as u64, 24),
            (self.bw as u64, 16),
            (self.avg_rtt as u64, 20),
            (self.flows as u64, 12),
            (self.queue_delay as u64, 16),
        ])
        .to_be_bytes()
    }

    /// Parses its bytes in a packet.
    pub fn from_bytes(bytes: &[u8; COMPACT_BYTES]) -> Self {
        let mut bits = Unpack { word: u128::from_be_bytes(*bytes), left: 128 };
        WireCompact {
            path_id: bits.take(16) as u16,
            hop: bits.take(8) as u8,
            u: bits.take(16) as u16,
            tau: bits.take(24) as u32,
            bw: bits.take(16) as u16,
            avg_rtt: bits.take(20) as u32,
            flows: bits.take(12) as u16,
            queue_delay: bits.take(16) as u16,
        }
    }

    /// Conversion to the units of controllers.
    #[inline]
    pub fn decode(&self, covered: u32, partial: bool) -> Telemetry<'static> {
        Telemetry::Bottleneck {
            path_id: self.path_id as u64,
            hop: self.hop,
            u: self.u as f64 / 4096.0,
            tau: Nanos::from_micros(self.tau as u64),
            bw: rate_of(self.bw),
            avg_rtt: Nanos::from_micros(self.avg_rtt as u64),
            flows: self.flows as u32,
            queue_delay: Nanos::from_micros(uf16::decode(self.queue_delay)),
            covered,
            partial,
        }
    }
}

/// Packs `(value, bits)` fields from the most significant end into the low bits of one word.
fn pack(fields: &[(u64, u32)]) -> u128 {
    fields.iter().fold(0, |word, &(value, bits)| word << bits | (value & ((1 << bits) - 1)) as u128)
}

struct Unpack {
    word: u128,
    left: u32,
}

impl Unpack {
    fn take(&mut self, bits: u32) -> u64 {
        self.left -= bits;
        (self.word >> self.left) as u64 & ((1 << bits) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_windows_is_exact_to_255_and_to_a_500th_above() {
        for n in (1..600).chain([4095, 4096, 10_000, 1_000_000]) {
            let decoded = windows_of(windows_code(f64::from(n)));
            assert!(f64::from(decoded.abs_diff(n)) <= f64::from(n) / 256.0, "{n}: {decoded}");
            assert!(n > 255 || decoded == n, "{n}: {decoded}");
        }
        assert_eq!([0.0, 1.4, 1.6, 1e12].map(|n| windows_of(windows_code(n))), [1, 1, 2, 7_995_392]);
        let hop = WireHop { flows: 3, flags: FLAG_FLOWS_SATURATED, ..WireHop::default() };
        assert_eq!((hop.decode().flows, hop.with_windows(10_000.0).decode().flows), (3, 9984));
    }

    #[test]
    fn a_packet_that_stands_for_others_has_their_weight_and_says_so_in_its_header() {
        let one = HeaderStamp {
            base_rtt: Nanos::from_millis(50),
            cwnd: 14_480,
            every: 3,
            weighted: true,
            ..HeaderStamp::default()
        };
        let stamp = Stamp::new(one, 1448).covering(3);
        assert!((stamp.weight - 0.3).abs() < 1e-3, "{}", stamp.weight);
        let mut block = Vec::new();
        write_stack(&mut block, 7, &stamp, &[WireHop::default()]);
        assert_eq!((block[0], block[1] >> 4), (VERSION_WEIGHTED << 4 | 3, 1));
        assert!(read_stack(&block, &mut Vec::new()).is_none(), "readers of version 1 ignore it");
    }

    const HOP: WireHop = WireHop {
        ts: 0xabcdef,
        tx: 0x9876543,
        avg_rtt: 0xfedcb,
        bw: 0x1234,
        q_out: 0x5678,
        q_in: 0x9abc,
        flows: 0xdef,
        flags: 0x5,
    };

    #[test]
    fn a_hop_record_is_17_bytes_in_table_order_big_endian() {
        let bytes = HOP.to_bytes();
        let expected = [
            0xab, 0xcd, 0xef, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0x98, 0x76, 0x54, 0x3f, 0xed, 0xcb, 0xde,
            0xf5,
        ];
        assert_eq!(bytes, expected);
        assert_eq!(WireHop::from_bytes(&bytes), HOP);
    }

    #[test]
    fn the_fixed_part_is_8_bytes_and_another_version_is_refused() {
        let header = WireHeader { hops: 10, path_id: 0xbeef, base_rtt_us: 0x12345, cwnd: 0xcafe };
        let mut bytes = header.to_bytes();
        assert_eq!(bytes, [0x10, 0xab, 0xee, 0xf1, 0x23, 0x45, 0xca, 0xfe]);
        assert_eq!(WireHeader::from_bytes(&bytes), Some(header));
        bytes[0] = 0x20;
        assert_eq!(WireHeader::from_bytes(&bytes), None);
    }

    #[test]
    fn the_compact_echo_is_128_bits() {
        let echo = WireCompact {
            path_id: 0x0102,
            hop: 3,
            u: 0x0405,
            tau: 0x060708,
            bw: 0x090a,
            avg_rtt: 0x0b0c0,
            flows: 0xd0e,
            queue_delay: 0x0f10,
        };
        let bytes = echo.to_bytes();
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8, 9, 0xa, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10]);
        assert_eq!(WireCompact::from_bytes(&bytes), echo);
    }

    #[test]
    fn ten_hops_make_a_block_of_178_bytes_and_a_cut_block_is_refused() {
        let mut bytes = Vec::new();
        let stamp = Stamp::new(
            HeaderStamp { base_rtt: Nanos::from_millis(50), cwnd: 600_000, ..HeaderStamp::default() },
            1448,
        );
        write_stack(&mut bytes, 7, &stamp, &[HOP; 10]);
        assert_eq!(bytes.len(), 178);
        let mut hops = Vec::new();
        let header = read_stack(&bytes, &mut hops).unwrap();
        assert_eq!((header.path_id, header.base_rtt_us, hops.len()), (7, 50_000, 10));
        assert!(hops.iter().all(|h| *h == HOP));
        assert_eq!(read_stack(&bytes[..177], &mut Vec::new()), None);
        assert_eq!(read_stack(&bytes[..3], &mut Vec::new()), None);
    }

    #[test]
    fn overhead_is_padded_to_8_bytes_and_14_hops_fill_one_option() {
        assert_eq!([0, 1, 3, 10, 14].map(stack_bytes), [16, 32, 64, 184, 256]);
        assert_eq!(compact_echo_bytes(), 24);
        assert_eq!((255 - FIXED_BYTES) / HOP_BYTES, MAX_HOPS);
    }

    #[test]
    fn decoding_and_coding_again_gives_the_same_record() {
        let hop = WireHop { flags: 0, ..HOP };
        assert_eq!(WireHop::encode(&hop.decode()), hop);
    }

    #[test]
    fn an_unknown_rtt_or_window_has_no_weight() {
        for (rtt_ms, cwnd, weight) in [(0, 14480, 0.0), (50, 0, 0.0), (50, 2896, 0.5)] {
            let stamp = HeaderStamp { base_rtt: Nanos::from_millis(rtt_ms), cwnd, ..HeaderStamp::default() };
            assert_eq!(Stamp::new(stamp, 1448).weight, weight);
        }
        let long = HeaderStamp { base_rtt: Nanos::from_secs(3), cwnd: 1, ..HeaderStamp::default() };
        assert_eq!(Stamp::new(long, 1).base_rtt_us, RTT_MAX_US);
    }
}
