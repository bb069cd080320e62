// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pre-allocated trace of in-situ OAM (RFC 9197) in IPv6's hop-by-hop options (RFC 9486), as packets
//! of the carriers [`Carrier::Ioam`], [`Carrier::IoamRate`] and [`Carrier::IoamSnapshot`] have it.
//!
//! ```text
//! option data    reserved 8 | type 8 (0) | namespace 16 | NodeLen 5 | flags 4 | RemainingLen 7 | trace type 24 | reserved 8
//!                | free space | node data, the last port first
//! ioam           bits 0, 3, 6        hop limit 8, node id 24 | µs of the second 32 | queue depth 32, bytes
//! ioam_rate      and bit 22          length 8 (1), schema 24 (1) | rate 32, kbit/s
//! ioam_snapshot  bits 0, 22          hop limit 8, node id 24 | length 8 (5), schema 24 (2) | record 136, unused 24
//! ```
//!
//! Lengths are in units of 4 bytes; RemainingLen is the free space. Backlogs and rates are those of
//! the 16-bit floats of records.

use crate::uf16;
use crate::wire::{WireHeader, WireHop, FIXED_BYTES, TS_MASK};
use perigee_cc::{Carrier, Nanos};

/// Type of the hop-by-hop option.
pub const OPTION: u8 = 0x31;
/// Namespace of the traces.
const NAMESPACE: u16 = 0;
/// Hop limit of a packet at its sender.
const HOP_LIMIT: u8 = 64;
const NODE_ID: u32 = 1 << 23;
const FRACTION: u32 = 1 << 20;
const QUEUE_DEPTH: u32 = 1 << 17;
const SNAPSHOT: u32 = 1 << 1;
/// A field of 24 bits without a value.
const NOT_AVAILABLE: u32 = 0xff_ffff;
const SCHEMA_RATE: u32 = 1;
const SCHEMA_RECORD: u32 = 2;
/// Bytes of the option's data before node data.
const TRACE_HEADER: usize = 10;
const EXTENSION_HEADER: usize = 2;
const PAD_N: u8 = 1;
/// Option of the sender's part, as [`crate::ipv6`] has it.
const SENDERS_OPTION: u8 = 0x3e;

/// Words of 4 bytes of a port's node data: fixed part, and snapshot with its header.
const fn words(carrier: Carrier) -> (u32, u32, u32) {
    match carrier {
        Carrier::Ioam => (NODE_ID | FRACTION | QUEUE_DEPTH, 3, 0),
        Carrier::IoamRate => (NODE_ID | FRACTION | QUEUE_DEPTH | SNAPSHOT, 3, 2),
        _ => (NODE_ID | SNAPSHOT, 1, 6),
    }
}

/// Whether packets of a carrier have a trace.
pub const fn has_trace(carrier: Carrier) -> bool {
    matches!(carrier, Carrier::Ioam | Carrier::IoamRate | Carrier::IoamSnapshot)
}

/// Number of ports with node data that fit an option of 255 bytes; `None` = the carrier has no trace.
pub const fn most_ports(carrier: Carrier) -> Option<usize> {
    match has_trace(carrier) {
        true => Some((u8::MAX as usize - TRACE_HEADER) / node_bytes(carrier)),
        false => None,
    }
}

/// Bytes of node data of a port.
pub(crate) const fn node_bytes(carrier: Carrier) -> usize {
    let (_, fixed, snapshot) = words(carrier);
    (fixed + snapshot) as usize * 4
}

/// Options of a hop-by-hop header, with padding to its end: the trace, and with records the sender's
/// part, which ports need, in an option of its own. Arguments as in [`write_trace`].
pub fn options(carrier: Carrier, now: Nanos, hops: &[WireHop], room: usize, head: &WireHeader) -> Vec<u8> {
    let room = room.min(most_ports(carrier).unwrap_or_default());
    let trace = write_trace(carrier, now, &hops[..hops.len().min(room)], room);
    let mut out = Vec::new();
    if carrier == Carrier::IoamSnapshot {
        out.extend([SENDERS_OPTION, FIXED_BYTES as u8]);
        out.extend(head.to_bytes());
    } else {
        // The trace is aligned to 4 bytes.
        out.extend([PAD_N, 0]);
    }
    out.extend([OPTION, trace.len() as u8]);
    out.extend(trace);
    let padding = (EXTENSION_HEADER + out.len()).next_multiple_of(8) - EXTENSION_HEADER - out.len();
    match padding {
        0 => {}
        1 => out.push(0),
        n => {
            out.extend([PAD_N, n as u8 - 2]);
            out.resize(out.len() + n - 2, 0);
        }
    }
    out
}

