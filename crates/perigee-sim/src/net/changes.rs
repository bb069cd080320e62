// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Changes of the timeline: rates, delays, losses, outages. A change applies before all other
//! events of its instant, so the port is first advanced to the instant before it.

use super::{before, loss_threshold, Net, PortState};
use crate::observe::DropCause;
use crate::packet::{Arena, Packet, NONE};
use perigee_timeline::{Delay, OutageMode};
use perigee_units::{BitRate, Nanos};

impl PortState {
    /// Total time that the packet in service waits for tokens: already counted at a predictable
    /// port, but not yet at others.
    fn head_wait(&self, packets: &Arena<Packet>) -> u128 {
        match self.bucket.is_some() {
            true => u128::from((self.done - packets.get(self.serving).enqueued).0),
            false => 0,
        }
    }
}

impl Net {
    /// Prepares a port for a change at `now`: a predictable packet that leaves at `now` or later is
    /// put back into service.
    pub(super) fn leave_fast_path(&mut self, p: u32, now: Nanos) {
        let port = &mut self.ports[p as usize];
        if !std::mem::replace(&mut port.predictable, false) {
            return;
        }
        port.settle(now);
        if !port.leaves_from(now) {
            port.done = Nanos::MAX;
            port.serving = NONE;
            return;
        }
        let (link, shared) = (self.packets.get(port.serving).link, port.shared);
        let l = &mut self.links[link as usize];
        l.flight.remove(port.serving);
        l.last_arrival = l.earlier_arrival;
        l.tx_packets -= 1;
        l.tx_bytes -= u64::from(port.cached_size);
        l.wait_ns -= port.head_wait(&self.packets);
        if shared {
            self.reschedule_link(link);
            self.reschedule_port(p);
        }
    }

    /// Whether packets of all links leave the port in order, and none is dropped or held on
    /// departure. (Where arrivals for a link that is down are lost, no packet waits for that link.)
    fn is_plain(&self, port: &PortState) -> bool {
        let plain = |link: u32| {
            let l = &self.links[link as usize];
            let up = l.up || (port.shared && l.mode == OutageMode::Flush);
            up && l.loss == 0 && l.drop_next == 0
        };
        plain(port.link) && port.others.iter().copied().all(plain)
    }

    /// After the change: makes the port predictable if possible, and puts the packet in service in
    /// flight.
    pub(super) fn enter_fast_path(&mut self, p: u32) {
        let port = &self.ports[p as usize];
        if port.predictable
            || !self.lookahead
            || port.rate.0 == 0
            || port.aqm.is_some()
            || port.slots.is_some()
            || (port.serving == NONE && port.holds())
            || !self.is_plain(port)
        {
            return;
        }
        let port = &mut self.ports[p as usize];
        port.predictable = true;
        if port.serving == NONE {
            port.done = Nanos::ZERO;
            return self.reschedule_if_shared(p, NONE);
        }
        let h = port.serving;
        let link = self.packets.get(h).link;
        let l = &mut self.links[link as usize];
        let size = self.packets.get(h).ip_bytes as u32 + port.framing;
        // A packet in service is identified by its size; a rate change has cleared the cache.
        (port.cached_size, port.cached_time) = (size, port.rate.time_for(size as u64));
        port.in_service = size;
        l.tx_packets += 1;
        l.tx_bytes += size as u64;
        l.wait_ns += port.head_wait(&self.packets);
        l.earlier_arrival = l.last_arrival;
        l.fly(h, port.done);
        self.reschedule_if_shared(p, link);
    }

    /// Reschedules a shared port that has become predictable; its packet in service, if any, is now
    /// in flight on `link`.
    fn reschedule_if_shared(&mut self, p: u32, link: u32) {
        if self.ports[p as usize].shared {
            self.reschedule_port(p);
            if link != NONE {
                self.reschedule_link(link);
            }
        }
    }

    pub fn set_rate(&mut self, now: Nanos, p: u32, rate: BitRate) {
        self.advance(p, before(now));
        self.leave_fast_path(p, now);
        self.pause(p, now);
        let port = &mut self.ports[p as usize];
        if let Some(load) = &mut port.load {
            load.set_rate(now, rate);
        }
        if let Some(bucket) = &mut port.bucket {
            bucket.set_rate(now, port.rate, rate);
        }
        port.rate = rate;
        port.cached_size = 0;
        self.resume(p, now);
        self.enter_fast_path(p);
    }

    pub fn set_delay(&mut self, now: Nanos, link: u32, delay: Delay) {
        let p = self.links[link as usize].port;
        self.advance(p, before(now));
        let serves = self.serves(p, link);
        let port = &self.ports[p as usize];
        let l = &mut self.links[link as usize];
        l.delay = delay;
        l.since = now;
        if port.predictable && port.leaves_from(now) && serves {
            // The packet in service leaves under the new delay.
            l.last_arrival = l.earlier_arrival;
            if l.reorder {
                l.flight.remove(port.serving);
                l.fly(port.serving, port.done);
            } else {
                // The packet remains the last one to arrive.
                l.last_arrival = l.last_arrival.max(port.done + l.delay_at(port.done));
                l.flight.delay_last(l.last_arrival);
            }
        }
        // Once the packets to be dropped have left, the port is predictable again.
        self.enter_fast_path(p);
        self.reschedule_link(link);
    }

