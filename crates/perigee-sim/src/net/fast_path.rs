// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fast path of ports with a known future.
//!
//! A *predictable* port serves in order, and its links lose nothing and are up (or down, and
//! arrivals for them are dropped at once). So when a packet arrives, the start of its service is
//! known (the end of the previous packet's service), and with it the arrival at the far end. Only a
//! change of the port could alter that, and samples would show a queue that does not exist yet.
//! Services are therefore arranged only up to [`Net::lookahead_until`], the next instant with an
//! event other than the movement of packets; packets with a later start wait as in any queue.
//! Before a change the packet in service is taken back ([`Net::leave_fast_path`]), so that results
//! are identical to the bit.
//!
//! Where all packets of a link's queue arrive over a single other link, their order is also known.
//! A packet then crosses both links without an event in between: when it enters the first queue, it
//! also enters the second one, with its arrival there as the instant. On a path used by a single
//! flow only one event remains, the arrival at the host.
//!
//! Ports without lookahead (`no_lookahead`) decide at the instant itself: a meter needs the queue
//! length at the dequeue.

use super::flight::Flying;
use super::ring::{Begun, Waiting};
use super::{note_arrival, note_dequeue, note_other, LinkState, Net, PortState};
use crate::observe::DropCause;
use crate::packet::{Packet, NONE};
use crate::routes::Routes;
use perigee_record::PacketKind;
use perigee_timeline::QueueLimit;
use perigee_units::Nanos;

impl PortState {
    /// Whether services may be arranged ahead of time.
    #[inline]
    fn can_look_ahead(&self) -> bool {
        self.predictable & !self.no_lookahead
    }

    /// Whether packets wait without an arranged service.
    #[inline]
    pub(super) fn holds(&self) -> bool {
        !self.waiting.is_empty() || (self.probe_priority && !self.probes.is_empty())
    }

    /// Services that start before this instant can be arranged.
    #[inline]
    pub(super) fn horizon(&self, now: Nanos, lookahead_until: Nanos) -> Nanos {
        let next = now + Nanos(1);
        if self.no_lookahead && !self.load.as_ref().is_some_and(|l| l.looks_ahead) {
            next
        } else {
            next.max(lookahead_until)
        }
    }

    /// Removes packets that have entered service by `t` from the queue.
    #[inline]
    pub(super) fn settle(&mut self, t: Nanos) {
        while let Some(begun) = self.scheduled.first() {
            if begun.start > t {
                return;
            }
            self.scheduled.pop();
            self.packets -= 1;
            self.bytes -= u64::from(begun.bytes);
            self.in_service = begun.bytes;
        }
    }

    /// Arranges the service, from `start` on, of a waiting packet of `size` bytes.
    #[inline]
    pub(super) fn arrange(&mut self, start: Nanos, size: u32) {
        self.scheduled.push(Begun { start, bytes: size });
        self.packets += 1;
        self.bytes += u64::from(size);
    }
}

impl LinkState {
    /// Accepts a packet of `size` bytes that arrives at `at`, at a port that can look ahead. Returns
    /// its arrival at the far end if there is room, and no event before the start of its service
    /// could change it.
    #[inline]
    fn accept(
        &mut self,
        port: &mut PortState,
        h: u32,
        size: u32,
        at: Nanos,
        lookahead_until: Nanos,
    ) -> Option<Nanos> {
        if !port.waiting.is_empty() || !self.up {
            return None;
        }
        port.settle(at);
        let start = port.done;
        if start <= at {
            port.in_service = size;
            return Some(self.start_service(port, h, size, at));
        }
        if start >= lookahead_until || !port.has_room(PacketKind::Data, size as u64, port.in_service as u64) {
            return None;
        }
        self.wait_ns += (start - at).0 as u128;
        port.arrange(start, size);
        Some(self.start_service(port, h, size, start))
    }

    /// Dequeues a packet of `size` bytes, which enters service at `at`. Returns its arrival at the
    /// far end.
    #[inline]
    pub(super) fn start_service(&mut self, port: &mut PortState, h: u32, size: u32, at: Nanos) -> Nanos {
        port.done = port.finish(at, size);
        if port.bucket.is_some() {
            self.wait_ns += u128::from((port.done - at).0);
        }
        self.tx_packets += 1;
        self.tx_bytes += size as u64;
        port.serving = h;
        self.earlier_arrival = self.last_arrival;
        self.arrival_of(port.done)
    }
}

/// Link that a packet with this route takes after `link` without an event, and the routing state
/// that it must carry.
#[inline]
fn next_without_event(
    links: &[LinkState],
    ports: &[PortState],
    route: u32,
    link: u32,
    routes: &Routes,
) -> Option<(u32, u32)> {
    let (next, route) = routes.only_way(route, link)?;
    // Packets may reach a shared port over other links as well.
    let port = &ports[links[next as usize].port as usize];
    (port.can_look_ahead() && !port.shared).then_some((next, route))
}

