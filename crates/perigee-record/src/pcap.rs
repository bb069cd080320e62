// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Capture of a run in pcapng, as observed at each flow's sender: data before it can be lost, ACKs
//! as they arrive. One interface per sending host, nanosecond timestamps, headers only (the
//! original length is stored).
//!
//! As the capture is taken at one end, every packet appears once, so that a protocol analyser finds
//! exactly the retransmissions of the simulated sender. The handshake, which the simulator does not
//! send as packets, is added before the first packet. Packets of real hosts are written unchanged.

use crate::packet::{flag, tcp_packet, udp_packet, Endpoint, Tcp, Telemetry};
use perigee_units::Nanos;
use std::collections::HashMap;
use std::io::{self, Write};

/// Link type of raw IP packets.
const LINKTYPE_RAW: u16 = 101;
/// Time zero of a capture: 2000-01-01 00:00:00 UTC, so that handshakes before time zero also have
/// valid timestamps.
const EPOCH_NS: u64 = 946_684_800_000_000_000;
/// Initial sequence numbers: the stream's byte 0 follows the SYN.
const ISN: u32 = 1000;

/// A flow of the capture.
#[derive(Clone, Debug)]
pub struct CaptureFlow {
    /// Sending host.
    pub from: String,
    /// Receiving host.
    pub to: String,
    /// Payload of a full segment.
    pub mss: u32,
    /// Duration of the added handshake.
    pub handshake: Nanos,
    /// Whether segments carry timestamps.
    pub timestamps: bool,
    /// Whether its packets are those of real hosts, which have the first addresses.
    pub real: bool,
}

/// A packet to write.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the fields of the simulator's packet view
pub struct CapturePacket<'a> {
    pub at: Nanos,
    pub flow: u32,
    pub body: Body<'a>,
    pub ecn: u8,
    pub telemetry: &'a [u8],
}

/// Content of a packet: its kind and header fields.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // TCP's own words
pub enum Body<'a> {
    Data { seq: u64, payload: u32, ts: (u32, u32) },
    Ack { ack: u64, sack: &'a [(u64, u64)], ts: (u32, u32) },
    Ping { number: u64, ip_bytes: u32 },
    Pong { number: u64, ip_bytes: u32 },
}

/// Capture being written.
pub struct Capture<W: Write> {
    out: W,
    flows: Vec<Open>,
    /// Headers of the current packet, and its SACK blocks on the wire.
    headers: Vec<u8>,
    sack: Vec<(u32, u32)>,
}

struct Open {
    flow: CaptureFlow,
    interface: u32,
    sender: Endpoint,
    receiver: Endpoint,
    greeted: bool,
    acked: u32,
}

impl<W: Write> Capture<W> {
    /// Starts a capture with all flows and their interfaces.
    ///
    /// # Errors
    /// If writing fails.
    pub fn new(mut out: W, flows: Vec<CaptureFlow>) -> io::Result<Self> {
        section(&mut out)?;
        let hosts = numbers(&flows);
        let mut interfaces: HashMap<String, u32> = HashMap::new();
        let mut open = Vec::with_capacity(flows.len());
        for (i, flow) in flows.into_iter().enumerate() {
            let sender = Endpoint { host: hosts[&flow.from], port: 32_768 + (i % 28_000) as u16 };
            let receiver = Endpoint { host: hosts[&flow.to], port: 5_001 + (i / 28_000) as u16 };
            let interface = match interfaces.get(&flow.from) {
                Some(&known) => known,
                None => {
                    interface(&mut out, &flow.from)?;
                    let next = interfaces.len() as u32;
                    interfaces.insert(flow.from.clone(), next);
                    next
                }
            };
            open.push(Open { flow, interface, sender, receiver, greeted: false, acked: ISN + 1 });
        }
        Ok(Capture { out, flows: open, headers: Vec::new(), sack: Vec::new() })
    }

