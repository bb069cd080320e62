// SPDX-License-Identifier: Apache-2.0 OR MIT
//! TCP option that carries telemetry, over IPv4 and IPv6: the fields of the sender and the record of
//! the busiest port, which later ports overwrite (`orbcc/bpf/carriers.h`).
//!
//! ```text
//! data, 24 bytes  kind 8 | length 8 | 0x4F44 16 | version 4 | ports 4 | pathID 16 | hop 4 | baseRTT 20 µs
//!                 | cwnd 16 uf16 | u 16 Q4.12 | bw 16 uf16 | avgRTT 20 µs | flowCnt 12 | queueing 16 uf16 µs
//!                 | profile 8 | unused 8
//! ```
//!
//! Kind 253 is one of those for experiments (RFC 4727), with an experiment id (RFC 6994). Ports
//! update TCP's checksum.

use crate::echo::{baseline, record};
use crate::wire::{Stamp, WireCompact, WireHop, BASELINE_HOP, RTT_MAX_US, VERSION};
use perigee_cc::utilisation::{bottleneck, Bottleneck, STACK_LIFETIME};
use perigee_cc::{Hop, Nanos};

const IPV4: u8 = 4;
const IPV6: u8 = 6;
const IPV6_HEADER: usize = 40;
const TCP: u8 = 6;
const TCP_HEADER: usize = 20;
/// Offsets in a TCP header.
const TCP_OFFSET: usize = 12;
const TCP_CHECKSUM: usize = 16;
const KIND: u8 = 253;
const BYTES: usize = 24;
const EXPERIMENT: [u8; 2] = [0x4f, 0x44];
const MOST_PORTS: usize = 15;

/// Positions in an IP packet.
struct Found {
    tcp: usize,
    option: usize,
    /// Bytes after the TCP header.
    payload: u32,
}

/// Stamp of a packet as written by its sender, and the packet's payload in bytes; `None` = no
/// option.
pub fn read(packet: &[u8]) -> Option<(Stamp, u32)> {
    let found = find(packet)?;
    let x = &packet[found.option..found.option + BYTES];
    let base_rtt_us = u32::from_be_bytes([0, x[7], x[8], x[9]]) & RTT_MAX_US;
    Some((Stamp::coded(base_rtt_us, u16::from_be_bytes([x[10], x[11]]), found.payload), found.payload))
}

/// Writes the record of the busiest of `ports` ports into a packet, and mends its checksum. A
/// baseline record leaves only path and queueing delay.
pub fn fill(packet: &mut [u8], ports: usize, busiest: &WireCompact) {
    let Some(Found { tcp, option, .. }) = find(packet) else { return };
    let before: [u8; BYTES] = *packet[option..].first_chunk().expect("found");
    let x = &mut packet[option..option + BYTES];
    x[4] = VERSION << 4 | ports.min(MOST_PORTS) as u8;
    x[5..7].copy_from_slice(&busiest.path_id.to_be_bytes());
    let hop = if busiest.hop == BASELINE_HOP { 0 } else { busiest.hop.min(MOST_PORTS as u8) };
    x[7] = hop << 4 | (x[7] & 15);
    x[12..14].copy_from_slice(&busiest.u.to_be_bytes());
    x[14..16].copy_from_slice(&busiest.bw.to_be_bytes());
    x[16..20].copy_from_slice(&(busiest.avg_rtt << 12 | u32::from(busiest.flows)).to_be_bytes());
    x[20..22].copy_from_slice(&busiest.queue_delay.to_be_bytes());
    let after: [u8; BYTES] = *packet[option..].first_chunk().expect("found");
    let sum = &mut packet[tcp + TCP_CHECKSUM..tcp + TCP_CHECKSUM + 2];
    // A word is made of bytes at an even offset from the TCP header.
    let swapped = (option - tcp) % 2 == 1;
    let new = updated_checksum(u16::from_be_bytes([sum[0], sum[1]]), &before, &after, swapped);
    sum.copy_from_slice(&new.to_be_bytes());
}