/// Services ahead of a new arrival at a port.
pub struct Predicted {
    /// Packets with their arrivals at the far end of the link.
    pub arrivals: Vec<(Nanos, u32)>,
    /// Departure of the last of them.
    pub done: Nanos,
}

impl Net {
    /// Queue ahead of a link if the future of its port is known: the packets that wait and those
    /// yet to arrive, assumed to arrive in this order and before all others. `None` = the future is
    /// unknown, or there may not be room for all of them.
    pub fn predict(&self, link: u32, coming: &[(Nanos, u32)]) -> Option<Predicted> {
        let l = &self.links[link as usize];
        let port = &self.ports[l.port as usize];
        let size = |h: u32| u64::from(self.packets.get(h).ip_bytes) + u64::from(port.framing);
        let total: u64 = coming.iter().map(|&(_, h)| size(h)).sum();
        let room = match port.limit {
            QueueLimit::Packets(n) => port.packets + 1 + coming.len() as u64 <= n,
            QueueLimit::Bytes(n) => port.bytes + u64::from(port.in_service) + total <= n,
        };
        if !port.can_look_ahead() || port.shared || !(room || coming.is_empty()) {
            return None;
        }
        let mut bucket = port.bucket.clone();
        let mut predicted = Predicted { arrivals: Vec::new(), done: port.done };
        let mut last = l.last_arrival;
        for (at, h) in port.waiting.iter().map(|w| (w.since, w.packet)).chain(coming.iter().copied()) {
            let (start, time) = (at.max(predicted.done), port.rate.time_for(size(h)));
            predicted.done = match &mut bucket {
                Some(bucket) => bucket.take(start, time),
                None => start + time,
            };
            let arrival = predicted.done + l.delay_at(predicted.done);
            last = if l.reorder { arrival } else { arrival.max(last) };
            predicted.arrivals.push((last, h));
        }
        Some(predicted)
    }

    /// Puts a packet into the queue of a link's port, and onward over all links whose order is
    /// known.
    #[inline]
    pub fn enqueue(&mut self, now: Nanos, h: u32, link: u32, routes: &Routes) {
        let (mut at, mut link) = (now, link);
        let Packet { mut route, mut hops, ip_bytes, .. } = *self.packets.get(h);
        // From the second port on, `next_without_event` checks this.
        if !self.ports[self.links[link as usize].port as usize].can_look_ahead() {
            self.set_position(h, link, now, route, hops);
            return self.enqueue_now(now, h, link);
        }
        let until = self.lookahead_until;
        // As slices they stay in registers.
        let (links, ports) = (&mut self.links[..], &mut self.ports[..]);
        let accepted = loop {
            let l = &mut links[link as usize];
            let port = &mut ports[l.port as usize];
            let size = ip_bytes as u32 + port.framing;
            let accepted = l.accept(port, h, size, at, until);
            let Some(arrival) = accepted else { break None };
            l.entered += 1;
            if arrival >= until || l.reorder || !l.flight.is_empty() {
                break accepted;
            }
            let Some((next, further)) = next_without_event(links, ports, route, link, routes) else {
                break accepted;
            };
            links[link as usize].crossed += 1;
            (at, link, route) = (arrival, next, further);
            hops = hops.saturating_add(1);
        };
        self.set_position(h, link, at, route, hops);
        match accepted {
            Some(arrival) => self.join_flight(h, link, arrival),
            None => self.enqueue_now(at, h, link),
        }
    }

    /// Sets the position of a packet, and the time at which it got there.
    #[inline]
    fn set_position(&mut self, h: u32, link: u32, since: Nanos, route: u32, hops: u8) {
        let packet = self.packets.get_mut(h);
        (packet.link, packet.enqueued, packet.route, packet.hops) = (link, since, route, hops);
    }

    /// Adds a packet with a known arrival to those in flight.
    #[inline]
    pub(super) fn join_flight(&mut self, h: u32, link: u32, arrival: Nanos) {
        if self.links[link as usize].join(Flying { arrival, packet: h }) {
            self.schedule.set_link(link, arrival);
        }
    }

    /// Enqueues a packet at a port that is full, cannot look ahead, or where its service depends on
    /// an event that is not known yet.
    #[inline(never)]
    fn enqueue_now(&mut self, now: Nanos, h: u32, link: u32) {
        let l = &mut self.links[link as usize];
        let p = l.port;
        l.entered += 1;
        let port = &self.ports[p as usize];
        if !port.can_look_ahead() {
            if port.load.is_some() {
                return self.enqueue_loaded(now, h, link);
            }
            if !port.predictable {
                return self.enqueue_slow(now, h, link);
            }
        }
        self.catch_up(p, now);
        let port = &mut self.ports[p as usize];
        let l = &mut self.links[link as usize];
        let packet = self.packets.get(h);
        let size = packet.ip_bytes as u32 + port.framing;
        let metered_data = packet.telemetry != NONE;
        if metered_data {
            note_arrival(port, packet, &mut self.stacks, now);
        } else if self.counts_others {
            note_other(port, packet, now, self.any_packet_times_meters);
        }
        if !l.up {
            return self.drop_at(h, link, DropCause::Outage);
        }
        if port.done <= now {
            // The queue is empty, as the port has caught up.
            if metered_data {
                note_dequeue(port, packet, &mut self.stacks, &self.tx_units, now);
            }
            port.in_service = size;
            let arrival = l.start_service(port, h, size, now);
            return self.join_flight(h, link, arrival);
        }
        if !port.has_room(packet.kind, size as u64, port.in_service as u64) {
            return self.drop_at(h, link, DropCause::Queue);
        }
        let start = port.done;
        if start < port.horizon(now, self.lookahead_until) && !port.holds() {
            l.wait_ns += (start - now).0 as u128;
            port.arrange(start, size);
            let arrival = l.start_service(port, h, size, start);
            return self.join_flight(h, link, arrival);
        }
        port.append(Waiting { since: now, packet: h, bytes: size }, packet.kind);
        if port.shared {
            self.reschedule_port(p);
        } else if l.flight.is_empty() {
            self.schedule.set_link(link, start);
        }
    }

