// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Ports with background traffic: a packet is served once the background bytes ahead of it are.

use super::background::{Admission, Load};
use super::ring::Waiting;
use super::{before, note_arrival, note_dequeue, note_other, LinkState, Net, PortState};
use crate::observe::DropCause;
use crate::packet::{Packet, NONE};
use perigee_timeline::{Background, OutageMode};
use perigee_units::draw::name_key;
use perigee_units::Nanos;

impl LinkState {
    /// End of the service, from `at` on, of the background ahead of a packet.
    #[inline]
    pub(super) fn pass_lead(&mut self, port: &PortState, packet: &Packet, at: Nanos) -> Nanos {
        if port.load.is_none() || port.rate.0 == 0 {
            return at;
        }
        let lead = port.rate.time_for(u64::from(packet.lead));
        self.wait_ns += u128::from(lead.0);
        at.saturating_add(lead)
    }
}

impl Net {
    /// Sets the background traffic of a port from `now` on.
    pub fn set_background(&mut self, now: Nanos, p: u32, traffic: &Background) {
        self.advance(p, before(now));
        self.leave_fast_path(p, now);
        let key = self.seed ^ name_key(&self.port_names[p as usize]);
        let port = &mut self.ports[p as usize];
        let load = match &mut port.load {
            Some(load) => load,
            None => {
                let begun = if port.done == Nanos::MAX { now } else { port.done };
                let waiting = if port.rate.0 > 0 { port.rate.time_for(port.bytes) } else { Nanos::ZERO };
                let mut load = Load::new(port.limit, port.rate, now, begun + waiting, key);
                load.looks_ahead = !(port.no_lookahead || (self.metered_data && port.laws.is_some()));
                port.no_lookahead = true;
                port.load.insert(Box::new(load))
            }
        };
        load.advance(now);
        load.set(traffic);
        self.enter_fast_path(p);
    }

    /// Handles the arrival of a packet at a port with background traffic.
    pub(super) fn enqueue_loaded(&mut self, now: Nanos, h: u32, link: u32) {
        let l = &self.links[link as usize];
        let (p, lost) = (l.port, !l.up && l.mode == OutageMode::Flush);
        self.advance(p, now);
        if lost {
            return self.drop_at(h, link, DropCause::Outage);
        }
        let packet = self.packets.get_mut(h);
        let port = &mut self.ports[p as usize];
        let Some(load) = &mut port.load else { return };
        load.advance(now);
        let size = u32::from(packet.ip_bytes) + port.framing;
        let Admission::Lead(lead) = load.admit(size) else {
            return self.drop_at(h, link, DropCause::Queue);
        };
        packet.lead = lead;
        if !port.predictable {
            return self.enqueue_slow(now, h, link);
        }
        let l = &mut self.links[link as usize];
        let packet = self.packets.get(h);
        if packet.telemetry != NONE {
            note_arrival(port, packet, &mut self.stacks, now);
        } else if self.counts_others {
            note_other(port, packet, now, self.any_packet_times_meters);
        }
        let start = port.done.max(now);
        if start >= port.horizon(now, self.lookahead_until) || port.holds() {
            port.append(Waiting { since: now, packet: h, bytes: size }, packet.kind);
            return match port.shared {
                true => self.reschedule_port(p),
                false => self.reschedule_link(link),
            };
        }
        let begins = l.pass_lead(port, packet, start);
        if packet.telemetry != NONE && port.laws.is_some() {
            note_dequeue(port, packet, &mut self.stacks, &self.tx_units, begins);
        }
        if start > now {
            l.wait_ns += u128::from((start - now).0);
            port.arrange(start, size);
        } else {
            port.in_service = size;
        }
        let arrival = l.start_service(port, h, size, begins);
        self.join_flight(h, link, arrival);
    }
}