    /// Writes a packet; packets of a flow must be in order of time.
    ///
    /// # Errors
    /// If writing fails.
    pub fn packet(&mut self, p: &CapturePacket<'_>) -> io::Result<()> {
        let Some(open) = self.flows.get_mut(p.flow as usize) else { return Ok(()) };
        let ts = |ts| open.flow.timestamps.then_some(ts);
        let headers = &mut self.headers;
        let payload = match p.body {
            Body::Data { seq, payload, ts: stamps } => {
                if !open.greeted {
                    open.greeted = true;
                    greet(&mut self.out, open, p.at, stamps)?;
                }
                let tcp = Tcp {
                    seq: wire(seq),
                    ack: ISN + 1,
                    flags: flag::ACK | flag::PSH,
                    timestamps: ts(stamps),
                    ..Tcp::default()
                };
                let telemetry = some(p.telemetry, hop_by_hop(p.telemetry));
                tcp_packet(headers, open.sender, open.receiver, &tcp, payload, p.ecn, telemetry);
                payload
            }
            Body::Ack { ack, sack, ts: stamps } => {
                self.sack.clear();
                self.sack.extend(sack.iter().map(|&(a, b)| (wire(a), wire(b))));
                open.acked = wire(ack);
                let tcp = Tcp {
                    seq: ISN + 1,
                    ack: wire(ack),
                    flags: flag::ACK,
                    timestamps: ts(stamps),
                    sack: &self.sack,
                    syn_mss: None,
                };
                let telemetry = some(p.telemetry, Telemetry::Destination);
                tcp_packet(headers, open.receiver, open.sender, &tcp, 0, p.ecn, telemetry);
                0
            }
            Body::Ping { ip_bytes, .. } => {
                let payload = ip_bytes.saturating_sub(28);
                udp_packet(headers, open.sender, open.receiver, payload);
                payload
            }
            Body::Pong { ip_bytes, .. } => {
                let payload = ip_bytes.saturating_sub(28);
                udp_packet(headers, open.receiver, open.sender, payload);
                payload
            }
        };
        block(&mut self.out, open.interface, p.at.0 as i128, headers, payload)
    }

    /// Writes the first `kept` bytes of an IP packet of a real host.
    ///
    /// # Errors
    /// If writing fails.
    pub fn frame(&mut self, flow: u32, at: Nanos, packet: &[u8], kept: usize) -> io::Result<()> {
        let Some(open) = self.flows.get(flow as usize) else { return Ok(()) };
        let (headers, payload) = packet.split_at(kept.min(packet.len()));
        block(&mut self.out, open.interface, at.0 as i128, headers, payload.len() as u32)
    }

    /// Ends the capture.
    ///
    /// # Errors
    /// If writing fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Host numbers in order of appearance, those of real flows first, as in their addresses.
fn numbers(flows: &[CaptureFlow]) -> HashMap<String, u32> {
    let mut hosts = HashMap::new();
    let (real, simulated): (Vec<_>, Vec<_>) = flows.iter().partition(|f| f.real);
    for name in real.into_iter().chain(simulated).flat_map(|f| [&f.from, &f.to]) {
        let next = hosts.len() as u32;
        hosts.entry(name.clone()).or_insert(next);
    }
    hosts
}

/// A block begins with its version; anything else is a header's options.
fn hop_by_hop<'a>(block: &[u8]) -> fn(&'a [u8]) -> Telemetry<'a> {
    match block.first().map(|first| first >> 4) {
        Some(1 | 2) | None => Telemetry::HopByHop,
        _ => Telemetry::Options,
    }
}

fn some<'a>(block: &'a [u8], make: fn(&'a [u8]) -> Telemetry<'a>) -> Telemetry<'a> {
    if block.is_empty() {
        Telemetry::None
    } else {
        make(block)
    }
}

/// Sequence number of a byte of the stream.
fn wire(byte: u64) -> u32 {
    (ISN + 1).wrapping_add(byte as u32)
}

/// SYN, SYN-ACK and ACK before the first data packet.
fn greet(out: &mut impl Write, open: &Open, first: Nanos, (ts, _): (u32, u32)) -> io::Result<()> {
    let mss = Some((open.flow.mss + if open.flow.timestamps { 12 } else { 0 }).min(65_535) as u16);
    let ms = |ns: i128| ns.div_euclid(1_000_000);
    let since = ms(first.0 as i128) - ms(first.0 as i128 - open.flow.handshake.0 as i128);
    let stamps = |value: u32, echo: u32| open.flow.timestamps.then_some((value, echo));
    // The clock of the first data's timestamp, at the time of the SYN.
    let then = ts.wrapping_sub(since as u32);
    let syn = Tcp { seq: ISN, flags: flag::SYN, timestamps: stamps(then, 0), syn_mss: mss, ..Tcp::default() };
    let reply = Tcp {
        seq: ISN,
        ack: ISN + 1,
        flags: flag::SYN | flag::ACK,
        timestamps: stamps(ts, then),
        syn_mss: mss,
        ..Tcp::default()
    };
    let last =
        Tcp { seq: ISN + 1, ack: ISN + 1, flags: flag::ACK, timestamps: stamps(ts, ts), ..Tcp::default() };
    let at = first.0 as i128;
    let (a, b) = (open.sender, open.receiver);
    let begin = at - open.flow.handshake.0 as i128;
    let mut headers = Vec::new();
    for (at, from, to, tcp) in [(begin, a, b, &syn), (at, b, a, &reply), (at, a, b, &last)] {
        tcp_packet(&mut headers, from, to, tcp, 0, 0, Telemetry::None);
        block(out, open.interface, at, &headers, 0)?;
    }
    Ok(())
}