    /// Handles a link's event. Returns the packet that arrives at the far end now, with the node
    /// there, if other components have to handle it.
    #[inline(always)]
    pub fn arrive(&mut self, now: Nanos, link: u32, routes: &Routes) -> Option<(u32, u32)> {
        let l = &self.links[link as usize];
        let port = &self.ports[l.port as usize];
        if !port.predictable {
            return self.arrive_slow(now, link);
        }
        let first = match l.flight.first() {
            Some(f)
                if f.arrival <= now
                    && next_without_event(
                        &self.links,
                        &self.ports,
                        self.packets.get(f.packet).route,
                        link,
                        routes,
                    )
                    .is_none() =>
            {
                f
            }
            _ => {
                self.forward_due(now, link, routes);
                return None;
            }
        };
        let waits = port.holds() && !port.shared;
        let l = &mut self.links[link as usize];
        l.flight.drop_first();
        l.crossed += 1;
        let to = l.to;
        if waits {
            self.catch_up(self.links[link as usize].port, now);
            self.reschedule_link(link);
        } else {
            let next = l.flight.first();
            self.schedule.set_link(link, next.map_or(Nanos::MAX, |f| f.arrival));
            if let Some(next) = next {
                self.packets.fetch(next.packet);
            }
        }
        Some((first.packet, to))
    }

    /// Forwards packets in flight as far as their future is known, and starts the service of
    /// packets that wait.
    fn forward_due(&mut self, now: Nanos, link: u32, routes: &Routes) {
        let l = &self.links[link as usize];
        let (p, reorder) = (l.port, l.reorder);
        while let Some(first) = self.links[link as usize].flight.first() {
            if first.arrival > now && (first.arrival >= self.lookahead_until || reorder) {
                break;
            }
            let here = self.packets.get(first.packet).route;
            let Some((next, route)) = next_without_event(&self.links, &self.ports, here, link, routes) else {
                break;
            };
            let l = &mut self.links[link as usize];
            l.flight.drop_first();
            l.crossed += 1;
            if let Some(next) = l.flight.first() {
                self.packets.fetch(next.packet);
            }
            let packet = self.packets.get_mut(first.packet);
            packet.route = route;
            packet.hops = packet.hops.saturating_add(1);
            self.enqueue(first.arrival, first.packet, next, routes);
        }
        self.catch_up(p, now);
        self.reschedule_link(link);
    }

    /// Runs a predictable port until `t`, inclusive, and arranges all services that can be
    /// arranged: waiting packets enter service. None of them arrives before the packet that was in
    /// service, because the delay shrinks by less than a second per second and [`Net::set_delay`]
    /// applies to both.
    #[inline]
    pub(super) fn catch_up(&mut self, p: u32, t: Nanos) {
        let port = &mut self.ports[p as usize];
        port.settle(t);
        let horizon = port.horizon(t, self.lookahead_until);
        if port.done >= horizon || !port.holds() {
            return;
        }
        let (shared, mut link) = (port.shared, port.link);
        let idle = self.links[link as usize].flight.is_empty();
        while port.done < horizon {
            let at = port.done;
            let Some(next) = port.take_next() else { break };
            if shared {
                link = self.packets.get(next.packet).link;
            }
            let l = &mut self.links[link as usize];
            l.wait_ns += (at - next.since).0 as u128;
            let mut begins = at;
            if port.no_lookahead {
                let packet = self.packets.get(next.packet);
                begins = l.pass_lead(port, packet, at);
                if port.laws.is_some() && packet.telemetry != NONE {
                    note_dequeue(port, packet, &mut self.stacks, &self.tx_units, begins);
                }
            }
            if at > t {
                port.arrange(at, next.bytes);
            } else {
                port.in_service = next.bytes;
            }
            let arrival = l.start_service(port, next.packet, next.bytes, begins);
            if l.join(Flying { arrival, packet: next.packet }) && shared {
                self.schedule.set_link(link, arrival);
            }
        }
        if shared {
            self.reschedule_port(p);
        } else if idle {
            self.reschedule_link(link);
        }
    }
}
