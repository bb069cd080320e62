// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arrivals and timers at the ends of flows. Both ends of a flow are accessible only here, at
//! proxies, and when recording.

use super::partition::EndUpdate;
use super::Simulation;
use crate::external_endpoint::{EndpointId, OutsidePacket, Side};
use crate::host::{begins_flow, relay, Delivered, Established, Received};
use crate::observe::{CompletionRow, FlowTotals, Observer, SimEvent};
use crate::schedule::End;

impl Simulation<'_> {
    /// Delivers a packet that has reached the end of its route.
    #[inline(always)]
    pub(super) fn reach_end<O: Observer>(&mut self, h: u32, obs: &mut O) {
        let packet = self.net.packets.get(h);
        let (flow, forward) = (packet.flow, packet.kind.is_forward());
        let (ends, mut cx) = self.cx(obs);
        if forward {
            match ends.receiving[flow as usize].receive(h, &mut cx) {
                Delivered::Nothing => {}
                Delivered::UpTo(next) => ends.sending[flow as usize].note_silence(next, &mut cx),
                Delivered::All { bytes } => self.complete(flow, bytes, obs),
            }
        } else {
            match ends.sending[flow as usize].receive(h, &mut cx) {
                Received::Nothing => {}
                Received::Reply(reply) => self.signal(self.now, flow, &reply),
                Received::Established(how) => self.establish(flow, how, obs),
            }
        }
        if self.legs {
            let (ends, mut cx) = self.cx(obs);
            relay::pass_on(ends, flow as usize, &mut cx);
        }
    }

    /// Starts the receiving end at the end of the handshake.
    fn establish<O: Observer>(&mut self, flow: u32, how: Established, obs: &mut O) {
        if self.is_elsewhere(End::receiving(flow)) {
            let started = self.ends.sending[flow as usize].counts.started;
            return self.end_updates.push(EndUpdate::Established { flow, at: self.now, started, how });
        }
        let (ends, mut cx) = self.cx(obs);
        ends.receiving[flow as usize].begin(Some(how), &mut cx);
    }

    /// Records the completion of a limited transfer. For a split connection the end of the last leg
    /// counts, measured from the start of the first leg.
    fn complete<O: Observer>(&mut self, flow: u32, bytes: u64, obs: &mut O) {
        let f = flow as usize;
        if self.facts[f].setup.leg.is_some_and(|l| l.after.is_some()) {
            return;
        }
        if self.is_elsewhere(End::sending(flow)) {
            self.end_updates.push(EndUpdate::Completed { flow, at: self.now });
        }
        let requested = self.ends.receiving[f].requested().or(self.ends.sending[f].counts.started);
        obs.completion(&CompletionRow {
            flow,
            object: 0,
            bytes,
            asked_ns: requested.unwrap_or(self.now).0,
            first_ns: None,
            done_ns: self.now.0,
        });
    }

    /// Runs the timers of an end, which are due, or were when it was scheduled.
    pub(super) fn timer<O: Observer>(&mut self, end: End, obs: &mut O) {
        match end.is_sending() {
            true => self.sender_timer(end, obs),
            false => self.receiver_timer(end, obs),
        }
    }

    fn receiver_timer<O: Observer>(&mut self, end: End, obs: &mut O) {
        let now = self.now;
        let (ends, mut cx) = self.cx(obs);
        let receiving = &mut ends.receiving[end.flow() as usize];
        if receiving.next_due() <= now {
            receiving.on_timer(&mut cx);
        }
        cx.net.set_wake(end, receiving.next_due());
    }

    fn sender_timer<O: Observer>(&mut self, end: End, obs: &mut O) {
        let (now, flow) = (self.now, end.flow());
        let (ends, mut cx) = self.cx(obs);
        let (sending, receiving) = (&mut ends.sending[flow as usize], &ends.receiving[flow as usize]);
        if sending.next_due() <= now {
            if sending.stops_by(now) {
                let delivered_bytes = receiving.goodput_bytes;
                cx.obs.event(now, &SimEvent::FlowStop { flow, delivered_bytes });
            }
            if sending.on_timer(&mut cx) {
                if let Some(next) = receiving.received() {
                    sending.note_silence(next, &mut cx);
                }
            }
        }
        cx.net.set_wake(end, sending.next_due());
    }

    /// Injects a packet of an external endpoint.
    pub(super) fn enter<O: Observer>(&mut self, from: EndpointId, packet: OutsidePacket, obs: &mut O) {
        let f = from.flow as usize;
        let (ends, mut cx) = self.cx(obs);
        if begins_flow(&cx.facts[f], &packet) {
            ends.sending[f].note_start(cx.now, cx.obs);
        }
        match from.side {
            Side::Source => ends.sending[f].enter(packet, &mut cx),
            Side::Destination => ends.receiving[f].enter(packet, &mut cx),
        }
    }

    /// Payload delivered by a flow.
    pub(super) fn delivered_bytes(&self, f: usize) -> u64 {
        self.ends.receiving[f].goodput_bytes + self.ends.sending[f].counts.echoed_bytes
    }

    /// Counters of a flow, except those of the network and of its connection.
    pub(super) fn totals_of(&self, f: usize) -> FlowTotals {
        let (sending, receiving) = (&self.ends.sending[f], &self.ends.receiving[f]);
        let (counts, way) = (&sending.counts, &sending.way);
        FlowTotals {
            sent: sending.egress.sent + receiving.egress.sent,
            delivered: sending.egress.received + receiving.egress.received,
            data_sent: counts.data,
            retrans: counts.retrans,
            goodput_bytes: self.delivered_bytes(f),
            started: counts.started,
            completed: receiving.completed,
            routed: way.routed,
            capacity_bits: way.capacity_bits,
            payload_share: way.payload_share,
            path_changes: way.path_changes,
            unreachable: way.unreachable,
            telemetry_acks: counts.telemetry_acks,
            ..FlowTotals::default()
        }
    }
}
