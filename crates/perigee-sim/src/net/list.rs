// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lists of packets: queues and flights.

use crate::packet::{Arena, Packet, NONE};

/// A list of packets threaded through [`Packet::next`].
#[derive(Clone, Copy, Debug)]
pub struct List {
    pub head: u32,
    pub tail: u32,
}

impl List {
    pub const EMPTY: List = List { head: NONE, tail: NONE };

    #[inline]
    pub fn push(&mut self, packets: &mut Arena<Packet>, h: u32) {
        packets.get_mut(h).next = NONE;
        if self.tail == NONE {
            self.head = h;
        } else {
            packets.get_mut(self.tail).next = h;
        }
        self.tail = h;
    }
    #[inline]
    pub fn pop(&mut self, packets: &Arena<Packet>) -> u32 {
        let h = self.head;
        if h != NONE {
            self.head = packets.get(h).next;
            if self.head == NONE {
                self.tail = NONE;
            }
        }
        h
    }
    /// Takes a member out. Walks the list unless it is the only one: for rare occasions.
    pub fn remove(&mut self, packets: &mut Arena<Packet>, h: u32) {
        let next = packets.get(h).next;
        if self.head == h {
            self.head = next;
            if next == NONE {
                self.tail = NONE;
            }
            return;
        }
        let mut before = self.head;
        while packets.get(before).next != h {
            before = packets.get(before).next;
        }
        packets.get_mut(before).next = next;
        if next == NONE {
            self.tail = before;
        }
    }
    /// Inserts by arrival time, after packets that arrive at the same instant.
    pub fn insert_by_arrival(&mut self, packets: &mut Arena<Packet>, h: u32) {
        let arrival = packets.get(h).arrival;
        if self.tail == NONE || packets.get(self.tail).arrival <= arrival {
            return self.push(packets, h);
        }
        let mut before = NONE;
        let mut at = self.head;
        while packets.get(at).arrival <= arrival {
            before = at;
            at = packets.get(at).next;
        }
        packets.get_mut(h).next = at;
        match before {
            NONE => self.head = h,
            b => packets.get_mut(b).next = h,
        }
    }
    pub fn iter<'a>(&self, packets: &'a Arena<Packet>) -> impl Iterator<Item = u32> + 'a {
        let mut at = self.head;
        std::iter::from_fn(move || {
            let h = at;
            (h != NONE).then(|| {
                at = packets.get(h).next;
                h
            })
        })
    }
}
