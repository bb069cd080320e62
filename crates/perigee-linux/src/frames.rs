// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Conversion between frames of real hosts and packets of the simulated network.

use crate::plan::HostPlan;
use perigee_guest::job;
use perigee_sim::{EndpointId, Side, TelemetryStack};
use perigee_telemetry::wire::WireHeader;
use perigee_telemetry::{ipv6, tcp_option, WireCompact};

const ETHERNET: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// Minimum size.
const IP_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
/// Extension headers of IPv6 that carry telemetry.
const HOP_BY_HOP: u8 = 0;
const DESTINATION: u8 = 60;
/// Bytes of an extension header before the data of its first option.
const OPTION_HEADERS: usize = 4;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
/// Length of a UDP header in bytes (RFC 768).
pub(crate) const UDP_HEADER: usize = 8;
/// Congestion experienced (RFC 3168 section 5).
const CE: u8 = 3;

/// Place of a frame in the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// End that sent it.
    pub from: EndpointId,
    /// Offset of the TCP header in the IP packet, if it is TCP.
    pub tcp: Option<usize>,
    /// Packet number, if it belongs to a UDP flow.
    pub probe: Option<u64>,
}

/// IP packet of a frame, without Ethernet padding; `None` = neither IPv4 nor IPv6.
pub fn ip_packet(frame: &[u8]) -> Option<&[u8]> {
    let packet = frame.get(ETHERNET..)?;
    let length = match [frame[12], frame[13]] {
        IPV4 => usize::from(half(packet, 2)?),
        IPV6 => 40 + usize::from(half(packet, 4)?),
        _ => return None,
    };
    packet.get(..length).filter(|packet| packet.len() >= IP_HEADER)
}

/// End of a flow that sent an IP packet from one host to another: that of the flow with the
/// packet's port, or of a flow that carries all traffic of programs between these hosts; `None` =
/// no flow.
pub fn place(plan: &HostPlan, from: usize, to: usize, packet: &[u8]) -> Option<Place> {
    transfer(plan, from, to, packet).or_else(|| {
        let carrier = |ends: (usize, usize), side: Side| {
            let flow = plan.carriers.iter().find(|f| plan.ends[**f as usize] == Some(ends))?;
            Some(Place { from: EndpointId { flow: *flow, side }, tcp: None, probe: None })
        };
        carrier((from, to), Side::Source).or_else(|| carrier((to, from), Side::Destination))
    })
}

fn transfer(plan: &HostPlan, from: usize, to: usize, packet: &[u8]) -> Option<Place> {
    let (header, protocol) = transport(packet)?;
    if protocol != TCP && protocol != UDP {
        return None;
    }
    let (source, destination) = (half(packet, header)?, half(packet, header + 2)?);
    let found = |port: u16, ends: (usize, usize), side: Side| {
        let flow = u32::from(port.checked_sub(job::FIRST_PORT)?);
        let known = plan.is_real(flow) && plan.ends[flow as usize] == Some(ends);
        let of_protocol = known && plan.is_probe(flow) == (protocol == UDP);
        let tcp = (protocol == TCP).then_some(header);
        let probe = (protocol == UDP).then(|| probe_number(packet, header));
        of_protocol.then_some(Place { from: EndpointId { flow, side }, tcp, probe })
    };
    found(destination, (from, to), Side::Source).or_else(|| found(source, (to, from), Side::Destination))
}

/// Offset and protocol of an IP packet's transport header.
pub fn transport(packet: &[u8]) -> Option<(usize, u8)> {
    match packet.first()? >> 4 {
        4 => Some((usize::from(packet[0] & 15) * 4, *packet.get(9)?)),
        6 => {
            let (mut at, mut next) = (IPV6_HEADER, *packet.get(6)?);
            while next == HOP_BY_HOP || next == DESTINATION {
                next = *packet.get(at)?;
                at += (usize::from(*packet.get(at + 1)?) + 1) * 8;
            }
            Some((at, next))
        }
        _ => None,
    }
}