/// RFC 1624, equation 3.
fn updated_checksum(sum: u16, before: &[u8; BYTES], after: &[u8; BYTES], swapped: bool) -> u16 {
    let word = |pair: &[u8]| u32::from(u16::from_be_bytes([pair[0], pair[1]]));
    let folded = |mut sum: u32| {
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    };
    let old: u32 = before.chunks_exact(2).map(|pair| 0xffff - word(pair)).sum();
    let new: u32 = after.chunks_exact(2).map(word).sum();
    let change = folded(old + new);
    let change = if swapped { change.swap_bytes() } else { change };
    !folded(u32::from(!sum) + u32::from(change))
}

fn find(packet: &[u8]) -> Option<Found> {
    let tcp = match packet.first()? >> 4 {
        IPV4 if *packet.get(9)? == TCP => usize::from(packet[0] & 15) * 4,
        IPV6 if *packet.get(6)? == TCP => IPV6_HEADER,
        _ => return None,
    };
    let end = tcp + usize::from(*packet.get(tcp + TCP_OFFSET)? >> 4) * 4;
    let payload = packet.len().checked_sub(end)? as u32;
    let mut at = tcp + TCP_HEADER;
    while at + BYTES <= end {
        match packet[at] {
            0 => return None,
            1 => at += 1,
            KIND if packet[at + 1] as usize == BYTES && packet[at + 2..at + 4] == EXPERIMENT => {
                return (packet[at + 4] >> 4 == VERSION).then_some(Found { tcp, option: at, payload });
            }
            _ => at += usize::from(packet[at + 1]).max(2),
        }
    }
    None
}

/// Ports' own averages of their load, by which they compete for the option: over an eighth to a
/// quarter of the mean RTT, since between the packets of a burst every port is busy.
#[derive(Clone, Debug, Default)]
pub struct BusiestPort {
    path_id: u16,
    young: Option<(Nanos, Vec<Hop>)>,
    old: Vec<Hop>,
}

impl BusiestPort {
    /// Processes the records that ports made for a packet; returns that of the busiest port. The
    /// first packet of a path, and one that was overtaken, yield a baseline.
    pub fn on_packet(&mut self, now: Nanos, path_id: u16, hops: &[WireHop]) -> WireCompact {
        let stack: Vec<Hop> = hops.iter().map(WireHop::decode).collect();
        let comparable = self.path_id == path_id
            && self.young.as_ref().is_some_and(|(at, young)| {
                young.len() == stack.len() && now.saturating_sub(*at) <= STACK_LIFETIME
            });
        if !comparable {
            self.path_id = path_id;
            let compact = baseline(path_id, &stack);
            self.old.clear();
            self.young = Some((now, stack));
            return compact;
        }
        let (_, young) = self.young.as_ref().expect("comparable");
        let reference = if self.old.is_empty() { young } else { &self.old };
        let Some(found) = bottleneck(reference, &stack, |h| h.avg_rtt) else {
            return baseline(path_id, &stack);
        };
        let compact = record(path_id, &stack, &found);
        if self.old.is_empty() || is_old(young, &stack, &found) {
            self.old = self.young.replace((now, stack)).expect("comparable").1;
        }
        compact
    }
}

