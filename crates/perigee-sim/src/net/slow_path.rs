// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Ports that are not predictable, step by step: a packet arrives, its service starts, it departs,
//! and the next packet is served.

use super::ring::Waiting;
use super::{note_arrival, note_dequeue, note_other, Net};
use crate::observe::DropCause;
use crate::packet::{CE, NONE};
use perigee_timeline::OutageMode;
use perigee_units::draw::mix;
use perigee_units::{Nanos, NS_PER_S};

impl Net {
    /// Handles the arrival of a packet at the port of a link.
    pub(super) fn enqueue_slow(&mut self, now: Nanos, h: u32, link: u32) {
        let l = &self.links[link as usize];
        let p = l.port;
        let (up, mode) = (l.up, l.mode);
        self.advance(p, now);
        let packet = self.packets.get(h);
        let port = &mut self.ports[p as usize];
        let size = packet.ip_bytes as u64 + port.framing as u64;
        if packet.telemetry != NONE {
            note_arrival(port, packet, &mut self.stacks, now);
        } else if self.counts_others {
            note_other(port, packet, now, self.any_packet_times_meters);
        }
        if !up && mode == OutageMode::Flush {
            return self.drop_at(h, link, DropCause::Outage);
        }
        if let Some(slots) = &mut port.slots {
            slots.note_arrival(size);
        }
        let held = !up && mode == OutageMode::Hold;
        if port.aqm.is_some() {
            return self.enqueue_managed(now, h, link, held);
        }
        if port.serving == NONE && port.packets == 0 && !held {
            self.begin_service(p, h, now);
            return self.reschedule_port(p);
        }
        let serving = match port.serving {
            NONE => 0,
            s => self.packets.get(s).ip_bytes as u64 + port.framing as u64,
        };
        // A port with background traffic has admitted the packet.
        if port.load.is_none() && !port.has_room(packet.kind, size, serving) {
            return self.drop_at(h, link, DropCause::Queue);
        }
        port.append(Waiting { since: now, packet: h, bytes: size as u32 }, packet.kind);
    }

    /// Handles a link's event: see [`Net::arrive`].
    pub(super) fn arrive_slow(&mut self, now: Nanos, link: u32) -> Option<(u32, u32)> {
        let p = self.links[link as usize].port;
        if !self.ports[p as usize].shared {
            self.advance_quietly(p, now);
        }
        let l = &mut self.links[link as usize];
        let due = l.flight.first().filter(|f| f.arrival <= now);
        if due.is_some() {
            l.flight.drop_first();
            l.crossed += 1;
        }
        let to = l.to;
        self.reschedule_link(link);
        due.map(|f| (f.packet, to))
    }

    /// Runs a port until `t`, inclusive.
    pub fn advance(&mut self, p: u32, t: Nanos) {
        if self.ports[p as usize].predictable {
            self.catch_up(p, t);
        } else if self.advance_quietly(p, t) {
            self.reschedule_port(p);
        }
    }

    pub(super) fn advance_quietly(&mut self, p: u32, t: Nanos) -> bool {
        let mut moved = false;
        while self.ports[p as usize].done <= t {
            moved = true;
            let left = self.ports[p as usize].done;
            if self.ports[p as usize].begins_frame() {
                continue;
            }
            self.depart(p, left);
            self.serve_next(p, left);
        }
        self.ports[p as usize].pass_slots(t);
        moved
    }

    /// Completes the service of the packet in service: it is now in flight, or lost on the link.
    fn depart(&mut self, p: u32, at: Nanos) {
        let port = &mut self.ports[p as usize];
        let h = std::mem::replace(&mut port.serving, NONE);
        port.done = Nanos::MAX;
        let packet = self.packets.get_mut(h);
        let link = packet.link;
        let l = &mut self.links[link as usize];
        l.tx_packets += 1;
        l.tx_bytes += packet.ip_bytes as u64 + port.framing as u64;
        if port.head_waits() {
            l.wait_ns += u128::from((at - packet.enqueued).0);
        }
        if !l.up {
            return self.drop_at(h, link, DropCause::Outage);
        }
        if l.drop_next > 0 {
            l.drop_next -= 1;
            return self.drop_at(h, link, DropCause::Random);
        }
        if l.loss > 0 {
            let direction = packet.kind.is_forward() as u64;
            let key = self.seed ^ l.key;
            let draw = mix(mix(mix(key) ^ self.flow_keys[packet.flow as usize])
                ^ ((packet.ordinal & !CE) as u64 * 2 + direction));
            if draw >> 11 < l.loss {
                return self.drop_at(h, link, DropCause::Random);
            }
        }
        l.fly(h, at);
        if port.shared {
            self.reschedule_link(link);
        }
    }

    /// Starts the next waiting packet at `at`, unless its link is held.
    pub(super) fn serve_next(&mut self, p: u32, at: Nanos) {
        if self.ports[p as usize].aqm.is_some() {
            return self.serve_managed(p, at);
        }
        loop {
            let port = &mut self.ports[p as usize];
            let Some(h) = port.first_waiting() else { return };
            let link = self.packets.get(h).link;
            let l = &self.links[link as usize];
            if !l.up && l.mode == OutageMode::Hold {
                return;
            }
            port.take_next();
            if !l.up && l.mode == OutageMode::Flush {
                self.drop_at(h, link, DropCause::Outage);
                continue;
            }
            return self.begin_service(p, h, at);
        }
    }

    /// Dequeues a packet at a port that is not predictable.
    pub(super) fn begin_service(&mut self, p: u32, h: u32, at: Nanos) {
        let packet = self.packets.get(h);
        let port = &mut self.ports[p as usize];
        let size = packet.ip_bytes as u32 + port.framing;
        let l = &mut self.links[packet.link as usize];
        if !port.head_waits() {
            l.wait_ns += (at - packet.enqueued).0 as u128;
        }
        let lead = port.load.as_ref().map_or(0, |_| packet.lead);
        let at = if lead > 0 { l.pass_lead(port, packet, at) } else { at };
        if packet.telemetry != NONE {
            note_dequeue(port, packet, &mut self.stacks, &self.tx_units, at);
        }
        port.serving = h;
        if let Some(slots) = &mut port.slots {
            port.done = slots.start(at, u64::from(size), port.rate, port.bytes);
            return;
        }
        if port.rate.0 > 0 {
            port.done = port.finish(at, size);
            return;
        }
        match &mut port.bucket {
            Some(bucket) => bucket.take_later(u64::from(size)),
            None => port.work = (u128::from(size) + u128::from(lead)) * 8 * NS_PER_S as u128,
        }
        port.done = Nanos::MAX;
    }
}