/// Data of the option of a packet with room for `room` ports at `now`; `hops`: node data as in
/// [`crate::carrier::CarrierPort::write`], or records, which do not name their nodes.
pub fn write_trace(carrier: Carrier, now: Nanos, hops: &[WireHop], room: usize) -> Vec<u8> {
    let (kind, fixed, snapshot) = words(carrier);
    let free = room.saturating_sub(hops.len()) * node_bytes(carrier);
    let mut out = vec![0, 0];
    out.extend(NAMESPACE.to_be_bytes());
    out.extend(((fixed << 11 | (free / 4) as u32) as u16).to_be_bytes());
    out.extend((kind << 8).to_be_bytes());
    out.resize(out.len() + free, 0);
    for (i, hop) in hops.iter().enumerate().rev() {
        let limit = u32::from(HOP_LIMIT.saturating_sub(1 + i as u8));
        if carrier == Carrier::IoamSnapshot {
            word(&mut out, limit << 24 | NOT_AVAILABLE);
            word(&mut out, 5 << 24 | SCHEMA_RECORD);
            out.extend(hop.to_bytes());
            out.extend([0; 3]);
            continue;
        }
        word(&mut out, limit << 24 | hop.tx & NOT_AVAILABLE);
        word(&mut out, (microseconds(now, hop.ts) % 1_000_000) as u32);
        word(&mut out, uf16::decode(hop.q_in).min(u64::from(u32::MAX)) as u32);
        if snapshot > 0 {
            word(&mut out, 1 << 24 | SCHEMA_RATE);
            word(&mut out, uf16::decode(hop.bw).min(u64::from(u32::MAX)) as u32);
        }
    }
    out
}

fn word(out: &mut Vec<u8>, value: u32) {
    out.extend(value.to_be_bytes());
}

/// The time before `now` of which the low 24 bits are known.
fn microseconds(now: Nanos, low: u32) -> u64 {
    let now = now.as_micros();
    now - ((now as u32).wrapping_sub(low) & TS_MASK).min(now as u32) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::rate_code;
    use perigee_cc::BitRate;

    fn node(ts: u32, id: u32, backlog: u64) -> WireHop {
        let bw = rate_code(BitRate::from_mbit(100));
        WireHop { ts, tx: id, q_in: uf16::encode(backlog), bw, ..WireHop::default() }
    }

    #[test]
    fn an_option_has_room_for_as_many_ports_as_its_length_permits() {
        let most = [Carrier::Ioam, Carrier::IoamRate, Carrier::IoamSnapshot].map(most_ports);
        assert_eq!(most, [Some(20), Some(12), Some(8)]);
        assert_eq!(most_ports(Carrier::Utilisation), None);
        let head = WireHeader::default();
        for (carrier, most) in [(Carrier::Ioam, 20), (Carrier::IoamRate, 12), (Carrier::IoamSnapshot, 8)] {
            // The header of the extension and the options fill what the simulator counts, up to there.
            for room in 1..=most {
                let bytes = 2 + options(carrier, Nanos::ZERO, &[], room, &head).len();
                assert_eq!(bytes as u32, crate::carrier::data_bytes(carrier, room), "{carrier:?} {room}");
            }
        }
    }

    #[test]
    fn a_trace_of_two_ports_with_room_for_three() {
        // 20 s, of which a clock of 24 bits shows 3.222784 s.
        let hops = [node(3_000_000, 0x1111, 1500), node(3_222_000, 0x2222, 0)];
        let trace = write_trace(Carrier::Ioam, Nanos::from_secs(20), &hops, 3);
        let expected = [
            "0000 0000 1803 920000 00",
            "00000000 00000000 00000000",
            "3e002222 000f3f30 00000000",
            "3f001111 000bdc00 000005dc",
        ];
        let hex: String = trace.iter().map(|b| format!("{b:02x}")).collect();
        // 19.999216 s and 19.777216 s.
        assert_eq!(hex, expected.concat().replace(' ', ""));
    }

    #[test]
    fn snapshots_have_a_length_and_a_schema() {
        let hop = node(0, 0x1111, 0);
        let hex = |carrier| -> String {
            let trace = write_trace(carrier, Nanos::ZERO, &[hop], 1);
            trace.iter().map(|b| format!("{b:02x}")).collect()
        };
        assert!(hex(Carrier::IoamRate).ends_with("01000001000186a0"), "{}", hex(Carrier::IoamRate));
        let record = hex(Carrier::IoamSnapshot);
        assert!(record.starts_with("00000000080080000200"), "{record}");
        assert!(
            record[20..].starts_with("3fffffff05000002") || record[22..].starts_with("3fffffff05000002"),
            "{record}"
        );
        assert_eq!(record.len(), 2 * (10 + 28));
    }

    #[test]
    fn the_options_have_the_size_that_the_carrier_adds() {
        let head = WireHeader { hops: 0, path_id: 7, base_rtt_us: 50_000, cwnd: 9 };
        for carrier in [Carrier::Ioam, Carrier::IoamRate, Carrier::IoamSnapshot] {
            for room in 1..=8 {
                let area = options(carrier, Nanos::ZERO, &[node(0, 1, 0)], room, &head);
                let bytes = crate::carrier::data_bytes(carrier, room);
                assert_eq!(2 + area.len(), bytes as usize, "{carrier:?} {room}");
                assert!(area[0] >> 4 != 1 && area[0] >> 4 != 2, "no block of a version");
            }
            assert!(options(carrier, Nanos::ZERO, &[node(0, 1, 0); 30], 30, &head).len() <= 272);
        }
    }
}
