// SPDX-License-Identifier: Apache-2.0 OR MIT
//! IPv6 option that carries telemetry: the block of OrbCC in a hop-by-hop option, in which the
//! sending program reserves space and ports write the records ([`crate::wire`]).
//!
//! Option type 0x3E is one of those for experiments (RFC 4727 section 4): nodes that do not support
//! it skip it, and its data may change en route (RFC 8200 section 4.2). No checksum covers it.

use crate::wire::{Stamp, WireHeader, WireHop, FIXED_BYTES, HOP_BYTES};

const IPV6: u8 = 6;
const IPV6_HEADER: usize = 40;
const NEXT_HEADER: usize = 6;
const HOP_BY_HOP: u8 = 0;
const TCP: u8 = 6;
const UDP: u8 = 17;
const UDP_HEADER: usize = 8;
/// Offset of the data offset in a TCP header.
const TCP_OFFSET: usize = 12;
const OPTION: u8 = 0x3e;
const PAD_ONE: u8 = 0;

/// Position of the block in an IP packet.
struct Block {
    at: usize,
    /// Number of records that fit.
    room: usize,
    /// Bytes after the transport header; headers of unknown transports count as payload.
    payload: u32,
}

/// Stamp of a packet as written by its sender, and the packet's payload in bytes; `None` = no
/// block.
pub fn read(packet: &[u8]) -> Option<(Stamp, u32)> {
    let block = find(packet)?;
    let header = WireHeader::from_bytes(packet[block.at..].first_chunk()?)?;
    Some((Stamp::coded(header.base_rtt_us, header.cwnd, block.payload), block.payload))
}

/// Writes the records of ports into a packet, as many as fit. The path id covers all of them.
pub fn fill(packet: &mut [u8], path_id: u16, stamp: &Stamp, hops: &[WireHop]) {
    let Some(block) = find(packet) else { return };
    let hops = &hops[..hops.len().min(block.room)];
    let header =
        WireHeader { hops: hops.len() as u8, path_id, base_rtt_us: stamp.base_rtt_us, cwnd: stamp.cwnd };
    packet[block.at..block.at + FIXED_BYTES].copy_from_slice(&header.to_bytes());
    let records = packet[block.at + FIXED_BYTES..].chunks_exact_mut(HOP_BYTES);
    records.zip(hops).for_each(|(bytes, hop)| bytes.copy_from_slice(&hop.to_bytes()));
}

fn find(packet: &[u8]) -> Option<Block> {
    if packet.first()? >> 4 != IPV6 || *packet.get(NEXT_HEADER)? != HOP_BY_HOP {
        return None;
    }
    let transport = *packet.get(IPV6_HEADER)?;
    let end = IPV6_HEADER + (usize::from(*packet.get(IPV6_HEADER + 1)?) + 1) * 8;
    let header = match transport {
        UDP => UDP_HEADER,
        TCP => usize::from(*packet.get(end + TCP_OFFSET)? >> 4) * 4,
        _ => 0,
    };
    let payload = packet.len().checked_sub(end + header)? as u32;
    let mut at = IPV6_HEADER + 2;
    while at < end {
        let kind = packet[at];
        if kind == PAD_ONE {
            at += 1;
            continue;
        }
        let (data, length) = (at + 2, usize::from(*packet.get(at + 1)?));
        if data + length > end {
            return None;
        }
        if kind == OPTION {
            let room = length.checked_sub(FIXED_BYTES)? / HOP_BYTES;
            return Some(Block { at: data, room, payload });
        }
        at = data + length;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::read_stack;

    /// An IPv6 packet with room for two records, one byte of padding before the option, UDP and
    /// 1,000 bytes.
    fn packet() -> Vec<u8> {
        let mut p = vec![0; IPV6_HEADER];
        (p[0], p[NEXT_HEADER]) = (0x60, HOP_BY_HOP);
        let room = FIXED_BYTES + 2 * HOP_BYTES;
        // 2 + 1 + 2 + 42 bytes, and one of padding.
        p.extend([UDP, 5, PAD_ONE, OPTION, room as u8]);
        p.extend(WireHeader { hops: 0, path_id: 0, base_rtt_us: 50_000, cwnd: 2000 }.to_bytes());
        p.resize(IPV6_HEADER + 48 + UDP_HEADER + 1000, 0);
        p
    }

    #[test]
    fn a_stamp_is_read_and_records_stand_where_there_is_room() {
        let mut p = packet();
        let (stamp, payload) = read(&p).expect("it has a block");
        assert_eq!((stamp.base_rtt_us, stamp.cwnd, payload), (50_000, 2000, 1000));
        assert_eq!(stamp.weight, 0.5);
        let before = p.clone();
        fill(&mut p, 0, &stamp, &[]);
        assert_eq!(p, before);
        let mut hops = Vec::new();
        let read = read_stack(&p[IPV6_HEADER + 5..], &mut hops).expect("a block");
        assert_eq!((read.hops, read.cwnd, hops.len()), (0, 2000, 0));
    }

    #[test]
    fn headers_of_tcp_are_no_payload() {
        let mut p = packet();
        let tcp = IPV6_HEADER + 48;
        p[IPV6_HEADER] = TCP;
        p[tcp + TCP_OFFSET] = 8 << 4;
        let payload = (p.len() - tcp - 32) as u32;
        assert_eq!(read(&p).map(|(_, payload)| payload), Some(payload));
    }

    #[test]
    fn damaged_headers_have_no_block() {
        let p = packet();
        for cut in 0..IPV6_HEADER + 48 + UDP_HEADER {
            assert!(read(&p[..cut]).is_none(), "cut at {cut}");
        }
        for (at, value) in [(0, 0x45), (NEXT_HEADER, UDP), (IPV6_HEADER + 4, 255), (IPV6_HEADER + 4, 7)] {
            let mut p = packet();
            p[at] = value;
            assert!(read(&p).is_none(), "byte {at} is {value}");
        }
        // Another version.
        let mut p = packet();
        p[IPV6_HEADER + 5] = 0x20;
        assert!(read(&p).is_none());
    }
}
