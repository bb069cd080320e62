// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Telemetry of an ACK as bytes of its wire format.

use crate::core::Input;
use perigee_cc::{Hop, Telemetry};
use perigee_telemetry::wire::{rate_code, WireCompact, WireHop, HOP_BYTES, MAX_HOPS};
use perigee_telemetry::{uf16, Stamp, WirePint};

const BYTES: usize = HOP_BYTES * MAX_HOPS;

/// Telemetry as bytes; empty by default.
#[derive(Clone, Debug)]
pub struct Wire {
    pub(crate) bytes: [u8; BYTES],
    pub(crate) path: u16,
    pub(crate) hops: u8,
    kind: u8,
    partial: bool,
    covered: u32,
}

impl Default for Wire {
    fn default() -> Self {
        Wire { bytes: [0; BYTES], path: 0, hops: 0, kind: 0, partial: false, covered: 1 }
    }
}

impl Wire {
    /// A stack of coded records.
    pub fn of_stack(path: u16, hops: &[WireHop]) -> Self {
        let mut wire = Wire { kind: 1, path, hops: hops.len() as u8, ..Wire::default() };
        let places = wire.bytes.chunks_exact_mut(HOP_BYTES);
        places.zip(hops).for_each(|(place, hop)| place.copy_from_slice(&hop.to_bytes()));
        wire
    }

    /// Encodes the values of `telemetry`, which were decoded from these bytes.
    pub fn of(telemetry: Option<&Telemetry<'_>>) -> Self {
        let Some(telemetry) = telemetry else { return Wire::default() };
        match *telemetry {
            Telemetry::Stack { path_id, hops, covered, partial } => {
                let mut coded = [WireHop::default(); MAX_HOPS];
                coded.iter_mut().zip(hops).for_each(|(c, h): (_, &Hop)| *c = WireHop::encode(h));
                Wire { covered, partial, ..Wire::of_stack(path_id as u16, &coded[..hops.len()]) }
            }
            Telemetry::Bottleneck {
                path_id,
                hop,
                u,
                tau,
                bw,
                avg_rtt,
                flows,
                queue_delay,
                covered,
                partial,
            } => {
                let record = WireCompact {
                    path_id: path_id as u16,
                    hop,
                    u: (u * 4096.0 + 0.5) as u16,
                    tau: tau.as_micros() as u32,
                    bw: rate_code(bw),
                    avg_rtt: avg_rtt.as_micros() as u32,
                    flows: flows as u16,
                    queue_delay: uf16::encode(queue_delay.as_micros()),
                };
                let mut wire = Wire { kind: 2, covered, partial, ..Wire::default() };
                wire.bytes[..16].copy_from_slice(&record.to_bytes());
                wire
            }
            Telemetry::Pint { path_id, u, bw, flows, queue_delay, covered, partial, .. } => {
                let record = WirePint {
                    u: code_of_u(u),
                    flows: code_of_flows(flows),
                    bw: rate_code(bw),
                    wait: (queue_delay.0 / 64_000) as u16,
                    path: path_id as u32,
                };
                let mut wire = Wire { kind: 3, covered, partial, ..Wire::default() };
                wire.bytes[..16].copy_from_slice(&record.to_bytes(&Stamp::default()));
                wire
            }
            // OrbCC has no reading of other laws.
            Telemetry::Feedback { .. } => Wire::default(),
        }
    }

    pub(crate) fn describe(&self, input: Input) -> Input {
        Input {
            covered: self.covered,
            path: self.path,
            kind: self.kind,
            partial: u8::from(self.partial),
            hops: self.hops,
            ..input
        }
    }
}

fn code_of_u(u: f64) -> u8 {
    if u <= 0.0 {
        return 0;
    }
    (1.0 + libm::round(libm::log(u * 4096.0) / libm::log(1.05))) as u8
}

fn code_of_flows(flows: u32) -> u8 {
    if flows <= 31 {
        return flows as u8;
    }
    (31.0 + libm::round(libm::log(f64::from(flows) / 31.0) / libm::log(1.03))) as u8
}