/// Whether an eighth of the mean RTT has passed at the busiest port since the younger sample.
fn is_old(young: &[Hop], stack: &[Hop], found: &Bottleneck) -> bool {
    let (before, after) = (&young[found.hop], &stack[found.hop]);
    let tau = after.ts.0.wrapping_sub(before.ts.0) % Nanos::from_micros(1 << 24).0;
    tau >= after.avg_rtt.0 / 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_cc::BitRate;

    /// A segment over IPv4 or IPv6 with timestamps, the option at an odd or even place, and 100
    /// bytes of payload.
    fn segment(v6: bool, odd: bool) -> Vec<u8> {
        let mut p = vec![0; if v6 { IPV6_HEADER } else { 20 }];
        if v6 {
            (p[0], p[6]) = (0x60, TCP);
        } else {
            (p[0], p[9]) = (0x45, TCP);
        }
        let tcp = p.len();
        p.resize(tcp + TCP_HEADER, 3);
        p[tcp + TCP_OFFSET] = 15 << 4;
        p.extend([1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8]);
        if odd {
            p.push(1);
        }
        p.extend([KIND, BYTES as u8, 0x4f, 0x44, VERSION << 4, 0, 0, 0, 0xc3, 0x50, 0x07, 0xd0]);
        p.resize(tcp + 60, 0);
        p.resize(tcp + 160, 7);
        p[tcp + TCP_CHECKSUM..tcp + TCP_CHECKSUM + 2].copy_from_slice(&[0, 0]);
        let sum = !folded_sum(&p[tcp..]);
        p[tcp + TCP_CHECKSUM..tcp + TCP_CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        p
    }

    fn folded_sum(bytes: &[u8]) -> u16 {
        let mut sum: u32 = bytes.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn the_option_is_read_and_the_checksum_stays_valid() {
        for (v6, odd) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut p = segment(v6, odd);
            let tcp = if v6 { IPV6_HEADER } else { 20 };
            let (stamp, payload) = read(&p).expect("an option");
            assert_eq!((stamp.base_rtt_us, stamp.cwnd, payload), (50_000, 2000, 100));
            assert_eq!(folded_sum(&p[tcp..]), 0xffff);
            let busiest = WireCompact {
                path_id: 0x1234,
                hop: 2,
                u: 4000,
                bw: 77,
                avg_rtt: 50_000,
                flows: 3,
                queue_delay: 9,
                ..WireCompact::default()
            };
            fill(&mut p, 3, &busiest);
            assert_eq!(folded_sum(&p[tcp..]), 0xffff, "{v6} {odd}");
            let x = &p[tcp + 32 + usize::from(odd)..];
            assert_eq!((x[4], &x[5..7], x[7]), (VERSION << 4 | 3, &[0x12, 0x34][..], 2 << 4));
            assert_eq!((&x[12..16], &x[20..22]), (&[0x0f, 0xa0, 0, 77][..], &[0, 9][..]));
            assert_eq!(read(&p).map(|(s, _)| s.base_rtt_us), Some(50_000));
        }
    }

    #[test]
    fn damaged_headers_have_no_option() {
        let p = segment(false, false);
        for cut in 0..80 {
            assert!(read(&p[..cut]).is_none(), "cut at {cut}");
        }
        for (at, value) in [(0, 0x65), (9, 17), (52, 252), (53, 23), (55, 0x45), (56, 0x20), (43, 0)] {
            let mut p = segment(false, false);
            p[at] = value;
            assert!(read(&p).is_none(), "byte {at} is {value}");
        }
    }

    fn hop(ts_us: u64, tx_bytes: u64) -> WireHop {
        WireHop::encode(&Hop {
            ts: Nanos::from_micros(ts_us),
            bw: BitRate::from_mbit(100),
            q_out: 0,
            q_in: 0,
            tx_bytes,
            avg_rtt: Nanos::from_millis(40),
            flows: 1,
        })
    }

    #[test]
    fn the_load_of_a_port_is_a_mean_over_its_bursts() {
        let mut port = BusiestPort::default();
        assert_eq!(port.on_packet(Nanos::ZERO, 5, &[hop(0, 0)]).hop, BASELINE_HOP);
        // Bursts of ten packets at the link's rate, half of the time.
        let (mut at, mut tx, mut highest) = (0, 0, 0);
        for _ in 0..100 {
            for _ in 0..10 {
                (at, tx) = (at + 120, tx + 1500);
                let found = port.on_packet(Nanos::from_micros(at), 5, &[hop(at, tx)]);
                if at > 20_000 {
                    highest = found.u.max(highest);
                }
            }
            at += 1200;
        }
        assert!((1900..2500).contains(&highest), "{highest} of 4096");
        assert_eq!(port.on_packet(Nanos::from_micros(at), 6, &[hop(at, tx)]).hop, BASELINE_HOP);
    }
}
