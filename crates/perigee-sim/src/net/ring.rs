// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rings of packets with the few fields needed before a packet's turn, so that the packet itself is
//! accessed once per hop.

use crate::cache::fetch_of;
use perigee_units::Nanos;

/// A growable ring. Its capacity is a power of two and its ends are counters that only increase
/// (and wrap), so that a mask yields the index; the standard library's deque takes two comparisons
/// instead, on the busiest path of the simulator.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    items: Vec<T>,
    head: u32,
    tail: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Ring { items: Vec::new(), head: 0, tail: 0 }
    }
}

impl<T: Copy + Default> Ring<T> {
    #[inline]
    pub fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head) as usize
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }
    /// Index of an item, by its counter.
    #[inline]
    fn place(&self, counter: u32) -> usize {
        counter as usize & self.items.len().wrapping_sub(1)
    }
    #[inline]
    pub fn first(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.items.get(self.place(self.head)).copied()
    }
    /// Prefetches the first item.
    #[inline]
    pub fn fetch_first(&self) {
        fetch_of(&self.items, self.place(self.head), 1);
    }
    /// Prefetches the slot of the next push.
    #[inline]
    pub fn fetch_end(&self) {
        fetch_of(&self.items, self.place(self.tail), 1);
    }
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let first = self.first()?;
        self.head = self.head.wrapping_add(1);
        Some(first)
    }
    /// Removes the first item; there must be one.
    #[inline]
    pub fn drop_first(&mut self) {
        debug_assert!(!self.is_empty());
        self.head = self.head.wrapping_add(1);
    }
    #[inline]
    pub fn push(&mut self, item: T) {
        if self.len() == self.items.len() {
            self.grow();
        }
        let place = self.place(self.tail);
        self.items[place] = item;
        self.tail = self.tail.wrapping_add(1);
    }
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let all: Vec<T> = self.iter().collect();
        let room = (2 * all.len()).max(4);
        (self.head, self.tail) = (0, all.len() as u32);
        self.items = all;
        self.items.resize(room, T::default());
    }
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = T> + '_ {
        (0..self.len() as u32).map(|i| self.items[self.place(self.head.wrapping_add(i))])
    }
    /// Rebuilds the ring; slow, for rare occasions.
    fn change(&mut self, change: impl FnOnce(&mut Vec<T>)) {
        let mut all = self.iter().collect();
        change(&mut all);
        *self = Ring::default();
        all.into_iter().for_each(|item| self.push(item));
    }
    pub fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.change(|all| all.retain(keep));
    }
    /// The latest item, for modification.
    #[inline]
    pub fn last_mut(&mut self) -> Option<&mut T> {
        if self.is_empty() {
            return None;
        }
        let place = self.place(self.tail.wrapping_sub(1));
        self.items.get_mut(place)
    }
    /// Removes the latest item.
    #[inline]
    pub fn pop_last(&mut self) {
        if !self.is_empty() {
            self.tail = self.tail.wrapping_sub(1);
        }
    }
}

/// A packet that waits at a port.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waiting {
    /// Time of arrival.
    pub since: Nanos,
    pub packet: u32,
    /// Size with framing.
    pub bytes: u32,
}

/// A packet that enters service at a known instant.
#[derive(Clone, Copy, Debug, Default)]
pub struct Begun {
    pub start: Nanos,
    /// Size with framing.
    pub bytes: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    proptest::proptest! {
        #[test]
        fn a_ring_does_what_the_standard_deque_does(ops in proptest::collection::vec((0u8..6, 0u64..20), 1..200)) {
            let (mut ring, mut deque) = (Ring::default(), VecDeque::new());
            // Counters about to wrap.
            (ring.head, ring.tail) = (u32::MAX - 5, u32::MAX - 5);
            for (op, n) in ops {
                match op {
                    0 => assert_eq!(ring.pop(), deque.pop_front()),
                    1 | 2 => {
                        ring.push(n);
                        deque.push_back(n);
                    }
                    3 => {
                        ring.pop_last();
                        deque.pop_back();
                    }
                    4 => {
                        if let Some(last) = ring.last_mut() { *last += n; }
                        if let Some(last) = deque.back_mut() { *last += n; }
                    }
                    _ => {
                        ring.retain(|i| i % 3 > 0);
                        deque.retain(|i| i % 3 > 0);
                    }
                }
                assert_eq!(ring.iter().collect::<Vec<u64>>(), Vec::from(deque.clone()));
                assert_eq!((ring.len(), ring.first()), (deque.len(), deque.front().copied()));
            }
        }
    }
}