    pub fn set_loss(&mut self, now: Nanos, link: u32, loss: f64) {
        let p = self.links[link as usize].port;
        self.advance(p, before(now));
        self.leave_fast_path(p, now);
        self.links[link as usize].loss = loss_threshold(loss);
        self.enter_fast_path(p);
    }

    /// Drops the next `n` packets that leave.
    pub fn set_drop_next(&mut self, now: Nanos, link: u32, n: u32) {
        let p = self.links[link as usize].port;
        self.advance(p, before(now));
        self.leave_fast_path(p, now);
        self.links[link as usize].drop_next += n;
        self.reschedule_port(p);
        self.reschedule_link(link);
    }

    pub fn set_down(&mut self, now: Nanos, link: u32, mode: OutageMode) {
        let p = self.links[link as usize].port;
        self.advance(p, before(now));
        self.leave_fast_path(p, now);
        let l = &mut self.links[link as usize];
        l.up = false;
        l.mode = mode;
        match mode {
            OutageMode::Flush => self.flush(now, link),
            OutageMode::Hold => {
                if self.serves(p, link) {
                    self.pause(p, now);
                }
                self.reschedule_port(p);
            }
            OutageMode::Blackhole => {}
        }
        self.enter_fast_path(p);
    }

    pub fn set_up(&mut self, now: Nanos, link: u32) {
        let p = self.links[link as usize].port;
        self.advance(p, before(now));
        self.leave_fast_path(p, now);
        self.links[link as usize].up = true;
        if self.ports[p as usize].serving == NONE {
            self.serve_next(p, now);
        }
        self.resume(p, now);
        self.enter_fast_path(p);
    }

    /// Whether the packet in service at a port, or the last one served, belongs to this link. If it
    /// is no longer in service it may have left the link long ago.
    pub(super) fn serves(&self, p: u32, link: u32) -> bool {
        let port = &self.ports[p as usize];
        port.serving != NONE && (!port.shared || self.packets.get(port.serving).link == link)
    }

    /// Pauses the transmission in progress and stores the remainder.
    fn pause(&mut self, p: u32, now: Nanos) {
        let port = &mut self.ports[p as usize];
        if let Some(slots) = &mut port.slots {
            slots.pass(now, port.rate);
            if port.serving != NONE {
                port.done = slots.hold(true, port.rate);
            }
        } else if port.done != Nanos::MAX {
            port.work = (port.done - now).0 as u128 * port.rate.0 as u128;
            port.done = Nanos::MAX;
        }
    }

    /// Resumes a paused transmission, if rate and link allow.
    fn resume(&mut self, p: u32, now: Nanos) {
        let port = &mut self.ports[p as usize];
        if let (Some(slots), true) = (&mut port.slots, port.serving != NONE) {
            let l = &self.links[self.packets.get(port.serving).link as usize];
            slots.pass(now, port.rate);
            port.done = slots.hold(!l.up && l.mode == OutageMode::Hold, port.rate);
        } else if port.serving != NONE && port.done == Nanos::MAX && port.rate.0 > 0 {
            let l = &self.links[self.packets.get(port.serving).link as usize];
            if l.up || l.mode != OutageMode::Hold {
                let left = port.work.div_ceil(port.rate.0 as u128);
                port.done = match &port.bucket {
                    // The bucket fills further while a link is held.
                    Some(bucket) => bucket.head_leaves(now),
                    None => Nanos((now.0 as u128 + left).min(u64::MAX as u128 - 1) as u64),
                };
            }
        }
        self.reschedule_port(p);
    }

    /// Drops all packets on a link when its interface goes down.
    fn flush(&mut self, now: Nanos, link: u32) {
        let p = self.links[link as usize].port;
        let flight = std::mem::take(&mut self.links[link as usize].flight);
        flight.iter().for_each(|f| self.drop_at(f.packet, link, DropCause::Outage));
        self.links[link as usize].last_arrival = now;
        let port = &mut self.ports[p as usize];
        if let Some(load) = port.load.as_mut().filter(|_| !port.shared) {
            load.advance(now);
            load.clear();
        }
        let mut lost = Vec::new();
        for queue in [&mut port.waiting, &mut port.probes] {
            lost.extend(queue.iter().filter(|w| self.packets.get(w.packet).link == link));
            queue.retain(|w| self.packets.get(w.packet).link != link);
        }
        for w in lost {
            let port = &mut self.ports[p as usize];
            port.packets -= 1;
            port.bytes -= u64::from(w.bytes);
            self.drop_at(w.packet, link, DropCause::Outage);
        }
        self.flush_managed(now, p, link);
        if self.serves(p, link) {
            let port = &mut self.ports[p as usize];
            let h = std::mem::replace(&mut port.serving, NONE);
            port.done = Nanos::MAX;
            if let Some(slots) = &mut port.slots {
                slots.pass(now, port.rate);
                slots.abandon();
            }
            self.drop_at(h, link, DropCause::Outage);
            self.serve_next(p, now);
        }
        self.reschedule_link(link);
        self.reschedule_port(p);
    }
}
