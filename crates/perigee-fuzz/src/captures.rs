// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fuzz target: capture files.

use perigee_capture::reader::Packets;
use perigee_capture::Options;
use perigee_record::packet::{flag, tcp_packet, Endpoint, Tcp, Telemetry};
use perigee_record::pcap::{Body, Capture, CaptureFlow, CapturePacket};
use perigee_record::Collector;
use perigee_units::Nanos;
use std::io::Cursor;

/// Small captures: pcapng as written by Perigee, and pcap in both byte orders with Ethernet and
/// cooked headers.
pub fn seeds() -> Vec<Vec<u8>> {
    vec![pcapng(), pcap(1, true), pcap(113, false), quic()]
}

/// Imports a capture; true if it contains a flow.
pub fn feed(bytes: &[u8]) -> bool {
    let options =
        Options { place: None, cc: "x".into(), sample: Nanos::from_millis(100), warmup: Nanos::ZERO };
    let Ok(packets) = Packets::new(Box::new(Cursor::new(bytes.to_vec()))) else { return false };
    perigee_capture::import(packets, &options, &mut Collector::default(), &mut |_| true).is_ok()
}

fn pcapng() -> Vec<u8> {
    let flow = CaptureFlow {
        from: "a".into(),
        to: "b".into(),
        mss: 1448,
        handshake: Nanos::from_millis(50),
        timestamps: true,
        real: false,
    };
    let mut c = Capture::new(Vec::new(), vec![flow]).expect("memory");
    for n in 0..6u64 {
        let seq = 1448 * [0, 1, 2, 3, 1, 4][n as usize];
        let data = Body::Data { seq, payload: 1448, ts: (n as u32, 0) };
        let ack = Body::Ack { ack: 1448, sack: &[(2896, 2896 + 1448 * n)], ts: (1, n as u32) };
        for (i, body) in [data, ack].into_iter().enumerate() {
            let at = Nanos::from_millis(10 * n + 50 * i as u64);
            c.packet(&CapturePacket { at, flow: 0, body, ecn: 0, telemetry: &[] }).expect("memory");
        }
    }
    c.finish().expect("memory")
}

/// A QUIC handshake and packets with a changing spin bit, the last ones to another port of the
/// client, as raw IPv4.
fn quic() -> Vec<u8> {
    let mut out: Vec<u8> = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 101].map(u32::to_le_bytes).concat();
    for n in 0..14u8 {
        let (first, back) = match n {
            0 => (0xc3, 0),
            1 => (0xc3, 1),
            2 => (0xe3, 0),
            _ => (0x40 | (0x20 * (n / 3 % 2)), 1),
        };
        let ids: &[u8] = if n < 3 { &[0, 0, 0, 1, 8] } else { &[7; 5] };
        let port = if n < 9 { 2 - back } else { 9 };
        let udp = [[1 + back, 0, port, 0].as_slice(), &[2, 96, 0, 0, first], ids, &[7; 594]].concat();
        let mut ip = vec![0x45, 0, 2, 116, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1 + back, 10, 0, 0, 2 - back];
        ip.extend(udp);
        let size = ip.len() as u32;
        [u32::from(n / 10), 100_000 * u32::from(n % 10), size, size]
            .iter()
            .for_each(|v| out.extend(v.to_le_bytes()));
        out.extend(ip);
    }
    out
}

fn pcap(link: u32, little: bool) -> Vec<u8> {
    let four = |v: u32| if little { v.to_le_bytes() } else { v.to_be_bytes() };
    let mut out = Vec::new();
    let version = if little { [2, 0, 4, 0] } else { [0, 2, 0, 4] };
    out.extend(four(0xa1b2_3c4d));
    out.extend(version);
    [0, 0, 65_535, link].iter().for_each(|&v| out.extend(four(v)));
    let (a, b) = (Endpoint { host: 0, port: 5000 }, Endpoint { host: 1, port: 80 });
    let segment = |flags: u8, seq: u32, ack: u32| Tcp { seq, ack, flags, ..Tcp::default() };
    let packets = [
        (a, b, segment(flag::SYN, 9, 0), 0),
        (b, a, segment(flag::SYN | flag::ACK, 99, 10), 0),
        (a, b, segment(flag::ACK, 10, 100), 0),
        (a, b, segment(flag::ACK, 10, 100), 1000),
        (b, a, segment(flag::ACK, 100, 1010), 0),
        (a, b, segment(flag::ACK | 1, 1010, 100), 500),
        (b, a, segment(flag::ACK | 1, 100, 1511), 0),
    ];
    for (n, (from, to, tcp, payload)) in packets.into_iter().enumerate() {
        let mut ip = Vec::new();
        tcp_packet(&mut ip, from, to, &tcp, payload, 0, Telemetry::None);
        let head: Vec<u8> = match link {
            1 => [[0; 12].as_slice(), &[0x81, 0, 0, 5], &[8, 0]].concat(),
            _ => [[0; 14].as_slice(), &[8, 0]].concat(),
        };
        let kept = (head.len() + ip.len()) as u32;
        [n as u32, 7, kept, kept + payload].iter().for_each(|&v| out.extend(four(v)));
        out.extend(head);
        out.extend(ip);
    }
    out
}
