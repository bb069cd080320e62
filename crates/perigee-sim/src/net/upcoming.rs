// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cache prefetches of the ports and packets that the next arrival on a link will use.

use super::Net;
use crate::cache::fetch_of;
use crate::packet::Packet;

impl Net {
    /// Next packet to arrive at the end of a link; `None` if none is in flight.
    #[inline]
    pub fn next_to_arrive(&self, link: u32) -> Option<&Packet> {
        let first = self.links.get(link as usize)?.flight.first()?;
        Some(self.packets.get(first.packet))
    }

    /// Prefetches the port of a link, and the next entry of its flight.
    #[inline]
    pub fn fetch_flight(&self, link: u32) {
        if let Some(l) = self.links.get(link as usize) {
            l.flight.fetch_first();
            fetch_of(&self.ports, l.port as usize, 2);
        }
    }

    /// Prefetches the next packet to arrive on a link.
    #[inline]
    pub fn fetch_first(&self, link: u32) {
        if let Some(first) = self.links.get(link as usize).and_then(|l| l.flight.first()) {
            self.packets.fetch(first.packet);
        }
    }

    /// Prefetches the port of a link, and the slot of its flight for the next packet sent.
    #[inline]
    pub fn fetch_port(&self, link: u32) {
        if let Some(l) = self.links.get(link as usize) {
            l.flight.fetch_end();
            fetch_of(&self.ports, l.port as usize, 3);
        }
    }
}
