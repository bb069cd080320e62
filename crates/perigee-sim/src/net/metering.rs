// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Telemetry of packets at a port: arrivals at its laws, and what they write at the dequeue.

use super::PortState;
use crate::packet::{has_stack, Form, Packet, Stacks};
use perigee_cc::TxBytesUnit;
use perigee_record::PacketKind;
use perigee_telemetry::carrier::Sending;
use perigee_telemetry::{counted_bytes, switch_id, FaultSpec, Faults, PortLaws, PortView};
use perigee_timeline::Port;
use perigee_units::draw::{mix, name_key};
use perigee_units::{BitRate, Nanos};

/// What a metered port computes.
pub(super) fn laws(port: &Port, seed: u64) -> PortLaws {
    let mut laws = PortLaws::new(port.spec.queue.integer_meter);
    let Some(f) = port.spec.telemetry_faults.as_deref() else { return laws };
    if f.flow_table > 0 {
        laws.records = laws.records.with_flow_table(f.flow_table);
    }
    let (delay, stale) = (f.delay, f.stale);
    let (error, clock_ppm, flow_count_error) = (f.error, f.clock_ppm, f.flow_count_error);
    let spec = FaultSpec { delay, error, clock_ppm, stale, flow_count_error };
    let faulty = spec != FaultSpec::default();
    laws.faults = faulty.then(|| Box::new(Faults::new(spec, mix(seed ^ name_key(&port.name)))));
    laws
}

/// Updates the telemetry of a packet that arrives at a port.
pub(super) fn note_arrival(port: &mut PortState, packet: &Packet, stacks: &mut Stacks, now: Nanos) {
    if stacks.other_forms && note_laws(port, packet, stacks, now) {
        return;
    }
    if !has_stack(packet.kind) {
        return;
    }
    let (queued, _) = port.reported(now);
    let Some(laws) = &mut port.laws else { return };
    let head = stacks.head_mut(packet.telemetry);
    head.q_in = laws.records.on_enqueue(now, &head.stamp, packet.flow, queued);
}

/// Counts the arrival of a packet for laws that compute feedback; true if it belongs to one of them.
#[cold]
#[inline(never)]
fn note_laws(port: &mut PortState, packet: &Packet, stacks: &Stacks, now: Nanos) -> bool {
    let (queued, rate) = port.reported(now);
    let bytes = u32::from(packet.ip_bytes) + port.framing;
    let view = PortView { now, rate, queued, bytes };
    let head = stacks.head(packet.telemetry);
    let Some(laws) = &mut port.laws else { return false };
    match head.form {
        Form::Feedback(feedback) if has_stack(packet.kind) => {
            laws.on_arrival(feedback.law, &view, &head.stamp);
            true
        }
        _ => {
            laws.on_other(&view);
            false
        }
    }
}

/// Counts the arrival of a packet without telemetry. `times_meters`: whether it starts the timer of
/// the meter.
pub(super) fn note_other(port: &mut PortState, packet: &Packet, now: Nanos, times_meters: bool) {
    let (queued, rate) = port.reported(now);
    let Some(laws) = &mut port.laws else { return };
    if times_meters {
        laws.records.on_other(now);
    }
    let bytes = u32::from(packet.ip_bytes) + port.framing;
    laws.on_other(&PortView { now, rate, queued, bytes });
}

/// Writes the switch's record into a packet that leaves the queue of a port.
pub(super) fn note_dequeue(
    port: &mut PortState,
    packet: &Packet,
    stacks: &mut Stacks,
    units: &[TxBytesUnit],
    at: Nanos,
) {
    if stacks.other_forms {
        match stacks.head(packet.telemetry).form {
            Form::Pint(_) => return note_pint(port, packet, stacks, at),
            Form::Feedback(_) => return note_feedback(port, packet, stacks, at),
            Form::Carried(_) => return note_carried(port, packet, stacks, at),
            _ => {}
        }
    }
    if !has_stack(packet.kind) {
        return;
    }
    let (queued, rate) = port.reported(at);
    let Some(laws) = &mut port.laws else { return };
    let meter = &mut laws.records;
    let head = stacks.head(packet.telemetry);
    let ip_bytes = packet.ip_bytes as u32;
    let counted = counted_bytes(units[packet.flow as usize], head.payload, ip_bytes, ip_bytes + port.framing);
    let counted = counted * u32::from(head.stamp.covers.max(1));
    let mut hop = meter.on_dequeue(at, head.q_in, queued, rate, counted);
    if head.stamp.weighted && meter.flows_by_weight() > 0.0 {
        hop = hop.with_windows(meter.flows_by_weight());
    }
    stacks.push(packet.telemetry, hop, switch_id(port.node));
    if let Some(faults) = &mut laws.faults {
        note_faults(faults, stacks, packet.telemetry, at, rate);
    }
}

/// Replaces the record that has just been written by that of a port with wrong telemetry.
#[cold]
#[inline(never)]
fn note_faults(faults: &mut Faults, stacks: &mut Stacks, telemetry: u32, at: Nanos, rate: BitRate) {
    if let Some(hop) = stacks.written(telemetry) {
        *hop = faults.apply(at, rate, *hop);
    }
}

/// The same for records of fixed size: data packets carry the record of the busiest port, ACKs add
/// up their waiting times.
fn note_pint(port: &mut PortState, packet: &Packet, stacks: &mut Stacks, at: Nanos) {
    let (queued, rate) = port.reported(at);
    let Some(laws) = &mut port.laws else { return };
    let meter = &mut laws.records;
    let (switch, wait) = (switch_id(port.node), at - packet.enqueued);
    let record = meter.on_dequeue_pint(at, queued, rate, packet.ip_bytes as u32, switch);
    if packet.kind == PacketKind::Data {
        stacks.overwrite(packet.telemetry, record, switch, wait);
    } else if let Form::Pint(carried) = &mut stacks.head_mut(packet.telemetry).form {
        carried.wait_more(wait);
    }
}

/// Writes what the packet's carrier takes of the port.
#[inline(never)]
fn note_carried(port: &mut PortState, packet: &Packet, stacks: &mut Stacks, now: Nanos) {
    if !has_stack(packet.kind) {
        return;
    }
    let (queued, rate) = port.reported(now);
    let Some(laws) = &mut port.laws else { return };
    let switch = switch_id(port.node);
    let head = stacks.head_mut(packet.telemetry);
    let Form::Carried(carried) = &mut head.form else { return };
    let bytes = u32::from(packet.ip_bytes) + port.framing;
    let sending = Sending { now, arrived: packet.enqueued, q_in: head.q_in, queued, rate, bytes };
    match laws.carriers.get_or_insert_default().write(carried, &sending, switch) {
        Some(node_data) => stacks.push(packet.telemetry, node_data, switch),
        None => head.count = head.count.saturating_add(1),
    }
}

/// Applies the law of the packet; ACKs only return its result.
#[inline(never)]
fn note_feedback(port: &mut PortState, packet: &Packet, stacks: &mut Stacks, now: Nanos) {
    if !has_stack(packet.kind) {
        return;
    }
    let (queued, rate) = port.reported(now);
    let Some(laws) = &mut port.laws else { return };
    let head = stacks.head_mut(packet.telemetry);
    if let Form::Feedback(feedback) = &mut head.form {
        let bytes = u32::from(packet.ip_bytes) + port.framing;
        laws.on_departure(&PortView { now, rate, queued, bytes }, &head.stamp, feedback);
        head.count = head.count.saturating_add(1);
    }
}