/// Section header block, of unknown length.
fn section(out: &mut impl Write) -> io::Result<()> {
    raw(out, 0x0A0D_0D0A, &[&0x1A2B_3C4D_u32.to_le_bytes(), &[1, 0, 0, 0], &(-1_i64).to_le_bytes()])
}

/// Interface description block: name and nanosecond resolution.
fn interface(out: &mut impl Write, name: &str) -> io::Result<()> {
    let name = name.as_bytes();
    let name = &name[..name.len().min(255)];
    let mut options = vec![2, 0, name.len() as u8, 0];
    options.extend(name);
    options.resize(options.len().next_multiple_of(4), 0);
    options.extend([9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
    raw(out, 1, &[&LINKTYPE_RAW.to_le_bytes(), &[0; 6], &options])
}

/// Enhanced packet block.
fn block(out: &mut impl Write, interface: u32, at_ns: i128, headers: &[u8], payload: u32) -> io::Result<()> {
    let time = (EPOCH_NS as i128 + at_ns) as u64;
    let kept = headers.len() as u32;
    let pad = headers.len().next_multiple_of(4) - headers.len();
    let length = 32 + kept + pad as u32;
    let words = [6, length, interface, (time >> 32) as u32, time as u32, kept, kept + payload];
    let mut head = [0; 28];
    head.chunks_exact_mut(4).zip(words).for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes()));
    out.write_all(&head)?;
    out.write_all(headers)?;
    out.write_all(&[0; 3][..pad])?;
    out.write_all(&length.to_le_bytes())
}

fn raw(out: &mut impl Write, kind: u32, parts: &[&[u8]]) -> io::Result<()> {
    let length = 12 + parts.iter().map(|p| p.len()).sum::<usize>() as u32;
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&length.to_le_bytes())?;
    parts.iter().try_for_each(|p| out.write_all(p))?;
    out.write_all(&length.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture() -> Vec<u8> {
        let flow = CaptureFlow {
            from: "london".into(),
            to: "new-york".into(),
            mss: 1448,
            handshake: Nanos::from_millis(50),
            timestamps: true,
            real: false,
        };
        let mut c = Capture::new(Vec::new(), vec![flow]).unwrap();
        let data = Body::Data { seq: 0, payload: 1448, ts: (1, 0) };
        let ack = Body::Ack { ack: 1448, sack: &[(4344, 5792)], ts: (1, 1) };
        c.packet(&CapturePacket { at: Nanos(0), flow: 0, body: data, ecn: 2, telemetry: &[] }).unwrap();
        c.packet(&CapturePacket {
            at: Nanos::from_millis(50),
            flow: 0,
            body: ack,
            ecn: 0,
            telemetry: &[1; 25],
        })
        .unwrap();
        c.finish().unwrap()
    }

    #[test]
    fn blocks_frame_each_other() {
        let bytes = capture();
        let (mut at, mut kinds, mut ecn) = (0, Vec::new(), Vec::new());
        while at < bytes.len() {
            let word = |i: usize| u32::from_le_bytes(bytes[i..i + 4].try_into().unwrap());
            let length = word(at + 4) as usize;
            assert_eq!(word(at + length - 4) as usize, length);
            kinds.push(word(at));
            if word(at) == 6 && bytes[at + 28] >> 4 == 4 {
                ecn.push(bytes[at + 29]);
            }
            at += length;
        }
        assert_eq!(kinds, [0x0A0D_0D0A, 1, 6, 6, 6, 6, 6], "three packets of the handshake, then two");
        assert_eq!(ecn, [0, 0, 0, 2], "of IPv4; the ACK with telemetry is IPv6");
    }

    fn flow(from: &str, to: &str, real: bool) -> CaptureFlow {
        let (from, to) = (from.into(), to.into());
        CaptureFlow { from, to, mss: 1448, handshake: Nanos(0), timestamps: true, real }
    }

    #[test]
    fn packets_of_real_hosts_keep_their_bytes_and_their_length() {
        let mut c = Capture::new(Vec::new(), vec![flow("a", "b", true)]).unwrap();
        c.frame(0, Nanos(7), &[0x45, 1, 2, 3, 4, 5, 6], 5).unwrap();
        let bytes = c.finish().unwrap();
        let block = &bytes[bytes.len() - 40..];
        assert_eq!(block[..8], [6, 0, 0, 0, 40, 0, 0, 0]);
        assert_eq!(block[20..36], [5, 0, 0, 0, 7, 0, 0, 0, 0x45, 1, 2, 3, 4, 0, 0, 0]);
    }

    #[test]
    fn hosts_of_real_flows_have_the_first_addresses() {
        let flows = [flow("x", "b", false), flow("a", "b", true)];
        let hosts = numbers(&flows);
        assert_eq!((hosts["a"], hosts["b"], hosts["x"]), (0, 1, 2));
    }
}
