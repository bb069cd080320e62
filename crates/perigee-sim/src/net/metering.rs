// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Telemetry of packets at a port: arrivals at its meter, and records written at the dequeue.

use super::PortState;
use crate::packet::{has_stack, Form, Packet, Stacks};
use perigee_cc::TxBytesUnit;
use perigee_record::PacketKind;
use perigee_telemetry::{counted_bytes, switch_id};
use perigee_units::Nanos;

/// Updates the telemetry of a packet that arrives at a port.
pub(super) fn note_arrival(port: &mut PortState, packet: &Packet, stacks: &mut Stacks, now: Nanos) {
    if !has_stack(packet.kind) {
        return;
    }
    let (queued, _) = port.reported(now);
    let Some(meter) = &mut port.meter else { return };
    let head = stacks.head_mut(packet.telemetry);
    head.q_in = meter.on_enqueue(now, &head.stamp, packet.flow, queued);
}

/// Counts the arrival of a packet without telemetry.
#[inline]
pub(super) fn note_other(port: &mut PortState, now: Nanos) {
    if let Some(meter) = &mut port.meter {
        meter.on_other(now);
    }
}

/// Writes the switch's record into a packet that leaves the queue of a port.
pub(super) fn note_dequeue(
    port: &mut PortState,
    packet: &Packet,
    stacks: &mut Stacks,
    units: &[TxBytesUnit],
    at: Nanos,
) {
    if stacks.pint {
        if let Form::Pint(_) = stacks.head(packet.telemetry).form {
            return note_pint(port, packet, stacks, at);
        }
    }
    if !has_stack(packet.kind) {
        return;
    }
    let (queued, rate) = port.reported(at);
    let Some(meter) = &mut port.meter else { return };
    let head = stacks.head(packet.telemetry);
    let ip_bytes = packet.ip_bytes as u32;
    let counted = counted_bytes(units[packet.flow as usize], head.payload, ip_bytes, ip_bytes + port.framing);
    let counted = counted * u32::from(head.stamp.covers.max(1));
    let mut hop = meter.on_dequeue(at, head.q_in, queued, rate, counted);
    if head.stamp.weighted && meter.flows_by_weight() > 0.0 {
        hop = hop.with_windows(meter.flows_by_weight());
    }
    stacks.push(packet.telemetry, hop, switch_id(port.node));
}

/// The same for records of fixed size: data packets carry the record of the busiest port, ACKs add
/// up their waiting times.
fn note_pint(port: &mut PortState, packet: &Packet, stacks: &mut Stacks, at: Nanos) {
    let (queued, rate) = port.reported(at);
    let Some(meter) = &mut port.meter else { return };
    let (switch, wait) = (switch_id(port.node), at - packet.enqueued);
    let record = meter.on_dequeue_pint(at, queued, rate, packet.ip_bytes as u32, switch);
    if packet.kind == PacketKind::Data {
        stacks.overwrite(packet.telemetry, record, switch, wait);
    } else if let Form::Pint(carried) = &mut stacks.head_mut(packet.telemetry).form {
        carried.wait_more(wait);
    }
}
