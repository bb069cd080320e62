// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prefetch of the memory that upcoming events will access.
//!
//! A network of thousands of links and flows does not fit in the cache, and the accesses of an
//! event form a dependent chain: the link, the packet that arrives on it, the next link of its
//! route or its flow, and the ends of that flow. Waiting for one after the other would dominate a
//! large run. The tournament tree of the schedule stores the first event of each of its subtrees,
//! and the first event of one of 2^d subtrees is on average 2^d events away. So after each event
//! the link of the first event of a small subtree is prefetched; for a subtree four times as large,
//! with its link prefetched by then, the packet is prefetched, and so on. No result depends on it.

use super::Simulation;
use crate::cache::{fetch, fetch_of};
use crate::host::{ReceivingEnd, SendingEnd};
use crate::routes::Next;

/// Cache lines of an end that a packet accesses.
const END_LINES: usize = 4;

impl Simulation<'_> {
    /// After an event of `link`: prefetches for the subtrees that contain it.
    #[inline]
    pub(super) fn prefetch_upcoming(&self, link: u32) {
        let net = &self.net;
        let first = |depth| net.schedule.upcoming(link, depth);
        if let Some(link) = first(10) {
            fetch_of(&net.links, link as usize, 2);
        }
        if let Some(link) = first(8) {
            net.fetch_flight(link);
        }
        if let Some(link) = first(6) {
            net.fetch_first(link);
        }
        if let Some(link) = first(4) {
            self.fetch_further(link);
        }
        if let Some(link) = first(2) {
            self.fetch_port_or_end(link);
        }
    }

    /// Prefetches the next step of the next packet of a link: the link that it takes then, or its
    /// flow.
    #[inline]
    fn fetch_further(&self, link: u32) {
        let Some(packet) = self.net.next_to_arrive(link) else { return };
        match self.routes.next(packet.route, self.net.links[link as usize].to) {
            Next::Link(next, _) => fetch_of(&self.net.links, next as usize, 3),
            Next::Arrived if packet.kind.is_forward() => {
                fetch_of(&self.ends.receiving, packet.flow as usize, END_LINES);
            }
            Next::Arrived => fetch_of(&self.ends.sending, packet.flow as usize, END_LINES),
            Next::Lost => {}
        }
    }

    /// Prefetches the port of that link, or the end of that flow.
    #[inline]
    fn fetch_port_or_end(&self, link: u32) {
        let Some(packet) = self.net.next_to_arrive(link) else { return };
        match self.routes.next(packet.route, self.net.links[link as usize].to) {
            Next::Link(next, _) => self.net.fetch_port(next),
            Next::Arrived => {
                let flow = packet.flow as usize;
                if packet.kind.is_forward() {
                    let end = self.ends.receiving.get(flow).and_then(ReceivingEnd::receiver);
                    end.iter().for_each(|r| fetch(*r, 6));
                } else {
                    let end = self.ends.sending.get(flow).and_then(SendingEnd::sender);
                    end.iter().for_each(|s| fetch(*s, 16));
                }
            }
            Next::Lost => {}
        }
    }
}
