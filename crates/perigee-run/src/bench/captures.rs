// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Import speed of captures: one of full packets, as written by tcpdump, and one of headers only.

use perigee_capture::reader::Packets;
use perigee_capture::Options;
use perigee_record::packet::{flag, tcp_packet, Endpoint, Tcp, Telemetry};
use perigee_record::Collector;
use perigee_units::Nanos;
use serde_json::{json, Value as Json};
use std::io::Cursor;
use std::time::Instant;

const FLOWS: u32 = 20;
const ROUNDS: u32 = 6_000;
const PAYLOAD: u32 = 1448;
/// An ACK for every second packet.
const PER_ACK: u32 = 2;

/// Megabytes and packets per second, each the fastest of three passes.
pub fn measure() -> Result<Json, String> {
    let whole = pass(&pcap(true))?;
    let headers = pass(&pcap(false))?;
    Ok(json!({
        "name": super::CAPTURES,
        "whole_mb_per_s": whole.0,
        "whole_packets_per_s": whole.1,
        "headers_mb_per_s": headers.0,
        "headers_packets_per_s": headers.1,
    }))
}

fn pass(file: &[u8]) -> Result<(f64, f64), String> {
    let options =
        Options { place: None, cc: "cubic".into(), sample: Nanos::from_millis(100), warmup: Nanos::ZERO };
    let mut fastest = f64::INFINITY;
    let mut packets = 0;
    for _ in 0..3 {
        let copy = file.to_vec();
        let begin = Instant::now();
        let found = Packets::new(Box::new(Cursor::new(copy)))
            .and_then(|p| perigee_capture::import(p, &options, &mut Collector::default(), &mut |_| true))
            .map_err(|e| e.to_string())?;
        fastest = fastest.min(begin.elapsed().as_secs_f64());
        packets = found.packets;
    }
    Ok((file.len() as f64 / 1e6 / fastest, packets as f64 / fastest))
}

/// Several concurrent flows, in the format of tcpdump (microseconds, Ethernet).
fn pcap(whole: bool) -> Vec<u8> {
    let (mut out, mut ip) = (Vec::new(), Vec::new());
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        out.extend(word.to_le_bytes());
    }
    for round in 0..ROUNDS {
        for flow in 0..FLOWS {
            let (a, b) = (Endpoint { host: flow, port: 4_000 }, Endpoint { host: 1_000, port: 80 });
            let us = round * 1_000 + flow * 10;
            for k in 0..PER_ACK {
                let seq = 1 + (round * PER_ACK + k) * PAYLOAD;
                let tcp = Tcp {
                    seq,
                    ack: 1,
                    flags: flag::ACK,
                    timestamps: Some((us / 1_000, 0)),
                    ..Tcp::default()
                };
                tcp_packet(&mut ip, a, b, &tcp, PAYLOAD, 0, Telemetry::None);
                packet(&mut out, us + k, &ip, PAYLOAD, whole);
            }
            let ack = 1 + round.saturating_sub(20) * PER_ACK * PAYLOAD;
            let tcp =
                Tcp { seq: 1, ack, flags: flag::ACK, timestamps: Some((7, us / 1_000)), ..Tcp::default() };
            tcp_packet(&mut ip, b, a, &tcp, 0, 0, Telemetry::None);
            packet(&mut out, us + 5, &ip, 0, whole);
        }
    }
    out
}

fn packet(out: &mut Vec<u8>, us: u32, ip: &[u8], payload: u32, whole: bool) {
    let kept = 14 + ip.len() as u32 + if whole { payload } else { 0 };
    for word in [us / 1_000_000, us % 1_000_000, kept, 14 + ip.len() as u32 + payload] {
        out.extend(word.to_le_bytes());
    }
    out.extend([0; 12]);
    out.extend([8, 0]);
    out.extend(ip);
    out.resize(out.len() + if whole { payload as usize } else { 0 }, 0);
}