/// Number that the agent writes into a packet of a UDP flow; 0 if there is no room.
fn probe_number(packet: &[u8], udp: usize) -> u64 {
    let payload = packet.get(udp + UDP_HEADER..).and_then(|payload| payload.first_chunk::<8>());
    payload.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

/// Telemetry of an IP packet as created by its sender; `None` = no telemetry.
pub fn telemetry(packet: &[u8]) -> Option<TelemetryStack> {
    let found = ipv6::read(packet).or_else(|| tcp_option::read(packet));
    found.map(|(stamp, payload)| TelemetryStack::new(stamp, payload))
}

/// Whether an IPv6 packet has a destination header that begins with records of ports, as ACKs with
/// telemetry do.
pub fn has_records(packet: &[u8]) -> bool {
    if packet.first().is_none_or(|byte| byte >> 4 != 6) || packet.get(6) != Some(&DESTINATION) {
        return false;
    }
    let block = packet.get(IPV6_HEADER + OPTION_HEADERS..).and_then(|bytes| bytes.first_chunk());
    block.and_then(WireHeader::from_bytes).is_some_and(|header| header.hops > 0)
}

/// Frame from one host to another that contains an IP packet.
pub fn frame(packet: &[u8], from: usize, to: usize) -> Box<[u8]> {
    let mut out = Vec::with_capacity(ETHERNET + packet.len());
    out.extend(job::mac(to));
    out.extend(job::mac(from));
    out.extend(if packet.first().is_some_and(|b| b >> 4 == 6) { IPV6 } else { IPV4 });
    out.extend(packet);
    out.into()
}

/// The same for a packet delivered by the network, which may be marked, with telemetry written by
/// ports.
pub fn delivered(
    packet: &[u8],
    from: usize,
    to: usize,
    marked: bool,
    written: Option<&TelemetryStack>,
) -> Box<[u8]> {
    let mut frame = frame(packet, from, to);
    if marked {
        mark(&mut frame[ETHERNET..]);
    }
    if let Some(stack) = written {
        ipv6::fill(&mut frame[ETHERNET..], stack.path_id(), stack.stamp(), stack.hops());
    }
    frame
}

/// Writes the busiest port's record into the TCP option of a delivered frame that has one.
pub fn write_option(frame: &mut [u8], ports: usize, busiest: &WireCompact) {
    tcp_option::fill(&mut frame[ETHERNET..], ports, busiest);
}

/// Marks an IP packet as congestion experienced.
pub fn mark(packet: &mut [u8]) {
    match packet.first().map(|b| b >> 4) {
        Some(4) if packet.len() >= 20 => {
            let before = half(packet, 0).expect("long enough");
            packet[1] |= CE;
            let after = half(packet, 0).expect("long enough");
            let sum = updated_checksum(half(packet, 10).expect("long enough"), before, after);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        Some(6) if packet.len() >= 40 => packet[1] |= CE << 4,
        _ => {}
    }
}

/// Checksum of a header after a change of one word (RFC 1624, equation 3).
fn updated_checksum(sum: u16, before: u16, after: u16) -> u16 {
    let mut new = u32::from(!sum) + u32::from(!before) + u32::from(after);
    while new > 0xffff {
        new = (new & 0xffff) + (new >> 16);
    }
    !(new as u16)
}

/// The 16-bit number at an offset.
pub(crate) fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checksum(header: &[u8]) -> u16 {
        let words = header.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
        let mut sum: u32 = words.sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    /// An IPv4 packet with a TCP header and 100 bytes of payload.
    fn segment(source: u16, destination: u16) -> Vec<u8> {
        let mut packet = vec![0x45, 2, 0, 140, 7, 7, 0x40, 0, 64, TCP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let sum = checksum(&packet);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet.extend(source.to_be_bytes());
        packet.extend(destination.to_be_bytes());
        packet.resize(140, 9);
        packet
    }

    fn plan() -> HostPlan {
        HostPlan { ends: vec![None, Some((0, 1))], ..HostPlan::default() }
    }

    #[test]
    fn segments_belong_to_the_flow_of_their_port() {
        let at = |from, to, s, d| place(&plan(), from, to, &segment(s, d)).map(|p| p.from);
        let end = |side| Some(EndpointId { flow: 1, side });
        assert_eq!(at(0, 1, 40_000, 5002), end(Side::Source));
        assert_eq!(at(1, 0, 5002, 40_000), end(Side::Destination));
        // Other ports, simulated flows, and hosts that are not its ends.
        assert_eq!(at(0, 1, 40_000, 80), None);
        assert_eq!(at(0, 1, 40_000, 5001), None);
        assert_eq!(at(1, 0, 40_000, 5002), None);
        // With a carrier flow, all other traffic between its ends.
        let plan = HostPlan {
            carriers: vec![2],
            ends: vec![None, Some((0, 1)), Some((0, 1))],
            ..HostPlan::default()
        };
        let at = |from, to, s, d| place(&plan, from, to, &segment(s, d)).map(|p| (p.from.flow, p.from.side));
        assert_eq!(at(0, 1, 40_000, 80), Some((2, Side::Source)));
        assert_eq!(at(1, 0, 80, 40_000), Some((2, Side::Destination)));
        assert_eq!(at(0, 1, 40_000, 5002), Some((1, Side::Source)));
    }

    #[test]
    fn extension_headers_precede_the_transport() {
        let mut packet = vec![0x60, 0, 0, 0, 0, 52, HOP_BY_HOP, 64];
        packet.resize(IPV6_HEADER, 0);
        packet.extend([DESTINATION, 1, 0x3e, 12]);
        packet.resize(IPV6_HEADER + 16, 0);
        packet.extend([TCP, 0, 0x1e, 4, 0, 0, 0, 0]);
        assert_eq!(transport(&packet), Some((IPV6_HEADER + 24, TCP)));
        assert_eq!(transport(&packet[..IPV6_HEADER + 16]), None);
        assert!(!has_records(&packet));
        packet[6] = DESTINATION;
        for hops in [0, 1] {
            let header = WireHeader { hops, path_id: 1, base_rtt_us: 1000, cwnd: 20 };
            packet[IPV6_HEADER + OPTION_HEADERS..][..8].copy_from_slice(&header.to_bytes());
            assert_eq!(has_records(&packet), hops > 0);
        }
    }

    #[test]
    fn a_frame_loses_its_padding_and_keeps_its_bytes() {
        let packet = segment(1, 2);
        let mut padded = frame(&packet, 0, 1).to_vec();
        padded.extend([0; 9]);
        assert_eq!(ip_packet(&padded), Some(&packet[..]));
        assert_eq!(job::host_of(&padded[..6]), Some(1));
        assert_eq!(ip_packet(&padded[..20]), None);
    }

    #[test]
    fn a_mark_mends_the_checksum() {
        let mut packet = segment(1, 2);
        assert_eq!(checksum(&packet[..20]), 0);
        mark(&mut packet);
        assert_eq!(packet[1] & 3, CE);
        assert_eq!(checksum(&packet[..20]), 0);
    }
}
