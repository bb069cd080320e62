// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets in flight on a link, in the order of their arrivals.
//!
//! Usually a packet arrives after those that left before it, and a ring suffices. Where the delay
//! of a link shrinks and its packets may overtake, a packet that arrives before the last one of the
//! ring goes into a heap instead, and the next arrival is the earlier of the two heads. The cost
//! per packet is thus at most logarithmic in the number of overtaking packets, however many packets
//! it passes.

use super::ring::Ring;
use perigee_units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A packet in flight on a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flying {
    /// Time of its arrival at the far end.
    pub arrival: Nanos,
    pub packet: u32,
}

/// Packets with equal arrivals arrive in order of departure, which is the second number.
type Overtaking = Reverse<(Nanos, u64, u32)>;

#[derive(Clone, Debug, Default)]
struct Overtakers {
    heap: BinaryHeap<Overtaking>,
    /// Number of overtaking packets so far.
    count: u64,
    /// Latest arrival of any packet that is or was in the heap.
    latest: Nanos,
}

impl Overtakers {
    fn first(&self) -> Option<Flying> {
        self.heap.peek().map(|&Reverse((arrival, _, packet))| Flying { arrival, packet })
    }

    fn push(&mut self, flying: Flying) {
        self.count += 1;
        self.latest = self.latest.max(flying.arrival);
        self.heap.push(Reverse((flying.arrival, self.count, flying.packet)));
    }
}

/// The packets in flight on a link.
#[derive(Clone, Debug, Default)]
pub struct Flight {
    in_order: Ring<Flying>,
    /// Allocated once a packet has overtaken another.
    overtakers: Option<Box<Overtakers>>,
}

impl Flight {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.in_order.is_empty() && self.overtakers.as_ref().is_none_or(|o| o.heap.is_empty())
    }

    /// Next packet to arrive.
    #[inline]
    pub fn first(&self) -> Option<Flying> {
        match &self.overtakers {
            None => self.in_order.first(),
            Some(o) => Self::earlier(self.in_order.first(), o.first()).0,
        }
    }

    /// The earlier of the two heads, and whether it comes from the heap. A packet that joins the
    /// ring arrives no earlier than all packets then in the heap, so on a tie the ring's packet has
    /// left first.
    fn earlier(in_order: Option<Flying>, overtaking: Option<Flying>) -> (Option<Flying>, bool) {
        match (in_order, overtaking) {
            (Some(a), Some(b)) if b.arrival < a.arrival => (Some(b), true),
            (None, Some(b)) => (Some(b), true),
            (a, _) => (a, false),
        }
    }

    /// Removes the next packet to arrive; there must be one.
    #[inline]
    pub fn drop_first(&mut self) {
        match self.overtakers {
            None => self.in_order.drop_first(),
            Some(_) => {
                self.pop();
            }
        }
    }

    /// Removes and returns the next packet to arrive.
    #[inline(never)]
    pub fn pop(&mut self) -> Option<Flying> {
        match &mut self.overtakers {
            None => self.in_order.pop(),
            Some(o) => match Self::earlier(self.in_order.first(), o.first()) {
                (first, true) => {
                    o.heap.pop();
                    first
                }
                _ => self.in_order.pop(),
            },
        }
    }

    /// Prefetches the entry of the next packet to arrive.
    #[inline]
    pub fn fetch_first(&self) {
        self.in_order.fetch_first();
    }

    /// Prefetches the slot of the next packet to join.
    #[inline]
    pub fn fetch_end(&self) {
        self.in_order.fetch_end();
    }

    /// Adds a packet that arrives no earlier than all others. True if it is the next to arrive.
    #[inline]
    pub fn push(&mut self, flying: Flying) -> bool {
        let alone = self.is_empty();
        self.in_order.push(flying);
        alone
    }

    /// Adds a packet, to arrive after those with the same or an earlier arrival.
    ///
    /// True if it is the next to arrive.
    #[inline(never)]
    pub fn insert(&mut self, flying: Flying) -> bool {
        self.put_in(flying);
        self.first().is_some_and(|first| first.packet == flying.packet)
    }

    fn put_in(&mut self, flying: Flying) {
        let after_ring = self.in_order.last_mut().is_none_or(|last| last.arrival <= flying.arrival);
        // The last packet of the ring may have been removed again.
        let after_heap =
            self.overtakers.as_ref().is_none_or(|o| o.heap.is_empty() || o.latest < flying.arrival);
        if after_ring && after_heap {
            return self.in_order.push(flying);
        }
        self.overtakers.get_or_insert_default().push(flying);
    }

    /// Removes a packet in flight: usually the latest of the ring.
    pub fn remove(&mut self, packet: u32) {
        if self.in_order.last_mut().is_some_and(|last| last.packet == packet) {
            return self.in_order.pop_last();
        }
        self.in_order.retain(|f| f.packet != packet);
        if let Some(o) = &mut self.overtakers {
            o.heap.retain(|Reverse((_, _, p))| *p != packet);
        }
    }

    /// Changes the arrival of the latest packet, to no earlier than that of the packet ahead of it.
    /// No packet overtakes.
    pub fn delay_last(&mut self, arrival: Nanos) {
        if let Some(last) = self.in_order.last_mut() {
            last.arrival = arrival;
        }
    }

    /// All packets, in order of arrival.
    pub fn iter(&self) -> impl Iterator<Item = Flying> + '_ {
        let mut late: Vec<_> = self.overtakers.iter().flat_map(|o| &o.heap).map(|Reverse(o)| *o).collect();
        late.sort_unstable();
        let mut late = late.into_iter().map(|(arrival, _, packet)| Flying { arrival, packet }).peekable();
        let mut in_order = self.in_order.iter().peekable();
        std::iter::from_fn(move || match Self::earlier(in_order.peek().copied(), late.peek().copied()) {
            (_, true) => late.next(),
            _ => in_order.next(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_flight_is_a_list_in_the_order_of_arrivals(
            orderly: bool,
            ops in proptest::collection::vec((0u8..6, 0u64..20), 1..200),
        ) {
            let (mut flight, mut list) = (Flight::default(), Vec::<Flying>::new());
            for (i, (op, n)) in ops.into_iter().enumerate() {
                let end = list.last().map_or(Nanos::ZERO, |f| f.arrival);
                let packet = i as u32;
                match op {
                    0 => assert_eq!(flight.pop(), (!list.is_empty()).then(|| list.remove(0))),
                    1 if orderly => {
                        let flying = Flying { arrival: end + Nanos(n), packet };
                        flight.push(flying);
                        list.push(flying);
                    }
                    2 if orderly => {
                        flight.delay_last(end + Nanos(n));
                        if let Some(last) = list.last_mut() { last.arrival = end + Nanos(n); }
                    }
                    3 => if let Some(&Flying { packet, .. }) = list.get(n as usize) {
                        flight.remove(packet);
                        list.remove(n as usize);
                    },
                    _ if !orderly => {
                        let flying = Flying { arrival: Nanos(n), packet };
                        flight.insert(flying);
                        list.insert(list.partition_point(|f| f.arrival <= flying.arrival), flying);
                    }
                    _ => {}
                }
                assert_eq!(flight.iter().collect::<Vec<_>>(), list);
                assert_eq!((flight.first(), flight.is_empty()), (list.first().copied(), list.is_empty()));
            }
        }
    }
}
